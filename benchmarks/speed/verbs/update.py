"""Update: count one batch more, by accumulators that peers can keep in bounded memory too.

Peers that only put the batch aside are timed from the first batch to the number, in `stream`.
"""

from __future__ import annotations

import importlib
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side, yardstick
from speed.four_metrics import (
    four_of_torchmetrics,
    numbers_of_ours,
    numbers_of_theirs,
    our_four,
)
from speed.peers import torcheval, torchmetrics
from speed.sides import (
    Make,
    Read,
    attributes,
    matrix,
    our_updates,
    our_updates_without,
    our_weighted_updates,
    river_updates,
    tensors,
    torch_updates,
    torchmetric,
    value,
)
from streameval.exact.log import log_of_either
from streameval.states.calibration import clip_probabilities

CHECKS = "while we check and store each."
EXACT = "The peer keeps one rounded float32 sum; we keep five exact sums, the same in any order."

SIZES = (32, 1024, 65_536)
LABELS = 20


def scikit_learn(classes: int) -> Peer:
    """Sum the confusion matrices of batches, as one would with scikit-learn."""

    def ready(metrics: Any, batch: Data) -> Side:
        truth, prediction = batch
        labels = np.arange(classes)
        total = np.zeros((classes, classes), dtype=np.int64)

        def run() -> None:
            decided = prediction
            if prediction.ndim == 2:
                decided = prediction.argmax(axis=1)
            elif prediction.dtype.kind == "f":
                decided = prediction >= 0.5
            total[...] += metrics.confusion_matrix(truth, decided, labels=labels)

        return Side(run, lambda: {"matrix": total})

    return Peer(
        library="scikit-learn", module="sklearn.metrics", name="confusion_matrix", ready=ready
    )


def river_decisions() -> list[Peer]:
    """Make river's matrix and accuracy of one decision after another."""

    def read_matrix(metric: Any) -> Numbers:
        return {"matrix": [[metric.data[row][column] for column in (0, 1)] for row in (0, 1)]}

    def peer(name: str, read: Read, goal: float) -> Peer:
        return Peer(
            library="river",
            module="river.metrics",
            name=f"{name}()",
            ready=river_updates(lambda metrics: getattr(metrics, name)(), read, decide=True),
            goal=goal,
            why=f"river adds Python numbers without checks, {CHECKS}",
        )

    accuracy = peer("Accuracy", lambda metric: {"accuracy": metric.get()}, 0.5)
    return [peer("ConfusionMatrix", read_matrix, 1.0), accuracy]


def matrix_and_accuracy(result: Any) -> Numbers:
    """Read the matrix and the accuracy of ours."""
    return {**matrix(result), "accuracy": result.accuracy}


def copying() -> Peer:
    """Store both arrays and no more."""

    def make(batch: Data) -> Any:
        blocks = [np.empty(2**14, part.dtype) for part in batch]
        rows = slice(100, 100 + len(batch[0]))

        def run() -> None:
            for block, part in zip(blocks, batch, strict=True):
                block[rows] = part

        return run

    return yardstick("storing both arrays unchecked", make)


def binary(size: int) -> Contest:
    """Count scores against a threshold."""
    goal = {32: 12.0, 65_536: 25.0}.get(size, 1.0)
    peers = [
        torchmetrics(torch_updates, "BinaryConfusionMatrix", matrix, goal),
        torcheval(torch_updates, "BinaryConfusionMatrix", matrix),
        scikit_learn(2),
    ]
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work="binary scores",
        size=size,
        data=data.binary,
        ours=our_updates(se.ConfusionAccumulator, matrix_and_accuracy),
        peers=[*peers, *river_decisions(), *([copying()] if size == 1 else [])]
        if size <= 32
        else peers,
    )


FOUR = {"accuracy": "Accuracy", "precision": "Precision", "recall": "Recall", "f_score": "F1Score"}


def four_at_once() -> Contest:
    """Count what four metrics need, which is one matrix."""

    def ours(result: Any) -> Numbers:
        found = (result.accuracy, result.precision(), result.recall(), result.f_score())
        return dict(zip(FOUR, found, strict=True))

    def metrics(library: Any) -> Any:
        made = {key: torchmetric(library, f"Binary{n}") for key, n in FOUR.items()}
        return library.MetricCollection(made)

    peer = Peer(
        library="torchmetrics",
        name="MetricCollection of accuracy, precision, recall, F1",
        ready=torch_updates(metrics, numbers_of_theirs),
        goal=35.0,
        tolerance=1e-5,
    )
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work="binary scores, four metrics",
        size=32,
        data=data.binary,
        ours=our_updates(se.ConfusionAccumulator, ours),
        peers=[peer],
    )


