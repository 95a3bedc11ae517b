"""The OpenSpiel game: OpenSpiel's own checks, its bots, and the same games as everywhere else."""

import itertools
import json
import math
import pickle
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from absl import flags
from conftest import random_board
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import evaluate_bots, generate_playthrough, mcts, minimax
from open_spiel.python.bots import uniform_random
from open_spiel.python.observation import make_observation
from test_agreement import NAMED

from agents.solver import opening_of, solve
from thatslife_env import PRESETS, IllegalMoveError, Position, Ruleset, thatslife_v0
from thatslife_env.board import LAYOUTS, MIN_VALUE, N_ACTIONS, TILE_OF_NAME
from thatslife_env.observation import LAYOUT, OBS_SIZE, observe
from thatslife_env.open_spiel_game import NAME, ZERO_SUM, parameters
from thatslife_env.position import dice
from thatslife_env.rules import draw64

ROOT = Path(__file__).resolve().parents[2]
SMALL = f"{NAME}(layout=[-3;4],pawns=2,action_tiles=off)"

BOARDS = [random_board(random.Random(f"OpenSpiel {number}")) for number in range(60)]
"""Lists of tiles in every variant, for 2 to 6 players."""


def load(rules: dict, reward: str = "win") -> pyspiel.Game:
    return pyspiel.load_game(NAME, parameters(Ruleset(**rules), reward))


def dealt(game: pyspiel.Game, position: Position) -> pyspiel.State:
    """The state in which the tiles lie as in an opening."""
    state = game.new_initial_state()
    if not state.is_being_laid:
        return state
    for face in position.to_json()["track"][1:-1]:
        if face not in ("gift", "steal"):
            assert state.is_chance_node()
            state.apply_action(TILE_OF_NAME.get(face, face) - MIN_VALUE)
    return state


def finished(game: pyspiel.Game, seed: int) -> pyspiel.State:
    """The end of a random game."""
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(outcomes, p=chances)))
        else:
            state.apply_action(int(rng.choice(state.legal_actions())))
    return state


# The same games as everywhere else ------------------------------------------------------------


def assert_same(state: pyspiel.State, position: Position) -> None:
    """Entry by entry; the texts that OpenSpiel shows, too."""
    assert state.position == position
    assert state.is_terminal() == position.is_over
    assert str(state) == str(position)
    for seat in range(position.players):
        seen = observe(position, seat)
        assert state.observation_tensor(seat) == seen.tolist()
        assert json.dumps(position.to_json()) in state.observation_string(seat)
        legal = position.legal_actions() if seat == position.player else []
        if not state.is_chance_node():
            assert state.legal_actions(seat) == legal
            assert state.legal_actions_mask(seat) == [
                int(action in legal) for action in range(N_ACTIONS)
            ]


@pytest.mark.parametrize("part", range(4))
def test_plays_the_games_of_the_aec_environment(part):
    """The same deal, dice and actions: every preset and layout, every variant, and lists."""
    seen: Counter = Counter()
    for number, rules in itertools.islice(enumerate(NAMED + BOARDS), part, None, 4):
        rng = random.Random(f"same game {number}")
        seed, reward = rng.randrange(2**63), rng.choice(ZERO_SUM)
        every = rng.choice([1, 7])  # how often all of it is compared
        env = thatslife_v0.raw_env(ruleset=Ruleset(**rules), reward=reward)
        env.reset(seed=seed)
        deal = int(draw64(np.uint64(seed), np.uint64(0)))
        position = Position.deal(Ruleset(**rules), deal)
        state = dealt(load(rules, reward), position)
        rolls = moves = 0
        while not position.is_over:
            if position.phase == "roll":
                assert state.current_player() == pyspiel.PlayerId.CHANCE
                assert state.chance_outcomes() == [(face, 1 / 6) for face in range(6)]
                die = dice(deal, rolls)
                position, rolls = position.roll(die), rolls + 1
                assert state.action_to_string(die - 1) == f"roll {die}"
                state.apply_action(die - 1)
            else:
                assert env.position == position
                assert state.current_player() == position.player
                action = rng.choice(position.legal_actions())
                seen[position.phase] += 1
                assert state.action_to_string(action) == position.describe(action)
                assert state.string_to_action(position.describe(action)) == action
                position, moves = position.play(action), moves + 1
                state.apply_action(action)
                env.step(action)
            assert state.is_terminal() or state.returns() == [0.0] * position.players
            if moves % every == 0 or position.is_over:
                assert_same(state, position)
        assert state.current_player() == pyspiel.PlayerId.TERMINAL
        assert state.returns() == [env.rewards[agent] for agent in env.possible_agents]
    assert min(seen[phase] for phase in ("move", "give", "steal")) >= 5, seen


