"""The names of rank measures: one canonical form, and the forms of other tools."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self

import attrs

from streameval.configs.names import as_names, check_distinct, number_text
from streameval.configs.query_quantiles import QueryQuantile, measured
from streameval.errors import InvalidInputError

__all__ = [
    "DEFAULT_MEASURES",
    "MEASURES",
    "Measure",
    "MeasureRow",
    "canonical_measures",
    "implied_options",
    "trec_name",
    "trec_rank",
]

DEFAULT_MEASURES = ("map", "mrr", "ndcg@10", "p@10", "r@10", "hit@10")

MAX_CUTOFF = 2**31 - 1
_MAX_WEIGHT = 1e6
MAX_GRADE = 62  # 2**62 is the largest power whose gain an int64 holds

_ORDERED = ("docid_desc",)
_ARRANGED = ("docid_desc", "pessimistic", "optimistic")

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
    parameter : (str, float or None), optional
        What stands in brackets, and its default; None where it has to be given.
    has_level : bool
        Whether ``rel=`` may stand there too.
    min_value, max_value : float
        The range of its values.
    better : {"higher", "lower", ""}
        The better direction, if there is one.
    ties : tuple of str
        The tie rules that it needs; empty if it takes all of them.
    uses_gains : bool
        Whether it adds up gains, and has no relevance level.
    uses_judged : bool
        Whether it tells judged documents from others.
    always_counts : bool
        Whether a query without a relevant document has a value too.
    of_set : bool
        Whether the order of the documents does not matter.
    whole_ties : bool
        Whether tied documents count in full, whatever the rule for ties.
    is_total : bool
        Whether trec_eval prints the sum over queries, a whole number.
    is_geometric : bool
        Whether it sums logarithms, and exp is taken of their mean.
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
    parameter: tuple[str, float | None] | None = None
    has_level: bool = True
    max_cutoff: int = MAX_CUTOFF
    min_value: float = 0.0
    max_value: float = 1.0
    better: Literal["higher", "lower", ""] = "higher"
    ties: tuple[str, ...] = ()
    uses_gains: bool = False
    uses_judged: bool = False
    always_counts: bool = False
    of_set: bool = False
    whole_ties: bool = False
    is_total: bool = False
    is_geometric: bool = False

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
        help="Average precision: the precision at the rank of each relevant document, over R.",
        formula=r"\frac1R \sum_i \frac{i}{r_i}",
        others=("ap",),
        of_trec="map",
        cut_of_trec="map_cut_{}",
    ),
    MeasureRow(
        name="mrr",
        cutoff="optional",
        help="1 / the rank of the first relevant document.",
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
        uses_gains=True,
    ),
    MeasureRow(
        name="dcg",
        cutoff="optional",
        help="The sum of gain / log2(rank + 1).",
        formula=r"\sum_i \frac{g_i}{\log_2(i + 1)}",
        has_level=False,
        max_value=math.inf,
        uses_gains=True,
    ),
    MeasureRow(
        name="p",
        cutoff="required",
        help="The relevant documents in the first k, over k.",
        formula=r"\frac{\#\{r_i \le k\}}k",
        attribute="precision",
        others=("precision",),
        cut_of_trec="P_{}",
    ),
    MeasureRow(
        name="r",
        cutoff="required",
        help="The relevant documents in the first k, over R, all that are relevant.",
        formula=r"\frac{\#\{r_i \le k\}}R",
        attribute="recall",
        others=("recall",),
        cut_of_trec="recall_{}",
    ),
    MeasureRow(
        name="hit",
        cutoff="required",
        help="1 if a relevant document is in the first k, else 0.",
        formula=r"[r_1 \le k]",
        others=("success",),
        cut_of_trec="success_{}",
    ),
    MeasureRow(
        name="f",
        cutoff="required",
        help="The harmonic mean of p@k and r@k.",
        formula=r"\frac{2 \#\{r_i \le k\}}{k + R}",
        others=("f1",),
    ),
    MeasureRow(
        name="adaptive_p",
        cutoff="required",
        help="The relevant documents in the first k, over k or the number retrieved if less.",
        formula=r"\frac{\#\{r_i \le k\}}{\min(k, n)}",
        also="the definition of torchmetrics, RetrievalPrecision(adaptive_k=True)",
        others=("adaptive_precision",),
    ),
    MeasureRow(
        name="fall_out",
        cutoff="required",
        help="The share of the irrelevant documents that are among the first k; nothing to find "
        "if all are relevant.",
        formula=r"\frac{\min(k, n) - \#\{r_i \le k\}}{N}",
        others=("fallout",),
        better="lower",
        uses_judged=True,
    ),
    MeasureRow(
        name="judged",
        cutoff="required",
        help="The share of judged documents among the first k retrieved, which may be fewer.",
        formula=r"\frac{\#\{\text{judged among the first } k\}}"
        r"{\min(k, \#\{\text{retrieved}\})}",
        has_level=False,
        uses_judged=True,
        always_counts=True,
    ),
    MeasureRow(
        name="err",
        cutoff="required",
        max_cutoff=1000,  # its expected value over ties takes time in proportion
        help="The mean of 1 / the rank at which a reader stops, if a document stops a reader with "
        "probability (2**relevance - 1) / 2**max.",
        formula=r"\sum_{i \le k} \frac{s_i}i \prod_{j < i} (1 - s_j)",
        parameter=("max", 4.0),
        has_level=False,
    ),
    MeasureRow(
        name="rprec",
        cutoff="none",
        help="The relevant documents in the first R, over R, all that are relevant.",
        formula=r"\frac{\#\{r_i \le R\}}R",
        of_trec="Rprec",
    ),
    MeasureRow(
        name="lrap",
        cutoff="none",
        help="The mean over relevant documents of the share of relevant documents among those "
        "that score at least as high.",
        formula=r"\frac1R \sum_i \frac{\#\{j : s_j \ge s_i, j \text{ relevant}\}}"
        r"{\#\{j : s_j \ge s_i\}}",
        also="scikit-learn, label_ranking_average_precision_score",
        whole_ties=True,
    ),
    MeasureRow(
        name="coverage_error",
        cutoff="none",
        help="The number of documents that score at least as high as the last relevant one; "
        "documents that were not retrieved rank below all others.",
        formula=r"\#\{j : s_j \ge \min_i s_i\}",
        also="scikit-learn, coverage_error",
        max_value=math.inf,
        better="lower",
        whole_ties=True,
    ),
    MeasureRow(
        name="label_ranking_loss",
        cutoff="none",
        help="The share of pairs of a relevant document and a retrieved irrelevant one in which "
        "the irrelevant one scores at least as high.",
        formula=r"\frac{\#\{(i, j) : s_j \ge s_i\}}{R (n - \#\{r_i\})}",
        also="scikit-learn, label_ranking_loss",
        better="lower",
        whole_ties=True,
    ),
    MeasureRow(
        name="query_auc",
        cutoff="none",
        help="The share of pairs of a relevant document and a retrieved irrelevant one in which "
        "the relevant one ranks higher; nothing to find if there is no such pair.",
        formula=r"\frac{\#\{(i, j) : r_i < r_j\}}{R (n - \#\{r_i\})}",
        also="scikit-learn, roc_auc_score",
    ),
    MeasureRow(
        name="rbp",
        cutoff="none",
        help="The sum of (1 - p) p**(r_i - 1).",
        formula=r"\sum_i (1 - p) p^{r_i - 1}",
        parameter=("p", 0.8),
        of_trec="rbp_p={}",
    ),
    MeasureRow(
        name="bpref",
        cutoff="none",
        help="The mean over relevant documents of 1 - min(N_i, R) / min(R, N), where N judged "
        "documents are not relevant, N_i of them above.",
        formula=r"\frac1R \sum_i 1 - \frac{\min(N_i, R)}{\min(R, N)}",
        of_trec="bpref",
        uses_judged=True,
    ),
    MeasureRow(
        name="set_p",
        cutoff="none",
        help="The precision of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}}n",
        others=("setp",),
        of_trec="set_P",
        of_set=True,
    ),
    MeasureRow(
        name="set_r",
        cutoff="none",
        help="The recall of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}}R",
        others=("setr", "set_recall"),
        of_trec="set_recall",
        of_set=True,
    ),
    MeasureRow(
        name="set_f",
        cutoff="none",
        help="The harmonic mean of precision P and recall S of all that was retrieved; weighted, "
        "(1 + beta) P S / (beta P + S), where beta is trec_eval's, the square of the usual one.",
        formula=r"\frac{(1 + \beta) P S}{\beta P + S}",
        others=("setf",),
        of_trec="set_F_{}",
        parameter=("beta", 1.0),
        of_set=True,
    ),
    MeasureRow(
        name="gm_map",
        cutoff="none",
        help="log(max(average precision, 1e-5)); the result is exp of its mean.",
        formula=r"\exp \overline{\log \max(AP, 10^{-5})}",
        of_trec="gm_map",
        is_geometric=True,
    ),
    MeasureRow(
        name="gm_bpref",
        cutoff="none",
        help="log(max(bpref, 1e-5)); the result is exp of its mean.",
        formula=r"\exp \overline{\log \max(\mathrm{bpref}, 10^{-5})}",
        of_trec="gm_bpref",
        uses_judged=True,
        is_geometric=True,
    ),
    MeasureRow(
        name="iprec",
        cutoff="none",
        help="The highest precision at any rank by which recall * R relevant documents, rounded "
        "to a whole number, have been found; 0 if they never are.",
        formula=r"\max_{i \ge \mathrm{round}(x R)} \frac{i}{r_i}",
        others=("iprec_at_recall",),
        of_trec="iprec_at_recall_{:.2f}",
        parameter=("recall", None),
        ties=_ARRANGED,
    ),
    MeasureRow(
        name="11pt_avg",
        cutoff="none",
        help="The mean of iprec at recall 0, 0.1, ..., 1.",
        formula=r"\frac1{11} \sum_{j=0}^{10} \mathrm{iprec}(j / 10)",
        of_trec="11pt_avg",
        ties=_ARRANGED,
    ),
    MeasureRow(
        name="rprec_mult",
        cutoff="none",
        help="The precision at rank times * R, rounded up.",
        formula=r"\frac{\#\{r_i \le k\}}k, \quad k = \lfloor x R + 0.9 \rfloor",
        of_trec="Rprec_mult_{:.2f}",
        parameter=("times", None),
    ),
    MeasureRow(
        name="relative_p",
        cutoff="required",
        help="The relevant documents in the first k, over min(k, R), the most that there can be.",
        formula=r"\frac{\#\{r_i \le k\}}{\min(k, R)}",
        cut_of_trec="relative_P_{}",
    ),
    MeasureRow(
        name="set_relative_p",
        cutoff="none",
        help="The precision of all that was retrieved, over the highest possible one.",
        formula=r"\frac{\#\{r_i\}}{\min(n, R)}",
        of_trec="set_relative_P",
        of_set=True,
    ),
    MeasureRow(
        name="set_map",
        cutoff="none",
        help="The product of precision and recall of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}^2}{n R}",
        others=("setap",),
        of_trec="set_map",
        of_set=True,
    ),
    MeasureRow(
        name="utility",
        cutoff="none",
        help="The number of relevant retrieved documents minus the number of the others.",
        formula=r"2 \#\{r_i\} - n",
        of_trec="utility",
        min_value=-math.inf,
        max_value=math.inf,
        always_counts=True,
        of_set=True,
    ),
    MeasureRow(
        name="bin_g",
        cutoff="none",
        help="The mean over relevant documents of 1 / log2(2 + m), with m irrelevant ones above.",
        formula=r"\frac1R \sum_i \frac1{\log_2(2 + r_i - i)}",
        others=("bing",),
        of_trec="binG",
    ),
    MeasureRow(
        name="g",
        cutoff="none",
        help="The sum of gain / log2(2 + d), over the sum of all gains; d is the gain of the best "
        "ranking down to this rank, at least 1 per rank, minus the gain of this one.",
        formula=r"\frac{\sum_i g_i / \log_2(2 + \sum_{j \le i} (\max(g^*_j, 1) - g_j))}"
        r"{\sum_i g^*_i}",
        of_trec="G",
        has_level=False,
        ties=_ORDERED,
        uses_gains=True,
    ),
    MeasureRow(
        name="ndcg_rel",
        cutoff="none",
        help="The mean of ndcg@rank over the ranks of all documents with a gain; those that were "
        "not retrieved count the final ndcg.",
        formula=r"\frac1N \sum_i \mathrm{ndcg}@r_i",
        of_trec="ndcg_rel",
        has_level=False,
        ties=_ORDERED,
        uses_gains=True,
    ),
    MeasureRow(
        name="rndcg",
        cutoff="none",
        help="The mean of ndcg at the ranks where the best ranking falls to a lower gain, and of "
        "the final ndcg where more than one further document was retrieved.",
        formula=r"\overline{\mathrm{ndcg}@k_j}, \quad k_j = \#\{g^*_i \ge g_j\}",
        of_trec="Rndcg",
        has_level=False,
        uses_gains=True,
    ),
    MeasureRow(
        name="rbp_resid",
        cutoff="none",
        help="How much rbp would rise if every document were relevant that was not judged or not "
        "retrieved; 0 if all that were retrieved are judged.",
        formula=r"1 - \sum_{i \text{ judged}} (1 - p) p^{i - 1}",
        of_trec="rbp_resid_p={}",
        parameter=("p", 0.9),
        has_level=False,
        better="lower",
        uses_judged=True,
        always_counts=True,
    ),
    MeasureRow(
        name="unj",
        cutoff="required",
        help="The documents in the first k that were not judged, over k.",
        formula=r"\frac{\#\{\text{not judged among the first } k\}}k",
        cut_of_trec="unj_{}",
        has_level=False,
        better="lower",
        uses_judged=True,
        always_counts=True,
    ),
    *(
        MeasureRow(
            name=name,
            cutoff="none",
            help=meaning,
            formula=formula,
            others=others,
            of_trec=name,
            max_value=math.inf,
            better="",
            has_level=name != "num_ret",
            uses_judged="judged" in name,
            always_counts=True,
            of_set=True,
            is_total=True,
        )
        for name, meaning, formula, others in (
            ("num_ret", "The number of documents retrieved.", "n", ("numret",)),
            ("num_rel", "The number of relevant documents known, R.", "R", ("numrel",)),
            ("num_rel_ret", "The number of relevant documents retrieved.", r"\#\{r_i\}", ()),
            (
                "num_nonrel_judged_ret",
                "The number of judged documents retrieved that are not relevant.",
                r"\#\{\text{judged}\} - \#\{r_i\}",
                (),
            ),
        )
    ),
)
MEASURES = {row.name: row for row in _ROWS}
"""The table of rank measures."""

_NO_PARAMETERS: Mapping[str, float] = {}
_OTHER_NAMES = {other: row.name for row in _ROWS for other in row.others}
_FORM = re.compile(r"(?P<name>[a-z0-9_]+)(?:\((?P<options>[^()]*)\))?(?:@(?P<cutoff>[0-9.]+))?")
_TREC_FORM = re.compile(
    r"(?P<name>p|recall|success|ndcg_cut|map_cut|relative_p|unj)_(?P<cutoff>[0-9]+)"
    r"|(?P<of_number>iprec_at_recall|rprec_mult)_(?P<number>[0-9.]+)"
)

_COMMA = re.compile(r",(?![^{]*\})")  # none inside of braces
_NUMBER_FORM = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_MAPPING = re.compile(rf"\{{{_NUMBER_FORM}:{_NUMBER_FORM}(?:,{_NUMBER_FORM}:{_NUMBER_FORM})*\}}")
_GAINS_OF_FORMS = {"log2": "linear", "exp-log2": "exp2"}
_IMPLIED = ("judged_only", "gains", "dcg")

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_TREC_FORMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "iprec_at_recall": ("iprec(recall={})", tuple(tenth / 10 for tenth in range(11))),
    "P": ("p@{}", _CUTOFFS),
    "recall": ("r@{}", _CUTOFFS),
    "Rprec_mult": ("rprec_mult(times={})", tuple(fifth / 5 for fifth in range(1, 11))),
    "ndcg_cut": ("ndcg@{}", _CUTOFFS),
    "map_cut": ("map@{}", _CUTOFFS),
    "relative_P": ("relative_p@{}", _CUTOFFS),
    "success": ("hit@{}", (1, 5, 10)),
    "rbp": ("rbp(p={})", (0.9,)),
    "rbp_resid": ("rbp_resid(p={})", (0.9,)),
    "set_F": ("set_f(beta={})", (1.0,)),
    "unj": ("unj@{}", (5, 10, 20)),
}
"""What trec_eval calls a measure of parameters: our name of one, and its own parameters."""

_OF_ONE_PARAMETER = {"rbp": 0.9, "rbp_resid": 0.9, "set_f": 1.0}
"""The parameter of measures that trec_eval names without it where it has this value."""
NAMED_BY_RESULT = ("runid", "num_q")
TREC_ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P", "recall", "gm_bpref", "Rprec_mult", "utility"),
    *("11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P"),
    *("success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    *("num_nonrel_judged_ret", "rbp", "rbp_resid", "unj"),
)
TREC_SETS = {
    "official": TREC_ORDER[:12],
    "all_trec": TREC_ORDER,
    "set": tuple(
        name
        for name in TREC_ORDER
        if name.startswith(("set_", "utility"))
        or name in ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
    ),
}
"""The sets of measures that trec_eval has a name for."""


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

        `parameters` replace the defaults of some families. Options of the whole accumulator,
        such as ``judged_only=True``, are left out; `implied_options` reads them.
        """
        if not isinstance(name, str):
            raise InvalidInputError(f"must hold names, got {name!r}", argument="measures")
        parts = _taken_apart(name)
        family, digits, held = parts.family, parts.cutoff, dict(parts.options)
        family, digits = _renamed(family, digits, held, name)
        options = _options(held, family, name)
        own = MEASURES[family].parameter
        parameter = None if own is None else options.get(own[0], parameters.get(family, own[1]))
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
        # a persistence has no usual value
        if own is not None and (self.family == "rbp" or own[1] is None or own[1] != value):
            options.append(f"{own[0]}={f'{value:g}' if self.family == 'err' else repr(value)}")
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
        """What no value of the measure falls below."""
        return self.row.min_value

    @property
    def max_value(self) -> float:
        """What no value of the measure passes."""
        return self.row.max_value


