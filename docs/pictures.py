"""Write the pictures of the game that the README shows.

    python docs/pictures.py

`images/game.png` is a position, `images/game.gif` how its game went on, as `render` draws them.
"""

from pathlib import Path

import agents
from agents.video import write_video
from thatslife_env import Position, Ruleset
from thatslife_env.drawing import Drawing
from thatslife_env.position import dice
from thatslife_env.records import Game
from thatslife_env.render import draw

IMAGES = Path(__file__).resolve().parent / "images"
SEED = 7
ROLLS = 31  # before the picture
TURNS = 13  # of the film
SCALE = 0.75  # of the film


def played() -> Game:
    """A game in progress."""
    game = Game(Position.deal(Ruleset.preset("full", players=3), SEED))
    n_rolls = 0
    while n_rolls < ROLLS:
        if game.position.phase == "roll":
            game.roll(dice(SEED, n_rolls))
            n_rolls += 1
        else:
            legal = game.position.legal_actions()
            game.play(legal[n_rolls % len(legal)])
    return game


def picture() -> Drawing:
    """Where it stands."""
    game = played()
    steps = zip(game.positions(), game.events, strict=False)  # one position more
    moves = [(before, value) for before, (kind, value) in steps if kind == "play"]
    return draw(game.position, moves)


def film() -> Game:
    """How it goes on, with `greedy` at every seat."""
    game = Game(played().position)
    player = agents.make("greedy")
    n_rolls = ROLLS
    while n_rolls < ROLLS + TURNS or game.position.phase != "roll":
        if game.position.phase == "roll":
            game.roll(dice(SEED, n_rolls))
            n_rolls += 1
        else:
            game.play(player.act(game.position))
    return game


def main() -> None:
    """Write both."""
    picture().image().save(IMAGES / "game.png", optimize=True)
    write_video(film(), IMAGES / "game.gif", scale=SCALE)


if __name__ == "__main__":
    main()
