"""How fast everything is: each budget of the design, measured in pairs on one pinned core.

    python benchmarks/run.py [--runs 9] [--only NAME ...]

What is compared runs in turn, A B A B, so that both meet the same machine; the table shows medians
and the range of the ratios, and `results.json` beside this file holds them. gcc builds the
yardstick on the spot.
"""

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported

import numpy as np
from engines import Engine, Player, Yardstick, play_in_turn

from agents.cli import Parser, run, whole_number
from thatslife_env import Position, Ruleset, njit, thatslife_v0
from thatslife_env.board import STATE
from thatslife_env.games import GAME, begin_all, ruleset_mix, stream_seeds
from thatslife_env.vector import VectorGame

HERE = Path(__file__).resolve().parent


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        name: what is measured.
        unit: of `ours` and `theirs`.
        ours: median.
        theirs: median of what it is compared with; None if with nothing.
        against: what that is.
        ratio: median of the pairs' ratios, or `ours` where there is nothing to compare with.
        lowest: of the ratios.
        highest: of the ratios.
        budget: such as `>= 0.8`, of `ratio`; empty if there is none.
    """

    name: str
    unit: str
    ours: float
    theirs: float | None
    against: str
    ratio: float
    lowest: float
    highest: float
    budget: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the budget is kept."""
        sign, _, bound = self.budget.partition(" ")
        return not sign or (
            self.ratio >= float(bound) if sign == ">=" else self.ratio <= float(bound)
        )


Timed = Callable[[], float]  # does something once; returns seconds


def clock(do: Callable[[], Any], timer: Callable[[], float] = time.thread_time) -> float:
    """Seconds that `do` takes, of this thread's processor time unless said otherwise."""
    start = timer()
    do()
    return timer() - start


