import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.io.columns import Argument, Labels
from streameval.io.json_lines import JsonBlock
from streameval.runs.counting import Plan, count

LABELS = [Argument(name, (name,), Labels(integers=True)) for name in ("y_true", "y_pred")]


class Watched:
    """A confusion accumulator of two classes; all of them count their updates together."""

    n_updates = 0

    def __init__(self):
        self.inner = se.ConfusionAccumulator(2)

    def update(self, batch):
        Watched.n_updates += 1
        self.inner.update(batch)


@pytest.fixture(autouse=True)
def no_updates(monkeypatch):
    monkeypatch.setattr(Watched, "n_updates", 0)


def counted(truth, max_bad=0):
    lines = "".join(f'{{"y_true": {label}, "y_pred": 0}}\n' for label in truth).encode()
    block = JsonBlock("log", 1, lines, len(lines))
    return count(block, Plan(Watched, tuple(LABELS), max_bad))


def test_count_takes_one_update_when_every_row_is_good():
    assert counted([0, 1] * 500).n_good == 1000
    assert Watched.n_updates == 1


@each("n_bad", [1, 3, 10])
def test_count_finds_every_bad_row(n_bad):
    truth = np.zeros(1000, dtype=int)
    places = np.random.default_rng(n_bad).choice(1000, n_bad, replace=False)
    truth[places] = 7
    done = counted(truth, max_bad=n_bad)
    assert [row.row_id for row in done.bad] == sorted(places + 1)
    assert done.n_good == done.accumulator.inner.n == 1000 - n_bad


def test_count_finds_a_bad_row_in_a_logarithmic_number_of_updates():
    assert counted([0] * 1023 + [7], max_bad=5).n_good == 1023
    assert Watched.n_updates <= 2 * 10 + 3


def test_count_ends_its_search_when_there_are_too_many_bad_rows():
    done = counted([7] * 1024, max_bad=2)
    assert len(done.bad) == 3
    assert Watched.n_updates < 50


def test_count_makes_no_update_when_no_row_can_be_read():
    assert counted(["null"]).n_good == 0
    assert Watched.n_updates == 0
