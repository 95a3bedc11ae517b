"""The examples of `docs/adapters.md` and the tutorials of these libraries run."""

import re
import sys

import pytest
from tutorials import ROOT, WITH_ADAPTERS, blocks, execute, program, result

PAGE = ROOT / "docs" / "adapters.md"
LIBRARIES = ["Tianshou", "SuperSuit"]  # those without a tutorial
EXAMPLES = dict(zip(LIBRARIES, blocks(PAGE, "python"), strict=True))
PROGRAMS = EXAMPLES | {name: program(name) for name in WITH_ADAPTERS}


def test_each_example_stands_with_its_library():
    text = PAGE.read_text(encoding="utf-8")
    sections = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert sections == ["OpenSpiel", "TorchRL", *LIBRARIES]
    assert all(library.lower() in EXAMPLES[library] for library in LIBRARIES)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_runs(name):
    """Without `-W error`, as these libraries warn of their own doings."""
    done = execute(sys.executable, "-c", PROGRAMS[name])
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if name == "torchrl":  # learns next to nothing in the time; the share of one seat of four
        assert 0 <= result(done.stdout, "greedy") < 0.6
    if name == "open_spiel":  # the mean return of a search with two players, 0 if they are alike
        assert result(done.stdout, "random") > 0
        assert -0.6 < result(done.stdout, "greedy") < 1
