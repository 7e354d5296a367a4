"""How results are read: the names of their metrics, reports, JSON and pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.views import (
    calibration,
    classification,
    curves,
    grouped,
    meanings,
    members,
    ranking,
    regression,
)
from streameval.cli.views.readings import Metric
from streameval.errors import InvalidInputError
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.collection import CollectionResult
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from matplotlib.axes import Axes

    from streameval.cli.views.readings import Reading

    Picture = Callable[[Any, Axes, str | None], None]

__all__ = ["VIEWS", "View", "kind_of", "view_of"]


def _nothing(result: Any, metrics: Iterable[Metric]) -> str:  # noqa: ARG001
    """Leave nothing open."""
    return ""


@attrs.frozen(kw_only=True)
class View:
    """What the command line has to know of one kind of result.

    Parameters
    ----------
    results : tuple of type
        Of which classes they are.
    names : callable
        From a result: the metrics that it has.
    check : callable
        From a result, perhaps of no rows, and a metric: raises UsageError if there is none such.
    measure : callable
        From a result, a metric and a level: its reading.
    describe : callable
        From a result and a level: the entries of the JSON object.
    report : callable
        From a result and a level: a text table.
    meaning : callable
        From a result and the name of a metric: what it means, in words.
    terms : callable
        Gives the words that the meanings of the metrics use.
    every : callable, optional
        From a result and a level: the reading of every metric by name, where that is less work
        than one after the other.
    scope : callable
        From a result and metrics: what they are of, where that was left open.
    size : str
        The attribute of a result that says how many were counted.
    first : tuple of str
        The metrics that stand for all where there is little room, those that a result has.
    pictures : mapping of str to callable
        What can be drawn, the usual one first: each draws a result on axes, and with a label as
        one of several, or raises UsageError if it shows only one.
    """

    results: tuple[type[Any], ...]
    names: Callable[[Any], list[str]]
    check: Callable[[Any, Metric], None]
    measure: Callable[[Any, Metric, float], Reading]
    describe: Callable[[Any, float], dict[str, Any]]
    report: Callable[[Any, float], str]
    meaning: Callable[[Any, str], str] = meanings.meaning
    terms: Callable[[], str] = str
    every: Callable[[Any, float], dict[str, Reading]] | None = None
    scope: Callable[[Any, Iterable[Metric]], str] = _nothing
    size: str = "n"
    first: tuple[str, ...] = ()
    pictures: Mapping[str, Picture] = attrs.field(factory=dict)

    def readings(self, result: Any, level: float) -> dict[str, Reading]:
        """Read every metric."""
        if self.every is not None:
            return self.every(result, level)
        return {name: self.measure(result, Metric(name), level) for name in self.names(result)}

    def headline(self, result: Any) -> tuple[str, ...]:
        """Choose the metrics that stand for all."""
        names = self.names(result)
        return tuple(name for name in self.first if name in names) or tuple(names[:2])


def kind_of(result: Any) -> str:
    """Name the kind of a result: its task, or collection.

    Raises
    ------
    InvalidInputError
        If it is of none.
    """
    for name, view in VIEWS.items():
        if isinstance(result, view.results):
            return name
    raise InvalidInputError(
        f"`state` holds a {type(result).__name__}, which this version of the command "
        "line does not show. Python does: se.load(path).compute()."
    )


def view_of(result: Any) -> View:
    """Find the view of a result."""
    return VIEWS[kind_of(result)]


VIEWS = {
    "classification": View(
        results=(Confusion,),
        names=classification.names,
        check=classification.check,
        measure=classification.measure,
        describe=classification.describe,
        report=classification.report,
        meaning=classification.meaning,
        scope=classification.scope,
        first=classification.HEADLINE,
        pictures={"matrix": classification.draw},
    ),
    "regression": View(
        results=(Regression,),
        names=regression.names,
        check=regression.check,
        measure=regression.measure,
        describe=regression.describe,
        report=regression.report,
        first=regression.HEADLINE,
    ),
    "binary": View(
        results=(Curve, ClassCurves),
        names=curves.names,
        check=curves.check,
        measure=curves.measure,
        describe=curves.describe,
        report=curves.report,
        meaning=curves.meaning,
        every=curves.every,
        first=curves.HEADLINE,
        pictures={kind: partial(curves.draw, kind=kind) for kind in curves.KINDS},
    ),
    "grouped": View(
        results=(GroupedCurves,),
        names=grouped.names,
        check=grouped.check,
        measure=grouped.measure,
        describe=grouped.describe,
        report=grouped.report,
        first=grouped.HEADLINE,
        pictures={"groups": grouped.draw},
    ),
    "calibration": View(
        results=(Calibration,),
        names=calibration.names,
        check=calibration.check,
        measure=calibration.measure,
        describe=calibration.describe,
        report=calibration.report,
        first=calibration.HEADLINE,
        pictures={"reliability": calibration.draw},
    ),
    "ranking": View(
        results=(Ranking,),
        names=ranking.names,
        check=ranking.check,
        measure=ranking.measure,
        describe=ranking.describe,
        report=ranking.report,
        meaning=ranking.meaning,
        terms=partial(meanings.terms, Ranking),
        size="n_queries",
        pictures={"measures": ranking.draw},
    ),
    "collection": View(
        results=(CollectionResult,),
        names=partial(members.names, view_of=view_of),
        check=partial(members.check, view_of=view_of),
        measure=partial(members.measure, view_of=view_of),
        describe=partial(members.describe, view_of=view_of),
        report=partial(members.report, view_of=view_of),
        every=partial(members.every, view_of=view_of),
    ),
}
"""Of every kind of result: those of tasks by the name of the task."""
