"""A position as a vector: whole numbers of one length for every ruleset and 2 to 6 players.

It is what exported models take in. `LAYOUT` states it once: the encoders of a bundle, its manifest,
the docs and the tests come from it. Vectors and the JSON of the rule page map one to one.
"""

import hashlib
import json
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from thatslife_env import board, njit
from thatslife_env.board import (
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_TRACK,
    MIN_PLAYERS,
    NO_TILE,
    NOWHERE,
    PHASE_NAMES,
    SCORINGS,
)

States = npt.NDArray[Any]
Vectors = npt.NDArray[np.int32]


class Row(NamedTuple):
    """One named part of the vector: `shape` whole numbers from `low` to `high`."""

    name: str
    shape: tuple[int, ...]
    low: int
    high: int
    meaning: str


_TILES = ", ".join(f"{code} {name}" for name, code in board.TILE_OF_NAME.items())

LAYOUT: Final[tuple[Row, ...]] = (
    Row("players", (1,), MIN_PLAYERS, MAX_PLAYERS, "`rules.players`"),
    Row("pawns_each", (1,), 1, MAX_PAWNS, "`rules.pawns`"),
    Row("with_guards", (1,), 0, 1, "`rules.guards`: 1 if true"),
    Row(
        "scoring",
        (1,),
        0,
        len(SCORINGS) - 1,
        "`rules.scoring`: " + ", ".join(f"{code} {name}" for code, name in enumerate(SCORINGS)),
    ),
    Row("player", (1,), 0, MAX_PLAYERS - 1, "`player`"),
    Row(
        "phase",
        (1,),
        0,
        len(PHASE_NAMES) - 1,
        "`phase`: " + ", ".join(f"{code} {name}" for code, name in enumerate(PHASE_NAMES)),
    ),
    Row("die", (1,), 0, board.DIE_FACES, "`die`"),
    Row(
        "track",
        (MAX_TRACK,),
        board.MIN_VALUE,
        NO_TILE,
        f"`track`: a number tile is its value, else {_TILES}; {NO_TILE} beyond the finish",
    ),
    Row(
        "pawns",
        (MAX_PLAYERS, MAX_PAWNS),
        NOWHERE,
        MAX_TRACK - 1,
        f"`pawns`, seat by seat; {NOWHERE} for pawns and seats that there are not",
    ),
    Row("guards", (MAX_GUARDS,), NOWHERE, MAX_TRACK - 1, f"`guards`, then {NOWHERE}"),
    Row(
        "towers",
        (MAX_PLAYERS, MAX_TILES),
        board.MIN_VALUE,
        NO_TILE,
        f"`towers`, seat by seat, bottom to top, tiles as on the track; {NO_TILE} above the top",
    ),
)
"""The vector, row by row; the rows lie one after the other, each in C order."""


def _slices() -> dict[str, slice]:
    slices, start = {}, 0
    for row in LAYOUT:
        stop = start + int(np.prod(row.shape))
        slices[row.name] = slice(start, stop)
        start = stop
    return slices


SLICES: Final[dict[str, slice]] = _slices()
"""Name of each row to its place in the vector."""

SIZE: Final = SLICES[LAYOUT[-1].name].stop
"""Length of a vector."""

HASH: Final = hashlib.sha256(json.dumps([row[:4] for row in LAYOUT]).encode()).hexdigest()[:16]
"""Changes when the layout does."""


def vectors_of(states: States) -> Vectors:
    """Positions as vectors.

    Args:
        states: STATE[M], not to be changed.

    Returns:
        int32[M, SIZE].
    """
    out = np.empty((len(states), SIZE), np.int32)
    write_vectors(states, out)
    return out


_PLAYERS = SLICES["players"].start
_PAWNS_EACH = SLICES["pawns_each"].start
_WITH_GUARDS = SLICES["with_guards"].start
_SCORING = SLICES["scoring"].start
_PLAYER = SLICES["player"].start
_PHASE = SLICES["phase"].start
_DIE = SLICES["die"].start
_TRACK = SLICES["track"].start
_PAWNS = SLICES["pawns"].start
_GUARDS = SLICES["guards"].start
_TOWERS = SLICES["towers"].start


@njit
def write_vectors(states: States, out: Vectors) -> None:
    """Write positions, STATE[M], as vectors into `out`, int32[M, SIZE]."""
    for index in range(len(states)):
        state = states[index]
        vector = out[index]
        vector[_PLAYERS] = state["players"]
        vector[_PAWNS_EACH] = state["pawns_each"]
        vector[_WITH_GUARDS] = state["with_guards"]
        vector[_SCORING] = state["scoring"]
        vector[_PLAYER] = state["player"]
        vector[_PHASE] = state["phase"]
        vector[_DIE] = state["die"]
        for slot in range(MAX_TRACK):
            vector[_TRACK + slot] = state["track"][slot]
        for guard in range(MAX_GUARDS):
            vector[_GUARDS + guard] = state["guards"][guard]
        for seat in range(MAX_PLAYERS):
            for pawn in range(MAX_PAWNS):
                vector[_PAWNS + seat * MAX_PAWNS + pawn] = state["pawns"][seat, pawn]
            for level in range(MAX_TILES):
                vector[_TOWERS + seat * MAX_TILES + level] = state["towers"][seat, level]


def description() -> dict[str, Any]:
    """The layout as a JSON object, for frontends."""
    return {
        "dtype": "int32",
        "size": SIZE,
        "hash": HASH,
        "tiles": board.TILE_OF_NAME,
        "no_tile": NO_TILE,
        "nowhere": NOWHERE,
        "phases": list(PHASE_NAMES),
        "scorings": list(SCORINGS),
        "rows": [
            {**row._asdict(), "shape": list(row.shape), "start": SLICES[row.name].start}
            for row in LAYOUT
        ],
    }


def vector_table() -> str:
    """The layout as a Markdown table, for the docs."""
    lines = ["| slice | name | shape | range | meaning |", "|---|---|---|---|---|"]
    for row in LAYOUT:
        place = SLICES[row.name]
        lines.append(
            f"| `[{place.start}:{place.stop}]` | `{row.name}` | {' x '.join(map(str, row.shape))} "
            f"| {row.low} .. {row.high} | {row.meaning} |"
        )
    return "\n".join(lines)
