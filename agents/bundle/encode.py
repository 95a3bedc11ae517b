"""The JSON of a position to the vector that the models take in, and back. No dependencies.

from encode import encode
vector = encode(position)  # a list of 263 whole numbers, for a tensor int32[1, 263]
"""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

VECTOR: dict[str, Any] = json.loads(r"""@VECTOR@""")
"""The layout of the vector, as in manifest.json."""

_ROWS: dict[str, Any] = {row["name"]: row for row in VECTOR["rows"]}
_TILES: dict[str, int] = VECTOR["tiles"]
_NAMES = {code: name for name, code in _TILES.items()}
_PHASES: list[str] = VECTOR["phases"]
_SCORINGS: list[str] = VECTOR["scorings"]
_NO_TILE, _NOWHERE = VECTOR["no_tile"], VECTOR["nowhere"]
_SEATS, _PAWNS = _ROWS["pawns"]["shape"]
_GUARDS = _ROWS["guards"]["shape"][0]
_HEIGHT = _ROWS["towers"]["shape"][1]  # also the most tiles on track and towers together
_ACTION_TILES = _ROWS["track"]["shape"][0] - 2 - _HEIGHT
_KEYS = ("rules", "track", "pawns", "guards", "towers", "player", "phase", "die")
_RULE_KEYS = ("players", "pawns", "guards", "scoring")


class PositionError(ValueError):
    """A position that is refused; the message names the place and what is wrong there."""


def encode(position: Any) -> list[int]:
    """The vector of a position.

    Args:
        position: the parsed JSON object.

    Returns:
        A list of whole numbers.

    Raises:
        PositionError: it is refused.
    """
    _keys(position, _KEYS, "position")
    rules = position["rules"]
    _keys(rules, _RULE_KEYS, "rules")
    players = _number(rules["players"], 2, _SEATS, "rules.players")
    pawns_each = _number(rules["pawns"], 1, _PAWNS, "rules.pawns")
    if not isinstance(rules["guards"], bool):
        _fail("rules.guards", "must be true or false")
    scoring = _word(rules["scoring"], _SCORINGS, "rules.scoring")

    track = _track(position["track"])
    finish = len(track) - 1

    pawns = []
    for seat, slots in enumerate(_rows(position["pawns"], players, "pawns")):
        if len(slots) != pawns_each:
            _fail(f"pawns[{seat}]", f"must have {pawns_each} pawns, as rules.pawns says")
        pawns.append(_slots(slots, finish, f"pawns[{seat}]"))

    guards = _list(position["guards"], "guards")
    if guards and not rules["guards"]:
        _fail("guards", "there are guards, but rules.guards is false")
    if len(guards) > _GUARDS:
        _fail("guards", f"at most {_GUARDS} are allowed")
    guards = _slots(guards, finish, "guards")

    towers = []
    for seat, tower in enumerate(_rows(position["towers"], players, "towers")):
        codes = [_code(face, f"towers[{seat}][{level}]") for level, face in enumerate(tower)]
        for level, code in enumerate(codes):
            if not _is_tile(code):
                _fail(f"towers[{seat}][{level}]", "must be a number or lucky tile")
        towers.append(codes)
    if sum(map(_is_tile, track)) + sum(map(len, towers)) > _HEIGHT:
        _fail("towers", f"more than {_HEIGHT} tiles on track and towers")

    player = _number(position["player"], 0, players - 1, "player")
    phase = _word(position["phase"], _PHASES, "phase")
    name = _PHASES[phase]
    die = _number(position["die"], 0, 6, "die")
    if (name in ("roll", "over")) != (die == 0):
        _fail("die", f"{die} does not fit phase {name}")
    if name in ("roll", "move") and pawns[player][0] == finish:
        _fail("player", f"seat {player} is to {name} but has no unfinished pawn")
    if name == "over" and any(slots[0] < finish for slots in pawns):
        _fail("phase", "over, but a pawn is on the way")
    if name in ("give", "steal") and _n_choices(towers, player, name) < 2:
        _fail("phase", f"{name} needs at least two seats to choose from")

    filled = {
        "players": [players],
        "pawns_each": [pawns_each],
        "with_guards": [int(rules["guards"])],
        "scoring": [scoring],
        "player": [player],
        "phase": [phase],
        "die": [die],
        "track": _padded(track, _ROWS["track"]["shape"][0], _NO_TILE),
        "pawns": _table(pawns, _PAWNS, _NOWHERE),
        "guards": _padded(guards, _GUARDS, _NOWHERE),
        "towers": _table(towers, _HEIGHT, _NO_TILE),
    }
    return [number for row in VECTOR["rows"] for number in filled[row["name"]]]


