"""What a tournament gave: as text, in Markdown, as pictures, and as one HTML file.

Each takes `results`, the content of `results.json`. Pictures need the extra `train`.
"""

import base64
import html
import itertools
import shlex
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from agents.plots import COLORS, GREY, as_png, new_figure, write_png
from agents.ratings import ANCHOR, connected

Json = dict[str, Any]


# In words -------------------------------------------------------------------------------------


def headline(results: Json) -> str:
    """What was played."""
    return (
        f"{results['ruleset']}, {results['players']} players, {results['games']} games a pair, "
        f"seed {results['seed']}"
    )


def notes(results: Json) -> list[str]:
    """What is to be known of the ratings: where their 0 is, and whether they can be compared."""
    specs = list(dict.fromkeys(agent["spec"] for agent in results["agents"]))
    if ANCHOR in specs:
        said = [f"ratings on an Elo scale, {ANCHOR} at 0"]
    else:
        said = [f"ratings on an Elo scale, the mean of all at 0 ({ANCHOR} did not take part)"]
    games = np.array([[specs.index(pair[side]) for side in "ab"] for pair in results["pairs"]])
    groups = connected(len(specs), games)
    if len(groups) > 1:
        named = "; ".join(", ".join(specs[which] for which in group) for group in groups)
        said.append(f"no games connect these groups, so their ratings cannot be compared: {named}")
    return said


def _interval(value: float, ends: Sequence[float], digits: int = 3) -> str:
    low, high = ends
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _best_first(results: Json) -> list[Json]:
    return sorted(results["agents"], key=lambda agent: -agent["rating"])


def _cells(results: Json) -> dict[tuple[str, str], Json]:
    """What the row's one seat won against the column's; equal specs played equal games."""
    return {(pair["a"], pair["b"]): pair for pair in results["pairs"]}


def _between(cells: dict[tuple[str, str], Json], row: Json, column: Json) -> Json | None:
    return None if row is column else cells.get((row["spec"], column["spec"]))


def table(results: Json) -> str:
    """A row for each agent, and what its one seat wins against each other."""
    specs = [agent["spec"] for agent in results["agents"]]
    width = max(12, *(len(spec) for spec in specs))
    lines = [
        f"{headline(results)}; win share of one seat (fair: {1 / results['players']:.3f}), "
        "95 % intervals",
        *notes(results),
        f"{'agent':<{width}}  win share                 score   rank  ms/decision  rating",
    ]
    for agent in results["agents"]:
        lines.append(
            f"{agent['spec']:<{width}}  {_interval(agent['win_share'], agent['ci95'])}  "
            f"{agent['mean_score']:9.2f} {agent['mean_rank']:6.2f} "
            f"{agent['ms_per_decision']:12.4f}  "
            f"{_interval(agent['rating'], agent['rating_ci95'], 0)}"
        )
    lines.append("")
    for pair in results["pairs"]:
        lines.append(
            f"{pair['a']:>{width}} v {pair['b']:<{width}} "
            f"{_interval(pair['win_share_a'], pair['ci95'])}  {pair['games']} games"
        )
    return "\n".join(lines)


def markdown(results: Json) -> str:
    """A cross table, the best first: what each row's seat wins."""
    order, cells = _best_first(results), _cells(results)
    specs = ["`{}`".format(agent["spec"].replace("|", "\\|")) for agent in order]
    lines = [
        f"{headline(results)}: win share of the row's seat against the column's (fair: "
        f"{1 / results['players']:.3f}), 95 % intervals; {'; '.join(notes(results))}.",
        "",
        f"| | rating | ms a decision | {' | '.join(specs)} |",
        "|---" * (len(order) + 3) + "|",
    ]
    for row, spec in zip(order, specs, strict=True):
        texts = [_interval(row["rating"], row["rating_ci95"], 0), f"{row['ms_per_decision']:.3f}"]
        for column in order:
            pair = _between(cells, row, column)
            texts.append("" if pair is None else _interval(pair["win_share_a"], pair["ci95"]))
        lines.append(f"| {spec} | {' | '.join(texts)} |")
    return "\n".join(lines)