def test_the_deal_is_that_of_a_well_shuffled_pile():
    """Outcomes are the tiles left, as likely as there are many; all orders equally likely."""
    game = load({"players": 3})
    pile = list(LAYOUTS["shuffled"])
    random.Random(5).shuffle(pile)
    state, chance = game.new_initial_state(), Fraction(1)
    for number, tile in enumerate(pile):
        left = Counter(pile[number:])
        assert state.chance_outcomes() == [
            (each - MIN_VALUE, left[each] / (32 - number)) for each in sorted(left)
        ]
        assert math.isclose(sum(share for _, share in state.chance_outcomes()), 1)
        assert not any(state.observation_tensor(0))
        with pytest.raises(ValueError, match="no position yet: laid: "):
            _ = state.position
        chance *= Fraction(left[tile], 32 - number)
        state.apply_action(tile - MIN_VALUE)
    arrangements = math.factorial(32)
    for many in Counter(pile).values():
        arrangements //= math.factorial(many)
    assert chance == Fraction(1, arrangements)
    assert state.position.phase == "roll"
    assert game.max_chance_outcomes() == 19


# Parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("players", range(2, 7))
def test_presets_are_parameters(preset, players):
    game = pyspiel.load_game(f"{NAME}(preset={preset},players={players})")
    assert game.ruleset == Ruleset.preset(preset, players=players)
    assert game.num_players() == players
    assert (game.min_utility(), game.max_utility()) == (-1 / (players - 1), 1)
    assert game.utility_sum() == 0


