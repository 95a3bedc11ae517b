"""Policies as files: a folder of `policy.json` and `weights.safetensors`. Needs the extra `train`.

Loading one runs no code of its author: there is no pickle in it, and all that is read is checked.
"""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from agents.base import AgentError
from agents.config import NetworkSection
from agents.files import replacing, write_json
from agents.networks import MlpNetwork, NetworkAgent, make_network
from thatslife_env.observation import LAYOUT_HASH
from thatslife_env.position import short

FORMAT = 1
DESCRIPTION = "policy.json"
WEIGHTS = "weights.safetensors"


def save_policy(
    folder: Path, network: MlpNetwork, description: dict[str, Any], about: dict[str, Any]
) -> None:
    """Write a policy folder, at once, in the place of what was there.

    Args:
        folder: where.
        network: whose weights.
        description: of the network, for `make_network`.
        about: free facts for people: what it was trained on and how long.
    """
    weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    content = {
        "format": FORMAT,
        "layout_hash": LAYOUT_HASH,
        "network": description,
        "about": about,
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing(folder) as part:
        part.mkdir()
        save_file(weights, part / WEIGHTS)
        write_json(part / DESCRIPTION, content)


def load_policy(folder: Path) -> tuple[MlpNetwork, dict[str, Any]]:
    """Read a policy folder.

    Returns:
        The network, in evaluation mode, and the content of `policy.json`.

    Raises:
        AgentError: a file is missing, damaged, or made for another version; the message names file
            and reason.
    """
    described, weights_file = folder / DESCRIPTION, folder / WEIGHTS
    try:
        content = json.loads(described.read_text(encoding="utf-8"))
    except OSError as error:
        raise AgentError(f"{described}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{described}: not JSON: {error}") from None
    if not isinstance(content, dict) or repr(content.get("format")) != repr(FORMAT):
        raise AgentError(f"{described}: not a policy of format {FORMAT}")
    if content.get("layout_hash") != LAYOUT_HASH:
        raise AgentError(
            f"{described}: made for observations of layout {short(content.get('layout_hash'))}; "
            f"this version has {LAYOUT_HASH!r}"
        )
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
    try:
        weights = load_file(weights_file)
    except OSError as error:
        raise AgentError(f"{weights_file}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise AgentError(f"{weights_file}: damaged: {error}") from None
    expected = {name: (t.dtype, tuple(t.shape)) for name, t in network.state_dict().items()}
    found = {name: (t.dtype, tuple(t.shape)) for name, t in weights.items()}
    if found != expected:
        wrong = min(name for name, _ in found.items() ^ expected.items())
        raise AgentError(f"{weights_file}: {wrong!r} does not fit the network of {DESCRIPTION}")
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise AgentError(f"{weights_file}: {name!r} holds numbers that are not finite")
    network = network.to_empty(device="cpu")
    network.load_state_dict(weights)
    return network.eval(), content


def find_policy(path: str) -> Path:
    """The policy folder that a spec's PATH means: a policy folder, a run folder, or `builtin/NAME`.

    Raises:
        AgentError: there is none; for `builtin` the message lists what there is.
    """
    if path.startswith("builtin/"):
        name = path.removeprefix("builtin/")
        shipped = Path(str(resources.files("agents"))) / "builtin"
        names = sorted(
            folder.name for folder in shipped.glob("*") if (folder / DESCRIPTION).is_file()
        )
        if name not in names:
            raise AgentError(
                f"no built-in policy {name!r}; there are: {', '.join(names) or 'none yet'}"
            )
        return shipped / name
    folder = Path(path)
    try:
        for candidate in (folder, folder / "policy"):
            if (candidate / DESCRIPTION).is_file():
                return candidate
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise AgentError(f"no policy at {path!r}: {error}") from None
    raise AgentError(
        f"no policy at {path!r}: there is no {DESCRIPTION} in it or in its folder policy/"
    )


class PolicyAgent(NetworkAgent):
    """The agent `policy:PATH`: the legal action with the highest score of a saved policy."""

    def __init__(self, name: str, seed: int, path: str) -> None:
        network, self.description = load_policy(find_policy(path))
        super().__init__(name, network, seed)
