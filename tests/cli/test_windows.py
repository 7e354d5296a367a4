"""`--time`: one result for each pane of time, in states, tables and pictures."""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest
from offenders import each
from pyarrow import parquet

import streameval as se
from streameval.accumulators import pane_results
from streameval.accumulators.panes import Panes
from streameval.accumulators.windowed import TwoStacks
from streameval.cli.combinations import NO_COLUMNS
from streameval.render.text import ABOUT_UNDEFINED
from streameval.results.names import parse_metric

START = 1_700_000_000  # 2023-11-14T22:13:20Z
STEP = 60


def log(n=600, labelled=540):
    """Rows a minute apart, of which the last have no label yet."""
    return [
        {
            "ts": START + STEP * k,
            "y_true": k % 3 % 2 if k < labelled else None,
            "y_pred": k % 7 % 2,
            "country": ["DE", "FR", "IT"][k % 5 % 3],
            "device": k % 2,
        }
        for k in range(n)
    ]


def windowed(rows, accumulator=None, **options):
    """Count the rows in Python."""
    inner = se.ConfusionAccumulator("auto") if accumulator is None else accumulator
    held = se.Windowed(inner, time="ts", unit="s", **{"pane": "1h", **options})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return held.update(columns)


@pytest.fixture
def name(write):
    return write("log.jsonl", log())


SECONDS = ("--time", "ts", "--unit", "s")
HOURS = (*SECONDS, "--pane", "1h")


def test_state_of_windows_is_that_of_a_program(name, call):
    assert call("eval", name, *HOURS, "-o", "a.state").code == 0
    assert se.load("a.state").to_bytes() == windowed(log()).to_bytes()


@pytest.mark.slow
def test_jobs_give_the_same_windows(write, call, small_buffers):
    name = write("log.jsonl", log(6000))
    for jobs in (1, 2):
        assert call("eval", name, *HOURS, "--jobs", jobs, "-o", f"{jobs}.state").code == 0
    assert se.load("1.state").to_bytes() == se.load("2.state").to_bytes()


@each("form", ["csv", "iso.csv", "iso.jsonl", "parquet"])
def test_times_are_the_same_in_every_format(form, call, write, folder):
    rows = log()
    if "iso" in form:
        for row in rows:
            row["ts"] = datetime.datetime.fromtimestamp(row["ts"], datetime.UTC).isoformat()
    if form == "parquet":
        table = pa.Table.from_pylist(rows)
        moments = pa.array(np.array(table["ts"]).astype("M8[s]"))
        parquet.write_table(table.set_column(0, "ts", moments), folder / "log.parquet")
    else:
        write(f"log.{form}", rows)
    unit = ["--unit", "s"] if form == "csv" else []
    done = call("eval", f"log.{form}", "--time", "ts", "--pane", "1h", *unit, "-o", "a.state")
    assert (done.code, done.err) == (0, "")
    found = {str(start): part for start, _, part in se.load("a.state").panes()}
    assert found == {str(start): part for start, _, part in windowed(log()).panes()}
    assert se.load("a.state").n_rows() == 600


@each("form", ["csv", "jsonl"])
def test_numbers_with_a_unit_are_times_when_they_are_text(form, call, write):
    rows = [row | {"ts": str(row["ts"])} for row in log()]
    assert call("eval", write(f"log.{form}", rows), *HOURS, "-o", "a.state").code == 0
    assert se.load("a.state").n_rows() == 600
    found = {str(start): part for start, _, part in se.load("a.state").panes()}
    assert found == {str(start): part for start, _, part in windowed(log()).panes()}


@each("form", ["csv", "jsonl"])
def test_numbers_may_stand_beside_iso_times(form, call, write):
    rows = log()
    for row in rows[::2]:
        row["ts"] = datetime.datetime.fromtimestamp(row["ts"], datetime.UTC).isoformat()
    done = call("eval", write(f"log.{form}", rows), *HOURS, "-o", "a.state")
    assert (done.code, done.err) == (0, "")
    found = {str(start): part for start, _, part in se.load("a.state").panes()}
    assert found == {str(start): part for start, _, part in windowed(log()).panes()}


@each("form", ["csv", "jsonl"])
def test_a_text_that_is_no_time_is_a_bad_row_beside_numbers(form, call, write):
    rows = [*log(), log()[0] | {"ts": "soon"}]
    done = call("eval", write(f"log.{form}", rows), *HOURS)
    assert done.code == 3
    assert "`ts` must be a time in ISO 8601, or a number in \"s\", got 'soon'" in done.err


