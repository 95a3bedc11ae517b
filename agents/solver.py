"""Games for two, solved exactly: the value of every position that can be reached.

The value is that of best play by both: expected win share, or expected margin of points. Only
positions in which somebody is to roll are kept. First all that can be reached are counted; then
each gets its value from those it leads to. Every move brings a piece nearer to the finish and none
away from it, so in order of the pieces' total distance the positions that follow come first.

Transitions are those of `thatslife_env.rules`. A position is kept as a key: what lies on the track,
where the pieces stand and the towers, packed into a few 64-bit words.

Positions that differ in nothing that can still matter share a key (`_merge`), unless each is asked
for by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import AgentError, States
from thatslife_env import Position, Ruleset, njit, rules
from thatslife_env.board import (
    DIE_FACES,
    EXPERT,
    FINISH,
    FIRST_GUARD,
    GIFT,
    MAX_LAYOUT,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_VALUE,
    MIN_VALUE,
    MOVE,
    N_ACTIONS,
    N_VALUES,
    NO_TILE,
    NOWHERE,
    OVER,
    ROLL,
    START,
    STATE,
    STEAL,
)
from thatslife_env.rules import Int, State

OBJECTIVES: Final = ("win", "margin")
"""What may be played for: win share, 0 to 1; or points minus the opponent's."""

WIN: Final = 0  # index in OBJECTIVES
MARGIN: Final = 1
N_OBJECTIVES: Final = len(OBJECTIVES)

TOLERANCE: Final = 1e-9  # actions whose values differ by no more are as good: values are rounded

DEFAULT_MEMORY: Final = 4 * 10**9  # bytes

MAX_STATES: Final = 2**31 - 2  # what the table can count

Words = npt.NDArray[np.uint64]

CODING: Final = np.dtype(
    [
        ("merges", np.int64),  # whether positions that are as good share a key
        ("words", np.int64),  # of a key
        # bits of a key for one of: a slot, the height of a tower, a tile in a tower
        ("slot_bits", np.int64),
        ("height_bits", np.int64),
        ("tile_bits", np.int64),
        ("n_entries", np.int64),
        ("layout", np.int8, (MAX_LAYOUT,)),  # on the track at first; action tiles as GIFT
        ("n_tiles", np.int64),  # on track and towers together
        ("number_of", np.int8, (N_VALUES,)),  # of each value, NOWHERE if there is no such tile
        ("value_of", np.int8, (N_VALUES,)),  # its inverse
        # the same in all positions
        ("pawns_each", np.int64),
        ("with_guards", np.int64),
        ("scoring", np.int64),
        ("n_guards", np.int64),
    ]
)
"""How the positions that can follow from one are made into keys."""


class SolverError(AgentError):
    """A game that cannot be solved, or a position that is not of it; the message says why."""


class TooLargeError(SolverError):
    """A game with too many positions."""


