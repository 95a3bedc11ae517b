"""Zips of SB3: written for its users, and read only on request."""

import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.save_util import data_to_json

from agents import sb3_zip
from agents.cli import run
from agents.networks import make_network
from agents.policy import load_policy, save_policy
from thatslife_env import Position, Ruleset
from thatslife_env.observation import action_mask, observe

DESCRIPTIONS = [
    {"kind": "mlp", "hidden": [12], "activation": "tanh"},
    {"kind": "action", "hidden": [4, 8, 8, 4], "activation": "relu"},
]


class Payload:
    """What a stranger's pickle does when it is loaded: it makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def convert(monkeypatch, capsys):
    def call(*arguments) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["agents.sb3_zip", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(sb3_zip.main, "agents.sb3_zip")
        return ended.value.code, capsys.readouterr().err

    return call


@pytest.fixture(params=DESCRIPTIONS, ids=lambda description: description["kind"])
def policy(request, tmp_path) -> Path:
    torch.manual_seed(2)
    network = make_network(request.param)
    for weights in network.parameters():
        torch.nn.init.normal_(weights)
    save_policy(tmp_path / "policy", network, request.param, {})
    return tmp_path / "policy"


def test_sb3_loads_what_is_written_and_predicts_the_same(policy, tmp_path, convert):
    assert convert(policy, "--out", tmp_path / "model.zip") == (0, "")
    model = MaskablePPO.load(tmp_path / "model.zip", device="cpu")
    network, _ = load_policy(policy)
    position = Position.deal(Ruleset.preset("full", players=3), 4)
    n_decisions = 0
    while not position.is_over and n_decisions < 40:
        if position.phase == "roll":
            position = position.roll(1 + n_decisions % 6)
            continue
        seen, mask = observe(position), action_mask(position)
        action, _ = model.predict(seen, action_masks=mask, deterministic=True)
        with torch.no_grad():
            scores = network.forward_actor(torch.from_numpy(seen[None]))[0].numpy()
        assert int(action) == np.where(mask, scores, -np.inf).argmax()
        position = position.play(int(action))
        n_decisions += 1
    assert n_decisions == 40


def test_a_zip_comes_back_as_a_policy_folder(policy, tmp_path, convert):
    convert(policy, "--out", tmp_path / "model.zip")
    assert convert(tmp_path / "model.zip", "--out", tmp_path / "back", "--trust") == (0, "")
    network, content = load_policy(policy)
    back, described = load_policy(tmp_path / "back")
    assert described["network"] == content["network"]
    for name, weights in network.state_dict().items():
        assert torch.equal(weights, back.state_dict()[name]), name
    code, err = convert(tmp_path / "model.zip", "--out", tmp_path / "back", "--trust")
    assert code == 2
    assert "is there already" in err


def hostile_zip(path: Path, marker: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data", data_to_json({"policy_class": Payload(marker)}))
        file.writestr("_stable_baselines3_version", "2.9.2")


def test_no_code_runs_without_trust(tmp_path, convert):
    marker = tmp_path / "marker"
    hostile_zip(tmp_path / "model.zip", marker)
    code, err = convert(tmp_path / "model.zip", "--out", tmp_path / "back")
    assert code == 2
    assert "--trust" in err
    assert not marker.exists()
    code, _ = convert(tmp_path / "model.zip", "--out", tmp_path / "back", "--trust")
    assert code == 2  # no model
    assert marker.exists()  # it would have worked
    assert not (tmp_path / "back").exists()


def test_nonsense_is_refused(policy, tmp_path, convert):
    assert convert(policy, "--out", tmp_path / "model")[0] == 2
    assert convert(tmp_path / "nothing", "--out", tmp_path / "model.zip")[0] == 2
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("data", json.dumps({}))
    code, err = convert(tmp_path / "other.zip", "--out", tmp_path / "back", "--trust")
    assert code == 2
    assert "no model" in err
    assert not (tmp_path / "model.zip").exists()
