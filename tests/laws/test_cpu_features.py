"""The same bytes and numbers on a CPU without vector instructions."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from laws.cases import LARGE
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

import streameval as se

DISPATCHED = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]


def fingerprint() -> str:
    """Digest the bytes and numbers of every accumulator's large case, open queries closed too."""
    digest = hashlib.sha256()
    accumulators = [LARGE[name]().of() for name in sorted(LARGE)]
    rankings = [item for item in accumulators if isinstance(item, se.RankingAccumulator)]
    for accumulator in (*accumulators, *(item.copy().close() for item in rankings)):
        digest.update(accumulator.to_bytes())
        digest.update(repr(accumulator.compute().as_dict()).encode())
        digest.update(accumulator.compute().report().encode())
        if isinstance(accumulator, se.RankingAccumulator) and accumulator.compute().has_queries:
            digest.update(repr(sorted(accumulator.compute().stderr.items())).encode())
            for column in accumulator.compute().per_query().values():
                digest.update(column.tobytes())
    return digest.hexdigest()


def logarithms() -> str:
    """Digest what NumPy's logarithm gives, which does depend on the CPU."""
    return hashlib.sha256(np.log(np.random.default_rng(0).random(200_000)).tobytes()).hexdigest()


def without_vector_instructions(function: str) -> str:
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
        f"from laws.test_cpu_features import {function}; print({function}())"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip()


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.skipif(not DISPATCHED, reason="NumPy has one path only on this CPU")
@pytest.mark.usefixtures("long_blocks")
def test_bytes_and_numbers_are_the_same_without_vector_instructions() -> None:
    assert without_vector_instructions("fingerprint") == fingerprint()


@pytest.mark.slow
@pytest.mark.skipif(
    not __cpu_features__.get("AVX512F"), reason="only AVX-512 is known to change np.log"
)
def test_the_vector_instructions_were_really_off() -> None:
    assert without_vector_instructions("logarithms") != logarithms()
