"""What the plots share. Needs the extra `train`."""

from io import BytesIO
from pathlib import Path
from typing import Any

from agents.extras import require
from agents.files import replacing

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito 2008
GREY = "#999999"


def new_figure(width: float, height: float) -> Any:
    """An empty Matplotlib figure, apart from any screen; width and height in inches."""
    require("matplotlib", extra="train")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def as_png(figure: Any) -> bytes:
    """A figure as the content of a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    written = BytesIO()
    FigureCanvasAgg(figure).print_png(written)
    return written.getvalue()


def write_png(figure: Any, path: Path) -> None:
    """Write a figure as a PNG file, at once: who looks at it meanwhile sees the one before."""
    with replacing(path) as part:
        part.write_bytes(as_png(figure))
