"""Who imports whom, read from the sources; and what importing costs."""

import ast
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import thatslife_env

ROOT = Path(__file__).parent.parent
ENV = ROOT / "thatslife_env"
AGENTS = ROOT / "agents"
SCRIPTS = [ROOT / "train.py", ROOT / "evaluate.py"]

# Each imports only what stands on a lower line.
LEVELS = [
    {"board", "_jit", "drawing"},  # 0
    {"rules"},  # 1
    {"position", "rewards", "baselines"},  # 2a
    {"observation"},  # 2a; its `decode` is 2b and it takes positions
    {"games"},  # 2a, on all of those
    {"records", "spec", "outcomes"},  # 2b
    {"render"},  # 3
    {"thatslife_v0", "gymnasium_env", "vector", "open_spiel_game"},  # 3, the doors
]
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}
DOORS = LEVELS[-1]
OPTIONAL = {"open_spiel_game"}  # doors to a library that is an extra
SHOWN = {"position"}  # what may import `render` in a method, from below it: a notebook asks for it
PACKAGE = {"board", "_jit", "position"}  # what the package itself may import, to stay light

OUTSIDE = {
    # what comes from outside, at the head of a module; numpy is everywhere
    "_jit": {"llvmlite", "numba"},
    "gymnasium_env": {"gymnasium"},
    "vector": {"gymnasium"},
    "thatslife_v0": {"gymnasium", "pettingzoo"},
    "open_spiel_game": {"pyspiel"},
    "__init__": {"gymnasium"},
}
HEAVY = ["torch", "ray", "pygame", "matplotlib", "stable_baselines3", "sb3_contrib", "onnx"]
HEAVY += ["onnxruntime", "pydantic", "yaml", "PIL", "tensorboard", "rich", "safetensors"]

SOURCES = sorted(ENV.rglob("*.py")) + sorted(AGENTS.rglob("*.py"))
SOURCES += [script for script in SCRIPTS if script.exists()]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(source: str) -> Iterator[tuple[str, list[str], bool]]:
    """Each import: the module, the names taken from it, whether it is at the head of the file.

    `import a.b` takes no names.
    """
    tree = ast.parse(source)
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        is_head = id(node) not in inner
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, [], is_head
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            yield dots + (node.module or ""), [alias.name for alias in node.names], is_head


def of_package(source: str) -> Iterator[tuple[str, list[str], bool]]:
    """Imports of `thatslife_env`: the module's name in it ("" for the package), names, at head."""
    for module, names, is_head in imports(source):
        top, _, rest = module.partition(".")
        if top != "thatslife_env":
            continue
        submodules = [name for name in names if not rest and (ENV / f"{name}.py").exists()]
        for name in submodules:
            yield name, [], is_head
        others = [name for name in names if name not in submodules]
        if others or not submodules:
            yield rest, others, is_head


def upward(name: str, source: str) -> list[str]:
    """What a module of `thatslife_env` imports that does not lie below it."""
    found = []
    for module, names, is_head in of_package(source):
        if name == "__init__":
            is_below = module in PACKAGE
        elif module == "":
            is_below = False  # the package itself lies above its modules
        else:
            is_below = module in LEVEL and LEVEL[module] < LEVEL[name]
            is_below = is_below or (module == "render" and name in SHOWN and not is_head)
        if not is_below:
            found.append(f"{name} imports {module or 'thatslife_env'} ({', '.join(names)})")
        if module == "render" and is_head:
            found.append(f"{name} imports render, which is to be imported where it is used")
    return found


def outsiders(name: str, source: str) -> list[str]:
    """What a module of `thatslife_env` imports that is not its business."""
    found = []
    for module, _, is_head in imports(source):
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names and top != "random":
            continue
        if top in {"thatslife_env", "numpy"} | OUTSIDE.get(name, set()):
            continue
        if name == "render" and not is_head:
            continue
        found.append(f"{name} imports {module}")
    return found


def private(source: str) -> list[str]:
    """What a source takes of `thatslife_env` that is not public."""
    found = []
    aliases = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                whole = f"{module}.{alias.name}" if module else alias.name
                if whole.partition(".")[0] != "thatslife_env":
                    continue
                aliases.add((alias.asname or alias.name).partition(".")[0])
                if any(part.startswith("_") and part != "__version__" for part in whole.split(".")):
                    found.append(f"imports {whole}")
                is_name_of_package = module == "thatslife_env"
                if is_name_of_package and alias.name not in thatslife_env.__all__:
                    if not (ENV / f"{alias.name}.py").exists():
                        found.append(f"imports {whole}, which is not in __all__")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and "__" not in node.attr:
            base: ast.expr = node.value
            while isinstance(base, ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name) and base.id in aliases:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


