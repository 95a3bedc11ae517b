"""The features of `agents.afterstate`, worked out by torch from vectors.

This stands in exported values before the network. It is a second statement of what
`write_features` says, allowed only because tests compare them, number for number, on all rulesets,
phases and numbers of players. As there, the die and what it has opened are left out: a position
after the roll is seen as the one before it.

In shapes, B is the number of positions. Seats are relative: seat 0 is the one to roll or decide.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents import torch_encoder as encoder
from agents.afterstate import (
    CHANGE_SCALE,
    COMMON_ROWS,
    COMMON_SIZE,
    COUNT_SCALE,
    LAST_SLOT,
    N_FAR,
    N_MINUS,
    N_TOP,
    POINTS_SCALE,
    REACH,
    SEAT_ROWS,
    SEAT_SIZE,
    SUM_SCALE,
    VALUE_SCALE,
)
from agents.torch_encoder import (
    FACE,
    FINISH_CODE,
    FIRST_RANK,
    HAS_TILES,
    HEAD,
    LUCKY_SUM,
    N_LUCKY,
    N_OTHER_PAWNS,
    POINTS,
    TAKEN,
    TURNED,
    Array,
    Towers,
    numbered,
)
from thatslife_env.board import (
    EXPERT,
    GIFT,
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_TRACK,
    MIN_VALUE,
    STEAL,
)
from thatslife_env.observation import SLICES

SCALES: Final[dict[str, float]] = {
    "finish": LAST_SLOT,
    "on_track": COUNT_SCALE,
    "actions_on_track": COUNT_SCALE,
    "points": POINTS_SCALE,
    "lucky": COUNT_SCALE,
    "top_value": VALUE_SCALE,
    "minus": VALUE_SCALE,
    "without_top": CHANGE_SCALE,
    "with_lucky": CHANGE_SCALE,
    "with_minus": CHANGE_SCALE,
    "to_go": LAST_SLOT,
    "under_value": VALUE_SCALE,
    "with_own": COUNT_SCALE,
    "with_others": COUNT_SCALE,
    "with_guards_there": COUNT_SCALE,
    "due": CHANGE_SCALE,
    "ahead_value": VALUE_SCALE,
    "ahead_own": COUNT_SCALE,
    "ahead_others": COUNT_SCALE,
    "far_value": VALUE_SCALE,
    "beyond_plus": SUM_SCALE,
    "beyond_minus": SUM_SCALE,
    "beyond_lucky": COUNT_SCALE,
}
"""What the numbers of a row are divided by, where it is not 1."""

RULES: Final = slice(SLICES["players"].start, SLICES["expert"].stop)  # one-hot rows, as there

# Minus tiles of a tower: the last that a lucky one turns, and the first that none does, both by the
# scoring; then those that none would turn in standard scoring
RANKS: Final = ((TURNED, 0), (TURNED, 1), *((LUCKY_SUM, k + 1) for k in range(N_MINUS)))

# What is known of each slot between start and finish
VALUE, LUCKY, ACTION, PIECES, GUARDS = range(5)
OWN: Final = GUARDS + 1  # pawns of each seat
OTHERS: Final = OWN + MAX_PLAYERS  # pieces that are not a seat's
OPPONENTS: Final = OTHERS + MAX_PLAYERS  # pawns of the others
PLUS, MINUS, LUCKIES = range(OPPONENTS + MAX_PLAYERS, OPPONENTS + MAX_PLAYERS + 3)
# the last three: sums over it and all slots further ahead
KNOWN: Final = LUCKIES + 1

# What a pawn of a seat looks at: how far ahead, and what there
AHEAD: Final = range(1, 1 + REACH)
FAR: Final = range(AHEAD.stop, AHEAD.stop + N_FAR)
BEYOND: Final = FAR.stop
NOWHERE: Final = MAX_TRACK  # where pawns are that there are not
N_SLOTS: Final = NOWHERE + BEYOND + 1


def _looks(seat: int) -> dict[str, list[tuple[int, int]]]:
    """By row of the features: steps ahead, and number of what is known."""
    return {
        "under_value": [(0, VALUE)],
        "under_lucky": [(0, LUCKY)],
        "under_action": [(0, ACTION)],
        "with_own": [(0, OWN + seat)],
        "with_others": [(0, OPPONENTS + seat)],
        "with_guards_there": [(0, GUARDS)],
        "alone": [(0, PIECES)],
        "ahead_value": [(step, VALUE) for step in AHEAD],
        "ahead_lucky": [(step, LUCKY) for step in AHEAD],
        "ahead_action": [(step, ACTION) for step in AHEAD],
        "ahead_own": [(step, OWN + seat) for step in AHEAD],
        "ahead_others": [(step, OTHERS + seat) for step in AHEAD],
        "far_value": [(step, VALUE) for step in FAR],
        "far_lucky": [(step, LUCKY) for step in FAR],
        "beyond_plus": [(BEYOND, PLUS)],
        "beyond_minus": [(BEYOND, MINUS)],
        "beyond_lucky": [(BEYOND, LUCKIES)],
    }


N_HERE: Final = 7  # of those, what is known of the own slot
N_LOOKS: Final = sum(map(len, _looks(0).values()))


class Seen(NamedTuple):
    """What there is to see; seats relative.

    Attributes:
        features: float32[B, N_FEATURES].
        standings: float32[B, 6], what orders the seats: more points, then fewer lucky tiles.
        present: bool[B, 6], which seats there are.
    """

    features: Tensor
    standings: Tensor
    present: Tensor


class Features(nn.Module):
    """From vectors, int32[B, SIZE], to features."""

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self) -> None:
        super().__init__()
        self.towers = Towers(RANKS, N_TOP)
        constants = {
            "row_of": encoder.row_of(),
            "places": encoder.places(),
            "shift": encoder.shift(),
            "hot": encoder.hot()[RULES],
            "slots": np.arange(MAX_TRACK, dtype=np.float32)[:, None],
            "inner": np.arange(MAX_TRACK) > 0,
            "kinds": _kinds(),
            "tile_facts": np.ascontiguousarray(encoder.tile_facts()[:, FACE]),
            "one_each": np.ones((1, MAX_TRACK), np.float32),
            "from_there_on": np.triu(np.ones((MAX_TRACK, MAX_TRACK), np.float32)),
            "owners": _owners(),
            "looks": _looked_at(),
            "reach": np.arange(REACH, dtype=np.float32) + 1,
            "order": _order(),
            "scale": _scale(),
        }
        for name, values in constants.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def forward(self, vectors: Tensor) -> Seen:
        """What there is to see.

        Args:
            vectors: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        row = vectors @ self.row_of
        taken = torch.gather(vectors + self.shift, 1, functional.embedding(row, self.places))
        moment, pieces, scoring, towers, above = taken.split(TAKEN, 1)
        track = moment[:, HEAD:]
        rules = (moment[:, RULES] == self.hot).float()
        finish = (track == FINISH_CODE).float() @ self.slots  # [B, 1]
        on_track = self.one_each @ functional.embedding(track, self.kinds)  # [B, 1, 21]

        # Slots: [B, 38, KNOWN]
        inside = ((self.slots < finish.unsqueeze(1)) & self.inner.unsqueeze(1)).float()
        facts = functional.embedding(track, self.tile_facts)
        value, lucky, _ = facts.split(1, 2)
        further = torch.cat([functional.relu(value), -functional.relu(-value), lucky], 2)
        further = self.from_there_on @ further
        pieces = pieces.float()
        on_slots = (pieces.unsqueeze(1) == self.slots).float() @ self.owners
        known = torch.cat([facts, on_slots, further], 2) * inside

        # Pawns, and what they look at
        own_pawns, _, other_pawns = pieces.split([MAX_PAWNS, MAX_GUARDS, N_OTHER_PAWNS], 1)
        pawns = torch.cat([own_pawns, other_pawns], 1)  # [B, 18], seat by seat
        pawns = torch.where(pawns < 0, float(NOWHERE), pawns)
        known = functional.pad(known, (0, 0, 0, N_SLOTS - MAX_TRACK))
        looks = (pawns * KNOWN).unsqueeze(2) + self.looks
        known = known.reshape(-1, N_SLOTS * KNOWN)
        seen = torch.gather(known, 1, looks.reshape(-1, MAX_PLAYERS * MAX_PAWNS * N_LOOKS).long())
        seen = seen.reshape(-1, MAX_PLAYERS, MAX_PAWNS, N_LOOKS)
        here = seen[:, :, :, :N_HERE].unbind(3)
        tile, is_lucky, action, own, _, _, n_pieces = here  # [B, 6, 3]
        pawns = pawns.reshape(-1, MAX_PLAYERS, MAX_PAWNS)
        to_go = functional.relu(finish.unsqueeze(2) - pawns)
        reaches = (to_go.unsqueeze(3) <= self.reach) & (to_go > 0).unsqueeze(3)

        # Towers: [B, 6, ..]; by how much points change when a tile comes or goes says
        # `torch_encoder._cases`
        tower, tops = self.towers(towers, above, scoring)
        tower = tower.reshape(-1, MAX_PLAYERS, FIRST_RANK + len(RANKS))
        last, following = tower[:, :, FIRST_RANK : FIRST_RANK + 2].split(1, 2)
        tops = functional.embedding(tops.reshape(-1, MAX_PLAYERS * N_TOP), self.tile_facts)
        top, below = tops[:, :, VALUE].reshape(-1, MAX_PLAYERS, N_TOP).split(1, 2)
        top_lucky = tops[:, ::N_TOP, LUCKY].unsqueeze(2)
        is_expert = (scoring == EXPERT).unsqueeze(2)
        turns = torch.where(is_expert, top, following)
        turned_back = torch.where(is_expert, below, last)
        gone = top + functional.relu(2 * (following - top)) - 2 * top_lucky * turned_back
        due = tile + functional.relu(2 * (last - tile)) - 2 * is_lucky * turns
        alone = (n_pieces == 1).float()

        # All together, in the order of the rows
        parts = {
            "rules": rules,
            "finish": finish,
            "on_track": on_track,
            "tower": tower,
            "tops": tops,
            "without_top": -gone,
            "with_lucky": -2 * turns,
            "with_minus": MIN_VALUE + functional.relu(2 * (last - MIN_VALUE)),
            "home": pawns == finish.unsqueeze(2),
            "at_start": pawns == 0,
            "to_go": to_go,
            "seen": seen,
            "with_own": functional.relu(own - 1),
            "alone": alone,
            "due": due * alone * (action == 0).float(),
            "ahead_home": reaches,
        }
        flat = [
            parts[name].reshape(-1, int(np.prod(shape))).float() for name, shape in PARTS.items()
        ]
        order = functional.embedding(row * 0, self.order)  # the same in every row
        features = torch.gather(torch.cat(flat, 1), 1, order) / self.scale
        present = pawns[:, :, 0] < NOWHERE
        common, seats = features.split([COMMON_SIZE, MAX_PLAYERS * SEAT_SIZE], 1)
        seats = seats.reshape(-1, MAX_PLAYERS, SEAT_SIZE) * present.unsqueeze(2).float()
        features = torch.cat([common, seats.reshape(-1, MAX_PLAYERS * SEAT_SIZE)], 1)
        standings = tower[:, :, POINTS] * (MAX_TILES + 1) - tower[:, :, N_LUCKY]
        return Seen(features, standings, present)


