"""What the terminal says of a game, in the languages of the page.

Messages are in `i18n/LANGUAGE.json`; those that the page (`web/i18n`) says too have its keys and
texts there. `{name}` in a message is filled in.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final

from thatslife_env import Position
from thatslife_env.board import FIRST_OPPONENT
from thatslife_env.outcomes import Outcome, outcome
from thatslife_env.records import Event, Game

LANGUAGES: Final = ("en", "de", "fr", "it", "pl")
LONGEST_NAME: Final = 24


def preferred(environment: Mapping[str, str] | None = None) -> str:
    """The language that the environment asks for, if there is it; else English."""
    given = os.environ if environment is None else environment
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if given.get(variable):
            tag = given[variable][:2].lower()
            return tag if tag in LANGUAGES else "en"
    return "en"


class Words:
    """Messages in one language.

    Args:
        language: one of `LANGUAGES`.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language
        file = resources.files("agents") / "i18n" / f"{language}.json"
        self.messages: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))

    def __call__(self, key: str, **values: Any) -> str:
        """The message of `key`, its blanks filled in."""
        return self.messages[key].format_map(values)

    def tile(self, face: int | str) -> str:
        """A tile: "−3", "+5", or its name."""
        return digits(face) if isinstance(face, int) else self(f"tile.{face}")

    def listed(self, names: Sequence[str]) -> str:
        """`a, b, and c`."""
        if len(names) < 2:
            return "".join(names)
        key = "list.two" if len(names) == 2 else "list.more"
        return self(key, a=", ".join(names[:-1]), b=names[-1])

    def percent(self, share: float, decimals: int = 0) -> str:
        """A share of 1, as `54%`."""
        scale = 10**decimals
        number = f"{int(share * 100 * scale + 0.5) / scale:.{decimals}f}"
        return self("percent", n=number.replace(".", self("point")))

    def name(self, given: str, seat: int) -> str:
        """How a seat is called whose player has this spec or name."""
        if given in ("human", "random", "greedy"):
            return self(f"name.{given}", n=seat + 1)
        printable = "".join(sign if sign.isprintable() else "?" for sign in given)
        return printable if len(printable) <= LONGEST_NAME else f"{printable[: LONGEST_NAME - 1]}…"

    def names(self, game: Game) -> list[str]:
        """How the seats of a game are called: by its `meta`, as far as that has names."""
        given = game.meta.get("names")
        given = given if isinstance(given, list) else []
        names = [
            self.name(given[seat] if seat < len(given) and _is_name(given[seat]) else "human", seat)
            for seat in range(game.opening.players)
        ]
        return [
            name if names.count(name) == 1 else f"{name} {seat + 1}"
            for seat, name in enumerate(names)
        ]

    # Moves and events --------------------------------------------------------------------

    def sentence(self, position: Position, action: int, names: Sequence[str]) -> str:
        """What a legal action does, in one line."""
        return " · ".join(self._parts(position, action, names))

    def happened(self, position: Position, event: Event, names: Sequence[str]) -> str:
        """What an event of a game did in `position`, in one line."""
        kind, value = event
        name = names[position.player]
        if kind == "roll":
            return self("log.roll", name=name, die=value)
        if value < FIRST_OPPONENT:
            return self("log.move", name=name, what=self.sentence(position, value, names))
        done = outcome(position, value)
        key, other = ("gave", done.receiver) if position.phase == "give" else ("stole", done.giver)
        return self(f"log.{key}", name=name, tile=self.tile(done.passed), other=names[other])

    def status(self, position: Position, names: Sequence[str]) -> str:
        """Who has to decide what, or who has won."""
        name = names[position.player]
        if position.is_over:
            won = [names[seat] for seat in position.winners()]
            return self("status.won" if len(won) == 1 else "status.shared", names=self.listed(won))
        if position.phase == "roll":
            return name
        tower = position.to_json()["towers"][position.player]
        tile = self.tile(tower[-1]) if tower else ""
        return self(f"status.{position.phase}", name=name, die=position.die, tile=tile)

    def _parts(self, position: Position, action: int, names: Sequence[str]) -> Iterator[str]:
        done = outcome(position, action)
        if action >= FIRST_OPPONENT:
            other = done.receiver if position.phase == "give" else done.giver
            tile = self.tile(done.passed)
            yield self(f"choice.{position.phase}", tile=tile, name=names[other])
            return
        data = position.to_json()
        yield self(f"move.{done.piece}", **{"from": self.tile(data["track"][done.source])})
        if done.takes is not None:
            yield self("move.takes", tile=self.tile(done.takes))
        elif done.turns is not None:
            yield self("move.turns", tile=self.tile(done.turns))
            yield self._turned(done, names)
        yield self._arrival(data, done.target, names)

    def _turned(self, done: Outcome, names: Sequence[str]) -> str:
        """What came of an action tile that was turned."""
        after = done.position
        if after.phase == "give":
            return self(
                "move.asks.give", tile=self.tile(after.to_json()["towers"][after.player][-1])
            )
        if after.phase == "steal":
            return self("move.asks.steal")
        if done.passed is None:
            return self("move.nothing")
        tile = self.tile(done.passed)
        if done.turns == "gift":
            return self("move.gives", tile=tile, name=names[done.receiver])
        return self("move.steals", tile=tile, name=names[done.giver])

    def _arrival(self, data: dict[str, Any], target: int, names: Sequence[str]) -> str:
        if target == len(data["track"]) - 1:
            return self("move.home")
        tile = self.tile(data["track"][target])
        if target in data["guards"]:
            return self("move.with.guard", tile=tile)
        there = [names[seat] for seat, slots in enumerate(data["pawns"]) if target in slots]
        if there:
            return self("move.with.pawns", names=self.listed(there), tile=tile)
        return self("move.alone", tile=tile)


def digits(number: int) -> str:
    """A number with its sign: "−3", "+5"."""
    return f"−{-number}" if number < 0 else f"+{number}"


def _is_name(given: Any) -> bool:
    return isinstance(given, str) and bool(given.strip())
