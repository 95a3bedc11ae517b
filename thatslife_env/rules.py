"""The rules, stated once.

Plain functions over one record of dtype `board.STATE`. Numba compiles them; under
`NUMBA_DISABLE_JIT=1` the same lines run as Python. They trust their caller: a die is 1..6, an
action is legal, the phase fits. `Position` and the environments check.

A turn is `roll(state, die)`, then `play(state, action)`, then, where the choice of an opponent is
left open, one more `play`. Chance is an argument: deals and dice come from seeds by `deal` and
`die_of`, never from the state.

Fields of the record are bytes. `np.int64` widens them where they are passed on, so that each
function is compiled for one type of number.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thatslife_env._jit import count_bits as count_bits
from thatslife_env._jit import njit
from thatslife_env.board import (
    DIE_FACES,
    EXPERT,
    FINISH,
    FIRST_GUARD,
    FIRST_OPPONENT,
    GIFT,
    GIFT_INTERVAL,
    GIVE,
    GUARDED,
    LUCKY,
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_TRACK,
    MAX_VALUE,
    MIN_VALUE,
    MOVE,
    NO_TILE,
    NOWHERE,
    OVER,
    ROLL,
    START,
    STEAL,
    STEALING,
)

State = (
    Any  # one record of dtype board.STATE, as `states[i]` gives it; functions change it in place
)
Rules = Any  # one record of dtype board.RULES
Int = Any  # a whole number; int64 when compiled
Int8s = npt.NDArray[np.int8]
Out = npt.NDArray[Any]

# Deals and dice: splitmix64 ------------------------------------------------------------
# Every constant is uint64: compiled code may otherwise turn `uint64 op int` into a float.

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_DICE = np.uint64(0xD1CED1CED1CED1CE)
_U1 = np.uint64(1)
_U27 = np.uint64(27)
_U30 = np.uint64(30)
_U31 = np.uint64(31)
_U32 = np.uint64(32)
_FACES = np.uint64(DIE_FACES)


@njit(wraps=True)
def mix(z: np.uint64) -> np.uint64:
    """The output function of splitmix64 (Steele, Lea, Flood 2014): uint64 to uint64, one to one."""
    z = (z ^ (z >> _U30)) * _MIX_1
    z = (z ^ (z >> _U27)) * _MIX_2
    return z ^ (z >> _U31)


@njit(wraps=True)
def draw64(seed: np.uint64, k: np.uint64) -> np.uint64:
    """The k-th number of the stream of `seed`: uint64, uint64 -> uint64."""
    return mix(seed + (k + _U1) * _GAMMA)


@njit(wraps=True)
def draw(seed: np.uint64, k: np.uint64, n: np.uint64) -> np.uint64:
    """The k-th number of `seed` in 0..n-1: uint64, uint64, uint64 -> uint64; n < 2^32."""
    return ((draw64(seed, k) >> _U32) * n) >> _U32


@njit
def die_of(seed: np.uint64, k: np.uint64) -> Int:
    """The k-th roll, 1..6, of the game dealt from `seed`: uint64, uint64 -> int64."""
    return np.int64(draw(seed ^ _DICE, k, _FACES)) + 1


# Sets of actions: bit a of a whole number is action a ----------------------------------


@njit(inline=True)
def nth_action(bits: int, n: int) -> Int:
    """The n-th lowest action, from 0, in a set that has more than n: int64, int64 -> int64."""
    for _ in range(n):
        bits &= bits - 1
    return count_bits((bits & -bits) - 1)


# The deal ------------------------------------------------------------------------------


@njit
def deal(state: State, rules: Rules, seed: np.uint64) -> None:
    """Lay out a new game of `rules` (a `board.RULES` record), dealt from `seed` (uint64)."""
    length = np.int64(rules["length"])
    players = np.int64(rules["players"])
    state["players"] = players
    state["pawns_each"] = rules["pawns_each"]
    state["with_guards"] = rules["with_guards"]
    state["scoring"] = rules["scoring"]
    state["phase"] = ROLL
    state["player"] = 0
    state["die"] = 0

    track = state["track"]
    track[:] = NO_TILE
    track[0] = START
    for entry in range(length):
        track[entry + 1] = rules["layout"][entry]
    track[length + 1] = FINISH
    state["finish"] = length + 1
    if rules["shuffled"]:
        _shuffle(track, length > MAX_TILES, seed)

    pawns = state["pawns"]
    pawns[:] = NOWHERE
    for seat in range(players):
        for pawn in range(rules["pawns_each"]):
            pawns[seat, pawn] = 0

    guards = state["guards"]
    guards[:] = NOWHERE
    n_guards = 0
    if rules["with_guards"]:
        for slot in range(1, length + 1):
            if n_guards < MAX_GUARDS and track[slot] in GUARDED:
                guards[n_guards] = slot
                n_guards += 1
    state["n_guards"] = n_guards

    state["heights"][:] = 0
    state["towers"][:] = NO_TILE
    state["counts"][:] = 0


@njit
def _shuffle(track: Int8s, with_gifts: bool, seed: np.uint64) -> None:
    """Shuffle the 32 tiles; gifts, one after every 8 tiles, stay where they lie."""
    for k in range(MAX_TILES - 1):
        i = MAX_TILES - 1 - k
        j = np.int64(draw(seed, np.uint64(k), np.uint64(i + 1)))
        if with_gifts:
            i += i // GIFT_INTERVAL
            j += j // GIFT_INTERVAL
        held = track[i + 1]
        track[i + 1] = track[j + 1]
        track[j + 1] = held


# A turn --------------------------------------------------------------------------------


@njit(inline=True)
def roll(state: State, die: int) -> None:
    """The die shows `die`; from here on the player moves."""
    state["die"] = die
    state["phase"] = MOVE


@njit(inline=True)
def legal_bits(state: State) -> Int:
    """The legal actions as a set, int64: bit a is action a. Empty in phases ROLL and OVER."""
    phase = np.int64(state["phase"])
    return _moves(state) if phase == MOVE else partners(state, phase)


@njit(inline=True)
def play(state: State, action: int) -> None:
    """Carry out a legal action in phase MOVE, GIVE or STEALING."""
    if state["phase"] != MOVE:
        _hand_over(state, action)
    elif action < FIRST_GUARD:
        seat = np.int64(state["player"])
        slot = np.int64(state["pawns"][seat, action])
        _advance(state["pawns"][seat], action, np.int64(state["pawns_each"]), landing(state, slot))
        if slot > 0 and not ((pawn_slots(state) | guard_slots(state)) >> slot) & 1:
            _leave(state, slot)
            if state["phase"] != MOVE:  # a choice is left open
                return
    else:
        guard = action - FIRST_GUARD
        slot = np.int64(state["guards"][guard])
        _advance(state["guards"], guard, np.int64(state["n_guards"]), landing(state, slot))
    _end_turn(state)


@njit(inline=True)
def landing(state: State, slot: int) -> Int:
    """Where a piece on `slot` would come to stand with this roll."""
    return min(slot + np.int64(state["die"]), np.int64(state["finish"]))


@njit(inline=True)
def pawn_slots(state: State) -> Int:
    """The slots on which pawns stand, as a set, int64: bit s is slot s."""
    bits: Int = 0
    for seat in range(np.int64(state["players"])):
        for pawn in range(np.int64(state["pawns_each"])):
            bits |= 1 << np.int64(state["pawns"][seat, pawn])
    return bits


@njit(inline=True)
def guard_slots(state: State) -> Int:
    """The slots on which guards stand, as a set, int64: bit s is slot s."""
    bits: Int = 0
    for guard in range(np.int64(state["n_guards"])):
        bits |= 1 << np.int64(state["guards"][guard])
    return bits


@njit(inline=True)
def pawns_on(state: State, slot: int) -> Int:
    """How many pawns, anyone's, stand on `slot`."""
    pawns = state["pawns"]
    count = 0
    for seat in range(np.int64(state["players"])):
        for pawn in range(MAX_PAWNS):
            count += pawns[seat, pawn] == slot
    return count


