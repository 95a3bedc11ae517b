"""Rewards: what the end of a game is worth to each seat, and shaping on the way there.

The rules give points; here they become numbers to learn from. Evaluation reports points, ranks and
win shares, never these.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thatslife_env import rules
from thatslife_env._jit import njit
from thatslife_env.board import MAX_PLAYERS, OVER
from thatslife_env.rules import State

Floats = npt.NDArray[Any]

REWARDS: Final[dict[str, str]] = {
    "win": "(players x win share - 1) / (players - 1): 1 won alone, -1 / (players - 1) lost",
    "margin": "points less the opponents' mean, over 50, clipped to [-1, 1]",
    "rank": "1 for the first to -1 for the last, linear between them, ties averaged",
}
"""Name of each terminal reward to what it is; the index in this order is its code in kernels."""

MARGIN_SCALE: Final = 50
_WIN = 0
_MARGIN = 1


def reward_code(name: str) -> int:
    """The code of a reward in kernels.

    Raises:
        ValueError: there is no such reward.
    """
    if not isinstance(name, str) or name not in REWARDS:
        raise ValueError(f"unknown reward {name!r}; there are: {', '.join(REWARDS)}")
    return list(REWARDS).index(name)


def finite(name: str, value: float) -> float:
    """`value` as a float.

    Raises:
        ValueError: it is not a finite number; the message names it.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    if not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)


@njit
def worst_reward(code: int, players: int) -> float:
    """The lowest terminal reward that a seat can get: float64."""
    return -1.0 / (players - 1) if code == _WIN else -1.0


@njit
def write_rewards(state: State, code: int, out: Floats) -> None:
    """Write each seat's terminal reward into `out`, float64[6]; absent seats 0.

    Args:
        state: a finished game.
        code: which reward, `reward_code`.
        out: overwritten.
    """
    players = np.int64(state["players"])
    if code == _WIN:
        rules.write_win_shares(state, out)
        for seat in range(players):
            out[seat] = (players * out[seat] - 1) / (players - 1)
    elif code == _MARGIN:
        _write_leads(state, out)
        for seat in range(players):
            out[seat] = min(max(out[seat] / MARGIN_SCALE, -1.0), 1.0)
    else:
        write_ranks(state, out)
        for seat in range(players):
            out[seat] = 1 - 2 * (out[seat] - 1) / (players - 1)


@njit
def write_ranks(state: State, out: Floats) -> None:
    """Write each seat's rank into `out`, float64[6]: 1 is best, ties share it; absent seats 0."""
    players = np.int64(state["players"])
    for seat in range(MAX_PLAYERS):
        rank = 0.0
        if seat < players:
            own = rules.standing(state, seat)
            rank = 0.5
            for other in range(players):
                theirs = rules.standing(state, other)
                rank += 1.0 if theirs > own else 0.5 if theirs == own else 0.0
        out[seat] = rank


@njit
def write_potentials(state: State, out: Floats) -> None:
    """Write each seat's potential for shaping into `out`, float64[6]; absent seats 0.

    It is the seat's points less the opponents' mean, and 0 for all at the end (Ng, Harada, Russell
    1999: with such a potential, shaping leaves the best policies as they are).
    """
    if state["phase"] == OVER:
        out[:MAX_PLAYERS] = 0.0
    else:
        _write_leads(state, out)


@njit
def _write_leads(state: State, out: Floats) -> None:
    players = np.int64(state["players"])
    total = 0.0
    for seat in range(players):
        total += rules.points(state, seat)
    for seat in range(MAX_PLAYERS):
        out[seat] = 0.0
        if seat < players:
            own = rules.points(state, seat)
            out[seat] = own - (total - own) / (players - 1)
