"""Games on paper: record files that are checked when read, and that a crash cannot spoil.

A record file has one game per line, each the JSON of the rule page; this module writes them in
ASCII, so that a line is a line for every reader. A `Game` is being played or was loaded: both can
be replayed and played on::

    game = Game.deal(Ruleset.preset("basic"), seed=7)
    while not game.position.is_over:
        if game.position.phase == "roll":
            game.roll(next_die())
        else:
            game.play(choose(game.position))
    append("games.jsonl", game)

Everything read is replayed under the rules, so a loaded game is a possible one, with its true
result. The first entry that is not possible raises `RecordError` with file, line, event and reason.
"""

import codecs
import json
import math
import os
import secrets
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from thatslife_env.board import Ruleset
from thatslife_env.position import Position, check_seed

VERSION: Final = 1
KEYS: Final = ("version", "opening", "events", "scores", "winners", "meta")
MAX_META_DEPTH: Final = 100  # lists and objects in each other; deeper ones overflow readers

Kind = Literal["roll", "play"]
Event = tuple[Kind, int]
KINDS: Final[tuple[str, ...]] = get_args(Kind)
PathLike = str | os.PathLike[str]


class RecordError(ValueError):
    """A record that is refused; the message is `file: line 3: event 17: reason`, as far as known.

    Args:
        reason: what is wrong.
        path: the record file.
        line: its line, from 1.
        event: index in the events of the game, from 0.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: PathLike | None = None,
        line: int | None = None,
        event: int | None = None,
    ) -> None:
        self.reason = reason
        self.path = None if path is None else os.fspath(path)
        self.line = line
        self.event = event
        place = [] if self.path is None else [self.path]
        place += [] if line is None else [f"line {line}"]
        place += [] if event is None else [f"event {event}"]
        super().__init__(": ".join([*place, reason]))


class _CutOffError(RecordError):
    """A text that does not parse as JSON: without its newline, what a crash leaves."""


class Game:
    """A game from its opening to where it now stands; equal games compare equal.

    `meta` is the one attribute to be written to: a dict of JSON values with anything worth keeping
    (names, seed, ruleset). It is checked here and whenever the game is written. To take back what
    was played, make another: `Game(game.opening, game.events[:-2], game.meta)`.

    Args:
        opening: any position, in any phase.
        events: `("roll", die)` and `("play", action)`, in the order of play.
        meta: JSON values by name; it is copied, tuples become lists, NumPy integers ints.

    Raises:
        RecordError: an event is not possible in its position, or meta is not JSON.
    """

    meta: dict[str, Any]

    def __init__(
        self,
        opening: Position,
        events: Iterable[Any] = (),
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._opening = opening
        self._position = opening
        self._events: list[Event] = []
        for index, event in enumerate(events):
            try:
                self._enter(event)
            except ValueError as error:
                raise RecordError(str(error), event=index) from None
        self.meta = _checked_meta({} if meta is None else meta)

    @classmethod
    def deal(cls, rules: Ruleset, seed: int, meta: Mapping[str, Any] | None = None) -> Self:
        """The game dealt from `seed`, before its first roll; meta gets `ruleset` and `seed`.

        Args:
            rules: what is played.
            seed: 0 .. 2^64 - 1.
            meta: further entries.

        Raises:
            ValueError: the seed is outside its range.
            RecordError: meta is not JSON, or has a `ruleset` or `seed` of its own.
        """
        entries = {} if meta is None else dict(meta)
        for name in ("ruleset", "seed"):
            if name in entries:
                raise RecordError(f"meta: {name!r} is entered by the deal itself")
        dealt = {"ruleset": rules.to_dict(), "seed": check_seed(seed)}
        return cls(Position.deal(rules, seed), meta={**entries, **dealt})

    # Looking ---------------------------------------------------------------------------

    @property
    def opening(self) -> Position:
        """The position before the first event."""
        return self._opening

    @property
    def events(self) -> tuple[Event, ...]:
        """What was rolled and played so far: `("roll", die)` and `("play", action)`."""
        return tuple(self._events)

    @property
    def position(self) -> Position:
        """The position after the last event."""
        return self._position

    @property
    def scores(self) -> list[int] | None:
        """Points of each seat at the end; None while unfinished."""
        return self._position.scores() if self._position.is_over else None

    @property
    def winners(self) -> list[int] | None:
        """The winning seats, ascending; None while unfinished."""
        return self._position.winners() if self._position.is_over else None

    def positions(self) -> Iterator[Position]:
        """Replay: the opening, then the position after each event."""
        position = self._opening
        yield position
        for kind, value in self.events:
            position = position.roll(value) if kind == "roll" else position.play(value)
            yield position

    # Playing ---------------------------------------------------------------------------

    def roll(self, die: int) -> None:
        """Enter a roll, 1..6.

        Raises:
            IllegalMoveError: the phase is not `roll`, or no die shows that; nothing is entered.
        """
        self._position = self._position.roll(die)
        self._events.append(("roll", int(die)))

    def play(self, action: int) -> None:
        """Enter an action, 0..15.

        Raises:
            IllegalMoveError: it is not legal in `position`; nothing is entered.
        """
        self._position = self._position.play(action)
        self._events.append(("play", int(action)))

    def _enter(self, event: Any) -> None:
        """Enter one event as a file or a caller gives it; a ValueError says why not."""
        if not isinstance(event, list | tuple) or len(event) != 2 or event[0] not in KINDS:
            raise RecordError(f'must be ["roll", die] or ["play", action], not {_short(event)}')
        kind, value = event
        if kind == "roll":
            self.roll(value)
        else:
            self.play(value)

    # JSON ------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The JSON object of the rule page; `from_json` reads it back.

        Raises:
            RecordError: what was put into `meta` is not JSON.
        """
        return {
            "version": VERSION,
            "opening": self._opening.to_json(),
            "events": [list(event) for event in self._events],
            "scores": self.scores,
            "winners": self.winners,
            "meta": _checked_meta(self.meta),
        }

    @classmethod
    def from_json(cls, record: Any, line: int | None = None) -> Self:
        """Read the JSON of the rule page, replaying the game.

        Args:
            record: the parsed object (a dict), or its text (str or UTF-8 bytes).
            line: where it stands in its file, from 1, for the message of an error.

        Raises:
            RecordError: it is refused; the message names the line, the event and the reason.
        """
        try:
            if isinstance(record, str | bytes | bytearray):
                record = _parse(record)
            _check_shape(record)
            try:
                opening = Position.from_json(record["opening"])
            except ValueError as error:
                raise RecordError(f"opening: {error}") from None
            game = cls(opening, record["events"], record["meta"])
            _check_result("scores", record["scores"], game.scores)
            _check_result("winners", record["winners"], game.winners)
        except RecordError as error:
            raise type(error)(error.reason, line=line, event=error.event) from None
        return game

    def __repr__(self) -> str:
        return f"Game.from_json({json.dumps(self.to_json())!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Game)
            and self._opening == other._opening
            and self._events == other._events
            and self.meta == other.meta
        )


