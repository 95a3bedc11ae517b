"""README and docs say what the code says, and their Python runs."""

import importlib.util
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
import yaml
from make_images import TOLERANCE, unlikeness
from PIL import Image
from tutorials import ROOT, TUTORIALS, blocks

import thatslife_env
from agents.video import frames

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page.name != "adapters.md"  # needs other libraries: tests/adapters
    if page.parent != TUTORIALS  # whole programs: test_tutorials.py
    for number, block in enumerate(blocks(page, "python"))
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


def test_the_api_is_told_of_every_public_module():
    page = (ROOT / "docs" / "api" / "thatslife_env.rst").read_text()
    told = re.findall(r"^\.\. automodule:: thatslife_env\.(\w+)$", page, re.MULTILINE)
    modules = {path.stem for path in (ROOT / "thatslife_env").glob("[a-z]*.py")}
    assert sorted(told) == sorted(modules)


def test_modules_that_the_docs_name_exist():
    page = (ROOT / "docs" / "contributing.md").read_text()
    named = re.findall(r"`((?:agents|tests|docs)/[\w./]+)`", page)
    assert len(named) > 30
    for name in set(named):
        assert name == "tests/test_NAME.py" or (ROOT / name).exists(), name


def test_citation_names_this_package():
    """`CITATION.cff` has what its format requires, and the facts of the package."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == thatslife_env.__version__
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["license"] == package["license"]
    assert cited["authors"] == package["authors"]


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
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#]+)\)", prose):
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
