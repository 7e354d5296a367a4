"""Groups: count rows by slice and pane of time, and slide a window over them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side

MINUTE = 60
HOUR = 60 * MINUTE
SLICES = 100
MATRIX = "matrix of one group"


def logs(rows: int, *, slices: int = SLICES, panes: int = 2, seed: int = data.SEED) -> Data:
    """Draw rows of a log: a truth, a score, a name, and a time in seconds."""
    truth, score = data.binary(rows, seed)
    random = np.random.default_rng(seed)
    names = np.array([f"v{number:04}" for number in range(slices)], dtype=object)
    minutes = np.arange(rows) * panes // rows
    batch = {
        "y_true": truth,
        "y_pred": score.astype(np.float64),
        "name": names[random.integers(0, slices, rows)],
        "time": minutes * MINUTE,
    }
    return (batch,)


def counted_with() -> se.Collection:
    members = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(4096)}
    return se.Collection(members, columns={"curve": {"y_score": "y_pred"}})


def sliced_panes(slices: int = SLICES) -> se.Windowed:
    sliced = se.Sliced(counted_with(), "name", max_values=slices)
    return se.Windowed(sliced, pane="1m", unit="s")


def our_updates(calls: int) -> Any:
    """Update one accumulator over and over: rows are split once many are pending."""

    def ours(held: Data) -> Side:
        (batch,) = held
        slices = len(set(batch["name"].tolist()))
        running = sliced_panes(slices).update(batch)

        def numbers() -> Numbers:
            counted = sliced_panes(slices).update(batch)
            first = next(iter(counted.panes()))[2]
            return {MATRIX: first[batch["name"][0]]["cm"].compute().matrix}

        return Side(lambda: running.update(batch), numbers, calls)

    return ours


def pandas_groups(rows: Any, groups: Any) -> Iterator[tuple[Any, Numbers]]:
    """Yield what scikit-learn finds of each group."""
    from sklearn import metrics  # noqa: PLC0415 - as one peer alone needs it

    for key, part in rows.groupby(groups, sort=False):
        truth, score = part["y_true"].to_numpy(), part["y_pred"].to_numpy()
        found = {MATRIX: metrics.confusion_matrix(truth, score >= 0.5, labels=[0, 1])}
        if 0 < truth.sum() < len(truth):
            found["area"] = metrics.roc_auc_score(truth, score)
        yield key, found


def pandas_and_sklearn() -> Peer:
    """Group one batch with pandas, and ask scikit-learn about each group."""

    def ready(pandas: Any, held: Data) -> Side:
        (batch,) = held

        def run() -> dict[Any, Numbers]:
            rows = pandas.DataFrame(batch)
            return dict(pandas_groups(rows, [rows["time"] // MINUTE, rows["name"]]))

        return Side(run, lambda: {MATRIX: run()[0, batch["name"][0]][MATRIX]})

    return Peer(
        library="pandas", name="groupby, scikit-learn for each group", ready=ready, goal=10.0
    )


def windows(rows: int) -> Data:
    """Draw a log of 75 minutes."""
    return logs(rows, panes=75)


def our_windows(held: Data) -> Side:
    """Slide a window of an hour over slices."""
    (batch,) = held
    counted = sliced_panes().update(batch)

    def numbers() -> Numbers:
        *_, (_, last) = counted.windows("1h", every="5m")
        return {MATRIX: last["v0000"]["cm"].compute().matrix}

    return Side(lambda: [end for end, _ in counted.windows("1h", every="5m")], numbers)


def pandas_windows() -> Peer:
    """Take the rows of each window out of a frame, and group them."""

    def ready(pandas: Any, held: Data) -> Side:
        (batch,) = held
        rows = pandas.DataFrame(batch)

        def run() -> dict[Any, Numbers]:
            found: dict[Any, Numbers] = {}
            for end in range(5 * MINUTE, 76 * MINUTE, 5 * MINUTE):
                inside = rows[(rows["time"] >= end - HOUR) & (rows["time"] < end)]
                found = dict(pandas_groups(inside, inside["name"]))
            return found

        return Side(run, lambda: {MATRIX: run()["v0000"][MATRIX]})

    return Peer(library="pandas", name="rows of each window, scikit-learn for each", ready=ready)


def our_accuracy(held: Data) -> Side:
    """Count rows by minute, and slide a window of an hour over them."""
    (batch,) = held

    def run() -> float:
        counted = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s").update(batch)
        accuracy = 0.0
        for _, last in counted.windows("1h"):
            accuracy = last.compute().accuracy
        return accuracy

    return Side(run, lambda: {"accuracy": run()})


def river_time_rolling(goal: float) -> Peer:
    """Update river's rolling accuracy row by row, and read it every minute."""

    def ready(metrics: Any, held: Data) -> Side:
        (batch,) = held
        truth, decided = batch["y_true"].tolist(), (batch["y_pred"] >= 0.5).astype(int).tolist()
        # river compares with a time without a zone
        times = [
            datetime.fromtimestamp(t, UTC).replace(tzinfo=None) for t in batch["time"].tolist()
        ]

        def run() -> float:
            from river import utils  # noqa: PLC0415 - as one peer alone needs it

            rolling = utils.TimeRolling(metrics.Accuracy(), period=timedelta(hours=1))
            minute, accuracy = times[0], 0.0
            for actual, predicted, time in zip(truth, decided, times, strict=True):
                if time != minute:
                    minute, accuracy = time, rolling.get()
                rolling.update(actual, predicted, t=time)
            accuracy = rolling.get()
            return float(accuracy)

        return Side(run, lambda: {"accuracy": run()})

    return Peer(
        library="river",
        module="river.metrics",
        name="TimeRolling(Accuracy())",
        ready=ready,
        goal=goal,
    )


