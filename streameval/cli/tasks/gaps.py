"""Rows of regression without a truth or prediction, which `--nan skip` leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from streameval.cli.errors import UsageError

if TYPE_CHECKING:
    from streameval.cli.options import Options
    from streameval.io.row_filters import Condition

_GAPS = ("", "nan", "NaN", "NAN")


def skipping_gaps(options: Options) -> Options:
    """Leave out rows of regression without truth or prediction, if --nan says so.

    Raises
    ------
    UsageError
        If it says something else of them.
    """
    if options.nan == "last" and options.task == "regression":
        raise UsageError("--nan last cannot be used with --task regression, which ranks nothing.")
    return attrs.evolve(options, where=(*options.where, *gaps_of(options)))


def gaps_of(options: Options) -> tuple[Condition, ...]:
    """List the conditions of rows of regression that have truth and prediction."""
    if options.nan != "skip" or "regression" not in options.task.split(","):
        return ()
    from streameval.io.row_filters import Condition  # noqa: PLC0415 (loads NumPy)

    columns = (*(options.y_true or ("y_true",)), *(options.y_pred or ("y_pred",)))
    return tuple(Condition(column, "!=", _GAPS) for column in columns)
