"""States that released versions wrote are read for ever."""

from __future__ import annotations

import base64
import pickle
from pathlib import Path

import pytest
from golden.make import accumulators
from offenders import each

import streameval as se

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("version-*/*.se"))
OLD = sorted(FOLDER.glob("version-1/*.se"))
PICKLES = sorted(FOLDER.glob("pickles/*.pickle"))
STATES = accumulators()


every_file = each("path", FILES)


@every_file
def test_a_golden_file_is_read_and_written_as_the_newest_version(path: Path) -> None:
    newest = FOLDER / "version-2" / path.name
    assert se.load(path).to_bytes() == newest.read_bytes()


@every_file
def test_a_golden_file_is_the_state_of_the_same_rows(path: Path) -> None:
    assert se.load(path) == STATES[path.stem]


@each("path", OLD)
def test_a_state_dict_of_an_older_version_loads(path: Path) -> None:
    accumulator = STATES[path.stem].copy().reset()
    accumulator.load_state_dict({"state": base64.b64encode(path.read_bytes()).decode()})
    assert accumulator == STATES[path.stem]


@each("name", sorted(STATES))
def test_the_same_rows_give_the_golden_bytes(name: str) -> None:
    golden = FOLDER / "version-2" / f"{name}.se"
    assert STATES[name].to_bytes() == golden.read_bytes()


def test_every_golden_state_has_its_file() -> None:
    newest = {path.stem for path in FILES if path not in OLD}
    assert newest == set(STATES)
    assert {path.stem for path in OLD} <= newest


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.stem)
def test_pickles_of_a_release_load(path: Path) -> None:
    loaded = pickle.loads(path.read_bytes())
    assert loaded.keys() == {path.stem for path in OLD}
    assert loaded == {name: STATES[name] for name in loaded}
