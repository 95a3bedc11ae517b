"""A game drawn at the terminal, for playing and replaying, as lines of rich text.

Every line is no wider than it was asked to be. Needs the extra `render`.
"""

import io
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from agents.words import Words, digits
from thatslife_env import Position
from thatslife_env.board import FIRST_GUARD
from thatslife_env.records import Game
from thatslife_env.render import PALETTE, tile_colours

MARKS: Final = {
    "disc": "●",
    "triangle": "▲",
    "square": "■",
    "diamond": "◆",
    "cross": "✚",
    "star": "★",
}
GUARD: Final = "g"
SIGNS: Final = {"lucky": "♣", "gift": "→", "steal": "←"}
CELL: Final = 5  # columns of a tile; one more parts it from the next
DIE: Final = Style(color="#1b1b1b", bgcolor="#ffffff", bold=True)
DIM: Final = Style(dim=True)
BOLD: Final = Style(bold=True)

# Lines that are left out first where the window is small: the lowest number. KEEP stays.
KEEP, AIR, LEGEND, TITLE, PAST, KEYS = range(6)
Lines = list[tuple[int, Text]]


def console() -> Console:
    """Standard output, with colours as far as it has them; nothing in a text is markup.

    Signs that its encoding lacks become question marks.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


def mark(seat: int) -> Text:
    """The sign of a seat, in its colours."""
    return _styled(f" {_seat_sign(seat)} ", _style(PALETTE["seats"][seat]))


def die(number: int) -> Text:
    """A die that shows a number."""
    return _styled(f" {number} ", DIE)


def title(words: Words, *parts: str) -> Text:
    """The head line."""
    return _styled(words("title"), BOLD).append("".join(f" · {part}" for part in parts), DIM)


def track(
    position: Position, words: Words, width: int, actions: Iterable[int] = ()
) -> list[list[Text]]:
    """The track in rows of lines: a line of tiles, then those with the pieces on them.

    Args:
        position: what to draw.
        words: for the ends of the track.
        width: columns at most.
        actions: those whose pieces show their number in place of the sign of the seat.
    """
    data = position.to_json()
    faces = data["track"]
    groups = _groups(data, set(actions))
    per_row = max((width + 1) // (CELL + 1), 1)
    rows = []
    for begin in range(0, len(faces), per_row):
        slots = range(begin, min(begin + per_row, len(faces)))
        cells = [_stacked(groups[slot]) for slot in slots]
        lines = [_joined([_tile(faces[slot], words) for slot in slots])]
        for level in range(max(map(len, cells))):
            lines.append(
                _joined([cell[level] if level < len(cell) else Text(" " * CELL) for cell in cells])
            )
        rows.append(lines)
    return rows


def legend(position: Position, words: Words, width: int) -> list[Text]:
    """What the signs on the track mean; nothing where there are none."""
    data = position.to_json()
    faces = {*data["track"], *(face for tower in data["towers"] for face in tower)}
    parts = [f"{sign} {words.tile(face)}" for face, sign in SIGNS.items() if face in faces]
    parts += [f"{GUARD} " + words("desk.guard")] if data["guards"] else []
    return wrapped(Text("  ".join(parts), DIM), width) if parts else []


def seats(position: Position, words: Words, names: Sequence[str], width: int) -> list[Text]:
    """A line for each seat: its sign, name, points and tower from bottom to top.

    A tower too long for the line loses its bottom; when the game is over it takes more lines.
    """
    data = position.to_json()
    longest = min(max(map(cell_len, names)), max(width // 3, 4))
    lines = []
    for seat, (tower, points) in enumerate(zip(data["towers"], position.scores(), strict=True)):
        turn = seat in position.winners() if position.is_over else seat == position.player
        line = Text("▸" if turn else " ").append_text(mark(seat)).append(" ")
        name = Text(names[seat], BOLD if turn else "")
        name.truncate(longest, overflow="ellipsis", pad=True)
        line.append_text(name).append(f"{str(points).replace('-', '−'):>5}  ")
        room = max(width - line.cell_len, 6)
        chips = [_chip(face) for face in tower] or [Text("–", DIM)]
        rows = _flowed(chips, room)
        if not position.is_over and len(rows) > 1:
            while sum(chip.cell_len + 1 for chip in chips) + 1 > room:
                chips = chips[1:]
            rows = [Text("… ").append_text(Text(" ").join(chips))]
        lines.append(line.append_text(rows[0]))
        indent = width - room
        lines += [Text(" " * indent).append_text(row) for row in rows[1:]]
    return lines


def turns(
    game: Game, words: Words, names: Sequence[str], first: int, width: int, last: int | None = None
) -> list[Text]:
    """The events of a game from the `first`-th on (up to `last`), one paragraph for each roll."""
    paragraphs: list[Text] = []
    moments = zip(game.events[:last], game.positions(), strict=False)
    for index, (event, position) in enumerate(moments):
        if index < first:
            continue
        if event[0] == "roll" or not paragraphs:
            said = words.happened(position, event, names)
            paragraphs.append(mark(position.player).append(f" {said}"))
        else:
            paragraphs[-1].append(f" · {words.sentence(position, event[1], names)}")
    return [line for text in paragraphs for line in wrapped(coloured(text), width, indent=4)]


def status(position: Position, words: Words, names: Sequence[str]) -> Text:
    """The die, and who has to decide what; or who has won."""
    line = mark(position.winners()[0] if position.is_over else position.player).append(" ")
    if position.die:
        line.append_text(die(position.die)).append(" ")
    return line.append(words.status(position, names), BOLD)


def moves(
    position: Position,
    words: Words,
    names: Sequence[str],
    width: int,
    rows: Sequence[Mapping[str, Any]] = (),
    best: int | None = None,
) -> list[Text]:
    """The legal actions in words, with their numbers.

    Args:
        position: something is to be decided in it.
        words: the language.
        names: of the seats.
        width: columns at most.
        rows: what an agent holds of each, see `agents.analyze.judge`.
        best: what that agent would play.
    """
    lines = []
    judged = {row["action"]: row for row in rows}
    for action in position.legal_actions():
        line = _styled(f"{action:3d}  ", BOLD)
        what, *effects = words.sentence(position, action, names).split(" · ")
        sentence = Text(what).append("".join(f" · {effect}" for effect in effects))
        line.append_text(coloured(sentence))
        shown = wrapped(line, width, indent=5)
        if action in judged:
            is_best = action == best
            opinion = Text("  ").append(
                _opinion(judged[action], words, is_best), Style(bold=is_best, reverse=is_best)
            )
            if shown[-1].cell_len + opinion.cell_len > width:  # it stays whole
                shown.append(Text("   "))
            shown[-1].append_text(opinion)
        lines += shown
    return lines


def _opinion(row: Mapping[str, Any], words: Words, is_best: bool) -> str:
    """What an agent holds of an action."""
    if row["win_share"] is not None:
        shown = words("coach.wins", share=words.percent(row["win_share"]))
        if row["ci95"] is not None:
            shown += f" ±{max(round((row['ci95'][1] - row['ci95'][0]) * 50), 1)}"
    elif row["probability"] is not None:
        shown = words("coach.likely", share=words.percent(row["probability"]))
    else:
        shown = "?"
    return f" {'✓ ' if is_best else ''}{shown} "


def keys(text: str, width: int) -> Lines:
    """What keys do, parted by ` · `, in lines that leave each part whole."""
    *parts, last = text.split(" · ")
    chips = [_styled(f"{part} ·", DIM) for part in parts] + [_styled(last, DIM)]
    return [(KEYS, line) for line in _flowed(chips, width)]


def fitted(lines: Lines, height: int) -> Lines:
    """As many of these lines as the height has room for, those to be kept first of all."""
    left = list(lines)
    for priority in range(AIR, KEYS + 1):
        for line in [line for line in left if line[0] == priority]:
            if len(left) <= height:
                break
            left.remove(line)
    return left


def wrapped(text: Text, width: int, indent: int = 0) -> list[Text]:
    """A text in lines, the later ones indented."""
    if text.cell_len <= width:
        return [text]
    plain = Console()
    first, *_ = text.wrap(plain, width)
    first.rstrip()
    lines = [first]
    rest = text[len(first) :]
    begin = len(rest.plain) - len(rest.plain.lstrip())
    for line in rest[begin:].wrap(plain, max(width - indent, 10)):
        line.rstrip()
        lines.append(Text(" " * indent).append_text(line))
    return lines


def coloured(text: Text) -> Text:
    """The text with its numbers of tiles in the colours of tiles; the text itself is changed."""
    for found in re.finditer(r"(?<!\S)[−+]\d+(?!\S)", text.plain):
        value = int(found.group().replace("−", "-"))
        text.stylize(_tile_style(value), *found.span())
    return text


def _tile_style(face: int | str) -> Style:
    fill, ink = tile_colours(face)
    return Style(color=ink, bgcolor=fill)


def _styled(text: str, style: Style) -> Text:
    """A text in a style that what is appended does not take on."""
    return Text().append(text, style)


def _style(colours: Mapping[str, str]) -> Style:
    return Style(color=colours["ink"], bgcolor=colours["fill"])


def _seat_sign(seat: int) -> str:
    return MARKS[PALETTE["seats"][seat]["mark"]]


def _sign(face: int | str) -> str:
    return digits(face) if isinstance(face, int) else SIGNS[face]


def _chip(face: int | str) -> Text:
    """A tile of a tower."""
    return _styled(_sign(face), _tile_style(face))


def _tile(face: int | str, words: Words) -> Text:
    """A tile of the track."""
    shown = words(f"short.{face}") if face in ("start", "finish") else _sign(face)
    return Text(f"{shown:^{CELL}}", _tile_style(face) + BOLD)


def _groups(data: Mapping[str, Any], actions: set[int]) -> list[list[list[Text]]]:
    """For each slot the groups of pieces on it, for each group its pieces."""
    groups: list[list[list[Text]]] = [[] for _ in data["track"]]
    is_move = data["phase"] == "move"
    owners = [(data["guards"], GUARD, PALETTE["guard"], FIRST_GUARD if is_move else None)]
    for seat, slots in enumerate(data["pawns"]):
        first = 0 if is_move and seat == data["player"] else None
        owners.append((slots, _seat_sign(seat), PALETTE["seats"][seat], first))
    for slots, sign, colours, first_action in owners:
        style = _style(colours)
        for slot in sorted(set(slots)):
            pieces = []
            for k, place in enumerate(slots):
                if place == slot:
                    action = None if first_action is None else first_action + k
                    is_offered = action in actions
                    shown = str(action) if is_offered else sign
                    pieces.append(Text(shown, style + Style(bold=is_offered, underline=is_offered)))
            groups[slot].append(pieces)
    return groups


def _stacked(groups: list[list[Text]]) -> list[Text]:
    """The pieces on a tile in lines of CELL columns; many of one kind as sign and number."""
    is_crowded = sum(piece.cell_len for pieces in groups for piece in pieces) > CELL
    chips = []
    for pieces in groups:
        chip = Text()
        signs = list(pieces)
        if is_crowded and len(signs) > 1:
            offered = [piece for piece in signs if piece.plain.isdecimal()]
            others = [piece for piece in signs if not piece.plain.isdecimal()]
            signs = [*offered, *others[:1]]
            if len(others) > 1:
                signs.append(Text(str(len(others)), others[0].style))
        for sign in signs:
            chip.append_text(sign)
        chips.append(chip)
    lines: list[Text] = []
    for chip in chips:
        if lines and lines[-1].cell_len + chip.cell_len <= CELL:
            lines[-1].append_text(chip)
        else:
            lines.append(chip)
    for line in lines:
        space = CELL - line.cell_len
        line.pad_left(space // 2)
        line.pad_right(space - space // 2)
    return lines


def _joined(cells: Sequence[Text]) -> Text:
    line = Text(" ").join(cells)
    line.rstrip()
    return line


def _flowed(chips: Sequence[Text], width: int) -> list[Text]:
    """Chips in lines, a space between them."""
    rows: list[Text] = []
    for chip in chips:
        if rows and rows[-1].cell_len + 1 + chip.cell_len <= width:
            rows[-1].append(" ").append_text(chip)
        else:
            rows.append(chip.copy())
    return rows


def drawing(
    position: Position,
    words: Words,
    names: Sequence[str],
    width: int,
    actions: Sequence[int] = (),
) -> Lines:
    """Track and seats, with how soon each line may be left out."""
    lines: Lines = []
    for row in track(position, words, width, actions):
        lines += [(KEEP, line) for line in row]
        lines.append((AIR, Text()))
    lines += [(LEGEND, line) for line in legend(position, words, width)]
    lines.append((AIR, Text()))
    lines += [(KEEP, line) for line in seats(position, words, names, width)]
    return [*lines, (AIR, Text())]
