"""Bytes with a right checksum that nobody counted: refused, or as good as a built state."""

from __future__ import annotations

import copy
import functools
import json
import math
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from broken_states import BELOW, RANKED, STATES, broken, key
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases
from small_states import (
    EVERY,
    FIELDS,
    GROUPED,
    canonical,
    column_words,
    narrowed,
    parse,
    parse_words,
    seal,
    seal_words,
)
from use_states import use

import streameval as se
from streameval.inputs import classes as _classes

every_state = each("name", EVERY)
in_words = each("name", [name for name in EVERY if name not in GROUPED])
fuzzed = settings(
    max_examples=quick_cases(200),
    suppress_health_check=list(HealthCheck),
)


def _header(name: str, **changes: Any) -> Any:
    header = parse_words(EVERY[name]().to_bytes()).settings
    for path, value in changes.items():
        part, field = path.split("__")
        header[part][field] = value
    return header


def _shape(*shape: int, fraction: bool = False) -> dict[str, Any]:
    return {"fraction": fraction, "shape": list(shape)}


def _many_classes() -> bytes:
    size = 2**62
    shapes = {"state__matrix": _shape(size, size), "state__credit": _shape(size, size)}
    return seal_words(_header("top_k", config__classes=size, config__top_k=size, **shapes), [0])


def _large(size: int, **cells: int) -> bytes:
    """A matrix of many classes, with wrong numbers in some cells."""
    payload = np.zeros(1 + size * size + size, "<i8")
    for cell, value in cells.items():
        payload[int(cell.removeprefix("cell"))] = value
    shapes = {"state__matrix": _shape(size, size), "state__credit": _shape(1, size)}
    header = _header("top_k", config__classes=size, config__top_k=1, **shapes)
    return seal_words(header, payload.tobytes())


HOSTILE_SIZES: dict[str, Callable[[], bytes]] = {
    "header of 4 GiB": lambda: seal(b"{}", [0], header_size=2**32 - 1),
    "header to the end and beyond": lambda: seal(b"{}", [0], header_size=11),
    "payload of 2**64": lambda: seal(b"{}", [0], payload_size=2**64 - 1),
    "payload that wraps around": lambda: seal(b"{}", [0], payload_size=2**64 - 2),
    "payload too short by one": lambda: seal(b"{}", [0], payload_size=7),
    "long header": lambda: seal_words(b" " * (2**24 + 1), []),
    "shape of 2**62": lambda: seal_words(_header("met", state__matrix=_shape(2**62)), [0]),
    "square of 2**32": lambda: seal_words(_header("met", state__matrix=_shape(2**32, 2**32)), [0]),
    "cube of 2**22": lambda: seal_words(_header("met", state__matrix=_shape(*[2**22] * 3)), [0]),
    "shape of 10**40": lambda: seal_words(_header("met", state__matrix=_shape(10**40)), [0]),
    "shape of nothing and 2**62": lambda: seal_words(
        _header("met", state__matrix=_shape(0, 2**62)), [0]
    ),
    "one number too many": lambda: seal_words(_header("empty_met", state__n=_shape(2)), [0]),
    "fraction that is not there": lambda: seal_words(
        _header("empty_met", state__n=_shape(fraction=True)), [0]
    ),
    "negative shape": lambda: seal_words(_header("met", state__matrix=_shape(-1, -1)), [0, 0]),
    "four dimensions": lambda: seal_words(_header("met", state__matrix=_shape(1, 1, 1, 1)), [0, 0]),
    "classes of 2**20": lambda: seal_words(_header("empty", config__classes=2**20), [0] * 7),
    "classes of 2**62": lambda: seal_words(_header("empty", config__classes=2**62), [0] * 7),
    "classes and top_k of 2**62": _many_classes,
    "classes of 10**4000": lambda: seal_words(_header("empty", config__classes=10**4000), [0] * 7),
    "multilabel of 2**62": lambda: seal_words(
        _header("multilabel", config__classes=2**62), [0] * 14
    ),
    "large and negative": lambda: _large(300, cell5=-1),
    "large and does not add up": lambda: _large(300, cell5=1),
    "large and credited too much": lambda: _large(300, cell90001=1),
}

LONG_HEADERS: dict[str, Callable[[], bytes]] = {
    "lists": lambda: seal_words(b'{"config":{"x":[' + b"[]," * 50_000 + b'[]]},"state":{}}', []),
    "labels met": lambda: seal_words(_header("empty_met", state__labels=[*range(50_000)]), [0]),
    "labels listed": lambda: seal_words(
        _header("empty", config__classes=[*range(50_000)]), [0] * 7
    ),
    "label listed twice": lambda: seal_words(
        _header("empty", config__classes=[*range(20_000), 19_999]), [0] * 7
    ),
}


@each("claim", HOSTILE_SIZES)
def test_hostile_size_is_refused_in_little_memory(claim: str) -> None:
    data = HOSTILE_SIZES[claim]()
    assert _peak_while_refused(data) <= 2 * len(data) + 65_536


