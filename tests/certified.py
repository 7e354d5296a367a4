"""Certified intervals as texts have them."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def outward(low: float, high: float, decimals: int = 6) -> str:
    """Write an interval with its ends rounded away from each other."""
    unit = Decimal(1).scaleb(-decimals)
    ends = Decimal(low).quantize(unit, ROUND_FLOOR), Decimal(high).quantize(unit, ROUND_CEILING)
    return f"[{ends[0]}, {ends[1]}]"
