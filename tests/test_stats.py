"""The command agents.stats: what it plays, what it makes of it, and what it refuses."""

import json
from itertools import permutations

import matplotlib.image
import numpy as np
import pytest

import agents
from agents import stats
from agents.cli import run
from agents.stats_plots import FILES
from agents.tally import STAGES, STANDINGS, WAYS
from thatslife_env import PRESETS, Ruleset
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code


@pytest.fixture
def command(monkeypatch, capsys):
    """Calls the command in this process: exit code, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["agents.stats", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(stats.main, "agents.stats")
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return call


def sample(specs, preset="basic", players=2, **options) -> stats.Sample:
    ruleset = Ruleset.preset(preset, players=players)
    return stats.play([agents.make(spec) for spec in specs], ruleset, preset, **options)


def estimates_in(summary) -> list[dict]:
    if isinstance(summary, dict) and set(summary) == {"mean", "ci95"}:
        return [summary]
    children = summary.values() if isinstance(summary, dict) else summary
    if not isinstance(summary, dict | list):
        return []
    return [found for child in children for found in estimates_in(child)]


# Games ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_agents", "players"), [(2, 2), (3, 2), (2, 3), (3, 4), (5, 6)])
def test_each_agent_sits_in_each_seat_of_each_deal_once(n_agents, players):
    seeds = stream_seeds(1, 200)
    lineups = stats.lineups_of(n_agents, players, seeds).reshape(200, n_agents, players)
    assert (np.sort(lineups, axis=1) == np.arange(n_agents)[:, None]).all()
    firsts = {tuple(game) for deal in lineups for game in deal}
    if n_agents >= players:
        assert firsts == set(permutations(range(n_agents), players))
    again = stats.lineups_of(n_agents, players, seeds[50:60])
    assert (again == lineups[50:60].reshape(-1, players)).all()


def test_the_batch_and_the_threads_change_nothing(monkeypatch):
    specs = ["random", "greedy"]
    whole = sample(specs, "full", 3, games=41, seed=9)
    assert len(whole.tallies) == 42
    monkeypatch.setattr(stats, "_CHUNK", 5)
    monkeypatch.setattr("agents.arena.BATCH", 2)
    counted = []
    parts = sample(specs, "full", 3, games=41, seed=9, threads=2, progress=counted.append)
    assert (parts.tallies == whole.tallies).all()
    assert stats.summarise(parts, 9) == stats.summarise(whole, 9)
    assert sum(counted) == 42
    other = sample(specs, "full", 3, games=41, seed=10)
    assert (other.tallies != whole.tallies).any()


# Numbers --------------------------------------------------------------------------------------


def test_intervals_of_ratios_cover_the_truth():
    """Games of a deal are alike, so only intervals that resample whole deals are wide enough."""
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        deal = rng.normal(2.0, 1.0, (100, 1)).repeat(4, axis=1)
        weights = rng.integers(1, 4, (100, 4))
        parts = (deal * weights).reshape(-1)
        found = stats.Estimates(100, 4, seed).ratio(parts, weights.reshape(-1))
        assert found["mean"] == pytest.approx(parts.sum() / weights.sum())
        hits += found["ci95"][0] <= 2.0 <= found["ci95"][1]
    assert 180 <= hits <= 198


def test_a_ratio_of_nothing_is_none():
    found = stats.Estimates(3, 1, 0).ratios([[1, 0], [2, 0], [3, 0]], [[2, 0], [2, 0], [2, 0]])
    assert found[0]["mean"] == 1.0
    assert found[1] is None
    assert stats.shown(None) == "-"
    assert stats.shown({"mean": 0.5, "ci95": [0.25, 0.65]}, 2) == "0.50 ±0.20"


@pytest.fixture(scope="module")
def summary() -> dict:
    return stats.summarise(sample(["greedy"], "full", 3, games=300), 0)


def test_a_summary_adds_up(summary):
    def mean(*path):
        found = summary
        for key in path:
            found = found[key]
        return found["mean"]

    assert (summary["games"], summary["deals"]) == (300, 300)
    assert sum(seat["win_share"]["mean"] for seat in summary["seats"]) == pytest.approx(1)
    assert sum(seat["home_first"]["mean"] for seat in summary["seats"]) == pytest.approx(1)
    assert sum(place["win_share"]["mean"] for place in summary["home"]) == pytest.approx(1)
    assert sum(tower["share"]["mean"] for tower in summary["lucky"]["towers"]) == pytest.approx(1)
    assert sum(summary["length"]["games_by_turns"].values()) == 300
    assert sum(summary["scores"]["seats_by_points"].values()) == 900
    tiles = summary["tiles"]
    assert sum(tile["copies"] for tile in tiles) == 32
    left = sum(tile["copies"] * (1 - tile["taken"]["mean"]) for tile in tiles)
    assert left == pytest.approx(mean("length", "tiles_left"))
    for tile in tiles:
        for group, names in (("ways", WAYS), ("standings", STANDINGS), ("seats", "012")):
            assert set(tile[group]) == set(names)
            assert sum(share["mean"] for share in tile[group].values()) == pytest.approx(1)
    points = summary["scores"]["points"]["mean"]
    assert sum(seat["points"]["mean"] for seat in summary["seats"]) / 3 == pytest.approx(points)
    assert mean("choice", "open") == pytest.approx(
        mean("length", "decisions") * (1 - mean("choice", "forced"))
    )
    assert mean("guards", "moves") == pytest.approx(
        mean("length", "decisions") * mean("guards", "open") * mean("guards", "used")
    )
    assert summary["lead"]["led_by_stage"][0]["mean"] == 0  # all begin with 0 points
    assert summary["lead"]["win_share_by_stage"][0] is None
    for estimate in estimates_in(summary):
        assert estimate["ci95"][0] <= estimate["mean"] <= estimate["ci95"][1]


def test_what_is_known_of_the_game(summary):
    """Greedy takes good tiles by choice and bad ones when it must; a late lead wins more."""
    tiles = {tile["tile"]: tile for tile in summary["tiles"]}
    assert tiles["+8"]["ways"]["chosen"]["mean"] > 0.5 > tiles["-8"]["ways"]["chosen"]["mean"]
    assert tiles["-10"]["time"]["mean"] > tiles["+8"]["time"]["mean"]
    assert tiles["-10"]["points_with"]["mean"] < -5 < 5 < tiles["+8"]["points_with"]["mean"]
    shares = summary["lead"]["win_share_by_stage"]
    assert shares[STAGES - 1]["mean"] > shares[2]["mean"] > 1 / 3
    assert summary["guards"]["moves"]["mean"] > 5


def test_mixed_games_tell_the_better_agent():
    found = stats.summarise(sample(["random", "greedy"], games=600), 0)
    assert found["lineup"] == "mixed"
    assert (found["games"], found["deals"]) == (600, 300)
    weak, strong = found["agents"]
    assert weak["win_share"]["mean"] + strong["win_share"]["mean"] == pytest.approx(1)
    assert weak["win_share"]["ci95"][1] < 0.35 < 0.65 < strong["win_share"]["ci95"][0]
    assert strong["points"]["mean"] > weak["points"]["mean"] + 5
    taken = sum(agent["takes"]["lucky"]["mean"] for agent in found["agents"])
    [lucky] = [tile for tile in found["tiles"] if tile["tile"] == "lucky"]
    assert taken == pytest.approx(6 * lucky["taken"]["mean"])
    assert strong["takes"]["lucky"]["mean"] > weak["takes"]["lucky"]["mean"]


def test_alike_agents_differ_by_their_seat_alone():
    """Self-play of one agent: its win share over all seats is fair, to the last digit."""
    found = stats.summarise(sample(["random"], players=4, games=50), 0)
    [agent] = found["agents"]
    assert agent["win_share"]["mean"] == pytest.approx(0.25)
    assert agent["win_share"]["ci95"] == pytest.approx([0.25, 0.25])


# The command ------------------------------------------------------------------------------------


def test_the_command_writes_tables_and_plots(command, tmp_path):
    out = tmp_path / "new" / "folder"
    code, text, err = command(
        *("--agents", "greedy", "random", "--ruleset", "basic,full", "--players", "2,3"),
        *("--games", 20, "--seed", 5, "--out", out),
    )
    assert (code, err) == (0, "")
    assert {path.name for path in out.iterdir()} == {stats.JSON, stats.MARKDOWN, *FILES}
    report = json.loads((out / stats.JSON).read_text())
    assert (report["seed"], report["agents"]) == (5, ["greedy", "random"])
    assert [(each["ruleset"], each["players"], each["lineup"]) for each in report["samples"]] == [
        (ruleset, players, lineup)
        for ruleset in ("basic", "full")
        for players in (2, 3)
        for lineup in ("greedy", "random", "mixed")
    ]
    assert all(
        (each["guards"] is None) == (each["ruleset"] == "basic") for each in report["samples"]
    )
    markdown = (out / stats.MARKDOWN).read_text()
    for table in stats.tables(report["samples"]):
        assert all(len(row) == len(table.head) for row in table.rows)
        assert table.as_text() in text
        assert table.as_markdown() in markdown
    assert "Tiles, full, 3 players, mixed, 20 games" in text
    for name in FILES:
        pixels = matplotlib.image.imread(out / name)
        assert min(pixels.shape[:2]) > 300
        assert np.ptp(pixels[:, :, :3]) > 0.5


def test_json_is_for_programs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("--agents", "random", "--games", 3, "--json")
    code, text, err = command(*arguments)
    assert (code, err) == (0, "")
    [found] = json.loads(text)["samples"]
    assert found == stats.summarise(sample(["random"], games=3), 0)
    assert list(tmp_path.iterdir()) == []
    assert command(*arguments, "--threads", 2)[1] == text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--agents"]),
        (["--agents", "nobody"], ["'nobody'", "greedy"]),
        (["--agents", "human"], ["human"]),
        (["--agents", "greedy", " greedy"], ["'greedy'", "twice"]),
        (["--agents", "greedy", "--ruleset", "chess"], ["'chess'", *PRESETS]),
        (["--agents", "greedy", "--ruleset", "basic,basic"], ["'basic'", "twice"]),
        (["--agents", "greedy", "--players", "7"], ["'7'", "2 to 6"]),
        (["--agents", "greedy", "--games", "0"], ["--games"]),
        (["--agents", "greedy", "--games", "100001"], ["--games", "100000"]),
        (["--agents", "greedy", "--seed", "-1"], ["--seed"]),
        (["--agents", "greedy", "--out", "/proc/x"], ["--out", "/proc/x"]),
        (["--agents", "greedy", "td:builtin/2p", "--players", "2,3"], ["td:builtin/2p", "not 3"]),
    ],
)
def test_wrong_use_is_told_in_one_line(command, arguments, words):
    code, text, err = command(*arguments)
    assert code == 2
    assert text == ""
    assert err.startswith("agents.stats: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_a_folder_in_the_way_is_told_before_any_game(command, tmp_path):
    (tmp_path / "seats.png").mkdir()
    code, text, err = command("--agents", "random", "--games", 2, "--out", tmp_path)
    assert (code, text) == (2, "")
    assert "seats.png is a folder" in err
