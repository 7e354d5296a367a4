"""States of many groups as flat columns: equal to those put in, canonical bytes, hostile bytes."""

from __future__ import annotations

import json
import struct
import tracemalloc
import types
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.cases import LAWS
from offenders import each
from profiles import cases, quick_cases
from small_states import EVERY, ONCE
from unit.test_hostile_bytes import fuzzed

import streameval as se
from streameval.accumulators.classes import SINGLE_IDS, own_class
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.confusion import MatrixCounts
from streameval.states.flat import FlatStates
from streameval.states.stack import StackableState
from streameval.states.state import State
from streameval.states.type_ids import OWN_TYPES

SINGLE = [name for name, make in EVERY.items() if make().type_id in SINGLE_IDS]
every_state = each("name", SINGLE)


def singles(accumulator: Any) -> list[Any]:
    """The accumulator, or the members of a collection, but those that hold groups of clusters."""
    if isinstance(accumulator, se.Collection):
        members = accumulator._held.accumulators
        return [one for one in members if not isinstance(one, se.Clustered)]
    return [accumulator]


def flat_of(accumulators: Sequence[Any]) -> FlatStates:
    first = accumulators[0]
    states = [accumulator._state for accumulator in accumulators]
    return FlatStates.of(first._config, states, type(first)._state_type(first._config))


def decoded(flat: FlatStates, data: bytes) -> FlatStates:
    return FlatStates.decode(flat.state_type, flat.config, data)


def variants(name: str) -> list[Any]:
    """An empty accumulator, one with rows, and one with twice as many."""
    made = EVERY[name]()
    twice = [] if name in ONCE or name == "open_queries" else [made + made]
    return [made.copy().reset(), made, *twice, made.copy().reset(), made]


@pytest.mark.slow
@every_state
@each("n_states", [0, 1, 2, 5])
def test_states_are_those_put_in_before_and_after_bytes(name: str, n_states: int) -> None:
    made = EVERY[name]()
    states = [one._state for one in variants(name)][:n_states]
    flat = FlatStates.of(made._config, states, type(made)._state_type(made._config))
    for held in (flat, decoded(flat, flat.encode())):
        assert len(held) == len(states)
        assert list(held) == states
        (totals,) = held.weights(np.arange(len(held)), len(held))
        assert totals.shape == (len(states),)
        assert totals.units() == [
            total << (0 if total_is_whole else 62) if one.n.is_whole else total
            for one, total_is_whole in ((one, totals.is_whole) for one in states)
            for total in one.n.units()
        ]


LAWS_OF_SINGLE = {own_class(OWN_TYPES[number]).__name__ for number in SINGLE_IDS} | {"Collection"}


@pytest.mark.parametrize("name", [name for name in LAWS if name in LAWS_OF_SINGLE])
@given(data=st.data())
@fuzzed
def test_random_states_are_those_put_in(name: str, data: st.DataObject) -> None:
    case = data.draw(LAWS[name].cases)
    parts = data.draw(st.lists(st.integers(0, 3), min_size=case.size, max_size=case.size))
    groups = [case.of(np.flatnonzero(np.array(parts, dtype=int) == part)) for part in range(4)]
    for members in zip(*map(singles, groups), strict=True):
        flat = flat_of(members)
        data_of_all = flat.encode()
        read = decoded(flat, data_of_all)
        assert list(flat) == list(read) == [member._state for member in members]
        assert read.encode() == data_of_all
        assert [
            member._make(flat.config, read.state(at)).to_bytes()
            for at, member in enumerate(members)
        ] == [member.to_bytes() for member in members]


