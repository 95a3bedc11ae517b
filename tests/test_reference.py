"""Direct tests of the reference against the check values and examples of the rule document."""

from __future__ import annotations

import copy
import json
import random

import pytest
import reference as ref
from reference import Game

PRESETS = ["basic", "classic", "expert", "full"]
FULL_SET = sorted(
    [*range(-8, 0), *range(-10, 0), *range(1, 9), *["lucky"] * 6],
    key=str,
)

DEALS = {
    0: "-8 8 -4 -2 -2 6 -4 -7 -9 L 2 5 4 -6 L -8 -1 L -3 L 7 -5 1 -6 3 -5 L -3 -10 -1 L -7",
    7: "-6 5 L L 1 -9 -5 -8 -4 -2 -2 L 3 -3 -5 8 -1 7 -7 4 2 -3 L -4 L -8 -7 -10 6 -6 -1 L",
    2**64 - 1: (
        "L 7 -6 5 8 -9 L L L -2 -8 -5 -6 -2 -3 -4 L -4 2 1 6 -5 -1 4 -8 -3 -1 3 L -7 -10 -7"
    ),
}
ROLLS = {
    0: "2 3 5 4 2 2 1 6 5 2 3 4",
    7: "6 2 5 1 4 6 6 6 2 4 5 1",
    2**64 - 1: "1 2 3 6 3 2 3 4 2 3 4 5",
}


def example() -> dict:
    """The position printed in the rule document."""
    return json.loads(
        """
        {"rules": {"players": 2, "pawns": 3, "guards": false, "scoring": "standard"},
         "track": ["start", -3, "lucky", 5, "gift", -1, "finish"],
         "pawns": [[0, 2, 6], [0, 0, 4]], "guards": [],
         "towers": [[-4, "lucky"], []],
         "player": 0, "phase": "move", "die": 4}
        """
    )


def board(track: list, pawns: list, *, guards: tuple = (), towers: list | None = None, **rest):
    """A position in phase `move`, die 1, seat 0, unless told otherwise; checked to be accepted."""
    position = {
        "rules": {
            "players": len(pawns),
            "pawns": len(pawns[0]),
            "guards": bool(guards),
            "scoring": "standard",
        },
        "track": ["start", *track, "finish"],
        "pawns": pawns,
        "guards": list(guards),
        "towers": towers if towers is not None else [[] for _ in pawns],
        "player": 0,
        "phase": "move",
        "die": 1,
    }
    position.update(rest)
    assert ref.problems(position) == []
    return Game.from_json(position)


# -- deals and dice -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", DEALS)
def test_deal_of_seed(seed):
    tiles = [
        face if face == "lucky" else int(face) for face in DEALS[seed].replace("L", "lucky").split()
    ]
    assert ref.shuffled_tiles(seed) == tiles
    game = Game.deal(players=2, action_tiles=False, seed=seed)
    assert game.to_json()["track"] == ["start", *tiles, "finish"]


@pytest.mark.parametrize("seed", ROLLS)
def test_rolls_of_seed(seed):
    assert [ref.dice(seed, k) for k in range(12)] == [int(die) for die in ROLLS[seed].split()]


def test_layouts_have_the_full_set():
    for tiles in [*ref.LAYOUTS.values(), ref.shuffled_tiles(5)]:
        assert sorted(tiles, key=str) == FULL_SET


def test_layout_orders():
    track = Game.deal(players=2, layout="standard", action_tiles=False).to_json()["track"]
    assert track[1:9] == [-1, -2, -3, -4, -5, -6, -7, -8]
    assert track[9:15] == ["lucky"] * 6
    assert track[15:23] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert track[23:] == [-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, "finish"]
    track = Game.deal(players=2, layout="variant1", action_tiles=False).to_json()["track"]
    assert track[9:23] == [1, 2, 3, 4, 5, 6, 7, 8] + ["lucky"] * 6
    track = Game.deal(players=2, layout="variant2", action_tiles=False).to_json()["track"]
    assert track[16:27] == [8, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10]
    assert track[27:] == ["lucky"] * 6 + ["finish"]


