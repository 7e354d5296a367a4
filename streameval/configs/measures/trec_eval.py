"""What trec_eval calls measures: its names, sets of names and order of printing."""

from __future__ import annotations

from typing import Any

from streameval.configs.measures import Measure, measure
from streameval.errors import InvalidInputError

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
"""For a name of trec_eval that takes parameters: our name, and its own parameters."""

_UNSAID = {"rbp": 0.9, "rbp_resid": 0.9, "set_f": 1.0}
"""The parameter that trec_eval leaves out of the name of a measure."""

NAMED_BY_RESULT = ("runid", "num_q")
"""What trec_eval prints of the run as a whole."""

TREC_ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    *("recip_rank", "iprec_at_recall", "P", "recall", "gm_bpref", "Rprec_mult", "utility"),
    *("11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P"),
    *("success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    *("num_nonrel_judged_ret", "rbp", "rbp_resid", "unj"),
)
"""The names in the order in which trec_eval prints them."""

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


def expanded(name: Any) -> list[Any]:
    """List the measures that a name of trec_eval's ``-m`` stands for; any other is itself.

    >>> expanded("P.5,10"), expanded("success"), expanded("map")
    (['p@5', 'p@10'], ['hit@1', 'hit@5', 'hit@10'], ['map'])
    """
    if not isinstance(name, str):
        return [name]
    if name in TREC_SETS:
        asked = [part for part in TREC_SETS[name] if part not in NAMED_BY_RESULT]
        return [item for part in asked for item in _with_own_parameters(part)]
    family, dot, text = name.strip().partition(".")
    if family not in _TREC_FORMS:
        return [name]
    is_single = family.lower() in _UNSAID
    if not dot:
        return [name] if is_single else _with_own_parameters(family)
    form, _ = _TREC_FORMS[family]
    given = text.removeprefix("p=") if is_single else text
    try:
        numbers = {part: float(part) for part in given.split(",")}
    except ValueError:
        raise InvalidInputError(
            f"needs numbers after {family}., as in P.5,10, got {name!r}", argument="measures"
        ) from None
    return [form.format(part) for part in sorted(numbers, key=numbers.__getitem__)]


def _with_own_parameters(name: str) -> list[str]:
    """List what a name stands for where the user gives no parameters: trec_eval has its own."""
    form, numbers = _TREC_FORMS.get(name, (name, ("",)))
    return [form.format(number) for number in numbers]


def trec_name(name: str) -> str:
    """Find the name that trec_eval has for a measure, or its own if it has none.

    >>> trec_name("p@5"), trec_name("map"), trec_name("p(rel=2)@5")
    ('P_5', 'map', 'p(rel=2)@5')
    """
    item = measure(name)
    row = item.row
    unsaid = _UNSAID.get(item.family)
    if unsaid is not None and item == Measure(item.family, parameter=unsaid):
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
