"""The names of rank measures: one canonical form, and the forms of other tools."""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import attrs

from streameval.errors import InvalidInputError

__all__ = ["DEFAULT_MEASURES", "Measure", "canonical_measures"]

DEFAULT_MEASURES = ("map", "mrr", "ndcg@10", "p@10", "r@10", "hit@10")

MOST_CUTOFF = 2**31 - 1
MOST_STOP_RANKS = 1000
"""How far down "err" goes: its expected value over ties takes time in proportion."""
MOST_GRADE = 62  # 2**62 is the largest power whose gain an int64 holds

Cutoff = Literal["optional", "required", "none"]

_CUTOFFS: dict[str, Cutoff] = {
    "map": "optional",
    "mrr": "optional",
    "ndcg": "optional",
    "dcg": "optional",
    "p": "required",
    "r": "required",
    "hit": "required",
    "judged": "required",
    "err": "required",
    "rprec": "none",
    "lrap": "none",
    "rbp": "none",
    "bpref": "none",
    "set_p": "none",
    "set_r": "none",
    "set_f": "none",
    "gm_map": "none",
}

_OTHER_NAMES = {
    "ap": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "precision": "p",
    "recall": "r",
    "success": "hit",
    "setp": "set_p",
    "setr": "set_r",
    "set_recall": "set_r",
    "setf": "set_f",
}

_GRADED = ("ndcg", "dcg")
_FORM = re.compile(r"(?P<name>[a-z_]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<cutoff>[0-9]+))?")
_TREC_FORM = re.compile(r"(?P<name>p|recall|success|ndcg_cut|map_cut)_(?P<cutoff>[0-9]+)")
_DEFAULTS = {"rbp": ("p", 0.8), "err": ("max", 4.0)}


@attrs.frozen
class Measure:
    """A rank measure, taken apart.

    Parameters
    ----------
    kind : str
        What is measured, such as "map" or "p".
    cutoff : int, optional
        How many ranks count; all by default.
    level : float, optional
        From which relevance on a document is relevant; the configuration's by default.
    parameter : float, optional
        The persistence of "rbp", the highest relevance of "err".
    """

    kind: str
    cutoff: int | None = None
    level: float | None = None
    parameter: float | None = None

    @classmethod
    def of(cls, name: Any) -> Self:
        """Read a name: streameval's, that of ir_measures, or that of trec_eval."""
        if not isinstance(name, str):
            raise InvalidInputError(f"`measures` must hold names, got {name!r}.")
        plain = name.strip().lower().replace(" ", "")
        of_trec = _TREC_FORM.fullmatch(plain)
        match = of_trec or _FORM.fullmatch(plain)
        parts: dict[str, Any] = match.groupdict() if match else {"name": ""}
        kind = parts["name"].removesuffix("_cut") if of_trec else parts["name"]
        kind = _OTHER_NAMES.get(kind, kind)
        if kind not in _CUTOFFS:
            raise InvalidInputError(
                f"`measures` must hold {', '.join(_CUTOFFS)}, with a cutoff as in p@10 or without, "
                f"got {name!r}{_meant(plain)}."
            )
        options = _options(parts.get("options"), kind, name)
        parameter = (
            options.get(_DEFAULTS[kind][0], _DEFAULTS[kind][1]) if kind in _DEFAULTS else None
        )
        cutoff = _cutoff(parts["cutoff"], kind, name)
        made = cls(kind, cutoff, options.get("rel"), parameter)
        _check(made, name)
        return made

    @property
    def name(self) -> str:
        """The canonical name."""
        options = []
        if self.parameter is not None and self.kind == "rbp":
            options.append(f"p={self.parameter!r}")
        if (
            self.parameter is not None
            and self.kind == "err"
            and self.parameter != _DEFAULTS["err"][1]
        ):
            options.append(f"max={self.parameter:g}")
        if self.level is not None:
            options.append(f"rel={_number(self.level)}")
        held = f"({','.join(options)})" if options else ""
        return f"{self.kind}{held}{'' if self.cutoff is None else f'@{self.cutoff}'}"

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
        return self.kind in _GRADED

    @property
    def is_uncut(self) -> bool:
        """Whether rows at every rank count."""
        return self.cutoff is None and self.kind not in ("set_p", "set_r", "set_f")

    @property
    def most(self) -> float:
        """What no value of the measure passes."""
        return math.inf if self.kind == "dcg" else 1.0


