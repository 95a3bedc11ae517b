"""Positions with known best moves: search finds them all, greedy does not.

`best_moves.json` gives for each its position, the best action, and why in a line. Those with the
proof `exact` are solved here to the end by brute force; those with `reason` lie far from the end.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from brute import best_actions, solve

import agents
from thatslife_env import Position

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

CASES = json.loads((Path(__file__).parent / "best_moves.json").read_text(encoding="utf-8"))
POSITIONS = [Position.from_json(case["position"]) for case in CASES]
STATES = np.concatenate([position.state for position in POSITIONS])
EXACT = [number for number, case in enumerate(CASES) if case["proof"] == "exact"]
REASON = [number for number, case in enumerate(CASES) if case["proof"] == "reason"]


def missed(spec: str, numbers: list[int], key: int = 0) -> list[str]:
    """The reasons of those where the agent plays something else."""
    keys = np.full(len(numbers), key, np.uint64)
    played = agents.make(spec).choose(STATES[numbers], keys)
    return [
        CASES[number]["reason"]
        for number, action in zip(numbers, played, strict=True)
        if action not in CASES[number]["best"]
    ]


def test_there_are_enough():
    assert len(CASES) >= 20
    assert len({case["reason"] for case in CASES}) == len(CASES)
    assert {position.phase for position in POSITIONS} == {"move", "give", "steal"}
    assert {position.players for position in POSITIONS} == {2, 3}
    assert any(case["position"]["guards"] for case in CASES)
    assert any(case["position"]["rules"]["scoring"] == "expert" for case in CASES)
    assert len(REASON) >= 3


@pytest.mark.parametrize("number", EXACT)
def test_the_best_move_is_proved(number):
    position = POSITIONS[number]
    shares = solve(position)
    assert best_actions(position, shares) == CASES[number]["best"]
    assert len(shares) > 1


def test_the_others_are_borne_out_by_many_games():
    """The best action wins most of 2,000 random games each, clear of the interval."""
    evaluation = agents.make("mc:rollouts=2000").evaluate(STATES[REASON], np.zeros(3, np.uint64))
    for row, number in enumerate(REASON):
        values, half = evaluation.values[row], evaluation.half_widths[row]
        (best,) = CASES[number]["best"]
        others = [a for a in POSITIONS[number].legal_actions() if a != best]
        assert others
        for other in others:
            assert values[best] - half[best] > values[other] + half[other]


def test_greedy_fails_several():
    """It has a good reason for none of them: it sees one move."""
    likely = agents.make("greedy").probabilities(STATES)
    failed = [
        number
        for number, case in enumerate(CASES)
        if sum(likely[number, action] for action in case["best"]) < 1
    ]
    assert len(failed) >= 8
    assert (
        len([number for number in failed if not likely[number, CASES[number]["best"]].any()]) >= 5
    )


@pytest.mark.parametrize("key", range(3))
def test_mcts_finds_them_all(key):
    assert missed("mcts:simulations=3000", list(range(len(CASES))), key) == []


def test_expectimax_finds_them_all():
    assert missed("expectimax:depth=6", EXACT) == []
    assert missed("expectimax:depth=3,value=[td:builtin/2p]", REASON) == []


def test_learned_values_find_most_and_with_a_look_ahead_nearly_all():
    """They were learned on the whole game; these positions are its last moves, or close."""
    known = [number for number, position in enumerate(POSITIONS) if position.players == 2]
    alone = missed("td:builtin/2p", known)
    ahead = missed("expectimax:depth=3,value=[td:builtin/2p]", known)
    assert len(known) >= 20
    assert len(alone) <= 6
    assert len(ahead) <= 3
