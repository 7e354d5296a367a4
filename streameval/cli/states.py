"""`streameval merge` and `streameval show`: states in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError
from streameval.cli.json_text import json_line
from streameval.cli.outcome import Outcome, plural, reported
from streameval.cli.state_files import check_output, load_state, merge_states, save_state
from streameval.cli.tasks import task_of
from streameval.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Reporting

__all__ = ["merge", "show"]


def merge(states: Sequence[str], output: str) -> Outcome:
    """Merge state files into one."""
    check_output(output, ())
    total = merge_states(states)
    save_state(total, output)
    return Outcome(f"{plural(len(states), 'state')} merged into {output}, {_size(total)}\n")


def show(path: str, reporting: Reporting) -> Outcome:
    """Report what a state holds."""
    accumulator = load_state(path)
    heading = f"{path}, {_size(accumulator)}"
    if isinstance(accumulator, Collection):
        return _members(accumulator, reporting, heading, path)
    return reported(accumulator, task_of(accumulator), reporting, heading, {"state": path})


def _members(collection: Collection, reporting: Reporting, heading: str, path: str) -> Outcome:
    """Report the members of a collection one below the other."""
    if reporting.gates:
        raise UsageError(
            f"{path} holds a Collection, whose members --fail-under cannot tell apart."
        )
    result = collection.compute()
    if reporting.json:
        return Outcome(json_line({"state": path, "metrics": result.as_dict()}))
    return Outcome(f"{heading}\n\n{result.report()}\n")


def _size(accumulator: Any) -> str:
    if isinstance(accumulator, Collection):
        return plural(len(accumulator), "member")
    return f"n = {accumulator.n:,}"
