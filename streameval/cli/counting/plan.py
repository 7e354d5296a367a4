"""A plan: what every process needs to know to count a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from streameval.io import Column

__all__ = ["Plan"]


def _update(accumulator: Any, batch: Mapping[str, Any]) -> str:
    accumulator.update(batch)
    return ""


def _finish(accumulator: Any, missing: Sequence[str]) -> Iterable[str]:  # noqa: ARG001 - all is done
    return ()


@attrs.frozen
class Plan:
    """How blocks are counted; it pickles, so that workers get it with each block.

    Parameters
    ----------
    make : callable
        Makes the empty accumulator.
    columns : tuple of Column
        The columns that make the arguments of its `update`.
    max_bad : int
        How many bad rows are tolerated in the whole run.
    notes : tuple of str
        What was chosen because the user left it open.
    update : callable
        From an accumulator and a batch: counts it, all or nothing, and gives what is to be
        printed of its rows.
    unique : str, optional
        The argument in which no two rows of the whole run may be equal.
    finish : callable
        From the accumulator of everything, and the judged queries that no file has: counts what
        is left to count, and gives what is to be printed of it.
    text : callable, optional
        From a result: what is printed in place of the report.
    """

    make: Callable[[], Any]
    columns: tuple[Column, ...]
    max_bad: int
    notes: tuple[str, ...] = ()
    update: Callable[[Any, Mapping[str, Any]], str] = _update
    unique: str | None = None
    finish: Callable[[Any, Sequence[str]], Iterable[str]] = _finish
    text: Callable[[Any], str] | None = None
