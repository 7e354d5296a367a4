"""The states of accumulators, and the exact numbers and columns in them."""

from streameval.errors import require
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.state import State, check_numbers

__all__ = ["Column", "ExactSum", "FixedPoint", "State", "check_numbers", "require"]
