"""Every rule that a decoded state must keep, broken alone under a right checksum."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import math
import re
import traceback
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
import recorded
from broken_states import BROKEN, STATES, broken, total
from offenders import each
from profiles import quick_cases
from small_states import EVERY, SMALL, canonical, parse_words, seal_words

import streameval as se
from streameval.configs import calibration as config
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec, curve, grouped, preferences, ranking

Site = tuple[str, int]
"""A file, and the number of a line."""


@functools.cache
def refusals() -> dict[str, Site]:
    """What is said of each broken state, and the line of the rule that refuses it."""
    found = {}
    for state, changes in BROKEN.items():
        for claim, change in changes.items():
            message, site = refusal(broken(state, change))
            found[f"{state}, {claim}: {message}"] = site
    return found


def refusal(data: bytes) -> tuple[str, Site]:
    with pytest.raises(se.CorruptStateError) as caught:
        se.from_bytes(data)
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(caught.tb)]
    code, line = [one for one in frames if one[0].co_name != "require"][-1]
    return str(caught.value), (code.co_filename, line)


@pytest.mark.slow
def test_states_are_refused_with_the_rule_that_they_break() -> None:
    recorded.check("refused_states.txt", [*refusals()])


def test_states_are_refused_in_one_sentence() -> None:
    one_sentence = re.compile(r"[^:]+: state is corrupt: [^\n]*[^.\n]\.")
    refused = recorded.texts("refused_states.txt")
    assert [line for line in refused if not one_sentence.fullmatch(line)] == []


@each("name", BROKEN)
def test_state_sealed_again_without_a_change_is_read(name: str) -> None:
    assert se.from_bytes(broken(name, {})) == STATES[name]()


EMPTY: dict[str, Callable[[], Any]] = {
    "classes": lambda: se.ConfusionAccumulator(3),
    "observed classes": lambda: se.ConfusionAccumulator("auto"),
    "the best classes": lambda: se.ConfusionAccumulator(4, top_k=2),
    "labels": lambda: se.ConfusionAccumulator(3, multilabel=True),
    "curve": se.PRCurveSketch,
    "curves": lambda: se.PRCurveSketch(classes=3),
    "ranking": lambda: se.RankingAccumulator(["map"]),
    "regression": se.RegressionAccumulator,
    "calibration": lambda: se.CalibrationAccumulator(classes=3),
    "values": se.MeanAccumulator,
    "two models": se.Paired,
    "two models by scores": lambda: se.Paired(measures=["roc_auc", "recall"]),
    "preferences": lambda: se.PreferencesAccumulator(["a", "b"]),
    "groups": se.GroupedAUC,
    "catalog": lambda: se.CatalogAccumulator(n_items=3),
}


@each("name", EMPTY)
def test_no_state_has_fractions_of_nothing(name: str) -> None:
    acc = EMPTY[name]()
    fields = {
        field.alias: FixedPoint(value.whole, np.zeros_like(value.whole))
        for field in attrs.fields(type(acc._state))
        if isinstance(value := getattr(acc._state, field.name), FixedPoint)
    }
    data = type(acc)._make(acc._config, attrs.evolve(acc._state, **fields)).to_bytes()
    assert refusal(data)[0] == "state is corrupt: n has fractions of nothing."


def require_lines(module: Any) -> dict[str, range]:
    """The calls of `require` in a module, by their text."""
    tree = ast.parse(inspect.getsource(module))
    return {
        ast.unparse(node): range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "require"
    }


@each("module", [curve, grouped, preferences, ranking])
def test_every_rule_is_broken_by_a_case(module: Any) -> None:
    sites = {*refusals().values()}
    unbroken = [
        rule
        for rule, lines in require_lines(module).items()
        if not any((module.__file__, line) in sites for line in lines)
    ]
    assert unbroken == []


def test_curves_of_any_levels_are_checked_side_by_side() -> None:
    """One score, which needs no level, beside scores of both signs, which only level 64 joins."""
    curves = se.PRCurveSketch(1, scores="real", classes=2, multilabel=True)
    curves.update([[0, 1], [1, 0]], [[0.5, -1.0], [0.5, 1.0]])
    assert curves._state.levels.values.tolist() == [0, 64]
    parsed = parse_words(curves.to_bytes())
    levels = slice(2, 4)
    assert parsed.numbers[levels] == [0, 64]
    assert se.from_bytes(curves.to_bytes()) == curves
    for wrong, reason in (
        ([0, 63], "a cell is wider than its level"),
        ([1, 64], "level above the lowest that fits"),
        ([0, 65], "level 65"),
        ([-1, 64], "level -1"),
    ):
        numbers = parsed.numbers
        numbers[levels] = wrong
        with pytest.raises(se.CorruptStateError, match=reason):
            se.from_bytes(seal_words(parsed.header, numbers, kind=3))


def _ordered_backwards(header: Any) -> Any:
    if not isinstance(header, dict):
        return header
    return {key: _ordered_backwards(header[key]) for key in sorted(header, reverse=True)}


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "spaces": lambda header: json.dumps(json.loads(header), sort_keys=True).encode(),
    "a newline at the end": lambda header: header + b"\n",
    "keys in other order": lambda header: json.dumps(
        _ordered_backwards(json.loads(header)), separators=(",", ":")
    ).encode(),
    "a key twice": lambda header: header.replace(b'"top_k":1', b'"top_k":1,"top_k":1'),
    "a float for an integer": lambda header: header.replace(b'"top_k":1', b'"top_k":1.0'),
    "an exponent": lambda header: header.replace(b'"top_k":1', b'"top_k":1e0'),
    "a shape of floats": lambda header: header.replace(b'"shape":[3,3]', b'"shape":[3.0,3]'),
    "true for 1": lambda header: header.replace(b'"top_k":1', b'"top_k":true'),
    "NaN": lambda header: header.replace(b'"top_k":1', b'"top_k":NaN'),
    "infinity": lambda header: header.replace(b'"top_k":1', b'"top_k":Infinity'),
    "an escaped letter": lambda header: header.replace(b'"auto"', b'"\\u0061uto"'),
    "upper-case escapes": lambda header: header.replace(b"\\u65e5", b"\\u65E5"),
    "UTF-8": lambda header: header.replace(b"\\u65e5", "日".encode()),
    "a mark of byte order": lambda header: b"\xef\xbb\xbf" + header,
    "UTF-16": lambda header: header.decode().encode("utf-16"),
    "a comma too many": lambda header: header[:-1] + b",}",
    "a comment": lambda header: header + b"//",
    "half of it": lambda header: header[: len(header) // 2],
    "nothing": lambda header: b"",
    "null": lambda header: b"null",
    "a list": lambda header: b"[]",
    "a number of 5000 digits": lambda header: header.replace(
        b'"top_k":1', b'"top_k":' + b"1" * 5000
    ),
}


@each("spelling", SPELLINGS)
def test_header_is_refused_when_it_is_written_with(spelling: str) -> None:
    parsed = parse_words(SMALL["met"]().to_bytes())
    header = SPELLINGS[spelling](parsed.header)
    assert header != canonical(parsed.settings)
    with pytest.raises(se.CorruptStateError):
        se.from_bytes(seal_words(header, parsed.payload))


ROWS = np.eye(2)[np.arange(40) % 2]


EXTREME: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "sure and right": ({}, [[1, 0], [1.0, 0.0]]),
    "sure and wrong": ({}, [[1, 0], [0.0, 1.0]]),
    "smallest": ({}, [[0] * 4, [5e-324, 1e-200, 1e-160, 2.0**-968]]),
    "weights of tiny numbers": (
        {},
        [[0, 1] * 3, [1e-200, 1e-162, 5e-324] * 2, [0.3, 0.7, 2**-19, 1e-5, 0.1, 2**40]],
    ),
    "edges": ({"bins": 3}, [[0, 1, 0], [1 / 3, 2 / 3, 1.0]]),
    "below edges": ({"bins": 3}, [[0, 1], np.nextafter([1 / 3, 2 / 3], 0), [2**53 + 2, 0.1]]),
    "one bin": ({"bins": 1}, [[0, 1], [0.0, 1.0]]),
    "classes, sure and wrong": ({"classes": 2}, [np.arange(1, 41) % 2, ROWS]),
    "classes, sure and right": ({"classes": 2}, [np.arange(40) % 2, ROWS]),
    "half precision below 1": (
        {"classes": 3},
        [[0], np.array([[0.97, 0, 0]], dtype=np.float16)],
    ),
    "half precision above 1": (
        {"classes": 3},
        [[2], np.array([[0.97, 0.06, 0]], dtype=np.float16), [2.0**-20]],
    ),
    "classes of tiny numbers": (
        {"classes": 2},
        [[0, 1, 0], [[1.0, 5e-324], [1.0, 1e-200], [1e-310, 1.0]], [0.3, 0.1, 2**-19]],
    ),
    "largest total": ({}, [[0, 1], [0.1, 0.9], [2**62, 2**62 - 1]]),
}


@each("claim", EXTREME)
def test_state_of_extreme_rows_is_read_again(claim: str) -> None:
    options, batch = EXTREME[claim]
    accumulator = se.CalibrationAccumulator(**options).update(batch)
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_random_states_are_read_again() -> None:
    for seed in range(quick_cases(300)):
        random = np.random.default_rng(seed)
        size, classes = int(random.integers(1, 6)), int(random.integers(2, 5))
        weights = 2.0**-19 + random.random(size) * 10.0 ** random.integers(-5, 6)
        probability = 10.0 ** random.uniform(-330, 0, size)
        accumulator = se.CalibrationAccumulator(int(random.integers(1, 200)))
        accumulator.update(random.integers(0, 2, size), probability, sample_weight=weights)
        assert se.from_bytes(accumulator.to_bytes()) == accumulator
        accumulator = se.CalibrationAccumulator(int(random.integers(1, 200)), classes)
        probability = random.dirichlet([10 ** random.uniform(-3, 1)] * classes, size)
        probability = probability / probability.sum(axis=1, keepdims=True)
        accumulator.update(random.integers(0, classes, size), probability, sample_weight=weights)
        assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_numbers_of_any_state_that_is_let_in_are_in_range() -> None:
    """Change the payload and the sums at random: what is read has sane metrics."""
    read, n_cases = 0, quick_cases(1500)
    for name in ("calibration", "class_calibration"):
        parsed = parse_words(EVERY[name]().to_bytes())
        for seed in range(n_cases):
            random = np.random.default_rng(seed)
            header, numbers = json.loads(parsed.header), parsed.numbers
            for index in random.integers(0, len(numbers), random.integers(0, 3)):
                numbers[index] = int(random.integers(-1, 4))
            for field in ("log_loss", "brier"):
                if random.random() < 0.5:
                    header["state"][field] = total(float(random.uniform(-1, 60)))
            if random.random() < 0.5:
                index = random.integers(0, len(header["state"]["prediction"]))
                header["state"]["prediction"][index] = total(float(random.uniform(-0.1, 4)))
            try:
                state = se.from_bytes(seal_words(header, numbers, kind=parsed.kind))
            except se.CorruptStateError:
                continue
            read += 1
            numbers = state.compute().as_dict()
            assert 0 <= numbers["ece"] <= 1
            assert 0 <= numbers["brier"] <= 2.1
            assert 0 < numbers["log_loss"] <= 36.1
            assert 0 <= numbers["n_clipped"] <= numbers["n"]
            assert math.isnan(numbers.get("pcopc", 1)) or numbers.get("pcopc", 1) >= 0
            state.compute().report()
    assert read > n_cases / 15


@pytest.mark.slow
def test_largest_state_that_is_allowed_can_be_read() -> None:
    bins = (codec.MAX_HEADER - config._OTHER_BYTES - 2) // config._SUM_BYTES
    with pytest.raises(se.InvalidInputError, match="`bins` must keep"):
        se.CalibrationAccumulator(bins + 1)
    accumulator = se.CalibrationAccumulator(bins)
    scores = (np.arange(bins) + 0.5) / bins
    accumulator.update(np.ones(bins), scores, sample_weight=np.full(bins, 2**63 // bins - 1))
    assert len(accumulator.to_bytes()) > 0.9 * codec.MAX_HEADER
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_labels_count_towards_the_size_of_the_header() -> None:
    labels = ["a" * 1000 + str(k) for k in range(1000)]
    assert se.CalibrationAccumulator(40_000, labels)._config.n_classes == 1000
    labels = ["\N{PILE OF POO}" * 1000 + str(k) for k in range(1000)]
    with pytest.raises(se.InvalidInputError, match="`bins` must keep"):
        se.CalibrationAccumulator(40_000, labels)


def test_header_limit_is_that_of_the_format() -> None:
    assert config._HEADER_BYTES == codec.MAX_HEADER
