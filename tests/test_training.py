"""Training runs: what a run folder holds, that a seed repeats a run, and that nothing stops one.

A run that is stopped or killed and resumed must give, bit for bit, the policy of one that was not.
"""

import importlib.util
import itertools
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import reference
import torch
import yaml
from safetensors.numpy import load_file, save_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import agents
from agents import runs, saved, tournament, training
from agents.cli import FailedError, run
from agents.config import PpoConfig, load_config
from agents.files import locked
from agents.league import League
from agents.networks import NetworkAgent, make_network
from agents.policy import load_policy
from agents.runs import TrainingError, last_segment, read_metrics, win_shares
from agents.sb3_env import ThatsLifeVecEnv
from agents.tournament import play_tournament
from agents.training import Checkpoints, Run, make_model
from thatslife_env import Ruleset
from thatslife_env.board import STATE
from thatslife_env.games import GAME, SeatGames, stream_seeds

pytestmark = pytest.mark.speed  # plays too much for uncompiled code

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[1]
SLOW = os.environ.get("THATSLIFE_SLOW") == "1"
SMOKE = ROOT / "configs" / "smoke.yaml"
GAMMA = 0x9E3779B97F4A7C15

UPDATE = 256  # steps between two updates
SMALLER = [  # than the smoke config: six updates
    "total_steps=1536",
    "snapshots={every: 256, keep: 2}",
    "network={kind: mlp, hidden: [16]}",
    "ppo={n_envs: 16, n_steps: 16, batch_size: 64}",
    "evaluation={every: 512, deals: 20, final_games: 8}",
    "checkpoint_every=512",
]


def draw64(seed: int, k: int) -> int:
    return reference.mix(seed + (k + 1) * GAMMA)


