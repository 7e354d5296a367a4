"""`streameval explain`: a state in words."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.cli.states.explain import shortened
from streameval.configs.measures.requested import DEFAULT_MEASURES
from streameval.render.text import listed_few, numbers
from streameval.results.result import Result

MEASURES = [*DEFAULT_MEASURES, "dcg@3", "rprec", "lrap", "rbp", "err@5", "bpref", "judged@5"]
MEASURES += ["set_p", "set_r", "set_f", "gm_map", "map(rel=2)"]


def scores(n, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return label, (label + 2 * rng.random(n)) / 3


def many_classes():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 300)
    return label, rng.dirichlet([1.0] * 5, 300)


def collection():
    members = {
        "cm": se.ConfusionAccumulator(),
        "in": se.Collection({"a": se.PRCurveSketch(32), "b": se.PRCurveSketch(32)}),
        "other": se.PRCurveSketch(16),
    }
    made = se.Collection(members, columns={"other": {"y_score": "p"}})
    label, score = scores(300)
    return made.update(
        {"y_true": label, "y_pred": (score > 0.5).astype(int), "y_score": score, "p": score}
    )


KINDS = {
    "binary": lambda: se.ConfusionAccumulator().update([0, 1, 1], [0, 1, 0]),
    "labels": lambda: se.ConfusionAccumulator("auto").update(["a", "b"], ["b", "b"]),
    "long label": lambda: se.ConfusionAccumulator("auto").update(["a" * 300], ["b" * 300]),
    "multilabel": lambda: se.ConfusionAccumulator(2, multilabel=True).update([[0, 1]], [[1, 1]]),
    "top": lambda: se.ConfusionAccumulator(3, top_k=2).update([0], [[0.2, 0.3, 0.5]]),
    "curve": lambda: se.PRCurveSketch().update(*scores(300)),
    "coarse": lambda: se.PRCurveSketch(20).update(*scores(300)),
    "logits": lambda: se.PRCurveSketch(scores="real").update([0, 1], [-3.0, 9.0]),
    "classes": lambda: se.PRCurveSketch(classes=5).update(*many_classes()),
    "coarse classes": lambda: se.PRCurveSketch(16, classes=5).update(*many_classes()),
    "grouped": lambda: se.GroupedAUC().update(*scores(300), np.arange(300) % 40),
    "coarse groups": lambda: se.GroupedAUC(60).update(*scores(300), np.arange(300) % 40),
    "calibration": lambda: se.CalibrationAccumulator().update(*scores(300)),
    "class calibration": lambda: se.CalibrationAccumulator(classes=5).update(*many_classes()),
    "regression": lambda: se.RegressionAccumulator().update(*scores(50)),
    "paired": lambda: se.Paired().update([1] * 50, [1] * 50, [1] * 9 + [0] * 41),
    "ranking": lambda: se.RankingAccumulator(MEASURES).update([[1, 0]] * 40, [[0.2, 0.3]] * 40),
    "collection": collection,
}
EMPTY = {
    "no rows": se.ConfusionAccumulator,
    "no labels": lambda: se.ConfusionAccumulator("auto"),
    "no scores": se.PRCurveSketch,
    "no classes": lambda: se.PRCurveSketch(classes=3),
    "no groups": se.GroupedAUC,
    "no probabilities": se.CalibrationAccumulator,
    "no class probabilities": lambda: se.CalibrationAccumulator(classes=3),
    "no numbers": se.RegressionAccumulator,
    "no pairs": se.Paired,
    "no queries": se.RankingAccumulator,
    "no members": lambda: se.Collection({"a": se.PRCurveSketch()}),
}


@pytest.fixture
def explained(folder, call):
    def explained(accumulator):
        se.save(accumulator, "a.state")
        done = call("explain", "a.state")
        assert (done.code, done.err) == (0, "")
        return done.out

    return explained


def said(accumulator):
    """What limits the numbers."""
    return list(accumulator.compute().findings())


def sections(text):
    parts = re.split(r"^(Options|What limits|What the numbers).*\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@each("kind", [*KINDS, *EMPTY])
def test_explain_fits_80_columns(kind, explained):
    lines = explained((KINDS | EMPTY)[kind]()).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line != line.rstrip() for line in lines)


@each("kind", [kind for kind in KINDS if kind != "collection"])
def test_explain_gives_every_metric_its_value_and_meaning(kind, explained):
    accumulator = KINDS[kind]()
    result = accumulator.compute()
    text = explained(accumulator)
    for name, reading in result.readings().items():
        shown = f"{name}  {numbers([reading.defined.value])[0]}"
        assert re.search(rf"^{re.escape(shown)}(  |$)", text, re.MULTILINE)
        assert len(result.meaning(name)) > 5
        assert result.meaning(name) in " ".join(text.split())


@each("kind", [kind for kind in KINDS if kind != "collection"])
def test_explain_lists_every_option(kind, explained):
    accumulator = KINDS[kind]()
    listing = sections(explained(accumulator)).get("Options", "")
    found = re.findall(r"^[* ] (\w+) .*", listing, re.MULTILINE)
    assert found == list(accumulator.options)


@each("kind", EMPTY)
def test_explain_says_that_nothing_was_counted(kind, explained):
    assert re.search(r"has been counted yet\.", explained(EMPTY[kind]()))


def test_explain_begins_with_what_was_counted(explained):
    accumulator = se.PRCurveSketch(20).update(*scores(300))
    result = accumulator.compute()
    lines = explained(accumulator).splitlines()
    assert lines[:3] == [
        "a.state: PRCurveSketch. Keep a curve of scores against truth in bounded memory,",
        "  batch by batch.",
        (
            f"n = 300, {len(accumulator.to_bytes()):,} bytes, estimates with bounds of the exact "
            f"values, {result.cells} bins"
        ),
    ]


def test_explain_counts_the_cells_of_all_classes(explained):
    accumulator = KINDS["classes"]()
    cells = sum(curve.cells for curve in accumulator.compute().values())
    assert f"every number exact, {cells:,} bins" in explained(accumulator)


def test_explain_says_that_counts_are_exact(explained):
    assert ", every number exact\n" in explained(KINDS["binary"]())
    assert "n_queries = 40, " in explained(KINDS["ranking"]())


@each(
    ("accumulator", "changed"),
    [
        (se.ConfusionAccumulator(), set()),
        (se.ConfusionAccumulator(["ham", "spam"]), {"classes"}),
        (se.ConfusionAccumulator(["ham", "spam"], pos_label="ham"), {"classes", "pos_label"}),
        (se.ConfusionAccumulator(pos_label=0, threshold=0.7), {"pos_label", "threshold"}),
        (se.ConfusionAccumulator(5, top_k=2), {"classes", "top_k"}),
        (se.PRCurveSketch(None, classes=3, multilabel=True), {"budget", "classes", "multilabel"}),
        (se.GroupedAUC(group_weight="uniform"), {"group_weight"}),
        (se.RankingAccumulator(gain={1: 3}, empty={"map": "skip"}), {"gain", "empty"}),
        (se.RankingAccumulator(["map"], missing="skip"), {"measures", "missing"}),
    ],
)
def test_explain_marks_the_options_that_are_not_the_default(accumulator, changed, explained):
    listing = sections(explained(accumulator))["Options"]
    assert set(re.findall(r"^\* (\w+)", listing, re.MULTILINE)) == changed


def test_explain_says_what_an_option_means_that_is_not_the_default(explained):
    text = explained(se.ConfusionAccumulator(threshold=0.7))
    assert (
        "* threshold       0.7\n"
        "    A score of at least this is a positive prediction, for two classes and\n"
        "    multilabel; for multilabel, it may be one for each label.\n"
        "  scores          None\n"
        "  pos_label       1\n" in text
    )


def test_explain_says_what_the_meanings_of_measures_are_about(explained):
    text = " ".join(explained(KINDS["ranking"]()).split())
    assert se.Ranking.TERMS in text


def test_explain_shows_default_options_without_their_meaning(explained):
    assert sections(explained(KINDS["regression"]()))["Options"] == (
        "  measures   ()\n  budget     65536\n  intervals  False\n  outputs    None\n\n"
    )


def test_explain_shows_sampling_intervals_of_a_regression_that_has_them(explained):
    acc = se.RegressionAccumulator(intervals=True)
    assert re.search(r"\nrmse  \S+  95% \[\S+, \S+\]\n", explained(acc.update(*scores(50))))
    said_of_halves = said(acc.update([1.0], [2.0], sample_weight=[0.5]))
    assert said_of_halves[-1].startswith("Weights had fractions")
    assert "no sampling interval" not in " ".join(said(acc.reset().update(*scores(50))))


def test_explain_says_what_measures_mean_and_that_quantiles_have_bounds(explained):
    measures = ["huber(delta=2)", "median_absolute_error"]
    text = explained(se.RegressionAccumulator(measures, budget=4).update(*scores(50)))
    assert "\nhuber(delta=2)  0." in text
    assert re.search(r"\nmedian_absolute_error  0\.\d+  \[0\.\d+, 0\.\d+\]\n", text)
    assert "more distinct errors than\n  budget=4 bins." in text
    assert "absolute_error_quantile(x)" in text
    assert "tweedie" not in text


def test_explain_names_both_kinds_of_interval_where_there_are_some(explained):
    both = explained(KINDS["coarse"]())
    assert re.search(r"roc_auc  0\.\d+  \[0\.\d+, 0\.\d+\]  95% \[0\.\d+, 0\.\d+\]\n", both)
    assert ("\n[low, high]: " in both, "\n95% [low, high]: " in both) == (True, True)
    neither = explained(se.RegressionAccumulator())
    assert "[low, high]" not in neither


def test_explain_goes_through_the_members_of_a_collection(explained):
    text = explained(collection())
    assert text.startswith("a.state: Collection. Count one batch with many accumulators, all of")
    titles = re.findall(r"^  (\S.*): (\w+)\. ", text, re.MULTILINE)
    assert titles == [
        ("cm", "ConfusionAccumulator"),
        ("in/a, in/b", "PRCurveSketch"),
        ("other", "PRCurveSketch"),
    ]
    assert re.findall(r"It reads (.*)\.", text) == ["y_score from 'p'"]
    assert re.search(r"^3 members, [\d,]+ bytes$", text, re.MULTILINE)
    assert len(re.findall(r"^  \* budget +(?:32|16)$", text, re.MULTILINE)) == 2


def test_explain_counts_the_rows_of_a_collection_in_clusters(explained):
    members = {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}
    batch = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "user": [1, 1, 2]}
    clustered = se.Clustered(se.Collection(members), by="user")
    assert "\nn = 3, " in explained(clustered.copy().update(batch))
    both = se.Collection({"users": clustered, "plain": se.ConfusionAccumulator()}).update(batch)
    titles = re.findall(r"^  (\S.*): (\w+)\. ", explained(both), re.MULTILINE)
    assert titles == [("users", "Clustered"), ("plain", "ConfusionAccumulator")]


@each(
    ("accumulator", "sentences"),
    [
        (
            se.ConfusionAccumulator(4).update([0, 0, 1, 3], [0, 2, 1, 1]),
            [
                "Few examples, 4: another sample may give quite different numbers.",
                (
                    "Classes that never occur in the truth, 1 of 4: 2; if they "
                    "are predicted, their recall is 0."
                ),
                (
                    "Classes that never occur as prediction, 1 of 4: 3; if they "
                    "are true, their precision is 0."
                ),
                ("Classes with few examples, whose numbers say little: 1 (1), 3 (1), 0 (2)."),
                "Every number is exact: nothing was approximated.",
            ],
        ),
        (
            se.ConfusionAccumulator(2, multilabel=True).update([[0, 1]] * 40, [[1, 0]] * 40),
            [
                (
                    "Classes that never occur in the truth, 1 of 2: 0; if they "
                    "are predicted, their recall is 0."
                ),
                (
                    "Classes that never occur as prediction, 1 of 2: 1; if they "
                    "are true, their precision is 0."
                ),
                "Every number is exact: nothing was approximated.",
            ],
        ),
        (
            se.ConfusionAccumulator(ignore_label=7).update(
                [0, 1] * 50, [0, 1] * 50, sample_weight=[0.5, 1.5] * 50
            ),
            [
                "Classes with few examples, whose numbers say little: 0 (25.0).",
                (
                    "Weights had fractions, and a fraction of an example is not a draw: "
                    "no sampling intervals."
                ),
                "Rows whose truth is 7 were left out.",
                "Every number is exact: nothing was approximated.",
            ],
        ),
        (
            se.GroupedAUC().update([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], ["u", "u", "v", "u"]),
            [
                (
                    "Groups of one class only, which have no AUC: 1 of 2. The "
                    "mean is about 75.0% of the examples."
                ),
                ("Few groups of both classes, 1: another sample may give quite different numbers."),
                (
                    "Half of the groups with an AUC hold at most 3 examples: if "
                    "that is few, the AUC of one of them says little."
                ),
                "Every number is exact: each of 4 scores of a group has its own bin.",
                "GAUC has no sampling interval.",
            ],
        ),
        (
            se.GroupedAUC().update([1], [0.1], [3]),
            [
                (
                    "Groups of one class only, which have no AUC: 1 of 1. The "
                    "mean is about 0.0% of the examples."
                ),
                "Every number is exact: each of 1 scores of a group has its own bin.",
                "GAUC has no sampling interval.",
            ],
        ),
        (
            se.CalibrationAccumulator().update([1, 1], [0.0, 0.3]),
            [
                "Few examples, 2: another sample may give quite different numbers.",
                "Every label is 1: one class only.",
                (
                    "Examples whose true class has a probability of 0 or 1: 1 "
                    "(50.0%). Log loss clips probabilities to 2**-52 from 0 and 1, so "
                    "each 0 costs 36.04."
                ),
                "Bins with fewer than 30 examples: 2 of 2. With few examples, ECE is too high.",
                "ECE depends on the bins, here 15; no metric has a sampling interval.",
            ],
        ),
        (
            se.CalibrationAccumulator(bins=1).update([0, 1] * 40, [0.4, 0.3] * 40),
            ["ECE depends on the bins, here 1; no metric has a sampling interval."],
        ),
        (
            se.CalibrationAccumulator(bins=1, classes=3).update(
                [0, 1] * 20, [[0.4, 0.3, 0.3]] * 40
            ),
            [
                ("Classes that never occur in the truth, 1 of 3: 2; their PCOPC is undefined."),
                "ECE depends on the bins, here 1; no metric has a sampling interval.",
            ],
        ),
        (
            se.Paired().update([1, 1], [1, 0], [0, 1], sample_weight=[1.5, 2]),
            [
                (
                    "Few examples that only one model gets right, 3.5: another sample may give "
                    "quite different numbers."
                ),
                "Weights had fractions, and a fraction of an example is not a draw: no tests.",
                "Every number is exact: nothing was approximated.",
            ],
        ),
        (
            se.RegressionAccumulator().update([1.0, 1.0], [0.0, 2.0]),
            [
                "Few examples, 2: another sample may give quite different numbers.",
                "The truth is constant: R2 is undefined.",
                "Only sums are kept, so no metric has a sampling interval.",
            ],
        ),
        (
            se.RankingAccumulator(empty="skip").update([[1, 0], [0, 0]], [[1, 2], [1, 2]]),
            [
                "Few queries, 2: another sample may give quite different numbers.",
                "Queries with nothing to find: 1. They count as empty=skip says.",
                "Every number is exact: nothing was approximated.",
            ],
        ),
    ],
)
def test_limits_are_said_in_sentences(accumulator, sentences):
    assert said(accumulator) == sentences


def test_limits_of_a_large_sample_are_few():
    n = np.arange(300)
    assert said(se.ConfusionAccumulator().update(n % 2, n % 2)) == [
        "Every number is exact: nothing was approximated."
    ]
    (line,) = said(se.RegressionAccumulator().update(n, n + 1))
    assert line == "Only sums are kept, so no metric has a sampling interval."


def test_limits_of_a_curve_are_those_of_its_rows_and_of_its_cells():
    acc = se.PRCurveSketch(16, nan="skip").update(*scores(20)).update([1], [math.nan])
    found = said(acc)
    assert found[:3] == [
        "Examples left out because they have no score: 1.",
        f"Few positives, {acc.compute().n_pos}: another sample may give quite different numbers.",
        f"Few negatives, {acc.compute().n_neg}: another sample may give quite different numbers.",
    ]
    plain = " ".join(acc.compute().explain().split())
    assert " ".join(f"* {line}" for line in found) == plain


def test_limits_of_classes_are_those_of_the_widest():
    label, score = many_classes()
    acc = se.PRCurveSketch(16, classes=["a", "b", "c\x1b", "d", "e"])
    acc.update(np.array(["a", "b", "c\x1b"])[label], score)
    result, found = acc.compute(), said(acc)
    assert found[0] == (
        "Classes that never occur in the truth, 2 of 5: d, e; means leave them out."
    )
    assert found[1] == "The curves have bins of several scores: each curve has budget=16 bins."
    named = list(dict.fromkeys(re.findall(r"^Class (\S+):", "\n".join(found), re.MULTILINE)))
    width = {label: curve.roc_auc.high - curve.roc_auc.low for label, curve in result.items()}
    by_width = sorted(["a", "b", "c\x1b"], key=lambda label: -width[label])
    assert named == [repr(label) if label == "c\x1b" else label for label in by_width]


def test_limits_of_exact_classes_say_so_once():
    label, score = many_classes()
    found = said(se.PRCurveSketch(classes=5).update(label, score))
    assert sum("Every number is exact" in line for line in found) == 1


def test_limits_of_rare_classes_name_the_rarest_first():
    label = [0] * 2 + [1] + [2] * 40
    found = said(se.PRCurveSketch(classes=3).update(label, np.eye(3)[label]))
    assert found[0] == ("Classes with few positives, whose numbers say little: 1 (1), 0 (2).")
    assert found[2].startswith("Class 1: ")


def test_limits_of_one_class_of_several_bear_an_undefined_area():
    found = said(se.PRCurveSketch(classes=2).update([1] * 40, [[0.5, 0.5]] * 40))
    assert any("No negative has been seen" in line for line in found)


def test_limits_of_groups_of_both_classes_are_those_of_their_size():
    group = np.repeat(np.arange(40), 2)
    found = said(se.GroupedAUC().update([0, 1] * 40, [0.1, 0.8] * 40, group))
    assert found[0].startswith("Half of the groups with an AUC hold at most 2 examples: ")
    assert len(found) == 3


def test_limits_of_classes_put_an_undefined_width_last():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (400, 4))
    truth[:, 1] = 1
    acc = se.PRCurveSketch(8, classes=4, multilabel=True)
    acc.update(truth, (truth + 2 * rng.random((400, 4))) / 3)
    named = re.findall(r"^Class (\d):", "\n".join(said(acc)), re.MULTILINE)
    assert set(named) == {"0", "2", "3"}


def test_limits_of_one_class_do_not_call_none_few():
    found = said(se.PRCurveSketch().update([1] * 40, [0.5] * 40))
    assert not any("Few" in line for line in found)
    assert found[0].startswith("No negative has been seen")


def test_limits_of_coarse_groups_name_the_budget():
    acc = KINDS["coarse groups"]()
    gauc = acc.compute().gauc
    assert (
        f"The interval of GAUC is {gauc.high - gauc.low:.2g} wide: 40 groups share budget=60 bins."
        in said(acc)
    )


def test_limits_of_rankings_name_open_missing_and_cut_queries():
    acc = se.RankingAccumulator(["map", "p@1"], rows_per_query=2, missing={"map": "skip"})
    for start in (0, 1):
        acc.update([0, 1, 0, 1], [0.4, 0.3, 0.2, 0.1], query=[start] * 4, partial=True)
    acc.close([0])
    acc.add_missing([7])
    value = acc.compute()["map"]
    assert said(acc) == [
        "Queries that are open, and count only once they are closed: 1.",
        "Few queries, 1: another sample may give quite different numbers.",
        (
            "Queries that were judged but are missing from the run: 1. They count as "
            "missing=skip, zero says."
        ),
        (
            "Measures with an interval, because queries have more rows than rows_per_query=2: map. "
            f"The widest, of map, is {value.high - value.low:.2g} wide."
        ),
    ]


def test_limits_of_anything_else_are_none():
    assert list(se.Sliced(se.ConfusionAccumulator(), "c").compute().findings()) == []
    assert list(Result().findings()) == []


@pytest.mark.uncovered
@pytest.mark.slow
@each("kind", ["collection", "coarse", "ranking"])
def test_explain_needs_no_docstrings(kind, explained, folder):
    text = explained(KINDS[kind]())
    run = [sys.executable, "-OO", "-m", "streameval", "explain", "a.state"]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    assert done.stdout == text


@each(
    ("value", "text"),
    [
        ("auto", "'auto'"),
        ("x" * 99, f"'{'x' * 46}..."),
        (("a" * 30, "b" * 30), f"('{'a' * 30}', ... 2 in all)"),
        (("a" * 60, "b"), "... 2 in all)"),
    ],
)
def test_brief_values_stay_short(value, text):
    assert shortened(value) == text


def test_listed_names_that_mean_something_to_a_terminal_are_quoted():
    assert listed_few(["a", "\x1b[31m"]) == r"a, '\x1b[31m'"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.state", "absent.state: no such file or directory."),
        ("folder", "folder: is a directory."),
        ("text.state", "text.state: "),
        ("cut.state", "cut.state: "),
    ],
)
def test_explain_names_a_state_that_cannot_be_read(name, message, call, folder):
    (folder / "folder").mkdir()
    (folder / "text.state").write_text("no state")
    (folder / "cut.state").write_bytes(se.PRCurveSketch().to_bytes()[:-1])
    done = call("explain", name)
    assert (done.code, done.out) == (3, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"streameval: error: {message}")


@each("kind", ["binary", "coarse"])
def test_explain_names_the_metrics_on_request(kind, explained):
    result = KINDS[kind]().compute()
    line = re.search(
        r"^On request, by --metrics: ([^.]*)\.$", explained(KINDS[kind]()), re.MULTILINE
    )
    named = re.sub(r"\s+", " ", line[1]).split(", ")
    assert [*result.readings(), *named] == result.readable()


def test_limits_of_outputs_name_those_that_they_hold_for():
    acc = se.RegressionAccumulator(outputs=3).update([[1, 5, 1], [2, 5, 1]], [[1, 2, 3]] * 2)
    few, sums, constant = said(acc)
    assert few.startswith("Few examples, 2")
    assert constant == "Output 1, 2: The truth is constant: R2 is undefined."
    assert sums == "Only sums are kept, so no metric has a sampling interval."


def test_limits_of_a_calibration_with_intervals_say_which():
    acc = se.CalibrationAccumulator(intervals=True).update(*scores(300))
    assert said(acc)[-1] == (
        "ECE depends on the bins, here 15; log loss and Brier score have a sampling interval."
    )
