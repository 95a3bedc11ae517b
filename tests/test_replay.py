"""`python -m agents.replay`, and the mistakes that it finds."""

import json
import subprocess
import sys

import numpy as np
import pytest

import agents
from agents import mistakes, replay
from agents.base import Agent, Evaluation
from agents.cli import UsageError
from agents.mistakes import judge_game, mark_of, summary
from thatslife_env import Position, Ruleset, records
from thatslife_env.board import N_ACTIONS
from thatslife_env.position import dice
from thatslife_env.records import Game

# Giving the -6 to seat 1 wins for seat 0, to seat 2 loses.
GIVE = {
    "rules": {"players": 3, "pawns": 1, "guards": False, "scoring": "standard"},
    "track": ["start", 2, "finish"],
    "pawns": [[1], [2], [2]],
    "guards": [],
    "towers": [[6, -6], [5, 4], [1, 4]],
    "player": 0,
    "phase": "give",
    "die": 1,
}


class Judge(Agent):
    """Holds that action a is worth 1 - step x a, within `half` of it."""

    def __init__(self, step=0.06, half=0.0):
        super().__init__("judge")
        self.step, self.half = step, half

    def choose(self, states, keys):
        raise AssertionError("a judge does not play")

    def evaluate(self, states, keys):
        values = np.full((len(states), N_ACTIONS), np.nan)
        for row, state in enumerate(states):
            for action in Position.from_state(state).legal_actions():
                values[row, action] = 1 - self.step * action
        return Evaluation(values, values * 0 + self.half, np.zeros(len(states), np.int64))


def last_moves(game):
    """Each player plays the highest legal action."""
    n_rolls = 0
    while not game.position.is_over:
        if game.position.phase == "roll":
            game.roll(dice(3, n_rolls))
            n_rolls += 1
        else:
            game.play(game.position.legal_actions()[-1])
    return game


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "games.jsonl"
    first = last_moves(Game.deal(Ruleset(players=2), 3, {"names": ["Ann", "Bob"]}))
    second = Game(Position.from_json(GIVE), [("play", 12)], {"names": ["Ann", "Bob", "Cem"]})
    records.save(path, [first, second])
    return path


@pytest.fixture
def start(monkeypatch, capsys):
    def run(*arguments, language="en"):
        arguments = [*map(str, arguments), "--language", language]
        monkeypatch.setattr(sys, "argv", ["agents.replay", *arguments])
        monkeypatch.setenv("COLUMNS", "100")
        replay.main()
        return capsys.readouterr().out

    return run


# Mistakes ------------------------------------------------------------------------------


def test_marks():
    found = [mark_of(loss) for loss in (0, 0.049, 0.05, 0.099, 0.1, 0.199, 0.2, 1, float("nan"))]
    assert found == ["", "", "?!", "?!", "?", "?", "??", "??", ""]
    assert mark_of(0.3, noise=0.29) == "??"
    assert mark_of(0.3, noise=0.31) == ""


def test_judgements_of_a_whole_game(record):
    game = records.load(record)[0]
    found = list(judge_game(game, Judge()))
    decided = [
        (index, position)
        for index, (event, position) in enumerate(zip(game.events, game.positions(), strict=False))
        if event[0] == "play"
    ]
    assert len(found) == len(decided) > 2 * mistakes.CHUNK
    for judgement, (index, position) in zip(found, decided, strict=True):
        legal = position.legal_actions()
        assert (judgement.event, judgement.player) == (index, position.player)
        assert (judgement.action, judgement.best) == (legal[-1], legal[0])
        assert judgement.loss == pytest.approx(0.06 * (legal[-1] - legal[0]))
        assert judgement.win_share == pytest.approx(1 - 0.06 * legal[-1])
        assert judgement.mark == mark_of(judgement.loss)
    assert {judgement.mark for judgement in found} >= {"", "?!", "?"}
    rows = summary(found, 2)
    for seat, row in enumerate(rows):
        own = [judgement for judgement in found if judgement.player == seat]
        assert row["decisions"] == len(own)
        assert row["mean_loss"] == pytest.approx(np.mean([judgement.loss for judgement in own]))
        assert row["marks"]["?!"] == sum(0.05 <= judgement.loss < 0.1 for judgement in own)


def test_what_chance_may_explain_is_not_marked(record):
    game = records.load(record)[0]
    noisy = list(judge_game(game, Judge(half=0.05)))  # of a difference: 0.0707
    assert {judgement.mark for judgement in noisy if judgement.loss < 0.07} == {""}
    assert {judgement.mark for judgement in noisy if judgement.loss > 0.1} == {"?"}


def test_nothing_decided():
    assert summary([], 2)[1] == {
        "player": 1,
        "decisions": 0,
        "mean_loss": None,
        "marks": {"?!": 0, "?": 0, "??": 0},
    }
    assert list(judge_game(Game.deal(Ruleset(), 1), Judge())) == []


