"""The parts of a PPO training run; `train.py` puts them together. Needs the extra `train`.

All that a run depends on is in its config and its checkpoints: weights, optimiser, games in
progress, snapshots, random states, counters. A run that is stopped and resumed gives the weights of
one that was not.
"""

import itertools
import json
import os
import re
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter
from torch import nn

import agents
from agents.base import Agent
from agents.cli import FailedError, UsageError
from agents.config import SELF, SNAPSHOTS, Config
from agents.files import replacing, write_json
from agents.networks import MlpNetwork, NetworkAgent, make_network
from agents.sb3_env import ThatsLifeVecEnv
from agents.tournament import bootstrap, play_duel
from thatslife_env import Position
from thatslife_env.baselines import BASELINES
from thatslife_env.board import STATE
from thatslife_env.games import FIRST_OUTSIDE, GAME, LEARNER, stream_seeds
from thatslife_env.observation import LAYOUT_HASH
from thatslife_env.position import is_whole

CHECKPOINT_FORMAT = 1
CHECKPOINTS_KEPT = 2
SNAPSHOT = re.compile(r"snapshot-\d+")


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
    def network(self) -> MlpNetwork:
        """What is trained and saved."""
        return self.mlp_extractor


# The games and who plays in them --------------------------------------------------------------


class Opponents:
    """Who the learner plays against, by the weights of the config.

    Each outside opponent (the learner itself, a snapshot, a searching agent) has a name, and a
    number in the order in which they came; the number stays with it in the games and in
    checkpoints.

    Args:
        config: of the run.
        learner: the network that learns.
        folder: where snapshots are kept.
    """

    def __init__(self, config: Config, learner: MlpNetwork, folder: Path) -> None:
        self.config = config
        self._learner = learner
        self._folder = folder
        self.roster: list[str] = []
        self._players: dict[str, Any] = {}
        for spec in self.fixed_roster:
            self._enlist(spec)

    @property
    def fixed_roster(self) -> list[str]:
        """The opponents that the config names, but for the compiled ones."""
        compiled = (*BASELINES, SNAPSHOTS)
        return [spec for spec in self.config.opponents if spec not in compiled]

    @property
    def snapshots(self) -> list[str]:
        """Names of the snapshots in use, the latest last."""
        names = [name for name in self.roster if name.startswith("snapshot-")]
        return names[-self.config.snapshots.keep :]

    def add_snapshot(self, step: int) -> None:
        """Freeze the learner as it is."""
        name = f"snapshot-{step:09d}"
        if name not in self.roster:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write_arrays(self._folder / f"{name}.safetensors", _weights(self._learner))
            self._enlist(name)

    def restore(self, roster: list[str]) -> None:
        """Take up the numbering of a checkpoint.

        Raises:
            UsageError: a snapshot cannot be read; nothing has changed then.
        """
        players = {name: self._players.get(name) or self._player(name) for name in roster}
        self.roster, self._players = list(roster), players

    def _enlist(self, name: str) -> None:
        self._players[name] = self._player(name)
        self.roster.append(name)

    def _player(self, name: str) -> Any:
        agent: Agent
        if name == SELF:
            agent = NetworkAgent(name, self._learner, sample=True)
        elif name.startswith("snapshot-"):
            network = make_network(self.config.network.model_dump())
            _load_weights(network, _read_arrays(self._folder / f"{name}.safetensors"))
            agent = NetworkAgent(name, network.eval(), sample=True)
        else:
            agent = agents.make(name)
        return agent.choose

    def weights(self) -> dict[Any, float]:
        """Opponents as `SeatGames.set_opponents` takes them.

        The weight of the snapshots is shared among them; while there are none it goes to the
        learner itself.
        """
        weights: dict[Any, float] = defaultdict(float)
        for spec, weight in self.config.opponents.items():
            if spec != SNAPSHOTS:
                weights[self._players.get(spec, spec)] += weight
            elif self.snapshots:
                for name in self.snapshots:
                    weights[self._players[name]] += weight / len(self.snapshots)
            else:
                if SELF not in self._players:
                    self._enlist(SELF)
                weights[self._players[SELF]] += weight
        return dict(weights)

    def enter(self, env: ThatsLifeVecEnv) -> None:
        """Let games that begin from now on draw their opponents from `weights`."""
        env.play.enlist([self._players[name] for name in self.roster])
        env.play.set_opponents(self.weights())


