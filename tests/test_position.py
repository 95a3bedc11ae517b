"""`Position` and `Ruleset` as they are promised: reading, refusing, writing, staying unchanged."""

import copy
import json
import pickle
import random
import re
from typing import Any

import numpy as np
import pytest
import reference
from conftest import random_position

from thatslife_env import PRESETS, IllegalMoveError, Position, PositionError, Ruleset
from thatslife_env.board import LAYOUTS, RULES, STATE
from thatslife_env.position import dice

L = "lucky"
N_MUTANTS = 12_000


def printed() -> dict:
    """The position printed on the rule page."""
    return json.loads(
        """
        {"rules": {"players": 2, "pawns": 3, "guards": false, "scoring": "standard"},
         "track": ["start", -3, "lucky", 5, "gift", -1, "finish"],
         "pawns": [[0, 2, 6], [0, 0, 4]], "guards": [],
         "towers": [[-4, "lucky"], []],
         "player": 0, "phase": "move", "die": 4}
        """
    )


def three_seats() -> dict:
    """Three seats, guards, expert scoring; seat 0 is to roll, seat 2 is home."""
    return {
        "rules": {"players": 3, "pawns": 2, "guards": True, "scoring": "expert"},
        "track": ["start", -3, L, 5, "steal", "finish"],
        "pawns": [[0, 2], [0, 5], [5, 5]],
        "guards": [2, 2, 5],
        "towers": [[-4], [3], [3, L]],
        "player": 0,
        "phase": "roll",
        "die": 0,
    }


def changed(base: dict, change: dict) -> dict:
    """The base with other values; a key like `rules.players` reaches inside."""
    position = copy.deepcopy(base)
    for key, value in change.items():
        place: Any = position
        *above, last = key.split(".")
        for part in above:
            place = place[part]
        place[last] = value
    return position


def some_positions(number: int = 60) -> list[Position]:
    """Deals, positions of games, and made-up ones in every phase."""
    rng = random.Random("some positions")
    made = [Position.deal(Ruleset.preset(name, players=3), 1) for name in PRESETS]
    for name in PRESETS:
        position = made[list(PRESETS).index(name)]
        for _ in range(40):
            if position.phase == "roll":
                position = position.roll(rng.randint(1, 6))
            else:
                position = position.play(rng.choice(position.legal_actions()))
        made.append(position)
    return made + [Position.from_json(random_position(rng)) for _ in range(number)]


# Refusing: the list of the rule page, clause by clause -----------------------------------

AWAY = object()  # in place of a value: the key is left out

