"""The exact solver, the boards with known optima, and `python -m agents.solve`.

`THATSLIFE_SLOW=1` solves every board that comes along, and more boards by brute force.
"""

import json
import os
import random
import subprocess
import sys
from functools import lru_cache

import numpy as np
import pytest
from conftest import random_position, random_tile
from exhaustive import Optimum

import agents
from agents import solve as command
from agents.arena import play_games
from agents.base import AgentError
from agents.boards import board_names, load_board, solution_of
from agents.cli import UsageError
from agents.solver import (
    OBJECTIVES,
    Solution,
    SolverError,
    TooLargeError,
    opening_of,
    solve,
)
from thatslife_env import Position, Ruleset
from thatslife_env.board import STATE
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

SLOW = os.environ.get("THATSLIFE_SLOW") == "1"
N_BOARDS = 40 if SLOW else 6
N_STARTS = 40 if SLOW else 6
LARGEST = 4000 if SLOW else 400  # positions that brute force is asked for
SMALL = ["plain2", "guards5", "lucky4", "expert5", "gift6", "plain6"]

# Every rule, on boards that brute force can do in a second
VARIANTS = {
    "plain": {"layout": [-3, 4, -5], "pawns": 2},
    "equal tiles": {"layout": [-3, -3, 2], "pawns": 2},
    "three pawns": {"layout": [-3, 4], "pawns": 3},
    "lucky": {"layout": [-3, "lucky", -4], "pawns": 2},
    "guards": {"layout": [-4, "lucky", 8, -5], "pawns": 1, "guards": True},
    "gift": {"layout": [-3, "gift", 5, -4], "pawns": 1},
    "steal": {"layout": [5, -3, "steal"], "pawns": 2},
    "expert": {"layout": [-5, "lucky", 4, "lucky"], "pawns": 1, "scoring": "expert"},
    "full": {
        "layout": [-5, "lucky", "gift", 3],
        "pawns": 1,
        "scoring": "expert",
        "guards": True,
    },
}


def small_ruleset(**fields) -> Ruleset:
    return Ruleset(**{"players": 2, "action_tiles": False, **fields})


def stacked(positions) -> np.ndarray:
    return np.concatenate([position.state for position in positions])


@lru_cache
def by_brute_force(start: Position) -> Optimum:
    """Every position that can be reached, with its values."""
    brute = Optimum()
    brute.value(start)
    return brute


def agrees(start: Position, merge: bool) -> Solution:
    """The solution, after a look at every position that brute force comes to."""
    brute = by_brute_force(start)
    solution = solve(start, merge=merge)
    if merge:
        assert solution.n_states <= len(brute.rolls)
    else:
        assert solution.n_states == len(brute.rolls)

    for known in (brute.rolls, brute.moves):
        found = solution.values_of(stacked(known))
        assert found == pytest.approx(np.array(list(known.values())), abs=1e-12)
    moves = list(brute.moves)
    worths = solution.action_values(stacked(moves))
    for objective, name in enumerate(OBJECTIVES):
        best = solution.best_actions(stacked(moves), name)
        for i, position in enumerate(moves):
            legal = position.legal_actions()
            assert np.flatnonzero(~np.isnan(worths[i, :, objective])).tolist() == legal
            assert np.flatnonzero(best[i]).tolist() == brute.best(position, objective)
    return solution


# Against brute force -----------------------------------------------------------------------


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_value_and_best_action_is_that_of_brute_force(variant, merge):
    solution = agrees(opening_of(small_ruleset(**VARIANTS[variant])), merge)
    values = by_brute_force(solution.opening).value(solution.opening)
    assert solution.opening_values == pytest.approx(values, abs=1e-12)


def test_boards_made_up_at_random_agree_with_brute_force():
    rng = random.Random("boards")
    n_done = 0
    while n_done < N_BOARDS:
        layout = [random_tile(rng) for _ in range(rng.randint(1, 4))]
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            layout.insert(rng.randint(0, len(layout)), rng.choice(["gift", "steal"]))
        ruleset = small_ruleset(
            layout=layout,
            pawns=rng.randint(1, 3),
            guards=rng.random() < 0.5,
            scoring=rng.choice(["standard", "expert"]),
        )
        if solve(opening_of(ruleset), merge=False).n_states <= LARGEST:
            agrees(opening_of(ruleset), merge=True)
            n_done += 1


