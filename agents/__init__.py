"""Players of That's Life!, and what trains and compares them.

`make(spec, seed=0)` gives an `Agent`; the specs are listed in `agents.registry`.
"""

from agents.base import Agent, AgentError
from agents.registry import make

__all__ = ["Agent", "AgentError", "make"]
