"""How `streameval watch` ends: the exit code says whether a restart is worth it."""

import json
import socket
from contextlib import closing
from pathlib import Path

import pytest
from offenders import each

from streameval.monitoring.checkpoint import Checkpoint

START = 1_699_999_980
TYPED = (
    *("--task", "binary", "--time", "ts", "--unit", "s", "--pane", "1m", "--keep", "1h"),
    *("--checkpoint", "ck.db", "--once"),
)


@pytest.fixture
def log(folder):
    rows = [{"ts": START + at, "y_true": at % 2, "y_score": at % 10 / 10} for at in range(150)]
    path = folder / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def watch(log, call):
    return lambda *words: call("watch", log, *TYPED, *words)


def files(folder):
    return {path.name for path in folder.iterdir()} - {"log.jsonl"}


@each(
    ("words", "code", "message"),
    [
        (("--alerts", "recall[1"), 2, "'recall[1' is not a rule"),
        (("--alerts", "recall[1] < 0.5 for 3 panes"), 2, "no metric 'recall[1]'"),
        (("--alerts", "roc_auc{a=b} < 0.5"), 2, "names a slice"),
        (("--y-score", "absent"), 2, "'absent'"),
        (("--where", "absent=1"), 2, "'absent'"),
        (("--alerts", "no data for 1d", "--on-alert", "no-such-program"), 2, "no-such-program"),
        (("--serve", "nowhere/x"), 2, "--serve"),
        (("--max-bad", "0", "--y-true", "ts"), 3, "log.jsonl, line "),
        (("--output", "absent/file"), 3, "absent/file: no such file or directory."),
    ],
)
def test_error_at_the_start_leaves_no_checkpoint(words, code, message, watch, folder):
    done = watch(*words)
    assert (done.code, message in done.err) == (code, True), done.err
    assert files(folder) == set()


def test_a_first_run_that_ends_with_bad_rows_can_be_repeated(watch, log):
    """It has begun a file, and told receivers of its end, which the next run continues."""
    rows = log.read_text()
    log.write_text(rows + '{"ts": 1\n' * 50)
    words = ("--quarantine", "bad.jsonl", "--output", "panes.jsonl")
    words += ("--alerts", "no data for 9999d", "--on-alert", "sh -c 'cat >> told.jsonl'")
    for _ in range(2):
        done = watch(*words)
        assert (done.code, "--max-bad is 1%" in done.err) == (3, True), done.err
        assert Path("bad.jsonl").read_text().count("\n") == 50
    done = watch(*words, "--max-bad", "50%")
    assert done.code == 0, done.err
    assert Path("bad.jsonl").read_text().count("\n") == 50
    told = [json.loads(line) for line in Path("told.jsonl").read_text().splitlines()]
    assert [(one["rule"], one["state"]) for one in told] == [
        ("monitor ended", "firing"),
        ("monitor ended", "resolved"),
    ]


def test_port_in_use_is_worth_another_try(log, call, folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [word for word in TYPED if word != "--once"]
        done = call("watch", log, *words, "--serve", address)
    assert done.code == 5
    assert done.err.partition(" ")[2] == (
        f"streameval: error: --serve cannot be '{address}': address already in use. Choose "
        "another port.\n"
    )
    assert files(folder) == set()


@pytest.mark.parametrize("has_commit", [False, True])
def test_checkpoint_in_use_is_worth_another_try(watch, folder, has_commit):
    if has_commit:
        assert watch().code == 0
    with closing(Checkpoint("ck.db")):
        before = files(folder)
        done = watch()
        assert (done.code, done.err) == (
            5,
            "streameval: error: ck.db: another monitor holds this checkpoint.\n",
        )
        assert files(folder) == before
    assert watch().code == 0


def test_damaged_checkpoint_is_not(watch, folder):
    watch()
    data = bytearray(Path("ck.db").read_bytes())
    data[100:] = bytes(len(data) - 100)
    Path("ck.db").write_bytes(data)
    done = watch()
    assert (done.code, done.err[:42]) == (3, "streameval: error: ck.db: state is corrupt")
