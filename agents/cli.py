"""What the commands share: how they end, read arguments, and show progress.

Exit codes: 0 done; 2 wrong use or bad input, told in one line on stderr; anything else is a failure
of ours.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Protocol

from agents.base import AgentError
from agents.extras import MissingExtraError, require
from thatslife_env import PRESETS, Position, PositionError
from thatslife_env.board import MAX_PLAYERS, MIN_PLAYERS
from thatslife_env.records import RecordError

WRONG_USE = 2


class UsageError(ValueError):
    """Wrong use or bad input; the message is one line that says what and where."""


class FailedError(RuntimeError):
    """The work could not be done, though nothing was asked wrongly; the message names the cause."""


BAD_INPUT = (UsageError, AgentError, MissingExtraError, PositionError, RecordError)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that tells what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        print(f"{self.prog}: {message} (see --help)", file=sys.stderr)
        sys.exit(WRONG_USE)


def run(main: Callable[[], None], program: str) -> NoReturn:
    """Run a command and exit: bad input and failures become one line and exit code 2 or 1."""
    try:
        main()
    except BAD_INPUT as error:
        print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(WRONG_USE)
    except EOFError:
        print(f"{program}: the input has ended", file=sys.stderr)
        sys.exit(WRONG_USE)
    except FailedError as error:
        print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        sys.exit(1)
    except OSError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where a command computes: `--engine` and `--ray-address`."""
    parser.add_argument("--engine", choices=["ray"], help="ray: on a Ray cluster; left out: here")
    parser.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="a running cluster; left out: RAY_ADDRESS, else one is started on this machine",
    )


def check_engine(arguments: argparse.Namespace) -> None:
    """Refuse engines that are not there.

    Raises:
        UsageError: `--ray-address` without `--engine ray`.
        MissingExtraError: Ray is not installed.
    """
    if arguments.engine == "ray":
        require("ray", extra="ray")
    elif arguments.ray_address:
        raise UsageError("--ray-address: goes with --engine ray")


def read_position(path: Path, place: str = "") -> Position:
    """The position in a JSON file.

    Args:
        path: the file.
        place: the option that names it, for the message of an error.

    Raises:
        UsageError: it cannot be read.
        PositionError: it is refused.
    """
    try:
        return Position.from_json(path.read_bytes())
    except OSError as error:
        where = f"{place}: {path}" if place else path
        raise UsageError(f"{where}: {error.strerror}") from None


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers from `low` to `high`, for `add_argument(type=...)`."""
    limits = f"from {low}" + ("" if high is None else f" to {high}")

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}") from None
        if number < low or (high is not None and number > high):
            raise argparse.ArgumentTypeError(f"{text} is not a whole number {limits}")
        return number

    return read


def listed(option: str, text: str) -> list[str]:
    """What stands between the commas of an option, each once.

    Raises:
        UsageError: something stands twice.
    """
    parts = text.split(",")
    for part in parts:
        if parts.count(part) > 1:
            raise UsageError(f"{option}: {part!r} stands twice")
    return parts


def preset_names(names: list[str]) -> list[str]:
    """The names given to `--ruleset`.

    Raises:
        UsageError: one is unknown.
    """
    for name in names:
        if name not in PRESETS:
            raise UsageError(f"--ruleset: unknown {name!r}; there are: {', '.join(PRESETS)}")
    return names


def player_counts(texts: list[str]) -> list[int]:
    """The numbers given to `--players`.

    Raises:
        UsageError: one is no number of players.
    """
    for text in texts:
        if not text.isdecimal() or not MIN_PLAYERS <= int(text) <= MAX_PLAYERS:
            raise UsageError(f"--players: {text!r} is not {MIN_PLAYERS} to {MAX_PLAYERS}")
    return [int(text) for text in texts]


def output_folder(option: str, folder: Path, files: Sequence[str]) -> None:
    """Make a folder for results, so that nothing is computed in vain.

    Raises:
        UsageError: it cannot be made or written in, or a folder has the name of one of the files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{option}: {folder}: {error.strerror}") from None
    for name in files:
        if (folder / name).is_dir():
            raise UsageError(f"{option}: {folder / name} is a folder")


class Advance(Protocol):
    """What moves a progress bar on."""

    def __call__(self, n_done: int, total: int | None = None, /) -> None:
        """Count what was done since the last call, of so many, if that has become known."""


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Advance]:
    """A bar on stderr with the time left, where that is a terminal; yields what advances it.

    Elsewhere nothing is shown; without the extra `train` a line instead of a bar.

    Args:
        description: what is done.
        total: of how much, if it is known.
    """
    if not sys.stderr.isatty():
        yield lambda n_done, total=None: None
        return
    try:
        require("rich", extra="train")
    except MissingExtraError as error:
        print(f"{description}, without a progress bar: {error}", file=sys.stderr)
        yield lambda n_done, total=None: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(description, total=total)
        yield lambda n_done, total=None: progress.update(task, advance=n_done, total=total)
