"""Win rates and Bradley-Terry strengths of models that are compared in pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.pending import RowBuffer, Rows
from streameval.configs.values import PreferencesConfig
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Floats, Ints
from streameval.inputs.arrays import (
    as_array,
    as_labels,
    as_numbers,
    as_vector,
    first_index,
    have_rows,
    read_weights,
    refuse_first,
)
from streameval.inputs.labels import encode
from streameval.states.preferences import PreferenceCounts, cells_of

if TYPE_CHECKING:
    from streameval.results.preferences import Preferences

_CAPACITY = 2**14
_OUTCOMES = {
    **dict.fromkeys(("model_a", "left"), 1.0),
    **dict.fromkeys(("model_b", "right"), 0.0),
    **dict.fromkeys(("tie", "tie (bothbad)", "tie (inconsistent)", "both_bad", "bothbad"), 0.5),
}
"""What logs of arenas say of the winner."""


@final
class PreferencesAccumulator(
    BufferedAccumulator[PreferencesConfig, PreferenceCounts],
    type_id=17,
    config=PreferencesConfig,
    state=PreferenceCounts,
):
    """Count which of two models was preferred, batch by batch.

    The state is the wins and ties of each pair of models, so memory depends on the number of models
    alone, and any number of workers can merge.

    Parameters
    ----------
    models : sequence of labels, mapping from label to name, or int
        The names of the models: at most 4,096 integers or strings, as a sequence; a mapping gives
        them display names, and a number K stands for 0..K-1.

    Notes
    -----
    Counts are exact up to 2**63 - 1, and weights to 2**-63. The state holds 2 * K * K cells of
    8 bytes. The first reading of strengths fits them: that of 4,096 models takes 15 s of CPU
    time and 2 GB, and that of 400 models less than a second.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.PreferencesAccumulator(["large", "small", "old"])
    >>> a = ["large", "large", "small", "large", "old", "large"]
    >>> b = ["small", "small", "old", "old", "small", "small"]
    >>> result = acc.update(a, b, [1, 0, 0.5, 1, 0, 0.5]).compute()
    >>> result.win_rate["large"], round(result.bradley_terry["large"], 3)
    (0.625, 1.912)
    >>> acc.update("old", "large", 1).compute().matrix
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 0, 0]])
    >>> acc.update(["old", "old"], ["large", "small"], ["tie (bothbad)", "model_b"]).n
    9
    """

    __slots__ = ()

    _arrays = ("a", "b", "outcome")

    def __init__(self, models: Any) -> None:
        self._configure(locals())

    def update(
        self, a: Any, b: Any = None, outcome: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one batch of comparisons, or a single one.

        Parameters
        ----------
        a, b : arrays of shape (n,), or a name each
            The two models of each comparison. Alone, `a` is a batch: a tuple or list of the arrays
            in this order, or a mapping, data frame or Arrow table with columns of these names.
        outcome : array of shape (n,), or one outcome
            1 if `a` was preferred, 0 if `b` was, and 0.5 for a tie. Or text, as in logs of arenas:
            ``model_a`` or ``left``, ``model_b`` or ``right``, ``tie``, ``tie (bothbad)``,
            ``tie (inconsistent)`` or ``both_bad``; or the name of the winner.
        sample_weight : array of shape (n,), optional
            Non-negative weights: 2 counts a comparison twice, 0 leaves it out, whatever it holds.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values, a model is unknown or compared with
            itself; the message names the argument and says where. Nothing of the batch has been
            counted then.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        if isinstance(outcome, (int, float, np.number, str)):
            a, b, outcome = [a], [b], [outcome]
        return self._take_batch(a, b, outcome, optional=(sample_weight,))

    def compute(self) -> Preferences:
        """Compute win rates and strengths.

        Returns
        -------
        Preferences
            Frozen: later updates do not change it.
        """
        from streameval.results.preferences import Preferences  # noqa: PLC0415 (rendering too)

        return Preferences(self._state, self._config)

    def _count_arrays(self, a: Any, b: Any, outcome: Any, sample_weight: Any) -> Self:
        first, second = as_vector(as_labels(a, name="a")), as_vector(as_labels(b, name="b"))
        outcomes = as_vector(as_array(outcome, name="outcome"))
        if not have_rows({"a": first, "b": second, "outcome": outcomes}, sample_weight):
            return self
        cells = self._cells(first, second, outcomes)
        return self._append(Rows((cells,), read_weights(sample_weight, rows=len(cells))))

    def _cells(self, a: Array, b: Array, outcomes: Array) -> Ints:
        """Find the cell of each comparison, or refuse one that cannot be."""
        try:
            first, second = (
                encode(side, self._config.fixed_models, name=name)
                for name, side in (("a", a), ("b", b))
            )
        except InvalidInputError as error:
            raise error.renamed("classes", "models") from None
        wrong = first == second
        if wrong.any():
            index = first_index(wrong)
            raise InvalidInputError(
                f"must be another model than a, got {b[index]!r} for both",
                argument="b",
                position=index,
            )
        if outcomes.dtype == object:
            outcome = self._read(outcomes, a, b)
        else:
            outcome = as_numbers(outcomes, name="outcome")
        wrong = (outcome != 0.0) & (outcome != 0.5) & (outcome != 1.0)
        words = "; or model_a, model_b, tie or the name of the winner"
        rule = "must be 1 if a was preferred, 0 if b was, or 0.5 for a tie"
        refuse_first(wrong, outcomes, "outcome", rule, words if outcomes.dtype == object else "")
        return cells_of(first, second, outcome, self._config.n_models)

    def _read(self, texts: Array, a: Array, b: Array) -> Floats:
        """Read who was preferred; nan for text that is neither a usual word nor a model's name."""
        known = {text: _OUTCOMES.get(text.strip().lower(), np.nan) for text in set(texts.tolist())}
        read = np.array([known[text] for text in texts.tolist()])
        clashing = [text for text in self._config.labels if known.get(text, np.nan) in (0, 0.5, 1)]
        if clashing:
            raise InvalidInputError(
                f"holds {clashing[0]!r}, a usual word and the name of a model; pass 1, 0 and 0.5",
                argument="outcome",
                position=first_index(texts == clashing[0]),
            )
        read[texts == a] = 1.0
        read[texts == b] = 0.0
        return read

    def _with_rows(self, state: PreferenceCounts, rows: Rows) -> PreferenceCounts:
        return state + PreferenceCounts.of(rows.columns[0], rows.unequal_weights, self._config)

    def _block(self, state: PreferenceCounts, rows: Rows) -> RowBuffer:  # noqa: ARG002
        return RowBuffer.like(rows, _CAPACITY)
