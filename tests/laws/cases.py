"""One strategy for each accumulator: options, and rows that these options accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st
from laws import collection_cases, curve_cases, group_cases, ranking_cases

import streameval as se
from streameval.accumulators.base import Accumulator
from streameval.configs.paired import DECISIONS, PAIRED_MEASURES


@attrs.frozen(eq=False)
class Case:
    """An accumulator's options and the rows of a small data set."""

    kind: type[Accumulator[Any, Any]]
    options: dict[str, Any]
    rows: dict[str, np.ndarray]
    settings: dict[str, Any] = attrs.field(factory=dict)
    """What `update` is told besides, such as that queries go on."""

    @property
    def size(self) -> int:
        return len(next(iter(self.rows.values())))

    def empty(self) -> Any:
        return self.kind(**self.options)

    def of(self, index: Any = slice(None)) -> Any:
        """Count the rows of an index in one update."""
        return self.add(self.empty(), index)

    def add(self, accumulator: Any, index: Any) -> Any:
        """Count the rows of an index in one update of an accumulator."""
        return self.update(accumulator, self.batch(index))

    def batch(self, index: Any) -> dict[str, np.ndarray]:
        return {name: column[index] for name, column in self.rows.items()}

    def update(self, accumulator: Any, batch: Any) -> Any:
        return accumulator.update(batch, **self.settings)

    def weighted(self, weights: np.ndarray) -> Case:
        return attrs.evolve(self, rows=self.rows | {"sample_weight": weights})

    def without_weights(self) -> Case:
        rows = {name: column for name, column in self.rows.items() if name != "sample_weight"}
        return attrs.evolve(self, rows=rows)


@attrs.frozen
class Laws:
    """What the law suite must know of an accumulator."""

    cases: st.SearchStrategy[Case]
    """Cases of every kind of options."""
    changed_options: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]
    """For each field of the configuration, two sets of options that differ in it first."""
    bad_batches: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]
    """By claim, options and a batch that `update` must refuse."""
    good_batch: Callable[[dict[str, Any]], dict[str, Any]]
    """From the options of a bad batch, one that `update` takes."""
    large: Callable[[], Case]
    """One case that is large enough for vectorised paths."""


def _random(draw: st.DrawFn) -> np.random.Generator:
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def _weights(
    draw: st.DrawFn, size: int | tuple[int, int], random: np.random.Generator
) -> dict[str, np.ndarray]:
    kind = draw(st.sampled_from(["none", "whole", "halves", "any", "tiny", "huge"]))
    weights = {
        "whole": lambda: random.integers(0, 4, size),
        "halves": lambda: random.integers(0, 5, size) / 2,
        "any": lambda: random.random(size) * (random.random(size) > 0.2),
        "tiny": lambda: np.exp2(-random.uniform(5, 19.9, size)),
        "huge": lambda: np.floor(np.exp2(random.uniform(40, 57, size))),
    }
    return {} if kind == "none" else {"sample_weight": weights[kind]()}


STRINGS = np.array(["ham", "spam", "", "egg, fried", "日本", "Ham"], dtype=object)
NUMBERS = np.array([7, -3, 0, 2**62, -(2**63), 12])