def load_script():
    spec = importlib.util.spec_from_file_location("train", ROOT / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def own_process():
    """Put back what a run changes in its process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    torch.set_num_threads(1)


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


def policy_bytes(folder: Path) -> bytes:
    return (folder / "policy" / "weights.safetensors").read_bytes()


def results_of(folder: Path) -> dict:
    """The results, but for what differs between equal runs: times and the folder's name."""
    results = json.loads((folder / "results.json").read_text())
    text = json.dumps(results).replace(str(folder), "RUN")
    results = json.loads(text)
    for agent in results["agents"]:
        del agent["ms_per_decision"]
    return results


def evaluations(folder: Path) -> list[tuple]:
    """The evaluations that led to the policy, in order: step and every number."""
    return [
        tuple(
            value for key, value in line.items() if key == "step" or key.startswith("evaluation/")
        )
        for line in read_metrics(folder / "metrics.jsonl")
        if any(key.startswith("evaluation/") for key in line)
    ]


def checkpoint_steps(folder: Path) -> list[int]:
    return sorted(int(path.name.split("-")[1]) for path in (folder / "checkpoints").glob("step-*"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """The run folder of the whole command, without interruption."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    ended = subprocess.run(
        [sys.executable, ROOT / "train.py", "--config", SMOKE, "--set", *SMALLER, "--run", folder],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    for word in (
        str(folder / "policy"),
        str(folder / "curve.png"),
        "greedy v random",
        "1536 steps",
    ):
        assert word in ended.stdout
    return folder


# The run folder ---------------------------------------------------------------------------------


@pytest.mark.learning
def test_a_run_begins_with_the_weights_of_another(finished, tmp_path):
    content = {**yaml.safe_load((finished / "config.yaml").read_text()), "seed": 5}
    config = PpoConfig.model_validate({**content, "start_from": str(finished)})
    training.PpoTraining(tmp_path, config, resume=False).save()
    assert policy_bytes(tmp_path) == policy_bytes(finished)


@pytest.mark.learning
def test_a_run_folder_holds_what_design_says(finished):
    design = {"config.yaml", "policy", "checkpoints", "metrics.jsonl", "tensorboard", "curve.png"}
    design |= {"results.json"}
    found = {path.name for path in finished.iterdir()}
    assert found >= design
    assert found == design | {"results.png", "league.png", "snapshots"}  # no leftovers
    assert sorted(path.name for path in (finished / "policy").iterdir()) == [
        "policy.json",
        "weights.safetensors",
    ]
    assert checkpoint_steps(finished) == [1024, 1536]  # the latest two
    for checkpoint in (finished / "checkpoints").iterdir():
        assert {path.suffix for path in checkpoint.iterdir()} == {".safetensors", ".json"}
    [events] = (finished / "tensorboard").iterdir()
    assert events.name.startswith("events.out.tfevents")
    assert events.stat().st_size > 1000
    for name in ("curve.png", "results.png"):
        assert np.ptp(matplotlib.image.imread(finished / name)[:, :, :3]) > 0.5


@pytest.mark.learning
def test_no_file_of_a_run_is_a_pickle_or_an_archive(finished):
    for path in finished.rglob("*"):
        if path.is_file():
            start = path.read_bytes()[:8]
            assert path.suffix in {".safetensors", ".json", ".jsonl", ".yaml", ".png"} or (
                path.name.startswith("events.out.tfevents")
            ), path
            if path.suffix == ".safetensors":  # begins with the length of its header, which is JSON
                (length,) = struct.unpack("<Q", start)
                json.loads(path.read_bytes()[8 : 8 + length])
            else:
                assert not start.startswith((b"PK", b"\x80", b"\x1f\x8b")), path


@pytest.mark.learning
def test_the_config_of_a_run_is_there_in_full(finished):
    config = load_config(finished / "config.yaml")
    assert config == load_config(SMOKE, SMALLER)
    assert set(yaml.safe_load((finished / "config.yaml").read_text())) == set(
        PpoConfig.model_fields
    )


@pytest.mark.learning
def test_the_policy_of_a_run_plays_and_says_where_it_comes_from(finished):
    network, content = load_policy(finished / "policy")
    assert content["about"]["steps"] == 1536
    assert content["about"]["seed"] == 0
    assert Ruleset.of(content["about"]["ruleset"]) == Ruleset.preset("basic", players=2)
    assert content["network"] == {"kind": "mlp", "hidden": [16], "activation": "relu"}
    # it is the network of the last checkpoint
    last = load_file(finished / "checkpoints" / "step-000000001536" / "weights.safetensors")
    assert set(last) == set(network.state_dict())
    for name, weights in network.state_dict().items():
        np.testing.assert_array_equal(weights.numpy(), last[name])
    assert agents.make(f"policy:{finished}").name == f"policy:{finished}"


@pytest.mark.learning
def test_the_results_of_a_run_are_those_of_its_policy(finished):
    """`results.json` is what evaluate.py would write for the same deals."""
    results = json.loads((finished / "results.json").read_text())
    assert set(results) == {"ruleset", "players", "games", "seed", "agents", "pairs"}
    assert results["games"] == 8
    assert results["seed"] == load_config(finished / "config.yaml").evaluation.seed
    specs = [f"policy:{finished}", "random", "greedy"]
    assert [agent["spec"] for agent in results["agents"]] == specs
    again = play_tournament(
        [agents.make(spec) for spec in specs],
        Ruleset.preset("basic", players=2),
        "basic",
        games=8,
        seed=results["seed"],
    ).to_json()
    assert again["pairs"] == results["pairs"]


# Metrics ----------------------------------------------------------------------------------------


@pytest.mark.learning
def test_metrics_have_a_line_for_each_update(finished):
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert {line["segment"] for line in lines} == {0}
    steps = [line["step"] for line in lines]
    assert sorted(set(steps)) == [UPDATE * k for k in range(1, 7)]
    assert steps == sorted(steps)
    shares = {key for line in lines for key in line if key.startswith("games/win_share/")}
    assert shares == {f"games/win_share/{name}" for name in ("self", "snapshots", "greedy")}
    ended = [line for line in lines if "games/decisions" in line]  # in the first no game has
    assert len(ended) >= 3
    for line in ended:
        assert line["games/length"] > line["games/decisions"] > 1  # of all seats, of the learner
    for line in lines:
        for key, value in line.items():
            assert np.isfinite(value), (key, line["step"])


@pytest.mark.learning
def test_tensorboard_shows_all_metrics(finished):
    events = EventAccumulator(str(finished / "tensorboard")).Reload()
    lines = read_metrics(finished / "metrics.jsonl")
    names = {name for line in lines for name in line}
    names -= {"step", "segment"}
    assert set(events.Tags()["scalars"]) == names
    wanted = {"train/entropy_loss", "train/explained_variance", "games/length"}
    wanted |= {"games/win_share/self", "evaluation/win_share/greedy"}
    assert names >= wanted
    for name in wanted:
        shown = {event.step: event.value for event in events.Scalars(name)}
        assert shown == pytest.approx({line["step"]: line[name] for line in lines if name in line})


@pytest.mark.learning
def test_an_evaluation_stands_at_the_step_of_the_weights_that_played(finished):
    """Weights of a checkpoint, evaluated anew, give the numbers that stand at its step."""
    config = load_config(finished / "config.yaml")
    lines = {line["step"]: line for line in read_metrics(finished / "metrics.jsonl")}
    assert [line[0] for line in evaluations(finished)] == [512, 1024, 1536]
    for step in (1024, 1536):
        network = make_network(config.network.model_dump())
        file = finished / "checkpoints" / f"step-{step:012d}" / "weights.safetensors"
        network.load_state_dict({name: torch.from_numpy(a) for name, a in load_file(file).items()})
        for spec in ("random", "greedy"):
            share = win_shares(NetworkAgent("learner", network), spec, config, 20).mean()
            assert lines[step][f"evaluation/win_share/{spec}"] == pytest.approx(share)


@pytest.mark.learning
def test_the_learning_rate_falls_linearly(finished, killed, train, tmp_path):
    """From 1e-3 to 1e-5 over all steps, also where a run was resumed on the way."""
    resumed = copy_of(killed[0], tmp_path / "run")
    train("--resume", resumed)
    expected = [1e-5 + (1e-3 - 1e-5) * (1 - k / 6) for k in range(1, 7)]
    for folder, fewest in ((finished, 6), (resumed, 5)):
        lines = read_metrics(folder / "metrics.jsonl")
        rates = {line["train/learning_rate"] for line in lines if "train/learning_rate" in line}
        assert len(rates) >= fewest
        assert all(any(rate == pytest.approx(right) for right in expected) for rate in rates)


def test_lines_that_a_later_segment_went_through_again_are_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (4, 1), (4, 1), (4, 2), (5, 2)]
    text = (
        json.dumps({"step": step, "segment": segment, "n": n})
        for n, (step, segment) in enumerate(lines)
    )
    path.write_text("".join(line + "\n" for line in text))
    kept = [(line["step"], line["segment"], line["n"]) for line in read_metrics(path)]
    assert kept == [(1, 0, 0), (2, 1, 3), (3, 1, 4), (4, 2, 7), (5, 2, 8)]
    assert last_segment(path) == 2
    assert last_segment(tmp_path / "missing.jsonl") == -1


def test_every_setting_reaches_the_learner():
    ppo = {
        "n_envs": 7,
        "n_steps": 11,
        "batch_size": 13,
        "n_epochs": 3,
        "learning_rate": 3e-3,
        "final_learning_rate": 1e-3,
        "gamma": 0.97,
        "gae_lambda": 0.8,
        "clip_range": 0.15,
        "ent_coef": 0.03,
        "vf_coef": 0.7,
        "max_grad_norm": 0.4,
    }
    network = {"kind": "mlp", "hidden": [9, 5], "activation": "tanh"}
    config = PpoConfig.model_validate(
        {"seed": 17, "ppo": ppo, "network": network, "game": {"ruleset": "full", "players": 5}}
    )
    assert set(ppo) == set(type(config.ppo).model_fields)
    env = training.make_env(config)
    model = make_model(config, env)
    for name in ("n_envs", "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef"):
        assert getattr(model, name) == ppo[name], name
    assert (model.vf_coef, model.max_grad_norm, model.seed) == (0.7, 0.4, 17)
    assert model.clip_range(1.0) == 0.15
    assert [model.lr_schedule(left) for left in (1, 0.5, 0)] == pytest.approx([3e-3, 2e-3, 1e-3])
    assert model.device.type == "cpu"
    layers = [type(layer).__name__ for layer in model.policy.network.policy]
    assert layers == ["Linear", "Tanh", "Linear", "Tanh", "Linear"]
    assert [layer.out_features for layer in model.policy.network.value[::2]] == [9, 5, 1]
    assert env.play.rulesets == [Ruleset.preset("full", players=5)]
    env.reset()
    assert env.play.games["stream"].tolist() == [draw64(17, i) for i in range(7)]


# The same run again -----------------------------------------------------------------------------


@pytest.mark.learning
def test_a_seed_repeats_a_run_and_another_does_not(finished, train, tmp_path):
    """In another process, whose global generators stand elsewhere."""
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    torch.set_num_threads(2)
    same, other = tmp_path / "same", tmp_path / "other"
    assert train("--config", SMOKE, "--set", *SMALLER, "--run", same)[0] == 0
    assert torch.get_num_threads() == 1  # as the config says
    assert policy_bytes(same) == policy_bytes(finished)
    assert results_of(same) == results_of(finished)
    assert evaluations(same) == evaluations(finished)
    assert train("--config", SMOKE, "--set", *SMALLER, "seed=1", "--run", other)[0] == 0
    assert policy_bytes(other) != policy_bytes(finished)


def test_threads_are_limited_before_torch_is_there():
    """Several threads on one small matrix are far slower than one."""
    code = "import os, sys, train; print(os.environ['OMP_NUM_THREADS'], 'torch' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["1", "False"]


# Stopped and killed -----------------------------------------------------------------------------

STOPPER = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import train
from agents.cli import run
from agents.training import Run

steps, number = int(sys.argv[2]), getattr(signal, sys.argv[3])
on_step = Run._on_step

def stop(self):
    if self.num_timesteps == steps:
        os.kill(os.getpid(), number)
    return on_step(self)

Run._on_step = stop
sys.argv = ["train.py", *sys.argv[4:]]
run(train.main, "train.py")
"""


def stopped_run(folder: Path, steps: int, number: str) -> subprocess.CompletedProcess:
    """A run of the whole command that gets a signal in the middle of gathering games."""
    arguments = ["--config", SMOKE, "--set", *SMALLER, "--run", folder]
    return subprocess.run(
        [sys.executable, "-c", STOPPER, ROOT, str(steps), number, *arguments],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def terminated(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess]:
    """SIGTERM after three updates and a half."""
    folder = tmp_path_factory.mktemp("runs") / "terminated"
    return folder, stopped_run(folder, 3 * UPDATE + 80, "SIGTERM")


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess]:
    """SIGKILL after three updates and a half; the last checkpoint is from the second."""
    folder = tmp_path_factory.mktemp("runs") / "killed"
    return folder, stopped_run(folder, 3 * UPDATE + 80, "SIGKILL")


def copy_of(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target


@pytest.mark.learning
def test_sigterm_saves_and_ends_cleanly(terminated):
    folder, ended = terminated
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert "--resume" in ended.stdout
    assert not (folder / "policy").exists()
    assert checkpoint_steps(folder)[-1] == 4 * UPDATE  # the update under way is done first


@pytest.mark.learning
def test_the_step_that_is_told_is_that_of_the_checkpoint(terminated):
    folder, ended = terminated
    assert f"stopped at step {checkpoint_steps(folder)[-1]};" in ended.stdout


@pytest.mark.learning
def test_a_terminated_run_goes_on_as_if_nothing_had_happened(finished, terminated, train, tmp_path):
    folder = copy_of(terminated[0], tmp_path / "run")
    code, out, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert "1536 steps" in out
    assert policy_bytes(folder) == policy_bytes(finished)
    assert results_of(folder) == results_of(finished)


@pytest.mark.learning
@pytest.mark.parametrize("steps", [80, 1536 - 80])
def test_ctrl_c_in_the_first_or_last_update_loses_nothing(
    monkeypatch, finished, train, tmp_path, steps
):
    folder = tmp_path / "run"
    on_step = Run._on_step

    def interrupt(self) -> bool:
        if self.num_timesteps == steps:
            signal.raise_signal(signal.SIGINT)
        return on_step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_on_step", interrupt)
        code, out, _ = train("--config", SMOKE, "--set", *SMALLER, "--run", folder)
    assert code == 0
    assert "--resume" in out
    assert checkpoint_steps(folder)[-1] == (256 if steps == 80 else 1536)
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)
    assert results_of(folder) == results_of(finished)


@pytest.mark.learning
def test_a_stop_loses_no_evaluation(finished, terminated, train, tmp_path):
    """It came where an evaluation was due."""
    folder = copy_of(terminated[0], tmp_path / "run")
    train("--resume", folder)
    assert evaluations(folder) == evaluations(finished)


@pytest.mark.learning
def test_a_killed_run_goes_on_from_its_last_checkpoint(finished, killed, train, tmp_path):
    folder, ended = killed
    assert ended.returncode == -signal.SIGKILL
    assert checkpoint_steps(folder) == [2 * UPDATE]
    folder = copy_of(folder, tmp_path / "run")
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)
    assert results_of(folder) == results_of(finished)
    assert checkpoint_steps(folder) == checkpoint_steps(finished)


@pytest.mark.learning
def test_a_kill_loses_no_evaluation(finished, killed, train, tmp_path):
    folder = copy_of(killed[0], tmp_path / "run")
    train("--resume", folder)
    assert evaluations(folder) == evaluations(finished)


@pytest.mark.learning
def test_segments_tell_apart_what_was_gone_through_twice(killed, train, tmp_path):
    folder = copy_of(killed[0], tmp_path / "run")
    before = (folder / "metrics.jsonl").read_text()
    assert json.loads(before.splitlines()[-1])["step"] == 3 * UPDATE  # past the checkpoint
    train("--resume", folder)
    text = (folder / "metrics.jsonl").read_text()
    assert text.startswith(before)
    lines = [json.loads(line) for line in text.removeprefix(before).splitlines()]
    assert {line["segment"] for line in lines} == {1}
    assert lines[0]["step"] == 3 * UPDATE
    kept = read_metrics(folder / "metrics.jsonl")
    assert [line["step"] for line in kept] == sorted(line["step"] for line in kept)
    assert {line["step"] for line in kept} == {UPDATE * k for k in range(1, 7)}
    assert {line["segment"] for line in kept if line["step"] > 2 * UPDATE} == {1}
    assert len(list((folder / "tensorboard").iterdir())) == 2


@pytest.mark.learning
def test_a_half_written_line_of_metrics_stops_no_resume(finished, killed, train, tmp_path):
    """What a kill, or a full disk, can leave."""
    folder = copy_of(killed[0], tmp_path / "run")
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1024, "segm')
    assert train("--resume", folder)[0] == 0
    assert policy_bytes(folder) == policy_bytes(finished)
    assert read_metrics(folder / "metrics.jsonl")[-1]["step"] == 1536


@pytest.mark.learning
def test_a_run_killed_before_its_first_checkpoint_can_be_resumed(finished, train, tmp_path):
    """There is all that it takes: the config."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    for name in ("policy", "checkpoints", "snapshots", "tensorboard"):
        shutil.rmtree(folder / name)
    for name in ("results.json", "results.png", "curve.png", "metrics.jsonl"):
        (folder / name).unlink()
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)


# writings of arrays: two snapshots, four of checkpoint 512, two snapshots, four of 1024, ...
KILLS = [(7, "half"), (8, "after"), (9, "half"), (10, "before"), (12, "half"), (18, "after")]
if SLOW:
    KILLS = list(itertools.product(range(7, 19), ("before", "half", "after")))


class KilledError(BaseException):
    """Ends a run at once, as a kill would: nothing of the run handles it."""


def run_killed_at(monkeypatch, train: Callable, folder: Path, call: int, moment: str) -> None:
    """A run that ends in its n-th writing of arrays: before it, half-way, or after it."""
    write = saved.write_arrays
    calls = 0

    def write_or_die(path: Path, arrays: dict) -> None:
        nonlocal calls
        calls += 1
        if calls < call:
            write(path, arrays)
        elif moment == "half":
            path.with_name(f".{path.name}.part").write_bytes(b"\x10\0\0\0\0\0\0\0{half")
            raise KilledError
        elif moment == "after":
            write(path, arrays)
            raise KilledError
        else:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(saved, "write_arrays", write_or_die)
        with pytest.raises(KilledError):
            train("--config", SMOKE, "--set", *SMALLER, "--run", folder)


@pytest.mark.learning
@pytest.mark.parametrize(("call", "moment"), KILLS)
def test_a_kill_while_saving_loses_nothing(monkeypatch, finished, train, tmp_path, call, moment):
    folder = tmp_path / "run"
    run_killed_at(monkeypatch, train, folder, call, moment)
    assert checkpoint_steps(folder)[0] == 512
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)
    assert checkpoint_steps(folder) == checkpoint_steps(finished)
    assert not list((folder / "checkpoints").glob(".*"))  # what lay about half done is gone


@pytest.mark.learning
def test_stale_parts_are_left_out(finished, killed, train, tmp_path):
    folder = copy_of(killed[0], tmp_path / "run")
    part = folder / "checkpoints" / ".step-000000000768.part"
    part.mkdir()
    (part / "weights.safetensors").write_bytes(b"half")
    (folder / "snapshots" / ".snapshot-000000000768.safetensors.part").write_bytes(b"half")
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)
    assert not part.exists()


def break_off(name: str) -> Callable[[Path], None]:
    def damage(checkpoint: Path) -> None:
        data = (checkpoint / name).read_bytes()
        (checkpoint / name).write_bytes(data[: len(data) // 2])

    return damage


DAMAGE = {
    **{
        f"half of {name}": break_off(name)
        for name in ("weights.safetensors", "games.safetensors", "state.json")
    },
    "an empty file": lambda c: (c / "state.json").write_bytes(b""),
    "zeros": lambda c: (c / "state.json").write_bytes(bytes(300)),
    "a list": lambda c: (c / "state.json").write_text("[]"),
    "no games": lambda c: (c / "games.safetensors").unlink(),
    "no state": lambda c: (c / "state.json").unlink(),
    "nothing": lambda c: [path.unlink() for path in c.iterdir()],
}


@pytest.mark.learning
@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint_falls_back_to_the_one_before(finished, train, tmp_path, name):
    """With a message, and to the same end; then the damaged one is replaced."""
    folder = copy_of(finished, tmp_path / "run")
    newest = folder / "checkpoints" / "step-000000001536"
    DAMAGE[name](newest)
    (folder / "policy" / "weights.safetensors").unlink()
    code, _, err = train("--resume", folder)
    assert code == 0, err
    assert str(newest) in err
    assert err.count("\n") == 1
    assert policy_bytes(folder) == policy_bytes(finished)


@pytest.mark.learning
def test_a_damaged_checkpoint_is_replaced(finished, train, tmp_path):
    """The run comes to the same step again, and saves there."""
    folder = copy_of(finished, tmp_path / "run")
    DAMAGE["half of weights.safetensors"](folder / "checkpoints" / "step-000000001536")
    assert train("--resume", folder)[0] == 0
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")  # nothing is left out the second time


@pytest.mark.learning
def test_a_finished_run_can_be_resumed_and_stays_as_it_is(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    before = results_of(folder)
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)
    assert json.dumps(results_of(folder)["pairs"]) == json.dumps(before["pairs"]).replace(
        str(finished), "RUN"
    )
    assert evaluations(folder) == evaluations(finished)


@pytest.mark.learning
def test_a_checkpoint_keeps_all_of_a_run(finished):
    """Weights, optimiser, games in progress, chance and counters."""
    config = load_config(finished / "config.yaml")
    env = training.make_env(config)
    model = make_model(config, env)
    league = League(config, model.policy.network, finished / "snapshots")
    Checkpoints(finished / "checkpoints").load(model, env, league)
    last = finished / "checkpoints" / "step-000000001536"
    assert model.num_timesteps == 1536
    assert model._n_updates == 6 * config.ppo.n_epochs
    state = model.policy.optimizer.state_dict()["state"]
    assert {float(values["step"]) for values in state.values()} == {6 * 4 * 4.0}
    assert len(state) == len(list(model.policy.parameters()))
    games = load_file(last / "games.safetensors")
    assert env.play.states.tobytes() == games["states"].tobytes()
    assert env.play.games.tobytes() == games["games"].tobytes()
    names = [league.roster[number - 2] for number in np.unique(env.play.lineups) if number >= 2]
    assert set(names) <= {"self", *(f"snapshot-{256 * k:09d}" for k in range(1, 7))}
    assert {tally.score for tally in league.tallies.values()} - {0.5}
    assert league.state() == json.loads((last / "state.json").read_text())["league"]
    chance = load_file(last / "chance.safetensors")
    assert torch.get_rng_state().numpy().tobytes() == chance["torch"].tobytes()
    assert np.random.get_state()[1].tobytes() == chance["numpy"].tobytes()  # noqa: NPY002


# Wrong use --------------------------------------------------------------------------------------


def assert_refused(ended: tuple[int, str, str], *words: str) -> None:
    code, out, err = ended
    assert code == 2
    assert err.count("\n") == 1, err
    assert err.startswith("train.py: ")
    assert out == ""
    for word in words:
        assert word in err


@pytest.mark.learning
def test_a_run_is_never_written_over(finished, train):
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    ended = train("--config", SMOKE, "--set", *SMALLER, "--run", finished)
    assert_refused(ended, str(finished), "not empty", "--resume")
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before


def test_resuming_nonsense_is_refused(train, tmp_path):
    file = tmp_path / "file"
    file.write_text("no run")
    empty = tmp_path / "empty"
    empty.mkdir()
    spoilt = tmp_path / "spoilt"
    spoilt.mkdir()
    (spoilt / "config.yaml").write_text("sede: 1")
    for folder in (tmp_path / "missing", file, empty, spoilt):
        assert_refused(train("--resume", folder), str(folder))
    assert list(empty.iterdir()) == []


@pytest.mark.learning
def test_resuming_without_a_readable_checkpoint_is_refused(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    for checkpoint in (folder / "checkpoints").iterdir():
        break_off("weights.safetensors")(checkpoint)
    code, _, err = train("--resume", folder)
    assert code == 2
    assert err.splitlines()[-1].startswith("train.py: ")
    assert str(folder) in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.learning
def test_a_missing_snapshot_is_named(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    shutil.rmtree(folder / "snapshots")
    assert_refused(train("--resume", folder), "snapshot-")


@pytest.mark.learning
def test_a_checkpoint_of_another_version_is_refused(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    for checkpoint in (folder / "checkpoints").iterdir():
        state = json.loads((checkpoint / "state.json").read_text())
        state["layout_hash"] = "0123456789abcdef"
        (checkpoint / "state.json").write_text(json.dumps(state))
    code, _, err = train("--resume", folder)
    assert code == 2
    assert "version" in err


def test_a_run_folder_that_cannot_be_written_is_refused(train, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for folder in (file, file / "run", Path("/proc/run")):
        assert_refused(train("--config", SMOKE, "--run", folder), str(folder))


FULL = """
import resource, train
from agents.cli import run

resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
run(train.main, "train.py")
"""


@pytest.mark.learning
@pytest.mark.parametrize(
    ("limit", "every", "name"),
    [(4000, 10**6, "snapshot-000000256"), (120_000, 512, "optimizer.safetensors")],
)
def test_a_full_disk_stops_a_run_with_one_line_and_spoils_nothing(
    finished, train, tmp_path, limit, every, name
):
    """Files may grow no further than a limit: writing fails midway, as on a full disk."""
    folder = tmp_path / "run"
    changes = [*SMALLER, f"checkpoint_every={every}", "evaluation.every=1000000"]
    command = ["--config", SMOKE, "--run", folder, "--set", *changes]
    ended = subprocess.run(
        [sys.executable, "-c", FULL.format(limit=limit), *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert str(folder) in line
    assert name in line
    assert "File too large" in line
    assert not list(folder.glob("**/*.part"))
    code, _, err = train("--resume", folder)
    assert (code, err) == (0, "")
    assert policy_bytes(folder) == policy_bytes(finished)


def test_metrics_that_cannot_be_written_are_told(tmp_path):
    metrics = runs.Metrics(tmp_path, resume=False)
    metrics.add(1, {"train/loss": 1.5})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(FailedError, match=r"metrics\.jsonl: cannot be written: File too large"):
            metrics.add(2, {"train/loss": 1.25, "league/" + "x" * 100: 1.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    metrics.close()
    resumed = runs.Metrics(tmp_path, resume=True)  # what was cut short is gone
    resumed.add(2, {"train/loss": np.nan})
    resumed.close()
    assert read_metrics(tmp_path / "metrics.jsonl") == [
        {"step": 1, "segment": 0, "train/loss": 1.5},
        {"step": 2, "segment": 1, "train/loss": None},
    ]


# Deals and rewards ------------------------------------------------------------------------------


@pytest.mark.learning
def test_evaluation_plays_deals_that_training_never_does(finished, monkeypatch):
    """Both sets of deal seeds are computed, and compared with what is really played."""
    config = load_config(finished / "config.yaml")
    streams = [draw64(config.seed, i) for i in range(config.ppo.n_envs)]
    dealt = {draw64(stream, g) for stream in streams for g in range(2000)}
    held_out = {draw64(config.evaluation.seed, i) for i in range(2000)}
    assert not dealt & held_out
    games = load_file(finished / "checkpoints" / "step-000000001536" / "games.safetensors")
    records = games["games"].reshape(-1).view(GAME)
    assert records["stream"].tolist() == streams
    assert set(records["deal"].tolist()) <= dealt
    assert 1 < records["number"].max() < 2000
    played = []
    play_games = tournament.play_games

    def spy(agents_, ruleset, seeds, lineups, **options):
        played.extend(seeds.tolist())
        return play_games(agents_, ruleset, seeds, lineups, **options)

    monkeypatch.setattr(tournament, "play_games", spy)
    network = make_network(config.network.model_dump())
    win_shares(NetworkAgent("learner", network), "random", config, 10)
    assert set(played) == {draw64(config.evaluation.seed, i) for i in range(10)}


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_deals_of_large_runs_are_disjoint_from_those_of_evaluation(seed):
    """256 games side by side, 1,000 of each; 100,000 deals of evaluation."""
    config = PpoConfig(seed=seed)
    streams = stream_seeds(seed, config.ppo.n_envs)
    dealt = np.concatenate([stream_seeds(int(stream), 1000) for stream in streams])
    held_out = stream_seeds(config.evaluation.seed, 100_000)
    assert len(np.intersect1d(dealt, held_out)) == 0
    assert len(np.unique(dealt)) == len(dealt)


def test_rewards_and_shaping_change_nothing_in_an_evaluation():
    torch.manual_seed(0)
    learner = NetworkAgent("learner", make_network({"kind": "mlp", "hidden": [16]}))
    found = set()
    for reward in (
        {},
        {"terminal": "margin"},
        {"terminal": "rank", "shaping": 0.5},
        {"shaping": 10.0},
    ):
        config = PpoConfig.model_validate({"reward": reward, "ppo": {"gamma": 0.9}})
        shares = win_shares(learner, "greedy", config, 100)
        assert shares.shape == (100,)
        assert set(shares.tolist()) <= {0.0, 0.25, 0.5, 0.75, 1.0}  # wins of two seats, not rewards
        found.add(shares.tobytes())
    assert len(found) == 1


def test_rewards_and_shaping_do_reach_the_learner():
    """The control of the test above: they are in the environment of training."""

    def rewards(reward: dict, gamma: float = 1.0) -> bytes:
        config = PpoConfig.model_validate(
            {"reward": reward, "ppo": {"gamma": gamma, "n_envs": 8, "batch_size": 8}}
        )
        env = training.make_env(config)
        env.reset()
        return np.array(
            [env.step(env.action_masks().argmax(axis=1))[1] for _ in range(100)]
        ).tobytes()

    settings = [({}, 1.0), ({"terminal": "margin"}, 1.0), ({"shaping": 0.1}, 1.0)]
    settings.append(({"shaping": 0.1}, 0.9))
    assert len({rewards(*setting) for setting in settings}) == 4


@pytest.mark.parametrize("players", [2, 4])
def test_an_evaluation_plays_each_deal_from_every_seat(players, monkeypatch):
    calls = []
    play_games = tournament.play_games

    def spy(agents_, ruleset, seeds, lineups, **options):
        calls.append((seeds.tolist(), lineups.tolist()))
        return play_games(agents_, ruleset, seeds, lineups, **options)

    monkeypatch.setattr(tournament, "play_games", spy)
    config = PpoConfig.model_validate({"game": {"ruleset": "full", "players": players}})
    learner = NetworkAgent("learner", make_network({"kind": "mlp", "hidden": [8]}))
    win_shares(learner, "random", config, 6)
    [(seeds, lineups)] = calls
    deals = [draw64(config.evaluation.seed, i) for i in range(6)]
    assert seeds == [deal for deal in deals for _ in range(players)]
    for number, lineup in enumerate(lineups):
        assert sorted(lineup) == [0] + [1] * (players - 1)
        assert lineup.index(0) == number % players


def test_an_evaluation_of_random_against_itself_is_exactly_even():
    config = PpoConfig.model_validate({"game": {"ruleset": "basic", "players": 2}})
    assert win_shares(agents.make("random"), "random", config, 50).tolist() == [0.5] * 50


# Numbers that are no longer finite --------------------------------------------------------------


@pytest.mark.learning
def test_weights_that_are_not_finite_stop_a_run_with_the_cause(monkeypatch, tmp_path):
    """And the checkpoint before them is there to go on from."""
    script = load_script()
    folder = tmp_path / "run"
    script.start(folder, SMOKE, SMALLER)
    learn = training.MaskablePPO.train

    def spoil(model) -> None:
        learn(model)
        if model.num_timesteps == 3 * UPDATE:
            with torch.no_grad():
                model.policy.network.value[0].bias[3] = torch.nan

    with monkeypatch.context() as patch:
        patch.setattr(training.MaskablePPO, "train", spoil)
        with pytest.raises(TrainingError, match=r"value\.0\.bias.*finite") as caught:
            script.train(folder, resume=False)
    assert f"step {3 * UPDATE}" in str(caught.value)
    assert checkpoint_steps(folder) == [2 * UPDATE]
    assert not (folder / "policy").exists()
    script.train(folder, resume=True)
    assert (folder / "policy").exists()


@pytest.mark.learning
def test_a_run_whose_numbers_explode_says_so(tmp_path):
    """In a real run they become so within an update."""
    script = load_script()
    folder = tmp_path / "run"
    script.start(folder, SMOKE, [*SMALLER, "ppo.learning_rate=1e30"])
    with pytest.raises(TrainingError, match="finite"):
        script.train(folder, resume=False)


@pytest.mark.learning
def test_a_batch_of_one_left_over_spoils_nothing(train, tmp_path):
    """9 decisions in batches of 8: refused, or trained on."""
    folder = tmp_path / "run"
    changes = ["ppo={n_envs: 3, n_steps: 3, batch_size: 8}", "total_steps=36"]
    code, _, err = train("--config", SMOKE, "--set", *SMALLER, *changes, "--run", folder)
    if code == 2:
        assert "batch_size" in err
    else:
        assert code == 0
        network, _ = load_policy(folder / "policy")
        assert all(weights.isfinite().all() for weights in network.state_dict().values())


# It learns --------------------------------------------------------------------------------------

# a board of eight tiles: of 2,000 games against random, greedy wins 0.58 and mc:rollouts=300 0.82
BOARD = {"players": 2, "pawns": 3, "layout": [-8, 7] * 4, "action_tiles": False}
LEARNING = {
    "game": {"ruleset": BOARD},
    "total_steps": 20_000,
    "network": {"kind": "mlp", "hidden": [64]},
    "ppo": {
        "n_envs": 64,
        "n_steps": 16,
        "batch_size": 256,
        "learning_rate": 2e-3,
        "final_learning_rate": 2e-4,
    },
}


class Shuffled(ThatsLifeVecEnv):
    """The control: each game is rewarded with what the game that ended before it was worth."""

    waiting = 0.0

    def step_wait(self):
        observations, rewards, done, infos = super().step_wait()
        for index in np.flatnonzero(done):
            rewards[index], self.waiting = self.waiting, rewards[index]
        return observations, rewards, done, infos


class Unmasked(ThatsLifeVecEnv):
    """The other control: what is legal is not told, and an illegal action loses the game."""

    def __init__(self, num_envs, **options):
        super().__init__(num_envs, **options)
        options.pop("seed")
        self.play = SeatGames(num_envs, illegal="lose", **options)

    def env_method(self, method_name, *method_args, indices=None, **method_kwargs):
        masks = super().env_method(method_name, *method_args, indices=indices, **method_kwargs)
        return [np.ones_like(mask) for mask in masks]


def learn(env_class: type[ThatsLifeVecEnv], seed: int) -> tuple[float, float]:
    """Win shares against random before and after training against it."""
    config = PpoConfig.model_validate({**LEARNING, "seed": seed})
    env = env_class(
        config.ppo.n_envs, seed=seed, ruleset=config.game.settings()[0].ruleset, opponents="random"
    )
    model = make_model(config, env)
    learner = NetworkAgent("learner", model.policy.network)
    before = win_shares(learner, "random", config, 500).mean()
    model.learn(config.total_steps)
    return before, win_shares(learner, "random", config, 1000).mean()


@pytest.mark.learning
def test_training_learns_what_it_is_rewarded_for_and_nothing_else():
    """Untrained 0.46 to 0.51, trained 0.73 to 0.76, with a control 0.41 to 0.55."""
    before, after = learn(ThatsLifeVecEnv, seed=0)
    assert 0.4 < before < 0.58
    assert after > 0.68
    assert after - before > 0.15
    for control in (Shuffled, Unmasked):
        _, after = learn(control, seed=0)
        assert after < 0.62, control.__name__


@pytest.mark.learning
def test_self_play_with_all_opponents_learns(tmp_path):
    """The whole of a run's parts: the learner itself, snapshots and random as opponents."""
    config = PpoConfig.model_validate(
        {
            **LEARNING,
            "seed": 1,
            "opponents": {"self": 0.5, "snapshots": 0.3, "random": 0.2},
            "snapshots": {"every": 4000, "keep": 3},
            "evaluation": {"every": 10_000, "deals": 500, "opponents": ["random"]},
        }
    )
    env = training.make_env(config)
    model = make_model(config, env)
    league = League(config, model.policy.network, tmp_path / "snapshots")
    league.enter(env)
    learner = NetworkAgent("learner", model.policy.network)
    before = win_shares(learner, "random", config, 500).mean()
    model.learn(config.total_steps, Run(tmp_path, config, env, league))
    assert len(league.snapshots) == 3
    after = win_shares(learner, "random", config, 1000).mean()
    assert after > 0.62
    assert after - before > 0.1


# A checkpoint from somebody else -----------------------------------------------------------------


def rewrite(folder: Path, name: str, change: Callable) -> None:
    """Change the arrays of one file in every checkpoint."""
    for checkpoint in (folder / "checkpoints").glob("step-*"):
        arrays = load_file(checkpoint / f"{name}.safetensors")
        change(arrays)
        save_file(arrays, checkpoint / f"{name}.safetensors")


def no_such_players(arrays: dict) -> None:
    arrays["states"].reshape(-1).view(STATE)["players"] = 100


def no_such_finish(arrays: dict) -> None:
    arrays["states"].reshape(-1).view(STATE)["finish"] = 120


def no_such_seat(arrays: dict) -> None:
    arrays["seats"][:] = 7


def no_such_opponent(arrays: dict) -> None:
    arrays["lineups"][arrays["lineups"] >= 0] = 99


def fewer_games(arrays: dict) -> None:
    arrays["states"] = arrays["states"][:1]


@pytest.mark.learning
@pytest.mark.parametrize(
    "change", [no_such_players, no_such_finish, no_such_seat, no_such_opponent, fewer_games]
)
def test_games_that_compiled_code_must_not_get_are_refused(finished, train, tmp_path, change):
    folder = copy_of(finished, tmp_path / "run")
    rewrite(folder, "games", change)
    assert_refused(train("--resume", folder), "games")


@pytest.mark.learning
def test_an_array_that_is_missing_is_told(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    rewrite(folder, "games", lambda arrays: arrays.pop("seats"))
    assert_refused(train("--resume", folder), "seats")


def test_the_learning_rate_never_falls_below_its_end():
    """The last update may begin beyond the steps asked for."""
    config = PpoConfig.model_validate({"ppo": {"n_envs": 2, "n_steps": 4, "batch_size": 4}})
    model = make_model(config, training.make_env(config))
    for remaining in (0.0, -0.1, -3.0):
        assert model.lr_schedule(remaining) == config.ppo.final_learning_rate
    assert model.lr_schedule(1.0) == config.ppo.learning_rate


def edit_state(folder: Path, **changes) -> None:
    """Change `state.json` of every checkpoint."""
    for checkpoint in (folder / "checkpoints").glob("step-*"):
        state = json.loads((checkpoint / "state.json").read_text())
        (checkpoint / "state.json").write_text(json.dumps(state | changes))


@pytest.mark.learning
@pytest.mark.parametrize(
    "changes",
    [
        {"numpy": [2147483646, 0, 0.0]},  # NumPy itself would read outside its array
        {"numpy": [2**80, 0, 0.0]},
        {"numpy": [1]},
        {"num_timesteps": -5},
        {"num_timesteps": 10**30},
        {"num_timesteps": "x"},
        {"num_timesteps": 512.5},
        {"n_updates": None},
        {"league": {"roster": [5], "tallies": {}}},
        {"league": {"roster": [], "tallies": {}}},
        # nobody the config names
        {"league": {"roster": ["self", "snapshot-000000256", "human"], "tallies": {}}},
        {"league": {"roster": ["self", "snapshot-/../../else"], "tallies": {}}},
        {"league": {"roster": ["self"], "tallies": {"greedy": [1.0]}}},
        {"league": {"roster": ["self"], "tallies": {"self": [-1.0, 2.0]}}},
        {"league": {"roster": ["self"], "tallies": {"self": [0.0, 0.0]}}},
        {"league": {"roster": ["self"], "tallies": {"nobody": [1.0, 1.0]}}},
        {"league": ["self"]},
    ],
    ids=str,
)
def test_counters_and_generators_of_nonsense_are_refused(finished, train, tmp_path, changes):
    folder = copy_of(finished, tmp_path / "run")
    edit_state(folder, **changes)
    assert_refused(train("--resume", folder), "no checkpoint can be read")


@pytest.mark.learning
@pytest.mark.parametrize("name", ["0.exp_avg", "1.exp_avg_sq", "0.step"])
def test_an_optimizer_that_does_not_fit_is_refused(finished, train, tmp_path, name):
    folder = copy_of(finished, tmp_path / "run")
    rewrite(folder, "optimizer", lambda arrays: arrays.pop(name))
    assert_refused(train("--resume", folder), name)
    folder = copy_of(finished, tmp_path / "other")
    rewrite(folder, "optimizer", lambda arrays: arrays.update({name: arrays[name][:0]}))
    assert_refused(train("--resume", folder), name)


@pytest.mark.learning
def test_the_checkpoint_before_serves_though_a_snapshot_came_between(finished, train, tmp_path):
    """The newest does not fit; the one before has fewer opponents."""
    folder = copy_of(finished, tmp_path / "run")
    newest = folder / "checkpoints" / f"step-{checkpoint_steps(folder)[-1]:012d}"
    arrays = load_file(newest / "weights.safetensors")
    arrays["policy.0.bias"] = arrays["policy.0.bias"][:-1]
    save_file(arrays, newest / "weights.safetensors")
    code, _, err = train("--resume", folder)
    assert code == 0
    assert err.count("\n") == 1
    assert "policy.0.bias" in err
    assert policy_bytes(folder) == policy_bytes(finished)


@pytest.mark.learning
def test_a_checkpoint_of_other_rules_is_refused(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("players: 2", "players: 3"))
    assert_refused(train("--resume", folder), "games")


@pytest.mark.learning
def test_one_process_at_a_time_in_a_folder(finished, train, tmp_path):
    folder = copy_of(finished, tmp_path / "run")
    with locked(folder) as is_ours:
        assert is_ours
        assert_refused(train("--resume", folder), "another process")
    assert train("--resume", folder)[0] == 0


@pytest.mark.learning
@pytest.mark.parametrize("line", ["garbage", "{}", '{"segment": 0}', "[]"])
def test_metrics_of_nonsense_are_told(finished, train, tmp_path, line):
    folder = copy_of(finished, tmp_path / "run")
    (folder / "metrics.jsonl").write_text(line + "\n")
    assert_refused(train("--resume", folder), "metrics.jsonl: line 1")
