"""The table of rank measures: a row says everything about a measure but how to compute it."""

from __future__ import annotations

import math
from typing import Literal

import attrs

from streameval.configs.options import Parameter

MAX_CUTOFF = 2**31 - 1
MAX_GRADE = 62  # 2**62 is the largest power whose gain an int64 holds

_ORDERED = ("docid_desc",)
_MAX_WEIGHT = 1e6
_ARRANGED = ("docid_desc", "pessimistic", "optimistic")

Cutoff = Literal["optional", "required", "none"]


@attrs.frozen(kw_only=True)
class MeasureRow:
    """Everything about a ranking measure but its function, which has the same name.

    Parameters
    ----------
    name : str
        The canonical name.
    title : str
        The name in full, for people.
    cutoff : {"optional", "required", "none"}
        Whether the name has a cutoff, as in ``p@10``.
    max_cutoff : int
        The largest one.
    help : str
        What it measures for one query.
    formula : str
        The same in TeX.
    also : str
        What the tests compare it with, besides its definition and trec_eval.
    attribute : str
        The attribute of a result that holds the values by cutoff, by default the name.
    others : tuple of str
        Its names in other tools.
    of_trec, cut_of_trec : str
        What trec_eval calls it, and what it calls it with a cutoff, if it has it.
    parameter : Parameter, optional
        The parameter in parentheses.
    has_level : bool
        Whether the parentheses can also hold ``rel=``.
    min_value, max_value : float
        The range of its values.
    better : {"higher", "lower", ""}
        The better direction, if there is one.
    ties : tuple of str
        The tie rules that it accepts; empty if it accepts all of them.
    uses_gains : bool
        Whether it adds up gains, and has no relevance level.
    uses_judged : bool
        Whether it distinguishes judged documents from unjudged ones.
    always_counts : bool
        Whether it is defined for a query without a relevant document.
    of_set : bool
        Whether the order of the documents does not matter.
    whole_ties : bool
        Whether tied documents count in full, whatever the rule for ties.
    is_total : bool
        Whether trec_eval prints the sum over queries, a whole number.
    is_geometric : bool
        Whether it averages logarithms; the result is exp of their mean.
    """

    name: str
    title: str
    cutoff: Cutoff = "none"
    help: str
    formula: str
    also: str = ""
    attribute: str = ""
    others: tuple[str, ...] = ()
    of_trec: str = ""
    cut_of_trec: str = ""
    parameter: Parameter | None = None
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


def _persistence(usual: float) -> Parameter:
    """Declare the share of readers who go on to the next document."""
    rule = "above 0 and below 1"
    return Parameter(name="p", default=usual, rule=rule, is_valid=lambda p: 0.0 < p < 1.0)