def test_each_window_has_the_numbers_of_its_rows(name, call):
    done = call("eval", name, *HOURS, "--json").json
    assert (done["rows"], done["n_rows"], done["labelled"]) == (600, 600, 540)
    assert [entry["start"] for entry in done["windows"][:2]] == [
        "2023-11-14T22:00:00.000000Z",
        "2023-11-14T23:00:00.000000Z",
    ]
    for entry in done["windows"]:
        start, end = (
            datetime.datetime.fromisoformat(entry[edge]).timestamp() for edge in ("start", "end")
        )
        rows = [row for row in log() if start <= row["ts"] < end]
        known = [row for row in rows if row["y_true"] is not None]
        assert (entry["rows"], entry["n"]) == (len(rows), len(known))
        if known:
            right = sum(row["y_true"] == row["y_pred"] for row in known)
            assert entry["metrics"]["accuracy"] == right / len(known)
    assert done["metrics"]["accuracy"] == windowed(log()).compute().accuracy


def test_table_has_a_line_for_each_window_and_the_rows_without_labels(name, call):
    done = call("eval", name, *HOURS, "--metrics", "accuracy")
    lines = [line.split() for line in done.out.splitlines()[2:]]
    assert lines[0] == ["start", "rows", "n", "accuracy", "95%", "interval"]
    assert lines[1][:3] == ["(all)", "600", "540"]
    assert lines[2][:3] == ["2023-11-14T22:00", "47", "47"]
    assert lines[12][:4] == ["2023-11-15T08:00", "13", "0", "\N{EN DASH}"]
    assert lines[13:15] == [[], ABOUT_UNDEFINED.split()]
    assert len(lines) == 15


def test_days_and_steps_are_written_briefly(call, write):
    name = write("log.jsonl", log(6000, 6000))
    done = call("eval", name, *SECONDS, "--pane", "1d", "--metrics", "n")
    assert [line.split()[0] for line in done.out.splitlines()[3:]] == [
        "(all)",
        *(f"2023-11-{day}" for day in range(14, 20)),
    ]
    done = call("eval", name, "--time", "ts", "--pane", 120_000, "--metrics", "n")
    assert [line.split()[0] for line in done.out.splitlines()[3:]] == [
        "(all)",
        *(str(edge) for edge in range(1_699_920_000, 1_700_360_000, 120_000)),
    ]


def test_only_the_newest_windows_are_in_the_table(call, write):
    name = write("log.jsonl", log(80, 80))
    done = call("eval", name, *SECONDS, "--pane", "1m", "--metrics", "accuracy")
    assert done.out.endswith("\n\nand 20 earlier windows, which --json has\n")
    assert len(done.out.splitlines()) == 2 + 1 + 1 + 60 + 2


def test_earlier_windows_are_not_computed_for_the_table(write, call, monkeypatch):
    name = write("log.jsonl", log(80, 80))
    computed, usual = [], pane_results.counted

    def noted(part, kept):
        computed.append(part)
        return usual(part, kept)

    monkeypatch.setattr(pane_results, "counted", noted)
    assert call("eval", name, *SECONDS, "--pane", "1m").code == 0
    assert len(computed) == 61  # and all rows
    assert len(call("eval", name, *SECONDS, "--pane", "1m", "--json").json["windows"]) == 80


@pytest.mark.parametrize(
    "command",
    [
        ("show", "a.state"),
        *(
            pytest.param(command, marks=pytest.mark.slow)
            for command in (
                ("show", "a.state", "--json"),
                ("report", "a.state", "-o", "a.html"),
                ("plot", "a.state", "-o", "a.svg"),
                ("plot", "a.state", "-o", "a.svg", "--window", "4h"),
            )
        ),
    ],
    ids=" ".join,
)
def test_panes_are_sorted_equally_often_however_many_there_are(command, call, monkeypatch):
    sorted_at, spans = [], Panes.spans

    def noted(self, *ends):
        sorted_at.append(len(self.panes))
        return spans(self, *ends)

    monkeypatch.setattr(Panes, "spans", noted)
    times = []
    for n in (240, 1200):
        se.save(windowed(log(n, n)), "a.state")
        sorted_at.clear()
        assert call(*command).code == 0
        times.append(len(sorted_at))
    assert times[0] == times[1] > 0


def test_old_panes_are_rolled_up_and_then_counted_together(name, call):
    options = [*HOURS, "--keep", "2h", "--rollups", "4h:4h", "-o", "a.state"]
    done = call("eval", name, *options, "--json").json
    expected = windowed(log(), keep="2h", rollups=[("4h", "4h")])
    assert se.load("a.state").to_bytes() == expected.to_bytes()
    first, *others = done["windows"]
    assert (first["start"], first["end"]) == (None, None)
    assert first["n"] == expected.before.n
    assert first["rows"] + sum(entry["rows"] for entry in others) == 600
    assert call("show", "a.state").out.splitlines()[4].startswith("(before)")


def test_fractional_weights_make_no_window_before_all_panes(call):
    held = se.Windowed(se.ConfusionAccumulator(), pane=1, time="t")
    batch = {"y_true": [1] * 3, "y_pred": [1] * 3, "t": [0, 1, 2]}
    se.save(held.update(batch, sample_weight=[0.1, 0.2, 0.3]), "a.state")
    done = call("show", "a.state", "--json").json
    assert [entry["start"] for entry in done["windows"]] == [0, 1, 2]


