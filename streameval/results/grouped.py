"""The result of `GroupedAUC`."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import attrs
import numpy as np

from streameval.configs.curve import GroupedConfig
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array
from streameval.metrics import grouped
from streameval.metrics.grouped import GroupAreas
from streameval.render.blocks import ByClass
from streameval.render.charts import Axis, Chart, ChartMark
from streameval.render.plots import PlotRequest
from streameval.render.text import plural
from streameval.results import findings
from streameval.results.members import GroupedCurvesMembers, add_members
from streameval.results.result import Report, SumsResult
from streameval.results.tables import ItemAxis, PerItem, Readings
from streameval.states.grouped import GroupTables

_MAX_GROUPS = 10
_SHOWN = {"n_pos": "Positives", "n_neg": "Negatives", "roc_auc": "AUC"}

_BINS = 20
_SHARES = {
    "impressions": "Share of the examples",
    "uniform": "Share of the groups",
    "positives": "Share of the positives",
}


@attrs.frozen(repr=False, eq=False, slots=False)
class GroupedCurves(GroupedCurvesMembers, SumsResult):
    """The AUC within each group, and their mean.

    Made by `GroupedAUC.compute`. Groups with one class have no AUC: `coverage` says how much
    of the data the mean is about.

    Notes
    -----
    The interval of ``confidence("gauc")`` is for groups that are independent draws. Rows of a group
    may depend on each other in any way, and so may their number and their labels: the interval
    follows from how the AUCs differ between groups. It says nothing of how the group of a row was
    chosen. A group is a draw whatever its weight, so weights may have fractions. With fewer than
    ten groups it may be too narrow. It covers the intervals at both bounds of the value.

    Examples
    --------
    >>> import streameval as se
    >>> group = [number for number in range(12) for _ in range(3)]
    >>> acc = se.GroupedAUC().update([0, 1, 0] * 12, [0.3, 0.6, 0.1, 0.2, 0.4, 0.5] * 6, group)
    >>> result = acc.compute()
    >>> result.gauc, [round(end, 3) for end in result.confidence("gauc")]
    (0.75, [0.52, 0.892])

    Every metric of five examples:

    >>> acc = se.GroupedAUC().update([1, 0, 1, 0, 1], [0.9, 0.2, 0.1, 0.3, 0.7], [1, 1, 2, 2, 3])
    >>> result = acc.compute()
    >>> for name in result.readable():
    ...     print(f"{name:14}{result.read(name).value:8.4f}")
    n               5.0000
    n_groups        3.0000
    n_averaged      2.0000
    cells           5.0000
    gauc            0.5000
    coverage        0.8000
    """

    TABLE = grouped.TABLE

    _state: GroupTables
    _config: GroupedConfig

    @property
    def exact(self) -> bool:
        """Whether every distinct score of every group has a bin of its own."""
        return bool(np.array_equal(self._state.lo.values, self._state.hi.values))

    def per_group(self) -> dict[str, Array]:
        """List the groups in order, as columns that a data frame takes.

        Returns
        -------
        dict of arrays, shape (n_groups,)
            ``group``, ``n_pos``, ``n_neg``, ``roc_auc`` and its bounds ``roc_auc_low`` and
            ``roc_auc_high``, nan if a group has only one class.
        """
        areas = self._areas
        return {
            "group": self._state.groups.values.copy(),
            "n_pos": areas.n_pos.to_numbers(),
            "n_neg": areas.n_neg.to_numbers(),
            "roc_auc": areas.auc.copy(),
            "roc_auc_low": areas.low.copy(),
            "roc_auc_high": areas.high.copy(),
        }

    def _groups_of_both(self, _: PlotRequest) -> Chart:
        chart = self._spread()
        if not chart.marks:
            raise InvalidInputError("needs a group with examples of both classes", argument="plot")
        return chart

    PICTURES: ClassVar = {"groups": _groups_of_both}

    def _remark(self) -> str:
        weight = self._config.group_weight
        return f"gauc is weighted by {weight}; coverage is of the examples"

    def _sizes(self) -> str:
        state = "exact" if self.exact else "bins of several scores"
        return (
            f"n = {self.n:,}, {plural(self.n_groups, 'group')}, "
            f"{self.n_averaged:,} of both classes, {plural(self.cells, 'bin')}, {state}"
        )

    _REPORT = Report(sizes=_sizes, remark=_remark, findings=findings.of_groups)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"GroupedCurves(n={self.n}, groups={self.n_groups}, gauc={self.gauc:.6g}, "
            f"coverage={self.coverage:.6g})"
        )

    @cached_property
    def _areas(self) -> GroupAreas:
        return GroupAreas.of(self._state.cells(), self._state.sizes.values)

    def _groups(self, level: float) -> ItemAxis:  # noqa: ARG002 - they have no sampling intervals
        columns = {name: column.tolist() for name, column in self.per_group().items()}
        ends = columns["roc_auc_low"], columns["roc_auc_high"]

        def read(name: str) -> Readings:
            is_count = name != "roc_auc"
            return Readings(columns[name], None if is_count else ends, is_count=is_count)

        return ItemAxis({"group": columns["group"]}, [*_SHOWN], read, _SHOWN)

    _PER_ITEM = PerItem("group", _groups)

    def _largest(self, level: float) -> ByClass:
        """Read the groups with most examples."""
        sizes = self._areas.n_pos.to_floats() + self._areas.n_neg.to_floats()
        largest = np.argsort(-sizes, kind="stable")[:_MAX_GROUPS]
        return self._groups(level).block(
            largest.tolist(),
            title="Largest groups",
            caption=f"Of each state the {_MAX_GROUPS} with most examples, at most.",
            position="under",
        )

    def _spread(self) -> Chart:
        """Draw how the AUCs of groups are spread, by weight, and their mean."""
        held, weight, mean = self._areas.is_defined, self._config.group_weight, self.gauc
        chart = Chart(
            "AUC of the groups",
            Axis(0.0, 1.0, label="AUC within a group"),
            Axis(0.0, 0.0, label=_SHARES[weight]),
            [],
            f"{np.count_nonzero(held):,} groups",
            spoken=("mean", mean),
            said="Of the groups of both classes, in bins of 0.05.",
        )
        if not held.any():
            return chart
        edges, weights = np.arange(_BINS + 1) / _BINS, self._areas.weights(weight)[held]
        areas, nothing = self._areas.auc[held], np.empty(0)
        shares, _ = np.histogram(areas, edges, weights=weights / weights.sum())
        name, said = f"GAUC {mean:.4f}", "Thin: the mean."
        marks = [
            ChartMark("bars", edges, shares, "", "{}"),
            ChartMark("upright", np.full(1, mean), nothing, name, said=said),
        ]
        if not mean.exact:
            ends, name = np.array([mean.low, mean.high]), "the exact GAUC lies here"
            said = "The exact mean lies in the band."
            marks.append(ChartMark("span", ends, nothing, name, said=said))
        y = attrs.evolve(chart.y, high=min(float(shares.max()), 1.0))
        return attrs.evolve(chart, y=y, marks=marks)

    _PAGE: ClassVar = {
        "heading": "AUC within groups",
        "by_class": _largest,
        "beside": lambda one, _: [one._spread()],
    }


add_members(GroupedCurves)
