"""The tables for migrants name what gives the same number."""

from __future__ import annotations

import math

import numpy as np
import pytest

import streameval as se

pytestmark = pytest.mark.filterwarnings("default")

RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.integers(0, 4, 500)
GUESS = np.where(RANDOM.random(500) < 0.6, TRUTH, RANDOM.integers(0, 5, 500))
CLASSES = se.ConfusionAccumulator(5).update(TRUTH, GUESS).compute()
CLICKED = RANDOM.integers(0, 2, 500)
SCORE = RANDOM.random(500) * 0.5 + CLICKED * 0.3
CURVE = se.PRCurveSketch().update(CLICKED, SCORE).compute()


@pytest.mark.engine(name="torchmetrics")
def test_torchmetrics_gives_the_numbers_of_its_table() -> None:
    import torch
    from torchmetrics import classification as tm

    truth, guess = torch.tensor(TRUTH), torch.tensor(GUESS)
    recall = [
        math.nan if not row.any() else row[k] / row.sum() for k, row in enumerate(CLASSES.matrix)
    ]
    theirs = tm.MulticlassRecall(5, average=None)(guess, truth).tolist()
    assert theirs[:4] == pytest.approx(recall[:4], rel=1e-6)
    assert float(tm.MulticlassAccuracy(5)(guess, truth)) == pytest.approx(CLASSES.recall("macro"))
    micro = tm.MulticlassAccuracy(5, average="micro")(guess, truth)
    assert float(micro) == pytest.approx(CLASSES.accuracy)
    matrix = tm.MulticlassConfusionMatrix(num_classes=5)(guess, truth)
    assert matrix.tolist() == CLASSES.matrix.tolist()
    score, clicked = torch.tensor(SCORE), torch.tensor(CLICKED)
    assert float(tm.BinaryAUROC()(score, clicked)) == pytest.approx(CURVE.roc_auc)


@pytest.mark.engine(name="torcheval")
def test_torcheval_gives_the_numbers_of_its_table() -> None:
    import torch
    from torcheval import metrics as te

    truth, guess = torch.tensor(TRUTH), torch.tensor(GUESS)
    macro = te.MulticlassAccuracy(average="macro", num_classes=5).update(guess, truth)
    assert float(macro.compute()) == pytest.approx(CLASSES.balanced_accuracy)
    matrix = te.MulticlassConfusionMatrix(5).update(guess, truth).compute()
    assert matrix.tolist() == CLASSES.matrix.tolist()
    score, clicked = torch.tensor(SCORE), torch.tensor(CLICKED)
    found = [te.BinaryAUROC(), te.BinaryAUPRC()]
    values = [float(metric.update(score, clicked).compute()) for metric in found]
    assert values == pytest.approx([CURVE.roc_auc, CURVE.average_precision], rel=1e-6)
    entropy = te.BinaryNormalizedEntropy().update(score, clicked.double()).compute()
    ours = se.CalibrationAccumulator().update(CLICKED, SCORE).compute()
    assert float(entropy) == pytest.approx(ours.value("normalized_entropy"), rel=1e-6)


@pytest.mark.engine(name="keras")
def test_keras_gives_the_numbers_of_its_table() -> None:
    import keras

    top = keras.metrics.SparseTopKCategoricalAccuracy(k=2)
    scores = RANDOM.random((500, 5))
    top.update_state(TRUTH, scores)
    ours = se.ConfusionAccumulator(5, top_k=2).update(TRUTH, scores).compute()
    assert float(top.result()) == pytest.approx(ours.top_k_accuracy)
    for metric, value in [
        (keras.metrics.BinaryAccuracy(), "accuracy"),
        (keras.metrics.Precision(), "precision"),
        (keras.metrics.Recall(), "recall"),
    ]:
        metric.update_state(CLICKED, SCORE)
        counted = se.ConfusionAccumulator().update(CLICKED, SCORE).compute()
        assert float(metric.result()) == pytest.approx(counted.value(value), rel=1e-6)


@pytest.mark.engine(name="spark")
def test_spark_gives_the_numbers_of_its_table() -> None:
    from pyspark.ml import evaluation
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    rows = [(float(truth), float(guess)) for truth, guess in zip(TRUTH, GUESS, strict=True)]
    df = spark.createDataFrame(rows, ["label", "prediction"])
    for name, value in [
        ("f1", CLASSES.f_score(average="weighted")),
        ("accuracy", CLASSES.accuracy),
        ("weightedPrecision", CLASSES.precision("weighted")),
        ("weightedRecall", CLASSES.recall("weighted")),
    ]:
        evaluator = evaluation.MulticlassClassificationEvaluator(metricName=name)
        assert evaluator.evaluate(df) == pytest.approx(value)
    spark.stop()


@pytest.mark.engine(name="river")
def test_river_gives_the_numbers_of_its_table() -> None:
    from river import metrics

    theirs = [metrics.Accuracy(), metrics.MacroF1(), metrics.RMSE(), metrics.R2()]
    for truth, guess in zip(TRUTH.tolist(), GUESS.tolist(), strict=True):
        for metric in theirs:
            metric.update(truth, guess)
    numbers = se.RegressionAccumulator().update(TRUTH, GUESS).compute()
    ours = [CLASSES.accuracy, CLASSES.f_score(average="macro"), numbers.rmse, numbers.r2]
    assert [metric.get() for metric in theirs] == pytest.approx(ours)
