"""A game at one moment, readable and checked: the form that people, files and frontends use.

`Position` is immutable; `roll` and `play` return new ones. Its JSON is that of the rule page, and a
JSON that is accepted can be played on by every part of this package.
"""

import json
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from thatslife_env import rules as engine
from thatslife_env._jit import njit
from thatslife_env.board import (
    DIE_FACES,
    FINISH,
    FIRST_GUARD,
    GIFT,
    GIVE,
    LUCKY,
    MAX_ACTION_TILES,
    MAX_GUARDS,
    MAX_PAWNS,
    MAX_PLAYERS,
    MAX_TILES,
    MAX_VALUE,
    MIN_PLAYERS,
    MIN_VALUE,
    MOVE,
    N_ACTIONS,
    NAME_OF_TILE,
    NO_TILE,
    NOWHERE,
    OVER,
    PHASE_NAMES,
    ROLL,
    SCORINGS,
    START,
    STATE,
    STEAL,
    STEALING,
    TILE_OF_NAME,
    Ruleset,
    is_number_tile,
)

States = npt.NDArray[Any]  # of dtype board.STATE


class PositionError(ValueError):
    """A position that is refused; the message names the place and what is wrong there."""


class IllegalMoveError(ValueError):
    """A roll or an action that the position does not allow."""


