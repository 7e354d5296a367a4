"""Labels in files of their own, which `eval` joins by an id."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest

import streameval as se

TRUTH = {f"id{n:03}": int(n % 3 == 0) for n in range(200)}
SCORES = {key: round((n * 37 % 200) / 200, 3) for n, key in enumerate(TRUTH)}
BINARY = ("--task", "binary", "--json")
JOINED = ("--labels", "labels.csv", "--key", "id")


def expected(keys):
    curve = se.PRCurveSketch()
    curve.update([TRUTH[key] for key in keys], [SCORES[key] for key in keys])
    return curve.compute().roc_auc


@pytest.fixture
def logs(folder):
    """Write the predictions and the labels in other orders; return what does that again."""

    def write(scores="y_score", truth="y_true", predicted=tuple(TRUTH), labelled=tuple(TRUTH)):
        for name, column, values, keys in (
            ("scores", scores, SCORES, predicted),
            ("labels", truth, TRUTH, labelled),
        ):
            shuffled = random.Random(name).sample(keys, len(keys))
            lines = "".join(f"{key},{values[key]}\n" for key in shuffled)
            (folder / f"{name}.csv").write_text(f"id,{column}\n{lines}")
            rows = [{"id": key, column: values[key]} for key in shuffled]
            (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    write()
    return write


@pytest.mark.parametrize("predictions", ["scores.csv", "scores.jsonl"])
@pytest.mark.parametrize("labels", ["labels.csv", "labels.jsonl"])
def test_eval_joins_labels_of_any_format_by_their_id(predictions, labels, call, logs):
    done = call("eval", predictions, *BINARY, "--labels", labels, "--key", "id")
    assert (done.err, done.json["rows"], done.json["unlabelled"]) == ("", 200, 0)
    assert done.json["metrics"]["roc_auc"] == expected(TRUTH)


def test_truth_and_scores_may_have_one_name(call, logs):
    logs("target", "target")
    named = ("--y-true", "target", "--y-score", "target")
    found = call("eval", "scores.csv", *BINARY, *JOINED, *named).json["metrics"]
    assert found["roc_auc"] == expected(TRUTH)


def test_ids_without_a_partner_are_counted(call, logs):
    keys = tuple(TRUTH)
    logs(predicted=keys[:150], labelled=keys[20:])
    done = call("eval", "scores.csv", *BINARY, *JOINED)
    assert done.json["metrics"]["roc_auc"] == expected(keys[20:150])
    assert [done.json[name] for name in ("rows", "unlabelled", "labels_left")] == [130, 20, 50]
    without_label, without_row = done.err.splitlines()
    assert "rows without a label: 20, which are not counted, such as that with `id` 'id0" in (
        without_label
    )
    assert "labels without a counted row: 50, such as that with `id` 'id1" in without_row


def test_rows_without_a_label_among_the_labels_are_none(call, logs, folder):
    with (folder / "labels.csv").open("a") as file:
        file.write("id900,\n")
    assert call("eval", "scores.csv", *BINARY, *JOINED).json["labels_left"] == 0


@pytest.mark.parametrize("name", ["scores.csv", "labels.csv"])
def test_ids_that_repeat_are_refused(name, call, logs, folder):
    with (folder / name).open("a") as file:
        file.write("id007,1\n")
    done = call("eval", "scores.csv", *BINARY, *JOINED)
    assert done.code == 3
    assert done.err.endswith(f"{name}, line 202: the `id` 'id007' occurs a second time.\n")


def test_files_without_a_common_id_are_refused_with_one_of_each(call, logs, folder):
    text = (folder / "labels.csv").read_text().replace("id0", "x0").replace("id1", "x1")
    (folder / "labels.csv").write_text(text)
    done = call("eval", "scores.csv", *BINARY, *JOINED)
    assert done.code == 3
    assert "scores.csv: holds no rows with a label. rows without a label: 200," in done.err
    assert "labels without a counted row: 200, such as that with `id` 'x" in done.err


def test_labels_that_cannot_be_read_are_refused(call, logs, folder):
    with (folder / "labels.csv").open("a") as file:
        file.write("id900,spam\n")
    done = call("eval", "scores.csv", *BINARY, *JOINED, "--max-bad", "5")
    assert done.err.endswith("labels.csv, line 202: `y_true` must be an integer, got 'spam'.\n")


def test_slices_filters_and_several_tasks_read_the_predictions(call, logs, folder):
    lines = "".join(f"{key},{SCORES[key]},{key[-1]}\n" for key in TRUTH)
    (folder / "scores.csv").write_text(f"id,y_score,digit\n{lines}")
    found = call("eval", "scores.csv", *BINARY, *JOINED, "--by", "digit", "--where", "digit!=3")
    assert found.json["left_out"] == 20
    keys = [key for key in TRUTH if key[-1] == "4"]
    (of_four,) = (one for one in found.json["slices"] if one["value"] == "4")
    assert of_four["metrics"]["roc_auc"] == expected(keys)
    both = call("eval", "scores.csv", *JOINED, "--task", "binary,classification", "--json").json
    assert both["metrics"]["binary/roc_auc"] == expected(TRUTH)


def test_whole_ids_are_one_number_in_every_format(call, folder):
    written = [[1, 2, 3], [1.0, 2.0, 3.0], ["1.0", "2.0", "3.0"], ["1", "2", "3"]]
    files = []
    for number, ids in enumerate(written):
        rows = [{"id": key, "y_true": at % 2, "y_score": at / 4} for at, key in enumerate(ids)]
        (folder / f"{number}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        table = "".join(f"{row['id']},{row['y_true']},{row['y_score']}\n" for row in rows)
        (folder / f"{number}.csv").write_text(f"id,y_true,y_score\n{table}")
        files += [f"{number}.jsonl", f"{number}.csv"]
    for one in files:
        for other in files:
            found = call("eval", one, "--labels", other, "--key", "id", *BINARY)
            assert found.json["metrics"]["n"] == 3, found.err


def test_ids_that_are_missing_have_no_partner(call, folder):
    (folder / "scores.csv").write_text("id,y_pred\n1,1\n,0\n,0\n")
    (folder / "labels.csv").write_text("id,y_true\n1,1\n,1\n,1\n2,1\n")
    found = call("eval", "scores.csv", *JOINED, "--json")
    assert [found.json[name] for name in ("rows", "unlabelled", "labels_left")] == [1, 2, 3]
    assert found.json["metrics"]["accuracy"] == 1
    assert "labels without a counted row: 3, such as that with `id` None." in found.err


@pytest.mark.parametrize(
    ("row", "options", "name"),
    [
        ({"labels": {"score": 0.9}}, ("--y-score", "labels.score"), "labels"),
        ({"labels.score": 0.9}, ("--y-score", "labels.score"), "labels.score"),
    ],
)
def test_columns_of_predictions_are_not_hidden_by_those_of_labels(row, options, name, call, logs):
    Path("own.jsonl").write_text(json.dumps({"id": "id000"} | row))
    done = call("eval", "own.jsonl", *BINARY, *JOINED, *options)
    assert f"own.jsonl: rename `{name}`, since names that begin with 'labels.' are" in done.err


def test_labels_may_be_lists(call, folder):
    (folder / "scores.jsonl").write_text('{"id":1,"y_pred":[1,0]}\n{"id":2,"y_pred":[0,0]}\n')
    (folder / "labels.jsonl").write_text('{"id":1,"y_true":[1,0]}\n{"id":2,"y_true":[1,0]}\n')
    options = ("--labels", "labels.jsonl", "--key", "id", "--multilabel", "--classes", "2")
    assert call("eval", "scores.jsonl", *options, "--json").json["metrics"]["recall"] == 0.25


def test_what_is_found_and_left_in_files_of_labels_is_told(call, folder):
    (folder / "scores.csv").write_text("id,y_pred\n1,1\n2,0\n3,2\n")
    (folder / "labels.csv").write_text("id;y_true\n1;0,5\n2;NaN\n3;3")
    regression = ("--task", "regression", *JOINED, "--json", "--nan", "skip")
    done = call("eval", "scores.csv", *regression, "--partial-last-line", "skip")
    assert (done.json["rows"], done.json["metrics"]["mae"]) == (1, 0.5)
    assert "labels.csv: read with the delimiter ';' and decimal commas, as the first" in done.err
    assert "labels.csv: the last line has no newline, and is left for next time." in done.err
    assert "rows without a label: 2" in done.err


@pytest.mark.parametrize("text", ["", "id,y_true\n"])
def test_files_without_labels_are_refused(text, call, logs, folder):
    (folder / "labels.csv").write_text(text)
    assert "labels.csv: holds no labels." in call("eval", "scores.csv", *BINARY, *JOINED).err


def test_labels_have_their_own_format(call, logs):
    options = ("--labels", "labels.jsonl", "--key", "id", "--delimiter", ",", "--format", "csv")
    assert call("eval", "scores.csv", *BINARY, *options).json["rows"] == 200


def test_advice_to_join_names_a_column_of_ids(call, folder):
    (folder / "scores.csv").write_text("model,id,y_pred\nm,1,1\nm,2,0\n")
    (folder / "labels.csv").write_text("model,id,y_true\nm,1,1\nm,2,0\n")
    said = call("eval", "scores.csv", "labels.csv").err
    assert "`streameval eval scores.csv --labels labels.csv --key id` joins them." in said
    (folder / "labels.csv").write_text("model,y_true\nm,1\nm,0\n")
    assert "joins them" not in call("eval", "scores.csv", "labels.csv").err


def test_slices_and_filters_read_columns_of_labels(call, logs, folder):
    split = {key: ("", "public", "private")[n % 3] for n, key in enumerate(TRUTH)}
    split = dict(zip(TRUTH, random.Random(7).sample([*split.values()], len(split)), strict=True))
    lines = "".join(f"{key},{TRUTH[key]},{split[key]}\n" for key in TRUTH)
    (folder / "labels.csv").write_text(f"id,y_true,split\n{lines}none,,public\n")
    filtered = ("--where", "labels.split!=private", "--where", "id!=id000")
    found = call("eval", "scores.csv", *BINARY, *JOINED, "--by", "labels.split", *filtered).json
    keys = {value: [key for key in TRUTH if split[key] == value] for value in split.values()}
    keys = {value: [key for key in own if key != "id000"] for value, own in keys.items()}
    assert found["left_out"] == 1 + len(keys["private"])
    assert {one["value"]: one["metrics"]["roc_auc"] for one in found["slices"]} == {
        None: expected(keys[""]),
        "public": expected(keys["public"]),
    }
    none = call("eval", "scores.csv", *BINARY, *JOINED, "--where", "labels.split=other")
    assert "error: scores.csv: holds no rows with a label that match --where." in none.err
    (folder / "labels.csv").write_text("id,y_true,split\nid000,,public\n")
    assert call("eval", "scores.csv", *BINARY, *JOINED, *filtered[:2]).code == 3


def test_regression_skips_predictions_that_are_missing(call, folder):
    (folder / "scores.csv").write_text("id,y_pred\na,1\nb,\nc,4\n")
    (folder / "labels.csv").write_text("id,y_true\nc,3\nb,2\na,2\n")
    found = call("eval", "scores.csv", "--task", "regression", *JOINED, "--nan", "skip", "--json")
    assert (found.json["metrics"]["mae"], found.json["labels_left"]) == (1.0, 1)


def test_the_most_frequent_values_are_found_first(call, logs, monkeypatch):
    monkeypatch.setattr("streameval.cli.eval_run._MAX_BYTES", 1)
    done = call("eval", "scores.csv", *BINARY, *JOINED, "--by", "id", "--top", "1")
    assert done.json["metrics"]["roc_auc"] == expected(TRUTH)


@pytest.mark.parametrize("files", ["scores.csv labels.csv", "labels.csv scores.csv"])
def test_refusal_of_two_files_names_the_command_that_joins_them(files, call, logs):
    said = call("eval", *files.split(), *BINARY).err
    command = said.partition("holds the labels, `")[2].partition("` joins them.")[0]
    assert shlex.split(command) == ["streameval", "eval", "scores.csv", *JOINED]


def test_refusal_of_one_name_for_both_names_the_command_too(call, logs):
    logs("target", "target")
    given = ("--y-true", "target", "--y-score", "target")
    said = call("eval", "scores.csv", "labels.csv", *BINARY, *given).err
    assert "`target` cannot be both the truth and the prediction. If labels.csv holds" in said
    assert "`streameval eval scores.csv --labels labels.csv --key id` joins them." in said


@pytest.mark.parametrize("second", ["", "a,b\n1,2\n", '"a,b'])
def test_refusal_of_files_that_share_no_column_names_none(second, call, logs, folder):
    (folder / "second.csv").write_text(second)
    assert "joins them" not in call("eval", "scores.csv", "second.csv", *BINARY).err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--key", "id"], "--key needs --labels."),
        (["--labels", "labels.csv"], "--labels needs --key, the column of ids in both files."),
        ([*JOINED, "--task", "values"], "--labels cannot be used with --task values; it is"),
        (["--labels", "-", "--key", "id"], "standard input can be read only once, and labels are"),
        ([*JOINED, "-o", "labels.csv"], "would overwrite an input"),
        ([*JOINED, "--y-true", "is"], "labels.csv: no column 'is' in the first rows: choose"),
        (["--labels", "labels.csv", "--key", "no"], "labels.csv: no column 'no' in the first rows"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, said, call, logs):
    done = call("eval", "scores.csv", *options)
    assert done.code == 2
    assert said in done.err


def test_predictions_without_the_id_are_refused(call, logs, folder):
    (folder / "scores.csv").write_text("name,y_score\nid001,0.5\n")
    said = call("eval", "scores.csv", *BINARY, *JOINED).err
    assert "no column 'id' in the first rows: choose from name, y_score" in said


def test_last_row_like_a_total_is_told(call, logs, folder):
    rows = "".join(f"{key},{value}\n" for key, value in SCORES.items())
    (folder / "scores.csv").write_text(f"id,y_score\n{rows}Total,\n")
    done = call("eval", "scores.csv", *BINARY, *JOINED)
    assert "It looks like a total; use `--where 'id!=Total'`." in done.err


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("1.0", "1.00"), ("true", "True")])
def test_an_id_that_is_written_in_two_ways_has_one_label(one, other, call, folder):
    labels = [{"id": key, "y_true": 1} for key in (one, other)]
    (folder / "l.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in labels))
    (folder / "p.jsonl").write_text(f'{{"id": "{one}", "y_pred": 1}}\n')
    done = call("eval", "p.jsonl", "--labels", "l.jsonl", "--key", "id")
    assert done.code == 3
    assert f"l.jsonl, line 2: the `id` '{other}' occurs a second time." in done.err
