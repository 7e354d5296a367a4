"""What a rank of `torch.distributed` does, in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from engines.cases import CASES, TABLE
from torch import distributed, multiprocessing

import streameval as se
from streameval.engines import torch as engine

LENGTHS = {"empty": 0, "one collective": 100, "just one": 65_528, "just two": 65_529, "long": 10**6}


def run(n_ranks: int, folder: Path) -> list[dict[str, Any]]:
    """Start the ranks, and return what each of them wrote."""
    multiprocessing.spawn(_rank, (n_ranks, str(folder)), n_ranks)
    return [json.loads((folder / str(rank)).read_text()) for rank in range(n_ranks)]


def _rank(rank: int, n_ranks: int, folder: str) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = distributed.FileStore(f"{folder}/store", n_ranks)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=n_ranks)
    said = _said(rank, n_ranks)
    Path(folder, str(rank)).write_text(json.dumps(said))
    distributed.barrier()
    distributed.destroy_process_group()


def _said(rank: int, n_ranks: int) -> dict[str, Any]:
    mine = _own_batches(rank, n_ranks)
    acc = se.RegressionAccumulator().update([1.0], [2.0])
    before = acc.to_bytes()
    engine.gather(acc)
    return {
        "rows": sum(batch.num_rows for batch in mine),
        "gathered": {name: _gathered(case, mine) for name, case in CASES.items()},
        "untouched": acc.to_bytes() == before,
        "in group": _in_group(rank),
        "bytes": {name: _arrived(length, rank, n_ranks) for name, length in LENGTHS.items()},
        "collectives": {name: _collectives(length) for name, length in LENGTHS.items()},
        "differ": _differ(rank),
        "sampled": len(engine.EvaluationSampler(range(103))),
    }


def _own_batches(rank: int, n_ranks: int) -> list[Any]:
    """Cut unevenly; the last rank has none."""
    if rank == n_ranks - 1:
        return []
    start = TABLE.num_rows * rank**2 // (n_ranks - 1) ** 2
    end = TABLE.num_rows * (rank + 1) ** 2 // (n_ranks - 1) ** 2
    size = 100 + 37 * rank
    return [TABLE.slice(at, min(size, end - at)) for at in range(start, end, size)]


def _gathered(case: Any, batches: list[Any]) -> str:
    acc = case.make()
    for batch in batches:
        acc.merge(case.serial(batch))
    return hashlib.sha256(engine.gather(acc).to_bytes()).hexdigest()


def _in_group(rank: int) -> Any:
    group = distributed.new_group([0, 1])
    acc = se.RegressionAccumulator().update([0.0] * (rank + 1), [0.0] * (rank + 1))
    try:
        return engine.gather(acc, group).n
    except se.InvalidInputError as error:
        return str(error)


def _arrived(length: int, rank: int, n_ranks: int) -> str:
    """Send bytes that tell the rank; every second rank sends none."""
    sent = [bytes([place + 1]) * (length if place % 2 == 0 else 0) for place in range(n_ranks)]
    return "as sent" if engine._gather_bytes(sent[rank], None) == sent else "otherwise"


def _collectives(length: int) -> int:
    calls = []
    original = engine._all_gather

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    engine._all_gather = counted
    try:
        engine._gather_bytes(bytes(length), None)
    finally:
        engine._all_gather = original
    return len(calls)


def _differ(rank: int) -> str:
    try:
        engine.gather(se.ConfusionAccumulator(threshold=0.25 if rank == 0 else 0.5))
    except se.IncompatibleStateError as error:
        return str(error)
    return "merged"