def canonical_measures(value: Any) -> tuple[str, ...]:
    """Give the names in canonical form; a single one may stand alone."""
    if isinstance(value, str):
        value = (value,)
    if isinstance(value, (bytes, set, frozenset, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInputError(
            f"`measures` must be a sequence of names, whose order counts, "
            f"got {type(value).__name__}."
        )
    names = tuple(measure(name).name for name in value)
    if not names:
        raise InvalidInputError("`measures` must hold at least one name.")
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InvalidInputError(f"`measures` must be distinct, got {twice!r} twice.")
    return names


@functools.lru_cache(maxsize=256)
def _measure(name: str) -> Measure:
    return Measure.of(name)


def measure(name: Any) -> Measure:
    """Read a name, once."""
    return _measure(name) if isinstance(name, str) else Measure.of(name)


def _meant(name: str) -> str:
    """Suggest the name that was perhaps meant, with its cutoff."""
    kind, at, cutoff = name.partition("@")
    close = difflib.get_close_matches(kind, [*_CUTOFFS, *_OTHER_NAMES], n=1)
    is_cut = cutoff.isdecimal() if at else True
    return f", perhaps for {close[0] + at + cutoff!r}" if close and is_cut else ""


def _cutoff(digits: str | None, kind: str, name: str) -> int | None:
    rule = _CUTOFFS[kind]
    if digits is None:
        if rule == "required":
            raise InvalidInputError(f"`measures` needs a cutoff for {name!r}, as in {kind}@10.")
        return None
    if rule == "none":
        raise InvalidInputError(f"`measures` must not cut {kind!r}, got {name!r}.")
    most = MOST_STOP_RANKS if kind == "err" else MOST_CUTOFF
    if len(digits) > 10 or not 1 <= int(digits) <= most:
        raise InvalidInputError(f"`measures` must cut {kind} at 1 to {most} ranks, got {name!r}.")
    return int(digits)


def _options(text: str | None, kind: str, name: str) -> dict[str, float]:
    """Read what stands in brackets."""
    known = {_DEFAULTS[kind][0]} if kind in _DEFAULTS else set()
    known |= set() if kind in (*_GRADED, "err", "judged") else {"rel"}
    options: dict[str, float] = {}
    for part in text.split(",") if text else ():
        key, _, value = part.partition("=")
        if key not in known or key in options:
            accepted = " and ".join(f"{option}=" for option in sorted(known)) or "nothing"
            raise InvalidInputError(
                f"`measures` accepts {accepted} in the brackets of {kind!r}, got {name!r}."
            )
        try:
            options[key] = float(value) + 0.0
        except ValueError:
            raise InvalidInputError(
                f"`measures` needs a number after {key}=, got {name!r}."
            ) from None
        if not math.isfinite(options[key]):
            raise InvalidInputError(f"`measures` needs a finite {key}=, got {name!r}.")
    return options


def _check(measure: Measure, name: str) -> None:
    parameter = measure.parameter
    if measure.kind == "rbp" and parameter is not None and not 0.0 < parameter < 1.0:
        raise InvalidInputError(f"`measures` needs a p= above 0 and below 1, got {name!r}.")
    if measure.kind == "err" and parameter not in range(1, MOST_GRADE + 1):
        raise InvalidInputError(
            f"`measures` needs a whole max= of 1 to {MOST_GRADE}, got {name!r}."
        )


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
