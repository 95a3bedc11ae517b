"""The network made for the game: what it may depend on, and what it must not."""

import numpy as np
import onnxruntime
import pytest
import torch

import agents
from agents.networks import AHEAD, BEHIND, ActionNetwork, NetworkAgent, make_network
from agents.onnx_models import PolicyModel, to_onnx
from agents.vector_layout import vectors_of
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.board import OVER
from thatslife_env.games import observe_players
from thatslife_env.observation import OBS_SIZE, SLICES, observe
from thatslife_env.vector import VectorGame

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

DESCRIPTION = {"kind": "action", "hidden": [12, 20, 16, 8]}


@pytest.fixture(scope="module")
def network() -> ActionNetwork:
    torch.manual_seed(5)
    made = make_network(DESCRIPTION)
    assert isinstance(made, ActionNetwork)
    torch.nn.init.normal_(made.policy[-1].weight)
    return made


@pytest.fixture(scope="module")
def states() -> np.ndarray:
    """Decisions of random games of all presets and numbers of players, choices of seats too."""
    player, rng = agents.make("random"), np.random.default_rng(2)
    found = []
    for preset in PRESETS:
        for players in range(2, 7):
            games = VectorGame(8, preset, seed=players, players=players)
            for _ in range(25):
                games.step(player.act_batch(games.states, rng))
                found.append(games.states[rng.integers(8, size=2)].copy())
    return np.concatenate(found)


def seen(states: np.ndarray) -> tuple[torch.Tensor, np.ndarray]:
    observations = np.zeros((len(states), OBS_SIZE), np.float32)
    masks = np.zeros((len(states), 16), np.bool_)
    observe_players(states, observations, masks)
    return torch.from_numpy(observations), masks


def scores_of(network: ActionNetwork, *positions: Position) -> np.ndarray:
    rows = torch.from_numpy(np.array([observe(position) for position in positions]))
    with torch.no_grad():
        return network.forward_actor(rows, is_exact=True).numpy()


def test_what_is_not_legal_is_not_scored(network, states):
    observations, masks = seen(states)
    with torch.no_grad():
        scores, values = network(observations)
        exact = network.forward_actor(observations, is_exact=True)
    assert not scores.numpy()[~masks].any()
    assert (scores.numpy()[masks] != 0).mean() > 0.95
    np.testing.assert_allclose(scores, exact, atol=1e-5)
    assert torch.equal(values, network.forward_critic(observations))
    assert values.shape == (len(states), 1)
    assert {3, 11, 12} <= set(masks.nonzero()[1].tolist())  # guards and choices occur


def test_scores_are_the_same_in_every_batch_bit_for_bit(network, states):
    agent = NetworkAgent("network", network)
    whole, _ = agent.scores(states)
    rng = np.random.default_rng(0)
    for size in (1, 2, 31, 32, 33, 200):
        rows = rng.choice(len(states), size, replace=False)
        np.testing.assert_array_equal(agent.scores(states[rows])[0], whole[rows])


def test_positions_with_nothing_to_decide_have_values_and_no_scores(network):
    over = Position.deal(Ruleset(players=2, pawns=1, layout=[1]), 0)
    rolled = over
    while not over.is_over:
        over = over.roll(6)
        over = over.play(over.legal_actions()[0])
    assert not scores_of(network, rolled, over).any()
    with torch.no_grad():
        rows = torch.from_numpy(np.array([observe(rolled), observe(over)]))
        assert network.forward_critic(rows).isfinite().all()


