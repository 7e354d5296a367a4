"""The names of rank measures: one canonical form, and the forms of other tools."""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

import attrs

from streameval.configs.names import distinct_names, number_text
from streameval.errors import InvalidInputError

__all__ = [
    "DEFAULT_MEASURES",
    "MEASURES",
    "Measure",
    "MeasureRow",
    "canonical_measures",
    "trec_name",
]

DEFAULT_MEASURES = ("map", "mrr", "ndcg@10", "p@10", "r@10", "hit@10")

MAX_CUTOFF = 2**31 - 1
MAX_GRADE = 62  # 2**62 is the largest power whose gain an int64 holds

Cutoff = Literal["optional", "required", "none"]


@attrs.frozen(kw_only=True)
class MeasureRow:
    """What there is to know of a rank measure; its function is the formula of that name.

    Parameters
    ----------
    name : str
        The canonical name.
    cutoff : {"optional", "required", "none"}
        Whether a cutoff follows, as in ``p@10``.
    max_cutoff : int
        The largest one.
    help : str
        What it is of one query.
    formula : str
        The same as TeX.
    also : str
        What the tests compare it with, beside its definition and trec_eval.
    attribute : str
        What the values by cutoff are called in a result, the name by default.
    others : tuple of str
        Its names in other tools.
    of_trec, cut_of_trec : str
        What trec_eval calls it, and what it calls it with a cutoff, if it has it.
    parameter : (str, float), optional
        What stands in brackets, and its default.
    has_level : bool
        Whether ``rel=`` may stand there too.
    """

    name: str
    cutoff: Cutoff
    help: str
    formula: str
    also: str = ""
    attribute: str = ""
    others: tuple[str, ...] = ()
    of_trec: str = ""
    cut_of_trec: str = ""
    parameter: tuple[str, float] | None = None
    has_level: bool = True
    max_cutoff: int = MAX_CUTOFF

    @property
    def oracle(self) -> str:
        """What the tests compare it with."""
        trec = "trec_eval" if self.of_trec or self.cut_of_trec else ""
        parts = ("the definition, over every order of tied documents", trec, self.also)
        return "; ".join(filter(None, parts))


