import pytest

from streameval.runs.counting import BlockCounts, Plan
from streameval.runs.totals import RunTotal


class Rows:
    """An accumulator that keeps every row, and counts the rows that merges move."""

    n_moved = 0

    def __init__(self, rows=()):
        self.rows = list(rows)

    def merge(self, other):
        Rows.n_moved += len(self.rows) + len(other.rows)
        self.rows += other.rows


@pytest.fixture
def tally(monkeypatch):
    monkeypatch.setattr(Rows, "n_moved", 0)
    return RunTotal(Plan(Rows, (), 0))


@pytest.mark.parametrize("n_blocks", [0, 1, 2, 3, 31, 100])
def test_tally_holds_every_block_once(n_blocks, tally):
    for block in range(n_blocks):
        tally.add(BlockCounts("log", Rows([block]), 1, [], 9))
    assert sorted(tally.total().rows) == list(range(n_blocks))
    assert tally.n_good.total() == n_blocks


def test_tally_merges_a_block_a_logarithmic_number_of_times(tally):
    for block in range(1024):
        tally.add(BlockCounts("log", Rows([block]), 1, [], 9))
    tally.total()
    assert Rows.n_moved <= 1024 * 11


def test_tally_can_be_added_to_after_its_total(tally):
    for block in range(5):
        tally.add(BlockCounts("log", Rows([block]), 1, [], 9))
        tally.total()
    assert sorted(tally.total().rows) == list(range(5))