PARTS: Final = {
    "rules": (RULES.stop - RULES.start,),
    "finish": (1,),
    "on_track": (len(encoder.tiles()) + 2,),
    "tower": (MAX_PLAYERS, FIRST_RANK + len(RANKS)),
    "tops": (MAX_PLAYERS, N_TOP, FACE.stop),
    "without_top": (MAX_PLAYERS,),
    "with_lucky": (MAX_PLAYERS,),
    "with_minus": (MAX_PLAYERS,),
    "home": (MAX_PLAYERS, MAX_PAWNS),
    "at_start": (MAX_PLAYERS, MAX_PAWNS),
    "to_go": (MAX_PLAYERS, MAX_PAWNS),
    "seen": (MAX_PLAYERS, MAX_PAWNS, N_LOOKS),
    "with_own": (MAX_PLAYERS, MAX_PAWNS),
    "alone": (MAX_PLAYERS, MAX_PAWNS),
    "due": (MAX_PLAYERS, MAX_PAWNS),
    "ahead_home": (MAX_PLAYERS, MAX_PAWNS, REACH),
}
"""What features are put together of, one after the other."""


def _owners() -> Array:
    """What each piece adds to what is known of its slot: float32[26, PIECES to OPPONENTS]."""
    whose = np.repeat(np.arange(MAX_PLAYERS), MAX_PAWNS)
    whose = np.insert(whose, MAX_PAWNS, [-1] * MAX_GUARDS)  # guards are nobody's
    is_own = whose[:, None] == np.arange(MAX_PLAYERS)
    is_guard = (whose == -1)[:, None]
    parts = [np.ones_like(is_guard), is_guard, is_own, ~is_own, ~is_own & ~is_guard]
    return np.concatenate(parts, 1).astype(np.float32)


