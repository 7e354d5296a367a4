import pytest

from streameval.cli.wording import in_words_of_the_user
from streameval.io import Column, Numbers

COLUMNS = [Column("y_true", ("truth",), Numbers()), Column("y_pred", ("a", "b"), Numbers())]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("`top_k` must be 1, got 7.", "--top-k must be 1, got 7."),
        ("`pos_label` needs two, got pos_label=-1.", "--pos-label needs two, got --pos-label -1."),
        ("`threshold` decides, got threshold=0.5.", "--threshold decides, got --threshold 0.5."),
        ("got pos_label='spam'.", "got --pos-label spam."),
        ("Pass pos_label= for other labels.", "Pass --pos-label for other labels."),
        ('`classes="auto"` meets 4 labels.', "--classes auto meets 4 labels."),
        ("`classes` needs multilabel=True.", "--classes needs --multilabel."),
        ("`y_pred` must have 2 rows.", "`a,b` must have 2 rows."),
        ("`y_true` and `y_pred` differ.", "`truth` and `a,b` differ."),
        ("`from_scores` needs the classes listed.", "`from_scores` needs the classes listed."),
        ("one of the two classes (0, 1).", "one of the two classes (0, 1)."),
        ("2**-62 <= weight < 1", "2**-62 <= weight < 1"),
    ],
)
def test_message_names_what_was_typed_or_read(message, words):
    assert in_words_of_the_user(message, COLUMNS) == words


def test_message_names_a_column_before_an_option_of_its_name():
    columns = [Column("score", ("s",), Numbers())]
    assert in_words_of_the_user("`score` is NaN.", columns) == "`s` is NaN."
