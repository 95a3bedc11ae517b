"""Every number of an observation, against a slow reading of the position's JSON."""

import copy
import itertools
import json
import random
from collections import Counter

import numpy as np
import pytest
import reference
from conftest import PHASES, random_board, random_position

from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.observation import (
    HIGH,
    LAYOUT,
    LOW,
    OBS_SIZE,
    SLICES,
    action_mask,
    decode,
    layout_table,
    observe,
    views,
)

N_SLOTS, N_SEATS, N_ACTIONS = 36, 6, 16
PHASE_ORDER = ["roll", "move", "give", "steal", "over"]
N_SHOWN = 4  # tiles of a tower that are shown


def over(number: int, scale: int) -> np.float32:
    """A fraction, rounded once to float32."""
    return np.float32(number) / np.float32(scale)


def lay_face(rows: dict, names: tuple[str, str, str], place: int, face: int | str) -> None:
    """One face of the track as value, lucky and action numbers."""
    value, lucky, action = names
    if isinstance(face, int):
        rows[value][place] = over(face, 10)
    elif face == "lucky":
        rows[lucky][place] = 1
    elif face in ("gift", "steal"):
        rows[action][place] = 1 if face == "gift" else -1


def expected_observation(shown: dict, seat: int) -> dict[str, np.ndarray]:
    """Name of each row to what it holds, read from the JSON of a position.

    What an action does is read off the position that `Position.play` makes of it.
    """
    rows = {row.name: np.zeros(row.shape, np.float32) for row in LAYOUT}
    rules, track, towers = shown["rules"], shown["track"], shown["towers"]
    players, finish = rules["players"], len(track) - 1
    around = [(seat + steps) % players for steps in range(players)]

    if shown["die"]:
        rows["die"][shown["die"] - 1] = 1
    rows["phase"][PHASE_ORDER.index(shown["phase"])] = 1
    rows["to_act"][around.index(shown["player"])] = 1
    rows["players"][players - 2] = 1
    rows["pawns_each"][rules["pawns"] - 1] = 1
    rows["with_guards"][0] = 1 if rules["guards"] else 0
    rows["expert"][0] = 1 if rules["scoring"] == "expert" else 0

    rows["finish"][0] = over(finish, 37)
    for slot in range(1, finish):
        lay_face(rows, ("tile_value", "tile_lucky", "tile_action"), slot - 1, track[slot])
        rows["guards"][slot - 1] = over(shown["guards"].count(slot), 8)
    rows["guards_off"][0] = over(shown["guards"].count(0), 8)
    rows["guards_off"][1] = over(shown["guards"].count(finish), 8)

    for steps, other in enumerate(around):
        pawns, tower = shown["pawns"][other], towers[other]
        for slot in range(1, finish):
            rows["pawns"][steps][slot - 1] = over(pawns.count(slot), 3)
        rows["at_start"][steps] = over(pawns.count(0), 3)
        rows["home"][steps] = over(pawns.count(finish), 3)
        rows["points"][steps] = over(reference.tower_score(tower, rules["scoring"]), 128)
        rows["lucky"][steps] = over(tower.count("lucky"), 8)
        rows["height"][steps] = over(len(tower), 32)
        for k, tile in enumerate(tower[::-1][:N_SHOWN]):
            rows["top_lucky"][k][steps] = 1 if tile == "lucky" else 0
            rows["top_value"][k][steps] = 0 if tile == "lucky" else over(tile, 10)
        minus = sorted(tile for tile in tower if tile != "lucky" and tile < 0)
        for k, tile in enumerate(minus[:3]):
            rows["largest_minus"][k][steps] = over(tile, 10)

    if seat == shown["player"]:
        position = Position.from_json(shown)
        for action in reference.Game.from_json(shown).legal_actions():
            rows["legal"][action] = 1
            if shown["phase"] == "move":
                expect_piece(rows, shown, seat, action)
            expect_outcome(rows, shown, position.play(action).to_json(), seat, action)
    return rows


def expect_piece(rows: dict, shown: dict, seat: int, action: int) -> None:
    """The piece that an action moves: whence, whither, whom it leaves and meets."""
    finish = len(shown["track"]) - 1
    slot = shown["pawns"][seat][action] if action < 3 else shown["guards"][action - 3]
    target = min(slot + shown["die"], finish)
    everyone = [place for pawns in shown["pawns"] for place in pawns]
    stay = (everyone + shown["guards"]).count(slot) - 1
    rows["from_slot"][action] = over(slot, 37)
    rows["to_slot"][action] = over(target, 37)
    rows["stay"][action] = over(stay, 6)
    lay_face(rows, ("land_value", "land_lucky", "land_action"), action, shown["track"][target])
    own = shown["pawns"][seat].count(target)
    rows["land_own"][action] = over(own, 3)
    rows["land_opponents"][action] = over(everyone.count(target) - own, 5)
    rows["land_guards"][action] = over(shown["guards"].count(target), 8)


