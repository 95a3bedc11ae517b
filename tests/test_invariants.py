"""What holds in every position and in every game, whoever plays and whatever is rolled."""

from collections import Counter
from typing import Any

import pytest
import reference
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from thatslife_env import IllegalMoveError, Position, Ruleset
from thatslife_env.board import (
    FINISH,
    LAYOUTS,
    LUCKY,
    MIN_VALUE,
    N_ACTIONS,
    NO_TILE,
    NOWHERE,
    START,
    TILE_OF_NAME,
)

ALWAYS_THE_SAME = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

tiles = st.sampled_from([-10, -9, -8, -3, -2, -1, 1, 2, 5, 7, 8, "lucky", "lucky"])
scorings = st.sampled_from(["standard", "expert"])


def interleave(faces: list, actions: list, places: list[int]) -> list:
    laid = list(faces)
    for action, place in zip(actions, places, strict=False):
        laid.insert(place % (len(laid) + 1), action)
    return laid


@st.composite
def layouts(draw: st.DrawFn, shortest: int = 0) -> list:
    actions = draw(st.lists(st.sampled_from(["gift", "steal"]), max_size=4))
    faces = draw(st.lists(tiles, min_size=0 if actions else shortest, max_size=32))
    places = draw(st.lists(st.integers(0, 36), min_size=4, max_size=4))
    return interleave(faces, actions, places)


rulesets = st.builds(
    Ruleset,
    players=st.integers(2, 6),
    pawns=st.integers(1, 3),
    layout=st.one_of(st.sampled_from(sorted(LAYOUTS)), layouts(shortest=1)),
    action_tiles=st.booleans(),
    guards=st.booleans(),
    scoring=scorings,
)
seeds = st.integers(0, 2**64 - 1)
wishes = st.lists(st.integers(0, 10**6), min_size=1, max_size=50)
"""What happens in a game: one number for each ply, over and over."""


@st.composite
def positions(draw: st.DrawFn, only: str = "") -> Position:
    """Any accepted position, reachable or not; `only` in one phase."""
    players = draw(st.integers(2, 6))
    pawns = draw(st.integers(1, 3))
    track = ["start", *draw(layouts()), "finish"]
    finish = len(track) - 1
    room = 32 - len([face for face in track[1:-1] if face not in ("gift", "steal")])
    towers: list[list] = [[] for _ in range(players)]
    for face, seat in draw(st.lists(st.tuples(tiles, st.integers(0, players - 1)), max_size=room)):
        towers[seat].append(face)
    slot = st.integers(0, finish) | st.integers(max(finish - 2, 0), finish)
    slots = [sorted(draw(st.lists(slot, min_size=pawns, max_size=pawns))) for _ in range(players)]
    with_guards = draw(st.booleans())
    guard = st.sampled_from([slot for row in slots for slot in row]) | slot
    stand = sorted(draw(st.lists(guard, max_size=8))) if with_guards else []
    underway = [seat for seat in range(players) if slots[seat][0] < finish]
    turns = [("over", seat) for seat in range(players) if not underway]
    turns += [(phase, seat) for phase in ("roll", "move") for seat in underway]
    for seat in range(players):
        if len(reference.gift_receivers(towers, seat)) >= 2:
            turns.append(("give", seat))
        if len(reference.steal_victims(towers, seat)) >= 2:
            turns.append(("steal", seat))
    turns = [turn for turn in turns if only in ("", turn[0])]
    assume(turns)
    phase, player = draw(st.sampled_from(turns))
    return Position.from_json(
        {
            "rules": {
                "players": players,
                "pawns": pawns,
                "guards": with_guards,
                "scoring": draw(scorings),
            },
            "track": track,
            "pawns": slots,
            "guards": stand,
            "towers": towers,
            "player": player,
            "phase": phase,
            "die": 0 if phase in ("roll", "over") else draw(st.integers(1, 6)),
        }
    )


def step(position: Position, wish: int) -> Position:
    """One ply as wished."""
    if position.phase == "roll":
        return position.roll(1 + wish % 6)
    actions = position.legal_actions()
    return position.play(actions[wish % len(actions)])


def successors(position: Position) -> list[Position]:
    if position.phase == "roll":
        return [position.roll(die) for die in range(1, 7)]
    return [position.play(action) for action in position.legal_actions()]


def everything(shown: dict) -> dict[str, Any]:
    """What neither comes nor goes."""
    faces = shown["track"][1:-1]
    taken = [tile for tower in shown["towers"] for tile in tower]
    return {
        "tiles": Counter([face for face in faces if face not in ("gift", "steal")] + taken),
        "action tiles": len([face for face in faces if face in ("gift", "steal")]),
        "ends": (shown["track"][0], shown["track"][-1]),
        "pawns": [len(slots) for slots in shown["pawns"]],
        "guards": len(shown["guards"]),
        "rules": shown["rules"],
    }


