"""Solve a game for two exactly: the value of best play, and the best actions of a position.

python -m agents.solve BOARD [--objective win|margin] [--memory 4GB] [--position FILE] [--json]
python -m agents.solve --position FILE                     # solves what follows from that position

BOARD is the name of a board that comes along, or a JSON file of a ruleset with a fixed layout.
"""

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

from agents.boards import board_names, load_board
from agents.cli import Parser, UsageError, progress_bar, run
from agents.files import write_json
from agents.solver import (
    DEFAULT_MEMORY,
    MARGIN,
    OBJECTIVES,
    TOLERANCE,
    WIN,
    Solution,
    opening_of,
    solve,
)
from thatslife_env import Position
from thatslife_env.board import DIE_FACES

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def main() -> None:
    """Read the arguments, solve and print."""
    parser = Parser(prog="agents.solve", description=__doc__)
    parser.add_argument(
        "board", nargs="?", metavar="BOARD", help=f"of {', '.join(board_names())}, or a JSON file"
    )
    parser.add_argument("--objective", choices=OBJECTIVES, default=OBJECTIVES[WIN])
    parser.add_argument(
        "--memory", type=memory_size, default=DEFAULT_MEMORY, help="it may use; 4GB if not given"
    )
    parser.add_argument("--position", type=Path, help="JSON file of a position to judge")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--out", type=Path, help="write the board with its values to this file")
    arguments = parser.parse_args()

    position = None if arguments.position is None else _read(arguments.position)
    board = None if arguments.board is None else load_board(arguments.board)
    if board is not None:
        start = opening_of(board.ruleset)
    elif position is not None:
        start = position
    else:
        raise UsageError("give a BOARD, a --position, or both")
    if arguments.out is not None and board is None:
        raise UsageError("--out: give a BOARD")
    begin = time.perf_counter()
    with progress_bar(arguments.board or str(arguments.position)) as progress:
        solution = solve(start, arguments.memory, progress=progress)
    seconds = time.perf_counter() - begin

    values = dict(zip(OBJECTIVES, solution.opening_values, strict=True))
    report: dict[str, Any] = {
        "board": arguments.board,
        "states": solution.n_states,
        "values": values,
        "seconds": seconds,
    }
    if position is not None:
        report["position"] = judge(solution, position, arguments.objective)
    if arguments.out is not None and board is not None:
        solved = {
            "about": board.about,
            "ruleset": board.ruleset.to_dict(),
            "states": solution.n_states,
            "values": values,
            "command": f"python -m agents.solve {arguments.board} --out {arguments.out}",
        }
        write_json(arguments.out, solved)
    if arguments.json:
        print(json.dumps(report))
    else:
        _show(solution, report, position, arguments)


def judge(solution: Solution, position: Position, objective: str) -> dict[str, Any]:
    """What a position is worth to its player, and the best actions.

    Returns:
        `player`, `values` by objective, and `rolls`: for each roll that is open, or the one that
        has fallen, `die` and `actions`, best first, each with `action`, `words`, its values, and
        whether it is `best` for the objective.

    Raises:
        SolverError: the position cannot be reached in the solved game.
    """
    player = position.player
    win, margin = (float(value) for value in solution.values_of(position.state)[0])
    if player == 1:
        win, margin = 1 - win, -margin
    judged: dict[str, Any] = {"player": player, "values": {"win": win, "margin": margin}}
    judged["rolls"] = []
    if position.is_over:
        return judged
    dice = range(1, DIE_FACES + 1) if position.phase == "roll" else [position.die]
    for die in dice:
        rolled = position.roll(die) if position.phase == "roll" else position
        worths = solution.action_values(rolled.state)[0]
        actions: list[dict[str, Any]] = [
            {
                "action": action,
                "words": rolled.describe(action),
                "win": float(worths[action, WIN]),
                "margin": float(worths[action, MARGIN]),
            }
            for action in rolled.legal_actions()
        ]
        actions.sort(key=lambda made: -made[objective])
        for made in actions:
            made["best"] = made[objective] >= actions[0][objective] - TOLERANCE
        judged["rolls"].append({"die": die, "actions": actions})
    return judged


def _show(
    solution: Solution,
    report: dict[str, Any],
    position: Position | None,
    arguments: argparse.Namespace,
) -> None:
    """Print the report for people."""
    print(f"{solution.n_states:,} positions, solved in {report['seconds']:.1f} s")
    if arguments.board is not None:
        print(f"opening: seat {solution.opening.player} {_words(report['values'])}")
    if position is None:
        return
    judged = report["position"]
    print(f"\n{position}\n\nseat {judged['player']} {_words(judged['values'])}")
    for roll in judged["rolls"]:
        print(f"roll {roll['die']}, best for {arguments.objective} first:")
        for made in roll["actions"]:
            mark = "*" if made["best"] else " "
            print(f"{mark} {made['action']:2d}  {made['words']}: {_words(made)}")


def _words(values: dict[str, float]) -> str:
    return f"win share {values['win']:.6f}, margin {values['margin']:+.4f}"


def _read(path: Path) -> Position:
    try:
        return Position.from_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--position: {path}: {error.strerror}") from None


def memory_size(text: str) -> int:
    """A number of bytes, as `500MB` or `4GB`."""
    matched = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) *([KMGT]?B?)", text.strip().upper())
    unit = "" if matched is None else matched[2]
    if unit in ("K", "M", "G", "T"):
        unit += "B"
    n_bytes = 0 if matched is None else int(float(matched[1]) * _UNITS[unit])
    if n_bytes < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of memory such as 500MB, 4GB")
    return n_bytes


if __name__ == "__main__":
    run(main, "agents.solve")
