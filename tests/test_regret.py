"""Exact regret, and `python -m agents.regret`."""

import json
import sys
from functools import cache

import numpy as np
import pytest
from exhaustive import Meeting, Optimum

import agents
from agents import regret as module
from agents.arena import play_games
from agents.base import Agent, AgentError
from agents.boards import board_names, load_board, solution_of
from agents.cli import UsageError
from agents.regret import markdown, position_keys, regret
from agents.solver import SolverError, TooLargeError, opening_of, solve
from thatslife_env import IllegalMoveError, Position, Ruleset
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

BOARDS = {
    "plain": Ruleset(pawns=2, layout=(-3, 4), action_tiles=False),
    "guards": Ruleset(pawns=1, layout=(-4, "lucky", -3), action_tiles=False, guards=True),
    "expert": Ruleset(
        pawns=1, layout=(-5, "lucky", "gift"), guards=True, scoring="expert", action_tiles=False
    ),
}

OPTIMA: dict[str, Optimum] = {}  # what brute force found so far on each board


class Stubborn(Agent):
    """Plays its highest legal action; says nothing of chances."""

    def choose(self, states, keys):
        return np.array([Position.from_state(state).legal_actions()[-1] for state in states])


class Wavering(Agent):
    """Plays by its key alone; the chances are not known."""

    def choose(self, states, keys):
        legal = [Position.from_state(state).legal_actions() for state in states]
        return np.array([own[int(key) % len(own)] for own, key in zip(legal, keys, strict=True)])


def chances_of(agent):
    """The chances of an agent, position by position."""

    @cache
    def chances(position):
        try:
            row = agent.probabilities(position.state)[0]
        except AgentError:
            return {int(agent.choose(position.state, position_keys(position.state))[0]): 1.0}
        return {action: float(row[action]) for action in position.legal_actions()}

    return chances


AGENTS = {
    "random": lambda: agents.make("random"),
    "greedy": lambda: agents.make("greedy"),
    "stubborn": lambda: Stubborn("stubborn"),
    "wavering": lambda: Wavering("wavering"),
}


# Against brute force ---------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["win", "margin"])
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", AGENTS)
def test_regret_is_that_of_brute_force(name, board, objective):
    agent = AGENTS[name]()
    chances = chances_of(agent)
    found = regret(agent, BOARDS[board], objective=objective)
    opening = opening_of(BOARDS[board])
    optimum = OPTIMA.setdefault(board, Optimum())
    which = ["win", "margin"].index(objective)
    value = optimum.value(opening)[which]
    assert found.optimum == pytest.approx((value, 1 - value if which == 0 else -value))

    decided = optimal = 0.0
    for seat in (0, 1):
        meeting = Meeting(optimum, chances, seat, which)
        assert found.against_optimal[seat] == pytest.approx(meeting.value(opening), abs=1e-12)
        meeting.count(opening)
        decided += meeting.decided
        optimal += meeting.optimal
        answered = Meeting(optimum, chances, seat, which, answers_best=True)
        assert found.against_best[seat] == pytest.approx(answered.value(opening), abs=1e-12)
    assert found.optimal_share == pytest.approx(optimal / decided, abs=1e-12)
    assert found.loss == pytest.approx(np.mean(np.subtract(found.optimum, found.against_optimal)))
    assert found.exploitability >= found.loss - 1e-12
    assert found.loss >= -1e-12
    assert found.states == len(optimum.rolls)
    assert found.decisions == sum(len(move.legal_actions()) > 1 for move in optimum.moves)


@pytest.mark.parametrize("board", ["plain2", "guards5", "lucky4", "expert5", "gift6"])
def test_exact_play_has_no_regret(board):
    found = regret(agents.make(f"solved:{board}"), board)
    assert found.loss == pytest.approx(0, abs=1e-9)
    assert found.exploitability == pytest.approx(0, abs=1e-9)
    assert found.optimal_share == pytest.approx(1, abs=1e-12)
    assert found.states > load_board(board).states  # each by itself


