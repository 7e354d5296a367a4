"""What accumulators and their options are, in sentences: what `explain` says of a state.

A docstring may be left out when Python runs, so these stand beside it; a test holds them equal.
"""

from __future__ import annotations

import attrs

from streameval.configs.measures import MEASURES


@attrs.frozen
class Description:
    """What an accumulator does, and what each of its options means."""

    summary: str
    options: dict[str, str] = attrs.field(factory=dict)


def description_of(cls: type) -> Description:
    """Find the description of a class of accumulators."""
    return DESCRIPTIONS[cls.__name__]


def _measures() -> str:
    """List the measures: cutoff optional, cutoff required, and without a cutoff."""
    rows = MEASURES.values()
    optional = ", ".join(row.name for row in rows if row.cutoff == "optional")
    required = ", ".join(f"{row.name}@k" for row in rows if row.cutoff == "required")
    uncut = (
        f"{row.name}({row.parameter[0]}={_default(row.parameter[1])})"
        if row.parameter
        else row.name
        for row in rows
        if row.cutoff == "none"
    )
    return f"{optional}, alone or cut as in map@100; {required}; {', '.join(uncut)}."


def _default(value: float | None) -> str:
    return "x" if value is None else f"{value:g}"


DESCRIPTIONS = {
    "ConfusionAccumulator": Description(
        "Count truth against prediction, batch by batch.",
        {
            "classes": "A number K stands for the labels 0..K-1; a sequence lists the labels "
            '(integers or strings) in the order of rows, columns and scores; "auto" collects '
            "labels from the data (at most 4096) and sorts them.",
            "multilabel": "Whether each of the classes is present or absent on its own.",
            "threshold": "A score of at least this is a positive prediction, for two classes and "
            "multilabel.",
            "scores": "Whether the scores of two classes and multilabel lie in [0, 1].",
            "pos_label": "The positive one of two classes: by default 1, or the second of two "
            "listed.",
            "from_scores": "Whether y_pred holds scores.",
            "top_k": "Among how many of the best scores the true class must be for top_k_accuracy.",
            "ignore_label": "Rows (for multilabel, entries) whose truth is this do not count.",
            "include_unseen": "Whether macro means keep classes that occur in neither truth nor "
            "prediction, as zeros.",
            "measures": 'Additional counts to keep: "samples", for means over examples with '
            'average="samples" (multilabel); "top_k", for precision, recall and F of the best '
            "top_k scores.",
        },
    ),
    "PRCurveSketch": Description(
        "Keep a curve of scores against truth in bounded memory, batch by batch.",
        {
            "budget": "The number of cells kept for each curve; None keeps every distinct score.",
            "scores": "Whether scores lie in [0, 1].",
            "classes": "One curve for each class, from a score for each: an integer K means the "
            "labels 0..K-1, a sequence lists the labels in the order of the score columns.",
            "multilabel": "Whether each of the classes is present or absent independently.",
            "pos_label": "The positive one of any two labels; by default they are 0 and 1.",
            "nan": "Whether a row with a score of NaN is refused, or left out and counted as "
            "skipped.",
            "ignore_label": "Rows (for multilabel, entries) whose truth is this do not count.",
            "measures": 'Additional curves to keep: "one_vs_one", of at most 64 classes a curve of '
            "each against each other one, for roc_auc_ovo. It takes K (K - 1) more curves, each of "
            "the budget.",
        },
    ),
    "GroupedAUC": Description(
        "Keep the scores of each group separate, and average the AUC within groups.",
        {
            "budget": "The number of cells over all groups.",
            "scores": "Whether scores lie in [0, 1].",
            "group_weight": "The weight of a group in the mean: its examples, one, or its "
            "positives.",
            "max_groups": "The max number of groups; more raise an error.",
        },
    ),
    "CatalogAccumulator": Description(
        "Count how often a recommender shows each item of a catalog, batch by batch.",
        {
            "n_items": "The number of items of the catalog; more distinct ones raise an error.",
            "k": "How many ranks of each list count; None counts every row.",
            "popularity": "Whether rows have the popularity of the item, for novelty and "
            "average_popularity.",
        },
    ),
    "CalibrationAccumulator": Description(
        "Measure the quality and the calibration of probabilities, batch by batch.",
        {
            "bins": "How many bins of equal width predictions fall into for ece and "
            "reliability_curve: [i / bins, (i + 1) / bins), the last one closed; at most 2**16, "
            "fewer with many classes, since bins and classes together must leave a state below "
            "16 MiB (some 55,000).",
            "classes": "For K classes, each with a probability: K stands for the labels 0..K-1, a "
            "sequence lists the labels (integers or strings) in the order of the columns",
            "intervals": "Whether log loss and Brier score have sampling intervals, which need "
            "three more sums.",
        },
    ),
    "RegressionAccumulator": Description(
        "Sum the errors of predicted numbers, batch by batch, exactly.",
        {
            "measures": 'Metrics that need more than the sums that are always kept, such as "mape" '
            'or "huber(delta=1)"; Regression lists them all. With other measures accumulators do '
            "not merge.",
            "budget": "The number of cells kept for the median and quantiles of the absolute "
            "error; None keeps every distinct error.",
            "intervals": "Whether RMSE, MSE, MAE, R2 and bias have sampling intervals, which takes "
            "five more sums.",
            "outputs": "The number of numbers that each row predicts, at most 1,024, or a name for "
            "each: arrays have shape (n, outputs), and compute returns the errors of each output "
            "and their averages.",
        },
    ),
    "RankingAccumulator": Description(
        "Measure rankings of documents, query by query, and keep the sums.",
        {
            "measures": _measures(),
            "relevance_level": "A document is relevant from this relevance on.",
            "gain": "What a relevance is worth in NDCG and DCG: itself, 2**relevance - 1, or what "
            "the mapping gives for it.",
            "ties": "How documents of equal scores count: the mean over all orders; the order by "
            "falling document id, as in trec_eval; the min or max of each measure.",
            "ap_norm": "Whether map@k divides by the number of relevant documents R, or by "
            "min(R, k).",
            "unjudged": "Whether documents whose relevance is NaN are not relevant, or are taken "
            "out first.",
            "negative": "Whether a negative relevance is refused, or counts as not judged.",
            "nan": "Whether a score of NaN is refused, or ranks below all others.",
            "empty": "What a query counts in which a measure has nothing to find.",
            "missing": "What a judged query counts that is absent from the run.",
            "track_queries": "Keep the id of each query, so that one counted twice is refused, "
            "across merges too.",
            "rows_per_query": "The number of rows of an open query that are kept for measures "
            "without a cutoff. Up to this number the measures are exact; beyond it they have "
            "bounds.",
            "max_open_queries": "The max number of open queries; more raise an error.",
            "per_query": "Keep the values of each query too, with its id; see Ranking.per_query.",
            "budget": "The number of cells kept for the quantiles of a measure; None keeps every "
            "distinct value.",
        },
    ),
    "Paired": Description(
        "Count which of two models is right on the same rows, batch by batch.",
        {
            "classes": "A number K stands for the labels 0..K-1; a sequence lists the labels "
            '(integers or strings) in the order of scores; "auto" takes any labels. None is for '
            "predicted numbers: a model is right where it is as close to the truth as the other, "
            "or closer, so that McNemar's test is the sign test.",
            "multilabel": "Whether each of the classes is present or absent on its own; a row is "
            "right if all are.",
            "threshold": "A score of at least this is a positive prediction, for two classes and "
            "multilabel.",
            "scores": "Whether the scores of two classes and multilabel lie in [0, 1].",
            "pos_label": "The positive one of two classes: by default 1, or the second of two "
            "listed.",
            "from_scores": "Whether predictions are scores.",
            "ignore_label": "Rows (for multilabel, entries) whose truth is this do not count.",
            "measures": "What else to compare. Of decisions between at most 64 listed classes: "
            '"precision", "recall", "specificity", "f_score", "balanced_accuracy", '
            '"matthews_corrcoef" and "cohen_kappa"; of the scores of two classes: "roc_auc", and '
            'of probabilities "log_loss" and "brier". Of predicted numbers: "mse" and "mae".',
            "budget": 'The number of pairs of scores kept for "roc_auc", and of the cells of each '
            "model beyond it; None keeps every pair.",
        },
    ),
    "Collection": Description("Count one batch with many accumulators, all of them or none."),
    "Sliced": Description(
        "Count each value of a column separately: a metric for each country, or model.",
        {
            "accumulator": "What counts each slice.",
            "column": "The column that holds the values.",
            "values": "The values that always have a slice, even without rows, in this order.",
            "max_values": "How many values have a slice, the named ones included.",
        },
    ),
    "Windowed": Description(
        "Count each pane of event time separately: a metric over time, and of any window.",
        {
            "accumulator": "What counts each pane.",
            "pane": "The width of the finest panes.",
            "time": "The column of the times.",
            "keep": "How long panes are kept.",
            "rollups": "Wider panes for older rows, each width a multiple of the one before.",
            "offset": "How far the edges of panes are shifted.",
            "unit": "The unit of times that are numbers; it is never guessed.",
        },
    ),
}
"""By name of the class."""
