"""The wheel, as a stranger gets it: an empty environment, no extras, away from the checkout."""

import itertools
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GAME = """
import sys
from thatslife_env import Position, Ruleset, thatslife_v0
import agents, gymnasium

env = thatslife_v0.env(ruleset="full", players=6)
env.reset(seed=1)
for agent in env.agent_iter():
    observation, reward, termination, truncation, _ = env.last()
    mask = observation["action_mask"]
    env.step(None if termination or truncation else env.action_space(agent).sample(mask))
assert env.unwrapped.position.is_over

position = Position.deal(Ruleset(), 3)
dice = iter(range(10**6))
player = agents.make("greedy")
while not position.is_over:
    if position.phase == "roll":
        position = position.roll(next(dice) % 6 + 1)
    else:
        position = position.play(player.act(position))

gymnasium.make("thatslife_env:ThatsLife-v0").reset(seed=1)
assert not {"torch", "stable_baselines3", "matplotlib", "pydantic"} & set(sys.modules)
try:
    agents.make("policy:nowhere")
except ImportError as error:
    print(error)
assert position._repr_svg_().startswith("<svg")
try:
    thatslife_v0.raw_env(render_mode="rgb_array")
except ImportError as error:
    print(error)
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_both_packages_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "thatslife_env",
        "agents",
        "thatslife",
    }
    assert "thatslife_env/py.typed" in names
    for name, kind in itertools.product(("2p", "universal"), ("policy", "value")):
        assert f"agents/builtin/{name}/{kind}/{kind}.json" in names
        assert f"agents/builtin/{name}/{kind}/weights.safetensors" in names
    assert "agents/solved/plain2.json" in names
    assert "agents/i18n/pl.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]


def test_wheel_plays_without_extras_from_any_directory(wheel, tmp_path):
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv" / "bin" / "python")
    constraints = str(ROOT / "constraints.txt")
    run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, str(wheel))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    said = run(python, "-c", GAME, cwd=elsewhere, env=environment)
    assert "pip install 'thatslife[train]'" in said
    assert "pip install 'thatslife[render]'" in said
    assert not list((tmp_path / "venv").rglob("*.nb[ic]"))
