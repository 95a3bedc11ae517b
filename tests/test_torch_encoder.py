"""The encoder in exported models says what `observation.py` and `rules.py` say."""

import itertools
import random
from typing import NamedTuple

import numpy as np
import pytest
import torch
from conftest import every_ruleset, played, random_position

from agents.torch_encoder import SCALES, Encoder, Observer
from agents.vector_layout import vectors_of
from thatslife_env import Position, Ruleset
from thatslife_env.board import N_ACTIONS, NOWHERE, OVER, PHASE_NAMES, ROLL
from thatslife_env.games import observe_players
from thatslife_env.observation import LAYOUT, OBS_SIZE, SLICES

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)
CHUNK = 1024


class Seen(NamedTuple):
    observations: torch.Tensor
    masks: torch.Tensor


class Both(torch.nn.Module):
    """From vectors to observations and masks."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.observer = Encoder(), Observer()

    def forward(self, vectors: torch.Tensor) -> Seen:
        known = self.encoder(vectors)
        return Seen(self.observer(known), known.legal)


@pytest.fixture(scope="module")
def encoder() -> Both:
    return Both().eval()


def assert_agree(encoder: Both, states: np.ndarray) -> None:
    """Observation and mask of each state, number for number."""
    observations = np.zeros((CHUNK, OBS_SIZE), np.float32)
    masks = np.zeros((CHUNK, N_ACTIONS), np.bool_)
    for begin in range(0, len(states), CHUNK):
        chunk = states[begin : begin + CHUNK]
        observe_players(chunk, observations, masks)
        with torch.no_grad():
            seen = encoder(torch.from_numpy(vectors_of(chunk)))
        found = seen.observations.numpy()
        if not np.array_equal(found, observations[: len(chunk)]):
            wrong = np.argwhere(found != observations[: len(chunk)])
            row = next(row for row in LAYOUT if SLICES[row.name].stop > wrong[0, 1])
            state = chunk[wrong[0, 0] : wrong[0, 0] + 1]
            pytest.fail(f"{row.name}, entry {wrong[0, 1]}, of {Position.from_state(state)!r}")
        assert seen.masks.dtype == torch.float32
        assert np.array_equal(seen.masks.numpy(), masks[: len(chunk)])


def test_games_of_every_ruleset_and_number_of_players(encoder):
    rng = random.Random(1)
    rulesets = every_ruleset(rng, n_boards=60)
    states = played(rulesets, 1200, 60)
    before = states[::2].copy()  # before the roll
    before["phase"], before["die"] = ROLL, 0
    home = (before["pawns"] == before["finish"][:, None, None]) | (before["pawns"] == NOWHERE)
    before = before[~home[np.arange(len(before)), before["player"]].all(axis=1)]
    assert len(states) + len(before) > 100_000
    phases = np.bincount(np.concatenate([states["phase"], before["phase"]]), minlength=5)
    assert (phases[:OVER] > 200).all(), phases
    for name in ("players", "pawns_each", "with_guards", "scoring"):
        assert len(np.unique(states[name])) == {"players": 5, "pawns_each": 3}.get(name, 2)
    assert_agree(encoder, states)
    assert_agree(encoder, before)


@pytest.mark.parametrize("phase", PHASE_NAMES)
def test_positions_nobody_played_to(encoder, phase):
    rng = random.Random(phase)
    made_up = [Position.from_json(random_position(rng, phase)).state for _ in range(600)]
    assert_agree(encoder, np.concatenate(made_up))


def test_towers_as_high_as_can_be(encoder):
    rng = random.Random(3)
    states = []
    for seat, scoring in itertools.product(range(6), ("standard", "expert")):
        towers: list[list] = [[] for _ in range(6)]
        towers[seat] = [rng.choice([-10, -3, 8, "lucky"]) for _ in range(32)]
        position = {
            "rules": {"players": 6, "pawns": 3, "guards": False, "scoring": scoring},
            "track": ["start", "gift", "steal", "gift", "steal", "finish"],
            "pawns": [[0, 2, 4]] * 6,
            "guards": [],
            "towers": towers,
            "phase": "move",
        }
        for player, die in itertools.product(range(6), range(1, 7)):
            position |= {"player": player, "die": die}
            states.append(Position.from_json(position).state)
    assert_agree(encoder, np.concatenate(states))


def test_a_position_does_not_depend_on_its_batch(encoder):
    states = played([(Ruleset.preset("full", players=4), 1.0)], 64, 3)
    vectors = torch.from_numpy(vectors_of(states))
    with torch.no_grad():
        together = encoder(vectors)
        for size in (1, 2, 7):
            alone = encoder(vectors[:size])
            assert torch.equal(alone.observations, together.observations[:size])
            assert torch.equal(alone.masks, together.masks[:size])


def test_scales_are_of_rows_that_there_are():
    assert set(SCALES) < set(SLICES)


def test_the_encoder_learns_nothing(encoder):
    """It adds nothing to what is saved or trained."""
    assert not list(encoder.parameters())
    assert not encoder.state_dict()
