"""Gather: what two ranks of torch.distributed counted, beside gathering their scores."""

from __future__ import annotations

import atexit
import multiprocessing
import tempfile
from collections.abc import Callable
from functools import cache, partial
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

    def gather(self) -> Any:
        """Merge the curves of all ranks."""
        from streameval.engines.torch import gather  # noqa: PLC0415

        return gather(self.curves)

    def all_gather(self) -> list[Any]:
        """Bring the rows of all ranks to each."""
        import torch  # noqa: PLC0415
        from torch import distributed  # noqa: PLC0415

        gathered = []
        for tensor in self.tensors:
            parts = [torch.empty_like(tensor) for _ in range(RANKS)]
            distributed.all_gather(parts, tensor)
            gathered.append(torch.cat(parts))
        return gathered


def join(rank: int, path: str) -> None:
    """Join the group of the ranks."""
    import torch  # noqa: PLC0415
    from torch import distributed  # noqa: PLC0415

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", f"file://{path}", rank=rank, world_size=RANKS)


def follow(path: str) -> None:
    """Be the other rank: do what the first one does, on as many rows."""
    join(1, path)
    made = cache(partial(Rank, 1))
    while work := told(""):
        name, _, rows = work.partition(" ")
        getattr(made(int(rows)), name)()
    leave()


def leave() -> None:
    """Leave the group, whose threads would otherwise outlive it."""
    from torch import distributed  # noqa: PLC0415

    distributed.destroy_process_group()


def told(work: str) -> str:
    """Tell the other rank what follows, or as that rank hear it."""
    from torch import distributed  # noqa: PLC0415

    said = [work]
    distributed.broadcast_object_list(said, 0)
    return said[0]


@cache
def started() -> None:
    """Start the other rank, which ends with this process."""
    folder = tempfile.TemporaryDirectory()
    path = str(Path(folder.name, "store"))
    other = multiprocessing.get_context("spawn").Process(target=follow, args=(path,), daemon=True)
    other.start()
    join(0, path)

    def stop() -> None:
        told("")
        leave()
        other.join()
        folder.cleanup()

    atexit.register(stop)


def together(rows: int, name: str) -> Callable[[], Any]:
    """Make what both ranks do at once; they wait for each other before and after."""
    started()
    rank = Rank(0, rows)

    def run() -> Any:
        told(f"{name} {rows}")
        return getattr(rank, name)()

    return run


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
        run = together(*given, "gather")
        timed = run if measure == "time" else partial(parcel_size, *given)
        return Side(timed, lambda: numbers_of(run()))

    def theirs(_: Any, given: Data) -> Side:
        run = together(*given, "all_gather")
        size = sum(part.nbytes for part in rows_of(0, *given))
        return Side(run if measure == "time" else lambda: size, lambda: counted(run()))

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
