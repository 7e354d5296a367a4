"""Numbers as text, and columns of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["interval_text", "number", "on_the_point"]


def number(value: float) -> str:
    """Write a metric with six decimals, and small or large ones with six digits."""
    if math.isfinite(value) and (abs(value) >= 100 or 0 < abs(value) < 1e-3):
        return f"{value:.6g}"
    return f"{value:.6f}"


def interval_text(low: float, high: float) -> str:
    """Write an interval; nan ends are no interval."""
    return "" if math.isnan(low) else f"[{number(low)}, {number(high)}]"


def on_the_point(numbers: Mapping[str, str]) -> list[str]:
    """Lay out names and numbers, the decimal points one below the other.

    >>> on_the_point({"rmse": "54.5424", "mse": "2974.88", "n": "442"})
    ['rmse    54.5424', 'mse   2974.88', 'n      442']
    """
    first = max(map(len, numbers))
    wholes = {name: len(text.partition(".")[0]) for name, text in numbers.items()}
    most = max(wholes.values())
    return [
        f"{name:<{first}}  {' ' * (most - wholes[name])}{text}" for name, text in numbers.items()
    ]
