"""Small blocks for the law suite, so that a few rows take every path through the cells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import streameval._waiting_rows
import streameval.grouped


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Let a block of waiting rows fill up after a few of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streameval._waiting_rows, "_ENTRIES", 12)
        patch.setattr(streameval._waiting_rows, "_LEAST_ROWS", 4)
        patch.setattr(streameval.grouped, "_WAITING_ROWS", 12)
        yield
