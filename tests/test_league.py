"""The league: who is drawn how often, and what is known of games against each member."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents.config import PpoConfig
from agents.league import EASIEST, MEMORY, League, Tally
from agents.networks import make_network
from agents.runs import plot_league
from agents.sb3_env import ThatsLifeVecEnv
from agents.training import make_env
from thatslife_env.games import FINISHED, LEARNER

CONFIG = {
    "opponents": {"self": 0.4, "snapshots": 0.4, "random": 0.15, "mc:rollouts=2": 0.05},
    "snapshots": {"keep": 2, "focus": 2},
    "network": {"kind": "mlp", "hidden": [4]},
    "ppo": {"n_envs": 8, "n_steps": 4, "batch_size": 8},
}


def make_league(folder: Path, **changes) -> League:
    config = PpoConfig.model_validate({**CONFIG, **changes})
    return League(config, make_network(config.network.model_dump()), folder)


@pytest.fixture
def league(tmp_path) -> League:
    return make_league(tmp_path)


def result(*shares: float) -> np.void:
    game = np.zeros((), FINISHED)
    game["players"] = len(shares)
    game["win_share"][: len(shares)] = shares
    return game


def lineup(*numbers: int) -> np.ndarray:
    return np.array([*numbers, 0, 0, 0, 0, 0, 0], np.int16)[:6]


def test_weights_are_those_of_the_config(league):
    """What snapshots weigh is shared among the latest; while there are none, the learner has it."""
    assert league.weights() == pytest.approx({"self": 0.8, "random": 0.15, "mc:rollouts=2": 0.05})
    league.add_snapshot(256)
    assert league.weights()["self"] == pytest.approx(0.4)
    assert league.weights()["snapshot-000000256"] == pytest.approx(0.4)
    for step in (512, 768):
        league.add_snapshot(step)
    assert league.snapshots == ["snapshot-000000512", "snapshot-000000768"]
    assert league.weights() == pytest.approx(
        {
            "self": 0.4,
            "random": 0.15,
            "mc:rollouts=2": 0.05,
            "snapshot-000000512": 0.2,
            "snapshot-000000768": 0.2,
        }
    )


def test_harder_snapshots_are_drawn_more(league):
    easy, hard = "snapshot-000000001", "snapshot-000000002"
    league.add_snapshot(1)
    league.add_snapshot(2)
    league.tallies[easy] = Tally(90.0, 10.0)
    league.tallies[hard] = Tally(40.0, 60.0)
    weights = league.weights()
    assert weights[hard] / weights[easy] == pytest.approx((0.6 / 0.1) ** 2)
    assert weights[hard] + weights[easy] == pytest.approx(0.4)
    for name in (easy, hard):
        league.tallies[name] = Tally(100.0, 0.0)
    assert league.weights()[easy] == pytest.approx(0.2)
    league.tallies[hard] = Tally(50.0, 50.0)
    assert league.weights()[easy] == pytest.approx(0.4 * EASIEST**2 / (EASIEST**2 + 0.5**2))


def test_without_focus_all_are_drawn_alike(tmp_path):
    league = make_league(tmp_path, snapshots={"keep": 3, "focus": 0})
    for step in (1, 2, 3):
        league.add_snapshot(step)
        league.tallies[f"snapshot-{step:09d}"] = Tally(float(step), 1.0)
    shares = [league.weights()[name] for name in league.snapshots]
    assert shares == pytest.approx([0.4 / 3] * 3)


def test_games_are_counted_for_those_who_played_in_them(league):
    """Numbers: 0 random, 1 greedy, then the roster: the learner itself, mc."""
    assert league.roster == ["self", "mc:rollouts=2"]
    shares = league.count(result(0.0, 0.5, 0.5, 0.0), 1, lineup(0, LEARNER, 3, 0))
    assert shares == {"random": 0.5, "mc:rollouts=2": 0.5}
    random, mc = league.tallies["random"], league.tallies["mc:rollouts=2"]
    assert (random.own, random.theirs) == pytest.approx((5 - 5 / MEMORY + 0.5, 5 - 5 / MEMORY))
    assert mc.own == mc.theirs == pytest.approx(5 - 5 / MEMORY + 0.5)
    assert mc.score == 0.5
    assert "self" not in league.tallies


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_the_score_finds_the_win_rate_and_forgets(rate):
    rng = np.random.default_rng(0)
    tally = Tally(200.0, 0.0)  # it used to win everything
    for _ in range(20 * MEMORY):
        won = float(rng.random() < rate)
        tally.add(won, 1 - won)
    assert tally.own + tally.theirs == pytest.approx(MEMORY, rel=0.01)
    assert tally.score == pytest.approx(rate, abs=3.5 * (rate * (1 - rate) / 2 / MEMORY) ** 0.5)


def test_a_fair_share_of_many_is_even():
    """One seat of four that wins a quarter of its games is as good as the others."""
    tally = Tally()
    for game in range(8 * MEMORY):
        own = float(game % 4 == 0)
        tally.add(own, (1 - own) / 3)
    assert tally.score == pytest.approx(0.5, abs=0.02)


def test_metrics_list_every_member(league):
    league.add_snapshot(5)
    metrics = league.metrics()
    names = {"self", "random", "mc:rollouts=2", "snapshot-000000005"}
    assert {key.removeprefix("league/score/") for key in metrics if "score" in key} == names
    assert sum(value for key, value in metrics.items() if "share" in key) == pytest.approx(1)
    assert metrics["league/share/random"] == pytest.approx(0.15)


def test_a_league_comes_back_as_it_was(league, tmp_path):
    for step in (3, 7):
        league.add_snapshot(step)
        league.count(result(1.0, 0.0), 0, lineup(LEARNER, len(league.roster) + 1))
    state = json.loads(json.dumps(league.state()))
    other = make_league(tmp_path)
    other.check(state)
    other.restore(state)
    assert other.state() == state
    assert other.weights() == league.weights()
    assert other.name_of(4) == "snapshot-000000003"
    assert other.tallies["snapshot-000000003"].own > 5


def test_what_is_drawn_follows_the_weights(league):
    """Lineups of games that begin after `enter`, by name."""
    league.add_snapshot(1)
    league.add_snapshot(2)
    league.tallies["snapshot-000000001"] = Tally(80.0, 20.0)
    env = ThatsLifeVecEnv(4000, seed=3, ruleset="basic", players=2)
    league.enter(env)
    env.play.reset(5)
    others = env.play.lineups[np.arange(4000), 1 - env.play.seats]
    names, counts = np.unique(
        [league.name_of(int(number)) for number in others], return_counts=True
    )
    weights = league.weights()
    expected = {name: 4000 * weight for name, weight in weights.items()}
    chi_square = sum(
        (count - expected[name]) ** 2 / expected[name]
        for name, count in zip(names, counts, strict=True)
    )
    assert len(names) == 5
    assert chi_square < 18.47  # p = 0.001


def test_entering_again_changes_no_game(league):
    config = league.config
    envs = [make_env(config), make_env(config)]
    for number, env in enumerate(envs):
        for _ in range(1 + 2 * number):
            league.enter(env)
        env.reset()
    np.testing.assert_array_equal(envs[0].play.lineups, envs[1].play.lineups)


def test_the_plot_of_a_league(tmp_path):
    lines = [{"step": 1, "league/score/self": 0.5}, {"step": 2, "league/score/a": 0.7}]
    plot_league(lines, tmp_path / "league.png")
    plot_league([], tmp_path / "empty.png")
    assert (tmp_path / "league.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "empty.png").stat().st_size > 1000
