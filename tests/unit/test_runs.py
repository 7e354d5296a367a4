"""Codes of groups: combined, observed, and replaced, however many there can be."""

from __future__ import annotations

import numpy as np
from offenders import each

from streameval.states.runs import mapped, observed_codes, paired_codes, quotients

SIZES = [10, 100_000]


@each("limit", [50, 70_000, 10**9])
@each("size", SIZES)
def test_observed_codes_are_those_that_occur(limit: int, size: int) -> None:
    codes = np.random.default_rng(0).integers(0, limit, size)
    found = observed_codes(codes, limit)
    expected, local = np.unique(codes, return_inverse=True)
    assert found.tolist() == expected.tolist()
    assert mapped(codes, found).tolist() == local.tolist()
    assert mapped(local, np.arange(len(found)), np.arange(len(found))).tolist() == local.tolist()
    assert mapped(codes, found, 3 * np.arange(len(found))).tolist() == (3 * local).tolist()


@each("sizes", [(1, 100), (2, 100), (300, 300), (70_000, 70_000)])
def test_paired_codes_tell_pairs_apart(sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    first, second = (random.integers(0, size, 100_000) for size in sizes)
    codes = paired_codes(first.astype(np.uint32), second.astype(np.uint32), *sizes)
    assert codes.tolist() == (first * sizes[1] + second).tolist()


@each("span", [1, 600, 10**12])
@each("size", SIZES)
def test_quotients_round_down(span: int, size: int) -> None:
    numbers = np.random.default_rng(0).integers(-span, span, size)
    found, local = quotients(numbers, 60)
    assert found[local.astype(int)].tolist() == (numbers // 60).tolist()
    assert sorted(set(found.tolist())) == found.tolist()
