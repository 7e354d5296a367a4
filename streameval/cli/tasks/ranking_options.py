"""The options of rankings, without what counts them."""

from __future__ import annotations

CONFIGURATION = (
    *("measures", "relevance_level", "gain", "ties", "ap_norm", "unjudged", "negative", "nan"),
    *("empty", "missing", "track_queries", "rows_per_query", "max_open_queries", "budget"),
)
"""The options that are also options of the accumulator."""

OPTIONS = (
    *("qrels", "count_missing", "max_docs", "like", *CONFIGURATION, "per_query", "trec"),
    *("query", "relevance", "score", "doc", "retrieved", "num_relevant", "weight"),
)
"""All options of the task."""
