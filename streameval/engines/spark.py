"""Evaluation on Spark: partitions become states where they are, and states are merged by slice."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from streameval.accumulators.checkpoint import from_bytes
from streameval.accumulators.merging import merge
from streameval.engines._counting import Make, SourceCounter, text_of, value_of

try:
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.sql import functions as sf
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType
except ImportError as error:
    raise ImportError('pyspark is missing: pip install "streameval[spark]".') from error

__all__ = ["evaluate"]


def evaluate(
    df: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    nulls: str = "raise",
) -> Any:
    """Count a data frame on its executors, the same bytes as in one process.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Its partitions are counted as they lie; rows need not be repartitioned.
    make, columns, by, options, nulls
        As every engine takes them: `streameval.engines`.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. A batch that is refused raises Spark's PythonException,
        which quotes the InvalidInputError, with the partition and the rows of the batch.

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
    counting = SourceCounter.of(make, columns, by, options, nulls=nulls)
    names = counting.names(df.columns)
    # mapInArrow takes dots in names for paths, so the columns travel under their numbers
    numbered = [sf.col(_quoted(name)).alias(str(number)) for number, name in enumerate(names)]
    chosen = df.select(numbered)
    schema = StructType([StructField("slice", StringType()), StructField("state", BinaryType())])
    states = chosen.mapInArrow(partial(_count, counting, names), schema)
    totals = states.groupBy("slice").applyInArrow(_merge, schema).toArrow()
    texts, merged = (column.to_pylist() for column in totals)
    values = [value_of(*json.loads(text)) for text in texts]
    return counting.result(dict(zip(values, merged, strict=True)))


def _quoted(name: str) -> str:
    """Quote the name of a column: Spark takes dots in it for a path."""
    return f"`{name.replace('`', '``')}`"


def _count(
    counting: SourceCounter, names: list[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Count one partition; values travel as text, which no session time zone changes."""
    context = TaskContext.get()
    name = "a partition" if context is None else f"partition {context.partitionId()}"
    slices = counting.count_batches((batch.rename_columns(names) for batch in batches), name)
    texts = [json.dumps(text_of(value)) for value in slices]
    yield _states(pa.array(texts, pa.string()), list(slices.values()))


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
