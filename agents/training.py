"""The parts of a PPO training run; `train.py` puts them together. Needs the extra `train`.

All that a run depends on is in its config and its checkpoints: weights, optimiser, games in
progress, snapshots, random states, counters. A run that is stopped and resumed gives the weights of
one that was not.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger
from torch import nn

from agents.config import SNAPSHOTS, PpoConfig, starting_network
from agents.league import SNAPSHOT, League, load_network, network_weights
from agents.networks import Network, NetworkAgent, make_network
from agents.policy import save_policy
from agents.runs import (
    Arrays,
    CheckpointFolder,
    Metrics,
    TrainingError,
    adam_arrays,
    as_numbers,
    check_arrays,
    check_states,
    evaluate,
    is_due,
    load_optimizer,
    optimizer_arrays,
    plot_curve,
    plot_league,
    read_metrics,
    require_fit,
)
from agents.sb3_env import ThatsLifeVecEnv
from thatslife_env.board import STATE
from thatslife_env.games import FIRST_OUTSIDE, GAME, LEARNER
from thatslife_env.observation import LAYOUT_HASH
from thatslife_env.position import is_whole

CHECKPOINT_FORMAT = 2


class NetworkPolicy(MaskableActorCriticPolicy):
    """SB3's policy around one of our networks, which has its own heads.

    Args:
        *arguments: as SB3 gives them.
        network: description of the network, for `make_network`.
        **options: as SB3 gives them.
    """

    def __init__(self, *arguments: Any, network: dict[str, Any], **options: Any) -> None:
        self._description = network
        super().__init__(*arguments, ortho_init=False, **options)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        self.mlp_extractor = make_network(self._description)
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    @property
    def network(self) -> Network:
        """What is trained and saved."""
        return self.mlp_extractor


# The games and the learner ------------------------------------------------------------------------


def make_env(config: PpoConfig) -> ThatsLifeVecEnv:
    """The games that the learner plays."""
    return ThatsLifeVecEnv(
        config.ppo.n_envs,
        seed=config.seed,
        ruleset=config.game.weighted(),
        reward=config.reward.terminal,
        shaping=config.reward.shaping,
        gamma=config.ppo.gamma,
    )


def make_model(config: PpoConfig, env: ThatsLifeVecEnv) -> MaskablePPO:
    """The learner."""
    ppo = config.ppo
    first, last = ppo.learning_rate, ppo.final_learning_rate
    return MaskablePPO(
        NetworkPolicy,
        env,
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        # the last update may begin beyond the steps asked for
        learning_rate=lambda remaining: last + (first - last) * max(remaining, 0.0),
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm,
        policy_kwargs={"network": config.network.model_dump()},
        seed=config.seed,
        device="cpu",
    )


# Files ------------------------------------------------------------------------------------------


class Checkpoints:
    """All of a run at one moment, in folders that are whole or not there.

    Args:
        folder: where they lie, one folder for each.
    """

    def __init__(self, folder: Path) -> None:
        names = ("weights", "optimizer", "games", "chance")
        self._folder = CheckpointFolder(folder, _versions(), names)

    def save(self, model: MaskablePPO, env: ThatsLifeVecEnv, league: League) -> None:
        """Write one between two updates, then drop the oldest."""
        # SB3 draws from NumPy's global generator
        _, words, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
        arrays: dict[str, Arrays] = {
            "weights": network_weights(model.policy.network),
            "optimizer": optimizer_arrays(model.policy.optimizer),
            "games": _game_arrays(model, env),
            "chance": {"torch": torch.get_rng_state().numpy(), "numpy": np.asarray(words)},
        }
        state = {
            "num_timesteps": model.num_timesteps,
            "n_updates": model._n_updates,
            "league": league.state(),
            "numpy": [int(position), int(has_gauss), float(gauss)],
        }
        self._folder.save(model.num_timesteps, arrays, state)

    def load(self, model: MaskablePPO, env: ThatsLifeVecEnv, league: League) -> bool:
        """Put a fresh model, its games and opponents where the latest checkpoint was.

        Returns:
            Whether there was one.

        Raises:
            UsageError: see `CheckpointFolder.load`.
        """
        return self._folder.load(lambda state, arrays: _restore(state, arrays, model, env, league))


def _versions() -> dict[str, Any]:
    """What a checkpoint must agree with: its own format, observations, and records of games."""
    return {
        "format": CHECKPOINT_FORMAT,
        "layout_hash": LAYOUT_HASH,
        "records": repr((STATE.descr, GAME.descr)),
    }


def _game_arrays(model: MaskablePPO, env: ThatsLifeVecEnv) -> dict[str, npt.NDArray[Any]]:
    """The games in progress; records as rows of bytes, which safetensors can hold."""
    arrays = {name: as_numbers(array) for name, array in env.play.arrays().items()}
    starts = np.asarray(model._last_episode_starts, np.uint8)
    return arrays | {"returns": env.returns, "lengths": env.lengths, "episode_starts": starts}


def _restore(
    state: dict[str, Any],
    arrays: dict[str, dict[str, Any]],
    model: MaskablePPO,
    env: ThatsLifeVecEnv,
    league: League,
) -> None:
    """Check a checkpoint as a whole, then put everything where it was.

    Raises:
        ValueError, KeyError, TypeError: it does not fit; nothing has changed then.
        UsageError: a snapshot cannot be read; nothing has changed then.
    """
    network, optimizer = model.policy.network, model.policy.optimizer
    n_steps, n_updates = state["num_timesteps"], state["n_updates"]
    position, has_gauss, gauss = state["numpy"]
    most = league.config.total_steps + env.num_envs * model.n_steps
    require_fit(is_whole(n_steps, 0, most) and is_whole(n_updates, 0, 2**63 - 1), "counters")
    league.check(state["league"])
    require_fit(is_whole(position, 0, 624) and is_whole(has_gauss, 0, 1), "numpy")
    require_fit(isinstance(gauss, float) and np.isfinite(gauss), "numpy")
    chance = {"torch": torch.get_rng_state().numpy(), "numpy": np.zeros(624, np.uint32)}
    check_arrays("chance", arrays["chance"], chance)
    check_arrays("weights", arrays["weights"], network_weights(network))
    moments = adam_arrays(network) if n_updates else {}
    check_arrays("optimizer", arrays["optimizer"], moments)
    model._last_obs = env.reset()
    model._last_episode_starts = np.ones(env.num_envs, np.bool_)
    check_arrays("games", arrays["games"], _game_arrays(model, env))
    _check_games(arrays["games"], env, len(state["league"]["roster"]))
    league.restore(state["league"])

    league.enter(env)
    load_network(network, arrays["weights"])
    load_optimizer(optimizer, arrays["optimizer"])
    for name, array in _game_arrays(model, env).items():
        array[:] = arrays["games"][name]
    model._last_episode_starts = arrays["games"]["episode_starts"].astype(np.bool_)
    model._last_obs = env.observe()
    model.num_timesteps = n_steps
    model._n_updates = n_updates
    torch.set_rng_state(torch.from_numpy(arrays["chance"]["torch"]))
    words = arrays["chance"]["numpy"]
    np.random.set_state(("MT19937", words, position, has_gauss, gauss))  # noqa: NPY002


def _check_games(found: dict[str, npt.NDArray[Any]], env: ThatsLifeVecEnv, n_outside: int) -> None:
    """Refuse games that compiled code, which checks nothing, must not be given.

    Raises:
        ValueError: they are not what a checkpoint of this run can hold.
    """
    rulesets = np.array([ruleset.record for ruleset in env.play.rulesets])
    states = check_states(found["states"], rulesets)
    for state, seat, lineup in zip(states, found["seats"], found["lineups"], strict=True):
        is_to_act = 0 <= seat < state["players"] and state["player"] == seat
        require_fit(is_to_act, "games: seats")
        others = [int(number) for at, number in enumerate(lineup) if at != seat]
        require_fit(lineup[seat] == LEARNER and min(others) >= 0, "games: lineups")
        require_fit(max(others) < FIRST_OUTSIDE + n_outside, "games: an opponent")


class MetricsWriter(KVWriter):
    """Hands what SB3 logs on to the metrics of the run.

    Args:
        metrics: of the run.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:
        """Add what was logged at a step."""
        self._metrics.add(step, key_values)

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()


