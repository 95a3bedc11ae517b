"""What people see of a game: one drawing of a position, and the window that shows it.

    draw(position)                  # a Drawing: .svg(), .pixels(), and itself in a notebook
    draw(after, [(before, action)]) # and what the last move did

All pictures come from `draw`: those of the environments' `rgb_array` and `human`, of notebooks and
of videos. Colours and marks are those of the browser's page. This module is imported where it is
used; pixels need Pillow, the window pygame (the extra `render`).
"""

import itertools
import math
import os
import textwrap
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thatslife_env import rules
from thatslife_env.board import FIRST_GUARD, MAX_VALUE, MIN_VALUE
from thatslife_env.drawing import (
    Area,
    Box,
    Drawing,
    Line,
    Oval,
    Point,
    Shape,
    Text,
    moved,
    outline,
    require,
)
from thatslife_env.outcomes import Outcome, outcome
from thatslife_env.position import Position

Face = int | str  # a tile as in the JSON
Move = tuple[Position, int]  # a position and the action that was played in it
Owner = int | str  # a seat, or "guard"

WIDTH: Final = 800
HEIGHT: Final = 500

PALETTE: Final[dict[str, Any]] = {
    "seats": [
        {"fill": "#0072b2", "ink": "#ffffff", "mark": "disc"},
        {"fill": "#e69f00", "ink": "#2b1d00", "mark": "triangle"},
        {"fill": "#00805d", "ink": "#ffffff", "mark": "square"},
        {"fill": "#cc79a7", "ink": "#2b0a1d", "mark": "diamond"},
        {"fill": "#c04e00", "ink": "#ffffff", "mark": "cross"},
        {"fill": "#56b4e9", "ink": "#06283d", "mark": "star"},
    ],
    "guard": {"fill": "#5b5e66", "ink": "#f4f1e8"},
    "tiles": {
        "minus": {"light": "#f8e6da", "deep": "#ec9c80", "ink": "#6b1d0b"},
        "plus": {"light": "#e2edf8", "deep": "#93bfe8", "ink": "#0b3a66"},
        "lucky": {"fill": "#f5dc86", "ink": "#4a5a12"},
        "gift": {"fill": "#eadcf3", "ink": "#5b2d82"},
        "steal": {"fill": "#cfc4e0", "ink": "#33204f"},
        "end": {"fill": "#fbf7ec", "ink": "#3c4a43"},
    },
}
"""Colours that stay apart for every kind of colour vision, and a mark for each seat; those of
`web/palette.js`."""

_PAPER = "#f3eee2"
_CARD = "#fffdf6"
_CARD_ASIDE = "#f8f4e9"
_INK = "#25302b"
_MUTED = "#59635c"
_RULE = "#d8cfba"
_ACCENT = "#1d5b49"
_FELT = "#41705f"
_RIBBON = "#356153"
_SHADOW = "#2c5347"
_GLOW = "#ffd866"
_TILE_EDGE = "#b9ad97"
_PIECE_EDGE = "#1c1c1c"
_TRAIL = "#13211b"

# Where things lie: the die and the words on top, the board below them, the seats at the right.
_BOARD = (8, 62, 560, 430)
_SEATS = (576, 8, 216, 484)
_CELL = (100, 118)  # a slot, in units that are scaled to fit; all figures below are in them
_TILE = (88, 104)
_LARGEST = 1.4  # scale of a small board

# What is drawn --------------------------------------------------------------------------------


def draw(
    position: Position, moves: Sequence[Move] = (), names: Sequence[str] | None = None
) -> Drawing:
    """The drawing of a position, 800 x 500.

    It shows the track, pieces, towers (bottom to top from the left), the die, whose turn it is,
    which pieces or seats may be chosen, points, and what was played last.

    Args:
        position: the game as it stands.
        moves: what was played before it, oldest first: each a position and the action played in
            it. The last one, which led here, is drawn; of each seat the last one is told.
        names: of the seats; without, `seat 0` and so on.

    Raises:
        ValueError: the number of names is not that of the seats.
        IllegalMoveError: a move was not legal.
    """
    table = _Table(position, tuple(moves), _names(position, names))
    shapes = (
        Box(0, 0, WIDTH, HEIGHT, _PAPER),
        *_header(table),
        *_board(table),
        *_seats(table),
    )
    return Drawing(WIDTH, HEIGHT, shapes, headline(position, names))


