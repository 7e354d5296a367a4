"""The monitor with labels that come later."""

import random
import re
from collections import Counter

import numpy as np
import pytest
from monitoring.histories import OUT_OF_ORDER, WAIT, History
from monitoring.histories import windowed as history_windowed
from monitoring.memory import Clock, Rows
from profiles import cases
from win_rate import WinRate

import streameval as se
from streameval.monitoring.joining import RecordCodes

START = 1_699_999_980


def prediction(number, second, score=0.5, **more):
    return {"id": number, "ts": START + second, "y_pred": score, **more}


def label(number, second, truth=1, **more):
    return {"id": number, "ts": START + second, "y_true": truth, **more}


def windowed(**options):
    return se.Windowed(se.ConfusionAccumulator(**options), pane="1m", unit="s", keep="1h")


@pytest.fixture
def start(tmp_path):
    """Start a monitor that joins, on the checkpoint of the test."""

    def start(predictions, labels, accumulator=None, **options):
        given = {"time": "ts", "clock": Clock(), "key": "id", "wait": "2m"} | options
        return se.Monitor(
            tmp_path / "ck.db",
            accumulator or windowed(),
            predictions=predictions,
            labels=labels,
            **given,
        )

    return start


def sources(*, predictions=(), labels=()):
    return Rows("predictions", a=predictions), Rows("labels", b=labels)


def test_labels_are_joined_by_id(start):
    both = sources(
        predictions=[prediction("a", 0, 0.9), prediction("b", 1, 0.1)],
        labels=[label("b", 30, 0), label("a", 40, 0)],
    )
    with start(*both) as monitor:
        step = monitor.step()
        assert (step.n_rows, step.n_labels) == (2, 2)
        assert monitor.windowed.total().compute().accuracy == 0.5
        assert monitor.status().counters == {"labels": 2, "joined": 2}
        assert monitor.status().n_pending == 0


def test_pending_rows_outlive_the_monitor(start):
    predictions, labels = sources(
        predictions=[prediction("a", 0), prediction("b", 1)], labels=[label("b", 30)]
    )
    with start(predictions, labels) as monitor:
        monitor.step()
        assert (monitor.status().n_pending, monitor.windowed.n) == (1, 1)
    labels.add("b", label("a", 50))
    with start(predictions, labels) as monitor:
        assert monitor.status().n_pending == 1
        monitor.step()
        assert (monitor.status().n_pending, monitor.windowed.n) == (0, 2)


def test_monitor_waits_for_the_first_label(start):
    predictions, labels = sources(predictions=[prediction("a", 0)])
    with start(predictions, labels) as monitor:
        assert monitor.step().n_rows == 0
        labels.add("b", label("a", 3))
        assert monitor.step().n_rows == 1


def test_prediction_without_a_label_is_a_row_without_one(start):
    predictions, labels = sources(
        predictions=[prediction("a", 0), prediction("z", 300)], labels=[label("z", 301)]
    )
    with start(predictions, labels) as monitor:
        (pane,) = monitor.step().closed
        assert (pane.n_rows, pane.n_labelled) == (1, 0)
        assert monitor.status().counters["unlabelled"] == 1


@pytest.mark.parametrize("unlabelled", [0, "0"])
def test_prediction_without_a_label_may_get_one(start, unlabelled):
    predictions, labels = sources(
        predictions=[prediction("a", 0, 0.9), prediction("z", 300)], labels=[label("z", 301)]
    )
    with start(predictions, labels, unlabelled=unlabelled) as monitor:
        (pane,) = monitor.step().closed
        assert pane.accumulator.compute().fp == 1


def test_stalled_labels_end_no_wait(start):
    predictions, labels = sources(
        predictions=[prediction("a", 0), prediction("z", 3000)], labels=[label("x", 5)]
    )
    clock = Clock()
    with start(predictions, labels, clock=clock) as monitor:
        monitor.step()
        clock.now += 10**6
        assert monitor.step().closed == ()
        assert monitor.status().n_pending == 2