def test_win_and_margin_ask_for_different_play():
    """Who plays for the win loses points to who plays for them."""
    found = regret(agents.make("solved:lucky4"), "lucky4", objective="margin")
    assert 0.01 < found.loss <= found.exploitability + 1e-12
    assert found.optimal_share < 1


# Against sampling -------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["random", "greedy"])
@pytest.mark.parametrize("board", ["lucky4", "gift6"])
def test_games_against_the_optimal_opponent_come_out_as_computed(spec, board):
    """20,000 games from each seat; the margin of chance is three standard errors."""
    found = regret(agents.make(spec), board)
    players = [agents.make(spec), agents.make(f"solved:{board}")]
    for seat in (0, 1):
        lineups = np.full((20_000, 2), 1)
        lineups[:, seat] = 0
        results = play_games(
            players, load_board(board).ruleset, stream_seeds(seat, 20_000), lineups
        )
        shares = results.win_shares[:, seat]
        error = shares.std() / len(shares) ** 0.5
        assert abs(shares.mean() - found.against_optimal[seat]) < 3 * error


def test_search_counts_as_playing_by_the_key_of_the_position():
    """The same whatever else it is asked, and better with more games."""
    losses = []
    for spec in ("mc:rollouts=1", "mc:rollouts=60"):
        first, second = (regret(agents.make(spec, seed), "guards5") for seed in (1, 2))
        assert first == second
        losses.append(first.loss)
    assert 0 < losses[1] < losses[0] / 2


def test_keys_of_positions():
    states = solve(opening_of(BOARDS["expert"]), merge=False).states()
    keys = position_keys(states)
    assert keys.dtype == np.uint64
    assert len(set(keys.tolist())) == len(states)
    backwards = position_keys(states[::-1])[::-1]
    assert (keys == backwards).all()
    assert position_keys(states[7:8])[0] == keys[7]


def test_batches_change_nothing(monkeypatch):
    before = regret(agents.make("greedy"), "guards5"), regret(Wavering("wavering"), "guards5")
    monkeypatch.setattr(module, "BATCH", 7)
    assert before == (
        regret(agents.make("greedy"), "guards5"),
        regret(Wavering("wavering"), "guards5"),
    )


# Limits -------------------------------------------------------------------------------------------


class Broken(Agent):
    """Gives these chances."""

    def __init__(self, rows):
        super().__init__("broken")
        self.rows = rows

    def choose(self, states, keys):
        return np.full(len(states), 99)

    def probabilities(self, states):
        if self.rows is None:
            return super().probabilities(states)
        return np.tile(self.rows, (len(states), 1))


@pytest.mark.parametrize(
    ("rows", "error", "complaint"),
    [
        (np.eye(16)[12], IllegalMoveError, "action 12 of broken is not legal"),
        (np.zeros(16), AgentError, "sum is not 1"),
        (np.full(16, np.nan), AgentError, "sum is not 1"),
        (np.array([2.0, -1.0, *[0.0] * 14]), AgentError, "negative"),
        (np.ones(3) / 3, AgentError, "shape"),
        (None, AgentError, "played 99"),
    ],
)
def test_what_is_no_play_is_refused(rows, error, complaint):
    with pytest.raises(error, match=complaint):
        regret(Broken(rows), "plain2")


def test_boards_that_are_too_large_are_refused(monkeypatch):
    with pytest.raises(TooLargeError, match="memory"):
        regret(agents.make("random"), "plain6", memory=10**6)
    monkeypatch.setattr(module, "MAX_SEARCHED", 3000)
    with pytest.raises(TooLargeError, match="lucky4.*9,696 decisions.*stubborn.*at most 3,000"):
        regret(Stubborn("stubborn"), "lucky4")
    assert regret(agents.make("random"), "lucky4").loss > 0  # its chances are known
    monkeypatch.setattr(module, "MAX_DECISIONS", 5000)
    with pytest.raises(TooLargeError, match="lucky4.*9,696 decisions.*at most 5,000"):
        regret(agents.make("random"), "lucky4")
    with pytest.raises(SolverError, match="no board 'nonsense'"):
        regret(agents.make("random"), "nonsense")
    with pytest.raises(SolverError, match="2 players"):
        regret(agents.make("random"), Ruleset(players=3, layout=(1, 2)))


