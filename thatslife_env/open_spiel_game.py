"""The game `python_thatslife` for OpenSpiel; importing this module registers it.

An example::

    import pyspiel
    import thatslife_env.open_spiel_game

    game = pyspiel.load_game("python_thatslife(preset=full,players=4)")

Chance is explicit: a shuffled track is laid tile by tile, from the start on, then each roll is a
chance node. Everything is public. Returns come at the end and sum to zero.

Parameters; what is not given is as in the preset:

- `preset`: `basic` (if not given), `classic`, `expert` or `full`.
- `players`: 2..6; if not given 2.
- `pawns`: 1..3; 0 is what the preset says.
- `layout`: `shuffled`, `standard`, `variant1`, `variant2`, or a list: `[-3;lucky;5;gift]`.
- `action_tiles`, `guards`: `on` or `off`.
- `scoring`: `standard` or `expert`.
- `reward`: `win` (if not given) or `rank` (`rewards.REWARDS`); `margin` is clipped and so not
  zero-sum.

Actions of players are those of every other interface, 0..15. Outcomes of chance: a roll of d is
d - 1, and the next tile of the track is its place among the values -10..8, lucky as 0. The
observation tensor is that of `observation.py` (zeros while the track is being laid), its pieces by
the names of `observation.LAYOUT`; the information state is the history, as text alone.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thatslife_env._jit import njit
from thatslife_env.board import (
    DIE_FACES,
    GIFT,
    GUARDED,
    LAYOUTS,
    MAX_GUARDS,
    MAX_PLAYERS,
    MIN_VALUE,
    N_ACTIONS,
    N_VALUES,
    NAME_OF_TILE,
    STEAL,
    Layout,
    Ruleset,
)
from thatslife_env.observation import OBS_SIZE, observe, views
from thatslife_env.position import Position
from thatslife_env.rewards import reward_code, worst_reward, write_rewards

try:
    import pyspiel
except ModuleNotFoundError as error:
    if error.name != "pyspiel":
        raise  # it is there, but broken
    raise ImportError(
        "OpenSpiel is not installed; get it with: pip install 'thatslife[adapters]'"
    ) from None

NAME: Final = "python_thatslife"
ZERO_SUM: Final = ("win", "rank")  # of the rewards
_SWITCH: Final = {"on": True, "off": False}

_GAME_TYPE: Final = pyspiel.GameType(
    short_name=NAME,
    long_name="That's Life!",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_PLAYERS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={
        "preset": "basic",
        "players": 2,
        "pawns": 0,
        "layout": "",
        "action_tiles": "",
        "guards": "",
        "scoring": "",
        "reward": "win",
    },
)


def parameters(ruleset: str | Ruleset | Mapping[str, Any], reward: str = "win") -> dict[str, Any]:
    """A ruleset as parameters of the game, for `pyspiel.load_game(NAME, parameters)`.

    Args:
        ruleset: a preset's name, a `Ruleset`, or a mapping of its fields.
        reward: `win` or `rank`.

    Raises:
        ValueError: `ruleset` is nonsense.
    """
    made = Ruleset.of(ruleset)
    layout = made.layout if isinstance(made.layout, str) else f"[{';'.join(map(str, made.layout))}]"
    return {
        "players": made.players,
        "pawns": made.pawns,
        "layout": layout,
        "action_tiles": "on" if made.action_tiles else "off",
        "guards": "on" if made.guards else "off",
        "scoring": made.scoring,
        "reward": reward,
    }


class ThatsLifeGame(pyspiel.Game):
    """A ruleset as an OpenSpiel game.

    Args:
        params: values of the parameters above.

    Raises:
        ValueError: a parameter is outside its set; the message names it.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {**_GAME_TYPE.parameter_specification, **(params or {})}
        ruleset = _ruleset(given)
        if given["reward"] not in ZERO_SUM:
            raise ValueError(
                f"reward must be one of {', '.join(ZERO_SUM)}, not {given['reward']!r}"
            )
        reward = reward_code(given["reward"])
        is_shuffled = ruleset.layout == "shuffled"
        info = pyspiel.GameInfo(
            num_distinct_actions=N_ACTIONS,
            max_chance_outcomes=N_VALUES if is_shuffled else DIE_FACES,
            num_players=ruleset.players,
            min_utility=float(worst_reward(reward, ruleset.players)),
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=_most_moves(ruleset) + _most_choices(ruleset),
        )
        super().__init__(_GAME_TYPE, info, given)

    # Read from the parameters, as OpenSpiel may make a new Python object for the same game

    @cached_property
    def ruleset(self) -> Ruleset:
        """What is played."""
        return _ruleset(self.get_parameters())

    @cached_property
    def reward(self) -> int:
        """Code of the reward (`rewards.reward_code`)."""
        return reward_code(self.get_parameters()["reward"])

    def new_initial_state(self) -> "ThatsLifeState":
        """The game before its first tile is laid, or, with a fixed layout, its first roll."""
        return ThatsLifeState(self)

    def max_chance_nodes_in_history(self) -> int:
        """At most so many tiles are laid and dice rolled."""
        laid = len(LAYOUTS["shuffled"]) if self.ruleset.layout == "shuffled" else 0
        return laid + _most_moves(self.ruleset)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> "ThatsLifeObserver":
        """What turns states into observations: tensors and texts."""
        return ThatsLifeObserver(
            iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params
        )