def test_rollup_without_a_time_is_kept_for_ever(name, call):
    expected = windowed(log(), keep="2h", rollups=[("4h", None)])
    for option in ("4h", "4h:"):
        done = call("eval", name, *HOURS, "--keep", "2h", "--rollups", option, "-o", "a.state")
        assert done.code == 0
        assert se.load("a.state").to_bytes() == expected.to_bytes()


def test_each_window_has_its_slices(name, call):
    done = call("eval", name, *HOURS, "--by", "country=DE,FR", "--json", "-o", "a.state").json
    inner = se.Sliced(se.ConfusionAccumulator("auto"), "country", values=["DE", "FR"], max_values=2)
    assert se.load("a.state").to_bytes() == windowed(log(), inner).to_bytes()
    assert [part["value"] for part in done["slices"]] == ["DE", "FR"]
    for (_, _, held), entry in zip(windowed(log(), inner).panes(), done["windows"], strict=True):
        assert [part["n"] for part in entry["slices"]] == [held["DE"].n, held["FR"].n]
        assert entry.get("other", {"n": 0})["n"] == held.other.n
        assert entry["n"] == held.total().n


@pytest.fixture
def elsewhere():
    """Panes whose values are not those of the total, which keeps one of them."""
    inner = se.Sliced(se.ConfusionAccumulator(), "c", max_values=1)
    held = se.Windowed(inner, pane=10, time="t")
    batch = {"y_true": [1] * 30, "y_pred": [1, 0, 1] * 10, "t": range(30)}
    held.update(batch | {"c": ["a"] * 10 + ["b"] * 10 + ["a", "b"] * 5})
    assert len(held.total()) == 1
    return held


def test_values_that_the_total_lacks_are_other_values_in_every_window(call, elsewhere):
    se.save(elsewhere, "a.state")
    (value,) = elsewhere.total()
    done = call("show", "a.state", "--json").json
    sizes = []
    for entry in done["windows"]:
        assert {part["value"] for part in entry["slices"]} <= {value}
        sizes.append([part["n"] for part in entry["slices"]] + [entry.get("other", {"n": 0})["n"]])
    alone = [[10, 0], [10]] if value == "a" else [[10], [10, 0]]
    assert sizes == [*alone, [5, 5]]
    assert sum(own[-1] for own in sizes) == done["other"]["n"]
    lines = call("show", "a.state", "--metrics", "accuracy").out.splitlines()
    assert lines[3].split() == ["start", "(all)", value, "(other)"]


@pytest.mark.parametrize("width", [None, 20])
def test_picture_has_a_line_for_each_value_of_the_total(elsewhere, width):
    from matplotlib.figure import Figure

    figure = Figure()
    elsewhere.over_time(width).draw_over_time(figure, parse_metric("accuracy"), 0.9)
    names = [line.get_label() for line in figure.axes[0].lines]
    assert names == ["(all)", *elsewhere.total()]


def test_slices_of_windows_have_no_column_for_others_that_there_are_not(name, call):
    done = call("eval", name, *HOURS, "--by", "country=DE,FR,IT", "--metrics", "accuracy")
    assert done.out.splitlines()[3].split() == ["start", "rows", "(all)", "DE", "FR", "IT"]


def test_slices_of_windows_have_a_table_for_each_metric(name, call):
    done = call("eval", name, *HOURS, "--by", "country=DE,PT", "--metrics", "accuracy,f_score")
    assert [line for line in done.out.splitlines() if line in ("accuracy", "f_score")] == [
        "accuracy",
        "f_score",
    ]
    head, whole, first = (line.split() for line in done.out.splitlines()[3:6])
    assert head == ["start", "rows", "(all)", "DE", "PT", "(other)"]
    assert whole[:2] == ["(all)", "600"]
    result = windowed(log()).compute()
    assert whole[2] == f"{result.accuracy:.4f}"
    assert whole[4] == "\N{EN DASH}"
    assert first[:2] == ["2023-11-14T22:00", "47"]


def test_several_columns_of_slices_go_with_windows(name, call):
    options = [*HOURS, "--by", "country=DE", "--by", "device=1"]
    done = call("eval", name, *options, "--json").json
    assert [part["value"] for part in done["slices"]] == [["DE", "1"]]
    assert call("eval", name, *options).out.splitlines()[3].split()[:5] == [
        *("start", "rows", "(all)", "DE,", "1"),
    ]


def test_show_reports_windows_as_eval_does(name, call):
    counted = call("eval", name, *HOURS, "--by", "country=DE", "-o", "a.state")
    shown = call("show", "a.state")
    assert shown.out.splitlines()[0] == "a.state, n = 540"
    assert shown.out.splitlines()[1:] == counted.out.splitlines()[1:]


