"""`streameval watch`: the command, what it prints, and how it ends."""

import gc
import gzip
import io
import json
import os
import re
import signal
import sqlite3
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from monitoring.fake_kafka import Kafka as KafkaServer
from monitoring.fake_redis import Redis as RedisServer
from older_panes import without_unlabelled

from streameval.cli import watch as watch_command
from streameval.monitoring.checkpoint import read_checkpoint
from streameval.monitoring.monitor import Monitor

START = 1_699_999_980
MIDNIGHT = 1_700_006_400 - START
LINES = Path("w.jsonl")
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
PANES = ("--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "1h")


def row(second, truth=1, score=0.75, **more):
    return {"ts": START + second, "y_true": truth, "y_score": score, **more}


def write(path, rows, mode="w"):
    with path.open(mode) as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)
    return path


@pytest.fixture
def log(folder):
    return write(
        folder / "log.jsonl",
        [row(at, at % 2, (at % 10) / 10, country="DE" if at % 3 else "FR") for at in range(150)],
    )


@pytest.fixture
def watch(call):
    def watch(*arguments):
        given = ("--task", "binary", *PANES, "--checkpoint", "ck.db")
        return call("watch", *arguments, *given)

    return watch


def test_once_counts_what_is_there_and_shows_it(watch, log):
    done = watch(log, "--once", "--windows", "2m")
    assert (done.code, done.err) == (0, "")
    assert "1m to 2023-11-14T22:15" in done.out
    assert "2m to 2023-11-14T22:15" in done.out
    assert "150 rows, 1 open pane, " in done.out


def test_spaces_around_the_cells_of_a_header_mean_nothing(watch, folder):
    rows = [row(at, at % 2, (at % 10) / 10) for at in range(150)]
    lines = [", ".join(rows[0]), *(", ".join(map(str, one.values())) for one in rows)]
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    assert "150 rows, 1 open pane, " in watch("log.csv", "--once").out
    with (folder / "log.csv").open("a") as file:
        file.write(f"{lines[-1]}\n")
    assert "151 rows, 1 open pane, " in watch("log.csv", "--once").out


def test_once_tells_what_is_ahead_of_the_clock(watch, folder):
    begin = int(time.time()) - START + 7200
    write(folder / "log.jsonl", [row(begin + at) for at in range(0, 600, 10)])
    done = watch("log.jsonl", "--once")
    assert done.code == 3
    assert "warning: rows up to " in done.err
    assert "are ahead of the clock of this machine and were not read" in done.err
    assert done.out == "no rows yet, waiting for the clock\n"
    done = watch("log.jsonl", "--once", "--quiet")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    done = watch("log.jsonl", "--once", "--max-ahead", "3h")
    assert (done.code, done.err) == (0, "")
    assert "60 rows, " in done.out
    write(folder / "log.jsonl", [row(begin + at) for at in range(600, 700, 10)], "a")
    done = watch("log.jsonl", "--once")
    assert done.code == 3
    assert "60 rows, " in done.out
    assert done.out.endswith(", waiting for the clock\n")


def messages(rows):
    return [json.dumps(row).encode() for row in rows]


def test_topics_and_streams_are_watched(watch, folder, monkeypatch):
    (folder / "client.properties").write_text("security.protocol=SSL\n")
    rows = [row(at, None, 0.75, id=at) for at in range(150)]
    kafka = KafkaServer({0: messages(rows[::2]), 1: messages(rows[1::2])}).install(monkeypatch)
    redis = RedisServer().install(monkeypatch)
    redis.add(*({"id": one["id"], "ts": one["ts"], "y_true": 1} for one in rows))
    done = watch(
        *("kafka://broker/clicks", "--kafka-config", "client.properties"),
        *("--labels", "redis://server/0/labels", "--key", "id", "--wait", "10s"),
        *("--out-of-order", "5s", "--once"),
    )
    assert (done.code, done.err) == (0, "")
    assert "150 rows" in done.out
    assert kafka.configs[-1]["security.protocol"] == "SSL"
    assert kafka.n_open == 0


