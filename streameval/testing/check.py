"""The laws of accumulators, and `check_accumulator`, which tries them all."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

import streameval as se
from streameval.states import Column, FixedPoint
from streameval.testing.trial import (
    Make,
    Trial,
    arrays_of,
    broken,
    by_rows,
    copied,
    result_text,
    scribble,
)

_SHOWN = 200  # characters of a value in a message


class Broken(Exception):  # noqa: N818 - what leaves this package is an AssertionError
    """A law does not hold."""


def claim(holds: object, otherwise: str) -> None:
    """Raise Broken with a message, unless a claim holds."""
    if not holds:
        raise Broken(f"{otherwise}.")


def same(what: str, one: Any, other_what: str, other: Any) -> None:
    """Claim that two accumulators have the same bytes."""
    if one.to_bytes() != other.to_bytes():
        raise Broken(f"{what} and {other_what} differ. {_difference(one, other)}")


def same_numbers(trial: Trial, what: str, one: Any, other_what: str, other: Any) -> None:
    """Claim that two accumulators give the same numbers."""
    mine, theirs = trial.numbers(one), trial.numbers(other)
    claim(mine == theirs, f"{what} gives {_cut(mine)}, and {other_what} {_cut(theirs)}")


@contextmanager
def unchanged(accumulator: Any, what: str, by: str) -> Iterator[None]:
    """Claim that the block does not change an accumulator."""
    before = accumulator.to_bytes()
    yield
    if accumulator.to_bytes() != before:
        kept = type(accumulator).from_bytes(before)
        raise Broken(f"{by} changed {what}. {_difference(accumulator, kept)}")


def _difference(one: Any, other: Any) -> str:
    """List the options and state fields in which two accumulators differ."""
    pairs = [(f"option {name}", value, other.options[name]) for name, value in one.options.items()]
    mine, theirs = one._state, other._state
    pairs += [
        (field.name, getattr(mine, field.name), getattr(theirs, field.name))
        for field in attrs.fields(type(mine))
    ]
    parts = [f"{name}: {_values(a, b)}" for name, a, b in pairs if a != b]
    return f"{'; '.join(parts) or 'Their bytes alone do'}."


def _values(a: Any, b: Any) -> str:
    """Show two different values, as numbers if these differ."""
    numbers = _numbers(a), _numbers(b)
    one, other = numbers if numbers[0] != numbers[1] else (a, b)
    return f"{shown(one)} and {shown(other)}"


def _numbers(value: Any) -> Any:
    if isinstance(value, FixedPoint):
        return value.to_numbers().tolist()
    return value.values.tolist() if isinstance(value, Column) else value


def shown(value: Any) -> str:
    """Show a value on one line, truncated."""
    return _cut(" ".join(repr(value).split()))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


Law = Callable[[Trial], None]

LAWS: dict[str, Law] = {}
"""Every law by name, in the order of the checks: the ones that others depend on come first."""

_PARTS = 4


def check_accumulator(
    make: Make,
    batches: Iterable[Any],
    *,
    cut: Callable[[Any, int], Sequence[Any]] | None = by_rows,
    refused: Sequence[Any] = (),
    incompatible: Sequence[Make] = (),
    skip: Collection[str] = (),
) -> None:
    """Check that an accumulator obeys every law.

    Bytes and numbers do not depend on how the examples are cut, spread and merged; a failed
    update leaves no trace; no argument is kept or written to; accumulators that are decoded,
    copied or unpickled are equal and independent. `streameval.testing.LAWS` lists the laws. They
    only find what the batches can show, so pass several, with the sizes and values that matter,
    and with weights if the class takes them.

    Parameters
    ----------
    make : callable
        Makes a new accumulator that has counted nothing.
    batches : iterable
        Batches for `update`: mappings or tuples of arrays.
    cut : callable or None, optional
        ``cut(batch, n)`` gives n batches that together hold the same examples. By default
        rows are dealt out in turn; None if batches cannot be cut.
    refused : sequence, optional
        Batches that `update` must refuse. Batches with an array missing, too short or invalid
        are tried in any case: `update` may refuse them, and must then leave no trace.
    incompatible : sequence of callables, optional
        Each makes an accumulator with other options, which must not merge with one of `make`.
    skip : collection of str, optional
        The names of laws to skip.

    Raises
    ------
    AssertionError
        When a law does not hold; the message names the law and the difference.
    InvalidInputError
        When there is nothing to check: no accumulator, or no batch that counts.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.testing import check_accumulator
    >>> batches = [([3.0, -0.5], [2.5, 0.0]), ([2.0, 7.0, 1.0], [2.0, 8.0, 0.1])]
    >>> check_accumulator(se.RegressionAccumulator, batches)
    """
    unknown = sorted(set(skip) - set(LAWS))
    if unknown:
        raise se.InvalidInputError(
            f"must name laws, {', '.join(LAWS)}, got {unknown[0]!r}", argument="skip"
        )
    trial = Trial.of(make, batches, cut=cut, refused=refused, incompatible=incompatible)
    for name, law in LAWS.items():
        if name not in skip:
            law(trial)


def _law(check: Law) -> Law:
    """Register a law, and name it in the error if it does not hold or anything is raised."""

    @functools.wraps(check)
    def law(trial: Trial) -> None:
        try:
            check(trial)
        except Broken as error:
            said, cause = str(error), None
        except Exception as error:
            said, cause = f"{type(error).__name__} was raised: {error}", error
        else:
            return
        name = type(trial.make()).__name__
        raise AssertionError(f"{name} breaks the law {check.__name__}: {said}") from cause

    LAWS[check.__name__] = law
    return law


@_law
def update_returns_the_accumulator(trial: Trial) -> None:
    """`update` returns the accumulator itself."""
    accumulator = trial.make()
    returned = trial.update(accumulator, copied(trial.batches[0]))
    claim(returned is accumulator, f"update returned {shown(returned)}")


@_law
def arguments_are_not_kept(trial: Trial) -> None:
    """Writing over the arrays that were passed changes nothing that was counted."""
    accumulator, passed = trial.make(), []
    for batch in trial.batches:
        given = copied(batch)
        trial.update(accumulator, given)
        passed += arrays_of(given)
    for array in passed:
        scribble(array)
    same("with its arguments written over", accumulator, "without", trial.whole())


@_law
def arguments_are_not_written_to(trial: Trial) -> None:
    """`update` does not change the arrays that it receives."""
    for batch in trial.batches:
        given = copied(batch)
        trial.update(trial.make(), given)
        for was, now in zip(arrays_of(batch), arrays_of(given), strict=True):
            claim(_are_equal(was, now), f"update wrote to an array of {shown(batch)}")


@_law
def an_empty_batch_changes_nothing(trial: Trial) -> None:
    """A batch without rows changes nothing."""
    for batch in [] if trial.cut is None else trial.empty_batches():
        for accumulator in (trial.make(), trial.whole()):
            with unchanged(accumulator, "the accumulator", "an empty batch"):
                trial.update(accumulator, batch)


@_law
def a_failed_update_leaves_no_trace(trial: Trial) -> None:
    """An update that raises leaves everything as it was."""
    for batch in trial.refused:
        accumulator = trial.whole()
        with unchanged(accumulator, "the accumulator", f"refusing {shown(batch)}"):
            if _takes(trial, accumulator, batch):
                raise Broken(f"update took what it must refuse, {shown(batch)}.")
    before = trial.whole().to_bytes()
    refused: list[Any] = []
    accumulator = trial.whole()
    for spoilt in itertools.chain.from_iterable(broken(batch) for batch in trial.batches):
        if _takes(trial, accumulator, spoilt):  # which changes it: go on with another one
            accumulator = trial.whole()
            for earlier in refused:
                _takes(trial, accumulator, earlier)
        else:
            refused.append(spoilt)
    if accumulator.to_bytes() == before:
        return
    for spoilt in refused:
        accumulator = trial.whole()
        _takes(trial, accumulator, spoilt)
        claim(accumulator.to_bytes() == before, f"refusing {shown(spoilt)} changed the accumulator")
    raise Broken(f"refusing {len(refused)} batches, one after another, changed the accumulator.")


@_law
def copies_are_independent(trial: Trial) -> None:
    """Updates, merges and resets of a copy do not reach the original, nor the reverse."""
    first, second = trial.dealt(2)
    for is_original in (True, False):
        original = trial.count(first)
        pair = original, original.copy()
        changed, kept = pair if is_original else pair[::-1]
        with unchanged(kept, "the one", "an update, merge and reset of the other"):
            trial.add(changed, second).merge(trial.make()).reset()


@_law
def compute_changes_nothing(trial: Trial) -> None:
    """`compute` is repeatable and keeps the state; later updates do not change its result."""
    first, second = trial.dealt(2)
    accumulator = trial.count(first)
    with unchanged(accumulator, "the accumulator", "compute"):
        numbers = trial.numbers(accumulator)
        claim(trial.numbers(accumulator) == numbers, "compute gave other numbers again")
        result = accumulator.compute()
    text = result_text(result)
    trial.add(accumulator, second)
    claim(result_text(result) == text, "an update changed a result that compute had given")


@_law
def reset_forgets_everything(trial: Trial) -> None:
    """After `reset` an accumulator equals a new one, and counts like one."""
    accumulator = trial.whole()
    claim(accumulator.reset() is accumulator, "reset must return the accumulator itself")
    same("after reset", accumulator, "a new one", trial.make())
    trial.add(accumulator, trial.batches)
    same("counted after reset", accumulator, "counted by a new one", trial.whole())


@_law
def bytes_are_read_back(trial: Trial) -> None:
    """A decoded accumulator equals the encoded one, and has the same bytes and numbers."""
    for accumulator in (trial.make(), trial.whole()):
        data = accumulator.to_bytes()
        claim(accumulator.to_bytes() == data, "to_bytes gave other bytes again")
        readers = {"from_bytes": type(accumulator).from_bytes, "se.from_bytes": se.from_bytes}
        for name, read in readers.items():
            found = read(data)
            claim(type(found) is type(accumulator), f"{name} gave a {type(found).__name__}")
            same(f"what {name} read", found, "what was written", accumulator)
            claim(found == accumulator, f"what {name} read is not equal to what was written")
            same_numbers(trial, f"what {name} read", found, "what was written", accumulator)


@_law
def damaged_bytes_are_refused(trial: Trial) -> None:
    """Truncated or changed bytes raise CorruptStateError."""
    data = trial.whole().to_bytes()
    for position in range(0, len(data), max(len(data) // 32, 1)):
        flipped = bytearray(data)
        flipped[position] ^= 1
        for damaged in (data[:position], bytes(flipped)):
            try:
                se.from_bytes(damaged)
            except se.CorruptStateError:
                continue
            raise Broken(f"bytes with damage at {position} were read.")


@_law
def equality_is_that_of_the_bytes(trial: Trial) -> None:
    """Accumulators are equal if and only if their bytes are."""
    whole, a, b = trial.whole(), *trial.parts(2)
    claim(whole == trial.whole(), "two that have counted the same are not equal")
    for one, other in [(whole, a), (whole, b), (a, b), (whole, trial.make()), (whole, a + b)]:
        are_same = one.to_bytes() == other.to_bytes()
        claim((one == other) is are_same, f"{one!r} == {other!r} is not what their bytes say")
        claim((one != other) is not are_same, f"{one!r} != {other!r} is not what their bytes say")


@_law
def stopping_and_going_on_equals_never_stopping(trial: Trial) -> None:
    """Copying, pickling, or encoding and decoding between batches makes no difference."""
    ways: list[Callable[[Any], Any]] = [
        lambda one: one.copy(),
        lambda one: se.from_bytes(one.to_bytes()),
        copy.deepcopy,  # by __reduce__, as pickle
        lambda one: _loaded(trial.make(), one.state_dict()),
    ]
    whole = trial.whole()
    for way in ways:
        accumulator = way(trial.make())
        for batch in trial.batches:
            accumulator = way(trial.add(accumulator, [batch]))
        same("stopped and gone on", accumulator, "never stopped", whole)


@_law
def merging_leaves_its_arguments_alone(trial: Trial) -> None:
    """`+`, `merge` and `se.merge` change nothing but the accumulator that is merged into."""
    first, second, third = trial.dealt(3)
    a, b = trial.count(first), trial.count(second)
    with unchanged(a, "a", "a merge of a and b"), unchanged(b, "b", "a merge of a and b"):
        for merged in (a + b, se.merge([a, b]), trial.make().merge(a, b)):
            trial.add(merged, third)
    with unchanged(b, "b", "a.merge(b)"):
        claim(a.merge(b) is a, "merge must return the accumulator itself")
        trial.add(a, third)


@_law
def merge_has_an_identity(trial: Trial) -> None:
    """Merging with an accumulator that has counted nothing changes nothing."""
    whole = trial.whole()
    same("a + empty", whole + trial.make(), "a", whole)
    same("empty + a", trial.make() + whole, "a", whole)


@_law
def merge_is_associative(trial: Trial) -> None:
    """(a + b) + c and a + (b + c) are the same bytes."""
    a, b, c = trial.parts(3)
    same("(a + b) + c", (a + b) + c, "a + (b + c)", a + (b + c))


@_law
def merge_is_commutative(trial: Trial) -> None:
    """a + b and b + a are the same bytes."""
    a, b = trial.parts(2)
    same("a + b", a + b, "b + a", b + a)


@_law
def merging_with_itself_doubles(trial: Trial) -> None:
    """a.merge(a) and a + a are all batches counted twice."""
    whole = trial.whole()
    twice = trial.count([*trial.batches, *trial.batches])
    same("a + a", whole + whole, "all batches counted twice", twice)
    same("a.merge(a)", whole.merge(whole), "all batches counted twice", twice)


@_law
def any_cut_gives_the_same_bytes_and_numbers(trial: Trial) -> None:
    """However the examples are spread and merged, bytes and numbers are the same."""
    whole, parts = trial.whole(), trial.parts(_PARTS)
    merged = se.merge(parts)
    everything = "one accumulator of all batches"
    same("the merge of parts", merged, everything, whole)
    same("their merge one by one", se.merge(iter(parts[::-1])), everything, whole)
    tree = (parts[3] + parts[1]) + (parts[0] + parts[2])
    same("their merge as a tree", tree, everything, whole)
    same_numbers(trial, "the merge of parts", merged, everything, whole)


@_law
def any_order_of_updates_gives_the_same_bytes(trial: Trial) -> None:
    """Pieces of the batches give the same bytes, in whatever order they are counted."""
    pieces = [piece for part in trial.dealt(_PARTS) for piece in part]
    whole = trial.whole()
    same("pieces", trial.count(pieces), "whole batches", whole)
    same("the pieces backwards", trial.count(pieces[::-1]), "whole batches", whole)


@_law
def others_are_refused(trial: Trial) -> None:
    """Merging with another class or other options raises, and changes neither."""
    for other in [_of_another_class(trial.make()), *(make() for make in trial.incompatible)]:
        for a, b in [(trial.whole(), other), (other, trial.whole())]:
            with unchanged(a, "a", "a merge that failed"), unchanged(b, "b", "a failed merge"):
                try:
                    a.merge(a, b)
                except se.IncompatibleStateError:
                    continue
                raise Broken(f"{a!r} was merged with {b!r}.")


def _takes(trial: Trial, accumulator: Any, batch: Any) -> bool:
    """Check whether an update accepts a batch; any error is a refusal."""
    try:
        trial.update(accumulator, batch)
    except Exception:
        return False
    return True


def _are_equal(one: Any, other: Any) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def _loaded(accumulator: Any, state_dict: dict[str, str]) -> Any:
    accumulator.load_state_dict(state_dict)
    return accumulator


def _of_another_class(accumulator: Any) -> Any:
    if isinstance(accumulator, se.RegressionAccumulator):
        return se.ConfusionAccumulator()
    return se.RegressionAccumulator()