def test_fields_are_parameters():
    for rules in NAMED + BOARDS:
        game = load(rules)
        assert game.ruleset == Ruleset(**rules)
        assert pyspiel.load_game(str(game)).ruleset == game.ruleset
    game = pyspiel.load_game(f"{NAME}(preset=full,guards=off,layout=[-7])")
    assert game.ruleset == Ruleset.preset("full", guards=False, layout=[-7])
    assert pyspiel.load_game(NAME).ruleset == Ruleset()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("players=7", "players must be a whole number from 2 to 6, not 7"),
        ("pawns=4", "pawns must be a whole number from 1 to 3, not 4"),
        ("preset=none", "unknown ruleset 'none'"),
        ("layout=round", "layout must be one of .*, not 'round'"),
        ("layout=[-3;4", r"a list of tiles ends with '\]', unlike '\[-3;4'"),
        ("layout=[-3;moon]", r"layout\[1\] must be .*, not 'moon'"),
        ("guards=maybe", "guards must be one of on, off, not 'maybe'"),
        ("scoring=none", "scoring must be one of standard, expert, not 'none'"),
        ("reward=margin", "reward must be one of win, rank, not 'margin'"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(f"{NAME}({wrong})")


def test_unknown_parameters_are_refused():
    with pytest.raises(pyspiel.SpielError, match="Unknown parameter 'moons'"):
        pyspiel.load_game(f"{NAME}(moons=2)")


# OpenSpiel's own checks -----------------------------------------------------------------------

CHECKED = [f"preset={preset},players={n}" for preset, n in zip(PRESETS, [2, 5, 3, 6], strict=True)]
CHECKED += ["layout=[-7;lucky;5;gift;-2],guards=on,players=4,reward=rank", "layout=variant1"]


@pytest.mark.parametrize("chosen", CHECKED)
def test_random_simulation(chosen):
    """Of OpenSpiel: clones, histories, masks, serialisation, texts, bounds, sums."""
    game = pyspiel.load_game(f"{NAME}({chosen})")
    pyspiel.random_sim_test(game, num_sims=3, serialize=True, verbose=False)


def test_random_simulation_finds_what_is_wrong(monkeypatch):
    """It is asked of this game: returns that do not sum to zero fail it."""
    game = pyspiel.load_game(SMALL)
    state = type(game.new_initial_state())
    monkeypatch.setattr(state, "returns", lambda self: [1.0, 1.0] if self.is_terminal() else [0, 0])
    with pytest.raises(pyspiel.SpielError):
        pyspiel.random_sim_test(game, num_sims=1, serialize=False, verbose=False)


@pytest.mark.parametrize("chosen", CHECKED)
def test_playthrough(chosen, tmp_path):
    """Written, read, replayed: equal line by line."""
    flags.FLAGS.mark_as_parsed()  # it has flags of the command line
    text = generate_playthrough.playthrough(f"{NAME}({chosen})", None, seed=3)
    file = tmp_path / "playthrough.txt"
    file.write_text(text, encoding="utf-8")
    original, replayed = generate_playthrough.replay(str(file))
    assert replayed == original == text
    assert text.count("\naction: ") > 30
    assert f"ObservationTensorSize() = {OBS_SIZE}" in text


def test_games_are_as_long_as_promised():
    for rules in BOARDS:
        game = load(rules)
        state = finished(game, 1)
        chance = sum(entry.player == pyspiel.PlayerId.CHANCE for entry in state.full_history())
        assert chance <= game.max_chance_nodes_in_history()
        assert len(state.history()) - chance <= game.max_game_length()
    # and the bound is reached: two pawns go from slot to slot by ones
    game = pyspiel.load_game(f"{NAME}(pawns=1,layout=[-3],action_tiles=off)")
    assert (game.max_game_length(), game.max_chance_nodes_in_history()) == (4, 4)
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(0)  # a one, or the only pawn
    assert len(state.history()) == 8


def test_states_are_copied_and_stored():
    """Clones and stored states are equal and apart; before, in and after the deal."""
    game = pyspiel.load_game(f"{NAME}(preset=full,players=3)")
    end = finished(game, 4)
    state = game.new_initial_state()
    for action in end.history():
        before = str(state)
        for copied in (
            state.clone(),
            pickle.loads(pickle.dumps(state)),
            pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
        ):
            assert str(copied) == before
            assert copied.history() == state.history()
            assert copied.get_game().ruleset == game.ruleset
            if not copied.is_being_laid:
                assert copied.position == state.position
            copied.apply_action(action)
            assert str(state) == before
        state.apply_action(action)
    assert pickle.loads(pickle.dumps(game)).ruleset == game.ruleset
    assert state.returns() == end.returns()


def test_a_game_is_the_sum_of_its_history():
    game = pyspiel.load_game(f"{NAME}(players=4)")
    end = finished(game, 9)
    again = game.new_initial_state()
    for action in end.history():
        again.apply_action(action)
    assert again.position == end.position
    assert again.information_state_string(2) == end.history_str()
    assert again.information_state_string(0) != game.new_initial_state().history_str()


def test_observers():
    game = pyspiel.load_game(f"{NAME}(layout=standard,players=3)")
    state = game.new_initial_state()
    state.apply_action(3)
    seen = make_observation(game)
    for seat in range(3):
        seen.set_from(state, seat)
        assert seen.tensor.dtype == np.float32
        assert np.array_equal(seen.tensor, observe(state.position, seat))
    assert list(seen.dict) == [row.name for row in LAYOUT]
    assert seen.dict["pawns"].shape == (6, 36)
    assert np.shares_memory(seen.dict["die"], seen.tensor)
    history = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    assert history.tensor is None
    assert history.string_from(state, 0) == state.history_str() == "3"
    with pytest.raises(ValueError, match="no parameters; given: {'moons': 2}"):
        make_observation(game, params={"moons": 2})
    with pytest.raises(ValueError, match="nothing private"):
        make_observation(game, pyspiel.IIGObservationType(public_info=False, perfect_recall=False))


def test_illegal_actions_are_refused():
    state = pyspiel.load_game(SMALL).new_initial_state()
    state.apply_action(2)
    with pytest.raises(IllegalMoveError, match="action 5 is not legal"):
        state.apply_action(5)


# OpenSpiel's players and learners --------------------------------------------------------------


def search(game: pyspiel.Game, simulations: int, seed: int) -> mcts.MCTSBot:
    rng = np.random.RandomState(seed)
    rollouts = mcts.RandomRolloutEvaluator(n_rollouts=1, random_state=rng)
    return mcts.MCTSBot(game, 2.0, simulations, rollouts, random_state=rng)


@pytest.mark.parametrize("chosen", ["preset=basic,players=2", "preset=full,players=4"])
def test_its_tree_search_plays(chosen):
    """Whole games through chance nodes, all seats searching."""
    game = pyspiel.load_game(f"{NAME}({chosen})")
    bots = [search(game, 4, seat) for seat in range(game.num_players())]
    returns = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, np.random.RandomState(1))
    assert math.isclose(sum(returns), 0, abs_tol=1e-9)
    assert max(returns) > 0