# Solving ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """A game for two, solved.

    Attributes:
        opening: what it begins with, in phase `roll`.
        coding: CODING[1].
        keys: uint64[N, W], of the positions in phase `roll` that can be reached.
        values: float64[N, 2], what the seat to roll expects, for each of `OBJECTIVES`.
        order: int64[N], the positions such that those that follow come first.
        table: int32[T], from hashes to positions.
    """

    opening: Position
    coding: npt.NDArray[Any] = field(repr=False)
    keys: Words = field(repr=False)
    values: npt.NDArray[np.float64] = field(repr=False)
    order: npt.NDArray[np.int32] = field(repr=False)
    table: npt.NDArray[np.int32] = field(repr=False)

    @property
    def n_states(self) -> int:
        """How many positions have a value."""
        return len(self.keys)

    @property
    def opening_values(self) -> tuple[float, float]:
        """What the seat to roll first expects: win share, margin."""
        win, margin = self.values[0]
        return float(win), float(margin)

    def states(self) -> States:
        """The positions themselves, in phase `roll`: STATE[N]."""
        states = np.empty(self.n_states, STATE)
        _decode_all(self.coding, self.keys, states)
        return states

    def values_of(self, states: States) -> npt.NDArray[np.float64]:
        """What seat 0 expects in M positions of any phase.

        Args:
            states: STATE[M].

        Returns:
            float64[M, 2], for each of `OBJECTIVES`.

        Raises:
            SolverError: a position cannot be reached in this game.
        """
        out = np.empty((len(states), N_OBJECTIVES), np.float64)
        self._check(
            states, _write_values(self.coding, self.keys, self.table, self.values, states, out)
        )
        return out

    def action_values(self, states: States) -> npt.NDArray[np.float64]:
        """What the player expects of each action in M positions of phase `move`.

        Args:
            states: STATE[M].

        Returns:
            float64[M, 16, 2], for each of `OBJECTIVES`; NaN where the action is illegal.

        Raises:
            SolverError: a position cannot be reached in this game.
        """
        out = np.full((len(states), N_ACTIONS, N_OBJECTIVES), np.nan)
        self._check(
            states,
            _write_action_values(self.coding, self.keys, self.table, self.values, states, out),
        )
        return out

    def best_actions(self, states: States, objective: str = "win") -> npt.NDArray[np.bool_]:
        """Which actions are best, within `TOLERANCE`, in M positions of phase `move`: bool[M, 16].

        Raises:
            SolverError: a position cannot be reached in this game.
        """
        worths = self.action_values(states)[:, :, OBJECTIVES.index(objective)]
        worths = np.where(np.isnan(worths), -np.inf, worths)
        return worths >= worths.max(axis=1, keepdims=True) - TOLERANCE

    def _check(self, states: States, unknown: int) -> None:
        """Refuse the position with this index; -1 is none."""
        if unknown >= 0:
            position = Position.from_state(states[unknown])
            raise SolverError(f"the position cannot be reached in the solved game: {position!r}")


def solve(
    start: Position,
    memory: int = DEFAULT_MEMORY,
    *,
    merge: bool = True,
    progress: Callable[[int, int], None] = lambda n_done, total: None,
) -> Solution:
    """Solve what can follow from a position.

    Args:
        start: for two players, in phase `roll` or `move`; of `move` the roll is taken back, so
            that what follows from every roll is solved.
        memory: bytes that may be used.
        merge: whether positions that differ in nothing that can still matter are kept as one.
        progress: called with the number of positions found or valued since the last call, and how
            many of both there are as far as is known.

    Raises:
        SolverError: other than two players, the game is over, or the memory does not suffice
            (TooLargeError).
    """
    if start.players != 2:
        raise SolverError(f"only games of 2 players can be solved, not of {start.players}")
    if start.is_over:
        raise SolverError("there is nothing to solve: the game is over")
    opening = start.state.copy()
    opening["phase"], opening["die"] = ROLL, 0
    coding = _coding(opening, merge)
    keys, distances, table = _explore(opening, coding, memory, progress)
    order = np.empty(len(keys), np.int32)
    _sort(distances, order)
    values = np.empty((len(keys), N_OBJECTIVES), np.float64)
    for begin in range(0, len(order), _AT_A_TIME):
        part = order[begin : begin + _AT_A_TIME]
        _induct(coding, keys, table, part, values)
        progress(len(part), 2 * len(order))
    return Solution(Position.from_state(opening), coding, keys, values, order, table)


def opening_of(ruleset: Ruleset) -> Position:
    """What a ruleset with a fixed layout begins with.

    Raises:
        SolverError: it deals the tiles at random.
    """
    if ruleset.layout == "shuffled":
        raise SolverError("a shuffled layout has no one opening to solve: list the tiles")
    return Position.deal(ruleset, 0)


def _coding(opening: States, merge: bool) -> npt.NDArray[Any]:
    """How the positions that can follow are made into keys: CODING[1]."""
    coding = np.zeros(1, CODING)
    code, state = coding[0], opening[0]
    entries = state["track"][1 : state["finish"]]
    towers = np.concatenate([state["towers"][seat, : state["heights"][seat]] for seat in range(2)])
    tiles = np.concatenate([entries[entries <= MAX_VALUE], towers])
    found = np.unique(tiles).astype(np.int64)
    code["merges"] = merge
    code["n_entries"] = len(entries)
    code["layout"][: len(entries)] = np.where(entries == STEAL, GIFT, entries)
    code["n_tiles"] = len(tiles)
    code["number_of"] = NOWHERE
    code["number_of"][found - MIN_VALUE] = np.arange(len(found))
    code["value_of"][: len(found)] = found
    code["slot_bits"] = int(state["finish"]).bit_length()
    code["height_bits"] = len(tiles).bit_length()
    code["tile_bits"] = max(len(found) - 1, 0).bit_length()
    for name in ("pawns_each", "with_guards", "scoring", "n_guards"):
        code[name] = state[name]
    n_pieces = 2 * code["pawns_each"] + code["n_guards"]
    n_actions = np.count_nonzero(entries > MAX_VALUE)
    bits = 1 + len(entries) + n_actions + n_pieces * code["slot_bits"]
    bits += 2 * code["height_bits"] + len(tiles) * code["tile_bits"]
    code["words"] = -(-bits // 64)
    return coding


def _bytes_for(n_states: int, words: int) -> int:
    """Memory for a solution: keys, distances, values, order, and a table half full."""
    return n_states * (8 * words + 2 + 8 * N_OBJECTIVES + 4 + 2 * 4)


_FEWEST = 1 << 12  # positions that there is room for at first
_MOST_NEW = N_ACTIONS * DIE_FACES  # positions that can follow from one
_AT_A_TIME = 1 << 17  # positions between two reports of progress


def _explore(
    opening: States,
    coding: npt.NDArray[Any],
    memory: int,
    progress: Callable[[int, int], None],
) -> tuple[Words, npt.NDArray[np.int16], npt.NDArray[np.int32]]:
    """All positions that can be reached.

    Returns:
        Their keys, uint64[N, W]; their distances from the end, int16[N]; and the table.

    Raises:
        TooLargeError: there are more than the memory has room for.
    """
    words = int(coding["words"][0])
    most = min(memory // _bytes_for(1, words), MAX_STATES)
    room = min(_FEWEST, most)
    keys = np.empty((room, words), np.uint64)
    distances = np.empty(room, np.int16)
    table = np.full(2 * room, -1, np.int32)
    counts = np.zeros(2, np.int64)  # found, and of these explored
    if room > 0:
        _add_opening(coding, keys, distances, table, opening, counts)
    while counts[1] < counts[0] or room == 0:
        if room - counts[0] < _MOST_NEW:
            if room == most:
                raise TooLargeError(
                    f"more than {counts[0]:,} positions can be reached, which takes more than "
                    f"the memory given, {memory / 1e9:.3g} GB"
                )
            room = min(2 * room, most)
            keys.resize((room, words), refcheck=False)
            distances.resize(room, refcheck=False)
            del table
            table = np.full(2 * room, -1, np.int32)
            _rehash(keys, counts, table)
        before = int(counts[1])
        _explore_on(coding, keys, distances, table, counts, before + _AT_A_TIME)
        progress(int(counts[1]) - before, 2 * int(counts[0]))
    n_states = int(counts[0])
    keys.resize((n_states, words), refcheck=False)
    distances.resize(n_states, refcheck=False)
    return keys, distances, table


# Keys -------------------------------------------------------------------------------------

Code = Any  # one record of dtype CODING

_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U32 = np.uint64(32)


@njit(inline=True)
def _put(key: Words, at: int, value: int, bits: int) -> Int:
    """Write a number from bit `at` on; where the next one begins."""
    word, shift = at >> 6, at & 63
    key[word] |= np.uint64(value) << np.uint64(shift)
    if shift + bits > 64:
        key[word + 1] |= np.uint64(value) >> np.uint64(64 - shift)
    return at + bits


@njit(inline=True)
def _get(key: Words, at: int, bits: int) -> Int:
    """The number of `bits` bits from bit `at` on."""
    word, shift = at >> 6, at & 63
    value = key[word] >> np.uint64(shift)
    if shift + bits > 64:
        value |= key[word + 1] << np.uint64(64 - shift)
    return np.int64(value & ((_U1 << np.uint64(bits)) - _U1))


@njit
def _encode(code: Code, state: State, key: Words) -> bool:
    """Write the key of a state in phase ROLL; False if it can't be one of this game."""
    n_entries = np.int64(code["n_entries"])
    finish = np.int64(state["finish"])
    pawns_each = np.int64(code["pawns_each"])
    n_guards = np.int64(code["n_guards"])
    heights = state["heights"]
    if (
        state["players"] != 2
        or state["pawns_each"] != pawns_each
        or state["with_guards"] != code["with_guards"]
        or state["scoring"] != code["scoring"]
        or state["n_guards"] != n_guards
        or finish > n_entries + 1
        or np.int64(heights[0]) + np.int64(heights[1]) > code["n_tiles"]
    ):
        return False
    key[:] = _U0
    at = _put(key, 0, np.int64(state["player"]), 1)

    # The track is a part of the layout in order; each tile is taken for the first that it can be.
    entry = 0
    sides: Int = 0
    n_actions = 0
    for slot in range(1, finish):
        tile: Int = np.int64(state["track"][slot])
        if tile in (GIFT, STEAL):
            sides |= (tile == STEAL) << n_actions
            n_actions += 1
            tile = GIFT
        while entry < n_entries and code["layout"][entry] != tile:
            entry += 1
        if entry == n_entries:
            return False
        _put(key, at + entry, 1, 1)
        entry += 1
    at = _put(key, at + n_entries, sides, n_actions)

    slot_bits = np.int64(code["slot_bits"])
    for seat in range(2):
        for pawn in range(pawns_each):
            at = _put(key, at, np.int64(state["pawns"][seat, pawn]), slot_bits)
    for guard in range(n_guards):
        at = _put(key, at, np.int64(state["guards"][guard]), slot_bits)

    height_bits = np.int64(code["height_bits"])
    tile_bits = np.int64(code["tile_bits"])
    for seat in range(2):
        at = _put(key, at, np.int64(heights[seat]), height_bits)
        for level in range(np.int64(heights[seat])):
            tile = np.int64(state["towers"][seat, level])
            number = np.int64(code["number_of"][tile - MIN_VALUE])
            if number < 0:
                return False
            at = _put(key, at, number, tile_bits)
    return True


