"""The command evaluate.py: what it writes, and what it says of wrong use."""

import base64
import html.parser
import importlib.util
import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from agents.cli import run
from agents.files import locked
from agents.networks import make_network
from agents.policy import save_policy
from agents.report import markdown
from thatslife_env import PRESETS

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "evaluate.py"
DESCRIPTION = {"kind": "mlp", "hidden": [8], "activation": "relu"}
AGENT_KEYS = {"spec", "games", "win_share", "ci95", "mean_score", "mean_rank", "ms_per_decision"}
AGENT_KEYS |= {"rating", "rating_ci95"}
PLOTS = {"results.png", "ratings.png", "heatmap.png"}


def load_script():
    spec = importlib.util.spec_from_file_location("evaluate", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def evaluate(monkeypatch, capsys):
    """Calls the command in this process: exit code, stdout, stderr."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    script = load_script()

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["evaluate.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(script.main, "evaluate.py")
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return call


def assert_refused(ended: tuple[int, str, str], *words: str) -> None:
    """Exit code 2, one line on stderr that has the words in it, nothing on stdout."""
    code, out, err = ended
    assert code == 2
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    assert err.startswith("evaluate.py: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err
    assert out == ""


def assert_picture(path: Path) -> None:
    pixels = matplotlib.image.imread(path)
    assert min(pixels.shape[:2]) > 100
    assert np.ptp(pixels[:, :, :3]) > 0.5  # something is drawn


def assert_complete(folder: Path, ruleset: str, players: int, games: int, specs: list[str]) -> dict:
    """A folder has results of DESIGN's form for this setting, and the pictures."""
    names = {path.name for path in folder.iterdir() if not path.name.startswith("tournament")}
    assert names == {"parts", "report.html", "results.json", "results.md", *PLOTS}
    results = json.loads((folder / "results.json").read_text())
    assert set(results) == {"ruleset", "players", "games", "seed", "agents", "pairs"}
    assert (results["ruleset"], results["players"]) == (ruleset, players)
    assert results["games"] == games
    assert [agent["spec"] for agent in results["agents"]] == specs
    assert all(set(agent) == AGENT_KEYS for agent in results["agents"])
    assert {(pair["a"], pair["b"]) for pair in results["pairs"]} == set(
        itertools.permutations(specs, 2)
    )
    assert (folder / "results.md").read_text() == markdown(results) + "\n"
    for name in PLOTS:
        assert_picture(folder / name)
    assert_stands_alone((folder / "report.html").read_text(), results)
    return results


class Page(html.parser.HTMLParser):
    """What a page asks for, and its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.urls: list[str] = []
        self.alts: list[str | None] = []
        self.scopes: list[str | None] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.urls += [given[key] for key in ("src", "srcset", "href", "data") if key in given]
        if tag == "img":
            self.alts.append(given.get("alt"))
        if tag == "th":
            self.scopes.append(given.get("scope"))
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.strip()


def assert_stands_alone(text: str, results: dict) -> None:
    """It asks for nothing, has its pictures in it for light and dark, and names what it shows."""
    page = Page(text)
    assert "script" not in page.tags
    assert page.urls
    assert all(url.startswith("data:") for url in page.urls)
    assert "url(" not in text
    assert "@import" not in text
    pictures = [url for url in page.urls if url.startswith("data:image/png;base64,")]
    assert len(set(pictures)) == 4  # two, light and dark
    for url in pictures:
        assert base64.b64decode(url.partition(",")[2], validate=True).startswith(b"\x89PNG")
    assert page.tags.count("table") == page.tags.count("caption") == 3
    assert set(page.scopes) == {"col", "row"}
    assert len(page.alts) == 2
    assert all(page.alts)
    assert "prefers-color-scheme: dark" in text
    for agent in results["agents"]:
        low, high = agent["rating_ci95"]
        assert agent["spec"] in page.cells
        assert f"{agent['rating']:.0f} [{low:.0f}, {high:.0f}]" in page.cells
    for pair in results["pairs"]:
        low, high = pair["ci95"]
        assert f"{pair['win_share_a']:.3f} [{low:.3f}, {high:.3f}]" in page.cells
    where = "random at 0" if "random" in [a["spec"] for a in results["agents"]] else "mean of all"
    assert where in text


# What it does -----------------------------------------------------------------------------------


def test_the_command_of_the_readme_works(tmp_path):
    out = tmp_path / "new" / "folder"
    arguments = ["--agents", "greedy", "random", "--players", "6", "--ruleset", "full"]
    ended = subprocess.run(
        [sys.executable, SCRIPT, *arguments, "--games", "600", "--out", out],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    results = assert_complete(out, "full", 6, 600, ["greedy", "random"])
    assert results["seed"] == 0
    assert "full, 6 players, 600 games a pair" in ended.stdout
    greedy, other = results["agents"]
    assert greedy["win_share"] > 1 / 6 > other["win_share"]
    for agent in results["agents"]:
        row = next(line for line in ended.stdout.splitlines() if line.startswith(agent["spec"]))
        low, high = agent["ci95"]
        assert f"{agent['win_share']:.3f} [{low:.3f}, {high:.3f}]" in row
    assert str(out) in ended.stdout


def test_every_preset_and_number_of_players_at_once(evaluate, tmp_path):
    """Each setting in a subfolder of its own."""
    code, out, err = evaluate(
        *("--agents", "random", "greedy", "--ruleset", ",".join(PRESETS)),
        *("--players", "2,3,4,5,6", "--games", 5, "--seed", 2**64 - 1, "--out", tmp_path),
    )
    assert (code, err) == (0, "")
    settings = list(itertools.product(PRESETS, range(2, 7)))
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert folders == {f"{name}-{players}p" for name, players in settings}
    for name, players in settings:
        games = {2: 6, 3: 6}.get(players, 2 * players)  # 5, rounded up to whole deals
        folder = tmp_path / f"{name}-{players}p"
        results = assert_complete(folder, name, players, games, ["random", "greedy"])
        assert results["seed"] == 2**64 - 1
        assert f"{name}, {players} players, {games} games a pair" in out
        assert str(folder) in out


@pytest.mark.parametrize(
    ("settings", "folders"),
    [
        (["--ruleset", "basic,full"], ["basic-2p", "full-2p"]),
        (["--players", "3,2"], ["basic-2p", "basic-3p"]),
    ],
)
def test_several_settings_make_subfolders(evaluate, tmp_path, settings, folders):
    code, _, _ = evaluate(
        "--agents", "random", "greedy", "--games", 2, *settings, "--out", tmp_path
    )
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [*folders, "tournament.json"]


def test_without_out_only_the_table_is_shown(evaluate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = evaluate("--agents", "random", "greedy", "mc:rollouts=2", "--games", 4)
    assert (code, err) == (0, "")
    assert "basic, 2 players, 4 games a pair" in out
    for a, b in itertools.permutations(["random", "greedy", "mc:rollouts=2"], 2):
        assert any(line.split()[:3] == [a, "v", b] for line in out.splitlines())
    assert list(tmp_path.iterdir()) == []


def test_2000_games_are_the_default(evaluate, tmp_path):
    evaluate("--agents", "greedy", "random", "--out", tmp_path)
    assert_complete(tmp_path, "basic", 2, 2000, ["greedy", "random"])


def test_the_seed_alone_decides(evaluate, tmp_path):
    shown = {}
    for name, options in {
        "first": ["--seed", 3, "--threads", 1],
        "again": ["--seed", 3, "--threads", 3],
        "other": ["--seed", 4],
    }.items():
        evaluate(
            *("--agents", "random", "mc:rollouts=2", "--players", 3, "--games", 60),
            *(*options, "--out", tmp_path / name),
        )
        results = json.loads((tmp_path / name / "results.json").read_text())
        for agent in results["agents"]:
            del agent["ms_per_decision"]
        shown[name] = results
    assert shown["first"] == shown["again"]
    assert shown["first"]["pairs"] != shown["other"]["pairs"]


def test_an_agent_may_stand_twice(evaluate, tmp_path):
    code, _, _ = evaluate("--agents", "random", "random", "--games", 40, "--out", tmp_path)
    assert code == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert [pair["win_share_a"] for pair in results["pairs"]] == [0.5, 0.5]
    assert "cannot be compared" not in (tmp_path / "results.md").read_text()


def test_a_folder_of_another_tournament_is_refused(evaluate, tmp_path):
    """Nothing of it is lost: neither of one around the folder, nor of one within."""
    two = ["--agents", "random", "greedy", "--games", 4]
    around, within = tmp_path / "around", tmp_path / "within"
    assert evaluate(*two, "--ruleset", "basic,full", "--out", around)[0] == 0
    assert evaluate(*two, "--out", within / "basic-2p")[0] == 0
    before = files_of(tmp_path)
    code, _, err = evaluate(*two, "--out", around / "basic-2p")
    assert (code, str(around) in err) == (2, True)
    code, _, err = evaluate(*two, "--ruleset", "basic,full", "--out", within)
    assert (code, "within/basic-2p holds a tournament of its own" in err) == (2, True)
    assert files_of(tmp_path).items() >= before.items()


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_smaller_tournament_leaves_nothing_of_a_larger_one(evaluate, tmp_path):
    two = ["--agents", "random", "greedy", "--games", 4, "--out", tmp_path]
    assert evaluate(*two)[0] == 0
    assert evaluate(*two, "--ruleset", "basic,full")[0] == 0
    assert not (tmp_path / "results.json").exists()
    assert (tmp_path / "basic-2p" / "results.json").exists()


def test_results_replace_older_ones(evaluate, tmp_path):
    for games in (2, 4):
        assert evaluate("--agents", "random", "greedy", "--games", games, "--out", tmp_path)[0] == 0
    assert_complete(tmp_path, "basic", 2, 4, ["random", "greedy"])


def make_policy(folder: Path) -> Path:
    torch.manual_seed(0)
    save_policy(folder, make_network(DESCRIPTION), DESCRIPTION, {})
    return folder


def test_policies_play(evaluate, tmp_path):
    """Named by their folder, or by the run folder around it."""
    make_policy(tmp_path / "run" / "policy")
    specs = [f"policy:{tmp_path}/run/policy", f"policy:{tmp_path}/run", "random"]
    out = tmp_path / "out"
    code, _, err = evaluate("--agents", *specs, "--games", 20, "--players", 4, "--out", out)
    assert (code, err) == (0, "")
    assert_complete(out, "basic", 4, 24, specs)


def test_specs_are_escaped_in_the_page_and_plots(evaluate, tmp_path):
    """A path may hold what HTML, Markdown and Matplotlib take for theirs."""
    folder = make_policy(tmp_path / "<b>&'$x^$|y" / "policy")
    out = tmp_path / "out"
    spec = f"policy:{folder}"
    code, _, err = evaluate("--agents", spec, "random", "--games", 2, "--out", out)
    assert (code, err) == (0, "")
    assert_complete(out, "basic", 2, 2, [spec, "random"])
    assert "b" not in Page((out / "report.html").read_text()).tags


# Going on ---------------------------------------------------------------------------------------

RUN = ("--agents", "random", "greedy", "mc:rollouts=2", "--players", "2,3", "--games", 300)


def contents(out: Path) -> dict[str, bytes]:
    """All files of a tournament but for the times in them."""
    found = {}
    for path in sorted(out.rglob("*")):
        if path.suffix == ".json":
            content = json.loads(path.read_text())
            content.pop("thinking", None)
            for agent in content.get("agents", ()):
                if isinstance(agent, dict):
                    del agent["ms_per_decision"]
            found[str(path.relative_to(out))] = json.dumps(content).encode()
        elif path.suffix == ".png":
            found[str(path.relative_to(out))] = path.read_bytes()
        elif path.suffix in (".md", ".html"):
            text = path.read_text()
            times = re.sub(r"(\| |<td>)\d+\.\d{3}( \||</td>)", "", text)
            found[str(path.relative_to(out))] = times.encode()
    return found


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("uninterrupted")
    arguments = [sys.executable, SCRIPT, *map(str, RUN), "--out", out]
    subprocess.run(arguments, check=True, capture_output=True)
    return out


def begin_and_stop(out: Path, n_parts: int, number: int) -> tuple[int, str]:
    """The command in a process of its own, ended when it has written so many parts."""
    command = [sys.executable, SCRIPT, *map(str, RUN), "--threads", "2", "--out", out]
    command += ["--resume"] if (out / "tournament.json").exists() else []
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(list(out.glob("*/parts/*.json"))) < n_parts:
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    child.send_signal(number)
    _, err = child.communicate()
    return child.returncode, err


def test_a_tournament_that_was_killed_goes_on(evaluate, tmp_path, uninterrupted):
    """After kill -9 and Ctrl-C: nothing is played twice, and the end is that of one run."""
    assert begin_and_stop(tmp_path, 2, signal.SIGKILL)[0] == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/parts/*.json")}
    code, err = begin_and_stop(tmp_path, len(before) + 2, signal.SIGINT)
    assert (code, err) == (1, "evaluate.py: interrupted\n")
    between = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/parts/*.json")}
    assert before.items() < between.items()
    assert len(between) < len(list(uninterrupted.glob("*/parts/*.json")))
    assert not list(tmp_path.rglob("results.*"))
    code, shown, err = evaluate("--out", tmp_path, "--resume")
    assert (code, err) == (0, "")
    after = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/parts/*.json")}
    assert between.items() < after.items()
    assert contents(tmp_path) == contents(uninterrupted)
    assert "basic, 3 players, 300 games a pair" in shown
    assert not list(tmp_path.rglob(".*"))  # nothing half written is left


def test_agents_may_be_added_to_a_tournament(evaluate, tmp_path):
    """What the others have played stays; the results are those of all from the start."""
    some = ("--players", 3, "--games", 60)
    assert evaluate("--agents", "random", "greedy", *some, "--out", tmp_path / "a")[0] == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("a/parts/*")}
    more = ("--agents", "random", "greedy", "mc:rollouts=1")
    assert evaluate(*more, "--out", tmp_path / "a", "--resume")[0] == 0
    after = {path: path.stat().st_mtime_ns for path in tmp_path.glob("a/parts/*")}
    assert before.items() < after.items()
    assert evaluate(*more, *some, "--out", tmp_path / "b")[0] == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.fixture
def small(evaluate, tmp_path) -> Path:
    out = tmp_path / "small"
    assert evaluate("--agents", "random", "greedy", "--games", 4, "--out", out)[0] == 0
    return out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--games", "6"], ["--games 4", "not 6"]),
        (["--seed", "1"], ["--seed 0", "not 1"]),
        (["--players", "3"], ["--players 2", "not 3"]),
        (["--ruleset", "full"], ["--ruleset basic", "not full"]),
        (["--agents", "greedy", "random"], ["--agents random greedy", "follow"]),
        (["--agents", "random", "mc:rollouts=1"], ["--agents random greedy", "follow"]),
        (["--agents", "random"], ["--agents random greedy", "follow"]),
    ],
)
def test_a_tournament_of_other_settings_is_not_gone_on_with(evaluate, small, arguments, words):
    before = contents(small)
    ended = evaluate(*arguments, "--out", small, "--resume")
    assert_refused(ended, "--resume", str(small), *words)
    assert contents(small) == before


def test_nothing_to_go_on_with(evaluate, small, tmp_path):
    assert_refused(evaluate("--resume"), "--resume", "--out")
    for out in (tmp_path, tmp_path / "none"):
        assert_refused(evaluate("--out", out, "--resume"), "no tournament", str(out))
    file = small / "tournament.json"
    settings = json.loads(file.read_text())
    for content in ("{", "[]", "{}", json.dumps(settings | {"games": "4"})):
        file.write_text(content)
        assert_refused(evaluate("--out", small, "--resume"), str(file))
    file.write_text(json.dumps(settings | {"version": "0.0.1"}))
    assert_refused(evaluate("--out", small, "--resume"), "version 0.0.1")


def test_a_part_that_is_damaged(evaluate, small):
    [part] = small.glob("parts/*.json")
    part.write_bytes(part.read_bytes()[:-5])
    assert_refused(evaluate("--out", small, "--resume"), str(part))


@pytest.mark.parametrize(
    "spec",
    [
        "td:{}/value",
        "policy:{}/policy",
        "expectimax:depth=1,value=[td:{}/value]",
        "mcts:simulations=2,value=[td:{}/value]",
        "mcts:simulations=2,policy=[policy:{}/policy]",
    ],
)
def test_an_agent_that_has_changed_is_noticed(evaluate, tmp_path, spec):
    """Its name is the same, its weights are others: what it has played would not be its own."""
    run, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(ROOT / "agents" / "builtin" / "2p", run)
    weights = run / ("policy" if "policy" in spec else "value") / "weights.safetensors"
    spec = spec.format(run)
    assert evaluate("--agents", "random", spec, "--games", 4, "--out", out)[0] == 0
    before = contents(out)
    assert evaluate("--out", out, "--resume")[0] == 0
    changed = bytearray(weights.read_bytes())
    changed[-2] ^= 1  # a bit of the last weight
    weights.write_bytes(changed)
    [part] = out.glob("parts/*.json")
    ended = evaluate("--out", out, "--resume")
    assert_refused(ended, f"{part}: not a part of this tournament: {spec} has changed")
    assert contents(out) == before


def test_a_tournament_that_was_stopped_is_not_lost_by_mistake(evaluate, small):
    (small / "results.json").unlink()
    ended = evaluate("--agents", "random", "greedy", "--games", 4, "--out", small)
    assert_refused(ended, str(small), "--resume")
    assert list(small.glob("parts/*.json"))
    assert evaluate("--out", small, "--resume")[0] == 0
    assert_complete(small, "basic", 2, 4, ["random", "greedy"])


def test_a_new_tournament_takes_nothing_of_the_old(evaluate, small):
    """Nor does it touch what is not its own."""
    (small / "parts" / "notes.json").write_text("mine")
    assert evaluate("--agents", "greedy", "random", "--games", 4, "--out", small)[0] == 0
    assert_complete(small, "basic", 2, 4, ["greedy", "random"])
    assert (small / "parts" / "notes.json").read_text() == "mine"


def test_two_processes_do_not_play_in_one_folder(evaluate, small):
    with locked(small) as is_ours:
        assert is_ours
        assert_refused(evaluate("--out", small, "--resume"), str(small), "another process")


# What it refuses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--agents", "random", "nobody"], ["'nobody'", "greedy", "mc:rollouts=N"]),
        (["--agents", "random", "mc:depth=3"], ["depth", "rollouts, playouts"]),
        (["--agents", "random", "mc:rollouts=-1"], ["mc:rollouts=-1"]),
        (["--agents", "random", "mc:rollouts=[3"], ["brackets"]),
        (["--agents", "random", "policy:/nowhere/at/all"], ["/nowhere/at/all"]),
        (["--agents", "random", "policy:builtin/nobody"], ["nobody"]),
        (["--agents", "random"], ["two"]),
        (["--agents"], ["--agents"]),
        ([], ["--agents"]),
        (["--agents", "random", "greedy", "--players", "7"], ["'7'", "2 to 6"]),
        (["--agents", "random", "greedy", "--players", "1"], ["'1'", "2 to 6"]),
        (["--agents", "random", "greedy", "--players", "2,x"], ["'x'", "2 to 6"]),
        (["--agents", "random", "greedy", "--players", "-2"], ["--players"]),
        (["--agents", "random", "greedy", "--players", "2,"], ["2 to 6"]),
        (["--agents", "random", "greedy", "--players", "2.0"], ["2 to 6"]),
        (["--agents", "random", "greedy", "--players", "²"], ["2 to 6"]),
        (["--agents", "random", "greedy", "--games", "-4"], ["--games", "-4"]),
        (["--agents", "random", "greedy", "--games", "0"], ["--games"]),
        (["--agents", "random", "greedy", "--games", "many"], ["--games", "many"]),
        (["--agents", "random", "greedy", "--games", "2.5"], ["--games", "2.5"]),
        (["--agents", "random", "greedy", "--seed", "-1"], ["--seed"]),
        (["--agents", "random", "greedy", "--seed", str(2**64)], ["--seed"]),
        (["--agents", "random", "greedy", "--threads", "0"], ["--threads"]),
        (["--agents", "random", "greedy", "--ruleset", "chess"], ["'chess'", *PRESETS]),
        (["--agents", "random", "greedy", "--ruleset", "basic,Full"], ["'Full'", *PRESETS]),
        (["--agents", "random", "greedy", "--ruleset", ""], [*PRESETS]),
        (["--agents", "random", "greedy", "--colour", "red"], ["--colour"]),
    ],
)
def test_wrong_use_is_told_in_one_line(evaluate, arguments, words):
    assert_refused(evaluate(*arguments), *words)


def test_wrong_use_of_the_whole_command(tmp_path):
    ended = subprocess.run(
        [sys.executable, SCRIPT, "--agents", "random", f"policy:{tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert_refused((ended.returncode, ended.stdout, ended.stderr), "policy.json", str(tmp_path))


def change_json(folder: Path, **changes: object) -> None:
    path = folder / "policy.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder: Path, change) -> None:
    path = folder / "weights.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)


def truncate(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


DAMAGE = {
    "truncated weights": (truncate, "weights.safetensors"),
    "empty weights": (
        lambda f: (f / "weights.safetensors").write_bytes(b""),
        "weights.safetensors",
    ),
    "no weights": (lambda f: (f / "weights.safetensors").unlink(), "weights.safetensors"),
    "no description": (lambda f: (f / "policy.json").unlink(), "policy.json"),
    "garbage": (lambda f: (f / "policy.json").write_text("{]"), "policy.json"),
    "bytes": (lambda f: (f / "policy.json").write_bytes(b"\xff\xfe\x00"), "policy.json"),
    "a list": (lambda f: (f / "policy.json").write_text("[1]"), "policy.json"),
    "another layout": (lambda f: change_json(f, layout_hash="0123456789abcdef"), "layout"),
    "another format": (lambda f: change_json(f, format=99), "format"),
    "another network": (
        lambda f: change_json(f, network={"kind": "mlp", "hidden": [9], "activation": "relu"}),
        "does not fit",
    ),
    "an unknown network": (
        lambda f: change_json(f, network={"kind": "gru", "hidden": [9], "activation": "relu"}),
        "gru",
    ),
    "a network of negative width": (
        lambda f: change_json(f, network={"kind": "mlp", "hidden": [-8], "activation": "relu"}),
        "policy.json",
    ),
    "wrong shapes": (
        lambda f: change_weights(f, lambda w: w.update({"policy.0.bias": torch.zeros(9)})),
        "policy.0.bias",
    ),
    "nan": (lambda f: change_weights(f, lambda w: w["value.2.bias"].fill_(np.nan)), "finite"),
    "inf": (lambda f: change_weights(f, lambda w: w["policy.0.bias"].fill_(np.inf)), "finite"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_policy_is_told_in_one_line(evaluate, tmp_path, name):
    damage, word = DAMAGE[name]
    folder = make_policy(tmp_path / "policy")
    damage(folder)
    assert_refused(evaluate("--agents", f"policy:{folder}", "random"), word, str(tmp_path))


def test_a_folder_for_results_that_cannot_be_made(evaluate, tmp_path):
    """It is told before any game is played."""
    file = tmp_path / "file"
    file.write_text("here already")
    for out in (file, file / "below", file / "below" / "deeper"):
        ended = evaluate("--agents", "random", "greedy", "--games", 2, "--out", out)
        assert_refused(ended, "--out", str(file))
    ended = evaluate("--agents", "random", "greedy", "--players", "2,3", "--out", file)
    assert_refused(ended, "--out", str(file))
    assert file.read_text() == "here already"


@pytest.mark.parametrize("kind", ["a folder that takes no files", "a folder in the way"])
def test_results_that_cannot_be_written(evaluate, tmp_path, kind):
    out = Path("/proc") if kind == "a folder that takes no files" else tmp_path
    if out == tmp_path:
        (tmp_path / "results.json" / "x").mkdir(parents=True)
    assert out.is_dir()
    code, _, err = evaluate("--agents", "random", "greedy", "--games", 2, "--out", out)
    assert code == 2
    assert err.count("\n") == 1
    assert "--out" in err or str(out) in err


def test_a_person_plays_no_tournament(evaluate):
    assert_refused(evaluate("--agents", "random", " human"), "--agents", "a person", "'human'")


def test_help_names_what_there_is(evaluate):
    code, out, err = evaluate("--help")
    assert (code, err) == (0, "")
    options = ("--agents", "--ruleset", "--players", "--games", "--seed", "--out", "--resume")
    for option in options:
        assert option in out
    for preset in PRESETS:
        assert preset in out
    assert os.linesep in out
