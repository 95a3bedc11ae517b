"""The engine and the slow reference agree on everything that can be seen, move by move.

`THATSLIFE_SLOW=1` plays 10,000 games instead of 300, and looks at as many more positions.
"""

import copy
import json
import os
import random
from collections import Counter
from itertools import product

import pytest
import reference
from conftest import PHASES, random_board, random_position

from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.position import dice

SLOW = os.environ.get("THATSLIFE_SLOW") == "1"
N_GAMES = 10_000 if SLOW else 300
N_POSITIONS = 40_000 if SLOW else 2_000
N_PARTS = 7

Game = reference.Game


def named_rulesets() -> list[dict]:
    """Every preset for every number of players, then every layout in every variant."""
    made = [reference.preset(name, players) for name in PRESETS for players in range(2, 7)]
    variants = product(
        ["shuffled", "standard", "variant1", "variant2"],
        [False, True],
        [False, True],
        ["standard", "expert"],
    )
    for number, (layout, action_tiles, guards, scoring) in enumerate(list(variants) * 4):
        made.append(
            {
                "players": 2 + number % 5,
                "pawns": 1 + number % 3,
                "layout": layout,
                "action_tiles": action_tiles,
                "guards": guards,
                "scoring": scoring,
            }
        )
    return made


NAMED = named_rulesets()


def assert_agree(position: Position, game: Game, where: str) -> None:
    """Both show the same position, to the type of each number, and judge it alike."""
    shown = json.dumps(position.to_json())
    assert shown == json.dumps(game.to_json()), where
    assert position.legal_actions() == game.legal_actions(), (where, shown)
    assert position.scores() == game.scores(), (where, shown)
    assert position.winners() == game.winners(), (where, shown)
    assert position.phase == game.phase, where
    assert position.player == game.player, where
    assert position.die == game.die, where
    assert position.is_over == (game.phase == "over"), where


def assert_agree_in_both_scorings(position: Position, where: str) -> None:
    for scoring in ("standard", "expert"):
        shown = position.to_json()
        shown["rules"]["scoring"] = scoring
        assert_agree(Position.from_json(shown), Game.from_json(shown), f"{where}, {scoring}")


def choose(rng: random.Random, taste: str, actions: list[int]) -> int:
    """Games of different tastes come to different places: stacks, runaways, wandering guards."""
    if taste == "rear" or (taste == "mixed" and rng.random() < 0.3):
        return actions[0]
    if taste == "guards" or (taste == "mixed" and rng.random() < 0.3):
        return actions[-1]
    return rng.choice(actions)


def play_a_game(number: int, seen: Counter) -> None:
    rng = random.Random(f"agreement {number}")
    rules = NAMED[number] if number < len(NAMED) else random_board(rng)
    seed = rng.randrange(2**64)
    taste = rng.choice(["any", "any", "mixed", "rear", "guards"])
    where = f"game {number}: {rules}, seed {seed}"
    position = Position.deal(Ruleset(**rules), seed)
    game = Game.deal(**copy.deepcopy(rules), seed=seed)
    assert_agree(position, game, where)
    path: list = []
    while not position.is_over:
        if position.phase == "roll":
            die = rng.randint(1, 6)
            path.append(f"roll {die}")
            position = position.roll(die)
            game.roll(die)
        else:
            action = choose(rng, taste, position.legal_actions())
            path.append(action)
            seen[f"{position.phase} {'guard' if 3 <= action <= 10 else ''}"] += 1
            position = position.play(action)
            game.play(action)
        assert_agree(position, game, f"{where}, after {path}")
        if len(path) % 25 == 0:
            assert_agree_in_both_scorings(position, f"{where}, after {path}")
    assert game.phase == "over", where
    assert_agree_in_both_scorings(position, f"{where}, at the end")


@pytest.mark.parametrize("part", range(N_PARTS))
def test_whole_games(part):
    seen: Counter = Counter()
    for number in range(part, N_GAMES, N_PARTS):
        play_a_game(number, seen)
    # nothing is agreed upon that did not occur
    for kind in ("move ", "move guard", "give ", "steal "):
        assert seen[kind] >= 2, seen


def test_games_cover_every_variant():
    assert len(NAMED) < N_GAMES // 2
    assert {(r["layout"], r["action_tiles"], r["guards"], r["scoring"]) for r in NAMED} == set(
        product(
            ["shuffled", "standard", "variant1", "variant2"],
            [False, True],
            [False, True],
            ["standard", "expert"],
        )
    )
    assert {(r["players"], r["pawns"]) for r in NAMED} == set(product(range(2, 7), range(1, 4)))
    boards = []
    for number in range(len(NAMED), N_GAMES):
        boards.append(random_board(random.Random(f"agreement {number}")))
    lengths = {len(board["layout"]) for board in boards}
    assert min(lengths) == 1
    assert max(lengths) > 32
    assert any("gift" in board["layout"] and not board["action_tiles"] for board in boards)
    assert any(board["action_tiles"] and "steal" in board["layout"] for board in boards)


@pytest.mark.parametrize("part", range(N_PARTS))
def test_positions_nobody_played_to(part):
    """From made-up positions: everything visible, and every successor by every die and action."""
    phases: Counter = Counter()
    for number in range(part, N_POSITIONS, N_PARTS):
        rng = random.Random(f"position {number}")
        shown = random_position(rng)
        where = f"position {number}: {json.dumps(shown)}"
        phases[shown["phase"]] += 1
        position = Position.from_json(shown)
        assert_agree(position, Game.from_json(shown), where)
        assert_agree_in_both_scorings(position, where)
        if position.phase == "roll":
            for die in range(1, 7):
                game = Game.from_json(shown)
                game.roll(die)
                rolled = position.roll(die)
                assert_agree(rolled, game, f"{where} roll {die}")
                assert_successors_agree(rolled, f"{where} roll {die}")
        else:
            assert_successors_agree(position, where)
    assert set(phases) == set(PHASES)


def assert_successors_agree(position: Position, where: str) -> None:
    shown = position.to_json()
    for action in position.legal_actions():
        game = Game.from_json(shown)
        game.play(action)
        assert_agree(position.play(action), game, f"{where} play {action}")


def test_dice_and_deals_of_many_seeds():
    rng = random.Random("dice")
    seeds = [0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
    seeds += [rng.randrange(2**64) for _ in range(300)]
    for seed in seeds:
        assert [dice(seed, k) for k in range(20)] == [reference.dice(seed, k) for k in range(20)]
        assert dice(seed, 10**12) == reference.dice(seed, 10**12)
        for guards, action_tiles in product([False, True], repeat=2):
            rules = {"players": 2, "guards": guards, "action_tiles": action_tiles}
            position = Position.deal(Ruleset(**rules), seed)
            assert position.to_json() == Game.deal(**rules, seed=seed).to_json(), (seed, rules)
