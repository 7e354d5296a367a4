"""Every rule that a decoded state must keep, broken alone under a right checksum."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from offenders import each
from small_states import EVERY, SMALL, canonical, parse_words, seal_words

import streameval as se

HALF = 2**61
"""The fraction of one half."""


@dataclass(frozen=True)
class Broken:
    """A state, what is changed about it, and the reason for which it must be refused.

    Keys of `header` are ``part.field`` or ``part.field.item``; `numbers` are added to the payload
    by place, and `payload` takes its place.
    """

    state: str
    reason: str
    header: dict[str, Any] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    payload: list[int] | None = None

    def data(self) -> bytes:
        parsed = parse_words(EVERY[self.state]().to_bytes())
        header, numbers = parsed.settings, parsed.numbers
        for path, value in self.header.items():
            *way, last = path.split(".")
            place = header
            for step in way:
                place = place[step]
            if value is LEFT_OUT:
                del place[last]
            else:
                place[last] = value
        for place, value in self.numbers.items():
            numbers[place] += value
        return seal_words(
            header, numbers if self.payload is None else self.payload, kind=parsed.kind
        )


LEFT_OUT = object()
ZERO, QUARTER, FOUR, MINUS_1 = (
    -(2**63) + bits for bits in (0, 0x3FD << 52, 0x401 << 52, 2**64 - (0x3FF << 52))
)
"""Keys of numbers, as signed words."""


def measured_words(**values: int) -> list[int]:
    """The payload of `measured` with some words replaced: w3 is the word at place 3.

    n, 3 extremes, level, 3 of lo, hi and weight; numbers are whole, then fractions.
    """
    words = parse_words(EVERY["measured"]().to_bytes()).numbers
    for name, value in values.items():
        words[int(name[1:])] = value
    return words


SAMPLES = [6, 3, 0, 0, 3, 2, 3, 1, 0, 2, 1, 0, 3, 2]
"""The counts of labels in the small state of samples, before its patterns and examples."""

PATTERNS = [
    (tp << 48) + (fp << 32) + (fn << 16) + tn
    for tp, fp, fn, tn in ((1, 0, 0, 2), (1, 1, 0, 1), (1, 1, 1, 0))
]

BEST = parse_words(SMALL["best_scores"]().to_bytes()).numbers
"""Those of `best_scores`: n 0, 9 of the matrix, 6 of the credit, top_hits 16-18, misses 19-21."""

# Payloads by place. binary: n, 4 of the matrix, 2 of the credit. met: n, 9 of the matrix, each
# whole then fraction. top_k: n, 9 of the matrix, 6 of the credit. multilabel: n, 12, exact match.
BROKEN = {
    "part missing": Broken("binary", "other parts", {"config": LEFT_OUT}),
    "part added": Broken("binary", "other parts", {"more": {}}),
    "part is a list": Broken("binary", "other parts", {"state": []}),
    "option missing": Broken("binary", "options are not those", {"config.top_k": LEFT_OUT}),
    "option unknown": Broken("binary", "options are not those", {"config.nan": None}),
    "option of no meaning": Broken("binary", "`multilabel` must be True", {"config.multilabel": 0}),
    "options at odds": Broken("binary", "`top_k` must be 1", {"config.top_k": 2}),
    "classes too few": Broken("binary", "at least 2", {"config.classes": 1}),
    "classes twice": Broken("binary", "distinct", {"config.classes": ["a", "a"]}),
    "classes mixed": Broken("binary", "all numbers or all", {"config.classes": [1, "a"]}),
    "threshold a JSON float": Broken("binary", "canonical", {"config.threshold": 0.5}),
    "threshold infinite": Broken(
        "binary", "finite", {"config.threshold": {"float64": "7ff0000000000000"}}
    ),
    "threshold minus zero": Broken(
        "binary", "canonical", {"config.threshold": {"float64": "8000000000000000"}}
    ),
    "bits too short": Broken("binary", "a number", {"config.threshold": {"float64": "3fe0"}}),
    "bits no hexadecimal": Broken(
        "binary", "a number", {"config.threshold": {"float64": "x" * 16}}
    ),
    "bits no text": Broken("binary", "a number", {"config.threshold": {"float64": 5}}),
    "bits in upper case": Broken(
        "binary", "canonical", {"config.threshold": {"float64": "3FE0000000000000"}}
    ),
    "bits of another name": Broken(
        "binary", "a number", {"config.threshold": {"float32": "0" * 8}}
    ),
    "pos_label left open": Broken("binary", "canonical", {"config.pos_label": None}),
    "pos_label unknown": Broken("binary", "`pos_label`", {"config.pos_label": 2}),
    "field missing": Broken("binary", "fields are not those", {"state.credit": LEFT_OUT}),
    "field unknown": Broken("binary", "fields are not those", {"state.more": []}),
    "field a number": Broken("binary", "corrupt", {"state.matrix": 5}),
    "labels an object": Broken("met", "labels", {"state.labels": {"a": 1}}),
    "shape missing": Broken("binary", "matrix", {"state.matrix": {"fraction": False}}),
    "shape a number": Broken("binary", "matrix", {"state.matrix.shape": 4}),
    "shape of floats": Broken("binary", "matrix", {"state.matrix.shape": [2.0, 2]}),
    "shape of booleans": Broken("empty", "matrix", {"state.matrix.shape": [True, 4]}),
    "shape of four dimensions": Broken(
        "binary", r"corrupt: matrix\.", {"state.matrix.shape": [1, 1, 2, 2]}
    ),
    "shape of another rank": Broken("binary", "matrix has shape", {"state.matrix.shape": [4]}),
    "credit of another shape": Broken("binary", "credit has shape", {"state.credit.shape": [2, 1]}),
    "outcomes of another shape": Broken("multilabel", "shape", {"state.outcomes.shape": [3, 4]}),
    "fraction a number": Broken("binary", "matrix", {"state.matrix.fraction": 0}),
    "fraction without payload": Broken(
        "binary", "credit declares", {"state.credit.fraction": True}
    ),
    "payload too long": Broken("binary", "8 bytes too many", payload=[4, 0, 1, 1, 2, 2, 0, 0]),
    "payload too short": Broken("binary", "credit declares", payload=[4, 0, 1, 1, 2, 2]),
    "n negative": Broken("binary", "n holds negative", numbers={0: -5}),
    "matrix negative": Broken("binary", "matrix holds negative", numbers={1: -1, 2: 1}),
    "credit negative": Broken("binary", "credit holds negative", numbers={6: -1}),
    "exact match negative": Broken("multilabel", "exact_match holds negative", numbers={13: -2}),
    "fraction of one": Broken("met", "outside", numbers={1: 2**62}),
    "fraction negative": Broken("met", "outside", numbers={1: -(2**63)}),
    "matrix above n": Broken("binary", "does not add up", numbers={1: 1}),
    "matrix below n": Broken("met", "does not add up", numbers={0: 1}),
    "matrix past 2**63": Broken("binary", "past", numbers={1: 2**62, 2: 2**62}),
    "credit above n": Broken("binary", "credit passes n", numbers={5: 3}),
    "credit above n by a fraction": Broken(
        "binary",
        "credit passes n",
        {f"state.{field}.fraction": True for field in ("n", "matrix", "credit")},
        payload=[*(0, 0), *([0] * 8), *(0, 0, 1, 0)],
    ),
    "credit below the hits": Broken("binary", "credit", numbers={5: -1}),
    "credit of ties in labels": Broken("binary", "credit", numbers={5: -1, 6: 1}),
    "credit in all of two ties": Broken("top_k", "impossible ties", numbers={14: 1}),
    "credit in two places of one": Broken("top_k", "impossible ties", numbers={13: 1}),
    "credit of more classes than there are": Broken(
        "top_k",
        "credit",
        {"config.top_k": 3, "state.credit.shape": [3, 3]},
        payload=[1, *(1, 0, 0, 0, 0, 0, 0, 0, 0), *(0, 1, 0, 0, 0, 0, 0, 0, 0)],
    ),
    "credit in fractions of whole weights": Broken(
        "binary",
        "credit",
        {"state.credit.fraction": True},
        payload=[4, 0, 1, 1, 2, 2, 0, 0, 0],
    ),
    "exact match above n": Broken("multilabel", "exact_match passes n", numbers={13: 2}),
    "exact match above the right ones": Broken("multilabel", "exact_match", numbers={13: 1}),
    "outcomes above n": Broken("multilabel", "outcomes do not add up", numbers={1: 1}),
    "outcomes above n with an ignored label": Broken(
        "ignoring", "outcomes do not add up", numbers={2: 4}
    ),
    "patterns of another type": Broken("samples", "patterns", {"state.patterns.column": "int64"}),
    "examples of another rank": Broken("samples", "patterns", {"state.examples.shape": [3, 1]}),
    "examples of other patterns": Broken(
        "samples",
        "examples of other patterns",
        {"state.examples.shape": [2]},
        payload=[*SAMPLES, *PATTERNS, 3, 3],
    ),
    "pattern of no example": Broken("samples", "a pattern of no example", numbers={17: -2, 18: 2}),
    "examples in fractions of whole weights": Broken(
        "samples",
        "examples in fractions",
        {"state.examples.fraction": True},
        payload=[*SAMPLES, *PATTERNS, 2, 3, 1, 0, 0, 0],
    ),
    "patterns out of order": Broken(
        "samples", "out of order", payload=[*SAMPLES, *PATTERNS[::-1], 1, 3, 2]
    ),
    "pattern twice": Broken(
        "samples", "out of order", payload=[*SAMPLES, *PATTERNS[:2], PATTERNS[1], 2, 3, 1]
    ),
    "pattern of more labels than there are": Broken(
        "samples", "a pattern of other labels", numbers={14: 1}
    ),
    "pattern of fewer labels than there are": Broken(
        "samples", "a pattern of other labels", numbers={14: -1}
    ),
    "examples above n": Broken("samples", "examples do not add up", numbers={19: 1}),
    "examples of other exact matches": Broken(
        "samples", "examples differ from exact_match", numbers={17: -1, 18: 1}
    ),
    "top hits below the hits": Broken(
        "best_scores", "top_hits are fewer than the hits", numbers={16: -1, 19: 1}
    ),
    "top hits above the truth": Broken(
        "best_scores", "top_hits pass the truth", numbers={16: 1, 20: -1}
    ),
    "top misses above the errors": Broken(
        "best_scores", "top_misses pass the errors", numbers={17: -1, 21: 1}
    ),
    "top hits below n": Broken("best_scores", "do not add up to n", numbers={17: -1}),
    "top hits in fractions of whole weights": Broken(
        "best_scores",
        "top_hits has fractions that n has not",
        {"state.top_hits.fraction": True},
        payload=[*BEST[:19], 0, 0, 0, *BEST[19:]],
    ),
    "measures of examples unknown": Broken(
        "samples", "`measures` has no 'x'", {"config.measures": ["x"]}
    ),
    "measures of nothing": Broken("binary", "canonical", {"config.measures": []}),
    "labels unsorted": Broken("met", "not sorted", {"state.labels": ["b", "a", "日本"]}),
    "labels twice": Broken("met", "not sorted", {"state.labels": ["a", "a", "b"]}),
    "labels mixed": Broken("met", "mix types", {"state.labels": [1, "a", "b"]}),
    "labels booleans": Broken("met", "mix types", {"state.labels": [False, True]}),
    "labels null": Broken("met", "mix types", {"state.labels": [None]}),
    "labels nested": Broken("met", "mix types", {"state.labels": [[1], [2], [3]]}),
    "labels floats": Broken("met", "mix types", {"state.labels": [0.5, 1.5, 2.5]}),
    "labels one text": Broken("met", "labels", {"state.labels": "abc"}),
    "labels an empty text": Broken("empty_met", "labels", {"state.labels": ""}),
    "labels a number": Broken("met", "state is corrupt", {"state.labels": 3}),
    "labels past 64 bits": Broken("met", "label", {"state.labels": [1, 2, 2**63]}),
    "labels below 64 bits": Broken("met", "label", {"state.labels": [-(2**63) - 1, 1, 2]}),
    "labels of a lone surrogate": Broken("met", "corrupt", {"state.labels": ["a", "b", "\ud800"]}),
    "labels too many": Broken("empty_met", "more than 4096", {"state.labels": [*range(4097)]}),
    "labels more than the matrix": Broken(
        "met", "matrix has shape", {"state.labels": ["a", "b", "c", "d"]}
    ),
    "sum a number": Broken("regression", "exact sum", {"state.truth.exact_sum": 5}),
    "sum and more": Broken("regression", "exact sum", {"state.truth": {"exact_sum": "0", "x": 0}}),
    "sum of many digits": Broken("regression", "exact sum", {"state.truth.exact_sum": "1" * 5000}),
    "sum of no digits": Broken("regression", "exact sum", {"state.truth.exact_sum": "x"}),
    "sum of minus zero": Broken("empty_regression", "canonical", {"state.truth.exact_sum": "-0"}),
    "sum instead of a count": Broken("regression", "n", {"state.n": {"exact_sum": "0"}}),
    "count instead of a sum": Broken(
        "empty_regression",
        "truth",
        {"state.truth": {"fraction": False, "shape": []}},
        payload=[0, 0],
    ),
    "sum of squares negative": Broken(
        "regression", "squares", {"state.squared_truth.exact_sum": "-1"}
    ),
    "squares too small": Broken(
        "regression", "truth passes its squares", {"state.squared_truth.exact_sum": "1"}
    ),
    "error above the absolute error": Broken(
        "regression", "error", {"state.absolute_error.exact_sum": "0"}
    ),
    "measures unknown": Broken("measured", "measures", {"config.measures": ["no"]}),
    "measures written otherwise": Broken(
        "empty_measured", "canonical", {"config.measures": ["max_error", "MAPE"]}
    ),
    "measures that need more": Broken(
        "empty_measured", "terms", {"config.measures": ["max_error", "mape", "smape"]}
    ),
    "terms of other things": Broken("empty_measured", "terms", {"state.terms": [0]}),
    "term below 0": Broken(
        "empty_measured", "term mape is out of range", {"state.terms": [{"exact_sum": "-1"}]}
    ),
    "squares of the prediction too small": Broken(
        "measured",
        "prediction passes its squares",
        {"state.terms": [{"exact_sum": digits} for digits in ("1", "1", f"{2**1080:x}", "0", "1")]},
    ),
    "extremes too few": Broken(
        "empty_measured", "extremes", {"state.extremes.length": 0}, payload=[0]
    ),
    "extreme of nothing": Broken("empty_measured", "sums of nothing", payload=[0, ZERO]),
    "extreme of no number": Broken(
        "measured", "extremes of no numbers", payload=measured_words(w2=0)
    ),
    "max error below 0": Broken(
        "measured", "a maximal error below 0", payload=measured_words(w2=MINUS_1)
    ),
    "max of the truth below its min": Broken(
        "measured", "the truth is below its minimum", payload=measured_words(w3=QUARTER)
    ),
    "level too few": Broken(
        "empty_measured", "level", {"state.level.length": 1}, payload=[0, 0, 0]
    ),
    "cells without a sketch": Broken(
        "empty_measured",
        "cells without a sketch",
        {"state.lo.length": 1, "state.hi.length": 1, "state.weight.shape": [1]},
        payload=[0, 0, ZERO, ZERO, 1],
    ),
    "cell of no absolute error": Broken(
        "measured", "an absolute error below 0", payload=measured_words(w6=MINUS_1)
    ),
    "cells of errors out of order": Broken(
        "measured", "out of order", payload=measured_words(w7=FOUR, w10=FOUR)
    ),
    "cells of other rows": Broken("measured", "sum of the cells", numbers={12: 1}),
    "cells with fractions of nothing": Broken(
        "measured",
        "in its fraction",
        {"state.n.fraction": False},
        payload=[word for place, word in enumerate(measured_words()) if place != 1],
    ),
    "sums of fewer outputs": Broken(
        "empty_outputs", "error of other outputs", {"state.error": [0]}
    ),
    "terms of more outputs": Broken(
        "empty_outputs", "terms of other outputs", {"state.terms": [0]}
    ),
    "sizes without sketches": Broken(
        "empty_outputs", "sizes of other outputs", {"state.sizes.length": 1}, payload=[0, 0]
    ),
    "levels without sketches": Broken(
        "empty_outputs", "levels of other outputs", {"state.levels.length": 1}, payload=[0, 0]
    ),
    "extremes of no outputs": Broken(
        "empty_outputs", "extremes of other outputs", {"state.extremes.length": 1}, payload=[0, 0]
    ),
    "cells of outputs without sketches": Broken(
        "empty_outputs",
        "sizes of other cells",
        {"state.lo.length": 1, "state.hi.length": 1, "state.weight.shape": [1]},
        payload=[0, 0, 0, 1],
    ),
    "cells of outputs divided otherwise": Broken("outputs", "corrupt", numbers={8: 3, 9: 1}),
    "sums of nothing of outputs": Broken(
        "empty_outputs", "corrupt", {"state.truth": [0, {"exact_sum": "1"}]}
    ),
    "sums of nothing": Broken("empty_regression", "corrupt", {"state.truth.exact_sum": "1"}),
    "label never observed": Broken(
        "empty_met",
        "never observed",
        {"state.labels": [1, 2], "state.matrix.shape": [2, 2]},
        payload=[1, 1, 0, 0, 0],
    ),
}


@each("claim", BROKEN)
def test_state_is_refused_in_one_sentence_when_it_has(claim: str) -> None:
    with pytest.raises(se.CorruptStateError, match=BROKEN[claim].reason) as caught:
        se.from_bytes(BROKEN[claim].data())
    assert re.fullmatch(r"state is corrupt: [^\n]*[^.\n]\.", str(caught.value))


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
