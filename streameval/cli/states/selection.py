"""Windows of states that hold panes of time, chosen by width and end."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.accumulators.windowed import Windowed
from streameval.cli.errors import UsageError
from streameval.cli.state_files import load_state
from streameval.inputs.durations import read_duration
from streameval.inputs.times import is_naive
from streameval.io import integer_or_text
from streameval.results.lines import time_texts

if TYPE_CHECKING:
    from collections.abc import Sequence


def chosen_windows(
    paths: Sequence[str], width: str | int | None, ends: Sequence[str]
) -> list[tuple[str, Any]]:
    """Load states, or a window of each, with their names.

    Parameters
    ----------
    paths : sequence of str
        The files. A file that is given several times yields consecutive windows.
    width : str or int, optional
        The width of the windows; None for whole states.
    ends : sequence of str
        Their ends, one for each path; by default the newest.

    Raises
    ------
    UsageError
        If a state has no panes, or an end or the width is missing.
    InvalidInputError
        If the window does not exist; the message names the nearest edges.
    """
    if width is None:
        if ends:
            raise UsageError("--ends needs --window, the width of the windows.")
        return [(path, load_state(path)) for path in paths]
    if ends and len(ends) != len(paths):
        raise UsageError(f"--ends must name {len(paths)} times, one for each state.")
    left, held = Counter(paths), {path: _panes(path) for path in dict.fromkeys(paths)}
    read = integer_or_text if isinstance(width, int) else _moment
    found = []
    for index, path in enumerate(paths):
        left[path] -= 1
        end = read(ends[index]) if ends else _back(held[path], width, left[path])
        shown = time_texts([ends[index] if ends else end])[0]
        name = path if end is None else f"{path} to {shown}"
        found.append((name, held[path].window(width, end)))
    return found


def _moment(text: str) -> str | datetime:
    """Read a typed time; without an offset it is in UTC, like the edges shown."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if is_naive(text) else text


def _panes(path: str) -> Windowed:
    accumulator = load_state(path)
    if not isinstance(accumulator, Windowed):
        type_name = type(accumulator).__name__
        raise UsageError(
            f"--window is for states with panes of time, and {path} holds a {type_name}."
        )
    return accumulator


def _back(held: Windowed, width: str | int, number: int) -> Any:
    """Return the end of the window that `number` others follow; None without rows."""
    held.window(width)  # raises for an invalid width
    ends = [end for _, end, _ in held.panes()]
    if not ends:
        return None
    return _before(ends[-1], width, number)


def _before(time: Any, width: str | int, number: int = 1) -> Any:
    """Go back by some windows from an edge of panes."""
    if isinstance(width, int):
        return time - number * width
    return time - number * np.timedelta64(read_duration(width, name="width"), "us")
