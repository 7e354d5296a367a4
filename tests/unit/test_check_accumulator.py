"""`check_accumulator` finds what is broken: each accumulator here breaks a law, which is named."""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from win_rate import WinRate

import streameval as se
from streameval.states import Column, FixedPoint, State
from streameval.testing import LAWS, Trial, check_accumulator
from streameval.testing.trial import scribble

pytestmark = pytest.mark.usefixtures("own_registry")

BATCHES = [
    (np.arange(59) / 59, np.arange(59) % 4 / 2),
    {"x": np.array([0.6, 0.4]), "sample_weight": np.array([1, 2])},
]


def weights_of(x: Any, sample_weight: Any) -> FixedPoint:
    array = np.asarray(x, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any() or (array < 0).any():
        raise se.InvalidInputError("`x` must be numbers.")
    weights = np.ones(len(array)) if sample_weight is None else np.asarray(sample_weight, float)
    if weights.shape != array.shape:
        raise se.InvalidInputError("`sample_weight` must have as many rows as `x`.")
    return FixedPoint.of_floats(weights, name="sample_weight")


@attrs.frozen
class Sound(State):
    """How many numbers lie above one half, and the largest."""

    above: FixedPoint
    top: float

    @classmethod
    def zero(cls, config: Any) -> Any:
        return cls(FixedPoint.zeros(()), FixedPoint.zeros(()), 0.0)

    @classmethod
    def of(cls, config: Any, *, x: Any, sample_weight: Any) -> Any:
        weights = weights_of(x, sample_weight)
        above = weights.where(np.asarray(x, float) > 0.5).total()
        return cls(weights.total(), above, float(np.max(x, initial=0.0)))

    def __add__(self, other: Any) -> Any:
        return type(self)(self.n + other.n, self.above + other.above, max(self.top, other.top))


class Base(se.Accumulator, arrays=("x",)):  # type: ignore[type-arg]
    """What the broken ones have in common."""

    def compute(self) -> Any:
        state = self._state
        return {"above": state.above.to_numbers().item(), "top": state.top}


_ids = itertools.count(0x9000)


def accumulator(state: type[State] = Sound, **members: Any) -> Any:
    """Define a class with some members instead of those that are sound."""
    arguments = {"type_id": next(_ids), "state": state}

    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(members, __module__=__name__, __qualname__="Broken")

    made: Any = types.new_class("Broken", (Base,), arguments, fill)
    return made


def state(**members: Any) -> Any:
    """Define a state with some members instead of those that are sound."""
    return attrs.frozen(types.new_class("Broken", (Sound,), {}, lambda held: held.update(members)))


def first_wins(self: Any, other: Any) -> Any:
    total = Sound.__add__(self, other)
    return attrs.evolve(total, top=self.top or other.top)


def lossy(self: Any, other: Any) -> Any:
    """Average, so that the order of three counts."""
    total = Sound.__add__(self, other)
    return attrs.evolve(total, top=(self.top + other.top) / 2)


def no_identity(self: Any, other: Any) -> Any:
    total = Sound.__add__(self, other)
    return attrs.evolve(total, top=total.top + 1.0)


def changes_itself(self: Any, other: Any) -> Any:
    self.above.whole[...] += other.above.whole
    return Sound.__add__(self, other)


def changes_the_other(self: Any, other: Any) -> Any:
    total = Sound.__add__(self, other)
    other.n.whole[...] += 1
    return total


@classmethod  # type: ignore[misc]
def float_sum(cls: Any, config: Any, *, x: Any, sample_weight: Any) -> Any:
    weights = weights_of(x, sample_weight)
    return cls(weights.total(), weights.total(), float(sum(np.asarray(x, float), 0.0)))


def added_floats(self: Any, other: Any) -> Any:
    return type(self)(self.n + other.n, self.above + other.above, self.top + other.top)


@classmethod  # type: ignore[misc]
def sized(cls: Any, config: Any, *, x: Any, sample_weight: Any) -> Any:
    made = Sound.of(config, x=x, sample_weight=sample_weight)
    return cls(made.n, made.above, made.top + len(x) * 2.0**-20)


@classmethod  # type: ignore[misc]
def empty_counts(cls: Any, config: Any, *, x: Any, sample_weight: Any) -> Any:
    made = Sound.of(config, x=x, sample_weight=sample_weight)
    return cls(made.n, made.above, max(made.top, 0.05 if not len(x) else 0.0))


@classmethod  # type: ignore[misc]
def writes(cls: Any, config: Any, *, x: Any, sample_weight: Any) -> Any:
    made = Sound.of(config, x=x, sample_weight=sample_weight)
    np.asarray(x)[:1] *= 0.5
    return cls(made.n, made.above, made.top)


@attrs.frozen
class Kept(State):
    """Numbers, sorted when they are added."""

    keys: Column

    @classmethod
    def zero(cls, config: Any) -> Any:
        return cls(FixedPoint.zeros(()), Column(np.zeros(0, np.int64)))

    @classmethod
    def of(cls, config: Any, *, x: Any, sample_weight: Any) -> Any:
        keys = np.asarray(x)
        if keys.dtype != np.int64:
            raise se.InvalidInputError("`x` must be int64.")
        return cls(FixedPoint(np.array(len(keys))), Column(keys))

    def __add__(self, other: Any) -> Any:
        if not len(other.keys):
            return self
        if not len(self.keys):
            return other
        keys = np.concatenate([self.keys.values, other.keys.values])
        return Kept(self.n + other.n, Column(np.sort(keys)))


def counts_then_fails(self: Any, x: Any, *, sample_weight: Any = None) -> Any:
    if isinstance(x, (tuple, dict)):
        given = self._named(x, optional=(sample_weight,))
        x, sample_weight = given["x"], given["sample_weight"]
    made = Sound.of(None, x=np.asarray(x)[:1], sample_weight=None)
    self._absorb(attrs.evolve(made, n=FixedPoint.zeros(())))
    made = Sound.of(None, x=np.asarray(x)[1:], sample_weight=None)
    return self._absorb(attrs.evolve(made, n=FixedPoint.zeros(())))


def counts_second_failures() -> Callable[..., Any]:
    failed: list[Any] = []

    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return Base.update(self, *args, **kwargs)
        except Exception:
            if any(one is self for one in failed):
                self._absorb(Sound.of(None, x=np.ones(1), sample_weight=None))
            failed.append(self)
            raise

    return update


def returns_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
    Base.update(self, *args, **kwargs)


def computes_and_counts(self: Any) -> Any:
    numbers = Base.compute(self)
    self._absorb(attrs.evolve(self._state, above=FixedPoint.zeros(()), top=self._state.top + 1.0))
    return numbers


def computes_at_random(self: Any) -> Any:
    return Base.compute(self) | {"random": np.random.default_rng().random()}


@attrs.frozen
class Live:
    """A result that looks at the accumulator, whatever that has become."""

    accumulator: Any

    def as_dict(self) -> dict[str, float]:
        return {"n": self.accumulator.n}


def live(self: Any) -> Any:
    return Live(self)


def same_object(self: Any) -> Any:
    return self


def forgetful(self: Any) -> Any:
    held = getattr(self, "_held", Sound.zero(None))
    self._state = attrs.evolve(held, above=FixedPoint.zeros(()), top=0.0)
    return self


def total(states: list[Any]) -> Any:
    return functools.reduce(operator.add, states)


def merges_anything(self: Any, *others: Any) -> Any:
    alike = [other for other in others if isinstance(other, Base)]
    self._state = total([self._state, *(other._state for other in alike)])
    return self


def merges_others_alone(self: Any, *others: Any) -> Any:
    return Base.merge(self, *(other for other in others if other is not self))


def merges_a_copy(self: Any, *others: Any) -> Any:
    return Base.merge(self.copy(), *others)


def merges_into_the_others(self: Any, *others: Any) -> Any:
    for other in others:
        if other is not self:
            other._absorb(self._state)
    return Base.merge(self, *others)


def reads_nothing(cls: Any, data: bytes) -> Any:
    return cls()


def refuses_everything(self: Any, config: Any) -> None:
    raise se.CorruptStateError("state is corrupt: everything is.")


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "an update that returns nothing": (
        lambda: accumulator(update=returns_nothing),
        "update_returns_the_accumulator",
    ),
    "an update that writes": (
        lambda: accumulator(state(of=writes)),
        "arguments_are_not_written_to",
    ),
    "an empty batch that counts": (
        lambda: accumulator(state(of=empty_counts)),
        "an_empty_batch_changes_nothing",
    ),
    "an update in two steps": (
        lambda: accumulator(update=counts_then_fails),
        "a_failed_update_leaves_no_trace",
    ),
    "an update whose second failure counts": (
        lambda: accumulator(update=counts_second_failures()),
        "a_failed_update_leaves_no_trace",
    ),
    "a copy that is none": (lambda: accumulator(copy=same_object), "copies_are_independent"),
    "a compute that counts": (
        lambda: accumulator(compute=computes_and_counts),
        "compute_changes_nothing",
    ),
    "a compute at random": (
        lambda: accumulator(compute=computes_at_random),
        "compute_changes_nothing",
    ),
    "a result that is not frozen": (
        lambda: accumulator(compute=live),
        "compute_changes_nothing",
    ),
    "a reset that keeps n": (lambda: accumulator(reset=forgetful), "reset_forgets_everything"),
    "equality by identity": (lambda: accumulator(__eq__=object.__eq__), "bytes_are_read_back"),
    "a check that refuses": (
        lambda: accumulator(state(check=refuses_everything)),
        "bytes_are_read_back",
    ),
    "bytes that are read as nothing": (
        lambda: accumulator(from_bytes=classmethod(reads_nothing)),
        "bytes_are_read_back",
    ),
    "equality of everything": (
        lambda: accumulator(__eq__=lambda self, other: True),
        "equality_is_that_of_the_bytes",
    ),
    "a pickle that forgets": (
        lambda: accumulator(__reduce__=lambda self: (type(self), ())),
        "stopping_and_going_on_equals_never_stopping",
    ),
    "a state dict that is not loaded": (
        lambda: accumulator(load_state_dict=lambda self, state_dict: None),
        "stopping_and_going_on_equals_never_stopping",
    ),
    "a sum that changes what is left of it": (
        lambda: accumulator(state(__add__=changes_itself)),
        "merging_leaves_its_arguments_alone",
    ),
    "a sum that changes what is right of it": (
        lambda: accumulator(state(__add__=changes_the_other)),
        "merging_leaves_its_arguments_alone",
    ),
    "a merge into the others": (
        lambda: accumulator(merge=merges_into_the_others),
        "merging_leaves_its_arguments_alone",
    ),
    "a merge into a copy": (
        lambda: accumulator(merge=merges_a_copy),
        "merging_leaves_its_arguments_alone",
    ),
    "a zero that adds": (
        lambda: accumulator(state(__add__=no_identity)),
        "merge_has_an_identity",
    ),
    "a mean of means": (lambda: accumulator(state(__add__=lossy)), "merge_is_associative"),
    "a sum of floats": (
        lambda: accumulator(state(of=float_sum, __add__=added_floats)),
        "merge_is_associative",
    ),
    "the first one wins": (
        lambda: accumulator(state(__add__=first_wins)),
        "merge_is_commutative",
    ),
    "a merge that leaves itself out": (
        lambda: accumulator(merge=merges_others_alone),
        "merging_with_itself_doubles",
    ),
    "a size of batches": (
        lambda: accumulator(state(of=sized)),
        "any_cut_gives_the_same_bytes_and_numbers",
    ),
    "a largest batch": (
        lambda: accumulator(state(of=sized)),
        "any_order_of_updates_gives_the_same_bytes",
    ),
    "a merge of anything": (lambda: accumulator(merge=merges_anything), "others_are_refused"),
}