def expect_outcome(rows: dict, shown: dict, after: dict, seat: int, action: int) -> None:
    """What differs between the positions before and after an action."""
    if len(after["track"]) == len(shown["track"]):
        for old, new in zip(shown["track"], after["track"], strict=True):
            if old != new:
                rows["turns"][action] = {"gift": 1, "steal": -1}[old]
    before, then = shown["towers"][seat], after["towers"][seat]
    if len(then) != len(before):
        moved = max(before, then, key=len)[-1]
        rows["takes"][action] = len(then) - len(before)
        rows["taken_lucky"][action] = 1 if moved == "lucky" else 0
        rows["taken_value"][action] = 0 if moved == "lucky" else over(moved, 10)
    scoring, n_others = shown["rules"]["scoring"], shown["rules"]["players"] - 1
    changes = [
        reference.tower_score(new, scoring) - reference.tower_score(old, scoring)
        for old, new in zip(shown["towers"], after["towers"], strict=True)
    ]
    own = changes.pop(seat)
    rows["own_change"][action] = over(own, 20)
    rows["lead_change"][action] = over(n_others * own - sum(changes), n_others * 40)


def assert_observed(position: Position, seen: Counter) -> None:
    """All seats see what the JSON says; `seen` counts rows by the sign of what stood in them."""
    shown = position.to_json()
    for seat in range(position.players):
        got = observe(position, seat)
        assert got.dtype == np.float32
        assert (got >= LOW).all(), (seat, shown)
        assert (got <= HIGH).all(), (seat, shown)
        found = views(got)
        for name, row in expected_observation(shown, seat).items():
            if not np.array_equal(found[name], row):
                where = f"row {name} of seat {seat} in {json.dumps(shown)}"
                np.testing.assert_array_equal(found[name], row, where)
            for sign in np.unique(np.sign(row)):
                seen[name, int(sign)] += 1


ACTION_ROWS = [row.name for row in LAYOUT if row.shape == (N_ACTIONS,)]
NEGATIVE = {"largest_minus"}
BOTH = {"tile_value", "tile_action", "top_value", "points", "turns", "takes", "taken_value"}
BOTH |= {"land_value", "land_action", "own_change", "lead_change"}
SIGNS = {
    row.name: {-1, 1} if row.name in BOTH else {-1} if row.name in NEGATIVE else {1}
    for row in LAYOUT
}
"""Name of each row to the signs that must turn up in it, lest nothing is tested."""


def assert_all_seen(seen: Counter, names: list[str]) -> None:
    for name in names:
        assert {sign for row, sign in seen if row == name} >= SIGNS[name], name


def play_at_random(position: Position, rng: random.Random):
    """Yield each position of a game, up to its end."""
    while not position.is_over:
        yield position
        if position.phase == "roll":
            position = position.roll(rng.randint(1, 6))
        else:
            position = position.play(rng.choice(position.legal_actions()))
    yield position


# The table ----------------------------------------------------------------------------------


def test_one_statement_of_the_layout():
    """Sizes, slices, bounds and views all follow from the rows."""
    names = [row.name for row in LAYOUT]
    assert len(set(names)) == len(names)
    assert list(SLICES) == names
    start = 0
    numbers = np.arange(OBS_SIZE, dtype=np.float32)
    for row in LAYOUT:
        size = 1
        for side in row.shape:
            size *= side
        assert SLICES[row.name] == slice(start, start + size)
        assert LOW[start : start + size].tolist() == [np.float32(row.low)] * size
        assert HIGH[start : start + size].tolist() == [np.float32(row.high)] * size
        assert row.low < row.high
        assert row.meaning
        view = views(numbers)[row.name]
        assert view.shape == row.shape
        assert view.ravel().tolist() == list(range(start, start + size))
        assert np.shares_memory(view, numbers)
        start += size
    assert start == OBS_SIZE
    assert LOW.dtype == HIGH.dtype == np.float32
    assert LOW.shape == HIGH.shape == (OBS_SIZE,)
    assert not LOW.flags.writeable
    assert not HIGH.flags.writeable


