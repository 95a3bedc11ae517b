"""Put a trained player into a folder that frontends can use: `python -m agents.export`.

python -m agents.export RUN --out DIR

RUN is a run folder, a policy folder or `builtin/NAME`. What is in the bundle says docs/export.md.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents import vector_layout
from agents.cli import FailedError, Parser, UsageError, progress_bar, run
from agents.extras import require
from agents.files import replacing
from thatslife_env import PRESETS, Position, Ruleset, __version__
from thatslife_env.board import MAX_PLAYERS, MIN_PLAYERS, N_ACTIONS
from thatslife_env.observation import LAYOUT_HASH
from thatslife_env.position import dice
from thatslife_env.rules import draw, draw64
from thatslife_env.spec import ACTIONS, action_table

FORMAT: Final = 1
MANIFEST, CONFORMANCE, README = "manifest.json", "conformance.jsonl", "README.md"
ENCODERS: Final = ("encode.js", "encode.py")
N_LINES: Final = 1000
TOLERANCE: Final = 1e-5
ABOUT_VALUE: Final = """
`value` is what the network expects at decisions (`move`, `give`, `steal`); in `roll` and `over` it
is a guess.
"""


def main() -> None:
    """Read the arguments and write the bundle."""
    parser = Parser(prog="python -m agents.export", description=__doc__)
    parser.add_argument("run", metavar="RUN", help="a run, a policy folder, or builtin/NAME")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the bundle")
    parser.add_argument(
        "--no-value", action="store_true", help="leave out the expected win share of policy.onnx"
    )
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported
    require("torch", "safetensors", "pydantic", "yaml", extra="train")
    require("onnx", "onnxruntime", extra="export")
    check_out(arguments.out)
    with progress_bar(CONFORMANCE, N_LINES) as progress:
        export_policy(
            arguments.run, arguments.out, with_value=not arguments.no_value, progress=progress
        )
    sizes = ", ".join(
        f"{file.name} {file.stat().st_size / 1e6:.2f} MB" for file in arguments.out.glob("*.onnx")
    )
    print(f"{arguments.out}: {sizes}; {README} there says how to use it")


def check_out(out: Path) -> None:
    """Whether a bundle may be written there: it takes the place of nothing but another bundle.

    Raises:
        UsageError: it may not.
    """
    if out.is_dir():
        if any(out.iterdir()) and not (out / MANIFEST).is_file():
            raise UsageError(f"--out: {out} is neither empty nor a bundle")
    elif out.exists():
        raise UsageError(f"--out: {out} is no folder")


def export_policy(
    path: str,
    out: Path,
    *,
    with_value: bool = True,
    progress: Callable[[int], None] = lambda n_lines: None,
) -> None:
    """Write the bundle of a policy, at once, in the place of what was there.

    Args:
        path: a run folder, a policy folder or `builtin/NAME`.
        out: the folder.
        with_value: whether the model tells the expected win share, too.
        progress: called with 1 for each of the `N_LINES` positions of the conformance file.

    Raises:
        AgentError: there is no such policy, or it is damaged.
        UsageError: its value is no win share; the message says why.
        FailedError: the model in the bundle is not equal to the policy.
    """
    from agents.onnx_files import MODEL, describe
    from agents.onnx_models import PolicyModel, to_onnx
    from agents.policy import find_policy, load_policy

    network, content = load_policy(find_policy(path))
    about = content.get("about")
    about = about if isinstance(about, dict) else {}
    if with_value:
        reason = why_no_win_share(about)
        if reason:
            raise UsageError(
                f"{path}: its value is no win share: {reason}; --no-value leaves it out"
            )
    model = PolicyModel(network, with_value=with_value)
    file = to_onnx(model)
    lines = list(conformance(model, file, sample_positions(N_LINES, progress)))
    written = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    manifest = {
        "format": FORMAT,
        "name": name_of(path),
        "versions": versions(),
        "trained": trained(about),
        "models": {MODEL: {"sha256": _sha256(file), "bytes": len(file), **describe(file)}},
        "vector": vector_layout.description(),
        "actions": action_meanings(),
        "conformance": {"lines": len(lines), "sha256": _sha256(written.encode())},
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as part:
        part.mkdir()
        (part / MODEL).write_bytes(file)
        (part / CONFORMANCE).write_text(written, encoding="utf-8")
        (part / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for name in ENCODERS:
            (part / name).write_text(encoder(name), encoding="utf-8")
        (part / README).write_text(readme(manifest), encoding="utf-8")


def name_of(path: str) -> str:
    """How people call what a path means: `builtin/NAME`, or the name of the run's folder."""
    if path.startswith("builtin/"):
        return path
    folder = Path(path).resolve()
    return folder.parent.name if folder.name == "policy" else folder.name


def why_no_win_share(about: dict[str, Any]) -> str | None:
    """Why the value of a policy is no win share, by what its `policy.json` says; None if it is."""
    for key, wanted in (("reward", "win"), ("shaping", 0), ("gamma", 1)):
        if key not in about:
            return f"its policy.json does not say by which {key} it was trained"
        if about[key] != wanted:
            return f"it was trained with {key} {about[key]!r}, not {wanted!r}"
    return None


def trained(about: dict[str, Any]) -> dict[str, Any]:
    """What a policy was trained on, for the manifest: `rulesets` is a list, empty if not known.

    Raises:
        UsageError: what its description says makes no sense.
    """
    played = [about] if "ruleset" in about else about.get("mix", [])
    try:
        rulesets = [
            Ruleset.of(each["ruleset"], players).to_dict()
            for each in played
            for players in _counts(each.get("players"))
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"what it was trained on makes no sense: {error!r}") from None
    return {**about, "rulesets": rulesets}


