"""What a game is made of: tile codes, sizes, action numbers, the state record, and rulesets.

Everything here is data. What may be done with it is in `rules.py`; the words are those of the rule
page.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

# Sizes ---------------------------------------------------------------------------------

MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 6
MAX_PAWNS: Final = 3  # per player
MAX_GUARDS: Final = 8
MAX_TILES: Final = 32  # number and lucky tiles, on track and towers together
MAX_ACTION_TILES: Final = 4
MAX_LAYOUT: Final = MAX_TILES + MAX_ACTION_TILES
MAX_TRACK: Final = MAX_LAYOUT + 2  # with start and finish
GIFT_INTERVAL: Final = 8  # one action tile after every 8 tiles
DIE_FACES: Final = 6

# Tile codes: a number tile is its value. A lucky tile is 0, which is also its rank as the top of a
# tower and what it adds to the points by itself.

MIN_VALUE: Final = -10
MAX_VALUE: Final = 8
LUCKY: Final = 0
GIFT: Final = 11
STEAL: Final = 12
START: Final = 13
FINISH: Final = 14
NO_TILE: Final = 15  # beyond the finish, above the top of a tower
N_VALUES: Final = MAX_VALUE - MIN_VALUE + 1  # -10..8, lucky among them as 0

NAME_OF_TILE: Final[dict[int, str]] = {
    LUCKY: "lucky",
    GIFT: "gift",
    STEAL: "steal",
    START: "start",
    FINISH: "finish",
}
TILE_OF_NAME: Final[dict[str, int]] = {name: code for code, name in NAME_OF_TILE.items()}

NOWHERE: Final = -1  # the slot of a piece that does not take part

# Phases --------------------------------------------------------------------------------

PHASE_NAMES: Final = ("roll", "move", "give", "steal", "over")
ROLL: Final = 0
MOVE: Final = 1
GIVE: Final = 2
STEALING: Final = 3
OVER: Final = 4

# Actions: 0..2 move the k-th pawn from the rear, 3..10 the g-th guard from the rear, 11..15 choose
# the opponent 1..5 seats to the left.

N_ACTIONS: Final = 16
FIRST_GUARD: Final = MAX_PAWNS
FIRST_OPPONENT: Final = FIRST_GUARD + MAX_GUARDS

# Scoring -------------------------------------------------------------------------------

Scoring = Literal["standard", "expert"]
SCORINGS: Final[tuple[str, ...]] = get_args(Scoring)
EXPERT: Final = 1  # index in SCORINGS

# The state of one game -----------------------------------------------------------------

STATE: Final = np.dtype(
    [
        # what is played
        ("players", np.int8),
        ("pawns_each", np.int8),
        (
            "with_guards",
            np.int8,
        ),  # whether the rules have guards; there may still be none on a small board
        ("scoring", np.int8),  # index in SCORINGS
        # whose turn
        ("phase", np.int8),  # index in PHASE_NAMES
        ("player", np.int8),  # the seat to roll or decide; in OVER the seat that moved last
        ("die", np.int8),  # 0 in ROLL and OVER
        # the table
        ("finish", np.int8),  # slot of the finish, the last one of the track
        ("track", np.int8, (MAX_TRACK,)),  # START, tiles, FINISH, then NO_TILE
        # slots, rear first; NOWHERE behind the last
        ("pawns", np.int8, (MAX_PLAYERS, MAX_PAWNS)),
        ("n_guards", np.int8),
        ("guards", np.int8, (MAX_GUARDS,)),  # likewise
        # the towers
        ("heights", np.int8, (MAX_PLAYERS,)),
        ("towers", np.int8, (MAX_PLAYERS, MAX_TILES)),  # bottom to top, then NO_TILE
        ("counts", np.int8, (MAX_PLAYERS, N_VALUES)),  # tiles of value MIN_VALUE + j in the tower
    ]
)
"""One game at one moment: numbers only, no chance. Slots count what lies on the track, from 0."""

RULES: Final = np.dtype(
    [
        ("players", np.int8),
        ("pawns_each", np.int8),
        ("with_guards", np.int8),
        ("scoring", np.int8),
        ("shuffled", np.int8),
        ("length", np.int8),  # entries of `layout`, action tiles included
        # in order of play; where shuffled, the order to shuffle from
        ("layout", np.int8, (MAX_LAYOUT,)),
    ]
)
"""A `Ruleset` as compiled code reads it."""

# Layouts -------------------------------------------------------------------------------

_MINUS_8 = tuple(range(-1, -9, -1))
_MINUS_10 = tuple(range(-1, -11, -1))
_PLUS = tuple(range(1, 9))
_LUCKY_6 = (LUCKY,) * 6

_STANDARD = _MINUS_8 + _LUCKY_6 + _PLUS[::-1] + _MINUS_10

LAYOUTS: Final[dict[str, tuple[int, ...]]] = {
    "shuffled": _STANDARD,  # the order to shuffle from
    "standard": _STANDARD,
    "variant1": _MINUS_8 + _PLUS + _LUCKY_6 + _MINUS_10,
    "variant2": _MINUS_8 + _PLUS + _MINUS_10 + _LUCKY_6,
}
"""Tile codes of the named layouts, start to finish, without action tiles."""

GUARDED: Final = (LUCKY, 7, 8)  # tiles on which the guards stand at first

Layout = str | tuple[int | str, ...]


@dataclass(frozen=True)
class Ruleset:
    """What is played: number of players and the variant.

    Args:
        players: 2 to 6.
        pawns: pawns of each player, 1 to 3.
        layout: `shuffled`, `standard`, `variant1`, `variant2`, or a sequence of 1 to 36 entries, at
            most 32 of them tiles (-10..-1, 1..8, `"lucky"`) and at most 4 `"gift"` or `"steal"`.
        action_tiles: a `gift` after every 8 tiles, unless a listed layout names its own action
            tiles.
        guards: neutral guards on the lucky, 7 and 8 tiles, the first 8 of them from the start.
        scoring: `standard` or `expert`.

    Raises:
        ValueError: an argument is outside its set; the message names it.
    """

    players: int = 2
    pawns: int = 3
    layout: Layout = "shuffled"
    action_tiles: bool = True
    guards: bool = False
    scoring: Scoring = "standard"

    def __post_init__(self) -> None:
        if isinstance(self.layout, list):
            object.__setattr__(self, "layout", tuple(self.layout))
        _check_int("players", self.players, MIN_PLAYERS, MAX_PLAYERS)
        _check_int("pawns", self.pawns, 1, MAX_PAWNS)
        object.__setattr__(self, "players", int(self.players))  # NumPy's numbers become plain ones
        object.__setattr__(self, "pawns", int(self.pawns))
        for name in ("action_tiles", "guards"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if self.scoring not in SCORINGS:
            raise ValueError(f"scoring must be one of {', '.join(SCORINGS)}, not {self.scoring!r}")
        _check_layout(self.layout)
        if not isinstance(self.layout, str):
            plain = (str(entry) if isinstance(entry, str) else int(entry) for entry in self.layout)
            object.__setattr__(self, "layout", tuple(plain))

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "Ruleset":
        """A named ruleset, changed by keyword.

        Args:
            name: one of `PRESETS`.
            **overrides: fields of `Ruleset`; `classic` gives 2 pawns with 5 and 6 players unless
                `pawns` is given.

        Raises:
            ValueError: an unknown name or field, or a value outside its set.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise ValueError(f"unknown ruleset {name!r}; there are: {', '.join(PRESETS)}")
        unknown = set(overrides) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(
                f"unknown key {sorted(unknown)[0]!r} of a ruleset; "
                f"there are: {', '.join(field.name for field in fields(cls))}"
            )
        values = {**PRESETS[name], **overrides}
        if name == "classic" and "pawns" not in overrides:
            players = values.get("players", cls.players)
            values["pawns"] = 2 if players in (5, 6) else 3
        return cls(**values)

    @classmethod
    def of(
        cls, ruleset: "str | Ruleset | Mapping[str, Any]", players: int | None = None
    ) -> "Ruleset":
        """What a `ruleset` argument means, wherever one is taken.

        Args:
            ruleset: a preset's name, a `Ruleset`, or a mapping of fields with an optional `preset`
                to start from.
            players: number of players; None leaves it to `ruleset`.

        Raises:
            ValueError: nonsense, or `players` contradicts the number in `ruleset`.
        """
        if isinstance(ruleset, str):
            return cls.preset(ruleset, **({} if players is None else {"players": players}))
        if isinstance(ruleset, Mapping):
            values = dict(ruleset)
            for key in values:
                if not isinstance(key, str):
                    raise ValueError(f"a key of a ruleset is a name, not {key!r}")
            if players is not None:
                values.setdefault("players", players)
            made = cls.preset(values.pop("preset", "basic"), **values)
        elif isinstance(ruleset, cls):
            made = ruleset
        else:
            raise ValueError(f"a ruleset is a name, a Ruleset or a mapping, not {ruleset!r}")
        if players is not None and made.players != players:
            raise ValueError(
                f"players={players!r} contradicts players={made.players} of the ruleset"
            )
        return made

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain JSON values; `Ruleset.of` reads it back."""
        values = asdict(self)
        if isinstance(self.layout, tuple):
            values["layout"] = list(self.layout)
        return values

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """Tile codes from start to finish, action tiles included; the order before shuffling."""
        if isinstance(self.layout, str):
            tiles = LAYOUTS[self.layout]
        else:
            tiles = tuple(
                TILE_OF_NAME[entry] if isinstance(entry, str) else int(entry)
                for entry in self.layout
            )
        if not self.action_tiles or GIFT in tiles or STEAL in tiles:
            return tiles
        laid: list[int] = []
        for number, tile in enumerate(tiles, start=1):
            laid.append(tile)
            if number % GIFT_INTERVAL == 0:
                laid.append(GIFT)
        return tuple(laid)

    @cached_property
    def record(self) -> npt.NDArray[Any]:
        """This ruleset for compiled code: RULES[()], read only."""
        record = np.zeros((), RULES)
        record["players"] = self.players
        record["pawns_each"] = self.pawns
        record["with_guards"] = self.guards
        record["scoring"] = SCORINGS.index(self.scoring)
        record["shuffled"] = self.layout == "shuffled"
        record["length"] = len(self.tiles)
        record["layout"][: len(self.tiles)] = self.tiles
        record.flags.writeable = False
        return record


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "basic": {},
    "classic": {"layout": "standard", "guards": True, "action_tiles": False},
    "expert": {"scoring": "expert"},
    "full": {"guards": True, "scoring": "expert"},
}
"""Name of each preset to the fields in which it differs from `Ruleset()`."""


def _check_int(name: str, value: object, low: int, high: int) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or not low <= value <= high
    ):
        raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}")


def _check_layout(layout: object) -> None:
    if isinstance(layout, str):
        if layout not in LAYOUTS:
            raise ValueError(
                f"layout must be one of {', '.join(LAYOUTS)} or a list, not {layout!r}"
            )
        return
    if not isinstance(layout, tuple):
        raise ValueError(f"layout must be a name or a list of tiles, not {layout!r}")
    if not 1 <= len(layout) <= MAX_LAYOUT:
        raise ValueError(f"layout must have 1 to {MAX_LAYOUT} entries, not {len(layout)}")
    for place, entry in enumerate(layout):
        if not is_layout_entry(entry):
            raise ValueError(
                f"layout[{place}] must be -10..-1, 1..8, 'lucky', 'gift' or 'steal', not {entry!r}"
            )
    actions = sum(entry in ("gift", "steal") for entry in layout)
    if actions > MAX_ACTION_TILES:
        raise ValueError(
            f"layout has {actions} action tiles; at most {MAX_ACTION_TILES} are allowed"
        )
    if len(layout) - actions > MAX_TILES:
        raise ValueError(
            f"layout has {len(layout) - actions} tiles; at most {MAX_TILES} are allowed"
        )


def is_number_tile(value: object) -> bool:
    """Whether `value` is a number tile: -10..-1 or 1..8, and no boolean."""
    return (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and bool(MIN_VALUE <= value <= MAX_VALUE and value != 0)
    )


def is_layout_entry(value: object) -> bool:
    """Whether `value` may lie between start and finish."""
    return is_number_tile(value) or (isinstance(value, str) and value in ("lucky", "gift", "steal"))
