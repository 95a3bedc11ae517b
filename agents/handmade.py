"""A value of positions made by hand: points, and what pawns and tiles on the table promise.

For every seat a number of points is expected at the end: those it has, and a weighted sum of what
its pawns stand on, what lies ahead of them, and what its tower can still turn. The win shares are
the softmax of these points over a spread that shrinks with the way left to go. What is looked at
was chosen by hand; the weights are fitted by `benchmarks/fit_handmade.py` to what the learned
values of `agents.afterstate` say, for each kind of game apart (`kind_of`).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thatslife_env import njit, rules
from thatslife_env.board import (
    DIE_FACES,
    EXPERT,
    GIFT,
    LUCKY,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TRACK,
    MIN_VALUE,
    OVER,
    STEAL,
)
from thatslife_env.rules import Int, State

Floats = npt.NDArray[np.float64]

FEATURES: Final = (
    # what a pawn stands on alone; the same, fading with each piece behind; with one a roll behind
    "good under it, alone",
    "good under it, alone, fading",
    "good under it, alone, one roll behind",
    "bad under it, alone",
    "bad under it, alone, fading",
    "bad under it, alone, one roll behind",
    # with one other piece, with more; shared, fading
    "good under it, with one",
    "good under it, with more",
    "bad under it, with one",
    "bad under it, with more",
    "good under it, shared, fading",
    "bad under it, shared, fading",
    "bad under it, alone, rolls next",
    "gift under it, alone",
    "steal under it, alone",
    # what lies one roll ahead of a pawn: means of six slots
    "good ahead, free",
    "good ahead, taken",
    "bad ahead, free",
    "bad ahead, taken",
    # 7 to 12 slots ahead
    "good farther",
    "bad farther",
    # the way
    "pawns on the way",
    "slots to go",
    "rolls next",
    # the tower
    "lucky tiles, unused",
    "lucky tiles ahead times what one would turn",
    "minus on top, gifts ahead",
    "plus on top, steals ahead",
    # what is not in the worth of a tile now
    "lucky under it, alone",
    "lucky under it, shared",
    "lucky ahead",
    "bad under it, alone, no other pawn on the way",
)
N_FEATURES: Final = len(FEATURES)
PASSES: Final = 0.75  # the chance that a piece behind a tile does not come to stand on it
_NO_BOUND: Final = 99  # no lucky tile turns anything: no minus tile is better than its value

# fmt: off
WEIGHTS: Final = np.array([
    [0.104, 0.215, 0.11, 0.522, 0.102, 0.004, -0.059, -0.155, 0.3, 0.411, 0.199, 0.339, -0.097,
     -0.627, 6.511, 0.386, 0.163, 0.19, 0.021, 0.266, -0.041, 3.492, 0.332, 1.005, 2.959, -0.011,
     -0.093, -0.082, 4.89, 1.291, 0.754, 0.208],
    [0.74, 0.035, -0.059, 0.154, 0.198, 0.024, 0.491, 0.472, -0.108, -0.122, -0.401, 0.917, 0.137,
     0.0, 0.0, -0.39, 0.239, 0.867, 0.289, 0.429, 0.119, -0.349, 0.719, 1.043, 0.519, -0.309, 0.0,
     0.0, 4.416, 4.154, 0.051, 0.605],
    [0.327, 0.117, 0.027, 0.214, 0.031, 0.031, 0.035, -0.005, 0.252, 0.197, 0.094, -0.095, -0.041,
     1.82, 1.807, 0.222, 0.105, -0.012, -0.106, 0.056, -0.067, 2.914, 0.156, 0.793, 0.0, -0.04,
     -0.136, -0.173, 2.512, 1.018, 0.405, 0.344],
    [0.219, 0.164, 0.145, 0.237, 0.026, 0.099, 0.148, 0.123, 0.177, 0.129, -0.04, 0.004, -0.107,
     1.081, 1.447, 0.535, 0.227, -0.063, 0.045, 0.177, -0.116, 2.82, 0.188, 0.567, 0.0, -0.05,
     -0.105, -0.116, 2.214, 1.551, 0.488, 0.27],
    [0.207, 0.174, 0.121, 0.433, -0.022, -0.082, 0.035, -0.027, 0.263, 0.36, 0.101, 0.009, 0.035,
     -1.635, 3.628, 0.227, 0.174, 0.133, 0.136, 0.082, 0.168, 3.273, 0.18, 0.137, 0.295, 0.05,
     -0.077, -0.091, 1.482, 0.459, 0.258, 0.388],
    [0.535, 0.157, -0.057, 0.287, 0.123, 0.046, 0.17, 0.113, 0.153, 0.228, 0.024, 0.354, 0.062,
     0.0, 0.0, -0.102, 0.015, 0.617, 0.277, 0.14, 0.182, 0.726, 0.303, 0.358, 1.525, -0.015, 0.0,
     0.0, 2.226, 1.227, -0.222, 0.367],
    [0.237, 0.196, 0.088, 0.178, 0.117, 0.078, 0.06, 0.012, 0.168, 0.176, 0.072, -0.089, -0.054,
     -1.218, 2.886, 0.266, 0.24, -0.03, -0.082, 0.009, -0.071, 3.048, 0.157, -0.216, 0.0, -0.025,
     -0.18, -0.162, 1.393, 0.644, 0.212, 0.249],
    [0.26, 0.185, 0.087, 0.235, 0.075, 0.052, 0.071, 0.026, 0.144, 0.152, 0.069, -0.064, -0.021,
     -1.368, 3.035, 1.279, 0.232, -0.244, -0.113, 0.085, -0.079, 3.243, 0.173, 0.031, 0.0, -0.022,
     -0.147, -0.144, 1.489, 0.701, 0.264, 0.317],
])
# fmt: on
"""float64[8, N_FEATURES]: points for each unit of a feature, by kind of game; see `kind_of`."""

SPREADS: Final = np.array(
    [
        [32.077, 1.215],
        [5.154, 0.775],
        [39.437, 0.828],
        [37.632, 0.737],
        [26.218, 0.166],
        [10.532, 0.145],
        [30.402, 0.222],
        [34.805, 0.197],
    ]
)
"""float64[8, 2]: the square of the spread at the end, and what each slot to go adds."""


@njit(inline=True)
def kind_of(state: State) -> Int:
    """Which weights: +1 with guards, +2 for expert scoring, +4 for more than two players."""
    return (state["n_guards"] > 0) + 2 * (state["scoring"] == EXPERT) + 4 * (state["players"] > 2)


@njit
def lucky_turns(state: State, seat: int) -> tuple[Int, Int, Int]:
    """What lucky tiles do in a tower.

    Returns:
        The size of the least minus tile that one turns, 0 if one is left over, large if there is
        none; by how much half one more would raise the points; how many are left over.
    """
    if state["scoring"] == EXPERT:
        return _NO_BOUND, -rules.top_rank(state, seat), 0
    counts = state["counts"][seat]
    unused = np.int64(counts[LUCKY - MIN_VALUE])
    least: Int = _NO_BOUND
    for size in range(-MIN_VALUE, 0, -1):
        tiles = np.int64(counts[-size - MIN_VALUE])
        if tiles > unused:
            return (least if unused == 0 else size), size, 0
        if tiles > 0:
            least = size
            unused -= tiles
    return (0 if unused > 0 else least), 0, unused


@njit(inline=True)
def worth(tile: int, least: int, turned: int) -> Int:
    """By how much a number or lucky tile would raise the points; see `lucky_turns`."""
    if tile == LUCKY:
        return 2 * turned
    if tile > 0 or -tile <= least:
        return tile
    return -tile - 2 * least


@njit
def write_features(state: State, seat: int, pieces: npt.NDArray[np.int64], out: Floats) -> None:
    """Write the features of a seat that has pawns on the way or not: float64[N_FEATURES].

    Args:
        state: any.
        seat: whose.
        pieces: int64[MAX_TRACK], pawns and guards on each slot.
        out: overwritten.
    """
    out[:] = 0.0
    finish = np.int64(state["finish"])
    track = state["track"]
    least, turned, unused = lucky_turns(state, seat)
    top = rules.top_rank(state, seat)
    rolls_next = state["player"] == seat
    rear: Int = finish
    for pawn in range(MAX_PAWNS):
        slot = np.int64(state["pawns"][seat, pawn])
        if slot < 0 or slot == finish:
            continue
        rear = min(rear, slot)
        out[21] += 1.0
        out[22] += finish - slot
        tile = np.int64(track[slot])
        others = pieces[slot] - 1
        near = 0
        n_behind = 0
        for behind in range(slot):
            n_behind += pieces[behind]
            if behind >= slot - DIE_FACES:
                near += pieces[behind]
        fading = PASSES**n_behind
        if slot > 0 and tile < GIFT:
            value = np.float64(worth(tile, least, turned))
            if tile == LUCKY:
                out[28 if others == 0 else 29] += 1.0
            kind = 0 if value > 0 else 3
            if others == 0:
                out[kind] += value
                out[kind + 1] += value * fading
                if near > 0:
                    out[kind + 2] += value
                if value < 0 and rolls_next:
                    out[12] += value
            else:
                out[(6 if value > 0 else 8) + (1 if others > 1 else 0)] += value
                out[10 if value > 0 else 11] += value * fading
        elif slot > 0 and others == 0:
            out[13 if tile == GIFT else 14] += 1.0
        for ahead in range(slot + 1, min(slot + 13, finish)):
            tile = np.int64(track[ahead])
            if tile >= GIFT:
                continue
            value = worth(tile, least, turned) / 6.0
            if tile == LUCKY and ahead <= slot + 6:
                out[30] += 1.0
            if ahead > slot + 6:
                out[19 if value > 0 else 20] += value
            else:
                out[(15 if value > 0 else 17) + (1 if pieces[ahead] > 0 else 0)] += value
    if rolls_next and rear < finish:
        out[23] = 1.0
    if out[21] == 1.0:
        out[31] = out[3]
    out[24] = unused
    for ahead in range(rear, finish):
        tile = np.int64(track[ahead])
        if tile == LUCKY:
            out[25] += turned
        elif tile == GIFT and top < 0:
            out[26] += top
        elif tile == STEAL and top > 0:
            out[27] += top


@njit
def count_pieces(state: State, pieces: npt.NDArray[np.int64]) -> Int:
    """Count pawns and guards on each slot; returns how far all pawns have to go, in slots."""
    finish = np.int64(state["finish"])
    pieces[:] = 0
    way: Int = 0
    for seat in range(np.int64(state["players"])):
        for pawn in range(np.int64(state["pawns_each"])):
            slot = np.int64(state["pawns"][seat, pawn])
            pieces[slot] += 1
            way += finish - slot
    for guard in range(np.int64(state["n_guards"])):
        pieces[np.int64(state["guards"][guard])] += 1
    return way


@njit
def write_value(
    state: State,
    weights: Floats,
    spreads: Floats,
    pieces: npt.NDArray[np.int64],
    features: Floats,
    out: Floats,
) -> None:
    """Write the win share expected for every seat: float64[6], absent seats 0.

    Args:
        state: of any phase.
        weights: float64[8, N_FEATURES], see `WEIGHTS`.
        spreads: float64[8, 2], see `SPREADS`.
        pieces: int64[MAX_TRACK], overwritten.
        features: float64[N_FEATURES], overwritten.
        out: overwritten.
    """
    if state["phase"] == OVER:
        rules.write_win_shares(state, out)
        return
    kind = kind_of(state)
    players = np.int64(state["players"])
    way = count_pieces(state, pieces)
    highest = -np.inf
    for seat in range(players):
        write_features(state, seat, pieces, features)
        expected = np.float64(rules.points(state, seat))
        for number in range(N_FEATURES):
            expected += weights[kind, number] * features[number]
        out[seat] = expected
        highest = max(highest, expected)
    spread = np.sqrt(spreads[kind, 0] + spreads[kind, 1] * way)
    total = 0.0
    for seat in range(players):
        out[seat] = np.exp((out[seat] - highest) / spread)
        total += out[seat]
    for seat in range(MAX_PLAYERS):
        out[seat] = out[seat] / total if seat < players else 0.0


@njit
def write_values(states: npt.NDArray[Any], weights: Floats, spreads: Floats, out: Floats) -> None:
    """Write the value of M states: float64[M, 6]. See `write_value`."""
    pieces = np.empty(MAX_TRACK, np.int64)
    features = np.empty(N_FEATURES, np.float64)
    for i in range(len(states)):
        write_value(states[i], weights, spreads, pieces, features, out[i])


def handmade_values(states: npt.NDArray[Any]) -> Floats:
    """The win share expected for every seat in M states of any phase: float64[M, 6]."""
    out = np.empty((len(states), MAX_PLAYERS), np.float64)
    write_values(states, WEIGHTS, SPREADS, out)
    return out
