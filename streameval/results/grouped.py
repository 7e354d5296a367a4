"""The result of `GroupedAUC`."""

from __future__ import annotations

import html as escaping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.grouped import GroupedConfig
from streameval.metrics.bounded import Bounded
from streameval.metrics.grouped import GroupAreas, coverage, gauc
from streameval.results import grouped_plot
from streameval.results.number_text import interval_text, number
from streameval.states.grouped import GroupTables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GroupedCurves"]

Number = int | float


@attrs.frozen(repr=False, eq=False, slots=False)
class GroupedCurves:
    """The AUC within each group, and their mean.

    Made by `GroupedAUC.compute`. Groups with one class have no AUC: `coverage` says how much
    of the data the mean is about.
    """

    _state: GroupTables
    _config: GroupedConfig

    @property
    def n(self) -> Number:
        """The sum of the weights of all examples."""
        total: Number = self._state.n.to_numbers().item()
        return total

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self._state.groups)

    @property
    def n_averaged(self) -> int:
        """The number of groups that hold both classes."""
        return int(np.count_nonzero(self._areas.is_defined))

    @property
    def exact(self) -> bool:
        """Whether every distinct score of every group has a cell of its own."""
        return bool(np.array_equal(self._state.lo.values, self._state.hi.values))

    @property
    def cells(self) -> int:
        """The number of cells of all groups."""
        return len(self._state.lo)

    @property
    def gauc(self) -> Bounded:
        """The mean AUC of the groups with both classes, in [0, 1]; nan if there is none.

        Weighted by their examples, or as `group_weight` says.
        """
        return gauc(self._areas, self._config.group_weight, is_exact=self.exact)

    @property
    def coverage(self) -> float:
        """The share of the examples in groups with both classes, in [0, 1]; nan of nothing."""
        return coverage(self._areas)

    def per_group(self) -> dict[str, npt.NDArray[Any]]:
        """List the groups in order, as columns that a data frame takes.

        Returns
        -------
        dict of arrays, shape (n_groups,)
            ``group``, ``n_pos``, ``n_neg``, ``roc_auc`` and its bounds ``roc_auc_low`` and
            ``roc_auc_high``, nan where a group has one class only.
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

    def as_dict(self) -> dict[str, Number]:
        """Flatten to plain numbers for a logger; ``_low`` and ``_high`` are the bounds."""
        value = self.gauc
        return {
            "n": self.n,
            "n_groups": self.n_groups,
            "n_averaged": self.n_averaged,
            "cells": self.cells,
            "gauc": float(value),
            "gauc_low": value.low,
            "gauc_high": value.high,
            "coverage": self.coverage,
        }

    def report(self) -> str:
        """Lay the numbers out as a text table."""
        value = self.gauc
        certified = "" if value.exact else f"  {interval_text(value.low, value.high)}"
        weight = self._config.group_weight
        rows = [
            ("gauc", f"{number(value)}{certified}  (mean weighted by {weight})"),
            ("coverage", f"{number(self.coverage)}  of the examples, in groups of both classes"),
            ("groups", f"{self.n_groups:,}, of which {self.n_averaged:,} hold both classes"),
            ("cells", f"{self.cells:,}{', exact' if self.exact else ' of several scores'}"),
            ("n", f"{self.n:,}"),
        ]
        return "\n".join(f"{name:<8}  {text}" for name, text in rows)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw how the AUCs of the groups are spread; needs ``pip install streameval[plot]``.

        How much of the weight each bin of the AUC holds, groups of one class left out, and the
        mean with its certified interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            The name in a legend, where several share the axes.

        Returns
        -------
        matplotlib Axes
        """
        weight = self._config.group_weight
        return grouped_plot.plot(self._areas, weight, self.gauc, ax, label=label)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"GroupedCurves(n={self.n}, groups={self.n_groups}, gauc={self.gauc:.6g}, "
            f"coverage={self.coverage:.6g})"
        )

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        return f"<pre>{escaping.escape(self.report())}</pre>"

    @cached_property
    def _areas(self) -> GroupAreas:
        return GroupAreas.of(self._state.cells(), self._state.sizes.values)
