"""What people see: the drawing, its two forms, and the environments' `rgb_array` and `human`."""

import copy
import json
import os
import random
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from conftest import random_position
from gymnasium.utils.env_checker import check_env
from make_images import FOLDER, SHARED_WIN, TOLERANCE, pictures, play_on, unlikeness
from pettingzoo.test import render_test
from PIL import Image

from thatslife_env import IllegalMoveError, Position, Ruleset, thatslife_v0
from thatslife_env.drawing import Area, Box, Drawing, Line, Oval, Text, outline, plain
from thatslife_env.gymnasium_env import ThatsLifeEnv
from thatslife_env.render import (
    HEIGHT,
    PALETTE,
    WIDTH,
    DisplayError,
    Screen,
    Window,
    draw,
    headline,
    tell,
)

ROOT = Path(__file__).resolve().parent.parent
ID = "thatslife_env:ThatsLife-v0"
PICTURES = pictures()
MOVING = {
    "rules": {"players": 2, "pawns": 2, "guards": True, "scoring": "standard"},
    "track": ["start", -3, "lucky", 5, "gift", -1, "finish"],
    "pawns": [[1, 4], [2, 3]],
    "guards": [2],
    "towers": [[-4, "lucky"], [8]],
    "player": 0,
    "phase": "move",
    "die": 1,
}