# In pictures ----------------------------------------------------------------------------------


def _labels(agents: Sequence[Json]) -> list[str]:
    return ["\n".join(textwrap.wrap(agent["spec"], 36)) for agent in agents]


def _intervals_plot(
    results: Json, agents: Sequence[Json], value: str, ends: str, label: str
) -> tuple[Any, Any]:
    """A figure with a row for each agent, and its axes."""
    figure = new_figure(8, 1.2 + 0.5 * len(agents))
    axes = figure.add_subplot()
    for row, agent in enumerate(agents):
        axes.plot(agent[ends], [row, row], color=COLORS[0], linewidth=3)
        axes.plot(agent[value], row, "o", color=COLORS[0])
    axes.set_yticks(range(len(agents)), _labels(agents), parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.set_title(headline(results))
    return figure, axes


def win_share_plot(results: Json) -> Any:
    """The win share of each agent with its interval."""
    label = "win share of one seat, 95 % interval over deals"
    figure, axes = _intervals_plot(results, results["agents"], "win_share", "ci95", label)
    axes.axvline(1 / results["players"], color=GREY, linestyle="--", label="fair share")
    axes.set_xlim(0, 1)
    axes.legend(loc="lower right")
    return figure


def rating_plot(results: Json) -> Any:
    """The rating of each agent with its interval, the best first."""
    label = f"{notes(results)[0]}; 95 % intervals over deals"
    order = _best_first(results)
    figure, axes = _intervals_plot(results, order, "rating", "rating_ci95", label)
    axes.axvline(0, color=GREY, linestyle="--")
    return figure


def heat_map(results: Json) -> Any:
    """The cross table, the best first: blue where the row's seat wins more than its share."""
    from matplotlib.colors import TwoSlopeNorm

    order, cells = _best_first(results), _cells(results)
    fair = 1 / results["players"]
    shares = np.full((len(order), len(order)), np.nan)
    for row, column in itertools.product(range(len(order)), repeat=2):
        pair = _between(cells, order[row], order[column])
        if pair is not None:
            shares[row, column] = pair["win_share_a"]
    figure = new_figure(4.5 + 0.75 * len(order), 2.5 + 0.6 * len(order))
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="RdBu", norm=TwoSlopeNorm(fair, 0, 1), aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if not np.isnan(share):
            red, green, blue, _ = image.cmap(image.norm(share))
            is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            color = "white" if is_dark else "black"
            axes.text(column, row, f"{share:.3f}", ha="center", va="center", color=color)
    labels = _labels(order)
    axes.set_yticks(range(len(order)), labels, parse_math=False)
    axes.set_xticks(range(len(order)), labels, parse_math=False, rotation=45, ha="right")
    axes.set_title(f"{headline(results)}\nwin share of the row's seat against the column's")
    figure.colorbar(image, label=f"win share (fair: {fair:.3f})")
    return figure


PLOTS: dict[str, Callable[[Json], Any]] = {
    "results.png": win_share_plot,
    "ratings.png": rating_plot,
    "heatmap.png": heat_map,
}


def plot(results: Json, path: Path) -> None:
    """Draw the win share of each agent with its interval into a PNG file.

    Args:
        results: see the module.
        path: of the file.
    """
    write_png(win_share_plot(results), path)


# As one page ----------------------------------------------------------------------------------

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>$title</title>
<style>
:root { --page: #ffffff; --text: #1a1a1a; --line: #c8c8c8; --row: #f3f3f3; --link: #005a9c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #000000; --text: #e6e6e6; --line: #555555; --row: #1c1c1c; --link: #7ab8f5; }
}
body { margin: 0 auto; max-width: 64rem; padding: 1rem; background: var(--page);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
.wide:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0.25rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.7rem; text-align: right;
  white-space: nowrap; }
th[scope=row], thead th:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--row); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
</head>
<body>
<main>
<h1>$title</h1>
<p>$notes</p>
<h2>Ratings</h2>
$ratings_picture
$ratings
<h2>Pairs</h2>
$heat_map
$pairs
<h2>Seats</h2>
$seats
<h2>How</h2>
<pre>$command</pre>
<p>Every pair plays the same deals with the same dice from every seat. With more than two players
one agent takes one seat and the other all the rest, then the reverse. Ratings are one fit over all
games: a seat's chance to win is proportional to the exponential of its agent's strength, with a
prior of 1000 points around the mean. Intervals are 95 %, by bootstrap over deals.</p>
</main>
</body>
</html>
""")


def page(results: Json, seats: Sequence[Json]) -> str:
    """All of it as one HTML page that asks for no other file.

    Args:
        results: see the module.
        seats: of `Tournament.seats`.
    """
    order, cells = _best_first(results), _cells(results)
    ratings = [
        [
            agent["spec"],
            _interval(agent["rating"], agent["rating_ci95"], 0),
            _interval(agent["win_share"], agent["ci95"]),
            f"{agent['mean_score']:.2f}",
            f"{agent['mean_rank']:.2f}",
            f"{agent['games']:,}",
            f"{agent['ms_per_decision']:.3f}",
        ]
        for agent in order
    ]
    pairs = []
    for row in order:
        texts = [row["spec"]]
        for column in order:
            pair = _between(cells, row, column)
            texts.append("" if pair is None else _interval(pair["win_share_a"], pair["ci95"]))
        pairs.append(texts)
    by_seat = [
        [
            f"{seat['seat'] + 1}",
            _interval(seat["win_share"], seat["win_share_ci95"]),
            _interval(seat["score"], seat["score_ci95"], 2),
        ]
        for seat in seats
    ]
    fair = f"fair: {1 / results['players']:.3f}"
    command = ["python", "evaluate.py", "--agents", *(a["spec"] for a in results["agents"])]
    for option in ("ruleset", "players", "games", "seed"):
        command += [f"--{option}", str(results[option])]
    said = ". ".join(note[0].upper() + note[1:] for note in notes(results))
    return _PAGE.substitute(
        title=html.escape(headline(results)),
        notes=html.escape(f"{said}. Brackets are 95 % intervals."),
        ratings_picture=_picture(rating_plot, results, "Ratings with intervals; table below"),
        ratings=_table(
            "The agents, the best first",
            ["agent", "rating", f"win share ({fair})", "score", "rank", "games", "ms a decision"],
            ratings,
        ),
        heat_map=_picture(heat_map, results, "Heat map of the cross table below"),
        pairs=_table(
            f"Win share of the row's seat against the column's ({fair})",
            ["agent", *(agent["spec"] for agent in order)],
            pairs,
        ),
        seats=_table(
            "Seats in the order of play: what the one seat of all pairs got there",
            ["seat", f"win share ({fair})", "score"],
            by_seat,
        ),
        command=html.escape(shlex.join(command)),
    )


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    lines = [
        f'<div class="wide" role="region" tabindex="0" aria-label="{html.escape(caption)}">',
        f"<table><caption>{html.escape(caption)}</caption>",
        f"<thead><tr>{heads}</tr></thead>",
        "<tbody>",
    ]
    for first, *others in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in others)
        lines.append(f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody>", "</table></div>"])


def _picture(draw: Callable[[Json], Any], results: Json, text: str) -> str:
    """A plot for light and for dark pages, inside the page."""
    from matplotlib import style

    light = _as_url(as_png(draw(results)))
    with style.context("dark_background"):
        dark = _as_url(as_png(draw(results)))
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{html.escape(text)}"></picture>'
    )


def _as_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
