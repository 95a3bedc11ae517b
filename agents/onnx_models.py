"""Trained networks as ONNX models that take in positions. Needs the extras `train` and `export`.

A model is one file: the encoder, the network, and what makes probabilities and win shares of its
numbers. Its tensors are int32 and float32, its batch is of any size.
"""

import io
import warnings
from typing import Any, Final

import onnx
import torch
from torch import Tensor, nn

from agents import vector_layout
from agents.networks import Network
from agents.onnx_files import INPUT, POLICY, VALUE, VECTOR_HASH, tidy
from agents.torch_encoder import Encoder
from thatslife_env.board import MIN_PLAYERS

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

    def __init__(self, network: Network, *, with_value: bool) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.network = network
        self.outputs = (POLICY, VALUE) if with_value else (POLICY,)

    def forward(self, position: Tensor) -> tuple[Tensor, ...]:
        """Probabilities, float32[B, 16], and expected win shares, float32[B].

        Args:
            position: int32[B, SIZE], as `vector_layout` says; not checked.
        """
        observations, masks = self.encoder(position)
        scores = self.network.forward_actor(observations)
        policy = torch.softmax(torch.where(masks > 0, scores, _NEVER), 1).clamp(min=_LEAST) * masks
        if VALUE not in self.outputs:
            return (policy,)
        players = position[:, vector_layout.SLICES["players"]].float()
        rewards = self.network.forward_critic(observations)
        shares = ((players - 1) * rewards + 1) / players  # the reward `win` the other way round
        return policy, shares.clamp(0, 1).squeeze(1)


def to_onnx(model: PolicyModel) -> bytes:
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
    return tidy(proto, {VECTOR_HASH: vector_layout.HASH})
