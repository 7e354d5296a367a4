"""Errors: what they carry, how they are told, and that they travel between processes."""

from __future__ import annotations

import copy
import errno
import pickle
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.cli.options import option_words
from streameval.errors import Named, refused

LOGITS = {
    "argument": "y_score",
    "position": 17,
    "remedy": ("Pass ", Named("scores", '"real"'), " for logits."),
}


def error_of(**changed: object) -> se.InvalidInputError:
    return se.InvalidInputError("must lie in [0, 1], got 3.2", **(LOGITS | changed))


def test_message_is_made_of_the_parts() -> None:
    assert str(error_of()) == (
        '`y_score` must lie in [0, 1], got 3.2 at position 17. Pass scores="real" for logits.'
    )


def test_parts_are_attributes() -> None:
    error = error_of()
    assert (error.argument, error.position) == ("y_score", 17)
    assert error.reason == "must lie in [0, 1], got 3.2"


def test_message_without_parts_is_as_given() -> None:
    error = se.BadDataError("log.csv: no such file.")
    assert str(error) == error.reason == "log.csv: no such file."
    assert (error.argument, error.position) == (None, None)


@each("copied", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
@each("kind", [se.InvalidInputError, se.CountOverflowError])
def test_copies_keep_the_parts(copied, kind) -> None:  # type: ignore[no-untyped-def]
    error = kind("must fit, got 3", **LOGITS).within("member 'a'")
    again = copied(error)
    assert type(again) is kind
    assert str(again) == str(error)
    assert (again.argument, again.reason, again.position) == ("y_score", "must fit, got 3", 17)
    assert again.told(option_words) == error.told(option_words)


def test_where_comes_first_and_the_parts_stay() -> None:
    error = error_of().within("log").within("member 'a'")
    assert str(error).startswith("member 'a': log: `y_score` must lie in")
    assert error.position == 17


@each(
    ("named", "text", "option"),
    [
        (Named("top_k"), "`top_k`", "--top-k"),
        (Named("pos_label", "-1"), "pos_label=-1", "--pos-label=-1"),
        (Named("threshold", "0.5"), "threshold=0.5", "--threshold 0.5"),
        (Named("pos_label", "'spam'"), "pos_label='spam'", "--pos-label spam"),
        (Named("pos_label", ""), "pos_label=", "--pos-label"),
        (Named("multilabel", "True"), "multilabel=True", "--multilabel"),
        (Named("multilabel", "False"), "multilabel=False", "--multilabel False"),
        (Named("from_scores"), "`from_scores`", None),
    ],
)
def test_arguments_are_named_as_options_are_typed(named: Named, text: str, option: str) -> None:
    assert str(named) == text
    assert option_words(named) == option


def test_subject_may_have_a_value() -> None:
    error = se.InvalidInputError("meets 4 labels", argument=Named("classes", '"auto"'))
    assert str(error) == '`classes="auto"` meets 4 labels.'
    assert error.argument == "classes"
    assert error.told(option_words) == "--classes auto meets 4 labels."


def test_position_can_be_left_out() -> None:
    assert "position" not in error_of().told(with_position=False)


def test_arguments_say_what_they_are() -> None:
    assert repr(Named("top_k", "2")) == "Named('top_k', '2')"


@each(
    ("provoke", "argument", "position"),
    [
        (lambda: se.PRCurveSketch().update([1, 0], [0.5, 7]), "y_score", 1),
        (lambda: se.ConfusionAccumulator(2).update([0, 5], [0, 1]), "y_true", 1),
        (
            lambda: se.ConfusionAccumulator(2, multilabel=True).update([[0, 2]], [[0, 1]]),
            "y_true",
            (0, 1),
        ),
        (lambda: se.RegressionAccumulator().update([1.0, np.inf], [1, 1]), "y_true", 1),
        (lambda: se.CalibrationAccumulator(classes=2).update([0], [[0.5, 0.25]]), "y_prob", 0),
        (lambda: se.ConfusionAccumulator(top_k=0), "top_k", None),
    ],
)
def test_raised_errors_say_where_without_their_text(provoke, argument, position) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(se.InvalidInputError) as caught:
        provoke()
    assert (caught.value.argument, caught.value.position) == (argument, position)
    assert f"`{argument}` {caught.value.reason}" in str(caught.value)


def test_states_that_do_not_fit_name_the_option() -> None:
    with pytest.raises(se.IncompatibleStateError) as caught:
        se.ConfusionAccumulator().merge(se.ConfusionAccumulator(threshold=0.75))
    assert str(caught.value) == "cannot merge: `threshold` differs (0.5 and 0.75)."
    assert (caught.value.argument, caught.value.reason) == ("threshold", "differs (0.5 and 0.75)")


class CodeError(se.InvalidInputError):
    """An error with a constructor of its own."""

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


@each("copied", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_error_with_a_constructor_of_its_own_is_copied_whole(copied: Any) -> None:
    error = CodeError(5)
    error.add_note("seen twice")
    made = copied(error)
    assert (str(made), made.code, made.__notes__) == ("code 5", 5, ["seen twice"])


def test_error_with_a_constructor_of_its_own_can_be_told_within_another() -> None:
    made = CodeError(5).within("member 'a'")
    assert (type(made), str(made), made.code) == (CodeError, "member 'a': code 5", 5)


@each(("number", "expected"), [(errno.EIO, se.UnavailableError), (errno.EACCES, se.BadDataError)])
def test_error_of_the_system_tells_whether_a_later_try_may_succeed(
    number: int, expected: type[Exception]
) -> None:
    error = refused("a.csv", OSError(number, "The disk says no."))
    assert (type(error), str(error)) == (expected, "a.csv: the disk says no.")
