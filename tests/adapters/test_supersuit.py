"""SuperSuit's wrappers over the AEC environment: those that fit, and what the others do instead."""

from copy import deepcopy

import gymnasium
import numpy as np
import pytest
import supersuit
from pettingzoo.test import api_test

from thatslife_env import thatslife_v0
from thatslife_env.board import N_ACTIONS
from thatslife_env.observation import HIGH, LOW, OBS_SIZE, SLICES

LEGAL = SLICES["legal"]


def make(**keywords):
    return thatslife_v0.raw_env(ruleset="full", players=3, reward="margin", **keywords)


def vectors(env):
    """Observations as plain vectors; the legal actions stand in their row `legal`."""
    return supersuit.observation_lambda_v0(
        env, lambda seen, space: seen["observation"], lambda space: space["observation"]
    )


def play(env, legal_of, seed=3):
    """A game of random legal actions: totals of `last()`, and each live (agent, observation)."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    totals, seen = dict.fromkeys(env.possible_agents, 0.0), []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        assert env.observation_space(agent).contains(observation)
        seen.append((agent, deepcopy(observation)))  # some wrappers write into it again
        env.step(int(rng.choice(np.flatnonzero(legal_of(observation)))))
    return totals, seen


def of_dict(observation):
    return observation["action_mask"]


TOTALS, SEEN = play(make(), of_dict)  # without a wrapper


# What fits ------------------------------------------------------------------------------------


def test_rewards():
    totals, _ = play(supersuit.reward_lambda_v0(make(), lambda reward: 3 * reward), of_dict)
    assert totals == pytest.approx({agent: 3 * total for agent, total in TOTALS.items()})
    totals, _ = play(supersuit.clip_reward_v0(make(), -0.1, 0.1), of_dict)
    assert totals == pytest.approx({agent: np.clip(TOTALS[agent], -0.1, 0.1) for agent in TOTALS})
    assert totals != pytest.approx(TOTALS)


def test_observations_of_the_same_form():
    """A function of the whole dict, mask and all; PettingZoo's own test passes."""

    def doubled(seen, space):
        return {**seen, "observation": 2 * seen["observation"]}

    def wider(space):
        box = gymnasium.spaces.Box(2 * LOW, 2 * HIGH, dtype=np.float32)
        return gymnasium.spaces.Dict({**space.spaces, "observation": box})

    env = supersuit.observation_lambda_v0(make(), doubled, wider)
    api_test(env, num_cycles=200)
    totals, seen = play(env, of_dict)
    assert totals == TOTALS
    assert len(seen) == len(SEEN)
    for (agent, observation), (same, plain) in zip(seen, SEEN, strict=True):
        assert agent == same
        assert np.array_equal(observation["observation"], 2 * plain["observation"])
        assert np.array_equal(observation["action_mask"], plain["action_mask"])


def plain_vector(observation):
    return observation