def test_show_reports_slices(call):
    inner = se.Sliced(se.ConfusionAccumulator(), "c", values=["DE", None], max_values=2)
    batch = {"y_true": [1, 0, 1], "y_pred": [1, 0, 0], "c": ["DE", None, "FR"]}
    se.save(inner.update(batch), "a.state")
    lines = [line.split()[:2] for line in call("show", "a.state").out.splitlines()[2:7]]
    assert lines == [["c", "n"], ["(all)", "3"], ["DE", "1"], ["(missing)", "1"], ["(other)", "1"]]
    done = call("show", "a.state", "--json").json
    assert [part["n"] for part in done["slices"]] == [1, 1]
    assert done["other"]["metrics"]["accuracy"] == 0


def members():
    return se.Collection(
        {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}, columns={}
    )


@pytest.mark.slow
def test_windows_of_collections_are_shown_and_drawn(call):
    se.save(windowed(log(), members()), "a.state")
    done = call("show", "a.state", "--metrics", "cm/accuracy,fit/mae")
    assert done.out.splitlines()[0] == "a.state, n = 540"
    assert done.out.splitlines()[2].split()[:3] == ["start", "rows", "cm/accuracy"]
    result = windowed(log(), members()).compute()
    assert done.out.splitlines()[3].split()[2] == f"{result['cm'].accuracy:.4f}"
    assert call("plot", "a.state", "--metrics", "fit/mae", "-o", "a.svg").code == 0
    entry = call("show", "a.state", "--json").json["windows"][0]
    assert entry["rows"] == 47
    assert entry["metrics"]["cm/n"] == 47


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pane", "1h"], "--pane needs --time."),
        (["--keep", "1h"], "--keep needs --time."),
        (["--rollups", "1h:"], "--rollups needs --time."),
        (["--unit", "s"], "--unit needs --time."),
        (["--time", "ts"], "--time needs --pane, the width of the windows, as in --pane 1h."),
        (
            [*HOURS, "--task", "ranking", "--per-query"],
            "--per-query cannot be used with --time.",
        ),
        (
            [*HOURS, "--task", "ranking", "--rows-per-query", "9"],
            "--rows-per-query cannot be used with --time, which counts complete queries.",
        ),
        (
            [*HOURS, "--task", "ranking", "--qrels", "a.qrels"],
            f"--time cannot be used with --qrels: {NO_COLUMNS}.",
        ),
        (
            [*HOURS, "--by", "country", "--top", "3"],
            "--top cannot be used with --time; name the values, as in --by COLUMN=A,B.",
        ),
        (
            ["--time", "y_pred", "--pane", "5", "--by", "y_pred"],
            "`y_pred` cannot be both evaluated and the column of --time or --by.",
        ),
        (
            [*HOURS, "--by", "ts"],
            "`ts` cannot be both evaluated and the column of --time or --by.",
        ),
        (
            ["--time", "ts", "--pane", "1h"],
            "`ts` holds numbers, 1700000000, whose unit is not guessed: give "  # noqa: ISC004
            "--unit s, ms, us or ns, or a --pane that is a number of steps.",
        ),
        (
            ["--time", "ts", "--pane", "1h", "--unit", "ms"],
            '`ts` holds 1700000000, which looks like a time in "s" and not in "ms"; '  # noqa: ISC004
            "see --unit.",
        ),
        (
            ["--time", "ts", "--pane", "60", "--unit", "s"],
            "--unit cannot be used with a --pane that is a number of steps.",
        ),
        ([*HOURS, "--keep", "30m"], '--keep must be at least one pane, "1h", got "30m".'),
    ],
)
def test_options_of_windows_that_do_not_fit_are_told(arguments, message, name, call):
    done = call("eval", name, *arguments)
    assert done.code == 2
    assert done.err.replace("'1h'", '"1h"').replace("'30m'", '"30m"') == (
        f"streameval: error: {message}\n"
    )


def test_column_that_weights_may_have_cannot_be_the_time(call, write):
    name = write("log.jsonl", [{"y_true": 1, "y_pred": 1, "sample_weight": 3}])
    done = call("eval", name, "--time", "sample_weight", "--pane", "5")
    assert (done.code, done.err) == (
        2,
        "streameval: error: `sample_weight` cannot be both evaluated and the column of --time or "  # noqa: ISC004
        "--by.\n",
    )


def queries(n=40):
    """Queries a minute apart, of which some have no document."""
    rng = np.random.default_rng(3)
    return [
        {
            "query": f"q{k}",
            "ts": START + STEP * k,
            "country": ["DE", "FR"][k % 2],
            "relevance": rng.integers(0, 2, k % 4).tolist(),
            "score": rng.random(k % 4).round(3).tolist(),
            "doc": [f"d{n}" for n in range(k % 4)],
        }
        for k in range(n)
    ]