def canonical_measures(
    value: Any, parameters: Mapping[str, float] = _NO_PARAMETERS
) -> tuple[str, ...]:
    """Convert names to canonical form, also of quantiles; a single one may stand alone.

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
    """List names, those of sets one by one; a single one may stand alone."""
    given = as_names(value, name="measures")
    return tuple(name for one in given for name in expanded(one))


def expanded(name: Any) -> list[Any]:
    """List the measures that a name of trec_eval's ``-m`` stands for; any other is itself.

    >>> expanded("P.5,10"), expanded("success"), expanded("map")
    (['p@5', 'p@10'], ['hit@1', 'hit@5', 'hit@10'], ['map'])
    """
    if not isinstance(name, str):
        return [name]
    if name in TREC_SETS:
        asked = [part for part in TREC_SETS[name] if part not in NAMED_BY_RESULT]
        return [item for part in asked for item in _usual(part)]
    family, dot, text = name.strip().partition(".")
    if family not in _TREC_FORMS:
        return [name]
    is_single = family.lower() in _OF_ONE_PARAMETER
    if not dot:
        return [name] if is_single else _usual(family)
    form, _ = _TREC_FORMS[family]
    given = text.removeprefix("p=") if is_single else text
    try:
        numbers = {part: float(part) for part in given.split(",")}
    except ValueError:
        raise InvalidInputError(
            f"needs numbers after {family}., as in P.5,10, got {name!r}", argument="measures"
        ) from None
    return [form.format(part) for part in sorted(numbers, key=numbers.__getitem__)]


def _usual(name: str) -> list[str]:
    """List what a name of trec_eval stands for without parameters of its own."""
    form, numbers = _TREC_FORMS.get(name, (name, ("",)))
    return [form.format(number) for number in numbers]


def trec_name(name: str) -> str:
    """Find the name that trec_eval has for a measure, or its own if it has none.

    >>> trec_name("p@5"), trec_name("map"), trec_name("p(rel=2)@5")
    ('P_5', 'map', 'p(rel=2)@5')
    """
    item = measure(name)
    row = item.row
    usual = _OF_ONE_PARAMETER.get(item.family)
    if usual is not None and item == Measure(item.family, None, None, usual):
        return row.of_trec.removesuffix("{}").removesuffix("p=").removesuffix("_")
    form = row.of_trec if item.cutoff is None else row.cut_of_trec
    number = item.parameter if item.cutoff is None else item.cutoff
    return form.format(number) if form and item.level is None else name


def trec_rank(name: str) -> tuple[int, float]:
    """Sort measures as trec_eval prints them: its order, cutoffs rising; others last."""
    item = measure(name)
    printed = trec_name(name)
    family = printed.rstrip("0123456789.").removesuffix("_")
    known = family if family in TREC_ORDER else printed
    if item.level is not None or known not in TREC_ORDER:
        return len(TREC_ORDER), 0.0
    return TREC_ORDER.index(known), float(item.cutoff or item.number)


@functools.lru_cache(maxsize=256)
def _measure(name: str) -> Measure:
    return Measure.of(name)


def measure(name: Any) -> Measure:
    """Read a name, once."""
    return _measure(name) if isinstance(name, str) else Measure.of(name)


def _meant(name: str) -> str:
    """Suggest a similar name, with its cutoff."""
    import difflib  # noqa: PLC0415 (for messages alone)

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
    if not digits.isdecimal() or len(digits) > 10 or not 1 <= int(digits) <= row.max_cutoff:
        raise InvalidInputError(
            f"must cut {family} at 1 to {row.max_cutoff} ranks, got {name!r}", argument="measures"
        )
    return int(digits)


@attrs.frozen
class _Parts:
    """A name, split: the family, the digits of the cutoff, and the texts in brackets by key."""

    family: str
    cutoff: str | None
    options: tuple[tuple[str, str], ...]


def _taken_apart(name: str) -> _Parts:
    text = name.strip().lower().replace(" ", "")
    of_trec = _TREC_FORM.fullmatch(text)
    match = of_trec or _FORM.fullmatch(text)
    parts: dict[str, Any] = match.groupdict() if match else {"name": ""}
    found: str = parts["name"] or parts.get("of_number") or ""
    family = found.removesuffix("_cut") if of_trec else found
    family = _OTHER_NAMES.get(family, family)
    if family not in MEASURES:
        raise InvalidInputError(
            f"must hold {', '.join(MEASURES)}, with a cutoff as in p@10 or without, got "
            f"{name!r}{_meant(text)}",
            argument="measures",
        )
    held = parts.get("options")
    options: list[tuple[str, str]] = []
    for part in _COMMA.split(held) if held else ():
        key, _, value = part.partition("=")
        options.append((key, value))
    if parts.get("number"):  # as in iprec_at_recall_0.10
        own = MEASURES[family].parameter or ("", None)
        options.append((own[0], parts["number"]))
    if len(dict(options)) < len(options):
        raise _refused(family, name)
    return _Parts(family, parts.get("cutoff"), tuple(options))


def _renamed(
    family: str, digits: str | None, held: dict[str, str], name: str
) -> tuple[str, str | None]:
    """Read what ir_measures writes in brackets and streameval does not, and take it out."""
    for key in _IMPLIED:
        held.pop(key, None)
    if digits is None:
        digits = held.pop("cutoff", None)
    if family == "iprec" and digits is not None:  # as in IPrec@0.1
        held["recall"], digits = digits, None
    if family == "set_p" and _truth(held.pop("relative", "false"), "relative", name):
        family = "set_relative_p"
    if family == "num_ret" and "rel" in held:
        family = "num_rel_ret"
    return family, digits


def implied_options(value: Iterable[Any]) -> dict[str, Any]:
    """Read the options of the whole accumulator that names of measures ask for, as ir_measures.

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
        parts = _taken_apart(name)
        held = dict(parts.options)
        if MEASURES[parts.family].uses_gains:
            asked["gain"][_gain_in(held, name)] = name
        elif held.keys() & {"dcg", "gains"}:
            raise _refused(parts.family, name)
        judged_only = held.get("judged_only")
        drops = judged_only is not None and _truth(judged_only, "judged_only", name)
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
    """Read the gains of a name of ir_measures; None if it has none."""
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


