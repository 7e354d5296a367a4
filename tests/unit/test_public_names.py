"""What the public names were called with still works: none is gone, and no parameter changed."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any

import streameval as se
from streameval import inputs

HELD = Path(__file__).with_name("public_names.txt")
"""Each public name, and the signatures of functions, accumulators and methods: only ever longer.

`python tests/unit/test_public_names.py` adds what is new.
"""


def public_names() -> dict[str, str]:
    """Return each name with its parameters; nothing for what is not called by users."""
    names: dict[str, str] = {}
    for name in se.__all__:
        value = getattr(se, name)
        is_made = not inspect.isclass(value) or issubclass(value, se.Accumulator)
        names[name] = parameters(value) if is_made and callable(value) else ""
        if not inspect.isclass(value) or issubclass(value, Exception):
            continue
        for member, held in inspect.getmembers_static(value):
            if not member.startswith("_") and not member.isupper():
                called = getattr(held, "__wrapped__", held)  # of a number that may be called
                bound = isinstance(called, (types.FunctionType, classmethod, staticmethod))
                made = called if isinstance(held, property) else getattr(value, member)
                names[f"{name}.{member}"] = parameters(made) if bound else ""
    return names


def parameters(value: Any) -> str:
    signature = inspect.signature(value)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def broken(was: str, now: str) -> bool:
    """Whether a call that the old parameters allowed may fail or change with the new ones."""
    if not was:
        return False
    old, new = (ast.parse(f"def f{text}: ...").body[0].args for text in (was, now))
    (old_ordered, old_named), (new_ordered, new_named) = split(old), split(new)
    more = [*new_ordered[len(old_ordered) :], *new_named.items()]
    return (
        new_ordered[: len(old_ordered)] != old_ordered
        or any(new_named.get(name, "") != default for name, default in old_named.items())
        or any(default is None for name, default in more if name not in old_named)
        or bool(old.vararg) > bool(new.vararg)
        or bool(old.kwarg) > bool(new.kwarg)
    )


def split(args: ast.arguments) -> tuple[list[tuple[str, str | None]], dict[str, str | None]]:
    """Return the parameters that have an order, and those that have names alone; with defaults."""
    ordered = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(ordered) - len(args.defaults)) + [*map(ast.unparse, args.defaults)]
    named = [None if default is None else ast.unparse(default) for default in args.kw_defaults]
    return (
        list(zip([one.arg for one in ordered], defaults, strict=True)),
        dict(zip([one.arg for one in args.kwonlyargs], named, strict=True)),
    )


def held() -> dict[str, str]:
    lines = HELD.read_text(encoding="utf-8").splitlines()
    return {line.partition("(")[0]: "".join(line.partition("(")[1:]) for line in lines}


def test_types_of_public_classes_can_be_read() -> None:
    classes = [one for name in se.__all__ if inspect.isclass(one := getattr(se, name))]
    for one in classes:
        typing.get_type_hints(one)
    assert se.Curve in classes


def test_readers_of_arguments_are_listed_before_they_are_imported() -> None:
    assert {"as_labels", "as_scores", *inputs.__all__} <= {*dir(inputs)}


def test_public_names_and_parameters_are_those_that_were() -> None:
    now = public_names()
    assert [name for name in held() if name not in now] == []
    changed = {name: (was, now[name]) for name, was in held().items() if broken(was, now[name])}
    assert changed == {}


def documented() -> dict[str, str]:
    """Leave out the members that no page names: they are for the package itself."""
    pages = Path(__file__).parents[2].glob("docs/**/*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"[.`](\w+)", text))
    return {name: one for name, one in public_names().items() if name.split(".")[-1] in named}


if __name__ == "__main__":
    every = documented() | held()
    HELD.write_text("".join(f"{name}{every[name]}\n" for name in sorted(every)), encoding="utf-8")
