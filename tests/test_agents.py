"""Players: how specs name them, what every one of them keeps to, and how each is defined."""

import io
import itertools
import json
import os
import random
import time
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import reference
import torch
from conftest import random_position

import agents
from agents import Agent, AgentError
from agents.arena import play_games, to_records
from agents.networks import NetworkAgent, make_network
from agents.registry import KINDS, split_options
from thatslife_env import PRESETS, IllegalMoveError, Position, Ruleset
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

SLOW = os.environ.get("THATSLIFE_SLOW") == "1"
VARIANTS = list(itertools.product(PRESETS, range(2, 7)))
# chi-square, p = 0.001, by degrees of freedom
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46, 7: 24.32, 8: 26.12}


def make_net_agent(*, sample: bool = False) -> NetworkAgent:
    """A network that never learned, with scores far enough apart to matter."""
    torch.manual_seed(5)
    network = make_network({"kind": "mlp", "hidden": [48, 32]})
    torch.nn.init.normal_(network.policy[-1].weight)
    return NetworkAgent("network", network, sample=sample)


PLAYERS = {
    "random": lambda: agents.make("random"),
    "greedy": lambda: agents.make("greedy"),
    "rollouts": lambda: agents.make("mc:rollouts=2"),
    "playouts": lambda: agents.make("mc:playouts=5"),
    "network": make_net_agent,
    "sampling network": lambda: make_net_agent(sample=True),
}


@pytest.fixture(params=PLAYERS)
def player(request) -> Agent:
    return PLAYERS[request.param]()


def decisions(n: int, name: str) -> list[Position]:
    """Made-up positions in all three phases of decision, for 2 to 6 players."""
    phases = ("move", "move", "move", "give", "steal")
    return [
        Position.from_json(random_position(random.Random(f"{name} {number}"), phases[number % 5]))
        for number in range(n)
    ]


def stack(positions: list[Position]) -> np.ndarray:
    return np.concatenate([position.state for position in positions])


def random_keys(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, n, np.uint64)


def fits(counts: Counter, chances: dict[int, float]) -> bool:
    """Whether counts are what chances let expect, by a chi-square test; all seeds are fixed."""
    assert set(counts) <= set(chances)
    n = counts.total()
    statistic = sum((counts[key] - n * p) ** 2 / (n * p) for key, p in chances.items())
    return len(chances) == 1 or statistic < CRITICAL[len(chances) - 1]


def even(actions: list[int]) -> dict[int, float]:
    return dict.fromkeys(actions, 1 / len(actions))


# Specs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    ["random", "greedy", "human", "mc:rollouts=1", "mc:rollouts=300", "mc:playouts=2000"],
)
def test_a_spec_makes_an_agent_of_its_name(spec):
    agent = agents.make(spec, seed=3)
    assert isinstance(agent, Agent)
    assert agent.name == spec
    assert agents.make(agent.name).name == spec  # the name makes it again
    assert repr(agent) == f"agents.make({spec!r})"


@pytest.mark.parametrize("spec", [" greedy", "greedy ", "\trandom\n", " mc:rollouts=2 "])
def test_blanks_around_a_spec_do_no_harm(spec):
    position = Position.deal(Ruleset(), 1).roll(3)
    assert agents.make(spec).act(position) in position.legal_actions()


def test_a_policy_spec_names_a_folder(tmp_path):
    with pytest.raises(AgentError, match="nowhere"):
        agents.make(f"policy:{tmp_path}/nowhere")
    with pytest.raises(AgentError, match="path"):
        agents.make("policy:")
    with pytest.raises(AgentError, match="policy:PATH"):
        agents.make("policy")


@pytest.mark.parametrize(
    "spec",
    [
        "",
        " ",
        "nobody",
        "Random",
        "rando",
        "random greedy",
        "mc rollouts=3",
        ":",
        ":random",
        "[mc]",
    ],
)
def test_an_unknown_agent_is_told_what_there_is(spec):
    with pytest.raises(AgentError) as caught:
        agents.make(spec)
    for name in ("random", "greedy", "mc:rollouts=N", "mc:playouts=N", "policy:PATH", "human"):
        assert name in str(caught.value)
    assert repr(spec) in str(caught.value)


