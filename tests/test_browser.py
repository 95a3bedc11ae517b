"""The page in headless Chromium; the checks are in `tests/web/browser.test.js`."""

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import decisions

import agents
from thatslife_env import Position, Ruleset
from thatslife_env.position import dice
from thatslife_env.records import Game, save

ROOT = Path(__file__).parent.parent


def record(path: Path) -> None:
    """Games of every preset, finished, with names."""
    games = []
    for number, (name, players) in enumerate(
        [("basic", 2), ("classic", 6), ("expert", 3), ("full", 4)]
    ):
        rng = random.Random(f"record {number}")
        names = [f"Ann {seat}" for seat in range(players)]
        game = Game.deal(Ruleset.preset(name, players=players), number, {"names": names})
        n_rolls = 0
        while not game.position.is_over:
            if game.position.phase == "roll":
                game.roll(dice(number, n_rolls))
                n_rolls += 1
            else:
                game.play(rng.choice(game.position.legal_actions()))
        games.append(game)
    save(path, games)


def run_node(name: str, **settings: str) -> int:
    """Run `tests/web/NAME.test.js`; gives the number of tests, all of which passed."""
    node = shutil.which("node")
    assert node is not None, "Node.js (20 or newer) is needed to test the page"
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    assert Path(chromium).exists(), f"no Chromium at {chromium}; CHROMIUM may name another place"
    assert (ROOT / "web" / "models" / "models.json").exists(), "run make web-ready first"
    run = subprocess.run(
        [node, "--test", "--test-reporter=tap", f"tests/web/{name}.test.js"],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    counts = dict(re.findall(r"^# (tests|pass) (\d+)$", run.stdout, re.MULTILINE))
    assert counts["pass"] == counts["tests"], run.stdout
    return int(counts["tests"])


def test_the_page(tmp_path):
    record(tmp_path / "record.jsonl")
    assert run_node("browser", THATSLIFE_RECORD=str(tmp_path / "record.jsonl")) >= 20


def chances(path: Path) -> None:
    """What the shipped values expect of each action, in positions of random games."""
    lines = []
    for name, most in (("2p", 2), ("universal", 6)):
        td = agents.make(f"td:builtin/{name}")
        states = decisions(1000)
        states = states[states["players"] <= most][:60]
        values = td.evaluate(states, np.zeros(len(states), np.uint64)).values
        for index, row in enumerate(values):
            position = Position.from_state(states[index : index + 1]).to_json()
            line = {"name": name, "position": position, "chances": row[~np.isnan(row)].tolist()}
            lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


@pytest.mark.speed  # exporting plays too much for uncompiled code
def test_trained_players(exported_value, tmp_path):
    chances(tmp_path / "chances.jsonl")
    bundle = str(exported_value / "both")
    passed = run_node(
        "models", THATSLIFE_BUNDLE=bundle, THATSLIFE_CHANCES=str(tmp_path / "chances.jsonl")
    )
    assert passed >= 18
