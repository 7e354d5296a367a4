"""Preferences: from options and the first rows to a plan, and the models of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from streameval.accumulators.preferences import PreferencesAccumulator
from streameval.cli.errors import UsageError
from streameval.cli.tasks.columns import check_columns, listed_classes, maker, weight_columns
from streameval.io.columns import Argument, Texts, class_label_type, outcome_type
from streameval.runs.counting import Plan
from streameval.runs.slices import ValueCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns; the models are those of the option.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the models are not known.
    InvalidInputError
        If the accumulator refuses the models.
    """
    if options.models is None:
        raise UsageError(
            "watch needs --models with --task preferences: a pane cannot wait for models that "
            "later rows name."
        )
    a, b, winner = _columns(options, rows)
    models = listed_classes(options.models)
    make = maker(PreferencesAccumulator, models)
    model = class_label_type(models, None)
    outcomes = (row[winner] for row in rows if row.get(winner) not in (None, ""))
    columns = (
        Argument("a", (a,), model),
        Argument("b", (b,), model),
        Argument("outcome", (winner,), outcome_type(outcomes)),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad, is_bounded=True)


def plan_of_models(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Plan to find the models of a log.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    """
    a, b, _ = _columns(options, rows)
    columns = (Argument("a", (a,), Texts()), Argument("b", (b,), Texts()))
    return Plan(ValueCounts, columns, options.max_bad, update=_count_models)


def with_models(options: Options, found: ValueCounts) -> Options:
    """Take the models that were found, in order.

    Raises
    ------
    UsageError
        If there are fewer than two.
    """
    names = {name for name in found.values() if name is not None}
    if len(names) < 2:
        said = f"one, {min(names)!r}" if names else "none"
        raise UsageError(f"two or more models are compared, but the rows name {said}.")
    labels = listed_classes(tuple(names))
    return attrs.evolve(options, models=tuple(map(str, sorted(labels))))


def _columns(options: Options, rows: Sequence[RawRow]) -> tuple[str, str, str]:
    a, b = options.model_a or "model_a", options.model_b or "model_b"
    winner = options.winner or "winner"
    check_columns([a, b, winner], rows)
    weight_columns(options, rows)
    return a, b, winner


def _count_models(counts: ValueCounts, batch: Mapping[str, Any]) -> str:
    for side in ("a", "b"):
        counts.update(batch[side].tolist())
    return ""
