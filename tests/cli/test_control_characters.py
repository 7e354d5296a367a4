"""What a terminal would obey never reaches it, wherever it comes from."""

import json

import pytest
from offenders import each

import streameval as se
from streameval.render.text import printable

EVIL = "a\x1b[2J\x07\x7f\x9b\u202e\u2066b"
SHOWN = r"a\x1b[2J\x07\x7f\x9b\u202e\u2066b"
LINE = "a\nb"


def is_clean(text):
    return printable(text.replace("\n", "").replace("\t", "")) == text.replace("\n", "").replace(
        "\t", ""
    )


@each(
    ("text", "escaped"),
    [
        ("naïve 日本 \u200c\u200d \xa0 \\x1b", "naïve 日本 \u200c\u200d \xa0 \\x1b"),
        ("\x00\t\n\r\x1b\x1f\x7f", r"\x00\t\n\r\x1b\x1f\x7f"),
        ("\x80\x85\x9b\x9f", r"\x80\x85\x9b\x9f"),
        ("\u061c\u200e\u200f\u202a\u202e\u2066\u2069", None),
        ("\u2028\u2029", r"\u2028\u2029"),
    ],
)
def test_printable_escapes_controls_alone(text, escaped):
    expected = text.encode("unicode_escape").decode() if escaped is None else escaped
    assert printable(text) == expected


@pytest.fixture
def states(folder):
    """States under names that a terminal would obey, and line breaks."""
    for name, label in ((EVIL, "x"), (LINE, EVIL)):
        se.save(se.ConfusionAccumulator("auto").update([label, "y"], ["y", "y"]), folder / name)
    members = {EVIL: se.ConfusionAccumulator(), "r": se.RegressionAccumulator()}
    se.save(se.Collection(members, columns={EVIL: {"y_pred": EVIL}}), folder / "all")


@pytest.mark.slow
@each(
    "arguments",
    [
        ["show", EVIL],
        ["show", LINE],
        ["show", "all"],
        ["show", LINE, "--metrics", f"recall[{EVIL}]"],
        ["show", LINE, "--metrics", f"recall[{EVIL}!]"],
        ["show", "all", "--metrics", f"{EVIL}/accuracy"],
        ["show", LINE, "--require", f"recall[{EVIL}]>=0.5"],
        ["show", f"{EVIL}.absent"],
        ["explain", EVIL],
        ["explain", "all"],
        ["diff", EVIL, LINE],
        ["diff", EVIL, "all"],
        ["diff", LINE, LINE, "--fail-on", f"recall[{EVIL}] drops 0"],
        ["merge", EVIL, "-o", f"{EVIL}.sum"],
        ["merge", EVIL, "all", "-o", f"{EVIL}.sum"],
        ["plot", EVIL, "-o", f"{EVIL}.svg"],
        ["plot", EVIL, "-o", "a.svg", "--kind", EVIL],
        ["plot", "all", "-o", "a.svg", "--member", EVIL],
        ["report", EVIL, LINE, "-o", f"{EVIL}.html"],
        ["report", EVIL, EVIL, "-o", "a.html"],
        ["show", "all", f"--{EVIL}"],
        [EVIL],
    ],
)
def test_command_on_states_prints_no_control_characters(arguments, states, call):
    done = call(*arguments)
    assert is_clean(done.out)
    assert is_clean(done.err)
    assert "\x1b" not in done.out + done.err
    assert SHOWN[:7] in done.out + done.err or EVIL not in " ".join(arguments)


@pytest.fixture
def log(write):
    row = {"y_true": EVIL, "y_pred": EVIL, "n": 1, EVIL: EVIL}
    return write(f"{EVIL}.jsonl", [row, row | {"y_pred": LINE, EVIL: LINE}])


@each(
    "arguments",
    [
        [],
        ["--by", EVIL],
        ["--by", f"{EVIL}={EVIL},x"],
        ["--y-true", f"{EVIL}!"],
        ["--classes", f"{EVIL},x"],
        ["--y-pred", "n"],
        ["--metrics", f"recall[{EVIL}]"],
        ["--metrics", EVIL],
        ["--require", EVIL],
        ["--require", f"recall[{EVIL}]>0.9"],
        ["--task", EVIL],
        ["--by", EVIL, "-o", EVIL],
    ],
)
def test_eval_prints_no_control_characters(arguments, log, call):
    done = call("eval", log, log, *arguments)
    assert is_clean(done.out)
    assert is_clean(done.err)
    assert done.out + done.err


def test_json_still_holds_what_was_escaped_in_text(log, call):
    done = call("eval", log, "--json", "--by", EVIL)
    assert json.loads(done.out)["by"] == EVIL


def test_line_break_in_a_name_stays_on_its_line(states, call):
    assert call("show", LINE).out.startswith("a\\nb, n = 2\n")
    assert call("diff", LINE, LINE).out.startswith("A: a\\nb, n = 2\nB: a\\nb, n = 2\n")
    assert call("show", f"{LINE}.absent").err.count("\n") == 1


def test_queries_keep_their_tabs_apart(write, call):
    row = {"query": EVIL, "relevance": [1, 0], "score": [0.1, 0.2]}
    log = write("q.jsonl", [row])
    options = ["--task", "ranking", "--measures", "map", "--per-query"]
    assert call("eval", log, *options).out.startswith(f"map                   \t{SHOWN}\t0.5000\n")


def test_output_that_is_a_link_to_itself_is_refused_before_the_work(labels, folder, call):
    (folder / "loop").symlink_to(folder / "loop")
    done = call("eval", labels, "-o", "loop")
    assert done.code == 3
    assert done.err == "streameval: error: loop: is a link that leads back to itself.\n"
    assert (folder / "loop").is_symlink()


@pytest.mark.parametrize("target", ["loop", "absent"])
def test_folder_of_slices_that_is_a_link_to_nowhere_is_refused(target, labels, folder, call):
    (folder / "loop").symlink_to(folder / target)
    done = call("eval", labels, "--by", "y_true", "-o", "loop")
    assert done.code == 3
    assert "loop: is not a folder" in done.err


@each("label", [2**63, 2**64 + 1, -(2**63) - 1])
@each("name", ["a.jsonl", "a.csv"])
def test_label_past_64_bits_is_shown_as_given(label, name, write, call):
    log = write(name, [{"y_true": 1, "y_pred": 1}, {"y_true": label, "y_pred": 1}])
    done = call("eval", log)
    assert done.code == 3
    assert "`y_true` must be an integer of 64 bits" in done.err
    assert f"got {label}.\n" in done.err
