"""A2C and DQN with masked actions, which Stable-Baselines3 has not. Needs the extra `train`.

Both read the mask from the observation, of which it is a part. A2C draws from the legal actions
alone. DQN neither explores illegal actions, nor plays them, nor counts them in the maximum over
the next position's actions, from which its target is made.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from agents.networks import MlpNetwork
from thatslife_env.observation import SLICES

ILLEGAL: Final = -1e9
"""Score or value of an illegal action: below all others, and finite, as 0 times it must be 0 where
a game has ended and nothing is legal."""


def legal_actions(observations: torch.Tensor) -> torch.Tensor:
    """What observations, float32[B, OBS_SIZE], say is legal: bool[B, 16]."""
    return observations[:, SLICES["legal"]] > 0


def masked(scores: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
    """Scores, float32[B, 16], with `ILLEGAL` for illegal actions."""
    return scores.masked_fill(~legal_actions(observations), ILLEGAL)


# A2C ---------------------------------------------------------------------------------------------


class MaskedMlp(MlpNetwork):
    """The plain network, with masked scores."""

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Network.forward`."""
        scores, values = super().forward(observations)
        return masked(scores, observations), values

    def forward_actor(self, observations: torch.Tensor, *, is_exact: bool = False) -> torch.Tensor:
        """See `Network.forward_actor`."""
        return masked(super().forward_actor(observations, is_exact=is_exact), observations)


class MaskedActorCriticPolicy(ActorCriticPolicy):
    """SB3's policy around a `MaskedMlp`, which has its own heads."""

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        self.mlp_extractor = MaskedMlp(self.net_arch)
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


# DQN ---------------------------------------------------------------------------------------------


class MaskedQNetwork(QNetwork):
    """Masked values; the greedy action and the target's maximum follow from them."""

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, float32[B, 16]."""
        return masked(super().forward(observations), observations)


class MaskedDQNPolicy(DQNPolicy):
    """SB3's policy with a `MaskedQNetwork` for both of its networks."""

    def make_q_net(self) -> MaskedQNetwork:
        """A network with fresh weights."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQNetwork(**arguments).to(self.device)


class MaskedDQN(DQN):
    """DQN whose exploration, too, draws from the legal actions, for each game by itself."""

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Actions, int64[N], as they are played and as they are remembered."""
        rate = 1.0 if self.num_timesteps < learning_starts else self.exploration_rate
        observations = torch.as_tensor(self._last_obs)
        with torch.no_grad():
            greedy = self.q_net(observations).argmax(dim=1)
        drawn = torch.multinomial(legal_actions(observations).float(), 1)[:, 0]
        explores = torch.rand(n_envs) < rate
        actions = torch.where(explores, drawn, greedy).numpy()
        return actions, actions
