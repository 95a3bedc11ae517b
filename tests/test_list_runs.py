"""The command agents.list_runs: what it says of runs, whole and damaged."""

import json
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from agents import list_runs
from agents.cli import run


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Calls the command in this process, beside `runs`: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["agents.list_runs", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(list_runs.main, "agents.list_runs")
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return call


def line(step: int, speed: float | None = 100.0, segment: int = 0, **shares: float) -> str:
    values: dict = {"step": step, "segment": segment, "time/steps_per_second": speed}
    for spec, share in shares.items():
        values |= {
            f"evaluation/win_share/{spec}": share,
            f"evaluation/low/{spec}": share - 0.02,
            f"evaluation/high/{spec}": share + 0.03,
        }
    return json.dumps(values) + "\n"


def make_run(
    folder: Path, config: str = "", metrics: str = "", results: dict | None = None
) -> Path:
    folder.mkdir(parents=True)
    if config:
        (folder / "config.yaml").write_text(config)
    if metrics:
        (folder / "metrics.jsonl").write_text(metrics)
    if results is not None:
        (folder / "results.json").write_text(json.dumps(results))
    return folder


PPO = """
algorithm: ppo
seed: 7
total_steps: 4000
game: {ruleset: basic, players: 2, mix: null}
opponents: {'policy:gone': 1.0}
"""
TD = """
algorithm: td
seed: 1
total_steps: 1000
game:
  ruleset: basic
  mix: [{ruleset: basic, players: [2, 3]}, {ruleset: {players: 4}}]
"""
FINAL = {
    "agents": [{"spec": "policy:runs/a"}, {"spec": "greedy"}],
    "pairs": [
        {"a": "policy:runs/a", "b": "greedy", "win_share_a": 0.625, "ci95": [0.6, 0.65]},
        {"a": "greedy", "b": "policy:runs/a", "win_share_a": 0.375, "ci95": [0.35, 0.4]},
    ],
}


@pytest.fixture
def runs(tmp_path) -> Path:
    """A run that has ended, and one that was killed, resumed from step 200, and goes on."""
    folder = tmp_path / "runs"
    whole = line(1000, 100.0, random=0.7, greedy=0.4) + line(2000, 50.0) + line(4000, 200.0)
    make_run(folder / "a", PPO, whole, FINAL)
    killed = line(100, 10.0) + line(200, 10.0, random=0.5, greedy=0.6) + line(300, 10.0)
    resumed = line(300, 20.0, 1, random=0.6, greedy=0.7) + line(400, None, 1) + '{"step": 50'
    make_run(folder / "b", TD, killed + resumed)
    return folder


# What it says -----------------------------------------------------------------------------------


def test_what_is_known_of_runs(runs, command):
    code, out, err = command("--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["left_out"] == []
    a, b = found["runs"]
    curve = a.pop("curve")
    assert a == {
        "run": "runs/a",
        "algorithm": "ppo",
        "game": "basic 2p",
        "seed": 7,
        "steps": 4000,
        "total_steps": 4000,
        "seconds": 10 + 20 + 10,
        "win_shares": {"greedy": {"win_share": 0.625, "ci95": [0.6, 0.65]}},
        "of": "final games",
    }
    assert [(point["step"], point["opponent"]) for point in curve] == [
        (1000, "random"),
        (1000, "greedy"),
    ]
    assert (b["algorithm"], b["game"], b["of"]) == ("td", "basic 2+3p, custom 4p", "step 300")
    assert (b["steps"], b["seconds"]) == (400, 10 + 10 + 5)
    assert b["win_shares"]["greedy"]["win_share"] == 0.7
    assert [point["win_share"] for point in b["curve"]] == [0.5, 0.6, 0.6, 0.7]


def test_the_table_has_a_line_for_each_run(runs, command):
    code, out, err = command()
    assert (code, err) == (0, "")
    head, a, b = out.splitlines()
    assert head.split()[:4] == ["run", "algorithm", "game", "seed"]
    assert "v greedy" in head
    assert "v random" in head
    assert a.startswith("runs/a")
    for word in ("4,000", "100 %", "0.7", "final games", "0.625 [0.600, 0.650]"):
        assert word in a
    for word in ("td", "400", "40 %", "step 300", "0.700 [0.680, 0.730]"):
        assert word in b


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("run", "ab"),
        ("algorithm", "ab"),
        ("game", "ba"),
        ("steps", "ab"),
        ("time", "ab"),
        ("greedy", "ba"),
        ("random", "ba"),
    ],
)
def test_runs_are_sorted(runs, command, key, order):
    """Numbers from the largest; a run without one comes last."""
    found = json.loads(command("--json", "--sort", key)[1])["runs"]
    assert [each["run"] for each in found] == [f"runs/{name}" for name in order]


