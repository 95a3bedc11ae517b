"""The observation and the legal actions of the seat to act, worked out by torch from vectors.

This stands in exported models before the network. It is a second statement of what
`thatslife_env.observation` and `thatslife_env.rules` say, allowed only because tests compare them,
number for number, on all rulesets, phases and numbers of players. It has few and plain operations,
for their number is what a position costs; so what is linear is done by matrices of constants.

In shapes, B is the number of positions. Seats are relative: seat 0 is the one to act. Tile codes
are counted from 0 here: a code of the vector less `MIN_VALUE`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents import vector_layout
from thatslife_env.board import (
    DIE_FACES,
    EXPERT,
    FINISH,
    FIRST_OPPONENT,
    GIFT,
    GIVE,
    LUCKY,
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_TRACK,
    MAX_VALUE,
    MIN_PLAYERS,
    MIN_VALUE,
    MOVE,
    N_ACTIONS,
    NO_TILE,
    PHASE_NAMES,
    START,
    STEAL,
    STEALING,
)
from thatslife_env.observation import (
    CHANGE_SCALE,
    LAST_SLOT,
    LAYOUT,
    LUCKY_SCALE,
    N_MINUS,
    N_TOP,
    OBS_SIZE,
    POINTS_SCALE,
    SLICES,
    STAY_SCALE,
    VALUE_SCALE,
)

Array = npt.NDArray[Any]

SCALES: Final[dict[str, float]] = {
    "finish": LAST_SLOT,
    "tile_value": VALUE_SCALE,
    "guards": MAX_GUARDS,
    "pawns": MAX_PAWNS,
    "guards_off": MAX_GUARDS,
    "points": POINTS_SCALE,
    "lucky": LUCKY_SCALE,
    "height": MAX_TILES,
    "top_value": VALUE_SCALE,
    "largest_minus": VALUE_SCALE,
    "at_start": MAX_PAWNS,
    "home": MAX_PAWNS,
    "from_slot": LAST_SLOT,
    "to_slot": LAST_SLOT,
    "stay": STAY_SCALE,
    "taken_value": VALUE_SCALE,
    "land_value": VALUE_SCALE,
    "land_own": MAX_PAWNS,
    "land_opponents": MAX_PLAYERS - 1,
    "land_guards": MAX_GUARDS,
    "own_change": CHANGE_SCALE,
}
"""What the numbers of a row are divided by, where it is not 1; `lead_change` comes divided."""

N_MOVERS: Final = MAX_PAWNS + MAX_GUARDS  # actions 0..10
N_OTHERS: Final = MAX_PLAYERS - 1  # actions 11..15
N_MINUS_VALUES: Final = -MIN_VALUE
LUCKY_CODE: Final = LUCKY - MIN_VALUE
FINISH_CODE: Final = FINISH - MIN_VALUE
N_CODES: Final = NO_TILE - MIN_VALUE + 1

# What is taken out of the vector first, in this order
HEAD: Final = SLICES["expert"].stop  # numbers that become the one-hot rows, `die` to `expert`
MOMENT: Final = HEAD + MAX_TRACK  # with the track
N_OTHER_PAWNS: Final = N_OTHERS * MAX_PAWNS
N_TOWERS: Final = MAX_PLAYERS * MAX_TILES  # seat by seat
TAKEN: Final = (MOMENT, N_MOVERS + N_OTHER_PAWNS, 1, N_TOWERS, N_TOWERS)
# the second: own pawns, guards, the others' pawns; then the scoring, the towers, and above each
# tile of a tower the next one

# What the moment comes to: slots where pieces are counted (the start, and 1..36 but for the
# finish), the finish, whether the phase is move; the die; what keeps absent seats from being the
# best; whether the phase is give or steal, for each other seat; the number of others, what leads
# are divided by, whether a slot is the finish or beyond it, 0, and 1
MOMENTS: Final = (LAST_SLOT, 1, 1, 1, N_OTHERS, 2 * N_OTHERS, 1, 1, MAX_TRACK, 1, 1)

# Sums over a tower, one for each seat
VALUE_SUM, LUCKY_SUM, HEIGHT, TURNERS, TURNED = range(N_MINUS_VALUES, N_MINUS_VALUES + 5)
N_SUMS: Final = TURNED + 1  # tiles up to -10, .., up to -1; then those

# What a tower comes to: these, and minus tiles by their rank
POINTS, N_LUCKY, N_TILES, HAS_TILES, FIRST_RANK = range(5)
RANKS: Final = (*((None, k + 1) for k in range(N_MINUS)), (TURNED, 0), (TURNED, 1))
# the largest; the last that is turned, the first that is not
LAST_TURNED, NEXT_TURNED = FIRST_RANK + N_MINUS, FIRST_RANK + N_MINUS + 1
N_TOWER: Final = FIRST_RANK + len(RANKS)

# Where pieces are counted: slots and finish, to where movers would move, and from where; the last
# column, whether the phase is move, is there for what else columns are used for
TO: Final = LAST_SLOT + 1
FROM: Final = TO + N_MOVERS
IS_MOVE: Final = FROM + N_MOVERS
N_COLUMNS: Final = IS_MOVE + 1

# Groups of pieces that are counted: guards, pawns of each seat; then these
N_SHOWN: Final = 1 + MAX_PLAYERS
LANDED: Final = slice(N_SHOWN, N_SHOWN + 3)  # own pawns, others' pawns, guards
ALL, ALL_PAWNS, N_GROUPS = LANDED.stop, LANDED.stop + 1, LANDED.stop + 2

# Facts of a tile; and of which tiles they are taken: track, to where movers would move, from where
# (guards first), on top of towers (seat by seat)
FACE: Final = slice(0, 3)  # value, lucky, and 1 for a gift or -1 for a steal
KIND: Final = slice(3, 6)  # whether it is a tile to take, a gift, a steal
N_KINDS: Final = KIND.stop - KIND.start
SIGN: Final = 6  # 1 for a minus tile, else -1
N_FACTS: Final = 7
LAND: Final = MAX_TRACK
LEAVE: Final = LAND + N_MOVERS
TOPS: Final = LEAVE + N_MOVERS
N_TILES_SEEN: Final = TOPS + N_TOP * MAX_PLAYERS

# A tile comes onto a tower or goes from it: cases in which points change
LEFT: Final = slice(0, MAX_PAWNS)  # the tile that an own pawn leaves, onto the own tower
GIVEN: Final = slice(LEFT.stop, LEFT.stop + N_OTHERS)  # the own top, onto each other tower
STOLEN: Final = slice(GIVEN.stop, GIVEN.stop + N_OTHERS)  # each other top, onto the own tower
GONE: Final = slice(STOLEN.stop, STOLEN.stop + MAX_PLAYERS)  # each top, from its tower
N_CASES: Final = GONE.stop
N_TERMS: Final = 5

# What an action may do: take the tile left by an own pawn, give, steal; and turn an action tile
TAKE, GIVES, STEALS = LEFT, GIVEN, STOLEN
TURNS: Final = STOLEN.stop  # a gift, then a steal
N_DEEDS: Final = TURNS + 2
EFFECTS: Final = ("turns", "takes", "taken_value", "taken_lucky", "own_change", "others_change")

# What is known in the end, one part after the other, and observations are put together of
N_ACTION_ROWS: Final = (OBS_SIZE - SLICES["legal"].start) // N_ACTIONS
N_PIECES: Final = N_MOVERS + N_OTHER_PAWNS
PARTS: Final = {
    "moment": (MOMENT,),
    "pieces": (N_PIECES,),
    "to": (N_MOVERS,),
    "finish": (1,),
    "zero": (1,),
    "one": (1,),
    "game": (1,),
    "beyond": (MAX_TRACK,),
    "counts": (N_GROUPS, N_COLUMNS),
    "stay": (N_MOVERS,),
    "on_way": (N_PIECES,),
    "tower": (MAX_PLAYERS, N_TOWER),
    "facts": (N_TILES_SEEN, N_FACTS),
    "effects": (len(EFFECTS), N_ACTIONS),
    "lead": (N_ACTIONS,),
    "legal": (N_ACTIONS,),
}


class Known(NamedTuple):
    """What an encoder works out.

    Attributes:
        numbers: float32[B, N_NUMBERS], the `PARTS`.
        legal: float32[B, 16], 1 for actions that are legal.
        zeros: int32[B].
    """

    numbers: Tensor
    legal: Tensor
    zeros: Tensor

    def look_up(self, places: Tensor) -> Tensor:
        """The numbers at some places, int64[1, N]: float32[B, N]."""
        return torch.gather(self.numbers, 1, functional.embedding(self.zeros, places))


class Towers(nn.Module):
    """From towers to what they are worth.

    Counts and their bounds are piecewise linear in sums over the tiles, so they are two matrices
    of constants with a relu between them. All numbers are whole and small: nothing is rounded.

    Args:
        ranks: which minus tiles are asked for, by their rank from the largest, from 1: a sum to
            begin from, if any, and what is added to it.
        n_top: how many tiles from the top are asked for.
    """

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self, ranks: Sequence[tuple[int | None, int]], n_top: int) -> None:
        super().__init__()
        self.n_numbers, self.n_top = FIRST_RANK + len(ranks), n_top
        first, first_bias, second, second_bias = _tower_layers(ranks, n_top)
        constants = {
            "tile_sums": tile_sums(),
            "levels": np.ones((1, MAX_TILES), np.float32),
            "first": first,
            "first_bias": first_bias,
            "second": second,
            "second_bias": second_bias,
        }
        for name, values in constants.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def forward(self, towers: Tensor, above: Tensor, scoring: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers of each tower, float32[B x 6, n], and codes of its top tiles, [B x 6, n_top].

        Args:
            towers: int32[B, N_TOWERS], codes of tiles.
            above: int32[B, N_TOWERS], codes of the next tiles above them.
            scoring: int32[B, 1].
        """
        pairs = (towers + N_CODES * above + N_CODES**2 * scoring).reshape(-1, MAX_TILES)
        sums = (self.levels @ functional.embedding(pairs, self.tile_sums)).reshape(-1, N_SUMS)
        hidden = functional.relu(torch.addmm(self.first_bias, sums, self.first))
        numbers = torch.addmm(self.second_bias, hidden, self.second)
        numbers, levels = numbers.split([self.n_numbers, self.n_top], 1)
        return numbers, torch.gather(towers.reshape(-1, MAX_TILES), 1, levels.long())


