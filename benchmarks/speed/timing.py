"""Sides take turns, round by round, and each round gives one ratio."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from time import perf_counter
from typing import Any

import attrs
import numpy as np

from speed.contest import Peer, Ready, Side


@attrs.frozen
class Effort:
    """How long to look.

    Parameters
    ----------
    turn : float
        About how many seconds a side works in a round; one call may take longer.
    seconds : float
        About how long a contest may take.
    rounds : tuple of int
        The fewest and the most rounds, whatever they take.
    """

    turn: float = 0.01
    seconds: float = 3.0
    rounds: tuple[int, int] = (3, 31)


_LONGEST_TURN = 25
"""A turn of a side that puts work off may be so many times as long."""

QUICK = Effort(turn=0.002, seconds=0.25, rounds=(3, 15))


@attrs.frozen
class Spread:
    """The quartiles of what was found in the rounds."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray) -> Spread:
        """Take the quartiles."""
        return cls(*map(float, np.quantile(values, [0.25, 0.5, 0.75])))


@attrs.frozen
class Timing:
    """Seconds of a call of ours, and for each peer how many times as long it took."""

    rounds: int
    ours: Spread
    ratios: dict[Peer, Spread]


def race(ready: Ready, effort: Effort) -> Timing:
    """Time the sides of a contest in turns.

    A round is one turn of each side, and the next round begins with the next side. The ratio is
    that of two turns of one round, so what slows the machine for seconds slows both.
    """
    sides = [ready.ours, *ready.peers.values()]
    with _undisturbed():
        calls, turns = zip(*(_calls(side, effort.turn) for side in sides), strict=True)
        rounds = int(np.clip(effort.seconds / sum(turns), *effort.rounds))
        seconds = np.array([_round(sides, calls, first) for first in range(rounds)])
    return Timing(
        rounds=rounds,
        ours=Spread.of(seconds[:, 0]),
        ratios={
            peer: Spread.of(seconds[:, place] / seconds[:, 0])
            for place, peer in enumerate(ready.peers, start=1)
        },
    )


def _round(sides: Sequence[Side], calls: Sequence[int], first: int) -> list[float]:
    found = [0.0] * len(sides)
    for place in range(len(sides)):
        side = (first + place) % len(sides)
        found[side] = _turn(sides[side].run, calls[side])
    return found


def _turn(run: Callable[[], Any], calls: int) -> float:
    """Time a number of calls, in seconds each."""
    start = perf_counter()
    for _ in repeat(None, calls):
        run()
    return (perf_counter() - start) / calls


def _calls(side: Side, turn: float) -> tuple[int, float]:
    """Find how many calls fill a turn, a longer one if work is put off, and what they take."""
    calls = 1
    while (seconds := _turn(side.run, calls)) * calls < turn / 2:
        calls = max(2 * calls, int(turn / 2 / max(seconds, 1e-9)))
    fill = turn / seconds
    calls = max(1, int(fill), min(side.calls, int(_LONGEST_TURN * fill)))
    return calls, calls * seconds


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the garbage collector and warnings of libraries out, as `timeit` does the former."""
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.enable()