def test_positions_made_up_at_random_agree_with_brute_force():
    """Towers that are tall, guards anywhere, either seat to roll, tiles left behind."""
    rng = random.Random("positions")
    n_done = 0
    while n_done < N_STARTS:
        given = random_position(rng, "roll")
        if given["rules"]["players"] != 2 or len(given["track"]) > 8:
            continue
        start = Position.from_json(given)
        if 3 <= solve(start, merge=False).n_states <= LARGEST:
            agrees(start, merge=True)
            n_done += 1


@pytest.mark.parametrize("name", ["swap4", *SMALL] if SLOW else SMALL)
def test_merged_positions_have_the_value_of_each(name):
    """On boards beyond brute force: all positions one by one against the merged ones."""
    opening = opening_of(load_board(name).ruleset)
    merged, each = solve(opening), solve(opening, merge=False)
    states = each.states()
    assert len({state.tobytes() for state in states}) == each.n_states > merged.n_states
    values = each.values.copy()
    second = states["player"] == 1
    values[second] = np.array([1, 0]) - values[second]
    assert merged.values_of(states) == pytest.approx(values, abs=1e-12)


def test_seats_are_alike():
    position = Position.from_json(
        {
            "rules": {"players": 2, "pawns": 2, "guards": True, "scoring": "standard"},
            "track": ["start", -3, "lucky", "gift", -6, "finish"],
            "pawns": [[0, 2], [1, 4]],
            "guards": [2],
            "towers": [[4, -1], ["lucky"]],
            "player": 0,
            "phase": "roll",
            "die": 0,
        }
    )
    swapped = position.to_json()
    for key in ("pawns", "towers"):
        swapped[key].reverse()
    swapped["player"] = 1
    solution = solve(position)
    win, margin = solution.values_of(position.state)[0]
    other = Position.from_json(swapped)
    assert solution.values_of(other.state)[0] == pytest.approx([1 - win, -margin], abs=1e-12)
    assert solve(other).opening_values == solution.opening_values


def test_the_same_uncompiled():
    code = (
        "from agents.boards import load_board\n"
        "from agents.solver import opening_of, solve\n"
        "solution = solve(opening_of(load_board('plain2').ruleset))\n"
        "print(solution.n_states, *solution.opening_values)"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    n_states, *values = done.stdout.split()
    board = load_board("plain2")
    assert int(n_states) == board.states
    assert [float(value) for value in values] == pytest.approx(list(board.values.values()))
    assert not done.stderr


# Limits --------------------------------------------------------------------------------------


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(SolverError, match="2 players.*not of 3"):
        solve(opening_of(small_ruleset(layout=[1, 2], players=3)))
    with pytest.raises(SolverError, match="shuffled"):
        opening_of(Ruleset())
    over = {
        "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", "finish"],
        "pawns": [[1], [1]],
        "guards": [],
        "towers": [[], []],
        "player": 0,
        "phase": "over",
        "die": 0,
    }
    with pytest.raises(SolverError, match="over"):
        solve(Position.from_json(over))


@pytest.mark.parametrize("memory", [1, 1000, 200_000, 10**7])
def test_a_game_that_does_not_fit_is_refused(memory):
    """Also where every key has several words."""
    for opening in (opening_of(load_board("plain8").ruleset), Position.deal(Ruleset(), 1)):
        with pytest.raises(TooLargeError, match="more than [0-9,]+ positions.*memory"):
            solve(opening, memory)


def test_the_memory_just_needed_suffices():
    opening = opening_of(load_board("guards5").ruleset)
    whole = solve(opening)
    for memory in (200_000, 90_000):
        assert solve(opening, memory).opening_values == whole.opening_values
    with pytest.raises(TooLargeError):
        solve(opening, 60_000)


def test_positions_of_other_games_are_refused():
    solution = solution_of(load_board("plain2").ruleset)
    strangers = [
        opening_of(small_ruleset(layout=[-3, 5], pawns=2)),
        opening_of(small_ruleset(layout=[4, -3], pawns=2)),
        opening_of(small_ruleset(layout=[-3, 4], pawns=1)),
        opening_of(small_ruleset(layout=[-3, 4], pawns=2, scoring="expert")),
        opening_of(small_ruleset(layout=[-3, 4, -3, 4], pawns=2)),
        Position.deal(Ruleset(players=2), 1),
        Position.deal(Ruleset(players=6), 1),
    ]
    for position in strangers:
        with pytest.raises(SolverError, match="cannot be reached"):
            solution.values_of(position.state)
        with pytest.raises(SolverError, match="cannot be reached"):
            solution.action_values(position.roll(1).state)
    with pytest.raises(SolverError, match="cannot be reached"):
        solution.action_values(solution.opening.state)  # nothing is to decide


