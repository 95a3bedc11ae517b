"""The two players that everything is measured against, compiled: `random` and `greedy`.

An action is a function of the state and a *key*, one random uint64. The keys of a game come from
its deal seed (`decision_key`), so what a player does depends on nothing but the game: not on the
batch, the threads or the order.
"""

from typing import Final

import numpy as np

from thatslife_env import rules
from thatslife_env._jit import njit
from thatslife_env.board import N_ACTIONS, STATE
from thatslife_env.rules import State

BASELINES: Final = ("random", "greedy")
"""Name of each; the index is its code in kernels."""

RANDOM: Final = 0
GREEDY: Final = 1

LUCKY_WORTH: Final = 4  # points that `greedy` sees in a lucky tile

_DECISIONS = np.uint64(0xC401CE5C401CE5C4)  # a stream apart from deals and dice
_FIRST = np.uint64(0)


@njit
def decision_key(deal_seed: np.uint64, n_decisions: int) -> np.uint64:
    """The key, uint64, of the decision after `n_decisions` others in the game of `deal_seed`."""
    return rules.draw64(deal_seed ^ _DECISIONS, np.uint64(n_decisions))


@njit
def baseline_action(state: State, baseline: int, key: np.uint64) -> int:
    """What the baseline with this code plays: int64."""
    return draw_action(baseline_actions(state, baseline), key)


@njit
def baseline_actions(state: State, baseline: int) -> int:
    """The set of actions of which the baseline plays each as likely: int64, bit a is action a."""
    return greedy_actions(state) if baseline == GREEDY else rules.legal_bits(state)


@njit(inline=True)
def draw_action(bits: int, key: np.uint64) -> int:
    """One action of a set that is not empty, each as likely as the others: int64."""
    n_actions = rules.count_bits(bits)
    return rules.nth_action(bits, np.int64(rules.draw(key, _FIRST, np.uint64(n_actions))))


@njit(inline=True)
def random_action(state: State, key: np.uint64) -> int:
    """A legal action, each as likely as the others: int64."""
    return draw_action(rules.legal_bits(state), key)


@njit
def greedy_actions(state: State) -> int:
    """The set of legal actions after which `greedy_value` is highest: int64."""
    seat = np.int64(state["player"])
    bits = rules.legal_bits(state)
    if rules.count_bits(bits) == 1:
        return bits
    after = np.empty(1, STATE)
    best_value = 0
    best = 0
    for action in range(N_ACTIONS):
        if (bits >> action) & 1:
            after[0] = state
            rules.play(after[0], action)
            value = greedy_value(after[0], seat)
            if best == 0 or value > best_value:
                best_value = value
                best = 0
            if value == best_value:
                best |= 1 << action
    return best


@njit
def greedy_value(state: State, seat: int) -> int:
    """What `greedy` maximises, times (players - 1) so that it is whole: int64.

    Own points less the opponents' mean, plus 4 x own lucky tiles less the opponents' mean.
    """
    n_opponents = np.int64(state["players"]) - 1
    total = 0
    for other in range(np.int64(state["players"])):
        worth = rules.points(state, other) + LUCKY_WORTH * rules.lucky_tiles(state, other)
        total += worth * n_opponents if other == seat else -worth
    return total