def moving(**changes) -> Position:
    return Position.from_json({**MOVING, **changes})


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Windows that do not make anybody wait."""
    for door in (thatslife_v0.raw_env, ThatsLifeEnv):
        monkeypatch.setitem(door.metadata, "render_fps", 1000)


# The drawing --------------------------------------------------------------------------------


def test_colours_and_marks_are_those_of_the_page():
    _, _, rest = (ROOT / "web" / "palette.js").read_text().partition("export default ")
    assert json.loads(rest.rstrip().removesuffix(";")) == PALETTE


def test_every_golden_picture_has_its_drawing():
    assert sorted(path.stem for path in FOLDER.glob("*.png")) == sorted(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_golden_pictures(name):
    with Image.open(FOLDER / f"{name}.png") as golden:
        wanted = np.asarray(golden.convert("RGB"))
    shown = PICTURES[name].pixels()
    assert shown.shape == wanted.shape == (HEIGHT, WIDTH, 3)
    assert unlikeness(shown, wanted) < TOLERANCE


@pytest.mark.parametrize(
    "changes",
    [
        {"track": ["start", -2, "lucky", 5, "gift", -1, "finish"]},
        {"track": ["start", -3, "lucky", 5, "steal", -1, "finish"]},
        {"pawns": [[1, 5], [2, 3]]},
        {"pawns": [[1, 4], [2, 2]]},
        {"guards": [3]},
        {"guards": [2, 2]},
        {"towers": [["lucky", -4], [8]]},
        {"towers": [[-4, "lucky"], [7]]},
        {"die": 2},
        {"player": 1},
        {"phase": "roll", "die": 0},
    ],
)
def test_the_comparison_sees_what_matters(changes):
    """Everything that makes another position makes a picture beyond the tolerance."""
    before, after = draw(moving()).pixels(), draw(moving(**changes)).pixels()
    assert unlikeness(before, after) > 1.5 * TOLERANCE


def test_the_last_move_is_shown():
    position = moving()
    after = position.play(0)
    plain_picture, told = draw(after), draw(after, [(position, 0)])
    assert unlikeness(plain_picture.pixels(), told.pixels()) > TOLERANCE
    assert "1: pawn from -3 to lucky, takes -3" in words_of(told)


def words_of(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Text)]


def corners(shape) -> list[tuple[float, float]]:
    """The corners of what surrounds a shape; of a text as wide as its letters may be."""
    match shape:
        case Box(x, y, width, height):
            return [(x, y), (x + width, y + height)]
        case Oval(x, y, across, down):
            return [(x - across, y - down), (x + across, y + down)]
        case Area(points) | Line(points):
            return list(points)
        case Text(x, y, text, size, _, anchor):
            width = len(text) * 0.5 * size
            left = x - {"start": 0, "middle": 0.5, "end": 1}[anchor] * width
            return [(left, y - size), (left + width, y)]


def test_any_position_can_be_drawn_within_its_frame():
    """Six seats, stacks, tall towers, boards of one tile, choices: nothing leaves the picture."""
    rng = random.Random(5)
    for _ in range(150):
        position = Position.from_json(random_position(rng))
        drawing = draw(position, names=["A very long name indeed"] * position.players)
        for shape in drawing.shapes:
            for x, y in corners(shape):
                assert -1 <= x <= WIDTH + 1
                assert -1 <= y <= HEIGHT + 1
        texts = words_of(drawing)
        assert [text for text in texts if text in map(str, position.scores())]


def test_all_pieces_and_tiles_are_drawn():
    """Bodies are counted by their colours: three of a group at most, then a number."""
    position = Position.from_json(SHARED_WIN)
    drawing = draw(position)
    fills = [shape.fill for shape in drawing.shapes if isinstance(shape, Oval) and shape.edge]
    heads = {seat: fills.count(PALETTE["seats"][seat]["fill"]) for seat in range(3)}
    assert heads == {0: 2, 1: 2, 2: 2}
    assert fills.count(PALETTE["guard"]["fill"]) == 2 + 1 + 3
    assert "4" in words_of(drawing)


def test_legal_pieces_and_seats_stand_out():
    glow = [shape for shape in draw(moving()).shapes if isinstance(shape, Oval) and shape.down < 20]
    halos = [shape for shape in glow if shape.across > 2 * shape.down]
    assert len(halos) == 3  # two pawns, and the guard that a pawn stands with
    assert not [
        shape
        for shape in draw(moving(phase="roll", die=0)).shapes
        if isinstance(shape, Oval) and shape.across > 2 * shape.down
    ]


def test_headlines():
    assert headline(moving()) == "seat 0 rolled 1, to move"
    assert headline(moving(), ["Ada", "Lin"]) == "Ada rolled 1, to move"
    assert headline(moving(phase="roll", die=0)) == "seat 0 to roll"
    assert headline(Position.from_json(SHARED_WIN)) == "seat 0 and seat 2 share the win"
    with pytest.raises(ValueError, match="1 names for 2 seats"):
        draw(moving(), names=["Ada"])


@pytest.mark.parametrize(
    ("position", "action", "words"),
    [
        (moving(), 0, "pawn from -3 to lucky, takes -3"),
        (moving(), 3, "guard from lucky to +5"),
        (moving(), 1, "pawn from gift to -1, turns the gift, gives lucky to Lin"),
        (
            moving(track=["start", -3, "lucky", 5, "steal", -1, "finish"]),
            1,
            "pawn from steal to -1, turns the steal, steals +8 from Lin",
        ),
        (moving(die=6), 0, "pawn from -3 to finish, takes -3"),
        (moving(die=6, pawns=[[0, 4], [2, 3]]), 0, "pawn from start to finish"),
    ],
)
def test_moves_in_words(position, action, words):
    assert tell((position, action), ["Ada", "Lin"]) == words


def test_choices_in_words():
    for name in ("give", "steal"):
        rules = Ruleset.preset("full", players=4)
        position, _ = play_on(rules, {"give": 3, "steal": 12}[name], name)
        towers = position.to_json()["towers"]
        for action in position.legal_actions():
            other = (position.player + action - 10) % 4
            tile = towers[position.player if name == "give" else other][-1]
            face = f"{tile:+d}" if tile != "lucky" else tile
            link = "to" if name == "give" else "from"
            assert tell((position, action)) == f"{name}s {face} {link} seat {other}"
    with pytest.raises(IllegalMoveError):
        tell((moving(), 2))


# Its forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
def test_svg_has_every_shape(name):
    drawing = PICTURES[name]
    root = ET.fromstring(drawing.svg())
    assert (root.get("width"), root.get("height")) == ("800", "500")
    title, *elements = root
    assert title.text == drawing.title
    kinds = {Box: "rect", Oval: "ellipse", Area: "polygon", Line: "polyline", Text: "text"}
    namespace = "{http://www.w3.org/2000/svg}"
    assert [element.tag for element in elements] == [
        namespace + kinds[type(shape)] for shape in drawing.shapes
    ]
    texts = [element.text for element in elements if element.tag == f"{namespace}text"]
    assert texts == words_of(drawing)
    assert not re.search(r"\d\.\d{3}|nan|inf|None", drawing.svg())


def test_names_cannot_break_out_of_the_svg():
    svg = draw(moving(), names=["<b>&", '"</svg>']).svg()
    assert "<b>&" in words_of(draw(moving(), names=["<b>&", "x"]))
    assert len(ET.fromstring(svg)) > 50
    assert svg.count("</svg>") == 1
    ugly = draw(moving(), names=["a\nb\0", "\ud800"])
    assert "a?b?" in words_of(ugly)
    assert len(ET.fromstring(ugly.svg().encode())) > 50
    assert ugly.pixels(0.2).any()


def test_a_notebook_shows_positions_and_drawings():
    position = moving()
    assert position._repr_svg_() == draw(position).svg() == draw(position)._repr_svg_()


def test_pixels_follow_the_scale_and_belong_to_the_caller():
    drawing = PICTURES["middle-2"]
    assert drawing.pixels(0.3).shape == (150, 240, 3)
    pixels = drawing.pixels(0.3)
    pixels[:] = 0
    assert drawing.pixels(0.3).any()
    large = np.asarray(Image.fromarray(drawing.pixels()).resize((240, 150), Image.Resampling.BOX))
    assert unlikeness(drawing.pixels(0.3), large) < 2 * TOLERANCE


def test_shapes_cover_the_same_in_pixels():
    """A box, an ellipse and their edges, each pixel as the SVG has it."""
    shapes = (
        Box(0, 0, 40, 20, "#ffffff"),
        Box(4, 4, 8, 8, "#ff0000", edge="#0000ff", thick=2),
        Oval(30, 10, 6, 4, "#00ff00"),
    )
    pixels = Drawing(40, 20, shapes).pixels()
    for (x, y), colour in {
        (1, 1): (255, 255, 255),
        (3, 3): (0, 0, 255),
        (4, 8): (0, 0, 255),
        (5, 5): (255, 0, 0),
        (10, 10): (255, 0, 0),
        (12, 12): (0, 0, 255),
        (13, 13): (255, 255, 255),
        (30, 10): (0, 255, 0),
        (35, 10): (0, 255, 0),
        (37, 10): (255, 255, 255),
        (30, 15): (255, 255, 255),
    }.items():
        assert tuple(pixels[y, x]) == colour, (x, y)


def test_outlines():
    assert outline("M1,2 L3,4 H5 V6 Z") == ((1, 2), (3, 4), (5, 4), (5, 6))
    curve = outline("M0,0 Q1,2 2,0 C2,-1 4,-1 4,0")
    assert len(curve) == 17
    assert (1, 1) in curve
    assert (3, -0.75) in curve
    assert curve[8] == (2, 0)
    assert curve[-1] == (4, 0)


def test_text_is_written_with_the_letters_there_are():
    assert plain("Jürgen \u22123 Ł 日") == "Jurgen -3 ? ?"


# The environments ---------------------------------------------------------------------------


@pytest.mark.parametrize("door", [thatslife_v0.raw_env, thatslife_v0.env])
def test_pettingzoo_render_test(door):
    render_test(lambda **kwargs: door(ruleset="full", players=3, **kwargs))


def test_gymnasium_render_checks():
    """`check_env` makes the environment once more in each of its modes, and renders."""
    env = gymnasium.make(ID, ruleset="full", players=3, opponents="random")
    check_env(env.unwrapped)
    for mode in env.metadata["render_modes"]:
        env = gymnasium.make(ID, render_mode=mode)
        env.reset(seed=1)
        env.render()
        env.close()
    frames = gymnasium.make(ID, render_mode="rgb_array_list")
    frames.reset(seed=1)
    frames.step(0)
    assert len(frames.render()) == 2


def test_frames_of_the_aec_door():
    env = thatslife_v0.raw_env(players=3, render_mode="rgb_array")
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        env.render()
    env.reset(seed=3)
    frames = [env.render()]
    moves = []
    for _ in range(6):
        before = env.position
        action = before.legal_actions()[-1]
        moves.append((before, action))
        env.step(action)
        frames.append(env.render())
        assert np.array_equal(frames[-1], draw(env.position, moves).pixels())
    for frame in frames:
        assert frame.dtype == np.uint8
        assert frame.shape == (500, 800, 3)
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 100
    assert not np.shares_memory(frames[0], frames[1])
    with pytest.raises(IllegalMoveError):
        env.step(15)
    assert np.array_equal(env.render(), frames[-1])
    env.reset(seed=3)
    assert np.array_equal(env.render(), frames[0])  # nothing is left of the old game


@pytest.mark.parametrize(
    "opponents",
    ["greedy", ["random", "greedy", "random"], {"greedy": 1, "random": 2}],
    ids=["one", "listed", "drawn"],
)
def test_looking_on_changes_no_game(opponents):
    def play(mode):
        env = gymnasium.make(
            ID, ruleset="full", players=3, opponents=opponents, seat=1, render_mode=mode
        )
        seen, info = env.reset(seed=8)
        found, is_over = [seen], False
        while not is_over and len(found) < 8:
            action = int(info["action_mask"].argmax())
            seen, reward, is_over, _, info = env.step(action)
            found.append(np.append(seen, reward))
            if mode == "rgb_array" and len(found) < 4:
                assert env.render().shape == (500, 800, 3)
        env.close()
        return found

    wanted = play(None)
    for mode in ("rgb_array", "human"):
        assert all(map(np.array_equal, play(mode), wanted))
    assert len(wanted) > 5


def test_frames_of_the_gymnasium_door_tell_what_the_others_did(monkeypatch):
    told = []

    def recorded(position, moves, names):
        told.append((position, moves, names))
        return Drawing(1, 1, (Box(0, 0, 1, 1, "#000000"),))

    monkeypatch.setattr("thatslife_env.render.draw", recorded)
    env = ThatsLifeEnv("full", 3, opponents=["greedy", "random", first], seat=1)
    assert env.render() is None
    env = ThatsLifeEnv(
        "full", 3, opponents=["greedy", "random", first], seat=1, render_mode="rgb_array"
    )
    env.reset(seed=2)
    before = env.position
    env.step(before.legal_actions()[0])
    env.render()
    position, moves, names = told[-1]
    assert position == env.position
    assert names == ["seat 0", "learner", "seat 2"]
    since = [move[0] for move in moves].index(before)
    assert moves[since] == (before, before.legal_actions()[0])
    for (one, action), (following, _) in zip(moves, [*moves[1:], (position, 0)], strict=True):
        after = one.play(action)
        assert following == (after if after.phase != "roll" else after.roll(following.die))
    assert {move[0].player for move in moves} == {0, 1, 2}


def first(position, rng):
    return position.legal_actions()[0]


# The window ---------------------------------------------------------------------------------


def on_screen() -> np.ndarray:
    import pygame

    return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)


@pytest.mark.parametrize("make", [thatslife_v0.raw_env, ThatsLifeEnv], ids=["aec", "gymnasium"])
def test_the_window_shows_the_picture(make):
    """Not black, as what the dummy driver gives by itself."""
    import pygame

    env = make(players=2, render_mode="human")
    env.close()
    env.reset(seed=1)
    screen = Screen("rgb_array", 1)
    names = None if make is thatslife_v0.raw_env else env._names()
    if make is thatslife_v0.raw_env:
        assert np.array_equal(on_screen(), screen.render(env.position, names))
    first_picture = on_screen()
    assert first_picture.std() > 30
    assert env.render() is None
    env.step(env.position.legal_actions()[0])
    assert unlikeness(on_screen().astype(np.uint8), first_picture.astype(np.uint8)) > TOLERANCE
    assert pygame.display.get_caption()[0] == headline(env.position, names)
    env.close()
    assert not pygame.display.get_init()
    env.close()
    env.reset(seed=1)  # opens it once more
    assert np.array_equal(on_screen()[:60, :400], first_picture[:60, :400])
    env.close()


def test_environments_that_show_can_be_copied():
    for mode in ("rgb_array", "human"):
        env = thatslife_v0.raw_env(render_mode=mode)
        env.reset(seed=1)
        other = copy.deepcopy(env)
        other.step(other.position.legal_actions()[0])
        assert other.position != env.position
        for each in (env, other):
            each.render()
            each.close()


def test_a_window_closed_by_hand_stays_closed():
    import pygame

    env = thatslife_v0.raw_env(render_mode="human")
    env.reset(seed=1)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    for _ in range(3):
        env.step(env.position.legal_actions()[0])
        assert not pygame.display.get_init()
    env.close()


def test_each_picture_has_its_time():
    window = Window(20)
    began = time.monotonic()
    for die in (1, 2, 3):
        window.show(draw(moving(die=die)))
    window.show(draw(moving(die=3)))  # the same waits for nothing
    assert time.monotonic() - began >= 2 / 20
    window.close()


@pytest.mark.parametrize("driver", ["nonesuch", None])
def test_without_a_display_the_error_is_clear(monkeypatch, driver):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    if driver:
        monkeypatch.setenv("SDL_VIDEODRIVER", driver)
    for env in (thatslife_v0.raw_env(render_mode="human"), ThatsLifeEnv(render_mode="human")):
        with pytest.raises(DisplayError, match="no window can be opened: .*rgb_array"):
            env.reset(seed=1)
        env.close()
        env.close()


# What is imported ---------------------------------------------------------------------------


def run(code: str) -> str:
    bare = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=bare
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_graphical_is_imported_unless_asked():
    """Without a mode and as text nothing; SVG needs only ours; a picture no window."""
    said = run(
        "import sys, gymnasium\n"
        "from thatslife_env import Position, Ruleset, thatslife_v0\n"
        "def loaded(when):\n"
        "    names = ['PIL', 'pygame', 'thatslife_env.render', 'thatslife_env.drawing']\n"
        "    print(when, [name for name in names if name in sys.modules])\n"
        "for mode in (None, 'ansi'):\n"
        "    env = thatslife_v0.raw_env(render_mode=mode)\n"
        "    env.reset(seed=1)\n"
        "    if mode: env.render()\n"
        "    env.close()\n"
        f"    gymnasium.make('{ID}', render_mode=mode).unwrapped.close()\n"
        "loaded('text')\n"
        "env.position._repr_svg_()\n"
        "loaded('svg')\n"
        "env = thatslife_v0.raw_env(render_mode='rgb_array')\n"
        "env.reset(seed=1)\n"
        "assert env.render().std() > 30\n"
        "loaded('pixels')\n"
    )
    assert said.splitlines() == [
        "text []",
        "svg ['thatslife_env.render', 'thatslife_env.drawing']",
        "pixels ['PIL', 'thatslife_env.render', 'thatslife_env.drawing']",
    ]


@pytest.mark.parametrize(
    ("mode", "missing", "name"),
    [("rgb_array", "PIL", "Pillow"), ("human", "PIL", "Pillow"), ("human", "pygame", "pygame")],
)
def test_a_missing_library_is_named(monkeypatch, mode, missing, name):
    for loaded in [each for each in sys.modules if each.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, loaded)

    class Gone:
        """Finds that it is not installed."""

        @staticmethod
        def find_spec(module, path=None, target=None):
            if module.partition(".")[0] == missing:
                raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(sys, "meta_path", [Gone, *sys.meta_path])
    message = re.escape(f"{name} is not installed; get it with: pip install 'thatslife[render]'")
    for make in (thatslife_v0.raw_env, ThatsLifeEnv):
        with pytest.raises(ImportError, match=message):
            make(render_mode=mode)
    assert draw(moving()).svg()