@njit
def decode(code: Code, key: Words, state: State) -> None:
    """Write the state in phase ROLL that has this key."""
    n_entries = np.int64(code["n_entries"])
    pawns_each = np.int64(code["pawns_each"])
    n_guards = np.int64(code["n_guards"])
    state["players"] = 2
    state["pawns_each"] = pawns_each
    state["with_guards"] = code["with_guards"]
    state["scoring"] = code["scoring"]
    state["phase"] = ROLL
    state["die"] = 0
    state["player"] = _get(key, 0, 1)

    track = state["track"]
    track[:] = NO_TILE
    track[0] = START
    finish = 1
    for entry in range(n_entries):
        if _get(key, 1 + entry, 1):
            track[finish] = code["layout"][entry]
            finish += 1
    track[finish] = FINISH
    state["finish"] = finish
    at = 1 + n_entries
    for slot in range(1, finish):
        if track[slot] == GIFT:
            if _get(key, at, 1):
                track[slot] = STEAL
            at += 1

    slot_bits = np.int64(code["slot_bits"])
    pawns = state["pawns"]
    pawns[:] = NOWHERE
    for seat in range(2):
        for pawn in range(pawns_each):
            pawns[seat, pawn] = _get(key, at, slot_bits)
            at += slot_bits
    guards = state["guards"]
    guards[:] = NOWHERE
    state["n_guards"] = n_guards
    for guard in range(n_guards):
        guards[guard] = _get(key, at, slot_bits)
        at += slot_bits

    height_bits = np.int64(code["height_bits"])
    tile_bits = np.int64(code["tile_bits"])
    state["heights"][:] = 0
    state["towers"][:] = NO_TILE
    state["counts"][:] = 0
    for seat in range(2):
        height = _get(key, at, height_bits)
        at += height_bits
        state["heights"][seat] = height
        for level in range(height):
            tile = np.int64(code["value_of"][_get(key, at, tile_bits)])
            at += tile_bits
            state["towers"][seat, level] = tile
            state["counts"][seat, tile - MIN_VALUE] += 1


