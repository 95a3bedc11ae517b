"""The PettingZoo door: who is asked, who is credited, and what an error leaves behind."""

import copy
import hashlib
import itertools
import json
import pickle
import random
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import reference
from conftest import random_position
from pettingzoo.test import api_test, seed_test

from thatslife_env import PRESETS, IllegalMoveError, Position, PositionError, Ruleset, thatslife_v0
from thatslife_env.observation import action_mask, observe
from thatslife_env.position import dice

GAMMA = 0x9E3779B97F4A7C15
DOORS = [thatslife_v0.raw_env, thatslife_v0.env]
VARIANTS = list(itertools.product(PRESETS, range(2, 7)))


def draw64(seed: int, k: int) -> int:
    return reference.mix(seed + (k + 1) * GAMMA)


class Shadow:
    """The same game, played beside the environment with `Position` and `dice` alone."""

    def __init__(self, rules: Ruleset, deal: int, position: Position | None = None) -> None:
        self.deal = deal
        self.n_rolls = 0
        self.position = position or Position.deal(rules, deal)
        self._roll()

    def _roll(self) -> None:
        if self.position.phase == "roll":
            self.position = self.position.roll(dice(self.deal, self.n_rolls))
            self.n_rolls += 1

    def play(self, action: int) -> None:
        self.position = self.position.play(action)
        self._roll()


def script(position: Position) -> int:
    """A legal action that the position alone decides."""
    legal = position.legal_actions()
    return legal[zlib.crc32(position.state.tobytes()) % len(legal)]


def finish(env: Any, rng: random.Random | None = None) -> Iterator[str]:
    """Play on to the end of the game, yielding each agent before its decision."""
    while not any(env.terminations.values()):
        yield env.agent_selection
        position = env.unwrapped.position
        env.step(rng.choice(position.legal_actions()) if rng else script(position))


def seat_of(agent: str) -> int:
    return int(agent.removeprefix("player_"))


def win_rewards(shown: dict) -> list[float]:
    """The reward `win`, by the reference."""
    winners = reference.Game.from_json(shown).winners()
    n = shown["rules"]["players"]
    return [
        (n / len(winners) - 1) / (n - 1) if seat in winners else -1 / (n - 1) for seat in range(n)
    ]


def leads(position: Position) -> list[float]:
    """Points less the opponents' mean; 0 at the end."""
    points, n = position.scores(), position.players
    if position.is_over:
        return [0.0] * n
    return [own - (sum(points) - own) / (n - 1) for own in points]


def per_agent(env: Any, values: list[float]) -> dict[str, Any]:
    """Approximately these values, by agent."""
    return pytest.approx(dict(zip(env.possible_agents, values, strict=True)), abs=1e-9)


def everything(env: Any) -> bytes:
    """All that an environment knows, private things too."""
    return pickle.dumps(env)


TABLE = {
    "rules": {"players": 3, "pawns": 1, "guards": False, "scoring": "standard"},
    "track": ["start", -7, 4, "lucky", 2, "finish"],
    "pawns": [[0], [1], [2]],
    "guards": [],
    "towers": [[], [], []],
    "player": 1,
    "phase": "move",
    "die": 1,
}


# Conformance --------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("name", "players"), VARIANTS)
@pytest.mark.filterwarnings("ignore:unknown option 'options':UserWarning")
@pytest.mark.filterwarnings("ignore:.*Observation space for each agent probably:UserWarning")
@pytest.mark.filterwarnings("ignore:.*Observation is not a NumPy array:UserWarning")
@pytest.mark.filterwarnings("ignore:.*unknown option 'options' is ignored.*:UserWarning")
def test_api(door, name, players):
    api_test(door(ruleset=name, players=players), num_cycles=1000)
    api_test(door(ruleset=name, players=players, shaping=0.1, reward="rank"), num_cycles=100)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("name", "players"), VARIANTS)
def test_seeds_by_the_book(door, name, players):
    seed_test(lambda: door(ruleset=name, players=players), num_cycles=500)


