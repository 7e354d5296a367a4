"""Declarations of options, and checks of single ones.

A check gives the canonical value, or names the option in an error. The type of an option says what
checks it: a truth value, one of a few words, or what it is annotated with. Options that depend on
others are checked in `completed`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from numbers import Real
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs

from streameval.configs.cached import Cached
from streameval.configs.names import number_text
from streameval.errors import InvalidInputError
from streameval.inputs.classes import (
    ClassSet,
    Label,
    canonical_classes,
    class_labels,
    class_names,
    is_bool,
)


def option(
    text: str,
    *,
    default: Any = attrs.NOTHING,
    is_omitted: bool = False,
    help: str = "",  # noqa: A002 - as argparse has it
) -> Any:
    """Declare an option as a field of a configuration.

    Parameters
    ----------
    text : str
        What it means, as in the docstring of the accumulator.
    default : object
        The default, as the constructor has it too.
    is_omitted : bool
        Whether bytes leave it out where it is the default.
    help : str
        What it does on the command line, if that is not the first sentence of its meaning.
    """
    metadata = {"text": text, "omit_default": is_omitted, "help": help}
    return attrs.field(default=default, metadata=metadata)


def option_of(config: Any, name: str) -> Any:
    """Declare an option as another configuration has it."""
    declared = attrs.fields_dict(config)[name]
    return option(declared.metadata["text"], default=declared.default)


def help_of(config: Any, name: str) -> str:
    """Say on the command line what an option does, and what its default is."""
    field = attrs.fields_dict(config)[name]
    first = field.metadata["text"].partition(". ")[0].removesuffix(".")
    text = field.metadata["help"] or f"{first[0].lower()}{first[1:]}"
    default = field.default
    if isinstance(default, bool) or not isinstance(default, (int, float, str)):
        return text
    shown = number_text(default) if isinstance(default, float) else default
    return f"{text}{'; ' if ',' in text else ', '}default {shown}"


Arrays = tuple[tuple[str, ...], tuple[str, ...]]
"""The arrays that an `update` must have, in order, and those that it may have."""


class Config(Cached):
    """Every option of an accumulator that changes what is counted; equal ones can merge."""

    __slots__ = ()

    SUMMARY: ClassVar[str]
    """What the accumulator does."""

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Check options, alone and together, and put them in one canonical form.

        Numbers, words and names that have been checked before give the same configuration.
        """
        return cls._known(**given) if all(map(_is_plain, given.values())) else cls._made(**given)

    @classmethod
    def _made(cls, **given: Any) -> Self:
        return cls(**cls.read(given)).completed()

    @classmethod
    @functools.lru_cache(maxsize=256, typed=True)
    def _known(cls, **given: Any) -> Self:
        return cls._made(**given)

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check each option as it is declared; those that are not given have their defaults."""
        read, owner = dict(given), cast("Any", cls)
        for name, check, default in checks(owner):
            value = given.get(name, default)
            read[name] = value if check is None else check(value, name=name)
        return read

    def completed(self) -> Self:
        """Check options together, and fill in those that depend on others; for subclasses."""
        return self

    @property
    def arrays(self) -> Arrays | None:
        """The arrays of an `update`, where they depend on the options."""
        return None


class OfScores(Config):
    """The options of a score for each of some classes, or of one score a row."""

    __slots__ = ()

    classes: ClassSet | None

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes; there are none where a row has one score."""
        return () if self.classes is None else class_labels(self.classes)

    @property
    def class_names(self) -> tuple[Label, ...]:
        """What the classes are shown by; there are none where a row has one score."""
        return () if self.classes is None else class_names(self.classes)

    @property
    def n_classes(self) -> int:
        """The number of classes with a score each; 0 where a row has one score."""
        return len(self.classes) if isinstance(self.classes, tuple) else self.classes or 0


def classes_of_scores(value: Any, *, name: str = "classes", min_count: int = 2) -> ClassSet | None:
    """Accept classes with a score each, or None for one score a row."""
    if value is None:
        return None
    classes = value if isinstance(value, str) else canonical_classes(value, min_count=min_count)
    if isinstance(classes, str):
        raise InvalidInputError(
            "must be None, a number, or the labels in the order of the score columns, "
            f"got {classes!r}",
            argument=name,
        )
    return classes


