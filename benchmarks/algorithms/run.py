"""The benchmark of algorithms: the same tasks, budgets, seeds and judgement for all.

    python benchmarks/algorithms/run.py [--task basic-2p-v0 ...] [--algorithm td ...] [--seeds 3]
        [--budget N] [--agent SPEC ...] [--out DIR]

What is done already is not done again. DIR gets the runs, `results.json`, `results.md` and
`curves.png`. Protocol: docs/benchmark.md. Needs the extra `train`.
"""

import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported

import agents
from agents.base import AgentError
from agents.cli import Parser, UsageError, output_folder, run, whole_number
from agents.extras import require
from agents.files import locked, replacing, write_json, write_text
from agents.simple import Human
from thatslife_env import Position

RESULTS, TABLE, CURVES = "results.json", "results.md", "curves.png"

Json = dict[str, Any]


def main() -> None:
    """Read the arguments, train and judge what is missing, and write what came of it."""
    require("torch", "stable_baselines3", "sb3_contrib", "matplotlib", "scipy", extra="train")
    from learners import ALGORITHMS
    from results import markdown, plot
    from tasks import TASKS
    from torch import set_num_threads

    parser = Parser(prog="benchmarks/algorithms/run.py", description=__doc__)
    parser.add_argument("--task", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--algorithm", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--seeds", type=whole_number(1, 100), default=3, help="0 up to, without, N")
    parser.add_argument("--budget", type=whole_number(1), help="decisions; left out: the task's")
    parser.add_argument(
        "--agent", nargs="+", default=[], metavar="SPEC", help="judged with the rest"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/algorithms"), metavar="DIR")
    arguments = parser.parse_args()
    tasks = [TASKS[name] for name in dict.fromkeys(arguments.task)]
    set_num_threads(1)
    for spec in arguments.agent:
        check_agent(spec, tasks)
    out = arguments.out
    output_folder("--out", out, (RESULTS, TABLE, CURVES))
    with locked(out) as is_ours:
        if not is_ours:
            raise UsageError(f"--out: {out}: another process is at work there")
        found: dict[str, Json] = {}
        for task in tasks:
            found[task.name] = run_task(
                task,
                list(dict.fromkeys(arguments.algorithm)),
                arguments.seeds,
                arguments.budget or task.budget,
                arguments.agent,
                out / task.name,
            )
            done = tasks[: len(found)]
            tables = [markdown(task, found[task.name]) for task in done]
            print(f"\n{tables[-1]}", flush=True)
            write_json(out / RESULTS, found)
            write_text(out / TABLE, "\n".join(tables))
            plot(done, list(found.values()), out / CURVES)
    say(f"{out / TABLE}, {out / CURVES}")


def check_agent(spec: str, tasks: list[Any]) -> None:
    """Refuse an agent that cannot be judged before anything is trained.

    Raises:
        AgentError: it cannot be made.
        UsageError: it cannot play a task, or is a person.
    """
    agent = agents.make(spec)
    if isinstance(agent, Human):
        raise UsageError(f"--agent: a person, {spec!r}, cannot be asked thousands of times")
    for task in tasks:
        for setting in task.settings():
            try:
                agent.act(Position.deal(setting.ruleset, seed=0).roll(1))
            except AgentError as error:
                raise UsageError(f"--agent: {task.name}: {error}") from None


def run_task(
    task: Any, algorithms: list[str], n_seeds: int, budget: int, specs: list[str], out: Path
) -> Json:
    """Train all algorithms on a task with each seed, then judge the finished agents.

    Args:
        task: a `tasks.Task`.
        algorithms: their names.
        n_seeds: of the runs of each.
        budget: decisions of each run.
        specs: agents that are judged with the rest.
        out: folder of the task.

    Returns:
        `runs`, by algorithm; and `tournament` or, by label, `losses`.
    """
    from judging import losses, rate
    from tasks import ANCHORS

    runs: dict[str, list[Json]] = {algorithm: [] for algorithm in algorithms}
    for seed in range(n_seeds):  # seed by seed, so that a part of it already compares
        for algorithm in algorithms:
            runs[algorithm].append(train_once(task, algorithm, seed, budget, out))
    contestants = {spec: agents.make(spec) for spec in ANCHORS}
    folders = {spec: out / "anchors" / spec.partition(":")[0] for spec in ANCHORS}
    for done in (done for algorithm in algorithms for done in runs[algorithm]):
        folders[done["label"]] = folder = out / done["label"]
        contestants[done["label"]] = agents.make(f"{done['kind']}:{folder}")
    contestants |= {spec: agents.make(spec) for spec in specs}
    for label, agent in contestants.items():
        agent.name = label
    found: Json = {"runs": runs}
    if not task.boards:
        return found | {
            "tournament": rate(
                task, contestants, folders, lambda label: say(f"{task.name} games of {label}")
            )
        }
    found["losses"] = {}
    for label, agent in contestants.items():
        say(f"{task.name} losses of {label}")
        found["losses"][label] = losses(task, agent, folders.get(label))
    return found


def train_once(task: Any, algorithm: str, seed: int, budget: int, out: Path) -> Json:
    """One run, if it is not there yet; a run that was cut short begins anew.

    Returns:
        What it was asked for, and what came of it: `kind` and `label` of the agent, `steps`,
        `seconds` of processor time, and `curve`: at each evaluation the step, the score, and the
        ends of its interval over deals.

    Raises:
        UsageError: the run that is there was asked for something else, or is damaged.
    """
    from judging import forget, read_json
    from learners import load, train

    config = load(algorithm)
    label = f"{algorithm}/seed-{seed}"
    folder = out / label
    asked = {
        "task": task.name,
        "algorithm": algorithm,
        "label": label,
        "seed": seed,
        "budget": budget,
        "config": config.model_dump(),
    }
    if folder.exists():
        file = folder / "run.json"
        done: Json = read_json(file)
        given = {"kind", "steps", "seconds", "curve"}
        if not isinstance(done, dict) or done.keys() != asked.keys() | given:
            raise UsageError(f"{file}: not a run of this benchmark")
        for key, value in asked.items():
            if done[key] != value:
                raise UsageError(f"{folder}: a run with another {key}; name another --out")
        return done
    curve: list[tuple[float, ...]] = []

    def report(step: int, learner: agents.base.Agent) -> None:
        curve.append((step, *task.score(learner)))
        say(f"{task.name} {label}: {step:,} of {budget:,}, {task.measure} {curve[-1][1]:.3f}")

    forget(label, list(out.glob("*/*")))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing(folder) as part:
        part.mkdir()
        kind, steps, seconds = train(config, task, seed, budget, part, report)
        done = {**asked, "kind": kind, "steps": steps, "seconds": seconds, "curve": curve}
        write_json(part / "run.json", done)
    say(f"{task.name} {label}: {steps:,} decisions in {seconds:.0f} s of processor time")
    return done


def say(text: str) -> None:
    """Print a line with the time of day."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


if __name__ == "__main__":
    run(main, "benchmarks/algorithms/run.py")