@pytest.mark.parametrize("door", DOORS)
def test_declarations(door):
    env = door(ruleset="full", players=4)
    assert env.metadata["name"] == "thatslife_v0"
    assert env.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert not env.metadata["is_parallelizable"]
    assert env.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
    for agent in env.possible_agents:
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent).n == 16
        assert env.observation_space(agent)["action_mask"].shape == (16,)
        assert env.observation_space(agent)["action_mask"].dtype == np.int8
        assert env.observation_space(agent)["observation"].dtype == np.float32
    spaces = [env.action_space(agent) for agent in env.possible_agents]
    assert len({id(space) for space in spaces}) == 4  # seeding one seeds no other
    assert str(env) == "thatslife_v0"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"reward": "points"}, "win, margin, rank"),
        ({"ruleset": "nonsense"}, "basic, classic, expert, full"),
        ({"players": 7}, "players"),
        ({"players": 1}, "players"),
        ({"ruleset": Ruleset(players=3), "players": 4}, "contradicts"),
        ({"ruleset": {"player": 3}}, "player"),
        ({"render_mode": "svg"}, "None or one of ansi, rgb_array, human, not 'svg'"),
        ({"shaping": "much"}, "much"),
    ],
)
def test_arguments_refused(arguments, words):
    for door in DOORS:
        with pytest.raises(ValueError, match=words):
            door(**arguments)


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        ({}, Ruleset(players=2)),
        ({"ruleset": "classic", "players": 5}, Ruleset.preset("classic", players=5)),
        ({"ruleset": Ruleset(players=3, pawns=1)}, Ruleset(players=3, pawns=1)),
        (
            {"ruleset": {"preset": "full", "pawns": 2}, "players": 4},
            Ruleset.preset("full", players=4, pawns=2),
        ),
        (
            {"ruleset": {"players": 6, "layout": [-1, "lucky"], "scoring": "expert"}},
            Ruleset(players=6, layout=(-1, "lucky"), scoring="expert"),
        ),
    ],
)
def test_what_is_played(arguments, rules):
    for door in DOORS:
        env = door(**arguments)
        env.reset(seed=11)
        assert env.unwrapped.position == Shadow(rules, draw64(11, 0)).position
        assert len(env.agents) == rules.players


# The game that is played --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), VARIANTS)
def test_the_deals_and_dice_of_the_seed(name, players):
    """The g-th game is dealt from, and rolls by, draw64(seed, g), to the last move."""
    rules = Ruleset.preset(name, players=players)
    env = thatslife_v0.raw_env(ruleset=name, players=players)
    for seed in (players, 2**64 - 1 - players):
        for number in range(3):
            env.reset(seed=seed if number == 0 else None)
            shadow = Shadow(rules, draw64(seed, number))
            rng = random.Random(f"{name} {players} {seed} {number}")
            while not shadow.position.is_over:
                assert env.position == shadow.position
                assert env.agent_selection == f"player_{shadow.position.player}"
                action = rng.choice(shadow.position.legal_actions())
                env.step(action)
                shadow.play(action)
            assert env.position == shadow.position
            assert all(env.terminations.values())


def test_a_seed_begins_its_games_anew():
    """Whatever went on before, finished or not."""
    env = thatslife_v0.raw_env()
    openings = []
    for _ in range(2):
        env.reset(seed=3)
        openings.append([env.position])
        for _ in range(4):
            list(itertools.islice(finish(env), 7))
            env.reset()
            openings[-1].append(env.position)
    assert openings[0] == openings[1]
    assert len(set(openings[0])) == 5
    assert openings[0] == [Shadow(Ruleset(), draw64(3, g)).position for g in range(5)]


def test_without_a_seed_games_differ():
    """Also with NumPy's and Python's own generators seeded alike."""
    openings = set()
    for _ in range(5):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        env = thatslife_v0.raw_env()
        env.reset()
        openings.add(env.position)
    assert len(openings) == 5


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", True])
def test_seeds_refused(seed):
    env = thatslife_v0.raw_env()
    env.reset(seed=5)
    next(finish(env))
    before = everything(env)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    assert everything(env) == before


