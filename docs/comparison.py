"""Evaluate one stream with several libraries; print the table of the docs and of README.

Run ``python docs/comparison.py`` after ``pip install . --group benchmarks``; it takes a minute.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import attrs
import numpy as np
from sklearn.metrics import roc_auc_score

import streameval as se

ROWS = 1_000_000
BATCH = 10_000
SEED = 0

Data = tuple[np.ndarray, np.ndarray]
Run = Callable[[list[Data]], tuple[float, Any]]


@attrs.frozen
class Way:
    """One way to compute a ROC AUC over a stream.

    Parameters
    ----------
    library : str
        Its distribution.
    name : str
        What is called.
    run : callable
        Takes batches; returns the value, and what must be kept for the next batch.
    """

    library: str
    name: str
    run: Run


def click_rates(rows: int) -> Data:
    """Draw clicks, one in 360, and a model that knows the rates."""
    random = np.random.default_rng(SEED)
    rate = 1 / (1 + np.exp(-random.normal(-7, 1.5, rows)))
    return random.random(rows) < rate, rate.astype(np.float32)


def by_streameval(batches: list[Data]) -> tuple[float, Any]:
    sketch = se.PRCurveSketch()
    for truth, score in batches:
        sketch.update(truth, score)
    return sketch.compute().roc_auc, sketch


def by_torchmetrics(thresholds: int | None) -> Run:
    def run(batches: list[Data]) -> tuple[float, Any]:
        from torchmetrics.classification import BinaryAUROC  # noqa: PLC0415

        metric = updated(BinaryAUROC(thresholds=thresholds), batches)
        return float(metric.compute()), metric.metric_state

    return run


def by_torcheval(name: str) -> Run:
    def run(batches: list[Data]) -> tuple[float, Any]:
        from torcheval import metrics  # noqa: PLC0415

        metric = updated(getattr(metrics, name)(), batches)
        value = metric.compute()
        return float(value[0] if isinstance(value, tuple) else value), metric.state_dict()

    return run


def updated(metric: Any, batches: list[Data]) -> Any:
    """Give a metric of torch all batches."""
    import torch  # noqa: PLC0415

    for truth, score in batches:
        metric.update(torch.from_numpy(score), torch.from_numpy(truth).long())
    return metric


def by_river(batches: list[Data]) -> tuple[float, Any]:
    from river.metrics import ROCAUC  # noqa: PLC0415

    metric = ROCAUC()
    for truth, score in batches:
        for positive, probability in zip(truth.tolist(), score.tolist(), strict=True):
            metric.update(positive, probability)
    return metric.get(), metric


def by_sklearn(batches: list[Data]) -> tuple[float, Any]:
    truth, score = (np.concatenate(part) for part in zip(*batches, strict=True))
    return float(roc_auc_score(truth, score)), (truth, score)


AREA_IN_SQL = """
    WITH ranks AS (
        SELECT y, rank() OVER (ORDER BY s) + (count(*) OVER (PARTITION BY s) - 1) / 2 AS r FROM log
    ), sums AS (SELECT sum(r) FILTER (y) AS r, count(*) FILTER (y) AS p, count(*) AS n FROM ranks)
    SELECT (r - p * (p + 1) / 2) / (p * (n - p)) FROM sums
"""


def by_duckdb(batches: list[Data]) -> tuple[float, Any]:
    import duckdb  # noqa: PLC0415

    database = duckdb.connect()
    database.execute("CREATE TABLE log (y BOOLEAN, s FLOAT)")
    for truth, score in batches:
        database.register("batch", {"y": truth, "s": score})
        database.execute("INSERT INTO log SELECT y, s FROM batch")
    ((value,),) = database.execute(AREA_IN_SQL).fetchall()
    return float(value), database.execute("FROM log").fetchnumpy()


def by_polars(batches: list[Data]) -> tuple[float, Any]:
    import polars as pl  # noqa: PLC0415

    log = pl.concat([pl.DataFrame({"y": truth, "s": score}) for truth, score in batches])
    positives, n = log["y"].sum(), len(log)
    ranks = log.select(pl.col("s").rank("average").filter("y").sum()).item()
    area = (ranks - positives * (positives + 1) / 2) / (positives * (n - positives))
    return area, {name: log[name].to_numpy() for name in log.columns}


WAYS = [
    Way("streameval", "`PRCurveSketch()`", by_streameval),
    Way("torchmetrics", "`BinaryAUROC()`", by_torchmetrics(None)),
    Way("torchmetrics", "`BinaryAUROC(thresholds=200)`", by_torchmetrics(200)),
    Way("torcheval", "`BinaryAUROC()`", by_torcheval("BinaryAUROC")),
    Way("torcheval", "`BinaryBinnedAUROC()`", by_torcheval("BinaryBinnedAUROC")),
    Way("river", "`ROCAUC()`", by_river),
    Way("scikit-learn", "`roc_auc_score`", by_sklearn),
    Way("duckdb", "ranks in SQL", by_duckdb),
    Way("polars", "`rank`", by_polars),
]


def measured(way: Way, data: Data, exact: float) -> str:
    """Make the row of one way."""
    batches = list(zip(*map(cut, data), strict=True))
    value, kept = way.run(batches)
    says = f"[{value.low:.6f}, {value.high:.6f}]" if isinstance(value, se.Bounded) else "none"
    size = len(pickle.dumps(kept)) / 1e6
    # the pages are those of this version
    release = "" if way.library == "streameval" else f" {version(way.library)}"
    name = f"{way.library}{release} {way.name}"
    off = f"{abs(value - exact):.0e}" if value != exact else "0"
    return f"| {name} | {value:.6f} | {off} | {says} | {size:.2g} MB |"


def cut(array: np.ndarray) -> list[np.ndarray]:
    return np.array_split(array, len(array) // BATCH)


def table(*libraries: str) -> str:
    """Compare the libraries, by default all of them, on one stream."""
    data = click_rates(ROWS)
    exact = float(roc_auc_score(*data))
    ways = [way for way in WAYS if not libraries or way.library in libraries]
    head = "| | ROC AUC | error | interval | memory kept |\n|---|---|---|---|---|"
    return "\n".join([head, *(measured(way, data, exact) for way in ways)])


if __name__ == "__main__":
    print(table())
