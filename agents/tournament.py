"""Agents compared pair by pair, on the same deals and dice from every seat.

In a pair (A, B) one of them takes one seat and the other all the rest. Each deal is played once for
each seat that A can take, then, with more than two players, once for each that B can take.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.arena import Results, play_games
from agents.base import Agent
from agents.plots import COLORS, GREY, new_figure, write_png
from agents.ratings import ANCHOR, rate
from thatslife_env import Position, Ruleset
from thatslife_env.games import stream_seeds

N_RESAMPLES = 2000  # of the bootstrap
LEVEL = 0.95  # of its intervals


@dataclass(frozen=True)
class Duel:
    """One seat of `a` against `b` on all the others, over D deals and every seat.

    Attributes:
        a: index of the agent in the one seat.
        b: index of the agent in the others.
        win_share: float64[D], of a's seat, mean over the games of a deal.
        score: float64[D], likewise.
        rank: float64[D], likewise.
        games: number of games.
    """

    a: int
    b: int
    win_share: npt.NDArray[np.float64]
    score: npt.NDArray[np.float64]
    rank: npt.NDArray[np.float64]
    games: int


@dataclass(frozen=True)
class Tournament:
    """All duels between some agents.

    Attributes:
        specs: of the agents.
        ruleset: name of the ruleset.
        players: number of players.
        games: of each pair.
        seed: of the deals.
        duels: both ways round of each pair.
        ms_per_decision: of each agent.
    """

    specs: list[str]
    ruleset: str
    players: int
    games: int
    seed: int
    duels: list[Duel]
    ms_per_decision: list[float]

    def to_json(self) -> dict[str, Any]:
        """The content of `results.json`."""
        pairs = [
            {
                "a": self.specs[duel.a],
                "b": self.specs[duel.b],
                "games": duel.games,
                "win_share_a": float(duel.win_share.mean()),
                "ci95": bootstrap(duel.win_share, self.seed),
            }
            for duel in self.duels
        ]
        rated = [duel for duel in self.duels if self.players > 2 or duel.a < duel.b]
        ratings, intervals, _ = rate(
            self.specs,
            np.array([(duel.a, duel.b) for duel in rated]),
            self.players,
            np.stack([duel.win_share for duel in rated], axis=1),
            self.seed,
        )
        agents = []
        for which, spec in enumerate(self.specs):
            own = [duel for duel in self.duels if duel.a == which]
            shares = np.mean([duel.win_share for duel in own], axis=0)  # a deal's, over opponents
            agents.append(
                {
                    "spec": spec,
                    "games": sum(duel.games for duel in own),
                    "win_share": float(shares.mean()),
                    "ci95": bootstrap(shares, self.seed),
                    "mean_score": float(np.mean([duel.score for duel in own])),
                    "mean_rank": float(np.mean([duel.rank for duel in own])),
                    "ms_per_decision": self.ms_per_decision[which],
                    "rating": float(ratings[which]),
                    "rating_ci95": intervals[which].tolist(),
                }
            )
        return {
            "ruleset": self.ruleset,
            "players": self.players,
            "games": self.games,
            "seed": self.seed,
            "agents": agents,
            "pairs": pairs,
        }


def games_per_deal(players: int) -> int:
    """Games of a pair on one deal: one for each seat of A, and of B where they differ."""
    return 2 if players == 2 else 2 * players


def games_of(n_agents: int, players: int, games: int) -> int:
    """Games of a whole tournament, with `games` of each pair rounded up to whole deals."""
    per_deal = games_per_deal(players)
    return math.comb(n_agents, 2) * -(-games // per_deal) * per_deal


def play_tournament(
    agents: Sequence[Agent],
    ruleset: Ruleset,
    ruleset_name: str,
    *,
    games: int,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int], None] = lambda n_games: None,
    play: Callable[..., Results] = play_games,
) -> Tournament:
    """Play every pair of agents.

    Args:
        agents: at least two; the same spec may stand twice.
        ruleset: what is played.
        ruleset_name: how the results call it.
        games: games for each pair, rounded up to whole deals.
        seed: deal i is `draw64(seed, i)`.
        threads: see `play_games`.
        progress: see `play_games`.
        play: plays the games, with the arguments and results of `play_games`.
    """
    players = ruleset.players
    n_deals = -(-games // games_per_deal(players))
    seeds = stream_seeds(seed, n_deals)
    warm_up(agents, ruleset)
    duels = []
    thinking, decided = np.zeros(len(agents)), np.zeros(len(agents), np.int64)
    how: dict[str, Any] = {"threads": threads, "progress": progress, "play": play}
    for a, b in itertools.combinations(range(len(agents)), 2):
        duel, results = play_duel(agents, a, b, ruleset, seeds, **how)
        thinking += results.thinking
        decided += results.decided
        if players == 2:  # the other seat of the same games
            reverse = _duel(b, a, results, _lineups(a, b, players, n_deals), n_deals)
        else:
            reverse, results = play_duel(agents, b, a, ruleset, seeds, **how)
            thinking += results.thinking
            decided += results.decided
        duels += [duel, reverse]
    per_decision = [float(ms) for ms in 1000 * thinking / np.maximum(decided, 1)]
    specs = [agent.name for agent in agents]
    games = n_deals * games_per_deal(players)
    return Tournament(specs, ruleset_name, players, games, seed, duels, per_decision)


def warm_up(agents: Iterable[Agent], ruleset: Ruleset) -> None:
    """Have agents decide once: compile and load before the clocks run."""
    opening = Position.deal(ruleset, 0).roll(1)
    for agent in agents:
        agent.act_batch(opening.state, np.zeros(1, np.uint64))


def play_duel(
    agents: Sequence[Agent],
    a: int,
    b: int,
    ruleset: Ruleset,
    seeds: npt.NDArray[np.uint64],
    *,
    threads: int = 1,
    progress: Callable[[int], None] = lambda n_games: None,
    play: Callable[..., Results] = play_games,
) -> tuple[Duel, Results]:
    """Play one seat of `a` against `b` on the others, every deal from every seat.

    Args:
        agents: of whom `a` and `b` are indices.
        a: in one seat.
        b: in the others.
        ruleset: what is played.
        seeds: uint64[D], the deals.
        threads: see `play_games`.
        progress: see `play_games`.
        play: see `play_tournament`.

    Returns:
        The duel, and the results of its games: seat 0 of `a`, seat 1, ..., deal by deal.
    """
    lineups = _lineups(a, b, ruleset.players, len(seeds))
    games = np.repeat(seeds, ruleset.players)
    results = play(agents, ruleset, games, lineups, threads=threads, progress=progress)
    return _duel(a, b, results, lineups, len(seeds)), results


def _lineups(one: int, others: int, players: int, n_deals: int) -> npt.NDArray[np.int64]:
    """int64[n_deals * players, players]: for each deal, `one` in each seat in turn."""
    rotations = np.where(np.eye(players, dtype=bool), one, others)
    return np.tile(rotations, (n_deals, 1))


def _duel(a: int, b: int, results: Results, lineups: npt.NDArray[np.int64], n_deals: int) -> Duel:
    """The results of the seats that `a` took."""
    players = lineups.shape[1]
    games = np.arange(len(lineups))
    seats = np.argmax(lineups == a, axis=1)

    def per_deal(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return values[games, seats].reshape(n_deals, players).mean(axis=1)

    return Duel(
        a,
        b,
        per_deal(results.win_shares),
        per_deal(results.points),
        per_deal(results.ranks),
        len(lineups),
    )


def bootstrap(values: npt.NDArray[np.float64], seed: int) -> list[float]:
    """A 95 % interval of the mean, by resampling deals.

    Args:
        values: float64[D], one for each deal.
        seed: of the resampling.

    Returns:
        Lower and upper end.
    """
    rng = np.random.default_rng(seed)
    n_deals = len(values)
    # how often each distinct value is drawn is multinomial: the same as drawing deals, and quick
    distinct, counts = np.unique(values, return_counts=True)
    drawn = rng.multinomial(n_deals, counts / n_deals, size=N_RESAMPLES)
    means = drawn @ distinct / n_deals
    tail = (1 - LEVEL) / 2
    return [float(end) for end in np.quantile(means, [tail, 1 - tail])]


def table(results: dict[str, Any]) -> str:
    """`results.json` as text: a row for each agent, and what its one seat wins against each other.

    Args:
        results: `Tournament.to_json()`.
    """
    specs = [agent["spec"] for agent in results["agents"]]
    width = max(12, *(len(spec) for spec in specs))
    fair = 1 / results["players"]
    lines = [
        f"{results['ruleset']}, {results['players']} players, {results['games']} games a pair, "
        f"seed {results['seed']}; win share of one seat (fair: {fair:.3f}), 95 % intervals",
        f"ratings on an Elo scale, {ANCHOR if ANCHOR in specs else 'their mean'} at 0",
        f"{'agent':<{width}}  win share                 score   rank  ms/decision  rating",
    ]
    for agent in results["agents"]:
        low, high = agent["ci95"]
        lines.append(
            f"{agent['spec']:<{width}}  {agent['win_share']:.3f} [{low:.3f}, {high:.3f}]  "
            f"{agent['mean_score']:9.2f} {agent['mean_rank']:6.2f} "
            f"{agent['ms_per_decision']:12.4f}  {agent['rating']:.0f} "
            f"[{agent['rating_ci95'][0]:.0f}, {agent['rating_ci95'][1]:.0f}]"
        )
    lines.append("")
    for pair in results["pairs"]:
        low, high = pair["ci95"]
        lines.append(
            f"{pair['a']:>{width}} v {pair['b']:<{width}} "
            f"{pair['win_share_a']:.3f} [{low:.3f}, {high:.3f}]  {pair['games']} games"
        )
    return "\n".join(lines)


def markdown(results: dict[str, Any]) -> str:
    """`results.json` as a cross table in Markdown, the best first: what each row's seat wins.

    Args:
        results: `Tournament.to_json()`.
    """
    agents, players = results["agents"], results["players"]
    cells: dict[tuple[int, int], dict[str, Any]] = {}
    both_ways = zip(results["pairs"][::2], results["pairs"][1::2], strict=True)
    for (a, b), (pair, reverse) in zip(
        itertools.combinations(range(len(agents)), 2), both_ways, strict=True
    ):
        cells[a, b], cells[b, a] = pair, reverse
    order = sorted(range(len(agents)), key=lambda which: -agents[which]["rating"])
    specs = [f"`{agents[which]['spec']}`" for which in order]
    lines = [
        f"{results['ruleset']}, {players} players, {results['games']} games a pair, seed "
        f"{results['seed']}: win share of the row's seat against the column's (fair: "
        f"{1 / players:.3f}), 95 % intervals.",
        "",
        f"| | rating | ms a decision | {' | '.join(specs)} |",
        "|---" * (len(order) + 3) + "|",
    ]
    for row, spec in zip(order, specs, strict=True):
        agent = agents[row]
        low, high = agent["rating_ci95"]
        texts = [f"{agent['rating']:.0f} [{low:.0f}, {high:.0f}]"]
        texts.append(f"{agent['ms_per_decision']:.3f}")
        for column in order:
            text = ""
            if column != row:
                pair = cells[row, column]
                low, high = pair["ci95"]
                text = f"{pair['win_share_a']:.3f} [{low:.3f}, {high:.3f}]"
            texts.append(text)
        lines.append(f"| {spec} | {' | '.join(texts)} |")
    return "\n".join(lines)


def plot(results: dict[str, Any], path: Path) -> None:
    """Draw the win share of each agent with its interval into a PNG file.

    Args:
        results: `Tournament.to_json()`.
        path: of the file.
    """
    agents = results["agents"]
    figure = new_figure(8, 1.2 + 0.5 * len(agents))
    axes = figure.add_subplot()
    for row, agent in enumerate(agents):
        low, high = agent["ci95"]
        axes.plot([low, high], [row, row], color=COLORS[0], linewidth=3)
        axes.plot(agent["win_share"], row, "o", color=COLORS[0])
    axes.axvline(1 / results["players"], color=GREY, linestyle="--", label="fair share")
    axes.set_yticks(range(len(agents)), [agent["spec"] for agent in agents])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("win share of one seat, 95 % interval over deals")
    axes.set_title(
        f"{results['ruleset']}, {results['players']} players, {results['games']} games a pair"
    )
    axes.legend(loc="lower right")
    write_png(figure, path)
