"""Changes from one state to others as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.render.sheets import Grid, SheetColumn
from streameval.render.text import chance_title, numbers, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.metrics.changes import Change
    from streameval.metrics.table import Interval
    from streameval.render.sheets import Sheet

_ASSUMED = "Intervals assume independent samples; for the same rows: eval --versus."
_MANY = 10**12  # three such counts, with commas, do not fit beside a name


def change_sheet(
    sides: Sequence[tuple[str, str]], changes: Mapping[str, Sequence[Change]], level: float
) -> Sheet:
    """Lay out a line for each metric: its values, the differences and their intervals.

    Parameters
    ----------
    sides : sequence of (str, str)
        The path of each state, and how much it holds.
    changes : mapping of str to sequence of Change
        By metric: from the first state to each of the others.
    level : float
        The level of the sampling intervals.
    """
    first, *others = names = [chr(ord("A") + side) for side in range(len(sides))]
    columns = list(zip(*changes.values(), strict=True))
    befores = SheetColumn([first, *_values([change.before.value for change in columns[0]])])
    values, intervals = [], []
    for name, column in zip(others, columns, strict=True):
        title = f"{name} - {first}"
        values.append(
            [
                SheetColumn([name, *_values([change.after.value for change in column])]),
                SheetColumn([title, *signed([change.difference for change in column])]),
            ]
        )
        of = f"{title}, " if len(others) > 1 else ""
        certified = [change.bounds if change.is_open else None for change in column]
        sampling = [change.sampling for change in column]
        intervals += [
            [SheetColumn([f"{of}certified interval", *_intervals(certified)])],
            [SheetColumn([f"{of}{chance_title(level)}", *_intervals(sampling)])],
        ]
    values[0].insert(0, befores)
    assumed = any(one.sampling and one.samples == "independent" for row in columns for one in row)
    caption = _ASSUMED if assumed else ""
    heading = [f"{name}: {path}, {size}" for name, (path, size) in zip(names, sides, strict=True)]
    metrics = SheetColumn.of_names("metric", changes, by_end=True)
    return [
        "\n".join(map(printable, heading)),
        Grid([metrics], [*values, *intervals], caption),
    ]


def _values(values: Sequence[float]) -> list[str]:
    """Write huge counts with six digits: three of them would not fit beside a name."""
    return [
        f"{value:.6g}" if isinstance(value, int) and abs(value) >= _MANY else text
        for value, text in zip(values, numbers(values), strict=True)
    ]


def signed(values: Sequence[float]) -> list[str]:
    """Write differences with their signs; 0 has none."""
    return [
        f"+{text}" if value > 0 else text
        for value, text in zip(values, _values(values), strict=True)
    ]


def _intervals(ends: Sequence[Interval | None]) -> list[str]:
    texts = iter(signed([float(end) for pair in ends if pair for end in pair]))
    return [f"[{next(texts)}, {next(texts)}]" if pair else "" for pair in ends]
