"""`expectimax` against brute force over positions."""

import random
import zlib

import numpy as np
import pytest
from brute import action_shares, best_actions, max_n, solve
from conftest import random_position

import agents
from agents import Agent, AgentError
from agents.expectimax import Expectimax
from agents.handmade import (
    N_FEATURES,
    SPREADS,
    WEIGHTS,
    handmade_values,
    kind_of,
    lucky_turns,
    worth,
)
from thatslife_env import PRESETS, Position, Ruleset
from thatslife_env.board import MAX_PLAYERS, NO_TILE, OVER
from thatslife_env.rules import points, points_if

pytestmark = pytest.mark.speed  # plays too much for uncompiled code


class Scrambled(Agent):
    """Win shares without any sense, a function of the position; it notes how it was asked."""

    def __init__(self) -> None:
        super().__init__("scrambled")
        self.calls: list[int] = []

    def choose(self, states, keys):
        raise NotImplementedError

    def values(self, states):
        self.calls.append(len(states))
        assert not np.isin(states["phase"], (OVER,)).any()
        return np.array([self.shares(Position.from_state(state)) for state in states])

    @staticmethod
    def shares(position: Position) -> np.ndarray:
        rng = random.Random(zlib.crc32(position.state.tobytes()))
        drawn = [rng.random() if seat < position.players else 0.0 for seat in range(MAX_PLAYERS)]
        return np.array(drawn) / sum(drawn)


def leaf(position: Position) -> tuple[float, ...]:
    return tuple(Scrambled.shares(position)[: position.players])


def positions(n: int, name: str, phases=("move", "move", "give", "steal"), most=6):
    made = []
    for number in range(10 * n):
        shown = random_position(random.Random(f"{name} {number}"), phases[number % len(phases)])
        if shown["rules"]["players"] <= most:
            made.append(Position.from_json(shown))
        if len(made) == n:
            return made
    raise AssertionError("too few")


def stack(made: list[Position]) -> np.ndarray:
    return np.concatenate([position.state for position in made])


def no_keys(made) -> np.ndarray:
    return np.zeros(len(made), np.uint64)


def assert_same_values(agent: Expectimax, made: list[Position], depth: int) -> None:
    shares, actions = agent.action_values(stack(made))
    for position, found, action in zip(made, shares, actions, strict=True):
        wanted = action_shares(position, depth, leaf)
        assert np.flatnonzero(~np.isnan(found)).tolist() == sorted(wanted), position
        for number, each in wanted.items():
            assert found[number] == pytest.approx(each[position.player], abs=1e-12), position
        assert action == best_actions(position, wanted)[0], position


@pytest.mark.parametrize(("depth", "n", "most"), [(1, 200, 6), (2, 40, 6), (3, 3, 4)])
def test_values_are_those_of_brute_force(depth, n, most):
    made = positions(n, f"depth {depth}", most=most)
    if depth == 3:  # few pieces: else brute force takes minutes
        made = [
            position
            for position in positions(200, "depth 3", most=most)
            if len(position.legal_actions()) <= 3
            and position.to_json()["rules"]["pawns"] == 1
            and not position.to_json()["guards"]
        ][:12]
        assert len(made) >= 6
        assert {position.players for position in made} >= {2, 3}
    assert_same_values(Expectimax("x", depth=depth, value=Scrambled()), made, depth)


def test_positions_of_games_too():
    """With guards and gifts, standard and expert scoring."""
    made = []
    for number, preset in enumerate(PRESETS):
        for players in (2, 3, 4):
            rng = random.Random(f"expectimax {number} {players}")
            position = Position.deal(Ruleset.preset(preset, players=players), rng.randrange(2**64))
            for step in range(90):
                if position.is_over:
                    break
                if position.phase == "roll":
                    position = position.roll(rng.randint(1, 6))
                    if step > 40 and rng.random() < 0.1:
                        made.append(position)
                else:
                    position = position.play(rng.choice(position.legal_actions()))
    assert len(made) > 20
    assert_same_values(Expectimax("x", depth=2, value=Scrambled()), made[::2], 2)


