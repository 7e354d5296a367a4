"""The pictures of results."""

from __future__ import annotations

PICTURES_BY_TASK = {
    "classification": ("matrix",),
    "binary": ("pr", "roc", "det", "reliability", "score"),
    "grouped": ("groups",),
    "calibration": ("reliability",),
    "ranking": ("measures",),
}
"""The names of the pictures of each task that has any; the first is the default.

The help of the command line lists them, which does not import the results themselves.
"""
