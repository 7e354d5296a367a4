"""The options of `Windowed`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Annotated, Any, Self

import attrs

from streameval.configs import Unit
from streameval.configs.collection import Name
from streameval.configs.inner import Inner, OuterConfig
from streameval.configs.options import option
from streameval.errors import InvalidInputError
from streameval.inputs.classes import is_bool
from streameval.inputs.durations import duration_text, read_duration, read_offset

Length = int | str
"""A number of steps, or a duration such as "5m"."""

MAX_TIERS = 16
_LOWEST = -(2**63)


@attrs.frozen
class Tier:
    """Panes of one width, and how long they are kept.

    Parameters
    ----------
    width : int
        In steps, or microseconds.
    keep : int or None
        Panes that end longer ago than this before the newest are moved on; None keeps them.
    next_width : int
        That of the panes into which they go: what is moved is a whole number of these.
    """

    width: int
    keep: int | None
    next_width: int

    def edge(self, end: int) -> int | None:
        """Return the time before which panes move on; `end` is the end of the newest pane."""
        if self.keep is None:
            return None
        return (end - self.keep) // self.next_width * self.next_width


def _read_pane(pane: Any, *, name: str) -> Length:
    return _length(pane, _is_integer(pane), name=name)


@attrs.frozen(kw_only=True, slots=False)
class WindowedConfig(OuterConfig):
    """Panes, and how long each tier is kept; equal ones can merge. Made by `of`."""

    SUMMARY = "Count each pane of event time separately: a metric over time, and of any window."

    accumulator: Inner = option("What counts each pane.")
    pane: Annotated[Length, _read_pane] = option(
        "The width of the finest panes.",
        help="the width of panes: 30s, 5m, 1h, 7d, or a number of steps",
    )
    time: Name = option("The column of the times.", default="time")
    keep: Length | None = option(
        "How long panes are kept.", default=None, help="how long panes are kept, default forever"
    )
    rollups: tuple[tuple[Length, Length | None], ...] = option(
        "Wider panes for older rows, each width a multiple of the one before.", default=()
    )
    offset: Length = option("How far the edges of panes are shifted.", default=0)
    unit: Unit | None = option(
        "The unit of times that are numbers; it is never guessed.", default=None
    )

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check options, alone and together."""
        read = super().read(given)
        is_step = isinstance(read["pane"], int)
        if is_step and read["unit"] is not None:
            raise InvalidInputError(
                "has no meaning: with a pane of an integer, times are integers", argument="unit"
            )
        if read["keep"] is not None:
            read["keep"] = _length(read["keep"], is_step, name="keep")
        read["rollups"] = _read_rollups(read["rollups"], is_step)
        read["offset"] = _offset(read["offset"], is_step)
        return read

    def completed(self) -> Self:
        """Check options together, and shift the edges of panes by less than the widest one."""
        self._check()
        shift = self.offset_size % self.tiers[-1].width  # beyond it, panes are the same
        return attrs.evolve(self, offset=self._text(shift))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that define the groups."""
        return (self.time,)

    @property
    def is_step(self) -> bool:
        """Whether times are integers of any meaning, and not moments."""
        return isinstance(self.pane, int)

    @cached_property
    def width(self) -> int:
        """The width of the finest panes."""
        return _size(self.pane)

    @cached_property
    def offset_size(self) -> int:
        """How far the edges of panes are shifted."""
        return self.offset if isinstance(self.offset, int) else read_offset(self.offset, name="")

    @cached_property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers, the finest first."""
        widths = [self.width, *(_size(width) for width, _ in self.rollups)]
        keeps = [self.keep, *(keep for _, keep in self.rollups)]
        following = [*widths[1:], widths[-1]]
        return tuple(
            Tier(width, None if keep is None else _size(keep), next_width)
            for width, keep, next_width in zip(widths, keeps, following, strict=True)
        )

    def end_of(self, times: Any) -> Any:
        """Return the end of the finest pane of a time, or of each of an array of times."""
        return ((times - self.offset_size) // self.width + 1) * self.width + self.offset_size

    def edges(self, newest: int) -> list[int]:
        """Return the time before which panes of each tier move on, given the newest time.

        It is the lowest of all where panes are kept forever.
        """
        end = self.end_of(newest) - self.offset_size
        edges = (tier.edge(end) for tier in self.tiers)
        return [
            _LOWEST if edge is None else max(edge + self.offset_size, _LOWEST) for edge in edges
        ]

    def length(self, value: Any, *, name: str) -> int:
        """Read the length of a window: a whole number of panes."""
        size = _size(_length(value, self.is_step, name=name))
        if size % self.width:
            raise InvalidInputError(
                f"must be a multiple of the pane, {self.pane!r}, got {value!r}", argument=name
            )
        return size

    def shown(self, time: int) -> Any:
        """Return a time in its public form: datetime64[us], or an integer."""
        if self.is_step:
            return time
        import numpy as np  # noqa: PLC0415 (configurations need none)

        return np.datetime64(time, "us")

    def _check(self) -> None:
        """Check that panes of one tier fill panes of the next, which are kept longer."""
        if self.rollups and self.keep is None:
            raise InvalidInputError("is missing: without it nothing is rolled up", argument="keep")
        if self.keep is not None and _size(self.keep) < self.width:
            raise InvalidInputError(
                f"must be at least one pane, {self.pane!r}, got {self.keep!r}", argument="keep"
            )
        for (finer, coarser), (width, _) in zip(pairwise(self.tiers), self.rollups, strict=True):
            if coarser.width % finer.width or coarser.width == finer.width:
                raise InvalidInputError(
                    f"must have widths that are multiples of the one before, got {width!r} "
                    f"after {self._text(finer.width)!r}",
                    argument="rollups",
                )
            if finer.keep is None:
                raise InvalidInputError(
                    f"never come to {width!r}: what is before is kept forever",
                    argument="rollups",
                )
            if coarser.keep is not None and coarser.keep < finer.keep:
                raise InvalidInputError(
                    f"must be kept at least as long as the panes before, got {width!r} kept "
                    f"{self._text(coarser.keep)!r} after {self._text(finer.keep)!r}",
                    argument="rollups",
                )

    def _text(self, size: int) -> Length:
        return size if self.is_step else duration_text(size)


def _size(length: Length) -> int:
    return length if isinstance(length, int) else read_duration(length, name="pane")


def _length(value: Any, is_step: bool, *, name: str) -> Length:
    if not is_step:
        return duration_text(read_duration(value, name=name))
    steps = _step(value, name=name)
    if steps < 1:
        raise InvalidInputError(f"must be at least 1, got {value!r}", argument=name)
    return steps


def _is_integer(value: Any) -> bool:
    """Tell whether a value is an integer; NumPy takes its durations for such."""
    is_duration = type(value).__name__ == "timedelta64"
    return isinstance(value, Integral) and not (is_bool(value) or is_duration)


def _step(value: Any, *, name: str) -> int:
    if not _is_integer(value):
        raise InvalidInputError(f"must be an integer, as the pane is, got {value!r}", argument=name)
    if abs(int(value)) >= 2**62:
        raise InvalidInputError(f"must be below 2**62, got {value!r}", argument=name)
    return int(value)


def _offset(value: Any, is_step: bool) -> Length:
    if is_step:
        return _step(value, name="offset")
    size = read_offset(value, name="offset")
    return duration_text(size) if size >= 0 else f"-{duration_text(-size)}"


def _read_rollups(rollups: Any, is_step: bool) -> tuple[tuple[Length, Length | None], ...]:
    given = rollups if isinstance(rollups, (list, tuple)) else [rollups]
    if len(given) >= MAX_TIERS:
        raise InvalidInputError(
            f"must be fewer than {MAX_TIERS}, got {len(given)}", argument="rollups"
        )
    pairs = []
    for pair in given:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise InvalidInputError(
                f"must be pairs of a width and how long it is kept, got {pair!r}",
                argument="rollups",
            )
        width, keep = pair
        kept = None if keep is None else _length(keep, is_step, name="rollups")
        pairs.append((_length(width, is_step, name="rollups"), kept))
    return tuple(pairs)
