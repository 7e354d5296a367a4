"""States of numbered batches in a folder: each counts once, whatever is repeated or merged."""

from pathlib import Path

import pyarrow as pa
import pytest

import streameval as se
from streameval.engines._batches import Batches


def states(*values, **slices):
    """Make the states of a batch: of rows 1 predicted as they are, or of those of slices."""
    found = slices or {None: values}
    made = [
        se.ConfusionAccumulator().update([1] * len(rows), list(rows)).to_bytes()
        for rows in found.values()
    ]
    slice_type = pa.string() if slices else pa.int8()
    return pa.table(
        {"slice": pa.array(list(found), slice_type), "state": pa.array(made, pa.binary())}
    )


def counted(batches):
    _, found = batches.read()
    return {value: se.from_bytes(state).compute().tp for value, state in found.items()}


@pytest.fixture
def batches(tmp_path):
    return Batches(tmp_path / "states")


def write(batches, number, table, owner="q", by=None):
    batches.write(number, table, owner, by)


def names(batches):
    return sorted(path.name for path in batches.folder.iterdir())


def test_batches_are_merged(batches):
    write(batches, 0, states(1, 1))
    write(batches, 1, states(1, 0))
    assert counted(batches) == {None: 3}
    assert len(batches) == 2


def test_batch_that_comes_again_replaces_what_it_left(batches):
    write(batches, 0, states(1))
    write(batches, 0, states(1, 1))
    assert counted(batches) == {None: 2}


def test_slices_are_merged_by_value(batches):
    write(batches, 0, states(DE=[1], FR=[1, 1]), by="country")
    write(batches, 1, states(FR=[1], IT=[0]), by="country")
    assert counted(batches) == {"DE": 1, "FR": 3, "IT": 0}
    assert batches.read()[0] == "country"


def test_older_batches_become_one_file(batches):
    for number in range(5):
        write(batches, number, states(DE=[1]), by="country")
    before = batches.read()
    batches.compact(4)
    assert len(batches) == len(names(batches)) == 2
    assert batches.read() == before
    write(batches, 4, states(DE=[1, 1]), by="country")
    assert counted(batches) == {"DE": 6}


def test_one_file_is_left_as_it_is(batches):
    write(batches, 0, states(1))
    before = names(batches)
    batches.compact(1)
    assert names(batches) == before


@pytest.mark.parametrize("n_removed", [0, 1, 2])
def test_crash_while_files_are_merged_counts_nothing_twice(batches, n_removed, monkeypatch):
    for number in range(3):
        write(batches, number, states(1))
    unlink, removed = Path.unlink, []

    def dying(path, missing_ok=False):
        if len(removed) == n_removed:
            raise KeyboardInterrupt
        removed.append(path)
        unlink(path)

    monkeypatch.setattr(Path, "unlink", dying)
    with pytest.raises(KeyboardInterrupt):
        batches.compact(3)
    monkeypatch.undo()
    assert counted(batches) == {None: 3}
    write(batches, 3, states(1))
    batches.compact(3)
    assert len(names(batches)) == 2
    assert counted(batches) == {None: 4}


def test_batches_of_another_query_are_refused(batches):
    write(batches, 0, states(1))
    with pytest.raises(se.IncompatibleStateError, match="holds the batches of another query"):
        write(batches, 0, states(1), owner="other")


def test_another_column_is_refused(batches):
    write(batches, 0, states(1))
    with pytest.raises(se.IncompatibleStateError, match=r"`by` differs \(None and 'country'\)"):
        write(batches, 1, states(DE=[1]), by="country")


def test_batch_that_is_merged_already_is_refused(batches):
    for number in range(3):
        write(batches, number, states(1))
    batches.compact(3)
    with pytest.raises(se.IncompatibleStateError, match="batch 1 is merged with batches 0 to 2"):
        write(batches, 1, states(1))


def test_nothing_to_read_is_named(batches):
    with pytest.raises(se.BadDataError, match="states: holds no states of batches"):
        batches.read()


def test_files_that_are_merged_meanwhile_are_read_again(batches, monkeypatch):
    write(batches, 0, states(1))
    write(batches, 1, states(1))
    table = Batches._table
    calls = []

    def merging(self, span):
        if not calls:
            calls.append(span)
            batches.compact(2)
        return table(self, span)

    monkeypatch.setattr(Batches, "_table", merging)
    assert counted(batches) == {None: 2}


def test_files_that_vanish_for_ever_are_named(batches, monkeypatch):
    write(batches, 0, states(1))

    def gone(self, span):
        raise FileNotFoundError

    monkeypatch.setattr(Batches, "_table", gone)
    with pytest.raises(se.BadDataError, match="vanish"):
        batches.read()