def test_gifts_after_every_eight_tiles():
    track = Game.deal(players=2).to_json()["track"]
    assert [i for i, face in enumerate(track) if face == "gift"] == [9, 18, 27, 36]
    assert track[37:] == ["finish"]
    track = Game.deal(players=2, layout=[1] * 10).to_json()["track"]
    assert track == ["start", *[1] * 8, "gift", 1, 1, "finish"]
    assert Game.deal(players=2, layout=[1] * 7).to_json()["track"] == ["start", *[1] * 7, "finish"]


def test_a_list_with_its_own_action_tiles():
    layout = ["steal", *[-1] * 9]
    for action_tiles in (True, False):
        game = Game.deal(players=2, layout=layout, action_tiles=action_tiles)
        assert game.to_json()["track"] == ["start", *layout, "finish"]


def test_guards_at_first():
    assert Game.deal(players=2, layout="standard", action_tiles=False, guards=True).to_json()[
        "guards"
    ] == [
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
    ]
    game = Game.deal(players=2, layout=["lucky", 6, 7, *[8] * 7, "lucky"], guards=True)
    # a gift lies at index 9
    assert game.to_json()["guards"] == [1, 3, 4, 5, 6, 7, 8, 10]


def test_deal_json_has_the_keys_in_order():
    game = Game.deal(players=3, pawns=2, layout=[1], scoring="expert")
    assert json.dumps(game.to_json()) == (
        '{"rules": {"players": 3, "pawns": 2, "guards": false, "scoring": "expert"}, '
        '"track": ["start", 1, "finish"], "pawns": [[0, 0], [0, 0], [0, 0]], "guards": [], '
        '"towers": [[], [], []], "player": 0, "phase": "roll", "die": 0}'
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"players": 1},
        {"players": 7},
        {"pawns": 0},
        {"pawns": 4},
        {"scoring": "other"},
        {"layout": "other"},
        {"layout": []},
        {"layout": [0]},
        {"layout": [9]},
        {"layout": [-11]},
        {"layout": [True]},
        {"layout": ["start"]},
        {"layout": [1] * 33},
        {"layout": ["gift"] * 5},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_deal_refuses(wrong):
    with pytest.raises(ValueError):
        Game.deal(**{"players": 2, **wrong})


def test_presets():
    assert [ref.preset("classic", n)["pawns"] for n in range(2, 7)] == [3, 3, 3, 2, 2]
    assert [ref.preset("full", n)["pawns"] for n in range(2, 7)] == [3] * 5
    with pytest.raises(ValueError):
        ref.preset("other", 2)


# -- scoring --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tower", "scoring", "points"),
    [
        ([-1, -2, -3, -4, -5, -6, -7, -8, "lucky", "lucky", 2, 3, 4, 8], "standard", 11),
        ([], "standard", 0),
        (["lucky", -9, "lucky", 5, "lucky"], "standard", 14),
        ([-9, "lucky"], "expert", 9),
        ([5, "lucky"], "expert", -5),
        ([-9, "lucky", "lucky"], "expert", 9),
        (["lucky", -9], "expert", -9),
        ([], "expert", 0),
    ],
)
def test_tower_score(tower, scoring, points):
    before = list(tower)
    assert ref.tower_score(tower, scoring) == points
    assert tower == before


def test_winners_and_ties():
    def winners(towers):
        return board([1], [[0]] * len(towers), towers=towers).winners()

    assert winners([[3], [4], []]) == [1]
    assert winners([[5], [-5, "lucky"], [2, 3]]) == [0, 2]
    assert winners([["lucky"], [], [-1]]) == [1]


# -- moves ----------------------------------------------------------------------------------------


def test_the_example_position():
    game = Game.from_json(example())
    assert game.to_json() == example()
    assert game.legal_actions() == [0, 1]
    game.play(1)  # from the lucky tile onto the finish
    after = game.to_json()
    assert after["track"] == ["start", -3, 5, "gift", -1, "finish"]
    assert after["pawns"] == [[0, 5, 5], [0, 0, 3]]
    assert after["towers"] == [[-4, "lucky", "lucky"], []]
    assert (after["player"], after["phase"], after["die"]) == (1, "roll", 0)


