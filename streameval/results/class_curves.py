"""The result of `PRCurveSketch` with classes: one curve for each."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import attrs

from streameval.configs.options import one_of
from streameval.errors import CountOverflowError
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.inputs.labels import Label
from streameval.metrics.bounded import Bounded, outward
from streameval.metrics.points import CellTable
from streameval.results import class_curves_plot, class_curves_text
from streameval.results.curve import Curve
from streameval.states.cells import Cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClassCurves"]

Average = Literal["macro", "micro", "weighted"]


@attrs.frozen(repr=False, eq=False)
class ClassCurves(Mapping[Label, Curve]):
    """One curve for each class against the rest, and their averages.

    Made by `PRCurveSketch.compute`. A mapping from the label of a class to its `Curve`, in the
    order of the score columns; averages are `Bounded` as the metrics of a `Curve` are.
    """

    _n: FixedPoint
    _curves: dict[Label, Curve]
    _tables: tuple[CellTable, ...]
    _skipped: FixedPoint

    @classmethod
    def of(
        cls,
        n: FixedPoint,
        labels: Iterable[Label],
        tables: Iterable[CellTable],
        skipped: FixedPoint,
    ) -> ClassCurves:
        """Read the cells of all curves."""
        tables = tuple(tables)
        curves = (Curve(table, skipped) for table in tables)
        return cls(n, dict(zip(labels, curves, strict=True)), tables, skipped)

    def __getitem__(self, label: Label) -> Curve:
        """Give the curve of a class."""
        return self._curves[label]

    def __iter__(self) -> Iterator[Label]:
        """List the labels in the order of the score columns."""
        return iter(self._curves)

    def __len__(self) -> int:
        """Count the classes."""
        return len(self._curves)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of the score columns."""
        return tuple(self._curves)

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        number: int | float = self._n.to_numbers().item()
        return number

    @property
    def n_averaged(self) -> int:
        """How many classes have a positive, which `mean_average_precision` is the mean over."""
        return sum(curve.n_pos > 0 for curve in self._curves.values())

    @property
    def exact(self) -> bool:
        """Whether every distinct score of every class has a cell of its own."""
        return all(curve.exact for curve in self._curves.values())

    @property
    def micro(self) -> Curve:
        """The curve of all scores of all classes, pooled: each row counts once a class.

        Where that passes 2**63 - 1, CountOverflowError is raised.
        """
        if not self._can_pool:
            raise CountOverflowError("`micro` would pool weights past 2**63 - 1.")
        level = max(table.level for table in self._tables)
        pooled = Cells.none()
        for table in self._tables:
            pooled = pooled.joined(table.cells, level)
        return Curve(CellTable(pooled, self._tables[0].scale), self._skipped)

    @overload
    def roc_auc(self, average: Average = ...) -> Bounded: ...
    @overload
    def roc_auc(self, average: None) -> tuple[Bounded, ...]: ...
    def roc_auc(self, average: Average | None = "macro") -> Any:
        """Compute the area under the ROC curves, each class against the rest.

        Parameters
        ----------
        average : {"macro", "micro", "weighted"} or None
            The mean over the classes where it is defined, that is, which some examples have
            and some have not; of the pooled scores; the mean weighted by the positives; or
            None for a tuple with one value a class.
        """
        return self._average("roc_auc", average)

    @overload
    def average_precision(self, average: Average = ...) -> Bounded: ...
    @overload
    def average_precision(self, average: None) -> tuple[Bounded, ...]: ...
    def average_precision(self, average: Average | None = "macro") -> Any:
        """Compute the average precision, each class against the rest.

        Parameters
        ----------
        average : {"macro", "micro", "weighted"} or None
            As for `roc_auc`; it is defined for the classes that have a positive.
        """
        return self._average("average_precision", average)

    @property
    def mean_average_precision(self) -> Bounded:
        """The mean average precision (mAP) over the classes that have a positive."""
        return self.average_precision("macro")

    def metrics(self) -> dict[str, Bounded]:
        """Compute the averages by name; nan for micro where pooled weights pass 2**63 - 1."""
        names = ("roc_auc", "average_precision")
        found = {
            f"{name}_{average}": self._average(name, average)
            for name in names
            for average in ("macro", "weighted")
        }
        pooled = self.micro if self._can_pool else None
        return found | {
            f"{name}_micro": Bounded(math.nan) if pooled is None else getattr(pooled, name)
            for name in names
        }

    @property
    def _can_pool(self) -> bool:
        return self._n.to_fraction() * len(self) <= MAX_TOTAL

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger; ``_low`` and ``_high`` are the bounds."""
        numbers: dict[str, int | float] = {"n": self.n, "n_averaged": self.n_averaged}
        for name, number in self.metrics().items():
            numbers[name] = float(number)
            numbers |= {f"{name}_low": number.low, f"{name}_high": number.high}
        return numbers

    def report(self, *, max_classes: int = 50) -> str:
        """Lay the metrics of each class and their averages out as a text table.

        Parameters
        ----------
        max_classes : int
            How many classes get a line of their own; the rest is counted.
        """
        state = "exact" if self.exact else "cells of several scores"
        heading = f"n = {self.n:,}, {len(self):,} classes, {state}"
        return class_curves_text.report(heading, self, self.metrics(), max_classes=max_classes)

    def explain(self) -> str:
        """Say in words what limits the numbers of each class."""
        return "\n\n".join(f"class {label}\n{curve.explain()}" for label, curve in self.items())

    def plot(self, ax: Axes | None = None, *, kind: str = "pr", max_classes: int = 10) -> Axes:
        """Draw the curves of the classes; needs ``pip install streameval[plot]``.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : str
            As for `Curve.plot`.
        max_classes : int
            How many classes are drawn: those with the most positives.
        """
        return class_curves_plot.plot(self, ax, kind=kind, max_classes=max_classes)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"ClassCurves(n={self.n}, classes={len(self)}, roc_auc={self.roc_auc():.6g}, "
            f"mean_average_precision={self.mean_average_precision:.6g})"
        )

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.report())}</pre>"

    def _average(self, name: str, average: Any) -> Any:
        if average is not None:
            one_of(average, ("macro", "micro", "weighted"), name="average")
        if average == "micro":
            return getattr(self.micro, name)
        values = [getattr(curve, name) for curve in self._curves.values()]
        if average is None:
            return tuple(values)
        weights = [
            float(curve.n_pos) if average == "weighted" else 1.0 for curve in self._curves.values()
        ]
        return _mean(values, weights)


def _mean(values: list[Bounded], weights: list[float]) -> Bounded:
    """Average the defined values; bounds of each, moved outward once more, bound the mean."""
    defined = [
        (value, weight)
        for value, weight in zip(values, weights, strict=True)
        if not math.isnan(value) and weight
    ]
    total = math.fsum(weight for _, weight in defined)
    if not total:
        return Bounded(math.nan)

    def mean(ends: list[float]) -> float:
        terms = (end * weight for end, (_, weight) in zip(ends, defined, strict=True))
        return math.fsum(terms) / total

    value = mean([float(value) for value, _ in defined])
    if all(value.exact for value, _ in defined):
        return Bounded(value)
    low = mean([value.low for value, _ in defined])
    return outward(low, value, mean([value.high for value, _ in defined]))
