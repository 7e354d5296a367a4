"""`streameval merge` and `streameval show`: states in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli.outcome import Outcome, plural, reported
from streameval.cli.state_files import check_output, load_state, merge_states, save_state
from streameval.cli.tasks import task_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Reporting

__all__ = ["merge", "show"]


def merge(states: Sequence[str], output: str) -> Outcome:
    """Merge state files into one."""
    check_output(output, ())
    total = merge_states(states)
    save_state(total, output)
    return Outcome(f"{plural(len(states), 'state')} merged into {output}, n = {total.n:,}\n")


def show(path: str, reporting: Reporting) -> Outcome:
    """Report what a state holds."""
    accumulator = load_state(path)
    heading = f"{path}, n = {accumulator.n:,}"
    return reported(accumulator, task_of(accumulator), reporting, heading, {"state": path})
