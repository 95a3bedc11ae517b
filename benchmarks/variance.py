"""How many games the same dice and rotated seats save, against independent games.

    python benchmarks/variance.py --agents SPEC SPEC ... [--ruleset basic] [--players 2]
        [--games 4000] [--seed 0]

Each pair, the first in one seat and the second in all the others, plays as many games in two ways:
`rotated`, as `evaluate.py` does, each deal from every seat with the same dice; and `independent`,
each game with a deal and dice of its own and in a seat that is drawn. Both estimate the same win
share. The ratio of their variances, for equally many games, is the number of independent games
that tell as much as one rotated game; its 95 % interval is by bootstrap over deals. Prints a
Markdown table; a row is printed when it is known.
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
from agents.tournament import LEVEL, N_RESAMPLES, bootstrap, play_duel
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
    print("| one seat | the others | rotated | independent | games saved: ratio of variances |")
    print("|---|---|---|---|---|")
    for pair in itertools.combinations(made, 2):
        with progress_bar(" v ".join(agent.name for agent in pair), 2 * n_deals * players) as bar:
            seeds = stream_seeds(arguments.seed, n_deals * (1 + players))
            rotated = play_duel(pair, 0, 1, ruleset, seeds[:n_deals], progress=bar)[0].win_share
            drawn = independent(pair, ruleset, seeds[n_deals:], arguments.seed, progress=bar)
        cells = [f"`{agent.name}`" for agent in pair]
        for shares in (rotated.mean(axis=1), drawn):
            low, high = bootstrap(shares, arguments.seed)
            cells.append(f"{shares.mean():.3f} [{low:.3f}, {high:.3f}]")
        found = saving(rotated, drawn, arguments.seed)
        cells.append(
            "too few to tell" if found is None else "{:.2f} [{:.2f}, {:.2f}]".format(*found)
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


def saving(rotated: Floats, drawn: Floats, seed: int) -> tuple[float, float, float] | None:
    """How many independent games tell as much as one rotated game, with a 95 % interval.

    Args:
        rotated: float64[D, players], win shares of one seat, by deal and seat.
        drawn: float64[G], those of independent games.
        seed: of the resampling.

    Returns:
        The ratio and the ends of its interval; None where deals or games are so much alike that
        some resamples have no variance.
    """
    rng = np.random.default_rng(seed)
    players, means = rotated.shape[1], rotated.mean(axis=1)
    by_games, by_deals = resampled(drawn, rng), resampled(means, rng)
    if min(by_games.min(), by_deals.min()) < _TINY:
        return None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(by_games / (players * by_deals), [tail, 1 - tail])
    ratio = drawn.var(ddof=1) / (players * means.var(ddof=1))
    return float(ratio), float(low), float(high)


def resampled(values: Floats, rng: np.random.Generator) -> Floats:
    """Variances of values that are drawn anew, float64[N_RESAMPLES]."""
    n_values = len(values)
    distinct, counts = np.unique(values, return_counts=True)
    drawn = rng.multinomial(n_values, counts / n_values, size=N_RESAMPLES) / n_values
    means = drawn @ distinct
    off = (distinct - means[:, None]) ** 2  # [N_RESAMPLES, distinct values]
    return (drawn * off).sum(axis=1) * n_values / (n_values - 1)


if __name__ == "__main__":
    run(main, "variance.py")
