"""`streameval plot`: a state in, a picture out."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError, nearest
from streameval.cli.outcome import Outcome
from streameval.cli.state_files import check_output, load_state, save_picture
from streameval.cli.tasks import TASKS, task_of
from streameval.cli.terminal import Note

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["plot"]

# The formats, and what keeps the time out of them: one state gives one picture, byte for byte.
_FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def plot(state: str, curve: str | None, output: str) -> Outcome:
    """Draw what a state holds.

    Raises
    ------
    UsageError
        If there is no such curve or format, or no matplotlib.
    """
    if Path(output).suffix.lower() not in _FORMATS:
        raise UsageError(f"-o {output}: the name must end in .png, .svg or .pdf.")
    check_output(output, (state,))
    accumulator = load_state(state)
    pictures = TASKS[task_of(accumulator)].pictures
    if not pictures:
        raise UsageError(f"{state} holds a {type(accumulator).__name__}, which has no curve.")
    kind = next(iter(pictures)) if curve is None else curve
    if kind not in pictures:
        raise UsageError(f"no curve {kind!r} of {state}: {nearest(kind, pictures)}")
    data, notes = _drawn(pictures[kind], accumulator.compute(), Path(output).suffix.lower())
    save_picture(data, output)
    return Outcome(f"{kind} of {state} drawn in {output}, n = {accumulator.n:,}\n", notes)


def _drawn(
    draw: Callable[[Any, Any], None], result: Any, suffix: str
) -> tuple[bytes, tuple[Note, ...]]:
    """Draw without a screen; what matplotlib warns of, as a character no font has, is a note."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415 (optional, and slow to import)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise UsageError("plot needs matplotlib: pip install 'streameval[plot]'.") from None
    except ValueError as error:  # MPLBACKEND in the environment names no backend
        reason = str(error).partition(";")[0]
        raise UsageError(f"matplotlib does not start: {reason}.") from None
    picture = io.BytesIO()
    with rc_context({"svg.hashsalt": "streameval"}), warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        figure = Figure(layout="constrained")  # of no window: not made by pyplot
        draw(result, figure.subplots())
        figure.savefig(picture, format=suffix[1:], metadata=_FORMATS[suffix])
    texts = dict.fromkeys(str(warning.message).partition("\n")[0] for warning in met)
    return picture.getvalue(), tuple(Note("warning", text) for text in texts)
