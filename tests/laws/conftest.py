"""Small blocks for the law suite, so that a few rows take every path through the cells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from laws.ranking_cases import RANKING_BLOCKS, USUAL_BLOCKS

import streameval.accumulators.catalog
import streameval.accumulators.curve
import streameval.accumulators.grouped
import streameval.accumulators.grouping
import streameval.metrics.ranking

BLOCKS = [
    (streameval.accumulators.catalog, "_CAPACITY", 12),
    (streameval.accumulators.curve, "_ENTRIES", 12),
    (streameval.accumulators.curve, "_MIN_ROWS", 4),
    (streameval.accumulators.curve, "_MAX_ENTRIES", 30),
    (streameval.accumulators.grouped, "_CAPACITY", 12),
    (streameval.accumulators.grouping, "CAPACITY", 12),
    (streameval.accumulators.grouping, "_FIRST_CAPACITY", 2),
    (streameval.accumulators.grouping, "_MAX_BLANK", 2),
    (streameval.accumulators.grouping, "_MAX_CODES", 4),
]
"""Small sizes of the blocks of rows that are pending."""

USUAL = [(module, name, getattr(module, name)) for module, name, _ in BLOCKS]


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Let a block of pending rows fill up after a few of them."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, size in (*BLOCKS, *RANKING_BLOCKS):
            patch.setattr(module, name, size)
        yield


@pytest.fixture
def usual_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let blocks have the sizes that they have outside the suite."""
    for module, name, size in (*USUAL, *USUAL_BLOCKS):
        monkeypatch.setattr(module, name, size)


@pytest.fixture
def long_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rankings of a large case take few blocks, but more than one."""
    for module, name, size in USUAL_BLOCKS:
        monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(streameval.metrics.ranking, "_BLOCK", 2**13)