def in_batches(batch: dict[str, Any], batches: int) -> list[dict[str, Any]]:
    """Cut a batch into views of equal size."""
    step = -(-len(batch["y_true"]) // batches)
    starts = range(0, len(batch["y_true"]), step)
    return [{name: part[at : at + step] for name, part in batch.items()} for at in starts]


def every_value(empty: Any, metric: str, batches: int) -> Any:
    """Count slices in some batches, write them, and read a metric of every one."""

    def ours(held: Data) -> Side:
        (batch,) = held
        parts = in_batches(batch, batches)

        def run() -> tuple[bytes, dict[Any, float]]:
            counted = se.Sliced(empty, "name", max_values=10_000)
            for part in parts:
                counted.update(part)
            data, result = counted.to_bytes(), counted.compute()
            return data, {value: getattr(result[value], metric) for value in result}

        def numbers() -> Numbers:
            found = run()[1]
            return {metric: defined([found[name] for name in sorted(found)])}

        return Side(run, numbers)

    return ours


def defined(numbers: list[float]) -> Any:
    """Replace what is undefined, such as the area of a single class, so that sides compare."""
    return np.nan_to_num(numbers, nan=-1.0)


def in_one_batch(empty: Any, metric: str, goal: float | None) -> Peer:
    """Count the same rows in one batch: many batches should cost no more."""
    ours = every_value(empty, metric, 1)
    return Peer(
        library="streameval", name="in one batch", ready=lambda _, held: ours(held), goal=goal
    )


def decided(rows: int, values: int) -> Data:
    """Draw rows with the class that is predicted."""
    (batch,) = logs(rows, slices=values)
    return ({**batch, "y_pred": (batch["y_pred"] >= 0.5).astype(np.int64)},)


def polars_counts() -> Peer:
    """Count the cells of the matrix of each value; the frame is built, as arrays are read."""

    def ready(polars: Any, held: Data) -> Side:
        (batch,) = held
        columns = {name: batch[name] for name in ("name", "y_true", "y_pred")}

        def run() -> Any:
            return polars.DataFrame(columns).group_by(*columns).len()

        def numbers() -> Numbers:
            is_right = polars.col("y_true") == polars.col("y_pred")
            share = polars.col("len").filter(is_right).sum() / polars.col("len").sum()
            found = run().group_by("name").agg(share.alias("share")).sort("name")
            return {"accuracy": found["share"].to_list()}

        return Side(run, numbers)

    return Peer(library="polars", name="group_by, the same counts", ready=ready, goal=0.3333)


def polars_ds_areas() -> Peer:
    """Compute the area under the curve of each value, without bounds or a state."""

    def ready(polars_ds: Any, held: Data) -> Side:
        import polars  # noqa: PLC0415 - as one peer alone needs it

        (batch,) = held
        columns = {"name": batch["name"], "y_score": batch["y_score"]}
        columns["y_true"] = batch["y_true"].astype(np.uint32)  # the only type that it takes

        def run() -> Any:
            area = polars_ds.query_roc_auc("y_true", "y_score")
            return polars.DataFrame(columns).group_by("name").agg(area.alias("area"))

        return Side(run, lambda: {"roc_auc": defined(run().sort("name")["area"].to_list())})

    return Peer(
        library="polars-ds",
        module="polars_ds",
        name="group_by, query_roc_auc",
        ready=ready,
        goal=1.0,
    )


def scored(rows: int) -> Data:
    """Draw rows of 10,000 values with a score."""
    (batch,) = logs(rows, slices=10_000)
    return ({**batch, "y_score": batch["y_pred"]},)


def of_users(ids: str) -> Any:
    """Make the function that draws rows of 20,000 users, as integers or texts."""

    def drawn(rows: int) -> Data:
        (batch,) = decided(rows, 1)
        users = np.random.default_rng(data.SEED).integers(0, 20_000, rows)
        if ids == "texts":
            users = np.array([f"user{number:05}" for number in range(20_000)])[users]
        return ({**batch, "y_score": logs(rows, slices=1)[0]["y_pred"], "user": users},)

    return drawn


def in_16_batches(empty: Any, metric: str) -> Any:
    """Count rows in batches, and write them; the numbers are a metric without its interval."""
    names = ["y_true", "y_score" if metric == "roc_auc" else "y_pred"]
    names += ["user"] if isinstance(empty, se.Clustered) else []

    def ours(held: Data) -> Side:
        rows = {name: held[0][name] for name in names}
        parts = in_batches(rows, 16)

        def run() -> Any:
            counted = empty.copy()
            for part in parts:
                counted.update(part)
            counted.to_bytes()
            return counted

        return Side(run, lambda: {metric: getattr(run().compute(), metric)})

    return ours


def clusters_of(empty: Any, what: str, metric: str, ids: str, goal: float) -> Contest:
    """Count clustered rows beside the accumulator alone, which takes no notice of clusters."""
    alone = in_16_batches(empty, metric)
    peer = Peer(
        library="streameval",
        name="without clusters",
        ready=lambda _, held: alone(held),
        goal=goal,
        why="The accumulator alone hashes no ids, 2.4 ns a row, and past its budget it sorts no "
        "scores.",
    )
    return Contest(
        verb="groups",
        accumulator="Clustered",
        work=f"{what}, 20,000 users as {ids}, 16 batches",
        size=1_000_000,
        data=of_users(ids),
        ours=in_16_batches(se.Clustered(empty, by="user"), metric),
        peers=[peer],
    )


def counts_of_values(values: int) -> Contest:
    """Count the matrix of every value in 20 batches."""
    return Contest(
        verb="groups",
        accumulator="Sliced",
        work=f"matrices of {values:,} values, 20 batches, bytes, all read",
        size=1_000_000,
        data=lambda rows: decided(rows, values),
        ours=every_value(se.ConfusionAccumulator(2), "accuracy", 20),
        peers=[polars_counts(), in_one_batch(se.ConfusionAccumulator(2), "accuracy", 0.8333)],
    )


def accuracy_of_an_hour(rows: int, goal: float) -> Contest:
    """Slide a window over 75 minutes: the more rows a minute has, the less the panes matter."""
    return Contest(
        verb="groups",
        accumulator="Windowed",
        work="an hour by the minute, accuracy",
        size=rows,
        data=windows,
        ours=our_accuracy,
        peers=[river_time_rolling(goal)],
    )


CONTESTS = [
    Contest(
        verb="groups",
        accumulator="Windowed",
        work="100 slices, 2 panes",
        size=65_536,
        data=logs,
        ours=our_updates(4),
        peers=[pandas_and_sklearn()],
    ),
    Contest(
        verb="groups",
        accumulator="Windowed",
        work="500 slices, 2 panes",
        size=1000,
        data=lambda rows: logs(rows, slices=500),
        ours=our_updates(264),
        peers=[pandas_and_sklearn()],
    ),
    Contest(
        verb="groups",
        accumulator="Windowed",
        work="an hour by 5 minutes, 100 slices",
        size=60_000,
        data=windows,
        ours=our_windows,
        peers=[pandas_windows()],
    ),
    accuracy_of_an_hour(10_000, goal=1.0),
    accuracy_of_an_hour(200_000, goal=10.0),
    counts_of_values(100),
    counts_of_values(1000),
    counts_of_values(10_000),
    Contest(
        verb="groups",
        accumulator="Sliced",
        work="curves of 10,000 values, 20 batches, bytes, all read",
        size=1_000_000,
        data=scored,
        ours=every_value(se.PRCurveSketch(1024), "roc_auc", 20),
        peers=[polars_ds_areas(), in_one_batch(se.PRCurveSketch(1024), "roc_auc", None)],
    ),
    *(
        clusters_of(*counted, ids, goal)
        for ids in ("integers", "texts")
        for *counted, goal in (
            (se.ConfusionAccumulator(2), "counts", "accuracy", 0.6667),
            (se.PRCurveSketch(), "curve", "roc_auc", 0.5),
        )
    ),
    clusters_of(se.PRCurveSketch(None), "curve without a budget", "roc_auc", "integers", 0.5),
]
