"""The metrics of torchmetrics and torcheval, which go the same ways, as peers."""

from __future__ import annotations

from functools import partial
from typing import Any

from speed.contest import Peer
from speed.sides import Read, TorchWay, torcheval_metric, torchmetric


def torchmetrics(
    way: TorchWay,
    name: str,
    read: Read,
    goal: float | None = 1.0,
    tolerance: float = 1e-4,
    why: str = "",
    **options: Any,
) -> Peer:
    """Let a metric of torchmetrics, with its default checks, go a way."""
    return Peer(
        library="torchmetrics",
        name=called(name, options),
        ready=way(partial(torchmetric, name=name, **options), read),
        goal=goal,
        tolerance=tolerance,
        why=why,
    )


def torcheval(
    way: TorchWay,
    name: str,
    read: Read,
    goal: float | None = 1.0,
    tolerance: float = 1e-4,
    why: str = "",
    **options: Any,
) -> Peer:
    """Let a metric of torcheval go a way."""
    return Peer(
        library="torcheval",
        module="torcheval.metrics",
        name=called(name, options),
        ready=way(partial(torcheval_metric, name=name, **options), read),
        goal=goal,
        tolerance=tolerance,
        why=why,
    )


def called(name: str, options: dict[str, Any]) -> str:
    """Write a call."""
    given = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name}({given})"
