"""Batches of games are nothing but single games side by side."""

import hashlib
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import reference
from conftest import random_position
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from thatslife_env import PRESETS, IllegalMoveError, Position, Ruleset, thatslife_v0
from thatslife_env.baselines import decision_key
from thatslife_env.board import STATE
from thatslife_env.games import ENDED, FIRST_OUTSIDE, LEARNER, SeatGames, ruleset_mix
from thatslife_env.gymnasium_env import ThatsLifeEnv
from thatslife_env.observation import OBS_SIZE, action_mask, observe
from thatslife_env.position import dice
from thatslife_env.vector import ThatsLifeVectorEnv, VectorGame

ID = "thatslife_env:ThatsLife-v0"
GAMMA = 0x9E3779B97F4A7C15
TINY = Ruleset(players=2, pawns=1, layout=(-3, "lucky", 2), action_tiles=False)
MIX = [("basic", 2), ({"preset": "full", "players": 4}, 1), (Ruleset(players=6, pawns=1), 1)]

# chi-square, p = 0.001, by degrees of freedom
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 25: 52.62}


def draw64(seed: int, k: int) -> int:
    return reference.mix(seed + (k + 1) * GAMMA)


def pick(position: Position, salt: int = 0) -> int:
    """A legal action that the position alone decides."""
    legal = position.legal_actions()
    return legal[zlib.crc32(position.state.tobytes(), salt) % len(legal)]


def pick_each(states: np.ndarray) -> np.ndarray:
    return np.array([pick(Position.from_state(state)) for state in states])


