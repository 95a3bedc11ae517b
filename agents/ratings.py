"""Ratings of a tournament: one joint fit over all games, on an Elo scale.

In a game each seat wins with a chance proportional to exp(strength of its agent), as in the models
of Bradley and Terry (1952) and Luce (1959); a shared victory counts as a part of a win for each of
its winners. All games are fitted at once, so their order has no influence. A weak prior keeps the
strength of one who won or lost everything finite.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ELO = 400 / np.log(10)  # points for one unit of strength: 400 are odds of ten to one
PRIOR_SD = 1000 / ELO  # of a strength, normal around the mean of all
ANCHOR = "random"  # whose rating is 0

LEVEL = 0.95
_STEPS = 100  # of Newton's method, at most
_EXACT = 1e-9  # step at which it has arrived


def fit(pairs: npt.NDArray[np.int64], players: int, shares: Floats, deals: Floats) -> Floats:
    """The most probable strengths.

    Args:
        pairs: int[P, 2], the agent in one seat and that in all others.
        players: number of players.
        shares: float64[R, P], win shares of the one seat, summed over deals, for each of R fits.
        deals: float64[R], number of deals.

    Returns:
        float64[R, A].

    Raises:
        ArithmeticError: no fit was found.
    """
    n_agents = int(pairs.max()) + 1
    sides = np.zeros((len(pairs), n_agents))
    sides[np.arange(len(pairs)), pairs[:, 0]] += 1
    sides[np.arange(len(pairs)), pairs[:, 1]] -= 1
    strengths = np.zeros((len(shares), n_agents))
    for _ in range(_STEPS):
        leads = strengths @ sides.T - np.log(players - 1)
        chances = 1 / (1 + np.exp(-leads))
        slope = (shares - deals[:, None] * chances) @ sides - strengths / PRIOR_SD**2
        curvature = deals[:, None] * chances * (1 - chances)
        bend = np.einsum("rp,pa,pb->rab", curvature, sides, sides)
        bend += np.eye(n_agents) / PRIOR_SD**2
        step = np.linalg.solve(bend, slope[:, :, None])[:, :, 0]
        step /= np.maximum(1, np.abs(step).max(axis=1, keepdims=True))
        strengths += step
        if np.abs(step).max(initial=0) < _EXACT:
            return strengths
    raise ArithmeticError("the ratings cannot be fitted")


def rate(
    names: Sequence[str],
    pairs: npt.NDArray[np.int64],
    players: int,
    shares: Floats,
    seed: int,
    n_resamples: int = 1000,
) -> tuple[Floats, Floats, bool]:
    """Ratings with 95 % intervals.

    The intervals come from resampling whole deals, which all pairs played. One deal more is drawn
    from, in which all had equal shares: without it an agent that won every game would seem to be
    known exactly.

    Args:
        names: of the A agents.
        pairs: int[P, 2], see `fit`.
        players: number of players.
        shares: float64[D, P], the mean win share of the one seat in each deal.
        seed: of the resampling.
        n_resamples: how often deals are drawn anew.

    Returns:
        float64[A], Elo points, that of `random` 0, or the mean of all where it did not play;
        float64[A, 2], lower and upper ends; whether `random` played.
    """
    n_deals = len(shares)
    strengths = fit(pairs, players, shares.sum(axis=0)[None], np.array([float(n_deals)]))
    rng = np.random.default_rng(seed)
    drawn_from = np.vstack([shares, np.full(shares.shape[1], 1 / players)])
    chance = np.full(n_deals + 1, 1 / (n_deals + 1))
    drawn = rng.multinomial(n_deals, chance, size=n_resamples).astype(np.float64)
    resampled = fit(pairs, players, drawn @ drawn_from, drawn.sum(axis=1))

    anchors = [which for which, name in enumerate(names) if name == ANCHOR]
    every = list(range(len(names)))

    def on_scale(strengths: Floats) -> Floats:
        return ELO * (strengths - strengths[:, anchors or every].mean(axis=1, keepdims=True))

    tail = (1 - LEVEL) / 2
    ends = np.quantile(on_scale(resampled), [tail, 1 - tail], axis=0).T
    return on_scale(strengths)[0], ends, bool(anchors)