# The boards ------------------------------------------------------------------------------------


def test_there_are_boards_of_every_kind():
    boards = [load_board(name) for name in board_names()]
    assert len(boards) >= 6
    sizes = [board.states for board in boards]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1000
    assert sizes[-1] > 10**6
    for board in boards:
        assert board.about
        assert board.command == (
            f"python -m agents.solve agents/solved/{board.name}.json "
            f"--out agents/solved/{board.name}.json"
        )
        assert set(board.values) == set(OBJECTIVES)
    kinds = [set(map(str, board.ruleset.layout)) for board in boards]
    assert any("gift" in kind for kind in kinds)
    assert any("steal" in kind for kind in kinds)
    assert any(board.ruleset.guards and "lucky" in board.ruleset.layout for board in boards)
    assert any(board.ruleset.scoring == "expert" for board in boards)
    assert any(board.ruleset.layout.count("gift") == 0 for board in boards)


@pytest.mark.parametrize("name", board_names() if SLOW else SMALL)
def test_boards_have_the_values_that_their_files_tell(name):
    board = load_board(name)
    solution = solve(opening_of(board.ruleset))
    assert solution.n_states == board.states
    values = [board.values[objective] for objective in OBJECTIVES]
    assert solution.opening_values == pytest.approx(values, rel=1e-12)


def test_a_board_is_a_file_of_a_ruleset(tmp_path):
    path = tmp_path / "board.json"
    ruleset = {"pawns": 2, "layout": [-3, 4], "action_tiles": False}
    path.write_text(json.dumps(ruleset))
    assert load_board(str(path)).ruleset == load_board("plain2").ruleset
    for content, complaint in [
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ('{"layout": [99]}', r"layout\[0\]"),
        ('{"ruleset": {"layout": [1]}, "values": 3}', "values can't be 3"),
        ('{"ruleset": {"layout": [1]}, "colour": 3}', "unknown key 'colour'"),
    ]:
        path.write_text(content)
        with pytest.raises(SolverError, match=complaint):
            load_board(str(path))
    with pytest.raises(SolverError, match="no board 'nonsense'.*plain2"):
        load_board("nonsense")


# The player ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lucky4", "gift6"])
def test_results_of_exact_play_are_the_value(name):
    """20,000 games; the margin of chance is three standard errors."""
    board = load_board(name)
    player = agents.make(f"solved:{name}")
    seeds = stream_seeds(1, 20_000)
    results = play_games([player], board.ruleset, seeds, np.zeros((20_000, 2), np.int64))
    shares = results.win_shares[:, 0]
    assert abs(shares.mean() - board.values["win"]) < 3 * shares.std() / len(shares) ** 0.5


def test_the_player_knows_what_it_plays():
    player = agents.make("solved:expert5")
    solution = player.solution
    states = solution.states()[:300]
    rolled = states.copy()
    rolled["phase"], rolled["die"] = 1, 3
    chances = player.probabilities(rolled)
    assert ((chances > 0) == solution.best_actions(rolled)).all()
    assert chances.sum(axis=1) == pytest.approx(np.ones(300))
    assert (chances.max(axis=1) < 1).any(), "there are ties"

    keys = np.arange(2000, dtype=np.uint64)
    tie = int(np.flatnonzero(chances.max(axis=1) == 0.5)[0])
    actions = player.act_batch(np.repeat(rolled[tie : tie + 1], 2000), keys)
    for action in np.flatnonzero(chances[tie]):
        assert abs((actions == action).mean() - 0.5) < 0.05

    values = player.values(states)
    assert values[:, 0] == pytest.approx(solution.values_of(states)[:, 0])
    assert values.sum(axis=1) == pytest.approx(np.ones(300))


def test_the_player_plays_on_its_board_only():
    player = agents.make("solved:plain2")
    with pytest.raises(AgentError, match="cannot be reached"):
        player.act(Position.deal(Ruleset(players=2), 1).roll(2))
    with pytest.raises(AgentError, match="no board 'nonsense'"):
        agents.make("solved:nonsense")
    with pytest.raises(AgentError, match="solved:BOARD"):
        agents.make("solved")


# The command -----------------------------------------------------------------------------------


@pytest.fixture
def start(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["agents.solve", *map(str, arguments)])
        command.main()
        return capsys.readouterr().out

    return run


