"""The players that need no learning: random, greedy, flat Monte Carlo, and a person."""

import numpy as np
import numpy.typing as npt

from agents.base import Actions, Agent, AgentError, Evaluation, Keys, States, half_widths
from thatslife_env import Position, njit, rules
from thatslife_env.baselines import BASELINES, baseline_action, baseline_actions, random_action
from thatslife_env.board import DIE_FACES, MAX_PLAYERS, N_ACTIONS, OVER, ROLL, STATE
from thatslife_env.rules import Int, State


class Baseline(Agent):
    """One of the yardsticks of `thatslife_env.baselines`: `random` or `greedy`."""

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        actions = np.empty(len(states), np.int64)
        _baseline(states, BASELINES.index(self.name), keys, actions)
        return actions

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`."""
        out = np.zeros((len(states), N_ACTIONS), np.float64)
        _baseline_probabilities(states, BASELINES.index(self.name), out)
        return out


class MonteCarlo(Agent):
    """Flat Monte Carlo: the action with the best mean win share over many random games.

    Ties are broken at random; a single legal action is played at once.

    Args:
        name: the spec.
        seed: see `Agent`.
        rollouts: games for each legal action; 0 to use `playouts`.
        playouts: games in all, split evenly over the legal actions, at least one for each.

    Raises:
        AgentError: not just one of the numbers is given, or it is not positive.
    """

    def __init__(self, name: str, seed: int = 0, *, rollouts: int = 0, playouts: int = 0) -> None:
        super().__init__(name, seed)
        if min(rollouts, playouts) < 0 or (rollouts > 0) == (playouts > 0):
            raise AgentError(f"{name}: give either rollouts=N or playouts=N, a whole number from 1")
        self._rollouts = rollouts
        self._playouts = playouts

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        actions = np.empty(len(states), np.int64)
        _monte_carlo(states, self._rollouts, self._playouts, keys, actions)
        return actions

    def evaluate(self, states: States, keys: Keys) -> Evaluation:
        """See `Agent.evaluate`."""
        shape = len(states), N_ACTIONS
        games, sums, squares = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
        _monte_carlo_means(states, self._rollouts, self._playouts, keys, games, sums, squares)
        values = np.where(games > 0, sums / np.maximum(games, 1), np.nan)
        return Evaluation(values, half_widths(games, sums, squares), self.choose(states, keys))


class Human(Agent):
    """A person at the terminal."""

    def choose(self, states: States, keys: Keys) -> Actions:
        """Ask for each decision.

        Raises:
            EOFError: the input has ended.
        """
        return np.array([self._ask(Position.from_state(state)) for state in states], np.int64)

    def _ask(self, position: Position) -> int:
        legal = position.legal_actions()
        print(f"\n{position}\n")
        for action in legal:
            print(f"  {action:2d}  {position.describe(action)}")
        while True:
            answer = input(f"seat {position.player}, your move: ").strip()
            if answer.isdecimal() and int(answer) in legal:
                return int(answer)
            print(f"please enter one of {', '.join(map(str, legal))}")


@njit
def _baseline(states: States, baseline: int, keys: Keys, actions: Actions) -> None:
    for i in range(len(states)):
        actions[i] = baseline_action(states[i], baseline, keys[i])


@njit
def _monte_carlo(
    states: States, rollouts: int, playouts: int, keys: Keys, actions: Actions
) -> None:
    for i in range(len(states)):
        actions[i] = monte_carlo_action(states[i], rollouts, playouts, keys[i])


@njit
def _baseline_probabilities(states: States, baseline: int, out: npt.NDArray[np.float64]) -> None:
    for i in range(len(states)):
        bits = baseline_actions(states[i], baseline)
        for action in range(N_ACTIONS):
            if (bits >> action) & 1:
                out[i, action] = 1 / rules.count_bits(bits)


_UNITS = 60  # a win share as a whole number, 60 / k for each of k winners: ties are exact


@njit
def monte_carlo_action(state: State, rollouts: int, playouts: int, key: np.uint64) -> Int:
    """What flat Monte Carlo plays: int64. See `MonteCarlo`."""
    bits = rules.legal_bits(state)
    n_legal = rules.count_bits(bits)
    if n_legal == 1:
        return rules.nth_action(bits, 0)
    n_games = _games_each(rollouts, playouts, n_legal)
    playout = np.empty(1, STATE)
    shares = np.empty(MAX_PLAYERS, np.float64)
    best_total = -1
    best = 0  # set of the best actions
    for action in range(N_ACTIONS):
        if not (bits >> action) & 1:
            continue
        total, _ = _play_games(state, action, n_games, key, playout, shares)
        if total > best_total:
            best_total = total
            best = 0
        if total == best_total:
            best |= 1 << action
    n_best = rules.count_bits(best)
    tie_break = rules.draw(rules.mix(key), np.uint64(0), np.uint64(n_best))
    return rules.nth_action(best, np.int64(tie_break))


@njit
def _games_each(rollouts: int, playouts: int, n_legal: int) -> Int:
    """How many games each action gets."""
    return rollouts if rollouts > 0 else max(playouts // n_legal, 1)


@njit
def _play_games(
    state: State,
    action: int,
    n_games: int,
    key: np.uint64,
    playout: States,
    shares: npt.NDArray[np.float64],
) -> tuple[Int, Int]:
    """Play random games after an action: the sum of the player's win shares, and of their squares.

    Both are in whole units, _UNITS and _UNITS^2 for a game won alone.
    """
    seat = np.int64(state["player"])
    total: Int = 0
    square: Int = 0
    for game in range(n_games):
        playout[0] = state
        rules.play(playout[0], action)
        play_out(playout[0], rules.draw64(key, np.uint64(action * n_games + game)))
        rules.write_win_shares(playout[0], shares)
        share = np.int64(shares[seat] * _UNITS + 0.5)
        total += share
        square += share * share
    return total, square


@njit
def _monte_carlo_means(
    states: States,
    rollouts: int,
    playouts: int,
    keys: Keys,
    games: npt.NDArray[np.int64],
    sums: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
) -> None:
    """Write for each action the games played, and sums of win shares and of their squares."""
    playout = np.empty(1, STATE)
    shares = np.empty(MAX_PLAYERS, np.float64)
    for i in range(len(states)):
        bits = rules.legal_bits(states[i])
        n_games = _games_each(rollouts, playouts, rules.count_bits(bits))
        for action in range(N_ACTIONS):
            if (bits >> action) & 1:
                total, square = _play_games(states[i], action, n_games, keys[i], playout, shares)
                games[i, action] = n_games
                sums[i, action] = total / _UNITS
                squares[i, action] = square / _UNITS**2


@njit
def play_out(state: State, seed: np.uint64) -> None:
    """Play a state to its end, rolls and moves uniformly random from `seed`."""
    k = np.uint64(0)
    one = np.uint64(1)
    faces = np.uint64(DIE_FACES)
    while state["phase"] != OVER:
        if state["phase"] == ROLL:
            rules.roll(state, np.int64(rules.draw(seed, k, faces)) + 1)
        else:
            rules.play(state, random_action(state, rules.draw64(seed, k)))
        k += one
