"""`streameval eval --compare` and `--versus` for rankings: systems compared query by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.combinations import COMPARE_RUNS
from streameval.cli.errors import UsageError
from streameval.cli.eval_checks import (
    advice_on_files,
    check_can_be_read_twice,
    named_twice,
    source_of,
)
from streameval.cli.eval_run import CountedFiles, EvalRun, gathered_if_scattered
from streameval.cli.gates import judge
from streameval.cli.options import Options, Reporting
from streameval.cli.outcome import Document
from streameval.cli.slices import listed_slices, slice_entries, slice_name
from streameval.cli.tasks.fields import check_one_column
from streameval.cli.terminal import CommandOutput, Note
from streameval.configs.paired import MAX_MODELS
from streameval.errors import InvalidInputError
from streameval.io.streams import name_of
from streameval.render.sheets import Section, Sheet
from streameval.runs.processes import Team

if TYPE_CHECKING:
    from streameval.results.models import ModelComparison
    from streameval.runs.slices import Slices


_LEVEL = 0.95  # of tests, where no interval is shown


def systems_of(options: Options) -> dict[str, Options]:
    """List the systems to compare, the columns of --versus or the files, with their options.

    Raises
    ------
    UsageError
        If they cannot be compared, or an option asks for anything else.
    """
    asked = "--compare" if options.compare else "--versus"
    for gate in options.reporting.gates:
        if gate.over:
            raise UsageError(f"{gate.text!r} compares slices, and gates of {asked} do not.")
    systems = _of_files(options) if options.compare else _of_columns(options)
    if not 2 <= len(systems) <= MAX_MODELS:
        what = "files, each of them the run of a system" if options.compare else "systems"
        raise UsageError(f"{asked} needs from 2 to {MAX_MODELS} {what}, got {len(systems)}.")
    return systems


def _of_files(options: Options) -> dict[str, Options]:
    """List the files, each of which is the run of a system."""
    twice = named_twice(options)
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
    from streameval.cli.tasks.predictions import others_of  # noqa: PLC0415 (of models)

    if options.qrels is not None:
        raise UsageError(f"--versus names columns of scores, and a run has one.{COMPARE_RUNS}")
    check_one_column(options, "y_score")
    option = "y_score" if options.rank is None else "rank"
    first = (options.rank,) if options.rank is not None else options.y_score or ("score",)
    columns = [first, *others_of(options, first, option)]
    check_can_be_read_twice(options.files, "each column of scores needs a reading")
    alone = attrs.evolve(options, versus=None, compare=True)
    if option == "rank":
        return {name: attrs.evolve(alone, rank=name) for (name,) in columns}
    return {name: attrs.evolve(alone, y_score=(name,)) for (name,) in columns}


def compared(options: Options, systems: Mapping[str, Options], team: Team) -> CommandOutput:
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
    notes += [*said, *_verdicts(comparison, reporting)]

    def entries() -> list[dict[str, Any]]:
        about = {
            "task": "ranking",
            "files": list(options.files),
            **({} if options.qrels is None else {"qrels": options.qrels}),
            **results[0]._of_clusters,
            **_compared_entries(comparison),
            "level": level,
            **({} if slices is None else slice_entries(slices, _compared_entries)),
        }
        return [about]

    def sheet() -> Sheet:
        has_intervals = reporting.level > 0
        *before, remark = comparison.sheet(has_intervals=has_intervals)
        if slices is None:
            return [*before, remark]
        names = [slice_name(slices, value) for value in slices.by_value]
        names += [] if slices.other is None else ["(other)"]
        sections = (one.sheet(has_intervals=has_intervals)[:-1] for one in slices)
        return [*before, *map(Section, names, sections), remark]

    return Document(sheet=sheet, entries=entries, notes=notes).written(reporting)


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
    text = f"{listed_slices(first, apart)}: not compared, because not all systems have queries."
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
    with closing(source_of(options)) as source, advice_on_files(options, source):
        run = EvalRun(source, options, team)
        held = gathered_if_scattered(source, lambda: _counted(run))
    file = name_of(options.files[0])
    notes = [
        one if one.text.startswith(f"{file}:") else attrs.evolve(one, text=f"{file}: {one.text}")
        for one in held.notes
    ]
    slices = None if held.slices is None else held.slices.computed()
    return held.total.compute(), slices, notes


def _counted(run: EvalRun) -> CountedFiles:
    _, blocks, plan, counting = run.planned("ranking")
    return run.finished(*run.counted(plan, counting, blocks))


def _short(files: Sequence[str]) -> list[str]:
    """Name files without their folders, where they still differ."""
    names = [PurePath(name_of(file)).name for file in files]
    return names if len({*names}) == len(names) else [*map(name_of, files)]
