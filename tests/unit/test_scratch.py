"""Columns of temporary floats."""

from __future__ import annotations

import numpy as np
import pytest

from streameval.exact.scratch import ROWS, borrowed


def test_columns_are_lent_again_once_they_are_given_back() -> None:
    with borrowed(2) as first:
        pass
    with borrowed(3) as second:
        assert second.shape == (3, ROWS)
        assert np.shares_memory(first, second)


def test_columns_in_use_are_not_lent_again() -> None:
    with borrowed(2) as first, borrowed(2) as second:
        assert not np.shares_memory(first, second)


def test_columns_are_not_lent_again_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), borrowed(2) as first:
        raise ZeroDivisionError
    with borrowed(2) as second:
        assert not np.shares_memory(first, second)