def rows_of(listed):
    """A row for each document, shuffled."""
    rows = [
        {**one, **{name: one[name][at] for name in ("relevance", "score", "doc")}}
        for one in listed
        for at in range(len(one["doc"]))
    ]
    np.random.default_rng(4).shuffle(rows)
    return rows


RANKED = ("--task", "ranking", "--time", "ts", "--pane", "10m", "--unit", "s")


def ranked(rows, inner=None):
    held = se.Windowed(inner or se.RankingAccumulator(), pane="10m", time="ts", unit="s")
    return held.update({name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.slow
@each("form", ["jsonl", "csv", "parquet"])
def test_rows_of_queries_are_counted_in_panes(form, call, write, small_buffers):
    rows = rows_of([one for one in queries(1000) if one["doc"]])
    done = call("eval", write(f"log.{form}", rows), *RANKED, "-o", "a.state")
    assert (done.code, done.err) == (0, "")
    assert se.load("a.state").to_bytes() == ranked(rows).to_bytes()


@pytest.mark.slow
def test_jobs_give_the_same_windows_of_queries(call, write, small_buffers):
    name = write("log.jsonl", rows_of(queries(2000)))
    for jobs in (1, 2):
        assert call("eval", name, *RANKED, "--jobs", jobs, "-o", f"{jobs}.state").code == 0
    assert se.load("1.state").to_bytes() == se.load("2.state").to_bytes()


@pytest.mark.slow
@each("by", [[], ["--by", "country=DE,FR"]])
@each("ids", [[], ["--track-queries"]])
def test_lists_of_queries_are_counted_in_panes(by, ids, call, write, small_buffers):
    listed = queries(400)
    name = write("log.jsonl", listed)
    done = call("eval", name, *RANKED, *by, *ids, "-o", "a.state", "--json").json
    assert done["metrics"] == call("eval", name, "--task", "ranking", "--json").json["metrics"]
    assert (done["n_rows"], len(done["windows"])) == (400, 41)
    entry, (start, _, part) = done["windows"][20], list(se.load("a.state").panes())[20]
    assert entry["start"] == f"{start}Z"
    write(
        "part.jsonl", [one for one in listed if entry["start"] <= _text(one["ts"]) < entry["end"]]
    )
    assert call("eval", "part.jsonl", "--task", "ranking", *ids, "-o", "b.state").code == 0
    assert (part.total() if by else part).to_bytes() == se.load("b.state").to_bytes()


def _text(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")


def test_lists_without_the_names_of_queries_are_counted_in_panes(call, write):
    listed = [{name: one[name] for name in one if name != "query"} for one in queries()]
    assert call("eval", write("log.jsonl", listed), *RANKED, "-o", "a.state").code == 0
    assert call("eval", write("named.jsonl", queries()), *RANKED, "-o", "b.state").code == 0
    assert se.load("a.state") == se.load("b.state")


@each("number", [False, True])
def test_query_of_two_times_is_named(number, call, write):
    rows = rows_of(queries())
    ids = {row["query"]: at for at, row in enumerate(rows)}
    if number:
        rows = [row | {"query": ids[row["query"]]} for row in rows]
    rows += [{**rows[0], "doc": "x", "ts": START + 7 * STEP * 100}]
    done = call("eval", write("log.jsonl", rows), *RANKED)
    assert done.code == 3
    assert done.err == (
        "streameval: error: `ts` must be the same in all rows of a query (column 'query'), "
        f"in query {rows[0]['query']!r}.\n"
    )


def test_document_that_comes_again_in_another_block_is_told(call, write, small_buffers):
    rows = rows_of(queries(2000))
    done = call("eval", write("log.jsonl", [*rows, rows[0]]), *RANKED)
    assert done.code == 3
    assert rows[0]["doc"] in done.err


def test_row_of_a_query_that_is_refused_is_named(call, write):
    rows = rows_of(queries())
    rows[7]["relevance"] = -1
    done = call("eval", write("log.jsonl", rows), *RANKED)
    assert done.code == 3
    assert "log.jsonl, line 8: `relevance` must" in done.err
    assert call("eval", "log.jsonl", *RANKED, "--max-bad", 1, "-o", "a.state").code == 0
    assert se.load("a.state") == ranked([*rows[:7], *rows[8:]])


def test_numbers_of_relevant_documents_have_no_panes(call, write):
    rows = [row | {"num_relevant": 3} for row in rows_of(queries())]
    done = call("eval", write("log.jsonl", rows), *RANKED)
    assert (done.code, done.err) == (
        2,
        "streameval: error: --time cannot be used with `num_relevant`, a number for each query; "  # noqa: ISC004
        "give the relevant documents as rows with retrieved=false.\n",
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--pane", "1 hour", "must be a duration such as 30s, 5m, 1h or 7d, or a number of steps"),
        ("--pane", "0", "must be an integer of at least 1, got '0'"),
        ("--rollups", "x", "must be a duration such as 30s"),
        ("--rollups", "1h:x", "must be a duration such as 30s"),
    ],
)
def test_widths_that_are_none_are_told(option, value, message, name, call):
    done = call("eval", name, *HOURS, option, value)
    assert done.code == 2
    assert message in done.err


def test_time_that_is_none_makes_a_bad_row(call, write):
    rows = log(6)
    rows[2]["ts"], rows[3]["ts"], rows[4]["ts"] = "soon", None, True
    name = write("log.jsonl", rows)
    done = call("eval", name, *HOURS)
    assert done.code == 3
    assert done.err == (
        "streameval: error: log.jsonl, line 3: `ts` must be a time in ISO 8601, or a number in "
        "\"s\", got 'soon'.\n"
    )
    done = call("eval", name, *HOURS, "--max-bad", 3, "--json")
    assert (done.code, done.json["rows"], done.json["bad"]) == (0, 6, 3)
    assert done.json["n_rows"] == 3
    assert "line 4: `ts` is missing" in done.err
    steps = call("eval", name, "--time", "ts", "--pane", 60)
    assert "line 3: `ts` must be an integer" in steps.err


@each("quiet", [[], ["--quiet"]])
def test_times_without_an_offset_are_noted(quiet, call, write):
    rows = [{"ts": f"2026-01-01T0{n}:00", "y_true": 1, "y_pred": 1} for n in range(3)]
    name = write("log.csv", rows)
    for _ in range(2):
        done = call("eval", name, "--time", "ts", "--pane", "1h", *quiet)
        note = "streameval: note: `ts` has times without an offset, which are read as UTC.\n"
        assert (done.code, done.err) == (0, "" if quiet else note)


@each("jobs", [1, 2])
def test_times_with_and_without_an_offset_are_noted_wherever_they_stand(jobs, call, write):
    rows = [{"ts": f"2026-01-01T0{n}:00+00:00", "y_true": 1, "y_pred": 1} for n in range(3)]
    given = ("--time", "ts", "--pane", "1h", "--jobs", jobs)
    assert call("eval", write("log.jsonl", rows), *given).err == ""
    rows += [{"ts": f"2026-01-0{n}T00:00:00", "y_true": 1, "y_pred": 1} for n in (1, 2)]
    for name in (write("log.csv", rows), write("log.jsonl", rows)):
        assert call("eval", name, *given).err == (
            "streameval: note: `ts` has times with and without an offset; those without are read "
            "as UTC.\n"
        )


def test_dates_of_spreadsheets_are_read_in_the_order_that_the_error_names(call, write):
    rows = [{"ts": f"{n + 12:02}.05.2026", "y_true": 1, "y_pred": 1} for n in range(3)]
    given = ("eval", write("log.csv", rows), "--time", "ts", "--pane", "1d")
    assert "`ts` must be a time in ISO 8601 (--dates dmy reads such dates), got" in call(*given).err
    done = call(*given, "--dates", "dmy", "--json")
    starts = [pane["start"] for pane in done.json["windows"]]
    assert starts == [f"2026-05-{n}T00:00:00.000000Z" for n in (12, 13, 14)]


def test_first_time_that_is_missing_makes_a_bad_row(call, write):
    rows = [{"ts": None, "y_true": 1, "y_pred": 1}, {"ts": "x", "y_true": 1, "y_pred": 1}]
    rows.append({"ts": "2026-01-01T00:00Z", "y_true": 1, "y_pred": 1})
    done = call("eval", write("log.jsonl", rows), "--time", "ts", "--pane", "1h", "--max-bad", 2)
    assert done.code == 0
    assert "line 1: `ts` is missing" in done.err
    assert "line 2: `ts` must be a time in ISO 8601, got" in done.err


def test_label_of_the_wrong_type_is_a_bad_row_in_windows_too(call, write):
    rows = log(5)
    rows[1]["y_true"], rows[3]["y_true"] = None, "x"
    done = call(
        "eval", write("log.jsonl", rows), *HOURS, "--classes", "2", "--max-bad", 1, "--json"
    )
    assert (done.json["rows"], done.json["bad"]) == (5, 1)
    assert (done.json["n_rows"], done.json["n"]) == (4, 3)


def test_truth_of_a_regression_may_be_missing(call, write):
    rows = [{"ts": START, "y_true": k or None, "y_pred": 2.5} for k in range(4)]
    done = call("eval", write("log.csv", rows), *HOURS, "--task", "regression", "--json").json
    assert (done["n_rows"], done["n"], done["metrics"]["mae"]) == (4, 3, (1.5 + 0.5 + 0.5) / 3)


def test_windows_of_labels_for_each_class_need_every_label(call, write):
    rows = [{"ts": START, "a": 1, "b": 0, "p": 0, "q": 1}]
    columns = ["--y-true", "a,b", "--y-pred", "p,q", "--classes", "2", "--multilabel"]
    done = call("eval", write("log.csv", rows), *HOURS, *columns, "--json").json
    assert done["windows"][0]["n"] == 1


# --- diff and plot


def test_diff_compares_windows_that_follow_each_other(name, call):
    call("eval", name, *HOURS, "-o", "a.state")
    done = call(
        *("diff", "a.state", "a.state", "--window", "4h"),
        *("--metrics", "accuracy", "--json"),
    ).json
    held = windowed(log())
    a, b = held.window("4h", "2023-11-15T05:00Z"), held.window("4h")
    assert done["states"] == ["a.state to 2023-11-15T05:00", "a.state to 2023-11-15T09:00"]
    assert done["metrics"]["accuracy"]["a"] == a.compute().accuracy
    assert done["metrics"]["accuracy"]["b"] == b.compute().accuracy


@pytest.mark.parametrize("window", [["--window", "4h", "--ends", "2023-11-15T05:00Z"], []])
def test_diff_of_slices_compares_all_rows_and_single_slices(window, name, call):
    call("eval", name, *HOURS, "--by", "country=DE", "-o", "a.state")
    window = [*window[:3], *(f"{end},{end}" for end in window[3:])]
    metrics = ("accuracy", "country=DE/accuracy", "other/accuracy")
    options = ["--metrics", ",".join(metrics), "--fail-on", "accuracy drops 0.01"]
    done = call("diff", "a.state", "a.state", *window, *options, "--json")
    assert done.code == 0
    held = se.load("a.state")
    part = held.window("4h", "2023-11-15T05:00Z") if window else held.total()
    whole = part.total().compute()
    expected = [whole.accuracy, part["DE"].compute().accuracy, part.other.compute().accuracy]
    assert [done.json["metrics"][metric]["a"] for metric in metrics] == expected
    done = call("diff", "a.state", "a.state", *window, "--metrics", "acuracy")
    assert done.code == 2
    assert ": no metric 'acuracy': did you mean " in done.err


def test_diff_compares_windows_by_their_ends(name, call):
    call("eval", name, *HOURS, "-o", "a.state")
    ends = "2023-11-15T03:00Z,2023-11-15T01:00Z"
    done = call("diff", "a.state", "a.state", "--window", "2h", "--ends", ends, "--json").json
    held = windowed(log())
    accuracies = [held.window("2h", end).compute().accuracy for end in ends.split(",")]
    change = done["metrics"]["accuracy"]
    assert [change["a"], change["b"]] == accuracies


def test_diff_takes_the_ends_that_show_prints(name, call, recwarn):
    call("eval", name, *HOURS, "-o", "a.state")
    ends = "2023-11-15T03:00,2023-11-15T01:00"
    diff = ("diff", "a.state", "a.state", "--window", "2h", "--json", "--ends")
    recwarn.clear()
    done = call(*diff, ends)
    assert (done.err, list(recwarn)) == ("", [])
    again = call(*diff, ends.replace(",", "Z,") + "Z").json
    assert done.json["metrics"] == again["metrics"]
    assert done.json["states"] == [f"a.state to 2023-11-15T0{hour}" for hour in (3, 1)]


def test_diff_compares_windows_of_steps(call):
    rows = log(100, 100)
    columns = {name: [row[name] for row in rows] for name in ("y_true", "y_pred")}
    held = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step")
    se.save(held.update({**columns, "step": list(range(100))}), "a.state")
    for ends, sizes in (([], (30, 30)), (["--ends", "20,100"], (20, 30))):
        done = call("diff", "a.state", "a.state", "--window", 30, *ends, "--metrics", "n", "--json")
        change = done.json["metrics"]["n"]
        assert (change["a"], change["b"]) == sizes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ends", "a,b"], "--ends needs --window, the width of the windows."),
        (["--window", "1h", "--ends", "x"], "--ends must name 2 times, one for each state."),
        (["--window", "90m"], "`width` must be a multiple of the pane, '1h', got '90m'."),
    ],
)
def test_diff_tells_windows_that_there_are_not(arguments, message, name, call):
    call("eval", name, *HOURS, "-o", "a.state")
    done = call("diff", "a.state", "a.state", *arguments)
    assert (done.code, done.err) == (2, f"streameval: error: {message}\n")


