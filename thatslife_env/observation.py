"""What a seat sees, as numbers: one vector of one size for every ruleset and 2 to 6 players.

`LAYOUT` states it once: sizes, slices, bounds, named views and the table in the docs come from it,
and the compiled writer fills exactly its rows. Everything is relative to the observer: seat 0 of a
row is the observer, seat 1 the next to the left. An observation is a function of the position and
the observing seat alone.
"""

import hashlib
import json
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from thatslife_env import rules
from thatslife_env._jit import njit
from thatslife_env.board import (
    DIE_FACES,
    FIRST_GUARD,
    FIRST_OPPONENT,
    GIFT,
    GIVE,
    LUCKY,
    MAX_GUARDS,
    MAX_LAYOUT,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_TRACK,
    MIN_PLAYERS,
    MIN_VALUE,
    N_ACTIONS,
    NAME_OF_TILE,
    NO_TILE,
    PHASE_NAMES,
    SCORINGS,
    STEAL,
    STEALING,
)
from thatslife_env.position import Position, is_whole
from thatslife_env.rules import Int, State


class Row(NamedTuple):
    """One named part of the observation: `shape` numbers from `low` to `high`."""

    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    meaning: str


N_TOP: Final = 4  # tiles shown of each tower, from the top
N_MINUS: Final = 3  # largest minus tiles shown of each tower

# Divisors that bring numbers into or near [-1, 1]
VALUE_SCALE: Final = 10
POINTS_SCALE: Final = 128
LUCKY_SCALE: Final = 8
STAY_SCALE: Final = 6
CHANGE_SCALE: Final = 20  # one tile moves a seat's points by at most 20
LAST_SLOT: Final = MAX_TRACK - 1

_SLOTS = (MAX_LAYOUT,)
_SEATS = (MAX_PLAYERS,)
_ACTIONS = (N_ACTIONS,)