class Position:
    """One moment of a game.

    Made by `Position.deal`, `Position.from_json` or `Position.from_state`; equal positions compare
    and hash equal.
    """

    __slots__ = ("_state",)
    _state: npt.NDArray[Any]  # STATE[1], read only

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError(
            "make a position with Position.deal(rules, seed) or Position.from_json(...)"
        )

    # Making ----------------------------------------------------------------------------

    @classmethod
    def deal(cls, rules: Ruleset, seed: int) -> Self:
        """The opening of the game dealt from `seed`, in phase `roll`.

        Args:
            rules: what is played.
            seed: 0 .. 2^64 - 1; it also fixes the dice (`dice`), which the position does not
                contain.

        Raises:
            ValueError: the seed is outside its range, or `rules` is no Ruleset.
        """
        if not isinstance(rules, Ruleset):
            raise ValueError(f"rules must be a Ruleset, not {short(rules)}")
        state = np.zeros(1, STATE)
        _deal(state, rules.record, np.uint64(check_seed(seed)))
        return cls._of(state)

    @classmethod
    def from_json(cls, position: Any) -> Self:
        """Read the JSON of the rule page.

        Args:
            position: the parsed object (a dict), or its text (str or bytes).

        Raises:
            PositionError: it is refused; the message names the reason and the place.
        """
        if isinstance(position, str | bytes | bytearray):
            try:
                position = json.loads(position)
            except (ValueError, RecursionError) as error:
                raise PositionError(f"position: not JSON: {error}") from None
        return cls._of(_parse(position))

    @classmethod
    def from_state(cls, state: npt.NDArray[Any] | np.void) -> Self:
        """Wrap a copy of one STATE record, which is trusted.

        Args:
            state: `states[i]` of an array of dtype STATE, or an array of it with one element.

        Raises:
            ValueError: it is something else.
        """
        copy = np.empty(1, STATE)
        if getattr(state, "dtype", None) != STATE or np.size(state) != 1:
            raise ValueError(f"a state is one record of dtype STATE, not {short(state)}")
        copy[0] = state.reshape(-1)[0] if isinstance(state, np.ndarray) else state
        return cls._of(copy)

    @classmethod
    def _of(cls, state: npt.NDArray[Any]) -> Self:
        """Wrap `state` (STATE[1]) itself."""
        state.flags.writeable = False
        self = object.__new__(cls)
        object.__setattr__(self, "_state", state)
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Position is immutable; roll and play return new ones")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Position is immutable; roll and play return new ones")

    def __reduce__(self) -> tuple[Callable[[Any], "Position"], tuple[dict[str, Any]]]:
        return Position.from_json, (self.to_json(),)

    def __copy__(self) -> Self:
        return self  # as of everything immutable

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # Looking ---------------------------------------------------------------------------

    @property
    def state(self) -> npt.NDArray[Any]:
        """The record behind this position: STATE[1], read only."""
        return self._state

    @property
    def phase(self) -> str:
        """`roll`, `move`, `give`, `steal` or `over`."""
        return PHASE_NAMES[int(self._state["phase"][0])]

    @property
    def player(self) -> int:
        """The seat to roll or decide; in `over` the seat that moved last."""
        return int(self._state["player"][0])

    @property
    def die(self) -> int:
        """The roll in `move`, `give` and `steal`; 0 in `roll` and `over`."""
        return int(self._state["die"][0])

    @property
    def players(self) -> int:
        """Number of seats."""
        return int(self._state["players"][0])

    @property
    def is_over(self) -> bool:
        """Whether every pawn is home."""
        return int(self._state["phase"][0]) == OVER

    def legal_actions(self) -> list[int]:
        """The legal actions, ascending; empty in phases `roll` and `over`."""
        bits = int(_legal_bits(self._state))
        return [action for action in range(N_ACTIONS) if bits >> action & 1]

    def scores(self) -> list[int]:
        """Points of each seat, as if the game ended now."""
        return [int(_points(self._state, seat)) for seat in range(self.players)]

    def win_shares(self) -> list[float]:
        """Win share of each seat, as if the game ended now: 1/k for each of k winners, else 0."""
        out = np.zeros(MAX_PLAYERS, np.float64)
        _write_win_shares(self._state, out)
        return [float(share) for share in out[: self.players]]

    def winners(self) -> list[int]:
        """The winning seats, ascending, as if the game ended now."""
        return [seat for seat, share in enumerate(self.win_shares()) if share > 0]

    # Playing ---------------------------------------------------------------------------

    def roll(self, die: int) -> Self:
        """The position after the player rolled `die`.

        Raises:
            IllegalMoveError: the phase is not `roll`, or `die` is not a whole number 1..6.
        """
        if self._state["phase"][0] != ROLL:
            raise IllegalMoveError(f"no roll in phase {self.phase!r}: {self!r}")
        if isinstance(die, np.ndarray) and die.ndim == 0:
            die = die[()]
        if not is_whole(die, 1, DIE_FACES):
            raise IllegalMoveError(f"a die shows 1 to {DIE_FACES}, not {short(die)}")
        state = self._state.copy()
        _roll(state, int(die))
        return self._of(state)

    def play(self, action: int) -> Self:
        """The position after the player's `action`, up to the next roll or open choice.

        Raises:
            IllegalMoveError: the action is not among `legal_actions()`.
        """
        number = as_action(action)
        if number not in self.legal_actions():
            raise illegal_move(self._state, number)
        state = self._state.copy()
        _play(state, number)
        return self._of(state)

    def describe(self, action: int) -> str:
        """A legal action in words, for people.

        Raises:
            IllegalMoveError: the action is not among `legal_actions()`.
        """
        after = self.play(action)
        state = self._state[0]
        if state["phase"] != MOVE:
            other = int(engine.opponent_of(state, int(action)))
            top = _face(
                state["towers"][self.player, max(int(state["heights"][self.player]) - 1, 0)]
            )
            loot = _face(state["towers"][other, max(int(state["heights"][other]) - 1, 0)])
            if state["phase"] == GIVE:
                return f"give {top} to seat {other}"
            return f"steal {loot} from seat {other}"
        is_pawn = action < FIRST_GUARD
        slot = int(
            state["pawns"][self.player, action]
            if is_pawn
            else state["guards"][action - FIRST_GUARD]
        )
        target = int(engine.landing(state, slot))
        words = (
            f"{'pawn' if is_pawn else 'guard'} from {slot} ({_face(state['track'][slot])}) "
            f"to {target} ({_face(state['track'][target])})"
        )
        if after._state["finish"][0] < state["finish"]:
            return f"{words}, takes {_face(state['track'][slot])}"
        if after._state["track"][0, slot] != state["track"][slot]:
            return f"{words}, turns the {_face(state['track'][slot])}"
        return words

    # Writing ---------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The JSON object of the rule page; `from_json` reads it back."""
        state = self._state[0]
        players, pawns = int(state["players"]), int(state["pawns_each"])
        return {
            "rules": {
                "players": players,
                "pawns": pawns,
                "guards": bool(state["with_guards"]),
                "scoring": SCORINGS[state["scoring"]],
            },
            "track": [_face(tile) for tile in state["track"][: state["finish"] + 1]],
            "pawns": [[int(slot) for slot in row[:pawns]] for row in state["pawns"][:players]],
            "guards": [int(slot) for slot in state["guards"][: state["n_guards"]]],
            "towers": [
                [_face(tile) for tile in state["towers"][seat, : state["heights"][seat]]]
                for seat in range(players)
            ],
            "player": self.player,
            "phase": self.phase,
            "die": self.die,
        }

    def __repr__(self) -> str:
        return f"Position.from_json({json.dumps(self.to_json())!r})"

    def __str__(self) -> str:
        """A drawing: the track in rows, pieces below it (seat numbers, `g` guards), the towers."""
        data = self.to_json()
        pieces = [""] * len(data["track"])
        for slot in data["guards"]:
            pieces[slot] += "g"
        for seat, slots in enumerate(data["pawns"]):
            for slot in slots:
                pieces[slot] += str(seat)
        faces = [f"{face:+d}" if isinstance(face, int) else face for face in data["track"]]
        width = max(map(len, faces + pieces)) + 1
        per_row = max(96 // width, 1)
        lines = [self._headline()]
        for begin in range(0, len(faces), per_row):
            row = slice(begin, begin + per_row)
            lines.append("".join(face.rjust(width) for face in faces[row]))
            lines.append("".join(piece.rjust(width) for piece in pieces[row]).rstrip())
        for seat, (tower, points) in enumerate(zip(data["towers"], self.scores(), strict=True)):
            stack = " ".join(f"{face:+d}" if isinstance(face, int) else face for face in tower)
            mark = ">" if seat == self.player and not self.is_over else " "
            line = f"{mark}seat {seat}: {points:4d} points  {stack or '-'}"
            lines.extend(
                textwrap.wrap(line, 100, subsequent_indent=" " * 22, drop_whitespace=False)
            )
        return "\n".join(line.rstrip() for line in lines)

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows."""
        from thatslife_env.render import draw  # above this module, imported where it is used

        return draw(self).svg()

    def _headline(self) -> str:
        seat, die = self.player, self.die
        return {
            ROLL: f"seat {seat} to roll",
            MOVE: f"seat {seat} rolled {die}, to move",
            GIVE: f"seat {seat} rolled {die}, to give its top tile",
            STEALING: f"seat {seat} rolled {die}, to steal a top tile",
            OVER: f"over; winner: seat {', '.join(map(str, self.winners()))}",
        }[int(self._state["phase"][0])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self._state.tobytes() == other._state.tobytes()

    def __hash__(self) -> int:
        return hash(self._state.tobytes())


def dice(seed: int, k: int) -> int:
    """The k-th roll, from 0, of the game dealt from `seed`: 1..6.

    Raises:
        ValueError: the seed is outside 0 .. 2^64 - 1, or k no whole number from 0.
    """
    if not is_whole(k, 0, 2**63 - 1):
        raise ValueError(f"k must be a whole number from 0, not {short(k)}")
    return int(engine.die_of(np.uint64(check_seed(seed)), np.uint64(k)))


def check_seed(seed: object) -> int:
    """`seed` as an int.

    Raises:
        ValueError: it is not a whole number 0 .. 2^64 - 1.
    """
    if not is_whole(seed, 0, 2**64 - 1):
        raise ValueError(f"a seed is a whole number from 0 to 2^64 - 1, not {short(seed)}")
    return int(seed)  # type: ignore[call-overload]  # checked just above


def as_action(action: object) -> int:
    """`action`, given as int, NumPy integer or 0-d integer array, as an int, legal or not.

    Raises:
        IllegalMoveError: it is anything else.
    """
    if isinstance(action, np.ndarray) and action.ndim == 0:
        action = action[()]
    if isinstance(action, bool) or not isinstance(action, int | np.integer):
        raise IllegalMoveError(f"an action is a whole number, not {short(action)}")
    return int(action)


def illegal_move(
    state: npt.NDArray[Any] | np.void, action: object, who: str = ""
) -> IllegalMoveError:
    """The error to raise for an action that is not legal.

    Args:
        state: one STATE record.
        action: what was tried.
        who: whose action it is, or where; for the message.
    """
    position = Position.from_state(state)
    action = int(action) if isinstance(action, np.integer) else action
    if position.phase in ("roll", "over"):
        return IllegalMoveError(f"no play in phase {position.phase!r}: {position!r}")
    tried = " ".join(f"action {short(action)} {who}".split())
    legal = position.legal_actions()
    return IllegalMoveError(f"{tried} is not legal; legal: {legal} in {position!r}")


def is_whole(value: object, low: int, high: int) -> bool:
    """Whether `value` is a whole number from `low` to `high`, and no boolean."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool(low <= value <= high)


# Arrays in, compiled rules inside: a call with an array costs a seventh of one with a record


@njit
def _deal(states: States, rules: States, seed: np.uint64) -> None:
    engine.deal(states[0], rules[()], seed)


@njit
def _roll(states: States, die: int) -> None:
    engine.roll(states[0], die)


@njit
def _play(states: States, action: int) -> None:
    engine.play(states[0], action)


@njit
def _legal_bits(states: States) -> int:
    return engine.legal_bits(states[0])


@njit
def _points(states: States, seat: int) -> int:
    return engine.points(states[0], seat)


@njit
def _write_win_shares(states: States, out: npt.NDArray[Any]) -> None:
    engine.write_win_shares(states[0], out)


# Reading JSON: each check raises PositionError with the place --------------------------

_KEYS = ("rules", "track", "pawns", "guards", "towers", "player", "phase", "die")
_RULE_KEYS = ("players", "pawns", "guards", "scoring")


def _face(tile: int | np.integer[Any]) -> int | str:
    """A tile as JSON shows it."""
    return NAME_OF_TILE.get(int(tile), int(tile))


def _fail(place: str, reason: str) -> NoReturn:
    raise PositionError(f"position: {place}: {reason}")


def _parse(position: Any) -> npt.NDArray[Any]:
    """A checked position as STATE[1]."""
    _check_keys(position, _KEYS, "the position")
    given = position["rules"]
    _check_keys(given, _RULE_KEYS, "rules")

    state = np.zeros(1, STATE)
    record = state[0]
    players = _number(given["players"], MIN_PLAYERS, MAX_PLAYERS, "rules.players")
    pawns_each = _number(given["pawns"], 1, MAX_PAWNS, "rules.pawns")
    if not isinstance(given["guards"], bool):
        _fail("rules.guards", f"must be true or false, not {short(given['guards'])}")
    scoring = _word(given["scoring"], SCORINGS, "rules.scoring")
    record["players"], record["pawns_each"] = players, pawns_each
    record["with_guards"], record["scoring"] = given["guards"], SCORINGS.index(scoring)

    track = _parse_track(position["track"])
    finish = len(track) - 1
    record["track"] = NO_TILE
    record["track"][: finish + 1] = track
    record["finish"] = finish

    record["pawns"] = NOWHERE
    for seat, slots in enumerate(_rows(position["pawns"], players, "pawns")):
        if len(slots) != pawns_each:
            _fail(f"pawns[{seat}]", f"has {len(slots)} pawns, rules.pawns says {pawns_each}")
        record["pawns"][seat, :pawns_each] = _slots(slots, finish, f"pawns[{seat}]")

    guards = _list(position["guards"], "guards")
    if guards and not given["guards"]:
        _fail("guards", "there are guards, but rules.guards is false")
    if len(guards) > MAX_GUARDS:
        _fail("guards", f"there are {len(guards)} guards; at most {MAX_GUARDS} are allowed")
    record["guards"] = NOWHERE
    record["guards"][: len(guards)] = _slots(guards, finish, "guards")
    record["n_guards"] = len(guards)

    record["towers"] = NO_TILE
    on_track = sum(tile <= MAX_VALUE for tile in track)
    rows = _rows(position["towers"], players, "towers")
    for seat, tower in enumerate(rows):
        for height, face in enumerate(tower):
            if not (_is_number_face(face) or (isinstance(face, str) and face == "lucky")):
                _fail(f"towers[{seat}][{height}]", f"{short(face)} is not a number or lucky tile")
    total = on_track + sum(map(len, rows))
    if total > MAX_TILES:
        _fail("towers", f"{total} tiles on track and towers; at most {MAX_TILES} are allowed")
    for seat, tower in enumerate(rows):
        for height, face in enumerate(tower):
            tile = LUCKY if face == "lucky" else face
            record["towers"][seat, height] = tile
            record["counts"][seat, tile - MIN_VALUE] += 1
        record["heights"][seat] = len(tower)

    record["player"] = _number(position["player"], 0, players - 1, "player")
    phase = PHASE_NAMES.index(_word(position["phase"], PHASE_NAMES, "phase"))
    record["phase"] = phase
    die = _number(position["die"], 0, DIE_FACES, "die")
    record["die"] = die
    if (phase in (ROLL, OVER)) != (die == 0):
        _fail("die", f"{die} does not fit phase {PHASE_NAMES[phase]!r}")
    _check_phase(state)
    return state


def _check_phase(state: npt.NDArray[Any]) -> None:
    """Whether somebody can do what the phase asks."""
    record = state[0]
    phase, player, players = int(record["phase"]), int(record["player"]), int(record["players"])
    name = PHASE_NAMES[phase]
    if phase in (ROLL, MOVE) and engine.is_home(record, player):
        _fail("player", f"seat {player} is to {name} but has no unfinished pawn")
    underway = any(not engine.is_home(record, seat) for seat in range(players))
    if phase == OVER and underway:
        _fail("phase", "'over', but a pawn is on the way")
    if phase in (GIVE, STEALING):
        choices = int(_legal_bits(state)).bit_count()
        if choices < 2:
            _fail("phase", f"{name!r} needs at least two seats to choose from; there are {choices}")


def _parse_track(given: Any) -> list[int]:
    faces = _list(given, "track")
    if not faces or not isinstance(faces[0], str) or faces[0] != "start":
        _fail("track", "must begin with 'start'")
    if len(faces) < 2 or not isinstance(faces[-1], str) or faces[-1] != "finish":
        _fail("track", "must end with 'finish'")
    track = []
    for slot, face in enumerate(faces):
        if _is_number_face(face):
            track.append(face)
        elif isinstance(face, str) and face in TILE_OF_NAME:
            track.append(TILE_OF_NAME[face])
        else:
            _fail(f"track[{slot}]", f"{short(face)} is not a tile")
        if track[-1] == START and slot > 0:
            _fail(f"track[{slot}]", "a second 'start'")
        if track[-1] == FINISH and slot < len(faces) - 1:
            _fail(f"track[{slot}]", "a 'finish' before the end")
    actions = sum(tile in (GIFT, STEAL) for tile in track)
    if actions > MAX_ACTION_TILES:
        _fail("track", f"there are {actions} action tiles; at most {MAX_ACTION_TILES} are allowed")
    tiles = len(track) - 2 - actions
    if tiles > MAX_TILES:
        _fail("track", f"there are {tiles} tiles; at most {MAX_TILES} are allowed")
    return track


def _is_number_face(face: Any) -> bool:
    """Whether JSON shows a number tile so: a plain int."""
    return isinstance(face, int) and is_number_tile(face)


def _check_keys(given: Any, keys: tuple[str, ...], place: str) -> None:
    if not isinstance(given, dict):
        _fail(place, f"must be an object with the keys {', '.join(keys)}, not {short(given)}")
    for key in given:
        if key not in keys:
            _fail(place, f"unknown key {short(key)}; there are: {', '.join(keys)}")
    for key in keys:
        if key not in given:
            _fail(place, f"the key {key!r} is missing")


def _number(given: Any, low: int, high: int, place: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        _fail(place, f"must be a whole number, not {short(given)}")
    if not low <= given <= high:
        _fail(place, f"must be {low} to {high}, not {short(given)}")
    return given


def _word(given: Any, words: tuple[str, ...], place: str) -> str:
    if not isinstance(given, str) or given not in words:
        _fail(place, f"must be one of {', '.join(words)}, not {short(given)}")
    return given


def _list(given: Any, place: str) -> list[Any]:
    if not isinstance(given, list):
        _fail(place, f"must be a list, not {short(given)}")
    return given


def _rows(given: Any, players: int, place: str) -> list[list[Any]]:
    rows = _list(given, place)
    if len(rows) != players:
        _fail(place, f"has {len(rows)} entries, rules.players says {players}")
    return [_list(row, f"{place}[{seat}]") for seat, row in enumerate(rows)]


def _slots(given: Iterable[Any], finish: int, place: str) -> list[int]:
    slots = [_number(slot, 0, finish, f"{place}[{i}]") for i, slot in enumerate(given)]
    if slots != sorted(slots):
        _fail(place, f"{slots} is not in ascending order")
    return slots


def short(value: object) -> str:
    """`repr`, but never long: a number may have thousands of digits, a list thousands of levels."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."