@pytest.mark.slow
@each("claim", LONG_HEADERS)
def test_long_header_is_refused_in_linear_memory(claim: str) -> None:
    data = LONG_HEADERS[claim]()
    assert _peak_while_refused(data) <= 32 * len(data) + 65_536


class Counted(int):
    """A label that counts how often one is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int.__eq__(self, other)  # type: ignore[arg-type]

    def __lt__(self, other: int) -> bool:
        Counted.compared += 1
        return int.__lt__(self, other)

    def __hash__(self) -> int:
        return int.__hash__(self)


def test_a_header_is_read_without_a_search_per_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search takes 8,000,000 comparisons; to find the label that is there twice, a sort does."""
    canonical_label = _classes.canonical_label
    counted = functools.partial(json.loads, parse_int=Counted)
    monkeypatch.setattr(json, "loads", counted)
    monkeypatch.setattr(
        _classes, "canonical_label", lambda *a, **k: Counted(canonical_label(*a, **k))
    )
    monkeypatch.setattr(Counted, "compared", 0)
    size = 4000
    data = seal_words(_header("empty", config__classes=[*range(size), size - 1]), [0] * 7)
    with pytest.raises(se.CorruptStateError, match="must be distinct"):
        se.from_bytes(data)
    assert size <= Counted.compared <= 50 * size


def _peak_while_refused(data: bytes) -> int:
    _ = se.from_bytes  # imports what it needs
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with pytest.raises(se.CorruptStateError):
            se.from_bytes(data)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def refuse_or_use(words: bytes) -> None:
    """Read what version 1 wrote, and the same as version 2 writes it: both are alike."""
    try:
        data = narrowed(words)
    except (struct.error, *BROKEN):
        data = None
    try:
        accumulator = se.from_bytes(words)
    except se.CorruptStateError:
        event("refused")
        if data is not None:
            with pytest.raises(se.CorruptStateError):
                se.from_bytes(data)
        return
    event("accepted")
    assert accumulator.to_bytes() == data
    assert se.from_bytes(data) == accumulator
    use(accumulator)


BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    StopIteration,
    TypeError,
    ValueError,
)


@pytest.mark.slow
@each("name", EVERY)
def test_small_state_can_be_used(name: str) -> None:
    use(se.from_bytes(EVERY[name]().to_bytes()))


HUGE = [2**31, 2**62, 2**63 - 1, 2**63, 2**64, -1, -(2**63), 10**30, 10**4000]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from(HUGE),
    st.sampled_from([0.5, 1.0, -0.0, 1e400, math.nan]),
    st.sampled_from(["", "a", "ab", "auto", "b", "\ud800", "3fe0000000000000", "1" * 50, "-0"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["float64", "exact_sum", "shape", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)
FLOAT_BITS = st.builds(
    lambda bits: {"float64": f"{bits:016x}"},
    st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**63, 0x7FF << 52, 0x7FF8 << 48])),
)


def paths(header: Any) -> list[tuple[Any, ...]]:
    """List the way to every value of a JSON document."""
    if isinstance(header, dict):
        items: Any = header.items()
    else:
        items = enumerate(header) if isinstance(header, list) else ()
    return [()] + [(key, *rest) for key, value in items for rest in paths(value)]


@st.composite
def changed_headers(draw: st.DrawFn, header: Any) -> Any:
    """Draw a header with one or two values replaced, left out, added, or put in other order."""
    document = [copy.deepcopy(header)]
    for _ in range(draw(st.integers(1, 2))):
        path = (0, *draw(st.sampled_from(paths(document[0]))))
        holder: Any = document
        for step in path[:-1]:
            holder = holder[step]
        value = holder[path[-1]]
        change = draw(st.sampled_from(["replace", "remove", "add", "reverse", "sort"]))
        if change == "remove" and len(path) > 1:
            del holder[path[-1]]
        elif change == "add" and isinstance(value, dict):
            value[draw(st.sampled_from(["x", "n", "classes", "fraction"]))] = draw(VALUES)
        elif change == "add" and isinstance(value, list):
            value.append(draw(VALUES))
        elif change in ("reverse", "sort") and isinstance(value, list):
            holder[path[-1]] = value[::-1]
        else:
            holder[path[-1]] = draw(VALUES | FLOAT_BITS)
    return document[0]


@pytest.mark.slow
@in_words
@given(data=st.data())
@fuzzed
def test_hostile_header_is_refused_or_harmless(name: str, data: st.DataObject) -> None:
    parsed = parse_words(EVERY[name]().to_bytes())
    header = data.draw(changed_headers(parsed.settings))
    refuse_or_use(seal_words(header, parsed.payload, kind=parsed.kind))


@pytest.mark.slow
@every_state
@given(data=st.data())
@fuzzed
def test_hostile_header_and_bytes_are_refused_or_harmless(name: str, data: st.DataObject) -> None:
    """Widths, lengths and bases that nobody wrote, and bytes changed one by one."""
    parsed = parse(EVERY[name]().to_bytes())
    header = parsed.settings
    if data.draw(st.booleans()):
        header = data.draw(changed_headers(header))
    payload = bytearray(parsed.payload)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 3) | st.integers(0, 255))
    written = seal(header, bytes(payload), kind=parsed.kind)
    try:
        accumulator = se.from_bytes(written)
    except se.CorruptStateError:
        event("refused")
        return
    event("accepted")
    assert accumulator.to_bytes() == written
    use(accumulator)


