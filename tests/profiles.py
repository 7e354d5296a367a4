"""How many cases are generated: few in the inner loop, more in CI, all in the deep suite.

The profile is hypothesis's own: `pytest --hypothesis-profile=deep`. Tests that draw with NumPy
ask here how many cases to draw, while they are collected.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

__all__ = ["EXAMPLES", "cases", "is_inner_loop", "quick_cases"]

EXAMPLES = {"dev": 2, "cover": 10, "ci": 25, "deep": 1000}
"""Cases of a law by profile; `dev` is the default, `cover` is for tests that measure coverage."""
_PARTS = {EXAMPLES["dev"]: 80, EXAMPLES["cover"]: 10, EXAMPLES["ci"]: 4}


def cases(deep: int = 1000, *, least: int = 1) -> int:
    """Return the share of `deep` cases that the profile runs, but at least so many.

    In the inner loop half of them are enough.
    """
    examples = settings().max_examples
    is_quick = examples == EXAMPLES["dev"]
    return max(round(deep * examples / EXAMPLES["deep"]), -(-least // 2) if is_quick else least)


def quick_cases(every: int, *, least: int = 3) -> int:
    """Return the number of cases so cheap that CI runs a quarter, and the inner loop a few."""
    return max(every // _PARTS.get(settings().max_examples, 1), least)


def is_inner_loop(config: pytest.Config) -> bool:
    """Check whether the command chooses no tests by their marks."""
    return f"-m{config.option.markexpr}" in config.getini("addopts")
