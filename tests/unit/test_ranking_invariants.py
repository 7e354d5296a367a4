"""Every rule that a decoded ranking state must keep, broken alone under a right checksum."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each
from small_states import (
    EVERY,
    SKETCH_FIELDS,
    WEIGHTED_FIELDS,
    column_words,
    parse_words,
    seal_words,
)
from unit.test_curve_invariants import refusing_line, require_lines
from unit.test_hostile_bytes import fuzzed, refuse_or_use

import streameval as se
from streameval.states import ranking
from streameval.states.queries import MAX_ROWS

NAN = 0x7FF8 << 48
ABSENT = 2**64 - 1
BELOW = 0x000FFFFFFFFFFFFF + 1
"""The key of minus infinity: the grade of a judged document below every level."""


def key(number: float) -> int:
    """The key of a score, relevance or gain: its bits, in the order of the numbers."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return int(bits ^ (2**64 - 1 if bits >> 63 else 1 << 63))


def total(number: Fraction | float) -> dict[str, str]:
    """A sum as the header has it: in units of 2**-1074."""
    return {"exact_sum": f"{int(Fraction(number) * 2**1074):x}"}


def bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


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


STATES: dict[str, Callable[[], se.RankingAccumulator]] = EVERY | {
    "mapped": mapped,
    "powers": powers,
    "declared": declared,
    "graded": graded,
    "gains": gains,
    "weighted": weighted,
    "sketched": sketched,
}


@dataclass(frozen=True)
class Changed:
    """A state, what is changed about it, and the reason for which it must be refused.

    `fields` gives columns and counts of the payload anew, by name; `kinds` says what these
    columns claim to hold. Keys of `header` are ``part.field`` or ``part.field.item``.
    """

    state: str
    reason: str
    fields: dict[str, list[Any]] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def data(self) -> bytes:
        parsed = parse_words(STATES[self.state]().to_bytes())
        header, numbers, payload = parsed.settings, parsed.numbers, []
        for name in (*WEIGHTED_FIELDS, *SKETCH_FIELDS):
            if name not in header["state"]:
                continue
            described = header["state"][name]
            size = math.prod(described["shape"]) if "shape" in described else None
            size = column_words(described, numbers) if size is None else size
            words, numbers = numbers[:size], numbers[size:]
            if name in self.fields:
                words = _words(self.fields[name])
                if "column" in described:
                    described["length"] = len(self.fields[name])
                    if self.fields[name] and isinstance(self.fields[name][0], str):
                        described["column"] = "text"
            described.update({"column": self.kinds[name]} if name in self.kinds else {})
            payload += [word % 2**64 for word in words]
        for path, value in self.header.items():
            *way, last = path.split(".")
            place = header
            for step in way:
                place = place[step]
            place[last] = value
        return seal_words(header, struct.pack(f"<{len(payload)}Q", *payload), kind=parsed.kind)


def _words(items: list[Any]) -> list[int]:
    if not items or not isinstance(items[0], str):
        return items
    texts = [item.encode() for item in items]
    joined = b"".join(texts)
    joined += bytes(-len(joined) % 8)
    return [*map(len, texts), *struct.unpack(f"<{len(joined) // 8}Q", joined)]


# ranking: n 3, one query empty. open_queries: levels -inf and 1, queries -3 and 7 of 1 and 5 rows,
# judged 1 and 4, relevant 1 and 3, found all of these; kept 1 and 2 rows.
# tracked_queries: closed a, b, 日本, open c of 2 rows. query_values: closed -4 (empty), 5
# (missing), 9. mapped: kept 1 of 3 rows, gains 3 and 0.5.
ONE, OPEN, DOCUMENTS = "ranking", "open_queries", "open_documents"
TRACKED, VALUES, EMPTY = "tracked_queries", "query_values", "empty_ranking"
ONES = [key(1.0)]

