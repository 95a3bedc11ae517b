"""How finished agents are judged: ratings from a tournament, or exact losses on solved boards.

What was played or computed is kept in files, and not done again. Needs the extra `train`.
"""

import itertools
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from tasks import SEED, Task

from agents.base import Agent
from agents.cli import UsageError
from agents.files import write_json
from agents.ratings import LEVEL
from agents.regret import Regret, regret
from agents.tournament import Tournament, play_tournament

Json = dict[str, Any]


def rate(
    task: Task,
    contestants: Mapping[str, Agent],
    folders: Mapping[str, Path] = MappingProxyType({}),
    progress: Callable[[str], None] = lambda label: None,
) -> Json:
    """Play every pair and rate all agents by one joint fit.

    Args:
        task: with games to be played.
        contestants: agents by label.
        folders: where to keep the games of some of them; those of a pair lie with the later one, if
            both have a folder.
        progress: called with the label of each agent before it plays those before it.

    Returns:
        The content of `results.json` of a tournament, the labels in place of specs.
    """
    [setting] = task.settings()
    duels, times = [], np.zeros(len(contestants))
    for b, (label, agent) in enumerate(contestants.items()):
        progress(label)
        for a, (other, opponent) in enumerate(itertools.islice(contestants.items(), b)):
            folder = None
            if label in folders and other in folders:
                folder = folders[label] / "games" / _file_name(other)
                folder.mkdir(parents=True, exist_ok=True)
            pair = play_tournament(
                [opponent, agent],
                setting.ruleset,
                setting.name,
                games=task.games,
                seed=SEED + 1,
                folder=folder,
            )
            duels += [replace(duel, a=(a, b)[duel.a], b=(a, b)[duel.b]) for duel in pair.duels]
            times[[a, b]] += pair.ms_per_decision
    mean_times = (times / (len(contestants) - 1)).tolist()
    return Tournament(
        list(contestants),
        setting.name,
        setting.ruleset.players,
        task.games,
        SEED + 1,
        duels,
        mean_times,
    ).to_json()


def losses(task: Task, agent: Agent, folder: Path | None = None) -> list[Json]:
    """How far an agent is from perfect play on each board of a task.

    Args:
        task: with boards.
        agent: who.
        folder: where to keep what was computed.

    Returns:
        A `Regret` as JSON for each board.

    Raises:
        UsageError: what was kept is damaged.
    """
    file = None if folder is None else folder / "losses.json"
    if file is not None and file.exists():
        kept = read_json(file)
        names = {field.name for field in fields(Regret)}
        if (
            not isinstance(kept, list)
            or not all(isinstance(one, dict) and one.keys() == names for one in kept)
            or [one["board"] for one in kept] != list(task.boards)
        ):
            raise UsageError(f"{file}: not the losses of an agent on the boards of {task.name}")
        return kept
    found = [asdict(regret(agent, board)) for board in task.boards]
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, found)
    return found


def forget(label: str, folders: list[Path]) -> None:
    """Remove the games of an agent that is to be trained anew from the folders of all others."""
    for folder in folders:
        shutil.rmtree(folder / "games" / _file_name(label), ignore_errors=True)


def read_json(file: Path) -> Any:
    """The content of a JSON file.

    Raises:
        UsageError: it cannot be read, or is damaged.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: damaged: {error}") from None


def _file_name(label: str) -> str:
    return re.sub(r"[^\w=.]+", "-", label)


def over_seeds(
    values: npt.ArrayLike, ends: npt.ArrayLike | None = None
) -> tuple[float, float, float]:
    """Mean over seeds, and the ends of its 95 % interval by Student's t.

    Seeds that are alike leave a doubt, that of the deals they were all judged on; so the interval
    reaches at least as far as theirs do in the mean. That is all of it for a single seed.

    Args:
        values: float64[S], one of each seed.
        ends: float64[S, 2], of their intervals over deals, if they are not exact.
    """
    from scipy import stats

    given = np.asarray(values, np.float64)
    n, mean, reach = len(given), float(given.mean()), 0.0
    if n > 1:
        reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * given.std(ddof=1) / n**0.5)
    low, high = (mean, mean) if ends is None else np.mean(np.asarray(ends), axis=0)
    return mean, min(mean - reach, float(low)), max(mean + reach, float(high))