REFUSED: dict[str, list[tuple[dict, str]]] = {
    "a key is missing": [
        *[({key: AWAY}, key) for key in three_seats()],
        *[({f"rules.{key}": AWAY}, key) for key in three_seats()["rules"]],
    ],
    "or unknown": [
        ({"version": 1}, "version"),
        ({"Track": []}, "Track"),
        ({"rules.layout": "standard"}, "layout"),
        ({"rules.action_tiles": True}, "action_tiles"),
    ],
    "or of the wrong type": [
        ({"rules": []}, "rules"),
        ({"rules": None}, "rules"),
        ({"rules": "basic"}, "rules"),
        ({"rules.players": 3.0}, "rules.players"),
        ({"rules.players": "3"}, "rules.players"),
        ({"rules.players": None}, "rules.players"),
        ({"rules.pawns": 2.0}, "rules.pawns"),
        ({"rules.pawns": [2]}, "rules.pawns"),
        ({"rules.guards": 1}, "rules.guards"),
        ({"rules.guards": "true"}, "rules.guards"),
        ({"rules.guards": None}, "rules.guards"),
        ({"rules.scoring": 1}, "rules.scoring"),
        ({"rules.scoring": ["expert"]}, "rules.scoring"),
        ({"track": "start"}, "track"),
        ({"track": None}, "track"),
        ({"track": {"start": 0}}, "track"),
        ({"track": ["start", None, "finish"]}, "track[1]"),
        ({"track": ["start", -3, [L], 5, "steal", "finish"]}, "track[2]"),
        ({"track": ["start", -3.0, L, 5, "steal", "finish"]}, "track[1]"),
        ({"track": ["start", "-3", L, 5, "steal", "finish"]}, "track[1]"),
        ({"pawns": None}, "pawns"),
        ({"pawns": {"0": [0, 2]}}, "pawns"),
        ({"pawns": [[0, 2], 0, [5, 5]]}, "pawns[1]"),
        ({"pawns": [[0, 2], "05", [5, 5]]}, "pawns[1]"),
        ({"pawns": [[0, 2], [0, 5], [5, 5.0]]}, "pawns[2][1]"),
        ({"pawns": [["0", 2], [0, 5], [5, 5]]}, "pawns[0][0]"),
        ({"pawns": [[None, 2], [0, 5], [5, 5]]}, "pawns[0][0]"),
        ({"guards": None}, "guards"),
        ({"guards": 2}, "guards"),
        ({"guards": [2, "2", 5]}, "guards[1]"),
        ({"guards": [2, 2.0, 5]}, "guards[1]"),
        ({"guards": [[2], 2, 5]}, "guards[0]"),
        ({"towers": None}, "towers"),
        ({"towers": [[-4], [3], L]}, "towers[2]"),
        ({"towers": [[-4], None, [3, L]]}, "towers[1]"),
        ({"towers": [[-4], [3], [3.0, L]]}, "towers[2][0]"),
        ({"towers": [[-4], [3], [3, None]]}, "towers[2][1]"),
        ({"towers": [[-4], [3], [3, [L]]]}, "towers[2][1]"),
        ({"player": "0"}, "player"),
        ({"player": 0.0}, "player"),
        ({"player": None}, "player"),
        ({"phase": 0}, "phase"),
        ({"phase": None}, "phase"),
        ({"phase": ["roll"]}, "phase"),
        ({"die": "0"}, "die"),
        ({"die": 0.0}, "die"),
        ({"die": None}, "die"),
    ],
    "(booleans are not numbers)": [
        ({"rules.players": True}, "rules.players"),
        ({"rules.pawns": True}, "rules.pawns"),
        ({"track": ["start", True, L, 5, "steal", "finish"]}, "track[1]"),
        ({"pawns": [[False, 2], [0, 5], [5, 5]]}, "pawns[0][0]"),
        ({"guards": [True, 2, 5]}, "guards[0]"),
        ({"towers": [[-4], [True], [3, L]]}, "towers[1][0]"),
        ({"player": False}, "player"),
        ({"player": True}, "player"),
        ({"die": False}, "die"),
        ({"phase": "move", "die": True}, "die"),
    ],
    "a value is outside its set": [
        ({"rules.players": 1}, "rules.players"),
        ({"rules.players": 7}, "rules.players"),
        ({"rules.players": -(10**30)}, "rules.players"),
        ({"rules.pawns": 0}, "rules.pawns"),
        ({"rules.pawns": 4}, "rules.pawns"),
        ({"rules.scoring": "Expert"}, "rules.scoring"),
        ({"rules.scoring": ""}, "rules.scoring"),
        ({"track": ["start", 0, L, 5, "steal", "finish"]}, "track[1]"),
        ({"track": ["start", 9, L, 5, "steal", "finish"]}, "track[1]"),
        ({"track": ["start", -11, L, 5, "steal", "finish"]}, "track[1]"),
        ({"track": ["start", -3, "Lucky", 5, "steal", "finish"]}, "track[2]"),
        ({"track": ["start", 11, 13, 14, 15, "finish"]}, "track[1]"),
        ({"player": 3}, "player"),
        ({"player": -1}, "player"),
        ({"player": 2**70}, "player"),
        ({"phase": "Roll"}, "phase"),
        ({"phase": "stealing"}, "phase"),
        ({"phase": ""}, "phase"),
        ({"die": -1}, "die"),
        ({"die": 7, "phase": "move"}, "die"),
        ({"die": 256, "phase": "move"}, "die"),
    ],
    "counts don't match `rules`": [
        ({"pawns": [[0, 2], [0, 5]]}, "pawns"),
        ({"pawns": [[0, 2], [0, 5], [5, 5], [5, 5]]}, "pawns"),
        ({"pawns": []}, "pawns"),
        ({"pawns": [[0, 2], [0, 5], [5]]}, "pawns[2]"),
        ({"pawns": [[0, 2], [0, 0, 5], [5, 5]]}, "pawns[1]"),
        ({"pawns": [[], [], []]}, "pawns[0]"),
        ({"towers": [[], []]}, "towers"),
        ({"towers": [[], [], [], []]}, "towers"),
        ({"rules.players": 2}, "pawns"),
        ({"rules.players": 4}, "pawns"),
        ({"rules.pawns": 1}, "pawns[0]"),
        ({"rules.pawns": 3}, "pawns[0]"),
    ],
    "the track doesn't begin with its only `start` and end with its only `finish`": [
        ({"track": []}, "track"),
        ({"track": ["start"]}, "track"),
        ({"track": ["finish"]}, "track"),
        ({"track": ["finish", "start"]}, "track"),
        ({"track": [-3, L, 5, "steal", "gift", "finish"]}, "track"),
        ({"track": ["start", -3, L, 5, "steal", 2]}, "track"),
        ({"track": [-3, "start", L, 5, "steal", "finish"]}, "track"),
        ({"track": ["start", -3, L, "finish", 5, "steal"]}, "track"),
        ({"track": ["start", "start", L, 5, "steal", "finish"]}, "track[1]"),
        ({"track": ["start", -3, L, 5, "finish", "finish"]}, "track[4]"),
    ],
    "there are more than 32 tiles on track and towers together": [
        ({"track": ["start", *[1] * 33, "finish"], "towers": [[], [], []]}, "track"),
        ({"towers": [[-4] * 30, [], []]}, "tower"),
        ({"towers": [[-4] * 10, [3] * 10, [L] * 10]}, "tower"),
        ({"towers": [[-4] * 200, [], []]}, "tower"),
    ],
    "or more than 4 action tiles": [
        ({"track": ["start", *["gift"] * 5, "finish"]}, "track"),
        ({"track": ["start", "gift", "steal", "gift", "steal", "steal", "finish"]}, "track"),
    ],
    "a tower holds anything but tiles": [
        ({"towers": [["gift"], [3], [3, L]]}, "towers[0][0]"),
        ({"towers": [[-4], ["steal"], [3, L]]}, "towers[1][0]"),
        ({"towers": [[-4], [3], [3, "start"]]}, "towers[2][1]"),
        ({"towers": [[-4], [3], ["finish", L]]}, "towers[2][0]"),
        ({"towers": [[0], [3], [3, L]]}, "towers[0][0]"),
        ({"towers": [[9], [3], [3, L]]}, "towers[0][0]"),
        ({"towers": [[-4], [3], [3, -11]]}, "towers[2][1]"),
    ],
    "a piece is off the track": [
        ({"pawns": [[0, 6], [0, 5], [5, 5]]}, "pawns[0][1]"),
        ({"pawns": [[0, 2], [-1, 5], [5, 5]]}, "pawns[1][0]"),
        ({"guards": [2, 2, 6]}, "guards[2]"),
        ({"guards": [-1, 2, 5]}, "guards[0]"),
        ({"guards": [2, 2, 2**40]}, "guards[2]"),
    ],
    "or a list not ascending": [
        ({"pawns": [[2, 0], [0, 5], [5, 5]]}, "pawns[0]"),
        ({"pawns": [[0, 2], [5, 0], [5, 5]]}, "pawns[1]"),
        ({"guards": [2, 5, 2]}, "guards"),
    ],
    "there are guards without `guards`": [({"rules.guards": False}, "guards")],
    "or more than 8": [
        ({"guards": [2] * 9}, "guards"),
        ({"guards": [0] * 100}, "guards"),
    ],
    "die and phase don't fit": [
        ({"die": 1}, "die"),
        ({"phase": "move"}, "die"),
        ({"phase": "steal"}, "die"),
        ({"phase": "give", "towers": [[-4], [3], [3]]}, "die"),
        ({"phase": "over", "pawns": [[5, 5]] * 3, "die": 6}, "die"),
    ],
    "the seat to roll or move has no unfinished pawn": [
        ({"player": 2}, "player"),
        ({"player": 2, "phase": "move", "die": 1}, "player"),
    ],
    "`over` with a pawn on the way": [
        ({"phase": "over"}, "phase"),
        ({"phase": "over", "player": 2, "pawns": [[5, 5], [4, 5], [5, 5]]}, "phase"),
    ],
    "or another phase than `over`, `give` or `steal` with none": [
        ({"pawns": [[5, 5]] * 3}, "player"),
        ({"pawns": [[5, 5]] * 3, "phase": "move", "die": 1}, "player"),
    ],
    "a `give` or `steal` whose choice is not among at least two seats": [
        ({"phase": "give", "die": 1, "towers": [[], [3], [3]]}, "phase"),
        ({"phase": "give", "die": 1, "towers": [[-4], [3], [4]]}, "phase"),
        ({"phase": "give", "die": 1, "towers": [[4], [L], [1]]}, "phase"),
        ({"phase": "give", "die": 1, "towers": [[L], [L], [-1]]}, "phase"),
        ({"phase": "steal", "die": 1, "towers": [[-4], [], [4]]}, "phase"),
        ({"phase": "steal", "die": 1, "towers": [[-4], [], []]}, "phase"),
    ],
}

