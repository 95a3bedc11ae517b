"""Show what an agent holds of a position: every legal action in words, its value, the best line.

python -m agents.analyze POSITION.json --agent mcts:simulations=10000 [--seed 0] [--json]

POSITION.json may be `-`, for standard input. The value is the win share that the player to act
expects, with a 95 % interval where it is sampled; for agents without a value, how likely they play
each action. The line is the action the agent plays, and for each roll after it the reply that the
same agent would play.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents.base import Agent
from agents.cli import Parser, UsageError, progress_bar, read_position, run, whole_number
from thatslife_env import Position
from thatslife_env.board import DIE_FACES

STDIN = "-"


def main() -> None:
    """Read the arguments, analyse, and print."""
    parser = Parser(prog="agents.analyze", description=__doc__)
    parser.add_argument("position", metavar="POSITION.json", help="a position; - reads stdin")
    parser.add_argument("--agent", required=True, metavar="SPEC", help="who judges")
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), default=0, help="of sampling")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    arguments = parser.parse_args()

    position = _read(arguments.position)
    if not position.legal_actions():
        raise UsageError(
            f"{arguments.position}: nothing to decide in phase {position.phase!r}; "
            "the phase must be move, give or steal"
        )
    agent = agents.make(arguments.agent, arguments.seed)
    with progress_bar(agent.name, 1 + DIE_FACES) as progress:
        analysis = analyze(position, agent, progress)
    if arguments.json:
        print(json.dumps(analysis, indent=2))
    else:
        print(f"{position}\n\n{as_text(analysis)}")


def analyze(
    position: Position, agent: Agent, progress: Callable[[int], None] = lambda n_done: None
) -> dict[str, Any]:
    """What an agent holds of a position with something to decide, as plain JSON.

    Args:
        position: in phase move, give or steal.
        agent: one that knows values of positions or actions, or how likely its actions are.
        progress: called after the position itself and after each reply to it with 1.

    Returns:
        `position`; `agent`, its spec; `player`, the seat to act; `plays`, the action it plays;
        `actions`, for each legal one `action`, `text`, `win_share`, `ci95` and `probability`, null
        where unknown; `line`, the moves up to the next roll, each `player`, `action`, `text`; and
        `replies`, for each `die` after it the same kind of `line`.

    Raises:
        UsageError: the agent knows neither.
    """
    try:
        rows, plays = judge(position, agent)
    except UsageError as error:
        raise UsageError(f"--agent: {error}") from None
    line, after = _follow(position, agent, plays)
    progress(1)
    replies = []
    if after.phase == "roll":
        for die in range(1, DIE_FACES + 1):
            reply, _ = _follow(after.roll(die), agent)
            replies.append({"die": die, "line": reply})
            progress(1)
    return {
        "position": position.to_json(),
        "agent": agent.name,
        "player": position.player,
        "plays": plays,
        "actions": rows,
        "line": line,
        "replies": replies,
    }


def judge(position: Position, agent: Agent) -> tuple[list[dict[str, Any]], int]:
    """What an agent holds of each legal action, as in `analyze`, and which one it plays.

    Args:
        position: in phase move, give or steal.
        agent: one that knows values of positions or actions, or how likely its actions are.

    Returns:
        The rows `actions` of `analyze`, and the action.

    Raises:
        UsageError: the agent knows neither.
    """
    keys = np.array([agent.next_key()], np.uint64)
    legal = position.legal_actions()
    rows: list[dict[str, Any]] = [
        {
            "action": action,
            "text": position.describe(action),
            "win_share": None,
            "ci95": None,
            "probability": None,
        }
        for action in legal
    ]
    if knows_values(agent):
        evaluation = agent.evaluate(position.state, keys)
        plays = int(evaluation.actions[0])
        for row in rows:
            share = float(evaluation.values[0, row["action"]])
            half = float(evaluation.half_widths[0, row["action"]])
            if np.isfinite(share):  # an action that was never tried has none
                row["win_share"] = share
                row["ci95"] = [max(share - half, 0.0), min(share + half, 1.0)] if half else None
    elif agent.knows("probabilities"):
        plays = int(agent.choose(position.state, keys)[0])
        probabilities = agent.probabilities(position.state)[0]
        for row in rows:
            row["probability"] = float(probabilities[row["action"]])
    else:
        raise UsageError(f"{agent.name} knows neither the value of actions nor how likely they are")
    return rows, plays


def knows_values(agent: Agent) -> bool:
    """Whether an agent puts a win share on actions."""
    return agent.knows("values") or agent.knows("evaluate")


def as_text(analysis: dict[str, Any]) -> str:
    """An analysis for people.

    Args:
        analysis: what `analyze` gave.
    """
    seat = analysis["player"]
    by_value = analysis["actions"][0]["probability"] is None
    what = f"win share of seat {seat}" if by_value else "how likely it plays each action"
    lines = [f"{analysis['agent']}: {what}"]
    width = max(len(row["text"]) for row in analysis["actions"])
    for row in sorted(analysis["actions"], key=_rank):
        number = row["win_share"] if by_value else row["probability"]
        shown = "    -" if number is None else f"{number:.3f}"
        if row["ci95"] is not None:
            shown += f" [{row['ci95'][0]:.3f}, {row['ci95'][1]:.3f}]"
        mark = "  plays this" if row["action"] == analysis["plays"] else ""
        lines.append(f"  {row['action']:2d}  {row['text']:<{width}}  {shown}{mark}")
    lines += ["", "Line:", f"  {_in_words(analysis['line'])}"]
    lines += [f"  {reply['die']}: {_in_words(reply['line'])}" for reply in analysis["replies"]]
    return "\n".join(lines)


def _rank(row: dict[str, Any]) -> tuple[float, int]:
    """The best first."""
    number = row["win_share"] if row["probability"] is None else row["probability"]
    return (np.inf if number is None else -number), row["action"]


def _in_words(line: list[dict[str, Any]]) -> str:
    return f"seat {line[0]['player']}: " + "; ".join(move["text"] for move in line)


def _follow(
    position: Position, agent: Agent, action: int | None = None
) -> tuple[list[dict[str, Any]], Position]:
    """What the player does up to the next roll, or the end, and where that leads.

    Args:
        position: with something to decide.
        agent: who decides.
        action: the first one, where it is known.
    """
    line = []
    while position.legal_actions():
        if action is None:
            action = agent.act(position)
        line.append(
            {"player": position.player, "action": action, "text": position.describe(action)}
        )
        position = position.play(action)
        action = None
    return line, position


def _read(name: str) -> Position:
    """The position in a file, or in standard input.

    Raises:
        UsageError: it cannot be read.
        PositionError: it is refused.
    """
    if name == STDIN:
        return Position.from_json(sys.stdin.read())
    return read_position(Path(name))


if __name__ == "__main__":
    run(main, "agents.analyze")