@njit(inline=True)
def guards_on(state: State, slot: int) -> Int:
    """How many guards stand on `slot`."""
    count = 0
    for guard in range(np.int64(state["n_guards"])):
        count += state["guards"][guard] == slot
    return count


@njit(inline=True)
def is_home(state: State, seat: int) -> bool:
    """Whether all pawns of `seat` are on the finish."""
    return state["pawns"][seat, 0] == state["finish"]


@njit(inline=True)
def _moves(state: State) -> Int:
    """Pawns and guards that may move; of equal ones on a tile only the lowest-numbered."""
    finish = np.int64(state["finish"])
    pawns = state["pawns"][state["player"]]
    bits = 0
    before: Int = NOWHERE
    for pawn in range(np.int64(state["pawns_each"])):
        slot = np.int64(pawns[pawn])
        if slot != before and slot != finish:
            bits |= 1 << pawn
        before = slot
    n_guards = np.int64(state["n_guards"])
    if n_guards == 0:
        return bits
    guards = state["guards"]
    movable = pawn_slots(state) & ~(1 << finish)
    before = NOWHERE
    for guard in range(n_guards):  # without a branch, which would be a guess each time
        slot = np.int64(guards[guard])
        bits |= ((movable >> slot) & (slot != before)) << (FIRST_GUARD + guard)
        before = slot
    return bits


