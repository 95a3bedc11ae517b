"""Thirty kills at random moments of a run that saves after every update: it always goes on."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from agents.config import load_config, to_yaml
from agents.runs import read_metrics

pytestmark = [pytest.mark.speed, pytest.mark.learning]

N_KILLS = 30
TESTS = Path(__file__).parent
SMOKE = TESTS.parent / "configs" / "smoke.yaml"
COMMON = ["total_steps=1000000", "checkpoint_every=1", "evaluation.every=1000000"]
CHANGES = {
    "ppo": [
        "game.ruleset={layout: [3, -4, lucky, 5, -6]}",
        "network={kind: action, hidden: [8, 16, 16, 8]}",
        "opponents={self: 0.5, snapshots: 0.4, greedy: 0.1}",
        "snapshots={every: 256, keep: 2}",
        "ppo={n_envs: 16, n_steps: 8, batch_size: 64}",
    ],
    "td": [
        "algorithm=td",
        "game.ruleset={layout: [3, -4, lucky, 5, -6]}",
        "network={hidden: [16, 8]}",
        "td={n_games: 16, n_turns: 16, batch_size: 64}",
    ],
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_run_survives_thirty_kills(tmp_path, kind):
    """Afterwards it is, bit for bit, where a run is that nobody killed."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    base = SMOKE if kind == "ppo" else tmp_path / "td.yaml"
    if kind == "td":
        base.write_text("algorithm: td\n", encoding="utf-8")
    for folder in (killed, whole):
        folder.mkdir()
        config = load_config(base, [*COMMON, *CHANGES[kind]])
        (folder / "config.yaml").write_text(to_yaml(config), encoding="utf-8")
    ended = run(killed, kind, N_KILLS)
    steps = ended["steps"]
    assert len(steps) == N_KILLS + 1
    assert steps == sorted(steps)  # no kill loses what was saved
    assert len(set(steps)) > N_KILLS / 4  # and most attempts get on
    last = ended["last"]
    lines = read_metrics(killed / "metrics.jsonl")
    updates = [line["step"] for line in lines]
    assert updates == sorted(set(updates))
    assert updates[-1] == last
    assert np.unique(np.diff(updates)).size == 1  # every update has its line, once
    segments = [line["segment"] for line in lines]
    assert segments == sorted(segments)
    assert len(set(segments)) > N_KILLS / 4

    assert run(whole, kind, 0, until=last)["last"] == last
    checkpoint = f"checkpoints/step-{last:012d}"
    names = sorted(path.name for path in (whole / checkpoint).iterdir())
    assert names == sorted(path.name for path in (killed / checkpoint).iterdir())
    for name in names:
        one, other = (folder / checkpoint / name for folder in (killed, whole))
        if name.endswith(".safetensors"):
            arrays, others = load_file(one), load_file(other)
            assert set(arrays) == set(others)
            for key, array in arrays.items():
                np.testing.assert_array_equal(array, others[key], err_msg=f"{name} {key}")
        else:
            assert json.loads(one.read_text()) == json.loads(other.read_text())


def run(folder: Path, kind: str, n_kills: int, until: int = 1) -> dict:
    """The run in a process of its own; what it prints last."""
    ended = subprocess.run(
        [sys.executable, TESTS / "killer.py", folder, kind, str(n_kills), str(until)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])
