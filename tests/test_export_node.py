"""The export bundle outside Python: Node.js with onnxruntime-web."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.arena import play_games, to_records
from thatslife_env import Position, Ruleset
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

ROOT = Path(__file__).parent.parent
PACKAGE = "onnxruntime-web@1.30.0"


def node(*arguments: str | Path, folder: Path) -> str:
    done = subprocess.run(
        ["node", *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def bundle(exported, tmp_path_factory) -> Path:
    """The bundle in a folder of its own, with onnxruntime-web installed as its README says."""
    folder = tmp_path_factory.mktemp("frontend")
    for file in (exported / "bundle").iterdir():
        shutil.copy(file, folder)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(npm install .*?)`", readme)
    assert command == f"npm install {PACKAGE}"
    subprocess.run(
        [*command.split(), "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True
    )
    return folder


def test_the_readme_gives_a_legal_move(bundle):
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    (program,) = [part.split("```")[0] for part in readme.split("```js\n")[1:]]
    (bundle / "move.mjs").write_text(program, encoding="utf-8")
    action = int(node("move.mjs", folder=bundle))
    shown = re.search(r"const position = (\{.*?\n\});", program, re.DOTALL).group(1)
    position = Position.from_json(re.sub(r",(\s*[}\]])", r"\1", re.sub(r"(\w+):", r'"\1":', shown)))
    assert action in position.legal_actions()


def test_conformance_and_fifty_games(bundle):
    """Every line of the conformance file; and the moves of 50 games that the agent played here."""
    agent = agents.make(f"onnx:{bundle}")
    decisions = []
    for number, (preset, players) in enumerate(
        (("basic", 2), ("full", 3), ("classic", 4), ("expert", 5), ("full", 6))
    ):
        rules = Ruleset.preset(preset, players=players)
        seeds = stream_seeds(number, 10)
        lineups = np.zeros((10, players), np.int64)
        results = play_games([agent], rules, seeds, lineups, record=True)
        for game in to_records(results, [agent], rules, seeds, lineups):
            assert game.position.is_over
            position = game.opening
            for kind, number_shown in game.events:
                if kind == "play":
                    decisions.append([position.to_json(), number_shown])
                    position = position.play(number_shown)
                else:
                    position = position.roll(number_shown)
    (bundle / "games.jsonl").write_text(
        "".join(json.dumps(decision) + "\n" for decision in decisions), encoding="utf-8"
    )
    shutil.copy(ROOT / "tests" / "bundle_check.mjs", bundle)
    told = json.loads(node("bundle_check.mjs", bundle, "games.jsonl", folder=bundle))
    assert told["lines"] == 1000
    assert told["decisions"] == len(decisions) > 50 * 30
