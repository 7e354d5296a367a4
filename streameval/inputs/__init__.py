"""Readers of arguments: each gives a checked NumPy array, or names the argument in an error."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streameval.inputs.arrays import (
        as_labels,
        as_numbers,
        as_scores,
        as_weights,
        check_matrix,
        check_vector,
    )

__all__ = ["as_labels", "as_numbers", "as_scores", "as_weights", "check_matrix", "check_vector"]


def __getattr__(name: str) -> Any:
    """Import the readers when they are used, because they load NumPy, and options need none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from streameval.inputs import arrays  # noqa: PLC0415

    return getattr(arrays, name)


def __dir__() -> list[str]:
    """List the readers before they are imported, too."""
    return [*globals(), *__all__]