def test_of_equal_pieces_the_lowest_is_legal():
    assert board([1, 2], [[0, 0, 1], [0, 0, 0]]).legal_actions() == [0, 2]
    assert board([1, 2], [[0, 1, 1], [0, 0, 0]]).legal_actions() == [0, 1]
    assert board([1, 2], [[1, 1, 3], [0, 0, 0]]).legal_actions() == [0]
    assert board([1, 2], [[1], [2]], guards=(1, 1, 2, 2, 3)).legal_actions() == [0, 3, 5]


def test_a_tile_with_someone_left_is_not_taken():
    for rest in ({"pawns": [[1], [1]]}, {"pawns": [[1], [0]], "guards": (1,)}):
        game = board([-5, -6], **rest)
        game.play(0)
        assert game.to_json()["track"] == ["start", -5, -6, "finish"]
        assert game.towers == [[], []]


def test_the_start_stays():
    game = board([-5], [[0], [1]])
    game.play(0)
    assert game.to_json()["track"] == ["start", -5, "finish"]
    assert game.to_json()["pawns"] == [[1], [1]]


def test_the_gap_closes_after_the_move():
    game = board([-5, 1, 2, 3], [[1], [4]], guards=(3,), die=2)
    game.play(0)
    after = game.to_json()
    assert after["track"] == ["start", 1, 2, 3, "finish"]
    assert (after["pawns"], after["guards"]) == ([[2], [3]], [2])
    assert after["towers"] == [[-5], []]


def test_guards_move_only_beside_a_pawn_and_take_nothing():
    game = board([7, 8, "gift"], [[0, 0], [2, 4]], guards=(1, 2, 4), die=5)
    assert game.legal_actions() == [0, 4]
    game.play(4)
    after = game.to_json()
    assert after["guards"] == [1, 4, 4]
    assert after["track"] == ["start", 7, 8, "gift", "finish"]
    assert after["towers"] == [[], []]
    assert (after["player"], after["phase"]) == (1, "roll")


def test_players_who_are_home_are_passed_over():
    game = board([1], [[0, 0], [2, 2], [0, 2]])
    game.play(0)
    assert game.player == 2
    game = board([1], [[0, 0], [2, 2], [2, 2]])
    game.play(0)
    assert (game.player, game.phase) == (0, "roll")


def test_the_end():
    game = board([1], [[2], [1]], player=1, die=6)
    game.play(0)
    assert game.to_json() == {
        "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", "finish"],
        "pawns": [[1], [1]],
        "guards": [],
        "towers": [[], [1]],
        "player": 1,
        "phase": "over",
        "die": 0,
    }
    assert game.legal_actions() == []
    assert (game.scores(), game.winners()) == ([0, 1], [1])
    with pytest.raises(ValueError):
        game.roll(1)
    with pytest.raises(ValueError):
        game.play(0)


def test_wrong_calls():
    game = Game.deal(players=2)
    with pytest.raises(ValueError):
        game.play(0)
    for die in (0, 7, -1):
        with pytest.raises(ValueError):
            game.roll(die)
    game.roll(3)
    assert (game.phase, game.die, game.legal_actions()) == ("move", 3, [0])
    with pytest.raises(ValueError):
        game.roll(3)
    with pytest.raises(ValueError):
        game.play(1)


# -- actions --------------------------------------------------------------------------------------


def leave_action_tile(side: str, towers: list, **rest) -> Game:
    """Seat 0 leaves an action tile that shows a side, as the last piece."""
    game = board([side, 1], [[1]] + [[0] for _ in towers[1:]], towers=towers, **rest)
    game.play(0)
    assert game.to_json()["track"][1] == {"gift": "steal", "steal": "gift"}[side]
    return game


@pytest.mark.parametrize(
    ("top", "others", "receivers"),
    [
        (-3, [[1], [5], [4]], [2]),
        (-3, [[5], [1], [5]], [1, 3]),
        (-3, [[], [-1], ["lucky"]], [1, 3]),
        (2, [[1], [-2], [-7, 3]], [2]),
        (2, [[1], [], ["lucky"]], [2, 3]),
        ("lucky", [[1], [-2], [-2]], [2, 3]),
        ("lucky", [["lucky"], [1], [2]], [1]),
    ],
)
def test_gift(top, others, receivers):
    game = leave_action_tile("gift", [[4, top], *copy.deepcopy(others)])
    if len(receivers) == 1:
        assert game.towers[receivers[0]] == others[receivers[0] - 1] + [top]
        assert game.towers[0] == [4]
        assert (game.phase, game.player, game.die) == ("roll", 1, 0)
        return
    assert (game.phase, game.player, game.die) == ("give", 0, 1)
    assert ref.problems(game.to_json()) == []
    assert game.legal_actions() == [10 + seat for seat in receivers]
    game.play(10 + receivers[1])
    assert game.towers[receivers[1]] == others[receivers[1] - 1] + [top]
    assert game.towers[0] == [4]
    assert (game.phase, game.player, game.die) == ("roll", 1, 0)


