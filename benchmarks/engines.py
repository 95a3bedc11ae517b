"""The batch engine and its yardstick in plain C, playing the same random games.

Both deal from the same seeds, roll the same dice and choose by the same keys: the checksums of the
final points must agree, and with observation every bit of what they write.
"""

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.cli import UsageError
from thatslife_env import Ruleset, njit, rules
from thatslife_env.baselines import random_action
from thatslife_env.board import MAX_PLAYERS, N_ACTIONS, OVER, STATE
from thatslife_env.games import (
    GAME,
    begin,
    begin_all,
    fetch_ahead,
    key_of,
    proceed,
    ruleset_mix,
    stream_seeds,
)
from thatslife_env.observation import OBS_SIZE, SLICES, rows_of, write_mask, write_observation

N_GAMES = 64
SOURCE = Path(__file__).resolve().parent / "yardstick.c"


class Player:
    """What engine and yardstick share: the games' seeds, and where they observe.

    Args:
        ruleset: what is played.
        seed: of the games.
    """

    def __init__(self, ruleset: Ruleset, seed: int) -> None:
        self.streams = stream_seeds(seed, N_GAMES)
        self.ruleset = ruleset
        self.observations = np.zeros((N_GAMES, OBS_SIZE), np.float32)
        self.masks = np.zeros((N_GAMES, N_ACTIONS), np.bool_)

    def play(self, n_decisions: int) -> int:
        """Play on at random, `n_decisions` in each game; returns the checksum."""
        raise NotImplementedError

    def observe(self, n_decisions: int) -> int:
        """The same, writing observation and mask before each decision."""
        raise NotImplementedError


class Engine(Player):
    """The batch engine."""

    def __init__(self, ruleset: Ruleset, seed: int) -> None:
        super().__init__(ruleset, seed)
        _, rulesets, shares = ruleset_mix(ruleset)
        self._arrays = np.zeros(N_GAMES, STATE), np.zeros(N_GAMES, GAME), rulesets, shares
        states, games, _, _ = self._arrays
        games["stream"] = self.streams
        begin_all(states, games, np.arange(N_GAMES), rulesets, shares)

    def play(self, n_decisions: int) -> int:
        """See `Player`."""
        return int(_play(*self._arrays, n_decisions))

    def observe(self, n_decisions: int) -> int:
        """See `Player`."""
        rows = rows_of(self.observations), rows_of(self.masks)
        return int(_observe(*self._arrays, *rows, n_decisions))


class Yardstick(Player):
    """The loop in C.

    Raises:
        UsageError: there is no gcc.
    """

    def __init__(self, ruleset: Ruleset, seed: int) -> None:
        super().__init__(ruleset, seed)
        self._library = library()
        self._arrays = (
            np.zeros(N_GAMES * self._library.game_size(), np.uint8),
            self.streams,
            np.zeros(N_GAMES, np.uint64),
            ruleset.record.reshape(1),
        )

    def play(self, n_decisions: int) -> int:
        """See `Player`."""
        return int(self._library.random_decisions(*self._pointers(), *_counts(n_decisions)))

    def observe(self, n_decisions: int) -> int:
        """See `Player`."""
        targets = _pointer(self.observations), _pointer(self.masks)
        counts = _counts(n_decisions)
        return int(self._library.observed_decisions(*self._pointers(), *counts, *targets))

    def _pointers(self) -> list[ctypes.c_void_p]:
        return [_pointer(array) for array in self._arrays]


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def _counts(n_decisions: int) -> tuple[ctypes.c_int64, ctypes.c_int64]:
    return ctypes.c_int64(N_GAMES), ctypes.c_int64(n_decisions)


@cache
def library() -> ctypes.CDLL:
    """Build the yardstick.

    Raises:
        UsageError: there is no gcc.
    """
    places = [f"-DAT_{name.upper()}={place.start}" for name, place in SLICES.items()]
    options = ["-O3", "-march=native", "-shared", "-fPIC", f"-DOBS_SIZE={OBS_SIZE}", *places]
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "yardstick.so"
        try:
            subprocess.run(["gcc", *options, SOURCE, "-o", built], check=True)
        except FileNotFoundError:
            raise UsageError("gcc is needed to build the yardstick") from None
        loaded = ctypes.CDLL(str(built))
    for name in ("random_decisions", "observed_decisions", "game_size"):
        getattr(loaded, name).restype = ctypes.c_int64
    return loaded


@njit
def _play(states: Any, games: Any, rulesets: Any, shares: Any, n_decisions: int) -> int:
    total = 0
    for i in range(len(states)):
        state = states[i]
        game = games[i]
        for _ in range(n_decisions):
            proceed(state, game, random_action(state, key_of(game)))
            if state["phase"] == OVER:
                total += _checksum(state)
                begin(state, game, rulesets, shares)
    return total


@njit
def _observe(
    states: Any,
    games: Any,
    rulesets: Any,
    shares: Any,
    observations: Any,
    masks: Any,
    n_decisions: int,
) -> int:
    total = 0
    for i in range(len(states)):
        state = states[i]
        game = games[i]
        for _ in range(n_decisions):
            seat = np.int64(state["player"])
            write_observation(state, seat, observations[i]["all"])
            write_mask(state, seat, masks[i]["all"])
            proceed(state, game, random_action(state, key_of(game)))
            if state["phase"] == OVER:
                total += _checksum(state)
                begin(state, game, rulesets, shares)
    return total


@njit
def _checksum(state: Any) -> int:
    """Final points, weighted by seat."""
    total = 0
    for seat in range(MAX_PLAYERS):
        if seat < state["players"]:
            total += (seat + 1) * rules.points(state, seat)
    return total


@njit
def play_in_turn(states: Any, games: Any, rulesets: Any, shares: Any, n_rounds: int) -> None:
    """One random decision in every game, `n_rounds` times: each comes from memory each time."""
    for _ in range(n_rounds):
        for i in range(len(states)):
            fetch_ahead(states, games, i)
            state = states[i]
            game = games[i]
            proceed(state, game, random_action(state, key_of(game)))
            if state["phase"] == OVER:
                begin(state, game, rulesets, shares)
