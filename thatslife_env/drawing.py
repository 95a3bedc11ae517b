"""Flat drawings: a list of shapes, written as SVG or painted as pixels.

A `Drawing` knows nothing of the game. Both forms show the same shapes. SVG needs no library; pixels
need Pillow (the extra `render`), whose own font makes text the same on every machine.
"""

import functools
import importlib
import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]

OVERSAMPLING: Final = 3  # pixels are painted so many times too large, then averaged
BOLD: Final = 1 / 30  # thickness that bold adds around the letters, over their size
_FONT_FAMILY = "Aileron, Inter, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle from its top left corner, with rounded corners on request.

    `fill` and `edge` are colours (#rrggbb) or None; `thick` is the width of the edge.
    """

    x: float
    y: float
    width: float
    height: float
    fill: str | None
    radius: float = 0
    edge: str | None = None
    thick: float = 1


@dataclass(frozen=True, slots=True)
class Oval:
    """An ellipse about its centre."""

    x: float
    y: float
    across: float  # half its width
    down: float  # half its height
    fill: str | None
    edge: str | None = None
    thick: float = 1


@dataclass(frozen=True, slots=True)
class Area:
    """A polygon."""

    points: tuple[Point, ...]
    fill: str | None
    edge: str | None = None
    thick: float = 1


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, with round ends and corners."""

    points: tuple[Point, ...]
    colour: str
    thick: float


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text, on its baseline; `x` is where it starts, has its middle, or ends."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Anchor = "start"
    bold: bool = False


Shape = Box | Oval | Area | Line | Text


@dataclass(frozen=True)
class Drawing:
    """A picture of `width` x `height`; later shapes cover earlier ones.

    In a notebook it shows itself.
    """

    width: int
    height: int
    shapes: tuple[Shape, ...]
    title: str = ""

    def svg(self) -> str:
        """The picture as an SVG document."""
        size = f'width="{self.width}" height="{self.height}"'
        box = f'viewBox="0 0 {self.width} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img">'
        title = f"<title>{escape(self.title)}</title>"
        return "\n".join([head, title, *map(_svg, self.shapes), "</svg>"]) + "\n"

    def _repr_svg_(self) -> str:
        return self.svg()

    def image(self, scale: float = 1.0) -> Any:
        """The picture as a Pillow image, RGB.

        Args:
            scale: pixels per unit.

        Raises:
            ImportError: Pillow is not installed.
        """
        image_module, draw_module = require("PIL.Image", "PIL.ImageDraw")
        size = (round(self.width * scale), round(self.height * scale))
        large = (size[0] * OVERSAMPLING, size[1] * OVERSAMPLING)
        image = image_module.new("RGB", large, "#ffffff")
        brush = draw_module.Draw(image)
        for shape in self.shapes:
            _paint(brush, shape, large[0] / self.width)
        return image.reduce(OVERSAMPLING)

    def colours(self) -> set[str]:
        """The colours it is drawn with, #rrggbb."""
        found = set()
        for shape in self.shapes:
            match shape:
                case Line(_, colour, _):
                    found.add(colour)
                case Box() | Oval() | Area():
                    found |= {colour for colour in (shape.fill, shape.edge) if colour}
                case Text():
                    found.add(shape.fill)
        return found

    def pixels(self, scale: float = 1.0) -> npt.NDArray[np.uint8]:
        """The picture as uint8[H, W, 3], the caller's own.

        Args:
            scale: pixels per unit.

        Raises:
            ImportError: Pillow is not installed.
        """
        return np.array(self.image(scale), np.uint8)


def require(*modules: str) -> list[Any]:
    """Import modules of the extra `render`.

    Raises:
        ImportError: one is not installed; the message says how to get it.
    """
    found = []
    for module in modules:
        try:
            found.append(importlib.import_module(module))
        except ModuleNotFoundError as error:
            package = module.partition(".")[0]
            if error.name != package:
                raise  # it is there, but broken
            name = {"PIL": "Pillow"}.get(package, package)
            raise ImportError(
                f"{name} is not installed; get it with: pip install 'thatslife[render]'"
            ) from None
    return found


# Outlines ----------------------------------------------------------------------------------

_CURVE_STEPS = 8
_PATH_PART = re.compile(r"([MLHVCQZ])([^A-Z]*)")
_PATH_NUMBER = re.compile(r"-?[\d.]+")


@functools.cache
def outline(path: str) -> tuple[Point, ...]:
    """The points of an SVG path of one stroke, its curves as short lines.

    Args:
        path: of the absolute commands M, L, H, V, C, Q and Z.
    """
    points: list[Point] = []
    for command, rest in _PATH_PART.findall(path):
        numbers = [float(number) for number in _PATH_NUMBER.findall(rest)]
        if command == "H":
            points += [(x, points[-1][1]) for x in numbers]
        elif command == "V":
            points += [(points[-1][0], y) for y in numbers]
        else:
            given = list(zip(numbers[::2], numbers[1::2], strict=True))
            if command in "ML":
                points += given
            degree = {"Q": 2, "C": 3}.get(command, 1)
            if degree > 1:
                for begin in range(0, len(given), degree):
                    controls = [points[-1], *given[begin : begin + degree]]
                    points += [
                        _on_curve(controls, step / _CURVE_STEPS)
                        for step in range(1, _CURVE_STEPS + 1)
                    ]
    return tuple(points)


def _on_curve(controls: Sequence[Point], share: float) -> Point:
    """The point of a Bezier curve at `share` of its way, by de Casteljau."""
    points = list(controls)
    while len(points) > 1:
        points = [
            (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
            for a, b in itertools.pairwise(points)
        ]
    return points[0]


def moved(
    points: Iterable[Point], x: float, y: float, scale: float = 1, turn: float = 0
) -> tuple[Point, ...]:
    """Points turned clockwise by degrees about the origin, scaled, then moved by (x, y)."""
    sine, cosine = math.sin(math.radians(turn)), math.cos(math.radians(turn))
    return tuple(
        (x + scale * (cosine * px - sine * py), y + scale * (sine * px + cosine * py))
        for px, py in points
    )


# SVG ---------------------------------------------------------------------------------------


def _svg(shape: Shape) -> str:
    """One shape as an SVG element."""
    match shape:
        case Box(x, y, width, height, fill, radius, edge, thick):
            place = _numbers(x=x, y=y, width=width, height=height)
            place += _numbers(rx=radius) if radius else ""
            return f"<rect{place}{_ink(fill, edge, thick)}/>"
        case Oval(x, y, across, down, fill, edge, thick):
            return f"<ellipse{_numbers(cx=x, cy=y, rx=across, ry=down)}{_ink(fill, edge, thick)}/>"
        case Area(points, fill, edge, thick):
            join = ' stroke-linejoin="round"' if edge else ""
            return f'<polygon points="{_list(points)}"{_ink(fill, edge, thick)}{join}/>'
        case Line(points, colour, thick):
            ends = ' stroke-linecap="round" stroke-linejoin="round"'
            return f'<polyline points="{_list(points)}"{_ink(None, colour, thick)}{ends}/>'
        case Text(x, y, text, size, fill, anchor, bold):
            weight = ' font-weight="700"' if bold else ""
            font = f' font-family="{_FONT_FAMILY}"{weight}'
            place = f'{_numbers(x=x, y=y)} font-size="{_short(size)}" text-anchor="{anchor}"'
            return f'<text{place}{font} fill="{fill}">{escape(text)}</text>'


def _ink(fill: str | None, edge: str | None, thick: float) -> str:
    stroke = f' stroke="{edge}" stroke-width="{_short(thick)}"' if edge else ""
    return f' fill="{fill or "none"}"{stroke}'


def _numbers(**values: float) -> str:
    return "".join(f' {name}="{_short(value)}"' for name, value in values.items())


def _list(points: Iterable[Point]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in points)


def _short(value: float) -> str:
    """A number with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


# Pixels ------------------------------------------------------------------------------------


def _paint(brush: Any, shape: Shape, scale: float) -> None:
    """Paint one shape with a brush of Pillow, `scale` pixels a unit."""

    def at(points: Iterable[Point]) -> list[Point]:
        return [(x * scale, y * scale) for x, y in points]

    match shape:
        case Box(x, y, width, height, fill, radius, edge, thick):
            out = thick / 2 if edge else 0.0  # Pillow's edges lie inside, SVG's on the border
            corners = at([(x - out, y - out), (x + width + out, y + height + out)])
            (left, top), (right, bottom) = corners
            corners[1] = (max(left, right - 1), max(top, bottom - 1))  # its last pixel
            line = max(1, round(thick * scale)) if edge else 0
            bend = (radius + out) * scale if radius else 0
            brush.rounded_rectangle(corners, bend, fill, edge, line)
        case Oval(x, y, across, down, fill, edge, thick):
            out = thick / 2 if edge else 0.0
            corners = at([(x - across - out, y - down - out), (x + across + out, y + down + out)])
            brush.ellipse(corners, fill, edge, max(1, round(thick * scale)) if edge else 0)
        case Area(points, fill, edge, thick):
            if fill:
                brush.polygon(at(points), fill)
            if edge:
                _paint(brush, Line((*points, points[0]), edge, thick), scale)
        case Line(points, colour, thick):
            brush.line(at(points), colour, max(1, round(thick * scale)), joint="curve")
            for x, y in (points[0], points[-1]):
                _paint(brush, Oval(x, y, thick / 2, thick / 2, colour), scale)
        case Text(x, y, text, size, fill, anchor, bold):
            font = _font(round(size * scale))
            side = {"start": "ls", "middle": "ms", "end": "rs"}[anchor]
            stroke = size * scale * BOLD if bold else 0
            brush.text((x * scale, y * scale), plain(text), fill, font, side, stroke_width=stroke)


@functools.lru_cache(maxsize=64)
def _font(size: int) -> Any:
    """Pillow's own font, at so many pixels."""
    return require("PIL.ImageFont")[0].load_default(size)


def plain(text: str) -> str:
    """`text` in the letters that Pillow's font has: ASCII; accents fall off, others become `?`."""
    flat = "".join(
        mark
        for mark in unicodedata.normalize("NFKD", text.replace("\u2212", "-"))
        if not unicodedata.combining(mark)
    )
    return "".join(mark if " " <= mark <= "~" else "?" for mark in flat)
