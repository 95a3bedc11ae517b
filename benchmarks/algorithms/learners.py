"""The algorithms: each trains on a task and leaves an agent in a folder. Needs the extra `train`.

Those of Stable-Baselines3 and sb3-contrib play one seat against the opponents of the task; TD
plays all seats, as `train.py` has it.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from masked import MaskedActorCriticPolicy, MaskedDQN, MaskedDQNPolicy
from pydantic import Field
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.callbacks import BaseCallback
from tasks import OPPONENTS, POINTS, RIVAL, SEED, Task
from torch import nn

from agents.afterstate import ValueAgent
from agents.base import Agent
from agents.config import Section, TdConfig, read_config
from agents.networks import MlpNetwork, NetworkAgent
from agents.policy import save_policy
from agents.runs import TrainingError, is_due
from agents.sb3_env import ThatsLifeVecEnv
from agents.td import TdTraining

CONFIGS: Final = Path(__file__).parent / "configs"
ALGORITHMS: Final = ("maskable_ppo", "ppo_penalty", "masked_a2c", "masked_dqn", "td")
"""Each the name of a file of `configs/`."""

Report = Callable[[int, Agent], None]
"""Is told of an evaluation that is due: the decisions so far, and the learner as it is."""


class Sb3Config(Section):
    """An algorithm of Stable-Baselines3 or sb3-contrib."""

    algorithm: Literal["maskable_ppo", "ppo", "masked_a2c", "masked_dqn"] = Field(
        description="its class"
    )
    n_envs: int = Field(64, ge=1, description="games side by side")
    hidden: list[int] = Field([128, 128], description="widths of the hidden layers, with relu")
    learning_rate: float = Field(gt=0, description="at the start; it falls linearly to 0")
    penalty: float | None = Field(
        None,
        ge=0,
        description="taken from the reward of an illegal action, in whose place a random legal one "
        "is played; null for algorithms that know the masks",
    )
    options: dict[str, Any] = Field({}, description="all else that the class takes")


CLASSES: Final[dict[str, tuple[Any, Any]]] = {
    "maskable_ppo": (MaskablePPO, "MlpPolicy"),
    "ppo": (PPO, "MlpPolicy"),
    "masked_a2c": (A2C, MaskedActorCriticPolicy),
    "masked_dqn": (MaskedDQN, MaskedDQNPolicy),
}
"""Class and policy of each algorithm."""

Config = Sb3Config | TdConfig


def load(algorithm: str) -> Config:
    """The config of an algorithm.

    Raises:
        UsageError: see `agents.config.load_config`.
    """

    def kind_of(content: dict[str, Any]) -> type[Config]:
        return TdConfig if content.get("algorithm") == "td" else Sb3Config

    return read_config(CONFIGS / f"{algorithm}.yaml", kind_of)


def train(
    config: Config, task: Task, seed: int, budget: int, folder: Path, report: Report
) -> tuple[str, int, float]:
    """Train, and save the agent in a folder.

    Args:
        config: of the algorithm.
        task: what is played.
        seed: of everything random, the deals too.
        budget: decisions, rounded up to whole updates.
        folder: an empty one.
        report: called for each evaluation that is due.

    Returns:
        The kind of agent that is in the folder, `policy` or `td`; the decisions taken; and the
        seconds of processor time that they took, evaluations apart.

    Raises:
        TrainingError: the weights are no longer finite.
    """
    clock = Clock(budget, report)
    if isinstance(config, TdConfig):
        return "td", _train_td(config, task, seed, budget, folder, clock), clock.seconds()
    return "policy", _train_sb3(config, task, seed, budget, folder, clock), clock.seconds()


class Clock:
    """Knows when evaluations are due, and what time they took.

    Args:
        budget: of the run.
        report: called for each that is due.
    """

    def __init__(self, budget: int, report: Report) -> None:
        self._budget = budget
        self._every = max(budget // POINTS, 1)
        self._report = report
        self._last = 0
        self._begin = time.process_time()

    def at(self, step: int, learner: Callable[[], Agent]) -> None:
        """Tell of the learner if an evaluation has become due between two updates."""
        is_last = step >= self._budget > self._last
        if is_due(self._every, self._last, step) or is_last:
            begin = time.process_time()
            self._report(step, learner())
            self._begin += time.process_time() - begin
        self._last = step

    def seconds(self) -> float:
        """Processor time so far, evaluations apart."""
        return time.process_time() - self._begin


# Stable-Baselines3 -------------------------------------------------------------------------------


class PenaltyVecEnv(ThatsLifeVecEnv):
    """Games for learners that do not know the masks.

    In the place of an illegal action a random legal one is played, and a penalty is taken from the
    reward of the step.

    Args:
        num_envs: N.
        seed: as that of the games.
        penalty: what an illegal action costs.
        **options: as those of the games.

    Attributes:
        n_illegal: illegal actions so far.
    """

    def __init__(self, num_envs: int, seed: int, *, penalty: float, **options: Any) -> None:
        super().__init__(num_envs, seed, **options)
        self._penalty = penalty
        self._rng = np.random.default_rng(seed)
        self._wrong = np.zeros(num_envs, np.bool_)
        self.n_illegal = 0

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the learners' actions, int[N], legal or not."""
        masks = self.action_masks()
        self._wrong = ~masks[np.arange(self.num_envs), actions]
        self.n_illegal += int(self._wrong.sum())
        drawn = (self._rng.random(masks.shape) * masks).argmax(axis=1)
        super().step_async(np.where(self._wrong, drawn, actions))

    def step_wait(self) -> tuple[Any, ...]:
        """Play them; see `ThatsLifeVecEnv.step_wait`."""
        observations, rewards, done, infos = super().step_wait()
        return observations, rewards - np.float32(self._penalty) * self._wrong, done, infos


