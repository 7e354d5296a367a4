"""A plan: what every process needs to know to count a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    from streameval.io import Column

__all__ = ["Plan"]


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
    """

    make: Callable[[], Any]
    columns: tuple[Column, ...]
    max_bad: int
    notes: tuple[str, ...] = ()
