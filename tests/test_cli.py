"""Progress bars of the commands: on a terminal with the time left, elsewhere silent."""

import os
import pty
import re
import sys
import threading

import pytest

from agents.cli import progress_bar


class Terminal:
    """A terminal that stderr is written to."""

    def __init__(self, monkeypatch) -> None:
        self._ours, theirs = pty.openpty()
        self._stderr = os.fdopen(theirs, "w")
        self._read = bytearray()
        self._reader = threading.Thread(target=self._drain)
        self._reader.start()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "stderr", self._stderr)

    def _drain(self) -> None:
        while True:
            try:
                self._read += os.read(self._ours, 4096)
            except OSError:  # the other end was closed
                return

    def text(self) -> str:
        """What was shown, once all is written; without colours."""
        self._stderr.close()
        self._reader.join()
        os.close(self._ours)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._read.decode())


def test_a_bar_shows_how_far_it_is_and_the_time_left(monkeypatch):
    terminal = Terminal(monkeypatch)
    with progress_bar("games", 40) as advance:
        advance(10)
        advance(30)
    shown = terminal.text()
    assert "games" in shown
    assert "40/40" in shown
    assert re.search(r"0:00:0\d 0:00:00", shown)  # since the start, and left


def test_a_total_may_become_known_on_the_way(monkeypatch):
    terminal = Terminal(monkeypatch)
    with progress_bar("positions") as advance:
        advance(10, 30)
        advance(10, 20)
    assert "20/20" in terminal.text()


def test_nothing_is_shown_where_stderr_is_no_terminal(capsys):
    with progress_bar("games", 40) as advance:
        advance(40)
        advance(0, 50)
    assert capsys.readouterr() == ("", "")


def test_without_rich_a_line_says_what_goes_on(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    terminal = Terminal(monkeypatch)
    with progress_bar("games", 40) as advance:
        advance(40)
    shown = terminal.text()
    assert shown.startswith("games, without a progress bar: rich is not installed")
    assert "thatslife[train]" in shown
    assert len(shown.splitlines()) == 1


def test_an_error_ends_the_bar_and_is_not_hidden(monkeypatch):
    terminal = Terminal(monkeypatch)
    with pytest.raises(ValueError, match="broken"), progress_bar("games", 40):
        raise ValueError("broken")
    assert "0/40" in terminal.text()
