"""Tianshou's PettingZooEnv over the AEC environment: masked policies, and learning from games."""

import numpy as np
import pytest
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from thatslife_env import IllegalMoveError, thatslife_v0
from thatslife_env.board import N_ACTIONS
from thatslife_env.observation import OBS_SIZE

LONGER_THAN_ANY_GAME = 1000


def make(ruleset="basic", players=2, **keywords):
    return PettingZooEnv(thatslife_v0.raw_env(ruleset=ruleset, players=players, **keywords))


def random_player(env) -> MARLRandomDiscreteMaskedOffPolicyAlgorithm:
    return MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=env.action_space)


def learner(env, horizon=LONGER_THAN_ANY_GAME, gamma=1.0, hidden_sizes=(64,)) -> DQN:
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=OBS_SIZE, action_shape=N_ACTIONS, hidden_sizes=hidden_sizes),
        action_space=env.action_space,
        eps_training=0.2,
    )
    return DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=gamma,
        n_step_return_horizon=horizon,
    )


def collected(algorithm, maker, n_games, seed=7):
    """A buffer of games in four environments at once, and what was collected."""
    games = DummyVectorEnv([maker] * 4)
    games.seed([seed + number for number in range(4)])
    buffer = VectorReplayBuffer(20_000, 4)
    collector = Collector(algorithm, games, buffer, exploration_noise=True)
    collector.reset()
    return buffer, collector.collect(n_episode=n_games)


def finals(buffer) -> np.ndarray:
    """For each transition stored, the rewards that its game ended with: [transitions, seats]."""
    stored = buffer[:]
    out, ends = np.empty_like(stored.rew), np.flatnonzero(stored.done)
    for end in ends[::-1]:
        out[: end + 1] = stored.rew[end]
    return out


@pytest.mark.parametrize(
    ("ruleset", "players", "reward"),
    [("basic", 2, "win"), ("full", 4, "rank"), ("classic", 6, "win")],
)
def test_masked_random_players_play_whole_games(ruleset, players, reward):
    """Rewards of an episode are the totals that the AEC environment pays."""
    env = make(ruleset, players, reward=reward)
    algorithm = MultiAgentOffPolicyAlgorithm(
        algorithms=[random_player(env) for _ in range(players)], env=env
    )
    buffer, result = collected(algorithm, lambda: make(ruleset, players, reward=reward), n_games=8)
    assert result.n_collected_episodes == 8
    assert result.returns.shape == (8, players)
    assert np.allclose(result.returns.sum(axis=1), 0)
    stored = buffer[:]
    chosen = np.take_along_axis(stored.obs.mask, stored.act[:, None], axis=1)
    assert chosen.all()  # and the environment has taken them all
    assert not stored.obs.mask.all(axis=1).any()
    assert not stored.truncated.any()
    assert (stored.rew[~stored.done] == 0).all()


def test_the_wrapper_pays_what_the_aec_environment_pays():
    """Step by step, with shaping."""
    keywords = {"ruleset": "full", "players": 3, "reward": "margin", "shaping": 0.02}
    wrapped, plain = make(**keywords), thatslife_v0.raw_env(**keywords)
    wrapped.reset(seed=4)
    plain.reset(seed=4)
    paid, expected, done = np.zeros(3), np.zeros(3), False
    seen = {}
    for agent in plain.agent_iter():
        observation, reward, terminated, _, _ = plain.last()
        expected[wrapped.agent_idx[agent]] += reward
        if terminated:
            assert done
            plain.step(None)
            continue
        if seen:
            assert seen["agent_id"] == agent
            assert np.array_equal(seen["obs"], observation["observation"])
            assert seen["mask"] == observation["action_mask"].astype(bool).tolist()
        action = int(np.flatnonzero(observation["action_mask"])[-1])
        seen, rewards, done, truncated, _ = wrapped.step(action)
        assert not truncated
        paid += rewards
        plain.step(action)
    assert np.allclose(paid, expected)


def test_illegal_actions_are_refused():
    env = make()
    seen, _ = env.reset(seed=1)
    with pytest.raises(IllegalMoveError, match="is not legal"):
        env.step(seen["mask"].index(False))


def test_returns_over_the_whole_game_are_the_seat_s_own():
    """With a horizon as long as a game, every seat learns from its own result, gamma 1.

    With the usual horizon of 1 most decisions see no result: the control.
    """
    env = make("basic", 3)
    for horizon, is_right in ((LONGER_THAN_ANY_GAME, True), (1, False)):
        torch.manual_seed(3)
        seats = [learner(env, horizon) for _ in range(3)]
        algorithm = MultiAgentOffPolicyAlgorithm(algorithms=seats, env=env)
        buffer, _ = collected(algorithm, lambda: make("basic", 3), n_games=4)
        indices = np.arange(len(buffer))[: int(np.flatnonzero(buffer[:].done)[0]) + 1]
        batch = algorithm._preprocess_batch(buffer[indices], buffer, indices)
        wanted = finals(buffer)
        for seat, agent in enumerate(env.agents):
            got = batch[agent].returns.numpy().ravel()
            own = buffer[indices].obs.agent_id == agent
            assert np.allclose(got, wanted[indices][own, seat]) == is_right


def test_masked_dqn_learns_to_be_greedy():
    """Worth nothing at first; with the change of the lead as its whole target, far above chance.

    That change is shaping's reward (gamma 0), and stands in the observation. What a game pays is
    the result alone, as shaping adds up to nothing. 100 games: the mean return is +- 0.1.
    """
    np.random.seed(5)  # noqa: NPY002  # Tianshou explores with NumPy's global generator
    torch.manual_seed(5)

    def one():
        return make(shaping=0.05)

    env = one()
    dqn = learner(env, horizon=1, gamma=0.0, hidden_sizes=[])
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[dqn, random_player(env)], env=env)

    def mean_return() -> float:
        return float(collected(algorithm, one, 100)[1].returns[:, 0].mean())

    before = mean_return()
    games = DummyVectorEnv([one] * 4)
    games.seed([1, 2, 3, 4])
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=Collector(
                algorithm, games, VectorReplayBuffer(20_000, 4), exploration_noise=True
            ),
            test_collector=None,
            max_epochs=1,
            epoch_num_steps=3000,
            collection_step_num_env_steps=100,
            update_step_num_gradient_steps_per_sample=0.2,
            batch_size=128,
            test_step_num_episodes=0,
        )
    )
    after = mean_return()
    print(before, after)
    assert before < 0.2
    assert after > 0.3
