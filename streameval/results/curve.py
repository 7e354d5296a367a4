"""The result of `PRCurveSketch`: one curve."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.calibration import number_of_bins
from streameval.configs.confusion import ConfusionConfig
from streameval.configs.options import finite_number, one_of, real_number
from streameval.errors import InvalidInputError, Named
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import as_array, as_scores, check_vector
from streameval.metrics import average_precision as areas
from streameval.metrics import curves, envelope, loss_bounds, operating_points, thresholds
from streameval.metrics.bounded import Bounded
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.label_counts import LabelCounts
from streameval.metrics.points import CellTable
from streameval.metrics.thresholds import ThresholdRates, outcome_at, rates_at
from streameval.render import notebook, plots
from streameval.render.blocks import (
    BandedLine,
    Curves,
    Description,
    Findings,
    Lines,
    ReliabilityDiagram,
    Row,
)
from streameval.render.text import plural
from streameval.results import curve_lines
from streameval.results.calls import CalledMetrics
from streameval.results.confusion import Confusion
from streameval.results.curve_metrics import CURVE_METRICS, threshold_value
from streameval.states.confusion import MatrixCounts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve"]

Floats = npt.NDArray[np.float64]
Number = int | float

_TIES_WORTH_SAYING = 0.001
_SATURATION_WORTH_SAYING = 0.01

PR = Curves(
    "Precision over recall",
    "Recall",
    "Precision",
    "average precision",
    "Precision over recall",
)
ROC = Curves(
    "ROC curve",
    "False positive rate",
    "True positive rate",
    "ROC AUC",
    "ROC curves",
    has_chance=True,
)


@attrs.frozen(repr=False, eq=False, slots=False)
class Curve(CalledMetrics):
    """Outcomes at every threshold, and the metrics computed from them.

    Made by `PRCurveSketch.compute`. Metrics are `Bounded`: floats with an interval that contains
    the exact value on all the data. While every distinct score has its own cell, the interval is
    one point, and the value is scikit-learn's. Undefined metrics are nan.
    """

    TABLE = CURVE_METRICS
    TASK = "binary"
    MADE_BY = "PRCurveSketch"
    PICTURES = ("pr", "roc", "det", "reliability", "score")

    _table: CellTable
    _skipped: FixedPoint

    @property
    def n(self) -> Number:
        """The sum of the weights of all examples."""
        return self._table.n

    @property
    def n_pos(self) -> Number:
        """The weight of the positives."""
        return self._table.n_pos

    @property
    def n_neg(self) -> Number:
        """The weight of the negatives."""
        return self._table.n_neg

    @property
    def n_skipped(self) -> Number:
        """The weight of the examples left out for a score that is NaN."""
        number: Number = self._skipped.to_numbers().item()
        return number

    @property
    def exact(self) -> bool:
        """Whether every distinct score has its own cell."""
        return self._table.is_exact

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self._table.lo)

    @property
    def resolution(self) -> float:
        """The width in score of the widest cell of several scores; 0.0 if there is none."""
        return self._table.resolution

    @property
    def roc_auc(self) -> Bounded:
        """The area under the ROC curve, in [0, 1]; nan unless both classes occur.

        The probability that a positive scores above a negative, ties counting half. An
        estimate is the middle of its interval, whose width is the sum over cells of several
        scores of ``pos * neg / (n_pos * n_neg)``.
        """
        return envelope.roc_auc(self._table)

    @property
    def average_precision(self) -> Bounded:
        """Precision summed over the steps of recall, in [0, 1]; nan without a positive."""
        return areas.average_precision(self._table)

    @property
    def average_precision_interpolated(self) -> Bounded:
        """Average precision, with the highest precision at each recall or above."""
        return areas.average_precision_interpolated(self._table)

    @property
    def average_precision_11pt(self) -> Bounded:
        """The mean over recalls 0, 0.1, ..., 1 of the highest precision there or above."""
        return areas.average_precision_11pt(self._table)

    @property
    def pr_auc(self) -> Bounded:
        """The area of the trapezoids under the precision-recall points; nan without a positive.

        It interpolates linearly where `average_precision` steps.
        """
        return areas.pr_auc(self._table)

    @property
    def pr_auc_davis_goadrich(self) -> Bounded:
        """The area under the precision-recall points, joined as those of the ROC curve.

        Between two points, false positives rise at a constant rate with true ones, which is not
        a straight line in precision and recall; nan without a positive (Davis and Goadrich,
        2006).

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> round(curve.pr_auc_davis_goadrich, 4), round(curve.pr_auc, 4)
        (0.7973, 0.7917)
        """
        return areas.pr_auc_davis_goadrich(self._table)

    @property
    def ks(self) -> Bounded:
        """The Kolmogorov-Smirnov statistic, in [0, 1]: the max of ``|tpr - fpr|``."""
        return envelope.ks(self._table)

    @property
    def brier(self) -> Bounded:
        """The mean of ``(score - label)**2``, in [0, 1]; for probabilities."""
        return loss_bounds.brier(self._probabilities("brier"))

    @property
    def log_loss(self) -> Bounded:
        """The mean of minus the log of the probability of the truth; for probabilities.

        Probabilities are clipped at float64's eps, so it is at most 36.05.
        """
        return loss_bounds.log_loss(self._probabilities("log_loss"))

    def ece(self, bins: int = 15) -> Bounded:
        """Compute the expected calibration error, in [0, 1]; for probabilities.

        ``|mean label - mean score|`` in each of `bins` bins ``[i/bins, (i+1)/bins)``, the last
        closed, weighted by their examples (Naeini, Cooper and Hauskrecht, 2015).

        Parameters
        ----------
        bins : int
            The number of bins, from 1 to 65,536.
        """
        table = self._probabilities("ece")
        return loss_bounds.ece(table, number_of_bins(bins))

    def adaptive_ece(self, bins: int = 15) -> Bounded:
        """Compute the calibration error of bins of equal mass, in [0, 1]; for probabilities.

        ``|mean label - mean score|`` in each of `bins` bins that hold the same share of the
        examples, by rising score, averaged (Nixon et al., 2019). A row, or rows of one score, that
        an edge cuts count in both bins by their shares.

        Parameters
        ----------
        bins : int
            The number of bins, from 1 to 65,536.

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.9]).compute()
        >>> f"{curve.adaptive_ece(2):.3f}", f"{curve.ece(2):.3f}"
        ('0.225', '0.125')
        """
        table = self._probabilities("adaptive_ece")
        return loss_bounds.adaptive_ece(table, number_of_bins(bins))

    def partial_roc_auc(self, max_fpr: float) -> Bounded:
        """Compute the area up to a false positive rate, standardised (McClish, 1989).

        Parameters
        ----------
        max_fpr : float
            From 2**-1000 to 1.

        Returns
        -------
        Bounded
            0.5 for chance and 1 for a perfect order; nan unless both classes occur.
        """
        limit = _false_positive_rate(max_fpr)
        return envelope.of_sums(self._table, lambda points: curves.partial_roc_auc(points, limit))

    def precision_at(self, threshold: float) -> Bounded:
        """Compute the share of positives among scores of at least a threshold, 0 without any."""
        return thresholds.precision_at(self._table, threshold_value(threshold))

    def recall_at(self, threshold: float) -> Bounded:
        """Compute the share of the positives that score at least a threshold.

        nan without a positive.
        """
        return thresholds.recall_at(self._table, threshold_value(threshold))

    def f_at(self, threshold: float, beta: float = 1.0) -> Bounded:
        """Compute F at a threshold, 0 where nothing is positive or predicted so.

        Parameters
        ----------
        threshold : float
            A score of at least this is a positive prediction.
        beta : float
            At least 0; 1 weighs precision and recall alike.
        """
        threshold = threshold_value(threshold)
        return thresholds.f_at(self._table, threshold, _beta_value(beta))

    def at(self, thresholds: Any) -> ThresholdRates:
        """Compute precision, recall and the false positive rate at given thresholds.

        Parameters
        ----------
        thresholds : array of numbers, shape (m,)
            In any order. A score of at least a threshold is a positive prediction.

        Returns
        -------
        ThresholdRates
            `thresholds`, `precision`, `recall` and `fpr`: as `precision_at` and `recall_at`, each
            with its certified interval. `precision` is 0 where nothing is predicted, and a rate of
            an absent class is nan.

        Examples
        --------
        >>> import numpy as np
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> rates = curve.at([0.0, 0.4, 0.9])
        >>> rates.recall
        BoundedArray([1.0, 0.5, 0.0])
        >>> np.asarray(rates.precision).tolist(), rates.fpr[1]
        ([0.5, 0.5, 0.0], 0.5)
        """
        return rates_at(self._table, _threshold_values(thresholds))

    def recall_at_precision(self, p: float) -> Bounded:
        """Find the highest recall with a precision of at least `p`.

        0 where no threshold reaches `p`, and nan without a positive. Exact counts are compared with
        the simplest fraction that rounds to `p`: 9 of 10 reach 0.9.
        """
        min_precision = _rate(p, name="p")
        return envelope.of_shares(
            self._table, lambda points: curves.recall_at_precision(points, min_precision)
        )

    def precision_at_recall(self, r: float) -> Bounded:
        """Find the highest precision with a recall of at least `r`; nan without a positive.

        Recalls are compared as precisions are in `recall_at_precision`.
        """
        min_recall = _rate(r, name="r")
        return envelope.of_shares(
            self._table, lambda points: curves.precision_at_recall(points, min_recall)
        )

    def threshold_at_precision(self, p: float) -> Bounded:
        """Find the threshold of `recall_at_precision`.

        Of several with the highest recall, the one of the highest precision; nan if no threshold
        reaches `p`. The interval is the hull of the cells that can contain it.
        """
        return thresholds.threshold_at_precision(self._table, _rate(p, name="p"))

    def tpr_at_fpr(self, f: float) -> Bounded:
        """Find the highest true positive rate with a false positive rate of at most `f`.

        Rates are compared as precisions are in `recall_at_precision`. nan unless both classes
        occur.
        """
        return operating_points.tpr_at_fpr(self._table, _rate(f, name="f"))

    def fpr_at_tpr(self, t: float) -> Bounded:
        """Find the lowest false positive rate with a true positive rate of at least `t`, above 0.

        nan unless both classes occur.
        """
        return operating_points.fpr_at_tpr(self._table, _positive_rate(t, name="t"))

    def sensitivity_at_specificity(self, s: float) -> Bounded:
        """Find the highest sensitivity (recall) with a specificity of at least `s`.

        nan unless both classes occur.
        """
        return operating_points.sensitivity_at_specificity(self._table, _rate(s, name="s"))

    def specificity_at_sensitivity(self, s: float) -> Bounded:
        """Find the highest specificity with a sensitivity (recall) of at least `s`, above 0.

        nan unless both classes occur.
        """
        return operating_points.specificity_at_sensitivity(self._table, _positive_rate(s, name="s"))

    def threshold_at_fpr(self, f: float) -> Bounded:
        """Find the threshold of `tpr_at_fpr`, the highest of several.

        nan if no threshold that finds a positive is within it.
        """
        return operating_points.threshold_at_fpr(self._table, _rate(f, name="f"))

    def threshold_at_specificity(self, s: float) -> Bounded:
        """Find the threshold of `sensitivity_at_specificity`, the highest of several.

        nan if no threshold that finds a positive reaches it.
        """
        return operating_points.threshold_at_specificity(self._table, _rate(s, name="s"))

    def threshold_at_sensitivity(self, s: float) -> Bounded:
        """Find the highest threshold with a sensitivity (recall, TPR) of at least `s`, above 0.

        It is that of `specificity_at_sensitivity` and `fpr_at_tpr`; nan without a positive.
        """
        return operating_points.threshold_at_sensitivity(self._table, _positive_rate(s, name="s"))

    @property
    def equal_error_rate(self) -> Bounded:
        """The rate at which false positives and false negatives are equally frequent, in [0, 1].

        Where the ROC curve, its points joined by lines, has an FPR of 1 - TPR; nan unless both
        classes occur.
        """
        return operating_points.equal_error_rate(self._table)

    @property
    def equal_error_rate_threshold(self) -> Bounded:
        """The highest threshold at which the FPR is at least the false negative rate."""
        return operating_points.equal_error_rate_threshold(self._table)

    @property
    def youden_j(self) -> Bounded:
        """The max over thresholds of TPR - FPR, in [0, 1]; nan unless both classes occur."""
        return operating_points.youden_j(self._table)

    @property
    def youden_j_threshold(self) -> Bounded:
        """The threshold of the max of TPR - FPR, the highest of several."""
        return operating_points.youden_j_threshold(self._table)

    @property
    def gini(self) -> Bounded:
        """The Gini coefficient, 2 ROC AUC - 1, in [-1, 1]; nan unless both classes occur."""
        area = self.roc_auc
        return Bounded(*(2.0 * end - 1.0 for end in (area, area.low, area.high)))

    def precision_at_top(self, share: float) -> Bounded:
        """Compute the share of positives among the highest `share` of the examples, in (0, 1].

        Examples of one score are in any order, so it is the mean over all orders. nan without a
        positive.
        """
        return operating_points.precision_at_top(self._table, _positive_rate(share, name="share"))

    def recall_at_top(self, share: float) -> Bounded:
        """Compute the share of the positives among the highest `share` of the examples: the gain.

        Ties are as in `precision_at_top`; nan without a positive.
        """
        return operating_points.recall_at_top(self._table, _positive_rate(share, name="share"))

    def lift_at_top(self, share: float) -> Bounded:
        """Compute the precision of the highest `share` of the examples over that of all.

        1 is chance. Ties are as in `precision_at_top`; nan without a positive.
        """
        return operating_points.lift_at_top(self._table, _positive_rate(share, name="share"))

    def min_cost(
        self, fp_cost: float = 1.0, fn_cost: float = 1.0, prevalence: float | None = None
    ) -> Bounded:
        """Find the lowest expected cost of an example over all thresholds.

        ``prevalence * fn_cost * FNR + (1 - prevalence) * fp_cost * FPR``, where nothing predicted
        is a threshold too; nan unless both classes occur.

        Parameters
        ----------
        fp_cost, fn_cost : float
            The cost of a false positive and of a false negative, at least 0.
        prevalence : float, optional
            The share of positives where the scores will be used, in [0, 1]; by default that of
            the examples.
        """
        costs = _cost(fp_cost, name="fp_cost"), _cost(fn_cost, name="fn_cost")
        share = None if prevalence is None else _rate(prevalence, name="prevalence")
        return operating_points.min_cost(self._table, *costs, share)

    def best_f(self, beta: float = 1.0) -> tuple[Bounded, Bounded]:
        """Find the highest F and its threshold.

        Returns
        -------
        value : Bounded
            The highest F over all thresholds; nan without a positive.
        threshold : Bounded
            The threshold at which it is reached, the highest of several. Its interval is the
            hull of the cells that can contain it.
        """
        beta = _beta_value(beta)
        return self._best_f1 if beta == 1.0 else thresholds.best_f(self._table, beta)

    def confusion_at(
        self, threshold: float, *, bound: Literal["low", "high"] | None = None
    ) -> Confusion:
        """Count the outcomes at a threshold.

        Parameters
        ----------
        threshold : float
            A score of at least this is a positive prediction.
        bound : {"low", "high"}, optional
            For a threshold that divides a cell: the min true and the max false positives, or the
            reverse.

        Raises
        ------
        InvalidInputError
            When the threshold divides a cell and `bound` is left out; the message names the
            nearest thresholds whose counts are exact.
        """
        threshold = threshold_value(threshold)
        if bound is not None:
            one_of(bound, ("low", "high"), name="bound")
        table = self._table
        outcome = outcome_at(table, threshold)
        is_exact = outcome.min_tp == outcome.max_tp and outcome.min_fp == outcome.max_fp
        if not is_exact and bound is None:
            cell = int(np.searchsorted(-table.lo, -threshold, side="right"))
            below, above = float(table.lo[cell]), float(table.lo[cell - 1]) if cell else math.inf
            is_above = above > table.hi[cell]  # no threshold is above a score of infinity
            nearest = f"ones are {below!r} and {above!r}" if is_above else f"one is {below!r}"
            raise InvalidInputError(
                f"must not divide a cell, got {threshold!r}",
                argument="threshold",
                remedy=f'The nearest exact {nearest}; bound="low" and bound="high" give the ends.',
            )
        if bound == "high":
            return _confusion(table, threshold, outcome.max_tp, outcome.min_fp)
        return _confusion(table, threshold, outcome.min_tp, outcome.max_fp)

    def roc_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the ROC curve.

        Returns
        -------
        fpr, tpr, thresholds : float64 arrays, shape (m + 1,)
            At falling thresholds, from infinity on. Each point is exact. If the curve is exact,
            these are all its points, equal to scikit-learn's with ``drop_intermediate=False``.
            A rate of an absent class is nan.
        """
        return curves.roc_curve(self._table.estimate)

    def det_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the detection error tradeoff.

        Returns
        -------
        fpr, fnr, thresholds : float64 arrays, shape (m,)
            The false positive and the false negative rate at rising thresholds. As in scikit-learn,
            points beyond the ends are left out, where one rate is 0 and stays so. Each point is
            exact; if the curve is exact, these are scikit-learn's. A rate of an absent class is
            nan.

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> fpr, fnr, thresholds = curve.det_curve()
        >>> fpr.tolist(), fnr.tolist(), thresholds.tolist()
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.35, 0.4, 0.8])
        """
        return curves.det_curve(self._table.estimate)

    def gain_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the cumulative gain, which over `share` is the lift.

        Returns
        -------
        share, recall, thresholds : float64 arrays, shape (m + 1,)
            The share of the examples that score at least a threshold, and the share of the
            positives, at falling thresholds from infinity on. Each point is exact.
        """
        return curves.gain_curve(self._table.estimate)

    def precision_recall_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the precision-recall curve.

        Returns
        -------
        precision, recall : float64 arrays, shape (m + 1,)
            At rising thresholds, then 1 and 0. Each point is exact. If the curve is exact, these
            are all its points, equal to scikit-learn's. Recall is 1 without a positive.
        thresholds : float64 array, shape (m,)
        """
        return curves.precision_recall_curve(self._table.estimate)

    def confidence(self, name: str, *args: Any, level: float = 0.95) -> tuple[float, float]:
        """Compute the sampling interval of a metric: where the value of the population may lie.

        It accounts for the size of the sample, whereas `Bounded` accounts for the width of the
        cells. If the metric is not exact, it covers the sampling intervals at both ends.

        Parameters
        ----------
        name : str
            ``"roc_auc"`` (DeLong's variance on the logit scale), ``"average_precision"`` (Boyd,
            on the logit scale), ``"precision_at"`` or ``"recall_at"`` (Wilson).
        *args
            The arguments of the metric, as in ``confidence("recall_at", 0.5)``.
        level : float
            The probability of covering, in [0, 1).

        Returns
        -------
        (low, high)
            nan if there is no such interval: an AUC of 0 or 1, or fewer than two of a class.

        Raises
        ------
        InvalidInputError
            For an unknown name, a level outside [0, 1), or weights with fractions: whole
            weights are repeats of an example, but a fraction of an example is not a draw.
        """
        row = self.TABLE.get(name) if isinstance(name, str) else None
        if row is None or row.sampling is None:
            names = ", ".join(row.name for row in self.TABLE.values() if row.sampling)
            raise InvalidInputError(
                f"must be a metric with a sampling interval ({names}), got {name!r}",
                argument="name",
            )
        z = normal_quantile(level)
        if not self._table.is_whole:
            raise InvalidInputError(
                f"had fractions, and a fraction of an example is not a draw: `{name}` has no "
                "sampling interval",
                argument="sample_weight",
            )
        if len(args) != len(row.arguments):
            raise InvalidInputError(
                f"takes {len(row.arguments)} arguments beside its name, got {len(args)}",
                argument=name,
            )
        return row.sampling(self._table, z, *args)

    def metrics(self) -> dict[str, Bounded]:
        """Compute every metric that needs no argument, by name."""
        rows = (row for row in self.TABLE.listed(self) if not row.is_count)
        return {row.name: row.value(self) for row in rows}

    def report(self, *, level: float = 0.95) -> str:
        """Lay the metrics out as a text table of at most 80 columns.

        Parameters
        ----------
        level : float
            The probability of the sampling interval, in [0, 1); 0 leaves it out.
        """
        normal_quantile(level)  # refuses what is no level, even where no interval will be shown
        return self.text(level)

    def explain(self) -> str:
        """Explain in words what limits these numbers, and what would improve them."""
        return "\n".join(
            textwrap.fill(line, 80, initial_indent="* ", subsequent_indent="  ")
            for line in self.findings()
        )

    def findings(self, *, limits_only: bool = False) -> Iterator[str]:
        """Yield sentences on what limits these numbers: classes, ties, saturation, the budget.

        Parameters
        ----------
        limits_only : bool
            Whether to leave out that every number is exact.
        """
        if self.n:
            yield from _about_classes(self._table)
            yield from _about_scores(self._table)
            yield from () if limits_only and self.exact else _about_cells(self._table)
        else:
            yield "Nothing has been counted yet."

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["pr", "roc", "det", "reliability", "score"] = "pr",
        label: str | None = None,
    ) -> Axes:
        """Draw the curve with its certified band; needs ``pip install streameval[plot]``.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : str
            Precision against recall, true against false positive rate ("roc"), false negative
            against false positive rate on normal scales ("det"), observed rate against score
            ("reliability"), or the scores of both classes ("score").
        label : str, optional
            The name of the curve in a legend, if several share the axes.

        Returns
        -------
        matplotlib Axes
        """
        one_of(kind, self.PICTURES, name="kind")
        if kind == "score":
            return plots.scores(curve_lines.score_shares(self._table), ax, label=label)
        if kind == "reliability":
            if self._table.scale != "probability":
                raise InvalidInputError(
                    '"reliability" needs probabilities, not ',
                    Named("scores", '"real"'),
                    argument="kind",
                )
            return plots.reliability(
                curve_lines.reliability(self._table),
                ax,
                across="mean score",
                up="share of positives",
                title="reliability, and the share of the examples in each bin",
                label=label,
                bars={"alpha": 0.6},
            )
        if not (self.n_pos and self.n_neg):
            raise InvalidInputError("needs examples of both classes", argument="plot")
        line, look = _PLOTTED[kind](self)
        return plots.lines(line, ax, label=label, **look)

    def draw(self, ax: Axes, kind: Any, label: str | None) -> None:
        """Draw one of `PICTURES`."""
        self.plot(ax, kind=kind, label=label)

    def described(self, level: float) -> Description:
        """Describe the result to a page: curves, metrics, distributions, and their limits."""
        numbers = self._numbers()
        has_both = bool(self.n_pos and self.n_neg)
        is_probability = self._table.scale == "probability" and bool(self.n)
        rows = (row for row in self.TABLE.listed(self) if row.heading)
        return Description(
            heading="Precision, recall and ROC",
            rows={
                row.name: Row(
                    row.heading,
                    self._reading(row, numbers[row.name], level),
                    is_rare=row.is_rare,
                )
                for row in rows
            },
            above=[
                Lines(PR, {"": (self.pr_line() if has_both else None, self.average_precision)}),
                Lines(ROC, {"": (self.roc_line() if has_both else None, self.roc_auc)}),
            ],
            beside=[
                self._reliability_diagram() if is_probability else None,
                curve_lines.score_shares(self._table),
            ],
            below=[Findings(tuple(self.findings()))],
            form=self._table.scale,
        )

    def _reliability_diagram(self) -> ReliabilityDiagram:
        shown = curve_lines.reliability(self._table)
        return ReliabilityDiagram(shown, "Mean score", "Share of positives")

    def pr_line(self) -> BandedLine:
        """Trace precision over recall; both classes must occur."""
        return curve_lines.banded(self._table, curve_lines.pr_line, upper=curve_lines.pr_steps)

    def roc_line(self) -> BandedLine:
        """Trace the true over the false positive rate; both classes must occur."""
        return curve_lines.banded(self._table, curve_lines.roc_line)

    def det_line(self) -> BandedLine:
        """Trace the false negative over the false positive rate, both on normal scales."""
        return curve_lines.banded(self._table, curve_lines.det_line)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        state = "exact" if self.exact else f"{self.cells:,} cells"
        return (
            f"Curve(n={self.n}, {state}, roc_auc={self.roc_auc:.6g}, "
            f"average_precision={self.average_precision:.6g})"
        )

    def _repr_html_(self) -> str:
        return notebook.sheet(self.sheet(0.95))

    @property
    def _sizes(self) -> str:
        cells = plural(self.cells, "cell")
        parts = [f"n = {self.n:,} ({self.n_pos:,} positive)"]
        if self.n_skipped:
            parts.append(f"{self.n_skipped:,} skipped")
        parts.append(f"exact, {cells}" if self.exact else f"{cells} of several scores")
        return ", ".join(parts)

    @functools.cached_property
    def _best_f1(self) -> tuple[Bounded, Bounded]:
        return thresholds.best_f(self._table, 1.0)

    def _probabilities(self, name: str) -> CellTable:
        if self._table.scale != "probability":
            raise InvalidInputError(
                "needs probabilities, and ", Named("scores", '"real"'), " are none", argument=name
            )
        return self._table


def _about_classes(table: CellTable) -> Iterator[str]:
    for count, absent, lost in (
        (table.n_pos, "positive", "Every metric but the losses"),
        (table.n_neg, "negative", "ROC AUC and KS"),
    ):
        if not count:
            yield f"No {absent} has been seen: one class only. {lost} cannot be computed."


def _about_scores(table: CellTable) -> Iterator[str]:
    low, high = float(table.lo[-1]), float(table.hi[0])
    if low == high:
        yield f"All scores are {low:.6g}: a constant ranks nothing."
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    if table.scale == "probability":
        ends = ~table.is_wide & ((table.lo == 0.0) | (table.lo == 1.0))
        share = math.fsum((pos + neg)[ends]) / table.n
        if share >= _SATURATION_WORTH_SAYING:
            yield (
                f"{share:.1%} of the scores are exactly 0 or 1: the model is saturated, or its "
                "scores were rounded, and their order is lost. Scores before the sigmoid keep it."
            )
    elif low < 0.0 or high > 1.0:
        yield (
            f"Scores reach from {low:.6g} to {high:.6g}: they look like logits or margins. "
            "Ranking metrics do not mind; log loss, Brier and ECE need probabilities."
        )
    else:
        yield (
            'All scores lie in [0, 1]: scores="probability" would give log loss, Brier and ECE '
            "too, and finer cells near 1."
        )
    pairs = _pairs(table)
    tied = math.fsum((pos * neg)[~table.is_wide]) / pairs if pairs else 0.0
    if tied >= _TIES_WORTH_SAYING and low < high:
        yield f"{tied:.1%} of the pairs of a positive and a negative tie: each counts half."


def _about_cells(table: CellTable) -> Iterator[str]:
    if table.is_exact:
        yield f"Every number is exact: each of {len(table.lo):,} distinct scores has its own cell."
        return
    wide = int(np.count_nonzero(table.is_wide))
    yield (
        f"{wide:,} of {len(table.lo):,} cells hold several scores; the widest spans "
        f"{table.resolution:.3g}."
    )
    if _pairs(table):
        auc = envelope.roc_auc(table)
        yield (
            f"The interval of ROC AUC is {auc.high - auc.low:.2g} wide: in that share of the "
            "pairs, a positive and a negative are in one cell of several scores."
        )
    if table.level:
        finer = table.cells.n_cells_at(table.level - 1)
        yield (
            f"budget={finer:,} would have kept these data one bit finer, which halves the "
            "intervals if scores are spread evenly."
        )


def _pairs(table: CellTable) -> float:
    return float(table.n_pos) * float(table.n_neg)


def _plot_pr(curve: Curve) -> tuple[BandedLine, dict[str, Any]]:
    axes = {"across": "recall", "up": "precision"}
    return curve.pr_line(), axes | {"title": f"average precision {curve.average_precision:.4f}"}


def _plot_roc(curve: Curve) -> tuple[BandedLine, dict[str, Any]]:
    axes = {"across": "false positive rate", "up": "true positive rate", "has_chance": True}
    return curve.roc_line(), axes | {"title": f"ROC AUC {curve.roc_auc:.4f}"}


def _plot_det(curve: Curve) -> tuple[BandedLine, dict[str, Any]]:
    axes = {"across": "false positive rate", "up": "false negative rate", "is_normal": True}
    return curve.det_line(), axes | {"title": "detection error tradeoff"}


_PLOTTED = {"pr": _plot_pr, "roc": _plot_roc, "det": _plot_det}
"""The line of a picture, and how it is drawn."""


def _confusion(table: CellTable, threshold: float, tp: FixedPoint, fp: FixedPoint) -> Confusion:
    every_tp, every_fp = (part[len(table.lo)] for part in table.cumulated)
    cells = (every_fp - fp, fp, every_tp - tp, tp)
    n, right = every_tp + every_fp, tp + cells[0]
    limit = float(np.finfo(np.float64).max)
    config = ConfusionConfig.of(
        classes=2,
        multilabel=False,
        threshold=min(max(threshold, -limit), limit),
        pos_label=1,
        from_scores=True,
        top_k=1,
        ignore_label=None,
        include_unseen=False,
    )
    matrix = FixedPoint.concatenate([cell.reshape(1) for cell in cells]).reshape(2, 2)
    credit = FixedPoint.concatenate([right.reshape(1), FixedPoint.zeros(1)]).reshape(1, 2)
    return Confusion(LabelCounts.of(config, MatrixCounts(n, matrix, credit)))


def _threshold_values(value: Any) -> Floats:
    """Check an array of thresholds: any numbers but nan."""
    array = as_array(value, name="thresholds")
    check_vector(array, rows=None, name="thresholds")
    return as_scores(array, name="thresholds").copy()


def _rate(value: Any, *, name: str) -> float:
    """Check a share in [0, 1]."""
    number = finite_number(value, name=name)
    if not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"must lie in [0, 1], got {number!r}", argument=name)
    return number


def _positive_rate(value: Any, *, name: str) -> float:
    """Check a share in (0, 1]."""
    number = _rate(value, name=name)
    if not number:
        raise InvalidInputError("must be above 0", argument=name)
    return number


def _cost(value: Any, *, name: str) -> float:
    """Check a cost, which is not negative."""
    number = finite_number(value, name=name)
    if number < 0.0:
        raise InvalidInputError(f"must be at least 0, got {number!r}", argument=name)
    return number


def _false_positive_rate(value: Any) -> float:
    """Check a rate above 0; for those below 2**-1000 the areas would underflow."""
    number = finite_number(value, name="max_fpr")
    if not 2.0**-1000 <= number <= 1.0:
        raise InvalidInputError(f"must lie in [2**-1000, 1], got {number!r}", argument="max_fpr")
    return number


def _beta_value(value: Any) -> float:
    """Check a beta; from 2**100 on, where F is recall to the last bit, it is clipped."""
    number = real_number(value, name="beta")
    if not number >= 0:
        raise InvalidInputError(f"must be at least 0, got {number!r}", argument="beta")
    return min(number, 2.0**100)
