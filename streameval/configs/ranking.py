"""The options of `RankingAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs

from streameval.configs import USUAL_BUDGET, ApNorm, Negative, TieRule, Unjudged
from streameval.configs.measures import Measure, measure
from streameval.configs.measures.requested import (
    DEFAULT_MEASURES,
    canonical_measures,
    implied_options,
    listed,
    measured,
)
from streameval.configs.measures.table import MEASURES
from streameval.configs.options import (
    Config,
    PositiveInt,
    finite_number,
    one_of,
    option,
)
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

JUDGED = -math.inf
"""The relevance level that every judged document reaches."""

Policies = str | tuple[str, ...]
Gain = Literal["linear", "exp2"] | tuple[tuple[float, float], ...]

EMPTY = ("zero", "skip", "one", "nan")
MISSING = ("zero", "skip")
_MAX_GAIN = 2.0**400


def canonical_gain(value: Any, *, name: str = "gain") -> Gain:
    """Check gains, and sort those of a mapping."""
    if isinstance(value, tuple) and all(type(one) is tuple and len(one) == 2 for one in value):
        value = dict(value)  # as the canonical form has it
    if not isinstance(value, Mapping):
        word: Gain = one_of(value, ("linear", "exp2"), name=name)
        return word
    pairs = {
        finite_number(level, name=name): finite_number(gain, name=name)
        for level, gain in value.items()
    }
    for level, gain in pairs.items():
        if not 0.0 <= gain <= _MAX_GAIN:
            raise InvalidInputError(
                f"must map to numbers of 0 to 2**400, got {gain!r} for {level!r}", argument=name
            )
    if not pairs:
        raise InvalidInputError("must map at least one level", argument=name)
    return tuple(sorted(({0.0: 0.0} | pairs).items()))


def measures_text() -> str:
    """List the measures: cutoff optional, cutoff required, and without a cutoff."""
    rows = MEASURES.values()
    optional = ", ".join(row.name for row in rows if row.cutoff == "optional")
    required = ", ".join(f"{row.name}@k" for row in rows if row.cutoff == "required")
    uncut = (
        f"{row.name}({row.parameter.name}={_default(row.parameter.default)})"
        if row.parameter
        else row.name
        for row in rows
        if row.cutoff == "none"
    )
    return f"{optional}, alone or cut as in map@100; {required}; {', '.join(uncut)}."


def _default(value: float | None) -> str:
    return "x" if value is None else f"{value:g}"


@attrs.frozen(kw_only=True, slots=False, cache_hash=True)
class RankingConfig(Config):
    """Every option that changes what a ranking state holds; equal ones can merge. Made by `of`.

    A policy is one word for all measures, or a word for each.
    """

    SUMMARY = "Measure rankings of documents, query by query, and keep the sums."

    measures: tuple[str, ...] = option(measures_text(), default=DEFAULT_MEASURES)
    relevance_level: Annotated[float, finite_number] = option(
        "A document is relevant from this relevance on.", default=1.0
    )
    gain: Annotated[Gain, canonical_gain] = option(
        "What a relevance is worth in NDCG and DCG: itself, 2**relevance - 1, or what "
        "the mapping gives for it.",
        default="linear",
        help="what a relevance is worth: linear, exp2, or a gain for each, 1=1,2=3",
    )
    ties: TieRule = option(
        "How documents of equal scores count: the mean over all orders; the order by "
        "falling document id, as in trec_eval; the min or max of each measure.",
        default="expected",
    )
    ap_norm: ApNorm = option(
        "Whether map@k divides by the number of relevant documents R, or by min(R, k).",
        default="R",
    )
    unjudged: Unjudged = option(
        "Whether documents whose relevance is NaN are not relevant, or are taken out first.",
        default="nonrelevant",
        help="how unjudged documents count: as not relevant, or drop to leave them out",
    )
    negative: Negative = option(
        "Whether a negative relevance is refused, or counts as not judged.",
        default="raise",
    )
    nan: Literal["raise", "last"] = option(
        "Whether a score of NaN is refused, or ranks below all others.",
        default="raise",
    )
    empty: Policies = option(
        "What a query counts in which a measure has nothing to find.",
        default="zero",
        help="queries with nothing to find: zero, skip, one or nan; or by measure, map=skip",
    )
    missing: Policies = option(
        "What a judged query counts that is absent from the run.",
        default="zero",
        help="judged queries that the run lacks: zero or skip; or by measure, map=skip",
    )
    track_queries: bool = option(
        "Keep the id of each query, so that one counted twice is refused, across merges too.",
        default=False,
    )
    rows_per_query: PositiveInt = option(
        "The number of rows of an open query that are kept for measures "
        "without a cutoff. Up to this number the measures are exact; beyond it they have "
        "bounds.",
        default=1000,
    )
    max_open_queries: PositiveInt | None = option(
        "The max number of open queries; more raise an error.",
        default=None,
    )
    per_query: bool = option(
        "Keep the values of each query too, with its id; see Ranking.per_query.",
        default=False,
    )
    budget: PositiveInt | None = option(
        "The number of bins kept for the quantiles of a measure; None keeps every distinct value.",
        default=USUAL_BUDGET,
        is_omitted=True,
    )

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check options, alone and together; `measures` may name quantiles too."""
        read = super().read(given)
        asked = listed(read["measures"])
        read["measures"] = canonical_measures(asked)
        names, quantiles = _split(read["measures"])
        if read["budget"] != USUAL_BUDGET and not quantiles:
            raise InvalidInputError(
                "is for quantiles over queries, none of which is among the measures",
                argument="budget",
            )
        implied = options_in(asked)
        _check_ties(names, read["ties"])
        for name, usual in (("gain", "linear"), ("unjudged", "nonrelevant")):
            read[name] = _implied(name, read[name], usual, implied)
        for name, allowed in (("empty", EMPTY), ("missing", MISSING)):
            read[name] = _brief(policies(read[name], names, allowed, name=name))
        return read

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


