"""`python -m agents.play`."""

import json
import subprocess
import sys

import pytest

from agents import play
from agents.cli import UsageError
from thatslife_env import Position, Ruleset, records
from thatslife_env.position import dice


@pytest.fixture
def start(monkeypatch, capsys):
    def run(*arguments, keys=()):
        answers = iter(keys)
        monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
        monkeypatch.setattr(sys, "argv", ["agents.play", *map(str, arguments)])
        play.main()
        return capsys.readouterr().out

    return run


def test_agents_play_a_recorded_game(start, tmp_path):
    record = tmp_path / "games.jsonl"
    for seat in (0, 2):
        options = ["--you", "random", "--seat", seat, "--ruleset", "full", "--seed", 7]
        out = start("--opponents", "greedy", "greedy", *options, "--record", record)
        assert "over; winner" in out
    first, second = records.load(record)
    assert first.meta["names"] == ["random", "greedy", "greedy"]
    assert second.meta["names"] == ["greedy", "greedy", "random"]
    for game in (first, second):
        assert game.opening == Position.deal(Ruleset.preset("full", players=3), 7)
        rolls = [value for kind, value in game.events if kind == "roll"]
        assert rolls == [dice(7, k) for k in range(len(rolls))]
        assert game.winners


def test_a_person_plays_from_a_position(start, tmp_path):
    position = {
        "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", -3, 8, "finish"],
        "pawns": [[2], [1]],
        "guards": [],
        "towers": [[], []],
        "player": 0,
        "phase": "move",
        "die": 4,
    }
    path = tmp_path / "position.json"
    path.write_text(json.dumps(position))
    out = start("--opponents", "greedy", "--position", path, keys=["nonsense", "7", "0"])
    assert "pawn from 2 (8) to 3 (finish), takes 8" in out
    assert "please enter one of 0" in out
    assert "over; winner: seat 0" in out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["greedy"] * 6, "at most 5"),
        (["greedy", "--seat", "2"], "--seat"),
        (["greedy", "--position", "missing.json"], "missing.json"),
    ],
)
def test_wrong_use(start, arguments, word):
    with pytest.raises(UsageError, match=word):
        start("--opponents", *arguments)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ('{"track": ["start", "finish"]}', "rules"),
        ("{", "JSON"),
        (None, "3 players"),
    ],
)
def test_an_impossible_position_is_one_line_and_exit_code_2(tmp_path, content, word):
    path = tmp_path / "position.json"
    other = Position.deal(Ruleset(players=3), 1).to_json()
    path.write_text(content or json.dumps(other))
    command = [sys.executable, "-m", "agents.play", "--opponents", "greedy", "--position", path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert word in done.stderr


def test_the_end_of_the_input_is_told():
    command = [sys.executable, "-m", "agents.play", "--opponents", "greedy", "--seed", "1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "agents.play: the input has ended\n"
