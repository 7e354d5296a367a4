"""A state of counts together with the options by which it is read."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.confusion import ConfusionConfig
from streameval.errors import InvalidInputError
from streameval.inputs.labels import Label
from streameval.metrics.classification import Average, Outcomes
from streameval.states.confusion import MatrixCounts, MetCounts, MultilabelCounts

__all__ = ["AverageOption", "ConfusionCounts", "Reading"]

AverageOption = Average | Literal["default"] | None
ConfusionCounts = MatrixCounts | MetCounts | MultilabelCounts

_AVERAGES = ("binary", "macro", "micro", "weighted", None)


@attrs.frozen
class Reading:
    """What the metrics, the intervals and the pictures of a `Confusion` read."""

    config: ConfusionConfig
    state: ConfusionCounts
    outcomes: Outcomes = attrs.field(eq=False)

    @classmethod
    def of(cls, config: ConfusionConfig, state: ConfusionCounts) -> Reading:
        """Take the outcomes of each class out of the counts."""
        if isinstance(state, MultilabelCounts):
            return cls(config, state, Outcomes.of_tables(state.outcomes))
        return cls(config, state, Outcomes.of_matrix(state.n, state.matrix))

    @property
    def n(self) -> int | float:
        """The sum of the weights: an int while all of them are whole."""
        number: int | float = self.state.n.to_numbers().item()
        return number

    @property
    def has_whole_weights(self) -> bool:
        """Whether every weight was a number of repeats."""
        return self.state.n.is_whole

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes in the order of rows and columns."""
        return self.state.labels if isinstance(self.state, MetCounts) else self.config.labels

    @property
    def counts(self) -> npt.NDArray[Any]:
        """The matrix, or one table a label."""
        if isinstance(self.state, MultilabelCounts):
            return self.state.outcomes.to_numbers()
        return self.state.matrix.to_numbers()

    @property
    def averaged(self) -> npt.NDArray[np.bool_]:
        """Which classes enter means: those that occur, or all if the options say so."""
        if self.config.include_unseen:
            return np.ones(len(self.labels), dtype=bool)
        if isinstance(self.state, MultilabelCounts):
            return self.outcomes.seen() | self.outcomes.tn.is_positive()
        return self.outcomes.seen()

    def resolve(self, average: AverageOption) -> Average | None:
        """Settle the default average, and refuse one that these classes do not have."""
        if average == "default":
            return "binary" if self.config.is_binary else "macro"
        if average not in _AVERAGES:
            raise InvalidInputError(f"`average` must be one of {_AVERAGES}, got {average!r}.")
        if average == "binary" and not self.config.is_binary:
            raise InvalidInputError('`average` "binary" needs two listed classes.')
        return average

    def matrix_state(self, name: str) -> MatrixCounts | MetCounts:
        """Give the counts of one label an example; the metric `name` has no other meaning."""
        if isinstance(self.state, MultilabelCounts):
            raise InvalidInputError(f"`{name}` is not defined for multilabel counts.")
        return self.state
