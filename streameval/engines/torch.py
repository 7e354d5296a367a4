"""Evaluation on the ranks of `torch.distributed`: the states of all ranks become one."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
import hashlib
import struct
import warnings
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar, overload

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.accumulators.collection import heaviest
from streameval.engines._shipping import packed, unpacked
from streameval.errors import InvalidInputError, StreamevalError
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.metrics.bounded import Bounded, Threshold
from streameval.states.confusion import MatrixCounts

try:
    import torch
    from torch import distributed
    from torch.utils.data import Sampler
except ImportError as error:
    raise ImportError('torch is missing: pip install "streameval[torch]".') from error

__all__ = ["EvaluationSampler", "gather"]

# Certified metrics in a checkpoint; `torch.load` takes the classes that it knows alone.
torch.serialization.add_safe_globals([Bounded, Threshold, float])

AccumulatorT = TypeVar("AccumulatorT", bound=Accumulator[Any, Any])

_HEAD = 2**16
"""Bytes of the first collective. Where every parcel fits, there is no other."""
_FRAME = struct.Struct("<BQ8sQI")
_MANY_ROWS = 100  # from here on, equal states of ranks are no coincidence
_IS_LARGE, _IS_SUMMABLE = 1, 2


@overload
def gather(
    acc: AccumulatorT, group: Any = None, *, dst: None = None, n_rows: int | None = None
) -> AccumulatorT: ...
@overload
def gather(
    acc: AccumulatorT, group: Any = None, *, dst: int, n_rows: int | None = None
) -> AccumulatorT | None: ...
def gather(
    acc: AccumulatorT, group: Any = None, *, dst: int | None = None, n_rows: int | None = None
) -> AccumulatorT | None:
    """Merge the accumulators of all ranks into a new one, the same bytes on every rank.

    Every rank of the group must call it, even one that has counted nothing. Up to 65,507 bytes of
    each travel in one collective. If there are more, each rank sends its own in turn, and the
    others merge them as they arrive; counts of classes with whole weights are added up by an
    `all_reduce`. Pending rows of curves travel as rows, and cells in 2 to 6 bytes: both are less
    than the scores.

    Parameters
    ----------
    acc : accumulator
        That of this rank, with the same options as on the others. It is left untouched.
    group : process group, optional
        The default group if there is none. Without `torch.distributed.init_process_group`
        there is one rank.
    dst : int, optional
        The one rank that needs the result, as `torch.distributed.gather` has it; the others get
        None.
    n_rows : int, optional
        The number of rows of the data set that count. A warning says if the ranks counted more
        or fewer: `DistributedSampler` repeats rows, and `EvaluationSampler` does not.

    Returns
    -------
    A new accumulator, or None on a rank that is not `dst`.

    Warns
    -----
    UserWarning
        If the ranks have not counted `n_rows`; or if all of them have the same state of 100 rows
        or more, as after Accelerate's `gather_for_metrics`, where each has every row already.

    Raises
    ------
    InvalidInputError
        When `acc` is no accumulator, or this rank or `dst` is not in the group.
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
        _check_rows(acc, n_rows, 1)
        return acc.copy()
    rank = distributed.get_rank(group)
    if rank < 0:
        raise InvalidInputError("must include this rank", argument="group")
    root = None if dst is None else _rank_in(group, dst)
    total: Any = _total(acc, group, root)
    if rank == (root or 0):
        _check_rows(total, n_rows, distributed.get_world_size(group))
    return total if root is None or root == rank else None


def _warn_of_repeats(acc: Any, group: Any) -> None:
    """Warn on the first rank that all have counted the same rows, if these are many."""
    n = heaviest(acc.n)
    if n >= _MANY_ROWS and not distributed.get_rank(group):
        warnings.warn(
            f"all {distributed.get_world_size(group)} ranks have counted the same {n:,} rows: "
            "after gather_for_metrics, each has every row, so compute the result without gather",
            stacklevel=5,
        )


def _check_rows(total: Any, n_rows: int | None, n_ranks: int) -> None:
    """Warn if another number of rows than those of the data set has been counted."""
    if n_rows is not None and (n := heaviest(total.n)) != n_rows:
        warnings.warn(
            f"{n_ranks} {'rank' if n_ranks == 1 else 'ranks'} counted {n:,} rows of a data "
            f"set of {n_rows:,}: pass "
            "streameval.engines.torch.EvaluationSampler to the data loader, which deals out each "
            "row once, where DistributedSampler repeats some",
            stacklevel=3,
        )


def _rank_in(group: Any, dst: int) -> int:
    """Return the rank in a group that a rank of the world has."""
    ranks = distributed.get_process_group_ranks(group or distributed.group.WORLD)
    if dst not in ranks:
        raise InvalidInputError(f"must be a rank of the group, got {dst!r}", argument="dst")
    return int(ranks.index(dst))


