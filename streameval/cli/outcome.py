"""What a command comes to: text, notes and an exit code, printed in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import GATE_FAILED, OK
from streameval.cli.gates import judge
from streameval.cli.json_text import json_line
from streameval.cli.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streameval.cli.options import Reporting
    from streameval.cli.terminal import Note

__all__ = ["Outcome", "plural", "reported"]

# What --quiet leaves unsaid.
_QUIET = ("note", "passed", "warning")


@attrs.frozen
class Outcome:
    """What a command has to say once its work is done.

    Parameters
    ----------
    text : str
        For standard output.
    before : iterable of str
        What goes there first, in pieces, since it may be long.
    notes : tuple of Note
        For standard error.
    code : int
        The exit code.
    """

    text: str
    notes: tuple[Note, ...] = ()
    code: int = OK
    before: Iterable[str] = ()


def reported(
    accumulator: Any,
    task: str,
    reporting: Reporting,
    heading: str,
    origin: dict[str, Any],
    notes: Iterable[Note] = (),
    write: Callable[[Any], str] | None = None,
) -> Outcome:
    """Compute a result, write it as it was asked for, and decide the gates.

    Parameters
    ----------
    accumulator : accumulator
        What was counted.
    task : str
        Its entry in `TASKS`.
    reporting : Reporting
        The form, the level and the gates.
    heading : str
        The line before the report.
    origin : dict
        The entries of the JSON object that say where the numbers come from.
    notes : iterable of Note
        What was noticed on the way.
    write : callable, optional
        Lays the result out as text, in place of heading and report.
    """
    result = accumulator.compute()
    verbs, level = TASKS[task], reporting.level
    verdicts = [judge(gate, verbs.measure(result, gate, level)) for gate in reporting.gates]
    if reporting.json:
        text = json_line({"task": task, **origin, **verbs.describe(result, level)})
    elif write is not None:
        text = write(result)
    else:
        text = f"{heading}\n\n{verbs.report(result, level)}\n"
    passed = all(verdict.kind == "passed" for verdict in verdicts)
    said = [note for note in (*notes, *verdicts) if not (reporting.quiet and note.kind in _QUIET)]
    return Outcome(text, tuple(said), OK if passed else GATE_FAILED)


def plural(number: int, noun: str) -> str:
    """Write a number of things.

    >>> plural(1, "row"), plural(1797, "row")
    ('1 row', '1,797 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
