"""The page on dirty logs, typed as it stands, over logs of many rows."""

from __future__ import annotations

import gzip
import re
import runpy
from pathlib import Path

import pytest
from offenders import each
from profiles import cases
from shell import bash

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "dirty-logs.md").read_text(encoding="utf-8")
N_ROWS = cases(300_000, least=60_000)
N_BROKEN = N_ROWS // 1500
COMMANDS = [
    command.replace("\\\n", "")
    for command in re.findall(r"^\$ (streameval eval (?:.*\\\n)*.*)$", PAGE, re.MULTILINE)
]
LOGS = ("nested.jsonl.gz", "export.csv", "pipeline.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    script = runpy.run_path(str(ROOT / "docs" / "data" / "dirty_logs.py"))
    script["write"](folder, N_ROWS)
    return folder


def test_page_has_commands_on_every_log() -> None:
    read = {command.split()[2] for command in COMMANDS}
    assert read == {*LOGS, "rows.jsonl", "warehouse.csv"}


@pytest.mark.slow
def test_nested_log_is_as_long_and_as_broken_as_the_page_says(folder: Path) -> None:
    with gzip.open(folder / "nested.jsonl.gz", "rb") as file:
        lines = list(file)
    whole = [line for line in lines if line.startswith(b'{"id": ') and line.endswith(b"}\n")]
    assert (len(lines), len(whole)) == (N_ROWS, N_ROWS - N_BROKEN)


@pytest.mark.slow
@each("command", [one for one in COMMANDS if one.split()[2] in LOGS])
def test_log_of_many_rows_is_evaluated_as_the_page_says(command: str, folder: Path) -> None:
    command = command.partition(" > ")[0]
    done = bash(command, folder)
    assert done.returncode == 0, done.stdout
    heading = done.stdout.splitlines()[0]
    if "--where" not in command:
        assert heading == f"{N_ROWS:,} rows of 1 file"
    elif "model.scores " in command:
        assert f", {N_BROKEN} of them bad and left out; " in heading
        n_rows, n_left_out = (int(heading.split()[at].replace(",", "")) for at in (0, 12))
        assert n_rows + n_left_out == N_ROWS
