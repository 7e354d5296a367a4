"""What a training team counts, on 200 random batches each, against the libraries it knows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")
tm = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed").functional
pytest.importorskip("torcheval", reason="torcheval is not installed")
pytest.importorskip("river", reason="river is not installed")

from river import metrics as of_river  # noqa: E402
from sklearn import metrics as sk  # noqa: E402
from torch.nn.functional import cross_entropy, nll_loss  # noqa: E402

from streameval.loops.torch import image_values, token_values  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of torch, for functions that torcheval compiles
    from torcheval.metrics import functional as of_torcheval

pytestmark = [pytest.mark.engine(name="torch"), pytest.mark.filterwarnings("ignore")]

BATCHES, PAD = 200, -100
Pairs = list[tuple[Any, Any]]


class Drawn:
    """Tensors of a random batch: n rows of k classes."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.n, self.k = 3 + seed % 40, 3 + seed % 7

    def logits(self, *shape: int) -> Any:
        return 3 * torch.randn(*shape, generator=self.generator)

    def labels(self, *shape: int, high: int) -> Any:
        return torch.randint(0, high, shape, generator=self.generator)

    def padded(self, labels: Any) -> Any:
        hidden = torch.rand(labels.shape, generator=self.generator) < 0.3
        return labels.where(~hidden.index_fill(0, torch.tensor([0]), False), PAD)


def classes(drawn: Drawn) -> Pairs:
    logits, truth = drawn.logits(drawn.n, drawn.k), drawn.labels(drawn.n, high=drawn.k)
    logits = logits.round() if drawn.n % 3 == 0 else logits  # ties
    found = se.ConfusionAccumulator(drawn.k).update(truth, logits).compute()
    given = {"num_classes": drawn.k, "average": "macro"}
    top = logits.argmax(1)
    return [
        (found.matrix, tm.confusion_matrix(top, truth, "multiclass", num_classes=drawn.k)),
        (found.accuracy, of_torcheval.multiclass_accuracy(logits, truth)),
        (found.recall("micro"), tm.recall(top, truth, "multiclass", num_classes=drawn.k)),
        (found.f_score(), sk.f1_score(truth, top, average="macro")),
        (found.jaccard(), sk.jaccard_score(truth, top, average="macro")),
        (found.precision(), of_torcheval.multiclass_precision(top, truth, **given)),
    ]


def best_of_many(drawn: Drawn) -> Pairs:
    logits, truth = drawn.logits(drawn.n, drawn.k), drawn.labels(drawn.n, high=drawn.k)
    found = se.ConfusionAccumulator(drawn.k, top_k=2).update(truth, logits).compute()
    given = {"num_classes": drawn.k, "average": "micro"}
    return [
        (found.top_k_accuracy, tm.accuracy(logits, truth, "multiclass", top_k=2, **given)),
        (found.top_k_accuracy, of_torcheval.multiclass_accuracy(logits, truth, k=2)),
    ]


def several_labels(drawn: Drawn) -> Pairs:
    scores = drawn.logits(drawn.n, drawn.k).sigmoid()
    truth = drawn.labels(drawn.n, drawn.k, high=2)
    given = {"num_labels": drawn.k, "threshold": 0.3}
    cuts = [0.25 + 0.5 * k / drawn.k for k in range(drawn.k)]
    weights = drawn.labels(drawn.n, drawn.k, high=4) / 2
    counted = se.ConfusionAccumulator(drawn.k, multilabel=True, threshold=0.3)
    found = counted.copy().update(truth, scores).compute()
    masked = counted.copy().update(truth, scores, sample_weight=weights > 0).compute()
    weighted = counted.copy().update(truth, scores, sample_weight=weights).compute()
    cut = se.ConfusionAccumulator(drawn.k, multilabel=True, threshold=cuts)
    decided = (scores.double() >= torch.tensor(cuts, dtype=torch.float64)).int()
    hidden = truth.where(weights > 0, PAD)
    return [
        (found.matrix, tm.confusion_matrix(scores, truth, "multilabel", **given)),
        (found.hamming_loss, 1 - tm.accuracy(scores, truth, "multilabel", **given)),
        (found.accuracy, tm.exact_match(scores, truth, "multilabel", **given)),
        (
            masked.matrix,
            tm.confusion_matrix(scores, hidden, "multilabel", ignore_index=PAD, **given),
        ),
        (
            weighted.matrix,
            [
                sk.confusion_matrix(y, p >= 0.3, sample_weight=w, labels=[0, 1])
                for y, p, w in zip(truth.T, scores.T, weights.T, strict=True)
            ],
        ),
        (
            cut.update(truth, scores).compute().matrix,
            tm.confusion_matrix(decided, truth, "multilabel", num_labels=drawn.k),
        ),
    ]


