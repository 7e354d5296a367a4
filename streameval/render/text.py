"""Numbers, names, times and JSON as text: every number of reports and pages is written here.

`numbers` and `intervals` write a column of a report, with brackets around an interval. Pages have
fewer digits: `number` writes a value by itself, and `grouped`, `interval` and `hull` write what has
as many decimals as its column.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import accumulate, cycle, takewhile
from typing import TYPE_CHECKING, Any

from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Interval, Threshold

if TYPE_CHECKING:
    from streameval.metrics.table import Reading

WIDTH = 80
"""The maximum number of columns of a text."""

# C0 and C1 with DEL, line and paragraph separators, and marks that change the text direction.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_CONTROL_IN_LINES = re.compile(rf"(?![\n\t])[{_CONTROLS}]")

UNDEFINED = "\N{EN DASH}"
"""Stands for a number that the data does not define."""
ABOUT_UNDEFINED = (
    f"{UNDEFINED} is a number that this data does not define, as the recall of an absent class."
)

_MAX_LISTED = 10
_DAY = 86_400
_LONG = 2 * _DAY
_SMALLEST, _LARGEST = 1e-5, 1e12
"""Numbers outside of this range are written with an exponent."""
_MAX_DECIMALS = 12

Write = Callable[[Sequence[float], int], list[str]]
"""Writes the numbers of a column, fractions with so many decimals."""


def numbers(values: Sequence[float], decimals: int = 6) -> list[str]:
    """Write the numbers of a column alike: counts in full, all others with equal decimals.

    There are more decimals where a small number would lose its digits, and fewer where a large one
    has none that float64 would keep. A number that this format cannot show has its own format.
    A threshold has all of its digits, so that it reads back equal.

    >>> numbers([54.542376, 2974.8708, 0.498324, 442])
    ['54.542376', '2974.870800', '0.498324', '442']
    >>> numbers([0.97051, 0.00012345], 4), numbers([0.5, 1e-12])
    (['0.97051', '0.00012'], ['0.500000', '1e-12'])
    """
    decimals = common_decimals(values, decimals)
    return [fixed(value, decimals) for value in values]


def common_decimals(values: Iterable[float], decimals: int = 6) -> int:
    """Count the decimals with which `numbers` writes fractions."""
    fractions = [abs(value) for value in values if not isinstance(value, (int, Threshold))]
    shown = [size for size in fractions if _SMALLEST <= size < _LARGEST]
    if not shown:
        return decimals
    small, large = (math.floor(math.log10(end)) for end in (min(shown), max(shown)))
    return min(max(decimals, 1 - small), max(14 - large, 1))


def fixed(value: float, decimals: int) -> str:
    """Write a count in full, and another number with `decimals` decimals if these can show it.

    >>> fixed(0.123456789, 3), fixed(Threshold(0.123456789), 3), fixed(math.nan, 3)
    ('0.123', '0.123456789', '\N{EN DASH}')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return UNDEFINED
    if isinstance(value, Threshold):
        return str(value)
    return f"{value:.{decimals}f}" if is_fixed(value) else f"{value:.{_few_digits(value)}g}"


def _few_digits(value: float) -> int:
    """Count the digits of a number with an exponent in a column."""
    return 3 if abs(value) < 1 else 6


def significant(value: float) -> str:
    """Write a number with six significant digits, and a threshold with all of them."""
    return str(value) if isinstance(value, Threshold) else f"{value:.6g}"


def is_fixed(value: float) -> bool:
    """Tell whether a number is written without an exponent."""
    return _SMALLEST <= abs(value) < _LARGEST or not value or not math.isfinite(value)


def intervals(
    ends: Sequence[Interval | None],
    decimals: int = 6,
    write: Write = numbers,
    *,
    are_certified: bool = False,
) -> list[str]:
    """Write the intervals of a column alike; None and nan ends mean no interval.

    The ends of certified ones are rounded outward, so that they hold the exact value as written.

    >>> intervals([(0.25, 0.5), None, (1.0, 2.0)])
    ['[0.250000, 0.500000]', '', '[1.000000, 2.000000]']
    >>> intervals([(0.66666666, 0.77777771)], are_certified=True)
    ['[0.666666, 0.777778]']
    """
    held = [None if pair is None or math.isnan(pair[0]) else pair for pair in ends]
    shown = [float(end) for pair in held if pair for end in pair]
    if are_certified:
        decimals = common_decimals(shown, decimals)
        roundings = cycle((ROUND_FLOOR, ROUND_CEILING))
        shown = [
            float(_outward(end, decimals, rounding, _few_digits(end)))
            for end, rounding in zip(shown, roundings, strict=False)
        ]
    texts = iter(write(shown, decimals))
    return [f"[{next(texts)}, {next(texts)}]" if pair else "" for pair in held]


