"""The command line; `app` runs a command, and each command has a file of its name.

A worker process imports what the console script imports, but runs no command. The modules of a
command are therefore imported only when it is run.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Sequence

__all__ = ["main", "run"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit code."""
    from streameval.cli import app  # noqa: PLC0415

    return app.main(argv)


def run() -> None:
    """Run the console script."""
    gc.set_threshold(100_000)  # more than is imported, which stays: to search it takes 0.02 s
    try:
        from streameval.cli import app  # noqa: PLC0415

        app.run()
    except KeyboardInterrupt:  # before a command begins, or while its output is printed
        sys.exit(128 + signal.SIGINT)
    finally:
        gc.freeze()  # as Python searches everything at its end, which takes 0.03 s
