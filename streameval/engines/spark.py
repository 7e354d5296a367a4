"""Evaluation on Spark: partitions become states where they are, and states are merged by slice.

A stream leaves the states of each batch, so that it counts once what Spark repeats.
"""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from streameval.accumulators.parts import merge
from streameval.accumulators.persistence import from_bytes
from streameval.accumulators.windowed import Windowed
from streameval.configs.options import positive_integer
from streameval.engines._counting import (
    Make,
    SourceCounter,
    States,
    read_in_order,
    text_of,
    value_of,
)
from streameval.errors import InvalidInputError, Named

try:
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.sql import functions as sf
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType
except ImportError as error:
    raise ImportError('pyspark is missing: pip install "streameval[spark]".') from error

from streameval.engines._batches import Batches  # it needs pyarrow

__all__ = ["aggregate", "evaluate", "read", "stream"]


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
    totals = _evaluated(df, counting)
    return counting.result(
        _by_value(dict(zip(*(column.to_pylist() for column in totals), strict=True)))
    )


def aggregate(
    groups: Any,
    make: Make,
    *,
    columns: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    nulls: str = "raise",
    name: str = "state",
) -> Any:
    """Count the rows of each group of a data frame, into a data frame of states.

    Parameters
    ----------
    groups : pyspark.sql.GroupedData
        What ``df.groupBy(...)`` returns, by columns or by expressions such as ``window``.
    make, columns, options, nulls
        As every engine takes them: `streameval.engines`.
    name : str
        The column of the states, which `streameval.from_bytes` reads.

    Returns
    -------
    pyspark.sql.DataFrame
        A row for each group: its columns, and the bytes of its accumulator. As any data frame it
        is counted when an action needs it.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. A batch that is refused raises Spark's PythonException,
        which quotes the InvalidInputError, with the group and the rows of the batch.

    Notes
    -----
    Grouping shuffles rows, which `evaluate` with ``by`` does not. A task counts a group batch by
    batch, so that it holds one state, however many rows and groups there are.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> import streameval as se
    >>> from streameval.engines.spark import aggregate
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rows = [("DE", 1, 1), ("DE", 0, 1), ("FR", 1, 1)]
    >>> df = spark.createDataFrame(rows, ["country", "y_true", "y_pred"])
    >>> counted = aggregate(df.groupBy("country"), se.ConfusionAccumulator)
    >>> states = {row.country: se.from_bytes(row.state) for row in counted.collect()}
    >>> states["DE"].compute().accuracy
    0.5
    """
    counting = SourceCounter.of(make, columns, None, options, nulls=nulls)
    *keys, _ = groups.count().schema
    schema = StructType([*keys, StructField(name, BinaryType())])
    return groups.applyInArrow(_group_counter(counting, schema.names), schema)


