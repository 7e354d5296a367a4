"""The examples that `--help` shows: each is typed as it stands, beside the files it names."""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cli.ranking_data import as_lists, qrels_text, run_text
from offenders import each
from shell import bash

import streameval as se
from streameval.cli.arguments import argument_parser

_LABELS = [{"y_true": n % 3, "y_pred": n % 3 if n % 20 else (n + 1) % 3} for n in range(200)]
_CLICKS = [
    {"y_true": n % 2, "y_score": score, "p_click": score, "user": f"u{n % 7}"}
    for n, score in enumerate(np.random.default_rng(0).beta(2 + 3 * (np.arange(200) % 2), 3))
]
_ANIMALS = [
    {"y_true": name, "p_cat": 0.5, "p_dog": 0.25, "p_owl": 0.25}
    for name in ("cat", "cat", "dog", "owl")
]
_PRICES = [{"y_true": n, "guess": n + 0.5} for n in range(9)]


def _jsonl(rows: list) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _csv(rows: list[dict]) -> bytes:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return "\n".join([*lines, ""]).encode()


def _state(rows: list[dict]) -> bytes:
    true, predicted = ([row[name] for row in rows] for name in ("y_true", "y_pred"))
    return se.ConfusionAccumulator("auto").update(true, predicted).to_bytes()


def _panes(rows: list[dict]) -> bytes:
    """Count a row an hour, the last one in the first hour of 2026-11-22."""
    columns = {name: [row[name] for row in rows] for name in ("y_true", "y_pred")}
    times = np.datetime64("2026-11-22T00") - np.arange(len(rows))[::-1].astype("m8[h]")
    windowed = se.Windowed(se.ConfusionAccumulator("auto"), pane="1h")
    return windowed.update({**columns, "time": times}).to_bytes()


def _stream() -> bytes:
    return _jsonl([{"ts": f"2026-01-01T00:{n % 60:02}Z", **row} for n, row in enumerate(_LABELS)])


# What an example may name: the file, and what is in it. A star stands for "1" and "2".
FILES: dict[str, Callable[[], bytes]] = {
    "predictions.jsonl.gz": lambda: gzip.compress(_jsonl(_LABELS)),
    "part-*.csv": lambda: _csv([{"truth": r["y_true"], "guess": r["y_pred"]} for r in _LABELS]),
    "stream.jsonl": _stream,
    "app-*.jsonl": _stream,
    "monitor.toml": lambda: b'time = "ts"\npane = "1h"\ncheckpoint = "ck.db"\n',
    "log.csv": lambda: _csv(_ANIMALS),
    "both.csv": lambda: _csv(
        [{"y_true": r["y_true"], "old": r["y_pred"], "new": r["y_true"]} for r in _LABELS]
    ),
    "log.jsonl": lambda: _jsonl(_LABELS),
    "log.gz": lambda: gzip.compress(
        _jsonl([{"y_true": row["y_true"], "probability": row["y_score"]} for row in _CLICKS])
    ),
    "prices.csv": lambda: _csv(_PRICES),
    "clicks.csv": lambda: _csv(_CLICKS),
    "bm25.run": lambda: run_text().encode(),
    "test.qrels": lambda: qrels_text().encode(),
    "searches.jsonl": lambda: _jsonl(as_lists()),
    "monday.state": lambda: _state(_LABELS),
    "tuesday.state": lambda: _state(_LABELS[:120]),
    "week.state": lambda: _state(_LABELS),
    "old.state": lambda: _state(_LABELS[:150]),
    "new.state": lambda: _state(_LABELS[:160]),
    "newer.state": lambda: _state(_LABELS[:170]),
    "days.state": lambda: _panes(_LABELS),
    "all.state": lambda: _state(_LABELS),
    "part-*.state": lambda: _state(_LABELS),
}
_NAME = re.compile(r"[\w*-]+(?:\.[a-z]\w*)+")
_WRITTEN_AFTER = {"-o", "--output", "--checkpoint", ">"}


def parsers() -> dict[str, argparse.ArgumentParser]:
    whole = argument_parser()
    commands = next(action for action in whole._actions if isinstance(action.choices, dict))
    return {"streameval": whole} | {
        f"streameval {name}": parser for name, parser in commands.choices.items()
    }


def examples_of(text: str) -> list[str]:
    """Find the lines below "examples:", up to an empty one."""
    found = re.findall(r"^examples?:\n((?:  .*\n)+)", f"{text}\n", re.MULTILINE)
    return [line.strip() for block in found for line in block.splitlines()]


def names_in(example: str) -> list[str]:
    """Find the names of files that must be there before the example is typed."""
    words = ["", *shlex.split(example)]
    return [
        word
        for before, word in pairwise(words)
        if _NAME.fullmatch(word) and before not in _WRITTEN_AFTER
    ]


def make(name: str, folder: Path) -> None:
    for number in "12" if "*" in name else "1":
        (folder / name.replace("*", number)).write_bytes(FILES[name]())


PARSERS = parsers()
EXAMPLES = sorted({line for parser in PARSERS.values() for line in examples_of(str(parser.epilog))})


@each("command", PARSERS)
def test_help_of_every_command_has_examples(command: str) -> None:
    shown = examples_of(PARSERS[command].format_help())
    assert shown == examples_of(str(PARSERS[command].epilog))
    assert any(re.search(rf"\b{command}\b", line) for line in shown), "add an example"


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_example_of_help_works(example: str, tmp_path: Path) -> None:
    for name in names_in(example):
        assert name in FILES, f"{name}: add to FILES in {Path(__file__).name} what it holds"
        make(name, tmp_path)
    before = set(tmp_path.iterdir())
    done = bash(example, tmp_path)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}"
    assert "error" not in done.stdout
    assert done.stdout or set(tmp_path.iterdir()) > before


@each("name", FILES)
def test_every_file_of_examples_is_named_by_one(name: str) -> None:
    assert any(name in names_in(example) for example in EXAMPLES), "take it out of FILES"


@each(
    ("example", "names"),
    [
        ("streameval merge part-*.state -o all.state", ["part-*.state"]),
        ("zcat log.gz | streameval eval - --y-score p_x", ["log.gz"]),
        ("streameval show a.state --require 'recall[macro]>=0.8' --level 0.99", ["a.state"]),
        (
            "streameval eval a.run --qrels b.qrels --measures 'ndcg@10' > c.txt",
            ["a.run", "b.qrels"],
        ),
    ],
)
def test_names_in_an_example_are_those_of_files_to_read(example: str, names: list[str]) -> None:
    assert names_in(example) == names