@njit
def _decode_all(coding: States, keys: Words, out: States) -> None:
    for index in range(len(keys)):
        decode(coding[0], keys[index], out[index])


@njit
def _distance(state: State) -> Int:
    """How far all pieces are from the finish; every move makes it less."""
    finish = np.int64(state["finish"])
    total: Int = 0
    for seat in range(2):
        for pawn in range(np.int64(state["pawns_each"])):
            total += finish - np.int64(state["pawns"][seat, pawn])
    for guard in range(np.int64(state["n_guards"])):
        total += finish - np.int64(state["guards"][guard])
    return total


# Positions that are as good ------------------------------------------------------------------


@njit
def _merge(state: State) -> None:
    """Make a state in phase ROLL the one that stands for all that are as good.

    - Seats are alike: it is seat 0 that rolls.
    - What lies behind all pawns on the way is out of play: tiles go, guards are put on the finish.
    - In standard scoring the order of a tower matters only as far as tiles may be taken from it,
      which is at most once for each action tile and pawn that may still leave it.
    """
    if state["player"] == 1:
        _swap_seats(state)
    _drop_passed(state)
    if state["scoring"] != EXPERT:
        n_removals = _most_removals(state)
        for seat in range(2):
            height = np.int64(state["heights"][seat])
            _sort_tiles(state["towers"][seat], height - n_removals)


