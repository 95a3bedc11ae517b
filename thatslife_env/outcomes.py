"""What an action did, as people see it: for pictures and for words."""

from dataclasses import dataclass
from typing import Any

from thatslife_env import rules
from thatslife_env.board import FIRST_GUARD, FIRST_OPPONENT
from thatslife_env.position import Position


@dataclass(frozen=True)
class Outcome:
    """What an action did.

    Attributes:
        position: where it led.
        seat: who did it.
        piece: `pawn`, `guard`, or empty for a choice of opponent.
        source, target: slots of the track before it, of a piece.
        takes: the tile that its mover took.
        turns: the action tile that was turned, as it lay before.
        passed: the tile that went from one tower to another; None if none did.
        giver, receiver: the seats of those towers; without meaning if none did.
    """

    position: Position
    seat: int
    piece: str
    source: int
    target: int
    takes: int | str | None
    turns: str | None
    passed: Any  # a face, as `takes`
    giver: int
    receiver: int


def outcome(position: Position, action: int) -> Outcome:
    """What a legal action does.

    Raises:
        IllegalMoveError: it is not legal.
    """
    after = position.play(action)
    old, new = position.to_json(), after.to_json()
    piece, source, target = "", 0, 0
    takes = turns = None
    if action < FIRST_OPPONENT:
        is_pawn = action < FIRST_GUARD
        piece = "pawn" if is_pawn else "guard"
        slots = old["pawns"][position.player] if is_pawn else old["guards"]
        source = slots[action if is_pawn else action - FIRST_GUARD]
        target = int(rules.landing(position.state[0], source))
        if len(new["track"]) < len(old["track"]):
            takes = old["track"][source]
        elif new["track"] != old["track"]:
            turns = old["track"][source]
    passed, giver, receiver = None, -1, -1
    if takes is None:
        for seat, (before, now) in enumerate(zip(old["towers"], new["towers"], strict=True)):
            if len(now) < len(before):
                passed, giver = before[-1], seat
            elif len(now) > len(before):
                receiver = seat
    return Outcome(
        after, position.player, piece, source, target, takes, turns, passed, giver, receiver
    )