def test_the_list_of_what_there_is_holds_every_kind():
    with pytest.raises(AgentError) as caught:
        agents.make("nobody")
    assert all(kind in str(caught.value) for kind in KINDS)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("mc:depth=3", "rollouts, playouts"),
        ("mc:rollout=3", "rollouts, playouts"),
        ("mc:=3", "rollouts, playouts"),
        ("mc:30", "rollouts, playouts"),
        ("mc:rollouts=3,", "rollouts, playouts"),
        ("mc:,rollouts=3", "rollouts, playouts"),
        ("mc:rollouts=3,,playouts=2", "rollouts, playouts"),
        ("mc:ROLLOUTS=3", "rollouts, playouts"),
        ("random:seed=3", "none"),
        ("greedy:x", "none"),
        ("human:name=Ada", "none"),
    ],
)
def test_an_unknown_option_is_told_what_there_is(spec, told):
    with pytest.raises(AgentError, match="unknown option") as caught:
        agents.make(spec)
    assert told in str(caught.value)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        *(f"mc:rollouts={bad}" for bad in ("", "x", "2.5", "1e3", "[30]", "0x10", "3=3", "-")),
        "mc:rollouts",
        "mc:playouts=many",
    ],
)
def test_a_bad_value_is_told_the_usage(spec):
    with pytest.raises(AgentError, match="mc:rollouts=N") as caught:
        agents.make(spec)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize("count", [10**20, 2**63])
def test_numbers_too_large_to_count_with_are_refused(count):
    with pytest.raises(AgentError, match="rollouts"):
        agents.make(f"mc:rollouts={count}")


@pytest.mark.parametrize(
    "spec",
    [
        "mc",
        *("mc:rollouts=0", "mc:rollouts=-3", "mc:playouts=0", "mc:playouts=-1"),
        *("mc:rollouts=3,playouts=2", "mc:rollouts=0,playouts=0"),
    ],
)
def test_monte_carlo_takes_just_one_positive_number(spec):
    with pytest.raises(AgentError):
        agents.make(spec)


def test_options_may_not_stand_twice():
    with pytest.raises(AgentError, match="twice"):
        agents.make("mc:rollouts=3,rollouts=3")


def test_a_colon_wants_something_behind_it():
    for spec in ("random:", "greedy:", "mc:", "human:"):
        with pytest.raises(AgentError, match="usage"):
            agents.make(spec)


@pytest.mark.parametrize(
    "spec", ["mc:rollouts=[3", "mc:rollouts=3]", "mc:rollouts=]3[", "mc:[", "mc:rollouts=[[3]"]
)
def test_brackets_must_match(spec):
    with pytest.raises(AgentError, match="brackets"):
        agents.make(spec)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a=1", ["a=1"]),
        ("a=1,b=2", ["a=1", "b=2"]),
        ("depth=2,value=[td:builtin/2p]", ["depth=2", "value=[td:builtin/2p]"]),
        (
            "value=[mc:rollouts=3,playouts=4],depth=2",
            ["value=[mc:rollouts=3,playouts=4]", "depth=2"],
        ),
        ("a=[b=[c,d],e],f=[g]", ["a=[b=[c,d],e]", "f=[g]"]),
        ("a,", ["a", ""]),
    ],
)
def test_options_are_split_outside_brackets_only(text, parts):
    assert split_options(text, "spec") == parts


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, None])
def test_a_seed_is_a_whole_number_of_64_bits(seed):
    with pytest.raises(ValueError, match="seed"):
        agents.make("random", seed)


def test_a_path_too_long_for_the_system_is_an_agent_error():
    with pytest.raises(AgentError):
        agents.make("policy:" + "x" * 300)


# What every agent keeps to ----------------------------------------------------------------------


def test_act_plays_legally_and_changes_nothing(player):
    for position in decisions(60, "act"):
        before = position.state.tobytes()
        action = player.act(position)
        assert type(action) is int
        assert action in position.legal_actions()
        assert position.state.tobytes() == before


def test_act_repeats_with_its_seed_and_goes_on_drawing():
    position = Position.from_json(random_position(random.Random("wide"), "move"))
    openings = [
        Position.deal(Ruleset.preset("full", players=4), seed).roll(3) for seed in range(40)
    ]

    def run(seed: int) -> list[int]:
        agent = agents.make("random", seed)
        return [agent.act(position) for position in [position, *openings * 2]]

    assert run(7) == run(7)
    assert run(7) != run(8)
    walked = Position.from_json(
        {
            "rules": {"players": 2, "pawns": 3, "guards": False, "scoring": "standard"},
            "track": ["start", -3, "lucky", 5, "finish"],
            "pawns": [[0, 1, 2], [0, 0, 0]],
            "guards": [],
            "towers": [[], []],
            "player": 0,
            "phase": "move",
            "die": 1,
        }
    )
    agent = agents.make("random", 1)
    assert {agent.act(walked) for _ in range(60)} == {0, 1, 2}  # not one key for ever


