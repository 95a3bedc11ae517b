"""A run of RLlib's PPO on a Ray cluster, as `train.py` drives it. Needs the extra `ray`.

Workers play the learner against itself, in every seat, and this process learns. A worker that dies
is replaced while the others go on; the run itself goes on from its latest checkpoint. Checkpoints
are RLlib's own and hold pickles: they are read from the run's own folder alone, and what is shared
is the policy folder.
"""

import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.exceptions import RayError
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from agents.cli import UsageError
from agents.cluster import cluster, n_cpus
from agents.config import RllibConfig
from agents.files import replacing
from agents.networks import NetworkAgent, make_network
from agents.policy import save_policy
from agents.rllib import NetworkModule, ThatsLifeMultiAgentEnv
from agents.runs import (
    CHECKPOINTS_KEPT,
    Metrics,
    TrainingError,
    evaluate,
    is_due,
    last_segment,
    plot_curve,
    read_metrics,
)

logging.getLogger("ray.rllib").setLevel(logging.ERROR)  # else it warns of its own defaults

LEARNER = "learner"
"""The one module, which plays every seat."""

ILLEGAL = "illegal_actions"
LEARNED = "learner_group"
"""The folder of weights and optimiser in a checkpoint of RLlib."""

PATIENCE = 600
"""Seconds in which at least one worker must have played; at first they compile the rules."""

_PROBE = 5  # seconds in each update that are waited for a worker that is being replaced


class CountIllegal(RLlibCallback):
    """Counts the games that ended by an illegal action."""

    def on_episode_end(
        self, *, env_index: int, env: Any, metrics_logger: Any, **others: Any
    ) -> None:
        """Count one that has ended."""
        game: ThatsLifeMultiAgentEnv = env.envs[env_index].unwrapped
        metrics_logger.log_value(ILLEGAL, game.illegal_actions, reduce="sum")


def learner_of(agent: str, episode: Any, **others: Any) -> str:
    """The module that plays a seat."""
    return LEARNER


def algorithm_config(config: RllibConfig, segment: int = 0) -> PPOConfig:
    """The config of RLlib's PPO that a run's config means.

    Args:
        config: of the run.
        segment: of the run; each has games of its own.
    """
    ppo = config.ppo
    seed = np.random.SeedSequence([config.seed, segment]).generate_state(1)[0] >> 1
    module = RLModuleSpec(
        module_class=NetworkModule, model_config={"network": config.network.model_dump()}
    )
    rates = [[0, ppo.learning_rate], [config.total_steps, ppo.final_learning_rate]]
    return (
        PPOConfig()
        .environment(
            ThatsLifeMultiAgentEnv,
            env_config={
                "mix": config.game.weighted(),
                "reward": config.reward.terminal,
                "shaping": config.reward.shaping,
            },
            disable_env_checking=True,  # it plays at random, illegally too
        )
        .multi_agent(policies={LEARNER}, policy_mapping_fn=learner_of)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={LEARNER: module}))
        .env_runners(
            num_env_runners=config.ray.workers,
            num_envs_per_env_runner=ppo.n_envs // config.ray.workers,
            rollout_fragment_length=ppo.n_steps,
            sample_timeout_s=PATIENCE,
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=ppo.n_envs * ppo.n_steps,
            minibatch_size=ppo.batch_size,
            num_epochs=ppo.n_epochs,
            lr=rates,
            gamma=ppo.gamma,
            lambda_=ppo.gae_lambda,
            clip_param=ppo.clip_range,
            entropy_coeff=ppo.ent_coef,
            vf_loss_coeff=ppo.vf_coef,
            vf_clip_param=float("inf"),
            grad_clip=ppo.max_grad_norm,
            grad_clip_by="global_norm",
            use_kl_loss=False,
        )
        .fault_tolerance(
            restart_failed_env_runners=True,
            env_runner_health_probe_timeout_s=_PROBE,
        )
        .callbacks(CountIllegal)
        .debugging(seed=int(seed), log_level="ERROR")
    )