def headline(position: Position, names: Sequence[str] | None = None) -> str:
    """Whose turn it is and what for, or who has won."""
    who = _names(position, names)
    seat, die = who[position.player], position.die
    if position.is_over:
        winners = [who[winner] for winner in position.winners()]
        return f"{winners[0]} wins" if len(winners) == 1 else f"{_listed(winners)} share the win"
    return {
        "roll": f"{seat} to roll",
        "move": f"{seat} rolled {die}, to move",
        "give": f"{seat} rolled {die}, to give its top tile",
        "steal": f"{seat} rolled {die}, to steal a top tile",
    }[position.phase]


def tell(move: Move, names: Sequence[str] | None = None) -> str:
    """What a move did, in words: `pawn from -3 to lucky, takes -3`.

    Args:
        move: a position and the action played in it.
        names: of the seats; without, `seat 0` and so on.

    Raises:
        IllegalMoveError: it was not legal.
    """
    seen = outcome(*move)
    who = _names(move[0], names)
    words = []
    if seen.piece:
        track = move[0].to_json()["track"]
        begin, end = show_face(track[seen.source]), show_face(track[seen.target])
        words.append(f"{seen.piece} from {begin} to {end}")
    if seen.takes is not None:
        words.append(f"takes {show_face(seen.takes)}")
    if seen.turns is not None:
        words.append(f"turns the {seen.turns}")
    if seen.passed is not None and seen.giver == seen.seat:
        words.append(f"gives {show_face(seen.passed)} to {who[seen.receiver]}")
    elif seen.passed is not None:
        words.append(f"steals {show_face(seen.passed)} from {who[seen.giver]}")
    return ", ".join(words)


def show_face(face: Face) -> str:
    """A tile as people read it: `+5`, `-3`, `lucky`."""
    return f"{face:+d}" if isinstance(face, int) else face


