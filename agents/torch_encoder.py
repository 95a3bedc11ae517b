"""The observation and the legal actions of the seat to act, worked out by torch from vectors.

This stands in exported models before the network. It is a second statement of what
`thatslife_env.observation` and `thatslife_env.rules` say, allowed only because tests compare them,
number for number, on all rulesets, phases and numbers of players. It has few and plain operations,
for each costs a frontend about a microsecond; so what is linear is done by matrices of constants.

In shapes, B is the number of positions. Seats are relative: seat 0 is the one to act. Tile codes
are counted from 0 here: a code of the vector less `MIN_VALUE`.
"""

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

# What is taken out of the vector first, in this order
HEAD: Final = SLICES["expert"].stop  # numbers that become the one-hot rows, `die` to `expert`
HEADS: Final = (
    SLICES["phase"].start + MOVE,
    1,  # whether the phase is move
    2,  # whether it is give, steal
    SLICES["players"].start - SLICES["phase"].start - STEALING - 1,
    MAX_PLAYERS - MIN_PLAYERS + 1,  # how many players there are
    HEAD - SLICES["pawns_each"].start,
)
N_OTHER_PAWNS: Final = N_OTHERS * MAX_PAWNS
N_TOWERS: Final = MAX_TILES * MAX_PLAYERS  # level by level
TAKEN: Final = (HEAD, MAX_TRACK, 3 + N_MOVERS + N_OTHER_PAWNS, N_TOWERS)
# the third: die, players, scoring, own pawns, guards, the others' pawns

# Sums over a tower, one for each seat
N_SUMS: Final = N_MINUS_VALUES + 3  # tiles up to -10, .., up to -1; then these
VALUE_SUM, LUCKY_SUM, HEIGHT = range(N_MINUS_VALUES, N_SUMS)

# Where pieces are counted: the start, slots 1..36 but for the finish, the finish, from where movers
# would move, and to where
COLUMNS: Final = (1, LAST_SLOT - 1, 1, N_MOVERS, N_MOVERS)

# Groups of pieces that are counted: guards, pawns of each seat; then these
N_SHOWN: Final = 1 + MAX_PLAYERS
LANDED: Final = slice(N_SHOWN, N_SHOWN + 3)  # own pawns, others' pawns, guards
ALL, ALL_PAWNS, N_GROUPS = LANDED.stop, LANDED.stop + 1, LANDED.stop + 2
ENDS: Final = (1, MAX_PLAYERS, N_GROUPS - N_SHOWN)  # guards, pawns of each seat, other groups

# Facts of a tile; and of which tiles they are taken
FACE: Final = slice(0, 3)  # value, lucky, and 1 for a gift or -1 for a steal
KIND: Final = slice(3, 6)  # whether it is a tile to take, a gift, a steal
FACTS: Final = (LAST_SLOT - 1, MAX_PAWNS, MAX_GUARDS, N_MOVERS, N_TOP * MAX_PLAYERS)
OWN_TOP: Final = (1, N_OTHERS, (2 * N_TOP - 1) * MAX_PLAYERS)  # values of tops: own, others'; rest

# A tile comes onto a tower or goes from it: cases in which points change
LEFT: Final = slice(0, MAX_PAWNS)  # the tile that an own pawn leaves, onto the own tower
GIVEN: Final = slice(LEFT.stop, LEFT.stop + N_OTHERS)  # the own top, onto each other tower
STOLEN: Final = slice(GIVEN.stop, GIVEN.stop + N_OTHERS)  # each other top, onto the own tower
GONE: Final = slice(STOLEN.stop, STOLEN.stop + MAX_PLAYERS)  # each top, from its tower
N_CASES: Final = GONE.stop

# What an action may do: take the tile left by an own pawn, give, steal; and turn an action tile
TAKE, GIVES, STEALS = LEFT, GIVEN, STOLEN
TURNS: Final = STOLEN.stop  # a gift, then a steal
N_DEEDS: Final = TURNS + 2
EFFECTS: Final = ("turns", "takes", "taken_value", "taken_lucky", "own_change", "others_change")


class Seen(NamedTuple):
    """What the seat to act sees and may do: float32[B, OBS_SIZE], and 1 or 0 in float32[B, 16]."""

    observations: Tensor
    masks: Tensor


