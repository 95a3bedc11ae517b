"""The Gymnasium door: one seat learns, sees its own decisions only, and gets its own rewards."""

import copy
import hashlib
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import reference
from conftest import random_position
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics, TransformObservation
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from thatslife_env import PRESETS, IllegalMoveError, Position, PositionError, Ruleset, thatslife_v0
from thatslife_env.baselines import GREEDY, RANDOM, baseline_action, decision_key
from thatslife_env.gymnasium_env import ThatsLifeEnv
from thatslife_env.observation import OBS_SIZE, observe
from thatslife_env.position import dice

SLOW = os.environ.get("THATSLIFE_SLOW") == "1"
N_GAMES = 200 if SLOW else 15
ID = "thatslife_env:ThatsLife-v0"
GAMMA = 0x9E3779B97F4A7C15
VARIANTS = list(itertools.product(PRESETS, range(2, 7)))
SEATS = [(players, seat) for players in range(2, 7) for seat in range(players)]


def draw64(seed: int, k: int) -> int:
    return reference.mix(seed + (k + 1) * GAMMA)


def script(position: Position, _: object = None) -> int:
    """A legal action that the position alone decides; also an opponent `f(position, rng)`."""
    legal = position.legal_actions()
    return legal[zlib.crc32(position.state.tobytes()) % len(legal)]


def brute_force_mask(position: Position) -> list[bool]:
    """Which actions can be played: all are tried."""
    mask = []
    for action in range(16):
        try:
            position.play(action)
        except IllegalMoveError:
            mask.append(False)
        else:
            mask.append(True)
    return mask


def lead(position: Position, seat: int) -> float:
    """Points less the opponents' mean; 0 at the end."""
    points = position.scores()
    if position.is_over:
        return 0.0
    return points[seat] - (sum(points) - points[seat]) / (len(points) - 1)


def play(env: ThatsLifeEnv, seed: int | None = None, **reset: Any) -> list[float]:
    """A game by the script; the rewards of its steps."""
    env.reset(seed=seed, **reset)
    rewards = []
    is_over = False
    while not is_over:
        _, reward, is_over, truncated, _ = env.step(script(env.position))
        assert not truncated
        rewards.append(reward)
    return rewards


# Conformance --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), VARIANTS)
def test_checkers(name, players):
    """Gymnasium's and SB3's own; what they warn of is none of ours but the missing frame rate."""
    env = gymnasium.make(ID, ruleset=name, players=players)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*No render fps was declared.*")
        check_env(env.unwrapped)
        sb3_check_env(env.unwrapped)
        settings = {"shaping": 0.1, "opponents": "random", "seat": players - 1}
        check_env(gymnasium.make(ID, ruleset=name, players=players, **settings).unwrapped)


def test_make():
    env = gymnasium.make(ID, ruleset="full", players=4, seat=2, opponents="random")
    seen, info = env.reset(seed=1)
    assert isinstance(env.unwrapped, ThatsLifeEnv)
    assert isinstance(env.unwrapped.position, Position)
    assert env.unwrapped.position.to_json()["rules"] == {
        "players": 4,
        "pawns": 3,
        "guards": True,
        "scoring": "expert",
    }
    assert seen.shape == (OBS_SIZE,)
    assert seen.dtype == np.float32
    assert env.observation_space.contains(seen)
    assert env.action_space == gymnasium.spaces.Discrete(16)
    assert info["seat"] == env.unwrapped.seat == 2
    assert env.spec is not None
    assert env.spec.max_episode_steps is None
    env.close()


def test_defaults():
    env = gymnasium.make(ID)
    env.reset(seed=1)
    rules = {"players": 2, "pawns": 3, "guards": False, "scoring": "standard"}
    assert env.unwrapped.position.to_json()["rules"] == rules


def test_specs_pickle():
    env = gymnasium.make(ID, ruleset="classic", players=3, seat=0)
    spec = pickle.loads(pickle.dumps(env.spec))
    twin = gymnasium.make(spec)
    seen, _ = env.reset(seed=4)
    np.testing.assert_array_equal(twin.reset(seed=4)[0], seen)
    assert twin.unwrapped.position == env.unwrapped.position