def test_a_sound_accumulator_keeps_every_law() -> None:
    check_accumulator(accumulator(), BATCHES, refused=[([-1.0],), {"x": [float("nan")]}])


@pytest.mark.parametrize("claim", BROKEN)
def test_a_law_names_what_breaks_it(claim: str) -> None:
    make, law = BROKEN[claim]
    with pytest.raises(AssertionError, match=rf"^Broken breaks the law {law}: \S.*\.$"):
        LAWS[law](Trial.of(make(), BATCHES))


@pytest.mark.parametrize("claim", BROKEN)
def test_a_broken_accumulator_is_caught(claim: str) -> None:
    with pytest.raises(AssertionError, match=r"^Broken breaks the law \w+: "):
        check_accumulator(BROKEN[claim][0](), BATCHES)


def test_every_law_is_broken_by_some() -> None:
    elsewhere = {"arguments_are_not_kept", "damaged_bytes_are_refused"}
    assert {law for _, law in BROKEN.values()} | elsewhere == set(LAWS)


def test_a_view_that_is_kept_is_caught() -> None:
    kept = accumulator(Kept, compute=lambda self: self.n)
    with pytest.raises(
        AssertionError,
        match=r"^Broken breaks the law arguments_are_not_kept: with its arguments written over "
        r"and without differ\. keys: \[1, 0, 0\] and \[0, 1, 2\]\.$",
    ):
        check_accumulator(kept, [(np.arange(3),)])