def decode(vector: Sequence[int]) -> dict[str, Any]:
    """The JSON object of a vector that `encode` made."""

    def part(name: str, *index: int) -> list[int]:
        row = _ROWS[name]
        width = row["shape"][-1]
        start = row["start"] + (index[0] * width if index else 0)
        return [int(number) for number in vector[start : start + width]]

    def faces(codes: list[int]) -> list[int | str]:
        return [_NAMES.get(code, code) for code in codes if code != _NO_TILE]

    players, pawns_each = part("players")[0], part("pawns_each")[0]
    return {
        "rules": {
            "players": players,
            "pawns": pawns_each,
            "guards": part("with_guards")[0] == 1,
            "scoring": _SCORINGS[part("scoring")[0]],
        },
        "track": faces(part("track")),
        "pawns": [part("pawns", seat)[:pawns_each] for seat in range(players)],
        "guards": [slot for slot in part("guards") if slot != _NOWHERE],
        "towers": [faces(part("towers", seat)) for seat in range(players)],
        "player": part("player")[0],
        "phase": _PHASES[part("phase")[0]],
        "die": part("die")[0],
    }


def _fail(place: str, reason: str) -> NoReturn:
    raise PositionError(f"{place}: {reason}")


def _keys(given: Any, keys: tuple[str, ...], place: str) -> None:
    if not isinstance(given, dict):
        _fail(place, f"must be an object with the keys {', '.join(keys)}")
    for key in given:
        if key not in keys:
            _fail(place, f"unknown key {key!r}; there are: {', '.join(keys)}")
    for key in keys:
        if key not in given:
            _fail(place, f"the key {key} is missing")


def _number(given: Any, low: int, high: int, place: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
        _fail(place, f"must be a whole number from {low} to {high}")
    return given


def _word(given: Any, words: list[str], place: str) -> int:
    if not isinstance(given, str) or given not in words:
        _fail(place, f"must be one of {', '.join(words)}")
    return words.index(given)


def _list(given: Any, place: str) -> list[Any]:
    if not isinstance(given, list):
        _fail(place, "must be a list")
    return given


def _rows(given: Any, players: int, place: str) -> list[list[Any]]:
    if len(_list(given, place)) != players:
        _fail(place, f"must have {players} entries, as rules.players says")
    return [_list(row, f"{place}[{seat}]") for seat, row in enumerate(given)]


def _slots(given: list[Any], finish: int, place: str) -> list[int]:
    slots = [_number(slot, 0, finish, f"{place}[{i}]") for i, slot in enumerate(given)]
    if slots != sorted(slots):
        _fail(place, "must be in ascending order")
    return slots


def _code(face: Any, place: str) -> int:
    if isinstance(face, str) and face in _TILES:
        return _TILES[face]
    number = _number(face, -10, 8, place)
    if number == 0:
        _fail(place, "must be a number tile, which is never 0, or the name of a tile")
    return number


def _is_tile(code: int) -> bool:
    return code <= 8


def _track(given: Any) -> list[int]:
    codes = [_code(face, f"track[{slot}]") for slot, face in enumerate(_list(given, "track"))]
    if len(codes) < 2 or codes[0] != _TILES["start"] or codes[-1] != _TILES["finish"]:
        _fail("track", "must begin with start and end with finish")
    for slot, code in enumerate(codes[1:-1], start=1):
        if code in (_TILES["start"], _TILES["finish"]):
            _fail(f"track[{slot}]", "a second start or finish")
    if sum(code in (_TILES["gift"], _TILES["steal"]) for code in codes) > _ACTION_TILES:
        _fail("track", f"more than {_ACTION_TILES} action tiles")
    if sum(map(_is_tile, codes)) > _HEIGHT:
        _fail("track", f"more than {_HEIGHT} tiles")
    return codes


def _n_choices(towers: list[list[int]], player: int, phase: str) -> int:
    """How many seats a tile could be given to, or stolen from."""
    others = [tower for seat, tower in enumerate(towers) if seat != player]
    if phase == "steal":
        return sum(len(tower) > 0 for tower in others)
    if not towers[player]:
        return 0
    tops = [tower[-1] if tower else 0 for tower in others]
    return tops.count(max(tops) if towers[player][-1] < 0 else min(tops))


def _padded(numbers: list[int], length: int, empty: int) -> list[int]:
    return numbers + [empty] * (length - len(numbers))


def _table(rows: list[list[int]], width: int, empty: int) -> list[int]:
    empty_rows: list[list[int]] = [[]] * (_SEATS - len(rows))
    return [number for row in rows + empty_rows for number in _padded(row, width, empty)]
