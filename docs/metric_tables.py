"""Tables of metrics for the reference, made from the rows that the library reads itself."""

import re

from streameval.configs.measures.table import MAX_CUTOFF, MEASURES
from streameval.reports import RESULTS

MEASURES_MARK = "<!-- measures -->"
FINDER_MARK = "<!-- finder -->"
MARK = re.compile(r"^<!-- metrics of (\w+) -->$", re.MULTILINE)

OPTIONS = dict.fromkeys(["novelty", "average_popularity"], "popularity=True")
"""The option that a metric needs, where it is not `measures=`."""

WITH_TABLES = [result for result in RESULTS if result.__name__ != "RegressionOutputs"]
"""The types with their own table of metrics; outputs have that of a single output."""

BY_NAME = {result.__name__: result for result in WITH_TABLES}


def filled(text):
    """Replace each mark with its table."""
    if MEASURES_MARK in text:
        text = text.replace(MEASURES_MARK, table_of_names())
    if FINDER_MARK in text:
        text = text.replace(FINDER_MARK, finder())
    return MARK.sub(lambda match: table_of(BY_NAME[match[1]]), text)


def table_of(result):
    """Describe every metric of a class of results."""
    return "\n".join(_entry(row) for row in result.TABLE.values())


def table_of_names():
    """List the measures with what may stand in their names, and what other tools call them."""
    head = ("measure", "cutoff", "in parentheses", "also", "trec_eval")
    lines = [head, ("---",) * len(head), *map(_names, MEASURES.values())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def finder():
    """List every metric by what it is called, with where it is."""
    head = ("metric", "name", "of", "also called", "checked against")
    found = [_found(result, row) for result in WITH_TABLES for row in result.TABLE.values()]
    metrics = sorted((cells for cells in found if cells), key=lambda cells: cells[0].casefold())
    lines = [head, ("---",) * len(head), *metrics]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _found(result, row):
    """Make the cells of a metric; None for a count."""
    if row.is_count:
        return None
    measure = MEASURES.get(row.name) if result.TABLE.task == "ranking" else None
    others = row.aliases
    if measure is not None:
        others = dict.fromkeys([*measure.others, *trec_names(measure)])
        others.pop(measure.name, None)
    return (
        measure.title if measure is not None else _title(row),
        f"`{signature(row)}`" + _how_asked(row),
        _home(result),
        ", ".join(f"`{name}`" for name in others),
        row.oracle,
    )


def _title(row):
    """Write the name of a metric for people: "Recall at a threshold" for `recall_at`."""
    name = row.name.replace("_", " ") + " a threshold" * row.name.endswith("_at")
    heading = row.heading.removesuffix(", by")  # a page adds the weight of the groups
    title = heading or re.sub(r"\b([tf]pr|roc|auc)\b", lambda word: word[0].upper(), name)
    return title[0].upper() + title[1:]


def _home(result):
    """Name the class that has a metric, how it is made, and its task on the command line."""
    classes = ", with `classes=`" if result.__name__ == "ClassCurves" else ""
    return f"`{result.TABLE.made_by}`{classes}" + (
        f", `--task {result.TABLE.task}`" if result.TABLE.is_task else ""
    )


def _how_asked(row):
    """Say what has to be done for a metric to be shown, if there is something."""
    if row.name in OPTIONS:
        return f", with `{OPTIONS[row.name]}`"
    return ", of `measures=`" if row.measured else ", on request" if row.on_request else ""


def _names(row):
    parameter = [f"`{_parameter(row.parameter)}`"] if row.parameter else []
    return (
        f"`{row.name}`",
        _cutoff(row),
        ", ".join([*parameter, *["`rel`"] * row.has_level]),
        ", ".join(f"`{name}`" for name in row.others),
        ", ".join(f"`{name}`" for name in trec_names(row)),
    )


def trec_names(row):
    """List what trec_eval calls a measure, with 0.1 or 10 for a number."""
    names = (row.of_trec.format(0.1), row.cut_of_trec.format(10))
    return [name for name in names if name]


def _parameter(own):
    return f"{own.name}={'' if own.default is None else f'{own.default:g}'}"


def _cutoff(row):
    rule = {"optional": "if wanted", "required": "needed", "none": "none"}[row.cutoff]
    return rule if row.max_cutoff == MAX_CUTOFF else f"{rule}, at most {row.max_cutoff}"


def _entry(row):
    lines = [f"`{signature(row)}`", f": {row.meaning}"]
    if row.formula:
        lines += ["", f"  $${row.formula}$$"]
    facts = [f"{name}: {text}." for name, text in _facts(row).items() if text]
    return "\n".join([*lines, *(["", f"  {' '.join(facts)}"] if facts else []), ""])


def signature(row):
    """Write a metric as it is called or, of a measure, as it is asked for."""
    measure = MEASURES.get(row.name)
    if measure is not None and row.arguments == ("k",):
        return f"{row.name}@k"
    if measure is not None:
        return row.name + ("[@k]" if row.arguments else "")
    return f"{row.name}({', '.join(row.arguments)})" if row.arguments else row.name


def _facts(row):
    averages = (f"{name}, {meaning}" for name, meaning in row.averages.items())
    return {
        "Counted": f"with `{OPTIONS.get(row.name, 'measures=')}`" if row.measured else "",
        "Label in reports": row.heading + " `group_weight`" * row.heading.endswith(", by"),
        "Better": row.better,
        "Averages": "; ".join(averages),
        "Interval": interval(row),
        "Evidence": evidence(row),
        "Checked against": row.oracle,
    }


def evidence(row):
    """Say whether `evidence` can test a metric, or why it cannot."""
    if row.is_count:
        return ""
    return "yes" if row.evidence else f"none; {row.why_no_evidence}"


def interval(row):
    """Say which intervals a metric has, or why it has none."""
    if row.is_count:
        return ""
    kinds = ["bounds"] * row.certified + ["sampling"] * (row.sampling is not None)
    none = f"; {row.why_none}" if row.why_none else ""
    return f"{' and '.join(kinds) or 'none'}{none}"
