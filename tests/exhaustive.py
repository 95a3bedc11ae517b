"""Games for two by brute force: every roll and every action, on `Position`, nothing merged.

For boards of a few tiles. Results are pairs (win share, margin) of seat 0.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from thatslife_env import Position

DICE = range(1, 7)
EPSILON = 1e-9


def result(position: Position) -> tuple[float, float]:
    """What seat 0 has at the end."""
    mine, other = position.scores()
    return position.win_shares()[0], float(mine - other)


def mirrored(value: float, objective: int) -> float:
    """A value of one seat for the other."""
    return 1 - value if objective == 0 else -value


@dataclass
class Optimum:
    """Best play by both, by memory and recursion."""

    rolls: dict[Position, tuple[float, float]] = field(default_factory=dict)
    moves: dict[Position, tuple[float, float]] = field(default_factory=dict)
    bests: dict[tuple[Position, int], list[int]] = field(default_factory=dict)

    def value(self, position: Position) -> tuple[float, float]:
        if position.is_over:
            return result(position)
        if position.phase == "roll":
            if position not in self.rolls:
                each = [self.value(position.roll(die)) for die in DICE]
                win, margin = (sum(values) / 6 for values in zip(*each, strict=True))
                self.rolls[position] = win, margin
            return self.rolls[position]
        if position not in self.moves:
            best = max if position.player == 0 else min
            each = [self.value(position.play(action)) for action in position.legal_actions()]
            win, margin = (best(values) for values in zip(*each, strict=True))
            self.moves[position] = win, margin
        return self.moves[position]

    def best(self, position: Position, objective: int) -> list[int]:
        """The best actions of a position in phase move."""
        if (position, objective) not in self.bests:
            goal = self.value(position)[objective]
            self.bests[position, objective] = [
                action
                for action in position.legal_actions()
                if abs(self.value(position.play(action))[objective] - goal) <= EPSILON
            ]
        return self.bests[position, objective]


Chances = Callable[[Position], dict[int, float]]  # of each action


@dataclass
class Meeting:
    """An agent in one seat against the optimal opponent, or the one that answers best."""

    optimum: Optimum
    chances: Chances
    seat: int
    objective: int
    answers_best: bool = False
    memory: dict[Position, float] = field(default_factory=dict)
    decided: float = 0.0
    optimal: float = 0.0

    def optimal_chances(self, position: Position) -> dict[int, float]:
        best = self.optimum.best(position, self.objective)
        return dict.fromkeys(best, 1 / len(best))

    def value(self, position: Position) -> float:
        """What the agent expects."""
        if position.is_over:
            value = result(position)[self.objective]
            return value if self.seat == 0 else mirrored(value, self.objective)
        if position not in self.memory:
            self.memory[position] = self._value(position)
        return self.memory[position]

    def _value(self, position: Position) -> float:
        if position.phase == "roll":
            return sum(self.value(position.roll(die)) for die in DICE) / 6
        if position.player != self.seat and self.answers_best:
            return min(self.value(position.play(action)) for action in position.legal_actions())
        is_own = position.player == self.seat
        chances = self.chances(position) if is_own else self.optimal_chances(position)
        return sum(p * self.value(position.play(action)) for action, p in chances.items() if p)

    def count(self, start: Position) -> None:
        """Add up the agent's decisions with a choice, and the optimal ones, step by step."""
        reach = {start: 1.0}
        while reach:
            following: dict[Position, float] = defaultdict(float)
            for position, p in reach.items():
                for after, chance in self._step(position, p):
                    following[after] += p * chance
            reach = following

    def _step(self, position: Position, reach: float) -> list[tuple[Position, float]]:
        """Count a position that comes up with this chance; what follows, and how likely it is."""
        if position.is_over:
            return []
        if position.phase == "roll":
            return [(position.roll(die), 1 / 6) for die in DICE]
        is_own = position.player == self.seat
        chances = self.chances(position) if is_own else self.optimal_chances(position)
        if is_own and len(position.legal_actions()) > 1:
            best = self.optimum.best(position, self.objective)
            self.decided += reach
            self.optimal += reach * sum(chances.get(action, 0.0) for action in best)
        return [(position.play(action), p) for action, p in chances.items() if p]