_ROWS = (
    MeasureRow(
        name="map",
        cutoff="optional",
        help="(1/R) sum of i / r_i, the average precision.",
        formula=r"\frac1R \sum_i \frac{i}{r_i}",
        others=("ap",),
        of_trec="map",
        cut_of_trec="map_cut_{}",
    ),
    MeasureRow(
        name="mrr",
        cutoff="optional",
        help="1 / r_1.",
        formula=r"\frac1{r_1}",
        others=("rr", "recip_rank"),
        of_trec="recip_rank",
    ),
    MeasureRow(
        name="ndcg",
        cutoff="optional",
        help="The sum of gain / log2(rank + 1), over that of the best ranking of all judged "
        "documents.",
        formula=r"\frac{\sum_i g_i / \log_2(i + 1)}{\sum_i g^*_i / \log_2(i + 1)}",
        of_trec="ndcg",
        cut_of_trec="ndcg_cut_{}",
        has_level=False,
    ),
    MeasureRow(
        name="dcg",
        cutoff="optional",
        help="The sum of gain / log2(rank + 1).",
        formula=r"\sum_i \frac{g_i}{\log_2(i + 1)}",
        has_level=False,
    ),
    MeasureRow(
        name="p",
        cutoff="required",
        help="#{r_i <= k} / k.",
        formula=r"\frac{\#\{r_i \le k\}}k",
        attribute="precision",
        others=("precision",),
        cut_of_trec="P_{}",
    ),
    MeasureRow(
        name="r",
        cutoff="required",
        help="#{r_i <= k} / R.",
        formula=r"\frac{\#\{r_i \le k\}}R",
        attribute="recall",
        others=("recall",),
        cut_of_trec="recall_{}",
    ),
    MeasureRow(
        name="hit",
        cutoff="required",
        help="1 if r_1 <= k, else 0.",
        formula=r"[r_1 \le k]",
        others=("success",),
        cut_of_trec="success_{}",
    ),
    MeasureRow(
        name="f",
        cutoff="required",
        help="2 #{r_i <= k} / (k + R), the harmonic mean of p@k and r@k.",
        formula=r"\frac{2 \#\{r_i \le k\}}{k + R}",
    ),
    MeasureRow(
        name="judged",
        cutoff="required",
        help="The share of judged documents among the first k retrieved, which may be fewer.",
        formula=r"\frac{\#\{\text{judged among the first } k\}}"
        r"{\min(k, \#\{\text{retrieved}\})}",
        has_level=False,
    ),
    MeasureRow(
        name="err",
        cutoff="required",
        max_cutoff=1000,  # its expected value over ties takes time in proportion
        help="1 / rank of the stop, on average, if a document stops a reader with probability "
        "(2**relevance - 1) / 2**max.",
        formula=r"\sum_{i \le k} \frac{s_i}i \prod_{j < i} (1 - s_j)",
        parameter=("max", 4.0),
        has_level=False,
    ),
    MeasureRow(
        name="rprec",
        cutoff="none",
        help="#{r_i <= R} / R.",
        formula=r"\frac{\#\{r_i \le R\}}R",
        of_trec="Rprec",
    ),
    MeasureRow(
        name="lrap",
        cutoff="none",
        help="(1/R) sum of the share of relevant documents among those retrieved with a score of "
        "at least that of i.",
        formula=r"\frac1R \sum_i \frac{\#\{j : s_j \ge s_i, j \text{ relevant}\}}"
        r"{\#\{j : s_j \ge s_i\}}",
        also="scikit-learn, label_ranking_average_precision_score",
    ),
    MeasureRow(
        name="rbp",
        cutoff="none",
        help="The sum of (1 - p) p**(r_i - 1).",
        formula=r"\sum_i (1 - p) p^{r_i - 1}",
        parameter=("p", 0.8),
    ),
    MeasureRow(
        name="bpref",
        cutoff="none",
        help="The mean over relevant documents of 1 - min(N_i, R) / min(R, N), where N judged "
        "documents are not relevant, N_i of them above.",
        formula=r"\frac1R \sum_i 1 - \frac{\min(N_i, R)}{\min(R, N)}",
        of_trec="bpref",
    ),
    MeasureRow(
        name="set_p",
        cutoff="none",
        help="The precision of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}}n",
        others=("setp",),
        of_trec="set_P",
    ),
    MeasureRow(
        name="set_r",
        cutoff="none",
        help="The recall of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}}R",
        others=("setr", "set_recall"),
        of_trec="set_recall",
    ),
    MeasureRow(
        name="set_f",
        cutoff="none",
        help="The harmonic mean of precision and recall of all that was retrieved.",
        formula=r"\frac{2 \#\{r_i\}}{n + R}",
        others=("setf",),
        of_trec="set_F",
    ),
    MeasureRow(
        name="gm_map",
        cutoff="none",
        help="log(max(average precision, 1e-5)), of which exp is taken.",
        formula=r"\exp \overline{\log \max(AP, 10^{-5})}",
        of_trec="gm_map",
    ),
)
MEASURES = {row.name: row for row in _ROWS}
"""The table of rank measures."""

_NO_PARAMETERS: Mapping[str, float] = {}
_OTHER_NAMES = {other: row.name for row in _ROWS for other in row.others}
_GRADED = ("ndcg", "dcg")
_FORM = re.compile(r"(?P<name>[a-z_]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<cutoff>[0-9]+))?")
_TREC_FORM = re.compile(r"(?P<name>p|recall|success|ndcg_cut|map_cut)_(?P<cutoff>[0-9]+)")


