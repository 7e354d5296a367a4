"""What the options of `streameval eval` make of a row."""

import math

import numpy as np
from offenders import each

import streameval as se


def state(call, *arguments):
    done = call("eval", *arguments, "-o", "a.state")
    assert (done.code, done.err.count("error")) == (0, 0), done.err
    return se.load("a.state")


BINARY = [{"y_true": t, "y_score": s} for t, s in [(1, 0.9), (0, 0.3), (1, 0.4), (0, 0.7)]]
WORDS = [{"label": t, "guess": p} for t, p in [("cat", "cat"), ("dog", "cat"), ("owl", "owl")]]
FLAGS = [{"y_true": [1, 0, 1], "y_pred": [1, 1, 0]}, {"y_true": [0, 0, 1], "y_pred": [0, 0, 1]}]


def test_eval_prefers_predicted_labels_to_scores(call, write):
    log = write("a.jsonl", [row | {"y_pred": 1} for row in BINARY])
    assert state(call, log) == se.ConfusionAccumulator("auto").update([1, 0, 1, 0], [1, 1, 1, 1])


@each("name", ["a.jsonl", "a.csv"])
def test_eval_takes_one_number_a_row_as_the_score_of_two_classes(name, call, write):
    expected = se.ConfusionAccumulator(2).update([1, 0, 1, 0], [0.9, 0.3, 0.4, 0.7])
    assert state(call, write(name, BINARY)) == expected


def test_eval_decides_by_the_threshold(call, write):
    log = write("a.jsonl", BINARY)
    expected = se.ConfusionAccumulator(2, threshold=0.8).update([1, 0, 1, 0], [0.9, 0.3, 0.4, 0.7])
    assert state(call, log, "--threshold", 0.8) == expected


@each(("positive", "column"), [(None, 1), (0, 0), (1, 1)])
def test_eval_takes_the_positive_score_of_two(positive, column, call, write):
    scores = [[0.1, 0.9], [0.7, 0.3], [0.6, 0.4]]
    rows = [{"y_true": t, "y_score": s} for t, s in zip([1, 0, 1], scores, strict=True)]
    options = [] if positive is None else ["--pos-label", positive]
    expected = se.ConfusionAccumulator(2, pos_label=positive)
    expected.update([1, 0, 1], np.array(scores)[:, column])
    assert state(call, write("a.jsonl", rows), *options) == expected


def test_eval_takes_the_positive_score_of_two_listed_classes(call, write):
    rows = [{"y_true": "ham", "h": 0.8, "s": 0.2}, {"y_true": "spam", "h": 0.6, "s": 0.4}]
    options = ["--y-score", "h,s", "--classes", "ham,spam", "--pos-label", "ham"]
    expected = se.ConfusionAccumulator(["ham", "spam"], pos_label="ham")
    assert state(call, write("a.csv", rows), *options) == expected.update(
        ["ham", "spam"], [0.8, 0.6]
    )


@each("name", ["a.jsonl", "a.csv", "a.parquet"])
@each(
    ("options", "positive"),
    [([], 1), (["--pos-label", "0"], 0), (["--classes", "0,1"], 1), (["--classes", "1,0"], 0)],
)
def test_eval_refuses_scores_of_two_models_for_two_classes(options, positive, name, call, write):
    log = write(name, [{"y_true": 1, "p": 0.75, "p b": 0.5}, {"y_true": 0, "p": 0.5, "p b": 0.5}])
    done = call("eval", log, "--y-score", "p,p b", *options)
    assert done.code == 2
    assert done.err == (
        "streameval: error: `p,p b` are two scores for two classes, but do not sum to 1. Name one "
        f"column for the probability of class {positive}; to compare two models use --y-score p "
        "--versus 'p b'.\n"
    )


def test_eval_does_not_advise_to_compare_models_that_are_compared(call, write):
    log = write("a.csv", [{"y_true": 1, "p": 0.5, "q": 0.5, "r": 0.5, "s": 0.75}])
    done = call("eval", log, "--y-score", "p,q", "--versus", "r,s")
    assert done.code == 2
    assert done.err.endswith(" Name one column for the probability of class 1.\n")
    assert "`r,s` are two scores" in done.err