def class_ids(classes: int, size: int) -> Contest:
    """Count predicted classes."""
    goal = 6.0 if (classes, size) == (10, 65_536) else 1.0
    goal = 25.0 if classes == 1000 and size <= 1024 else goal
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work=f"class ids, {classes:,} classes",
        size=size,
        data=partial(data.labels, classes),
        ours=our_updates(partial(se.ConfusionAccumulator, classes), matrix),
        peers=[
            torchmetrics(
                torch_updates, "MulticlassConfusionMatrix", matrix, goal, num_classes=classes
            ),
            torcheval(torch_updates, "MulticlassConfusionMatrix", matrix, num_classes=classes),
            scikit_learn(classes),
        ],
    )


def scores_of_classes(size: int) -> Contest:
    """Count the class of the highest score."""
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work="logits of 10 classes",
        size=size,
        data=partial(data.logits, 10),
        ours=our_updates(partial(se.ConfusionAccumulator, 10), matrix),
        peers=[
            torchmetrics(
                torch_updates,
                "MulticlassConfusionMatrix",
                matrix,
                1.5 if size == 65_536 else 1.0,
                num_classes=10,
            ),
            torcheval(torch_updates, "MulticlassConfusionMatrix", matrix, num_classes=10),
            scikit_learn(10),
        ],
    )


OF_THE_BEST_SCORE = 0.334
"""What a batch may cost whose best 5 scores count, as the goal of a yardstick: three times."""


def best_scores(classes: int) -> Contest:
    """Count whether the true class is among the five highest scores."""
    best = 5
    peer = Peer(
        library="streameval",
        name="the same with top_k=1",
        ready=our_updates_without(partial(se.ConfusionAccumulator, classes), lambda batch: batch),
        goal=OF_THE_BEST_SCORE,
    )
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work=f"logits of {classes:,} classes, the best {best}",
        size=32,
        data=partial(data.logits, classes),
        ours=our_updates(
            partial(se.ConfusionAccumulator, classes, top_k=best), attributes("top_k_accuracy")
        ),
        peers=[
            torchmetrics(
                torch_updates,
                "MulticlassAccuracy",
                value("top_k_accuracy"),
                tolerance=1e-6,
                num_classes=classes,
                top_k=best,
                average="micro",
            ),
            peer,
        ],
    )


def multilabel(size: int) -> Contest:
    """Count each of 20 labels on its own."""

    def ours(result: Any) -> Numbers:
        return {"matrix": result.matrix, "accuracy": 1 - result.hamming_loss}

    is_named = size == 4096
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work=f"scores of {LABELS} labels",
        size=size,
        data=partial(data.multilabel, LABELS),
        ours=our_updates(partial(se.ConfusionAccumulator, LABELS, multilabel=True), ours),
        peers=[
            torchmetrics(
                torch_updates,
                "MultilabelConfusionMatrix",
                matrix,
                12.0 if is_named else 1.0,
                num_labels=LABELS,
            ),
            torcheval(
                torch_updates,
                "MultilabelAccuracy",
                value("accuracy"),
                3.0 if is_named else 1.0,
                criteria="hamming",
            ),
        ],
    )


def rows_before() -> list[Data]:
    """Make what every sketch has counted before it is timed: the cells have settled."""
    return data.cut(data.binary(1_000_000))


def sketch(size: int) -> Contest:
    """Count scores into 65,536 cells, beside 200 thresholds on a line."""
    peer = torchmetrics(
        partial(torch_updates, before=rows_before),
        "BinaryAUROC",
        value("roc_auc"),
        {1024: 25.0, 65_536: 40.0}.get(size, 1.0),
        tolerance=5e-3,
        why="The counts, min and max of each cell are updated by scattered writes, one at a time.",
        thresholds=200,
    )

    def scattered(batch: Data) -> Any:
        truth, score = batch
        cell = (score * np.float32(2**15)).astype(np.intp) * 2 + truth
        bits = score.view(np.uint32).astype(np.int64)
        tables = [np.zeros(2**16 + 2, dtype=np.int64) for _ in range(3)]

        def run() -> None:
            np.add.at(tables[0], cell, 1)
            np.minimum.at(tables[1], cell, bits)
            np.maximum.at(tables[2], cell, bits)

        return run

    writes = yardstick("`add.at`, `minimum.at` and `maximum.at` on ready cells", scattered)
    return Contest(
        verb="update",
        accumulator="PRCurveSketch",
        work="scores, after a million",
        size=size,
        data=data.binary,
        ours=our_updates(se.PRCurveSketch, attributes("roc_auc"), before=rows_before),
        peers=[peer, writes] if size == 65_536 else [peer],
    )