NUMBERS = {
    "n negative": Changed(ONE, "n holds negative", {"n": [-1]}),
    "n of another shape": Changed(ONE, "n has shape", header={"state.n.shape": [1]}),
    "n in fractions": Changed(
        ONE, "fractions of some numbers", {"n": [3, 1]}, {"state.n.fraction": True}
    ),
    "missing negative": Changed(ONE, "missing holds negative", {"missing": [-1]}),
    "missing in fractions": Changed(
        TRACKED, "closed", {"missing": [0, 1]}, {"state.missing.fraction": True}
    ),
    "nothing in fractions": Changed(
        ONE, "fractions of some numbers", {"nothing": [0, 1]}, {"state.nothing.fraction": True}
    ),
    "nothing above n": Changed(ONE, "more empty than n", {"nothing": [4]}),
    "empty negative": Changed(ONE, "empty holds negative", {"empty": [1, -1, 1]}),
    "empty above n": Changed(ONE, "more empty than n", {"empty": [1, 4, 1]}),
    "empty of other measures": Changed(
        ONE, "empty has shape", {"empty": [1, 1]}, {"state.empty.shape": [2]}
    ),
    "empty in fractions": Changed(
        ONE,
        "fractions of some numbers",
        {"empty": [1, 1, 1, 1, 1, 1]},
        {"state.empty.fraction": True},
    ),
    "weights of fewer queries": Changed(
        "weighted",
        "weights has shape",
        {"closed_weights": [2]},
        {"state.closed_weights.shape": [1]},
    ),
    "a weight of nothing": Changed("weighted", "a query that does not count", {"weights": [0]}),
    "weights that need none": Changed("weighted", "weights that are all 1", {"weights": [1]}),
    "weights of another total": Changed("weighted", "closed", {"closed_weights": [2, 4]}),
    "weights of other values": Changed(
        "weighted", "values of other sums", {"closed_weights": [3, 2]}
    ),
    "sums of fewer measures": Changed(ONE, "sums", header={"state.sums": [total(1)]}),
    "squares that are numbers": Changed(ONE, "squares", header={"state.squares": [1, 1, 1]}),
    "lows that are no list": Changed(ONE, "lows", header={"state.lows": total(1)}),
    "highs that are labels": Changed(ONE, "highs", header={"state.highs": ["a", "b", "c"]}),
    "a sum below its low": Changed(
        ONE, "map passes its bounds", header={"state.lows": [total(1), total(0), total(0)]}
    ),
    "a sum above its high": Changed(
        ONE, "map passes its bounds", header={"state.highs": [total(0), total(1), total(1)]}
    ),
    "a sum above the queries": Changed(
        ONE, "map is out of range", header={"state.highs": [total(2.5), total(1), total(1)]}
    ),
    "a sum below 0": Changed(
        ONE, "map is out of range", header={"state.lows": [total(-1), total(0), total(0)]}
    ),
    "a logarithm above 0": Changed(
        VALUES, "gm_map is out of range", header={"state.highs": [total(1), total(1), total(1)]}
    ),
    "a logarithm of nothing": Changed(
        VALUES,
        "gm_map is out of range",
        header={"state.lows": [total(0), total(-12), total(0)]},
    ),
    "squares below the sum": Changed(
        ONE, "map passes its squares", header={"state.squares": [total(0.25)] * 3}
    ),
    "squares above the sum": Changed(
        ONE, "map has too large squares", header={"state.squares": [total(1)] * 3}
    ),
    "sums of nothing": Changed(
        EMPTY,
        "map is out of range",
        header={f"state.{name}": [total(1)] * 6 for name in ("sums", "squares", "lows", "highs")},
    ),
}

IDS = {
    "closed keys": Changed(TRACKED, "closed", {"closed": [1, 2, 3]}, kinds={"closed": "uint64"}),
    "no closed text": Changed(ONE, "closed of nothing must be int64", kinds={"closed": "text"}),
    "closed in falling order": Changed(
        TRACKED, "closed are out of order", {"closed": ["b", "a", "c"]}
    ),
    "closed twice": Changed(TRACKED, "closed are out of order", {"closed": ["a", "a", "b"]}),
    "closed where ids are not kept": Changed(ONE, "corrupt: closed", {"closed": [1, 2, 3]}),
    "closed of fewer queries": Changed(TRACKED, "corrupt: closed", {"closed": ["a", "b"]}),
    "ids of keys": Changed(OPEN, "ids", kinds={"ids": "uint64"}),
    "ids in falling order": Changed(OPEN, "ids are out of order", {"ids": [7, -3]}),
    "ids twice": Changed(OPEN, "ids are out of order", {"ids": [7, 7]}),
    "ids of no text": Changed(ONE, "ids of nothing must be int64", kinds={"ids": "text"}),
    "an id open and closed": Changed(TRACKED, "open and closed", {"ids": ["a"]}),
    "an open number among closed names": Changed(
        TRACKED, "ids of two types", {"ids": [7]}, kinds={"ids": "int64"}
    ),
    "too many open": Changed(
        OPEN, "more open queries than there may be", header={"config.max_open_queries": 1}
    ),
}

