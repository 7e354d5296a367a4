"""Spark: two stages of Arrow functions in a local session."""

from __future__ import annotations

import os
import sys
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from engines.cases import CASES, TABLE, every_case, write_parts

import streameval as se

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from streameval.engines._counting import SourceCounter
from streameval.engines.spark import _count, _group_counter, _merge, aggregate, evaluate

pytestmark = pytest.mark.engine(name="spark")

PAIRED = {"make": se.PRCurveSketch, "by": ["country", "half"]}


@pytest.fixture(scope="module")
def spark():
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def df(spark, tmp_path_factory):
    paths = write_parts(tmp_path_factory.mktemp("parts"))
    return spark.read.parquet(*paths).repartition(5)


@every_case
def test_bytes_are_those_of_one_process(case, df):
    assert evaluate(df, **case.arguments).to_bytes() == case.serial().to_bytes()


def test_many_batches_in_a_partition_change_nothing(spark, df):
    case = CASES["coarsened curve"]
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        assert evaluate(df, **case.arguments).to_bytes() == case.serial().to_bytes()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_values_of_a_column_are_counted_apart(df):
    case = CASES["grouped"]
    counted = evaluate(df, **case.arguments, by="country")
    assert list(counted) == ["DE", "FR", "IT"]
    for value, acc in counted.items():
        rows = [country == value for country in TABLE.column("country").to_pylist()]
        assert acc.to_bytes() == case.serial(TABLE.filter(rows)).to_bytes()


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("country = 'DE'", [False, True]),
        ("query % 2", [0, 1]),
        ("if(country = 'DE', 'DE', null)", ["DE", None]),
        ("make_date(2024, 1, int(query % 2) + 1)", [date(2024, 1, 1), date(2024, 1, 2)]),
        ("double(query % 2) / 2", ["0", "0.5"]),
    ],
)
def test_values_may_be_of_any_type_or_missing(expression, values, df):
    counted = evaluate(df.withColumn("value", sf.expr(expression)), se.PRCurveSketch, by="value")
    assert list(counted) == values
    assert sum(acc.n for acc in counted.values()) == TABLE.num_rows


def test_names_of_columns_may_have_dots(df):
    renamed = df.withColumnsRenamed({"y_score": "model.v2 score", "country": "geo.country"})
    columns = {"y_score": "model.v2 score"}
    counted = evaluate(renamed, se.PRCurveSketch, columns=columns, by="geo.country")
    assert counted == evaluate(df, se.PRCurveSketch, by="country")


def test_without_rows_nothing_is_counted(df):
    none = df.filter("query < 0")
    assert evaluate(none, se.PRCurveSketch) == se.PRCurveSketch()
    assert evaluate(none, se.PRCurveSketch, by="country") == {}


def test_missing_column_is_named(df):
    with pytest.raises(se.InvalidInputError, match="`y_pred` is missing: the batch has"):
        evaluate(df, se.ConfusionAccumulator)


def test_batch_that_is_refused_is_quoted(df):
    wrong = df.withColumn("y_score", sf.lit(7.0))
    with pytest.raises(
        PythonException,
        match=r"InvalidInputError: partition \d+, rows .*: `y_score` must lie in \[0, 1\]",
    ):
        evaluate(wrong, se.PRCurveSketch)