def test_views_of_a_batch():
    batch = np.random.default_rng(1).random((2, 3, OBS_SIZE), np.float32)
    for row in LAYOUT:
        view = views(batch)[row.name]
        assert view.shape == (2, 3, *row.shape)
        np.testing.assert_array_equal(view[1, 2], views(batch[1, 2])[row.name])


def test_bounds_are_small():
    """Nearly all within [-1, 1]; the exceptions are few and named."""
    wide = {row.name: (row.low, row.high) for row in LAYOUT if row.low < -1 or row.high > 1}
    assert wide == {
        "points": (-2.5, 2),
        "lucky": (0, 4),
        "stay": (0, 5),
        "land_opponents": (0, 3),
    }


def test_the_table_lists_every_row_once():
    lines = layout_table().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert [cell[1] for cell in cells] == [f"`{row.name}`" for row in LAYOUT]
    for cell, row in zip(cells, LAYOUT, strict=True):
        place = SLICES[row.name]
        assert cell[0] == f"`[{place.start}:{place.stop}]`"
        assert [int(side) for side in cell[2].split(" x ")] == list(row.shape)
        assert [float(bound) for bound in cell[3].split(" .. ")] == [row.low, row.high]
        assert cell[4] == row.meaning


# What is seen -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_games_of_every_preset(name):
    seen = Counter()
    phases = Counter()
    for players in range(2, 7):
        rng = random.Random(f"observed {name} {players}")
        opening = Position.deal(Ruleset.preset(name, players=players), rng.randrange(2**64))
        for position in play_at_random(opening, rng):
            phases[position.phase] += 1
            if rng.random() < (0.2 if position.phase == "roll" else 0.6):
                assert_observed(position, seen)
    # an open gift takes equal tops: rare
    assert set(phases) >= {"roll", "move", "over"} | ({"steal"} if name != "classic" else set())
    assert seen["own_change", 1] > 0


def test_games_on_custom_boards():
    seen = Counter()
    for number in range(45):
        rng = random.Random(f"observed board {number}")
        opening = Position.deal(Ruleset(**random_board(rng)), rng.randrange(2**64))
        for position in play_at_random(opening, rng):
            if rng.random() < 0.4 or position.is_over:
                assert_observed(position, seen)
    assert_all_seen(seen, list(SIGNS))


@pytest.mark.parametrize("phase", PHASES)
def test_positions_nobody_played_to(phase):
    """Guards on start and finish, tall towers, stacks: whatever JSON is accepted."""
    seen = Counter()
    for number in range(450 if phase == "move" else 150):
        shown = random_position(random.Random(f"observed {phase} {number}"), phase)
        assert_observed(Position.from_json(shown), seen)
    unseen = set() if phase == "move" else set(ACTION_ROWS)
    if phase in ("roll", "over"):
        unseen.add("die")
    if phase == "over":
        unseen |= {"pawns", "at_start"}
    assert_all_seen(seen, [name for name in SIGNS if name not in unseen])
    if phase in ("give", "steal"):
        sign = -1 if phase == "give" else 1
        assert seen["takes", sign] > 0
        assert seen["takes", -sign] == 0
        assert seen["from_slot", 1] == seen["land_value", -1] == seen["turns", 1] == 0
    if phase in ("roll", "over"):
        assert seen["legal", 1] == 0


def table(**changes: object) -> dict:
    """A small position to change."""
    return {
        "rules": {"players": 2, "pawns": 3, "guards": True, "scoring": "standard"},
        "track": ["start", -3, "lucky", 5, "gift", -1, "finish"],
        "pawns": [[0, 2, 6], [0, 0, 4]],
        "guards": [2, 3],
        "towers": [[-4, "lucky"], [7]],
        "player": 0,
        "phase": "move",
        "die": 2,
        **changes,
    }


