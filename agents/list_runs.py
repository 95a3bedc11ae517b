"""Compare training runs in one table and one plot.

python -m agents.list_runs [RUN ...] [--sort greedy] [--json] [--plot FILE.png]

Without RUN all folders in `runs` are listed. Win shares are those of the final games; of a run that
has not ended, or that plays several rulesets, those of its latest evaluation. The time is that of
its updates. What cannot be read is left out, with a line on stderr.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agents.cli import Parser, UsageError, run
from agents.extras import require
from agents.plots import COLORS, GREY, new_figure, write_png
from thatslife_env.position import is_whole

RUNS: Final = Path("runs")
KEYS: Final = ("run", "algorithm", "game", "steps", "time")
_LOW, _HIGH = "evaluation/low/", "evaluation/high/"
_SPEED: Final = "time/steps_per_second"
_STYLES: Final = ("-", "--", ":", "-.")

Json = dict[str, Any]


# One run --------------------------------------------------------------------------------------


def describe(folder: Path) -> Json:
    """What is known of a run, as plain JSON.

    Args:
        folder: of the run.

    Returns:
        `run`, the folder; `algorithm`, `game` and `seed` of its config; `steps` so far and
        `total_steps`; `seconds` that they took; `win_shares` by opponent, each `win_share` and
        `ci95`, with `of`: `final games`, `step N` or null; and `curve`, for each evaluation
        `step`, `opponent`, `win_share` and `ci95`.

    Raises:
        UsageError: it is no run, or what it holds is damaged; the message says what.
    """
    from agents.runs import read_metrics

    config = _config(folder / "config.yaml")
    lines = read_metrics(folder / "metrics.jsonl")
    curve = [point for line in lines for point in _points(line)]
    final = _final(folder / "results.json")
    last = max((point["step"] for point in curve), default=None)
    latest = {
        point["opponent"]: {"win_share": point["win_share"], "ci95": point["ci95"]}
        for point in curve
        if point["step"] == last
    }
    of = "final games" if final else f"step {last}" if latest else None
    return {
        "run": str(folder),
        "algorithm": config["algorithm"],
        "game": _game(config.get("game")),
        "seed": config.get("seed"),
        "steps": lines[-1]["step"] if lines else 0,
        "total_steps": config.get("total_steps"),
        "seconds": _seconds(lines),
        "win_shares": final or latest,
        "of": of,
        "curve": curve,
    }


def _config(path: Path) -> Json:
    """The config of a run, as far as a list needs it: one of another version will do."""
    import yaml

    if not path.is_file():
        raise UsageError("no run: it has no config.yaml")
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"config.yaml: cannot be read: {error}") from None
    if not isinstance(config, dict) or not isinstance(config.get("algorithm"), str):
        raise UsageError("no run: its config.yaml names no algorithm")
    for key in ("seed", "total_steps"):
        if not is_whole(config.get(key), 0, 2**64):
            raise UsageError(f"config.yaml: {key} is no whole number")
    return config


def _game(game: Any) -> str:
    """What is played, in a few words."""
    if not isinstance(game, dict):
        return "?"
    entries = game["mix"] if isinstance(game.get("mix"), list) else [game]
    words = []
    for entry in entries:
        if not isinstance(entry, dict):
            return "?"
        ruleset = entry.get("ruleset", "basic")
        players = entry.get("players")
        if isinstance(ruleset, dict):
            players = players or ruleset.get("players")
            ruleset = "custom"
        counts = players if isinstance(players, list) else [players or 2]
        words.append(f"{ruleset} {'+'.join(map(str, counts))}p")
    return ", ".join(words)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _points(line: Json) -> list[Json]:
    """The points of the learning curve in a line of metrics."""
    from agents.runs import WIN_SHARE

    points = []
    for key, share in line.items():
        opponent = key.removeprefix(WIN_SHARE)
        low, high = line.get(_LOW + opponent), line.get(_HIGH + opponent)
        if opponent != key and all(map(_is_number, (share, low, high))):
            point = {"step": line["step"], "opponent": opponent, "win_share": share}
            points.append(point | {"ci95": [low, high]})
    return points


def _seconds(lines: Sequence[Json]) -> float:
    """What the updates took, by their speeds."""
    seconds, before = 0.0, 0
    for line in lines:
        speed: Any = line.get(_SPEED)
        if _is_number(speed) and speed > 0:
            seconds += (line["step"] - before) / speed
        before = line["step"]
    return seconds


def _final(path: Path) -> Json:
    """The learner's win share against each opponent in `results.json`; empty if there is none."""
    if not path.is_file():
        return {}
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        learner = results["agents"][0]["spec"]
        found = {}
        for pair in results["pairs"]:
            if pair["a"] == learner:
                numbers = [float(number) for number in (pair["win_share_a"], *pair["ci95"])]
                share, low, high = numbers
                found[str(pair["b"])] = {"win_share": share, "ci95": [low, high]}
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise UsageError(f"{path.name}: damaged: {error!r}") from None
    return found


# All runs ---------------------------------------------------------------------------------------


