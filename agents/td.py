"""The parts of a TD(lambda) run; `train.py` puts them together. Needs the extra `train`.

One network plays all seats of many games against itself. Each position before a roll is a sample.
Its target mixes what the network expected after one turn, two, three ..., and the win shares at the
end (Sutton 1988; backgammon by self-play: Tesauro 1995), so that every seat learns from every turn.
Chance is a function of the games' deal seeds and the number of the update: a run that is stopped
and resumed gives the weights of one that was not.
"""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents.afterstate import (
    FEATURES_HASH,
    MAX_MOVES,
    Doubles,
    Floats,
    ValueAgent,
    ValueNetwork,
    Weights,
    features_used,
    network_arrays,
    save_value,
    write_features,
    write_moves,
    write_shares,
)
from agents.config import TdConfig, starting_network
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
    read_metrics,
    require_fit,
)
from thatslife_env import njit, rules
from thatslife_env.board import MAX_PLAYERS, MOVE, OVER, STATE
from thatslife_env.games import GAME, begin, begin_all, key_of, proceed, ruleset_mix, stream_seeds
from thatslife_env.position import is_whole
from thatslife_env.rules import Int

CHECKPOINT_FORMAT = 1


# The games -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """What happened in T turns of N games, for learning.

    Attributes:
        features: float32[N, T, F], of the position before the roll of each turn.
        seats: int8[N, T], who was to roll.
        players: int8[N, T], number of players.
        expected: float64[N, T, 6], the win shares that the network expected after the turn, by the
            seats' own numbers; where the game was over, those it ended with.
        ended: bool[N, T], whether the game was over after the turn.
        entropies: float64[N, T], of the choice among the moves of the turn, in nats.
        targets: float32[N, T, 6], what the network is to expect in the position: relative to the
            seat to roll, absent seats 0.
    """

    features: Floats
    seats: npt.NDArray[np.int8]
    players: npt.NDArray[np.int8]
    expected: Doubles
    ended: npt.NDArray[np.bool_]
    entropies: Doubles
    targets: Floats

    @classmethod
    def empty(cls, n_games: int, n_turns: int, n_features: int) -> "Window":
        """One to be filled."""
        shape = (n_games, n_turns)
        return cls(
            np.zeros((*shape, n_features), np.float32),
            np.zeros(shape, np.int8),
            np.zeros(shape, np.int8),
            np.zeros((*shape, MAX_PLAYERS), np.float64),
            np.zeros(shape, np.bool_),
            np.zeros(shape, np.float64),
            np.zeros((*shape, MAX_PLAYERS), np.float32),
        )

    def explained_variance(self) -> float:
        """How much of the targets' variance the network that played foretold: 1 is all of it.

        Of the win share of the seat to roll, in positions whose turn before is in the window, too.
        NaN where the targets do not vary.
        """
        is_known = ~self.ended[:, :-1]
        seats = self.seats[:, 1:, None].astype(np.int64)
        foretold = np.take_along_axis(self.expected[:, :-1], seats, axis=2)[is_known]
        targets = self.targets[:, 1:, :1][is_known]
        variance = targets.var() if targets.size else 0.0
        return float(1 - (targets - foretold).var() / variance) if variance else np.nan


class SelfPlay:
    """N games that one network plays against itself.

    Between windows every game stands after a roll.

    Args:
        config: of the run.
    """

    def __init__(self, config: TdConfig) -> None:
        n_games = config.td.n_games
        _, self._rulesets, self._shares = ruleset_mix(config.game.weighted())
        self.states = np.zeros(n_games, STATE)
        self.games = np.zeros(n_games, GAME)
        self.games["stream"] = stream_seeds(config.seed, n_games)
        begin_all(self.states, self.games, np.arange(n_games), self._rulesets, self._shares)
        self.players = int(self._rulesets["players"].max())
        self._trace = config.td.trace
        self._threads = min(config.threads, n_games)
        self._window = Window.empty(n_games, config.td.n_turns, features_used(self.players))

    def play(self, network: ValueNetwork, temperature: float) -> Window:
        """Play on for a window, which the next call overwrites.

        Args:
            network: plays all seats.
            temperature: of the softmax of the moves' win shares from which moves are drawn, with
                two players; with n it is 2 / n of it, as win shares are.
        """
        window = self._window
        bounds = np.linspace(0, len(self.states), self._threads + 1).astype(int)

        def play_part(part: slice) -> None:
            play_turns(
                self.states[part],
                self.games[part],
                self._rulesets,
                self._shares,
                network.weights,
                network.biases,
                temperature,
                window.features[part],
                window.seats[part],
                window.players[part],
                window.expected[part],
                window.ended[part],
                window.entropies[part],
            )

        parts = [slice(low, high) for low, high in itertools.pairwise(bounds)]
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(play_part, parts))
        write_targets(
            window.expected,
            window.ended,
            window.seats,
            window.players,
            self._trace,
            window.targets,
        )
        return window

    def arrays(self) -> Arrays:
        """The games as safetensors can hold them; to be written to, too."""
        return {"states": as_numbers(self.states), "games": as_numbers(self.games)}

    def check(self, arrays: Arrays) -> None:
        """Refuse games that compiled code, which checks nothing, must not be given.

        Raises:
            ValueError: they are not what a checkpoint of this run can hold.
        """
        check_arrays("games", arrays, self.arrays())
        states = check_states(arrays["states"], self._rulesets)
        require_fit((states["phase"] == MOVE).all(), "games: a phase")


@njit
def play_turns(
    states: npt.NDArray[Any],
    games: npt.NDArray[Any],
    rulesets: npt.NDArray[Any],
    shares: npt.NDArray[np.uint64],
    weights: Weights,
    biases: Weights,
    temperature: float,
    features: Floats,
    seats: npt.NDArray[np.int8],
    players: npt.NDArray[np.int8],
    expected: Doubles,
    ended: npt.NDArray[np.bool_],
    entropies: Doubles,
) -> None:
    """Play T turns of each game and note them as `Window` says; a game that ends begins anew."""
    scratch = np.empty(len(weights[0]), np.float32)
    afters = np.empty(MAX_MOVES, STATE)
    actions = np.empty((MAX_MOVES, 2), np.int64)
    values = np.empty((MAX_MOVES, MAX_PLAYERS), np.float64)
    for i in range(len(states)):
        state, game = states[i], games[i]
        for turn in range(features.shape[1]):
            seat = np.int64(state["player"])
            seats[i, turn] = seat
            players[i, turn] = state["players"]
            write_features(state, features[i, turn])
            n_moves = write_moves(state, afters, actions)
            for move in range(n_moves):
                write_shares(afters[move], weights, biases, scratch, values[move])
            heat = temperature * 2.0 / np.int64(state["players"])
            entropies[i, turn] = entropy_of(values[:n_moves, seat], heat)
            move = draw_move(values[:n_moves, seat], heat, key_of(game))
            expected[i, turn] = values[move]
            proceed(state, game, actions[move, 0])
            if actions[move, 1] >= 0:
                proceed(state, game, actions[move, 1])
            ended[i, turn] = state["phase"] == OVER
            if ended[i, turn]:
                begin(state, game, rulesets, shares)


@njit
def draw_move(values: Doubles, temperature: float, key: np.uint64) -> int:
    """Draw from the softmax of `values / temperature`: int64."""
    highest = values.max()
    total = 0.0
    for value in values:
        total += np.exp((value - highest) / temperature)
    drawn = np.float64(rules.draw64(key, np.uint64(0)) >> np.uint64(11)) * 2.0**-53 * total
    for move in range(len(values)):
        drawn -= np.exp((values[move] - highest) / temperature)
        if drawn < 0:
            return move
    return len(values) - 1  # rounding has carried us past the end


@njit
def entropy_of(values: Doubles, temperature: float) -> float:
    """Entropy, in nats, of the softmax of `values / temperature`: float64."""
    highest = values.max()
    total = 0.0
    mean = 0.0
    for value in values:
        score = (value - highest) / temperature
        total += np.exp(score)
        mean += np.exp(score) * score
    return np.log(total) - mean / total


@njit
def write_targets(
    expected: Doubles,
    ended: npt.NDArray[np.bool_],
    seats: npt.NDArray[np.int8],
    players: npt.NDArray[np.int8],
    trace: float,
    targets: Floats,
) -> None:
    """Write the target of each position, as `Window` says.

    It is what was expected after the turn, mixed with the target of the position after it:
    `(1 - trace) x expected + trace x target`. A game's end has no position after it; at the end of
    the window it is not known, and what was expected stands for it.
    """
    n_turns = expected.shape[1]
    target = np.empty(MAX_PLAYERS, np.float64)  # by the seats' own numbers
    seat: Int
    for i in range(len(expected)):
        for turn in range(n_turns - 1, -1, -1):
            is_last = ended[i, turn] or turn == n_turns - 1
            for seat in range(MAX_PLAYERS):
                if is_last:
                    target[seat] = expected[i, turn, seat]
                else:
                    target[seat] = (1 - trace) * expected[i, turn, seat] + trace * target[seat]
            n_players = np.int64(players[i, turn])
            targets[i, turn] = 0.0
            for steps in range(n_players):
                seat = (np.int64(seats[i, turn]) + steps) % n_players
                targets[i, turn, steps] = target[seat]


# The learner -----------------------------------------------------------------------------------


class TrainableNetwork(torch.nn.Module):
    """A value network in torch; its numbers are shared with the one that plays.

    Args:
        players: the largest number of players.
        hidden: width of each hidden layer.
        seed: of its weights. The last layer begins at 0: all seats as likely to win.
    """

    def __init__(self, players: int, hidden: list[int], seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        sizes = [features_used(players), *hidden, MAX_PLAYERS]
        weights = [
            rng.normal(0, (2 / n_in) ** 0.5, (n_in, n_out)).astype(np.float32)
            for n_in, n_out in itertools.pairwise(sizes)
        ]
        weights[-1][:] = 0
        self.weights = torch.nn.ParameterList(map(torch.from_numpy, weights))
        self.biases = torch.nn.ParameterList(torch.zeros(width) for width in sizes[1:])

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Scores of the seats, relative to the one to roll: float32[B, F] to float32[B, 6]."""
        x = features
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.addmm(bias, x, weight)
            if layer < len(self.weights) - 1:
                x = torch.relu(x)
        return x

    def playing(self) -> ValueNetwork:
        """The network that plays; it goes on learning with this one."""
        return ValueNetwork(
            tuple(weight.detach().numpy() for weight in self.weights),
            tuple(bias.detach().numpy() for bias in self.biases),
        )