@njit
def _swap_seats(state: State) -> None:
    for pawn in range(MAX_PAWNS):
        held = state["pawns"][0, pawn]
        state["pawns"][0, pawn] = state["pawns"][1, pawn]
        state["pawns"][1, pawn] = held
    for level in range(max(state["heights"][0], state["heights"][1])):
        held = state["towers"][0, level]
        state["towers"][0, level] = state["towers"][1, level]
        state["towers"][1, level] = held
    for number in range(N_VALUES):
        held = state["counts"][0, number]
        state["counts"][0, number] = state["counts"][1, number]
        state["counts"][1, number] = held
    held = state["heights"][0]
    state["heights"][0] = state["heights"][1]
    state["heights"][1] = held
    state["player"] = 1 - np.int64(state["player"])


@njit
def _drop_passed(state: State) -> None:
    """Take out the tiles behind the last pawn; guards there can never move again."""
    finish = np.int64(state["finish"])
    rear = finish
    for seat in range(2):
        rear = min(rear, np.int64(state["pawns"][seat, 0]))
    n_gone = rear - 1
    if n_gone <= 0:
        return
    track = state["track"]
    for slot in range(1, finish + 1):
        track[slot] = track[slot + n_gone] if slot + n_gone <= finish else NO_TILE
    state["finish"] = finish - n_gone
    for seat in range(2):
        for pawn in range(np.int64(state["pawns_each"])):
            state["pawns"][seat, pawn] -= n_gone
    n_guards = np.int64(state["n_guards"])
    guards = state["guards"]
    n_left = 0
    for guard in range(n_guards):
        if guards[guard] >= rear:
            guards[n_left] = guards[guard] - n_gone
            n_left += 1
    for guard in range(n_left, n_guards):
        guards[guard] = finish - n_gone


@njit
def _most_removals(state: State) -> Int:
    """How often at most a tile may still be given or stolen."""
    count = 0
    for slot in range(1, np.int64(state["finish"])):
        if state["track"][slot] in (GIFT, STEAL):
            for seat in range(2):
                for pawn in range(np.int64(state["pawns_each"])):
                    count += state["pawns"][seat, pawn] <= slot
    return count


@njit
def _sort_tiles(tower: npt.NDArray[np.int8], height: int) -> None:
    """Sort the lowest `height` tiles of a tower."""
    for level in range(1, height):
        tile = tower[level]
        below = level - 1
        while below >= 0 and tower[below] > tile:
            tower[below + 1] = tower[below]
            below -= 1
        tower[below + 1] = tile


# The table ------------------------------------------------------------------------------------


@njit
def _place(key: Words, table: npt.NDArray[np.int32]) -> Int:
    """Where to look for a key first."""
    hashed = _U0
    for word in range(len(key)):
        hashed = rules.mix(hashed ^ key[word])
    return np.int64(((hashed >> _U32) * np.uint64(len(table))) >> _U32)


@njit
def _find(keys: Words, table: npt.NDArray[np.int32], key: Words) -> Int:
    """The index of a key; -1 less the free place in the table if it is not there."""
    place = _place(key, table)
    while True:
        index = np.int64(table[place])
        if index < 0:
            return -1 - place
        same = True
        for word in range(len(key)):
            same = same and keys[index, word] == key[word]
        if same:
            return index
        place += 1
        if place == len(table):
            place = 0


