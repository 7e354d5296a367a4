"""A driver of a Spark stream that dies where it is told: `spark_driver.py FOLDER WHERE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import streameval as se
from streameval.engines._batches import Batches
from streameval.engines.spark import stream

__all__ = ["COLUMNS", "FILES", "SCHEMA", "session", "start"]

FILES = 6
SCHEMA = "ts timestamp, country string, y_true int, p double"
COLUMNS = {"y_pred": "p"}


def session():
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    made = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def start(spark, folder, by="country"):
    """Count what is there, a file in each batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    writer = stream(
        reader.parquet(str(folder / "in")),
        se.ConfusionAccumulator,
        folder / "states",
        time="ts",
        pane="1m",
        by=by,
        columns=COLUMNS,
        compact_after=2,
    )
    return writer.trigger(availableNow=True).start()


def die_in(number, where):
    """Let the process die in a batch: before or after its states are written, or once those of
    older batches have been merged into one file.
    """
    write = Batches.write

    def dying(self, at, *rest):
        if at == number and where == "before":
            os._exit(9)
        write(self, at, *rest)
        if at == number and where == "after":
            os._exit(9)

    Batches.write = dying
    if where == "merged":
        Path.unlink = lambda *_, **__: os._exit(9)


if __name__ == "__main__":
    folder, where = Path(sys.argv[1]), sys.argv[2]
    spark = session()
    die_in(2, where)
    start(spark, folder).awaitTermination()
