"""A Ray cluster: joining one or starting one, and games between agents spread over it.

Needs the extra `ray`. Which process plays a game changes no result: a game is fixed by its ruleset,
its deal seed and who sits where. Agents travel to the workers as they are, so a worker needs this
package but no run folders.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when a cluster starts
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # the coming default, unasked for

import ray
from ray.exceptions import RayError, RayTaskError

from agents.base import Agent
from agents.cli import FailedError, UsageError
from agents.tournament import Part, Seeds, Task, games_per_deal, play_part, warm_up
from thatslife_env import Ruleset

OBJECT_STORE = 512 * 2**20  # bytes of shared memory for a cluster of our own
ANSWER = 10  # seconds in which a cluster must answer


@contextmanager
def cluster(address: str | None, n_workers: int) -> Iterator[None]:
    """Join a Ray cluster, or start one on this machine that lasts as long as the block.

    Args:
        address: of the cluster; None takes that of RAY_ADDRESS, without which one is started.
        n_workers: how many processes are to work at a time.

    Raises:
        UsageError: no cluster answers at the address, or it is of another version.
        FailedError: none could be started, or it broke down.
    """
    address = check_address(address)
    own: dict[str, Any] = {
        "address": "local",
        "num_cpus": n_workers,
        "num_gpus": 0,
        "include_dashboard": False,
        "object_store_memory": OBJECT_STORE,
    }
    joined = {"address": address}
    is_main = threading.current_thread() is threading.main_thread()
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**(joined if address else own), log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray has no error of its own for processes that start too slowly
        if address:
            raise _refusal(address, error) from error
        raise FailedError(f"no Ray cluster could be started: {error}") from error
    if is_main:
        signal.signal(signal.SIGTERM, on_sigterm)  # Ray has put its own in its place
    try:
        yield
    except RayError as error:
        raise FailedError(f"the Ray cluster failed: {error}") from error
    finally:
        ray.shutdown()


def check_address(address: str | None) -> str | None:
    """The address of the cluster to join, None for one of our own.

    Whether anybody is there is tried at once, as Ray itself would try for minutes.

    Raises:
        UsageError: nobody is.
    """
    address = address or os.environ.get("RAY_ADDRESS") or None
    host, _, port = (address or "").rpartition(":")
    if address and host and port.isdecimal() and "/" not in host:
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
        except (OSError, OverflowError) as error:  # OverflowError: no such port
            raise _refusal(address, error) from error
    return address


def _refusal(address: str, error: Exception) -> UsageError:
    return UsageError(f"--ray-address or RAY_ADDRESS: {address}: no cluster to join: {error}")


def n_cpus() -> int:
    """CPUs of the cluster that was joined."""
    return int(ray.cluster_resources().get("CPU", 0))


class ClusterPlayer:
    """Plays parts of a tournament as `play_parts` does, on the cluster that was joined.

    Args:
        agents: those that will play; they are sent once.

    Raises:
        UsageError: one cannot be sent to another process.
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        for agent in agents:
            try:
                ray.cloudpickle.dumps(agent)
            except TypeError as error:
                raise UsageError(
                    f"{agent.name} cannot play on a Ray cluster, it does not travel: {error}"
                ) from None
        self._sent = [ray.put(agent) for agent in agents]
        self._play = ray.remote(_play)

    def __call__(
        self,
        agents: Sequence[Agent],
        ruleset: Ruleset,
        seeds: Seeds,
        tasks: Sequence[Task],
        threads: int,
        progress: Callable[[int], None],
    ) -> Iterator[tuple[Task, Part]]:
        """Play parts; see `play_parts`.

        Args:
            agents: those that were sent.
            ruleset: see `play_parts`.
            seeds: see `play_parts`.
            tasks: see `play_parts`.
            threads: not used: each process of the cluster plays on one CPU.
            progress: called with the games of each part when it has ended.

        Yields:
            Each part when it has ended.
        """
        per_deal = games_per_deal(ruleset.players)
        waiting = {
            self._play.remote(
                self._sent[task.a], self._sent[task.b], ruleset, seeds[task.first : task.last]
            ): task
            for task in tasks
        }
        while waiting:
            (ended,), _ = ray.wait(list(waiting))
            task = waiting.pop(ended)
            try:
                part = ray.get(ended)
            except RayTaskError as error:
                raise error.cause from None  # what an agent raised, as if it had been here
            progress((task.last - task.first) * per_deal)
            yield task, part


def _play(one: Agent, other: Agent, ruleset: Ruleset, seeds: Seeds) -> Part:
    """A part, in a worker."""
    warm_up((one, other), ruleset)
    return play_part((one, other), ruleset, seeds)
