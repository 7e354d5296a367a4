"""The table of metrics: its rows, what agrees with them, and what follows from a row alone."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import attrs
import pytest
from offenders import each

import streameval as se
from streameval.cli import main
from streameval.cli.options import OPTIONS_OF_TASKS, Options
from streameval.configs.measures.table import MEASURES
from streameval.configs.options import checks
from streameval.configs.ranking import RankingConfig
from streameval.metrics.table import Metric, Table
from streameval.monitoring.options import MonitorOptions
from streameval.reports import RESULTS
from streameval.results.names import MetricName

ROOT = Path(__file__).parents[2]
WITH_TABLES = [kind for kind in RESULTS if kind.TABLE and kind is not se.RegressionOutputs]
ROWS = [(kind, row) for kind in WITH_TABLES for row in kind.TABLE.values()]

RESULT_OF: dict[str, Any] = {
    "Confusion": se.ConfusionAccumulator(3).update([0, 1, 2, 2], [0, 1, 1, 2]),
    "Curve": se.PRCurveSketch().update([0, 1, 1], [0.1, 0.2, 0.3]),
    "ClassCurves": se.PRCurveSketch(classes=2).update([0, 1], [[0.3, 0.7], [0.4, 0.6]]),
    "GroupedCurves": se.GroupedAUC().update([0, 1], [0.1, 0.2], [7, 7]),
    "Catalog": se.CatalogAccumulator(4).update([[1, 2], [1, 3]]),
    "Calibration": se.CalibrationAccumulator().update([0, 1], [0.1, 0.6]),
    "Ranking": se.RankingAccumulator(["map", "p@1", "ndcg@2"]).update([[1, 0]], [[1, 2]]),
    "Regression": se.RegressionAccumulator().update([1.0, 2.0], [1.5, 2.5]),
    "RegressionOutputs": se.RegressionAccumulator(outputs=1).update([[1.0], [2]], [[1.5], [2.5]]),
    "Summary": se.MeanAccumulator(quantiles=[0.5]).update([1.0, 2.0]),
    "Preferences": se.PreferencesAccumulator(2).update([0, 1, 0], [1, 0, 1], [1, 1, 0.5]),
    "PairedResult": se.Paired().update([0, 1, 1], [0, 1, 0], [0, 0, 1]),
}
ACCUMULATORS = [
    *(se.ConfusionAccumulator, se.PRCurveSketch, se.GroupedAUC, se.CatalogAccumulator),
    *(se.CalibrationAccumulator, se.RegressionAccumulator, se.RankingAccumulator, se.Paired),
    *(se.MeanAccumulator, se.Sliced, se.Windowed),
]
TASKS_OF_ACCUMULATORS = [
    *("classification", "binary", "grouped", "catalog", "calibration", "regression", "ranking"),
    *("paired", "values"),
]
kinds_of_result = pytest.mark.parametrize("name", RESULT_OF)


def told(thing: Any) -> str:
    """A docstring on one line, without marks of code and verbs for programmers."""
    text = " ".join((inspect.getdoc(thing) or "").replace("`", "").split())
    return re.sub(r"^(Compute|Find|Give|Return) ", "", text).lower()


def test_rows_say_what_the_metric_is() -> None:
    rows = {f"{kind.__name__}-{row.name}": row for kind, row in ROWS}
    assert [name for name, row in rows.items() if not row.help.endswith(".")] == []
    assert [
        name for name, row in rows.items() if not (row.is_count or (row.formula and row.oracle))
    ] == []
    assert [name for name, row in rows.items() if row.better not in ("higher", "lower", "")] == []


@each("kind", RESULTS)
def test_alias_is_no_name_of_the_same_table(kind: type) -> None:
    aliases = [alias for row in kind.TABLE.values() for alias in row.aliases]
    assert not kind.TABLE.keys() & set(aliases)
    assert all(alias == alias.casefold() for alias in aliases)


def test_help_of_each_row_agrees_with_the_docstring() -> None:
    differ = [f"{kind.__name__}-{row.name}" for kind, row in ROWS if not agrees(kind, row)]
    assert differ == []


def agrees(kind: type, row: Metric) -> bool:
    name = "best_f" if row.name == "best_f_threshold" else row.name
    if kind is se.Ranking and not row.is_count:
        return row.help.lower() in told(se.Ranking)
    if name not in vars(kind):
        return row.name not in dir(object)
    docstring = told(vars(kind)[name])
    return row.help.lower() in docstring and row.notes.lower() in docstring


def test_each_metric_has_a_worked_example_in_the_docstring_of_its_result() -> None:
    rows = [(kind, row) for kind, row in ROWS if not row.is_count and row.name != "quantile"]
    without = [f"{kind.__name__}-{row.name}" for kind, row in rows if not in_example(kind, row)]
    assert without == []


def in_example(kind: type, row: Metric) -> bool:
    names = re.findall(r"\w+", (inspect.getdoc(kind) or "").partition("Examples\n")[2])
    return bool({row.name, *(f"{row.name}_{average}" for average in row.averages)} & {*names})


def declared(kind: type) -> tuple[attrs.Attribute, ...]:
    return attrs.fields(kind._definition.config)


def test_summary_of_an_accumulator_is_that_of_its_docstring() -> None:
    for kind in (*ACCUMULATORS, se.Collection):
        assert told(kind).startswith(kind._definition.config.SUMMARY.lower())


@each("kind", ACCUMULATORS)
def test_options_are_declared_as_the_constructor_and_its_docstring_have_them(kind: type) -> None:
    texts = {one.name: one.metadata["text"].lower() for one in declared(kind)}
    if kind is se.RankingAccumulator:
        del texts["measures"]  # made from the measures
    assert [name for name, text in texts.items() if text not in told(kind)] == []
    parameters = inspect.signature(kind).parameters.values()
    assert [(one.name, one.default) for one in parameters] == [
        (one.name, inspect.Parameter.empty if one.default is attrs.NOTHING else one.default)
        for one in declared(kind)
    ]


def test_options_of_a_monitor_are_declared_as_its_constructor_and_docstring_have_them() -> None:
    options = {one.name: one for one in attrs.fields(MonitorOptions)}
    texts = {name: one.metadata["text"].lower().replace("`", "") for name, one in options.items()}
    assert [name for name, text in texts.items() if text not in told(se.Monitor)] == []
    parameters = inspect.signature(se.Monitor).parameters
    assert {name: parameters[name].default for name in options} == {
        name: inspect.Parameter.empty if one.default is attrs.NOTHING else one.default
        for name, one in options.items()
    }
    others = {"checkpoint", "accumulator", "predictions", "labels", "columns", "clock", "output"}
    assert parameters.keys() - options.keys() == others


def test_measures_are_listed_in_the_description_of_their_option() -> None:
    listed = attrs.fields(RankingConfig).measures.metadata["text"]
    assert set(re.findall(r"[a-z0-9_]+(?=[@(,;.])", listed)) >= MEASURES.keys() - {"map"}


def test_tasks_take_the_options_of_their_accumulators() -> None:
    takers: dict[str, set[str]] = {
        "nan": {"regression"},  # whose rows are left out before they are counted
    }
    for kind, task in zip(ACCUMULATORS, TASKS_OF_ACCUMULATORS, strict=False):
        for one in declared(kind):
            takers.setdefault(one.name, set()).add(task)
    known = takers.keys() & attrs.fields_dict(Options).keys()
    assert {name: {*OPTIONS_OF_TASKS[name]} for name in known} == {
        name: takers[name] for name in known
    }


def test_help_has_the_choices_and_defaults_that_are_declared() -> None:
    """Of options that one accumulator has: others have several defaults."""
    for name in OPTIONS_OF_TASKS:
        configs = [kind._definition.config for kind in ACCUMULATORS]
        ((check, default), *others) = [
            (check, default)
            for config in configs
            for one, check, default in checks(config)
            if one == name
        ] or [(None, None)]
        option = getattr(attrs.fields(Options), name).metadata["option"]
        if isinstance(check, partial) and "allowed" in check.keywords and not others:
            assert option.settings["choices"] == check.keywords["allowed"]
        is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
        if is_number and not others:
            assert f"default {default:g}" in (option.help or option.told(name))


@each("name", RESULT_OF)
def test_value_of_a_name_is_that_of_the_attribute(name: str) -> None:
    result = RESULT_OF[name].compute()
    for row in result.TABLE.listed(result._source) if name != "Ranking" else ():
        if row.is_count and name == "Confusion":
            continue
        attribute = getattr(result, row.name)
        number = attribute() if callable(attribute) and not row.is_count else attribute
        number = number[0] if isinstance(number, tuple) else number
        assert result.value(row.name) == pytest.approx(number, nan_ok=True)


def test_headline_of_classes_is_their_macro_mean() -> None:
    result = RESULT_OF["ClassCurves"].compute()
    assert result.headline() == ("roc_auc_macro", "average_precision_macro")


@each("name", RESULT_OF)
def test_every_metric_of_a_result_is_listed_by_dir(name: str) -> None:
    result = RESULT_OF[name].compute()
    every = {metric for metric, row in result.TABLE.items() if row.listed(result._source)}
    assert every & set(dir(result)) == {metric for metric in every if hasattr(result, metric)}
    assert every <= set(dir(result)) or name == "Ranking"  # which has what was asked for


@each("name", RESULT_OF)
def test_attribute_that_is_no_metric_is_refused(name: str) -> None:
    result = RESULT_OF[name].compute()
    for absent in ("no_such_metric", "_no_such_part"):
        with pytest.raises(AttributeError, match=f"'{name}' object has no attribute '{absent}'"):
            getattr(result, absent)


@each("name", [name for name in RESULT_OF if name != "Confusion"])
def test_value_suggests_the_name_that_was_meant(name: str) -> None:
    result = RESULT_OF[name].compute()
    says = "choose from map" if name == "Ranking" else "did you mean 'n'"
    with pytest.raises(se.InvalidInputError, match=f"no metric 'nn': {says}"):
        result.value("nn")


def test_value_of_a_collection_is_that_of_the_member() -> None:
    collection = se.Collection({"curve": se.PRCurveSketch()})
    result = collection.update({"y_true": [0, 1], "y_score": [0.1, 0.2]}).compute()
    assert result.value("curve/recall_at", 0.15) == 1.0
    with pytest.raises(se.InvalidInputError, match=r"no metric 'curv/ks': did you mean"):
        result.value("curv/ks")


def test_read_takes_the_names_of_the_command_line() -> None:
    result = RESULT_OF["Confusion"].compute()
    reading = result.read("recall[2]", level=0.9)
    assert reading.value == 0.5
    assert reading.sampling == tuple(e[2] for e in result.confidence("recall", None, level=0.9))
    assert result.read(MetricName("recall", "macro")).value == result.recall("macro")


def test_read_of_scores_that_cannot_be_pooled_is_undefined() -> None:
    sketch = se.PRCurveSketch(classes=2)
    sketch.update([0, 1], [[0.3, 0.7], [0.4, 0.6]], sample_weight=[2**61, 2**61])
    reading = sketch.compute().read("roc_auc_micro")
    assert str(reading.value) == "nan"
    assert sketch.compute().value("roc_auc") == 0.0


def test_ranking_gives_measures_that_need_a_cutoff_by_cutoff() -> None:
    result = RESULT_OF["Ranking"].compute()
    assert result.p == result.precision == {1: 0.0}
    with pytest.raises(AttributeError, match="'mrr' is not among the measures map, p@1, ndcg@2"):
        _ = result.mrr
    with pytest.raises(AttributeError, match=r"'rprec' .* map, p@1, ndcg@2$"):
        _ = result.rprec
    cut = se.RankingAccumulator(["map@5", "dcg@10"]).compute()
    says = r"^'dcg' is not among the measures map@5, dcg@10: read \['dcg@10'\]$"
    with pytest.raises(AttributeError, match=says):
        _ = cut.dcg


@kinds_of_result
def test_every_metric_is_in_text_json_page_and_explain(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def in_text(*command: str) -> str:
        """What the command line says of the state."""
        assert main([*command, str(tmp_path / "a.state")]) == 0
        return capsys.readouterr().out

    accumulator = RESULT_OF[name]
    se.save(accumulator, tmp_path / "a.state")
    result = accumulator.compute()
    names = [metric for metric in result.readings() if not result._rows[metric].is_count]
    text, page = result.report(), se.reports.html_report({"a": accumulator})
    explained, json = in_text("explain"), result.entries(0.95)["metrics"]
    chosen = in_text("show", "--metrics", ",".join(names))
    for metric in names:
        assert f"\n{metric}  " in explained
        assert f"\n{metric[:21]}" in chosen  # where long names are cut
        assert json[metric] == pytest.approx(result.read(metric).value, nan_ok=True)
        assert escape(result._rows[metric].heading, quote=False) in page
        assert metric in text or name == "ClassCurves"  # of which it has a column


class WithExtras(se.Confusion):
    """A result with a metric that has a row and nothing else."""

    TABLE = Table(
        *se.Confusion.TABLE.values(),
        Metric(name="right", value=lambda counts: 1.0, help="One.", heading="Right", oracle="1"),
        Metric(
            name="power",
            value=lambda counts, exponent=2: 2.0**exponent,
            help="A power of two.",
            arguments=("exponent=2",),
        ),
    )


def test_metric_with_a_row_alone_is_there_in_text_json_page_and_as_an_attribute() -> None:
    result: Any = WithExtras(RESULT_OF["Confusion"].compute()._source)
    assert result.right == result.value("right") == result.as_dict()["right"] == 1.0
    assert (result.power(), result.power(3), result.power.__doc__) == (4.0, 8.0, "A power of two.")
    assert "\nright" in result.report()
    with pytest.raises(se.InvalidInputError, match="`right` has no sampling interval"):
        result.confidence("right")
    assert result.entries(0.95)["metrics"]["right"] == 1.0
    assert result.described(0.95).rows["right"].heading == "Right"
    assert "<bdi>right</bdi></th>" in result._repr_html_()


@pytest.mark.slow
def test_metrics_are_described_without_docstrings() -> None:
    code = (
        "import streameval as se; r = se.RegressionAccumulator().compute(); print(r.meaning('mae'))"
    )
    run = [sys.executable, "-OO", "-c", code]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    assert done.stdout == "The mean absolute error, at least 0.\n"


@pytest.mark.parametrize("kind", WITH_TABLES)
def test_reference_describes_every_metric(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import metric_tables

    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md")]
    (page,) = [page for page in pages if f"<!-- metrics of {kind.__name__} -->" in page]
    text = metric_tables.filled(page)
    assert "<!-- me" not in text
    for row in kind.TABLE.values():
        entry = text[text.index(f"\n`{metric_tables.signature(row)}`\n: {row.help}") :]
        assert all(fact in entry for fact in (row.formula, row.heading, row.oracle, row.better))


def test_reference_lists_the_names_of_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import metric_tables

    table = metric_tables.filled("<!-- measures -->")
    assert "| `p` | needed | `rel` | `precision` | `P_10` |\n" in table
    assert all(f"\n| `{name}` | " in table for name in MEASURES)


def test_finder_writes_names_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import metric_tables

    lines = metric_tables.finder().splitlines()[2:]
    titles = [line.split(" | ")[0].removeprefix("| ") for line in lines]
    assert {
        "Mean reciprocal rank (MRR)",
        "Recall at a threshold",
        "FPR at TPR",
        "Partial ROC AUC",
        "Quantile",
    } < {*titles}
    assert all(title[0].isupper() and "_" not in title for title in titles)


def test_finder_lists_every_metric_with_its_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import metric_tables

    table = metric_tables.filled("<!-- finder -->")
    assert table.count("\n") == 1 + sum(not row.is_count for _, row in ROWS)
    for kind, row in ROWS:
        cells = (f" `{metric_tables.signature(row)}`", f" `{kind.TABLE.made_by}`")
        lines = [line for line in table.splitlines() if all(cell in line for cell in cells)]
        assert row.is_count or any(
            all(f"`{name}`" in line for name in row.aliases) for line in lines
        )
