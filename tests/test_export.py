"""The export bundle: one file that takes in positions, and what lies beside it."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from conftest import decisions

import agents
from agents import vector_layout
from agents.cli import UsageError
from agents.export import check_out, export, sample_positions, trained, why_no_win_share
from agents.onnx_models import PolicyModel, to_onnx
from agents.policy import load_policy, save_policy
from agents.vector_layout import SIZE, vectors_of
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.board import N_ACTIONS, PHASE_NAMES
from thatslife_env.games import observe_players
from thatslife_env.observation import LAYOUT_HASH, OBS_SIZE

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

FILES = ["README.md", "conformance.jsonl", "encode.js", "encode.py", "manifest.json"]


@pytest.fixture(scope="module")
def bundle(exported) -> Path:
    return exported / "bundle"


@pytest.fixture(scope="module")
def session(bundle):
    """The model, loaded from bytes."""
    return onnxruntime.InferenceSession((bundle / "policy.onnx").read_bytes())


def manifest_of(bundle: Path) -> dict:
    return json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))


def lines_of(bundle: Path) -> list[dict]:
    text = (bundle / "conformance.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def manifest(bundle) -> dict:
    return manifest_of(bundle)


@pytest.fixture(scope="module")
def lines(bundle) -> list[dict]:
    return lines_of(bundle)


def shapes_of(file: Path) -> dict[str, tuple]:
    """Type and shape of each input and output of a model that is one plain file."""
    model = onnx.load(file, load_external_data=False)
    assert all(not tensor.external_data for tensor in model.graph.initializer)
    assert [opset.domain for opset in model.opset_import] == [""]
    assert model.opset_import[0].version <= 21
    names = {onnx.TensorProto.FLOAT: "float32", onnx.TensorProto.INT32: "int32"}
    return {
        tensor.name: (
            names[tensor.type.tensor_type.elem_type],
            *(axis.dim_param or axis.dim_value for axis in tensor.type.tensor_type.shape.dim),
        )
        for tensor in (*model.graph.input, *model.graph.output)
    }


def with_about(exported: Path, folder: Path, **about: object) -> Path:
    """The policy again, with other facts about it."""
    network, content = load_policy(exported / "policy")
    save_policy(folder, network, content["network"], about)
    return folder


# The model --------------------------------------------------------------------------------------


def test_one_file_of_plain_tensors(bundle):
    assert sorted(path.name for path in bundle.iterdir()) == [*FILES, "policy.onnx"]
    assert shapes_of(bundle / "policy.onnx") == {
        "position": ("int32", "batch", 263),
        "policy": ("float32", "batch", 16),
        "value": ("float32", "batch"),
    }


def test_a_value_is_one_file_of_plain_tensors(exported_value):
    bundle, both = exported_value / "bundle", exported_value / "both"
    assert sorted(path.name for path in bundle.iterdir()) == [*FILES, "value.onnx"]
    assert sorted(path.name for path in both.iterdir()) == [*FILES, "policy.onnx", "value.onnx"]
    assert (both / "value.onnx").read_bytes() == (bundle / "value.onnx").read_bytes()
    assert shapes_of(bundle / "value.onnx") == {
        "position": ("int32", "batch", 263),
        "win_shares": ("float32", "batch", 6),
    }


def test_no_path_of_this_machine_is_in_the_bundle(exported_value):
    for file in (exported_value / "both").iterdir():
        content = file.read_bytes()
        assert b".py" not in content or file.suffix != ".onnx"
        assert str(Path(__file__).parent.parent).encode() not in content


@pytest.mark.parametrize("model", ["policy.onnx", "value.onnx"])
def test_the_batch_has_any_size(exported_value, model):
    session = onnxruntime.InferenceSession(exported_value / "both" / model)
    vectors = vectors_of(decisions(64))
    whole = session.run(None, {"position": vectors})
    for size in (1, 2, 7, 64):
        part = session.run(None, {"position": vectors[:size]})
        for output, all_rows, rows in zip(session.get_outputs(), whole, part, strict=True):
            np.testing.assert_allclose(
                rows, all_rows[:size], rtol=0, atol=1e-5, err_msg=output.name
            )


def test_onnxruntime_gives_what_the_policy_gives(session, exported):
    """10,000 decisions: the network on the observations of the engine, not on the encoder's."""
    states = decisions(10_000)
    observations = np.zeros((len(states), OBS_SIZE), np.float32)
    masks = np.zeros((len(states), N_ACTIONS), np.bool_)
    observe_players(states, observations, masks)
    network, _ = load_policy(exported / "policy")
    with torch.no_grad():
        scores, rewards = network(torch.from_numpy(observations))
    legal = np.where(masks, scores.numpy(), -np.inf).astype(np.float64)
    weights = np.exp(legal - legal.max(axis=1, keepdims=True))
    players = states["players"]
    shares = ((players - 1) * rewards[:, 0].numpy().astype(np.float64) + 1) / players

    policy, value = session.run(None, {"position": vectors_of(states)})
    assert policy.dtype == value.dtype == np.float32
    np.testing.assert_allclose(policy, weights / weights.sum(1, keepdims=True), rtol=0, atol=1e-5)
    assert np.array_equal(policy > 0, masks)
    np.testing.assert_allclose(value, shares.clip(0, 1), rtol=0, atol=1e-5)
    assert 0.1 < np.mean((value > 0) & (value < 1))
    best_two = np.sort(legal, axis=1)[:, -2:]
    is_tie = best_two[:, 1] - best_two[:, 0] < 1e-5
    assert is_tie.mean() < 0.01
    assert np.array_equal(policy.argmax(1)[~is_tie], legal.argmax(1)[~is_tie])


