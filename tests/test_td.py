"""TD(lambda) runs: targets, what is learned, and that nothing stops a run or changes its end."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import load_file, save_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import agents
from agents import saved, td
from agents.afterstate import MAX_MOVES, ValueAgent, load_value, write_moves
from agents.cli import run
from agents.config import TdConfig, load_config
from agents.runs import TrainingError, read_metrics, win_shares
from agents.td import (
    SelfPlay,
    TdTraining,
    TrainableNetwork,
    Window,
    draw_move,
    entropy_of,
    write_targets,
)
from thatslife_env import Ruleset
from thatslife_env.board import MOVE, STATE

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

ROOT = Path(__file__).resolve().parents[1]
UPDATE = 128  # steps between two updates
SMALL = {  # six updates of two rulesets
    "algorithm": "td",
    "total_steps": 6 * UPDATE,
    "game": {
        "mix": [
            {"ruleset": {"layout": [1, "gift", -2, "lucky", 3]}, "players": 3},
            {"ruleset": "full", "players": [2, 4], "weight": 0.5},
        ]
    },
    "network": {"hidden": [8]},
    "td": {"n_games": 8, "n_turns": 16, "batch_size": 32},
    "evaluation": {"every": 2 * UPDATE, "deals": 4, "final_games": 12},
    "checkpoint_every": 2 * UPDATE,
}


@pytest.fixture(autouse=True)
def own_process():
    """Put back what a run changes in its process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    torch.set_num_threads(1)


