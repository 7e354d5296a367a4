"""Stream: from the first batch to the number, which is where peers that keep every row pay."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side, yardstick
from speed.peers import torcheval, torchmetrics
from speed.sides import attributes, our_stream, torch_stream, torchmetric, value
from streameval.exact.log import log_of_either

EXACT_ROWS = 10_000_000
GROUP_ROWS = 50


def batches(rows: int) -> list[Data]:
    """Cut binary scores into batches of 65,536."""
    return data.cut(data.binary(rows))


def in_scikit_learn(functions: dict[str, str], goal: float = 1.0, why: str = "") -> Peer:
    """Call functions of scikit-learn on all rows, which lie ready in one array."""

    def ready(metrics: Any, parts: Data) -> Side:
        arrays = data.once_or_anew(parts, data.joined)

        def run() -> Numbers:
            batch = arrays()
            return {key: getattr(metrics, name)(*batch) for key, name in functions.items()}

        return Side.of_function(run)

    return Peer(
        library="scikit-learn",
        module="sklearn.metrics",
        name=" and ".join(functions.values()),
        ready=ready,
        goal=goal,
        tolerance=1e-5,
        why=why,
    )


SORTING = (
    "Most of our time is sorting. On this processor (Zen 4), `np.sort` takes 44 ns per item, but "
    "8 ns with AVX-512 switched off. Then we are 9.4 times as fast as torchmetrics, and 19 times "
    "as fast as scikit-learn; see "
    "[questions](../questions.md#why-are-sketches-slow-on-an-amd-zen-4)."
)


def sort() -> Peer:
    """Sort as many integers as an exact curve has rows."""

    def make(parts: Data) -> Any:
        scores = [score.view(np.uint32) for _, score in parts]
        return lambda: np.sort(np.concatenate(scores))

    return yardstick("`np.sort` of as many uint32", make)


def exact_auc(size: int = EXACT_ROWS) -> Contest:
    """Compute the exact ROC AUC of float32 scores."""
    return Contest(
        verb="stream",
        accumulator="PRCurveSketch(None)",
        work="exact ROC AUC",
        size=size,
        data=batches,
        ours=our_stream(partial(se.PRCurveSketch, None), attributes("roc_auc")),
        peers=[
            torchmetrics(torch_stream, "BinaryAUROC", value("roc_auc"), 7.0, why=SORTING),
            torcheval(torch_stream, "BinaryAUROC", value("roc_auc")),
            in_scikit_learn({"roc_auc": "roc_auc_score"}, 14.0, why=SORTING),
            sort(),
        ],
    )


def sketched_auc() -> Contest:
    """Compute the ROC AUC within bounded memory."""
    return Contest(
        verb="stream",
        accumulator="PRCurveSketch",
        work="ROC AUC of 65,536 cells",
        size=1_000_000,
        data=batches,
        ours=our_stream(se.PRCurveSketch, attributes("roc_auc")),
        peers=[
            torchmetrics(
                torch_stream, "BinaryAUROC", value("roc_auc"), tolerance=5e-3, thresholds=200
            ),
            torchmetrics(torch_stream, "BinaryAUROC", value("roc_auc")),
            torcheval(torch_stream, "BinaryBinnedAUROC", value("roc_auc"), tolerance=5e-3),
            in_scikit_learn({"roc_auc": "roc_auc_score"}),
        ],
    )


def average_precision() -> Contest:
    """Compute the average precision within bounded memory."""
    return Contest(
        verb="stream",
        accumulator="PRCurveSketch",
        work="AP of 65,536 cells",
        size=1_000_000,
        data=batches,
        ours=our_stream(se.PRCurveSketch, attributes("average_precision")),
        peers=[
            torchmetrics(
                torch_stream,
                "BinaryAveragePrecision",
                value("average_precision"),
                tolerance=2e-2,
                thresholds=200,
            ),
            torchmetrics(torch_stream, "BinaryAveragePrecision", value("average_precision")),
            torcheval(torch_stream, "BinaryAUPRC", value("average_precision")),
            in_scikit_learn({"average_precision": "average_precision_score"}),
        ],
    )


def calibration() -> Contest:
    """Compute log loss, Brier score and calibration error; peers have some of them."""
    functions = {"log_loss": "log_loss", "brier": "brier_score_loss"}

    def logarithms(parts: Data) -> Any:
        batches = [(score.astype(np.float64), truth == 1) for truth, score in parts]
        return lambda: [log_of_either(*batch) for batch in batches]

    return Contest(
        verb="stream",
        accumulator="CalibrationAccumulator",
        work="log loss, Brier, ECE",
        size=1_000_000,
        data=batches,
        ours=our_stream(se.CalibrationAccumulator, attributes("log_loss", "brier", "ece")),
        peers=[
            torchmetrics(
                torch_stream,
                "BinaryCalibrationError",
                value("ece"),
                why="The peer computes only ECE; we compute log loss and Brier score as well.",
            ),
            in_scikit_learn(functions),
            yardstick("the logarithms", logarithms, "streameval"),
        ],
    )


def grouped(size: int) -> Contest:
    """Average the AUC within groups of about 50 rows."""

    def of_groups(frame: Any, auc: Any) -> Numbers:
        rows = frame.groupby("group").size()[auc.index]
        return {"gauc": float(np.average(auc, weights=rows))}

    def a_loop(metrics: Any, parts: Data) -> Side:
        frames = data.once_or_anew(parts, as_frame)

        def run() -> Numbers:
            frame = frames()
            mixed = frame.groupby("group").filter(lambda rows: rows.truth.nunique() == 2)
            auc = mixed.groupby("group")[["truth", "score"]].apply(
                lambda rows: metrics.roc_auc_score(rows.truth, rows.score)
            )
            return of_groups(frame, auc)

        return Side.of_function(run)

    def by_ranks(_: Any, parts: Data) -> Side:
        frames = data.once_or_anew(parts, as_frame)

        def run() -> Numbers:
            frame = frames()
            rank = frame.groupby("group").score.rank().where(frame.truth == 1)
            found = (
                frame.assign(rank=rank)
                .groupby("group")
                .agg(ranks=("rank", "sum"), positives=("truth", "sum"), n=("truth", "size"))
            )
            pairs = found.positives * (found.n - found.positives)
            area = found.ranks - found.positives * (found.positives + 1) / 2
            return of_groups(frame, (area / pairs)[pairs > 0])

        return Side.of_function(run)

    loop = Peer(
        library="scikit-learn",
        module="sklearn.metrics",
        name="roc_auc_score, group by group in pandas",
        ready=a_loop,
    )
    ranks = Peer(library="pandas", name="groupby and rank", ready=by_ranks)
    return Contest(
        verb="stream",
        accumulator="GroupedAUC",
        work=f"GAUC, groups of {GROUP_ROWS}",
        size=size,
        data=lambda rows: data.cut(data.grouped(rows // GROUP_ROWS, rows)),
        ours=our_stream(se.GroupedAUC, attributes("gauc")),
        peers=[ranks, loop] if size <= 100_000 else [ranks],
    )


def image_batches(rows: int) -> data.Stream:
    """Draw class ids and probabilities of 1,000 classes, as of ImageNet, in batches of 250."""
    return data.Stream(partial(data.probabilities, 1000), rows, 250)


def images() -> Contest:
    """Compute what an evaluation on ImageNet reports, with one collection."""
    classes = 1000

    def ours(parts: Data) -> Side:
        def run() -> Numbers:
            collection = se.Collection(
                {
                    "top": se.ConfusionAccumulator(classes, top_k=5),
                    "curve": se.PRCurveSketch(classes=classes),
                    "calibration": se.CalibrationAccumulator(classes=classes),
                },
                columns={
                    "top": {"y_pred": "p"},
                    "curve": {"y_score": "p"},
                    "calibration": {"y_prob": "p"},
                },
            )
            for truth, scores in parts:
                collection.update({"y_true": truth, "p": scores})
            result = collection.compute()
            return {
                "top-1": result["top"].accuracy,
                "top-5": result["top"].top_k_accuracy,
                "roc_auc": result["curve"].roc_auc(average="macro"),
                "ece": result["calibration"].ece,
            }

        return Side.of_function(run)

    def theirs(library: Any) -> Any:
        multiclass = partial(torchmetric, library, num_classes=classes)
        accuracy = partial(multiclass, "MulticlassAccuracy", average="micro")
        return library.MetricCollection(
            {
                "top-1": accuracy(),
                "top-5": accuracy(top_k=5),
                "roc_auc": multiclass("MulticlassAUROC"),
                "ece": multiclass("MulticlassCalibrationError"),
            }
        )

    peer = Peer(
        library="torchmetrics",
        name="MetricCollection of the same",
        ready=torch_stream(theirs, lambda found: {key: float(found[key]) for key in found}),
        tolerance=1e-4,
    )
    return Contest(
        verb="stream",
        accumulator="Collection",
        work="1,000 classes: top-1, top-5, macro ROC AUC, ECE",
        size=50_000,
        data=lambda rows: list(image_batches(rows)),
        ours=ours,
        peers=[peer],
    )


def as_frame(parts: Data) -> Any:
    """Lay the batches out as one data frame."""
    import pandas as pd  # noqa: PLC0415 - only peers need it

    return pd.DataFrame(dict(zip(("truth", "score", "group"), data.joined(parts), strict=True)))


CONTESTS = [
    exact_auc(),
    sketched_auc(),
    average_precision(),
    calibration(),
    grouped(100_000),
    grouped(1_000_000),
    images(),
]
