"""Definitions of classes of accumulators, and how their options and states are read from bytes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary, ref

import attrs

from streameval.errors import (
    IncompatibleStateError,
    InvalidInputError,
    UnknownTypeError,
    corrupt,
    require,
)
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.stack import NOTHING, form_of
from streameval.states.state import (
    READ_ERRORS,
    State,
    bases,
    check_values,
    field_types,
    fields_of,
    make_state,
    omitted_defaults,
    written_values,
)
from streameval.states.type_ids import FIRST_OPEN_ID, OWN_TYPES, is_type_name

if TYPE_CHECKING:
    from streameval.states.codec import EncodedParts

_MAX_KNOWN = 64  # headers of a class
_KNOWN_SIZE = 2**12  # bytes of a header; options of small ones are worth keeping
_KNOWN_PAYLOAD = 2**16  # reading larger ones takes longer than reading options
_FIELD_TYPES = ("FixedPoint", "ExactSum", "Column", "int", "float", "bool", "str", "tuple")


@attrs.frozen(kw_only=True)
class NoOptions:
    """The configuration of a class whose accumulators all count the same."""


@attrs.frozen(eq=False, repr=False)
class Definition:
    """The parts of a class of accumulators, of this library: its options and states are trusted.

    Parameters
    ----------
    type_id, name : int and str
        The id and the name in the bytes.
    config : type
        The attrs class of the options.
    state : type, callable or None
        The class of the states, or what chooses it for a configuration; None if states have no
        fields of their own.
    signature : Signature
        The signature of an `update` that reads the arrays of the class.

    Attributes
    ----------
    known : dict
        The options of some headers that have been read, and were in canonical form.
    shared : mapping
        The options in use, so that accumulators with equal ones share one object.
    written : mapping
        The settings of options in use, as a header has them.
    is_open : bool
        Whether the class is not one of this library.
    errors : tuple of types
        The errors that hostile bytes may raise.
    """

    type_id: int
    name: str
    config: type[Any]
    state: Callable[[Any], type[Any]] | type[Any] | None
    signature: inspect.Signature
    known: dict[bytes, Any] = attrs.field(init=False, factory=dict)
    shared: WeakKeyDictionary[Any, ref[Any]] = attrs.field(init=False, factory=WeakKeyDictionary)
    written: WeakKeyDictionary[Any, str] = attrs.field(init=False, factory=WeakKeyDictionary)

    is_open: ClassVar[bool] = False
    errors: ClassVar[tuple[type[Exception], ...]] = READ_ERRORS

    @staticmethod
    def of(owner: Any, type_id: int, name: str, config: type[Any] | None, state: Any) -> Definition:
        """Check the definition of a class, or raise TypeError."""
        check_type(owner, type_id, name)
        signature = _signature(owner._arrays, owner._optional_arrays)
        kind = _Foreign if type_id >= FIRST_OPEN_ID else Definition
        made = kind(type_id, name, NoOptions if config is None else config, state, signature)
        made.check_class(owner)
        return made

    def check_class(self, owner: Any) -> None:  # noqa: ARG002 - for subclasses
        """Check that readers of the bytes can fill in the options that are omitted."""
        config: Any = self.config
        for name, default in omitted_defaults(config).items():
            if default is attrs.NOTHING or isinstance(default, attrs.Factory):  # type: ignore[arg-type]
                raise TypeError(
                    f"`{name}` of {config.__name__} needs a constant default to be omitted."
                )

    def make_config(self, options: dict[str, Any]) -> Any:
        """Check the options and make a configuration of them."""
        config: Any = self.config
        return config.of(**options)

    def share(self, config: Any) -> Any:
        """Return the shared object of equal options, which makes comparisons fast."""
        held = self.shared.get(config)
        found = None if held is None else held()
        if found is None:
            self.shared[config] = ref(config)
            return config
        return found

    def check_written(self, config: Any) -> None:
        """Raise InvalidInputError unless options are read as they are written."""

    def check_state(self, state: Any) -> None:
        """Raise TypeError unless a state can be read once it is written."""

    def check_fields(self, fields: dict[str, Any]) -> None:
        """Refuse fields that `make_state` cannot be given, beyond their types."""

    def settings(self, config: Any) -> str:
        """Write options as a header has them, once for each shared object."""
        found = self.written.get(config)
        if found is None:
            found = self.written[config] = _settings(config)
        return found

    def read_config(self, parts: EncodedParts) -> Any:
        """Make the configuration that a header describes."""
        config: Any = self.config
        defaults = omitted_defaults(config)
        every = {field.name for field in attrs.fields(self.config)}
        is_complete = every - defaults.keys() <= parts.header["config"].keys() <= every
        require(is_complete, "the options are not those of this version")
        return self.share(self.make_config({**defaults, **parts.options}))

    def remember(self, config: Any, parts: EncodedParts) -> None:
        """Keep the options of a canonical header: other states are likely to have the same."""
        if len(parts.header_bytes) > _KNOWN_SIZE or len(parts.payload) > _KNOWN_PAYLOAD:
            return
        if len(self.known) >= _MAX_KNOWN:
            self.known.clear()
        self.known[parts.header_bytes] = config

    def read_state(self, state_type: Any, config: Any, parts: EncodedParts) -> Any:
        """Create the state from bytes, and check first the fields, then their values."""
        types, above = field_types(state_type), bases(state_type)
        defaults = omitted_defaults(state_type)
        described = parts.header["state"]
        if described.keys() != types.keys():
            is_complete = types.keys() - defaults.keys() <= described.keys() <= types.keys()
            is_complete &= {above[name] for name in above if name in described} <= described.keys()
            require(is_complete, "the fields are not those of this version")
        written = parts.fields((name for name in types if name in described), above)
        for name, value in written.items():
            if type(value).__name__ != types[name]:
                raise corrupt(f"field {name}")
        fields = defaults | written
        self.check_fields(fields)
        state = make_state(state_type, fields)
        state.check(config)
        return state


@attrs.frozen(eq=False, repr=False)
class _Foreign(Definition):
    """A user's class: all is checked, and nothing is expected of its options but their values."""

    is_open = True
    errors = (Exception,)

    def check_class(self, owner: Any) -> None:
        """Raise TypeError unless the class can be read once it is written."""
        if not _is_frozen(self.config):
            raise TypeError(f"`config` must be a frozen attrs class, got {self.config!r}.")
        super().check_class(owner)
        _check_state_class(self.state)
        if not owner._arrays:
            raise TypeError("`arrays` must name what `update` takes, got nothing.")

    def make_config(self, options: dict[str, Any]) -> Any:
        """Make a configuration, which checks its options itself."""
        return self.config(**options)

    def share(self, config: Any) -> Any:
        """Return the options themselves."""
        return config  # it may be unhashable, or equal to one that differs

    def settings(self, config: Any) -> str:
        """Write options as a header has them, each time."""
        return _settings(config)

    def check_written(self, config: Any) -> None:
        """Raise InvalidInputError unless options are values that bytes keep."""
        from streameval.states.codec import is_kept  # noqa: PLC0415 (for bytes alone)

        for name, value in fields_of(config).items():
            if not is_kept(value):
                raise InvalidInputError(
                    f"must be a number, text, True, False, None or a tuple of these, got {value!r}",
                    argument=name,
                )

    def check_state(self, state: Any) -> None:
        """Raise TypeError unless a state has the declared class and types."""
        expected: Any = self.state
        types = field_types(expected)
        if type(state) is not expected:
            got = type(state).__name__
            raise TypeError(f"the state must be a {expected.__name__}, got a {got}.")
        for name, value in fields_of(state).items():
            got = type(value).__name__
            if got != types[name]:
                raise TypeError(
                    f"`{name}` of a {type(state).__name__} must be {types[name]}, got {got}."
                )
        check_values(fields_of(state))

    def check_fields(self, fields: dict[str, Any]) -> None:
        """Refuse values that a field of a user's class cannot hold."""
        check_values(fields)


