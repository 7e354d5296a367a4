"""`streameval explain`: a state explained to somebody who did not make it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from streameval.accumulators.collection import Collection, heaviest
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.cli.states import computed, load_state
from streameval.cli.terminal import CommandOutput
from streameval.configs.collection import SEPARATOR, Member
from streameval.errors import InvalidInputError
from streameval.metrics.table import Reading
from streameval.render.sheets import reading_columns
from streameval.render.text import ABOUT_UNDEFINED, WIDTH, plural, printable
from streameval.results.class_curves import ClassCurves
from streameval.results.result import Result


def every_option(accumulator: Any) -> dict[str, Any]:
    """Return the options; options of members are named ``member/option``, like their metrics."""
    options = _flat(accumulator.options)
    if isinstance(accumulator, Collection):
        columns = accumulator.columns
        for name in _flat(accumulator.n):
            options[f"{name}{SEPARATOR}columns"] = columns.get(name, {})
    return options


def is_default(accumulator: Any, name: str) -> bool:
    """Tell whether the option would have the same value if it were left out."""
    others = {option: value for option, value in accumulator.options.items() if option != name}
    try:
        defaults = type(accumulator)(**others).options
    except (InvalidInputError, TypeError):  # the other options require this one, or the class does
        return False
    return bool(defaults[name] == accumulator.options[name])


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            inner = _flat(value).items()
            flat |= {f"{name}{SEPARATOR}{option}": item for option, item in inner}
        else:
            flat[name] = value
    return flat


_LONGEST = 50


def shortened(value: Any) -> str:
    """Write the value of an option; shorten a long one to its beginning.

    >>> shortened(0.5), shortened(tuple(range(99)))
    ('0.5', '(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ... 99 in all)')
    """
    text = repr(value)
    if len(text) <= _LONGEST:
        return text
    if not isinstance(value, tuple):
        return f"{text[: _LONGEST - 3]}..."
    end = f"... {len(value):,} in all)"
    start = text[: _LONGEST - len(end)].rpartition(", ")
    return f"{start[0]}{start[1]}{end}"


_LEVEL = 0.95

Lines = Sequence[tuple[str, str]]
"""Texts, each with what its further lines begin with."""
_BLANK = ("", "")
_OPTIONS = ("Options (* is not the default)", "")


def explain(state: str) -> CommandOutput:
    """Say what a state has counted, what limits its numbers, and what each of them means."""
    lines: list[str] = []
    for text, indent in _about(state, load_state(state)):
        lines += textwrap.wrap(printable(text), WIDTH, subsequent_indent=indent) or [""]
    return CommandOutput("\n".join([*lines, ""]))


def _about(title: str, accumulator: Any) -> Lines:
    """Explain an accumulator, and below it, indented, what it holds."""
    if isinstance(accumulator, Collection):
        return _about_members(title, accumulator)
    if not isinstance(accumulator, (Sliced, Windowed)):
        return _explained(title, accumulator)
    lines = [_heading(title, accumulator), (_size(accumulator), ""), _BLANK, _OPTIONS]
    held = _indented(_about("all rows", accumulator.total()))
    return [*lines, *_options(accumulator), _BLANK, *held]


def _about_members(title: str, collection: Collection) -> Lines:
    size = plural(len(collection), "member")
    lines = [_heading(title, collection), (f"{size}, {_size(collection)}", "")]
    for names in Member.of(collection).options.names_of_parts:
        about = _explained(", ".join(names), collection[names[0]])
        columns = collection.columns.get(names[0])
        said = [_BLANK, (f"It reads {_columns(columns)}.", "")] if columns else []
        lines += [_BLANK, *_indented([*about, *said])]
    return lines


def _indented(lines: Lines) -> Lines:
    return [(f"  {text}", f"  {indent}") for text, indent in lines]


def _explained(title: str, accumulator: Any) -> Lines:
    """Join the parts, one below the other."""
    result = computed(accumulator)
    readings = result.readings(_LEVEL)
    lines = [_heading(title, accumulator), (_contents(accumulator, result, readings), "")]
    lines += [_BLANK, _OPTIONS, *_options(accumulator)]
    lines += [_BLANK, ("What limits the numbers", "")]
    lines += [(f"* {finding}", "  ") for finding in result.findings()]
    lines += [_BLANK, ("What the numbers mean", "")]
    for name, reading in readings.items():
        lines += [(_value(name, reading), "  "), (f"    {result.meaning(name)}", "    ")]
    more = [name for name in result.readable() if name not in readings]
    if more:
        lines += [_BLANK, (f"On request, by --metrics: {', '.join(more)}.", "  ")]
    drawn = "clusters" if result.note else "the data"
    return [*lines, *_key(readings.values(), result.TERMS, drawn)]


def _heading(title: str, accumulator: Any) -> tuple[str, str]:
    member = Member.of(accumulator)
    return f"{title}: {member.cls.__name__}. {member.options.SUMMARY}", "  "


def _contents(accumulator: Any, result: Result, readings: dict[str, Reading]) -> str:
    """Say how much was counted, and whether any of it may still change."""
    is_open = any(reading.is_open for reading in readings.values())
    counted = f"{result.SIZE} = {getattr(result, result.SIZE):,}" if result.SIZE else ""
    parts = [counted or f"n = {heaviest(accumulator.n):,}", _size(accumulator)]
    parts.append("estimates with bounds of the exact values" if is_open else "every number exact")
    held: list[Any] = [*result.values()] if isinstance(result, ClassCurves) else [result]
    cells = [part.cells for part in held if hasattr(part, "cells")]
    return ", ".join([*parts, *([f"{sum(cells):,} bins"] if cells else [])])


def _size(accumulator: Any) -> str:
    return plural(len(accumulator.to_bytes()), "byte")


def _options(accumulator: Any) -> Iterator[tuple[str, str]]:
    """Yield a line for each option, with its meaning if it is not the default."""
    options = accumulator.options
    longest = max(map(len, options))
    declared = attrs.fields_dict(type(Member.of(accumulator).options))
    for name, value in options.items():
        by_default = is_default(accumulator, name)
        yield f"{' ' if by_default else '*'} {name:<{longest}}  {shortened(value)}", ""
        if not by_default:
            yield f"    {declared[name].metadata['text']}", "    "


def _value(name: str, reading: Reading) -> str:
    """Write a value with its intervals."""
    columns = reading_columns(name, [reading], _LEVEL)
    value, certified, sampling = (column.cells[1] for column in columns)
    return "  ".join(filter(None, [name, value, certified, sampling and f"95% {sampling}"]))


def _key(readings: Iterable[Reading], terms: str, drawn: str) -> Lines:
    """Explain the words and the intervals used above."""
    every = list(readings)
    texts = [terms] if terms else []
    if not all(reading.is_defined for reading in every):
        texts.append(ABOUT_UNDEFINED)
    if any(reading.is_open for reading in every):
        texts.append("[low, high]: always contains the exact value for the data that were counted.")
    if any(reading.sampling is not None for reading in every):
        texts.append(
            f"95% [low, high]: how far a sample of this size may be off by chance, if {drawn} "
            "were drawn independently."
        )
    return [line for text in texts for line in (_BLANK, (text, ""))]


def _columns(columns: dict[str, str]) -> str:
    return ", ".join(f"{array} from {column!r}" for array, column in columns.items())
