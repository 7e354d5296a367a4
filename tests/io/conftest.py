import pytest

from streameval.io import lines


@pytest.fixture
def small_pieces(monkeypatch):
    """Cut after every few bytes, so that small data crosses many borders."""
    monkeypatch.setattr(lines, "PIECE_BYTES", 16)
