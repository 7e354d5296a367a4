"""Checks for accumulators of your own: `check_accumulator` runs every law on them."""

from streameval.testing.check import LAWS, check_accumulator
from streameval.testing.trial import Trial

__all__ = ["LAWS", "Trial", "check_accumulator"]
