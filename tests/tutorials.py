"""The programs that pages show, as they stand there."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"

WITH_PYTHON = ["sb3"]  # run by test_tutorials.py
WITH_NODE = ["bundle"]  # likewise
WITH_ADAPTERS = ["open_spiel", "torchrl"]  # adapters/test_docs.py
WITH_RAY = ["rllib"]  # cluster/test_cluster.py


def blocks(page: Path, language: str) -> list[str]:
    """What stands between fences of a language, in order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def program(name: str) -> str:
    """The Python of a tutorial, whose blocks are one program."""
    found = blocks(TUTORIALS / f"{name}.md", "python")
    assert found, name
    return "\n".join(found)


def execute(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=900, check=False
    )


def result(said: str, rival: str) -> float:
    """What a tutorial says that it got against a player."""
    return float(re.search(rf"against {rival}: ([-+]?\d\.\d+)", said)[1])
