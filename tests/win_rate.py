"""An accumulator of your own, as somebody outside this library would write it, with types."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np

import streameval as se
from streameval.inputs import as_labels, as_weights, check_vector
from streameval.states import FixedPoint, State, check_numbers, require

__all__ = ["Labels", "Outcomes", "WinRate"]


@attrs.frozen(kw_only=True)
class Labels:
    """What a judge may say."""

    a: str = "a"
    b: str = "b"
    tie: str = "tie"


@attrs.frozen
class Outcomes(State):
    """Weights of the wins of A, ties, and wins of B."""

    outcomes: FixedPoint

    @classmethod
    def zero(cls, config: Labels) -> Self:
        return cls(FixedPoint.zeros(()), FixedPoint.zeros(3))

    @classmethod
    def of(cls, config: Labels, *, preference: Any, sample_weight: Any) -> Self:
        labels = as_labels(preference, name="preference")
        check_vector(labels, rows=None, name="preference")
        codes = np.full(len(labels), -1)
        for code, label in enumerate((config.a, config.tie, config.b)):
            codes[labels == label] = code
        if (codes < 0).any():
            label = labels[codes < 0].tolist()[0]
            raise se.InvalidInputError(f"`preference` holds {label!r}, which is no outcome.")
        weights = as_weights(sample_weight, rows=len(labels))
        if weights is None:
            weights = FixedPoint.of_integers(np.ones(len(labels), dtype=np.int64))
        return cls(weights.total(), weights.scatter(codes, 3))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.outcomes + other.outcomes)

    def check(self, config: Labels) -> None:
        check_numbers(self.outcomes, (3,), "outcomes")
        require(self.outcomes.total() == self.n, "outcomes do not add up to n")


class WinRate(
    se.Accumulator[Labels, Outcomes],
    type_id=0x8000,
    config=Labels,
    state=Outcomes,
    arrays=("preference",),
):
    """The share of comparisons that A wins, a tie being half a win."""

    def compute(self) -> dict[str, float]:
        a, tie, b = self._state.outcomes.to_floats().tolist()
        n = a + tie + b
        return {"win_rate": (a + tie / 2) / n if n else float("nan")}


def rates(week: list[WinRate]) -> dict[str, float]:
    """Merge and read, so that a type checker sees what the verbs give."""
    first, *rest = week
    total: WinRate = first.copy().merge(*rest)
    again: WinRate = WinRate.from_bytes((total + total).to_bytes())
    return again.update(["a"]).reset().compute()
