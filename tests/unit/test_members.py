"""The attributes that results have by their rows, and the stub from which type checkers know them.

`python tests/unit/test_members.py` writes the stub anew.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import streameval as se
from streameval.metrics.table import Metric
from streameval.results import members

STUB = Path(inspect.getfile(members)).with_suffix(".pyi")
MADE: list[type[Any]] = [
    se.Calibration,
    se.Catalog,
    se.ClassCurves,
    se.Confusion,
    se.Curve,
    se.GroupedCurves,
    se.PairedResult,
    se.Preferences,
    se.Ranking,
    se.Regression,
    se.RegressionOutputs,
    se.Summary,
]

HEAD = '''"""Generated from the rows of the tables of metrics by `tests/unit/test_members.py`."""

from collections.abc import Mapping
from typing import Any, Protocol

from streameval.exact.array_types import Floats, Ints
from streameval.metrics.bounded import Bounded
from streameval.metrics.table import Metric
from streameval.results.metric_values import ClassAverages, FAverages, MetricValue, OutputAverages

class RowMembers: ...

def rows_of_members(cls: type[Any]) -> list[Metric]: ...
def add_members(cls: type[Any]) -> None: ...
'''


def stub() -> str:
    return HEAD + "".join(class_of(cls) for cls in MADE)


def class_of(cls: type[Any]) -> str:
    rows = members.rows_of_members(cls)
    body = "".join(member(cls, row) for row in rows) or "    ...\n"
    called = [] if cls is se.Ranking else filter(has_options, rows)
    options = "".join(options_of(cls, row) for row in called)
    return f"{options}\nclass {cls.__name__}Members(RowMembers):\n{body}"


def has_options(row: Metric) -> bool:
    """Tell whether a metric is a number, which you can call for other arguments."""
    is_alone = not (row.averages or row.needs_argument or row.measured)
    return bool(row.arguments) and is_alone


def options_of(cls: type[Any], row: Metric) -> str:
    """Write the type of what such a metric is called for."""
    own = ", ".join(["self", *parameters(row)])
    head = f"\nclass _{cls.__name__}_{row.name}(Protocol):\n"
    return f"{head}    def __call__({own}) -> {number(row)}: ...\n"


def member(cls: type[Any], row: Metric) -> str:
    is_property = cls is se.Ranking or row.averages or has_options(row)
    if row.arguments and not is_property:
        head = f"    def {row.name}(self, {', '.join(parameters(row))}) -> {number(row)}:\n"
    else:
        head = f"    @property\n    def {row.name}(self) -> {kind(cls, row)}:\n"
    lines = [*f'"""{row.docstring}'.split("\n"), '"""']
    if len(lines) == 2:
        lines = textwrap.wrap("".join(lines), 92, break_long_words=False)
    return head + textwrap.indent("\n".join(lines), " " * 8).replace("\\", "\\\\") + "\n"


def parameters(row: Metric) -> Iterator[str]:
    known = inspect.signature(row.value).parameters
    for name, is_given, default in (one.partition("=") for one in row.arguments):
        type_of = known[name].annotation if row.documentation else "float"
        yield f"{name}: {type_of}" + (f" = {default}" if is_given else "")


def number(row: Metric) -> str:
    if "array of shape (K,)" in row.help:
        return "int | float | Ints | Floats"
    if row.by_class and not row.averages:
        return "float | Floats"
    if row.is_count:
        return "int" if row.help.startswith(("The number of", "How many")) else "int | float"
    return "Bounded" if row.certified else "float"


def kind(cls: type[Any], row: Metric) -> str:
    if cls is se.RegressionOutputs and not row.is_count:
        return "MetricValue[OutputAverages]"
    if cls is se.Ranking and row.is_count:  # complete queries have weights
        return "int" if row.name == "n_open" else "int | float"
    if cls is se.Ranking:
        has_cutoffs = row.name == "ndcg" or row.needs_argument
        return "Mapping[int | None, Bounded]" if has_cutoffs else "Bounded"
    if has_options(row):
        return f"MetricValue[_{cls.__name__}_{row.name}]"
    if not row.averages:
        return number(row)
    return f"MetricValue[{'FAverages' if row.arguments else 'ClassAverages'}]"


def test_stub_is_that_of_the_rows() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "python tests/unit/test_members.py"


def test_members_of_rows_have_the_text_of_the_row() -> None:
    for cls in MADE:
        for row in members.rows_of_members(cls):
            assert inspect.getdoc(getattr(cls, row.name)) == row.docstring


def test_measures_of_a_ranking_are_means_over_queries() -> None:
    rows = [row for row in members.rows_of_members(se.Ranking) if not row.is_count]
    assert [row.name for row in rows if "mean" not in row.docstring] == []
    assert inspect.getdoc(se.Ranking.hit) == (
        "The mean over queries, by cutoff: 1 if a relevant document is in the first k, else 0."
    )
    assert [name for name in dir(se.Ranking) if not name.isidentifier()] == []


def test_every_result_with_a_table_has_its_members() -> None:
    lacking = [
        f"{cls.__name__}.{row.name}"
        for cls in MADE
        for row in cls.TABLE.values()
        if hasattr(cls, row.name) != row.name.isidentifier()
    ]
    assert lacking == []


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
