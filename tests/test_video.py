"""Recorded games as films."""

import numpy as np
import pytest
from make_images import TOLERANCE, unlikeness

from agents.base import AgentError
from agents.video import END, OPENING, PLAY, ROLL, frames, write_video
from thatslife_env import Ruleset
from thatslife_env.records import Game
from thatslife_env.render import draw


def small_game(meta=None) -> Game:
    """Two pawns, three tiles, five moves."""
    game = Game.deal(Ruleset(players=2, pawns=1, layout=[-3, "lucky", 5]), seed=1, meta=meta)
    for die in (1, 2, 2, 2, 1):
        game.roll(die)
        game.play(game.position.legal_actions()[0])
    assert game.position.is_over
    return game


def test_one_picture_for_each_event():
    game = small_game()
    film = list(frames(game))
    seconds = [seconds for _, seconds in film]
    assert seconds == [OPENING, *[ROLL, PLAY] * 4, ROLL, END]
    assert film[0][0] == draw(game.opening)
    positions = list(game.positions())
    assert film[1][0] == draw(positions[1])
    assert film[2][0] == draw(positions[2], [(positions[1], 0)])
    assert film[-1][0] == draw(positions[-1], [(positions[7], 0), (positions[9], 0)])


def test_gif(tmp_path):
    import PIL.Image

    path = tmp_path / "game.GIF"
    painted = []
    write_video(small_game(), path, progress=painted.append)
    assert painted == [1] * 11
    with PIL.Image.open(path) as film:
        assert film.format == "GIF"
        assert film.size == (800, 500)
        assert film.n_frames == 11
        durations = []
        for number, (drawing, _) in enumerate(frames(small_game())):
            film.seek(number)
            durations.append(film.info["duration"])
            shown = np.asarray(film.convert("RGB"))
            assert unlikeness(shown, drawing.pixels()) < TOLERANCE  # fewer colours, but the same
        assert durations == [1000, *[600, 1200] * 4, 600, 4000]
    assert [each.name for each in tmp_path.iterdir()] == ["game.GIF"]


def test_mp4(tmp_path):
    import imageio_ffmpeg

    path = tmp_path / "game.mp4"
    painted = []
    # odd sizes become even
    write_video(small_game(), path, scale=0.401, speed=2, progress=painted.append)
    assert painted == [1] * 11
    reader = imageio_ffmpeg.read_frames(str(path))
    about = next(reader)
    assert about["codec"] == "h264"
    assert about["size"] == (320, 200)
    assert about["duration"] == pytest.approx((1 + 4 * 1.8 + 4.6) / 2, abs=1)
    pictures = list(reader)
    last = np.frombuffer(pictures[-1], np.uint8).reshape(200, 320, 3).astype(np.int64)
    (*_, (end, _)) = frames(small_game())
    assert np.abs(last - end.pixels(0.401)[:200, :320]).mean() < 4
    first = np.frombuffer(pictures[0], np.uint8).reshape(200, 320, 3).astype(np.int64)
    assert np.abs(first - end.pixels(0.401)[:200, :320]).mean() > 4  # another position


def test_names_come_from_the_record_or_the_caller():
    game = small_game(meta={"names": ["Ada", "Lin"]})
    texts = [str(drawing) for drawing, _ in frames(game, ["Ada", "Lin"])]
    assert all("'Ada'" in text and "seat 0" not in text for text in texts)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("game.avi", {}, "game.avi: a video ends in .gif or .mp4"),
        ("game", {}, "ends in .gif or .mp4"),
        ("game.gif", {"speed": 0}, "speed"),
        ("game.gif", {"scale": float("nan")}, "scale"),
        ("game.gif", {"names": ["Ada"]}, "1 names for 2 seats"),
    ],
)
def test_bad_input_writes_nothing(tmp_path, name, arguments, words):
    with pytest.raises(AgentError, match=words):
        write_video(small_game(), tmp_path / name, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_old_film_survives_a_failure(tmp_path, monkeypatch):
    path = tmp_path / "game.gif"
    path.write_bytes(b"old")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("agents.video._write_gif", broken)
    with pytest.raises(OSError, match="disk full"):
        write_video(small_game(), path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["game.gif"]


def test_a_folder_that_is_not_there(tmp_path):
    for name in ("game.gif", "game.mp4"):
        with pytest.raises(OSError, match="nowhere"):
            write_video(small_game(), tmp_path / "nowhere" / name, scale=0.1)
