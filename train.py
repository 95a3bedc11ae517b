"""Train a masked PPO agent by self-play and against others.

python train.py --config configs/ppo_2p.yaml [--set section.key=value ...] [--run runs/NAME]
python train.py --resume runs/NAME
"""

import itertools
import os
import signal
import time
from pathlib import Path
from types import FrameType

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; `threads` sets its own

from agents.cli import Parser, UsageError, progress_bar, run
from agents.extras import require
from agents.files import locked, write_json, write_text


def main() -> None:
    """Read the arguments and train."""
    parser = Parser(prog="train.py", description=__doc__)
    parser.add_argument("--config", type=Path, help="a YAML file; configs/ has some")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="SECTION.KEY=VALUE"
    )
    parser.add_argument("--run", type=Path, help="folder of the run; runs/NAME of the config")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run")
    arguments = parser.parse_args()
    if (arguments.config is None) == (arguments.resume is None):
        raise UsageError("give either --config or --resume")
    if arguments.resume and (arguments.set or arguments.run):
        raise UsageError("--resume goes on with the run's own config: no --set, no --run")
    require(
        "torch",
        "stable_baselines3",
        "sb3_contrib",
        "safetensors",
        "pydantic",
        "yaml",
        extra="train",
    )
    folder = arguments.resume or arguments.run or free_folder(arguments.config.stem)
    if not arguments.resume:
        start(folder, arguments.config, arguments.set)
    elif not (folder / "config.yaml").is_file():
        raise UsageError(f"{folder}: no run to go on with: it has no config.yaml")
    with locked(folder) as is_ours:
        if not is_ours:
            raise UsageError(f"{folder}: another process is training there")
        train(folder, resume=bool(arguments.resume))


def free_folder(name: str) -> Path:
    """`runs/NAME`, or the first of `runs/NAME-2`, ... that does not exist."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(folder for folder in (Path("runs") / name for name in names) if not folder.exists())


def start(folder: Path, config_file: Path, changes: list[str]) -> None:
    """Check the config and make the run's folder with the config in full."""
    from agents.config import load_config, to_yaml

    config = load_config(config_file, changes)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(not path.name.startswith(".") for path in folder.iterdir()):
            raise UsageError(f"{folder}: is not empty; go on with it by --resume, or name another")
        write_text(folder / "config.yaml", to_yaml(config))
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None


def train(folder: Path, resume: bool) -> None:
    """Train in a run's folder until its steps are done, or a signal asks to stop."""
    import torch
    from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat

    from agents import make
    from agents.config import load_config
    from agents.policy import save_policy
    from agents.tournament import play_tournament, plot, table
    from agents.training import (
        JsonLines,
        Opponents,
        Run,
        curve_table,
        last_segment,
        make_env,
        make_model,
        read_metrics,
    )

    config = load_config(folder / "config.yaml")
    torch.set_num_threads(config.threads)
    begin = time.monotonic()

    env = make_env(config)
    model = make_model(config, env)
    opponents = Opponents(config, model.policy.network, folder / "snapshots")
    segment = 0
    training = Run(folder, config, env, opponents)
    if not (resume and training.checkpoints.load(model, env, opponents)):
        opponents.enter(env)
    if resume:
        segment = last_segment(folder / "metrics.jsonl") + 1
    model.set_logger(
        Logger(
            str(folder),
            [
                JsonLines(folder / "metrics.jsonl", segment),
                TensorBoardOutputFormat(str(folder / "tensorboard")),
            ],
        )
    )

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        training.stop_asked = True
        signal.signal(number, signal.SIG_DFL)  # the second time ends at once

    handlers = {
        number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)
    }
    with progress_bar(str(folder), config.total_steps) as progress:
        progress(model.num_timesteps)
        training.progress = progress
        training.learn(model)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    minutes = (time.monotonic() - begin) / 60
    if training.stopped_at is not None:
        print(f"stopped at step {training.stopped_at}; go on by: train.py --resume {folder}")
        return

    about = {
        "algorithm": config.algorithm,
        "ruleset": config.game.made().to_dict(),
        "steps": model.num_timesteps,
        "seed": config.seed,
        "reward": config.reward.terminal,
        "shaping": config.reward.shaping,
        "gamma": config.ppo.gamma,
    }
    save_policy(folder / "policy", model.policy.network, config.network.model_dump(), about)
    print(f"{model.num_timesteps} steps in {minutes:.1f} minutes; policy in {folder / 'policy'}")

    print(f"\n{curve_table(read_metrics(folder / 'metrics.jsonl'), config)}\n")

    settings = config.evaluation
    ruleset = config.game.made()
    final = play_tournament(
        [make(spec) for spec in (f"policy:{folder}", *settings.opponents)],
        ruleset,
        config.game.name,
        games=settings.final_games,
        seed=settings.seed,
    )
    results = final.to_json()
    write_json(folder / "results.json", results)
    plot(results, folder / "results.png")
    print(table(results))
    print(f"learning curve in {folder / 'curve.png'}, TensorBoard in {folder / 'tensorboard'}")


if __name__ == "__main__":
    run(main, "train.py")
