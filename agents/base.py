"""What every player is."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from thatslife_env import IllegalMoveError, Position
from thatslife_env.board import OVER, ROLL
from thatslife_env.position import check_seed
from thatslife_env.rules import draw64

States = npt.NDArray[Any]
Keys = npt.NDArray[np.uint64]
Actions = npt.NDArray[np.int64]


class AgentError(ValueError):
    """An agent that cannot be made or cannot play; the message says why, and what there is."""


class Agent(ABC):
    """A player.

    What it plays is a function of the position and a *key*, one random uint64 for each decision:
    not of the batch, the threads or what it played before.

    Args:
        name: how tables call it; the spec that makes it again.
        seed: 0 .. 2^64 - 1, of the keys that `act` takes, one after the other.
    """

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

    def act(self, position: Position) -> int:
        """A legal action in a position.

        Raises:
            IllegalMoveError: there is nothing to decide in the position.
        """
        if not position.legal_actions():
            raise IllegalMoveError(f"nothing to decide in phase {position.phase!r}: {position!r}")
        key = draw64(self._seed, np.uint64(self._n_acts))
        self._n_acts += 1
        return int(self.choose(position.state, np.array([key], np.uint64))[0])

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
