"""What the benchmark gave, as Markdown and as a picture. Needs the extra `train`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from judging import over_seeds
from tasks import ANCHORS, RIVAL, Task

from agents.plots import COLORS, GREY, new_figure, write_png

Json = dict[str, Any]


def markdown(task: Task, found: Json) -> str:
    """The table of a task.

    Args:
        task: which.
        found: `runs`, by algorithm those of each seed; and either `tournament` or `losses`, by
            label.
    """
    head = f"`{task.name}`: {task.about}; {_budgets(found)} decisions in training, "
    n_seeds = _counts(found)
    head += f"{n_seeds} {'seed' if n_seeds == '1' else 'seeds'}.\n\n"
    return head + (_losses_table(task, found) if task.boards else _ratings_table(found))


def _ratings_table(found: Json) -> str:
    lines = [
        "| player | rating | " + " | ".join(f"v `{spec}`" for spec in ANCHORS) + " | time, s |",
        "|---" * (len(ANCHORS) + 3) + "|",
    ]
    agents = {agent["spec"]: agent for agent in found["tournament"]["agents"]}
    pairs = {(pair["a"], pair["b"]): pair for pair in found["tournament"]["pairs"]}
    rows = []
    for algorithm, runs in found["runs"].items():
        labels = [run["label"] for run in runs]
        own = [agents[label] for label in labels]
        rating = over_seeds([one["rating"] for one in own], [one["rating_ci95"] for one in own])
        cells = [_interval(rating, 0)]
        for spec in ANCHORS:
            own = [pairs[label, spec] for label in labels]
            share = over_seeds([one["win_share_a"] for one in own], [one["ci95"] for one in own])
            cells.append(_interval(np.clip(share, 0, 1)))
        rows.append((rating[0], [f"**{algorithm}**", *cells, _time(runs)]))
    for label in _others(found, agents):
        rating = agents[label]["rating"]
        cells = [_interval((rating, *agents[label]["rating_ci95"]), 0)]
        for spec in ANCHORS:
            pair = pairs.get((label, spec))
            cells.append(_interval((pair["win_share_a"], *pair["ci95"])) if pair else "")
        rows.append((rating, [f"`{label}`", *cells, ""]))
    lines += [f"| {' | '.join(row)} |" for _, row in sorted(rows, key=lambda row: -row[0])]
    return "\n".join(lines) + "\n"


def _losses_table(task: Task, found: Json) -> str:
    lines = [
        "| player | loss | exploitability | optimal decisions | "
        + " | ".join(f"loss on `{board}`" for board in task.boards)
        + " | time, s |",
        "|---" * (len(task.boards) + 5) + "|",
    ]
    rows = []
    groups = {name: [run["label"] for run in runs] for name, runs in found["runs"].items()}
    groups |= {label: [label] for label in _others(found, found["losses"])}
    for name, labels in groups.items():
        of_seeds = [found["losses"][label] for label in labels]
        cells = []
        for key in ("loss", "exploitability", "optimal_share"):
            means = [float(np.mean([one[key] for one in boards])) for boards in of_seeds]
            cells.append(_interval(np.clip(over_seeds(means), 0, 1), 4))
        for place in range(len(task.boards)):
            mean = over_seeds([boards[place]["loss"] for boards in of_seeds])[0]
            cells.append(f"{mean:.4f}")
        is_learner = name in found["runs"]
        cells.append(_time(found["runs"][name]) if is_learner else "")
        loss = float(np.mean([one["loss"] for boards in of_seeds for one in boards]))
        rows.append((loss, [f"**{name}**" if is_learner else f"`{name}`", *cells]))
    lines += [f"| {' | '.join(row)} |" for _, row in sorted(rows, key=lambda row: row[0])]
    return "\n".join(lines) + "\n"


def _others(found: Json, labels: Any) -> list[str]:
    learned = {run["label"] for runs in found["runs"].values() for run in runs}
    return [label for label in labels if label not in learned]


def _budgets(found: Json) -> str:
    return " or ".join(f"{steps:,}" for steps in sorted({run["steps"] for run in _runs(found)}))


def _counts(found: Json) -> str:
    return " or ".join(str(n) for n in sorted({len(runs) for runs in found["runs"].values()}))


def _runs(found: Json) -> list[Json]:
    return [run for runs in found["runs"].values() for run in runs]


def _time(runs: list[Json]) -> str:
    return f"{np.median([run['seconds'] for run in runs]):.0f}"


def _interval(interval: Any, digits: int = 3) -> str:
    value, low, high = interval
    if low == high:  # exact, or the anchor of the ratings
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def plot(tasks: Sequence[Task], found: Sequence[Json], path: Path) -> None:
    """Draw the learning curves: means over seeds with their intervals, a panel for each task."""
    figure = new_figure(5 * len(tasks), 4.2)
    panels = figure.subplots(1, len(tasks), squeeze=False)[0]
    for axes, task, results in zip(panels, tasks, found, strict=True):
        for number, (algorithm, runs) in enumerate(results["runs"].items()):
            curves = np.array([run["curve"] for run in runs])  # [seeds, points, 4]
            steps, n_points = curves[0, :, 0], curves.shape[1]
            scores = [over_seeds(curves[:, at, 1], curves[:, at, 2:]) for at in range(n_points)]
            points = np.clip(scores, 0, 1)
            color = COLORS[number % len(COLORS)]
            axes.plot(steps, points[:, 0], "o-", markersize=3, color=color, label=algorithm)
            axes.fill_between(
                steps, points[:, 1], points[:, 2], color=color, alpha=0.15, linewidth=0
            )
        for spec, level in _levels(task, results):
            axes.axhline(level, color=GREY, linestyle="--", linewidth=1)
            axes.annotate(
                spec,
                (0.01, level),
                xytext=(0, 2),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                fontsize=7,
            )
        axes.set_title(task.name)
        axes.set_xlabel("decisions of the learner in training")
        axes.set_ylabel(task.measure)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylim(0, None if task.boards else 1)
    panels[0].legend(loc="best", fontsize="small")
    write_png(figure, path)


def _levels(task: Task, found: Json) -> list[tuple[str, float]]:
    """Where those who do not learn stand by the measure of the curves."""
    if task.boards:
        return [
            (spec, float(np.mean([one["loss"] for one in found["losses"][spec]])))
            for spec in ANCHORS
        ]
    return [
        (pair["a"], pair["win_share_a"])
        for pair in found["tournament"]["pairs"]
        if pair["a"] in ANCHORS and pair["b"] == RIVAL
    ]
