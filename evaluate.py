"""Compare agents: every pair, the same deals and dice from every seat.

python evaluate.py --agents greedy random mc:rollouts=30 --ruleset basic,full --players 2,4
python evaluate.py --out DIR --resume
"""

import argparse
import itertools
import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import agents
from agents.cli import (
    Parser,
    UsageError,
    add_engine,
    check_engine,
    listed,
    output_folder,
    player_counts,
    preset_names,
    progress_bar,
    run,
    whole_number,
)
from agents.extras import require
from agents.files import locked, write_json, write_text
from agents.plots import write_png
from agents.report import PLOTS, markdown, page, table
from agents.tournament import PartsPlayer, games_of, play_parts, play_tournament, remove_parts
from thatslife_env import PRESETS, Ruleset, __version__

SETTINGS, PARTS = "tournament.json", "parts"  # what it takes to resume
RESULTS, TABLE, PAGE = "results.json", "results.md", "report.html"
FILES = (RESULTS, TABLE, *PLOTS, PAGE)
MAX_GAMES = 10**7  # of a pair
DEFAULTS = {"ruleset": "basic", "players": "2", "games": 2000, "seed": 0}


def main() -> None:
    """Read the arguments, play, and report."""
    parser = Parser(prog="evaluate.py", description=__doc__)
    parser.add_argument("--agents", nargs="+", default=[], metavar="SPEC", help="two or more")
    parser.add_argument("--ruleset", help=f"of {', '.join(PRESETS)}; commas between; else basic")
    parser.add_argument("--players", help="2 to 6, commas between; else 2")
    parser.add_argument("--games", type=whole_number(1, MAX_GAMES), help="for each pair; else 2000")
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), help="of the deals; else 0")
    parser.add_argument("--threads", type=whole_number(1, 256), default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help=f"folder for {', '.join(FILES)}")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with the tournament in --out; it knows its settings, --agents may add some",
    )
    add_engine(parser)
    arguments = parser.parse_args()

    if arguments.resume:
        take_up(arguments)
    for name, default in DEFAULTS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
    if len(arguments.agents) < 2:
        raise UsageError("--agents: name at least two")
    names = preset_names(listed("--ruleset", arguments.ruleset))
    counts = player_counts(listed("--players", arguments.players))
    for spec in arguments.agents:
        if spec.strip() == "human":
            raise UsageError("--agents: a person, 'human', cannot be asked thousands of times")
    require("rich", "matplotlib", "scipy", extra="train")
    check_engine(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches run in threads, each computes alone
    players = [agents.make(spec) for spec in arguments.agents]
    settings = list(itertools.product(names, counts))
    out = arguments.out
    folders = [] if out is None else folders_of(out, names, counts)
    for folder in folders:
        output_folder("--out", folder, (*FILES, SETTINGS))
        output_folder("--out", folder / PARTS, ())

    with ExitStack() as stack:
        if out is not None:
            if not stack.enter_context(locked(out)):
                raise UsageError(f"--out: {out}: another process is playing there")
            begin(arguments, folders)
        play: PartsPlayer = play_parts
        if arguments.engine == "ray":
            from agents.cluster import ClusterPlayer, cluster

            stack.enter_context(cluster(arguments.ray_address, arguments.threads))
            play = ClusterPlayer(players)
        for (name, count), folder in itertools.zip_longest(settings, folders):
            total = games_of(len(players), count, arguments.games)
            with progress_bar(f"{name}, {count} players", total) as progress:
                tournament = play_tournament(
                    players,
                    Ruleset.preset(name, players=count),
                    name,
                    games=arguments.games,
                    seed=arguments.seed,
                    threads=arguments.threads,
                    progress=progress,
                    play=play,
                    folder=None if folder is None else folder / PARTS,
                )
            results = tournament.to_json()
            if folder is not None:
                for plot, draw in PLOTS.items():
                    write_png(draw(results), folder / plot)
                write_text(folder / TABLE, markdown(results) + "\n")
                write_text(folder / PAGE, page(results, tournament.seats()))
                write_json(folder / RESULTS, results)  # last: with it, it is finished
            print(table(results), end="\n\n")
            if folder is not None:
                print(f"results in {folder}\n")


# The folder of a tournament -------------------------------------------------------------------


def folders_of(out: Path, names: list[str], counts: list[int]) -> list[Path]:
    """Where the results of each ruleset and number of players go: several below `out`."""
    if len(names) * len(counts) == 1:
        return [out]
    return [out / f"{name}-{count}p" for name, count in itertools.product(names, counts)]


def read_settings(out: Path) -> dict[str, Any]:
    """With what the tournament in a folder was begun.

    Raises:
        UsageError: there is none, or its file is damaged.
    """
    file = out / SETTINGS
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{out}: no tournament to go on with: {file}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{file}: not JSON: {error}") from None
    kinds = {"version": str, "agents": list} | {key: type(DEFAULTS[key]) for key in DEFAULTS}
    if (
        not isinstance(stored, dict)
        or {key: type(stored[key]) for key in stored} != kinds
        or not all(isinstance(spec, str) for spec in stored["agents"])
        or not 1 <= stored["games"] <= MAX_GAMES
        or not 0 <= stored["seed"] < 2**64
    ):
        raise UsageError(f"{file}: not the settings of a tournament")
    return stored


def played_in(out: Path, settings: dict[str, Any]) -> list[Path]:
    """The folders of the results of a tournament with such settings."""
    counts = player_counts(settings["players"].split(","))
    return folders_of(out, settings["ruleset"].split(","), counts)


def take_up(arguments: argparse.Namespace) -> None:
    """Fill in what was not given from the tournament that is to be resumed.

    Raises:
        UsageError: there is none, or it has other settings.
    """
    out = arguments.out
    if out is None:
        raise UsageError("--resume: name the folder of the tournament with --out")
    stored = read_settings(out)
    if stored["version"] != __version__:
        raise UsageError(
            f"--resume: {out} was begun with version {stored['version']}, this is {__version__}"
        )
    for name in DEFAULTS:
        given = getattr(arguments, name)
        if given is not None and given != stored[name]:
            raise UsageError(f"--resume: {out} was begun with --{name} {stored[name]}, not {given}")
        setattr(arguments, name, stored[name])
    before = list(stored["agents"])
    if arguments.agents and arguments.agents[: len(before)] != before:
        raise UsageError(
            f"--resume: {out} was begun with --agents {' '.join(before)}; others may only follow"
        )
    arguments.agents = arguments.agents or before


def begin(arguments: argparse.Namespace, folders: list[Path]) -> None:
    """Write down what is going to be played, and clear away what was played before.

    Raises:
        UsageError: a tournament lies there that was stopped, and is not resumed.
    """
    out = arguments.out
    settings = {"version": __version__, "agents": arguments.agents}
    settings |= {name: getattr(arguments, name) for name in DEFAULTS}
    before = read_settings(out) if (out / SETTINGS).exists() else None
    if not arguments.resume:
        refuse_overlaps(out, folders)
        old = [] if before is None else played_in(out, before)
        if not all((folder / RESULTS).exists() for folder in old):
            raise UsageError(
                f"--out: {out} holds a tournament that was stopped: go on with it by --resume, "
                "or name another folder"
            )
        folders = [*old, *folders]
        for folder in folders:
            remove_parts(folder / PARTS)
    if settings != before or not arguments.resume:
        for folder in folders:
            for name in FILES:
                (folder / name).unlink(missing_ok=True)
        write_json(out / SETTINGS, settings)


def refuse_overlaps(out: Path, folders: list[Path]) -> None:
    """Refuse a folder that belongs to another tournament.

    Raises:
        UsageError: one that is to be written has a tournament of its own, or `out` is a part of the
            tournament in the folder above.
    """
    for folder in folders:
        if folder != out and (folder / SETTINGS).exists():
            raise UsageError(f"--out: {folder} holds a tournament of its own")
    above = out.absolute().parent
    if (above / SETTINGS).exists() and out.absolute() in played_in(above, read_settings(above)):
        raise UsageError(f"--out: {out} belongs to the tournament in {above}")


if __name__ == "__main__":
    run(main, "evaluate.py")
