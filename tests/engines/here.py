"""An engine in this process, so that what all engines share is tested without one."""

from __future__ import annotations

import pickle
import random
from typing import Any

import attrs

from streameval.engines._counting import SourceCounter
from streameval.engines._running import Engine, Policy, evaluate_on
from streameval.engines._sources import Sources


@attrs.define(eq=False)
class Handle:
    """A call whose result is made when it is asked for, and is thrown away with others."""

    function: Any
    arguments: tuple[Any, ...]
    made: Any = None
    is_done: bool = False

    def result(self) -> Any:
        if not self.is_done:
            given = [one.result() if isinstance(one, Handle) else one for one in self.arguments]
            function, given = pickle.loads(pickle.dumps((self.function, given)))
            self.made = pickle.loads(pickle.dumps(function(*given)))
            self.is_done = True
        return self.made


def item(results: Any, number: int) -> Any:
    return results[number]


class Here(Engine):
    """Tasks finish in any order, and all values pickle."""

    def __init__(
        self, n_slots: int = 2, seed: int | None = None, at_once: int | None = None
    ) -> None:
        self.n_slots = n_slots
        self.at_once = at_once
        self.seed = seed
        self.started: list[Handle] = []
        self.n_merged: list[int] = []
        self.lanes: list[int] = []
        self.n_pending: list[int] = []
        self.merges: list[Handle] = []
        self.n_results: list[int] = []
        self.cancelled: list[Handle] = []
        self.early: list[Handle] = []

    def start(self, function: Any, calls: Any) -> list[Handle]:
        made = [Handle(function, call) for call in calls]
        self.started += made
        return made

    def start_several(self, function: Any, calls: Any, n_results: int) -> list[list[Handle]]:
        self.n_pending.append(len(self.n_results) - sum(self.n_merged) + len(self.n_merged))
        self.n_results += [n_results for _ in calls]
        return [
            [Handle(item, (task, number)) for number in range(n_results)]
            for task in self.start(function, calls)
        ]

    def merge(self, function: Any, states: Any, lane: int) -> Handle:
        self.n_merged.append(len(states))
        self.lanes.append(lane)
        self.merges.append(Handle(function, (*states,)))
        return self.merges[-1]

    def finished(self, handles: Any) -> Any:
        if self.at_once is not None:
            return ((handle, handle.result()) for handle in handles)
        order = list(handles)
        if self.seed is not None:
            random.Random(self.seed).shuffle(order)
        return ((handle, handle.result()) for handle in order)

    def ready(self, handles: Any) -> list[Handle]:
        return [handle for handle in handles if handle in self.early]

    def result(self, handle: Handle) -> Any:
        return handle.result()

    def cancel(self, handles: Any) -> None:
        self.cancelled += handles


def evaluate(sources: Any, make: Any, *, engine: Here | None = None, **options: Any) -> Any:
    """Evaluate as the engines do."""
    known = ("columns", "by", "options", "missing_columns", "nulls")
    counted = {name: options.pop(name) for name in known if name in options}
    counter = SourceCounter.of(make, **counted)
    filesystem = options.pop("filesystem", None)
    found = Sources.of(sources, filesystem)
    return evaluate_on(engine or Here(), counter, found, Policy(**options))
