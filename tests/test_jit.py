"""Compiled and uncompiled do the same, and compiled code is never stale and never in the way.

Everything here runs in processes of its own, with environments of their own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import reference

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "thatslife_env"
OURS = ("NUMBA", "XDG_CACHE_HOME", "PYTHONWARNINGS", "PYTHONPATH")


def run(
    script: str, *arguments: str, cwd: Path, python: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess:
    """Run a script with nothing of ours in the environment but what is said."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return subprocess.run(
        [sys.executable, *python, "-c", script, *arguments],
        cwd=cwd,
        env={**inherited, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def output(process: subprocess.CompletedProcess) -> str:
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


# The same games ----------------------------------------------------------------------------

PLAY = """
import hashlib, random, sys
from conftest import random_board, random_position
from reference import preset
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.position import dice

n_games, n_positions = map(int, sys.argv[1:])
digest = hashlib.sha256()


def note(position):
    digest.update(position.state.tobytes())
    told = position.legal_actions(), position.scores(), position.win_shares()
    digest.update(repr(told).encode())


named = [preset(name, players) for name in PRESETS for players in range(2, 7)]
for number in range(n_games):
    rng = random.Random(f"jit {number}")
    rules = named[number * 7 % 20] if number % 2 else random_board(rng)
    seed = rng.randrange(2**64)
    position = Position.deal(Ruleset(**rules), seed)
    digest.update(bytes(dice(seed, k) for k in range(50)))
    note(position)
    while not position.is_over:
        if position.phase == "roll":
            position = position.roll(rng.randint(1, 6))
        else:
            position = position.play(rng.choice(position.legal_actions()))
        note(position)
for number in range(n_positions):
    rng = random.Random(f"jit position {number}")
    position = Position.from_json(random_position(rng))
    note(position)
    if position.phase == "roll":
        position = position.roll(rng.randint(1, 6))
    for action in position.legal_actions():
        note(position.play(action))
print(digest.hexdigest())
"""


def play(
    n_games: int, n_positions: int, *, before: str = "", python: tuple[str, ...] = (), **environment
) -> str:
    """The digest of every state of some games and of some made-up positions."""
    process = run(
        before + PLAY,
        str(n_games),
        str(n_positions),
        cwd=TESTS,
        python=python,
        PYTHONPATH=os.pathsep.join([str(TESTS), str(TESTS.parent)]),
        **environment,
    )
    digest = output(process)
    assert re.fullmatch("[0-9a-f]{64}", digest), digest
    assert process.stderr == ""
    return digest


def test_compiled_and_uncompiled_play_the_same_games():
    """And neither says a word of warning."""
    compiled = play(30, 200, python=("-W", "error"))
    plain = play(30, 200, python=("-W", "error"), NUMBA_DISABLE_JIT="1")
    assert compiled == plain
    assert compiled != play(29, 200)  # the digest is not of nothing


CHECKS_BOUNDS = """
import numpy as np
from thatslife_env._jit import JIT
from thatslife_env.position import _legal_bits
from thatslife_env.board import STATE
assert JIT
try:
    _legal_bits(np.zeros(0, STATE))
except IndexError:
    pass
else:
    raise SystemExit("out of bounds, and nothing happened")
"""


def test_no_index_is_out_of_bounds(tmp_path):
    """Compiled anew with Numba's checks; that they are on is checked too."""
    environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    checked = play(12, 300, before=CHECKS_BOUNDS, **environment)
    assert checked == play(12, 300)


# The cache -----------------------------------------------------------------------------------


def copied_package(folder: Path) -> Path:
    """A copy of the package's sources, alone in a folder."""
    package = folder / "thatslife_env"
    package.mkdir(parents=True)
    for source in PACKAGE.glob("*.py"):
        shutil.copy(source, package)
    return package


def set_interval(package: Path, tiles: int) -> None:
    board = package / "board.py"
    text, n_changed = re.subn(
        r"^GIFT_INTERVAL: Final = \d+",
        f"GIFT_INTERVAL: Final = {tiles}",
        board.read_text(),
        flags=re.M,
    )
    assert n_changed == 1
    board.write_text(text)


KERNEL = """
from thatslife_env._jit import njit
from thatslife_env.board import GIFT_INTERVAL

@njit
def interval():
    return GIFT_INTERVAL
"""

DEAL = """
import json, sys
import kernel
import thatslife_env
from thatslife_env import Position, Ruleset, position
track = Position.deal(Ruleset(), 0).to_json()["track"]
hits = sum(position._deal.stats.cache_hits.values())
print(json.dumps([track, int(kernel.interval()), hits, thatslife_env.__file__]))
"""


def test_an_edited_constant_takes_effect(tmp_path):
    """`board.py` is edited, the compiled functions stand in other files; also of other folders."""
    package = copied_package(tmp_path / "site")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kernel.py").write_text(KERNEL)
    cache = tmp_path / "cache"

    def deal(interval: int) -> int:
        set_interval(package, interval)
        process = run(
            DEAL,
            cwd=tmp_path,
            PYTHONPATH=os.pathsep.join([str(package.parent), str(outside)]),
            NUMBA_CACHE_DIR=str(cache),
        )
        track, seen_outside, hits, file = json.loads(output(process))
        assert Path(file).parent == package
        assert seen_outside == interval
        expected = reference.shuffled_tiles(0)
        for place in range(interval, 33, interval)[::-1]:
            expected.insert(place, "gift")
        assert track == ["start", *expected, "finish"]
        return hits

    assert deal(8) == 0
    assert deal(16) == 0
    assert deal(8) == 1  # as before, and found in the cache
    assert list(cache.rglob("*.nbi"))
    assert list(cache.rglob("*.nbc"))
    # nothing beside the sources
    assert {file.suffix for file in [*package.rglob("*"), *outside.rglob("*")]} == {".py"}


WHERE = """
import os, sys, tempfile, warnings
{before}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import thatslife_env
    import kernel  # another package
    {after}
for warning in caught:
    print(warning.category.__name__, warning.message)
"""

PLAY_A_LITTLE = """
    from thatslife_env import Position, Ruleset
    position = Position.deal(Ruleset.preset("full"), 0).roll(3)
    position = position.play(position.legal_actions()[0])
    assert position.to_json()["pawns"] == [[0, 0, 3], [0, 0, 0]]
    assert (position.player, position.scores()) == (1, [0, 0])
"""


@pytest.fixture
def installed(tmp_path):
    """A package in a folder that is not to be written, and another folder with a kernel."""
    site = tmp_path / "site"
    copied_package(site)
    (site / "other").mkdir()
    (site / "other" / "kernel.py").write_text(KERNEL)
    folders = [site, *(path for path in site.rglob("*") if path.is_dir())]
    files = [path for path in site.rglob("*") if path.is_file()]
    for path in files:
        path.chmod(0o444)
    for path in folders:
        path.chmod(0o555)
    yield site
    for path in folders:
        path.chmod(0o755)
    assert sorted(path for path in site.rglob("*") if path.is_file()) == sorted(files)


@pytest.fixture
def nowhere(tmp_path):
    """Below a file: a folder nobody can make, not even root."""
    (tmp_path / "file").write_text("")
    return str(tmp_path / "file" / "below")


def imported(site: Path, before: str = "", after: str = "", **environment: str) -> list[str]:
    """The warnings when two packages with kernels are imported."""
    process = run(
        WHERE.format(before=before, after=after),
        cwd=site.parent,
        PYTHONPATH=os.pathsep.join([str(site), str(site / "other")]),
        **environment,
    )
    return output(process).splitlines()


def cache_of(root: Path) -> list[str]:
    return sorted(folder.name for folder in (root / "thatslife").glob("*"))


def test_cache_in_the_first_folder_that_can_be_written(installed, nowhere, tmp_path):
    """`$NUMBA_CACHE_DIR`, `$XDG_CACHE_HOME/thatslife`, `~/.cache/thatslife`, temporary files."""
    numba, xdg, home, temporary = (tmp_path / name for name in ("numba", "xdg", "home", "tmp"))
    temporary.mkdir()
    good = {
        "NUMBA_CACHE_DIR": numba,
        "XDG_CACHE_HOME": xdg,
        "HOME": home,
        "TMPDIR": temporary,
    }
    found = {
        "NUMBA_CACHE_DIR": numba / "thatslife",
        "XDG_CACHE_HOME": xdg / "thatslife",
        "HOME": home / ".cache" / "thatslife",
        "TMPDIR": temporary / f"thatslife-{os.getuid()}",
    }
    environment = {name: str(folder) for name, folder in good.items()}
    for name in good:
        assert not any(folder.exists() for folder in found.values()), name
        assert imported(installed, **environment) == []
        assert [key for key, folder in found.items() if folder.exists()] == [name]
        assert len(list(found[name].glob("*"))) == 2  # one for each of the two packages
        shutil.rmtree(found[name])
        environment[name] = nowhere


def test_unset_variables_are_passed_over(installed, tmp_path):
    home = tmp_path / "home"
    assert imported(installed, HOME=str(home)) == []
    assert cache_of(home / ".cache")


def test_nothing_can_be_written_and_it_plays_all_the_same(installed, nowhere):
    """Also where no home is known: with at most one warning, and nothing beside the package."""
    environment = dict.fromkeys(
        ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR", "TEMP", "TMP"], nowhere
    )
    warned = imported(
        installed,
        before=f"tempfile.tempdir = {nowhere!r}",
        after=PLAY_A_LITTLE.strip(),
        **environment,
    )
    assert len(warned) <= 1, warned
    assert all(line.startswith("RuntimeWarning thatslife:") for line in warned)


NO_TEMPORARY_FOLDER = """
def none():  # what Python does where /tmp, /var/tmp and the current folder are read-only, too
    raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.gettempdir = none
"""

NO_HOME = """
os.path.expanduser = lambda path: path  # what Python does for a user id without an entry
"""


@pytest.mark.parametrize("known_cache", ["NUMBA_CACHE_DIR", None])
def test_no_temporary_folder_and_no_home(installed, nowhere, known_cache):
    """As in a container with a read-only root and an unknown user."""
    environment = {"XDG_CACHE_HOME": nowhere}
    if known_cache:
        environment[known_cache] = nowhere
    warned = imported(installed, before=NO_TEMPORARY_FOLDER + NO_HOME, **environment)
    assert warned
    assert all(line.startswith("RuntimeWarning thatslife:") for line in warned)


@pytest.mark.parametrize("trap", ["open to all", "a link elsewhere"])
def test_a_temporary_folder_that_others_can_write_is_not_used(installed, nowhere, tmp_path, trap):
    """Machine code is loaded from the cache unchecked."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder = temporary / f"thatslife-{os.getuid()}"
    if trap == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.symlink_to(elsewhere)
    environment = dict.fromkeys(["XDG_CACHE_HOME", "HOME"], nowhere)
    warned = imported(installed, TMPDIR=str(temporary), **environment)
    assert list(folder.glob("*")) == list(elsewhere.glob("*")) == []
    assert warned


def test_nothing_is_written_beside_the_package_itself():
    assert not [file for file in PACKAGE.rglob("*") if file.suffix in (".nbi", ".nbc")]


TYPED_IN = """
from thatslife_env import njit

@njit
def twice(number):
    return 2 * number

print(twice(21), len(twice.signatures))
"""


def test_a_kernel_that_stands_in_no_file_is_compiled_too(tmp_path):
    """Typed in by hand: there is nothing to keep it under, and no word about that."""
    process = run(
        TYPED_IN,
        cwd=tmp_path,
        python=("-W", "error"),
        PYTHONPATH=str(TESTS.parent),
        NUMBA_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert output(process) == "42 1"
    assert process.stderr == ""