def stream(
    df: Any,
    make: Make,
    path: str | os.PathLike[str],
    *,
    time: str | None = None,
    pane: Any = None,
    keep: Any = None,
    unit: str | None = None,
    by: str | Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    compact_after: int = 100,
) -> Any:
    r"""Count a streaming data frame, each row once despite crashes; `read` merges the states.

    Parameters
    ----------
    df : streaming pyspark.sql.DataFrame
        Its source must be able to read a batch again, as files and Kafka are.
    make : callable
        Gives an empty accumulator, as for `evaluate`.
    path : path
        A folder that the driver can write: on a disk, or mounted. It holds the states of batches,
        and the checkpoint of the query below ``_spark``.
    time : str, optional
        The column of the event time. Then rows are counted by pane, in a `Windowed`.
    pane, keep, unit : optional
        The options of that `Windowed`.
    by, columns : optional
        As every engine takes them: `streameval.engines`.
    compact_after : int
        Merge the files of committed batches into one once there are this many.

    Returns
    -------
    pyspark.sql.streaming.DataStreamWriter
        To be started, with a trigger of your choice: ``.trigger(availableNow=True).start()``.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. A batch that is refused, and a folder that holds the states
        of another query, end the query with the error.

    Notes
    -----
    A batch leaves one file, named by its number. If Spark dies before it has committed the batch,
    it repeats it with the same rows, and the file is replaced. There is no watermark and no state
    in Spark: no row is late, none is dropped, and the result is the same bytes as counting all
    rows at once, as long as `df` gives the same rows again.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import streameval as se
    >>> from pyspark.sql import SparkSession
    >>> from streameval.engines.spark import read, stream
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> spark = SparkSession.builder.getOrCreate()
    >>> log = folder / "in" / "log.json"
    >>> log.parent.mkdir()
    >>> rows = [{"ts": t, "y_true": 1, "y_pred": t % 2} for t in (0, 31, 71)]
    >>> _ = log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    >>> schema = "ts long, y_true int, y_pred int"
    >>> df = spark.readStream.schema(schema).json(str(log.parent))
    >>> make = se.ConfusionAccumulator
    >>> writer = stream(df, make, folder / "states", time="ts", pane="1m", unit="s")
    >>> writer.trigger(availableNow=True).start().awaitTermination()
    >>> [(pane.n, pane.compute().accuracy) for _, _, pane in read(folder / "states").panes()]
    [(2, 0.5), (1, 1.0)]
    """
    if (time is None) != (pane is None):
        raise InvalidInputError(
            "is missing: ",
            Named("time"),
            " and ",
            Named("pane"),
            " go together",
            argument="time" if pane else "pane",
        )
    if time is not None:
        make = partial(_windowed, make, {"time": time, "pane": pane, "keep": keep, "unit": unit})
    elif keep is not None or unit is not None:
        name = "unit" if keep is None else "keep"
        raise InvalidInputError("needs ", Named("time"), argument=name)
    limit = positive_integer(compact_after, name="compact_after")
    counting = SourceCounter.of(make, columns, by)
    counting.names(df.columns)
    batches = Batches(Path(path))

    def count(batch: Any, number: int) -> None:
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        batches.write(number, _evaluated(batch, counting), query, counting.by)
        if len(batches) > limit:
            batches.compact(number)

    writer = df.writeStream.foreachBatch(count)
    return writer.option("checkpointLocation", str(batches.folder / "_spark"))


def read(path: str | os.PathLike[str]) -> Any:
    """Merge what `stream` has counted so far, during the query or after; Spark is not needed.

    Returns
    -------
    A new accumulator, or a dict of them by the values of the column `by`.

    Raises
    ------
    BadDataError
        If there is nothing yet.
    """
    by, texts = Batches(Path(path)).read()
    states = _by_value(texts)
    return from_bytes(states[None]) if by is None else read_in_order([states])


def _windowed(make: Make, options: Mapping[str, Any]) -> Windowed:
    return Windowed(make(), **options)


def _evaluated(df: Any, counting: SourceCounter) -> pa.Table:
    """Count a data frame on its executors, and return the state of each slice."""
    names = counting.names(df.columns)
    # mapInArrow takes dots in names for paths, so the columns travel under their numbers
    numbered = [sf.col(_quoted(name)).alias(str(number)) for number, name in enumerate(names)]
    chosen = df.select(numbered)
    schema = StructType([StructField("slice", StringType()), StructField("state", BinaryType())])
    states = chosen.mapInArrow(partial(_count, counting, names), schema)
    return states.groupBy("slice").applyInArrow(_merge, schema).toArrow()


def _by_value(states: Mapping[str, bytes]) -> States:
    """Read the values of slices, which travel as text."""
    return {value_of(*json.loads(text)): state for text, state in states.items()}


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


def _group_counter(counting: SourceCounter, names: list[str]) -> Callable[..., Any]:
    """Make what counts a group; Spark reads from its annotations that batches come in turn."""

    def count(
        key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        group = ", ".join(str(value) for value in key)
        state = counting.count_batches(batches, f"group {group}")[None]
        keys = (pa.repeat(value, 1).cast(_in_utc(value.type)) for value in key)
        columns = [*keys, pa.array([state], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=names)

    return count


def _in_utc(arrow_type: Any) -> Any:
    """Return the type that Spark expects moments to have, also in the structures of windows."""
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz:
        return pa.timestamp(arrow_type.unit, "UTC")
    if pa.types.is_struct(arrow_type):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in arrow_type])
    return arrow_type


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