def to_go(shown: dict) -> list[int]:
    """How far every piece is from the finish, in tiles that still lie; each list rear first."""
    finish = len(shown["track"]) - 1
    return [finish - slot for slots in [*shown["pawns"], shown["guards"]] for slot in slots]


def is_home(shown: dict, seat: int) -> bool:
    return all(slot == len(shown["track"]) - 1 for slot in shown["pawns"][seat])


# Every position --------------------------------------------------------------------------


@given(positions())
@ALWAYS_THE_SAME
def test_nothing_comes_or_goes(position):
    shown = position.to_json()
    for after in successors(position):
        assert everything(after.to_json()) == everything(shown)


@given(positions())
@ALWAYS_THE_SAME
def test_a_roll_changes_die_and_phase_only(position):
    shown = position.to_json()
    if position.phase == "roll":
        for die in range(1, 7):
            assert position.roll(die).to_json() == {**shown, "phase": "move", "die": die}
    else:
        for die in range(1, 7):
            with pytest.raises(IllegalMoveError):
                position.roll(die)


@given(positions())
@ALWAYS_THE_SAME
def test_pieces_move_forward_only(position):
    """Closed gaps taken into account: nobody gets farther from the finish, and one gets nearer."""
    before = to_go(position.to_json())
    for after in successors(position):
        now = to_go(after.to_json())
        assert all(new <= old for new, old in zip(now, before, strict=True))
        if position.phase == "move":
            assert sum(now) < sum(before)
        else:
            assert now == before


@given(positions())
@ALWAYS_THE_SAME
def test_a_move_changes_little(position):
    """At most one tile is taken, by the mover, onto the top; only opponents' tops change hands."""
    shown = position.to_json()
    player = position.player
    for after in successors(position):
        now = after.to_json()
        n_taken = len(shown["track"]) - len(now["track"])
        assert n_taken in ((0, 1) if position.phase == "move" else (0,))
        changed = [
            seat for seat in range(position.players) if shown["towers"][seat] != now["towers"][seat]
        ]
        if n_taken:
            assert changed == [player]
            assert now["towers"][player][:-1] == shown["towers"][player]
        for seat in changed:
            old, new = shown["towers"][seat], now["towers"][seat]
            assert abs(len(old) - len(new)) == 1
            assert old[: min(len(old), len(new))] == new[: min(len(old), len(new))]
        assert len(changed) in (0, 2) or n_taken == 1
        assert not changed or player in changed


@given(positions())
@ALWAYS_THE_SAME
def test_who_is_asked_has_a_choice(position):
    """A live mover always has a legal action, whatever the die; an opponent is chosen from two."""
    n_actions = len(position.legal_actions())
    if position.phase == "roll":
        assert n_actions == 0
        assert all(position.roll(die).legal_actions() for die in range(1, 7))
    elif position.phase == "move":
        assert n_actions >= 1
        assert min(position.legal_actions()) < 3
        n_guards = len(position.to_json()["guards"])
        assert max(position.legal_actions()) < 3 + n_guards
    elif position.phase == "over":
        assert n_actions == 0
    else:
        assert 2 <= n_actions < position.players
        assert all(11 <= action < 10 + position.players for action in position.legal_actions())


@given(positions())
@ALWAYS_THE_SAME
def test_exactly_the_legal_actions_succeed(position):
    shown = position.to_json()
    legal = position.legal_actions()
    assert legal == sorted(set(legal))
    for action in range(-1, N_ACTIONS + 1):
        if action in legal:
            assert position.play(action) != position
        else:
            with pytest.raises(IllegalMoveError):
                position.play(action)
        assert position.to_json() == shown
    assert position == Position.from_json(shown)


@given(positions())
@ALWAYS_THE_SAME
def test_different_actions_lead_to_different_positions(position):
    """No two actions are the same one: every choice gives another position, and no two movable
    pieces of one kind stand on one tile.
    """
    if position.phase in ("give", "steal"):
        assert len(set(successors(position))) == len(successors(position))
    if position.phase == "move":
        rows = [position.to_json()["pawns"][position.player], position.to_json()["guards"]]
        for first, row in ((0, rows[0]), (3, rows[1])):
            left = [
                row[action - first]
                for action in position.legal_actions()
                if first <= action < first + len(row)
            ]
            assert len(left) == len(set(left))