def _settings(config: Any) -> str:
    from streameval.states.codec import settings_json  # noqa: PLC0415 (for bytes alone)

    return settings_json(written_values(config))


def _check_state_class(state: Any) -> None:
    if not _is_frozen(state) or not issubclass(state, State):
        raise TypeError(
            f"`state` must be a frozen attrs class under streameval.states.State, got {state!r}."
        )
    for name, type_name in field_types(state).items():
        if type_name not in _FIELD_TYPES:
            allowed = ", ".join(_FIELD_TYPES)
            raise TypeError(f"`state` must have fields of {allowed}, got {type_name} for {name}.")
    for name, default in omitted_defaults(state).items():
        if not isinstance(default, (Column, FixedPoint)) or form_of(default) not in NOTHING:
            raise TypeError(
                f"`{name}` of a state needs an empty Column or FixedPoint as the default "
                "to be omitted."
            )


def check_alike(config: Any, other: Any, verb: str) -> None:
    """Refuse other options of the same class; the message names the first that differs."""
    if config is not other and not config == other:  # noqa: SIM201 - attrs answers it faster
        option, difference = _difference_of(config, other)
        raise IncompatibleStateError(difference, argument=option, where=f"cannot {verb}: ")


def _difference_of(config: Any, other: Any) -> tuple[str, str]:
    """Name the first option in which two configurations of a class differ, and say how."""
    from streameval.configs.collection import CollectionConfig  # noqa: PLC0415 (for errors alone)
    from streameval.configs.inner import OuterConfig  # noqa: PLC0415 (for errors alone)

    if isinstance(config, CollectionConfig) and config.names == other.names:
        triples = zip(config.names, config.members, other.members, strict=True)
        name, *members = next(triple for triple in triples if triple[1] != triple[2])
        return "members", f"differs: for {name!r} {_member_difference(*members)}"
    if isinstance(config, OuterConfig) and config.accumulator != other.accumulator:
        mine, theirs = config.accumulator, other.accumulator
        if mine.cls is not theirs.cls:
            return "accumulator", f"differs ({mine.cls.__name__} and {theirs.cls.__name__})"
        option, difference = _difference_of(mine.options, theirs.options)
        return "accumulator", f"differs: `{option}` {difference}"
    pairs = ((name, mine, getattr(other, name)) for name, mine in fields_of(config).items())
    option, mine, theirs = next(pair for pair in pairs if pair[1] != pair[2])
    return option, f"differs ({mine!r} and {theirs!r})"