def test_numpy_seeds():
    env = thatslife_v0.raw_env()
    for seed in (np.int64(9), np.uint64(9), np.int8(9)):
        env.reset(seed=seed)
        assert env.position == Shadow(Ruleset(), draw64(9, 0)).position


# Who is credited ----------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("players", range(2, 7))
def test_a_loop_to_exhaustion_collects_the_final_rewards(door, players):
    """Each seat is yielded exactly once when done, and `last` adds up to what the game is worth."""
    env = door(ruleset="full", players=players)
    for seed in range(8):
        env.reset(seed=seed)
        totals = dict.fromkeys(env.possible_agents, 0.0)
        done = []
        end = None
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            totals[agent] += reward
            assert not truncated
            if terminated:
                done.append(agent)
                assert not seen["action_mask"].any()
                end = env.unwrapped.position
                env.step(None)
            else:
                assert reward == 0
                env.step(script(env.unwrapped.position))
        assert end is not None
        assert end.is_over
        assert done == env.possible_agents
        assert totals == per_agent(env, win_rewards(end.to_json()))
        assert env.agents == []


@pytest.mark.parametrize("shaping", [0.0, 0.25])
@pytest.mark.parametrize("players", range(2, 7))
def test_what_is_credited_adds_up(players, shaping):
    """Over a game: `rewards` of every step, `last` of every turn, and the result agree by seat."""
    env = thatslife_v0.raw_env(ruleset="expert", players=players, shaping=shaping)
    for seed in range(6):
        env.reset(seed=seed)
        steps = dict.fromkeys(env.possible_agents, 0.0)
        turns = dict.fromkeys(env.possible_agents, 0.0)
        before = leads(env.position)
        for agent in env.agent_iter():
            _, reward, terminated, _, _ = env.last()
            turns[agent] += reward
            if terminated:
                env.step(None)
                continue
            env.step(script(env.position))
            after = leads(env.position)
            wanted = [shaping * (b - a) for a, b in zip(before, after, strict=True)]
            if env.position.is_over:
                final = win_rewards(env.position.to_json())
                wanted = [a + b for a, b in zip(wanted, final, strict=True)]
            assert env.rewards == per_agent(env, wanted)
            before = after
            for each, gained in env.rewards.items():
                steps[each] += gained
        # towers are empty at first, so shaping adds up to nothing
        assert steps == per_agent(env, final)
        assert turns == per_agent(env, final)


def test_shaping_is_credited_to_each_by_its_own_potential():
    """Seat 1 takes the -7: its lead falls by 7, the others' mean opponent by 3.5."""
    env = thatslife_v0.raw_env(players=3, shaping=0.1)
    env.reset(seed=1, options={"position": TABLE})
    assert env.agent_selection == "player_1"
    env.step(0)
    assert env.position.to_json()["towers"] == [[], [-7], []]
    assert env.rewards == per_agent(env, [0.35, -0.7, 0.35])
    assert env.agent_selection == "player_2"
    assert env.last()[1] == pytest.approx(0.35)


def test_a_tile_that_is_given_away_credits_both():
    """A gift with one possible receiver, two players: what one loses the other gains, twice."""
    shown = {
        "rules": {"players": 2, "pawns": 2, "guards": False, "scoring": "standard"},
        "track": ["start", "gift", 3, "finish"],
        "pawns": [[1, 1], [0, 2]],
        "guards": [],
        "towers": [[-6], [5]],
        "player": 0,
        "phase": "move",
        "die": 1,
    }
    env = thatslife_v0.raw_env(players=2, shaping=1.0)
    env.reset(seed=1, options={"position": shown})
    env.step(0)  # one pawn stays: nothing happens
    assert env.rewards == per_agent(env, [0, 0])
    shown["pawns"] = [[1, 3], [0, 2]]
    env.reset(seed=1, options={"position": shown})
    env.step(0)
    assert env.position.to_json()["towers"] == [[], [5, -6]]
    assert env.rewards == per_agent(env, [12, -12])