CLAUSES = [
    pytest.param(change, place, id=f"{clause}-{number}")
    for clause, cases in REFUSED.items()
    for number, (change, place) in enumerate(cases)
]


@pytest.mark.parametrize(("change", "place"), CLAUSES)
def test_refused_with_the_place(change, place):
    position = three_seats()
    for key, value in change.items():
        if value is AWAY:
            *above, last = key.split(".")
            del (position["rules"] if above else position)[last]
        else:
            position = changed(position, {key: value})
    assert reference.problems(position) != []
    before = copy.deepcopy(position)
    with pytest.raises(PositionError) as refusal:
        Position.from_json(position)
    assert re.search(rf"(?<!\w){re.escape(place)}", str(refusal.value)), str(refusal.value)
    assert position == before
    with pytest.raises(PositionError, match=re.escape(str(refusal.value).split(" not ")[0])):
        Position.from_json(json.dumps(position))


def test_refusals_are_value_errors_and_short():
    with pytest.raises(ValueError) as refusal:
        Position.from_json(changed(three_seats(), {"phase": "x" * 10**6}))
    assert len(str(refusal.value)) < 300
    for key in ("track", "pawns", "guards", "towers"):
        with pytest.raises(PositionError) as refusal:
            Position.from_json(changed(three_seats(), {key: ["start", "y" * 10**6, "finish"]}))
        assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"guards": []},
        {"guards": [0] * 8},
        {"guards": [5] * 8},
        {"rules.guards": False, "guards": []},
        {"player": 1},
        {"player": 1, "phase": "move", "die": 6},
        {"player": 2, "phase": "steal", "die": 1},  # who is home can still have a choice
        {"phase": "give", "die": 1, "towers": [[-4], [L], []]},
        {"phase": "give", "die": 6, "towers": [[L], [-2], [-2]]},
        {"track": ["start", "finish"], "pawns": [[0, 1], [0, 1], [1, 1]], "guards": []},
        {"track": ["start", "finish"], "pawns": [[1, 1]] * 3, "guards": [], "phase": "over"},
        {"pawns": [[5, 5]] * 3, "phase": "over", "player": 2},
        {"pawns": [[5, 5]] * 3, "phase": "steal", "die": 2},
        {"towers": [[-10] * 29, [], []]},
        {"towers": [[L] * 9, [8] * 20, []]},
        {"track": ["start", *[-10] * 26, *["gift"] * 4, "finish"], "towers": [[8] * 6, [], []]},
        {"track": ["start", *[L] * 32, *["steal"] * 4, "finish"], "towers": [[], [], []]},
        {"track": ["start", *["gift"] * 4, "finish"]},
    ],
)
def test_accepted(change):
    """Whether the game could have come there is not asked."""
    position = changed(three_seats(), change)
    assert reference.problems(position) == []
    assert Position.from_json(position).to_json() == position


def test_the_printed_example_is_accepted():
    position = Position.from_json(printed())
    assert position.to_json() == printed()
    assert (position.phase, position.player, position.die) == ("move", 0, 4)
    assert position.players == 2
    assert not position.is_over
    assert position.legal_actions() == [0, 1]


