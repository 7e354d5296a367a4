"""The merge of a queue of panes, at the cost of about one merge per step."""

from __future__ import annotations

from typing import Any

from streameval.accumulators.base import merged
from streameval.accumulators.collection import Collection
from streameval.accumulators.sealed import merged_all
from streameval.accumulators.sliced import Sliced
from streameval.configs.inner import Inner
from streameval.states.sealed import Sealed


class TwoStacks:
    """The merge of a queue of panes: new ones enter at one end, old ones leave at the other.

    Parameters
    ----------
    inner : Inner
        The class and options of the accumulators.
    """

    __slots__ = ("_back", "_coming", "_front", "_inner")

    def __init__(self, inner: Inner) -> None:
        self._inner = inner
        self._front: list[Any] = []  # the last leaves next; each is merged with those below
        self._coming: list[Any] = []
        self._back: Any = None  # the merge of `_coming`

    def push(self, part: Sealed | None) -> None:
        """Add the accumulator of the next pane; None if it has none."""
        # columns pay off for accumulators with many states; single ones are merged as objects
        held = part if part is None or self._inner.cls is Sliced else part.copy()
        self._coming.append(held)
        if held is None:
            return
        if isinstance(held, Sealed):
            self._back = self._joined(self._back, held)
        elif self._back is None:
            self._back = held.copy()
        else:
            _absorb(self._back, held)

    def pop(self) -> None:
        """Remove the oldest pane."""
        if not self._front:
            below = None
            for part in reversed(self._coming):
                below = self._joined(below, part)
                self._front.append(below)
            self._coming, self._back = [], None
        self._front.pop()

    def merged(self) -> Any:
        """Merge all panes into a new accumulator."""
        front = self._front[-1] if self._front else None
        found = self._joined(front, self._back)
        if found is None:
            return self._inner.empty()
        is_held = front is None or self._back is None
        return found.copy() if is_held or isinstance(found, Sealed) else found

    def _joined(self, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        return merged_all(self._inner, [[a, b]])[0] if isinstance(a, Sealed) else merged([a, b])


def _absorb(target: Any, part: Any) -> None:
    """Merge in place into an accumulator that nothing else holds, without copying it."""
    if not isinstance(target, Collection):
        target.merge(part)
        return
    for mine, theirs in zip(target._held.accumulators, part._held.accumulators, strict=True):
        mine.merge(theirs)
