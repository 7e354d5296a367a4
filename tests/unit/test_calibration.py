"""What CalibrationAccumulator takes and refuses, and how its result shows itself."""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from offenders import each

import streameval as se
from streameval.accumulators import calibration
from streameval.states.bins import bin_indices

LABELS = ["cat", "dog", "owl"]
SCORES = [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]]


def binary() -> se.Calibration:
    accumulator = se.CalibrationAccumulator(bins=2)
    return accumulator.update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5]).compute()


def several() -> se.Calibration:
    return se.CalibrationAccumulator(classes=LABELS).update(["dog", "owl"], SCORES).compute()


def many(classes: int) -> se.Calibration:
    rows = np.full((2, classes), 1 / classes)
    return se.CalibrationAccumulator(classes=classes).update([0, 1], rows).compute()


ACCEPTED: dict[str, Callable[[], Any]] = {
    "lists": lambda: ([1, 0], [0.75, 0.5]),
    "booleans": lambda: (np.array([True, False]), np.array([0.75, 0.5])),
    "float labels": lambda: ([1.0, 0.0], [0.75, 0.5]),
    "float16": lambda: ([1, 0], np.array([0.75, 0.5], dtype=np.float16)),
    "mapping": lambda: ({"y_true": [1, 0], "y_prob": [0.75, 0.5], "other": "x"},),
    "frame": lambda: (pd.DataFrame({"y_true": [1, 0], "y_prob": [0.75, 0.5]}),),
    "tuple": lambda: (([1, 0], [0.75, 0.5]),),
    "tuple with weights": lambda: (([1, 0], [0.75, 0.5], [1, 1]),),
}


@each("claim", ACCEPTED)
def test_one_probability_is_taken_as(claim: str) -> None:
    expected = se.CalibrationAccumulator().update([1, 0], [0.75, 0.5])
    assert se.CalibrationAccumulator().update(*ACCEPTED[claim]()) == expected


def test_integers_are_probabilities_0_and_1() -> None:
    assert se.CalibrationAccumulator().update([1, 0], [1, 0]).compute().brier == 0.0


@each(("dtype", "slack"), [(np.float16, 0.03), (np.float32, 9.9e-3), (np.float64, 9.9e-3)])
@each("sign", [1, -1])
def test_rows_may_miss_1_by_what_rounding_takes(dtype: type, slack: float, sign: int) -> None:
    accumulator = se.CalibrationAccumulator(classes=2)
    accumulator.update([0], np.array([[0.5, 0.5 + sign * slack]], dtype=dtype))
    with pytest.raises(se.InvalidInputError, match="rows that sum to 1 within"):
        accumulator.update([0], np.array([[0.5, 0.5 + 1.3 * sign * slack]], dtype=dtype))
    assert accumulator.n == 1


class Tensor:
    """A tensor of torch's type bfloat16, as far as it is asked."""

    dtype = "torch.bfloat16"

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, dtype=np.float32)

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.values


def test_rows_of_bfloat16_may_miss_1_by_the_root_of_its_epsilon() -> None:
    accumulator = se.CalibrationAccumulator(classes=2)
    accumulator.update([0], Tensor([[0.5, 0.4140625]]))
    with pytest.raises(se.InvalidInputError, match=r"within 0\.088"):
        accumulator.update([0], Tensor([[0.5, 0.40625]]))


def softmax(size: int, spread: float) -> np.ndarray:
    logits = np.random.default_rng(size).normal(scale=spread, size=(100, size))
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.slow
@each("spread", [1, 5])
@each(
    "written",
    [
        lambda rows: np.asarray(json.loads(json.dumps(rows.astype(np.float32).tolist()))),
        lambda rows: rows.round(4),
        lambda rows: rows.round(4).astype(np.float32),
    ],
)
def test_softmax_rows_of_a_log_are_accepted(spread: float, written: Any) -> None:
    rows = written(softmax(1000, spread))
    assert (rows.sum(axis=1) != 1).any()
    accumulator = se.CalibrationAccumulator(classes=1000).update(np.arange(100), rows)
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


