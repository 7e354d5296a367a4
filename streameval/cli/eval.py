"""`streameval eval`: files in, a report and a state out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.cli.combinations import task_asked_for
from streameval.cli.eval_checks import (
    advice_on_files,
    check_metrics,
    check_output,
    listed_files,
    skipping_gaps,
    source_of,
    total_size,
    with_labels,
)
from streameval.cli.eval_run import EvalRun, gathered_if_scattered, of_rows
from streameval.cli.options import Options
from streameval.cli.outcome import Findings, documented, evidence_of
from streameval.cli.tasks import named_by_task
from streameval.cli.tasks.clusters import dependence, shows_intervals
from streameval.cli.tasks.fields import odd_findings
from streameval.cli.terminal import CommandOutput, Note
from streameval.errors import UnknownMetricError
from streameval.io.streams import writing_temporary_file
from streameval.results.collection import read_or_nan
from streameval.runs.processes import Team, n_cpus

if TYPE_CHECKING:
    from tempfile import SpooledTemporaryFile

    from streameval.results.result import Result
    from streameval.results.windowed import WindowedResult
    from streameval.runs.slices import Slices


def evaluate(options: Options) -> CommandOutput:
    """Count the rows of all files, save the state if asked to, and report.

    Raises
    ------
    StreamevalError
        For the reasons that `exit_code` distinguishes.
    """
    if options.qrels is None:
        options = attrs.evolve(options, files=listed_files(options.files))
    task = task_asked_for(options)
    options = skipping_gaps(with_labels(named_by_task(options)))
    check_output(options)
    n_jobs = n_cpus() if options.jobs == "auto" else options.jobs
    if options.labels is not None:
        n_jobs = 1  # which holds the labels
    if options.compare or (options.versus is not None and task == "ranking"):
        from streameval.cli.eval_comparison import compared, systems_of  # noqa: PLC0415 (of --compare)

        systems = systems_of(options)
        with Team(n_jobs - 1) as team:
            team.start_for(total_size(options.files))
            return compared(options, systems, team)
    with (
        closing(source_of(options)) as source,
        Team(n_jobs - 1) as team,
        advice_on_files(options, source),
    ):
        team.start_for(total_size(options.files))
        run = EvalRun(source, options, team)
        return gathered_if_scattered(source, lambda: _evaluated(task, run))


def _evaluated(task: str, run: EvalRun) -> CommandOutput:
    if task == "preferences" and run.options.models is None:
        run = run.with_models()
    options = run.options
    rows, blocks, plan, counting = run.planned(task)
    repeats, blocks = dependence(options, rows, blocks)
    check_metrics(of_rows(plan.make(), plan).compute(), task, options)
    with suppress(UnknownMetricError):  # a metric of a class that no row has yet
        evidence_of(of_rows(counting.make(), counting), options.reporting)
    with Spool() as spool:
        run = attrs.evolve(run, write=spool.write)
        counted = run.counted(plan, counting, blocks)
        run.team.end()  # their memory is free for the report
        held = run.finished(*counted)
        result, by_value, windows = _computed(held.total, held.slices, options)
        said = odd_findings(result, options)
        if why := _why_no_intervals(result, options):
            said = [*why, *said]
        elif shows_intervals(options, result):
            said += repeats
        left = [Note("warning", text) for text in _save(held.total, held.slices, options.output)]
        found = Findings(
            result=result,
            heading=held.heading,
            origin=held.origin,
            notes=(*held.notes, *left, *(Note("note", text) for text in said)),
            write=plan.text,
            slices=by_value,
            windows=windows,
            evidence=evidence_of(held.total, options.reporting),
        )
        outcome = documented(found, options.reporting).written(options.reporting)
    return attrs.evolve(outcome, before=spool.read())


def _computed(
    total: Any, slices: Slices | None, options: Options
) -> tuple[Any, Slices | None, WindowedResult | None]:
    """Compute the result of all rows, those of slices and those of windows."""
    if options.time is None:
        return total.compute(), None if slices is None else slices.computed(), None
    from streameval.cli.window_text import split_up  # noqa: PLC0415 (of panes)

    return split_up(total)


def _why_no_intervals(result: Result, options: Options) -> tuple[str, ...]:
    """Say why weighted metrics have no sampling intervals, if none shown has; gates say so too."""
    level, gates = options.reporting.level, options.reporting.gates
    if options.sample_weight is None or options.qrels is not None or gates or not level:
        return ()
    shown = options.reporting.chosen(result)
    readings = [read_or_nan(result, metric, level) for metric in shown]
    why = next((one.why_none for one in readings if one.is_defined and one.why_none), "")
    if not why or any(one.sampling for one in readings):
        return ()
    return (f"no sampling intervals ({why}); --cluster COLUMN adds them.",)


def _save(total: Any, slices: Slices | None, output: str | None) -> list[str]:
    """Save the state, or the states of slices, and return the notes about it."""
    if output is None:
        return []
    from streameval.cli.states import save_slices, save_state  # noqa: PLC0415 (of -o)

    if slices is not None:
        return save_slices(total, slices, output)
    save_state(total, output)
    return []


_IN_MEMORY = 2**20
_PIECE = 2**16


class Spool:
    """Keep text in memory, and past the first megabyte in a temporary file.

    Reading closes it, and so does an exception inside the block.
    """

    _file: SpooledTemporaryFile[str] | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, raised: object, *exception: object) -> None:
        """Discard the text after an exception."""
        if raised is not None and self._file is not None:
            self._file.close()

    def write(self, text: str) -> None:
        """Append text.

        Raises
        ------
        BadDataError
            If the disk is full.
        """
        if text:
            with writing_temporary_file():
                self._opened().write(text)

    def read(self) -> Iterator[str]:
        """Yield all text in pieces, once."""
        if self._file is not None:
            with self._file as file:
                file.seek(0)
                while piece := file.read(_PIECE):
                    yield piece

    def _opened(self) -> SpooledTemporaryFile[str]:
        from tempfile import SpooledTemporaryFile  # noqa: PLC0415 (most tasks print no rows)

        if self._file is None:
            # Newlines and lone surrogates come out as they went in.
            self._file = SpooledTemporaryFile(  # noqa: SIM115 - read after the block
                _IN_MEMORY, "w+", encoding="utf-8", errors="surrogatepass", newline=""
            )
        return self._file
