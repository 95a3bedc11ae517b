"""The terminal as a person sees it: drawings, and sessions in a pseudo-terminal of 80x24.

What the screens show is in `tests/terminal`; `python tests/test_terminal.py` writes them anew.
"""

import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import pexpect
import pyte
import pytest
from conftest import random_position

from agents import terminal
from agents.words import LANGUAGES, Words
from thatslife_env import Position, Ruleset
from thatslife_env.records import Game, load, save

ROOT = Path(__file__).parent.parent
SCREENS = Path(__file__).parent / "terminal"
NAMES = ["Ann", "Bob", "Cem", "Dora", "Eve", "A person with quite a long name"]


def take_interrupts():
    """Let Ctrl-C end this process, though those started in the background are born deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Session:
    """A command in a pseudo-terminal, and what its screen shows.

    It runs uncompiled, so that it starts at once.
    """

    def __init__(self, module, *arguments, cwd, width=80, height=24):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "INPUTRC"):
            environment.pop(name, None)
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.Stream(self.screen)
        self._seen = ""
        self._takes_lines = module == "agents.play"
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", module, *map(str, arguments)],
            env=environment,
            cwd=str(cwd),
            dimensions=(height, width),
            encoding="utf-8",
            timeout=120,
            preexec_fn=take_interrupts,
        )

    def wait(self, *texts):
        """Until the last screen that was begun shows all of these, and asks for input."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if all(text in self._seen for text in texts) and self._is_asking():
                return self.lines
            try:
                self._read(0.1)
            except pexpect.TIMEOUT:
                continue
        raise AssertionError(f"waited for {texts}, saw:\n" + "\n".join(self.lines))

    def send(self, keys, *texts):
        """Type, and wait for what that brings onto the screen."""
        self._seen = ""
        self.child.send(keys)
        return self.wait(*texts)

    def end(self, keys):
        """Type, and wait for the end; the exit status."""
        self.child.send(keys)
        try:
            while True:
                self._read(60)
        except pexpect.EOF:
            self.child.close()
        return self.child.exitstatus

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def _read(self, timeout):
        text = self.child.read_nonblocking(4096, timeout)
        self._stream.feed(text)
        self._seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text)

    def _is_asking(self):
        line = self.lines[self.screen.cursor.y]
        if self._takes_lines:
            return line == ">"
        return line.endswith(":") or (line == "" and self._seen.endswith("q quit\n"))


def played(folder):
    """A game with all that a player does; yields a name and the screen."""
    session = Session("agents.play", "--opponents", "greedy", "--seed", "7", cwd=folder)
    yield "opening", session.wait("? help")
    yield "hint", session.send("h greedy\r", "Coach", "? help")
    yield "bad-key", session.send("blah\r", "please enter", "? help")
    yield "second-decision", session.send("0\r", "Player 1, move", "? help")
    yield "help", session.send("?\r", "leave the game", "? help")
    yield "undone", session.send("u\r", "move a piece by 6", "? help")
    session.send("0\r", "Player 1, move", "? help")
    yield "saved", session.send("s mine\r", "saved in", "? help")
    session.send("0\r", "Player 1, move", "? help")
    yield "leaving", session.send("\x03", "Save the game first?")
    status = session.end("\r")
    yield "saved-at-last", [*session.lines[-4:], f"status {status}"]


def replayed(folder):
    """A record stepped through; yields a name and the screen."""
    games = [Game.deal(Ruleset.preset("full", players=3), seed) for seed in (1, 2)]
    for game in games:
        game.meta["names"] = ["Ann", "Bob", "Cem"]
        game.roll(3)
        game.play(0)
        game.roll(5)
    save(folder / "games.jsonl", games)
    session = Session("agents.replay", "games.jsonl", cwd=folder)
    yield "choose", session.wait("game, 1 to 2")
    yield "begin", session.send("2\r", "q quit")
    session.send("n", "q quit")
    session.send("x", "q quit")
    yield "first-move", session.send("\x1b[C", "q quit")
    session.send("l", "q quit")
    yield "last", session.send("n", "q quit")
    session.send("b", "q quit")
    session.send("f", "q quit")
    session.send("g", "step, 0 to 3:")
    yield "jumped", session.send("2\r", "q quit")
    assert session.end("q") == 0


SCRIPTS = {"play": played, "replay": replayed}


@pytest.mark.parametrize("name", SCRIPTS)
def test_recorded_session(name, tmp_path):
    golden = (SCREENS / f"{name}.txt").read_text()
    assert golden.count("\n-- ") > 4
    assert as_text(SCRIPTS[name](tmp_path)) == golden
    if name == "play":
        (mine,) = load(tmp_path / "mine.jsonl")
        assert [kind for kind, _ in mine.events].count("play") == 4  # with the last decision


def as_text(screens):
    shown = []
    for name, lines in screens:
        assert len(lines) <= 24
        shown.append(f"-- {name}\n" + "\n".join(lines).rstrip() + "\n")
    return "\n" + "\n".join(shown)


def test_leaving_without_saving(tmp_path):
    for keys, status in (("\x04", 2), ("q\r", 0)):
        session = Session("agents.play", "--opponents", "random", "--seed", "7", cwd=tmp_path)
        session.wait("? help")
        session.send(keys, "Save the game first?")
        assert session.end("n\r") == status
    assert list(tmp_path.iterdir()) == []


