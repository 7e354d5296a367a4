"""Every rule that a decoded score table must keep, broken alone under a right checksum."""

from __future__ import annotations

import ast
import inspect
import re
import struct
import traceback
from typing import Any

import pytest
from offenders import each
from small_states import EVERY, parse_words, seal_words
from unit.test_decoded_invariants import Broken

import streameval as se
from streameval.states import curve, grouped

HALF = 2**61
"""The fraction of one half."""


def bits(score: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", score))[0])


def key(probability: float) -> int:
    """The key of a probability: mirrored at one half."""
    if probability < 0.5:
        return bits(probability)
    return 2 * bits(0.5) - bits(1.0 - probability)


def numbers_of(name: str, places: slice) -> list[int]:
    """Some of the payload of a small state."""
    return parse_words(EVERY[name]().to_bytes()).numbers[places]


def column(length: int, kind: str = "int64") -> dict[str, Any]:
    return {"column": kind, "length": length}


def shape(*sizes: int, fraction: bool = False) -> dict[str, Any]:
    return {"fraction": fraction, "shape": list(sizes)}


# Payloads by place, each with n, skipped, levels, sizes, lo, hi, pos, neg.
# curve, of 4 cells at 0.1, 0.35, 0.75 and 1: n 0, skipped 1, level 2, size 3, lo 4-7, hi 8-11,
# pos 12-15, neg 16-19; its positives are 0 1 1 1, its negatives 1 0 1 0.
# coarse_curve, of 3 cells at 0.1, 0.375 and from 0.5 to 0.75, at level 53: lo 4-6, hi 7-9,
# pos 10-12, neg 13-15.
# weighted_curve, of 2 wide cells at level 53: n 0 and 1, skipped 2, level 3, size 4, lo 5-6,
# hi 7-8, pos 9-10 and their fractions 11-12, neg 13-14.
# class_curves, of 3, 2 and 3 cells: levels 2-4, sizes 5-7, lo 8-15, hi 16-23, pos 24-31, neg 32-39.
# named_curve, of 2 cells, one row skipped: lo 4-5, hi 6-7, pos 8-9, neg 10-11.
ONE, COARSE, WEIGHTED, CLASSES = "curve", "coarse_curve", "weighted_curve", "class_curves"
# paired_curves: n 0-1, skipped 2, levels 3-11, sizes 12-20, then lo, hi, pos and neg of all cells.
N_CELLS = len(EVERY["paired_curves"]()._state.lo)
NAMED, REAL, EMPTY, GAPS = "named_curve", "real_curve", "empty_curve", "curves_with_gaps"
CURVES = {
    "budget of nothing": Broken(ONE, "`budget` must be an integer of", {"config.budget": 0}),
    "unknown scores": Broken(ONE, "`scores` must be", {"config.scores": "logit"}),
    "unknown nan": Broken(ONE, "`nan` must be", {"config.nan": "zero"}),
    "one class": Broken(CLASSES, "at least 2", {"config.classes": 1}),
    "observed classes": Broken(CLASSES, "`classes` must be None", {"config.classes": "auto"}),
    "multilabel without classes": Broken(
        ONE, "`classes` must be given", {"config.multilabel": True}
    ),
    "pos_label with classes": Broken(CLASSES, "`pos_label` names", {"config.pos_label": 1}),
    "n negative": Broken(ONE, "n holds negative", numbers={0: -6}),
    "n of another shape": Broken(ONE, "n has shape", {"state.n.shape": [1]}),
    "n above the cells": Broken(ONE, "n differs from the sum of the cells", numbers={0: 1}),
    "n below the cells": Broken(ONE, "n differs from the sum of the cells", numbers={0: -1}),
    "n above the cells by a fraction": Broken(
        WEIGHTED, "n differs from the sum of the cells", numbers={1: 1}
    ),
    "n below the cells of a curve with gaps": Broken(
        GAPS, "n differs from the cells of its rows", numbers={0: -1}
    ),
    "n above the cells of curves with gaps": Broken(
        GAPS, "n differs from the cells of its rows", numbers={0: 3}
    ),
    "positives of a pair unlike those of the class": Broken(
        "paired_curves", "the curve of a pair differs", numbers={20 + 3 * N_CELLS: 1}
    ),
    "negatives of a pair unlike those of the class": Broken(
        "paired_curves", "the curve of a pair differs", numbers={20 + 5 * N_CELLS: 1}
    ),
    "n in fractions of whole weights": Broken(
        ONE,
        "n differs from the cells in its fraction",
        {"state.n.fraction": True},
        payload=[5, 0, *numbers_of(ONE, slice(1, None))],
    ),
    "n whole of weights with fractions": Broken(
        WEIGHTED,
        "n differs from the cells in its fraction",
        {"state.n.fraction": False},
        payload=[3, *numbers_of(WEIGHTED, slice(2, None))],
    ),
    "one example at two scores": Broken(
        COARSE, "one example at two scores", numbers={0: -5, 12: -2, 15: -3}
    ),
    "one example at two scores with fractions": Broken(
        WEIGHTED,
        "one example at two scores",
        numbers={0: -1, 1: HALF + 1 - 3919933115663280128, 10: -1, 12: 1 - 1614090106449586176},
    ),
    "skipped negative": Broken(NAMED, "skipped holds negative", numbers={1: -2}),
    "skipped of another shape": Broken(ONE, "skipped has shape", {"state.skipped.shape": [1]}),
    "skipped where nan raises": Broken(ONE, "skipped rows", numbers={1: 1}),
    "skipped in fractions of nothing": Broken(
        NAMED,
        "skipped has fractions of nothing",
        {"state.skipped.fraction": True},
        payload=[2, 0, 0, *numbers_of(NAMED, slice(2, None))],
    ),
    "negative label missing": Broken(NAMED, "negative_label", {"state.negative_label": []}),
    "negative labels": Broken(NAMED, "negative_label", {"state.negative_label": ["x", "y"]}),
    "negative label without a name": Broken(ONE, "negative_label", {"state.negative_label": [0]}),
    "negative label of no negative": Broken(NAMED, "negative_label", numbers={8: 1, 10: -1}),
    "negative label of another type": Broken(
        NAMED, "negative_label", {"state.negative_label": [0]}
    ),
    "negative label the positive one": Broken(
        NAMED, "negative_label", {"state.negative_label": ["日本"]}
    ),
    "negative label no text": Broken(
        NAMED, "must be Unicode text", {"state.negative_label": ["\ud800"]}
    ),
    "negative label a number of no 64 bits": Broken(
        NAMED,
        "`negative_label` must fit 64 bits",
        {"config.pos_label": 1, "state.negative_label": [2**63]},
    ),
    "negative label a word": Broken(NAMED, "field negative_label", {"state.negative_label": "x"}),
    "levels a number": Broken(EMPTY, "field levels", {"state.levels": 0}, payload=[0, 0, 0]),
    "levels a shape": Broken(ONE, "field levels", {"state.levels": shape(1)}),
    "levels of keys": Broken(ONE, "levels", {"state.levels": column(1, "uint64")}),
    "levels of names": Broken(EMPTY, "levels", {"state.levels": column(1, "text")}),
    "levels of too many curves": Broken(
        EMPTY, "levels", {"state.levels": column(2)}, payload=[0, 0, 0, 0, 0]
    ),
    "sizes of keys": Broken(ONE, "sizes", {"state.sizes": column(1, "uint64")}),
    "sizes of too many curves": Broken(
        EMPTY, "sizes", {"state.sizes": column(2)}, payload=[0, 0, 0, 0, 0]
    ),
    "sizes of too few curves": Broken(
        CLASSES,
        "sizes",
        {"config.classes": 4, "state.levels.length": 4},
        payload=[4, 0, 54, 0, 0, 0, *numbers_of(CLASSES, slice(5, None))],
    ),
    "sizes negative": Broken(CLASSES, "sizes outside", numbers={5: -4, 6: 4}),
    "sizes above the cells": Broken(CLASSES, "sizes outside", numbers={5: 6}),
    "sizes of fewer cells": Broken(ONE, "sizes of other cells", numbers={3: -1}),
    "sizes of more cells": Broken(CLASSES, "sizes of other cells", numbers={6: 1}),
    "sizes that wrap around": Broken(
        CLASSES, "sizes outside the cells", numbers={5: 2**62, 6: 2**62, 7: 2**62}
    ),
    "lo of numbers": Broken(ONE, "the ends of the cells", {"state.lo": column(4)}),
    "hi of numbers": Broken(ONE, "the ends of the cells", {"state.hi": column(4)}),
    "hi of fewer cells": Broken(
        ONE,
        "the ends of the cells",
        {"state.hi.length": 3},
        payload=[*numbers_of(ONE, slice(None, 11)), *(0, 1, 1, 1, 1, 0, 1, 0)],
    ),
    "pos of another shape": Broken(ONE, "pos has shape", {"state.pos.shape": [2, 2]}),
    "neg of another shape": Broken(ONE, "neg has shape", {"state.neg.shape": [1, 4]}),
    "pos negative": Broken(ONE, "pos holds negative", numbers={12: -1}),
    "neg negative": Broken(ONE, "neg holds negative", numbers={17: -1}),
    "pos of a fraction of one": Broken(WEIGHTED, "pos holds fractions", numbers={11: 2**61}),
    "neg in fractions of nothing": Broken(
        WEIGHTED,
        "neg has fractions of nothing",
        {"state.neg.fraction": True},
        payload=[
            *(3, 3919933115663280128, 0, 53, 2),
            *numbers_of(WEIGHTED, slice(5, 9)),
            *(1, 2, HALF, 2**62 * 7 // 20),
            *(0, 0, 0, 0),
        ],
    ),
    "pos in fractions of nothing": Broken(
        EMPTY,
        "pos has fractions of nothing",
        {"state.n.fraction": True, "state.pos.fraction": True},
        payload=[0, 0, 0, 0, 0],
    ),
    "lo that is no key": Broken(ONE, "lo holds no keys", numbers={7: 1}),
    "hi that is no key": Broken(ONE, "hi holds no keys", numbers={11: 1}),
    "lo that is the mirror of no score": Broken(ONE, "lo holds no keys", numbers={6: 1}),
    "hi that is the mirror of no score": Broken(COARSE, "hi holds no keys", numbers={9: 1}),
    "lo of NaN": Broken(REAL, "lo holds no keys", numbers={4: -1}),
    "hi of NaN": Broken(REAL, "hi holds no keys", numbers={11: 1}),
    "lo above hi": Broken(COARSE, "lo passes hi", numbers={9: key(0.5) - key(0.75), 6: 2}),
    "a cell of nothing": Broken(ONE, "an empty cell", numbers={12: 0, 13: -1, 14: 1}),
    "level negative": Broken(ONE, "level -1", numbers={2: -1}),
    "level of 65": Broken(COARSE, "level 65", numbers={2: 12}),
    "level of 2**62": Broken(COARSE, "level 4611686018427387957", numbers={2: 2**62}),
    "a wide cell at level 0": Broken(COARSE, "a cell is wider than its level", numbers={2: -53}),
    "a wide cell at a level below": Broken(
        COARSE, "a cell is wider than its level", numbers={2: -1}
    ),
    "a cell twice": Broken(
        ONE,
        "cells are out of order",
        numbers={5: bits(0.1) - bits(0.35), 9: bits(0.1) - bits(0.35)},
    ),
    "cells in falling order": Broken(
        ONE,
        "cells are out of order",
        numbers={
            4: bits(0.35) - bits(0.1),
            8: bits(0.35) - bits(0.1),
            5: bits(0.1) - bits(0.35),
            9: bits(0.1) - bits(0.35),
        },
    ),
    "cells that share a prefix": Broken(
        COARSE, "cells are out of order", numbers={4: 2**53, 7: 2**53}
    ),
    "cells over budget": Broken(ONE, "cells over budget", {"config.budget": 3}),
    "a level without a budget": Broken(
        ONE, "level above the lowest that fits", {"config.budget": None}, numbers={2: 1}
    ),
    "a level without need": Broken(ONE, "level above the lowest that fits", numbers={2: 1}),
    "a level where one less would fit": Broken(
        COARSE, "level above the lowest that fits", {"config.budget": 4}
    ),
    "a level of nothing": Broken(EMPTY, "level above the lowest that fits", numbers={2: 1}),
    "a class of other rows": Broken(CLASSES, "n differs from the sum", numbers={28: 1}),
    "no class in a row": Broken(CLASSES, "positives of a row", numbers={24: -1, 32: 1}),
    "two classes in a row": Broken(CLASSES, "positives of a row", numbers={29: 1, 37: -1}),
    "cells past 2**63": Broken(
        ONE, "past 2**63", numbers={0: 2**62, 13: 2**62, 14: 2**62, 15: 2**62}
    ),
}

# Payloads by place, each with n, level, groups, sizes, lo, hi, pos, neg.
# grouped, of groups -1, 3 and 7 with 1, 1 and 2 cells: n 0, level 1, groups 2-4, sizes 5-7,
# lo 8-11, hi 12-15, pos 16-19, neg 20-23; its positives are 0 1 1 1, its negatives 1 0 1 0.
# coarse_groups, of "" and "日本" with 1 and 2 cells at level 53: n 0-1, level 2, lengths of the
# texts 3-4 and the texts 5, sizes 6-7, lo 8-10, hi 11-13, pos 14-16 and fractions 17-19,
# neg 20-22 and fractions 23-25.
WORD = int.from_bytes("日本".encode(), "little")
GROUPS, NAMES, NO_GROUPS = "grouped", "coarse_groups", "empty_grouped"
GROUPED = {
    "budget left open": Broken(GROUPS, "`budget` must be an integer", {"config.budget": None}),
    "unknown weight": Broken(GROUPS, "`group_weight` must be", {"config.group_weight": "clicks"}),
    "no groups allowed": Broken(GROUPS, "`max_groups` must be", {"config.max_groups": 0}),
    "n negative": Broken(GROUPS, "n holds negative", numbers={0: -6}),
    "n of another shape": Broken(GROUPS, "n has shape", {"state.n.shape": [1]}),
    "n above the cells": Broken(GROUPS, "n differs from the sum of the cells", numbers={0: 1}),
    "n above the cells by a fraction": Broken(
        NAMES, "n differs from the sum of the cells", numbers={1: 1}
    ),
    "n in fractions of whole weights": Broken(
        GROUPS,
        "n differs from the cells in its fraction",
        {"state.n.fraction": True},
        payload=[5, 0, *numbers_of(GROUPS, slice(1, None))],
    ),
    "cells past 2**63": Broken(GROUPS, "past 2**63", numbers={17: 2**62, 18: 2**62}),
    "classes past 2**63": Broken(GROUPS, "n differs", numbers={17: 2**62, 20: 2**62}),
    "level of keys": Broken(GROUPS, "level", {"state.level": column(1, "uint64")}),
    "no level": Broken(NO_GROUPS, "level", {"state.level": column(0)}, payload=[0]),
    "two levels": Broken(NO_GROUPS, "level", {"state.level": column(2)}, payload=[0, 0, 0]),
    "level negative": Broken(GROUPS, "level -1", numbers={1: -1}),
    "level of 65": Broken(NAMES, "level 65", numbers={2: 12}),
    "a level without need": Broken(GROUPS, "level above the lowest", numbers={1: 1}),
    "a level of nothing": Broken(NO_GROUPS, "level above the lowest", numbers={1: 1}),
    "a level where one less would fit": Broken(
        NAMES, "level above the lowest that fits", {"config.budget": 4}
    ),
    "a wide cell at a level below": Broken(
        NAMES, "a cell is wider than its level", numbers={2: -1}
    ),
    "cells over budget": Broken(GROUPS, "cells over budget", {"config.budget": 3}),
    "cells of a group in falling order": Broken(
        GROUPS,
        "cells are out of order",
        numbers={
            10: key(0.9) - key(0.2),
            14: key(0.9) - key(0.2),
            11: key(0.2) - key(0.9),
            15: key(0.2) - key(0.9),
        },
    ),
    "a cell of a group twice": Broken(
        GROUPS,
        "cells are out of order",
        numbers={11: key(0.2) - key(0.9), 15: key(0.2) - key(0.9)},
    ),
    "groups of keys": Broken(GROUPS, "groups", {"state.groups": column(3, "uint64")}),
    "groups a shape": Broken(GROUPS, "field groups", {"state.groups": shape(3)}),
    "no groups of text": Broken(
        NO_GROUPS, "ids of no groups must be int64", {"state.groups": column(0, "text")}
    ),
    "groups in falling order": Broken(GROUPS, "groups are out of order", numbers={2: 5}),
    "a group twice": Broken(GROUPS, "groups are out of order", numbers={3: -4}),
    "names in falling order": Broken(NAMES, "groups are out of order", numbers={3: 6, 4: -6}),
    "a name twice": Broken(
        NAMES,
        "groups are out of order",
        numbers={3: 3, 4: -3, 5: int.from_bytes("日日".encode(), "little") - WORD},
    ),
    "a name that is no text": Broken(NAMES, "groups is not text", numbers={5: 0xFF - 0xE6}),
    "a name of a surrogate": Broken(
        NAMES, "groups is not text", numbers={4: -3, 5: 0x80A0ED - WORD}
    ),
    "names not padded": Broken(NAMES, "groups is not padded with zeros", numbers={5: 1 << 48}),
    "a name of another length": Broken(NAMES, "groups is not", numbers={4: -1}),
    "a name of negative length": Broken(NAMES, "groups declares more", numbers={3: -1, 4: 1}),
    "more groups than allowed": Broken(
        GROUPS, "more groups than there may be", {"config.max_groups": 2}
    ),
    "more groups than cells": Broken(GROUPS, "more groups than there may be", {"config.budget": 2}),
    "sizes of keys": Broken(GROUPS, "sizes", {"state.sizes": column(3, "uint64")}),
    "sizes of fewer groups": Broken(
        GROUPS,
        "sizes",
        {"state.sizes": column(2)},
        payload=[*numbers_of(GROUPS, slice(6)), 3, *numbers_of(GROUPS, slice(8, None))],
    ),
    "a size of 0": Broken(GROUPS, "sizes of other cells", numbers={5: -1, 6: 1}),
    "a size negative": Broken(GROUPS, "sizes of other cells", numbers={5: -2, 6: 2}),
    "sizes of fewer cells": Broken(GROUPS, "sizes of other cells", numbers={7: -1}),
    "sizes of more cells": Broken(GROUPS, "sizes of other cells", numbers={7: 1}),
    "sizes that wrap around": Broken(
        GROUPS, "sizes of other cells", numbers={5: 2**62, 6: 2**62, 7: 2**62}
    ),
    "lo of numbers": Broken(GROUPS, "the ends of the cells", {"state.lo": column(4)}),
    "lo that is no key": Broken(GROUPS, "lo holds no keys", numbers={8: 1, 12: 1}),
    "an empty cell": Broken(GROUPS, "an empty cell", numbers={16: 0, 20: -1, 22: 1}),
    "neg in fractions of nothing": Broken(
        NO_GROUPS,
        "neg has fractions of nothing",
        {"state.n.fraction": True, "state.neg.fraction": True},
        payload=[0, 0, 0],
    ),
}

BROKEN = {f"curve, {claim}": broken for claim, broken in CURVES.items()} | {
    f"groups, {claim}": broken for claim, broken in GROUPED.items()
}


@each("claim", BROKEN)
def test_table_is_refused_in_one_sentence_when_it_has(claim: str) -> None:
    with pytest.raises(se.CorruptStateError, match=re.escape(BROKEN[claim].reason)) as caught:
        se.from_bytes(BROKEN[claim].data())
    assert re.fullmatch(r"state is corrupt: [^\n]*[^.\n]\.", str(caught.value))


@each("name", [ONE, COARSE, WEIGHTED, CLASSES, NAMED, REAL, EMPTY, GROUPS, NAMES])
def test_table_sealed_again_without_a_change_is_read(name: str) -> None:
    assert se.from_bytes(Broken(name, "").data()) == EVERY[name]()


def require_lines(module: Any) -> dict[str, range]:
    """The calls of `require` in a module, by their text."""
    tree = ast.parse(inspect.getsource(module))
    return {
        ast.unparse(node): range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "require"
    }


def refusing_line(broken: Broken) -> tuple[str, int] | None:
    """The place of the rule that refuses a state, if it is one of a module of states."""
    try:
        se.from_bytes(broken.data())
    except se.CorruptStateError as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [
            (frame.filename, frame.lineno or 0) for frame in frames if frame.name != "require"
        ]
        return places[-1]
    return None


@each("module", [curve, grouped])
def test_every_rule_is_broken_by_a_case(module: Any) -> None:
    refused = {refusing_line(broken) for broken in BROKEN.values()}
    unbroken = [
        rule
        for rule, lines in require_lines(module).items()
        if not any((module.__file__, line) in refused for line in lines)
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
