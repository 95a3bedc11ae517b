"""Statistics of the game itself, from games that agents play.

python -m agents.stats --agents greedy mc:rollouts=30 --ruleset basic,full --players 2,4 --out DIR

Each agent plays games with itself in all seats. Two agents or more also play mixed games: the order
in which they sit is drawn for each deal, and each sits in each seat once. Shown are means, with
half of a 95 % interval by bootstrap over deals.
"""

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

import agents
from agents import stats_plots
from agents.arena import play_games
from agents.base import Agent
from agents.cli import (
    Parser,
    UsageError,
    listed,
    output_folder,
    player_counts,
    preset_names,
    progress_bar,
    run,
    whole_number,
)
from agents.extras import require
from agents.files import write_json, write_text
from agents.ratings import LEVEL
from agents.tally import STAGES, STANDINGS, WAYS, Tallies, tally
from agents.tournament import N_RESAMPLES
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.board import DIE_FACES, LUCKY, MIN_VALUE, N_ACTIONS, N_VALUES, NAME_OF_TILE
from thatslife_env.games import stream_seeds

MIXED: Final = "mixed"
JSON, MARKDOWN = "statistics.json", "statistics.md"
MAX_GAMES: Final = 100_000

_CHUNK: Final = 8192  # games whose actions are held at a time; it changes no result
_ORDER: Final = 0x0DE20DE20DE20DE2  # a stream apart from deals, dice and decisions
_MANY_LUCKY: Final = 4  # lucky tiles from which towers are counted together

Json = dict[str, Any]
Floats = npt.NDArray[np.float64]


# Games ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Games of some agents in one ruleset, deal by deal.

    Attributes:
        name: of the ruleset.
        ruleset: what was played.
        who: the spec of the agent in all seats, or `mixed`.
        specs: of the agents.
        lineups: int64[G, players], which of them sat where.
        tallies: TALLY[G].
        per_deal: games of each deal.
    """

    name: str
    ruleset: Ruleset
    who: str
    specs: list[str]
    lineups: npt.NDArray[np.int64]
    tallies: Tallies
    per_deal: int


def lineups_of(n_agents: int, players: int, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Who sits where, each agent once in each seat of each deal.

    Args:
        n_agents: A.
        players: number of players.
        seeds: uint64[D], the deals.

    Returns:
        int64[D * A, players]: for each deal an order of the agents, drawn from its seed and turned
        on by one seat from game to game; where there are more seats than agents it goes round.
    """
    keys = [stream_seeds(int(seed) ^ _ORDER, n_agents) for seed in seeds]
    orders = np.argsort(keys, axis=1)
    places = (np.arange(n_agents)[:, None] + np.arange(players)) % n_agents
    return orders[:, places].reshape(-1, players)


