"""Evaluation on the ranks of `torch.distributed`: the states of all ranks become one."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
import hashlib
import warnings
from collections.abc import Iterator, Sized
from typing import Any, TypeVar, overload

import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.accumulators.parts import merge
from streameval.accumulators.persistence import from_bytes
from streameval.errors import CountOverflowError, IncompatibleStateError, InvalidInputError
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
"""Bytes of the first collective. Where every state fits, there is no other."""
_FRAME = 21
_MANY_ROWS = 100  # from here on, equal states of ranks are no coincidence
_IS_LARGE, _IS_SUMMABLE = 1, 2
_ERRORS = (CountOverflowError, IncompatibleStateError)
"""What merging raises; it travels by its position here, and its message."""


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

    Every rank of the group must call it, even one that has counted nothing. States of up to
    65,515 bytes travel in one collective. Larger ones are merged in a tree, so that no rank reads
    them all; counts of classes with whole weights are added up by an `all_reduce`.

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


def _check_rows(total: Any, n_rows: int | None, n_ranks: int) -> None:
    """Warn if another number of rows than those of the data set has been counted."""
    if n_rows is not None and total.n != n_rows:
        warnings.warn(
            f"{n_ranks} {'rank' if n_ranks == 1 else 'ranks'} counted {total.n:,} rows of a data "
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
    data, counts = acc.to_bytes(), _counts(acc)
    shown, flags = data, _IS_SUMMABLE if counts is not None else 0
    if len(data) > _HEAD - _FRAME:  # options that differ are noticed by the empty states
        shown, flags = acc.copy().reset().to_bytes(), flags | _IS_LARGE
    shown = shown if len(shown) <= _HEAD - _FRAME else b""
    n = 0 if counts is None else int(counts[0])
    digest = hashlib.blake2b(data, digest_size=8).digest()
    head = b"".join(
        [bytes([flags]), n.to_bytes(8, "little"), digest, len(shown).to_bytes(4, "little"), shown]
    )
    heads = _all_gather(head, _HEAD, group)
    ends = (_FRAME + int.from_bytes(other[17:_FRAME], "little") for other in heads)
    states = [other[_FRAME:end] for other, end in zip(heads, ends, strict=True)]
    merged = merge([from_bytes(state) for state in states if state] or [acc.copy()])
    is_repeated = len({other[9:17] for other in heads}) < 2 <= len(heads)
    if is_repeated and acc.n >= _MANY_ROWS and not distributed.get_rank(group):
        warnings.warn(
            f"all {len(heads)} ranks have counted the same {acc.n:,} rows: after "
            "gather_for_metrics, each has every row, so compute the result without gather",
            stacklevel=4,
        )
    if not any(other[0] & _IS_LARGE for other in heads):
        return merged
    n_all = sum(int.from_bytes(other[1:9], "little") for other in heads)
    if all(other[0] & _IS_SUMMABLE for other in heads) and n_all <= MAX_TOTAL:
        return _summed(acc, counts, group)
    return _tree(acc, group, root)


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


def _tree(acc: Any, group: Any, root: int | None) -> Any:
    """Merge two states at a time, and hand the last one to all ranks unless one alone needs it.

    An error travels as a state does, since the other ranks wait.
    """
    first, n_ranks = root or 0, distributed.get_world_size(group)
    number = (distributed.get_rank(group) - first) % n_ranks
    held: Any = acc
    step = 1
    while step < n_ranks and not number % step:
        other = (number ^ step) + first
        if number & step:
            _send(_packed(held), other % n_ranks, group)
        elif number + step < n_ranks:
            received = _unpacked(_receive(other % n_ranks, group))
            try:
                held = merge(map(_raised, (held, received)))
            except _ERRORS as error:
                held = error
        step *= 2
    if root is not None:
        return _raised(held) if number == 0 else None
    return _raised(_unpacked(_broadcast(_packed(held) if number == 0 else b"", group)))


def _packed(held: Any) -> bytes:
    if isinstance(held, _ERRORS):
        return bytes([1 + _ERRORS.index(type(held))]) + str(held).encode()
    state: bytes = held.to_bytes()
    return b"\0" + state


def _unpacked(data: bytes) -> Any:
    if data[0]:
        return _ERRORS[data[0] - 1](data[1:].decode())
    return from_bytes(data[1:])


def _raised(held: Any) -> Any:
    if isinstance(held, _ERRORS):
        raise held
    return held


def _send(data: bytes, rank: int, group: Any) -> None:
    there = distributed.get_process_group_ranks(group or distributed.group.WORLD)[rank]
    for tensor in (torch.tensor([len(data)]), _tensor(data, len(data))):
        distributed.send(tensor.to(_device(group)), there, group=group)


def _receive(rank: int, group: Any) -> bytes:
    there = distributed.get_process_group_ranks(group or distributed.group.WORLD)[rank]
    length = torch.zeros(1, dtype=torch.int64, device=_device(group))
    distributed.recv(length, there, group=group)
    data = torch.empty(int(length), dtype=torch.uint8, device=_device(group))
    distributed.recv(data, there, group=group)
    return bytes(data.cpu().numpy().tobytes())


def _broadcast(data: bytes, group: Any) -> bytes:
    """Hand what the first rank has to all."""
    first = distributed.get_process_group_ranks(group or distributed.group.WORLD)[0]
    length = torch.tensor([len(data)]).to(_device(group))
    distributed.broadcast(length, first, group=group)
    sent = _tensor(data, int(length)).to(_device(group))
    distributed.broadcast(sent, first, group=group)
    return bytes(sent.cpu().numpy().tobytes())


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
