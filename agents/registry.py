"""From a spec, the text by which an agent is named everywhere, to the agent.

Specs are::

    random | greedy | human | mc:rollouts=300 | mc:playouts=2000 | policy:PATH | td:PATH |
    expectimax:depth=2,value=[td:builtin/2p] | mcts:simulations=400 | solved:BOARD | onnx:PATH

Options are `key=value`, separated by commas; a value that is itself a spec stands in brackets. A
PATH is a run folder, the folder of a policy or value, or `builtin/NAME`; of `onnx`, an exported
bundle.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agents.base import Agent, AgentError
from agents.boards import SolvedAgent
from agents.expectimax import Expectimax
from agents.extras import require
from agents.mcts import TreeSearch
from agents.simple import Baseline, Human, MonteCarlo


@dataclass(frozen=True)
class Kind:
    """One kind of agent.

    Attributes:
        usage: how its spec is written.
        meaning: who it is.
        build: called with name, seed, and the options, or the path as `path`.
        options: name of each option to what reads its text.
        takes_path: whether a PATH follows the name instead.
    """

    usage: str
    meaning: str
    build: Callable[..., Agent]
    options: dict[str, Callable[[str], Any]] = field(default_factory=dict)
    takes_path: bool = False


def _count(text: str) -> int:
    """A number of games: 1 to a thousand million.

    Raises:
        ValueError: it is not.
    """
    number = int(text) if text.isdecimal() and len(text) < 20 else 0
    if not 1 <= number <= 10**9:
        raise ValueError(text)
    return number


def _seconds(text: str) -> float:
    """A time: above 0, an hour at most.

    Raises:
        ValueError: it is not.
    """
    number = float(text)
    if not 0 < number <= 3600:
        raise ValueError(text)
    return number


def _truth(text: str) -> bool:
    """`true` or `false`.

    Raises:
        ValueError: it is neither.
    """
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _agent(text: str) -> Agent:
    """The agent of a nested spec, which may stand in brackets.

    Raises:
        AgentError: it cannot be made.
    """
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return make(text)


def _build_policy(name: str, seed: int, path: str) -> Agent:
    require("torch", "safetensors", "pydantic", "yaml", extra="train")
    from agents.policy import PolicyAgent

    return PolicyAgent(name, seed, path)


def _build_td(name: str, seed: int, path: str) -> Agent:
    require("safetensors", extra="train")
    from agents.afterstate import TdAgent

    return TdAgent(name, seed, path)


def _build_onnx(name: str, seed: int, path: str) -> Agent:
    require("onnx", "onnxruntime", extra="export")
    from agents.onnx_agent import onnx_agent

    return onnx_agent(name, seed, path)


KINDS: dict[str, Kind] = {
    "random": Kind("random", "every legal action is as likely", Baseline),
    "greedy": Kind("greedy", "the best points and lucky tiles right after its action", Baseline),
    "mc": Kind(
        "mc:rollouts=N | mc:playouts=N",
        "flat Monte Carlo: N random games for each action, or in all",
        MonteCarlo,
        {"rollouts": _count, "playouts": _count},
    ),
    "expectimax": Kind(
        "expectimax:depth=D[,value=SPEC]",
        "the best action looked D moves ahead, exact over the die; the leaves valued by SPEC",
        Expectimax,
        {"depth": _count, "value": _agent},
    ),
    "mcts": Kind(
        "mcts:simulations=N[,policy=SPEC,value=SPEC,reuse=true] | mcts:seconds=T[,...]",
        "Monte Carlo tree search, N simulations or T seconds a decision; rollouts, or the priors "
        "and values of others",
        TreeSearch,
        {
            "simulations": _count,
            "seconds": _seconds,
            "policy": _agent,
            "value": _agent,
            "reuse": _truth,
        },
    ),
    "policy": Kind(
        "policy:PATH",
        "a trained policy: a run folder, a policy folder, or `builtin/NAME`",
        _build_policy,
        takes_path=True,
    ),
    "td": Kind(
        "td:PATH",
        "the best move by a trained value of positions: a run folder, a value folder, or "
        "`builtin/NAME`",
        _build_td,
        takes_path=True,
    ),
    "solved": Kind(
        "solved:BOARD",
        "exact play on a board for two that is solved: its name, or a JSON file of a ruleset",
        SolvedAgent,
        takes_path=True,
    ),
    "onnx": Kind(
        "onnx:PATH",
        "an exported player: the folder of a bundle, or its `policy.onnx` or `value.onnx`",
        _build_onnx,
        takes_path=True,
    ),
    "human": Kind("human", "a person at the terminal", Human),
}


def make(spec: str, seed: int = 0) -> Agent:
    """Make the agent that a spec names.

    Args:
        spec: see the module.
        seed: 0 .. 2^64 - 1, of the randomness of `Agent.act`.

    Raises:
        AgentError: an unknown name or option, a bad value, or a policy that cannot be loaded; the
            message lists what there is.
    """
    if not isinstance(spec, str):
        raise AgentError(f"a spec is a text, not {spec!r}")
    given, spec = spec, spec.strip()
    name, colon, rest = spec.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        known = ", ".join(kind.usage for kind in KINDS.values())
        raise AgentError(f"unknown agent {given!r}; there are: {known}")
    if kind.takes_path:
        if not rest:
            raise AgentError(f"{spec!r}: a path is missing; usage: {kind.usage}")
        return kind.build(spec, seed, path=rest)
    if colon and not rest:
        raise AgentError(f"{spec!r}: nothing follows the colon; usage: {kind.usage}")
    options: dict[str, Any] = {}
    for part in split_options(rest, spec):
        key, _, text = part.partition("=")
        if key not in kind.options:
            known = ", ".join(kind.options) or "none"
            raise AgentError(f"{spec!r}: unknown option {key!r}; there are: {known}")
        if key in options:
            raise AgentError(f"{spec!r}: option {key!r} is given twice")
        try:
            options[key] = kind.options[key](text)
        except AgentError as error:  # of a spec inside this one
            raise AgentError(f"{spec!r}: {key}: {error}") from None
        except ValueError:
            raise AgentError(
                f"{spec!r}: bad value {text!r} of {key!r}; usage: {kind.usage}"
            ) from None
    return kind.build(spec, seed, **options)


def split_options(text: str, spec: str) -> list[str]:
    """Split at the commas that stand in no brackets.

    Raises:
        AgentError: the brackets do not match.
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if depth != 0:
        raise AgentError(f"{spec!r}: the brackets do not match")
    return parts if text else []
