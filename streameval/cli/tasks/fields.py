"""Which columns hold truth and prediction, and what the columns of classes hold."""

from __future__ import annotations

import inspect
import json
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import numpy as np

from streameval.cli.errors import MissingColumnError, UsageError
from streameval.cli.options import Options, option_text
from streameval.configs.names import nearest
from streameval.inputs.paths import Fields
from streameval.io.columns import (
    Argument,
    FieldType,
    Flags,
    Labels,
    Numbers,
    ScoresByClass,
    Vectors,
    as_text,
    class_label_type,
    class_number,
    has_integer_labels,
    says_truth,
    says_yes,
    scores_by_class,
)
from streameval.io.errors import shown
from streameval.io.notation import integer_or_text, is_gap, number_or_text
from streameval.runs.counting import Plan
from streameval.runs.sources import RawRow, typical_row

if TYPE_CHECKING:
    from streameval.accumulators.base import Accumulator

_HALF, _FEW_CLASSES = 0.5, 20
_FLIPPED = (
    "roc_auc is below 0.5 by more than chance: the scores may be of the other label, which "
    "--pos-label names."
)
_OFF = 1e-3  # the probabilities of two classes may be rounded

_USUAL_NAMES = (
    *("y_true", "y_pred", "y_score", "model_a", "model_b", "winner", "query", "relevance", "value"),
)
_NAMED_BY = {"score": "--y-score or --rank"}
"""The options that name columns, by the default name of each column."""

_COLUMNS_OF = {
    "--task preferences": ("model_a", "model_b", "winner"),
    "--task ranking": ("query", "relevance"),
    "--task values --value gen_ai.evaluation.score.value --by gen_ai.evaluation.name": (
        "gen_ai.evaluation.name",
        "gen_ai.evaluation.score.value",
    ),
}
"""The columns of logs that have no `y_true`, by the options that read them."""

_FROM_SPLIT = (
    "jq -c '.columns as $c | .data[] | [$c, .] | transpose | map({(.[0]): .[1]}) | add' "
    "FILE > rows.jsonl"
)
_FROM_COLUMNS = (
    "jq -c '[to_entries[] | .key as $c | .value | to_entries[] | {r: .key, v: {($c): .value}}] "
    "| group_by(.r)[] | map(.v) | add' FILE > rows.jsonl"
)
_OF_JQ = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
GAP_HINT = " (--nan skip leaves it out)"
_AS_THE_FIRST = " as the first label is ({} --classes lists mixed labels)"


