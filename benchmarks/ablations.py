"""What each ingredient of masked PPO buys: the same run with one thing changed, several seeds each.

    python benchmarks/ablations.py [--steps 1000000] [--seeds 3] [--only NAME ...] [--out DIR]

Every run is `train.py` with `configs/ppo_2p.yaml` and the changes of the table, by self-play alone
where these name no opponents, on the same deals for a seed; what is done already is not done again.
DIR gets the runs and, of all that are done, `ablations.md` and `ablations.png`: curves of win
shares against greedy, the mean of the seeds with their range.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.cli import FailedError, Parser, UsageError, run, whole_number
from agents.extras import require
from agents.files import write_text
from agents.list_runs import describe
from agents.plots import COLORS, new_figure, write_png

ROOT: Final = Path(__file__).resolve().parents[1]
CONFIG: Final = ROOT / "configs" / "ppo_2p.yaml"
SELF: Final = "opponents={self: 1}"
LEAGUE: Final = "opponents={self: 0.8, snapshots: 0.2}"
VARIANTS: Final[dict[str, list[str]]] = {
    "self-play alone": [SELF],
    "plain network": [SELF, "network={kind: mlp}"],
    "plain network without action rows": [SELF, "network={kind: blind}"],
    "shaping 0.01 a point": [SELF, "reward.shaping=0.01"],
    "a league": [LEAGUE],
    "a league drawn alike": [LEAGUE, "snapshots.focus=0"],
    "against greedy only": ["opponents={greedy: 1}"],
    "lambda 0.8": [SELF, "ppo.gae_lambda=0.8"],
    "lambda 1": [SELF, "ppo.gae_lambda=1"],
    "batches of 256": [SELF, "ppo.batch_size=256"],
    "batches of 4096": [SELF, "ppo.batch_size=4096"],
}
"""What is changed: name to `--set` of train.py. Leagues get a snapshot for each evaluation."""


def main() -> None:
    """Read the arguments, train what is missing, and write table and plot."""
    parser = Parser(prog="ablations.py", description=__doc__)
    parser.add_argument("--steps", type=whole_number(1), default=1_000_000, help="of each run")
    parser.add_argument(
        "--seeds", type=whole_number(1, 100), default=3, help="runs of each variant"
    )
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("runs/ablations"), metavar="DIR")
    arguments = parser.parse_args()
    require("torch", "matplotlib", extra="train")
    check_lengths(arguments.out, arguments.steps)
    names = [name for name in VARIANTS if name in (arguments.only or VARIANTS)]
    for seed in range(arguments.seeds):  # seed by seed, so that a part of it already compares
        for name in names:
            folder = arguments.out / f"{stem(name)}{seed}"
            train(folder, VARIANTS[name], arguments.steps, seed)
        write(arguments.out)
    print((arguments.out / "ablations.md").read_text(encoding="utf-8"))


def stem(name: str) -> str:
    """How the folders of a variant begin; the seed follows."""
    return f"{name.replace(' ', '-')}-seed-"


def check_lengths(out: Path, steps: int) -> None:
    """Refuse a folder with runs of another length, which would come into the same table.

    Raises:
        UsageError: there is one.
    """
    from agents.config import load_config

    for folder in (folder for name in VARIANTS for folder in sorted(out.glob(f"{stem(name)}*"))):
        if (folder / "config.yaml").is_file():
            found = load_config(folder / "config.yaml").total_steps
            if found != steps:
                raise UsageError(f"{folder}: a run of {found:,} steps; name another --out")


def train(folder: Path, changes: list[str], steps: int, seed: int) -> None:
    """One run, from where it is; nothing if it has ended.

    Raises:
        FailedError: it did not end well.
    """
    if (folder / "results.json").is_file():
        return
    command = [sys.executable, str(ROOT / "train.py")]
    if (folder / "config.yaml").is_file():
        command += ["--resume", str(folder)]
    else:
        every = max(steps // 8, 1)
        common = [f"total_steps={steps}", f"seed={seed}", f"evaluation.every={every}"]
        common += [f"snapshots.every={every}"] if LEAGUE in changes else []
        command += ["--config", str(CONFIG), "--run", str(folder), "--set", *common, *changes]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
        raise FailedError(f"{folder}: the run failed: {' '.join(command)}")


def write(out: Path) -> None:
    """Write table and plot of what has been trained so far."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in VARIANTS:
        folders = sorted(out.glob(f"{stem(name)}*"))
        runs = [describe(folder) for folder in folders if (folder / "results.json").is_file()]
        if runs:
            found[name] = runs
    opponents = list(next(iter(found.values()))[0]["win_shares"])
    shown = " | ".join(f"v `{name}`" for name in opponents)
    lines = [
        f"| variant | changes | seeds | {shown} | minutes |",
        "|---" * (len(opponents) + 4) + "|",
    ]
    for name, runs in found.items():
        shares = [
            np.array([run["win_shares"][opponent]["win_share"] for run in runs])
            for opponent in opponents
        ]
        cells = [f"{each.mean():.3f} ({each.min():.3f}-{each.max():.3f})" for each in shares]
        minutes = np.mean([run["seconds"] for run in runs]) / 60
        changes = ", ".join(f"`{change}`" for change in VARIANTS[name] if change != SELF)
        shown = " | ".join(cells)
        lines.append(f"| {name} | {changes} | {len(runs)} | {shown} | {minutes:.1f} |")
    write_text(out / "ablations.md", "\n".join(lines) + "\n")

    figure = new_figure(9, 6)
    axes = figure.add_subplot()
    for number, (name, runs) in enumerate(found.items()):
        curves = [
            [
                (point["step"], point["win_share"])
                for point in run["curve"]
                if point["opponent"] == "greedy"
            ]
            for run in runs
        ]
        steps = [step for step, _ in curves[0]]
        win_shares = np.array([[share for _, share in curve] for curve in curves])
        color = COLORS[number % len(COLORS)]
        dashes = ("-", "--")[number // len(COLORS)]
        axes.plot(steps, win_shares.mean(axis=0), label=name, color=color, linestyle=dashes)
        low, high = win_shares.min(axis=0), win_shares.max(axis=0)
        axes.fill_between(steps, low, high, color=color, alpha=0.12, linewidth=0)
    axes.set_xlabel("decisions of the learner")
    axes.set_ylabel("win share against greedy")
    axes.legend(loc="lower right", fontsize="small")
    write_png(figure, out / "ablations.png")


if __name__ == "__main__":
    run(main, "ablations.py")
