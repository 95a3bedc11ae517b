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
def bundle(exported_value, tmp_path_factory) -> Path:
    """A bundle of a policy and a value in a folder of its own.

    With onnxruntime-web, installed as its README says.
    """
    folder = tmp_path_factory.mktemp("frontend")
    for file in (exported_value / "both").iterdir():
        shutil.copy(file, folder)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(npm install .*?)`", readme)
    assert command == f"npm install {PACKAGE}"
    subprocess.run(
        [*command.split(), "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True
    )
    return folder


def shown_position(program: str, name: str) -> Position:
    """The position that a program calls by this name."""
    shown = re.search(rf"const {name} = (\{{.*?\n\}});", program, re.DOTALL).group(1)
    shown = re.sub(r",(\s*[}\]])", r"\1", re.sub(r"(\w+):", r'"\1":', shown))
    return Position.from_json(shown)


def test_the_readme_gives_a_legal_move_and_win_chances(bundle):
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    move, chances = [part.split("```")[0] for part in readme.split("```js\n")[1:]]
    (bundle / "move.mjs").write_text(move, encoding="utf-8")
    position = shown_position(move, "position")
    assert int(node("move.mjs", folder=bundle)) in position.legal_actions()

    (bundle / "chances.mjs").write_text(chances, encoding="utf-8")
    # what the program shows are the two moves that it says
    before = Position.from_json({**position.to_json(), "towers": [[-4], []]})
    afters = [shown_position(chances, name) for name in ("first", "second")]
    assert afters == [before.play(0), before.play(1)]
    judge = agents.make(f"onnx:{bundle / 'value.onnx'}")
    wanted = judge.values(np.concatenate([after.state for after in afters]))[:, 0]
    told = [float(number) for number in node("chances.mjs", folder=bundle).split()]
    np.testing.assert_allclose(told, wanted, rtol=0, atol=1e-5)


def decisions_of(agent: agents.Agent, games: list[tuple[str, int]]) -> list[tuple[Position, int]]:
    """Positions and actions of ten games that an agent plays against itself, of each kind."""
    decisions = []
    for number, (preset, players) in enumerate(games):
        rules = Ruleset.preset(preset, players=players)
        seeds = stream_seeds(number, 10)
        lineups = np.zeros((10, players), np.int64)
        results = play_games([agent], rules, seeds, lineups, record=True)
        for game in to_records(results, [agent], rules, seeds, lineups):
            assert game.position.is_over
            position = game.opening
            for kind, number_shown in game.events:
                if kind == "play":
                    decisions.append((position, number_shown))
                    position = position.play(number_shown)
                else:
                    position = position.roll(number_shown)
    return decisions


def write_lines(path: Path, lines: list) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_conformance_and_fifty_games(bundle):
    """Every line of the conformance file; and the moves of 50 games that the agent played here."""
    games = [("basic", 2), ("full", 3), ("classic", 4), ("expert", 5), ("full", 6)]
    decisions = decisions_of(agents.make(f"onnx:{bundle}"), games)
    lines = [[position.to_json(), action] for position, action in decisions]
    write_lines(bundle / "games.jsonl", lines)
    shutil.copy(ROOT / "tests" / "bundle_check.mjs", bundle)
    told = json.loads(node("bundle_check.mjs", bundle, "games.jsonl", folder=bundle))
    assert told["lines"] == 1000
    assert told["decisions"] == len(decisions) > 50 * 30


def test_win_chances_of_every_move_in_fifty_games(bundle, exported_value):
    """With the rules of the page: what `td` expects of each action here, and its moves."""
    td = agents.make(f"td:{exported_value}")
    games = [("basic", 2), ("full", 3), ("classic", 4), ("expert", 2), ("full", 4)]
    decisions = decisions_of(td, games)
    states = np.concatenate([position.state for position, _ in decisions])
    chances = td.evaluate(states, np.zeros(len(states), np.uint64)).values
    lines = [
        {"position": position.to_json(), "chances": row[~np.isnan(row)].tolist(), "action": action}
        for (position, action), row in zip(decisions, chances, strict=True)
    ]
    write_lines(bundle / "decisions.jsonl", lines)
    for file in ("web/rules.js", "tests/value_check.mjs"):
        shutil.copy(ROOT / file, bundle)
    told = json.loads(node("value_check.mjs", "decisions.jsonl", folder=bundle))
    assert told == {"lines": 1000, "decisions": len(decisions)}
    assert len(decisions) > 50 * 20