def test_registering_twice_is_quiet():
    """Importing again, or reloading, warns of nothing."""
    code = (
        "import importlib, sys, gymnasium, thatslife_env\n"
        "importlib.reload(thatslife_env)\n"
        "del sys.modules['thatslife_env']\n"
        "import thatslife_env\n"
        "env = gymnasium.make('ThatsLife-v0')\n"
        "again = gymnasium.make('thatslife_env:ThatsLife-v0')\n"
        "print(env.spec.entry_point)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "thatslife_env" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"reward": "points"}, "win, margin, rank"),
        ({"ruleset": "nonsense"}, "basic, classic, expert, full"),
        ({"players": 7}, "players"),
        ({"ruleset": Ruleset(players=3), "players": 4}, "contradicts"),
        ({"seat": 2}, "seat"),
        ({"seat": -1}, "seat"),
        ({"seat": "left"}, "left"),
        ({"seat": True}, "seat"),
        ({"illegal": "ignore"}, "lose"),
        ({"render_mode": "svg"}, "None or one of ansi, rgb_array, human, not 'svg'"),
        ({"opponents": "gredy"}, "random, greedy"),
        ({"opponents": ["greedy"]}, "1 opponents listed for 2 seats"),
        ({"opponents": ["greedy"] * 3}, "3 opponents listed for 2 seats"),
        ({"opponents": ["greedy", "gredy"]}, "gredy"),
        ({"opponents": None}, "None"),
        ({"opponents": 3}, "3"),
    ],
)
def test_arguments_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        ThatsLifeEnv(**arguments)


# Rewards: the learner's own -----------------------------------------------------------------


def seat_totals(env: Any, seed: int, **reset: Any) -> list[float]:
    """What each seat of a scripted game gets in the AEC environment."""
    env.reset(seed=seed, **reset)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        totals[agent] += reward
        env.step(None if terminated else script(env.position))
    return list(totals.values())


PRESET_OF = {2: "basic", 3: "full", 4: "classic", 5: "expert", 6: "full"}


@pytest.mark.parametrize("players", range(2, 7))
def test_rewards_add_up_to_those_of_the_seat(players):
    """The same games, move by move, through both doors."""
    name = PRESET_OF[players]
    for reward in ("win", "margin", "rank"):
        n_games = N_GAMES if reward == "win" else N_GAMES // 5
        table = thatslife_v0.raw_env(name, players, reward)
        wanted = [seat_totals(table, seed) for seed in range(n_games)]
        for seat in range(players):
            env = ThatsLifeEnv(name, players, opponents=script, seat=seat, reward=reward)
            for seed in range(n_games):
                rewards = play(env, seed)
                assert sum(rewards) == pytest.approx(wanted[seed][seat], abs=1e-6)
                # it comes with the last step
                assert not any(rewards[:-1])
                assert env.position.is_over


@pytest.mark.parametrize("players", range(2, 7))
def test_shaped_rewards_add_up_to_those_of_the_seat(players):
    """With gamma 1, up to the potential at the learner's first decision.

    In a dealt game that is 0, as nobody has a tile then; so games are also begun midway.
    """
    name, shaping = PRESET_OF[players], 0.05
    table = thatslife_v0.raw_env(name, players, shaping=shaping)
    nonzero = 0
    for seed in range(N_GAMES):
        options = None
        phi = [0.0] * players
        if seed % 2:
            table.reset(seed=seed)
            for _ in range(8 * players):
                table.step(script(table.position))
            options = {"position": table.position}
            phi = [lead(table.position, seat) for seat in range(players)]
        wanted = seat_totals(table, seed, options=options)
        for seat in range(players):
            env = ThatsLifeEnv(name, players, opponents=script, seat=seat, shaping=shaping)
            env.reset(seed=seed, options=options)
            first = lead(env.position, seat)
            nonzero += phi[seat] != first
            got = sum(play(env, seed, options=options)) + shaping * first
            assert got == pytest.approx(wanted[seat] + shaping * phi[seat], abs=1e-6)
            assert options or first == 0
    assert nonzero > 3


@pytest.mark.parametrize("gamma", [1.0, 0.99, 0.9, 0.5, 0.0])
def test_shaping_changes_no_return_but_by_the_first_potential(gamma):
    """Discounted shaped minus unshaped return is -Phi(s0), across the opponents' moves."""
    shaping = 0.3
    for players, seat in [(2, 0), (2, 1), (4, 2), (6, 5)]:
        for opponents in ("greedy", script):
            settings = {"ruleset": "full", "players": players, "seat": seat, "opponents": opponents}
            plain = ThatsLifeEnv(**settings)
            shaped = ThatsLifeEnv(**settings, shaping=shaping, gamma=gamma)
            for seed in range(6):
                shaped.reset(seed=seed)
                first = shaping * lead(shaped.position, seat)
                pair = play(plain, seed), play(shaped, seed)
                returns = [
                    sum(gamma**t * reward for t, reward in enumerate(rewards)) for rewards in pair
                ]
                assert len(pair[0]) == len(pair[1])
                assert returns[1] - returns[0] == pytest.approx(-first, abs=1e-6)
                assert pair[0] != pair[1]


