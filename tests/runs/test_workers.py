import gzip
import json
import signal
import threading
from concurrent.futures import Future
from multiprocessing import Pipe

import attrs
import pytest

import streameval as se
from streameval.io import Column, Labels, Numbers, read_blocks
from streameval.io.blocks import Emptied, emptied
from streameval.io.json_lines import JsonBlock
from streameval.runs import workers
from streameval.runs.counting import Plan
from streameval.runs.totals import Tally
from streameval.runs.workers import count_all

COLUMNS = (
    Column("y_true", ("t",), Labels(integers=True)),
    Column("y_score", ("s",), Numbers()),
)
PLAN = Plan(se.PRCurveSketch, COLUMNS, max_bad=10, is_bounded=True)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("streameval.io.lines.PIECE_BYTES", 512)


def lines(n_rows):
    return "".join(f'{{"t": {n % 2}, "s": {n / n_rows}}}\n' for n in range(n_rows)).encode()


def tallied(blocks, plan=PLAN, jobs=1):
    tally = Tally(plan)
    for counted in count_all(blocks, plan, jobs):
        tally.add(counted)
    return tally


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(500))
    return str(path)


@pytest.fixture
def no_start(monkeypatch):
    """Leave every block to the workers."""
    monkeypatch.setattr(workers, "_until_started", lambda *_: iter(()))


def both_forms(tmp_path, name):
    rows = [json.loads(line) for line in lines(500).splitlines()]
    if name == "log.csv":
        text = "\ufefft,s\n" + "".join(f"{row['t']},{row['s']}\n" for row in rows)
    else:
        text = "\ufeff" + lines(500).decode()
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return str(path)


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv", "log.jsonl.gz"])
def test_emptied_blocks_are_filled_with_their_bytes(name, tmp_path):
    blocks = list(read_blocks(both_forms(tmp_path, name)))
    others = [emptied(block) for block in blocks]
    assert len(blocks) > 3
    assert sum(isinstance(other, Emptied) for other in others) == (
        0 if name.endswith("gz") else len(blocks)
    )
    filled = [other.filled() if isinstance(other, Emptied) else other for other in others]
    assert filled == blocks


def test_block_of_a_file_that_became_shorter_is_refused(log, tmp_path):
    *_, last = map(emptied, read_blocks(log))
    (tmp_path / "log.jsonl").write_bytes(lines(400))
    with pytest.raises(se.BadDataError, match=r"log\.jsonl: has become shorter while it was read"):
        last.filled()


@pytest.mark.slow
@pytest.mark.usefixtures("no_start")
def test_two_workers_count_what_one_process_does(log):
    alone, together = tallied(read_blocks(log)), tallied(read_blocks(log), jobs=2)
    assert together.n_good == alone.n_good == {log: 500}
    assert together.total() == alone.total()


def test_worker_makes_one_state_of_a_group():
    blocks = [lines(30), b"{\n", lines(30)]
    group = [JsonBlock("log", at, data, len(data)) for at, data in enumerate(blocks)]
    counted, error = workers._count_group((group, None), PLAN)
    assert error is None
    assert len({id(one.accumulator) for one in counted}) == 1
    assert [len(one.bad) for one in counted] == [0, 1, 0]


def test_worker_returns_what_it_counted_before_an_error(log, tmp_path):
    group = [emptied(block) for block in read_blocks(log)][:3]
    (tmp_path / "log.jsonl").write_bytes(lines(500)[: group[1]._start])
    counted, error = workers._count_group((group, None), PLAN)
    assert [one.n_good for one in counted] == [len(next(read_blocks(log)).data.splitlines())]
    assert isinstance(error, se.BadDataError)


def test_worker_returns_what_it_did_not_expect():
    def fail(accumulator, batch):
        raise MemoryError

    group = [JsonBlock("log", 0, lines(30), len(lines(30)))]
    counted, error = workers._count_group((group, None), attrs.evolve(PLAN, update=fail))
    assert counted == []
    assert isinstance(error, MemoryError)
    assert "in fail\n    raise MemoryError" in error.__notes__[0]


def test_worker_answers_until_its_parent_lets_go(monkeypatch):
    handlers, leashes = [], []
    monkeypatch.setattr(workers.signal, "signal", lambda *handler: handlers.append(handler))
    monkeypatch.setattr(workers, "_end_with", leashes.append)
    group = [JsonBlock("log", 0, lines(30), len(lines(30)))]
    pipe, theirs = Pipe()
    thread = threading.Thread(target=workers._serve, args=(theirs, "leash", PLAN))
    thread.start()
    assert pipe.recv() is None
    for _ in range(2):
        pipe.send((group, None))
        counted, error = pipe.recv()
        assert ([one.n_good for one in counted], error) == ([30], None)
    pipe.close()
    thread.join()
    assert handlers == [(signal.SIGINT, signal.SIG_IGN)]
    assert leashes == ["leash"]


def test_groups_grow_and_hold_every_block_in_order(log):
    blocks = list(read_blocks(log)) * 20
    groups = [group for group, _ in workers._groups(blocks, 1)]
    assert [block for group in groups for block in group] == list(map(emptied, blocks))
    assert len(groups[0]) == 1
    assert max(map(len, groups)) == workers._MAX_GROUP


def test_error_of_reading_comes_after_the_blocks_before_it(log):
    def cut_short():
        yield from list(read_blocks(log))[:3]
        raise se.BadDataError("the end")

    groups = list(workers._groups(cut_short(), 1))
    assert sum(len(group) for group, _ in groups) == 3
    assert [str(error) for _, error in groups if error] == ["the end"]
    done = Future()
    done.set_result(([], groups[-1][1]))
    with pytest.raises(se.BadDataError, match="the end"):
        list(workers._told(done))


def test_blocks_are_counted_here_until_a_worker_is_up(log):
    starting = [Future(), Future()]
    blocks = read_blocks(log)
    ready = workers._until_started(blocks, starting)
    first = next(ready)
    starting[1].set_result(None)
    assert (first.first_line, list(ready)) == (1, [])
    assert next(blocks).first_line > 1


def test_no_worker_is_awaited_when_everything_is_counted(log):
    assert len(list(workers._until_started(read_blocks(log), [Future()]))) > 3


def test_rows_that_the_accumulator_before_refuses_are_counted_by_a_new_one(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'{"t": 0, "s": 0}\n' * 40 + b'{"t": 7, "s": 0}\n' + b'{"t": 1, "s": 0}\n' * 40
    )
    columns = (COLUMNS[0], Column("y_pred", ("s",), Labels(integers=True)))
    plan = Plan(se.ConfusionAccumulator(2).copy, columns, max_bad=1, is_bounded=True)
    found = [counted.accumulator for counted in count_all(read_blocks(str(path)), plan, 1)]
    assert len(set(map(id, found))) == 2
    assert tallied(read_blocks(str(path)), plan).total().n == 80
