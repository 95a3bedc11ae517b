"""The one decorator behind every compiled function of the project.

Kernels are compiled by Numba on first use and kept in a cache folder. Numba's own cache looks only
at the file a function stands in; ours has the sources of the whole package in the folder's name, so
an upgrade or an edited constant in *another* file never brings stale machine code back.

The folder is the first of these that can be written: `$NUMBA_CACHE_DIR`,
`$XDG_CACHE_HOME/thatslife`, `~/.cache/thatslife`, a private folder for temporary files. If none
can, kernels are compiled anew in each process, and one warning says so. Nothing is ever written
beside the installed package.
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

config: Any = numba.config
JIT = not config.DISABLE_JIT
"""False under `NUMBA_DISABLE_JIT=1`: the same lines then run as plain Python."""


def njit(
    function: Callable[..., Any] | None = None, *, wraps: bool = False, inline: bool = False
) -> Any:
    """Compile `function` with the project's options, cached on disk.

    Args:
        function: a plain function; None when the decorator is used with arguments.
        inline: put its code into each caller, for what a turn always runs through: faster by a
            third, but each caller takes longer to compile.
        wraps: the function counts on unsigned 64-bit overflow; uncompiled it then runs without
            NumPy's warning.

    Returns:
        The compiled function, or the function itself under `NUMBA_DISABLE_JIT=1`.
    """
    if function is None:
        return lambda inner: njit(inner, wraps=wraps, inline=inline)
    if not JIT:
        return np.errstate(over="ignore")(function) if wraps else function
    source = Path(function.__code__.co_filename)
    folder = _cache_folder(str(source.parent)) if source.is_file() else None
    before = config.CACHE_DIR
    config.CACHE_DIR = folder or ""
    try:
        options: dict[str, Any] = {
            "cache": folder is not None,
            "nogil": True,
            "error_model": "numpy",
            "forceinline": inline,
            "no_cfunc_wrapper": True,  # compiles a tenth faster
        }
        return numba.njit(function, **options)
    finally:
        config.CACHE_DIR = before


@cache
def _cache_folder(package: str) -> str | None:
    """A writable folder for the kernels of the sources in `package`, or None if there is none."""
    key = _fingerprint(package)
    for root in _cache_roots():
        folder = root / key
        try:
            if not folder.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _remove_old(root)
            with tempfile.TemporaryFile(dir=folder):  # this also renews the folder's time
                return str(folder)
        except OSError:
            continue
    _warn_once()
    return None


@cache
def _warn_once() -> None:
    warnings.warn(
        "thatslife: no folder can be written for compiled kernels, so each process compiles "
        "them anew; set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=4,
    )


def _remove_old(root: Path) -> None:
    """Remove kernels of sources that were not used for a month."""
    month = 30 * 24 * 3600
    for folder in root.iterdir():
        if time.time() - folder.stat().st_mtime > month:
            shutil.rmtree(folder, ignore_errors=True)


def _cache_roots() -> Iterator[Path]:
    """Folders to try, best first."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / "thatslife"
    if os.environ.get("XDG_CACHE_HOME"):
        yield Path(os.environ["XDG_CACHE_HOME"]) / "thatslife"
    with suppress(RuntimeError):  # no home folder is known
        yield Path.home() / ".cache" / "thatslife"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    with suppress(FileNotFoundError):  # there is no folder for temporary files
        temporary = Path(tempfile.gettempdir()) / f"thatslife-{user}"
        if _is_private(temporary):
            yield temporary


def _is_private(folder: Path) -> bool:
    """Whether `folder` is, or can be made, ours alone: machine code is loaded from it unchecked."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return stat.S_ISDIR(status.st_mode)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


@cache
def _fingerprint(package: str) -> str:
    """A name for all that may be compiled into kernels in `package`: sources and compiler."""
    digest = hashlib.sha256(
        f"{sys.version} numba {numba.__version__} numpy {np.__version__} "
        f"bounds {config.BOUNDSCHECK}".encode()
    )
    for folder in dict.fromkeys((Path(__file__).parent, Path(package))):
        for source in sorted(folder.glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


# Two instructions of the processor that Numba has no name for


def _build_count(typing_context: Any, bits: Any) -> Any:
    signature = types.int64(types.int64)
    return signature, lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


_count: Any = intrinsic(_build_count) if JIT else lambda bits: int(bits).bit_count()


@njit(inline=True)
def count_bits(bits: int) -> Any:
    """How many bits of a whole number from 0 are set: int64 -> int64."""
    return _count(bits)


def _build_prefetch(typing_context: Any, record: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask_type = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = cgutils.get_or_insert_function(builder.module, ask_type, "llvm.prefetch.p0")
        start = builder.bitcast(arguments[0], byte)
        for line in range(0, record.size, _CACHE_LINE):
            place = builder.gep(start, [number(line)])
            builder.call(ask, [place, number(0), number(3), number(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(record), build


_CACHE_LINE = 64  # bytes
_prefetch: Any = intrinsic(_build_prefetch) if JIT else lambda record: None


@njit(inline=True)
def prefetch(record: Any) -> None:
    """Ask for a record's memory, so that it is there a little later; nothing else happens."""
    _prefetch(record)