class ThatsLifeState(pyspiel.State):
    """One moment of a game, with OpenSpiel's methods.

    Made by `game.new_initial_state()` alone.
    """

    def __init__(self, game: ThatsLifeGame) -> None:
        super().__init__(game)
        self._laid: tuple[int, ...] = ()  # tiles on the table while the track is being laid
        self._position: Position | None = None  # None so long
        if game.ruleset.layout != "shuffled":
            self._position = Position.deal(game.ruleset, 0)

    @property
    def position(self) -> Position:
        """The game as it stands.

        Raises:
            ValueError: the track is still being laid.
        """
        if self._position is None:
            raise ValueError(f"there is no position yet: {self}")
        return self._position

    @property
    def is_being_laid(self) -> bool:
        """Whether tiles of the track are still to come."""
        return self._position is None

    def current_player(self) -> int:
        """The seat to decide, or OpenSpiel's number for chance or the end."""
        if self._position is None or self._position.phase == "roll":
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self._position.is_over else self._position.player

    def is_terminal(self) -> bool:
        """Whether every pawn is home."""
        return self._position is not None and self._position.is_over

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Outcomes of the next tile or roll with their probabilities, ascending."""
        if self._position is not None:
            return _ROLLS
        left = Counter(LAYOUTS["shuffled"]) - Counter(self._laid)
        return [(tile - MIN_VALUE, left[tile] / left.total()) for tile in sorted(left)]

    def returns(self) -> list[float]:
        """Each seat's reward; zeros until the end."""
        players = self.num_players()
        out = np.zeros(MAX_PLAYERS, np.float64)
        if self.is_terminal():
            _write_rewards(self.position.state, self.get_game().reward, out)
        return out[:players].tolist()

    def __str__(self) -> str:
        if self._position is not None:
            return str(self._position)
        return f"laid: {' '.join(map(_face, self._laid)) or '-'}"

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal_actions()

    def _apply_action(self, action: int) -> None:
        if self._position is None:
            self._lay(action + MIN_VALUE)
        elif self._position.phase == "roll":
            self._position = self._position.roll(action + 1)
        else:
            self._position = self._position.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return self.position.describe(action)
        return f"lay {_face(action + MIN_VALUE)}" if self.is_being_laid else f"roll {action + 1}"

    def _lay(self, tile: int) -> None:
        """Put the next tile on the table; with the last one the game can begin."""
        self._laid += (tile,)
        if len(self._laid) == len(LAYOUTS["shuffled"]):
            layout = tuple(NAME_OF_TILE.get(tile, tile) for tile in self._laid)
            self._position = Position.deal(replace(self.get_game().ruleset, layout=layout), 0)
            self._laid = ()


