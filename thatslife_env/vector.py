"""Many games at once: `VectorGame`, where all seats decide, and a `VectorEnv` of one seat.

Both step thousands of games in compiled code. Game i deals from its own stream of seeds,
`draw64(seed, i)`, so a game does not depend on how many others there are.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from thatslife_env import games
from thatslife_env._jit import njit
from thatslife_env.board import MAX_PLAYERS, N_ACTIONS, OVER, STATE
from thatslife_env.games import FINISHED, GAME, Records, RulesetLike, SeatGames, as_actions
from thatslife_env.observation import HIGH, LOW, OBS_SIZE, rows_of
from thatslife_env.position import Position, illegal_move
from thatslife_env.rewards import finite, reward_code, write_potentials, write_rewards


class VectorGame:
    """N games in which every decision of every seat is asked.

    Args:
        num_envs: N.
        ruleset: what is played, or a list of pairs (ruleset, weight) from which each game draws.
        seed: 0 .. 2^64 - 1; game i deals from the stream `draw64(seed, i)`.
        reward: name of the terminal reward (`rewards.REWARDS`).
        shaping: scale per point: every step credits each seat with `shaping x (potential after -
            before)`.
        players: number of players, for a `ruleset` that leaves it open.
        num_threads: threads that share the games, which pays from some ten thousand games on; what
            happens in them does not depend on it.

    Attributes:
        states: STATE[N], the games as they stand.
        finished: FINISHED[M], the games that ended in the last step; overwritten by the next.

    Raises:
        ValueError: an argument is outside its set.
    """

    def __init__(
        self,
        num_envs: int,
        ruleset: RulesetLike | Sequence[tuple[RulesetLike, float]] = "basic",
        seed: int = 0,
        reward: str = "win",
        shaping: float = 0.0,
        *,
        players: int | None = None,
        num_threads: int = 1,
    ) -> None:
        games.check_count("num_envs", num_envs)
        games.check_count("num_threads", num_threads)
        self.num_envs = num_envs
        bounds = np.linspace(0, num_envs, min(num_threads, num_envs) + 1).astype(int)
        self._parts = [slice(*pair) for pair in pairwise(bounds.tolist())]
        self.rulesets, self._rulesets, self._shares = games.ruleset_mix(ruleset, players)
        self._reward = reward_code(reward)
        self._shaping = finite("shaping", shaping)
        self.states = np.zeros(num_envs, STATE)
        self._games = np.zeros(num_envs, GAME)
        self._all = np.arange(num_envs)
        self._observations = np.zeros((num_envs, OBS_SIZE), np.float32)
        self._masks = np.zeros((num_envs, N_ACTIONS), np.bool_)
        self._players = np.zeros(num_envs, np.int8)
        self._rewards = np.zeros((num_envs, MAX_PLAYERS), np.float32)
        self._done = np.zeros(num_envs, np.bool_)
        self._finished = np.zeros(num_envs, FINISHED)
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Begin all games anew from `seed`.

        Raises:
            ValueError: the seed is outside 0 .. 2^64 - 1.
        """
        self._games["stream"] = games.stream_seeds(seed, self.num_envs)
        self._games["number"] = 0
        self.finished = self._finished[:0]
        games.begin_all(self.states, self._games, self._all, self._rulesets, self._shares)

    def observe(
        self, copy: bool = False
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.int8]]:
        """What the seats to decide see.

        Args:
            copy: return arrays of your own; otherwise views that the next call overwrites.

        Returns:
            float32[N, OBS_SIZE], the observation of the seat to decide; bool[N, 16], its mask, True
            = legal; int8[N], that seat.
        """
        self._in_parts(self._observe_part)
        if copy:
            return self._observations.copy(), self._masks.copy(), self._players.copy()
        return self._observations, self._masks, self._players

    def step(self, actions: npt.ArrayLike) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Play one decision in each game; a game that ends is followed by the next of its stream.

        Args:
            actions: int[N].

        Returns:
            float32[N, 6], the reward of every seat, absent seats 0; bool[N], whether the game
            ended. Views that the next step overwrites.

        Raises:
            IllegalMoveError: an action is not legal; the message names the first such game, nothing
                has changed.
            ValueError: the actions have another shape or are not whole numbers.
        """
        chosen = as_actions(actions, self.num_envs)
        wrong = int(games.first_illegal(self.states, self._all, chosen))
        if wrong >= 0:
            raise illegal_move(self.states[wrong], chosen[wrong], f"in game {wrong}")
        n_finished = 0
        for part, count in zip(self._parts, self._in_parts(self._step_part, chosen), strict=True):
            found = self._finished[part][:count]
            if part.start > n_finished:
                self._finished[n_finished : n_finished + count] = found
            n_finished += count
        self.finished = self._finished[:n_finished]
        return self._rewards, self._done

    def _in_parts(self, do: Callable[..., int | None], *arguments: Any) -> list[Any]:
        """What `do(part, *arguments)` returns for the games of each thread."""
        first, *others = self._parts
        waiting = [
            _threads(os.getpid(), len(others)).submit(do, part, *arguments) for part in others
        ]
        return [do(first, *arguments), *(each.result() for each in waiting)]

    def _observe_part(self, part: slice) -> None:
        self._players[part] = self.states["player"][part]
        games.observe_seats(
            self.states[part],
            self._players[part],
            rows_of(self._observations[part]),
            rows_of(self._masks[part]),
        )

    def _step_part(self, part: slice, actions: npt.NDArray[np.int64]) -> int:
        return int(
            _step(
                self.states[part],
                self._games[part],
                actions[part],
                part.start,
                self._rulesets,
                self._shares,
                self._reward,
                self._shaping,
                self._rewards[part],
                self._done[part],
                self._finished[part],
            )
        )


@cache
def _threads(process: int, number: int) -> ThreadPoolExecutor:
    """Threads for all games of a process; a forked one needs its own."""
    return ThreadPoolExecutor(number, "thatslife")


@njit
def _step(
    states: Records,
    running: Records,
    actions: npt.NDArray[np.int64],
    first: int,
    rulesets: Records,
    shares: npt.NDArray[np.uint64],
    reward: int,
    shaping: float,
    rewards: npt.NDArray[np.float32],
    done: npt.NDArray[np.bool_],
    finished: Records,
) -> int:
    """Play, reward and restart; `first` is the index of the first game. Counts what ended."""
    before = np.zeros(MAX_PLAYERS, np.float64)
    after = np.zeros(MAX_PLAYERS, np.float64)
    n_finished = 0
    for i in range(len(states)):
        games.fetch_ahead(states, running, i)
        state = states[i]
        game = running[i]
        if shaping != 0.0:
            write_potentials(state, before)
        games.proceed(state, game, actions[i])
        done[i] = state["phase"] == OVER
        for seat in range(MAX_PLAYERS):
            rewards[i, seat] = 0.0
        if done[i]:
            write_rewards(state, reward, after)
            for seat in range(MAX_PLAYERS):
                rewards[i, seat] = after[seat]
            games.write_finished(state, game, first + i, finished, n_finished)
            n_finished += 1
        if shaping != 0.0:
            write_potentials(state, after)
            for seat in range(MAX_PLAYERS):
                rewards[i, seat] += np.float32(shaping * (after[seat] - before[seat]))
        if done[i]:
            games.begin(state, game, rulesets, shares)
    return n_finished


class ThatsLifeVectorEnv(gymnasium.vector.VectorEnv):
    """The single-seat environment, many games at once.

    `gymnasium.make_vec("thatslife_env:ThatsLife-v0", num_envs=N,
    vectorization_mode="vector_entry_point", ...)`.

    Observations float32[N, OBS_SIZE] (`observation.LAYOUT`), actions 0..15. The mask, bool[N, 16],
    True = legal, is `action_masks()` and `info["action_mask"]`. A game that ends is followed by the
    next on the same step (`AutoresetMode.SAME_STEP`): `info["final_obs"]` and `info["final_info"]`
    then hold the end, with `scores`, `win_share` and, after an illegal action, `illegal_action`.
    There is no truncation. What is returned is the caller's.

    Args:
        num_envs: N.
        ruleset: what is played, or a list of pairs (ruleset, weight) from which each game draws.
        players: number of players, for a `ruleset` that leaves it open.
        opponents: `random`, `greedy`, or a batch callable `f(states, keys) -> int[M]` of STATE[M]
            and a random key uint64[M] for each decision; or a list of one for each seat; or a
            mapping of them to weights.
        seat: the learner's, or `random`: drawn for each game.
        reward: name of the terminal reward (`rewards.REWARDS`).
        shaping: scale per point of the potential-based shaping between the learner's own decisions.
        gamma: the learner's discount, used by the shaping.
        illegal: `lose` ends a game at once with the worst reward, `raise` raises IllegalMoveError.
        render_mode: None or `ansi`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # Gymnasium's declaration
        "render_modes": ["ansi"],
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        ruleset: RulesetLike | Sequence[tuple[RulesetLike, float]] = "basic",
        players: int | None = None,
        opponents: Any = "greedy",
        seat: str | int = "random",
        reward: str = "win",
        shaping: float = 0.0,
        gamma: float = 1.0,
        illegal: str = "lose",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or 'ansi', not {render_mode!r}")
        self.render_mode = render_mode
        self.num_envs = num_envs
        self._play = SeatGames(
            num_envs,
            ruleset,
            players,
            opponents=opponents,
            seat=seat,
            reward=reward,
            shaping=shaping,
            gamma=gamma,
            illegal=illegal,
        )
        self.single_observation_space = gymnasium.spaces.Box(LOW, HIGH, dtype=np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(N_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._masks = np.zeros((num_envs, N_ACTIONS), np.bool_)

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin all games anew.

        Args:
            seed: game i deals from the stream `draw64(seed, i)`; a list gives the streams' seeds
                themselves; None goes on to the next game of each stream.
            options: none are known.

        Returns:
            float32[N, OBS_SIZE]; info with `action_mask` bool[N, 16] and `seat` int8[N].

        Raises:
            ValueError: a seed is outside 0 .. 2^64 - 1, their number is not N, or there are
                options.
        """
        if options:
            raise ValueError(f"unknown option {next(iter(options))!r}; there are none")
        self._play.reset(seed)
        return self._observe()

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Play the learners' decisions, up to the next ones.

        Args:
            actions: int[N].

        Raises:
            IllegalMoveError: an action is not legal and `illegal` is `raise`; nothing has changed
                then.
            ValueError: the actions have another shape or are not whole numbers.
        """
        play = self._play
        play.step(as_actions(actions, self.num_envs))
        final = self._final_info() if len(play.ended) else {}
        play.restart()
        observations, info = self._observe()
        info.update(final)
        truncations = np.zeros(self.num_envs, np.bool_)
        return observations, play.rewards.copy(), play.done.copy(), truncations, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learners' legal actions now: bool[N, 16], True = legal."""
        return self._masks.copy()

    def render(self) -> tuple[str, ...] | None:  # type: ignore[override]  # of all RenderFrames
        """A drawing of each game, with `render_mode="ansi"`."""
        if self.render_mode is None:
            return None
        return tuple(str(Position.from_state(state)) for state in self._play.states)

    def _observe(self) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        observations = np.empty((self.num_envs, OBS_SIZE), np.float32)
        self._play.observe(observations, self._masks)
        everywhere = np.ones(self.num_envs, np.bool_)
        info = {
            "action_mask": self._masks.copy(),
            "_action_mask": everywhere,
            "seat": self._play.seats.copy(),
            "_seat": everywhere.copy(),
        }
        return observations, info

    def _final_info(self) -> dict[str, Any]:
        """Ends of games in Gymnasium's layout: values at their index, masks of where they are."""
        play = self._play
        done, forfeited = play.done.copy(), play.forfeited.copy()
        final_obs = np.full(self.num_envs, None, object)
        for row, index in enumerate(play.ended):
            final_obs[index] = play.final_obs[row].copy()
        scores = np.zeros((self.num_envs, MAX_PLAYERS), np.int64)
        scores[play.ended] = play.outcomes["points"]
        shares = np.zeros(self.num_envs, np.float64)
        rows = np.arange(len(play.ended))
        shares[play.ended] = play.outcomes["win_share"][rows, play.seats[play.ended]]
        shares[forfeited] = 0.0
        final_info = {
            "action_mask": np.zeros((self.num_envs, N_ACTIONS), np.bool_),
            "seat": np.where(done, play.seats, 0).astype(np.int8),
            "scores": scores,
            "win_share": shares,
        }
        final_info |= {f"_{name}": done.copy() for name in final_info}
        final_info |= {"illegal_action": forfeited, "_illegal_action": forfeited.copy()}
        return {
            "final_obs": final_obs,
            "_final_obs": done,
            "final_info": final_info,
            "_final_info": done.copy(),
        }
