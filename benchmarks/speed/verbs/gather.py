"""Gather: what two ranks of torch.distributed counted, beside gathering their scores."""

from __future__ import annotations

import atexit
import multiprocessing
import shutil
import tempfile
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Measure, Peer, Side

CLASSES = 100
RANKS = 2


@cache
def rows_of(rank: int, rows: int) -> Data:
    """Draw the labels and the float32 probabilities of 100 classes that a rank predicts."""
    truth, scores = data.probabilities(CLASSES, rows // RANKS, data.SEED + rank)
    return truth, np.ascontiguousarray(scores, np.float32)


class Rank:
    """One rank, with what it counted and what it would otherwise have kept."""

    def __init__(self, rank: int, rows: int) -> None:
        import torch  # noqa: PLC0415 - only these contests need it

        truth, scores = rows_of(rank, rows)
        self.curves = se.PRCurveSketch(classes=CLASSES).update(truth, scores)
        self.tensors = torch.from_numpy(truth), torch.from_numpy(scores)
        self.gathered: Any = None

    def gather(self) -> None:
        """Merge the curves of all ranks."""
        from streameval.engines.torch import gather  # noqa: PLC0415

        self.gathered = gather(self.curves)

    def all_gather(self) -> None:
        """Bring the rows of all ranks to each."""
        import torch  # noqa: PLC0415
        from torch import distributed  # noqa: PLC0415

        self.gathered = []
        for tensor in self.tensors:
            parts = [torch.empty_like(tensor) for _ in range(RANKS)]
            distributed.all_gather(parts, tensor)
            self.gathered.append(torch.cat(parts))

    def numbers(self) -> dict[str, Any]:
        """Read what was gathered last."""
        if isinstance(self.gathered, list):
            return counted(tuple(self.gathered))
        return numbers_of(self.gathered)


def follow(rank: int, path: str, orders: Connection) -> None:
    """Be a rank: do what is ordered, on as many rows, and send what it returns."""
    import torch  # noqa: PLC0415
    from torch import distributed  # noqa: PLC0415

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", f"file://{path}", rank=rank, world_size=RANKS)
    made = cache(partial(Rank, rank))
    while True:
        name, rows = orders.recv()
        orders.send(getattr(made(rows), name)())


@cache
def started() -> list[Connection]:
    """Start the ranks, which end with this process.

    This process is none of them: a metric of torchmetrics would look for the other rank in each
    contest that follows.
    """
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    context, orders = multiprocessing.get_context("spawn"), []
    for rank in range(RANKS):
        here, there = context.Pipe()
        arguments = rank, str(Path(folder, "store")), there
        context.Process(target=follow, args=arguments, daemon=True).start()
        orders.append(here)
    return orders


def together(name: str, rows: int) -> Any:
    """Let all ranks do the same, and return what the first one did."""
    ranks = started()
    for rank in ranks:
        rank.send((name, rows))
    first, *_ = [rank.recv() for rank in ranks]
    return first


def side(name: str, rows: int) -> Side:
    """Get what all ranks do at once ready."""
    return Side(partial(together, name, rows), partial(together, "numbers", rows))


def numbers_of(curves: Any) -> dict[str, Any]:
    """Read what was counted."""
    return {"n": curves.n, "roc_auc": curves.compute().roc_auc("macro")}


def counted(batch: Data) -> dict[str, Any]:
    """Count gathered rows."""
    return numbers_of(se.PRCurveSketch(classes=CLASSES).update(*batch))


def parcel_size(rows: int) -> int:
    """Count the bytes that a rank sends."""
    from streameval.engines._shipping import packed  # noqa: PLC0415

    return len(packed(Rank(0, rows).curves))


def curves(rows: int, measure: Measure) -> Contest:
    """Gather one curve for each of 100 classes."""

    def ours(given: Data) -> Side:
        gathering = side("gather", *given)
        return gathering if measure == "time" else Side(partial(parcel_size, *given))

    def theirs(_: Any, given: Data) -> Side:
        size = sum(part.nbytes for part in rows_of(0, *given))
        return side("all_gather", *given) if measure == "time" else Side(lambda: size)

    goal = 0.33 if measure == "time" else 1.0
    peer = Peer(
        library="torch",
        name="all_gather of labels and scores",
        ready=theirs,
        goal=goal,
        why="We pack, check and merge, where two processes of one machine share its memory.",
    )
    return Contest(
        verb="gather",
        accumulator="PRCurveSketch",
        work=f"curves of {CLASSES} classes, 2 ranks" + ", bytes" * (measure == "size"),
        size=rows,
        data=lambda rows: (rows,),
        ours=ours,
        peers=[peer],
        measure=measure,
    )


CONTESTS = [
    curves(2_000, "time"),
    curves(20_000, "time"),
    curves(2_000, "size"),
    curves(20_000, "size"),
    curves(200_000, "size"),
]