@each(
    ("scores", "options"),
    [((0.3335, 0.6660), []), ((0.25, 0.5), ["--scores", "real"])],
)
def test_eval_takes_two_named_scores_of_two_classes(scores, options, call, write):
    log = write("a.csv", [dict(zip(("y_true", "p", "q"), (1, *scores), strict=True))])
    found = state(call, log, "--y-score", "p,q", *options, "--threshold", 0.5)
    assert found.compute().tp == 1


def test_eval_names_a_row_whose_score_of_two_is_no_probability(call, write):
    log = write("a.csv", [{"y_true": 1, "p": 0.5, "q": 1.75}])
    done = call("eval", log, "--y-score", "p,q")
    assert (done.code, "a.csv, line 2: `p,q` must lie in [0, 1], got 1.75." in done.err) == (
        3,
        True,
    )


@each("name", ["a.jsonl", "a.csv", "a.parquet"])
@each("classes", ["auto", "owl,dog,cat"])
def test_eval_counts_words(classes, name, call, write):
    log = write(name, WORDS)
    given = classes if classes == "auto" else classes.split(",")
    expected = se.ConfusionAccumulator(given).update(["cat", "dog", "owl"], ["cat", "cat", "owl"])
    options = ["--y-true", "label", "--y-pred", "guess", "--classes", classes]
    assert state(call, log, *options) == expected


@each("name", ["a.jsonl", "a.csv"])
def test_eval_takes_integers_as_words_when_listed_so(name, call, write):
    rows = [{"y_true": "x", "y_pred": 3}, {"y_true": 3, "y_pred": 3}]
    expected = se.ConfusionAccumulator(["x", "3"]).update(["x", "3"], ["3", "3"])
    assert state(call, write(name, rows), "--classes", "x,3") == expected


def test_eval_takes_listed_integers_in_their_order(call, write):
    rows = [{"y_true": 7, "y_pred": -1}, {"y_true": 7, "y_pred": 7}]
    expected = se.ConfusionAccumulator([7, -1]).update([7, 7], [-1, 7])
    assert state(call, write("a.csv", rows), "--classes", "7,-1") == expected


def test_eval_takes_a_number_of_classes(call, write):
    rows = [{"y_true": 0, "y_pred": 1}, {"y_true": 1, "y_pred": 1}]
    expected = se.ConfusionAccumulator(5).update([0, 1], [1, 1])
    assert state(call, write("a.csv", rows), "--classes", 5) == expected


def test_eval_weighs_rows(call, write):
    rows = [{"y_true": 1, "y_pred": 1, "w": 2.5}, {"y_true": 0, "y_pred": 1, "w": 1}]
    expected = se.ConfusionAccumulator("auto").update([1, 0], [1, 1], sample_weight=[2.5, 1])
    assert state(call, write("a.csv", rows), "--sample-weight", "w") == expected


def test_eval_ignores_a_label(call, write):
    rows = [{"y_true": 1, "y_pred": 1}, {"y_true": -1, "y_pred": 1}]
    expected = se.ConfusionAccumulator("auto", ignore_label=-1).update([1, -1], [1, 1])
    assert state(call, write("a.csv", rows), "--ignore-label=-1") == expected


def test_eval_ignores_a_word(call, write):
    rows = [{"y_true": "a", "y_pred": "a"}, {"y_true": "?", "y_pred": "a"}]
    expected = se.ConfusionAccumulator("auto", ignore_label="?").update(["a", "?"], ["a", "a"])
    assert state(call, write("a.csv", rows), "--ignore-label", "?") == expected


@each("name", ["a.jsonl", "a.parquet"])
def test_eval_counts_lists_of_flags(name, call, write):
    expected = se.ConfusionAccumulator(3, multilabel=True)
    expected.update([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]])
    assert state(call, write(name, FLAGS), "--multilabel") == expected


def test_eval_counts_columns_of_flags_against_columns_of_scores(call, write):
    rows = [{"a": 1, "b": 0, "p": 0.9, "q": 0.6}, {"a": 0, "b": 1, "p": 0.1, "q": 0.4}]
    options = ["--multilabel", "--y-true", "a,b", "--y-score", "p,q", "--threshold", 0.5]
    expected = se.ConfusionAccumulator(2, multilabel=True)
    expected.update([[1, 0], [0, 1]], [[0.9, 0.6], [0.1, 0.4]])
    assert state(call, write("a.csv", rows), *options) == expected


