"""The game and our networks as RLlib takes them, on its new API stack. Needs the extra `ray`.

Every seat is an agent of a `MultiAgentEnv`. All of them can share one `NetworkModule`: one of our
networks, which is trained and saved like any other, and a mask over its scores.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
import ray
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from agents.networks import Network, make_network
from thatslife_env import IllegalMoveError, Ruleset
from thatslife_env.position import check_seed
from thatslife_env.thatslife_v0 import raw_env

MASKED = -1e9
"""Score of what is not legal: its probability is 0, and so is its part in entropies."""


class ThatsLifeMultiAgentEnv(MultiAgentEnv):
    """Games whose seats are the agents `player_0`, `player_1`, ...: those of the AEC environment.

    The seat to decide alone has an observation: `observation`, float32[OBS_SIZE], and
    `action_mask`, int8[16], 1 = legal. With it comes what the seat has gained since its last
    decision, whoever decided in between; at the end all seats that have decided have both. So an
    action is credited with all that comes of it up to the seat's next, and the rewards of a seat
    add up to its total in the AEC environment. What a seat gains before its first decision (by
    shaping) comes with its second.

    An illegal action ends the game with the worst reward for its player, and is counted.

    Args:
        config: keyword arguments of `thatslife_v0.raw_env`. Or, instead of `ruleset` and `players`,
            `mix`: a list of pairs (ruleset, weight), of which each game draws one.

    Attributes:
        game: the AEC environment of the game in progress.
        illegal_actions: so many in this game, 0 or 1.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        options = dict(config or {})
        if "mix" in options:
            rulesets, weights = zip(*options.pop("mix"), strict=True)
        else:
            one = Ruleset.of(options.pop("ruleset", "basic"), options.pop("players", None))
            rulesets, weights = (one,), (1.0,)
        self._games = [raw_env(ruleset, **options) for ruleset in rulesets]
        self._shares = np.array(weights, np.float64) / sum(weights)
        self.game = max(self._games, key=lambda game: len(game.possible_agents))
        self.possible_agents = list(self.game.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = dict(self.game.observation_spaces)
        self.action_spaces = dict(self.game.action_spaces)
        self.illegal_actions = 0
        # RLlib seeds neighbouring workers with neighbouring numbers, and their games likewise: of
        # themselves these would overlap. And a worker in the place of a dead one gets its seeds.
        self._entropy = [int(getattr(config, "worker_index", 0))]
        if _is_replacement():
            self._entropy.append(secrets.randbits(64))
        self._rng = np.random.default_rng()
        self._owed: dict[str, float] = {}
        self._decided: set[str] = set()
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a game.

        Args:
            seed: of this game and those after it, with the number of the worker; None goes on.
            options: nothing.

        Returns:
            The observation and the info of the seat to decide, by its name.
        """
        if seed is not None:
            self._rng = np.random.default_rng([check_seed(seed), *self._entropy])
        self.game = self._games[self._rng.choice(len(self._games), p=self._shares)]
        self.game.reset(seed=int(self._rng.integers(0, 2**64, dtype=np.uint64)))
        self.agents = list(self.game.agents)
        self.illegal_actions = 0
        self._owed = dict.fromkeys(self.agents, 0.0)
        self._decided = set()
        first = self.game.agent_selection
        return {first: self.game.observe(first)}, {first: {}}

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play the action of the seat to decide.

        Args:
            action_dict: the action, by the name of the seat.

        Returns:
            Observations, rewards, terminations, truncations and infos, by the names of the seats.
        """
        player = self.game.agent_selection
        self._decided.add(player)
        try:
            self.game.step(action_dict[player])
        except IllegalMoveError:
            self.illegal_actions = 1
            self._owed[player] += self.game.worst_reward
            is_over = True
        else:
            for agent in self.agents:
                self._owed[agent] += self.game.rewards[agent]
            is_over = self.game.terminations[player]
        seen = self.agents if is_over else [self.game.agent_selection]
        paid = [agent for agent in seen if agent in self._decided]
        rewards = {agent: self._owed[agent] for agent in paid}
        self._owed |= dict.fromkeys(paid, 0.0)
        ended = dict.fromkeys(seen, is_over) | {"__all__": is_over}
        alive = dict.fromkeys(seen, False) | {"__all__": False}
        observations = {agent: self.game.observe(agent) for agent in seen}
        return observations, rewards, ended, alive, {agent: {} for agent in seen}


def _is_replacement() -> bool:
    """Whether this is a Ray actor that took the place of one that died."""
    if not ray.is_initialized():
        return False
    context = ray.get_runtime_context()
    return context.get_actor_id() is not None and context.was_current_actor_reconstructed


class NetworkModule(TorchRLModule, ValueFunctionAPI):
    """One of our networks as an RLModule; only legal actions can be drawn.

    Its `model_config` holds the description of the network, for `make_network`, as `network`.

    Attributes:
        network: what is trained and saved.
    """

    def setup(self) -> None:
        """Make the network."""
        self.network: Network = make_network(self.model_config["network"])

    def _forward(self, batch: dict[str, Any], **options: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        scores = self.network.forward_actor(seen["observation"])
        scores = scores.masked_fill(seen["action_mask"] == 0, MASKED)
        return {Columns.ACTION_DIST_INPUTS: scores}

    def compute_values(
        self, batch: dict[str, Any], embeddings: torch.Tensor | None = None
    ) -> torch.Tensor:
        """What the seats to decide may expect, float32[B].

        Args:
            batch: with the observations.
            embeddings: not used.
        """
        return self.network.forward_critic(batch[Columns.OBS]["observation"]).squeeze(1)
