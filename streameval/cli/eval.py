"""`streameval eval`: files in, a report and a state out."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import PurePath
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Self, TextIO, TypeVar

import attrs

from streameval.cli.argument_values import EVERY
from streameval.cli.errors import GATE_FAILED, OK, UsageError
from streameval.cli.gates import judge
from streameval.cli.options import (
    DIALECT,
    OPTIONS_OF_TASKS,
    TOGETHER,
    option_text,
    option_words,
    refuse,
)
from streameval.cli.outcome import Findings, evidence_of, laid_out, reported
from streameval.cli.slices import (
    check_gates,
    check_order,
    refuse_order,
    slice_entries,
    slice_name,
    slice_names,
)
from streameval.cli.tasks import COMPARE_RUNS, named_by_task, plan_of, task_asked_for
from streameval.cli.tasks.clusters import check_clusters, clustered, dependence
from streameval.cli.tasks.columns import (
    NO_COLUMNS,
    check_columns,
    check_one_column,
    check_query_columns,
)
from streameval.cli.tasks.every_column import every_column
from streameval.cli.tasks.numbers import gaps_of, skipping_gaps
from streameval.cli.tasks.windows import check_windows, windowed
from streameval.cli.terminal import CommandOutput, Note, ProgressLine, is_live
from streameval.configs.paired import ERRORS, MAX_MODELS, PAIRED_MEASURES
from streameval.errors import BadDataError, InvalidInputError, UnknownMetricError
from streameval.io.errors import RepeatedQueryError, ScatteredQueryError
from streameval.io.formats import read_blocks
from streameval.io.notation import Dialect
from streameval.io.recognition import is_of_run
from streameval.io.streams import (
    STANDARD_INPUT,
    format_of,
    is_read_once,
    name_of,
    size_of,
    writing_temporary_file,
)
from streameval.render.sheets import Section
from streameval.render.text import json_line, listed_few, plural
from streameval.results.reading import owners_of
from streameval.runs.counter import Gathered
from streameval.runs.files import files_of
from streameval.runs.processes import Team, n_cpus
from streameval.runs.sources import RowFiles, look_ahead
from streameval.runs.totals import RunTotal
from streameval.runs.workers import count_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from streameval.cli.argument_values import By
    from streameval.cli.options import Options, Reporting
    from streameval.io.blocks import Block
    from streameval.results.models import ModelComparison
    from streameval.results.windowed import WindowedResult
    from streameval.runs.counting import Plan
    from streameval.runs.slices import SizeLimit, Slices
    from streameval.runs.sources import BlockSource, RawRow
    from streameval.runs.totals import BadRows

CountedT = TypeVar("CountedT")

_TOP = 20
_LEVEL = 0.95  # of tests, where no interval is shown
_SWAPPED = " Are the run and --qrels swapped?"
_MAX_BYTES = 256 * 10**6  # for the states of all values, unless the values are named
_PARTIAL = "; --partial-last-line skip leaves it for next time"
_MISSING = re.compile(r": `(.+)` is missing\.(?! No row)")
_READ_AS_NUMBERS = ("y_true", "y_pred", "y_score", "value", "versus")
_WHERE = "use --where COLUMN=VALUE to compare the queries of one value"
_EACH_RUN = "give it to a command for each run"
_NOT_COMPARED = {
    "time": _WHERE,
    "output": "a comparison has no state: keep its numbers with --json, or save the state of each "
    "run with a command of its own",
    "per_query": _EACH_RUN,
    "trec": _EACH_RUN,
    "sample_weight": "its tests count each query once",
}
"""Why options cannot be used with a comparison of runs, or what to do instead."""
_NOT_OF_RUNS = {
    "TREC files have no header": (
        *("relevance", "y_score", "rank", "doc", "retrieved", "num_relevant"),
    ),
    "both are TREC files": ("format", *DIALECT),
    "a run is read to its end": ("partial_last_line",),
    NO_COLUMNS: ("where",),
    "every row of a run must be valid": ("max_bad",),
}
"""Why options cannot be used with TREC files."""


def evaluate(options: Options) -> CommandOutput:
    """Count the rows of all files, save the state if asked to, and report.

    Raises
    ------
    StreamevalError
        For the reasons that `exit_code` distinguishes.
    """
    if options.qrels is None:
        files: Any = _files(options.files)
        options = attrs.evolve(options, files=files)
    task = task_asked_for(options)
    options = skipping_gaps(named_by_task(options))
    _check_by(options)
    check_windows(options)
    check_clusters(options)
    _check_output(options)
    n_jobs = n_cpus() if options.jobs == "auto" else options.jobs
    if options.compare or (options.versus is not None and task == "ranking"):
        systems = _systems(options)
        with Team(n_jobs - 1) as team:
            team.start_for(_total_size(_json_lines(options)))
            return _compared(options, systems, team)
    with closing(_source(options)) as source, Team(n_jobs - 1) as team, _advice(options):
        team.start_for(_total_size(_json_lines(options)))
        return _gathered_if_scattered(source, lambda: _evaluated(task, source, options, team))


@contextmanager
def _advice(options: Options) -> Iterator[None]:
    """Say in errors about files of the wrong sort what to do."""
    try:
        yield
    except BadDataError as error:
        advice = _advice_on_files(error, options)
        if not advice:
            raise
        raise BadDataError(f"{error.told(option_words)}{advice}") from None


def _gathered_if_scattered(source: BlockSource, count: Callable[[], CountedT]) -> CountedT:
    """Count again, file by file, if the rows of a query are not together."""
    try:
        return count()
    except ScatteredQueryError:
        source.gather()
        return count()


def _planned_ahead(
    task: str, source: BlockSource, options: Options
) -> tuple[Sequence[RawRow], Iterator[Block], Plan]:
    """Return the first rows, all blocks, and the plan to count them."""
    rows, blocks = look_ahead(
        source.blocks(), options.max_bad, advice=_PARTIAL, where=options.row_filter
    )
    if rows:
        check_columns([condition.column for condition in options.where], rows)
    else:
        raise _no_rows(options, source.left())
    plan = attrs.evolve(_planned(task, options, rows), words=option_words, advice=_PARTIAL)
    return rows, blocks, plan


def _evaluated(task: str, source: BlockSource, options: Options, team: Team) -> CommandOutput:
    if task == "preferences" and options.models is None:
        options = _with_models(source, options, team)
    rows, blocks, plan = _planned_ahead(task, source, options)
    warned, blocks = dependence(options, rows, blocks)
    plan = attrs.evolve(plan, notes=(*plan.notes, *warned))
    _check_metrics(plan, task, options)
    counting = _split(plan, options, rows)
    with suppress(UnknownMetricError):  # a metric of a class that no row has yet
        evidence_of(_of_rows(counting.make(), counting), options.reporting)
    with Spool() as spool:
        try:
            tally = _tallied(blocks, counting, options, team, spool, _limit(counting, options))
        except _TooManyStates:
            counting = _of_most_frequent(plan, options, source, team)
            tally = _tallied(source.blocks(), counting, options, team)
        team.end()  # their memory is free for the report
        held = _whole(tally, counting)
        _check_any_good(tally, source, options)
        total, slices = _separated(held, options)
        remarks = (
            *(*counting.notes, *_columns_left(held, options), *_choice(slices)),
            *_zones(tally, options),
            *(*source.left(), *source.remarks()),
        )
        for accumulator in (total, *(slices or ())):
            for text in counting.finish(accumulator):
                spool.write(text)
        result, by_value, windows = _computed(total, slices, options)
        left = [Note("warning", text) for text in _save(total, slices, options.output)]
        heading, origin, notes = _what_was_read(tally, remarks, options)
        found = Findings(
            result=result,
            heading=heading,
            origin=origin | source.origin(),
            notes=(*notes, *left),
            write=plan.text,
            slices=by_value,
            windows=windows,
            evidence=evidence_of(total, options.reporting),
        )
        outcome = reported(found, options.reporting)
    return attrs.evolve(outcome, before=spool.read())


def _systems(options: Options) -> dict[str, Options]:
    """List the systems to compare, the columns of --versus or the files, with their options.

    Raises
    ------
    UsageError
        If they cannot be compared, or an option asks for anything else.
    """
    reporting, asked = options.reporting, "--compare" if options.compare else "--versus"
    for name, why in _NOT_COMPARED.items():
        refuse(options, [name], f"cannot be used with {asked}: {why}")
    if reporting.metrics:
        raise UsageError(f"--metrics cannot be used with {asked}: --measures chooses.")
    refuse_order(reporting, f"cannot be used with {asked}.")
    for gate in reporting.gates:
        if gate.over:
            raise UsageError(f"{gate.text!r} compares slices, and gates of {asked} do not.")
    if options.compare:
        refuse(options, ["versus"], "cannot be used with --compare, which compares files")
        systems = _of_files(options)
    else:
        systems = _of_columns(options)
    if not 2 <= len(systems) <= MAX_MODELS:
        what = "files, each of them the run of a system" if options.compare else "systems"
        raise UsageError(f"{asked} needs from 2 to {MAX_MODELS} {what}, got {len(systems)}.")
    return systems


def _of_files(options: Options) -> dict[str, Options]:
    """List the files, each of which is the run of a system."""
    twice = _twice(options)
    if twice:
        raise UsageError(
            f"{twice[0]} is named more than once, and --compare needs different files."
        )
    names = _short(options.files)
    return {
        name: attrs.evolve(options, files=(file,))
        for name, file in zip(names, options.files, strict=True)
    }


def _of_columns(options: Options) -> dict[str, Options]:
    """List the columns of scores, or of ranks, for each of which the files are read."""
    from streameval.cli.tasks.paired import others_of  # noqa: PLC0415 (of models)

    if options.qrels is not None:
        raise UsageError(f"--versus names columns of scores, and a run has one.{COMPARE_RUNS}")
    check_one_column(options, "y_score")
    option = "y_score" if options.rank is None else "rank"
    first = (options.rank,) if options.rank is not None else options.y_score or ("score",)
    columns = [first, *others_of(options, first, option)]
    _check_can_be_read_twice(options.files, "each column of scores needs a reading")
    alone = attrs.evolve(options, versus=None, compare=True)
    if option == "rank":
        return {name: attrs.evolve(alone, rank=name) for (name,) in columns}
    return {name: attrs.evolve(alone, y_score=(name,)) for (name,) in columns}


def _compared(options: Options, systems: Mapping[str, Options], team: Team) -> CommandOutput:
    """Count each system, and compare them."""
    results, by_value, notes = [], [], []
    for own in systems.values():
        result, slices, said = _system(own, team)
        results.append(result)
        by_value.append(slices)
        notes += [one for one in said if one not in notes]
    reporting = options.reporting
    level = reporting.level or _LEVEL
    comparison = _comparison(systems, results, level)
    left_out = [name for name in results[0] if name not in comparison]
    if left_out:
        why = "left out, because means over queries are compared"
        notes.append(Note("note", f"{', '.join(left_out)}: {why}."))
    slices, said = _compared_slices(systems, by_value, level)
    verdicts = [*_verdicts(comparison, reporting)]
    code = OK if all(one.category == "passed" for one in verdicts) else GATE_FAILED
    notes += [*said, *verdicts]
    if reporting.json:
        entries = {
            "task": "ranking",
            "files": list(options.files),
            **({} if options.qrels is None else {"qrels": options.qrels}),
            **results[0]._of_clusters,
            **_compared_entries(comparison),
            "level": level,
            **({} if slices is None else slice_entries(slices, _compared_entries)),
        }
        return CommandOutput(json_line(entries), tuple(notes), code, is_data=True)
    has_intervals = reporting.level > 0
    sheet = comparison.sheet(has_intervals=has_intervals)
    if slices is not None:
        names = [slice_name(slices, value) for value in slices.by_value]
        names += [] if slices.other is None else ["(other)"]
        sections = (one.sheet(has_intervals=has_intervals)[:-1] for one in slices)
        *before, remark = sheet
        sheet = [*before, *map(Section, names, sections), remark]
    text = laid_out(sheet, is_markdown=reporting.markdown)
    return CommandOutput(text, tuple(notes), code, is_data=reporting.markdown)


def _compared_entries(comparison: ModelComparison) -> dict[str, Any]:
    """Return the entries of the JSON object about a comparison."""
    sizes = {"n_queries": comparison.n, "n_left_out": comparison.n_left_out}
    return {**sizes, "comparison": comparison.as_dict()}


def _comparison(
    systems: Mapping[str, Options], results: Sequence[Any], level: float
) -> ModelComparison:
    """Compare results; errors name the systems."""
    from streameval.results.comparison import argument_of, compare  # noqa: PLC0415 (of rankings)

    try:
        return compare(*results, names=list(systems), level=level)
    except InvalidInputError as error:
        for index, name in enumerate(systems):
            error = error.renamed(argument_of(index), name)
        raise error from None


def _compared_slices(
    systems: Mapping[str, Options], by_value: Sequence[Slices | None], level: float
) -> tuple[Slices | None, list[Note]]:
    """Compare each slice of the first system with those of the others, if queries are in all."""
    first = by_value[0]
    if first is None:
        return None, []
    every: list[Any] = [*by_value]
    compared, apart = {}, []
    for value in first.by_value:
        held = [one.by_value.get(value) for one in every]
        if all(one is not None and len(one.per_query()["query"]) for one in held):
            compared[value] = _comparison(systems, held, level)
        else:
            apart.append(value)
    rest = [one.other for one in every]
    other = None if None in rest else _comparison(systems, rest, level)
    text = f"{slice_names(first, apart)}: not compared, because not all systems have queries."
    notes = [Note("note", text)] if apart else []
    return attrs.evolve(first, by_value=compared, other=other), notes


def _verdicts(comparison: ModelComparison, reporting: Reporting) -> Iterator[Note]:
    """Decide the gates on values of systems, and on differences; level 0 has no intervals."""
    for gate in reporting.gates:
        reading = comparison.read(gate.metric)
        if not reporting.level:
            reading = attrs.evolve(reading, sampling=None, why_none="")
        yield judge(gate, reading)


def _system(options: Options, team: Team) -> tuple[Any, Slices | None, list[Note]]:
    """Count a system, all its queries and slices of them, and name its file in notes."""
    with closing(_source(options)) as source, _advice(options):
        total, slices, notes = _gathered_if_scattered(source, lambda: _run(source, options, team))
    file = name_of(options.files[0])
    said = (
        note.text if note.text.startswith(f"{file}:") else f"{file}: {note.text}" for note in notes
    )
    told = [attrs.evolve(note, text=text) for note, text in zip(notes, said, strict=True)]
    return total.compute(), None if slices is None else slices.computed(), told


def _run(
    source: BlockSource, options: Options, team: Team
) -> tuple[Any, Slices | None, tuple[Note, ...]]:
    rows, blocks, plan = _planned_ahead("ranking", source, options)
    counting = _split(plan, options, rows)
    tally = _tallied(blocks, counting, options, team)
    _check_any_good(tally, source, options)
    total, slices = _separated(_whole(tally, counting), options)
    for accumulator in (total, *(slices or ())):
        tuple(counting.finish(accumulator))  # counts queries, and prints nothing
    remarks = (*counting.notes, *source.left(), *source.remarks())
    *_, notes = _what_was_read(tally, remarks, options)
    return total, slices, notes


def _check_any_good(tally: RunTotal, source: BlockSource, options: Options) -> None:
    """Raise BadDataError if no row has been counted."""
    if not tally.n_good.total():
        tally.bad.refuse_all()
        raise _no_rows(options, source.left())


def _short(files: Sequence[str]) -> list[str]:
    """Name files without their folders, where they still differ."""
    names = [PurePath(name_of(file)).name for file in files]
    return names if len({*names}) == len(names) else [*map(name_of, files)]


def _planned(task: str, options: Options, rows: Sequence[RawRow]) -> Plan:
    try:
        return clustered(plan_of(task)(options, rows), options, rows)
    except UsageError:
        _refuse_run(rows[0])
        raise


def _files(given: Sequence[str]) -> tuple[str, ...]:
    """List the files, and the files in folders and matching patterns."""
    found = ([(name, None)] if name == STANDARD_INPUT else files_of(name) for name in given)
    return tuple(file for files in found for file, _ in files)


def _check_by(options: Options) -> None:
    """Raise UsageError if an option cannot be used with slices, or needs them."""
    by = options.by
    if by is None:
        refuse(options, ["top"], "needs --by")
        refuse_order(options.reporting, "needs --by.")
        return
    if by.is_each:
        refuse(options, ["top"], f"cannot be used with {_words_of_each(by)}")
        if options.task == "ranking":
            raise UsageError(f"{_words_of_each(by)} cannot be used with --task ranking.")
    if by.values is not None:
        refuse(options, ["top"], "cannot be used with --by COLUMN=A,B,C, which names the values")
    refuse(options, ["per_query", "trec"], "cannot be used with --by")
    check_query_columns(options, "--by")


def _source(options: Options) -> BlockSource:
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
        return RowFiles(
            options.files, options.format, dialect=dialect, skips=skips, advice=_PARTIAL
        )
    for why, names in _NOT_OF_RUNS.items():
        refuse(options, names, f"cannot be used with --qrels: {why}")
    read: list[tuple[str, str | None]] = [("the run", name) for name in options.files]
    others = ("qrels", "sample_weight", "queries")
    read += [(f"its {option_text(name)}", getattr(options, name)) for name in others]
    if options.queries is None:
        refuse(options, ["query"], "cannot be used with --qrels: TREC files have no header")
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
            table=None if table is None else read_queries(table, options.query or "query"),
        )
    except BadDataError as error:
        if _can_read(iter_run, qrels):
            raise BadDataError(f"{error}{_SWAPPED}") from None
        raise


def _advice_on_files(error: BadDataError, options: Options) -> str:
    """Say what to do about files of the wrong sort; empty if nothing points to it."""
    if isinstance(error, RepeatedQueryError) and options.task == "ranking" and not options.compare:
        return COMPARE_RUNS
    if options.qrels is None:
        text, missing = str(error), _MISSING.search(str(error))
        needed = _remedies(text, options)
        if missing and options.task != "ranking":
            needed = needed or [f"--where {shlex.quote(f'{missing[1]}!=')}"]
        elif "got nan" in text and options.task == "regression":
            needed = needed or ["--nan skip"]
        is_news = any(option not in text for option in needed)
        return f" Use `{' '.join(needed)}`." if is_news else ""
    from streameval.io.trec import read_qrels  # noqa: PLC0415 (of TREC files)

    return _SWAPPED if any(_can_read(read_qrels, file) for file in options.files) else ""


def _remedies(text: str, options: Options) -> list[str]:
    """List the options that read the first rows of the table of text that an error names."""
    file = next((file for file in options.files if text.startswith(f"{name_of(file)}, ")), None)
    form = None if file is None else options.format or format_of(file)
    if file is None or is_read_once(file) or form not in (None, "csv", "tsv"):
        return []
    from streameval.io.csv_rows import CsvBlock  # noqa: PLC0415 (of the format)

    is_encoded = "not UTF-8" in text and options.encoding is None
    dialect: dict[str, Any] = options.dialect | ({"encoding": "cp1252"} if is_encoded else {})
    try:
        blocks = read_blocks(file, form, dialect=Dialect(**dialect))
        block = next(blocks, None)
    except BadDataError:
        return []
    if not isinstance(block, CsvBlock):
        return []
    columns = {name: getattr(options, name) or (name,) for name in _READ_AS_NUMBERS}
    names = [*chain.from_iterable(columns.values()), options.time or ""]
    takes_gaps = options.task in OPTIONS_OF_TASKS["nan"]
    skipped = [name for name in columns if name != "y_true" or options.task == "regression"]
    gaps = [one for name in skipped for one in columns[name]] if takes_gaps else []
    needed = [*["--encoding cp1252"] * is_encoded, *block.remedies(names, gaps)]
    return [option for option in needed if option != "--nan skip" or options.nan is None]


def _refuse_run(row: RawRow) -> None:
    """Raise UsageError if a TREC run was mistaken for a table, whose header is its first line."""
    if (len(row) == 1 or "Q0" in row) and is_of_run(" ".join(row)):
        raise UsageError("the file looks like a TREC run; pass its judgements with --qrels.")


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


def _check_output(options: Options) -> None:
    """Find out before the work whether the state, or the folder of states, can be put there."""
    if options.output is None:
        return
    from streameval.cli.state_files import check_folder, check_state_output  # noqa: PLC0415 (of -o)

    if options.by is not None and options.time is None:
        check_folder(options.output)
        return
    inputs = options.files if options.qrels is None else (*options.files, options.qrels)
    check_state_output(options.output, inputs)


def _check_metrics(plan: Plan, task: str, options: Options) -> None:
    """Catch a typo in a metric name before hours of reading."""
    result, reporting = _of_rows(plan.make(), plan).compute(), options.reporting
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
    tasks = dict.fromkeys(cls.TASK for cls, _ in owners_of(name) if cls.IS_TASK)
    if not tasks or not tasks.keys().isdisjoint(counted):
        return ""
    more = [other for other in tasks if other in TOGETHER]
    if more and set(counted) <= {*TOGETHER}:
        return f"For {name} as well, use --task {task},{more[0]}."
    asked = " or ".join(f"--task {other}" for other in tasks)
    return f"For {name}, run a second command with {asked}."


class _TooManyStates(Exception):  # noqa: N818 (no error: the files are read again)
    """The states of all values of a column take more memory than they may."""


def _split(plan: Plan, options: Options, rows: Sequence[RawRow]) -> Plan:
    """Plan to count each pane of time, or each value of a column, separately."""
    if options.time is not None:
        return windowed(plan, options, rows)
    by = options.by
    if by is None:
        return plan
    from streameval.runs.each_column import rows_by_column  # noqa: PLC0415 (of --by)

    if by.columns == (EVERY,):
        columns, left_out = every_column(plan, options, rows)
        return rows_by_column(plan, columns, left_out, finds_columns=True)
    check_columns(by.columns, rows)
    if by.is_each:
        return rows_by_column(plan, by.columns, {}, finds_columns=False)
    return _by_value(plan, options, None if by.values is None else by.canonical())


def _by_value(plan: Plan, options: Options, values: tuple[Any, ...] | None) -> Plan:
    """Plan to count values; the rows of a query may span blocks, and have several values."""
    from streameval.runs.slices import parts_by_value, rows_by_value  # noqa: PLC0415 (of --by)

    by: Any = options.by
    if options.task != "ranking":
        return rows_by_value(plan, by.column, values)
    from streameval.cli.tasks.ranking import is_of_rows, whole_queries  # noqa: PLC0415 (of that task)

    if options.cluster is None or not is_of_rows(plan):
        return parts_by_value(plan, by.column, values)
    split = rows_by_value(plan, by.column, values)
    return whole_queries(split, split.make)


def _limit(plan: Plan, options: Options) -> SizeLimit | None:
    """Limit the size of the states if the user named no values; gathered rows are no states."""
    by = options.by
    if by is None or by.values is not None or options.time is not None:
        return None
    if isinstance(plan.make(), Gathered):
        return None
    from streameval.runs.slices import SizeLimit  # noqa: PLC0415 (of --by)

    return SizeLimit(_MAX_BYTES)


def _of_most_frequent(plan: Plan, options: Options, source: BlockSource, team: Team) -> Plan:
    """Find the most frequent values in a separate pass, and plan to count them."""
    from streameval.runs.slices import counting_plan  # noqa: PLC0415 (of --by)

    by: Any = options.by
    if by.is_each:
        raise UsageError(
            f"the states of all values take more than {_MAX_BYTES // 10**6:,} MB; name fewer "
            "columns with --by and --each."
        )
    _check_can_be_read_twice(
        options.files,
        f"the states of all values take more than {_MAX_BYTES // 10**6:,} MB; name those to count, "
        "as in --by COLUMN=A,B,C",
    )
    counting = attrs.evolve(counting_plan(by.column, options.max_bad), advice=_PARTIAL)
    tally = _tallied(source.blocks(), counting, options, team)
    values, is_sure = tally.total().top(options.top or _TOP)
    chosen = _by_value(plan, options, values)
    return chosen if is_sure else attrs.evolve(chosen, notes=(*plan.notes, _unsure(by.columns)))


def _must_be_chosen_now(options: Options) -> bool:
    """Return whether no second pass can count how often values occur; rows have a hash order."""
    by: Any = options.by
    counts_rows = options.task != "ranking" and not by.is_each
    return counts_rows and any(map(is_read_once, options.files))


def _check_can_be_read_twice(files: Iterable[str], why: str) -> None:
    """Raise UsageError if a file, such as a pipe, can be read only once."""
    for file in files:
        if is_read_once(file):
            raise UsageError(f"{name_of(file)} can be read only once, and {why}.")


def _with_models(source: BlockSource, options: Options, team: Team) -> Options:
    """Find the models that are compared in a separate pass, unless they are given."""
    from streameval.cli.tasks import preferences  # noqa: PLC0415 (of that task)

    _check_can_be_read_twice(
        options.files, "a first pass finds the models; name them, as in --models A,B,C"
    )
    rows, blocks = look_ahead(source.blocks(), options.max_bad, where=options.row_filter)
    if not rows:
        return options
    finding = preferences.plan_of_models(options, rows)
    finding = attrs.evolve(finding, words=option_words, advice=_PARTIAL)
    return preferences.with_models(options, _tallied(blocks, finding, options, team).total())


def _unsure(columns: tuple[str, ...]) -> str:
    names = ", ".join(columns)
    return (
        f"`{names}` has so many values that others may be more frequent than those shown, whose "
        "numbers are right. To choose the values, use --by COLUMN=A,B,C."
    )


def _whole(tally: RunTotal, plan: Plan) -> Any:
    """Return the accumulator of all rows, after counting the queries that were gathered."""
    return _of_rows(tally.total(), plan)


def _of_rows(held: Any, plan: Plan) -> Any:
    return held.counted(plan) if isinstance(held, Gathered) else held


def _separated(held: Any, options: Options) -> tuple[Any, Slices | None]:
    """Return the accumulator of all rows, and the accumulators of the slices to show."""
    by = options.by
    if by is None or options.time is not None:
        return held, None
    if by.is_each:
        slices = held.slices()
        if not slices.by_value:
            raise UsageError(f"--by finds no column with slices: {_why(held.left_out())}.")
        return held.total(), slices
    if held.is_open:
        held.keep_most_frequent(options.top or _TOP)
    slices = held.slices()
    if by.values is None and slices.other is not None:
        slices = attrs.evolve(slices, chosen_by=held.chosen_by)
    return held.total(), slices


def _choice(slices: Slices | None) -> list[str]:
    """Say that the values were not chosen by their numbers of rows."""
    if slices is None or slices.chosen_by != "hash":
        return []
    shown = plural(len(slices.by_value), "value")
    note = (
        f"{shown} chosen by hash, whether frequent or not, because the input can be read only once "
        f"and the states of all values take more than {_MAX_BYTES // 10**6:,} MB. To choose the "
        "values, use --by COLUMN=A,B,C."
    )
    return [note]


def _zones(tally: RunTotal, options: Options) -> list[str]:
    """Say which times were read as UTC because they name no zone."""
    if False not in tally.zones:
        return []
    which = (
        "times with and without an offset; those without"
        if True in tally.zones
        else ("times without an offset, which")
    )
    return [f"`{options.time}` has {which} are read as UTC."]


def _words_of_each(by: By) -> str:
    return "--by '*'" if by.columns == (EVERY,) else "--each"


def _columns_left(held: Any, options: Options) -> list[str]:
    """Say which columns were left out where each is compared by itself."""
    is_each = options.by is not None and options.by.is_each
    left = held.left_out() if is_each else {}
    return [f"no slices by {_why(left)}."] if left else []


def _why(left_out: Mapping[str, str]) -> str:
    """List the columns that were left out by their reasons."""
    by_reason: dict[str, list[str]] = {}
    for column, why in left_out.items():
        by_reason.setdefault(why, []).append(column)
    return "; ".join(f"{listed_few(columns)} ({why})" for why, columns in by_reason.items())


def _computed(
    total: Any, slices: Slices | None, options: Options
) -> tuple[Any, Slices | None, WindowedResult | None]:
    """Compute the result of all rows, those of slices and those of windows."""
    if options.time is None:
        return total.compute(), None if slices is None else slices.computed(), None
    from streameval.cli.window_text import split_up  # noqa: PLC0415 (of panes)

    return split_up(total)


def _save(total: Any, slices: Slices | None, output: str | None) -> list[str]:
    """Save the state, or the states of slices, and return the notes about it."""
    if output is None:
        return []
    from streameval.cli.state_files import save_slices, save_state  # noqa: PLC0415 (of -o)

    if slices is not None:
        return save_slices(total, slices, output)
    save_state(total, output)
    return []


def _tallied(
    blocks: Iterator[Block],
    plan: Plan,
    options: Options,
    team: Team,
    spool: Spool | None = None,
    limit: SizeLimit | None = None,
) -> RunTotal:
    plan = attrs.evolve(plan, where=options.row_filter)
    tally = RunTotal(plan)
    size = _total_size(options.files)
    with ProgressLine(_terminal(options), size) as progress:
        for counted in count_all(blocks, plan, team, size):
            tally.add(counted)
            if limit is not None and limit.is_passed_by(tally):
                if not _must_be_chosen_now(options):
                    raise _TooManyStates
                limit = None
                for held in tally.accumulators:
                    held.keep_first(options.top or _TOP)
            if spool is not None:
                spool.write(counted.text)
            progress.advance(counted.n_good + len(counted.bad), counted.taken)
    return tally


def _what_was_read(
    tally: RunTotal, remarks: Iterable[str], options: Options
) -> tuple[str, dict[str, Any], tuple[Note, ...]]:
    """Say what was read: a heading, the entries of the JSON object, and notes."""
    n_rows = tally.n_good.total() + tally.bad.n
    heading = f"{plural(n_rows, 'row')} of {plural(len(options.files), 'file')}"
    if tally.bad.n:
        heading += f", {tally.bad.n:,} of them bad and left out"
    origin = {"files": list(options.files), "rows": n_rows, "bad": tally.bad.n}
    if options.where:
        n_left_out = tally.n_left_out.total()
        heading += f"; {n_left_out:,} more left out by {_filters(options)}"
        origin["left_out"] = n_left_out
    read = tally.n_good + tally.n_left_out
    empty = [name for name in map(name_of, options.files) if not read[name]]
    notes = (
        *(Note("note", text) for text in remarks),
        *(Note("warning", f"{name}: holds no rows.") for name in empty),
        *(
            Note("warning", f"{name}: named more than once, and counted each time.")
            for name in _twice(options)
        ),
        *_bad_rows(tally.bad),
    )
    return heading, origin, notes


def _filters(options: Options) -> str:
    """Name the options that leave rows out."""
    n_typed = len(options.where) - len(gaps_of(options))
    names = ["--where"] * bool(n_typed) + ["--nan skip"] * (n_typed < len(options.where))
    return " and ".join(names)


def _bad_rows(bad: BadRows) -> list[Note]:
    """Return a warning for each of the first bad rows, one for all the others, and for remedies."""
    notes = [Note("warning", str(row)) for row in bad.first]
    more = bad.n - len(notes)
    notes += [Note("warning", f"{more:,} more bad rows.")] if more else []
    chosen = {f"values that {option} reads": n for option, n in bad.readable.items()}
    if bad.n_outside:
        chosen["values out of range"] = bad.n_outside
    for what, n in chosen.items():
        text = (
            f"{n:,} of the bad rows hold {what}; without them, the rows counted are no random "
            "sample."
        )
        notes.append(Note("warning", text))
    return notes


def _twice(options: Options) -> list[str]:
    """List the files that are given twice, even under two names."""
    paths = list(map(os.path.realpath, options.files))
    return [name for at, name in enumerate(options.files) if paths[at] in paths[:at]]


def _no_rows(options: Options, left: Iterable[str]) -> BadDataError:
    names = ", ".join(map(name_of, options.files[:3]))
    more = ", ..." if len(options.files) > 3 else ""
    which = f" that match {_filters(options)}" if options.where else ""
    return BadDataError(" ".join([f"{names}{more}: holds no rows{which}.", *left]))


def _terminal(options: Options) -> TextIO | None:
    return sys.stderr if is_live(sys.stderr) and not options.reporting.quiet else None


def _json_lines(options: Options) -> tuple[str, ...]:
    """List the files that are sure to take long; Parquet may be read before a worker is up."""
    form = options.format
    return tuple(file for file in options.files if (form or format_of(file)) == "jsonl")


def _total_size(files: tuple[str, ...]) -> int | None:
    """Return the bytes to read, or None if they are not known."""
    sizes = list(map(size_of, files))
    return None if None in sizes else sum(size or 0 for size in sizes)


_IN_MEMORY = 2**20
_PIECE = 2**16


class Spool:
    """Keep text in memory, and past the first megabyte in a temporary file.

    Reading closes it, and so does an exception inside the block.
    """

    def __init__(self) -> None:
        # Newlines and lone surrogates come out as they went in.
        self._file = SpooledTemporaryFile(  # noqa: SIM115 - read after the block
            _IN_MEMORY, "w+", encoding="utf-8", errors="surrogatepass", newline=""
        )

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, raised: object, *exception: object) -> None:
        """Discard the text after an exception."""
        if raised is not None:
            self._file.close()

    def write(self, text: str) -> None:
        """Append text.

        Raises
        ------
        BadDataError
            If the disk is full.
        """
        with writing_temporary_file():
            self._file.write(text)

    def read(self) -> Iterator[str]:
        """Yield all text in pieces, once."""
        with self._file as file:
            file.seek(0)
            while piece := file.read(_PIECE):
                yield piece
