"""Times of events: int64 microseconds since 1970 in UTC, or integers such as steps."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.inputs.arrays import as_array, as_labels, first_index, is_missing, to_host

UNITS = ("s", "ms", "us", "ns")
"""The units of epoch numbers, longest first."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_RECENT = 1_200_000_000, 2_500_000_000
"""Seconds since 1970 for 2008 to 2049, the usual range of logs."""
_FAR = 10**11
"""Seconds since 1970 up to the year 5138; larger numbers have another unit."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_FRACTION = re.compile(r"[.,](\d{6})(\d+)")
_USUAL = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?: ?Z| UTC|\+00:00)", re.ASCII
)
_ZONE = re.compile(r"(?<=\d) (?:UTC|Z)$")  # as BigQuery and Snowflake write it
_ZERO = np.uint8(ord("0"))
_YEAR_1 = np.datetime64("0001-01-01", "us")
_MANTISSA_SPLIT = 2.0**27 + 1.0


class _Naive:
    """Whether the warning that text without an offset is UTC has been shown."""

    is_said = False


def as_times(value: Any, *, unit: str | None, name: str, warns: bool = True) -> Ints:
    """Read the time of each row as microseconds since 1970 in UTC.

    Parameters
    ----------
    value : array of shape (n,)
        ``datetime64`` of any unit, columns of pandas, polars and Arrow with or without a time
        zone, `datetime` objects, ISO 8601 text; or numbers since 1970 if there is a unit.
        Times without a zone are UTC; for text, a warning says so once.
    unit : {"s", "ms", "us", "ns"} or None
        The unit of numbers; it is never guessed.
    name : str
        The argument that errors name.
    warns : bool
        Whether to warn of text without an offset.

    Returns
    -------
    int64 array of shape (n,)
        Finer times are rounded once to microseconds, half to even.

    Raises
    ------
    InvalidInputError
        When a time is missing, cannot be read, or looks like another unit.
    """
    array = _to_array(value, name)
    if array.ndim != 1:
        raise InvalidInputError(f"must have shape (n,), got {array.shape}", argument=name)
    if not array.size:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind == "M":
        return _of_datetime64(array, name)
    if array.dtype.kind in "UTO":
        items = array.tolist()
        if not all(isinstance(item, (int, float)) for item in items):
            return _of_items(items, name, warns=warns)
        _refuse_booleans(items, name)
    return _of_numbers(as_array(value, name=name), unit, name)


def as_steps(value: Any, *, name: str) -> Ints:
    """Read the step of each row: integers, of any meaning."""
    array = as_labels(value, name=name)
    if not array.size:
        return np.zeros(0, dtype=np.int64)
    if array.dtype == object:
        raise InvalidInputError("must hold integers, got strings", argument=name)
    if array.ndim != 1:
        raise InvalidInputError(f"must have shape (n,), got {array.shape}", argument=name)
    return array


def read_time(value: Any, *, unit: str | None, name: str, warns: bool = True) -> int:
    """Read one time, in any form that a column may have."""
    items = value if isinstance(value, np.ndarray) else _alone(value)
    return int(as_times(_single(items, name), unit=unit, name=name, warns=warns)[0])


def read_step(value: Any, *, name: str) -> int:
    """Read one step."""
    items = value if isinstance(value, np.ndarray) else _alone(value)
    return int(as_steps(_single(items, name), name=name)[0])


def _single(items: Array, name: str) -> Array:
    if items.size != 1:
        raise InvalidInputError(f"must be one time, got {items.size}", argument=name)
    return items.reshape(1)


def _alone(value: Any) -> Array:
    if isinstance(value, np.generic):
        return np.asarray(value)
    array = np.empty(1, dtype=object)
    array[0] = value
    return array


def _to_array(value: Any, name: str) -> Array:
    """Convert a column to NumPy; pandas would turn one with a time zone into objects."""
    zone = getattr(getattr(value, "dtype", None), "tz", None)
    if zone is not None and hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy(dtype=f"M8[{value.dtype.unit}]"))
    held = to_host(value, name=name)
    if isinstance(held, np.ndarray):
        return held
    if isinstance(held, (list, tuple)):
        array = np.empty(len(held), dtype=object)
        array[:] = held
        return array
    try:
        return np.asarray(held.to_numpy() if type(held).__module__ == "polars" else held)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"must be an array: {error}", argument=name) from error


def _refuse(bad: Mask, rule: str, name: str, remedy: str = "") -> None:
    if bad.any():
        raise InvalidInputError(rule, argument=name, position=first_index(bad), remedy=remedy)


def _of_datetime64(array: Array, name: str) -> Ints:
    _refuse(np.isnat(array), "must not hold missing times", name)
    unit, step = np.datetime_data(array.dtype)
    if unit in ("ns", "ps", "fs", "as"):
        finer = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}[unit]
        counts = array.astype(array.dtype.newbyteorder("=")).view(np.int64)
        if step != 1:
            return _of_python([count * step for count in counts.tolist()], finer, name)
        return _rounded(counts, finer)
    times = array.astype("M8[us]")
    _refuse(times.astype(array.dtype) != array, "must lie within 290,000 years of 1970", name)
    return times.view(np.int64)


def _rounded(counts: Ints, finer: int) -> Ints:
    """Divide integers and round to the nearest, half to even."""
    whole, rest = np.divmod(counts, finer)
    up = (2 * rest > finer) | ((2 * rest == finer) & (whole & 1 == 1))
    return np.asarray(whole + up)


def _of_python(counts: Iterable[int | Fraction], finer: int, name: str) -> Ints:
    """Round ratios of Python integers, half to even."""
    times = [round(Fraction(count) / finer) for count in counts]
    fits = np.array([-(2**63) < time < 2**63 for time in times])
    _refuse(~fits, "must lie within 290,000 years of 1970", name)
    return np.array(times, dtype=np.int64)


def is_naive(value: Any) -> bool:
    """Tell whether a value is a time as text without an offset.

    >>> is_naive("2026-01-01T12:00"), is_naive("2026-01-01T12:00Z"), is_naive("soon")
    (True, False, False)
    """
    try:
        return isinstance(value, str) and _moment_of(value)[0].tzinfo is None
    except ValueError:
        return False


def _of_items(items: list[Any], name: str, *, warns: bool) -> Ints:
    usual = _of_usual(items)
    if usual is not None:
        return usual
    times = np.empty(len(items), dtype=np.int64)
    before, time = None, 0
    for position, item in enumerate(items):
        if type(item) is not str or item != before:
            time = _of_item(item, name, position, warns=warns)
            before = item
        times[position] = time  # rows of a log often share a second with the row before
    return times


def _of_usual(items: list[Any]) -> Ints | None:
    """Read times that are all written alike, such as 2026-01-31T12:00:00.000Z; None for others.

    All at once, one takes a tenth of the time of `datetime`.
    """
    first = items[0] if items else None
    usual = _USUAL.fullmatch(first) if isinstance(first, str) else None
    if usual is None:
        return None
    try:
        if {*map(len, items)} != {len(usual[0])}:
            return None
        texts = np.frombuffer("".join(items).encode("ascii"), dtype=np.uint8)
    except (TypeError, UnicodeEncodeError):  # something else than text, or other digits
        return None
    texts = texts.reshape(len(items), -1)
    pattern = np.frombuffer(usual[0].encode("ascii"), dtype=np.uint8)
    is_digit = (pattern >= _ZERO) & (pattern < _ZERO + 10)
    is_digit[usual.end(1) :] = False  # those of an offset
    are_alike = (texts[:, ~is_digit] == pattern[~is_digit]).all()
    if not (are_alike and (texts[:, is_digit] - _ZERO < 10).all()):
        return None
    moments = np.ascontiguousarray(texts[:, : usual.end(1)]).view(f"S{usual.end(1)}")
    try:
        times = moments.ravel().astype("M8[us]")
    except ValueError:  # there is no such day or hour
        return None
    return None if times.min() < _YEAR_1 else times.view(np.int64)


def _of_item(item: Any, name: str, position: int, *, warns: bool) -> int:
    if isinstance(item, str):
        return _of_text(item, name, position, warns=warns)
    if isinstance(item, datetime):
        if is_missing(item):  # NaT of pandas
            raise InvalidInputError("must not hold missing times", argument=name, position=position)
        return _of_moment(item) + _extra_nanoseconds(item)
    if isinstance(item, date):
        return _of_moment(datetime(item.year, item.month, item.day))
    if isinstance(item, np.datetime64):
        return int(_of_datetime64(np.asarray(item).reshape(1), name)[0])
    missing = "must not hold missing times"
    rule = missing if is_missing(item) else f"must hold times, got {item!r}"
    raise InvalidInputError(rule, argument=name, position=position)


def _moment_of(text: str) -> tuple[datetime, re.Match[str] | None]:
    """Parse ISO 8601, and find the digits of a fraction that is finer than microseconds."""
    extra = _LONG_FRACTION.search(text)
    cut = text if extra is None else text[: extra.start(2)] + text[extra.end(2) :]
    return datetime.fromisoformat(_ZONE.sub("Z", cut.strip())), extra


def _of_text(text: str, name: str, position: int, *, warns: bool) -> int:
    try:
        moment, extra = _moment_of(text)
    except ValueError:
        raise InvalidInputError(
            f"must hold ISO 8601 times, got {text!r}", argument=name, position=position
        ) from None
    if warns and moment.tzinfo is None:
        _say_naive()
    time = _of_moment(moment)
    if extra is None:
        return time
    return round(time + Fraction(int(extra[2]), 10 ** len(extra[2])))


def _of_moment(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 10**6 + passed.microseconds


def _extra_nanoseconds(moment: Any) -> int:
    """Round the extra nanoseconds of a pandas timestamp."""
    extra = getattr(moment, "nanosecond", 0)
    return int(extra > 500 or (extra == 500 and moment.microsecond % 2 == 1))


def _say_naive() -> None:
    if not _Naive.is_said:
        _Naive.is_said = True
        warnings.warn("times as text without an offset are read as UTC", UserWarning, stacklevel=2)


def _refuse_booleans(items: list[Any], name: str) -> None:
    """Refuse True and False, which Python and NumPy count as 1 and 0 among numbers."""
    for position, item in enumerate(items):
        if isinstance(item, bool):
            rule = f"must hold times, got {item!r}"
            raise InvalidInputError(rule, argument=name, position=position)


def _of_numbers(array: Array, unit: str | None, name: str) -> Ints:
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"must hold times, got dtype {array.dtype}", argument=name)
    if unit is None:
        raise InvalidInputError(
            "holds numbers, whose unit is not guessed",
            argument=name,
            remedy='Pass unit="s", "ms", "us" or "ns".',
        )
    if array.dtype.kind == "f":
        array = array.astype(np.float64, copy=False)
        _refuse(~np.isfinite(array), "must not hold missing or infinite times", name)
    _check_unit(array, unit, name)
    if array.dtype.kind != "f":
        return _of_integers(array, unit)
    if unit == "ns":
        return _of_python(map(Fraction, array.tolist()), 10**3, name)
    return _product(array, 10**6 // _PER_SECOND[unit])


def _of_integers(array: Array, unit: str) -> Ints:
    """Scale integers, which fit because `_check_unit` has bounded them."""
    counts: Ints = array.astype(np.int64)
    return _rounded(counts, 10**3) if unit == "ns" else counts * (10**6 // _PER_SECOND[unit])


def _product(numbers: Floats, factor: int) -> Ints:
    """Multiply and round the exact product once, half to even.

    The fraction is multiplied separately. Where its product lies halfway, the error of float64
    (Dekker's product) decides the direction.
    """
    whole = np.trunc(numbers)
    fraction = numbers - whole
    product = fraction * factor
    high = fraction * _MANTISSA_SPLIT
    high = high - (high - fraction)
    lost = (high * factor - product) + (fraction - high) * factor
    nearest = np.rint(product)
    beside = product - nearest
    odd_base = whole.astype(np.int64) * factor
    if factor % 2 == 1:  # microseconds themselves: the whole part decides what is even
        nearest = np.where(
            (np.abs(beside) == 0.5) & ((odd_base + nearest.astype(np.int64)) & 1 == 1),
            nearest + np.sign(beside),
            nearest,
        )
        return np.asarray(odd_base + nearest.astype(np.int64))
    nearest += (beside == 0.5) & (lost > 0)
    nearest -= (beside == -0.5) & (lost < 0)
    return np.asarray(odd_base + nearest.astype(np.int64))


def _check_unit(array: Array, unit: str, name: str) -> None:
    """Refuse numbers that look like another unit.

    These are numbers past the year 5138, and numbers shortly after 1970 that would be recent in
    a longer unit.
    """
    low, high = array.min().item(), array.max().item()
    limit = min(_FAR * _PER_SECOND[unit], 2**63 - 1)
    if high >= limit or low <= -limit:
        raise _of_another_unit(array, (array >= limit) | (array <= -limit), unit, name)
    for longer in UNITS[: UNITS.index(unit)]:
        start, end = (edge * _PER_SECOND[longer] for edge in _RECENT)
        if high >= start and low < end:
            looks = (array >= start) & (array < end)
            if looks.any():
                raise _of_another_unit(array, looks, unit, name)


def _of_another_unit(array: Array, looks: Mask, unit: str, name: str) -> InvalidInputError:
    position = int(looks.argmax())
    number = array[position].item()
    start, end = _RECENT
    likely = (other for other in UNITS if start <= abs(number) / _PER_SECOND[other] < end)
    other = next(likely, None)
    if other is None:
        return InvalidInputError(
            f'must be times in "{unit}" up to the year 5138, got {number!r}',
            argument=name,
            position=position,
        )
    return InvalidInputError(
        f'holds {number!r}, which looks like a time in "{other}" and not in "{unit}",',
        argument=name,
        position=position,
        remedy=f'Pass unit="{other}" if it is.',
    )