@pytest.mark.parametrize("reward", ["win", "margin", "rank"])
def test_without_shaping_nothing_before_the_end(reward):
    env = thatslife_v0.raw_env(ruleset="basic", players=3, reward=reward)
    env.reset(seed=4)
    n = 0
    for _ in finish(env):
        n += 1
        assert set(env.rewards.values()) == {0}
        assert set(env._cumulative_rewards.values()) == {0}
    assert n > 20
    assert any(env.rewards.values())


def test_shaping_after_a_position_ends_at_minus_the_first_potential():
    shown = {**TABLE, "towers": [[5], [-7], [1]]}
    for shaping in (0.0, 0.5):
        env = thatslife_v0.raw_env(players=3, shaping=shaping)
        env.reset(seed=2, options={"position": shown})
        first = leads(env.position)
        assert first == [8, -10, 2]
        totals = np.zeros(3)
        for agent in env.agent_iter():
            _, gained, terminated, _, _ = env.last()
            totals[seat_of(agent)] += gained
            env.step(None if terminated else script(env.position))
        final = np.array(win_rewards(env.position.to_json()))
        np.testing.assert_allclose(totals, final - shaping * np.array(first), atol=1e-9)


# Who is asked -------------------------------------------------------------------------------


def test_a_seat_that_is_home_stays_an_agent_and_is_skipped():
    """Seat 2 of 5 gets home first; nobody else loses a turn, and all end together."""
    shown = Position.deal(Ruleset(players=5, pawns=2), 3).to_json()
    finish_slot = len(shown["track"]) - 1
    shown["pawns"][2] = [finish_slot - 1, finish_slot - 1]
    env = thatslife_v0.raw_env(ruleset=Ruleset(players=5, pawns=2))
    env.reset(seed=8, options={"position": shown})
    visited = []
    home_at = None
    while not env.position.is_over:
        position = env.position
        agents = ["player_0", "player_1", "player_2", "player_3", "player_4"]
        assert env.agents == agents
        assert list(env.terminations) == agents
        assert not any(env.terminations.values())
        assert not any(env.truncations.values())
        assert position.player == seat_of(env.agent_selection)
        shown = position.to_json()
        end = len(shown["track"]) - 1
        home = [seat for seat in range(5) if shown["pawns"][seat] == [end, end]]
        assert position.player not in home or position.phase != "move"
        if 2 in home and home_at is None:
            home_at = len(visited)
            assert home == [2]
        if position.phase == "move":
            if visited:
                following = [(visited[-1] + steps) % 5 for steps in range(1, 6)]
                assert position.player == next(seat for seat in following if seat not in home)
            visited.append(position.player)
        env.step(position.legal_actions()[-1] if position.player == 2 else script(position))
    assert home_at is not None
    assert home_at < 20
    assert 2 not in visited[home_at:]
    assert len(visited) > home_at + 20
    assert env.agents == env.possible_agents
    assert list(env.terminations.values()) == [True] * 5
    assert list(env.truncations.values()) == [False] * 5


def test_reset_at_any_point():
    """Mid-game, among dead steps, after an illegal move: always a whole new game."""
    env = thatslife_v0.raw_env(ruleset="full", players=4)
    rng = random.Random("resets")
    env.reset(seed=0)
    kinds = set()
    for number in range(100):
        kind = rng.choice(["opening", "middle", "end", "dead", "gone", "illegal"])
        kinds.add(kind)
        if kind == "middle":
            list(itertools.islice(finish(env, rng), rng.randint(1, 60)))
        elif kind in ("end", "dead", "gone"):
            list(finish(env, rng))
            for _ in range({"end": 0, "dead": rng.randint(1, 3), "gone": 4}[kind]):
                env.step(None)
        elif kind == "illegal":
            with pytest.raises(IllegalMoveError):
                env.step(-1)
        env.reset(seed=number if rng.random() < 0.5 else None)
        assert env.agents == env.possible_agents
        assert env.agents is not env.possible_agents
        for agent in env.possible_agents:
            assert env.rewards[agent] == env._cumulative_rewards[agent] == 0
            assert env.terminations[agent] is False
            assert env.truncations[agent] is False
            assert env.infos[agent] == {}
        assert env.agent_selection == "player_0"
        if number % 4 == 0:
            seen = [agent for agent in env.agent_iter() if not advance(env)]
            assert sorted(seen[-4:]) == env.possible_agents
            env.reset(seed=number)
    assert len(kinds) == 6


