"""The game and the network against RLlib itself: its episodes, its connectors, its batches."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from agents import rllib
from agents.config import RllibConfig
from agents.networks import make_network
from agents.rllib import NetworkModule, ThatsLifeMultiAgentEnv
from agents.rllib_training import LEARNER, algorithm_config
from thatslife_env import PRESETS, Ruleset
from thatslife_env.board import N_ACTIONS
from thatslife_env.thatslife_v0 import raw_env

torch.set_num_threads(1)

MIX = [
    {"ruleset": "basic", "players": [2, 3]},
    {"ruleset": "full", "players": [2, 6]},
    {"ruleset": {"layout": [3, -4, "lucky", 5, "gift", -6], "players": 4, "pawns": 1}},
]
NETWORK = {"kind": "action", "hidden": [8, 16, 16, 8], "activation": "relu"}


def config_of(**sections) -> RllibConfig:
    given = {"game": {"mix": MIX}, "network": NETWORK, "ray": {"workers": 1}}
    given |= {"ppo": {"n_envs": 8, "n_steps": 7, "batch_size": 28}}
    return RllibConfig.model_validate(given | sections)


class Noted(raw_env):
    """The AEC environment, which notes what is played in it."""

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.seed, self.actions = seed, []

    def step(self, action):
        super().step(action)
        self.actions.append(action)


def aec_totals(game: Noted, shaping: float) -> tuple[dict[str, float], dict[str, int]]:
    """The same game in the AEC environment, as its own loop has it: totals and decisions."""
    env = raw_env(game.ruleset, shaping=shaping)
    env.reset(seed=game.seed)
    totals, decisions = defaultdict(float), defaultdict(int)
    actions = iter(game.actions)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        if terminated or truncated:
            env.step(None)
        else:
            decisions[agent] += 1
            env.step(next(actions))
    assert list(actions) == []
    return totals, decisions


def test_the_environment_passes_the_check_of_rllib():
    for preset, players in itertools.product(PRESETS, (2, 6)):
        env = ThatsLifeMultiAgentEnv({"ruleset": preset, "players": players})
        check_multiagent_environments(env)
        assert env.possible_agents == [f"player_{seat}" for seat in range(players)]


def test_only_the_seat_to_decide_is_asked_and_its_mask_is_its_own():
    rng = np.random.default_rng(3)
    mix = [(Ruleset.preset(name, players=n), 1) for name in PRESETS for n in (2, 3, 6)]
    env = ThatsLifeMultiAgentEnv({"mix": mix})
    seen = set()
    for number in range(20):
        observations, _ = env.reset(seed=number)
        is_over = False
        while not is_over:
            position = env.game.position
            assert list(observations) == [f"player_{position.player}"]
            seen.add((position.players, position.player))
            (observation,) = observations.values()
            assert np.flatnonzero(observation["action_mask"]).tolist() == position.legal_actions()
            assert env.observation_spaces[f"player_{position.player}"].contains(observation)
            action = int(rng.choice(position.legal_actions()))
            observations, rewards, ended, cut, _ = env.step({f"player_{position.player}": action})
            is_over = ended["__all__"]
            assert is_over == env.game.position.is_over
            assert not any(cut.values())
            assert set(rewards) <= set(observations)
        assert set(observations) == set(rewards) == set(env.agents)
        assert not any(each["action_mask"].any() for each in observations.values())
    assert {(2, 0), (2, 1), (6, 0), (6, 5)} <= seen


@pytest.mark.parametrize("shaping", [0.0, 0.02])
def test_returns_and_decisions_are_those_of_the_aec_environment(monkeypatch, shaping):
    """Whatever the pieces into which RLlib cuts an episode, and for whichever seat."""
    monkeypatch.setattr(rllib, "raw_env", Noted)
    games = {}

    def note(*, episode, env, env_index, **others):
        game = env.envs[env_index].unwrapped.game
        games[episode.id_] = aec_totals(game, shaping)

    config = algorithm_config(config_of(reward={"shaping": shaping}))
    runner = MultiAgentEnvRunner(config=config.callbacks(on_episode_end=note), worker_index=1)
    totals, decisions = (
        defaultdict(lambda: defaultdict(float)),
        defaultdict(lambda: defaultdict(int)),
    )
    n_pieces = defaultdict(int)
    for _ in range(40):
        for episode in runner.sample():
            n_pieces[episode.id_] += 1
            for agent, piece in episode.agent_episodes.items():
                totals[episode.id_][agent] += piece.get_return()
                decisions[episode.id_][agent] += len(piece)
    assert len(games) > 15
    assert min(n_pieces[name] for name in games) == 1
    assert max(n_pieces[name] for name in games) > 4
    assert {len(expected) for expected, _ in games.values()} == {2, 3, 4, 6}
    for name, (expected, made) in games.items():
        assert totals[name] == pytest.approx(expected, abs=1e-9)
        assert decisions[name] == made
    if not shaping:
        assert all(sum(expected.values()) == pytest.approx(0) for expected, _ in games.values())
        assert np.mean([max(expected.values()) > 0 for expected, _ in games.values()]) > 0.5


def test_workers_and_their_games_are_dealt_apart():
    """RLlib seeds the games of worker w with s + w, s + w + 1, ...: these overlap."""
    dealt = []
    for worker in (1, 2, 3):
        env = ThatsLifeMultiAgentEnv(EnvContext({"ruleset": "basic"}, worker_index=worker))
        for seed in range(100 + worker, 108 + worker):
            env.reset(seed=seed)
            dealt.append(str(env.game.position))
    assert len(set(dealt)) == len(dealt)
    again = ThatsLifeMultiAgentEnv(EnvContext({"ruleset": "basic"}, worker_index=1))
    again.reset(seed=101)
    assert str(again.game.position) == dealt[0]


def test_a_mix_is_drawn_by_its_weights():
    mix = [(Ruleset.preset("basic", players=2), 3), (Ruleset.preset("basic", players=5), 1)]
    env = ThatsLifeMultiAgentEnv({"mix": mix})
    env.reset(seed=1)
    counts = []
    for _ in range(400):
        env.reset()
        counts.append(len(env.agents))
    assert abs(counts.count(2) - 300) < 5 * (400 * 0.75 * 0.25) ** 0.5
    assert set(counts) == {2, 5}


# What is drawn ----------------------------------------------------------------------------------


def observed(n: int) -> dict[str, torch.Tensor]:
    """Observations of random games, of every preset and number of players."""
    from conftest import decisions

    from thatslife_env.games import observe_players
    from thatslife_env.observation import OBS_SIZE

    states = decisions(n)
    rows, masks = np.zeros((n, OBS_SIZE), np.float32), np.zeros((n, N_ACTIONS), np.bool_)
    observe_players(states, rows, masks)
    return {
        "observation": torch.from_numpy(rows),
        "action_mask": torch.from_numpy(masks.astype(np.int8)),
    }


def module_of(network: dict) -> NetworkModule:
    env = ThatsLifeMultiAgentEnv()
    return NetworkModule(
        observation_space=env.observation_spaces["player_0"],
        action_space=env.action_spaces["player_0"],
        model_config={"network": network},
    )


@pytest.mark.parametrize("kind", ["mlp", "action"])
def test_what_is_not_legal_has_probability_0_and_the_network_is_ours(kind):
    torch.manual_seed(2)
    hidden = {"mlp": [16], "action": [8, 16, 16, 8]}[kind]
    module = module_of({"kind": kind, "hidden": hidden, "activation": "relu"})
    seen = observed(300)
    out = module.forward_exploration({Columns.OBS: seen})
    scores, legal = out[Columns.ACTION_DIST_INPUTS], seen["action_mask"] == 1
    drawn = module.get_exploration_action_dist_cls().from_logits(scores)
    probabilities = torch.softmax(scores, 1)
    assert (probabilities[~legal] == 0).all()
    assert torch.allclose(probabilities.sum(1), torch.ones(300))
    for _ in range(20):
        assert legal[torch.arange(300), drawn.sample()].all()
    own = module.network.forward_actor(seen["observation"])
    assert torch.equal(scores[legal], own[legal])
    values = module.network.forward_critic(seen["observation"])
    assert torch.equal(module.compute_values({Columns.OBS: seen}), values[:, 0])
    # what the loss asks for is finite where one action is legal, and where none is, at an end
    only = torch.zeros_like(seen["action_mask"])
    only[:150, 3] = 1
    out = module.forward_train({Columns.OBS: {**seen, "action_mask": only}})
    ends = module.get_train_action_dist_cls().from_logits(out[Columns.ACTION_DIST_INPUTS])
    assert torch.isfinite(ends.entropy()).all()
    assert (ends.entropy()[:150] == 0).all()
    ends.entropy().sum().backward()
    assert all(each.grad.isfinite().all() for each in module.parameters() if each.grad is not None)


def test_the_module_is_saved_as_our_network():
    description = {"kind": "mlp", "hidden": [16], "activation": "tanh"}
    names = {f"network.{name}" for name in make_network(description).state_dict()}
    assert set(module_of(description).get_state()) == names


class Unmasked(NetworkModule):
    """As it would be without a mask."""

    def _forward(self, batch, **options):
        scores = self.network.forward_actor(batch[Columns.OBS]["observation"])
        return {Columns.ACTION_DIST_INPUTS: scores}


@pytest.mark.parametrize(("module", "is_masked"), [(NetworkModule, True), (Unmasked, False)])
def test_illegal_actions_are_counted(monkeypatch, module, is_masked):
    """None with the mask; without it most games end by one, for which its player pays."""
    monkeypatch.setattr("agents.rllib_training.NetworkModule", module)
    runner = MultiAgentEnvRunner(config=algorithm_config(config_of()), worker_index=1)
    ended = [each for _ in range(40) for each in runner.sample() if each.is_done]
    counted = runner.get_metrics()["illegal_actions"]
    counted = int(getattr(counted, "peek", lambda: counted)())
    assert len(ended) > 10
    if is_masked:
        assert counted == 0
        return
    assert counted > len(ended) / 2
    lost = min(episode.get_return() for episode in ended)
    assert lost == -1  # the worst reward of two; nobody gains


def test_the_mapping_is_to_the_one_learner():
    mapping = algorithm_config(config_of()).policy_mapping_fn
    assert {mapping(f"player_{seat}", None) for seat in range(6)} == {LEARNER}