def test_silent_file_of_labels_is_let_go_if_asked_to(start):
    predictions = Rows("predictions", a=[prediction("a", 0), prediction("z", 3000)])
    labels = Rows("labels", old=[label("x", 5)], new=[label("y", 3000)])
    clock = Clock()
    with start(predictions, labels, clock=clock, label_idle_after="1m") as monitor:
        assert monitor.step().closed == ()
        clock.now += 61
        assert len(monitor.step().closed) == 1


def test_declared_file_of_labels_is_awaited(start):
    predictions, labels = sources(
        predictions=[prediction("a", 0), prediction("z", 3000)], labels=[label("z", 3000)]
    )
    labels.partitions = ["b", "c"]
    with start(predictions, labels) as monitor:
        assert monitor.step().closed == ()
        labels.add("c", label("a", 10), label("y", 3000))
        assert len(monitor.step().closed) == 1
        assert monitor.windowed.n == 2


def test_labels_may_settle(start):
    predictions, labels = sources(
        predictions=[prediction("a", 0, 0.9), prediction("z", 300)],
        labels=[label("a", 10, 1), label("a", 20, 0), label("z", 310)],
    )
    with start(predictions, labels, settle="30s") as monitor:
        monitor.step()
        assert monitor.windowed.total().compute().fp == 1
        assert monitor.status().counters["corrected"] == 1


def test_labels_may_have_a_time_column_of_their_own(start):
    predictions = Rows("predictions", a=[prediction("a", 0)])
    labels = Rows("labels", b=[{"id": "a", "at": START + 3, "y_true": 1}])
    with start(predictions, labels, label_time="at") as monitor:
        monitor.step()
        assert monitor.windowed.n == 1


def test_ids_may_be_numbers_or_text(start):
    both = sources(
        predictions=[prediction(7, 0), prediction("é", 1)],
        labels=[label("7", 3), label("é", 4)],
    )
    with start(*both) as monitor:
        monitor.step()
        assert monitor.windowed.n == 2


@pytest.mark.parametrize(
    ("predictions", "labels", "said"),
    [
        ([prediction(None, 1)], [], "predictions/a, line 2: `id` is missing"),
        ([prediction("", 1)], [], "predictions/a, line 2: `id` must be an id"),
        ([prediction("x" * 300, 1)], [], "`id` must be an id: an integer, or text of at most 256"),
        ([prediction("\ud800", 1)], [], "predictions/a, line 2: `id` must be an id"),
        ([prediction("b", 1, score=1.5)], [], "predictions/a, line 2: `y_pred` must lie in"),
        (
            [prediction("b", 5000), prediction("c", 2)],
            [],
            "predictions/a, line 2: lies in the future",
        ),
        ([], [label("b", 1, truth=3)], "labels/b, line 2: `y_true` must"),
        ([], [label("b", 1, truth=None)], "labels/b, line 2: `y_true` is missing"),
        ([], [label("b", 5000), label("c", 4)], "labels/b, line 2: lies in the future"),
    ],
)
def test_rows_that_could_not_be_counted_are_named_when_screened(start, predictions, labels, said):
    both = sources(predictions=[prediction("a", 0), *predictions], labels=[label("a", 3), *labels])
    with start(*both, max_bad=1) as monitor:
        (note,) = monitor.step().notes
        assert said in note
        assert (monitor.windowed.n, monitor.status().n_bad) == (1, 1)