def test_shaping_step_by_step():
    """`scale x (gamma x Phi(next own decision) - Phi(this one))`, each step."""
    env = ThatsLifeEnv("basic", 3, opponents=script, seat=1, shaping=0.25, gamma=0.9)
    for seed in range(5):
        env.reset(seed=seed)
        is_over = False
        while not is_over:
            before = lead(env.position, 1)
            _, reward, is_over, _, _ = env.step(script(env.position))
            wanted = 0.25 * (0.9 * lead(env.position, 1) - before)
            if is_over:
                shares = env.position.win_shares()
                wanted += (3 * shares[1] - 1) / 2
            assert reward == pytest.approx(wanted, abs=1e-9)


# Masks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("players", "seat"), SEATS)
def test_masks_are_the_learners(players, seat):
    """After every reset and step: the learner is to decide, and its mask is what can be played."""
    rng = random.Random(f"masks {players} {seat}")
    phases = Counter()
    env = ThatsLifeEnv(rng.choice(["full", "basic"]), players, opponents="random", seat=seat)
    for seed in range(6):
        seen, info = env.reset(seed=seed)
        is_over = False
        while not is_over:
            position = env.position
            assert position.player == seat
            assert info["seat"] == seat
            phases[position.phase] += 1
            wanted = brute_force_mask(position)
            masks = env.action_masks()
            assert masks.dtype == info["action_mask"].dtype == np.bool_
            assert masks.tolist() == info["action_mask"].tolist() == wanted
            np.testing.assert_array_equal(seen, observe(position, seat))
            seen, _, is_over, _, info = env.step(rng.choice(np.flatnonzero(masks).tolist()))
        assert env.position.is_over
        assert not env.action_masks().any()
        assert not info["action_mask"].any()
        np.testing.assert_array_equal(seen, observe(env.position, seat))
    assert phases["move"] > 50


def test_masks_through_wrappers():
    env: gymnasium.Env = gymnasium.make(ID, players=3)
    env = RecordEpisodeStatistics(env)
    env = TransformObservation(env, lambda seen: seen, env.observation_space)
    _, info = env.reset(seed=1)
    masks = env.get_wrapper_attr("action_masks")
    n = 0
    is_over = False
    while not is_over:
        assert masks().tolist() == brute_force_mask(env.unwrapped.position)
        _, _, is_over, _, info = env.step(int(np.flatnonzero(masks())[0]))
        n += 1
    assert info["episode"]["l"] == n
    assert not masks().any()


# What is played between the learner's decisions ---------------------------------------------


class Table:
    """A game of one learner and baselines, played with `Position`, `dice` and the keys alone."""

    def __init__(
        self, deal: int, seat: int, baselines: list[int | None], position: Position
    ) -> None:
        self.deal, self.seat, self.baselines, self.position = deal, seat, baselines, position
        self.n_rolls = self.n_decisions = 0
        self.settle()

    def settle(self) -> None:
        while not self.position.is_over:
            if self.position.phase == "roll":
                self.position = self.position.roll(dice(self.deal, self.n_rolls))
                self.n_rolls += 1
            elif self.position.player == self.seat:
                return
            else:
                key = np.uint64(decision_key(np.uint64(self.deal), self.n_decisions))
                code = self.baselines[self.position.player]
                self.play(int(baseline_action(self.position.state[0], code, key)))

    def play(self, action: int) -> None:
        self.position = self.position.play(action)
        self.n_decisions += 1

    def step(self, action: int) -> None:
        self.play(action)
        self.settle()


@pytest.mark.parametrize(("players", "seat"), SEATS)
def test_games_with_baselines(players, seat):
    """The g-th game of a seed: its deal, its dice, every opponent's move by its own key."""
    rng = random.Random(f"table {players} {seat}")
    names = [rng.choice(["greedy", "random"]) for _ in range(players)]
    codes = [GREEDY if name == "greedy" else RANDOM for name in names]
    preset = rng.choice(list(PRESETS))
    rules = Ruleset.preset(preset, players=players)
    env = ThatsLifeEnv(preset, players, opponents=names, seat=seat)
    for seed in (0, 2**64 - 1):
        for number in range(3):
            env.reset(seed=seed if number == 0 else None)
            deal = draw64(seed, number)
            table = Table(deal, seat, codes, Position.deal(rules, deal))
            while not table.position.is_over:
                assert env.position == table.position
                action = script(table.position)
                env.step(action)
                table.step(action)
            assert env.position == table.position


