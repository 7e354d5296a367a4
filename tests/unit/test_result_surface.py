"""What users call is on every result, with the same parameters, and says the same as `read`."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Iterator
from functools import partial
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from offenders import each
from small_states import EVERY
from win_rate import WinRate

import streameval as se
from streameval.errors import UnknownMetricError
from streameval.reports import RESULTS
from streameval.results.result import Result

mpl.use("Agg")

SURFACE = {
    "as_dict": {"per_class", "bounds", "level"},
    "confidence": {"name", "level"},
    "explain": set[str](),
    "findings": {"limits_only"},
    "plot": {"ax", "kind", "label", "level", "max_classes", "normalize"},
    "report": {"level", "max_classes"},
    "table": {"per", "bounds", "level", "shape"},
    "to_pandas": {"per", "bounds", "level", "shape"},
    "to_polars": {"per", "bounds", "level", "shape"},
    "to_markdown": {"per", "bounds", "level", "shape"},
    "to_latex": {"per", "bounds", "level", "shape"},
}
AXES = ("class", "output", "group", "item", "query")


def results() -> Iterator[tuple[str, Any]]:
    """The result of every small state, also over time."""
    for name, make in EVERY.items():
        accumulator = make()
        yield name, accumulator.compute()
        if isinstance(accumulator, se.Windowed):
            yield f"{name} over time", accumulator.over_time()


def test_every_result_has_the_whole_surface() -> None:
    lacking = [
        f"{cls.__name__}.{name}: {sorted(parameters - {*signature.parameters})}"
        for cls in RESULTS
        for name, parameters in SURFACE.items()
        for signature in [inspect.signature(getattr(cls, name))]
        if not parameters <= {*signature.parameters}
    ]
    assert lacking == []


@pytest.mark.slow
def test_reports_and_explanations_of_every_result_are_made_of_its_findings() -> None:
    for name, result in results():
        said = list(result.findings())
        text = " ".join(result.explain().split())
        parts = list(result.titled())
        is_alone = not parts or parts[0][1] is result
        alone = is_alone and type(result).explain is Result.explain
        assert [line for line in said if alone and " ".join(line.split()) not in text] == [], name
        assert bool(text) is any(
            not isinstance(one, Result) or one is not result or bool(said) for _, one in parts
        )
        assert result.report() == str(result), name
        assert result.text(0.9) == result.report(level=0.9), name
        assert "95% interval" not in result.report(level=0), name
        limits = list(result.findings(limits_only=True))
        assert [line for line in limits if line.startswith("Every number is")] == [], name


@pytest.mark.slow
@each("per", [None, *AXES])
def test_long_and_wide_tables_hold_the_same_numbers(per: str | None) -> None:
    for name, result in results():
        if not has_axis(result, per):
            continue
        options: dict[str, Any] = {"bounds": True, "level": 0.9}
        long, wide = (rows(result.table(per, shape=one, **options)) for one in ("long", "wide"))
        n_of_wide = sum(
            value is not None and not key.endswith(("_low", "_high"))
            for row in wide
            for key, value in row.items()
            if key not in {*(long or [{}])[0]}
        )
        assert isinstance(result, se.CollectionResult) or n_of_wide == len(long), name
        for row in long:
            metric = row["metric"] if "member" not in row else f"{row['member']}/{row['metric']}"
            same = [other for other in wide if agrees(row, other, metric)]
            assert same, (name, row)


def has_axis(result: Any, per: str | None) -> bool:
    try:
        result.table(per)
    except se.InvalidInputError:
        return False
    return True


def rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def agrees(row: dict[str, Any], wide: dict[str, Any], metric: str) -> bool:
    own = metric if metric in wide else row["metric"]
    pairs = [("", "value"), ("_interval_low", "interval_low"), ("_interval_high", "interval_high")]
    if f"{own}_low" in wide:
        pairs += [("_low", "low"), ("_high", "high")]
    return own in wide and all(
        same(wide.get(f"{own}{end}"), row.get(column)) for end, column in pairs
    )


def same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(float(one) == float(other) or (math.isnan(one) and math.isnan(other)))


def test_html_of_every_result_is_well_formed_and_has_its_numbers() -> None:
    for name, result in results():
        shown = " ".join(ElementTree.fromstring(result._repr_html_()).itertext()).split()
        if not isinstance(result, (se.Confusion, se.CollectionResult)):
            said = {word for word in result.report().split() if word[0].isdigit()}
            assert said - {*shown} == set(), name


@pytest.mark.slow
def test_intervals_are_those_that_are_read() -> None:
    for name, result in results():
        for metric in result.readable():
            asked = metric.replace("(x)", "(0.5)")
            try:
                found = result.confidence(asked, level=0.9)
            except (se.InvalidInputError, KeyError):
                continue
            reading = result.read(asked, level=0.9)
            expected = reading.sampling or (math.nan, math.nan)
            assert all(map(same, found, expected)), (name, asked)


@pytest.mark.slow
def test_what_is_read_with_an_interval_has_one() -> None:
    for name, result in results():
        for metric in result.readable():
            for asked in (f"{metric.replace('(x)', '(0.5)')}{of}" for of in ("", "[macro]", "[1]")):
                try:
                    sampling = result.read(asked, level=0.9).sampling
                except UnknownMetricError:
                    continue
                if sampling is not None:
                    assert result.confidence(asked, level=0.9) == sampling, (name, asked)


@pytest.mark.slow
@each("level", [1, -0.5, math.nan, None, "x"])
def test_every_reading_refuses_another_level(level: Any) -> None:
    for _, result in results():
        calls = (result.readings, result.as_dict, partial(result.read, "n"))
        for call in calls if result.readable() else ():
            with pytest.raises(se.InvalidInputError, match="`level` must"):
                call(level=level)


def test_names_of_metrics_are_texts_and_take_no_second_arguments() -> None:
    result = se.ConfusionAccumulator().update([0, 1], [0, 1]).compute()
    for call in (result.read, result.statistic, result.confidence_sequence):
        with pytest.raises(UnknownMetricError, match="`metric` must be a text, got None"):
            call(None)  # type: ignore[arg-type]
    with pytest.raises(UnknownMetricError, match="`name` must be a text, got 3"):
        se.CatalogAccumulator(3).compute().confidence(3)  # type: ignore[arg-type]
    for name in ("recall[1]", "recall[macro]"):
        with pytest.raises(se.InvalidInputError, match="takes no arguments"):
            result.confidence(name, average="micro")


@pytest.mark.slow
def test_markdown_and_latex_have_a_line_for_each_row() -> None:
    for name, result in results():
        for per in (None, *result._axes()):
            columns = result.table(per, bounds=True, level=0.9)
            n = len(next(iter(columns.values()), []))
            written = result.to_markdown(per, bounds=True, level=0.9).splitlines()
            has_dash = any("| \N{EN DASH} |" in line for line in written)  # a note says what it is
            assert len(written) == (n + 2 + 2 * has_dash if n else 0), (name, per)
            written = result.to_latex(per, bounds=True, level=0.9).split(r"\\")
            assert len(written) == (n + 2 + has_dash if n else 1), (name, per)
    acc = se.ConfusionAccumulator(["a_b&c", "\\~^"]).update(["a_b&c"], ["a_b&c"])
    assert r"a\_b\&c &" in acc.compute().to_latex("class")
    assert r"\textbackslash{}\textasciitilde{}\textasciicircum{}" in acc.compute().to_latex("class")


@pytest.mark.slow
def test_pictures_are_drawn_or_refused_with_the_reason() -> None:
    from matplotlib import pyplot

    drawn = set()
    for _, result in results():
        try:
            result.plot()
            result.plot(label="a")
        except se.InvalidInputError:
            continue
        finally:
            pyplot.close("all")
        drawn.add(type(result).__name__)
    assert drawn >= {
        *("Confusion", "Curve", "ClassCurves", "GroupedCurves", "Calibration", "Ranking"),
        *("SlicedResult", "WindowedResult"),
    }


@each("option", [{"shape": "tall"}, {"level": 1.0}, {"per": "bogus"}])
def test_options_of_tables_are_checked(option: dict[str, Any]) -> None:
    with pytest.raises(se.InvalidInputError, match=next(iter(option))):
        se.ConfusionAccumulator().compute().table(**option)


def test_metrics_without_arguments_refuse_them() -> None:
    for name, metric in (
        *(
            ("regression", "rmse"),
            ("calibration_moments", "brier"),
            ("paired_errors", "difference"),
        ),
    ):
        with pytest.raises(se.InvalidInputError, match="takes no arguments"):
            EVERY[name]().compute().confidence(metric, 1)


def test_metrics_that_need_an_argument_say_how_to_write_it() -> None:
    curve = se.PRCurveSketch().compute()
    for call in (curve.value, curve.read, curve.confidence):
        with pytest.raises(UnknownMetricError, match=r"did you mean 'recall_at\(x\)'"):
            call("recall_at")


def test_a_class_is_read_as_the_counts_of_it_and_the_rest() -> None:
    result = EVERY["ignoring"]().compute()
    assert result.read("precision[1]", level=0.9) == result[1].read("precision", level=0.9)
    assert result.read("precision[1]").sampling is not None  # this label has whole weights
    assert result.value("recall[1]") == result[1].recall


def test_the_best_score_of_observed_labels_has_the_interval_of_accuracy() -> None:
    result = se.ConfusionAccumulator("auto").update(["a", "b", "a"], ["a", "b", "b"]).compute()
    assert result.confidence("top_k_accuracy") == result.confidence("accuracy")
    assert result.confidence("accuracy")[0] > 0.2


def test_the_best_k_of_a_class_have_the_evidence_of_their_draws() -> None:
    acc = se.ConfusionAccumulator(3, top_k=2, measures=["top_k"])
    scores = [[0.5, 0.4, 0.1], [0.5, 0.4, 0.1], [0.2, 0.3, 0.5]]
    result = acc.update([1, 2, 2], scores).compute()
    assert result.statistic("top_k_recall[2]").low == (1.0, 1.0)  # type: ignore[attr-defined]
    with pytest.raises(se.InvalidInputError, match=r"a mean over classes.*top_k_recall\[0\]"):
        result.statistic("top_k_recall")


def test_positions_and_names_of_arguments_are_those_of_the_metric() -> None:
    curve = se.PRCurveSketch().update([0, 1], [0.2, 0.7]).compute()
    assert curve.confidence("recall_at", threshold=0.5) == curve.confidence("recall_at(0.5)")
    models = EVERY["preferences"]().compute()
    named = models.confidence("win_rate", model=models.models[0])
    assert named == models.confidence("win_rate", models.models[0])
    for args, options in (((), {"at": 0.5}), ((0.5,), {"threshold": 0.5})):
        with pytest.raises(se.InvalidInputError, match="takes threshold alone"):
            curve.confidence("recall_at", *args, **options)


def test_the_interval_of_the_level_0_is_the_value_or_its_bounds() -> None:
    exact = se.ConfusionAccumulator().update([0, 1], [0, 1], sample_weight=[0.5, 1]).compute()
    assert exact.confidence("accuracy", level=0) == (1.0, 1.0)
    curve = se.PRCurveSketch(2).update([0, 1, 1], [0.2, 0.5, 0.7]).compute()
    area = curve.roc_auc
    assert curve.confidence("roc_auc", level=0) == (area.low, area.high)


def test_intervals_of_outputs_classes_and_members_are_named() -> None:
    acc = se.RegressionAccumulator(outputs=2, intervals=True)
    fit = acc.update([[1, 2], [3, 4], [5, 7]], [[1, 3], [2, 4], [7, 7]]).compute()
    assert fit.confidence("rmse[1]") == fit[1].confidence("rmse")
    curves = EVERY["class_curves"]().compute()
    assert curves.confidence("roc_auc[x]") == curves["x"].confidence("roc_auc")
    assert curves.confidence("n", level=0) == (4, 4)
    held = EVERY["collection"]().compute()
    assert held.confidence("cm/accuracy") == held["cm"].confidence("accuracy")
    with pytest.raises(se.InvalidInputError, match="`coverage` has no sampling interval"):
        EVERY["catalog"]().compute().confidence("coverage")


def test_dir_shows_what_users_call_and_nothing_else() -> None:
    machinery = {"TABLE", "TERMS", "sheet", "headline", "why_none", "entries", "of", "draw"}
    for name, result in results():
        shown = {one for one in dir(result) if not one.startswith("__")}
        assert shown & machinery == set(), name
        assert [one for one in shown if one.startswith("_")] == [], name
        assert shown >= SURFACE.keys() | {"read", "value"}, name
        with contextlib.suppress(se.InvalidInputError):  # what was not counted says so
            assert all(hasattr(result, one) for one in shown), name


def test_parts_of_user_defined_classes_explain_nothing() -> None:
    result = se.Collection({"wins": WinRate(), "fit": se.RegressionAccumulator()}).compute()
    assert list(result.findings()) == ["fit: Nothing has been counted yet."]
    assert result.explain() == "fit\n* Nothing has been counted yet."


def test_catalog_that_was_recommended_whole_has_no_item_left() -> None:
    found = se.CatalogAccumulator(2).update([[1, 2]]).compute().findings()
    assert [line for line in found if "never recommended" in line] == []


def test_brackets_are_refused_where_there_are_no_parts() -> None:
    with pytest.raises(se.InvalidInputError, match="rmse has no averages and no classes"):
        se.RegressionAccumulator().compute().read("rmse[x]")
    result = EVERY["ranking"]().compute()
    assert result.read("nDCG@2") == result.read("ndcg@2")


def test_rows_are_those_of_the_table() -> None:
    for name, result in results():
        table, rows = result.table(bounds=True), result.rows(None, True)
        assert repr({key: [row[key] for row in rows] for key in table}) == repr(table), name
        assert all([*row] == [*table] for row in rows), name


@pytest.mark.slow
def test_metrics_of_every_result_are_the_values_of_its_readings() -> None:
    for name, result in results():
        if all(isinstance(one, Result) for one in result.leaves().values()):
            read = {of: one.value for of, one in result.readings().items() if not one.is_count}
            assert str(result.metrics()) == str(read), name