def _names(position: Position, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [f"seat {seat}" for seat in range(position.players)]
    if len(names) != position.players:
        raise ValueError(f"{len(names)} names for {position.players} seats")
    return ["".join(mark if mark.isprintable() else "?" for mark in str(name)) for name in names]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class _Table:
    """A position and its moves, made ready to be drawn."""

    def __init__(self, position: Position, moves: tuple[Move, ...], names: list[str]) -> None:
        self.position = position
        self.names = names
        data = position.to_json()
        self.track: list[Face] = data["track"]
        self.pawns: list[list[int]] = data["pawns"]
        self.guards: list[int] = data["guards"]
        self.towers: list[list[Face]] = data["towers"]
        self.scores = position.scores()
        self.legal = position.legal_actions()
        self.seen = outcome(*moves[-1]) if moves else None
        self.told = {move[0].player: (move[0].die, tell(move, names)) for move in moves}
        self.last_seat = moves[-1][0].player if moves else None
        self._fit(len(self.track) + sum(map(len, self.towers)))  # with all that was taken

    def _fit(self, length: int) -> None:
        """Lay the track in rows so that tiles are as large as they can be for such a length."""
        _, _, width, height = _BOARD
        best = 0.0
        for columns in range(4, 10):
            rows = math.ceil(length / columns)
            scale = min((width - 8) / columns / _CELL[0], (height - 8) / rows / _CELL[1], _LARGEST)
            if scale > best:
                best, self.scale, self.columns = scale, scale, columns

    def place(self, slot: float) -> Point:
        """The centre of a slot on the board; every other row runs back.

        Halves lie between two slots of one row, or behind the last of a row.
        """
        x, y, width, height = _BOARD
        rows = math.ceil(len(self.track) / self.columns)
        row = int(slot) // self.columns
        along = slot - row * self.columns
        column = self.columns - 1 - along if row % 2 else along
        left = x + (width - self.columns * _CELL[0] * self.scale) / 2
        top = y + (height - rows * _CELL[1] * self.scale) / 2
        return (
            left + (column + 0.5) * _CELL[0] * self.scale,
            top + (row + 0.5) * _CELL[1] * self.scale,
        )

    def groups(self, slot: int) -> list[tuple[Owner, int]]:
        """Who stands on a slot, and with how many pieces."""
        counted: list[tuple[Owner, int]] = [("guard", self.guards.count(slot))]
        counted += [(seat, slots.count(slot)) for seat, slots in enumerate(self.pawns)]
        return [(owner, count) for owner, count in counted if count]

    def may_move(self, owner: Owner, slot: int) -> bool:
        """Whether a piece of this owner may be moved from there."""
        if self.position.phase != "move":
            return False
        if owner == "guard":
            return any(
                FIRST_GUARD <= action and self.guards[action - FIRST_GUARD] == slot
                for action in self.legal
            )
        slots = self.pawns[self.position.player]
        is_mine = owner == self.position.player
        return is_mine and any(a < FIRST_GUARD and slots[a] == slot for a in self.legal)

    def may_choose(self, seat: int) -> bool:
        """Whether the player may give to this seat, or steal from it."""
        if self.position.phase not in ("give", "steal"):
            return False
        state = self.position.state[0]
        return any(int(rules.opponent_of(state, action)) == seat for action in self.legal)


# The header -----------------------------------------------------------------------------------


def _header(table: _Table) -> Iterator[Shape]:
    position = table.position
    left = 66
    if position.is_over:
        yield from _badge(position.winners()[0], 34, 32, 1.35)
    else:
        yield from _die(position.die, 34, 32, 0.72)
        yield from _badge(position.player, left + 11, 22, 0.8)
        left += 30
    title = headline(position, table.names)
    yield Text(left, 29, _cut(title, 44), 19, _INK, bold=True)
    if table.last_seat is not None:
        die, words = table.told[table.last_seat]
        yield from _badge(table.last_seat, 77, 47, 0.5)
        yield Text(92, 51, _cut(f"{die}: {words}", 72), 12.5, _MUTED)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}.."


