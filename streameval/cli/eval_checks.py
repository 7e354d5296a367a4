"""What `eval` reads and checks before it counts: files, options, names of metrics."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from filecmp import cmp
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.combinations import COMPARE_RUNS
from streameval.cli.errors import MissingColumnError, UsageError
from streameval.cli.options import (
    OPTIONS_OF_TASKS,
    TOGETHER,
    Options,
    option_text,
    option_words,
)
from streameval.cli.slices import check_gates, check_order
from streameval.cli.tasks.fields import check_columns
from streameval.configs.paired import ERRORS, PAIRED_MEASURES
from streameval.errors import BadDataError, UnknownMetricError
from streameval.io.errors import RepeatedQueryError, shown
from streameval.io.formats import FORMATS, format_of, read_blocks
from streameval.io.notation import Dialect, as_written, number_or_text, remedies, two_notations
from streameval.io.recognition import is_of_run
from streameval.io.streams import STANDARD_INPUT, is_read_once, name_of, reading, size_of
from streameval.results.names import owners_of
from streameval.results.result import Result
from streameval.runs.files import files_of
from streameval.runs.sources import BlockSource, RawRow, RowFiles, kept_rows, look_ahead

if TYPE_CHECKING:
    from streameval.inputs.paths import Fields
    from streameval.io.blocks import Block
    from streameval.io.row_filters import Condition


_SWAPPED = " Are the run and --qrels swapped?"
PARTIAL = "; --partial-last-line skip leaves it for next time"
_MISSING = re.compile(r": `(.+)` is missing\.(?! No row)")
_UNFIT = re.compile(r": `(?P<name>.+)` must be .*, got '?(?P<value>nan|(?P=name))'?\.$")
_HEAD_BYTES = 4096
_SENTINELS = {-999, -9999, -99999}
_READ_AS_NUMBERS = ("y_true", "y_pred", "y_score", "value", "versus")


@contextmanager
def advice_on_files(options: Options, source: BlockSource) -> Iterator[None]:
    """Say in errors about rows, and about files of the wrong sort, what to do."""
    try:
        yield
    except BadDataError as error:
        totals = source.totals().items()
        found = (left for at, left in totals if str(error).startswith(f"{at}: "))
        said = "".join(
            f" It looks like a total; use `--where {shlex.quote(one)}`." for one in found
        )
        advice = said or _advice(error, options)
        if not advice:
            raise
        raise BadDataError(f"{error.told(option_words)}{advice}") from None


@contextmanager
def naming_file(
    options: Options, rows: Sequence[Fields], blocks: Iterator[Block]
) -> Iterator[None]:
    """Name the file whose first rows lack a column, where there are several files."""
    try:
        yield
    except MissingColumnError as error:
        if len(options.files) == 1:
            raise
        where = options.row_filter
        if where is not None and not where.keeps(rows[0]):
            where = None  # the first rows of all
        source = next(one.source for one in blocks if any(True for _ in kept_rows(one, where)))
        raise UsageError(f"{source}: {error}") from None


def listed_files(given: Sequence[str]) -> tuple[str, ...]:
    """List the files, and the files in folders and matching patterns."""
    found = ([(name, None)] if name == STANDARD_INPUT else files_of(name) for name in given)
    return tuple(file for files in found for file, _ in files)


def source_of(options: Options) -> BlockSource:
    """Choose by the options how files are read.

    Raises
    ------
    UsageError
        If an option is about files of another format.
    """
    qrels = options.qrels
    if qrels is None:
        skips = options.partial_last_line == "skip"
        dialect = Dialect(**options.dialect)
        _check_dialect(options)
        reader = partial(RowFiles, skips=skips, advice=PARTIAL)
        predictions = reader(options.files, form=options.format, dialect=dialect)
        if options.labels is None:
            return predictions
        known = format_of(options.labels[0])
        fits = known is None or FORMATS[known].refused(dialect) is None
        form = options.format if known is None else None
        labels = reader(options.labels, form=form, dialect=dialect if fits else Dialect())
        return _labelled(options, predictions, labels)
    read: list[tuple[str, str | None]] = [("the run", name) for name in options.files]
    others = ("qrels", "sample_weight", "queries")
    read += [(f"its {option_text(name)}", getattr(options, name)) for name in others]
    once = [what for what, name in read if name == STANDARD_INPUT]
    if len({*once}) > 1:
        raise UsageError(f"standard input cannot be {' and '.join(dict.fromkeys(once))}.")
    from streameval.cli.tasks.ranking import read_query_weights  # noqa: PLC0415 (of TREC files)
    from streameval.io.trec import iter_run  # noqa: PLC0415 (of TREC files)
    from streameval.runs.judged_runs import JudgedRuns, read_queries  # noqa: PLC0415 (of TREC files)

    weights, table = options.sample_weight, options.queries
    try:
        return JudgedRuns(
            options.files,
            qrels,
            count_missing=options.count_missing is None,
            max_documents=options.max_docs,
            weights=None if weights is None else read_query_weights(weights),
            table=None if table is None else read_queries(table, options.column("query")),
        )
    except BadDataError as error:
        if _can_read(iter_run, qrels):
            raise BadDataError(f"{error}{_SWAPPED}") from None
        raise


def with_labels(options: Options) -> Options:
    """Name the truth as a column of labels, if these are in files of their own.

    Raises
    ------
    UsageError
        If the options do not fit.
    """
    if options.labels is None:
        return options
    if options.key is None:
        raise UsageError("--labels needs --key, the column of ids in both files.")
    check_can_be_read_twice(options.labels, "labels are looked at before they are joined")
    from streameval.runs.labelled import PREFIX  # noqa: PLC0415 (of --labels)

    truth = tuple(f"{PREFIX}{name.removeprefix(PREFIX)}" for name in options.columns("y_true"))
    return attrs.evolve(options, labels=listed_files(options.labels), y_true=truth)


def _labelled(options: Options, predictions: RowFiles, files: RowFiles) -> BlockSource:
    """Join predictions and labels.

    Raises
    ------
    UsageError
        If the labels lack a column.
    BadDataError
        If there are none.
    """
    from streameval.runs.labelled import PREFIX, LabelledFiles, LabelsById  # noqa: PLC0415 (of --labels)

    truth = [name.removeprefix(PREFIX) for name in options.y_true or ()]
    file = (options.labels or ("",))[0]
    labels = LabelsById(files, str(options.key), truth, _GAPS if gaps_of(options) else ("",))
    if not labels.first:
        raise BadDataError(f"{name_of(file)}: holds no labels.")
    try:
        check_columns([labels.key, *truth], labels.first)
    except UsageError as error:
        raise UsageError(f"{name_of(file)}: {error}") from None
    return LabelledFiles(predictions, labels)


def _advice(error: BadDataError, options: Options) -> str:
    """Say what to do about files of the wrong sort; empty if nothing points to it."""
    if isinstance(error, RepeatedQueryError) and options.task == "ranking" and not options.compare:
        return COMPARE_RUNS
    if options.qrels is None:
        text, missing = str(error), _MISSING.search(str(error))
        if any(text.startswith(f"{name_of(file)}, ") for file in options.labels or ()):
            return ""
        if said := _of_two_notations(text, options):
            return said
        needed = _remedies(text, options)
        if missing and options.task != "ranking":
            needed = needed or [f"--where {shlex.quote(f'{missing[1]}!=')}"]
        elif "got nan" in text and options.task == "regression":
            needed = needed or ["--nan skip"]
        elif unfit := _UNFIT.search(text):  # NaN, or the header again
            left_out = f"{unfit['name']}!={unfit['value']}"
            needed = needed or [f"--where {shlex.quote(left_out)}"]
        is_news = any(option not in text for option in needed)
        return f" Use `{' '.join(needed)}`." if is_news else ""
    from streameval.io.trec import read_qrels  # noqa: PLC0415 (of TREC files)

    return _SWAPPED if any(_can_read(read_qrels, file) for file in options.files) else ""


def _first_blocks(text: str, options: Options) -> list[Any]:
    """Read the first one or two blocks of the file of text that an error names."""
    file = next((file for file in options.files if text.startswith(f"{name_of(file)}, ")), None)
    form = None if file is None else options.format or format_of(file)
    if file is None or is_read_once(file) or (form and FORMATS[form].layout is None):
        return []
    encoding = {"encoding": "cp1252"} if _needs_encoding(text, options) else {}
    try:
        blocks = read_blocks(file, form, dialect=Dialect(**{**options.dialect, **encoding}))
        found = list(islice(blocks, 2))
    except BadDataError:
        return []
    return found if all(hasattr(block, "cells") for block in found) else []


def _needs_encoding(text: str, options: Options) -> bool:
    return "--encoding names" in text and options.encoding is None


def _of_two_notations(text: str, options: Options) -> str:
    """Name two rows of a column with an error that no option reads both; empty if one does."""
    names = [
        name
        for name in chain(*map(options.columns, _READ_AS_NUMBERS))
        if f"`{name}` must be" in text
    ]
    for block in _first_blocks(text, options)[:1]:
        for name, cells in as_written(block).cells(names).items():
            if rows := two_notations(cells):
                one, other = (f"{block.unit} {row} has {shown(cells[row])}" for row in rows)
                return f" `{name}` mixes two notations: {one}, and {other}; no option reads both."
    return ""


def _remedies(text: str, options: Options) -> list[str]:
    """List the options that read the first rows of the file of text that an error names."""
    block, *others = _first_blocks(text, options) or [None]
    if block is None:
        return []
    columns = {name: options.columns(name) for name in _READ_AS_NUMBERS}
    names = [*chain.from_iterable(columns.values()), options.time or ""]
    takes_gaps = options.task in OPTIONS_OF_TASKS["nan"]
    skipped = [name for name in columns if name != "y_true" or options.task == "regression"]
    gaps = [one for name in skipped for one in columns[name]] if takes_gaps else []
    values = {name: cells.values() for name, cells in block.cells(names).items()}
    mends = remedies(values, gaps, block.layout.notation.decimal)
    if "is missing" not in text and all(one.startswith(("--nan", "--where")) for one in mends):
        mends = []  # other rows have gaps
    needed = [*["--encoding cp1252"] * _needs_encoding(text, options), *mends]
    is_whole = bool(needed) and not others and hasattr(block, "total")
    if is_whole and (total := block.total(block)) is not None:
        _, row, name = total
        left_out = f"{name}!={'' if row[name] is None else row[name]}"
        needed.append(f"--where {shlex.quote(left_out)}")
    return [option for option in needed if option != "--nan skip" or options.nan is None]


def refuse_run(row: RawRow) -> None:
    """Raise UsageError if a TREC run was mistaken for a table, whose header is its first line."""
    if (len(row) == 1 or "Q0" in row) and is_of_run(" ".join(row)):
        raise UsageError("the file looks like a TREC run; pass its judgements with --qrels.")


def with_advice_to_join(error: UsageError, options: Options, row: RawRow) -> UsageError:
    """Name the option that joins two files, if they share a column and may belong together."""
    if len(options.files) != 2 or any(map(is_read_once, options.files)):
        return error
    of_second = RowFiles(options.files[1:], options.format, dialect=Dialect(**options.dialect))
    try:
        rows, _ = look_ahead(of_second.blocks())
    except BadDataError:
        return error
    shared = [name for name in row if rows and name in rows[0]]
    ids = [name for name in shared if len({str(one.get(name)) for one in rows}) == len(rows)]
    if not ids:
        return error
    truth = options.columns("y_true")
    has_truth = all(name in row and name not in rows[0] for name in truth)
    labels, others = map(shlex.quote, options.files if has_truth else reversed(options.files))
    command = f"streameval eval {others} --labels {labels} --key {shlex.quote(ids[0])}"
    return type(error)(f"{error} If {labels} holds the labels, `{command}` joins them.")


def _can_read(read: Callable[[str], Iterable[Any]], file: str) -> bool:
    """Tell whether a file has rows that a reader can read, at least the first ones."""
    if is_read_once(file):
        return False
    try:
        return next(iter(read(file)), None) is not None
    except BadDataError:
        return False


def _check_dialect(options: Options) -> None:
    """Raise UsageError if the format and the delimiter contradict each other."""
    if options.format == "tsv" and options.delimiter not in (None, "\t"):
        raise UsageError(
            "--delimiter cannot be used with --format tsv, whose delimiter is the tab."
        )


def check_can_be_read_twice(files: Iterable[str], why: str) -> None:
    """Raise UsageError if a file, such as a pipe, can be read only once."""
    for file in files:
        if is_read_once(file):
            raise UsageError(f"{name_of(file)} can be read only once, and {why}.")


def filters(options: Options) -> str:
    """Name the options that leave rows out."""
    n_typed = len(options.where) - len(gaps_of(options))
    names = ["--where"] * bool(n_typed) + ["--nan skip"] * (n_typed < len(options.where))
    return " and ".join(names)


def named_twice(options: Options) -> list[str]:
    """List the files that are given twice, even under two names."""
    paths = list(map(os.path.realpath, options.files))
    return [name for at, name in enumerate(options.files) if paths[at] in paths[:at]]


def copies(files: Sequence[str]) -> list[tuple[str, str]]:
    """List the files that hold the same bytes as one before them, each with that one."""
    sizes = {file: 0 if is_read_once(file) else size_of(file) or 0 for file in files}
    n_of_size = Counter(sizes.values())
    first: dict[tuple[int, bytes], list[str]] = {}
    found = []
    for file in (file for file, size in sizes.items() if size and n_of_size[size] > 1):
        with reading(file), Path(file).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        others = first.setdefault((sizes[file], head), [])
        one = next((one for one in others if cmp(one, file, shallow=False)), None)
        if one is None:
            others.append(file)
        elif not Path(one).samefile(file):
            found.append((file, one))
    return found


def sentinels(options: Options, rows: Sequence[RawRow]) -> list[str]:
    """Say which numbers of the first rows usually stand where there is none."""
    named = chain.from_iterable(map(options.columns, _READ_AS_NUMBERS))
    ignored = number_or_text(str(options.ignore_label))
    said = []
    for name in dict.fromkeys(named):
        values = {value for row in rows if isinstance(value := row.get(name), int | float)}
        for number in sorted(values & _SENTINELS - {ignored}):
            left_out = shlex.quote(f"{name}!={number:g}")
            said.append(f"`{name}` has {number:g}; if it means none, --where {left_out}.")
    return said


def no_rows(options: Options, left: Iterable[str]) -> BadDataError:
    """Return the error of files without rows to count."""
    names = ", ".join(map(name_of, options.files[:3]))
    more = ", ..." if len(options.files) > 3 else ""
    which = " with a label" if options.labels else ""
    which += f" that match {filters(options)}" if options.where else ""
    return BadDataError(" ".join([f"{names}{more}: holds no rows{which}.", *left]))


def total_size(files: tuple[str, ...]) -> int | None:
    """Return the bytes to read, or None if they are not known."""
    sizes = list(map(size_of, files))
    return None if None in sizes else sum(size or 0 for size in sizes)


def check_output(options: Options) -> None:
    """Find out before the work whether the state, or the folder of states, can be put there."""
    if options.output is None:
        return
    from streameval.cli.states import check_folder, check_state_output  # noqa: PLC0415 (of -o)

    if options.by is not None and options.time is None:
        check_folder(options.output)
        return
    inputs = (*options.files, *(options.labels or ()))
    inputs += () if options.qrels is None else (options.qrels,)
    check_state_output(options.output, inputs)


def check_metrics(result: Result, task: str, options: Options) -> None:
    """Catch a typo in a metric name before hours of reading."""
    reporting = options.reporting
    for metric in (*reporting.metrics, *(gate.metric for gate in reporting.gates)):
        try:
            result.check(metric)
        except UnknownMetricError as error:
            name = metric.name
            is_paired = task == "paired"
            advice = _measure_to_add(name, options) if is_paired else _task_to_run(task, name)
            if not advice:
                raise
            raise UsageError(f"{error.told(option_words)} {advice}") from None
    is_each = options.by is not None and options.by.is_each
    check_gates(reporting.gates, result, has_slices=options.by is not None, is_each=is_each)
    check_order(result, reporting, is_each=is_each)


def _measure_to_add(name: str, options: Options) -> str:
    """Say which measure has a metric of two models; empty if none has."""
    base = re.sub("_(a|b|difference|pvalue)$", "", name)
    measured = options.measures or ()
    known = ERRORS if options.task == "regression" else PAIRED_MEASURES
    if base not in known or base in measured:
        return ""
    return f"Add --measures {','.join((*measured, base))}."


def _task_to_run(task: str, name: str) -> str:
    """Say which other task has a metric, since a command has one; empty if none has."""
    counted = task.split(",")
    tasks = dict.fromkeys(table.task for table, _ in owners_of(name) if table.is_task)
    if not tasks or not tasks.keys().isdisjoint(counted):
        return ""
    more = [other for other in tasks if other in TOGETHER]
    if more and set(counted) <= {*TOGETHER}:
        return f"For {name} as well, use --task {task},{more[0]}."
    asked = " or ".join(f"--task {other}" for other in tasks)
    return f"For {name}, run a second command with {asked}."


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

    columns = (*options.columns("y_true"), *options.columns("y_pred"))
    return tuple(Condition(column, "!=", _GAPS) for column in columns)
