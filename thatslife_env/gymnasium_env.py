"""The single-seat Gymnasium environment: one seat learns, the others play by themselves.

`gymnasium.make("thatslife_env:ThatsLife-v0", ...)`. The learner sees only its own decisions; what
happens between two of them, the others' moves and all rolls, is part of a step.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from thatslife_env.baselines import BASELINES, baseline_action
from thatslife_env.board import N_ACTIONS
from thatslife_env.games import RulesetLike, SeatGames
from thatslife_env.observation import HIGH, LOW, OBS_SIZE
from thatslife_env.position import (
    IllegalMoveError,
    Position,
    as_action,
    check_seed,
    illegal_move,
)

Opponent = str | Callable[[Position, np.random.Generator], int]


class ThatsLifeEnv(gymnasium.Env):
    """One learning seat of a game of That's Life!.

    Observation float32[OBS_SIZE] (`observation.LAYOUT`), actions 0..15. The mask, bool[16], True =
    legal, is `action_masks()` and `info["action_mask"]`; at the end it is all False. `info["seat"]`
    is the learner's seat; at the end `info` also has `scores` and `win_share`. There is no
    truncation: the game always ends by rule.

    Args:
        ruleset: a preset's name, a `Ruleset`, or a mapping of its fields.
        players: number of players, for a `ruleset` that leaves it open.
        opponents: `random`, `greedy`, or a callable `f(position, rng) -> action` with a
            `numpy.random.Generator`; for all seats, or a list of one for each seat (that of the
            learner's seat stands idle).
        seat: the learner's, or `random`: drawn for each game.
        reward: name of the terminal reward (`rewards.REWARDS`).
        shaping: scale per point of the potential-based shaping between the learner's own decisions.
        gamma: the learner's discount, used by the shaping.
        illegal: `lose` ends the game at once with the worst reward and `info["illegal_action"]`,
            `raise` raises IllegalMoveError and changes nothing.
        render_mode: None; `ansi`: `render` gives a text; `rgb_array`: it gives pixels; `human`: a
            window shows every position, also those of the other seats.

    Raises:
        ValueError: an argument is outside its set.
        ImportError: what `rgb_array` or `human` needs is not installed (the extra `render`).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # Gymnasium's declaration
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
    }

    def __init__(
        self,
        ruleset: RulesetLike = "basic",
        players: int | None = None,
        opponents: Opponent | Sequence[Opponent] = "greedy",
        seat: str | int = "random",
        reward: str = "win",
        shaping: float = 0.0,
        gamma: float = 1.0,
        illegal: str = "lose",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"render_mode must be None or one of {modes}, not {render_mode!r}")
        self.render_mode = render_mode
        self._screen: Any = None
        if render_mode in ("rgb_array", "human"):
            from thatslife_env.render import Screen

            self._screen = Screen(render_mode, self.metadata["render_fps"])
        self._play = SeatGames(
            1,
            ruleset,
            players,
            opponents=[self._batch(one) for one in opponents]
            if isinstance(opponents, list | tuple)
            else self._batch(opponents),
            seat=seat,
            reward=reward,
            shaping=shaping,
            gamma=gamma,
            illegal=illegal,
        )
        self.observation_space = gymnasium.spaces.Box(LOW, HIGH, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(N_ACTIONS)
        self._mask = np.zeros((1, N_ACTIONS), np.bool_)
        self._illegal = illegal
        self._is_over = True  # until the first reset

    def _batch(self, opponent: Any) -> Any:
        """An opponent as `SeatGames` takes it."""
        if isinstance(opponent, Mapping):
            return {self._batch(one): weight for one, weight in opponent.items()}
        if callable(opponent):
            return _BatchOpponent(self, opponent)
        if self._screen is not None and opponent in BASELINES:
            return _SeenBaseline(self, opponent)
        return opponent  # a name; SeatGames refuses anything else

    @property
    def position(self) -> Position:
        """The game as it stands."""
        return Position.from_state(self._play.states[0])

    @property
    def seat(self) -> int:
        """The learner's seat in this game."""
        return int(self._play.seats[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin a game, up to the learner's first decision.

        Args:
            seed: the g-th game from here on is dealt from `draw64(seed, g)`; None goes on to the
                next of the seed given last, at first to one from the system.
            options: `{"position": position}` begins there, with the rules of the position; a
                `Position` or its JSON.

        Raises:
            PositionError: the position is refused.
            ValueError: the seed is outside 0 .. 2^64 - 1; the position has another number of
                players, is over or leaves the learner nothing to decide; an option is unknown.
        """
        position = _position_option(options)
        seed = None if seed is None else check_seed(seed)
        streams = None if seed is None else [seed]
        super().reset(seed=seed)
        if self._screen is not None:
            self._screen.begin()
        try:
            self._play.reset(streams, position)
        except BaseException:
            self._is_over = self._is_over or not self._play.is_ready
            raise
        self._is_over = False
        self._show()
        return self._observe()

    def step(
        self, action: int
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play the learner's action, and all that follows up to its next decision or the end.

        Raises:
            IllegalMoveError: the action is no whole number, or it is not legal and `illegal` is
                `raise`; nothing has changed then.
            gymnasium.error.ResetNeeded: the game is over, or there was no reset yet.
        """
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the game is over or has not begun: call reset()")
        number = as_action(action)
        is_legal = 0 <= number < N_ACTIONS and bool(self._mask[0, number])
        if self._illegal == "raise" and not is_legal:
            raise illegal_move(self._play.states[0], number)
        if self._screen is not None:
            self._note(self.position, number)
        play = self._play
        try:
            play.step(np.array([number if is_legal else -1]))
        except BaseException:  # of an opponent, halfway: the game cannot go on
            self._is_over = True
            self._mask[:] = False
            raise
        self._is_over = bool(play.done[0])
        self._show()
        observation, info = self._observe()
        if self._is_over:
            if play.forfeited[0]:
                info["illegal_action"] = True
            position = self.position
            info["scores"] = position.scores()
            info["win_share"] = 0.0 if play.forfeited[0] else position.win_shares()[self.seat]
        return observation, float(play.rewards[0]), self._is_over, False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learner's legal actions now: bool[16], True = legal."""
        return self._mask[0].copy()

    def render(self) -> str | npt.NDArray[np.uint8] | None:  # type: ignore[override]  # of all RenderFrames
        """The position as `render_mode` says.

        Returns:
            A text with `ansi`; uint8[H, W, 3] with `rgb_array`; None with `human`, as the window
            shows it already, and without a mode.

        Raises:
            gymnasium.error.ResetNeeded: there was no reset yet.
            DisplayError: no window can be opened (of `render`).
        """
        if self.render_mode is None:
            return None
        if not self._play.games["number"][0]:
            raise gymnasium.error.ResetNeeded("there is no game to render: call reset()")
        if self._screen is None:
            return str(self.position)
        return self._screen.render(self.position, self._names())

    def close(self) -> None:
        """Close the window, if there is one; may be called at any time."""
        if self._screen is not None:
            self._screen.close()

    def _names(self) -> list[str]:
        """What pictures call the seats."""
        names = [f"seat {seat}" for seat in range(self.position.players)]
        names[self.seat] = "learner"
        return names

    def _note(self, position: Position, action: int) -> None:
        """Have pictures tell a move that is about to be played."""
        if self._screen is not None:
            self._screen.note(position, action, self._names())

    def _show(self) -> None:
        """Keep the window up to date, if there is one."""
        if self._screen is not None and self._screen.is_live:
            self.render()

    def _observe(self) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        observation = np.empty((1, OBS_SIZE), np.float32)
        self._play.observe(observation, self._mask)
        if self._is_over:
            self._mask[:] = False
        return observation[0], {"action_mask": self._mask[0].copy(), "seat": self.seat}


class _BatchOpponent:
    """A callable f(position, rng) as `SeatGames` calls it, with the environment's generator.

    Args:
        env: whose opponent it is.
        opponent: the callable.
    """

    def __init__(self, env: ThatsLifeEnv, opponent: Callable[[Position, Any], int]) -> None:
        self._env = env
        self._opponent = opponent

    def __repr__(self) -> str:
        return getattr(self._opponent, "__name__", repr(self._opponent))

    def __call__(
        self, states: npt.NDArray[Any], keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        position = Position.from_state(states[0])
        action = self._opponent(position, self._env.np_random)
        try:
            actions = np.array([as_action(action)], np.int64)
        except (IllegalMoveError, OverflowError):
            raise IllegalMoveError(f"the opponent {self!r} played {action!r}") from None
        self._env._note(position, int(actions[0]))
        return actions


class _SeenBaseline:
    """A baseline outside the kernels, so that what it plays can be shown; it plays the same.

    Args:
        env: whose opponent it is.
        name: which baseline.
    """

    def __init__(self, env: ThatsLifeEnv, name: str) -> None:
        self._env = env
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __call__(
        self, states: npt.NDArray[Any], keys: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        action = int(baseline_action(states[0], BASELINES.index(self._name), keys[0]))
        self._env._note(Position.from_state(states[0]), action)
        return np.array([action], np.int64)


def _position_option(options: dict[str, Any] | None) -> Position | None:
    for key in options or {}:
        if key != "position":
            raise ValueError(f"unknown option {key!r}; there is: position")
    given = (options or {}).get("position")
    if given is None or isinstance(given, Position):
        return given
    return Position.from_json(given)
