"""Golden playthroughs: whole games as text, to be replayed and compared line by line.

    .venv/bin/python tests/make_golden.py

writes all of them anew into `tests/golden/`; the difference in version control is the review.

A file is UTF-8 text, one statement per line: a keyword, one space, then the rest. JSON is compact
(no spaces), keys in the order of the rule page. The lines are, in this order:

    golden 1            the format's version
    ruleset RULESET     JSON object: players, pawns, layout, action_tiles, guards, scoring
    seed SEED           decimal, 0 .. 2^64 - 1; the opening is the deal of `seed`
    position POSITION   JSON of the opening (phase `roll`)
    legal ACTIONS       JSON list of the legal actions, ascending; here []
    scores POINTS       JSON list of the points of every seat, as if the game ended now

then for every step of the game either, when the player rolls,

    roll DIE            the k-th such line (k = 0, 1, ...) is the k-th roll of the game dealt from
                        `seed`. A roll changes `phase` to "move" and `die` to DIE and nothing
                        else, so neither position nor scores are repeated
    legal ACTIONS       what the player may do with this roll

or, when the player decides,

    play ACTION WORDS   the action's number, one space, what it is in words (to the end of the line)
    position POSITION   after it; phase `roll`, `give`, `steal` or `over`
    legal ACTIONS
    scores POINTS

and at the end, after the step that leads to phase `over`,

    end POINTS          JSON list: the final points of every seat
    winners SEATS       JSON list: the winning seats, ascending

To check another implementation: deal, then read line by line; do what `roll` and `play` say,
compare what the other lines say.
"""

import json
import random
from pathlib import Path
from typing import Any

from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.position import dice

FOLDER = Path(__file__).parent / "golden"

MIXED_BOARD = [-4, "lucky", 7, -10, "gift", 8, "lucky", -1, "steal", 5, -6]
CROWDED_BOARD = [
    *[-9, "lucky", 8, "steal", -2, 7, -2, "gift"] * 2,
    *[-10, -10, -9, "lucky", 1, 2, 3, -3, 7, 8, -5, "lucky", "lucky", 4, 6, -1, -7, -8, 5, -4],
]


def games() -> dict[str, tuple[Ruleset, int]]:
    """Name of every golden game -> its ruleset and seed."""
    made: dict[str, tuple[Ruleset, int]] = {}
    for name in PRESETS:
        for players in range(2, 7):
            made[f"{name}-{players}p"] = (Ruleset.preset(name, players=players), len(made))
    for number, layout in enumerate(["shuffled", "standard", "variant1", "variant2"]):
        for scoring in ("standard", "expert"):
            rules = Ruleset(
                players=2 + len(made) % 5,
                pawns=1 + number % 2,
                layout=layout,
                action_tiles=scoring == "standard",
                guards=number % 2 == 0,
                scoring=scoring,
            )
            made[f"{layout}-{scoring}"] = (rules, 2**64 - 1 - len(made))
    lists: dict[str, dict[str, Any]] = {
        "one-tile": {"players": 2, "pawns": 1, "layout": [-7]},
        "one-gift": {"players": 3, "pawns": 3, "layout": ["gift"], "scoring": "expert"},
        "all-lucky": {"players": 4, "layout": ["lucky"] * 9, "guards": True},
        "all-minus": {"players": 5, "pawns": 2, "layout": [-3] * 16},
        "all-minus-guarded": {"players": 6, "pawns": 1, "layout": [-3] * 8, "guards": True},
        "mixed": {"players": 2, "layout": MIXED_BOARD, "guards": True},
        "mixed-expert": {"players": 4, "pawns": 2, "layout": MIXED_BOARD, "scoring": "expert"},
        "own-gift-unasked": {
            "players": 3,
            "layout": [1, -1, "gift", -1, 1, "gift", 2, 2, -2, "steal"],
            "action_tiles": False,
        },
        "steal-first": {
            "players": 5,
            "layout": [-1, 6, "steal", 6, -1, "steal", "lucky", "steal", -1, "steal"],
            "guards": True,
            "scoring": "expert",
        },
        "gifts-of-equals": {
            "players": 4,
            "layout": [2, 2, "gift", 2, 2, "gift", 2, 2, "gift", 2, -2, "gift"],
        },
        "crowded": {"players": 6, "pawns": 2, "layout": CROWDED_BOARD, "guards": True},
        "crowded-expert": {
            "players": 3,
            "pawns": 2,
            "layout": CROWDED_BOARD[::-1],
            "guards": True,
            "scoring": "expert",
        },
        "no-action-tiles": {"players": 2, "layout": [8, -8, 7, -7] * 5, "action_tiles": False},
        "interval": {"players": 3, "pawns": 2, "layout": [4, -4, "lucky", 7] * 6, "guards": True},
    }
    for name, fields in lists.items():
        made[f"list-{name}"] = (Ruleset(**fields), 1000 + len(made))
    return made


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def header(rules: Ruleset, seed: int) -> list[str]:
    return ["golden 1", f"ruleset {compact(rules.to_dict())}", f"seed {seed}"]


def shown(position: Position) -> list[str]:
    return [
        f"position {compact(position.to_json())}",
        f"legal {compact(position.legal_actions())}",
        f"scores {compact(position.scores())}",
    ]


def after_roll(position: Position, die: int) -> tuple[Position, list[str]]:
    position = position.roll(die)
    return position, [f"roll {die}", f"legal {compact(position.legal_actions())}"]


def after_play(position: Position, action: int) -> tuple[Position, list[str]]:
    words = position.describe(action)
    position = position.play(action)
    return position, [f"play {action} {words}", *shown(position)]


def ending(position: Position) -> list[str]:
    return [f"end {compact(position.scores())}", f"winners {compact(position.winners())}"]


def playthrough(rules: Ruleset, seed: int) -> list[str]:
    """The lines of one game."""
    rng = random.Random(seed)
    rolls = 0
    position = Position.deal(rules, seed)
    lines = header(rules, seed) + shown(position)
    while not position.is_over:
        if position.phase == "roll":
            position, more = after_roll(position, dice(seed, rolls))
            rolls += 1
        else:
            position, more = after_play(position, rng.choice(position.legal_actions()))
        lines += more
    return lines + ending(position)


def main() -> None:
    """Write every golden game."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for name, (rules, seed) in games().items():
        text = "\n".join(playthrough(rules, seed)) + "\n"
        (FOLDER / f"{name}.txt").write_bytes(text.encode())
    sizes = [file.stat().st_size for file in FOLDER.glob("*.txt")]
    print(f"{len(sizes)} files, {sum(sizes)} bytes in {FOLDER}")


if __name__ == "__main__":
    main()
