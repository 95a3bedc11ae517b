"""Networks that play: from an observation to action scores and a value. Needs the extra `train`.

A network is described by a plain mapping, `{"kind": "mlp", ...}`, that stands in configs and in
`policy.json`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.base import Actions, Agent, Keys, States
from thatslife_env import njit
from thatslife_env.board import N_ACTIONS
from thatslife_env.games import observe_players
from thatslife_env.observation import OBS_SIZE
from thatslife_env.rules import draw64

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}

BLOCK = 32
"""Rows of one forward pass when playing. All passes have this shape, so that what a position's row
comes to does not depend on the other rows: matrix products of other shapes may differ in the last
bits."""


class MlpNetwork(nn.Module):
    """Two towers of fully connected layers, one for the policy and one for the value.

    Args:
        hidden: width of each hidden layer.
        activation: `relu` or `tanh`.
    """

    latent_dim_pi = N_ACTIONS  # what SB3 asks of the part before its own heads, which we leave out
    latent_dim_vf = 1

    def __init__(self, hidden: list[int], activation: str = "relu") -> None:
        super().__init__()
        self.policy = _tower(hidden, activation, N_ACTIONS, gain=0.01)
        self.value = _tower(hidden, activation, 1, gain=1.0)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of all actions, legal or not, float32[B, 16], and values, float32[B, 1]."""
        return self.policy(observations), self.value(observations)

    def forward_actor(self, observations: torch.Tensor) -> torch.Tensor:
        """Scores of all actions, float32[B, 16]."""
        return self.policy(observations)

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, float32[B, 1]."""
        return self.value(observations)


def _tower(hidden: list[int], activation: str, n_out: int, gain: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    n_in = OBS_SIZE
    for width in hidden:
        layers += [_linear(n_in, width, 2**0.5), ACTIVATIONS[activation]()]
        n_in = width
    return nn.Sequential(*layers, _linear(n_in, n_out, gain))


def _linear(n_in: int, n_out: int, gain: float) -> nn.Linear:
    layer = nn.Linear(n_in, n_out)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


NETWORKS: dict[str, type[MlpNetwork]] = {"mlp": MlpNetwork}


def make_network(description: Mapping[str, Any]) -> MlpNetwork:
    """The network that `{"kind": KIND, ...}` describes, with fresh weights.

    Raises:
        ValueError: there is no such kind, or it has no such options.
    """
    options = dict(description)
    kind = options.pop("kind", None)
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise ValueError(f"unknown network {kind!r}; there are: {', '.join(NETWORKS)}")
    try:
        return NETWORKS[kind](**options)
    except (TypeError, KeyError) as error:
        raise ValueError(f"network {kind!r} cannot be made of {options}: {error}") from None


class NetworkAgent(Agent):
    """Plays by the scores of a network.

    Args:
        name: see `Agent`.
        network: used as it is at each decision; it may go on learning.
        seed: see `Agent`.
        sample: draw from the softmax of the legal scores; otherwise the legal action with the
            highest.
    """

    def __init__(
        self, name: str, network: MlpNetwork, seed: int = 0, *, sample: bool = False
    ) -> None:
        super().__init__(name, seed)
        self.network = network
        self._sample = sample

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        scores, masks = self.scores(states)
        actions = np.empty(len(states), np.int64)
        if self._sample:
            _sample(scores, masks, keys, actions)
        else:
            actions[:] = np.where(masks, scores, -np.inf).argmax(axis=1)
        return actions

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`."""
        scores, masks = self.scores(states)
        legal = np.where(masks, scores, -np.inf).astype(np.float64)
        if not self._sample:
            return np.eye(N_ACTIONS)[legal.argmax(axis=1)]
        weights = np.exp(legal - legal.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def scores(self, states: States) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Scores of all actions, float32[M, 16], and which are legal, bool[M, 16].

        Raises:
            ValueError: there is a state in which nothing is to decide.
        """
        n_states = len(states)
        n_rows = -(-n_states // BLOCK) * BLOCK
        observations = np.zeros((n_rows, OBS_SIZE), np.float32)
        masks = np.zeros((n_states, N_ACTIONS), np.bool_)
        observe_players(states, observations, masks)
        if not masks.any(axis=1).all():
            raise ValueError("there is nothing to decide in one of the states")
        with torch.no_grad():
            blocks = [
                self.network.forward_actor(rows)
                for rows in torch.from_numpy(observations).split(BLOCK)
            ]
        return torch.cat(blocks)[:n_states].numpy(), masks


@njit
def _sample(
    scores: npt.NDArray[np.float32],
    masks: npt.NDArray[np.bool_],
    keys: Keys,
    actions: Actions,
) -> None:
    """Draw each action from the softmax of its legal scores."""
    for i in range(len(scores)):
        highest = -np.inf
        for action in range(N_ACTIONS):
            if masks[i, action]:
                highest = max(highest, np.float64(scores[i, action]))
        total = 0.0
        for action in range(N_ACTIONS):
            if masks[i, action]:
                total += np.exp(scores[i, action] - highest)
        drawn = np.float64(draw64(keys[i], np.uint64(0)) >> np.uint64(11)) * 2.0**-53 * total
        for action in range(N_ACTIONS):
            if masks[i, action]:
                actions[i] = action  # the last legal one stands if rounding carries us past the end
                drawn -= np.exp(scores[i, action] - highest)
                if drawn < 0:
                    break
