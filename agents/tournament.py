"""Agents compared pair by pair, on the same deals and dice from every seat.

In a pair (A, B) one of them takes one seat and the other all the rest. Each deal is played once for
each seat that A can take, then, with more than two players, once for each that B can take.

The work is cut into parts: a pair on some of the deals. What a part gives depends on nothing else,
so parts may be played in any order, anywhere, and kept as files for a tournament that is resumed.
"""

import itertools
import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.arena import Results, play_games
from agents.base import Agent
from agents.cli import UsageError
from agents.files import write_json
from agents.ratings import LEVEL, rate
from thatslife_env import Position, Ruleset
from thatslife_env.games import stream_seeds
from thatslife_env.position import short

N_RESAMPLES = 2000  # of the bootstrap

PART_GAMES = 100  # of a part, about; larger where there would be more than MAX_PARTS of a pair
MAX_PARTS = 100
MEASURES = ("win_share", "score", "rank")

Floats = npt.NDArray[np.float64]
Seeds = npt.NDArray[np.uint64]
Json = dict[str, Any]


# What was played ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Duel:
    """One seat of `a` against `b` on all the others, over D deals and every seat.

    Attributes:
        a: index of the agent in the one seat.
        b: index of the agent in the others.
        win_share: float64[D, players], of a's seat, by deal and the seat that it took.
        score: float64[D, players], likewise.
        rank: float64[D, players], likewise.
    """

    a: int
    b: int
    win_share: Floats
    score: Floats
    rank: Floats

    @property
    def games(self) -> int:
        """Number of games."""
        return self.win_share.size


@dataclass(frozen=True)
class Part:
    """A pair of agents, called 0 and 1, on some deals.

    Attributes:
        duels: one seat of 0, and one seat of 1.
        thinking: float64[2], seconds of processor time that each took.
        decided: int64[2], decisions of each.
    """

    duels: tuple[Duel, Duel]
    thinking: Floats
    decided: npt.NDArray[np.int64]

    def to_json(self) -> Json:
        """Plain JSON, from which `from_json` makes the same part."""
        return {
            **{name: [getattr(duel, name).tolist() for duel in self.duels] for name in MEASURES},
            "thinking": self.thinking.tolist(),
            "decided": self.decided.tolist(),
        }

    @classmethod
    def from_json(cls, content: Json, n_deals: int, players: int) -> "Part":
        """The part that was written.

        Args:
            content: of `to_json`.
            n_deals: of how many deals it is.
            players: number of players.

        Raises:
            ValueError: it is not such a part.
        """
        try:
            values = np.array([content[name] for name in MEASURES], np.float64)
            thinking = np.array(content["thinking"], np.float64)
            decided = np.array(content["decided"], np.int64)
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"it is no part of a tournament: {error!r}") from None
        if values.shape != (len(MEASURES), 2, n_deals, players):
            raise ValueError(f"it is not of {n_deals} deals of {players} players")
        if thinking.shape != (2,) or decided.shape != (2,):
            raise ValueError("it is not of two agents")
        shares, times = values[MEASURES.index("win_share")], (thinking, decided)
        if not (np.isfinite(values).all() and (shares >= 0).all() and (shares <= 1).all()):
            raise ValueError("it holds numbers that no game gives")
        if not all((np.isfinite(each) & (each >= 0)).all() for each in times):
            raise ValueError("it holds times or counts that cannot be")
        return cls((Duel(0, 1, *values[:, 0]), Duel(1, 0, *values[:, 1])), thinking, decided)


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

    def to_json(self) -> Json:
        """The content of `results.json`."""
        pairs = [
            {
                "a": self.specs[duel.a],
                "b": self.specs[duel.b],
                "games": duel.games,
                "win_share_a": float(duel.win_share.mean()),
                "ci95": bootstrap(duel.win_share.mean(axis=1), self.seed),
            }
            for duel in self.duels
        ]
        ratings, intervals = self.ratings()
        agents = []
        for which, spec in enumerate(self.specs):
            own = [duel for duel in self.duels if duel.a == which]
            shares = np.mean([duel.win_share for duel in own], axis=(0, 2))  # a deal's
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

    def ratings(self) -> tuple[Floats, Floats]:
        """Of all games by one fit: float64[A], and float64[A, 2] of 95 % intervals."""
        lineups, shares, deals = [], [], []
        for duel in self.duels:
            if self.players == 2 and duel.a > duel.b:
                continue  # the same games from the other side
            n_deals = len(duel.win_share)
            won = duel.win_share.sum(axis=1)  # of the games of a deal, one for each seat
            others = (self.players - won) / (self.players - 1)
            lineups.append(np.tile([duel.a] + [duel.b] * (self.players - 1), (n_deals, 1)))
            shares.append(np.column_stack([won] + [others] * (self.players - 1)))
            deals.append(np.arange(n_deals))
        rated = rate(
            self.specs,
            np.concatenate(lineups),
            np.concatenate(shares),
            np.concatenate(deals),
            self.seed,
        )
        return rated.ratings, rated.intervals

    def seats(self) -> list[Json]:
        """How each seat fared: win share and points of the one seat when it was there.

        Every agent takes every seat equally often, so a difference is the seat's.
        """
        found: list[Json] = [{"seat": seat} for seat in range(self.players)]
        for name in ("win_share", "score"):
            by_seat = np.mean([getattr(duel, name) for duel in self.duels], axis=0)
            for seat, values in enumerate(by_seat.T):
                found[seat][name] = float(values.mean())
                found[seat][f"{name}_ci95"] = bootstrap(values, self.seed, name == "win_share")
        return found


