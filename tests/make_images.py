"""Golden pictures: positions as they are drawn, to be compared with what is drawn now.

    .venv/bin/python tests/make_images.py

writes all of them anew into `tests/golden_images/`; look at them before they are committed.
"""

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thatslife_env import Position, Ruleset
from thatslife_env.drawing import Drawing
from thatslife_env.position import dice
from thatslife_env.render import Move, draw

FOLDER = Path(__file__).parent / "golden_images"

BLOCK = 10  # pixels; pictures are compared by the mean colours of such squares
TOLERANCE = 14  # of 255: what the letters of another FreeType change is far less

SHARED_WIN = {
    "rules": {"players": 3, "pawns": 2, "guards": True, "scoring": "standard"},
    "track": ["start", "lucky", "steal", -1, "finish"],
    "pawns": [[4, 4], [4, 4], [4, 4]],
    "guards": [1, 1, 2, 4, 4, 4, 4],
    "towers": [[5, -2], ["lucky", -3], [3]],
    "player": 2,
    "phase": "over",
    "die": 0,
}
TALL_TOWER = {
    "rules": {"players": 6, "pawns": 3, "guards": True, "scoring": "expert"},
    "track": ["start", "gift", "gift", "steal", "steal", "finish"],
    "pawns": [[1, 2, 3], [1, 1, 1], [1, 1, 4], [1, 2, 2], [1, 2, 5], [1, 3, 3]],
    "guards": [1, 1, 1, 1, 2, 4, 4, 5],
    "towers": [[*range(-10, 0), *range(1, 9)], [], [-10] * 7 + ["lucky"] * 6, [], [8], []],
    "player": 2,
    "phase": "move",
    "die": 2,
}


def play_on(rules: Ruleset, seed: int, until: int | str) -> tuple[Position, list[Move]]:
    """A game of random moves after so many rolls and moves, or up to a phase; and its moves."""
    position, moves, n_rolls = Position.deal(rules, seed), [], 0
    rng = random.Random(seed)
    while until not in (n_rolls + len(moves), position.phase):
        if position.phase == "roll":
            position, n_rolls = position.roll(dice(seed, n_rolls)), n_rolls + 1
        else:
            moves.append((position, rng.choice(position.legal_actions())))
            position = position.play(moves[-1][1])
    return position, moves


def pictures() -> dict[str, Drawing]:
    """Name of every golden picture -> the drawing."""
    full = Ruleset.preset("full", players=6)
    basic = Ruleset.preset("basic", players=2)
    four = Ruleset.preset("full", players=4)
    board = Ruleset(players=2, layout=[-10, "lucky", 8, "gift", -3])
    return {
        "opening-6": draw(play_on(full, 4, 1)[0]),
        "middle-2": draw(*play_on(basic, 7, 29)),
        "middle-6": draw(*play_on(full, 4, 70)),
        "give-4": draw(*play_on(four, 3, "give")),
        "steal-4": draw(*play_on(four, 12, "steal")),
        "over-3": draw(*play_on(Ruleset.preset("classic", players=3), 2, "over")),
        "shared-win": draw(Position.from_json(SHARED_WIN), names=["Ada", "Jürgen", "Maximiliane"]),
        "tall-tower": draw(Position.from_json(TALL_TOWER)),
        "small-board": draw(*play_on(board, 3, 4)),
    }


def unlikeness(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """How far two pictures of one size, uint8[H, W, 3], differ where they differ most: 0 .. 255."""
    height, width = (side // BLOCK * BLOCK for side in a.shape[:2])
    difference = a[:height, :width].astype(np.float64) - b[:height, :width]
    blocks = difference.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean(axis=(1, 3))
    return float(np.abs(blocks).max())


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.png"):
        path.unlink()
    for name, drawing in pictures().items():
        drawing.image().save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
