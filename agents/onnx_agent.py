"""The agent `onnx:PATH`: an exported policy or value, run by onnxruntime on one thread.

Needs the extra `export`.
"""

import hashlib
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnxruntime
from google.protobuf.message import DecodeError
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from agents import vector_layout
from agents.afterstate import MAX_MOVES, write_moves
from agents.base import Actions, Agent, AgentError, Keys, States
from agents.onnx_files import (
    INPUT,
    MAX_PLAYERS_KEY,
    MODEL,
    POLICY,
    VALUE_MODEL,
    VECTOR_HASH,
    WIN_SHARES,
    only,
    outputs_of,
)
from agents.vector_layout import write_vectors
from thatslife_env.board import MAX_PLAYERS, MIN_PLAYERS, N_ACTIONS, OVER, ROLL, STATE
from thatslife_env.position import short

WIDTHS: Final = {POLICY: N_ACTIONS, WIN_SHARES: MAX_PLAYERS}
"""What a model may put out to be played by, and the length of a row of it."""

_REFUSALS = (
    DecodeError,
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NotImplemented,
    failures.RuntimeException,
)


class Loaded(NamedTuple):
    """A model, ready.

    Attributes:
        session: of onnxruntime; works out nothing but the output.
        output: its name, one of `WIDTHS`.
        digest: SHA-256 of its file, in hexadecimal digits.
        max_players: for how many players the model is, at most.
    """

    session: Any
    output: str
    digest: str
    max_players: int


def onnx_agent(name: str, seed: int, path: str) -> Agent:
    """The agent of a model.

    Args:
        name: see `Agent`.
        seed: see `Agent`.
        path: the folder of a bundle, of which `policy.onnx` is played if there is one; or a model.

    Raises:
        AgentError: the file is missing, damaged, or no such model; the message says which and why.
    """
    loaded = _load(path)
    if loaded.output == POLICY:
        return OnnxPolicyAgent(name, seed, loaded)
    return OnnxValueAgent(name, seed, loaded)


