"""The benchmark of what same dice and rotated seats save: known ratios are found."""

import numpy as np
import pytest
from variance import independent, main, savings

import agents
from agents import arena
from agents.cli import run
from thatslife_env import Ruleset
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed


def deals(rng: np.random.Generator, n_deals: int, opposed: float) -> np.ndarray:
    """Wins of two seats of a deal, half of them; in a part of the deals one of the two wins."""
    first = rng.integers(0, 2, n_deals)
    second = np.where(rng.random(n_deals) < opposed, 1 - first, rng.integers(0, 2, n_deals))
    return np.column_stack([first, second]).astype(float)


@pytest.mark.parametrize(("opposed", "ratio"), [(0, 1), (0.5, 2), (0.75, 4)])
def test_a_known_ratio_is_found(opposed, ratio):
    """Where the games of a deal have correlation r, one is worth 1 / (1 + r) independent ones."""
    rng = np.random.default_rng(1)
    covered = np.zeros(2)
    for number in range(40):
        drawn = rng.integers(0, 2, 4000).astype(float)
        for way, found in enumerate(savings(deals(rng, 2000, opposed), drawn, number)):
            measured, low, high = found
            assert measured == pytest.approx(ratio, rel=0.2)
            assert low < measured < high
            covered[way] += low <= ratio <= high
    assert (covered >= 34).all()


def test_both_ways_disagree_where_the_independent_games_are_of_others():
    """Only the first depends on them: they win 1 in 10, the rotated half."""
    rng = np.random.default_rng(3)
    drawn = (rng.random(4000) < 0.1).astype(float)
    both, alone = savings(deals(rng, 2000, 0), drawn, 0)
    assert both[0] == pytest.approx(0.09 / 0.25, rel=0.2)
    assert alone[0] == pytest.approx(1, rel=0.1)


def test_more_seats_than_two():
    """Four seats of which the deal gives one the victory: the mean is always the same."""
    rng = np.random.default_rng(2)
    one = np.eye(4)[rng.integers(0, 4, 2000)]
    free = (rng.random((2000, 4)) < 0.25).astype(float)
    drawn = (rng.random(8000) < 0.25).astype(float)
    for found in savings(free, drawn, 0):
        assert found[0] == pytest.approx(1, rel=0.1)
    half = np.where(rng.random((2000, 1)) < 0.5, one, free)
    for measured, low, high in savings(half, drawn, 0):
        assert low < 2 < high
        assert measured == pytest.approx(2, rel=0.15)
    assert savings(one, drawn, 0) == [None, None]


def test_independent_games_have_deals_and_seats_of_their_own(monkeypatch):
    calls = []

    def spy(pair, ruleset, seeds, lineups, **options):
        calls.append((seeds, lineups))
        return arena.play_games(pair, ruleset, seeds, lineups, **options)

    monkeypatch.setattr("variance.play_games", spy)
    pair = (agents.make("random"), agents.make("random"))
    seeds = stream_seeds(3, 400)
    shares = independent(pair, Ruleset(players=4), seeds, 0, lambda n_games: None)
    [(dealt, lineups)] = calls
    assert len(np.unique(dealt)) == 400
    assert ((lineups == 0).sum(axis=1) == 1).all()
    assert (np.abs((lineups == 0).sum(axis=0) - 100) < 40).all()
    assert shares.mean() == pytest.approx(0.25, abs=0.09)


@pytest.mark.parametrize("players", ["2", "3"])
def test_the_command_prints_a_row_for_each_pair(monkeypatch, capsys, players):
    arguments = ["--agents", "greedy", "random", "mc:rollouts=1", "--players", players]
    monkeypatch.setattr("sys.argv", ["variance.py", *arguments, "--games", "120"])
    with pytest.raises(SystemExit) as ended:
        run(main, "variance.py")
    assert ended.value.code == 0
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == 7
    names = [[cell.strip() for cell in row.split("|")[1:3]] for row in rows]
    assert names == [
        ["`greedy`", "`random`"],
        ["`greedy`", "`mc:rollouts=1`"],
        ["`random`", "`mc:rollouts=1`"],
    ]


def test_one_agent_is_no_pair(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["variance.py", "--agents", "random"])
    with pytest.raises(SystemExit) as ended:
        run(main, "variance.py")
    assert ended.value.code == 2
    assert "--agents" in capsys.readouterr().err
