"""`streameval explain`: a state explained to somebody who did not make it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
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
from streameval.render.text import WIDTH, interval_text, number, plural, printable
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


def brief(value: Any) -> str:
    """Write the value of an option; shorten a long one to its beginning.

    >>> brief(0.5), brief(tuple(range(99)))
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
_OPTIONS = "Options (* is not the default)"


def explain(state: str) -> CommandOutput:
    """Say what a state has counted, what limits its numbers, and what each of them means."""
    return CommandOutput("\n".join([*_about(state, load_state(state), WIDTH), ""]))


def _about(title: str, accumulator: Any, width: int) -> list[str]:
    """Explain an accumulator, and below it, indented, what it holds."""
    if isinstance(accumulator, Collection):
        return _about_members(title, accumulator, width)
    if not isinstance(accumulator, (Sliced, Windowed)):
        return _explained(title, accumulator, width)
    lines = [*_heading(title, accumulator, width), _size(accumulator), "", _OPTIONS]
    lines += _options(accumulator, width)
    return [*lines, "", *_indented(_about("all rows", accumulator.total(), width - 2))]


def _about_members(title: str, collection: Collection, width: int) -> list[str]:
    size = plural(len(collection), "member")
    lines = [*_heading(title, collection, width), f"{size}, {_size(collection)}"]
    for names in Member.of(collection).options.names_of_parts:
        about = _explained(", ".join(names), collection[names[0]], width - 2)
        columns = collection.columns.get(names[0])
        if columns:
            about = [*about, "", *_wrapped(f"It reads {_columns(columns)}.", width - 2, "")]
        lines += ["", *_indented(about)]
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}".rstrip() for line in lines]


def _explained(title: str, accumulator: Any, width: int) -> list[str]:
    """Join the parts, one below the other."""
    result = computed(accumulator)
    readings = result.readings(_LEVEL)
    lines = _heading(title, accumulator, width)
    lines += _wrapped(_contents(accumulator, result, readings), width, "")
    lines += ["", _OPTIONS, *_options(accumulator, width)]
    lines += ["", "What limits the numbers"]
    for finding in result.findings():
        lines += _wrapped(f"* {finding}", width, "  ")
    lines += ["", "What the numbers mean"]
    for name, reading in readings.items():
        lines += _metric(name, reading, result.meaning(name), width)
    more = [name for name in result.readable() if name not in readings]
    if more:
        lines += ["", *_wrapped(f"On request, by --metrics: {', '.join(more)}.", width, "  ")]
    drawn = "clusters" if result.note else "the data"
    return lines + _key(readings.values(), result.TERMS, drawn, width)


def _heading(title: str, accumulator: Any, width: int) -> list[str]:
    member = Member.of(accumulator)
    text = f"{title}: {member.cls.__name__}. {member.options.SUMMARY}"
    return _wrapped(text, width, "  ")


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


def _options(accumulator: Any, width: int) -> Iterator[str]:
    """Yield a line for each option, with its meaning if it is not the default."""
    options = accumulator.options
    longest = max(map(len, options))
    declared = attrs.fields_dict(type(Member.of(accumulator).options))
    for name, value in options.items():
        by_default = is_default(accumulator, name)
        yield f"{' ' if by_default else '*'} {name:<{longest}}  {brief(value)}"
        if not by_default:
            said = declared[name].metadata["text"]
            yield from _wrapped(f"    {said}", width, "    ")


def _metric(name: str, reading: Reading, meaning: str, width: int) -> list[str]:
    """Write a value with its intervals, and below it what it means."""
    parts = [f"{name}  {number(reading.value)}"]
    if reading.is_open:
        parts.append(interval_text(*reading.certified))
    if reading.sampling is not None:
        parts.append(f"95% {interval_text(*reading.sampling)}")
    return [*_wrapped("  ".join(parts), width, "  "), *_wrapped(f"    {meaning}", width, "    ")]


def _key(readings: Iterable[Reading], terms: str, drawn: str, width: int) -> list[str]:
    """Explain the words and the intervals used above."""
    every = list(readings)
    lines = [terms] if terms else []
    if any(reading.is_open for reading in every):
        lines.append("[low, high]: always contains the exact value for the data that were counted.")
    if any(reading.sampling is not None for reading in every):
        lines.append(
            f"95% [low, high]: how far a sample of this size may be off by chance, if {drawn} "
            "were drawn independently."
        )
    return [line for text in lines for line in ["", *_wrapped(text, width, "")]]


def _columns(columns: dict[str, str]) -> str:
    return ", ".join(f"{array} from {column!r}" for array, column in columns.items())


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(printable(text), width, subsequent_indent=indent)
