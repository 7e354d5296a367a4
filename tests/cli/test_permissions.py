"""What may not be looked at is said in one line, and is never left out silently."""

import os
from pathlib import Path

import pytest

WATCH = ("--time", "ts", "--unit", "s", "--pane", "1m", "--once")
ROWS = [{"ts": 60 * i, "y_true": 1, "y_pred": 1} for i in range(9)]


def refusing(look, is_refused):
    """Look as before, but at some paths."""

    def looked(path=".", *how, **options):
        if is_refused(os.fspath(path)):
            raise PermissionError(13, "Permission denied", path)
        return look(path, *how, **options)

    return looked


@pytest.fixture
def locked(write, monkeypatch):
    """A folder that may be neither listed nor searched, also where the tests run as root."""
    Path("log/secret").mkdir(parents=True)
    write("log/day.jsonl", ROWS)
    write("log/secret/day.jsonl", ROWS)
    monkeypatch.setattr(os, "stat", refusing(os.stat, lambda path: "secret/" in str(path)))
    monkeypatch.setattr(os, "scandir", refusing(os.scandir, lambda path: "secret" in str(path)))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("watch", "log/secret/day.jsonl", *WATCH, "--checkpoint", "ck.db"), "log/secret"),
        (("watch", "log/secret/*.jsonl", *WATCH, "--checkpoint", "ck.db"), "log/secret"),
        (("watch", "--init", "log/secret/day.jsonl"), "log/secret"),
        (("watch", "log/day.jsonl", *WATCH, "--checkpoint", "log/secret/ck.db"), None),
        (("watch", "log/day.jsonl", *WATCH, "--checkpoint", "log/secret/a/ck.db"), None),
        (("watch", "log/day.jsonl", *WATCH, "--checkpoint", "log/secret/ck.db", "--check"), None),
        (("eval", "log/secret/a/day.jsonl"), None),
        (("eval", "log"), "log/secret"),
        (("merge", "log/secret/a", "log/secret/b", "-o", "c"), None),
    ],
)
def test_what_may_not_be_looked_at_is_said(words, told, locked, call):
    done = call(*words)
    assert done.code == 3
    assert done.err.startswith(f"streameval: error: {told or ''}")
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1


def test_files_of_a_folder_that_may_only_be_listed_are_said(write, call, monkeypatch):
    Path("log").mkdir()
    write("log/day.jsonl", ROWS)
    for owner, name in ((os, "stat"), (Path, "open")):
        look = refusing(getattr(owner, name), lambda path: str(path).startswith("log/"))
        monkeypatch.setattr(owner, name, look)
    done = call("eval", "log")
    assert (done.code, done.err) == (3, "streameval: error: log/day.jsonl: permission denied.\n")


def test_a_hidden_folder_is_not_looked_into(locked, write, call):
    Path("log/secret").rename("log/_secret")
    Path("log/_day=3").mkdir()
    write("log/_day=3/day.jsonl", ROWS)
    assert call("eval", "log", "--json").json["rows"] == 2 * len(ROWS)
