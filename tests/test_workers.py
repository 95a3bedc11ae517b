"""Environments in worker processes, and many processes on one empty cache of kernels."""

import functools
import subprocess
import sys

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from thatslife_env._jit import JIT
from thatslife_env.gymnasium_env import ThatsLifeEnv

WORKERS = 4


def makers():
    make = functools.partial(ThatsLifeEnv, "full", 4, opponents="random", illegal="raise")
    return [make] * WORKERS


@pytest.fixture(scope="module", params=["spawn", "forkserver", "dummy"])
def venv(request):
    made = (
        DummyVecEnv(makers())
        if request.param == "dummy"
        else SubprocVecEnv(makers(), start_method=request.param)
    )
    yield made
    made.close()


def first_legal(masks):
    return masks.argmax(axis=1)


def test_workers_play_what_single_environments_play(venv):
    """Each worker its own games; row by row those of one environment with that seed."""
    singles = [make() for make in makers()]
    venv.seed(100)
    observations = venv.reset()
    wanted = [single.reset(seed=100 + i)[0] for i, single in enumerate(singles)]
    ends = 0
    for _ in range(150):
        np.testing.assert_array_equal(observations, wanted)
        masks = get_action_masks(venv)
        assert masks.shape == (WORKERS, 16)
        assert masks.dtype == np.bool_
        np.testing.assert_array_equal(masks, [single.action_masks() for single in singles])
        observations, rewards, done, infos = venv.step(first_legal(masks))
        wanted = []
        for i, single in enumerate(singles):
            action = int(first_legal(masks)[i])
            observation, reward, terminated, truncated, _ = single.step(action)
            assert (reward, terminated, truncated) == (
                pytest.approx(rewards[i]),
                done[i],
                False,
            )
            if terminated:
                ends += 1
                assert infos[i]["TimeLimit.truncated"] is False
                np.testing.assert_array_equal(infos[i]["terminal_observation"], observation)
                observation = single.reset()[0]
            wanted.append(observation)
    assert ends > WORKERS
    assert len({single.position for single in singles}) == WORKERS


def test_masked_ppo_learns_on_workers(venv):
    """An illegal action would raise."""
    model = MaskablePPO("MlpPolicy", venv, n_steps=64, batch_size=64, n_epochs=1, device="cpu")
    model.learn(512)
    assert model.num_timesteps == 512


PLAY = """
import hashlib
from thatslife_env.vector import VectorGame
game = VectorGame(3, "full", seed=5, players=4)
for _ in range(60):
    game.step(game.observe()[1].argmax(axis=1))
print(hashlib.sha256(game.states.tobytes()).hexdigest())
"""


def test_many_processes_share_one_empty_cache(tmp_path, monkeypatch):
    """Cached kernels are written by several at a time: nobody crashes, all play the same."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    running = [
        subprocess.Popen([sys.executable, "-c", PLAY], stdout=subprocess.PIPE) for _ in range(3)
    ]
    digests = {process.communicate(timeout=500)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    again = subprocess.run([sys.executable, "-c", PLAY], capture_output=True, check=True)
    assert digests == {again.stdout}
    assert bool(list(tmp_path.rglob("*.nbc"))) == JIT
