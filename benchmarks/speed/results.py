"""What was found: the rows of the report, on which machine, kept as JSON."""

from __future__ import annotations

import datetime
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from speed.contest import Contest, Peer
from speed.timing import Spread

YARDSTICKS = ("numpy", "pyarrow", "streameval")
"""The libraries with which we measure parts of our own work."""

RESULTS = Path(__file__).parents[1] / "results.json"


@attrs.frozen(kw_only=True)
class Row:
    """One of our accumulators beside one peer.

    Parameters
    ----------
    verb, accumulator, work, size, measure
        Those of the contest; the size is the one that was taken.
    library, peer : str
        Who did the same, and what was called.
    goal : float or None
        The ratio that we want, if any.
    ratio : Spread or None
        How many times as long, or as much, the peer took; None if it is not installed.
    ours : float or None
        Our seconds a call, or bytes.
    rounds : int
        Of how many ratios these are the quartiles.
    why : str
        Why the goal is missed, if it is.
    """

    verb: str
    accumulator: str
    work: str
    size: int
    measure: str
    library: str
    peer: str
    goal: float | None
    ratio: Spread | None = None
    ours: float | None = None
    rounds: int = 0
    why: str = ""

    @classmethod
    def of(cls, contest: Contest, peer: Peer, size: int, **found: Any) -> Row:
        """Make the row of a contest and one of its peers."""
        return cls(
            verb=contest.verb,
            accumulator=contest.accumulator,
            work=contest.work,
            size=size,
            measure=contest.measure,
            library=peer.library,
            peer=peer.name,
            goal=peer.goal,
            why=peer.why,
            **found,
        )

    @property
    def is_missed(self) -> bool:
        """Whether there is a goal, and the median does not reach it."""
        return self.goal is not None and self.ratio is not None and self.ratio.median < self.goal

    @property
    def contest(self) -> tuple[str, str, str, int, str]:
        """What the contest is about, which rows of its peers share."""
        return self.verb, self.accumulator, self.work, self.size, self.measure

    @property
    def is_yardstick(self) -> bool:
        """Whether it shows what a part of our work takes alone."""
        own = self.library in YARDSTICKS
        return own and self.goal is None and self.ratio is not None


@attrs.frozen
class Report:
    """All rows, and what they were found with."""

    about: dict[str, Any]
    rows: list[Row]


def save(report: Report, path: Path = RESULTS) -> None:
    """Write a report, a row a line, with as many digits as mean something."""
    rows = ",\n".join(f"    {json.dumps(_rounded(attrs.asdict(row)))}" for row in report.rows)
    about = json.dumps(report.about, indent=2).replace("\n", "\n  ")
    text = f'{{\n  "about": {about},\n  "rows": [\n{rows}\n  ]\n}}\n'
    path.write_text(text, encoding="utf-8")


def load(path: Path = RESULTS) -> Report:
    """Read a report."""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        Row(**{**row, "ratio": Spread(**row["ratio"]) if row["ratio"] else None})
        for row in found["rows"]
    ]
    return Report(found["about"], rows)


def about(libraries: set[str]) -> dict[str, Any]:
    """Say when, on what and with what, but not where."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in sorted({*libraries, "streameval"})},
    }


def machine() -> str:
    """Describe the machine in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].replace("(R)", "").strip()
    return platform.processor() or platform.machine()


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _rounded(value) for key, value in found.items()}
    return float(f"{found:.4g}") if isinstance(found, float) else found
