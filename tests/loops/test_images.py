"""Overlaps of images: those of torchmetrics' formula, worked by a loop over images and classes."""

from __future__ import annotations

import pytest
from offenders import each

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")

from streameval.loops.torch import image_values  # noqa: E402

pytestmark = pytest.mark.engine(name="torch")

K = 4


def by_hand(predicted, labels, ignored):
    """Mean IoU and Dice of each image with a pixel that counts."""
    found = []
    for own, truth in zip(predicted, labels, strict=True):
        counts = truth != ignored
        pairs = [((own == k) & counts, (truth == k) & counts) for k in range(K)]
        pairs = [(a, b) for a, b in pairs if (a | b).any()]
        iou = [int((a & b).sum()) / int((a | b).sum()) for a, b in pairs]
        dice = [2 * int((a & b).sum()) / int(a.sum() + b.sum()) for a, b in pairs]
        if pairs:
            found.append((sum(iou) / len(iou), sum(dice) / len(dice)))
    return found


@each("shape", [(5, 6, 7), (5, 9), (5, 2, 3, 4), (0, 3, 3)])
@each("ignored", [None, 255])
def test_overlaps_are_those_of_a_loop(shape, ignored):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(shape[0], K, *shape[1:], generator=generator)
    labels = torch.randint(0, K - 1, shape, generator=generator)
    logits[:, 2] -= 9  # a class that is rarely predicted
    if ignored is not None:
        labels[torch.rand(shape, generator=generator) < 0.3] = ignored
        labels[1:2] = ignored
    found = image_values(logits, labels, ignore_label=ignored)
    expected = by_hand(logits.argmax(1), labels, ignored)
    assert found["iou"].tolist() == pytest.approx([iou for iou, _ in expected])
    assert found["dice"].tolist() == pytest.approx([dice for _, dice in expected])
    means = se.MeanAccumulator(["iou", "dice"]).update(found).compute()
    assert means["iou"].n == len(expected)


@each(
    ("logits", "labels", "message"),
    [
        ((2, K, 3), torch.zeros(2, 4, dtype=torch.int64), "must have the shape of the logits"),
        ((2,), torch.zeros(2, dtype=torch.int64), "must have the shape of the logits"),
        ((2, K, 3), torch.zeros(2, 3), "must hold integers, got torch.float32"),
        ((2, K, 1), torch.tensor([[1], [255]]), "must lie in 0..3, got 255 at position 1"),
    ],
)
def test_mistakes_are_named(logits, labels, message):
    with pytest.raises(se.InvalidInputError) as caught:
        image_values(torch.zeros(logits), labels)
    assert message in str(caught.value)
