"""A contest: one piece of work that we and others do, and by how much we want to be ahead.

Everything that times - the report, the guard and pytest-benchmark - takes its contests from
`speed.verbs.CONTESTS`, and gets both sides ready by `Contest.ready`, which refuses to time
sides that do not come to the same numbers.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs
import numpy as np
import numpy.typing as npt

Data = tuple[Any, ...]
Numbers = Mapping[str, npt.ArrayLike]
Measure = Literal["time", "peak memory", "size"]


@attrs.frozen
class Side:
    """One side of a contest, ready to go.

    Parameters
    ----------
    run : callable
        What is timed. For the measure "size", it gives the number of bytes.
    numbers : callable, optional
        Read by name what the work came to. A yardstick, such as a sort of as many keys, has none.
    calls : int
        At least so many calls make a round, so that work which is put off falls into it.
    """

    run: Callable[[], Any]
    numbers: Callable[[], Numbers] | None = None
    calls: int = 1

    @classmethod
    def of_function(cls, run: Callable[[], Numbers]) -> Side:
        """Make the side of a function whose result is the numbers."""
        return cls(run, run)

    def after_one_run(self) -> Numbers:
        """Do the work once, and read what it came to."""
        if self.numbers is not self.run:
            self.run()
        return self.numbers() if self.numbers else {}


@attrs.frozen(kw_only=True)
class Peer:
    """Who does the same work, or a yardstick.

    Parameters
    ----------
    library : str
        The distribution, whose version is reported; NumPy for yardsticks.
    name : str
        What is called, or what the yardstick is.
    ready : callable
        From the imported module and the data to the side.
    module : str, optional
        What to import, by default the library.
    goal : float, optional
        How many times as fast, or as small, we want to be. A peer without one is shown only.
    tolerance : float
        How far its numbers may be from ours, absolutely and relatively.
    why : str
        Why its goal is missed, if it is; the page shows the yardsticks of the contest beside it.
    """

    library: str
    name: str
    ready: Callable[[Any, Data], Side]
    module: str = ""
    goal: float | None = 1.0
    tolerance: float = 1e-9
    why: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the module can be found."""
        return importlib.util.find_spec(self._module.partition(".")[0]) is not None

    def side(self, data: Data) -> Side:
        """Import the library and get the side ready."""
        with warnings.catch_warnings():  # of libraries about their own libraries
            warnings.simplefilter("ignore")
            return self.ready(importlib.import_module(self._module), data)

    @property
    def _module(self) -> str:
        return self.module or self.library

    def __str__(self) -> str:
        return f"{self.library} {self.name}"


def yardstick(name: str, make: Callable[[Data], Callable[[], Any]], library: str = "numpy") -> Peer:
    """Show what a part of our work, or the least that it takes, costs alone: `make` gives it."""
    return Peer(library=library, name=name, ready=lambda _, data: Side(make(data)), goal=None)


@attrs.frozen
class Ready:
    """The sides of a contest on the same data, whose numbers agree."""

    size: int
    ours: Side
    peers: Mapping[Peer, Side]
    missing: tuple[Peer, ...] = ()


@attrs.frozen(kw_only=True, eq=False)
class Contest:
    """One piece of work.

    Parameters
    ----------
    verb, accumulator, work : str
        What is done, by which of our accumulators, on what.
    size : int
        The number of rows.
    data : callable
        From a number of rows to the data that all sides get.
    ours : callable
        From the data to our side.
    peers : sequence of Peer
        The other sides.
    measure : {"time", "peak memory", "size"}
        What is compared.
    """

    verb: str
    accumulator: str
    work: str
    size: int
    data: Callable[[int], Data]
    ours: Callable[[Data], Side]
    peers: tuple[Peer, ...] = attrs.field(converter=tuple)
    measure: Measure = "time"

    def __str__(self) -> str:
        return f"{self.verb}/{self.accumulator}/{self.work}/{self.size}"

    def rows(self, shrink: int) -> int:
        """Return the size, divided by `shrink` where it is large."""
        return self.size // shrink if self.size > 2**16 else self.size

    def ready(self, shrink: int = 1) -> Ready:
        """Get all sides ready, let each do the work once, and compare their numbers.

        Raises
        ------
        AssertionError
            When a peer came to other numbers.
        """
        size = self.rows(shrink)
        data = self.data(size)
        ours = self.ours(data)
        expected = ours.after_one_run()
        peers = {peer: peer.side(data) for peer in self.peers if peer.is_installed}
        for peer, side in peers.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._compare(peer, expected, side.after_one_run())
        missing = tuple(peer for peer in self.peers if peer not in peers)
        return Ready(size, ours, peers, missing)

    def _compare(self, peer: Peer, expected: Numbers, found: Numbers) -> None:
        for name, value in found.items():
            near = np.allclose(value, expected[name], rtol=peer.tolerance, atol=peer.tolerance)
            assert near, f"{self}: {name} is {expected[name]}, but {value} by {peer}"