@st.composite
def _confusion(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    shape = draw(st.sampled_from(sorted(_SHAPES)))
    options, rows = _SHAPES[shape](random, size)
    may_weigh_entries = options.get("multilabel") and not options.get("measures")
    are_of_entries = may_weigh_entries and draw(st.booleans())
    weights = _weights(draw, rows["y_true"].shape if are_of_entries else size, random)
    return Case(se.ConfusionAccumulator, options, rows | weights)


def _eighths(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw scores that many examples share and that float16 holds."""
    return random.integers(0, 9, shape) / 8


def _binary_labels(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    truth, prediction = random.integers(0, 2, (2, size))
    return {"pos_label": 0}, {"y_true": truth, "y_pred": prediction}


def _binary_scores(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    rows = {"y_true": STRINGS[random.integers(0, 2, size)], "y_pred": _eighths(random, size)}
    return {"classes": ["spam", "ham"], "threshold": 0.375}, rows


def _listed(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    truth, prediction = NUMBERS[random.integers(0, 4, (2, size))]
    options = {"classes": NUMBERS.tolist(), "ignore_label": -3, "include_unseen": True}
    return options, {"y_true": truth, "y_pred": prediction}


def _top_k(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    rows = {"y_true": random.integers(0, 5, size), "y_pred": _eighths(random, size, 5)}
    return {"classes": 5, "top_k": int(random.integers(1, 6))}, rows


def _best_scores(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    _, rows = _top_k(random, size)
    return {"classes": 5, "top_k": int(random.integers(2, 6)), "measures": ["top_k"]}, rows


def _met(labels: np.ndarray) -> Callable[[np.random.Generator, int], tuple[dict, dict]]:
    def make(random: np.random.Generator, size: int) -> tuple[dict, dict]:
        truth, prediction = labels[random.integers(0, len(labels), (2, size))]
        return {"classes": "auto", "ignore_label": -3}, {"y_true": truth, "y_pred": prediction}

    return make


def _multilabel(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    truth = random.integers(-1, 2, (size, 3))
    options = {"classes": ["a", "b", "c"], "multilabel": True, "ignore_label": -1}
    return options, {"y_true": truth, "y_pred": _eighths(random, size, 3)}


def _multilabel_labels(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    truth, prediction = random.integers(0, 2, (2, size, 2)).astype(bool)
    return {"multilabel": True}, {"y_true": truth, "y_pred": prediction}


def _samples(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    options, rows = _multilabel(random, size)
    return options | {"measures": ["samples"]}, rows


_SHAPES = {
    "binary labels": _binary_labels,
    "binary scores": _binary_scores,
    "listed labels": _listed,
    "met numbers": _met(NUMBERS),
    "met strings": _met(STRINGS),
    "multilabel labels": _multilabel_labels,
    "multilabel samples": _samples,
    "multilabel scores": _multilabel,
    "top-k precision": _best_scores,
    "top-k scores": _top_k,
}


def _large_confusion() -> Case:
    random = np.random.default_rng(5)
    size = 20_000
    scores = random.normal(size=(size, 12)).round(1)
    rows = {"y_true": random.integers(0, 12, size), "y_pred": scores}
    weights = random.random(size)
    return Case(
        se.ConfusionAccumulator,
        {"classes": 12, "top_k": 3},
        rows | {"sample_weight": weights},
    )


@st.composite
def _regression(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    decades = draw(st.sampled_from([1, 12, 100]))
    numbers = random.normal(size=(2, size)) * 10.0 ** random.uniform(-decades, decades, (2, size))
    if draw(st.booleans()):
        numbers = numbers.round(1)
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options = {"measures": draw(st.sampled_from(_MEASURES))}
        if "median_absolute_error" in options["measures"]:
            options["budget"] = draw(st.sampled_from([None, 1, 3, 65_536]))
        options["intervals"] = draw(st.booleans())
        numbers = np.maximum(np.abs(numbers), 1e-30).clip(max=1e30)
    rows = {"y_true": numbers[0], "y_pred": numbers[1]}
    if draw(st.booleans()):
        options["outputs"] = draw(st.integers(1, 3))
        of_each = random.permuted(np.repeat(numbers[..., None], options["outputs"], 2), axis=1)
        rows = {"y_true": of_each[0], "y_pred": of_each[1]}
    return Case(se.RegressionAccumulator, options, rows | _weights(draw, size, random))


_MEASURES = [
    ["mape", "max_error"],
    ["median_absolute_error"],
    ["nrmse_range", "pearson", "absolute_error_quantile(q=0.9)", "median_absolute_error"],
    ["tweedie_deviance(power=1.5)", "msle", "rmsle", "huber(delta=2)", "log_cosh", "smape"],
]


def _large_regression() -> Case:
    random = np.random.default_rng(6)
    numbers = random.normal(1e6, 1.0, size=(2, 20_000))
    rows = {"y_true": numbers[0], "y_pred": numbers[1], "sample_weight": random.random(20_000)}
    options = {"measures": ["gamma_deviance", "max_error", "median_absolute_error"], "budget": 500}
    return Case(se.RegressionAccumulator, options, rows)


@st.composite
def _paired(draw: st.DrawFn) -> Case:
    """Draw what a confusion matrix takes, and the same predictions in another order."""
    random = _random(draw)
    size = draw(st.integers(0, 24))
    shape = draw(
        st.sampled_from([name for name in sorted(_SHAPES) if not name.startswith("top-k")])
    )
    options, rows = _SHAPES[shape](random, size)
    options.pop("include_unseen", None)
    options.pop("measures", None)
    a = rows.pop("y_pred")
    rows |= {"y_pred_a": a, "y_pred_b": a[random.permutation(size)]}
    return Case(se.Paired, options, rows | _weights(draw, size, random))


@st.composite
def _decided_pair(draw: st.DrawFn) -> Case:
    """Draw three classes, and measures of decisions."""
    random = _random(draw)
    size = draw(st.integers(0, 24))
    measures = draw(st.sets(st.sampled_from(DECISIONS), min_size=1))
    options: dict[str, Any] = {"classes": ["ham", "spam", ""], "measures": sorted(measures)}
    names = ("y_true", "y_pred_a", "y_pred_b")
    rows = dict(zip(names, STRINGS[random.integers(0, 3, (3, size))], strict=True))
    return Case(se.Paired, options, rows | _weights(draw, size, random))


@st.composite
def _measured_pair(draw: st.DrawFn) -> Case:
    """Draw two scores of each row, of which some budgets have to merge pairs."""
    random = _random(draw)
    size = draw(st.integers(0, 24))
    measures = draw(st.sets(st.sampled_from(PAIRED_MEASURES), min_size=1))
    options: dict[str, Any] = {"measures": sorted(measures)}
    if "roc_auc" in measures:
        options["budget"] = draw(st.sampled_from([1, 3, 10, 65_536, None]))
    scores = random.random((2, size)) if draw(st.booleans()) else _eighths(random, 2, size)
    if draw(st.booleans()) and measures == {"roc_auc"}:
        options |= {"scores": "real", "threshold": draw(st.sampled_from([0.0, 0.5]))}
        scores = scores * 4 - 2
    labels = np.array([0, 1, 7])[random.integers(0, 3, size)]
    if draw(st.booleans()):
        options["ignore_label"] = 7
    else:
        labels = labels % 2
    if draw(st.booleans()):
        options["pos_label"] = 0
    rows = {"y_true": labels, "y_pred_a": scores[0], "y_pred_b": scores[1]}
    return Case(se.Paired, options, rows | _weights(draw, size, random))


@st.composite
def _numbers_pair(draw: st.DrawFn) -> Case:
    """Draw numbers, and those that two models predict."""
    random = _random(draw)
    size = draw(st.integers(0, 24))
    decades = draw(st.sampled_from([1, 12, 60]))
    numbers = random.normal(size=(3, size)) * 10.0 ** random.uniform(-decades, decades, (3, size))
    measures = draw(
        st.sampled_from([(), ("mse",), ("mae",), ("mse", "mae"), ("loss",), ("score",)])
    )
    rows = dict(zip(("y_true", "y_pred_a", "y_pred_b"), numbers.round(1), strict=True))
    if {*measures} & {"loss", "score"}:
        del rows["y_true"]
    options: dict[str, Any] = {"classes": None, "measures": measures}
    if "y_true" not in rows and draw(st.booleans()):
        options["nan"] = "skip"
        for values in rows.values():
            values[random.random(size) < 0.3] = np.nan
    return Case(se.Paired, options, rows | _weights(draw, size, random))


def _large_measured_pair() -> Case:
    random = np.random.default_rng(12)
    size = 40_000
    rows = {"y_true": random.integers(0, 2, size), "sample_weight": random.random(size)} | {
        name: random.random(size).astype(np.float32) for name in ("y_pred_a", "y_pred_b")
    }
    return Case(se.Paired, {"measures": PAIRED_MEASURES, "budget": 1000}, rows)


def _large_paired() -> Case:
    random = np.random.default_rng(11)
    size = 40_000
    rows = {"y_true": random.integers(0, 12, size)} | {
        name: random.normal(size=(size, 12)).round(1) for name in ("y_pred_a", "y_pred_b")
    }
    return Case(se.Paired, {"classes": 12}, rows | {"sample_weight": random.random(size)})


def _good_pair(options: dict[str, Any]) -> dict[str, Any]:
    good = _good_prediction(options)
    return {"y_true": good["y_true"], "y_pred_a": good["y_pred"], "y_pred_b": good["y_pred"]}


@st.composite
def _calibration(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = draw(st.sampled_from([_one_probability, _probabilities]))(random, size)
    options["bins"] = draw(st.sampled_from([1, 7, 8, 15, 100]))
    options["intervals"] = draw(st.booleans())
    if draw(st.booleans()) and not isinstance(options.get("classes"), (list, tuple)):
        options["ignore_label"] = -1
        rows["y_true"] = np.where(random.random(size) < 0.3, -1, rows["y_true"])
    return Case(se.CalibrationAccumulator, options, rows | _weights(draw, size, random))


def _one_probability(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    kinds = {
        "eighths": _eighths(random, size),
        "any": random.random(size),
        "tiny": 10.0 ** random.uniform(-320, 0, size),
        "near 1": 1 - 10.0 ** random.uniform(-17, 0, size),
    }
    probability = kinds[random.choice(sorted(kinds))]
    return {}, {"y_true": random.integers(0, 2, size), "y_prob": probability}


def _probabilities(random: np.random.Generator, size: int) -> tuple[dict, dict]:
    kinds = {
        "eighths": random.multinomial(8, [0.25] * 4, size) / 8,
        "any": random.dirichlet([0.5] * 4, size),
        "one sure": np.eye(4)[random.integers(0, 4, size)],
    }
    rows = {
        "y_true": STRINGS[random.integers(0, 4, size)],
        "y_prob": kinds[random.choice(sorted(kinds))],
    }
    return {"classes": STRINGS[:4].tolist()}, rows


def _large_calibration() -> Case:
    random = np.random.default_rng(7)
    rows = {
        "y_true": random.integers(0, 10, 20_000),
        "y_prob": random.dirichlet([0.1] * 10, 20_000),
        "sample_weight": random.random(20_000),
    }
    return Case(se.CalibrationAccumulator, {"classes": 10}, rows)


@st.composite
def _curve(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = curve_cases.curve_rows(draw, random, size)
    are_of_entries = options.get("multilabel") and draw(st.booleans())
    weights = _weights(draw, (size, 2) if are_of_entries else size, random)
    return Case(se.PRCurveSketch, options, rows | weights)


def _large_curve() -> Case:
    return Case(se.PRCurveSketch, *curve_cases.large_rows())


def _good_prediction(options: dict[str, Any]) -> dict[str, Any]:
    if options.get("multilabel"):
        return {"y_true": [[0, 1]], "y_pred": [[0, 1]]}
    if "outputs" in options:
        return {name: [[0] * options["outputs"]] for name in ("y_true", "y_pred")}
    return {"y_true": [0, 1], "y_pred": [0, 1]}


def _good_probability(options: dict[str, Any]) -> dict[str, Any]:
    if options.get("classes") == 3:
        return {"y_true": [0], "y_prob": [[0.5, 0.25, 0.25]]}
    return {"y_true": [0, 1], "y_prob": [0, 1]}


@st.composite
def _grouped(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = curve_cases.grouped_rows(draw, random, size)
    return Case(se.GroupedAUC, options, rows | _weights(draw, size, random))


def _large_grouped() -> Case:
    return Case(se.GroupedAUC, *curve_cases.large_grouped_rows())


@st.composite
def _ranking(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    return Case(se.RankingAccumulator, *ranking_cases.ranking_rows(draw, random, size))


def _large_ranking() -> Case:
    return Case(se.RankingAccumulator, *ranking_cases.large_block())


def _large_open_queries() -> Case:
    return Case(se.RankingAccumulator, *ranking_cases.large_open())


@st.composite
def _collection(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = collection_cases.collection_rows(draw, random, size)
    return Case(se.Collection, options, rows | _weights(draw, size, random))


def _large_collection() -> Case:
    return Case(se.Collection, *collection_cases.large_rows())


@st.composite
def _sliced(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = group_cases.sliced_rows(draw, random, size)
    return Case(se.Sliced, options, rows | _weights(draw, size, random))


@st.composite
def _clustered(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = group_cases.clustered_rows(draw, random, size)
    return Case(se.Clustered, options, rows | _weights(draw, size, random))


@st.composite
def _windowed(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    options, rows = group_cases.windowed_rows(draw, random, size)
    return Case(se.Windowed, options, rows | _weights(draw, size, random))


def _large_sliced() -> Case:
    return Case(se.Sliced, *group_cases.large_sliced_rows())


def _large_clustered() -> Case:
    return Case(se.Clustered, *group_cases.large_clustered_rows())


def _large_windowed() -> Case:
    return Case(se.Windowed, *group_cases.large_windowed_rows())


@st.composite
def _catalog(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size = draw(st.integers(0, 24))
    labels = draw(st.sampled_from([STRINGS, NUMBERS]))
    rows = {"item": labels[random.integers(0, len(labels), size)]}
    options: dict[str, Any] = {"n_items": draw(st.sampled_from([6, 7, 2**40]))}
    options["k"] = draw(st.sampled_from([None, 1, 3]))
    if options["k"] is not None or draw(st.booleans()):
        rows["rank"] = random.integers(1, 6, size)
    if draw(st.booleans()):
        options["popularity"] = True
        rows["popularity"] = 10.0 ** -random.uniform(0, draw(st.sampled_from([1, 320])), size)
        rows["popularity"] = np.maximum(rows["popularity"], 5e-324)
    return Case(se.CatalogAccumulator, options, rows | _weights(draw, size, random))


def _large_catalog() -> Case:
    random = np.random.default_rng(13)
    size = 40_000
    rows = {
        "item": random.zipf(1.5, size) % 5000,
        "rank": random.integers(1, 6, size),
        "popularity": random.random(size).clip(1e-9),
        "sample_weight": random.random(size),
    }
    return Case(se.CatalogAccumulator, {"n_items": 5000, "k": 3, "popularity": True}, rows)


def _good_recommendation(options: dict[str, Any]) -> dict[str, Any]:
    good: dict[str, Any] = {"item": [1, 2], "rank": [1, 2]}
    return good | ({"popularity": [0.5, 1.0]} if options.get("popularity") else {})


@st.composite
def _preferences(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size, k = draw(st.integers(0, 24)), draw(st.integers(2, 4))
    models: Any = draw(st.sampled_from([k, [*"xyzw"[:k]], {i: f"m{i}" for i in range(k)}]))
    labels = np.array(models if isinstance(models, list) else range(k), dtype=object)
    if not isinstance(models, list):
        labels = labels.astype(np.int64)
    a = random.integers(0, k, size)
    b = (a + random.integers(1, k, size)) % k
    rows = {"a": labels[a], "b": labels[b], "outcome": random.choice([0.0, 0.5, 1.0], size)}
    return Case(se.PreferencesAccumulator, {"models": models}, rows | _weights(draw, size, random))


def _large_preferences() -> Case:
    random = np.random.default_rng(14)
    size, k = 40_000, 50
    a = random.integers(0, k, size)
    rows = {
        "a": a,
        "b": (a + random.integers(1, k, size)) % k,
        "outcome": random.choice([0.0, 0.5, 1.0], size),
        "sample_weight": random.random(size),
    }
    return Case(se.PreferencesAccumulator, {"models": k}, rows)


def _good_preference(options: dict[str, Any]) -> dict[str, Any]:
    return {"a": [0, 1], "b": [1, 0], "outcome": [1, 0.5]}


@st.composite
def _values(draw: st.DrawFn) -> Case:
    random = _random(draw)
    size, n_columns = draw(st.integers(0, 24)), draw(st.integers(0, 3))
    decades = draw(st.sampled_from([1, 12, 100]))
    names = [*"xyz"[:n_columns]] or ["value"]
    scale = 10.0 ** random.uniform(-decades, decades, (size, len(names)))
    numbers = random.normal(size=(size, len(names))) * scale
    if draw(st.booleans()):
        numbers = numbers.round(1)
    options: dict[str, Any] = {"columns": names} if n_columns else {}
    if draw(st.booleans()):
        options |= {"quantiles": [0.5, 0.9], "budget": draw(st.sampled_from([None, 1, 3, 65_536]))}
    if draw(st.booleans()):
        options["nan"] = "skip"
        numbers[random.random(numbers.shape) < draw(st.sampled_from([0.1, 0.7]))] = np.nan
    rows = dict(zip(names, numbers.T, strict=True))
    return Case(se.MeanAccumulator, options, rows | _weights(draw, size, random))


def _large_values() -> Case:
    random = np.random.default_rng(15)
    numbers = random.lognormal(5.0, 2.0, size=(2, 40_000))
    numbers[1, ::7] = np.nan
    rows = {"a": numbers[0], "b": numbers[1], "sample_weight": random.random(40_000)}
    options = {"columns": ["a", "b"], "quantiles": [0.99], "budget": 500, "nan": "skip"}
    return Case(se.MeanAccumulator, options, rows)


def _good_value(options: dict[str, Any]) -> dict[str, Any]:
    return {name: [1.0, 2.0] for name in options.get("columns", ["value"])}


LAWS: dict[str, Laws] = {
    "Sliced": Laws(
        cases=_sliced(),
        changed_options=group_cases.CHANGED_SLICED,
        bad_batches=group_cases.BAD_SLICED,
        good_batch=group_cases.good_batch,
        large=_large_sliced,
    ),
    "Clustered": Laws(
        cases=_clustered(),
        changed_options=group_cases.CHANGED_CLUSTERED,
        bad_batches=group_cases.BAD_CLUSTERED,
        good_batch=group_cases.good_batch,
        large=_large_clustered,
    ),
    "Windowed": Laws(
        cases=_windowed(),
        changed_options=group_cases.CHANGED_WINDOWED,
        bad_batches=group_cases.BAD_WINDOWED,
        good_batch=group_cases.good_batch,
        large=_large_windowed,
    ),
    "Collection": Laws(
        cases=_collection(),
        changed_options=collection_cases.CHANGED_OPTIONS,
        bad_batches=collection_cases.BAD_BATCHES,
        good_batch=collection_cases.good_batch,
        large=_large_collection,
    ),
    "RankingAccumulator": Laws(
        cases=_ranking(),
        changed_options=ranking_cases.CHANGED_OPTIONS,
        bad_batches=ranking_cases.BAD_BATCHES,
        good_batch=ranking_cases.good_batch,
        large=_large_ranking,
    ),
    "CatalogAccumulator": Laws(
        cases=_catalog(),
        changed_options={
            "n_items": ({"n_items": 3}, {"n_items": 4}),
            "k": ({"n_items": 3}, {"n_items": 3, "k": None}),
            "popularity": ({"n_items": 3}, {"n_items": 3, "popularity": True}),
        },
        bad_batches={
            "more items than there are": ({"n_items": 2}, {"item": [3, 4], "rank": [1, 1]}),
            "a rank of 0": ({"n_items": 3}, {"item": [1, 2], "rank": [1, 0]}),
            "no rank": ({"n_items": 3}, {"item": [1, 2]}),
            "ranks that are strings": ({"n_items": 3}, {"item": [1], "rank": ["1"]}),
            "items of another type": ({"n_items": 3}, {"item": ["a"], "rank": [1]}),
            "an item that is missing": ({"n_items": 3}, {"item": [1.0, None], "rank": [1, 2]}),
            "lengths that differ": ({"n_items": 3}, {"item": [1, 2], "rank": [1]}),
            "a popularity of 0": (
                {"n_items": 3, "popularity": True},
                {"item": [1, 2], "rank": [1, 2], "popularity": [0.5, 0.0]},
            ),
            "no popularity": (
                {"n_items": 3, "popularity": True},
                {"item": [1, 2], "rank": [1, 2]},
            ),
            "a negative weight": (
                {"n_items": 3},
                {"item": [1, 2], "rank": [1, 2], "sample_weight": [1, -1]},
            ),
            "a total past 2**63": (
                {"n_items": 3},
                {"item": [1], "rank": [1], "sample_weight": [2**63 - 1]},
            ),
        },
        good_batch=_good_recommendation,
        large=_large_catalog,
    ),
    "PreferencesAccumulator": Laws(
        cases=_preferences(),
        changed_options={"models": ({"models": 2}, {"models": 3})},
        bad_batches={
            "an unknown model": ({"models": 2}, {"a": [0, 1], "b": [1, 2], "outcome": [1, 0]}),
            "a model against itself": (
                {"models": 2},
                {"a": [0, 1], "b": [1, 1], "outcome": [1, 0]},
            ),
            "another outcome": ({"models": 2}, {"a": [0, 1], "b": [1, 0], "outcome": [1, 2]}),
            "a missing outcome": (
                {"models": 2},
                {"a": [0, 1], "b": [1, 0], "outcome": [1, np.nan]},
            ),
            "names of another type": ({"models": 2}, {"a": ["0"], "b": ["1"], "outcome": [1]}),
            "lengths that differ": ({"models": 2}, {"a": [0, 1], "b": [1], "outcome": [1, 0]}),
            "a negative weight": (
                {"models": 2},
                {"a": [0], "b": [1], "outcome": [1], "sample_weight": [-1]},
            ),
        },
        good_batch=_good_preference,
        large=_large_preferences,
    ),
    "MeanAccumulator": Laws(
        cases=_values(),
        changed_options={
            "columns": ({}, {"columns": ["value"]}),
            "quantiles": ({"quantiles": [0.5]}, {"quantiles": [0.5, 0.9]}),
            "budget": ({"quantiles": [0.5]}, {"quantiles": [0.5], "budget": 3}),
            "nan": ({}, {"nan": "skip"}),
        },
        bad_batches={
            "a value that is NaN": ({}, {"value": [0, float("nan")]}),
            "an infinite value": ({"nan": "skip"}, {"value": [float("nan"), float("inf")]}),
            "a square that would overflow": ({}, {"value": [1e200]}),
            "strings": ({}, {"value": ["1"]}),
            "lengths that differ": ({"columns": ["a", "b"]}, {"a": [0, 1], "b": [0]}),
            "a missing column": ({"columns": ["a", "b"]}, {"a": [0, 1]}),
            "a negative weight": ({}, {"value": [0, 1], "sample_weight": [1, -1]}),
            "weights of another shape": (
                {},
                {"value": np.ones((2, 3)), "sample_weight": np.ones((3, 2))},
            ),
            "a total past 2**63": ({}, {"value": [0], "sample_weight": [2**63 - 1]}),
        },
        good_batch=_good_value,
        large=_large_values,
    ),
    "GroupedAUC": Laws(
        cases=_grouped(),
        changed_options=curve_cases.CHANGED_GROUPED_OPTIONS,
        bad_batches=curve_cases.BAD_GROUPED_BATCHES,
        good_batch=curve_cases.good_grouped_batch,
        large=_large_grouped,
    ),
    "PRCurveSketch": Laws(
        cases=_curve(),
        changed_options=curve_cases.CHANGED_OPTIONS,
        bad_batches=curve_cases.BAD_BATCHES,
        good_batch=curve_cases.good_batch,
        large=_large_curve,
    ),
    "CalibrationAccumulator": Laws(
        cases=_calibration(),
        changed_options={
            "bins": ({"bins": 15}, {"bins": 16}),
            "intervals": ({}, {"intervals": True}),
            "classes": ({"classes": 3}, {"classes": ["a", "b", "c"]}),
            "ignore_label": ({}, {"ignore_label": -1}),
        },
        bad_batches={
            "a label out of range": ({}, {"y_true": [0, 2], "y_prob": [0, 1]}),
            "a logit": ({}, {"y_true": [0, 1], "y_prob": [0.5, 1.5]}),
            "a probability that is NaN": ({}, {"y_true": [0, 1], "y_prob": [0.5, float("nan")]}),
            "two columns": ({}, {"y_true": [0, 1], "y_prob": [[0.5, 0.5], [0.75, 0.5]]}),
            "lengths that differ": ({}, {"y_true": [0, 1], "y_prob": [0]}),
            "a row that does not sum to 1": (
                {"classes": 3},
                {"y_true": [0, 1], "y_prob": [[0.25, 0.25, 0.5], [0.25, 0.25, 0.25]]},
            ),
            "probabilities of too few classes": (
                {"classes": 3},
                {"y_true": [0], "y_prob": [[0.5, 0.5]]},
            ),
            "a negative weight": (
                {},
                {"y_true": [0, 1], "y_prob": [0, 1], "sample_weight": [1, -1]},
            ),
            "weights past 2**63": (
                {},
                {"y_true": [0, 1], "y_prob": [0, 1], "sample_weight": [2**62, 2**62]},
            ),
            "a total past 2**63": (
                {},
                {"y_true": [0], "y_prob": [0], "sample_weight": [2**63 - 1]},
            ),
        },
        good_batch=_good_probability,
        large=_large_calibration,
    ),
    "RegressionAccumulator": Laws(
        cases=_regression(),
        changed_options={
            "measures": ({"measures": ["mape"]}, {"measures": ["mape", "smape"]}),
            "budget": (
                {"measures": ["median_absolute_error"]},
                {"measures": ["median_absolute_error"], "budget": 3},
            ),
            "intervals": ({}, {"intervals": True}),
            "outputs": ({}, {"outputs": 1}),
        },
        bad_batches={
            "a truth that is NaN": ({}, {"y_true": [0, float("nan")], "y_pred": [0, 1]}),
            "an infinite prediction": ({}, {"y_true": [0, 1], "y_pred": [0, float("inf")]}),
            "a square that would overflow": ({}, {"y_true": [1e200], "y_pred": [0]}),
            "a logarithm of 0": (
                {"measures": ["msle"]},
                {"y_true": [0, 1, 2], "y_pred": [0, 3, -1]},
            ),
            "two numbers for three outputs": (
                {"outputs": 3},
                {"y_true": [[0, 1]], "y_pred": [[1, 1]]},
            ),
            "a logarithm of 0 in the second output": (
                {"measures": ["msle"], "outputs": 2},
                {"y_true": [[0, 1], [0, 1]], "y_pred": [[0, 1], [0, -1]]},
            ),
            "strings": ({}, {"y_true": ["1"], "y_pred": [1]}),
            "lengths that differ": ({}, {"y_true": [0, 1], "y_pred": [0]}),
            "a negative weight": (
                {},
                {"y_true": [0, 1], "y_pred": [0, 1], "sample_weight": [1, -1]},
            ),
            "a total past 2**63": (
                {},
                {"y_true": [0], "y_pred": [0], "sample_weight": [2**63 - 1]},
            ),
        },
        good_batch=_good_prediction,
        large=_large_regression,
    ),
    "Paired": Laws(
        cases=_paired() | _measured_pair() | _decided_pair() | _numbers_pair(),
        changed_options={
            "classes": ({"classes": 3}, {"classes": 4}),
            "multilabel": ({"classes": 3}, {"classes": 3, "multilabel": True}),
            "threshold": ({"threshold": 0.5}, {"threshold": 0.7}),
            "scores": ({"scores": None}, {"scores": "real"}),
            "pos_label": ({"pos_label": 0}, {"pos_label": 1}),
            "from_scores": ({"from_scores": None}, {"from_scores": True}),
            "ignore_label": ({"ignore_label": None}, {"ignore_label": -1}),
            "measures": ({"measures": ["brier"]}, {"measures": ["brier", "log_loss"]}),
            "budget": (
                {"measures": ["roc_auc"], "budget": 8},
                {"measures": ["roc_auc"], "budget": None},
            ),
            "nan": (
                {"classes": None, "measures": ["loss"]},
                {"classes": None, "measures": ["loss"], "nan": "skip"},
            ),
        },
        bad_batches={
            "a label out of range": (
                {},
                {"y_true": [0, 2], "y_pred_a": [0, 1], "y_pred_b": [0, 1]},
            ),
            "a prediction out of range": (
                {},
                {"y_true": [0, 1], "y_pred_a": [0, 1], "y_pred_b": [0, -1]},
            ),
            "a score that is NaN": (
                {},
                {"y_true": [0, 1], "y_pred_a": [0.5, float("nan")], "y_pred_b": [0, 1]},
            ),
            "lengths that differ": ({}, {"y_true": [0, 1], "y_pred_a": [0, 1], "y_pred_b": [0]}),
            "a negative weight": (
                {},
                {
                    "y_true": [0, 1],
                    "y_pred_a": [0, 1],
                    "y_pred_b": [0, 1],
                    "sample_weight": [1, -1],
                },
            ),
            "a total past 2**63": (
                {},
                {"y_true": [0], "y_pred_a": [0], "y_pred_b": [0], "sample_weight": [2**63 - 1]},
            ),
            "strings beside numbers": (
                {"classes": "auto"},
                {"y_true": ["a"], "y_pred_a": ["a"], "y_pred_b": [1]},
            ),
            "scores of too few classes": (
                {"classes": 3},
                {"y_true": [0], "y_pred_a": [0], "y_pred_b": [[0.1, 0.9]]},
            ),
            "presence that is 2": (
                {"multilabel": True},
                {"y_true": [[0, 2]], "y_pred_a": [[0, 1]], "y_pred_b": [[0, 1]]},
            ),
        },
        good_batch=_good_pair,
        large=_large_paired,
    ),
    "ConfusionAccumulator": Laws(
        cases=_confusion(),
        changed_options={
            "classes": ({"classes": 3}, {"classes": 4}),
            "multilabel": ({"classes": 3}, {"classes": 3, "multilabel": True}),
            "threshold": ({"threshold": 0.5}, {"threshold": 0.7}),
            "scores": ({"scores": None}, {"scores": "real"}),
            "pos_label": ({"pos_label": 0}, {"pos_label": 1}),
            "from_scores": ({"from_scores": None}, {"from_scores": True}),
            "top_k": ({"classes": 5, "top_k": 2}, {"classes": 5, "top_k": 3}),
            "ignore_label": ({"ignore_label": None}, {"ignore_label": -1}),
            "include_unseen": ({"include_unseen": False}, {"include_unseen": True}),
            "measures": ({"multilabel": True}, {"multilabel": True, "measures": ["samples"]}),
        },
        bad_batches={
            "a label out of range": ({}, {"y_true": [0, 2], "y_pred": [0, 1]}),
            "a prediction out of range": ({}, {"y_true": [0, 1], "y_pred": [0, -1]}),
            "a score that is NaN": ({}, {"y_true": [0, 1], "y_pred": [0.5, float("nan")]}),
            "a score above 1": ({}, {"y_true": [0, 1], "y_pred": [0.5, 85.0]}),
            "lengths that differ": ({}, {"y_true": [0, 1], "y_pred": [0]}),
            "a negative weight": (
                {},
                {"y_true": [0, 1], "y_pred": [0, 1], "sample_weight": [1, -1]},
            ),
            "weights past 2**63": (
                {},
                {"y_true": [0, 1], "y_pred": [0, 1], "sample_weight": [2**62, 2**62]},
            ),
            "a total past 2**63": (
                {},
                {"y_true": [0], "y_pred": [0], "sample_weight": [2**63 - 1]},
            ),
            "strings after numbers": (
                {"classes": "auto"},
                {"y_true": ["a"], "y_pred": ["a"]},
            ),
            "scores of too few classes": (
                {"classes": 3},
                {"y_true": [0], "y_pred": [[0.1, 0.9]]},
            ),
            "presence that is 2": (
                {"multilabel": True},
                {"y_true": [[0, 2]], "y_pred": [[0, 1]]},
            ),
        },
        good_batch=_good_prediction,
        large=_large_confusion,
    ),
}

LARGE = {name: laws.large for name, laws in LAWS.items()} | {
    "RankingAccumulator, open queries": _large_open_queries,
    "Paired, measures": _large_measured_pair,
}
"""Every large case, by name."""

WITHOUT_WEIGHTS = {
    "RankingAccumulator": "its means count each query once, and a document has no weight",
}
"""The accumulators that take no weights, and why: laws of weights do not apply to them."""
