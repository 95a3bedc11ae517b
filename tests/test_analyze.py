"""`python -m agents.analyze`."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

import agents
from agents import analyze
from agents.cli import UsageError
from thatslife_env import Position, PositionError

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

# Seat 0 can give the -6 to either of the others, who rank the same; or move its pawn.
MOVE = {
    "rules": {"players": 2, "pawns": 2, "guards": True, "scoring": "standard"},
    "track": ["start", -8, 4, 1, "finish"],
    "pawns": [[2, 3], [1, 4]],
    "guards": [1],
    "towers": [[], []],
    "player": 0,
    "phase": "move",
    "die": 2,
}
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


@pytest.fixture
def start(monkeypatch, capsys, tmp_path):
    def run(position, *arguments):
        path = tmp_path / "position.json"
        path.write_text(json.dumps(position))
        monkeypatch.setattr(sys, "argv", ["agents.analyze", str(path), *map(str, arguments)])
        analyze.main()
        return capsys.readouterr().out

    return run


def test_every_legal_action_stands_there_in_words(start):
    position = Position.from_json(MOVE)
    for spec in ("expectimax:depth=2", "mcts:simulations=200", "mc:rollouts=50", "greedy"):
        out = start(MOVE, "--agent", spec)
        for action in position.legal_actions():
            assert f"{action:2d}  {position.describe(action)}" in out
        assert out.count("plays this") == 1
        assert spec in out
        for die in range(1, 7):
            assert f"  {die}: seat 1: " in out


def test_text_by_hand(start):
    out = start(GIVE, "--agent", "expectimax:depth=2")
    assert out == (
        f"{Position.from_json(GIVE)}\n\n"
        "expectimax:depth=2: win share of seat 0\n"
        "  11  give -6 to seat 1  1.000  plays this\n"
        "  12  give -6 to seat 2  0.000\n"
        "\n"
        "Line:\n"
        "  seat 0: give -6 to seat 1\n"
        + "".join(
            f"  {die}: seat 0: pawn from 1 (2) to 2 (finish), takes 2\n" for die in range(1, 7)
        )
    )


def test_json_for_programs(start):
    for spec, kind in [
        ("expectimax:depth=2", "exact"),
        ("mcts:simulations=300", "sampled"),
        ("mc:rollouts=60", "sampled"),
        ("greedy", "likely"),
        ("random", "likely"),
    ]:
        found = json.loads(start(MOVE, "--agent", spec, "--json"))
        position = Position.from_json(found["position"])
        assert position == Position.from_json(MOVE)
        assert found["agent"] == spec
        assert found["player"] == 0
        assert [row["action"] for row in found["actions"]] == position.legal_actions()
        assert found["plays"] in position.legal_actions()
        for row in found["actions"]:
            assert row["text"] == position.describe(row["action"])
            assert (row["win_share"] is None) == (kind == "likely")
            assert (row["probability"] is None) == (kind != "likely")
            assert (row["ci95"] is None) == (kind != "sampled")
            if row["ci95"]:
                low, high = row["ci95"]
                assert 0 <= low <= row["win_share"] <= high <= 1
                assert low < high
        if kind == "likely":
            assert sum(row["probability"] for row in found["actions"]) == pytest.approx(1)
        after = position
        for move in found["line"]:
            assert move["player"] == after.player
            assert move["text"] == after.describe(move["action"])
            after = after.play(move["action"])
        assert found["line"][0]["action"] == found["plays"]
        assert [reply["die"] for reply in found["replies"]] == [1, 2, 3, 4, 5, 6]
        for reply in found["replies"]:
            rolled = after.roll(reply["die"])
            assert reply["line"][0]["action"] in rolled.legal_actions()


def test_it_plays_what_the_agent_would_play(start):
    for seed in range(5):
        for spec in ("mcts:simulations=30", "mc:rollouts=3"):
            found = json.loads(start(MOVE, "--agent", spec, "--seed", seed, "--json"))
            assert found["plays"] == agents.make(spec, seed).act(Position.from_json(MOVE))


def test_the_game_may_end(start):
    last = {**MOVE, "pawns": [[3, 4], [4, 4]], "guards": []}
    last["rules"] = {**MOVE["rules"], "guards": False}
    found = json.loads(start(last, "--agent", "greedy", "--json"))
    assert found["replies"] == []
    assert len(found["line"]) == 1
    assert "Line:" in start(last, "--agent", "mcts:simulations=10")


def test_stdin(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["agents.analyze", "-", "--agent", "greedy"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(MOVE)))
    analyze.main()
    assert "plays this" in capsys.readouterr().out


def test_agents_that_know_nothing_are_refused(start):
    with pytest.raises(UsageError, match="human knows neither"):
        start(MOVE, "--agent", "human")


def test_bad_input_is_told(start, monkeypatch):
    with pytest.raises(UsageError, match="nothing to decide in phase 'roll'"):
        start({**MOVE, "phase": "roll", "die": 0}, "--agent", "greedy")
    with pytest.raises(PositionError, match="track"):
        start({**MOVE, "track": ["start"]}, "--agent", "greedy")
    with pytest.raises(agents.AgentError, match="unknown agent"):
        start(MOVE, "--agent", "nobody")
    monkeypatch.setattr(sys, "argv", ["agents.analyze", "/nowhere/x.json", "--agent", "greedy"])
    with pytest.raises(UsageError, match="/nowhere/x.json"):
        analyze.main()


def test_exit_codes(tmp_path):
    path = tmp_path / "position.json"
    path.write_text(json.dumps({**MOVE, "phase": "roll", "die": 0}))
    done = subprocess.run(
        [sys.executable, "-m", "agents.analyze", str(path), "--agent", "greedy"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_intervals_hold_the_truth():
    """Of mc: about 95 % of intervals hold the mean of very many games."""
    position = Position.from_json(MOVE)
    legal = position.legal_actions()
    keys = np.random.default_rng(0).integers(0, 2**64, 400, np.uint64)
    truth = agents.make("mc:rollouts=40000").evaluate(position.state, keys[:1]).values[0, legal]
    found = agents.make("mc:rollouts=40").evaluate(np.repeat(position.state, 400), keys)
    inside = np.abs(found.values[:, legal] - truth) <= found.half_widths[:, legal]
    assert (inside.mean(axis=0) > 0.9).all()
    assert np.nanmax(found.half_widths) < 0.2
