"""What a command has found, and its text, Markdown or JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import GATE_FAILED, OK, UsageError
from streameval.cli.options import Reporting, refuse
from streameval.cli.slices import Arrangement, arranged, judged, slice_entries, slice_sheet
from streameval.cli.terminal import CommandOutput, Drawn, Note, painter, width_of
from streameval.render.sheets import Sheet, markdown, reading_grid, sheet_text
from streameval.render.text import json_line, json_time
from streameval.results.collection import read_or_nan
from streameval.results.result import Result

if TYPE_CHECKING:
    from streameval.results.evidence import Evidence
    from streameval.results.windowed import WindowedResult
    from streameval.runs.slices import Slices


def evidence_of(accumulator: Any, reporting: Reporting) -> tuple[Evidence, ...]:
    """Weigh the evidence against each requested limit; all limits share one promise.

    Raises
    ------
    UsageError
        If there are no panes of time.
    InvalidInputError
        If a metric has no evidence that stays valid.
    """
    if not reporting.limits:
        refuse(reporting, ["false_alarms"], "needs --evidence")
        return ()
    from streameval.accumulators.evidence import evidence  # noqa: PLC0415 (rarely asked for)
    from streameval.accumulators.windowed import Windowed  # noqa: PLC0415

    if not isinstance(accumulator, Windowed):
        raise UsageError("--evidence needs panes of time, which eval counts with --time.")
    options: dict[str, Any] = {"n_series": len(reporting.limits)}
    if reporting.false_alarms is not None:
        options["false_alarms"] = reporting.false_alarms
    found = []
    for one in reporting.limits:
        options["at_least"] = one.bound.number if one.bound.sign == ">=" else None
        options["at_most"] = one.bound.number if one.bound.sign == "<=" else None
        found.append(evidence(accumulator, str(one.metric), **options))
    return tuple(found)


def _entry(one: Evidence) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "limit": str(one.limit),
        **one.as_dict(),
        "fired_at": json_time(one.fired_at),
        "mean_panes": one.mean_panes,
        "n_series": one.n_series,
        "exact": one.exact,
    }


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Findings:
    """A result, and the texts around it.

    Parameters
    ----------
    result : Result
        What was computed.
    heading : str
        The line before the report.
    origin : dict
        The entries of the JSON object that say where the numbers came from.
    notes : tuple of Note
        Warnings and notes from the work.
    write : callable, optional
        Lays the result and its origin out as text, instead of heading and report.
    slices : Slices, optional
        The results by the values of a column.
    windows : WindowedResult, optional
        The results by panes of time.
    evidence : tuple of Evidence
        Whether metrics have passed limits.
    """

    result: Result
    heading: str
    origin: dict[str, Any]
    notes: tuple[Note, ...] = ()
    write: Callable[[Any, dict[str, Any]], str] | None = None
    slices: Slices | None = None
    windows: WindowedResult | None = None
    evidence: tuple[Evidence, ...] = ()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Document:
    """What a command has found, which is written in the requested format.

    Parameters
    ----------
    sheet : function that returns a Sheet
        Its text and Markdown.
    entries : function that returns a sequence of dict
        Its lines of JSON.
    notes : sequence of Note
        Warnings, notes and verdicts of gates, any of which may decide the exit code.
    text : function that returns a str, optional
        Writes another format, instead of the sheet.
    """

    sheet: Callable[[], Sheet]
    entries: Callable[[], Sequence[dict[str, Any]]]
    notes: Sequence[Note]
    text: Callable[[], str] | None = None

    def below(self, name: str) -> Document:
        """Name in each note what it is about."""
        notes = [attrs.evolve(note, text=f"{name}: {note.text}") for note in self.notes]
        return attrs.evolve(self, notes=notes)

    def written(self, reporting: Reporting) -> CommandOutput:
        """Write it in the requested format."""
        if reporting.json:
            text = "".join(map(json_line, self.entries()))
        elif self.text is not None:
            text = self.text()
        else:
            text = laid_out(self.sheet(), is_markdown=reporting.markdown)
        is_data = reporting.json or reporting.markdown or self.text is not None
        has_passed = _NOT_PASSED.isdisjoint(note.category for note in self.notes)
        code = OK if has_passed else GATE_FAILED
        return CommandOutput(text, tuple(self.notes), code, is_data=is_data)


def joined(documents: Sequence[Document]) -> Document:
    """Put documents below each other; a note that several have is told once."""
    return Document(
        sheet=lambda: [part for one in documents for part in one.sheet()],
        entries=lambda: [entry for one in documents for entry in one.entries()],
        notes=tuple(dict.fromkeys(note for one in documents for note in one.notes)),
    )


_NOT_PASSED = frozenset({"failed", "undecided"})


def documented(found: Findings, reporting: Reporting) -> Document:
    """Decide the gates, and put the slices in order."""
    result = found.result
    gates = judged(result, found.slices, reporting)
    alarms = [
        Note("failed" if one.firing else "passed", f"{one.line()}.") for one in found.evidence
    ]
    verdicts = [*gates, *alarms]
    order = arranged(result, found.slices, reporting)
    found = attrs.evolve(found, slices=order.slices)

    def sheet() -> Sheet:
        more = [part for one in found.evidence for part in one.sheet()]
        if reporting.markdown:
            more += [f"{verdict.category}: {verdict.text}" for verdict in verdicts]
        return [found.heading, *_sheet(found, reporting), order.remark, *more]

    def entries() -> list[dict[str, Any]]:
        about = {"task": result.TABLE.task, **found.origin, **_entries(found, order, reporting)}
        if gates:
            about["gates"] = [
                {"gate": gate.text, "verdict": note.category, "message": note.text}
                for gate, note in zip(reporting.gates, gates, strict=True)
            ]
        return [about]

    text = None if found.write is None else partial(found.write, result, found.origin)
    return Document(sheet=sheet, entries=entries, notes=(*found.notes, *verdicts), text=text)


def laid_out(sheet: Sheet, *, is_markdown: bool = False) -> str:
    """Lay a sheet out for standard output: for a terminal or a file, or as Markdown."""
    if is_markdown:
        return f"{markdown(sheet)}\n"
    stream = sys.stdout
    return Drawn(f"{sheet_text(sheet, width_of(stream), painter(stream))}\n")


def _sheet(found: Findings, reporting: Reporting) -> Sheet:
    """Return the metrics that were chosen, or all of them."""
    result, level = found.result, reporting.level
    note = result.note if level else ""
    if found.windows is not None:
        from streameval.cli.window_text import window_sheet  # noqa: PLC0415 (of panes)

        return window_sheet(found.slices, found.windows, reporting)
    if found.slices is not None:
        return [*slice_sheet(result, found.slices, reporting), note]
    if reporting.metrics:
        chosen = {str(name): result.read(name, level=level) for name in reporting.metrics}
        return [reading_grid(chosen, level), result.scope_of(reporting.metrics), note]
    return result.sheet(level)


def _entries(found: Findings, order: Arrangement, reporting: Reporting) -> dict[str, Any]:
    """Return the entries of the JSON object."""
    for metric in reporting.metrics:
        found.result.asked(metric)  # raises for a class that no row has
    describe = partial(described, reporting=reporting)
    entries = describe(found.result)
    if found.slices is not None:
        entries |= slice_entries(found.slices, describe)
    if found.windows is not None:
        from streameval.cli.window_text import window_entries  # noqa: PLC0415 (of panes)

        entries |= window_entries(found.windows, describe, found.slices)
    entries |= order.entries
    if found.evidence:
        entries["evidence"] = [_entry(one) for one in found.evidence]
    return entries


def described(result: Result, reporting: Reporting) -> dict[str, Any]:
    """Describe the metrics that were chosen, nan if no row has their class, or all metrics."""
    level = reporting.level
    if not reporting.metrics:
        return result.entries(level, bounds=reporting.bounds)
    readings = {str(metric): read_or_nan(result, metric, level) for metric in reporting.metrics}
    certified = {name: reading.certified for name, reading in readings.items()}
    has_bounds = reporting.bounds or any(reading.is_open for reading in readings.values())
    found = result.metric_entries(readings, {"bounds": certified} if has_bounds else {})
    return found | {"level": level}
