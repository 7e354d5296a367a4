"""Columns for the arguments of `update`; configuration and first rows decide their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from streameval.configs.collection import Member
from streameval.configs.inner import counted, key_columns
from streameval.configs.paired import PairedConfig
from streameval.configs.regression import RegressionConfig
from streameval.configs.values import MeanConfig
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError
from streameval.inputs.arrays import IDS
from streameval.io.columns import (
    Argument,
    FieldType,
    Flags,
    Labels,
    Numbers,
    ScoresByClass,
    Values,
    Vectors,
    class_label_type,
    has_integer_labels,
    id_type,
    outcome_type,
    says_truth,
    scores_by_class,
    value_type,
)
from streameval.io.times import Gaps, Steps, Times

if TYPE_CHECKING:
    from streameval.runs.sources import RawRow

_NUMBERS = {
    "popularity",
    "y_score",
    "y_prob",
    "sample_weight",
    "query_weight",
    "score",
    "relevance",
}


def chosen_columns(columns: Any, known: Iterable[str]) -> dict[str, str]:
    """Check a mapping from arguments to the columns that have other names.

    Raises
    ------
    InvalidInputError
        If it is anything else, or has an argument that is not known.
    """
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        type_name = type(columns).__name__
        raise InvalidInputError(
            f"must map arguments to columns, got {type_name}", argument="columns"
        )
    read = list(known)
    for argument, column in columns.items():
        if not isinstance(argument, str) or not isinstance(column, str):
            raise InvalidInputError(
                f"must map names to names, got {column!r} for {argument!r}", argument="columns"
            )
        if argument not in read:
            raise InvalidInputError(
                f"must be for {', '.join(read)}, got {argument!r}", argument="columns"
            )
    return dict(columns)


def columns_of(
    members: Iterable[Member], names: Mapping[str, str], rows: Sequence[RawRow]
) -> tuple[Argument, ...]:
    """Choose how the columns of members are read.

    Parameters
    ----------
    members : iterable of Member
        What is counted.
    names : mapping from argument to column
        The columns of the arrays of a batch.
    rows : sequence of mapping
        The first rows.
    """
    types: dict[str, list[FieldType]] = {}
    for member in counted(members):
        for argument, array in member.read.items():
            if array in names:
                values = _Values(names[array], rows)
                field_type = _field_type(argument, member.options, values)
                if array == "score" and "retrieved" in member.read and "retrieved" in names:
                    field_type = Numbers(gaps=True)  # a document that was not retrieved has none
                types.setdefault(array, []).append(field_type)
    return tuple(Argument(array, (names[array],), _common(found)) for array, found in types.items())


def group_columns(
    accumulator: Any, names: Mapping[str, str], columns: Iterable[Argument]
) -> tuple[Argument, ...]:
    """Add the columns that split the rows, and allow a missing truth in panes.

    Parameters
    ----------
    accumulator : accumulator
        What the rows are counted with.
    names : mapping from argument to column
        The columns of the arrays of a batch.
    columns : iterable of Argument
        Those of the accumulator within.
    """
    config = Member.of(accumulator).options
    keys, found = [*key_columns(config)], list(columns)
    if isinstance(config, WindowedConfig):
        found = [with_gaps(column) for column in found]
        time = names[keys.pop(0)]
        found.append(Argument(config.time, (time,), time_type(config.unit, is_step=config.is_step)))
    return (*found, *(Argument(key, (names[key],), Values()) for key in keys))


def with_gaps(column: Argument) -> Argument:
    """Allow a missing truth: rows without one still count towards label coverage."""
    if column.argument != "y_true" or len(column.names) > 1:
        return column
    own = column.field_type
    made: FieldType = attrs.evolve(own, gaps=True) if isinstance(own, Numbers) else Gaps(own)
    return attrs.evolve(column, field_type=made)


def time_type(unit: str | None, *, is_step: bool) -> FieldType:
    """Read times: moments, or steps of any meaning."""
    return Steps() if is_step else Times(unit)


_READ_AS: dict[str, Callable[[Iterable[Any]], FieldType]] = {
    **dict.fromkeys(IDS, id_type),
    "outcome": outcome_type,
    "retrieved": lambda _: Flags(),
}
"""How columns are read that are neither truth, prediction nor numbers."""


@attrs.frozen
class _Values:
    """The values of a column in the first rows; usually only the first one is examined."""

    name: str
    rows: Sequence[RawRow]

    def __iter__(self) -> Iterator[Any]:
        values = (row.get(self.name) for row in self.rows)
        return (value for value in values if value is not None)


def _field_type(argument: str, config: Any, values: Iterable[Any]) -> FieldType:
    """Choose the type of one value of an argument."""
    is_of_values = isinstance(config, PairedConfig) and config.is_of_values
    if (is_of_values or isinstance(config, MeanConfig)) and argument != "sample_weight":
        return value_type(config.nan)  # whatever its name
    first = next(iter(values), None)
    is_number = argument in _NUMBERS or _is_of_numbers(config)
    classes = getattr(config, "classes", None)
    may_be_list = argument.startswith("y_") and classes is not None
    has_names = scores_by_class(first) is not None
    if may_be_list and has_names and isinstance(classes, (int, tuple)):
        labels = range(classes) if isinstance(classes, int) else classes
        return ScoresByClass(tuple(map(str, labels)))
    if isinstance(first, list) and may_be_list:
        of_integers = not is_number and all(type(item) in (int, bool) for item in first)
        return Vectors(len(first), of_integers)
    if is_number or (argument == "y_pred" and _are_scores(config, values)):
        return Numbers(gaps=argument == "relevance")
    if argument in _READ_AS:
        return _READ_AS[argument](values)
    return _label_type(config, first)


def _is_of_numbers(config: Any) -> bool:
    """Tell whether truth and predictions are numbers."""
    is_paired = isinstance(config, PairedConfig) and config.classes is None
    return is_paired or isinstance(config, RegressionConfig)


def _label_type(config: Any, first: Any) -> FieldType:
    classes = getattr(config, "classes", None)
    if classes is not None:
        return class_label_type(classes, first, " as the first label is")
    return Flags() if says_truth(first) else Labels(integers=has_integer_labels("auto", first))


def _are_scores(config: Any, values: Iterable[Any]) -> bool:
    """Distinguish scores from labels if both are numbers; 1.0 may be an observed label."""
    if config.from_scores is not None:
        return bool(config.from_scores)
    fractions = (value for value in values if isinstance(value, float))
    return any(config.classes != "auto" or value != value // 1 for value in fractions)


def _common(types: Sequence[FieldType]) -> FieldType:
    """Choose a type that suits all members; integer labels also serve as numbers."""
    return next((held for held in types if not isinstance(held, Numbers)), types[0])
