"""Files that are whole or not there, whatever stops the program while it writes."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file or folder under another name, then put it in the place of `path`.

    Yields:
        Where to write it: a name beside `path`, free so far. If the block raises, `path` stays.
    """
    part = path.with_name(f".{path.name}.part")
    _remove(part)
    try:
        yield part
        for written in (part, *part.rglob("*")) if part.is_dir() else (part,):
            _sync(written)
        if part.is_dir() and path.exists():  # a folder can only take the place of nothing
            old = path.with_name(f".{path.name}.old.part")
            _remove(old)
            os.replace(path, old)
            os.replace(part, path)
            _remove(old)
        else:
            os.replace(part, path)
        _sync(path.parent)
    finally:
        _remove(part)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold a folder for this process alone; yields whether it could be had.

    Where the system has no locks it always can.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # not on this system
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except BlockingIOError:
        is_ours = False
    try:
        yield is_ours
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once.

    Raises:
        OSError: it cannot be written; the error names the file.
    """
    with replacing(path) as part:
        try:
            part.write_bytes(content)
        except OSError as error:  # that of a write, as on a full disk, names none
            raise type(error)(error.errno, error.strerror, str(path)) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file at once; see `write_bytes`."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Any, indent: int | None = 2) -> None:
    """Write a JSON file at once."""
    write_text(path, json.dumps(content, indent=indent, allow_nan=False) + "\n")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have a file or folder on the disk before going on."""
    with suppress(PermissionError):  # some systems cannot open a folder
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
