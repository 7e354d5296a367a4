import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import islice
from multiprocessing import Pipe
from queue import SimpleQueue
from unittest.mock import Mock

import attrs
import pytest
from offenders import each
from waiting import HANGS, until

import streameval as se
from streameval.io.columns import Argument, Labels, Numbers
from streameval.io.csv_rows import CsvBlock, CsvLayout
from streameval.io.formats import read_blocks
from streameval.io.json_lines import JsonBlock
from streameval.runs import counting, processes, workers
from streameval.runs.counting import Plan
from streameval.runs.files import PartitionBlock
from streameval.runs.processes import Team
from streameval.runs.totals import RunTotal
from streameval.runs.workers import count_all

COLUMNS = (
    Argument("y_true", ("t",), Labels(integers=True)),
    Argument("y_score", ("s",), Numbers()),
)
PLAN = Plan(se.PRCurveSketch, COLUMNS, max_bad=10, is_bounded=True)
NO_COLUMNS = CsvLayout(("other",), ",")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("streameval.io.lines.PIECE_BYTES", 512)


def lines(n_rows):
    return "".join(f'{{"t": {n % 2}, "s": {n / n_rows}}}\n' for n in range(n_rows)).encode()


def tallied(blocks, plan=PLAN, jobs=1):
    return added(RunTotal(plan), blocks, plan, jobs)


def added(tally, blocks, plan, jobs):
    with Team(jobs - 1) as team:
        for counted in count_all(blocks, plan, team):
            tally.add(counted)
    return tally


@contextmanager
def started(n_workers):
    with Team(n_workers) as team:
        team.start(n_workers)
        yield team.workers


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(500))
    return str(path)


