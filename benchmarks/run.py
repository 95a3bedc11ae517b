"""Random decisions per second: the batch engine against plain C, in pairs, on one pinned core.

    python benchmarks/run.py [--runs 9]

Both play the same deals with the same dice and choices; their checksums of final points must agree.
gcc builds the yardstick on the spot.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from agents.cli import Parser, UsageError, run, whole_number
from thatslife_env import Ruleset, njit, rules
from thatslife_env.baselines import random_action
from thatslife_env.board import OVER, STATE
from thatslife_env.games import GAME, begin, begin_all, key_of, proceed, ruleset_mix, stream_seeds

HERE = Path(__file__).resolve().parent
SETTINGS = (("basic", 2), ("full", 4))
N_GAMES = 64
N_DECISIONS = 20_000  # of each game in a run


@njit
def random_decisions(states: Any, games: Any, rulesets: Any, shares: Any, n_decisions: int) -> int:
    """Play on in every game at random; returns a checksum of the final points, weighted by seat."""
    total = 0
    for i in range(len(states)):
        state = states[i]
        game = games[i]
        for _ in range(n_decisions):
            proceed(state, game, random_action(state, key_of(game)))
            if state["phase"] == OVER:
                for seat in range(state["players"]):
                    total += (seat + 1) * rules.points(state, np.int64(seat))
                begin(state, game, rulesets, shares)
    return total


class Yardstick:
    """The loop in C.

    Args:
        library: the built yardstick.
        ruleset: what is played.
        seed: of the games, as for the engine.
    """

    def __init__(self, library: ctypes.CDLL, ruleset: Ruleset, seed: int) -> None:
        library.random_decisions.restype = library.game_size.restype = ctypes.c_int64
        self._library = library
        self._arrays = (
            np.zeros(N_GAMES * library.game_size(), np.uint8),
            stream_seeds(seed, N_GAMES),
            np.zeros(N_GAMES, np.uint64),
            ruleset.record.reshape(1),
        )

    def play(self, n_decisions: int) -> int:
        """Play on; returns the checksum."""
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in self._arrays]
        counts = ctypes.c_int64(N_GAMES), ctypes.c_int64(n_decisions)
        return int(self._library.random_decisions(*pointers, *counts))


class Engine:
    """The batch engine.

    Args:
        ruleset: what is played.
        seed: of the games.
    """

    def __init__(self, ruleset: Ruleset, seed: int) -> None:
        _, rulesets, shares = ruleset_mix(ruleset)
        self._arrays = np.zeros(N_GAMES, STATE), np.zeros(N_GAMES, GAME), rulesets, shares
        states, games, _, _ = self._arrays
        games["stream"] = stream_seeds(seed, N_GAMES)
        begin_all(states, games, np.arange(N_GAMES), rulesets, shares)

    def play(self, n_decisions: int) -> int:
        """Play on; returns the checksum."""
        return int(random_decisions(*self._arrays, n_decisions))


def build(folder: str) -> ctypes.CDLL:
    """Compile the yardstick.

    Raises:
        UsageError: there is no gcc.
    """
    target = Path(folder) / "yardstick.so"
    command = [
        "gcc",
        "-O3",
        "-march=native",
        "-shared",
        "-fPIC",
        HERE / "yardstick.c",
        "-o",
        target,
    ]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise UsageError("gcc is needed to build the yardstick") from None
    return ctypes.CDLL(str(target))


def seconds(player: Engine | Yardstick) -> tuple[float, int]:
    """Processor time of one run, and its checksum."""
    start = time.thread_time()
    checksum = player.play(N_DECISIONS)
    return time.thread_time() - start, checksum


def compare(library: ctypes.CDLL, preset: str, players: int, n_runs: int) -> dict[str, Any]:
    """Time both in turn.

    Raises:
        RuntimeError: they played different games.
    """
    ruleset = Ruleset.preset(preset, players=players)
    engine, yardstick = Engine(ruleset, 1), Yardstick(library, ruleset, 1)
    pairs = []
    for number in range(n_runs + 1):  # the first, in which the engine compiles, does not count
        (ours, checksum), (theirs, other) = seconds(engine), seconds(yardstick)
        if checksum != other:
            raise RuntimeError(f"{preset}, {players} players: the checksums differ")
        if number:
            pairs.append((ours, theirs))
    decisions = N_GAMES * N_DECISIONS / 1e6
    ratios = [theirs / ours for ours, theirs in pairs]
    return {
        "ruleset": preset,
        "players": players,
        "runs": n_runs,
        "engine_million_per_second": decisions / statistics.median(ours for ours, _ in pairs),
        "c_million_per_second": decisions / statistics.median(theirs for _, theirs in pairs),
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
    }


def main() -> None:
    """Run all settings, print a table and write `results.json` beside this file."""
    parser = Parser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("--runs", type=whole_number(1, 1000), default=9)
    n_runs = parser.parse_args().runs
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"random decisions, million/s, medians of {n_runs} paired runs; load {load:.2f}")
    print(f"{'setting':<12} {'engine':>8} {'C':>8} {'ratio':>7}  range")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        for preset, players in SETTINGS:
            row = compare(library, preset, players, n_runs)
            results.append(row)
            low, high = row["ratio_range"]
            print(
                f"{preset + f' {players}p':<12} {row['engine_million_per_second']:8.1f} "
                f"{row['c_million_per_second']:8.1f} {row['ratio']:7.2f}  {low:.2f} .. {high:.2f}"
            )
    content = {"load": load, "python": sys.version.split()[0], "results": results}
    (HERE / "results.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(main, "benchmarks/run.py")
