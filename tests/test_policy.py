"""Policies: as files that are checked and run nothing, and as players that play their networks."""

import itertools
import json
import os
import pickle
import random
import struct
import time
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import agents
from agents import AgentError, saved
from agents.arena import play_games
from agents.config import PpoConfig
from agents.networks import BLOCK, NetworkAgent, make_network
from agents.policy import find_policy, load_policy, save_policy
from agents.training import make_env, make_model
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.games import stream_seeds
from thatslife_env.observation import LAYOUT_HASH, OBS_SIZE, observe
from thatslife_env.vector import VectorGame

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

DESCRIPTION = {"kind": "mlp", "hidden": [24, 12], "activation": "relu"}
ABOUT = {"steps": 7, "ruleset": Ruleset().to_dict()}
VARIANTS = list(itertools.product(PRESETS, range(2, 7)))
# chi-square, p = 0.001, by degrees of freedom
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46, 7: 24.32, 8: 26.12}


def make_lively_network(description: dict = DESCRIPTION, seed: int = 3) -> torch.nn.Module:
    """A network that never learned, with scores far enough apart to matter."""
    torch.manual_seed(seed)
    network = make_network(description)
    for layer in (network.policy[-1], network.value[-1]):
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.normal_(layer.bias)
    return network


def real_states(n: int) -> np.ndarray:
    """Decisions of random games: of all presets, numbers of players, and stages of a game."""
    rng = np.random.default_rng(8)
    player = agents.make("random")
    found = []
    per_variant = -(-n // len(VARIANTS))
    for preset, players in VARIANTS:
        games = VectorGame(per_variant, preset, seed=players, players=players)
        for number in range(per_variant):
            for _ in range(3):
                games.step(player.act_batch(games.states, rng))
            found.append(games.states[number : number + 1].copy())
    return np.concatenate(found)[:n]


@pytest.fixture(scope="module")
def states() -> np.ndarray:
    return real_states(500)


@pytest.fixture
def folder(tmp_path) -> Path:
    save_policy(tmp_path / "policy", make_lively_network(), DESCRIPTION, ABOUT)
    return tmp_path / "policy"


def random_keys(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, n, np.uint64)


# Round trip -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "description",
    [
        DESCRIPTION,
        {"kind": "mlp", "hidden": [5], "activation": "tanh"},
        {"kind": "mlp", "hidden": [3, 4, 5, 6], "activation": "relu"},
        {"kind": "action", "hidden": [3, 4, 5, 6], "activation": "tanh"},
    ],
)
def test_a_policy_comes_back_bit_for_bit(tmp_path, description, states):
    network = make_lively_network(description)
    save_policy(tmp_path, network, description, ABOUT)
    loaded, content = load_policy(tmp_path)
    assert set(loaded.state_dict()) == set(network.state_dict())
    for name, weights in network.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weights), name
    assert not loaded.training
    assert content["about"] == ABOUT
    assert content["network"] == description
    keys = random_keys(len(states), 0)
    np.testing.assert_array_equal(
        NetworkAgent("before", network).act_batch(states, keys),
        agents.make(f"policy:{tmp_path}").act_batch(states, keys),
    )


