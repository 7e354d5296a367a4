"""What the command line reads from collections: each metric is that of a member."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.terminal import printable
from streameval.cli.views.readings import Metric, Reading, unknown
from streameval.configs.collection import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable

    from streameval.cli.views.kinds import View
    from streameval.results.collection import CollectionResult

    ViewOf = Callable[[Any], View]

__all__ = ["check", "describe", "every", "measure", "names", "report"]

_MEMBER = re.compile(rf"(.+){SEPARATOR}(.+)")  # a metric has no such sign in its own name


def names(result: CollectionResult, view_of: ViewOf) -> list[str]:
    """List the metrics of all members, as ``member/metric``."""
    return [
        f"{member}{SEPARATOR}{name}"
        for member, inner in result.leaves().items()
        for name in view_of(inner).names(inner)
    ]


def check(result: CollectionResult, metric: Metric, view_of: ViewOf) -> None:
    """Raise UsageError if no member has such a metric."""
    inner, own = _found(result, metric, view_of)
    view_of(inner).check(inner, own)


def measure(result: CollectionResult, metric: Metric, level: float, view_of: ViewOf) -> Reading:
    """Read a metric of a member.

    Raises
    ------
    UsageError
        If no member has such a metric.
    """
    inner, own = _found(result, metric, view_of)
    return view_of(inner).measure(inner, own, level)


def every(result: CollectionResult, level: float, view_of: ViewOf) -> dict[str, Reading]:
    """Read every metric of all members."""
    return {
        f"{member}{SEPARATOR}{name}": reading
        for member, inner in result.leaves().items()
        for name, reading in view_of(inner).readings(inner, level).items()
    }


def describe(result: CollectionResult, level: float, view_of: ViewOf) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    members = {
        name: view_of(inner).describe(inner, level) for name, inner in result.leaves().items()
    }
    return {"metrics": result.as_dict(), "level": level, "members": members}


def report(result: CollectionResult, level: float, view_of: ViewOf) -> str:
    """Lay the reports of the members out one below the other, those of equal ones once."""
    return "\n\n".join(
        f"{printable(title)}\n{textwrap.indent(view_of(inner).report(inner, level), '  ')}"
        for title, inner in result.titled()
    )


def _found(result: CollectionResult, metric: Metric, view_of: ViewOf) -> tuple[Any, Metric]:
    """Find the result of the member that a metric names, and the metric in it."""
    leaves, match = result.leaves(), _MEMBER.fullmatch(metric.name)
    if match is None or match[1] not in leaves:
        raise unknown(metric, names(result, view_of))
    return leaves[match[1]], attrs.evolve(metric, name=match[2])