def calibration_of_labels(drawn: Drawn) -> Pairs:
    scores = drawn.logits(drawn.n, 3).sigmoid()
    truth, weights = drawn.labels(drawn.n, 3, high=2), drawn.labels(drawn.n, 3, high=3)
    weights[0] = 1
    rows = {"y_true": truth.ravel(), "y_prob": scores.ravel(), "label": ["a", "b", "c"] * drawn.n}
    sliced = se.Sliced(se.CalibrationAccumulator(10), "label")
    weighted = se.Sliced(se.CalibrationAccumulator(), "label")
    found = sliced.update(rows).compute()
    losses = weighted.update(rows | {"sample_weight": weights.ravel()}).compute()
    pairs: Pairs = []
    for name, y, p, w in zip("abc", truth.T, scores.T, weights.T, strict=True):
        pairs.append((found[name].ece, tm.calibration_error(p, y, "binary", n_bins=10)))
        pairs.append((losses[name].brier, ((p - y) ** 2 * w).sum() / w.sum()))
        loss = sk.log_loss(y, p.double(), sample_weight=w, labels=[0, 1])
        pairs.append((losses[name].log_loss, loss))
    return pairs


def probabilities(drawn: Drawn) -> Pairs:
    logits, truth = drawn.logits(drawn.n, drawn.k), drawn.labels(drawn.n, high=drawn.k)
    p = logits.softmax(1)
    found = se.CalibrationAccumulator(15, classes=drawn.k).update(truth, p).compute()
    error = tm.calibration_error(p, truth, "multiclass", n_bins=15, num_classes=drawn.k)
    return [(found.log_loss, cross_entropy(logits, truth)), (found.ece, error)]


def curves(drawn: Drawn) -> Pairs:
    scores, truth = drawn.logits(drawn.n, 3).sigmoid(), drawn.labels(drawn.n, 3, high=2)
    scores = (scores * 8).round() / 8 if drawn.n % 3 == 0 else scores
    truth[0], truth[1] = 0, 1
    found = se.PRCurveSketch(classes=3, multilabel=True).update(truth, scores).compute()
    given = {"num_labels": 3, "average": "none"}
    weights = drawn.labels(drawn.n, 3, high=4) / 2
    weights[:2] = 1
    weighted = se.PRCurveSketch(classes=3, multilabel=True)
    areas = weighted.update(truth, scores, sample_weight=weights).compute()
    each_label = list(zip(truth.T, scores.T, weights.T, strict=True))
    return [
        (areas.roc_auc(None), [sk.roc_auc_score(y, p, sample_weight=w) for y, p, w in each_label]),
        (
            areas.average_precision(None),
            [sk.average_precision_score(y, p, sample_weight=w) for y, p, w in each_label],
        ),
        (found.roc_auc(None), tm.auroc(scores, truth, "multilabel", **given)),
        (found.average_precision(None), tm.average_precision(scores, truth, "multilabel", **given)),
        (found[0].roc_auc, of_torcheval.binary_auroc(scores[:, 0], truth[:, 0])),
        (found[1].roc_auc, sk.roc_auc_score(truth[:, 1], scores[:, 1])),
    ]


