"""`streameval show`: what a state holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.accumulators.collection import Collection
from streameval.accumulators.parts import Parts
from streameval.cli.outcome import Findings, Outcome, reported
from streameval.cli.state_files import computed, load_state
from streameval.render.text import plural, printable

if TYPE_CHECKING:
    from streameval.cli.options import Reporting

__all__ = ["show", "size_text"]


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
    """Say how much an accumulator has counted, or how many members or parts there are."""
    if isinstance(accumulator, Parts):
        return plural(len(accumulator), "part")
    if isinstance(accumulator, Collection):
        return plural(len(accumulator), "member")
    return f"n = {accumulator.n:,}"
