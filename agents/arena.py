"""Games between agents, in batches.

A game is fixed by its ruleset, its deal seed and who sits where: tiles, rolls and the players' own
randomness come from the deal seed. So results do not depend on batches, threads or order.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base import Agent
from thatslife_env import Ruleset, njit
from thatslife_env.board import MAX_PLAYERS, OVER, RULES, STATE
from thatslife_env.games import (
    GAME,
    as_actions,
    begin_deal,
    check_count,
    first_illegal,
    keys_of,
    proceed_all,
)
from thatslife_env.position import dice, illegal_move
from thatslife_env.records import Game
from thatslife_env.rewards import write_ranks
from thatslife_env.rules import points as points_of
from thatslife_env.rules import write_win_shares

BATCH = 1024  # games that are played side by side


@dataclass(frozen=True)
class Results:
    """What came of G games; columns of seats that a game does not have are 0.

    Attributes:
        points: int16[G, 6].
        win_shares: float64[G, 6].
        ranks: float64[G, 6], 1 is best, ties share the mean.
        decisions: int64[G], of all seats.
        actions: the decisions of each game in order, where they were asked for.
        thinking: float64[A], seconds of processor time that each agent took.
        decided: int64[A], decisions of each agent.
    """

    points: npt.NDArray[np.int16]
    win_shares: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.float64]
    decisions: npt.NDArray[np.int64]
    actions: list[list[int]] | None
    thinking: npt.NDArray[np.float64]
    decided: npt.NDArray[np.int64]


def play_games(
    agents: Sequence[Agent],
    ruleset: Ruleset,
    seeds: npt.NDArray[np.uint64],
    lineups: npt.NDArray[np.integer[Any]],
    *,
    threads: int = 1,
    record: bool = False,
    progress: Callable[[int], None] = lambda n_games: None,
) -> Results:
    """Play G games to their ends.

    Args:
        agents: A of them.
        ruleset: what is played.
        seeds: uint64[G], the deal seed of each game.
        lineups: int[G, players], which agent sits where.
        threads: how many batches are played at a time; it changes no result.
        record: keep the actions, for `to_records`.
        progress: called with the number of games that have ended since the last call.

    Raises:
        IllegalMoveError: an agent played illegally; the message names it.
        ValueError: there is no game, a seed is negative, or an array has another shape or type.
    """
    check_count("threads", threads)
    seeds, lineups = np.asarray(seeds), np.asarray(lineups)
    n_games = len(seeds)
    if seeds.ndim != 1 or seeds.dtype.kind not in "iu" or not n_games or seeds.min() < 0:
        raise ValueError(f"seeds must be uint64[G], G > 0, not {seeds.dtype}{list(seeds.shape)}")
    seeds = seeds.astype(np.uint64)
    if lineups.shape != (n_games, ruleset.players) or lineups.dtype.kind not in "iu":
        raise ValueError(
            f"lineups must be int[{n_games}, {ruleset.players}], "
            f"not {lineups.dtype}{list(lineups.shape)}"
        )
    if lineups.min() < 0 or lineups.max() >= len(agents):
        raise ValueError(f"lineups must be 0 to {len(agents) - 1}, the agents there are")
    parts = [slice(begin, begin + BATCH) for begin in range(0, n_games, BATCH)]

    stopped = threading.Event()

    def play(part: slice) -> Results:
        return _play_batch(agents, ruleset, seeds[part], lineups[part], record, progress, stopped)

    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            try:
                played = list(pool.map(play, parts))
            except BaseException:
                stopped.set()  # the other batches end at their next decision
                pool.shutdown(cancel_futures=True)
                raise
    else:
        played = [play(part) for part in parts]
    return join(played)


def join(parts: Sequence[Results]) -> Results:
    """The results of games that were played in several parts, in their order."""
    recorded = [part.actions for part in parts if part.actions is not None]
    return Results(
        points=np.concatenate([part.points for part in parts]),
        win_shares=np.concatenate([part.win_shares for part in parts]),
        ranks=np.concatenate([part.ranks for part in parts]),
        decisions=np.concatenate([part.decisions for part in parts]),
        actions=[game for games in recorded for game in games] if recorded else None,
        thinking=np.sum([part.thinking for part in parts], axis=0),
        decided=np.sum([part.decided for part in parts], axis=0),
    )


def to_records(
    results: Results,
    agents: Sequence[Agent],
    ruleset: Ruleset,
    seeds: npt.NDArray[np.uint64],
    lineups: npt.NDArray[np.integer[Any]],
) -> list[Game]:
    """The games that `play_games` played with `record=True`, in the record format."""
    games = []
    for actions, seed, lineup in zip(results.actions or (), seeds, lineups, strict=True):
        names = [agents[which].name for which in lineup]
        game = Game.deal(ruleset, int(seed), {"players": names})
        n_rolls = 0
        for action in actions:
            if game.position.phase == "roll":
                game.roll(dice(int(seed), n_rolls))
                n_rolls += 1
            game.play(action)
        games.append(game)
    return games


def _play_batch(
    agents: Sequence[Agent],
    ruleset: Ruleset,
    seeds: npt.NDArray[np.uint64],
    lineups: npt.NDArray[np.integer[Any]],
    record: bool,
    progress: Callable[[int], None],
    stopped: threading.Event,
) -> Results:
    n_games = len(seeds)
    states = np.zeros(n_games, STATE)
    games = np.zeros(n_games, GAME)
    _begin(states, games, np.array([ruleset.record], RULES), seeds)
    thinking = np.zeros(len(agents))
    decided = np.zeros(len(agents), np.int64)
    actions_of: list[list[int]] | None = [[] for _ in range(n_games)] if record else None
    running = np.arange(n_games)
    while len(running) and not stopped.is_set():
        to_act = lineups[running, states["player"][running]]
        for which in np.unique(to_act):
            indices = running[to_act == which]
            keys = np.empty(len(indices), np.uint64)
            keys_of(games, indices, keys)
            begin = time.thread_time()
            given = agents[which].act_batch(states[indices], keys)
            thinking[which] += time.thread_time() - begin
            decided[which] += len(indices)
            actions = as_actions(given, len(indices), f"of the agent {agents[which].name}")
            wrong = int(first_illegal(states, indices, actions))
            if wrong >= 0:
                who = f"of the agent {agents[which].name}"
                raise illegal_move(states[indices[wrong]], actions[wrong], who)
            proceed_all(states, games, indices, actions)
            if actions_of is not None:
                for index, action in zip(indices, actions, strict=True):
                    actions_of[index].append(int(action))
        still = states["phase"][running] != OVER
        progress(int(len(running) - still.sum()))
        running = running[still]
    points = np.zeros((n_games, MAX_PLAYERS), np.int16)
    win_shares = np.zeros((n_games, MAX_PLAYERS), np.float64)
    ranks = np.zeros((n_games, MAX_PLAYERS), np.float64)
    _write_results(states, points, win_shares, ranks)
    return Results(
        points, win_shares, ranks, games["decisions"].copy(), actions_of, thinking, decided
    )


@njit
def _begin(
    states: npt.NDArray[Any],
    games: npt.NDArray[Any],
    rulesets: npt.NDArray[Any],
    seeds: npt.NDArray[np.uint64],
) -> None:
    for i in range(len(states)):
        begin_deal(states[i], games[i], rulesets[0], seeds[i])


@njit
def _write_results(
    states: npt.NDArray[Any],
    points: npt.NDArray[np.int16],
    win_shares: npt.NDArray[np.float64],
    ranks: npt.NDArray[np.float64],
) -> None:
    for i in range(len(states)):
        for seat in range(states[i]["players"]):
            points[i, seat] = points_of(states[i], seat)
        write_win_shares(states[i], win_shares[i])
        write_ranks(states[i], ranks[i])