LAYOUT: Final[tuple[Row, ...]] = (
    # the moment
    Row("die", (DIE_FACES,), 0, 1, "one-hot of the roll 1..6; zeros in phases roll and over"),
    Row("phase", (len(PHASE_NAMES),), 0, 1, "one-hot of roll, move, give, steal, over"),
    Row("to_act", _SEATS, 0, 1, "one-hot of the seat to roll or decide (over: the last mover)"),
    # the rules
    Row("players", (MAX_PLAYERS - MIN_PLAYERS + 1,), 0, 1, "one-hot of 2..6 players"),
    Row("pawns_each", (MAX_PAWNS,), 0, 1, "one-hot of 1..3 pawns a player"),
    Row("with_guards", (1,), 0, 1, "1 if the rules have guards"),
    Row("expert", (1,), 0, 1, "1 for expert scoring, 0 for standard"),
    # the track: entry j of a row is slot j + 1, so entry 0 lies next to the start
    Row("finish", (1,), 0, 1, f"slot of the finish / {LAST_SLOT}"),
    Row(
        "tile_value",
        _SLOTS,
        -1,
        0.8,
        f"entry j: value of the number tile on slot j + 1, / {VALUE_SCALE}",
    ),
    Row("tile_lucky", _SLOTS, 0, 1, "entry j: 1 if the tile on slot j + 1 is lucky"),
    Row("tile_action", _SLOTS, -1, 1, "entry j: 1 for a gift on slot j + 1, -1 for a steal"),
    Row("guards", _SLOTS, 0, 1, f"entry j: guards on slot j + 1, / {MAX_GUARDS}; 0 on the finish"),
    Row(
        "pawns",
        (MAX_PLAYERS, MAX_LAYOUT),
        0,
        1,
        f"entry [s, j]: pawns of seat s on slot j + 1, / {MAX_PAWNS}; 0 on the finish",
    ),
    Row("guards_off", (2,), 0, 1, f"guards on the start, guards on the finish / {MAX_GUARDS}"),
    # the towers
    Row("points", _SEATS, -2.5, 2, f"points as if the game ended now / {POINTS_SCALE}"),
    Row("lucky", _SEATS, 0, 4, f"lucky tiles / {LUCKY_SCALE}"),
    Row("height", _SEATS, 0, 1, f"tiles in the tower / {MAX_TILES}"),
    Row(
        "top_value",
        (N_TOP, MAX_PLAYERS),
        -1,
        0.8,
        f"[k, s]: value of the k-th tile from the top, from 0, / {VALUE_SCALE}",
    ),
    Row("top_lucky", (N_TOP, MAX_PLAYERS), 0, 1, "[k, s]: 1 if that tile is lucky"),
    Row(
        "largest_minus",
        (N_MINUS, MAX_PLAYERS),
        -1,
        0,
        f"[k, s]: the k-th largest minus tile, from 0, / {VALUE_SCALE}",
    ),
    Row("at_start", _SEATS, 0, 1, f"pawns on the start / {MAX_PAWNS}"),
    Row("home", _SEATS, 0, 1, f"pawns on the finish / {MAX_PAWNS}"),
    # what each action would do; zeros where it is not legal for the observer now
    Row("legal", _ACTIONS, 0, 1, "1 if the action is legal for the observer now"),
    Row("from_slot", _ACTIONS, 0, 1, f"slot that the piece leaves / {LAST_SLOT}"),
    Row("to_slot", _ACTIONS, 0, 1, f"slot where it lands, before a gap closes / {LAST_SLOT}"),
    Row("stay", _ACTIONS, 0, 5, f"pieces that stay on the slot it leaves / {STAY_SCALE}"),
    Row("turns", _ACTIONS, -1, 1, "1 if it turns a gift, -1 if it turns a steal"),
    Row("takes", _ACTIONS, -1, 1, "1 if a tile comes onto the own tower, -1 if one goes, at once"),
    Row("taken_value", _ACTIONS, -1, 0.8, f"value of that tile / {VALUE_SCALE}"),
    Row("taken_lucky", _ACTIONS, 0, 1, "1 if that tile is lucky"),
    Row("land_value", _ACTIONS, -1, 0.8, f"value of the tile where it lands / {VALUE_SCALE}"),
    Row("land_lucky", _ACTIONS, 0, 1, "1 if it lands on a lucky tile"),
    Row("land_action", _ACTIONS, -1, 1, "1 if it lands on a gift, -1 on a steal"),
    Row("land_own", _ACTIONS, 0, 1, f"own pawns that stand there / {MAX_PAWNS}"),
    Row("land_opponents", _ACTIONS, 0, 3, f"opponents' pawns that stand there / {MAX_PLAYERS - 1}"),
    Row("land_guards", _ACTIONS, 0, 1, f"guards that stand there / {MAX_GUARDS}"),
    Row("own_change", _ACTIONS, -1, 1, f"change of the own points / {CHANGE_SCALE}"),
    Row(
        "lead_change",
        _ACTIONS,
        -1,
        1,
        f"change of the own points less the opponents' mean / {2 * CHANGE_SCALE}",
    ),
)
"""The observation, row by row; a vector holds the rows one after the other, each in C order."""


def _slices() -> dict[str, slice]:
    slices, start = {}, 0
    for row in LAYOUT:
        stop = start + int(np.prod(row.shape))
        slices[row.name] = slice(start, stop)
        start = stop
    return slices


SLICES: Final[dict[str, slice]] = _slices()
"""Name of each row to its place in the vector."""

OBS_SIZE: Final = SLICES[LAYOUT[-1].name].stop
"""Length of an observation."""

LOW: Final = np.concatenate([np.full(int(np.prod(r.shape)), r.low, np.float32) for r in LAYOUT])
HIGH: Final = np.concatenate([np.full(int(np.prod(r.shape)), r.high, np.float32) for r in LAYOUT])
"""Bounds: float32[OBS_SIZE]."""
LOW.flags.writeable = HIGH.flags.writeable = False

OBS_VERSION: Final = 1
"""Goes up when what is written changes though names, shapes and bounds do not."""

LAYOUT_HASH: Final = hashlib.sha256(
    json.dumps([OBS_VERSION, [row[:4] for row in LAYOUT]]).encode()
).hexdigest()[:16]
"""Changes when the layout does; a policy trained for another layout is refused by it."""