_ROWS = (
    MeasureRow(
        name="map",
        title="Mean average precision (MAP)",
        cutoff="optional",
        help="Average precision: the precision at the rank of each relevant document, over R.",
        formula=r"\frac1R \sum_i \frac{i}{r_i}",
        others=("ap", "average_precision", "mean_average_precision"),
        of_trec="map",
        cut_of_trec="map_cut_{}",
    ),
    MeasureRow(
        name="mrr",
        title="Mean reciprocal rank (MRR)",
        cutoff="optional",
        help="1 / the rank of the first relevant document.",
        formula=r"\frac1{r_1}",
        others=("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
        of_trec="recip_rank",
    ),
    MeasureRow(
        name="ndcg",
        title="Normalized discounted cumulative gain (NDCG)",
        cutoff="optional",
        help="The sum of gain / log2(rank + 1), over that of the best ranking of all judged "
        "documents.",
        formula=r"\frac{\sum_i g_i / \log_2(i + 1)}{\sum_i g^*_i / \log_2(i + 1)}",
        of_trec="ndcg",
        cut_of_trec="ndcg_cut_{}",
        others=("normalized_dcg", "normalised_dcg", "ndcg_score"),
        has_level=False,
        uses_gains=True,
    ),
    MeasureRow(
        name="dcg",
        title="Discounted cumulative gain (DCG)",
        cutoff="optional",
        help="The sum of gain / log2(rank + 1).",
        formula=r"\sum_i \frac{g_i}{\log_2(i + 1)}",
        has_level=False,
        max_value=math.inf,
        uses_gains=True,
    ),
    MeasureRow(
        name="p",
        title="Precision at k",
        cutoff="required",
        help="The relevant documents in the first k, over k.",
        formula=r"\frac{\#\{r_i \le k\}}k",
        attribute="precision",
        others=("precision",),
        cut_of_trec="P_{}",
    ),
    MeasureRow(
        name="r",
        title="Recall at k",
        cutoff="required",
        help="The relevant documents in the first k, over R, all that are relevant.",
        formula=r"\frac{\#\{r_i \le k\}}R",
        attribute="recall",
        others=("recall",),
        cut_of_trec="recall_{}",
    ),
    MeasureRow(
        name="hit",
        title="Hit rate at k",
        cutoff="required",
        help="1 if a relevant document is in the first k, else 0.",
        formula=r"[r_1 \le k]",
        others=("success", "hit_rate", "hits", "hit_ratio", "hr", "pass"),
        cut_of_trec="success_{}",
    ),
    MeasureRow(
        name="all_hit",
        title="All of the first k relevant (pass^k)",
        cutoff="required",
        help="1 if the first k documents are all relevant, else 0; of tied attempts, pass^k.",
        formula=r"[r_k = k]",
    ),
    MeasureRow(
        name="f",
        title="F1 at k",
        cutoff="required",
        help="The harmonic mean of p@k and r@k.",
        formula=r"\frac{2 \#\{r_i \le k\}}{k + R}",
        others=("f1",),
    ),
    MeasureRow(
        name="adaptive_p",
        title="Adaptive precision at k",
        cutoff="required",
        help="The relevant documents in the first k, over k or the number retrieved if less.",
        formula=r"\frac{\#\{r_i \le k\}}{\min(k, n)}",
        also="the definition of torchmetrics, RetrievalPrecision(adaptive_k=True)",
        others=("adaptive_precision",),
    ),
    MeasureRow(
        name="fall_out",
        title="Fall-out at k",
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
        title="Judged share at k",
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
        title="Expected reciprocal rank (ERR)",
        cutoff="required",
        max_cutoff=1000,  # its expected value over ties takes time in proportion
        help="The mean of 1 / the rank at which a reader stops, if a document stops a reader with "
        "probability (2^relevance - 1) / 2^max.",
        formula=r"\sum_{i \le k} \frac{s_i}i \prod_{j < i} (1 - s_j)",
        parameter=Parameter(
            name="max",
            default=4.0,
            rule=f"of 1 to {MAX_GRADE}",
            is_valid=lambda grade: grade in range(1, MAX_GRADE + 1),
            is_whole=True,
        ),
        has_level=False,
    ),
    MeasureRow(
        name="rprec",
        title="R-precision",
        help="The relevant documents in the first R, over R, all that are relevant.",
        formula=r"\frac{\#\{r_i \le R\}}R",
        others=("r_precision",),
        of_trec="Rprec",
    ),
    MeasureRow(
        name="lrap",
        title="Label ranking average precision (LRAP)",
        help="The mean over relevant documents of the share of relevant documents among those "
        "that score at least as high.",
        formula=r"\frac1R \sum_i \frac{\#\{j : s_j \ge s_i, j \text{ relevant}\}}"
        r"{\#\{j : s_j \ge s_i\}}",
        also="scikit-learn, label_ranking_average_precision_score",
        whole_ties=True,
    ),
    MeasureRow(
        name="coverage_error",
        title="Coverage error",
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
        title="Label ranking loss",
        help="The share of pairs of a relevant document and a retrieved irrelevant one in which "
        "the irrelevant one scores at least as high.",
        formula=r"\frac{\#\{(i, j) : s_j \ge s_i\}}{R (n - \#\{r_i\})}",
        also="scikit-learn, label_ranking_loss",
        better="lower",
        whole_ties=True,
    ),
    MeasureRow(
        name="query_auc",
        title="ROC AUC within queries",
        help="The share of pairs of a relevant document and a retrieved irrelevant one in which "
        "the relevant one ranks higher; nothing to find if there is no such pair.",
        formula=r"\frac{\#\{(i, j) : r_i < r_j\}}{R (n - \#\{r_i\})}",
        also="scikit-learn, roc_auc_score",
    ),
    MeasureRow(
        name="rbp",
        title="Rank-biased precision (RBP)",
        help="The sum of (1 - p) p**(r_i - 1).",
        formula=r"\sum_i (1 - p) p^{r_i - 1}",
        parameter=_persistence(0.8),
        of_trec="rbp_p={}",
    ),
    MeasureRow(
        name="bpref",
        title="Binary preference (bpref)",
        help="The mean over relevant documents of 1 - min(N_i, R) / min(R, N), where N judged "
        "documents are not relevant, N_i of them above.",
        formula=r"\frac1R \sum_i 1 - \frac{\min(N_i, R)}{\min(R, N)}",
        of_trec="bpref",
        uses_judged=True,
    ),
    MeasureRow(
        name="set_p",
        title="Set precision",
        help="The precision of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}}n",
        others=("setp",),
        of_trec="set_P",
        of_set=True,
    ),
    MeasureRow(
        name="set_r",
        title="Set recall",
        help="The recall of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}}R",
        others=("setr", "set_recall"),
        of_trec="set_recall",
        of_set=True,
    ),
    MeasureRow(
        name="set_f",
        title="Set F1",
        help="The harmonic mean of precision P and recall S of all that was retrieved; weighted, "
        "(1 + beta) P S / (beta P + S), where beta is trec_eval's, the square of the usual one.",
        formula=r"\frac{(1 + \beta) P S}{\beta P + S}",
        others=("setf",),
        of_trec="set_F_{}",
        parameter=Parameter(
            name="beta",
            default=1.0,
            rule=f"of 0 to {_MAX_WEIGHT:g}",
            is_valid=lambda beta: 0.0 <= beta <= _MAX_WEIGHT,
        ),
        of_set=True,
    ),
    MeasureRow(
        name="gm_map",
        title="Geometric mean average precision (GMAP)",
        help="log(max(average precision, 1e-5)); the result is exp of its mean.",
        formula=r"\exp \overline{\log \max(AP, 10^{-5})}",
        of_trec="gm_map",
        is_geometric=True,
    ),
    MeasureRow(
        name="gm_bpref",
        title="Geometric mean of bpref",
        help="log(max(bpref, 1e-5)); the result is exp of its mean.",
        formula=r"\exp \overline{\log \max(\mathrm{bpref}, 10^{-5})}",
        of_trec="gm_bpref",
        uses_judged=True,
        is_geometric=True,
    ),
    MeasureRow(
        name="iprec",
        title="Interpolated precision at a recall",
        help="The highest precision at any rank by which recall * R relevant documents, rounded "
        "to a whole number, have been found; 0 if they never are.",
        formula=r"\max_{i \ge \mathrm{round}(x R)} \frac{i}{r_i}",
        others=("iprec_at_recall",),
        of_trec="iprec_at_recall_{:.2f}",
        parameter=Parameter(
            name="recall", rule="of 0 to 1", is_valid=lambda recall: 0.0 <= recall <= 1.0
        ),
        ties=_ARRANGED,
    ),
    MeasureRow(
        name="11pt_avg",
        title="Eleven-point average precision",
        help="The mean of iprec at recall 0, 0.1, ..., 1.",
        formula=r"\frac1{11} \sum_{j=0}^{10} \mathrm{iprec}(j / 10)",
        of_trec="11pt_avg",
        ties=_ARRANGED,
    ),
    MeasureRow(
        name="rprec_mult",
        title="Precision at a multiple of R",
        help="The precision at rank times * R, rounded up.",
        formula=r"\frac{\#\{r_i \le k\}}k, \quad k = \lfloor x R + 0.9 \rfloor",
        of_trec="Rprec_mult_{:.2f}",
        parameter=Parameter(
            name="times",
            rule="above 0 and at most 1000",
            is_valid=lambda times: 0.0 < times <= 1000.0,
        ),
    ),
    MeasureRow(
        name="relative_p",
        title="Relative precision at k",
        cutoff="required",
        help="The relevant documents in the first k, over min(k, R), the most that there can be.",
        formula=r"\frac{\#\{r_i \le k\}}{\min(k, R)}",
        cut_of_trec="relative_P_{}",
    ),
    MeasureRow(
        name="set_relative_p",
        title="Set relative precision",
        help="The precision of all that was retrieved, over the highest possible one.",
        formula=r"\frac{\#\{r_i\}}{\min(n, R)}",
        of_trec="set_relative_P",
        of_set=True,
    ),
    MeasureRow(
        name="set_map",
        title="Set MAP",
        help="The product of precision and recall of all that was retrieved.",
        formula=r"\frac{\#\{r_i\}^2}{n R}",
        others=("setap",),
        of_trec="set_map",
        of_set=True,
    ),
    MeasureRow(
        name="majority",
        title="Majority relevant",
        help="1 if more than half of all that was retrieved is relevant, 1/2 if half is, else 0.",
        formula=r"[\#\{r_i\} > n/2] + \tfrac12 [\#\{r_i\} = n/2]",
        of_set=True,
    ),
    MeasureRow(
        name="utility",
        title="Utility",
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
        title="Binary G",
        help="The mean over relevant documents of 1 / log2(2 + m), with m irrelevant ones above.",
        formula=r"\frac1R \sum_i \frac1{\log_2(2 + r_i - i)}",
        others=("bing",),
        of_trec="binG",
    ),
    MeasureRow(
        name="g",
        title="Normalized gain (G)",
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
        title="NDCG averaged over relevant documents",
        help="The mean of ndcg at the rank of each document with a gain; those that were not "
        "retrieved count the final ndcg.",
        formula=r"\frac1N \sum_i \mathrm{ndcg}@r_i",
        of_trec="ndcg_rel",
        has_level=False,
        ties=_ORDERED,
        uses_gains=True,
    ),
    MeasureRow(
        name="rndcg",
        title="NDCG at R levels",
        help="The mean of ndcg at the ranks where the best ranking falls to a lower gain, and of "
        "the final ndcg where more than one further document was retrieved.",
        formula=r"\overline{\mathrm{ndcg}@k_j}, \quad k_j = \#\{g^*_i \ge g_j\}",
        of_trec="Rndcg",
        has_level=False,
        uses_gains=True,
    ),
    MeasureRow(
        name="rbp_resid",
        title="Residual of rank-biased precision",
        help="How much rbp would rise if every document were relevant that was not judged or not "
        "retrieved; 0 if all that were retrieved are judged.",
        formula=r"1 - \sum_{i \text{ judged}} (1 - p) p^{i - 1}",
        of_trec="rbp_resid_p={}",
        parameter=_persistence(0.9),
        has_level=False,
        better="lower",
        uses_judged=True,
        always_counts=True,
    ),
    MeasureRow(
        name="unj",
        title="Unjudged share at k",
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
            title=title,
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
        for name, title, meaning, formula, others in (
            (
                "num_ret",
                "Documents retrieved",
                "The number of documents retrieved.",
                "n",
                ("numret",),
            ),
            (
                "num_rel",
                "Relevant documents",
                "The number of relevant documents known, R.",
                "R",
                ("numrel",),
            ),
            (
                "num_rel_ret",
                "Relevant documents retrieved",
                "The number of relevant documents retrieved.",
                r"\#\{r_i\}",
                (),
            ),
            (
                "num_nonrel_judged_ret",
                "Irrelevant judged documents retrieved",
                "The number of judged documents retrieved that are not relevant.",
                r"\#\{\text{judged}\} - \#\{r_i\}",
                (),
            ),
        )
    ),
)
MEASURES = {row.name: row for row in _ROWS}
"""The table of rank measures."""
