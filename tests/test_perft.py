"""Perft with dice: how many games of n plies there are from a position.

A ply is one roll or one decision; a position that is over has no more plies and counts as one leaf.
`perft.json` holds the positions and, for depths 1, 2, ..., the number of leaves. Its numbers were
counted by the slow reference, not by the engine, and are counted anew (two or three minutes) by

    .venv/bin/python tests/test_perft.py

which keeps positions and depths. `{"name", "position", "leaves": [depth 1, depth 2, ...]}`.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import reference

from thatslife_env import Position, rules
from thatslife_env._jit import JIT, njit
from thatslife_env.board import OVER, ROLL, STATE

DATA = Path(__file__).with_name("perft.json")
CASES = json.loads(DATA.read_text())
SHALLOW = 3_000  # leaves that the reference counts again in the test
UNCOMPILED = 20_000  # leaves that uncompiled code can count
DEEP = 1_000_000  # leaves that make a depth a feat

# By the reference ----------------------------------------------------------------------


def reference_children(position: dict) -> Iterator[tuple[str, dict]]:
    """Every roll or action with the position after it."""
    game = reference.Game.from_json(position)
    if game.phase == "roll":
        for die in range(1, 7):
            game = reference.Game.from_json(position)
            game.roll(die)
            yield f"roll {die}", game.to_json()
    else:
        for action in game.legal_actions():
            game = reference.Game.from_json(position)
            game.play(action)
            yield f"play {action}", game.to_json()


def reference_leaves(position: dict, depth: int, known: dict[tuple[str, int], int]) -> int:
    """Leaves at a depth. Positions come up by several paths; `known` remembers their numbers."""
    if depth == 0 or position["phase"] == "over":
        return 1
    key = json.dumps(position), depth
    if key not in known:
        known[key] = sum(
            reference_leaves(child, depth - 1, known) for _, child in reference_children(position)
        )
    return known[key]


def recount() -> None:
    """Write all numbers of leaves anew."""
    for case in CASES:
        known: dict[tuple[str, int], int] = {}
        depths = range(1, len(case["leaves"]) + 1)
        case["leaves"] = [reference_leaves(case["position"], depth, known) for depth in depths]
        print(case["name"], case["leaves"])
    DATA.write_text(to_text(CASES))


def to_text(cases: list[dict]) -> str:
    """One case after the other, a line for each of its parts."""
    blocks = [
        "{"
        + ",\n ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in case.items())
        + "}"
        for case in cases
    ]
    return "[\n" + ",\n".join(blocks) + "\n]\n"


# By the engine -------------------------------------------------------------------------


@njit
def n_leaves(states):
    """Leaves below states[0]: STATE[depth + 1], the path from the position to a leaf."""
    depth = len(states) - 1
    pending = np.zeros(depth + 1, np.int64)  # at each depth of the path, what is still to be tried
    leaves = 0
    level = 0
    arrived = True
    while level >= 0:
        if arrived:
            phase = states[level]["phase"]
            if level == depth or phase == OVER:
                leaves += 1
                pending[level] = 0
            elif phase == ROLL:
                pending[level] = 0b1111110  # bit d: the die shows d
            else:
                pending[level] = rules.legal_bits(states[level])
        if pending[level] == 0:
            level -= 1
            arrived = False
            continue
        choice = rules.nth_action(pending[level], 0)
        pending[level] &= pending[level] - 1
        states[level + 1] = states[level]
        if states[level]["phase"] == ROLL:
            rules.roll(states[level + 1], choice)
        else:
            rules.play(states[level + 1], choice)
        level += 1
        arrived = True
    return leaves


def engine_leaves(position: Position, depth: int) -> int:
    states = np.zeros(depth + 1, STATE)
    states[0] = position.state[0]
    return int(n_leaves(states))


def engine_children(position: Position) -> Iterator[tuple[str, Position]]:
    if position.phase == "roll":
        for die in range(1, 7):
            yield f"roll {die}", position.roll(die)
    for action in position.legal_actions():
        yield f"play {action}", position.play(action)


def difference(position: dict, depth: int) -> str:
    """Where the engine and the reference part: the position, and the leaves of every action."""
    ours = {
        name: engine_leaves(child, depth - 1)
        for name, child in engine_children(Position.from_json(position))
    }
    known: dict[tuple[str, int], int] = {}
    theirs = {
        name: reference_leaves(child, depth - 1, known)
        for name, child in reference_children(position)
    }
    lines = [
        f"  {name:8}  engine {ours.get(name, '-')!s:>9}  reference {theirs.get(name, '-')!s:>9}"
        + ("" if ours.get(name) == theirs.get(name) else "   <--")
        for name in sorted({*ours, *theirs}, key=lambda name: (len(name), name))
    ]
    return "\n".join([f"depth {depth} from {json.dumps(position)}", *lines])


# Tests ---------------------------------------------------------------------------------

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


@each_case
def test_engine_counts_the_leaves(case):
    position = Position.from_json(case["position"])
    for depth, leaves in enumerate(case["leaves"], start=1):
        if leaves > (2**63 if JIT else UNCOMPILED):
            break
        ours = engine_leaves(position, depth)
        assert ours == leaves, f"{case['name']}: {difference(case['position'], depth)}"


@each_case
def test_reference_counts_the_shallow_leaves_again(case):
    known: dict[tuple[str, int], int] = {}
    n_counted = 0
    for depth, leaves in enumerate(case["leaves"], start=1):
        if leaves > SHALLOW:
            break
        assert reference_leaves(case["position"], depth, known) == leaves, (case["name"], depth)
        n_counted += 1
    assert n_counted >= 2, f"{case['name']}: nothing shallow"


def test_singles_count_the_same_as_the_compiled_stack():
    """`Position` by `Position`, without the compiled walk."""

    def leaves(position: Position, depth: int) -> int:
        if depth == 0 or position.is_over:
            return 1
        return sum(leaves(child, depth - 1) for _, child in engine_children(position))

    for case in CASES:
        assert leaves(Position.from_json(case["position"]), 2) == case["leaves"][1], case["name"]


@pytest.mark.speed
def test_a_million_leaves_are_counted_fast():
    big = [case for case in CASES if case["leaves"][-1] > DEEP]
    assert big, "no position has more than a million leaves"
    case = max(big, key=lambda case: case["leaves"][-1])
    position = Position.from_json(case["position"])
    engine_leaves(position, 1)  # compiled before the clock runs
    begun = time.perf_counter()
    assert engine_leaves(position, len(case["leaves"])) == case["leaves"][-1]
    assert time.perf_counter() - begun < 5


def test_leaves_of_a_game_that_ends():
    """Counted by hand: the last pawn, on the last tile; six rolls, one move each, all over."""
    position = Position.from_json(
        {
            "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
            "track": ["start", -3, "finish"],
            "pawns": [[1], [2]],
            "guards": [],
            "towers": [[], []],
            "player": 0,
            "phase": "roll",
            "die": 0,
        }
    )
    assert [engine_leaves(position, depth) for depth in range(5)] == [1, 6, 6, 6, 6]
    moved = position.roll(2).play(0)
    assert moved.is_over
    assert engine_leaves(moved, 4) == 1


def test_a_difference_is_shown_by_action():
    text = difference(CASES[0]["position"], 2)
    assert json.dumps(CASES[0]["position"]) in text
    assert text.count("engine") == text.count("reference") == CASES[0]["leaves"][0]
    assert "<--" not in text


def test_positions_cover_the_game():
    positions = [case["position"] for case in CASES]
    assert len(positions) >= 12
    assert len({case["name"] for case in CASES}) == len(CASES)
    for position in positions:
        assert reference.problems(position) == []
    assert {p["phase"] for p in positions} == {"roll", "move", "give", "steal", "over"}
    assert {p["rules"]["players"] for p in positions} == {2, 3, 4, 5, 6}
    assert {p["rules"]["pawns"] for p in positions} == {1, 2, 3}
    assert {(p["rules"]["guards"], p["rules"]["scoring"]) for p in positions} == {
        (guards, scoring) for guards in (False, True) for scoring in ("standard", "expert")
    }
    assert {len(p["guards"]) for p in positions} >= {0, 8}
    assert any("gift" in p["track"] and "steal" in p["track"] for p in positions)


if __name__ == "__main__":
    recount()