@each("dtype", [np.float64, np.float32])
@each("row", [[0.33, 0.33, 0.33], [0.34, 0.34, 0.33]])
def test_rows_that_miss_one_by_a_hundredth_are_accepted(row: list[float], dtype: type) -> None:
    accumulator = se.CalibrationAccumulator(classes=3).update([0], np.array([row], dtype))
    assert accumulator.n == 1


@each("total", [0.0, 0.5, 0.98, 1.02, 2.0])
def test_rows_that_are_no_softmax_are_refused(total: float) -> None:
    rows = softmax(20, 1) * total
    with pytest.raises(se.InvalidInputError, match=r"sum to 1 within 0\.01.* in row 0\. Logits"):
        se.CalibrationAccumulator(classes=20).update(np.zeros(100, np.int64), rows)


def test_rows_of_integers_are_judged_like_float64() -> None:
    accumulator = se.CalibrationAccumulator(classes=2).update([0], [[1, 0]])
    with pytest.raises(se.InvalidInputError, match=r"within 0\.01, got 2\.0 in row 1\."):
        accumulator.update([0, 0], [[1, 0], [1, 1]])


@each("scores", [[], np.empty((0, 3))])
def test_batch_of_no_rows_changes_nothing(scores: Any) -> None:
    accumulator = se.CalibrationAccumulator(classes=3)
    before = accumulator.to_bytes()
    assert accumulator.update([], scores).to_bytes() == before


def test_weights_of_a_batch_of_no_rows_are_checked() -> None:
    with pytest.raises(se.InvalidInputError, match="`sample_weight` must have 0 rows"):
        se.CalibrationAccumulator().update([], [], sample_weight=[1])


def test_classes_in_their_own_order_are_a_number() -> None:
    assert se.CalibrationAccumulator(classes=[0, 1, 2]) == se.CalibrationAccumulator(classes=3)


def test_columns_go_by_the_order_of_the_labels() -> None:
    one = se.CalibrationAccumulator(classes=["a", "b"]).update(["a"], [[0.25, 0.75]]).compute()
    other = se.CalibrationAccumulator(classes=["b", "a"]).update(["a"], [[0.75, 0.25]]).compute()
    assert one.log_loss == other.log_loss
    assert list(one.mean_label) == [1.0, 0.0]  # type: ignore[arg-type]


@each("classes", [None, 5])
def test_batch_of_many_blocks_is_the_sum_of_its_rows(classes: int | None) -> None:
    random = np.random.default_rng(0)
    size = 70_000
    truth = random.integers(0, classes or 2, size)
    scores = random.dirichlet([1.0] * classes, size) if classes else random.random(size)
    weights = np.where(np.arange(size) > size - 9, 0.5, 1.0)
    whole = se.CalibrationAccumulator(classes=classes)
    whole.update(truth, scores, sample_weight=weights)
    parts = se.CalibrationAccumulator(classes=classes)
    for rows in np.array_split(np.arange(size), 11):
        parts.update(truth[rows], scores[rows], sample_weight=weights[rows])
    assert whole == parts
    assert whole.n == size - 4


def test_repr_of_the_accumulator_shows_options_that_differ() -> None:
    assert repr(se.CalibrationAccumulator(classes=3)) == "CalibrationAccumulator(classes=3, n=0)"
    assert repr(se.CalibrationAccumulator(7)) == "CalibrationAccumulator(bins=7, n=0)"


def test_repr_shows_size_and_headline() -> None:
    assert repr(binary()) == "Calibration(n=4, log_loss=0.490415, brier=0.15625, ece=0.125)"
    assert repr(several()) == (
        "Calibration(n=2, classes=3, log_loss=0.836988, brier=0.5, ece=0.375)"
    )


def test_report_of_one_probability_has_every_metric() -> None:
    assert binary().report().splitlines() == [
        "n = 4",
        "",
        "metric              value",
        "log_loss         0.490415",
        "brier            0.156250",
        "ece              0.125000",
        "pcopc            1.000000",
        "mean_prediction  0.500000",
        "mean_label       0.500000",
    ]
    assert str(binary()) == binary().report()