def test_damaged_bytes_that_are_read_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(se, "from_bytes", lambda data: None)
    with pytest.raises(AssertionError, match="law damaged_bytes_are_refused: bytes with damage at"):
        LAWS["damaged_bytes_are_refused"](Trial.of(accumulator(), BATCHES))


def test_a_batch_that_must_be_refused_and_is_not_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"update took what it must refuse, \(array"):
        check_accumulator(accumulator(), BATCHES, refused=[(np.array([0.5]),)])


def test_a_merge_of_other_options_is_caught() -> None:
    make = accumulator()
    with pytest.raises(AssertionError, match=r"law others_are_refused: Broken.* was merged with"):
        check_accumulator(make, BATCHES, incompatible=[make])


def test_what_is_raised_is_said_and_kept() -> None:
    class OddError(Exception):
        pass

    def fails(self: Any) -> Any:
        raise OddError("no result")

    with pytest.raises(
        AssertionError, match=r"compute_changes_nothing: OddError was raised: no result"
    ) as caught:
        check_accumulator(accumulator(compute=fails), BATCHES)
    assert isinstance(caught.value.__cause__, OddError)


def test_options_that_differ_are_shown() -> None:
    made = itertools.cycle([{}, {"tie": "="}])
    with pytest.raises(AssertionError, match=r"differ\. option tie: 'tie' and '='\.$"):
        LAWS["reset_forgets_everything"](Trial(lambda: WinRate(**next(made)), []))


