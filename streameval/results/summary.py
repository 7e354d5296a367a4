"""The result of `MeanAccumulator`."""

from __future__ import annotations

from typing import ClassVar

import attrs

from streameval.configs.values import MeanConfig
from streameval.metrics import values_table
from streameval.metrics.values import MeanLoss
from streameval.results import findings
from streameval.results.collection import CollectionResult
from streameval.results.members import SummaryMembers, add_members
from streameval.results.reading import Number
from streameval.results.result import Report, Result
from streameval.states.cells import Cells
from streameval.states.values import ValueSums


@attrs.frozen(repr=False, eq=False, slots=False)
class Summary(SummaryMembers, Result):
    """The mean, spread and quantiles of values.

    Made by `MeanAccumulator.compute`; with columns, there is one for each. Every number is that of
    the exact sums, rounded once, and nan without values. Units are those of the values. Quantiles
    are those of `numpy.quantile`, with certified bounds if there were more distinct values than
    cells.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.MeanAccumulator(quantiles=[0.5, 0.75])
    >>> result = acc.update([0.5, 1.5, 1.0, 4.0]).compute()
    >>> for name in result.readable():
    ...     if not name.endswith("(x)"):
    ...         print(f"{name:16}{result.read(name).value:8.4f}")
    n                 4.0000
    mean              1.7500
    sum               7.0000
    std               1.3463
    min               0.5000
    max               4.0000
    quantile(0.5)     1.2500
    quantile(0.75)    2.1250
    exp_mean          5.7546
    bits_per_byte     2.5247

    >>> result.quantile(0.25)
    0.875
    """

    TABLE = values_table.TABLE
    _REPORT = Report(findings=findings.of_values)
    _PAGE: ClassVar = {"heading": "Values"}

    _state: ValueSums
    _config: MeanConfig
    _column: int = 0

    @property
    def n(self) -> Number:
        """The sum of the weights of all values."""
        return self._state.counts[self._column].to_number()

    @property
    def n_skipped(self) -> Number:
        """The sum of the weights of the rows left out because the value is NaN."""
        state = self._state
        return (state.n + state.skipped - state.counts[self._column]).to_number()

    @property
    def exact(self) -> bool:
        """Whether no quantile has bounds, because each distinct value has its own bin."""
        return not self._config.has_sketch or bool((self._cells.lo == self._cells.hi).all())

    def __repr__(self) -> str:
        """Show the numbers on one line."""
        numbers = (f"{name}={number:.6g}" for name, number in self._numbers().items())
        return f"Summary({', '.join(numbers)})"

    @property
    def _cells(self) -> Cells:
        return [*self._state.tables()][self._column][1]

    @property
    def _values(self) -> MeanLoss:
        """The sums of the values and of their squares."""
        state, at = self._state, self._column
        return MeanLoss.of(state.counts[at], state.total[at], state.squares[at])


def values_of(state: ValueSums, config: MeanConfig) -> Summary | CollectionResult:
    """Make the result of a state: of each column, if it has several."""
    if config.columns is None:
        return Summary(state, config)
    every = tuple(Summary(state, config, column) for column in range(config.n_columns))
    return CollectionResult(config.columns, every, pairs=(None,) * len(every))


add_members(Summary)