def _truth(text: str, key: str, name: str) -> bool:
    if text not in ("true", "false"):
        raise InvalidInputError(
            f"needs True or False after {key}=, got {name!r}", argument="measures"
        )
    return text == "true"


def _options(held: Mapping[str, str], family: str, name: str) -> dict[str, float]:
    """Read the numbers that stand in brackets."""
    options: dict[str, float] = {}
    for key, value in held.items():
        if key not in _known_options(family):
            raise _refused(family, name)
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
    return known | (set() if row.parameter is None else {row.parameter[0]})


def _refused(family: str, name: str) -> InvalidInputError:
    accepted = " and ".join(f"{option}=" for option in sorted(_known_options(family))) or "nothing"
    return InvalidInputError(
        f"accepts {accepted} in the brackets of {family!r}, got {name!r}", argument="measures"
    )


def _check(measure: Measure, name: str) -> None:
    parameter, own = measure.parameter, measure.row.parameter
    if own is not None and parameter is None:
        raise InvalidInputError(
            f"needs {own[0]}= in brackets, as in {measure.family}({own[0]}=0.2), got {name!r}",
            argument="measures",
        )
    if measure.family in ("rbp", "rbp_resid") and not 0.0 < measure.number < 1.0:
        raise InvalidInputError(
            f"needs a p= above 0 and below 1, got {name!r}", argument="measures"
        )
    if measure.family == "iprec" and not 0.0 <= measure.number <= 1.0:
        raise InvalidInputError(f"needs a recall= of 0 to 1, got {name!r}", argument="measures")
    if measure.family == "set_f" and not 0.0 <= measure.number <= _MAX_WEIGHT:
        raise InvalidInputError(
            f"needs a beta= of 0 to {_MAX_WEIGHT:g}, got {name!r}", argument="measures"
        )
    if measure.family == "rprec_mult" and not 0.0 < measure.number <= 1000.0:
        raise InvalidInputError(
            f"needs a times= above 0 and at most 1000, got {name!r}", argument="measures"
        )
    if measure.family == "err" and parameter not in range(1, MAX_GRADE + 1):
        raise InvalidInputError(
            f"needs a whole max= of 1 to {MAX_GRADE}, got {name!r}", argument="measures"
        )
