"""`streameval merge`: many states into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.outcome import Outcome
from streameval.cli.state_files import check_state_output, load_state, save_state
from streameval.cli.states.show import size_text
from streameval.errors import IncompatibleStateError
from streameval.render.text import plural, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["merge"]


def merge(states: Sequence[str], output: str) -> Outcome:
    """Merge state files into one."""
    check_state_output(output, ())
    total = _merged(states)
    save_state(total, output)
    return Outcome(
        f"{plural(len(states), 'state')} merged into {printable(output)}, {size_text(total)}\n"
    )


def _merged(paths: Sequence[str]) -> Any:
    """Merge state files, one at a time.

    Raises
    ------
    IncompatibleStateError
        If one does not fit those before it; the message names the file.
    """
    total = load_state(paths[0])
    for path in paths[1:]:
        try:
            total.merge(load_state(path))
        except IncompatibleStateError as error:
            raise error.within(f"{path} does not fit {paths[0]}") from None
    return total
