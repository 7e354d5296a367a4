"""Small states with one rule of theirs broken under a right checksum, by state and claim.

A change has a key for each part: a path of the header, such as ``config.bins``; the index of a
word of the payload, which the value is added to; ``payload``, which replaces all words; for
rankings, the name of a column or count whose items are replaced, and ``kind.`` before the name of a
column for the type that it claims to have.
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from small_states import (
    EVERY,
    SKETCH_FIELDS,
    SMALL,
    WEIGHTED_FIELDS,
    column_words,
    parse_words,
    seal_words,
)

import streameval as se
from streameval.states.queries import MAX_ROWS

LEFT_OUT = object()


HALF = 2**61
"""The fraction of one half."""


ZERO, QUARTER, FOUR, MINUS_1 = (
    -(2**63) + bits for bits in (0, 0x3FD << 52, 0x401 << 52, 2**64 - (0x3FF << 52))
)
"""Keys of numbers, as signed words."""


NAN = 0x7FF8 << 48


ABSENT = 2**64 - 1


BELOW = 0x000FFFFFFFFFFFFF + 1
"""The key of minus infinity: the grade of a judged document below every level."""


def bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


def key(number: float) -> int:
    """The key of a score, relevance or gain: its bits, in the order of the numbers."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return int(bits ^ (2**64 - 1 if bits >> 63 else 1 << 63))


def probability_key(probability: float) -> int:
    """The key of a probability: mirrored at one half."""
    if probability < 0.5:
        return bits(probability)
    return 2 * bits(0.5) - bits(1.0 - probability)


def total(value: float | str) -> dict[str, str]:
    """Write an exact sum as the header does."""
    return {"exact_sum": f"{int(Fraction(value) * 2**1074):x}"}


def sums(*values: float | str) -> list[dict[str, str]]:
    return [total(value) for value in values]


def numbers_of(name: str, words: slice) -> list[int]:
    """Some of the payload of a small state."""
    return parse_words(EVERY[name]().to_bytes()).numbers[words]


def column(length: int, kind: str = "int64") -> dict[str, Any]:
    return {"column": kind, "length": length}


def shape(*sizes: int, fraction: bool = False) -> dict[str, Any]:
    return {"fraction": fraction, "shape": list(sizes)}


def mapped() -> se.RankingAccumulator:
    """Gains that are given for each relevance, of one query without a cutoff."""
    accumulator = se.RankingAccumulator(["dcg"], gain={1: 0.5, 2: 3}, rows_per_query=1)
    return accumulator.update([1, 2, 0], [3, 2, 1], query=[7, 7, 7], partial=True)


def powers() -> se.RankingAccumulator:
    accumulator = se.RankingAccumulator(["dcg@3"], gain="exp2", nan="last")
    return accumulator.update([1, 2], [3, math.nan], query=[7, 7], partial=True)


def declared() -> se.RankingAccumulator:
    accumulator = se.RankingAccumulator(["ndcg"])
    return accumulator.update([1, 0], [3, 2], query=[7] * 2, num_relevant={7: 4}, partial=True)


def graded() -> se.RankingAccumulator:
    """Documents that break ties, and keep the whole last tie level."""
    accumulator = se.RankingAccumulator(["lrap", "err@1"], ties="docid_desc", rows_per_query=1)
    rows = [1, 3, 0], [3, 3, 2]
    return accumulator.update(*rows, query=[7] * 3, doc=[1, 2, 3], partial=True)


def gains() -> se.RankingAccumulator:
    """Complete queries whose values have no largest one."""
    accumulator = se.RankingAccumulator(["dcg"], per_query=True)
    return accumulator.update([[1, 0], [0, 2]], [[3, 2], [3, 2]], query=[1, 2])


def weighted() -> se.RankingAccumulator:
    """Two queries that are complete and one that is open, with weights of 2, 3 and 5."""
    accumulator = se.RankingAccumulator(["p@1"], per_query=True)
    accumulator.update([[1, 0], [0, 2]], [[3, 2], [3, 2]], query=[1, 2], query_weight=[2, 3])
    return accumulator.update([1], [1], query=[7], query_weight=[5], partial=True)


def sketched() -> se.RankingAccumulator:
    """Three queries in two cells of reciprocal ranks, 0.5 twice and 1."""
    accumulator = se.RankingAccumulator(["mrr[median]", "p@1[max]"])
    return accumulator.update([[1, 0], [0, 1], [0, 1]], [[2, 1]] * 3)


STATES: dict[str, Callable[[], Any]] = EVERY | {
    "mapped": mapped,
    "powers": powers,
    "declared": declared,
    "graded": graded,
    "gains": gains,
    "weighted": weighted,
    "sketched": sketched,
}


def broken(state: str, change: dict[Any, Any]) -> bytes:
    """Make the bytes of a small state with a change."""
    parsed = parse_words(STATES[state]().to_bytes())
    header, numbers = parsed.settings, parsed.numbers
    if {*change} & {*RANKED}:
        numbers = with_columns(header["state"], numbers, change)
    for path, value in change.items():
        if isinstance(path, int):
            numbers[path] += value
        elif path not in RANKED and not path.startswith(("kind.", "payload")):
            *way, last = path.split(".")
            part = functools.reduce(operator.getitem, way, header)
            if value is LEFT_OUT:
                del part[last]
            else:
                part[last] = value
        elif path.startswith("kind."):
            header["state"][path.removeprefix("kind.")]["column"] = value
    words = [word % 2**64 for word in change.get("payload", numbers)]
    return seal_words(header, struct.pack(f"<{len(words)}Q", *words), kind=parsed.kind)


RANKED = (*WEIGHTED_FIELDS, *SKETCH_FIELDS)


def with_columns(
    fields: dict[str, Any], numbers: list[int], change: dict[Any, list[Any]]
) -> list[int]:
    """Replace columns and counts of a ranking."""
    payload: list[int] = []
    for name in RANKED:
        if name not in fields:
            continue
        described = fields[name]
        size = math.prod(described["shape"]) if "shape" in described else None
        size = column_words(described, numbers) if size is None else size
        words, numbers = numbers[:size], numbers[size:]
        if name in change:
            items = change[name]
            is_text = bool(items) and isinstance(items[0], str)
            words = text_words(items) if is_text else items
            if "column" in described:
                described |= {"length": len(items)} | ({"column": "text"} if is_text else {})
        payload += words
    return payload