# Refusing: the same as the reference does ------------------------------------------------

JUNK = [
    *[None, True, False, -1, 0, 1, 2, 6, 7, 8, 9, 13, 127, 128, 256, -11, -128, 10**30],
    *[0.0, 1.0, 1.5, float("nan"), float("inf")],
    *["", "lucky", "gift", "steal", "start", "finish", "roll", "over", "expert", "1", "\ud800"],
    *[[], [[]], [0], [[0]], ["start", "finish"], {}, {"a": 1}, {"players": 2}, [None], [[[[[1]]]]]],
]


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Every place inside a position, as (what holds it, key)."""
    found: list[tuple[Any, Any]] = []
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in entries:
        found.append((value, key))
        found += spots(inner)
    return found


def mutate(position: dict, rng: random.Random) -> None:
    """One change somewhere: nudged, replaced, removed, added, swapped, repeated, retyped."""
    places = spots(position)
    if not places:
        return
    holder, key = rng.choice(places)
    value = holder[key]
    kind = rng.randrange(9)
    if kind <= 1 and isinstance(value, int):
        holder[key] = value + rng.choice([-1, 1])
    elif kind == 2:
        holder[key] = copy.deepcopy(rng.choice(JUNK))
    elif kind == 3:
        del holder[key]
    elif kind == 4 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(rng.choice([value, rng.choice(JUNK)])))
    elif kind == 4:
        holder[rng.choice(["version", "die", "layout", 0])] = copy.deepcopy(rng.choice(JUNK))
    elif kind == 5:
        other, its_key = rng.choice(places)
        holder[key], other[its_key] = copy.deepcopy(other[its_key]), copy.deepcopy(value)
    elif kind == 6 and isinstance(value, list):
        rng.shuffle(value)
    elif kind == 6 and isinstance(value, int):
        holder[key] = rng.choice([bool(value), float(value), str(value), [value]])
    elif kind == 7:
        position["phase"] = rng.choice(["roll", "move", "give", "steal", "over"])
        position["die"] = rng.choice([0, 1, 6])
    elif kind == 8 and isinstance(position.get("player"), int):
        position["player"] = rng.randrange(6)


@pytest.mark.parametrize("part", range(4))
def test_acceptance_is_that_of_the_reference(part):
    accepted = refused = 0
    for number in range(part, N_MUTANTS, 4):
        rng = random.Random(f"mutant {number}")
        position = random_position(rng)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutate(position, rng)
        where = f"mutant {number}: {position!r}"
        before = copy.deepcopy(position)
        problems = reference.problems(position)
        try:
            read = Position.from_json(position)
        except PositionError as error:
            refusal = str(error)
        else:
            refusal = ""
        assert bool(refusal) == bool(problems), f"{where}\nours: {refusal}\ntheirs: {problems}"
        if refusal:
            refused += 1
        else:
            assert json.dumps(read.to_json(), sort_keys=True) == json.dumps(
                position, sort_keys=True
            )
            accepted += 1
        assert repr(position) == repr(before), where
    assert accepted > N_MUTANTS / 4 / 8
    assert refused > N_MUTANTS / 4 / 4


def test_every_junk_everywhere():
    """Any value in any place is either right or a PositionError, never another exception."""
    for base in (printed(), three_seats()):
        for number in range(len(spots(base))):
            for thing in JUNK:
                position = copy.deepcopy(base)
                holder, key = spots(position)[number]
                holder[key] = copy.deepcopy(thing)
                try:
                    Position.from_json(position)
                except PositionError:
                    assert reference.problems(position), position
                else:
                    assert not reference.problems(position), position


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("track", ["start", np.int64(-3), L, 5, "steal", "finish"]),
        ("pawns", [[np.int64(0), 2], [0, 5], [5, 5]]),
        ("guards", [np.int64(2), 2, 5]),
        ("towers", [[np.int64(-4)], [3], [3, L]]),
        ("player", np.int64(0)),
        ("die", np.int64(0)),
        ("rules.players", np.int64(3)),
        ("rules.pawns", np.int64(2)),
        ("rules.guards", np.True_),
    ],
)
def test_numpy_numbers_are_not_json(key, value):
    """The same answer everywhere: of the wrong type, as for every other reader of the JSON."""
    position = changed(three_seats(), {key: value})
    assert reference.problems(position) != []
    with pytest.raises(PositionError):
        Position.from_json(position)


# Reading text ----------------------------------------------------------------------------


def test_text_and_bytes():
    position = Position.from_json(printed())
    text = json.dumps(printed())
    for form in (text, text.encode(), bytearray(text.encode()), json.dumps(printed(), indent=2)):
        assert Position.from_json(form) == position
    assert Position.from_json(f"\n  {text}\n") == position


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        " ",
        "null",
        "true",
        "3",
        "[]",
        '"roll"',
        "{}",
        "NaN",
        "{'rules': 1}",
        "start -3 finish",
        json.dumps(printed())[:-1],
        json.dumps(printed()) + "}",
        json.dumps(printed()) + json.dumps(printed()),
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"rules":' * 20_000,
        '{"die": ' + "9" * 10_000 + "}",
        "\ud800",
        b"",
        b"\xff\xfe\x00",
        b"\x80\x81",
        bytearray(b"{"),
        b'{"rules": "\xff"}',
    ],
    ids=range(24),
)
def test_garbage_text(garbage):
    with pytest.raises(PositionError):
        Position.from_json(garbage)


@pytest.mark.parametrize(
    "garbage",
    [
        *[None, True, 0, 1.5, [], (), set(), object(), Position, len],
        *[[printed()], tuple(printed().items()), Position.from_json(printed())],
        *[np.zeros(3), np.zeros(1, STATE), memoryview(b"{}")],
    ],
    ids=range(16),
)
def test_garbage_objects(garbage):
    with pytest.raises(PositionError):
        Position.from_json(garbage)


@pytest.mark.parametrize(
    "key", ["rules", "track", "pawns", "guards", "towers", "player", "phase", "die"]
)
def test_deep_garbage(key):
    """Nested deeper than Python can print: refused all the same."""
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    for value in (deep, ["start", deep, "finish"], [deep, [], []]):
        with pytest.raises(PositionError):
            Position.from_json(changed(three_seats(), {key: value}))


def test_numbers_of_many_digits():
    for key in ("player", "die", "rules.players", "rules.pawns"):
        for number in (10**5000, -(10**5000)):
            with pytest.raises(PositionError):
                Position.from_json(changed(three_seats(), {key: number}))
    with pytest.raises(PositionError):
        Position.from_json(changed(three_seats(), {"towers": [[10**5000], [], []]}))


# Writing and reading back ----------------------------------------------------------------


def test_round_trips():
    phases = set()
    for position in some_positions():
        phases.add(position.phase)
        shown = position.to_json()
        assert Position.from_json(shown) == position
        assert Position.from_json(json.dumps(shown)) == position
        assert Position.from_json(json.dumps(shown).encode()) == position
        assert json.loads(json.dumps(shown)) == shown
        assert eval(repr(position), {"Position": Position}) == position
        assert copy.copy(position) is position
        assert copy.deepcopy(position) is position
        assert Position.from_state(position.state) == position
        assert Position.from_state(position.state[0]) == position
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(position, protocol)) == position
        for again in (copy.deepcopy(position), pickle.loads(pickle.dumps(position))):
            assert again.to_json() == shown
            assert again.legal_actions() == position.legal_actions()
            assert again.state.tobytes() == position.state.tobytes()
    assert phases == {"roll", "move", "give", "steal", "over"}


def test_json_has_plain_types_in_the_order_of_the_rule_page():
    for position in some_positions():
        shown = position.to_json()
        assert list(shown) == list(printed())
        assert list(shown["rules"]) == list(printed()["rules"])
        leaves = [holder[key] for holder, key in spots(shown)]
        assert {type(leaf) for leaf in leaves} <= {int, str, bool, list, dict}


def test_repr_is_one_line_that_pastes_back():
    position = Position.from_json(printed())
    assert "\n" not in repr(position)
    assert repr(position).startswith("Position.from_json(")


def test_plain_answers():
    """Everything a Position answers is of Python's own types."""
    for position in some_positions(20):
        assert type(position.player) is int
        assert type(position.die) is int
        assert type(position.is_over) is bool
        assert type(position.phase) is str
        assert all(type(action) is int for action in position.legal_actions())
        assert all(type(points) is int for points in position.scores())
        assert all(type(seat) is int for seat in position.winners())
        assert all(type(share) is float for share in position.win_shares())
        assert sum(position.win_shares()) == pytest.approx(1)
        assert len(position.scores()) == len(position.win_shares()) == position.players