def test_greedy_is_the_default_opponent():
    for opponents in ({}, {"opponents": "greedy"}):
        env = ThatsLifeEnv("basic", 3, seat=1, **opponents)
        env.reset(seed=9)
        deal = draw64(9, 0)
        rules = Ruleset.preset("basic", players=3)
        table = Table(deal, 1, [GREEDY] * 3, Position.deal(rules, deal))
        while not table.position.is_over:
            assert env.position == table.position
            action = script(table.position)
            env.step(action)
            table.step(action)


def test_an_opponent_for_each_seat():
    """Each is asked for its own seat alone, the learner's never."""
    asked: list[list[int]] = [[] for _ in range(4)]

    def asking(number: int) -> Any:
        def play_seat(position: Position, rng: np.random.Generator) -> int:
            assert isinstance(position, Position)
            assert isinstance(rng, np.random.Generator)
            asked[number].append(position.player)
            return script(position)

        return play_seat

    env = ThatsLifeEnv("full", 4, opponents=[asking(seat) for seat in range(4)], seat=2)
    for seed in range(3):
        play(env, seed)
    assert asked[2] == []
    for seat in (0, 1, 3):
        assert set(asked[seat]) == {seat}
        assert len(asked[seat]) > 20


def test_names_and_callables_mixed():
    calls = []

    def scripted(position: Position, _: np.random.Generator) -> int:
        calls.append(position.player)
        return script(position)

    env = ThatsLifeEnv("basic", 3, opponents=["random", scripted, "greedy"], seat=0)
    play(env, 1)
    assert set(calls) == {1}


def test_a_random_learners_seat():
    """A function of the deal; each seat in turn; the opponent list goes by seat."""
    env = ThatsLifeEnv("basic", 5, opponents=script)
    seats = []
    for number in range(200):
        _, info = env.reset(seed=1 if number == 0 else None)
        assert info["seat"] == env.seat == env.position.player
        seats.append(env.seat)
    assert set(seats) == set(range(5))
    again = [env.reset(seed=1 if number == 0 else None)[1]["seat"] for number in range(200)]
    assert again == seats


def test_opponents_draw_from_the_generator_of_the_environment():
    """So a seed repeats what they do, and another seed does not."""

    def drawing(position: Position, rng: np.random.Generator) -> int:
        return int(rng.choice(position.legal_actions()))

    ends = {}
    for run in range(2):
        env = ThatsLifeEnv("basic", 3, opponents=drawing, seat=0)
        for seed in (5, 6, 5):
            play(env, seed)
            ends.setdefault(seed, []).append(env.position)
        assert len(ends[5]) == 2 * (run + 1)
    assert len(set(ends[5])) == 1
    assert len(set(ends[6])) == 1


def cheat(position: Position, _: np.random.Generator) -> int:
    """An opponent that plays what it may not."""
    return next(action for action in range(16) if action not in position.legal_actions())


@pytest.mark.parametrize("illegal", ["lose", "raise"])
def test_an_opponent_that_cheats_is_named(illegal):
    env = ThatsLifeEnv("basic", 2, opponents=cheat, seat=0, illegal=illegal)
    env.reset(seed=1)
    with pytest.raises(IllegalMoveError, match="cheat"):
        env.step(script(env.position))
    env = ThatsLifeEnv("basic", 2, opponents=cheat, seat=1, illegal=illegal)
    with pytest.raises(IllegalMoveError, match="cheat"):
        env.reset(seed=1)


@pytest.mark.parametrize("answer", [-1, 16, 10**9, 2**40, None, 1.5, "0", [0], True], ids=repr)
def test_an_opponent_that_talks_nonsense_is_named(answer):
    def babbler(_: Position, __: np.random.Generator) -> Any:
        return answer

    env = ThatsLifeEnv("basic", 2, opponents=babbler, seat=0)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="babbler"):
        env.step(script(env.position))


def test_after_an_opponents_error_the_learner_plays_for_nobody_else():
    """The game waits for the opponent: a step must not move the opponent's pieces."""
    env = ThatsLifeEnv("basic", 2, opponents=cheat, seat=0)
    env.reset(seed=1)
    with pytest.raises(IllegalMoveError):
        env.step(script(env.position))
    stuck = env.position
    assert stuck.player == 1
    with pytest.raises((IllegalMoveError, gymnasium.error.ResetNeeded)):
        env.step(script(stuck))
    assert env.position == stuck