def one_score() -> Contest:
    """Count one score after another, beside the 10 thresholds of river."""
    river = Peer(
        library="river",
        module="river.metrics",
        name="ROCAUC()",
        ready=river_updates(lambda metrics: metrics.ROCAUC(), lambda _: {}),
    )
    return Contest(
        verb="update",
        accumulator="PRCurveSketch",
        work="scores",
        size=1,
        data=data.binary,
        ours=our_updates(se.PRCurveSketch, lambda _: {}),
        peers=[river],
    )


def confidences(size: int, classes: int = 1000) -> Contest:
    """Count the confidence of the first choice, from logits."""

    def ours(batch: Data) -> Side:
        from streameval.loops.torch import token_values  # noqa: PLC0415 - it needs torch

        acc, (logits, labels) = se.CalibrationAccumulator(), tensors(batch)

        def run() -> None:
            values = token_values(logits, labels)
            acc.update(values["correct"], values["confidence"])

        return Side(run, lambda: {"ece": acc.compute().ece}, calls=256)

    peer = torchmetrics(
        torch_updates, "MulticlassCalibrationError", value("ece"), num_classes=classes
    )
    return Contest(
        verb="update",
        accumulator="CalibrationAccumulator",
        work=f"calibration error of {classes:,} classes, from logits",
        size=size,
        data=partial(data.logits, classes),
        ours=ours,
        peers=[peer],
    )


def tokens(size: int, vocabulary: int = 32_000) -> Contest:
    """Count the loss of tokens, and whether the first choice is right, from logits."""

    def ours(batch: Data) -> Side:
        from streameval.loops.torch import token_values  # noqa: PLC0415 - it needs torch

        acc, (logits, labels) = se.MeanAccumulator(["nll", "correct"]), tensors(batch)

        def numbers() -> Numbers:
            result = acc.compute()
            loss = result["nll"]
            means = {"nll": loss.mean, "accuracy": result["correct"].mean}
            return means | {"perplexity": loss.exp_mean}

        return Side(lambda: acc.update(token_values(logits, labels)), numbers)

    def theirs(torch: Any, batch: Data) -> Side:
        logits, labels = tensors(batch)

        def run() -> Numbers:
            loss = torch.nn.functional.cross_entropy(logits, labels)
            return {"nll": loss, "accuracy": (logits.argmax(1) == labels).float().mean()}

        return Side.of_function(run)

    def perplexity(library: Any, batch: Data) -> Side:
        metric = library.text.Perplexity(compute_with_cache=False)
        logits, labels = (part[None] for part in tensors(batch))
        run = partial(metric.update, logits, labels)
        return Side(run, lambda: {"perplexity": metric.compute()})

    plain = Peer(
        library="torch", name="cross_entropy and argmax", ready=theirs, goal=0.83, tolerance=1e-5
    )
    metric = Peer(
        library="torchmetrics",
        name="Perplexity()",
        ready=perplexity,
        goal=0.5,
        tolerance=1e-4,
    )
    return Contest(
        verb="update",
        accumulator="MeanAccumulator",
        work=f"loss and accuracy of tokens, {vocabulary:,} logits each",
        size=size,
        data=partial(data.logits, vocabulary),
        ours=ours,
        peers=[plain, metric],
    )


def masks(size: int, classes: int = 21) -> Contest:
    """Count the pixels of masks, from logits."""

    def ours(batch: Data) -> Side:
        acc, (logits, labels) = se.ConfusionAccumulator(classes), tensors(batch)
        read = lambda: {"iou": acc.compute().jaccard(), **matrix(acc.compute())}  # noqa: E731
        return Side(partial(acc.update, labels, logits), read)

    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work=f"masks of {classes} classes, from logits",
        size=size,
        data=partial(data.masks, classes),
        ours=ours,
        peers=[
            torchmetrics(torch_updates, "MulticlassConfusionMatrix", matrix, num_classes=classes),
            torchmetrics(
                torch_updates, "MulticlassJaccardIndex", value("iou"), num_classes=classes
            ),
        ],
    )