# Staying unchanged -----------------------------------------------------------------------


def test_immutable():
    position = Position.from_json(printed())
    before = hash(position)
    for name in ("phase", "player", "die", "state", "_state", "anything"):
        with pytest.raises(AttributeError):
            setattr(position, name, 1)
    for name in ("phase", "_state", "anything"):
        with pytest.raises(AttributeError):
            delattr(position, name)
    with pytest.raises((AttributeError, TypeError)):
        position.__dict__["phase"] = 1
    with pytest.raises(ValueError, match="read-only"):
        position.state["die"] = 3
    with pytest.raises(ValueError, match="read-only"):
        position.state["towers"][0, 0, 0] = 3
    assert (hash(position), position.to_json()) == (before, printed())


def test_not_made_by_its_class():
    for arguments in ((), (printed(),), (np.zeros(1, STATE),)):
        with pytest.raises(TypeError, match="from_json"):
            Position(*arguments)


def test_what_it_gives_away_is_nobodys_but_the_callers():
    position = Position.from_json(printed())
    shown = position.to_json()
    shown["towers"][0].append(8)
    shown["rules"]["players"] = 6
    shown["track"].clear()
    position.legal_actions().append(9)
    position.scores().clear()
    position.winners().append(5)
    assert position.to_json() == printed()
    assert position.legal_actions() == [0, 1]


def test_what_it_is_given_is_copied():
    given = printed()
    position = Position.from_json(given)
    given["towers"][0].append(8)
    given["pawns"][0][0] = 1
    assert position.to_json() == printed()
    states = np.zeros(3, STATE)
    states[1] = position.state[0]
    copied = Position.from_state(states[1])
    also = Position.from_state(states[1:2])
    states["die"] = 6
    assert copied == also == position
    assert not np.shares_memory(copied.state, states)


