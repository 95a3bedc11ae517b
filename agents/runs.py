"""What the runs of every learning algorithm share: checkpoints, metrics, evaluation, curve.

Needs the extra `train`.
"""

import io
import itertools
import json
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

import agents
from agents import saved
from agents.base import Agent
from agents.cli import FailedError, UsageError
from agents.config import CommonConfig
from agents.files import replacing, write_json
from agents.plots import COLORS, GREY, new_figure, write_png
from agents.tournament import bootstrap, play_duel
from thatslife_env import Position
from thatslife_env.board import STATE
from thatslife_env.games import stream_seeds

Arrays = dict[str, npt.NDArray[Any]]

CHECKPOINTS_KEPT = 2
WIN_SHARE = "evaluation/win_share/"
SCORE = "league/score/"


class TrainingError(FailedError):
    """The run cannot go on; the message names the cause."""


# Arrays in files -------------------------------------------------------------------------------


def read_arrays(path: Path) -> Arrays:
    """Read a safetensors file.

    Raises:
        UsageError: it cannot be read, or is damaged.
    """
    try:
        return load_file(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise UsageError(f"{path}: damaged: {error}") from None


def as_numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of an array that safetensors can hold: records as rows of bytes."""
    return array if array.dtype.names is None else array.view(np.uint8).reshape(len(array), -1)


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """What an optimiser remembers: `INDEX.NAME` for each parameter."""
    return {
        f"{index}.{name}": np.atleast_1d(tensor.numpy())
        for index, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Have an optimiser remember what `optimizer_arrays` gave."""
    content = optimizer.state_dict()
    state: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
    for key, array in arrays.items():
        index, _, name = key.partition(".")
        tensor = torch.from_numpy(array)
        state[int(index)][name] = tensor[0] if name == "step" else tensor
    content["state"] = dict(state)
    optimizer.load_state_dict(content)


def adam_arrays(network: torch.nn.Module) -> Arrays:
    """What `optimizer_arrays` gives of Adam after its first step, but for the numbers."""
    moments: Arrays = {}
    for index, parameter in enumerate(network.parameters()):
        moments[f"{index}.step"] = np.zeros(1, np.float32)
        for name in ("exp_avg", "exp_avg_sq"):
            moments[f"{index}.{name}"] = np.zeros(tuple(parameter.shape), np.float32)
    return moments


# Checks of what a file holds -------------------------------------------------------------------


def require_fit(fits: Any, what: str) -> None:
    """Refuse what no run of this config can have saved.

    Raises:
        ValueError: it does not fit.
    """
    if not fits:
        raise ValueError(f"{what} that no run has")


def check_arrays(what: str, found: Arrays, expected: Arrays) -> None:
    """Refuse arrays of other names, shapes or types.

    Raises:
        ValueError: the message names the first.
    """
    for name in sorted(found.keys() ^ expected.keys()):
        raise ValueError(f"{what}: {name!r} is missing or too much")
    for name, array in expected.items():
        if found[name].shape != array.shape or found[name].dtype != array.dtype:
            raise ValueError(f"{what}: {name!r} has another shape or type")


def check_states(numbers: npt.NDArray[Any], rulesets: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Refuse states that compiled code, which checks nothing, must not be given.

    Args:
        numbers: uint8[N, size of STATE].
        rulesets: RULES[K], of which each must be played by one.

    Returns:
        The same as STATE[N].

    Raises:
        ValueError: one is no sound position, or of other rules.
    """
    states = numbers.reshape(-1).view(STATE)
    rules = ("players", "pawns_each", "with_guards", "scoring")
    for state in states:
        is_ours = any(all(state[name] == ruleset[name] for name in rules) for ruleset in rulesets)
        require_fit(is_ours, "games: rules")
        position = Position.from_state(state)
        try:
            is_sound = Position.from_json(position.to_json()) == position
        except (IndexError, ValueError):
            is_sound = False
        require_fit(is_sound, "games: a state")
    return states


# Checkpoints -----------------------------------------------------------------------------------


class CheckpointFolder:
    """All of a run at one moment, in folders that are whole or not there.

    Args:
        folder: where they lie, one folder for each.
        versions: what a checkpoint must agree with to be read.
        names: of its files of arrays.
    """

    def __init__(self, folder: Path, versions: dict[str, Any], names: tuple[str, ...]) -> None:
        self._folder = folder
        self._versions = versions
        self._names = names

    def save(self, step: int, arrays: dict[str, Arrays], state: dict[str, Any]) -> None:
        """Write the one of a step, then drop the oldest.

        Args:
            step: of the run.
            arrays: for each of the names.
            state: all else, as JSON.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for stale in self._folder.glob(".*.part"):
            shutil.rmtree(stale)
        target = self._folder / f"step-{step:012d}"
        if target.exists():
            try:
                self._read(target)
            except UsageError:
                pass  # damaged: it is written anew
            else:
                return
        with replacing(target) as part:
            part.mkdir()
            for name in self._names:
                saved.write_arrays(part / f"{name}.safetensors", arrays[name])
            write_json(part / "state.json", self._versions | state)
        for old in self._all()[:-CHECKPOINTS_KEPT]:
            shutil.rmtree(old)

    def load(self, restore: Callable[[dict[str, Any], dict[str, Arrays]], None]) -> bool:
        """Restore the latest checkpoint.

        A damaged one is left out, with a line on stderr, for the one before.

        Args:
            restore: puts everything where it was; raises, and changes nothing, if it does not fit.

        Returns:
            Whether there was a checkpoint; a run that ended before its first has none.

        Raises:
            UsageError: there are checkpoints, but none can be read.
        """
        left_out: list[str] = []
        for folder in reversed(self._all()):
            try:
                restore(*self._read(folder))
            except UsageError as error:
                left_out.append(str(error))
            except (LookupError, TypeError, ValueError, ArithmeticError) as error:
                left_out.append(f"{folder}: does not fit: {error}")
            else:
                for reason in left_out:
                    print(f"checkpoint left out: {reason}", file=sys.stderr)
                return True
        if left_out:
            raise UsageError(f"no checkpoint can be read: {left_out[0]}")
        return False

    def _all(self) -> list[Path]:
        return sorted(self._folder.glob("step-*"))

    def _read(self, folder: Path) -> tuple[dict[str, Any], dict[str, Arrays]]:
        try:
            state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{folder / 'state.json'}: {error.strerror}") from None
        except ValueError as error:
            raise UsageError(f"{folder / 'state.json'}: damaged: {error}") from None
        if not isinstance(state, dict) or any(
            state.get(key) != version for key, version in self._versions.items()
        ):
            raise UsageError(f"{folder}: made by another version of this program")
        return state, {name: read_arrays(folder / f"{name}.safetensors") for name in self._names}


# Metrics ---------------------------------------------------------------------------------------


class Metrics:
    """What a run tells of each update: a line of `metrics.jsonl`, and the same for TensorBoard.

    Both are on their way to the disk before `add` returns.

    Args:
        folder: of the run. Lines are added at the end of `metrics.jsonl`, in place of a line that a
            kill has cut short.
        resume: whether the run goes on; its lines then have the number of the next segment.
    """

    def __init__(self, folder: Path, resume: bool) -> None:
        self._path = folder / "metrics.jsonl"
        if self._path.exists():
            whole, newline, _ = self._path.read_bytes().rpartition(b"\n")
            os.truncate(self._path, len(whole + newline))
        self._segment = last_segment(self._path) + 1 if resume else 0
        self._lines = self._path.open("ab")
        events = folder / "tensorboard"
        events.mkdir(exist_ok=True)
        self._events_path = events / f"events.out.tfevents.{time.time_ns()}"
        self._events = self._events_path.open("xb")
        self._write_event(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, step: int, values: dict[str, Any]) -> None:
        """Add a line; what is not finite becomes null.

        Raises:
            FailedError: it cannot be written.
        """
        line: dict[str, Any] = {"step": step, "segment": self._segment}
        for key, value in sorted(values.items()):
            line[key] = float(value) if np.isfinite(value) else None
        self._write(self._lines, json.dumps(line).encode() + b"\n", self._path)
        summary = Summary(
            value=[Summary.Value(tag=key, simple_value=value) for key, value in values.items()]
        )
        self._write_event(Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """Close the files."""
        self._lines.close()
        self._events.close()

    def _write_event(self, event: Event) -> None:
        record = io.BytesIO()
        RecordWriter(record).write(event.SerializeToString())
        self._write(self._events, record.getvalue(), self._events_path)

    def _write(self, file: BinaryIO, content: bytes, path: Path) -> None:
        try:
            file.write(content)
            file.flush()
        except OSError as error:
            raise FailedError(f"{path}: cannot be written: {error.strerror}") from None


def last_segment(path: Path) -> int:
    """The number of the last segment that wrote a line; -1 if there is no line."""
    return max((line["segment"] for line in _metrics(path)), default=-1)


def _metrics(path: Path) -> list[dict[str, Any]]:
    """All whole lines of `metrics.jsonl`."""
    if not path.exists():
        return []
    try:
        texts = path.read_text(encoding="utf-8").split("\n")[:-1]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
    lines = []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            lines.append(line | {"step": int(line["step"]), "segment": int(line["segment"])})
        except (ValueError, TypeError, KeyError):
            raise UsageError(f"{path}: line {number}: not a line of metrics") from None
    return lines


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl` that led to the latest state, by step.

    Lines of a segment from steps that a later one went through again are left out.
    """
    kept: list[dict[str, Any]] = []
    for line in _metrics(path):
        while kept and kept[-1]["step"] >= line["step"] and kept[-1]["segment"] < line["segment"]:
            kept.pop()
        kept.append(line)
    return kept


# Evaluation ------------------------------------------------------------------------------------


def is_due(every: int, before: int, now: int) -> bool:
    """Whether a multiple of `every` lies after step `before`, up to step `now`."""
    return now // every > before // every


def win_shares(
    learner: Agent, spec: str, config: CommonConfig, n_deals: int
) -> npt.NDArray[np.float64]:
    """The learner's win share on held-out deals, in one seat, with `spec` in the others.

    Returns:
        float64[n_deals], means over the seats; of several rulesets the means by their weights.
    """
    seeds = stream_seeds(config.evaluation.seed, n_deals)
    opponent = agents.make(spec)
    mean = np.zeros(n_deals)
    for setting in config.game.settings():
        duel, _ = play_duel([learner, opponent], 0, 1, setting.ruleset, seeds)
        mean += setting.share * duel.win_share.mean(axis=1)
    return mean


def evaluate(learner: Agent, config: CommonConfig) -> dict[str, float]:
    """The metrics of an evaluation: win share against each opponent, ends of its interval."""
    settings = config.evaluation
    metrics: dict[str, float] = {}
    for spec in settings.opponents:
        shares = win_shares(learner, spec, config, settings.deals)
        low, high = bootstrap(shares, settings.seed)
        metrics[f"{WIN_SHARE}{spec}"] = float(shares.mean())
        metrics[f"evaluation/low/{spec}"] = low
        metrics[f"evaluation/high/{spec}"] = high
    return metrics


def plot_curve(metrics: list[dict[str, Any]], config: CommonConfig, path: Path) -> None:
    """Draw the learning curve, win share on held-out deals by steps, into a PNG file."""
    figure = new_figure(8, 4.5)
    axes = figure.add_subplot()
    for spec, color in zip(config.evaluation.opponents, itertools.cycle(COLORS), strict=False):
        lines = [line for line in metrics if f"{WIN_SHARE}{spec}" in line]
        steps = [line["step"] for line in lines]
        axes.plot(
            steps,
            [line[f"{WIN_SHARE}{spec}"] for line in lines],
            "o-",
            color=color,
            label=f"v {spec}",
        )
        lows = [line[f"evaluation/low/{spec}"] for line in lines]
        highs = [line[f"evaluation/high/{spec}"] for line in lines]
        axes.fill_between(steps, lows, highs, color=color, alpha=0.2, linewidth=0)
    settings = config.game.settings()
    fair = sum(setting.share / setting.ruleset.players for setting in settings)
    counts = sorted({setting.ruleset.players for setting in settings})
    axes.axhline(fair, color=GREY, linestyle="--", label="fair share")
    axes.set_ylim(0, 1)
    axes.set_xlabel(config.steps_meaning)
    axes.set_ylabel(f"win share of one seat of {' or '.join(map(str, counts))}")
    axes.legend(loc="lower right")
    write_png(figure, path)


def plot_league(metrics: list[dict[str, Any]], path: Path) -> None:
    """Draw the learner's score against each member of its league by steps into a PNG file."""
    figure = new_figure(8, 4.5)
    axes = figure.add_subplot()
    members = {key: None for line in metrics for key in line if key.startswith(SCORE)}
    for number, key in enumerate(members):
        lines = [line for line in metrics if key in line]
        axes.plot(
            [line["step"] for line in lines],
            [line[key] for line in lines],
            color=COLORS[number % len(COLORS)],
            linestyle=("-", "--", "-.", ":")[number // len(COLORS) % 4],
            label=key.removeprefix(SCORE),
        )
    axes.axhline(0.5, color=GREY, linewidth=1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("decisions of the learner")
    axes.set_ylabel("share of the wins of the two")
    if members:
        axes.legend(loc="lower right", fontsize="x-small", ncols=1 + len(members) // 12)
    write_png(figure, path)


def curve_table(metrics: list[dict[str, Any]], config: CommonConfig) -> str:
    """The learning curve as text."""
    specs = config.evaluation.opponents
    lines = [
        "win share on held-out deals",
        "     steps  " + "  ".join(f"v {spec}" for spec in specs),
    ]
    for line in metrics:
        if f"{WIN_SHARE}{specs[0]}" in line:
            shares = (line[f"{WIN_SHARE}{spec}"] for spec in specs)
            columns = (
                f"{share:{len(spec) + 2}.3f}" for spec, share in zip(specs, shares, strict=True)
            )
            lines.append(f"{line['step']:10d}  " + "  ".join(columns))
    return "\n".join(lines)