def test_text_of_labels_slices_and_scores_survives_a_restart(start):
    inner = se.Sliced(se.ConfusionAccumulator(classes=["cat", "dog"]), "country", values=["DE"])
    accumulator = se.Windowed(inner, pane="1m", unit="s")
    rows = [
        prediction("a", 0, "cat", country="DE"),
        prediction("b", 1, "dog", country=None),
        prediction("c", 2, "dog", country="FR"),
    ]
    predictions, labels = sources(predictions=rows, labels=[label("a", 3, "cat")])
    with start(predictions, labels, accumulator) as monitor:
        monitor.step()
    labels.add("b", label("b", 4, "cat"), label("c", 5, "dog"))
    with start(predictions, labels, accumulator) as monitor:
        monitor.step()
        found = monitor.windowed
    expected = accumulator.copy().update(
        {
            "time": [START, START + 1, START + 2],
            "y_true": ["cat", "cat", "dog"],
            "y_pred": ["cat", "dog", "dog"],
            "country": ["DE", None, "FR"],
        }
    )
    assert found.to_bytes() == expected.to_bytes()


def test_lists_of_scores_and_labels_are_joined(start):
    accumulator = se.Windowed(
        se.ConfusionAccumulator(classes=3, multilabel=True), pane="1m", unit="s"
    )
    predictions, labels = sources(
        predictions=[prediction("a", 0, [0.9, 0.1, 0.8]), prediction("z", 400, [0.1, 0.1, 0.1])],
        labels=[label("a", 3, [1, 0, 0]), label("y", 400, [0, 0, 0])],
    )
    with start(predictions, labels, accumulator) as monitor:
        monitor.step()
        assert monitor.windowed.total().compute().tp.tolist() == [1, 0, 0]


def test_numbers_are_joined(start):
    accumulator = se.Windowed(se.RegressionAccumulator(), pane="1m", unit="s")
    both = sources(
        predictions=[prediction("a", 0, 1.5)], labels=[label("a", 3, 1.25), label("y", 400, 0.0)]
    )
    with start(*both, accumulator) as monitor:
        monitor.step()
        assert monitor.windowed.total().compute().mae == 0.25


def test_several_truths_are_joined(start):
    members = {"cm": se.ConfusionAccumulator(), "price": se.RegressionAccumulator()}
    columns = {"price": {"y_true": "cost", "y_pred": "guess"}}
    accumulator = se.Windowed(se.Collection(members, columns=columns), pane="1m", unit="s")
    both = sources(
        predictions=[prediction("a", 0, 0.9, guess=1.5)],
        labels=[label("a", 3, cost=2.0), label("y", 400, cost=0.0)],
    )
    with start(*both, accumulator) as monitor:
        monitor.step()
        assert monitor.windowed.total().compute().as_dict()["price/mae"] == 0.5


def test_panes_of_steps_are_joined(start):
    accumulator = se.Windowed(se.ConfusionAccumulator(), pane=10)
    both = sources(predictions=[prediction("a", 0)], labels=[label("a", 3)])
    with start(*both, accumulator, wait=5) as monitor:
        monitor.step()
        assert monitor.windowed.n == 1


def test_predictions_are_not_read_while_too_many_are_waiting(start):
    rows = [prediction(str(at), at) for at in range(60)]
    predictions, labels = sources(predictions=rows, labels=[label("x", 0)])
    options = {"max_pending": 5, "read_bytes": 1, "wait": "1s"}
    with start(predictions, labels, **options) as monitor:
        monitor.step()
        assert monitor.status().is_full
        assert monitor.status().n_rows == 5
        labels.add("b", *[label(str(at), at) for at in range(60)])
        monitor.step()
        assert monitor.status().n_rows == 60
        assert not monitor.status().is_full


def test_labels_are_not_read_while_too_many_are_waiting(start):
    predictions, labels = sources(
        predictions=[prediction("x", 100)], labels=[label(str(at), at) for at in range(60)]
    )
    with start(predictions, labels, max_pending=5, read_bytes=1, wait="10m") as monitor:
        assert monitor.step().n_labels == 5
        assert monitor.step().n_labels == 0


