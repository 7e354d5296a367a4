"""Metrics by name: what was asked for, and what a result says of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from streameval.cli.errors import UsageError, nearest
from streameval.metrics.bounded import Bounded

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "METRIC",
    "Metric",
    "Reading",
    "check_name",
    "parse_metric",
    "refuse_brackets",
    "unknown",
]

Interval = tuple[float, float]

METRIC = r"(?:[^\[\]<>=]+/)?[A-Za-z]\w*(?:\([^()]*\))?(?:@[0-9]+)?(?:\[.+\])?"
"""Of a metric, as in ``recall``, ``recall[macro]``, ``rbp(p=0.8)``, ``curve/roc_auc``."""

_PARTS = re.compile(r"(.*?)(?:\[(.+)\])?")


@attrs.frozen
class Metric:
    """A metric, or one of its averages or classes.

    Parameters
    ----------
    name : str
        What ``--json`` calls it.
    of : str, optional
        What stands in brackets: an average or a class.
    """

    name: str
    of: str | None = None

    def __str__(self) -> str:
        """Write it as it is typed."""
        return self.name if self.of is None else f"{self.name}[{self.of}]"


@attrs.frozen
class Reading:
    """The value of a metric, and how sure it is.

    Parameters
    ----------
    value : float
        A `Bounded` if it has a certified interval.
    sampling : tuple of float, optional
        The sampling interval; None if there is none.
    why_none : str
        Why there is none of a metric that would need one to be sure.
    """

    value: float
    sampling: Interval | None = None
    why_none: str = ""

    @property
    def certified(self) -> Interval:
        """The interval in which the value on all these rows lies; one that is exact is its own."""
        if isinstance(self.value, Bounded):
            return self.value.low, self.value.high
        return self.value, self.value

    @property
    def deciding(self) -> Interval | None:
        """The interval that has to keep a bound; None if one is missing."""
        if self.sampling is None and self.why_none:
            return None
        return self.sampling or self.certified


def parse_metric(text: str) -> Metric:
    """Take the name of a metric and its brackets apart.

    >>> parse_metric("recall[macro]")
    Metric(name='recall', of='macro')

    Raises
    ------
    UsageError
        If the text cannot be the name of a metric.
    """
    text = text.strip()
    match = _PARTS.fullmatch(text)
    if match is None or not re.fullmatch(METRIC, text):
        raise UsageError(f"{text!r} is no metric; write one like 'accuracy' or 'recall[macro]'.")
    return Metric(*match.groups())


def unknown(metric: Metric, known: Iterable[str]) -> UsageError:
    """Make the error that a metric is not known."""
    return UsageError(f"no metric {metric.name!r}: {nearest(metric.name, known)}")


def check_name(metric: Metric, known: Iterable[str]) -> None:
    """Raise UsageError if a metric is not known."""
    if metric.name not in known:
        raise unknown(metric, known)


def refuse_brackets(metric: Metric) -> None:
    """Raise UsageError if an average or a class is asked for of a metric that has none."""
    if metric.of is not None:
        raise UsageError(f"'{metric}': {metric.name} has no averages and no classes.")
