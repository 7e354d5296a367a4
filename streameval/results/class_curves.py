"""The result of `PRCurveSketch` with classes: one curve for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from itertools import permutations
from typing import Any, ClassVar

import attrs

from streameval.configs.names import nearest
from streameval.configs.options import one_of
from streameval.errors import CountOverflowError, InvalidInputError, UnknownMetricError
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.inputs.classes import Label
from streameval.metrics import class_curve_table
from streameval.metrics.bounded import Bounded, mean_of
from streameval.metrics.class_curve_table import AVERAGES, HOW
from streameval.metrics.points import CellTable
from streameval.metrics.table import (
    Metric,
    Reading,
)
from streameval.render.blocks import MAX_DRAWN, Several
from streameval.render.plots import PlotRequest
from streameval.render.sheets import Sheet, reading_grid
from streameval.results import findings
from streameval.results.classes import CLASS_DETAILS, OfClasses
from streameval.results.curve import Curve
from streameval.results.members import ClassCurvesMembers, add_members
from streameval.results.metric_values import CurveAverages, MetricValue
from streameval.results.names import MetricName
from streameval.results.reading import Asked
from streameval.results.result import Report
from streameval.results.tables import ItemAxis, PerItem, Readings, named_classes
from streameval.states.cells import Cells


@attrs.frozen(repr=False, eq=False, slots=False)
class ClassCurves(ClassCurvesMembers, OfClasses[Curve]):
    """One curve for each class against the rest, and their averages.

    Made by `PRCurveSketch.compute`. A mapping from the label of a class to its `Curve`, in the
    order of the score columns. Display names look a class up too. Averages are
    `Bounded`, like the metrics of a `Curve`.

    Notes
    -----
    The curves of the classes are of the same rows, and how they depend on each other is not kept.
    The distance to the limit of a mean is at most the mean of the distances to the limits of the
    classes, so the interval of ``confidence("roc_auc", average="weighted")`` is wide enough for
    every dependence. Micro averages pool scores of the same rows, and have no interval.

    Examples
    --------
    Every metric of four examples:

    >>> import streameval as se
    >>> acc = se.PRCurveSketch(classes=3, measures=["one_vs_one"])
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]]
    >>> result = acc.update([0, 1, 2, 2], scores).compute()
    >>> for name in result.readable():
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    n                               4.0000
    n_averaged                      3.0000
    roc_auc_macro                   0.8472
    roc_auc_weighted                0.8542
    average_precision_macro         0.7778
    average_precision_weighted      0.7917
    roc_auc_micro                   0.9219
    average_precision_micro         0.8542
    roc_auc_ovo                     0.8750
    roc_auc_ovo_weighted            0.8594
    class_wise_ece                  0.2500
    """

    TABLE = class_curve_table.TABLE
    _DETAILS: ClassVar = CLASS_DETAILS
    ALONE = "curves of classes show one state"

    _n: FixedPoint
    _labels: tuple[Label, ...]
    _tables: tuple[CellTable, ...]
    _skipped: FixedPoint
    _class_names: tuple[Label, ...]
    _pairs: tuple[CellTable, ...] = ()
    _budget: int | None = None

    @classmethod
    def of(
        cls,
        n: FixedPoint,
        labels: Iterable[Label],
        tables: Iterable[CellTable],
        skipped: FixedPoint,
        names: tuple[Label, ...],
        budget: int | None = None,
    ) -> ClassCurves:
        """Read the cells of all curves; the curves of pairs of classes are last."""
        labels, every = tuple(labels), tuple(tables)
        tables, pairs = every[: len(labels)], every[len(labels) :]
        return cls(n, labels, tables, skipped, names, pairs, budget)

    def _part(self, position: int) -> Curve:
        return Curve(self._tables[position], self._skipped)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of the score columns."""
        return self._labels

    @property
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the classes; by default the labels."""
        return self._class_names

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        return self._n.to_number()

    @property
    def exact(self) -> bool:
        """Whether every distinct score of every class has a bin of its own."""
        return all(curve.exact for curve in self.values())

    @property
    def has_probabilities(self) -> bool:
        """Whether the scores are probabilities."""
        return self._tables[0].scale == "probability"

    @property
    def micro(self) -> Curve:
        """The pooled curve of all scores of all classes; each row counts once per class.

        If the total exceeds 2**63 - 1, CountOverflowError is raised.
        """
        if not self._can_pool:
            raise CountOverflowError("would pool weights past 2**63 - 1", argument="micro")
        level = max(table.level for table in self._tables)
        pooled = Cells.none()
        for table in self._tables:
            pooled = pooled.joined(table.cells, level)
        return self._derived(
            Curve(CellTable(pooled, self._tables[0].scale), self._skipped), "micro"
        )

    @cached_property
    def _pooled(self) -> Curve:
        return self.micro

    @property
    def roc_auc(self) -> MetricValue[CurveAverages]:
        """The area under the ROC curves, each class against the rest.

        The macro mean, over the classes with both positives and negatives.
        """
        return MetricValue(partial(self._average, "roc_auc"))

    @property
    def average_precision(self) -> MetricValue[CurveAverages]:
        """The average precision, each class against the rest.

        The macro mean, over the classes with a positive.
        """
        return MetricValue(partial(self._average, "average_precision"))

    @property
    def mean_average_precision(self) -> Bounded:
        """The mean of average precision over the classes that have a positive.

        It knows only the rows. The mAP of object detection also divides by the objects that no
        row has: `RankingAccumulator` with `num_relevant`.
        """
        mean: Bounded = self._average("average_precision", "macro")
        return mean

    def versus(self, label: Label, other: Label) -> Curve:
        """Return the curve of a class against another one, from the examples of these two alone.

        It needs an accumulator made with ``measures=["one_vs_one"]``.

        Parameters
        ----------
        label : label
            The positive class, whose scores are used.
        other : label
            The negative class.
        """
        self._check_pairs()
        first, second = map(self._position, (label, other))
        if first is None or second is None or first == second:
            raise InvalidInputError(
                f"must be two classes, got {label!r} and {other!r}", argument="label"
            )
        return self._versus(first, second)

    def _versus(self, first: int, second: int) -> Curve:
        position = first * (len(self) - 1) + second - (second > first)
        curve = Curve(self._pairs[position], self._skipped)
        return self._derived(curve, "_versus", first, second)

    def _one_vs_one(self, *, weighted: bool) -> Bounded:
        """Average the areas of all ordered pairs of classes that both occur."""
        self._check_pairs()
        pairs = [self._versus(*pair) for pair in permutations(range(len(self)), 2)]
        weights = [float(pair.n) if weighted else 1.0 for pair in pairs]
        return mean_of([pair.roc_auc for pair in pairs], weights)

    def _check_pairs(self) -> None:
        if not self._pairs:
            raise InvalidInputError(
                'must hold "one_vs_one" when the accumulator is made', argument="measures"
            )

    def _of_pairs(self) -> list[Metric]:
        """List the metrics of pairs of classes, if they are kept."""
        return [row for row in self._rows.listed(self) if row.measured]

    @property
    def _can_pool(self) -> bool:
        return self._n.to_fraction() * len(self) <= MAX_TOTAL

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        state = "exact" if self.exact else "bins of several scores"
        readings = self.readings(level)
        classes = self._classes(0.0).grid(max_classes, has_ends=False, widths={"roc_auc": 10})
        paired = [row.name for row in self._of_pairs()]
        shown_again = {
            name: reading
            for name, reading in readings.items()
            if name in paired or reading.is_open or reading.sampling
        }
        sizes = f"n = {self.n:,}, {len(self):,} classes, {state}"
        return [sizes, classes, *([reading_grid(shown_again, level)] if shown_again else [])]

    _REPORT = Report(_sheet, findings=findings.of_classes)

    def explain(self) -> str:
        """Explain in words what limits the numbers of each class."""
        named = self._by(self.class_names).items()
        return "\n\n".join(f"class {name}\n{curve.explain()}" for name, curve in named)

    def _largest(self, request: PlotRequest) -> Several:
        """Show the curves of the largest classes."""
        largest, picture = self._of_both_classes(), Curve.PICTURES[request.kind]
        if not largest:
            raise InvalidInputError(
                "needs a class that some examples have and some have not", argument="plot"
            )
        shown: dict[Any, Any] = {
            of: picture(one, request) for of, one in largest[: request.max_classes]
        }
        return Several(shown, len(self))

    PICTURES: ClassVar = dict.fromkeys(Curve.PICTURES, _largest)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"ClassCurves(n={self.n}, classes={len(self)}, roc_auc={self.roc_auc:.6g}, "
            f"mean_average_precision={self.mean_average_precision:.6g})"
        )

    def _of_both_classes(self) -> list[tuple[Label, Curve]]:
        """List the classes with positives and negatives, those with most positives first."""
        named = self._by(self.class_names).items()
        both = [(name, curve) for name, curve in named if curve.n_pos and curve.n_neg]
        return sorted(both, key=lambda item: -item[1].n_pos)

    def _lines(self) -> list[Several]:
        """Trace the curves of the largest classes."""
        if not self._of_both_classes():
            return []
        titles = {"pr": "Precision over recall", "roc": "ROC curves"}
        return [
            self._largest(PlotRequest(None, kind, max_classes=MAX_DRAWN))._replace(title=title)
            for kind, title in titles.items()
        ]

    _PAGE: ClassVar = {
        "heading": lambda one, _: f"Precision, recall and ROC of {len(one):,} classes",
        "common_heading": "Precision, recall and ROC of classes",
        "title": "Averages",
        "by_class": lambda one, _: one._classes(0.0).block(
            caption="Each class against the rest.", position="beside", drawn=("ROC AUC",)
        ),
        "above": lambda one, _: one._lines(),
    }

    def _of_class(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked | None:
        """Find a metric of the curve of a class, or the row of an average."""
        name, of = metric.name, metric.of
        if of is None:
            return None
        if of in AVERAGES:
            averaged = [row.name for row in self.TABLE.values() if row.averages]
            if name not in averaged:
                raise UnknownMetricError(f"no metric {name!r}: {nearest(name, averaged)}")
            return self._asked_of_all(MetricName(f"{name}_{of}"), args, options)
        return self._named_class(of, AVERAGES)._asked(MetricName(name), args, options)

    def _classes(self, level: float) -> ItemAxis:
        """Read the metrics of each curve."""
        averaged = {row.name: row.heading for row in self.TABLE.values() if row.averages}

        def read(name: str) -> Readings:
            return self._each("n_pos" if name == _POSITIVES else name, level)

        def average(name: str, how: str) -> Reading | None:
            return None if name == _POSITIVES else self.read(f"{name}[{how}]", level=0.0)

        keys, shown = named_classes(self.class_names, self.labels), {_POSITIVES: "Positives"}
        averages = {f"{how} mean": how for how in HOW}
        metrics = self._parts[0]._names()
        return ItemAxis(keys, metrics, read, averaged | shown, averages, average)

    _PER_ITEM = PerItem(
        "class",
        _classes,
        in_json=True,
        results=lambda curves: curves._by(curves.class_names),
        asked=_of_class,
    )

    def _average(self, name: str, average: Any = "macro") -> Any:
        if average is not None:
            one_of(average, ("macro", "micro", "weighted"), name="average")
        if average == "micro":
            return getattr(self._pooled, name)
        values = self._of_each[name]
        return values if average is None else mean_of(values, self._weights(average))

    def _weights(self, average: str) -> list[float]:
        """Return the weight of each class in an average."""
        return [float(one.n_pos) if average == "weighted" else 1.0 for one in self.values()]


_POSITIVES = "positives"


add_members(ClassCurves)
