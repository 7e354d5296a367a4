"""The verbs that every accumulator shares; accumulators and results as values."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import EVERY, ONCE, SMALL

import streameval as se
from streameval.accumulators.base import Accumulator

every_state = each("name", EVERY)
COUNTED = [name for name in EVERY if "empty" not in name]
counted = each("name", COUNTED)
NOTHING = (
    {"cm": 0, "fit": 0, "inner": {"cm": 0, "curve": 0}},
    {"cm": 0, "curve": 0},
    {"users": 0, "questions": {"cm": 0, "fit": 0}, "plain": 0},
)
"""What a collection says of members that have counted nothing."""
doubled = each("name", [name for name in COUNTED if name not in ONCE])


def ones(*truth: int) -> se.ConfusionAccumulator:
    """Count some labels, all predicted 1."""
    return se.ConfusionAccumulator().update(truth, [1] * len(truth))


def cells(accumulator: se.ConfusionAccumulator) -> list[Any]:
    return accumulator.compute().matrix.tolist()


def test_update_gives_the_accumulator_itself() -> None:
    accumulator = se.ConfusionAccumulator()
    assert accumulator.update([1], [0]) is accumulator


def test_update_gives_the_accumulator_itself_when_weighted() -> None:
    accumulator = se.ConfusionAccumulator()
    assert accumulator.update([1], [0], sample_weight=[0.5]) is accumulator


@each("rows", [1, 100, 5_000, 20_000])
def test_update_adds_to_what_was_counted(rows: int) -> None:
    accumulator = se.ConfusionAccumulator()
    for _ in range(5):
        accumulator.update(np.ones(rows, int), np.zeros(rows, int))
    assert cells(accumulator) == [[0, 0], [5 * rows, 0]]


def test_merge_gives_the_accumulator_itself() -> None:
    accumulator = ones(0)
    assert accumulator.merge(ones(1)) is accumulator


def test_merge_folds_in_every_argument() -> None:
    assert cells(ones(0).merge(ones(1), ones(1, 1))) == [[0, 1], [0, 3]]


def test_merge_of_no_others_changes_nothing() -> None:
    assert cells(ones(0).merge()) == [[0, 1], [0, 0]]


def test_merge_with_itself_doubles() -> None:
    accumulator = ones(0, 1, 1)
    assert cells(accumulator.merge(accumulator)) == [[0, 2], [0, 4]]


def test_merge_with_itself_twice_triples() -> None:
    accumulator = ones(0, 1)
    assert cells(accumulator.merge(accumulator, accumulator)) == [[0, 3], [0, 3]]


@doubled
def test_merge_leaves_the_others_alone(name: str) -> None:
    other = EVERY[name]()
    before = other.to_bytes()
    other.copy().reset().merge(other, other).merge(other)
    assert other.to_bytes() == before


@each("name", ONCE)
def test_merge_of_the_same_twice_is_refused_and_changes_nothing(name: str) -> None:
    one, other = EVERY[name](), EVERY[name]()
    with pytest.raises(se.StreamevalError, match=r"is in both|got .* twice"):
        one.merge(other)
    assert one.to_bytes() == other.to_bytes() == EVERY[name]().to_bytes()
    total = one.copy().reset().merge(other)
    assert total is not other
    assert total + one.copy().reset() == one


def test_merge_counts_the_same_two_once_each_time() -> None:
    one, other = ones(0), ones(1)
    assert [cells(se.merge([one, other])) for _ in range(2)] == [[[0, 1], [0, 1]]] * 2


def test_later_updates_of_an_argument_do_not_reach_the_merged() -> None:
    other = ones(0)
    merged = se.ConfusionAccumulator().merge(other)
    other.update([1], [1])
    assert cells(merged) == [[0, 1], [0, 0]]


def test_later_updates_of_the_merged_do_not_reach_an_argument() -> None:
    other = ones(0)
    other.copy().reset().merge(other).update([1], [1])
    assert cells(other) == [[0, 1], [0, 0]]


@each("other", [None, 0, "ham", [1], {"n": 1}])
def test_merge_refuses_what_is_no_accumulator(other: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`others` .* got {type(other).__name__}"):
        ones(0).merge(other)


@each(
    ("bad", "refused"),
    [(None, "`others`"), (se.ConfusionAccumulator(3), "`classes`")],
)
def test_merge_changes_nothing_when_a_later_argument_is_refused(bad: Any, refused: str) -> None:
    accumulator = ones(0)
    with pytest.raises(se.StreamevalError, match=refused):
        accumulator.merge(ones(1), bad)
    assert cells(accumulator) == [[0, 1], [0, 0]]


def test_merge_names_the_differing_option_and_both_values() -> None:
    with pytest.raises(
        se.IncompatibleStateError, match=r"^cannot merge: `threshold` differs \(0\.5 and 0\.7\)\.$"
    ):
        ones(0).merge(se.ConfusionAccumulator(threshold=0.7))


def test_merge_refuses_labels_of_two_types_and_changes_nothing() -> None:
    numbers = se.ConfusionAccumulator("auto").update([1], [2])
    texts = se.ConfusionAccumulator("auto").update(["1"], ["2"])
    with pytest.raises(se.IncompatibleStateError, match="numbers on one side and strings"):
        numbers.merge(numbers, texts)
    assert numbers.n == 1


@pytest.mark.slow
def test_merge_refuses_more_labels_than_can_be_met() -> None:
    few = se.ConfusionAccumulator("auto").update(range(4096), range(4096))
    with pytest.raises(se.InvalidInputError, match="at most 4096 labels, got 4097"):
        few.merge(se.ConfusionAccumulator("auto").update([4096], [0]))


@each("weight", [2**62, 2.0**62])
def test_merge_past_the_largest_count_is_refused_and_changes_nothing(weight: float) -> None:
    accumulator = se.ConfusionAccumulator().update([1], [1], sample_weight=[weight])
    with pytest.raises(se.CountOverflowError):
        accumulator.merge(ones(1), accumulator)
    assert accumulator.n == 2**62


@doubled
def test_plus_makes_a_new_accumulator(name: str) -> None:
    one, other = EVERY[name](), EVERY[name]()
    total = one + other
    assert total is not one
    assert total is not other


@pytest.mark.slow
@doubled
def test_plus_changes_neither_side(name: str) -> None:
    one, other = EVERY[name](), EVERY[name]()
    (one + other).merge(one)
    assert one.to_bytes() == other.to_bytes() == EVERY[name]().to_bytes()


def test_plus_adds_the_counts() -> None:
    assert cells(ones(0) + ones(1)) == [[0, 1], [0, 1]]


def test_plus_assignment_keeps_the_object() -> None:
    accumulator = same = ones(0)
    accumulator += ones(1)
    assert accumulator is same
    assert cells(same) == [[0, 1], [0, 1]]


def test_sum_adds_up() -> None:
    assert cells(sum([ones(0), ones(1), ones(1)])) == [[0, 1], [0, 2]]


def test_sum_of_one_is_a_new_accumulator() -> None:
    only = ones(0)
    assert sum([only]) is not only


@each("other", [1, 0.5, "0", None, [], np.array([1, 2])])
@each("add", [operator.add, operator.iadd])
@each("side", ["left", "right"])
def test_plus_refuses_what_is_no_accumulator(
    add: Callable[..., Any], side: str, other: Any
) -> None:
    operands = (other, ones(0)) if side == "left" else (ones(0), other)
    with pytest.raises(TypeError):
        add(*operands)


def test_merge_function_takes_an_iterator() -> None:
    assert cells(se.merge(ones(truth) for truth in (0, 1, 1))) == [[0, 1], [0, 2]]


def test_merge_function_makes_a_new_accumulator() -> None:
    only = ones(0)
    merged = se.merge([only])
    merged.update([1], [1])
    assert cells(only) == [[0, 1], [0, 0]]


@each("nothing", [[], (), iter([])])
def test_merge_function_refuses_nothing(nothing: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`accumulators` must hold at least one"):
        se.merge(nothing)


@each("items", [[1], "ham", [ones(0), None], [None, ones(0)]])
def test_merge_function_refuses_what_holds_no_accumulators(items: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`accumulators` must hold accumulators, got"):
        se.merge(items)


@each("item", [ones(0), 5, None])
def test_merge_function_refuses_what_holds_nothing(item: Any) -> None:
    with pytest.raises((TypeError, se.InvalidInputError)):
        se.merge(item)


def test_merge_function_refuses_other_options() -> None:
    with pytest.raises(se.IncompatibleStateError, match="`classes` differs"):
        se.merge([ones(0), se.ConfusionAccumulator(3)])


@every_state
def test_reset_gives_the_accumulator_itself(name: str) -> None:
    accumulator = EVERY[name]()
    assert accumulator.reset() is accumulator


@counted
def test_reset_forgets_what_was_counted(name: str) -> None:
    accumulator = EVERY[name]().reset()
    assert accumulator == type(accumulator)._empty(accumulator._config)
    assert accumulator.n in (0, *NOTHING)


def test_reset_keeps_the_options() -> None:
    accumulator = se.ConfusionAccumulator(["a", "b"], threshold=0.25).update(["a"], [0.1]).reset()
    assert accumulator == se.ConfusionAccumulator(["a", "b"], threshold=0.25)


def test_reset_reaches_no_copy() -> None:
    accumulator = ones(0)
    copied = accumulator.copy()
    accumulator.reset()
    assert cells(copied) == [[0, 1], [0, 0]]


@each(
    ("accumulator", "expected"),
    [
        (se.ConfusionAccumulator(), "ConfusionAccumulator(n=0)"),
        (ones(0, 1), "ConfusionAccumulator(n=2)"),
        (
            se.ConfusionAccumulator(3, top_k=2, ignore_label=-1),
            "ConfusionAccumulator(classes=3, top_k=2, ignore_label=-1, n=0)",
        ),
        (
            se.ConfusionAccumulator("auto").update(["a"], ["b"], sample_weight=[0.5]),
            "ConfusionAccumulator(classes='auto', n=0.5)",
        ),
        (
            se.ConfusionAccumulator(["a", "b"], multilabel=True, threshold=0.25),
            "ConfusionAccumulator(classes=('a', 'b'), multilabel=True, threshold=0.25, n=0)",
        ),
    ],
)
def test_repr_shows_what_differs_from_the_defaults(accumulator: Any, expected: str) -> None:
    assert repr(accumulator) == expected


@each(
    ("weights", "expected"),
    [
        (None, 2),
        ([3, 0], 3),
        ([3.0, 4.0], 7),
        ([True, False], 1),
        ([0.5, 0.25], 0.75),
        ([0.5, 0.5], 1.0),
        ([2**53, 1], 2**53 + 1),
        ([2**63 - 2, 1], 2**63 - 1),
    ],
)
def test_n_is_the_sum_of_the_weights_in_the_type_that_holds_it(
    weights: Any, expected: float
) -> None:
    n = se.ConfusionAccumulator().update([0, 1], [1, 1], sample_weight=weights).n
    assert (type(n), n) == (type(expected), expected)


def test_n_of_nothing_is_the_integer_zero() -> None:
    assert repr(se.ConfusionAccumulator().n) == "0"


@each("name", EVERY)
def test_the_total_is_that_of_the_state(name: str) -> None:
    accumulator = EVERY[name]()
    if not isinstance(accumulator, (se.Clustered, se.Collection, se.Sliced, se.Windowed)):
        assert accumulator.n == accumulator._state.n.to_number()


def test_accumulator_without_its_methods_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Accumulator(None)


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda accumulator: accumulator.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "bytes": lambda accumulator: se.from_bytes(accumulator.to_bytes()),
} | {
    f"pickle of protocol {protocol}": lambda accumulator, protocol=protocol: pickle.loads(
        pickle.dumps(accumulator, protocol=protocol)
    )
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
}


@pytest.mark.slow
@every_state
def test_every_copy_is_equal(name: str) -> None:
    accumulator = EVERY[name]()
    assert [how for how in COPIES if COPIES[how](accumulator) != accumulator] == []
    assert accumulator == EVERY[name]()


@each(
    "empty",
    [se.ConfusionAccumulator(2), se.PRCurveSketch(budget=64), se.RegressionAccumulator()],
)
def test_accumulators_of_threads_merge_to_the_bytes_of_one(empty: Any) -> None:
    """The lane of Python 3.14t runs them side by side."""
    random = np.random.default_rng(0)
    truth, score = random.integers(0, 2, 4_000), random.random(4_000)

    def counted(rows: Any) -> Any:
        accumulator = empty.copy()
        for part in np.array_split(rows, 20):
            accumulator.update(truth[part], score[part])
        return accumulator

    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(counted, np.array_split(np.arange(4_000), 32)))
    assert se.merge(parts).to_bytes() == empty.copy().update(truth, score).to_bytes()


@each("how", COPIES)
def test_update_of_a_copy_leaves_the_original_alone(how: str) -> None:
    accumulator = ones(0)
    COPIES[how](accumulator).update([1], [1])
    assert cells(accumulator) == [[0, 1], [0, 0]]


@each("how", COPIES)
def test_update_of_the_original_leaves_a_copy_alone(how: str) -> None:
    accumulator = ones(0)
    copied = COPIES[how](accumulator)
    accumulator.update([1], [1])
    assert cells(copied) == [[0, 1], [0, 0]]


def test_pickle_holds_the_bytes() -> None:
    accumulator = SMALL["met"]()
    assert accumulator.to_bytes() in pickle.dumps(accumulator)


@each(
    ("one", "other"),
    [
        (ones(0, 1), ones(1, 0)),
        (se.ConfusionAccumulator(2), se.ConfusionAccumulator([0, 1], pos_label=1)),
        (se.ConfusionAccumulator(threshold=0.0), se.ConfusionAccumulator(threshold=-0.0)),
    ],
)
def test_accumulators_are_equal_when_they_differ_only_in(one: Any, other: Any) -> None:
    assert one == other
    assert one.to_bytes() == other.to_bytes()


@each(
    "other",
    [
        ones(1),
        ones(0, 0),
        se.ConfusionAccumulator(threshold=0.25).update([0], [1.0]),
        se.ConfusionAccumulator("auto").update([0], [1]),
        0,
        None,
        ones(0).to_bytes(),
    ],
)
def test_accumulators_are_not_equal_when_they_differ_in(other: Any) -> None:
    assert ones(0) != other
    assert (ones(0) == other) is False


def test_accumulators_are_not_hashable() -> None:
    assert not isinstance(ones(0), Hashable)


@pytest.mark.slow
@every_state
def test_compute_leaves_the_accumulator_alone(name: str) -> None:
    accumulator = EVERY[name]()
    accumulator.compute().as_dict()
    assert accumulator.to_bytes() == EVERY[name]().to_bytes()


@pytest.mark.slow
@every_state
def test_text_of_a_result_is_its_report(name: str) -> None:
    result = EVERY[name]().compute()
    assert str(result) == result.report()


def test_compute_repeats_itself() -> None:
    accumulator = SMALL["top_k"]()
    assert accumulator.compute() == accumulator.compute()


def test_result_stays_as_it_was_when_updates_follow() -> None:
    accumulator = ones(0)
    result = accumulator.compute()
    accumulator.update([1, 1], [1, 1])
    assert (result.n, result.accuracy, result.matrix.tolist()) == (1, 0.0, [[0, 1], [0, 0]])


def test_result_stays_as_it_was_when_merges_follow() -> None:
    accumulator = ones(0)
    result = accumulator.compute()
    accumulator.merge(ones(1), accumulator)
    assert result.matrix.tolist() == [[0, 1], [0, 0]]


@each("attribute", ["n", "matrix", "_state", "other"])
def test_result_is_frozen(attribute: str) -> None:
    with pytest.raises(AttributeError):
        setattr(ones(0).compute(), attribute, 5)


@each("attribute", ["matrix", "tp", "fp", "fn", "tn", "support"])
@each("name", SMALL)
def test_writing_into_an_array_of_a_result_alters_neither_it_nor_the_accumulator(
    name: str, attribute: str
) -> None:
    accumulator = SMALL[name]()
    result = accumulator.compute()
    np.asarray(getattr(result, attribute))[...] = 77
    assert result == accumulator.compute() == SMALL[name]().compute()
    assert repr(result.as_dict()) == repr(SMALL[name]().compute().as_dict())
    assert accumulator.to_bytes() == SMALL[name]().to_bytes()
