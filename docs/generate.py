"""Write the parts of the docs that list facts of the code.

    python docs/generate.py          # rewrite them
    python docs/generate.py --check  # exit code 1 if any is out of date

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import re
import runpy
import sys
from pathlib import Path

from pictures import played

from agents.afterstate import features_table
from agents.boards import board_names, load_board
from agents.config import config_table
from agents.registry import KINDS
from agents.vector_layout import vector_table
from thatslife_env import PRESETS, Ruleset
from thatslife_env.observation import layout_table
from thatslife_env.rewards import REWARDS
from thatslife_env.spec import action_table

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    *(f"docs/{name}.md" for name in ("benchmark", "environment", "export", "solved", "training")),
)
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def picture() -> str:
    """A game in progress, as `print(position)` draws it."""
    return f"```text\n{played().position}\n```"


def preset_table() -> str:
    """What each preset is."""
    names = [name for name in Ruleset().to_dict() if name != "players"]  # any number
    lines = [f"| preset | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for preset in PRESETS:
        values = Ruleset.preset(preset).to_dict()
        lines.append(f"| `{preset}` | {' | '.join(str(values[name]) for name in names)} |")
    return "\n".join(lines)


def reward_table() -> str:
    """What each terminal reward is."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in REWARDS.items()]
    return "\n".join(["| reward | what a seat gets at the end |", "|---|---|", *rows])


def agent_table() -> str:
    """How each agent is named."""
    rows = [
        f"| `{kind.usage.replace(' | ', '`, `')}` | {kind.meaning} |" for kind in KINDS.values()
    ]
    return "\n".join(["| spec | player |", "|---|---|", *rows])


def board_table() -> str:
    """The solved boards and their values."""
    lines = [
        "| board | what | layout | positions | win share | margin |",
        "|---|---|---|---|---|---|",
    ]
    for name in board_names():
        board = load_board(name)
        layout = " ".join(str(entry) for entry in board.ruleset.layout)
        values = f"{board.values['win']:.6f} | {board.values['margin']:+.4f}"
        lines.append(f"| `{name}` | {board.about} | {layout} | {board.states:,} | {values} |")
    return "\n".join(lines)


def task_table() -> str:
    """The tasks of the benchmark of algorithms."""
    tasks = runpy.run_path(str(ROOT / "benchmarks" / "algorithms" / "tasks.py"))
    return tasks["task_table"]()


PARTS = {
    "picture": picture,
    "actions": action_table,
    "presets": preset_table,
    "rewards": reward_table,
    "layout": layout_table,
    "agents": agent_table,
    "features": features_table,
    "boards": board_table,
    "tasks": task_table,
    "config": config_table,
    "vector": vector_table,
}


def generated(text: str) -> str:
    """`text` with every generated part as it ought to be."""
    return PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}\n{part[3]}", text)


def main() -> None:
    """Rewrite or check all pages."""
    stale = []
    for page in PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        wanted = generated(text)
        if wanted != text:
            stale.append(page)
            if "--check" not in sys.argv[1:]:
                path.write_text(wanted, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        sys.exit(f"out of date: {', '.join(stale)}; run: python docs/generate.py")


if __name__ == "__main__":
    main()