def test_windows_of_a_state_without_panes_are_refused(name, call):
    call("eval", name, "--by", "country", "-o", "folder", "--where", "y_true!=")
    call("eval", name, "--where", "y_true!=", "-o", "a.state")
    held = "and a.state holds a ConfusionAccumulator."
    done = call("diff", "a.state", "a.state", "--window", "1h")
    assert done.err == f"streameval: error: --window is for states with panes of time, {held}\n"
    done = call("plot", "a.state", "--window", "1h", "-o", "a.png")
    assert done.err == f"streameval: error: --window is for states with panes of time, {held}\n"
    done = call("plot", "a.state", "--metrics", "accuracy", "-o", "a.png")
    assert done.err == f"streameval: error: --metrics is for states with panes of time, {held}\n"


def test_diff_of_windows_without_rows_has_no_numbers(call):
    se.save(se.Windowed(se.RegressionAccumulator(), pane="1h"), "a.state")
    done = call("diff", "a.state", "a.state", "--window", "1h", "--metrics", "mae", "--json").json
    assert done["states"] == ["a.state", "a.state"]
    assert done["metrics"]["mae"]["a"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "accuracy over 11 windows of a.state drawn in a.svg"),
        (["--metrics", "recall[1]"], "recall[1] over 11 windows of a.state drawn in a.svg"),
        (["--window", "3h", "--level", "0"], "accuracy over 11 windows of a.state drawn in a.svg"),
    ],
)
def test_metric_is_drawn_over_time(arguments, told, name, call, folder):
    call("eval", name, *HOURS, "--by", "country=DE,PT", "-o", "a.state")
    done = call("plot", "a.state", *arguments, "-o", "a.svg")
    assert (done.code, done.out, done.err) == (0, f"{told}\n", "")
    picture = (folder / "a.svg").read_text()
    assert call("plot", "a.state", *arguments, "-o", "b.svg").code == 0
    assert (folder / "b.svg").read_text() == picture