def test_one_position_by_hand():
    """Numbers that a person read off the board, not the code."""
    position = Position.from_json(table())
    seen = views(observe(position, 0))
    assert seen["die"].tolist() == [0, 1, 0, 0, 0, 0]
    assert seen["phase"].tolist() == [0, 1, 0, 0, 0]
    assert seen["to_act"].tolist() == [1, 0, 0, 0, 0, 0]
    assert seen["tile_value"][:5].tolist() == np.float32([-0.3, 0, 0.5, 0, -0.1]).tolist()
    assert seen["points"][:2].tolist() == [4 / 128, 7 / 128]
    assert np.flatnonzero(seen["legal"]).tolist() == [0, 1, 3]  # the guard on 5 is alone
    # the pawn on the start leaves two others of the opponent there, lands by a guard
    assert seen["stay"][0] == over(2, 6)
    assert seen["land_lucky"][0] == 1
    assert seen["land_own"][0] == over(1, 3)
    assert seen["land_guards"][0] == over(1, 8)
    assert seen["takes"][0] == 0
    # the pawn on the lucky tile leaves the guard behind, lands on the gift by one opponent
    assert seen["stay"][1] == over(1, 6)
    assert seen["takes"][1] == 0
    assert seen["land_action"][1] == 1
    assert seen["land_opponents"][1] == over(1, 5)
    # the other sees the same table from the other side, and no actions
    theirs = views(observe(position, 1))
    assert theirs["to_act"].tolist() == [0, 1, 0, 0, 0, 0]
    assert theirs["points"][:2].tolist() == [7 / 128, 4 / 128]
    assert theirs["at_start"][:2].tolist() == [over(2, 3), over(1, 3)]
    for name in ACTION_ROWS:
        assert not theirs[name].any()


def test_a_forced_gift_by_hand():
    """Turning a gift with one possible receiver: the top goes at once, both scores change."""
    position = Position.from_json(
        table(pawns=[[4, 6, 6], [0, 0, 0]], guards=[], towers=[[-4, "lucky"], [-9]], die=1)
    )
    seen = views(observe(position))
    assert seen["turns"][0] == 1
    assert seen["takes"][0] == -1
    assert seen["taken_lucky"][0] == 1
    assert seen["own_change"][0] == over(-8, 20)  # 4 to -4
    assert seen["lead_change"][0] == over(-26, 40)  # theirs from -9 to 9


