"""Names of quantiles over queries: ``map[median]``, ``ndcg@10[q=0.9]``."""

from __future__ import annotations

import math
import re
from typing import Any, Self

import attrs

from streameval.errors import InvalidInputError

_FORM = re.compile(r"\s*(?P<measure>[^\[\]]*)\[\s*(?P<what>[^\[\]]*?)\s*\]\s*")
_NAMED = {"min": 0.0, "median": 0.5, "max": 1.0}


@attrs.frozen
class QueryQuantile:
    """A quantile of a measure over the queries.

    Parameters
    ----------
    measure : str
        The name of the measure.
    q : float
        The share of the queries below, in [0, 1].
    """

    measure: str
    q: float

    @classmethod
    def of(cls, name: Any) -> Self | None:
        """Read a name; None if it names no quantile.

        >>> QueryQuantile.of("map[median]"), QueryQuantile.of("map")
        (QueryQuantile(measure='map', q=0.5), None)
        """
        match = _FORM.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            return None
        q = _share(match["what"].lower().replace(" ", ""))
        if q is None:
            raise InvalidInputError(
                "needs min, median, max or a share as in q=0.9 in the brackets of a measure, got "
                f"{name!r}",
                argument="measures",
            )
        return cls(match["measure"], q)

    @property
    def name(self) -> str:
        """The canonical name."""
        what = {q: word for word, q in _NAMED.items()}.get(self.q, f"q={self.q!r}")
        return f"{self.measure}[{what}]"


def _share(text: str) -> float | None:
    """Read the text in the brackets; None if it is not a share."""
    if text in _NAMED:
        return _NAMED[text]
    try:
        q = float(text.removeprefix("q=")) if text.startswith("q=") else math.nan
    except ValueError:
        return None
    return q + 0.0 if 0.0 <= q <= 1.0 else None


def measured(name: Any) -> Any:
    """Return the measure of a quantile; any other name is returned as it is."""
    quantile = QueryQuantile.of(name)
    return name if quantile is None else quantile.measure
