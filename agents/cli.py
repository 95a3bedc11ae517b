"""What the commands share: how they end, read numbers, and show progress.

Exit codes: 0 done; 2 wrong use or bad input, told in one line on stderr; anything else is a failure
of ours.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from agents.base import AgentError
from agents.extras import MissingExtraError, require
from thatslife_env import Position, PositionError
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


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr with the time left, where that is a terminal; yields what advances it."""
    require("rich", extra="train")
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(description, total=total)
        yield lambda n: progress.update(task, advance=n)