@attrs.frozen(kw_only=True)
class Parameter:
    """What stands in the brackets of a measure.

    Parameters
    ----------
    name : str
        As in ``huber(delta=1.5)``.
    default : float, optional
        What it is without brackets; by default they are required.
    rule : str
        What it must be, as the end of a sentence.
    is_valid : callable
        Whether a number is.
    is_whole : bool
        Whether it is a whole number.
    """

    name: str
    default: float | None = None
    rule: str
    is_valid: Callable[[float], bool]
    is_whole: bool = False

    def unfit(self, measure: str) -> InvalidInputError:
        """Make the error of a measure, as it was written, whose parameter breaks the rule."""
        kind = "whole " if self.is_whole else ""
        return InvalidInputError(
            f"needs a {kind}{self.name}= {self.rule}, got {measure!r}", argument="measures"
        )


@functools.cache
def checks(config: Any) -> tuple[tuple[str, Callable[..., Any] | None, Any], ...]:
    """List the options of a configuration: name, check and default."""
    types = get_type_hints(config, include_extras=True)
    return tuple(
        (field.name, check_of(types[field.name]), field.default) for field in attrs.fields(config)
    )


def check_of(type_: Any) -> Callable[..., Any] | None:
    """Find the check that a type stands for; None if there is none."""
    parts = get_args(type_)
    if type_ is bool:
        return flag
    if get_origin(type_) is Literal:
        return functools.partial(one_of, allowed=parts)
    if get_origin(type_) is Annotated:
        check: Callable[..., Any] = parts[1]
        return check
    if len(parts) == 2 and parts[1] is NoneType and (inner := check_of(parts[0])):
        return functools.partial(_or_none, check=inner)
    return None


_PLAIN = frozenset({str, bool, int, float, NoneType})


def _is_plain(value: Any) -> bool:
    """Tell whether a value is equal to another of its type only where it is the same."""
    return type(value) in _PLAIN or (type(value) is tuple and {*map(type, value)} <= {str})


def unchecked(value: Any, *, name: str) -> Any:  # noqa: ARG001 - as of every check
    """Leave it to `completed`, which checks options together."""
    return value


def _or_none(value: Any, check: Callable[..., Any], *, name: str) -> Any:
    return None if value is None else check(value, name=name)


def flag(value: Any, *, name: str) -> bool:
    """Accept True and False, and nothing that is merely true or false."""
    if not is_bool(value):
        raise InvalidInputError(f"must be True or False, got {value!r}", argument=name)
    return bool(value)


def optional_flag(value: Any, *, name: str) -> bool | None:
    """Accept True, False and None."""
    if value is None:
        return None
    if not is_bool(value):
        raise InvalidInputError(f"must be True, False or None, got {value!r}", argument=name)
    return bool(value)


def finite_number(value: Any, *, name: str) -> float:
    """Accept a finite number; -0.0 becomes 0.0, so that equal options have equal bytes."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"must be a number, got {value!r}", argument=name) from None
    if is_bool(value):
        raise InvalidInputError(f"must be a number, got {value!r}", argument=name)
    if isinstance(value, (str, bytes, bytearray)) or not math.isfinite(number):
        raise InvalidInputError(f"must be a finite number, got {value!r}", argument=name)
    return number + 0.0


def fraction(value: Any, *, name: str) -> float:
    """Accept a number in [0, 1]."""
    number = finite_number(value, name=name)
    if not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"must lie in [0, 1], got {number!r}", argument=name)
    return number


def real_number(value: Any, *, name: str) -> float:
    """Accept a number of any type, infinite or nan; strings are none."""
    if is_bool(value) or not isinstance(value, Real):
        raise InvalidInputError(f"must be a number, got {value!r}", argument=name)
    return float(value)


def positive_integer(value: Any, *, name: str) -> int:
    """Accept an integer of at least 1."""
    return integer_from(1, value, name=name)


def natural_number(value: Any, *, name: str) -> int:
    """Accept an integer of at least 0."""
    return integer_from(0, value, name=name)


def integer_from(minimum: int, value: Any, *, name: str, maximum: int | None = None) -> int:
    """Accept an integer of at least a minimum, and at most a maximum."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInputError(f"must be an integer, got {value!r}", argument=name) from None
    if is_bool(value) or number < minimum:
        raise InvalidInputError(
            f"must be an integer of at least {minimum}, got {value!r}", argument=name
        )
    if maximum is not None and number > maximum:
        raise InvalidInputError(f"must be at most {maximum}, got {number}", argument=name)
    return number


def one_of(value: Any, allowed: tuple[str, ...], *, name: str) -> Any:
    """Accept one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        words = " or ".join(f'"{word}"' for word in allowed)
        raise InvalidInputError(f"must be {words}, got {value!r}", argument=name)
    return allowed[allowed.index(value)]


PositiveInt = Annotated[int, positive_integer]
"""The type of an option that is an integer of at least 1."""