def overlaps(size: int, classes: int = 21) -> Contest:
    """Average the IoU and the Dice coefficient of images, from logits."""

    def ours(batch: Data) -> Side:
        from streameval.loops.torch import image_values  # noqa: PLC0415 - it needs torch

        acc, (logits, labels) = se.MeanAccumulator(["iou", "dice"]), tensors(batch)

        def numbers() -> Numbers:
            result = acc.compute()
            return {name: result[name].mean for name in ("iou", "dice")}

        return Side(lambda: acc.update(image_values(logits, labels)), numbers)

    def theirs(library: Any, batch: Data) -> Side:
        segmentation = importlib.import_module("torchmetrics.segmentation")
        given = {"num_classes": classes, "input_format": "index"}
        both = {
            "iou": segmentation.MeanIoU(**given),
            "dice": segmentation.DiceScore(**given, average="macro"),
        }
        metrics, (logits, labels) = library.MetricCollection(both), tensors(batch)
        return Side(lambda: metrics.update(logits.argmax(1), labels), metrics.compute)

    peer = Peer(
        library="torchmetrics",
        name="MetricCollection of MeanIoU, DiceScore, and argmax",
        ready=theirs,
        tolerance=1e-4,
    )
    return Contest(
        verb="update",
        accumulator="MeanAccumulator",
        work=f"IoU and Dice of images, {classes} classes, from logits",
        size=size,
        data=partial(data.masks, classes),
        ours=ours,
        peers=[peer],
    )


def class_sketches(size: int) -> Contest:
    """Count the scores of each of 10 classes against the others."""
    classes = 10

    def rows_before() -> list[Data]:
        return data.cut(data.probabilities(classes, 100_000))

    def ours(result: Any) -> Numbers:
        return {"roc_auc": result.roc_auc(average="macro")}

    peer = torchmetrics(
        partial(torch_updates, before=rows_before),
        "MulticlassAUROC",
        value("roc_auc"),
        tolerance=5e-3,
        num_classes=classes,
        thresholds=200,
    )
    return Contest(
        verb="update",
        accumulator="PRCurveSketch",
        work=f"scores of {classes} classes, after 100,000",
        size=size,
        data=partial(data.probabilities, classes),
        ours=our_updates(partial(se.PRCurveSketch, classes=classes), ours, before=rows_before),
        peers=[peer],
    )