class Encoder(nn.Module):
    """From vectors, int32[B, SIZE], to what is known and legal."""

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self) -> None:
        super().__init__()
        self.towers = Towers(RANKS, N_TOP)
        cases, case_rows = _cases()
        constants = {
            "row_of": row_of(),
            "places": places(),
            "shift": shift(),
            "hot": hot(),
            "moment": _moment(),
            "moment_bias": _moment_bias(),
            "groups": _groups(),
            "on_way": _on_way(),
            "room": _room(),
            "room_bias": _room_bias(),
            "crowds": _crowds(),
            "tile_facts": tile_facts(),
            "picked": _picked(case_rows),
            "alone": _alone(),
            "none": _zeros(MAX_PAWNS * N_KINDS),
            "pairs": _pairs(),
            "two": np.full(2 * N_OTHERS, 2, np.float32),
            "both": _both(),
            "cases": cases,
            "case_bounds": _case_bounds(),
            "effects": _effects(),
            "fixed_effects": _fixed_effects(),
            "doing": _doing(),
            "forced": _forced(),
            "unforced": 1 - _forced().sum(0),
        }
        self.picks = [len(case_rows), N_KINDS * MAX_PAWNS, 1, N_OTHERS, 1, N_OTHERS]
        for name, values in constants.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def forward(self, vectors: Tensor) -> Known:
        """What is known, and what the seats to act may do.

        Args:
            vectors: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        row = vectors @ self.row_of
        taken = torch.gather(vectors + self.shift, 1, functional.embedding(row, self.places))
        moment, pieces, scoring, towers, above = taken.split(TAKEN, 1)  # int32
        track = moment[:, HEAD:]
        moment = (moment == self.hot).float()  # from here on float32
        moments = torch.addmm(self.moment_bias, moment, self.moment).split(MOMENTS, 1)
        slots, finish, is_move, die, absent, is_choice, n_others, lead_scale = moments[:8]
        beyond, zero, one = moments[8:]

        # Pieces: how many of each group stand on each slot, and where they could go
        pieces = pieces.float()
        movers = pieces[:, :N_MOVERS]
        to = torch.minimum(movers + die, finish)
        columns = torch.cat([slots, finish, to, movers, is_move], 1)
        stands = (pieces.unsqueeze(2) == columns.unsqueeze(1)).float()
        counts = (self.groups @ stands).reshape(-1, N_GROUPS * N_COLUMNS)
        on_way = (stands @ self.on_way).reshape(-1, N_PIECES)
        crowd, pawns_there = counts.index_select(1, self.crowds).split(N_MOVERS, 1)
        # each of these is above 0 where a piece may move
        room = torch.addmm(self.room_bias, columns, self.room)
        below, ahead = room.split(N_MOVERS, 1)
        moves = torch.minimum(torch.minimum(below, ahead), pawns_there).clamp(0, 1)

        # Towers, and tiles: on the track, where movers are and would land, on top of towers
        tower, tops = self.towers(towers, above, scoring)
        spots = functional.relu(torch.cat([to, movers], 1))
        landing = torch.gather(track, 1, spots.long())
        codes = torch.cat([track, landing, tops.reshape(-1, N_TOP * MAX_PLAYERS)], 1)
        facts = functional.embedding(codes, self.tile_facts).reshape(-1, N_TILES_SEEN * N_FACTS)
        tower = tower.reshape(-1, MAX_PLAYERS * N_TOWER)
        picked = torch.cat([moment, tower, facts], 1).index_select(1, self.picked)
        source, kinds, sign, worth, own_tower, other_towers = picked.split(self.picks, 1)
        alone = torch.addmm(self.none, torch.cat([moves, crowd], 1), self.alone)
        leaves = kinds * functional.relu(alone)  # pawn by pawn

        # Who could be given a tile, or lose one
        worth = worth * sign + absent  # plus tiles go to the least
        receivers = (worth == worth.amax(1, keepdim=True)).float() * own_tower
        partners = torch.cat([receivers, other_towers], 1)  # [B, 10]
        # one alone is no choice
        forced = partners * functional.relu(torch.addmm(self.two, partners, self.pairs))
        legal = torch.cat([moves, (is_choice * partners) @ self.both], 1)

        # What each deed changes, and which deeds each action is
        terms = functional.relu(torch.addmm(self.case_bounds, source, self.cases))
        effects = torch.addmm(self.fixed_effects, terms, self.effects)
        doing = torch.cat([leaves, is_choice], 1) @ self.doing
        doing = doing * torch.addmm(self.unforced, forced, self.forced)
        effects = effects.reshape(-1, len(EFFECTS), N_DEEDS)
        effects = effects @ doing.reshape(-1, N_DEEDS, N_ACTIONS)
        effects = effects.reshape(-1, len(EFFECTS) * N_ACTIONS)
        _, own, others = effects.split([(len(EFFECTS) - 2) * N_ACTIONS, N_ACTIONS, N_ACTIONS], 1)

        parts = {
            "moment": moment,
            "pieces": pieces,
            "to": to,
            "finish": finish,
            "zero": zero,
            "one": one,
            "game": one.cumsum(0),  # counted from 1
            "beyond": beyond,
            "counts": counts,
            "stay": crowd - 1,
            "on_way": on_way,
            "tower": tower,
            "facts": facts,
            "effects": effects,
            "lead": (n_others * own - others) / lead_scale,
            "legal": legal,
        }
        return Known(torch.cat([parts[name] for name in PARTS], 1), legal, row * 0)


class Observer(nn.Module):
    """From what is known to observations, float32[B, OBS_SIZE]."""

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("order", torch.from_numpy(order()[None]), persistent=False)
        self.register_buffer("scale", torch.from_numpy(scale()), persistent=False)

    def forward(self, known: Known) -> Tensor:
        """The observations of the seats to act."""
        seen = known.look_up(self.order) / self.scale
        seen, actions = seen.split([SLICES["legal"].start, N_ACTION_ROWS * N_ACTIONS], 1)
        actions = actions.reshape(-1, N_ACTION_ROWS, N_ACTIONS) * known.legal.unsqueeze(1)
        return torch.cat([seen, actions.reshape(-1, N_ACTION_ROWS * N_ACTIONS)], 1)


# Constants: what they are, not how fast they are made ------------------------------------------


def _zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def _place(name: str, *index: int) -> int:
    """Where an entry of a row of the vector stands."""
    shape = next(row.shape for row in vector_layout.LAYOUT if row.name == name)
    return vector_layout.SLICES[name].start + int(np.ravel_multi_index(index or (0,), shape))


def row_of() -> Array:
    """Adds up to the row of `places`: int32[SIZE]."""
    out = np.zeros(vector_layout.SIZE, np.int32)
    out[_place("players")] = MAX_PLAYERS
    out[_place("player")] = 1
    return out


def places() -> Array:
    """Where to take things from, by players and seat to act: int64[7 * 6, sum(TAKEN)]."""
    out = np.zeros(((MAX_PLAYERS + 1) * MAX_PLAYERS, sum(TAKEN)), np.int64)
    head = ["die"] * DIE_FACES + ["phase"] * len(PHASE_NAMES) + ["track"] * MAX_PLAYERS
    head += ["players"] * (MAX_PLAYERS - MIN_PLAYERS + 1) + ["pawns_each"] * MAX_PAWNS
    head += ["with_guards", "scoring"]
    no_tile = _place("players")  # as a code it is not that of a lucky tile, which alone matters
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        for player in range(players):
            seats = [*((player + steps) % players for steps in range(players))]
            seats += range(players, MAX_PLAYERS)
            pawns = [[_place("pawns", seat, pawn) for pawn in range(MAX_PAWNS)] for seat in seats]
            towers = [[_place("towers", seat, k) for k in range(MAX_TILES)] for seat in seats]
            out[players * MAX_PLAYERS + player] = [
                *(_place(name) for name in head),
                *range(*vector_layout.SLICES["track"].indices(vector_layout.SIZE)),
                *pawns[0],
                *range(*vector_layout.SLICES["guards"].indices(vector_layout.SIZE)),
                *(place for own in pawns[1:] for place in own),
                _place("scoring"),
                *(place for tower in towers for place in tower),
                *(place for tower in towers for place in (*tower[1:], no_tile)),
            ]
    return out


def shift() -> Array:
    """What makes tile codes count from 0: int32[SIZE]."""
    out = np.zeros(vector_layout.SIZE, np.int32)
    for name in ("track", "towers"):
        out[vector_layout.SLICES[name]] = -MIN_VALUE
    return out


def hot() -> Array:
    """What the numbers of the moment are compared with: int32[MOMENT].

    The seat to act is always seat 0: the first slot of the track, the start, is always the start.
    """
    start = START - MIN_VALUE
    hot = [*range(1, DIE_FACES + 1), *range(len(PHASE_NAMES)), start, *[-1] * N_OTHERS]
    hot += [*range(MIN_PLAYERS, MAX_PLAYERS + 1), *range(1, MAX_PAWNS + 1), 1, EXPERT]
    return np.array([*hot, *[FINISH_CODE] * MAX_TRACK], np.int32)


def _moment() -> Array:
    """What each number of the moment adds to `MOMENTS`: float32[MOMENT, sum(MOMENTS)]."""
    out = _zeros(MOMENT, sum(MOMENTS))
    columns = np.split(np.arange(sum(MOMENTS)), np.cumsum(MOMENTS)[:-1])
    slots, finish, is_move, die, absent, is_choice, n_others, lead_scale, beyond, _, _ = columns
    for slot in range(1, MAX_TRACK):
        out[HEAD + slot, finish] = slot
        out[HEAD + slot, slots[slot:]] = -99  # pieces that are home are on no slot
        out[HEAD + slot, beyond[slot:]] = 1
    out[np.arange(DIE_FACES), die] = np.arange(1, DIE_FACES + 1)
    phase = SLICES["phase"].start
    out[phase + MOVE, is_move] = 1
    out[phase + GIVE, is_choice[:N_OTHERS]] = out[phase + STEALING, is_choice[N_OTHERS:]] = 1
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        place = SLICES["players"].start + players - MIN_PLAYERS
        out[place, absent[players - 1 :]] = -1000
        out[place, n_others] = players - 1
        out[place, lead_scale] = (players - 1) * 2 * CHANGE_SCALE
    return out


def _moment_bias() -> Array:
    """What `MOMENTS` are but for that: float32[sum(MOMENTS)]."""
    out = _zeros(sum(MOMENTS))
    out[:LAST_SLOT] = np.arange(LAST_SLOT)
    out[-1] = 1
    return out


def _groups() -> Array:
    """Which pieces are in which group: float32[N_GROUPS, pieces]."""
    out = _zeros(N_GROUPS, N_MOVERS + N_OTHER_PAWNS)
    own, guards = slice(0, MAX_PAWNS), slice(MAX_PAWNS, N_MOVERS)
    out[0, guards] = out[1, own] = 1
    for steps in range(1, MAX_PLAYERS):
        first = N_MOVERS + (steps - 1) * MAX_PAWNS
        out[1 + steps, first : first + MAX_PAWNS] = 1
    out[LANDED.start, own] = out[LANDED.start + 1, N_MOVERS:] = out[LANDED.start + 2, guards] = 1
    out[ALL] = out[ALL_PAWNS] = 1
    out[ALL_PAWNS, guards] = 0
    return out


def _on_way() -> Array:
    """Which columns are slots of the track where pieces are on their way: float32[N_COLUMNS, 1]."""
    out = _zeros(N_COLUMNS, 1)
    out[:LAST_SLOT] = 1
    return out


def _crowds() -> Array:
    """Where the counts have all pieces, then all pawns, where movers are: int64[22]."""
    counts = np.arange(N_GROUPS * N_COLUMNS).reshape(N_GROUPS, N_COLUMNS)
    return np.concatenate([counts[ALL, FROM:IS_MOVE], counts[ALL_PAWNS, FROM:IS_MOVE]])


def _room() -> Array:
    """From columns to two numbers of each mover: float32[N_COLUMNS, 22].

    First each slot less that of the next lower piece of the same kind: 0 for pieces that stand
    together, at most 0 for pieces that there are not. Then the way to the finish, far below 0
    unless the phase is move.
    """
    out = _zeros(N_COLUMNS, 2, N_MOVERS)
    movers = out[FROM:IS_MOVE]
    movers[:, 0] = np.eye(N_MOVERS) - np.eye(N_MOVERS, k=1)
    movers[MAX_PAWNS - 1, 0, MAX_PAWNS] = 0
    movers[:, 1] = -np.eye(N_MOVERS)
    out[LAST_SLOT, 1] = 1
    out[IS_MOVE, 1] = _FAR
    return out.reshape(len(out), -1)


def _room_bias() -> Array:
    """What is added to that: the lowest pawn and guard have the slot before the start below."""
    out = _zeros(2, N_MOVERS)
    out[0, [0, MAX_PAWNS]] = 1
    out[1] = -_FAR
    return out.reshape(-1)


def _alone() -> Array:
    """From what moves, and how many pieces are there, to 1 for own pawns that leave a tile alone.

    Pawn by pawn, as often as there are kinds of tiles: float32[22, 9]; for all others at most 0.
    """
    pawns = np.repeat(np.eye(N_MOVERS, MAX_PAWNS, dtype=np.float32), N_KINDS, 1)
    return np.concatenate([2 * pawns, -pawns])


def tiles() -> Array:
    """The codes of number and lucky tiles, from 0."""
    return np.arange(MIN_VALUE, MAX_VALUE + 1) - MIN_VALUE


def tile_sums() -> Array:
    """What a tile adds to the sums over its tower: float32[2 x codes x codes, N_SUMS].

    By scoring, the tile above it, and the tile. In expert scoring minus tiles are not turned by
    rank: `TURNED` is below 0 then, and all ranks by it are those of a -10.
    """
    out = _zeros(2, N_CODES, N_CODES, N_SUMS)
    for code in tiles():
        out[:, :, code, :N_MINUS_VALUES] = code <= np.arange(N_MINUS_VALUES)
        out[:, :, code, VALUE_SUM] = code + MIN_VALUE
        out[:, :, code, HEIGHT] = 1
    out[EXPERT, LUCKY_CODE, :, VALUE_SUM] *= -1
    out[:, :, LUCKY_CODE, LUCKY_SUM] = 1
    out[1 - EXPERT, :, LUCKY_CODE, [TURNERS, TURNED]] = 1
    out[EXPERT, :, :, TURNED] = -1
    return out.reshape(-1, N_SUMS)


def _tower_layers(
    ranks: Sequence[tuple[int | None, int]], n_top: int
) -> tuple[Array, Array, Array, Array]:
    """From sums over a tower to what it comes to: weights and biases of the two layers.

    Lucky tiles turn the largest minus tiles, so one of each value as long as there are more tiles
    up to it than lucky ones: `min(up_to, turners)` of them, where `min(a, b) = a - relu(a - b)`.
    The tile of a rank is one step above -10 for each value up to which there are fewer tiles, that
    is if `rank - up_to` is 1 or more: `relu(x) - relu(x - 1)`.
    """
    values = range(N_MINUS_VALUES)
    far = 1024  # no points are below -far
    first: list[Array] = []
    second: list[Array] = []
    bounds: list[float] = []
    outs = {FIRST_RANK + rank: float(MIN_VALUE) for rank in range(len(ranks))} | {POINTS: -far}
    n_out = FIRST_RANK + len(ranks) + n_top
    bias = _zeros(n_out)
    for out, number in outs.items():
        bias[out] = number

    def add(weights: dict[int, float], bound: float, *to: tuple[int, float]) -> None:
        """A number between the layers: from which sums, and to which outputs."""
        first.append(_zeros(N_SUMS))
        second.append(_zeros(n_out))
        bounds.append(bound)
        for number, weight in weights.items():
            first[-1][number] = weight
        for number, weight in to:
            second[-1][number] = weight

    for rank, (start, offset) in enumerate(ranks):
        for value in values:
            weights = {value: -1.0} if start is None else {value: -1.0, start: 1.0}
            add(weights, offset, (FIRST_RANK + rank, 1))
            add(weights, offset - 1, (FIRST_RANK + rank, -1))
    add({VALUE_SUM: 1.0, **dict.fromkeys(values, 2.0)}, far, (POINTS, 1))
    for value in values:
        add({value: 1.0, TURNERS: -1.0}, 0, (POINTS, -2))
    add({LUCKY_SUM: 1.0}, 0, (N_LUCKY, 1))
    # the level of the k-th tile from the top is `height - 1 - k`; if the tower is not so high it is
    # the highest level, where so low a tower has nothing
    highest = MAX_TILES - 1
    bias[n_out - n_top :] = highest
    for k in range(n_top + 1):
        to = [(N_TILES, 1), (HAS_TILES, 1)] if k == 0 else [(HAS_TILES, -1)] if k == 1 else []
        to += [(n_out - n_top + k, -highest)] if k < n_top else []
        to += [(n_out - n_top + k - 1, highest + 1)] if k > 0 else []
        add({HEIGHT: 1.0}, -k, *to)
    return np.array(first).T.copy(), np.array(bounds, np.float32), np.array(second), bias


def tile_facts() -> Array:
    """Facts of each tile: float32[codes, N_FACTS]."""
    out = _zeros(N_CODES, N_FACTS)
    for code in tiles():
        out[code, :SIGN] = code + MIN_VALUE, code == LUCKY_CODE, 0, 1, 0, 0
    out[GIFT - MIN_VALUE, :SIGN] = 0, 0, 1, 0, 1, 0
    out[STEAL - MIN_VALUE, :SIGN] = 0, 0, -1, 0, 0, 1
    out[:, SIGN] = np.where(out[:, 0] < 0, 1, -1)
    return out


def _top(seat: int, k: int) -> int:
    """Which of the tiles seen is the k-th from the top of a tower."""
    return TOPS + seat * N_TOP + k


_FAR: Final = 64  # further than any number that it is taken from


def _places_of() -> tuple[Array, Array]:
    """Where towers and facts stand after the moment: int64[6, N_TOWER], [tiles, N_FACTS]."""
    part = numbered({name: PARTS[name] for name in ("moment", "tower", "facts")})
    return part["tower"], part["facts"]


def _picked(case_rows: Array) -> Array:
    """What is looked at on its own, see `Encoder.picks`: int64[sum(picks)]."""
    tower, facts = _places_of()
    own_top, *other_tops = (_top(seat, 0) for seat in range(MAX_PLAYERS))
    return np.concatenate(
        [
            case_rows,
            facts[LEAVE : LEAVE + MAX_PAWNS, KIND].reshape(-1),
            facts[[own_top], SIGN],
            facts[other_tops, 0],
            tower[:, HAS_TILES],
        ]
    )


def _pairs() -> Array:
    """Less the number of partners of the same choice: float32[10, 10]."""
    return np.kron(np.eye(2, dtype=np.float32), np.full((N_OTHERS, N_OTHERS), -1, np.float32))


def _both() -> Array:
    """Adds up both choices: float32[10, 5]."""
    return np.tile(np.eye(N_OTHERS, dtype=np.float32), (2, 1))


def _cases() -> tuple[Array, Array]:
    """What takes the terms of each case out of their source, and that source.

    The source, int64[S], is numbers of the moment, of towers and facts of tiles; the matrix is
    float32[S, N_TERMS * N_CASES].

    Points change by `tile + relu(2 * (bound - tile)) - 2 * lucky * turn` when the tile comes, and
    by the opposite when it goes. In standard scoring, when one comes, the bound is the last minus
    tile that is turned (a larger minus is turned in its place), and what a lucky tile turns is the
    next one; when one goes it is the other way round. In expert scoring there is no bound (-10),
    and a lucky tile turns what is under it.

    The terms are what stands in a relu: `2 * (bound - tile)`, `tile + 10`, `lucky`, and, for the
    product, `next + 10` if lucky, and `under + 10` if lucky in expert scoring; if not, they are
    below 0. There is no next one in expert scoring (-10). So `lucky * turn` is the sum of the last
    two, less 10 if lucky.
    """
    tower, facts = _places_of()
    is_expert = HEAD - 1  # in the moment
    out = _zeros(facts[-1, -1] + 1, N_TERMS, N_CASES)
    for case, (comes, seat, tile) in enumerate(_seats_and_tiles()):
        bound, turned = (LAST_TURNED, NEXT_TURNED) if comes else (NEXT_TURNED, LAST_TURNED)
        value, lucky = facts[tile, :2]
        under = facts[_top(seat, 0 if comes else 1), 0]
        out[tower[seat, bound], 0, case] = 2
        out[value, 0, case] -= 2
        out[value, 1, case] = out[lucky, 2, case] = 1
        out[tower[seat, turned], 3, case] = out[under, 4, case] = 1
        out[lucky, 3:, case] = out[is_expert, 4, case] = _FAR
    out = out.reshape(len(out), -1)
    source = np.flatnonzero(np.abs(out).sum(1))
    return out[source], source


def _seats_and_tiles() -> list[tuple[bool, int, int]]:
    """Of each case: whether a tile comes, to or from which seat, which of the tiles seen."""
    cases = [(True, 0, LEAVE + pawn) for pawn in range(MAX_PAWNS)]
    cases += [(True, seat, _top(0, 0)) for seat in range(1, MAX_PLAYERS)]
    cases += [(True, 0, _top(seat, 0)) for seat in range(1, MAX_PLAYERS)]
    return [*cases, *((False, seat, _top(seat, 0)) for seat in range(MAX_PLAYERS))]


def _case_bounds() -> Array:
    """What is added to the terms: float32[N_TERMS * N_CASES]."""
    bounds = [0, -MIN_VALUE, 0, -MIN_VALUE - _FAR, -MIN_VALUE - 2 * _FAR]
    return np.repeat(np.array(bounds, np.float32), N_CASES)


_CHANGE: Final = np.array([1, 1, -2 * MIN_VALUE, -2, -2], np.float32)  # points, by the terms
_FIXED_CHANGE: Final = MIN_VALUE


def _effects() -> Array:
    """From the terms of each case to the effects of each deed."""
    out = _zeros(N_TERMS, N_CASES, len(EFFECTS), N_DEEDS)
    row = {name: number for number, name in enumerate(EFFECTS)}
    for deed in range(TURNS):
        out[1, deed, row["taken_value"], deed] = 1
        out[2, deed, row["taken_lucky"], deed] = 1
    for deed in (*range(TAKE.start, TAKE.stop), *range(STEALS.start, STEALS.stop)):
        out[:, deed, row["own_change"], deed] = _CHANGE
    for other in range(N_OTHERS):
        gives, steals = GIVES.start + other, STEALS.start + other
        out[:, GONE.start, row["own_change"], gives] = -_CHANGE
        out[:, gives, row["others_change"], gives] = _CHANGE
        out[:, GONE.start + 1 + other, row["others_change"], steals] = -_CHANGE
    return out.reshape(N_TERMS * N_CASES, -1)


def _fixed_effects() -> Array:
    out = _zeros(len(EFFECTS), N_DEEDS)
    turns, takes, taken_value, _, own_change, others_change = out
    turns[TURNS:] = 1, -1
    takes[TAKE] = takes[STEALS] = 1
    takes[GIVES] = -1
    taken_value[:TURNS] = MIN_VALUE
    own_change[TAKE] = own_change[STEALS] = others_change[GIVES] = _FIXED_CHANGE
    own_change[GIVES] = others_change[STEALS] = -_FIXED_CHANGE
    return out.reshape(-1)


def _doing() -> Array:
    """Which deeds each action is, by what is left (pawn, kind) and the choice: float32[19, ..]."""
    out = _zeros(N_KINDS * MAX_PAWNS + 2 * N_OTHERS, N_DEEDS, N_ACTIONS)
    gives, steals = np.split(out[N_KINDS * MAX_PAWNS :], 2)
    for pawn in range(MAX_PAWNS):
        tile, gift, steal = range(N_KINDS * pawn, N_KINDS * pawn + N_KINDS)
        out[tile, pawn, pawn] = 1
        out[gift, GIVES, pawn] = out[gift, TURNS, pawn] = 1
        out[steal, STEALS, pawn] = out[steal, TURNS + 1, pawn] = 1
    for other in range(N_OTHERS):
        gives[other, GIVES.start + other, FIRST_OPPONENT + other] = 1
        steals[other, STEALS.start + other, FIRST_OPPONENT + other] = 1
    return out.reshape(len(out), -1)


def _forced() -> Array:
    """Moves that turn a tile give or steal at once only where there is no choice: [10, ..]."""
    out = _zeros(2 * N_OTHERS, N_DEEDS, N_ACTIONS)
    for choice in range(2 * N_OTHERS):
        out[choice, GIVES.start + choice, :N_MOVERS] = 1
    return out.reshape(len(out), -1)


def numbered(parts: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The places of all numbers, one part after the other: name and shape to int64[shape]."""
    places, start = {}, 0
    for name, shape in parts.items():
        size = int(np.prod(shape))
        places[name] = np.arange(start, start + size).reshape(shape)
        start += size
    return places


