"""How many games the same dice and rotated seats save, against independent games.

    python benchmarks/variance.py --agents SPEC SPEC ... [--ruleset basic] [--players 2]
        [--games 4000] [--seed 0]

Each pair, the first in one seat and the second in all the others, plays as many games in two ways:
`rotated`, as `evaluate.py` does, each deal from every seat with the same dice; and `independent`,
each game with a deal and dice of its own and in a seat that is drawn. Both estimate the same win
share. The ratio of the variances of these estimates is the number of independent games that tell as
much as one rotated game: above 1, games are saved. It is measured in both ways, and, with less
noise, from the rotated games alone: how much less their mean over a deal varies than it would if
they were independent. 95 % intervals are by bootstrap over deals. Prints a Markdown table; a row is
printed when it is known.
"""

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import agents
from agents.arena import play_games
from agents.base import Agent
from agents.cli import (
    Parser,
    UsageError,
    player_counts,
    preset_names,
    progress_bar,
    run,
    whole_number,
)
from agents.ratings import LEVEL
from agents.tournament import N_RESAMPLES, bootstrap, play_duel
from thatslife_env import PRESETS, Ruleset
from thatslife_env.games import stream_seeds

Floats = npt.NDArray[np.float64]

_TINY = 1e-9  # a variance that is none


def main() -> None:
    """Read the arguments, play, and print."""
    parser = Parser(prog="variance.py", description=__doc__)
    parser.add_argument("--agents", nargs="+", required=True, metavar="SPEC", help="two or more")
    parser.add_argument("--ruleset", default="basic", help=f"one of {', '.join(PRESETS)}")
    parser.add_argument("--players", default="2", help="2 to 6")
    parser.add_argument("--games", type=whole_number(2, 10**6), default=4000, help="of each way")
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), default=0, help="of the deals")
    arguments = parser.parse_args()
    if len(arguments.agents) < 2:
        raise UsageError("--agents: name at least two")
    [name] = preset_names([arguments.ruleset])
    [players] = player_counts([arguments.players])
    ruleset = Ruleset.preset(name, players=players)
    n_deals = max(2, -(-arguments.games // players))
    made = [agents.make(spec) for spec in arguments.agents]
    print("| one seat | the others | rotated | independent | ratio, both ways | ratio, rotated |")
    print("|---|---|---|---|---|---|")
    for pair in itertools.combinations(made, 2):
        with progress_bar(" v ".join(agent.name for agent in pair), 2 * n_deals * players) as bar:
            seeds = stream_seeds(arguments.seed, n_deals * (1 + players))
            rotated = play_duel(pair, 0, 1, ruleset, seeds[:n_deals], progress=bar)[0].win_share
            drawn = independent(pair, ruleset, seeds[n_deals:], arguments.seed, progress=bar)
        cells = [f"`{agent.name}`" for agent in pair]
        for shares in (rotated.mean(axis=1), drawn):
            low, high = bootstrap(shares, arguments.seed)
            cells.append(f"{shares.mean():.3f} [{low:.3f}, {high:.3f}]")
        for found in savings(rotated, drawn, arguments.seed):
            cells.append(
                "no variance" if found is None else "{:.2f} [{:.2f}, {:.2f}]".format(*found)
            )
        print(f"| {' | '.join(cells)} |", flush=True)


def independent(
    pair: tuple[Agent, Agent],
    ruleset: Ruleset,
    seeds: npt.NDArray[np.uint64],
    seed: int,
    progress: Callable[[int], None],
) -> Floats:
    """Win shares of the first of a pair, float64[G], in a seat that is drawn for each game.

    Args:
        pair: one in one seat, and who takes the others.
        ruleset: what is played.
        seeds: uint64[G], the deal of each game.
        seed: of the seats.
        progress: see `play_games`.
    """
    seats = np.random.default_rng(seed).integers(ruleset.players, size=len(seeds))
    lineups = np.where(np.arange(ruleset.players) == seats[:, None], 0, 1)
    results = play_games(pair, ruleset, seeds, lineups, progress=progress)
    return results.win_shares[np.arange(len(seeds)), seats]


def savings(rotated: Floats, drawn: Floats, seed: int) -> list[tuple[float, float, float] | None]:
    """How many independent games tell as much as one rotated game.

    Args:
        rotated: float64[D, players], win shares of one seat, by deal and seat.
        drawn: float64[G], those of independent games.
        seed: of the resampling.

    Returns:
        The ratio and the ends of its 95 % interval, measured both ways, and from the rotated games
        alone. None where deals or games are so much alike that some resamples have no variance.
    """
    rng = np.random.default_rng(seed)
    players = rotated.shape[1]
    of_games, _ = variances(drawn[:, None], rng)
    of_means, of_seats = variances(rotated, rng)
    found: list[tuple[float, float, float] | None] = []
    for apart in (of_games, of_seats):
        if min(apart.min(), of_means.min()) < _TINY:
            found.append(None)
            continue
        ratios = apart / (players * of_means)
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(ratios[1:], [tail, 1 - tail])
        found.append((float(ratios[0]), float(low), float(high)))
    return found


def variances(shares: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Of the mean over a deal, and of a single game.

    Args:
        shares: float64[D, games], by deal.
        rng: of the resampling of deals.

    Returns:
        Each float64[1 + N_RESAMPLES], the first as measured.
    """
    n_deals = len(shares)
    kinds, counts = np.unique(np.sort(shares, axis=1), axis=0, return_counts=True)
    drawn = rng.multinomial(n_deals, counts / n_deals, size=N_RESAMPLES)
    weights = np.vstack([counts, drawn]) / n_deals
    means = (weights @ kinds.mean(axis=1))[:, None]
    of_means = (weights * (kinds.mean(axis=1) - means) ** 2).sum(axis=1)
    of_games = (weights * ((kinds - means[:, :, None]) ** 2).mean(axis=2)).sum(axis=1)
    return of_means, of_games


if __name__ == "__main__":
    run(main, "variance.py")