@given(positions(only="move"))
@settings(ALWAYS_THE_SAME, max_examples=300)
def test_a_tile_is_taken_or_turned_exactly_by_the_last_pawn(position):
    """And a guard moves exactly beside a pawn, anyone's, and takes or turns nothing."""
    shown = position.to_json()
    pawns = [slot for slots in shown["pawns"] for slot in slots]
    finish = len(shown["track"]) - 1
    for action in position.legal_actions():
        track = position.play(action).to_json()["track"]
        if action < 3:
            slot = shown["pawns"][position.player][action]
            is_last = (pawns + shown["guards"]).count(slot) == 1
            assert (track != shown["track"]) == (is_last and slot > 0)
            if is_last and shown["track"][slot] in ("gift", "steal"):
                other_side = {"gift": "steal", "steal": "gift"}[shown["track"][slot]]
                assert track == [*shown["track"][:slot], other_side, *shown["track"][slot + 1 :]]
            elif is_last and slot > 0:
                assert track == shown["track"][:slot] + shown["track"][slot + 1 :]
        else:
            assert track == shown["track"]
    movable = {shown["guards"][action - 3] for action in position.legal_actions() if action >= 3}
    assert movable == set(shown["guards"]) & set(pawns) - {finish}


@given(positions(only="move"))
@settings(ALWAYS_THE_SAME, max_examples=300)
def test_a_turned_tile_is_carried_out(position):
    """A tile changes hands, or the choice is asked; but from nobody comes nothing."""
    shown = position.to_json()
    mine = len(shown["towers"][position.player])
    theirs = sum(map(len, shown["towers"])) - mine
    for action in (action for action in position.legal_actions() if action < 3):
        after = position.play(action)
        side = shown["track"][shown["pawns"][position.player][action]]
        if side not in ("gift", "steal") or after.to_json()["track"] == shown["track"]:
            assert after.phase in ("roll", "over")
            continue
        gained = len(after.to_json()["towers"][position.player]) - mine
        if after.phase in ("give", "steal"):
            assert (after.phase, gained) == ("give" if side == "gift" else "steal", 0)
        elif side == "gift":
            assert gained == (-1 if mine else 0)
        else:
            assert gained == (1 if theirs else 0)
    if position.players == 2:
        assert all(after.phase in ("roll", "over") for after in successors(position))


@given(positions())
@ALWAYS_THE_SAME
def test_the_next_player(position):
    shown = position.to_json()
    for after in successors(position):
        now = after.to_json()
        assert all(is_home(now, seat) for seat in range(position.players) if is_home(shown, seat))
        if after.phase == "roll":
            steps = (after.player - position.player) % position.players or position.players
            passed = [(position.player + step) % position.players for step in range(1, steps)]
            assert all(is_home(now, seat) for seat in passed)
            assert not is_home(now, after.player)
            assert after.die == 0
        elif after.phase == "over":
            assert all(is_home(now, seat) for seat in range(position.players))
            assert (after.player, after.die) == (position.player, 0)
        else:
            assert after.player == position.player
            assert 1 <= after.die <= 6
            assert position.die in (0, after.die)


@given(positions())
@ALWAYS_THE_SAME
def test_points(position):
    """Standard scoring makes the best of the lucky tiles, whatever the order; expert never more."""
    shown = position.to_json()
    by = {}
    for scoring in ("standard", "expert"):
        shown["rules"]["scoring"] = scoring
        by[scoring] = Position.from_json(shown).scores()
    assert position.scores() == by[position.to_json()["rules"]["scoring"]]
    assert all(s >= e for s, e in zip(by["standard"], by["expert"], strict=True))
    shown["rules"]["scoring"] = "standard"
    if position.phase in ("roll", "move", "over"):
        shown["towers"] = [sorted(tower, key=str) for tower in shown["towers"]]
        assert Position.from_json(shown).scores() == by["standard"]
    for seat, points in enumerate(by["standard"]):
        assert abs(points) <= sum(abs(t) for t in shown["towers"][seat] if t != "lucky")


@given(positions())
@ALWAYS_THE_SAME
def test_winners(position):
    scores, winners = position.scores(), position.winners()
    assert winners
    assert winners == sorted(set(winners))
    assert all(scores[seat] == max(scores) for seat in winners)
    lucky = [tower.count("lucky") for tower in position.to_json()["towers"]]
    assert len({lucky[seat] for seat in winners}) == 1
    for seat in range(position.players):
        if seat not in winners:
            best = winners[0]
            assert (scores[seat], -lucky[seat]) < (scores[best], -lucky[best])
    assert position.win_shares() == [
        1 / len(winners) if seat in winners else 0 for seat in range(position.players)
    ]


