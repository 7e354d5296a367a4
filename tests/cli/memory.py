"""The memory of a command, as Python counts it: the same on a busy machine and a quiet one."""

import contextlib
import gc
import tracemalloc
from pathlib import Path

from streameval.cli import main


def peak_of(*arguments):
    """Measure the most bytes that a command holds at a time, and return what it prints.

    Measuring makes it slow, so that it would start workers and keep blocks for them; `--jobs 1`.
    """
    run(*arguments)  # imports what it needs
    gc.collect()
    tracemalloc.start()
    try:
        run(*arguments)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak, Path("printed").read_text()


def run(*arguments):
    with Path("printed").open("w") as printed, contextlib.redirect_stdout(printed):
        assert main([str(argument) for argument in arguments]) == 0
