"""Lists of measures as users write them, and the options of an accumulator that they imply."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import attrs

from streameval.configs.measures import (
    NO_PARAMETERS,
    Measure,
    measure,
    split_name,
    truth_value,
    unknown_option,
)
from streameval.configs.measures.table import MEASURES
from streameval.configs.measures.trec_eval import expanded
from streameval.configs.names import as_names, check_distinct, read_number
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
    q = read_number(text.removeprefix("q=")) if text.startswith("q=") else None
    return None if q is None or not 0.0 <= q <= 1.0 else q + 0.0


def measured(name: Any) -> Any:
    """Return the measure of a quantile; any other name is returned as it is."""
    quantile = QueryQuantile.of(name)
    return name if quantile is None else quantile.measure


DEFAULT_MEASURES = ("map", "mrr", "ndcg@10", "p@10", "r@10", "hit@10")

_NUMBER_FORM = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_MAPPING = re.compile(rf"\{{{_NUMBER_FORM}:{_NUMBER_FORM}(?:,{_NUMBER_FORM}:{_NUMBER_FORM})*\}}")
_GAINS_OF_FORMS = {"log2": "linear", "exp-log2": "exp2"}


def canonical_measures(
    value: Any, parameters: Mapping[str, float] = NO_PARAMETERS
) -> tuple[str, ...]:
    """Convert the names of measures and quantiles to canonical form; a single one may stand alone.

    `parameters` replace the defaults of some families.
    """
    read = functools.partial(Measure.of, parameters=parameters) if parameters else measure
    names = tuple(_canonical(name, read) for name in listed(value))
    if not names:
        raise InvalidInputError("must hold at least one name", argument="measures")
    check_distinct(names, name="measures")
    return names


def _canonical(name: Any, read: Callable[[Any], Measure]) -> str:
    quantile = QueryQuantile.of(name)
    if quantile is None:
        return read(name).name
    return attrs.evolve(quantile, measure=read(quantile.measure).name).name


def listed(value: Any) -> tuple[Any, ...]:
    """List the names asked for, with trec_eval's sets spelt out; a single one may stand alone."""
    given = as_names(value, name="measures")
    return tuple(name for one in given for name in expanded(one))


def implied_options(value: Iterable[Any]) -> dict[str, Any]:
    """Find the options of the whole accumulator that ir_measures writes into names of measures.

    Parameters
    ----------
    value : iterable of str
        Names that can be read.

    Returns
    -------
    dict
        "gain" and "unjudged", if asked for.

    Raises
    ------
    InvalidInputError
        When two names ask for different ones.
    """
    names = tuple(measured(name) for name in value)
    if not any("(" in name for name in names):
        return {}
    asked: dict[str, dict[Any, str]] = {"gain": {}, "unjudged": {}}
    for name in names:
        parts = split_name(name)
        held = dict(parts.options)
        if MEASURES[parts.family].uses_gains:
            asked["gain"][_gain_in(held, name)] = name
        elif held.keys() & {"dcg", "gains"}:
            raise unknown_option(parts.family, name)
        judged_only = held.get("judged_only")
        drops = judged_only is not None and truth_value(judged_only, "judged_only", name)
        asked["unjudged"]["drop" if drops else None] = name
    options: dict[str, Any] = {}
    for option, found in asked.items():
        if len(found) > 1:
            two = " and ".join(map(repr, found.values()))
            raise InvalidInputError(
                f"must agree on `{option}`, which the whole accumulator has, got {two}",
                argument="measures",
                remedy="Count them in two accumulators of a Collection.",
            )
        wanted = next(iter(found), None)
        if wanted is not None:
            options[option] = wanted
    return options


def _gain_in(held: Mapping[str, str], name: str) -> Any:
    """Find the gains that a name of ir_measures asks for; None if it asks for none."""
    form, gains = held.get("dcg"), held.get("gains")
    if form is not None and form.strip("'\"") not in _GAINS_OF_FORMS:
        raise InvalidInputError(
            f"needs 'log2' or 'exp-log2' after dcg=, got {name!r}", argument="measures"
        )
    if gains is None:
        return None if form is None else _GAINS_OF_FORMS[form.strip("'\"")]
    if form is not None or not _MAPPING.fullmatch(gains):
        raise InvalidInputError(
            f"needs pairs of a relevance and a gain after gains=, and no dcg=, got {name!r}",
            argument="measures",
        )
    pairs = (pair.split(":") for pair in gains[1:-1].split(","))
    return tuple((float(level), float(gain)) for level, gain in pairs)