def test_nothing_to_decide_is_refused(player):
    for phase in ("roll", "over"):
        position = Position.from_json(random_position(random.Random("idle"), phase))
        with pytest.raises(IllegalMoveError, match=phase):
            player.act(position)


def test_a_batch_is_legal_and_leaves_the_states_alone(player):
    positions = decisions(200, "batch")
    states = stack(positions)
    before = states.tobytes()
    for rng in (np.random.default_rng(4), random_keys(200, 4)):
        actions = player.act_batch(states, rng)
        assert actions.shape == (200,)
        assert actions.dtype == np.int64
        assert states.tobytes() == before
        for position, action in zip(positions, actions, strict=True):
            assert action in position.legal_actions()


def test_what_is_played_does_not_depend_on_the_batch(player):
    """Same position, same key: same action, alone or among others, in any order."""
    states = stack(decisions(150, "alone"))
    keys = random_keys(150, 9)
    together = player.act_batch(states, keys)
    alone = [player.act_batch(states[i : i + 1], keys[i : i + 1])[0] for i in range(150)]
    np.testing.assert_array_equal(together, alone)
    order = np.random.default_rng(1).permutation(150)
    np.testing.assert_array_equal(player.act_batch(states[order], keys[order]), together[order])
    for size in (2, 31, 32, 33, 149):
        np.testing.assert_array_equal(player.act_batch(states[:size], keys[:size]), together[:size])
        np.testing.assert_array_equal(
            player.act_batch(states[-size:], keys[-size:]), together[-size:]
        )
    np.testing.assert_array_equal(player.act_batch(states, keys), together)  # and not on its past


def test_chance_comes_from_the_keys():
    """Where there is something to draw, other keys give other actions."""
    states = stack(decisions(150, "chance"))
    for name in ("random", "rollouts", "sampling network"):
        player = PLAYERS[name]()
        first, second = (player.act_batch(states, random_keys(150, seed)) for seed in (1, 2))
        assert (first != second).any(), name
    network = make_net_agent()
    np.testing.assert_array_equal(
        network.act_batch(states, random_keys(150, 1)),
        network.act_batch(states, random_keys(150, 2)),
    )


