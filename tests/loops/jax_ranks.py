"""A process of several in JAX: count some of the rows, and gather them as the page says."""

from __future__ import annotations

import doctest
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from loops.digits import VALID

import streameval as se

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "jax.md"


def counted(rank: int) -> se.PRCurveSketch:
    """Count as many rows as a rank has: states of different lengths."""
    rows = slice(100 * rank, 100 * rank + 50 * (rank + 1))
    return se.PRCurveSketch(None).update(VALID[1][rows] == 4, VALID[0][rows, 20])


def gather_of_the_page() -> Callable[[Any], Any]:
    examples = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for example in examples:
        if example.source.startswith(("import ", "from ", "def gather")):
            exec(example.source, names)
    found: Callable[[Any], Any] = names["gather"]
    return found


def main(address: str, rank: int, n_ranks: int) -> None:
    """Print the bytes of what all ranks have counted."""
    jax.distributed.initialize(address, n_ranks, rank)
    sys.stdout.write(gather_of_the_page()(counted(rank)).to_bytes().hex())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