def test_sliding_windows_without_rows_are_not_merged(call, monkeypatch):
    merged, sums = [], TwoStacks.merged

    def noted(self):
        merged.append(self)
        return sums(self)

    held = se.Windowed(se.RegressionAccumulator(), pane=1)
    held.update({"y_true": [1, 2], "y_pred": [1, 1], "time": [0, 5000]})
    se.save(held, "a.state")
    monkeypatch.setattr(TwoStacks, "merged", noted)
    assert call("plot", "a.state", "--window", 2, "-o", "a.svg").code == 0
    assert len(merged) == 3


def test_sliding_windows_without_rows_are_not_drawn(call):
    held = se.Windowed(se.RegressionAccumulator(), pane=10)
    held.update({"y_true": [1, 2], "y_pred": [1, 1], "time": [5, 65]})
    se.save(held, "a.state")
    done = call("plot", "a.state", "--window", 20, "-o", "a.svg")
    assert done.out == "rmse over 3 windows of a.state drawn in a.svg\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["a.state", "a.state"],
            "a metric over time shows one state: draw each in its own figure.",
        ),
        (
            ["a.state", "--kind", "roc"],
            "--kind cannot be used with a state with panes of time; see --metrics.",
        ),
        (
            ["a.state", "--member", "x"],
            "--member cannot be used with a state with panes of time; see --metrics.",
        ),
        (
            ["empty.state"],
            "there is nothing to draw: the state has no window with rows.",
        ),
    ],
)
def test_what_cannot_be_drawn_over_time_is_told(arguments, message, name, call):
    call("eval", name, *HOURS, "-o", "a.state")
    se.save(se.Windowed(se.RegressionAccumulator(), pane="1h"), "empty.state")
    done = call("plot", *arguments, "-o", "a.svg")
    assert (done.code, done.err) == (2, f"streameval: error: {message}\n")


