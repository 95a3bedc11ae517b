"""Play a game at the terminal, people and agents at one table.

python -m agents.play --opponents greedy [SPEC ...] [--ruleset full] [--seed 7] [--record FILE]
python -m agents.play --load FILE

At each of your decisions enter the number of a move, or `?` for what else there is: hints, undo,
saving and loading. An opponent `human` is a person too. Needs the extra `render`.
"""

from pathlib import Path

import numpy as np

import agents
from agents.base import AgentError
from agents.cli import Parser, UsageError, read_position, run, whole_number
from agents.extras import require
from agents.table import PERSON, Table, read_game, seed_of
from agents.words import LANGUAGES, Words, preferred
from thatslife_env import PRESETS, Ruleset
from thatslife_env.board import MAX_PLAYERS
from thatslife_env.records import Game


def main() -> None:
    """Read the arguments and play one game."""
    parser = Parser(prog="agents.play", description=__doc__)
    parser.add_argument("--opponents", nargs="+", metavar="SPEC", help="to your left")
    parser.add_argument("--you", default=PERSON, metavar="SPEC", help="who plays your seat")
    parser.add_argument("--seat", type=whole_number(0, MAX_PLAYERS - 1), default=0, help="yours")
    parser.add_argument("--ruleset", default="basic", choices=list(PRESETS))
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), help="of tiles and dice")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--position", type=Path, help="begin at this position, a JSON file")
    begin.add_argument("--load", type=Path, metavar="FILE", help="go on with this game")
    parser.add_argument(
        "--game", type=whole_number(1), default=1, help="which one of that file, from 1"
    )
    parser.add_argument("--record", type=Path, help="add the game to this record file")
    parser.add_argument("--hint", default="mc:rollouts=300", metavar="SPEC", help="who gives hints")
    parser.add_argument("--language", default=preferred(), choices=LANGUAGES)
    arguments = parser.parse_args()
    if arguments.opponents is None and arguments.load is None:
        parser.error("the following arguments are required: --opponents (or --load)")
    require("rich", extra="render")
    from agents.session import Session

    seed = arguments.seed
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    game = None
    if arguments.load is not None:
        game = read_game(arguments.load, arguments.game)
        seed = seed_of(game, seed) if arguments.seed is None else seed
    specs = _specs(arguments.opponents, arguments.you, arguments.seat, game)
    if game is None:
        ruleset = Ruleset.preset(arguments.ruleset, players=len(specs))
        game = _opening(arguments.position, ruleset, seed)
    elif game.opening.players != len(specs):
        raise UsageError(
            f"--load: {arguments.load} has {game.opening.players} players, "
            f"--opponents make {len(specs)}"
        )
    session = Session(Table(game, specs, seed), Words(arguments.language), arguments.hint)
    if arguments.load is not None:
        session.opened(arguments.load)
    session.run(arguments.record)


def _specs(opponents: list[str] | None, you: str, seat: int, game: Game | None) -> list[str]:
    """Who sits where: as the arguments say, or else as the loaded game does."""
    if opponents is None:
        names = None if game is None else game.meta.get("names")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise UsageError("--load: that game does not say who plays; give --opponents")
        try:
            for name in names:
                agents.make(name)
        except AgentError as error:
            raise UsageError(f"--load: give --opponents, as that game says: {error}") from None
        return names
    players = len(opponents) + 1
    if players > MAX_PLAYERS:
        raise UsageError(f"--opponents: at most {MAX_PLAYERS - 1}, not {players - 1}")
    if seat >= players:
        raise UsageError(f"--seat: {seat} is not 0 to {players - 1}")
    specs = [you, *opponents]
    return [specs[(number - seat) % players] for number in range(players)]


def _opening(path: Path | None, ruleset: Ruleset, seed: int) -> Game:
    """The game to play: dealt, or from the position in a file."""
    if path is None:
        return Game.deal(ruleset, seed)
    position = read_position(path, "--position")
    if position.players != ruleset.players:
        raise UsageError(
            f"--position: {path} has {position.players} players, --opponents make {ruleset.players}"
        )
    return Game(position, meta={"seed": seed})


if __name__ == "__main__":
    run(main, "agents.play")
