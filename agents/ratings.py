"""Ratings of a tournament: one joint fit over all games, on an Elo scale.

In a game each seat wins with a chance proportional to exp(strength of its agent), as in the models
of Bradley and Terry (1952) and Luce (1959); a shared victory counts as a part of a win for each of
its winners. All games are fitted at once, so their order has no influence. A weak prior keeps the
strength of one who won or lost everything finite: strengths are normal around their mean, with a
standard deviation of 1000 points.

Intervals come from the Bayesian bootstrap (Rubin 1981) over deals: each resample weighs every
deal, with all its games, by a draw from the exponential distribution, and is fitted anew. What the
games do not show must not look certain. So a resample has one deal more, shared out among an
agent's opponents, that one side or the other won; and the middle of the prior is drawn, too. For
two players, and deals that are won or lost, this is the mid-P interval of a proportion; where one
side won everything, the upper end is that of the prior.

Needs the extra `train`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.extras import require

Floats = npt.NDArray[np.float64]
Lineups = npt.NDArray[np.integer[Any]]

ELO = 400 / np.log(10)  # points for one unit of strength: 400 are odds of ten to one
PRIOR_SD = 1000 / ELO  # of a strength, normal around the mean of all
ANCHOR = "random"  # whose rating is 0

LEVEL = 0.95  # of intervals
_EXACT = 1e-6  # slope by game at which a fit has arrived; errors are far below a point
_BLOCK = 2**22  # weights that are held at a time; another number draws others


@dataclass(frozen=True)
class Ratings:
    """Ratings of A agents.

    Attributes:
        ratings: float64[A], Elo points, that of `random` 0, or the mean of all without it.
        intervals: float64[A, 2], lower and upper ends of 95 % intervals.
    """

    ratings: Floats
    intervals: Floats


def fit(lineups: Lineups, wins: Floats, centres: Floats) -> Floats:
    """The most probable strengths, for each of R sets of games.

    Args:
        lineups: int[M, n], which agent sits where in each kind of game.
        wins: float64[R, M, n], win shares of the seats, summed over games.
        centres: float64[R, A], of the prior.

    Returns:
        float64[R, A].

    Raises:
        ArithmeticError: no fit was found.
        MissingExtraError: SciPy is not installed.
    """
    optimize, special = require("scipy.optimize", "scipy.special", extra="train")
    n_games = wins.sum(axis=2, keepdims=True)
    seats = np.eye(centres.shape[1])[lineups.ravel()]  # [M * n, A], 1 where an agent sits

    def by_agent(by_seat: Floats) -> Floats:
        return by_seat.reshape(len(wins), -1) @ seats

    def log_chances(strengths: Floats) -> Floats:
        return special.log_softmax(strengths[:, lineups], axis=2)

    def loss(flat: Floats) -> tuple[float, Floats]:
        strengths = flat.reshape(centres.shape)
        logs, off = log_chances(strengths), (strengths - centres) / PRIOR_SD
        slope = by_agent(n_games * np.exp(logs) - wins) + off / PRIOR_SD
        return float((off**2).sum() / 2 - (wins * logs).sum()), slope.ravel()

    def curve(flat: Floats, along: Floats) -> Floats:  # second derivatives times a direction
        chances = np.exp(log_chances(flat.reshape(centres.shape)))
        change = along.reshape(centres.shape)[:, lineups]
        change -= (chances * change).sum(axis=2, keepdims=True)
        return by_agent(n_games * chances * change).ravel() + along / PRIOR_SD**2

    begin = np.zeros(centres.size)
    found = optimize.minimize(
        loss, begin, jac=True, hessp=curve, method="trust-ncg", options={"gtol": 1e-7}
    )
    worst = np.abs(found.jac).max(initial=0)
    if not worst <= _EXACT * max(1.0, n_games.sum(axis=1).max(initial=0)):
        raise ArithmeticError(f"the ratings cannot be fitted: {found.message}")
    return found.x.reshape(centres.shape)


def rate(
    names: Sequence[str],
    lineups: Lineups,
    shares: Floats,
    deals: npt.NDArray[np.integer[Any]],
    seed: int,
    n_resamples: int = 1000,
) -> Ratings:
    """Ratings with 95 % intervals.

    Args:
        names: of the A agents.
        lineups: int[G, n], which agent sits where in each game.
        shares: float64[G, n], win shares of the seats. A row may sum up games of one lineup and
            deal; it counts as many games as its sum.
        deals: int[G], from which deal a game is, 0 to D - 1; games of a deal stand together.
        seed: of the resampling.
        n_resamples: how often deals are weighed anew.

    Raises:
        ValueError: arrays do not fit together, or a share is negative or no number.
        MissingExtraError: SciPy is not installed.
    """
    if lineups.shape != shares.shape or len(deals) != len(shares):
        raise ValueError(
            f"lineups{list(lineups.shape)}, shares{list(shares.shape)} and deals[{len(deals)}] "
            "do not fit together"
        )
    if not (right := shares >= 0).all():
        raise ValueError(f"win shares are 0 or more, not {shares[~right][0]}")
    kinds, wins = _by_deal(lineups, shares, deals)
    strengths = fit(kinds, wins.sum(axis=0)[None], np.zeros((1, len(names))))
    resampled = _resample(len(names), kinds, wins, seed, n_resamples)
    anchors = [which for which, name in enumerate(names) if name == ANCHOR]
    every = list(range(len(names)))

    def on_scale(strengths: Floats) -> Floats:
        return ELO * (strengths - strengths[:, anchors or every].mean(axis=1, keepdims=True))

    tail = (1 - LEVEL) / 2
    ends = np.quantile(on_scale(resampled), [tail, 1 - tail], axis=0).T
    return Ratings(on_scale(strengths)[0], ends)


def connected(n_agents: int, lineups: Lineups) -> list[list[int]]:
    """Groups of agents that games connect, the largest first: others cannot be compared.

    Args:
        n_agents: A.
        lineups: int[G, n], which agent sits where in each game.
    """
    group = np.arange(n_agents)
    for lineup in np.unique(lineups, axis=0):
        group[np.isin(group, group[lineup])] = group[lineup].min()
    groups = [np.flatnonzero(group == which).tolist() for which in np.unique(group)]
    return sorted(groups, key=len, reverse=True)


def _by_deal(
    lineups: Lineups, shares: Floats, deals: npt.NDArray[np.integer[Any]]
) -> tuple[Lineups, Floats]:
    """Kinds of games, int[M, n], whoever sat where; and their wins by deal, float64[D, M, n]."""
    seats = np.argsort(lineups, axis=1, kind="stable")
    kinds, which = np.unique(
        np.take_along_axis(lineups, seats, axis=1), axis=0, return_inverse=True
    )
    won = np.take_along_axis(shares, seats, axis=1)
    order = np.lexsort((*won.T, which, deals))  # sums do not depend on how the games are listed
    wins = np.zeros((int(deals.max()) + 1, *kinds.shape))
    np.add.at(wins, (deals[order], which[order]), won[order])
    return kinds, wins


def _resample(n_agents: int, kinds: Lineups, wins: Floats, seed: int, n_resamples: int) -> Floats:
    """Strengths from deals that are weighed anew: float64[n_resamples, A]."""
    rng = np.random.default_rng(seed)
    n_deals, n_kinds, n_seats = wins.shape
    per_deal = wins.sum(axis=(0, 2)) / n_deals  # games of each kind
    sits = np.zeros((n_kinds, n_agents), bool)
    sits[np.arange(n_kinds)[:, None], kinds] = True
    # how much of the deal more is of each kind: for each agent 1 in all, at most
    part = 1 / (sits * sits.sum(axis=0)).max(axis=1)
    found = []
    for begin in range(0, n_resamples, size := max(1, _BLOCK // n_deals)):
        n_drawn = min(size, n_resamples - begin)
        weights = rng.exponential(size=(n_drawn, n_deals))
        drawn = (weights @ wins.reshape(n_deals, -1)).reshape(n_drawn, n_kinds, n_seats)
        winner = np.argmax(rng.random((n_drawn, n_kinds, n_agents)) * sits, axis=2)
        won = kinds == winner[:, :, None]
        more = rng.gamma(part, size=(n_drawn, n_kinds)) * per_deal
        drawn += won * (more / won.sum(axis=2))[:, :, None]
        found.append(fit(kinds, drawn, rng.normal(0, PRIOR_SD, (n_drawn, n_agents))))
    return np.concatenate(found)