@attrs.frozen(eq=False, repr=False)
class TaskColumns:
    """The columns of truth and prediction, and a typical row.

    Parameters
    ----------
    label, prediction : tuple of str
        The names of the columns.
    of_scores : bool
        Whether the predictions are scores.
    multilabel : bool
        Whether each class is present or absent on its own.
    row : Row
        A row that has all these columns.
    texts : tuple of str
        The distinct labels that are text in the first rows, sorted.
    rows : sequence of Row
        The first rows.
    class_columns : tuple of str
        The classes, in order, if the predictions are a column for each, named as the class is or
        with one more text before or behind it in all names, such as p_cat; else empty.
    """

    label: tuple[str, ...]
    prediction: tuple[str, ...]
    of_scores: bool
    multilabel: bool
    row: RawRow
    texts: tuple[str, ...] = ()
    rows: Sequence[RawRow] = ()
    class_columns: tuple[str, ...] = ()

    def width(self, names: tuple[str, ...]) -> int | None:
        """Return the number of values that a row has in some columns; None for a single value."""
        if len(names) != 1:
            return len(names)
        value = self.row[names[0]]
        return len(value) if isinstance(value, (list, dict)) else None

    def class_names(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        """List the classes that the scores of a row name, in order; None without names."""
        if self.class_columns and names == self.prediction:
            return self.class_columns
        found = scores_by_class(self.row[names[0]]) if len(names) == 1 else None
        if not found:
            return None
        numbers = {name: class_number(name) for name in found}
        are_integers = all(isinstance(number, int) for number in numbers.values())
        in_order: dict[str, Any] = numbers if are_integers else dict(zip(found, found, strict=True))
        return tuple(sorted(found, key=in_order.__getitem__))

    def named_classes(self, names: tuple[str, ...]) -> tuple[int, ...] | tuple[str, ...] | None:
        """List these classes as labels: integers if these and the first label look so."""
        named = self.class_names(names)
        if named is None:
            return None
        read = integer_or_text if isinstance(self.first_label, str) else class_number
        labels = tuple(map(read, named))
        integers = tuple(label for label in labels if isinstance(label, int))
        return integers if len(integers) == len(labels) else named

    @property
    def first_label(self) -> Any:
        """The label that decides the type of all: a number takes precedence over text of digits."""
        label, other = self.row[self.label[0]], self.row[self.prediction[0]]
        gives_way = is_integer_text(label) and not (self.of_scores or isinstance(other, str))
        return other if gives_way else label

    @property
    def are_signs(self) -> bool:
        """Whether the first labels are -1 and 1, as those of support vector machines."""
        labels = [row.get(self.label[0]) for row in self.rows]
        are_numbers = all(isinstance(label, int | float) for label in labels if label is not None)
        return are_numbers and {*labels} - {None} == {-1, 1}

    def classes_to_type(self, positive: str | None = None) -> str:
        """Write --classes with the two labels, the positive one last, as far as they are known."""
        known = [text for text in self.texts if text != positive]
        known += [] if positive is None else [positive]
        if len(known) == 1:
            known.insert(0, "OTHER")
        is_typable = len(known) == 2 and not any(mark in text for text in known for mark in ",=")
        return f"--classes {shlex.quote(','.join(known)) if is_typable else 'no,yes'}"


def is_integer_text(label: Any) -> bool:
    """Tell whether a label is text that looks like an integer."""
    return isinstance(label, str) and isinstance(integer_or_text(label), int)


def lay_out(
    options: Options,
    rows: Sequence[RawRow],
    prediction: tuple[str, ...],
    *,
    of_scores: bool,
    also: tuple[str, ...] = (),
) -> TaskColumns:
    """Find the columns in the first rows, and check other columns that a row must have.

    Raises
    ------
    UsageError
        If the first rows lack one.
    """
    others = [name for name in (options.sample_weight, options.group) if name is not None]
    label = options.columns("y_true")
    names = (*label, *prediction, *also, *others)
    check_columns(names, rows)
    if label == prediction and len(label) == 1:
        raise UsageError(f"`{label[0]}` cannot be both the truth and the prediction.")
    whole = [row for row in rows if not any(is_gap(row.get(name)) for name in names)]
    row = typical_row(whole or rows, names)
    _refuse_objects(label[0], row[label[0]])
    _refuse_lists_within(prediction[0], row[prediction[0]])
    if of_scores and not options.max_bad:
        _refuse_swapped(label[0], row[label[0]], row[prediction[0]])
    texts = {row[label[0]] for row in rows if isinstance(row.get(label[0]), str)}
    labels = [row[label[0]] for row in rows if row.get(label[0]) is not None]
    in_order, classes = _by_class(options, prediction, labels) if of_scores else (prediction, ())
    return TaskColumns(
        label,
        in_order,
        of_scores,
        bool(options.multilabel),
        row,
        tuple(sorted(texts)),
        rows,
        classes,
    )


def _by_class(
    options: Options, columns: tuple[str, ...], labels: Sequence[Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Put columns that are named as the classes are in the order of the classes.

    Returns
    -------
    tuple of str
        The columns.
    tuple of str
        Their classes; empty if the names of the columns are not those of the classes.

    Raises
    ------
    UsageError
        If the columns of several labels a row are in another order than the classes.
    """
    if len(columns) < 2 or options.header == ():
        return columns, ()
    for named in _parts_of_names([typed_label(options, name) or "" for name in columns]):
        texts = list(map(_class_text, named))
        order = _texts_of_classes(options, texts, labels)
        if sorted(texts) == sorted(order):
            break
    else:
        return columns, ()
    in_order = tuple(columns[texts.index(text)] for text in order)
    if options.multilabel and in_order != columns:
        refuse_order(columns, in_order, "--y-true")
    return in_order, tuple(named[texts.index(text)] for text in order)


def _parts_of_names(names: list[str]) -> Iterator[list[str]]:
    """Yield the names, and what is left of them without a beginning or end that all share.

    >>> list(_parts_of_names(["p_a", "p_b"]))
    [['p_a', 'p_b'], ['_a', '_b'], ['a', 'b']]
    """
    shared = map(commonprefix, (names, [name[::-1] for name in names]))
    n_before, n_behind = map(len, shared)
    for start, cut in product(range(n_before + 1), range(n_behind + 1)):
        yield [name[start : len(name) - cut] for name in names]


def _texts_of_classes(options: Options, named: list[str], labels: Sequence[Any]) -> list[str]:
    """List the typed classes, or else those that columns name if all labels are among them."""
    typed = options.classes
    if isinstance(typed, int):
        return list(map(str, range(typed)))
    if isinstance(typed, tuple | dict):
        return list(map(_class_text, typed))
    found = {_class_text(as_text(label)) for label in labels if not isinstance(label, list)}
    found.discard(_class_text(options.ignore_label))
    if not found or not found <= set(named):
        return []
    are_integers = all(isinstance(integer_or_text(text), int) for text in named)
    return sorted(named, key=int) if are_integers else named


def _class_text(label: str | None) -> str:
    """Write a label so that 3, "3.0" and "LABEL_3" are the same class."""
    return str(class_number(label or ""))


def refuse_order(columns: Sequence[str], in_order: Sequence[str], option: str) -> NoReturn:
    """Raise UsageError because the columns of another option are in the order of these."""
    raise UsageError(
        f"`{','.join(columns)}` are named as the classes are, but in another order. List them as "
        f"{','.join(in_order)}, and the columns of {option} in the same order."
    )


def refuse_two_models(
    options: Options,
    layout: TaskColumns,
    label: Any,
    compared_by: str = "",
    *,
    is_sure: bool = True,
) -> None:
    """Refuse two columns for two classes if they are not the probabilities of both.

    Parameters
    ----------
    options : Options
    layout : TaskColumns
    label : int or str
        The positive class.
    compared_by : str
        What to add to a command that compares the two.
    is_sure : bool
        Whether real scores are certainly those of two classes.

    Raises
    ------
    UsageError
    """
    names = layout.prediction
    if options.scores == "real" and is_sure:
        return
    pairs: Iterator[list[Any]] = ([row.get(name) for name in names] for row in layout.rows)
    sums = [sum(pair) for pair in pairs if all(map(_is_probability, pair))]
    is_of_both = all(abs(both - 1) <= _OFF for both in sums)
    if options.scores != "real" and is_of_both:
        return  # a bad row is reported as such
    reason = "and nothing says of which" if options.scores == "real" else "but do not sum to 1"
    a, b = map(shlex.quote, names)
    compare = f"; to compare two models use --y-score {a} --versus {b}{compared_by}"
    raise UsageError(
        f"`{','.join(names)}` are two scores for two classes, {reason}. Name one column for the "
        f"{'score' if options.scores == 'real' else 'probability'} of class {label}"
        f"{'' if options.versus else compare}."
    )


def _is_probability(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 <= value <= 1


def _refuse_swapped(name: str, label: Any, score: Any) -> None:
    """Raise UsageError for a label that is a probability, beside a score that is a label."""
    if isinstance(label, float) and 0 < label < 1 and score in (0, 1):
        raise UsageError(
            f"`{name}` holds fractions, {label!r}, which are not labels; are --y-true and "
            "--y-score swapped?"
        )


def _refuse_objects(name: str, label: Any) -> None:
    """Raise UsageError for a label that holds the labels of all rows by their number."""
    if isinstance(label, dict):
        raise UsageError(
            f"`{name}` holds an object, {shown(label)}, and not a label; if it is a column "
            f"of a data frame, write each row on a line: {_FROM_COLUMNS}."
        )


def _refuse_lists_within(name: str, value: Any) -> None:
    """Raise UsageError for an object of lists, such as a vector of Spark, in place of scores."""
    fields = value.items() if isinstance(value, dict) else ()
    lists = [f"{name}.{key}" for key, inner in fields if isinstance(inner, list)]
    if lists:
        raise UsageError(f"`{name}` holds an object; name a list in it, {' or '.join(lists)}.")


def check_columns(names: Iterable[str], rows: Sequence[RawRow]) -> None:
    """Raise MissingColumnError for a column that none of the first rows has."""
    needed = [*dict.fromkeys(names)]
    absent = [name for name in needed if not has_column(name, rows)]
    if not absent:
        return
    known = nearest(absent[0], chain.from_iterable(rows))
    hint = next(filter(None, (find(absent, needed, rows) for find in _HINTS)), "")
    raise MissingColumnError(f"no column {absent[0]!r} in the first rows: {known}{hint}")


def _of_shape(absent: Sequence[str], _: Sequence[str], rows: Sequence[RawRow]) -> str:
    """Name the command that writes rows of a file that holds them otherwise."""
    first = rows[0] if rows else {}
    if _listed(first.get("columns")) and isinstance(first.get("data"), list):
        return f" `data` holds rows of `columns`; write each on a line: {_FROM_SPLIT}."
    holders = [name for name in first if _holds_rows(first[name], absent)]
    n_objects = sum(isinstance(first[name], dict) for name in holders)
    if len(holders) <= n_objects <= 1:
        return ""
    path = "." if n_objects > 1 else jq_path(holders[0])
    held = "Each field holds a row" if n_objects > 1 else f"`{holders[0]}` holds rows"
    items = shlex.quote(f"{path}[]")
    return f" {held}; write each on a line: jq -c {items} FILE > rows.jsonl."


def _of_later_header(absent: Sequence[str], _: Sequence[str], rows: Sequence[RawRow]) -> str:
    """Name the command that leaves out what is above a header."""
    found = ((name, row) for row in rows for name in absent if name in row.values())
    below, row = next(found, ("", {}))
    if not below:
        return ""
    first = re.sub(r"\W", ".", str(next(filter(None, row.values()))))
    above = shlex.quote(f"/^[^[:alnum:]]*{first}/,$p")
    return f" A later row names {below!r}: `sed -n {above} FILE > log.csv` begins there."


def _of_numbers(absent: Sequence[str], needed: Sequence[str], rows: Sequence[RawRow]) -> str:
    """Name the option that reads a file whose first row is no header."""
    header = [*rows[0]] if rows else []
    numbers = [name for name in header if isinstance(number_or_text(name), float)]
    if not numbers:
        return ""
    are_all = "numbers alone" if len(numbers) == len(header) else f"the number {numbers[0]}"
    option = "--header none numbers" if "".join(absent).isdigit() else "--header A,B,C names"
    hint = "" if len(numbers) == len(header) else _of_names(absent, needed, rows)
    hint += f" The first row has {are_all}; {option} the columns of a file without."
    cells = [*header, *chain.from_iterable(row.values() for row in rows)]
    if ("y_score" in needed or "".join(needed).isdigit()) and any(map(_is_margin, cells)):
        hint += " --scores real reads scores outside [0, 1]."
    return hint + _without_gaps(cells, "A")


def _is_margin(cell: Any) -> bool:
    """Return whether a cell holds a fraction that is no probability."""
    number = number_or_text(cell) if isinstance(cell, str) else cell
    if not isinstance(number, float) or not math.isfinite(number):
        return False
    return not (0.0 <= number <= 1.0 or number.is_integer())


def _without_gaps(cells: Iterable[Any], name: str) -> str:
    """Name the options that leave out rows with gaps; empty if no cell is one."""
    gaps = dict.fromkeys(filter(is_gap, cells))
    left_out = f"--na {shlex.quote(','.join(gaps))} --where {shlex.quote(f'{name}!=')}"
    return f" {left_out} leaves out its rows without {name}." if gaps else ""


def _of_other_task(absent: Sequence[str], _: Sequence[str], rows: Sequence[RawRow]) -> str:
    """Name the task whose columns a file has."""
    if absent[0] != "y_true":
        return ""
    tasks = (
        asked
        for asked, columns in _COLUMNS_OF.items()
        if all(has_column(column, rows) for column in columns)
    )
    return next((f" The columns are those of {asked}." for asked in tasks), "")


def _of_names(absent: Sequence[str], needed: Sequence[str], rows: Sequence[RawRow]) -> str:
    """Name the other columns that differ in case alone, or the options of the missing ones."""
    by_name = {name.strip().casefold(): name for row in rows for name in row}
    alike = [by_name[name.casefold()] for name in absent if name.casefold() in by_name]
    if len(alike) == len(absent):
        gaps = (_without_gaps((row.get(name) for row in rows), name) for name in alike)
        both = f" Their names differ in case: {', '.join(alike)}." if len(alike) > 1 else ""
        return both + next(filter(None, gaps), "")
    usual = [name for name in absent if name != "score" or len(needed) > 1]
    known_names = [name for name in usual if name in (*_USUAL_NAMES, *_NAMED_BY)]
    named_by = [_NAMED_BY.get(name) or option_text(name) for name in known_names]
    verb = "name the columns" if len(named_by) > 1 else "names the column"
    return f" {', '.join(named_by)} {verb}." if named_by else ""


_HINTS = (_of_shape, _of_later_header, _of_numbers, _of_other_task, _of_names)
"""What advice there is on a missing column, the first that fits."""


def _holds_rows(value: Any, names: Sequence[str]) -> bool:
    """Tell whether a value is an object that has these fields, or a list of such objects."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and all(name in Fields(first) for name in names)


def jq_path(name: str) -> str:
    """Write the name of a field, or a path, as jq does.

    >>> jq_path("at.label"), jq_path("at.y-true")
    ('.at.label', '.at["y-true"]')
    """
    parts = name.split(".")
    path = "".join(f".{one}" if _OF_JQ.fullmatch(one) else f"[{json.dumps(one)}]" for one in parts)
    return path if path[0] == "." else f".{path}"


def _listed(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def has_column(name: str, rows: Iterable[RawRow]) -> bool:
    """Tell whether one of the first rows has a column."""
    return any(name in row for row in rows)


def check_no_query_counts(plan: Plan, option: str) -> None:
    """Raise UsageError for numbers of relevant documents, which only batches of queries take."""
    for column in plan.columns:
        if column.argument == "num_relevant":
            raise UsageError(
                f"{option} cannot be used with `{column.names[0]}`, a number for each query; give "
                "the relevant documents as rows with retrieved=false."
            )


def check_one_column(options: Options, *names: str, unless: str = "") -> None:
    """Raise UsageError if one of these options was given several columns."""
    for name in names:
        if len(getattr(options, name) or ()) > 1:
            raise UsageError(f"{option_text(name)} takes one column{unless}.")


def given(**options: Any) -> dict[str, Any]:
    """Leave out unset options, so that the accumulator's defaults apply."""
    return {name: value for name, value in options.items() if value is not None}


def maker(
    options: Options,
    accumulator: type[Accumulator[Any, Any]],
    make: Callable[..., Any] | None = None,
    /,
    **read: Any,
) -> Callable[[], Any]:
    """Return what makes accumulators; mistakes in the options are reported before rows are read.

    Parameters
    ----------
    options : Options
        Those that the user set, and that the accumulator has, are passed on.
    accumulator : class
    make : callable, optional
        What makes one, by default the class.
    **read
        The options that depend on the rows, or are read otherwise.
    """
    names = inspect.signature(accumulator).parameters
    chosen = given(**{name: getattr(options, name, None) for name in names})
    if chosen.get("budget") == "none":
        chosen["budget"] = None
    empty = (make or accumulator)(**chosen | read)
    return empty.copy


def weight_columns(options: Options, rows: Sequence[RawRow]) -> list[Argument]:
    """Read the weights, if any; the first rows must have them."""
    if options.sample_weight is None:
        return []
    check_columns([options.sample_weight], rows)
    return [Argument("sample_weight", (options.sample_weight,), Numbers())]


def listed_classes(typed: tuple[str, ...]) -> tuple[int, ...] | tuple[str, ...]:
    """Read typed labels: integers if all of them look like integers."""
    labels = tuple(map(integer_or_text, typed))
    integers = tuple(label for label in labels if isinstance(label, int))
    return integers if len(integers) == len(labels) else typed


def with_names(options: Options, classes: Any) -> Any:
    """Add the typed names to the classes of a configuration.

    Raises
    ------
    UsageError
        If the labels are numbers out of order: scores would be assigned to the wrong classes.
    """
    if not isinstance(options.classes, dict):
        return classes
    if isinstance(classes[0], int) and list(classes) != sorted(classes):
        raise UsageError(
            "--classes with names lists numbers in ascending order, as in 0=neg,1=pos."
        )
    return dict(zip(classes, options.classes.values(), strict=True))


def typed_label(options: Options, text: str | None) -> str | None:
    """Replace a name given in --classes by its label; return any other text unchanged."""
    typed = options.classes
    if not isinstance(typed, dict) or text in typed:
        return text
    return next((label for label, name in typed.items() if name == text), text)


def score_classes(options: Options, layout: TaskColumns) -> Any:
    """Choose the classes of scores: the typed ones, or the classes of the first row.

    Returns
    -------
    int, tuple of int, tuple of str, or None for one score a row

    Raises
    ------
    UsageError
        If the first row's list is too short for several classes.
    """
    if isinstance(options.classes, tuple | dict):
        return listed_classes(tuple(options.classes))
    if isinstance(options.classes, int):
        return options.classes
    named = layout.named_classes(layout.prediction)
    if named is not None:
        return named
    width = layout.width(layout.prediction)
    if width is not None and width < (1 if layout.multilabel else 2):
        raise UsageError(
            f"`{layout.prediction[0]}` holds a list of {width}; a score is a number, or a list "
            f"of one for each of several classes.{_first_of(layout)}"
        )
    return width


def _first_of(layout: TaskColumns) -> str:
    """Name the items of columns that hold lists of one."""
    columns = {"--y-true": layout.label[0], "--y-score": layout.prediction[0]}
    named = [
        f"{option} {shlex.quote(f'{name}.0')}"
        for option, name in columns.items()
        if isinstance(found := layout.row[name], list) and len(found) == 1
    ]
    return f" Use `{' '.join(named)}`." if named else ""


def note_of_classes(options: Options, classes: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Say how many classes were taken from the first row, if they were."""
    if options.classes not in (None, "auto") or classes in (None, "auto"):
        return ()
    name = ",".join(names)
    listed = "" if isinstance(classes, int) else f" ({', '.join(map(str, classes))})"
    n_found = n_classes(classes)
    return (f"took {n_found} classes{listed} from the first `{name}`; --classes sets them.",)


def odd_findings(result: Any, options: Options) -> list[str]:
    """Say what is odd about a result: scores that fall for the positive label, and classes."""
    leaves = result.leaves().values()
    areas = (one.read("roc_auc") for one in leaves if getattr(one, "roc_auc", _HALF) < _HALF)
    said = [_FLIPPED for area in areas if area.sampling and area.sampling[1] < _HALF]
    return said if options.classes is not None else said + _odd_classes(leaves, options)


def _odd_classes(leaves: Iterable[Any], options: Options) -> list[str]:
    """Name observed classes that may be ids, another one, a missing value or the header again."""
    of_labels = [one for one in leaves if hasattr(type(one), "labels")]
    found = chain.from_iterable(one.labels for one in of_labels)
    texts = [name for name in dict.fromkeys(found) if isinstance(name, str)]
    column = options.column("y_true")
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(text.strip().casefold(), []).append(text)
    said = [
        f"the classes {' and '.join(map(shown, group))} differ only in case or spaces."
        for group in alike.values()
        if len(group) > 1
    ]
    n_rows, n_found = max(((one.n, len(one.labels)) for one in of_labels), default=(0, 0))
    if n_found > max(_FEW_CLASSES, n_rows / 2):
        said.append(f"{n_found:,} classes in {n_rows:,} rows may be ids; is `{column}` the truth?")
    if not said and any(map(_are_named_differently, of_labels)):
        predicted = options.column("y_pred")
        said.append(f"no row is right; does `{predicted}` name the classes as `{column}` does?")
    odd = [text for text in texts if is_gap(text) or text in ("nan", "NaN", column)]
    if odd:
        left_out = shlex.quote(f"{column}!={','.join(odd)}")
        names = ", ".join(map(shown, odd))
        said.append(f"the classes include {names}; --where {left_out} leaves these rows out.")
    return said


def _are_named_differently(result: Any) -> bool:
    """Tell whether no row is right because each class is only in the truth, or only predicted."""
    if getattr(result, "accuracy", 1) or len(result.labels) < 4:
        return False
    found = (one(average=None, zero_division=math.nan) for one in (result.recall, result.precision))
    return bool(np.isnan(sum(found)).all())


def n_classes(classes: Any) -> int:
    """Return the number of classes in a fixed set."""
    return classes if isinstance(classes, int) else len(classes)


def read_label(options: Options, name: str, *, integers: bool) -> int | str | None:
    """Read an option that is a label, or its name, in the way the labels of the file are read."""
    text = typed_label(options, getattr(options, name))
    label = integer_or_text(text) if text is not None and integers else text
    if integers and isinstance(label, str):
        raise UsageError(f"{option_text(name)} must be an integer as the labels are, got {text!r}.")
    return label


def check_positive(options: Options, layout: TaskColumns) -> None:
    """Raise UsageError for a positive label that the first rows write in another case."""
    typed = options.pos_label
    if typed is None or typed in layout.texts:
        return
    alike = (text for text in layout.texts if text.strip().casefold() == typed.strip().casefold())
    found = next(alike, None)
    if found is not None:
        raise UsageError(
            f"--pos-label: none of the first rows has the label {typed!r}; did you mean {found!r}?"
        )


def label_type(layout: TaskColumns, names: tuple[str, ...], classes: Any) -> FieldType:
    """Read labels, or for multilabel a 0 or 1 for each class."""
    if layout.multilabel:
        return vector_type(layout, names, classes, integers=True)
    label = layout.first_label
    if isinstance(label, list):
        raise UsageError(
            f"`{layout.label[0]}` holds lists; pass --multilabel if they are 0 and 1, which "
            "MultiLabelBinarizer of scikit-learn makes of names; of shown items, --task ranking "
            f"reads them with --relevance {shlex.quote(layout.label[0])}{_one_by_one(layout)}."
        )
    is_true = any(says_truth(layout.row[name]) for name in (*layout.label, *layout.prediction))
    reads = "--classes 2 reads true as 1," if is_true else "--y-score reads scores,"
    field_type = class_label_type(classes, label, _AS_THE_FIRST.format(reads))
    if (
        classes != "auto"
        and field_type == Labels(integers=True)
        and not (has_integer_labels("auto", label) or is_integer_text(label))
    ):
        is_of_two = n_classes(classes) == 2 and layout.width(layout.prediction) is None
        advice = (
            f"with --classes, the positive one last, such as {layout.classes_to_type()}."
            if is_of_two
            else "with --classes a,b,..."
        )
        raise UsageError(
            f"`{layout.label[0]}` holds text, {as_text(label)!r}, but the classes are numbers; "
            f"list the labels {advice}"
        )
    return field_type


def _one_by_one(layout: TaskColumns) -> str:
    """Name the command that makes a row of each item, if there is a list of scores beside it."""
    truth, score = layout.label[0], layout.prediction[0]
    if not (layout.of_scores and isinstance(layout.row[score], list)):
        return ""
    items = f"[{jq_path(truth)}, {jq_path(score)}] | transpose[] | {{y_true: .[0], y_score: .[1]}}"
    return f"; jq -c {shlex.quote(items)} FILE > rows.jsonl makes a row of each"


def presence_type(layout: TaskColumns, advice: str) -> FieldType:
    """Read labels 0 and 1 for rows with one score.

    Raises
    ------
    UsageError
        If the first label is neither; the message ends with the advice.
    """
    name = layout.label[0]
    label = layout.row[name]
    if isinstance(label, list):
        raise UsageError(
            f"`{name}` holds lists, but there is one score per row{_one_by_one(layout)}."
        )
    if says_yes(label):
        return Flags()
    if not (has_integer_labels("auto", label) or is_integer_text(label)):
        raise UsageError(f"`{name}` holds text, {as_text(label)!r}; {advice}.")
    return Labels(integers=True)


def vector_type(
    layout: TaskColumns, names: tuple[str, ...], classes: Any, *, integers: bool
) -> FieldType:
    """Read a value for each class, from one column of lists or one column for each."""
    wanted, width = n_classes(classes), layout.width(names)
    items = _listed(layout.row[names[0]]) if integers else []
    if items and not any(map(is_integer_text, items)):
        raise UsageError(
            f"`{names[0]}` holds lists of names, and --multilabel reads 0 and 1, which "
            "MultiLabelBinarizer of scikit-learn makes of them."
        )
    if width != wanted:
        found = "one value" if width is None else f"{width} values"
        raise UsageError(
            f"`{','.join(names)}` holds {found} a row, but there are {wanted} classes."
        )
    named = None if integers or len(names) > 1 else layout.class_names(names)
    if named is not None:
        labels = range(classes) if isinstance(classes, int) else classes
        in_file = {class_number(name): name for name in named}
        return ScoresByClass(tuple(in_file.get(label, str(label)) for label in labels))
    if len(names) == 1:
        return Vectors(wanted, integers)
    return Labels(integers=True) if integers else Numbers()


def ignored_label(options: Options, truth: FieldType) -> int | str | None:
    """Read the label to leave out in the way the labels of the file are read."""
    return read_label(options, "ignore_label", integers=getattr(truth, "integers", True))