def test_positions_share_no_memory():
    rng = random.Random("memory")
    position = Position.deal(Ruleset.preset("full", players=4), 3)
    kept = [position]
    shown = [position.to_json()]
    while not position.is_over and len(kept) < 120:
        if position.phase == "roll":
            kept += [position.roll(die) for die in (1, 6)]
            position = position.roll(rng.randint(1, 6))
        else:
            position = position.play(rng.choice(position.legal_actions()))
        kept.append(position)
    shown = [one.to_json() for one in kept]
    for one in kept:
        assert one.state.dtype == STATE
        assert one.state.shape == (1,)
        assert not one.state.flags.writeable
    for number, one in enumerate(kept):
        assert not any(np.shares_memory(one.state, other.state) for other in kept[number + 1 :])
    for one in kept:  # and none changed when others were made from it
        for action in one.legal_actions():
            one.play(action)
            one.describe(action)
        str(one)
    assert [one.to_json() for one in kept] == shown


def test_equal_and_hash():
    position = Position.from_json(printed())
    same = Position.from_json(json.dumps(printed()))
    assert position == same
    assert (position != same) is False
    assert hash(position) == hash(same)
    assert len({position, same}) == 1
    for change in (
        {"die": 3},
        {"player": 1},
        {"phase": "roll", "die": 0},
        {"track": ["start", -3, L, 5, "steal", -1, "finish"]},
        {"track": ["start", -3, L, 5, "gift", -1, 1, "finish"]},
        {"pawns": [[0, 1, 6], [0, 0, 4]]},
        {"towers": [[L, -4], []]},
        {"towers": [[-4, L], [1]]},
        {"rules.scoring": "expert"},
        {"rules.guards": True},
        {"rules.guards": True, "guards": [2]},
    ):
        other = Position.from_json(changed(printed(), change))
        assert position != other, change
        assert (position == other) is False, change
    for other in (printed(), json.dumps(printed()), None, 0, position.state):
        assert (position == other) is False
        assert (position != other) is True


def test_the_same_position_by_another_way_is_equal():
    """What was there before leaves no trace in a position."""
    start = Position.from_json(
        changed(printed(), {"pawns": [[1, 2, 3], [0, 0, 0]], "die": 6, "towers": [[], []]})
    )
    after = start.play(1)
    assert after == Position.from_json(after.to_json())
    one_way = start.play(0).roll(6).play(0).roll(6).play(0)
    other_way = start.play(1).roll(6).play(0).roll(6).play(0)
    assert one_way != other_way  # the towers differ in order
    assert one_way.to_json()["towers"] == [[-3, L], []]
    assert other_way.to_json()["towers"] == [[L, -3], []]
    assert one_way.to_json()["pawns"] == other_way.to_json()["pawns"]
    reordered = one_way.to_json() | {"towers": [[L, -3], []]}
    assert Position.from_json(reordered) == other_way
    assert hash(Position.from_json(reordered)) == hash(other_way)


# Rolling and playing -----------------------------------------------------------------------


class Thing:
    """Nothing anybody knows; shown alike in every process."""

    def __repr__(self) -> str:
        return "thing"


NOT_NUMBERS = [
    *[True, False, np.True_, np.False_, 1.0, 0.0, np.float64(1), 1.5, float("nan"), 1 + 0j],
    *["1", "", b"1", None, [], [1], (1,), {1}, {}, Thing()],
    *[np.array([1]), np.array([[0]]), np.array(1.0), np.array(True), np.array([])],
]


@pytest.mark.parametrize("die", [*NOT_NUMBERS, 0, 7, -1, 10**30, np.int64(0)], ids=repr)
def test_no_such_die(die):
    position = Position.deal(Ruleset(), 0)
    with pytest.raises(IllegalMoveError, match="die"):
        position.roll(die)
    assert position == Position.deal(Ruleset(), 0)


@pytest.mark.parametrize("action", [*NOT_NUMBERS, -1, 2, 3, 11, 15, 16, 10**30, -(2**63)], ids=repr)
def test_no_such_action(action):
    position = Position.from_json(printed())
    for refusing in (position.play, position.describe):
        with pytest.raises(IllegalMoveError):
            refusing(action)
    assert position.to_json() == printed()


def test_numpy_numbers_are_dice_and_actions():
    position = Position.deal(Ruleset(), 0)
    kinds = (np.int8, np.uint8, np.int32, np.int64, np.uint64)
    for kind in kinds:
        assert position.roll(kind(4)) == position.roll(4)
        rolled = Position.from_json(printed())
        assert rolled.play(kind(1)) == rolled.play(1)
        assert rolled.describe(kind(1)) == rolled.describe(1)
        assert rolled.play(np.array(1, kind)) == rolled.play(1)
        assert rolled.describe(np.array(1, kind)) == rolled.describe(1)


def test_a_die_may_be_a_number_in_a_0d_array_as_an_action_may():
    position = Position.deal(Ruleset(), 0)
    assert position.roll(np.array(4)) == position.roll(4)


def test_wrong_phase():
    for position in some_positions():
        before = position.to_json()
        if position.phase != "roll":
            for die in range(1, 7):
                with pytest.raises(IllegalMoveError, match=position.phase):
                    position.roll(die)
        if position.phase in ("roll", "over"):
            assert position.legal_actions() == []
            for action in range(16):
                with pytest.raises(IllegalMoveError):
                    position.play(action)
                with pytest.raises(IllegalMoveError):
                    position.describe(action)
        assert position.to_json() == before


def test_an_illegal_action_is_named_with_the_position():
    position = Position.from_json(printed())
    with pytest.raises(IllegalMoveError) as error:
        position.play(2)
    assert isinstance(error.value, ValueError)
    assert "2" in str(error.value)
    assert "[0, 1]" in str(error.value)
    assert repr(position) in str(error.value)


# Words -------------------------------------------------------------------------------------


