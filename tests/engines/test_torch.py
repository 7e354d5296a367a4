"""Ranks of torch.distributed: one collective of bytes, the same state on every rank."""

from __future__ import annotations

import hashlib
from itertools import chain

import pytest
from engines.cases import CASES, TABLE, every_case

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")

from engines import ranks  # noqa: E402

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


@pytest.mark.parametrize("size", ["empty", "one collective", "just one", "just two", "long"])
def test_bytes_of_any_length_arrive_whole(size, world):
    assert {said["bytes"][size] for said in world} == {"as sent"}


def test_small_states_take_one_collective_and_large_ones_two(world):
    for said in world:
        assert said["collectives"] == {
            "empty": 1,
            "one collective": 1,
            "just one": 1,
            "just two": 2,
            "long": 2,
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
        long = se.ConfusionAccumulator(300).update([1, 2], [2, 2])
        assert len(short.to_bytes()) < 2**16 < len(long.to_bytes())
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
