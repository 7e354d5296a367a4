"""Accumulators of every class from bytes, including those with inner accumulators."""

from __future__ import annotations

from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.accumulators.classes import single_class
from streameval.accumulators.clustered import Clustered
from streameval.accumulators.collection import Collection
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.states import codec

_OUTER: dict[int, type[Accumulator[Any, Any]]] = {
    cls.type_id: cls for cls in (Clustered, Collection, Sliced, Windowed)
}


def read_accumulator(parts: codec.EncodedParts) -> Any:
    """Read an accumulator of any class from checked bytes."""
    cls = _OUTER.get(parts.type_id) or single_class(parts)
    return cls._decode(parts)