def test_its_tree_search_beats_chance():
    """60 games on a board of 8 tiles; without skill the mean return is 0 +- 0.13."""
    game = pyspiel.load_game(f"{NAME}(layout=[-8;5;-3;lucky;-6;4;-2;7],pawns=2)")
    rng = np.random.RandomState(2)
    total = 0.0
    for number in range(60):
        seat = number % 2
        bots = [uniform_random.UniformRandomBot(each, rng) for each in range(2)]
        bots[seat] = search(game, 40, number)
        total += evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)[seat]
    assert total / 60 > 0.26


def test_its_compiled_tree_search_plays():
    game = pyspiel.load_game(f"{NAME}(players=3,layout=[-8;5;-3;lucky;-6;4],pawns=1)")
    bots = [
        pyspiel.MCTSBot(
            game,
            pyspiel.RandomRolloutEvaluator(1, seat),
            2.0,
            5,
            1,
            False,
            seat,
            False,
        )
        for seat in range(3)
    ]
    returns = pyspiel.evaluate_bots(game.new_initial_state(), bots, 3)
    assert math.isclose(sum(returns), 0, abs_tol=1e-9)


@pytest.mark.parametrize(
    "rules",
    [
        {"layout": [-3, 4], "pawns": 1},
        {"layout": ["lucky", -2], "pawns": 1, "scoring": "expert"},
        {"layout": ["lucky", -2], "pawns": 1, "guards": True},
        {"layout": [5, "steal"], "pawns": 1},
    ],
)
def test_its_minimax_agrees_with_our_solver(rules):
    """The value of the opening, by two ways that share nothing but the rules."""
    ruleset = Ruleset(players=2, action_tiles=False, **rules)
    game = pyspiel.load_game(NAME, parameters(ruleset))
    state = game.new_initial_state()
    value, _ = minimax.expectiminimax(state, game.max_game_length(), None, 0)
    share, _ = solve(opening_of(ruleset)).opening_values
    assert math.isclose(value, 2 * share - 1, abs_tol=1e-9)


def test_its_learning_environment_plays():
    env = rl_environment.Environment(f"{NAME}(players=3)")
    env.seed(4)
    rng = np.random.default_rng(4)
    step = env.reset()
    while not step.last():
        seat = step.observations["current_player"]
        seen = step.observations["info_state"][seat]
        assert len(seen) == OBS_SIZE
        legal = step.observations["legal_actions"][seat]
        step = env.step([int(rng.choice(legal))])
    assert math.isclose(sum(step.rewards), 0, abs_tol=1e-9)
    assert max(step.rewards) > 0


# Not installed ---------------------------------------------------------------------------------


def test_without_open_spiel_the_extra_is_named():
    code = "import sys; sys.modules['pyspiel'] = None; import thatslife_env.open_spiel_game"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode != 0
    assert "pip install 'thatslife[adapters]'" in done.stderr.splitlines()[-1]
