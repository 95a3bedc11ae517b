"""Runs and tournaments on a Ray cluster: killed workers and drivers, and what comes out."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import ray
import torch
from conftest import decisions
from ray.cluster_utils import Cluster
from tutorials import WITH_RAY, execute, program, result

import agents
from agents.base import Agent
from agents.cli import UsageError
from agents.cluster import ClusterPlayer, cluster, n_cpus
from agents.config import load_config
from agents.policy import load_policy
from agents.rllib import ThatsLifeMultiAgentEnv
from agents.rllib_training import RllibTraining
from agents.runs import TrainingError, read_metrics
from agents.tournament import Tournament, games_of, play_tournament
from thatslife_env import IllegalMoveError, Ruleset
from thatslife_env.games import observe_players
from thatslife_env.observation import OBS_SIZE

torch.set_num_threads(1)

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "configs" / "rllib_universal.yaml"
STEPS = 512  # of an update
SMALL = [
    "game={ruleset: {layout: [3, -4, lucky, 5, -6, 2], players: 2, pawns: 2}}",
    "network={kind: mlp, hidden: [32]}",
    f"ppo={{n_envs: 16, n_steps: {STEPS // 16}, batch_size: 128, learning_rate: 0.003}}",
    "evaluation={every: 4096, deals: 20, final_games: 2000, opponents: [random]}",
    f"checkpoint_every={2 * STEPS}",
]
ENOUGH = 900  # seconds for anything, on a busy machine


@pytest.fixture(scope="module", autouse=True)
def place():
    """Ray's files in a folder of our own with a short name: sockets have no room for a long one."""
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", str(folder))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("RAY_worker_niceness", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield folder
    assert processes(folder) == [], "left behind"
    shutil.rmtree(folder)


def command(process: psutil.Process) -> str:
    """What it was called with, or calls itself; nothing if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def processes(folder: Path) -> list[psutil.Process]:
    """Those of the clusters whose files are in a folder."""
    return [each for each in psutil.process_iter() if str(folder) in command(each)]


def workers(folder: Path) -> list[psutil.Process]:
    """The processes of these clusters that play."""
    raylets = [each for each in processes(folder) if each.name() == "raylet"]
    children = [child for raylet in raylets for child in raylet.children()]
    return [child for child in children if "ray::MultiAgentEnvRunner" in command(child)]


def start(script: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, ROOT / script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> str:
    """What it printed; it must have ended well."""
    out, err = process.communicate(timeout=ENOUGH)
    assert process.returncode == 0, err
    return out


def refused(script: str, *arguments: object) -> str:
    """The one line in which a command is refused."""
    process = start(script, *arguments)
    out, err = process.communicate(timeout=ENOUGH)
    assert process.returncode == 2, err
    assert out == ""
    assert "Traceback" not in err
    return err.splitlines()[-1]


def wait_for(what, process: subprocess.Popen):
    """Wait until something is true, and return it; the process must not end before."""
    begin = time.monotonic()
    while not (found := what()):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() - begin < ENOUGH
        time.sleep(0.2)
    return found


def checkpoints(run: Path) -> list[int]:
    return sorted(int(path.name[5:]) for path in (run / "checkpoints").glob("step-*"))


def lines_of(run: Path) -> list[dict]:
    return read_metrics(run / "metrics.jsonl") if (run / "metrics.jsonl").exists() else []


@pytest.fixture(scope="module")
def two_nodes(place):
    """The address of a cluster of two nodes, each with one CPU."""
    options = {"num_cpus": 1, "object_store_memory": 200 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    cluster.add_node(num_cpus=1, object_store_memory=200 * 2**20)
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def run(place, two_nodes, tmp_path_factory) -> Path:
    """A run on the two nodes, of whose workers one was killed on the way."""
    folder = tmp_path_factory.mktemp("runs") / "killed_worker"
    training = start(
        "train.py",
        "--config",
        CONFIG,
        "--engine",
        "ray",
        "--ray-address",
        two_nodes,
        "--run",
        folder,
        "--set",
        *SMALL,
        f"total_steps={20 * STEPS}",
    )
    wait_for(lambda: len(lines_of(folder)) >= 2, training)
    both = workers(place)
    assert len(both) == 2
    both[0].kill()
    out = finish(training)
    assert f"policy in {folder / 'policy'}" in out
    return folder


class Dealer:
    """Has a game as RLlib's workers do, and dies when it is told to."""

    def __init__(self) -> None:
        self._env = ThatsLifeMultiAgentEnv()

    def deals(self, seed: int) -> tuple[int, list[dict]]:
        """Its process, and how games begin with a seed."""
        positions = []
        for given in (seed, None, None):
            self._env.reset(seed=given)
            positions.append(self._env.game.position.to_json())
        return os.getpid(), positions

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_in_the_place_of_a_dead_one_deals_other_games(two_nodes):
    """It gets the seeds of the one that died, whose games it would play again."""
    with cluster(two_nodes, 2):
        dealer = ray.remote(max_restarts=1, max_task_retries=-1)(Dealer).remote()
        first, before = ray.get(dealer.deals.remote(7))
        assert ray.get(dealer.deals.remote(7)) == (first, before)
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(dealer.die.options(max_task_retries=0).remote())
        second, after = ray.get(dealer.deals.remote(7))
        assert second != first
        assert all(one != other for one, other in zip(before, after, strict=True))
        assert ray.get(dealer.deals.remote(7)) == (second, after)