def test_values_of_positions_in_any_phase():
    agent = Expectimax("x", depth=1, value=Scrambled())
    made = positions(60, "any", phases=("roll", "move", "give", "steal", "over"))
    for position, found in zip(made, agent.values(stack(made)), strict=True):
        wanted = max_n(position, 1, leaf)
        assert found[: position.players] == pytest.approx(wanted, abs=1e-12)
        assert found.sum() == pytest.approx(1)
        assert not found[position.players :].any()


def near_the_end(n: int, name: str) -> list[Position]:
    """Positions with at most 4 slots to go: perfect play is soon found."""
    made = []
    for number in range(4000):
        rng = random.Random(f"{name} {number}")
        shown = random_position(rng, rng.choice(["move", "give", "steal"]))
        finish = len(shown["track"]) - 1
        pawns = shown["pawns"]
        to_go = sum(finish - slot for row in pawns for slot in row)
        if to_go <= 4 and shown["rules"]["players"] <= 4 and len(shown["guards"]) <= 1:
            position = Position.from_json(shown)
            if len(position.legal_actions()) > 1:
                made.append(position)
        if len(made) == n:
            return made
    raise AssertionError("too few")


def test_to_the_end_it_is_perfect_whatever_the_value():
    """No leaf is left at depth 6 when at most 4 slots are to go."""
    agent = Expectimax("x", depth=6, value=Scrambled())
    made = near_the_end(25, "perfect")
    assert {position.phase for position in made} == {"move", "give", "steal"}
    shares, actions = agent.action_values(stack(made))
    for position, found, action in zip(made, shares, actions, strict=True):
        wanted = solve(position)
        for number, each in wanted.items():
            assert found[number] == pytest.approx(each[position.player], abs=1e-12)
        assert action in best_actions(position, wanted)


def test_leaves_are_valued_in_few_calls_of_bounded_size():
    value = Scrambled()
    agent = Expectimax("x", depth=2, value=value)
    made = positions(30, "calls")
    agent.choose(stack(made), no_keys(made))
    assert len(value.calls) <= 4
    assert max(value.calls) <= 8192
    n_afters = sum(len(position.legal_actions()) for position in made)
    assert sum(value.calls) > 6 * n_afters  # it did look deeper


def test_equal_rolls_home_are_valued_once():
    shown = {
        "rules": {"players": 2, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", 1, 2, 3, "finish"],
        "pawns": [[1], [3]],
        "guards": [],
        "towers": [[], []],
        "player": 0,
        "phase": "move",
        "die": 1,
    }
    value = Scrambled()
    agent = Expectimax("x", depth=2, value=value)
    agent.choose(Position.from_json(shown).state, np.zeros(1, np.uint64))
    assert value.calls == [1]  # from 3 every roll leads home: one leaf, not six


# What holds of every agent ------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["expectimax:depth=1", "expectimax:depth=2"])
def test_the_move_depends_on_the_position_alone(spec):
    agent = agents.make(spec)
    made = positions(120, "alone")
    states = stack(made)
    before = states.tobytes()
    whole = agent.choose(states, no_keys(made))
    assert states.tobytes() == before
    keys = np.arange(len(made)).astype(np.uint64)
    order = np.random.default_rng(1).permutation(len(made))
    assert (agents.make(spec).choose(states[order], keys[order]) == whole[order]).all()
    for number in range(0, len(made), 10):
        assert agent.choose(states[number : number + 1], keys[:1])[0] == whole[number]
    probabilities = agent.probabilities(states)
    assert (probabilities.argmax(axis=1) == whole).all()
    assert (probabilities.max(axis=1) == 1).all()
    evaluation = agent.evaluate(states, keys)
    assert (evaluation.actions == whole).all()
    assert (
        np.nanmax(evaluation.values, axis=1) - 1e-12 <= evaluation.values[range(len(made)), whole]
    ).all()
    assert not np.nansum(evaluation.half_widths)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("expectimax", "depth=D"),
        ("expectimax:depth=0", "depth=D"),
        ("expectimax:depth=7", "1 to 6"),
        ("expectimax:depth=two", "depth=D"),
        ("expectimax:depth=1,value=greedy", "greedy has no value"),
        ("expectimax:depth=2,value=nobody", "unknown agent 'nobody'"),
        ("expectimax:depth=2,value=[mc:rollouts=3", "brackets"),
        ("expectimax:depth=2,value=", "unknown agent ''"),
        ("expectimax:depth=2,value=[mc:depth=3]", "rollouts, playouts"),
        ("expectimax:value=[expectimax:depth=1]", "depth=D"),
        ("expectimax:deep=1", "depth, value"),
    ],
)
def test_bad_specs_are_refused(spec, told):
    with pytest.raises(AgentError, match="depth|value|bracket") as caught:
        agents.make(spec)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        "expectimax:depth=2,value=[expectimax:depth=1]",
        "expectimax:depth=1,value=expectimax:depth=1",
        "expectimax:depth=1,value=[expectimax:depth=1,value=[expectimax:depth=1]]",
    ],
)
def test_specs_nest(spec):
    """And one look ahead on top of another is one deeper look."""
    agent = agents.make(spec)
    assert agent.name == spec
    assert agents.make(agent.name).name == spec
    made = positions(20, "nest")
    if spec.startswith("expectimax:depth=1,value=expectimax"):
        deeper = agents.make("expectimax:depth=2").evaluate(stack(made), no_keys(made))
        found = agent.evaluate(stack(made), no_keys(made))
        assert np.allclose(found.values, deeper.values, atol=1e-12, equal_nan=True)