class TdTraining:
    """A run of TD(lambda) in its folder, as `train.py` drives it.

    Args:
        folder: of the run.
        config: of the run.
        resume: go on from its latest checkpoint, if there is one.
    """

    def __init__(self, folder: Path, config: TdConfig, resume: bool) -> None:
        self._folder = folder
        self._config = config
        self._play = SelfPlay(config)
        self.network = TrainableNetwork(self._play.players, config.network.hidden, config.seed)
        self._optimizer = torch.optim.Adam(self.network.parameters(), config.td.learning_rate)
        versions = {
            "format": CHECKPOINT_FORMAT,
            "layout_hash": FEATURES_HASH,
            "records": repr((STATE.descr, GAME.descr)),
        }
        names = ("weights", "optimizer", "games")
        self._checkpoints = CheckpointFolder(folder / "checkpoints", versions, names)
        self.step = 0
        self.stopped_at: int | None = None
        self._stop_asked = False
        if not (resume and self._checkpoints.load(self._restore)):
            if (before := starting_network(config)) is not None:
                self._set_weights(dict(network_arrays(before)))
        self._metrics = Metrics(folder, resume)

    def stop(self) -> None:
        """Ask it to stop after the update under way."""
        self._stop_asked = True

    def learn(self, progress: Callable[[int], None]) -> None:
        """Train until the steps of the config are done, or it is asked to stop.

        Args:
            progress: called with the number of steps done since the last call.

        Raises:
            TrainingError: the weights are no longer finite.
        """
        config, td = self._config, self._config.td
        n_steps = td.n_games * td.n_turns
        while self.step < config.total_steps and not self._stop_asked:
            begin = time.monotonic()
            done = self.step / config.total_steps
            rate = td.learning_rate + (td.final_learning_rate - td.learning_rate) * done
            temperature = td.temperature * (td.final_temperature / td.temperature) ** done
            window = self._play.play(self.network.playing(), temperature)
            loss = self._update(window, rate)
            before, self.step = self.step, self.step + n_steps
            self._check_finite(loss)
            metrics = {
                "train/loss": loss,
                "train/learning_rate": rate,
                "train/temperature": temperature,
                "train/entropy": float(window.entropies.mean()),
                "train/explained_variance": window.explained_variance(),
                "time/steps_per_second": n_steps / (time.monotonic() - begin),
            }
            if window.ended.any():
                metrics["games/turns"] = n_steps / window.ended.sum()
            self._report(before, metrics)
            progress(n_steps)
        if self._stop_asked:
            self.stopped_at = self.step
        if self.step:
            self._save_checkpoint()
        self._metrics.close()

    def _update(self, window: Window, rate: float) -> float:
        """Learn from a window; returns the mean loss of the last pass."""
        td = self._config.td
        n_samples = window.seats.size
        features = torch.from_numpy(window.features.reshape(n_samples, -1))
        targets = torch.from_numpy(window.targets.reshape(n_samples, -1))
        players = torch.from_numpy(window.players.reshape(n_samples, 1).astype(np.int64))
        absent = torch.arange(MAX_PLAYERS) >= players
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        for epoch in range(td.n_epochs):
            rng = np.random.default_rng([self._config.seed, self.step, epoch])
            order = torch.from_numpy(rng.permutation(n_samples))
            total = 0.0
            for batch in order.split(td.batch_size):
                scores = self.network(features[batch]).masked_fill(absent[batch], -1e9)
                logs = torch.log_softmax(scores, dim=1)
                loss = -(targets[batch] * logs).sum(dim=1).mean()  # cross-entropy of win shares
                self._optimizer.zero_grad()
                loss.backward()
                self._optimizer.step()
                total += float(loss.detach()) * len(batch)
        return total / n_samples

    def _check_finite(self, loss: float) -> None:
        numbers = {"of the loss": torch.tensor(loss)} | self.network.state_dict()
        for name, tensor in numbers.items():
            if not tensor.isfinite().all():
                raise TrainingError(
                    f"step {self.step}: the numbers {name!r} are no longer finite, the loss has "
                    f"diverged; checkpoints so far are in {self._folder / 'checkpoints'}"
                )

    def _report(self, before: int, metrics: dict[str, float]) -> None:
        """Evaluate, write metrics and save a checkpoint, as they are due."""
        config, now = self._config, self.step
        evaluates = is_due(config.evaluation.every, before, now) or now >= config.total_steps
        if evaluates:
            metrics |= evaluate(ValueAgent("learner", self.network.playing()), config)
        self._metrics.add(now, metrics)
        if evaluates:
            lines = read_metrics(self._folder / "metrics.jsonl")
            plot_curve(lines, config, self._folder / "curve.png")
        if is_due(config.checkpoint_every, before, now):
            self._save_checkpoint()

    def save(self) -> tuple[str, Path]:
        """Write what was learned; returns the spec of the agent, and the folder."""
        about = {
            "algorithm": self._config.algorithm,
            **self._config.game.about(),
            "steps": self.step,
            "seed": self._config.seed,
            "start_from": self._config.start_from,
        }
        save_value(self._folder / "value", self.network.playing(), about)
        return f"td:{self._folder}", self._folder / "value"

    def _weights(self) -> Arrays:
        return dict(network_arrays(self.network.playing()))

    def _set_weights(self, arrays: Arrays) -> None:
        for name, array in self._weights().items():
            array[:] = arrays[name]

    def _save_checkpoint(self) -> None:
        arrays: dict[str, Arrays] = {
            "weights": self._weights(),
            "optimizer": optimizer_arrays(self._optimizer),
            "games": self._play.arrays(),
        }
        self._checkpoints.save(self.step, arrays, {"step": self.step})

    def _restore(self, state: dict[str, Any], arrays: dict[str, Arrays]) -> None:
        """Check a checkpoint as a whole, then put everything where it was.

        Raises:
            ValueError, KeyError, TypeError: it does not fit; nothing has changed then.
        """
        td = self._config.td
        n_steps = td.n_games * td.n_turns
        step = state["step"]
        is_ours = is_whole(step, n_steps, self._config.total_steps + n_steps - 1)
        require_fit(is_ours and step % n_steps == 0, "counters")
        check_arrays("weights", arrays["weights"], self._weights())
        check_arrays("optimizer", arrays["optimizer"], adam_arrays(self.network))
        self._play.check(arrays["games"])

        self.step = step
        self._set_weights(arrays["weights"])
        load_optimizer(self._optimizer, arrays["optimizer"])
        for name, array in self._play.arrays().items():
            array[:] = arrays["games"][name]
