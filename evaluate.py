"""Compare agents: every pair, the same deals and dice from every seat.

python evaluate.py --agents greedy random mc:rollouts=30 --ruleset basic,full --players 2,4
"""

import itertools
import math
import os
import tempfile
from pathlib import Path

import agents
from agents.cli import Parser, UsageError, progress_bar, run, whole_number
from agents.extras import require
from agents.files import write_json
from agents.tournament import games_per_deal, markdown, play_tournament, plot, table
from thatslife_env import PRESETS, Ruleset
from thatslife_env.board import MAX_PLAYERS, MIN_PLAYERS

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
    arguments = parser.parse_args()

    if len(arguments.agents) < 2:
        raise UsageError("--agents: name at least two")
    names = _listed("--ruleset", arguments.ruleset)
    for name in names:
        if name not in PRESETS:
            raise UsageError(f"--ruleset: unknown {name!r}; there are: {', '.join(PRESETS)}")
    counts = [_players(text) for text in _listed("--players", arguments.players)]
    for spec in arguments.agents:
        if spec.strip() == "human":
            raise UsageError("--agents: a person, 'human', cannot be asked thousands of times")
    require("rich", "matplotlib", extra="train")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches run in threads, each computes alone
    players = [agents.make(spec) for spec in arguments.agents]
    settings = list(itertools.product(names, counts))
    folders = [_folder(arguments.out, *setting, len(settings)) for setting in settings]

    for (name, count), folder in zip(settings, folders, strict=True):
        n_deals = math.ceil(arguments.games / games_per_deal(count))
        total = math.comb(len(players), 2) * n_deals * games_per_deal(count)
        with progress_bar(f"{name}, {count} players", total) as progress:
            tournament = play_tournament(
                players,
                Ruleset.preset(name, players=count),
                name,
                games=arguments.games,
                seed=arguments.seed,
                threads=arguments.threads,
                progress=progress,
            )
        results = tournament.to_json()
        if folder is not None:
            write_json(folder / RESULTS, results)
            (folder / TABLE).write_text(markdown(results) + "\n", encoding="utf-8")
            plot(results, folder / PLOT)
        print(table(results), end="\n\n")
        if folder is not None:
            print(f"results in {folder}\n")


def _listed(option: str, text: str) -> list[str]:
    """What stands between commas, each once."""
    parts = text.split(",")
    for part in parts:
        if parts.count(part) > 1:
            raise UsageError(f"{option}: {part!r} stands twice")
    return parts


def _players(text: str) -> int:
    if not text.isdecimal() or not MIN_PLAYERS <= int(text) <= MAX_PLAYERS:
        raise UsageError(f"--players: {text!r} is not {MIN_PLAYERS} to {MAX_PLAYERS}")
    return int(text)


def _folder(out: Path | None, ruleset: str, players: int, n_settings: int) -> Path | None:
    """Make the folder for the results of one setting."""
    if out is None:
        return None
    folder = out if n_settings == 1 else out / f"{ruleset}-{players}p"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # so that no game is played in vain
            pass
    except OSError as error:
        raise UsageError(f"--out: {folder}: {error.strerror}") from None
    for name in (RESULTS, TABLE, PLOT):
        if (folder / name).is_dir():
            raise UsageError(f"--out: {folder / name} is a folder")
    return folder


if __name__ == "__main__":
    run(main, "evaluate.py")