def test_gift_without_a_tile():
    game = leave_action_tile("gift", [[], [1], [2]])
    assert (game.towers, game.phase, game.player) == ([[], [1], [2]], "roll", 1)


def test_steal():
    game = leave_action_tile("steal", [[3], [], [1, -2], [8]])
    assert (game.phase, game.player, game.die) == ("steal", 0, 1)
    assert game.legal_actions() == [12, 13]
    game.play(12)
    assert game.towers == [[3, -2], [], [1], [8]]
    assert (game.phase, game.player, game.die) == ("roll", 1, 0)
    game = leave_action_tile("steal", [[3], [], [1, -2], []])
    assert (game.towers, game.phase) == ([[3, -2], [], [1], []], "roll")
    game = leave_action_tile("steal", [[3], [], []])
    assert (game.towers, game.phase) == ([[3], [], []], "roll")


def test_opponents_are_counted_to_the_left():
    game = board([1], [[0], [0], [0]], towers=[[1], [1], [1]], player=2, phase="steal", die=6)
    assert game.legal_actions() == [11, 12]
    game.play(11)
    assert game.towers == [[], [1], [1, 1]]
    assert game.player == 0


def test_an_action_tile_waits_for_the_last_piece():
    for rest in ({"pawns": [[1], [1], [0]]}, {"pawns": [[1], [0], [0]], "guards": (1,)}):
        game = board(["steal", 1], towers=[[], [1], [2]], **rest)
        game.play(0)
        assert game.to_json()["track"] == ["start", "steal", 1, "finish"]
        assert (game.towers, game.phase) == ([[], [1], [2]], "roll")


def test_a_last_choice_is_made_before_the_end():
    for side, phase in (("gift", "give"), ("steal", "steal")):
        game = board([side], [[1], [2], [2]], towers=[[-1], [2], [2]])
        game.play(0)
        assert (game.phase, game.player, game.die) == (phase, 0, 1)
        assert game.to_json()["pawns"] == [[2], [2], [2]]
        assert ref.problems(game.to_json()) == []
        game.play(11)
        assert (game.phase, game.player, game.die) == ("over", 0, 0)


# -- whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.parametrize("name", PRESETS)
def test_random_games(name, players):
    chooser = random.Random(f"{name} {players}")
    for seed in range(3):
        game = Game.deal(**ref.preset(name, players), seed=seed)
        opening = game.to_json()
        n_rolls = 0
        while game.phase != "over":
            if game.phase == "roll":
                assert game.legal_actions() == []
                game.roll(ref.dice(seed, n_rolls))
                n_rolls += 1
            else:
                actions = game.legal_actions()
                assert actions == sorted(set(actions))
                assert len(actions) >= (1 if game.phase == "move" else 2)
                game.play(chooser.choice(actions))
            position = game.to_json()
            assert ref.problems(position) == []
            assert ref.problems(json.loads(json.dumps(position))) == []
            assert Game.from_json(position).to_json() == position
            lying = [face for face in position["track"][1:-1] if face not in ("gift", "steal")]
            taken = [tile for tower in position["towers"] for tile in tower]
            assert sorted(lying + taken, key=str) == FULL_SET
            assert len(position["track"]) - 2 - len(lying) == opening["track"].count("gift")
            assert len(position["guards"]) == len(opening["guards"])
        finish = len(position["track"]) - 1
        assert position["pawns"] == [[finish] * len(seat) for seat in opening["pawns"]]
        assert game.winners()
        assert game.scores() == [
            ref.tower_score(tower, game.scoring) for tower in position["towers"]
        ]


# -- refused positions ----------------------------------------------------------------------------