def _looked_at() -> Array:
    """Where a pawn on slot 0 finds what it looks at: float32[18, N_LOOKS]."""
    seats = [
        [step * KNOWN + number for row in _looks(seat).values() for step, number in row]
        for seat in range(MAX_PLAYERS)
    ]
    return np.repeat(np.array(seats, np.float32), MAX_PAWNS, 0)


def _order() -> Array:
    """Where each feature stands in the parts: int64[1, N_FEATURES]."""
    part = numbered(PARTS)
    tower, tops = part["tower"], part["tops"]
    rows = {
        "points": tower[:, POINTS],
        "lucky": tower[:, N_LUCKY],
        "tiles": tower[:, HAS_TILES],
        "top_value": tops[:, :, VALUE],
        "top_lucky": tops[:, :, LUCKY],
        "minus": tower[:, FIRST_RANK + 2 :],
    }
    first = 0
    for name, looks in _looks(0).items():
        rows[name] = part["seen"][:, :, first : first + len(looks)]
        first += len(looks)
    seats = [
        (rows | part)[row.name].reshape(MAX_PLAYERS, -1)  # parts that are rows go before
        for row in SEAT_ROWS
    ]
    common = [part["rules"], part["finish"], part["on_track"]]
    return np.concatenate([*common, np.concatenate(seats, 1).reshape(-1)])[None]


def _scale() -> Array:
    common, seat = (
        np.concatenate(
            [np.full(row.shape, SCALES.get(row.name, 1), np.float32).ravel() for row in rows]
        )
        for rows in (COMMON_ROWS, SEAT_ROWS)
    )
    return np.concatenate([common, np.tile(seat, MAX_PLAYERS)])


def _kinds() -> Array:
    """What a tile adds to `on_track` and `actions_on_track`: float32[codes, 21]."""
    n_values = len(encoder.tiles())
    out = np.zeros((len(encoder.tile_facts()), n_values + 2), np.float32)
    out[encoder.tiles(), encoder.tiles()] = 1
    out[GIFT - MIN_VALUE, n_values] = out[STEAL - MIN_VALUE, n_values + 1] = 1
    return out