def test_eval_counts_columns_of_flags_against_columns_of_flags(call, write):
    rows = [{"a": 1, "b": 0, "p": 1, "q": 1}]
    options = ["--multilabel", "--y-true", "a,b", "--y-pred", "p,q", "--classes", "red,blue"]
    expected = se.ConfusionAccumulator(["red", "blue"], multilabel=True)
    assert state(call, write("a.csv", rows), *options) == expected.update([[1, 0]], [[1, 1]])


def test_eval_learns_from_the_first_row_that_is_whole(call, write):
    rows = [{"y_true": None, "y_pred": None}, {"y_true": "a", "y_pred": "a"}]
    log = write("a.jsonl", rows)
    expected = se.ConfusionAccumulator("auto").update(["a"], ["a"])
    assert state(call, log, "--max-bad", 1) == expected


def test_eval_starts_after_rows_that_cannot_be_read(call, folder):
    (folder / "a.jsonl").write_text("junk\n")
    (folder / "b.jsonl").write_text('{"y_true": 1, "y_pred": 1}\n')
    expected = se.ConfusionAccumulator("auto").update([1], [1])
    assert state(call, "a.jsonl", "b.jsonl", "--max-bad", 1) == expected


def test_eval_counts_the_rows_before_the_first_that_can_be_read(call, folder):
    (folder / "a.jsonl").write_text("junk\n")
    (folder / "b.jsonl").write_text('{"y_true": 1, "y_pred": 1}\n')
    found = call("eval", "a.jsonl", "b.jsonl", "--max-bad", 1, "--json").json
    assert (found["rows"], found["bad"], found["n"]) == (2, 1, 1)


def test_eval_reads_infinite_scores(call, write):
    rows = [{"y_true": 1, "y_score": math.inf}, {"y_true": 0, "y_score": -math.inf}]
    expected = se.ConfusionAccumulator(2, scores="real").update([1, 0], [math.inf, -math.inf])
    assert state(call, write("a.jsonl", rows), "--scores", "real") == expected


@each(
    ("options", "rows"),
    [
        ([], [{"y_true": 1, "y_score": 0.5}, {"y_true": 0, "y_score": 85.0}]),
        (["--multilabel"], [{"y_true": [1, 0], "y_score": [0.5, 85.0]}]),
    ],
)
def test_eval_refuses_scores_outside_0_and_1_with_the_remedy(options, rows, call, write):
    done = call("eval", write("a.jsonl", rows), "--task", "classification", *options)
    assert (done.code, done.out) == (3, "")
    assert done.err.endswith(
        "must lie in [0, 1], got 85.0. Pass --scores real for logits or margins, and a threshold "
        "on their scale, such as --threshold 0. If they are percentages, divide them by 100.\n"
    )


def test_eval_takes_any_score_at_a_threshold_that_no_probability_has(call, write):
    rows = [{"y_true": 1, "y_score": 3.5}, {"y_true": 0, "y_score": -2.0}]
    expected = se.ConfusionAccumulator(2, threshold=0).update([1, 0], [3.5, -2.0])
    assert state(call, write("a.jsonl", rows), "--threshold", "0") == expected


def test_eval_averages_over_examples(call, write):
    rows = [{"y_true": [1, 0], "y_pred": [1, 1]}, {"y_true": [0, 1], "y_pred": [0, 1]}]
    log = write("a.jsonl", rows)
    options = ["--multilabel", "--measures", "samples"]
    expected = se.ConfusionAccumulator(2, multilabel=True, measures=["samples"])
    assert state(call, log, *options) == expected.update([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    done = call("eval", log, *options, "--metrics", "precision[samples]")
    assert "0.75" in done.out


def test_eval_counts_precision_among_the_best_scores(call, write):
    rows = [{"y_true": 1, "y_score": [0.5, 0.4, 0.1]}, {"y_true": 2, "y_score": [0.5, 0.4, 0.1]}]
    found = state(call, write("a.jsonl", rows), "--top-k", 2, "--measures", "top_k")
    expected = se.ConfusionAccumulator(3, top_k=2, measures=["top_k"])
    assert found == expected.update([1, 2], [row["y_score"] for row in rows])