def three_seats() -> dict:
    """An accepted position with three seats and guards."""
    return {
        "rules": {"players": 3, "pawns": 2, "guards": True, "scoring": "expert"},
        "track": ["start", -3, "lucky", 5, "steal", "finish"],
        "pawns": [[0, 2], [0, 5], [5, 5]],
        "guards": [2, 2, 5],
        "towers": [[-4], [3], [3, "lucky"]],
        "player": 0,
        "phase": "roll",
        "die": 0,
    }


ACCEPTED = [
    {},
    {"guards": []},
    {"guards": [0] * 8},
    {"player": 1},
    {"player": 1, "phase": "move", "die": 6},
    {"player": 2, "phase": "steal", "die": 1},
    {"player": 0, "phase": "steal", "die": 1},
    {"towers": [[-4], ["lucky"], []], "phase": "give", "die": 1},
    {"track": ["start", "finish"], "pawns": [[0, 1], [0, 1], [1, 1]], "guards": []},
    {"track": ["start", "finish"], "pawns": [[1, 1]] * 3, "guards": [], "phase": "over"},
    {"pawns": [[5, 5]] * 3, "phase": "over", "player": 2},
    {"pawns": [[5, 5]] * 3, "phase": "steal", "die": 2},
    {"towers": [[-10] * 27, [8, 8], []], "track": ["start", 8, 8, "gift", "gift", "finish"]},
    {"towers": [[-10] * 29, [], []]},
    {"track": ["start", *["gift"] * 4, "finish"]},
]

REFUSED = [
    # types
    {"rules": []},
    {"rules": None},
    {"track": "start"},
    {"track": {}},
    {"track": ["start", None, "lucky", 5, "steal", "finish"]},
    {"track": ["start", ["lucky"], "lucky", 5, "steal", "finish"]},
    {"track": ["start", True, "lucky", 5, "steal", "finish"]},
    {"track": ["start", -3.0, "lucky", 5, "steal", "finish"]},
    {"pawns": {}},
    {"pawns": [0, 2]},
    {"pawns": [[False, 2], [0, 5], [5, 5]]},
    {"pawns": [[0.0, 2], [0, 5], [5, 5]]},
    {"pawns": [["0", 2], [0, 5], [5, 5]]},
    {"guards": None},
    {"guards": [[2]]},
    {"guards": [False, 2]},
    {"towers": None},
    {"towers": [[-4], [3], None]},
    {"towers": [[-4], [3], "lucky"]},
    {"towers": [[-4], [3], [True]]},
    {"towers": [[-4], [3], [3.0]]},
    {"player": True},
    {"player": 0.0},
    {"player": None},
    {"phase": 0},
    {"phase": ["roll"]},
    {"die": False},
    {"die": 0.0},
    {"die": None},
    # sets
    {"player": 3},
    {"player": -1},
    {"phase": "Roll"},
    {"die": 7, "phase": "move"},
    {"die": -1},
    {"track": ["start", 0, "finish"], "pawns": [[0, 2], [0, 2], [2, 2]], "guards": []},
    {"track": ["start", 9, "lucky", 5, "steal", "finish"]},
    {"track": ["start", -11, "lucky", 5, "steal", "finish"]},
    {"track": ["start", "Lucky", "lucky", 5, "steal", "finish"]},
    {"towers": [["gift"], [], []]},
    {"towers": [["start"], [], []]},
    {"towers": [[0], [], []]},
    {"towers": [[9], [], []]},
    # counts
    {"pawns": [[0, 2], [0, 5]]},
    {"pawns": [[0, 2], [0, 5], [5, 5], [5, 5]]},
    {"pawns": [[0, 2], [0, 5], [5]]},
    {"pawns": [[0, 2], [0, 5], [5, 5, 5]]},
    {"towers": [[], []]},
    {"towers": [[], [], [], []]},
    {"towers": [[-10] * 30, [], []]},
    {"track": ["start", *["gift"] * 5, "finish"]},
    {"guards": [2] * 9},
    # track
    {"track": []},
    {"track": ["start"], "pawns": [[0, 0]] * 3, "guards": []},
    {"track": ["finish"], "pawns": [[0, 0]] * 3, "guards": [], "phase": "over"},
    {"track": [-3, "start", "lucky", 5, "steal", "finish"]},
    {"track": ["start", -3, "lucky", 5, "finish", "steal"]},
    {"track": ["start", "start", "lucky", 5, "steal", "finish"]},
    {"track": ["start", -3, "lucky", 5, "finish", "finish"]},
    # pieces
    {"pawns": [[0, 6], [0, 5], [5, 5]]},
    {"pawns": [[-1, 2], [0, 5], [5, 5]]},
    {"pawns": [[2, 0], [0, 5], [5, 5]]},
    {"guards": [6]},
    {"guards": [-1]},
    {"guards": [2, 5, 2]},
    # turn
    {"die": 1},
    {"phase": "move"},
    {"phase": "steal"},
    {"pawns": [[5, 5]] * 3, "phase": "over", "die": 1},
    {"player": 2},
    {"player": 2, "phase": "move", "die": 1},
    {"phase": "over"},
    {"pawns": [[5, 5]] * 3},
    {"pawns": [[5, 5]] * 3, "phase": "move", "die": 1},
    {"phase": "give", "die": 1, "towers": [[], [3], [3]]},
    {"phase": "give", "die": 1, "towers": [[-4], [3], [4]]},
    {"phase": "steal", "die": 1, "towers": [[-4], [], [4]]},
    {"phase": "steal", "die": 1, "towers": [[-4], [], []]},
]

