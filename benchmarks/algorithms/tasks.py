"""The tasks of the benchmark: what is played, for how long, against whom, and how it is judged.

A task that changes in any way gets a new version. The protocol is in `docs/benchmark.md`.
Needs the extra `train`.
"""

from dataclasses import dataclass
from typing import Any, Final

import agents
from agents.base import Agent
from agents.boards import load_board
from agents.config import GameSection, Setting
from agents.regret import regret
from agents.tournament import bootstrap, play_duel
from thatslife_env.games import stream_seeds

OPPONENTS: Final = {"random": 1.0, "greedy": 1.0}
"""Who plays the other seats in training, each seat of each game drawing by these weights, where an
algorithm does not learn by playing against itself."""

RIVAL: Final = "greedy"  # whom the learner meets in the evaluations of the learning curve
ANCHORS: Final = ("random", "greedy", "mc:rollouts=30")  # who do not learn, judged with the rest

POINTS: Final = 8  # evaluations in a run, evenly spaced, the last one at its end
SEED: Final = 2**63  # of all deals of evaluations; those of training have the seeds of the runs


@dataclass(frozen=True)
class Task:
    """What algorithms are compared on.

    Attributes:
        name: with the version.
        about: a line for people.
        game: what is played, as the section `game` of a config.
        budget: decisions that a learner takes in training.
        deals: of an evaluation in the learning curve, each played from every seat.
        games: of each pair of the tournament that rates the finished agents.
        boards: solved boards; where there are some, agents are judged by their exact loss there,
            and no games are played.
    """

    name: str
    about: str
    game: dict[str, Any]
    budget: int
    deals: int = 0
    games: int = 0
    boards: tuple[str, ...] = ()

    def settings(self) -> list[Setting]:
        """The rulesets that are played."""
        return GameSection.model_validate(self.game).settings()

    @property
    def measure(self) -> str:
        """What the learning curve shows."""
        if self.boards:
            return "loss against the optimal opponent"
        return f"win share against {RIVAL}"

    def score(self, agent: Agent) -> tuple[float, float, float]:
        """How an agent stands by the `measure`, which for boards is the mean of them.

        Returns:
            The score, and the ends of its 95 % interval over deals; an exact score is its own.
        """
        if self.boards:
            loss = sum(regret(agent, board).loss for board in self.boards) / len(self.boards)
            return loss, loss, loss
        [setting] = self.settings()
        rival = agents.make(RIVAL)
        seeds = stream_seeds(SEED, self.deals)
        duel, _ = play_duel([agent, rival], 0, 1, setting.ruleset, seeds)
        low, high = bootstrap(duel.win_share.mean(axis=1), SEED)
        return float(duel.win_share.mean()), low, high


def on_boards(name: str, budget: int, *boards: str) -> Task:
    """A task of solved boards, of which each game draws one."""
    rulesets = [{"ruleset": load_board(board).ruleset.to_dict()} for board in boards]
    about = f"the solved boards {', '.join(f'`{board}`' for board in boards)}, each as often"
    return Task(name, about, {"mix": rulesets}, budget, boards=boards)


TASKS: Final = {
    task.name: task
    for task in (
        Task(
            "basic-2p-v0",
            "preset `basic`, 2 players",
            {"ruleset": "basic", "players": 2},
            2**17,
            deals=250,
            games=400,
        ),
        Task(
            "full-4p-v0",
            "preset `full`, 4 players",
            {"ruleset": "full", "players": 4},
            2**17,
            deals=125,
            games=200,
        ),
        on_boards("solved-small-v0", 2**16, "guards5", "lucky4", "expert5", "gift6"),
    )
}
"""All tasks by name."""


def task_table() -> str:
    """The tasks as a Markdown table, for the docs."""
    lines = [
        "| task | game | budget, decisions | learning curve | finished agents |",
        "|---|---|---|---|---|",
    ]
    for task in TASKS.values():
        if task.boards:
            curve, final = task.measure, "loss and exploitability on each board, computed"
        else:
            [setting] = task.settings()
            n_games = task.deals * setting.ruleset.players
            curve = f"{task.measure}, {n_games:,} games"
            final = f"ratings, {task.games:,} games a pair"
        lines.append(f"| `{task.name}` | {task.about} | {task.budget:,} | {curve} | {final} |")
    return "\n".join(lines)