def _member_difference(mine: Any, theirs: Any) -> str:
    if mine.cls is not theirs.cls:
        return f"the class differs ({mine.cls.__name__} and {theirs.cls.__name__})"
    if mine.options == theirs.options:
        return f"`columns` differs ({mine.columns} and {theirs.columns})"
    option, difference = _difference_of(mine.options, theirs.options)
    return f"`{option}` {difference}"


def _signature(arrays: tuple[str, ...], optional: tuple[str, ...]) -> inspect.Signature:
    """Return the signature of an `update` whose first argument may be a batch of all the others."""
    make = inspect.Parameter
    parameters = [make(name, make.POSITIONAL_OR_KEYWORD) for name in arrays[:1]]
    parameters += [make(name, make.POSITIONAL_OR_KEYWORD, default=None) for name in arrays[1:]]
    parameters += [make(name, make.KEYWORD_ONLY, default=None) for name in optional]
    return inspect.Signature(parameters)


def _is_frozen(cls: Any) -> bool:
    """Return whether a class is itself a frozen attrs class."""
    return isinstance(cls, type) and "__attrs_attrs__" in vars(cls) and cls.__hash__ is not None


_LAST_ID = 0xFFFF
_PACKAGE = "streameval"
_MAIN = ("__main__", "__mp_main__")

_open: dict[int, type[Any]] = {}


def check_type(cls: type[Any], type_id: Any, name: Any) -> None:
    """Raise TypeError unless a class may have this type id and this name."""
    if type(type_id) is not int or not 0 < type_id <= _LAST_ID:
        raise TypeError(f"`type_id` must be from 0x8000 to 0xffff, got {type_id!r}.")
    if not is_type_name(name):
        raise TypeError(f"`name` must be printable text of 1 to 128 characters, got {name!r}.")
    if type_id >= FIRST_OPEN_ID:
        holder = _open.get(type_id)
        if holder is not None and not _is_defined_again(holder, cls):
            raise TypeError(
                f"type id {type_id:#x} is that of {_where(holder)}, so {_where(cls)} "
                "needs another one."
            )
    elif OWN_TYPES.get(type_id) != name or cls.__module__.partition(".")[0] != _PACKAGE:
        raise TypeError(
            f"type id {type_id:#x} is not for {_where(cls)}: ids below 0x8000 are streameval's own."
        )


def register(cls: type[Any]) -> None:
    """Register a class to read the bytes with its type id."""
    if cls.type_id >= FIRST_OPEN_ID:
        _open[cls.type_id] = cls


def open_class(parts: EncodedParts) -> type[Any]:
    """Find the class of bytes whose type id is open to others.

    Raises
    ------
    UnknownTypeError
        When no class of this type id and name is defined.
    """
    found = _open.get(parts.type_id)
    held = f"these bytes hold a {parts.type_name} (type id {parts.type_id:#x})"
    if found is None:
        raise UnknownTypeError(
            f"{held}, which is not defined here. Import the module that defines it first."
        )
    if found.type_name != parts.type_name:
        raise UnknownTypeError(f"{held}, and here that type id is of {found.type_name}.")
    return found


def _is_defined_again(holder: type[Any], cls: type[Any]) -> bool:
    """Tell whether a class was known already because its module ran again.

    A script is `__main__`, `__mp_main__` in the processes it spawns, and itself if imported.
    """
    if holder.__qualname__ != cls.__qualname__:
        return False
    modules = holder.__module__, cls.__module__
    return modules[0] == modules[1] or any(module in _MAIN for module in modules)


def _where(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