def play(
    players: Sequence[Agent],
    ruleset: Ruleset,
    name: str,
    *,
    games: int,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int], None] = lambda n_games: None,
) -> Sample:
    """Play games of some agents, and count what happens in them.

    Args:
        players: one, who takes all seats, or several.
        ruleset: what is played.
        name: how tables call it.
        games: how many, rounded up to whole deals; each deal is played once for each agent.
        seed: deal i is `draw64(seed, i)`.
        threads: see `play_games`.
        progress: see `play_games`.
    """
    per_deal = len(players)
    deals = stream_seeds(seed, -(-games // per_deal))
    seeds = np.repeat(deals, per_deal)
    lineups = lineups_of(per_deal, ruleset.players, deals)
    tallies = []
    for begin in range(0, len(seeds), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        results = play_games(
            players,
            ruleset,
            seeds[part],
            lineups[part],
            threads=threads,
            record=True,
            progress=progress,
        )
        tallies.append(tally(ruleset, seeds[part], results.actions or []))
    specs = [player.name for player in players]
    who = specs[0] if len(specs) == 1 else MIXED
    return Sample(name, ruleset, who, specs, lineups, np.concatenate(tallies), per_deal)


# Numbers --------------------------------------------------------------------------------------


class Estimates:
    """Ratios of sums over all games, with intervals by resampling deals.

    Args:
        n_deals: D.
        per_deal: games of each, which stand together.
        seed: of the resampling.
    """

    def __init__(self, n_deals: int, per_deal: int, seed: int) -> None:
        self._shape = (n_deals, per_deal, -1)
        rng = np.random.default_rng(seed)
        self._weights = np.empty((N_RESAMPLES, n_deals), np.uint8)  # how often each is drawn
        for row in self._weights:
            row[:] = np.bincount(rng.integers(n_deals, size=n_deals), minlength=n_deals)

    def ratios(self, parts: npt.ArrayLike, wholes: npt.ArrayLike = 1.0) -> list[Json | None]:
        """Sum of parts by sum of wholes, for each of K columns.

        Args:
            parts: number[G, K].
            wholes: likewise, or what broadcasts to it.

        Returns:
            For each column `{"mean": ratio, "ci95": [low, high]}`; None where the wholes are 0.
        """
        above = np.asarray(parts, np.float64)
        below = np.broadcast_to(np.asarray(wholes, np.float64), above.shape)
        n_columns = above.shape[1]
        both = np.concatenate([above, below], axis=1).reshape(self._shape).sum(axis=1)
        drawn = np.concatenate(
            [block.astype(np.float64) @ both for block in np.array_split(self._weights, 40)]
        )
        tail = (1 - LEVEL) / 2
        found: list[Json | None] = []
        for column in range(n_columns):
            whole = both[:, n_columns + column].sum()
            if whole == 0:
                found.append(None)
                continue
            sums, wholes_drawn = drawn[:, column], drawn[:, n_columns + column]
            means = sums[wholes_drawn > 0] / wholes_drawn[wholes_drawn > 0]
            ends = [float(end) for end in np.quantile(means, [tail, 1 - tail])]
            found.append({"mean": float(both[:, column].sum() / whole), "ci95": ends})
        return found

    def ratio(self, part: npt.ArrayLike, whole: npt.ArrayLike = 1.0) -> Json | None:
        """The same of one column, number[G] or [G, J], which is summed up."""
        return self.ratios(_column(part), _column(whole))[0]


def _column(numbers: npt.ArrayLike) -> Floats:
    given = np.asarray(numbers, np.float64)
    return given if given.ndim == 0 else given.reshape(len(given), -1).sum(axis=1, keepdims=True)


def summarise(sample: Sample, seed: int) -> Json:
    """All statistics of some games, as plain JSON; docs/statistics.md says what they are.

    Args:
        sample: the games.
        seed: of the resampling.
    """
    tallies, players = sample.tallies, sample.ruleset.players
    n_games = len(tallies)
    estimates = Estimates(n_games // sample.per_deal, sample.per_deal, seed)
    return {
        "ruleset": sample.name,
        "players": players,
        "lineup": sample.who,
        "games": n_games,
        "deals": n_games // sample.per_deal,
        "length": _length(tallies, estimates),
        "choice": _choice(tallies, estimates),
        "seats": _seats(tallies, players, estimates),
        "scores": _scores(tallies, players, estimates),
        "tiles": _tiles(sample, estimates),
        "lucky": _lucky(tallies, players, estimates),
        "home": _home(tallies, players, estimates),
        "lead": _lead(tallies, estimates),
        "actions": _actions(tallies, estimates),
        "guards": _guards(tallies, estimates) if sample.ruleset.guards else None,
        "agents": _by_agent(sample, estimates),
    }


def _histogram(values: npt.NDArray[Any]) -> dict[str, int]:
    """How often each whole number is among the values."""
    return {str(value): count for value, count in sorted(Counter(values.ravel().tolist()).items())}


def _length(tallies: Tallies, estimates: Estimates) -> Json:
    return {
        "turns": estimates.ratio(tallies["turns"]),
        "decisions": estimates.ratio(tallies["decisions"]),
        "tiles_left": estimates.ratio(tallies["left"]),
        "games_by_turns": _histogram(tallies["turns"]),
    }


def _choice(tallies: Tallies, estimates: Estimates) -> Json:
    options = tallies["options"]
    numbers = np.arange(N_ACTIONS + 1)
    size = options @ np.log10(np.maximum(numbers, 1)) + tallies["turns"] * np.log10(DIE_FACES)
    return {
        "options": estimates.ratio(options @ numbers, tallies["decisions"]),
        "open": estimates.ratio(options[:, 2:]),
        "forced": estimates.ratio(options[:, 1], tallies["decisions"]),
        "log10_lines": estimates.ratio(size),
        "decisions_by_options": {
            str(number): int(options[:, number].sum()) for number in numbers[1:]
        },
        "options_by_stage": estimates.ratios(tallies["stage_options"], tallies["stage_decisions"]),
    }


def _seats(tallies: Tallies, players: int, estimates: Estimates) -> list[Json]:
    shares = estimates.ratios(tallies["win_share"][:, :players])
    points = estimates.ratios(tallies["points"][:, :players])
    first = estimates.ratios(tallies["home"][:, :players] == 0)
    return [
        {"seat": seat, "win_share": shares[seat], "points": points[seat], "home_first": first[seat]}
        for seat in range(players)
    ]


def _scores(tallies: Tallies, players: int, estimates: Estimates) -> Json:
    points = tallies["points"][:, :players]
    ordered = np.sort(points, axis=1)
    is_tie = ordered[:, -1] == ordered[:, -2]
    is_shared = tallies["win_share"].max(axis=1) < 1
    return {
        "points": estimates.ratio(points, np.full(len(points), players)),
        "winner": estimates.ratio(ordered[:, -1]),
        "margin": estimates.ratio(ordered[:, -1] - ordered[:, -2]),
        "spread": estimates.ratio(ordered[:, -1] - ordered[:, 0]),
        "below_0": estimates.ratio(points < 0, np.full(len(points), players)),
        "tied": estimates.ratio(is_tie),
        "shared": estimates.ratio(is_shared),
        "seats_by_points": _histogram(points),
    }


def _tiles(sample: Sample, estimates: Estimates) -> list[Json]:
    tallies, players = sample.tallies, sample.ruleset.players
    laid = Counter(sample.ruleset.tiles)
    taken = tallies["taken"].sum(axis=2)
    copies = np.array([laid[kind + MIN_VALUE] for kind in range(N_VALUES)])
    columns = {
        "taken": estimates.ratios(taken, copies),
        "time": estimates.ratios(tallies["time"], taken),
        "held": estimates.ratios(tallies["held"]),
        "points_with": estimates.ratios(tallies["points_with"], tallies["kept"]),
        "win_share_with": estimates.ratios(tallies["wins_with"], tallies["kept"]),
    }
    groups = {
        "ways": (WAYS, tallies["way"]),
        "standings": (STANDINGS, tallies["standing"]),
        "seats": (tuple(map(str, range(players))), tallies["taken"]),
    }
    shares = {
        group: {
            name: estimates.ratios(counted[:, :, which], taken) for which, name in enumerate(names)
        }
        for group, (names, counted) in groups.items()
    }
    return [
        {
            "tile": tile_name(kind + MIN_VALUE),
            "copies": int(copies[kind]),
            **{key: column[kind] for key, column in columns.items()},
            **{
                group: {name: column[kind] for name, column in named.items()}
                for group, named in shares.items()
            },
        }
        for kind in range(N_VALUES)
        if copies[kind]
    ]


def tile_name(tile: int) -> str:
    """How tables call a tile: `lucky`, or its value with a sign."""
    return NAME_OF_TILE[LUCKY] if tile == LUCKY else f"{tile:+d}"


def _lucky(tallies: Tallies, players: int, estimates: Estimates) -> Json:
    lucky = tallies["lucky"][:, :players]
    points = tallies["turned"][:, :players]
    shares = tallies["win_share"][:, :players]
    towers = []
    for number in range(_MANY_LUCKY + 1):
        has = lucky >= number if number == _MANY_LUCKY else lucky == number
        towers.append(
            {
                "lucky": f"{number}" + "+" * (number == _MANY_LUCKY),
                "share": estimates.ratio(has, np.full(len(lucky), players)),
                "turned": estimates.ratio(points * has, has),
                "win_share": estimates.ratio(shares * has, has),
            }
        )
    return {
        "turning": estimates.ratio(tallies["turning"], lucky),
        "turned_each": estimates.ratio(points, lucky),
        "towers": towers,
    }


def _home(tallies: Tallies, players: int, estimates: Estimates) -> list[Json]:
    places = tallies["home"][:, :players]
    found = []
    for place in range(players):
        is_there = places == place
        found.append(
            {
                "place": place + 1,
                "win_share": estimates.ratio(tallies["win_share"][:, :players] * is_there),
                "points": estimates.ratio(tallies["points"][:, :players] * is_there),
            }
        )
    return found


def _lead(tallies: Tallies, estimates: Estimates) -> Json:
    """Of each stage how often a seat is ahead when it begins, and what that seat wins."""
    leaders = tallies["leader"]
    is_led = leaders >= 0
    shares = np.take_along_axis(tallies["win_share"], np.maximum(leaders, 0), axis=1)
    return {
        "changes": estimates.ratio(tallies["lead_changes"]),
        "led_by_stage": estimates.ratios(is_led),
        "win_share_by_stage": estimates.ratios(shares * is_led, is_led),
    }


def _actions(tallies: Tallies, estimates: Estimates) -> Json:
    return {
        "gifts": estimates.ratio(tallies["gifts"]),
        "gift_value": estimates.ratio(tallies["gift_values"], tallies["gifts"]),
        "steals": estimates.ratio(tallies["steals"]),
        "steal_value": estimates.ratio(tallies["steal_values"], tallies["steals"]),
        "idle": estimates.ratio(tallies["idle"]),
    }


def _guards(tallies: Tallies, estimates: Estimates) -> Json:
    lucky = LUCKY - MIN_VALUE
    return {
        "moves": estimates.ratio(tallies["guard_moves"]),
        "open": estimates.ratio(tallies["guard_open"], tallies["decisions"]),
        "used": estimates.ratio(tallies["guard_moves"], tallies["guard_open"]),
        "held": estimates.ratio(tallies["held"]),
        "held_minus": estimates.ratio(tallies["held"][:, :lucky]),
        "held_lucky": estimates.ratio(tallies["held"][:, lucky]),
        "home": estimates.ratio(tallies["guards_home"]),
    }


def _by_agent(sample: Sample, estimates: Estimates) -> list[Json]:
    """What each agent gets in one seat, and the tiles that it takes there."""
    tallies = sample.tallies
    players = sample.ruleset.players
    found = []
    for which, spec in enumerate(sample.specs):
        is_theirs = sample.lineups == which
        n_seats = is_theirs.sum(axis=1)
        taken = (tallies["taken"][:, :, :players] * is_theirs[:, None, :]).sum(axis=2)
        per_seat = estimates.ratios(taken, n_seats[:, None])
        found.append(
            {
                "spec": spec,
                "win_share": estimates.ratio(
                    tallies["win_share"][:, :players] * is_theirs, n_seats
                ),
                "points": estimates.ratio(tallies["points"][:, :players] * is_theirs, n_seats),
                "takes": {
                    tile_name(kind + MIN_VALUE): per_seat[kind]
                    for kind in range(N_VALUES)
                    if kind + MIN_VALUE in sample.ruleset.tiles
                },
            }
        )
    return found


# Tables ---------------------------------------------------------------------------------------


class Table(NamedTuple):
    """A table for people: each row as long as the head."""

    title: str
    head: list[str]
    rows: list[list[str]]

    def as_text(self) -> str:
        """In columns."""
        lines = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *shown])

    def as_markdown(self) -> str:
        """As Markdown has it."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join([f"{self.title}:", "", *(f"| {' | '.join(line)} |" for line in lines)])


def shown(estimate: Json | None, digits: int = 3) -> str:
    """A mean and half of its interval; a dash where there is none."""
    if estimate is None:
        return "-"
    low, high = estimate["ci95"]
    return f"{estimate['mean']:.{digits}f} ±{(high - low) / 2:.{digits}f}"


def tables(summaries: Sequence[Json]) -> list[Table]:
    """All tables of some statistics: first those with a row for each, then one of tiles for each.

    Args:
        summaries: what `summarise` gave.
    """
    most = max(summary["players"] for summary in summaries)
    towers = summaries[0]["lucky"]["towers"]
    alike = [summary for summary in summaries if summary["lineup"] != MIXED]
    made = [
        _by_sample(
            "Length of a game and choice in it",
            summaries,
            {
                "turns": _cell("length", "turns", digits=1),
                "decisions": _cell("length", "decisions", digits=1),
                "with 2 options or more": _cell("choice", "open", digits=1),
                "options a decision": _cell("choice", "options", digits=2),
                "lines of play, log10": _cell("choice", "log10_lines", digits=1),
                "tiles left": _cell("length", "tiles_left", digits=2),
            },
        ),
        _by_sample(
            "Win share of each seat",
            alike,
            {f"seat {seat}": _cell("seats", seat, "win_share") for seat in range(most)},
        ),
        _by_sample(
            "Points",
            summaries,
            {
                "a seat": _cell("scores", "points", digits=1),
                "winner": _cell("scores", "winner", digits=1),
                "ahead of the second by": _cell("scores", "margin", digits=1),
                "seats below 0": _cell("scores", "below_0"),
                "ties for the first place": _cell("scores", "tied"),
                "shared victories": _cell("scores", "shared"),
            },
        ),
        _by_sample(
            "Win share of who is ahead by points when so much of the game is over",
            summaries,
            {
                "changes of the lead": _cell("lead", "changes", digits=1),
                **{
                    f"{stage}0 %": _cell("lead", "win_share_by_stage", stage)
                    for stage in range(1, STAGES, 2)
                },
            },
        ),
        _by_sample(
            "Win share by the place in which a seat gets home",
            summaries,
            {f"{place + 1}.": _cell("home", place, "win_share") for place in range(most)},
        ),
        _by_sample(
            "Lucky tiles: those that turn a tile, points by each, and win share by their number",
            summaries,
            {
                "turn": _cell("lucky", "turning"),
                "points each": _cell("lucky", "turned_each", digits=2),
                **{
                    tower["lucky"]: _cell("lucky", "towers", which, "win_share")
                    for which, tower in enumerate(towers)
                },
            },
        ),
        _by_sample(
            "Action tiles, a game",
            summaries,
            {
                "gifts": _cell("actions", "gifts", digits=2),
                "value of a gift": _cell("actions", "gift_value", digits=2),
                "steals": _cell("actions", "steals", digits=2),
                "value of what is stolen": _cell("actions", "steal_value", digits=2),
                "nothing happens": _cell("actions", "idle", digits=2),
            },
        ),
    ]
    guarded = [summary for summary in summaries if summary["guards"] is not None]
    if guarded:
        made.append(
            _by_sample(
                "Guards, a game",
                guarded,
                {
                    "moves": _cell("guards", "moves", digits=1),
                    "decisions with one to move": _cell("guards", "open"),
                    "of these used": _cell("guards", "used"),
                    "tiles held": _cell("guards", "held", digits=2),
                    "of these minus": _cell("guards", "held_minus", digits=2),
                    "home at the end": _cell("guards", "home", digits=2),
                },
            )
        )
    mixed = [summary for summary in summaries if summary["lineup"] == MIXED]
    if mixed:
        made.append(
            _by_sample(
                "Mixed games: win share of one seat of each agent",
                mixed,
                {
                    agent["spec"]: _cell("agents", which, "win_share")
                    for which, agent in enumerate(mixed[0]["agents"])
                },
            )
        )
    return [*made, *map(_tile_table, summaries)]


def _by_sample(
    title: str, summaries: Sequence[Json], columns: dict[str, Callable[[Json], str]]
) -> Table:
    head = ["ruleset", "players", "agent", *columns]
    rows = [
        [
            summary["ruleset"],
            str(summary["players"]),
            summary["lineup"],
            *(cell(summary) for cell in columns.values()),
        ]
        for summary in summaries
    ]
    return Table(title, head, rows)


def _cell(*path: str | int, digits: int = 3) -> Callable[[Json], str]:
    """What shows the estimate of a summary that stands at a path; empty past the end of a list."""

    def show(summary: Json) -> str:
        found: Any = summary
        for key in path:
            if isinstance(key, int) and key >= len(found):
                return ""
            found = found[key]
        return shown(found, digits)

    return show


def _tile_table(summary: Json) -> Table:
    rows = [
        [
            tile["tile"],
            shown(tile["taken"]),
            shown(tile["time"], 2),
            *(shown(tile["ways"][way], 2) for way in WAYS),
            *(shown(tile["standings"][name], 2) for name in ("ahead", "behind")),
            shown(tile["points_with"], 2),
            shown(tile["win_share_with"]),
        ]
        for tile in summary["tiles"]
    ]
    head = ["tile", "taken", "when", *WAYS, "by one ahead", "by one behind"]
    return Table(
        f"Tiles, {label(summary)}, {summary['games']} games",
        [*head, "points by it", "win share by it"],
        rows,
    )


def label(summary: Json) -> str:
    """How titles call some games."""
    return f"{summary['ruleset']}, {summary['players']} players, {summary['lineup']}"


# The command ------------------------------------------------------------------------------------


def main() -> None:
    """Read the arguments, play, and report."""
    parser = Parser(prog="agents.stats", description=__doc__)
    parser.add_argument("--agents", nargs="+", required=True, metavar="SPEC")
    parser.add_argument(
        "--ruleset", default="basic", help=f"of {', '.join(PRESETS)}; commas between"
    )
    parser.add_argument("--players", default="2", help="2 to 6, commas between")
    parser.add_argument(
        "--games",
        type=whole_number(1, MAX_GAMES),
        default=2000,
        help="of each agent, and mixed ones, in each setting",
    )
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), default=0, help="of the deals")
    parser.add_argument("--threads", type=whole_number(1, 256), default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help=f"folder for {JSON}, {MARKDOWN} and plots")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()

    names = preset_names(listed("--ruleset", arguments.ruleset))
    counts = player_counts(listed("--players", arguments.players))
    specs = [spec.strip() for spec in arguments.agents]
    for spec, number in Counter(specs).items():
        if spec == "human":
            raise UsageError("--agents: a person, 'human', cannot be asked thousands of times")
        if number > 1:
            raise UsageError(f"--agents: {spec!r} stands twice")
    if arguments.out is not None:
        require("matplotlib", extra="train")
        files = (JSON, MARKDOWN, *stats_plots.FILES)
        output_folder("--out", arguments.out, files)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches run in threads, each computes alone
    players = [agents.make(spec) for spec in specs]
    settings = [
        (name, Ruleset.preset(name, players=count))
        for name, count in itertools.product(names, counts)
    ]
    for _, ruleset in settings:
        for player in players:  # who cannot play says so before any game
            player.act_batch(Position.deal(ruleset, 0).roll(1).state, np.zeros(1, np.uint64))
    lineups = [[player] for player in players] + ([players] if len(players) > 1 else [])

    summaries = []
    for (name, ruleset), lineup in itertools.product(settings, lineups):
        who = lineup[0].name if len(lineup) == 1 else MIXED
        n_games = -(-arguments.games // len(lineup)) * len(lineup)
        with progress_bar(f"{name}, {ruleset.players} players, {who}", n_games) as progress:
            sample = play(
                lineup,
                ruleset,
                name,
                games=n_games,
                seed=arguments.seed,
                threads=arguments.threads,
                progress=progress,
            )
        summaries.append(summarise(sample, arguments.seed))
    report = {"seed": arguments.seed, "agents": specs, "samples": summaries}
    made = tables(summaries)
    if arguments.out is not None:
        write_json(arguments.out / JSON, report)
        text = "\n\n".join(table.as_markdown() for table in made)
        write_text(arguments.out / MARKDOWN, f"# Statistics, seed {arguments.seed}\n\n{text}\n")
        stats_plots.write_plots(summaries, arguments.out)
    if arguments.json:
        print(json.dumps(report))
        return
    print("Means, ± half of the 95 % interval over deals.\n")
    print("\n\n".join(table.as_text() for table in made))
    if arguments.out is not None:
        print(f"\ntables and plots in {arguments.out}")


if __name__ == "__main__":
    run(main, "agents.stats")
