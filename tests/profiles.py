"""How many cases are generated: few in the inner loop, more in CI, all in the deep suite.

The profile is hypothesis's own: `pytest --hypothesis-profile=deep`. Tests that draw with NumPy
ask here how many cases to draw, while they are collected.
"""

from __future__ import annotations

from hypothesis import settings

__all__ = ["EXAMPLES", "cases", "quick_cases"]

EXAMPLES = {"dev": 3, "cover": 10, "ci": 25, "deep": 1000}
"""Cases of a law by profile; `dev` is the default, `cover` takes every branch."""


def cases(deep: int = 1000, *, least: int = 1) -> int:
    """Return the share of `deep` cases that the profile runs, but at least so many.

    In the inner loop half of them are enough.
    """
    return max(round(deep * _share()), -(-least // 2) if _is("dev") else least)


def quick_cases(every: int, *, least: int = 3) -> int:
    """Return the number of cases so cheap that CI runs every one, and the inner loop a few."""
    part = 80 if _is("dev") else 10 if _is("cover") else 1
    return max(every // part, least)


def _is(profile: str) -> bool:
    return settings().max_examples == EXAMPLES[profile]


def _share() -> float:
    return settings().max_examples / EXAMPLES["deep"]
