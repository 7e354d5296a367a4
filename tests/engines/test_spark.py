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
from streameval.engines.spark import _count, _merge, evaluate

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
