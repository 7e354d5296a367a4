"""Readers: TREC runs and qrels, and files of predictions, in blocks that any process can parse."""

from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError

if TYPE_CHECKING:
    from streameval.io.trec import Qrels, Run, iter_run, read_qrels, read_run

__all__ = ["BadDataError", "Qrels", "Run", "iter_run", "read_qrels", "read_run"]

if not TYPE_CHECKING:  # pragma: no branch (hidden from type checkers)

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used: not all that imports a module needs NumPy."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from streameval.io import trec

        return getattr(trec, name)

    def __dir__() -> list[str]:
        return __all__
