"""README and docs say what the code says, and their Python runs."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from make_images import TOLERANCE, unlikeness
from PIL import Image

from agents.video import frames

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
ELSEWHERE = {"adapters.md", "ray.md"}  # what needs other libraries: tests/cluster
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page.name not in ELSEWHERE
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


def run(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )


def test_there_is_python_in_the_readme():
    assert sum("README" in block.id for block in BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS)
def test_python_of_the_docs_runs_without_a_warning(block):
    done = run("-W", "error", "-c", block)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_generated_parts_are_up_to_date():
    done = run("docs/generate.py", "--check")
    assert done.returncode == 0, done.stderr


def test_pictures_are_up_to_date():
    """As `make pictures` makes them, but for the letters of another FreeType."""
    path = ROOT / "docs" / "pictures.py"
    spec = importlib.util.spec_from_file_location("pictures_of_the_docs", path)
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    with Image.open(pictures.IMAGES / "game.png") as shown:
        pixels = np.asarray(shown.convert("RGB"))
    assert unlikeness(pixels, pictures.picture().pixels()) < TOLERANCE
    film = list(frames(pictures.film()))
    path = pictures.IMAGES / "game.gif"
    assert path.stat().st_size < 1_000_000
    with Image.open(path) as shown:
        assert shown.n_frames == len(film)
        for number in (0, len(film) // 2, len(film) - 1):
            shown.seek(number)
            pixels = np.asarray(shown.convert("RGB"))
            assert unlikeness(pixels, film[number][0].pixels(pictures.SCALE)) < TOLERANCE


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_commands_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^ +make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_spec_is_json_of_the_layout():
    import json

    from thatslife_env.observation import LAYOUT, OBS_SIZE

    spec = json.loads(run("-m", "thatslife_env.spec").stdout)
    rows = spec["observation"]["rows"]
    assert [row["name"] for row in rows] == [row.name for row in LAYOUT]
    assert spec["observation"]["size"] == OBS_SIZE
    assert spec["actions"]["opponent"] == {
        "first": 11,
        "after": 16,
        "meaning": "choose the seat k + 1 to your left",
    }