def test_report_of_classes_has_a_line_each() -> None:
    lines = [line.split() for line in several().report().splitlines()]
    assert lines[-6:-2] == [
        ["class", "pcopc", "mean_prediction", "mean_label"],
        ["cat", "\N{EN DASH}", "0.375000", "0.000000"],
        ["dog", "1.000000", "0.500000", "0.500000"],
        ["owl", "0.250000", "0.125000", "0.500000"],
    ]


def test_report_of_many_classes_is_cut_and_says_so() -> None:
    lines = many(53).report().splitlines()
    assert lines[-3] == "... and 3 more"
    assert lines[-4].startswith("49  ")
    assert "more" not in many(50).report()


@each("label", ["x" * 500, "a\nb", "日本" * 40])
def test_report_has_lines_of_at_most_80_columns(label: str) -> None:
    accumulator = se.CalibrationAccumulator(classes=[label, "y"]).update(["y"], [[1.0, 0.0]])
    lines = accumulator.compute().report().splitlines()
    assert len(lines) == 12
    assert max(map(len, lines)) <= 80


def test_as_dict_holds_plain_numbers() -> None:
    numbers = binary().as_dict()
    assert list(numbers) == [
        *("n", "log_loss", "brier", "ece"),
        *("pcopc", "mean_prediction", "mean_label", "n_clipped"),
    ]
    assert {type(number) for number in numbers.values()} == {int, float}
    assert list(several().as_dict()) == ["n", "log_loss", "brier", "ece", "n_clipped"]


def test_result_does_not_change_with_later_updates() -> None:
    accumulator = se.CalibrationAccumulator().update([1], [0.5])
    result = accumulator.compute()
    before = result.report()
    accumulator.update([1], [0.1])
    assert result.report() == before


def test_html_is_a_well_formed_fragment_with_every_metric() -> None:
    page = ElementTree.fromstring(binary()._repr_html_())
    names = ["".join(cell.itertext()) for cell in page.iter("th")]
    assert names[2:] == [name for name in binary().as_dict() if not name.startswith("n")]
    assert next(cell.text for cell in page.iter("td")) == "0.490415"


def test_html_of_classes_shows_markup_of_a_label_as_text() -> None:
    labels = ["<b>&'\"", "y"]
    result = se.CalibrationAccumulator(classes=labels).update(["y"], [[0.25, 0.75]]).compute()
    page = ElementTree.fromstring(result._repr_html_())
    assert "<b>&'\"" in ["".join(cell.itertext()) for cell in page.iter("th")]
    assert [cell.text for cell in page.iter("td")][-3:] == ["0.750000", "0.750000", "1.000000"]


def test_html_of_many_classes_is_cut_and_says_so() -> None:
    page = many(60)._repr_html_()
    assert len(list(ElementTree.fromstring(page).iter("tr"))) == 1 + 3 + 1 + 50 + 1
    assert "... and 10 more" in page


@pytest.fixture
def pyplot() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_plot_draws_curve_diagonal_and_shares(pyplot: Any) -> None:
    axes = binary().plot()
    diagonal, curve = axes.get_lines()
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert curve.get_xdata().tolist() == [0.25, 1.75 / 3]
    assert curve.get_ydata().tolist() == [0.0, 2 / 3]
    (bars,) = axes.patches
    assert bars.get_data().values.tolist() == [0.25, 0.75]
    assert bars.get_data().edges.tolist() == [0.0, 0.5, 1.0]
    assert axes.get_title() == "expected calibration error 0.1250"
    assert axes.get_xlabel() == "mean prediction"


def test_plot_uses_the_axes_it_is_given(pyplot: Any) -> None:
    _, axes = pyplot.subplots()
    assert several().plot(axes) is axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mean confidence", "accuracy")


def test_plot_of_nothing_is_drawn(pyplot: Any) -> None:
    axes = se.CalibrationAccumulator().compute().plot()
    axes.figure.canvas.draw()
    assert [line.get_label() for line in axes.lines] == ["perfectly calibrated", "observed"]
    assert not np.isfinite(axes.lines[1].get_ydata()).any()