_PIPS: Final[dict[int, tuple[Point, ...]]] = {
    0: (),
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    5: ((-1, -1), (1, -1), (0, 0), (-1, 1), (1, 1)),
    6: ((-1, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (1, 1)),
}


def _die(face: int, x: float, y: float, scale: float) -> Iterator[Shape]:
    """The die; blank and pale for 0."""
    side = 56 * scale
    fill, edge = (_CARD, _INK) if face else (_CARD_ASIDE, _RULE)
    yield Box(x - side / 2, y - side / 2, side, side, fill, 12 * scale, edge, 1.6)
    for column, row in _PIPS[face]:
        pip = 6 * scale
        yield Oval(x + 16 * scale * column, y + 16 * scale * row, pip, pip, _INK)


# The board ------------------------------------------------------------------------------------


def _board(table: _Table) -> Iterator[Shape]:
    x, y, width, height = _BOARD
    yield Box(x, y, width, height, _FELT, 16)
    slots = range(len(table.track))
    yield Line(tuple(map(table.place, slots)), _RIBBON, 34 * table.scale)
    seen = table.seen
    shift = 1 if seen and seen.takes is not None else 0  # the track has closed the gap
    for slot, face in enumerate(table.track):
        is_occupied = bool(table.groups(slot))
        centre = table.place(slot)
        yield from _tile(face, *centre, table.scale, is_occupied)
        if seen and seen.turns is not None and slot == seen.source:
            yield from _ring(*centre, table.scale)
        if seen and seen.piece and slot == seen.target - shift:
            yield from _ring(*centre, table.scale)
    if seen and seen.piece:
        yield from _trail(table, seen, shift)
    for slot in slots:
        yield from _pieces(table, slot)


def _ring(x: float, y: float, scale: float) -> Iterator[Shape]:
    """What shows where the last move led."""
    width, height = _TILE[0] * scale, _TILE[1] * scale
    for colour, thick in ((_TRAIL, 9), (_GLOW, 5)):
        yield Box(
            x - width / 2, y - height / 2, width, height, None, 13 * scale, colour, thick * scale
        )


def _trail(table: _Table, seen: Outcome, shift: int) -> Iterator[Shape]:
    """An arrow along the track, from where the piece of the last move stood to where it stands."""
    scale = table.scale
    first = seen.source - 0.5 if shift else float(seen.source)
    stops = [first, *range(seen.source + 1 - shift, seen.target - shift + 1)]
    points = [table.place(stops[0])]
    for before, after in itertools.pairwise(stops):
        (x, y), (next_x, next_y) = table.place(before), table.place(after)
        if next_y > y:  # around the end of the row, where no tile is covered
            side = 1 if int(before) // table.columns % 2 == 0 else -1
            edge = next_x + side * 47 * scale
            points += [(edge, y), (edge, next_y)]
        points.append((next_x, next_y))
    low = [(x, y + 38 * scale) for x, y in points]
    (x, y), (end_x, end_y) = low[-2:]
    way = 1 if end_x > x else -1
    low[-1] = (end_x - way * 34 * scale, end_y)
    head = moved(((16, 0), (-2, -11), (-2, 11)), *low[-1], scale, 0 if way > 0 else 180)
    dot = Oval(*low[0], 7 * scale, 7 * scale, _GLOW, _TRAIL, 3 * scale)
    yield Line(tuple(low), _TRAIL, 10 * scale)
    yield Area(head, _GLOW, _TRAIL, 5 * scale)
    yield Line(tuple(low), _GLOW, 5 * scale)
    yield Area(head, _GLOW)
    yield dot


def _pieces(table: _Table, slot: int) -> Iterator[Shape]:
    """The pieces on one slot: those of one owner behind each other, owners side by side."""
    groups = table.groups(slot)
    x, y = table.place(slot)
    for number, (owner, count) in enumerate(groups):
        dx, dy, size = _corner(number, len(groups))
        scale = table.scale * size
        shown = min(count, 3)
        foot = (x + dx * table.scale, y + dy * table.scale)
        if table.may_move(owner, slot):
            yield Oval(*foot, 24 * scale, 10 * scale, _GLOW, _TRAIL, 2.5 * scale)
        for rank in range(shown):
            fan = (rank - (shown - 1) / 2) * 8 * scale
            back = (shown - 1 - rank) * 3 * scale
            yield from _piece(owner, foot[0] + fan, foot[1] - back, scale)
        if count > shown:
            number_at = (foot[0] + 13 * scale, foot[1] - 3 * scale)
            yield Oval(*number_at, 9 * scale, 9 * scale, _INK, _CARD, 1.5 * scale)
            yield Text(
                number_at[0],
                number_at[1] + 5 * scale,
                str(count),
                14 * scale,
                _CARD,
                "middle",
                True,
            )


def _corner(number: int, n: int) -> tuple[float, float, float]:
    """Where a group of n stands on its tile, from the centre, and its size."""
    if n <= 3:
        return (number - (n - 1) / 2) * 27, 44, (1.12, 1.0, 0.84)[n - 1]
    per_row = math.ceil(n / 2)
    row, along = divmod(number, per_row)
    in_row = per_row if row == 0 else n - per_row
    is_crowded = per_row > 3
    dx = (along - (in_row - 1) / 2) * (21 if is_crowded else 27)
    return dx, 46 if row else 14, 0.62 if is_crowded else 0.74


# Figures: about an origin, in units of which a tile is 88 wide -----------------------------------

_BODY = outline("M-15,0 V-5 C-15,-14 -8,-19 0,-19 C8,-19 15,-14 15,-5 V0 Q0,4 -15,0 Z")
_HAT = outline("M-13,-26 H13 C11,-30 9,-31 8,-36 H-8 C-9,-31 -11,-30 -13,-26 Z")
_SHIELD = outline("M-6,-14 Q0,-12 6,-14 C7,-6 4,-2 0,0 C-4,-2 -7,-6 -6,-14 Z")
_LEAF = outline(
    "M0,0 C-4,-8 -17,-9 -15,-19 C-13,-27 -3,-26 0,-18 C3,-26 13,-27 15,-19 C17,-9 4,-8 0,0 Z"
)
_STEM = outline("M1,3 Q4,19 12,27")
_BOW = outline(
    "M0,-12 C-4,-26 -20,-26 -15,-15 C-13,-12 -6,-12 0,-12 C6,-12 13,-12 15,-15 C20,-26 4,-26 0,-12"
)
_MASK = outline(
    "M-28,-12 C-16,-19 -8,-10 0,-10 C8,-10 16,-19 28,-12 C30,6 22,16 11,14 C4,13 3,6 0,6 "
    "C-3,6 -4,13 -11,14 C-22,16 -30,6 -28,-12 Z"
)
_EYE = outline("M-18,-3 C-13,-8 -8,-5 -6,0 C-10,5 -16,4 -18,-3 Z")
_ARROW = outline("M-18,-22 H0 V-31 L18,-16 L0,-1 V-10 H-18 Z")
_STAR: tuple[Point, ...] = tuple(
    (
        (4.2 if i % 2 else 10) * math.sin(math.pi * i / 5),
        -(4.2 if i % 2 else 10) * math.cos(math.pi * i / 5),
    )
    for i in range(10)
)
_MARKS: Final[dict[str, tuple[Point, ...]]] = {
    "triangle": outline("M0,-8 L9,7 H-9 Z"),
    "square": outline("M-7,-7 H7 V7 H-7 Z"),
    "diamond": outline("M0,-10 L9,0 L0,10 L-9,0 Z"),
    "cross": outline("M-3,-8 H3 V-3 H8 V3 H3 V8 H-3 V3 H-8 V-3 H-3 Z"),
    "star": _STAR,
}


def tile_colours(face: Face) -> tuple[str, str]:
    """Fill and ink of a tile; the larger the number, the deeper."""
    tiles = PALETTE["tiles"]
    if not isinstance(face, int):
        colours = tiles.get(face, tiles["end"])
        return colours["fill"], colours["ink"]
    colours = tiles["minus" if face < 0 else "plus"]
    depth = (abs(face) - 1) / ((-MIN_VALUE if face < 0 else MAX_VALUE) - 1)
    return _mixed(colours["light"], colours["deep"], depth), colours["ink"]


def _mixed(begin: str, end: str, share: float) -> str:
    """The colour at `share` of the way from one to another."""
    pairs = [(int(begin[i : i + 2], 16), int(end[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{math.floor(a + (b - a) * share + 0.5):02x}" for a, b in pairs)


def _tile(face: Face, x: float, y: float, scale: float, is_occupied: bool) -> Iterator[Shape]:
    """A tile about its centre; with pieces on it, its face is smaller and further up."""
    fill, _ = tile_colours(face)
    width, height = _TILE[0] * scale, _TILE[1] * scale
    left, top = x - width / 2, y - height / 2
    yield Box(left, top + 5 * scale, width, height, _SHADOW, 13 * scale)
    yield Box(left, top, width, height, fill, 13 * scale, _TILE_EDGE, 1)
    if face in ("start", "finish"):
        yield from _end_of_track(face == "start", x, y, scale, is_occupied)
    else:
        up, size = (24, 0.88) if is_occupied else (0, 1.12)
        yield from _symbol(face, x, y - up * scale, scale * size)


def _end_of_track(
    is_start: bool, x: float, y: float, scale: float, is_occupied: bool
) -> Iterator[Shape]:
    ink = PALETTE["tiles"]["end"]["ink"]
    word = "Start" if is_start else "Finish"
    if is_occupied:
        yield Text(x, y - 30 * scale, word, 23 * scale, ink, "middle", True)
        return
    yield Text(x, y + 32 * scale, word, 23 * scale, ink, "middle", True)
    if is_start:
        yield Area(moved(_ARROW, x, y + 8 * scale, 1.1 * scale), ink)
        return
    yield Box(x - 20 * scale, y - 38 * scale, 4 * scale, 46 * scale, ink)
    yield Box(x - 16 * scale, y - 38 * scale, 36 * scale, 24 * scale, "#ffffff", 0, ink, 2 * scale)
    for cell in range(0, 6, 2):
        column, row = cell % 3, cell // 3
        yield Box(
            x + (column * 12 - 16) * scale, y + (row * 12 - 38) * scale, 12 * scale, 12 * scale, ink
        )


def _symbol(face: Face, x: float, y: float, scale: float) -> Iterator[Shape]:
    """What a tile shows, about its centre."""
    fill, ink = tile_colours(face)
    if isinstance(face, int):
        yield from _digits(face, x, y, (34 if abs(face) > 9 else 42) * scale)
    elif face == "lucky":
        for turn in (45, 135, 225, 315):
            yield Area(moved(_LEAF, x, y, scale, turn), ink)
        yield Line(moved(_STEM, x, y, scale), ink, 4 * scale)
    elif face == "gift":
        y += 2 * scale
        thick = 4.5 * scale
        yield Box(
            x - 20 * scale, y - 4 * scale, 40 * scale, 26 * scale, None, 3 * scale, ink, thick
        )
        yield Box(x - 24 * scale, y - 12 * scale, 48 * scale, 9 * scale, None, 0, ink, thick)
        yield Line(moved(((0, -12), (0, 22)), x, y, scale), ink, thick)
        yield Line(moved(_BOW, x, y, scale), ink, thick)
    else:
        yield Area(moved(_MASK, x, y, scale), ink)
        for side in (-1, 1):
            yield Area(moved(((side * px, py) for px, py in _EYE), x, y, scale), fill)


def _digits(value: int, x: float, y: float, size: float) -> Iterator[Shape]:
    """A signed number about its centre; the signs are drawn, since fonts differ in them."""
    ink = tile_colours(value)[1]
    digits = str(abs(value))
    sign, gap, digit = 0.42 * size, 0.05 * size, 0.6 * size
    left = x - (sign + gap + digit * len(digits)) / 2
    thick = 0.115 * size
    yield Box(left, y - thick / 2, sign, thick, ink)
    if value > 0:
        yield Box(left + sign / 2 - thick / 2, y - sign / 2, thick, sign, ink)
    middle = left + sign + gap + digit * len(digits) / 2
    yield Text(middle, y + 0.355 * size, digits, size, ink, "middle", True)


def _piece(owner: Owner, x: float, y: float, scale: float) -> Iterator[Shape]:
    """A pawn or a guard, standing on (x, y); 30 wide, 36 high."""
    colours = PALETTE["guard"] if owner == "guard" else PALETTE["seats"][owner]
    fill, ink, thick = colours["fill"], colours["ink"], 2 * scale
    yield Area(moved(_BODY, x, y, scale), fill, _PIECE_EDGE, thick)
    head = 8 if owner == "guard" else 9
    yield Oval(x, y - 25 * scale, head * scale, head * scale, fill, _PIECE_EDGE, thick)
    if owner == "guard":
        yield Area(moved(_HAT, x, y, scale), fill, _PIECE_EDGE, thick)
        yield Area(moved(_SHIELD, x, y, scale), ink)
    else:
        yield _mark(colours["mark"], x, y - 8 * scale, 0.78 * scale, ink)


def _mark(mark: str, x: float, y: float, scale: float, ink: str) -> Shape:
    """A seat's mark about its centre, 16 high."""
    if mark == "disc":
        return Oval(x, y, 7.5 * scale, 7.5 * scale, ink)
    return Area(moved(_MARKS[mark], x, y, scale), ink)


def _badge(seat: int, x: float, y: float, scale: float) -> Iterator[Shape]:
    """A seat's mark on its colour, 29 across."""
    colours = PALETTE["seats"][seat]
    yield Oval(x, y, 14.5 * scale, 14.5 * scale, colours["fill"])
    yield _mark(colours["mark"], x, y, scale, colours["ink"])


# The seats ------------------------------------------------------------------------------------


def _seats(table: _Table) -> Iterator[Shape]:
    x, y, width, height = _SEATS
    players = len(table.towers)
    gap = 6
    each = (height - gap * (players - 1)) / players
    for seat in range(players):
        yield from _seat(table, seat, x, y + seat * (each + gap), width, each)


def _seat(
    table: _Table, seat: int, x: float, y: float, width: float, height: float
) -> Iterator[Shape]:
    """One seat: its name, pawns that are home, points, what it did last, and its tower."""
    position = table.position
    fill = PALETTE["seats"][seat]["fill"]
    is_on = not position.is_over and seat == position.player
    edge, thick = (fill, 3) if is_on else (_RULE, 1)
    if table.may_choose(seat):
        edge, thick = _INK, 3
    yield Box(x, y, width, height, _CARD if is_on else _CARD_ASIDE, 9, edge, thick)
    size = 1.2 if height > 110 else 1.0
    yield from _badge(seat, x + 17 * size, y + 17 * size, 0.72 * size)
    name = _cut(table.names[seat], round(12 / size))
    yield Text(x + 33 * size, y + 22 * size, name, 10 + 4 * size, _INK, bold=True)
    home = table.pawns[seat].count(len(table.track) - 1)
    note = f"{home}/{len(table.pawns[seat])} home"
    if position.is_over:
        note = "winner" if seat in position.winners() else ""
    if note:
        yield Text(x + width - 50, y + 22 * size, note, 11, _MUTED, "end")
    yield Text(x + width - 9, y + 23 * size, str(table.scores[seat]), 20 * size, _INK, "end", True)
    told = []
    if seat in table.told:
        die, words = table.told[seat]
        room = round(41 / size)
        told = textwrap.wrap(f"{die}: {words}", room)
        most = 2 if height >= 90 else 1
        if len(told) > most:
            told = [*told[: most - 1], _cut(" ".join(told[most - 1 :]), room)]
    below = y + 27 * size
    for line in told:
        below += 13 * size
        yield Text(x + 10, below - 2, line, 10.5 * size, _MUTED)
    below += 5 if told else 5 + 13 * size
    is_changed = table.seen is not None and seat == _gainer(table.seen)
    yield from _tower(
        table.towers[seat], x + 8, below, width - 16, y + height - 6 - below, is_changed
    )


def _gainer(seen: Outcome) -> int | None:
    """The seat whose top tile the last move put there."""
    if seen.takes is not None:
        return seen.seat
    return None if seen.passed is None else seen.receiver


def _tower(
    tower: Sequence[Face], x: float, y: float, width: float, height: float, is_changed: bool
) -> Iterator[Shape]:
    """A tower, from its bottom at the left; the top stands out."""
    if not tower:
        yield Text(x + 2, y + 14, "no tiles", 11, _MUTED)
        return
    gap = 2
    chip, per_row = 4.0, len(tower)
    for wide in range(34, 4, -1):
        per_row = int((width + gap) // (wide + gap))
        rows = math.ceil(len(tower) / per_row)
        if rows * (wide * 1.12 + gap) <= height + gap:
            chip = wide
            break
    for number, face in enumerate(tower):
        row, along = divmod(number, per_row)
        is_top = number == len(tower) - 1
        left, top = x + along * (chip + gap), y + row * (chip * 1.12 + gap)
        fill, _ = tile_colours(face)
        edge, thick = (_TILE_EDGE, 1.0)
        if is_top:
            edge, thick = ("#d9a400", 3.0) if is_changed else (_INK, 1.8)
        yield Box(left, top, chip, chip * 1.12, fill, 0.18 * chip, edge, thick)
        middle = (left + chip / 2, top + chip * 0.56)
        if isinstance(face, int):
            yield from _digits(face, *middle, chip * (0.46 if abs(face) > 9 else 0.56))
        else:
            yield from _symbol(face, *middle, chip / 68)


# Showing ------------------------------------------------------------------------------------


class DisplayError(RuntimeError):
    """No window can be opened here."""


class Screen:
    """What an environment shows with `render_mode` `rgb_array` or `human`.

    It remembers what was played last, so that pictures can tell.

    Args:
        mode: `rgb_array` or `human`.
        fps: pictures a second that the window shows at most.

    Raises:
        ImportError: Pillow is not installed, or for `human` pygame.
    """

    def __init__(self, mode: str, fps: float) -> None:
        require("PIL.Image")
        self._moves: deque[Move] = deque(maxlen=8)
        self._window = Window(fps) if mode == "human" else None

    @property
    def is_live(self) -> bool:
        """Whether there is a window to be kept up to date."""
        return self._window is not None

    def begin(self) -> None:
        """Forget what was played: another game begins."""
        self._moves.clear()

    def note(self, position: Position, action: int, names: Sequence[str] | None = None) -> None:
        """Remember a move about to be played, and have the window show where.

        An illegal action is left out.

        Raises:
            DisplayError: no window can be opened.
        """
        if self._window is not None:
            self.render(position, names)
        if action in position.legal_actions():
            self._moves.append((position, action))

    def render(
        self, position: Position, names: Sequence[str] | None = None
    ) -> npt.NDArray[np.uint8] | None:
        """The picture of a position as uint8[H, W, 3]; or None, and the window shows it.

        Raises:
            DisplayError: no window can be opened.
        """
        drawing = draw(position, tuple(self._moves), names)
        if self._window is None:
            return drawing.pixels()
        self._window.show(drawing)
        return None

    def close(self) -> None:
        """Close the window, if there is one; may be called at any time."""
        if self._window is not None:
            self._window.close()


class Window:
    """A window that shows drawings, each for its time. A process has one, whoever draws in it.

    If it is closed by hand, nothing more is shown until `close`.

    Args:
        fps: drawings a second at most.

    Raises:
        ImportError: pygame is not installed.
    """

    def __init__(self, fps: float) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        require("pygame")
        self._seconds = 1 / fps
        self._shown: Drawing | None = None
        self._shown_at = -math.inf
        self._is_dismissed = False

    @property
    def _pygame(self) -> Any:
        """The module; kept nowhere, so that environments can be copied."""
        return require("pygame")[0]

    def show(self, drawing: Drawing) -> None:
        """Show a drawing, once the one before has been seen long enough; opens the window.

        Raises:
            DisplayError: it cannot be opened.
        """
        self._listen()
        if self._is_dismissed or drawing == self._shown:
            return
        self._open(drawing)
        while time.monotonic() < self._shown_at + self._seconds:
            time.sleep(0.01)
            self._listen()
            if self._is_dismissed:
                return
        pygame = self._pygame
        image = drawing.image()
        surface = pygame.display.get_surface()
        surface.blit(pygame.image.frombuffer(image.tobytes(), image.size, "RGB"), (0, 0))
        pygame.display.set_caption(drawing.title)
        pygame.display.flip()
        self._shown, self._shown_at = drawing, time.monotonic()

    def close(self) -> None:
        """Close it; may be called at any time, also if it is closed."""
        if self._shown is not None:
            self._pygame.display.quit()
        self._shown, self._shown_at, self._is_dismissed = None, -math.inf, False

    def _open(self, drawing: Drawing) -> None:
        """Open the window unless it is open."""
        display = self._pygame.display
        if display.get_init() and display.get_surface() is not None:
            return
        try:
            display.init()
            if display.get_driver() in _UNSEEN and not _is_driver_chosen():
                raise self._pygame.error("there is no display")
            display.set_mode((drawing.width, drawing.height))
        except self._pygame.error as error:
            display.quit()
            raise DisplayError(
                f"no window can be opened: {error}; render_mode='rgb_array' needs none"
            ) from None

    def _listen(self) -> None:
        """Take in what was done to the window."""
        if self._shown is None or not self._pygame.display.get_init():
            return
        if any(event.type == self._pygame.QUIT for event in self._pygame.event.get()):
            self.close()
            self._is_dismissed = True


_UNSEEN = ("dummy", "offscreen", "evdev")  # what SDL falls back on where there is no display


def _is_driver_chosen() -> bool:
    return any(os.environ.get(name) for name in ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"))
