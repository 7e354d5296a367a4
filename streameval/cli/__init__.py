"""The command line; `app` runs a command, and each command has a file of its name.

A worker process imports what the console script imports, but runs no command. The modules of a
command are therefore imported only when it is run.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence

__all__ = ["main", "run"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit code."""
    from streameval.cli import app  # noqa: PLC0415

    return app.main(argv)


def run() -> None:
    """Run the console script."""
    gc.set_threshold(100_000)  # more than is imported, which stays: to search it takes 0.02 s
    from streameval.cli import app  # noqa: PLC0415

    try:
        app.run()
    finally:
        gc.freeze()  # as Python searches everything at its end, which takes 0.03 s
