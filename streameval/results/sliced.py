"""The result of `Sliced`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs

from streameval.configs.collection import SEPARATOR
from streameval.configs.sliced import SlicedConfig, read_value
from streameval.inputs.values import Value, value_text
from streameval.render.sheets import Sheet
from streameval.results.collection import CollectionResult
from streameval.results.result import Result
from streameval.results.tables import Row

__all__ = ["OTHER", "SlicedResult"]

OTHER = "other"
"""The name of the slice of all values without their own slice."""


@attrs.frozen(repr=False, eq=False)
class SlicedResult(CollectionResult):
    """The results of the slices, by value.

    Made by `Sliced.compute`. It maps values to results; ``as_dict`` names a metric as
    ``country=DE/roc_auc``, and ``other/roc_auc`` if some rows have no slice of their own.
    `table` has the columns of the values first; one that has the name of a metric or of another
    column of the table is prefixed: ``slice_n`` for the column `n`.

    Attributes
    ----------
    other : result
        The result of the rows whose value has no slice.
    n_turned_away : int or float
        The weight of these rows; the number of their values is unknown.
    """

    TASK = "sliced"

    _config: SlicedConfig
    _by_value: dict[Value, Any]
    other: Any
    n_turned_away: int | float

    @classmethod
    def of(
        cls,
        config: SlicedConfig,
        by_value: dict[Value, Any],
        other: Any,
        n_turned_away: int | float,
        *,
        has_other: bool,
    ) -> Self:
        """List the results of the slices, and of their members, by name."""
        named = list(zip(slice_names(config, list(by_value)), by_value.values(), strict=True))
        if has_other:
            named.append((OTHER, other))
        flat = [pair for name, result in named for pair in _flattened(name, result)]
        return cls(
            tuple(name for name, _ in flat),
            tuple(result for _, result in flat),
            config,
            by_value,
            other,
            n_turned_away,
        )

    def __getitem__(self, value: Value) -> Any:
        """Return the result of a value's slice; with several columns, the value is a tuple."""
        key = read_value(value, self._config.column, name="value")
        if key not in self._by_value:
            raise KeyError(f"{value!r} has no slice")
        return self._by_value[key]

    def __contains__(self, value: object) -> bool:
        """Tell whether a value has a slice."""
        return value in self._by_value

    def __iter__(self) -> Iterator[Value]:
        """List the values that have a slice, the configured ones first."""
        return iter(self._by_value)

    def __len__(self) -> int:
        """Return the number of values that have a slice."""
        return len(self._by_value)

    def sheet(self, level: float) -> Sheet:
        """List the sheets of the slices."""
        return super().sheet(level) or ["no slices"]

    def rows(self, per: str | None, bounds: bool) -> list[Row]:
        """List the rows of `table`: one for each slice, or one for each class or group in it."""
        slices = dict(self._by_value)
        if self.n_turned_away:
            slices[OTHER] = self.other
        rows = [
            (value, row)
            for value, result in slices.items()
            if isinstance(result, Result)
            for row in (
                [result.as_dict(bounds=bounds)] if per is None else result.rows(per, bounds)
            )
        ]
        columns = _apart(self._config.column, {name for _, row in rows for name in row})
        return [{**_keys(columns, value), **row} for value, row in rows]

    def __repr__(self) -> str:
        """Show the result of each slice."""
        shown = {**self._by_value, **({OTHER: self.other} if self.n_turned_away else {})}
        return f"SlicedResult({shown})"


def slice_names(config: SlicedConfig, values: Sequence[Value]) -> list[str]:
    """Name slices ``column=value``; text that looks like a number is quoted if both occur."""
    texts = [_name(config, value, quoted=False) for value in values]
    times = Counter(texts)
    return [
        _name(config, value, quoted=True) if times[text] > 1 else text
        for value, text in zip(values, texts, strict=True)
    ]


def _name(config: SlicedConfig, value: Value, *, quoted: bool) -> str:
    items = value if isinstance(value, tuple) else (value,)
    pairs = zip(config.column, items, strict=True)
    return ",".join(
        f"{column}={item!r}" if quoted and isinstance(item, str) else f"{column}={value_text(item)}"
        for column, item in pairs
    )


def _apart(columns: tuple[str, ...], names: set[str]) -> list[str]:
    """Name the columns of slices, with a prefix if another column has the name."""
    found: list[str] = []
    for column in columns:
        others = [other for other in columns if other != column]
        taken = names.union(found, others)
        name = column
        while name in taken:
            name = f"slice_{name}"
        found.append(name)
    return found


def _keys(columns: Sequence[str], value: Value) -> Row:
    """Map the columns of slices to the items of a value."""
    items = value if isinstance(value, tuple) else (value,) * len(columns)
    return dict(zip(columns, items, strict=True))


def _flattened(name: str, result: Any) -> list[tuple[str, Any]]:
    if not isinstance(result, CollectionResult):
        return [(name, result)]
    return [(f"{name}{SEPARATOR}{path}", inner) for path, inner in result.leaves().items()]