def _counts(players: Any) -> list[Any]:
    """Numbers of players, where one of them or none may stand for a list."""
    return players if isinstance(players, list) else [players]


def versions() -> dict[str, Any]:
    """Of everything that had a part in the bundle."""
    import onnx
    import torch

    from agents.onnx_models import OPSET

    return {
        "thatslife": __version__,
        "torch": torch.__version__,
        "onnx": onnx.__version__,
        "opset": OPSET,
        "observation": LAYOUT_HASH,
    }


def action_meanings() -> list[str]:
    """What each of the actions does."""
    return [
        f"{meaning}; k = {action - first}"
        for first, after, meaning in ACTIONS.values()
        for action in range(first, after)
    ]


def encoder(name: str) -> str:
    """An encoder with the layout of the vector in it."""
    return _template(name, VECTOR=json.dumps(vector_layout.description(), indent=2))


def readme(manifest: dict[str, Any]) -> str:
    """The page for authors of frontends."""
    tensors = [
        f"| {way} `{tensor['name']}` | {tensor['dtype']}[{', '.join(map(str, tensor['shape']))}] "
        f"| {tensor['meaning']} |"
        for model in manifest["models"].values()
        for way, kind in (("in", "inputs"), ("out", "outputs"))
        for tensor in model[kind]
    ]
    has_value = any("`value`" in line for line in tensors)
    rulesets = [
        ", ".join(f"{key} {json.dumps(value)}" for key, value in ruleset.items())
        for ruleset in manifest["trained"]["rulesets"]
    ]
    return _template(
        README,
        NAME=manifest["name"],
        LINES=f"{manifest['conformance']['lines']:,}",
        TRAINED="; ".join(rulesets) or "what its policy.json does not say",
        TENSORS="\n".join(tensors).replace("[batch", "[B"),
        ACTIONS=action_table(),
        VALUE=ABOUT_VALUE if has_value else "",
        VECTOR_TABLE=vector_layout.vector_table(),
    )


def _template(name: str, **parts: str) -> str:
    text = (resources.files("agents") / "bundle" / name).read_text(encoding="utf-8")
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Conformance ------------------------------------------------------------------------------------

WANTED_PHASES: Final = ("move", "give", "roll", "move", "steal", "move", "over", "move")


def sample_positions(
    n_positions: int, progress: Callable[[int], None] = lambda n_done: None
) -> Iterator[Position]:
    """Positions of random games of every preset and number of players, of all phases.

    Of each game five are taken: one for each of the wanted phases, in turn, where the game had it.
    """
    rulesets = [
        Ruleset.preset(preset, players=players)
        for players in range(MIN_PLAYERS, MAX_PLAYERS + 1)
        for preset in PRESETS
    ]
    taken = 0
    for number in range(n_positions):
        seed = draw64(np.uint64(0), np.uint64(number))
        game = _random_game(rulesets[number % len(rulesets)], int(seed))
        for k in range(min(5, n_positions - taken)):
            phase = WANTED_PHASES[taken % len(WANTED_PHASES)]
            choices = [position for position in game if position.phase == phase] or game
            progress(1)
            yield choices[int(draw(np.uint64(seed), np.uint64(k), np.uint64(len(choices))))]
            taken += 1


def _random_game(ruleset: Ruleset, seed: int) -> list[Position]:
    """All positions of a game of random moves."""
    positions = [Position.deal(ruleset, seed)]
    n_rolls = 0
    while not positions[-1].is_over:
        position = positions[-1]
        legal = position.legal_actions()
        if legal:
            k = draw(np.uint64(seed), np.uint64(len(positions)), np.uint64(len(legal)))
            positions.append(position.play(legal[int(k)]))
        else:
            positions.append(position.roll(dice(seed, n_rolls)))
            n_rolls += 1
    return positions


def conformance(model: Any, file: bytes, positions: Iterator[Position]) -> Iterator[dict[str, Any]]:
    """What a port has to come to, line by line; the file is checked against the model by it.

    Raises:
        FailedError: onnxruntime gives something else than torch or the rules.
    """
    import onnxruntime
    import torch

    from agents.onnx_files import INPUT, POLICY

    asked = list(positions)
    states = np.concatenate([position.state for position in asked])
    vectors = vector_layout.vectors_of(states)
    with torch.no_grad():
        outputs = model(torch.from_numpy(vectors))
    expected = {name: out.numpy() for name, out in zip(model.outputs, outputs, strict=True)}
    found = onnxruntime.InferenceSession(file).run(list(model.outputs), {INPUT: vectors})
    for name, out in zip(model.outputs, found, strict=True):
        if not np.allclose(out, expected[name], rtol=0, atol=TOLERANCE):
            raise FailedError(f"{name}: onnxruntime does not give what torch gives")
    for index, position in enumerate(asked):
        legal = position.legal_actions()
        mask = [int(action in legal) for action in range(N_ACTIONS)]
        if (expected[POLICY][index] > 0).tolist() != [bool(bit) for bit in mask]:
            raise FailedError(f"{POLICY}: not the legal actions of {position!r}")
        yield {
            "position": position.to_json(),
            "vector": vectors[index].tolist(),
            "mask": mask,
            **{name: _rounded(out[index]) for name, out in expected.items()},
        }


def _rounded(numbers: npt.NDArray[np.float32]) -> Any:
    """Numbers as JSON shows them, with the digits that a float32 has."""
    if numbers.ndim == 0:
        return float(f"{numbers:.8g}")
    return [float(f"{number:.8g}") for number in numbers]


if __name__ == "__main__":
    run(main, "python -m agents.export")
