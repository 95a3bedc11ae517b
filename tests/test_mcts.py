"""`mcts`: it finds what brute force finds, and is a function of position and key."""

import random
import threading
import time

import numpy as np
import pytest
from brute import solve
from conftest import random_position
from test_expectimax import Scrambled, no_keys, positions, stack

import agents
from agents import Agent, AgentError, arena
from agents.arena import play_games
from agents.mcts import NODE, TreeSearch
from thatslife_env import Position, Ruleset
from thatslife_env.games import stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code


def random_keys(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, n, np.uint64)


def small_ends(n: int) -> list[Position]:
    """Two players with two pawns each on three tiles, in the middle of a random game."""
    made: list[Position] = []
    number = 0
    while len(made) < n:
        rng = random.Random(f"ends {number}")
        number += 1
        layout = tuple(rng.choice([-9, -5, -2, 2, 6, 8, "lucky"]) for _ in range(3))
        scoring = rng.choice(["standard", "expert"])
        position = Position.deal(Ruleset(pawns=2, layout=layout, scoring=scoring), 0)
        while not position.is_over:
            if position.phase == "roll":
                position = position.roll(rng.randint(1, 6))
            elif len(position.legal_actions()) > 1 and rng.random() < 0.6:
                made.append(position)
                break
            else:
                position = position.play(rng.choice(position.legal_actions()))
    return made


def test_it_converges_to_perfect_play():
    """What it plays is perfect, and the value of that is found.

    For two players: with more, the value is not unique, as who is indifferent may do either.
    """
    made = small_ends(30)
    evaluation = agents.make("mcts:simulations=20000").evaluate(stack(made), random_keys(30))
    errors = []
    n_clear = 0
    for position, values, played in zip(made, evaluation.values, evaluation.actions, strict=True):
        wanted = {a: each[position.player] for a, each in solve(position).items()}
        best = max(wanted.values())
        assert wanted[int(played)] > best - 0.01, position
        errors.append(abs(values[played] - best))
        n_clear += best - min(wanted.values()) > 0.02
    assert n_clear >= 15
    assert np.mean(errors) < 0.02
    assert max(errors) < 0.1


def test_more_simulations_play_no_worse():
    """Mean loss against perfect play: falls with the budget, and 1 simulation is far from it."""
    made = small_ends(30)
    values = [{a: each[p.player] for a, each in solve(p).items()} for p in made]

    def loss(n: int) -> float:
        agent = agents.make(f"mcts:simulations={n}")
        played = agent.choose(stack(made), random_keys(len(made), 1))
        return float(
            np.mean([max(v.values()) - v[int(a)] for v, a in zip(values, played, strict=True)])
        )

    few, many = loss(1), loss(4000)
    assert many < 0.005
    assert few > 0.05


