"""The table of metrics: one row each, read by every text, page, message and test.

A new metric is a pure function and a row in the table of its kind of result. `report`, `as_dict`,
JSON, pages, `explain`, gates, suggestions for misspelt names and the reference follow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import attrs

from streameval.metrics.bounded import Bounded

__all__ = ["EXAMPLES", "Interval", "Metric", "Reading", "Table", "count_row"]

Interval = tuple[float, float]

_CUTOFF = re.compile(r"@\d+$|\(.*\)$")


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
    is_count : bool
        Whether it is a weight or a number of things, and no metric.
    """

    value: float
    sampling: Interval | None = None
    why_none: str = ""
    is_count: bool = False

    @property
    def certified(self) -> Interval:
        """The interval in which the value on all these rows lies; one that is exact is its own."""
        if isinstance(self.value, Bounded):
            return self.value.low, self.value.high
        return self.value, self.value

    @property
    def is_open(self) -> bool:
        """Whether the certified interval leaves anything open."""
        low, high = self.certified
        return low < high

    @property
    def deciding(self) -> Interval | None:
        """The interval that has to keep a bound; None if one is missing."""
        if self.sampling is None and self.why_none:
            return None
        return self.sampling or self.certified

    @property
    def ends(self) -> list[float]:
        """The value and the ends of its intervals, where they are finite."""
        every = (self.value, *self.certified, *(self.sampling or ()))
        return [end for end in every if math.isfinite(end)]


def _attribute(name: str) -> Callable[..., Any]:
    """Give what reads an attribute, or calls a method."""

    def value(source: Any, *args: Any, **options: Any) -> Any:
        found = getattr(source, name)
        return found(*args, **options) if callable(found) else found

    return value


def _always(source: Any) -> bool:  # noqa: ARG001 - of any source
    return True


@attrs.frozen(kw_only=True, eq=False)
class Metric:
    """What there is to know of one metric.

    Parameters
    ----------
    name : str
        How it is asked for.
    aliases : tuple of str
        What other tools call it, and what people type: messages suggest the metric for them.
    help : str
        A sentence: what it is, its range, and where it is undefined.
    notes : str
        What else `explain` says of it.
    value : callable
        The pure function: from what a result reads, and the arguments, to the number. By default
        the attribute or the method of that name.
    formula : str
        As TeX.
    heading : str
        What a page calls it; pages leave out what has none.
    better : {"higher", "lower", ""}
        Which end is the good one, if there is one.
    certified : bool
        Whether the value is a `Bounded`.
    sampling : callable, optional
        What `confidence` of the result computes the sampling interval by.
    why_none : str
        Why there may be no sampling interval.
    arguments : tuple of str
        As in a signature: one without a default has to be given, as in ``recall_at(0.5)``.
    averages : mapping of str to str
        The averages over classes, and what each is.
    oracle : str
        What the tests compare it with.
    listed : callable
        From what a result reads: whether the metric says anything of it.
    is_count : bool
        Whether it is a weight or a number of things.
    is_rare : bool
        Whether pages leave it out where it is 0.
    by_class : bool
        Whether tables of classes have a column of it.
    headline : int
        From 1 on for those that stand for all where there is little space, the first one first.
    """

    name: str
    aliases: tuple[str, ...] = ()
    help: str
    notes: str = ""
    value: Callable[..., Any] = attrs.field(
        default=attrs.Factory(lambda self: _attribute(self.name), takes_self=True)
    )
    formula: str = ""
    heading: str = ""
    better: Literal["higher", "lower", ""] = ""
    certified: bool = False
    sampling: Callable[..., Interval] | None = None
    why_none: str = ""
    arguments: tuple[str, ...] = ()
    averages: Mapping[str, str] = attrs.field(factory=dict)
    oracle: str = ""
    listed: Callable[[Any], bool] = _always
    is_count: bool = False
    is_rare: bool = False
    by_class: bool = False
    headline: int = 0

    @property
    def meaning(self) -> str:
        """What it means, in one or a few sentences."""
        return f"{self.help} {self.notes}".rstrip()

    @property
    def typed(self) -> str:
        """How it is typed: with a k for a cutoff, and an x for another argument that it needs."""
        if not self.needs_argument:
            return self.name
        return f"{self.name}@k" if self.arguments == ("k",) else f"{self.name}(x)"

    @property
    def needs_argument(self) -> bool:
        """Whether an argument has no default."""
        return any("=" not in argument for argument in self.arguments)


def count_row(name: str, heading: str, text: str, **row: Any) -> Metric:
    """Make the row of a weight or of a number of things."""
    return Metric(name=name, heading=heading, help=text, is_count=True, **row)


EXAMPLES = count_row("n", "Examples", "The sum of the weights of all examples.")
"""Of every result of examples."""


class Table(Mapping[str, Metric]):
    """The metrics of one kind of result by name, in order of report."""

    def __init__(self, *rows: Metric) -> None:
        self._rows = {row.name: row for row in rows}

    def __getitem__(self, name: str) -> Metric:
        """Give the row of a metric."""
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        """List the names."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Count the metrics."""
        return len(self._rows)

    @property
    def by_class(self) -> list[Metric]:
        """The rows that tables of classes have a column of."""
        return [row for row in self.values() if row.by_class]

    @property
    def headline(self) -> list[Metric]:
        """The rows that stand for all, the first one first."""
        chosen = (row for row in self.values() if row.headline)
        return sorted(chosen, key=lambda row: row.headline)

    def called(self, name: str) -> list[Metric]:
        """Give the rows that a name or an alias is of, whatever its case and its cutoff."""
        word = _CUTOFF.sub("", name).casefold().replace("-", "_").replace(" ", "_")
        return [row for row in self.values() if word in (row.name, *row.aliases)]

    def listed(self, source: Any) -> list[Metric]:
        """Give the rows that say something of what a result reads, and need no argument."""
        return [row for row in self.values() if not row.needs_argument and row.listed(source)]
