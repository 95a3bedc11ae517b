"""Monte Carlo tree search: chance nodes for the die, every player for itself (max^n).

A tree holds the positions within reach of one. Each simulation goes down it: at a decision to the
action with the best sum of win share so far and a bonus for what was tried little (PUCT); at a roll
to the face seen least, so that all six count alike. It adds what lies below the first position that
was not looked at before, and credits the value of that position, a win share for every seat, to all
that it came through. The most visited action is played; of equals the lowest. A single legal action
is played at once.

Left alone, a position is worth half the outcome of one game played on by a quick policy, half its
value made by hand (`agents.handmade`), which gives the priors too. `value=` takes the `values` of
another agent instead, `policy=` its `probabilities` as priors.

What is played is a function of the position and the key. Two options give that up, knowingly:
`seconds=` searches for as long as the clock says; `reuse=true` lets `act`, which plays one game at
a time, go on with what the tree already holds of the new position. Then a move depends on the
positions that were asked before, and still on nothing else: the same seed and the same game give
the same moves. `act_batch`, and so `evaluate.py`, never reuses.
"""

import time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import Actions, Agent, AgentError, Evaluation, Keys, States, half_widths
from agents.expectimax import Values, value_of
from agents.handmade import (
    N_FEATURES,
    SPREADS,
    WEIGHTS,
    Floats,
    lucky_turns,
    worth,
    write_value,
)
from thatslife_env import Position, njit, rules
from thatslife_env.baselines import random_action
from thatslife_env.board import (
    DIE_FACES,
    FINISH,
    FIRST_GUARD,
    GIFT,
    LUCKY,
    MAX_PLAYERS,
    MAX_TRACK,
    MOVE,
    N_ACTIONS,
    OVER,
    ROLL,
    STATE,
)
from thatslife_env.rules import Int, State

Nodes = npt.NDArray[Any]
Path = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

EXPLORATION: Final = 0.5  # weight of the bonus for what was tried little
SHARPNESS: Final = 10.0  # of the priors: exp(SHARPNESS x value made by hand)
ROLLOUT_SHARE: Final = 0.5  # of the outcome of a game played on; the rest is the value by hand

CAPACITY: Final = 1 << 22  # nodes at a time; a full tree goes on without new ones
GROUP: Final = 64  # trees that grow side by side where another agent is asked
BURST: Final = 32  # simulations between two looks at the clock
MAX_PATH: Final = 4096  # more than the decisions and rolls of any game

CHANCE: Final = -1
UNKNOWN: Final = -1  # the first child of a position that was not looked at

NODE: Final = np.dtype(
    [
        ("sums", np.float64, (MAX_PLAYERS,)),  # of the values credited, for each seat
        ("square", np.float64),  # sum of squares of those of the seat that chose to come here
        ("visits", np.int32),
        ("first", np.int32),  # of its children, which lie side by side
        ("prior", np.float32),  # share of the visits of its siblings that it should get at first
        ("n_children", np.int8),
        ("player", np.int8),  # who decides here; CHANCE: the die
        ("action", np.int8),  # what leads here: an action, or a face of the die
    ],
    align=True,
)
"""One position in a tree. Its state is played again from the root's, not kept."""


