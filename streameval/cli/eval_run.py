"""One run of `eval`: the plan that the first rows need, counting, and what to say of the rows."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import attrs

from streameval.cli.argument_values import EVERY, By
from streameval.cli.errors import UsageError
from streameval.cli.eval_checks import (
    PARTIAL,
    check_can_be_read_twice,
    copies,
    filters,
    named_twice,
    naming_file,
    no_rows,
    refuse_run,
    sentinels,
    total_size,
    with_advice_to_join,
)
from streameval.cli.options import Options, option_words
from streameval.cli.slices import listed_slices
from streameval.cli.tasks import plan_of
from streameval.cli.tasks.clusters import clustered
from streameval.cli.tasks.fields import check_columns
from streameval.cli.terminal import Note, ProgressLine, is_live
from streameval.io.blocks import Block
from streameval.io.errors import ScatteredQueryError
from streameval.io.streams import is_read_once, name_of
from streameval.render.text import listed_few, plural
from streameval.runs.counting import Gathered, Plan
from streameval.runs.processes import Team
from streameval.runs.sources import BlockSource, RawRow, look_ahead
from streameval.runs.totals import BadRows, RunTotal
from streameval.runs.workers import count_all

if TYPE_CHECKING:
    from streameval.runs.slices import SizeLimit, Slices

CountedT = TypeVar("CountedT")

_TOP = 20
_MAX_BYTES = 256 * 10**6  # for the states of all values, unless the values are named


def gathered_if_scattered(source: BlockSource, count: Callable[[], CountedT]) -> CountedT:
    """Count again, file by file, if the rows of a query are not together."""
    try:
        return count()
    except ScatteredQueryError:
        source.gather()
        return count()


@attrs.frozen(eq=False, repr=False)
class CountedFiles:
    """What a run counted: the accumulators of all rows and of slices, and what to say of them."""

    total: Any
    slices: Slices | None
    heading: str
    origin: dict[str, Any]
    notes: tuple[Note, ...]


class _TooManyStates(Exception):  # noqa: N818 (no error: the files are read again)
    """The states of all values of a column take more memory than they may."""


@attrs.frozen(eq=False, repr=False)
class EvalRun:
    """One reading of files, which counts them as the options ask.

    Parameters
    ----------
    source : BlockSource
    options : Options
    team : Team
    write : callable
        Takes the text of queries, in order.
    """

    source: BlockSource
    options: Options
    team: Team
    write: Callable[[str], object] = str

    def planned(self, task: str) -> tuple[Sequence[RawRow], Iterator[Block], Plan, Plan]:
        """Return the first rows, all blocks, and the plans to count them: whole, and split."""
        options, source = self.options, self.source
        rows, blocks = look_ahead(
            source.blocks(), options.max_bad, advice=PARTIAL, where=options.row_filter
        )
        if not rows:
            raise no_rows(options, source.left())
        keys = [] if options.key is None else [options.key]
        with naming_file(options, rows, blocks):
            check_columns([*keys, *(condition.column for condition in options.where)], rows)
            plan = _planned(task, options, rows)
            notes = (*plan.notes, *sentinels(options, rows))
            plan = attrs.evolve(plan, notes=notes, words=option_words, advice=PARTIAL)
            return rows, blocks, plan, _split(plan, options, rows)

    def counted(self, plan: Plan, counting: Plan, blocks: Iterator[Block]) -> tuple[RunTotal, Plan]:
        """Count all rows; if the states of all values are too large, those of the most frequent.

        Return what was counted, and the plan that did.
        """
        try:
            return self._tallied(blocks, counting, _limit(counting, self.options)), counting
        except _TooManyStates:
            counting = self._of_most_frequent(plan)
            return self._tallied(self.source.blocks(), counting), counting

    def finished(self, tally: RunTotal, plan: Plan) -> CountedFiles:
        """Count what is still held, take slices apart, and say what was read.

        Raises
        ------
        BadDataError
            If no row has been counted.
        """
        options, source = self.options, self.source
        held = of_rows(tally.total(), plan)
        if not tally.n_good.total():
            tally.bad.refuse_all()
            raise no_rows(options, source.left())
        total, slices = _separated(held, options)
        for accumulator in (total, *(slices or ())):
            for text in plan.finish(accumulator):  # counts queries
                self.write(text)
        remarks = (
            *(*plan.notes, *_columns_left(held, options), *_choice(slices)),
            *_without_rows(held, slices, options),
            *(*_zones(tally, options), *source.left(), *source.remarks()),
        )
        totals = [
            Note("warning", f"{at}: looks like a total; --where {shlex.quote(left)} leaves it out.")
            for at, left in source.totals(options.row_filter).items()
        ]
        heading, origin, notes = _what_was_read(tally, remarks, options)
        heading += _two_models(plan)
        return CountedFiles(total, slices, heading, origin | source.origin(), (*totals, *notes))

    def with_models(self) -> Self:
        """Find the models that are compared in a separate pass, unless they are given."""
        from streameval.cli.tasks import values  # noqa: PLC0415 (of that task)

        options = self.options
        check_can_be_read_twice(
            options.files, "a first pass finds the models; name them, as in --models A,B,C"
        )
        rows, blocks = look_ahead(self.source.blocks(), options.max_bad, where=options.row_filter)
        if not rows:
            return self
        finding = values.plan_of_models(options, rows)
        tally = self._tallied(blocks, attrs.evolve(finding, words=option_words, advice=PARTIAL))
        return attrs.evolve(self, options=values.with_models(options, tally.total()))

    def _of_most_frequent(self, plan: Plan) -> Plan:
        """Find the most frequent values in a separate pass, and plan to count them."""
        from streameval.runs.slices import counting_plan  # noqa: PLC0415 (of --by)

        options, by = self.options, cast("By", self.options.by)
        why = f"the states of all values take more than {_MAX_BYTES // 10**6:,} MB; name"
        if by.is_each:
            raise UsageError(f"{why} fewer columns with --by and --each.")
        check_can_be_read_twice(options.files, f"{why} those to count, as in --by COLUMN=A,B,C")
        counting = attrs.evolve(counting_plan(by.column, options.max_bad), advice=PARTIAL)
        tally = self._tallied(self.source.blocks(), counting)
        values, is_sure = tally.total().top(options.top or _TOP)
        chosen = _by_value(plan, options, values)
        return chosen if is_sure else attrs.evolve(chosen, notes=(*plan.notes, _unsure(by.columns)))

    def _tallied(
        self, blocks: Iterator[Block], plan: Plan, limit: SizeLimit | None = None
    ) -> RunTotal:
        options, size = self.options, total_size(self.options.files)
        plan = attrs.evolve(plan, where=options.row_filter)
        tally = RunTotal(plan)
        is_shown = is_live(sys.stderr) and not options.reporting.quiet
        with ProgressLine(sys.stderr if is_shown else None, size) as progress:
            for block in count_all(blocks, plan, self.team, size):
                tally.add(block)
                if limit is not None and limit.is_passed_by(tally):
                    if not _must_be_chosen_now(options):
                        raise _TooManyStates
                    limit = None
                    for held in tally.accumulators:
                        held.keep_first(options.top or _TOP)
                self.write(block.text)
                progress.advance(block.n_good + len(block.bad), block.taken)
        return tally


def _planned(task: str, options: Options, rows: Sequence[RawRow]) -> Plan:
    try:
        return clustered(plan_of(task, options, rows), options, rows)
    except UsageError as error:
        refuse_run(rows[0])
        raise with_advice_to_join(error, options, rows[0]) from None


def _split(plan: Plan, options: Options, rows: Sequence[RawRow]) -> Plan:
    """Plan to count each pane of time, or each value of a column, separately."""
    if options.time is not None:
        from streameval.cli.tasks.splits import windowed  # noqa: PLC0415 (of --time)

        return windowed(plan, options, rows)
    by = options.by
    if by is None:
        return plan
    from streameval.cli.tasks.splits import every_column  # noqa: PLC0415 (of --by)
    from streameval.runs.slices import rows_by_column  # noqa: PLC0415 (of --by)

    if by.columns == (EVERY,):
        columns, left_out = every_column(plan, rows)
        return rows_by_column(plan, columns, left_out, finds_columns=True)
    check_columns(by.columns, rows)
    if by.is_each:
        return rows_by_column(plan, by.columns, {}, finds_columns=False)
    return _by_value(plan, options, None if by.values is None else by.canonical())


def _by_value(plan: Plan, options: Options, values: tuple[Any, ...] | None) -> Plan:
    """Plan to count values; the rows of a query may span blocks, and have several values."""
    from streameval.runs.slices import rows_by_value  # noqa: PLC0415 (of --by)

    by: Any = options.by
    if options.task != "ranking":
        return rows_by_value(plan, by.column, values)
    from streameval.cli.tasks.ranking import is_of_rows, whole_queries  # noqa: PLC0415 (of that task)

    if options.cluster is None or not is_of_rows(plan):
        return rows_by_value(plan, by.column, values, is_apart=True)
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


def _must_be_chosen_now(options: Options) -> bool:
    """Return whether no second pass can count how often values occur; rows have a hash order."""
    by: Any = options.by
    counts_rows = options.task != "ranking" and not by.is_each
    return counts_rows and any(map(is_read_once, options.files))


def _unsure(columns: tuple[str, ...]) -> str:
    names = ", ".join(columns)
    return (
        f"`{names}` has so many values that others may be more frequent than those shown, whose "
        "numbers are right. To choose the values, use --by COLUMN=A,B,C."
    )


def of_rows(held: Any, plan: Plan) -> Any:
    """Count the queries that were gathered, if rows are."""
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


def _without_rows(held: Any, slices: Slices | None, options: Options) -> list[str]:
    """Say which named values no row has; their metrics may be 0."""
    if slices is None or options.by is None or options.by.values is None:
        return []
    values = held.without_rows()
    return [f"no row has {listed_slices(slices, values)}."] if values else []


def _zones(tally: RunTotal, options: Options) -> list[str]:
    """Say which times were read as UTC because they name no zone."""
    if False not in tally.zones:
        return []
    has_both = True in tally.zones
    which = "with and without an offset; those without" if has_both else "without an offset, which"
    return [f"`{options.time}` has times {which} are read as UTC."]


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
        heading += f"; {n_left_out:,} more left out by {filters(options)}"
        origin["left_out"] = n_left_out
    read = tally.n_good + tally.n_left_out
    empty = [name for name in map(name_of, options.files) if not read[name]]
    notes = (
        *(Note("note", text) for text in remarks),
        *(Note("warning", f"{name}: holds no rows.") for name in empty),
        *(
            Note("warning", f"{name}: named more than once, and counted each time.")
            for name in named_twice(options)
        ),
        *(
            Note("warning", f"{name}: holds the same bytes as {other}, and both are counted.")
            for name, other in copies(options.files)
        ),
        *_bad_rows(tally.bad),
    )
    return heading, origin, notes


def _two_models(plan: Plan) -> str:
    """Name the columns of the models A and B, if two are compared."""
    names = {column.argument: ",".join(column.names) for column in plan.columns}
    if "y_pred_b" not in names:
        return ""
    return f"; A is {names['y_pred_a']}, B is {names['y_pred_b']}"


def _bad_rows(bad: BadRows) -> list[Note]:
    """Return a warning for each of the first bad rows, one for all the others, and for remedies."""
    notes = [Note("warning", str(row)) for row in bad.first]
    more = bad.n - len(notes)
    notes += [Note("warning", f"{more:,} more bad rows.")] if more else []
    chosen = {f"values that {option} reads": n for option, n in bad.readable.items()}
    others = {"numbers of another notation": bad.n_opposed, "values out of range": bad.n_outside}
    chosen |= {what: n for what, n in others.items() if n}
    for what, n in chosen.items():
        text = (
            f"{n:,} of the bad rows hold {what}; without them, the rows counted are no random "
            "sample."
        )
        notes.append(Note("warning", text))
    return notes