def gains_of(relevance: Floats, config: RankingConfig) -> Floats:
    """Look up the gain of each relevance that has been checked; 0 for -inf and NaN.

    ``2**relevance - 1`` is rounded once at most: relevances are whole and at most 62 then.
    """
    import numpy as np  # noqa: PLC0415 (configurations need none)

    if isinstance(config.gain, tuple):
        levels, gains = np.array(config.gain).T
        index = np.minimum(np.searchsorted(levels, relevance), len(levels) - 1)
        return np.where(levels[index] == relevance, gains[index], 0.0)
    positive = np.where(relevance > 0.0, relevance, 0.0)
    if config.gain == "linear":
        return positive
    return np.ldexp(1.0, positive.astype(np.int64)) - 1.0


_PRESETS: dict[str, dict[str, Any]] = {
    "trec_eval": {"ties": "docid_desc", "missing": "skip", "negative": "zero"},
    "sklearn": {"empty": {"lrap": "one"}},
    "recsys": {"ap_norm": "min", "empty": "skip"},
    "ltr": {"gain": "exp2", "ap_norm": "min", "empty": "one"},
}


_PARAMETERS = {"trec_eval": {"rbp": 0.9}}
"""What a measure means if its name does not say."""


def preset(name: Any, measures: Any, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Look up the options of a tool, with policies only for the requested measures.

    Options that the names of measures imply take precedence, and `overrides` must agree with them.
    """
    options = dict(_PRESETS[one_of(name, tuple(_PRESETS), name="name")])
    given = listed(measures)
    options["measures"] = canonical_measures(given, _PARAMETERS.get(name, {}))
    asked, empty = map(measure, map(measured, options["measures"])), options.get("empty")
    if isinstance(empty, dict):
        options["empty"] = {item.name: empty[item.family] for item in asked if item.family in empty}
    implied = options_in(given)
    for key in implied.keys() & overrides.keys():
        own = canonical_gain(overrides[key]) if key == "gain" else overrides[key]
        _implied(key, own, implied[key], implied)
    return options | dict(overrides) | implied
