"""Ignite: an engine whose outputs are counted has the metrics of one update."""

from __future__ import annotations

import pytest
from offenders import each

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ignite", reason="Ignite is not installed")

from ignite.engine import Engine  # noqa: E402

from streameval.loops.ignite import Evaluate  # noqa: E402

pytestmark = [pytest.mark.engine(name="ignite"), pytest.mark.filterwarnings("default")]


def batches(n_classes=3):
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        logits = torch.randn(32, n_classes, generator=generator)
        yield logits, torch.randint(0, n_classes, (32,), generator=generator)


def test_metrics_of_an_engine_are_those_of_all_batches():
    evaluator = Engine(lambda engine, batch: batch)
    evaluate = Evaluate(se.ConfusionAccumulator(3), prefix="val_", per_class=True)
    evaluate.attach(evaluator, "all")
    logits, labels = map(torch.cat, zip(*batches(), strict=True))
    expected = se.ConfusionAccumulator(3).update(labels, logits).compute().as_dict(per_class=True)
    for _ in range(2):  # the second run begins at zero
        found = evaluator.run(list(batches())).metrics
        assert {name: found[f"val_{name}"] for name in expected} == expected
    assert evaluate.accumulator.n == len(labels)


def test_two_logits_become_a_score_of_the_chosen_metrics():
    evaluator = Engine(lambda engine, batch: {"out": batch})
    evaluate = Evaluate(se.PRCurveSketch(), lambda output: output["out"], metrics=["roc_auc"])
    evaluate.attach(evaluator, "curve")
    logits, labels = map(torch.cat, zip(*batches(2), strict=True))
    expected = se.PRCurveSketch(scores="real").update(labels, logits).compute().roc_auc
    assert evaluator.run(list(batches(2))).metrics["roc_auc"] == pytest.approx(float(expected))


def test_tokens_are_shifted_on_request():
    logits = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(0, 3, (4, 6), generator=torch.Generator().manual_seed(1))
    labels[0, 4:] = -100
    evaluator = Engine(lambda engine, batch: batch)
    evaluate = Evaluate(se.ConfusionAccumulator(3, ignore_label=-100), shift=True)
    evaluate.attach(evaluator, "tokens")
    truth, found = labels[:, 1:], logits[:, :-1].argmax(-1)
    right = (found == truth)[truth != -100].double().mean().item()
    assert evaluator.run([(logits, labels)]).metrics["accuracy"] == right


def test_one_hot_labels_are_counted_as_labels():
    evaluator = Engine(lambda engine, batch: batch)
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    evaluate.attach(evaluator, "all")
    (logits, labels), *_ = batches()
    evaluator.run([(logits, torch.eye(3)[labels])])
    assert evaluate.accumulator == se.ConfusionAccumulator(3).update(labels, logits)


@each(
    ("options", "says"),
    [
        ({"accumulator": 1}, "`accumulator` must be an accumulator, got int"),
        ({"accumulator": se.ConfusionAccumulator(), "metrics": ["acuracy"]}, "did you mean"),
    ],
)
def test_mistakes_are_named_at_once(options, says):
    with pytest.raises(se.InvalidInputError, match=says):
        Evaluate(**options)