def test_a_run_goes_on_when_a_worker_is_killed(run):
    lines = lines_of(run)
    assert lines[-1]["step"] >= 20 * STEPS
    assert all(line["games/illegal_actions"] == 0 for line in lines)
    healthy = [line["cluster/workers"] for line in lines]
    assert min(healthy) == 1  # it was seen to be gone,
    assert healthy[-1] == 2  # and another took its place
    assert lines[-1]["cluster/restarts"] >= 1
    steps = np.diff([0, *(line["step"] for line in lines)])
    assert (steps >= STEPS).all()  # what it was to play, the other one did
    for line in lines[5:]:  # what one wins, the other loses
        assert line["games/return/player_0"] == pytest.approx(-line["games/return/player_1"])


def test_a_run_folder_is_that_of_any_run(run):
    names = {path.name for path in run.iterdir() if not path.name.startswith(".")}
    assert names == {
        "config.yaml",
        "checkpoints",
        "curve.png",
        "metrics.jsonl",
        "policy",
        "results.json",
        "results.png",
        "tensorboard",
    }
    assert load_config(run / "config.yaml").algorithm == "rllib"
    saved = sorted(path.name for path in (run / "policy").iterdir())
    assert saved == ["policy.json", "weights.safetensors"]
    about = json.loads((run / "policy" / "policy.json").read_text())["about"]
    assert about["algorithm"] == "rllib"
    assert about["steps"] == lines_of(run)[-1]["step"]
    learned = lines_of(run)[-1]
    for key in ("policy_gradient_loss", "value_loss", "entropy", "explained_variance"):
        assert np.isfinite(learned[f"train/{key}"])
    rates = [line["train/learning_rate"] for line in lines_of(run)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 5


def test_it_has_learned(run):
    """On this board most is luck; against `random`, which is what it began as, half is even."""
    (pair, _) = json.loads((run / "results.json").read_text())["pairs"]
    assert pair["b"] == "random"
    assert pair["ci95"][0] > 0.53
    entropies = [line["train/entropy"] for line in lines_of(run)]
    assert np.mean(entropies[-5:]) < 0.9 * np.mean(entropies[:5])  # of single batches it is noise


def test_the_policy_is_played_like_any_other(run, tmp_path):
    out = finish(
        start(
            "evaluate.py",
            "--agents",
            f"policy:{run}",
            "random",
            "--games",
            40,
            "--threads",
            1,
            "--out",
            tmp_path,
        )
    )
    assert f"policy:{run}" in out
    agent = agents.make(f"policy:{run}")
    states = decisions(60)
    chosen = agent.act_batch(states, np.random.default_rng(0))
    assert len(set(chosen.tolist())) > 2


def test_a_checkpoint_moves_to_a_process_that_has_no_workers(run):
    """Made with two, it is restored with none, and scores as the policy that was saved."""
    latest = sorted((run / "checkpoints").iterdir())[-1]
    code = (
        "import sys, numpy as np, torch\n"
        "from pathlib import Path\n"
        "from agents.config import load_config\n"
        "from agents.cluster import cluster\n"
        "from agents.rllib_training import LEARNER, algorithm_config\n"
        "config = algorithm_config(load_config(Path(sys.argv[1])))\n"
        "with cluster(None, 1):\n"
        "    algorithm = config.env_runners(num_env_runners=0).build_algo()\n"
        "    algorithm.restore_from_path(sys.argv[2])\n"
        "    seen = torch.from_numpy(np.load(sys.argv[3]))\n"
        "    with torch.no_grad():\n"
        "        scores = algorithm.get_module(LEARNER).network.forward_actor(seen)\n"
        "    np.save(sys.argv[3], scores.numpy())\n"
        "    algorithm.stop()\n"
    )
    states = decisions(50)
    seen = np.zeros((50, OBS_SIZE), np.float32)
    observe_players(states, seen, np.zeros((50, 16), np.bool_))
    network, _ = load_policy(run / "policy")
    with torch.no_grad():
        expected = network.forward_actor(torch.from_numpy(seen)).numpy()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", seen)
        done = subprocess.run(
            [sys.executable, "-c", code, run / "config.yaml", latest, f"{folder}/x.npy"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=ENOUGH,
        )
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.load(f"{folder}/x.npy"), expected, atol=1e-5)


def test_a_run_goes_on_after_its_driver_is_killed(place, tmp_path):
    """And the cluster that it had started goes with it."""
    folder = tmp_path / "killed_driver"
    total = 10 * STEPS
    training = start(
        "train.py",
        "--config",
        CONFIG,
        "--engine",
        "ray",
        "--run",
        folder,
        "--set",
        *SMALL,
        f"total_steps={total}",
    )
    wait_for(lambda: len(lines_of(folder)) >= 3 and checkpoints(folder), training)
    playing = workers(place)
    assert len(playing) == 2
    training.kill()
    training.communicate()
    latest = checkpoints(folder)[-1]
    gone = psutil.wait_procs(playing, timeout=30)[1]
    assert gone == []  # nobody of them is alive

    out = finish(start("train.py", "--resume", folder))
    assert "policy in" in out
    lines = lines_of(folder)
    segments = [line["segment"] for line in lines]
    assert segments == sorted(segments)
    assert set(segments) == {0, 1}
    resumed = [line for line in lines if line["segment"] == 1]
    steps = [line["step"] for line in resumed]
    assert latest + STEPS <= steps[0] < latest + 2 * STEPS
    assert steps[-1] >= total
    # the schedule and the optimiser's clock go on
    before = [line["train/learning_rate"] for line in lines if line["segment"] == 0]
    assert resumed[0]["train/learning_rate"] < before[0]
    assert checkpoints(folder)[-1] == steps[-1]
    assert all(line["games/illegal_actions"] == 0 for line in lines)


def test_sigterm_saves_and_ends(tmp_path):
    folder = tmp_path / "stopped"
    training = start(
        "train.py", "--config", CONFIG, "--engine", "ray", "--run", folder, "--set", *SMALL
    )
    wait_for(lambda: lines_of(folder), training)
    training.send_signal(signal.SIGTERM)
    out = finish(training)
    step = lines_of(folder)[-1]["step"]
    assert f"stopped at step {step}; go on by: train.py --resume {folder}" in out
    assert checkpoints(folder) == [step]


# What is refused ------------------------------------------------------------------------------


def test_engine_and_algorithm_go_together(tmp_path):
    said = refused("train.py", "--config", CONFIG, "--run", tmp_path / "run")
    assert "--engine ray" in said
    ppo = ROOT / "configs" / "smoke.yaml"
    said = refused("train.py", "--config", ppo, "--engine", "ray", "--run", tmp_path / "run")
    assert "rllib, not ppo" in said
    said = refused("train.py", "--config", CONFIG, "--ray-address", "x:1")
    assert "--engine ray" in said
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_does_not_answer_is_named(tmp_path):
    said = refused(
        "evaluate.py",
        "--agents",
        "random",
        "greedy",
        "--engine",
        "ray",
        "--ray-address",
        "127.0.0.1:9",
    )
    assert "127.0.0.1:9" in said
    address = ["--engine", "ray", "--ray-address", "127.0.0.1:9"]
    said = refused("train.py", "--config", CONFIG, *address, "--run", tmp_path / "run")
    assert "127.0.0.1:9" in said
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_that_lacks_its_weights_is_named(run, tmp_path):
    folder = tmp_path / "without"
    shutil.copytree(run, folder)
    latest = sorted((folder / "checkpoints").iterdir())[-1]
    shutil.rmtree(latest / "learner_group")
    said = refused("train.py", "--resume", folder)
    assert "learner_group" in said


def test_a_damaged_checkpoint_is_named(run, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(run, folder)
    latest = sorted((folder / "checkpoints").iterdir())[-1]
    for path in latest.rglob("*.pkl"):
        path.write_bytes(path.read_bytes()[:10])
    said = refused("train.py", "--resume", folder)
    assert latest.name in said
    assert "damaged" in said


def test_what_cannot_be_ends_the_run(tmp_path):
    config = load_config(CONFIG, ["network={kind: mlp, hidden: [8]}"])
    training = RllibTraining(tmp_path, config, resume=False)
    training._check({"illegal_actions": 0})
    with pytest.raises(TrainingError, match="2 games ended by an illegal action"):
        training._check({"illegal_actions": 2})
    with torch.no_grad():
        training._network.policy[0].weight[0, 0] = np.nan
    with pytest.raises(TrainingError, match=re.escape("'policy.0.weight'")):
        training._check({})


# Tournaments ------------------------------------------------------------------------------------


def results_of(tournament: Tournament) -> dict:
    """The results, but for the times."""
    results = tournament.to_json()
    for agent in results["agents"]:
        del agent["ms_per_decision"]
    return results


# the workers cannot import this file
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Mortal(Agent):
    """Plays like `greedy`; the first process but this one in which it is asked dies of it."""

    def __init__(self, mark: Path) -> None:
        super().__init__("mortal")
        self._mark, self._home = mark, os.getpid()
        self._like = agents.make("greedy")

    def choose(self, states, keys):
        if os.getpid() != self._home and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._like.choose(states, keys)


class Cheat(Agent):
    """Always plays the last action."""

    def choose(self, states, keys):
        return np.full(len(states), 15)


@pytest.mark.parametrize("players", [2, 3])
def test_a_tournament_has_the_same_results_on_a_cluster(two_nodes, players):
    specs = ["random", "greedy", "mc:rollouts=2", "policy:builtin/2p"]
    made = [agents.make(spec) for spec in specs]
    ruleset = Ruleset.preset("full", players=players)
    here = play_tournament(made, ruleset, "full", games=240, seed=5)
    n_played = []
    with cluster(two_nodes, 2):
        assert n_cpus() == 2
        there = play_tournament(
            made,
            ruleset,
            "full",
            games=240,
            seed=5,
            play=ClusterPlayer(made),
            progress=n_played.append,
        )
    assert results_of(there) == results_of(here)
    for one, other in zip(here.duels, there.duels, strict=True):
        for name in ("win_share", "score", "rank"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert sum(n_played) == games_of(4, players, 240)
    assert len(n_played) > 12  # in several parts
    assert min(there.ms_per_decision) > 0


def test_a_worker_that_dies_in_a_tournament_changes_nothing(two_nodes, tmp_path):
    made = [Mortal(tmp_path / "mark"), agents.make("random")]
    ruleset = Ruleset.preset("basic", players=2)
    here = play_tournament(made, ruleset, "basic", games=40)
    assert list(tmp_path.iterdir()) == []
    with cluster(two_nodes, 2):
        there = play_tournament(made, ruleset, "basic", games=40, play=ClusterPlayer(made))
    assert list(tmp_path.iterdir()) != []
    assert results_of(there) == results_of(here)


def test_what_an_agent_does_wrong_is_told_as_here(two_nodes):
    ruleset = Ruleset.preset("basic", players=2)
    made = [Cheat("cheat"), agents.make("random")]
    tied = agents.make("random")
    tied.lock = threading.Lock()
    with cluster(two_nodes, 2):
        with pytest.raises(IllegalMoveError, match="cheat"):
            play_tournament(made, ruleset, "basic", games=4, play=ClusterPlayer(made))
        with pytest.raises(UsageError, match=r"random cannot play on a Ray cluster"):
            ClusterPlayer([tied])


def test_evaluate_writes_the_same_results(tmp_path):
    """With a cluster of its own, which is gone afterwards."""
    command = ["--agents", "random", "td:builtin/universal", "--games", 24, "--players", 3]
    command += ["--threads", 2, "--out"]
    found = []
    for name, engine in (("here", []), ("there", ["--engine", "ray"])):
        finish(start("evaluate.py", *command, tmp_path / name, *engine))
        results = json.loads((tmp_path / name / "results.json").read_text())
        for agent in results["agents"]:
            del agent["ms_per_decision"]
        files = sorted(path.name for path in (tmp_path / name).iterdir())
        found.append((files, results))
    assert found[0] == found[1]


# The docs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_RAY)
def test_the_tutorial_runs(name):
    done = execute(sys.executable, "-c", program(name))
    assert done.returncode == 0, done.stderr
    assert 0 < result(done.stdout, "greedy") < result(done.stdout, "random") < 1