def test_windows_show_what_lies_around_a_piece_and_no_more(network, states):
    """The windows are those of a track that is built tile by tile."""
    from agents import networks

    observations, _ = seen(states[:300])
    what = networks._see(observations)
    stacks = what.stacks.nonzero()
    windows = networks._windows(what, stacks @ networks._SHARED, stacks @ networks._OWN)
    windows = windows.reshape(-1, BEHIND + 1 + AHEAD, 7).numpy()
    row = 0
    for index, state in enumerate(states[:300]):
        position = Position.from_state(state)
        names, finish = position.to_json()["track"], int(state["finish"])
        for steps in range(position.players):
            other = (position.player + steps) % position.players
            pawns = {int(slot) for slot in state["pawns"][other][: state["pawns_each"]]}
            for slot in sorted(pawns - {finish}):
                assert stacks[row].tolist() == [index, steps, slot]
                for place, distance in enumerate(range(-BEHIND, AHEAD + 1)):
                    there = slot + distance
                    value, lucky, action, guards, end, everybody, own = windows[row, place]
                    assert end == (there >= finish)
                    if not 0 <= there < finish:
                        assert (value, lucky, action, guards, everybody, own) == (0,) * 6
                        continue
                    name = names[there]
                    is_number = isinstance(name, int)
                    assert value == pytest.approx(name / 10 if is_number else 0)
                    assert lucky == (name == "lucky")
                    assert action == {"gift": 1, "steal": -1}.get(str(name), 0)
                    on_it = [
                        list(row[: state["pawns_each"]]).count(there) for row in state["pawns"]
                    ]
                    assert own * 3 == pytest.approx(on_it[other])
                    n_pawns = sum(on_it[: position.players])
                    assert everybody * 3 == pytest.approx(n_pawns, abs=1e-5)
                    n_guards = list(state["guards"][: state["n_guards"]]).count(there)
                    assert guards * 8 == pytest.approx(n_guards)
                row += 1
    assert row == len(windows) > 1000


def test_gradients_reach_all_weights(network, states):
    observations, _ = seen(states)
    scores, values = network(observations)
    (scores.square().sum() + values.square().sum()).backward()
    for name, weights in network.named_parameters():
        assert weights.grad is not None, name
        assert weights.grad.abs().sum() > 0, name
    network.zero_grad()


def test_its_model_in_onnx_gives_the_same_in_every_batch(network, states):
    """The whole graph, from positions; where nothing is to decide too."""
    idle = Position.deal(Ruleset.preset("full", players=5), 3).state
    states = np.concatenate([states, idle])
    observations, masks = seen(states)
    with torch.no_grad():
        scores, _ = network(observations)
    legal = np.where(masks, scores.numpy().astype(np.float64), -np.inf)
    session = onnxruntime.InferenceSession(to_onnx(PolicyModel(network, with_value=True)))
    policy, value = session.run(None, {"position": vectors_of(states)})
    weights = np.exp(legal[:-1] - legal[:-1].max(axis=1, keepdims=True))
    np.testing.assert_allclose(policy[:-1], weights / weights.sum(1, keepdims=True), atol=1e-5)
    assert not policy[-1].any()
    assert np.isfinite(value).all()
    over = states[-1:].copy()  # no pawn is on its way and no action legal
    pawns = over["pawns"]
    over["phase"], over["pawns"] = OVER, np.where(pawns >= 0, over["finish"][0], pawns)
    for nothing in (idle, over):
        part, shares = session.run(None, {"position": vectors_of(nothing)})
        assert not part.any()
        assert np.isfinite(shares).all()
    for size in (1, 2, 7, 64):
        part, shares = session.run(None, {"position": vectors_of(states[-size:])})
        np.testing.assert_allclose(part, policy[-size:], atol=1e-5)
        np.testing.assert_allclose(shares, value[-size:], atol=1e-5)


def test_a_blind_network_does_not_see_what_actions_do(states):
    observations, _ = seen(states)
    network = make_network({"kind": "blind", "hidden": [8], "activation": "relu"})
    torch.nn.init.normal_(network.policy[-1].weight)
    changed = observations.clone()
    changed[:, SLICES["from_slot"].start :] = 0.3
    for before, after in zip(network(observations), network(changed), strict=True):
        assert torch.equal(before, after)
    assert torch.equal(network.forward_actor(observations), network.forward_actor(changed))
    assert torch.equal(network.forward_critic(observations), network.forward_critic(changed))
    changed[:, SLICES["legal"]] = 0
    assert not torch.equal(network.forward_actor(observations), network.forward_actor(changed))
    assert set(network.state_dict()) == set(
        make_network({"kind": "mlp", "hidden": [8], "activation": "relu"}).state_dict()
    )
    assert SLICES["from_slot"].start == SLICES["legal"].stop


@pytest.mark.parametrize("hidden", [[], [4], [4, 4, 4], [4] * 5])
def test_other_numbers_of_layers_are_refused(hidden):
    with pytest.raises(ValueError, match="action"):
        make_network({"kind": "action", "hidden": hidden})
