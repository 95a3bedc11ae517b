"""The agent `onnx:PATH`: an exported policy, run by onnxruntime on one thread.

Needs the extra `export`.
"""

import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnxruntime
from google.protobuf.message import DecodeError
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from agents import vector_layout
from agents.base import Actions, Agent, AgentError, Keys, States
from agents.onnx_files import INPUT, MODEL, POLICY, VECTOR_HASH, only
from agents.vector_layout import write_vectors
from thatslife_env.board import N_ACTIONS
from thatslife_env.position import short

WANTED: Final = {
    INPUT: ("tensor(int32)", vector_layout.SIZE),
    POLICY: ("tensor(float)", N_ACTIONS),
}
"""What a model takes in and puts out: type, and length of a row."""

_REFUSALS = (
    DecodeError,
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NotImplemented,
    failures.RuntimeException,
)


class OnnxAgent(Agent):
    """Plays the action that an exported policy finds most likely.

    The model always gets one position at a time, so that what it says does not depend on a batch:
    matrix products of other shapes may differ in the last bits.

    Args:
        name: see `Agent`.
        seed: see `Agent`.
        path: the folder of a bundle, or its `policy.onnx`.

    Raises:
        AgentError: the file is missing, damaged, or no such model; the message says which and why.
    """

    def __init__(self, name: str, seed: int, path: str) -> None:
        super().__init__(name, seed)
        self._session = _load(path)
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


def _bind(session: Any, vector: vector_layout.Vectors, policy: npt.NDArray[np.float32]) -> Any:
    """Have a session read from and write to these arrays themselves: it saves a tenth."""
    binding = session.io_binding()
    binding.bind_cpu_input(INPUT, vector)
    binding.bind_output(POLICY, "cpu", 0, np.float32, policy.shape, policy.ctypes.data)
    return binding


def _load(path: str) -> Any:
    """A session that works out the policy of a model.

    Raises:
        AgentError: see `OnnxAgent`.
    """
    file = Path(path)
    try:
        if file.is_dir():
            file /= MODEL
        content = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise AgentError(f"no model at {path!r}: {error}") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is in the exception
    try:
        # as bytes: a file that refers to other files is refused
        session = onnxruntime.InferenceSession(
            only(content, POLICY), options, providers=["CPUExecutionProvider"]
        )
    except _REFUSALS as error:
        raise AgentError(f"{file}: damaged, or no ONNX model: {short(error)}") from None
    given = session.get_modelmeta().custom_metadata_map.get(VECTOR_HASH)
    if given != vector_layout.HASH:
        raise AgentError(
            f"{file}: made for vectors of layout {short(given)}; this version has "
            f"{vector_layout.HASH!r}"
        )
    tensors = {tensor.name: tensor for tensor in (*session.get_inputs(), *session.get_outputs())}
    found = {name: (tensor.type, tensor.shape[1:]) for name, tensor in tensors.items()}
    wanted = {name: (dtype, [size]) for name, (dtype, size) in WANTED.items()}
    if found != wanted:
        raise AgentError(f"{file}: takes in and puts out {found}, not {wanted}")
    return session