def test_opponents_errors_come_through():
    def broken(_: Position, __: np.random.Generator) -> int:
        raise ZeroDivisionError("mine")

    env = ThatsLifeEnv("basic", 2, opponents=broken, seat=1)
    with pytest.raises(ZeroDivisionError, match="mine"):
        env.reset(seed=1)


def test_numpy_answers_of_opponents():
    ends = []
    for kind in (int, np.int64, np.int8, np.array):
        env = ThatsLifeEnv("basic", 3, opponents=lambda p, _, kind=kind: kind(script(p)), seat=1)
        play(env, 2)
        ends.append(env.position)
    assert len(set(ends)) == 1


# Illegal actions of the learner -------------------------------------------------------------


def illegal_actions(position: Position) -> list[int]:
    legal = position.legal_actions()
    return [action for action in range(16) if action not in legal] + [
        -1,
        16,
        10**9,
        10**30,
        -(10**30),
    ]


@pytest.mark.parametrize("reward", ["win", "margin", "rank"])
@pytest.mark.parametrize("players", range(2, 7))
def test_an_illegal_action_loses(players, reward):
    """At once, with the worst reward; nothing else happens on the board."""
    rng = random.Random(f"loses {players}")
    worst = -1 / (players - 1) if reward == "win" else -1
    for shaping in (0.0, 0.1):
        env = ThatsLifeEnv("full", players, reward=reward, shaping=shaping, gamma=0.9)
        for seed in range(8):
            env.reset(seed=seed)
            for _ in range(rng.randint(0, 6)):
                _, _, is_over, _, _ = env.step(rng.choice(np.flatnonzero(env.action_masks())))
                assert not is_over
            position = env.position
            action = rng.choice(illegal_actions(position))
            seen, gained, terminated, truncated, info = env.step(action)
            assert terminated
            assert not truncated
            assert gained == pytest.approx(worst - shaping * lead(position, env.seat))
            assert info["illegal_action"] is True
            assert info["win_share"] == 0
            assert info["seat"] == env.seat
            assert not info["action_mask"].any()
            assert not env.action_masks().any()
            assert env.position == position
            assert env.observation_space.contains(seen)
            with pytest.raises(gymnasium.error.ResetNeeded):
                env.step(position.legal_actions()[0])
            assert env.position == position


def test_an_illegal_action_that_raises_changes_nothing():
    """Each one that there is, in many positions; the game goes on as if it had not been tried."""
    settings = {"ruleset": "full", "players": 3, "seat": 1, "shaping": 0.1}
    env, twin = ThatsLifeEnv(**settings, illegal="raise"), ThatsLifeEnv(**settings)
    for seed in range(4):
        env.reset(seed=seed)
        twin.reset(seed=seed)
        is_over = False
        while not is_over:
            position, mask = env.position, env.action_masks()
            for action in illegal_actions(position):
                with pytest.raises(IllegalMoveError) as caught:
                    env.step(action)
                assert str(position.legal_actions()) in str(caught.value)
            assert env.position == position
            np.testing.assert_array_equal(env.action_masks(), mask)
            action = script(position)
            seen, reward, is_over, _, info = env.step(action)
            other = twin.step(action)
            np.testing.assert_array_equal(seen, other[0])
            assert (reward, is_over) == other[1:3]
            assert "illegal_action" not in info


@pytest.mark.parametrize("action", [99, -3, 2**70])
def test_the_error_names_what_was_given(action):
    env = ThatsLifeEnv("basic", 2, illegal="raise")
    env.reset(seed=1)
    with pytest.raises(IllegalMoveError, match=f"action {action} "):
        env.step(action)


@pytest.mark.parametrize("illegal", ["lose", "raise"])
@pytest.mark.parametrize(
    "action",
    [np.array([3]), 3.7, "3", None, np.float64(1), np.array(1.0), True, [0], np.nan, {}],
    ids=repr,
)
def test_what_is_no_action_is_an_error(action, illegal):
    """A clear one, whatever `illegal` says, and nothing changes."""
    env = ThatsLifeEnv("basic", 2, seat=0, illegal=illegal)
    env.reset(seed=1)
    position = env.position
    with pytest.raises(IllegalMoveError, match="whole number"):
        env.step(action)
    assert env.position == position
    _, _, terminated, _, info = env.step(script(position))
    assert not terminated
    assert "illegal_action" not in info


