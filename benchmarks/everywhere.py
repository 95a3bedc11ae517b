"""One seat of an agent against another in all the rest: every preset with 2 to 6 players.

    python benchmarks/everywhere.py --agent SPEC --opponent SPEC [--games 400] [--seed 0]
        [--ruleset basic,full] [--players 2,4]

Prints a Markdown table of win shares, 95 % intervals by bootstrap over deals; each deal is played
from every seat, so games are rounded up to whole deals. A row is printed when it is known.
"""

import agents
from agents.cli import Parser, listed, player_counts, preset_names, progress_bar, run, whole_number
from agents.tournament import bootstrap, play_duel
from thatslife_env import PRESETS, Ruleset
from thatslife_env.games import stream_seeds


def main() -> None:
    """Read the arguments, play, and print."""
    parser = Parser(prog="everywhere.py", description=__doc__)
    parser.add_argument("--agent", required=True, metavar="SPEC", help="in the one seat")
    parser.add_argument("--opponent", required=True, metavar="SPEC", help="in all the others")
    parser.add_argument("--games", type=whole_number(1, 10**6), default=400, help="of each cell")
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), default=0, help="of the deals")
    parser.add_argument("--ruleset", default=",".join(PRESETS), help="presets, by commas")
    parser.add_argument("--players", default="2,3,4,5,6", help="numbers, by commas")
    arguments = parser.parse_args()
    presets = preset_names(listed("--ruleset", arguments.ruleset))
    counts = player_counts(listed("--players", arguments.players))
    pair = [agents.make(arguments.agent), agents.make(arguments.opponent)]
    print(f"| players (fair) | {' | '.join(presets)} |")
    print("|---" * (len(presets) + 1) + "|")
    for players in counts:
        cells = [f"{players} ({1 / players:.2f})"]
        for preset in presets:
            ruleset = Ruleset.preset(preset, players=players)
            seeds = stream_seeds(arguments.seed, -(-arguments.games // players))
            with progress_bar(f"{preset}, {players} players", len(seeds) * players) as progress:
                duel, _ = play_duel(pair, 0, 1, ruleset, seeds, progress=progress)
            low, high = bootstrap(duel.win_share.mean(axis=1), arguments.seed)
            cells.append(f"{duel.win_share.mean():.3f} [{low:.3f}, {high:.3f}]")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    run(main, "everywhere.py")