# The run ----------------------------------------------------------------------------------------


class Run(BaseCallback):
    """What happens between the updates of a run: snapshots, evaluation, checkpoints, curve.

    Args:
        folder: of the run.
        config: of the run.
        env: its games.
        league: of the learner.
        progress: called with the number of steps done since the last call.
    """

    def __init__(
        self,
        folder: Path,
        config: PpoConfig,
        env: ThatsLifeVecEnv,
        league: League,
        progress: Callable[[int], None] = lambda n_steps: None,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.config = config
        self.env = env
        self.league = league
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.stop_asked = False
        self.stopped_at: int | None = None
        self.progress = progress
        self._last_step = 0
        self._last_time = 0.0
        self._games: dict[str, list[float]] = defaultdict(list)

    def learn(self, model: MaskablePPO) -> None:
        """Train until the steps of the config are done, or `stop_asked` is set.

        Raises:
            TrainingError: the weights are no longer finite.
        """
        steps_left = self.config.total_steps - model.num_timesteps
        if steps_left <= 0:
            return
        try:
            model.learn(steps_left, self, log_interval=None, reset_num_timesteps=False)
        except ValueError:
            self._check_finite()  # torch's distributions refuse what is not a number
            raise

    def _on_training_start(self) -> None:
        self._last_step = self.num_timesteps
        self._last_time = time.monotonic()

    def _on_rollout_start(self) -> None:
        self._between_updates()
        if self.stop_asked:
            self.stopped_at = self.num_timesteps
            self.checkpoints.save(self.model, self.env, self.league)

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "game" in info:
                self._count(info)
        return self.stopped_at is None

    def _on_training_end(self) -> None:
        if self.stopped_at is not None:
            return
        self._between_updates()
        self.checkpoints.save(self.model, self.env, self.league)
        if self.stop_asked:
            self.stopped_at = self.num_timesteps

    def _count(self, info: dict[str, Any]) -> None:
        """Note the learner's win share against each opponent in a finished game."""
        self._games["return"].append(info["episode"]["r"])
        self._games["decisions"].append(info["episode"]["l"])
        self._games["length"].append(int(info["game"]["decisions"]))
        for name, share in self.league.count(info["game"], info["seat"], info["lineup"]).items():
            kind = SNAPSHOTS if SNAPSHOT.fullmatch(name) else name
            self._games[f"win_share/{kind}"].append(share)

    def _between_updates(self) -> None:
        before, now = self._last_step, self.num_timesteps
        if now == before:
            return
        self._last_step = now
        self.progress(now - before)
        self._check_finite()
        self._record(now - before)

        if SNAPSHOTS in self.config.opponents and is_due(self.config.snapshots.every, before, now):
            self.league.add_snapshot(now)
        self.league.enter(self.env)
        evaluates = (
            is_due(self.config.evaluation.every, before, now) or now >= self.config.total_steps
        )
        if evaluates:
            self._evaluate()
        self.logger.dump(now)
        if evaluates:
            metrics = read_metrics(self.folder / "metrics.jsonl")
            plot_curve(metrics, self.config, self.folder / "curve.png")
            plot_league(metrics, self.folder / "league.png")
        if is_due(self.config.checkpoint_every, before, now):
            self.checkpoints.save(self.model, self.env, self.league)

    def _record(self, n_steps: int) -> None:
        """Note the games that ended since the last update, and the speed."""
        for name, values in self._games.items():
            self.logger.record(f"games/{name}", np.mean(values))
        self._games.clear()
        for name, value in self.league.metrics().items():
            self.logger.record(name, value)
        now = time.monotonic()
        self.logger.record("time/steps_per_second", n_steps / (now - self._last_time))
        self._last_time = now

    def _check_finite(self) -> None:
        network = self.model.policy.network
        with torch.no_grad():
            scores = network.forward_actor(torch.from_numpy(self.env.observe()))
        for name, numbers in {**network.state_dict(), "of the scores": scores}.items():
            if not numbers.isfinite().all():
                raise TrainingError(
                    f"step {self.num_timesteps}: the numbers {name!r} are no longer finite, the "
                    f"loss has diverged; checkpoints so far are in {self.folder / 'checkpoints'}"
                )

    def _evaluate(self) -> None:
        learner = NetworkAgent("learner", self.model.policy.network)
        for name, value in evaluate(learner, self.config).items():
            self.logger.record(name, value)


class PpoTraining:
    """A run of PPO in its folder, as `train.py` drives it.

    Args:
        folder: of the run.
        config: of the run.
        resume: go on from its latest checkpoint, if there is one.
    """

    def __init__(self, folder: Path, config: PpoConfig, resume: bool) -> None:
        self._folder = folder
        self._config = config
        env = make_env(config)
        self._model = make_model(config, env)
        league = League(config, self._model.policy.network, folder / "snapshots")
        self._run = Run(folder, config, env, league)
        if not (resume and self._run.checkpoints.load(self._model, env, league)):
            if (before := starting_network(config)) is not None:
                self._model.policy.network.load_state_dict(before.state_dict())
            league.enter(env)
        self._model.set_logger(Logger(str(folder), [MetricsWriter(Metrics(folder, resume))]))

    @property
    def step(self) -> int:
        """Steps so far."""
        return int(self._model.num_timesteps)

    @property
    def stopped_at(self) -> int | None:
        """The step at which it stopped because it was asked to."""
        return self._run.stopped_at

    def stop(self) -> None:
        """Ask it to stop after the update under way."""
        self._run.stop_asked = True

    def learn(self, progress: Callable[[int], None]) -> None:
        """Train until the steps of the config are done, or it is asked to stop.

        Raises:
            TrainingError: the weights are no longer finite.
        """
        self._run.progress = progress
        self._run.learn(self._model)

    def save(self) -> tuple[str, Path]:
        """Write what was learned; returns the spec of the agent, and the folder."""
        about = {
            "algorithm": self._config.algorithm,
            **self._config.game.about(),
            "steps": self.step,
            "seed": self._config.seed,
            "start_from": self._config.start_from,
            "reward": self._config.reward.terminal,
            "shaping": self._config.reward.shaping,
            "gamma": self._config.ppo.gamma,
        }
        network = self._config.network.model_dump()
        save_policy(self._folder / "policy", self._model.policy.network, network, about)
        return f"policy:{self._folder}", self._folder / "policy"