def test_kinds_of_integers():
    """What agents hand over: int, NumPy integers, 0-d arrays as `predict` returns them."""
    traces = []
    for kind in (int, np.int64, np.int32, np.uint8, np.array):
        env = ThatsLifeEnv("classic", 3, opponents=script, seat=1)
        env.reset(seed=2)
        trace = []
        is_over = False
        while not is_over:
            seen, reward, is_over, _, _ = env.step(kind(script(env.position)))
            trace.append((seen.tobytes(), reward))
        traces.append(trace)
    assert all(trace == traces[0] for trace in traces)


def test_step_before_reset_and_after_the_end():
    env = ThatsLifeEnv("basic", 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    play(env, 3)
    end = env.position
    for action in (0, 3, 15, -1):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(action)
    assert env.position == end
    _, info = env.reset()
    assert info["action_mask"].any()
    env.step(script(env.position))


# The end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 6])
def test_info_at_the_end(players):
    """Points and win share by the reference; nothing of them before."""
    env = ThatsLifeEnv("expert", players, opponents="random")
    shared = 0
    for seed in range(40):
        env.reset(seed=seed)
        is_over = False
        while not is_over:
            _, reward, is_over, _, info = env.step(script(env.position))
            assert is_over == ("scores" in info) == ("win_share" in info)
        game = reference.Game.from_json(env.position.to_json())
        assert info["scores"] == game.scores()
        winners = game.winners()
        shared += len(winners) > 1
        assert info["win_share"] == (1 / len(winners) if env.seat in winners else 0)
        assert reward == pytest.approx((players * info["win_share"] - 1) / (players - 1))
        assert info["seat"] == env.seat
        assert "illegal_action" not in info
    json.dumps({"scores": info["scores"], "win_share": info["win_share"], "seat": info["seat"]})


# Seeds --------------------------------------------------------------------------------------


def test_seeds_and_streams():
    """Each reset with a seed begins its games anew; without one, the next of them."""
    env = ThatsLifeEnv("basic", 2, seat=0)
    openings = []
    for _ in range(2):
        openings.append([])
        for number in range(5):
            env.reset(seed=8 if number == 0 else None)
            openings[-1].append(env.position)
            env.step(script(env.position))
    rules = Ruleset()
    wanted = []
    for number in range(5):
        deal = draw64(8, number)
        wanted.append(Position.deal(rules, deal).roll(dice(deal, 0)))
    assert openings == [wanted, wanted]


def test_without_a_seed_games_differ():
    openings = set()
    for _ in range(5):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        env = ThatsLifeEnv("basic", 2, seat=0)
        env.reset()
        openings.add(env.position)
    assert len(openings) == 5


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1", True])
def test_seeds_refused(seed):
    """And the game that was going on goes on."""
    env, twin = ThatsLifeEnv("basic", 2, seat=0), ThatsLifeEnv("basic", 2, seat=0)
    for each in (env, twin):
        each.reset(seed=4)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    for each in (env, twin):
        each.step(script(each.position))
        each.reset()
    assert env.position == twin.position


def test_large_and_numpy_seeds():
    env = ThatsLifeEnv("basic", 2, seat=0)
    for seed in (2**64 - 1, 2**63, np.int64(5), np.uint64(2**64 - 1)):
        env.reset(seed=seed)
        deal = draw64(int(seed), 0)
        assert env.position == Position.deal(Ruleset(), deal).roll(dice(deal, 0))


def test_global_generators_are_left_alone_and_do_not_matter():
    ends = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = random.getstate(), pickle.dumps(np.random.get_state())  # noqa: NPY002
        env = gymnasium.make(ID, ruleset="full", players=4)
        env.reset(seed=3)
        for _ in range(40):
            is_over = False
            while not is_over:
                position = env.unwrapped.position
                _, _, is_over, _, _ = env.step(script(position))
            env.reset()
        ends.append(env.unwrapped.position)
        assert random.getstate() == before[0]
        assert pickle.dumps(np.random.get_state()) == before[1]  # noqa: NPY002
    assert ends[0] == ends[1]


def test_games_side_by_side_do_not_meet():
    def drawing(position: Position, rng: np.random.Generator) -> int:
        return int(rng.choice(position.legal_actions()))

    def trace(seed: int) -> Iterator[tuple]:
        env = ThatsLifeEnv("full", 3, opponents=["random", drawing, "greedy"], shaping=0.1)
        env.reset(seed=seed)
        for _ in range(3):
            is_over = False
            while not is_over:
                seen, reward, is_over, _, info = env.step(script(env.position))
                yield seen.tobytes(), reward, info["seat"]
            env.reset()

    alone = list(trace(1)), list(trace(2))
    mixed: tuple[list, list] = ([], [])
    for pair in itertools.zip_longest(trace(1), trace(2)):
        for which in range(2):
            mixed[which].extend([pair[which]] if pair[which] else [])
    assert mixed == alone
    assert alone[0] != alone[1]


# Beginning from a position ------------------------------------------------------------------

TABLE = {
    "rules": {"players": 3, "pawns": 1, "guards": False, "scoring": "expert"},
    "track": ["start", -7, 4, "lucky", 2, "finish"],
    "pawns": [[0], [1], [2]],
    "guards": [],
    "towers": [[], [], []],
    "player": 1,
    "phase": "move",
    "die": 1,
}


@pytest.mark.parametrize("form", ["object", "text", "Position"])
def test_begin_from_a_position(form):
    given = {"object": TABLE, "text": json.dumps(TABLE), "Position": Position.from_json(TABLE)}
    env = ThatsLifeEnv("basic", 3, seat=1)
    seen, info = env.reset(seed=1, options={"position": given[form]})
    assert env.position == Position.from_json(TABLE)
    np.testing.assert_array_equal(seen, observe(env.position, 1))
    assert info["action_mask"].tolist() == brute_force_mask(env.position)


def test_positions_of_every_phase():
    """The others play on to the learner's first decision, by the rules of the position."""
    rng = random.Random("positions")
    phases = Counter()
    refused = 0
    for number in range(250):
        shown = random_position(rng)
        if shown["phase"] == "over":
            continue
        players = shown["rules"]["players"]
        seat = rng.randrange(players)
        code = rng.choice([GREEDY, RANDOM])
        opponents = "greedy" if code == GREEDY else "random"
        env = ThatsLifeEnv("basic", players, opponents=opponents, seat=seat)
        table = Table(draw64(number, 0), seat, [code] * players, Position.from_json(shown))
        if table.position.is_over:
            refused += 1
            with pytest.raises(ValueError, match=f"seat {seat}, nothing to decide"):
                env.reset(seed=number, options={"position": shown})
            continue
        phases[shown["phase"]] += 1
        seen, info = env.reset(seed=number, options={"position": shown})
        while not table.position.is_over:
            assert env.position == table.position
            np.testing.assert_array_equal(seen, observe(table.position, seat))
            assert info["action_mask"].tolist() == brute_force_mask(table.position)
            action = script(table.position)
            seen, _, _, _, info = env.step(action)
            table.step(action)
        assert env.position == table.position
        assert info["scores"] == table.position.scores()
    assert refused > 3
    assert set(phases) == {"roll", "move", "give", "steal"}


def test_shaping_from_a_position():
    shown = {**TABLE, "towers": [[1], [8], [3]], "player": 0}
    env = ThatsLifeEnv("basic", 3, opponents=script, seat=2, shaping=0.5)
    env.reset(seed=3, options={"position": shown})
    first = lead(env.position, 2)
    rewards = play(env, 3, options={"position": shown})
    final = (3 * env.position.win_shares()[2] - 1) / 2
    assert first != 0
    assert sum(rewards) == pytest.approx(final - 0.5 * first)


def test_after_a_position_the_stream_goes_on():
    env = ThatsLifeEnv("basic", 3, seat=0)
    env.reset(seed=4)
    env.reset(options={"position": {**TABLE, "player": 0}})
    env.reset()
    deal = draw64(4, 2)
    assert env.position == Position.deal(Ruleset(players=3), deal).roll(dice(deal, 0))


HOME = {**TABLE, "pawns": [[0], [5], [2]], "player": 2}
REFUSED = [
    ({"position": {**TABLE, "phase": "over", "die": 0, "pawns": [[5], [5], [5]]}}, "over"),
    ({"position": HOME}, "nothing to decide"),
    ({"position": {**HOME, "phase": "roll", "die": 0}}, "nothing to decide"),
    (
        {
            "position": {
                **TABLE,
                "rules": {**TABLE["rules"], "players": 2},
                "pawns": [[0], [1]],
                "towers": [[], []],
            }
        },
        "2 players",
    ),
    ({"position": {**TABLE, "die": 7}}, "die"),
    ({"position": "{"}, "JSON"),
    ({"position": 7}, "object"),
    ({"postion": TABLE}, "postion"),
]


@pytest.mark.parametrize(("options", "word"), REFUSED)
def test_options_refused(options, word):
    env = ThatsLifeEnv("basic", 3, seat=1)
    with pytest.raises(ValueError, match=word) as caught:
        env.reset(seed=4, options=options)
    assert isinstance(caught.value, PositionError) == (word in ("die", "JSON", "object"))
    env.reset(seed=4)
    assert env.action_masks().tolist() == brute_force_mask(env.position)


@pytest.mark.parametrize(("options", "word"), REFUSED)
def test_after_a_refusal_the_mask_still_fits_the_position(options, word):
    """The game before goes on, or a reset is needed; never one game's mask on another's board."""
    env = ThatsLifeEnv("full", 3, seat=1)
    env.reset(seed=4)
    for _ in range(6):
        env.step(script(env.position))
    with pytest.raises(ValueError, match=word):
        env.reset(options=options)
    if env.action_masks().any():
        assert env.position.player == 1
        assert env.action_masks().tolist() == brute_force_mask(env.position)
        env.step(script(env.position))
    else:
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)


