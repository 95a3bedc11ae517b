"""Expectimax: exact over the die, every player for itself (max^n), a value at the leaves.

At depth 1 the value of an action is that of the position after it, before the next roll. Each
further depth is one roll, all six faces as likely, and the reply of the player who rolled, who
plays what is best for itself at that depth. Choosing an opponent belongs to the move that led to
it. Of equally good actions the lowest is played.

Positions are expanded one roll and reply at a time, in compiled code and in chunks, so memory is
bounded by the depth, whatever the batch; the leaves of a chunk are valued in one call.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import Actions, Agent, AgentError, Evaluation, Keys, States
from agents.handmade import handmade_values
from thatslife_env import njit, rules
from thatslife_env.board import (
    DIE_FACES,
    FIRST_GUARD,
    MAX_PLAYERS,
    MOVE,
    N_ACTIONS,
    OVER,
    ROLL,
    STATE,
)
from thatslife_env.rules import State

Floats = npt.NDArray[np.float64]
Values = Callable[[States], Floats]

CHUNK: Final = 8192  # leaves of one call
MAX_DEPTH: Final = 6
TOLERANCE: Final = 1e-12  # an action is better only by more than this: sums round differently

NODE: Final = np.dtype(
    [
        ("parent", np.int32),  # -1: a state that was expanded
        ("leaf", np.int32),  # row in the leaves; -1: none
        ("player", np.int8),  # who decides; CHANCE: the die
        ("action", np.int8),  # of the parent's player, that led here
    ]
)
"""One node of the trees of one roll and reply; parents stand before their children."""

CHANCE: Final = -1
_MOST_LEAVES: Final = DIE_FACES * N_ACTIONS * MAX_PLAYERS  # of one state: more than there can be
_MOST_NODES: Final = 2 * _MOST_LEAVES


class Expectimax(Agent):
    """The best action, looked `depth` moves ahead.

    Args:
        name: the spec.
        seed: see `Agent`; nothing is random here.
        depth: 1 to 6.
        value: whose `values` the leaves get; None for the one made by hand.

    Raises:
        AgentError: no depth, one out of range, or `value` has no value of positions.
    """

    def __init__(
        self, name: str, seed: int = 0, *, depth: int = 0, value: Agent | None = None
    ) -> None:
        super().__init__(name, seed)
        if not 1 <= depth <= MAX_DEPTH:
            raise AgentError(f"{name}: give depth=D, a whole number from 1 to {MAX_DEPTH}")
        self.depth = depth
        self.digest = "" if value is None else value.digest
        self._values: Values = handmade_values if value is None else value_of(value, name)

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        return self.action_values(states)[1]

    def probabilities(self, states: States) -> Floats:
        """See `Agent.probabilities`."""
        return np.eye(N_ACTIONS)[self.action_values(states)[1]]

    def values(self, states: States) -> Floats:
        """See `Agent.values`; `depth` decisions are looked at."""
        return search_values(states, self.depth, self._values)

    def evaluate(self, states: States, keys: Keys) -> Evaluation:
        """See `Agent.evaluate`."""
        shares, actions = self.action_values(states)
        return Evaluation(shares, shares * 0, actions)

    def action_values(self, states: States) -> tuple[Floats, Actions]:
        """The win share of the player to act after each action, and the best action.

        Args:
            states: STATE[M], each at a decision.

        Returns:
            float64[M, 16], NaN where illegal; int64[M].
        """
        shares = np.full((len(states), N_ACTIONS), np.nan)
        actions = np.empty(len(states), np.int64)
        first = 0
        while first < len(states):
            leaves, nodes, n_states = expand(states, first)
            values = search_values(leaves, self.depth - 1, self._values)
            node_values = np.empty((len(nodes), MAX_PLAYERS))
            _back_up(nodes, values, node_values)
            _write_actions(nodes, node_values, shares[first:], actions[first:])
            first += n_states
        return shares, actions


def value_of(agent: Agent, name: str) -> Values:
    """`agent.values`, seen to work.

    Raises:
        AgentError: it has no value of positions.
    """
    if not agent.knows("values"):
        raise AgentError(f"{name}: {agent.name} has no value of positions")
    return agent.values


def search_values(states: States, depth: int, values: Values) -> Floats:
    """The win shares that max^n expects, `depth` moves ahead.

    Args:
        states: STATE[M] of any phase, not changed; at depth 0 none at a decision.
        depth: how many decisions to look at.
        values: of the leaves, STATE[K] -> float64[K, 6].

    Returns:
        float64[M, 6].
    """
    if depth == 0:
        return _leaf_values(states, values)
    out = np.empty((len(states), MAX_PLAYERS))
    first = 0
    while first < len(states):
        leaves, nodes, n_states = expand(states, first)
        node_values = np.empty((len(nodes), MAX_PLAYERS))
        _back_up(nodes, search_values(leaves, depth - 1, values), node_values)
        out[first : first + n_states] = node_values[nodes["parent"] < 0]
        first += n_states
    return out


def _leaf_values(states: States, values: Values) -> Floats:
    """`values` where the game goes on, win shares where it is over."""
    out = np.empty((len(states), MAX_PLAYERS))
    going_on = np.empty(len(states), np.int64)
    n_going_on = _settle(states, out, going_on)
    going_on = going_on[:n_going_on]
    if n_going_on == len(states) > 0:
        out[:] = values(states)
    elif n_going_on:
        out[going_on] = values(states[going_on])
    return out


def expand(states: States, first: int) -> tuple[States, npt.NDArray[Any], int]:
    """Expand states by the next roll, where one is due, and the decision after it.

    Args:
        states: STATE[M] of any phase.
        first: index of the first to expand.

    Returns:
        The leaves, STATE[K], in phase roll or over; the nodes above them, NODE[N]; and of how many
        states they are, at least one.
    """
    leaves = np.empty(CHUNK, STATE)
    nodes = np.empty(2 * CHUNK, NODE)
    n_states, n_leaves, n_nodes = _expand(states, first, leaves, nodes)
    return leaves[:n_leaves], nodes[:n_nodes], n_states


@njit
def _expand(
    states: States, first: int, leaves: States, nodes: npt.NDArray[Any]
) -> tuple[int, int, int]:
    """Expand as many states as surely fit; returns the numbers of states, leaves and nodes."""
    n_leaves = 0
    n_nodes = 0
    index = first
    rolled = np.empty(1, STATE)
    after = np.empty(1, STATE)
    home = np.empty(N_ACTIONS, np.int64)  # the leaf of a move to the finish by a lower roll
    while index < len(states):
        if n_leaves + _MOST_LEAVES > len(leaves) or n_nodes + _MOST_NODES > len(nodes):
            break
        state = states[index]
        root = n_nodes
        n_nodes += 1
        _write_node(nodes[root], -1, -1, 0)
        if state["phase"] == OVER:
            leaves[n_leaves] = state
            nodes[root]["leaf"] = n_leaves
            n_leaves += 1
        elif state["phase"] != ROLL:
            nodes[root]["player"] = state["player"]
            home[:] = -1
            n_leaves, n_nodes = _expand_decision(
                state, root, leaves, nodes, n_leaves, n_nodes, home, after
            )
        else:
            home[:] = -1
            rolled[0] = state
            for die in range(1, DIE_FACES + 1):
                rules.roll(rolled[0], die)
                node = n_nodes
                n_nodes += 1
                _write_node(nodes[node], root, np.int64(state["player"]), die)
                n_leaves, n_nodes = _expand_decision(
                    rolled[0], node, leaves, nodes, n_leaves, n_nodes, home, after
                )
        index += 1
    return index - first, n_leaves, n_nodes


@njit(inline=True)
def _write_node(node: Any, parent: int, player: int, action: int) -> None:
    node["parent"] = parent
    node["leaf"] = -1
    node["player"] = player
    node["action"] = action


@njit
def _expand_decision(
    state: State,
    node: int,
    leaves: States,
    nodes: npt.NDArray[Any],
    n_leaves: int,
    n_nodes: int,
    home: npt.NDArray[np.int64],
    after: States,
) -> tuple[int, int]:
    """Add a node for each legal action of a state, and for each choice that one leaves open.

    Returns:
        The numbers of leaves and nodes then.
    """
    player = np.int64(state["player"])
    bits = rules.legal_bits(state)
    for action in range(N_ACTIONS):
        if not (bits >> action) & 1:
            continue
        child = n_nodes
        n_nodes += 1
        _write_node(nodes[child], node, CHANCE, action)
        comes_home = False
        if state["phase"] == MOVE and action < FIRST_GUARD:
            slot = np.int64(state["pawns"][player, action])
            comes_home = rules.landing(state, slot) == state["finish"]
            if comes_home and home[action] >= 0:  # a lower roll led to the same
                nodes[child]["leaf"] = home[action]
                continue
        leaves[n_leaves] = state
        rules.play(leaves[n_leaves], action)
        phase = np.int64(leaves[n_leaves]["phase"])
        if phase in (ROLL, OVER):
            nodes[child]["leaf"] = n_leaves
            if comes_home:
                home[action] = n_leaves
            n_leaves += 1
            continue
        nodes[child]["player"] = player
        after[0] = leaves[n_leaves]
        choices = rules.legal_bits(after[0])
        for choice in range(N_ACTIONS):
            if (choices >> choice) & 1:
                leaves[n_leaves] = after[0]
                rules.play(leaves[n_leaves], choice)
                _write_node(nodes[n_nodes], child, CHANCE, choice)
                nodes[n_nodes]["leaf"] = n_leaves
                n_leaves += 1
                n_nodes += 1
    return n_leaves, n_nodes


@njit
def _back_up(nodes: npt.NDArray[Any], leaf_values: Floats, out: Floats) -> None:
    """Write the value of each node, float64[N, 6]: the mean at chance, the player's best else."""
    out[:] = -1.0  # nothing yet
    for node in range(len(nodes) - 1, -1, -1):
        leaf = np.int64(nodes[node]["leaf"])
        if leaf >= 0:
            out[node] = leaf_values[leaf]
        parent = np.int64(nodes[node]["parent"])
        if parent < 0:
            continue
        player = np.int64(nodes[parent]["player"])
        if player == CHANCE:
            if out[parent, 0] < 0.0:
                out[parent] = 0.0
            for seat in range(MAX_PLAYERS):
                out[parent, seat] += out[node, seat] / DIE_FACES
        elif out[node, player] >= out[parent, player] - TOLERANCE:  # the lowest comes last
            out[parent] = out[node]


@njit
def _write_actions(
    nodes: npt.NDArray[Any], values: Floats, shares: Floats, actions: Actions
) -> None:
    """Write what the decider gets after each action of each state, and the lowest best action."""
    index = -1
    root = 0
    for node in range(len(nodes)):
        parent = np.int64(nodes[node]["parent"])
        if parent < 0:
            index += 1
            root = node
            actions[index] = -1
            continue
        if parent == root:
            action = np.int64(nodes[node]["action"])
            share = values[node, np.int64(nodes[root]["player"])]
            shares[index, action] = share
            if actions[index] < 0 or share > shares[index, actions[index]] + TOLERANCE:
                actions[index] = action


@njit
def _settle(states: States, out: Floats, going_on: npt.NDArray[np.int64]) -> int:
    """Write the win shares of games that are over; list and count those that go on."""
    n_going_on = 0
    for i in range(len(states)):
        if states[i]["phase"] == OVER:
            rules.write_win_shares(states[i], out[i])
        else:
            going_on[n_going_on] = i
            n_going_on += 1
    return n_going_on