class Encoder(nn.Module):
    """From vectors, int32[B, SIZE], to observations and masks."""

    if TYPE_CHECKING:  # its constants

        def __getattr__(self, name: str) -> Tensor: ...

    def __init__(self) -> None:
        super().__init__()
        constants = {
            "row_of": row_of(),
            "hot": hot(),
            "slots": np.arange(MAX_TRACK, dtype=np.float32)[:, None],
            "columns": np.arange(LAST_SLOT, dtype=np.float32),  # the start and slots 1..36
            "groups": _groups(),
            "lower": _lower(),
            "none_lower": _none_lower(),
            "tile_sums": tile_sums(),
            "tile_facts": tile_facts(),
            "from_top": np.arange(1, N_TOP + 1, dtype=np.float32)[:, None],
            "ranks": _ranks(),
            "first_ranks": _first_ranks(),
            "absent": _absent(),
            "cases": _cases(),
            "effects": _effects(),
            "fixed_effects": _fixed_effects(),
            "doing": _doing(),
            "forced": _forced(),
            "unforced": 1 - _forced().sum(0),
            "scale": _scale(),
            "shift": shift(),
            "places": places(),
        }
        for name, values in constants.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def forward(self, vectors: Tensor) -> Seen:
        """What the seats to act see and may do.

        Args:
            vectors: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        row = (vectors.float() @ self.row_of).long().squeeze(1)
        taken = torch.gather(vectors + self.shift, 1, functional.embedding(row, self.places))
        head, track, numbers, towers = taken.split(TAKEN, 1)  # int32; what follows is float32
        head = (head == self.hot).float()
        pieces = numbers.float()
        die, players, scoring, movers, _ = pieces.split([1, 1, 1, N_MOVERS, N_OTHER_PAWNS], 1)
        pieces = pieces[:, 3:]
        is_expert = scoring == EXPERT
        _, is_move, is_choice, _, n_players, _ = head.split(HEADS, 1)  # choice: of give, steal

        # Pieces: how many of each group stand on each slot, and where they could go
        finish = (track == FINISH_CODE).float() @ self.slots  # [B, 1]
        targets = torch.minimum(movers + die, finish)
        columns = torch.where(self.columns == finish, -9.0, self.columns)
        columns = torch.cat([columns, finish, movers, targets], 1)
        counts = self.groups @ (pieces.unsqueeze(2) == columns.unsqueeze(1)).float()
        at_start, on_slots, at_finish, here, there = counts.split(COLUMNS, 2)
        guards_at_start, pawns_at_start, _ = at_start.flatten(1).split(ENDS, 1)
        guards_home, pawns_home, _ = at_finish.flatten(1).split(ENDS, 1)
        stay = here[:, ALL : ALL + 1] - 1  # [B, 1, 11]

        lower = torch.addmm(self.none_lower, movers, self.lower)
        lowest = torch.where(movers == lower, -1.0, movers)
        may_move = (lowest >= 0) & (lowest < finish) & (here[:, ALL_PAWNS] > 0)
        moves = (may_move.float() * is_move).unsqueeze(1)  # [B, 1, 11]

        # Towers: seats in columns
        towers = towers.reshape(-1, MAX_TILES, MAX_PLAYERS)
        sums = functional.embedding(towers, self.tile_sums).sum(1).transpose(1, 2)  # [B, N_SUMS, 6]
        up_to, total, n_lucky, height = sums.split([N_MINUS_VALUES, 1, 1, 1], 1)
        turned = torch.minimum(up_to, n_lucky).sum(1)
        under = torch.where(towers[:, 1:] == LUCKY_CODE, towers[:, :-1], LUCKY_CODE).float().sum(1)
        turned = torch.where(is_expert, LUCKY_CODE * (MAX_TILES - 1) - under, turned)
        points = total.squeeze(1) + 2 * turned
        wanted = self.ranks @ sums + self.first_ranks  # [B, 6, 6]: which minus tile, in order
        minus = (up_to.unsqueeze(1) < wanted.unsqueeze(2)).float().sum(2) - N_MINUS_VALUES
        minus = minus.flatten(1)  # row by row
        # below the ground is the 32nd level, where so low a tower has nothing
        levels = (height - self.from_top).long() & (MAX_TILES - 1)
        top_codes = torch.gather(towers, 1, levels)  # int32[B, 4, 6]

        # Tiles: on the track, where movers are and would land, on top of towers
        from_to = columns[:, -2 * N_MOVERS :]
        spots = from_to.clamp(min=0).long()
        codes = [track[:, 1:LAST_SLOT], torch.gather(track, 1, spots), top_codes.flatten(1)]
        facts = functional.embedding(torch.cat(codes, 1), self.tile_facts).transpose(1, 2)
        on_track, left, _, land, tops = facts.split(FACTS, 2)
        tops = tops[:, :2].flatten(1)  # values of each k for each seat, then whether lucky
        alone = ((stay == 0).float() * moves)[:, :, :MAX_PAWNS]
        leaves = left[:, KIND] * alone  # [B, 3, 3]: kind of tile, pawn

        # Who could be given a tile, or lose one
        own_top, other_tops, _ = tops.split(OWN_TOP, 1)
        worth = torch.where(own_top >= 0, -other_tops, other_tops)
        worth = torch.addmm(worth, n_players, self.absent)
        own_tower, other_towers = (height.squeeze(1) > 0).split([1, N_OTHERS], 1)
        receivers = (worth == worth.amax(1, keepdim=True)) & own_tower
        partners = torch.cat([receivers, other_towers], 1).float().reshape(-1, 2, N_OTHERS)
        forced = (partners.sum(2, keepdim=True) == 1).float() * partners
        legal = torch.cat([moves, is_choice.unsqueeze(1) @ partners], 2)  # [B, 1, 16]

        # What each deed changes, and which deeds each action is
        bounds = torch.where(is_expert, float(MIN_VALUE), minus[:, 3 * MAX_PLAYERS : -MAX_PLAYERS])
        turning = torch.where(is_expert, tops[:, : 2 * MAX_PLAYERS], minus[:, -2 * MAX_PLAYERS :])
        source = torch.cat([bounds, turning, tops, left.flatten(1)], 1)
        above, tile, lucky, turn = (source @ self.cases).split(N_CASES, 1)
        changes = torch.cat([tile, lucky, functional.relu(above), lucky * turn], 1)
        effects = torch.addmm(self.fixed_effects, changes, self.effects)
        doing = torch.cat([leaves.flatten(1), is_choice], 1) @ self.doing
        doing = doing * torch.addmm(self.unforced, forced.flatten(1), self.forced)
        effects = effects.reshape(-1, len(EFFECTS), N_DEEDS)
        effects = effects @ doing.reshape(-1, N_DEEDS, N_ACTIONS)  # [B, 6, 16]
        deeds, own, others = effects.split([len(EFFECTS) - 2, 1, 1], 1)
        n_others = (players - 1).unsqueeze(2)
        lead = (n_others * own - others) / (n_others * (2 * CHANGE_SCALE))

        # All together, in the order of LAYOUT
        rows = [from_to.reshape(-1, 2, N_MOVERS), stay]
        rows += [land[:, FACE], there[:, LANDED]]
        slots, landed = functional.pad(torch.cat(rows, 1), (0, N_OTHERS)).split([3, 6], 1)
        parts = [
            head,
            finish,
            on_track[:, FACE].flatten(1),
            on_slots[:, :N_SHOWN].flatten(1),
            guards_at_start,
            guards_home,
            points,
            sums[:, LUCKY_SUM:].flatten(1),
            tops,
            minus[:, : N_MINUS * MAX_PLAYERS],
            pawns_at_start,
            pawns_home,
            (torch.cat([legal, slots, deeds, landed, own, lead], 1) * legal).flatten(1),
        ]
        return Seen(torch.cat(parts, 1) / self.scale, legal.squeeze(1))


# Constants: what they are, not how fast they are made ------------------------------------------


def _zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def _place(name: str, *index: int) -> int:
    """Where an entry of a row of the vector stands."""
    shape = next(row.shape for row in vector_layout.LAYOUT if row.name == name)
    return vector_layout.SLICES[name].start + int(np.ravel_multi_index(index or (0,), shape))


def row_of() -> Array:
    """Adds up to the row of `places`: float32[SIZE, 1]."""
    out = _zeros(vector_layout.SIZE, 1)
    out[_place("players")] = MAX_PLAYERS
    out[_place("player")] = 1
    return out


def places() -> Array:
    """Where to take things from, by players and seat to act: int64[7 * 6, sum(TAKEN)]."""
    out = np.zeros(((MAX_PLAYERS + 1) * MAX_PLAYERS, sum(TAKEN)), np.int64)
    head = ["die"] * DIE_FACES + ["phase"] * len(PHASE_NAMES) + ["track"] * MAX_PLAYERS
    head += ["players"] * (MAX_PLAYERS - MIN_PLAYERS + 1) + ["pawns_each"] * MAX_PAWNS
    head += ["with_guards", "scoring"]
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        for player in range(players):
            seats = [*((player + steps) % players for steps in range(players))]
            seats += range(players, MAX_PLAYERS)
            pawns = [[_place("pawns", seat, pawn) for pawn in range(MAX_PAWNS)] for seat in seats]
            out[players * MAX_PLAYERS + player] = [
                *(_place(name) for name in head),
                *range(*vector_layout.SLICES["track"].indices(vector_layout.SIZE)),
                *(_place(name) for name in ("die", "players", "scoring")),
                *pawns[0],
                *range(*vector_layout.SLICES["guards"].indices(vector_layout.SIZE)),
                *(place for own in pawns[1:] for place in own),
                *(_place("towers", seat, level) for level in range(MAX_TILES) for seat in seats),
            ]
    return out


def shift() -> Array:
    """What makes tile codes count from 0: int32[SIZE]."""
    out = np.zeros(vector_layout.SIZE, np.int32)
    for name in ("track", "towers"):
        out[vector_layout.SLICES[name]] = -MIN_VALUE
    return out


def hot() -> Array:
    """What the numbers of the head are compared with: int32[HEAD].

    The seat to act is always seat 0: the first slot of the track, the start, is always the start.
    """
    start = START - MIN_VALUE
    hot = [*range(1, DIE_FACES + 1), *range(len(PHASE_NAMES)), start, *[-1] * N_OTHERS]
    hot += [*range(MIN_PLAYERS, MAX_PLAYERS + 1), *range(1, MAX_PAWNS + 1), 1, EXPERT]
    return np.array(hot, np.int32)


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


def _lower() -> Array:
    """Takes the slot of the next lower piece of the same kind: float32[11, 11]."""
    out = np.eye(N_MOVERS, k=1, dtype=np.float32)
    out[:, MAX_PAWNS] = 0
    return out


def _none_lower() -> Array:
    """What stands for that slot where there is no such piece: float32[11]."""
    out = _zeros(N_MOVERS)
    out[[0, MAX_PAWNS]] = -9
    return out


def tiles() -> Array:
    """The codes of number and lucky tiles, from 0."""
    return np.arange(MIN_VALUE, MAX_VALUE + 1) - MIN_VALUE


def tile_sums() -> Array:
    """What a tile adds to the sums over its tower: float32[codes, N_SUMS]."""
    out = _zeros(NO_TILE - MIN_VALUE + 1, N_SUMS)
    for code in tiles():
        out[code, :N_MINUS_VALUES] = code <= np.arange(N_MINUS_VALUES)
        out[code, VALUE_SUM] = code + MIN_VALUE
        out[code, LUCKY_SUM] = code == LUCKY_CODE
        out[code, HEIGHT] = 1
    return out


def tile_facts() -> Array:
    """Facts of each tile: float32[codes, 6]."""
    out = _zeros(NO_TILE - MIN_VALUE + 1, KIND.stop)
    for code in tiles():
        out[code] = code + MIN_VALUE, code == LUCKY_CODE, 0, 1, 0, 0
    out[GIFT - MIN_VALUE] = 0, 0, 1, 0, 1, 0
    out[STEAL - MIN_VALUE] = 0, 0, -1, 0, 0, 1
    return out


def _ranks() -> Array:
    """Which minus tiles are asked for, but for `_first_ranks`: float32[6, N_SUMS]."""
    out = _zeros(N_MINUS + 3, N_SUMS)
    out[N_MINUS:, LUCKY_SUM] = 1
    return out


def _first_ranks() -> Array:
    """The largest three; then the last that is turned, the first that is not, the last again."""
    return np.array([[1], [2], [3], [0], [1], [0]], np.float32)


def _absent() -> Array:
    """Keeps seats that there are not from being the best, by number of players: float32[5, 5]."""
    out = _zeros(MAX_PLAYERS - MIN_PLAYERS + 1, N_OTHERS)
    for players in range(MIN_PLAYERS, MAX_PLAYERS):
        out[players - MIN_PLAYERS, players - 1 :] = -1000
    return out


def _cases() -> Array:
    """Takes out of the source what each case needs: float32[source, 4 * N_CASES].

    Points change by `tile + relu(2 * (bound - tile)) - 2 * lucky * turn` when the tile comes, and
    by the opposite when it goes. In standard scoring, when one comes, the bound is the last minus
    tile that is turned (a larger minus is turned in its place), and what a lucky tile turns is the
    next one; when one goes it is the other way round. In expert scoring there is no bound, and a
    lucky tile turns what is under it.
    """
    a = {"come": 0, "go": MAX_PLAYERS}
    b = {"come": 2 * MAX_PLAYERS, "go": 3 * MAX_PLAYERS}
    top, top_lucky = 4 * MAX_PLAYERS, (4 + N_TOP) * MAX_PLAYERS
    left = (4 + 2 * N_TOP) * MAX_PLAYERS
    left_lucky = left + MAX_PAWNS
    cases = [("come", 0, left + pawn, left_lucky + pawn) for pawn in range(MAX_PAWNS)]
    cases += [("come", seat, top, top_lucky) for seat in range(1, MAX_PLAYERS)]
    cases += [("come", 0, top + seat, top_lucky + seat) for seat in range(1, MAX_PLAYERS)]
    cases += [("go", seat, top + seat, top_lucky + seat) for seat in range(MAX_PLAYERS)]
    out = _zeros(left + KIND.stop * MAX_PAWNS, 4, N_CASES)
    for case, (way, seat, tile, lucky) in enumerate(cases):
        out[a[way] + seat, 0, case] = 2
        out[tile, 0, case] = -2
        out[tile, 1, case] = 1
        out[lucky, 2, case] = 2
        out[b[way] + seat, 3, case] = 1
    return out.reshape(len(out), -1)


def _effects() -> Array:
    """From the terms of each case, as `_cases` gives them, to the effects of each deed."""
    out = _zeros(4, N_CASES, len(EFFECTS), N_DEEDS)
    row = {name: number for number, name in enumerate(EFFECTS)}
    change = np.array([1, 0, 1, -1], np.float32)
    for deed in range(TURNS):
        out[0, deed, row["taken_value"], deed] = 1
        out[1, deed, row["taken_lucky"], deed] = 0.5
    for deed in (*range(TAKE.start, TAKE.stop), *range(STEALS.start, STEALS.stop)):
        out[:, deed, row["own_change"], deed] = change
    for other in range(N_OTHERS):
        gives, steals = GIVES.start + other, STEALS.start + other
        out[:, GONE.start, row["own_change"], gives] = -change
        out[:, gives, row["others_change"], gives] = change
        out[:, GONE.start + 1 + other, row["others_change"], steals] = -change
    return out.reshape(4 * N_CASES, -1)


def _fixed_effects() -> Array:
    out = _zeros(len(EFFECTS), N_DEEDS)
    out[0, TURNS:] = 1, -1
    out[1, TAKE] = out[1, STEALS] = 1
    out[1, GIVES] = -1
    return out.reshape(-1)


def _doing() -> Array:
    """Which deeds each action is, by what is left (kind, pawn) and the phase: float32[11, ..]."""
    out = _zeros(3 * MAX_PAWNS + 2, N_DEEDS, N_ACTIONS)
    for pawn in range(MAX_PAWNS):
        out[pawn, pawn, pawn] = 1
        out[MAX_PAWNS + pawn, GIVES, pawn] = out[MAX_PAWNS + pawn, TURNS, pawn] = 1
        out[2 * MAX_PAWNS + pawn, STEALS, pawn] = out[2 * MAX_PAWNS + pawn, TURNS + 1, pawn] = 1
    for other in range(N_OTHERS):
        out[-2, GIVES.start + other, FIRST_OPPONENT + other] = 1
        out[-1, STEALS.start + other, FIRST_OPPONENT + other] = 1
    return out.reshape(len(out), -1)


def _forced() -> Array:
    """Moves that turn a tile give or steal at once only where there is no choice: [10, ..]."""
    out = _zeros(2 * N_OTHERS, N_DEEDS, N_ACTIONS)
    for choice in range(2 * N_OTHERS):
        out[choice, GIVES.start + choice, :N_MOVERS] = 1
    return out.reshape(len(out), -1)


def _scale() -> Array:
    out = np.ones(OBS_SIZE, np.float32)
    for row in LAYOUT:
        out[SLICES[row.name]] = SCALES.get(row.name, 1)
    return out