def test_to_the_end_in_a_small_window(tmp_path):
    """Of 40x16; at the end the last decision is taken back and made again."""
    position = {
        "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", *["lucky"] * 6, *range(-8, 0), *range(1, 9), "finish"],
        "pawns": [[22], [23]],
        "guards": [],
        "towers": [[], []],
        "player": 0,
        "phase": "move",
        "die": 4,
    }
    (tmp_path / "position.json").write_text(json.dumps(position))
    options = ["--opponents", "greedy", "--position", "position.json", "--record", "games.jsonl"]
    session = Session("agents.play", *options, cwd=tmp_path, width=40, height=16)
    session.wait("? help")
    session.send("0\r", "Player 1 wins", "Enter quit")
    assert max(map(len, session.lines)) <= 40
    session.send("u\r", "move a piece", "? help")
    session.send("0\r", "Player 1 wins", "Enter quit")
    assert session.end("\r") == 0
    (game,) = load(tmp_path / "games.jsonl")
    assert game.winners == [0]


# Drawings ------------------------------------------------------------------------------


def test_the_colours_are_those_of_the_page():
    page = (ROOT / "web" / "palette.js").read_text()
    assert json.loads(page[page.index("{") : page.rindex(";")]) == terminal.PALETTE


@pytest.mark.parametrize("width", [32, 40, 80, 200])
def test_every_position_fits(width):
    rng = random.Random(width)
    for number in range(60):
        position = Position.from_json(random_position(rng))
        words, names = Words(LANGUAGES[number % 5]), NAMES[-position.players :]
        legal = position.legal_actions()
        lines = [line for _, line in terminal.drawing(position, words, names, width, legal)]
        if legal:
            lines += terminal.moves(position, words, names, width)
        for line in lines:
            assert line.cell_len <= width, line.plain
            assert "\n" not in line.plain
        data = position.to_json()
        track = terminal.track(position, words, width)
        faces = [face for row in track for face in row[0].plain.split()]
        assert len(faces) == len(data["track"])
        pieces = "".join(line.plain for row in track for line in row[1:])
        for seat in range(position.players):
            sign = "●▲■◆✚★"[seat]
            counts = [int(n or 1) for n in re.findall(f"{sign}([0-9]?)", pieces)]
            assert sum(counts) == data["rules"]["pawns"]
        counts = [int(n or 1) for n in re.findall("g([0-9]?)", pieces)]
        assert sum(counts) == len(data["guards"])


def test_pieces_that_may_move_show_their_number():
    position = Position.deal(Ruleset.preset("full", players=2), 7).roll(5).play(0).roll(6)
    track = terminal.track(position, Words(), 80, position.legal_actions())
    assert track[0][1].plain.split() == ["●●0▲▲", "g", "g", "●"]
    assert position.legal_actions() == [0]


def test_a_hint_stays_whole_however_narrow_the_window():
    position = Position.deal(Ruleset.preset("full", players=2), 7).roll(5).play(0).roll(6)
    row = {"action": 0, "win_share": 0.5, "ci95": [0.4, 0.6], "probability": None}
    for width in range(34, 90):
        lines = terminal.moves(position, Words(), ["Ann", "Bob"], width, [row], 0)
        shown = [line.plain.rstrip() for line in lines]
        assert max(map(len, shown)) <= width
        assert shown[-1].endswith(" ✓ wins 50% ±10")
        assert " ".join("".join(shown).split()).count("lands alone on") == 1


def test_a_long_tower_keeps_its_top_and_a_finished_one_is_whole():
    position = {
        "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", "finish"],
        "pawns": [[0], [1]],
        "guards": [],
        "towers": [[-1] * 20 + [8], []],
        "player": 0,
        "phase": "roll",
        "die": 0,
    }
    lines = terminal.seats(Position.from_json(position), Words(), ["Ann", "Bob"], 40)
    assert [line.plain for line in lines] == [
        "▸ ●  Ann  −12  … −1 −1 −1 −1 −1 −1 −1 +8",
        "  ▲  Bob    0  –",
    ]
    position |= {"pawns": [[1], [1]], "phase": "over"}
    lines = terminal.seats(Position.from_json(position), Words(), ["Ann", "Bob"], 40)
    assert sum(line.plain.count("−1 ") + line.plain.endswith("−1") for line in lines) >= 20


def test_what_is_left_out_first():
    lines = [
        (terminal.TITLE, terminal.Text("title")),
        (terminal.KEEP, terminal.Text("track")),
        (terminal.AIR, terminal.Text("")),
        (terminal.PAST, terminal.Text("long ago")),
        (terminal.PAST, terminal.Text("lately")),
        (terminal.KEYS, terminal.Text("keys")),
    ]

    def left(height):
        return [text.plain for _, text in terminal.fitted(lines, height)]

    assert left(9) == ["title", "track", "", "long ago", "lately", "keys"]
    assert left(4) == ["track", "long ago", "lately", "keys"]
    assert left(3) == ["track", "lately", "keys"]
    assert left(1) == left(0) == ["track"]


if __name__ == "__main__":
    for script, play in SCRIPTS.items():
        with tempfile.TemporaryDirectory() as folder:
            (SCREENS / f"{script}.txt").write_text(as_text(play(Path(folder))))
