"""Rank measures: the table, how their names are read, and what trec_eval calls them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from typing import Any, Self

import attrs

from streameval.configs.measures.table import MEASURES, MeasureRow
from streameval.configs.names import closest, nearest, number_text
from streameval.errors import InvalidInputError

NO_PARAMETERS: Mapping[str, float] = {}
_OTHER_NAMES = {other: row.name for row in MEASURES.values() for other in row.others}
_FORM = re.compile(r"(?P<name>[a-z0-9_]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<cutoff>[0-9.]+))?")
_TREC_FORM = re.compile(
    r"(?P<name>p|recall|success|ndcg_cut|map_cut|relative_p|unj)_(?P<cutoff>[0-9]+)"
    r"|(?P<of_number>iprec_at_recall|rprec_mult)_(?P<number>[0-9.]+)"
)

_COMMA = re.compile(r",(?![^{]*\})")  # none inside of braces

_OF_ACCUMULATOR = ("judged_only", "gains", "dcg")
"""What ir_measures writes in brackets, and streameval as an option of the whole accumulator."""


@attrs.frozen
class Measure:
    """A rank measure, as its name says it.

    Parameters
    ----------
    family : str
        What is measured, such as "map" or "p".
    cutoff : int, optional
        How many ranks count; all by default.
    level : float, optional
        From which relevance on a document is relevant; the configuration's by default.
    parameter : float, optional
        The persistence of "rbp", the highest relevance of "err".
    """

    family: str
    cutoff: int | None = None
    level: float | None = None
    parameter: float | None = None

    @classmethod
    def of(cls, name: Any, parameters: Mapping[str, float] = NO_PARAMETERS) -> Self:
        """Read a name: streameval's, that of ir_measures, or that of trec_eval.

        `parameters` replace the defaults of some families. Options of the whole accumulator,
        such as ``judged_only=True``, are left out; `implied_options` reads them.
        """
        if not isinstance(name, str):
            raise InvalidInputError(f"must hold names, got {name!r}", argument="measures")
        parts = split_name(name)
        family, digits, held = parts.family, parts.cutoff, dict(parts.options)
        family, digits = _renamed(family, digits, held, name)
        options = _options(held, family, name)
        own = MEASURES[family].parameter
        usual = None if own is None else parameters.get(family, own.default)
        parameter = None if own is None else options.get(own.name, usual)
        cutoff = _cutoff(digits, family, name)
        made = cls(family, cutoff, options.get("rel"), parameter)
        _check(made, name)
        return made

    @property
    def row(self) -> MeasureRow:
        """The row of the table."""
        return MEASURES[self.family]

    @property
    def name(self) -> str:
        """The canonical name."""
        options, own, value = [], self.row.parameter, self.parameter
        # tools disagree on the default persistence, so it is always said
        if own is not None and (self.family == "rbp" or value != own.default):
            options.append(f"{own.name}={f'{value:g}' if own.is_whole else repr(value)}")
        if self.level is not None:
            options.append(f"rel={number_text(self.level)}")
        brackets = f"({','.join(options)})" if options else ""
        return f"{self.family}{brackets}{'' if self.cutoff is None else f'@{self.cutoff}'}"

    @property
    def ranks(self) -> int:
        """The cutoff of a measure that has one, 0 of others."""
        return self.cutoff or 0

    @property
    def number(self) -> float:
        """The parameter of a measure that has one, 0 of others."""
        return self.parameter or 0.0

    @property
    def uses_gains(self) -> bool:
        """Whether the measure adds up gains, and has no relevance level."""
        return self.row.uses_gains

    @property
    def is_uncut(self) -> bool:
        """Whether rows at every rank count."""
        return self.cutoff is None and not self.row.of_set

    @property
    def is_geometric(self) -> bool:
        """Whether the measure sums logarithms, and exp is taken of their mean."""
        return self.row.is_geometric

    @property
    def min_value(self) -> float:
        """A lower bound of the values of the measure."""
        return self.row.min_value

    @property
    def max_value(self) -> float:
        """An upper bound of the values of the measure."""
        return self.row.max_value


@functools.lru_cache(maxsize=256)
def _measure(name: str) -> Measure:
    return Measure.of(name)


def measure(name: Any) -> Measure:
    """Read a name; one that was read before is looked up."""
    return _measure(name) if isinstance(name, str) else Measure.of(name)


@attrs.frozen
class NameParts:
    """A name, split: the family, the digits of the cutoff, and the texts in brackets by key."""

    family: str
    cutoff: str | None
    options: tuple[tuple[str, str], ...]


def split_name(name: str) -> NameParts:
    """Split a name whose family is known; what stands in brackets is not read yet.

    >>> split_name("nDCG(dcg='exp-log2')@10")
    NameParts(family='ndcg', cutoff='10', options=(('dcg', "'exp-log2'"),))
    """
    text = name.strip().lower().replace(" ", "").replace("pass^", "all_hit@")
    of_trec = _TREC_FORM.fullmatch(text)
    match = of_trec or _FORM.fullmatch(text)
    parts: dict[str, Any] = match.groupdict() if match else {"name": ""}
    found: str = parts["name"] or parts.get("of_number") or ""
    family = found.removesuffix("_cut") if of_trec else found
    family = _OTHER_NAMES.get(family, family)
    if family not in MEASURES:
        hint = nearest(name, MEASURES, _meant(text)).removesuffix(".")
        raise InvalidInputError(
            f"has no {name!r}: {hint}",
            argument="measures",
            remedy="Some take a cutoff, as in p@10.",
        )
    brackets = parts.get("options")
    options: list[tuple[str, str]] = []
    for part in _COMMA.split(brackets) if brackets else ():
        key, _, value = part.partition("=")
        options.append((key, value))
    if parts.get("number"):  # as in iprec_at_recall_0.10
        own = MEASURES[family].parameter
        options.append(("" if own is None else own.name, parts["number"]))
    if len(dict(options)) < len(options):
        raise unknown_option(family, name)
    return NameParts(family, parts.get("cutoff"), tuple(options))


def _meant(name: str) -> list[str]:
    """Find a similar name, and give it the same cutoff."""
    family, at, cutoff = name.replace("-", "_").partition("@")
    family = re.sub("^retrieval_?(?=.)", "", family)  # of torchmetrics
    known = [*MEASURES, *_OTHER_NAMES]
    close = [family] if family in known else closest(family, known)
    is_cut = cutoff.isdecimal() if at else True
    return [close[0] + at + cutoff] if close and is_cut else []


def _renamed(
    family: str, digits: str | None, held: dict[str, str], name: str
) -> tuple[str, str | None]:
    """Resolve the options of ir_measures that say which measure it is; they leave `held`.

    Returns the family and the digits of the cutoff.
    """
    for key in _OF_ACCUMULATOR:
        held.pop(key, None)
    if digits is None:
        digits = held.pop("cutoff", None)
    if family == "iprec" and digits is not None:  # as in IPrec@0.1
        held["recall"], digits = digits, None
    if family == "set_p" and truth_value(held.pop("relative", "false"), "relative", name):
        family = "set_relative_p"
    if family == "num_ret" and "rel" in held:
        family = "num_rel_ret"
    return family, digits


def truth_value(text: str, key: str, name: str) -> bool:
    """Read True or False after a key in the brackets of a name."""
    if text not in ("true", "false"):
        raise InvalidInputError(
            f"needs True or False after {key}=, got {name!r}", argument="measures"
        )
    return text == "true"


def _options(held: Mapping[str, str], family: str, name: str) -> dict[str, float]:
    """Convert the options in brackets, all of them numbers."""
    options: dict[str, float] = {}
    for key, value in held.items():
        if key not in _known_options(family):
            raise unknown_option(family, name)
        try:
            options[key] = float(value) + 0.0
        except ValueError:
            raise InvalidInputError(
                f"needs a number after {key}=, got {name!r}", argument="measures"
            ) from None
        if not math.isfinite(options[key]):
            raise InvalidInputError(f"needs a finite {key}=, got {name!r}", argument="measures")
    return options


def _known_options(family: str) -> set[str]:
    row = MEASURES[family]
    known = {"rel"} if row.has_level else set()
    return known | (set() if row.parameter is None else {row.parameter.name})


def unknown_option(family: str, name: str) -> InvalidInputError:
    """Make the error of an option in brackets that the measure does not have."""
    accepted = " and ".join(f"{option}=" for option in sorted(_known_options(family))) or "nothing"
    return InvalidInputError(
        f"accepts {accepted} in the brackets of {family!r}, got {name!r}", argument="measures"
    )


def _cutoff(digits: str | None, family: str, name: str) -> int | None:
    """Read a cutoff within the limits of its family."""
    row = MEASURES[family]
    if digits is None:
        if row.cutoff == "required":
            raise InvalidInputError(
                f"needs a cutoff for {name!r}, as in {family}@10", argument="measures"
            )
        return None
    if row.cutoff == "none":
        raise InvalidInputError(f"must not cut {family!r}, got {name!r}", argument="measures")
    if not digits.isdecimal() or len(digits) > 10 or not 1 <= int(digits) <= row.max_cutoff:
        raise InvalidInputError(
            f"must cut {family} at 1 to {row.max_cutoff} ranks, got {name!r}", argument="measures"
        )
    return int(digits)


def _check(measure: Measure, name: str) -> None:
    """Refuse a parameter that is missing or out of range."""
    parameter, own = measure.parameter, measure.row.parameter
    if own is None:
        return
    if parameter is None:
        raise InvalidInputError(
            f"needs {own.name}= in brackets, as in {measure.family}({own.name}=0.2), got {name!r}",
            argument="measures",
        )
    if not own.is_valid(parameter):
        raise own.unfit(name)
