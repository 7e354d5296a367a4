"""A metric, a sign and a number: ``recall[macro] >= 0.9``."""

from __future__ import annotations

import math

import attrs

from streameval.metrics.table import Reading
from streameval.results.names import MetricName

SIGN = r"(?:>=|<=|>|<)"


@attrs.frozen
class Inequality:
    """A claim about the value of a metric.

    Parameters
    ----------
    metric : MetricName
    sign : str
        One of ">=", ">", "<=" and "<".
    number : float
        The number that the metric is compared with.
    """

    metric: MetricName
    sign: str
    number: float

    def holds(self, value: float) -> bool:
        """Tell whether the claim is true for one value."""
        if self.sign[0] == "<":
            return value < self.number or (self.sign == "<=" and value == self.number)
        return value > self.number or (self.sign == ">=" and value == self.number)

    def holds_certainly(self, reading: Reading) -> bool:
        """Tell whether the claim is true for every value that the exact one can have."""
        return all(map(self.holds, reading.certified))


def read_number(text: str) -> float | None:
    """Read a finite number; None if the text is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
