"""Joint ratings: known strengths are found, their intervals cover them, edges stay finite."""

import itertools

import numpy as np
import pytest

from agents.ratings import ELO, fit, rate


def all_pairs(n: int, players: int) -> np.ndarray:
    """Every pair once for two players, both ways round for more."""
    pairs = itertools.combinations if players == 2 else itertools.permutations
    return np.array(list(pairs(range(n), 2)))


def chances(strengths: np.ndarray, pairs: np.ndarray, players: int) -> np.ndarray:
    one, others = strengths[pairs[:, 0]], strengths[pairs[:, 1]]
    return np.exp(one) / (np.exp(one) + (players - 1) * np.exp(others))


def simulate(
    rng: np.random.Generator, elo: list[float], players: int, n_deals: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs, and the mean shares of deals, float64[D, P], each of one game from each seat."""
    strengths = np.array(elo) / ELO
    pairs = all_pairs(len(elo), players)
    chance = chances(strengths, pairs, players)
    # luck of the deal: what all games of a deal share
    luck = rng.random((n_deals, 1, 1)) < 0.5
    drawn = rng.random((n_deals, len(pairs), players))
    drawn[:, :, 1:] = np.where(luck, drawn[:, :, :1], drawn[:, :, 1:])
    return pairs, (drawn < chance[:, None]).mean(axis=2)


@pytest.mark.parametrize("players", [2, 4, 6])
def test_exact_shares_give_the_exact_strengths(players):
    elo = np.array([0.0, 120.0, -80.0, 400.0])
    pairs = all_pairs(4, players)
    shares = chances(elo / ELO, pairs, players)
    ratings, _, anchored = rate(
        ["random", "a", "b", "c"], pairs, players, np.tile(shares, (2000, 1)), seed=1
    )
    assert anchored
    np.testing.assert_allclose(ratings, elo, atol=0.5)  # the prior's pull is weaker than that


def test_without_random_the_mean_is_0():
    pairs = all_pairs(3, 2)
    shares = np.tile(chances(np.array([1.0, 0.0, -1.0]), pairs, 2), (1000, 1))
    ratings, ends, anchored = rate(["a", "b", "c"], pairs, 2, shares, seed=1)
    assert not anchored
    assert ratings.sum() == pytest.approx(0, abs=1e-6)
    assert ratings[0] > ratings[1] > ratings[2]
    assert (ends[:, 0] < ratings + 1e-6).all()
    assert (ratings < ends[:, 1] + 1e-6).all()


@pytest.mark.parametrize("players", [2, 4])
def test_intervals_cover_the_truth(players):
    """In 90 to 99 % of 200 tournaments between agents of known strength."""
    elo = [0.0, 150.0, 300.0, 300.0]
    rng = np.random.default_rng(12 + players)
    covered = np.zeros(4)
    for number in range(200):
        pairs, shares = simulate(rng, elo, players, 100)
        _, ends, _ = rate(["random", "a", "b", "c"], pairs, players, shares, number, 300)
        covered += (ends[:, 0] <= elo) & (elo <= ends[:, 1])
    assert covered[0] == 200  # the anchor
    assert (covered[1:] >= 0.90 * 200).all(), covered
    assert (covered[1:] <= 0.99 * 200).all(), covered


def test_order_of_the_deals_and_names_of_the_agents_do_not_matter():
    rng = np.random.default_rng(3)
    pairs, shares = simulate(rng, [0.0, 100.0, 50.0], 2, 60)
    names = ["random", "a", "b"]
    ratings, _, _ = rate(names, pairs, 2, shares, seed=5)
    shuffled, _, _ = rate(names, pairs, 2, rng.permutation(shares), seed=5)
    np.testing.assert_allclose(shuffled, ratings, atol=1e-6)
    turned = np.array([2, 0, 1])  # agent k becomes turned[k]
    other, _, _ = rate(["a", "b", "random"], turned[pairs], 2, shares, seed=5)
    np.testing.assert_allclose(other[turned], ratings, atol=1e-6)


@pytest.mark.parametrize("n_deals", [1, 5, 1000])
@pytest.mark.parametrize("players", [2, 6])
def test_who_wins_everything_is_rated_finite_and_not_known_exactly(n_deals, players):
    pairs = all_pairs(3, players)
    best_first = (pairs[:, 0] < pairs[:, 1]).astype(float)
    names = ["best", "middle", "random"]
    ratings, ends, _ = rate(names, pairs, players, np.tile(best_first, (n_deals, 1)), seed=1)
    assert np.isfinite(ratings).all()
    assert np.isfinite(ends).all()
    assert ratings[0] > ratings[1] > ratings[2] == 0
    assert ends[0, 1] - ends[0, 0] > 200
    assert ends[0, 0] > 0 or n_deals < 10


def test_equal_ones_are_equal_with_ties_shared():
    pairs = all_pairs(3, 4)
    ratings, ends, _ = rate(["random", "a", "b"], pairs, 4, np.full((50, len(pairs)), 0.25), 1)
    np.testing.assert_allclose(ratings, 0, atol=1e-6)
    np.testing.assert_allclose(ends, 0, atol=1e-6)


def test_many_fits_are_single_fits():
    rng = np.random.default_rng(4)
    pairs, shares = simulate(rng, [0.0, 200.0, 100.0], 2, 40)
    sums = np.array([shares[:20].sum(axis=0), shares[20:].sum(axis=0), shares.sum(axis=0)])
    deals = np.array([20.0, 20.0, 40.0])
    together = fit(pairs, 2, sums, deals)
    for k in range(3):
        alone = fit(pairs, 2, sums[k : k + 1], deals[k : k + 1])
        np.testing.assert_allclose(together[k], alone[0], atol=1e-8)
