"""Step through recorded games at the terminal, and have an agent mark the mistakes.

python -m agents.replay RECORD.jsonl [--game 2] [--annotate SPEC] [--json]

At a terminal single keys lead through a game; otherwise everything is printed. `--annotate` judges
every decision by an agent that knows values: what it lost is the win share of the best action less
that of the action played, as that agent expects them, and `?!`, `?` and `??` mark losses of 5, 10
and 20 % and more; where values are sampled, only those larger than chance explains. Needs the extra
`render`.
"""

import json
import sys
from pathlib import Path

import agents
from agents.analyze import knows_values
from agents.cli import Parser, UsageError, run, whole_number
from agents.extras import require
from agents.words import LANGUAGES, Words, preferred
from thatslife_env.records import load


def main() -> None:
    """Read the arguments and show the games."""
    parser = Parser(prog="agents.replay", description=__doc__)
    parser.add_argument("record", type=Path, metavar="RECORD.jsonl", help="a record file")
    parser.add_argument("--game", type=whole_number(1), help="only this one of its games, from 1")
    parser.add_argument("--annotate", metavar="SPEC", help="who judges every decision")
    parser.add_argument(
        "--seed", type=whole_number(0, 2**64 - 1), default=0, help="of an agent that samples"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, a line for each game")
    parser.add_argument("--language", default=preferred(), choices=LANGUAGES)
    arguments = parser.parse_args()
    require("rich", "blessed", extra="render")
    from agents.shelf import Shelf

    try:
        games = load(arguments.record)
    except OSError as error:
        raise UsageError(f"{arguments.record}: {error.strerror}") from None
    numbers = range(1, len(games) + 1)
    if not games:
        raise UsageError(f"{arguments.record}: no game in it")
    if arguments.game is not None:
        if arguments.game not in numbers:
            raise UsageError(
                f"--game: {arguments.record} has {len(games)} games, no game {arguments.game}"
            )
        numbers = range(arguments.game, arguments.game + 1)
    agent = None
    if arguments.annotate is not None:
        agent = agents.make(arguments.annotate, arguments.seed)
        if not knows_values(agent):
            raise UsageError(f"--annotate: {agent.name} does not know what actions are worth")
    shelf = Shelf(games, Words(arguments.language), agent, arguments.seed)
    if arguments.json:
        for number in numbers:
            print(json.dumps(shelf.as_json(number)))
    elif sys.stdin.isatty() and shelf.console.is_terminal:
        shelf.browse(numbers)
    else:
        for number in numbers:
            shelf.print_all(number)


if __name__ == "__main__":
    run(main, "agents.replay")
