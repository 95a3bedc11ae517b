"""Policies as files: a folder of `policy.json` and `weights.safetensors`. Needs the extra `train`.

Loading one runs no code of its author: there is no pickle in it, and all that is read is checked.
"""

from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from agents.base import AgentError
from agents.config import NetworkSection
from agents.networks import Network, NetworkAgent, make_network
from agents.saved import POLICY, Arrays, digest_of, find, read_description, read_weights, save
from thatslife_env.observation import LAYOUT_HASH
from thatslife_env.position import short


def save_policy(
    folder: Path, network: Network, description: dict[str, Any], about: dict[str, Any]
) -> None:
    """Write a policy folder, at once, in the place of what was there.

    Args:
        folder: where.
        network: whose weights.
        description: of the network, for `make_network`.
        about: free facts for people: what it was trained on and how long.
    """
    content = {"layout_hash": LAYOUT_HASH, "network": description, "about": about}
    save(POLICY, folder, content, _arrays(network))


def load_policy(folder: Path) -> tuple[Network, dict[str, Any]]:
    """Read a policy folder.

    Returns:
        The network, in evaluation mode, and the content of `policy.json`.

    Raises:
        AgentError: a file is missing, damaged, or made for another version; the message names file
            and reason.
    """
    content = read_description(POLICY, folder, LAYOUT_HASH)
    described = folder / POLICY.description
    described_network = content.get("network")
    fields = set(NetworkSection.model_fields)
    if not isinstance(described_network, dict) or set(described_network) != fields:
        raise AgentError(f"{described}: network must have just {', '.join(sorted(fields))}")
    try:
        description = NetworkSection.model_validate(described_network)
    except ValidationError as errors:
        first = errors.errors()[0]
        place = ".".join(str(part) for part in ("network", *first["loc"]))
        raise AgentError(
            f"{described}: {place}: {first['msg']}, not {short(first['input'])}"
        ) from None
    with torch.device("meta"):  # its shapes alone: the file may ask for a giant
        network = make_network(description.model_dump())
    shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    weights = read_weights(POLICY, folder, shapes)
    network = network.to_empty(device="cpu")
    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return network.eval(), content


def find_policy(path: str) -> Path:
    """The policy folder that a spec's PATH means: a policy folder, a run folder, or `builtin/NAME`.

    Raises:
        AgentError: there is none; for `builtin` the message lists what there is.
    """
    return find(POLICY, path)


class PolicyAgent(NetworkAgent):
    """The agent `policy:PATH`: the legal action with the highest score of a saved policy."""

    def __init__(self, name: str, seed: int, path: str) -> None:
        network, self.description = load_policy(find_policy(path))
        super().__init__(name, network, seed)
        self.digest = digest_of(self.description, _arrays(network))


def _arrays(network: Network) -> Arrays:
    """The weights of a network, by name."""
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}