def test_a_long_difference_is_cut() -> None:
    kept = accumulator(Kept, compute=lambda self: self.n)
    with pytest.raises(AssertionError, match=r"keys: \[1, 0.*\.\.\. and \[0, 1, 2.*\.\.\.\.$"):
        LAWS["arguments_are_not_kept"](Trial.of(kept, [(np.arange(500),)]))


def test_a_law_may_be_skipped() -> None:
    broken = accumulator(update=returns_nothing)
    check_accumulator(broken, BATCHES, skip=["update_returns_the_accumulator"])


@pytest.mark.parametrize(
    "make",
    [
        se.RegressionAccumulator,
        lambda: se.ConfusionAccumulator(2, from_scores=False),
        lambda: se.PRCurveSketch(4),
        se.CalibrationAccumulator,
        se.RegressionAccumulator().copy,
    ],
    ids=["regression", "confusion", "curve", "calibration", "copy"],
)
@pytest.mark.parametrize("how", [tuple, list], ids=["tuple", "list"])
def test_our_own_accumulators_keep_every_law(make: Any, how: type) -> None:
    check_accumulator(make, [how([[1, 0, 1, 1], [1, 0, 0, 1]]), how([[0, 1], [0, 1]])])


def test_flags_and_empty_batches_may_be_among_the_batches() -> None:
    flags = np.array([True, False, True])
    check_accumulator(se.ConfusionAccumulator, [([], []), (flags, ~flags)])


