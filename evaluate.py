"""Compare agents: every pair, the same deals and dice from every seat.

python evaluate.py --agents greedy random mc:rollouts=30 --ruleset basic,full --players 2,4
"""

import argparse
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import agents
from agents.arena import Results, play_games
from agents.base import Agent
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
from agents.files import write_json
from agents.tournament import games_of, markdown, play_tournament, plot, table
from thatslife_env import PRESETS, Ruleset

RESULTS, TABLE, PLOT = "results.json", "results.md", "results.png"


def main() -> None:
    """Read the arguments, play, and report."""
    parser = Parser(prog="evaluate.py", description=__doc__)
    parser.add_argument("--agents", nargs="+", required=True, metavar="SPEC", help="two or more")
    parser.add_argument(
        "--ruleset", default="basic", help=f"of {', '.join(PRESETS)}; commas between"
    )
    parser.add_argument("--players", default="2", help="2 to 6, commas between")
    parser.add_argument("--games", type=whole_number(1, 10**7), default=2000, help="for each pair")
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), default=0, help="of the deals")
    parser.add_argument("--threads", type=whole_number(1, 256), default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help=f"folder for {RESULTS}, {TABLE} and {PLOT}")
    add_engine(parser)
    arguments = parser.parse_args()

    if len(arguments.agents) < 2:
        raise UsageError("--agents: name at least two")
    names = preset_names(listed("--ruleset", arguments.ruleset))
    counts = player_counts(listed("--players", arguments.players))
    for spec in arguments.agents:
        if spec.strip() == "human":
            raise UsageError("--agents: a person, 'human', cannot be asked thousands of times")
    require("rich", "matplotlib", extra="train")
    check_engine(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches run in threads, each computes alone
    players = [agents.make(spec) for spec in arguments.agents]
    settings = list(itertools.product(names, counts))
    folders = [_folder(arguments.out, *setting, len(settings)) for setting in settings]
    if arguments.engine == "ray":
        from agents.cluster import ClusterGames, cluster

        with cluster(arguments.ray_address, arguments.threads):
            compare(arguments, players, settings, folders, ClusterGames(players))
    else:
        compare(arguments, players, settings, folders, play_games)


def compare(
    arguments: argparse.Namespace,
    players: list[Agent],
    settings: list[tuple[str, int]],
    folders: list[Path | None],
    play: Callable[..., Results],
) -> None:
    """Play a tournament in each setting and report it."""
    for (name, count), folder in zip(settings, folders, strict=True):
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
            )
        results = tournament.to_json()
        if folder is not None:
            write_json(folder / RESULTS, results)
            (folder / TABLE).write_text(markdown(results) + "\n", encoding="utf-8")
            plot(results, folder / PLOT)
        print(table(results), end="\n\n")
        if folder is not None:
            print(f"results in {folder}\n")


def _folder(out: Path | None, ruleset: str, players: int, n_settings: int) -> Path | None:
    """Make the folder for the results of one setting."""
    if out is None:
        return None
    folder = out if n_settings == 1 else out / f"{ruleset}-{players}p"
    output_folder("--out", folder, (RESULTS, TABLE, PLOT))
    return folder


if __name__ == "__main__":
    run(main, "evaluate.py")