@pytest.mark.slow
@in_words
@given(data=st.data())
@fuzzed
def test_hostile_payload_is_refused_or_harmless(name: str, data: st.DataObject) -> None:
    parsed = parse_words(EVERY[name]().to_bytes())
    numbers = parsed.numbers
    places = st.integers(0, len(numbers) - 1)
    for _ in range(data.draw(st.integers(1, 4))):
        source, target = data.draw(places), data.draw(places)
        if data.draw(st.booleans()):  # what is moved leaves the sums as they are
            amount = data.draw(st.integers(0, 3))
            numbers[source] -= amount
            numbers[target] += amount
        else:
            numbers[source] = data.draw(st.integers(-2, 3) | st.integers(-(2**63), 2**63 - 1))
    within = [max(min(number, 2**63 - 1), -(2**63)) for number in numbers]
    refuse_or_use(seal_words(parsed.header, within, kind=parsed.kind))


@pytest.mark.slow
@in_words
@given(data=st.data())
@fuzzed
def test_hostile_fractions_are_refused_or_harmless(name: str, data: st.DataObject) -> None:
    parsed = parse_words(EVERY[name]().to_bytes())
    header, numbers, payload = parsed.settings, parsed.numbers, []
    fractions = st.sampled_from([0, 0, 0, 1, 2**61, 2**62 - 1, 2**62, 2**63 - 1, -1])
    for field in FIELDS[name]:
        description = header["state"][field]
        if "column" in description:
            size = column_words(description, numbers)
            payload, numbers = payload + numbers[:size], numbers[size:]
            continue
        size = math.prod(description["shape"])
        whole, numbers = numbers[:size], numbers[size:]
        if description["fraction"]:
            numbers = numbers[size:]
        description["fraction"] = data.draw(st.booleans())
        drawn = data.draw(st.lists(fractions, min_size=size, max_size=size))
        payload += whole + (drawn if description["fraction"] else [])
    refuse_or_use(seal_words(header, payload, kind=parsed.kind))


@each("opening", ["[", '{"a":', '[{"a":'])
@each("place", ["config.classes", "config.threshold", "state.labels", "state.n"])
def test_deep_nesting_is_refused(opening: str, place: str) -> None:
    part, field = place.split(".")
    header = canonical(_header("met", **{f"{part}__{field}": "HERE"}))
    closing = "".join({"[": "]", "{": "}"}[c] for c in reversed(opening) if c in "[{")
    for depth in (10, 300, 400, 500, 700, 900, 1_000, 100_000):
        nested = (opening * depth + "1" + closing * depth).encode()
        with pytest.raises(se.CorruptStateError):
            se.from_bytes(seal_words(header.replace(b'"HERE"', nested), [0]))


KEYS = [0, 1, 2**64 - 1, BELOW, *map(key, (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 15.0, 63.0, 2.0**400))]


LINKED = (
    ("ids", "rows", "declared", "ranked_sizes", "gained_sizes"),
    ("ranked_key", "ranked_document", "ranked_grade", "ranked_count"),
    ("gained_gain", "gained_count", "gained_found"),
)
"""Columns of one length: of queries, of cells, of gains."""


def items_of(name: str) -> dict[str, list[Any]]:
    """The columns of a state, as lists."""
    state = STATES[name]()._state
    columns = (field for field in RANKED if hasattr(getattr(state, field), "values"))
    return {field: getattr(state, field).values.tolist() for field in columns}


@pytest.mark.slow
@each("name", [name for name in STATES if STATES[name]().type_id == 6])
@given(data=st.data())
@fuzzed
def test_hostile_columns_are_refused_or_harmless(name: str, data: st.DataObject) -> None:
    columns = items_of(name)
    changed: dict[str, list[Any]] = {}
    for _ in range(data.draw(st.integers(1, 4))):
        field = data.draw(st.sampled_from(sorted(columns)))
        items = columns[field]
        if items and data.draw(st.booleans()):
            is_key = field in ("ranked_key", "ranked_grade", "gained_gain")
            numbers = st.sampled_from(KEYS) if is_key else st.integers(-1, 6)
            texts = st.sampled_from(["", "a", "b", "日本"])
            drawn = data.draw(texts if isinstance(items[0], str) else numbers)
            items[data.draw(st.integers(0, len(items) - 1))] = drawn
            changed[field] = items
        elif items:  # leave out or repeat a row
            index, times = data.draw(st.integers(0, len(items) - 1)), data.draw(st.integers(0, 2))
            for other in next((group for group in LINKED if field in group), (field,)):
                held = columns[other]
                held[index : index + 1] = held[index : index + 1] * times
                changed[other] = held
    refuse_or_use(broken(name, changed))