class ThatsLifeObserver:
    """What a player sees, with the methods that OpenSpiel asks of an observer in Python.

    Args:
        iig_obs_type: what is to be seen; with `perfect_recall` it is the history, as text alone.
        params: none.

    Attributes:
        tensor: float32[OBS_SIZE] of the state given last to `set_from`, or None.
        dict: name of each row of `observation.LAYOUT` to a view of it.

    Raises:
        ValueError: there are parameters, or nothing public is wanted.
    """

    def __init__(self, iig_obs_type: Any, params: Mapping[str, Any] | None) -> None:
        if params:
            raise ValueError(f"an observation has no parameters; given: {dict(params)!r}")
        if not iig_obs_type.public_info:
            raise ValueError("there is nothing private in this game; ask for public_info")
        self._is_history = iig_obs_type.perfect_recall
        self.tensor = None if self._is_history else np.zeros(OBS_SIZE, np.float32)
        self.dict = {} if self.tensor is None else views(self.tensor)

    def set_from(self, state: ThatsLifeState, player: int) -> None:
        """Let `tensor` and `dict` show what `player` sees of `state`."""
        if self.tensor is not None:
            self.tensor[:] = 0.0 if state.is_being_laid else observe(state.position, player)

    def string_from(self, state: ThatsLifeState, player: int) -> str:
        """The same as text: the position as JSON, or the history."""
        if self._is_history:
            return state.history_str()
        shown = str(state) if state.is_being_laid else json.dumps(state.position.to_json())
        return f"seat {player} sees {shown}"


_ROLLS: Final = [(face, 1 / DIE_FACES) for face in range(DIE_FACES)]


def _ruleset(given: Mapping[str, Any]) -> Ruleset:
    """The ruleset that parameters describe."""
    fields: dict[str, Any] = {"players": given["players"]}
    if given["pawns"]:
        fields["pawns"] = given["pawns"]
    if given["layout"]:
        fields["layout"] = _layout(given["layout"])
    if given["scoring"]:
        fields["scoring"] = given["scoring"]
    for name in ("action_tiles", "guards"):
        if given[name]:
            if given[name] not in _SWITCH:
                raise ValueError(f"{name} must be one of {', '.join(_SWITCH)}, not {given[name]!r}")
            fields[name] = _SWITCH[given[name]]
    return Ruleset.preset(given["preset"], **fields)


def _layout(text: str) -> Layout:
    """A layout's name, or the tiles of a list like `[-3;lucky;5]`."""
    if text[0] != "[":
        return text
    if text[-1] != "]":
        raise ValueError(f"a list of tiles ends with ']', unlike {text!r}")
    entries = text[1:-1].split(";")
    return tuple(int(e) if re.fullmatch(r"-?[0-9]{1,2}", e) else e for e in entries)


def _most_moves(ruleset: Ruleset) -> int:
    """No game has more moves of pieces, and so rolls: each goes at least one slot ahead."""
    length = len(ruleset.tiles)
    guards = min(sum(tile in GUARDED for tile in ruleset.tiles), MAX_GUARDS)
    pawns = ruleset.players * ruleset.pawns
    return pawns * (length + 1) + (guards * length if ruleset.guards else 0)


def _most_choices(ruleset: Ruleset) -> int:
    """No game has more choices of an opponent: a pawn leaves each action tile at most once."""
    return ruleset.players * ruleset.pawns * sum(tile in (GIFT, STEAL) for tile in ruleset.tiles)


def _face(tile: int) -> str:
    return str(NAME_OF_TILE.get(tile, tile))


@njit
def _write_rewards(states: npt.NDArray[Any], code: int, out: npt.NDArray[Any]) -> None:
    write_rewards(states[0], code, out)


pyspiel.register_game(_GAME_TYPE, ThatsLifeGame)
