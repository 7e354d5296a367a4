"""Bytes of panes as older releases wrote them, or with fields that no release writes."""

from __future__ import annotations

from typing import Any

import streameval as se
from streameval.states import codec

_PANES = ("accumulator", "newest", "tiers", "panes", "rows", "labelled")
SLICES = ("values", "lengths", "codes", "others", "leaves")
"""The fields of slices."""


def fields_of(windowed: se.Windowed) -> dict[str, Any]:
    """Return the fields of the bytes, by name."""
    parts = codec.split(windowed.to_bytes())
    described = parts.header["state"]
    return parts.fields([name for name in (*_PANES, *SLICES, "unlabelled") if name in described])


def written(windowed: se.Windowed, fields: dict[str, Any]) -> bytes:
    """Write bytes with other fields."""
    return codec.encode(9, "Windowed", codec.settings_json(windowed._config.settings), fields)


def without_unlabelled(windowed: se.Windowed) -> bytes:
    """Write what an older release would have written: rows without a label in no slice."""
    fields = fields_of(windowed)
    fields.pop("unlabelled", None)
    return written(windowed, fields)