@pytest.mark.parametrize(("by", "n_slices"), [(None, 1), ("country", 3), ("half", 2)])
def test_stages_are_functions_of_record_batches(by, n_slices):
    counting = SourceCounter.of(se.PRCurveSketch, by=by)
    table = TABLE.append_column("half", pa.array(np.arange(TABLE.num_rows) % 2 / 2))
    (states,) = _count(counting, table.column_names, iter(table.to_batches(max_chunksize=1000)))
    assert states.schema.names == ["slice", "state"]
    assert states.num_rows == n_slices
    for place in range(states.num_rows):
        (total,) = _merge(iter([states.slice(place, 1)] * 2))
        state = se.from_bytes(states.column("state")[place].as_py())
        assert se.from_bytes(total.column("state")[0].as_py()) == state + state
        assert total.column("slice")[0] == states.column("slice")[place]


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_moments_are_the_same_in_any_time_zone_of_a_session(zone, spark, df):
    moments = df.withColumn("at", sf.expr("timestamp_seconds(1e9 + 3600 * (query % 2))"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        counted = evaluate(moments, se.PRCurveSketch, by="at")
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    first = datetime.fromtimestamp(1e9, UTC)
    assert list(counted) == [first, first + timedelta(hours=1)]
    assert sum(acc.n for acc in counted.values()) == TABLE.num_rows


def test_values_of_several_columns_are_tuples(df):
    counted = evaluate(df.withColumn("half", sf.expr("query % 2")), **PAIRED)
    assert list(counted) == [(value, half) for value in ("DE", "FR", "IT") for half in (0, 1)]
    assert sum(acc.n for acc in counted.values()) == TABLE.num_rows


def test_nulls_are_refused_with_their_partition_or_left_out(df):
    holes = df.withColumn("y_score", sf.expr("if(query = 0, null, y_score)"))
    message = r"InvalidInputError: partition \d, rows 1 to [\d,]+: `y_score` .* at position \d"
    with pytest.raises(PythonException, match=message):
        evaluate(holes, se.PRCurveSketch)
    counted = evaluate(holes, se.PRCurveSketch, nulls="skip")
    assert counted == evaluate(df.filter("query != 0"), se.PRCurveSketch)


def test_groups_become_rows_of_states(spark, df):
    case = CASES["collection"]
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        rows = aggregate(df.groupBy("country"), **case.arguments, name="counted").collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    countries = TABLE.column("country").to_pylist()
    assert {row.country for row in rows} == {*countries}
    for row in rows:
        mine = TABLE.filter([country == row.country for country in countries])
        assert bytes(row.counted) == case.serial(mine).to_bytes()


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_groups_may_be_of_expressions_or_missing(zone, spark):
    spark.conf.set("spark.sql.session.timeZone", zone)
    query = """
        select timestamp_seconds(n * 1800) at, if(n = 5, null, n % 2) part, 1 y_true, n % 2 y_pred
        from values (0), (1), (2), (3), (5) as numbers(n)
    """
    groups = spark.sql(query).groupBy(sf.window("at", "1 hour"), "part")
    counted = aggregate(groups, se.ConfusionAccumulator)
    assert counted.columns == ["window", "part", "state"]
    hours = counted.selectExpr("unix_seconds(window.start) / 3600 hour", "part", "state")
    try:
        found = hours.collect()
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    ns = {(row.hour, row.part): se.from_bytes(bytes(row.state)).n for row in found}
    assert ns == {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1, (2, None): 1}


def test_group_that_is_refused_is_named(spark):
    df = spark.createDataFrame(
        [("DE", 1, None), ("DE", 1, 1)], "country string, y_true int, y_pred int"
    )
    with pytest.raises(
        PythonException, match=r"group DE, rows 1 to 2: `y_pred` .* at position [01]"
    ):
        aggregate(df.groupBy("country"), se.ConfusionAccumulator).collect()
    counted = aggregate(df.groupBy("country"), se.ConfusionAccumulator, nulls="skip").first()
    assert se.from_bytes(bytes(counted.state)).n == 1


def test_counter_of_groups_is_a_function_of_record_batches():
    counting = SourceCounter.of(se.ConfusionAccumulator)
    batch = pa.record_batch({"y_true": [1, 0], "y_pred": [1, 1]})
    counted = _group_counter(counting, ["country", "window", "state"])
    at = datetime(2024, 5, 1, tzinfo=UTC)
    window = pa.scalar({"start": at}, pa.struct({"start": pa.timestamp("us", "Etc/UTC")}))
    (row,) = counted((pa.scalar("DE"), window), iter([batch, batch]))
    assert row.column("country").to_pylist() == ["DE"]
    assert row.column("window").type == pa.struct({"start": pa.timestamp("us", "UTC")})
    assert row.column("window").to_pylist() == [{"start": at}]
    state = se.ConfusionAccumulator().update([1, 0, 1, 0], [1] * 4).to_bytes()
    assert row.column("state").to_pylist() == [state]
