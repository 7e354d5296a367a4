"""Definitions of classes of accumulators, and how their options and states are read from bytes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import attrs

from streameval.accumulators.registry import check_type
from streameval.errors import InvalidInputError, corrupt, require
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.fields import (
    bases,
    check_values,
    field_types,
    fields_of,
    make_state,
    omitted_defaults,
    written_values,
)
from streameval.states.stack import NOTHING, form_of
from streameval.states.state import READ_ERRORS, State
from streameval.states.type_ids import FIRST_OPEN_ID

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
    """The parts of a class of accumulators.

    Parameters
    ----------
    type_id, name : int and str
        The id and the name in the bytes.
    config : type
        The attrs class of the options.
    state : type or None
        The class of the states; None if it depends on the options.
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
    """

    type_id: int
    name: str
    config: type[Any]
    state: type[Any] | None
    signature: inspect.Signature
    known: dict[bytes, Any] = attrs.field(init=False, factory=dict)
    shared: WeakKeyDictionary[Any, ref[Any]] = attrs.field(init=False, factory=WeakKeyDictionary)
    written: WeakKeyDictionary[Any, str] = attrs.field(init=False, factory=WeakKeyDictionary)

    @property
    def is_open(self) -> bool:
        """Whether the class is not one of this library."""
        return self.type_id >= FIRST_OPEN_ID

    @classmethod
    def of(
        cls, owner: Any, type_id: int, name: str, config: type[Any] | None, state: type[Any] | None
    ) -> Definition:
        """Check the definition of a class, or raise TypeError."""
        check_type(owner, type_id, name)
        signature = _signature(owner._arrays, owner._optional_arrays)
        made = cls(type_id, name, NoOptions if config is None else config, state, signature)
        if made.is_open:
            made._check_config()
        made._check_defaults()
        if made.is_open:
            made._check_state()
            if not owner._arrays:
                raise TypeError("`arrays` must name what `update` takes, got nothing.")
        return made

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The errors that hostile bytes may raise; user code may raise anything."""
        return (Exception,) if self.is_open else READ_ERRORS

    def make_config(self, options: dict[str, Any]) -> Any:
        """Make a configuration of checked options."""
        return self.config(**options) if self.is_open else self.config.of(**options)

    def share(self, config: Any) -> Any:
        """Return the shared object of equal options, which makes comparisons fast."""
        if self.is_open:  # user-defined classes may be unhashable, or equal although they differ
            return config
        held = self.shared.get(config)
        found = None if held is None else held()
        if found is None:
            self.shared[config] = ref(config)
            return config
        return found

    def check_written(self, config: Any) -> None:
        """Raise InvalidInputError unless options of an open class are read as they are written."""
        if not self.is_open:
            return
        from streameval.states.codec import is_kept  # noqa: PLC0415 (for bytes alone)

        for name, value in fields_of(config).items():
            if not is_kept(value):
                raise InvalidInputError(
                    f"must be a number, text, True, False, None or a tuple of these, got {value!r}",
                    argument=name,
                )

    def check_state(self, state: Any) -> None:
        """Raise TypeError unless a state of an open class can be read once it is written."""
        if not self.is_open:
            return
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

    def settings(self, config: Any) -> str:
        """Write options as a header has them; those of a class of this library are kept."""
        found = None if self.is_open else self.written.get(config)
        if found is None:
            from streameval.states.codec import settings_json  # noqa: PLC0415 (for bytes alone)

            found = settings_json(written_values(config))
            if not self.is_open:
                self.written[config] = found
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
        if self.is_open:
            check_values(fields)
        state = make_state(state_type, fields)
        state.check(config)
        return state

    def _check_config(self) -> None:
        if not _is_frozen(self.config):
            raise TypeError(f"`config` must be a frozen attrs class, got {self.config!r}.")

    def _check_defaults(self) -> None:
        """Check that readers of the bytes can fill in what is omitted."""
        config: Any = self.config
        for name, default in omitted_defaults(config).items():
            if default is attrs.NOTHING or isinstance(default, attrs.Factory):  # type: ignore[arg-type]
                raise TypeError(
                    f"`{name}` of {self.config.__name__} needs a constant default to be omitted."
                )

    def _check_state(self) -> None:
        state: Any = self.state
        if not _is_frozen(state) or not issubclass(state, State):
            raise TypeError(
                "`state` must be a frozen attrs class under streameval.states.State, "
                f"got {state!r}."
            )
        for name, type_name in field_types(state).items():
            if type_name not in _FIELD_TYPES:
                allowed = ", ".join(_FIELD_TYPES)
                raise TypeError(
                    f"`state` must have fields of {allowed}, got {type_name} for {name}."
                )
        for name, default in omitted_defaults(state).items():
            if not isinstance(default, (Column, FixedPoint)) or form_of(default) not in NOTHING:
                raise TypeError(
                    f"`{name}` of a state needs an empty Column or FixedPoint as the default "
                    "to be omitted."
                )


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
