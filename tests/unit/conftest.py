"""What tests leave as it was: the classes that can be read from bytes, and open figures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streameval.accumulators import definition


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the classes of a test after it."""
    monkeypatch.setattr(definition, "_open", dict(definition._open))


@pytest.fixture
def closed_figures() -> Iterator[None]:
    """Close the figures of a test."""
    from matplotlib import pyplot

    yield
    pyplot.close("all")
