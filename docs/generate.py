"""Write the parts of the docs that list facts of the code.

    python docs/generate.py          # rewrite them
    python docs/generate.py --check  # exit code 1 if any is out of date

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import ast
import re
import runpy
import sys
from pathlib import Path

import gymnasium
import yaml
from pictures import played

from agents.afterstate import features_table
from agents.boards import board_names, load_board
from agents.config import config_table
from agents.registry import KINDS
from agents.vector_layout import vector_table
from thatslife_env import PRESETS, Ruleset, thatslife_v0
from thatslife_env.board import MAX_PLAYERS, MIN_PLAYERS
from thatslife_env.observation import LAYOUT_HASH, layout_table
from thatslife_env.rewards import REWARDS
from thatslife_env.spec import action_table

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "benchmark",
            "citing",
            "contributing",
            "environment",
            "export",
            "solved",
            "training",
        )
    ),
)
GYMNASIUM = "ThatsLife-v0"
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def picture() -> str:
    """A game in progress, as `print(position)` draws it."""
    return f"```text\n{played().position}\n```"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def spec_table() -> str:
    """The environment at a glance."""
    env = thatslife_v0.raw_env(players=MAX_PLAYERS)
    first, *_, last = env.possible_agents
    space = env.observation_space(first)
    seen, mask = space["observation"], space["action_mask"]
    rows = [
        ["PettingZoo", f"`{env.metadata['name']}`: AEC, turn by turn"],
        ["Gymnasium", f"`thatslife_env:{gymnasium.spec(GYMNASIUM).id}`, single and vectorised"],
        ["players", f"{MIN_PLAYERS} to {MAX_PLAYERS}"],
        ["agents", f"`{first}` .. `{last}`"],
        ["rulesets", f"{', '.join(f'`{name}`' for name in PRESETS)}, and any `Ruleset`"],
        ["information", "perfect, with dice"],
        ["actions", f"{env.action_space(first)}, masked"],
        [
            "observation",
            f"{seen.dtype}{list(seen.shape)}, {seen.low.min():g} .. {seen.high.max():g}",
        ],
        ["mask", f"{mask.dtype}{list(mask.shape)}, 1 = legal; True = legal where it is bool"],
        ["rewards", f"{', '.join(f'`{name}`' for name in REWARDS)}: at the end, in [-1, 1]"],
        ["truncation", "none"],
        ["render modes", ", ".join(f"`{mode}`" for mode in env.metadata["render_modes"])],
        ["layout of the observation", f"`{LAYOUT_HASH}`"],
    ]
    return table(["", ""], rows)


def history_table() -> str:
    """The versions of the environment, as the changelog tells them.

    Raises:
        ValueError: it tells nothing of the present one.
    """
    rows = []
    for section in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        package = section.partition("\n")[0]
        for number, change in re.findall(r"^- Environment v(\d+): (.*)$", section, re.MULTILINE):
            rows.append([f"`ThatsLife-v{number}`, `thatslife_v{number}`", package, change])
    for name in (GYMNASIUM, thatslife_v0.raw_env.metadata["name"]):
        if not rows or f"`{name}`" not in rows[0][0]:
            raise ValueError(f"CHANGELOG.md: no line '- Environment vN: ...' of {name}")
    return table(["environment", "package", "what changed"], rows)


def levels_table() -> str:
    """The modules of `thatslife_env` by the levels that a test holds them to."""
    source = (ROOT / "tests" / "test_dependencies.py").read_text(encoding="utf-8")
    (levels,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LEVELS"
    )
    rows = []
    for level, modules in enumerate(levels):
        for module in sorted(modules):
            text = (ROOT / "thatslife_env" / f"{module}.py").read_text(encoding="utf-8")
            about = ast.get_docstring(ast.parse(text)).partition("\n")[0]
            rows.append([str(level), f"`{module}`", about])
    return table(["level", "module", "what"], rows)


def citation() -> str:
    """BibTeX of `CITATION.cff`."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    authors = " and ".join(f"{{{author['name']}}}" for author in cited["authors"])
    return (
        "```bibtex\n@software{thatslife,\n"
        f"  author = {{{authors}}},\n"
        f"  title = {{{{{cited['title']}}}}},\n"
        f"  version = {{{cited['version']}}},\n"
        "}\n```"
    )


def preset_table() -> str:
    """What each preset is."""
    names = [name for name in Ruleset().to_dict() if name != "players"]  # any number
    rows = []
    for preset in PRESETS:
        values = Ruleset.preset(preset).to_dict()
        rows.append([f"`{preset}`", *(str(values[name]) for name in names)])
    return table(["preset", *names], rows)


def reward_table() -> str:
    """What each terminal reward is."""
    rows = [[f"`{name}`", meaning] for name, meaning in REWARDS.items()]
    return table(["reward", "what a seat gets at the end"], rows)


def agent_table() -> str:
    """How each agent is named."""
    rows = [[f"`{kind.usage.replace(' | ', '`, `')}`", kind.meaning] for kind in KINDS.values()]
    return table(["spec", "player"], rows)


def board_table() -> str:
    """The solved boards and their values."""
    rows = []
    for name in board_names():
        board = load_board(name)
        layout = " ".join(str(entry) for entry in board.ruleset.layout)
        values = [f"{board.values['win']:.6f}", f"{board.values['margin']:+.4f}"]
        rows.append([f"`{name}`", board.about, layout, f"{board.states:,}", *values])
    return table(["board", "what", "layout", "positions", "win share", "margin"], rows)


def task_table() -> str:
    """The tasks of the benchmark of algorithms."""
    tasks = runpy.run_path(str(ROOT / "benchmarks" / "algorithms" / "tasks.py"))
    return tasks["task_table"]()


PARTS = {
    "picture": picture,
    "spec": spec_table,
    "history": history_table,
    "levels": levels_table,
    "citation": citation,
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