def paired(
    name: str,
    unit: str,
    amount: float,
    ours: Timed,
    theirs: Timed,
    against: str,
    n_runs: int,
    budget: str = "",
) -> Row:
    """Time both in turn after a first run that does not count; rates are `amount` per second."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(n_runs)]
    ratios = [their / our for our, their in pairs]
    return Row(
        name,
        unit,
        amount / statistics.median(our for our, _ in pairs),
        amount / statistics.median(their for _, their in pairs),
        against,
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        budget,
    )


def alone(name: str, unit: str, measured: list[float], budget: str = "") -> Row:
    """Figures that are compared with nothing but their budget."""
    middle = statistics.median(measured)
    return Row(name, unit, middle, None, "", middle, min(measured), max(measured), budget)


# What is measured -----------------------------------------------------------------------------


def bare(n_runs: int) -> list[Row]:
    """Random decisions without observation, against C."""
    return [
        against_c("bare", preset, players, 20_000, n_runs, budget, lambda p, n: p.play(n))
        for preset, players, budget in (("basic", 2, ">= 0.8"), ("full", 4, ""))
    ]


def observed(n_runs: int) -> list[Row]:
    """The same with observation and mask written before each decision."""
    return [
        against_c("observed", preset, players, 4_000, n_runs, budget, lambda p, n: p.observe(n))
        for preset, players, budget in (("basic", 2, ">= 0.7"), ("full", 4, ""))
    ]


def against_c(
    what: str,
    preset: str,
    players: int,
    n_decisions: int,
    n_runs: int,
    budget: str,
    play: Callable[[Player, int], int],
) -> Row:
    """Engine and yardstick, which must come to the same points and write the same bits.

    Raises:
        RuntimeError: they do not.
    """
    ruleset = Ruleset.preset(preset, players=players)
    both = Engine(ruleset, 1), Yardstick(ruleset, 1)
    sums: list[int] = []

    def timed(player: Player) -> float:
        start = time.thread_time()
        sums.append(play(player, n_decisions))
        return time.thread_time() - start

    row = paired(
        f"{what}, {preset}, {players} players",
        "million decisions/s",
        len(both[0].streams) * n_decisions / 1e6,
        lambda: timed(both[0]),
        lambda: timed(both[1]),
        "C",
        n_runs,
        budget,
    )
    engine, yardstick = both
    if (
        sums[::2] != sums[1::2]
        or engine.observations.tobytes() != yardstick.observations.tobytes()
        or engine.masks.tobytes() != yardstick.masks.tobytes()
    ):
        raise RuntimeError(f"{preset}, {players} players: engine and yardstick differ")
    return row


def growth(n_runs: int) -> list[Row]:
    """Cost of a decision with many games, each coming from memory at each decision, and few."""
    few, many = 64, 262_144

    def games_of(number: int) -> Timed:
        _, rulesets, shares = ruleset_mix("basic")
        states, running = np.zeros(number, STATE), np.zeros(number, GAME)
        running["stream"] = stream_seeds(1, number)
        begin_all(states, running, np.arange(number), rulesets, shares)
        n_rounds = 2 * many // number
        return lambda: clock(lambda: play_in_turn(states, running, rulesets, shares, n_rounds))

    row = paired(
        f"{many} games at once",
        "million decisions/s",
        2 * many / 1e6,
        games_of(many),
        games_of(few),
        f"{few} games",
        n_runs,
    )
    row = row._replace(
        ratio=1 / row.ratio, lowest=1 / row.highest, highest=1 / row.lowest, budget="<= 1.5"
    )
    bytes_each = float(STATE.itemsize + GAME.itemsize)
    return [row, alone("memory of a game", "bytes", [bytes_each], "<= 512")]


def aec(n_runs: int) -> list[Row]:
    """`last()` and `step()` of the AEC environments, with the same picker of actions."""
    from pettingzoo.classic import connect_four_v3

    n_steps = 5_000

    def loop(env: Any) -> Timed:
        picker = random.Random(1)
        env.reset(seed=1)

        def steps() -> None:
            for _ in range(n_steps):
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.reset()
                    continue
                legal = observation["action_mask"].nonzero()[0]
                env.step(int(legal[int(picker.random() * len(legal))]))

        return lambda: clock(steps)

    theirs, against = loop(connect_four_v3.env()), "connect_four_v3.env()"
    rows = []
    for name, env, budget in (
        ("raw_env", thatslife_v0.raw_env(), ">= 5"),
        ("env", thatslife_v0.env(), ""),
    ):
        ours = loop(env)
        rows.append(
            paired(f"AEC, {name}", "steps/s", n_steps, ours, theirs, against, n_runs, budget)
        )
    return rows


def doors(n_runs: int) -> list[Row]:
    """`VectorGame`: observe and step, actions from a kernel, on one thread and on two."""
    number, n_rounds = 32_768, 24

    def loop(num_threads: int) -> Timed:
        play = VectorGame(number, "basic", seed=1, num_threads=num_threads)
        actions = np.zeros(number, np.int64)

        def rounds() -> None:
            for _ in range(n_rounds):
                _, mask, _ = play.observe()
                _first_legal(mask, actions)
                play.step(actions)

        return lambda: clock(rounds, time.perf_counter)

    everything = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # two threads need two cores
    try:
        row = paired(
            "VectorGame, 2 threads",
            "million steps/s",
            number * n_rounds / 1e6,
            loop(2),
            loop(1),
            "1 thread",
            n_runs,
            ">= 1.7",
        )
    finally:
        os.sched_setaffinity(0, everything)
    return [row]


@njit
def _first_legal(masks: Any, actions: Any) -> None:
    for i in range(len(actions)):
        action = 0
        while not masks[i, action]:
            action += 1
        actions[i] = action


def training(n_runs: int) -> list[Row]:
    """Frames per second of MaskablePPO on our games and on an environment that costs nothing."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecEnv

    from agents.sb3_env import ThatsLifeVecEnv

    torch.set_num_threads(1)
    n_envs, n_steps = 256, 64

    class Nothing(VecEnv):
        """Steps that are free: the same spaces, and the same arrays each time."""

        def __init__(self, like: VecEnv) -> None:
            super().__init__(like.num_envs, like.observation_space, like.action_space)
            self.observations = like.reset()
            self.masks = np.ones((n_envs, 16), np.bool_)

        def reset(self) -> Any:
            return self.observations

        def step_async(self, actions: Any) -> None:
            pass

        def step_wait(self) -> Any:
            zeros = np.zeros(n_envs, np.float32)
            return self.observations, zeros, zeros.astype(bool), [{} for _ in range(n_envs)]

        def has_attr(self, attr_name: str) -> bool:
            return attr_name == "action_masks"

        def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
            return self.masks

        def get_attr(self, attr_name: str, indices: Any = None) -> Any:
            return [None] * n_envs

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            raise AttributeError(attr_name)

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> Any:
            return [False] * n_envs

        def close(self) -> None:
            pass

    def learner(env: VecEnv) -> Timed:
        model = MaskablePPO(
            "MlpPolicy",
            env,
            n_steps=n_steps,
            batch_size=2048,
            n_epochs=4,
            seed=1,
            policy_kwargs={"net_arch": [256, 256]},
        )

        def learn() -> None:
            model.learn(n_envs * n_steps, reset_num_timesteps=False)

        return lambda: clock(learn)

    games = ThatsLifeVecEnv(n_envs, seed=1, ruleset="basic", opponents="greedy")
    return [
        paired(
            "MaskablePPO, 256x256, v greedy",
            "frames/s",
            n_envs * n_steps,
            learner(games),
            learner(Nothing(games)),
            "an environment that costs nothing",
            max(3, n_runs // 3),
            ">= 0.8",
        )
    ]


def search(n_runs: int) -> list[Row]:
    """A position cloned in compiled code, and a decision of mc:rollouts=300."""
    import agents

    states = Position.deal(Ruleset(), seed=1).state
    n_clones = 1_000_000
    _clone(states, 1)
    clones = [1e9 / n_clones * clock(lambda: _clone(states, n_clones)) for _ in range(n_runs)]

    player = agents.make("mc:rollouts=300")
    states = np.concatenate([_midgame(seed) for seed in range(100)])
    keys = np.arange(len(states), dtype=np.uint64)
    player.act_batch(states[:1], keys[:1])
    decisions = [
        1e3 / len(states) * clock(lambda: player.act_batch(states, keys)) for _ in range(n_runs)
    ]
    return [
        alone("a position cloned", "ns", clones, "<= 100"),
        alone("mc:rollouts=300, basic, 2 players", "ms a decision", decisions, "<= 3"),
    ]


def exported(n_runs: int) -> list[Row]:
    """A decision of exported models, one at a time, as `onnx:PATH` makes it."""
    import agents
    from agents.afterstate import load_value
    from agents.onnx_models import PolicyModel, ValueModel, to_onnx
    from agents.policy import load_policy
    from agents.saved import POLICY, VALUE, find

    states = np.concatenate([_midgame(seed) for seed in range(100)])
    keys = np.arange(len(states), dtype=np.uint64)
    names = ("builtin/2p", "builtin/universal")
    models: dict[str, PolicyModel | ValueModel] = {
        f"policy:{name}": PolicyModel(load_policy(find(POLICY, name))[0], with_value=True)
        for name in names
    }
    models |= {f"td:{name}": ValueModel(load_value(find(VALUE, name))[0]) for name in names}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            file = Path(folder) / "model.onnx"
            file.write_bytes(to_onnx(model))
            player = agents.make(f"onnx:{file}")
            player.choose(states, keys)
            decisions = [
                1e6 / len(states) * clock(partial(player.choose, states, keys))
                for _ in range(n_runs)
            ]
            title = f"onnx of {name}, basic, 2 players"
            budget = "<= 200" if isinstance(model, PolicyModel) else ""  # of a policy's move
            rows.append(alone(title, "µs a decision", decisions, budget))
    return rows


@njit
def _clone(states: Any, number: int) -> int:
    copy = np.empty(1, STATE)
    total = 0
    for _ in range(number):
        copy[0] = states[0]
        states[0]["die"] ^= 1  # so that each copy has something new
        total += copy[0]["die"]
    return total


def _midgame(seed: int) -> Any:
    """A position some way into a random game."""
    picker = random.Random(seed)
    position = Position.deal(Ruleset(), seed=seed)
    for _ in range(picker.randint(1, 80)):
        if position.phase == "roll":
            following = position.roll(picker.randint(1, 6))
        else:
            following = position.play(picker.choice(position.legal_actions()))
        if following.is_over:
            break
        position = following
    return (position.roll(3) if position.phase == "roll" else position).state


IMPORT = "import thatslife_env"
USE_ALL = """
import numpy, gymnasium, agents, thatslife_env
from agents.arena import play_games
from thatslife_env import Ruleset, Position, thatslife_v0
from thatslife_env.games import stream_seeds
from thatslife_env.vector import VectorGame
for shaping in (0.0, 0.1):
    games = VectorGame(4, "full", shaping=shaping)
    games.step(games.observe()[1].argmax(axis=1))
    env = thatslife_v0.raw_env(shaping=shaping)
    env.reset(seed=1)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    for env in (
        gymnasium.make("thatslife_env:ThatsLife-v0", shaping=shaping),
        gymnasium.make_vec("thatslife_env:ThatsLife-v0", 2, "vector_entry_point", shaping=shaping),
    ):
        env.reset(seed=1)
        masks = env.unwrapped.action_masks()
        env.step(masks.argmax(axis=-1))
players = [agents.make(spec) for spec in ("greedy", "mc:rollouts=2")]
play_games(players, Ruleset(), stream_seeds(1, 2), numpy.array([[0, 1], [1, 0]]))
"""
START = """
from thatslife_env.vector import VectorGame
games = VectorGame(64)
games.step(games.observe()[1].argmax(axis=1))
"""


def start(n_runs: int) -> list[Row]:
    """Import, the first compile of everything, and the start of a process whose kernels exist."""

    def wall(code: str, folder: str) -> float:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", code]
        return clock(
            lambda: subprocess.run(command, env=environment, cwd=HERE.parent, check=True),
            time.perf_counter,
        )

    with tempfile.TemporaryDirectory() as folder:
        first = wall(USE_ALL, folder)
        cached = [wall(START, folder) for _ in range(n_runs)]
        imports = [wall(IMPORT, folder) for _ in range(n_runs)]
    return [
        alone("import thatslife_env", "s", imports, "<= 1"),
        alone("first compile of everything", "s", [first], "<= 30"),
        alone("VectorGame's first step, kernels cached", "s", cached, "<= 2"),
    ]


MEASURES: dict[str, Callable[[int], list[Row]]] = {
    function.__name__: function
    for function in (bare, observed, growth, aec, training, search, exported, start, doors)
}


def main() -> None:
    """Measure, print a table and write `results.json` beside this file."""
    parser = Parser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("--runs", type=whole_number(1, 1000), default=9)
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"medians of {arguments.runs} paired runs on one core; load {os.getloadavg()[0]:.2f}")
    print(f"{'what':<42} {'ours':>11} {'theirs':>11} {'ratio':>7} {'range':>14} {'budget':>8}")
    rows = []
    for name in arguments.only:
        for row in MEASURES[name](arguments.runs):
            rows.append(row._asdict() | {"is_met": row.is_met, "load": os.getloadavg()[0]})
            theirs = "" if row.theirs is None else f"{row.theirs:,.4g}"
            budget = f"{row.budget:>8}{'' if row.is_met else '  NOT MET'}"
            print(
                f"{row.name:<42} {row.ours:>11,.4g} {theirs:>11} {row.ratio:7.3g} "
                f"{row.lowest:6.3g} ..{row.highest:6.3g} {budget}  {row.unit}"
                f"{f', against {row.against}' if row.against else ''}",
                flush=True,
            )
    content = {
        "runs": arguments.runs,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rows": rows,
    }
    (HERE / "results.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(main, "benchmarks/run.py")
