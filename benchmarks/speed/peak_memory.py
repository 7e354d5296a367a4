"""The most memory that one side takes, each measured in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from speed.contest import Contest, Peer, Side

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def peak_of(run: Side) -> int:
    """Run a side, and return by how many bytes memory rose above what was there before.

    Where Linux lets us, the mark is first set back to what is in use, or what came before, such
    as making the data, would hide it.
    """
    if _RESET.exists():
        _RESET.write_text("5", encoding="ascii")
    before = _resident()
    run.run()
    return max(_peak() - before, 1)


def _resident() -> int:
    return _status("VmRSS") if _STATUS.exists() else _peak()


def _peak() -> int:
    if _STATUS.exists():
        return _status("VmHWM")  # not getrusage, which counts the parent before exec
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(name: str) -> int:
    text = _STATUS.read_text(encoding="ascii")
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024


def measure(contest: Contest, peer: Peer | None, shrink: int) -> int:
    """Measure the peak of one side of a contest in a new process; ours without a peer."""
    place = "ours" if peer is None else str(contest.peers.index(peer))
    command = [sys.executable, "-P", "-m", "speed.peak_memory", str(contest), place, str(shrink)]
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    return int(done.stdout)


def main(name: str, place: str, shrink: str) -> None:
    """Print the peak of one side."""
    from speed.verbs import CONTESTS  # noqa: PLC0415 - it imports the libraries

    (contest,) = [one for one in CONTESTS if str(one) == name]
    data = contest.data(contest.rows(int(shrink)))
    if place == "ours":
        side, warm = contest.ours(data), contest.ours(contest.data(64))
    else:
        peer = contest.peers[int(place)]
        side, warm = peer.side(data), peer.side(contest.data(64))
    warm.run()  # libraries load parts of themselves at the first use
    print(peak_of(side))


if __name__ == "__main__":
    main(*sys.argv[1:])
