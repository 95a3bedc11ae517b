"""The network in exported models comes to what the network that learned comes to."""

import random

import numpy as np
import pytest
import torch
from conftest import every_ruleset, played, random_position

from agents.networks import ActionNetwork, make_network
from agents.onnx_networks import ActionScorer
from agents.torch_encoder import Encoder
from agents.vector_layout import vectors_of
from thatslife_env import Position
from thatslife_env.board import N_ACTIONS, PHASE_NAMES
from thatslife_env.games import observe_players
from thatslife_env.observation import OBS_SIZE

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)
CHUNK = 1024


def random_network(activation: str, seed: int) -> ActionNetwork:
    """One whose weights all matter."""
    description = {"kind": "action", "hidden": [12, 20, 16, 8], "activation": activation}
    network = make_network(description)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in network.parameters():
            width = weights.shape[-1]
            weights.copy_(torch.randn(weights.shape, generator=generator) * (2 / width) ** 0.5)
    assert isinstance(network, ActionNetwork)
    return network.eval()


def assert_agree(network: ActionNetwork, states: np.ndarray) -> None:
    encoder, scorer = Encoder(), ActionScorer(network)
    for begin in range(0, len(states), CHUNK):
        chunk = states[begin : begin + CHUNK]
        observations = np.zeros((len(chunk), OBS_SIZE), np.float32)
        masks = np.zeros((len(chunk), N_ACTIONS), np.bool_)
        observe_players(chunk, observations, masks)
        with torch.no_grad():
            wanted = network(torch.from_numpy(observations))
            found = scorer(encoder(torch.from_numpy(vectors_of(chunk))))
        scores = wanted[0].numpy()
        assert not masks.any() or np.ptp(scores[masks]) > 0.1
        for name, one, other in zip(("scores", "values"), wanted, found, strict=True):
            wrong = ~((one - other).abs().amax(1) <= 1e-4).numpy()  # so that NaN is wrong
            if wrong.any():
                state = chunk[wrong.argmax() : wrong.argmax() + 1]
                pytest.fail(f"{name} of {Position.from_state(state)!r}: {other}, not {one}")


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_games_of_every_ruleset_and_number_of_players(activation):
    rng = random.Random(activation)
    rulesets = every_ruleset(rng, n_boards=30)
    states = played(rulesets, 500, 50)
    assert len(states) > 20_000
    assert_agree(random_network(activation, 5), states)


@pytest.mark.parametrize("phase", PHASE_NAMES)
def test_positions_nobody_played_to(phase):
    rng = random.Random(phase)
    made_up = [Position.from_json(random_position(rng, phase)).state for _ in range(300)]
    assert_agree(random_network("relu", 6), np.concatenate(made_up))
