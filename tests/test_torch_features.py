"""The features in exported values are those of `agents.afterstate`, and so are the values."""

import random

import numpy as np
import onnxruntime
import pytest
import torch
from conftest import every_ruleset, played, random_position, random_value

from agents.afterstate import (
    COMMON_ROWS,
    COMMON_SIZE,
    COMMON_STARTS,
    N_FEATURES,
    SEAT_ROWS,
    SEAT_SIZE,
    SEAT_STARTS,
    load_value,
    write_features,
    write_shares,
)
from agents.onnx_models import ValueModel, to_onnx
from agents.saved import VALUE, find
from agents.torch_features import Features
from agents.vector_layout import vectors_of
from thatslife_env import Position, njit
from thatslife_env.board import MAX_PLAYERS, OVER, PHASE_NAMES

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)
CHUNK = 256


@pytest.fixture(scope="module")
def features() -> Features:
    return Features().eval()


@njit
def _write_features(states, out):
    for i in range(len(states)):
        write_features(states[i], out[i])


@njit
def _write_shares(states, weights, biases, out):
    features = np.empty(len(weights[0]), np.float32)
    for i in range(len(states)):
        write_shares(states[i], weights, biases, features, out[i])


def name_of(place: int) -> str:
    """The row of the features in which a number stands."""
    if place < COMMON_SIZE:
        return max(
            (COMMON_STARTS[row.name], row.name)
            for row in COMMON_ROWS
            if COMMON_STARTS[row.name] <= place
        )[1]
    seat, inside = divmod(place - COMMON_SIZE, SEAT_SIZE)
    name = max(
        (SEAT_STARTS[row.name], row.name) for row in SEAT_ROWS if SEAT_STARTS[row.name] <= inside
    )[1]
    return f"{name} of seat {seat}"


def assert_agree(features: Features, states: np.ndarray) -> None:
    """The features of each state, number for number."""
    wanted = np.zeros((CHUNK, N_FEATURES), np.float32)
    for begin in range(0, len(states), CHUNK):
        chunk = states[begin : begin + CHUNK]
        _write_features(chunk, wanted)
        with torch.no_grad():
            found = features(torch.from_numpy(vectors_of(chunk))).features.numpy()
        if not np.array_equal(found, wanted[: len(chunk)]):
            row, place = np.argwhere(found != wanted[: len(chunk)])[0]
            pytest.fail(f"{name_of(place)} of {Position.from_state(chunk[row : row + 1])!r}")


def test_games_of_every_ruleset_and_number_of_players(features):
    rng = random.Random(2)
    rulesets = every_ruleset(rng, n_boards=60)
    states = played(rulesets, 1500, 68)
    assert len(states) > 100_000
    phases = np.bincount(states["phase"], minlength=5)
    assert (phases[1:OVER] > 200).all(), phases
    for name in ("players", "pawns_each", "with_guards", "scoring"):
        assert len(np.unique(states[name])) == {"players": 5, "pawns_each": 3}.get(name, 2)
    assert_agree(features, states)


@pytest.mark.parametrize("phase", PHASE_NAMES)
def test_positions_nobody_played_to(features, phase):
    rng = random.Random(phase)
    made_up = [Position.from_json(random_position(rng, phase)).state for _ in range(600)]
    assert_agree(features, np.concatenate(made_up))


def test_the_features_learn_nothing(features):
    """They add nothing to what is saved or trained."""
    assert not list(features.parameters())
    assert not features.state_dict()


@pytest.mark.parametrize("name", ["2p", "universal", *range(2, 7)])
def test_onnxruntime_gives_the_value(name):
    """In every phase and number of players: what `write_shares` gives, within 1e-5."""
    is_shipped = isinstance(name, str)
    network = load_value(find(VALUE, f"builtin/{name}"))[0] if is_shipped else random_value(name)
    rng = random.Random(str(name))
    states = np.concatenate([Position.from_json(random_position(rng)).state for _ in range(1000)])
    content = to_onnx(ValueModel(network))
    (found,) = onnxruntime.InferenceSession(content).run(None, {"position": vectors_of(states)})
    assert found.dtype == np.float32
    known = states["players"] <= network.players
    assert (known & (states["phase"] == OVER)).any()
    assert not found[~known].any()
    wanted = np.zeros((len(states), MAX_PLAYERS))
    _write_shares(states[known], network.weights, network.biases, wanted[: known.sum()])
    np.testing.assert_allclose(found[known], wanted[: known.sum()], rtol=0, atol=1e-5)
    absent = np.arange(MAX_PLAYERS) >= states["players"][:, None]
    assert not found[absent].any()
    np.testing.assert_allclose(found[known].sum(axis=1), 1, atol=1e-6)