def test_a_generator_repeats_with_its_seed(player):
    states = stack(decisions(80, "generator"))
    first, again = (player.act_batch(states, np.random.default_rng(11)) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("name", ["random", "greedy", "network", "sampling network"])
def test_probabilities_are_the_shares_of_many_keys(name):
    player = PLAYERS[name]()
    states, keys = stack(decisions(60, "shares")), random_keys(2000, 8)
    probabilities = player.probabilities(states)
    assert probabilities.shape == (60, 16)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    for i, expected in enumerate(probabilities):
        played = player.act_batch(np.repeat(states[i : i + 1], len(keys)), keys)
        shares = np.bincount(played, minlength=16) / len(keys)
        assert np.abs(shares - expected).max() < 0.06
        assert not shares[expected == 0].any()


def test_probabilities_and_values_that_are_not_known_are_refused():
    states = stack(decisions(2, "unknown"))
    with pytest.raises(AgentError, match="mc:rollouts=3: how likely its actions are is not known"):
        agents.make("mc:rollouts=3").probabilities(states)
    with pytest.raises(AgentError, match="greedy: it has no value of positions"):
        agents.make("greedy").values(states)


def test_an_empty_batch_has_no_actions(player):
    states = stack(decisions(1, "none"))[:0]
    assert player.act_batch(states, np.random.default_rng(0)).shape == (0,)


def test_agents_leave_the_global_generators_alone(player):
    states = stack(decisions(50, "global"))
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    before = (
        random.getstate(),
        np.random.get_state()[1].tobytes(),  # noqa: NPY002
        torch.get_rng_state().numpy().tobytes(),
    )
    player.act_batch(states, np.random.default_rng(1))
    player.act(decisions(1, "global")[0])
    after = (
        random.getstate(),
        np.random.get_state()[1].tobytes(),  # noqa: NPY002
        torch.get_rng_state().numpy().tobytes(),
    )
    assert before == after


@pytest.mark.parametrize("phase", ["roll", "over"])
def test_a_network_refuses_a_mask_without_a_legal_action(phase):
    idle = Position.from_json(random_position(random.Random("mask"), phase))
    good = decisions(5, "mask")
    agent = make_net_agent()
    for sample in (False, True):
        agent = make_net_agent(sample=sample)
        for positions in ([idle], [*good, idle], [idle, *good]):
            with pytest.raises(ValueError, match="nothing to decide"):
                agent.act_batch(stack(positions), np.random.default_rng(0))


@pytest.mark.parametrize("name", PLAYERS)
def test_a_thousand_games_have_no_illegal_move(name):
    """In every preset, for every number of players; some are replayed by the reference."""
    agent = PLAYERS[name]()
    per_variant = 500 if SLOW else 50
    n_games = 0
    for number, (preset, players) in enumerate(VARIANTS):
        ruleset = Ruleset.preset(preset, players=players)
        seeds = stream_seeds(number, per_variant)
        lineups = np.zeros((per_variant, players), np.int64)
        results = play_games([agent], ruleset, seeds, lineups, record=True)  # raises if illegal
        n_games += len(results.decisions)
        assert (results.decisions >= players * ruleset.pawns).all()
        record = to_records(
            type(results)(**{**vars(results), "actions": results.actions[:1]}),
            [agent],
            ruleset,
            seeds[:1],
            lineups[:1],
        )[0]
        game = reference.Game.deal(**reference.preset(preset, players), seed=int(seeds[0]))
        for kind, value in record.events:
            if kind == "roll":
                game.roll(value)
            else:
                assert value in game.legal_actions()
                game.play(value)
        assert game.phase == "over"
        assert game.scores() == list(results.points[0, :players])
    assert n_games >= 1000


# random and greedy ------------------------------------------------------------------------------


def test_random_plays_each_legal_action_equally_often():
    for position in decisions(25, "uniform"):
        legal = position.legal_actions()
        n = 400 * len(legal)
        states = np.repeat(position.state, n)
        counts = Counter(agents.make("random").act_batch(states, random_keys(n, 21)).tolist())
        assert fits(counts, even(legal)), (counts, position)


def greedy_actions(position: Position) -> list[int]:
    """The actions that DESIGN allows greedy, from the position that `play` returns."""
    seat, players = position.player, position.players
    values = {}
    for action in position.legal_actions():
        after = position.play(action).to_json()
        worth = [
            reference.tower_score(tower, after["rules"]["scoring"]) + 4 * tower.count("lucky")
            for tower in after["towers"]
        ]
        values[action] = worth[seat] - Fraction(sum(worth) - worth[seat], players - 1)
    return [action for action, value in values.items() if value == max(values.values())]


def test_greedy_plays_what_its_definition_allows_and_draws_among_equals():
    seen = Counter()
    for position in decisions(300, "greedy"):
        allowed = greedy_actions(position)
        found = Counter(
            agents.make("greedy")
            .act_batch(np.repeat(position.state, 60), random_keys(60, 2))
            .tolist()
        )
        assert set(found) == set(allowed)
        seen[len(allowed) > 1, len(position.legal_actions()) > 1] += 1
    assert seen[True, True] > 50  # ties
    assert seen[False, True] > 50  # real choices


# Monte Carlo ------------------------------------------------------------------------------------

LAST_MOVES = {
    # seat 0 keeps 6; who gets the -5 decides who wins: seat 1 leads with 8
    "give": (
        [[6, -5], [3, 5], [-1, 5]],
        {11: 1, 12: 0},
    ),
    # seat 0 has 2; stealing 4 makes 6 against 1 and 5, stealing -3 makes -1
    "steal": (
        [[2], [1, 4], [8, -3]],
        {11: 1, 12: 0},
    ),
    # stealing 3 makes 5, level with seat 2: half a win; stealing 1 from seat 2 makes 3 against 4
    "steal for a share": (
        [[2], [1, 3], [4, 1]],
        {11: Fraction(1, 2), 12: 0},
    ),
}


def finished_table(towers: list[list], phase: str) -> dict:
    """All pawns are home; one choice of an opponent is left."""
    players = len(towers)
    return {
        "rules": {"players": players, "pawns": 1, "guards": False, "scoring": "standard"},
        "track": ["start", "finish"],
        "pawns": [[1]] * players,
        "guards": [],
        "towers": towers,
        "player": 0,
        "phase": phase,
        "die": 3,
    }


@pytest.mark.parametrize("spec", ["mc:rollouts=1", "mc:rollouts=50", "mc:playouts=2"])
@pytest.mark.parametrize("name", LAST_MOVES)
def test_the_best_last_move_is_certain(name, spec):
    towers, shares = LAST_MOVES[name]
    position = Position.from_json(finished_table(towers, name.split()[0]))
    for action, share in shares.items():  # what the example says is so
        game = reference.Game.from_json(position.to_json())
        game.play(action)
        winners = game.winners()
        assert game.phase == "over"
        assert share == (Fraction(1, len(winners)) if 0 in winners else 0)
    best = max(shares, key=lambda action: shares[action])
    actions = agents.make(spec).act_batch(np.repeat(position.state, 100), random_keys(100, 1))
    assert set(actions.tolist()) == {best}


def test_the_best_last_move_is_not_always_the_first():
    towers, _ = LAST_MOVES["give"]
    position = Position.from_json(finished_table([towers[0], towers[2], towers[1]], "give"))
    actions = agents.make("mc:rollouts=1").act_batch(
        np.repeat(position.state, 50), random_keys(50, 1)
    )
    assert set(actions.tolist()) == {12}


def test_ties_of_monte_carlo_are_drawn_evenly():
    """Lost whatever is given to whom: all three are as good."""
    position = Position.from_json(finished_table([[-9, -5], [3, 5], [4, 5], [2, 5]], "give"))
    assert position.legal_actions() == [11, 12, 13]
    n = 3000
    for spec in ("mc:rollouts=1", "mc:rollouts=20", "mc:playouts=31"):
        counts = Counter(
            agents.make(spec).act_batch(np.repeat(position.state, n), random_keys(n, 6)).tolist()
        )
        assert fits(counts, even([11, 12, 13])), counts


def test_a_single_legal_action_is_played_at_once():
    position = Position.deal(Ruleset(), 5).roll(4)  # all pawns on the start: one move
    assert position.legal_actions() == [0]
    for spec in ("mc:rollouts=5", "mc:playouts=5"):
        agents.make(spec).act(position)  # compiled by now
    for spec in ("mc:rollouts=2000000", "mc:playouts=2000000"):
        begin = time.perf_counter()
        assert agents.make(spec).act(position) == 0
        assert time.perf_counter() - begin < 0.5  # playing these would take seconds


def endgame(**changes) -> dict:
    """A few moves from the end, so that all that can happen can be counted."""
    position = {
        "rules": {"players": 2, "pawns": 2, "guards": False, "scoring": "standard"},
        "track": ["start", 4, -3, "lucky", -2, "finish"],
        "pawns": [[1, 2], [3, 5]],
        "guards": [],
        "towers": [[2], [3]],
        "player": 0,
        "phase": "move",
        "die": 1,
    }
    return position | changes


ENDGAMES = {
    "two": endgame(),
    "near": endgame(
        track=["start", 5, -4, 3, "finish"], pawns=[[1, 2], [1, 3]], towers=[[-2], [1]], die=2
    ),
    "three players, a gift": endgame(
        rules={"players": 3, "pawns": 1, "guards": True, "scoring": "expert"},
        track=["start", "gift", 3, -4, "finish"],
        pawns=[[1], [2], [1]],
        guards=[1, 2],
        towers=[[1, -6], [2], [1, "lucky", 2]],
        die=2,
    ),
}


@cache
def shares_of(position: str, seat: int) -> dict[Fraction, Fraction]:
    """Chances of each win share of a seat if all roll and move at random from here."""
    game = reference.Game.from_json(json.loads(position))
    if game.phase == "over":
        winners = game.winners()
        return {Fraction(1, len(winners)) if seat in winners else Fraction(0): Fraction(1)}
    choices = range(1, 7) if game.phase == "roll" else game.legal_actions()
    chances: Counter = Counter()
    for choice in choices:
        branch = reference.Game.from_json(json.loads(position))
        if game.phase == "roll":
            branch.roll(choice)
        else:
            branch.play(choice)
        for share, chance in shares_of(json.dumps(branch.to_json()), seat).items():
            chances[share] += chance / len(choices)
    return dict(chances)


def totals(once: dict[Fraction, Fraction], n: int) -> dict[Fraction, Fraction]:
    """Chances of the sum of n independent numbers."""
    result: dict[Fraction, Fraction] = {Fraction(0): Fraction(1)}
    for _ in range(n):
        summed: Counter = Counter()
        for (total, chance), (share, more) in itertools.product(result.items(), once.items()):
            summed[total + share] += chance * more
        result = dict(summed)
    return result


def choice_chances(position: dict, n: int) -> dict[int, float]:
    """How often flat Monte Carlo with n games for each action plays each, exactly."""
    start = reference.Game.from_json(position)
    of_action = []
    legal = start.legal_actions()
    for action in legal:
        game = reference.Game.from_json(position)
        game.play(action)
        of_action.append(totals(shares_of(json.dumps(game.to_json()), position["player"]), n))
    chances = dict.fromkeys(legal, Fraction(0))
    for outcome in itertools.product(*(one.items() for one in of_action)):
        chance = Fraction(1)
        for _, part in outcome:
            chance *= part
        best = max(total for total, _ in outcome)
        winners = [
            action for action, (total, _) in zip(legal, outcome, strict=True) if total == best
        ]
        for action in winners:
            chances[action] += chance / len(winners)
    return {action: float(chance) for action, chance in chances.items()}


@pytest.mark.parametrize("name", ENDGAMES)
def test_monte_carlo_plays_n_games_for_each_legal_action(name):
    """How often each action is played is what exact counting gives for n, and for no other n."""
    position = Position.from_json(ENDGAMES[name])
    n_legal = len(position.legal_actions())
    assert n_legal > 1
    n = 20_000
    states = np.repeat(position.state, n)
    specs = [(f"mc:rollouts={games}", games) for games in (1, 2, 5)]
    specs += [
        (f"mc:playouts={n_legal * 2}", 2),
        (f"mc:playouts={n_legal * 3 - 1}", 2),  # what is left over is not played
        ("mc:playouts=1", 1),  # at least one each
    ]
    for spec, games in specs:
        counts = Counter(agents.make(spec).act_batch(states, random_keys(n, 8)).tolist())
        assert fits(counts, choice_chances(ENDGAMES[name], games)), (spec, counts)
        assert not fits(counts, choice_chances(ENDGAMES[name], games + 1)), (spec, counts)


def test_more_rollouts_find_the_better_move_more_often():
    chances = choice_chances(ENDGAMES["near"], 1)
    best = max(chances, key=lambda action: chances[action])
    state = np.repeat(Position.from_json(ENDGAMES["near"]).state, 300)
    found = [
        (agents.make(f"mc:rollouts={n}").act_batch(state, random_keys(300, 3)) == best).mean()
        for n in (1, 30, 1000)
    ]
    assert found[0] < found[1] < found[2]
    assert found[2] == 1.0


# A person ---------------------------------------------------------------------------------------


def test_a_person_is_shown_the_position_and_asked_until_the_answer_is_legal(monkeypatch, capsys):
    position = Position.from_json(ENDGAMES["three players, a gift"])
    assert position.legal_actions() == [0, 3, 4]
    answers = ["", "x", "1", "-1", "99", "3.0", "0x3", "²", "3 4", "11", "  3 "]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    human = agents.make("human")
    assert human.act(position) == 3
    shown = capsys.readouterr().out
    assert str(position) in shown
    for action in position.legal_actions():
        assert f"{action:2d}  {position.describe(action)}" in shown
    assert shown.count("please enter one of 0, 3, 4") == len(answers) - 1


def test_a_person_is_asked_for_each_decision_of_a_batch(monkeypatch):
    first, second = Position.from_json(ENDGAMES["two"]), Position.from_json(ENDGAMES["near"])
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n0\n"))
    actions = agents.make("human").act_batch(stack([first, second]), np.random.default_rng(0))
    assert actions.tolist() == [1, 0]


@pytest.mark.parametrize("text", ["", "x\n", "99\nnonsense\n"])
def test_the_end_of_the_input_is_told_as_such(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(EOFError):
        agents.make("human").act(Position.from_json(ENDGAMES["two"]))


def test_a_person_is_not_asked_where_nothing_is_to_decide(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("0\n"))
    with pytest.raises(IllegalMoveError):
        agents.make("human").act(Position.deal(Ruleset(), 1))
