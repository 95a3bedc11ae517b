"""The examples of `docs/adapters.md` run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
EXAMPLES = {
    section.splitlines()[0]: re.search(r"```python\n(.*?)```", section, re.DOTALL)
    for section in PAGE.split("\n## ")[1:]
}


def test_each_library_has_an_example():
    assert list(EXAMPLES) == ["OpenSpiel", "TorchRL", "Tianshou", "SuperSuit"]
    assert PAGE.count("```python") == len(EXAMPLES)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("library", EXAMPLES)
def test_the_example_runs(library):
    """Without `-W error`, as these libraries warn of their own doings."""
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[library][1]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
