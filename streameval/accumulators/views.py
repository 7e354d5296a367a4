"""Slices and panes as they are: read without a copy, and unchanged by later updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.sealed import FlatSlices
from streameval.configs.windowed import WindowedConfig
from streameval.inputs.values import Value
from streameval.states.panes import Panes, Span
from streameval.states.sealed import Sealed


@attrs.frozen(eq=False, repr=False)
class SlicesView:
    """The slices of a `Sliced` as a table: a row for each value, and a column for each field.

    Made by `Sliced.view`. It keeps what had been counted then. Nothing is copied, so arrays and
    accumulators must not be changed.
    """

    _state: FlatSlices
    _total: Callable[[], Any]

    @property
    def values(self) -> tuple[Value, ...]:
        """The values with rows, in the fixed order of their hashes."""
        return tuple(self.parts)

    @property
    def n(self) -> npt.NDArray[Any]:
        """The weight of each value; in a collection, the max over its members."""
        leaves = self._state.leaves
        weights = leaves.weights(np.arange(len(leaves)), len(leaves))
        found: npt.NDArray[Any] = np.maximum.reduce([one.to_numbers() for one in weights])
        return found[: len(self.parts)]

    @property
    def fields(self) -> dict[str, npt.NDArray[Any]]:
        """The numbers that every value has, such as its matrix, as arrays (values, ...) by name.

        Fields of a collection are named ``member/field``. Cells and labels, of which values have
        different numbers, are not among them.
        """
        numbers, size = self._state.leaves.numbers(), len(self.parts)
        return {name: column[:size] for name, column in numbers.items()}

    @property
    def total(self) -> Any:
        """The accumulator of all rows."""
        return self._total()

    @property
    def parts(self) -> Mapping[Value, Sealed]:
        """The slice of each value; its method `copy` makes the accumulator."""
        return self._state.parts

    @property
    def other(self) -> Sealed | None:
        """The rows of values without a slice; None if there are none."""
        return self._state.other

    @property
    def nbytes(self) -> int:
        """The memory of the columns."""
        return self._state.nbytes


@attrs.frozen(eq=False, repr=False)
class PanesView:
    """The panes of a `Windowed`, which keeps what had been counted when `Windowed.view` made it.

    Times are integers: microseconds, or steps. Nothing is copied, so accumulators must not be
    changed.
    """

    _config: WindowedConfig
    _state: Panes
    _total: Callable[[], Any]

    @property
    def newest(self) -> int | None:
        """The time of the newest row; None before the first."""
        return self._state.newest

    @property
    def end(self) -> int:
        """The end of the newest pane; there must be a row."""
        return self._state.end(self._config) + self._config.offset_size

    @property
    def total(self) -> Any:
        """The accumulator of all rows with a label."""
        return self._total()

    @property
    def parts(self) -> list[Sealed]:
        """The accumulators of all panes, and of the rows before them."""
        return self._state.accumulators

    def spans(self, start: int | None = None, end: int | None = None) -> list[Span]:
        """List the panes with rows within two times, which default to all time, in order."""
        return self._state.spans(self._config, start, end)
