"""Rewards of finished games worked out by hand, and by counting who is ahead of whom."""

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import reference
from conftest import random_position

from thatslife_env import Position, thatslife_v0
from thatslife_env.rewards import (
    REWARDS,
    reward_code,
    worst_reward,
    write_potentials,
    write_ranks,
    write_rewards,
)

L = "lucky"


def finished(*towers: list, scoring: str = "standard") -> Position:
    """A game that is over, with these towers."""
    players = len(towers)
    return Position.from_json(
        {
            "rules": {"players": players, "pawns": 1, "guards": False, "scoring": scoring},
            "track": ["start", "finish"],
            "pawns": [[1]] * players,
            "guards": [],
            "towers": list(towers),
            "player": 0,
            "phase": "over",
            "die": 0,
        }
    )


def written(kernel: Callable[..., None], position: Position, *args: object) -> list[float]:
    """What a kernel writes for the seats there are; the others must be 0, whatever was there."""
    out = np.full(6, 99.0)
    kernel(position.state[0], *args, out)
    assert (out[position.players :] == 0).all()
    return out[: position.players].tolist()


def rewards(position: Position, name: str) -> list[float]:
    return written(write_rewards, position, reward_code(name))


# By hand ------------------------------------------------------------------------------------

WIN = [
    ([[5], [3]], [1, -1]),
    ([[3], [5]], [-1, 1]),
    ([[5], [5]], [0, 0]),
    ([[], []], [0, 0]),
    ([[-2, 7, L], [7, 2]], [-1, 1]),  # 9 each; fewer lucky tiles win
    ([[5], [3], [3]], [1, -1 / 2, -1 / 2]),
    ([[5], [5], [3]], [1 / 4, 1 / 4, -1 / 2]),
    ([[5], [5], [5]], [0, 0, 0]),
    ([[5], [1, 4], [5, L]], [1 / 4, 1 / 4, -1 / 2]),
    ([[1], [2], [3], [4]], [-1 / 3, -1 / 3, -1 / 3, 1]),
    ([[4], [2], [4], [4]], [1 / 9, -1 / 3, 1 / 9, 1 / 9]),
    ([[-1], [-2], [-3], [-4], [-5]], [1, -1 / 4, -1 / 4, -1 / 4, -1 / 4]),
    ([[8], [], [], [8], []], [3 / 8, -1 / 4, -1 / 4, 3 / 8, -1 / 4]),
    ([[-1], [], [], [], [], [-1]], [-1 / 5, 1 / 10, 1 / 10, 1 / 10, 1 / 10, -1 / 5]),
    ([[1]] * 5 + [[2]], [-1 / 5] * 5 + [1]),
    ([[1]] * 6, [0] * 6),
]


@pytest.mark.parametrize(("towers", "wanted"), WIN)
def test_win(towers, wanted):
    found = rewards(finished(*towers), "win")
    assert found == pytest.approx(wanted, abs=1e-12)
    assert sum(found) == pytest.approx(0, abs=1e-12)


MARGIN = [
    ([[5], [3]], [2 / 50, -2 / 50]),
    ([[5], [5]], [0, 0]),
    ([[5, L], [5]], [0, 0]),  # points alone
    ([[8] * 7, [5]], [1, -1]),  # 51 ahead
    ([[8] * 6, [-2]], [1, -1]),  # 50 ahead
    ([[8] * 6, [-1]], [49 / 50, -49 / 50]),
    ([[8] * 10, [-10] * 10], [1, -1]),
    ([[6], [3], [1]], [4 / 50, -0.5 / 50, -3.5 / 50]),
    ([[6], [], [], []], [6 / 50, -2 / 50, -2 / 50, -2 / 50]),
    ([[], [], [], [], [-10]], [2.5 / 50] * 4 + [-10 / 50]),
    ([[8] * 10, *[[]] * 5], [1] + [-16 / 50] * 5),
    ([[-9, L], [8, 1], [3, 6], [], [], [-9]], [7.2 / 50] * 3 + [-3.6 / 50] * 2 + [-14.4 / 50]),
]