def advance(env: Any) -> None:
    """One step of a loop over `agent_iter`."""
    _, _, terminated, truncated, _ = env.last()
    env.step(None if terminated or truncated else script(env.unwrapped.position))


def test_dead_agents_take_only_none():
    env = thatslife_v0.raw_env()
    env.reset(seed=1)
    list(finish(env))
    for action in (0, -1, 3):
        before = everything(env)
        with pytest.raises(ValueError, match="None"):
            env.step(action)
        assert everything(env) == before
    env.step(None)
    env.step(None)
    assert env.agents == []


# Illegal actions ----------------------------------------------------------------------------

NO_ACTIONS = [-1, 16, 17, 10**9, 10**30, -(10**30), np.nan, 1.0, 3.7, None, "0", True]
NO_ACTIONS += [np.array([3]), np.array(1.0), [0], {}, np.float64(2), np.True_, b"\x01", np.inf]
NO_ACTIONS += [-16, -15, 255, 256, 2**16, 2**32, 2**63, 2**64, np.int64(-1), np.uint64(2**64 - 1)]


@pytest.mark.parametrize("action", NO_ACTIONS, ids=repr)
def test_no_action_at_all(action):
    """One documented error; not a bit has changed, and the game goes on as if never asked."""
    env = thatslife_v0.raw_env(ruleset="full", players=3, shaping=0.1)
    twin = thatslife_v0.raw_env(ruleset="full", players=3, shaping=0.1)
    env.reset(seed=6)
    twin.reset(seed=6)
    for n, _ in enumerate(finish(env)):
        if n % 13 == 0:
            before = everything(env)
            with pytest.raises(IllegalMoveError):
                env.step(action)
            assert everything(env) == before
        twin.step(script(twin.position))
        if n > 40:
            break


def test_masked_actions():
    """Every action that the mask forbids, in all three phases."""
    rng = random.Random("masked")
    for number, phase in enumerate(["move", "give", "steal"] * 15):
        shown = random_position(rng, phase)
        position = Position.from_json(shown)
        env = thatslife_v0.raw_env(players=position.players, shaping=0.1)
        env.reset(seed=number, options={"position": shown})
        before = everything(env)
        mask = env.last()[0]["action_mask"]
        assert np.flatnonzero(mask).tolist() == reference.Game.from_json(shown).legal_actions()
        for action in np.flatnonzero(mask == 0):
            with pytest.raises(IllegalMoveError) as caught:
                env.step(int(action))
            assert everything(env) == before
            assert f"action {action}" in str(caught.value)
            assert env.agent_selection in str(caught.value)
            assert str(position.legal_actions()) in str(caught.value)
            assert repr(position) in str(caught.value)


def test_the_error_names_what_was_given():
    env = thatslife_v0.raw_env()
    env.reset(seed=6)
    for action in (99, -3, 2**70, 1.5, "zero"):
        with pytest.raises(IllegalMoveError) as caught:
            env.step(action)
        assert repr(action) in str(caught.value)


def test_kinds_of_integers():
    """int, NumPy integers and 0-d arrays are one and the same action."""
    kinds = [int, np.int64, np.int8, np.uint8, np.array, lambda a: np.array(a, np.int32)]
    ends = []
    for kind in kinds:
        env = thatslife_v0.raw_env(ruleset="classic", players=3)
        env.reset(seed=2)
        while not env.position.is_over:
            env.step(kind(script(env.position)))
        ends.append((env.position, env.rewards))
    assert all(end == ends[0] for end in ends)