SAFE_RANDOM = {"Generator", "SeedSequence", "BitGenerator", "default_rng", "PCG64", "PCG64DXSM"}
SAFE_RANDOM |= {"Philox", "SFC64"}


def global_random(source: str) -> list[str]:
    """Uses of generators that belong to nobody: `random`, and the functions of `np.random`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [
                f"line {node.lineno}: {alias.name}"
                for alias in node.names
                if alias.name in ("random", "numpy.random")
            ]
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if (
                node.module == "random"
                or (node.module == "numpy" and "random" in names)
                or (node.module == "numpy.random" and not names <= SAFE_RANDOM)
            ):
                found.append(f"line {node.lineno}: from {node.module} import {', '.join(names)}")
        elif isinstance(node, ast.Attribute) and node.attr not in SAFE_RANDOM:
            if ast.unparse(node.value) in ("np.random", "numpy.random"):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def hidden_errors(source: str) -> list[str]:
    """Bare `except`, and handlers of everything that do nothing."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            does_nothing = all(isinstance(line, ast.Pass) for line in node.body)
            caught = "" if node.type is None else ast.unparse(node.type)
            if not caught or (does_nothing and caught in ("Exception", "BaseException")):
                found.append(f"line {node.lineno}: except {caught}")
    return found


def asserts(source: str) -> list[str]:
    """`assert` vanishes under `python -O`: it checks nobody's input."""
    tree = ast.parse(source)
    return [f"line {node.lineno}" for node in ast.walk(tree) if isinstance(node, ast.Assert)]


# The house ----------------------------------------------------------------------------------


def test_every_module_has_its_level():
    found = {path.stem for path in ENV.glob("*.py")} - {"__init__"}
    assert found <= set(LEVEL), "name the level of new modules in LEVELS"
    assert found >= {"board", "_jit", "rules", "position", "games", *DOORS}
    assert [named(path) for path in ENV.rglob("*.py") if path.parent != ENV] == []


@pytest.mark.parametrize("path", sorted(ENV.glob("*.py")), ids=named)
def test_imports_point_one_way(path):
    """A module imports from lower levels only; doors never each other, nobody `agents`."""
    source = path.read_text()
    assert upward(path.stem, source) == []
    assert outsiders(path.stem, source) == []


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.parent != ENV] or [AGENTS], ids=named
)
def test_agents_and_scripts_take_public_names_only(path):
    source = path.read_text()
    assert private(source) == []
    tops = {module.partition(".")[0] for module, _, _ in imports(source)}
    assert not tops & {"train", "evaluate", "tests", "conftest"}


@pytest.mark.parametrize("path", SOURCES, ids=named)
@pytest.mark.parametrize("check", [hidden_errors, asserts])
def test_habits(path, check):
    assert check(path.read_text()) == []


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_nobody_draws_from_global_generators(path):
    """SB3 does; so training saves and restores the state of NumPy's, and draws nothing from it."""
    found = global_random(path.read_text())
    if named(path) == "agents/training.py":
        found = [use for use in found if not use.endswith(("random.get_state", "random.set_state"))]
    assert found == []


def test_public_names():
    """What DESIGN.md promises can be imported as it says."""
    names = "Ruleset, Position, PositionError, IllegalMoveError, PRESETS, thatslife_v0"
    run(
        f"from thatslife_env import {names}\n"
        "thatslife_v0.env, thatslife_v0.raw_env\n"
        "import thatslife_env.vector\n"
        "thatslife_env.vector.VectorGame"
    )
    for name in thatslife_env.__all__:
        assert hasattr(thatslife_env, name)
        assert not name.startswith("_") or name == "__version__"


# What importing costs -----------------------------------------------------------------------


def run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )


