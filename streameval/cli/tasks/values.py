"""Numbers, values, recommended items and preferences: from options and first rows to a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

import streameval as se
from streameval.cli.errors import UsageError
from streameval.cli.options import Options
from streameval.cli.tasks import fields
from streameval.io.columns import (
    Argument,
    FieldType,
    Labels,
    Numbers,
    Texts,
    Vectors,
    class_label_type,
    id_type,
    outcome_type,
    value_type,
)
from streameval.render.text import plural
from streameval.runs.counting import Plan
from streameval.runs.sources import RawRow

if TYPE_CHECKING:
    from streameval.runs.slices import ValueCounts


def plan_of_regression(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the measures.

    Raises
    ------
    UsageError
        If a column is not in the first rows, truth and prediction differ in the number of
        outputs, or neither has any.
    InvalidInputError
        If the accumulator refuses the options.
    """
    make = fields.maker(options, se.RegressionAccumulator, outputs=None)
    layout = fields.lay_out(options, rows, options.columns("y_pred"), of_scores=False)
    outputs = _number_of_outputs(layout)
    if options.outputs is not None and len(options.outputs) != outputs:
        found = "no list of numbers" if outputs is None else plural(outputs, "number")
        raise UsageError(
            f"--outputs names {plural(len(options.outputs), 'output')}, but a row predicts {found}."
        )
    if outputs is not None:
        named = options.outputs or outputs
        make = fields.maker(options, se.RegressionAccumulator, outputs=named)
    columns = (
        Argument("y_true", layout.label, _numbers(layout.label, outputs)),
        Argument("y_pred", layout.prediction, _numbers(layout.prediction, outputs)),
    )
    return Plan(make, columns, is_bounded=options.budget != "none")


def _number_of_outputs(layout: fields.TaskColumns) -> int | None:
    """Count the numbers that a row predicts; None for a single number."""
    found = {names: layout.width(names) for names in (layout.label, layout.prediction)}
    if len(set(found.values())) > 1:
        counts = (
            f"`{','.join(names)}` holds {plural(1 if width is None else width, 'number')}"
            for names, width in found.items()
        )
        raise UsageError(f"{' and '.join(counts)} a row, but each output needs both.")
    outputs = found[layout.label]
    if outputs == 0:
        raise UsageError(f"`{layout.label[0]}` holds an empty list, which predicts nothing.")
    return outputs


def _numbers(names: tuple[str, ...], outputs: int | None) -> FieldType:
    """Read a number from each column, or a list of them from one."""
    is_one = outputs is None or len(names) > 1
    return Numbers(gap_hint=fields.GAP_HINT) if is_one else Vectors(outputs or 1)


def plan_of_values(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and what is kept of them; one column alone needs no name.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    InvalidInputError
        If the accumulator refuses the options.
    """
    names = options.columns("value")
    arrays = ("value",) if len(names) == 1 else names
    make = fields.maker(options, se.MeanAccumulator, columns=None if len(names) == 1 else names)
    fields.check_columns(names, rows)
    numbers = value_type(options.nan, fields.GAP_HINT)
    pairs = zip(arrays, names, strict=True)
    columns = tuple(Argument(array, (name,), numbers) for array, name in pairs)
    is_bounded = options.budget != "none" or not options.quantiles
    return Plan(make, columns, is_bounded=is_bounded)


def plan_of_catalog(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the size of the catalog is not given.
    """
    if options.n_items is None:
        raise UsageError("--task catalog needs --n-items, the number of items in the catalog.")
    names = {name: options.column(name) for name in ("item", "rank")}
    if options.rank is None and options.k is None and not fields.has_column("rank", rows):
        del names["rank"]  # the lists are cut already, so every row counts
    asked = names | fields.given(popularity=options.popularity)
    fields.check_columns(asked.values(), rows)
    cut: dict[str, Any] = {} if "rank" in names else {"k": None}
    has_popularity = options.popularity is not None
    make = fields.maker(options, se.CatalogAccumulator, popularity=has_popularity, **cut)
    items = [row[asked["item"]] for row in rows if row.get(asked["item"]) is not None]
    types = {"item": id_type(items), "rank": Labels(integers=True), "popularity": Numbers()}
    pairs = asked.items()
    return Plan(make, tuple(Argument(array, (name,), types[array]) for array, name in pairs))


def plan_of_preferences(options: Options, rows: Sequence[RawRow]) -> Plan:
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
    models = fields.listed_classes(options.models)
    make = fields.maker(options, se.PreferencesAccumulator, models=models)
    model = class_label_type(models, None)
    outcomes = (row[winner] for row in rows if row.get(winner) not in (None, ""))
    columns = (
        Argument("a", (a,), model),
        Argument("b", (b,), model),
        Argument("outcome", (winner,), outcome_type(outcomes)),
    )
    return Plan(make, columns, is_bounded=True)


def plan_of_models(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Plan to find the models of a log.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    """
    from streameval.runs.slices import ValueCounts  # noqa: PLC0415 (of a first pass)

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
    labels = fields.listed_classes(tuple(names))
    return attrs.evolve(options, models=tuple(map(str, sorted(labels))))


def _columns(options: Options, rows: Sequence[RawRow]) -> tuple[str, str, str]:
    a, b, winner = map(options.column, ("model_a", "model_b", "winner"))
    fields.check_columns([a, b, winner], rows)
    fields.weight_columns(options, rows)
    return a, b, winner


def _count_models(counts: ValueCounts, batch: Mapping[str, Any]) -> str:
    for side in ("a", "b"):
        counts.update(batch[side].tolist())
    return ""


PLANS = {
    "regression": plan_of_regression,
    "catalog": plan_of_catalog,
    "values": plan_of_values,
    "preferences": plan_of_preferences,
}