def test_it_plays_better_than_flat_monte_carlo_with_as_many_games():
    """Mean loss in 240 decisions of games for two, judged by a learned value that looks ahead."""
    made: list[Position] = []
    player = agents.make("greedy", seed=1)
    for deal in range(40):
        position = Position.deal(Ruleset(), 1000 + deal)
        rng = random.Random(deal)
        met = []
        while not position.is_over:
            if position.phase == "roll":
                position = position.roll(rng.randint(1, 6))
                continue
            if len(position.legal_actions()) > 1:
                met.append(position)
            position = position.play(player.act(position))
        made += met[:: max(len(met) // 6, 1)][:6]
    states, keys = stack(made), random_keys(len(made))
    judge = agents.make("expectimax:depth=2,value=[td:builtin/2p]").evaluate(states, keys)

    def loss(spec: str) -> float:
        played = agents.make(spec).choose(states, keys)
        return float(np.mean(np.nanmax(judge.values, 1) - judge.values[range(len(made)), played]))

    assert len(made) == 240
    tree, flat, blind = (
        loss(spec) for spec in ("mcts:simulations=300", "mc:playouts=300", "random")
    )
    assert tree < 0.8 * flat < flat < blind


@pytest.mark.parametrize(
    "spec",
    [
        "mcts:simulations=60",
        "mcts:simulations=20,value=[expectimax:depth=1]",
        "mcts:simulations=20,policy=greedy,value=[expectimax:depth=1]",
        "mcts:simulations=20,policy=greedy",
        "mcts:simulations=60,reuse=true",
    ],
)
def test_the_move_depends_on_position_and_key_alone(spec):
    agent = agents.make(spec)
    made = positions(100, "mcts alone")
    states, keys = stack(made), random_keys(len(made))
    before = states.tobytes()
    whole = agent.choose(states, keys)
    assert states.tobytes() == before
    assert all(action in p.legal_actions() for action, p in zip(whole, made, strict=True))
    order = np.random.default_rng(1).permutation(len(made))
    assert (agents.make(spec).choose(states[order], keys[order]) == whole[order]).all()
    for number in range(0, len(made), 7):
        assert agent.choose(states[number : number + 1], keys[number : number + 1]) == whole[number]
    evaluation = agent.evaluate(states, keys)
    contested = [len(p.legal_actions()) > 1 for p in made]
    assert (evaluation.actions == whole)[contested].all()
    others = agent.choose(states, random_keys(len(made), 2))
    assert (others != whole).any() or "value" in spec  # the key matters


@pytest.mark.parametrize(
    "spec",
    [
        "mc:rollouts=5",
        "expectimax:depth=2",
        "expectimax:depth=2,value=[td:builtin/2p]",
        "mcts:simulations=20",
        "mcts:simulations=10,policy=greedy,value=[td:builtin/2p]",
        "td:builtin/2p",
    ],
)
def test_threads_and_batches_change_no_game(spec, monkeypatch):
    ruleset = Ruleset.preset("full", players=2)
    seeds = stream_seeds(3, 6)
    lineups = np.tile([[0, 1], [1, 0]], (3, 1))
    players = [agents.make(spec), agents.make("greedy")]
    whole = play_games(players, ruleset, seeds, lineups, record=True)
    for number in (0, 5):
        part = slice(number, number + 1)
        alone = play_games(players, ruleset, seeds[part], lineups[part], record=True)
        assert alone.actions[0] == whole.actions[number]
    monkeypatch.setattr(arena, "BATCH", 2)
    threaded = play_games(players, ruleset, seeds, lineups, threads=3, record=True)
    assert threaded.actions == whole.actions


def test_the_same_agent_in_several_threads():
    agent = agents.make("mcts:simulations=60")
    made = positions(60, "threads")
    states, keys = stack(made), random_keys(len(made))
    whole = agent.choose(states, keys)
    found: list = [None] * 4

    def play(number: int) -> None:
        found[number] = agent.choose(states, keys)

    threads = [threading.Thread(target=play, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((played == whole).all() for played in found)


def test_future_dice_are_not_seen():
    """Two games that differ only in dice to come look the same: the state holds no chance."""
    rules = Ruleset(layout="standard")
    first, second = (Position.deal(rules, seed).roll(5) for seed in (1, 2))
    assert first.state.tobytes() == second.state.tobytes()
    key = random_keys(1)
    for spec in ("mcts:simulations=50", "expectimax:depth=2"):
        agent = agents.make(spec)
        assert agent.choose(first.state, key) == agent.choose(second.state, key)


def test_a_single_action_is_played_at_once():
    position = Position.deal(Ruleset(), 1).roll(3)
    assert position.legal_actions() == [0]
    agent = agents.make("mcts:seconds=60")
    begin = time.monotonic()
    assert agent.act(position) == 0
    assert time.monotonic() - begin < 30


def test_the_values_and_priors_of_others_are_asked_for():
    class Sure(Agent):
        """Sure of the highest action; every seat is worth the same."""

        def __init__(self):
            super().__init__("sure")
            self.asked = 0

        def choose(self, states, keys):
            raise NotImplementedError

        def probabilities(self, states):
            self.asked += len(states)
            assert (~np.isin(states["phase"], (0, 4))).all()
            legal = [Position.from_state(state).legal_actions() for state in states]
            return np.eye(16)[[actions[-1] for actions in legal]]

        def values(self, states):
            assert (states["phase"] != 4).all()
            seated = np.arange(6) < states["players"][:, None]
            return seated / states["players"][:, None].astype(np.float64)

    made = positions(10, "asked", phases=("move",))
    made = [p for p in made if len(p.legal_actions()) > 1]
    sure = Sure()
    agent = TreeSearch("x", simulations=20, policy=sure, value=sure)
    # where all is worth the same, priors decide, unless the end is in sight
    far = [p for p in made if sum(map(len, p.to_json()["pawns"])) > 2]
    played = agent.choose(stack(far), random_keys(len(far)))
    assert sure.asked > 0
    agreed = [a == p.legal_actions()[-1] for a, p in zip(played, far, strict=True)]
    assert sum(agreed) >= 0.8 * len(agreed)


def test_values_of_others_replace_rollouts():
    """One simulation below each of the actions: their values are just those of the other."""
    position = next(
        p
        for p in positions(200, "replace", phases=("move",))
        if len(p.legal_actions()) == 2 and all(p.play(a).phase == "roll" for a in p.legal_actions())
    )
    agent = TreeSearch("x", simulations=3, value=Scrambled())
    evaluation = agent.evaluate(position.state, random_keys(1))
    for action in position.legal_actions():
        share = Scrambled.shares(position.play(action))[position.player]
        found = evaluation.values[0, action]
        assert np.isnan(found) or found == pytest.approx(share, abs=1e-12)
    assert np.isfinite(evaluation.values[0]).any()


def test_a_full_tree_goes_on():
    agent = TreeSearch("x", simulations=400)
    agent._capacity = 40
    made = positions(10, "full", phases=("move",))
    evaluation = agent.evaluate(stack(made), random_keys(len(made)))
    for position, values in zip(made, evaluation.values, strict=True):
        assert np.isfinite(values[position.legal_actions()]).any()
    assert NODE.itemsize <= 80


# The clock, and what is kept ------------------------------------------------------------------


def test_seconds_are_kept():
    agent = agents.make("mcts:seconds=0.2")
    position = Position.deal(Ruleset.preset("full", players=2), 3).roll(1).play(0).roll(6).play(0)
    position = position.roll(2)
    agents.make("mcts:simulations=2").act(position)  # compiled before the clock runs
    begin = time.monotonic()
    assert agent.act(position) in position.legal_actions()
    assert 0.2 <= time.monotonic() - begin < 3


def game_of(agent: Agent, seed: int) -> tuple[list[int], list[int]]:
    """The moves of both seats, and what the tree of the agent held when each move began."""
    position = Position.deal(Ruleset(layout=(3, -4, "lucky", 2, -1), pawns=2), 0)
    rng = random.Random(seed)
    moves, held = [], []
    while not position.is_over:
        if position.phase == "roll":
            position = position.roll(rng.randint(1, 6))
            continue
        action = agent.act(position)
        if agent._kept is not None:
            held.append(int(agent._kept.nodes[0, 0]["visits"]))
        moves.append(action)
        position = position.play(action)
    return moves, held


def test_a_tree_is_reused_and_the_game_stays_reproducible():
    spec = "mcts:simulations=200,reuse=true"
    first, held = game_of(agents.make(spec, seed=5), 1)
    again, _ = game_of(agents.make(spec, seed=5), 1)
    assert first == again
    assert max(held) > 210  # a tree that was made anew has 200
    assert game_of(agents.make("mcts:simulations=200", seed=5), 1)[1] == []


def test_another_game_begins_anew():
    agent = agents.make("mcts:simulations=100,reuse=true", seed=1)
    made = [p for p in positions(20, "anew") if len(p.legal_actions()) > 1]
    for position in made:
        agent.act(position)
        assert agent._kept.nodes[0, 0]["visits"] == 100


def test_what_is_taken_over_is_the_tree_of_that_position():
    """Asked for the same position twice, the second search goes on from all of the first."""
    agent = TreeSearch("x", seed=1, simulations=100, reuse=True)
    position = next(p for p in positions(50, "same") if len(p.legal_actions()) > 2)
    agent.act(position)
    action = int(agent._kept.outcome()[0].argmax())
    after = position.play(action)
    while after.phase == "roll":
        after = after.roll(3)
    if len(after.legal_actions()) > 1:
        before = agent._kept
        agent.act(after)
        assert agent._kept.nodes[0, 0]["visits"] >= 100
        assert before.nodes[0, 0]["visits"] == 100


# Specs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("mcts", "simulations=N or seconds=T"),
        ("mcts:simulations=10,seconds=1", "either"),
        ("mcts:simulations=0", "bad value"),
        ("mcts:simulations=-5", "bad value"),
        ("mcts:seconds=0", "bad value"),
        ("mcts:seconds=nan", "bad value"),
        ("mcts:seconds=inf", "bad value"),
        ("mcts:seconds=soon", "bad value"),
        ("mcts:simulations=10,reuse=yes", "bad value"),
        ("mcts:simulations=10,policy=mc:rollouts=3", "not known"),
        ("mcts:simulations=10,policy=human", "not known"),
        ("mcts:simulations=10,value=greedy", "no value"),
        ("mcts:simulations=10,value=[nobody]", "unknown agent 'nobody'"),
        ("mcts:playouts=10", "simulations, seconds, policy, value, reuse"),
    ],
)
def test_bad_specs_are_refused(spec, told):
    with pytest.raises(AgentError) as caught:
        agents.make(spec)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        "mcts:simulations=7",
        "mcts:seconds=0.5",
        "mcts:simulations=7,policy=greedy",
        "mcts:simulations=7,policy=[greedy],value=[expectimax:depth=1]",
        "mcts:simulations=7,value=[expectimax:depth=2,value=[expectimax:depth=1]],reuse=true",
    ],
)
def test_specs_round_trip(spec):
    agent = agents.make(spec)
    assert agent.name == spec
    assert agents.make(agent.name).name == spec
    assert repr(agent) == f"agents.make({spec!r})"


def test_probabilities_are_not_known():
    with pytest.raises(AgentError, match="not known"):
        agents.make("mcts:simulations=5").probabilities(stack(positions(1, "p")))


def test_made_up_positions_of_every_kind():
    rng = random.Random("every kind")
    made = [
        Position.from_json(random_position(rng, rng.choice(["move", "give", "steal"])))
        for _ in range(150)
    ]
    played = agents.make("mcts:simulations=12").choose(stack(made), no_keys(made))
    for position, action in zip(made, played, strict=True):
        assert action in position.legal_actions()
