"""What the decisions of a recorded game cost, as an agent that knows values sees them.

The loss of a decision is the win share of the best action less that of the action played.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from agents.base import Agent
from thatslife_env.records import Game
from thatslife_env.rules import draw64

MARKS: Final = {"?!": 0.05, "?": 0.10, "??": 0.20}  # from which loss of win share on, ascending
CHUNK: Final = 16  # decisions that are judged at once


@dataclass(frozen=True)
class Judgement:
    """What an agent holds of one decision of a game.

    Attributes:
        event: its index in the events of the game.
        player: the seat that decided.
        action: what it played.
        best: the action that is worth most.
        win_share: what the action played is worth.
        loss: how much less that is than the best.
        mark: `??`, `?`, `?!` or empty.
    """

    event: int
    player: int
    action: int
    best: int
    win_share: float
    loss: float
    mark: str


def judge_game(game: Game, agent: Agent, seed: int = 0) -> Iterator[Judgement]:
    """Judge every decision of a game, in order.

    Args:
        game: finished or not.
        agent: one that knows values, see `knows_values`.
        seed: of an agent that samples.

    Raises:
        AgentError: it cannot judge such positions.
    """
    moments = [
        (index, position, event[1])
        for index, (event, position) in enumerate(zip(game.events, game.positions(), strict=False))
        if event[0] == "play"
    ]
    for begin in range(0, len(moments), CHUNK):
        chunk = moments[begin : begin + CHUNK]
        states = np.concatenate([position.state for _, position, _ in chunk])
        keys = [draw64(np.uint64(seed), np.uint64(index)) for index, _, _ in chunk]
        found = agent.evaluate(states, np.array(keys, np.uint64))
        for row, (index, position, action) in enumerate(chunk):
            values = found.values[row]
            best = action if np.isnan(values).all() else int(np.nanargmax(values))
            loss, share = 0.0, float(values[action])
            noise = float(np.hypot(found.half_widths[row, best], found.half_widths[row, action]))
            if best != action:
                loss = float(values[best]) - share
            yield Judgement(index, position.player, action, best, share, loss, mark_of(loss, noise))


def mark_of(loss: float, noise: float = 0.0) -> str:
    """The mark of a loss of win share; none where chance alone may explain it.

    Args:
        loss: 0 or more; NaN where an agent never tried the action.
        noise: half of a 95 % interval around it.
    """
    mark = ""
    if loss > noise:
        for candidate, least in MARKS.items():
            if loss >= least - 1e-9:
                mark = candidate
    return mark


def summary(judgements: Sequence[Judgement], players: int) -> list[dict[str, Any]]:
    """For each seat its `decisions`, `mean_loss` (null without any), and how many of each mark."""
    rows = []
    for seat in range(players):
        own = [judgement for judgement in judgements if judgement.player == seat]
        losses = [judgement.loss for judgement in own if not np.isnan(judgement.loss)]
        marks = {mark: sum(judgement.mark == mark for judgement in own) for mark in MARKS}
        mean = sum(losses) / len(losses) if losses else None
        rows.append({"player": seat, "decisions": len(own), "mean_loss": mean, "marks": marks})
    return rows
