"""The games as Stable-Baselines3 takes them: a VecEnv over the batch engine.

Needs the extra `train`.
One learning seat in each game, in a seat drawn for each game; the opponents play inside `step`.
Masks are served to sb3-contrib by `env_method("action_masks")`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from thatslife_env.board import N_ACTIONS
from thatslife_env.games import SeatGames
from thatslife_env.observation import HIGH, LOW, OBS_SIZE


class ThatsLifeVecEnv(VecEnv):
    """N games with one learning seat each.

    Args:
        num_envs: N.
        seed: game i deals from the stream `draw64(seed, i)`.
        **options: those of `thatslife_env.games.SeatGames`; an illegal action raises.

    Attributes:
        play: the games.
        returns: float64[N], rewards in the games so far.
        lengths: int64[N], the learners' decisions in the games so far.
    """

    def __init__(self, num_envs: int, seed: int = 0, **options: Any) -> None:
        self.render_mode = None
        self.play = SeatGames(num_envs, illegal="raise", **options)
        self._next_seed: int | None = seed
        self._masks = np.zeros((num_envs, N_ACTIONS), np.bool_)
        self._actions = np.zeros(num_envs, np.int64)
        self.returns = np.zeros(num_envs, np.float64)
        self.lengths = np.zeros(num_envs, np.int64)
        super().__init__(
            num_envs,
            gymnasium.spaces.Box(LOW, HIGH, dtype=np.float32),
            gymnasium.spaces.Discrete(N_ACTIONS),
        )

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next reset; None leaves the streams as they are."""
        self._next_seed = seed
        return [seed] * self.num_envs

    def reset(self) -> npt.NDArray[np.float32]:
        """Begin all games anew: float32[N, OBS_SIZE]."""
        self.play.reset(self._next_seed)
        self._next_seed = None
        self.returns[:] = 0
        self.lengths[:] = 0
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return self.observe()

    def observe(self) -> npt.NDArray[np.float32]:
        """What the learners see now, float32[N, OBS_SIZE]; the masks are brought up to date."""
        observations = np.empty((self.num_envs, OBS_SIZE), np.float32)
        self.play.observe(observations, self._masks)
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the learners' actions, int[N]."""
        self._actions[:] = actions

    def step_wait(
        self,
    ) -> tuple[
        npt.NDArray[np.float32],
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        list[dict[str, Any]],
    ]:
        """Play them; a game that ends is followed by the next on the same step.

        Returns:
            float32[N, OBS_SIZE]; float32[N] rewards; bool[N] done; N infos, of which those of ended
            games hold `episode`, `terminal_observation` and `game`, a FINISHED record.
        """
        play = self.play
        play.step(self._actions)
        self.returns += play.rewards
        self.lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row, index in enumerate(play.ended):
            infos[index] = {
                "episode": {"r": self.returns[index], "l": int(self.lengths[index])},
                "terminal_observation": play.final_obs[row].copy(),
                "TimeLimit.truncated": False,
                "seat": int(play.seats[index]),
                "lineup": play.lineups[index].copy(),
                "game": play.outcomes[row].copy(),
            }
        self.returns[play.ended] = 0
        self.lengths[play.ended] = 0
        rewards, done = play.rewards.astype(np.float32), play.done.copy()
        play.restart()
        return self.observe(), rewards, done, infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learners' legal actions now: bool[N, 16], True = legal."""
        return self._masks.copy()

    def has_attr(self, attr_name: str) -> bool:
        """Whether the games have an attribute; `action_masks` is what sb3-contrib asks for."""
        return hasattr(self, attr_name)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """`action_masks` of the games at `indices` (None: all), a bool[16] each.

        Raises:
            AttributeError: any other method; there are no environments one by one.
        """
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r} one by one")
        return list(self._masks[self._rows(indices)].copy())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, the same for all games."""
        return [getattr(self, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute for all games."""
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Never: the games are not wrapped."""
        return [False] * len(self._rows(indices))

    def close(self) -> None:
        """Nothing is held open."""

    def _rows(self, indices: int | Iterable[int] | None) -> npt.NDArray[np.int64]:
        if indices is None:
            return np.arange(self.num_envs)
        return np.atleast_1d(np.asarray(indices, np.int64))
