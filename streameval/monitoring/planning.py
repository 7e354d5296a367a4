"""How the rows of sources are read: the plans of predictions and labels, and their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.accumulators.windowed import Windowed
from streameval.configs.inner import key_columns
from streameval.errors import BadDataError, InvalidInputError
from streameval.exact.array_types import Array
from streameval.inputs.paths import Fields
from streameval.io.blocks import assemble, fields_read
from streameval.io.columns import Argument, FieldType, as_text, objects
from streameval.io.times import Gaps
from streameval.runs.columns import chosen_columns, columns_of, group_columns
from streameval.runs.counting import Plan, RowShare

if TYPE_CHECKING:
    from streameval.io.row_filters import RowFilter
    from streameval.runs.sources import RawRow


_LONGEST = 256


@attrs.frozen
class Ids:
    """What joins a prediction and its label: text or a number in every row, read as text."""

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Keep the cells as they are; an empty one is missing."""
        return [cell or None for cell in cells]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an object array of text if every value is an id."""
        usual = set(map(type, values)) <= {str}
        if usual and "".join(values).isascii() and max(map(len, values), default=1) <= _LONGEST:
            return objects(values) if all(values) else None
        return None if any(map(self.fault, values)) else objects(list(map(as_text, values)))

    def fault(self, value: Any) -> str | None:
        """Accept text and integers."""
        if type(value) is int:
            return None
        fits = type(value) is str and 0 < len(value) <= _LONGEST
        if fits and not any("\ud800" <= character <= "\udfff" for character in value):
            return None
        return f"an id: an integer, or text of at most {_LONGEST} characters"


ID = "id`"
"""What the column of ids is called in a batch; no argument has such a name."""


@attrs.frozen(kw_only=True)
class Planner:
    """How to make a plan once there are rows.

    Parameters
    ----------
    plan : callable
        Makes a plan from the first rows; its accumulator is a `Windowed`.
    is_step : bool
        Whether times are integers of any meaning.
    where : RowFilter, optional
        Which rows are counted.
    empty : Windowed, optional
        The accumulator before there is a plan, if it is known.
    """

    plan: Callable[[Sequence[RawRow]], Plan]
    is_step: bool
    where: RowFilter | None = None
    empty: Windowed | None = None


@attrs.frozen(kw_only=True)
class Split:
    """The plans of the two sources of a join.

    Parameters
    ----------
    predictions, labels : Plan
        Each checks its rows together with an example of the other, so that the error for a refused
        row can name its file and line.
    records, truths : tuple of Argument
        The columns that a waiting prediction and a label carry.
    """

    predictions: Plan
    labels: Plan
    records: tuple[Argument, ...]
    truths: tuple[Argument, ...]


def planner_of(
    accumulator: Any, time: str, columns: Mapping[str, str] | None, max_bad: int | RowShare
) -> Planner:
    """Plan to read the columns of an accumulator by their own names, or by others.

    Raises
    ------
    InvalidInputError
        If it is not a `Windowed`, or is not empty.
    """
    if isinstance(accumulator, Planner):
        return accumulator
    if not isinstance(accumulator, Windowed):
        given = type(accumulator).__name__
        raise InvalidInputError(f"must be a Windowed, got {given}", argument="accumulator")
    if accumulator.newest is not None:
        raise InvalidInputError("must have counted nothing", argument="accumulator")
    config = accumulator.view().config
    inner, keys = config.accumulator, key_columns(config)
    if inner.queries:
        raise InvalidInputError(
            "cannot count rankings: the rows of a query may lie in several files",
            argument="accumulator",
        )
    read = dict.fromkeys((*inner.required, *inner.optional, *keys))
    chosen = {config.time: time, **chosen_columns(columns, read)}
    names = {argument: chosen.get(argument, argument) for argument in read}
    needed = {*inner.required, *keys, *chosen}

    def plan(rows: Sequence[RawRow]) -> Plan:
        known = dict.fromkeys(
            name for row in rows for name in (*row, *names.values()) if name in row
        )
        for argument, name in names.items():
            if argument in needed and name not in known:
                raise InvalidInputError(
                    f"is missing: the first rows have the columns {', '.join(known)}",
                    argument=name,
                )
        found = {argument: name for argument, name in names.items() if name in known}
        read_as = columns_of(inner.members, found, rows)
        empty = accumulator.copy()
        return Plan(empty.copy, group_columns(accumulator, found, read_as), max_bad)

    return Planner(plan=plan, is_step=config.is_step, empty=accumulator.copy())


@attrs.frozen(eq=False)
class _Joined(Fields):
    """A first prediction with the fields of a label.

    Parameters
    ----------
    prediction : Fields
        The prediction alone.
    """

    prediction: Fields


def rows_together(predictions: Sequence[Fields], labels: Sequence[Fields] = ()) -> list[Fields]:
    """Combine the first predictions and the first labels into rows like joined ones."""
    if not labels:
        return list(predictions)
    return [
        _Joined({**labels[at % len(labels)].row, **prediction.row}, prediction)
        for at, prediction in enumerate(predictions)
    ]


def predictions_of(rows: Iterable[RawRow]) -> list[RawRow]:
    """Return the predictions of the rows that `rows_together` has combined."""
    return [row.prediction if isinstance(row, _Joined) else row for row in rows]


def split(
    plan: Plan,
    key: str,
    label_time: str,
    predictions: Sequence[RawRow],
    labels: Sequence[RawRow],
) -> Split:
    """Split a plan: truths come from labels, everything else from predictions.

    Raises
    ------
    InvalidInputError
        If something is counted without a truth.
    BadDataError
        If none of the first rows can be read.
    """
    config = plan.make().view().config
    arguments = config.accumulator.truths
    if not arguments:
        raise InvalidInputError("is counted without labels", argument="accumulator")
    truths = tuple(_without_gaps(one) for one in plan.columns if one.argument in arguments)
    others = tuple(one for one in plan.columns if one.argument not in arguments)
    time = next(column for column in others if column.argument == config.time)
    moment = attrs.evolve(time, names=(label_time,))
    an_id = Argument(ID, (key,), Ids())
    example_label = _example(truths, labels, "labels")
    example_prediction = _example(others, predictions, "predictions")
    trial = attrs.evolve(plan, make=config.accumulator.leaf.empty)
    return Split(
        predictions=attrs.evolve(trial, columns=(*others, an_id), update=_Trial(example_label)),
        labels=attrs.evolve(
            trial, columns=(*truths, moment, an_id), update=_Trial(example_prediction)
        ),
        records=tuple(column for column in others if column is not time),
        truths=truths,
    )


@attrs.frozen
class _Trial:
    """Update an accumulator with rows that lack columns: each has the example's."""

    example: Mapping[str, Array]

    def __call__(self, accumulator: Any, batch: Mapping[str, Any]) -> str:
        held = {name: array for name, array in batch.items() if name != ID}
        size = len(next(iter(held.values())))
        for name, array in self.example.items():
            if name not in held:
                held[name] = np.repeat(array, size, axis=0)
        accumulator.update(held)
        return ""


