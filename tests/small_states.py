"""Small accumulators of every kind of state, and a reader and writer of their bytes.

The reader and writer follow the published layout and share no code with the library.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streameval as se

MAGIC = bytes.fromhex("89 53 45 56 4C 0D 0A 1A")
PREFIX_SIZE = 28


@dataclass(frozen=True)
class Parsed:
    """State bytes, taken apart."""

    magic: bytes
    version: int
    kind: int
    header_size: int
    payload_size: int
    checksum: int
    header: bytes
    payload: bytes

    @property
    def settings(self) -> Any:
        return json.loads(self.header)

    @property
    def numbers(self) -> list[int]:
        """The words of a payload of version 1."""
        return list(struct.unpack(f"<{len(self.payload) // 8}q", self.payload))


def parse(data: bytes) -> Parsed:
    prefix = struct.unpack("<8sHHIQI", data[:PREFIX_SIZE])
    end = PREFIX_SIZE + prefix[3]
    return Parsed(*prefix, header=data[PREFIX_SIZE:end], payload=data[end:])


def seal(
    header: Any,
    payload: bytes | list[int],
    *,
    kind: int = 1,
    version: int = 2,
    header_size: int | None = None,
    payload_size: int | None = None,
) -> bytes:
    """Write bytes of version 2 whose checksum is right, whatever they hold."""
    text = header if isinstance(header, bytes) else canonical(header)
    body = payload if isinstance(payload, bytes) else struct.pack(f"<{len(payload)}q", *payload)
    sizes = (
        len(text) if header_size is None else header_size,
        len(body) if payload_size is None else payload_size,
    )
    prefix = struct.pack("<8sHHIQ", MAGIC, version, kind, *sizes)
    return prefix + struct.pack("<I", zlib.crc32(prefix + text + body)) + text + body


def parse_words(data: bytes) -> Parsed:
    """Take bytes apart as if version 1 had written them: in words, which are easy to change."""
    return parse(widened(data))


def seal_words(header: Any, payload: bytes | list[int], *, kind: int = 1) -> bytes:
    """Write bytes of version 1 whose checksum is right, whatever they hold."""
    return seal(header, payload, kind=kind, version=1)


def widened(data: bytes) -> bytes:
    """Write bytes of version 2 as version 1 did."""
    parsed = parse(data)
    header, payload, rest = parsed.settings, b"", parsed.payload
    for name in payload_fields(header["state"]):
        described = header["state"][name]
        if "shape" in described:
            widths = described.pop("widths")
            described["fraction"] = len(widths) == 2
            for width in widths:
                numbers, rest = _integers(rest, math.prod(described["shape"]), width, "u")
                payload += _words(numbers)
            continue
        width, column = described.pop("width"), described["column"]
        letter = "i" if column == "int64" else "u"
        numbers, rest = _integers(rest, described["length"], width, letter)
        if "above" in described:
            lo = payload[-8 * len(numbers) :] if numbers else b""
            below, _ = _integers(lo, len(numbers), 8, "u")
            numbers = [a + b for a, b in zip(numbers, below, strict=True)]
            del described["above"]
        payload += _words(numbers)
        if column in ("text", "bytes"):
            size = sum(numbers)
            pieces, rest = rest[:size], rest[size:]
            if column == "bytes":
                ends = list(itertools.accumulate(numbers, initial=0))
                pieces = [widened(pieces[a:b]) for a, b in itertools.pairwise(ends)]
                payload = payload[: -8 * len(numbers)] + _words([len(one) for one in pieces])
                size, pieces = sum(map(len, pieces)), b"".join(pieces)
            payload += pieces + bytes(-size % 8)
    assert not rest
    return seal(header, payload, kind=parsed.kind, version=1)


def narrowed(data: bytes) -> bytes:
    """Write bytes of version 1 as version 2 does, if they are whole."""
    parsed = parse(data)
    assert data == seal(parsed.header, parsed.payload, kind=parsed.kind, version=1)
    header, payload, rest = parsed.settings, b"", parsed.payload
    last: list[int] = []
    for name in payload_fields(header["state"]):
        described = header["state"][name]
        if "shape" in described:
            size, described["widths"] = math.prod(described["shape"]), []
            fraction = described.pop("fraction")
            assert type(fraction) is bool
            for _ in range(1 + fraction):
                numbers, rest = _integers(rest, size, 8, "u")
                width, narrow = _narrow(numbers, "u")
                described["widths"].append(width)
                payload += narrow
            continue
        column = described["column"]
        letter = "i" if column == "int64" else "u"
        numbers, rest = _integers(rest, described["length"], 8, letter)
        own = numbers
        if name in ("hi", "sketch_hi"):
            described["above"] = name.replace("hi", "lo")
            numbers = [(hi - lo) % 2**64 for hi, lo in zip(numbers, last, strict=True)]
        pieces = b""
        if column in ("text", "bytes"):
            size = sum(numbers)
            padding = -size % 8
            pieces, end, rest = rest[:size], rest[size : size + padding], rest[size + padding :]
            assert len(pieces) == size
            assert end == bytes(padding)
            if column == "bytes":
                ends = list(itertools.accumulate(numbers, initial=0))
                inner = [narrowed(pieces[a:b]) for a, b in itertools.pairwise(ends)]
                numbers, pieces = [len(one) for one in inner], b"".join(inner)
        least = 4 if column in ("text", "bytes") else 1
        described["width"], narrow = _narrow(numbers, letter, least)
        payload += narrow + pieces
        last = own
    assert not rest
    return seal(header, payload, kind=parsed.kind)


def payload_fields(described: dict[str, Any]) -> tuple[str, ...]:
    """The fields of a state that stand in the payload, in order."""
    held = {
        name
        for name, value in described.items()
        if isinstance(value, dict) and not value.keys() & {"exact_sum", "float64"}
    }
    sketched = (*RANKING_FIELDS, *SKETCH_FIELDS)
    every = (*FIELDS.values(), ("n", "outcomes"), WEIGHTED_FIELDS, sketched)
    return next(fields for fields in every if held == {*fields})


def _integers(data: bytes, count: int, width: int, letter: str) -> tuple[list[int], bytes]:
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[width]
    code = code.upper() if letter == "u" else code
    numbers = struct.unpack(f"<{count}{code}", data[: count * width])
    return list(numbers), data[count * width :]


def _words(numbers: list[int]) -> bytes:
    return b"".join((number % 2**64).to_bytes(8, "little") for number in numbers)


def _narrow(numbers: list[int], letter: str, least: int = 1) -> tuple[int, bytes]:
    """Write numbers in as few bytes each as hold all of them."""
    for width in (1, 2, 4, 8):
        low, high = (0, 2 ** (8 * width)) if letter == "u" else (-(2 ** (8 * width - 1)),) * 2
        high = high if letter == "u" else -low
        if width >= least and all(low <= number < high for number in numbers):
            break
    signed = letter == "i"
    return width, b"".join(one.to_bytes(width, "little", signed=signed) for one in numbers)


def canonical(header: Any) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")


def binary() -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator().update([1, 0, 1, 1], [0.9, 0.7, 0.2, 0.5])


def met() -> se.ConfusionAccumulator:
    """Observed strings, with weights that have fractions."""
    accumulator = se.ConfusionAccumulator("auto")
    return accumulator.update(["b", "日本", "a"], ["b", "a", "a"], sample_weight=[0.25, 2, 1.1])


def top_k() -> se.ConfusionAccumulator:
    scores = [[0.2, 0.4, 0.4], [0.3, 0.3, 0.3], [0.1, 0.2, 0.7]]
    return se.ConfusionAccumulator(3, top_k=2).update([0, 1, 2], scores)


def multilabel() -> se.ConfusionAccumulator:
    accumulator = se.ConfusionAccumulator(["x", "y", "z"], multilabel=True)
    return accumulator.update([[0, 1, 1], [1, 1, 0]], [[0, 1, 1], [1, 0, 1]])


def ignoring() -> se.ConfusionAccumulator:
    accumulator = se.ConfusionAccumulator(2, multilabel=True, ignore_label=-1)
    return accumulator.update([[0, -1], [1, 1]], [[0, 1], [0, 1]], sample_weight=[0.5, 3])


def samples() -> se.ConfusionAccumulator:
    """Three patterns: tp, fp, fn, tn of 1, 0, 0, 2; 1, 1, 0, 1; and 1, 1, 1, 0."""
    accumulator = se.ConfusionAccumulator(3, multilabel=True, measures=["samples"])
    truth, prediction = [[1, 0, 0], [1, 1, 0], [0, 0, 1]], [[1, 0, 0], [1, 0, 1], [0, 1, 1]]
    return accumulator.update(truth, prediction, sample_weight=[2, 1, 3])


def best_scores() -> se.ConfusionAccumulator:
    """Precision among the best two scores, one of them tied."""
    scores = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]
    accumulator = se.ConfusionAccumulator(3, top_k=2, measures=["top_k"])
    return accumulator.update([1, 2, 0, 2], scores, sample_weight=[1, 2, 3, 4])


SMALL: dict[str, Callable[[], se.ConfusionAccumulator]] = {
    "binary": binary,
    "met": met,
    "top_k": top_k,
    "multilabel": multilabel,
    "ignoring": ignoring,
    "samples": samples,
    "best_scores": best_scores,
    "empty": se.ConfusionAccumulator,
    "empty_met": lambda: se.ConfusionAccumulator("auto"),
}


def regression() -> se.RegressionAccumulator:
    truth, prediction = [3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]
    return se.RegressionAccumulator().update(truth, prediction, sample_weight=[1, 0.5, 2, 3])


def measured() -> se.RegressionAccumulator:
    """Terms, extremes, and more distinct errors than cells."""
    truth, prediction = [3.0, 0.5, 2.0, 7.0, 1.0], [2.5, 1.0, 2.0, 8.0, 4.0]
    measures = ["mape", "huber(delta=0.75)", "max_error", "nrmse_range", "pearson"]
    accumulator = se.RegressionAccumulator([*measures, "median_absolute_error"], budget=3)
    return accumulator.update(truth, prediction, sample_weight=[1, 0.5, 2, 3, 1])


def outputs() -> se.RegressionAccumulator:
    """Two outputs, of which one has more distinct errors than cells."""
    truth, prediction = (
        [[3.0, 1], [0.5, 2], [2.0, 3], [7.0, 4]],
        [[2.5, 1], [1.0, 2], [2, 3], [4, 5]],
    )
    measures = ["mape", "max_error", "median_absolute_error"]
    accumulator = se.RegressionAccumulator(measures, budget=2, outputs=2)
    return accumulator.update(truth, prediction, sample_weight=[1, 0.5, 2, 3])


def calibration() -> se.CalibrationAccumulator:
    accumulator = se.CalibrationAccumulator(3)
    return accumulator.update([1, 0, 1, 1, 0], [0.9, 0.1, 0.5, 0.0, 0.75])


def calibration_moments() -> se.CalibrationAccumulator:
    """The second moments of losses too."""
    acc = se.CalibrationAccumulator(bins=2, intervals=True)
    return acc.update([0, 1, 1], [0.25, 0.75, 0.5], sample_weight=[1, 2, 1])


def class_calibration() -> se.CalibrationAccumulator:
    """Strings, with weights that have fractions."""
    accumulator = se.CalibrationAccumulator(2, ["x", "日本", "y"])
    scores = [[0.25, 0.5, 0.25], [0.0, 0.1, 0.9], [0.5, 0.5, 0.0]]
    return accumulator.update(["日本", "x", "x"], scores, sample_weight=[0.5, 2, 1.1])


def curve() -> se.PRCurveSketch:
    return se.PRCurveSketch().update([0, 0, 1, 1, 1], [0.1, 0.75, 0.35, 0.75, 1.0])


def coarse_curve() -> se.PRCurveSketch:
    """More distinct scores than cells: 0.1 and 0.375 alone, the rest in a cell of several."""
    truth, score = [0, 1, 0, 1, 0, 1], [0.1, 0.375, 0.5, 0.625, 0.75, 0.625]
    return se.PRCurveSketch(3).update(truth, score, sample_weight=[1, 2, 1, 1, 3, 1])


def weighted_curve() -> se.PRCurveSketch:
    """Weights that have fractions, over budget."""
    truth, score = [1, 0, 1, 1], [0.2, 0.3, 0.9, 0.95]
    return se.PRCurveSketch(2).update(truth, score, sample_weight=[0.5, 2, 1.1, 0.25])


def class_curves() -> se.PRCurveSketch:
    """Three classes, of which one is over budget and one has no positive."""
    scores = [[0.25, 0.5, 0.25], [0.0, 0.5, 0.5], [0.75, 0.0, 0.25], [1.0, 0.0, 0.0]]
    return se.PRCurveSketch(3, classes=["x", "日本", "y"]).update(
        ["日本", "x", "x", "日本"], scores
    )


def paired_curves() -> se.PRCurveSketch:
    """Three classes against each other, of which one has no positive."""
    scores = [[0.25, 0.5, 0.25], [0.0, 0.5, 0.5], [0.75, 0.0, 0.25], [1.0, 0.0, 0.0]]
    sketch = se.PRCurveSketch(2, classes=3, measures=["one_vs_one"])
    return sketch.update([1, 0, 0, 1], scores, sample_weight=[1, 2, 3, 0.5])


def label_curves() -> se.PRCurveSketch:
    accumulator = se.PRCurveSketch(4, classes=2, multilabel=True)
    return accumulator.update([[0, 1], [1, 1], [0, 0]], [[0.5, 0.9], [0.5, 0.1], [0.25, 0.1]])


def curves_with_gaps() -> se.PRCurveSketch:
    """Two labels, of which one is unknown in a row."""
    accumulator = se.PRCurveSketch(4, classes=2, multilabel=True, ignore_label=-1)
    return accumulator.update([[0, 1], [1, -1], [0, 0]], [[0.5, 0.9], [0.5, 0.1], [0.25, 0.1]])


def named_curve() -> se.PRCurveSketch:
    """Two named labels, and a row left out for a score of NaN."""
    accumulator = se.PRCurveSketch(pos_label="日本", nan="skip")
    return accumulator.update(["日本", "x", "x"], [0.9, 0.2, float("nan")])


def real_curve() -> se.PRCurveSketch:
    truth, score = [0, 1, 0, 1], [float("-inf"), -0.5, 2.0, float("inf")]
    return se.PRCurveSketch(None, scores="real").update(truth, score)


def grouped() -> se.GroupedAUC:
    accumulator = se.GroupedAUC(8)
    return accumulator.update([0, 1, 1, 0, 1], [0.2, 0.2, 0.9, 0.5, 0.4], [7, 7, 7, -1, 3])


def coarse_groups() -> se.GroupedAUC:
    """Strings, weights that have fractions, more distinct scores than cells."""
    accumulator = se.GroupedAUC(3, scores="real", group_weight="positives", max_groups=2)
    truth, score, group = [0, 1, 1, 0, 1], [-1, 2, 3, 2.5, 4], ["日本", "", "日本", "日本", ""]
    return accumulator.update(truth, score, group, sample_weight=[0.5, 2, 1.1, 1, 1])


def catalog() -> se.CatalogAccumulator:
    accumulator = se.CatalogAccumulator(9, k=2)
    return accumulator.update([[7, -1, 3], [7, 7, 5]])


def popular_catalog() -> se.CatalogAccumulator:
    """Strings, weights that have fractions, popularities."""
    accumulator = se.CatalogAccumulator(3, k=None, popularity=True)
    return accumulator.update(
        ["日本", "", "日本"], popularity=[0.5, 1.0, 0.25], sample_weight=[0.5, 2, 1.1]
    )


def values() -> se.MeanAccumulator:
    return se.MeanAccumulator(quantiles=[0.5]).update([1.5, -2.0, 0.25, 0.25])


def value_columns() -> se.MeanAccumulator:
    """Gaps of either column and of both, weights with fractions, cells past the budget."""
    nan = float("nan")
    accumulator = se.MeanAccumulator(["x", "日本"], quantiles=[0.5], budget=2, nan="skip")
    batch = {"x": [1.0, nan, 2.0, nan, -4.0], "日本": [nan, 3.5, 0.5, nan, 0.25]}
    return accumulator.update(batch, sample_weight=[0.5, 2, 1, 3, 1.1])


def preferences() -> se.PreferencesAccumulator:
    accumulator = se.PreferencesAccumulator(["x", "y", "日本"])
    return accumulator.update(["x", "y", "日本"], ["y", "日本", "x"], [1, 0.5, 0])


def weighted_preferences() -> se.PreferencesAccumulator:
    """Weights that have fractions, names of their own."""
    accumulator = se.PreferencesAccumulator({3: "three", 5: "five"})
    return accumulator.update([3, 5, 3], [5, 3, 5], [1, 1, 0.5], sample_weight=[0.5, 2, 1.1])


def ranking() -> se.RankingAccumulator:
    """Complete queries: one with nothing to find, one with a document that was not retrieved."""
    accumulator = se.RankingAccumulator(["map", "ndcg@2", "p@1"])
    relevance = [[1, 0, 3], [0, 0, 0], [0, 2, 1]]
    score = [[0.5, 0.5, 0.25], [0.5, 0.25, 0], [3, 2, 1]]
    retrieved = [[True, True, True], [True, True, True], [True, True, False]]
    return accumulator.update(relevance, score, retrieved=retrieved)


def open_queries() -> se.RankingAccumulator:
    """Rows of two queries that go on, one past the rows that are kept, and a complete query."""
    accumulator = se.RankingAccumulator(
        ["map", "ndcg", "hit@1", "bpref"], rows_per_query=2, max_open_queries=3
    )
    accumulator.update([[1.0, 0.0]], [[0.5, 0.25]])
    relevance = [1, 0, 2, 1, float("nan"), 1]
    score = [0.25, 0.75, 0.5, 0.125, 0.0625, 1.0]
    return accumulator.update(relevance, score, query=[7, 7, 7, 7, 7, -3], partial=True)


def open_documents() -> se.RankingAccumulator:
    """The same of strings, with documents that break ties."""
    accumulator = se.RankingAccumulator(
        ["mrr", "dcg@1", "err@2", "rprec"], ties="docid_desc", gain="exp2", rows_per_query=1
    )
    return accumulator.update(
        *([1, 0, 2, 4], [0.5, 0.5, 0.5, 2]),
        query=["日本", "日本", "", "日本"],
        doc=["b", "a", "日", "c, d"],
        partial=True,
    )


def tracked_queries() -> se.RankingAccumulator:
    """Queries whose ids are kept: two complete ones, one missing, one open."""
    accumulator = se.RankingAccumulator(["mrr@2", "r@1", "set_f"], track_queries=True)
    accumulator.update([1, 0, 0], [0.5, 0.25, 1], query=["b", "b", "a"]).add_missing(["日本"])
    return accumulator.update([0, 1], [2, 1], query=["c", "c"], num_relevant={"c": 3}, partial=True)


def query_values() -> se.RankingAccumulator:
    """Queries whose values are kept too: one without an answer, one missing."""
    accumulator = se.RankingAccumulator(
        ["map@2", "gm_map", "lrap"], per_query=True, empty={"lrap": "one"}, missing="skip"
    )
    accumulator.update([[1, 0, 1], [0, 0, 0]], [[0.5, 0.5, 0.25], [2, 1, 0]], query=[9, -4])
    return accumulator.add_missing([5])


def collection() -> se.Collection:
    """Three members, of which one is a collection, and has a member like one of the others."""
    inner = se.Collection({"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(2)})
    members = {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator(), "inner": inner}
    renamed = {"fit": {"y_pred": "日本", "sample_weight": "w"}, "inner": {"y_score": "日本"}}
    batch = {
        "y_true": [0, 1, 1, 0],
        "y_pred": [0, 1, 0, 1],
        "日本": [0.25, 0.75, 0.5, 0.125],
        "w": [1, 0.5, 2, 1],
    }
    return se.Collection(members, columns=renamed).update(batch)


def paired() -> se.Paired:
    """Strings, with weights that have fractions."""
    accumulator = se.Paired(["x", "日本", "y"], ignore_label="y")
    truth, a, b = ["日本", "x", "x", "y"], ["日本", "x", "y", "x"], ["x", "x", "x", "y"]
    return accumulator.update(truth, a, b, sample_weight=[0.5, 2, 1.1, 1])


def paired_errors() -> se.Paired:
    """Squared and absolute errors of two models of numbers."""
    acc = se.Paired(None, measures=["mse", "mae"])
    return acc.update([1.0, 2.5, -3.0], [1.5, 2.5, -1.0], [1.0, 2.0, -4.5], sample_weight=[1, 2, 1])


def paired_values() -> se.Paired:
    """Values of two models without a truth, of either sign."""
    acc = se.Paired(None, measures=["score"])
    return acc.update([1.0, -2.5, 3.0], [0.5, 2.0, -4.5], sample_weight=[1, 2, 0.5])


def paired_gaps() -> se.Paired:
    """Values of two models, of which a row lacks one."""
    acc = se.Paired(None, measures=["loss"], nan="skip")
    return acc.update([1.0, float("nan"), 3.0], [0.5, 2.0, -4.5], sample_weight=[1, 2, 0.5])


def paired_scores() -> se.Paired:
    """Two scores of each row, whose pairs have been merged."""
    accumulator = se.Paired(measures=["recall", "roc_auc", "brier"], budget=2)
    a, b = [0.1, 0.6, 0.3, 0.7], [0.2, 0.25, 0.8, 0.75]
    return accumulator.update([0, 1, 0, 1], a, b, sample_weight=[0.5, 2, 1, 1])


def sliced() -> se.Sliced:
    """Two slices and the rows of two values more; each is counted by two members."""
    members = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(2)}
    inner = se.Collection(members, columns={"curve": {"y_score": "日本"}})
    batch = {
        "y_true": [0, 1, 1, 0, 1, 1],
        "y_pred": [0, 1, 0, 1, 1, 0],
        "日本": [0.25, 0.75, 0.5, 0.125, 0.5, 1.0],
        "city": ["Bonn", "Rom", None, "7", 7, "Bonn"],
        "sample_weight": [1, 0.5, 2, 1, 1, 1],
    }
    return se.Sliced(inner, "city", values=["Bonn"], max_values=3).update(batch)


def clustered() -> se.Clustered:
    """Clusters in two groups or more, each counted by two members."""
    inner = sliced().options["accumulator"]
    batch = {
        "y_true": [0, 1, 1, 0],
        "y_pred": [0, 1, 0, 1],
        "日本": [0.25, 0.75, 0.5, 0.125],
        "user": [7, 7, -1, 2**40],
        "sample_weight": [1, 0.5, 2, 1],
    }
    return se.Clustered(inner, by="user", groups=10).update(batch)


def clustered_members() -> se.Collection:
    """Clusters of one member and of two, beside one without."""
    inner = se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()})
    members = {
        "users": se.Clustered(se.ConfusionAccumulator(), by="user", groups=10),
        "questions": se.Clustered(inner, by="id", groups=10),
        "plain": se.ConfusionAccumulator(),
    }
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "user": ["a", "b", "a"], "日本": [1, 2, 3]}
    return se.Collection(members, columns={"questions": {"id": "日本"}}).update(batch)


def sliced_clustered_members() -> se.Sliced:
    """Slices of clusters of one member and of two, beside one without."""
    inner = clustered_members().reset()
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "user": ["a", "b", "a"], "日本": [1, 2, 3]}
    return se.Sliced(inner, "city").update(batch | {"city": ["Bonn", "Rom", "Rom"]})


def sliced_clusters() -> se.Sliced:
    """Clusters in slices."""
    inner = se.Clustered(se.ConfusionAccumulator(), by="user", groups=10)
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "user": ["a", "b", "a"]}
    return se.Sliced(inner, "city").update(batch | {"city": ["Bonn", "Rom", "Rom"]})


def windowed_clusters() -> se.Windowed:
    """Clusters in slices in panes."""
    inner = sliced_clusters()
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "user": [1, 2, 1]}
    windowed = se.Windowed(inner.reset(), pane=10)
    return windowed.update(batch | {"city": ["Bonn", "Rom", "Rom"], "time": [1, 2, 11]})


def windowed() -> se.Windowed:
    """Panes of two widths, one of them without labels, and what is before them."""
    batch = {
        "y_true": [1, 2, 3, 4, None],
        "y_pred": [2, 2, 5, 1, 0],
        "time": [199, 121, 95, 7, 155],
    }
    fit = se.RegressionAccumulator()
    return se.Windowed(fit, pane=10, keep=50, rollups=[(40, 110)], offset=3).update(batch)


def windowed_slices() -> se.Windowed:
    """Slices in panes of time."""
    inner = se.Sliced(se.ConfusionAccumulator(), ["city", "w"], max_values=2)
    batch = {
        "y_true": [0, 1, 1, 0],
        "y_pred": [0, 1, 0, 1],
        "city": ["Bonn", "Rom", None, "Rom"],
        "w": [1, 2, 3, 4],
        "time": [0, 59.5, 60, 61.25],
    }
    return se.Windowed(inner, pane="1m", unit="s").update(batch)


EVERY: dict[str, Callable[[], Any]] = SMALL | {
    "calibration": calibration,
    "class_calibration": class_calibration,
    "calibration_moments": calibration_moments,
    "collection": collection,
    "empty_collection": lambda: se.Collection({"fit": se.RegressionAccumulator()}),
    "empty_calibration": se.CalibrationAccumulator,
    "curve": curve,
    "coarse_curve": coarse_curve,
    "weighted_curve": weighted_curve,
    "class_curves": class_curves,
    "paired_curves": paired_curves,
    "label_curves": label_curves,
    "curves_with_gaps": curves_with_gaps,
    "named_curve": named_curve,
    "real_curve": real_curve,
    "empty_curve": se.PRCurveSketch,
    "empty_class_curves": lambda: se.PRCurveSketch(classes=3),
    "grouped": grouped,
    "coarse_groups": coarse_groups,
    "empty_grouped": se.GroupedAUC,
    "catalog": catalog,
    "popular_catalog": popular_catalog,
    "empty_catalog": lambda: se.CatalogAccumulator(3),
    "values": values,
    "value_columns": value_columns,
    "plain_values": lambda: se.MeanAccumulator().update([1.0, -2.0]),
    "empty_values": lambda: se.MeanAccumulator(["a", "b"], quantiles=[0.5]),
    "preferences": preferences,
    "weighted_preferences": weighted_preferences,
    "empty_preferences": lambda: se.PreferencesAccumulator(2),
    "paired": paired,
    "paired_scores": paired_scores,
    "paired_errors": paired_errors,
    "paired_values": paired_values,
    "paired_gaps": paired_gaps,
    "empty_paired": lambda: se.Paired("auto"),
    "ranking": ranking,
    "open_queries": open_queries,
    "open_documents": open_documents,
    "tracked_queries": tracked_queries,
    "query_values": query_values,
    "empty_ranking": se.RankingAccumulator,
    "regression": regression,
    "empty_regression": se.RegressionAccumulator,
    "measured": measured,
    "empty_measured": lambda: se.RegressionAccumulator(["max_error", "mape"]),
    "outputs": outputs,
    "empty_outputs": lambda: se.RegressionAccumulator(outputs=2),
    "sliced": sliced,
    "empty_sliced": lambda: se.Sliced(se.RegressionAccumulator(), "city"),
    "clustered": clustered,
    "clustered_members": clustered_members,
    "sliced_clusters": sliced_clusters,
    "sliced_clustered_members": sliced_clustered_members,
    "windowed_clusters": windowed_clusters,
    "empty_clustered": lambda: se.Clustered(se.RegressionAccumulator(), by="user"),
    "windowed": windowed,
    "windowed_slices": windowed_slices,
    "empty_windowed": lambda: se.Windowed(se.RegressionAccumulator(), pane=1),
}

GROUPED = (
    *("sliced", "empty_sliced", "windowed", "windowed_slices", "empty_windowed"),
    *("clustered", "clustered_members", "sliced_clusters", "windowed_clusters", "empty_clustered"),
    "sliced_clustered_members",
)
"""States of groups, which version 1 does not have."""

ONCE = ("open_documents", "tracked_queries", "query_values")
"""States that are not merged with themselves: a query or a document would be counted twice."""

CURVE_FIELDS = ("n", "skipped", "levels", "sizes", "lo", "hi", "pos", "neg")
MEASURED_FIELDS = ("n", "extremes", "level", "lo", "hi", "weight")
OUTPUT_FIELDS = ("n", "extremes", "levels", "sizes", "lo", "hi", "weight")
GROUPED_FIELDS = ("n", "level", "groups", "sizes", "lo", "hi", "pos", "neg")
CATALOG_FIELDS = ("n", "items", "exposures")
RANKING_FIELDS = (
    *("n", "missing", "nothing", "empty", "closed", "values"),
    *("ids", "rows", "declared", "relevant", "found"),
    *("ranked_sizes", "ranked_key", "ranked_document", "ranked_grade", "ranked_count"),
    *("gained_sizes", "gained_gain", "gained_count", "gained_found"),
)
WEIGHTED_FIELDS = (*RANKING_FIELDS, "weights", "closed_weights")
SKETCH_FIELDS = ("sketch_level", "sketch_sizes", "sketch_lo", "sketch_hi", "sketch_weight")
SLICED_FIELDS = ("accumulator", "values", "lengths", "codes", "others", "leaves")
CLUSTERED_FIELDS = ("group_lengths", "groups", "leaves")
PANE_FIELDS = ("accumulator", "newest", "tiers", "panes", "rows", "labelled")
VALUE_FIELDS = (
    *("n", "skipped", "counts", "lowest", "highest", "levels", "sizes", "lo", "hi", "weight"),
)

FIELDS = {
    "binary": ("n", "matrix", "credit"),
    "met": ("n", "matrix"),
    "top_k": ("n", "matrix", "credit"),
    "multilabel": ("n", "outcomes", "exact_match"),
    "ignoring": ("n", "outcomes", "exact_match"),
    "samples": ("n", "outcomes", "exact_match", "patterns", "examples"),
    "best_scores": ("n", "matrix", "credit", "top_hits", "top_misses"),
    "empty": ("n", "matrix", "credit"),
    "empty_met": ("n", "matrix"),
    "calibration": ("n", "clipped", "weight", "hits", "class_weight"),
    "class_calibration": ("n", "clipped", "weight", "hits", "class_weight"),
    "calibration_moments": ("n", "clipped", "weight", "hits", "class_weight"),
    "collection": ("members",),
    "empty_collection": ("members",),
    "empty_calibration": ("n", "clipped", "weight", "hits", "class_weight"),
    "curve": CURVE_FIELDS,
    "coarse_curve": CURVE_FIELDS,
    "weighted_curve": CURVE_FIELDS,
    "class_curves": CURVE_FIELDS,
    "paired_curves": CURVE_FIELDS,
    "label_curves": CURVE_FIELDS,
    "curves_with_gaps": CURVE_FIELDS,
    "named_curve": CURVE_FIELDS,
    "real_curve": CURVE_FIELDS,
    "empty_curve": CURVE_FIELDS,
    "empty_class_curves": CURVE_FIELDS,
    "grouped": GROUPED_FIELDS,
    "coarse_groups": GROUPED_FIELDS,
    "empty_grouped": GROUPED_FIELDS,
    "catalog": CATALOG_FIELDS,
    "popular_catalog": CATALOG_FIELDS,
    "empty_catalog": CATALOG_FIELDS,
    "values": VALUE_FIELDS,
    "value_columns": VALUE_FIELDS,
    "plain_values": VALUE_FIELDS,
    "empty_values": VALUE_FIELDS,
    "preferences": ("n", "wins", "ties"),
    "weighted_preferences": ("n", "wins", "ties"),
    "empty_preferences": ("n", "wins", "ties"),
    "paired": ("n", "outcomes"),
    "paired_scores": (
        *("n", "outcomes", "joint", "levels", "sizes"),
        *("lo", "hi", "pair_a", "pair_b", "pos", "neg"),
    ),
    "paired_gaps": (
        *("n", "outcomes", "joint", "levels", "sizes"),
        *("lo", "hi", "pair_a", "pair_b", "pos", "neg", "skipped"),
    ),
    "paired_values": (
        *("n", "outcomes", "joint", "levels", "sizes"),
        *("lo", "hi", "pair_a", "pair_b", "pos", "neg"),
    ),
    "paired_errors": (
        *("n", "outcomes", "joint", "levels", "sizes"),
        *("lo", "hi", "pair_a", "pair_b", "pos", "neg"),
    ),
    "empty_paired": ("n", "outcomes"),
    "ranking": RANKING_FIELDS,
    "open_queries": RANKING_FIELDS,
    "open_documents": RANKING_FIELDS,
    "tracked_queries": RANKING_FIELDS,
    "query_values": RANKING_FIELDS,
    "empty_ranking": RANKING_FIELDS,
    "regression": ("n",),
    "empty_regression": ("n",),
    "measured": MEASURED_FIELDS,
    "empty_measured": MEASURED_FIELDS,
    "outputs": OUTPUT_FIELDS,
    "empty_outputs": OUTPUT_FIELDS,
    "sliced": SLICED_FIELDS,
    "empty_sliced": SLICED_FIELDS,
    "clustered": ("accumulator", *CLUSTERED_FIELDS),
    "clustered_members": ("members",),
    "sliced_clusters": (*SLICED_FIELDS[:-1], *CLUSTERED_FIELDS),
    "sliced_clustered_members": SLICED_FIELDS,
    "windowed_clusters": (*PANE_FIELDS, *SLICED_FIELDS[1:-1], *CLUSTERED_FIELDS),
    "empty_clustered": ("accumulator", *CLUSTERED_FIELDS),
    "windowed": (*PANE_FIELDS, "leaves"),
    "windowed_slices": (*PANE_FIELDS, *SLICED_FIELDS[1:]),
    "empty_windowed": (*PANE_FIELDS, "leaves"),
}
"""The fields of each state that stand in its payload, in order."""

KINDS = {
    se.ConfusionAccumulator: 1,
    se.RegressionAccumulator: 2,
    se.PRCurveSketch: 3,
    se.CalibrationAccumulator: 4,
    se.GroupedAUC: 5,
    se.RankingAccumulator: 6,
    se.Collection: 7,
    se.Sliced: 8,
    se.Windowed: 9,
    se.Paired: 10,
    se.CatalogAccumulator: 12,
    se.Clustered: 15,
    se.MeanAccumulator: 16,
    se.PreferencesAccumulator: 17,
}
"""The numbers of the kinds, forever."""


def column_words(description: dict[str, Any], numbers: list[int]) -> int:
    """How many words a column takes of those that begin with it."""
    length = description["length"]
    if description["column"] != "text":
        return length
    return length + -(-sum(numbers[:length]) // 8)
