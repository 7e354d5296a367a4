"""The result of `PRCurveSketch` with classes: one curve for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import permutations
from typing import Any, ClassVar

import attrs

from streameval.configs.names import nearest
from streameval.configs.options import one_of
from streameval.errors import CountOverflowError, InvalidInputError, UnknownMetricError
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.inputs.classes import Label
from streameval.metrics.bounded import Bounded, Interval, mean_of
from streameval.metrics.points import CellTable
from streameval.metrics.table import (
    EXAMPLES,
    SHARE,
    Metric,
    Reading,
    Table,
    always,
    count_row,
    never,
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
from streameval.results.result import Report, not_measured
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

    TASK = "binary"
    _DETAILS: ClassVar = CLASS_DETAILS
    MADE_BY = "PRCurveSketch"
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
        "classes": lambda one, _: one.class_names,
    }

    def _of_class(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked | None:
        """Find a metric of the curve of a class, or the row of an average."""
        name, of = metric.name, metric.of
        if of is None:
            return None
        if of in _AVERAGES:
            averaged = [row.name for row in self.TABLE.values() if row.averages]
            if name not in averaged:
                raise UnknownMetricError(f"no metric {name!r}: {nearest(name, averaged)}")
            return self._asked_of_all(MetricName(f"{name}_{of}"), args, options)
        return self._named_class(of, _AVERAGES)._asked(MetricName(name), args, options)

    def _classes(self, level: float) -> ItemAxis:
        """Read the metrics of each curve."""
        averaged = {row.name: row.heading for row in self.TABLE.values() if row.averages}

        def read(name: str) -> Readings:
            return self._each("n_pos" if name == _POSITIVES else name, level)

        def average(name: str, how: str) -> Reading | None:
            return None if name == _POSITIVES else self.read(f"{name}[{how}]", level=0.0)

        keys, shown = named_classes(self.class_names, self.labels), {_POSITIVES: "Positives"}
        averages = {f"{how} mean": how for how in _HOW}
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
_AVERAGES = {
    "macro": "the mean over the classes where it is defined",
    "micro": "of the pooled scores",
    "weighted": "the mean weighted by the positives",
}
_HOW = {"macro": "mean over classes", "weighted": "weighted by positives", "micro": "pooled"}


def _averaged(name: str, **row: Any) -> Metric:
    """Make the row of averages of a metric of curves."""
    of_curve = Curve.TABLE[name]

    def check_draws(curves: ClassCurves, average: str = "macro") -> None:
        one_of(average, ("macro", "weighted"), name="average")
        for curve in curves.values():
            of_curve.check_draws(curve)

    def sampling(curves: ClassCurves, mean: Bounded, z: float, average: str = "macro") -> Interval:
        """Compute the interval of a mean, wide enough for every dependence between the classes."""
        values = curves._average(name, None)
        every = zip(curves.values(), values, strict=True)
        ends = [of_curve.interval(curve, value, z) for curve, value in every]
        weights = curves._weights(average)
        low, high = (
            float(mean_of([Bounded(end) for end in side], weights))
            for side in zip(*ends, strict=True)
        )
        if average == "macro":
            return low, high
        # the weights are shares of the rows, which another sample would have drawn otherwise
        apart = [
            weight * (value - mean) ** 2
            for value, weight in zip(values, weights, strict=True)
            if weight and not math.isnan(value)
        ]
        reach = z * math.sqrt(math.fsum(apart)) / math.fsum(weights)
        return max(low - reach, 0.0), min(high + reach, 1.0)

    defaults: dict[str, Any] = {
        "aliases": of_curve.aliases,
        "heading": of_curve.heading,
        "formula": of_curve.formula,
        "certified": True,
        "averages": _AVERAGES,
        "better": "higher",
        "limits": SHARE,
        "sampling": sampling,
        "check_draws": check_draws,
        "why_none": "fractional weights have none",
        "why_no_evidence": f"an average over classes has no variance. Name a class: {name}[LABEL]",
    }
    return Metric(name=name, **defaults | row)


def class_wise_ece(curves: ClassCurves, bins: int = 15) -> Bounded:
    """Compute the mean over all classes of the calibration error of each, in [0, 1].

    It finds errors that the error of the most probable class misses; for probabilities. Call
    it for another number of bins.

    Parameters
    ----------
    bins : int
        The number of bins, from 1 to 65,536.

    Examples
    --------
    >>> import streameval as se
    >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
    >>> curves = se.PRCurveSketch(classes=3).update([0, 1, 2], scores).compute()
    >>> f"{curves.class_wise_ece:.3f}", f"{curves[0].ece:.3f}", f"{curves[0].ece(bins=2):.3f}"
    ('0.333', '0.333', '0.200')
    """
    values = [curve.ece(bins) for curve in curves.values()]
    return mean_of(values, [1.0] * len(values))


def _of_pairs(name: str, *, weighted: bool, **row: Any) -> Metric:
    """Make the row of an average over pairs of classes."""
    return Metric(
        name=name,
        value=lambda curves: curves._one_vs_one(weighted=weighted),
        better="higher",
        limits=SHARE,
        certified=True,
        oracle='scikit-learn, roc_auc_score with multi_class="ovo"',
        listed=lambda curves: bool(curves._pairs),
        absent=not_measured(name),
        measured=True,
        why_no_evidence="an average over pairs of classes has no variance that is known",
        **row,
    )


ClassCurves.TABLE = Table(
    EXAMPLES,
    count_row(
        "n_averaged",
        "Classes with a positive",
        "The number of classes with a positive, which mean_average_precision averages.",
        value=lambda curves: sum(curve.n_pos > 0 for curve in curves.values()),
    ),
    _averaged(
        "roc_auc",
        help="The area under the ROC curves, each class against the rest.",
        oracle="scikit-learn, roc_auc_score of each class",
        headline=1,
    ),
    _averaged(
        "average_precision",
        aliases=(*Curve.TABLE["average_precision"].aliases, "map", "mean_average_precision"),
        help="The average precision, each class against the rest.",
        oracle="scikit-learn, average_precision_score of each class",
        headline=2,
    ),
    _of_pairs(
        "roc_auc_ovo",
        weighted=False,
        aliases=("hand_till", "hand_till_m", "m_measure", "one_vs_one", "multiclass_auc"),
        heading="ROC AUC, one against one",
        help="The mean area under the ROC curves of each class against each other one.",
        notes="Hand and Till's M (A simple generalisation of the area under the ROC curve, 2001): "
        "A(i|j) is the area of class i against j by the scores of i. Over the pairs of classes "
        "that both occur.",
        formula=r"\frac{1}{K (K - 1)} \sum_{i \ne j} A(i|j)",
    ),
    _of_pairs(
        "roc_auc_ovo_weighted",
        weighted=True,
        heading="ROC AUC, one against one, weighted",
        help="The mean area under the ROC curves of each class against each other one, weighted by "
        "the examples of both.",
        formula=r"\frac{\sum_{i \ne j} (n_i + n_j) A(i|j)}{\sum_{i \ne j} (n_i + n_j)}",
    ),
    Metric(
        name="class_wise_ece",
        value=class_wise_ece,
        documentation=class_wise_ece.__doc__ or "",
        limits=SHARE,
        aliases=("classwise_ece", "static_calibration_error", "sce", "cw_ece"),
        heading="Class-wise calibration error",
        help="The mean over all classes of the calibration error of each, in [0, 1].",
        notes="It finds errors that the error of the most probable class misses; for "
        "probabilities.",
        formula=r"\frac1K \sum_k \sum_b \frac{n_{kb}}n |\bar y_{kb} - \bar s_{kb}|",
        arguments=("bins=15",),
        better="lower",
        certified=True,
        oracle="the definition, bin by bin of each class",
        listed=lambda curves: curves.has_probabilities,
        on_request=True,
        why_no_evidence="it is not a proportion of examples, and no variance is known of it",
    ),
    of_result=lambda _: _ROWS,
)


def _rows_of_averages() -> Iterator[Metric]:
    """Make a row for each average of each metric, the pooled ones last."""
    rows = [row for row in ClassCurves.TABLE.values() if row.averages]
    for chosen in (("macro", "weighted"), ("micro",)):
        for row in rows:
            for average in chosen:
                is_pooled = average == "micro"  # of scores of the same rows
                sampling = None if is_pooled else row.sampling
                yield attrs.evolve(
                    row,
                    name=f"{row.name}_{average}",
                    heading=f"{row.heading}, {_HOW[average]}",
                    notes=f"{average.capitalize()}: {row.averages[average]}.",
                    value=partial(_average_of, name=row.name, average=average),
                    averages={},
                    sampling=sampling and partial(sampling, average=average),
                    why_none=row.why_none if sampling else "",
                    listed=always,
                    headline=row.headline if average == "macro" else 0,
                )


def _average_of(curves: ClassCurves, name: str, average: str) -> Any:
    if average == "micro" and not curves._can_pool:
        return Bounded(math.nan)
    return curves._average(name, average)


def _own_rows() -> Iterator[Metric]:
    rows = ClassCurves.TABLE.values()
    yield from (row for row in rows if row.is_count)
    yield from _rows_of_averages()
    yield from (attrs.evolve(row, listed=never) for row in rows if row.averages)
    yield from (row for row in rows if not (row.is_count or row.averages))


_ROWS: Table = Table(*_own_rows())
"""The rows of a result: those of averages have their own names."""

add_members(ClassCurves)