def load_script():
    spec = importlib.util.spec_from_file_location("train", ROOT / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def train(monkeypatch, capsys):
    """Calls train.py in this process: exit code, stdout, stderr."""
    script = load_script()

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["train.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(script.main, "train.py")
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return call


@pytest.fixture(scope="module")
def config_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("configs") / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory, config_file) -> Path:
    """A run that nothing has stopped."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    script = load_script()
    script.start(folder, config_file, [])
    script.train(folder, resume=False)
    return folder


def value_bytes(folder: Path) -> bytes:
    return (folder / "value" / "weights.safetensors").read_bytes()


def checkpoints(folder: Path) -> list[int]:
    return sorted(int(path.name.split("-")[1]) for path in (folder / "checkpoints").iterdir())


def copy_of(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target


# Targets -------------------------------------------------------------------------------------


def targets_of(expected, ended, seats, players, trace) -> np.ndarray:
    targets = np.full((*np.shape(ended), 6), 9, np.float32)
    write_targets(
        np.array(expected, np.float64),
        np.array(ended),
        np.array(seats, np.int8),
        np.array(players, np.int8),
        trace,
        targets,
    )
    return targets


def test_targets_of_a_small_case_by_hand():
    """Three players; the game ends after the third turn, another one begins; lambda 0.5.

    By the seats' own numbers the targets are
        after turn 2: (0, 1, 0), the end
        after turn 1: half (0.2, 0.2, 0.6) and half (0, 1, 0) = (0.1, 0.6, 0.3)
        after turn 0: half (0.5, 0.3, 0.2) and half that = (0.3, 0.45, 0.25)
        turn 3, of the next game and the last of the window: (0.4, 0.4, 0.2)
    and the seats that were to roll see themselves first.
    """
    targets = targets_of(
        [[[0.5, 0.3, 0.2, 0, 0, 0], [0.2, 0.2, 0.6, 0, 0, 0], [0, 1, 0, 0, 0, 0],
          [0.4, 0.4, 0.2, 0, 0, 0]]],
        [[False, False, True, False]],
        [[2, 0, 1, 0]],
        [[3, 3, 3, 3]],
        0.5,
    )  # fmt: skip
    by_hand = [[0.25, 0.3, 0.45], [0.1, 0.6, 0.3], [1, 0, 0], [0.4, 0.4, 0.2]]
    np.testing.assert_allclose(targets[0, :, :3], by_hand, atol=1e-7)
    assert (targets[:, :, 3:] == 0).all()


def test_the_trace_goes_from_the_next_turn_to_the_end():
    expected = [[[0.6, 0.4, 0, 0, 0, 0], [0.7, 0.3, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]]
    ended, seats, players = [[False, False, True]], [[0, 0, 0]], [[2, 2, 2]]
    near = targets_of(expected, ended, seats, players, 0.0)
    np.testing.assert_allclose(near[0, :, 0], [0.6, 0.7, 0], atol=1e-7)
    far = targets_of(expected, ended, seats, players, 1.0)
    np.testing.assert_allclose(far[0, :, 0], [0, 0, 0], atol=1e-7)


def test_targets_of_real_games_are_shares_and_reach_over_turns():
    config = TdConfig.model_validate(SMALL)
    play = SelfPlay(config)
    network = TrainableNetwork(play.players, [8], 1).playing()
    window = play.play(network, 0.05)
    np.testing.assert_allclose(window.targets.sum(axis=2), 1, atol=1e-6)
    absent = np.arange(6) >= window.players[:, :, None]
    assert (window.targets[absent] == 0).all()
    assert window.ended.any()
    last = window.ended.copy()
    last[:, -1] = True
    for i, turn in zip(*np.nonzero(last), strict=True):
        n, seat = window.players[i, turn], window.seats[i, turn]
        relative = np.roll(window.expected[i, turn, :n], -int(seat))
        np.testing.assert_allclose(window.targets[i, turn, :n], relative, atol=1e-6)
    shares = window.expected[window.ended]
    assert set(np.round(shares[shares > 0], 3)) <= {1, 0.5, 0.333, 0.25}


def test_moves_are_drawn_by_the_softmax():
    values, temperature = np.array([0.5, 0.45, 0.3]), 0.1
    keys = np.random.default_rng(0).integers(0, 2**64, 20_000, np.uint64)
    drawn = np.bincount([draw_move(values, temperature, key) for key in keys], minlength=3)
    chances = np.exp(values / temperature)
    np.testing.assert_allclose(drawn / 20_000, chances / chances.sum(), atol=0.015)
    assert {int(draw_move(values, 1e-9, key)) for key in keys[:100]} == {0}


def test_the_entropy_is_that_of_the_softmax():
    for values, temperature in (([0.5, 0.45, 0.3], 0.1), ([0.2], 0.05), ([1.0, 0.0], 1e-3)):
        chances = np.exp((np.array(values) - max(values)) / temperature)
        chances /= chances.sum()
        wanted = -sum(chance * np.log(chance) for chance in chances if chance > 0)
        assert entropy_of(np.array(values), temperature) == pytest.approx(wanted, abs=1e-12)
    assert entropy_of(np.full(4, 0.3), 0.01) == pytest.approx(np.log(4))


def test_the_explained_variance_compares_what_was_foretold_with_the_targets():
    """By hand: two games of three turns; a position after the end of a game was not foretold."""
    window = Window.empty(2, 3, 1)
    window.seats[:] = [[0, 1, 0], [1, 0, 1]]
    window.ended[1, 0] = True
    window.expected[0, :2, :2] = [[0.3, 0.7], [0.6, 0.4]]  # of the position after the turn
    window.expected[1, :2, :2] = [[1.0, 0.0], [0.2, 0.8]]
    window.targets[0, 1:, 0] = [0.9, 0.5]
    window.targets[1, 1:, 0] = [0.1, 1.0]  # the first begins a game
    foretold, targets = np.array([0.7, 0.6, 0.8]), np.array([0.9, 0.5, 1.0])
    wanted = 1 - (targets - foretold).var() / targets.var()
    assert window.explained_variance() == pytest.approx(wanted, abs=1e-6)
    window.targets[:] = 0.5
    assert np.isnan(window.explained_variance())
    assert np.isnan(Window.empty(2, 1, 1).explained_variance())


@pytest.mark.parametrize("players", [2, 3, 6])
def test_the_temperature_falls_with_the_number_of_players(players):
    """The first choice of each game, worked out anew."""
    game = {"ruleset": {"players": players}}
    config = TdConfig.model_validate({**SMALL, "game": game})
    play = SelfPlay(config)
    network = TrainableNetwork(play.players, [8], 1)
    with torch.no_grad():
        network.weights[-1].normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
    states = play.states.copy()
    window = play.play(network.playing(), 0.05)
    afters, moves = np.empty(MAX_MOVES, STATE), np.empty((MAX_MOVES, 2), np.int64)
    agent = ValueAgent("after", network.playing())
    for state, found in zip(states, window.entropies[:, 0], strict=True):
        n_moves = write_moves(state, afters, moves)
        values = agent.values(afters[:n_moves])[:, state["player"]]
        assert found == pytest.approx(entropy_of(values, 0.1 / players), abs=1e-6)
    assert window.entropies.max() > 0.1


def test_games_do_not_depend_on_threads_or_on_the_number_of_games():
    def window_of(n_games: int, threads: int):
        td_section = {"n_games": n_games, "n_turns": 16, "batch_size": 8}
        config = TdConfig.model_validate({**SMALL, "td": td_section, "threads": threads})
        play = SelfPlay(config)
        window = play.play(TrainableNetwork(play.players, [8], 1).playing(), 0.05)
        return window, play.states

    (one, states), (two, other_states), (few, _) = window_of(8, 1), window_of(8, 3), window_of(3, 1)
    assert states.tobytes() == other_states.tobytes()
    for name in ("features", "seats", "expected", "ended", "entropies", "targets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        np.testing.assert_array_equal(getattr(one, name)[:3], getattr(few, name))


def test_a_mix_is_played_by_its_weights():
    mix = [{"ruleset": "basic", "players": [2, 6], "weight": 3}, {"ruleset": "full", "players": 4}]
    config = TdConfig.model_validate(
        {**SMALL, "game": {"mix": mix}, "td": {"n_games": 2000, "n_turns": 1}}
    )
    assert [setting.share for setting in config.game.settings()] == [0.375, 0.375, 0.25]
    states = SelfPlay(config).states
    shares = np.bincount(states["players"], minlength=7) / 2000
    np.testing.assert_allclose(shares[[2, 4, 6]], [0.375, 0.25, 0.375], atol=0.04)
    assert (states["with_guards"] == (states["players"] == 4)).all()


# The learner ---------------------------------------------------------------------------------


def test_torch_and_the_kernels_are_one_network():
    config = TdConfig.model_validate(SMALL)
    play = SelfPlay(config)
    network = TrainableNetwork(play.players, [9, 7], 3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    window = play.play(network.playing(), 0.05)
    values = ValueAgent("it", network.playing()).values(
        np.array([play.states[i] for i in range(8)])
    )
    assert values.shape == (8, 6)
    scores = network(torch.from_numpy(window.features[:, 1]))  # before the second turn's roll
    for i in range(8):
        n, seat = int(window.players[i, 1]), int(window.seats[i, 1])
        shares = torch.softmax(scores[i, :n], dim=0).detach().numpy()
        if not window.ended[i, 0]:
            expected = np.roll(window.expected[i, 0, :n], -seat)
            np.testing.assert_allclose(shares, expected, atol=1e-5)


def test_an_untrained_network_expects_fair_shares():
    values = ValueAgent("it", TrainableNetwork(6, [16], 0).playing()).values(
        SelfPlay(TdConfig.model_validate(SMALL)).states
    )
    for row in values:
        present = row[row > 0]
        np.testing.assert_allclose(present, 1 / len(present))


LEARNING = {
    "algorithm": "td",
    "total_steps": 60_000,
    "game": {
        "ruleset": {"layout": [-3, 5, "lucky", -8, 2, -1, 7, "gift", -5, 4, -2, 3], "pawns": 2},
        "players": 2,
    },
    "network": {"hidden": [32]},
    "td": {"n_games": 64, "n_turns": 32, "batch_size": 256},
}


def learn(folder: Path, monkeypatch, shuffle: bool) -> list[float]:
    """Win shares against random and greedy after a training of seconds."""
    folder.mkdir()
    config = TdConfig.model_validate({**LEARNING, "evaluation": {"every": 10**9, "deals": 1}})
    training = TdTraining(folder, config, resume=False)
    if shuffle:
        write = td.write_targets

        def write_shuffled(expected, ended, seats, players, trace, targets):
            write(expected, ended, seats, players, trace, targets)
            flat = targets.reshape(-1, 6)
            flat[:] = np.random.default_rng(0).permutation(flat)

        monkeypatch.setattr(td, "write_targets", write_shuffled)
    training.learn(lambda n_steps: None)
    learner = ValueAgent("learner", training.network.playing())
    return [win_shares(learner, spec, config, 1000).mean() for spec in ("random", "greedy")]


@pytest.mark.learning
def test_training_learns_from_its_targets_and_nothing_else(tmp_path, monkeypatch):
    """Trained 0.75 and 0.70 against random and greedy; with shuffled targets 0.48 and 0.41."""
    random, greedy = learn(tmp_path / "run", monkeypatch, shuffle=False)
    assert random > 0.70
    assert greedy > 0.62
    random, greedy = learn(tmp_path / "control", monkeypatch, shuffle=True)
    assert random < 0.60
    assert greedy < 0.50


# The run folder ------------------------------------------------------------------------------


@pytest.mark.learning
def test_a_run_folder_holds_what_design_says(finished):
    names = {path.name for path in finished.iterdir()}
    assert names == {
        "config.yaml",
        "value",
        "checkpoints",
        "metrics.jsonl",
        "tensorboard",
        "curve.png",
        "results",
    }
    settings = {"custom-3p", "full-2p", "full-4p"}
    assert {path.name for path in (finished / "results").iterdir()} == settings
    for name in settings:
        results = json.loads((finished / "results" / name / "results.json").read_text())
        assert [agent["spec"] for agent in results["agents"]] == [
            f"td:{finished}",
            "random",
            "greedy",
        ]
    assert checkpoints(finished) == [4 * UPDATE, 6 * UPDATE]
    assert not any(b"pickle" in path.read_bytes() for path in finished.rglob("*.safetensors"))
    assert load_config(finished / "config.yaml") == TdConfig.model_validate(SMALL)


@pytest.mark.learning
def test_the_value_of_a_run_is_that_of_its_last_checkpoint(finished):
    _, content = load_value(finished / "value")
    assert content["about"]["steps"] == 6 * UPDATE
    assert content["about"]["algorithm"] == "td"
    assert content["about"]["mix"][0]["players"] == 3
    assert content["network"] == {"players": 4, "hidden": [8]}
    last = finished / "checkpoints" / f"step-{6 * UPDATE:012d}" / "weights.safetensors"
    saved = load_file(finished / "value" / "weights.safetensors")
    for name, array in load_file(last).items():
        np.testing.assert_array_equal(saved[name], array)
    assert agents.make(f"td:{finished}").description == content


@pytest.mark.learning
def test_metrics_have_a_line_for_each_update(finished):
    lines = read_metrics(finished / "metrics.jsonl")
    assert [line["step"] for line in lines] == [UPDATE * k for k in range(1, 7)]
    rates = [3e-3 + (1e-5 - 3e-3) * k / 6 for k in range(6)]
    assert [line["train/learning_rate"] for line in lines] == pytest.approx(rates)
    temperatures = [0.05 * 0.2 ** (k / 6) for k in range(6)]
    assert [line["train/temperature"] for line in lines] == pytest.approx(temperatures)
    evaluated = [line["step"] for line in lines if "evaluation/win_share/greedy" in line]
    assert evaluated == [2 * UPDATE, 4 * UPDATE, 6 * UPDATE]
    for line in lines:
        assert 0 < line["train/entropy"] < np.log(16)
        assert line["train/explained_variance"] < 1
        assert line["games/turns"] > 1


@pytest.mark.learning
def test_tensorboard_shows_all_metrics(finished):
    events = EventAccumulator(str(finished / "tensorboard")).Reload()
    lines = read_metrics(finished / "metrics.jsonl")
    names = {name for line in lines for name in line} - {"step", "segment"}
    assert set(events.Tags()["scalars"]) == names
    for name in ("evaluation/win_share/greedy", "games/turns", "train/entropy"):
        shown = {event.step: event.value for event in events.Scalars(name)}
        assert shown == pytest.approx({line["step"]: line[name] for line in lines if name in line})


@pytest.mark.learning
def test_a_run_begins_with_the_weights_of_another(finished, tmp_path):
    config = TdConfig.model_validate({**SMALL, "start_from": str(finished), "seed": 5})
    training = TdTraining(tmp_path, config, resume=False)
    before, _ = load_value(finished / "value")
    for one, other in zip(training.network.playing(), before, strict=True):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    training.stop()
    training.learn(lambda n_steps: None)  # not a step yet: no checkpoint
    resumed = TdTraining(tmp_path, config, resume=True)
    np.testing.assert_array_equal(resumed.network.playing().weights[0], before.weights[0])
    resumed.save()
    about = json.loads((tmp_path / "value" / "value.json").read_text())["about"]
    assert about["start_from"] == str(finished)


@pytest.mark.learning
def test_a_run_goes_on_though_what_it_began_from_is_gone(finished, config_file, train, tmp_path):
    origin, folder = copy_of(finished, tmp_path / "origin"), tmp_path / "run"
    assert train("--config", config_file, "--run", folder, "--set", f"start_from={origin}")[0] == 0
    ended = value_bytes(folder)
    assert ended != value_bytes(finished)
    shutil.rmtree(origin)
    shutil.rmtree(folder / "value")
    shutil.rmtree(folder / "checkpoints" / f"step-{6 * UPDATE:012d}")
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert value_bytes(folder) == ended


@pytest.mark.learning
def test_the_curve_is_drawn_anew_at_each_evaluation(tmp_path):
    seen = []
    curve = tmp_path / "curve.png"
    training = TdTraining(tmp_path, TdConfig.model_validate(SMALL), resume=False)
    training.learn(lambda n_steps: seen.append(curve.read_bytes() if curve.exists() else None))
    assert seen[0] is None
    assert seen[1] == seen[2]
    assert seen[3] == seen[4]
    assert len(set(seen)) == 4


@pytest.mark.learning
def test_an_evaluation_is_the_mean_over_the_mix(finished):
    config = load_config(finished / "config.yaml")
    line = read_metrics(finished / "metrics.jsonl")[-1]
    learner = agents.make(f"td:{finished}")
    parts = []
    for setting in config.game.settings():
        game = {"ruleset": setting.ruleset.to_dict()}
        one = TdConfig.model_validate({**SMALL, "game": game})
        parts.append(setting.share * win_shares(learner, "random", one, 4).mean())
    assert line["evaluation/win_share/random"] == pytest.approx(sum(parts))


# The same run again --------------------------------------------------------------------------


@pytest.mark.learning
def test_a_seed_repeats_a_run_and_another_does_not(finished, config_file, train, tmp_path):
    torch.manual_seed(99)
    np.random.seed(99)  # noqa: NPY002
    for seed, is_same in ((0, True), (1, False)):
        folder = tmp_path / str(seed)
        ended = train("--config", config_file, "--run", folder, "--set", f"seed={seed}")
        assert ended[0] == 0, ended[2]
        assert (value_bytes(folder) == value_bytes(finished)) == is_same


STOPPER = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import train
from agents.cli import run
from agents.td import TdTraining

steps, number = int(sys.argv[2]), getattr(signal, sys.argv[3])
update = TdTraining._update

def stop(self, window, rate):
    if self.step == steps:
        os.kill(os.getpid(), number)
    return update(self, window, rate)

TdTraining._update = stop
sys.argv = ["train.py", *sys.argv[4:]]
run(train.main, "train.py")
"""


@pytest.mark.learning
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGKILL"])
def test_a_stopped_run_goes_on_as_if_nothing_had_happened(
    finished, config_file, train, tmp_path, number
):
    """A signal within the fourth update; a kill loses what came after the second."""
    folder = tmp_path / "run"
    arguments = ["--config", config_file, "--run", folder]
    ended = subprocess.run(
        [sys.executable, "-c", STOPPER, ROOT, str(3 * UPDATE), number, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    if number == "SIGKILL":
        assert ended.returncode == -signal.SIGKILL
        assert checkpoints(folder) == [2 * UPDATE]
    else:
        assert (ended.returncode, ended.stderr) == (0, "")
        assert f"stopped at step {4 * UPDATE}" in ended.stdout
        assert checkpoints(folder) == [2 * UPDATE, 4 * UPDATE]
    assert not (folder / "value").exists()
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert value_bytes(folder) == value_bytes(finished)
    ours, theirs = (read_metrics(f / "metrics.jsonl") for f in (folder, finished))
    for one, other in zip(ours, theirs, strict=True):
        ignored = {"time/steps_per_second", "segment"}
        assert {k: v for k, v in one.items() if k not in ignored} == {
            k: v for k, v in other.items() if k not in ignored
        }


@pytest.mark.learning
@pytest.mark.parametrize("call", [4, 5, 6])  # the three files of the second checkpoint
def test_a_kill_while_saving_loses_nothing(
    finished, config_file, train, tmp_path, monkeypatch, call
):
    class KilledError(BaseException):
        pass

    write, calls = saved.write_arrays, []

    def write_or_die(path, arrays):
        calls.append(path)
        if len(calls) == call:
            path.with_name(f".{path.name}.part").write_bytes(b"half")
            raise KilledError
        write(path, arrays)

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(saved, "write_arrays", write_or_die)
        with pytest.raises(KilledError):
            train("--config", config_file, "--run", folder)
    assert checkpoints(folder)[0] == 2 * UPDATE
    assert train("--resume", folder)[0] == 0
    assert value_bytes(folder) == value_bytes(finished)


@pytest.mark.learning
def test_a_run_killed_before_its_first_checkpoint_begins_anew(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    for name in ("value", "checkpoints", "tensorboard", "results"):
        shutil.rmtree(folder / name)
    assert train("--resume", folder)[0] == 0
    assert value_bytes(folder) == value_bytes(finished)


@pytest.mark.learning
def test_a_finished_run_can_be_resumed_and_stays_as_it_is(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert value_bytes(folder) == value_bytes(finished)


# Damage --------------------------------------------------------------------------------------


def change_arrays(name: str, change):
    def damage(checkpoint: Path) -> None:
        arrays = {k: v.copy() for k, v in load_file(checkpoint / f"{name}.safetensors").items()}
        change(arrays)
        save_file(arrays, checkpoint / f"{name}.safetensors")

    return damage


def change_state(**values):
    def damage(checkpoint: Path) -> None:
        state = json.loads((checkpoint / "state.json").read_text())
        (checkpoint / "state.json").write_text(json.dumps(state | values))

    return damage


DAMAGE = {
    "half of the weights": lambda c: os.truncate(c / "weights.safetensors", 300),
    "no optimizer": lambda c: (c / "optimizer.safetensors").unlink(),
    "a moment is missing": change_arrays("optimizer", lambda a: a.pop("0.exp_avg")),
    "games of bytes": change_arrays("games", lambda a: a["states"].fill(77)),
    "a game in another phase": change_arrays(
        "games", lambda a: a["states"].__setitem__((0, STATE_PHASE), 0)
    ),
    "fewer games": change_arrays("games", lambda a: a.update(states=a["states"][:4].copy())),
    "weights of another shape": change_arrays(
        "weights", lambda a: a.update({"0.bias": np.zeros(9, np.float32)})
    ),
    "half an update": change_state(step=3 * UPDATE + 1),
    "steps of a longer run": change_state(step=7 * UPDATE),
    "a step of text": change_state(step="768"),
    "other features": change_state(layout_hash="0" * 16),
    "no JSON": lambda c: (c / "state.json").write_text("{"),
}
STATE_PHASE = 4  # byte of the record that holds the phase


@pytest.mark.learning
@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint_falls_back_to_the_one_before(finished, train, tmp_path, name):
    folder = copy_of(finished, tmp_path / "run")
    newest = folder / "checkpoints" / f"step-{6 * UPDATE:012d}"
    DAMAGE[name](newest)
    (folder / "value" / "weights.safetensors").unlink()
    code, _, err = train("--resume", folder)
    assert code == 0, err
    assert err.count("\n") == 1
    assert str(newest) in err
    assert value_bytes(folder) == value_bytes(finished)


def test_the_phase_stands_where_the_damage_is_done():
    state = SelfPlay(TdConfig.model_validate(SMALL)).states
    assert (state.view(np.uint8).reshape(8, -1)[:, STATE_PHASE] == MOVE).all()


@pytest.mark.learning
def test_numbers_that_are_not_finite_stop_a_run_with_the_cause(
    finished, config_file, monkeypatch, tmp_path
):
    script, folder, update = load_script(), tmp_path / "run", TdTraining._update
    script.start(folder, config_file, [])

    def spoil(self, window, rate):
        loss = update(self, window, rate)
        if self.step == 2 * UPDATE:
            with torch.no_grad():
                self.network.biases[0][3] = torch.nan
        return loss

    with monkeypatch.context() as patch:
        patch.setattr(TdTraining, "_update", spoil)
        with pytest.raises(TrainingError, match=r"biases\.0.*finite.*diverged"):
            script.train(folder, resume=False)
    assert checkpoints(folder) == [2 * UPDATE]
    assert not (folder / "value").exists()
    script.train(folder, resume=True)
    assert value_bytes(folder) == value_bytes(finished)


@pytest.mark.learning
def test_a_run_whose_numbers_explode_says_so(train, config_file, tmp_path):
    code, _, err = train(
        "--config", config_file, "--run", tmp_path / "run", "--set", "td.learning_rate=1e30"
    )
    assert code == 1
    assert "finite" in err
    assert err.count("\n") == 1


# Configs -------------------------------------------------------------------------------------


def test_every_setting_reaches_the_learner(tmp_path):
    values = {
        "n_games": 3,
        "n_turns": 5,
        "batch_size": 7,
        "n_epochs": 2,
        "learning_rate": 1e-2,
        "final_learning_rate": 1e-3,
        "trace": 0.25,
        "temperature": 0.5,
        "final_temperature": 0.1,
    }
    config = TdConfig.model_validate({"algorithm": "td", "seed": 5, "td": values})
    assert set(values) == set(type(config.td).model_fields)
    assert config.game.settings()[0].ruleset == Ruleset.preset("basic", players=2)
    training = TdTraining(tmp_path, config, resume=False)
    window = training._play.play(training.network.playing(), 0.5)
    assert window.seats.shape == (3, 5)
    steps = []
    step = training._optimizer.step
    training._optimizer.step = lambda: steps.append(step())
    training._update(window, 1e-2)
    assert len(steps) == 2 * 3  # 15 positions in batches of 7, twice
    middle = 0.75 * window.expected[0, 3] + 0.25 * window.expected[0, 4]
    n, seat = 2, int(window.seats[0, 3])
    np.testing.assert_allclose(window.targets[0, 3, :n], np.roll(middle[:n], -seat), atol=1e-6)
