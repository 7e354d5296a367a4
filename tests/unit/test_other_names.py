"""Names of other libraries are answered with ours, wherever users write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from offenders import each

import streameval as se
from streameval.cli.app import main
from streameval.configs.names import advice, unknown_arguments
from streameval.loops.transformers import Evaluate

LABELS = se.ConfusionAccumulator(3).update([0, 1, 2, 1], [0, 1, 1, 1])
CURVE = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8])
CURVES = se.PRCurveSketch(classes=2).update([0, 1], [[0.75, 0.25], [0.5, 0.5]])
RANKING = se.RankingAccumulator().update([[1, 0, 1]], [[0.9, 0.8, 0.1]])
PROBABILITIES = se.CalibrationAccumulator().update([1, 0], [0.75, 0.25])
NUMBERS = se.RegressionAccumulator().update([1, 2], [1, 3])

METRICS = [
    *(
        (LABELS, "f_score", other)
        for other in [
            "f1",
            "F1",
            "f1_score",
            "fbeta_score",
            "dice",
            "f_measure",
            "multiclass_f1_score",
        ]
    ),
    *((LABELS, "f_score[macro]", other) for other in ["f1_macro", "macro_f1", "macro_f1_score"]),
    (LABELS, "f_score[weighted]", "f1_weighted"),
    (LABELS, "recall[micro]", "recall_micro"),
    (LABELS, "precision[micro]", "micro_precision"),
    *((LABELS, "jaccard", other) for other in ["iou", "jaccard_index", "jaccard_score"]),
    *((LABELS, "matthews_corrcoef", other) for other in ["mcc", "matthews_corr_coef"]),
    *((LABELS, "cohen_kappa", other) for other in ["kappa", "cohen_kappa_score"]),
    *(
        (LABELS, "accuracy", other)
        for other in ["acc", "accuracy_score", "multiclass_accuracy", "sparse_categorical_accuracy"]
    ),
    *((LABELS, "recall", other) for other in ["tpr", "sensitivity", "recall_score"]),
    *((CURVE, "roc_auc", other) for other in ["auc", "auroc", "roc_auc_score", "binary_auroc"]),
    *((CURVE, "average_precision", other) for other in ["ap", "auprc", "average_precision_score"]),
    *((CURVE, "log_loss", other) for other in ["logloss", "nll", "binary_crossentropy"]),
    (CURVE, "best_f", "fmax"),
    (CURVES, "roc_auc_macro", "auroc"),
    (CURVES, "roc_auc_weighted", "auroc_weighted"),
    (RANKING, "map", "retrieval_map"),
    (RANKING, "hit@10", "hit_rate"),
    (RANKING, "ndcg@10", "normalized_dcg"),
    *(
        (PROBABILITIES, "ece", other)
        for other in ["calibration_error", "expected_calibration_error"]
    ),
    *(
        (NUMBERS, "rmse", other)
        for other in ["root_mean_squared_error", "neg_root_mean_squared_error"]
    ),
    *((NUMBERS, "r2", other) for other in ["r2_score", "r_squared"]),
]


def said_by(call: Callable[[], Any]) -> str:
    with pytest.raises((se.StreamevalError, AttributeError, KeyError, TypeError)) as caught:
        call()
    return str(caught.value)


@each(("acc", "ours", "other"), METRICS)
def test_the_name_of_a_metric_elsewhere_is_answered_with_ours(
    acc: Any, ours: str, other: str
) -> None:
    result, meant = acc.compute(), f"did you mean {ours!r}"
    assert meant in said_by(lambda: result.read(other))
    assert meant in said_by(lambda: Evaluate(acc, metrics=[other]))
    if acc is not RANKING:  # whose values are looked up among the measures
        assert meant in said_by(lambda: result.value(other))
    result.read(ours)


@pytest.mark.parametrize("other", ["f1", "iou"])
def test_the_command_line_answers_as_python_does(other: str, tmp_path: Any, capsys: Any) -> None:
    ours = {"f1": "f_score", "iou": "jaccard"}[other]
    (tmp_path / "rows.csv").write_text("y_true,y_pred\n1,1\n0,1\n")
    rows = str(tmp_path / "rows.csv")
    for options in (["--metrics", other], ["--require", f"{other}>=0.5"]):
        assert main(["eval", rows, "--task", "classification", *options]) == 2
        assert f"did you mean '{ours}'" in capsys.readouterr().err


@each(("option", "ours"), [("--ignore-index", "--ignore-label"), ("--n-bins", "--bins")])
def test_an_option_of_another_library_is_answered_with_ours(
    option: str, ours: str, capsys: Any
) -> None:
    assert main(["eval", "rows.csv", option, "1"]) == 2
    assert f"no option {option}: did you mean {ours}?" in capsys.readouterr().err


@each(
    ("made", "option", "says"),
    [
        *(
            (se.ConfusionAccumulator, other, "did you mean 'classes'?")
            for other in ["num_classes", "n_classes", "num_labels", "class_names", "target_names"]
        ),
        (se.ConfusionAccumulator, "ignore_index", "did you mean 'ignore_label'?"),
        (se.ConfusionAccumulator, "k", "did you mean 'top_k'?"),
        (se.ConfusionAccumulator, "average", "as in compute().recall('macro')."),
        (se.ConfusionAccumulator, "zero_division", "compute().precision(zero_division=1.0)."),
        (se.ConfusionAccumulator, "normalize", "compute().normalized_matrix('true')"),
        (se.ConfusionAccumulator, "task", "the class says the task: ConfusionAccumulator for"),
        (se.ConfusionAccumulator, "pos_lable", "did you mean 'pos_label'?"),
        (se.PRCurveSketch, "thresholds", "did you mean 'budget'?"),
        (se.PRCurveSketch, "num_classes", "did you mean 'classes'?"),
        (se.PRCurveSketch, "max_fpr", "compute().partial_roc_auc(0.1)."),
        (se.RankingAccumulator, "k", "write it in the name of a measure, as in 'ndcg@10'."),
        (se.RankingAccumulator, "metrics", "did you mean 'measures'?"),
        (se.RankingAccumulator, "empty_target_action", "did you mean 'empty'?"),
        (se.RegressionAccumulator, "squared", "read compute().mse or compute().rmse."),
        (se.RegressionAccumulator, "multioutput", "compute().rmse('raw_values')."),
        (se.RegressionAccumulator, "num_outputs", "did you mean 'outputs'?"),
        (se.CalibrationAccumulator, "n_bins", "did you mean 'bins'?"),
        (se.CatalogAccumulator, "top_k", "did you mean 'k'?"),
        (se.Clustered, "cluster", "did you mean 'by'?"),
        (se.MeanAccumulator, "value", "did you mean 'columns'?"),
        (se.Sliced, "by", "did you mean 'column'?"),
        (se.GroupedAUC, "sync_on_compute", "states of workers merge with merge() or +."),
    ],
)
def test_an_argument_of_another_library_is_answered_with_ours(
    made: Any, option: str, says: str
) -> None:
    with pytest.raises(TypeError) as caught:
        made(**{option: 3})
    assert str(caught.value).startswith(f"{made.__name__} has no argument {option!r}: ")
    assert says in str(caught.value)


def test_other_errors_of_type_are_left_alone() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        se.ConfusionAccumulator(2, True)  # type: ignore[misc]
    with pytest.raises(TypeError, match="positional argument"):
        CURVE.compute().ece(15, 16)  # type: ignore[call-arg, union-attr]


@each(
    ("call", "says"),
    [
        (
            lambda: LABELS.compute().recall(normalize="true"),
            "There is no 'normalize': read compute()",
        ),
        (lambda: LABELS.compute().f_score(num_classes=3), "There is no 'num_classes': "),
        (lambda: CURVES.compute().roc_auc(multi_class="ovr"), "no argument 'multi_class': read"),
        (lambda: CURVE.compute().ece(n_bins=10), "no argument 'n_bins': did you mean 'bins'?"),
    ],
)
def test_an_argument_of_a_metric_elsewhere_is_answered_with_ours(call: Any, says: str) -> None:
    assert says in said_by(call)


@each(
    ("name", "measure"),
    [
        ("hit_rate@5", "hit@5"),
        ("hits@5", "hit@5"),
        ("hit_ratio@5", "hit@5"),
        ("HR@5", "hit@5"),
        ("r_precision", "rprec"),
        ("mean_average_precision", "map"),
        ("normalized_dcg@3", "ndcg@3"),
        ("reciprocal_rank", "mrr"),
        ("recall@5", "r@5"),
    ],
)
def test_measures_of_rankings_have_the_names_of_others(name: str, measure: str) -> None:
    assert se.RankingAccumulator([name]) == se.RankingAccumulator([measure])


@each("name", ["retrieval_map", "RetrievalMAP", "retrieval_mrr@10"])
def test_measures_of_torchmetrics_are_answered_with_ours(name: str) -> None:
    ours = "mrr@10" if "mrr" in name else "map"
    assert f"did you mean '{ours}'" in said_by(lambda: se.RankingAccumulator([name]))


@each(
    ("acc", "name", "says"),
    [
        (LABELS, "confusion_matrix", "Did you mean 'matrix'?"),
        (LABELS, "classification_report", "Did you mean 'report'?"),
        (LABELS, "f1_macro", "Did you mean 'f_score'?"),
        (LABELS, "auroc", "roc_auc is a metric of PRCurveSketch"),
        (LABELS, "roc_auc_score", "roc_auc is a metric of PRCurveSketch"),
        (CURVES, "best_f_threshold", "best_f_threshold is a metric of each class"),
        (CURVE, "roc_auc_ovo", "roc_auc_ovo is a metric of all classes"),
        (se.Paired(), "accuracy_difference", "Did you mean 'difference'?"),
        (CURVE, "acuracy_xyz_none", "has no attribute 'acuracy_xyz_none'"),
    ],
)
def test_an_attribute_elsewhere_is_answered_with_ours(acc: Any, name: str, says: str) -> None:
    assert re.search(re.escape(says) + "$", said_by(lambda: getattr(acc.compute(), name)))


def test_what_nobody_has_is_answered_with_the_list() -> None:
    assert advice("zzz", ["classes"]) == "choose from classes."


def test_a_function_that_takes_any_argument_lacks_none() -> None:
    assert unknown_arguments(lambda **_: None, ["num_classes"]) == ""
