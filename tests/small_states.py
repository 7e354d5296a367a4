"""Small accumulators of every kind of state, and a reader and writer of their bytes.

The reader and writer follow the published layout and share no code with the library.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streameval as se

MAGIC = bytes.fromhex("89 53 45 56 4C 0D 0A 1A")
PREFIX_SIZE = 28


@dataclass(frozen=True)
class Parsed:
    """State bytes, taken apart."""

    magic: bytes
    version: int
    kind: int
    header_size: int
    payload_size: int
    checksum: int
    header: bytes
    payload: bytes

    @property
    def settings(self) -> Any:
        return json.loads(self.header)

    @property
    def numbers(self) -> list[int]:
        return list(struct.unpack(f"<{len(self.payload) // 8}q", self.payload))


def parse(data: bytes) -> Parsed:
    prefix = struct.unpack("<8sHHIQI", data[:PREFIX_SIZE])
    end = PREFIX_SIZE + prefix[3]
    return Parsed(*prefix, header=data[PREFIX_SIZE:end], payload=data[end:])


def seal(
    header: Any,
    payload: bytes | list[int],
    *,
    kind: int = 1,
    version: int = 1,
    header_size: int | None = None,
    payload_size: int | None = None,
) -> bytes:
    """Write bytes whose checksum is right, whatever they hold."""
    text = header if isinstance(header, bytes) else canonical(header)
    body = payload if isinstance(payload, bytes) else struct.pack(f"<{len(payload)}q", *payload)
    sizes = (
        len(text) if header_size is None else header_size,
        len(body) if payload_size is None else payload_size,
    )
    prefix = struct.pack("<8sHHIQ", MAGIC, version, kind, *sizes)
    return prefix + struct.pack("<I", zlib.crc32(prefix + text + body)) + text + body


def canonical(header: Any) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")


def binary() -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator().update([1, 0, 1, 1], [0.9, 0.7, 0.2, 0.5])


def met() -> se.ConfusionAccumulator:
    """Strings met on the way, with weights that have fractions."""
    accumulator = se.ConfusionAccumulator("auto")
    return accumulator.update(["b", "日本", "a"], ["b", "a", "a"], sample_weight=[0.25, 2, 1.1])


def top_k() -> se.ConfusionAccumulator:
    scores = [[0.2, 0.4, 0.4], [0.3, 0.3, 0.3], [0.1, 0.2, 0.7]]
    return se.ConfusionAccumulator(3, top_k=2).update([0, 1, 2], scores)


def multilabel() -> se.ConfusionAccumulator:
    accumulator = se.ConfusionAccumulator(["x", "y", "z"], multilabel=True)
    return accumulator.update([[0, 1, 1], [1, 1, 0]], [[0, 1, 1], [1, 0, 1]])


def ignoring() -> se.ConfusionAccumulator:
    accumulator = se.ConfusionAccumulator(2, multilabel=True, ignore_label=-1)
    return accumulator.update([[0, -1], [1, 1]], [[0, 1], [0, 1]], sample_weight=[0.5, 3])


SMALL: dict[str, Callable[[], se.ConfusionAccumulator]] = {
    "binary": binary,
    "met": met,
    "top_k": top_k,
    "multilabel": multilabel,
    "ignoring": ignoring,
    "empty": se.ConfusionAccumulator,
    "empty_met": lambda: se.ConfusionAccumulator("auto"),
}


def regression() -> se.RegressionAccumulator:
    truth, prediction = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    return se.RegressionAccumulator().update(truth, prediction, sample_weight=[1, 0.5, 2, 3])


EVERY: dict[str, Callable[[], Any]] = SMALL | {
    "regression": regression,
    "empty_regression": se.RegressionAccumulator,
}

FIELDS = {
    "binary": ("n", "matrix", "credit"),
    "met": ("n", "matrix"),
    "top_k": ("n", "matrix", "credit"),
    "multilabel": ("n", "outcomes", "exact_match"),
    "ignoring": ("n", "outcomes", "exact_match"),
    "empty": ("n", "matrix", "credit"),
    "empty_met": ("n", "matrix"),
    "regression": ("n",),
    "empty_regression": ("n",),
}
"""The numeric fields of each state in the order of their payload."""
