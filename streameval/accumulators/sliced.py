"""One accumulator for each value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from streameval.accumulators.base import Accumulator
from streameval.accumulators.clustered import Clustered
from streameval.accumulators.collection import Collection, heaviest
from streameval.accumulators.grouping import Grouping, with_inner
from streameval.accumulators.sealed import FlatSlices, live_in_turn
from streameval.configs.sliced import SlicedConfig, read_value
from streameval.errors import InvalidInputError
from streameval.inputs.values import Value, order_of

if TYPE_CHECKING:
    from streameval.results.sliced import SlicedResult


@final
class Sliced(Grouping[SlicedConfig], type_id=8, config=SlicedConfig, state=FlatSlices):
    """Count each value of a column separately: a metric for each country, or model.

    The rows alone decide which values have a slice, never their order: first the named values,
    then the others in a fixed order, by hash, up to `max_values` in all. `other` counts the
    rest together. So every slice is complete, and the state is the same bytes however the data
    is cut, spread and merged.

    Parameters
    ----------
    accumulator : accumulator
        What counts each slice. It must have counted nothing, and is copied. A `Collection`
        counts several things; neither a `Sliced` nor a `Windowed` can be sliced.
    column : str, or sequence of str
        The column that holds the values. Values of several columns are tuples.
    values : sequence, optional
        The values that always have a slice, even without rows, in this order.
        *Name the values you care about*: a hash chooses the others, as a sample, whether they
        are frequent or not.
    max_values : int
        How many values have a slice, the named ones included.

    Notes
    -----
    A value is an integer or a string, as labels are (True is 1, and so is 1.0), or None where it
    is missing (None, NaN, NA). Rows of weight 0 do not make a value observed.

    Why not the most frequent values? Bounded memory turns a value away forever, and its count
    may grow later. Only a fixed order gives one answer.

    With a `RankingAccumulator`, all rows of a query must have one value, and an update must hold
    complete queries.

    ``s[value]`` is an independent copy of a slice. Iterating yields the values: the named ones
    first, the others sorted. `n` counts all rows.

    Up to 262,144 rows are pending; they are split together once there are more, or when the
    state is read. An update counts all rows once and copies them; the split costs about 10 ns a
    row and 10 microseconds a slice.

    Examples
    --------
    >>> import streameval as se
    >>> s = se.Sliced(se.ConfusionAccumulator(), "country", values=["DE", "FR"], max_values=2)
    >>> batch = {"y_true": [0, 1, 1, 1], "y_pred": [0, 1, 0, 1]}
    >>> result = s.update(batch | {"country": ["DE", "DE", "FR", "IT"]}).compute()
    >>> result["DE"].accuracy, result["FR"].accuracy, result.n_turned_away
    (1.0, 0.0, 1)
    >>> result.as_dict()["country=DE/accuracy"], s.total().compute().accuracy
    (1.0, 0.75)
    >>> list(s), s["FR"].n, s.other.n
    (['DE', 'FR'], 1, 1)
    """

    __slots__ = ()

    _depth = 3
    _within = (Collection, Clustered)

    def __init__(
        self,
        accumulator: Accumulator[Any, Any],
        column: str | Sequence[str],
        *,
        values: Sequence[Any] = (),
        max_values: int = 100,
    ) -> None:
        self._configure(with_inner(locals()))

    def compute(self) -> SlicedResult:
        """Compute the result of every slice.

        Returns
        -------
        SlicedResult
            A mapping from value to result; frozen.
        """
        from streameval.results.sliced import SlicedResult, SliceResults  # noqa: PLC0415 (rendering)

        state, inner = self._everything(self._held), self._config.accumulator

        def computed(values: Sequence[Value]) -> list[Any]:
            parts = [state.parts.get(value) for value in values]
            if len(parts) == 1:
                return [self._copy_of(parts[0]).compute()]
            made = (part for some in live_in_turn(parts) for part in some)
            return [(inner.empty() if part is None else part).compute() for part in made]

        other = self.other
        return SlicedResult.of(
            self._config,
            SliceResults(self._values(state), computed),
            other.compute(),
            heaviest(other.n),
            has_other=state.other is not None,
        )

    def view(self) -> FlatSlices:
        """View the slices as a table that later updates do not change, without a copy.

        Returns
        -------
        FlatSlices
            Its `values`, `n`, `fields` and `total` are read only.

        Examples
        --------
        >>> import streameval as se
        >>> s = se.Sliced(se.ConfusionAccumulator(2), "country")
        >>> batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "country": ["DE", "FR", "FR"]}
        >>> view = s.update(batch).view()
        >>> dict(zip(view.values, view.n.tolist())), view.fields["matrix"].shape
        ({'FR': 2, 'DE': 1}, (2, 2, 2))
        """
        view: FlatSlices = self._view()
        return view

    @property
    def other(self) -> Any:
        """A copy of the accumulator of the rows whose value has no slice."""
        return self._copy_of(self._everything(self._held).other)

    @property
    def n_turned_away(self) -> int | float:
        """The weight of the rows in `other`; the number of their values is unknown."""
        return heaviest(self.other.n)

    @property
    def options(self) -> dict[str, Any]:
        """The options by name; `accumulator` is one that has counted nothing."""
        column = self._config.column
        return super().options | {"column": column[0] if len(column) == 1 else column}

    def __getitem__(self, value: Value) -> Any:
        """Copy the slice of a value; a value without one raises KeyError."""
        key = read_value(value, self._config.column, name="value")
        state = self._everything(self._held)
        if key not in state.parts and key not in self._config.named:
            raise KeyError(f"{value!r} has no slice")
        return self._copy_of(state.parts.get(key))

    def __iter__(self) -> Iterator[Value]:
        """List the values that have a slice: the named ones in order, then the others sorted."""
        return iter(self._values(self._everything(self._held)))

    def __len__(self) -> int:
        """Return the number of values that have a slice."""
        return len(self._config.named | self._everything(self._held).parts.keys())

    def __contains__(self, value: object) -> bool:
        """Tell whether a value has a slice; what cannot be a value has none."""
        try:
            key = read_value(value, self._config.column, name="value")
        except InvalidInputError:
            return False
        return key in self._config.named or key in self._everything(self._held).parts

    def _values(self, state: FlatSlices) -> list[Value]:
        named = self._config.named
        return [*self._config.values, *sorted(state.parts.keys() - named, key=order_of)]

    def _summary(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        config, state = self._config, self._everything(self._held)
        values = tuple(sorted(state.parts, key=order_of))
        return config.settings, {
            "accumulator": (config.accumulator.empty(),),
            "values": values,
            "slices": tuple(state.parts[value].copy() for value in values),
            "other": () if state.other is None else (state.other.copy(),),
        }
