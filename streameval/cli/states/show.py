"""`streameval show` and `report`: what states hold, as text, or side by side in an HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from streameval.accumulators.collection import Collection, heaviest
from streameval.accumulators.parts import Parts
from streameval.accumulators.persistence import replace_file
from streameval.cli.errors import UsageError
from streameval.cli.options import Reporting, refuse
from streameval.cli.outcome import Findings, documented, evidence_of, joined
from streameval.cli.slices import OF_ORDER
from streameval.cli.states import (
    check_different_files,
    check_file_output,
    checked,
    is_folder,
    load_state,
    numbers_of_monitor,
    saving,
    states_of,
)
from streameval.cli.terminal import CommandOutput
from streameval.cli.window_text import split_up
from streameval.render.blocks import Confusions
from streameval.render.sheets import Sheet
from streameval.render.text import plural, printable
from streameval.reports import html_report
from streameval.results.collection import line_sheet


def show(states: Sequence[str], reporting: Reporting) -> CommandOutput:
    """Report what states hold; states of the same type have a line each."""
    found = {path: _findings(path, reporting) for path in dict.fromkeys(states_of(states))}
    if len(found) > 1 and not reporting.json:
        refuse(reporting, ["sort", "worst"], "orders the slices of one state")
    documents = {path: documented(one, reporting) for path, one in found.items()}
    if len(found) == 1:
        return documents.popitem()[1].written(reporting)
    every = joined([one.below(path) for path, one in documents.items()])
    if len({type(one.result) for one in found.values()}) == 1:
        every = attrs.evolve(every, sheet=lambda: _lines(found, reporting))
    return every.written(reporting)


def _lines(found: dict[str, Findings], reporting: Reporting) -> Sheet:
    """Lay out a line for each of several states of one type."""
    results, names = [one.result for one in found.values()], list(short_names(list(found)))
    chosen = reporting.chosen(results[0])
    sheet = line_sheet("state", names, results, chosen, reporting.level, has_whole=False)
    said = dict.fromkeys(one.note for one in results if one.note and reporting.level)
    return [*sheet, *said]


def size_text(accumulator: Any) -> str:
    """Say how much an accumulator has counted, or how many members or parts there are."""
    if isinstance(accumulator, Parts):
        return plural(len(accumulator), "part")
    if isinstance(accumulator, Collection):
        return plural(len(accumulator), "member")
    return f"n = {heaviest(accumulator.n):,}"


def _findings(path: str, reporting: Reporting) -> Findings:
    accumulator = load_state(path)
    result, slices, windows = split_up(accumulator)
    if slices is None:
        refuse(reporting, OF_ORDER, f"needs slices, and {path} has none")
    return Findings(
        result=checked(result),
        slices=slices,
        windows=windows,
        evidence=evidence_of(accumulator, reporting),
        heading=f"{printable(path)}, {size_text(accumulator)}",
        origin={"state": path, **numbers_of_monitor(path, accumulator)},
    )


def report(
    states: Sequence[str],
    output: str,
    reporting: Reporting,
    title: str | None = None,
    confusions: Confusions = "count",
) -> CommandOutput:
    """Lay out what states hold, side by side.

    Raises
    ------
    UsageError
        If a state is given twice, or the output is not an HTML file or is one of the states.
    """
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"-o {output}: the name must end in .html.")
    files = states_of(states)
    check_file_output(output, files)
    check_different_files(files)
    held = {title: _held(path) for title, path in titles(list(states)).items()}
    level, metrics = reporting.level, reporting.metrics
    page = html_report(held, title=title, level=level, confusions=confusions, metrics=metrics)
    with saving(output, "report"):
        replace_file(output, page.encode())
    return CommandOutput(f"{plural(len(files), 'state')} reported in {printable(output)}\n")


def _held(path: str) -> Any:
    """Load a state, or those of a folder of slices by name."""
    if not is_folder(path):
        return load_state(path)
    return {Path(state).stem: load_state(state) for state in states_of([path])}


def titles(paths: Sequence[str]) -> dict[str, str]:
    """Shorten each path to a title without the ending of states, which tells a reader nothing.

    >>> titles(["/logs/monday.state", "/logs/tuesday.state"])
    {'monday': '/logs/monday.state', 'tuesday': '/logs/tuesday.state'}
    """
    named = short_names(paths)
    found = {name.removesuffix(".state"): path for name, path in named.items()}
    return found if len(found) == len(named) else named


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Shorten each path to the fewest last parts that no other path ends with.

    >>> short_names(["/logs/monday/all.state", "/logs/tuesday/all.state", "/logs/b.state"])
    {'monday/all.state': '/logs/monday/all.state', \
'tuesday/all.state': '/logs/tuesday/all.state', 'b.state': '/logs/b.state'}
    """
    return {_short(path, paths): path for path in paths}


def _short(path: str, paths: Sequence[str]) -> str:
    parts = Path(path).absolute().parts
    others = [Path(other).absolute().parts for other in paths if other != path]
    length = next(
        size
        for size in range(1, len(parts) + 1)
        if all(other[-size:] != parts[-size:] for other in others)
    )
    return Path(*parts[-length:]).as_posix()
