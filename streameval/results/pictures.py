"""What every picture needs: matplotlib, imported only for one, and axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["new_axes"]


def new_axes() -> Axes:
    """Make the axes of a new figure."""
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError as error:
        message = 'a picture needs matplotlib: pip install "streameval[plot]".'
        raise ImportError(message) from error
    axes: Axes = pyplot.subplots(layout="constrained")[1]
    return axes
