"""The agent `onnx:PATH` plays as the policy that it came from."""

import hashlib
import shutil
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from conftest import decisions

import agents
from agents import AgentError
from agents.afterstate import load_value
from agents.export import sample_positions
from agents.networks import NetworkAgent, make_network
from agents.onnx_files import MAX_PLAYERS_KEY, VECTOR_HASH, only
from agents.onnx_models import PolicyModel, ValueModel, to_onnx
from agents.saved import VALUE, find
from agents.tournament import play_tournament
from thatslife_env import IllegalMoveError, Position, Ruleset

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)


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
    for rules in (Ruleset(), Ruleset.preset("full", players=4)):
        assert table(agent, rules) == table(policy, rules)


def table(player: agents.Agent, rules: Ruleset) -> list[dict]:
    """What an evaluation says, but for names and time."""
    opponent = agents.make("greedy")
    results = play_tournament([player, opponent], rules, "x", games=60, seed=3).to_json()
    for row in results["agents"]:
        del row["spec"], row["ms_per_decision"]
    for row in results["pairs"]:
        del row["a"], row["b"]
    return [*results["agents"], *results["pairs"]]


# A value ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def td() -> agents.Agent:
    return agents.make("td:builtin/universal")


@pytest.fixture(scope="module")
def judge(tmp_path_factory) -> agents.Agent:
    """The agent of a folder that holds the model of `td` alone."""
    folder = tmp_path_factory.mktemp("value")
    network, _ = load_value(find(VALUE, "builtin/universal"))
    (folder / "value.onnx").write_bytes(to_onnx(ValueModel(network)))
    return agents.make(f"onnx:{folder}")


def test_a_value_picks_the_move_of_the_player_it_came_from(judge, td):
    """10,000 decisions; another move only where two are as good."""
    states = decisions(10_000)
    keys = np.zeros(len(states), np.uint64)
    ours, theirs = judge.choose(states, keys), td.choose(states, keys)
    differ = np.flatnonzero(ours != theirs)
    assert len(differ) < len(states) / 1000
    if len(differ):
        of_actions = td.evaluate(states[differ], keys[differ]).values
        rows = np.arange(len(differ))
        worse = of_actions[rows, theirs[differ]] - of_actions[rows, ours[differ]]
        assert worse.max() < 1e-6
    few = states[:200]
    assert np.array_equal(judge.probabilities(few), np.eye(16)[ours[:200]])
    np.testing.assert_allclose(judge.values(few), td.values(few), rtol=0, atol=1e-5)


def test_a_value_evaluates_as_the_player_it_came_from(judge, td):
    for rules in (Ruleset(), Ruleset.preset("full", players=4)):
        assert table(judge, rules) == table(td, rules)


def test_its_values_are_win_shares_in_every_phase(judge, td):
    states = np.concatenate([position.state for position in sample_positions(200)])
    values = judge.values(states)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(values, td.values(states), rtol=0, atol=1e-5)
    together = judge.values(states[:20])
    alone = np.concatenate([judge.values(states[i : i + 1]) for i in range(20)])
    assert np.array_equal(together, alone)


def test_a_policy_is_played_before_a_value(exported, exported_value, policy):
    both = exported_value / "both"
    states = decisions(300)
    states = states[states["players"] <= 4]
    keys = np.zeros(len(states), np.uint64)
    assert np.array_equal(
        agents.make(f"onnx:{both}").choose(states, keys), policy.choose(states, keys)
    )
    by_file = agents.make(f"onnx:{both / 'value.onnx'}")
    td = agents.make(f"td:{exported_value}")
    assert np.mean(by_file.choose(states, keys) == td.choose(states, keys)) > 0.99
    assert by_file.knows("values")
    assert not agents.make(f"onnx:{both}").knows("values")


def test_more_players_than_a_value_knows_are_refused(exported_value):
    agent = agents.make(f"onnx:{exported_value / 'bundle'}")
    with pytest.raises(AgentError, match="trained for up to 4 players, not 5"):
        agent.act(Position.deal(Ruleset(players=5), 1).roll(3))


# What is refused --------------------------------------------------------------------------------


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
    content = (exported / "bundle" / "policy.onnx").read_bytes()
    assert by_file.digest == agent.digest == hashlib.sha256(content).hexdigest()


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


def set_metadata(key: str, value: str):
    def change(model: onnx.ModelProto) -> None:
        (entry,) = [entry for entry in model.metadata_props if entry.key == key]
        entry.value = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_metadata(MAX_PLAYERS_KEY, "7"), "made for at most '7' players, not 2 to 6"),
        (set_metadata(VECTOR_HASH, "0123"), "made for vectors of layout '0123'"),
        (lambda model: model.ClearField("metadata_props"), "made for vectors of layout None"),
        (lambda model: rename(model, "position", "state"), "takes in and puts out .*'state'"),
        (
            lambda model: rename(model, "policy", "probabilities"),
            "it puts out probabilities, value, not policy or",
        ),
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


# Speed: the budget of a move is 200 microseconds on an idle core ----------------------------------


def large_policy() -> PolicyModel:
    """A policy as large as the largest that is trained, before it learns."""
    network = make_network({"kind": "action", "hidden": [64, 192, 128, 64]})
    return PolicyModel(network, with_value=True)


@pytest.mark.parametrize(("name", "bound"), [("policy", 150), ("value", 195)])
def test_few_operations(tmp_path, name, bound):
    """They are most of the time of a move, whatever each does.

    Counted is what onnxruntime makes of the model when it loads it: usual are 141 and 186.
    """
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3  # that the file is for this machine only
    value = ValueModel(load_value(find(VALUE, "builtin/2p"))[0])
    content = to_onnx(large_policy() if name == "policy" else value)
    output = "policy" if name == "policy" else "win_shares"
    onnxruntime.InferenceSession(only(content, output), options)
    assert len(onnx.load(tmp_path / "optimized.onnx").graph.node) <= bound


def test_a_move_is_faster_than_in_torch(tmp_path):
    """Usual is a third of the time: noise, which both meet, does not matter."""
    model = large_policy()
    (tmp_path / "policy.onnx").write_bytes(to_onnx(model))
    players = agents.make(f"onnx:{tmp_path}"), NetworkAgent("torch", model.scorer.network)
    states = decisions(50)
    best = np.full((2, len(states)), np.inf)
    for _ in range(10):
        for index in range(len(states)):
            for side, player in enumerate(players):
                begin = time.thread_time()
                player.choose(states[index : index + 1], np.zeros(1, np.uint64))
                best[side, index] = min(best[side, index], time.thread_time() - begin)
    ours, theirs = best.sum(axis=1)
    assert ours / theirs < 0.5