def tokens(drawn: Drawn) -> Pairs:
    logits = drawn.logits(4, drawn.n, drawn.k)
    labels = drawn.padded(drawn.labels(4, drawn.n, high=drawn.k))
    found = se.MeanAccumulator(["nll", "correct"])
    found.update({name: token_values(logits, labels)[name] for name in ("nll", "correct")})
    means, flat = found.compute(), logits.reshape(-1, drawn.k)
    given = {"num_classes": drawn.k, "ignore_index": PAD, "average": "micro"}
    perplexity = tm.text.perplexity(logits, labels, ignore_index=PAD)
    right = tm.accuracy(flat, labels.ravel(), "multiclass", **given)
    return [
        (means["nll"].mean, nll_loss(flat.log_softmax(1), labels.ravel(), ignore_index=PAD)),
        (means["nll"].exp_mean, perplexity),
        (means["correct"].mean, right),
    ]


def images(drawn: Drawn) -> Pairs:
    logits = drawn.logits(3, drawn.k, 4, drawn.n + drawn.k)
    labels = drawn.labels(3, 4, drawn.n + drawn.k, high=drawn.k)
    pooled = se.ConfusionAccumulator(drawn.k).update(labels, logits).compute()
    given = {"num_classes": drawn.k}
    found = image_values(logits, labels)["iou"]
    alone = [
        sk.jaccard_score(y.ravel(), p.argmax(0).ravel(), average="macro")
        for y, p in zip(labels, logits, strict=True)
    ]
    return [
        (pooled.matrix, tm.confusion_matrix(logits, labels, "multiclass", **given)),
        (pooled.jaccard(), tm.jaccard_index(logits, labels, "multiclass", **given)),
        (found, alone),
    ]


def single_rows(drawn: Drawn) -> Pairs:
    truth = drawn.labels(drawn.n, high=2).tolist()
    scores = drawn.logits(drawn.n).sigmoid().double().tolist()
    counts, losses, errors = (
        se.ConfusionAccumulator(), se.CalibrationAccumulator(), se.RegressionAccumulator()
    )  # fmt: skip
    theirs = of_river.Accuracy(), of_river.LogLoss(), of_river.MSE()
    for y, p in zip(truth, scores, strict=True):
        for acc in (counts, losses, errors):
            acc.update(y, p)
        theirs[0].update(y == 1, p >= 0.5)
        theirs[1].update(y == 1, p)
        theirs[2].update(y, p)
    found = counts.compute().accuracy, losses.compute().log_loss, errors.compute().mse
    return [(one, other.get()) for one, other in zip(found, theirs, strict=True)]


def numbers(drawn: Drawn) -> Pairs:
    truth, prediction = drawn.logits(drawn.n).double(), drawn.logits(drawn.n).double()
    found = se.RegressionAccumulator().update(truth, prediction).compute()
    return [
        (found.mse, tm.mean_squared_error(prediction, truth)),
        (found.mae, tm.mean_absolute_error(prediction, truth)),
        (found.r2, of_torcheval.r2_score(prediction, truth)),
    ]


PEERS: list[Callable[[Drawn], Pairs]] = [
    *(classes, best_of_many, several_labels, calibration_of_labels, probabilities),
    *(curves, tokens, images, single_rows, numbers),
]


@each("peers", PEERS)
def test_numbers_are_those_of_the_libraries_on_random_batches(
    peers: Callable[[Drawn], Pairs],
) -> None:
    for seed in range(BATCHES):
        for position, (found, expected) in enumerate(peers(Drawn(seed))):
            ours, theirs = (np.asarray(part, np.float64) for part in (found, expected))
            np.testing.assert_allclose(ours, theirs, 2e-5, 2e-6, err_msg=f"{seed}: {position}")
