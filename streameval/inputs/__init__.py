"""Readers of arguments: each gives a checked NumPy array, or names the argument in an error."""

from streameval.inputs.arrays import (
    as_labels,
    as_numbers,
    as_scores,
    as_weights,
    check_matrix,
    check_vector,
)

__all__ = ["as_labels", "as_numbers", "as_scores", "as_weights", "check_matrix", "check_vector"]
