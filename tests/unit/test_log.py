"""Logarithms and exponentials: accurate to a few units, the same bits on every CPU and layout."""

from __future__ import annotations

import decimal
import hashlib
import math
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from offenders import each

from streameval.exact.log import exp, expm1, log, log1p, log_of_either

DIGITS = decimal.Context(prec=60, Emin=-(10**6), Emax=10**6)
DISPATCHED = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
SMALLEST = 5e-324
RANDOM = np.random.default_rng(0)


def decades(low: float, high: float, size: int = 2000) -> np.ndarray:
    numbers: np.ndarray = 10.0 ** RANDOM.uniform(low, high, size)
    return numbers


OF_LOG = {
    "any decade": decades(-308, 308),
    "subnormals": RANDOM.integers(1, 2**52, 500) * SMALLEST,
    "few bits of subnormals": np.arange(1, 200) * SMALLEST,
    "near 1": 1 + RANDOM.normal(size=2000) * decades(-16, -1),
    "probabilities": 1 - RANDOM.random(4000),
    "around the ends of the reduced range": RANDOM.uniform(0.5, 2.1, 4000),
    "neighbours of 1": 1 + np.arange(-50, 50) * 2.0**-53,
    "powers of two": 2.0 ** np.arange(-1074, 1024),
    "largest": np.array([np.finfo(np.float64).max, np.finfo(np.float64).tiny, math.sqrt(0.5)]),
}
OF_LOG1P = {
    "tiny": decades(-320, -1),
    "tiny and negative": -decades(-320, -1),
    "any": RANDOM.uniform(-0.9999, 3, 6000),
    "large": decades(0, 300),
    "around 2**53": 2.0**53 * RANDOM.uniform(0.25, 8, 500),
    "near -1": -1 + decades(-15.9, 0),
    "neighbours of -1": -1 + np.arange(1, 100) * 2.0**-53,
    "around the direct range": np.concatenate(
        [x + np.arange(-50, 50) * 2.0**-54 for x in (-0.2928932188134524, 0.414213562373095)]
    ),
    "a few": np.array([1.0, -0.5, 1e300, 2.0**-53, -(2.0**-53), SMALLEST, -SMALLEST]),
}


def largest_error(
    function: Callable[[np.ndarray], np.ndarray], numbers: np.ndarray, shift: int
) -> float:
    """Return the largest error in units in the last place of the true logarithm."""
    errors = [0.0]
    for x, ours in zip(numbers.tolist(), function(numbers).tolist(), strict=True):
        argument = decimal.Context(prec=1200).add(Decimal(x), Decimal(shift))
        if argument == 1:
            assert ours == 0.0
            continue
        true = argument.ln(DIGITS)
        if shift and abs(x) < 1e-30:
            true = Decimal(x)  # the next term is below 1e-30 of it
        unit = Decimal(float(np.spacing(abs(float(true)))))
        errors.append(float(DIGITS.divide(abs(DIGITS.subtract(Decimal(ours), true)), unit)))
    return max(errors)


@pytest.mark.slow
@each("claim", OF_LOG)
def test_log_is_within_one_unit_in_the_last_place_of(claim: str) -> None:
    assert largest_error(log, OF_LOG[claim], 0) < 1.0


@pytest.mark.slow
@each("claim", OF_LOG1P)
def test_log1p_is_within_one_unit_in_the_last_place_of(claim: str) -> None:
    assert largest_error(log1p, OF_LOG1P[claim], 1) < 1.0


def test_the_oracle_notices_an_error_of_two_units() -> None:
    def off(x: np.ndarray) -> np.ndarray:
        return np.nextafter(np.nextafter(log(x), 1e300), 1e300)

    assert largest_error(off, OF_LOG["probabilities"], 0) > 1.0


OF_EXP = {
    "any": RANDOM.uniform(-700, 700, 3000),
    "near 0": RANDOM.normal(size=1000) * decades(-17, 0, 1000),
    "around the direct range": np.concatenate(
        [x + np.arange(-20, 20) * 2.0**-53 for x in (-0.35, 0.35)]
    ),
    "around half a log 2": np.arange(-99, 100, 2) * math.log(2.0) / 2.0,
}


@pytest.mark.slow
@each(("function", "units"), [(exp, 2), (expm1, 4)])
@each("claim", OF_EXP)
def test_exponential_is_within_few_units_in_the_last_place_of(
    claim: str, function: Callable[[np.ndarray], np.ndarray], units: int
) -> None:
    for x, ours in zip(OF_EXP[claim].tolist(), function(OF_EXP[claim]).tolist(), strict=True):
        power = Decimal(x).exp(DIGITS)
        true = DIGITS.subtract(power, Decimal(1)) if function is expm1 else power
        error = abs(DIGITS.subtract(Decimal(ours), true))
        assert error < units * Decimal(math.ulp(float(true))), x


