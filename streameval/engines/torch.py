"""Evaluation on the ranks of `torch.distributed`: the states of all ranks become one."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
from collections.abc import Iterator, Sized
from typing import Any, TypeVar

from streameval.accumulators.base import Accumulator
from streameval.accumulators.checkpoint import from_bytes
from streameval.accumulators.merging import merge
from streameval.errors import InvalidInputError

try:
    import torch
    from torch import distributed
    from torch.utils.data import Sampler
except ImportError as error:
    raise ImportError('torch is missing: pip install "streameval[torch]".') from error

__all__ = ["EvaluationSampler", "gather"]

AccumulatorT = TypeVar("AccumulatorT", bound=Accumulator[Any, Any])

_HEAD = 2**16
"""Bytes of the first collective. A state that fits needs no second one."""


def gather(acc: AccumulatorT, group: Any = None) -> AccumulatorT:
    """Merge the accumulators of all ranks into a new one, the same bytes on every rank.

    Every rank of the group must call it, one that has counted nothing too. States of up to
    65,528 bytes travel in one collective, larger ones in two.

    Parameters
    ----------
    acc : accumulator
        That of this rank, with the same options as on the others. It is left untouched.
    group : process group, optional
        The default group if there is none. Without `torch.distributed.init_process_group`
        there is one rank.

    Returns
    -------
    A new accumulator.

    Raises
    ------
    InvalidInputError
        When `acc` is no accumulator, or this rank is not in the group.
    IncompatibleStateError
        On every rank, when class or options differ between ranks; the message names them.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.engines.torch import gather
    >>> gather(se.ConfusionAccumulator().update([1, 0], [1, 1])).compute().accuracy
    0.5
    """
    if not isinstance(acc, Accumulator):
        raise InvalidInputError(f"must be an accumulator, got {type(acc).__name__}", argument="acc")
    if not (distributed.is_available() and distributed.is_initialized()):
        return acc.copy()
    if distributed.get_rank(group) < 0:
        raise InvalidInputError("must include this rank", argument="group")
    states = _gather_bytes(acc.to_bytes(), group)
    total: AccumulatorT = merge(from_bytes(state) for state in states)
    return total


class EvaluationSampler(Sampler[int]):  # type: ignore[misc] # it is Any to the type checker
    """Deal the rows of a data set out to the ranks, each row exactly once.

    `torch.utils.data.DistributedSampler` repeats rows until all ranks have equally many:
    103 rows on 4 ranks are counted as 104. Here, 3 ranks have 26 rows and one has 25.

    Parameters
    ----------
    data_source : sized
        The data set.
    num_replicas, rank : int, optional
        How many ranks there are, and which one this is; by default those of the process group.

    Notes
    -----
    Ranks may have different numbers of batches, so the loop must not communicate: evaluate
    ``model.module`` instead of a model in `DistributedDataParallel`, which synchronises its
    buffers in every forward pass.

    Examples
    --------
    >>> from streameval.engines.torch import EvaluationSampler
    >>> [len(EvaluationSampler(range(103), num_replicas=4, rank=rank)) for rank in range(4)]
    [26, 26, 26, 25]
    """

    def __init__(
        self, data_source: Sized, *, num_replicas: int | None = None, rank: int | None = None
    ) -> None:
        replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        own_rank = distributed.get_rank() if rank is None else rank
        if not 0 <= own_rank < replicas:
            raise InvalidInputError(
                f"must be from 0 to {replicas - 1}, got {own_rank}", argument="rank"
            )
        self._rows = range(own_rank, len(data_source), replicas)

    def __iter__(self) -> Iterator[int]:
        """Yield the rows of this rank in order."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return the number of rows of this rank."""
        return len(self._rows)


def _gather_bytes(data: bytes, group: Any) -> list[bytes]:
    """Return the bytes of every rank in rank order; all ranks see the same lengths."""
    space = _HEAD - 8
    framed = len(data).to_bytes(8, "little") + data
    heads = _all_gather(framed[:_HEAD], _HEAD, group)
    lengths = [int.from_bytes(head[:8], "little") for head in heads]
    longest = max(lengths)
    tails = [b""] * len(heads)
    if longest > space:
        tails = _all_gather(data[space:], longest - space, group)
    return [
        (head[8:] + tail)[:length] for head, tail, length in zip(heads, tails, lengths, strict=True)
    ]


def _all_gather(data: bytes, size: int, group: Any) -> list[bytes]:
    device = _device(group)
    sent = torch.zeros(size, dtype=torch.uint8)
    sent[: len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else sent[:0]
    received = [
        torch.empty(size, dtype=torch.uint8, device=device)
        for _ in range(distributed.get_world_size(group))
    ]
    distributed.all_gather(received, sent.to(device), group=group)
    return [tensor.cpu().numpy().tobytes() for tensor in received]


def _device(group: Any) -> Any:
    """Choose the device of the tensors of a collective: NCCL takes GPU tensors only."""
    if distributed.get_backend(group) == "nccl":
        return torch.device("cuda", torch.cuda.current_device())  # pragma: no cover (no GPU in CI)
    return torch.device("cpu")