WRAPPED = {
    "none": (lambda env: env, plain_vector, plain_vector),
    "dtype": (
        lambda env: supersuit.dtype_v0(env, np.float64),
        lambda vector: vector.astype(np.float64),
        plain_vector,
    ),
    "normalize": (
        lambda env: supersuit.normalize_obs_v0(env, 0, 1),
        lambda vector: (vector - LOW) / (HIGH - LOW),
        plain_vector,
    ),
    "reshape": (
        lambda env: supersuit.reshape_v0(env, (2, OBS_SIZE // 2)),
        lambda vector: vector.reshape(2, -1),
        np.ravel,
    ),
    "flatten": (supersuit.flatten_v0, plain_vector, plain_vector),
    "pad": (
        lambda env: supersuit.pad_action_space_v0(supersuit.pad_observations_v0(env)),
        plain_vector,
        plain_vector,
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_vectors(name):
    wrapper, expected, back = WRAPPED[name]
    totals, seen = play(wrapper(vectors(make())), lambda shown: back(shown)[LEGAL])
    assert totals == TOTALS
    for (agent, observation), (same, plain) in zip(seen, SEEN, strict=True):
        assert agent == same
        wanted = expected(plain["observation"])
        assert np.allclose(observation, wanted)
        assert observation.dtype == wanted.dtype


def test_stacked_vectors():
    """The newest part holds the mask; the older parts are the same agent's decisions before."""
    env = supersuit.frame_stack_v1(vectors(make()), 3)
    totals, seen = play(env, lambda shown: shown[-OBS_SIZE:][LEGAL])
    assert totals == TOTALS
    past = {agent: [np.zeros(OBS_SIZE, np.float32)] * 3 for agent in TOTALS}
    for (agent, observation), (same, plain) in zip(seen, SEEN, strict=True):
        assert agent == same
        past[agent] = [*past[agent][1:], plain["observation"]]
        assert np.array_equal(observation, np.concatenate(past[agent]))


def test_the_environment_for_one_seat():
    """Its observation is a vector and its mask is in `info`, which wrappers leave alone."""
    env = supersuit.frame_stack_v1(gymnasium.make("thatslife_env:ThatsLife-v0"), 2)
    observation, info = env.reset(seed=1)
    before = np.zeros(OBS_SIZE, np.float32)
    terminated = False
    while not terminated:
        assert np.array_equal(observation[:OBS_SIZE], before)
        assert np.array_equal(observation[OBS_SIZE:][LEGAL], info["action_mask"])
        before = observation[OBS_SIZE:].copy()
        observation, reward, terminated, _, info = env.step(int(info["action_mask"].argmax()))
    assert reward in (-1, 1)


# What does not --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrapper", "error"),
    [
        (lambda env: supersuit.dtype_v0(env, np.float64), AttributeError),
        (supersuit.flatten_v0, AttributeError),
        (supersuit.normalize_obs_v0, AttributeError),
        (lambda env: supersuit.reshape_v0(env, (2, OBS_SIZE // 2)), AssertionError),
        (lambda env: supersuit.frame_stack_v1(env, 2), AssertionError),
        (supersuit.agent_indicator_v0, AssertionError),
        (supersuit.pad_observations_v0, AssertionError),
        (supersuit.black_death_v3, AssertionError),
        (supersuit.pettingzoo_env_to_vec_env_v1, AssertionError),
    ],
)
def test_dicts_and_turns_are_refused_by_the_wrapper_itself(wrapper, error):
    with pytest.raises(error):
        wrapper(make())


def play_many(wrapper) -> None:
    for seed in range(20):
        play(wrapper(make()), of_dict, seed)


@pytest.mark.parametrize(
    ("wrapper", "error"),
    [
        (lambda env: supersuit.sticky_actions_v0(env, 0.9), "is not legal"),
        (lambda env: supersuit.frame_skip_v0(env, 4), "is not legal"),
        (lambda env: supersuit.delay_observations_v0(env, 2), "is not legal|cannot be empty"),
    ],
)
def test_old_actions_and_old_masks_are_illegal(wrapper, error):
    """They repeat an action, or show no mask and then that of an earlier turn."""
    with pytest.raises(ValueError, match=error):
        play_many(wrapper)


def test_agent_indicators_contradict_their_space():
    """The mark is the highest bound of all, its own bound the lowest of them: 5 and 0 here."""
    env = supersuit.agent_indicator_v0(vectors(make()))
    env.reset(seed=1)
    observation = env.observe("player_1")
    assert observation[OBS_SIZE:].tolist() == [0, HIGH.max(), 0]
    assert not env.observation_space("player_1").contains(observation)


def test_actions_have_no_order_to_clip_or_scale():
    assert make().action_space("player_0") == gymnasium.spaces.Discrete(N_ACTIONS)
    with pytest.raises(AssertionError):
        supersuit.scale_actions_v0(make(), 2)
