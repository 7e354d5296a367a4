"""Messages of the library in the words of the user: options and columns for Python's names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from streameval.cli.options import Options, option_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streameval.io import Column

__all__ = ["in_words_of_the_user"]

# Messages write `name`, `name=value`, name=value or name=.
_NAME = re.compile(r"""`(\w+)`|`?\b(\w+)=("[^"]*"|'[^']*'|-?\w+(?:\.\d+)?|)`?""")
_QUOTES = "\"'"
_OPTIONS = {field.name: option_text(field.name) for field in attrs.fields(Options)}
_OPTIONS["kind"] = option_text("curve")


def in_words_of_the_user(message: str, columns: Iterable[Column] = ()) -> str:
    """Name the option that was typed, or the column that was read.

    >>> in_words_of_the_user('`classes="auto"` needs multilabel=False, got `top_k`.')
    '--classes auto needs --multilabel False, got --top-k.'
    """
    names = {column.argument: f"`{','.join(column.names)}`" for column in columns}

    def word(match: re.Match[str]) -> str:
        name, value = match[1] or match[2], match[3]
        if name in names:
            return names[name]
        if name not in _OPTIONS:
            return match[0]
        is_flag = value in (None, "", "True")
        return _OPTIONS[name] if is_flag else f"{_OPTIONS[name]} {value.strip(_QUOTES)}"

    return _NAME.sub(word, message)
