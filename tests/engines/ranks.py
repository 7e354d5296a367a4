"""What a rank of `torch.distributed` does, in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from engines.cases import CASES, TABLE
from torch import distributed, multiprocessing

import streameval as se
from streameval.engines import torch as engine

WAYS = ("_all_gather", "_summed", "_parcels")
# Large on some ranks, small on others; the options of the last are larger than a collective.
LARGE = {
    "matrix": lambda rank: matrix(rank, rank + 1),
    "weighted": lambda rank: matrix(rank, 0.5),
    "curve": lambda rank: curve(1000 + 20_000 * (rank % 2)),
    "names": lambda rank: names(rank),  # noqa: PLW0108 - it stands below
}


def matrix(rank: int, weight: float) -> Any:
    labels = np.random.default_rng(rank).integers(0, 1000, (2, 20_000 * (rank + 1)))
    return se.ConfusionAccumulator(1000, top_k=1).update(
        *labels, sample_weight=[weight] * labels.shape[1]
    )


def curve(n_rows: int) -> Any:
    drawn = np.random.default_rng(n_rows).random((2, n_rows))
    return se.PRCurveSketch().update(drawn[0] < drawn[1], drawn[1])


def names(rank: int) -> Any:
    letters = np.random.default_rng(0).integers(97, 123, (1000, 200), np.uint8)
    classes = [bytes(row).decode() for row in letters]
    return se.ConfusionAccumulator(classes).update(
        [classes[rank]], [classes[3]], sample_weight=[0.25]
    )


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
        "large": {name: _large(make(rank)) for name, make in LARGE.items()},
        "ways": {name: _ways(make(rank)) for name, make in LARGE.items()},
        "dst": {name: _to_last(make(rank), n_ranks) for name, make in LARGE.items()},
        "too much": _too_much(),
        "outside": _outside(n_ranks),
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


def digest(acc: Any) -> str:
    return hashlib.sha256(acc.to_bytes()).hexdigest()


def _large(acc: Any) -> str:
    return digest(engine.gather(acc))


def _ways(acc: Any) -> list[str]:
    """How states are brought together, by the functions that are called."""
    called: list[str] = []
    originals = {name: getattr(engine, name) for name in WAYS}
    for name, original in originals.items():

        def noted(*arguments: Any, name: str = name, original: Any = original) -> Any:
            called.append(name)
            return original(*arguments)

        setattr(engine, name, noted)
    try:
        engine.gather(acc)
    finally:
        for name, original in originals.items():
            setattr(engine, name, original)
    return called


def _to_last(acc: Any, n_ranks: int) -> str | None:
    gathered = engine.gather(acc, dst=n_ranks - 1)
    return None if gathered is None else digest(gathered)


def _too_much() -> str:
    """Counts whose sum is past 64 bits."""
    try:
        engine.gather(matrix(0, 2**48))
    except se.CountOverflowError as error:
        return type(error).__name__
    return "merged"


def _outside(n_ranks: int) -> str:
    try:
        engine.gather(se.ConfusionAccumulator(), dst=n_ranks)
    except se.InvalidInputError as error:
        return str(error)
    return "gathered"


def _differ(rank: int) -> str:
    try:
        engine.gather(se.ConfusionAccumulator(threshold=0.25 if rank == 0 else 0.5))
    except se.IncompatibleStateError as error:
        return str(error)
    return "merged"
