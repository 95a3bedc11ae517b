"""Policies as zips of Stable-Baselines3, and back: `python -m agents.sb3_zip`.

python -m agents.sb3_zip RUN --out MODEL.zip
python -m agents.sb3_zip MODEL.zip --out FOLDER --trust

The first writes what `sb3_contrib.MaskablePPO.load` reads, where this package is installed. Reading
such a zip runs whatever code its author put in, so the second, which makes a policy folder of one
that we wrote, wants to be told that the author is trusted.
"""

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.cli import Parser, UsageError, run
from agents.extras import require
from agents.files import replacing

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO


def main() -> None:
    """Read the arguments and convert."""
    parser = Parser(prog="python -m agents.sb3_zip", description=__doc__)
    parser.add_argument("source", metavar="RUN|ZIP", help="a run, a policy folder, builtin/NAME")
    parser.add_argument("--out", type=Path, required=True, help="a zip to write, or a folder")
    parser.add_argument("--trust", action="store_true", help="run what code is in the zip")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported
    require("torch", "safetensors", "pydantic", "yaml", extra="train")
    require("stable_baselines3", "sb3_contrib", extra="train")
    source = Path(arguments.source)
    if not zipfile.is_zipfile(source):
        if arguments.out.suffix != ".zip":
            raise UsageError(f"--out: {arguments.out} must end in .zip")
        write_zip(arguments.source, arguments.out)
    elif arguments.trust:
        from agents.policy import save_policy

        if arguments.out.exists():
            raise UsageError(f"--out: {arguments.out} is there already")
        model = read_zip(source)
        network = model.policy.network
        save_policy(arguments.out, network, model.policy_kwargs["network"], {})
    else:
        raise UsageError(
            f"{source}: reading a zip of SB3 runs code of its author; --trust allows it"
        )
    print(arguments.out)


def write_zip(path: str, out: Path) -> None:
    """Write a policy as a zip of SB3, at once.

    Args:
        path: a run folder, a policy folder or `builtin/NAME`.
        out: the file.

    Raises:
        AgentError: there is no such policy, or it is damaged.
    """
    from agents.config import PpoConfig
    from agents.policy import find_policy, load_policy
    from agents.training import make_env, make_model

    network, content = load_policy(find_policy(path))
    small: dict[str, Any] = {"n_envs": 1, "n_steps": 2, "batch_size": 2}
    config = PpoConfig.model_validate({"network": content["network"], "ppo": small})
    model = make_model(config, make_env(config))
    model.policy.network.load_state_dict(network.state_dict())
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as part, part.open("wb") as file:
        model.save(file)


def read_zip(path: Path) -> "MaskablePPO":
    """Read a zip of SB3, which runs whatever code is in it.

    Raises:
        UsageError: it is no model with one of our networks.
    """
    from sb3_contrib import MaskablePPO

    from agents.training import NetworkPolicy

    try:
        model = MaskablePPO.load(path, device="cpu")
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise UsageError(f"{path}: no model of MaskablePPO: {error}") from None
    if not isinstance(model.policy, NetworkPolicy):
        raise UsageError(f"{path}: its policy is no network of ours")
    return model


if __name__ == "__main__":
    run(main, "agents.sb3_zip")
