"""How Sphinx builds these pages: `make docs`, into build/docs."""

import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config as Napoleon
from sphinx.ext.napoleon import GoogleDocstring

os.environ["NUMBA_DISABLE_JIT"] = "1"  # functions are seen as they are written
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from thatslife_env import __version__  # noqa: E402

project = "thatslife"
author = "The thatslife engineers"
version = release = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
html_theme = "furo"
html_title = f"thatslife {release}"
html_copy_source = False
html_show_copyright = False

myst_heading_anchors = 4  # links to headings are those of GitHub

default_role = "code"  # what stands between single backticks in a docstring
autodoc_member_order = "bysource"
autodoc_mock_imports = ["pyspiel"]  # of another extra
autodoc_typehints = "none"  # docstrings tell shapes and types

STYLE = Napoleon(napoleon_use_rtype=False)

nitpicky = True  # every reference leads somewhere,
nitpick_ignore_regex = [("py:.*", r"(collections|gymnasium|numpy|pathlib|pettingzoo|torch)\..*")]


def seen_from_here(app: Sphinx, path: Path, page: str, content: list[str]) -> None:
    """Turn the links of README and CHANGELOG, which lie a folder above, into those of a page."""
    text = re.sub(r"\]\((?!https?:|#)", "](../", content[0])
    content[0] = text.replace("](../docs/", "](").replace("](../CHANGELOG.md", "](changelog.md")


def read_google_style(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Turn a docstring into reStructuredText.

    Not as an extension, as Napoleon reads `words: more words` of an attribute as its type.
    """
    if what not in ("attribute", "data", "property"):
        lines[:] = GoogleDocstring(lines, STYLE, app, what, name, thing, options).lines()


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("include-read", seen_from_here)
    app.connect("autodoc-process-docstring", read_google_style)