# Files ---------------------------------------------------------------------------------


def load(path: PathLike) -> list[Game]:
    """All games of a record file, as `read` gives them.

    Raises:
        RecordError: a line is not a possible game.
        OSError: the file cannot be read.
    """
    return list(_read(path))


def read(path: PathLike) -> Iterator[Game]:
    """The games of a record file one by one; the file is opened at the first and read as needed.

    Blank lines are skipped, but counted. A last line without its newline is a game if it is
    complete; if it does not parse as JSON, it is the trace of a crash and left out with a warning.

    Raises:
        RecordError: a line is not a possible game, not JSON or not UTF-8.
        OSError: the file cannot be read.
    """
    yield from _read(path)


def save(path: PathLike, games: Iterable[Game]) -> None:
    """Write a record file with these games, in place of any other of that name.

    The file appears complete or not at all: after a failure or a crash the old one is still there.
    `games` may be lazy, even a `read` of the same file.

    Raises:
        RecordError: the `meta` of a game is not JSON; `line` is the one it would have had.
        OSError: the file cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    temporary = target.with_name(f".records-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            for number, game in enumerate(games, start=1):
                file.write(_written(game, path, number))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def append(path: PathLike, game: Game) -> None:
    """Add a game to a record file, which is made if there is none.

    The line is handed to the operating system before this returns; a crash in the middle loses no
    other game. If a crash left an unfinished line at the end, that is cut off first, with a
    warning. Only one process may append to a file at a time.

    Raises:
        RecordError: the `meta` of the game is not JSON, or the file ends, without a newline, in
            something that is no record, not even an unfinished one; nothing is changed then.
        OSError: the file cannot be written.
    """
    line = _written(game, path)
    with open(path, "a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.seek(0)
                content = file.read()
                end = _end_of_records(content, path)
                if end < len(content):
                    file.truncate(end)
                else:
                    line = b"\n" + line
        file.write(line)
        file.flush()


def _read(path: PathLike) -> Iterator[Game]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                game = Game.from_json(line, line=number)
            except RecordError as error:
                if isinstance(error, _CutOffError) and not line.endswith(b"\n"):
                    message = f"{os.fspath(path)}: line {number}: unfinished, left out"
                    warnings.warn(message, stacklevel=3)  # 3: the caller of `read` or `load`
                    return
                raise RecordError(error.reason, path=path, line=number, event=error.event) from None
            yield game


def _written(game: Game, path: PathLike, line: int | None = None) -> bytes:
    """The line of one game."""
    try:
        record = game.to_json()
    except RecordError as error:
        raise RecordError(error.reason, path=path, line=line) from None
    return json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _end_of_records(content: bytes, path: PathLike) -> int:
    """Where to cut a file whose last line lacks its newline: before an unfinished one."""
    begin = content.rfind(b"\n") + 1
    tail = content[begin:]
    number = content.count(b"\n") + 1
    try:
        if tail.strip():
            _parse(tail)
    except _CutOffError:
        if not tail.lstrip().startswith(b"{"):
            reason = "no record, and without a newline; nothing is appended"
            raise RecordError(reason, path=path, line=number) from None
        message = f"{os.fspath(path)}: line {number}: unfinished, cut off ({len(tail)} bytes)"
        warnings.warn(message, stacklevel=3)  # 3: the caller of `append`
        return begin
    except RecordError as error:
        raise RecordError(error.reason, path=path, line=number) from None
    return len(content)


def _sync_folder(folder: Path) -> None:
    """Have the new name of a file survive a power cut, where the system can be asked to."""
    with suppress(OSError):  # Windows and some network drives cannot; the file itself is written
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


# Reading JSON: each check raises RecordError -------------------------------------------


def _parse(text: str | bytes | bytearray) -> Any:
    """One JSON value; `_CutOffError` if the text breaks off or is none."""
    half_character = False
    if not isinstance(text, str):
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            text = decoder.decode(bytes(text))
        except UnicodeDecodeError as error:
            raise RecordError(f"not UTF-8: {error.reason} at byte {error.start + 1}") from None
        half_character = decoder.getstate()[0] != b""
    text = text.strip(" \t\r\n")
    try:
        value, end = _DECODER.raw_decode(text)
    except RecordError:
        raise
    except json.JSONDecodeError as error:
        raise _CutOffError(f"not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:  # numbers too long, nested too deep
        raise RecordError(f"not readable: {error}") from None
    if end < len(text) or half_character:
        raise RecordError(f"not JSON: something follows the record at column {end + 1}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RecordError(f"the key {twice!r} stands twice in one object")
    return made


def _constant(word: str) -> None:
    raise RecordError(f"not JSON: {word}")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def _check_shape(record: Any) -> None:
    """Whether keys and types are those of a record."""
    if not isinstance(record, dict):
        raise RecordError(
            f"must be an object with the keys {', '.join(KEYS)}, not {_short(record)}"
        )
    version = record.get("version", VERSION)  # first: a later version may have other keys
    if type(version) is not int or version != VERSION:
        raise RecordError(f"version: must be {VERSION}, not {_short(version)}")
    for key in record:
        if key not in KEYS:
            raise RecordError(f"unknown key {key!r}; there are: {', '.join(KEYS)}")
    for key in KEYS:
        if key not in record:
            raise RecordError(f"the key {key!r} is missing")
    if not isinstance(record["opening"], dict):
        raise RecordError(f"opening: must be an object, not {_short(record['opening'])}")
    if not isinstance(record["meta"], dict):
        raise RecordError(f"meta: must be an object, not {_short(record['meta'])}")
    if not isinstance(record["events"], list):
        raise RecordError(f"events: must be a list, not {_short(record['events'])}")


def _check_result(name: str, given: Any, true: list[int] | None) -> None:
    if given is None and true is None:
        return
    if true is None:
        raise RecordError(f"{name}: must be null while unfinished, not {_short(given)}")
    if not isinstance(given, list) or any(type(number) is not int for number in given):
        raise RecordError(f"{name}: must be a list of whole numbers, not {_short(given)}")
    if given != true:
        raise RecordError(f"{name}: must be {true} by the rules, not {_short(given)}")


def _checked_meta(meta: Any) -> dict[str, Any]:
    if not isinstance(meta, Mapping):
        raise RecordError(f"meta: must be an object, not {_short(meta)}")
    checked: dict[str, Any] = _json_copy(meta, "meta", 0)
    return checked


def _json_copy(value: Any, place: str, depth: int) -> Any:
    """`value` as plain JSON values that every JSON reader gives back equal."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _check_text(value, place)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError(f"{place}: {value} is not a JSON number")
        return value
    if isinstance(value, Integral):
        number = int(value)
        try:
            str(number)
        except ValueError as error:  # Python's limit on digits
            raise RecordError(f"{place}: {error}") from None
        return number
    if depth == MAX_META_DEPTH and isinstance(value, list | tuple | Mapping):
        raise RecordError(f"meta: nested deeper than {MAX_META_DEPTH} levels")
    if isinstance(value, list | tuple):
        return [_json_copy(part, f"{place}[{i}]", depth + 1) for i, part in enumerate(value)]
    if isinstance(value, Mapping):
        copy = {}
        for key, part in value.items():
            if not isinstance(key, str):
                raise RecordError(f"{place}: the key {_short(key)} must be a string")
            _check_text(key, place)
            copy[key] = _json_copy(part, f"{place}.{key}", depth + 1)
        return copy
    raise RecordError(f"{place}: {_short(value)} is not a JSON value")


def _check_text(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RecordError(f"{place}: {_short(text)} has half a surrogate pair") from None


def _short(value: object) -> str:
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
