"""A command in processes of its own: how long it takes, what it prints, and its most memory."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

_PAUSE = 0.02


@attrs.frozen
class Done:
    """What a command took.

    Parameters
    ----------
    seconds : float
        From its start to its end.
    peak : int
        The most bytes that each of its processes held, summed; 0 where there is no /proc.
    printed : str
        What it wrote to stdout.
    """

    seconds: float
    peak: int
    printed: str


def run(command: Sequence[str]) -> Done:
    """Run a command and watch its processes."""
    peaks: dict[int, int] = {}
    with tempfile.TemporaryFile("w+") as file:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=file)
        while process.poll() is None:
            peaks.update(_peaks(process.pid))
            time.sleep(_PAUSE)
        seconds = time.perf_counter() - start
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        file.seek(0)
        return Done(seconds, sum(peaks.values()), file.read())


def _peaks(pid: int) -> dict[int, int]:
    """Read the high-water mark of a process and of all that came from it."""
    found = {}
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        if "VmHWM:" in status:
            found[pid] = int(status.partition("VmHWM:")[2].split()[0]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                found.update(_peaks(int(child)))
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        pass
    return found
