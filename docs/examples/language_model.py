"""Evaluate a language model, with intervals of documents and not of tokens.

    python docs/examples/language_model.py docs/how-to/*.md

A small model of bytes learns from every other file and is evaluated on the rest.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn

import streameval as se
from streameval.loops.torch import token_values


def windows(path: str) -> Tensor:
    """Cut a document into windows of 128 bytes, and pad the last one."""
    tokens = torch.tensor(list(Path(path).read_bytes()))
    return nn.functional.pad(tokens, (0, -len(tokens) % 128), value=-100).view(-1, 128)


def logits_of(model: nn.Module, labels: Tensor) -> Tensor:
    """Return the logits (B, T, V): those at position t are about token t + 1."""
    return model(labels.clamp(min=0))


def trained(windows_of_all: Tensor) -> nn.Module:
    """Train a model that predicts the next byte from the last one."""
    torch.manual_seed(0)
    model = nn.Embedding(256, 256)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for labels in windows_of_all.split(32):
        optimizer.zero_grad()
        logits = logits_of(model, labels)[:, :-1].transpose(1, 2)
        nn.functional.cross_entropy(logits, labels[:, 1:]).backward()
        optimizer.step()
    return model


def main(*paths: str) -> None:
    """Train, evaluate, and print perplexity and accuracy with both intervals."""
    model = trained(torch.cat([windows(path) for path in paths[::2]]))
    acc = se.Clustered(se.MeanAccumulator(["nll", "correct"]), by="document")
    with torch.no_grad():
        for path in paths[1::2]:
            labels = windows(path)
            values = token_values(logits_of(model, labels), labels, shift=True)
            acc.update(values, by=[path] * len(values["nll"]))
    for draws, result in ("documents", acc.compute()), ("tokens", acc.total().compute()):
        for name, (low, high), value in [
            ("perplexity", result["nll"].confidence("exp_mean"), result["nll"].exp_mean),
            ("accuracy", result["correct"].confidence("mean"), result["correct"].mean),
        ]:
            print(f"{name} {value:.4f}, 95% interval of {draws} [{low:.4f}, {high:.4f}]")


if __name__ == "__main__":
    main(*sys.argv[1:])
