"""A run that is killed again and again: `python killer.py FOLDER ALGORITHM KILLS UNTIL`.

It trains up to step UNTIL. Then each attempt is a fork of this process, so nothing but the run
itself is begun anew: it resumes, saves after every update, and gets SIGKILL at a moment that is
drawn beforehand. Last it is resumed for one more update, if there were kills. Prints the steps of
the latest checkpoints, and the last one.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)


def main(folder: Path, kind: str, n_kills: int, first: int) -> None:
    from agents.config import load_config

    config = load_config(folder / "config.yaml")
    if kind == "td":
        from agents.td import TdTraining as Training
    else:
        from agents.training import PpoTraining as Training

    def attempt(until: int | None) -> None:
        """In the child: go on with the run, for ever or up to a step."""
        training = Training(folder, config, resume=True)

        def progress(n_steps: int) -> None:
            if until is not None and training.step >= until:
                training.stop()

        training.learn(progress)

    def fork(until: int | None) -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                attempt(until)
                code = 0
            finally:
                os._exit(code)
        return child

    def go_on(until: int) -> float:
        """Train up to a step and save; returns the seconds that it took."""
        begin = time.monotonic()
        _, status = os.waitpid(fork(until), 0)
        assert status == 0
        return time.monotonic() - begin

    with tempfile.TemporaryDirectory() as elsewhere:
        Training(Path(elsewhere), config, resume=False)  # whatever is imported, once for all forks
    rng = random.Random(1)
    go_on(first)
    steps = [latest(folder)]
    if n_kills:
        usual = go_on(steps[0] + 1)  # to begin, for an update, and to save
        steps = [latest(folder)]
    for _ in range(n_kills):
        child = fork(None)
        time.sleep(rng.uniform(0.3, 2) * usual)
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended by itself"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        steps.append(latest(folder))
    if n_kills:
        go_on(steps[-1] + 1)
    print(json.dumps({"steps": steps, "last": latest(folder)}))


def latest(folder: Path) -> int:
    """The step of the latest checkpoint; -1 if there is none."""
    names = sorted(path.name for path in (folder / "checkpoints").glob("step-*"))
    return int(names[-1].removeprefix("step-")) if names else -1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
