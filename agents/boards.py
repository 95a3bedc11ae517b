"""Boards with known optima, and the player that plays them exactly.

A board is a ruleset for two with a fixed layout, small enough to be solved. Those that come along
are the files of `agents/solved/`: the ruleset, the exact values of the opening and the command that
found them. Any other is a JSON file of a ruleset.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base import Actions, Agent, Keys, States
from agents.solver import DEFAULT_MEMORY, OBJECTIVES, WIN, Solution, SolverError, opening_of, solve
from thatslife_env import Ruleset, njit
from thatslife_env.baselines import draw_action
from thatslife_env.board import MAX_PLAYERS, N_ACTIONS
from thatslife_env.position import short
from thatslife_env.rules import Int

_FACTS: dict[str, type] = {"about": str, "values": dict, "states": int, "command": str}


@dataclass(frozen=True)
class Board:
    """A ruleset for two with a fixed layout.

    Attributes:
        name: of a board that comes along, or the path of its file.
        ruleset: what is played.
        about: a line for people.
        values: of the opening, by objective, for the seat that begins; empty if not known.
        states: number of positions when it is solved; 0 if not known.
        command: which found them.
    """

    name: str
    ruleset: Ruleset
    about: str = ""
    values: dict[str, float] = field(default_factory=dict)
    states: int = 0
    command: str = ""


def board_names() -> list[str]:
    """The boards that come along, smallest first."""
    names = [path.stem for path in _files()]
    return sorted(names, key=lambda name: load_board(name).states)


def load_board(name: str) -> Board:
    """A board by the name of one that comes along, or by the path of a JSON file.

    The file holds a ruleset, as `Ruleset.of` takes it, or has one under the key `ruleset`.

    Raises:
        SolverError: there is none, or it holds something else; the message lists what there is.
    """
    shipped = {path.stem: path for path in _files()}
    path = shipped.get(name, Path(name))
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SolverError(
            f"no board {name!r}, and no such file; there are: {', '.join(board_names())}"
        ) from None
    except OSError as error:
        raise SolverError(f"board {name}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SolverError(f"board {name}: not JSON: {error}") from None
    if not isinstance(content, dict):
        raise SolverError(f"board {name}: must be an object, not {short(content)}")
    facts: dict[str, Any] = dict(content) if "ruleset" in content else {"ruleset": content}
    try:
        ruleset = Ruleset.of(facts.pop("ruleset"))
    except ValueError as error:
        raise SolverError(f"board {name}: {error}") from None
    for key, value in facts.items():
        if key not in _FACTS:
            raise SolverError(f"board {name}: unknown key {key!r}; there are: {', '.join(_FACTS)}")
        if not isinstance(value, _FACTS[key]):
            raise SolverError(f"board {name}: {key} can't be {short(value)}")
    return Board(name, ruleset, **facts)


@lru_cache(maxsize=2)
def solution_of(ruleset: Ruleset, memory: int = DEFAULT_MEMORY, *, merge: bool = True) -> Solution:
    """Solve a board; the last few are remembered. See `solve`."""
    return solve(opening_of(ruleset), memory, merge=merge)


class SolvedAgent(Agent):
    """The agent `solved:BOARD`: exact play for the win on one board, ties at random.

    It is solved when the agent is made, which for the largest board that comes along takes about a
    minute.

    Args:
        name: see `Agent`.
        seed: see `Agent`.
        path: name or file of the board.
    """

    def __init__(self, name: str, seed: int, path: str) -> None:
        super().__init__(name, seed)
        self.solution = solution_of(load_board(path).ruleset)

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`.

        Raises:
            SolverError: a position cannot be reached on the board.
        """
        actions = np.empty(len(states), np.int64)
        _draw(self.solution.best_actions(states, OBJECTIVES[WIN]), keys, actions)
        return actions

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`.

        Raises:
            SolverError: a position cannot be reached on the board.
        """
        best = self.solution.best_actions(states, OBJECTIVES[WIN])
        return best / best.sum(axis=1, keepdims=True)

    def values(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.values`.

        Raises:
            SolverError: a position cannot be reached on the board.
        """
        out = np.zeros((len(states), MAX_PLAYERS))
        out[:, 0] = self.solution.values_of(states)[:, WIN]
        out[:, 1] = 1.0 - out[:, 0]
        return out


@njit
def _draw(best: npt.NDArray[np.bool_], keys: Keys, actions: Actions) -> None:
    """Draw each action from those that are best."""
    for i in range(len(best)):
        bits: Int = 0
        for action in range(N_ACTIONS):
            bits |= np.int64(best[i, action]) << action
        actions[i] = draw_action(bits, keys[i])


def _files() -> Iterator[Path]:
    yield from (Path(str(resources.files("agents"))) / "solved").glob("*.json")
