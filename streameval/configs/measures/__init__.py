"""Rank measures: the table, how their names are read, and what trec_eval calls them."""

from streameval.configs.measures.names import Measure, measure
from streameval.configs.measures.requested import (
    DEFAULT_MEASURES,
    canonical_measures,
    implied_options,
    listed,
)
from streameval.configs.measures.table import MAX_CUTOFF, MEASURES, MeasureRow
from streameval.configs.measures.trec_eval import (
    NAMED_BY_RESULT,
    TREC_SETS,
    expanded,
    trec_name,
    trec_rank,
)

__all__ = [
    "DEFAULT_MEASURES",
    "MAX_CUTOFF",
    "MEASURES",
    "NAMED_BY_RESULT",
    "TREC_SETS",
    "Measure",
    "MeasureRow",
    "canonical_measures",
    "expanded",
    "implied_options",
    "listed",
    "measure",
    "trec_name",
    "trec_rank",
]