def calibration(size: int) -> Contest:
    """Sum losses and bins of probabilities; peers have a loss alone."""

    def ours(result: Any) -> Numbers:
        rate = result.mean_label
        entropy = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate)) if 0 < rate < 1 else np.nan
        return {"log_loss": result.log_loss, "normalized": result.log_loss / entropy}

    def updates_of_floats(make: Make, read: Read) -> Any:
        ready = torch_updates(make, read)
        return lambda library, batch: ready(library, (batch[0].astype(np.float32), batch[1]))

    def logarithms(log: Any) -> Any:
        """Take logarithms of the rows of as many calls as are pending at once."""

        def make(batch: Data) -> Any:
            calls = max(2**14 // size, 1)
            truth, score = (np.tile(part, calls) for part in batch)
            score = clip_probabilities(score.astype(np.float64))
            turns = cycle([partial(log, score, truth == 1), *[int] * (calls - 1)])
            return lambda: next(turns)()  # noqa: PLW0108 - each call takes the next turn

        return make

    entropy = torcheval(
        updates_of_floats,
        "BinaryNormalizedEntropy",
        value("normalized"),
        why="The peer sums float32 losses in one compiled pass. Our losses are float64, with the "
        "same bits on every CPU, and are summed exactly, together with Brier scores and bins.",
    )
    losses = [
        yardstick("the logarithms", logarithms(log_of_either), "streameval"),
        yardstick("`np.log`", logarithms(lambda score, _: np.log(score))),
    ]
    river = Peer(
        library="river",
        module="river.metrics",
        name="LogLoss()",
        ready=river_updates(lambda metrics: metrics.LogLoss(), lambda one: {"log_loss": one.get()}),
        tolerance=1e-6,
        why=f"river adds Python numbers without checks, {CHECKS}",
    )
    return Contest(
        verb="update",
        accumulator="CalibrationAccumulator",
        work="probabilities",
        size=size,
        data=data.binary,
        ours=our_updates(se.CalibrationAccumulator, ours),
        peers={1: [river, copying()], 32: [entropy]}.get(size, [entropy, *losses]),
    )


def regression(size: int) -> Contest:
    """Sum errors exactly; peers in float32."""
    mse = value("mse")
    peers = [
        torchmetrics(torch_updates, "MeanSquaredError", mse, why=EXACT),
        torcheval(torch_updates, "MeanSquaredError", mse, why=EXACT),
        *([river_mse(), copying()] if size == 1 else [three_errors(), inexact_sums()]),
    ]
    names = ("mse", "mae", "r2") if size > 1 else ("mse",)
    return Contest(
        verb="update",
        accumulator="RegressionAccumulator",
        work="numbers",
        size=size,
        data=data.numbers,
        ours=our_updates(se.RegressionAccumulator, attributes(*names)),
        peers=peers,
    )


def values(size: int) -> Contest:
    """Sum values exactly; peers in float32."""
    mean = value("mean")
    why = "The peer keeps one rounded float32 sum; we keep three exact sums and the extremes."
    return Contest(
        verb="update",
        accumulator="MeanAccumulator",
        work="values",
        size=size,
        data=lambda rows: data.numbers(rows)[:1],
        ours=our_updates(se.MeanAccumulator, attributes("mean")),
        peers=[
            torchmetrics(torch_updates, "MeanMetric", mean, why=why),
            torcheval(torch_updates, "Mean", mean, why=why),
        ],
    )


def inexact_sums() -> Peer:
    """Sum what we sum in float64, each sum rounded."""

    def make(batch: Data) -> Any:
        truth, prediction = batch

        def run() -> list[Any]:
            y, error = truth.astype(np.float64), prediction.astype(np.float64)
            error -= y
            absolute = np.abs(error)
            return [error.sum(), absolute.sum(), error.dot(error), y.sum(), y.dot(y)]

        return run

    return yardstick("the same sums in float64, rounded", make)


def river_mse() -> Peer:
    """Make river's mean squared error."""
    return Peer(
        library="river",
        module="river.metrics",
        name="MSE()",
        ready=river_updates(lambda metrics: metrics.MSE(), lambda found: {"mse": found.get()}),
        tolerance=1e-6,
        why=f"river adds Python numbers without checks, {CHECKS}",
    )


THREE = {"mse": "MeanSquaredError", "mae": "MeanAbsoluteError", "r2": "R2Score"}


def three_errors() -> Peer:
    """Sum what we sum, with three metrics of torchmetrics."""

    def metrics(library: Any) -> Any:
        return library.MetricCollection({k: torchmetric(library, n) for k, n in THREE.items()})

    return Peer(
        library="torchmetrics",
        name="MetricCollection of MSE, MAE, R2",
        ready=torch_updates(metrics, numbers_of_theirs),
        tolerance=1e-4,
        why="The peer keeps rounded float32 sums; ours are exact, and the same in any order.",
    )


def collection(size: int) -> Contest:
    """Count four metrics at once, two states of ours."""
    peer = Peer(
        library="torchmetrics",
        name="MetricCollection of the same, thresholds=200",
        ready=torch_updates(four_of_torchmetrics, numbers_of_theirs),
        tolerance=2e-2,
    )
    return Contest(
        verb="update",
        accumulator="Collection",
        work="accuracy, F1, ROC AUC, AP",
        size=size,
        data=data.binary,
        ours=our_updates(our_four, numbers_of_ours),
        peers=[peer],
    )


OF_A_PLAIN_BATCH = 0.25
"""What a batch with weights or texts may cost at most, as the goal of a yardstick: four times."""


def with_weights(accumulator: str, work: str, rows: Any, read: Any) -> Contest:
    """Count small batches with weights, beside the same without."""
    make = getattr(se, accumulator)

    def data_of(size: int) -> Data:
        weights = np.random.default_rng(data.SEED).random(size) + 0.5
        return (*rows(size), weights)

    peer = Peer(
        library="streameval",
        name="the same without weights",
        ready=our_updates_without(make, lambda batch: batch[:-1]),
        goal=OF_A_PLAIN_BATCH,
    )
    return Contest(
        verb="update",
        accumulator=accumulator,
        work=f"{work} with weights",
        size=32,
        data=data_of,
        ours=our_weighted_updates(make, read),
        peers=[peer],
    )


def texts() -> Contest:
    """Count small batches of labels that are texts, beside their numbers."""
    names = np.array([f"class {number}" for number in range(10)], dtype=object)
    peer = Peer(
        library="streameval",
        name="the same as class ids",
        ready=our_updates_without(
            partial(se.ConfusionAccumulator, 10),
            lambda batch: tuple(np.searchsorted(names, part) for part in batch),
        ),
        goal=OF_A_PLAIN_BATCH,
    )
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work="class names, 10 classes",
        size=32,
        data=lambda size: tuple(names[part] for part in data.labels(10, size)),
        ours=our_updates(partial(se.ConfusionAccumulator, names.tolist()), matrix),
        peers=[peer],
    )