@pytest.mark.parametrize(("towers", "wanted"), MARGIN)
def test_margin(towers, wanted):
    assert rewards(finished(*towers), "margin") == pytest.approx(wanted, abs=1e-12)


RANKS = [
    # towers, ranks, rewards
    ([[5], [3]], [1, 2], [1, -1]),
    ([[5], [5]], [1.5, 1.5], [0, 0]),
    ([[5, L], [5]], [2, 1], [-1, 1]),
    ([[5, L], [5, L]], [1.5, 1.5], [0, 0]),
    ([[6], [3], [1]], [1, 2, 3], [1, 0, -1]),
    ([[1], [6], [3]], [3, 1, 2], [-1, 1, 0]),
    ([[6], [6], [1]], [1.5, 1.5, 3], [1 / 2, 1 / 2, -1]),
    ([[6], [1], [1]], [1, 2.5, 2.5], [1, -1 / 2, -1 / 2]),
    ([[6], [6], [6]], [2, 2, 2], [0, 0, 0]),
    ([[4], [3], [2], [1]], [1, 2, 3, 4], [1, 1 / 3, -1 / 3, -1]),
    ([[4], [4, L], [4, L], [4, L, L]], [1, 2.5, 2.5, 4], [1, 0, 0, -1]),
    ([[4], [3], [2], [1], []], [1, 2, 3, 4, 5], [1, 1 / 2, 0, -1 / 2, -1]),
    (
        [[1], [2], [3], [4], [5], [6]],
        [6, 5, 4, 3, 2, 1],
        [-1, -3 / 5, -1 / 5, 1 / 5, 3 / 5, 1],
    ),
    (
        [[1], [6], [6], [6], [1], [1, L]],
        [4.5, 2, 2, 2, 4.5, 6],
        [-2 / 5, 3 / 5, 3 / 5, 3 / 5, -2 / 5, -1],
    ),
    ([[7]] * 6, [3.5] * 6, [0] * 6),
]


@pytest.mark.parametrize(("towers", "ranks", "wanted"), RANKS)
def test_rank(towers, ranks, wanted):
    position = finished(*towers)
    assert written(write_ranks, position) == ranks
    assert rewards(position, "rank") == pytest.approx(wanted, abs=1e-12)
    assert sum(wanted) == pytest.approx(0, abs=1e-12)


def test_expert_scoring_counts():
    """[-9, lucky] is 9 either way, [5, lucky] -5 in expert scoring only."""
    towers = ([5, L], [4])
    assert rewards(finished(*towers), "win") == [1, -1]
    assert rewards(finished(*towers, scoring="expert"), "win") == [-1, 1]
    assert rewards(finished(*towers, scoring="expert"), "margin") == [-9 / 50, 9 / 50]
    assert rewards(finished(*towers, scoring="expert"), "rank") == [-1, 1]


# By counting --------------------------------------------------------------------------------


def counted(shown: dict) -> dict[str, list[Fraction]]:
    """All three rewards, exactly."""
    game = reference.Game.from_json(shown)
    points = game.scores()
    n = len(points)
    better = [
        [
            (points[b], -shown["towers"][b].count(L)) > (points[a], -shown["towers"][a].count(L))
            for b in range(n)
        ]
        for a in range(n)
    ]
    ahead = [sum(row) for row in better]
    behind = [sum(better[b][a] for b in range(n)) for a in range(n)]
    winners = game.winners()
    shares = [Fraction(seat in winners, len(winners)) for seat in range(n)]
    leads = [points[seat] - Fraction(sum(points) - points[seat], n - 1) for seat in range(n)]
    return {
        "win": [(n * share - 1) / (n - 1) for share in shares],
        "margin": [max(min(lead / 50, Fraction(1)), Fraction(-1)) for lead in leads],
        "rank": [Fraction(behind[seat] - ahead[seat], n - 1) for seat in range(n)],
        "lead": leads,
    }


