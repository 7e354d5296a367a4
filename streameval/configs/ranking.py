"""The options of `RankingAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, Self

import attrs

from streameval.configs.cached import Cached
from streameval.configs.measures import (
    Measure,
    canonical_measures,
    implied_options,
    listed,
    measure,
)
from streameval.configs.options import (
    finite_number,
    flag,
    one_of,
    optional_positive_integer,
    positive_integer,
)
from streameval.configs.query_quantiles import measured
from streameval.errors import InvalidInputError

JUDGED = -math.inf
"""The relevance level that every judged document reaches."""

Policies = str | tuple[str, ...]
Gain = Literal["linear", "exp2"] | tuple[tuple[float, float], ...]

EMPTY = ("zero", "skip", "one", "nan")
MISSING = ("zero", "skip")
_TIES = ("expected", "docid_desc", "pessimistic", "optimistic")
_MAX_GAIN = 2.0**400
USUAL_BUDGET = 65_536
_IMMUTABLE = frozenset({str, bool, int, float, type(None)})


@attrs.frozen(kw_only=True, slots=False, cache_hash=True)
class RankingConfig(Cached):
    """Every option that changes what a ranking state holds; equal ones can merge. Made by `of`.

    A policy is one word for all measures, or a word for each.
    """

    measures: tuple[str, ...]
    relevance_level: float
    gain: Gain
    ties: str
    ap_norm: str
    unjudged: str
    negative: str
    nan: str
    empty: Policies
    missing: Policies
    track_queries: bool
    rows_per_query: int
    max_open_queries: int | None
    per_query: bool
    budget: int | None = attrs.field(default=USUAL_BUDGET, metadata={"omit_default": True})

    @classmethod
    def of(cls, *, measures: Any, **options: Any) -> Self:
        """Check the options; `measures` may name quantiles too.

        Numbers, words and names that have been checked before give the same configuration.
        """
        names = tuple(measures) if type(measures) is list else measures
        values = options.values()
        if type(names) is not tuple or not {*map(type, names)} <= {str}:
            return cls._checked(measures=measures, **options)
        if not _IMMUTABLE.issuperset(map(type, values)):
            return cls._checked(measures=measures, **options)
        return cls._known(names, **options)

    @classmethod
    @functools.lru_cache(maxsize=64, typed=True)
    def _known(cls, measures: tuple[str, ...], **options: Any) -> Self:
        return cls._checked(measures=measures, **options)

    @classmethod
    def _checked(
        cls,
        *,
        measures: Any,
        relevance_level: Any,
        gain: Any,
        ties: Any,
        ap_norm: Any,
        unjudged: Any,
        negative: Any,
        nan: Any,
        empty: Any,
        missing: Any,
        track_queries: Any,
        rows_per_query: Any,
        max_open_queries: Any,
        per_query: Any,
        budget: Any = USUAL_BUDGET,
    ) -> Self:
        given = listed(measures)
        asked = canonical_measures(given)
        names, quantiles = _split(asked)
        size = optional_positive_integer(budget, name="budget")
        if size != USUAL_BUDGET and not quantiles:
            raise InvalidInputError(
                "is for quantiles over queries, none of which is among the measures",
                argument="budget",
            )
        implied = options_in(given)
        _check_ties(names, one_of(ties, _TIES, name="ties"))
        return cls(
            measures=asked,
            relevance_level=finite_number(relevance_level, name="relevance_level"),
            gain=_implied("gain", canonical_gain(gain), "linear", implied),
            ties=ties,
            ap_norm=one_of(ap_norm, ("R", "min"), name="ap_norm"),
            unjudged=_implied(
                "unjudged",
                one_of(unjudged, ("nonrelevant", "drop"), name="unjudged"),
                "nonrelevant",
                implied,
            ),
            negative=one_of(negative, ("raise", "zero"), name="negative"),
            nan=one_of(nan, ("raise", "last"), name="nan"),
            empty=_brief(policies(empty, names, EMPTY, name="empty")),
            missing=_brief(policies(missing, names, MISSING, name="missing")),
            track_queries=flag(track_queries, name="track_queries"),
            rows_per_query=positive_integer(rows_per_query, name="rows_per_query"),
            max_open_queries=optional_positive_integer(max_open_queries, name="max_open_queries"),
            per_query=flag(per_query, name="per_query"),
            budget=size,
        )

    @property
    def keeps_ids(self) -> bool:
        """Whether the ids of counted queries are kept."""
        return self.track_queries or self.per_query

    @cached_property
    def means(self) -> tuple[str, ...]:
        """The measures that are averaged, those of quantiles too."""
        return _split(self.measures)[0]

    @cached_property
    def quantiles(self) -> tuple[str, ...]:
        """The names of quantiles over the queries."""
        return _split(self.measures)[1]

    @cached_property
    def parsed(self) -> tuple[Measure, ...]:
        """The measures that are averaged, taken apart."""
        return tuple(map(measure, self.means))

    @cached_property
    def sketched(self) -> tuple[int, ...]:
        """The indices of the measures that have quantiles, in order."""
        means, quantiles = _split(self.measures)
        return tuple(sorted({means.index(measured(name)) for name in quantiles}))

    @cached_property
    def levels(self) -> tuple[float, ...]:
        """The relevance levels at which documents are counted, lowest first."""
        levels = {self.relevance_level}
        for item in self.parsed:
            if not item.uses_gains:
                levels.add(self.level_of(item))
            if item.row.uses_judged:
                levels.add(JUDGED)
        return tuple(sorted(levels))

    @cached_property
    def uses_gains(self) -> bool:
        """Whether a measure adds up gains."""
        return any(item.uses_gains for item in self.parsed)

    @cached_property
    def max_grade(self) -> float:
        """The highest relevance that "err" allows; infinite without it."""
        return min(
            (item.parameter for item in self.parsed if item.family == "err" and item.parameter),
            default=math.inf,
        )

    @cached_property
    def stop_ranks(self) -> int:
        """How many ranks "err" goes down, 0 without it."""
        return max((item.ranks for item in self.parsed if item.family == "err"), default=0)

    @cached_property
    def kept_rows(self) -> int:
        """How many rows of an open query are kept, with those tied with the last."""
        cutoffs = [item.cutoff for item in self.parsed if item.cutoff is not None]
        if any(item.is_uncut for item in self.parsed):
            cutoffs.append(self.rows_per_query)
        return max(cutoffs, default=0)

    @cached_property
    def kept_gains(self) -> int | None:
        """How many of the highest gains of an open query are kept; None for all."""
        cutoffs = [item.cutoff for item in self.parsed if item.uses_gains]
        return None if None in cutoffs else max(filter(None, cutoffs), default=0)

    @property
    def keeps_documents(self) -> bool:
        """Whether rows of one score are told apart by document."""
        return self.ties == "docid_desc"

    @cached_property
    def keeps_whole_ties(self) -> bool:
        """Whether all rows of the last score are kept, though documents order them."""
        return any(item.row.whole_ties for item in self.parsed)

    def agrees_with(self, name: str) -> bool:
        """Check that a name of a measure asks for no other options of the whole accumulator."""
        return all(getattr(self, key) == value for key, value in options_in([name]).items())

    def level_of(self, item: Measure) -> float:
        """Find the relevance from which on a document counts for a measure."""
        if item.row.uses_judged and not item.row.has_level:
            return JUDGED
        if item.family == "err":
            return 1.0
        return self.relevance_level if item.level is None else item.level


@functools.lru_cache(maxsize=64)
def _split(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List measures, those of quantiles too, and quantiles."""
    alone = [name for name in names if measured(name) == name]
    measures = dict.fromkeys([*alone, *map(measured, names)])
    return tuple(measures), tuple(name for name in names if name not in measures)


