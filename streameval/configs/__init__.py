"""What is counted: one frozen class of options for each accumulator."""

from typing import Literal

ApNorm = Literal["R", "min"]
GroupWeight = Literal["impressions", "uniform", "positives"]
Negative = Literal["raise", "zero"]
TieRule = Literal["expected", "docid_desc", "pessimistic", "optimistic"]
Unit = Literal["s", "ms", "us", "ns"]
Unjudged = Literal["nonrelevant", "drop"]

USUAL_BUDGET = 65_536
"""The number of bins that are kept for quantiles, or of pairs of scores, if nothing is said."""
