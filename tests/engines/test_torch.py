"""Ranks of torch.distributed: one collective of bytes, the same state on every rank."""

from __future__ import annotations

import hashlib
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
from engines.cases import CASES, TABLE, every_case

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")

from engines import ranks  # noqa: E402

from streameval.engines import torch as adapter  # noqa: E402
from streameval.engines._shipping import packed  # noqa: E402
from streameval.engines.torch import EvaluationSampler, gather  # noqa: E402

pytestmark = pytest.mark.engine(name="torch")


@pytest.fixture(scope="module", params=[2, 4])
def world(request, tmp_path_factory):
    """What every rank of a world said, by rank."""
    return ranks.run(request.param, tmp_path_factory.mktemp("ranks"))


@every_case
def test_gathered_bytes_are_those_of_one_process(case, world):
    name = next(name for name, other in CASES.items() if other is case)
    expected = hashlib.sha256(case.serial().to_bytes()).hexdigest()
    assert {said["gathered"][name] for said in world} == {expected}


def test_one_rank_had_nothing(world):
    assert min(said["rows"] for said in world) == 0
    assert sum(said["rows"] for said in world) == TABLE.num_rows


def test_gather_leaves_its_argument_untouched(world):
    assert all(said["untouched"] for said in world)


def test_gather_over_a_group_of_some_ranks(world):
    outside = "`group` must include this rank."
    assert [said["in group"] for said in world] == [3, 3, outside, outside][: len(world)]


@pytest.mark.parametrize("name", ranks.LARGE)
def test_large_states_give_the_same_bytes_on_every_rank(name, world):
    expected = ranks.digest(se.merge([ranks.LARGE[name](rank) for rank in range(len(world))]))
    assert {said["large"][name] for said in world} == {expected}
    assert [said["dst"][name] for said in world] == [*[None] * (len(world) - 1), expected]


def test_large_counts_are_summed_and_other_states_sent_in_turn(world):
    for said in world:
        assert said["ways"] == {
            "matrix": ["_all_gather", "_summed"],
            "weighted": ["_all_gather", "_parcels"],
            "curve": ["_all_gather", "_parcels"],
            "names": ["_all_gather", "_parcels"],
        }


def test_a_sum_past_64_bits_raises_on_every_rank(world):
    assert {said["too much"] for said in world} == {"CountOverflowError"}


def test_the_destination_must_be_in_the_group(world):
    assert {said["outside"] for said in world} == {
        f"`dst` must be a rank of the group, got {len(world)}."
    }


def test_options_that_differ_are_named_on_every_rank(world):
    assert {said["differ"] for said in world} == {
        "cannot merge: `threshold` differs (0.25 and 0.5)."
    }


def test_without_a_process_group_there_is_one_rank():
    acc = se.ConfusionAccumulator().update([1, 0], [1, 1])
    gathered = gather(acc)
    assert gathered == acc
    assert gathered is not acc