EXTREMES = {
    # name: (position, row, relative seat or action, value)
    "fewest points": (
        table(towers=[[-10] * 32, []], track=["start", "finish"], pawns=[[0] * 3] * 2, guards=[]),
        "points",
        -2.5,
    ),
    "most points": (
        table(towers=[[], [8] * 32], track=["start", "finish"], pawns=[[0] * 3] * 2, guards=[]),
        "points",
        2,
    ),
    "fewest points, expert": (
        table(
            rules={"players": 2, "pawns": 1, "guards": False, "scoring": "expert"},
            towers=[[], [-10] * 32],
            track=["start", "finish"],
            pawns=[[0], [0]],
            guards=[],
        ),
        "points",
        -2.5,
    ),
    "all lucky": (
        table(
            towers=[["lucky"] * 32, []], track=["start", "finish"], pawns=[[0] * 3] * 2, guards=[]
        ),
        "lucky",
        4,
    ),
    "a tower of all": (
        table(towers=[[-1] * 32, []], track=["start", "finish"], pawns=[[0] * 3] * 2, guards=[]),
        "height",
        1,
    ),
    "a lucky tile on a minus ten": (
        table(towers=[[-10], [1]], track=["start", "lucky", "finish"], pawns=[[1, 2, 2], [2] * 3])
        | {"guards": [], "die": 1},
        "own_change",
        1,
    ),
    "a lucky tile stolen from a minus ten": (
        table(
            towers=[[-10], [-10, "lucky"]],
            track=["start", "steal", "finish"],
            pawns=[[1, 2, 2], [2] * 3],
            guards=[],
            die=1,
        ),
        "lead_change",
        1,
    ),
    "a lucky tile given away": (
        table(
            towers=[[-10, "lucky"], [-10]],
            track=["start", "gift", "finish"],
            pawns=[[1, 2, 2], [2] * 3],
            guards=[],
            die=1,
        ),
        "lead_change",
        -1,
    ),
    "a lucky tile given away: own points": (
        table(
            towers=[[-10, "lucky"], [-10]],
            track=["start", "gift", "finish"],
            pawns=[[1, 2, 2], [2] * 3],
            guards=[],
            die=1,
        ),
        "own_change",
        -1,
    ),
    "everyone on one tile": (
        table(
            rules={"players": 6, "pawns": 3, "guards": True, "scoring": "standard"},
            track=["start", 1, 2, "finish"],
            pawns=[[1] * 3] * 6,
            guards=[1] * 8,
            towers=[[]] * 6,
        ),
        "stay",
        over(25, 6),
    ),
    "everyone meets": (
        table(
            rules={"players": 6, "pawns": 3, "guards": True, "scoring": "standard"},
            track=["start", 1, 2, "finish"],
            pawns=[[1, 3, 3], *[[3] * 3] * 5],
            guards=[3] * 8,
            towers=[[]] * 6,
        ),
        "land_opponents",
        3,
    ),
    "guards on the start": (
        table(guards=[0] * 8),
        "guards_off",
        1,
    ),
    "the longest track": (
        table(
            track=["start", *[-10, 8] * 16, *["gift", "steal"] * 2, "finish"],
            pawns=[[0, 32, 36], [0, 1, 37]],
            guards=[0, 36, 36, 37, 37, 37, 37, 37],
            towers=[[], []],
        ),
        "finish",
        1,
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name):
    """The bounds hold, and are reached, where numbers are as large as they get."""
    shown, row, value = EXTREMES[name]
    position = Position.from_json(copy.deepcopy(shown))
    assert_observed(position, Counter())
    seen = views(observe(position, 0))[row]
    found = seen.max() if value > 0 else seen.min()
    assert found == np.float32(value)


def test_guards_on_start_and_finish():
    seen = views(observe(Position.from_json(table(guards=[0, 0, 3, 6, 6, 6])), 1))
    assert seen["guards_off"].tolist() == [2 / 8, 3 / 8]
    assert seen["guards"].tolist() == [0, 0, 1 / 8, *[0] * 33]


# A function of the position and the seat ----------------------------------------------------


def test_a_function_of_the_json_and_the_seat_alone():
    """However a position was come to: played on, read, copied, or dealt from another seed."""
    for number in range(12):
        rng = random.Random(f"function {number}")
        opening = Position.deal(Ruleset(**random_board(rng)), rng.randrange(2**64))
        for position in play_at_random(opening, rng):
            again = Position.from_json(json.dumps(position.to_json()))
            for seat in range(position.players):
                seen = observe(position, seat)
                assert seen.tobytes() == observe(again, seat).tobytes()
                assert seen.tobytes() == observe(position, seat).tobytes()
                assert not np.shares_memory(seen, observe(position, seat))


def test_roads_that_meet():
    """Two orders of moves to one position."""
    opening = table(pawns=[[0, 0, 0], [0, 0, 0]], guards=[], towers=[[], []], die=0, phase="roll")
    start = Position.from_json(opening)
    ends = []
    for order in ((1, 3), (3, 1)):
        position = start
        for die in order:
            position = position.roll(die).play(0).roll(2).play(0)
            if position.phase != "roll":
                break
        ends.append(position)
    assert ends[0].to_json() == ends[1].to_json()
    for seat in range(2):
        assert observe(ends[0], seat).tobytes() == observe(ends[1], seat).tobytes()


def test_turning_the_table():
    """Renaming the seats all round changes nothing for the observer."""
    for number in range(120):
        shown = random_position(random.Random(f"turned {number}"))
        players = shown["rules"]["players"]
        for shift in range(1, players):
            turned = copy.deepcopy(shown)
            for key in ("pawns", "towers"):
                turned[key] = shown[key][shift:] + shown[key][:shift]
            turned["player"] = (shown["player"] - shift) % players
            for seat in range(players):
                one = observe(Position.from_json(shown), seat)
                other = observe(Position.from_json(turned), (seat - shift) % players)
                np.testing.assert_array_equal(one, other)


def test_positions_that_differ_look_different():
    """Each thing shown of a position changes the observation when it changes."""
    base = table()
    seen = [observe(Position.from_json(base), seat).tobytes() for seat in range(2)]
    changes = [
        {"rules": {**base["rules"], "scoring": "expert"}},
        {"track": ["start", -3, "lucky", 5, "steal", -1, "finish"]},
        {"track": ["start", -2, "lucky", 5, "gift", -1, "finish"]},
        {"track": ["start", -3, 4, 5, "gift", -1, "finish"]},
        {"track": ["start", -3, "lucky", 5, "gift", "finish"], "pawns": [[0, 2, 5], [0, 0, 4]]},
        {"pawns": [[0, 1, 6], [0, 0, 4]]},
        {"pawns": [[0, 2, 6], [0, 1, 4]]},
        {"guards": [2, 4]},
        {"guards": [2]},
        {"guards": [0, 2, 3]},
        {"guards": [2, 3, 6]},
        {"towers": [[-4, "lucky"], [6]]},
        {"towers": [["lucky", -4], [7]]},
        {"towers": [[-4, "lucky"], []]},
        {"player": 1},
        {"die": 3},
        {"die": 0, "phase": "roll"},
    ]
    for change in changes:
        other = Position.from_json(table(**change))
        for seat in range(2):
            assert observe(other, seat).tobytes() != seen[seat], change


# Decoding -----------------------------------------------------------------------------------


def veiled(shown: dict) -> dict:
    """A position with the tiles of a tower below those shown taken out."""
    return {
        **shown,
        "towers": [
            [None] * (len(tower) - N_SHOWN) + tower[max(len(tower) - N_SHOWN, 0) :]
            for tower in shown["towers"]
        ],
    }


def test_decode_rebuilds_the_position():
    """From every seat, to the type of each number."""
    phases = Counter()
    for number in range(900):
        shown = random_position(random.Random(f"decoded {number}"))
        phases[shown["phase"]] += 1
        position = Position.from_json(shown)
        for seat in range(position.players):
            found = decode(observe(position, seat), seat)
            assert json.dumps(found) == json.dumps(veiled(shown)), seat
    assert set(phases) == set(PHASES)


def test_decode_of_games():
    whole = 0
    for name, players in itertools.product(PRESETS, (2, 3, 6)):
        rng = random.Random(f"decoded {name} {players}")
        opening = Position.deal(Ruleset.preset(name, players=players), rng.randrange(2**64))
        for position in play_at_random(opening, rng):
            seat = rng.randrange(players)
            shown = position.to_json()
            found = decode(observe(position, seat), seat)
            assert found == veiled(shown)
            if max(map(len, shown["towers"])) <= N_SHOWN:
                assert Position.from_json(found) == position
                whole += 1
    assert whole > 100


def test_decode_as_seen_from_the_observer():
    """Without a seat the observer is seat 0."""
    shown = table(player=1, phase="roll", die=0)
    found = decode(observe(Position.from_json(shown), 1))
    assert found["player"] == 0
    assert found["pawns"] == shown["pawns"][::-1]
    assert found["towers"] == shown["towers"][::-1]


# Masks and errors ---------------------------------------------------------------------------


def test_the_mask_is_the_legal_actions():
    """And zeros for everybody else; the row `legal` says the same."""
    for number in range(600):
        shown = random_position(random.Random(f"masked {number}"))
        position = Position.from_json(shown)
        legal = reference.Game.from_json(shown).legal_actions()
        for seat in range(position.players):
            mask = action_mask(position, seat)
            assert mask.dtype == np.bool_
            assert mask.shape == (N_ACTIONS,)
            wanted = legal if seat == position.player else []
            assert np.flatnonzero(mask).tolist() == wanted
            row = views(observe(position, seat))["legal"]
            assert np.flatnonzero(row).tolist() == wanted
        assert np.flatnonzero(action_mask(position)).tolist() == legal


def test_without_a_seat_the_one_to_act_observes():
    for player in range(2):
        position = Position.from_json(table(player=player))
        np.testing.assert_array_equal(observe(position), observe(position, player))
        np.testing.assert_array_equal(action_mask(position), action_mask(position, player))


@pytest.mark.parametrize("function", [observe, action_mask])
@pytest.mark.parametrize("seat", [-1, 2, 5, 10**20])
def test_no_such_seat(function, seat):
    with pytest.raises(ValueError, match=rf"0 to 1.*{seat}"):
        function(Position.from_json(table()), seat)


@pytest.mark.parametrize("function", [observe, action_mask])
@pytest.mark.parametrize("seat", [0.5, "0", [0]])
def test_what_is_no_seat(function, seat):
    """Refused in words of our own, not those of a compiler."""
    with pytest.raises((TypeError, ValueError)) as caught:
        function(Position.from_json(table()), seat)
    assert "numba" not in type(caught.value).__module__


@pytest.mark.parametrize("function", [observe, action_mask])
def test_numpy_seats_are_seats(function):
    position = Position.from_json(table())
    np.testing.assert_array_equal(function(position, np.int64(1)), function(position, 1))


def test_products_with_inverses_are_the_quotients():
    """All whole numbers that a scale can meet, and far more, to the last bit."""
    numbers = np.arange(-2000, 2001)
    for scale in (10, 128, 8, 6, 20, 37, 32, 3, 5):
        quotients = (numbers / scale).astype(np.float32)
        assert (quotients == numbers.astype(np.float32) / np.float32(scale)).all()
        assert ((numbers * (1 / scale)).astype(np.float32) == quotients).all()
