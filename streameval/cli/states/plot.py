"""`streameval plot`: states in, a picture out."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from streameval.accumulators.collection import Collection
from streameval.accumulators.persistence import replace_file
from streameval.accumulators.windowed import Windowed
from streameval.cli.errors import UsageError
from streameval.cli.options import Reporting
from streameval.cli.states import (
    check_file_output,
    computed,
    load_state,
    panes_of,
    saving,
    states_of,
)
from streameval.cli.states.show import titles
from streameval.cli.terminal import CommandOutput, Note
from streameval.configs.collection import Member
from streameval.configs.names import nearest
from streameval.errors import InvalidInputError
from streameval.render.text import plural, printable, shorten
from streameval.results.names import MetricName, parse_metric
from streameval.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The formats, and the metadata that keep the time out: equal states give equal bytes.
_FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}

_LONGEST_LABEL = 40


def plot(
    states: Sequence[str],
    output: str,
    reporting: Reporting,
    kind: str | None = None,
    member: str | None = None,
    window: str | int | None = None,
) -> CommandOutput:
    """Draw what states hold, several of them in one picture.

    Raises
    ------
    UsageError
        If the kind, member or format does not exist, matplotlib is missing, the picture can show
        only one state, or there are several metrics.
    """
    if Path(output).suffix.lower() not in _FORMATS:
        raise UsageError(f"-o {output}: the name must end in .png, .svg or .pdf.")
    if len(reporting.metrics) > 1:
        raise UsageError(f"--metrics takes one metric here, got {len(reporting.metrics)}.")
    metric = next(iter(reporting.metrics), None)
    states = states_of(states)
    check_file_output(output, states)
    held = load_state(states[0])
    if metric is not None or window is not None:
        panes_of(states[0], held, "--metrics" if window is None else "--window")
    if isinstance(held, Windowed):
        _check_alone(states, kind, member)
        draw, subject = _over_time(held, metric, window, reporting.level)
        subject, size = f"{subject} of {states[0]}", ""
    else:
        picture = _Curves.of(states, kind, member)
        draw, subject, size = picture.draw, str(picture), picture.size
    data, notes = _drawn(draw, Path(output).suffix.lower())
    with saving(output, "picture"):
        replace_file(output, data)
    return CommandOutput(printable(f"{subject} drawn in {output}{size}") + "\n", notes)


def _over_time(
    held: Windowed, metric: MetricName | None, width: str | int | None, level: float
) -> tuple[Callable[[Figure], None], str]:
    """Draw a metric in each pane, or in windows that slide by one pane; describe the picture."""
    windows = held.over_time(width)
    if not windows.panes:
        raise UsageError("there is nothing to draw: the state has no window with rows.")
    chosen = parse_metric(windows.headline()[0]) if metric is None else metric
    windows.whole.result.check(chosen)
    draw = partial(windows.draw_over_time, metric=chosen, level=level)
    return draw, f"{chosen} over {plural(len(windows), 'window')}"


def _check_alone(states: Sequence[str], kind: str | None, member: str | None) -> None:
    """Refuse what cannot be used with a metric over time."""
    if len(states) > 1:
        raise UsageError("a metric over time shows one state: draw each in its own figure.")
    if kind is not None or member is not None:
        option = "--kind" if member is None else "--member"
        raise UsageError(f"{option} cannot be used with a state with panes of time; see --metrics.")


@attrs.frozen
class _Curves:
    """One curve of several states, in one picture.

    Parameters
    ----------
    name : str
        The curve.
    sources : list of _Plotted
    labels : list of (str or None)
        Their names in the legend; a single state has none.
    member : str, optional
        The member of collections that is drawn.
    """

    name: str
    sources: list[_Plotted]
    labels: list[str | None]
    member: str | None

    @classmethod
    def of(cls, states: Sequence[str], curve: str | None, member: str | None) -> _Curves:
        """Load states, and check that each has the curve; the default is the first that exists."""
        sources = [_Plotted.of(path, member) for path in dict.fromkeys(states)]
        name = next(iter(sources[0].result.PICTURES)) if curve is None else curve
        for source in sources:
            if name not in source.result.PICTURES:
                known = nearest(name, source.result.PICTURES)
                raise UsageError(f"no curve {name!r} of {source.path}: {known}")
            if len(sources) > 1 and source.result.ALONE:
                raise UsageError(f"{source.result.ALONE}: draw each in its own figure.")
        if len(sources) == 1:
            return cls(name, sources, [None], member)
        labels = {path: label for label, path in titles(states).items()}
        return cls(name, sources, [_legend(labels[one.path]) for one in sources], member)

    def draw(self, figure: Figure) -> None:
        """Draw the curves on a figure without axes."""
        ax = figure.subplots()
        for source, label in zip(self.sources, self.labels, strict=True):
            try:
                source.result.plot(ax, kind=self.name, label=label)
            except InvalidInputError as error:
                if label is None:
                    raise
                raise error.within(source.path) from None

    @property
    def size(self) -> str:
        """The size of a single state, in words."""
        return f", n = {self.sources[0].n:,}" if len(self.sources) == 1 else ""

    def __str__(self) -> str:
        """Describe the picture."""
        listed = ", ".join(source.path for source in self.sources)
        return f"{self.name} of {listed if self.member is None else f'{self.member} of {listed}'}"


@attrs.frozen
class _Plotted:
    """A state, and the curves that it has."""

    path: str
    n: int | float
    result: Result

    @classmethod
    def of(cls, path: str, member: str | None) -> _Plotted:
        """Load a state."""
        accumulator = _chosen(path, load_state(path), member)
        result = computed(accumulator)
        if not result.PICTURES:
            held = type(accumulator).__name__
            raise UsageError(
                f"{path} holds a {held}, of which there is no picture; report draws it."
            )
        return cls(path, accumulator.n, result)


def _chosen(path: str, accumulator: Any, member: str | None) -> Any:
    """Find the member of a collection."""
    held = type(accumulator).__name__
    if not isinstance(accumulator, Collection):
        if member is not None:
            raise UsageError(f"--member is for collections, and {path} holds a {held}.")
        return accumulator
    known = Member.of(accumulator).options.names
    if member is None:
        raise UsageError(f"{path} holds a {held}; choose a --member: {nearest('', known)}")
    if member not in known:
        raise UsageError(f"no member {member!r} of {path}: {nearest(member, known)}")
    return accumulator[member]


def _legend(name: str) -> str:
    """Escape a name for a legend, which reads dollars as mathematics and hides underscores."""
    text = shorten(name, _LONGEST_LABEL).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _drawn(draw: Callable[[Figure], None], suffix: str) -> tuple[bytes, tuple[Note, ...]]:
    """Draw without a screen; return warnings of matplotlib, such as missing glyphs, as notes."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415 (optional, and slow to import)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise UsageError("plot needs matplotlib: pip install 'streameval[plot]'.") from None
    except ValueError as error:  # MPLBACKEND in the environment is not a backend
        reason = str(error).partition(";")[0]
        raise UsageError(f"matplotlib does not start: {reason}.") from None
    picture = io.BytesIO()
    with rc_context({"svg.hashsalt": "streameval"}), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(layout="constrained")  # without pyplot, so that no window opens
        draw(figure)
        figure.savefig(picture, format=suffix[1:], metadata=_FORMATS[suffix])
    texts = dict.fromkeys(str(warning.message).partition("\n")[0] for warning in caught)
    return picture.getvalue(), tuple(Note("warning", text) for text in texts)