def test_a_world_of_one_rank(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        short = se.ConfusionAccumulator().update([1, 0], [1, 1])
        long = ranks.matrix(0, 1)
        assert len(packed(short)) < 2**16 < len(packed(long))
        assert (gather(short), gather(long)) == (short, long)
        assert len(EvaluationSampler(range(103))) == 103
        monkeypatch.setattr(torch.distributed, "get_rank", lambda group=None: -1)
        with pytest.raises(se.InvalidInputError, match="`group` must include this rank"):
            gather(short)
    finally:
        torch.distributed.destroy_process_group()


def test_what_is_no_accumulator_is_refused():
    with pytest.raises(se.InvalidInputError, match="`acc` must be an accumulator, got int"):
        gather(1)


@pytest.mark.parametrize(("n_rows", "n_ranks"), [(103, 4), (3, 4), (0, 2), (8, 2)])
def test_sampler_gives_every_row_once(n_rows, n_ranks):
    samplers = [
        EvaluationSampler(range(n_rows), num_replicas=n_ranks, rank=rank) for rank in range(n_ranks)
    ]
    dealt = [list(sampler) for sampler in samplers]
    assert sorted(chain(*dealt)) == list(range(n_rows))
    assert [len(sampler) for sampler in samplers] == [len(rows) for rows in dealt]
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_sampler_of_the_library_pads():
    samplers = [
        torch.utils.data.DistributedSampler(range(103), 4, rank, shuffle=False) for rank in range(4)
    ]
    assert sum(map(len, samplers)) == 104


def test_sampler_asks_the_process_group(world):
    assert sum(said["sampled"] for said in world) == 103


def test_sampler_works_in_a_loader():
    sampler = EvaluationSampler(range(103), num_replicas=4, rank=3)
    loader = torch.utils.data.DataLoader(range(103), batch_size=10, sampler=sampler)
    assert [len(batch) for batch in loader] == [10, 10, 5]


def test_rank_outside_of_the_world_is_refused():
    with pytest.raises(se.InvalidInputError, match="`rank` must be from 0 to 3, got 4"):
        EvaluationSampler(range(103), num_replicas=4, rank=4)


class Threads:
    """Ranks that are threads, with the collectives that `gather` calls."""

    group = SimpleNamespace(WORLD=None)

    def __init__(self, n_ranks):
        self.n_ranks = n_ranks
        self.own = threading.local()
        self.given = [None] * n_ranks
        self.barrier = threading.Barrier(n_ranks, timeout=60)
        pairs = [(a, b) for a in range(n_ranks) for b in range(n_ranks)]
        self.sent = {pair: queue.Queue() for pair in pairs}

    def run(self, function):
        def rank(number):
            self.own.rank = number
            try:
                return function(number)
            except se.StreamevalError as error:
                return error

        with ThreadPoolExecutor(self.n_ranks) as pool:
            return list(pool.map(rank, range(self.n_ranks)))

    def is_available(self):
        return True

    is_initialized = is_available

    def get_rank(self, group=None):
        return self.own.rank

    def get_world_size(self, group=None):
        return self.n_ranks

    def get_backend(self, group=None):
        return "gloo"

    def get_process_group_ranks(self, group):
        return list(range(self.n_ranks))

    def _all(self, tensor):
        self.given[self.own.rank] = tensor.clone()
        self.barrier.wait()
        found = list(self.given)
        self.barrier.wait()
        return found

    def all_gather(self, received, sent, group=None):
        for into, tensor in zip(received, self._all(sent), strict=True):
            into.copy_(tensor)

    def all_reduce(self, tensor, group=None):
        tensor.copy_(sum(self._all(tensor)))

    def broadcast(self, tensor, src, group=None):
        tensor.copy_(self._all(tensor)[src])

    def send(self, tensor, dst, group=None):
        self.sent[self.own.rank, dst].put(tensor.clone())

    def recv(self, tensor, src, group=None):
        tensor.copy_(self.sent[src, self.own.rank].get(timeout=60))


@pytest.fixture
def threads(monkeypatch, request):
    made = Threads(request.param)
    monkeypatch.setattr(adapter, "distributed", made)
    return made


many = pytest.mark.parametrize("threads", [1, 3, 5], indirect=True)


@many
@pytest.mark.parametrize("name", ["matrix", "curve"])
@pytest.mark.parametrize("to", ["all", "first", "last"])
def test_any_number_of_ranks_gives_the_same_bytes(name, to, threads):
    made = [ranks.LARGE[name](rank) for rank in range(threads.n_ranks)]
    dst = {"all": None, "first": 0, "last": threads.n_ranks - 1}[to]
    gathered = threads.run(lambda rank: gather(made[rank], dst=dst))
    expected = se.merge(made)
    assert gathered == [
        expected if dst in (None, rank) else None for rank in range(threads.n_ranks)
    ]


@pytest.mark.filterwarnings("ignore:all 3 ranks have counted the same")
@pytest.mark.parametrize("threads", [3], indirect=True)
@pytest.mark.parametrize("dst", [None, 1])
def test_an_error_leaves_nobody_waiting(dst, threads):
    acc = ranks.matrix(0, 2**48)
    found = threads.run(lambda rank: gather(acc, dst=dst))
    are_told = [isinstance(one, se.CountOverflowError) for one in found]
    assert are_told == [dst in (None, rank) for rank in range(3)]
    with pytest.raises(se.InvalidInputError, match="`dst` must be a rank of the group, got 3"):
        raise threads.run(lambda rank: gather(acc, dst=3))[0]


@pytest.mark.parametrize("threads", [2], indirect=True)
def test_options_too_long_for_a_collective_may_differ(threads):
    made = [ranks.names(0), ranks.names(1)]
    assert threads.run(lambda rank: gather(made[rank])) == [se.merge(made)] * 2
    made[1] = se.ConfusionAccumulator([*made[0].options["classes"][1:], "other"])
    for error in threads.run(lambda rank: gather(made[rank])):
        assert isinstance(error, se.IncompatibleStateError)


@pytest.mark.parametrize("threads", [2], indirect=True)
@pytest.mark.parametrize("n_classes", [2, 300])
def test_ranks_that_all_have_every_row_are_told(n_classes, threads):
    drawn = np.random.default_rng(0).integers(0, 2, (2, 100))
    acc = se.ConfusionAccumulator(n_classes).update(*drawn)
    with pytest.warns(UserWarning, match="all 2 ranks have counted the same 100 rows") as told:
        threads.run(lambda rank: gather(acc))
    assert len(told) == 1
    few = se.ConfusionAccumulator().update(*drawn[:, 1:])
    assert [total.n for total in threads.run(lambda rank: gather(few))] == [198, 198]


@pytest.mark.parametrize("threads", [2], indirect=True)
def test_ranks_with_equal_collections_are_told(threads):
    empty = se.Collection({"rows": se.ConfusionAccumulator(), "mean": se.RegressionAccumulator()})
    assert threads.run(lambda rank: gather(empty)) == [empty, empty]
    counted = empty.update(*np.zeros((2, 100), int))
    with pytest.warns(UserWarning, match="all 2 ranks have counted the same 100 rows"):
        threads.run(lambda rank: gather(counted))


@pytest.mark.parametrize("threads", [4], indirect=True)
@pytest.mark.parametrize("dst", [None, 3])
def test_rows_that_a_sampler_repeats_are_told(dst, threads):
    def counted(rank, sampler):
        rows = list(sampler(range(103), num_replicas=4, rank=rank))
        acc = se.RegressionAccumulator().update(rows, rows)
        return gather(acc, dst=dst, n_rows=103)

    repeating = torch.utils.data.DistributedSampler
    said = "4 ranks counted 104 rows of a data set of 103: .*EvaluationSampler"
    with pytest.warns(UserWarning, match=said) as told:
        threads.run(lambda rank: counted(rank, repeating))
    assert len(told) == 1
    assert threads.run(lambda rank: counted(rank, EvaluationSampler))[3].n == 103


def test_rows_that_one_rank_left_out_are_told():
    with pytest.warns(UserWarning, match="1 rank counted 1 rows of a data set of 2"):
        gather(se.MeanAccumulator().update(1.0), n_rows=2)


def test_rows_of_a_collection_are_those_of_the_member_that_counts_most():
    members = {"some": se.ConfusionAccumulator(ignore_label=0), "all": se.ConfusionAccumulator()}
    acc = se.Collection(members).update([0, 1], [1, 1])
    assert gather(acc, n_rows=2) == acc
    with pytest.warns(UserWarning, match="1 rank counted 2 rows of a data set of 3"):
        gather(acc, n_rows=3)