VALUES_OF_9 = [bits(0.375), bits(math.log(0.708)), bits(0.5833)]
KEPT = {
    "values that are not kept": Changed(TRACKED, "values", {"values": [0, 0, 0]}),
    "values of numbers": Changed(VALUES, "values", kinds={"values": "int64"}),
    "values of fewer queries": Changed(VALUES, "corrupt: values", {"values": [NAN] * 6}),
    "no values missing": Changed(
        VALUES, "values of missing queries", {"values": [NAN] * 6 + [bits(0.5)] * 3}
    ),
    "values missing twice": Changed(
        VALUES, "values of missing queries", {"values": [ABSENT] * 6 + [bits(0.5)] * 3}
    ),
    "another NaN": Changed(
        VALUES, "corrupt: values", {"values": [NAN + 1] * 3 + [ABSENT] * 3 + [bits(0.5)] * 3}
    ),
    "half a missing query": Changed(
        VALUES,
        "corrupt: values",
        {"values": [NAN, ABSENT, NAN] + [ABSENT] * 3 + [bits(0.5)] * 3},
    ),
    "infinite values": Changed(
        VALUES, "values are infinite", {"values": [NAN] * 3 + [ABSENT] * 3 + [bits(math.inf)] * 3}
    ),
    "values of an empty query": Changed(
        VALUES,
        "values of empty queries",
        {"values": [bits(0.5)] * 3 + [ABSENT] * 3 + [bits(0.5)] * 3},
    ),
    "values too large": Changed(
        VALUES, "values are too large", {"values": [NAN] * 3 + [ABSENT] * 3 + [bits(1e300)] * 3}
    ),
    "values of other sums": Changed(
        VALUES, "values of other sums", {"values": [NAN] * 3 + [ABSENT] * 3 + [bits(0.5)] * 3}
    ),
    "values of other squares": Changed(
        "gains", "values of other squares", header={"state.squares": [total(3)]}
    ),
}

COLUMNS = {
    "rows of keys": Changed(OPEN, "corrupt: rows", kinds={"rows": "uint64"}),
    "rows of fewer queries": Changed(OPEN, "corrupt: rows", {"rows": [1]}),
    "rows negative": Changed(OPEN, "rows is out of range", {"rows": [-1, 5]}),
    "rows of too many": Changed(OPEN, "rows is out of range", {"rows": [1, MAX_ROWS + 1]}),
    "declared below -1": Changed(OPEN, "declared is out of range", {"declared": [-1, -2]}),
    "declared of too many": Changed(
        "declared", "declared is out of range", {"declared": [MAX_ROWS + 1]}
    ),
    "relevant of one level": Changed(OPEN, "corrupt: relevant", {"relevant": [1, 3]}),
    "found of too many levels": Changed(OPEN, "corrupt: found", {"found": [1, 1, 4, 3, 0]}),
    "ranked_sizes of fewer queries": Changed(OPEN, "ranked_sizes", {"ranked_sizes": [3]}),
    "ranked_count of more cells": Changed(OPEN, "ranked_count", {"ranked_count": [1, 1, 1, 1]}),
    "gained_sizes of fewer queries": Changed(OPEN, "gained_sizes", {"gained_sizes": [3]}),
    "gained_count of fewer cells": Changed(OPEN, "gained_count", {"gained_count": [1, 1]}),
    "gained_found of fewer cells": Changed(OPEN, "gained_found", {"gained_found": [1, 1]}),
    "ranked_key of numbers": Changed(OPEN, "ranked_key", kinds={"ranked_key": "int64"}),
    "ranked_grade of numbers": Changed(OPEN, "ranked_grade", kinds={"ranked_grade": "int64"}),
    "ranked_grade of fewer cells": Changed(OPEN, "ranked_grade", {"ranked_grade": ONES * 2}),
    "gained_gain of numbers": Changed(OPEN, "gained_gain", kinds={"gained_gain": "int64"}),
    "documents that break no ties": Changed(
        OPEN, "ranked_document", {"ranked_document": [1, 2, 3]}
    ),
    "documents of fewer cells": Changed(
        DOCUMENTS, "ranked_document", {"ranked_document": ["a", "b"]}
    ),
    "documents of keys": Changed(
        DOCUMENTS, "documents", {"ranked_document": [3, 2, 1]}, kinds={"ranked_document": "uint64"}
    ),
    "no documents of text": Changed(OPEN, "documents", kinds={"ranked_document": "text"}),
    "ranked_sizes of other cells": Changed(
        OPEN, "ranked_sizes of other cells", {"ranked_sizes": [1, 1]}
    ),
    "gained_sizes of other cells": Changed(
        OPEN, "gained_sizes of other cells", {"gained_sizes": [2, 2]}
    ),
}