def test_scores_of_any_size_leave_legal_actions_and_no_nan(exported):
    network, _ = load_policy(exported / "policy")
    with torch.no_grad():
        network.policy[-1].weight.mul_(1e5)
    model = PolicyModel(network, with_value=False)
    states = decisions(100)
    observations = np.zeros((len(states), OBS_SIZE), np.float32)
    masks = np.zeros((len(states), N_ACTIONS), np.bool_)
    observe_players(states, observations, masks)
    session = onnxruntime.InferenceSession(to_onnx(model))
    (policy,) = session.run(None, {"position": vectors_of(states)})
    assert np.array_equal(policy > 0, masks)
    np.testing.assert_allclose(policy.sum(axis=1), 1, atol=1e-5)


def test_where_nothing_is_to_decide_all_is_zero(session):
    idle = [p for p in sample_positions(100) if p.phase in ("roll", "over")]
    assert {position.phase for position in idle} == {"roll", "over"}
    vectors = vectors_of(np.concatenate([position.state for position in idle]))
    policy, value = session.run(None, {"position": vectors})
    assert not policy.any()
    assert np.isfinite(value).all()


@pytest.mark.parametrize(
    "feed",
    [
        {"positions": np.zeros((1, SIZE), np.int32)},
        {"position": np.zeros((1, SIZE), np.float32)},
        {"position": np.zeros((1, SIZE), np.int64)},
        {"position": np.zeros((1, SIZE - 1), np.int32)},
        {},
    ],
)
def test_no_input_is_optional_or_changed(session, feed):
    with pytest.raises(Exception, match="position|Unexpected input data type"):
        session.run(None, feed)


# What lies beside it ----------------------------------------------------------------------------


def test_the_manifest_says_what_there_is(manifest, bundle, exported):
    content = (bundle / "policy.onnx").read_bytes()
    model = manifest["models"]["policy.onnx"]
    assert list(manifest["models"]) == ["policy.onnx"]
    assert model["sha256"] == hashlib.sha256(content).hexdigest()
    assert model["bytes"] == len(content)
    assert [tensor["name"] for tensor in model["inputs"]] == ["position"]
    assert [tensor["name"] for tensor in model["outputs"]] == ["policy", "value"]
    assert manifest["vector"] == vector_layout.description()
    assert manifest["versions"]["observation"] == LAYOUT_HASH
    assert manifest["format"] == 1
    assert manifest["trained"] == {
        "algorithm": "ppo",
        "steps": 7,
        "reward": "win",
        "shaping": 0.0,
        "gamma": 1.0,
        "ruleset": {"players": 2, "layout": "shuffled"},
        "rulesets": [Ruleset().to_dict()],
    }
    assert manifest["name"] == exported.name
    assert len(manifest["actions"]) == N_ACTIONS
    assert manifest["actions"][4] == "move the k-th guard from the rear; k = 1"
    text = (bundle / "conformance.jsonl").read_bytes()
    assert manifest["conformance"] == {"lines": 1000, "sha256": hashlib.sha256(text).hexdigest()}


