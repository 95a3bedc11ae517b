"""The page in headless Chromium; the checks are in `tests/web/browser.test.js`."""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

from thatslife_env import Ruleset
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