# What is returned ---------------------------------------------------------------------------


def test_what_is_returned_is_the_callers():
    """No two arrays share memory, and none is written to later."""
    env = ThatsLifeEnv("basic", 3)
    kept: list[np.ndarray] = []
    infos = []
    hashes = []

    def keep(seen: np.ndarray, info: dict) -> None:
        for array in (seen, info["action_mask"], env.action_masks()):
            kept.append(array)
            hashes.append(hashlib.sha256(array).digest())
        infos.append((info, pickle.dumps(info)))

    for seed in range(3):
        keep(*env.reset(seed=seed))
        is_over = False
        while not is_over:
            seen, _, is_over, _, info = env.step(script(env.position))
            keep(seen, info)
    spans = sorted((array.__array_interface__["data"][0], array.nbytes) for array in kept)
    assert len(spans) > 100
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(spans))
    assert [hashlib.sha256(array).digest() for array in kept] == hashes
    assert all(pickle.dumps(info) == was for info, was in infos)
    env.reset()
    mask = env.action_masks()
    mask[:] = True
    assert not env.action_masks().all()


def test_render_and_close():
    env = gymnasium.make(ID, render_mode="ansi")
    env.reset(seed=1)
    is_over = False
    while not is_over:
        assert env.render() == str(env.unwrapped.position)
        _, _, is_over, _, _ = env.step(script(env.unwrapped.position))
    env.close()
    env.close()
    plain = ThatsLifeEnv()
    plain.reset(seed=1)
    assert plain.render() is None
    plain.close()
    plain.close()


