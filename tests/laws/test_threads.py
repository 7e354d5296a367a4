"""One accumulator per thread, then merge; readers see whole states."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from laws.beside import read_beside
from laws.cases import LARGE
from profiles import cases, quick_cases

import streameval as se

QUICK = ("Collection", "ConfusionAccumulator", "RankingAccumulator")
"""In the inner loop: what their updates share is the same for all."""
every = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(LARGE)],
)


@pytest.mark.slow
@every
@pytest.mark.usefixtures("long_blocks")
def test_one_accumulator_per_thread_merges_to_one_answer(name: str) -> None:
    case = LARGE[name]()
    pieces = np.array_split(np.arange(case.size), quick_cases(64, least=16))
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(case.of, pieces))
    assert se.merge(parts).to_bytes() == case.of().to_bytes()


@pytest.mark.uncovered
@pytest.mark.slow
@every
@pytest.mark.usefixtures("long_blocks")
def test_a_reader_never_sees_a_torn_state(name: str) -> None:
    case = LARGE[name]()
    pieces = np.array_split(np.arange(case.size), quick_cases(cases(200, least=60), least=10))
    whole = {case.empty().to_bytes()}
    running = case.empty()
    for piece in pieces:
        running.merge(case.of(piece))
        whole.add(running.to_bytes())

    shared, seen = case.empty(), set()
    steps = [partial(case.add, shared, piece) for piece in pieces]
    read_beside(steps, read=lambda: seen.add(shared.to_bytes()))
    assert seen <= whole
    assert len(seen) >= len(pieces) / 2
