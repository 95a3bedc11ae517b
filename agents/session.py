"""A game at the terminal: what people see and enter. Needs the extra `render`."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from rich.text import Text

import agents
from agents import terminal
from agents.analyze import judge
from agents.cli import BAD_INPUT
from agents.table import PERSON, POSITION, Table, is_one_game, read_game, write_game
from agents.terminal import Lines
from agents.words import Words
from thatslife_env.records import Game, append

NO: Final = "n"  # in every language
RECORD: Final = ".jsonl"
REFUSED: Final = (*BAD_INPUT, OSError)  # what a command may raise that the game survives
SPARE: Final = 2  # lines of a screen for the question and the sign of thinking


class _LeaveError(Exception):
    """A person leaves the game."""


class Session:
    """A game at the terminal: shows it, and asks the people.

    At a terminal each decision has a screen of its own; else everything is printed line by line.

    Args:
        table: the game and its players.
        words: the language.
        hint: spec of the agent that gives hints.
    """

    def __init__(self, table: Table, words: Words, hint: str) -> None:
        self._table = table
        self._words = words
        self._hint = hint
        self._console = terminal.console()
        self._is_asking = sys.stdin.isatty() and self._console.is_terminal
        self._has_screens = self._is_asking and table.has_people
        self._notice: list[str] = []  # to be told at the next question
        self._own: set[Path] = set()  # files that saving may overwrite
        self._saved: Game | None = None
        self._path: Path | None = None
        if self._is_asking:
            with suppress(ModuleNotFoundError):  # not on every system
                import readline  # noqa: F401  # lets `input` edit its line

    def run(self, record: Path | None = None) -> None:
        """Play until the game is over or left.

        Args:
            record: add the game to this record file once it is over.
        """
        try:
            self._play()
        except _LeaveError:
            self._offer_to_save(record)
        except (KeyboardInterrupt, EOFError):
            if self._is_asking:
                self._console.print()
                self._offer_to_save(record)
            raise
        finally:
            if record is not None and self._table.game.position.is_over:
                append(record, self._table.game)

    def opened(self, path: Path) -> None:
        """Note where the game came from: saving may overwrite a file that holds just it."""
        if is_one_game(path):
            self._path = path
            self._own.add(path.resolve())
            self._saved = self._copy()

    def _play(self) -> None:
        while True:
            self._others()
            if not self._table.game.position.is_over:
                self._decide()
            elif not self._goes_on_after_the_end():
                return

    def _others(self) -> None:
        """Roll, and have agents decide, up to a person's decision or the end."""
        table, names = self._table, self._names
        if self._has_screens and table.game.events and not table.waits:
            self._show()
        with self._thinking() as spinner:
            while not table.game.position.is_over and not table.waits:
                position = table.game.position
                if spinner is not None and position.phase != "roll":
                    name = names[position.player]
                    spinner.update(self._words("status.thinks", name=name, die=position.die))
                table.step()
                if not self._has_screens:
                    self._console.print(
                        self._words.happened(position, table.game.events[-1], names)
                    )

    def _decide(self) -> None:
        """Ask a person until the decision is made, or another game is on the table."""
        game = self._table.game
        legal = game.position.legal_actions()
        rows: list[dict[str, Any]] = []
        best = None
        again = False
        while self._table.game is game:
            self._show(rows, best, again)
            again = True
            command, rest = self._ask()
            if command.isdecimal() and len(command) < 3 and int(command) in legal:
                game.play(int(command))
                return
            try:
                if command == "h":
                    agent = agents.make(rest or self._hint, self._table.seed)
                    heading = self._words("coach.heading", name=agent.name)
                    with self._thinking(heading):
                        rows, best = judge(game.position, agent)
                    self._notice = [heading]
                elif not self._obeyed(command, rest):
                    moves = ", ".join(map(str, legal))
                    self._notice = [self._words("desk.unknown", moves=moves)]
            except REFUSED as error:
                self._notice = [" ".join(str(error).split())]

    def _goes_on_after_the_end(self) -> bool:
        """Show the result; whether a person took something back, or loaded another game."""
        game = self._table.game
        while self._table.game is game:
            self._show()
            if not self._has_screens:
                return False
            command, rest = self._ask()
            if command in ("", "q"):
                return False
            try:
                if not self._obeyed(command, rest):
                    self._notice = [self._words("desk.unknown.over")]
            except REFUSED as error:
                self._notice = [" ".join(str(error).split())]
        return True

    # Commands ----------------------------------------------------------------------------

    def _ask(self) -> tuple[str, str]:
        """What a person enters: the first word, and what follows it."""
        command, _, rest = _entered().partition(" ")
        return command, rest.strip()

    def _obeyed(self, command: str, rest: str) -> bool:
        """Do what a command says that is always there; False if it is none of those."""
        match command:
            case "q":
                raise _LeaveError
            case "u":
                if not self._table.undo():
                    self._notice = [self._words("desk.undo.none")]
            case "s":
                self._notice = [self._save(rest)]
            case "l":
                self._notice = [self._load(rest)]
            case "?":
                self._notice = self._help()
            case _:
                return False
        return True

    def _help(self) -> list[str]:
        meanings = {key: self._words(f"desk.help.{key}", name=self._hint) for key in "huslq"}
        legal = self._table.game.position.legal_actions()
        if legal:
            meanings = {str(legal[0]): self._words("desk.help.number"), **meanings}
        return [f"{key:<2} {meaning}" for key, meaning in meanings.items()]

    def _save(self, name: str) -> str:
        """Save the game, and say where, or why not."""
        path = _path(name) if name else self._default_path()
        if path.exists() and path.resolve() not in self._own:
            return self._words("desk.exists", file=path)
        try:
            write_game(path, self._table.game)
        except OSError as error:
            return f"{path}: {error.strerror}"
        self._own.add(path.resolve())
        if path.suffix != POSITION:
            self._path = path
            self._saved = self._copy()
        return self._words("desk.saved", file=path)

    def _load(self, name: str) -> str:
        """Put another game on the table, and say which, or why not."""
        if not name:
            return self._words("desk.load.file")
        path, number = _path(name), 1
        *words, last = name.split()
        if words and last.isdecimal() and len(last) < 9 and not path.exists():
            path, number = _path(name[: -len(last)].strip()), int(last)
        game = read_game(path, number)
        n, here = game.opening.players, len(self._table.specs)
        if n != here:
            return self._words("desk.players", file=path, n=n, here=here)
        self._table.take(game)
        self._path = self._saved = None
        self.opened(path)
        return self._words("desk.loaded", file=path)

    def _offer_to_save(self, record: Path | None) -> None:
        """Before the game is left, ask whether to save what is nowhere yet."""
        game = self._table.game
        is_kept = record is not None and game.position.is_over
        if not self._is_asking or is_kept or not game.events or game == self._saved:
            return
        while True:
            self._console.print(self._words("desk.leave", file=self._default_path()))
            try:
                answer = _entered()
            except (KeyboardInterrupt, EOFError):
                return
            if answer.lower() == NO:
                return
            try:
                self._console.print(self._save(answer))
            except REFUSED as error:
                self._console.print(str(error))
            if self._saved == game:
                return

    def _default_path(self) -> Path:
        """Where to save if the person names nothing: the file of this game, or a new one."""
        if self._path is not None:
            return self._path
        stem = f"thatslife-{self._table.seed}"
        path, number = Path(f"{stem}{RECORD}"), 1
        while path.exists():
            number += 1
            path = Path(f"{stem}-{number}{RECORD}")
        return path

    def _copy(self) -> Game:
        game = self._table.game
        return Game(game.opening, game.events, game.meta)

    # What is seen ------------------------------------------------------------------------

    @property
    def _names(self) -> list[str]:
        return self._words.names(self._table.game)

    def _thinking(self, text: str = "") -> Any:
        """A sign that the program is at work, on screens; yields it, or None."""
        return self._console.status(text) if self._has_screens else nullcontext()

    def _show(
        self, rows: Sequence[Mapping[str, Any]] = (), best: int | None = None, again: bool = False
    ) -> None:
        """Show the position, what led to it, and what may be done.

        Args:
            rows: what an agent holds of each action.
            best: the action that agent plays.
            again: whether a person has seen the same without them.
        """
        words, names = self._words, self._names
        position, width = self._table.game.position, self._console.width
        is_asked = self._table.waits
        legal = position.legal_actions() if is_asked else []
        lines: Lines = []
        if self._has_screens or not again:
            lines += [(terminal.TITLE, self._title(width))]
            lines += terminal.drawing(position, words, names, width, legal)
            past = self._past(width) if self._has_screens else []
            lines += [(terminal.PAST, line) for line in past]
            if is_asked or position.is_over:
                lines += [(terminal.AIR, Text())] if past else []
                lines += _kept(terminal.status(position, words, names), width)
        if is_asked and (self._has_screens or rows or not again):
            moves = terminal.moves(position, words, names, width, rows, best)
            lines += [(terminal.KEEP, line) for line in moves]
        for text in self._notice:
            lines += _kept(Text(text, terminal.BOLD), width, indent=3)
        self._notice = []
        if self._has_screens:
            if is_asked or position.is_over:
                keys = words("desk.keys.over" if position.is_over else "desk.keys")
                lines += terminal.keys(keys, width)
            self._console.clear()
            lines = terminal.fitted(lines, self._console.height - SPARE)
        for _, line in lines:
            self._console.print(line, soft_wrap=True)

    def _past(self, width: int) -> list[Text]:
        """What happened since the last turn of whoever is to decide."""
        game = self._table.game
        last = len(game.events) - (game.position.phase == "move")  # the die is shown anyway
        return terminal.turns(game, self._words, self._names, self._last_turn(), width, last)

    def _title(self, width: int) -> Text:
        line = terminal.title(self._words, self._words("play.seed", seed=self._table.seed))
        line.truncate(width, overflow="ellipsis")
        return line

    def _last_turn(self) -> int:
        """The roll of the last turn of the player to decide; at the end, of a person."""
        game, specs = self._table.game, self._table.specs
        is_over, player = game.position.is_over, game.position.player
        begin = roll = 0
        for index, (event, position) in enumerate(zip(game.events, game.positions(), strict=False)):
            if event[0] == "roll":
                roll = index
            elif specs[position.player] == PERSON if is_over else position.player == player:
                begin = roll
        return begin


def _entered() -> str:
    """A line that a person enters; "?" for bytes that are no text."""
    try:
        return input("> ").replace("\0", "").strip()
    except UnicodeDecodeError:
        return "?"


def _kept(text: Text, width: int, indent: int = 5) -> Lines:
    return [(terminal.KEEP, line) for line in terminal.wrapped(text, width, indent)]


def _path(name: str) -> Path:
    """The file that a person means: a name without an ending is that of a record."""
    path = Path(os.path.expanduser(name))  # unlike that of Path, content with unknown people
    return path if path.suffix or path.exists() else path.with_suffix(RECORD)