def test_more_predictions_within_a_wait_than_may_wait_are_an_error(start):
    rows = [prediction(str(at), at) for at in range(60)]
    both = sources(predictions=rows, labels=[label(str(at), at) for at in range(60)])
    refused = pytest.raises(se.BadDataError, match=r"5 predictions are waiting, .* must be larger")
    with start(*both, max_pending=5, read_bytes=1) as monitor, refused:
        list(monitor.run())
    with start(*both, max_pending=500) as monitor:
        monitor.step()
        assert monitor.windowed.n == 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unlabelled": "no"}, "`unlabelled` must be .*got 'no'"),
        ({"settle": "-1s"}, "`settle` must be at least 0s"),
    ],
)
def test_wrong_options_of_the_join_are_refused(start, options, message):
    both = sources(predictions=[prediction("a", 0)], labels=[label("a", 3)])
    with pytest.raises(se.InvalidInputError, match=message), start(*both, **options) as monitor:
        monitor.step()


def test_label_of_the_unlabelled_needs_one_truth(start):
    accumulator = se.Windowed(
        se.ConfusionAccumulator(classes=2, multilabel=True), pane="1m", unit="s"
    )
    both = sources(predictions=[prediction("a", 0, [0.1, 0.2])], labels=[label("a", 3, [0, 1])])
    refused = pytest.raises(se.InvalidInputError, match="`unlabelled` must be a list")
    with start(*both, accumulator, unlabelled="1") as monitor, refused:
        monitor.step()
    with start(*both, accumulator, unlabelled=[0, 1]) as monitor:
        monitor.step()


def test_first_rows_without_a_label_are_named(start):
    both = sources(predictions=[prediction("a", 0)], labels=[label("a", 3, None)])
    with (
        start(*both, max_bad=5) as monitor,
        pytest.raises(se.BadDataError, match=r"none of the first labels can be read; .*y_true"),
    ):
        monitor.step()


def test_tables_of_text_are_joined(start, tmp_path):
    inner = se.Sliced(se.ConfusionAccumulator(), "shop", values=[1, "x"])
    predictions, labels = tmp_path / "p.csv", tmp_path / "l.csv"
    predictions.write_text(
        f"id,ts,y_pred,shop\n7,{START},0.9,1\n8,{START + 1},0.9,x\n9,{START + 2},0.9,\n"
    )
    labels.write_text(f"id,ts,y_true\n7,{START + 3},1\n8,{START + 4},0\n9,{START + 5},1\n")
    with start(str(predictions), str(labels), se.Windowed(inner, pane="1m", unit="s")) as monitor:
        monitor.step()
        total = monitor.windowed.total()
    assert (total[1].compute().tp, total["x"].compute().fp, total[None].n) == (1, 1, 1)


def test_values_that_were_seen_before_get_no_new_code():
    coder = RecordCodes(["DE", ["a", 1]])
    assert coder.encode(["DE", ("a", 1)]).tolist() == [0, 1]
    assert coder.added == []
    assert coder.encode([None, "DE", None]).tolist() == [2, 0, 2]
    assert (coder.added, coder.decode(np.array([2, 1]))) == ([None], [None, ("a", 1)])


def test_joined_rows_that_cannot_be_counted_stop_the_monitor(start, monkeypatch):
    both = sources(predictions=[prediction("a", 0)], labels=[label("a", 3)])

    def refuse(self, batch):
        raise se.CountOverflowError("too many")

    refused = pytest.raises(se.BadDataError, match="joined rows cannot be counted: too many")
    with start(*both) as monitor, refused:
        monkeypatch.setattr(se.Windowed, "update", refuse)
        monitor.step()


def test_several_truths_have_no_label_for_the_unlabelled(start):
    members = {"cm": se.ConfusionAccumulator(), "price": se.RegressionAccumulator()}
    columns = {"price": {"y_true": "cost", "y_pred": "guess"}}
    accumulator = se.Windowed(se.Collection(members, columns=columns), pane="1m", unit="s")
    both = sources(predictions=[prediction("a", 0, guess=1.5)], labels=[label("a", 3, cost=2.0)])
    refused = pytest.raises(se.InvalidInputError, match="`unlabelled` cannot be one label")
    with start(*both, accumulator, unlabelled=0) as monitor, refused:
        monitor.step()