def policies(
    value: Any, measures: tuple[str, ...], allowed: tuple[str, ...], *, name: str
) -> tuple[str, ...]:
    """Read the policy of each measure: one word for all, or a mapping, where others are "zero"."""
    if isinstance(value, tuple) and len(value) == len(measures):
        return tuple(one_of(word, allowed, name=name) for word in value)
    if not isinstance(value, Mapping):
        return (one_of(value, allowed, name=name),) * len(measures)
    given = {measure(key).name: one_of(word, allowed, name=name) for key, word in value.items()}
    unknown = next((key for key in given if key not in measures), None)
    if unknown is not None:
        raise InvalidInputError(
            f"must name measures among {', '.join(measures)}, got {unknown!r}", argument=name
        )
    return tuple(given.get(key, "zero") for key in measures)


def _check_ties(names: tuple[str, ...], ties: str) -> None:
    """Refuse measures that the tie rule leaves undefined."""
    for item in map(measure, names):
        if item.row.ties and ties not in item.row.ties:
            raise InvalidInputError(
                f"must be {' or '.join(map(repr, item.row.ties))} for {item.name}, which depends "
                f"on the whole order, got {ties!r}",
                argument="ties",
            )


def _implied(name: str, given: Any, usual: str, implied: Mapping[str, Any]) -> Any:
    """Choose what the names of measures ask for, unless another value was given."""
    if name not in implied:
        return given
    asked = implied[name]
    if given not in (usual, asked):
        raise InvalidInputError(
            f"must agree with `measures`, which ask for {asked!r}, got {given!r}", argument=name
        )
    return asked


def _brief(words: tuple[str, ...]) -> Policies:
    return words[0] if len(set(words)) == 1 else words


def options_in(names: Iterable[str]) -> dict[str, Any]:
    """Read the options that names of measures ask for, in canonical form."""
    options = implied_options(names)
    return options | {key: canonical_gain(options[key]) for key in options if key == "gain"}


def canonical_gain(value: Any) -> Gain:
    """Check gains, and sort those of a mapping."""
    if isinstance(value, tuple):  # as the canonical form has it
        value = dict(value)
    if not isinstance(value, Mapping):
        word: Literal["linear", "exp2"] = one_of(value, ("linear", "exp2"), name="gain")
        return word
    pairs = {
        finite_number(level, name="gain"): finite_number(gain, name="gain")
        for level, gain in value.items()
    }
    for level, gain in pairs.items():
        if not 0.0 <= gain <= _MAX_GAIN:
            raise InvalidInputError(
                f"must map to numbers of 0 to 2**400, got {gain!r} for {level!r}", argument="gain"
            )
    if not pairs:
        raise InvalidInputError("must map at least one level", argument="gain")
    return tuple(sorted(({0.0: 0.0} | pairs).items()))