class RllibTraining:
    """A run of RLlib's PPO in its folder.

    Args:
        folder: of the run.
        config: of the run.
        resume: go on from its latest checkpoint, if there is one.
        address: of the cluster, see `cluster`.

    Attributes:
        step: decisions of all seats so far.
        stopped_at: the step at which it stopped because it was asked to.
    """

    def __init__(
        self, folder: Path, config: RllibConfig, resume: bool, address: str | None = None
    ) -> None:
        self._folder = folder
        self._config = config
        self._address = address
        self._network = make_network(config.network.model_dump())
        checkpoints = sorted((folder / "checkpoints").glob("step-*")) if resume else []
        self._latest = checkpoints[-1] if checkpoints else None
        self.step = int(self._latest.name.removeprefix("step-")) if self._latest else 0
        self.stopped_at: int | None = None
        self._stop_asked = False
        self._segment = last_segment(folder / "metrics.jsonl") + 1 if resume else 0
        self._metrics = Metrics(folder, resume)

    def stop(self) -> None:
        """Ask it to stop after the update under way."""
        self._stop_asked = True

    def learn(self, progress: Callable[[int], None]) -> None:
        """Train until the steps of the config are done, or it is asked to stop.

        Args:
            progress: called with the number of steps done since the last call.

        Raises:
            UsageError: the cluster cannot be joined, or the checkpoint cannot be read.
            TrainingError: the weights are no longer finite, an action was illegal, or nobody plays.
            FailedError: the cluster broke down.
        """
        n_workers = self._config.ray.workers
        with cluster(self._address, n_workers):
            if n_cpus() < n_workers:
                print(f"waiting for {n_workers} CPUs, there are {n_cpus()}", file=sys.stderr)
            algorithm = algorithm_config(self._config, self._segment).build_algo()
            try:
                if self._latest is not None:
                    _restore(algorithm, self._latest)
                self._take_weights(algorithm)
                while self.step < self._config.total_steps and not self._stop_asked:
                    progress(self._update(algorithm))
                self._save_checkpoint(algorithm)
            finally:
                algorithm.stop()
        if self._stop_asked:
            self.stopped_at = self.step
        self._metrics.close()

    def save(self) -> tuple[str, Path]:
        """Write what was learned; returns the spec of the agent, and the folder."""
        config = self._config
        about = {
            "algorithm": config.algorithm,
            **config.game.about(),
            "steps": self.step,
            "seed": config.seed,
            "reward": config.reward.terminal,
            "shaping": config.reward.shaping,
            "gamma": config.ppo.gamma,
        }
        save_policy(self._folder / "policy", self._network, config.network.model_dump(), about)
        return f"policy:{self._folder}", self._folder / "policy"

    def _update(self, algorithm: Algorithm) -> int:
        """Play and learn once; returns the number of steps."""
        begin = time.monotonic()
        while True:
            result = algorithm.train()
            played = result.get("env_runners", {})
            n_steps = int(played.get("num_env_steps_sampled", 0))
            if n_steps:
                break
            if time.monotonic() - begin > PATIENCE:
                raise TrainingError(f"step {self.step}: no worker has played for {PATIENCE} s")
        before, self.step = self.step, self.step + n_steps
        self._take_weights(algorithm)
        self._check(played)
        metrics = dict(_metrics(result))
        metrics["time/steps_per_second"] = n_steps / (time.monotonic() - begin)
        config, now = self._config, self.step
        evaluates = is_due(config.evaluation.every, before, now) or now >= config.total_steps
        if evaluates:
            metrics |= evaluate(NetworkAgent(LEARNER, self._network), config)
        self._metrics.add(now, metrics)
        if evaluates:
            lines = read_metrics(self._folder / "metrics.jsonl")
            plot_curve(lines, config, self._folder / "curve.png")
        if is_due(config.checkpoint_every, before, now):
            self._save_checkpoint(algorithm)
        return n_steps

    def _take_weights(self, algorithm: Algorithm) -> None:
        """Copy the weights that RLlib trains into our network."""
        weights = algorithm.learner_group.get_weights([LEARNER])[LEARNER]
        prefix = "network."
        self._network.load_state_dict(
            {name.removeprefix(prefix): torch.from_numpy(array) for name, array in weights.items()}
        )

    def _check(self, played: dict[str, Any]) -> None:
        """Refuse to go on with what cannot be.

        Raises:
            TrainingError: an action was illegal, or the weights are no longer finite.
        """
        n_illegal = int(played.get(ILLEGAL, 0))
        if n_illegal:
            raise TrainingError(
                f"step {self.step}: {n_illegal} games ended by an illegal action: the mask has not "
                "reached the module"
            )
        for name, tensor in self._network.state_dict().items():
            if not tensor.isfinite().all():
                raise TrainingError(
                    f"step {self.step}: the numbers {name!r} are no longer finite, the loss has "
                    f"diverged; checkpoints so far are in {self._folder / 'checkpoints'}"
                )

    def _save_checkpoint(self, algorithm: Algorithm) -> None:
        """Write RLlib's checkpoint, whole or not at all, then drop the oldest."""
        folder = (self._folder / "checkpoints").resolve()
        folder.mkdir(exist_ok=True)
        for stale in folder.glob(".*.part"):
            shutil.rmtree(stale)
        target = folder / f"step-{self.step:012d}"
        if not target.exists():
            with replacing(target) as part:
                algorithm.save_to_path(part)
        for old in sorted(folder.glob("step-*"))[:-CHECKPOINTS_KEPT]:
            shutil.rmtree(old)


def _restore(algorithm: Algorithm, checkpoint: Path) -> None:
    """Put a fresh algorithm where a checkpoint was.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        if not (checkpoint / LEARNED).is_dir():  # which RLlib would pass over in silence
            raise FileNotFoundError(f"it has no {LEARNED}")
        algorithm.restore_from_path(checkpoint.resolve())
    except RayError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise UsageError(
            f"{checkpoint}: damaged: {error!r}; without it the run goes on from the one before"
        ) from None


def _metrics(result: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Those of RLlib's numbers that tell how an update went, by our names."""
    played = result["env_runners"]
    yield f"games/{ILLEGAL}", played.get(ILLEGAL, 0)
    if "episode_len_mean" in played:
        yield "games/decisions", played["episode_len_mean"]
        for agent, total in played["agent_episode_returns_mean"].items():
            yield f"games/return/{agent}", total
    learned = result["learners"][LEARNER]
    for theirs, ours in {
        "policy_loss": "train/policy_gradient_loss",
        "vf_loss": "train/value_loss",
        "vf_explained_var": "train/explained_variance",
        "entropy": "train/entropy",
        "default_optimizer_learning_rate": "train/learning_rate",
        "gradients_default_optimizer_global_norm": "train/gradient_norm",
    }.items():
        if theirs in learned:
            yield ours, learned[theirs]
    yield "cluster/workers", result["fault_tolerance"]["num_healthy_workers"]
    yield "cluster/restarts", result["fault_tolerance"]["num_remote_worker_restarts"]
