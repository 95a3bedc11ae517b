"""That's Life! (Verflixxt!) for reinforcement learning: exact rules, fast environments.

Public are the names in `__all__`, the modules `board`, `rules`, `position`, `observation`,
`rewards`, `baselines`, `games`, `records`, `outcomes`, `drawing`, `render`, `vector`,
`thatslife_v0` for PettingZoo and `open_spiel_game` for OpenSpiel.
Importing this package registers `ThatsLife-v0` with Gymnasium.
"""

import gymnasium

from thatslife_env._jit import njit
from thatslife_env.board import PRESETS, Ruleset
from thatslife_env.position import IllegalMoveError, Position, PositionError

__version__ = "0.1.0"
__all__ = [
    "PRESETS",
    "IllegalMoveError",
    "Position",
    "PositionError",
    "Ruleset",
    "__version__",
    "njit",
]

if "ThatsLife-v0" not in gymnasium.registry:
    gymnasium.register(
        id="ThatsLife-v0",
        entry_point="thatslife_env.gymnasium_env:ThatsLifeEnv",
        vector_entry_point="thatslife_env.vector:ThatsLifeVectorEnv",
    )
