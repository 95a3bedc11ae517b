"""Fit the weights of `agents/handmade.py` to games that the value plays with itself.

    python benchmarks/fit_handmade.py [--rounds 3] [--games 6000]

Each round plays games of every preset and player count, one action in eight at random, by the
weights of the round before; regresses what a seat's points still gained on the features, by least
squares; and then fits the spread to the win shares by maximum likelihood. It prints the weights.
"""

from typing import Any

import numpy as np

from agents.cli import Parser, run, whole_number
from agents.handmade import FEATURES, N_FEATURES, count_pieces, write_features, write_value
from thatslife_env import PRESETS, Ruleset, njit, rules
from thatslife_env.baselines import random_action
from thatslife_env.board import MAX_PLAYERS, MAX_TRACK, N_ACTIONS, OVER, ROLL, SCORINGS, STATE
from thatslife_env.games import stream_seeds

EVERY = 5  # one afterstate of so many is kept
RANDOM_OF = 8  # one action of so many is random


@njit
def play_games(
    ruleset: Any, seeds: Any, weights: Any, spreads: Any, features: Any, facts: Any, shares: Any
) -> int:
    """Play and keep afterstates.

    Args:
        ruleset: RULES[1].
        seeds: uint64[G].
        weights: float64[2, N_FEATURES].
        spreads: float64[2, 2].
        features: float64[M, 6, N_FEATURES], written.
        facts: float64[M, 6, 3], written: points then, points at the end, slots to go.
        shares: float64[M, 6], written: win shares.

    Returns:
        How many were kept.
    """
    state = np.empty(1, STATE)
    after = np.empty(1, STATE)
    pieces = np.empty(MAX_TRACK, np.int64)
    row = np.empty(N_FEATURES)
    value = np.empty(MAX_PLAYERS)
    n_kept = 0
    for game in range(len(seeds)):
        first = n_kept
        rules.deal(state[0], ruleset[0], seeds[game])
        k = np.uint64(0)
        while state[0]["phase"] != OVER:
            k += np.uint64(1)
            if state[0]["phase"] == ROLL:
                if n_kept < len(features) and rules.draw64(seeds[game], k) % EVERY == 0:
                    way = count_pieces(state[0], pieces)
                    for seat in range(np.int64(state[0]["players"])):
                        write_features(state[0], seat, pieces, features[n_kept, seat])
                        facts[n_kept, seat, 0] = rules.points(state[0], seat)
                        facts[n_kept, seat, 2] = way
                    n_kept += 1
                rules.roll(state[0], rules.die_of(seeds[game], k))
                continue
            key = rules.draw64(seeds[game] ^ np.uint64(1 << 40), k)
            best_action = random_action(state[0], key)
            if key % np.uint64(RANDOM_OF) != 0:
                bits = rules.legal_bits(state[0])
                player = np.int64(state[0]["player"])
                best = -1.0
                for action in range(N_ACTIONS):
                    if (bits >> action) & 1:
                        after[0] = state[0]
                        rules.play(after[0], action)
                        write_value(after[0], weights, spreads, pieces, row, value)
                        if value[player] > best:
                            best = value[player]
                            best_action = action
            rules.play(state[0], best_action)
        rules.write_win_shares(state[0], value)
        for kept in range(first, n_kept):
            shares[kept] = value
            for seat in range(np.int64(state[0]["players"])):
                facts[kept, seat, 1] = rules.points(state[0], seat)
    return n_kept


def fit_spread(expected: Any, way: Any, shares: Any, seated: Any) -> Any:
    """The spread that makes the win shares likeliest: float64[2], by a search over a grid."""
    best, found = np.inf, np.zeros(2)
    lead = np.where(seated, expected, -np.inf)
    lead -= lead.max(axis=1, keepdims=True)
    for base in np.geomspace(0.5, 200, 16):
        for slope in np.geomspace(0.02, 20, 20):
            scaled = lead / np.sqrt(base + slope * way)[:, None]
            surprise = np.log(np.exp(scaled).sum(axis=1)) - np.where(
                seated, shares * np.nan_to_num(scaled, neginf=0), 0
            ).sum(axis=1)
            if surprise.mean() < best:
                best, found = surprise.mean(), np.array([base, slope])
    return found, best


def main() -> None:
    """Fit, round after round."""
    parser = Parser(prog="fit_handmade.py", description=__doc__)
    parser.add_argument("--rounds", type=whole_number(1, 100), default=3)
    parser.add_argument("--games", type=whole_number(1, 10**6), default=6000, help="of a round")
    arguments = parser.parse_args()
    weights = np.zeros((2, N_FEATURES))
    spreads = np.array([[20.0, 1.0], [20.0, 1.0]])
    settings = [(preset, players) for preset in PRESETS for players in (2, 2, 3, 4, 5, 6)]
    n_games = arguments.games // len(settings)
    capacity = n_games * 40
    for number in range(arguments.rounds):
        kept: list[list[Any]] = [[], []]
        for which, (preset, players) in enumerate(settings):
            ruleset = Ruleset.preset(preset, players=players)
            features = np.zeros((capacity, MAX_PLAYERS, N_FEATURES))
            facts = np.zeros((capacity, MAX_PLAYERS, 3))
            shares = np.zeros((capacity, MAX_PLAYERS))
            seeds = stream_seeds(1000 * number + which, n_games)
            record = ruleset.record.reshape(1)
            n = play_games(record, seeds, weights, spreads, features, facts, shares)
            seated = np.zeros((n, MAX_PLAYERS), bool)
            seated[:, :players] = True
            scoring = SCORINGS.index(ruleset.scoring)
            kept[scoring].append((features[:n], facts[:n], shares[:n], seated))
        for scoring in range(2):
            features, facts, shares, seated = (
                np.concatenate(column) for column in zip(*kept[scoring], strict=True)
            )
            rows = features[seated]
            gain = facts[seated][:, 1] - facts[seated][:, 0]
            ridge = 1e-3 * len(rows) * np.eye(N_FEATURES)
            weights[scoring] = np.linalg.solve(rows.T @ rows + ridge, rows.T @ gain)
            expected = facts[:, :, 0] + features @ weights[scoring]
            spreads[scoring], loss = fit_spread(
                expected[:20000], facts[:20000, 0, 2], shares[:20000], seated[:20000]
            )
            residual = gain - rows @ weights[scoring]
            print(
                number,
                SCORINGS[scoring],
                len(rows),
                f"explained {1 - residual.var() / gain.var():.3f} surprise {loss:.4f}",
            )
    for name, pair in zip(FEATURES, weights.T, strict=True):
        print(f"{name:45s} {pair[0]:8.3f} {pair[1]:8.3f}")
    print(np.round(weights, 3).tolist(), np.round(spreads, 3).tolist())


if __name__ == "__main__":
    run(main, "fit_handmade.py")
