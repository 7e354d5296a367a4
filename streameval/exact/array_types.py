"""Names of the types of arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.floating[Any]]
"""Floats of any width."""