def test_made_up_ends():
    ties = clipped = 0
    for number in range(800):
        shown = random_position(random.Random(f"rewarded {number}"), "over")
        position = Position.from_json(shown)
        wanted = counted(shown)
        for name in REWARDS:
            found = rewards(position, name)
            assert found == pytest.approx([float(reward) for reward in wanted[name]], abs=1e-9), (
                name,
                shown,
            )
            assert min(found) >= worst_reward(reward_code(name), position.players) - 1e-12
            assert max(found) <= 1
            if name != "margin" or max(map(abs, found)) < 1:
                assert sum(found) == pytest.approx(0, abs=1e-9)
            else:
                clipped += 1
        ties += len(position.winners()) > 1
    assert ties > 30
    assert clipped > 30


def test_float32_rows():
    """As the batch engine calls it."""
    for number in range(100):
        shown = random_position(random.Random(f"float32 {number}"), "over")
        position = Position.from_json(shown)
        for name in REWARDS:
            out = np.full(6, 99, np.float32)
            write_rewards(position.state[0], reward_code(name), out)
            wanted = [float(reward) for reward in counted(shown)[name]]
            assert out[: position.players].tolist() == pytest.approx(wanted, abs=1e-6)
            assert (out[position.players :] == 0).all()


@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.parametrize("name", REWARDS)
def test_worst_reward(name, players):
    """What the last of them gets, with a hopeless tower."""
    position = finished([-10] * 9, *[[8]] * (players - 1))
    worst = worst_reward(reward_code(name), players)
    wanted = {"win": -1 / (players - 1), "margin": -1, "rank": -1}[name]
    assert worst == pytest.approx(wanted, abs=1e-12)
    assert rewards(position, name)[0] == pytest.approx(worst, abs=1e-12)


# Potentials ---------------------------------------------------------------------------------


def test_potentials_by_hand():
    shown = finished([6], [3], [1]).to_json()
    assert written(write_potentials, Position.from_json(shown)) == [0, 0, 0]
    shown |= {"pawns": [[0], [1], [1]], "phase": "roll"}
    assert written(write_potentials, Position.from_json(shown)) == [4, -0.5, -3.5]
    shown["rules"]["scoring"] = "expert"
    shown["towers"] = [[6, L], [3], [1]]
    assert written(write_potentials, Position.from_json(shown)) == [-8, 5.5, 2.5]


def test_potentials_anywhere():
    phases = set()
    for number in range(600):
        shown = random_position(random.Random(f"potential {number}"))
        phases.add(shown["phase"])
        leads = counted(shown)["lead"]
        wanted = [0.0 if shown["phase"] == "over" else float(lead) for lead in leads]
        found = written(write_potentials, Position.from_json(shown))
        assert found == pytest.approx(wanted, abs=1e-9), shown
        assert sum(found) == pytest.approx(0, abs=1e-9)
    assert len(phases) == 5


# Names --------------------------------------------------------------------------------------


def test_names():
    assert list(REWARDS) == ["win", "margin", "rank"]
    assert len({reward_code(name) for name in REWARDS}) == 3
    assert all(REWARDS.values())


@pytest.mark.parametrize("name", ["", "Win", "points", "win ", None, 0])
def test_unknown_names(name):
    """The error says which and what there is."""
    with pytest.raises(ValueError, match="win, margin, rank") as caught:
        reward_code(name)
    assert repr(name) in str(caught.value)


def test_a_reward_through_the_door():
    """The last move of a game, of which the end is known."""
    shown = finished([6], [1], [1]).to_json()
    shown |= {"pawns": [[0], [1], [1]], "phase": "move", "die": 1}
    ends = {
        "win": [1, -0.5, -0.5],
        "margin": [5 / 50, -2.5 / 50, -2.5 / 50],
        "rank": [1, -0.5, -0.5],
    }
    for name, wanted in ends.items():
        env = thatslife_v0.raw_env(players=3, reward=name)
        env.reset(seed=1, options={"position": shown})
        env.step(0)
        assert [env.rewards[agent] for agent in env.possible_agents] == pytest.approx(wanted)
