"""The constants that other frontends need, as JSON: `python -m thatslife_env.spec`.

Names and numbers of tiles, actions and phases, the layouts and presets, and the rows of the
observation: all taken from `board.py` and `observation.py`, so that nobody types them again.
"""

import json
from typing import Any

from thatslife_env import board, observation
from thatslife_env.board import PRESETS, Ruleset
from thatslife_env.rewards import REWARDS

ACTIONS: dict[str, tuple[int, int, str]] = {
    "pawn": (0, board.FIRST_GUARD, "move your k-th pawn from the rear"),
    "guard": (board.FIRST_GUARD, board.FIRST_OPPONENT, "move the k-th guard from the rear"),
    "opponent": (
        board.FIRST_OPPONENT,
        board.N_ACTIONS,
        "choose the seat k + 1 to your left",
    ),
}
"""Kind of action to its first number, the number after its last, and what the k-th of them does."""


def spec() -> dict[str, Any]:
    """The constants as a JSON object."""
    return {
        "tiles": board.TILE_OF_NAME,
        "values": [board.MIN_VALUE, board.MAX_VALUE],
        "phases": list(board.PHASE_NAMES),
        "scorings": list(board.SCORINGS),
        "actions": {
            kind: {"first": first, "after": after, "meaning": meaning}
            for kind, (first, after, meaning) in ACTIONS.items()
        },
        "layouts": {
            name: [board.NAME_OF_TILE.get(tile, tile) for tile in tiles]
            for name, tiles in board.LAYOUTS.items()
        },
        "presets": {name: Ruleset.preset(name).to_dict() for name in PRESETS},
        "rewards": REWARDS,
        "observation": {
            "size": observation.OBS_SIZE,
            "hash": observation.LAYOUT_HASH,
            "rows": [
                {**row._asdict(), "start": observation.SLICES[row.name].start}
                for row in observation.LAYOUT
            ],
        },
    }


def action_table() -> str:
    """The actions as a Markdown table, for the docs."""
    lines = ["| actions | what the k-th of them (from 0) does |", "|---|---|"]
    for first, after, meaning in ACTIONS.values():
        lines.append(f"| `{first}..{after - 1}` | {meaning} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(spec(), indent=2))