@attrs.frozen
class Measure:
    """A rank measure, taken apart.

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
    def of(cls, name: Any, parameters: Mapping[str, float] = _NO_PARAMETERS) -> Self:
        """Read a name: streameval's, that of ir_measures, or that of trec_eval.

        `parameters` replace the defaults of some families.
        """
        if not isinstance(name, str):
            raise InvalidInputError(f"must hold names, got {name!r}", argument="measures")
        text = name.strip().lower().replace(" ", "")
        of_trec = _TREC_FORM.fullmatch(text)
        match = of_trec or _FORM.fullmatch(text)
        parts: dict[str, Any] = match.groupdict() if match else {"name": ""}
        family = parts["name"].removesuffix("_cut") if of_trec else parts["name"]
        family = _OTHER_NAMES.get(family, family)
        if family not in MEASURES:
            raise InvalidInputError(
                f"must hold {', '.join(MEASURES)}, with a cutoff as in p@10 or without, got "
                f"{name!r}{_meant(text)}",
                argument="measures",
            )
        options = _options(parts.get("options"), family, name)
        own = MEASURES[family].parameter
        parameter = None if own is None else options.get(own[0], parameters.get(family, own[1]))
        cutoff = _cutoff(parts["cutoff"], family, name)
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
        options = []
        if self.family == "rbp":  # a persistence has no usual value
            options.append(f"p={self.parameter!r}")
        if self.family == "err" and self.row.parameter != ("max", self.parameter):
            options.append(f"max={self.parameter:g}")
        if self.level is not None:
            options.append(f"rel={number_text(self.level)}")
        held = f"({','.join(options)})" if options else ""
        return f"{self.family}{held}{'' if self.cutoff is None else f'@{self.cutoff}'}"

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
        return self.family in _GRADED

    @property
    def is_uncut(self) -> bool:
        """Whether rows at every rank count."""
        return self.cutoff is None and self.family not in ("set_p", "set_r", "set_f")

    @property
    def max_value(self) -> float:
        """What no value of the measure passes."""
        return math.inf if self.family == "dcg" else 1.0


def canonical_measures(
    value: Any, parameters: Mapping[str, float] = _NO_PARAMETERS
) -> tuple[str, ...]:
    """Convert names to canonical form; a single one may stand alone.

    `parameters` replace the defaults of some families.
    """
    read = functools.partial(Measure.of, parameters=parameters) if parameters else measure
    names = distinct_names(value, lambda name: read(name).name, name="measures")
    if not names:
        raise InvalidInputError("must hold at least one name", argument="measures")
    return names


def trec_name(name: str) -> str:
    """Find the name that trec_eval has for a measure, or its own if it has none.

    >>> trec_name("p@5"), trec_name("map"), trec_name("p(rel=2)@5")
    ('P_5', 'map', 'p(rel=2)@5')
    """
    item = measure(name)
    form = item.row.of_trec if item.cutoff is None else item.row.cut_of_trec
    return form.format(item.cutoff) if form and item.level is None else name


@functools.lru_cache(maxsize=256)
def _measure(name: str) -> Measure:
    return Measure.of(name)


def measure(name: Any) -> Measure:
    """Read a name, once."""
    return _measure(name) if isinstance(name, str) else Measure.of(name)


def _meant(name: str) -> str:
    """Suggest a similar name, with its cutoff."""
    family, at, cutoff = name.partition("@")
    close = difflib.get_close_matches(family, [*MEASURES, *_OTHER_NAMES], n=1)
    is_cut = cutoff.isdecimal() if at else True
    return f", perhaps for {close[0] + at + cutoff!r}" if close and is_cut else ""


def _cutoff(digits: str | None, family: str, name: str) -> int | None:
    row = MEASURES[family]
    if digits is None:
        if row.cutoff == "required":
            raise InvalidInputError(
                f"needs a cutoff for {name!r}, as in {family}@10", argument="measures"
            )
        return None
    if row.cutoff == "none":
        raise InvalidInputError(f"must not cut {family!r}, got {name!r}", argument="measures")
    if len(digits) > 10 or not 1 <= int(digits) <= row.max_cutoff:
        raise InvalidInputError(
            f"must cut {family} at 1 to {row.max_cutoff} ranks, got {name!r}", argument="measures"
        )
    return int(digits)


def _options(text: str | None, family: str, name: str) -> dict[str, float]:
    """Read what stands in brackets."""
    row = MEASURES[family]
    known = {"rel"} if row.has_level else set()
    known |= set() if row.parameter is None else {row.parameter[0]}
    options: dict[str, float] = {}
    for part in text.split(",") if text else ():
        key, _, value = part.partition("=")
        if key not in known or key in options:
            accepted = " and ".join(f"{option}=" for option in sorted(known)) or "nothing"
            raise InvalidInputError(
                f"accepts {accepted} in the brackets of {family!r}, got {name!r}",
                argument="measures",
            )
        try:
            options[key] = float(value) + 0.0
        except ValueError:
            raise InvalidInputError(
                f"needs a number after {key}=, got {name!r}", argument="measures"
            ) from None
        if not math.isfinite(options[key]):
            raise InvalidInputError(f"needs a finite {key}=, got {name!r}", argument="measures")
    return options


def _check(measure: Measure, name: str) -> None:
    parameter = measure.parameter
    if measure.family == "rbp" and parameter is not None and not 0.0 < parameter < 1.0:
        raise InvalidInputError(
            f"needs a p= above 0 and below 1, got {name!r}", argument="measures"
        )
    if measure.family == "err" and parameter not in range(1, MAX_GRADE + 1):
        raise InvalidInputError(
            f"needs a whole max= of 1 to {MAX_GRADE}, got {name!r}", argument="measures"
        )