def test_a_policy_is_one_safetensors_file_and_one_of_json(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["policy.json", "weights.safetensors"]
    content = json.loads((folder / "policy.json").read_text())
    assert content == {
        "format": 1,
        "layout_hash": LAYOUT_HASH,
        "network": DESCRIPTION,
        "about": ABOUT,
    }
    data = (folder / "weights.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    shapes = {name: tuple(tensor["shape"]) for name, tensor in header.items()}
    assert shapes["policy.0.weight"] == (24, OBS_SIZE)
    assert shapes["value.4.bias"] == (1,)
    assert {tensor["dtype"] for tensor in header.values()} == {"F32"}
    assert len(data) == 8 + length + 4 * sum(int(np.prod(shape)) for shape in shapes.values())


def test_a_policy_may_be_written_over(folder):
    other = make_lively_network(seed=4)
    save_policy(folder, other, DESCRIPTION, {})
    assert torch.equal(load_policy(folder)[0].policy[0].weight, other.policy[0].weight)


def test_a_network_that_is_in_use_can_be_saved(tmp_path):
    """Saving neither changes it nor needs it to be at rest."""
    network = make_lively_network().train()
    network.policy[0].weight.requires_grad_()
    before = {name: weights.clone() for name, weights in network.state_dict().items()}
    save_policy(tmp_path, network, DESCRIPTION, {})
    assert network.training
    assert all(torch.equal(before[name], weights) for name, weights in network.state_dict().items())


# Where a PATH leads -----------------------------------------------------------------------------


def test_a_path_is_a_policy_folder_or_a_run_folder(folder):
    assert find_policy(str(folder)) == folder
    assert find_policy(str(folder.parent)) == folder
    assert find_policy(f"{folder}/") == folder
    for path in (str(folder.parent.parent / "missing"), str(folder / "policy.json"), ""):
        with pytest.raises(AgentError, match=r"policy\.json"):
            find_policy(path)


def test_a_spec_names_its_path(folder, monkeypatch):
    agent = agents.make(f"policy:{folder}")
    assert agent.name == f"policy:{folder}"
    assert agent.description["about"] == ABOUT
    monkeypatch.chdir(folder.parent.parent)
    assert agents.make(f"policy:{folder.parent.name}").name == f"policy:{folder.parent.name}"


def test_a_path_may_hold_what_specs_are_written_with(tmp_path):
    folder = tmp_path / "a=b,c [d]:e"
    save_policy(folder, make_lively_network(), DESCRIPTION, ABOUT)
    assert agents.make(f"policy:{folder}").description["about"] == ABOUT


def test_an_unknown_built_in_policy_is_told_what_there_is(tmp_path, monkeypatch):
    for name in ("alpha", "beta"):
        save_policy(
            tmp_path / "builtin" / name / "policy",
            make_lively_network(),
            DESCRIPTION,
            {"name": name},
        )
    (tmp_path / "builtin" / "no policy").mkdir()
    save_policy(tmp_path / "secret", make_lively_network(), DESCRIPTION, {})
    monkeypatch.setattr(saved.resources, "files", lambda package: tmp_path)
    assert agents.make("policy:builtin/alpha").description["about"] == {"name": "alpha"}
    for name in ("gamma", "", "no policy", "../secret", "alpha/../../secret", "alpha/", "ALPHA"):
        with pytest.raises(AgentError, match="alpha, beta"):
            agents.make(f"policy:builtin/{name}")


def test_an_unknown_built_in_policy_is_refused_as_shipped():
    with pytest.raises(AgentError, match="nobody.*there are:"):
        agents.make("policy:builtin/nobody")


# Damage: the weights ----------------------------------------------------------------------------


def weights_file(folder: Path) -> Path:
    return folder / "weights.safetensors"


def header_size(data: bytes) -> int:
    return 8 + struct.unpack("<Q", data[:8])[0]


def test_a_truncated_file_is_refused_wherever_it_breaks_off(folder):
    data = weights_file(folder).read_bytes()
    head = header_size(data)
    ends = {0, 1, 7, 8, 9, head // 2, head - 1, head, head + 1, len(data) // 2, len(data) - 1}
    for end in sorted(ends):
        weights_file(folder).write_bytes(data[:end])
        with pytest.raises(AgentError, match=r"weights\.safetensors"):
            load_policy(folder)
    weights_file(folder).write_bytes(data + b"\0")
    with pytest.raises(AgentError, match=r"weights\.safetensors"):
        load_policy(folder)


def test_a_flipped_bit_in_the_header_is_refused_or_means_nothing(folder):
    original = load_policy(folder)[0].state_dict()
    data = weights_file(folder).read_bytes()
    rng = random.Random("bits")
    n_refused = 0
    for place in range(header_size(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        weights_file(folder).write_bytes(damaged)
        try:
            loaded = load_policy(folder)[0].state_dict()
        except AgentError:
            n_refused += 1
            continue
        assert all(torch.equal(loaded[name], original[name]) for name in original), place
    assert n_refused > 0.9 * header_size(data)


class Payload:
    """What a stranger's pickle does when it is loaded: it makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_a_pickle_in_place_of_a_file_is_refused_and_never_run(folder, tmp_path):
    marker = tmp_path / "marker"
    payload = Payload(marker)
    plain = pickle.dumps(payload)
    pickle.loads(plain)  # it would work
    marker.rmdir()
    torch.save(payload, tmp_path / "torch.pt")
    with zipfile.ZipFile(tmp_path / "sb3.zip", "w") as file:
        file.writestr("data", json.dumps({"policy_class": {":serialized:": plain.hex()}}))
        file.writestr("policy.pth", plain)
    good = weights_file(folder).read_bytes()
    for content in (
        plain,
        (tmp_path / "torch.pt").read_bytes(),
        (tmp_path / "sb3.zip").read_bytes(),
    ):
        weights_file(folder).write_bytes(content)
        with pytest.raises(AgentError, match="damaged"):
            agents.make(f"policy:{folder}")
    weights_file(folder).write_bytes(good)
    for content in (plain, good):
        (folder / "policy.json").write_bytes(content)
        with pytest.raises(AgentError, match=r"policy\.json"):
            agents.make(f"policy:{folder}")
    assert not marker.exists()


def with_weights(folder: Path, change) -> None:
    weights = load_file(weights_file(folder))
    change(weights)
    save_file(weights, weights_file(folder))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda w: w.pop("policy.0.bias"), "policy.0.bias"),
        (lambda w: w.clear(), "policy"),
        (lambda w: w.update(extra=torch.zeros(3)), "extra"),
        (lambda w: w.update({"policy.6.bias": torch.zeros(3)}), "policy.6.bias"),
        (lambda w: w.update({"policy.0.bias": torch.zeros(25)}), "policy.0.bias"),
        (lambda w: w.update({"policy.0.bias": torch.zeros(24, 1)}), "policy.0.bias"),
        (lambda w: w.update({"policy.0.bias": torch.zeros(())}), "policy.0.bias"),
        (lambda w: w.update({"policy.2.weight": torch.zeros(24, 12)}), "policy.2.weight"),
        (lambda w: w.update({"policy.0.bias": torch.zeros(0)}), "policy.0.bias"),
        (lambda w: w["value.4.bias"].fill_(torch.nan), "value.4.bias"),
        (lambda w: w["policy.0.weight"][3].fill_(torch.inf), "policy.0.weight"),
        (lambda w: w["policy.0.weight"][3, 0].fill_(-torch.inf), "policy.0.weight"),
    ],
)
def test_weights_that_do_not_fit_are_named(folder, change, name):
    with_weights(folder, change)
    with pytest.raises(AgentError) as caught:
        load_policy(folder)
    assert name in str(caught.value)
    assert "weights.safetensors" in str(caught.value)


@pytest.mark.parametrize(
    "weights",
    [
        torch.full((12,), 1e300, dtype=torch.float64),  # finite in the file, not in the network
        torch.full((12,), 1 + 2j, dtype=torch.complex64),
        torch.full((12,), 2**62, dtype=torch.int64),
        torch.full((12,), 0.5, dtype=torch.float16),
    ],
    ids=lambda weights: str(weights.dtype),
)
def test_what_is_loaded_is_what_the_file_says_or_nothing(folder, weights):
    """Other number formats are refused, or nothing is lost in reading them."""
    with_weights(folder, lambda w: w.update({"policy.2.bias": weights}))
    try:
        loaded = load_policy(folder)[0].policy[2].bias.detach()
    except AgentError as error:
        assert "policy.2.bias" in str(error)  # noqa: PT017  # either is right
    else:
        assert torch.equal(loaded.to(weights.dtype), weights)
        assert loaded.isfinite().all()


# Damage: the description ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nonsense",
        "[]",
        "null",
        "3",
        '"policy"',
        "{}",
        "[" * 100_000,
        '{"format": 1' + "0" * 5000 + "}",
        "\0" * 300,
        b"\xff\xfe\x00",
    ],
    ids=range(12),
)
def test_what_is_no_description_is_refused(folder, text):
    (folder / "policy.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(AgentError, match=r"policy\.json"):
        load_policy(folder)


@pytest.mark.parametrize("value", [0, 2, 99, "1", None, [1], True, 1.5])
def test_another_format_is_refused(folder, value):
    content = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(content | {"format": value}))
    with pytest.raises(AgentError, match="format 1"):
        load_policy(folder)


@pytest.mark.parametrize("value", ["0123456789abcdef", "", None, 5, [LAYOUT_HASH], {}])
def test_another_layout_is_refused(folder, value):
    content = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(content | {"layout_hash": value}))
    with pytest.raises(AgentError, match="layout") as caught:
        load_policy(folder)
    assert LAYOUT_HASH in str(caught.value)


@pytest.mark.parametrize("key", ["format", "layout_hash", "network"])
def test_a_missing_key_is_refused(folder, key):
    content = json.loads((folder / "policy.json").read_text())
    del content[key]
    (folder / "policy.json").write_text(json.dumps(content))
    with pytest.raises(AgentError, match=r"policy\.json"):
        load_policy(folder)


@pytest.mark.parametrize(
    "network",
    [
        *(None, [], "mlp", 3, {}),
        *({"kind": kind} for kind in ("gru", None, 3, ["mlp"], {"mlp": 1}, "MLP")),
        *(
            {"kind": "mlp", "hidden": hidden}
            for hidden in (
                *(None, 24, "ab", [24, "12"], [24, 12.0], [[24], 12], [24, None]),
                *([24, -12], [0, 12], [True, 12], [24, 10**13], [10**30], {"24": 12}),
            )
        ),
        *(
            {"kind": "mlp", "hidden": [24, 12], "activation": activation}
            for activation in ("gelu", None, 3, ["relu"])
        ),
        {"kind": "mlp"},
        {"kind": "mlp", "hidden": [24, 12], "dropout": 0.5},
        {"kind": "action", "hidden": [24, 12], "activation": "relu"},
        {"kind": "mlp", "hidden": [24, 12], "self": 1},
        {"hidden": [24, 12]},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_network_of_nonsense_is_refused(folder, network):
    content = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(content | {"network": network}))
    with pytest.raises(AgentError, match=r"policy\.json"):
        load_policy(folder)


def test_missing_files_are_named(folder):
    weights_file(folder).unlink()
    with pytest.raises(AgentError, match=r"weights\.safetensors"):
        load_policy(folder)
    weights_file(folder).mkdir()
    with pytest.raises(AgentError, match=r"weights\.safetensors"):
        load_policy(folder)
    (folder / "policy.json").unlink()
    with pytest.raises(AgentError, match=r"policy\.json"):
        load_policy(folder)
    with pytest.raises(AgentError, match=r"policy\.json"):
        agents.make(f"policy:{folder}")


# Playing ----------------------------------------------------------------------------------------


def forward_in_numpy(network: torch.nn.Module, observation: np.ndarray) -> np.ndarray:
    """The scores, worked out by hand in double precision."""
    weights = {name: t.double().numpy() for name, t in network.state_dict().items()}
    hidden = observation.astype(np.float64)
    for layer in ("policy.0", "policy.2"):
        hidden = np.maximum(weights[f"{layer}.weight"] @ hidden + weights[f"{layer}.bias"], 0)
    return weights["policy.4.weight"] @ hidden + weights["policy.4.bias"]


def test_the_best_legal_score_is_played(states):
    network = make_lively_network()
    actions = NetworkAgent("network", network).act_batch(states, random_keys(500, 0))
    n_clear, seen = 0, Counter()
    for state, action in zip(states, actions.tolist(), strict=True):
        position = Position.from_state(state)
        legal = position.legal_actions()
        observation = observe(position, position.player)
        with torch.no_grad():
            direct = network.forward_actor(torch.from_numpy(observation)[None])[0].numpy()
        by_hand = forward_in_numpy(network, observation)
        np.testing.assert_allclose(direct, by_hand, atol=1e-4)
        ranked = sorted(legal, key=lambda a: by_hand[a], reverse=True)
        assert by_hand[action] >= by_hand[ranked[0]] - 1e-4
        if len(legal) > 1 and by_hand[ranked[0]] - by_hand[ranked[1]] > 1e-3:
            assert action == ranked[0]
            n_clear += 1
        seen[action] += 1
    assert n_clear > 250
    pawns, guards, opponents = range(3), range(3, 11), range(11, 16)
    assert all(any(action in seen for action in kind) for kind in (pawns, guards, opponents))


def test_scores_are_the_same_in_every_batch_bit_for_bit(states):
    for hidden in ([24, 12], [256, 256]):
        agent = NetworkAgent("network", make_lively_network({"kind": "mlp", "hidden": hidden}))
        alone = np.concatenate([agent.scores(states[i : i + 1])[0] for i in range(100)])
        for size in range(1, 101):
            scores, masks = agent.scores(states[:size])
            assert scores.tobytes() == alone[:size].tobytes(), size
            assert masks.shape == (size, 16)
        order = np.random.default_rng(0).permutation(100)
        assert agent.scores(states[order])[0].tobytes() == alone[order].tobytes()
    assert 1 < BLOCK < 100  # the sizes above go past what is computed at a time


def test_scores_leave_no_gradients_and_no_traces(states):
    network = make_lively_network()
    before = {name: weights.clone() for name, weights in network.state_dict().items()}
    NetworkAgent("network", network).act_batch(states[:40], random_keys(40, 0))
    assert all(weights.grad is None for weights in network.parameters())
    assert all(torch.equal(before[name], weights) for name, weights in network.state_dict().items())


def test_sampling_follows_the_softmax_of_the_legal_scores(states):
    network = make_lively_network()
    agent = NetworkAgent("network", network, sample=True)
    n, tested = 8000, 0
    for number, state in enumerate(states):
        position = Position.from_state(state)
        legal = position.legal_actions()
        if len(legal) < 3 or tested == 25:
            continue
        scores = forward_in_numpy(network, observe(position, position.player))[legal]
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        if chances.min() * n < 20:  # too rare to count
            continue
        actions = agent.act_batch(np.repeat(states[number : number + 1], n), random_keys(n, number))
        counts = np.array([(actions == action).sum() for action in legal])
        assert counts.sum() == n
        statistic = ((counts - n * chances) ** 2 / (n * chances)).sum()
        assert statistic < CRITICAL[len(legal) - 1], (position, counts, n * chances)
        tested += 1
    assert tested == 25


def test_sampling_is_safe_with_scores_of_any_size(states):
    for scale in (1e4, 1e30):
        network = make_lively_network()
        with torch.no_grad():
            network.policy[-1].weight *= scale
            network.policy[-1].bias *= scale
        actions = NetworkAgent("n", network, sample=True).act_batch(states, random_keys(500, 1))
        for state, action in zip(states, actions.tolist(), strict=True):
            assert action in Position.from_state(state).legal_actions()


def test_a_policy_agent_plays_only_legal_moves(folder):
    """The arena raises on any other; every preset and number of players."""
    agent = agents.make(f"policy:{folder}")
    for preset, players in VARIANTS:
        results = play_games(
            [agent, agents.make("random")],
            Ruleset.preset(preset, players=players),
            stream_seeds(1, 20),
            np.tile(np.arange(players) % 2, (20, 1)),
        )
        assert (results.decisions > 0).all()
        assert results.decided[0] > 0


def test_a_policy_plays_the_same_whatever_the_threads(folder):
    specs = [f"policy:{folder}", "random"]
    arguments = (
        [agents.make(spec) for spec in specs],
        Ruleset.preset("full", players=3),
        stream_seeds(1, 2100),  # three batches
        np.tile([0, 1, 1], (2100, 1)),
    )
    serial, threaded = (play_games(*arguments, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(serial.points, threaded.points)


# The same network in training -------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    config = PpoConfig.model_validate(
        {
            "network": {"kind": "mlp", "hidden": [32, 16]},
            "ppo": {"n_envs": 4, "n_steps": 4, "batch_size": 8},
        }
    )
    model = make_model(config, make_env(config))
    torch.manual_seed(1)
    torch.nn.init.normal_(model.policy.network.policy[-1].weight)
    return model


def views(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the seats to decide see and may do, one position at a time."""
    observations, masks = [], np.zeros((len(states), 16), bool)
    for row, state in enumerate(states):
        position = Position.from_state(state)
        observations.append(observe(position, position.player))
        masks[row, position.legal_actions()] = True
    return np.array(observations), masks


def test_what_is_trained_plays_as_its_agent_does(model, states):
    """On 500 real states, `MaskablePPO.predict` and `NetworkAgent` choose the same."""
    observations, masks = views(states)
    predicted, _ = model.predict(observations, action_masks=masks, deterministic=True)
    played = NetworkAgent("network", model.policy.network).act_batch(states, random_keys(500, 0))
    np.testing.assert_array_equal(predicted, played)
    assert len(set(played.tolist())) >= 8
    one, _ = model.predict(observations[3], action_masks=masks[3], deterministic=True)
    assert one.shape == ()  # what people then pass on to an environment
    assert int(one) == played[3]


def test_what_is_trained_samples_as_its_agent_does(model, states):
    observations, masks = views(states)
    tensor = torch.from_numpy(observations)
    with torch.no_grad():
        probs = model.policy.get_distribution(tensor, action_masks=masks).distribution.probs.numpy()
        logits = model.policy.network.forward_actor(tensor).numpy().astype(np.float64)
        values = model.policy.predict_values(tensor)
        network_values = model.policy.network.forward_critic(tensor)
    weights = np.where(masks, np.exp(logits - logits.max(axis=1, keepdims=True)), 0)
    np.testing.assert_allclose(probs, weights / weights.sum(axis=1, keepdims=True), atol=1e-5)
    assert torch.equal(values, network_values)


def test_a_trained_network_is_saved_as_it_is(model, states, tmp_path):
    description = {"kind": "mlp", "hidden": [32, 16], "activation": "relu"}
    save_policy(tmp_path, model.policy.network, description, {})
    keys = random_keys(500, 0)
    np.testing.assert_array_equal(
        agents.make(f"policy:{tmp_path}").act_batch(states, keys),
        NetworkAgent("network", model.policy.network).act_batch(states, keys),
    )


def test_all_weights_of_the_model_are_in_the_policy_file(model):
    """Nothing that is trained is left out, and the optimiser has all of it."""
    network = list(model.policy.network.parameters())
    assert {id(weights) for weights in model.policy.parameters()} == {id(w) for w in network}
    trained = [w for group in model.policy.optimizer.param_groups for w in group["params"]]
    assert {id(weights) for weights in trained} == {id(weights) for weights in network}


def test_a_giant_that_the_weights_do_not_fit_is_refused_at_once(folder):
    """Its shapes are compared before anything of it is made."""
    content = json.loads((folder / "policy.json").read_text())
    content["network"]["hidden"] = [4096] * 8
    (folder / "policy.json").write_text(json.dumps(content))
    begin = time.monotonic()
    with pytest.raises(AgentError, match="does not fit"):
        load_policy(folder)
    assert time.monotonic() - begin < 5