def saved(position: Position, folder) -> str:
    path = folder / "position.json"
    path.write_text(json.dumps(position.to_json()))
    return str(path)


def test_the_value_of_a_board(start):
    board = load_board("guards5")
    out = start("guards5")
    assert "1,761 positions" in out
    assert f"seat 0 win share {board.values['win']:.6f}" in out
    report = json.loads(start("guards5", "--json"))
    assert report["states"] == board.states
    assert report["values"] == pytest.approx(board.values)


def test_a_position_judged_on_its_board_and_alone(start, tmp_path):
    rolled = opening_of(load_board("guards5").ruleset).roll(3).play(0).roll(2)
    path = saved(rolled, tmp_path)
    judged = json.loads(start("guards5", "--position", path, "--json"))["position"]
    alone = json.loads(start("--position", path, "--json"))
    assert alone["position"] == judged
    assert alone["states"] < load_board("guards5").states

    brute = Optimum()
    win, margin = brute.value(rolled)
    assert judged["player"] == rolled.player == 1
    assert judged["values"] == pytest.approx({"win": 1 - win, "margin": -margin})
    (roll,) = judged["rolls"]
    assert roll["die"] == 2
    assert sorted(made["action"] for made in roll["actions"]) == rolled.legal_actions()
    assert [made["action"] for made in roll["actions"] if made["best"]] == brute.best(rolled, 0)
    for made in roll["actions"]:
        assert made["words"] == rolled.describe(made["action"])
        share = 1 - brute.value(rolled.play(made["action"]))[0]
        assert made["win"] == pytest.approx(share, abs=1e-12)

    text = start("--position", path, "--objective", "margin")
    best = roll["actions"][0]
    assert f"{best['words']}: win share {best['win']:.6f}" in text
    assert "best for margin first" in text


def test_a_position_before_the_roll_is_judged_for_every_roll(start, tmp_path):
    opening = opening_of(load_board("plain2").ruleset)
    judged = json.loads(start("--position", saved(opening, tmp_path), "--json"))["position"]
    assert [roll["die"] for roll in judged["rolls"]] == [1, 2, 3, 4, 5, 6]
    best = [max(made["win"] for made in roll["actions"]) for roll in judged["rolls"]]
    assert sum(best) / 6 == pytest.approx(judged["values"]["win"])


def test_a_board_is_written_with_its_values(start, tmp_path):
    path, out = tmp_path / "board.json", tmp_path / "solved.json"
    path.write_text(json.dumps({"pawns": 2, "layout": [-3, 4], "action_tiles": False}))
    start(path, "--out", out)
    board = load_board(str(out))
    shipped = load_board("plain2")
    assert (board.ruleset, board.states) == (shipped.ruleset, shipped.states)
    assert board.values == pytest.approx(shipped.values)
    assert board.command == f"python -m agents.solve {path} --out {out}"


def test_wrong_use_is_told_in_a_line(start, tmp_path, capsys):
    with pytest.raises(UsageError, match="BOARD"):
        start()
    with pytest.raises(UsageError, match="--out"):
        start("--position", saved(Position.deal(Ruleset(players=2), 1), tmp_path), "--out", "x")
    with pytest.raises(UsageError, match="nowhere"):
        start("plain2", "--position", tmp_path / "nowhere")
    with pytest.raises(SolverError, match="cannot be reached"):
        start("plain2", "--position", saved(Position.deal(Ruleset(players=2), 1), tmp_path))
    for memory in ("nonsense", "-1GB", "0", "4 apples", "1e5"):
        with pytest.raises(SystemExit) as ended:
            start("plain2", f"--memory={memory}")
        assert ended.value.code == 2
        assert "amount of memory" in capsys.readouterr().err


def test_memory_is_read_as_people_write_it():
    for text, n_bytes in [
        ("4GB", 4 * 10**9),
        ("1.5 gb", 15 * 10**8),
        ("500M", 5 * 10**8),
        ("64kb", 64_000),
        ("1000", 1000),
    ]:
        assert command.memory_size(text) == n_bytes


def test_the_command_ends_with_two_where_the_memory_does_not_suffice():
    done = subprocess.run(
        [sys.executable, "-m", "agents.solve", "plain8", "--memory", "1MB"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "positions can be reached" in done.stderr
    assert not done.stdout


def test_states_are_records():
    assert solution_of(load_board("plain2").ruleset).states().dtype == STATE
