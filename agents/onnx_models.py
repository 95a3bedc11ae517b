"""Trained networks as ONNX models that take in positions. Needs the extras `train` and `export`.

A model is one file: the encoder, the network, and what makes probabilities and win shares of its
numbers. Its tensors are int32 and float32, its batch is of any size.
"""

import io
import warnings
from typing import Any, Final

import numpy as np
import onnx
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents import vector_layout
from agents.afterstate import ValueNetwork
from agents.networks import ActionNetwork, Network
from agents.onnx_files import (
    INPUT,
    MAX_PLAYERS_KEY,
    POLICY,
    VALUE,
    VECTOR_HASH,
    WIN_SHARES,
    tidy,
)
from agents.onnx_networks import ActionScorer, ObservingScorer
from agents.torch_encoder import Array, Encoder, row_of
from agents.torch_features import Features
from thatslife_env.board import MAX_PLAYERS, MIN_PLAYERS, OVER

OPSET: Final = 18

_NEVER = -1e30  # the score of what is not legal
_LEAST = 1e-30  # the probability of what is legal, however low its score


class PolicyModel(nn.Module):
    """What `policy.onnx` works out.

    Args:
        network: from observations to scores of the actions and a value.
        with_value: whether the value is given, too: that of a network that was rewarded with `win`,
            without shaping or discount.
    """

    max_players = MAX_PLAYERS

    def __init__(self, network: Network, *, with_value: bool) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.scorer: nn.Module = (
            ActionScorer(network)
            if isinstance(network, ActionNetwork)
            else ObservingScorer(network)
        )
        self.outputs = (POLICY, VALUE) if with_value else (POLICY,)

    def forward(self, position: Tensor) -> tuple[Tensor, ...]:
        """Probabilities, float32[B, 16], and expected win shares, float32[B].

        Args:
            position: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        known = self.encoder(position)
        scores, rewards = self.scorer(known)
        masks = known.legal
        policy = torch.softmax(torch.where(masks > 0, scores, _NEVER), 1).clamp(min=_LEAST) * masks
        if VALUE not in self.outputs:
            return (policy,)
        players = position[:, vector_layout.SLICES["players"]].float()
        shares = ((players - 1) * rewards + 1) / players  # the reward `win` the other way round
        return policy, shares.clamp(0, 1).squeeze(1)


class ValueModel(nn.Module):
    """What `value.onnx` works out: what `agents.afterstate.write_shares` does.

    Args:
        network: of a TD player.

    Attributes:
        max_players: the largest number of players that the network knows.
    """

    outputs = (WIN_SHARES,)
    row_of: Tensor
    seats: Tensor

    def __init__(self, network: ValueNetwork) -> None:
        super().__init__()
        self.max_players = network.players
        self.features = Features()
        layers: list[nn.Module] = []
        for weights, biases in zip(network.weights, network.biases, strict=True):
            layer = nn.Linear(*weights.shape)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weights.T))
                layer.bias.copy_(torch.from_numpy(biases))
            layers += [layer, nn.ReLU()]
        self.network = nn.Sequential(*layers[:-1])
        self._n_inputs = len(network.weights[0])
        self.register_buffer("row_of", torch.from_numpy(row_of()), persistent=False)
        self.register_buffer("seats", torch.from_numpy(_seats()), persistent=False)

    def forward(self, position: Tensor) -> tuple[Tensor]:
        """Expected win shares by the seats' own numbers, float32[B, 6].

        Absent seats are 0; all are, where there are more players than the network knows.

        Args:
            position: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        features, standings, present = self.features(position)
        scores = self.network(features[:, : self._n_inputs])
        expected = torch.softmax(torch.where(present, scores, _NEVER), 1)
        best = torch.where(present, standings, _NEVER).amax(1, keepdim=True)
        won = (standings == best).float() * present
        is_over = position[:, vector_layout.SLICES["phase"]] == OVER
        shares = torch.where(is_over, won / won.sum(1, keepdim=True), expected) * present
        if self.max_players < MAX_PLAYERS:
            players = position[:, vector_layout.SLICES["players"]]
            shares = shares * (players <= self.max_players)
        row = position @ self.row_of
        return (torch.gather(shares, 1, functional.embedding(row, self.seats)),)


def _seats() -> Array:
    """Relative number of each seat, by players and seat to act: int64[7 * 6, 6]."""
    out = np.tile(np.arange(MAX_PLAYERS), ((MAX_PLAYERS + 1) * MAX_PLAYERS, 1))
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        for player in range(players):
            seats = np.arange(players)
            out[players * MAX_PLAYERS + player, :players] = (seats - player) % players
    return out


def to_onnx(model: PolicyModel | ValueModel) -> bytes:
    """The content of an ONNX file for a model.

    Torch's older exporter is used: its newer one gives the same operations, but takes ten seconds
    for what takes half a second here.
    """
    example = torch.zeros((2, vector_layout.SIZE), dtype=torch.int32)
    example[:, vector_layout.SLICES["players"]] = MIN_PLAYERS
    content: Any = io.BytesIO()  # which the exporter's types do not know of
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is the older one, and of its own inner workings
        torch.onnx.export(
            model.eval(),
            (example,),
            content,
            dynamo=False,
            input_names=[INPUT],
            output_names=list(model.outputs),
            dynamic_axes={name: {0: "batch"} for name in (INPUT, *model.outputs)},
            opset_version=OPSET,
        )
    proto = onnx.load_from_string(content.getvalue())
    with torch.no_grad():
        outputs = model(example)
    for described, output in zip(proto.graph.output, outputs, strict=True):
        shape = described.type.tensor_type.shape.dim
        for axis, size in zip(shape[1:], output.shape[1:], strict=True):
            axis.dim_value = size  # the exporter does not always find it out
    metadata = {VECTOR_HASH: vector_layout.HASH, MAX_PLAYERS_KEY: str(model.max_players)}
    return tidy(proto, metadata)
