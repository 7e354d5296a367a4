"""Simulate how often the 95% intervals cover the population's value; print the docs' tables.

Run ``python docs/interval_coverage.py --write`` to put them into docs/tables, on two cores in a
quarter of an hour. ``python docs/interval_coverage.py areas --write`` makes only that table.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import streameval as se

FOLDER = Path(__file__).parent / "tables"

SAMPLES = 1000
METRICS = {
    "balanced accuracy": ("balanced_accuracy", {}),
    "macro F": ("f_score", {"average": "macro"}),
    "weighted precision": ("precision", {"average": "weighted"}),
    "kappa": ("cohen_kappa", {}),
    "MCC": ("matthews_corrcoef", {}),
    "geometric mean": ("geometric_mean", {}),
}


def population(shares: list[float], recalls: list[float]) -> np.ndarray:
    """Make the shares of each (truth, prediction); errors go evenly to the other classes."""
    size = len(shares)
    matrix = np.empty((size, size))
    for k, (share, recall) in enumerate(zip(shares, recalls, strict=True)):
        matrix[k] = share * (1 - recall) / (size - 1)
        matrix[k, k] = share * recall
    return matrix


POPULATIONS = {
    "3 classes, n = 400": (population([0.4, 0.3, 0.3], [0.8, 0.7, 0.75]), 400),
    "10 even classes, n = 50": (population([0.1] * 10, [0.8] * 10), 50),
    "10 even classes, n = 200": (population([0.1] * 10, [0.8] * 10), 200),
    "long tail of 5, n = 200": (
        population([0.6, 0.25, 0.1, 0.04, 0.01], [0.9, 0.8, 0.7, 0.6, 0.5]),
        200,
    ),
    "1% positive, n = 1,000": (population([0.99, 0.01], [0.99, 0.9]), 1000),
    "1% positive, n = 500": (population([0.99, 0.01], [0.95, 0.7]), 500),
    "0.5% positive, n = 400": (population([0.995, 0.005], [0.9, 0.5]), 400),
}


def count(matrix: np.ndarray) -> se.Confusion:
    """Read a matrix of counts."""
    truth, prediction = np.indices(matrix.shape).reshape(2, -1)
    acc = se.ConfusionAccumulator(len(matrix))
    return acc.update(truth, prediction, sample_weight=matrix.ravel()).compute()


def coverage(shares: np.ndarray, n: int) -> list[float]:
    """Give for each metric the share of samples whose interval covers the true value."""
    random = np.random.default_rng(0)
    truth = count(np.round(shares * 10**12).astype(np.int64))
    covered, defined = np.zeros(len(METRICS)), np.zeros(len(METRICS))
    for _ in range(SAMPLES):
        result = count(random.multinomial(n, shares.ravel()).reshape(shares.shape))
        for i, (name, options) in enumerate(METRICS.values()):
            low, high = result.confidence(name, **options)
            defined[i] += not math.isnan(low)
            covered[i] += low <= truth.value(name, **options) <= high
    return (covered / defined).tolist()


def of_decisions() -> str:
    """Lay out the coverage of every metric of decisions in every population."""
    found = {name: coverage(*population) for name, population in POPULATIONS.items()}
    rows = [[name, *(f"{share:.2f}" for share in shares)] for name, shares in found.items()]
    return laid_out(["population", *METRICS], rows)


RARE = {
    f"{share:.0%} of {round(10 / share):,}, {name}": (share, recalls)
    for share in (0.01, 0.05, 0.2, 0.5)
    for name, recalls in (("good", [0.95, 0.9]), ("bad", [0.8, 0.5]))
}
"""Populations of two classes whose samples have 10 positives on average, with both recalls."""


def rare_covers(name: str) -> dict[str, str]:
    """Simulate the interval of every metric of decisions, with 10 positives on average."""
    share, recalls = RARE[name]
    shares, random = population([1 - share, share], recalls), np.random.default_rng(0)
    truth = count(np.round(shares * 10**12).astype(np.int64))
    covered = {name: [] for name in truth.readable() if truth.read(name).sampling is not None}
    for _ in range(TRIALS):
        result = count(random.multinomial(round(10 / share), shares.ravel()).reshape(2, 2))
        for metric, found in covered.items():
            interval = result.read(metric).sampling
            if interval is not None:  # nothing is said of a metric that is undefined
                low, high = interval
                found.append(low <= truth.read(metric).value <= high)
    return {  # samples in which a metric is defined are no random ones
        metric: f"{np.mean(found):.3f}" if len(found) > 0.95 * TRIALS else "-"
        for metric, found in covered.items()
    }


def of_rare() -> str:
    """Lay out the coverage of every metric of decisions where a class has 10 examples."""
    found = dict(zip(RARE, simulated(rare_covers, RARE), strict=True))
    rows = [
        [metric, *(one[metric] for one in found.values())] for metric in next(iter(found.values()))
    ]
    return laid_out(["metric", *RARE], rows)


TIMES = 1500
AREAS = (0.6, 0.86, 0.96, 0.99)
SAMPLED = [
    (prevalence, rows)
    for prevalence, rows in itertools.product((0.01, 0.02, 0.3), (200, 500, 1000, 5000))
    if prevalence * rows >= 5
]
STEP = 0.8  # of tied scores, which have about ten values

Draw = tuple[str, float, float, int]


def distance(area: float) -> float:
    """Give the distance of two normal distributions with this area."""
    return NormalDist().inv_cdf(area) * math.sqrt(2)


def scores_of(
    shape: str, labels: np.ndarray, area: float, random: np.random.Generator
) -> np.ndarray:
    """Draw scores: normal, exponential for both classes ("skewed"), or normal in steps ("tied")."""
    if shape == "skewed":
        return random.exponential(np.where(labels, area / (1 - area), 1.0))
    scores = random.normal(labels * distance(area))
    return scores if shape == "normal" else np.floor(scores / STEP)


def true_area(shape: str, area: float) -> float:
    """Give the area in the population, which ties change."""
    if shape != "tied":
        return area
    edges = STEP * np.arange(-20, 30)
    pos, neg = (
        np.diff([NormalDist(mean).cdf(edge) for edge in edges]) for mean in (distance(area), 0.0)
    )
    return float((pos * (neg.cumsum() - neg / 2)).sum())


def covers(truth: float, sample: Callable[[np.random.Generator], tuple[float, float]]) -> str:
    """Write how often the intervals of samples cover the truth, and how wide they are."""
    random = np.random.default_rng(0)
    ends = np.array([sample(random) for _ in range(TIMES)])
    share = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    return f"{share:.3f}, {np.nanmean(ends[:, 1] - ends[:, 0]):.3f}"


def labels_of(prevalence: float, rows: int, random: np.random.Generator) -> np.ndarray:
    """Draw labels, again if a class is absent: then there is no area."""
    while True:
        labels = random.random(rows) < prevalence
        if 0 < labels.sum() < rows:
            return labels


def area_covers(draw: Draw) -> str:
    """Simulate the interval of ROC AUC."""
    shape, area, prevalence, rows = draw

    def sample(random: np.random.Generator) -> tuple[float, float]:
        labels = labels_of(prevalence, rows, random)
        acc = se.PRCurveSketch(scores="real")
        acc.update(labels, scores_of(shape, labels, area, random))
        return acc.compute().confidence("roc_auc")

    return covers(true_area(shape, area), sample)


def of_areas() -> str:
    """Lay out the coverage and the mean width of the interval of ROC AUC."""
    keys = list(itertools.product(("normal", "skewed", "tied"), SAMPLED))
    draws = [(shape, area, *sampled) for shape, sampled in keys for area in AREAS]
    cells = iter(simulated(area_covers, draws))
    rows = [
        [shape, f"{rows:,}", f"{prevalence:g}", *itertools.islice(cells, len(AREAS))]
        for shape, (prevalence, rows) in keys
    ]
    return laid_out(["scores", "rows", "prevalence", *(f"AUC {area}" for area in AREAS)], rows)


RATES = (0.05, 0.1, 0.3)
CORNERED = [(0.01, 1000), (0.05, 200), (0.3, 200)]


def partial_covers(draw: tuple[str, float, float, int, float]) -> str:
    """Simulate the interval of a partial area."""
    shape, area, prevalence, rows, rate = draw

    def sample(random: np.random.Generator) -> tuple[float, float]:
        labels = labels_of(prevalence, rows, random)
        acc = se.PRCurveSketch(scores="real")
        acc.update(labels, scores_of(shape, labels, area, random))
        return acc.compute().confidence("partial_roc_auc", rate)

    return covers(true_partial_area(shape, area, rate), sample)


def true_partial_area(shape: str, area: float, rate: float) -> float:
    """Integrate the true positive rate up to a false positive rate, and standardize."""
    below = rate * (np.arange(20_000) + 0.5) / 20_000
    if shape == "skewed":
        reached = below ** ((1 - area) / area)
    else:
        normal, apart = NormalDist(), distance(area)
        reached = np.array([normal.cdf(normal.inv_cdf(one) + apart) for one in below])
    return 0.5 + 0.5 * (float(reached.mean()) - rate / 2) / (1 - rate / 2)


def of_partial_areas() -> str:
    """Lay out the coverage and the mean width of the interval of partial areas."""
    keys = list(itertools.product(("normal", "skewed"), CORNERED, RATES))
    draws = [(shape, area, *sampled, rate) for shape, sampled, rate in keys for area in AREAS]
    cells = iter(simulated(partial_covers, draws))
    rows = [
        [shape, f"{rows:,}", f"{prevalence:g}", f"{rate:g}", *itertools.islice(cells, len(AREAS))]
        for shape, (prevalence, rows), rate in keys
    ]
    head = ["scores", "rows", "prevalence", "rate", *(f"AUC {area}" for area in AREAS)]
    return laid_out(head, rows)


PAIRS = ((0.8, 0.8), (0.96, 0.9), (0.99, 0.98))
PAIRED = [(0.05, 200), (0.01, 1000), (0.3, 200), (0.3, 1000)]
IN_COMMON = 0.8  # the correlation of the scores that two models give to rows of one class


def two_scores(
    shape: str, labels: np.ndarray, areas: tuple[float, float], random: np.random.Generator
) -> list[np.ndarray]:
    """Draw the scores of two models of the same rows."""
    noise = random.normal(size=(2, len(labels)))
    noise[1] = IN_COMMON * noise[0] + math.sqrt(1 - IN_COMMON**2) * noise[1]
    if shape == "normal":
        return [one + labels * distance(area) for one, area in zip(noise, areas, strict=True)]
    ranks = [np.vectorize(NormalDist().cdf)(-one) for one in noise]
    return [
        -np.log(rank) * np.where(labels, area / (1 - area), 1.0)
        for rank, area in zip(ranks, areas, strict=True)
    ]


def difference_covers(draw: tuple[str, tuple[float, float], float, int]) -> str:
    """Simulate the interval of the difference of two areas of the same rows."""
    shape, areas, prevalence, rows = draw

    def sample(random: np.random.Generator) -> tuple[float, float]:
        labels = labels_of(prevalence, rows, random)
        acc = se.Paired(measures=["roc_auc"], scores="real", budget=None)
        acc.update(labels, *two_scores(shape, labels, areas, random))
        return acc.compute().confidence("roc_auc_difference")

    return covers(areas[0] - areas[1], sample)


def of_differences() -> str:
    """Lay out the coverage and the mean width of the interval of a difference of areas."""
    keys = list(itertools.product(("normal", "skewed"), PAIRED))
    draws = [(shape, areas, *sampled) for shape, sampled in keys for areas in PAIRS]
    cells = iter(simulated(difference_covers, draws))
    rows = [
        [shape, f"{rows:,}", f"{prevalence:g}", *itertools.islice(cells, len(PAIRS))]
        for shape, (prevalence, rows) in keys
    ]
    return laid_out(["scores", "rows", "prevalence", *(f"AUC {a}, {b}" for a, b in PAIRS)], rows)


ERRORS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "Student's t, 4 degrees": lambda random, shape: random.standard_t(4, size=shape),
    "exponential": lambda random, shape: random.exponential(size=shape) - 1.0,
}
LOSSES = {"RMSE": "rmse", "MAE": "mae", "R2": "r2", "bias": "bias"}
ABSOLUTE = {
    "normal": math.sqrt(2 / math.pi),
    "Student's t, 4 degrees": 1.0,
    "exponential": 2 / math.e,
}
SQUARED = {"normal": 1.0, "Student's t, 4 degrees": 2.0, "exponential": 1.0}


def loss_covers(draw: tuple[str, int, str]) -> str:
    """Simulate the interval of a mean loss, for truths with a standard deviation of 2."""
    shape, rows, name = draw
    truths = {
        "rmse": math.sqrt(SQUARED[shape]),
        "mae": ABSOLUTE[shape],
        "r2": 1 - SQUARED[shape] / 4,
        "bias": 0.0,
        "mse": 0.0,
    }

    def sample(random: np.random.Generator) -> tuple[float, float]:
        truth, noise = random.normal(0.0, 2.0, rows), ERRORS[shape](random, (2, rows))
        if name != "mse":
            acc = se.RegressionAccumulator(intervals=True)
            return acc.update(truth, truth + noise[0]).compute().confidence(name)
        shared = random.random(rows) < 0.5
        paired = se.Paired(None, measures=["mse"])
        paired.update(truth, truth + noise[0], truth + np.where(shared, noise[0], noise[1]))
        return paired.compute().confidence("mse_difference")

    return covers(truths[name], sample)


def of_losses() -> str:
    """Lay out the coverage and the mean width of the intervals of mean losses."""
    keys = list(itertools.product(ERRORS, (20, 100, 1000)))
    names = LOSSES | {"MSE, A minus B": "mse"}
    cells = iter(simulated(loss_covers, [(*key, name) for key in keys for name in names.values()]))
    rows = [[shape, f"{rows:,}", *itertools.islice(cells, len(names))] for shape, rows in keys]
    return laid_out(["errors", "rows", *names], rows)


N_GROUPS = (5, 10, 20, 100)
POPULATION = 20_000


def groups_of(
    sizes: str, apart: float, n: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw the rows of groups: labels, scores and the index of the group."""
    is_alike = sizes == "alike"
    drawn = random.integers(8, 30, n) if is_alike else 5 * (1 + random.pareto(1.5, n))
    group = np.repeat(np.arange(n), np.minimum(drawn, 400).astype(int))
    labels = random.random(len(group)) < random.beta(1, 4, n)[group]
    distances = random.normal(apart, 1.0, n)
    return labels, random.normal(labels * distances[group]), group