def find(folders: Sequence[Path]) -> list[Path]:
    """The folders that were named, or all in `runs`.

    Raises:
        UsageError: none was named and there is no `runs`.
    """
    if folders:
        return list(dict.fromkeys(folders))
    try:
        found = [path for path in RUNS.iterdir() if path.is_dir()]
    except OSError as error:
        raise UsageError(f"{RUNS}: {error.strerror}; name the folders of runs") from None
    return sorted(path for path in found if not path.name.startswith("."))


def read_all(folders: Sequence[Path]) -> tuple[list[Json], list[Json]]:
    """Describe runs; those that cannot be read stand apart, each a `folder` and a `reason`."""
    found, left_out = [], []
    for folder in folders:
        try:
            found.append(describe(folder))
        except (UsageError, OSError) as error:
            reason = " ".join(str(error).split())
            left_out.append({"folder": str(folder), "reason": reason})
    return found, left_out


def opponents_of(described: Sequence[Json]) -> list[str]:
    """All opponents of some runs, in the order in which they come up."""
    return list(dict.fromkeys(spec for each in described for spec in each["win_shares"]))


def ordered(described: Sequence[Json], key: str) -> list[Json]:
    """Runs in order: names ascending, numbers from the largest, runs without one last.

    Args:
        described: the runs.
        key: one of `KEYS`, or an opponent, for the win share against it.

    Raises:
        UsageError: there is no such key.
    """
    opponents = opponents_of(described)
    if key not in (*KEYS, *opponents):
        raise UsageError(f"--sort: {key!r} is none of {', '.join((*KEYS, *opponents))}")

    def rank(each: Json) -> tuple[Any, ...]:
        if key in opponents:
            share = each["win_shares"].get(key)
            return (share is None, 0.0 if share is None else -share["win_share"])
        if key in ("steps", "time"):
            return (-each["seconds" if key == "time" else key],)
        return (each[key],)

    return sorted(described, key=rank)


def table(described: Sequence[Json]) -> str:
    """Runs as text, a line for each."""
    opponents = opponents_of(described)
    head = ["run", "algorithm", "game", "seed", "steps", "done", "minutes", "win shares of"]
    lines = [[*head, *(f"v {spec}" for spec in opponents)]]
    for each in described:
        done = min(each["steps"] / max(each["total_steps"], 1), 1)
        shares = (each["win_shares"].get(spec) for spec in opponents)
        lines.append(
            [
                each["run"],
                each["algorithm"],
                each["game"],
                str(each["seed"]),
                f"{each['steps']:,}",
                f"{int(100 * done)} %",
                f"{each['seconds'] / 60:.1f}",
                each["of"] or "-",
                *("-" if share is None else _interval(share) for share in shares),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _interval(share: Json) -> str:
    low, high = share["ci95"]
    return f"{share['win_share']:.3f} [{low:.3f}, {high:.3f}]"


def plot(described: Sequence[Json], path: Path) -> None:
    """Draw the learning curves of runs into a PNG file, a panel for each opponent.

    Raises:
        UsageError: none of them has been evaluated.
    """
    opponents = list(
        dict.fromkeys(point["opponent"] for each in described for point in each["curve"])
    )
    if not opponents:
        raise UsageError("--plot: none of the runs has been evaluated yet")
    figure = new_figure(8, 1.2 + 3 * len(opponents) + 0.2 * len(described))
    panels = figure.subplots(len(opponents), squeeze=False, sharex=True)[:, 0]
    for panel, opponent in zip(panels, opponents, strict=True):
        for number, each in enumerate(described):
            points = [point for point in each["curve"] if point["opponent"] == opponent]
            steps = [point["step"] for point in points]
            color = COLORS[number % len(COLORS)]
            style = _STYLES[number // len(COLORS) % len(_STYLES)]
            shares = [point["win_share"] for point in points]
            panel.plot(steps, shares, f"o{style}", color=color, markersize=3, label=each["run"])
            ends = [point["ci95"] for point in points]
            lows, highs = [low for low, _ in ends], [high for _, high in ends]
            panel.fill_between(steps, lows, highs, color=color, alpha=0.15, linewidth=0)
        panel.set_title(f"v {opponent}", fontsize=10)
        panel.set_ylim(0, 1)
        panel.set_ylabel("win share of one seat")
        panel.grid(color=GREY, alpha=0.3, linewidth=0.5)
    panels[-1].set_xlabel("steps")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", fontsize=9)
    write_png(figure, path)


def main() -> None:
    """Read the arguments and the runs, and show them."""
    parser = Parser(prog="agents.list_runs", description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="folder of a run")
    parser.add_argument(
        "--sort", default="run", metavar="KEY", help=f"of {', '.join(KEYS)}, or an opponent"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="PNG of the learning curves")
    arguments = parser.parse_args()
    require("torch", "safetensors", "pydantic", "yaml", "matplotlib", extra="train")

    found, left_out = read_all(find(arguments.runs))
    for each in left_out:
        print(f"left out: {each['folder']}: {each['reason']}", file=sys.stderr)
    if not found:
        raise UsageError("there is no run to list")
    found = ordered(found, arguments.sort)
    if arguments.plot is not None:
        try:
            plot(found, arguments.plot)
        except OSError as error:
            raise UsageError(f"--plot: {arguments.plot}: {error.strerror}") from None
    if arguments.json:
        print(json.dumps({"runs": found, "left_out": left_out}))
    else:
        print(table(found))


if __name__ == "__main__":
    run(main, "agents.list_runs")
