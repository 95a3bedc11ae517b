"""Who a learner plays against: itself, frozen copies of it, and any other agents.

Needs the extra `train`. Opponents are drawn when a game begins and stay to its end. What the copies
weigh together is the config's; among the latest of them each weighs the more, the harder it is for
the learner: `(1 - score) ** focus` (prioritised fictitious self-play: Vinyals et al. 2019).
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

import agents
from agents import saved
from agents.base import Agent
from agents.config import SELF, SNAPSHOTS, PpoConfig
from agents.networks import Network, NetworkAgent, make_network
from agents.runs import SCORE, Arrays, read_arrays, require_fit
from agents.sb3_env import ThatsLifeVecEnv
from thatslife_env.baselines import BASELINES
from thatslife_env.games import FIRST_OUTSIDE

SNAPSHOT: Final = re.compile(r"snapshot-\d+")
MEMORY: Final = 200  # a game counts 1/e of a new one after so many others against the same
EASIEST: Final = 0.01  # however easy a copy has become, it counts as hard as this
PRIOR: Final = 5.0  # wins on either side that a new member begins with


@dataclass
class Tally:
    """How games against a member went, the older ones fading.

    Attributes:
        own: win shares of the learner, summed.
        theirs: those of the member, the mean of its seats, summed.
    """

    own: float = PRIOR
    theirs: float = PRIOR

    def add(self, own: float, theirs: float) -> None:
        """Count a game."""
        self.own += own - self.own / MEMORY
        self.theirs += theirs - self.theirs / MEMORY

    @property
    def score(self) -> float:
        """What the learner won of all that the two did: 0.5 if they are alike."""
        return self.own / (self.own + self.theirs)


class League:
    """The learner's opponents, by the weights of the config, and how games against them went.

    Each outside opponent (the learner itself, a snapshot, a searching agent) has a name, and a
    number in the order in which they came; the number stays with it in the games and in
    checkpoints.

    Args:
        config: of the run.
        learner: the network that learns.
        folder: where snapshots are kept.

    Attributes:
        roster: names of the outside opponents, by number.
        tallies: of every member by name, the compiled ones too.
    """

    def __init__(self, config: PpoConfig, learner: Network, folder: Path) -> None:
        self.config = config
        self._learner = learner
        self._folder = folder
        self.roster: list[str] = []
        self.tallies: dict[str, Tally] = {}
        self._players: dict[str, Any] = {}
        for spec in self.fixed_roster:
            self._enlist(spec)

    @property
    def fixed_roster(self) -> list[str]:
        """The opponents that the config names, but for the compiled ones."""
        compiled = (*BASELINES, SNAPSHOTS)
        return [spec for spec in self.config.opponents if spec not in compiled]

    @property
    def snapshots(self) -> list[str]:
        """Names of the snapshots in use, the latest last."""
        names = [name for name in self.roster if SNAPSHOT.fullmatch(name)]
        return names[-self.config.snapshots.keep :]

    def add_snapshot(self, step: int) -> None:
        """Freeze the learner as it is."""
        name = f"snapshot-{step:09d}"
        if name not in self.roster:
            self._folder.mkdir(parents=True, exist_ok=True)
            saved.write_arrays(self._folder / f"{name}.safetensors", network_weights(self._learner))
            self._enlist(name)

    def _enlist(self, name: str) -> None:
        self._players[name] = self._player(name)
        self.roster.append(name)

    def _player(self, name: str) -> Any:
        agent: Agent
        if name == SELF:
            agent = NetworkAgent(name, self._learner, sample=True)
        elif SNAPSHOT.fullmatch(name):
            network = make_network(self.config.network.model_dump())
            load_network(network, read_arrays(self._folder / f"{name}.safetensors"))
            agent = NetworkAgent(name, network.eval(), sample=True)
        else:
            agent = agents.make(name)
        return agent.choose

    # Who plays

    def weights(self) -> dict[str, float]:
        """How often each member is drawn, by its name; not normalised.

        While there are no snapshots, what they weigh goes to the learner itself.
        """
        weights: dict[str, float] = defaultdict(float)
        for spec, weight in self.config.opponents.items():
            if spec != SNAPSHOTS:
                weights[spec] += weight
            elif self.snapshots:
                hardness = {name: self._hardness(name) for name in self.snapshots}
                for name, hard in hardness.items():
                    weights[name] += weight * hard / sum(hardness.values())
            else:
                weights[SELF] += weight
        return dict(weights)

    def _hardness(self, name: str) -> float:
        return max(1 - self._tally(name).score, EASIEST) ** self.config.snapshots.focus

    def enter(self, env: ThatsLifeVecEnv) -> None:
        """Let games that begin from now on draw their opponents from `weights`."""
        weights = self.weights()
        if SELF in weights and SELF not in self._players:
            self._enlist(SELF)
        env.play.enlist([self._players[name] for name in self.roster])
        env.play.set_opponents(
            {self._players.get(name, name): weight for name, weight in weights.items()}
        )

    def name_of(self, number: int) -> str:
        """The name of an opponent by its number in the games."""
        return BASELINES[number] if number < FIRST_OUTSIDE else self.roster[number - FIRST_OUTSIDE]

    # How it went

    def count(self, game: Any, seat: int, lineup: npt.NDArray[np.int16]) -> dict[str, float]:
        """Count a finished game for every opponent in it.

        Args:
            game: a FINISHED record.
            seat: the learner's.
            lineup: int16[6], the numbers of the others.

        Returns:
            The learner's win share, by the names of the opponents.
        """
        own = float(game["win_share"][seat])
        theirs: dict[str, list[float]] = defaultdict(list)
        for other in range(int(game["players"])):
            if other != seat:
                theirs[self.name_of(int(lineup[other]))].append(float(game["win_share"][other]))
        for name, shares in theirs.items():
            self._tally(name).add(own, sum(shares) / len(shares))
        return dict.fromkeys(theirs, own)

    def _tally(self, name: str) -> Tally:
        return self.tallies.setdefault(name, Tally())

    def metrics(self) -> dict[str, float]:
        """The score against each member that can be drawn, and its share of the draws."""
        weights = self.weights()
        total = sum(weights.values())
        metrics: dict[str, float] = {}
        for name, weight in weights.items():
            metrics[f"{SCORE}{name}"] = self._tally(name).score
            metrics[f"league/share/{name}"] = weight / total
        return metrics

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON."""
        tallies = {name: [tally.own, tally.theirs] for name, tally in self.tallies.items()}
        return {"roster": list(self.roster), "tallies": tallies}

    def check(self, state: Any) -> None:
        """Refuse what no run of this config can have saved.

        Raises:
            ValueError, KeyError, TypeError: it does not fit.
        """
        roster, tallies = state["roster"], state["tallies"]
        require_fit(
            isinstance(roster, list) and all(isinstance(name, str) for name in roster), "roster"
        )
        known = (*self.fixed_roster, SELF)
        require_fit(all(name in known or SNAPSHOT.fullmatch(name) for name in roster), "roster")
        require_fit(set(self.fixed_roster) <= set(roster), "roster")
        require_fit(isinstance(tallies, dict), "tallies")
        require_fit(set(tallies) <= {*roster, *BASELINES}, "tallies")
        for tally in tallies.values():
            are_sums = isinstance(tally, list) and len(tally) == 2
            require_fit(are_sums and all(isinstance(total, float) for total in tally), "tallies")
            require_fit(all(0 <= total <= MEMORY + PRIOR for total in tally), "tallies")
            require_fit(sum(tally) > 0, "tallies")

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave and `check` let pass.

        Raises:
            UsageError: a snapshot cannot be read; nothing has changed then.
        """
        roster = state["roster"]
        players = {name: self._players.get(name) or self._player(name) for name in roster}
        self.roster, self._players = list(roster), players
        self.tallies = {name: Tally(*tally) for name, tally in state["tallies"].items()}


def network_weights(network: Network) -> Arrays:
    """The weights of a network, copied: name to float32 array."""
    return {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}


def load_network(network: Network, arrays: Arrays) -> None:
    """Give a network the weights that `network_weights` gave."""
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
