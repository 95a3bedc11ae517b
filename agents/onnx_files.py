"""Names and parts of exported models, as files. Needs the extra `export`, but no torch."""

from typing import Any, Final

import onnx

MODEL, VALUE_MODEL = "policy.onnx", "value.onnx"
INPUT, POLICY, VALUE, WIN_SHARES = "position", "policy", "value", "win_shares"

# Keys of a model's metadata: hash of the vector's layout, most players that it can judge
VECTOR_HASH, MAX_PLAYERS_KEY = "vector_hash", "max_players"

MEANINGS: Final[dict[str, str]] = {
    INPUT: "positions as vectors, in any phase",
    POLICY: "probability of each action; 0 where it is not legal, all 0 where nothing is to decide",
    VALUE: "expected win share, 0 to 1, of the seat `player`",
    WIN_SHARES: "expected win share, 0 to 1, of every seat; 0 for seats that there are not",
}

_DTYPES = {onnx.TensorProto.INT32: "int32", onnx.TensorProto.FLOAT: "float32"}


def describe(content: bytes) -> dict[str, list[dict[str, Any]]]:
    """The inputs and outputs of an ONNX file, for the manifest."""
    graph = onnx.load_from_string(content).graph
    return {
        kind: [
            {
                "name": value.name,
                "dtype": _DTYPES[value.type.tensor_type.elem_type],
                "shape": [
                    axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim
                ],
                "meaning": MEANINGS[value.name],
            }
            for value in values
        ]
        for kind, values in (("inputs", graph.input), ("outputs", graph.output))
    }


def outputs_of(content: bytes) -> list[str]:
    """Names of the outputs of an ONNX file."""
    return [output.name for output in onnx.load_from_string(content).graph.output]


def tidy(proto: onnx.ModelProto, metadata: dict[str, str]) -> bytes:
    """The content of a file that holds a model and what its readers need.

    Dropped is where each node came from in our sources, and the shapes in between.
    """
    graph = proto.graph
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output, graph, proto):
        del part.metadata_props[:]
        part.doc_string = ""
    del graph.value_info[:]
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(proto)
    return proto.SerializeToString(deterministic=True)


def only(content: bytes, output: str) -> bytes:
    """An ONNX file without what only its other outputs need."""
    proto = onnx.load_from_string(content)
    graph = proto.graph
    needed, nodes = {output}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            nodes.append(node)
            needed.update(node.input)
    for values, kept in (
        (graph.node, nodes[::-1]),
        (graph.output, [value for value in graph.output if value.name == output]),
        (graph.initializer, [value for value in graph.initializer if value.name in needed]),
    ):
        copies = [type(value).FromString(value.SerializeToString()) for value in kept]
        del values[:]
        values.extend(copies)
    return proto.SerializeToString()