def test_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'pip install "streameval\[plot\]"'):
        binary().plot()


@each("bins", [1, 7, 15, 49, 2**16])
def test_bins_begin_at_the_floats_nearest_to_their_edges(bins: int) -> None:
    edges = np.arange(bins + 1) / bins
    beside = [np.nextafter(edges, 0.0), np.nextafter(edges, 1.0)]
    probability = np.concatenate([edges, *beside, np.arange(101) / 100])
    expected = np.minimum(np.searchsorted(edges, probability, side="right") - 1, bins - 1)
    np.testing.assert_array_equal(bin_indices(probability, bins), expected)


def test_calibration_of_a_long_batch_is_that_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(7)
    y_true, y_prob = draw.integers(0, 2, 1_000), draw.random(1_000)
    whole = se.CalibrationAccumulator().update(y_true, y_prob).to_bytes()
    monkeypatch.setattr(calibration, "_BINARY_BLOCK", 2**4)
    assert se.CalibrationAccumulator().update(y_true, y_prob).to_bytes() == whole


def with_intervals(**options: Any) -> Any:
    acc = se.CalibrationAccumulator(intervals=True)
    return acc.update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5], **options).compute()


def test_interval_of_a_loss_is_worked_by_hand() -> None:
    low, high = with_intervals().confidence("brier")
    # 1/16, 1/16, 1/4, 1/4 have the variance 3 / 256, and count as 400 / 136 rows
    deviation = (3 / 256 / 4 * (1 + 4 * 0.34**0.5)) ** 0.5
    factor = math.exp(1.959963984540054 * deviation / 0.15625)
    assert (low, high) == pytest.approx((0.15625 / factor, 0.15625 * factor), rel=1e-12)
    assert with_intervals().read("log_loss").deciding == with_intervals().confidence("log_loss")
    assert "95% interval" in str(with_intervals())


def test_intervals_change_nothing_else() -> None:
    assert with_intervals().as_dict() == (
        se.CalibrationAccumulator().update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5]).compute().as_dict()
    )
    assert "interval" not in str(binary())
    assert binary().read("brier").deciding == (0.15625, 0.15625)


def test_whole_weights_are_draws() -> None:
    repeated = se.CalibrationAccumulator(intervals=True)
    repeated.update([1, 1, 0, 1, 0], [0.75, 0.75, 0.25, 0.5, 0.5])
    weighted = with_intervals(sample_weight=[2, 1, 1, 1])
    assert weighted.confidence("brier") == repeated.compute().confidence("brier")


def test_one_row_may_be_anything_and_the_interval_of_equal_ones_is_wide() -> None:
    one = se.CalibrationAccumulator(intervals=True).update([1], [0.5]).compute()
    assert (one.confidence("brier"), one.confidence("log_loss")) == ((0.0, 1.0), (0.0, 36.05))
    same = se.CalibrationAccumulator(intervals=True).update([1, 0], [0.5, 0.5]).compute()
    share = 1.959963984540054**2 / (2 + 1.959963984540054**2)
    assert same.confidence("brier") == pytest.approx((0.25 - share / 4, 0.25 + 0.75 * share))
    low, high = same.confidence("log_loss")
    assert 0.0 < low < same.log_loss < 20.0 < high


@each(
    ("ask", "says"),
    [
        (lambda: binary().confidence("brier"), "`intervals` must be True when the accumulator"),
        (
            lambda: with_intervals().confidence("ece"),
            "`ece` has no sampling interval. These have one: log_loss",
        ),
        (
            lambda: with_intervals(sample_weight=[0.5] * 4).confidence("brier"),
            "`sample_weight` had fractions",
        ),
        (lambda: se.CalibrationAccumulator(intervals=1), "`intervals` must be True or False"),  # type: ignore[arg-type]
    ],
)
def test_interval_that_there_is_not_is_refused(ask: Callable[[], Any], says: str) -> None:
    with pytest.raises(se.InvalidInputError, match=says):
        ask()