TOTALS = {
    "found above relevant": Changed(OPEN, "found passes", {"found": [1, 1, 5, 3]}),
    "found above the rows": Changed(
        OPEN, "found passes", {"found": [1, 1, 6, 3], "relevant": [1, 1, 6, 3]}
    ),
    "more relevant than judged": Changed(
        OPEN, "levels are out of order", {"relevant": [1, 2, 4, 3]}
    ),
    "found at a level but not below": Changed(
        OPEN, "levels are out of order", {"found": [1, 1, 2, 3]}
    ),
    "more left at a level than below": Changed(
        OPEN, "levels are out of order", {"found": [1, 1, 3, 1]}
    ),
    "declared too few": Changed("declared", "more relevant documents than", {"declared": [0]}),
    "rows of no cells": Changed(OPEN, "rows are not those of the cells", {"rows": [2, 5]}),
    "fewer rows than cells": Changed(
        OPEN, "rows are not those of the cells", {"rows": [1, 1], "found": [1, 1, 1, 1]}
    ),
    "found in no cell": Changed(TRACKED, "found in other cells", {"found": [0]}),
    "found among too few rows outside": Changed(
        OPEN,
        "found in other cells",
        {"found": [1, 1, 5, 5], "relevant": [1, 1, 5, 5], "ranked_grade": [key(1.0), BELOW, BELOW]},
    ),
    "found outside at a level but not below": Changed(
        OPEN, "levels outside are out of order", {"found": [1, 1, 3, 3]}
    ),
}

CELLS = {
    "a score that is no key": Changed(DOCUMENTS, "scores", {"ranked_key": [0, key(2), key(0.5)]}),
    "a score of NaN": Changed("powers", "scores", {"ranked_key": [key(3.0), 1]}),
    "a cell of nothing": Changed(OPEN, "cells of nothing", {"ranked_count": [1, 2, 0]}),
    "cells in rising order": Changed(
        OPEN, "cells are out of order", {"ranked_key": [key(1), key(0.5), key(0.75)]}
    ),
    "a cell twice": Changed(
        OPEN,
        "cells are out of order",
        {"ranked_key": [key(1), key(0.5), key(0.5)], "ranked_grade": [key(1), BELOW, BELOW]},
    ),
    "documents in rising order": Changed(
        "graded", "cells are out of order", {"ranked_document": [1, 2]}
    ),
    "grades in rising order": Changed(
        OPEN, "cells are out of order", {"ranked_key": [key(1), key(0.5), key(0.5)]}
    ),
    "more cells than asked for": Changed(
        OPEN,
        "rows that no measure asks for",
        {
            "ranked_sizes": [1, 3],
            "ranked_key": [key(1), key(0.75), key(0.5), key(0.25)],
            "ranked_grade": [key(1), BELOW, key(2), key(1)],
            "ranked_count": [1, 1, 1, 1],
        },
    ),
    "a document counted twice": Changed(
        DOCUMENTS,
        "documents that are there twice",
        {"ranked_count": [2, 1, 1], "rows": [2, 3], "found": [2, 2], "relevant": [2, 2]},
    ),
    "a document at two scores": Changed(
        DOCUMENTS, "`doc` must be distinct in a query", {"ranked_document": ["日", "b", "b"]}
    ),
    "a grade that is no key": Changed(OPEN, "grades", {"ranked_grade": [key(1), BELOW, 1]}),
    "a grade of no level": Changed(
        TRACKED, "grades that no measure asks for", {"ranked_grade": [0, key(2.0)]}
    ),
    "an infinite grade": Changed(
        OPEN, "grades that no measure asks for", {"ranked_grade": [key(1), BELOW, key(math.inf)]}
    ),
    "a grade that is not mapped": Changed(
        "mapped", "grades that no measure asks for", {"ranked_grade": [key(3.0)]}
    ),
    "a grade above that of err": Changed(
        DOCUMENTS, "grades are too high", {"ranked_grade": [key(2), key(5), key(1)]}
    ),
    "half a grade of err": Changed(
        DOCUMENTS, "grades are too high", {"ranked_grade": [key(2), key(2.5), key(1)]}
    ),
    "a power that no integer holds": Changed(
        "powers", "grades are too high", {"ranked_grade": [key(1), key(2.0**400)]}
    ),
    "a power of 63": Changed("powers", "grades are too high", {"ranked_grade": [key(1), key(63)]}),
}

