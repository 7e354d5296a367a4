"""The result of `CalibrationAccumulator`."""

from __future__ import annotations

from typing import ClassVar

import attrs

from streameval.exact.array_types import Floats
from streameval.inputs.classes import Label
from streameval.metrics import calibration as metrics
from streameval.metrics import calibration_table
from streameval.metrics.calibration import ReliabilityCurve
from streameval.render.blocks import Reliability
from streameval.render.sheets import Sheet
from streameval.results import findings
from streameval.results.classes import CLASS_DETAILS
from streameval.results.members import CalibrationMembers, add_members
from streameval.results.result import Report, SumsResult, metric_lines
from streameval.results.tables import ItemAxis, PerItem, Readings, named_classes

_CURVE = ("mean_prediction", "mean_label", "weight")


@attrs.frozen(repr=False, eq=False)
class Calibration(CalibrationMembers, calibration_table.Probabilities, SumsResult):
    """How good probabilities are, and how well calibrated.

    Made by `CalibrationAccumulator.compute`. Each metric is the exact value of the sums, rounded
    once; all are nan without examples. For K classes the prediction of a row is its highest
    probability and its label tells whether that class (the first, of several) is the true one;
    `pcopc`, `mean_prediction` and `mean_label` are then arrays of shape ``(K,)``.

    Notes
    -----
    The intervals of `confidence`, of "log_loss" and "brier", need an accumulator made with
    ``intervals=True``. They are those of a mean on the log scale, with the variance of the loss
    over the rows, and more where few rows make up much of it. If the loss does not vary, rows that
    have not been seen may differ:

    >>> import streameval as se
    >>> acc = se.CalibrationAccumulator(intervals=True)
    >>> result = acc.update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5]).compute()
    >>> [round(end, 3) for end in result.confidence("brier")]
    [0.045, 0.54]

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", 1950.

    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian
    binning", 2015.

    Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", 2017.

    Examples
    --------
    Every metric of five examples:

    >>> import streameval as se
    >>> acc = se.CalibrationAccumulator(4).update([0, 0, 1, 1, 1], [0.1, 0.6, 0.35, 0.8, 0.9])
    >>> result = acc.compute()
    >>> for name in result.readable():
    ...     print(f"{name:24}{result.read(name).value:8.4f}")
    n                         5.0000
    log_loss                  0.4800
    brier                     0.1685
    ece                       0.3300
    pcopc                     0.9167
    mean_prediction           0.5500
    mean_label                0.6000
    n_clipped                 0.0000
    normalized_entropy        0.7132
    d2_log_loss_score         0.2868
    d2_brier_score            0.2979
    max_calibration_error     0.6500
    rms_calibration_error     0.4093
    brier_reliability         0.1675
    brier_resolution          0.2400
    brier_uncertainty         0.2400
    """

    TABLE = calibration_table.TABLE
    _DETAILS: ClassVar = {
        "reliability": lambda result, _: result._columns_of_bins(),
        "classes": lambda result, _: list(result.class_names) or None,
        "labels": CLASS_DETAILS["labels"],
    }

    @property
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the K classes; by default the labels."""
        return self._config.class_names

    @property
    def ece(self) -> float:
        """The expected calibration error, in [0, 1] (Naeini et al., 2015; Guo et al., 2017).

        The sum over bins of ``|labels - predictions|``, divided by n: the gap between mean label
        and mean prediction of each bin ``[i / bins, (i + 1) / bins)``, weighted by its examples.
        It depends on `bins`, and with few examples it is too high.
        """
        return metrics.ece(self._state.prediction, self._state.hits, self._state.n)

    def reliability_curve(self) -> ReliabilityCurve:
        """Compare predictions with labels, bin by bin.

        Returns
        -------
        mean_prediction, mean_label, weight
            Arrays of shape ``(occupied,)``, one entry for each bin that holds any weight, by
            rising prediction. `weight` is int64, float64 once a fraction has been seen.
        """
        return metrics.reliability_curve(
            self._state.prediction, self._state.hits, self._state.weight
        )

    def pcopc_by_bin(self) -> Floats:
        """Divide predictions by labels, bin by bin, as `pcopc` does for all examples.

        Returns
        -------
        array
            One entry for each bin that holds any weight, as in `reliability_curve`; nan for a bin
            without a positive.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.CalibrationAccumulator(bins=2)
        >>> acc.update([1, 0, 1, 1], [0.25, 0.25, 0.75, 0.5]).compute().pcopc_by_bin()
        array([0.5  , 0.625])
        """
        return metrics.pcopc_of(self._bins)

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        """Return the content of the report: the metrics, and those of each class."""
        parts = metric_lines(self, level, max_classes)
        if not self.labels:
            return parts
        return [*parts, self._classes(level).grid(max_classes)]

    _REPORT = Report(_sheet, findings=findings.of_calibration)

    PICTURES: ClassVar = {"reliability": lambda one, _: one._reliability()}

    _PAGE: ClassVar = {
        "heading": lambda one, _: (
            f"Calibration of {len(one.labels):,} classes" if one.labels else "Calibration"
        ),
        "common_heading": "Calibration",
        "by_class": lambda one, level: one._classes(level).block() if one.labels else None,
        "beside": lambda one, _: [one._reliability() if one.n else None],
        "form": lambda one, _: bool(one.labels),
    }

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        classes = f"classes={len(self.labels)}, " if self.labels else ""
        rows = self.TABLE.listed(self)
        names = [row.name for row in rows if not (row.is_count or row.by_class)]
        numbers = ", ".join(f"{name}={self.value(name):.6g}" for name in names)
        return f"Calibration(n={self.n}, {classes}{numbers})"

    def _reliability(self) -> Reliability:
        every = self._state.weight.to_floats()
        share, are_draws = every / max(every.sum(), 1e-300), self._clusters is None
        axes = ("Mean prediction", "Share of positives")
        if self.labels:
            axes = ("Mean confidence", "Accuracy")
        title = f"expected calibration error {self.ece:.4f}"
        return Reliability(*self.reliability_curve(), share, are_draws, *axes, title)

    def _columns_of_bins(self) -> dict[str, list[float]]:
        """List the reliability curve as columns."""
        curve = zip(_CURVE, self.reliability_curve(), strict=True)
        columns = {name: array.tolist() for name, array in curve}
        return columns | {"pcopc": self.pcopc_by_bin().tolist()}

    def _classes(self, level: float) -> ItemAxis:  # noqa: ARG002 - they have no sampling intervals
        shown = {row.name: row.heading for row in self.TABLE.by_class}
        keys = named_classes(self.class_names, self.labels)
        return ItemAxis(keys, [*shown], lambda name: Readings(getattr(self, name).tolist()), shown)

    _PER_ITEM = PerItem("class", _classes, lambda result: bool(result.labels), in_json=True)


add_members(Calibration)
