"""Streams of Spark: the same bytes as counting once, wherever the driver dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval as se

pytest.importorskip("pyspark", reason="pyspark is not installed")

from engines import spark_driver
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as sf

from streameval.engines._batches import Batches
from streameval.engines.spark import read, stream

pytestmark = pytest.mark.engine(name="spark")

START = np.datetime64("2024-01-01T00:00", "us")


def rows(size=6000):
    """Draw rows of half an hour in the order of their coming: a fifth is up to 15 min late."""
    rng = np.random.default_rng(0)
    seconds = np.sort(rng.integers(0, 1800, size))
    late = np.where(rng.random(size) < 0.2, rng.integers(0, 900, size), 0)
    score = rng.random(size)
    return pa.table(
        {
            "ts": pa.array(START + (seconds - late).astype("m8[s]"), pa.timestamp("us", tz="UTC")),
            "country": rng.choice(["DE", "FR", "IT"], size),
            "y_true": pa.array((rng.random(size) < score).astype(np.int32)),
            "p": score,
        }
    )


ROWS = rows()


def counted(table):
    """Count rows once."""
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", time="ts")
    columns = {"ts": table["ts"], "y_true": table["y_true"], "y_pred": table["p"]}
    return windowed.update(columns)


def expected():
    return {
        value: counted(ROWS.filter(pa.compute.equal(ROWS["country"], value))).to_bytes()
        for value in ("DE", "FR", "IT")
    }


def found(folder):
    return {value: state.to_bytes() for value, state in read(folder / "states").items()}


@pytest.fixture(scope="module")
def spark():
    session = spark_driver.session()
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    size = len(ROWS) // spark_driver.FILES
    for number in range(spark_driver.FILES):
        path = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(ROWS.slice(number * size, size), path)
        os.utime(path, (number, number))  # Spark reads them by age
    return tmp_path


def test_stream_is_the_bytes_of_counting_once(spark, folder):
    spark_driver.start(spark, folder).awaitTermination()
    assert found(folder) == expected()
    assert len(Batches(folder / "states")) <= 3


def test_stream_goes_on_where_it_ended(spark, folder):
    last = folder / "in" / "5.parquet"
    last.rename(folder / "last.parquet")
    spark_driver.start(spark, folder).awaitTermination()
    before = read(folder / "states")
    (folder / "last.parquet").rename(last)
    spark_driver.start(spark, folder).awaitTermination()
    assert sum(part.n for part in before.values()) == 5000
    assert found(folder) == expected()


@pytest.mark.parametrize("where", ["before", "after", "merged"])
def test_driver_that_dies_counts_every_row_once(spark, folder, where):
    command = [sys.executable, spark_driver.__file__, str(folder), where]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": paths},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(timeout=240) == 9
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the JVM
    states = folder / "states"
    committed = {path.name for path in (states / "_spark" / "commits").iterdir()}
    assert {"0", "1"} <= committed
    assert "2" not in committed
    assert (states / f"{2:020}-{2:020}.parquet").exists() == (where != "before")
    spark_driver.start(spark, folder).awaitTermination()
    assert found(folder) == expected()


def test_stream_without_slices_or_panes_is_one_state(spark, folder):
    reader = spark.readStream.schema(spark_driver.SCHEMA).parquet(str(folder / "in"))
    writer = stream(
        reader, se.ConfusionAccumulator, folder / "states", columns=spark_driver.COLUMNS
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    whole = se.ConfusionAccumulator().update(ROWS["y_true"], ROWS["p"])
    assert read(folder / "states").to_bytes() == whole.to_bytes()


def test_states_of_another_query_are_refused(spark, folder):
    spark_driver.start(spark, folder).awaitTermination()
    (folder / "states" / "_spark").rename(folder / "lost")
    query = spark_driver.start(spark, folder)
    with pytest.raises(StreamingQueryException, match="holds the batches of another query"):
        query.awaitTermination()


def test_batch_that_is_refused_ends_the_query(spark, folder):
    reader = spark.readStream.schema(spark_driver.SCHEMA).parquet(str(folder / "in"))
    wrong = reader.withColumn("p", sf.lit(7.0))
    writer = stream(wrong, se.ConfusionAccumulator, folder / "states", columns=spark_driver.COLUMNS)
    query = writer.trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException, match=r"`p` must lie in \[0, 1\]|InvalidInput"):
        query.awaitTermination()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "ts"}, "`pane` is missing: `time` and `pane` go together"),
        ({"pane": "1m"}, "`time` is missing: `time` and `pane` go together"),
        ({"keep": "1h"}, "`keep` needs `time`"),
        ({"unit": "s"}, "`unit` needs `time`"),
        ({"compact_after": 0}, "`compact_after`"),
        ({"time": "when", "pane": "1m"}, "`when` is missing"),
    ],
)
def test_wrong_options_are_refused_before_the_query_starts(spark, folder, options, message):
    df = spark.readStream.schema(spark_driver.SCHEMA).parquet(str(folder / "in"))
    given = {"columns": spark_driver.COLUMNS} | options
    with pytest.raises(se.InvalidInputError, match=message):
        stream(df, se.ConfusionAccumulator, folder / "states", **given)