class TreeSearch(Agent):
    """Monte Carlo tree search.

    Args:
        name: the spec.
        seed: see `Agent`.
        simulations: for each decision; 0 to search for `seconds`.
        seconds: for each decision.
        policy: whose `probabilities` are the priors; None for those made by hand.
        value: whose `values` the leaves get; None for rollouts and the value made by hand.
        reuse: whether `act` goes on with its last tree.

    Raises:
        AgentError: not just one of the budgets is given, or an agent does not know what is asked
            of it.
    """

    def __init__(
        self,
        name: str,
        seed: int = 0,
        *,
        simulations: int = 0,
        seconds: float = 0.0,
        policy: Agent | None = None,
        value: Agent | None = None,
        reuse: bool = False,
    ) -> None:
        super().__init__(name, seed)
        if (simulations > 0) == (seconds > 0):
            raise AgentError(f"{name}: give either simulations=N or seconds=T, above 0")
        if policy is not None and not policy.knows("probabilities"):
            raise AgentError(f"{name}: how likely actions of {policy.name} are is not known")
        self._simulations = simulations
        self._seconds = seconds
        self._policy = policy
        asked = [other for other in (policy, value) if other is not None]
        self.digest = " ".join(other.digest for other in asked).strip()
        self._values: Values | None = None if value is None else value_of(value, name)
        self._asks = bool(asked)  # others, so one at a time
        self._reuse = reuse
        self._capacity = CAPACITY
        if simulations:
            self._capacity = min(CAPACITY, (simulations + 1) * N_ACTIONS)
        self._kept: _Forest | None = None

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        actions = np.empty(len(states), np.int64)
        contested = np.empty(len(states), np.bool_)
        _first_actions(states, actions, contested)
        contested_states = states[contested]
        if len(contested_states):
            visits, _, _ = self._search(contested_states, keys[contested])
            actions[contested] = visits.argmax(axis=1)
        return actions

    def evaluate(self, states: States, keys: Keys) -> Evaluation:
        """See `Agent.evaluate`; the intervals take the simulations as drawn independently."""
        visits, sums, squares = self._search(states, keys)
        seen = np.maximum(visits, 1)
        values = np.where(visits > 0, sums / seen, np.nan)
        return Evaluation(values, half_widths(visits, sums, squares), visits.argmax(axis=1))

    def act(self, position: Position) -> int:
        """See `Agent.act`; with `reuse` what is played also depends on the positions before."""
        if not self._reuse or len(position.legal_actions()) < 2:
            return super().act(position)
        key = np.array([self.next_key()], np.uint64)
        forest = _Forest(position.state, self._capacity)
        if self._kept is not None:
            forest.take_over(self._kept)
        self._grow(forest, key)
        self._kept = forest
        return int(forest.outcome()[0].argmax())

    def _search(self, states: States, keys: Keys) -> tuple[Ints, Floats, Floats]:
        """Search M positions.

        Returns:
            For each action, in M rows of 16: its visits, -1 where it is illegal, and the sum and
            the sum of squares of what the player to act got.
        """
        group = 1
        if self._asks and self._simulations:
            group = max(min(GROUP, CAPACITY // self._capacity), 1)
        outcomes = []
        for begin in range(0, len(states), group):
            part = slice(begin, begin + group)
            forest = _Forest(states[part], self._capacity)
            self._grow(forest, keys[part])
            outcomes.append(forest.outcome())
        visits, sums, squares = zip(*outcomes, strict=True)
        return np.concatenate(visits), np.concatenate(sums), np.concatenate(squares)

    def _grow(self, forest: "_Forest", keys: Keys) -> None:
        """Make the simulations, one at least."""
        deadline = time.monotonic() + self._seconds  # now, where simulations are counted
        step = 1 if self._asks else (self._simulations or BURST)
        done = 0
        while not done or done < self._simulations or time.monotonic() < deadline:
            if self._asks:
                forest.simulate_asking(keys, done, self._policy, self._values)
            else:
                forest.simulate(keys, done, step)
            done += step


class _Forest:
    """The trees of G positions.

    Args:
        roots: STATE[G], each at a decision.
        capacity: nodes of each tree at most.
    """

    def __init__(self, roots: States, capacity: int) -> None:
        self.roots = roots.copy()
        self.nodes = np.empty((len(roots), capacity), NODE)
        self.n_nodes = np.ones(len(roots), np.int64)
        self.nodes[:, 0] = _ROOT

    def simulate(self, keys: Keys, first: int, n: int) -> None:
        """Make simulations `first` to `first + n - 1` in each tree."""
        _simulate_all(self.nodes, self.n_nodes, self.roots, keys, first, n, WEIGHTS, SPREADS)

    def simulate_asking(
        self, keys: Keys, number: int, policy: Agent | None, values: Values | None
    ) -> None:
        """Make one simulation in each tree, with priors or values of others."""
        n_trees = len(self.roots)
        leaves = self.roots.copy()
        paths = np.empty((n_trees, MAX_PATH), np.int32)
        lengths = np.empty(n_trees, np.int64)
        _descend_all(self.nodes, leaves, keys, number, paths, lengths)
        phases = leaves["phase"]
        shares = np.full((n_trees, MAX_PLAYERS), np.nan)
        priors = np.full((n_trees, N_ACTIONS), np.nan)
        going_on = phases != OVER
        if values is not None and going_on.any():
            shares[going_on] = values(leaves[going_on])
        deciding = going_on & (phases != ROLL)
        if policy is not None and deciding.any():
            priors[deciding] = policy.probabilities(leaves[deciding])
        _credit_all(
            self.nodes,
            self.n_nodes,
            leaves,
            keys,
            number,
            paths,
            lengths,
            values is not None,
            shares,
            policy is not None,
            priors,
            WEIGHTS,
            SPREADS,
        )

    def outcome(self) -> tuple[Ints, Floats, Floats]:
        """Visits, -1 where illegal, sums and squares of the actions: [G, 16] each."""
        shape = len(self.roots), N_ACTIONS
        visits, sums, squares = np.full(shape, -1, np.int64), np.zeros(shape), np.zeros(shape)
        _write_outcome(self.nodes, visits, sums, squares)
        return visits, sums, squares

    def take_over(self, before: "_Forest") -> None:
        """Begin with what another forest of one tree holds of this one's position, if it does."""
        levels = 3 * int(self.roots["players"][0]) + 1  # a roll, a move and a choice for each seat
        way = np.empty(levels, STATE)
        found = _find(
            before.nodes[0],
            before.roots,
            way,
            way.view(np.uint8).reshape(levels, STATE.itemsize),
            self.roots.view(np.uint8),
        )
        if found > 0:
            self.n_nodes[0] = _take_over(before.nodes[0], found, self.nodes[0])


_ROOT: Final = np.zeros((), NODE)
_ROOT["first"] = UNKNOWN
_ROOT["player"] = CHANCE
_ROOT["prior"] = 1.0


# The way down --------------------------------------------------------------------------


@njit
def _descend(nodes: Nodes, state: State, key: np.uint64, path: Path) -> Int:
    """Go down to the first position that was not looked at, or to an end of the game.

    Args:
        nodes: NODE[...], the tree.
        state: of its root; then of where the way ends.
        key: uint64, of this simulation.
        path: int32[MAX_PATH], written: the nodes on the way.

    Returns:
        How many nodes the way has.
    """
    node: Int = 0
    length = 0
    while True:
        path[length] = node
        length += 1
        if nodes[node]["first"] == UNKNOWN or state["phase"] == OVER:
            return length
        if state["phase"] == ROLL:
            node = _rarest_face(nodes, node, rules.draw64(key, np.uint64(length)))
            rules.roll(state, np.int64(nodes[node]["action"]))
        else:
            node = _best_child(nodes, node, np.int64(state["player"]))
            rules.play(state, np.int64(nodes[node]["action"]))


@njit
def _rarest_face(nodes: Nodes, node: int, key: np.uint64) -> Int:
    """The child with the fewest visits, of equals any."""
    first = np.int64(nodes[node]["first"])
    offset = np.int64(rules.draw(key, np.uint64(0), np.uint64(DIE_FACES)))
    rarest = first + offset
    for k in range(offset + 1, offset + DIE_FACES):
        child = first + k % DIE_FACES
        if nodes[child]["visits"] < nodes[rarest]["visits"]:
            rarest = child
    return rarest


@njit
def _best_child(nodes: Nodes, node: int, player: int) -> Int:
    """The child with the best win share and bonus; one not yet seen is taken to be average."""
    first = np.int64(nodes[node]["first"])
    visits = np.float64(nodes[node]["visits"])
    average = nodes[node]["sums"][player] / visits
    bonus = EXPLORATION * np.sqrt(visits)
    best: Int = first
    best_score = -1.0
    for child in range(first, first + np.int64(nodes[node]["n_children"])):
        n = np.float64(nodes[child]["visits"])
        share = nodes[child]["sums"][player] / n if n > 0.0 else average
        score = share + bonus * nodes[child]["prior"] / (1.0 + n)
        if score > best_score:
            best = child
            best_score = score
    return best


# What is added below -------------------------------------------------------------------


@njit
def _add_children(nodes: Nodes, n_nodes: int, node: int, state: State) -> Int:
    """Add what may follow a position, with even priors; returns the number of nodes then."""
    if n_nodes + N_ACTIONS > len(nodes):
        return n_nodes
    is_roll = state["phase"] == ROLL
    bits = 0b1111110 if is_roll else rules.legal_bits(state)
    n_children = rules.count_bits(bits)
    nodes[node]["first"] = n_nodes
    nodes[node]["n_children"] = n_children
    nodes[node]["player"] = CHANCE if is_roll else np.int64(state["player"])
    for action in range(N_ACTIONS):
        if (bits >> action) & 1:
            child = nodes[n_nodes]
            child["sums"][:] = 0.0
            child["square"] = 0.0
            child["visits"] = 0
            child["first"] = UNKNOWN
            child["prior"] = 1.0 / n_children
            child["n_children"] = 0
            child["player"] = CHANCE
            child["action"] = action
            n_nodes += 1
    return n_nodes


@njit
def _write_priors(
    nodes: Nodes,
    node: int,
    state: State,
    weights: Floats,
    spreads: Floats,
    after: States,
    pieces: Ints,
    features: Floats,
    value: Floats,
) -> None:
    """Give the actions of a decision priors by the value, made by hand, of what they lead to."""
    first = np.int64(nodes[node]["first"])
    n_children = np.int64(nodes[node]["n_children"])
    player = np.int64(state["player"])
    total = 0.0
    for child in range(first, first + n_children):
        after[0] = state
        rules.play(after[0], np.int64(nodes[child]["action"]))
        write_value(after[0], weights, spreads, pieces, features, value)
        prior = np.exp(SHARPNESS * value[player])
        nodes[child]["prior"] = prior
        total += prior
    for child in range(first, first + n_children):
        nodes[child]["prior"] /= total


@njit
def _credit(nodes: Nodes, path: Path, length: int, value: Floats) -> None:
    """Credit a value, float64[6], to all nodes on the way."""
    chooser: Int = CHANCE
    for k in range(length):
        node = nodes[path[k]]
        node["visits"] += 1
        for seat in range(MAX_PLAYERS):
            node["sums"][seat] += value[seat]
        if chooser != CHANCE:
            node["square"] += value[chooser] * value[chooser]
        chooser = np.int64(node["player"])


# A game played on by a quick policy ----------------------------------------------------

HELD_GOOD: Final = 0.35  # of the worth of a plus tile, what it counts to stand on it
HELD_BAD: Final = 0.6  # likewise of a minus tile
LUCKY_WORTH: Final = 5.0  # points that a lucky tile counts beyond what it turns
HOME_WORTH: Final = -1.0  # points for coming home
GUARD_WORTH: Final = 0.5  # points for moving a guard instead
NOISE: Final = 1.0  # points, at most; so that no two games are alike
_NOISE_BITS: Final = 6  # of the key, for each action


@njit
def _play_on(state: State, seed: np.uint64) -> None:
    """Play a state to its end: moves by `_quick_move`, choices of opponents at random."""
    k = np.uint64(0)
    one = np.uint64(1)
    faces = np.uint64(DIE_FACES)
    while state["phase"] != OVER:
        if state["phase"] == ROLL:
            rules.roll(state, np.int64(rules.draw(seed, k, faces)) + 1)
        elif state["phase"] == MOVE:
            rules.play(state, _quick_move(state, rules.draw64(seed, k)))
        else:
            rules.play(state, random_action(state, rules.draw64(seed, k)))
        k += one


@njit
def _quick_move(state: State, key: np.uint64) -> Int:
    """The move with the most for the tile it takes, leaves and lands on, and some noise."""
    bits = rules.legal_bits(state)
    if bits & (bits - 1) == 0:
        return rules.nth_action(bits, 0)
    seat = np.int64(state["player"])
    least, turned, _ = lucky_turns(state, seat)
    best: Int = 0
    best_score = -np.inf
    scale = NOISE / (1 << _NOISE_BITS)
    mask = (1 << _NOISE_BITS) - 1
    noise = np.int64(key >> np.uint64(1))
    for action in range(FIRST_GUARD + np.int64(state["n_guards"])):
        if not (bits >> action) & 1:
            continue
        score = scale * (noise & mask)
        noise >>= _NOISE_BITS
        if action < FIRST_GUARD:
            slot = np.int64(state["pawns"][seat, action])
            tile = np.int64(state["track"][slot])
            if tile < GIFT:
                value = _quick_worth(tile, least, turned)
                score -= _held(value)
                if rules.pawns_on(state, slot) + rules.guards_on(state, slot) == 1:
                    score += value
            tile = np.int64(state["track"][rules.landing(state, slot)])
            if tile < GIFT:
                score += _held(_quick_worth(tile, least, turned))
            elif tile == FINISH:
                score += HOME_WORTH
        else:
            score += GUARD_WORTH
        if score > best_score:
            best = action
            best_score = score
    return best


@njit(inline=True)
def _quick_worth(tile: int, least: int, turned: int) -> float:
    return worth(tile, least, turned) + (LUCKY_WORTH if tile == LUCKY else 0.0)


@njit(inline=True)
def _held(value: float) -> float:
    return value * (HELD_GOOD if value > 0.0 else HELD_BAD)


# Whole forests -------------------------------------------------------------------------


@njit
def _simulate_all(
    nodes: Nodes,
    n_nodes: Ints,
    roots: States,
    keys: Keys,
    begin: int,
    n: int,
    weights: Floats,
    spreads: Floats,
) -> None:
    """Make simulations `begin` to `begin + n - 1` in each tree, valued here."""
    leaf = np.empty(1, STATE)
    after = np.empty(1, STATE)
    path = np.empty(MAX_PATH, np.int32)
    pieces = np.empty(MAX_TRACK, np.int64)
    features = np.empty(N_FEATURES, np.float64)
    value = np.empty(MAX_PLAYERS, np.float64)
    judged = np.empty(MAX_PLAYERS, np.float64)
    for tree in range(len(roots)):
        for number in range(begin, begin + n):
            key = rules.draw64(keys[tree], np.uint64(number))
            leaf[0] = roots[tree]
            length = _descend(nodes[tree], leaf[0], key, path)
            if leaf[0]["phase"] != OVER:
                node = np.int64(path[length - 1])
                n_nodes[tree] = _add_children(nodes[tree], n_nodes[tree], node, leaf[0])
                if leaf[0]["phase"] != ROLL and nodes[tree, node]["n_children"] > 1:
                    _write_priors(
                        nodes[tree],
                        node,
                        leaf[0],
                        weights,
                        spreads,
                        after,
                        pieces,
                        features,
                        value,
                    )
            _judge(leaf[0], key, weights, spreads, pieces, features, judged, value)
            _credit(nodes[tree], path, length, value)


@njit
def _judge(
    state: State,
    key: np.uint64,
    weights: Floats,
    spreads: Floats,
    pieces: Ints,
    features: Floats,
    judged: Floats,
    value: Floats,
) -> None:
    """Write the value of a leaf, float64[6]; its state is played to the end."""
    write_value(state, weights, spreads, pieces, features, judged)
    _play_on(state, rules.mix(key))
    rules.write_win_shares(state, value)
    for seat in range(MAX_PLAYERS):
        value[seat] = ROLLOUT_SHARE * value[seat] + (1.0 - ROLLOUT_SHARE) * judged[seat]


@njit
def _descend_all(
    nodes: Nodes, states: States, keys: Keys, number: int, paths: Any, lengths: Ints
) -> None:
    for tree in range(len(states)):
        key = rules.draw64(keys[tree], np.uint64(number))
        lengths[tree] = _descend(nodes[tree], states[tree], key, paths[tree])


@njit
def _credit_all(
    nodes: Nodes,
    n_nodes: Ints,
    states: States,
    keys: Keys,
    number: int,
    paths: Any,
    lengths: Ints,
    with_shares: bool,
    shares: Floats,
    with_priors: bool,
    priors: Floats,
    weights: Floats,
    spreads: Floats,
) -> None:
    """Add and credit what `_descend_all` came to; the states are played to the end."""
    after = np.empty(1, STATE)
    pieces = np.empty(MAX_TRACK, np.int64)
    features = np.empty(N_FEATURES, np.float64)
    value = np.empty(MAX_PLAYERS, np.float64)
    judged = np.empty(MAX_PLAYERS, np.float64)
    for tree in range(len(states)):
        state = states[tree]
        path = paths[tree]
        node = np.int64(path[lengths[tree] - 1])
        if state["phase"] != OVER:
            n_nodes[tree] = _add_children(nodes[tree], n_nodes[tree], node, state)
            n_children = np.int64(nodes[tree, node]["n_children"])
            if state["phase"] != ROLL and n_children > 1:
                if with_priors:
                    first = np.int64(nodes[tree, node]["first"])
                    for child in range(first, first + n_children):
                        nodes[tree, child]["prior"] = priors[tree, nodes[tree, child]["action"]]
                else:
                    _write_priors(
                        nodes[tree], node, state, weights, spreads, after, pieces, features, value
                    )
        if with_shares and state["phase"] != OVER:
            value[:] = shares[tree]
        else:
            key = rules.draw64(keys[tree], np.uint64(number))
            _judge(state, key, weights, spreads, pieces, features, judged, value)
        _credit(nodes[tree], path, lengths[tree], value)


@njit
def _write_outcome(nodes: Nodes, visits: Ints, sums: Floats, squares: Floats) -> None:
    for tree in range(len(nodes)):
        root = nodes[tree, 0]
        player = np.int64(root["player"])
        first = np.int64(root["first"])
        for child in range(first, first + np.int64(root["n_children"])):
            action = np.int64(nodes[tree, child]["action"])
            visits[tree, action] = nodes[tree, child]["visits"]
            sums[tree, action] = nodes[tree, child]["sums"][player]
            squares[tree, action] = nodes[tree, child]["square"]


@njit
def _first_actions(states: States, actions: Actions, contested: npt.NDArray[np.bool_]) -> None:
    """Write the lowest legal action of each state, and whether there are others."""
    for i in range(len(states)):
        bits = rules.legal_bits(states[i])
        actions[i] = rules.nth_action(bits, 0)
        contested[i] = rules.count_bits(bits) > 1


# What is left of a tree ----------------------------------------------------------------


@njit
def _find(
    nodes: Nodes, root: States, way: States, way_bytes: Any, wanted: npt.NDArray[np.uint8]
) -> Int:
    """Look for a state, depth first, among what was visited.

    Args:
        nodes: the tree.
        root: STATE[1], its state.
        way: STATE[L], overwritten; L levels below the root are looked at.
        way_bytes: uint8[L, itemsize], the same memory.
        wanted: uint8[itemsize], the bytes of the state.

    Returns:
        Its node; -1 if it is not there.
    """
    above = np.empty(len(way) + 1, np.int64)  # the node on each level
    tried = np.empty(len(way) + 1, np.int64)  # how many of its children were looked at
    level = 0
    above[0] = 0
    tried[0] = 0
    while level >= 0:
        node = above[level]
        if (
            level == len(way)
            or nodes[node]["first"] == UNKNOWN
            or tried[level] == nodes[node]["n_children"]
        ):
            level -= 1
            continue
        child = np.int64(nodes[node]["first"]) + tried[level]
        tried[level] += 1
        if nodes[child]["visits"] == 0:
            continue
        if level == 0:
            way[0] = root[0]
        else:
            way[level] = way[level - 1]
        if way[level]["phase"] == ROLL:
            rules.roll(way[level], np.int64(nodes[child]["action"]))
        else:
            rules.play(way[level], np.int64(nodes[child]["action"]))
        is_same = True
        for k in range(len(wanted)):
            if way_bytes[level, k] != wanted[k]:
                is_same = False
                break
        if is_same:
            return child
        level += 1
        above[level] = child
        tried[level] = 0
    return -1


@njit
def _take_over(nodes: Nodes, root: int, out: Nodes) -> Int:
    """Copy what lies below `root` into the beginning of `out`; returns how many nodes."""
    out[0] = nodes[root]
    n_nodes: Int = 1
    node = 0
    while node < n_nodes:
        first = np.int64(out[node]["first"])
        if first != UNKNOWN:
            n_children = np.int64(out[node]["n_children"])
            if n_nodes + n_children > len(out):
                out[node]["first"] = UNKNOWN
            else:
                for k in range(n_children):
                    out[n_nodes + k] = nodes[first + k]
                out[node]["first"] = n_nodes
                n_nodes += n_children
        node += 1
    return n_nodes