@njit(inline=True)
def _advance(pieces: Int8s, piece: int, n_pieces: int, slot: int) -> None:
    """Put one of `pieces` on `slot`, ahead of where it was, and keep the list in track order."""
    while piece + 1 < n_pieces and pieces[piece + 1] < slot:
        pieces[piece] = pieces[piece + 1]
        piece += 1
    pieces[piece] = slot


@njit(inline=True)
def _leave(state: State, slot: int) -> None:
    """The last piece, a pawn, has left `slot`: take its tile, or turn and carry out its action."""
    tile = np.int64(state["track"][slot])
    if tile < GIFT:
        _push(state, np.int64(state["player"]), tile)
        _close_gap(state, slot)
    else:
        state["track"][slot] = STEAL if tile == GIFT else GIFT
        _ask(state, GIVE if tile == GIFT else STEALING)


@njit(inline=True)
def _close_gap(state: State, slot: int) -> None:
    """Take `slot`, on which nothing stands, out of the track."""
    track = state["track"]
    finish = np.int64(state["finish"])
    here = np.int8(slot)
    for k in range(MAX_TRACK - 1):  # all of it, which takes a few vector instructions
        track[k] = track[k + 1] if np.int8(k) >= here else track[k]
    track[MAX_TRACK - 1] = NO_TILE
    state["finish"] = finish - 1
    pawns = state["pawns"]
    for seat in range(np.int64(state["players"])):
        for pawn in range(MAX_PAWNS):
            pawns[seat, pawn] -= pawns[seat, pawn] > slot
    guards = state["guards"]
    for guard in range(np.int64(state["n_guards"])):
        guards[guard] -= guards[guard] > slot


@njit
def _ask(state: State, phase: int) -> None:
    """Begin GIVE or STEALING; without a choice carry it out, or drop it, at once."""
    state["phase"] = phase
    choices = partners(state, phase)
    n_choices = count_bits(choices)
    if n_choices >= 2:
        return
    if n_choices == 1:
        _hand_over(state, nth_action(choices, 0))
    state["phase"] = MOVE


@njit
def partners(state: State, phase: int) -> Int:
    """The choices of an opponent that GIVE or STEALING would leave the player now; else none."""
    if phase == GIVE:
        return _receivers(state)
    if phase == STEALING:
        return _victims(state)
    return 0


@njit
def _receivers(state: State) -> Int:
    """Opponents who may get the top tile: a minus goes to the best tops, another to the worst."""
    seat = np.int64(state["player"])
    if state["heights"][seat] == 0:
        return 0
    worst_first = top_rank(state, seat) >= 0
    bits = 0
    best = 0
    for steps in range(1, np.int64(state["players"])):
        rank = top_rank(state, seat_after(state, seat, steps))
        if worst_first:
            rank = -rank
        if bits == 0 or rank > best:
            bits = 0
            best = rank
        if rank == best:
            bits |= 1 << (FIRST_OPPONENT + steps - 1)
    return bits


@njit
def _victims(state: State) -> Int:
    """Opponents who have a tile to steal."""
    seat = np.int64(state["player"])
    bits = 0
    for steps in range(1, np.int64(state["players"])):
        if state["heights"][seat_after(state, seat, steps)] > 0:
            bits |= 1 << (FIRST_OPPONENT + steps - 1)
    return bits


@njit
def opponent_of(state: State, action: int) -> Int:
    """The seat that an action 11..15 chooses."""
    return seat_after(state, np.int64(state["player"]), action - FIRST_OPPONENT + 1)


@njit(inline=True)
def seat_after(state: State, seat: int, steps: int) -> Int:
    """The seat `steps` to the left, at most once round the table."""
    players = np.int64(state["players"])
    after = seat + steps
    return after - players if after >= players else after


