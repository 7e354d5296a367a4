"""A number with an interval: a float wherever a float goes, and an interval when asked."""

from __future__ import annotations

import copy
import csv
import io
import json
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from offenders import each

import streameval as se
from streameval.metrics.bounded import outward

VALUE = 0.1 + 0.2
NUMBERS = {
    "open": se.Bounded(VALUE, 0.25, 0.5),
    "exact": se.Bounded(VALUE),
    "nan": se.Bounded(math.nan),
    "negative": se.Bounded(-VALUE, -1, 0),
    "infinite": se.Bounded(math.inf, 2.5, math.inf),
}
every_number = each("name", NUMBERS)


def ends(number: se.Bounded) -> tuple[str, str, str]:
    return float.__repr__(number), float.__repr__(number.low), float.__repr__(number.high)


def test_it_is_a_float() -> None:
    assert isinstance(se.Bounded(0.5, 0, 1), float)


def test_it_carries_its_interval() -> None:
    number = se.Bounded(0.5, 0, np.float64(1))
    assert (number.low, number.high) == (0.0, 1.0)
    assert type(number.low) is type(number.high) is float


def test_it_is_its_own_interval_when_none_is_given() -> None:
    number = se.Bounded(VALUE)
    assert (number.low, number.high, number.exact) == (VALUE, VALUE, True)
    assert type(number.low) is type(number.high) is float


@each(
    ("number", "exact"),
    [
        (se.Bounded(0.5, 0, 1), False),
        (se.Bounded(0.5, 0.5, math.nextafter(0.5, 1)), False),
        (se.Bounded(0.5, 0.5, 0.5), True),
        (se.Bounded(0.5), True),
        (se.Bounded(math.nan), True),
        (se.Bounded(0.0, -0.0, 0.0), True),
    ],
)
def test_it_is_exact_when_nothing_is_open(number: se.Bounded, exact: bool) -> None:
    assert number.exact is exact


@each(
    ("name", "shown"),
    [
        ("open", "0.30000000000000004 [0.25, 0.5]"),
        ("exact", "0.30000000000000004"),
        ("nan", "nan"),
        ("negative", "-0.30000000000000004 [-1.0, 0.0]"),
        ("infinite", "inf [2.5, inf]"),
    ],
)
def test_repr_shows_the_interval_if_it_is_open(name: str, shown: str) -> None:
    assert repr(NUMBERS[name]) == shown


@every_number
@each(
    "show",
    [str, "{}".format, "{:.3f}".format, "{:>12.4g}".format, "{:%}".format, lambda x: f"{x}"],
)
def test_text_is_that_of_the_float(name: str, show: Callable[[float], str]) -> None:
    assert show(NUMBERS[name]) == show(float(NUMBERS[name]))


@every_number
def test_printf_style_text_is_that_of_the_float(name: str) -> None:
    assert "%s %.2f" % ((NUMBERS[name],) * 2) == "%s %.2f" % ((float(NUMBERS[name]),) * 2)


@every_number
def test_csv_holds_the_float(name: str) -> None:
    written = []
    for number in (NUMBERS[name], float(NUMBERS[name])):
        file = io.StringIO()
        csv.writer(file).writerow([number, 1])
        csv.DictWriter(file, ["a"]).writerow({"a": number})
        written.append(file.getvalue())
    assert written[0] == written[1]


@every_number
def test_json_holds_the_float(name: str) -> None:
    number = NUMBERS[name]
    assert json.dumps({"a": [number]}) == json.dumps({"a": [float(number)]})
    assert json.dumps(number, indent=1) == json.dumps(float(number), indent=1)


@every_number
def test_data_frame_holds_the_float(name: str) -> None:
    frame = pd.DataFrame({"a": [NUMBERS[name]]})
    assert frame["a"].dtype == np.float64
    assert frame.to_csv() == pd.DataFrame({"a": [float(NUMBERS[name])]}).to_csv()


@every_number
@each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_the_interval(name: str, protocol: int) -> None:
    back = pickle.loads(pickle.dumps(NUMBERS[name], protocol=protocol))
    assert type(back) is se.Bounded
    assert ends(back) == ends(NUMBERS[name])


@every_number
@each("make", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy([x])[0]])
def test_copy_keeps_the_interval(name: str, make: Callable[[se.Bounded], se.Bounded]) -> None:
    back = make(NUMBERS[name])
    assert type(back) is se.Bounded
    assert ends(back) == ends(NUMBERS[name])


