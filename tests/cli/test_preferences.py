"""`--task preferences`: logs of arenas, their models, and how results and gates name them."""

import random

import pytest

import streameval as se

NAMES = ["gpt-4", "llama", "old", "qwen"]
WINNERS = ["model_a", "model_b", "tie", "tie (bothbad)", "model_a"]


def arena(n=200):
    rng = random.Random(3)
    for at in range(n):
        a, b = rng.sample(NAMES, 2)
        yield {"model_a": a, "model_b": b, "winner": rng.choice(WINNERS), "prompt": at // 4}


ROWS = [row | {"ts": 1_700_000_000 + at, "w": 1 + at % 3} for at, row in enumerate(arena())]


@pytest.fixture
def log(write):
    return write("arena.jsonl", ROWS)


def counted(models, rows=ROWS, **options):
    columns = ([row[name] for row in rows] for name in ("model_a", "model_b", "winner"))
    return se.PreferencesAccumulator(models).update(*columns, **options)


def test_models_are_found_and_the_state_is_that_of_python(call, log):
    found = call("eval", log, "--task", "preferences", "-o", "a.state", "--json")
    expected = counted(NAMES)
    assert se.load("a.state").to_bytes() == expected.to_bytes()
    result = expected.compute()
    assert found.json["per_model"]["llama"]["win_rate"] == result.win_rate["llama"]
    assert found.json["metrics"]["tie_rate"] == result.tie_rate
    shown = call("show", "a.state", "--metrics", "bradley_terry[gpt-4],win_rate[old]", "--json")
    assert shown.json["metrics"]["bradley_terry[gpt-4]"] == result.bradley_terry["gpt-4"]


def test_models_that_are_named_keep_their_order_and_need_one_pass(call, log, monkeypatch, tmp_path):
    order = [*reversed(NAMES), "new"]
    weights = [row["w"] for row in ROWS]
    given = ("--models", ",".join(order), "--sample-weight", "w", "-o", "a.state")
    assert call("eval", log, "--task", "preferences", *given).code == 0
    assert se.load("a.state") == counted(order, sample_weight=weights)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_numbers_and_other_columns_are_read_in_every_format(name, call, write):
    rows = [{"left": 1, "right": 10, "y": 1.0}, {"left": 2, "right": 1, "y": 0.5}]
    given = ("--model-a", "left", "--model-b", "right", "--winner", "y", "-o", "a.state")
    assert call("eval", write(name, rows), "--task", "preferences", *given).code == 0
    expected = se.PreferencesAccumulator([1, 2, 10]).update([1, 2], [10, 1], [1, 0.5])
    assert se.load("a.state") == expected


def test_slices_panes_clusters_and_conditions_have_the_same_models(call, log):
    given = ("eval", log, "--task", "preferences")
    slices = call(*given, "--by", "w", "--json").json["slices"]
    own = counted(NAMES, ROWS[::3]).compute()
    assert {one["value"]: one["metrics"]["tie_rate"] for one in slices}["1"] == own.tie_rate
    windows = call(*given, "--time", "ts", "--unit", "s", "--pane", "60s", "-o", "p.state")
    assert windows.code == 0
    assert se.load("p.state").total() == counted(NAMES)
    clusters = call(*given, "--cluster", "prompt", "--json", "-o", "c.state").json
    assert clusters["clusters"]["column"] == "prompt"
    groups = se.Clustered(se.PreferencesAccumulator(NAMES), by="prompt")
    columns = {name: [row[of] for row in ROWS] for name, of in _ARRAYS.items()}
    groups.update(columns, by=[str(row["prompt"]) for row in ROWS])
    assert se.load("c.state") == groups
    call(*given, "--where", "model_a=old", "--where", "model_b=qwen", "-o", "w.state")
    assert se.load("w.state")._config.labels == ("old", "qwen")


_ARRAYS = {"a": "model_a", "b": "model_b", "outcome": "winner"}


def test_gates_name_a_model(call, log):
    given = ("eval", log, "--task", "preferences", "--require", "win_rate[llama]>=0.9")
    found = call(*given)
    assert found.code == 1
    assert "failed: win_rate[llama]>=0.9" in found.err
    wrong = call("eval", log, "--task", "preferences", "--require", "win_rate[lama]>=0.9")
    assert "no model 'lama': did you mean 'llama'?" in wrong.err


def test_bad_rows_are_named_and_left_out(call, write):
    rows = [*ROWS, ROWS[0] | {"winner": "nobody"}, ROWS[0] | {"model_b": ROWS[0]["model_a"]}]
    log = write("arena.jsonl", [*rows, ROWS[0] | {"winner": None}])
    refused = call("eval", log, "--task", "preferences")
    assert "line 201: `winner` must be 1 if a was preferred" in refused.err
    found = call("eval", log, "--task", "preferences", "--max-bad", "3", "-o", "a.state")
    assert "`model_b` must be another model than a" in found.err
    assert "line 203: `winner` is missing" in found.err
    assert se.load("a.state") == counted(NAMES)


def test_a_log_that_is_read_once_needs_the_models(call, log, monkeypatch):
    refused = call("eval", "-", "--task", "preferences")
    assert refused.code == 2
    assert "standard input can be read only once, and a first pass finds the models" in refused.err


def test_watch_needs_the_models_and_reads_them(call, log):
    given = ("watch", log, "--task", "preferences", "--time", "ts", "--unit", "s", "--pane", "60s")
    refused = call(*given, "--checkpoint", "a.db", "--once")
    assert refused.code == 2
    assert "watch needs --models with --task preferences" in refused.err
    named = ("--models", ",".join(NAMES), "--metrics", "win_rate[old]")
    found = call(*given, *named, "--checkpoint", "b.db", "--once")
    assert found.code == 0
    assert f"{counted(NAMES).compute().win_rate['old']:.4f}" in found.out


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"model_a": "x", "model_b": "x", "winner": 1}], "the rows name one, 'x'"),
        ([{"model_a": None, "model_b": None, "winner": 1}], "the rows name none"),
        ([{"model_a": "x", "model_b": "y"}], "no column 'winner' in the first rows"),
        ([], "holds no rows"),
    ],
)
def test_logs_without_comparisons_are_refused(rows, message, call, write):
    found = call("eval", write("a.jsonl", rows), "--task", "preferences")
    assert found.code in (2, 3)
    assert message in found.err


def test_mistakes_in_models_are_named(call, log):
    found = call("eval", log, "--task", "preferences", "--models", "old")
    assert "--models must be at least 2, got 1" in found.err
    found = call("eval", log, "--task", "preferences", "--models", "old,qwen")
    assert "must hold labels among 'old', 'qwen', got" in found.err
    found = call("eval", log, "--models", "old,qwen")
    assert "--models cannot be used with --task classification; it is for preferences." in found.err