def chance_title(level: float) -> str:
    """Name the sampling interval.

    >>> chance_title(0.95)
    '95% interval'
    """
    return f"{percent(level)} interval"


def number(value: float) -> str:
    """Write a metric with four decimals, and small or large ones with significant digits.

    A threshold has all of its digits.

    >>> number(0.5), number(-2974.1395), number(0.00285291), number(2e300)
    ('0.5000', '-2,974.14', '0.002853', '2e+300')
    """
    magnitude = abs(value)
    if math.isnan(value):
        return UNDEFINED
    if isinstance(value, Threshold):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if magnitude >= 1e6 or 0 < magnitude < 1e-3:
        return f"{value:.4g}"
    if 0 < magnitude < 0.01:
        return f"{value:.6f}"
    return f"{value:,.6g}" if magnitude >= 100 else f"{value:.4f}"


def within(ends: Interval | None, *values: float) -> list[str]:
    """Write numbers with two digits of the width of an interval: others say nothing.

    >>> within((0.7943, 0.8304), 0.81302, 0.7943), within((41.09, 47.7), 44.2732), within(None, 0.5)
    (['0.813', '0.794'], ['44.3'], ['0.5000'])
    """
    width = ends[1] - ends[0] if ends else 0.0
    if not 0.0 < width < math.inf:
        return [number(value) for value in values]
    decimals = min(max(1 - math.floor(math.log10(width)), 0), _MAX_DECIMALS)
    return [grouped(float(value), decimals) for value in values]


def grouped(value: float, decimals: int) -> str:
    """Write a number as `fixed` does, with its thousands apart.

    >>> grouped(23702.901, 1), grouped(0.25, 4), grouped(1e-9, 4)
    ('23,702.9', '0.2500', '1e-09')
    """
    is_apart = isinstance(value, float) and is_fixed(value) and not isinstance(value, Threshold)
    return f"{value:,.{decimals}f}" if is_apart else fixed(value, decimals)


def interval(low: float, high: float, decimals: int) -> str:
    """Write an interval with ends rounded like other numbers.

    >>> interval(-0.05, 0.25, 2)
    '-0.05 to 0.25'
    """
    return _joining(low).join(grouped(end, decimals) for end in (low, high))


def hull(low: float, high: float, decimals: int) -> str:
    """Write a certified interval with its ends rounded outward.

    >>> hull(0.12345, 0.23451, 4), hull(1e-9, 0.23451, 4)
    ('0.1234 \N{EN DASH} 0.2346', '1e-09 \N{EN DASH} 0.2346')
    """
    texts = []
    for end, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING)):
        rounded = _outward(end, decimals, rounding)
        is_plain = is_fixed(end) and math.isfinite(end)
        texts.append(f"{rounded:,f}" if is_plain else f"{float(rounded):g}")
    return _joining(low).join(texts)


def ends_of(reading: Reading, decimals: int) -> tuple[str, str]:
    """Write the certified and the sampling interval of a number for a page; "" for none."""
    certified = hull(*reading.certified, decimals) if reading.is_open else ""
    return certified, interval(*reading.sampling, decimals) if reading.sampling else ""


def _joining(low: float) -> str:
    """Choose what is between the ends of an interval: no dash is beside a minus sign."""
    return " to " if low < 0.0 else " \N{EN DASH} "


def decimals_of(low: float, high: float) -> int:
    """Count the decimals that distinguish two numbers, at least four.

    >>> decimals_of(0.25, 0.75), decimals_of(0.123456, 0.123467)
    (4, 6)
    """
    width = high - low
    needed = 1 - math.floor(math.log10(width)) if 0 < width < 1 else 0
    return min(max(4, needed), _MAX_DECIMALS)


def _outward(end: float, decimals: int, rounding: str, digits: int = 6) -> Decimal:
    """Round to decimals, or if it is written with an exponent to digits."""
    if is_fixed(end) and math.isfinite(end):
        return Decimal(end).quantize(Decimal(1).scaleb(-decimals), rounding)
    return Context(digits, rounding).create_decimal_from_float(end)


def count(value: float) -> str:
    """Write a weight: whole weights in full, others with six digits.

    >>> count(1797), count(2.5), count(1e300)
    ('1,797', '2.5', '1e+300')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def share(value: float) -> str:
    """Write a share in percent; only a share of exactly 1 is written as 100%.

    >>> share(0.0312), share(1.0), share(0.0001), share(0.9999)
    ('3.1%', '100%', '<0.1%', '>99.9%')
    """
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}%"
    if value < 0.001:
        return "<0.1%"
    return ">99.9%" if value > 0.999 else f"{100 * value:.1f}%"


def percent(level: float) -> str:
    """Write a probability as it was given."""
    return f"{100 * level:.6g}%"


def in_sentence(heading: str) -> str:
    """Write a heading within a sentence.

    >>> in_sentence("Recall"), in_sentence("a: ROC AUC")
    ('recall', 'a: ROC AUC')
    """
    return " ".join(word if word.isupper() else word.lower() for word in heading.split(" "))


def plural(count: float, one: str, many: str = "") -> str:
    """Write a number of things.

    >>> plural(1, "row"), plural(1797, "row"), plural(2, "query", "queries")
    ('1 row', '1,797 rows', '2 queries')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def check_count(value: object, *, name: str) -> None:
    """Refuse an invalid number of lines."""
    if not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"must be an integer of at least 0, got {value!r}", argument=name)