def test_curves_of_all_runs_are_drawn(runs, command, tmp_path):
    """And drawn anew in the place of an older picture."""
    picture = tmp_path / "curves.png"
    assert command("--plot", picture)[0] == 0
    both = matplotlib.image.imread(picture)
    assert np.ptp(both[:, :, :3]) > 0.5
    assert command(runs / "a", "--plot", picture)[0] == 0
    one = matplotlib.image.imread(picture)
    assert both.shape != one.shape or (both != one).any()


def test_a_run_that_has_just_begun(runs, command):
    make_run(runs / "new", PPO)
    code, out, err = command("runs/new")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split()[:3] == ["runs/new", "ppo", "basic"]
    code, out, err = command("runs/new", "--plot", "x.png")
    assert (code, out) == (2, "")
    assert "none of the runs has been evaluated" in err


# What it leaves out -------------------------------------------------------------------------------

DAMAGE = {
    "an empty folder": ("", "", None, "no config.yaml"),
    "something else": ("name: another program\n", "", None, "no algorithm"),
    "a list": ("- 1\n", "", None, "no algorithm"),
    "no YAML": ("algorithm: [\n", "", None, "config.yaml"),
    "a seed that is none": ("algorithm: td\nseed: x\ntotal_steps: 3\n", "", None, "seed"),
    "no steps": ("algorithm: td\nseed: 1\n", "", None, "total_steps"),
    "metrics of nonsense": (PPO, "nonsense\n" + line(1), None, "metrics.jsonl: line 1"),
    "results of nonsense": (PPO, line(1), {"agents": []}, "results.json: damaged"),
    "results of others": (PPO, line(1), FINAL | {"pairs": [{"a": 1}, 2]}, "results.json"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_cannot_be_read_is_said_in_a_line(runs, command, name):
    config, metrics, results, word = DAMAGE[name]
    make_run(runs / "c", config, metrics, results)
    (runs / "file").write_text("no folder")
    (runs / ".hidden").mkdir()
    code, out, err = command()
    assert code == 0
    assert len(out.splitlines()) == 3  # the others are listed
    assert err.startswith("left out: runs/c: ")
    assert err.count("\n") == 1
    assert word in err
    code, out, err = command("runs/c")
    assert (code, out) == (2, "")
    assert "there is no run to list" in err


def test_bytes_that_are_no_text(runs, command):
    (runs / "a" / "config.yaml").write_bytes(b"\xff\xfe\x00")
    (runs / "b" / "metrics.jsonl").write_bytes(b"\xff\n")
    code, out, err = command()
    assert (code, out) == (2, "")
    assert err.count("left out: ") == 2


def test_metrics_of_other_types_are_no_points(runs, command):
    strange = {"evaluation/win_share/greedy": "high", "time/steps_per_second": "fast"}
    text = json.dumps({"step": 5, "segment": 0, **strange}) + "\n"
    make_run(runs / "c", PPO, text)
    [found] = json.loads(command("runs/c", "--json")[1])["runs"]
    assert (found["steps"], found["seconds"], found["curve"]) == (5, 0, [])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--sort", "colour"], "greedy"),
        (["--plot", "nowhere/x.png"], "nowhere"),
        (["nowhere"], "nowhere"),
        (["--colour"], "--colour"),
    ],
)
def test_wrong_use_is_told(runs, command, arguments, word):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert "Traceback" not in err


def test_no_runs_at_all(command):
    code, out, err = command()
    assert (code, out) == (2, "")
    assert err.startswith("agents.list_runs: runs: ")
