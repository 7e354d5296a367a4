"""The monitor without a join: counting, commits, closing of panes, bad rows."""

import pytest
from monitoring.memory import Clock, Rows

import streameval as se

START = 1_699_999_980


def row(second, truth=1, pred=1, **more):
    return {"ts": START + second, "y_true": truth, "y_pred": pred, **more}


def windowed(**options):
    return se.Windowed(
        se.ConfusionAccumulator(), **{"pane": "1m", "unit": "s", "keep": "1h"} | options
    )


@pytest.fixture
def start(tmp_path):
    """Start a monitor on the checkpoint of the test."""

    def start(source, accumulator=None, **options):
        given = {"time": "ts", "clock": Clock()} | options
        return se.Monitor(
            tmp_path / "ck.db", accumulator or windowed(), predictions=source, **given
        )

    return start


def counted(rows, accumulator=None):
    columns = {name: [row[name] for row in rows] for name in ("ts", "y_true", "y_pred")}
    columns["time"] = columns.pop("ts")
    return (accumulator or windowed()).update(columns)


def test_step_counts_what_is_there(start):
    rows = [row(at, at % 2) for at in range(0, 300, 7)]
    with start(Rows(a=rows)) as monitor:
        step = monitor.step()
        assert (step.n_rows, step.is_idle) == (len(rows), True)
        assert monitor.windowed.to_bytes() == counted(rows).to_bytes()


def test_monitor_goes_on_with_the_last_commit(start):
    rows = [row(at, at % 2) for at in range(0, 300, 7)]
    source = Rows(a=rows[:20])
    with start(source) as monitor:
        monitor.step()
    source.add("a", *rows[20:])
    with start(source) as monitor:
        assert monitor.status().n_rows == 20
        monitor.step()
        assert monitor.windowed.to_bytes() == counted(rows).to_bytes()