def make_env(config: Sb3Config, task: Task, seed: int) -> ThatsLifeVecEnv:
    """The games that an algorithm learns from, one seat of each."""
    rulesets = [(setting.ruleset, setting.share) for setting in task.settings()]
    options: dict[str, Any] = {"ruleset": rulesets, "opponents": OPPONENTS}
    if config.penalty is None:
        return ThatsLifeVecEnv(config.n_envs, seed, **options)
    return PenaltyVecEnv(config.n_envs, seed, penalty=config.penalty, **options)


def make_model(config: Sb3Config, env: ThatsLifeVecEnv, seed: int) -> Any:
    """The learner."""
    kind, policy = CLASSES[config.algorithm]
    return kind(
        policy,
        env,
        learning_rate=lambda remaining: config.learning_rate * max(remaining, 0.0),
        policy_kwargs={"net_arch": config.hidden, "activation_fn": nn.ReLU},
        seed=seed,
        device="cpu",
        **config.options,
    )


def as_network(model: Any, hidden: list[int]) -> MlpNetwork:
    """What a model plays by, as a network of ours, which any agent `policy:PATH` is made of.

    Its scores are the model's logits, or action values; so the highest legal one is what the model
    plays when it does not explore. Of action values there is no value tower: it is all 0.
    """
    network = MlpNetwork(hidden)
    policy = model.policy
    if isinstance(model, A2C):
        network.load_state_dict(policy.mlp_extractor.state_dict())
    elif isinstance(model, MaskedDQN):
        _copy([policy.q_net.q_net], network.policy)
        for parameter in network.value.parameters():
            nn.init.zeros_(parameter)
    else:
        _copy([policy.mlp_extractor.policy_net, policy.action_net], network.policy)
        _copy([policy.mlp_extractor.value_net, policy.value_net], network.value)
    return network


def _copy(layers: list[nn.Module], tower: nn.Module) -> None:
    found = [parameter for layer in layers for parameter in layer.parameters()]
    with torch.no_grad():
        for parameter, given in zip(tower.parameters(), found, strict=True):
            parameter.copy_(given)


class Evaluations(BaseCallback):
    """Between updates, has the clock look whether an evaluation is due.

    Args:
        clock: of the run.
        hidden: widths of the model's hidden layers.
    """

    def __init__(self, clock: Clock, hidden: list[int]) -> None:
        super().__init__()
        self._clock = clock
        self._hidden = hidden

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._clock.at(self.num_timesteps, self._learner)

    def _on_training_end(self) -> None:
        self._clock.at(self.num_timesteps, self._learner)

    def _learner(self) -> Agent:
        network = as_network(self.model, self._hidden)
        if not all(numbers.isfinite().all() for numbers in network.parameters()):
            raise TrainingError(f"step {self.num_timesteps}: the weights are no longer finite")
        return NetworkAgent("learner", network)


def _train_sb3(
    config: Sb3Config, task: Task, seed: int, budget: int, folder: Path, clock: Clock
) -> int:
    model = make_model(config, make_env(config, task, seed), seed)
    model.learn(budget, Evaluations(clock, config.hidden), log_interval=None)
    network = {"kind": "mlp", "hidden": config.hidden, "activation": "relu"}
    about = {
        "algorithm": config.algorithm,
        "task": task.name,
        "steps": model.num_timesteps,
        "seed": seed,
    }
    save_policy(folder / "policy", as_network(model, config.hidden), network, about)
    return int(model.num_timesteps)


# TD ----------------------------------------------------------------------------------------------


def _train_td(
    config: TdConfig, task: Task, seed: int, budget: int, folder: Path, clock: Clock
) -> int:
    of_run = {
        "game": task.game,
        "seed": seed,
        "total_steps": budget,
        "evaluation": {"every": budget, "deals": 1, "opponents": [RIVAL], "seed": SEED},
        "checkpoint_every": budget,
    }
    training = TdTraining(folder, TdConfig.model_validate(config.model_dump() | of_run), False)
    training.learn(
        lambda n_steps: clock.at(
            training.step, lambda: ValueAgent("learner", training.network.playing())
        )
    )
    training.save()
    return training.step