@pytest.mark.parametrize("reward", ["win", "margin", "rank"])
@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.filterwarnings("ignore")
def test_wrapped_the_mover_loses(players, reward):
    """The worst reward for the mover, nothing for the others, the end for all."""
    env = thatslife_v0.env(players=players, reward=reward)
    for seed in range(4):
        env.reset(seed=seed)
        for _ in zip(range(10 + seed), finish(env), strict=False):
            pass
        mover = env.agent_selection
        position = env.unwrapped.position
        illegal = next(a for a in range(16) if a not in position.legal_actions())
        env.step(illegal)
        assert env.unwrapped.position == position
        assert set(env.agents) == set(env.possible_agents)
        assert all(env.terminations.values())
        assert all(env.truncations.values())
        totals = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, gained, terminated, truncated, _ = env.last()
            assert terminated
            assert truncated
            totals[agent] += gained
            env.step(None)
        worst = -1 / (players - 1) if reward == "win" else -1
        assert totals.pop(mover) == pytest.approx(worst)
        assert set(totals.values()) == {0}
        env.reset(seed=seed)
        assert [agent for agent in env.agent_iter() if not advance(env)]


@pytest.mark.parametrize("action", [-1, -5, 16, 10**9, 1.5, None, "0"])
@pytest.mark.filterwarnings("ignore")
def test_wrapped_what_is_no_action_is_never_played(action):
    """Not even -1 where the last action is legal, which plain indexing would take for it."""
    env = thatslife_v0.env(players=6)
    shown = random_position(random.Random("last legal"), "steal")
    while shown["rules"]["players"] != 6 or not action_mask(Position.from_json(shown))[15]:
        shown = random_position(random.Random(json.dumps(shown)), "steal")
    env.reset(seed=1, options={"position": shown})
    assert env.last()[0]["action_mask"][-1] == 1
    with pytest.raises(AssertionError, match="action space"):
        env.step(action)
    assert env.unwrapped.position == Position.from_json(shown)
    assert not any(env.terminations.values())
    env.step(15)
    assert env.unwrapped.position != Position.from_json(shown)


# Observing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_anybody_may_look_at_any_time(door):
    """In any order: each sees what the position shows, and nothing comes of it."""
    rng = random.Random("looking")
    for number in range(20):
        name, players = rng.choice(VARIANTS)
        env, twin = (door(ruleset=name, players=players, shaping=0.2) for _ in range(2))
        env.reset(seed=number)
        twin.reset(seed=number)
        for _ in finish(env):
            position = env.unwrapped.position
            agents = [*rng.sample(env.possible_agents, players), rng.choice(env.possible_agents)]
            for agent in agents:
                seen = env.observe(agent)
                assert_seen(env, agent, seen, position)
            assert env.agent_selection == twin.agent_selection
            assert env.unwrapped.position == twin.unwrapped.position == position
            np.testing.assert_equal(env.last(), twin.last())
            twin.step(script(twin.unwrapped.position))
        assert env.rewards == twin.rewards
        for agent in env.possible_agents:
            assert_seen(env, agent, env.observe(agent), env.unwrapped.position)


def assert_seen(env: Any, agent: str, seen: dict, position: Position) -> None:
    seat = seat_of(agent)
    assert env.observation_space(agent).contains(seen)
    assert list(seen) == ["observation", "action_mask"]
    np.testing.assert_array_equal(seen["observation"], observe(position, seat))
    legal = position.legal_actions() if seat == position.player else []
    assert seen["action_mask"].dtype == np.int8
    assert np.flatnonzero(seen["action_mask"]).tolist() == legal
    is_to_decide = seat == position.player and not position.is_over
    assert seen["action_mask"].any() == is_to_decide