def _without_gaps(column: Argument) -> Argument:
    """Make missing labels bad rows."""
    own: Any = column.field_type
    if isinstance(own, Gaps):
        return attrs.evolve(column, field_type=own.field_type)
    is_open = getattr(own, "gaps", False)
    return attrs.evolve(column, field_type=attrs.evolve(own, gaps=False)) if is_open else column


def _example(columns: Sequence[Argument], rows: Iterable[RawRow], what: str) -> dict[str, Array]:
    """Read the first row that has all the columns."""
    for row in rows:
        found = batch_of(columns, [row])
        if all(map(len, found.values())):
            return found
    names = ", ".join(name for column in columns for name in column.names)
    raise BadDataError(f"none of the first {what} can be read; they need {names}.")


def label_of(unlabelled: Any, truths: Sequence[Argument]) -> dict[str, Array] | None:
    """Read the label for predictions that get none; None leaves them unlabelled."""
    if unlabelled == "drop":
        return None
    if len(truths) > 1 or len(truths[0].names) > 1:
        raise InvalidInputError("cannot be one label: there are several", argument="unlabelled")
    found = batch_of(truths, [dict.fromkeys(truths[0].names, unlabelled)])
    if not all(map(len, found.values())):
        wanted = truths[0].field_type.fault(unlabelled)
        raise InvalidInputError(f"must be {wanted}, got {unlabelled!r}", argument="unlabelled")
    return found


def batch_of(columns: Sequence[Argument], rows: Sequence[RawRow]) -> dict[str, Array]:
    """Make the batch of some rows, without those that cannot be read."""

    def read(field_type: FieldType, value: Any) -> Any:
        return field_type.from_text([value])[0] if isinstance(value, str) else value

    values = {
        (name, field_type): [read(field_type, row.get(name)) for row in rows]
        for name, field_type in fields_read(columns)
    }
    return dict(assemble(columns, values, range(len(rows))).batch)
