"""Play a game at the terminal.

python -m agents.play --opponents greedy [SPEC ...] [--ruleset full] [--seed 7] [--record FILE]
"""

from pathlib import Path

import numpy as np

import agents
from agents.cli import Parser, UsageError, run, whole_number
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.board import MAX_PLAYERS
from thatslife_env.position import dice
from thatslife_env.records import Game, append


def main() -> None:
    """Read the arguments and play one game."""
    parser = Parser(prog="agents.play", description=__doc__)
    parser.add_argument(
        "--opponents", nargs="+", required=True, metavar="SPEC", help="to your left"
    )
    parser.add_argument("--you", default="human", metavar="SPEC", help="who plays your seat")
    parser.add_argument("--seat", type=whole_number(0, MAX_PLAYERS - 1), default=0, help="yours")
    parser.add_argument("--ruleset", default="basic", choices=list(PRESETS))
    parser.add_argument("--seed", type=whole_number(0, 2**64 - 1), help="of tiles and dice")
    parser.add_argument("--position", type=Path, help="begin at this position, a JSON file")
    parser.add_argument("--record", type=Path, help="add the game to this record file")
    arguments = parser.parse_args()

    players = len(arguments.opponents) + 1
    if players > MAX_PLAYERS:
        raise UsageError(f"--opponents: at most {MAX_PLAYERS - 1}, not {players - 1}")
    if arguments.seat >= players:
        raise UsageError(f"--seat: {arguments.seat} is not 0 to {players - 1}")
    seed = arguments.seed
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    specs = [arguments.you, *arguments.opponents]
    specs = [specs[(seat - arguments.seat) % players] for seat in range(players)]
    seats = [agents.make(spec, seed) for spec in specs]
    game = _opening(arguments.position, Ruleset.preset(arguments.ruleset, players=players), seed)
    game.meta["names"] = specs

    print(f"seed {seed}: " + ", ".join(f"seat {seat} {name}" for seat, name in enumerate(specs)))
    n_rolls = 0
    while not game.position.is_over:
        seat = game.position.player
        if game.position.phase == "roll":
            game.roll(dice(seed, n_rolls))
            n_rolls += 1
            print(f"seat {seat} rolls {game.position.die}")
            continue
        action = seats[seat].act(game.position)
        print(f"seat {seat}: {game.position.describe(action)}")
        game.play(action)
    print(f"\n{game.position}")
    if arguments.record is not None:
        append(arguments.record, game)


def _opening(path: Path | None, ruleset: Ruleset, seed: int) -> Game:
    """The game to play: dealt, or from the position in a file."""
    if path is None:
        return Game.deal(ruleset, seed)
    try:
        position = Position.from_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--position: {path}: {error.strerror}") from None
    if position.players != ruleset.players:
        raise UsageError(
            f"--position: {path} has {position.players} players, --opponents make {ruleset.players}"
        )
    return Game(position, meta={"seed": seed})


if __name__ == "__main__":
    run(main, "agents.play")
