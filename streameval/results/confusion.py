"""The result of `ConfusionAccumulator`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats, Ints
from streameval.inputs.classes import Label
from streameval.metrics import confusion_table as functions
from streameval.metrics.evidence import Share
from streameval.metrics.intervals import UNDEFINED, normal_quantile
from streameval.metrics.label_counts import LabelCounts
from streameval.metrics.table import Metric, Reading, accept
from streameval.render.blocks import Matrix
from streameval.render.plots import PlotRequest
from streameval.render.sheets import Sheet, reading_grid
from streameval.render.text import fixed, shorten
from streameval.results import findings
from streameval.results.classes import CLASS_DETAILS, OfClasses
from streameval.results.members import ConfusionMembers, add_members
from streameval.results.metric_values import ClassAverages, FAverages, MetricValue
from streameval.results.names import MetricName
from streameval.results.reading import Asked
from streameval.results.result import Report
from streameval.results.tables import ItemAxis, PerItem, Readings, named_classes

if TYPE_CHECKING:
    from streameval.metrics.confusion import Average

ClassCounts = int | float | Ints | Floats


@attrs.frozen(repr=False, eq=False)
class Confusion(ConfusionMembers, OfClasses["Confusion"]):
    """Counts of truth against prediction, and every metric computed from them.

    Made by `ConfusionAccumulator.compute`. The counts are sums of weights: int64 while all weights
    are whole, float64 after a fraction. Metrics are floats. Metrics per class are one-vs-rest.

    Notes
    -----
    The interval of `confidence` is Wilson's, with exact counts of draws for accuracy and the ratios
    of one class, and an effective number of draws for averages, F and top-k. Correlations have
    Fisher's interval. For multilabel averages it is conservative, however the labels depend on each
    other. It is nan where the metric is undefined, whatever `zero_division` is.

    Examples
    --------
    Every metric of four examples, then those of two classes, and of labels:

    >>> import streameval as se
    >>> acc = se.ConfusionAccumulator(3, top_k=2, measures=["top_k"])
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]]
    >>> result = acc.update([0, 1, 2, 2], scores).compute()
    >>> for name in result.readable():
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    n                               4.0000
    n_averaged                      3.0000
    accuracy                        0.7500
    top_k_accuracy                  1.0000
    top_k_precision                 1.0000
    top_k_recall                    1.0000
    top_k_f_score                   1.0000
    balanced_accuracy               0.8333
    precision                       0.8333
    recall                          0.8333
    specificity                     0.8889
    f_score                         0.7778
    jaccard                         0.6667
    fowlkes_mallows                 0.8047
    matthews_corrcoef               0.7000
    cohen_kappa                     0.6364
    zero_one_loss                   0.2500
    geometric_mean                  0.7937
    cohen_kappa_linear              0.7143
    cohen_kappa_quadratic           0.8000
    mean_class_distance             0.2500
    negative_predictive_value       0.8889
    false_positive_rate             0.1111
    false_negative_rate             0.1667
    false_discovery_rate            0.1667
    false_omission_rate             0.1111

    >>> result = se.ConfusionAccumulator().update([1, 0, 1, 1, 0], [1, 0, 0, 1, 1]).compute()
    >>> for name in ("selection_rate", "positive_likelihood_ratio", "negative_likelihood_ratio"):
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    selection_rate                  0.6000
    positive_likelihood_ratio       1.3333
    negative_likelihood_ratio       0.6667
    >>> for name in ("informedness", "markedness"):
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    informedness                    0.1667
    markedness                      0.1667

    >>> acc = se.ConfusionAccumulator(2, multilabel=True)
    >>> result = acc.update([[1, 0], [1, 1]], [[1, 1], [1, 1]]).compute()
    >>> result.hamming_loss
    0.25
    """

    TABLE = functions.TABLE
    _DETAILS: ClassVar = {**CLASS_DETAILS, "matrix": lambda result, _: result.matrix.tolist()}
    ALONE = "a matrix shows one state"

    _source: LabelCounts  # pyright: ignore[reportIncompatibleMethodOverride]

    def _part(self, position: int) -> Confusion:
        """Count a class against the rest: the result is of two classes, and it is positive."""
        return Confusion(self._source.of_class(position))

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        return self._source.n

    @property
    def labels(self) -> tuple[Label, ...]:
        """The K classes, in the order of rows and columns."""
        return self._source.labels

    @property
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the classes; by default the labels."""
        return self._source.class_names

    @property
    def matrix(self) -> Ints | Floats:
        """The confusion matrix.

        Shape ``(K, K)``, rows truth and columns prediction; for multilabel ``(K, 2, 2)``,
        one table ``[[tn, fp], [fn, tp]]`` per label.
        """
        return self._source.matrix

    def normalized_matrix(self, normalize: Literal["true", "pred", "all"] = "true") -> Floats:
        """Compute the confusion matrix as shares.

        Parameters
        ----------
        normalize : {"true", "pred", "all"}
            The total of the shares: each true class (rows add up to 1), each predicted class
            (columns add up to 1), or all examples. As in scikit-learn, 0 if the total is 0.

        Returns
        -------
        array of shape (K, K), or (K, 2, 2) for multilabel

        Examples
        --------
        >>> import streameval as se
        >>> result = se.ConfusionAccumulator().update([0, 1, 1, 1], [0, 1, 0, 0]).compute()
        >>> result.normalized_matrix().round(2).tolist()
        [[1.0, 0.0], [0.67, 0.33]]
        """
        over = {"true": (-1,), "pred": (-2,), "all": (-2, -1)}.get(normalize)
        if over is None:
            raise InvalidInputError(
                f'must be "true", "pred" or "all", got {normalize!r}', argument="normalize"
            )
        matrix = self.matrix.astype(np.float64)
        totals = matrix.sum(axis=over, keepdims=True)
        np.divide(matrix, totals, out=matrix, where=totals > 0)
        return matrix

    @property
    def support(self) -> ClassCounts:
        """The weight of the positive class of two in the truth, else an array of shape ``(K,)``."""
        support: ClassCounts = functions.outcome(self._source, "support")
        return support

    @property
    def top_k_accuracy(self) -> float:
        """The share of examples whose true class is among the `top_k` best scores.

        A tie at the cutoff gets its average credit over all orders, so a constant score gives
        ``k / K``. For predicted labels this is the accuracy.
        """
        return float(self.value("top_k_accuracy"))

    @property
    def top_k_precision(self) -> MetricValue[ClassAverages]:
        """Precision where a true class among the `top_k` best scores counts as the prediction.

        Else the class of the highest score is. Tied classes come in the order of the columns.
        It is kept with ``measures=["top_k"]``.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.ConfusionAccumulator(3, top_k=2, measures=["top_k"])
        >>> result = acc.update([1, 2], [[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]]).compute()
        >>> result.top_k_precision(average=None).tolist(), result[2].top_k_recall
        ([0.0, 1.0, 0.0], 0.0)
        """
        made: MetricValue[ClassAverages] = self._attribute("top_k_precision")
        return made

    @property
    def f_score(self) -> MetricValue[FAverages]:
        """(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP), with b = `beta`.

        The weighted harmonic mean of precision and recall; recall counts `beta` times as much.
        It is 1 until another one is passed, as in ``f_score(2.0)``.
        """
        made: MetricValue[FAverages] = self._attribute("f_score")
        return made

    def _clustered(
        self, asked: Asked, value: Any, z: float, of_rows: tuple[Any, Any] | None
    ) -> tuple[Any, Any]:
        """Compute the interval of a metric for clusters: without one, a label may be missing."""
        if not isinstance(value, np.ndarray):
            return super()._clustered(asked, value, z, of_rows)
        asked = attrs.evolve(asked, options={**asked.options, "zero_division": math.nan})

        def read(one: Confusion) -> Any:
            found = dict(zip(one.labels, asked.of(one).tolist(), strict=True))
            return np.array([found.get(label, math.nan) for label in self.labels])

        clusters: Any = self._clusters
        ends: tuple[Any, Any] = clusters.interval(value, read, asked.row.limits, z, of_rows)
        return ends

    @property
    def scope(self) -> str:
        """The default meaning of per-class metrics, which is the positive class or a mean."""
        if self._source.config.is_binary:
            return f"per-class metrics are for class {shorten(self._source.config.positive_name)}"
        classes = "1 class" if self.n_averaged == 1 else f"{self.n_averaged:,} classes"
        return f"per-class metrics are means over {classes} (macro)"

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The scalar metrics that are defined for these labels, in the order of the report."""
        return tuple(self._metric_names())

    def _matrix(self, _: PlotRequest) -> Matrix:
        if self.matrix.ndim == 3:
            raise InvalidInputError(
                "draws one matrix; multilabel counts have one a label", argument="plot"
            )
        return Matrix(self.class_names, self.matrix, f"accuracy {self.accuracy:.4f}")

    PICTURES: ClassVar = {"matrix": _matrix}

    def measured(self) -> tuple[str, ...]:
        """List the metrics of the best k scores, and means over examples."""
        of_examples = ("precision", "recall", "f_score") if self._source.has_examples else ()
        return (*super().measured(), *(f"{name}[samples]" for name in of_examples))

    def meaning(self, name: str) -> str:
        """Explain a metric, and how it is averaged if there are several classes."""
        row = self.TABLE[name]
        if not row.averages or self._is_binary:
            return row.meaning
        return f"{row.meaning} Here macro: {row.averages['macro']}."

    def _picture(self, _: float) -> list[Matrix | None]:
        has_one = self.matrix.ndim == 2 and len(self.labels) > 0
        return [Matrix(self.class_names, self.matrix) if has_one else None]

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"Confusion(n={self.n}, classes={len(self.class_names)}, "
            f"accuracy={self.accuracy:.6g}, f_score={self.f_score:.6g})"
        )

    @property
    def _is_binary(self) -> bool:
        return self._source.config.is_binary

    def _shown(self, level: float) -> dict[str, Reading]:
        readings = self.readings(level).items()
        return {name: reading for name, reading in readings if not reading.is_count}

    def _of_class(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked | None:
        """Find an average of a metric; one of a class is that of its counts and the rest."""
        of, row = metric.of, self.TABLE.get(metric.name)
        if of is None or row is None or not row.averages:
            return None
        if args or options:
            raise InvalidInputError("takes no arguments", argument=str(metric))
        asked = self._asked_of_all(MetricName(metric.name))
        averages, (average, colon, names) = asked.row.averages, of.partition(":")
        position = self._position(of)
        if position is not None:
            return Asked(self._parts[position], asked.row)
        if average in averages and not colon:
            self._source.resolve(cast("Average", average))  # refuses an average that is not kept
            return attrs.evolve(asked, options={"average": average})
        if not self.labels:  # none has been observed yet
            return attrs.evolve(asked, row=_unobserved(asked.row, is_class=average not in averages))
        if average not in averages:
            others = [] if self._source.has_examples else ["samples"]
            held = [name for name in averages if name not in others]
            raise self._unknown_class(of, held)
        known = self._source.position_of
        named = [self.labels[known(name)] for name in names.split(",")]
        return attrs.evolve(asked, options={"average": average, "labels": named})

    def subject(self) -> dict[str, Any]:
        """Say how much was counted, and what per-class metrics refer to."""
        return super().subject() | {"scope": self.scope}

    def _classes(self, level: float) -> ItemAxis:
        """Read the metrics of each class, against the rest."""
        shown = {row.name: row.heading for row in self.TABLE.by_class} | {"support": "Examples"}
        support, z = self._source.outcomes.support, normal_quantile(level)
        options: Any = {"average": None, "zero_division": math.nan}

        def read(name: str) -> Readings:
            if name == "support":
                return Readings(support.to_numbers().tolist(), is_count=True)
            row = self.TABLE[name]
            values = row.value(self._source, **options)
            ends = self._sampling(row, values, z, **options) if z else None
            pairs = [] if ends is None else zip(*(side.tolist() for side in ends), strict=True)
            return Readings(
                row.value(self._source, average=None).tolist(),
                sampling=[None if math.isnan(pair[0]) else pair for pair in pairs],
                undefined={*np.flatnonzero(np.isnan(values)).tolist()},
            )

        def average(name: str, how: str) -> Reading:
            if name == "support":
                total = sum(support.units()) * support.unit
                return Reading(int(total) if support.is_whole else float(total))
            row = self.TABLE[name]
            value = row.value(self._source, average=how)
            return row.reading(self._source, value, 0.0, average=how)

        keys = named_classes(self.class_names, self.labels)
        averages = {f"{how} mean": how for how in ("macro", "weighted")}
        return ItemAxis(keys, [*shown], read, shown, averages, average)

    _PER_ITEM = PerItem("class", _classes, in_json=True, asked=_of_class)

    def _heading(self, _: float) -> str:
        if self.matrix.ndim == 3:
            return f"Multilabel classification, {len(self.class_names):,} labels"
        if self._is_binary:
            return "Binary classification"
        return f"Classification into {len(self.class_names):,} classes"

    def _caption(self, _: float) -> str:
        """Say which classes enter the averages of per-class metrics."""
        if not self._is_binary:
            return "Per-class metrics are means over the classes (macro)."
        of = shorten(self._source.config.positive_name)
        return f"Per-class metrics are for class {of}, the positive one."

    _PAGE: ClassVar = {
        "heading": _heading,
        "common_heading": "Classification",
        "caption": _caption,
        "common_caption": "Per-class metrics are for the positive class of each state.",
        "by_class": lambda one, level: one._classes(level).block(drawn=("Recall", "Precision")),
        "beside": _picture,
        "form": lambda one, _: (one.matrix.ndim, one._is_binary),
    }

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        classes = self._classes(0.0).grid(
            max_classes,
            order=np.flatnonzero(self._source.averaged).tolist(),
            write=lambda values, _: [fixed(value, 4) for value in values],
            widths={"precision": 11, "recall": 9, "f_score": 9},
        )
        metrics = reading_grid(self._shown(level), level, decimals=4, caption=self.scope)
        return [*filter(None, self._picture(level)), classes, metrics]

    _REPORT = Report(_sheet, scope=lambda one: one.scope, findings=findings.of_confusion)


def _unobserved(row: Metric, *, is_class: bool) -> Metric:
    """Make the row of a class that may still appear, or of an average over such classes."""
    draws = row.evidence and (lambda _: Share.of(0.0, 0.0))
    return attrs.evolve(
        row,
        value=lambda _: math.nan,
        sampling=lambda *_: UNDEFINED,
        check_draws=accept,
        why_none="",
        evidence=draws if is_class else row.evidence,
    )


add_members(Confusion)