@pytest.fixture
def workers_at_once(monkeypatch):
    """Start workers after the first block, and let them count it all."""
    monkeypatch.setattr(workers, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(workers, "_WORTH_SECONDS", 1e-9)
    monkeypatch.setattr(processes.Worker, "n_ahead", lambda worker: worker._n_asked / 1e6)


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv"])
def test_blocks_travel_with_their_bytes(name, tmp_path):
    rows = [json.loads(line) for line in lines(500).splitlines()]
    table = "t,s\n" + "".join(f"{row['t']},{row['s']}\n" for row in rows)
    (tmp_path / name).write_bytes(table.encode() if name == "log.csv" else lines(500))
    blocks = list(read_blocks(str(tmp_path / name)))
    blocks += [PartitionBlock(block, (("day", 1),)) for block in blocks]
    assert len(blocks) > 6
    assert pickle.loads(pickle.dumps(blocks)) == blocks


@pytest.mark.slow
@pytest.mark.usefixtures("workers_at_once")
@pytest.mark.parametrize("plan", [PLAN, attrs.evolve(PLAN, is_bounded=False)])
@pytest.mark.parametrize("jobs", [2, 3])
def test_workers_count_what_one_process_does(plan, jobs, log):
    alone, together = tallied(read_blocks(log)), tallied(read_blocks(log), plan, jobs)
    assert together.n_good == alone.n_good == {log: 500}
    assert together.total() == alone.total()


@pytest.mark.slow
@pytest.mark.usefixtures("workers_at_once")
def test_error_of_a_worker_comes_after_what_precedes_it(log):
    def cut_short():
        yield from islice(read_blocks(log), 4)
        yield JsonBlock("later", 1, b"no\n", 3)
        raise se.BadDataError("the end")

    tally = RunTotal(attrs.evolve(PLAN, max_bad=0))
    with pytest.raises(se.BadDataError, match="later, line 1"):
        added(tally, cut_short(), PLAN, 2)
    n_rows = [len(block.data.splitlines()) for block in islice(read_blocks(log), 4)]
    assert tally.n_good == {log: sum(n_rows)}
    with Team(1) as team, pytest.raises(se.BadDataError, match="the end"):
        list(count_all(cut_short(), PLAN, team))


class Clock:
    """Gives the seconds that processes have computed."""

    def __init__(self, step):
        self._step = step
        self._now = 0.0

    def __call__(self):
        self._now += self._step
        return self._now


def alone_until(monkeypatch, step, n_blocks, size):
    """Say how many blocks are counted alone, and how many workers the rest is worth."""
    monkeypatch.setattr(workers.time, "process_time", Clock(step))
    alone = workers._Alone(size)
    blocks = [JsonBlock("log", 0, b"", 10)] * n_blocks
    n_counted = len(list(alone.short(iter(blocks))))
    assert alone.n_left == (None if size is None else size - 10 * n_counted)
    return n_counted, alone.n_worth


@pytest.mark.parametrize(
    ("step", "size", "expected"),
    [
        (0.05, 1000, (3, 6)),  # 0.1 s for two blocks: 97 of them take 4.85 s
        (0.05, 180, (18, 0)),  # 15 left would take 0.75 s
        (0.05, 200, (3, 1)),
        (0.5, 1000, (2, 61)),  # one is not timed
        (0.001, 1000, (100, 0)),
    ],
)
def test_workers_are_started_where_the_rest_takes_long(step, size, expected, monkeypatch):
    assert alone_until(monkeypatch, step, size // 10, size) == expected


def test_workers_are_started_after_a_while_where_the_size_is_unknown(monkeypatch):
    assert alone_until(monkeypatch, 0.15, 10, None) == (7, 1)


def test_file_that_grows_while_it_is_read_is_counted_to_its_end(log, monkeypatch):
    monkeypatch.setattr(workers.time, "process_time", Clock(1.0))
    with Team(1) as team:
        n_good = [one.n_good for one in count_all(read_blocks(log), PLAN, team, size=1000)]
        assert team.workers == []
    assert sum(n_good) == 500


def test_one_process_counts_a_small_file(log, monkeypatch):
    monkeypatch.setattr(processes, "Worker", None)
    assert tallied(read_blocks(log), jobs=2).n_good == {log: 500}


def counted_closed(blocks, plan=PLAN):
    held = counting.Counter(plan)
    found = [held.count_closed(block) for block in blocks]
    return found, held.rest()


def test_accumulator_comes_once_when_it_counts_no_more(log):
    found, rest = counted_closed(read_blocks(log))
    assert [one.accumulator for one in found] == [None] * len(found)
    assert (rest.source, rest.n_good, rest.accumulator.n) == (log, 0, 500)
    assert counted_closed([]) == ([], None)


def test_every_accumulator_comes_at_once_when_each_counts_one_block(log):
    found, rest = counted_closed(read_blocks(log), attrs.evolve(PLAN, is_bounded=False))
    assert sum(one.accumulator.n for one in found) == 500
    assert rest is None


def test_full_accumulator_comes_with_its_last_block(log, monkeypatch):
    monkeypatch.setattr(counting, "_BUFFERED_ROWS", 30)
    plan = attrs.evolve(PLAN, is_bounded=False, is_buffered=True)
    found, rest = counted_closed(read_blocks(log), plan)
    held = [one.accumulator for one in found]
    assert None in held
    assert sum(one.n for one in held if one is not None) + rest.accumulator.n == 500


@pytest.mark.slow
@pytest.mark.usefixtures("workers_at_once")
def test_this_process_counts_what_busy_workers_do_not(log, monkeypatch):
    monkeypatch.setattr(processes.Worker, "n_ahead", lambda _: processes.AHEAD)
    monkeypatch.setattr(processes.Worker, "begin", lambda *_: None)
    monkeypatch.setattr(processes.Worker, "ask", None)
    together = tallied(read_blocks(log), jobs=2)
    assert together.total() == tallied(read_blocks(log)).total()


@pytest.mark.slow
def test_worker_takes_blocks_once_it_is_up_and_has_answered():
    with started(1) as [worker]:
        worker.begin(PLAN)
        until(lambda: worker.n_ahead() == 0)
        assert not worker.has_answered()
        for _ in range(2):
            worker.ask(JsonBlock("log", 0, lines(30), 1))
        assert [worker.answer()[0].n_good for _ in range(2)] == [30, 30]
        worker.ask(None)
        assert (worker.answer().accumulator.n, worker.n_ahead()) == (60, 0)


@pytest.mark.slow
def test_team_counts_again_after_a_count_that_was_given_up(log, workers_at_once):
    with Team(1) as team:
        team.start(1)
        first = list(team.workers)
        given_up = count_all(read_blocks(log), PLAN, team)
        for _ in range(3):
            next(given_up)
        tally = RunTotal(PLAN)
        for counted in count_all(read_blocks(log), PLAN, team):
            tally.add(counted)
        assert team.workers == first != []
    assert tally.total() == tallied(read_blocks(log)).total()
    assert team.workers == []


@pytest.mark.parametrize(
    ("n_max", "size", "n_started"),
    [(2, None, 0), (2, 2**26 - 1, 0), (2, 2**26, 1), (2, 2**30, 2), (0, 2**30, 0)],
)
def test_large_files_start_workers_before_they_are_read(n_max, size, n_started, monkeypatch):
    monkeypatch.setattr(processes, "Worker", Mock())
    with Team(n_max) as team:
        for _ in range(2):
            team.start_for(size)
            assert len(team.workers) == n_started


@pytest.mark.parametrize(("n_threads", "can_fork"), [(1, True), (2, False)])
def test_workers_are_copies_of_a_process_of_one_thread(n_threads, can_fork, tmp_path, monkeypatch):
    for number in range(n_threads):
        (tmp_path / str(number)).mkdir()
    monkeypatch.setattr(processes, "_THREADS", tmp_path)
    monkeypatch.setattr(processes, "Worker", made := Mock())
    with Team(2) as team:
        team.start(2)
    assert [call.kwargs for call in made.call_args_list] == [{"can_fork": can_fork}] * 2


@each(
    ("n_left", "n_workers", "expected"),
    [(None, 1, 8), (1000, 1, 8), (100, 1, 6), (100, 4, 3), (0, 1, 1)],
)
def test_workers_have_fewer_blocks_ahead_at_the_end(n_left, n_workers, expected):
    block = JsonBlock("log", 0, b"", 10)
    assert workers._most_ahead(block, n_left, n_workers) == expected


@pytest.mark.slow
def test_answers_to_a_count_that_was_given_up_are_skipped():
    with started(1) as [worker]:
        worker.begin(PLAN)
        worker.ask(JsonBlock("log", 0, lines(30), 1))
        worker.begin(PLAN)
        assert worker.n_ahead() == processes.AHEAD
        worker.ask(JsonBlock("log", 0, lines(20), 1))
        until(worker.has_answered)
        assert worker.answer()[0].n_good == 20


@pytest.mark.slow
def test_worker_that_died_says_so_whenever_it_is_asked():
    with started(1) as [worker]:
        worker._process.kill()
        for _ in range(2):
            worker.ask(None)
            with pytest.raises(se.BadDataError, match="a worker process died"):
                worker.answer()


@pytest.mark.slow
@pytest.mark.parametrize("number", processes._ENDING)
def test_worker_leaves_signals_to_end_to_its_parent(number, monkeypatch):
    monkeypatch.setattr(processes, "_is_single_threaded", lambda: False)
    with started(1) as [worker]:
        os.kill(worker._process.pid, number)  # while it still imports
        worker.begin(PLAN)
        worker.ask(JsonBlock("log", 0, lines(30), 1))
        assert worker.answer()[0].n_good == 30


@pytest.mark.slow
def test_request_that_cannot_be_sent_fails_where_it_is_made():
    with started(1) as [worker], pytest.raises(AttributeError, match="pickle"):
        worker.ask(lambda: None)


@pytest.mark.slow
def test_workers_end_with_a_process_that_did_not_end_them():
    """So it is if Ctrl-C arrives before `Team.end` holds signals."""
    code = "from streameval.runs.processes import Team\nteam = Team(2)\nteam.start(2)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANGS)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_workers_end_although_an_interrupt_left_the_lock_of_imports_taken():
    """Python leaves it so if Ctrl-C arrives as it is taken; a thread that imports waits for it."""
    code = (
        "import _imp\n"
        "from streameval.runs import processes\n"
        "def serve(pipe, _):\n"
        "    import sched\n"
        "    pipe.send(sched.scheduler)\n"
        "processes._serve = serve\n"
        "with processes.Team(1) as team:\n"
        "    team.start(1)\n"
        "    _imp.acquire_lock()\n"
        "    team.workers[0].ask(None)\n"
        "    print(team.workers[0].answer().__name__)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, timeout=HANGS
    )
    assert ended.stdout == b"scheduler\n"


def test_every_worker_is_ended_when_an_interrupt_arrives_meanwhile(monkeypatch, tmp_path):
    ended = []

    class Worker:
        def __init__(self, *, can_fork):
            assert not can_fork

        def listen(self):
            pass

        def end(self):
            ended.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(processes, "Worker", Worker)
    monkeypatch.setattr(processes, "_THREADS", tmp_path / "threads of a system without /proc")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt), started(2) as both:
            begun = list(both)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == begun[::-1]


def test_worker_says_what_ended_a_block():
    held = counting.Counter(PLAN)
    counted, error = counting._answered(held, CsvBlock("log", 0, b"1\n", 2, layout=NO_COLUMNS))
    assert counted is None
    assert isinstance(error, se.BadDataError)
    assert counting._answered(held, JsonBlock("log", 0, lines(30), 1))[0].n_good == 30


def test_worker_returns_what_it_did_not_expect():
    def fail(accumulator, batch):
        raise MemoryError

    held = counting.Counter(attrs.evolve(PLAN, update=fail))
    counted, error = counting._answered(held, JsonBlock("log", 0, lines(30), 1))
    assert counted is None
    assert isinstance(error, MemoryError)
    assert "in fail\n    raise MemoryError" in error.__notes__[0]


def test_worker_answers_until_its_parent_lets_go(monkeypatch):
    handlers, codes = [], SimpleQueue()
    monkeypatch.setattr(processes.signal, "signal", lambda *handler: handlers.append(handler))
    monkeypatch.setattr(processes.os, "_exit", codes.put)
    block = JsonBlock("log", 0, lines(30), len(lines(30)))
    pipe, theirs = Pipe()
    thread = threading.Thread(target=processes._serve, args=(theirs, None), daemon=True)
    thread.start()
    pipe.send(PLAN)
    assert pipe.recv() is None
    for _ in range(3):  # it takes them ahead of its answers
        pipe.send(block)
    for _ in range(3):
        counted, error = pipe.recv()
        assert (counted.n_good, counted.accumulator, error) == (30, None, None)
    pipe.send(None)
    assert pipe.recv().accumulator.n == 90
    assert codes.empty()
    pipe.close()
    assert codes.get() == 1
    assert handlers == [(number, signal.SIG_IGN) for number in processes._ENDING]


def test_copy_of_a_process_drops_its_end_of_the_pipe(monkeypatch):
    class NoParentError(Exception):
        pass

    monkeypatch.setattr(processes.signal, "signal", Mock())
    monkeypatch.setattr(processes, "SimpleQueue", Mock(side_effect=NoParentError))
    copied, theirs = Pipe()
    with pytest.raises(NoParentError):
        processes._serve(theirs, copied)
    assert copied.closed
    assert not theirs.closed


def test_rows_that_the_accumulator_before_refuses_are_counted_by_a_new_one(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'{"t": 0, "s": 0}\n' * 40 + b'{"t": 7, "s": 0}\n' + b'{"t": 1, "s": 0}\n' * 40
    )
    columns = (COLUMNS[0], Argument("y_pred", ("s",), Labels(integers=True)))
    plan = Plan(se.ConfusionAccumulator(2).copy, columns, max_bad=1, is_bounded=True)
    found = [counted.accumulator for counted in count_all(read_blocks(str(path)), plan, Team(0))]
    assert len(set(map(id, found))) == 2
    assert tallied(read_blocks(str(path)), plan).total().n == 80


@each(
    ("quota", "allowed", "found"),
    [
        ("max 100000\n", 4, 4),
        ("200000 100000\n", 4, 2),
        ("250000 100000\n", 4, 2),
        ("50000 100000\n", 4, 1),
        ("", 4, 4),
        (None, 3, 3),
        (None, 64, 8),
        ("3200000 100000\n", 64, 8),
    ],
)
def test_cpus_are_those_of_the_process_and_its_container(
    quota, allowed, found, tmp_path, monkeypatch
):
    file = tmp_path / "cpu.max"
    file.unlink(missing_ok=True)
    if quota is not None:
        file.write_text(quota)
    monkeypatch.setattr(processes, "_QUOTA", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(allowed)), raising=False)
    assert processes.n_cpus() == found