# The value made by hand ----------------------------------------------------------------------


def test_worth_is_what_a_tile_adds():
    for position in positions(150, "worth"):
        state = position.state[0]
        for seat in range(position.players):
            least, turned, unused = lucky_turns(state, seat)
            assert unused >= 0
            for tile in range(-10, 9):
                gain = points_if(state, seat, NO_TILE, tile) - points(state, seat)
                assert worth(tile, least, turned) == gain, (position, seat, tile)


def test_the_value_made_by_hand_is_a_win_share():
    made = positions(100, "hand", phases=("roll", "move", "give", "steal", "over"))
    found = handmade_values(stack(made))
    assert found.shape == (100, MAX_PLAYERS)
    assert np.allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    for position, shares in zip(made, found, strict=True):
        assert not shares[position.players :].any()
        if position.is_over:
            assert shares[: position.players].tolist() == position.win_shares()


def test_every_kind_of_game_has_its_own_weights():
    kinds = [
        kind_of(Position.deal(Ruleset.preset(preset, players=players), 1).state[0])
        for players in (2, 3, 6)
        for preset in PRESETS
    ]
    assert sorted(kinds[:8]) == list(range(8))
    assert kinds[4:8] == kinds[8:]
    assert WEIGHTS.shape == (8, N_FEATURES)
    assert len({row.tobytes() for row in WEIGHTS}) == 8
    assert (SPREADS > 0).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_the_value_made_by_hand_is_near_the_learned_one(preset):
    """In positions before a roll, of games played without much sense."""
    rng = random.Random(f"near {preset}")
    made = []
    for number in range(600):
        position = Position.deal(Ruleset.preset(preset, players=2), rng.randrange(2**64))
        for _ in range(2 * (number % 25)):
            if position.phase == "roll":
                position = position.roll(rng.randint(1, 6))
            elif not position.is_over:
                position = position.play(rng.choice(position.legal_actions()))
        if position.phase == "roll":
            made.append(position)
    assert len(made) > 240
    learned = agents.make("td:builtin/2p" if preset == "basic" else "td:builtin/universal")
    wanted, found = learned.values(stack(made))[:, 0], handmade_values(stack(made))[:, 0]
    assert np.corrcoef(wanted, found)[0, 1] > 0.8
    assert np.abs(wanted - found).mean() < 0.1


def test_the_value_made_by_hand_prefers_more_points():
    shown = Position.deal(Ruleset(), 1).to_json()
    shown["track"].remove(8)
    ahead = Position.from_json({**shown, "towers": [[8], []]})
    behind = Position.from_json({**shown, "towers": [[], [8]]})
    assert handmade_values(ahead.state)[0, 0] > 0.5 > handmade_values(behind.state)[0, 0]
