"""Losses of tokens: those of torch, whatever the shape, the precision and the padding."""

from __future__ import annotations

import math

import pytest
from offenders import each

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.nn.functional import cross_entropy, log_softmax  # noqa: E402

from streameval.loops import torch as adapter  # noqa: E402
from streameval.loops.torch import token_values  # noqa: E402

pytestmark = pytest.mark.engine(name="torch")

V = 11


def drawn(*shape, seed=0):
    """Logits and labels, a third of which are padding."""
    generator = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(*shape, V, generator=generator)
    labels = torch.randint(0, V, shape, generator=generator)
    return logits, labels.where(torch.rand(shape, generator=generator) > 0.3, -100)


@each("shape", [(), (7,), (3, 5), (2, 3, 4), (0, 5)])
def test_losses_and_first_choices_are_those_of_torch(shape):
    logits, labels = drawn(*shape)
    found, counts = token_values(logits, labels), labels != -100
    exact = -log_softmax(logits.double(), -1)[counts]
    exact = exact.gather(-1, labels[counts][:, None])[:, 0]
    assert torch.allclose(found["nll"].double(), exact, rtol=1e-5, atol=1e-6)
    assert found["correct"].equal(logits.argmax(-1)[counts] == labels[counts])
    assert token_values(log_softmax(logits, -1), labels)["nll"].allclose(found["nll"], atol=1e-5)


@each("shape", [(7,), (3, 5)])
def test_confidence_is_the_probability_of_the_first_choice(shape):
    logits, labels = drawn(*shape)
    found = token_values(logits, labels)["confidence"]
    assert found.allclose(logits.softmax(-1).max(-1).values[labels != -100], atol=1e-6)
    acc = se.CalibrationAccumulator(classes=V, ignore_label=-100)
    rows = logits.reshape(-1, V).softmax(-1)
    top = se.CalibrationAccumulator().update(token_values(logits, labels)["correct"], found)
    expected = acc.update(labels.reshape(-1), rows).compute().ece
    assert top.compute().ece == pytest.approx(expected, abs=1e-6)


def test_losses_have_no_limit():
    logits = torch.tensor([[0.0, 120.0], [0.0, 0.0]])
    values = token_values(logits, torch.tensor([0, 0]))
    assert values["nll"].tolist() == pytest.approx([120.0, math.log(2)])


@each("is_writeable", [True, False])
def test_arrays_of_any_library_are_read(is_writeable):
    logits, labels = drawn(3, 5)
    array = logits.numpy().copy()
    array.flags.writeable = is_writeable
    found = token_values(array, labels.tolist())
    expected = token_values(logits, labels)
    assert all(found[name].equal(expected[name]) for name in expected)


def test_shift_is_that_of_causal_models():
    logits, labels = drawn(4, 9)
    shifted = token_values(logits, labels, shift=True)
    by_hand = token_values(logits[:, :-1], labels[:, 1:])
    mean = cross_entropy(logits[:, :-1].reshape(-1, V), labels[:, 1:].reshape(-1))
    assert shifted["nll"].equal(by_hand["nll"])
    assert float(shifted["nll"].mean()) == pytest.approx(float(mean))


@each("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_precision_is_that_of_the_logits_and_no_less_than_float32(dtype, monkeypatch):
    monkeypatch.setattr(adapter, "_ENTRIES", 3 * V)  # several pieces
    logits, labels = drawn(20)
    logits = logits.to(dtype)
    found = token_values(logits, labels)["nll"]
    assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    counts = labels != -100
    exact = cross_entropy(logits[counts].double(), labels[counts], reduction="none")
    assert torch.allclose(found.double(), exact, rtol=1e-5, atol=1e-6)


def test_perplexity_is_that_of_all_tokens_however_they_are_batched():
    logits, labels = drawn(32, 6)
    acc = se.MeanAccumulator(["nll", "correct"])
    for start in range(0, 32, 5):
        acc.update(token_values(logits[start : start + 5], labels[start : start + 5]))
    whole = se.MeanAccumulator(["nll", "correct"]).update(token_values(logits, labels))
    assert acc.to_bytes() == whole.to_bytes()
    mean = cross_entropy(logits.reshape(-1, V).double(), labels.reshape(-1))
    assert acc.compute()["nll"].exp_mean == pytest.approx(math.exp(mean), rel=1e-5)


def test_bits_per_byte_are_those_of_all_bytes_however_they_are_batched():
    logits, labels = drawn(6, 5)
    n_bytes = [31, 7, 1, 19, 23, 12]
    acc = se.MeanAccumulator()
    for row, right, size in zip(logits, labels, n_bytes, strict=True):
        acc.update(float(token_values(row, right)["nll"].sum()) / size, sample_weight=size)
    nats = cross_entropy(logits.double().reshape(-1, V), labels.reshape(-1), reduction="sum")
    expected = float(nats) / math.log(2) / sum(n_bytes)
    assert acc.compute().bits_per_byte == pytest.approx(expected, rel=1e-6)


def test_padding_may_have_any_label_or_none():
    logits, labels = drawn(8)
    padded = labels.where(labels != -100, 0)
    own = token_values(logits, padded, ignore_label=0)
    assert len(own["nll"]) == int((padded != 0).sum())
    assert len(token_values(logits, padded, ignore_label=None)["nll"]) == 8
    loss = token_values(logits.requires_grad_(), labels)["nll"]
    assert not loss.requires_grad


@each(
    ("logits", "labels", "options", "message"),
    [
        ((3, V), torch.zeros(4, dtype=torch.int64), {}, "must have the shape of the logits"),
        ((3, V), torch.zeros(3), {}, "must hold integers, got torch.float32"),
        ((3, V), torch.tensor([1, -100, V]), {}, "must lie in 0..10, got 11 at position 2"),
        ((3, V), torch.tensor([1, -1, 2]), {}, "must lie in 0..10, got -1 at position 1"),
        ((V,), torch.tensor(1), {"shift": True}, "needs logits of several positions"),
    ],
)
def test_mistakes_are_named(logits, labels, options, message):
    with pytest.raises(se.InvalidInputError) as caught:
        token_values(torch.zeros(logits), labels, **options)
    assert message in str(caught.value)
