"""What happened in games, counted by a kernel from their deal seeds and actions alone."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from thatslife_env import Ruleset, njit, rules
from thatslife_env.board import (
    FIRST_GUARD,
    FIRST_OPPONENT,
    GIFT,
    GIVE,
    LUCKY,
    MAX_PLAYERS,
    MIN_VALUE,
    MOVE,
    N_ACTIONS,
    N_VALUES,
    NO_TILE,
    NOWHERE,
    RULES,
    STATE,
    STEAL,
    STEALING,
)
from thatslife_env.games import GAME, Record, begin_deal, proceed
from thatslife_env.rules import Int, State

STAGES: Final = 10
"""Parts of a game with equally many decisions."""

STANDINGS: Final = ("ahead", "level", "behind")
"""How a seat stands, by points: ahead of all others, level with the best of them, or behind it."""

WAYS: Final = ("forced", "among tiles", "chosen")
"""How a tile was taken: there was one legal action; there were several, and each would have taken a
tile; or there was one that took none."""

TALLY: Final = np.dtype(
    [
        ("turns", np.int32),
        ("decisions", np.int32),
        ("options", np.int32, (N_ACTIONS + 1,)),  # decisions with so many legal actions
        ("stage_decisions", np.int32, (STAGES,)),
        ("stage_options", np.int32, (STAGES,)),  # legal actions in all of them
        # who leads by points
        ("leader", np.int32, (STAGES,)),  # the seat ahead when a stage begins; -1 if none is
        ("lead_changes", np.int32),  # how often another seat than the one before went ahead
        # tiles that pawns took, of value MIN_VALUE + j
        ("taken", np.int32, (N_VALUES, MAX_PLAYERS)),  # by which seat
        ("standing", np.int32, (N_VALUES, len(STANDINGS))),  # of the taker, just before
        ("way", np.int32, (N_VALUES, len(WAYS))),
        ("time", np.float64, (N_VALUES,)),  # share of the game's decisions before; summed
        ("held", np.int32, (N_VALUES,)),  # the last pawn left, but a guard stayed
        ("left", np.int32, (N_VALUES,)),  # on the track at the end
        # tiles in towers at the end
        ("kept", np.int32, (N_VALUES,)),
        ("points_with", np.int32, (N_VALUES,)),  # how many points more than without it; summed
        ("wins_with", np.float64, (N_VALUES,)),  # likewise of the win share
        # action tiles
        ("gifts", np.int32),
        ("gift_values", np.int32),  # sum of what was given
        ("steals", np.int32),
        ("steal_values", np.int32),
        ("idle", np.int32),  # turned, but nothing more happened
        # guards
        ("guard_open", np.int32),  # decisions in which one could move
        ("guard_moves", np.int32),
        ("guards_home", np.int32),
        # the seats at the end; absent ones 0
        ("points", np.int32, (MAX_PLAYERS,)),
        ("win_share", np.float64, (MAX_PLAYERS,)),
        ("home", np.int32, (MAX_PLAYERS,)),  # how many were home before it
        ("lucky", np.int32, (MAX_PLAYERS,)),  # lucky tiles
        ("turning", np.int32, (MAX_PLAYERS,)),  # those that turn a tile
        ("turned", np.int32, (MAX_PLAYERS,)),  # points that they add
    ]
)
"""What happened in one game."""

Tallies = npt.NDArray[Any]


def tally(
    ruleset: Ruleset, seeds: npt.NDArray[np.uint64], actions: Sequence[Sequence[int]]
) -> Tallies:
    """Count what happened in G games.

    Args:
        ruleset: what was played.
        seeds: uint64[G], the deal seed of each game.
        actions: of each game, in order, to its end; as `play_games` records them.

    Returns:
        TALLY[G].
    """
    counts = [len(game) for game in actions]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    played = np.fromiter(chain.from_iterable(actions), np.int64, offsets[-1])
    out = np.zeros(len(seeds), TALLY)
    _tally_all(np.array([ruleset.record], RULES), seeds, played, offsets, out)
    return out


@njit
def _tally_all(
    rulesets: npt.NDArray[Any],
    seeds: npt.NDArray[np.uint64],
    actions: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    out: Tallies,
) -> None:
    states = np.zeros(2, STATE)
    games = np.zeros(1, GAME)
    shares = np.zeros(MAX_PLAYERS, np.float64)
    for i in range(len(seeds)):
        begin_deal(states[0], games[0], rulesets[0], seeds[i])
        n_decisions = offsets[i + 1] - offsets[i]
        out[i]["leader"][:] = NOWHERE
        n_home = 0
        last_leader: Int = NOWHERE
        for number in range(n_decisions):
            stage = number * STAGES // n_decisions
            leader = leader_of(states[0])
            if number == 0 or stage > (number - 1) * STAGES // n_decisions:
                out[i]["leader"][stage] = leader
            if leader != NOWHERE:
                out[i]["lead_changes"] += last_leader not in (NOWHERE, leader)
                last_leader = leader
            _count_options(states[0], stage, out[i])
            action = actions[offsets[i] + number]
            _count_tile(states[0], action, number / n_decisions, out[i])
            n_home += _count_play(states[0], games[0], action, n_home, out[i])
        out[i]["turns"] = games[0]["rolls"]
        out[i]["decisions"] = n_decisions
        _count_end(states, shares, out[i])


@njit
def leader_of(state: State) -> Int:
    """The seat that is ahead of all others by points; -1 if none is."""
    leader: Int = NOWHERE
    best: Int = 0
    for seat in range(np.int64(state["players"])):
        points = rules.points(state, seat)
        if seat == 0 or points > best:
            leader = seat
            best = points
        elif points == best:
            leader = NOWHERE
    return leader


@njit
def standing_of(state: State, seat: int) -> Int:
    """How a seat stands: index in `STANDINGS`."""
    own = rules.points(state, seat)
    standing = 0
    for other in range(np.int64(state["players"])):
        if other != seat:
            points = rules.points(state, other)
            if points > own:
                return 2
            if points == own:
                standing = 1
    return standing


@njit
def takes_tile(state: State, action: int) -> bool:
    """Whether a legal action takes a number or lucky tile from the track."""
    if state["phase"] != MOVE or action >= FIRST_GUARD:
        return False
    slot = np.int64(state["pawns"][state["player"], action])
    if slot == 0 or state["track"][slot] >= GIFT:
        return False
    return rules.pawns_on(state, slot) == 1 and rules.guards_on(state, slot) == 0


@njit
def _count_options(state: State, stage: int, out: Record) -> None:
    bits = rules.legal_bits(state)
    n_legal = rules.count_bits(bits)
    out["options"][n_legal] += 1
    out["stage_decisions"][stage] += 1
    out["stage_options"][stage] += n_legal
    if state["phase"] == MOVE and bits >> FIRST_GUARD != 0:
        out["guard_open"] += 1


@njit
def _count_tile(state: State, action: int, time: float, out: Record) -> None:
    """Count the tile that a legal action takes, or that a guard holds."""
    if state["phase"] != MOVE or action >= FIRST_GUARD:
        return
    seat = np.int64(state["player"])
    slot = np.int64(state["pawns"][seat, action])
    tile = np.int64(state["track"][slot])
    if slot == 0 or tile >= GIFT or rules.pawns_on(state, slot) > 1:
        return
    kind = tile - MIN_VALUE
    if not takes_tile(state, action):
        out["held"][kind] += 1
        return
    bits = rules.legal_bits(state)
    way = 0 if rules.count_bits(bits) == 1 else 1
    for other in range(N_ACTIONS):
        if (bits >> other) & 1 and not takes_tile(state, other):
            way = 2
    out["taken"][kind, seat] += 1
    out["standing"][kind, standing_of(state, seat)] += 1
    out["way"][kind, way] += 1
    out["time"][kind] += time


@njit
def _top(state: State, seat: int) -> Int:
    """The top tile of a tower, `NO_TILE` if there is none."""
    height = np.int64(state["heights"][seat])
    return np.int64(state["towers"][seat, height - 1]) if height > 0 else NO_TILE


@njit
def _count_play(state: State, game: Record, action: int, n_home: int, out: Record) -> Int:
    """Play a legal action and count what became of it; returns whether it brought a seat home."""
    seat = np.int64(state["player"])
    phase = np.int64(state["phase"])
    was_home = rules.is_home(state, seat)
    height = np.int64(state["heights"][seat])
    top = _top(state, seat)
    acts: Int = phase  # GIVE or STEALING if an action tile is carried out now
    if FIRST_GUARD <= action < FIRST_OPPONENT:
        out["guard_moves"] += 1
    elif phase == MOVE:
        slot = np.int64(state["pawns"][seat, action])
        tile = np.int64(state["track"][slot])
        is_last = rules.pawns_on(state, slot) == 1 and rules.guards_on(state, slot) == 0
        if is_last and tile == GIFT:
            acts = GIVE
        elif is_last and tile == STEAL:
            acts = STEALING

    proceed(state, game, action)

    after = np.int64(state["heights"][seat])
    is_open = state["phase"] in (GIVE, STEALING)  # a choice is left, and counted with it
    if acts != MOVE and not is_open:
        if after < height:
            out["gifts"] += 1
            out["gift_values"] += top
        elif after > height:
            out["steals"] += 1
            out["steal_values"] += _top(state, seat)
        else:
            out["idle"] += 1
    if was_home or not rules.is_home(state, seat):
        return 0
    out["home"][seat] = n_home
    return 1


@njit
def _count_end(states: npt.NDArray[Any], shares: npt.NDArray[np.float64], out: Record) -> None:
    """Count how the game `states[0]` ended; `states[1]` and `shares` are written in."""
    state = states[0]
    finish = np.int64(state["finish"])
    for slot in range(1, finish):
        if state["track"][slot] < GIFT:
            out["left"][state["track"][slot] - MIN_VALUE] += 1
    for guard in range(np.int64(state["n_guards"])):
        out["guards_home"] += state["guards"][guard] == finish
    rules.write_win_shares(state, shares)
    for seat in range(np.int64(state["players"])):
        points = rules.points(state, seat)
        faces: Int = 0
        for level in range(np.int64(state["heights"][seat])):
            faces += state["towers"][seat, level]  # a lucky tile is 0
        out["points"][seat] = points
        out["win_share"][seat] = shares[seat]
        out["lucky"][seat] = rules.lucky_tiles(state, seat)
        out["turning"][seat] = _turning(state, seat)
        out["turned"][seat] = points - faces
    for seat in range(np.int64(state["players"])):
        for level in range(np.int64(state["heights"][seat])):
            kind = np.int64(state["towers"][seat, level]) - MIN_VALUE
            states[1] = state
            _remove(states[1], seat, level)
            rules.write_win_shares(states[1], shares)
            out["kept"][kind] += 1
            out["points_with"][kind] += out["points"][seat] - rules.points(states[1], seat)
            out["wins_with"][kind] += out["win_share"][seat] - shares[seat]


@njit
def _turning(state: State, seat: int) -> Int:
    """How many lucky tiles of a tower turn another tile."""
    lucky = rules.lucky_tiles(state, seat)
    n_minus: Int = 0
    n_over = 0
    for level in range(np.int64(state["heights"][seat])):
        tile = np.int64(state["towers"][seat, level])
        n_minus += tile < 0
        if level > 0 and tile == LUCKY:
            n_over += state["towers"][seat, level - 1] != LUCKY
    return n_over if state["scoring"] else min(lucky, n_minus)


@njit
def _remove(state: State, seat: int, level: int) -> None:
    """Take a tile out of a tower; those above it come down."""
    tower = state["towers"][seat]
    height = np.int64(state["heights"][seat])
    state["counts"][seat, tower[level] - MIN_VALUE] -= 1
    for above in range(level, height - 1):
        tower[above] = tower[above + 1]
    tower[height - 1] = NO_TILE
    state["heights"][seat] = height - 1