def groups_cover(draw: tuple[str, float, str, int]) -> str:
    """Simulate the interval of GAUC, for the mean over a population of groups."""
    sizes, apart, weight, n = draw

    def mean(n: int, random: np.random.Generator) -> se.GroupedCurves:
        acc = se.GroupedAUC(scores="real", group_weight=weight, budget=2**22)
        return acc.update(*groups_of(sizes, apart, n, random)).compute()

    truth = mean(POPULATION, np.random.default_rng(1)).gauc
    return covers(truth, lambda random: mean(n, random).confidence("gauc"))


def of_groups() -> str:
    """Lay out the coverage and the mean width of the interval of GAUC."""
    keys = list(itertools.product(("alike", "heavy tails"), ("impressions", "uniform"), (1.0, 3.0)))
    draws = [(sizes, apart, weight, n) for sizes, weight, apart in keys for n in N_GROUPS]
    cells = iter(simulated(groups_cover, draws))
    rows = [
        [sizes, weight, f"{apart:g}", *itertools.islice(cells, len(N_GROUPS))]
        for sizes, weight, apart in keys
    ]
    return laid_out(["sizes", "weight", "distance", *(f"{n} groups" for n in N_GROUPS)], rows)


MEASURES = ("map", "mrr", "ndcg@10", "p@5")
N_QUERIES = (5, 10, 20, 100)


