"""Joins: bring labels that come later to their predictions by id, and count the pairs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side
from streameval.monitoring.join import Join

# One thread, as NumPy has; polars reads this when it is imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

BATCH = 10_000
SECOND = 1_000_000
DELAY = 600 * SECOND
MATRIX = "confusion matrix"
RECORD = np.dtype([("score", np.float64)])


def logs(rows: int) -> Data:
    """Draw predictions, one every millisecond, and labels that come up to 10 minutes later.

    One prediction in a hundred gets no label.
    """
    truth, score = data.binary(rows)
    random = np.random.default_rng(data.SEED)
    ids = np.array([f"{number:016x}" for number in random.permutation(rows).tolist()], dtype=object)
    times = np.arange(rows, dtype=np.int64) * (SECOND // 1000)
    arrival = times + random.integers(0, DELAY, rows)
    order = np.argsort(arrival, kind="stable")
    order = order[random.random(rows) < 0.99]
    predictions = {"id": ids, "time": times, "score": score.astype(np.float64)}
    labels = {"id": ids[order], "time": arrival[order], "label": truth[order].astype(np.int64)}
    return predictions, labels


def parts(columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut columns into batches."""
    for start in range(0, len(columns["id"]), BATCH):
        yield {name: column[start : start + BATCH] for name, column in columns.items()}


def in_order(held: Data) -> list[tuple[str, dict[str, Any]]]:
    """List the batches of both logs as they are read: the log first that is behind."""
    batches = [
        (name, batch)
        for name, columns in zip(("predictions", "labels"), held, strict=True)
        for batch in parts(columns)
    ]
    return sorted(batches, key=lambda pair: pair[1]["time"][-1])


def our_join(held: Data) -> Side:
    """Join batches as they come, and count what has met."""
    batches = in_order(held)

    def run() -> Numbers:
        join = Join(RECORD, wait=2 * DELAY, out_of_order=0, max_pending=10**7)
        counted = se.ConfusionAccumulator()

        def count() -> None:
            joined = join.ready()
            chosen = joined.is_labelled
            if chosen.any():
                counted.update(joined.labels[chosen], joined.rows["score"][chosen])

        for name in ("predictions", "labels"):
            join.partitions[name].declare(["log"])
        for side, batch in batches:
            ids = batch["id"].tolist()
            if side == "predictions":
                records = np.empty(len(ids), RECORD)
                records["score"] = batch["score"]
                join.predict("log", ids, batch["time"], records)
            else:
                join.label("log", ids, batch["time"], batch["label"])
            count()
        for name in ("predictions", "labels"):
            join.partitions[name].finish("log")
        count()
        return {MATRIX: counted.compute().matrix}

    return Side.of_function(run)


def counted_cells(truth: Any, score: Any) -> Numbers:
    """Count pairs by truth and decision with NumPy."""
    cells = np.bincount(2 * np.asarray(truth) + (np.asarray(score) >= 0.5), minlength=4)
    return {MATRIX: cells.reshape(2, 2)}


def pandas_merge() -> Peer:
    """Merge two frames."""

    def ready(pandas: Any, held: Data) -> Side:
        predictions, labels = map(pandas.DataFrame, held)

        def run() -> Numbers:
            joined = predictions.merge(labels, on="id")
            return counted_cells(joined["label"], joined["score"])

        return Side.of_function(run)

    return Peer(library="pandas", name="merge of whole tables", ready=ready, goal=None)


def pandas_batches(goal: float) -> Peer:
    """Merge batches as they come with pending rows, as a program does that follows logs."""

    def ready(pandas: Any, held: Data) -> Side:
        batches = [(name, pandas.DataFrame(batch)) for name, batch in in_order(held)]
        empty = [pandas.DataFrame(columns).head(0) for columns in held]

        def run() -> Numbers:
            cells = np.zeros((2, 2), dtype=np.int64)
            pending = dict(zip(("predictions", "labels"), empty, strict=True))
            for name, batch in batches:
                pending[name] = pandas.concat([pending[name], batch])
                joined = pending["predictions"].merge(pending["labels"], on="id")
                cells += counted_cells(joined["label"], joined["score"])[MATRIX]
                pending = {
                    side: rows[~rows["id"].isin(joined["id"])] for side, rows in pending.items()
                }
            return {MATRIX: cells}

        return Side.of_function(run)

    return Peer(library="pandas", name="merge, batch by batch", ready=ready, goal=goal)


def polars_join() -> Peer:
    """Join two frames."""

    def ready(polars: Any, held: Data) -> Side:
        predictions, labels = (
            polars.DataFrame({name: column.tolist() for name, column in columns.items()})
            for columns in held
        )

        def run() -> Numbers:
            joined = predictions.join(labels, on="id")
            return counted_cells(joined["label"], joined["score"])

        return Side.of_function(run)

    return Peer(library="polars", name="join of whole tables", ready=ready, goal=None)


def duckdb_join() -> Peer:
    """Join two tables of a database in memory."""
    query = (
        "SELECT label, score >= 0.5, count(*) FROM predictions JOIN labels USING (id) "
        "GROUP BY ALL ORDER BY ALL"
    )

    def ready(duckdb: Any, held: Data) -> Side:
        import pandas  # noqa: PLC0415 - as one peer alone needs it

        base = duckdb.connect(config={"threads": 1})
        for name, columns in zip(("predictions", "labels"), held, strict=True):
            base.register("given", pandas.DataFrame(columns))
            base.execute(f"CREATE TABLE {name} AS SELECT * FROM given")

        def run() -> Numbers:
            found = base.execute(query).fetchall()
            return {MATRIX: np.reshape([number for *_, number in found], (2, 2))}

        return Side.of_function(run)

    return Peer(library="duckdb", name="JOIN of whole tables", ready=ready, goal=None)


def late_labels(rows: int, *more: Peer) -> Contest:
    """Join rows of two logs, beside those who have both as whole tables, and others."""
    return Contest(
        verb="joins",
        accumulator="Join",
        work="labels up to 10 minutes late, by id",
        size=rows,
        data=logs,
        ours=our_join,
        peers=[*more, pandas_merge(), polars_join(), duckdb_join()],
    )


CONTESTS = [late_labels(100_000, pandas_batches(goal=5.0)), late_labels(1_000_000)]
