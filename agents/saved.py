"""What was learned, as files: a folder of a description in JSON and `weights.safetensors`.

Reading one runs no code of its author: there is no pickle in it, and all that is read is checked.
Reading and writing need the extra `train`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base import AgentError
from agents.files import replacing, write_bytes, write_json
from thatslife_env.position import short

WEIGHTS = "weights.safetensors"
Arrays = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class SavedKind:
    """One kind of what can be saved.

    Attributes:
        name: what it is; also the folder of a run in which it lies.
        spec: the name of the agents that play by it.
        format: version of its files.
    """

    name: str
    spec: str
    format: int = 1

    @property
    def description(self) -> str:
        """Name of the file that describes it, and marks a folder of this kind."""
        return f"{self.name}.json"


POLICY = SavedKind("policy", "policy")
VALUE = SavedKind("value", "td")
KINDS = (POLICY, VALUE)


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a safetensors file at once.

    Raises:
        OSError: it cannot be written; the error names the file.
    """
    from safetensors.numpy import save

    write_bytes(path, save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def save(kind: SavedKind, folder: Path, content: dict[str, Any], weights: Arrays) -> None:
    """Write a folder, at once, in the place of what was there.

    Args:
        kind: what it is.
        folder: where.
        content: of the description, but for the format.
        weights: float32 arrays by name.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing(folder) as part:
        part.mkdir()
        write_arrays(part / WEIGHTS, weights)
        write_json(part / kind.description, {"format": kind.format, **content})


def read_description(kind: SavedKind, folder: Path, layout_hash: str) -> dict[str, Any]:
    """Read a description.

    Args:
        kind: what it must be.
        folder: where.
        layout_hash: of the numbers that networks of this version take.

    Raises:
        AgentError: it is missing, damaged, or made for another version; the message names file and
            reason.
    """
    file = folder / kind.description
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise AgentError(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{file}: not JSON: {error}") from None
    if not isinstance(content, dict) or repr(content.get("format")) != repr(kind.format):
        raise AgentError(f"{file}: not a {kind.name} of format {kind.format}")
    if content.get("layout_hash") != layout_hash:
        raise AgentError(
            f"{file}: made for observations of layout {short(content.get('layout_hash'))}; "
            f"this version has {layout_hash!r}"
        )
    return content


def read_weights(kind: SavedKind, folder: Path, shapes: dict[str, tuple[int, ...]]) -> Arrays:
    """Read the weights of a network.

    Args:
        kind: what it is.
        folder: where.
        shapes: of every array that the description calls for; all are float32.

    Raises:
        AgentError: the file is missing or damaged, an array does not fit, or a number is not
            finite; the message names file and reason.
    """
    from safetensors import SafetensorError, safe_open

    file = folder / WEIGHTS
    try:
        with safe_open(file, framework="np") as opened:
            parts = {name: opened.get_slice(name) for name in list(opened.keys())}
            found = {name: (p.get_dtype(), tuple(p.get_shape())) for name, p in parts.items()}
            expected = {name: ("F32", shape) for name, shape in shapes.items()}
            if found != expected:
                wrong = min(name for name, _ in found.items() ^ expected.items())
                raise AgentError(
                    f"{file}: {wrong!r} does not fit the network of {kind.description}"
                )
            weights = {name: opened.get_tensor(name) for name in shapes}
    except OSError as error:
        raise AgentError(f"{file}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise AgentError(f"{file}: damaged: {error}") from None
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise AgentError(f"{file}: {name!r} holds numbers that are not finite")
    return weights


def digest_of(content: dict[str, Any], weights: Arrays) -> str:
    """The `digest` of an agent that plays by what was read from a folder.

    Args:
        content: of the description, whose `network` counts.
        weights: float32 arrays by name.

    Returns:
        SHA-256, in hexadecimal digits.
    """
    digest = hashlib.sha256(json.dumps(content["network"], sort_keys=True).encode())
    for name in sorted(weights):
        digest.update(weights[name].tobytes())
    return digest.hexdigest()


def find(kind: SavedKind, path: str) -> Path:
    """The folder that a spec's PATH means: one of this kind, a run folder, or `builtin/NAME`.

    Raises:
        AgentError: there is none; the message says what is there instead, for `builtin` what there
            is.
    """
    if path.startswith("builtin/"):
        return _find_shipped(kind, path.removeprefix("builtin/"))
    folder = Path(path)
    try:
        for candidate in (folder, folder / kind.name):
            if (candidate / kind.description).is_file():
                return candidate
        others = [
            other
            for other in KINDS
            if other != kind
            and any((at / other.description).is_file() for at in (folder, folder / other.name))
        ]
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise AgentError(f"no {kind.name} at {path!r}: {error}") from None
    for other in others:
        raise AgentError(f"no {kind.name} at {path!r}, but a {other.name}: {other.spec}:{path}")
    raise AgentError(
        f"no {kind.name} at {path!r}: there is no {kind.description} in it or in its folder "
        f"{kind.name}/"
    )


def find_any(path: str) -> dict[SavedKind, Path]:
    """The folders that PATH means, of every kind that there is.

    Raises:
        AgentError: there is none; the message says for each kind why.
    """
    found: dict[SavedKind, Path] = {}
    reasons = []
    for kind in KINDS:
        try:
            found[kind] = find(kind, path)
        except AgentError as error:
            reasons.append(str(error))
    if not found:
        raise AgentError("; ".join(reasons))
    return found


def _find_shipped(kind: SavedKind, name: str) -> Path:
    shipped = Path(str(resources.files("agents"))) / "builtin"
    names = {
        each: sorted(
            file.parents[1].name for file in shipped.glob(f"*/{each.name}/{each.description}")
        )
        for each in KINDS
    }
    if name in names[kind]:
        return shipped / name / kind.name
    for other in KINDS:
        if name in names[other]:
            raise AgentError(f"{name!r} is a built-in {other.name}: {other.spec}:builtin/{name}")
    raise AgentError(
        f"no built-in {kind.name} {name!r}; there are: {', '.join(names[kind]) or 'none yet'}"
    )