OPERATIONS: dict[str, Callable[[float], Any]] = {
    "plus": lambda x: x + 1,
    "plus its like": lambda x: x + x,
    "from the right": lambda x: 1 - x,
    "times": lambda x: 2 * x,
    "over": lambda x: x / 3,
    "power": lambda x: abs(x) ** 0.5,
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "abs": abs,
    "sum": lambda x: sum([x, x]),
    "round": lambda x: round(x, 2),
    "divmod": lambda x: divmod(x, 0.25)[1],
}


@each("operation", OPERATIONS)
def test_arithmetic_gives_a_plain_float(operation: str) -> None:
    found = OPERATIONS[operation](NUMBERS["open"])
    assert type(found) is float
    assert found == OPERATIONS[operation](VALUE)


def test_float_of_it_is_plain() -> None:
    assert type(float(NUMBERS["open"])) is float


def test_it_is_equal_to_its_float_and_found_by_it() -> None:
    number = NUMBERS["open"]
    assert number == VALUE == se.Bounded(VALUE, 0, 1)
    assert hash(number) == hash(VALUE)
    assert {VALUE: "found"}[number] == "found"
    assert {number} == {VALUE}


def test_it_is_in_the_order_of_floats() -> None:
    low, high = se.Bounded(0.25, 0, 1), se.Bounded(0.5, 0, 0.6)
    assert low < 0.3 < high
    assert max(low, high) is high
    assert sorted([high, 0.3, low]) == [0.25, 0.3, 0.5]


def test_nan_is_not_equal_to_itself() -> None:
    assert NUMBERS["nan"] != NUMBERS["nan"].low
    assert math.isnan(NUMBERS["nan"])


@each("attribute", ["low", "high", "exact", "value", "real"])
def test_attribute_cannot_be_set(attribute: str) -> None:
    number = se.Bounded(0.5, 0, 1)
    with pytest.raises(AttributeError, match=r"^a Bounded is frozen: \w+ cannot be set\.$"):
        setattr(number, attribute, 2.0)
    assert ends(number) == ("0.5", "0.0", "1.0")


@each("attribute", ["low", "high"])
def test_attribute_cannot_be_deleted(attribute: str) -> None:
    number = se.Bounded(0.5, 0, 1)
    with pytest.raises(AttributeError):
        delattr(number, attribute)
    assert ends(number) == ("0.5", "0.0", "1.0")


@every_number
def test_numpy_takes_the_float(name: str) -> None:
    number = NUMBERS[name]
    assert np.asarray(number).dtype == np.asarray([number, 1]).dtype == np.float64
    np.testing.assert_array_equal(np.array([number]), [float(number)])
    assert np.float32(number) == np.float32(float(number)) or math.isnan(number)
    assert repr(np.float64(number)) == repr(np.float64(float(number)))


def test_other_numbers_take_the_float() -> None:
    number = NUMBERS["open"]
    assert Fraction(number) == Fraction(VALUE)
    assert Decimal(number) == Decimal(VALUE)
    assert number.hex() == VALUE.hex()
    assert number.is_integer() is False


def test_outward_widens_and_holds_the_estimate() -> None:
    number = outward(0.25, 0.5, 0.75)
    assert number.low == pytest.approx(0.25, rel=1e-11)
    assert number.high == pytest.approx(0.75, rel=1e-11)
    assert number.low <= 0.25 - 0.25 * 2**-40 - 2**-50
    assert number.high >= 0.75 + 0.75 * 2**-40 + 2**-50


@each(
    ("given", "expected"),
    [((0.0, 0.5, 1.0), (0.0, 0.5, 1.0)), ((0.5, 0.0, 1.0), None), ((0.25, 1.0, 0.5), None)],
)
def test_outward_keeps_range_and_estimate_inside(
    given: tuple[float, float, float], expected: tuple[float, float, float] | None
) -> None:
    number = outward(*given)
    assert 0.0 <= number.low <= float(number) <= number.high <= 1.0
    if expected:
        assert (number.low, float(number), number.high) == expected


def test_outward_of_nan_is_nan() -> None:
    assert ends(outward(math.nan, math.nan, math.nan)) == ("nan", "nan", "nan")


def test_outward_keeps_to_the_range_that_is_given() -> None:
    number = outward(-1.0, 0.0, 36.0, min_value=-1.0, max_value=36.0)
    assert (number.low, number.high) == (-1.0, 36.0)


@each(("low", "high"), [(0.6, 0.9), (0.1, 0.4), (0.9, 0.1)])
def test_value_outside_its_interval_is_refused(low: float, high: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`value` must lie in \[low, high\], got 0.5 "):
        se.Bounded(0.5, low, high)