def test_once_gives_up_on_a_server_that_does_not_answer(watch, folder, monkeypatch):
    monkeypatch.setattr(watch_command, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr("streameval.monitoring.kafka._PATIENCE", 0.0)
    rows = messages([row(at) for at in range(150)])
    KafkaServer({0: rows}, tells_ends=False).install(monkeypatch)
    done = watch("kafka://broker/clicks", "--once")
    assert done.code == 5
    assert "error: a server does not answer; what was read before is committed." in done.err


def test_lost_rows_are_in_the_footer(watch, folder, monkeypatch):
    redis = RedisServer().install(monkeypatch)
    redis.add(*(row(at) for at in range(10)))
    watch("redis://server/0/clicks", "--once")
    redis.add(*(row(at) for at in range(10, 20)))
    redis.trim(4)
    done = watch("redis://server/0/clicks", "--once")
    assert "6 entries after 10-0 were trimmed before they were read" in done.err
    assert ", 6 lost rows\n" in done.out


@pytest.mark.parametrize(
    ("url", "extra"), [("kafka://broker/clicks", "kafka"), ("redis://server/0/clicks", "redis")]
)
def test_missing_client_names_the_extra(url, extra, watch, monkeypatch):
    for name in ("confluent_kafka", "redis"):
        monkeypatch.setitem(sys.modules, name, None)
    done = watch(url, "--once")
    assert done.code == 2
    assert f'is missing: pip install "streameval[{extra}]".' in done.err


def test_once_goes_on_where_it_ended(watch, log):
    watch(log, "--once")
    write(log, [row(160)], "a")
    assert "151 rows" in watch(log, "--once").out


def test_once_says_that_there_are_no_rows(watch, folder):
    write(folder / "log.jsonl", [])
    done = watch("log.jsonl", "--once")
    assert (done.code, done.out) == (0, "no rows yet\n")


@pytest.mark.parametrize("pattern", ["none.jsonl", "none-*.jsonl"])
def test_once_refuses_a_pattern_that_matches_nothing(pattern, watch, call, log):
    done = watch("log.jsonl", pattern, "--once")
    assert (done.code, done.err) == (
        3,
        f"streameval: error: {pattern}: no such file or directory.\n",
    )
    assert "150 rows" in done.out  # what is there has been counted
    assert call("eval", "--task", "binary", "none.jsonl").code == done.code


def test_a_folder_may_come_after_the_start(watch, folder, log):
    done = watch("parts/", "--once")
    assert (done.code, done.out) == (3, "no rows yet\n")
    assert done.err == (
        "streameval: warning: parts/: there is no such folder so far.\n"
        "streameval: error: parts/: no such file or directory.\n"
    )
    (folder / "parts").mkdir()
    log.rename(folder / "parts" / "log.jsonl")
    assert "150 rows" in watch("parts/", "--once").out


JOIN = ("--labels", "l.jsonl", "--key", "id", "--wait", "1m", "--once")


def test_once_shows_the_predictions_that_wait_for_the_first_label(watch, folder):
    write(folder / "p.jsonl", [row(at, id=at) for at in range(200)])
    write(folder / "l.jsonl", [])
    done = watch("p.jsonl", *JOIN)
    assert (done.code, done.out) == (0, "200 rows, 200 pending, no label yet\n")
    warned = "streameval: warning: l.jsonl: has no rows yet; predictions wait for the first label\n"
    assert done.err == warned
    (folder / "l.jsonl").unlink()
    done = watch("p.jsonl", *JOIN)
    assert (done.code, done.out) == (3, "200 rows, 200 pending, no label yet\n")
    assert done.err.startswith(warned)
    assert done.err.endswith("streameval: error: l.jsonl: no such file or directory.\n")


def test_once_shows_the_labels_that_wait_for_the_first_prediction(watch, folder):
    write(folder / "p.jsonl", [])
    write(folder / "l.jsonl", [row(at, id=at) for at in range(20)])
    done = watch("p.jsonl", *JOIN)
    assert (done.code, done.out) == (0, "no rows yet, 20 labels\n")


@pytest.mark.slow
def test_alert_on_silence_fires_before_the_first_row(watch, folder):
    write(folder / "log.jsonl", [])
    silence = ("--once", "--alerts", "no data for 1s")
    done = watch("log.jsonl", *silence)
    assert (done.code, done.err) == (0, "")
    time.sleep(1.1)
    done = watch("log.jsonl", *silence)
    assert (done.code, done.err) == (1, "streameval: alert: no data for 1s is firing\n")
    assert done.out.startswith("firing: no data for 1s since 20")


def test_once_shows_the_newest_pane_while_none_is_mature(watch, folder):
    write(folder / "log.jsonl", [row(0)])
    assert "1m to 2023-11-14T22:14" in watch("log.jsonl", "--once").out


def test_committed_state_is_that_of_eval(watch, call, log):
    by = ("--by", "country=DE,IT")
    watch(log, "--once", "--quiet", *by)
    call("merge", "ck.db", "-o", "watched.state")
    call("eval", log, "--task", "binary", *PANES, *by, "-o", "counted.state")
    assert Path("watched.state").read_bytes() == Path("counted.state").read_bytes()


def test_committed_state_of_a_join_is_that_of_the_joined_table(watch, call, folder):
    rows = [row(at, at % 3 // 2, (at % 7) / 7) for at in range(150)]
    predictions = [
        {"id": f"id{at}", "ts": one["ts"], "y_score": one["y_score"]} for at, one in enumerate(rows)
    ]
    labels = [
        {"id": f"id{at}", "ts": one["ts"] + at % 50, "y_true": one["y_true"]}
        for at, one in enumerate(rows)
    ]
    write(folder / "p.jsonl", predictions)
    write(folder / "l.jsonl", sorted(labels, key=lambda label: label["ts"]))
    join = ("--labels", "l.jsonl", "--key", "id", "--wait", "1m")
    done = watch("p.jsonl", *join, "--once", "--commit-bytes", "1000")
    assert done.code == 0
    call("merge", "ck.db", "-o", "watched.state")
    call("eval", write(folder / "j.jsonl", rows), "--task", "binary", *PANES, "-o", "c.state")
    assert Path("watched.state").read_bytes() == Path("c.state").read_bytes()


def test_pending_and_unlabelled_rows_are_shown(watch, folder):
    write(
        folder / "p.jsonl", [{"id": at, "ts": START + 40 * at, "y_score": 0.5} for at in range(9)]
    )
    write(
        folder / "l.jsonl",
        [{"id": 1, "ts": START + 40, "y_true": 1}, {"id": "x", "ts": START + 400, "y_true": 1}],
    )
    done = watch("p.jsonl", "--labels", "l.jsonl", "--key", "id", "--wait", "1m", "--once")
    assert "9 rows, 2 pending, 14.3% labelled" in done.out


def test_labels_that_meet_no_prediction_are_shown(watch, folder):
    ids = [0, 0, *range(1, 9)]
    write(folder / "p.jsonl", [{"id": at, "ts": START + 40 * at, "y_score": 0.5} for at in ids])
    labels = [
        *[{"id": at, "ts": START + 40, "y_true": 1} for at in (0, 1, 1, "x", "y")],
        {"id": 1, "ts": START + 40, "y_true": 0},
        *[{"id": f"z{at}", "ts": START + 400, "y_true": 1} for at in range(8)],
    ]
    write(folder / "l.jsonl", labels)
    done = watch("p.jsonl", "--labels", "l.jsonl", "--key", "id", "--wait", "1m", "--once")
    assert " ".join(done.out.split()).endswith(
        ", 1 duplicate prediction, 1 duplicate label, 1 conflicting label, "
        "2 labels without a prediction"
    )


def test_json_of_a_checkpoint_tells_what_became_of_rows_and_labels(watch, call, folder):
    write(folder / "p.jsonl", [{"id": at, "ts": START + 40 * at, "y_score": 0.5} for at in (0, 1)])
    labels = [{"id": at, "ts": START + 40, "y_true": 1} for at in (0, 1, 1)]
    write(folder / "l.jsonl", labels)
    watch("p.jsonl", "--labels", "l.jsonl", "--key", "id", "--wait", "1m", "--once")
    told = json.loads(call("show", "ck.db", "--json").out)["monitor"]
    assert [told[name] for name in ("commit", "n_rows", "n_counted", "n_labelled")] == [1, 2, 2, 2]
    assert told["counters"] == {"labels": 3, "joined": 2, "duplicate_label": 1}


def test_json_of_a_state_tells_of_no_monitor(watch, call, log):
    watch(log, "--once")
    call("merge", "ck.db", "-o", "all.state")
    assert "monitor" not in json.loads(call("show", "all.state", "--json").out)


def test_long_lag_is_told_in_days(watch, log):
    assert re.search(r", [0-9,]+ d behind\n", watch(log, "--once").out)


def test_midnight_is_written_as_other_starts_are(watch, folder, monkeypatch):
    write(folder / "log.jsonl", [row(MIDNIGHT + at) for at in (-60, 0, 60)])
    ended_after(monkeypatch, 2, Monitor.stop)
    starts = [line.split()[0] for line in watch("log.jsonl").out.splitlines()]
    assert starts == ["2023-11-14T23:59", "2023-11-15T00:00"]


def test_midnight_is_written_as_other_ends_are(watch, folder):
    write(folder / "log.jsonl", [row(MIDNIGHT - 60)])
    assert "1m to 2023-11-15T00:00" in watch("log.jsonl", "--once").out


def logged(done):
    return [
        (line.pop("level"), line.pop("message"), line.pop("event", {}).get("state"))
        for line in map(json.loads, done.err.splitlines())
        if re.match(TIME, line.pop("time") + " ")
        and not line.keys() - {"level", "message", "event"}
    ]


def test_log_is_json_lines_of_all_that_happens(watch, log, monkeypatch):
    def end(monitor):
        Path("ck.db").unlink()

    def rotate(monitor):
        log.rename("log.jsonl.1")
        write(log, ["no row"])
        ended_after(monkeypatch, 3, end)

    ended_after(monkeypatch, 1, rotate)
    refusing = "sh -c 'echo why; sleep 0.1; exit 3'"
    alerts = ("--alerts", "roc_auc < 0.99, n >= 1", "--on-alert", refusing)
    done = watch("log.jsonl", "--log-format", "json", *alerts)
    lines = logged(done)
    assert len(lines) == len(done.err.splitlines())
    for level, text, state in (
        ("info", "log.jsonl: found", None),
        ("info", "log.jsonl: found, after a rotation", None),
        ("alert", "roc_auc < 0.99, n >= 1 is firing", "firing"),
        ("warning", "log.jsonl, line 1: not an object", None),
        ("info", "on-alert: sh: why", None),
        ("error", "on-alert: sh ended with the exit status 3; event ", None),
    ):
        assert [one for one in lines if one[1].startswith(text) and one[::2] == (level, state)]
    assert (done.code, lines[-1][0], "ck.db" in lines[-1][1]) == (3, "error", True)


def test_log_says_where_a_restart_continues(watch, log, monkeypatch):
    watch(log, "--once")
    ended_after(monkeypatch, 1, Monitor.stop)
    assert re.search(TIME + "streameval: info: ck.db: continues from commit 1", watch(log).err)


def test_usage_errors_are_no_lines_of_a_log_unless_asked(call):
    assert call("watch", "l.jsonl").err.startswith("streameval: error: watch needs --checkpoint")
    done = call("watch", "l.jsonl", "--log-format", "json")
    assert (done.code, json.loads(done.err)["level"]) == (2, "error")


@pytest.mark.slow
def test_other_commands_take_checkpoints(watch, call, log, folder):
    watch(log, "--once")
    assert call("show", "ck.db", "--json").json["n_rows"] == 150
    assert call("report", "ck.db", "-o", "page.html").code == 0
    assert call("diff", "ck.db", "ck.db", "--window", "1m").code == 0
    assert call("plot", "ck.db", "-o", "picture.svg").code == 0


def test_lines_out_are_those_of_closed_panes(watch, log):
    watch(log, "--once", "--output", "w.jsonl", "--metrics", "roc_auc")
    lines = [json.loads(line) for line in LINES.read_text().splitlines()]
    assert [line["start"] for line in lines] == [
        "2023-11-14T22:13:00.000000Z",
        "2023-11-14T22:14:00.000000Z",
    ]
    assert (lines[0]["rows"], lines[0]["revised"], [*lines[0]["metrics"]]) == (
        60,
        False,
        ["roc_auc"],
    )


def test_lines_out_have_the_rows_of_each_slice(watch, folder):
    truths = [1, None, 1, None]
    rows = [row(0, truth, country="DE") for truth in (*truths, None)]
    rows += [row(0, truth, country=value) for value in "ABC" for truth in truths]
    path = write(folder / "log.jsonl", [*rows, row(60, country="DE")])
    watch(path, "--once", "--output", "w.jsonl", "--by", "country=DE")
    (line,) = map(json.loads, LINES.read_text().splitlines())
    (of_de,) = line["slices"]
    assert (of_de["value"], of_de["rows"], of_de["labelled"]) == ("DE", 5, 2)
    assert (line["other"]["rows"], line["other"]["labelled"]) == (12, 6)


def test_garbage_is_collected_in_time(watch, log):
    """A script raises the limit, as it ends soon; 500 steps held 100 MB of panes in cycles."""
    before = gc.get_threshold()
    try:
        gc.set_threshold(100_000)
        watch(log, "--once")
        assert gc.get_threshold()[0] == 10_000
    finally:
        gc.set_threshold(*before)


def test_a_rule_that_sees_no_slice_is_told_at_each_start(watch, log):
    write(log, [row(at, country="DE") for at in (30, 90)], "a")
    for _ in range(2):
        done = watch(log, "--once", "--by", "country", "--alerts", "roc_auc < 0.5 for 1 pane")
        assert "warning: the rule 'roc_auc < 0.5 for 1 pane' looks at no slice" in done.err


def test_lines_out_lack_the_rows_of_slices_that_an_older_release_has_counted(watch, log):
    write(log, [row(at, None, country="DE") for at in (30, 90, 149)], "a")
    watch(log, "--once", "--output", "w.jsonl", "--by", "country")
    older = without_unlabelled(read_checkpoint("ck.db").windowed)
    with sqlite3.connect("ck.db") as base:  # as version 1 was
        base.execute("UPDATE piece SET data = ?", (older,))
        base.execute("PRAGMA user_version = 1")
    write(log, [row(200, country="DE")], "a")
    watch(log, "--once", "--output", "w.jsonl", "--by", "country")
    lines = [json.loads(line) for line in LINES.read_text().splitlines()]
    has_rows = [["rows" in one for one in line["slices"]] for line in lines]
    assert has_rows == [[True, True], [True, True], [False, False]]


def test_lines_out_that_were_not_committed_are_cut_off(watch, log):
    watch(log, "--once", "--output", "w.jsonl")
    committed = LINES.read_text()
    LINES.write_text(committed + '{"start": "of a commit that never was"}\n{"cut')
    write(log, [row(200)], "a")
    watch(log, "--once", "--output", "w.jsonl")
    lines = LINES.read_text()
    assert lines.startswith(committed)
    assert lines.count("\n") == 3


def test_lines_out_before_the_first_commit_are_cut_off(watch, log, monkeypatch):
    def die(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("streameval.monitoring.checkpoint.Checkpoint.commit", die)
        assert watch(log, "--once", "--output", "w.jsonl").code == 3
    assert LINES.read_text()
    watch(log, "--once", "--output", "w.jsonl")
    assert LINES.read_text().count("\n") == 2


def test_file_out_of_something_else_is_refused(watch, log, folder):
    (folder / "w.jsonl").write_text("mine\n")
    done = watch(log, "--once", "--output", "w.jsonl")
    assert done.code == 3
    assert "w.jsonl: exists and does not belong to this checkpoint" in done.err
    assert (folder / "w.jsonl").read_text() == "mine\n"


def test_file_out_that_has_shrunk_is_refused(watch, log, folder):
    watch(log, "--once", "--output", "w.jsonl")
    (folder / "w.jsonl").write_text("")
    done = watch(log, "--once", "--output", "w.jsonl")
    assert (done.code, "w.jsonl: is shorter than what was committed" in done.err) == (3, True)


def test_file_out_that_cannot_be_written_is_named(watch, log, folder, monkeypatch):
    assert "absent/w.jsonl: no such file" in watch(log, "--once", "--output", "absent/w.jsonl").err
    restore = watch_command.JsonLines.restore

    def removed(self, state):
        found = restore(self, state)
        (folder / "w.jsonl").unlink()
        (folder / "w.jsonl").mkdir()
        return found

    monkeypatch.setattr(watch_command.JsonLines, "restore", removed)
    assert not (folder / "ck.db").exists(), "it had no commit"
    assert "w.jsonl: is a directory" in watch(log, "--once", "--output", "w.jsonl").err


def test_stream_out_that_cannot_be_cut_is_named(watch, log):
    read_end, write_end = os.pipe()
    done = watch(log, "--once", "--output", f"/dev/fd/{write_end}")
    os.close(read_end)
    os.close(write_end)
    assert (done.code, done.err.endswith("not seekable.\n")) == (3, True)


@pytest.mark.parametrize(
    ("rule", "code"), [("roc_auc < 0.9, n >= 1", 1), ("roc_auc < 0, n >= 1", 0)]
)
def test_once_ends_with_1_while_an_alert_fires(watch, log, rule, code):
    for told in (bool(code), False):
        done = watch(log, "--once", "--quiet", "--alerts", rule)
        assert (done.code, done.out) == (code, "")
        assert ("streameval: alert: roc_auc < 0.9, n >= 1 is firing" in done.err) is told


def test_alerts_that_are_raised_are_shown(watch, log):
    rules = ("--alerts", "roc_auc{country=FR} < 0.9, n >= 1", "--by", "country=FR")
    done = watch(log, "--once", *rules)
    assert "firing: roc_auc{country=FR} < 0.9, n >= 1 country=FR since 2023" in done.out


def test_silence_is_told_without_a_value(watch, log):
    done = watch(log, "--once", "--alerts", "no data for 1s")
    assert done.code == 0


def test_events_go_to_a_command(watch, log, folder):
    watch(log, "--once", "--alerts", "roc_auc < 0.9, n >= 1", "--on-alert", "tee got.json")
    assert json.loads((folder / "got.json").read_text())["state"] == "firing"


def test_bad_rows_are_told_and_counted(watch, log):
    with log.open("a") as file:
        file.write("{\n")
    done = watch(log, "--once", "--max-bad", "1")
    assert "streameval: warning: log.jsonl, line 151: not JSON" in done.err.replace(
        str(log), "log.jsonl"
    )
    assert "1 bad row" in done.out
    assert watch(log, "--once", "--max-bad", "1", "--quiet").err == ""


def test_window_that_reaches_back_too_far_is_told(watch, folder):
    write(folder / "log.jsonl", [row(at * 600) for at in range(-20, 1)])
    done = watch("log.jsonl", "--once", "--windows", "4h", "--windows", "30m")
    assert "a window of 4h reaches back before the panes that are kept" in done.out
    assert "30m to 2023" in done.out


def test_slices_have_a_column_each(watch, log):
    done = watch(log, "--once", "--by", "country=DE,FR")
    assert "(all)" in done.out.splitlines()[1]
    assert "DE" in done.out.splitlines()[1]


def test_slices_are_up_to_100_values_when_none_is_named(watch, call, folder):
    write(folder / "log.jsonl", [row(at / 3, at % 2, user=f"u{at}") for at in range(150)])
    watch("log.jsonl", "--once", "--by", "user")
    shown = call("show", "ck.db", "--json").json
    assert (len(shown["slices"]), shown["other"] is not None) == (100, True)


def test_metrics_of_slices_are_those_of_all_rows(watch, log):
    by = ("--once", "--by", "country=DE,FR")
    done = watch(log, *by, "--metrics", "roc_auc")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        "roc_auc",
        "  window                   (all)      DE      FR",
    ]
    assert watch(log, *by, "--metrics", "country=DE/roc_auc").code == 2


def test_where_picks_rows(watch, log):
    done = watch(log, "--once", "--where", "country=DE")
    assert "100 rows" in done.out
    assert watch(log, "--once", "--where", "country=FR").code == 4


@pytest.mark.parametrize("changed", ["--rollups 5m:1d", "--out-of-order 2s"])
def test_changed_option_is_named_as_it_is_typed(watch, log, changed):
    watch(log, "--once")
    done = watch(log, "--once", *changed.split())
    assert done.code == 4
    assert f"ck.db: cannot continue: {changed.split()[0]} differs" in done.err


def test_migrate_continues_with_fewer_slices(watch, log, call):
    by = "--once", "--by"
    watch(log, *by, "country=DE,FR")
    done = watch(log, *by, "country=DE")
    assert done.code == 4
    assert done.err.endswith("Name another --checkpoint, or try --migrate.\n")
    assert watch(log, *by, "country=DE", "--migrate", "--check").code == 0
    assert watch(log, *by, "country=DE").code == 4
    assert watch(log, *by, "country=DE", "--migrate").code == 0
    assert watch(log, *by, "country=DE").code == 0
    done = watch(log, *by, "country=DE,FR", "--migrate")
    assert done.code == 4
    assert done.err == (
        "streameval: error: ck.db: cannot continue: `values` would need the rows of values without "
        "a slice, which were counted together. Name another --checkpoint.\n"
    )
    shown = call("show", "ck.db", "--json").json
    assert ([one["value"] for one in shown["slices"]], shown["other"]["n"]) == (["DE"], 50)


def test_where_that_leaves_out_all_rows_is_told(watch, log):
    done = watch(log, "--once", "--where", "country=IT")
    assert (done.code, done.out) == (0, "no rows yet: --where has left out 150 rows\n")


def test_where_reads_columns_of_predictions_alone(watch, folder):
    write(folder / "p.jsonl", [{"id": at, "ts": START + at, "y_score": 0.5} for at in range(9)])
    write(folder / "l.jsonl", [{"id": 1, "ts": START, "y_true": 1}])
    join = ("--labels", "l.jsonl", "--key", "id", "--wait", "1m", "--once")
    done = watch("p.jsonl", *join, "--where", "y_true=1")
    assert (done.code, "no column 'y_true'" in done.err) == (2, True)
    assert watch("p.jsonl", *join, "--where", "id=1").out.splitlines()[-1].startswith("1 row, ")


def test_panes_of_steps_have_no_lag(call, folder):
    write(folder / "log.jsonl", [{"step": at, "y_true": 1, "y_pred": 1} for at in range(25)])
    done = call(
        *("watch", "log.jsonl", "--time", "step", "--pane", "10", "--checkpoint", "ck.db"),
        *("--out-of-order", "0", "--once"),
    )
    assert "behind" not in done.out
    assert "10 to 20" in done.out


def ended_after(monkeypatch, n_steps, end):
    """Do something after some steps of the monitor."""
    step = Monitor.step
    left = [n_steps]

    def counted(self):
        done = step(self)
        left[0] -= 1
        if not left[0]:
            end(self)
        return done

    monkeypatch.setattr(Monitor, "step", counted)
    monkeypatch.setattr(watch_command, "_POLL_SECONDS", 0.001)


def test_a_line_is_printed_for_each_closed_pane(watch, log, monkeypatch):
    def grow(monitor):
        write(log, [row(3, 0), row(200)], "a")
        ended_after(monkeypatch, 3, Monitor.stop)

    ended_after(monkeypatch, 1, grow)
    done = watch(log)
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].startswith("2023-11-14T22:13  60 rows  roc_auc 0.")
    assert [line.endswith("(revised)") for line in lines] == [False, False, True, False]


def test_lines_tell_the_share_of_labels(watch, folder, monkeypatch):
    write(folder / "log.jsonl", [row(0, None), row(1), row(61)])
    ended_after(monkeypatch, 2, Monitor.stop)
    assert "2 rows, 50.0% labelled" in watch("log.jsonl").out


def test_table_is_drawn_again_on_a_terminal(watch, log, monkeypatch, on_a_terminal):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("LINES", "50")
    on_a_terminal(80)
    ended_after(monkeypatch, 2, Monitor.stop)
    done = watch(log)
    height = done.out.split("\x1b[")[0].count("\n")
    assert done.out.count(f"\x1b[{height}F\x1b[J") == 1
    assert done.out.count("150 rows, 1 open pane") == 2


def test_table_is_cut_to_the_height_of_the_terminal(watch, log, monkeypatch, on_a_terminal):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("LINES", "4")
    on_a_terminal(80)
    ended_after(monkeypatch, 1, Monitor.stop)
    assert watch(log).out.count("\n") == 3


def test_table_is_wiped_before_something_is_told(watch, log, monkeypatch, on_a_terminal):
    def spoil(monitor):
        with log.open("a") as file:
            file.write("{\n")
        ended_after(monkeypatch, 2, Monitor.stop)

    monkeypatch.setenv("TERM", "xterm")
    on_a_terminal(80)
    ended_after(monkeypatch, 1, spoil)
    done = watch(log, "--max-bad", "1")
    assert "not JSON" in done.err
    assert done.out.count("F\x1b[J") == 2


@pytest.mark.parametrize("is_packed", [False, True])
def test_half_line_before_a_rotation_is_one_bad_row(watch, log, is_packed):
    assert watch(log, "--once").code == 0
    rotated = log.with_name(f"{log.name}.1")
    with log.open("a") as file:
        file.write('{"y_tr')
    log.rename(rotated)
    log.write_bytes(rotated.read_bytes().splitlines(keepends=True)[0])
    if is_packed:
        rotated.with_name(f"{rotated.name}.gz").write_bytes(gzip.compress(rotated.read_bytes()))
        rotated.unlink()
    done = watch(log, "--once")
    assert (done.code, "151 rows" in done.out) == (0, True)
    assert re.search(r"log\.jsonl\.1(\.gz)?, line 151: not JSON", done.err)
    assert "being written" not in done.err


def test_quiet_prints_nothing(watch, log, monkeypatch):
    ended_after(monkeypatch, 2, Monitor.stop)
    done = watch(log, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("quiet", [False, True])
def test_page_is_served_while_files_are_followed(watch, log, monkeypatch, quiet):
    def read(monitor):
        (server,) = monitor._servers
        with urllib.request.urlopen(server.url) as answer:
            pages.append(answer.read().decode())
        urls.append(server.url)
        assert server._hosts.allow("page.example")
        monitor.stop()

    pages, urls = [], []
    ended_after(monkeypatch, 1, read)
    options = ("--serve", "127.0.0.1:0", "--allow-host", "page.example", "--metrics", "roc_auc")
    options += ("--title", "The <ranking> model")
    done = watch(log, *options, *(["--quiet"] if quiet else []))
    shown = [re.sub(TIME, "", line) for line in done.err.splitlines()]
    told = [f"live page: {urls[0]}", f"{log}: found"]
    expected = [f"streameval: info: {text}" for text in told[: 1 if quiet else 2]]
    assert (done.code, shown) == (0, expected)
    assert "<h1><bdi>The &lt;ranking&gt; model</bdi></h1>" in pages[0]
    assert "roc_auc of" not in pages[0]
    assert 'aria-label="roc_auc over time. ' in pages[0]


def test_address_that_cannot_be_served_at_is_named(watch, log):
    done = watch(log, "--serve", "nowhere/x")
    assert done.code == 2
    assert "--serve must be HOST:PORT, such as 127.0.0.1:8765, got 'nowhere/x'." in done.err


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no hangup here")
def test_hangup_of_a_program_that_rotates_logs_is_ignored(watch, log, monkeypatch):
    before = signal.getsignal(signal.SIGHUP)

    def hang_up(monitor):
        signal.raise_signal(signal.SIGHUP)
        ended_after(monkeypatch, 2, Monitor.stop)

    ended_after(monkeypatch, 1, hang_up)
    assert watch(log).code == 0
    assert signal.getsignal(signal.SIGHUP) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_lets_the_step_commit_and_ends(watch, log, monkeypatch, number):
    ended_after(monkeypatch, 1, lambda monitor: signal.raise_signal(number))
    before = signal.getsignal(number)
    assert watch(log).code == 0
    assert signal.getsignal(number) is before
    assert "150 rows" in watch(log, "--once").out


def test_second_signal_ends_at_once(watch, log, monkeypatch):
    def twice(monitor):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    ended_after(monkeypatch, 1, twice)
    assert watch(log).code == 130


def test_second_sigterm_ends_at_once(watch, log, monkeypatch):
    def twice(monitor):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    ended_after(monkeypatch, 1, twice)
    with pytest.raises(watch_command.Terminated):
        watch(log)


def test_watch_runs_in_any_thread(watch, log):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(watch(log, "--once", "--quiet").code))
    thread.start()
    thread.join()
    assert codes == [0]


class Broken(io.StringIO):
    """A stream whose other end fails."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def flush(self):
        raise self.error

    def fileno(self):
        return self.spare

    def isatty(self):
        return False


@pytest.mark.parametrize(
    ("error", "code"), [(BrokenPipeError(), 0), (OSError(28, "No space left on device"), 5)]
)
def test_output_that_cannot_be_written_ends_the_watch(
    watch, log, monkeypatch, error, code, tmp_path
):
    stream = Broken(error)
    with (tmp_path / "spare").open("w") as spare:
        stream.spare = spare.fileno()
        monkeypatch.setattr(sys, "stdout", stream)
        from streameval.cli import main

        arguments = ["watch", str(log), "--task", "binary", *PANES, "--checkpoint", "ck.db"]
        assert main(arguments) == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "country", "--top", "3"), "no option --top here: it is for eval"),
        (("--allow-host", "page.example"), "--allow-host needs --serve."),
        (("--serve",), "--serve cannot be used with --once, which ends at once."),
        (("--key", "id"), "--key needs --labels."),
        (("--wait", "1h"), "--wait needs --labels."),
        (("--max-pending", "5"), "--max-pending needs --labels."),
        (("--shard", "1/2"), "--shard needs --labels."),
        (
            ("--labels", "l", "--key", "id", "--wait", "1h", "--shard", "2"),
            '--shard must be like "1/4"',
        ),
        (
            ("--alerts", "no data for 5m", "--alerts", "labels stalled for 10m"),
            "--alerts 'labels stalled for 10m' needs --labels.",
        ),
        (
            ("--alerts", "late labels > 1%"),
            "--alerts 'late labels > 1%' needs --labels.",
        ),
        (("--windows", "2m", "--windows", "90s"), "--windows must be a multiple of the pane, '1m'"),
        (("--labels", "l", "--wait", "1h"), "--labels needs --key."),
        (("--labels", "l", "--key", "id"), "--labels needs --wait."),
        (("--allowed-lateness", "soon"), "must be a duration such as"),
        (("--alerts", "roc_auc"), "'roc_auc' is not a rule"),
        (
            ("--alerts", "no data for 5m", "--on-alert", "no-such-program-here"),
            "--on-alert must begin with a program",
        ),
        (("--metrics", "nonsense"), "no metric 'nonsense'"),
        (("--metrics", "recall_at(0.5),roc_auk"), "no metric 'roc_auk': did you mean 'roc_auc'"),
        (("--alerts", "roc_auk < 0.5"), "'roc_auk < 0.5': no metric 'roc_auk'"),
        (("--alerts", "roc_auc_mikro < 0.5"), "no metric 'roc_auc_mikro'"),
        (("--output", "log.jsonl"), "--output must not be among the files that are read"),
        (("--where", "absent=1"), "no column 'absent'"),
        (("--max-ahead", "5"), "--max-ahead must be a duration"),
    ],
)
def test_wrong_usage_is_told(watch, log, arguments, message):
    done = watch(log, "--once", *arguments)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    "options",
    [("--metrics", "roc_auk"), ("--alerts", "roc_auk < 0.5"), ("--alerts", "roc_auc_makro < 0.5")],
)
def test_metric_that_is_misspelt_is_told_before_the_first_row(watch, folder, options):
    done = watch("none-yet.jsonl", *options)
    assert (done.code, "did you mean 'roc_auc" in done.err) == (2, True)
    assert not (folder / "ck.db").exists()


@pytest.mark.parametrize("metric", ["roc_auc_macro", "recall_at(0.5)", "roc_auc[micro]"])
def test_metric_that_some_classes_have_is_taken_before_the_first_row(watch, folder, metric):
    write(folder / "none-yet.jsonl", [])
    done = watch("none-yet.jsonl", "--once", "--metrics", metric, "--alerts", "coverage < 0.5")
    assert (done.code, "no rows yet" in done.out) == (0, True)


def test_time_is_needed(call, log):
    done = call("watch", log, "--checkpoint", "ck.db", "--once")
    assert (done.code, "needs --time and --pane" in done.err) == (2, True)


def test_missing_checkpoint_is_told(call, log):
    assert "--checkpoint" in call("watch", log, *PANES).err


def test_damaged_checkpoint_is_no_state(call, folder):
    (folder / "ck.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    assert call("show", "ck.db").code == 3


def test_no_line_is_written_while_no_pane_is_mature(watch, folder):
    write(folder / "log.jsonl", [row(1)])
    watch("log.jsonl", "--once", "--output", "w.jsonl")
    assert LINES.read_text() == ""


def test_predictions_that_are_not_read_for_now_are_told(watch, folder):
    write(folder / "p.jsonl", [{"id": at, "ts": START + at, "y_score": 0.5} for at in range(9)])
    write(folder / "l.jsonl", [{"id": "x", "ts": START, "y_true": 1}])
    join = ("--labels", "l.jsonl", "--key", "id", "--wait", "1m")
    done = watch("p.jsonl", *join, "--once", "--max-pending", "3", "--unlabelled", "0")
    assert "9 rows, 9 pending, 0 open panes" in done.out
    write(folder / "l.jsonl", [{"id": 0, "ts": START, "y_true": 1}], "a")
    done = watch("p.jsonl", *join, "--once", "--max-pending", "3", "--unlabelled", "0")
    assert "9 rows, 8 pending, 1 open pane" in done.out
    assert "waiting for labels" in done.out