def test_picture_of_a_metric_over_time_shows_values_intervals_and_coverage(folder):
    from matplotlib.figure import Figure

    rows = [row | {"y_score": row["ts"] * 37 % 1001 / 1001} for row in log()]
    held = windowed(rows, se.PRCurveSketch(8))
    figure = Figure()
    held.over_time().draw_over_time(figure, parse_metric("roc_auc"), 0.9)
    above, below = figure.axes
    expected = [part.compute().read("roc_auc", level=0.9) for _, _, part in held.panes()]
    drawn = above.lines[0].get_ydata()
    np.testing.assert_array_equal(drawn, [float(one.value) for one in expected])
    certified, sampling = above.collections
    ends = {tuple(pair) for pair in certified.get_paths()[0].vertices}
    lows = [one.certified[0] for one in expected if not math.isnan(one.value)]
    assert set(lows) <= {high for _, high in ends}
    segments = [tuple(line[:, 1]) for line in sampling.get_segments() if len(line)]
    np.testing.assert_array_equal(
        [one.sampling for one in expected if one.sampling],
        [pair for pair in segments if not math.isnan(pair[0])],
    )
    (bars,) = below.collections
    corners = bars.get_paths()[0].vertices[1 : 4 * len(expected) + 1, 1].reshape(-1, 4)
    assert corners[:, [0, 3]].max() == 0
    np.testing.assert_array_equal(corners[:, 1], corners[:, 2])
    heights = corners[:, 1].tolist()
    assert heights == [part.n / held.n_rows(*edges) for *edges, part in held.panes()]
    texts = [text.get_text() for text in above.get_legend().get_texts()]
    assert texts == ["(all)", "exact value within", "90% interval"]
