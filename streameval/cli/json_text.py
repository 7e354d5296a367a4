"""Strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any


def json_line(entries: dict[str, Any]) -> str:
    """Write strict JSON; nan and infinities, which JSON lacks, become null."""
    return json.dumps(_strict(entries), allow_nan=False) + "\n"


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
