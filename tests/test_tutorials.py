"""The tutorials run, as they stand; those that need other libraries run where these are."""

import os
import sys
from pathlib import Path

import pytest
from tutorials import (
    ROOT,
    TUTORIALS,
    WITH_ADAPTERS,
    WITH_NODE,
    WITH_PYTHON,
    WITH_RAY,
    blocks,
    execute,
    program,
    result,
)


def test_every_tutorial_is_run_somewhere():
    names = sorted(page.stem for page in TUTORIALS.glob("*.md"))
    assert names == sorted(WITH_PYTHON + WITH_NODE + WITH_ADAPTERS + WITH_RAY)


@pytest.mark.learning
@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python(name):
    done = execute(sys.executable, "-W", "error", "-c", program(name))
    assert done.returncode == 0, done.stderr
    assert result(done.stdout, "random") > 0.6
    assert 0 < result(done.stdout, "greedy") < 1


@pytest.mark.speed
@pytest.mark.parametrize("name", WITH_NODE)
def test_javascript(name, tmp_path, monkeypatch):
    """The commands in a folder that has nothing but `web/` of the checkout; then the programs."""
    page = TUTORIALS / f"{name}.md"
    (tmp_path / "web").symlink_to(ROOT / "web")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    (commands,) = blocks(page, "bash")
    done = execute("bash", "-ec", commands, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "player"
    for file, text in zip(("player.js", "match.js"), blocks(page, "js"), strict=True):
        (folder / file).write_text(text, encoding="utf-8")
    done = execute("node", "match.js", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert result(done.stdout, "greedy") > 0.85


def test_javascript_of_the_page_about_the_page():
    (shown,) = blocks(ROOT / "docs" / "web.md", "js")
    done = execute("node", "--input-type=module", "--eval", shown, cwd=ROOT / "web")
    assert done.returncode == 0, done.stderr
    assert done.stdout
