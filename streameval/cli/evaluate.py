"""`streameval eval`: files in, a report and a state out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

import attrs

from streameval.cli.first_rows import look_ahead
from streameval.cli.outcome import Outcome, plural, reported
from streameval.cli.progress import Progress
from streameval.cli.sources import source_of
from streameval.cli.spool import Spool
from streameval.cli.state_files import check_output, save_state
from streameval.cli.tally import Tally
from streameval.cli.tasks import TASKS, task_asked_for
from streameval.cli.terminal import Note, is_live
from streameval.cli.workers import count_all
from streameval.errors import BadDataError
from streameval.io import name_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streameval.cli.options import Options
    from streameval.cli.plan import Plan
    from streameval.io import Block

__all__ = ["evaluate"]


def evaluate(options: Options) -> Outcome:
    """Count the rows of all files, save the state if asked to, and report.

    Raises
    ------
    StreamevalError
        For the reasons that `exit_code` tells apart.
    """
    task = task_asked_for(options)
    if options.output is not None:
        inputs = options.files if options.qrels is None else (*options.files, options.qrels)
        check_output(options.output, inputs)
    source = source_of(options)
    rows, blocks = look_ahead(source.blocks(), options.max_bad)
    if not rows:
        raise _no_rows(options)
    plan = TASKS[task].plan(options, rows)
    for gate in options.reporting.gates:  # a slip in a name, before hours of reading
        TASKS[task].check(plan.make().compute(), gate)
    with Spool() as spool:
        tally = _tallied(blocks, plan, options, spool)
        if not tally.n_good.total():
            raise _no_rows(options)
        total = tally.total()
        remarks = (*plan.notes, *source.finish(total))
        for text in plan.finish(total):
            spool.write(text)
        if options.output is not None:
            save_state(total, options.output)
        heading, origin, notes = _told(tally, remarks, options)
        origin |= source.origin()
        outcome = reported(total, task, options.reporting, heading, origin, notes, plan.text)
    return attrs.evolve(outcome, before=spool.read())


def _tallied(blocks: Iterator[Block], plan: Plan, options: Options, spool: Spool) -> Tally:
    tally = Tally(plan)
    with Progress(_terminal(options), _total_size(options.files)) as progress:
        for counted in count_all(blocks, plan, options.jobs):
            tally.add(counted)
            spool.write(counted.text)
            progress.advance(counted.n_good + len(counted.bad), counted.taken)
    return tally


def _told(
    tally: Tally, remarks: Iterable[str], options: Options
) -> tuple[str, dict[str, Any], list[Note]]:
    """Say what was read: a heading, the entries of the JSON object, and notes."""
    n_rows = tally.n_good.total() + tally.bad.n
    heading = f"{plural(n_rows, 'row')} of {plural(len(options.files), 'file')}"
    if tally.bad.n:
        heading += f", {tally.bad.n:,} of them bad and left out"
    origin = {"files": list(options.files), "rows": n_rows, "bad": tally.bad.n}
    empty = [name for name in map(name_of, options.files) if not tally.n_good[name]]
    notes = [
        *(Note("note", text) for text in remarks),
        *(Note("warning", f"{name}: holds no rows.") for name in empty),
        *tally.bad.notes(),
    ]
    return heading, origin, notes


def _no_rows(options: Options) -> BadDataError:
    names = ", ".join(map(name_of, options.files[:3]))
    more = ", ..." if len(options.files) > 3 else ""
    return BadDataError(f"{names}{more}: holds no rows.")


def _terminal(options: Options) -> TextIO | None:
    return sys.stderr if is_live(sys.stderr) and not options.reporting.quiet else None


def _total_size(files: tuple[str, ...]) -> int | None:
    """Give the bytes to read, or None if they are not known."""
    sizes = list(map(size_of, files))
    return None if None in sizes else sum(size or 0 for size in sizes)
