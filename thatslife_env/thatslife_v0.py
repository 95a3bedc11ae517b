"""The PettingZoo AEC environment.

`env` is `raw_env` in PettingZoo's usual wrappers: checked, and slower. `raw_env` needs no wrapper
to be right: an illegal action raises and changes nothing.

- Agents: `player_0` .. `player_5`, 2 to 6 of them.
- Actions: Discrete(16): 0..2 own pawns, 3..10 guards, 11..15 opponents to the left.
- Observations: Dict: `observation` Box float32[OBS_SIZE], `action_mask` int8[16], 1 = legal.
- Rewards: at the end, by name: `win`, `margin`, `rank`; on request shaping on every step.
- Termination: all seats together, when every pawn is home; never truncated.

A seat whose pawns are home stays an agent and is skipped. `observe` may be called for any seat at
any time; the mask of a seat that is not to decide is all zeros.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from thatslife_env import games
from thatslife_env._jit import njit
from thatslife_env.board import MAX_PLAYERS, N_ACTIONS, OVER, RULES, STATE, Ruleset
from thatslife_env.observation import HIGH, LOW, OBS_SIZE, row_of
from thatslife_env.position import Position, as_action, check_seed, illegal_move
from thatslife_env.rewards import finite, reward_code, worst_reward, write_potentials, write_rewards
from thatslife_env.rules import Int

States = npt.NDArray[Any]


def env(**kwargs: Any) -> AECEnv:
    """`raw_env` in PettingZoo's usual wrappers.

    An illegal action there makes the mover lose with the worst reward and ends the game for all; as
    in that wrapper, truncations are set too.

    Args:
        **kwargs: those of `raw_env`.
    """
    made = raw_env(**kwargs)
    checked = wrappers.TerminateIllegalWrapper(made, illegal_reward=made.worst_reward)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(checked))


class raw_env(AECEnv):  # noqa: N801  # PettingZoo's name
    """A game of That's Life! in which every seat is an agent.

    Args:
        ruleset: a preset's name, a `Ruleset`, or a mapping of its fields.
        players: number of players, for a `ruleset` that leaves it open.
        reward: name of the terminal reward (`rewards.REWARDS`).
        shaping: scale per point: every step gains each seat with `shaping x (potential after -
            before)`.
        render_mode: None; `ansi`: `render` gives a text; `rgb_array`: it gives pixels; `human`: a
            window shows every position.

    Raises:
        ValueError: an argument is outside its set.
        ImportError: what `rgb_array` or `human` needs is not installed (the extra `render`).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo's declaration
        "name": "thatslife_v0",
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        ruleset: str | Ruleset | Mapping[str, Any] = "basic",
        players: int | None = None,
        reward: str = "win",
        shaping: float = 0.0,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"render_mode must be None or one of {modes}, not {render_mode!r}")
        self.render_mode = render_mode
        self._screen: Any = None
        if render_mode in ("rgb_array", "human"):
            from thatslife_env.render import Screen

            self._screen = Screen(render_mode, self.metadata["render_fps"])
        self.ruleset = Ruleset.of(ruleset, players)
        self._reward = reward_code(reward)
        self._shaping = finite("shaping", shaping)
        self.possible_agents = [f"player_{seat}" for seat in range(self.ruleset.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._observers = {agent: np.array([seat], np.int8) for agent, seat in self._seats.items()}
        observation: dict[str, gymnasium.spaces.Space[Any]] = {
            "observation": gymnasium.spaces.Box(LOW, HIGH, dtype=np.float32),
            "action_mask": gymnasium.spaces.Box(0, 1, (N_ACTIONS,), np.int8),
        }
        self.observation_spaces = {
            agent: gymnasium.spaces.Dict(observation) for agent in self.possible_agents
        }
        self.action_spaces: dict[str, gymnasium.spaces.Space[Any]] = {
            agent: gymnasium.spaces.Discrete(N_ACTIONS) for agent in self.possible_agents
        }
        self._rulesets = np.array([self.ruleset.record], RULES)
        self._shares = games.cumulative_shares([1.0])
        self._states = np.zeros(1, STATE)
        self._games = np.zeros(1, games.GAME)
        self._gains = np.zeros(MAX_PLAYERS, np.float64)
        self.agents: list[str] = []

    @property
    def worst_reward(self) -> float:
        """The lowest terminal reward that a seat can get."""
        return float(worst_reward(self._reward, self.ruleset.players))

    @property
    def position(self) -> Position:
        """The game as it stands."""
        return Position.from_state(self._states[0])

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The observation space of an agent, the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The action space of an agent, the same object at each call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game.

        Args:
            seed: the g-th game from here on is dealt from `draw64(seed, g)`; None goes on to the
                next of the seed given last, at first to one from the system.
            options: `{"position": position}` begins there, with the rules of the position; a
                `Position` or its JSON.

        Raises:
            PositionError: the position is refused.
            ValueError: the seed is outside 0 .. 2^64 - 1; the position is over or has another
                number of players.
        """
        position = self._position_option(options)
        if seed is None and not self._games["number"][0]:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        if seed is not None:
            self._games["stream"] = check_seed(seed)
            self._games["number"] = 0
        _begin(self._states, self._games, self._rulesets, self._shares)
        if position is not None:
            self._states[0] = position.state[0]
            self._games["rolls"] = 0
            _roll_on(self._states, self._games)
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self.agent_selection = self.possible_agents[int(self._states["player"][0])]
        if self._screen is not None:
            self._screen.begin()
            self._show()

    def step(self, action: int | None) -> None:
        """Play the action of `agent_selection`; at the end, `None` for each agent in turn.

        Raises:
            IllegalMoveError: the action is not legal, or not a whole number; nothing has changed
                then.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        number = as_action(action)
        before = None if self._screen is None else self.position
        outcome = _step(
            self._states,
            self._games,
            number if 0 <= number < N_ACTIONS else -1,
            self._reward,
            self._shaping,
            self._gains,
        )
        if outcome == _ILLEGAL:
            raise illegal_move(self._states[0], number, f"of {agent}")
        self._cumulative_rewards[agent] = 0.0
        if outcome == _ENDED or self._shaping:
            gains = self._gains.tolist()
            for each, seat in self._seats.items():
                self.rewards[each] = gains[seat]
            self._accumulate_rewards()
        if outcome == _ENDED:
            self.terminations = dict.fromkeys(self.agents, True)
            self._deads_step_first()
        else:
            self.agent_selection = self.possible_agents[outcome]
        if self._screen is not None:
            self._screen.note(before, number)
            self._show()

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]]:
        """What an agent sees: arrays of the caller's own.

        Returns:
            `observation`, float32[OBS_SIZE]; `action_mask`, int8[16], 1 = legal, all 0 if it is not
            to decide.
        """
        observation, mask = np.empty(1, _OBSERVATION), np.empty(1, _MASK)
        games.observe_seats(self._states, self._observers[agent], observation, mask)
        return {"observation": observation["all"][0], "action_mask": mask["all"][0]}

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """The position as `render_mode` says.

        Returns:
            A text with `ansi`; uint8[H, W, 3] with `rgb_array`; None with `human`, as the window
            shows it already.

        Raises:
            gymnasium.error.ResetNeeded: there was no reset yet.
            DisplayError: no window can be opened (of `render`).
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode")
            return None
        if not self._games["number"][0]:
            raise gymnasium.error.ResetNeeded("there is no game to render: call reset()")
        if self._screen is None:
            return str(self.position)
        return self._screen.render(self.position)

    def close(self) -> None:
        """Close the window, if there is one; may be called at any time."""
        if self._screen is not None:
            self._screen.close()

    def _show(self) -> None:
        """Keep the window up to date, if there is one."""
        if self._screen.is_live:
            self._screen.render(self.position)

    def _position_option(self, options: dict[str, Any] | None) -> Position | None:
        for key in options or {}:
            if key != "position":
                # PettingZoo's own test demands that it is let pass
                gymnasium.logger.warn(f"unknown option {key!r} is ignored; there is: position")
        given = (options or {}).get("position")
        if given is None:
            return None
        position = given if isinstance(given, Position) else Position.from_json(given)
        if position.is_over:
            raise ValueError("the position is over")
        if position.players != self.ruleset.players:
            raise ValueError(
                f"the position has {position.players} players, not {self.ruleset.players}"
            )
        return position


_OBSERVATION = row_of(np.float32, OBS_SIZE)
_MASK = row_of(np.int8, N_ACTIONS)

_ILLEGAL = -1  # outcomes of _step other than the seat to decide next
_ENDED = -2


@njit
def _begin(states: States, running: States, rulesets: States, shares: npt.NDArray[Any]) -> None:
    games.begin(states[0], running[0], rulesets, shares)


@njit
def _roll_on(states: States, running: States) -> None:
    games.roll_on(states[0], running[0])


@njit
def _step(
    states: States,
    running: States,
    action: int,
    reward: int,
    shaping: float,
    gains: npt.NDArray[Any],
) -> Int:
    """Play if legal and write what each seat gains; returns the next seat, _ILLEGAL or _ENDED."""
    state = states[0]
    if not games.is_legal(state, action):
        return _ILLEGAL
    gains[:] = 0.0
    before = np.zeros(MAX_PLAYERS, np.float64)
    if shaping != 0.0:
        write_potentials(state, before)
    games.proceed(state, running[0], action)
    ended = state["phase"] == OVER
    if ended:
        write_rewards(state, reward, gains)
    if shaping != 0.0:
        after = np.zeros(MAX_PLAYERS, np.float64)
        write_potentials(state, after)
        gains += shaping * (after - before)
    return _ENDED if ended else np.int64(state["player"])
