"""Evaluation on Spark: partitions become states where they are, and states are merged by slice."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from streameval.accumulators.checkpoint import from_bytes
from streameval.accumulators.merging import merge
from streameval.engines._counting import Make, SourceCounter

try:
    import pyarrow as pa
    from pyspark.sql import functions as sf
    from pyspark.sql.types import (
        BinaryType,
        ByteType,
        FractionalType,
        StringType,
        StructField,
        StructType,
    )
except ImportError as error:
    raise ImportError('pyspark is missing: pip install "streameval[spark]".') from error

__all__ = ["evaluate"]


def evaluate(
    df: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Count a data frame on its executors, the same bytes as in one process.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Its partitions are counted as they lie; rows need not be repartitioned.
    make : callable
        Gives an empty accumulator, and pickles: a class, a `functools.partial`, or the method
        `copy` of an empty accumulator.
    columns : mapping from argument to column, optional
        The columns of arguments of `update` that do not bear their names.
    by : str, optional
        A column: rows are counted for each of its values, None where it is missing.
    options : mapping, optional
        Keyword arguments of `update`, such as ``{"partial": True}`` for rankings.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. A batch that is refused raises Spark's PythonException,
        which quotes the InvalidInputError.

    Notes
    -----
    Rows stay where they are. One state for each partition and value of `by` is shuffled, and a
    merging task holds two of them at a time.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> import streameval as se
    >>> from streameval.engines.spark import evaluate
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rows = [("DE", 1, 1), ("DE", 0, 1), ("FR", 1, 1)]
    >>> df = spark.createDataFrame(rows, ["country", "y_true", "y_pred"])
    >>> evaluate(df, se.ConfusionAccumulator, by="country")["DE"].compute().accuracy
    0.5
    """
    counting = SourceCounter.of(make, columns, by, options)
    names = counting.names(df.columns)
    # mapInArrow takes dots in names for paths, so the columns travel under their numbers
    numbered = [sf.col(_quoted(name)).alias(str(number)) for number, name in enumerate(names)]
    chosen = df.select(numbered)
    # a name that is no column is a path, which Spark follows
    column = by if by is None or by not in df.columns else _quoted(by)
    column_type = ByteType() if column is None else df.select(column).schema[0].dataType
    if isinstance(column_type, FractionalType):
        column_type = StringType()  # fractions are told by their text
    schema = StructType([StructField("slice", column_type), StructField("state", BinaryType())])
    states = chosen.mapInArrow(partial(_count, counting, names), schema)
    totals = states.groupBy("slice").applyInArrow(_merge, schema).toArrow()
    return counting.result(dict(zip(*(column.to_pylist() for column in totals), strict=True)))


def _quoted(name: str) -> str:
    """Quote the name of a column: Spark takes dots in it for a path."""
    return f"`{name.replace('`', '``')}`"


def _count(
    counting: SourceCounter, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Count one partition."""
    column_type = pa.int8()

    def seen() -> Iterator[pa.RecordBatch]:
        nonlocal column_type
        for numbered in batches:
            batch = numbered.rename_columns(names)
            if counting.by is not None:
                column_type = counting.type_of_slices(batch)
                if pa.types.is_floating(column_type) or pa.types.is_decimal(column_type):
                    column_type = pa.string()
            yield batch

    slices = counting.count_batches(seen())
    yield _states(pa.array(slices, column_type), list(slices.values()))


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the states of one slice; Spark reads from the annotations that they come in turn."""
    value = None

    def states() -> Iterator[Any]:
        nonlocal value
        for batch in batches:
            value = batch.column("slice")[:1]
            yield from (from_bytes(state.as_py()) for state in batch.column("state"))

    total = merge(states())
    yield _states(value, [total.to_bytes()])


def _states(values: Any, states: list[bytes]) -> pa.RecordBatch:
    columns = [values, pa.array(states, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["slice", "state"])
