"""TorchRL's PettingZooWrapper over the AEC environment."""

import pytest
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType, check_env_specs
from torchrl.modules import MaskedCategorical, ProbabilisticActor

from thatslife_env import PRESETS, IllegalMoveError, thatslife_v0
from thatslife_env.board import N_ACTIONS
from thatslife_env.observation import OBS_SIZE

pytestmark = pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using")

ONE_GROUP = MarlGroupMapType.ALL_IN_ONE_GROUP
CASES = [
    *zip(PRESETS, [2, 5, 3, 6], ["win", "margin", "rank", "win"], [0, 0.01, 0, 0], strict=True)
]


def make(preset="basic", players=3, reward="win", shaping=0.0, group_map=ONE_GROUP):
    env = thatslife_v0.raw_env(ruleset=preset, players=players, reward=reward, shaping=shaping)
    return PettingZooWrapper(env, use_mask=True, group_map=group_map)


def masked_actor(seed: int = 1) -> ProbabilisticActor:
    """A linear policy over the legal actions, for all seats at once."""
    torch.manual_seed(seed)
    scores = TensorDictModule(
        torch.nn.Linear(OBS_SIZE, N_ACTIONS),
        in_keys=[("agents", "observation", "observation")],
        out_keys=[("agents", "logits")],
    )
    return ProbabilisticActor(
        scores,
        in_keys={"logits": ("agents", "logits"), "mask": ("agents", "action_mask")},
        out_keys=[("agents", "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )


def aec_totals(actions: list[int], preset, players, reward, shaping, seed) -> list[float]:
    """What `last()` pays each seat for these actions in the second game of `seed`."""
    env = thatslife_v0.raw_env(ruleset=preset, players=players, reward=reward, shaping=shaping)
    env.reset(seed=seed)
    env.reset()
    totals = dict.fromkeys(env.possible_agents, 0.0)
    left = iter(actions)
    for agent in env.agent_iter():
        _, gained, terminated, _, _ = env.last()
        totals[agent] += gained
        env.step(None if terminated else next(left))
    assert not list(left)
    return list(totals.values())


@pytest.mark.parametrize(("preset", "players", "reward", "shaping"), CASES)
@pytest.mark.parametrize("group_map", [ONE_GROUP, None])
def test_specs(preset, players, reward, shaping, group_map):
    env = make(preset, players, reward, shaping, group_map)
    assert len(env.group_map) == (1 if group_map else players)
    check_env_specs(env, seed=3)


@pytest.mark.parametrize(("preset", "players", "reward", "shaping"), CASES)
def test_masked_rollouts_pay_what_the_aec_environment_pays(preset, players, reward, shaping):
    env = make(preset, players, reward, shaping)
    env.set_seed(11)
    for game in range(3):
        played = env.rollout(2000, policy=masked_actor(game))
        seats, following = played["agents"], played["next", "agents"]
        assert played["next", "done"].sum() == 1  # a whole game, to its end
        assert following["terminated"][-1].all()
        assert not following["truncated"].any()
        assert (seats["mask"].sum(-1) == 1).all()  # one seat acts at a time
        chosen = seats["action"][seats["mask"]]
        legal = seats["action_mask"][seats["mask"]]
        assert legal.gather(1, chosen[:, None]).all()
        assert not legal.all(1).any()
        if game == 0:
            paid = following["reward"].sum(0).flatten()
            expected = aec_totals(chosen.tolist(), preset, players, reward, shaping, 11)
            assert paid.tolist() == pytest.approx(expected, abs=1e-5)


def test_random_actions_are_legal():
    """Those that the wrapper itself draws; an illegal one would raise."""
    env = make("full", 4, group_map=None)
    env.set_seed(5)
    played = env.rollout(2000)
    assert played["next", "done"].sum() == 1
    assert sum(played["next", seat, "reward"].sum() for seat in env.group_map) == pytest.approx(
        0, abs=1e-6
    )


def play_unmasked(env: PettingZooWrapper, scores: TensorDictModule) -> None:
    state = env.reset()
    while not state["done"].all():
        state = scores(state)
        logits = state["agents", "logits"]
        state["agents", "action"] = torch.distributions.Categorical(logits=logits).sample()
        state = env.step_mdp(env.step(state))


def test_masks_are_needed():
    """Without them the same policy plays illegally, and that is refused."""
    with pytest.raises(IllegalMoveError, match="is not legal"):
        play_unmasked(make(), masked_actor()[0])


def test_games_follow_one_another_in_a_collector():
    collector = Collector(
        make("classic", 2), masked_actor(), frames_per_batch=300, total_frames=600
    )
    ends = 0
    for batch in collector:
        done = batch["next", "done"].flatten()
        ends += int(done.sum())
        final = batch["next", "agents", "reward"][done]
        assert final.shape[1:] == (2, 1)
        assert final.sum(1).abs().max() < 1e-6
        assert (batch["next", "agents", "reward"][~done] == 0).all()
    collector.shutdown()
    assert ends >= 4


def test_a_gradient_step_makes_what_won_likelier():
    """REINFORCE on one game: the winner's actions become likelier, the losers' less likely."""
    env = make("basic", 2)
    env.set_seed(2)
    actor = masked_actor()
    played = env.rollout(2000, policy=actor)
    acting = played["agents", "mask"]
    final = played["next", "agents", "reward"][-1, :, 0].expand_as(acting)[acting]
    assert set(final.tolist()) == {1.0, -1.0}
    inputs = played.select(("agents", "observation"), ("agents", "action_mask"))

    def objective() -> torch.Tensor:
        chances = actor.get_dist(inputs.clone()).log_prob(played["agents", "action"])
        return (chances[acting] * final).mean()

    before = objective()
    recorded = played["agents", "action_log_prob"][acting]
    assert torch.isclose(before, (recorded * final).mean(), atol=1e-5)
    before.backward()
    with torch.no_grad():
        for weights in actor.parameters():
            weights += 0.01 * weights.grad
    assert objective() > before