REFUSED_RULES = [
    {"players": 1},
    {"players": 7},
    {"players": 2},
    {"players": 4},
    {"players": 3.0},
    {"players": True},
    {"players": "3"},
    {"pawns": 0},
    {"pawns": 1},
    {"pawns": 3},
    {"pawns": 4},
    {"pawns": None},
    {"guards": 1},
    {"guards": None},
    {"guards": False},
    {"scoring": "Expert"},
    {"scoring": None},
    {"scoring": ["expert"]},
    {"action_tiles": True},
]


@pytest.mark.parametrize("change", ACCEPTED)
def test_accepted(change):
    position = {**three_seats(), **copy.deepcopy(change)}
    before = copy.deepcopy(position)
    assert ref.problems(position) == []
    assert position == before
    assert Game.from_json(position).to_json() == position


@pytest.mark.parametrize("change", REFUSED)
def test_refused(change):
    found = ref.problems({**three_seats(), **copy.deepcopy(change)})
    assert found
    assert all(isinstance(reason, str) for reason in found)


@pytest.mark.parametrize("change", REFUSED_RULES)
def test_refused_rules(change):
    position = three_seats()
    position["rules"].update(change)
    assert ref.problems(position)


def test_refused_keys_and_shapes():
    for key in three_seats():
        position = three_seats()
        del position[key]
        assert ref.problems(position)
    for key in three_seats()["rules"]:
        position = three_seats()
        del position["rules"][key]
        assert ref.problems(position)
    assert ref.problems({**three_seats(), "version": 1})
    for not_an_object in (None, [], "roll", 1, True):
        assert ref.problems(not_an_object)
    for scoring in ("standard", "expert"):
        position = three_seats()
        position["rules"]["scoring"] = scoring
        assert ref.problems(position) == []


def test_the_example_is_accepted():
    assert ref.problems(example()) == []


def test_two_players_never_have_a_choice():
    for phase in ("give", "steal"):
        position = example()
        position["phase"] = phase
        position["towers"] = [[1], [1]]
        assert ref.problems(position)


def test_every_problem_change_crashes_nothing():
    """Any value anywhere gives a list of strings, never an exception."""
    junk = [
        None,
        True,
        -1,
        0,
        3,
        10**30,
        1.5,
        float("nan"),
        "",
        "lucky",
        [],
        [[]],
        [1],
        {},
        {"a": 1},
    ]

    def spots(value):
        if isinstance(value, dict):
            for key in value:
                yield value, key
                yield from spots(value[key])
        elif isinstance(value, list):
            for index in range(len(value)):
                yield value, index
                yield from spots(value[index])

    for base in (example(), three_seats()):
        for number in range(len(list(spots(base)))):
            for thing in junk:
                position = copy.deepcopy(base)
                container, key = list(spots(position))[number]
                container[key] = copy.deepcopy(thing)
                assert isinstance(ref.problems(position), list)