def scripted(states: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """A batch opponent that looks at the positions alone."""
    assert len(states) == len(keys)
    return pick_each(states)


def single_script(position: Position, _: object) -> int:
    """The same, for the single environment."""
    return pick(position)


def positions(states: np.ndarray) -> list[Position]:
    return [Position.from_state(state) for state in states]


def chi_square(counts: list[int], shares: list[float]) -> float:
    n = sum(counts)
    return sum((c - n * p) ** 2 / (n * p) for c, p in zip(counts, shares, strict=True))


def contingency(table: np.ndarray) -> float:
    """The chi-square statistic of independence of rows and columns."""
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


def overlaps(arrays: list[np.ndarray]) -> bool:
    """Whether two of these arrays, all still alive, share memory."""
    spans = sorted((a.__array_interface__["data"][0], a.nbytes) for a in arrays if a.nbytes)
    return any(a + size > b for (a, size), (b, _) in itertools.pairwise(spans))


def arrays_in(info: dict) -> Iterator[np.ndarray]:
    for value in info.values():
        if isinstance(value, dict):
            yield from arrays_in(value)
        elif value.dtype == object:
            yield value
            yield from (entry for entry in value if isinstance(entry, np.ndarray))
        else:
            yield value


# VectorGame: every seat decides -------------------------------------------------------------


@pytest.mark.parametrize("shaping", [0.0, 0.1])
@pytest.mark.parametrize(("name", "players"), list(itertools.product(PRESETS, range(2, 7))))
def test_a_batch_is_single_games(name, players, shaping):
    """Step by step: N AEC environments reset with the streams' seeds, and the same choices."""
    n, seed = 5, 2**64 - 7 + players
    reward = random.Random(f"{name} {players} {shaping}").choice(["win", "margin", "rank"])
    batch = VectorGame(n, name, seed, reward, shaping, players=players)
    singles = [thatslife_v0.raw_env(name, players, reward, shaping) for _ in range(n)]
    numbers = [0] * n  # games begun so far, less one
    decisions = [0] * n
    for i, env in enumerate(singles):
        env.reset(seed=draw64(seed, i))
    ended = 0
    while ended < n + 2:
        seen, masks, seats = batch.observe()
        assert seen.dtype == np.float32
        assert masks.dtype == np.bool_
        assert seats.dtype == np.int8
        actions = []
        for i, env in enumerate(singles):
            wanted, _, is_over, _, _ = env.last()
            assert not is_over
            assert env.agent_selection == f"player_{seats[i]}"
            np.testing.assert_array_equal(seen[i], wanted["observation"])
            np.testing.assert_array_equal(masks[i], wanted["action_mask"])
            actions.append(pick(env.position))
        rewards, done = batch.step(np.array(actions))
        assert rewards.shape == (n, 6)
        assert rewards.dtype == np.float32
        assert done.dtype == np.bool_
        finished = iter(batch.finished)
        for i, env in enumerate(singles):
            env.step(actions[i])
            decisions[i] += 1
            wanted = list(env.rewards.values())
            assert rewards[i, :players].tolist() == pytest.approx(wanted, abs=1e-6)
            assert not rewards[i, players:].any()
            assert done[i] == env.position.is_over
            if env.position.is_over:
                ended += 1
                assert_finished(
                    next(finished), i, draw64(draw64(seed, i), numbers[i]), env, decisions[i]
                )
                decisions[i] = 0
                numbers[i] += 1
                env.reset()  # the next of its stream, on the same step
            assert Position.from_state(batch.states[i]) == env.position
        assert next(finished, None) is None


def assert_finished(row: np.void, index: int, deal: int, env: Any, decisions: int) -> None:
    game = reference.Game.from_json(env.position.to_json())
    winners = game.winners()
    n = game.n_players
    shares = [1 / len(winners) if seat in winners else 0 for seat in range(n)]
    assert row["index"] == index
    assert int(row["deal_seed"]) == deal
    assert row["players"] == n
    assert row["points"].tolist() == game.scores() + [0] * (6 - n)
    assert row["win_share"].tolist() == pytest.approx(shares + [0] * (6 - n), abs=1e-6)
    assert row["decisions"] == decisions


def test_finished_has_the_fields_that_others_rely_on():
    batch = VectorGame(3, TINY, 1)
    assert len(batch.finished) == 0
    assert batch.finished.dtype["points"].shape == (6,)
    assert batch.finished.dtype["win_share"].shape == (6,)
    assert set(batch.finished.dtype.names) >= {
        "index",
        "deal_seed",
        "players",
        "points",
        "win_share",
        "decisions",
    }
    seen = Counter()
    for _ in range(40):
        _, done = batch.step(pick_each(batch.states))
        assert batch.finished["index"].tolist() == np.flatnonzero(done).tolist()
        seen[len(batch.finished)] += 1
    assert seen[0]
    assert seen[1]


def trace(n: int, steps: int, **settings: Any) -> list[list[tuple]]:
    """What happens in each of n games: deals, positions, rewards."""
    batch = VectorGame(n, seed=77, **settings)
    traces: list[list[tuple]] = [[] for _ in range(n)]
    for _ in range(steps):
        before = batch.states.copy()
        rewards, done = batch.step(pick_each(batch.states))
        for i in range(n):
            traces[i].append((before[i].tobytes(), rewards[i].tobytes(), bool(done[i])))
    return traces


@pytest.mark.parametrize("ruleset", ["full", MIX], ids=["one", "mix"])
def test_games_do_not_depend_on_how_many_there_are(ruleset):
    settings = {"ruleset": ruleset, "shaping": 0.1, "players": None}
    many = trace(23, 120, **settings)
    assert trace(4, 120, **settings) == many[:4]
    assert trace(1, 120, **settings) == many[:1]
    assert len({row[0] for row in (trace_of[0] for trace_of in many)}) == 23


def test_reset_begins_all_anew():
    batch = VectorGame(4, "basic", 3)
    opening = batch.states.copy()
    for _ in range(60):
        batch.step(pick_each(batch.states))
    batch.reset(4)
    other = batch.states.copy()
    assert (other != opening).all()
    batch.reset(3)
    np.testing.assert_array_equal(batch.states, opening)
    assert len(batch.finished) == 0


def test_deals_and_dice_of_the_streams():
    """Game i begins with the deal draw64(draw64(seed, i), 0) and its first roll."""
    seed = 12345
    batch = VectorGame(6, "classic", seed, players=3)
    for i in range(6):
        deal = draw64(draw64(seed, i), 0)
        position = Position.deal(Ruleset.preset("classic", players=3), deal).roll(dice(deal, 0))
        assert Position.from_state(batch.states[i]) == position


def test_rulesets_are_drawn_by_weight_for_each_game():
    """In proportion, anew for each game, and independent of the stream's earlier games."""
    mix = [(TINY, 3), (Ruleset(players=3, pawns=1, layout=[1]), 0), (Ruleset(players=5), 1)]
    batch = VectorGame(2000, mix, 5)
    counts = Counter(batch.states["players"].tolist())
    assert set(counts) == {2, 5}
    assert chi_square([counts[2], counts[5]], [3 / 4, 1 / 4]) < CRITICAL[1]
    batch = VectorGame(500, [(TINY, 1), (Ruleset(players=3, pawns=1, layout=[1]), 2)], 6)
    pairs: Counter = Counter()
    played = Counter()
    first = batch.states["players"].tolist()
    second: dict[int, int] = {}
    while len(second) < 500:
        before = batch.states["players"].copy()
        batch.step(pick_each(batch.states))
        for row in batch.finished:
            i = int(row["index"])
            assert row["players"] == before[i]
            played[int(row["players"])] += 1
            second.setdefault(i, int(batch.states["players"][i]))
    for i in range(500):
        pairs[first[i], second[i]] += 1
    table = np.array([[pairs[a, b] for b in (2, 3)] for a in (2, 3)])
    assert contingency(table) < CRITICAL[1]
    assert chi_square(table.sum(0).tolist(), [1 / 3, 2 / 3]) < CRITICAL[1]


def test_a_mix_plays_each_by_its_rules():
    rules = {2: Ruleset(), 4: Ruleset.preset("full", players=4), 6: Ruleset(players=6, pawns=1)}
    batch = VectorGame(60, MIX, 9)
    for i, position in enumerate(positions(batch.states)):
        deal = draw64(draw64(9, i), 0)
        assert position == Position.deal(rules[position.players], deal).roll(dice(deal, 0))
    rewards = np.zeros((60, 6))
    for _ in range(400):
        players = batch.states["players"].copy()
        gained, done = batch.step(pick_each(batch.states))
        rewards += gained
        for i in np.flatnonzero(done):
            assert gained[i, : players[i]].sum() == pytest.approx(0, abs=1e-6)
            assert not gained[i, players[i] :].any()
            assert gained[i].max() > 0
    assert rewards.any()


@pytest.mark.parametrize(
    ("ruleset", "words"),
    [
        ([], "weights"),
        ([("basic", 0)], "weights"),
        ([("basic", -1), ("full", 2)], "weights"),
        ([("basic", float("nan"))], "weights"),
        ([("basic", float("inf"))], "weights"),
        (["basic", "full"], "pair"),
        ([("basic",)], "pair"),
        ([("nonsense", 1)], "nonsense"),
        ("nonsense", "nonsense"),
        (7, None),
    ],
)
def test_rulesets_refused(ruleset, words):
    with pytest.raises((ValueError, TypeError), match=words):
        VectorGame(2, ruleset)
    with pytest.raises((ValueError, TypeError), match=words):
        ThatsLifeVectorEnv(2, ruleset)


def test_ruleset_mix_fills_in_the_players():
    made, records, shares = ruleset_mix([("basic", 1), ("full", 3)], players=5)
    assert [rules.players for rules in made] == [5, 5]
    assert records["players"].tolist() == [5, 5]
    assert shares.tolist() == [2**30, 2**32]
    with pytest.raises(ValueError, match="contradicts"):
        ruleset_mix([(Ruleset(players=2), 1)], players=5)


@pytest.mark.parametrize("n", [0, -1, 1.0, "2", True, None])
def test_numbers_of_games_refused(n):
    for make in (VectorGame, SeatGames, ThatsLifeVectorEnv):
        with pytest.raises(ValueError, match="whole number"):
            make(n)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", None])
def test_seeds_refused(seed):
    with pytest.raises(ValueError, match="seed"):
        VectorGame(2, "basic", seed)
    if seed is not None:
        with pytest.raises(ValueError, match="seed"):
            ThatsLifeVectorEnv(2).reset(seed=seed)


def test_other_arguments_refused():
    with pytest.raises(ValueError, match="win, margin, rank"):
        VectorGame(2, reward="points")
    for key, value in [
        ("reward", "points"),
        ("seat", 2),
        ("illegal", "ignore"),
        ("opponents", "gredy"),
        ("render_mode", "human"),
    ]:
        with pytest.raises(ValueError, match=str(value)):
            ThatsLifeVectorEnv(2, **{key: value})


def test_views_and_copies():
    """Views are the same buffers each time and follow the game; copies stand still."""
    batch = VectorGame(3, "basic", 1)
    views = batch.observe()
    copies = batch.observe(copy=True)
    for view, copy in zip(views, copies, strict=True):
        np.testing.assert_array_equal(view, copy)
        assert not np.shares_memory(view, copy)
    first = batch.step(pick_each(batch.states))
    again = batch.observe()
    for view, other in zip(views, again, strict=True):
        assert np.shares_memory(view, other)
    assert (views[0] != copies[0]).any()
    second = batch.step(pick_each(batch.states))
    for view, other in zip(first, second, strict=True):
        assert np.shares_memory(view, other)
    assert not overlaps([*batch.observe(copy=True), *batch.observe(copy=True), *copies, *views])


@pytest.mark.parametrize(
    "actions",
    [
        [0, 0],
        [0, 0, 0, 0],
        0,
        [[0, 0, 0]],
        [0.0, 0.0, 0.0],
        [True, False, True],
        ["0", "0", "0"],
        [None, 0, 0],
        [10**30, 0, 0],
        [[0], [0], [0]],
        [],
    ],
    ids=repr,
)
def test_what_are_no_actions(actions):
    """Wrong shape or type: refused by both doors, nothing changes."""
    batch = VectorGame(3, "basic", 1)
    env = ThatsLifeVectorEnv(3)
    env.reset(seed=1)
    before = batch.states.copy(), env._play.states.copy()
    for door in (batch, env):
        with pytest.raises(ValueError, match=re.escape("int[3]")):
            door.step(actions)
    np.testing.assert_array_equal(batch.states, before[0])
    np.testing.assert_array_equal(env._play.states, before[1])


@pytest.mark.parametrize("wrong", [-1, 16, 15, 99, -(2**63), 2**63 - 1])
def test_illegal_actions_name_the_first_game(wrong):
    """And nothing changes, in no game: the batch goes on like one that was never asked."""
    batch, twin = VectorGame(5, "basic", 1, shaping=0.1), VectorGame(5, "basic", 1, shaping=0.1)
    for _ in range(7):
        for each in (batch, twin):
            each.step(pick_each(each.states))
    actions = pick_each(batch.states)
    bad = actions.copy()
    bad[[2, 4]] = wrong
    legal = Position.from_state(batch.states[2]).legal_actions()
    with pytest.raises(IllegalMoveError, match=f"action {wrong} .*game 2") as caught:
        batch.step(bad)
    assert str(legal) in str(caught.value)
    np.testing.assert_array_equal(batch.states, twin.states)
    for _ in range(80):
        actions = pick_each(batch.states)
        for a, b in zip(batch.step(actions), twin.step(actions), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(batch.finished, twin.finished)


def test_unsigned_actions_do_not_wrap():
    batch = VectorGame(2, "basic", 1)
    with pytest.raises(IllegalMoveError):
        batch.step(np.array([2**64 - 16, 2**64 - 1], np.uint64))
    for dtype in (np.uint8, np.int8, np.int32, np.uint64):
        batch.step(pick_each(batch.states).astype(dtype))


def test_shaping_of_long_runs():
    """Over each game it adds up to the reward of the end, for every seat."""
    batch = VectorGame(8, "expert", 3, "rank", 0.2, players=3)
    plain = VectorGame(8, "expert", 3, "rank", players=3)
    totals = np.zeros((8, 6))
    ended = 0
    while ended < 20:
        actions = pick_each(batch.states)
        shaped, done = batch.step(actions)
        totals += shaped
        wanted, _ = plain.step(actions)
        for i in np.flatnonzero(done):
            np.testing.assert_allclose(totals[i], wanted[i], atol=1e-5)
            totals[i] = 0
            ended += 1


@pytest.mark.parametrize("num_threads", [2, 3, 7, 64])
def test_games_do_not_depend_on_the_threads(num_threads):
    """Nor does an illegal action, which changes nothing, whichever thread would meet it."""
    settings = {"ruleset": MIX, "seed": 2**63 + 5, "shaping": 0.1}
    alone, shared = VectorGame(23, **settings), VectorGame(23, **settings, num_threads=num_threads)
    n_finished = 0
    for step in range(150):
        for a, b in zip(alone.observe(), shared.observe(), strict=True):
            np.testing.assert_array_equal(a, b)
        actions = pick_each(alone.states)
        if step % 10 == 0:
            bad = actions.copy()
            bad[step % 23 :: 5] = -1
            with pytest.raises(IllegalMoveError, match=f"in game {step % 23} is"):
                shared.step(bad)
        for a, b in zip(alone.step(actions), shared.step(actions), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(alone.finished, shared.finished)
        np.testing.assert_array_equal(alone.states, shared.states)
        n_finished += len(alone.finished)
    assert n_finished > 23


def test_threads_after_a_fork():
    """A forked process has none of its parent's threads, and must not wait for them."""
    batch = VectorGame(6, "basic", 1, num_threads=3)
    batch.step(pick_each(batch.states))
    child = os.fork()
    if child == 0:
        batch.step(batch.observe()[1].argmax(axis=1))
        os._exit(0 if batch.states["phase"].all() else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the forked process hangs")


def test_numbers_of_threads_refused():
    for wrong in (0, -1, 1.5, True, "2", None):
        with pytest.raises(ValueError, match="num_threads must be a whole number from 1"):
            VectorGame(4, num_threads=wrong)


@pytest.mark.speed
def test_steps_allocate_no_arrays():
    """What a step makes anew is a few views, however many games there are."""
    batch = VectorGame(20_000, [(TINY, 1), ("full", 1)], 1, shaping=0.1)
    rounds, n_finished = [], 0
    for _ in range(12):
        actions = batch.observe()[1].argmax(axis=1)
        tracemalloc.start()
        batch.observe()
        batch.step(actions)
        rounds.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        n_finished += len(batch.finished)
    assert n_finished > 10_000
    assert min(rounds) < 20_000  # a byte of each game would be more


# ThatsLifeVectorEnv: one seat learns --------------------------------------------------------


class Singles:
    """N single environments side by side, with the streams of the batch, restarted at once."""

    def __init__(self, n: int, seed: int, **settings: Any) -> None:
        self.envs = [ThatsLifeEnv(**settings) for _ in range(n)]
        self.seen = []
        self.infos = []
        for i, env in enumerate(self.envs):
            seen, info = env.reset(seed=draw64(seed, i))
            self.seen.append(seen)
            self.infos.append(info)

    def step(self, actions: list[int]) -> list[tuple]:
        """Each game's step; where one ended `seen` and `infos` are of the next already."""
        steps = []
        for i, env in enumerate(self.envs):
            steps.append(env.step(actions[i]))
            self.seen[i], self.infos[i] = env.reset() if steps[i][2] else (steps[i][0], steps[i][4])
        return steps


VARIANTS = [
    ("basic", 2, "greedy", "random", 0.0, 1.0, "win"),
    ("classic", 3, "random", 1, 0.1, 0.9, "margin"),
    ("expert", 4, ["greedy", "random", "greedy", "random"], "random", 0.05, 1.0, "rank"),
    ("full", 5, "script", 4, 0.1, 0.99, "win"),
    (
        "full",
        6,
        ["script", "greedy", "random", "script", "random", "greedy"],
        "random",
        0,
        1,
        "rank",
    ),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v[0]}-{v[1]}")
@pytest.mark.parametrize("illegal", [0.0, 0.06])
def test_the_vector_is_single_environments(variant, illegal):
    """Step by step, with everything that is returned; some games lost by illegal actions."""
    name, players, opponents, seat, shaping, gamma, reward = variant
    rng = random.Random(f"vector {variant} {illegal}")
    n, seed = 6, 2**63 + players
    settings = {"ruleset": name, "players": players, "seat": seat, "reward": reward}
    settings |= {"shaping": shaping, "gamma": gamma}

    def dressed(form: Any) -> Any:
        listed = opponents if isinstance(opponents, list) else [opponents]
        made = [form if one == "script" else one for one in listed]
        return made if isinstance(opponents, list) else made[0]

    env = ThatsLifeVectorEnv(n, opponents=dressed(scripted), **settings)
    singles = Singles(n, seed, opponents=dressed(single_script), **settings)
    seen, info = env.reset(seed=seed)
    ended = forfeits = 0
    while ended < 2 * n or (illegal and forfeits < 3):
        assert seen.dtype == np.float32
        assert seen.shape == (n, OBS_SIZE)
        np.testing.assert_array_equal(seen, np.array(singles.seen))
        masks = env.action_masks()
        np.testing.assert_array_equal(info["action_mask"], masks)
        np.testing.assert_array_equal(masks, [one["action_mask"] for one in singles.infos])
        np.testing.assert_array_equal(info["seat"], [one["seat"] for one in singles.infos])
        assert masks.any(axis=1).all()
        actions = []
        for one in singles.envs:
            action = pick(one.position)
            if rng.random() < illegal:
                action = rng.choice([-1, 99, np.flatnonzero(~one.action_masks())[0]])
            actions.append(int(action))
        steps = singles.step(actions)
        seen, rewards, terminations, truncations, info = env.step(np.array(actions))
        np.testing.assert_allclose(rewards, [step[1] for step in steps], atol=1e-9)
        assert terminations.tolist() == [step[2] for step in steps]
        assert truncations.tolist() == [False] * n
        assert terminations.dtype == truncations.dtype == np.bool_
        ended += terminations.sum()
        forfeits += sum("illegal_action" in step[4] for step in steps)
        assert ("final_obs" in info) == ("final_info" in info) == terminations.any()
        if terminations.any():
            assert_final(info, steps)


def assert_final(info: dict, steps: list[tuple]) -> None:
    """Ends of games, as Gymnasium lays them out: value and mask of where it holds, by key."""
    done = [step[2] for step in steps]
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == done
    final = info["final_info"]
    for i, (seen, _, is_over, _, single) in enumerate(steps):
        if not is_over:
            assert info["final_obs"][i] is None
            continue
        np.testing.assert_array_equal(info["final_obs"][i], seen)
        n = len(single["scores"])
        if "illegal_action" in single:
            assert final["illegal_action"][i]
            assert final["_illegal_action"][i]
        else:
            assert not final["_illegal_action"][i]
            assert final["scores"][i, :n].tolist() == single["scores"]
            assert not final["scores"][i, n:].any()
            assert final["_scores"][i]
            assert final["_win_share"][i]
        assert final["win_share"][i] == pytest.approx(single["win_share"], abs=1e-6)
    for key in ("scores", "win_share", "illegal_action"):
        assert not final[f"_{key}"][np.logical_not(done)].any()


def final_infos(illegal: bool) -> tuple[dict, dict, dict]:
    """The info of an end: of a single environment, of Gymnasium's vector of it, and of ours."""
    settings = {"ruleset": TINY, "opponents": "random"}
    single = ThatsLifeEnv(**settings)
    gym = SyncVectorEnv(
        [lambda: ThatsLifeEnv(**settings)], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
    )
    ours = ThatsLifeVectorEnv(1, **settings)
    single.reset(seed=draw64(3, 0))
    gym.reset(seed=[draw64(3, 0)])
    ours.reset(seed=3)
    is_over = False
    while not is_over:
        action = 15 if illegal else pick(single.position)
        _, _, is_over, _, alone = single.step(action)
        *_, theirs = gym.step(np.array([action]))
        *_, mine = ours.step(np.array([action]))
    return alone, theirs["final_info"], mine["final_info"]


@pytest.mark.parametrize("illegal", [False, True], ids=["by rule", "illegal"])
def test_final_info_lacks_nothing_of_the_single_environments(illegal):
    """Above all the learner's seat: `info["seat"]` is the next game's already."""
    alone, theirs, mine = final_infos(illegal)
    for key, value in alone.items():
        assert key in theirs
        assert key in mine, key
        assert mine[f"_{key}"].tolist() == [True], key
        found = mine[key][0]
        if key == "scores":
            assert found[: len(value)].tolist() == value
        else:
            np.testing.assert_array_equal(found, value)


def test_make_vec():
    env = gymnasium.make_vec(
        ID,
        num_envs=4,
        vectorization_mode="vector_entry_point",
        ruleset="full",
        players=3,
        opponents="random",
        seat=1,
    )
    assert isinstance(env.unwrapped, ThatsLifeVectorEnv)
    assert env.num_envs == 4
    assert env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    seen, info = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert env.single_observation_space.shape == (OBS_SIZE,)
    assert env.single_action_space == gymnasium.spaces.Discrete(16)
    assert env.action_space.shape == (4,)
    assert info["seat"].tolist() == [1] * 4
    np.testing.assert_array_equal(env.unwrapped.action_masks(), info["action_mask"])
    for _ in range(30):
        actions = [int(np.flatnonzero(mask)[-1]) for mask in env.unwrapped.action_masks()]
        seen, *_ = env.step(np.array(actions))
        assert env.observation_space.contains(seen)
    env.close()
    env.close()


def test_gymnasiums_statistics_wrapper():
    """It finds in our vector what it finds in Gymnasium's own of the single environments."""
    settings = {"ruleset": TINY, "opponents": "random"}
    ours = RecordEpisodeStatistics(ThatsLifeVectorEnv(3, **settings))
    theirs = RecordEpisodeStatistics(
        SyncVectorEnv(
            [lambda: ThatsLifeEnv(**settings)] * 3, autoreset_mode=AutoresetMode.SAME_STEP
        )
    )
    ours.reset(seed=1)
    theirs.reset(seed=[draw64(1, i) for i in range(3)])
    ended = 0
    while ended < 12:
        actions = pick_each(ours.unwrapped._play.states)
        mine, yours = ours.step(actions), theirs.step(actions)
        for left, right in zip(mine[:4], yours[:4], strict=True):
            np.testing.assert_array_equal(left, right)
        assert ("episode" in mine[4]) == ("episode" in yours[4]) == mine[2].any()
        for i in np.flatnonzero(mine[2]):
            ended += 1
            for key in ("r", "l"):
                assert mine[4]["episode"][key][i] == yours[4]["episode"][key][i]


def test_seeds_of_the_streams():
    """One seed, a list of seeds, or none: the next game of each stream."""
    one, listed = (ThatsLifeVectorEnv(3, "basic", opponents="random") for _ in range(2))
    a, _ = one.reset(seed=9)
    b, _ = listed.reset(seed=[draw64(9, i) for i in range(3)])
    np.testing.assert_array_equal(a, b)
    for number in range(1, 4):
        a, _ = one.reset()
        b, _ = listed.reset()
        np.testing.assert_array_equal(a, b)
        for i in range(3):
            single = ThatsLifeEnv("basic", opponents="random")
            single.reset(seed=draw64(9, i))
            for _ in range(number):
                seen, _ = single.reset()
            np.testing.assert_array_equal(a[i], seen)
    with pytest.raises(ValueError, match="2 seeds for 3 games"):
        one.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="seed"):
        one.reset(seed=[1, 2, -1])
    with pytest.raises(ValueError, match="position"):
        one.reset(options={"position": {}})


def test_vectors_do_not_depend_on_how_many_games_there_are():
    def run(n: int) -> list[list[bytes]]:
        env = ThatsLifeVectorEnv(n, MIX, opponents={"greedy": 1, "random": 2, scripted: 1})
        seen, _ = env.reset(seed=4)
        traces: list[list[bytes]] = [[] for _ in range(n)]
        for _ in range(60):
            for i in range(n):
                traces[i].append(seen[i].tobytes())
            seen, rewards, *_ = env.step(pick_each(env._play.states))
            for i in range(n):
                traces[i].append(rewards[i].tobytes())
        return traces

    many = run(17)
    assert run(5) == many[:5]
    assert run(1) == many[:1]


def test_illegal_actions_that_raise():
    env, twin = (ThatsLifeVectorEnv(4, "full", illegal="raise", shaping=0.1) for _ in range(2))
    env.reset(seed=2)
    twin.reset(seed=2)
    for step in range(40):
        actions = pick_each(env._play.states)
        bad = actions.copy()
        bad[1:3] = [15, -1]
        if step % 4 == 0:
            masks = env.action_masks()
            with pytest.raises(IllegalMoveError, match="game 1"):
                env.step(bad)
            np.testing.assert_array_equal(env.action_masks(), masks)
        for a, b in zip(env.step(actions)[:4], twin.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_returned_is_the_callers():
    """No two arrays of a run share memory, and none is written to later."""
    env = ThatsLifeVectorEnv(5, TINY, opponents="random", shaping=0.1)
    kept: list[np.ndarray] = []
    hashes: list[bytes] = []

    def keep(*returned: Any) -> None:
        for thing in (*returned, env.action_masks()):
            for array in arrays_in(thing) if isinstance(thing, dict) else [thing]:
                kept.append(array)
                hashes.append(digest(array))

    keep(*env.reset(seed=1))
    finals = 0
    for step in range(40):
        actions = pick_each(env._play.states)
        if step % 7 == 0:
            actions[2] = 15
        returned = env.step(actions)
        finals += "final_obs" in returned[4]
        keep(*returned)
    assert finals > 10
    assert len(kept) > 400
    assert not overlaps(kept)
    assert [digest(array) for array in kept] == hashes


def digest(array: np.ndarray) -> bytes:
    if array.dtype == object:
        return b"".join(b"-" if entry is None else digest(entry) for entry in array)
    return hashlib.sha256(np.ascontiguousarray(array)).digest()


def test_shaping_across_auto_reset():
    """Discounted shaped minus unshaped return of each game is -Phi(s0), 0 in a dealt one."""
    gamma, shaping = 0.95, 0.2
    settings = {"ruleset": "full", "players": 4, "opponents": "greedy"}
    plain = ThatsLifeVectorEnv(6, **settings)
    shaped = ThatsLifeVectorEnv(6, shaping=shaping, gamma=gamma, **settings)
    plain.reset(seed=3)
    shaped.reset(seed=3)
    difference, discount = np.zeros(6), np.ones(6)
    games = differ = 0
    while games < 30:
        actions = pick_each(plain._play.states)
        rewards, done = plain.step(actions)[1:3]
        gained, other = shaped.step(actions)[1:3]
        np.testing.assert_array_equal(done, other)
        differ += (rewards != gained).any()
        difference += discount * (gained - rewards)
        discount *= gamma
        assert difference[done] == pytest.approx(0, abs=1e-6)
        games += done.sum()
        difference[done], discount[done] = 0, 1
    assert differ > 20


def test_render():
    env = ThatsLifeVectorEnv(3, "basic", render_mode="ansi")
    env.reset(seed=1)
    for _ in range(5):
        assert env.render() == tuple(map(str, positions(env._play.states)))
        env.step(pick_each(env._play.states))
    plain = ThatsLifeVectorEnv(3)
    plain.reset(seed=1)
    assert plain.render() is None


def test_vectors_side_by_side_do_not_meet():
    def run(seed: int) -> Iterator[bytes]:
        env = ThatsLifeVectorEnv(4, "full", opponents=["greedy", scripted])
        env.reset(seed=seed)
        for _ in range(50):
            seen, rewards, *_ = env.step(pick_each(env._play.states))
            yield seen.tobytes() + rewards.tobytes()

    alone = [list(run(1)), list(run(2))]
    mixed = [list(column) for column in zip(*zip(run(1), run(2), strict=True), strict=True)]
    assert mixed == alone


# Opponents ----------------------------------------------------------------------------------


def test_what_batch_opponents_get():
    """States that wait for an opponent, a key for each; no key twice, each that of its decision."""
    keys_seen: list[int] = []
    sizes = Counter()

    def watcher(states: np.ndarray, keys: np.ndarray) -> np.ndarray:
        assert states.dtype == STATE
        assert keys.dtype == np.uint64
        assert states.shape == keys.shape
        assert len(states) > 0
        sizes[len(states)] += 1
        keys_seen.extend(keys.tolist())
        for position in positions(states):
            assert position.legal_actions()
            assert position.player != 0
        return pick_each(states)

    env = ThatsLifeVectorEnv(6, "basic", 3, opponents=watcher, seat=0)
    env.reset(seed=5)
    for _ in range(80):
        env.step(pick_each(env._play.states))
    assert len(keys_seen) > 500
    assert len(set(keys_seen)) == len(keys_seen)
    assert max(sizes) == 6
    possible = {
        decision_key(np.uint64(draw64(draw64(5, i), g)), d)
        for i in range(6)
        for g in range(8)
        for d in range(300)
    }
    assert set(keys_seen) <= {int(key) for key in possible}


def test_batch_opponents_cannot_touch_the_games():
    """What they get is theirs to scribble on."""

    def scribbler(states: np.ndarray, keys: np.ndarray) -> np.ndarray:
        actions = pick_each(states)
        states["towers"] = 1
        states["die"] = 6
        keys[:] = 0
        return actions

    one = ThatsLifeVectorEnv(3, "basic", opponents=scribbler)
    other = ThatsLifeVectorEnv(3, "basic", opponents=scripted)
    a, b = one.reset(seed=1), other.reset(seed=1)
    for _ in range(30):
        np.testing.assert_array_equal(a[0], b[0])
        actions = pick_each(other._play.states)
        a, b = one.step(actions), other.step(actions)


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.full(n, -1),
        lambda n: np.full(n, 16),
        lambda n: np.full(n, 2**40),
        lambda n: np.zeros(n),
        lambda n: np.zeros(n, np.bool_),
        lambda n: np.zeros((n, 1), np.int64),
        lambda n: np.zeros(n + 1, np.int64),
        lambda n: None,
        lambda n: ["0"] * n,
    ],
)
def test_batch_opponents_that_talk_nonsense_are_named(answer):
    def babbler(states: np.ndarray, _: np.ndarray) -> Any:
        return answer(len(states))

    env = ThatsLifeVectorEnv(3, "basic", opponents=babbler, seat=1)
    with pytest.raises(ValueError, match="babbler"):
        env.reset(seed=1)


def test_answers_of_opponents_may_be_any_integers():
    ends = []
    for kind in (np.int64, np.uint8, np.int32, list):
        env = ThatsLifeVectorEnv(
            3,
            "basic",
            opponents=lambda states, _, kind=kind: (
                pick_each(states).tolist() if kind is list else pick_each(states).astype(kind)
            ),
        )
        env.reset(seed=1)
        for _ in range(20):
            seen, *_ = env.step(pick_each(env._play.states))
        ends.append(seen.tobytes())
    assert len(set(ends)) == 1


SIX = Ruleset(players=6, pawns=1, layout=(1,))


def test_the_learners_seat_is_drawn_evenly_and_opponents_independently():
    """6,000 games of 6: chi-square at p = 0.001 for the seat, and for seat against opponent."""
    games = SeatGames(500, SIX, opponents={"random": 1, "greedy": 1, scripted: 2})
    seats, lineups, last = [], [], None
    for number in range(12):
        games.reset(11 if number == 0 else None)
        seats.append(games.seats.copy())
        lineups.append(games.lineups.copy())
    counts = np.bincount(np.concatenate(seats), minlength=6).tolist()
    assert sum(counts) == 6000
    assert chi_square(counts, [1 / 6] * 6) < CRITICAL[5]
    # a stream's next seat does not depend on its last
    for one, two in itertools.pairwise(seats):
        last = np.zeros((6, 6)) if last is None else last
        np.add.at(last, (one, two), 1)
    assert contingency(last) < CRITICAL[25]

    who = np.concatenate(lineups)
    where = np.concatenate(seats)
    kinds = [0, 1, FIRST_OUTSIDE]
    assert (who[np.arange(6000), where] == LEARNER).all()
    by_distance = np.zeros((6, 3))  # the opponent next to the left, by the learner's seat
    by_seat = np.zeros((6, 3))
    pairs = np.zeros((3, 3))  # the next two opponents
    for seat in range(6):
        mine = where == seat
        left, second = who[mine, (seat + 1) % 6], who[mine, (seat + 2) % 6]
        for k, kind in enumerate(kinds):
            by_distance[seat, k] = (left == kind).sum()
            by_seat[seat, k] = (who[:, seat] == kind).sum()
            for m, other in enumerate(kinds):
                pairs[k, m] += ((left == kind) & (second == other)).sum()
    assert contingency(by_distance) < 29.59  # 10 degrees of freedom
    assert contingency(by_seat) < 29.59
    assert contingency(pairs) < CRITICAL[4]
    assert chi_square(by_seat.sum(0).tolist(), [1 / 4, 1 / 4, 1 / 2]) < CRITICAL[2]


def test_seats_cover_player_counts():
    """With a mix of 2 to 6 players, each seat of each count, evenly."""
    mix = [(Ruleset(players=players, pawns=1, layout=(1,)), 1) for players in range(2, 7)]
    games = SeatGames(3000, mix, opponents="random")
    games.reset(8)
    players = games.states["players"]
    assert chi_square(np.bincount(players, minlength=7)[2:].tolist(), [1 / 5] * 5) < CRITICAL[4]
    for n in range(2, 7):
        counts = np.bincount(games.seats[players == n], minlength=n).tolist()
        assert chi_square(counts, [1 / n] * n) < CRITICAL[n - 1]


def test_opponents_stay_for_a_game():
    """Two callables drawn for each seat: who moves for a seat is who began for it."""
    log: list[tuple[int, str]] = []

    def named(name: str) -> Any:
        def play(states: np.ndarray, _: np.ndarray) -> np.ndarray:
            log.extend((int(state["player"]), name) for state in states)
            return pick_each(states)

        return play

    mixture = {named("a"): 1, named("b"): 1}
    rules = Ruleset(players=4, pawns=2, layout=(1, -2, "lucky", -3), action_tiles=False)
    env = ThatsLifeVectorEnv(1, rules, opponents=mixture, seat=3)
    lineups: Counter = Counter()
    for number in range(150):
        log.clear()
        env.reset(seed=6 if number == 0 else None)
        done = [False]
        while not done[0]:
            began = list(log)
            log.clear()
            *_, done, _, info = env.step(pick_each(env._play.states))
            # the next game begins on the same step: leave its moves out
            n_next = count_moves_before(env) if done[0] else 0
            began += log[: len(log) - n_next]
            log[:] = began
        who = defaultdict(set)
        for seat, name in log:
            who[seat].add(name)
        assert set(who) == {0, 1, 2}
        assert all(len(names) == 1 for names in who.values())
        lineups[tuple(next(iter(who[seat])) for seat in range(3))] += 1
    assert len(lineups) == 8
    assert info["seat"].tolist() == [3]


def count_moves_before(env: ThatsLifeVectorEnv) -> int:
    """Opponents' moves in a game just begun, of which the learner has the last seat."""
    return int(env._play.games["decisions"][0])


# SeatGames ----------------------------------------------------------------------------------


def run_on(games: SeatGames, steps: int) -> None:
    for _ in range(steps):
        games.step(pick_each(games.states))
        games.restart()


def test_seat_games_wait_for_their_learners():
    games = SeatGames(20, "full", 4, opponents="random")
    games.reset(1)
    ended = 0
    for _ in range(60):
        seen, masks = np.empty((20, OBS_SIZE), np.float32), np.empty((20, 16), np.bool_)
        games.observe(seen, masks)
        for i, position in enumerate(positions(games.states)):
            seat = int(games.seats[i])
            assert position.player == seat
            np.testing.assert_array_equal(seen[i], observe(position, seat))
            np.testing.assert_array_equal(masks[i], action_mask(position, seat))
            assert games.lineups[i, seat] == LEARNER
        games.step(pick_each(games.states))
        assert games.ended.tolist() == np.flatnonzero(games.done).tolist()
        assert games.finished["index"].tolist() == games.ended.tolist()
        for row, i in enumerate(games.ended):
            position = Position.from_state(games.states[i])  # still there
            assert position.is_over
            assert games.finished["points"][row, :4].tolist() == position.scores()
            assert int(games.finished["deal_seed"][row]) == int(games.games["deal"][i])
            np.testing.assert_array_equal(
                games.final_obs[row], observe(position, int(games.seats[i]))
            )
        ended += len(games.ended)
        games.restart()
    assert ended > 5


def test_weights_of_opponents():
    """From a mapping each seat of each game draws in proportion; weight 0 is never drawn."""

    def idle(states: np.ndarray, _: np.ndarray) -> np.ndarray:
        return pick_each(states)

    games = SeatGames(
        3000, TINY, seat=0, opponents={"random": 6, idle: 0, "greedy": 2, scripted: 4}
    )
    games.reset(2)
    counts = Counter(games.lineups[:, 1].tolist())
    names = {games.opponent(number): count for number, count in counts.items()}
    assert set(names) == {"random", "greedy", scripted}
    found = [names["random"], names["greedy"], names[scripted]]
    assert chi_square(found, [6 / 12, 2 / 12, 4 / 12]) < CRITICAL[2]


def test_numbers_of_opponents():
    """Baselines have theirs; callables are numbered as they come and keep their number."""
    games = SeatGames(2, TINY, opponents="random")
    games.reset(1)
    assert games.opponent(0) == "random"
    assert games.opponent(1) == "greedy"
    games.set_opponents(scripted)
    games.reset(1)
    number = int(games.lineups[games.lineups != LEARNER][0])
    assert number >= FIRST_OUTSIDE
    assert games.opponent(number) is scripted
    games.set_opponents({(lambda states, _: pick_each(states)): 1})
    games.set_opponents([scripted, scripted])
    games.reset(1)
    assert games.opponent(number) is scripted
    assert set(games.lineups[:, :2].ravel().tolist()) == {LEARNER, number}


def test_running_games_keep_their_opponents():
    """New opponents play in games that begin from now on."""
    called = Counter()

    def first(states: np.ndarray, _: np.ndarray) -> np.ndarray:
        called["first"] += len(states)
        return pick_each(states)

    def second(states: np.ndarray, _: np.ndarray) -> np.ndarray:
        called["second"] += len(states)
        return pick_each(states)

    rules = Ruleset(players=2, pawns=1, layout=[1, 2, 3, 4, 5, 6, 7, 8], action_tiles=False)
    games = SeatGames(30, rules, opponents=first)
    games.reset(3)
    run_on(games, 1)
    games.set_opponents(second)
    new = np.zeros(30, np.bool_)
    lineups = games.lineups.copy()
    while not new.all():
        games.step(pick_each(games.states))
        np.testing.assert_array_equal(games.lineups[~new], lineups[~new])
        new |= games.done
        games.restart()
        for i in np.flatnonzero(new):
            numbers = [n for n in games.lineups[i, :2].tolist() if n != LEARNER]
            assert [games.opponent(n) for n in numbers] == [second]
    assert called["second"] > 0
    before = called["first"]
    run_on(games, 10)
    assert called["first"] == before


@pytest.mark.parametrize(
    "opponents",
    [
        "gredy",
        None,
        3,
        ["greedy"],
        ["random", "gredy"],
        {},
        {3: 1},
        {"random": -1},
        {"random": 0},
        {"random": "much"},
        {"random": 1, "gredy": 1},
    ],
    ids=repr,
)
def test_opponents_refused(opponents):
    """And those there were stay."""
    games = SeatGames(40, TINY, opponents="greedy")
    with pytest.raises(ValueError):
        games.set_opponents(opponents)
    games.reset(1)
    lineups = games.lineups[:, :2]
    assert {games.opponent(n) for n in lineups[lineups != LEARNER].tolist()} == {"greedy"}


def test_a_list_of_opponents_needs_one_number_of_players():
    mix = [(TINY, 1), (Ruleset(players=3), 1)]
    for opponents in (["greedy"] * 2, ["greedy"] * 3):
        with pytest.raises(ValueError, match="opponents listed"):
            SeatGames(2, mix, opponents=opponents)


def test_fixed_seats_must_exist_in_every_ruleset():
    mix = [(TINY, 1), (Ruleset(players=3), 1)]
    with pytest.raises(ValueError, match="0 to 1"):
        SeatGames(2, mix, seat=2)
    games = SeatGames(50, mix, seat=1)
    games.reset(1)
    assert set(games.seats.tolist()) == {1}
    assert set(games.states["players"].tolist()) == {2, 3}


def test_restart_begins_only_what_ended():
    games = SeatGames(12, TINY, opponents="random")
    games.reset(5)
    ended = 0
    for _ in range(15):
        games.step(pick_each(games.states))
        before = games.states.copy(), games.games.copy()
        games.restart()
        np.testing.assert_array_equal(games.states[~games.done], before[0][~games.done])
        np.testing.assert_array_equal(games.games[~games.done], before[1][~games.done])
        for i in games.ended:
            number = int(games.games["number"][i])
            assert number == int(before[1]["number"][i]) + 1
            assert int(games.games["deal"][i]) == draw64(draw64(5, int(i)), number - 1)
        ended += len(games.ended)
    assert ended > 12


def test_forfeits_beside_games_that_go_on():
    """A lost game is not `finished`; the others never notice."""
    lost, kept = (SeatGames(6, "basic", illegal="lose", opponents="random") for _ in range(2))
    lost.reset(3)
    kept.reset(3)
    for step in range(12):
        actions = pick_each(kept.states)
        kept.step(actions)
        actions[1] = -1
        lost.step(actions)
        assert lost.forfeited.tolist() == [False, True, False, False, False, False]
        assert lost.done[1]
        assert lost.rewards[1] == -1
        assert 1 not in lost.finished["index"].tolist()
        rest = [0, 2, 3, 4, 5]
        np.testing.assert_array_equal(lost.states[rest], kept.states[rest])
        np.testing.assert_array_equal(lost.rewards[rest], kept.rewards[rest])
        lost.restart()
        kept.restart()
        assert int(lost.games["number"][1]) == step + 2


def can_decide(position: Position, seat: int) -> bool:
    """Whether the seat has something to decide from here on, worked out from the JSON."""
    shown = position.to_json()
    finish = len(shown["track"]) - 1
    chooses = shown["phase"] in ("give", "steal") and shown["player"] == seat
    return chooses or min(shown["pawns"][seat]) < finish


@pytest.mark.parametrize("seat", ["random", 0, 3])
def test_games_begin_at_a_position(seat):
    """With the rules of the position and dice of their own; a refusal changes nothing."""
    rng = random.Random(f"position {seat}")
    games = SeatGames(3, "basic", 4, opponents="random", shaping=0.1, seat=seat)
    accepted = refused = 0
    seats = set()
    for number in range(200):
        shown = random_position(rng)
        if shown["rules"]["players"] != 4:
            continue
        games.reset(number)
        before = {name: array.copy() for name, array in games.arrays().items()}
        position = Position.from_json(shown)
        able = [one for one in range(4) if can_decide(position, one)]
        wanted = not position.is_over and (seat == "random" or seat in able)
        if not wanted:
            reason = "over" if position.is_over else f"seat {seat}, nothing to decide"
            with pytest.raises(ValueError, match=reason):
                games.reset(number + 1, position)
            for name, array in games.arrays().items():
                np.testing.assert_array_equal(array, before[name])
            refused += 1
        else:
            games.reset(number + 1, position)
            accepted += 1
            for index in range(3):
                learner = int(games.seats[index])
                seats.add(learner)
                assert learner in able
                now = Position.from_state(games.states[index])
                assert now.player == learner
                assert now.to_json()["rules"] == shown["rules"]
                if position.player == learner and position.phase != "roll":
                    assert now == position
        run_on(games, 3)
    assert accepted > 10
    assert refused > 3
    assert seats == (set(range(4)) if seat == "random" else {seat})
    with pytest.raises(ValueError, match="2 players"):
        games.reset(0, Position.deal(TINY, 1))


def test_what_a_game_waits_for_is_told_apart():
    assert len({LEARNER, ENDED, *range(FIRST_OUTSIDE)}) == 2 + FIRST_OUTSIDE


# Uncompiled ---------------------------------------------------------------------------------

PLAY = """
import hashlib
import numpy as np
from thatslife_env._jit import JIT
from thatslife_env.vector import ThatsLifeVectorEnv, VectorGame

digest = hashlib.sha256()
small = {"preset": "full", "pawns": 1, "layout": [-1, 8, "lucky", "gift", -5, "steal", 2, -10]}
batch = VectorGame(3, [("full", 1), (small, 2)], 5, "rank", 0.1, players=3)
env = ThatsLifeVectorEnv(3, small, 3, opponents={"greedy": 1, "random": 1}, shaping=0.1)
env.reset(seed=2**64 - 1)
n_finished = 0
for step in range(24):
    seen, masks, _ = batch.observe()
    digest.update(seen.tobytes())
    actions = [np.flatnonzero(mask)[step % mask.sum()] for mask in masks]
    for array in (*batch.step(np.array(actions)), batch.finished):
        digest.update(array.tobytes())
    n_finished += len(batch.finished)
    masks = env.action_masks()
    actions = [np.flatnonzero(mask)[step % mask.sum()] for mask in masks]
    for array in env.step(np.array(actions))[:3]:
        digest.update(array.tobytes())
print(JIT, n_finished, digest.hexdigest())
"""


def test_uncompiled_the_same_lines_give_the_same_bits():
    """Observations, rewards, baselines and draws, with Numba and without."""
    outputs = []
    for disabled in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", PLAY],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.split())
    assert [output[0] for output in outputs] == ["True", "False"]
    assert int(outputs[0][1]) > 0
    assert outputs[0][1:] == outputs[1][1:]


def test_a_numpy_number_of_games_is_a_number():
    assert VectorGame(np.int64(2)).num_envs == ThatsLifeVectorEnv(np.int64(2)).num_envs == 2
    for wrong in (0, -1, 2.0, True, "2", None):
        with pytest.raises(ValueError, match="num_"):
            ThatsLifeVectorEnv(wrong)