def test_conformance_is_what_rules_and_model_say(lines, session):
    assert len(lines) == 1000
    assert len({json.dumps(line["position"]) for line in lines}) > 950
    seen = [Position.from_json(line["position"]) for line in lines]
    assert {position.phase for position in seen} == set(PHASE_NAMES)
    assert {position.players for position in seen} == {2, 3, 4, 5, 6}
    rules = {json.dumps(line["position"]["rules"], sort_keys=True) for line in lines}
    assert len(rules) == len(PRESETS) * 5
    for line, position in zip(lines, seen, strict=True):
        assert line["vector"] == vectors_of(position.state)[0].tolist()
        legal = position.legal_actions()
        assert [action for action, bit in enumerate(line["mask"]) if bit] == legal
        assert [action for action, share in enumerate(line["policy"]) if share] == legal
    vectors = np.array([line["vector"] for line in lines], np.int32)
    policy, value = session.run(None, {"position": vectors})
    np.testing.assert_allclose(policy, [line["policy"] for line in lines], rtol=0, atol=1e-5)
    np.testing.assert_allclose(value, [line["value"] for line in lines], rtol=0, atol=1e-5)


def test_the_manifest_covers_a_value(exported_value):
    bundle, both = exported_value / "bundle", exported_value / "both"
    mix = [Ruleset(players=players).to_dict() for players in (2, 3, 4)]
    model = manifest_of(bundle)["models"]["value.onnx"]
    assert model["max_players"] == 4
    assert model["trained"]["rulesets"] == mix
    assert model["trained"]["steps"] == 9
    assert manifest_of(bundle)["trained"] == model["trained"]
    assert manifest_of(bundle)["name"] == exported_value.name
    content = (bundle / "value.onnx").read_bytes()
    assert (model["bytes"], model["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert [tensor["name"] for tensor in model["outputs"]] == ["win_shares"]
    manifest = manifest_of(both)
    assert list(manifest["models"]) == ["policy.onnx", "value.onnx"]
    assert manifest["models"]["value.onnx"] == model
    assert manifest["models"]["policy.onnx"]["max_players"] == 6
    assert manifest["trained"] == manifest["models"]["policy.onnx"]["trained"]


def test_conformance_covers_a_value(exported_value):
    """The value alone is asked of as many players as it knows; before a roll it is that of `td`."""
    td = agents.make(f"td:{exported_value}")
    for name, players in (("bundle", {2, 3, 4}), ("both", {2, 3, 4, 5, 6})):
        lines = lines_of(exported_value / name)
        assert len(lines) == 1000
        assert {"policy", "value"} <= set(lines[0]) if name == "both" else "policy" not in lines[0]
        assert {line["position"]["rules"]["players"] for line in lines} == players
        session = onnxruntime.InferenceSession(exported_value / name / "value.onnx")
        vectors = np.array([line["vector"] for line in lines], np.int32)
        shares = np.array([line["win_shares"] for line in lines])
        np.testing.assert_allclose(session.run(None, {"position": vectors})[0], shares, atol=1e-5)
        states = np.concatenate([Position.from_json(line["position"]).state for line in lines])
        known = states["players"] <= 4
        assert not shares[~known].any()
        for phase in ("roll", "over"):
            asked = known & (states["phase"] == PHASE_NAMES.index(phase))
            assert asked.sum() > 50
            np.testing.assert_allclose(shares[asked], td.values(states[asked]), rtol=0, atol=1e-5)


def programs(readme: str, language: str) -> list[str]:
    """Those that a README shows."""
    return [part.split("```")[0] for part in readme.split(f"```{language}\n")[1:]]


def run_program(program: str, bundle: Path, folder: Path) -> str:
    """What a Python program says that knows nothing but the bundle."""
    for file in bundle.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "program.py").write_text(program, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_python_of_the_readme_gives_a_legal_move_and_win_chances(exported_value, tmp_path):
    both = exported_value / "both"
    text = (both / "README.md").read_text(encoding="utf-8")
    assert "@" not in text.replace("onnxruntime-web@", "")
    move, chances = programs(text, "python")
    lines = lines_of(both)
    assert lines[0]["mask"][int(run_program(move, both, tmp_path))] == 1
    line = next(line for line in lines if line["position"]["phase"] == "roll")
    shares = json.loads(run_program(chances, both, tmp_path))
    np.testing.assert_allclose(shares, line["win_shares"], rtol=0, atol=1e-5)


def test_the_readme_tells_of_the_models_that_there_are(exported, exported_value):
    for folder, models in (
        (exported / "bundle", ["policy.onnx"]),
        (exported_value / "bundle", ["value.onnx"]),
        (exported_value / "both", ["policy.onnx", "value.onnx"]),
    ):
        text = (folder / "README.md").read_text(encoding="utf-8")
        for model in ("policy.onnx", "value.onnx"):
            assert (f"| `{model}` |" in text) == (model in models)
            assert (f'readFileSync("{model}")' in text) == (model in models)
        for language in ("js", "python"):
            assert len(programs(text, language)) == len(models)
    assert "It judges games of 2 to 4 players" in text
    assert "Trained on: 2 or 3 or 4 players, pawns 3, layout" in text


def test_encode_py_needs_nothing_else(bundle):
    """Only the standard library."""
    module_spec = importlib.util.spec_from_file_location("encode_alone", bundle / "encode.py")
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    imported = {name for name, value in vars(module).items() if type(value) is type(json)}
    assert imported == {"json"}


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({}, "does not say by which reward"),
        ({"reward": "win", "gamma": 1.0}, "does not say by which shaping"),
        ({"reward": "win", "shaping": 0.0}, "does not say by which gamma"),
        ({"reward": "margin", "shaping": 0.0, "gamma": 1.0}, "reward 'margin'"),
        ({"reward": "win", "shaping": 0.01, "gamma": 1.0}, "shaping 0.01"),
        ({"reward": "win", "shaping": 0.0, "gamma": 0.99}, "gamma 0.99"),
    ],
)
def test_a_value_that_is_no_win_share_is_refused(exported, tmp_path, about, reason):
    folder = with_about(exported, tmp_path / "policy", **about)
    with pytest.raises(UsageError, match=f"its value is no win share: .*{reason}.*--no-value"):
        export([str(folder)], tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
    assert reason in why_no_win_share(about)


def test_without_its_value_any_policy_is_exported(exported, tmp_path):
    with_about(exported, tmp_path / "run" / "policy", reward="margin")
    export([str(tmp_path / "run")], tmp_path / "bundle", with_value=False)
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    outputs = manifest["models"]["policy.onnx"]["outputs"]
    assert [tensor["name"] for tensor in outputs] == ["policy"]
    assert manifest["trained"] == {"reward": "margin", "rulesets": []}
    assert manifest["name"] == "run"
    with (tmp_path / "bundle" / "conformance.jsonl").open(encoding="utf-8") as text:
        assert set(json.loads(next(text))) == {"position", "vector", "mask", "policy"}
    assert "`value`" not in (tmp_path / "bundle" / "README.md").read_text(encoding="utf-8")


def test_the_rulesets_of_a_mix_are_told():
    mix = [{"ruleset": "full", "players": 4, "weight": 1.0}, {"ruleset": {"pawns": 2}}]
    mix.append({"ruleset": "basic", "players": [3, 5]})
    wanted = [Ruleset.preset("full", players=4), Ruleset(pawns=2)]
    wanted += [Ruleset(players=3), Ruleset(players=5)]
    assert trained({"mix": mix})["rulesets"] == [ruleset.to_dict() for ruleset in wanted]


@pytest.mark.parametrize("about", [{"ruleset": "chess"}, {"mix": [3]}, {"mix": 3}, {"mix": [{}]}])
def test_nonsense_about_the_training_is_refused(about):
    with pytest.raises(UsageError, match="what it was trained on makes no sense"):
        trained(about)


def test_a_bundle_takes_the_place_of_nothing_else(tmp_path, bundle):
    check_out(tmp_path / "new")
    check_out(tmp_path)
    check_out(bundle)
    (tmp_path / "mine").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="neither empty nor a bundle"):
        check_out(tmp_path)
    with pytest.raises(UsageError, match="no folder"):
        check_out(tmp_path / "mine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--out", "x"], "no policy at 'nowhere'"),
        (["builtin/nobody", "--out", "x"], "no built-in value 'nobody'"),
        (
            ["builtin/2p", "builtin/universal", "--out", "x"],
            "a bundle has one policy: builtin/2p or",
        ),
        (["nowhere"], "--out"),
    ],
)
def test_wrong_use_ends_with_exit_code_2(tmp_path, arguments, message):
    done = subprocess.run(
        [sys.executable, "-m", "agents.export", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (tmp_path / "x").exists()