# Playing --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A part to be played: agents `a` < `b` on the deals `first` up to, without, `last`."""

    a: int
    b: int
    first: int
    last: int


def games_per_deal(players: int) -> int:
    """Games of a pair on one deal: one for each seat of A, and of B where they differ."""
    return 2 if players == 2 else 2 * players


def games_of(n_agents: int, players: int, games: int) -> int:
    """Games of a whole tournament, with `games` of each pair rounded up to whole deals."""
    per_deal = games_per_deal(players)
    return math.comb(n_agents, 2) * -(-games // per_deal) * per_deal


def tasks_of(n_agents: int, players: int, games: int) -> list[Task]:
    """The parts of a tournament, pair by pair; those of a pair depend on `games` alone."""
    n_deals = -(-games // games_per_deal(players))
    n_parts = min(-(-games // PART_GAMES), MAX_PARTS, n_deals)
    ends = [n_deals * part // n_parts for part in range(n_parts + 1)]
    pairs = itertools.combinations(range(n_agents), 2)
    return [Task(a, b, *span) for a, b in pairs for span in itertools.pairwise(ends)]


def play_parts(
    agents: Sequence[Agent],
    ruleset: Ruleset,
    seeds: Seeds,
    tasks: Sequence[Task],
    threads: int,
    progress: Callable[[int], None],
) -> Iterator[tuple[Task, Part]]:
    """Play parts, in threads of this process.

    Args:
        agents: those that the tasks name.
        ruleset: what is played.
        seeds: uint64[D], all deals of the tournament.
        tasks: the parts.
        threads: how many are played at a time.
        progress: called with the number of games that have ended since the last call.

    Yields:
        Each part when it has ended.
    """
    warm_up((agents[which] for which in {which for t in tasks for which in (t.a, t.b)}), ruleset)
    stopped = threading.Event()

    def count(n_games: int) -> None:
        if stopped.is_set():
            raise InterruptedError  # ends this part, whose result nobody waits for
        progress(n_games)

    def play(task: Task) -> Part:
        pair = (agents[task.a], agents[task.b])
        return play_part(pair, ruleset, seeds[task.first : task.last], progress=count)

    if threads == 1:
        yield from ((task, play(task)) for task in tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            futures = {pool.submit(play, task): task for task in tasks}
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        except BaseException:
            stopped.set()  # the other parts end at their next decision
            pool.shutdown(cancel_futures=True)
            raise


def play_part(
    pair: Sequence[Agent],
    ruleset: Ruleset,
    seeds: Seeds,
    *,
    progress: Callable[[int], None] = lambda n_games: None,
) -> Part:
    """Play a pair on some deals, both ways round. What comes of it depends on these alone.

    Args:
        pair: two agents.
        ruleset: what is played.
        seeds: uint64[D], the deals.
        progress: see `play_games`.
    """
    duel, results = play_duel(pair, 0, 1, ruleset, seeds, progress=progress)
    thinking, decided = results.thinking, results.decided
    if ruleset.players == 2:  # the other seat of the same games
        reverse = _duel(1, 0, results, _lineups(0, 1, 2, len(seeds)), len(seeds))
    else:
        reverse, results = play_duel(pair, 1, 0, ruleset, seeds, progress=progress)
        thinking, decided = thinking + results.thinking, decided + results.decided
    return Part((duel, reverse), thinking, decided)


def warm_up(agents: Iterable[Agent], ruleset: Ruleset) -> None:
    """Have agents decide once: compile and load before the clocks run."""
    opening = Position.deal(ruleset, 0).roll(1)
    for agent in agents:
        agent.act_batch(opening.state, np.zeros(1, np.uint64))


PartsPlayer = Callable[
    [Sequence[Agent], Ruleset, Seeds, Sequence[Task], int, Callable[[int], None]],
    Iterator[tuple[Task, Part]],
]
"""Plays parts, as `play_parts` does."""


def play_tournament(
    agents: Sequence[Agent],
    ruleset: Ruleset,
    ruleset_name: str,
    *,
    games: int,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int], None] = lambda n_games: None,
    play: PartsPlayer = play_parts,
    folder: Path | None = None,
) -> Tournament:
    """Play every pair of agents.

    Args:
        agents: at least two; the same spec may stand twice.
        ruleset: what is played.
        ruleset_name: how the results call it.
        games: games for each pair, rounded up to whole deals.
        seed: deal i is `draw64(seed, i)`.
        threads: how many parts are played at a time; it changes no result.
        progress: called with the number of games that have ended since the last call.
        play: plays the parts, as `play_parts` does.
        folder: where parts are kept; those that lie there are not played again. Whoever names it
            sees to it that they are of this tournament.

    Raises:
        UsageError: a file in the folder cannot be read, or is no such part; the message names it.
    """
    players = ruleset.players
    per_deal = games_per_deal(players)
    n_deals = -(-games // per_deal)
    seeds = stream_seeds(seed, n_deals)
    parts: dict[Task, Part] = {}
    tasks = tasks_of(len(agents), players, games)
    for task in tasks:
        if folder is not None and (file := _file(folder, task)).exists():
            parts[task] = _read(file, task, agents, players)
            progress((task.last - task.first) * per_deal)
    missing = [task for task in tasks if task not in parts]
    for task, part in play(agents, ruleset, seeds, missing, threads, progress):
        parts[task] = part
        if folder is not None:
            a, b = agents[task.a], agents[task.b]
            who = {"a": a.name, "b": b.name, "digest_a": a.digest, "digest_b": b.digest}
            write_json(_file(folder, task), {**who, **part.to_json()}, indent=None)

    thinking, decided = np.zeros(len(agents)), np.zeros(len(agents), np.int64)
    duels = []
    for (a, b), own in itertools.groupby(tasks, key=lambda task: (task.a, task.b)):
        played = [parts[task] for task in own]
        for part in played:
            thinking[[a, b]] += part.thinking
            decided[[a, b]] += part.decided
        for one, other, which in ((a, b, 0), (b, a, 1)):
            values = [
                np.concatenate([getattr(part.duels[which], name) for part in played])
                for name in MEASURES
            ]
            duels.append(Duel(one, other, *values))
    per_decision = [float(ms) for ms in 1000 * thinking / np.maximum(decided, 1)]
    specs = [agent.name for agent in agents]
    return Tournament(specs, ruleset_name, players, n_deals * per_deal, seed, duels, per_decision)


def play_duel(
    agents: Sequence[Agent],
    a: int,
    b: int,
    ruleset: Ruleset,
    seeds: Seeds,
    *,
    progress: Callable[[int], None] = lambda n_games: None,
) -> tuple[Duel, Results]:
    """Play one seat of `a` against `b` on the others, every deal from every seat.

    Args:
        agents: of whom `a` and `b` are indices.
        a: in one seat.
        b: in the others.
        ruleset: what is played.
        seeds: uint64[D], the deals.
        progress: see `play_games`.

    Returns:
        The duel, and the results of its games: seat 0 of `a`, seat 1, ..., deal by deal.
    """
    lineups = _lineups(a, b, ruleset.players, len(seeds))
    games = np.repeat(seeds, ruleset.players)
    results = play_games(agents, ruleset, games, lineups, progress=progress)
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

    def by_seat(values: npt.NDArray[Any]) -> Floats:
        found = np.empty((n_deals, players))
        found[games // players, seats] = values[games, seats]
        return found

    measures = (results.win_shares, results.points, results.ranks)
    return Duel(a, b, *(by_seat(values) for values in measures))


# Parts as files -------------------------------------------------------------------------------


def remove_parts(folder: Path) -> None:
    """Remove the parts in a folder, if it is there, and nothing else."""
    for file in folder.glob("[0-9]*-[0-9]*-[0-9]*.json"):
        file.unlink()


def _file(folder: Path, task: Task) -> Path:
    return folder / f"{task.a:03d}-{task.b:03d}-{task.first:07d}.json"


def _read(file: Path, task: Task, agents: Sequence[Agent], players: int) -> Part:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        for side, agent in (("a", agents[task.a]), ("b", agents[task.b])):
            if content[side] != agent.name:
                raise ValueError(f"{side} is {short(content[side])}, not {agent.name!r}")
            if content[f"digest_{side}"] != agent.digest:
                raise ValueError(f"{agent.name} has changed since: it plays by other weights")
        return Part.from_json(content, task.last - task.first, players)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{file}: not a part of this tournament: {error}") from None


# Intervals ------------------------------------------------------------------------------------


def bootstrap(values: Floats, seed: int, are_shares: bool = True) -> list[float]:
    """A 95 % interval of the mean, by resampling deals.

    Resampling finds no doubt where all deals were won, or all lost, from every seat: there it is
    the exact interval of a proportion (Clopper and Pearson 1934).

    Args:
        values: float64[D], one for each deal.
        seed: of the resampling.
        are_shares: whether they are win shares, which go from 0 to 1.

    Returns:
        Lower and upper end.
    """
    rng = np.random.default_rng(seed)
    n_deals = len(values)
    tail = (1 - LEVEL) / 2
    # how often each distinct value is drawn is multinomial: the same as drawing deals, and quick
    distinct, counts = np.unique(values, return_counts=True)
    if are_shares and distinct.tolist() == [0]:
        return [0.0, 1 - tail ** (1 / n_deals)]
    if are_shares and distinct.tolist() == [1]:
        return [tail ** (1 / n_deals), 1.0]
    drawn = rng.multinomial(n_deals, counts / n_deals, size=N_RESAMPLES)
    means = drawn @ distinct / n_deals
    return [float(end) for end in np.quantile(means, [tail, 1 - tail])]