def large_weighted() -> Contest:
    """Count a large batch with weights."""

    def ready(metrics: Any, batch: Data) -> Side:
        *labels, weights = batch
        total = np.zeros((10, 10))

        def run() -> None:
            total[...] += metrics.confusion_matrix(
                *labels, labels=np.arange(10), sample_weight=weights
            )

        return Side(run, lambda: {"matrix": total})

    def data_of(size: int) -> Data:
        weights = np.random.default_rng(data.SEED).random(size) + 0.5
        return (*data.labels(10, size), weights)

    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work="class ids with weights, 10 classes",
        size=65_536,
        data=data_of,
        ours=our_weighted_updates(partial(se.ConfusionAccumulator, 10), matrix),
        peers=[
            Peer(
                library="scikit-learn",
                module="sklearn.metrics",
                name="confusion_matrix",
                ready=ready,
                goal=5,
            )
        ],
    )


def large_texts(form: str, make: Any, goal: float) -> Contest:
    """Count a large batch of class names in one form, beside scikit-learn on arrays of them."""
    names = np.array([f"class {number}" for number in range(10)], dtype=object)

    def ready(metrics: Any, batch: Data) -> Side:
        total = np.zeros((10, 10), dtype=np.int64)

        def run() -> None:
            sides = map(np.asarray, batch)
            total[...] += metrics.confusion_matrix(*sides, labels=names)

        return Side(run, lambda: {"matrix": total})

    peer = Peer(
        library="scikit-learn",
        module="sklearn.metrics",
        name="confusion_matrix",
        ready=ready,
        goal=goal,
    )
    return Contest(
        verb="update",
        accumulator="ConfusionAccumulator",
        work=f"class names as {form}, 10 classes",
        size=65_536,
        data=lambda size: tuple(make(names[part]) for part in data.labels(10, size)),
        ours=our_updates(partial(se.ConfusionAccumulator, names.tolist()), matrix),
        peers=[peer],
    )


def arrow(names: np.ndarray) -> Any:
    """Make a column of Arrow."""
    import pyarrow as pa  # noqa: PLC0415 - nothing else here needs it

    return pa.array(names)


CONTESTS = [
    *(binary(size) for size in (1, *SIZES)),
    four_at_once(),
    *(class_ids(10, size) for size in SIZES),
    *(class_ids(1000, size) for size in SIZES),
    *(scores_of_classes(size) for size in SIZES),
    *(best_scores(classes) for classes in (1000, 4000, 10_000)),
    *(multilabel(size) for size in (32, 4096)),
    *(sketch(size) for size in SIZES),
    one_score(),
    confidences(256),
    tokens(256),
    masks(2**17),
    overlaps(2**17),
    *(class_sketches(size) for size in (32, 1024)),
    *(calibration(size) for size in (1, *SIZES)),
    *(regression(size) for size in (1, *SIZES)),
    *(values(size) for size in (32, 1_000_000)),
    *(collection(size) for size in SIZES),
    texts(),
    large_texts("objects", np.copy, 5),
    large_texts("code points", lambda names: names.astype(str), 5),
    large_texts("an Arrow column", arrow, 5),
    large_texts("Arrow dictionaries", lambda names: arrow(names).dictionary_encode(), 20),
    large_weighted(),
    with_weights("ConfusionAccumulator", "binary scores", data.binary, matrix),
    with_weights("PRCurveSketch", "scores", data.binary, attributes("roc_auc")),
    with_weights("CalibrationAccumulator", "probabilities", data.binary, attributes("log_loss")),
    with_weights("RegressionAccumulator", "numbers", data.numbers, attributes("mse")),
]
