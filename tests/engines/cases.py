"""One data set, and what is counted of it on every engine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import streameval as se

N_ROWS = 3000
_random = np.random.default_rng(0)
_click = _random.integers(0, 2, N_ROWS)
_amount = _random.normal(size=N_ROWS) * 10.0 ** _random.integers(-9, 9, N_ROWS)

TABLE = pa.table(
    {
        "y_true": _click,
        "y_score": np.clip(_random.normal(0.4 + 0.2 * _click, 0.2), 0, 1),
        "label": np.array(["cat", "dog", "eel"])[_random.integers(0, 3, N_ROWS)],
        "guess": np.array(["cat", "dog", "eel"])[_random.integers(0, 3, N_ROWS)],
        "user": _random.integers(0, 40, N_ROWS),
        "amount": _amount,
        "forecast": _amount + _random.normal(size=N_ROWS),
        "relevance": _random.integers(0, 3, N_ROWS),
        "rank_score": _random.integers(0, 50, N_ROWS) / 50,
        "query": _random.integers(0, 30, N_ROWS),
        "country": np.array(["DE", "FR", "IT"])[_random.integers(0, 3, N_ROWS)],
        "not_read": np.array(["x" * 100] * N_ROWS),
    }
)


@attrs.frozen
class Case:
    """An accumulator, the columns that it reads, and the options of its updates."""

    make: Callable[[], Any]
    columns: dict[str, str] = attrs.Factory(dict)
    options: dict[str, Any] = attrs.Factory(dict)

    @property
    def arguments(self) -> dict[str, Any]:
        return {"make": self.make, "columns": self.columns, "options": self.options}

    def batch(self, table: pa.Table) -> dict[str, Any]:
        """The arrays of an update, taken from a table."""
        renamed = {argument: table.column(column) for argument, column in self.columns.items()}
        return {name: table.column(name) for name in table.column_names} | renamed

    def serial(self, table: pa.Table = TABLE) -> Any:
        """What one process counts."""
        if not table.num_rows:
            return self.make()
        arrays = {k: v for k, v in self.batch(table).items() if self.options or k != "query"}
        return self.make().update(arrays, **self.options)


_members = {
    "labels": se.ConfusionAccumulator("auto"),
    "curve": se.PRCurveSketch(64),
    "users": se.GroupedAUC(),
}
_read = {"labels": {"y_true": "label", "y_pred": "guess"}, "users": {"group": "user"}}

# The copies of empty accumulators: they pickle by way of streameval, which every worker has.
CASES = {
    "confusion": Case(
        se.ConfusionAccumulator(["cat", "dog", "eel"]).copy, {"y_true": "label", "y_pred": "guess"}
    ),
    "coarsened curve": Case(se.PRCurveSketch(64).copy),
    "grouped": Case(se.GroupedAUC().copy, {"group": "user"}),
    "regression": Case(se.RegressionAccumulator().copy, {"y_true": "amount", "y_pred": "forecast"}),
    "ranking in pieces": Case(
        se.RankingAccumulator(["map@10", "ndcg@5"]).copy,
        {"score": "rank_score"},
        {"partial": True},
    ),
    "collection": Case(se.Collection(_members, columns=_read).copy),
}

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def parts(table: pa.Table = TABLE, n_parts: int = 7) -> list[pa.Table]:
    """Cut a table unevenly; one part is empty."""
    cuts = sorted(
        {0, table.num_rows, *(table.num_rows * k * k // n_parts**2 for k in range(n_parts))}
    )
    cut = [table.slice(start, end - start) for start, end in pairwise(cuts)]
    return [*cut, table.slice(0, 0)]


def write_parts(folder: Path, form: str = "parquet", n_parts: int = 7) -> list[str]:
    """Write each part to a file."""
    paths = []
    for place, part in enumerate(parts(n_parts=n_parts)):
        path = folder / f"part-{place}.{form}"
        if form == "parquet":
            parquet.write_table(part, path, row_group_size=100)
        elif form == "csv":
            csv.write_csv(part, path)
        else:
            path.write_text("".join(f"{row}\n" for row in json_rows(part)), encoding="utf-8")
        paths.append(str(path))
    return paths


def slow_make(make: Callable[[], Any], folder: str) -> Any:
    """Make an accumulator after a while, and leave a mark."""
    time.sleep(0.1)
    with Path(folder, "made").open("a", encoding="utf-8") as file:
        file.write(".")
    return make()


def json_rows(table: pa.Table) -> Iterator[str]:
    """Yield the rows as JSON."""
    yield from map(json.dumps, table.to_pylist())
