"""The agent `onnx:PATH` plays as the policy that it came from."""

import shutil
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import decisions

import agents
from agents import AgentError
from agents.export import sample_positions
from agents.onnx_files import VECTOR_HASH, only
from agents.tournament import play_tournament
from thatslife_env import IllegalMoveError, Position, Ruleset

pytestmark = pytest.mark.speed  # plays too much for uncompiled code


@pytest.fixture(scope="module")
def agent(exported) -> agents.Agent:
    return agents.make(f"onnx:{exported / 'bundle'}")


@pytest.fixture(scope="module")
def policy(exported) -> agents.Agent:
    return agents.make(f"policy:{exported / 'policy'}")


def test_it_plays_what_the_policy_plays(agent, policy):
    states = decisions(1500)
    rng = np.random.default_rng(1)
    assert np.array_equal(agent.act_batch(states, rng), policy.act_batch(states, rng))
    assert np.array_equal(agent.probabilities(states), policy.probabilities(states))
    shares = agent.policy(states)
    assert shares.dtype == np.float32
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)


def test_it_evaluates_as_the_policy_does(agent, policy):
    """The same table, figure for figure, but for names and time."""

    def table(player: agents.Agent, rules: Ruleset) -> list[dict]:
        opponent = agents.make("greedy")
        results = play_tournament([player, opponent], rules, "x", games=60, seed=3).to_json()
        for row in results["agents"]:
            del row["spec"], row["ms_per_decision"]
        for row in results["pairs"]:
            del row["a"], row["b"]
        return [*results["agents"], *results["pairs"]]

    for rules in (Ruleset(), Ruleset.preset("full", players=4)):
        assert table(agent, rules) == table(policy, rules)


def test_its_moves_do_not_depend_on_the_batch(agent):
    states = decisions(40)
    together = agent.policy(states)
    for size in (1, 2, 7):
        parts = [agent.policy(states[i : i + size]) for i in range(0, len(states), size)]
        assert np.array_equal(np.concatenate(parts), together)


def test_a_folder_or_its_file(agent, exported):
    by_file = agents.make(f"onnx:{exported / 'bundle' / 'policy.onnx'}")
    states = decisions(20)
    assert np.array_equal(by_file.policy(states), agent.policy(states))


def test_it_decides_only_where_there_is_something_to_decide(agent):
    idle = next(position for position in sample_positions(20) if position.phase == "roll")
    with pytest.raises(IllegalMoveError, match="nothing to decide"):
        agent.act(idle)


def test_it_does_not_work_out_what_nobody_asks_for(exported):
    content = (exported / "bundle" / "policy.onnx").read_bytes()
    part = onnx.load_from_string(only(content, "policy"))
    names = {tensor.name for tensor in part.graph.initializer}
    assert [tensor.name for tensor in part.graph.output] == ["policy"]
    assert not any("value" in name for name in names), names
    assert any(
        "value" in tensor.name for tensor in onnx.load_from_string(content).graph.initializer
    )


def changed(exported: Path, folder: Path, change) -> Path:
    """The model after a change to it."""
    model = onnx.load(exported / "bundle" / "policy.onnx")
    change(model)
    onnx.save(model, folder / "policy.onnx")
    return folder


def rename(model: onnx.ModelProto, old: str, new: str) -> None:
    for part in (*model.graph.input, *model.graph.output):
        if part.name == old:
            part.name = new
    for node in model.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]


def set_hash(model: onnx.ModelProto) -> None:
    (entry,) = [entry for entry in model.metadata_props if entry.key == VECTOR_HASH]
    entry.value = "0123"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_hash, "made for vectors of layout '0123'"),
        (lambda model: model.ClearField("metadata_props"), "made for vectors of layout None"),
        (lambda model: rename(model, "position", "state"), "takes in and puts out .*'state'"),
        (lambda model: rename(model, "policy", "probabilities"), "no ONNX model|puts out"),
        (lambda model: model.graph.ClearField("node"), "damaged, or no ONNX model"),
    ],
)
def test_another_model_is_refused(exported, tmp_path, change, message):
    with pytest.raises(AgentError, match=message):
        agents.make(f"onnx:{changed(exported, tmp_path, change)}")


def test_what_cannot_be_read_is_refused(exported, tmp_path):
    for path in ("", "nowhere", "x\0y", str(tmp_path)):
        with pytest.raises(AgentError):
            agents.make(f"onnx:{path}")
    content = (exported / "bundle" / "policy.onnx").read_bytes()
    for part in (b"", b"junk", content[:100], content[: len(content) // 2], content[:-1]):
        (tmp_path / "policy.onnx").write_bytes(part)
        with pytest.raises(AgentError, match="policy.onnx: damaged, or no ONNX model"):
            agents.make(f"onnx:{tmp_path}")


def test_a_model_in_two_files_is_refused(exported, tmp_path):
    model = onnx.load(exported / "bundle" / "policy.onnx")
    onnx.save(model, tmp_path / "policy.onnx", save_as_external_data=True, location="data")
    shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    with pytest.raises(AgentError, match="damaged, or no ONNX model"):
        agents.make(f"onnx:{tmp_path}")


@pytest.mark.speed
def test_a_move_takes_less_than_a_millisecond(agent):
    """The budget is 200 microseconds on an idle core; here others may be at work."""
    positions = [Position.from_state(state) for state in decisions(200)]
    for position in positions:
        agent.act(position)
    fastest = min(_seconds(agent, positions) for _ in range(5)) / len(positions)
    assert fastest < 1e-3


def _seconds(agent: agents.Agent, positions: list[Position]) -> float:
    begin = time.thread_time()
    for position in positions:
        agent.act(position)
    return time.thread_time() - begin