GAINS = {
    "gains without a measure": Changed(
        TRACKED,
        "gains that no measure asks for",
        {"gained_sizes": [1], "gained_gain": ONES, "gained_count": [1], "gained_found": [1]},
    ),
    "a gain that is no key": Changed("declared", "corrupt: gains", {"gained_gain": [1]}),
    "a gain of 0": Changed("declared", "gains are out of range", {"gained_gain": [key(0.0)]}),
    "a gain past 2**400": Changed(
        "declared", "gains are out of range", {"gained_gain": [key(1e200)]}
    ),
    "a gain that is not mapped": Changed(
        "mapped", "gains that are not mapped", {"gained_gain": [key(2.0), key(0.5)]}
    ),
    "a gain of no power of two": Changed(
        "powers", "gains are not powers of two", {"gained_gain": [key(4.0), key(1)]}
    ),
    "a gain of 2**63": Changed(
        "powers", "gains are not powers of two", {"gained_gain": [key(2.0**63), key(1)]}
    ),
    "a gain of 2 where a number is declared": Changed(
        "declared", "gains other than 1 of a declared", {"gained_gain": [key(2.0)]}
    ),
    "gains of no document": Changed(
        OPEN, "gains of nothing", {"gained_count": [1, 1, 0], "gained_found": [1, 1, 0]}
    ),
    "gains found but not there": Changed(OPEN, "gains of nothing", {"gained_found": [1, 1, 3]}),
    "gains in rising order": Changed(
        OPEN, "gains are out of order", {"gained_gain": [key(1), key(1), key(2)]}
    ),
    "a gain twice": Changed(
        OPEN, "gains are out of order", {"gained_gain": [key(1), key(1), key(1)]}
    ),
    "more gains than asked for": Changed(
        DOCUMENTS,
        "gains that no measure asks for",
        {
            "gained_sizes": [1, 2],
            "gained_gain": [key(3), key(15), key(1)],
            "gained_count": [1, 1, 1],
            "gained_found": [1, 1, 1],
        },
    ),
    "gains found in no cell": Changed(
        OPEN, "gains are not those of the cells", {"gained_found": [1, 0, 2]}
    ),
    "gains of more rows than there are": Changed(
        "declared", "more gains than rows", {"gained_count": [2], "gained_found": [2]}
    ),
    "gains past the most rows": Changed(
        OPEN,
        f"past {MAX_ROWS}",
        {"gained_count": [1, MAX_ROWS, 2], "gained_found": [1, 1, 2]},
    ),
}

OPTIONS = {
    "a measure in another spelling": Changed(
        ONE, "canonical form", header={"config.measures": ["AP", "ndcg@2", "p@1"]}
    ),
    "policies in full": Changed(
        ONE, "canonical form", header={"config.empty": ["zero", "zero", "zero"]}
    ),
    "policies of fewer measures": Changed(ONE, "`empty` must be", header={"config.empty": ["one"]}),
    "gains out of order": Changed(
        "mapped",
        "canonical form",
        header={
            "config.gain": [
                [{"float64": struct.pack(">d", part).hex()} for part in pair]
                for pair in ((2, 3), (1, 0.5), (0, 0))
            ]
        },
    ),
    "gains that are no pairs": Changed("mapped", "corrupt", header={"config.gain": [1, 2]}),
}

