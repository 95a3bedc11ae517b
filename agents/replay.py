"""Step through recorded games at the terminal, and have an agent mark the mistakes.

python -m agents.replay RECORD.jsonl [--game 2] [--annotate SPEC] [--json]
python -m agents.replay RECORD.jsonl [--game 2] [--gif OUT.gif] [--mp4 OUT.mp4]

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
from agents.cli import Parser, UsageError, progress_bar, run, whole_number
from agents.extras import require
from agents.video import write_video
from agents.words import LANGUAGES, Words, preferred
from thatslife_env.records import Game, load


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
    parser.add_argument(
        "--gif", type=Path, metavar="OUT", help="write this film of the game instead"
    )
    parser.add_argument("--mp4", type=Path, metavar="OUT", help="likewise")
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
    films = {"gif": arguments.gif, "mp4": arguments.mp4}
    films = {option: path for option, path in films.items() if path is not None}
    if films:
        if len(numbers) > 1:
            raise UsageError(f"--{next(iter(films))}: choose one of {len(games)} games by --game")
        write_films(films, games[numbers[0] - 1], Words(arguments.language))
        return
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


def write_films(films: dict[str, Path], game: Game, words: Words) -> None:
    """Write a game as films.

    Args:
        films: `gif` and `mp4` to where each is to be written.
        game: finished or not.
        words: the language of the names.

    Raises:
        UsageError: the file does not end as its kind does.
    """
    for option, path in films.items():
        if path.suffix.lower() != f".{option}":
            raise UsageError(f"--{option}: {path} does not end in .{option}")
    for path in films.values():
        with progress_bar(str(path), len(game.events) + 1) as advance:
            write_video(game, path, names=words.names(game), progress=advance)
        print(path)


if __name__ == "__main__":
    run(main, "agents.replay")