@njit
def _rehash(keys: Words, counts: npt.NDArray[np.int64], table: npt.NDArray[np.int32]) -> None:
    """Enter all keys in an empty table."""
    for index in range(counts[0]):
        table[-1 - _find(keys, table, keys[index])] = index


@njit
def index_of(
    code: Code, keys: Words, table: npt.NDArray[np.int32], state: State, key: Words
) -> Int:
    """The index of a state in phase ROLL, which is merged; negative if it is not of this game.

    The key is written too.
    """
    if code["merges"]:
        _merge(state)
    if not _encode(code, state, key):
        return -1 - len(table)
    return _find(keys, table, key)


@njit
def _enter(
    code: Code,
    keys: Words,
    distances: npt.NDArray[np.int16],
    table: npt.NDArray[np.int32],
    state: State,
    key: Words,
    counts: npt.NDArray[np.int64],
) -> None:
    """Add a state in phase ROLL, which is merged, if it is new."""
    index = index_of(code, keys, table, state, key)
    if index < 0:
        new = counts[0]
        table[-1 - index] = new
        keys[new] = key
        distances[new] = _distance(state)
        counts[0] += 1


@njit
def _add_opening(
    coding: States,
    keys: Words,
    distances: npt.NDArray[np.int16],
    table: npt.NDArray[np.int32],
    opening: States,
    counts: npt.NDArray[np.int64],
) -> None:
    state = np.empty(1, STATE)
    state[0] = opening[0]
    key = np.empty(keys.shape[1], np.uint64)
    _enter(coding[0], keys, distances, table, state[0], key, counts)


# What can be reached, and what it is worth -------------------------------------------------------


@njit(inline=True)
def slot_of(state: State, action: int) -> Int:
    """Where the piece stands that an action 0..10 moves."""
    if action < FIRST_GUARD:
        return np.int64(state["pawns"][state["player"], action])
    return np.int64(state["guards"][action - FIRST_GUARD])


@njit
def follow(states: States, action: int, after: States) -> None:
    """Write what an action leads to from `states[0]`, in phase MOVE, into `after[0]`."""
    after[0] = states[0]
    rules.play(after[0], action)


@njit
def _explore_on(
    coding: States,
    keys: Words,
    distances: npt.NDArray[np.int16],
    table: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    until: int,
) -> None:
    """Add what follows from positions not explored, up to `until` of all, while there is room."""
    code = coding[0]
    states = np.empty(1, STATE)
    state = states[0]
    after = np.empty(1, STATE)
    key = np.empty(keys.shape[1], np.uint64)
    while counts[1] < min(counts[0], until) and counts[0] + _MOST_NEW <= len(keys):
        decode(code, keys[counts[1]], state)
        counts[1] += 1
        rules.roll(state, 1)
        bits = rules.legal_bits(state)
        for action in range(N_ACTIONS):
            if not (bits >> action) & 1:
                continue
            slot = slot_of(state, action)
            target: Int = NOWHERE
            for die in range(1, DIE_FACES + 1):
                rules.roll(state, die)
                if rules.landing(state, slot) == target:
                    continue  # as the roll before
                target = rules.landing(state, slot)
                follow(states, action, after)
                if after[0]["phase"] != OVER:
                    _enter(code, keys, distances, table, after[0], key, counts)


@njit
def _sort(distances: npt.NDArray[np.int16], order: npt.NDArray[np.int32]) -> None:
    """Sort by distance."""
    begins = np.zeros(np.int64(distances.max()) + 2, np.int64)
    for index in range(len(distances)):
        begins[distances[index] + 1] += 1
    for distance in range(1, len(begins)):
        begins[distance] += begins[distance - 1]
    for index in range(len(distances)):
        order[begins[distances[index]]] = index
        begins[distances[index]] += 1


@njit
def write_result(state: State, seat: int, out: npt.NDArray[np.float64]) -> None:
    """Write what a seat has, as if the game ended now, into `out`, float64[2]."""
    shares = np.empty(MAX_PLAYERS, np.float64)
    rules.write_win_shares(state, shares)
    out[WIN] = shares[seat]
    out[MARGIN] = rules.points(state, seat) - rules.points(state, 1 - seat)