def test_what_needs_no_truth_cannot_be_joined(start):
    accumulator = se.Windowed(WinRate(), pane="1m", unit="s")
    both = sources(
        predictions=[{"id": "a", "ts": START, "preference": "a"}], labels=[label("a", 3)]
    )
    refused = pytest.raises(se.InvalidInputError, match="`accumulator` is counted without labels")
    with start(*both, accumulator) as monitor, refused:
        monitor.step()


@pytest.mark.parametrize(("name", "is_said"), [("order-{}", True), ("{}", False)])
def test_labels_that_meet_no_prediction_at_all_are_warned_of_once(start, name, is_said):
    both = sources(
        predictions=[prediction(str(at), at) for at in range(400)],
        labels=[label(name.format(at), at + 1) for at in range(400)],
    )
    with start(*both, commit_bytes=1000, read_bytes=1000) as monitor:
        notes = []
        while not (step := monitor.step()).is_idle:
            notes += step.notes
    assert len(notes) == is_said
    pattern = "no label matches a prediction by `id`: [0-9]+ labels .* 'order-[0-9]+', and 10[0-9]"
    assert all(re.match(pattern, note) for note in notes)


@pytest.mark.parametrize("seed", range(cases(120, least=4)))
def test_shards_merge_to_what_one_monitor_counts(seed, tmp_path):
    rng, history = random.Random(seed), History.draw(seed, size=300)
    count = rng.choice([1, 2, 5])
    shards = [None, *(f"{number}/{count}" for number in range(1, count + 1))]
    options = {  # with the first of each, lateness decides which rows are counted
        "settle": rng.choice(["20s", None]),
        "wait": rng.choice(["30s", f"{WAIT}s"]),
        "out_of_order": rng.choice(["0s", f"{OUT_OF_ORDER}s"]),
    }
    found = [
        sharded(history, shard, tmp_path / f"{number}.db", rng, **options)
        for number, shard in enumerate(shards)
    ]
    (whole, counters), *parts = found
    assert se.merge([part for part, _ in parts]).to_bytes() == whole.to_bytes()
    assert sum((Counter(of) for _, of in parts), Counter()) == Counter(counters)
    assert count == 1 or max(of["rows"] for _, of in parts) < counters["rows"]


def sharded(history, shard, checkpoint, rng, **options):
    """Join one part of a history, cut and begun again at random."""
    logs = {"predictions": history.predictions, "labels": history.labels}
    parts = {
        role: Rows(role, a=rows[: len(rows) // 3], b=[*rows[len(rows) // 3 :], rows[-1]])
        for role, rows in logs.items()
    }
    for source in parts.values():
        source.partitions = ("a", "b")
    is_idle = False
    while not is_idle:
        limit = rng.choice([200, 3000, 10**6])
        with se.Monitor(
            checkpoint,
            history_windowed(),
            shard=shard,
            clock=Clock(),
            time="ts",
            key="id",
            **parts,
            **options,
            read_bytes=limit,
            commit_bytes=limit,
        ) as monitor:
            is_idle = [monitor.step() for _ in range(20)][-1].is_idle
            status, windowed = monitor.status(), monitor.windowed
    return windowed, {**status.counters, "rows": status.n_rows}


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/2/3", 1, "1/0"])
def test_shard_that_is_none_is_refused(start, shard):
    with pytest.raises(
        se.InvalidInputError, match=r'`shard` must be like "1/4", the first of four'
    ):
        start(*sources(), shard=shard)


def test_shard_belongs_to_its_checkpoint(start):
    both = sources(predictions=[prediction("a", 0)], labels=[label("a", 1)])
    with start(*both, shard="1/2") as monitor:
        monitor.step()
    with pytest.raises(se.IncompatibleStateError, match=r"`shard` differs \(.1/2. then, null"):
        start(*both)