def test_exponentials_of_0_are_exact() -> None:
    assert exp(np.zeros(2)).tolist() == [1.0, 1.0]
    assert expm1(np.array([0.0, -0.0])).tolist() == [0.0, 0.0]


def test_logarithms_of_the_neutral_are_zero() -> None:
    assert log(np.ones(3)).tolist() == log1p(np.zeros(3)).tolist() == [0.0] * 3


def test_log_of_powers_of_two_is_that_many_times_log_2() -> None:
    exponents = np.arange(-1074, 1024)
    assert log(2.0**exponents).tolist() == [float(k * DIGITS.ln(Decimal(2))) for k in exponents]


@each("function", [log, log1p, exp, expm1])
def test_layout_does_not_change_a_bit(function: Callable[[np.ndarray], np.ndarray]) -> None:
    numbers = RANDOM.random(6000) + 1e-9
    expected = function(numbers)
    views = [
        np.repeat(numbers, 3)[::3],
        numbers[::-1].copy()[::-1],
        numbers.reshape(60, 100),
        np.asfortranarray(numbers.reshape(60, 100)),
        numbers.astype(">f8"),
    ]
    for view in views:
        assert np.array_equal(function(view).ravel(), expected)
    assert [float(function(number)) for number in numbers[:50]] == expected[:50].tolist()


@each("function", [log, log1p, exp, expm1])
def test_the_argument_is_left_alone(function: Callable[[np.ndarray], np.ndarray]) -> None:
    numbers = RANDOM.random(10)
    before = numbers.copy()
    numbers.flags.writeable = False
    function(numbers)
    assert np.array_equal(numbers, before)


def test_tiny_numbers_raise_no_floating_point_error() -> None:
    with np.errstate(all="raise"):
        assert log1p(np.array([1e-300, SMALLEST])).tolist() == [1e-300, SMALLEST]
        log(np.array([SMALLEST, 1e308]))


def test_log_of_either_may_overwrite_its_input() -> None:
    draw = np.random.default_rng(8)
    numbers, is_direct = draw.random(20_000), draw.random(20_000) < 0.5
    expected = log_of_either(numbers, is_direct)
    assert log_of_either(numbers, is_direct, out=numbers) is numbers
    assert numbers.tobytes() == expected.tobytes()


def test_log_of_either_has_the_bits_of_both() -> None:
    draw = np.random.default_rng(4)
    edges = [2.0**-52, 1 - 2.0**-52, 0.5, math.sqrt(0.5), 1 - math.sqrt(0.5)]
    edges += [np.nextafter(edge, end) for edge in edges[2:] for end in (0.0, 1.0)]
    small = 2.0 ** -draw.uniform(1, 52, 5000)
    numbers = np.concatenate([edges, draw.random(10_000) / 2 + 0.25, small, 1 - small])
    for is_direct in (np.arange(len(numbers)) % 2 == 0, np.arange(len(numbers)) % 2 == 1):
        expected = np.where(is_direct, log(numbers), log1p(-numbers))
        assert log_of_either(numbers, is_direct).tobytes() == expected.tobytes()


def test_every_release_computes_the_same_bits() -> None:
    shares = np.arange(1, 5000) / 5000
    exponents = np.arange(-60, 60) / 2
    numbers = np.concatenate([shares, 1.0 + shares, shares * 2.0**-40, 3.0**exponents])
    either = log_of_either(shares, np.arange(len(shares)) % 2 == 0)
    found = (
        log(numbers),
        log1p(numbers),
        log1p(-shares),
        either,
        exp(exponents),
        expm1(shares - 0.5),
    )
    digest = hashlib.sha256(b"".join(part.astype("<f8").tobytes() for part in found))
    assert digest.hexdigest()[:16] == "c5a20b348ce85331"


def fingerprint() -> str:
    random = np.random.default_rng(1)
    numbers = random.random(200_000)
    found = log(numbers), log1p(-numbers), exp(-50.0 * numbers), expm1(-numbers)
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()


@pytest.mark.slow
@pytest.mark.skipif(not DISPATCHED, reason="NumPy has one path only on this CPU")
def test_vector_instructions_do_not_change_a_bit() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
        "from unit.test_log import fingerprint; print(fingerprint())"
    )
    process = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == fingerprint()
