"""One game being played between people and agents, and the files it is kept in."""

from collections.abc import Sequence
from pathlib import Path

import agents
from agents.cli import UsageError, read_position
from agents.files import write_json
from thatslife_env import Position
from thatslife_env.position import check_seed, dice
from thatslife_env.records import Event, Game, load, save

PERSON = "human"
POSITION = ".json"  # a file of this name holds a position, any other a record


class Table:
    """A game, who plays its seats, and its dice.

    The k-th roll is that of the seed, and an agent's n-th decision has its n-th key: so what was
    taken back comes out the same again.

    Args:
        game: where to begin; its `meta` gets the names.
        specs: who plays each seat.
        seed: of the dice and of the agents.

    Raises:
        AgentError: a spec that names no agent.
    """

    def __init__(self, game: Game, specs: Sequence[str], seed: int) -> None:
        self.game = game
        self.specs = list(specs)
        self.seed = seed
        game.meta["names"] = self.specs
        self._seat()

    @property
    def has_people(self) -> bool:
        """Whether a person sits here."""
        return PERSON in self.specs

    @property
    def waits(self) -> bool:
        """Whether a person is to decide."""
        position = self.game.position
        return bool(position.legal_actions()) and self.specs[position.player] == PERSON

    def step(self) -> None:
        """Roll, or have an agent decide; not where a person is to."""
        position = self.game.position
        if position.phase == "roll":
            self.game.roll(dice(self.seed, sum(kind == "roll" for kind, _ in self.game.events)))
        else:
            self.game.play(self._agents[position.player].act(position))

    def undo(self) -> bool:
        """Go back to before the last decision of a person; False where there is none."""
        last = None
        for index, (event, position) in enumerate(_moments(self.game)):
            if event[0] == "play" and self.specs[position.player] == PERSON:
                last = index
        if last is None:
            return False
        game = self.game
        self.game = Game(game.opening, game.events[:last], game.meta)
        self._seat()
        return True

    def take(self, game: Game) -> None:
        """Go on with another game for as many players.

        Raises:
            UsageError: it is for another number of players.
        """
        if game.opening.players != len(self.specs):
            raise UsageError(f"{game.opening.players} players, not {len(self.specs)}")
        self.game = game
        self.seed = seed_of(game, self.seed)
        game.meta["names"] = self.specs
        self._seat()

    def _seat(self) -> None:
        """Make the agents as they are after their decisions so far."""
        self._agents = [agents.make(spec, self.seed) for spec in self.specs]
        for event, position in _moments(self.game):
            if event[0] == "play":
                self._agents[position.player].next_key()


def _moments(game: Game) -> list[tuple[Event, Position]]:
    """Each event and the position before it."""
    return list(zip(game.events, game.positions(), strict=False))


def seed_of(game: Game, default: int) -> int:
    """The seed that a game says it has; else the default."""
    try:
        return check_seed(game.meta.get("seed"))
    except ValueError:
        return default


def read_game(path: Path, number: int = 1) -> Game:
    """The game in a file: of a position (`.json`), or the `number`-th (from 1) of a record.

    Raises:
        UsageError: the file cannot be read, or has no such game.
        PositionError: the position is refused.
        RecordError: the record is refused.
    """
    if path.suffix == POSITION:
        return Game(read_position(path))
    try:
        games = load(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if not 1 <= number <= len(games):
        raise UsageError(f"{path}: has {len(games)} games, no game {number}")
    return games[number - 1]


def is_one_game(path: Path) -> bool:
    """Whether a file that can be read holds one game, and no position."""
    return path.suffix != POSITION and len(load(path)) == 1


def write_game(path: Path, game: Game) -> None:
    """Write a file of its own: of the position where the name ends in `.json`, else a record.

    Raises:
        OSError: it cannot be written.
    """
    if path.suffix == POSITION:
        write_json(path, game.position.to_json())
    else:
        save(path, [game])
