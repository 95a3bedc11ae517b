"""`python -m agents.play`."""

import json
import os
import subprocess
import sys

import pytest

from agents import play
from agents.base import AgentError
from agents.cli import UsageError
from thatslife_env import Position, Ruleset, records
from thatslife_env.position import dice


@pytest.fixture
def start(monkeypatch, capsys, tmp_path):
    """Play with these keys, away from a terminal; gives all that is printed."""

    def run(*arguments, keys=(), language="en"):
        answers = iter(keys)

        def answer(prompt):
            key = next(answers)
            return key.decode() if isinstance(key, bytes) else key

        monkeypatch.setattr("builtins.input", answer)
        monkeypatch.setattr(
            sys, "argv", ["agents.play", *map(str, arguments), "--language", language]
        )
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.chdir(tmp_path)
        play.main()
        return capsys.readouterr().out

    return run


def test_agents_play_a_recorded_game(start, tmp_path):
    record = tmp_path / "games.jsonl"
    for seat in (0, 2):
        options = ["--you", "random", "--seat", seat, "--ruleset", "full", "--seed", 7]
        out = start("--opponents", "greedy", "greedy", *options, "--record", record)
        assert "wins\n" in out
    first, second = records.load(record)
    assert first.meta["names"] == ["random", "greedy", "greedy"]
    assert second.meta["names"] == ["greedy", "greedy", "random"]
    for game in (first, second):
        assert game.opening == Position.deal(Ruleset.preset("full", players=3), 7)
        rolls = [value for kind, value in game.events if kind == "roll"]
        assert rolls == [dice(7, k) for k in range(len(rolls))]
        assert game.winners


LAST_MOVE = {
    "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
    "track": ["start", -3, 8, "finish"],
    "pawns": [[2], [1]],
    "guards": [],
    "towers": [[], []],
    "player": 0,
    "phase": "move",
    "die": 4,
}


@pytest.fixture
def last_move(tmp_path):
    path = tmp_path / "position.json"
    path.write_text(json.dumps(LAST_MOVE))
    return path


def test_a_person_plays_from_a_position(start, last_move):
    keys = ["nonsense", "7", "\u0663", "9" * 5000, "", "-0", "0"]
    out = start("--opponents", "greedy", "--position", last_move, keys=keys)
    assert "0  Pawn on +8 · takes +8 · goes home" in out
    assert out.count("please enter one of 0") == 6
    assert "Player 1 wins\n" in out


def test_in_every_language(start, last_move):
    ends = {"de": "gewinnt", "fr": "gagne", "it": "Vince", "pl": "Wygrywa"}
    for language, end in ends.items():
        keys = ["?", "h", "s", "l", "u", "nonsense", "0"]
        out = start("--opponents", "greedy", "--position", last_move, keys=keys, language=language)
        assert end in out
        assert "please" not in out


def test_hints_of_any_agent(start, last_move):
    """Win shares where they are known, else how likely an action is; errors are told."""
    keys = ["h", "h greedy", "h nobody", "h human", "h mc:rollouts=0", "0"]
    options = ["--opponents", "greedy", "--position", last_move, "--hint", "mc:rollouts=40"]
    out = start(*options, keys=keys)
    assert "Coach: mc:rollouts=40" in out
    assert "goes home   ✓ wins 100% ±" in out  # always: the other can only lose points
    assert "Coach: greedy" in out
    assert "goes home   ✓ plays it 100%" in out
    assert "unknown agent 'nobody'" in out
    assert "human knows neither the value of actions nor how likely they are" in out
    assert "rollouts" in out.split("human knows neither")[1]


def test_undo_goes_back_to_the_persons_last_decision(start, tmp_path):
    """Past the others' moves; the dice stay the same, and what the others do."""
    keys = ["u", "0", "0", "0", "s a", "u", "u", "0", "0", "s b"]
    keys += ["u", "u", "u", "u", "s none", "0", "0", "0", "s c", "u", "s d", "q"]
    out = start("--opponents", "random", "random", "--seed", 5, keys=keys)
    assert out.count("there is no decision to take back") == 2
    games = {name: records.load(tmp_path / f"{name}.jsonl")[0] for name in ("a", "b", "c", "d")}
    assert games["a"] == games["b"] == games["c"]
    rolls = [value for kind, value in games["a"].events if kind == "roll"]
    assert rolls == [dice(5, k) for k in range(10)]
    assert games["a"].position.player == 0
    (none,) = records.load(tmp_path / "none.jsonl")
    assert none.events == (("roll", dice(5, 0)),)
    assert games["d"].events == games["a"].events[:-6]  # three rolls and moves


