"""How far a log has come: a jump counts once later rows confirm it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from monitoring import join_model
from offenders import each
from profiles import cases

from streameval.monitoring.watermarks import LogTime, Partitions

STEP = 60
ROWS = st.lists(st.one_of(st.integers(-50, 50), st.integers(-10_000, 10_000)), max_size=80)


def observed(times, max_step=STEP):
    log = LogTime(max_step)
    return log.observe(np.array(times, dtype=np.int64)).tolist(), log.time


@settings(max_examples=cases(1000, least=100))
@given(ROWS)
def test_time_of_a_log_follows_the_rule(steps):
    times = np.cumsum(steps).tolist()
    *before, last = join_model.reached(times, STEP)
    assert observed(times) == (before, last if times else None)


@settings(max_examples=cases(1000, least=100))
@given(ROWS, st.lists(st.integers(0, 80)))
def test_time_of_a_log_does_not_depend_on_cuts_or_restarts(steps, cuts):
    times, found, log = np.cumsum(steps), [], LogTime(STEP)
    for part in np.split(times, sorted(cut for cut in cuts if cut < len(times))):
        found += log.observe(part.astype(np.int64)).tolist()
        log = LogTime(STEP, log.time, log.to_json())
    assert (found, log.time) == observed(times.tolist())


@given(ROWS)
def test_without_a_limit_the_newest_row_counts(steps):
    times = np.cumsum(steps).tolist()
    assert observed(times, None)[1] == max(times, default=None)


@each("step", [1, 10, 60, 900])
@each("n_ahead", [1, 3, 7])
def test_wrong_rows_ahead_move_nothing(step, n_ahead):
    times = [step * at for at in range(30)]
    wrong = [times[-1] + 5 * step + 36_000 + step * at for at in range(n_ahead)]
    later = [times[-1] + step * at for at in range(1, 30)]
    assert observed([*times, *wrong]) == (observed(times)[0] + [times[-1]] * n_ahead, times[-1])
    assert observed([*times, *wrong, *later])[1] == later[-1]


@each("step", [1, 60, 900])
def test_gap_is_confirmed_by_the_rows_after_it(step):
    times = [step * at for at in range(30)]
    later = [times[-1] + 36_000 + step * at for at in range(8)]
    assert observed([*times, *later[:7]])[1] == times[-1]
    assert observed([*times, *later])[1] == later[-1]


def test_first_rows_of_a_sparse_log_count():
    for n_rows in range(1, 20):
        assert observed([3600 * at for at in range(n_rows)])[1] == 3600 * (n_rows - 1)


def test_rows_between_skewed_ones_count():
    rng = np.random.default_rng(0)
    times = np.arange(20_000) * 10
    is_skewed = rng.random(len(times)) < 0.05
    is_skewed[:4] = False
    skewed = times + is_skewed * rng.integers(-36_000, 36_000, len(times))
    before, _ = observed(skewed.tolist())
    assert (np.array(before) <= times).all()


def test_partitions_of_an_earlier_release_go_on():
    partitions = Partitions(0, STEP)
    partitions.restore({"found": {"a": [100, 5.0]}, "newest": 100})
    partitions.observe("a", np.array([110, 120]))
    assert (partitions.watermark, partitions.newest) == (120, 120)
