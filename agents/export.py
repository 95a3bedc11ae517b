"""Put trained players into a folder that frontends can use: `python -m agents.export`.

python -m agents.export RUN [RUN] --out DIR

RUN is a run folder, the folder of a policy or value, or `builtin/NAME`: a policy becomes
policy.onnx, a value (of a TD player) value.onnx. What is in the bundle says docs/export.md.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
OUTLINES: Final = {
    "policy.onnx": "the position in, the probability of each action out",
    "value.onnx": "the position in, the expected win share of every seat out",
}


def main() -> None:
    """Read the arguments and write the bundle."""
    parser = Parser(prog="python -m agents.export", description=__doc__)
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run, the folder of a policy or value, or builtin/NAME; at most one of each kind",
    )
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
        export(arguments.runs, arguments.out, with_value=not arguments.no_value, progress=progress)
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


@dataclass(frozen=True)
class Part:
    """A model of a bundle.

    Attributes:
        file: its name there.
        model: the torch module; `outputs` names what it gives, `max_players` says for how many
            players at most.
        about: what its description says of its training.
    """

    file: str
    model: Any
    about: dict[str, Any]


def no_progress(n_done: int) -> None:
    """Tell nobody."""


def export(
    paths: Sequence[str],
    out: Path,
    *,
    with_value: bool = True,
    progress: Callable[[int], None] = no_progress,
) -> None:
    """Write the bundle of a policy, of a value, or of one of each, in the place of what was there.

    Args:
        paths: run folders, folders of policies or values, `builtin/NAME`.
        out: the folder.
        with_value: whether policy.onnx tells the expected win share, too.
        progress: called with 1 for each of the `N_LINES` positions of the conformance file.

    Raises:
        AgentError: there is no such policy or value, or it is damaged.
        UsageError: there are two of a kind, or the policy's value is no win share; the message says
            why.
        FailedError: a model in the bundle is not equal to what it came from.
    """
    from agents.saved import POLICY, VALUE, find_any

    found: dict[str, tuple[str, Path]] = {}
    for path in paths:
        for kind, folder in find_any(path).items():
            if kind.name in found:
                raise UsageError(f"a bundle has one {kind.name}: {found[kind.name][0]} or {path}")
            found[kind.name] = path, folder
    parts = []
    if POLICY.name in found:
        parts.append(policy_part(*found[POLICY.name], with_value=with_value))
    if VALUE.name in found:
        parts.append(value_part(found[VALUE.name][1]))
    write_bundle(name_of(paths[0]), parts, out, progress)


def policy_part(path: str, folder: Path, *, with_value: bool) -> Part:
    """The model of a policy; `path` is how the user called the folder, for messages."""
    from agents.onnx_files import MODEL
    from agents.onnx_models import PolicyModel
    from agents.policy import load_policy

    network, content = load_policy(folder)
    about = about_of(content)
    if with_value:
        reason = why_no_win_share(about)
        if reason:
            raise UsageError(
                f"{path}: its value is no win share: {reason}; --no-value leaves it out"
            )
    return Part(MODEL, PolicyModel(network, with_value=with_value), about)


def value_part(folder: Path) -> Part:
    """The model of a value."""
    from agents.afterstate import load_value
    from agents.onnx_files import VALUE_MODEL
    from agents.onnx_models import ValueModel

    network, content = load_value(folder)
    return Part(VALUE_MODEL, ValueModel(network), about_of(content))


def about_of(content: dict[str, Any]) -> dict[str, Any]:
    """What a description says of the training, {} if nothing."""
    about = content.get("about")
    return about if isinstance(about, dict) else {}


def write_bundle(
    name: str,
    parts: Sequence[Part],
    out: Path,
    progress: Callable[[int], None] = no_progress,
) -> None:
    """Write a bundle, at once, in the place of what was there.

    Args:
        name: how people call it.
        parts: its models; what is said of the first one's training is said of the bundle.
        out: the folder.
        progress: see `export`.

    Raises:
        UsageError: what is said of the training makes no sense.
        FailedError: a file does not give what its model gives.
    """
    from agents.onnx_files import describe
    from agents.onnx_models import to_onnx

    facts = {part.file: trained(part.about) for part in parts}
    files = {part.file: to_onnx(part.model) for part in parts}
    max_players = {part.file: part.model.max_players for part in parts}
    positions = []
    for position in sample_positions(N_LINES, max(max_players.values())):
        positions.append(position)
        progress(1)
    lines = conformance(parts, files, positions)
    written = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    manifest = {
        "format": FORMAT,
        "name": name,
        "versions": versions(),
        "trained": facts[parts[0].file],
        "models": {
            file: {
                "sha256": _sha256(content),
                "bytes": len(content),
                "trained": facts[file],
                "max_players": max_players[file],
                **describe(content),
            }
            for file, content in files.items()
        },
        "vector": vector_layout.description(),
        "actions": action_meanings(),
        "conformance": {"lines": len(lines), "sha256": _sha256(written.encode())},
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as folder:
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
        (folder / CONFORMANCE).write_text(written, encoding="utf-8")
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        for encoder_name in ENCODERS:
            (folder / encoder_name).write_text(encoder(encoder_name), encoding="utf-8")
        (folder / README).write_text(readme(manifest), encoding="utf-8")


def name_of(path: str) -> str:
    """How people call what a path means: `builtin/NAME`, or the name of the run's folder."""
    if path.startswith("builtin/"):
        return path
    folder = Path(path).resolve()
    return folder.parent.name if folder.name in ("policy", "value") else folder.name


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

    from agents.afterstate import FEATURES_HASH
    from agents.onnx_models import OPSET

    return {
        "thatslife": __version__,
        "torch": torch.__version__,
        "onnx": onnx.__version__,
        "opset": OPSET,
        "observation": LAYOUT_HASH,
        "features": FEATURES_HASH,
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
    models: dict[str, Any] = manifest["models"]
    sections = [
        _template(
            f"{file.removesuffix('.onnx')}.md",
            TRAINED=_rulesets(model["trained"]),
            TENSORS=_tensors(model),
            ACTIONS=action_table(),
            VALUE=ABOUT_VALUE if len(model["outputs"]) > 1 else "",
            PLAYERS=_players(model["max_players"]),
        ).strip()
        for file, model in models.items()
    ]
    return _template(
        README,
        NAME=manifest["name"],
        MODELS="\n".join(f"| `{file}` | {OUTLINES[file]} |" for file in models),
        SECTIONS="\n\n".join(sections),
        LINES=f"{manifest['conformance']['lines']:,}",
        VECTOR_TABLE=vector_layout.vector_table(),
    )


def _rulesets(facts: dict[str, Any]) -> str:
    """What a model was trained on, in words; rulesets that differ in players alone are one."""
    counts: dict[str, list[str]] = {}
    for ruleset in facts["rulesets"]:
        others = [
            f"{key} {json.dumps(value)}" for key, value in ruleset.items() if key != "players"
        ]
        counts.setdefault(", ".join(others), []).append(str(ruleset["players"]))
    lines = [f"{' or '.join(players)} players, {others}" for others, players in counts.items()]
    return "; ".join(lines) or "what its description does not say"


def _players(most: int) -> str:
    return str(most) if most == MIN_PLAYERS else f"{MIN_PLAYERS} to {most}"


def _tensors(model: dict[str, Any]) -> str:
    """A row of a table for each input and output."""
    rows = [
        f"| {way} `{tensor['name']}` | {tensor['dtype']}[{', '.join(map(str, tensor['shape']))}] "
        f"| {tensor['meaning']} |"
        for way, kind in (("in", "inputs"), ("out", "outputs"))
        for tensor in model[kind]
    ]
    return "\n".join(rows).replace("[batch", "[B")


def _template(name: str, **parts: str) -> str:
    text = (resources.files("agents") / "bundle" / name).read_text(encoding="utf-8")
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Conformance ------------------------------------------------------------------------------------

WANTED_PHASES: Final = ("move", "give", "roll", "move", "steal", "move", "over", "move")


def sample_positions(n_positions: int, max_players: int = MAX_PLAYERS) -> Iterator[Position]:
    """Positions of random games of every preset and number of players, of all phases.

    Of each game five are taken: one for each of the wanted phases, in turn, where the game had it.
    """
    rulesets = [
        Ruleset.preset(preset, players=players)
        for players in range(MIN_PLAYERS, max_players + 1)
        for preset in PRESETS
    ]
    taken = 0
    for number in range(n_positions):
        seed = draw64(np.uint64(0), np.uint64(number))
        game = _random_game(rulesets[number % len(rulesets)], int(seed))
        for k in range(min(5, n_positions - taken)):
            phase = WANTED_PHASES[taken % len(WANTED_PHASES)]
            choices = [position for position in game if position.phase == phase] or game
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


def conformance(
    parts: Sequence[Part], files: dict[str, bytes], positions: Sequence[Position]
) -> list[dict[str, Any]]:
    """What a port has to come to, line by line; the files are checked against the models by it.

    Raises:
        FailedError: onnxruntime gives something else than torch or the rules.
    """
    import onnxruntime
    import torch

    from agents.onnx_files import INPUT, POLICY

    vectors = vector_layout.vectors_of(np.concatenate([position.state for position in positions]))
    expected: dict[str, npt.NDArray[np.float32]] = {}
    for part in parts:
        with torch.no_grad():
            outputs = part.model(torch.from_numpy(vectors))
        session = onnxruntime.InferenceSession(files[part.file])
        found = session.run(list(part.model.outputs), {INPUT: vectors})
        for name, wanted, given in zip(part.model.outputs, outputs, found, strict=True):
            expected[name] = wanted.numpy()
            if not np.allclose(given, expected[name], rtol=0, atol=TOLERANCE):
                raise FailedError(f"{part.file}: {name} from onnxruntime is not that from torch")
    lines = []
    for index, position in enumerate(positions):
        legal = position.legal_actions()
        mask = [int(action in legal) for action in range(N_ACTIONS)]
        line = {"position": position.to_json(), "vector": vectors[index].tolist(), "mask": mask}
        line |= {name: _rounded(numbers[index]) for name, numbers in expected.items()}
        if POLICY in line and [share > 0 for share in line[POLICY]] != list(map(bool, mask)):
            raise FailedError(f"{POLICY}: not the legal actions of {position!r}")
        lines.append(line)
    return lines


def _rounded(numbers: npt.NDArray[np.float32]) -> Any:
    """Numbers as JSON shows them, with the digits that a float32 has."""
    if numbers.ndim == 0:
        return float(f"{numbers:.8g}")
    return [float(f"{number:.8g}") for number in numbers]


if __name__ == "__main__":
    run(main, "python -m agents.export")
