"""`streameval merge` and `streameval show`: states in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.accumulators.collection import Collection
from streameval.cli.outcome import Findings, Outcome, reported
from streameval.cli.state_files import (
    check_state_output,
    computed,
    load_state,
    merge_states,
    save_state,
)
from streameval.render.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Reporting

__all__ = ["merge", "show", "size_text"]


def merge(states: Sequence[str], output: str) -> Outcome:
    """Merge state files into one."""
    check_state_output(output, ())
    total = merge_states(states)
    save_state(total, output)
    return Outcome(
        f"{plural(len(states), 'state')} merged into {printable(output)}, {size_text(total)}\n"
    )


def show(path: str, reporting: Reporting) -> Outcome:
    """Report what a state holds."""
    accumulator = load_state(path)
    found = Findings(
        result=computed(accumulator),
        heading=f"{printable(path)}, {size_text(accumulator)}",
        origin={"state": path},
    )
    return reported(found, reporting)


def size_text(accumulator: Any) -> str:
    """Say how much an accumulator has counted, or how many members it has."""
    if isinstance(accumulator, Collection):
        return plural(len(accumulator), "member")
    return f"n = {accumulator.n:,}"