def views(observation: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
    """Named views of one observation.

    Args:
        observation: float32[OBS_SIZE], or float32[..., OBS_SIZE].

    Returns:
        Name of each row to a view of shape `[..., *row.shape]` of the same memory.
    """
    return {
        row.name: observation[..., SLICES[row.name]].reshape(*observation.shape[:-1], *row.shape)
        for row in LAYOUT
    }


def observe(position: Position, seat: int | None = None) -> npt.NDArray[np.float32]:
    """What `seat` sees of a position.

    Args:
        position: any position.
        seat: the observer; None is the seat to roll or decide.

    Returns:
        float32[OBS_SIZE], as `LAYOUT` says.

    Raises:
        ValueError: there is no such seat.
    """
    out = np.empty((1, OBS_SIZE), np.float32)
    _observe(position.state, _seat_of(position, seat), rows_of(out))
    return out[0]


def action_mask(position: Position, seat: int | None = None) -> npt.NDArray[np.bool_]:
    """Legal actions of `seat`: bool[16], True = legal, all False if it is not to decide.

    Raises:
        ValueError: there is no such seat.
    """
    out = np.empty((1, N_ACTIONS), np.bool_)
    _mask(position.state, _seat_of(position, seat), rows_of(out))
    return out[0]


def _seat_of(position: Position, seat: object) -> int:
    if seat is None:
        return position.player
    if not is_whole(seat, 0, position.players - 1):
        raise ValueError(f"seat must be 0 to {position.players - 1}, not {seat!r}")
    return int(seat)  # type: ignore[call-overload]  # checked just above


def layout_table() -> str:
    """The layout as a Markdown table, for the docs."""
    lines = ["| slice | name | shape | range | meaning |", "|---|---|---|---|---|"]
    for row in LAYOUT:
        place = SLICES[row.name]
        lines.append(
            f"| `[{place.start}:{place.stop}]` | `{row.name}` | {' x '.join(map(str, row.shape))} "
            f"| {row.low:g} .. {row.high:g} | {row.meaning} |"
        )
    return "\n".join(lines)


# Writing ------------------------------------------------------------------------------------
# A whole number times the float64 inverse of a scale comes to the same float32 as their quotient,
# for all numbers that occur: other languages that divide get the same bits. Tiles are written
# without branches, which the processor would guess wrong at every other one.

_PER_VALUE = 1 / VALUE_SCALE
_PER_POINT = 1 / POINTS_SCALE
_PER_LUCKY = 1 / LUCKY_SCALE
_PER_STAY = 1 / STAY_SCALE
_PER_CHANGE = 1 / CHANGE_SCALE
_PER_SLOT = 1 / LAST_SLOT
_PER_TILE = 1 / MAX_TILES
_PER_PAWN = 1 / MAX_PAWNS
_PER_GUARD = 1 / MAX_GUARDS
_PER_OPPONENT = 1 / (MAX_PLAYERS - 1)

_DIE = SLICES["die"].start
_PHASE = SLICES["phase"].start
_TO_ACT = SLICES["to_act"].start
_PLAYERS = SLICES["players"].start
_PAWNS_EACH = SLICES["pawns_each"].start
_WITH_GUARDS = SLICES["with_guards"].start
_EXPERT = SLICES["expert"].start
_FINISH = SLICES["finish"].start
_TILE_VALUE = SLICES["tile_value"].start
_TILE_LUCKY = SLICES["tile_lucky"].start
_TILE_ACTION = SLICES["tile_action"].start
_GUARDS = SLICES["guards"].start
_GUARDS_OFF = SLICES["guards_off"].start
_PAWNS = SLICES["pawns"].start
_POINTS = SLICES["points"].start
_LUCKY = SLICES["lucky"].start
_HEIGHT = SLICES["height"].start
_TOP_VALUE = SLICES["top_value"].start
_TOP_LUCKY = SLICES["top_lucky"].start
_LARGEST_MINUS = SLICES["largest_minus"].start
_AT_START = SLICES["at_start"].start
_HOME = SLICES["home"].start
_LEGAL = SLICES["legal"].start
_FROM_SLOT = SLICES["from_slot"].start
_TO_SLOT = SLICES["to_slot"].start
_STAY = SLICES["stay"].start
_TURNS = SLICES["turns"].start
_TAKES = SLICES["takes"].start
_TAKEN_VALUE = SLICES["taken_value"].start
_TAKEN_LUCKY = SLICES["taken_lucky"].start
_LAND_VALUE = SLICES["land_value"].start
_LAND_LUCKY = SLICES["land_lucky"].start
_LAND_ACTION = SLICES["land_action"].start
_LAND_OWN = SLICES["land_own"].start
_LAND_OPPONENTS = SLICES["land_opponents"].start
_LAND_GUARDS = SLICES["land_guards"].start
_OWN_CHANGE = SLICES["own_change"].start
_LEAD_CHANGE = SLICES["lead_change"].start

Floats = npt.NDArray[np.float32]


def rows_of(batch: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of a batch as records with one field, `all`: what compiled code writes rows through.

    A row of a plain array is a new reference to it each time, whose counting took a quarter of the
    writing.

    Args:
        batch: observations, float32[M, OBS_SIZE], or masks, bool or int8[M, 16]; rows contiguous.

    Returns:
        Records[M], the same memory; masks as int8, 1 = legal.
    """
    numbers = batch.view(np.int8) if batch.dtype == np.bool_ else batch
    return numbers.view(row_of(numbers.dtype, numbers.shape[1]))[:, 0]


@cache
def row_of(dtype: npt.DTypeLike, size: int) -> np.dtype[Any]:
    """The dtype of such a record: `size` numbers."""
    return np.dtype([("all", dtype, (size,))])


@njit
def write_observation(state: State, seat: int, out: Floats) -> None:
    """Write what `seat` sees of `state` into `out`, float32[OBS_SIZE]."""
    out[:] = 0.0
    _write_moment(state, seat, out)
    _write_track(state, seat, out)
    own_points = rules.points(state, seat)
    _write_tower(state, seat, own_points, 0, out)
    for steps in range(1, np.int64(state["players"])):
        other = rules.seat_after(state, seat, steps)
        _write_tower(state, other, rules.points(state, other), steps, out)
    if seat == state["player"]:
        _write_actions(state, own_points, out)


@njit
def write_mask(state: State, seat: int, out: npt.NDArray[Any]) -> None:
    """Write the legal actions of `seat` into `out`, bool or int8[16]; all 0 if not to decide."""
    bits = rules.legal_bits(state) if seat == state["player"] else 0
    for action in range(N_ACTIONS):
        out[action] = (bits >> action) & 1


@njit(inline=True)
def _write_moment(state: State, seat: int, out: Floats) -> None:
    players = np.int64(state["players"])
    if state["die"] > 0:
        out[_DIE + state["die"] - 1] = 1.0
    out[_PHASE + state["phase"]] = 1.0
    out[_TO_ACT + (state["player"] - seat + players) % players] = 1.0
    out[_PLAYERS + players - MIN_PLAYERS] = 1.0
    out[_PAWNS_EACH + state["pawns_each"] - 1] = 1.0
    out[_WITH_GUARDS] = state["with_guards"]
    out[_EXPERT] = state["scoring"]
    out[_FINISH] = state["finish"] * _PER_SLOT


@njit(inline=True)
def _write_track(state: State, seat: int, out: Floats) -> None:
    finish = np.int64(state["finish"])
    track = state["track"]
    for place in range(MAX_LAYOUT):  # beyond the finish it writes zeros
        _write_tile(track[place + 1], _TILE_VALUE, _TILE_LUCKY, _TILE_ACTION, place, out)
    slot: Int
    for guard in range(np.int64(state["n_guards"])):
        slot = np.int64(state["guards"][guard])
        if slot == 0 or slot == finish:
            place = _GUARDS_OFF + (slot == finish)
        else:
            place = _GUARDS + slot - 1
        out[place] += _PER_GUARD  # an eighth: the sum is exact
    for steps in range(np.int64(state["players"])):
        slots = state["pawns"][rules.seat_after(state, seat, steps)]
        here = 0  # pawns met so far on this slot; they are listed in track order
        for pawn in range(np.int64(state["pawns_each"])):
            slot = np.int64(slots[pawn])
            here = here + 1 if pawn > 0 and slot == slots[pawn - 1] else 1
            if slot == 0:
                place = _AT_START + steps
            elif slot == finish:
                place = _HOME + steps
            else:
                place = _PAWNS + steps * MAX_LAYOUT + slot - 1
            out[place] = here * _PER_PAWN


@njit(inline=True)
def _write_tile(tile: int, value: int, lucky: int, action: int, place: int, out: Floats) -> None:
    """Write what lies on a slot into three rows that begin at `value`, `lucky` and `action`."""
    out[value + place] = np.float32(tile if tile < GIFT else 0) / np.float32(VALUE_SCALE)
    out[lucky + place] = np.float32(tile == LUCKY)
    out[action + place] = np.float32(tile == GIFT) - np.float32(tile == STEAL)


@njit
def _write_tower(state: State, seat: int, points: int, steps: int, out: Floats) -> None:
    height: Int = np.int64(state["heights"][seat])
    out[_POINTS + steps] = points * _PER_POINT
    out[_LUCKY + steps] = rules.lucky_tiles(state, seat) * _PER_LUCKY
    out[_HEIGHT + steps] = height * _PER_TILE
    for k in range(min(height, N_TOP)):
        tile = np.int64(state["towers"][seat, height - 1 - k])
        out[_TOP_VALUE + k * MAX_PLAYERS + steps] = tile * _PER_VALUE  # 0 for a lucky tile
        out[_TOP_LUCKY + k * MAX_PLAYERS + steps] = tile == LUCKY
    for k in range(N_MINUS):
        # the k-th largest minus tile: one step up for each value that has not yet brought it
        value: Int = MIN_VALUE
        tiles: Int = 0
        for passed in range(-MIN_VALUE):
            tiles += np.int64(state["counts"][seat, passed])
            value += tiles <= k
        out[_LARGEST_MINUS + k * MAX_PLAYERS + steps] = value * _PER_VALUE


@njit(inline=True)
def _write_actions(state: State, points: int, out: Floats) -> None:
    """What each legal action of the player, who has `points`, would do."""
    bits = rules.legal_bits(state)
    seat = np.int64(state["player"])
    for action in range(N_ACTIONS):
        if not (bits >> action) & 1:
            continue
        out[_LEGAL + action] = 1.0
        if action >= FIRST_OPPONENT:
            other = rules.opponent_of(state, action)
            _write_transfer(state, np.int64(state["phase"]), other, action, out)
            continue
        is_pawn = action < FIRST_GUARD
        piece = state["pawns"][seat, action] if is_pawn else state["guards"][action - FIRST_GUARD]
        slot = np.int64(piece)
        target = rules.landing(state, slot)
        stay = rules.pawns_on(state, slot) + rules.guards_on(state, slot) - 1
        out[_FROM_SLOT + action] = slot * _PER_SLOT
        out[_TO_SLOT + action] = target * _PER_SLOT
        out[_STAY + action] = stay * _PER_STAY
        _write_tile(state["track"][target], _LAND_VALUE, _LAND_LUCKY, _LAND_ACTION, action, out)
        own = 0
        for pawn in range(np.int64(state["pawns_each"])):
            own += state["pawns"][seat, pawn] == target
        others = rules.pawns_on(state, target) - own
        out[_LAND_OWN + action] = own * _PER_PAWN
        out[_LAND_OPPONENTS + action] = others * _PER_OPPONENT
        out[_LAND_GUARDS + action] = rules.guards_on(state, target) * _PER_GUARD
        if is_pawn and stay == 0 and slot > 0:
            _write_leaving(state, slot, points, action, out)


@njit
def _write_leaving(state: State, slot: int, points: int, action: int, out: Floats) -> None:
    """What happens because the last piece leaves `slot`."""
    tile = np.int64(state["track"][slot])
    if tile in (GIFT, STEAL):
        phase = GIVE if tile == GIFT else STEALING
        out[_TURNS + action] = 1.0 if tile == GIFT else -1.0
        choices = rules.partners(state, phase)
        if rules.count_bits(choices) == 1:
            other = rules.opponent_of(state, rules.nth_action(choices, 0))
            _write_transfer(state, phase, other, action, out)
        return
    seat = np.int64(state["player"])
    gain = rules.points_if(state, seat, NO_TILE, tile) - points
    _write_change(state, tile, 1.0, gain, 0, action, out)


@njit
def _write_transfer(state: State, phase: int, other: int, action: int, out: Floats) -> None:
    """What giving the top tile to `other`, or stealing theirs, does."""
    seat = np.int64(state["player"])
    giver = seat if phase == GIVE else other
    taker = other if phase == GIVE else seat
    tile = np.int64(state["towers"][giver, state["heights"][giver] - 1])
    loss = rules.points_if(state, giver, tile, NO_TILE) - rules.points(state, giver)
    gain = rules.points_if(state, taker, NO_TILE, tile) - rules.points(state, taker)
    if phase == GIVE:
        _write_change(state, tile, -1.0, loss, gain, action, out)
    else:
        _write_change(state, tile, 1.0, gain, loss, action, out)


@njit(inline=True)
def _write_change(
    state: State, tile: int, takes: float, own: int, others: int, action: int, out: Floats
) -> None:
    """The tile that comes or goes, and by how much the own and the opponents' points change."""
    out[_TAKES + action] = takes
    out[_TAKEN_VALUE + action] = tile * _PER_VALUE  # 0 for a lucky tile
    out[_TAKEN_LUCKY + action] = tile == LUCKY
    n_others = np.int64(state["players"]) - 1
    out[_OWN_CHANGE + action] = own * _PER_CHANGE
    out[_LEAD_CHANGE + action] = (n_others * own - others) / (n_others * 2 * CHANGE_SCALE)


@njit
def _observe(states: npt.NDArray[Any], seat: int, rows: npt.NDArray[Any]) -> None:
    write_observation(states[0], seat, rows[0]["all"])


@njit
def _mask(states: npt.NDArray[Any], seat: int, rows: npt.NDArray[Any]) -> None:
    write_mask(states[0], seat, rows[0]["all"])


# Reading ------------------------------------------------------------------------------------


def decode(observation: npt.NDArray[np.float32], seat: int = 0) -> dict[str, Any]:
    """Rebuild the position that was observed.

    Args:
        observation: float32[OBS_SIZE].
        seat: the seat that observed, so that seats get their own numbers again.

    Returns:
        The JSON object of a position; tiles of a tower below those shown are None. With at most
        `N_TOP` tiles in each tower it is the whole position.
    """
    view = views(observation)

    def whole(number: float, scale: float) -> int:
        return round(float(number) * scale)

    def hot(name: str) -> int:
        return int(view[name].argmax())

    def face(value: float, lucky: float) -> int | str:
        return "lucky" if lucky else whole(value, VALUE_SCALE)

    players = hot("players") + MIN_PLAYERS
    if not is_whole(seat, 0, players - 1):
        raise ValueError(f"seat must be 0 to {players - 1}, not {seat!r}")
    pawns_each = hot("pawns_each") + 1
    finish = whole(view["finish"][0], LAST_SLOT)
    phase = PHASE_NAMES[hot("phase")]

    track: list[int | str] = ["start"]
    for slot in range(finish - 1):
        turned = view["tile_action"][slot]
        if turned:
            track.append(NAME_OF_TILE[GIFT if turned > 0 else STEAL])
        else:
            track.append(face(view["tile_value"][slot], view["tile_lucky"][slot]))
    track.append("finish")

    def pieces(start: float, slots: npt.NDArray[np.float32], home: float, scale: int) -> list[int]:
        placed = [0] * whole(start, scale)
        for slot in range(1, finish):
            placed += [slot] * whole(slots[slot - 1], scale)
        return placed + [finish] * whole(home, scale)

    def tower(steps: int) -> list[int | str | None]:
        height = whole(view["height"][steps], MAX_TILES)
        shown = min(height, N_TOP)
        tops = [
            face(view["top_value"][k, steps], view["top_lucky"][k, steps]) for k in range(shown)
        ]
        return [None] * (height - shown) + tops[::-1]

    left_of = [(steps - seat) % players for steps in range(players)]
    guards_start, guards_home = view["guards_off"]
    return {
        "rules": {
            "players": players,
            "pawns": pawns_each,
            "guards": bool(view["with_guards"][0]),
            "scoring": SCORINGS[int(view["expert"][0])],
        },
        "track": track,
        "pawns": [
            pieces(view["at_start"][s], view["pawns"][s], view["home"][s], MAX_PAWNS)
            for s in left_of
        ],
        "guards": pieces(guards_start, view["guards"], guards_home, MAX_GUARDS),
        "towers": [tower(steps) for steps in left_of],
        "player": (hot("to_act") + seat) % players,
        "phase": phase,
        "die": hot("die") + 1 if view["die"].any() else 0,
    }