def test_describe():
    position = Position.from_json(
        changed(
            three_seats(),
            {"pawns": [[1, 2], [0, 4], [5, 5]], "guards": [2, 4], "phase": "move", "die": 2},
        )
    )
    assert position.legal_actions() == [0, 1, 3, 4]
    assert position.describe(0) == "pawn from 1 (-3) to 3 (5), takes -3"
    assert position.describe(1) == "pawn from 2 (lucky) to 4 (steal)"
    assert position.describe(3) == "guard from 2 (lucky) to 4 (steal)"
    assert position.describe(4) == "guard from 4 (steal) to 5 (finish)"
    position = Position.from_json(
        changed(three_seats(), {"pawns": [[0, 4], [0, 5], [5, 5]], "phase": "move", "die": 6})
    )
    assert position.describe(0) == "pawn from 0 (start) to 5 (finish)"
    assert position.describe(1) == "pawn from 4 (steal) to 5 (finish), turns the steal"
    position = Position.from_json(changed(three_seats(), {"phase": "steal", "die": 6}))
    assert position.describe(11) == "steal 3 from seat 1"
    assert position.describe(12) == "steal lucky from seat 2"
    position = Position.from_json(
        changed(three_seats(), {"phase": "give", "die": 6, "towers": [[-4], [3], [3]]})
    )
    assert position.describe(12) == "give -4 to seat 2"


def words(text: str) -> str:
    return " ".join(text.split())


def test_str_shows_the_essentials():
    for position in some_positions(200):
        shown = position.to_json()
        text = str(position)
        lines = text.split("\n")
        assert all(len(line) <= 100 and line == line.rstrip() for line in lines), text
        # whose turn it is, and what it is about
        if position.is_over:
            assert "over" in lines[0]
            winners = re.findall(r"\d+", lines[0])
            assert [int(seat) for seat in winners] == position.winners()
        else:
            numbers = [position.player] + ([position.die] if position.die else [])
            assert [int(number) for number in re.findall(r"\d+", lines[0])] == numbers
            word = {"roll": "roll", "move": "move", "give": "give", "steal": "steal"}
            assert word[position.phase] in lines[0]
        # every tile in order
        head, _, tail = text.partition("seat 0:")
        faces = [f"{face:+d}" if isinstance(face, int) else face for face in shown["track"]]
        drawn = re.findall(r"[+-]\d+|lucky|gift|steal|start|finish", head.split("\n", 1)[1])
        assert drawn == faces, text
        # every tower, bottom to top, and every score
        for seat, (tower, points) in enumerate(
            zip(shown["towers"], position.scores(), strict=True)
        ):
            stack = " ".join(f"{face:+d}" if isinstance(face, int) else face for face in tower)
            assert f"seat {seat}: {points} points {stack or '-'}" in words(text), text
        assert tail


def test_str_shows_every_piece_under_its_tile():
    text = str(Position.from_json(three_seats()))
    assert text.split("\n")[0] == "seat 0 to roll"
    tiles, pieces = text.split("\n")[1:3]
    under: dict[str, str] = {}
    for match in re.finditer(r"\S+", tiles):
        # right-aligned: a piece list ends below the end of its tile
        left = tiles.rfind(" ", 0, match.start())
        under[match.group()] = pieces[max(left, 0) : match.end()].strip()
    assert under["start"] == "01"
    assert under["-3"] == ""
    assert under["lucky"] == "gg0"
    assert under["steal"] == ""
    assert under["finish"] == "g122"


def test_str_golden():
    assert str(Position.from_json(printed())) == (
        "seat 0 rolled 4, to move\n"
        "  start     -3  lucky     +5   gift     -1 finish\n"
        "    011             0             1             0\n"
        ">seat 0:    4 points  -4 lucky\n"
        " seat 1:    0 points  -"
    )


# Rulesets ----------------------------------------------------------------------------------


def test_defaults_are_those_of_the_basic_game():
    assert Ruleset() == Ruleset(2, 3, "shuffled", True, False, "standard")
    assert Ruleset() == Ruleset.preset("basic")
    assert Ruleset().to_dict() == {
        "players": 2,
        "pawns": 3,
        "layout": "shuffled",
        "action_tiles": True,
        "guards": False,
        "scoring": "standard",
    }


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("players", [1, 7, 0, -2, 2.0, "2", None, True, [2], float("nan"), 10**30]),
        ("pawns", [0, 4, -1, 3.0, "3", None, True, [3]]),
        ("layout", ["Standard", "", "basic", None, 3, True, {}, {1, 2}, 1.5, [], ()]),
        ("layout", [[0], [9], [-11], [True], [1.0], ["1"], ["start"], ["finish"], [None], [[1]]]),
        ("layout", [[1] * 33, ["gift"] * 5, [1] * 32 + ["gift"] * 5, ["gift", "steal"] * 3]),
        ("action_tiles", [0, 1, None, "true", "", [True]]),
        ("guards", [0, 1, None, "false", [False]]),
        ("scoring", ["Standard", "", None, 0, 1, True, ["expert"]]),
    ],
)
def test_fields_outside_their_sets(field, values):
    for value in values:
        with pytest.raises(ValueError, match=field):
            Ruleset(**{field: value})
        with pytest.raises(ValueError, match=field):
            Ruleset.preset("full", **{field: value})
        with pytest.raises(ValueError, match=field):
            Ruleset.of({field: value})


def test_a_wrong_entry_of_a_list_is_named():
    with pytest.raises(ValueError, match=r"layout\[2\]"):
        Ruleset(layout=[1, L, "loocky", 4])