def test_pcopc_by_bin_is_undefined_without_a_positive() -> None:
    acc = se.CalibrationAccumulator(bins=4).update([0, 1, 1, 0], [0.1, 0.5, 0.75, 1.0])
    result = acc.compute()
    np.testing.assert_array_equal(result.pcopc_by_bin(), [np.nan, 0.5, 1.75])
    assert len(result.pcopc_by_bin()) == len(result.reliability_curve()[0])
    assert len(se.CalibrationAccumulator().compute().pcopc_by_bin()) == 0


def test_intervals_of_several_classes_read_the_losses_of_rows() -> None:
    acc = se.CalibrationAccumulator(classes=3, intervals=True)
    acc.update([0, 1], [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    low, high = acc.compute().confidence("brier")
    assert 0.0 < low < 0.375
    assert high > 1.0
    result = acc.update([2] * 4, [[0.5, 0.5, 0.0]] * 4).compute()
    losses = np.array([0.375, 0.375, *[1.5] * 4])
    few = 1 + 4 * (losses**2).sum() ** 0.5 / losses.sum()
    deviation = losses.std(ddof=1) * (few / 6) ** 0.5 / losses.mean()
    low = losses.mean() / math.exp(1.959963984540054 * deviation)
    assert result.confidence("brier") == pytest.approx((low, 2.0), rel=1e-12)
    assert se.from_bytes(acc.to_bytes()) == acc
    assert (acc + acc).n == 12
    with_log_loss = result.confidence("log_loss")
    assert 0.0 < with_log_loss[0] < result.log_loss < with_log_loss[1] == 36.05


def test_d2_of_classes_compares_with_always_predicting_their_shares() -> None:
    acc = se.CalibrationAccumulator(classes=3)
    shares = [[0.5, 0.25, 0.25]] * 4
    result = acc.update([0, 1, 0, 2], shares).compute()
    assert result.d2_log_loss_score == pytest.approx(0.0, abs=1e-15)
    assert result.d2_brier_score == 0.0
    certain = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert acc.reset().update([0, 1], certain).compute().d2_brier_score == 1.0
    assert math.isnan(acc.reset().update([1, 1], certain).compute().d2_brier_score)


@each("classes", [None, 3, ["a", "b", "c"]])
@each("ignored", [0, 1, -100])
def test_ignored_rows_may_hold_anything(classes: Any, ignored: int) -> None:
    labels = classes if isinstance(classes, list) else [0, 1, 2]
    label = labels[ignored] if ignored >= 0 else "-" if isinstance(classes, list) else ignored
    kept = next(one for one in labels if one != label)
    row = [0.25, 0.25, 0.5] if classes else 0.25
    junk = [math.nan, 7.0, 0.0] if classes else math.nan
    acc = se.CalibrationAccumulator(classes=classes, ignore_label=label)
    acc.update([kept, label, kept], [row, junk, row], sample_weight=[1, 1, 2])
    acc.update(np.array([[label]]), [row])
    same = se.CalibrationAccumulator(classes=classes, ignore_label=label)
    assert acc == same.update([kept] * 3, [row] * 3)
    whole = se.CalibrationAccumulator(classes=classes).update([kept] * 3, [row] * 3)
    assert acc.compute().as_dict() == whole.compute().as_dict()
    assert se.CalibrationAccumulator.from_bytes(acc.to_bytes()) == acc


def test_ignored_rows_hide_no_mistake_of_the_others() -> None:
    acc = se.CalibrationAccumulator(ignore_label=-100)
    with pytest.raises(se.InvalidInputError, match=r"`y_prob` must lie .* got 7.0 at position 2"):
        acc.update([1, -100, 0], [0.5, 3.0, 7.0])
    with pytest.raises(se.InvalidInputError, match="`y_prob` must have 3 rows, got 2"):
        acc.update([1, -100, 0], [0.5, 0.5])
    with pytest.raises(se.InvalidInputError, match="`y_true` must have shape"):
        acc.update([[1, -100], [0, 1]], [0.5, 0.5])
    with pytest.raises(se.InvalidInputError, match="`ignore_label` must be an integer"):
        se.CalibrationAccumulator(ignore_label="none")