def loaded_by(*modules: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after importing these."""
    code = "".join(f"import {module}\n" for module in modules)
    code += "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return set(run(code).stdout.split())


def test_importing_loads_nothing_heavy():
    """But for what numba loads of itself where it is installed (yaml)."""
    unavoidable = loaded_by("numpy", "numba", "gymnasium") & set(HEAVY)
    assert unavoidable <= {"yaml"}
    found = loaded_by("thatslife_env")
    assert {"thatslife_env", "numba", "gymnasium"} <= found
    assert found & set(HEAVY) <= unavoidable
    assert "pettingzoo" not in found
    assert "agents" not in found


def test_the_doors_load_nothing_heavy():
    """Not even with a game drawn as text."""
    unavoidable = loaded_by("numpy", "numba", "gymnasium.vector", "pettingzoo.utils")
    doors = [f"thatslife_env.{name}" for name in sorted(DOORS - OPTIONAL)]
    found = loaded_by(*doors, "thatslife_env.records")
    assert "pettingzoo" in found
    assert (found - unavoidable) & set(HEAVY) == set()
    assert not found & {"torch", "ray", "matplotlib", "stable_baselines3", "onnx", "agents"}


def test_importing_takes_less_than_a_second():
    """The best of three, in processor time; on the clock twice that, as others may be at work."""
    processor, clock = [], []
    for _ in range(3):
        begin = time.perf_counter()
        done = run("import thatslife_env, time; print(time.process_time())", "-X", "importtime")
        processor.append(float(done.stdout))
        clock.append(time.perf_counter() - begin)
        totals = [line.split("|") for line in done.stderr.splitlines() if "thatslife_env" in line]
        assert totals[-1][2].strip() == "thatslife_env"
        clock[-1] = int(totals[-1][1]) / 1e6
    assert min(processor) < 1
    assert min(clock) < 2


# The checks can fail ------------------------------------------------------------------------

BROKEN: list[tuple[Callable[..., list[str]], list[str]]] = [
    (
        lambda source: upward("rules", source),
        [
            "from thatslife_env.position import Position",
            "from thatslife_env import Position",
            "import thatslife_env",
            "from thatslife_env import position",
            "import thatslife_env.games as g",
            "def f():\n    from thatslife_env.vector import VectorGame",
            "from thatslife_env.rules import mix",
            "from thatslife_env.unheard_of import x",
        ],
    ),
    (
        lambda source: upward("vector", source),
        [
            "from thatslife_env.gymnasium_env import ThatsLifeEnv",
            "from thatslife_env import thatslife_v0",
            "from thatslife_env.render import draw",
        ],
    ),
    (lambda source: upward("__init__", source), ["from thatslife_env.vector import VectorGame"]),
    (
        lambda source: outsiders("rules", source),
        [
            "import torch",
            "import gymnasium",
            "from agents import make",
            "import numba",
            "def f():\n    import yaml",
            "from . import board",
            "import random",
        ],
    ),
    (
        private,
        [
            "from thatslife_env._jit import njit",
            "from thatslife_env.games import _settle_all",
            "import thatslife_env._jit",
            "from thatslife_env import _jit",
            "from thatslife_env import rules\nrules._moves(1)",
            "import thatslife_env\nthatslife_env.rules._moves(1)",
            "from thatslife_env import nonsense",
            "def f():\n    from thatslife_env.rules import _moves",
        ],
    ),
    (
        global_random,
        [
            "import random",
            "from random import choice",
            "import numpy as np\nnp.random.seed(1)",
            "import numpy as np\nf(np.random.rand)",
            "import numpy\nnumpy.random.choice(3)",
            "from numpy.random import rand",
            "from numpy import random",
            "import numpy.random",
        ],
    ),
    (
        hidden_errors,
        ["try:\n    f()\nexcept:\n    g()", "try:\n    f()\nexcept Exception:\n    pass"],
    ),
    (asserts, ["def f(x):\n    assert x > 0"]),
]


@pytest.mark.parametrize(
    ("check", "source"), [(check, source) for check, sources in BROKEN for source in sources]
)
def test_the_checks_find_what_is_wrong(check, source):
    assert check(source)


def test_the_checks_let_pass_what_is_right():
    assert upward("games", "from thatslife_env.rules import mix\nimport math") == []
    assert upward("vector", "def f():\n    from thatslife_env.render import draw") == []
    assert outsiders("games", "import numpy as np\nfrom collections.abc import Callable") == []
    assert private("from thatslife_env import Position, njit, rules\nrules.draw64(1, 2)") == []
    assert private("from thatslife_env.games import SeatGames\nclass A:\n    x = self._x") == []
    assert global_random("import numpy as np\nrng: np.random.Generator") == []
    assert global_random("from numpy.random import Generator, SeedSequence") == []
    assert hidden_errors("try:\n    f()\nexcept ValueError:\n    pass") == []
