"""Plots of the statistics of `agents.stats`. Need the extra `train`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.plots import COLORS, GREY, new_figure, write_png
from agents.tally import STAGES, WAYS

Json = dict[str, Any]

PROGRESS: Final = "share of the game that is over"
_BIN: Final = 5  # points and turns that are counted together


def write_plots(summaries: Sequence[Json], folder: Path) -> None:
    """Draw all plots, `FILES`, into a folder.

    Args:
        summaries: what `agents.stats.summarise` gave.
        folder: there already.
    """
    for name, draw in PLOTS.items():
        write_png(draw(summaries), folder / name)


# Where the panels stand -----------------------------------------------------------------------


def _settings(summaries: Sequence[Json]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((each["ruleset"], each["players"]) for each in summaries))


def _lineups(summaries: Sequence[Json]) -> list[str]:
    return list(dict.fromkeys(each["lineup"] for each in summaries))


def _panels(
    summaries: Sequence[Json],
    title: str,
    x_label: str,
    y_label: str,
    draw: Callable[[Any, Json, str], None],
) -> Any:
    """A figure with a panel for each ruleset (down) and number of players (across).

    Args:
        summaries: what is drawn.
        title: of the figure.
        x_label: of the panels.
        y_label: likewise.
        draw: draws a summary into a panel, in a colour, under its lineup's name.
    """
    names = list(dict.fromkeys(name for name, _ in _settings(summaries)))
    counts = list(dict.fromkeys(count for _, count in _settings(summaries)))
    lineups = _lineups(summaries)
    figure = new_figure(1 + 4.2 * len(counts), 0.8 + 2.8 * len(names))
    panels = figure.subplots(len(names), len(counts), squeeze=False, sharex="col")
    for summary in summaries:
        panel = panels[names.index(summary["ruleset"])][counts.index(summary["players"])]
        draw(panel, summary, COLORS[lineups.index(summary["lineup"]) % len(COLORS)])
    for row, name in enumerate(names):
        for column, count in enumerate(counts):
            panels[row][column].set_title(f"{name}, {count} players", fontsize=10)
            panels[row][column].grid(color="#dddddd", linewidth=0.5)
            panels[row][column].set_axisbelow(True)
    for panel in panels[-1]:
        panel.set_xlabel(x_label)
    figure.suptitle(title)
    figure.supylabel(y_label, fontsize=10)
    _legend(figure, panels[0][0])
    return figure


def _legend(figure: Any, panel: Any) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(4, len(labels)), fontsize=9
    )


def _means(estimates: Sequence[Json | None]) -> tuple[Any, Any]:
    """Means, and how far their intervals go down and up; NaN where there is none."""
    means = np.array([np.nan if one is None else one["mean"] for one in estimates])
    ends = np.array([[np.nan, np.nan] if one is None else one["ci95"] for one in estimates])
    return means, np.maximum(np.abs(ends - means[:, None]).T, 0)


def _line(panel: Any, xs: Any, estimates: Sequence[Json | None], color: str, label: str) -> None:
    means, errors = _means(estimates)
    panel.errorbar(xs, means, errors, fmt="o-", color=color, label=label, markersize=3, linewidth=1)


# The plots ------------------------------------------------------------------------------------


def _seats(summaries: Sequence[Json]) -> Any:
    def draw(panel: Any, summary: Json, color: str) -> None:
        players = summary["players"]
        shares = [seat["win_share"] for seat in summary["seats"]]
        _line(panel, range(players), shares, color, summary["lineup"])
        panel.axhline(1 / players, color=GREY, linestyle="--", linewidth=1)
        panel.set_xticks(range(players))

    return _panels(summaries, "Who begins: win share of each seat", "seat", "win share", draw)


def _length(summaries: Sequence[Json]) -> Any:
    def draw(panel: Any, summary: Json, color: str) -> None:
        _distribution(panel, summary["length"]["games_by_turns"], color, summary["lineup"])

    return _panels(summaries, "Length of a game", "turns of all seats", "share of games", draw)


def _scores(summaries: Sequence[Json]) -> Any:
    def draw(panel: Any, summary: Json, color: str) -> None:
        _distribution(panel, summary["scores"]["seats_by_points"], color, summary["lineup"])

    return _panels(summaries, "Points of a seat", "points", "share of seats", draw)


def _distribution(panel: Any, counts: dict[str, int], color: str, label: str) -> None:
    values = np.array([int(value) for value in counts])
    low, high = values.min() // _BIN, values.max() // _BIN + 1
    edges = np.arange(low, high + 1) * _BIN
    shares, _ = np.histogram(values, edges, weights=list(counts.values()))
    panel.stairs(shares / shares.sum(), edges, color=color, label=label)


def _lead(summaries: Sequence[Json]) -> Any:
    def draw(panel: Any, summary: Json, color: str) -> None:
        shares = summary["lead"]["win_share_by_stage"]
        _line(panel, np.arange(STAGES) / STAGES, shares, color, summary["lineup"])
        panel.axhline(1 / summary["players"], color=GREY, linestyle="--", linewidth=1)
        panel.set_ylim(0, 1)

    return _panels(
        summaries, "What a lead in points is worth", PROGRESS, "win share of the leader", draw
    )


def _options(summaries: Sequence[Json]) -> Any:
    def draw(panel: Any, summary: Json, color: str) -> None:
        options = summary["choice"]["options_by_stage"]
        _line(panel, (np.arange(STAGES) + 0.5) / STAGES, options, color, summary["lineup"])
        panel.set_ylim(bottom=1)

    return _panels(
        summaries,
        "Branching: legal actions of a decision",
        PROGRESS,
        "mean number",
        draw,
    )


def _worth(summaries: Sequence[Json]) -> Any:
    def draw(panel: Any, summary: Json, color: str) -> None:
        tiles = [tile["tile"] for tile in summary["tiles"]]
        faces = [0 if tile == "lucky" else int(tile) for tile in tiles]
        panel.plot(range(len(tiles)), faces, color=GREY, linestyle="--", linewidth=1)
        worths = [tile["points_with"] for tile in summary["tiles"]]
        _line(panel, range(len(tiles)), worths, color, summary["lineup"])
        panel.set_xticks(range(len(tiles)), tiles, rotation=90, fontsize=8)

    return _panels(
        summaries,
        "Worth of a tile: points that its owner would have less without it",
        "tile (dashed: face value)",
        "points",
        draw,
    )


_WAY_COLORS: Final = dict(zip(WAYS, ("#D55E00", "#E69F00", "#0072B2"), strict=True))


def _ways(summaries: Sequence[Json]) -> Any:
    """A panel for each setting (down) and lineup (across)."""
    settings, lineups = _settings(summaries), _lineups(summaries)
    figure = new_figure(1 + 4.2 * len(lineups), 0.8 + 2.6 * len(settings))
    panels = figure.subplots(len(settings), len(lineups), squeeze=False)
    for summary in summaries:
        row = settings.index((summary["ruleset"], summary["players"]))
        panel = panels[row][lineups.index(summary["lineup"])]
        tiles = summary["tiles"]
        bottom = np.zeros(len(tiles))
        for way, color in _WAY_COLORS.items():
            taken, _ = _means([tile["taken"] for tile in tiles])
            shares, _ = _means([tile["ways"][way] for tile in tiles])
            heights = np.nan_to_num(taken * shares)
            panel.bar(range(len(tiles)), heights, bottom=bottom, color=color, label=way)
            bottom += heights
        panel.bar(range(len(tiles)), 1 - bottom, bottom=bottom, color="#dddddd", label="not taken")
        panel.set_xticks(range(len(tiles)), [tile["tile"] for tile in tiles], rotation=90)
        panel.tick_params(labelsize=8)
        panel.set_ylim(0, 1)
        panel.set_title(
            f"{summary['ruleset']}, {summary['players']} players, {summary['lineup']}", fontsize=9
        )
    figure.suptitle("How each tile is taken")
    figure.supylabel("share of the tiles", fontsize=10)
    _legend(figure, panels[0][0])
    return figure


PLOTS: Final[dict[str, Callable[[Sequence[Json]], Any]]] = {
    "seats.png": _seats,
    "length.png": _length,
    "scores.png": _scores,
    "lead.png": _lead,
    "options.png": _options,
    "worth.png": _worth,
    "ways.png": _ways,
}
FILES: Final = tuple(PLOTS)