@njit
def _hand_over(state: State, action: int) -> None:
    """Give the player's top tile to the chosen opponent, or steal theirs, as the phase says."""
    seat = np.int64(state["player"])
    other = opponent_of(state, action)
    if state["phase"] == GIVE:
        _push(state, other, _pop(state, seat))
    else:
        _push(state, seat, _pop(state, other))


@njit(inline=True)
def _end_turn(state: State) -> None:
    """The next player to the left with a pawn on the way is to roll; if none, the game is over."""
    seat = np.int64(state["player"])
    state["die"] = 0
    for steps in range(1, np.int64(state["players"]) + 1):
        following = seat_after(state, seat, steps)
        if not is_home(state, following):
            state["player"] = following
            state["phase"] = ROLL
            return
    state["phase"] = OVER


# Towers and points ---------------------------------------------------------------------


@njit
def top_rank(state: State, seat: int) -> Int:
    """Worth of a tower's top tile for a gift: its value; 0 for a lucky tile and for no tile."""
    height = np.int64(state["heights"][seat])
    return np.int64(state["towers"][seat, height - 1]) if height > 0 else 0


@njit(inline=True)
def _push(state: State, seat: int, tile: int) -> None:
    height = np.int64(state["heights"][seat])
    state["towers"][seat, height] = tile
    state["heights"][seat] = height + 1
    state["counts"][seat, tile - MIN_VALUE] += 1


@njit
def _pop(state: State, seat: int) -> Int:
    height = np.int64(state["heights"][seat]) - 1
    tile = np.int64(state["towers"][seat, height])
    state["towers"][seat, height] = NO_TILE
    state["heights"][seat] = height
    state["counts"][seat, tile - MIN_VALUE] -= 1
    return tile


@njit
def lucky_tiles(state: State, seat: int) -> Int:
    """How many lucky tiles lie in a tower."""
    return np.int64(state["counts"][seat, LUCKY - MIN_VALUE])


@njit
def points(state: State, seat: int) -> Int:
    """The score of a seat, as if the game ended now: int64."""
    return points_if(state, seat, NO_TILE, NO_TILE)


@njit
def points_if(state: State, seat: int, removed: int, added: int) -> Int:
    """The score of a seat if its top tile, `removed`, were gone and then `added` lay on top: int64.

    `NO_TILE` for either leaves it out.
    """
    if state["scoring"] == EXPERT:
        return _expert_points(state, seat, removed, added)
    counts = state["counts"][seat]
    total: Int = (added if added != NO_TILE else 0) - (removed if removed != NO_TILE else 0)
    for value in range(MIN_VALUE, MAX_VALUE + 1):
        total += value * np.int64(counts[value - MIN_VALUE])
    unused = np.int64(counts[LUCKY - MIN_VALUE]) - (removed == LUCKY) + (added == LUCKY)
    for value in range(MIN_VALUE, 0):  # the largest minus tiles come first
        if unused == 0:
            break
        tiles = np.int64(counts[value - MIN_VALUE]) - (removed == value) + (added == value)
        turned = min(unused, tiles)
        total -= 2 * value * turned
        unused -= turned
    return total


@njit
def _expert_points(state: State, seat: int, removed: int, added: int) -> Int:
    tower = state["towers"][seat]
    height = np.int64(state["heights"][seat]) - (removed != NO_TILE)
    total: Int = added if added != NO_TILE else 0
    for level in range(height):
        tile = np.int64(tower[level])
        above = np.int64(tower[level + 1]) if level + 1 < height else added
        total += -tile if above == LUCKY else tile
    return total


@njit
def standing(state: State, seat: int) -> Int:
    """A number, int64, that orders seats: more points first, then fewer lucky tiles."""
    return points(state, seat) * (MAX_TILES + 1) - lucky_tiles(state, seat)


@njit
def write_win_shares(state: State, out: Out) -> None:
    """Write each seat's win share as if the game ended now into `out`, float64[6].

    1 for a sole winner, 1/k for each of k winners, else 0; absent seats get 0.
    """
    players = np.int64(state["players"])
    best = standing(state, np.int64(state["player"]))
    for seat in range(players):
        best = max(best, standing(state, seat))
    winners = 0
    for seat in range(players):
        winners += standing(state, seat) == best
    for seat in range(MAX_PLAYERS):
        out[seat] = 1.0 / winners if seat < players and standing(state, seat) == best else 0.0
