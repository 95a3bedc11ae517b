"""What every player is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thatslife_env import IllegalMoveError, Position, njit, rules
from thatslife_env.board import N_ACTIONS, OVER, ROLL, STATE
from thatslife_env.position import check_seed
from thatslife_env.rules import draw64

States = npt.NDArray[Any]
Keys = npt.NDArray[np.uint64]
Actions = npt.NDArray[np.int64]


class AgentError(ValueError):
    """An agent that cannot be made or cannot play; the message says why, and what there is."""


@dataclass(frozen=True)
class Evaluation:
    """What an agent holds of each legal action in M positions; NaN where an action is illegal.

    Attributes:
        values: float64[M, 16], the win share that the player to act expects after it.
        half_widths: float64[M, 16], half of a 95 % interval around it; 0 where nothing is sampled.
        actions: int64[M], what the agent plays with the same keys.
    """

    values: npt.NDArray[np.float64]
    half_widths: npt.NDArray[np.float64]
    actions: Actions


def half_widths(
    visits: npt.NDArray[np.int64],
    sums: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Half of the 95 % interval around means of win shares, with two wins and two losses added.

    So a mean of 0 or 1 of a few games is no certainty (Agresti and Coull 1998).

    Args:
        visits: int64[...], how many there are of each; none gives NaN.
        sums: float64[...], their sums.
        squares: float64[...], the sums of their squares.
    """
    n = visits + 4
    mean = (sums + 2) / n
    variance = np.maximum((squares + 2) / n - mean**2, 0)
    return np.where(visits > 0, 1.96 * np.sqrt(variance / n), np.nan)


class Agent(ABC):
    """A player.

    What it plays is a function of the position and a *key*, one random uint64 for each decision:
    not of the batch, the threads or what it played before.

    Args:
        name: how tables call it; the spec that makes it again.
        seed: 0 .. 2^64 - 1, of the keys that `act` takes, one after the other.

    Attributes:
        digest: SHA-256 of what it has learned, in hexadecimal digits, so that other weights by the
            same name are noticed; of each that it asks, with spaces; empty if nothing was learned.
    """

    digest = ""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self._seed = np.uint64(check_seed(seed))
        self._n_acts = 0

    @abstractmethod
    def choose(self, states: States, keys: Keys) -> Actions:
        """What it plays in M positions in which there is something to decide.

        Args:
            states: STATE[M], not to be changed.
            keys: uint64[M].

        Returns:
            int64[M], legal actions.
        """

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """How likely each action is in M positions with something to decide, over all keys.

        Args:
            states: STATE[M], not to be changed.

        Returns:
            float64[M, 16]; rows sum to 1, illegal actions have 0.

        Raises:
            AgentError: it does not know them, as players that sample do not.
        """
        raise AgentError(f"{self.name}: how likely its actions are is not known")

    def values(self, states: States) -> npt.NDArray[np.float64]:
        """The win share that it expects for every seat in M positions of any phase.

        Args:
            states: STATE[M], not to be changed.

        Returns:
            float64[M, 6]; absent seats 0, rows sum to 1. In phase over the win shares themselves.

        Raises:
            AgentError: it judges no positions.
        """
        raise AgentError(f"{self.name}: it has no value of positions")

    def evaluate(self, states: States, keys: Keys) -> Evaluation:
        """What it expects of each action in M positions with something to decide.

        As it stands: the `values` of the positions that the actions lead to.

        Args:
            states: STATE[M], not to be changed.
            keys: uint64[M]; an agent that samples draws from them what `choose` does.

        Raises:
            AgentError: it puts no value on actions.
        """
        afters, indices, actions = _afters(states)
        shares = np.full((len(states), N_ACTIONS), np.nan)
        own = self.values(afters)[np.arange(len(afters)), states["player"][indices]]
        shares[indices, actions] = own
        return Evaluation(shares, shares * 0, self.choose(states, keys))

    def knows(self, what: str) -> bool:
        """Whether it has its own `values`, `probabilities` or `evaluate`."""
        return getattr(type(self), what) is not getattr(Agent, what)

    def act(self, position: Position) -> int:
        """A legal action in a position.

        Raises:
            IllegalMoveError: there is nothing to decide in the position.
        """
        if not position.legal_actions():
            raise IllegalMoveError(f"nothing to decide in phase {position.phase!r}: {position!r}")
        return int(self.choose(position.state, np.array([self.next_key()], np.uint64))[0])

    def next_key(self) -> np.uint64:
        """The key of the next decision of `act`."""
        key = draw64(self._seed, np.uint64(self._n_acts))
        self._n_acts += 1
        return key

    def act_batch(self, states: States, rng: np.random.Generator | Keys) -> Actions:
        """Legal actions in many positions.

        Args:
            states: STATE[M]; each must be at a decision.
            rng: a generator, or a key for each decision: uint64[M].

        Returns:
            int64[M].

        Raises:
            ValueError: the keys have another type or number.
            IllegalMoveError: there is nothing to decide in one of the states.
        """
        if isinstance(rng, np.random.Generator):
            rng = rng.integers(0, 2**64, len(states), np.uint64)
        if rng.dtype != np.uint64 or rng.shape != (len(states),):
            raise ValueError(f"keys must be uint64[{len(states)}], not {rng.dtype}{rng.shape}")
        idle = np.flatnonzero((states["phase"] == ROLL) | (states["phase"] == OVER))
        if len(idle):
            raise IllegalMoveError(f"nothing to decide in state {idle[0]}")
        return self.choose(states, rng)

    def __repr__(self) -> str:
        return f"agents.make({self.name!r})"


def _afters(states: States) -> tuple[States, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """What M states are after each legal action: STATE[K], of which state, after which action."""
    most = len(states) * N_ACTIONS
    afters, indices, actions = (
        np.empty(most, STATE),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    n_afters = _play_each(states, afters, indices, actions)
    return afters[:n_afters], indices[:n_afters], actions[:n_afters]


@njit
def _play_each(
    states: States,
    afters: States,
    indices: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
) -> int:
    n_afters = 0
    for i in range(len(states)):
        bits = rules.legal_bits(states[i])
        for action in range(N_ACTIONS):
            if (bits >> action) & 1:
                afters[n_afters] = states[i]
                rules.play(afters[n_afters], action)
                indices[n_afters] = i
                actions[n_afters] = action
                n_afters += 1
    return n_afters
