"""`streameval report`: states in, one HTML file out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from streameval.accumulators.persistence import replace_file
from streameval.cli.errors import UsageError
from streameval.cli.outcome import CommandOutput
from streameval.cli.state_files import check_distinct, check_output, load_state, states_of
from streameval.errors import BadDataError
from streameval.render.text import plural, printable
from streameval.reports import html_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.render.tables import Confusions
    from streameval.results.names import MetricName


def report(
    states: Sequence[str],
    output: str,
    *,
    title: str | None = None,
    level: float = 0.95,
    confusions: Confusions = "count",
    metrics: Sequence[MetricName] = (),
) -> CommandOutput:
    """Lay out what states hold, side by side.

    Raises
    ------
    UsageError
        If a state is given twice, or the output is not an HTML file or is one of the states.
    """
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"-o {output}: the name must end in .html.")
    states = states_of(states)
    check_output(output, states)
    check_distinct(states)
    held = {name: load_state(path) for name, path in short_names(states).items()}
    page = html_report(held, title=title, level=level, confusions=confusions, metrics=metrics)
    try:
        replace_file(output, page.encode())
    except OSError as error:
        reason = str(error.strerror or error).lower()
        raise BadDataError(f"{output}: the report is not saved, {reason}.") from None
    return CommandOutput(f"{plural(len(states), 'state')} reported in {printable(output)}\n")


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
