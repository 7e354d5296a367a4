"""The options of a monitor that joins labels: which ones go together, and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.monitoring.planning import read_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.io import Column

__all__ = ["check_join", "label_of"]


def check_join(
    has_labels: bool, key: Any, wait: Any, settle: Any, unlabelled: Any, label_time: Any
) -> None:
    """Refuse options of a join without labels, and labels without what joins them."""
    needed = {"key": key, "wait": wait}
    if has_labels:
        for name, value in needed.items():
            if value is None:
                raise InvalidInputError("is needed to join labels", argument=name)
        return
    chosen = None if unlabelled == "drop" else unlabelled
    others = needed | {"settle": settle, "unlabelled": chosen, "label_time": label_time}
    for name, value in others.items():
        if value is not None:
            raise InvalidInputError("has no meaning without labels", argument=name)


def label_of(unlabelled: Any, truths: Sequence[Column]) -> dict[str, npt.NDArray[Any]] | None:
    """Read the label of predictions that get none; None leaves them without."""
    if unlabelled == "drop":
        return None
    found = {column.argument: read_one(column.field_type, unlabelled) for column in truths}
    if len(truths) > 1 or len(truths[0].names) > 1:
        raise InvalidInputError("cannot be one label: there are several", argument="unlabelled")
    ((name, label),) = found.items()
    if label is None:
        wanted = truths[0].field_type.fault(unlabelled)
        raise InvalidInputError(f"must be {wanted}, got {unlabelled!r}", argument="unlabelled")
    return {name: label}