# Opponents and chance -----------------------------------------------------------------------


def drawn(position: Position, rng: np.random.Generator) -> int:
    return int(rng.choice(position.legal_actions()))


@pytest.mark.parametrize("start", [None, {"position": TABLE}])
def test_a_seed_fixes_what_callable_opponents_draw(start):
    """From the very first observation on, in new environments and in one that is reset."""
    one = ThatsLifeEnv("basic", 3, opponents=drawn, seat=2)
    for seed in range(8):
        fresh = ThatsLifeEnv("basic", 3, opponents=drawn, seat=2)
        first, second = (env.reset(seed=seed, options=start)[0] for env in (one, fresh))
        np.testing.assert_array_equal(first, second)
        while one.action_masks().any():
            action = int(np.flatnonzero(one.action_masks())[-1])
            np.testing.assert_array_equal(one.step(action)[0], fresh.step(action)[0])


def test_opponents_with_weights():
    """Names and callables f(position, rng) may be mixed; each is drawn for some seats."""
    asked = []

    def spy(position: Position, rng: np.random.Generator) -> int:
        asked.append(position.player)
        return drawn(position, rng)

    env = ThatsLifeEnv("basic", 4, opponents={spy: 1, "greedy": 1}, seat=3)
    for seed in range(12):
        env.reset(seed=seed)  # each of the others has one turn before seat 3
    assert 0 < len(asked) < 12 * 3
    assert set(asked) == {0, 1, 2}


@pytest.mark.parametrize("name", ["shaping", "gamma"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "much", None])
def test_what_is_no_number(name, value):
    with pytest.raises((ValueError, TypeError)):
        ThatsLifeEnv(**{name: value})


def test_a_copy_in_the_middle_of_a_game_goes_on_alike():
    """Callable opponents of the copy draw from its own generator; a pickle too."""
    env = ThatsLifeEnv("full", 4, opponents=drawn, seat=1)
    env.reset(seed=3)
    for _ in range(2):
        env.step(script(env.position))
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    while env.action_masks().any():
        action = script(env.position)
        wanted = env.step(action)[0]
        for one in copies:
            np.testing.assert_array_equal(one.step(action)[0], wanted)