def test_batches_that_cannot_be_cut_are_spread_whole() -> None:
    batches = [
        {"relevance": [1, 0, 1], "score": [0.3, 0.1, 0.2], "query": [n, n, n + 1]}
        for n in (0, 2, 4)
    ]
    ranking = functools.partial(se.RankingAccumulator, ["map", "ndcg@2"])
    check_accumulator(ranking, batches, cut=None)


def test_ragged_rows_and_numbers_are_left_as_they_are() -> None:
    seen = []

    def noted(self: Any, batch: Any) -> Any:
        seen.append(batch)
        return Base.update(self, {"x": [1.0]})

    trial = Trial.of(accumulator(update=noted), [{"x": [[1], [2, 3]], "k": 3, "s": "text"}])
    assert seen == [{"x": [[1], [2, 3]], "k": 3, "s": "text"}]
    assert trial.dealt(2)[1] == [{"x": [[2, 3]], "k": 3, "s": "text"}]
    LAWS["arguments_are_not_kept"](trial)


def test_an_array_alone_is_a_batch_of_one() -> None:
    check_accumulator(WinRate, [["a", "b"], np.array(["tie"]), (["a"],)])


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "no make": (
        WinRate(),
        [["a"]],
        "`make` must be callable and return an accumulator, got WinRate",
    ),
    "a make of something else": (dict, [["a"]], "`make` must return an accumulator, got dict"),
    "a make of one": (
        functools.partial(operator.itemgetter(0), [WinRate()]),
        [["a"]],
        "`make` must return a new accumulator each time",
    ),
    "no batches": (WinRate, [], "`batches` must hold one that changes an empty accumulator"),
    "empty batches": (WinRate, [([],)], "`batches` must hold one that changes"),
    "a batch of nothing": (WinRate, [None], "`batches` must be mappings or tuples of arrays"),
    "an array of two": (
        se.RegressionAccumulator,
        [np.zeros(3)],
        "`batches` must be mappings or tuples of arrays, got ndarray",
    ),
}


@pytest.mark.parametrize("claim", REFUSED)
def test_what_checks_nothing_is_refused(claim: str) -> None:
    make, batches, says = REFUSED[claim]
    with pytest.raises(se.InvalidInputError, match=rf"^{says}"):
        check_accumulator(make, batches)


def test_a_law_that_is_none_cannot_be_skipped() -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`skip` must name laws, .*, got 'speed'\.$"):
        check_accumulator(WinRate, [["a"]], skip=["speed"])


def test_update_of_a_subclass_is_called_once_for_rows_without_weight() -> None:
    calls: list[int] = []

    def update(self: Any, x: Any, *, sample_weight: Any = None) -> Any:
        calls.append(len(x))
        return Base.update(self, x, sample_weight=sample_weight)

    made = accumulator(update=update)()
    made.update(np.array([0.5, np.nan, 0.25]), sample_weight=np.array([1, 0, 2]))
    assert calls == [3]
    assert made.n == 3


@pytest.mark.parametrize(
    "values",
    [
        np.array([True, False]),
        np.array([0, 3]),
        np.array([0.0, 0.5]),
        np.array(["2026-01-01", "2026-01-02"], "M8[s]"),
        np.array([1, 2], "m8[s]"),
        np.array(["a", "b"]),
        np.array(["a", 1], dtype=object),
        ["a", 1],
    ],
    ids=lambda values: str(getattr(values, "dtype", "list")),
)
def test_every_value_of_an_array_or_list_is_written_over(values: Any) -> None:
    before = list(values)
    scribble(values)
    assert [new for new, old in zip(values, before, strict=True) if new == old] == []
