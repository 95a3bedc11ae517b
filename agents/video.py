"""A recorded game as a film: an animated GIF or an MP4, from the drawing that everything shows.

write_video(game, Path("game.gif"))
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from agents.base import AgentError
from agents.extras import require
from agents.files import replacing
from thatslife_env.drawing import Drawing
from thatslife_env.records import Game
from thatslife_env.render import Move, draw

OPENING: Final = 1.0  # seconds that each picture is shown
ROLL: Final = 0.6
PLAY: Final = 1.2
END: Final = 4.0

COLOURS: Final = 128  # of a GIF
FRAMES_PER_SECOND: Final = 5  # of an MP4
FORMATS: Final = (".gif", ".mp4")

Film = Sequence[tuple[Drawing, float]]  # pictures, and the seconds that each is shown
Progress = Callable[[int], None]


def write_video(
    game: Game,
    path: Path,
    *,
    names: Sequence[str] | None = None,
    speed: float = 1.0,
    scale: float = 1.0,
    progress: Progress = lambda n_pictures: None,
) -> None:
    """Write a game as a film, one picture for each roll and each move.

    Args:
        game: finished or not.
        path: ends in .gif or .mp4; the file appears complete or not at all.
        names: of the seats; None takes those in `game.meta["names"]`, if there are.
        speed: 0.05 to 20; twice as fast with 2.
        scale: 0.1 to 4; 1 gives 800 x 500 pixels.
        progress: called with 1 for each picture that is painted, one more than there are events.

    Raises:
        AgentError: another suffix, a number outside its range, or too few or many names.
        MissingExtraError: Pillow is not installed, or for .mp4 imageio-ffmpeg.
        OSError: the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise AgentError(f"{path}: a video ends in {' or '.join(FORMATS)}, not {suffix!r}")
    for name, value, low, high in (("speed", speed, 0.05, 20), ("scale", scale, 0.1, 4)):
        if not low <= value <= high:
            raise AgentError(f"{name} must be {low} to {high}, not {value!r}")
    if names is None:
        names = _names_of(game)
    elif len(names) != game.opening.players:
        raise AgentError(f"{len(names)} names for {game.opening.players} seats")
    require("PIL", extra="render")
    write = _write_gif
    if suffix == ".mp4":
        require("imageio_ffmpeg", extra="render")
        write = _write_mp4
    with replacing(path) as part:
        film = [(picture, seconds / speed) for picture, seconds in frames(game, names)]
        write(part, film, scale, progress)


def frames(game: Game, names: Sequence[str] | None = None) -> Iterator[tuple[Drawing, float]]:
    """The pictures of a film and the seconds that each is shown.

    Args:
        game: what is shown.
        names: of the seats.
    """
    moves: list[Move] = []
    positions = game.positions()
    position = next(positions)
    shown, seconds = draw(position, names=names), OPENING
    for (kind, value), after in zip(game.events, positions, strict=True):
        yield shown, seconds
        if kind == "play":
            moves = [*moves, (position, value)][-position.players :]
        position = after
        shown, seconds = draw(position, moves, names), PLAY if kind == "play" else ROLL
    yield shown, max(seconds, END)


def _names_of(game: Game) -> list[str] | None:
    """The names in a record, if it has one for each seat."""
    names = game.meta.get("names")
    if isinstance(names, list) and len(names) == game.opening.players:
        return [str(name) for name in names]
    return None


def _painted(film: Film, scale: float, progress: Progress) -> Iterator[Any]:
    """The pictures of a film as Pillow images."""
    for drawing, _ in film:
        yield drawing.image(scale)
        progress(1)


def _write_gif(path: Path, film: Film, scale: float, progress: Progress) -> None:
    (image_module,) = require("PIL.Image", extra="render")
    palette = _palette([film[len(film) * part // 4 - (part == 4)][0] for part in range(5)])
    images = (
        image.quantize(palette=palette, dither=image_module.Dither.NONE)
        for image in _painted(film, scale, progress)
    )
    next(images).save(
        path,
        format="GIF",
        save_all=True,
        append_images=images,
        duration=[max(20, round(seconds * 100) * 10) for _, seconds in film],
        loop=0,
        optimize=True,  # what did not change is left out
    )


def _palette(drawings: Sequence[Drawing]) -> Any:
    """A Pillow image with the colours of these pictures, and those of their softened borders."""
    (image_module,) = require("PIL.Image", extra="render")
    flat = sorted(set().union(*(drawing.colours() for drawing in drawings)))
    pictures = [drawing.image(0.5) for drawing in drawings]
    width, height = pictures[0].size
    sheet = image_module.new("RGB", (width, height * len(pictures)))
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (0, number * height))
    mixed = sheet.quantize(max(2, COLOURS - len(flat))).getpalette()
    palette = image_module.new("P", (1, 1))
    palette.putpalette([*b"".join(bytes.fromhex(colour[1:]) for colour in flat), *mixed])
    return palette


def _write_mp4(path: Path, film: Film, scale: float, progress: Progress) -> None:
    (ffmpeg,) = require("imageio_ffmpeg", extra="render")
    first = film[0][0].image(scale)
    size = (first.width // 2 * 2, first.height // 2 * 2)  # the codec wants even numbers
    writer = ffmpeg.write_frames(
        str(path),
        size,
        fps=FRAMES_PER_SECOND,
        codec="libx264",
        pix_fmt_out="yuv420p",
        quality=7,
        macro_block_size=2,
        ffmpeg_log_level="error",
        output_params=["-f", "mp4", "-preset", "veryfast", "-movflags", "+faststart"],
    )
    writer.send(None)
    try:
        for image, (_, seconds) in zip(_painted(film, scale, progress), film, strict=True):
            picture = image.crop((0, 0, *size)).tobytes()
            for _ in range(max(1, round(seconds * FRAMES_PER_SECOND))):
                writer.send(picture)
    finally:
        writer.close()
