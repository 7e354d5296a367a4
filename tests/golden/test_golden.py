"""States that released versions wrote are read for ever."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from golden.make import accumulators

import streameval as se

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("version-*/*.se"))
PICKLES = sorted(FOLDER.glob("pickles/*.pickle"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_golden_file_is_read_and_written_back(path: Path) -> None:
    assert se.load(path).to_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", sorted(accumulators()))
def test_the_same_rows_give_the_golden_bytes(name: str) -> None:
    golden = FOLDER / "version-1" / f"{name}.se"
    assert accumulators()[name].to_bytes() == golden.read_bytes()


def test_every_golden_state_has_its_file() -> None:
    assert {path.stem for path in FILES} == set(accumulators())


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.stem)
def test_pickles_of_a_release_load(path: Path) -> None:
    assert pickle.loads(path.read_bytes()) == accumulators()
