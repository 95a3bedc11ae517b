"""Train an agent: masked PPO, here or on a Ray cluster, or TD(lambda) on values of afterstates.

python train.py --config configs/ppo_2p.yaml [--set section.key=value ...] [--run runs/NAME]
python train.py --config configs/rllib_universal.yaml --engine ray
python train.py --resume runs/NAME
"""

import itertools
import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; `threads` sets its own

from agents.cli import Parser, UsageError, add_engine, check_engine, progress_bar, run
from agents.extras import require
from agents.files import locked, write_json, write_text

if TYPE_CHECKING:
    from agents.config import Config
    from agents.rllib_training import RllibTraining
    from agents.td import TdTraining
    from agents.training import PpoTraining


def main() -> None:
    """Read the arguments and train."""
    parser = Parser(prog="train.py", description=__doc__)
    parser.add_argument("--config", type=Path, help="a YAML file; configs/ has some")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="SECTION.KEY=VALUE"
    )
    parser.add_argument("--run", type=Path, help="folder of the run; runs/NAME of the config")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="go on with a run")
    add_engine(parser)
    arguments = parser.parse_args()
    if (arguments.config is None) == (arguments.resume is None):
        raise UsageError("give either --config or --resume")
    if arguments.resume and (arguments.set or arguments.run):
        raise UsageError("--resume goes on with the run's own config: no --set, no --run")
    require("torch", "safetensors", "pydantic", "yaml", "tensorboard", "scipy", extra="train")
    check_engine(arguments)
    if arguments.engine == "ray":
        from agents.cluster import check_address

        check_address(arguments.ray_address)
    folder = arguments.resume or arguments.run or free_folder(arguments.config.stem)
    if not arguments.resume:
        start(folder, arguments.config, arguments.set, arguments.engine)
    elif not (folder / "config.yaml").is_file():
        raise UsageError(f"{folder}: no run to go on with: it has no config.yaml")
    with locked(folder) as is_ours:
        if not is_ours:
            raise UsageError(f"{folder}: another process is training there")
        train(folder, bool(arguments.resume), arguments.engine, arguments.ray_address)


def free_folder(name: str) -> Path:
    """`runs/NAME`, or the first of `runs/NAME-2`, ... that does not exist."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(folder for folder in (Path("runs") / name for name in names) if not folder.exists())


def start(folder: Path, config_file: Path, changes: list[str], engine: str | None = None) -> None:
    """Check the config and make the run's folder with the config in full."""
    from agents.config import RllibConfig, load_config, starting_network, to_yaml

    config = load_config(config_file, changes)
    if config.algorithm == "rllib" and engine != "ray":
        raise UsageError(f"{config_file}: algorithm rllib needs --engine ray")
    check_fit(config_file, config, engine)
    if not isinstance(config, RllibConfig):
        starting_network(config)  # refused now, if at all
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(not path.name.startswith(".") for path in folder.iterdir()):
            raise UsageError(f"{folder}: is not empty; go on with it by --resume, or name another")
        write_text(folder / "config.yaml", to_yaml(config))
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None


def check_fit(config_file: Path, config: "Config", engine: str | None) -> None:
    """Refuse an engine on which the algorithm does not run."""
    if engine == "ray" and config.algorithm != "rllib":
        raise UsageError(
            f"{config_file}: --engine ray trains algorithm rllib, not {config.algorithm}"
        )


def train(
    folder: Path, resume: bool, engine: str | None = None, ray_address: str | None = None
) -> None:
    """Train in a run's folder until its steps are done, or a signal asks to stop."""
    import torch

    from agents.config import load_config
    from agents.runs import curve_table, read_metrics

    config = load_config(folder / "config.yaml")
    check_fit(folder / "config.yaml", config, engine)
    torch.set_num_threads(config.threads)
    begin = time.monotonic()
    training = make_training(folder, config, resume, ray_address)

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        training.stop()
        signal.signal(number, signal.SIG_DFL)  # the second time ends at once

    handlers = {
        number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)
    }
    with progress_bar(str(folder), config.total_steps) as progress:
        progress(training.step)
        training.learn(progress)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    minutes = (time.monotonic() - begin) / 60
    if training.stopped_at is not None:
        print(f"stopped at step {training.stopped_at}; go on by: train.py --resume {folder}")
        return

    spec, saved = training.save()
    print(f"{training.step} steps in {minutes:.1f} minutes; {saved.name} in {saved}")
    print(f"\n{curve_table(read_metrics(folder / 'metrics.jsonl'), config)}\n")
    compare(spec, config, folder)
    print(f"learning curve in {folder / 'curve.png'}, TensorBoard in {folder / 'tensorboard'}")


def make_training(
    folder: Path, config: "Config", resume: bool, ray_address: str | None
) -> "PpoTraining | TdTraining | RllibTraining":
    """The run of the algorithm that the config names."""
    if config.algorithm == "rllib":
        require("ray", extra="ray")
        from agents.rllib_training import RllibTraining

        return RllibTraining(folder, config, resume, ray_address)
    if config.algorithm == "td":
        from agents.td import TdTraining

        return TdTraining(folder, config, resume)
    require("stable_baselines3", "sb3_contrib", extra="train")
    from agents.training import PpoTraining

    return PpoTraining(folder, config, resume)


def compare(spec: str, config: "Config", folder: Path) -> None:
    """Play what was learned against the opponents of the config: `results.json`, `results.png`.

    Several rulesets get a subfolder each.
    """
    from agents import make
    from agents.report import plot, table
    from agents.tournament import games_of, play_tournament

    settings = config.game.settings()
    games = config.evaluation.final_games
    for setting in settings:
        players = setting.ruleset.players
        agents = [make(spec) for spec in (spec, *config.evaluation.opponents)]
        total = games_of(len(agents), players, games)
        with progress_bar(f"{setting.name}, {players} players", total) as progress:
            final = play_tournament(
                agents,
                setting.ruleset,
                setting.name,
                games=games,
                seed=config.evaluation.seed,
                progress=progress,
            )
        results = final.to_json()
        out = folder if len(settings) == 1 else folder / "results" / f"{setting.name}-{players}p"
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / "results.json", results)
        plot(results, out / "results.png")
        print(table(results))


if __name__ == "__main__":
    run(main, "train.py")