def queries_of(n: int, random: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Draw the relevance of the documents of queries, and the scores of two systems."""
    relevance = random.random((n, 20)) < random.beta(1, 3, (n, 1))
    relevance[:, 0] = True
    shared, own = random.normal(size=(n, 20)), random.normal(size=(2, n, 20))
    return relevance.astype(int), [relevance + shared + one for one in own]


def ranked(n: int, random: np.random.Generator) -> list[se.Ranking]:
    """Rank the documents of queries by two systems."""
    relevance, scores = queries_of(n, random)
    options = {"query": np.arange(n)}
    return [
        se.RankingAccumulator(MEASURES, per_query=True)
        .update(relevance, score, **options)
        .compute()
        for score in scores
    ]


def queries_cover(draw: tuple[str, int]) -> str:
    """Simulate the interval of a mean over queries, or of the difference of two."""
    name, n = draw
    population = ranked(POPULATION, np.random.default_rng(1))
    if name == "difference":
        return covers(
            0.0, lambda random: se.compare(*ranked(n, random))["map"].confidence(level=0.95)
        )
    truth = float(np.mean([result[name] for result in population]))
    return covers(truth, lambda random: ranked(n, random)[0].confidence(name))


def of_queries() -> str:
    """Lay out the coverage and the mean width of the intervals of means over queries."""
    names = (*MEASURES, "difference")
    cells = iter(simulated(queries_cover, itertools.product(names, N_QUERIES)))
    rows = [[name, *itertools.islice(cells, len(N_QUERIES))] for name in names]
    return laid_out(["measure", *(f"{n} queries" for n in N_QUERIES)], rows)


N_CLUSTERS = (20, 100, 400)
ROWS = (1, 5, 50)
ALIKE = 0.3  # the share of the variance that the rows of a cluster have in common
LIMIT, STEPS = 0.75, 20.0  # the threshold of decisions; scores have 20 values for each unit
POPULATION_ROWS, TRIALS = 2_000_000, 2000

Columns = dict[str, np.ndarray]


def noise_of_clusters(
    n: int, rows: int, columns: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the cluster of each row, and columns of normal noise that clusters have in common."""
    cluster = np.repeat(np.arange(n), rows)
    shared, own = random.normal(size=(columns, n)), random.normal(size=(columns, n * rows))
    return cluster, math.sqrt(ALIKE) * shared[:, cluster] + math.sqrt(1 - ALIKE) * own


def stepped(scores: np.ndarray) -> np.ndarray:
    """Round scores, for curves that are quickly read."""
    return np.round(STEPS * scores) / STEPS


def rows_of_clusters(n: int, rows: int, random: np.random.Generator) -> Columns:
    """Draw clusters of rows: labels, scores, and numbers with predictions."""
    cluster, noise = noise_of_clusters(n, rows, 2, random)
    labels = random.random(n * rows) < 0.3
    scores = stepped(noise[0] + 1.5 * labels)
    truth = random.normal(size=n * rows)
    return {
        "cluster": cluster,
        "y_true": labels.astype(int),
        "y_pred": (scores >= LIMIT).astype(int),
        "y_score": scores,
        "truth": truth,
        "prediction": truth + noise[1],
    }


def values_of_clusters(n: int, rows: int, random: np.random.Generator) -> Columns:
    """Draw clusters of rows: skewed values, two models' predictions, and lists of documents."""
    cluster, noise = noise_of_clusters(n, rows, 3, random)
    labels = random.random(n * rows) < 0.3
    skill = random.normal(size=n)[cluster] + 1.5 * random.normal(size=n * rows)
    relevance = random.random((n * rows, 8)) < 0.4
    relevance[:, 0] = True
    return {
        "cluster": cluster,
        "value": np.exp(noise[0] / 2),
        "y_true": labels.astype(int),
        "y_pred_a": (noise[1] + 1.5 * labels >= LIMIT).astype(int),
        "y_pred_b": ((noise[1] + noise[2]) / 1.2 + 1.5 * labels >= LIMIT).astype(int),
        "relevance": relevance.astype(int),
        "score": relevance * skill[:, None] + random.normal(size=(n * rows, 8)),
    }


RANKED = list(itertools.product((0.3, 0.01), (0.6, 0.9, 0.99)))
"""The prevalences and areas of scores in clusters."""


def scores_of_clusters(n: int, rows: int, random: np.random.Generator) -> Columns:
    """Draw clusters of rows: for each prevalence and area, labels and scores."""
    cluster, noise = noise_of_clusters(n, rows, 1, random)
    chance = random.random(n * rows)
    columns = {"cluster": cluster}
    for prevalence, area in RANKED:
        labels = chance < prevalence
        columns[f"label {prevalence}"] = labels.astype(int)
        columns[f"score {prevalence} {area}"] = stepped(noise[0] + distance(area) * labels)
    return columns


CLUSTERED = {
    "clusters": (
        rows_of_clusters,
        se.Collection(
            {
                "decisions": se.ConfusionAccumulator(),
                "scores": se.PRCurveSketch(scores="real"),
                "errors": se.RegressionAccumulator(intervals=True),
            },
            columns={"errors": {"y_true": "truth", "y_pred": "prediction"}},
        ),
        {
            "accuracy": "decisions/accuracy",
            "F1": "decisions/f_score",
            "AUC": "scores/roc_auc",
            "AP": "scores/average_precision",
            "RMSE": "errors/rmse",
        },
    ),
    "clusters of values": (
        values_of_clusters,
        se.Collection(
            {
                "values": se.MeanAccumulator(quantiles=[0.9]),
                "models": se.Paired(),
                "lists": se.RankingAccumulator(["ndcg@5"]),
            }
        ),
        {
            "mean": "values/mean",
            "0.9 quantile": "values/quantile(0.9)",
            "accuracy, A - B": "models/difference",
            "NDCG": "lists/ndcg@5",
        },
    ),
    "clusters of scores": (
        scores_of_clusters,
        se.Collection(
            {f"{p} {area}": se.PRCurveSketch(scores="real") for p, area in RANKED},
            columns={
                f"{p} {area}": {"y_true": f"label {p}", "y_score": f"score {p} {area}"}
                for p, area in RANKED
            },
        ),
        {f"{p:.0%}, AUC {area}": f"{p} {area}/roc_auc" for p, area in RANKED},
    ),
}
"""How rows are drawn for each table, what counts them, and the metrics of its columns."""


def clusters_cover(draw: tuple[str, int, int]) -> list[str]:
    """Simulate plain intervals and clustered ones of each metric of a table."""
    table, n, rows = draw
    drawn, counted, metrics = CLUSTERED[table]
    population = counted.copy().update(drawn(POPULATION_ROWS, 1, np.random.default_rng(1)))
    truths = {name: population.compute().read(name).value for name in metrics.values()}
    random, covered = np.random.default_rng(0), np.zeros((len(metrics), 2))
    defined = np.zeros((len(metrics), 2))  # no sample without positives has an area
    for _ in range(TRIALS):
        acc = se.Clustered(counted, by="cluster").update(drawn(n, rows, random))
        for kind, result in enumerate((acc.total().compute(), acc.compute())):
            for at, (name, truth) in enumerate(truths.items()):
                low, high = result.confidence(name)
                covered[at, kind] += low <= truth <= high
                defined[at, kind] += not math.isnan(low)
    return [
        f"{plain:.3f}, {clustered:.3f}" if known > TRIALS / 2 else "-"
        for (plain, clustered), known in zip(covered / defined, defined.min(1), strict=True)
    ]


def of_clusters(table: str) -> str:
    """Lay out the coverage for each number and size of clusters."""
    draws = list(itertools.product(N_CLUSTERS, ROWS))
    cells = simulated(clusters_cover, [(table, *draw) for draw in draws])
    rows = [[f"{n}", f"{rows}", *cell] for (n, rows), cell in zip(draws, cells, strict=True)]
    return laid_out(["clusters", "rows of each", *CLUSTERED[table][2]], rows)


def equal_models(n: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the probabilities of n models that are equally good, and often err on the same rows."""
    truth = random.integers(0, 2, 500)
    hard = random.normal(size=500)
    own = random.normal(size=(n, 500))
    scores = 1.0 / (1.0 + np.exp(-(2.0 * truth - 1.0 + hard + own)))
    return {"y_true": truth, **{f"m{at}": one for at, one in enumerate(scores)}}


def equal_models_differ(n: int) -> str:
    """Simulate how often any pair of n equal models has a p-value of at most 0.05."""
    random, found = np.random.default_rng(6), np.zeros((3, 2), np.int64)
    for _ in range(SAMPLES):
        batch = equal_models(n, random)
        acc = se.Paired.of_models(list(batch)[1:], measures=["roc_auc", "log_loss"]).update(batch)
        for at, one in enumerate(acc.compute().comparison().values()):
            found[at] += [
                any(pair.pvalue <= 0.05 for pair in one.differences),
                any(pair.holm_pvalue <= 0.05 for pair in one.differences),
            ]
    return "|".join(f"{alone:.3f}, {corrected:.3f}" for alone, corrected in found / SAMPLES)


def of_equal_models() -> str:
    """Lay out how often equal models seem to differ, without Holm's correction and with it."""
    counts = [2, 3, 5, 8]
    cells = simulated(equal_models_differ, counts)
    rows = [[f"{n}", *cell.split("|")] for n, cell in zip(counts, cells, strict=True)]
    return laid_out(["models", "accuracy", "ROC AUC", "log loss"], rows)


def simulated(simulate: Callable[[Any], Any], draws: Iterable[Any]) -> list[Any]:
    """Simulate on all cores, in order."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(simulate, draws))


def laid_out(head: list[str], rows: list[list[str]]) -> str:
    """Lay out a table for the page."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace(" --- ", "---")


TABLES = {
    "decisions": of_decisions,
    "rare classes": of_rare,
    "areas": of_areas,
    "differences": of_differences,
    "losses": of_losses,
    "groups": of_groups,
    "partial areas": of_partial_areas,
    "queries": of_queries,
    **{name: partial(of_clusters, name) for name in CLUSTERED},
    "equal models": of_equal_models,
}


def main() -> None:
    """Print the tables, or write their files: all of them, or those that are named."""
    for name in [name for name in sys.argv[1:] if name != "--write"] or TABLES:
        table = TABLES[name]()
        print(table, end="\n\n")
        if "--write" in sys.argv:
            path = FOLDER / f"coverage-of-{name.replace(' ', '-')}.txt"
            path.write_text(f"{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