# The command ----------------------------------------------------------------------------------


@pytest.fixture
def start(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["agents.regret", *map(str, arguments)])
        module.main()
        return capsys.readouterr()

    return run


def test_the_command_tells_what_is_computed(start):
    found = regret(agents.make("greedy"), "plain2")
    told = json.loads(start("--agent", "greedy", "--board", "plain2", "--json").out)
    assert len(told) == 1
    assert told[0]["agent"] == "greedy"
    assert told[0]["loss"] == found.loss
    assert told[0]["against_best"] == list(found.against_best)
    out = start("--agent", "greedy", "--board", "plain2").out
    assert f"loss against the optimal opponent (win): {found.loss:.6f}" in out
    assert f"share of optimal decisions: {found.optimal_share:.6f}" in out


def test_a_table_of_agents_and_boards(start):
    out = start("--agent", "random", "greedy", "--board", "plain2", "guards5", "--markdown").out
    lines = out.splitlines()
    assert lines[0] == "| | plain2 | guards5 |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| random", "| greedy"]
    found = regret(agents.make("random"), "guards5")
    assert lines[2].endswith(f"| {found.loss:.4f} ({found.optimal_share:.1%}) |")


def test_what_was_found_is_printed_before_a_board_is_refused(start, monkeypatch, capsys):
    """It may have taken minutes."""
    monkeypatch.setattr(module, "MAX_DECISIONS", 5000)
    with pytest.raises(TooLargeError, match="lucky4"):
        start("--agent", "greedy", "--board", "lucky4", "plain2", "--json")
    [one] = json.loads(capsys.readouterr().out)
    assert one["board"] == "plain2"


def test_boards_that_are_too_large_for_an_agent_stay_empty_in_the_table(start, monkeypatch):
    monkeypatch.setattr(module, "MAX_SEARCHED", 3000)
    monkeypatch.setattr(module, "MAX_DECISIONS", 10_000)
    monkeypatch.setattr(module, "board_names", lambda: ["plain2", "lucky4", "plain6"])
    done = start("--agent", "random", "mc:rollouts=1", "--board", "all", "--markdown")
    lines = done.out.splitlines()
    assert lines[0] == "| | plain2 | lucky4 |"
    assert lines[3].startswith("| mc:rollouts=1 | ")
    assert lines[3].endswith(" |  |")
    assert done.err.count("left out: board plain6") == 2
    assert done.err.count("left out: board lucky4") == 1
    with pytest.raises(TooLargeError):
        start("--agent", "random", "--board", "plain6")


def test_wrong_use_is_told(start, capsys):
    with pytest.raises(UsageError, match="person"):
        start("--agent", "human", "--board", "plain2")
    with pytest.raises(AgentError, match="unknown agent"):
        start("--agent", "nonsense", "--board", "plain2")
    with pytest.raises(SolverError, match="no board"):
        start("--agent", "random", "--board", "nonsense")
    with pytest.raises(SystemExit) as ended:
        start("--agent", "random", "--board", "plain2", "--json", "--markdown")
    assert ended.value.code == 2


def test_every_board_is_named_by_the_help(start, capsys):
    with pytest.raises(SystemExit):
        start("--help")
    out = " ".join(capsys.readouterr().out.split())
    assert all(name in out for name in board_names())


def test_a_table_needs_no_full_grid():
    found = [regret(agents.make("random"), "plain2"), regret(agents.make("greedy"), "guards5")]
    assert markdown(found).splitlines()[3].startswith("| greedy |  | 0.")
    assert solution_of(load_board("plain2").ruleset).n_states == 126
