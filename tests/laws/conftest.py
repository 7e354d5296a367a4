"""Small blocks for the law suite, so that a few rows take every path through the cells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from laws.ranking_cases import RANKING_BLOCKS, USUAL_BLOCKS

import streameval.accumulators.curve
import streameval.accumulators.grouped
import streameval.metrics.ranking


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Let a block of waiting rows fill up after a few of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streameval.accumulators.curve, "_ENTRIES", 12)
        patch.setattr(streameval.accumulators.curve, "_MIN_ROWS", 4)
        patch.setattr(streameval.accumulators.curve, "_MAX_ENTRIES", 30)
        patch.setattr(streameval.accumulators.grouped, "_CAPACITY", 12)
        for module, name, size in RANKING_BLOCKS:
            patch.setattr(module, name, size)
        yield


@pytest.fixture
def long_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rankings of a large case take few blocks, but more than one."""
    for module, name, size in USUAL_BLOCKS:
        monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(streameval.metrics.ranking, "_BLOCK", 2**13)