@pytest.mark.parametrize("spec", ["expectimax:depth=2", "mc:rollouts=50"])
def test_a_real_judge_finds_the_blunder(spec):
    game = Game(Position.from_json(GIVE), [("play", 12)])
    (judgement,) = judge_game(game, agents.make(spec))
    assert (judgement.player, judgement.best, judgement.mark) == (0, 11, "??")
    assert judgement.loss == pytest.approx(1)
    game = Game(Position.from_json(GIVE), [("play", 11)])
    (judgement,) = judge_game(game, agents.make(spec))
    assert (judgement.loss, judgement.mark) == (0, "")


def test_a_seed_repeats_what_a_sampling_judge_holds(record):
    game = records.load(record)[1]
    game = Game(game.opening, game.events)
    agent = agents.make("mc:rollouts=3", 1)
    assert list(judge_game(game, agent, 5)) == list(judge_game(game, agent, 5))


# The command ---------------------------------------------------------------------------


def test_everything_is_printed(start, record):
    first, second = records.load(record)
    out = start(record)
    assert "Game 1 of 2" in out
    assert "Game 2 of 2" in out
    assert f"{len(first.events):4d}  " in out
    assert f"   1  Ann rolls {dice(3, 0)}\n   2  Ann: Pawn on start" in out
    assert "1  Ann gives −6 to Cem" in out
    assert "not finished" in out
    assert "??" not in out
    out = start(record, "--game", 2, language="de")
    assert "Spiel 2 von 2" in out
    assert "Ann gibt −6 an Cem" in out
    assert second.position.phase == "roll"


def test_annotated(start, record):
    out = start(record, "--game", 2, "--annotate", "expectimax:depth=2")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "1 Ann gives −6 to Cem ?? loses 100.0%; better: Give −6 to Bob" in lines
    assert "Mistakes as expectimax:depth=2 sees them" in lines
    assert "player decisions mean loss ?! ? ??" in lines
    assert "Ann 1 100.0% 0 0 1" in lines
    assert "Bob 0 – 0 0 0" in lines
    assert "?! loses 5% or more, ? 10%, ?? 20%" in lines


def test_json_for_programs(start, record):
    lines = start(record, "--json").splitlines()
    first, second = map(json.loads, lines)
    game = records.load(record)[0]
    assert (first["game"], second["game"]) == (1, 2)
    assert first["names"] == ["Ann", "Bob"]
    assert (first["scores"], first["winners"]) == (game.scores, game.winners)
    assert [tuple(step["event"]) for step in first["steps"]] == list(game.events)
    assert first["summary"] is first["agent"] is None
    (line,) = start(record, "--json", "--game", 2, "--annotate", "expectimax:depth=2").splitlines()
    found = json.loads(line)
    assert found["steps"] == [
        {
            "event": ["play", 12],
            "player": 0,
            "text": "Ann gives −6 to Cem",
            "best": 11,
            "best_text": "Give −6 to Bob",
            "win_share": 0.0,
            "loss": pytest.approx(1),
            "mark": "??",
        }
    ]
    assert found["agent"] == "expectimax:depth=2"
    assert found["summary"][0]["marks"] == {"?!": 0, "?": 0, "??": 1}


def test_films(start, record, tmp_path):
    import PIL.Image

    gif, mp4 = tmp_path / "game.gif", tmp_path / "game.mp4"
    assert start(record, "--game", 2, "--gif", gif, "--mp4", mp4) == f"{gif}\n{mp4}\n"
    with PIL.Image.open(gif) as film:
        assert film.n_frames == 2  # before and after the only decision
    assert mp4.read_bytes()[4:8] == b"ftyp"
    with pytest.raises(UsageError, match="--gif: choose one of 2 games by --game"):
        start(record, "--gif", gif)
    with pytest.raises(UsageError, match="--mp4: .*game.gif does not end in .mp4"):
        start(record, "--game", 2, "--mp4", gif)


def test_wrong_use(start, record, tmp_path):
    with pytest.raises(UsageError, match="--game.*has 2 games, no game 3"):
        start(record, "--game", 3)
    with pytest.raises(UsageError, match="greedy does not know what actions are worth"):
        start(record, "--annotate", "greedy")
    with pytest.raises(agents.AgentError, match="nobody"):
        start(record, "--annotate", "nobody")
    with pytest.raises(UsageError, match="missing.jsonl"):
        start(tmp_path / "missing.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(UsageError, match="no game in it"):
        start(tmp_path / "empty.jsonl")
    (tmp_path / "bad.jsonl").write_text('{"version": 1}\n')
    with pytest.raises(records.RecordError, match="line 1"):
        start(tmp_path / "bad.jsonl")


def test_exit_code(tmp_path):
    command = [sys.executable, "-m", "agents.replay", "missing.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "agents.replay: missing.jsonl: No such file or directory\n"