def text_words(items: list[str]) -> list[int]:
    texts = [item.encode() for item in items]
    joined = b"".join(texts)
    joined += bytes(-len(joined) % 8)
    return [*map(len, texts), *struct.unpack(f"<{len(joined) // 8}Q", joined)]


def measured_words(**values: int) -> list[int]:
    """The payload of `measured` with some words replaced: w3 is the word 3.

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


N_CELLS = len(EVERY["paired_curves"]()._state.lo)


WORD = int.from_bytes("日本".encode(), "little")


ONES = [key(1.0)]

BROKEN: dict[str, dict[str, dict[Any, Any]]] = {
    # Payloads by word: binary: n, 4 of the matrix, 2 of the credit. met: n, 9 of the matrix, each
    # whole then fraction. top_k: n, 9 of the matrix, 6 of the credit. multilabel: n, 12, exact
    # match.
    "binary": {
        "part missing": {"config": LEFT_OUT},
        "part added": {"more": {}},
        "part is a list": {"state": []},
        "option missing": {"config.top_k": LEFT_OUT},
        "option unknown": {"config.nan": None},
        "option of no meaning": {"config.multilabel": 0},
        "options at odds": {"config.top_k": 2},
        "classes too few": {"config.classes": 1},
        "classes twice": {"config.classes": ["a", "a"]},
        "classes mixed": {"config.classes": [1, "a"]},
        "threshold a JSON float": {"config.threshold": 0.5},
        "threshold infinite": {"config.threshold": {"float64": "7ff0000000000000"}},
        "threshold minus zero": {"config.threshold": {"float64": "8000000000000000"}},
        "bits too short": {"config.threshold": {"float64": "3fe0"}},
        "bits no hexadecimal": {"config.threshold": {"float64": "x" * 16}},
        "bits no text": {"config.threshold": {"float64": 5}},
        "bits in upper case": {"config.threshold": {"float64": "3FE0000000000000"}},
        "bits of another name": {"config.threshold": {"float32": "0" * 8}},
        "pos_label left open": {"config.pos_label": None},
        "pos_label unknown": {"config.pos_label": 2},
        "field missing": {"state.credit": LEFT_OUT},
        "field unknown": {"state.more": []},
        "field a number": {"state.matrix": 5},
        "shape missing": {"state.matrix": {"fraction": False}},
        "shape a number": {"state.matrix.shape": 4},
        "shape of floats": {"state.matrix.shape": [2.0, 2]},
        "shape of four dimensions": {"state.matrix.shape": [1, 1, 2, 2]},
        "shape of another rank": {"state.matrix.shape": [4]},
        "credit of another shape": {"state.credit.shape": [2, 1]},
        "fraction a number": {"state.matrix.fraction": 0},
        "fraction without payload": {"state.credit.fraction": True},
        "payload too long": {"payload": [4, 0, 1, 1, 2, 2, 0, 0]},
        "payload too short": {"payload": [4, 0, 1, 1, 2, 2]},
        "n negative": {0: -5},
        "matrix negative": {1: -1, 2: 1},
        "credit negative": {6: -1},
        "matrix above n": {1: 1},
        "matrix past 2**63": {1: 2**62, 2: 2**62},
        "credit above n": {5: 3},
        "credit above n by a fraction": {
            **{f"state.{field}.fraction": True for field in ("n", "matrix", "credit")},
            "payload": [*(0, 0), *[0] * 8, *(0, 0, 1, 0)],
        },
        "credit below the hits": {5: -1},
        "credit of ties in labels": {5: -1, 6: 1},
        "credit in fractions of whole weights": {
            "state.credit.fraction": True,
            "payload": [4, 0, 1, 1, 2, 2, 0, 0, 0],
        },
        "measures of nothing": {"config.measures": []},
    },
    "met": {
        "labels an object": {"state.labels": {"a": 1}},
        "fraction of one": {1: 2**62},
        "fraction negative": {1: -(2**63)},
        "matrix below n": {0: 1},
        "labels unsorted": {"state.labels": ["b", "a", "日本"]},
        "labels twice": {"state.labels": ["a", "a", "b"]},
        "labels mixed": {"state.labels": [1, "a", "b"]},
        "labels booleans": {"state.labels": [False, True]},
        "labels null": {"state.labels": [None]},
        "labels nested": {"state.labels": [[1], [2], [3]]},
        "labels floats": {"state.labels": [0.5, 1.5, 2.5]},
        "labels one text": {"state.labels": "abc"},
        "labels a number": {"state.labels": 3},
        "labels past 64 bits": {"state.labels": [1, 2, 2**63]},
        "labels below 64 bits": {"state.labels": [-(2**63) - 1, 1, 2]},
        "labels of a lone surrogate": {"state.labels": ["a", "b", "\ud800"]},
        "labels more than the matrix": {"state.labels": ["a", "b", "c", "d"]},
    },
    "empty": {
        "shape of booleans": {"state.matrix.shape": [True, 4]},
    },
    "multilabel": {
        "outcomes of another shape": {"state.outcomes.shape": [3, 4]},
        "exact match negative": {13: -2},
        "exact match above n": {13: 2},
        "exact match above the right ones": {13: 1},
        "outcomes above n": {1: 1},
    },
    "top_k": {
        "credit in all of two ties": {14: 1},
        "credit in two places of one": {13: 1},
        "credit of more classes than there are": {
            "config.top_k": 3,
            "state.credit.shape": [3, 3],
            "payload": [1, *(1, 0, 0, 0, 0, 0, 0, 0, 0), *(0, 1, 0, 0, 0, 0, 0, 0, 0)],
        },
    },
    "ignoring": {
        "outcomes above n with an ignored label": {2: 4},
    },
    "samples": {
        "patterns of another type": {"state.patterns.column": "int64"},
        "examples of another rank": {"state.examples.shape": [3, 1]},
        "examples of other patterns": {
            "state.examples.shape": [2],
            "payload": [*SAMPLES, *PATTERNS, 3, 3],
        },
        "pattern of no example": {17: -2, 18: 2},
        "examples in fractions of whole weights": {
            "state.examples.fraction": True,
            "payload": [*SAMPLES, *PATTERNS, 2, 3, 1, 0, 0, 0],
        },
        "patterns out of order": {"payload": [*SAMPLES, *PATTERNS[::-1], 1, 3, 2]},
        "pattern twice": {"payload": [*SAMPLES, *PATTERNS[:2], PATTERNS[1], 2, 3, 1]},
        "pattern of more labels than there are": {14: 1},
        "pattern of fewer labels than there are": {14: -1},
        "examples above n": {19: 1},
        "examples of other exact matches": {17: -1, 18: 1},
        "measures of examples unknown": {"config.measures": ["x"]},
    },
    "best_scores": {
        "top hits below the hits": {16: -1, 19: 1},
        "top hits above the truth": {16: 1, 20: -1},
        "top misses above the errors": {17: -1, 21: 1},
        "top hits below n": {17: -1},
        "top hits in fractions of whole weights": {
            "state.top_hits.fraction": True,
            "payload": [*BEST[:19], 0, 0, 0, *BEST[19:]],
        },
    },
    "empty_met": {
        "labels an empty text": {"state.labels": ""},
        "labels too many": {"state.labels": [*range(4097)]},
        "label never observed": {
            "state.labels": [1, 2],
            "state.matrix.shape": [2, 2],
            "payload": [1, 1, 0, 0, 0],
        },
    },
    "regression": {
        "sum a number": {"state.truth.exact_sum": 5},
        "sum and more": {"state.truth": {"exact_sum": "0", "x": 0}},
        "sum of many digits": {"state.truth.exact_sum": "1" * 5000},
        "sum of no digits": {"state.truth.exact_sum": "x"},
        "sum instead of a count": {"state.n": {"exact_sum": "0"}},
        "sum of squares negative": {"state.squared_truth.exact_sum": "-1"},
        "squares too small": {"state.squared_truth.exact_sum": "1"},
        "error above the absolute error": {"state.absolute_error.exact_sum": "0"},
    },
    "empty_regression": {
        "sum of minus zero": {"state.truth.exact_sum": "-0"},
        "count instead of a sum": {
            "state.truth": {"fraction": False, "shape": []},
            "payload": [0, 0],
        },
        "sums of nothing": {"state.truth.exact_sum": "1"},
    },
    "measured": {
        "measures unknown": {"config.measures": ["no"]},
        "squares of the prediction too small": {
            "state.terms": [
                {"exact_sum": digits} for digits in ("1", "1", f"{2**1080:x}", "0", "1")
            ]
        },
        "extreme of no number": {"payload": measured_words(w2=0)},
        "max error below 0": {"payload": measured_words(w2=MINUS_1)},
        "max of the truth below its min": {"payload": measured_words(w3=QUARTER)},
        "cell of no absolute error": {"payload": measured_words(w6=MINUS_1)},
        "cells of errors out of order": {"payload": measured_words(w7=FOUR, w10=FOUR)},
        "cells of other rows": {12: 1},
        "cells with fractions of nothing": {
            "state.n.fraction": False,
            "payload": [word for place, word in enumerate(measured_words()) if place != 1],
        },
    },
    "empty_measured": {
        "measures written otherwise": {"config.measures": ["max_error", "MAPE"]},
        "measures that need more": {"config.measures": ["max_error", "mape", "smape"]},
        "terms of other things": {"state.terms": [0]},
        "term below 0": {"state.terms": [{"exact_sum": "-1"}]},
        "extremes too few": {"state.extremes.length": 0, "payload": [0]},
        "extreme of nothing": {"payload": [0, ZERO]},
        "level too few": {"state.level.length": 1, "payload": [0, 0, 0]},
        "cells without a sketch": {
            "state.lo.length": 1,
            "state.hi.length": 1,
            "state.weight.shape": [1],
            "payload": [0, 0, ZERO, ZERO, 1],
        },
    },
    "empty_outputs": {
        "sums of fewer outputs": {"state.error": [0]},
        "terms of more outputs": {"state.terms": [0]},
        "sizes without sketches": {"state.sizes.length": 1, "payload": [0, 0]},
        "levels without sketches": {"state.levels.length": 1, "payload": [0, 0]},
        "extremes of no outputs": {"state.extremes.length": 1, "payload": [0, 0]},
        "cells of outputs without sketches": {
            "state.lo.length": 1,
            "state.hi.length": 1,
            "state.weight.shape": [1],
            "payload": [0, 0, 0, 1],
        },
        "sums of nothing of outputs": {"state.truth": [0, {"exact_sum": "1"}]},
    },
    "outputs": {
        "cells of outputs divided otherwise": {8: 3, 9: 1},
    },
    # Payloads by word: calibration, of 3 bins: n, clipped, 3 weights, 3 hits; its rows are 0.1 and
    # 0 in the first bin, 0.5 in the second, 0.9 and 0.75 in the third, one hit in each.
    # class_calibration, of 2 bins and 3 classes, each whole then fraction: n (0, 1), clipped (2),
    # weight (3, 4; 5, 6), hits (7, 8; 9, 10), class_weight (11, 12, 13; 14, 15, 16).
    # preferences of 3 models: n 0, then 3 x 3 wins from 1 and 3 x 3 ties from 10
    "preferences": {
        "one number too few": {"payload": [3, *[0] * 17]},
        "n of other rows": {0: 1},
        "n negative": {"payload": [-1, *[0] * 18]},
        "wins of other rows": {2: 1},
        "wins negative": {2: -2, 3: 2},
        "wins that pass 2**63": {2: 2**62, 3: 2**62},
        "ties negative": {11: -1, 15: 1},
        "a win over itself": {1: 1, 2: -1},
        "a tie with itself": {10: 1, 15: -1},
        "a tie below the diagonal": {15: -1, 17: 1},
        "wins of 2 models": {"state.wins.shape": [2, 2], "payload": [3, *[0] * 13]},
        "wins of 2**62 models": {"state.wins.shape": [2**62, 2**62]},
        "wins of one dimension": {"state.wins.shape": [9]},
        "wins as columns": {"state.wins": column(9)},
        "ties left out": {"state.ties": LEFT_OUT, "payload": [3, *[0] * 9]},
        "models left out": {"config.models": LEFT_OUT},
        "models of the same name": {"config.models": ["x", "y", "x"]},
        "models of two types": {"config.models": ["x", 1, "日本"]},
        "models of no name": {"config.models": []},
        "one model": {"config.models": ["x"]},
        "models of 2**62": {"config.models": 2**62},
        "models as fractions": {"config.models": [0.5, 1.5, 2.5]},
        "models that are numbered": {"config.models": [0, 1, 2]},
        "models of no text": {"config.models": ["x", "y", "\ud800"]},
        "another option": {"config.ties": True},
    },
    "weighted_preferences": {
        "wins without fractions": {
            "state.wins.fraction": False,
            "payload": [3, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
        },
        "n without fractions": {
            "state.n.fraction": False,
            "payload": numbers_of("weighted_preferences", slice(1, None)),
        },
        "fraction of another n": {1: 1},
        "fraction of 2**63": {5: 2**63 - 1},
        "display names of the same": {"config.models": [[3, "three"], [5, "three"]]},
        "display names of one": {"config.models": [[3, "three"], 5]},
    },
    "empty_preferences": {
        "fractions of nothing": {
            **{f"state.{name}.fraction": True for name in ("n", "wins", "ties")},
            "payload": [0] * 18,
        },
    },
    "calibration": {
        "bins of nothing": {"config.bins": 0},
        "bins without end": {"config.bins": 2**62},
        "bins beyond the header": {"config.bins": 60000},
        "bins of another number": {"config.bins": 4},
        "observed classes": {"config.classes": "auto"},
        "classes without sums": {"config.classes": 3},
        "n negative": {0: -6},
        "clipped negative": {1: -2},
        "weight negative": {2: -3, 3: 3},
        "hits negative": {5: -2},
        "clipped above n": {1: 5},
        "weight above n": {4: 1},
        "weight below n": {0: 1},
        "weight past 2**63": {2: 2**62, 3: 2**62},
        "weight in another bin": {2: -1, 4: 1},
        "hits above the weight": {6: 1},
        "clipped in fractions of whole weights": {
            "state.clipped.fraction": True,
            "payload": [5, 1, 0, 2, 1, 2, 1, 1, 1],
        },
        "hits in fractions of whole weights": {
            "state.hits.fraction": True,
            "payload": [5, 1, 2, 1, 2, 1, 1, 1, 0, 0, 0],
        },
        "weight in fractions of whole weights": {
            "state.weight.fraction": True,
            "payload": [5, 1, 2, 1, 2, 0, 0, 0, 1, 1, 1],
        },
        "class weight in fractions without classes": {"state.class_weight.fraction": True},
        "loss negative": {"state.log_loss": {"exact_sum": "-1"}},
        "loss of none": {"state.log_loss": total(0)},
        "loss below certainty": {"state.log_loss": total(2.0 ** (-51))},
        "loss above all": {"state.log_loss": total(180.51)},
        "brier negative": {"state.brier": {"exact_sum": "-1"}},
        "brier above n": {"state.brier": total(5.01)},
        "brier a tuple": {"state.brier": sums(1)},
        "prediction a sum": {"state.prediction": total(1)},
        "prediction of too few bins": {"state.prediction": sums(0.1, 0.5)},
        "prediction of numbers": {"state.prediction": [1, 2, 3]},
        "prediction nested": {"state.prediction": [sums(0.1), sums(0.5), sums(1.65)]},
        "prediction of floats": {"state.prediction": [{"float64": "3fe0000000000000"}] * 3},
        "prediction negative": {"state.prediction": sums("-0.01", 0.5, 1.65)},
        "prediction below its bin": {"state.prediction": sums(0.1, 0.33, 1.65)},
        "prediction above its bin": {"state.prediction": sums(0.1, 0.67, 1.65)},
        "prediction above 1": {"state.prediction": sums(0.1, 0.5, 2.01)},
        "class prediction without classes": {"state.class_prediction": sums(1)},
    },
    "class_calibration": {
        "one class": {"config.classes": 1},
        "classes of another number": {"config.classes": 4},
        "sums without classes": {"config.classes": None},
        "class weight negative": {13: -1, 11: 1},
        "hits above the weight by a fraction": {8: 2, 10: 1},
        "class weight above n": {13: 1},
        "clipped in fractions of nothing": {
            "state.clipped.fraction": True,
            "payload": [3, 0, 0, 0, *(0, 3, 0, 0), *(0, 1, 0, 0), *(2, 1, 0, 0, 0, 0)],
        },
        "brier of classes negative": {"state.brier": {"exact_sum": "-1"}},
        "brier of classes above all": {"state.brier": total(7.57)},
        "prediction of no weight": {"state.prediction": sums(0.1, 2.5)},
        "class prediction of too few": {"state.class_prediction": sums(1.8, 1.8)},
        "class prediction of labels": {"state.class_prediction": ["a", "b", "c"]},
        "class prediction negative": {"state.class_prediction": sums(2, 2, "-0.4")},
        "class predictions below n": {"state.class_prediction": sums(1, 1, 1)},
        "class predictions above n": {"state.class_prediction": sums(1.5, 1.5, 1.5)},
        "class prediction above the highest": {"state.class_prediction": sums(0, 0.7, 2.9)},
        "highest above all classes": {
            "state.prediction": sums(0, 3.5),
            "state.class_prediction": sums(0, 1, 2.4),
        },
    },
    "calibration_moments": {
        "row_brier unlike brier": {"state.row_brier": total(0.5)},
        "log loss above its squares": {"state.squared_log_loss": total(0.25)},
        "squares of log loss too large": {"state.squared_log_loss": total(99)},
        "Brier score above its squares": {"state.squared_brier": total(0)},
        "squares of the Brier score too large": {"state.squared_brier": total(2)},
    },
    "empty_calibration": {
        "moments of nothing": {"config.intervals": True, "state.row_brier": 0},
        "loss of nothing": {"state.log_loss": {"exact_sum": "1"}},
        "fraction of nothing": {
            "state.n.fraction": True,
            "state.weight.fraction": True,
            "payload": [0] * (2 + 1 + 30 + 15),
        },
    },
    # Payloads by word: each with n, skipped, levels, sizes, lo, hi, pos, neg. curve, of 4 cells at
    # 0.1, 0.35, 0.75 and 1: n 0, skipped 1, level 2, size 3, lo 4-7, hi 8-11, pos 12-15, neg 16-19;
    # its positives are 0 1 1 1, its negatives 1 0 1 0. coarse_curve, of 3 cells at 0.1, 0.375 and
    # from 0.5 to 0.75, at level 53: lo 4-6, hi 7-9, pos 10-12, neg 13-15. weighted_curve, of 2 wide
    # cells at level 53: n 0 and 1, skipped 2, level 3, size 4, lo 5-6, hi 7-8, pos 9-10 and their
    # fractions 11-12, neg 13-14. class_curves, of 3, 2 and 3 cells: levels 2-4, sizes 5-7, lo 8-15,
    # hi 16-23, pos 24-31, neg 32-39. named_curve, of 2 cells, one row skipped: lo 4-5, hi 6-7, pos
    # 8-9, neg 10-11.
    "curve": {
        "budget of nothing": {"config.budget": 0},
        "unknown scores": {"config.scores": "logit"},
        "unknown nan": {"config.nan": "zero"},
        "multilabel without classes": {"config.multilabel": True},
        "n negative": {0: -6},
        "n of another shape": {"state.n.shape": [1]},
        "n above the cells": {0: 1},
        "n below the cells": {0: -1},
        "n in fractions of whole weights": {
            "state.n.fraction": True,
            "payload": [5, 0, *numbers_of("curve", slice(1, None))],
        },
        "skipped of another shape": {"state.skipped.shape": [1]},
        "skipped where nan raises": {1: 1},
        "negative label without a name": {"state.negative_label": [0]},
        "levels a shape": {"state.levels": shape(1)},
        "levels of keys": {"state.levels": column(1, "uint64")},
        "sizes of keys": {"state.sizes": column(1, "uint64")},
        "sizes of fewer cells": {3: -1},
        "lo of numbers": {"state.lo": column(4)},
        "hi of numbers": {"state.hi": column(4)},
        "hi of fewer cells": {
            "state.hi.length": 3,
            "payload": [*numbers_of("curve", slice(None, 11)), *(0, 1, 1, 1, 1, 0, 1, 0)],
        },
        "pos of another shape": {"state.pos.shape": [2, 2]},
        "neg of another shape": {"state.neg.shape": [1, 4]},
        "pos negative": {12: -1},
        "neg negative": {17: -1},
        "lo that is no key": {7: 1},
        "hi that is no key": {11: 1},
        "lo that is the mirror of no score": {6: 1},
        "a cell of nothing": {12: 0, 13: -1, 14: 1},
        "level negative": {2: -1},
        "a cell twice": {5: bits(0.1) - bits(0.35), 9: bits(0.1) - bits(0.35)},
        "cells in falling order": {
            4: bits(0.35) - bits(0.1),
            8: bits(0.35) - bits(0.1),
            5: bits(0.1) - bits(0.35),
            9: bits(0.1) - bits(0.35),
        },
        "cells over budget": {"config.budget": 3},
        "a level without a budget": {"config.budget": None, 2: 1},
        "a level without need": {2: 1},
        "cells past 2**63": {0: 2**62, 13: 2**62, 14: 2**62, 15: 2**62},
    },
    "class_curves": {
        "one class": {"config.classes": 1},
        "observed classes": {"config.classes": "auto"},
        "pos_label with classes": {"config.pos_label": 1},
        "sizes of too few curves": {
            "config.classes": 4,
            "state.levels.length": 4,
            "payload": [4, 0, 54, 0, 0, 0, *numbers_of("class_curves", slice(5, None))],
        },
        "sizes negative": {5: -4, 6: 4},
        "sizes above the cells": {5: 6},
        "sizes of more cells": {6: 1},
        "sizes that wrap around": {5: 2**62, 6: 2**62, 7: 2**62},
        "a class of other rows": {28: 1},
        "no class in a row": {24: -1, 32: 1},
        "two classes in a row": {29: 1, 37: -1},
    },
    "weighted_curve": {
        "n above the cells by a fraction": {1: 1},
        "n whole of weights with fractions": {
            "state.n.fraction": False,
            "payload": [3, *numbers_of("weighted_curve", slice(2, None))],
        },
        "one example at two scores with fractions": {
            0: -1,
            1: HALF + 1 - 3919933115663280128,
            10: -1,
            12: 1 - 1614090106449586176,
        },
        "pos of a fraction of one": {11: 2**61},
        "neg in fractions of nothing": {
            "state.neg.fraction": True,
            "payload": [
                *(3, 3919933115663280128, 0, 53, 2),
                *numbers_of("weighted_curve", slice(5, 9)),
                *(1, 2, HALF, 2**62 * 7 // 20),
                *(0, 0, 0, 0),
            ],
        },
    },
    "curves_with_gaps": {
        "n below the cells of a curve with gaps": {0: -1},
        "n above the cells of curves with gaps": {0: 3},
    },
    # paired_curves: n 0-1, skipped 2, levels 3-11, sizes 12-20, then lo, hi, pos and neg of all
    # cells.
    "paired_curves": {
        "positives of a pair unlike those of the class": {20 + 3 * N_CELLS: 1},
        "negatives of a pair unlike those of the class": {20 + 5 * N_CELLS: 1},
    },
    "coarse_curve": {
        "one example at two scores": {0: -5, 12: -2, 15: -3},
        "hi that is the mirror of no score": {9: 1},
        "lo above hi": {9: probability_key(0.5) - probability_key(0.75), 6: 2},
        "level of 65": {2: 12},
        "level of 2**62": {2: 2**62},
        "a wide cell at level 0": {2: -53},
        "a wide cell at a level below": {2: -1},
        "cells that share a prefix": {4: 2**53, 7: 2**53},
        "a level where one less would fit": {"config.budget": 4},
    },
    "named_curve": {
        "skipped negative": {1: -2},
        "skipped in fractions of nothing": {
            "state.skipped.fraction": True,
            "payload": [2, 0, 0, *numbers_of("named_curve", slice(2, None))],
        },
        "negative label missing": {"state.negative_label": []},
        "negative labels": {"state.negative_label": ["x", "y"]},
        "negative label of no negative": {8: 1, 10: -1},
        "negative label of another type": {"state.negative_label": [0]},
        "negative label the positive one": {"state.negative_label": ["日本"]},
        "negative label no text": {"state.negative_label": ["\ud800"]},
        "negative label a number of no 64 bits": {
            "config.pos_label": 1,
            "state.negative_label": [2**63],
        },
        "negative label a word": {"state.negative_label": "x"},
    },
    "empty_curve": {
        "levels a number": {"state.levels": 0, "payload": [0, 0, 0]},
        "levels of names": {"state.levels": column(1, "text")},
        "levels of too many curves": {"state.levels": column(2), "payload": [0, 0, 0, 0, 0]},
        "sizes of too many curves": {"state.sizes": column(2), "payload": [0, 0, 0, 0, 0]},
        "pos in fractions of nothing": {
            "state.n.fraction": True,
            "state.pos.fraction": True,
            "payload": [0, 0, 0, 0, 0],
        },
        "a level of nothing": {2: 1},
    },
    "real_curve": {
        "lo of NaN": {4: -1},
        "hi of NaN": {11: 1},
    },
    # Payloads by word: each with n, level, groups, sizes, lo, hi, pos, neg. grouped, of groups -1,
    # 3 and 7 with 1, 1 and 2 cells: n 0, level 1, groups 2-4, sizes 5-7, lo 8-11, hi 12-15, pos
    # 16-19, neg 20-23; its positives are 0 1 1 1, its negatives 1 0 1 0. coarse_groups, of "" and
    # "日本" with 1 and 2 cells at level 53: n 0-1, level 2, lengths of the texts 3-4 and the
    # texts 5, sizes 6-7, lo 8-10, hi 11-13, pos 14-16 and fractions 17-19, neg 20-22 and
    # fractions 23-25.
    "grouped": {
        "budget left open": {"config.budget": None},
        "unknown weight": {"config.group_weight": "clicks"},
        "no groups allowed": {"config.max_groups": 0},
        "n negative": {0: -6},
        "n of another shape": {"state.n.shape": [1]},
        "n above the cells": {0: 1},
        "n in fractions of whole weights": {
            "state.n.fraction": True,
            "payload": [5, 0, *numbers_of("grouped", slice(1, None))],
        },
        "cells past 2**63": {17: 2**62, 18: 2**62},
        "classes past 2**63": {17: 2**62, 20: 2**62},
        "level of keys": {"state.level": column(1, "uint64")},
        "level negative": {1: -1},
        "a level without need": {1: 1},
        "cells over budget": {"config.budget": 3},
        "cells of a group in falling order": {
            10: probability_key(0.9) - probability_key(0.2),
            14: probability_key(0.9) - probability_key(0.2),
            11: probability_key(0.2) - probability_key(0.9),
            15: probability_key(0.2) - probability_key(0.9),
        },
        "a cell of a group twice": {
            11: probability_key(0.2) - probability_key(0.9),
            15: probability_key(0.2) - probability_key(0.9),
        },
        "groups of keys": {"state.groups": column(3, "uint64")},
        "groups a shape": {"state.groups": shape(3)},
        "groups in falling order": {2: 5},
        "a group twice": {3: -4},
        "more groups than allowed": {"config.max_groups": 2},
        "more groups than cells": {"config.budget": 2},
        "sizes of keys": {"state.sizes": column(3, "uint64")},
        "sizes of fewer groups": {
            "state.sizes": column(2),
            "payload": [
                *numbers_of("grouped", slice(6)),
                3,
                *numbers_of("grouped", slice(8, None)),
            ],
        },
        "a size of 0": {5: -1, 6: 1},
        "a size negative": {5: -2, 6: 2},
        "sizes of fewer cells": {7: -1},
        "sizes of more cells": {7: 1},
        "sizes that wrap around": {5: 2**62, 6: 2**62, 7: 2**62},
        "lo of numbers": {"state.lo": column(4)},
        "lo that is no key": {8: 1, 12: 1},
        "an empty cell": {16: 0, 20: -1, 22: 1},
    },
    "coarse_groups": {
        "n above the cells by a fraction": {1: 1},
        "level of 65": {2: 12},
        "a level where one less would fit": {"config.budget": 4},
        "a wide cell at a level below": {2: -1},
        "names in falling order": {3: 6, 4: -6},
        "a name twice": {3: 3, 4: -3, 5: int.from_bytes("日日".encode(), "little") - WORD},
        "a name that is no text": {5: 255 - 230},
        "a name of a surrogate": {4: -3, 5: 0x80A0ED - WORD},
        "names not padded": {5: 1 << 48},
        "a name of another length": {4: -1},
        "a name of negative length": {3: -1, 4: 1},
    },
    "empty_grouped": {
        "no level": {"state.level": column(0), "payload": [0]},
        "two levels": {"state.level": column(2), "payload": [0, 0, 0]},
        "a level of nothing": {1: 1},
        "no groups of text": {"state.groups": column(0, "text")},
        "neg in fractions of nothing": {
            "state.n.fraction": True,
            "state.neg.fraction": True,
            "payload": [0, 0, 0],
        },
    },
    # ranking: n 3, one query empty. open_queries: levels -inf and 1, queries -3 and 7 of 1 and 5
    # rows, judged 1 and 4, relevant 1 and 3, found all of these; kept 1 and 2 rows.
    # tracked_queries: closed a, b, 日本, open c of 2 rows. query_values: closed -4 (empty), 5
    # (missing), 9. mapped: kept 1 of 3 rows, gains 3 and 0.5.
    "ranking": {
        "n negative": {"n": [-1]},
        "n of another shape": {"state.n.shape": [1]},
        "n in fractions": {"n": [3, 1], "state.n.fraction": True},
        "missing negative": {"missing": [-1]},
        "nothing in fractions": {"nothing": [0, 1], "state.nothing.fraction": True},
        "nothing above n": {"nothing": [4]},
        "empty negative": {"empty": [1, -1, 1]},
        "empty above n": {"empty": [1, 4, 1]},
        "empty of other measures": {"empty": [1, 1], "state.empty.shape": [2]},
        "empty in fractions": {"empty": [1, 1, 1, 1, 1, 1], "state.empty.fraction": True},
        "sums of fewer measures": {"state.sums": [total(1)]},
        "squares that are numbers": {"state.squares": [1, 1, 1]},
        "lows that are no list": {"state.lows": total(1)},
        "highs that are labels": {"state.highs": ["a", "b", "c"]},
        "a sum below its low": {"state.lows": [total(1), total(0), total(0)]},
        "a sum above its high": {"state.highs": [total(0), total(1), total(1)]},
        "a sum above the queries": {"state.highs": [total(2.5), total(1), total(1)]},
        "a sum below 0": {"state.lows": [total(-1), total(0), total(0)]},
        "squares below the sum": {"state.squares": [total(0.25)] * 3},
        "squares above the sum": {"state.squares": [total(1)] * 3},
        "no closed text": {"kind.closed": "text"},
        "closed where ids are not kept": {"closed": [1, 2, 3]},
        "ids of no text": {"kind.ids": "text"},
        "a measure in another spelling": {"config.measures": ["AP", "ndcg@2", "p@1"]},
        "policies in full": {"config.empty": ["zero", "zero", "zero"]},
        "policies of fewer measures": {"config.empty": ["one"]},
    },
    "tracked_queries": {
        "missing in fractions": {"missing": [0, 1], "state.missing.fraction": True},
        "closed keys": {"closed": [1, 2, 3], "kind.closed": "uint64"},
        "closed in falling order": {"closed": ["b", "a", "c"]},
        "closed twice": {"closed": ["a", "a", "b"]},
        "closed of fewer queries": {"closed": ["a", "b"]},
        "an id open and closed": {"ids": ["a"]},
        "an open number among closed names": {"ids": [7], "kind.ids": "int64"},
        "values that are not kept": {"values": [0, 0, 0]},
        "found in no cell": {"found": [0]},
        "a grade of no level": {"ranked_grade": [0, key(2.0)]},
        "gains without a measure": {
            "gained_sizes": [1],
            "gained_gain": ONES,
            "gained_count": [1],
            "gained_found": [1],
        },
    },
    "weighted": {
        "weights of fewer queries": {"closed_weights": [2], "state.closed_weights.shape": [1]},
        "a weight of nothing": {"weights": [0]},
        "weights that need none": {"weights": [1]},
        "weights of another total": {"closed_weights": [2, 4]},
        "weights of other values": {"closed_weights": [3, 2]},
    },
    "query_values": {
        "a logarithm above 0": {"state.highs": [total(1), total(1), total(1)]},
        "a logarithm of nothing": {"state.lows": [total(0), total(-12), total(0)]},
        "values of numbers": {"kind.values": "int64"},
        "values of fewer queries": {"values": [NAN] * 6},
        "no values missing": {"values": [NAN] * 6 + [bits(0.5)] * 3},
        "values missing twice": {"values": [ABSENT] * 6 + [bits(0.5)] * 3},
        "another NaN": {"values": [NAN + 1] * 3 + [ABSENT] * 3 + [bits(0.5)] * 3},
        "half a missing query": {"values": [NAN, ABSENT, NAN] + [ABSENT] * 3 + [bits(0.5)] * 3},
        "infinite values": {"values": [NAN] * 3 + [ABSENT] * 3 + [bits(math.inf)] * 3},
        "values of an empty query": {"values": [bits(0.5)] * 3 + [ABSENT] * 3 + [bits(0.5)] * 3},
        "values too large": {"values": [NAN] * 3 + [ABSENT] * 3 + [bits(1e300)] * 3},
        "values of other sums": {"values": [NAN] * 3 + [ABSENT] * 3 + [bits(0.5)] * 3},
    },
    "empty_ranking": {
        "sums of nothing": {
            **{f"state.{name}": [total(1)] * 6 for name in ("sums", "squares", "lows", "highs")}
        },
    },
    "open_queries": {
        "ids of keys": {"kind.ids": "uint64"},
        "ids in falling order": {"ids": [7, -3]},
        "ids twice": {"ids": [7, 7]},
        "too many open": {"config.max_open_queries": 1},
        "rows of keys": {"kind.rows": "uint64"},
        "rows of fewer queries": {"rows": [1]},
        "rows negative": {"rows": [-1, 5]},
        "rows of too many": {"rows": [1, MAX_ROWS + 1]},
        "declared below -1": {"declared": [-1, -2]},
        "relevant of one level": {"relevant": [1, 3]},
        "found of too many levels": {"found": [1, 1, 4, 3, 0]},
        "ranked_sizes of fewer queries": {"ranked_sizes": [3]},
        "ranked_count of more cells": {"ranked_count": [1, 1, 1, 1]},
        "gained_sizes of fewer queries": {"gained_sizes": [3]},
        "gained_count of fewer cells": {"gained_count": [1, 1]},
        "gained_found of fewer cells": {"gained_found": [1, 1]},
        "ranked_key of numbers": {"kind.ranked_key": "int64"},
        "ranked_grade of numbers": {"kind.ranked_grade": "int64"},
        "ranked_grade of fewer cells": {"ranked_grade": ONES * 2},
        "gained_gain of numbers": {"kind.gained_gain": "int64"},
        "documents that break no ties": {"ranked_document": [1, 2, 3]},
        "no documents of text": {"kind.ranked_document": "text"},
        "ranked_sizes of other cells": {"ranked_sizes": [1, 1]},
        "gained_sizes of other cells": {"gained_sizes": [2, 2]},
        "found above relevant": {"found": [1, 1, 5, 3]},
        "found above the rows": {"found": [1, 1, 6, 3], "relevant": [1, 1, 6, 3]},
        "more relevant than judged": {"relevant": [1, 2, 4, 3]},
        "found at a level but not below": {"found": [1, 1, 2, 3]},
        "more left at a level than below": {"found": [1, 1, 3, 1]},
        "rows of no cells": {"rows": [2, 5]},
        "fewer rows than cells": {"rows": [1, 1], "found": [1, 1, 1, 1]},
        "found among too few rows outside": {
            "found": [1, 1, 5, 5],
            "relevant": [1, 1, 5, 5],
            "ranked_grade": [key(1.0), BELOW, BELOW],
        },
        "found outside at a level but not below": {"found": [1, 1, 3, 3]},
        "a cell of nothing": {"ranked_count": [1, 2, 0]},
        "cells in rising order": {"ranked_key": [key(1), key(0.5), key(0.75)]},
        "a cell twice": {
            "ranked_key": [key(1), key(0.5), key(0.5)],
            "ranked_grade": [key(1), BELOW, BELOW],
        },
        "grades in rising order": {"ranked_key": [key(1), key(0.5), key(0.5)]},
        "more cells than asked for": {
            "ranked_sizes": [1, 3],
            "ranked_key": [key(1), key(0.75), key(0.5), key(0.25)],
            "ranked_grade": [key(1), BELOW, key(2), key(1)],
            "ranked_count": [1, 1, 1, 1],
        },
        "a grade that is no key": {"ranked_grade": [key(1), BELOW, 1]},
        "an infinite grade": {"ranked_grade": [key(1), BELOW, key(math.inf)]},
        "gains of no document": {"gained_count": [1, 1, 0], "gained_found": [1, 1, 0]},
        "gains found but not there": {"gained_found": [1, 1, 3]},
        "gains in rising order": {"gained_gain": [key(1), key(1), key(2)]},
        "a gain twice": {"gained_gain": [key(1), key(1), key(1)]},
        "gains found in no cell": {"gained_found": [1, 0, 2]},
        "gains past the most rows": {"gained_count": [1, MAX_ROWS, 2], "gained_found": [1, 1, 2]},
    },
    "gains": {
        "values of other squares": {"state.squares": [total(3)]},
    },
    "declared": {
        "declared of too many": {"declared": [MAX_ROWS + 1]},
        "declared too few": {"declared": [0]},
        "a gain that is no key": {"gained_gain": [1]},
        "a gain of 0": {"gained_gain": [key(0.0)]},
        "a gain past 2**400": {"gained_gain": [key(1e200)]},
        "a gain of 2 where a number is declared": {"gained_gain": [key(2.0)]},
        "gains of more rows than there are": {"gained_count": [2], "gained_found": [2]},
    },
    "open_documents": {
        "documents of fewer cells": {"ranked_document": ["a", "b"]},
        "documents of keys": {"ranked_document": [3, 2, 1], "kind.ranked_document": "uint64"},
        "a score that is no key": {"ranked_key": [0, key(2), key(0.5)]},
        "a document counted twice": {
            "ranked_count": [2, 1, 1],
            "rows": [2, 3],
            "found": [2, 2],
            "relevant": [2, 2],
        },
        "a document at two scores": {"ranked_document": ["日", "b", "b"]},
        "a grade above that of err": {"ranked_grade": [key(2), key(5), key(1)]},
        "half a grade of err": {"ranked_grade": [key(2), key(2.5), key(1)]},
        "more gains than asked for": {
            "gained_sizes": [1, 2],
            "gained_gain": [key(3), key(15), key(1)],
            "gained_count": [1, 1, 1],
            "gained_found": [1, 1, 1],
        },
    },
    "powers": {
        "a score of NaN": {"ranked_key": [key(3.0), 1]},
        "a power that no integer holds": {"ranked_grade": [key(1), key(2.0**400)]},
        "a power of 63": {"ranked_grade": [key(1), key(63)]},
        "a gain of no power of two": {"gained_gain": [key(4.0), key(1)]},
        "a gain of 2**63": {"gained_gain": [key(2.0**63), key(1)]},
    },
    "graded": {
        "documents in rising order": {"ranked_document": [1, 2]},
    },
    "mapped": {
        "a grade that is not mapped": {"ranked_grade": [key(3.0)]},
        "a gain that is not mapped": {"gained_gain": [key(2.0), key(0.5)]},
        "gains out of order": {
            "config.gain": [
                [{"float64": struct.pack(">d", part).hex()} for part in pair]
                for pair in ((2, 3), (1, 0.5), (0, 0))
            ]
        },
        "gains that are no pairs": {"config.gain": [1, 2]},
    },
    # sketched: mrr in cells 0.5 of two and 1, p@1 in cells 0 of two and 1; no bounds of either
    "sketched": {
        "levels of fewer tables": {"sketch_level": [0] * 3},
        "cells of other tables": {"sketch_sizes": [2] * 6},
        "tables of fewer than no cells": {"sketch_sizes": [5, -1, 0, 0, 0, 0]},
        "a sketched cell of nothing": {"sketch_weight": [3, 0, 2, 1]},
        "a level that is not needed": {"sketch_level": [1, 0, 0, 0, 0, 0]},
        "values of fewer queries": {"sketch_weight": [1, 1, 2, 1]},
        "bounds on one side": {"sketch_sizes": [1, 1, 0, 2, 0, 0]},
        "bounds of a measure with a cutoff": {
            "sketch_sizes": [2, 0, 0, 1, 1, 1],
            "sketch_lo": [key(0.5), key(1.0), key(0.0), key(1.0), key(1.0)],
            "sketch_hi": [key(0.5), key(1.0), key(0.0), key(1.0), key(1.0)],
            "sketch_weight": [2, 1, 2, 1, 1],
            "state.sketch_weight.shape": [5],
        },
        "a value above the range": {
            "sketch_lo": [key(0.5), key(2.0), key(0.0), key(1.0)],
            "sketch_hi": [key(0.5), key(2.0), key(0.0), key(1.0)],
        },
        "a sketch in fractions that are 0": {
            "sketch_weight": [2, 1, 2, 1, 0, 0, 0, 0],
            "state.sketch_weight.fraction": True,
        },
    },
}