def _total(acc: Any, group: Any, root: int | None) -> Any:
    """Merge what all ranks have: on all of them, or at least on one."""
    parcel, counts = packed(acc), _counts(acc)
    shown, flags = parcel, 0 if counts is None else _IS_SUMMABLE
    if len(parcel) > _HEAD - _FRAME.size:  # options that differ are noticed by the empty ones
        shown, flags = packed(type(acc)._empty(acc._config)), flags | _IS_LARGE
    shown = shown if len(shown) <= _HEAD - _FRAME.size else b""
    n = 0 if counts is None else int(counts[0])
    ends = parcel[:_HEAD] + parcel[-_HEAD:]  # all of it would take as long as packing
    digest = hashlib.blake2b(ends, digest_size=8).digest()
    head = _FRAME.pack(flags, n, digest, len(parcel), len(shown)) + shown
    heads = [_Head.of(other) for other in _all_gather(head, _HEAD, group)]
    merged = _merged((other.shown for other in heads if other.shown), acc)
    if len({(other.size, other.digest) for other in heads}) < 2 <= len(heads):
        _warn_of_repeats(acc, group)
    if not any(other.is_large for other in heads):
        return merged
    if all(other.is_summable for other in heads) and sum(other.n for other in heads) <= MAX_TOTAL:
        return _summed(acc, counts, group)
    return _merged(_parcels(parcel, heads, group, root), acc)


@attrs.frozen
class _Head:
    """What a rank tells the others first: its parcel, or if it is large its options."""

    flags: int
    n: int
    digest: bytes
    size: int
    shown: bytes

    @classmethod
    def of(cls, data: bytes) -> _Head:
        """Read what the collective brought, which zeros fill up."""
        flags, n, digest, size, length = _FRAME.unpack_from(data)
        return cls(flags, n, digest, size, data[_FRAME.size : _FRAME.size + length])

    @property
    def is_large(self) -> bool:
        """Whether the parcel has still to be sent."""
        return bool(self.flags & _IS_LARGE)

    @property
    def is_summable(self) -> bool:
        """Whether the state is nothing but whole counts, of total `n`."""
        return bool(self.flags & _IS_SUMMABLE)


def _counts(acc: Any) -> Any:
    """List the numbers of a state that is nothing but whole counts; None for any other."""
    state = acc._state
    if type(state) is not MatrixCounts:
        return None
    parts = (state.n, state.matrix, state.credit)
    if not all(part.is_whole for part in parts):
        return None
    return np.concatenate([part.whole.ravel() for part in parts])


def _summed(acc: Any, counts: Any, group: Any) -> Any:
    """Add up the counts of all ranks, where they are."""
    tensor = torch.from_numpy(counts).to(_device(group))
    distributed.all_reduce(tensor, group=group)
    whole = tensor.cpu().numpy()
    state = acc._state
    end = 1 + state.matrix.whole.size
    matrix = FixedPoint(whole[1:end].reshape(state.matrix.shape))
    credit = FixedPoint(whole[end:].reshape(state.credit.shape))
    return acc._make(acc._config, MatrixCounts(FixedPoint(whole[0].reshape(())), matrix, credit))


def _merged(parcels: Iterable[bytes | memoryview], acc: Any) -> Any:
    """Merge parcels in the order of the ranks, each when it arrives.

    Every rank takes all of them, even after an error, since the others wait.
    """
    total: Any = None
    failure: StreamevalError | None = None
    for parcel in parcels:
        if failure is None:
            try:
                part = unpacked(parcel)
                total = part if total is None else total.merge(part)
            except StreamevalError as error:
                failure = error
    if failure is not None:
        raise failure
    return acc.copy() if total is None else total


def _parcels(
    own: bytes, heads: list[_Head], group: Any, root: int | None
) -> Iterator[bytes | memoryview]:
    """Bring the parcel of each rank in turn to all ranks, or to one.

    No rank holds more than one of them beside what it has merged.
    """
    rank, device = distributed.get_rank(group), _device(group)
    ranks = distributed.get_process_group_ranks(group or distributed.group.WORLD)
    for source, head in enumerate(heads):
        is_needed = root is None or rank == root
        if not head.is_large or (source == rank == root):
            if is_needed:
                yield own if source == rank else head.shown
            continue
        if not is_needed and source != rank:
            continue
        if source == rank:
            tensor = _tensor(own, head.size).to(device)
        else:
            tensor = torch.empty(head.size, dtype=torch.uint8, device=device)
        if root is None:
            distributed.broadcast(tensor, ranks[source], group=group)
        elif source == rank:
            distributed.send(tensor, ranks[root], group=group)
        else:
            distributed.recv(tensor, ranks[source], group=group)
        if is_needed:
            yield tensor.cpu().numpy().data


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
    ``model.module`` instead of a model in `DistributedDataParallel`, which synchronizes its
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


def _all_gather(data: bytes, size: int, group: Any) -> list[bytes]:
    device = _device(group)
    sent = _tensor(data, size)
    received = [
        torch.empty(size, dtype=torch.uint8, device=device)
        for _ in range(distributed.get_world_size(group))
    ]
    distributed.all_gather(received, sent.to(device), group=group)
    return [tensor.cpu().numpy().tobytes() for tensor in received]


def _tensor(data: bytes, size: int) -> Any:
    """Make a tensor of bytes, filled up with zeros."""
    return torch.frombuffer(bytearray(data.ljust(size, b"\0")), dtype=torch.uint8)


def _device(group: Any) -> Any:
    """Choose the device of the tensors of a collective: NCCL takes GPU tensors only."""
    if distributed.get_backend(group) == "nccl":
        return torch.device("cuda", torch.cuda.current_device())  # pragma: no cover (no GPU in CI)
    return torch.device("cpu")
