"""Pages of engines and training loops carry the mark `engine`: `.ci/engines` runs them."""

import re

import pytest

from streameval.accumulators import definition

ADAPTER = (
    r"^>>> (?:from streameval\.(?:engines|loops)\.|import (?=jax$)"
    r"|from (?=tensorboard\.|torch import\b)"
    r"|(?:from|import) (?=(?:keras|river|torcheval|torchmetrics)\b))(\w+)"
)

DEPRECATED = pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")  # Ray's own


@pytest.hookimpl(tryfirst=True)  # before marks are selected
def pytest_collection_modifyitems(items):
    """Mark the examples of pages that import an adapter, JAX, TensorBoard, or a peer."""
    for item in items:
        if item.path.suffix == ".md":
            text = item.path.read_text(encoding="utf-8")
            if found := re.search(ADAPTER, text, re.MULTILINE):
                item.add_marker(pytest.mark.engine(name=found[1]))
                item.add_marker(DEPRECATED)


@pytest.fixture(autouse=True)
def own_classes(monkeypatch):
    """Forget the classes that a page has defined: other tests define classes of these names."""
    monkeypatch.setattr(definition, "_open", dict(definition._open))
