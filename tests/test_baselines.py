"""`random` and `greedy` against their definitions, computed from positions alone."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import reference
from conftest import random_board, random_position

from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.baselines import (
    BASELINES,
    GREEDY,
    RANDOM,
    baseline_action,
    decision_key,
    greedy_actions,
    random_action,
)

# chi-square, p = 0.001, by degrees of freedom
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46, 7: 24.32, 8: 26.12}


def keys(name: str, n: int) -> list[np.uint64]:
    rng = random.Random(f"keys {name}")
    return [np.uint64(rng.randrange(2**64)) for _ in range(n)]


def worth(shown: dict, seat: int) -> Fraction:
    """What `greedy` looks for, exactly.

    Own points minus the mean of the opponents' points plus 4 x (own lucky tiles minus the
    opponents' mean).
    """
    towers = shown["towers"]
    points = [reference.tower_score(tower, shown["rules"]["scoring"]) for tower in towers]
    lucky = [tower.count("lucky") for tower in towers]
    n_others = len(towers) - 1

    def lead(numbers: list[int]) -> Fraction:
        return numbers[seat] - Fraction(sum(numbers) - numbers[seat], n_others)

    return lead(points) + 4 * lead(lucky)


def best_actions(position: Position) -> list[int]:
    seat = position.player
    values = {
        action: worth(position.play(action).to_json(), seat) for action in position.legal_actions()
    }
    return [action for action, value in values.items() if value == max(values.values())]


def deciding_positions(n: int) -> list[Position]:
    """Made-up positions in all three phases of decision."""
    made = []
    for number in range(n):
        phase = ("move", "move", "give", "steal")[number % 4]
        made.append(Position.from_json(random_position(random.Random(f"baseline {number}"), phase)))
    return made


def assert_even(counts: Counter, among: list[int], where: object) -> None:
    """Each of `among`, nothing else, about equally often."""
    assert set(counts) == set(among), where
    if len(among) > 1:
        expected = counts.total() / len(among)
        statistic = sum((counts[action] - expected) ** 2 / expected for action in among)
        assert statistic < CRITICAL[len(among) - 1], (statistic, counts, where)


def test_greedy_plays_the_best_and_only_the_best():
    phases, ties = Counter(), Counter()
    for position in deciding_positions(1200):
        best = best_actions(position)
        found = {int(baseline_action(position.state[0], GREEDY, key)) for key in keys("best", 150)}
        assert found == set(best), position
        phases[position.phase] += len(best) < len(position.legal_actions())
        ties[len(best)] += 1
    assert min(phases["move"], phases["give"], phases["steal"]) >= 10
    assert min(ties[1], ties[2], ties[3]) > 20


@pytest.mark.parametrize("name", PRESETS)
def test_greedy_in_games(name):
    """Every decision of games that greedy plays with itself."""
    for players in range(2, 7):
        rng = random.Random(f"greedy {name} {players}")
        position = Position.deal(Ruleset.preset(name, players=players), rng.randrange(2**64))
        while not position.is_over:
            if position.phase == "roll":
                position = position.roll(rng.randint(1, 6))
                continue
            key = np.uint64(rng.randrange(2**64))
            action = int(baseline_action(position.state[0], GREEDY, key))
            assert action in best_actions(position), position
            position = position.play(action)


def test_greedy_breaks_ties_evenly():
    sizes = Counter()
    for number, position in enumerate(deciding_positions(400)):
        best = best_actions(position)
        if len(best) < 2 or sizes[len(best)] >= 3:
            continue
        sizes[len(best)] += 1
        counts = Counter(
            int(baseline_action(position.state[0], GREEDY, key))
            for key in keys(f"ties {number}", 1500)
        )
        assert_even(counts, best, position)
    assert set(sizes) >= {2, 3, 4}


def test_greedy_by_hand():
    """A lucky tile is worth four points and what it turns: more than a five on an empty tower."""
    shown = {
        "rules": {"players": 2, "pawns": 2, "guards": False, "scoring": "standard"},
        "track": ["start", 5, "lucky", "finish"],
        "pawns": [[1, 2], [0, 0]],
        "guards": [],
        "towers": [[], []],
        "player": 0,
        "phase": "move",
        "die": 3,
    }
    # taking the 5 is worth 5, the lucky tile 4; with a -1 below, 4 and the turn of 2
    cases = [([], 0), ([-1], 1), ([4], 0), ([-8], 1)]
    for tower, wanted in cases:
        position = Position.from_json({**shown, "towers": [tower, []]})
        for key in keys("hand", 20):
            assert baseline_action(position.state[0], GREEDY, key) == wanted


def test_random_plays_every_legal_action_evenly():
    sizes = Counter()
    for number, position in enumerate(deciding_positions(400)):
        legal = position.legal_actions()
        if sizes[len(legal)] >= 4:
            continue
        sizes[len(legal)] += 1
        counts = Counter(
            int(random_action(position.state[0], key)) for key in keys(f"even {number}", 1500)
        )
        assert_even(counts, legal, position)
    assert set(sizes) >= {1, 2, 3, 4, 5}


@pytest.mark.parametrize("baseline", range(len(BASELINES)))
def test_the_same_key_gives_the_same_action(baseline):
    """Whatever was asked in between; and the state is left alone."""
    positions = deciding_positions(60)
    asked = [(position, key) for position in positions for key in keys("same", 10)]
    first = [int(baseline_action(p.state[0], baseline, key)) for p, key in asked]
    shuffled = list(range(len(asked)))
    random.Random(1).shuffle(shuffled)
    before = [p.state.tobytes() for p, _ in asked]
    for i in shuffled:
        position, key = asked[i]
        copy = Position.from_json(position.to_json())
        assert int(baseline_action(copy.state[0], baseline, key)) == first[i]
    assert [p.state.tobytes() for p, _ in asked] == before


def test_names_and_codes():
    assert BASELINES == ("random", "greedy")
    assert BASELINES[RANDOM] == "random"
    assert BASELINES[GREEDY] == "greedy"
    for position in deciding_positions(100):
        for key in keys("codes", 3):
            state = position.state[0]
            assert greedy_actions(state) == sum(1 << action for action in best_actions(position))
            assert baseline_action(state, RANDOM, key) == random_action(state, key)


def test_a_single_legal_action_is_played_whatever_the_key():
    found = 0
    for number in range(200):
        rng = random.Random(f"single {number}")
        position = Position.deal(Ruleset(**random_board(rng)), number).roll(rng.randint(1, 6))
        legal = position.legal_actions()
        if len(legal) == 1:
            found += 1
            for key in keys("single", 3):
                assert baseline_action(position.state[0], GREEDY, key) == legal[0]
                assert random_action(position.state[0], key) == legal[0]
    assert found > 20


# Keys ---------------------------------------------------------------------------------------


def test_the_keys_of_a_game_all_differ():
    deals = [0, 1, 7, 2**63, 2**64 - 1, *range(10**6, 10**6 + 20)]
    seen = set()
    for deal in deals:
        mine = [int(decision_key(np.uint64(deal), n)) for n in range(1000)]
        assert len(set(mine)) == 1000
        assert mine == [int(decision_key(np.uint64(deal), n)) for n in range(1000)]
        assert all(0 <= key < 2**64 for key in mine)
        assert not seen & set(mine)
        seen.update(mine)


def test_keys_tell_nothing_of_deals_and_dice():
    """They come from another stream than the numbers of RULES.md."""
    gamma = 0x9E3779B97F4A7C15
    for deal in (0, 7, 2**64 - 1):
        mine = {int(decision_key(np.uint64(deal), n)) for n in range(200)}
        for stream in (deal, deal ^ 0xD1CED1CED1CED1CE):
            rules = {reference.mix(stream + (k + 1) * gamma) for k in range(400)}
            assert not mine & rules


def test_keys_are_spread_evenly():
    """Each of 64 bits is set about half of the time, over the decisions and over the deals."""
    over_decisions = [int(decision_key(np.uint64(7), n)) for n in range(4000)]
    over_deals = [int(decision_key(np.uint64(deal), 3)) for deal in range(4000)]
    for drawn in (over_decisions, over_deals):
        for bit in range(64):
            ones = sum(key >> bit & 1 for key in drawn)
            assert abs(ones - 2000) < 150  # 4.7 standard deviations