def order() -> Array:
    """Where each number of an observation stands in the parts: int64[OBS_SIZE]."""
    part = numbered(PARTS)
    counts, facts, tower, effects = (part[n] for n in ("counts", "facts", "tower", "effects"))
    zero = part["zero"][0]
    tops = facts[TOPS:].reshape(MAX_PLAYERS, N_TOP, N_FACTS)
    landings = slice(TO, FROM)
    value, lucky, action = range(3)

    def of_movers(numbers: Array) -> Array:
        return np.append(numbers, [zero] * N_OTHERS)

    rows = {
        "finish": part["finish"],
        "tile_value": facts[1:LAST_SLOT, value],
        "tile_lucky": facts[1:LAST_SLOT, lucky],
        "tile_action": facts[1:LAST_SLOT, action],
        "guards": counts[0, 1:LAST_SLOT],
        "pawns": counts[1:N_SHOWN, 1:LAST_SLOT],
        "guards_off": counts[0, [0, LAST_SLOT]],
        "points": tower[:, POINTS],
        "lucky": tower[:, N_LUCKY],
        "height": tower[:, N_TILES],
        "top_value": tops[:, :, value].T,
        "top_lucky": tops[:, :, lucky].T,
        "largest_minus": tower[:, FIRST_RANK:LAST_TURNED].T,
        "at_start": counts[1:N_SHOWN, 0],
        "home": counts[1:N_SHOWN, LAST_SLOT],
        "legal": part["legal"],
        "from_slot": of_movers(part["pieces"][:N_MOVERS]),
        "to_slot": of_movers(part["to"]),
        "stay": of_movers(part["stay"]),
        "land_value": of_movers(facts[LAND:LEAVE, value]),
        "land_lucky": of_movers(facts[LAND:LEAVE, lucky]),
        "land_action": of_movers(facts[LAND:LEAVE, action]),
        "land_own": of_movers(counts[LANDED.start, landings]),
        "land_opponents": of_movers(counts[LANDED.start + 1, landings]),
        "land_guards": of_movers(counts[LANDED.start + 2, landings]),
        "lead_change": part["lead"],
    }
    rows |= {name: effects[row] for row, name in enumerate(EFFECTS) if name in SLICES}
    out = np.zeros(OBS_SIZE, np.int64)
    out[:HEAD] = part["moment"][:HEAD]
    for name, numbers in rows.items():
        out[SLICES[name]] = numbers.reshape(-1)
    return out


def scale() -> Array:
    """What each number of an observation is divided by: float32[OBS_SIZE]."""
    out = np.ones(OBS_SIZE, np.float32)
    for row in LAYOUT:
        out[SLICES[row.name]] = SCALES.get(row.name, 1)
    return out
