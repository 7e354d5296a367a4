"""The result of `Paired`."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

import attrs
import numpy as np

from streameval.configs.cached import OnDemand
from streameval.configs.paired import PairedConfig
from streameval.metrics import paired_table
from streameval.metrics.paired import Areas, Means, MeanValues
from streameval.metrics.paired_decisions import Decisions
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest
from streameval.results import findings
from streameval.results.members import PairedResultMembers, add_members
from streameval.results.reading import Number
from streameval.results.result import Report, SumsResult, metric_dots
from streameval.states.paired import LARGEST_LOSS, PairedCounts, PairedSums

_NAMED = "A is the first model, y_pred_a; B is the second, y_pred_b or --versus."
_CLOSER = "Accuracy: how often a model is at least as close to the truth as the other"


def _is_of_numbers(config: PairedConfig) -> bool:
    """Whether the predictions are numbers, of which one is closer to the truth."""
    return config.classes is None and not config.is_of_values


def _title(config: PairedConfig) -> str:
    if config.is_of_values:
        return "Values"
    return "The closer model" if _is_of_numbers(config) else "Accuracy"


@attrs.frozen(repr=False, eq=False, slots=False)
class PairedResult(PairedResultMembers, SumsResult):
    """Two models on the same rows: both accuracies, and whether they differ.

    Made by `Paired.compute`. The tests read the rows that exactly one model gets right, and are nan
    where weights had fractions. If the models are equally good on each row, given all rows before
    it, each model is equally likely to be the one that is right.

    Notes
    -----
    Accuracies have Wilson's interval, and their difference has Tango's, which contains 0 exactly
    where `mcnemar_pvalue` is at least ``1 - level``. Differences of other metrics of decisions and
    of areas contain 0 exactly where their p-value is. Areas have the interval of a curve, and their
    difference DeLong's with more for few examples of a class. Losses have the interval of a mean on
    the log scale, and their difference that of a normal mean, both wider where few rows make up
    much of the losses.

    Examples
    --------
    Every metric of two models on five examples, and of two models of numbers:

    >>> import streameval as se
    >>> measures = ["precision", "recall", "specificity", "f_score", "balanced_accuracy"]
    >>> measures += ["matthews_corrcoef", "cohen_kappa", "roc_auc", "log_loss", "brier"]
    >>> acc = se.Paired(measures=measures)
    >>> acc = acc.update([0, 0, 1, 1, 1], [0.1, 0.6, 0.35, 0.8, 0.9], [0.4, 0.3, 0.2, 0.7, 0.6])
    >>> result = acc.compute()
    >>> for name in result.readable():
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    n                               5.0000
    n_both                          3.0000
    n_only_a                        0.0000
    n_only_b                        1.0000
    n_neither                       1.0000
    accuracy_a                      0.6000
    accuracy_b                      0.8000
    difference                     -0.2000
    mcnemar_pvalue                  1.0000
    log_evidence                    0.0000
    anytime_pvalue                  1.0000
    precision_a                     0.6667
    precision_b                     1.0000
    precision_difference           -0.3333
    precision_pvalue                0.4239
    recall_a                        0.6667
    recall_b                        0.6667
    recall_difference               0.0000
    recall_pvalue                   1.0000
    specificity_a                   0.5000
    specificity_b                   1.0000
    specificity_difference         -0.5000
    specificity_pvalue              1.0000
    f_score_a                       0.6667
    f_score_b                       0.8000
    f_score_difference             -0.1333
    f_score_pvalue                  0.5321
    balanced_accuracy_a             0.5833
    balanced_accuracy_b             0.8333
    balanced_accuracy_difference   -0.2500
    balanced_accuracy_pvalue        0.4256
    matthews_corrcoef_a             0.1667
    matthews_corrcoef_b             0.6667
    matthews_corrcoef_difference   -0.5000
    matthews_corrcoef_pvalue        0.4267
    cohen_kappa_a                   0.1667
    cohen_kappa_b                   0.6154
    cohen_kappa_difference         -0.4487
    cohen_kappa_pvalue              0.4408
    roc_auc_a                       0.8333
    roc_auc_b                       0.6667
    roc_auc_difference              0.1667
    roc_auc_pvalue                  0.5117
    log_loss_a                      0.4800
    log_loss_b                      0.6689
    log_loss_difference            -0.1889
    log_loss_pvalue                 0.5121
    brier_a                         0.1685
    brier_b                         0.2280
    brier_difference               -0.0595
    brier_pvalue                    0.6429

    >>> acc = se.Paired(None, measures=["mse", "mae"]).update([1, 2, 3], [1, 2, 4], [2, 2, 5])
    >>> result = acc.compute()
    >>> for name in ("mse_a", "mse_b", "mse_difference", "mse_pvalue"):
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    mse_a                           0.3333
    mse_b                           1.6667
    mse_difference                 -1.3333
    mse_pvalue                      0.3575
    >>> for name in ("mae_a", "mae_b", "mae_difference", "mae_pvalue"):
    ...     print(f"{name:30}{result.read(name).value:8.4f}")
    mae_a                           0.3333
    mae_b                           1.0000
    mae_difference                 -0.6667
    mae_pvalue                      0.2132

    The losses, and the marks of a judge, of two models on the same rows:

    >>> for measure in ("loss", "score"):
    ...     result = se.Paired(None, measures=[measure]).update([4, 5, 3], [3, 5, 1]).compute()
    ...     for name in result.readable()[1:]:
    ...         print(f"{name:30}{result.read(name).value:8.4f}")
    loss_a                          4.0000
    loss_b                          3.0000
    loss_difference                 1.0000
    loss_pvalue                     0.2254
    score_a                         4.0000
    score_b                         3.0000
    score_difference                1.0000
    score_pvalue                    0.2254
    """

    TABLE = paired_table.TABLE
    _PAGE: ClassVar = {
        "heading": "Two models on the same rows",
        "title": lambda one, _: _title(one._config),
        "caption": lambda one, _: _NAMED + (f" {_CLOSER}." if _is_of_numbers(one._config) else ""),
        "common_caption": _NAMED,
    }

    _config: PairedConfig
    _state: PairedCounts | PairedSums

    @property
    def n_skipped(self) -> Number:
        """The weight of the rows left out because the value of either model is NaN."""
        state = self._state
        weights = state.skipped.to_numbers() if isinstance(state, PairedSums) else np.zeros(0, int)
        number: Number = weights.sum().item()
        return number

    def _remark(self) -> str:
        if "anytime_pvalue" not in self._rows:
            return ""
        looks = (
            "mcnemar_pvalue is for one look, anytime_pvalue (1 over the evidence) for any number"
        )
        return f"{_CLOSER.lower()}\n{looks}" if _is_of_numbers(self._config) else looks

    _REPORT = Report(remark=_remark, findings=findings.of_paired)

    @property
    def exact(self) -> bool:
        """Whether every pair of scores is known, so that no metric has bounds."""
        pairs = self._state.pairs if isinstance(self._state, PairedSums) else None
        return pairs is None or not pairs.level

    def __repr__(self) -> str:
        """Show size, difference and p-values on one line."""
        names = ["mcnemar_pvalue", "anytime_pvalue"]
        difference = "difference"
        if self._config.is_of_values:
            (measure,) = self._config.measures
            difference, names = f"{measure}_difference", [f"{measure}_pvalue"]
        numbers = [f"{name}={self.value(name):.3g}" for name in names if name in self._rows]
        shown = [f"n={self.n}", f"{difference}={self.value(difference):+.6g}", *numbers]
        return f"PairedResult({', '.join(shown)})"

    def measured(self) -> tuple[str, ...]:
        """List the difference and both values of each requested measure."""
        parts = ("difference", "a", "b")
        return tuple(f"{name}_{part}" for name in self._config.measures for part in parts)

    @cached_property
    def _compared(self) -> OnDemand[str, Areas | Decisions | Means]:
        """The values of the requested measures, by name."""
        return OnDemand(self._compare)

    def _compare(self, name: str) -> Areas | Decisions | Means:
        config, state = self._config, self._state
        assert isinstance(state, PairedSums)  # noqa: S101 - tells the type checker
        if name in config.decisions:
            return Decisions.of(name, state.n, state.joint, config.labels)
        if name in config.losses:
            sums = dict(zip(config.losses, state.loss_sums(), strict=True))
            if config.is_of_values:
                return MeanValues(sums[name], state.n, math.inf)
            largest = math.inf if config.classes is None else LARGEST_LOSS[name]
            return Means(sums[name], state.n, largest)
        assert state.pairs is not None  # noqa: S101 - for areas they are kept
        return Areas.of(state.pairs, config.scale)

    def _differences(self, request: PlotRequest) -> Dots:
        """Show the differences: of the accuracies, except beside errors, and of the measures."""
        names = [name for name in self.readable() if name.endswith("difference")]
        shown = names if self._config.classes is not None else names[-len(self._config.measures) :]
        return metric_dots(self, request, shown)

    PICTURES: ClassVar = {"metrics": _differences}


add_members(PairedResult)
