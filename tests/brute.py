"""Search by brute force, over positions alone: what the search players are measured against."""

from collections.abc import Callable

from thatslife_env import Position

Shares = tuple[float, ...]
Value = Callable[[Position], Shares]

CLOSE = 1e-9


def max_n(position: Position, depth: int, value: Value) -> Shares:
    """Win shares, `depth` decisions ahead; equal actions: the lowest."""
    if position.is_over:
        return tuple(position.win_shares())
    if position.phase == "roll":
        if depth == 0:
            return value(position)
        faces = [max_n(position.roll(die), depth, value) for die in range(1, 7)]
        return tuple(sum(shares) / 6 for shares in zip(*faces, strict=True))
    best: Shares = ()
    for shares in action_shares(position, depth, value).values():
        if not best or shares[position.player] > best[position.player] + CLOSE:
            best = shares
    return best


def action_shares(position: Position, depth: int, value: Value) -> dict[int, Shares]:
    """Of each action of a position at a decision, in ascending order."""
    found = {}
    for action in position.legal_actions():
        after = position.play(action)
        still_choosing = after.phase in ("give", "steal")
        found[action] = max_n(after, depth if still_choosing else depth - 1, value)
    return found


def solve(position: Position, known: dict[Position, Shares] | None = None) -> dict[int, Shares]:
    """The win shares of perfect play after each action, every player for itself.

    Args:
        position: at a decision, near enough to the end.
        known: what was found before; filled.
    """
    known = {} if known is None else known

    def of(after: Position) -> Shares:
        if after.is_over:
            return tuple(after.win_shares())
        if after not in known:
            if after.phase == "roll":
                faces = [of(after.roll(die)) for die in range(1, 7)]
                known[after] = tuple(sum(shares) / 6 for shares in zip(*faces, strict=True))
            else:
                best: Shares = ()
                for action in after.legal_actions():
                    shares = of(after.play(action))
                    if not best or shares[after.player] > best[after.player] + CLOSE:
                        best = shares
                known[after] = best
        return known[after]

    return {action: of(position.play(action)) for action in position.legal_actions()}


def best_actions(position: Position, shares: dict[int, Shares]) -> list[int]:
    """Those within rounding of the best."""
    highest = max(each[position.player] for each in shares.values())
    return [a for a, each in shares.items() if each[position.player] > highest - CLOSE]