# sketched: mrr in cells 0.5 of two and 1, p@1 in cells 0 of two and 1; no bounds of either
HALF = key(0.5)
SKETCHES = {
    "levels of fewer tables": Changed("sketched", "sketch_sizes", {"sketch_level": [0] * 3}),
    "cells of other tables": Changed("sketched", "sketch_sizes", {"sketch_sizes": [2] * 6}),
    "tables of fewer than no cells": Changed(
        "sketched", "sketch_sizes", {"sketch_sizes": [5, -1, 0, 0, 0, 0]}
    ),
    "a sketched cell of nothing": Changed(
        "sketched", "an empty cell", {"sketch_weight": [3, 0, 2, 1]}
    ),
    "a level that is not needed": Changed(
        "sketched", "level above the lowest", {"sketch_level": [1, 0, 0, 0, 0, 0]}
    ),
    "values of fewer queries": Changed(
        "sketched", "mrr of other queries", {"sketch_weight": [1, 1, 2, 1]}
    ),
    "bounds on one side": Changed(
        "sketched",
        "mrr with bounds on one side",
        {
            "sketch_sizes": [1, 1, 0, 2, 0, 0],
        },
    ),
    "bounds of a measure with a cutoff": Changed(
        "sketched",
        "p@1 needs no bounds",
        {
            "sketch_sizes": [2, 0, 0, 1, 1, 1],
            "sketch_lo": [HALF, key(1.0), key(0.0), key(1.0), key(1.0)],
            "sketch_hi": [HALF, key(1.0), key(0.0), key(1.0), key(1.0)],
            "sketch_weight": [2, 1, 2, 1, 1],
        },
        {"state.sketch_weight.shape": [5]},
    ),
    "a value above the range": Changed(
        "sketched",
        "mrr out of range",
        {
            "sketch_lo": [HALF, key(2.0), key(0.0), key(1.0)],
            "sketch_hi": [HALF, key(2.0), key(0.0), key(1.0)],
        },
    ),
    "a sketch in fractions that are 0": Changed(
        "sketched",
        "sketch_weight has no fraction",
        {"sketch_weight": [2, 1, 2, 1, 0, 0, 0, 0]},
        {"state.sketch_weight.fraction": True},
    ),
}

BROKEN = NUMBERS | IDS | KEPT | COLUMNS | TOTALS | CELLS | GAINS | OPTIONS | SKETCHES


@each("claim", BROKEN)
def test_state_is_refused_in_one_sentence_when_it_has(claim: str) -> None:
    with pytest.raises(se.CorruptStateError, match=re.escape(BROKEN[claim].reason)) as caught:
        se.from_bytes(BROKEN[claim].data())
    assert re.fullmatch(r"state is corrupt: [^\n]*[^.\n]\.", str(caught.value))


@each("name", [ONE, OPEN, DOCUMENTS, TRACKED, VALUES, EMPTY, *sorted(STATES.keys() - EVERY.keys())])
def test_state_sealed_again_without_a_change_is_read(name: str) -> None:
    assert se.from_bytes(Changed(name, "").data()) == STATES[name]()


def test_every_rule_is_broken_by_a_case() -> None:
    refused = {refusing_line(broken) for broken in BROKEN.values()}
    unbroken = [
        rule
        for rule, lines in require_lines(ranking).items()
        if not any((ranking.__file__, line) in refused for line in lines)
    ]
    assert unbroken == []


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
    every = (*WEIGHTED_FIELDS, *SKETCH_FIELDS)
    columns = (field for field in every if hasattr(getattr(state, field), "values"))
    return {field: getattr(state, field).values.tolist() for field in columns}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STATES if STATES[name]().type_id == 6])
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
            place, times = data.draw(st.integers(0, len(items) - 1)), data.draw(st.integers(0, 2))
            for other in next((group for group in LINKED if field in group), (field,)):
                held = columns[other]
                held[place : place + 1] = held[place : place + 1] * times
                changed[other] = held
    refuse_or_use(Changed(name, "", changed).data())