def turned(shown: dict, by: int) -> dict:
    """The same position with everybody sitting `by` seats farther to the left."""
    players = shown["rules"]["players"]
    return {
        **shown,
        "player": (shown["player"] + by) % players,
        **{key: shown[key][-by:] + shown[key][:-by] for key in ("pawns", "towers")},
    }


@given(positions(), st.integers(1, 5))
@ALWAYS_THE_SAME
def test_no_seat_is_special(position, by):
    """Turning the table changes the names of the seats and nothing else."""
    by = by % position.players
    other = Position.from_json(turned(position.to_json(), by))
    assert other.legal_actions() == position.legal_actions()
    assert other.scores() == position.scores()[-by:] + position.scores()[:-by]
    assert other.winners() == sorted((seat + by) % position.players for seat in position.winners())
    for here, there in zip(successors(position), successors(other), strict=True):
        assert there.to_json() == turned(here.to_json(), by)


# The record behind it ----------------------------------------------------------------------


def assert_record_is_consistent(position: Position) -> None:
    shown = position.to_json()
    state = position.state[0]
    finish = len(shown["track"]) - 1
    players, pawns = shown["rules"]["players"], shown["rules"]["pawns"]
    codes = [TILE_OF_NAME.get(face, face) for face in shown["track"]]
    assert state["finish"] == finish
    assert state["track"][: finish + 1].tolist() == codes
    assert (state["track"][finish + 1 :] == NO_TILE).all()
    assert state["track"].tolist().count(START) == state["track"].tolist().count(FINISH) == 1
    assert state["pawns"][:players, :pawns].tolist() == shown["pawns"]
    assert (state["pawns"][players:] == NOWHERE).all()
    assert (state["pawns"][:, pawns:] == NOWHERE).all()
    assert state["n_guards"] == len(shown["guards"])
    assert state["guards"][: state["n_guards"]].tolist() == shown["guards"]
    assert (state["guards"][state["n_guards"] :] == NOWHERE).all()
    towers = shown["towers"] + [[]] * (len(state["heights"]) - players)
    for seat, tower in enumerate(towers):
        values = [LUCKY if face == "lucky" else face for face in tower]
        assert state["heights"][seat] == len(values)
        assert state["towers"][seat][: len(values)].tolist() == values
        assert (state["towers"][seat][len(values) :] == NO_TILE).all()
        counted = Counter({MIN_VALUE + j: int(n) for j, n in enumerate(state["counts"][seat]) if n})
        assert counted == Counter(values)


@given(positions())
@ALWAYS_THE_SAME
def test_record(position):
    assert_record_is_consistent(position)
    for after in successors(position):
        assert_record_is_consistent(after)
        again = Position.from_json(after.to_json())
        assert again.state.tobytes() == after.state.tobytes()
        assert again == after
        assert hash(again) == hash(after)


# Whole games -------------------------------------------------------------------------------


@given(rulesets, seeds, wishes)
@settings(ALWAYS_THE_SAME, max_examples=60)
def test_whole_games(rules, seed, wished):
    """Tiles are conserved, every position is accepted, and the game ends within a bound.

    Every move brings a piece nearer to the finish, so there are at most as many moves as pieces
    times the length of the track; each with its roll and at most one choice.
    """
    position = Position.deal(rules, seed)
    opening = position.to_json()
    bound = 3 * sum(to_go(opening))
    plies = 0
    while not position.is_over:
        assert plies < bound
        position = step(position, wished[plies % len(wished)] + plies)
        plies += 1
        if plies % 5 == 0 or position.phase in ("give", "steal", "over"):
            shown = position.to_json()
            assert everything(shown) == everything(opening)
            assert reference.problems(shown) == []
            assert Position.from_json(shown) == position
            assert_record_is_consistent(position)
    assert plies >= 2 * rules.players * rules.pawns
    assert to_go(position.to_json())[: rules.players * rules.pawns] == (
        [0] * rules.players * rules.pawns
    )
    assert sum(position.win_shares()) == pytest.approx(1)


@given(rulesets, seeds)
@settings(ALWAYS_THE_SAME, max_examples=20)
def test_the_slowest_game_keeps_the_bound(rules, seed):
    """Only ones are rolled, and guards go first wherever they can."""
    position = Position.deal(rules, seed)
    left = 3 * sum(to_go(position.to_json()))
    while not position.is_over:
        if position.phase == "roll":
            position = position.roll(1)
        else:
            position = position.play(position.legal_actions()[-1])
        left -= 1
    assert left >= 0
