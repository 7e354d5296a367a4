"""Times of events in all their forms, as microseconds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.errors import InvalidInputError
from streameval.inputs import times
from streameval.inputs.durations import duration_text, read_duration, read_offset
from streameval.inputs.times import as_steps, as_times, read_step, read_time
from streameval.io.times import Times

MOMENT = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
MICROSECONDS = 1_774_747_800_123_456
TEXT = "2026-03-29T01:30:00.123456"
NAIVE = MOMENT.replace(tzinfo=None)

FORMS: dict[str, Any] = {
    "datetime64": np.array([TEXT], dtype="M8[us]"),
    "datetime64 of nanoseconds": np.array([TEXT], dtype="M8[ns]"),
    "datetime64 in other order": np.array([TEXT], dtype="M8[us]").astype(">M8[us]"),
    "datetime64 items": [np.datetime64(TEXT)],
    "datetime": [MOMENT],
    "datetime of another zone": [MOMENT.astimezone(timezone(timedelta(hours=2)))],
    "datetime without a zone": [NAIVE],
    "text": [f"{TEXT}Z"],
    "text of BigQuery": [f"{TEXT.replace('T', ' ')} UTC"],
    "text of Snowflake": [f"{TEXT.replace('T', ' ')} Z"],
    "text with an offset": np.array(["2026-03-29T03:30:00.123456+02:00"]),
    "text of nanoseconds": ["2026-03-29T01:30:00.123456499Z"],
    "pandas": pd.Series([pd.Timestamp(TEXT)]),
    "pandas with a zone": pd.Series([pd.Timestamp(MOMENT)]).dt.tz_convert("Europe/Berlin"),
    "pandas items": [pd.Timestamp(MOMENT)],
    "pandas index": pd.DatetimeIndex([TEXT]),
    "polars": pl.Series([NAIVE]),
    "arrow": pa.array([NAIVE], pa.timestamp("us")),
    "arrow with a zone": pa.chunked_array([[MOMENT]], pa.timestamp("us", "Europe/Berlin")),
}


@each("form", FORMS)
def test_a_time_is_the_same_in_every_form(form: str) -> None:
    assert as_times(FORMS[form], unit=None, name="t").tolist() == [MICROSECONDS]


@each(
    ("unit", "number"),
    [
        ("s", 1_774_747_800),
        ("s", 1_774_747_800.0),
        ("ms", 1_774_747_800_000),
        ("us", 1_774_747_800_000_000),
        ("us", 1_774_747_800_000_000.0),
        ("ns", 1_774_747_800_000_000_000),
        ("ns", 1_774_747_800_000_000_000.0),
    ],
)
def test_a_number_is_a_time_in_its_unit(unit: str, number: float) -> None:
    found = as_times([number], unit=unit, name="t").tolist()
    assert found == [MICROSECONDS - 123456]
    assert as_times(np.array([number, number]), unit=unit, name="t").tolist() == 2 * found


@each(("unit", "factor"), [("s", 10**6), ("ms", 1000), ("us", 1)])
def test_a_float_is_rounded_once_and_to_even(unit: str, factor: int) -> None:
    random = np.random.default_rng(3)
    scale = 10**6 // factor
    numbers = np.concatenate(
        [
            random.uniform(-10, 10, 200),
            random.uniform(1.7e9, 1.8e9, 200) * scale,
            (np.arange(-20, 20) + 0.5) / factor,
            np.arange(-20, 20) / (2.0 * factor),
            np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.0000005, 0.0000015, 2.0**-21, 3 * 2.0**-21]),
        ]
    )
    expected = [round(Fraction(number) * factor) for number in numbers.tolist()]
    assert as_times(numbers, unit=unit, name="t").tolist() == expected


def test_nanoseconds_are_rounded_to_even() -> None:
    numbers = [499, 500, 501, 1499, 1500, 1501, -500, -501, -1500]
    expected = [0, 0, 1, 1, 2, 2, 0, -1, -2]
    assert as_times(numbers, unit="ns", name="t").tolist() == expected
    assert as_times(np.array(numbers).astype("M8[ns]"), unit=None, name="t").tolist() == expected
    assert as_times(np.array([1500.5, 2500.0]), unit="ns", name="t").tolist() == [2, 2]
    picoseconds = np.array([1_500_000], dtype="M8[25ps]")
    assert as_times(picoseconds, unit=None, name="t").tolist() == [38]


@each(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.0000005Z", 0),
        ("1970-01-01T00:00:00.0000015Z", 2),
        ("1970-01-01 00:00:00.0000015 UTC", 2),
        ("1970-01-01T00:00:00.00000050001Z", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
    ],
)
def test_digits_of_text_are_rounded_once(text: str, expected: int) -> None:
    assert as_times([text], unit=None, name="t").tolist() == [expected]


def test_nanoseconds_of_pandas_items_are_rounded() -> None:
    items = [pd.Timestamp(number, unit="ns", tz="UTC") for number in (499, 500, 501, 1500)]
    assert as_times(items, unit=None, name="t").tolist() == [0, 0, 1, 2]


def test_text_that_repeats_is_the_same_time_each_time() -> None:
    texts = ["2026-01-01T00:00Z", "2026-01-01T00:00Z", "2026-01-01T00:01Z", "2026-01-01T00:00Z"]
    expected = [read_time(text, unit=None, name="t") for text in texts]
    assert as_times(texts, unit=None, name="t").tolist() == expected
    with pytest.raises(se.InvalidInputError, match="missing times at position 2"):
        as_times([*texts[:2], None], unit=None, name="t")


@each(
    ("values", "zones"),
    [
        ([1, 2.5], set()),
        (["2026-01-01T00:00:00Z"] * 2, {True}),
        (["2026-01-01T00:00:00z", None], {True}),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00", 7], {True, False}),
        (["2026-01-01T00:00:00"], {False}),
        (["2026-01-01 00:00:00 UTC"], {True}),
        ([], set()),
    ],
)
def test_zones_of_texts_alone_are_told(values: list[Any], zones: set[bool]) -> None:
    assert Times().zones(values) == zones


def moment(text: str) -> int:
    passed = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return passed // timedelta(microseconds=1)


@pytest.mark.slow
@each("end", ["Z", ".5Z", ".123456Z", "+00:00", ".250+00:00"])
@each("separator", ["T", " "])
def test_times_that_are_written_alike_are_those_of_datetime(end: str, separator: str) -> None:
    random = np.random.default_rng(5)
    seconds = random.integers(-62_135_596_800, 253_402_300_799, 500)
    moments = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=s) for s in seconds.tolist())
    texts = [f"{one.isoformat(separator)[:19]}{end}" for one in moments]
    assert times._of_usual(texts) is not None
    assert as_times(texts, unit=None, name="time").tolist() == [*map(moment, texts)]
    for other in ("1999-12-31T23:59Z", "2000-01-01T00:00:00.1234567Z", "1969-12-31T01:00:00+01:00"):
        mixed = [*texts, other]
        read = [read_time(text, unit=None, name="time") for text in mixed]
        assert as_times(mixed, unit=None, name="time").tolist() == read


@each(
    "text",
    [
        *("2026-02-30T00:00:00Z", "2026-01-01T24:00:01Z", "2026-01-01T00:00:60Z"),
        *("0000-01-01T00:00:00Z", "2026-01-01T00:00:0\u0660Z", "2026-01-01T00:00:0aZ"),
        *("2026-01-01T00-00:00Z", "2026-01-01T00:00:00A", "+026-01-01T00:00:00Z"),
    ],
)
def test_what_is_no_time_is_located_among_times_written_alike(text: str) -> None:
    usual = "2026-01-01T00:00:00Z"
    assert len(text) == len(usual)
    with pytest.raises(InvalidInputError, match=r"got .* at position 2"):
        as_times([usual, usual, text], unit=None, name="time")


def test_only_a_time_without_an_offset_is_naive() -> None:
    texts = "2026-01-01T12:00", "2026-01-01T12:00Z", "soon", 1_767_268_800
    assert [times.is_naive(text) for text in texts] == [True, False, False, False]


def test_text_without_an_offset_is_utc_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times._Naive, "is_said", False)
    with pytest.warns(UserWarning, match="without an offset are read as UTC"):
        assert as_times([TEXT, TEXT], unit=None, name="t").tolist() == 2 * [MICROSECONDS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_times([TEXT], unit=None, name="t")


class Unreadable:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("no array")


BAD: dict[str, tuple[Any, str | None, str]] = {
    "numbers without a unit": ([1.5], None, "`t` holds numbers, whose unit is not guessed"),
    "milliseconds as seconds": ([1, 1_774_747_800_000], "s", 'a time in "ms" .*position 1'),
    "nanoseconds as seconds": ([1_774_747_800_000_000_000], "s", 'a time in "ns" '),
    "seconds as milliseconds": ([5, 1_774_747_800], "ms", 'a time in "s" .*position 1'),
    "milliseconds as microseconds": ([1_774_747_800_000], "us", 'a time in "ms" '),
    "seconds as nanoseconds": ([1_774_747_800.0], "ns", 'a time in "s" '),
    "a number of no unit": ([5e13], "s", 'times in "s" up to the year 5138'),
    "a number past 64 bits": (np.array([2**63], dtype=np.uint64), "ns", "up to the year 5138"),
    "an infinite number": ([1.0, np.inf], "s", "missing or infinite times at position 1"),
    "a missing number": ([1.0, np.nan], "s", "missing or infinite"),
    "NaT": (np.array([TEXT, "NaT"], dtype="M8[us]"), None, "missing times at position 1"),
    "NaT among objects": ([MOMENT, pd.NaT], None, "missing times at position 1"),
    "None": ([MOMENT, None], None, "missing times at position 1"),
    "text that is no time": (
        ["2026-03-29T01:30Z", "noon"],
        None,
        "ISO 8601 .*'noon' at position 1",
    ),
    "another object": ([MOMENT, {}], None, "must hold times, got {} at position 1"),
    "a year too far": (np.array([10**6], dtype="M8[Y]"), None, "290,000 years"),
    "a time of nanoseconds too far": (np.array([2**62], dtype="M8[4000ns]"), None, "290,000 years"),
    "what is no array": (Unreadable(), "s", "must be an array: no array"),
    "a matrix": (np.zeros((2, 2)), "s", r"shape \(n,\)"),
    "booleans": (np.array([True]), "s", "dtype bool"),
    "a boolean among numbers": ([1.7e9, True], "s", "must hold times, got True at position 1"),
    "booleans in a list": ([True], "s", "must hold times, got True at position 0"),
}


@each("claim", BAD)
def test_what_is_no_time_is_refused(claim: str) -> None:
    value, unit, message = BAD[claim]
    with pytest.raises(se.InvalidInputError, match=message):
        as_times(value, unit=unit, name="t")


@each("value", [[1, 2], np.array([1, 2]), np.zeros(0, dtype=np.int64)])
def test_several_times_are_not_one(value: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`t` must"):
        read_step(value, name="t")
    with pytest.raises(se.InvalidInputError, match="`t` must"):
        read_time(value, unit="s", name="t")


@each("form", [list, np.array, pd.Series, pl.Series, pa.array])
def test_a_date_is_its_midnight(form: Callable[[Any], Any]) -> None:
    days = form([date(1969, 12, 31), date(2026, 3, 29)])
    expected = [-86_400_000_000, int(np.datetime64("2026-03-29", "us").astype(np.int64))]
    assert as_times(days, unit=None, name="t").tolist() == expected


def test_no_rows_have_no_times() -> None:
    assert as_times([], unit=None, name="t").tolist() == []
    assert as_steps([], name="t").tolist() == []


def test_steps_are_integers() -> None:
    assert as_steps([1, 2.0, True], name="t").tolist() == [1, 2, 1]
    assert read_step(np.int64(3), name="t") == 3
    for bad, message in {"a": "got strings", "b": r"shape \(n,\)"}.items():
        value: Any = ["1"] if bad == "a" else np.zeros((1, 2), dtype=int)
        with pytest.raises(se.InvalidInputError, match=message):
            as_steps(value, name="t")


@each("value", [MOMENT, np.datetime64(TEXT), f"{TEXT}Z", pd.Timestamp(MOMENT)])
def test_one_time_is_read_in_every_form(value: Any) -> None:
    assert read_time(value, unit=None, name="t") == MICROSECONDS


@each(
    ("value", "expected"),
    [
        ("30s", "30s"),
        ("90s", "90s"),
        ("5400s", "90m"),
        ("1h30m", "90m"),
        ("7d", "1w"),
        ("48h", "2d"),
        ("250ms", "250ms"),
        ("7us", "7us"),
        (timedelta(hours=1), "1h"),
        (pd.Timedelta("1h"), "1h"),
        (np.timedelta64(5, "m"), "5m"),
    ],
)
def test_a_duration_is_written_in_its_longest_unit(value: Any, expected: str) -> None:
    assert duration_text(read_duration(value, name="pane")) == expected


@each(
    "value",
    ["", "1", "m", "1 m", "1y", "-5m", "0s", 5, 1.5, timedelta(0), np.timedelta64("NaT"),
     np.timedelta64(1, "M"), np.timedelta64(1, "ns"), pd.Timedelta(1, "ns"), None,
     "9999999999999w"],
)  # fmt: skip
def test_what_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`pane`"):
        read_duration(value, name="pane")


def test_an_offset_may_be_nothing_or_negative() -> None:
    assert [read_offset(value, name="offset") for value in (0, "0s", "-1h")] == [
        0,
        0,
        -3_600_000_000,
    ]
    assert duration_text(0) == "0s"
