"""How fast the search players are: ms per decision and nodes per second, one pinned core.

    python benchmarks/search.py [--decisions 200] [--agents SPEC ...]

The decisions are those of games between greedy players that have more than one legal action; each
agent gets them in one batch. Nodes are the simulations of `mcts`, the random games of `mc`, and the
leaves that `expectimax` values.
"""

import os
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import agents
from agents.base import Agent
from agents.cli import Parser, run, whole_number
from agents.expectimax import Expectimax
from thatslife_env import Position, Ruleset
from thatslife_env.position import dice

SETTINGS = (("basic", 2), ("full", 4))
AGENTS = (
    "greedy",
    "mc:playouts=1000",
    "expectimax:depth=1",
    "expectimax:depth=2",
    "expectimax:depth=3",
    "mcts:simulations=1000",
)
N_RUNS = 3


def contested(preset: str, players: int, n: int) -> npt.NDArray[Any]:
    """Decisions of greedy games: STATE[n]."""
    player = agents.make("greedy")
    found: list[npt.NDArray[Any]] = []
    deal = 0
    while len(found) < n:
        position = Position.deal(Ruleset.preset(preset, players=players), deal)
        n_rolls = 0
        while not position.is_over:
            if position.phase == "roll":
                position = position.roll(dice(deal, n_rolls))
                n_rolls += 1
                continue
            if len(position.legal_actions()) > 1:
                found.append(position.state)
            position = position.play(player.act(position))
        deal += 1
    step = len(found) / n
    return np.concatenate([found[int(k * step)] for k in range(n)])


def count_nodes(agent: Agent, states: npt.NDArray[Any]) -> int | None:
    """How many nodes the agent looks at in all; None if it counts none."""
    kind, _, options = agent.name.partition(":")
    if isinstance(agent, Expectimax):
        counted = Expectimax(agent.name, depth=agent.depth, value=(counter := Counter()))
        counted.choose(states, np.zeros(len(states), np.uint64))
        return counter.n_states
    if kind in ("mc", "mcts"):
        return int(options.partition("=")[2].partition(",")[0]) * len(states)
    return None


class Counter(Agent):
    """Counts the states it values."""

    def __init__(self) -> None:
        super().__init__("counter")
        self.n_states = 0

    def choose(self, states: Any, keys: Any) -> Any:
        """Not asked."""
        raise NotImplementedError

    def values(self, states: Any) -> Any:
        """See `Agent.values`."""
        self.n_states += len(states)
        return np.full((len(states), 6), 0.5)


def main() -> None:
    """Time every agent in every setting."""
    parser = Parser(prog="search.py", description=__doc__)
    parser.add_argument("--decisions", type=whole_number(1, 10**6), default=200)
    parser.add_argument("--agents", nargs="+", default=list(AGENTS), metavar="SPEC")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for preset, players in SETTINGS:
        states = contested(preset, players, arguments.decisions)
        keys = np.arange(len(states)).astype(np.uint64)
        print(f"\n{preset}, {players} players, {len(states)} decisions, best of {N_RUNS} runs")
        print(f"{'agent':40s} ms/decision   nodes/s")
        for spec in arguments.agents:
            agent = agents.make(spec)
            agent.choose(states[:1], keys[:1])  # compile before the clock runs
            taken = []
            for _ in range(N_RUNS):
                begin = time.thread_time()
                agent.choose(states, keys)
                taken.append(time.thread_time() - begin)
            nodes = count_nodes(agent, states)
            shown = "" if nodes is None else f"{nodes / min(taken):12,.0f}"
            print(f"{spec:40s} {1000 * min(taken) / len(states):11.4f} {shown}", flush=True)


if __name__ == "__main__":
    run(main, "search.py")
