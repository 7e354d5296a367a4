"""Examples in the docstrings of adapters."""

from __future__ import annotations

import doctest
import importlib

import pytest

ENGINES = ("beam", "dask", "ray", "spark", "torch")


@pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.engine(name=name)) for name in ENGINES]
)
def test_doc_examples_run(name):
    module = importlib.import_module(f"streameval.engines.{name}")
    failed, attempted = doctest.testmod(module)
    assert failed == 0
    assert attempted > 0
