"""`streameval plot`: states in, a picture out."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from streameval.accumulators.collection import Collection
from streameval.accumulators.windowed import Windowed
from streameval.cli.errors import UsageError, nearest
from streameval.cli.outcome import Outcome
from streameval.cli.state_files import check_output, computed, load_state, save_picture
from streameval.cli.states.plot_windows import TimePicture
from streameval.cli.states.report import short_names
from streameval.cli.terminal import Note
from streameval.errors import InvalidInputError
from streameval.render.text import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from streameval.results.names import MetricName
    from streameval.results.result import Result

__all__ = ["plot"]

# The formats, and what keeps the time out of them: one state gives one picture, byte for byte.
_FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}

_LONGEST_LABEL = 40


def plot(
    states: Sequence[str],
    curve: str | None,
    member: str | None,
    output: str,
    metric: MetricName | None = None,
    window: str | int | None = None,
    level: float = 0.95,
) -> Outcome:
    """Draw what states hold, several of them in one picture.

    Raises
    ------
    UsageError
        If there is no such curve, member or format, or no matplotlib, or if the curve shows one
        state at a time.
    """
    if Path(output).suffix.lower() not in _FORMATS:
        raise UsageError(f"-o {output}: the name must end in .png, .svg or .pdf.")
    check_output(output, states)
    held = load_state(states[0])
    if isinstance(held, Windowed):
        _check_alone(states, curve, member)
        picture = TimePicture.of(held, metric, window, level)
        data, notes = _drawn(picture.draw, Path(output).suffix.lower())
        save_picture(data, output)
        text = printable(f"{picture} of {states[0]} drawn in {output}")
        return Outcome(f"{text}\n", notes)
    if metric is not None or window is not None:
        option = "--metric" if window is None else "--window"
        type_name = type(held).__name__
        raise UsageError(
            f"{option} is for states with panes of time, and {states[0]} holds a {type_name}."
        )
    sources = [_Source.of(path, member) for path in dict.fromkeys(states)]
    picture_name = sources[0].result.PICTURES[0] if curve is None else curve
    for source in sources:
        if picture_name not in source.result.PICTURES:
            known = nearest(picture_name, source.result.PICTURES)
            raise UsageError(f"no curve {picture_name!r} of {source.path}: {known}")
        if len(sources) > 1 and source.result.ALONE:
            raise UsageError(f"{source.result.ALONE}: draw each in its own figure.")

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        labels = {path: label for label, path in short_names(states).items()}
        for source in sources:
            label = _legend(labels[source.path]) if len(sources) > 1 else None
            try:
                source.result.draw(ax, picture_name, label)
            except InvalidInputError as error:
                if label is None:
                    raise
                raise error.within(source.path) from None

    data, notes = _drawn(draw, Path(output).suffix.lower())
    save_picture(data, output)
    listed = ", ".join(source.path for source in sources)
    subject = listed if member is None else f"{member} of {listed}"
    size = f", n = {sources[0].n:,}" if len(sources) == 1 else ""
    text = printable(f"{picture_name} of {subject} drawn in {output}{size}")
    return Outcome(f"{text}\n", notes)


def _check_alone(states: Sequence[str], curve: str | None, member: str | None) -> None:
    """Refuse what cannot be used with a metric over time."""
    if len(states) > 1:
        raise UsageError("a metric over time is of one state: draw each in its own figure.")
    if curve is not None or member is not None:
        option = "--curve" if member is None else "--member"
        raise UsageError(f"{option} cannot be used with a state with panes of time; see --metric.")


@attrs.frozen
class _Source:
    """A state, and what can be drawn of it."""

    path: str
    n: int | float
    result: Result

    @classmethod
    def of(cls, path: str, member: str | None) -> _Source:
        """Load a state."""
        accumulator = _chosen(path, load_state(path), member)
        result = computed(accumulator)
        if not result.PICTURES:
            held = type(accumulator).__name__
            raise UsageError(
                f"{path} holds a {held}, which keeps only sums, so there is nothing to draw."
            )
        return cls(path, accumulator.n, result)


def _chosen(path: str, accumulator: Any, member: str | None) -> Any:
    """Find the member of a collection."""
    held = type(accumulator).__name__
    if not isinstance(accumulator, Collection):
        if member is not None:
            raise UsageError(f"--member is for collections, and {path} holds a {held}.")
        return accumulator
    known = accumulator.compute().leaves()
    if member is None:
        raise UsageError(f"{path} holds a {held}; choose a --member: {nearest('', known)}")
    if member not in known:
        raise UsageError(f"no member {member!r} of {path}: {nearest(member, known)}")
    return accumulator[member]


def _legend(name: str) -> str:
    """Write a name for a legend, which reads dollars as mathematics and hides underscores."""
    text = shorten(name, _LONGEST_LABEL).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _drawn(draw: Callable[[Figure], None], suffix: str) -> tuple[bytes, tuple[Note, ...]]:
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
    with rc_context({"svg.hashsalt": "streameval"}), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(layout="constrained")  # of no window: not made by pyplot
        draw(figure)
        figure.savefig(picture, format=suffix[1:], metadata=_FORMATS[suffix])
    texts = dict.fromkeys(str(warning.message).partition("\n")[0] for warning in caught)
    return picture.getvalue(), tuple(Note("warning", text) for text in texts)