class OnnxPolicyAgent(Agent):
    """Plays the action that an exported policy finds most likely.

    The model always gets one position at a time, so that what it says does not depend on a batch:
    matrix products of other shapes may differ in the last bits.

    Args:
        name: see `Agent`.
        seed: see `Agent`.
        loaded: its model.
    """

    def __init__(self, name: str, seed: int, loaded: Loaded) -> None:
        super().__init__(name, seed)
        self.digest = loaded.digest
        self._session = loaded.session
        self._desk = threading.local()  # each thread has its own arrays

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        return self.policy(states).argmax(axis=1)

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`; it always plays the likeliest action."""
        return np.eye(N_ACTIONS)[self.policy(states).argmax(axis=1)]

    def policy(self, states: States) -> npt.NDArray[np.float32]:
        """What the model puts out.

        Args:
            states: STATE[M], not to be changed; where nothing is to decide the row is 0.

        Returns:
            float32[M, 16]: how likely each action is.
        """
        desk = self._desk
        if not hasattr(desk, "binding"):
            desk.vector = np.zeros((1, vector_layout.SIZE), np.int32)
            desk.policy = np.zeros((1, N_ACTIONS), np.float32)
            desk.binding = _bind(self._session, desk.vector, desk.policy)
        out = np.empty((len(states), N_ACTIONS), np.float32)
        for index in range(len(states)):
            write_vectors(states[index : index + 1], desk.vector)
            self._session.run_with_iobinding(desk.binding)
            out[index] = desk.policy[0]
        return out


class OnnxValueAgent(Agent):
    """Plays the move whose afterstate has the best value by an exported value, as `td` does.

    The model gets the afterstates of one decision at a time, for the same reason as in
    `OnnxPolicyAgent`.

    Args:
        name: see `Agent`.
        seed: see `Agent`.
        loaded: its model.
    """

    def __init__(self, name: str, seed: int, loaded: Loaded) -> None:
        super().__init__(name, seed)
        self.digest = loaded.digest
        self._session = loaded.session
        self._max_players = loaded.max_players

    def choose(self, states: States, keys: Keys) -> Actions:
        """See `Agent.choose`."""
        return self._judge(states)[1]

    def probabilities(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.probabilities`."""
        return np.eye(N_ACTIONS)[self._judge(states)[1]]

    def values(self, states: States) -> npt.NDArray[np.float64]:
        """See `Agent.values`; of a position with something to decide, that of its best move."""
        return self._judge(states)[0]

    def _judge(self, states: States) -> tuple[npt.NDArray[np.float64], Actions]:
        """Values, float64[M, 6], and best actions, int64[M], -1 where nothing is to decide."""
        most = int(states["players"].max(initial=0))
        if most > self._max_players:
            raise AgentError(
                f"{self.name}: it was trained for up to {self._max_players} players, not {most}"
            )
        values = np.empty((len(states), MAX_PLAYERS), np.float64)
        actions = np.full(len(states), -1, np.int64)
        afters = np.empty(MAX_MOVES, STATE)
        moves = np.empty((MAX_MOVES, 2), np.int64)
        vectors = np.empty((MAX_MOVES, vector_layout.SIZE), np.int32)
        for index, state in enumerate(states):
            if state["phase"] in (ROLL, OVER):
                write_vectors(states[index : index + 1], vectors)
                values[index] = self._shares(vectors[:1])[0]
                continue
            n_moves = write_moves(state, afters, moves)
            write_vectors(afters[:n_moves], vectors)
            shares = self._shares(vectors[:n_moves])
            best = int(shares[:, state["player"]].argmax())
            values[index] = shares[best]
            actions[index] = moves[best, 0]
        return values, actions

    def _shares(self, vectors: vector_layout.Vectors) -> npt.NDArray[np.float64]:
        """Win shares, float64[M, 6], with sum 1.

        By that one near 1 becomes as exact as the others' near 0 are: float32 has no more than 1
        for it, and would make equal what is not.
        """
        (found,) = self._session.run([WIN_SHARES], {INPUT: vectors})
        shares: npt.NDArray[np.float64] = found.astype(np.float64)
        return shares / shares.sum(axis=1, keepdims=True)


def _bind(session: Any, vector: vector_layout.Vectors, policy: npt.NDArray[np.float32]) -> Any:
    """Have a session read from and write to these arrays themselves: it saves a tenth."""
    binding = session.io_binding()
    binding.bind_cpu_input(INPUT, vector)
    binding.bind_output(POLICY, "cpu", 0, np.float32, policy.shape, policy.ctypes.data)
    return binding


def _load(path: str) -> Loaded:
    """The model that a path means.

    Raises:
        AgentError: see `onnx_agent`.
    """
    file = Path(path)
    try:
        if file.is_dir():
            file /= MODEL if (file / MODEL).exists() else VALUE_MODEL
        content = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise AgentError(f"no model at {path!r}: {error}") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is in the exception
    try:
        outputs = outputs_of(content)
        output = next((name for name in WIDTHS if name in outputs), None)
        if output is None:
            raise AgentError(
                f"{file}: damaged, or no ONNX model of ours: it puts out "
                f"{', '.join(outputs) or 'nothing'}, not {' or '.join(WIDTHS)}"
            )
        # as bytes: a file that refers to other files is refused
        session = onnxruntime.InferenceSession(
            only(content, output), options, providers=["CPUExecutionProvider"]
        )
    except _REFUSALS as error:
        raise AgentError(f"{file}: damaged, or no ONNX model: {short(error)}") from None
    metadata = session.get_modelmeta().custom_metadata_map
    given = metadata.get(VECTOR_HASH)
    if given != vector_layout.HASH:
        raise AgentError(
            f"{file}: made for vectors of layout {short(given)}; this version has "
            f"{vector_layout.HASH!r}"
        )
    tensors = {tensor.name: tensor for tensor in (*session.get_inputs(), *session.get_outputs())}
    found = {name: (tensor.type, tensor.shape[1:]) for name, tensor in tensors.items()}
    wanted = {
        INPUT: ("tensor(int32)", [vector_layout.SIZE]),
        output: ("tensor(float)", [WIDTHS[output]]),
    }
    if found != wanted:
        raise AgentError(f"{file}: takes in and puts out {found}, not {wanted}")
    counts = {str(players): players for players in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
    most = metadata.get(MAX_PLAYERS_KEY)
    if most not in counts:
        raise AgentError(f"{file}: made for at most {short(most)} players, not 2 to 6")
    return Loaded(session, output, hashlib.sha256(content).hexdigest(), counts[most])