@pytest.mark.uncovered
@pytest.mark.slow
@every_state
def test_flipped_bits_are_refused_or_other_states(name: str) -> None:
    """Bits all over the payload, one after the other; what is let in has bytes of its own."""
    flat = flat_of(variants(name))
    data = flat.encode()
    start = 8 + struct.unpack_from("<Q", data)[0]
    places = range(start, len(data), max(1, (len(data) - start) // cases(300, least=75)))
    n_bits = cases(8)  # of each byte, another one at the next place
    refused = 0
    for place in places:
        for bit in range(place, place + n_bits):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit % 8
            try:
                read = decoded(flat, bytes(damaged))
            except (se.StreamevalError, TypeError, ValueError):
                refused += 1
                continue
            assert read.encode() == damaged
            assert list(read) != list(flat)
    assert refused


@pytest.mark.slow
@every_state
def test_a_block_cut_or_extended_is_refused(name: str) -> None:
    flat = flat_of(variants(name))
    data = flat.encode()
    for size in {
        *range(0, len(data), max(1, len(data) // quick_cases(300, least=30))),
        len(data) - 1,
    }:
        with pytest.raises(se.CorruptStateError):
            decoded(flat, data[:size])
    with pytest.raises(se.CorruptStateError):
        decoded(flat, data + b"\0")


def test_a_block_of_another_form_is_refused() -> None:
    flat = flat_of(variants("binary"))
    data = flat.encode()
    size = struct.unpack_from("<Q", data)[0]
    header, payload = data[8 : 8 + size], data[8 + size :]
    for forged, reason in (
        (b" " + header, "not in canonical form"),
        (header.replace(b'"n.codes"', b'"n.other"'), "the parts of a block"),
        (b"[]", "the parts of a block"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
    ):
        with pytest.raises(se.CorruptStateError, match=reason):
            decoded(flat, struct.pack("<Q", len(forged)) + forged + payload)
    for declared in (2**64 - 1, 2**24 + 1, len(data) - 7):
        with pytest.raises(se.CorruptStateError, match="declares more than there is"):
            decoded(flat, struct.pack("<Q", declared) + data[8:])


BROKEN: dict[str, tuple[str, dict[str, Any], str]] = {
    "a total of other cells": ("binary", {"n": FixedPoint(np.array(5))}, "does not add up to n"),
    "a total that is split": (
        "binary",
        {"n": FixedPoint(np.array(4), np.array(0))},
        "matrix does not add up to n",
    ),
    "a fraction past 1": (
        "binary",
        {"credit": FixedPoint(np.array([[3, 0]]), np.array([[2**62, 0]]))},
        "credit holds fractions outside",
    ),
    "credit of nothing": ("binary", {"credit": FixedPoint.zeros((1, 2))}, "less than the hits"),
    "credit in fractions": (
        "binary",
        {"credit": FixedPoint(np.array([[3, 0]]), np.zeros((1, 2), int))},
        "credit has fractions that n has not",
    ),
    "a negative count": (
        "binary",
        {"matrix": FixedPoint(np.array([[-1, 2], [1, 2]]))},
        "matrix holds negative numbers",
    ),
    "another shape": ("binary", {"matrix": FixedPoint.zeros((4, 1))}, "matrix has shape"),
    "sums past 2**63": (
        "binary",
        {"matrix": FixedPoint(np.full((2, 2), 2**62))},
        "bring the total past",
    ),
    "ties that cannot be": (
        "top_k",
        {"credit": FixedPoint(np.array([[2, 0, 0], [0, 1, 0]]))},
        "credit has impossible ties",
    ),
    "outcomes of another label": (
        "multilabel",
        {"outcomes": FixedPoint(np.full((3, 2, 2), 1))},
        "outcomes do not add up to n",
    ),
    "more right than there are": (
        "multilabel",
        {"exact_match": FixedPoint(np.array(3))},
        "exact_match passes n",
    ),
    "labels out of order": ("met", {"labels": ("b", "a", "日本")}, "labels are not sorted"),
    "a size more": ("curve", {"sizes": Column(np.array([5]))}, "sizes outside the cells"),
    "a size less": ("curve", {"sizes": Column(np.array([3]))}, "sizes of other cells"),
    "a level of nothing": ("curve", {"levels": Column(np.array([1]))}, "level above the lowest"),
    "a level past 64": ("curve", {"levels": Column(np.array([65]))}, "level 65"),
    "another total": ("curve", {"n": FixedPoint(np.array(6))}, "n differs from the sum"),
    "keys of no score": (
        "curve",
        {
            "lo": Column(np.full(4, 2**64 - 1, np.uint64)),
            "hi": Column(np.full(4, 2**64 - 1, np.uint64)),
        },
        "lo holds no keys",
    ),
    "keys that are signed": ("curve", {"sizes": Column(np.array([4], np.uint64))}, "sizes"),
    "fewer positives": ("curve", {"pos": FixedPoint.zeros(3)}, "pos has shape"),
    "a label of no negative": ("named_curve", {"negative_label": ()}, "negative_label"),
    "a fraction of nothing skipped": (
        "curve",
        {"skipped": FixedPoint(np.array(0), np.array(0))},
        "skipped has fractions of nothing",
    ),
    "rows that were not skipped": ("curve", {"skipped": FixedPoint(np.array(1))}, "skipped rows"),
    "a sum below its squares": ("regression", {"squared_error": ExactSum()}, "passes its squares"),
}


@each("n_before", [0, 3])
@each("claim", BROKEN)
def test_a_corrupt_state_is_refused_with_its_index(claim: str, n_before: int) -> None:
    name, changes, reason = BROKEN[claim]
    good = EVERY[name]()
    bad = attrs.evolve(good._state, **changes)
    states = [good._state] * n_before + [bad] + [good._state] * 2
    flat = FlatStates.of(good._config, states)
    with pytest.raises(se.CorruptStateError, match=reason) as caught:
        decoded(flat, flat.encode())
    assert str(caught.value).startswith(f"state {n_before}: state is corrupt: ")
    with pytest.raises((se.CorruptStateError, se.CountOverflowError), match=reason):
        bad.check(good._config)


def test_cells_over_budget_in_one_state_of_several_are_refused() -> None:
    fits, wide = (se.PRCurveSketch(budget).update([0, 1, 1], [0, 0.5, 1]) for budget in (2, None))
    flat = FlatStates.of(fits._config, [fits._state, wide._state])
    with pytest.raises(se.CorruptStateError, match=r"^state 1: .* cells over budget"):
        decoded(flat, flat.encode())


@pytest.mark.slow
@each("claim", ["another total", "ties that cannot be", "more right than there are"])
def test_a_corrupt_state_among_many_is_refused_with_its_index(claim: str) -> None:
    """So many that they are checked in several chunks."""
    name, changes, reason = BROKEN[claim]
    good = EVERY[name]()
    states = [good._state] * 20_000
    states[15_003] = attrs.evolve(good._state, **changes)
    flat = FlatStates.of(good._config, states)
    with pytest.raises(se.CorruptStateError, match=f"^state 15003: state is corrupt: {reason}"):
        decoded(flat, flat.encode())


def parts_of(name: str) -> tuple[FlatStates, dict[str, Any]]:
    flat = flat_of(variants(name))
    return flat, codec.decode_block(FlatStates.names(flat.state_type), flat.encode())


def texts(*values: str) -> Column:
    return Column(np.array([*values, None], dtype=object)[:-1])


def integers(*values: int) -> Column:
    return Column(np.array(values, dtype=np.uint64))


FORGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "forms that are numbers": ("binary", {"n.forms": integers(1)}, "n"),
    "codes that are text": ("binary", {"n.codes": texts("1")}, "n"),
    "codes that are signed": ("binary", {"n.codes": Column(np.zeros(0, int))}, "n"),
    "codes where there is one form": ("binary", {"n.codes": integers(0)}, "n"),
    "whole numbers that are text": ("binary", {"n.whole": texts("1")}, "n: whole"),
    "no form": ("binary", {"n.forms": texts()}, "n"),
    "a form that is no JSON": ("binary", {"n.forms": texts("[false,[")}, "not JSON"),
    "a form that is deep": ("binary", {"n.forms": texts("[" * 100_000)}, "not JSON"),
    "a form with spaces": ("binary", {"n.forms": texts("[false, []]")}, "canonical form"),
    "a form of another type": ("binary", {"n.forms": texts("3")}, "form of n"),
    "a form of three parts": ("binary", {"n.forms": texts("[false,[],0]")}, "form of n"),
    "a form with a number": ("binary", {"n.forms": texts("[0,[]]")}, "form of n"),
    "n with a shape": ("binary", {"n.forms": texts("[false,[1]]")}, "n"),
    "a shape of four": ("binary", {"matrix.forms": texts("[false,[1,1,2,2]]")}, "form of matrix"),
    "a shape of 2**62": ("binary", {"matrix.forms": texts(f"[false,[{2**62}]]")}, "form of m"),
    "a negative shape": ("binary", {"matrix.forms": texts("[false,[-2,-2]]")}, "form of matrix"),
    "a flag in a shape": ("binary", {"matrix.forms": texts("[false,[true,2]]")}, "form of matrix"),
    "another shape": ("binary", {"matrix.forms": texts("[false,[2,3]]")}, "declares other than"),
    "fractions that are not there": ("binary", {"credit.forms": texts("[true,[1,2]]")}, "declares"),
    "a column of another type": ("curve", {"levels.forms": texts('["int32",1]')}, "form of levels"),
    "a column of 2**62": ("curve", {"levels.forms": texts(f'["int64",{2**62}]')}, "form of levels"),
    "a column of a list": ("curve", {"levels.forms": texts('[["int64"],1]')}, "form of levels"),
    "a column of another length": ("curve", {"levels.forms": texts('["int64",2]')}, "declares"),
    "forms out of order": (
        "curve",
        {"lo.forms": texts('["uint64",4]', '["uint64",0]')},
        "out of order",
    ),
    "a form twice": ("curve", {"lo.forms": texts(*['["uint64",0]'] * 2)}, "out of order"),
    "codes past the forms": ("curve", {"lo.codes": integers(0, 1, 2, 0, 1)}, "lo: codes"),
    "too few codes": ("curve", {"lo.codes": integers(0, 1)}, "lo: codes"),
    "codes of 2**64 - 1": ("curve", {"lo.codes": integers(0, 2**64 - 1, 1, 0, 1)}, "lo: codes"),
    "a form that no state has": ("curve", {"lo.codes": integers(0, 0, 0, 0, 0)}, "no state has"),
    "cells of another state": ("curve", {"hi.codes": integers(1, 0, 1, 1, 0)}, "declares|above"),
    "cells above others": ("curve", {"hi.codes": integers(1, 0, 1, 0, 1)}, "above"),
    "a label that is no tuple": ("named_curve", {"negative_label.forms": texts('"x"')}, "field"),
    "a sum that is a number": ("regression", {"error.forms": texts("3")}, "field error"),
}


@each("claim", FORGED)
def test_columns_that_do_not_belong_together_are_refused(claim: str) -> None:
    name, changes, reason = FORGED[claim]
    flat, parts = parts_of(name)
    read = FlatStates.read(flat.state_type, flat.config, parts)
    assert list(read) == list(flat)
    with pytest.raises(se.CorruptStateError, match=reason):
        FlatStates.read(flat.state_type, flat.config, parts | changes)


def weighted_queries() -> tuple[FlatStates, dict[str, Any]]:
    """Two states of open queries, one of which has weights."""
    made = se.RankingAccumulator("p@1")
    batch = {"relevance": [1], "score": [1], "query": [7]}
    states = [
        made.copy().update(batch, query_weight=weights, partial=True)._state
        for weights in (None, [2])
    ]
    flat = FlatStates.of(made._config, states)
    return flat, dict(flat.fields())


def test_an_omitted_field_with_nothing_in_it_is_refused() -> None:
    flat, parts = weighted_queries()
    assert list(FlatStates.read(flat.state_type, flat.config, parts)) == list(flat)
    names = [part for part in parts if part.startswith("weights.")]
    empty = flat.taken(np.array([0]))
    rest = empty.fields()
    assert not rest.keys() & {*names}
    nothing = {part: integers() for part in names} | {"weights.forms": texts("[false,[0]]")}
    with pytest.raises(se.CorruptStateError, match="weights holds nothing"):
        FlatStates.read(flat.state_type, flat.config, rest | nothing)


def test_a_part_of_an_omitted_field_is_refused() -> None:
    flat, parts = weighted_queries()
    del parts["weights.forms"]
    with pytest.raises(se.CorruptStateError, match="weights lacks a part"):
        FlatStates.read(flat.state_type, flat.config, parts)


def test_no_states_omit_the_field() -> None:
    flat, _ = weighted_queries()
    none = flat.taken(np.zeros(0, dtype=np.int64))
    assert "weights.forms" not in none.fields()
    assert len(FlatStates.decode(flat.state_type, flat.config, none.encode())) == 0


def test_a_field_that_is_no_column_is_refused() -> None:
    flat, parts = parts_of("binary")
    with pytest.raises(se.CorruptStateError, match="n"):
        FlatStates.read(flat.state_type, flat.config, parts | {"n.codes": FixedPoint.zeros(0)})


def test_a_rule_of_many_refuses_them_though_none_breaks_it_alone() -> None:
    """Such a rule is a mistake in a class; its states are not let in."""

    @attrs.frozen
    class Alone(StackableState):
        @classmethod
        def zero(cls, config: Any) -> Alone:
            return cls(FixedPoint.zeros(()))

        def __add__(self, other: Alone) -> Alone:
            return Alone(self.n + other.n)

        @classmethod
        def check_all(cls, config: Any, fields: Any) -> None:
            if len(fields["n"]) > 1:
                raise ValueError("too many")

    flat = FlatStates.of(None, [Alone.zero(None)] * 2)
    with pytest.raises(ValueError, match="too many"):
        decoded(flat, flat.encode())


def test_columns_are_narrow_in_memory_and_in_bytes() -> None:
    random = np.random.default_rng(0)
    curves = [
        se.PRCurveSketch().update(random.integers(0, 2, 10), random.random(10)) for _ in range(200)
    ]
    flat = flat_of(curves)
    cells = sum(len(curve._state.lo) for curve in curves)
    assert flat.nbytes <= 11 * cells + 16 * len(curves)  # keys of 8 bytes, and three of 1
    assert len(flat.encode()) <= 11 * cells + 16 * len(curves) + 2_000


def test_reading_takes_16_bytes_of_memory_for_each_byte() -> None:
    matrices = [se.ConfusionAccumulator(5).update([1, 2], [1, 3])] * 20_000
    flat = flat_of(matrices)
    data = flat.encode()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    decoded(flat, data)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak <= 16 * len(data) + 65_536


def test_reading_keeps_no_hold_on_the_bytes() -> None:
    flat = flat_of(variants("curve"))
    data = bytearray(flat.encode())
    read = FlatStates.decode(flat.state_type, flat.config, memoryview(data))
    states = list(flat)
    data[:] = bytes(len(data))
    assert list(read) == states


@attrs.frozen
class Mixed(State):
    """A field of each type."""

    names: Column
    keys: Column
    flag: bool
    ratio: float
    text: str
    pair: tuple[Any, ...]
    total: ExactSum

    @classmethod
    def zero(cls, config: Any) -> Mixed:
        nothing = Column(np.zeros(0, dtype=object))
        keys = Column(np.zeros(0, dtype=np.uint64))
        return cls(FixedPoint.zeros(()), nothing, keys, False, 0.0, "", (), ExactSum())

    def __add__(self, other: Mixed) -> Mixed:
        raise NotImplementedError

    def check(self, config: Any) -> None:
        if self.text == "odd":
            raise KeyError(self.text)


def mixed() -> list[Mixed]:
    zero = Mixed.zero(None)
    names = Column(np.array(["日本", "", "b"], dtype=object))
    keys = Column(np.array([2**64 - 1, 0], dtype=np.uint64))
    signed = Column(np.array([-(2**63), 5]))
    return [
        zero,
        attrs.evolve(zero, names=names, keys=keys, flag=True, pair=(1,)),
        attrs.evolve(zero, keys=signed, ratio=-0.0, text="x", pair=(True,)),
        attrs.evolve(zero, n=FixedPoint(np.array(1), np.array(2**61)), total=ExactSum(-5)),
        attrs.evolve(zero, ratio=float("inf"), pair=((1, "a"), ExactSum(3), 1.0)),
    ]


@pytest.mark.usefixtures("own_registry")
def test_states_of_a_class_of_ones_own_are_held_by_their_columns() -> None:
    body = {"compute": lambda self: self.n, "__module__": __name__}
    arguments = {"type_id": 0x9100, "state": Mixed, "arrays": ("x",)}
    own: Any = types.new_class("Own", (se.Accumulator,), arguments, lambda held: held.update(body))
    states = mixed()
    flat = FlatStates.of(None, states)
    data = flat.encode()
    errors = own._definition.errors
    read = FlatStates.decode(Mixed, None, data, errors)
    assert list(read) == states
    assert [repr(state) for state in read] == [repr(state) for state in states]
    assert read.encode() == data
    (totals,) = read.weights(np.arange(len(read)), len(read))
    assert totals.units() == [0, 0, 0, (1 << 62) + 2**61, 0]

    odd = FlatStates.of(None, [*states, attrs.evolve(states[0], text="odd")]).encode()
    with pytest.raises(se.CorruptStateError, match=r"^state 5: state is corrupt: 'odd'\.$"):
        FlatStates.decode(Mixed, None, odd, errors)
    nan = FlatStates.of(None, [attrs.evolve(states[0], ratio=float("nan"))]).encode()
    with pytest.raises(se.CorruptStateError, match=r"^state 0: state is corrupt: ratio is nan\.$"):
        FlatStates.decode(Mixed, None, nan, errors)


@attrs.frozen
class Sorted(Mixed):
    """A state whose class changes what it is given."""

    pair: tuple[Any, ...] = attrs.field(converter=lambda value: tuple(sorted(value)))
    total: ExactSum = attrs.field(converter=lambda value: value)


def test_a_class_that_changes_its_fields_reads_only_what_it_would_write() -> None:
    zero = Mixed.zero(None)
    made: Any = Sorted
    good = made(**{f.name: getattr(zero, f.name) for f in attrs.fields(Mixed)} | {"pair": (1, 2)})
    flat = FlatStates.of(None, [good])
    parts = codec.decode_block(FlatStates.names(Sorted), flat.encode())
    forged = parts | {"pair.forms": texts("[2,1]")}
    assert list(FlatStates.read(Sorted, None, parts)) == [good]
    with pytest.raises(se.CorruptStateError, match="pair is not what its class makes of it"):
        FlatStates.read(Sorted, None, forged)


def test_names_list_the_parts_in_their_order() -> None:
    assert FlatStates.names(MatrixCounts) == [
        f"{field}.{part}"
        for field in ("n", "matrix", "credit")
        for part in ("forms", "codes", "whole", "fraction")
    ]
    flat = flat_of(variants("binary"))
    assert list(flat.fields()) == FlatStates.names(MatrixCounts)
    data = flat.encode()
    header = json.loads(data[8 : 8 + struct.unpack_from("<Q", data)[0]])
    assert header["matrix.whole"] == {"column": "uint64", "length": 20, "width": 1}