@njit(inline=True)
def other_seat(value: float, objective: int) -> float:
    """What a value for one seat is for the other."""
    return 1.0 - value if objective == WIN else -value


@njit
def _write_worth(
    code: Code,
    keys: Words,
    table: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    state: State,
    seat: int,
    key: Words,
    out: npt.NDArray[np.float64],
) -> bool:
    """Write what a seat expects in phase ROLL or OVER; the state is merged. False if unknown."""
    if state["phase"] == OVER:
        write_result(state, seat, out)
        return True
    is_own = state["player"] == seat
    index = index_of(code, keys, table, state, key)
    if index < 0:
        return False
    for objective in range(N_OBJECTIVES):
        value = values[index, objective]
        out[objective] = value if is_own else other_seat(value, objective)
    return True


@njit
def _induct(
    coding: States,
    keys: Words,
    table: npt.NDArray[np.int32],
    order: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
) -> None:
    """Write the value of each position for the seat to roll, those that follow first."""
    code = coding[0]
    states = np.empty(1, STATE)
    state = states[0]
    after = np.empty(1, STATE)
    key = np.empty(keys.shape[1], np.uint64)
    worth = np.empty(N_OBJECTIVES, np.float64)
    best = np.empty((DIE_FACES, N_OBJECTIVES), np.float64)
    for index in order:
        decode(code, keys[index], state)
        seat = np.int64(state["player"])
        rules.roll(state, 1)
        bits = rules.legal_bits(state)
        best[:] = -np.inf
        for action in range(N_ACTIONS):
            if not (bits >> action) & 1:
                continue
            slot = slot_of(state, action)
            target: Int = NOWHERE
            for face in range(DIE_FACES):
                rules.roll(state, face + 1)
                if rules.landing(state, slot) != target:  # else as the roll before
                    target = rules.landing(state, slot)
                    follow(states, action, after)
                    _write_worth(code, keys, table, values, after[0], seat, key, worth)
                for objective in range(N_OBJECTIVES):
                    best[face, objective] = max(best[face, objective], worth[objective])
        for objective in range(N_OBJECTIVES):
            total = 0.0
            for face in range(DIE_FACES):
                total += best[face, objective]
            values[index, objective] = total / DIE_FACES


@njit
def _write_action_values(
    coding: States,
    keys: Words,
    table: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    states: States,
    out: npt.NDArray[np.float64],
) -> Int:
    """Write what legal actions are worth; the index of the first position not of this game, -1."""
    code = coding[0]
    after = np.empty(1, STATE)
    key = np.empty(keys.shape[1], np.uint64)
    for i in range(len(states)):
        after[0] = states[i]
        after[0]["phase"] = ROLL
        after[0]["die"] = 0
        if states[i]["phase"] != MOVE or index_of(code, keys, table, after[0], key) < 0:
            return i
        seat = np.int64(states[i]["player"])
        bits = rules.legal_bits(states[i])
        for action in range(N_ACTIONS):
            if (bits >> action) & 1:
                follow(states[i : i + 1], action, after)
                _write_worth(code, keys, table, values, after[0], seat, key, out[i, action])
    return -1


@njit
def _write_values(
    coding: States,
    keys: Words,
    table: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    states: States,
    out: npt.NDArray[np.float64],
) -> Int:
    """Write what seat 0 expects; the index of the first position not of this game, -1 if none."""
    code = coding[0]
    state = np.empty(1, STATE)
    key = np.empty(keys.shape[1], np.uint64)
    worths = np.empty((1, N_ACTIONS, N_OBJECTIVES), np.float64)
    for i in range(len(states)):
        if states[i]["phase"] == MOVE:
            worths[:] = -np.inf
            if _write_action_values(coding, keys, table, values, states[i : i + 1], worths) >= 0:
                return i
            for objective in range(N_OBJECTIVES):
                out[i, objective] = worths[0, :, objective].max()
                if states[i]["player"] == 1:
                    out[i, objective] = other_seat(out[i, objective], objective)
        else:
            state[0] = states[i]
            if state[0]["players"] != 2:
                return i
            if not _write_worth(code, keys, table, values, state[0], 0, key, out[i]):
                return i
    return -1
