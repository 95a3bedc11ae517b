"""That's Life! (Verflixxt!) for reinforcement learning: exact rules, fast environments.

The public names are those listed in `__all__`, the modules `board`, `rules`, `observation`,
`rewards`, `baselines`, `records`, `vector`, and the environment `thatslife_v0` (`from thatslife_env
import thatslife_v0`).
"""

from thatslife_env.board import PRESETS, Ruleset
from thatslife_env.position import IllegalMoveError, Position, PositionError

__version__ = "0.1.0"
__all__ = ["PRESETS", "IllegalMoveError", "Position", "PositionError", "Ruleset", "__version__"]