def test_saved_and_loaded_games_go_on_as_they_would_have(start, tmp_path):
    record = tmp_path / "games.jsonl"
    options = ["--opponents", "random", "human", "--seed", 9, "--record", record]
    moves = ["0", "1", "2"] * 80
    out = start(*options, keys=["0", "0", "s half", "s at.json", "q"])
    assert "saved in half.jsonl" in out
    assert not record.exists()  # it was not played to its end
    start(*options, keys=["0", "0", *moves])
    start("--load", "half.jsonl", "--record", record, keys=moves)
    start(*options, keys=["0", "l half", *moves])
    whole, loaded, put = records.load(record)
    assert whole == loaded == put
    assert whole.meta["names"] == ["human", "random", "human"]
    (half,) = records.load(tmp_path / "half.jsonl")
    assert whole.events[: len(half.events)] == half.events
    position = Position.from_json((tmp_path / "at.json").read_bytes())
    assert position == half.position
    out = start("--opponents", "random", "human", "--load", "at.json", keys=["q"])
    assert "Player 3" in out


def test_saving_spoils_no_other_file(start, tmp_path, last_move):
    (tmp_path / "other.jsonl").write_text("precious\n")
    with pytest.raises(StopIteration):
        start(*["--opponents", "greedy", "--position", last_move], keys=["s one", "s one"])
    games = [records.Game.deal(Ruleset(players=2), seed) for seed in (1, 2)]
    records.save(tmp_path / "two.jsonl", games)
    keys = ["s other", "s nowhere/x", "s", "s", "l", "l other", "l missing", "l two 3"]
    keys += ["l two 2", "s two", "l one", "s one", "q"]
    out = start("--opponents", "greedy", "--seed", 4, keys=keys)
    assert (tmp_path / "other.jsonl").read_text() == "precious\n"
    assert records.load(tmp_path / "two.jsonl") == games
    assert "other.jsonl exists; please choose another name" in out
    assert "nowhere/x.jsonl: No such file or directory" in out
    assert out.count("saved in thatslife-4.jsonl") == 2
    assert "please name a file" in out
    assert "other.jsonl: line 1: not JSON" in out
    assert "missing.jsonl: No such file or directory" in out
    assert "two.jsonl: has 2 games, no game 3" in out
    assert "loaded from two.jsonl" in out
    assert "two.jsonl exists; please choose another name" in out
    assert "saved in one.jsonl" in out


def test_nothing_that_is_entered_ends_the_game(start, last_move):
    keys = [
        b"\xff",
        "l ~nobody/x",
        "s " + "x" * 5000,
        "s a\0b/c",
        "l a\0b",
        "s \udcff/x",
        "l .",
        "s .",
    ]
    keys += ["l " + "9" * 50, "l 1 2 3", "h " + "[" * 500, "h \0", "\x1b[A", "h mcts:policy=[[]"]
    out = start("--opponents", "greedy", "--position", last_move, keys=[*keys, "0"])
    assert "leave the game" in out  # the help
    assert "File name too long" in out
    assert "Player 1 wins" in out


def test_games_for_others_are_not_loaded(start, tmp_path):
    game = records.Game.deal(Ruleset(players=3), 1, {"names": ["Ann", "Bob", "Cem"]})
    records.save(tmp_path / "three.jsonl", [game])
    out = start("--opponents", "greedy", keys=["l three", "q"])
    assert "three.jsonl is for 3 players, 2 sit here" in out
    with pytest.raises(UsageError, match="3 players"):
        start("--opponents", "greedy", "--load", "three.jsonl")
    with pytest.raises(UsageError, match="give --opponents.*'Ann'"):
        start("--load", "three.jsonl")
    with pytest.raises(UsageError, match="no game 2"):
        start("--load", "three.jsonl", "--game", 2)
    del game.meta["names"]
    records.save(tmp_path / "three.jsonl", [game])
    with pytest.raises(UsageError, match="does not say who plays"):
        start("--load", "three.jsonl")
    with pytest.raises(AgentError, match="nobody"):
        start("--opponents", "nobody")


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


def test_an_output_that_knows_only_ascii(tmp_path):
    command = [sys.executable, "-m", "agents.play", "--you", "greedy", "--opponents", "greedy"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Greedy 1: Pawn on start ? lands alone on" in done.stdout
