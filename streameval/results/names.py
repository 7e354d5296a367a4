"""The names of metrics: ``recall``, ``recall[macro]``, ``recall_at(0.5)``, ``member/metric``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import attrs

from streameval.errors import InvalidInputError, UnknownMetricError

if TYPE_CHECKING:
    from streameval.metrics.table import Metric, Reading, Table

OWN_METRIC = r"[A-Za-z]\w*(?:\([^()]*\))?(?:[@^][0-9]+)?(?:\[(?s:.+)\])?"
"""Of a metric without a member, as in ``recall``, ``recall[macro]``, ``rbp(p=0.8)``, ``pass^4``."""

METRIC = rf"(?:[^\[\]<>]+/)?{OWN_METRIC}"
"""Matches any metric, as in ``curve/roc_auc``."""

Gap = Literal["difference", "ratio"]
Contrast = Literal["worst", "difference", "ratio"]

GAPS: tuple[Gap, ...] = ("difference", "ratio")
"""How the highest and the lowest value of slices can be compared."""

_PARTS = re.compile(r"(.*?)(?:\[(.+)\])?", re.DOTALL)
_CALL = re.compile(r"(\w+)\(([^()]+)\)")


@attrs.frozen
class MetricName:
    """A metric, or one of its averages or classes.

    Parameters
    ----------
    name : str
        Its name in JSON.
    of : str, optional
        The text in brackets: an average or a class.
    """

    name: str
    of: str | None = None

    @property
    def call(self) -> tuple[str, str] | None:
        """The function and the argument of a name like ``recall_at(0.5)``."""
        match = _CALL.fullmatch(self.name)
        return None if match is None else (match[1], match[2])

    def __str__(self) -> str:
        """Write the name as a user types it."""
        return self.name if self.of is None else f"{self.name}[{self.of}]"


@lru_cache(maxsize=1024)
def parse_metric(text: str) -> MetricName:
    """Split the name of a metric from its brackets.

    >>> parse_metric("recall[macro]")
    MetricName(name='recall', of='macro')

    Raises
    ------
    UnknownMetricError
        If the text cannot be the name of a metric.
    """
    text = text.strip()
    match = _PARTS.fullmatch(text)
    if match is None or not re.fullmatch(METRIC, text):
        raise UnknownMetricError(
            f"{text!r} is not a metric; write one like 'accuracy' or 'recall[macro]'."
        )
    return MetricName(*match.groups())


def metric_name(metric: Any, argument: str = "metric") -> MetricName:
    """Read the name of a metric, which may have been read already.

    Raises
    ------
    UnknownMetricError
        If it is no text, or cannot be the name of a metric.
    """
    if isinstance(metric, MetricName):
        return metric
    if not isinstance(metric, str):
        raise UnknownMetricError(f"must be a text, got {metric!r}", argument=argument)
    return parse_metric(metric)


def parse_metrics(metrics: Iterable[str | MetricName]) -> list[MetricName]:
    """Read the names of an argument `metrics`, some of which may have been read already.

    Raises
    ------
    InvalidInputError
        If it is a single string, or one of the names cannot be the name of a metric.
    """
    if isinstance(metrics, str):
        raise InvalidInputError(f"must be a list of names, got {metrics!r}", argument="metrics")
    return [metric_name(name, "metrics") for name in metrics]


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


def tables(task: str | None = None) -> Iterator[Table]:
    """Load the tables of metrics of a task, or all in the order in which messages name them."""
    if task in (None, "classification"):
        from streameval.metrics import confusion_table

        yield confusion_table.TABLE
    if task in (None, "binary"):
        from streameval.metrics import class_curve_table, curve_table

        yield from (curve_table.TABLE, class_curve_table.TABLE)
    if task in (None, "grouped"):
        from streameval.metrics import grouped

        yield grouped.TABLE
    if task in (None, "calibration"):
        from streameval.metrics import calibration_table

        yield calibration_table.TABLE
    if task in (None, "ranking"):
        from streameval.metrics import ranking_table

        yield ranking_table.TABLE
    if task in (None, "regression"):
        from streameval.metrics import regression_table

        yield regression_table.TABLE
    if task in (None, "paired"):
        from streameval.metrics import paired_table

        yield paired_table.TABLE
    if task in (None, "catalog"):
        from streameval.metrics import catalog_table

        yield catalog_table.TABLE
    if task in (None, "preferences"):
        from streameval.metrics import preferences_table

        yield preferences_table.TABLE
    if task in (None, "values"):
        from streameval.metrics import values_table

        yield values_table.TABLE


def owners_of(name: str) -> list[tuple[Table, Metric]]:
    """List the tables that have a metric of that name, or if none has, those with that alias."""
    pairs = [(table, row) for table in tables() for row in table.called(name)]
    return [pair for pair in pairs if pair[1].name == name.casefold()] or pairs


PICTURES_BY_TASK = {
    "classification": ("matrix",),
    "binary": ("pr", "roc", "det", "reliability", "score"),
    "grouped": ("groups",),
    "calibration": ("reliability",),
    "preferences": ("ratings",),
    "ranking": ("measures",),
    **dict.fromkeys(("regression", "values", "paired", "catalog"), ("metrics",)),
}
"""The names of the pictures of each task that has any; the first is the default.

The help of the command line lists them, which does not import the results themselves.
"""