def overlaps(arrays: list[np.ndarray]) -> bool:
    """Whether two of these arrays, all still alive, share memory."""
    spans = sorted((a.__array_interface__["data"][0], a.nbytes) for a in arrays if a.nbytes)
    return any(a + size > b for (a, size), (b, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("door", DOORS)
def test_what_is_returned_is_the_callers(door):
    """Every array of a game is its own, and none is written to later; nor is any info."""
    env = door(ruleset="basic", players=3, shaping=0.1)
    kept = []
    for seed in range(2):
        env.reset(seed=seed)
        for _ in env.agent_iter():
            seen, _, terminated, _, info = env.last()
            other = env.observe(env.possible_agents[0])
            for array in (*seen.values(), *other.values()):
                kept.append((array, hashlib.sha256(array).digest()))
            kept.append((info, info.copy()))
            env.step(None if terminated else script(env.unwrapped.position))
    arrays = [thing for thing, _ in kept if isinstance(thing, np.ndarray)]
    assert len(arrays) > 400
    assert not overlaps(arrays)
    for thing, was in kept:
        if isinstance(thing, np.ndarray):
            assert hashlib.sha256(thing).digest() == was
        else:
            assert thing == was


def test_writing_into_an_observation_does_no_harm():
    env = thatslife_v0.raw_env()
    env.reset(seed=1)
    first = env.observe("player_0")
    wanted = first["observation"].copy(), first["action_mask"].copy()
    first["observation"][:] = 7
    first["action_mask"][:] = 1
    again = env.observe("player_0")
    np.testing.assert_array_equal(again["observation"], wanted[0])
    np.testing.assert_array_equal(again["action_mask"], wanted[1])
    with pytest.raises(IllegalMoveError):
        env.step(15)


def test_the_position_is_a_snapshot():
    env = thatslife_v0.raw_env()
    env.reset(seed=1)
    position = env.position
    shown = json.dumps(position.to_json())
    list(finish(env))
    assert json.dumps(position.to_json()) == shown
    assert env.position != position


# Independence -------------------------------------------------------------------------------


def test_global_generators_are_left_alone_and_do_not_matter():
    ends = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
        env = thatslife_v0.raw_env(ruleset="full", players=4)
        env.reset(seed=3)
        for _ in range(12):
            for _ in finish(env):
                env.last()
            env.reset()
        ends.append(env.position)
        assert random.getstate() == before[0]
        assert pickle.dumps(np.random.get_state()) == before[1]  # noqa: NPY002
    assert ends[0] == ends[1]


def test_games_side_by_side_do_not_meet():
    def trace(env: Any) -> Iterator[tuple]:
        for _ in range(3):
            for agent in finish(env):
                yield agent, env.position, dict(env.rewards)
            env.reset()

    envs = []
    for seed in (1, 2):
        for _ in range(2):
            envs.append(thatslife_v0.raw_env(ruleset="full", players=3, shaping=0.1))
            envs[-1].reset(seed=seed)
    one, other = list(trace(envs[0])), list(trace(envs[2]))
    mixed_one, mixed_other = [], []
    for a, b in itertools.zip_longest(trace(envs[1]), trace(envs[3])):
        mixed_one += [a] if a else []
        mixed_other += [b] if b else []
    assert mixed_one == one
    assert mixed_other == other
    assert one != other


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
def test_a_copy_goes_on_identically(door, way):
    """From the middle of a game, through its end and into the next; the original is unmoved."""
    env = door(ruleset="full", players=4, shaping=0.1, reward="rank")
    env.reset(seed=5)
    list(itertools.islice(finish(env), 25))
    twin = pickle.loads(pickle.dumps(env)) if way == "pickle" else copy.deepcopy(env)
    traces = []
    for each in (twin, env):
        traces.append([])
        for _ in range(2):
            for agent in each.agent_iter():
                seen, reward, terminated, truncated, _ = each.last()
                traces[-1].append((agent, seen["observation"].tobytes(), reward, terminated))
                each.step(None if terminated or truncated else script(each.unwrapped.position))
            each.reset()
    assert traces[0] == traces[1]
    assert len(traces[0]) > 100


# Beginning from a position ------------------------------------------------------------------


@pytest.mark.parametrize("form", ["object", "text", "Position"])
def test_begin_from_a_position(form):
    given = {"object": TABLE, "text": json.dumps(TABLE), "Position": Position.from_json(TABLE)}
    for door in DOORS:
        env = door(players=3)
        env.reset(seed=1, options={"position": given[form]})
        assert env.unwrapped.position == Position.from_json(TABLE)
        assert env.agent_selection == "player_1"


def test_positions_of_every_phase_and_ruleset():
    """The rules of the position are played, with the dice of the seed from the first on."""
    rng = random.Random("positions")
    phases = {}
    for number in range(120):
        shown = random_position(rng)
        if shown["phase"] == "over":
            continue
        players = shown["rules"]["players"]
        env = thatslife_v0.raw_env(ruleset=rng.choice(list(PRESETS)), players=players)
        env.reset(seed=number, options={"position": shown})
        shadow = Shadow(env.ruleset, draw64(number, 0), Position.from_json(shown))
        phases[shown["phase"]] = True
        while not shadow.position.is_over:
            assert env.position == shadow.position
            assert env.agent_selection == f"player_{shadow.position.player}"
            action = script(shadow.position)
            env.step(action)
            shadow.play(action)
        assert env.position == shadow.position
        assert env.rewards == per_agent(env, win_rewards(env.position.to_json()))
    assert set(phases) == {"roll", "move", "give", "steal"}


def test_after_a_position_the_stream_goes_on():
    """The game from the position takes the place, and the dice, of the one that was due."""
    env = thatslife_v0.raw_env(players=3)
    rules = Ruleset(players=3)
    rolled = {**TABLE, "phase": "roll", "die": 0}
    env.reset(seed=4)
    assert env.position == Shadow(rules, draw64(4, 0)).position
    env.reset(options={"position": rolled})
    assert env.position == Position.from_json(rolled).roll(dice(draw64(4, 1), 0))
    env.reset()
    assert env.position == Shadow(rules, draw64(4, 2)).position
    assert env.position.to_json()["rules"]["pawns"] == 3


REFUSED = [
    ({**TABLE, "phase": "over", "die": 0, "pawns": [[5], [5], [5]]}, "over"),
    (
        {
            **TABLE,
            "rules": {**TABLE["rules"], "players": 2},
            "pawns": [[0], [1]],
            "towers": [[], []],
        },
        "2",
    ),
    ({**TABLE, "die": 7}, "die"),
    ({**TABLE, "color": "red"}, "color"),
    ({}, "rules"),
    ("{", "JSON"),
    ("null", "object"),
    (7, "object"),
    ([TABLE], "object"),
]


@pytest.mark.parametrize(("given", "word"), REFUSED)
def test_positions_refused(given, word):
    """With the reason; the game that was going on goes on."""
    for door in DOORS:
        env = door(players=3)
        env.reset(seed=4)
        list(itertools.islice(finish(env), 5))
        before = everything(env.unwrapped)
        with pytest.raises(ValueError, match=word) as caught:
            env.reset(options={"position": given})
        assert everything(env.unwrapped) == before
        if word not in ("over", "2"):
            assert isinstance(caught.value, PositionError)


def test_options_that_are_none():
    env = thatslife_v0.raw_env(players=3)
    for options in (None, {}, {"position": None}):
        env.reset(seed=4, options=options)
        assert env.position == Shadow(Ruleset(players=3), draw64(4, 0)).position


def test_an_unknown_option_is_not_passed_over_in_silence():
    env = thatslife_v0.raw_env()
    with pytest.warns(UserWarning, match="postion"):
        env.reset(seed=1, options={"postion": TABLE})


# Drawing and closing ------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_render_ansi(door):
    env = door(players=3, render_mode="ansi")
    assert env.render_mode == "ansi"
    env.reset(seed=1)
    seen = set()
    for _ in finish(env):
        assert env.render() == str(env.unwrapped.position)
        seen.add(env.render())
    assert "over" in env.render()
    assert len(seen) > 20


def test_render_without_a_mode():
    env = thatslife_v0.raw_env()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


@pytest.mark.parametrize("door", DOORS)
def test_close_at_any_time(door):
    env = door()
    env.close()
    env.reset(seed=1)
    env.close()
    env.close()
    list(finish(env))
    env.close()
