"""Exact numbers: sums without rounding, the keys of scores, and the order of rows."""

from typing import Literal

Scale = Literal["probability", "real"]