def listed_few(names: Iterable[str]) -> str:
    """List the first names, and say how many more there are.

    >>> listed_few(["a", "b"]), listed_few(map(str, range(12)))
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    texts = [name if name.isprintable() else repr(name) for name in names]
    more = len(texts) - _MAX_LISTED
    return ", ".join(texts[:_MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def printable(text: str) -> str:
    r"""Escape control characters for a terminal: text from files and arguments may hold anything.

    >>> printable("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    return _CONTROL.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Escape unprintable characters in laid-out text, except newlines and tabs."""
    return _CONTROL_IN_LINES.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def shorten(label: object, width: int | None = 24) -> str:
    """Write a label in one line of at most `width` columns; None for no limit."""
    text = clean(str(label))
    if width is None or columns_of(text) <= width:
        return text
    return f"{_beginning(text, width - 1)}…"


def shorten_middle(name: str, width: int) -> str:
    """Leave out the middle of a long name: many names share a beginning or an end.

    >>> shorten_middle("average_precision_interpolated", 20)
    'average_pr…erpolated'
    """
    if columns_of(name) <= width:
        return name
    half = width // 2
    return f"{_beginning(name, half)}…{_beginning(name[::-1], width - 1 - half)[::-1]}"


def _beginning(text: str, width: int) -> str:
    ends = accumulate(map(columns_of, text))  # one pass: a label may be long
    return text[: sum(1 for _ in takewhile(lambda end: end <= width, ends))]


def clean(text: str) -> str:
    r"""Replace unprintable characters: control characters, direction marks, surrogates.

    >>> clean("a\nb\u202ec") == "a b\ufffdc"
    True
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def columns_of(text: str) -> int:
    """Count the columns of a terminal that a text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - marks


def widths_of(texts: Iterable[str]) -> list[int]:
    """Count the columns of a terminal that each text takes."""
    return list(map(columns_of, texts))


def json_time(time: Any) -> int | str | None:
    """Write a moment in UTC; a number of steps, or None, is itself."""
    return time if time is None or isinstance(time, int) else f"{time}Z"


def json_line(entries: dict[str, Any]) -> str:
    """Write strict JSON; nan and infinities, which JSON lacks, become null."""
    return json.dumps(_strict(entries), allow_nan=False) + "\n"


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def brief(count: float) -> str:
    """Write a count in few characters.

    >>> brief(7), brief(8_200), brief(398_411), brief(12_000_000)
    ('7', '8.2k', '398k', '12M')
    """
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            number = count / unit
            return f"{number:.1f}{name}" if number < 9.95 else f"{number:,.0f}{name}"
    return f"{count:.4g}"


def size(n_bytes: int) -> str:
    """Write a number of bytes in a readable unit.

    >>> size(999), size(1_300_000)
    ('999 B', '1.3 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} B"
    number = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 999.95:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:,.1f} TB"


def duration(seconds: float) -> str:
    """Write seconds as minutes and seconds, with hours if needed; from two days on, as days.

    >>> duration(75.2), duration(3600), duration(90_000_000)
    ('1:15', '1:00:00', '1,041 d')
    """
    if seconds >= _LONG:
        return f"{seconds // _DAY:,.0f} d"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def clock_text(seconds: float) -> str:
    """Write seconds since 1970 as a time.

    >>> clock_text(1_700_000_000)
    '2023-11-14 22:13:20 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def time_text(time: Any, between: str = "T") -> str:
    """Write a time in its public form, in UTC, or a step; whole seconds have no fraction.

    >>> time_text("2023-11-14T22:13:20.000000Z", " "), time_text(20)
    ('2023-11-14 22:13:20', '20')
    """
    return str(time).removesuffix("Z").removesuffix(".000000").replace("T", between)


def time_texts(times: Sequence[Any]) -> list[str]:
    """Write the edges of panes; leave out seconds or times of day if all of them are zero."""
    texts = [str(time) for time in times]
    for zeros in (".000000", ":00", "T00:00"):
        if all("T" in text and text.endswith(zeros) for text in texts):
            texts = [text.removesuffix(zeros) for text in texts]
    return texts
