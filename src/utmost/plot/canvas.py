"""Create, caption and save figures without a display."""

from __future__ import annotations

import os
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

from utmost.errors import InvalidInput
from utmost.extras import missing

Figure: TypeAlias = Any


def canvas(title: str, size: tuple[float, float] = (6.4, 5.2), three_dimensional: bool = False) -> tuple[Figure, Any]:
    """An empty figure with a title, and its axes."""
    figure = _picture()(figsize=size, layout="constrained")
    axes = figure.add_subplot(projection="3d" if three_dimensional else None)
    axes.set_title(title, fontsize=11)
    return figure, axes


@cache
def _picture() -> Any:
    """A Figure class that notebooks display with any backend, by its PNG representation."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise missing("plot", "pictures need matplotlib") from None

    class Picture(Canvas):
        def _repr_png_(self) -> bytes:
            buffer = BytesIO()
            self.savefig(buffer, format="png", dpi=100, bbox_inches="tight")
            return buffer.getvalue()

    return Picture


def caption(figure: Figure, text: str) -> None:
    """Add a line of small print under a figure."""
    figure.supxlabel(text, fontsize=8, color="#555555")


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure in the format of the path's ending (.png, .svg, .pdf)."""
    target = Path(path)
    if target.suffix.lower().removeprefix(".") not in figure.canvas.get_supported_filetypes():
        raise InvalidInput(f"{target} does not end like a picture; end it in .png, .svg or .pdf.")
    try:
        figure.savefig(target, dpi=150, bbox_inches="tight")
    except OSError as problem:
        raise InvalidInput(f"{target} cannot be written: {problem.strerror or problem}; name another place.") from None
    return target