def make_env(config: Config) -> ThatsLifeVecEnv:
    """The games that the learner plays."""
    return ThatsLifeVecEnv(
        config.ppo.n_envs,
        seed=config.seed,
        ruleset=config.game.made(),
        reward=config.reward.terminal,
        shaping=config.reward.shaping,
        gamma=config.ppo.gamma,
    )


def make_model(config: Config, env: ThatsLifeVecEnv) -> MaskablePPO:
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


def _weights(network: MlpNetwork) -> dict[str, npt.NDArray[Any]]:
    return {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}


def _load_weights(network: MlpNetwork, arrays: dict[str, npt.NDArray[Any]]) -> None:
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})


def _write_arrays(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write a safetensors file at once."""
    with replacing(path) as part:
        try:
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, part)
        except SafetensorError as error:
            raise FailedError(f"{path}: cannot be written: {error}") from None


def _as_numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of an array that safetensors can hold: records as rows of bytes."""
    return array if array.dtype.names is None else array.view(np.uint8).reshape(len(array), -1)


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        return load_file(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise UsageError(f"{path}: damaged: {error}") from None


class Checkpoints:
    """All of a run at one moment, in folders that are whole or not there.

    Args:
        folder: where they lie, one folder for each.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, model: MaskablePPO, env: ThatsLifeVecEnv, opponents: Opponents) -> None:
        """Write one between two updates, then drop the oldest."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for stale in self._folder.glob(".*.part"):
            shutil.rmtree(stale)
        target = self._folder / f"step-{model.num_timesteps:012d}"
        if target.exists():
            try:
                _read_checkpoint(target)
            except UsageError:
                pass  # damaged: it is written anew
            else:
                return
        with replacing(target) as part:
            part.mkdir()
            self._write(part, model, env, opponents)
        for old in self._all()[:-CHECKPOINTS_KEPT]:
            shutil.rmtree(old)

    def _write(
        self, part: Path, model: MaskablePPO, env: ThatsLifeVecEnv, opponents: Opponents
    ) -> None:
        _write_arrays(part / "weights.safetensors", _weights(model.policy.network))
        _write_arrays(part / "optimizer.safetensors", _optimizer_state(model.policy.optimizer))
        _write_arrays(part / "games.safetensors", _game_arrays(model, env))
        # SB3 draws from NumPy's global generator
        _, words, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
        chance: dict[str, npt.NDArray[Any]] = {
            "torch": torch.get_rng_state().numpy(),
            "numpy": np.asarray(words),
        }
        _write_arrays(part / "chance.safetensors", chance)
        state = _versions() | {
            "num_timesteps": model.num_timesteps,
            "n_updates": model._n_updates,
            "roster": opponents.roster,
            "numpy": [int(position), int(has_gauss), float(gauss)],
        }
        write_json(part / "state.json", state)

    def _all(self) -> list[Path]:
        return sorted(self._folder.glob("step-*"))

    def load(self, model: MaskablePPO, env: ThatsLifeVecEnv, opponents: Opponents) -> bool:
        """Put a fresh model, its games and opponents where the latest checkpoint was.

        A damaged checkpoint is left out, with a line on stderr, for the one before.

        Returns:
            Whether there was a checkpoint; a run that ended before its first has none.

        Raises:
            UsageError: there are checkpoints, but none can be read.
        """
        left_out: list[str] = []
        for folder in reversed(self._all()):
            try:
                _restore(*_read_checkpoint(folder), model, env, opponents)
            except UsageError as error:
                left_out.append(str(error))
            except (LookupError, TypeError, ValueError, ArithmeticError) as error:
                left_out.append(f"{folder}: does not fit: {error}")
            else:
                for reason in left_out:
                    print(f"checkpoint left out: {reason}", file=sys.stderr)
                return True
        if left_out:
            raise UsageError(f"no checkpoint can be read: {left_out[0]}")
        return False


def _versions() -> dict[str, Any]:
    """What a checkpoint must agree with: its own format, observations, and records of games."""
    return {
        "format": CHECKPOINT_FORMAT,
        "layout_hash": LAYOUT_HASH,
        "records": repr((STATE.descr, GAME.descr)),
    }


def _game_arrays(model: MaskablePPO, env: ThatsLifeVecEnv) -> dict[str, npt.NDArray[Any]]:
    """The games in progress; records as rows of bytes, which safetensors can hold."""
    arrays = {name: _as_numbers(array) for name, array in env.play.arrays().items()}
    starts = np.asarray(model._last_episode_starts, np.uint8)
    return arrays | {"returns": env.returns, "lengths": env.lengths, "episode_starts": starts}


_CHECKPOINT_ARRAYS = ("weights", "optimizer", "games", "chance")


def _read_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{folder / 'state.json'}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{folder / 'state.json'}: damaged: {error}") from None
    if not isinstance(state, dict) or any(
        state.get(key) != version for key, version in _versions().items()
    ):
        raise UsageError(f"{folder}: made by another version of this program")
    return state, {
        name: _read_arrays(folder / f"{name}.safetensors") for name in _CHECKPOINT_ARRAYS
    }


def _restore(
    state: dict[str, Any],
    arrays: dict[str, dict[str, Any]],
    model: MaskablePPO,
    env: ThatsLifeVecEnv,
    opponents: Opponents,
) -> None:
    """Check a checkpoint as a whole, then put everything where it was.

    Raises:
        ValueError, KeyError, TypeError: it does not fit; nothing has changed then.
        UsageError: a snapshot cannot be read; nothing has changed then.
    """
    network, optimizer = model.policy.network, model.policy.optimizer
    n_steps, n_updates, roster = (state[key] for key in ("num_timesteps", "n_updates", "roster"))
    position, has_gauss, gauss = state["numpy"]
    most = opponents.config.total_steps + env.num_envs * model.n_steps
    _require(is_whole(n_steps, 0, most) and is_whole(n_updates, 0, 2**63 - 1), "counters")
    _require(isinstance(roster, list) and all(isinstance(name, str) for name in roster), "roster")
    known = (*opponents.fixed_roster, SELF)
    _require(all(name in known or SNAPSHOT.fullmatch(name) for name in roster), "roster")
    _require(set(opponents.fixed_roster) <= set(roster), "roster")
    _require(is_whole(position, 0, 624) and is_whole(has_gauss, 0, 1), "numpy")
    _require(isinstance(gauss, float) and np.isfinite(gauss), "numpy")
    chance = {"torch": torch.get_rng_state().numpy(), "numpy": np.zeros(624, np.uint32)}
    _check_arrays("chance", arrays["chance"], chance)
    _check_arrays("weights", arrays["weights"], _weights(network))
    moments = _expected_moments(network) if n_updates else {}
    _check_arrays("optimizer", arrays["optimizer"], moments)
    model._last_obs = env.reset()
    model._last_episode_starts = np.ones(env.num_envs, np.bool_)
    _check_arrays("games", arrays["games"], _game_arrays(model, env))
    _check_games(arrays["games"], env, len(roster))
    opponents.restore(roster)

    opponents.enter(env)
    _load_weights(network, arrays["weights"])
    _load_optimizer(optimizer, arrays["optimizer"])
    for name, array in _game_arrays(model, env).items():
        array[:] = arrays["games"][name]
    model._last_episode_starts = arrays["games"]["episode_starts"].astype(np.bool_)
    model._last_obs = env.observe()
    model.num_timesteps = n_steps
    model._n_updates = n_updates
    torch.set_rng_state(torch.from_numpy(arrays["chance"]["torch"]))
    words = arrays["chance"]["numpy"]
    np.random.set_state(("MT19937", words, position, has_gauss, gauss))  # noqa: NPY002


def _require(fits: Any, what: str) -> None:
    if not fits:
        raise ValueError(f"{what} that no run has")


def _check_arrays(
    what: str, found: dict[str, npt.NDArray[Any]], expected: dict[str, npt.NDArray[Any]]
) -> None:
    """Refuse arrays of other names, shapes or types.

    Raises:
        ValueError: the message names the first.
    """
    for name in sorted(found.keys() ^ expected.keys()):
        raise ValueError(f"{what}: {name!r} is missing or too much")
    for name, array in expected.items():
        if found[name].shape != array.shape or found[name].dtype != array.dtype:
            raise ValueError(f"{what}: {name!r} has another shape or type")


def _expected_moments(network: MlpNetwork) -> dict[str, npt.NDArray[Any]]:
    """What Adam keeps for each parameter."""
    moments: dict[str, npt.NDArray[Any]] = {}
    for index, parameter in enumerate(network.parameters()):
        moments[f"{index}.step"] = np.zeros(1, np.float32)
        for name in ("exp_avg", "exp_avg_sq"):
            moments[f"{index}.{name}"] = np.zeros(tuple(parameter.shape), np.float32)
    return moments


def _check_games(found: dict[str, npt.NDArray[Any]], env: ThatsLifeVecEnv, n_outside: int) -> None:
    """Refuse games that compiled code, which checks nothing, must not be given.

    Raises:
        ValueError: they are not what a checkpoint of this run can hold.
    """
    ruleset = env.play.rulesets[0].record
    states = found["states"].reshape(-1).view(STATE)
    for state, seat, lineup in zip(states, found["seats"], found["lineups"], strict=True):
        rules = ("players", "pawns_each", "with_guards", "scoring")
        _require(all(state[name] == ruleset[name] for name in rules), "games: rules")
        position = Position.from_state(state)
        try:
            is_sound = Position.from_json(position.to_json()) == position
        except (IndexError, ValueError):
            is_sound = False
        _require(is_sound, "games: a state")
        _require(0 <= seat < position.players and position.player == seat, "games: seats")
        others = [int(number) for at, number in enumerate(lineup) if at != seat]
        _require(lineup[seat] == LEARNER and min(others) >= 0, "games: lineups")
        _require(max(others) < FIRST_OUTSIDE + n_outside, "games: an opponent")


def _optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, npt.NDArray[Any]]:
    return {
        f"{index}.{name}": np.atleast_1d(tensor.numpy())
        for index, values in optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }


def _load_optimizer(optimizer: torch.optim.Optimizer, arrays: dict[str, Any]) -> None:
    content = optimizer.state_dict()
    state: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
    for key, array in arrays.items():
        index, _, name = key.partition(".")
        tensor = torch.from_numpy(array)
        state[int(index)][name] = tensor[0] if name == "step" else tensor
    content["state"] = dict(state)
    optimizer.load_state_dict(content)


class JsonLines(KVWriter):
    """Writes each of SB3's log entries as a line of `metrics.jsonl`.

    Args:
        path: lines are added at its end, in place of a line that a kill has cut short.
        segment: number of this part of the run: 0, and one more for each resume.
    """

    def __init__(self, path: Path, segment: int) -> None:
        if path.exists():
            whole, newline, _ = path.read_bytes().rpartition(b"\n")
            os.truncate(path, len(whole + newline))
        self._file = path.open("a", encoding="utf-8")
        self._segment = segment

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:
        """Add a line."""
        line: dict[str, Any] = {"step": step, "segment": self._segment}
        for key, value in sorted(key_values.items()):
            line[key] = float(value) if np.isfinite(value) else None
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def last_segment(path: Path) -> int:
    """The number of the last segment that wrote a line; -1 if there is no line."""
    return max((line["segment"] for line in _metrics(path)), default=-1)


def _metrics(path: Path) -> list[dict[str, Any]]:
    """All whole lines of `metrics.jsonl`."""
    if not path.exists():
        return []
    try:
        texts = path.read_text(encoding="utf-8").split("\n")[:-1]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
    lines = []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
            lines.append(line | {"step": int(line["step"]), "segment": int(line["segment"])})
        except (ValueError, TypeError, KeyError):
            raise UsageError(f"{path}: line {number}: not a line of metrics") from None
    return lines


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl` that led to the latest state, by step.

    Lines of a segment from steps that a later one went through again are left out.
    """
    kept: list[dict[str, Any]] = []
    for line in _metrics(path):
        while kept and kept[-1]["step"] >= line["step"] and kept[-1]["segment"] < line["segment"]:
            kept.pop()
        kept.append(line)
    return kept


# The run ----------------------------------------------------------------------------------------


class TrainingError(FailedError):
    """The run cannot go on; the message names the cause."""


class Run(BaseCallback):
    """What happens between the updates of a run: snapshots, evaluation, checkpoints, curve.

    Args:
        folder: of the run.
        config: of the run.
        env: its games.
        opponents: of the learner.
        progress: called with the number of steps done since the last call.
    """

    EVALUATION: ClassVar[str] = "evaluation/win_share/"

    def __init__(
        self,
        folder: Path,
        config: Config,
        env: ThatsLifeVecEnv,
        opponents: Opponents,
        progress: Callable[[int], None] = lambda n_steps: None,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.config = config
        self.env = env
        self.opponents = opponents
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
            self.checkpoints.save(self.model, self.env, self.opponents)

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "game" in info:
                self._count(info)
        return self.stopped_at is None

    def _on_training_end(self) -> None:
        if self.stopped_at is not None:
            return
        self._between_updates()
        self.checkpoints.save(self.model, self.env, self.opponents)
        if self.stop_asked:
            self.stopped_at = self.num_timesteps

    def _count(self, info: dict[str, Any]) -> None:
        """Note the learner's win share against each opponent in a finished game."""
        self._games["return"].append(info["episode"]["r"])
        self._games["decisions"].append(info["episode"]["l"])
        share = float(info["game"]["win_share"][info["seat"]])
        for number in {int(number) for number in info["lineup"][: info["game"]["players"]]}:
            if number >= 0:
                self._games[f"win_share/{self.name_of(number)}"].append(share)

    def name_of(self, number: int) -> str:
        """The name of an opponent by its number in the games."""
        opponent: Any = self.env.play.opponent(number)
        if isinstance(opponent, str):
            return opponent
        name = opponent.__self__.name  # a bound Agent.choose
        return SNAPSHOTS if name.startswith("snapshot-") else str(name)

    def _between_updates(self) -> None:
        before, now = self._last_step, self.num_timesteps
        if now == before:
            return
        self._last_step = now
        self.progress(now - before)
        self._check_finite()
        self._record(now - before)

        def due(every: int) -> bool:
            return now // every > before // every

        if SNAPSHOTS in self.config.opponents and due(self.config.snapshots.every):
            self.opponents.add_snapshot(now)
            self.opponents.enter(self.env)
        evaluates = due(self.config.evaluation.every) or now >= self.config.total_steps
        if evaluates:
            self._evaluate()
        self.logger.dump(now)
        if evaluates:
            metrics = read_metrics(self.folder / "metrics.jsonl")
            plot_curve(metrics, self.config, self.folder / "curve.png")
        if due(self.config.checkpoint_every):
            self.checkpoints.save(self.model, self.env, self.opponents)

    def _record(self, n_steps: int) -> None:
        """Note the games that ended since the last update, and the speed."""
        for name, values in self._games.items():
            self.logger.record(f"games/{name}", np.mean(values))
        self._games.clear()
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
        settings = self.config.evaluation
        for spec in settings.opponents:
            shares = win_shares(learner, spec, self.config, settings.deals)
            self.logger.record(f"{self.EVALUATION}{spec}", shares.mean())
            low, high = bootstrap(shares, settings.seed)
            self.logger.record(f"evaluation/low/{spec}", low)
            self.logger.record(f"evaluation/high/{spec}", high)


def win_shares(learner: Agent, spec: str, config: Config, n_deals: int) -> npt.NDArray[np.float64]:
    """The learner's win share on held-out deals, in one seat, with `spec` in the others.

    Returns:
        float64[n_deals], means over the seats.
    """
    seeds = stream_seeds(config.evaluation.seed, n_deals)
    duel, _ = play_duel([learner, agents.make(spec)], 0, 1, config.game.made(), seeds)
    return duel.win_share


def plot_curve(metrics: list[dict[str, Any]], config: Config, path: Path) -> None:
    """Draw the learning curve, win share on held-out deals by steps, into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for spec, color in zip(config.evaluation.opponents, itertools.cycle(COLORS), strict=False):
        lines = [line for line in metrics if f"{Run.EVALUATION}{spec}" in line]
        steps = [line["step"] for line in lines]
        axes.plot(
            steps,
            [line[f"{Run.EVALUATION}{spec}"] for line in lines],
            "o-",
            color=color,
            label=f"v {spec}",
        )
        lows = [line[f"evaluation/low/{spec}"] for line in lines]
        highs = [line[f"evaluation/high/{spec}"] for line in lines]
        axes.fill_between(steps, lows, highs, color=color, alpha=0.2, linewidth=0)
    players = config.game.made().players
    axes.axhline(1 / players, color="#999999", linestyle="--", label="fair share")
    axes.set_ylim(0, 1)
    axes.set_xlabel("decisions of the learner")
    axes.set_ylabel(f"win share of one seat of {players}")
    axes.legend(loc="lower right")
    FigureCanvasAgg(figure).print_png(path)


def curve_table(metrics: list[dict[str, Any]], config: Config) -> str:
    """The learning curve as text."""
    specs = config.evaluation.opponents
    lines = [
        "win share on held-out deals",
        "     steps  " + "  ".join(f"v {spec}" for spec in specs),
    ]
    for line in metrics:
        if f"{Run.EVALUATION}{specs[0]}" in line:
            shares = (line[f"{Run.EVALUATION}{spec}"] for spec in specs)
            columns = (
                f"{share:{len(spec) + 2}.3f}" for spec, share in zip(specs, shares, strict=True)
            )
            lines.append(f"{line['step']:10d}  " + "  ".join(columns))
    return "\n".join(lines)


COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito 2008