def test_fields_inside_their_sets():
    for players in range(2, 7):
        for pawns in (1, 2, 3):
            for layout in (*LAYOUTS, (L,), (-10, "gift", 8)):
                for scoring in ("standard", "expert"):
                    made = Ruleset(players=players, pawns=pawns, layout=layout, scoring=scoring)
                    assert (made.players, made.pawns) == (players, pawns)
                    assert (made.layout, made.scoring) == (layout, scoring)
                    assert Ruleset.of(json.loads(json.dumps(made.to_dict()))) == made


def test_a_list_becomes_a_tuple_of_its_own():
    entries = [1, L, -3]
    made = Ruleset(layout=entries)
    entries.append(8)
    assert made.layout == (1, L, -3)
    assert made == Ruleset(layout=(1, L, -3))
    assert hash(made) == hash(Ruleset(layout=(1, L, -3)))
    assert made.to_dict()["layout"] == [1, L, -3]


def test_rulesets_are_frozen():
    made = Ruleset()
    with pytest.raises(AttributeError):
        made.players = 3  # type: ignore[misc]
    with pytest.raises((ValueError, RuntimeError)):
        made.record["players"] = 3
    assert made.record["players"] == 2
    assert made.record.dtype == RULES
    assert len({Ruleset(), Ruleset(players=3), Ruleset(), Ruleset.preset("expert")}) == 3
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made


def test_numpy_numbers_make_plain_rulesets():
    made = Ruleset(players=np.int64(3), pawns=np.int8(2), layout=[np.int64(5), L])
    assert made == Ruleset(players=3, pawns=2, layout=[5, L])
    assert json.loads(json.dumps(made.to_dict())) == Ruleset(3, 2, (5, L)).to_dict()


@pytest.mark.parametrize("name", ["Basic", "", "medium", None, 3])
def test_no_such_preset(name):
    with pytest.raises(ValueError, match="basic, classic, expert, full"):
        Ruleset.preset(name)


def test_preset_overrides():
    assert Ruleset.preset("classic", players=5).pawns == 2
    assert Ruleset.preset("classic", players=6).pawns == 2
    assert Ruleset.preset("classic", players=4).pawns == 3
    assert Ruleset.preset("classic").pawns == 3
    assert Ruleset.preset("classic", players=6, pawns=3).pawns == 3
    assert Ruleset.preset("classic", players=2, pawns=1).pawns == 1
    assert Ruleset.preset("full", players=6).pawns == 3
    assert Ruleset.preset("basic", guards=True).guards
    assert Ruleset.preset("full", scoring="standard", layout="variant2") == Ruleset(
        layout="variant2", guards=True
    )
    for unknown in ("seed", "Players", "preset", "action"):
        with pytest.raises(ValueError, match=unknown):
            Ruleset.preset("basic", **{unknown: 1})


def test_of():
    assert Ruleset.of("full") == Ruleset.preset("full")
    assert Ruleset.of("classic", players=5) == Ruleset.preset("classic", players=5)
    made = Ruleset(players=4, guards=True)
    assert Ruleset.of(made) == made
    assert Ruleset.of(made, players=4) == made
    assert Ruleset.of({}) == Ruleset()
    assert Ruleset.of({"preset": "full", "players": 4}) == Ruleset.preset("full", players=4)
    assert Ruleset.of({"preset": "full"}, players=4) == Ruleset.preset("full", players=4)
    assert Ruleset.of({"preset": "classic"}, players=6).pawns == 2
    assert Ruleset.of({"layout": [1, 2]}) == Ruleset(layout=(1, 2))
    assert Ruleset.of(made.to_dict()) == made
    given = {"preset": "full", "players": 3}
    Ruleset.of(given)
    assert given == {"preset": "full", "players": 3}


@pytest.mark.parametrize(
    "wrong",
    [None, 3, 2.5, True, [], ["full"], ("full",), Thing(), Ruleset, b"full", "", "FULL"],
    ids=repr,
)
def test_of_nonsense(wrong):
    with pytest.raises(ValueError):
        Ruleset.of(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"preset": "big"},
        {"preset": None},
        {"preset": ["full"]},
        {"preset": {}},
        {"seed": 1},
        {1: 2},
    ],
    ids=repr,
)
def test_of_wrong_mappings(wrong):
    with pytest.raises(ValueError):
        Ruleset.of(wrong)


def test_of_contradicting_players():
    for ruleset in (Ruleset(players=3), {"players": 3}, {"preset": "full", "players": 3}):
        assert Ruleset.of(ruleset, players=3).players == 3
        with pytest.raises(ValueError, match="players"):
            Ruleset.of(ruleset, players=2)
    for number in (1, 7, "2", 2.0):
        with pytest.raises(ValueError, match="players"):
            Ruleset.of("basic", players=number)


# Deals and seeds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed",
    [-1, 2**64, 2**200, -(2**64), True, False, 1.0, "1", b"1", None, [1], np.int64(-1), np.True_],
    ids=repr,
)
def test_seeds_out_of_range(seed):
    with pytest.raises(ValueError, match="seed"):
        Position.deal(Ruleset(), seed)
    with pytest.raises(ValueError, match="seed"):
        dice(seed, 0)


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
def test_seeds_in_range(seed):
    opening = Position.deal(Ruleset(), seed)
    assert opening.to_json() == reference.Game.deal(players=2, seed=seed).to_json()
    assert opening == Position.deal(Ruleset(), np.uint64(seed))
    assert [dice(seed, k) for k in range(5)] == [dice(np.uint64(seed), k) for k in range(5)]
    if seed < 2**63:
        assert opening == Position.deal(Ruleset(), np.int64(seed))
