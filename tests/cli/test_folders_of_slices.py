"""Folders of slices, as `eval --by -o FOLDER` writes them: shown, reported and merged whole."""

from pathlib import Path

import pytest
from offenders import each

import streameval as se

DAYS = {
    "monday": "DE,1,1\nDE,0,1\nFR,1,0\n",
    "tuesday": "FR,1,1\nDE,0,0\nFR,0,0\nDE,1,1\n",
    "sunday": "DE,1,1\n",
}


@pytest.fixture
def folders(call, folder):
    for day, rows in DAYS.items():
        Path(f"{day}.csv").write_text(f"country,y_true,y_pred\n{rows}")
        assert call("eval", f"{day}.csv", "--classes", "2", "--by", "country", "-o", day).code == 0
    return folder


def files(name):
    return {path.name: path.read_bytes() for path in Path(name).iterdir()}


def lines(text):
    return [line.split()[:2] for line in text.splitlines()[1:]]


def test_show_has_all_rows_first(folders, call):
    done = call("show", "monday", "--metrics", "accuracy")
    assert (done.code, done.err) == (0, "")
    expected = [["all.state", "3"], ["country=DE.state", "2"], ["country=FR.state", "1"]]
    assert lines(done.out) == expected


def test_folders_and_files_are_shown_together(folders, call):
    done = call("show", "sunday", "monday/all.state", "--metrics", "accuracy")
    assert [name for name, _ in lines(done.out)] == [
        *("sunday/all.state", "country=DE.state", "monday/all.state")
    ]


def test_report_shows_a_folder(folders, call):
    done = call("report", "monday", "-o", "day.html")
    assert (done.code, done.out) == (0, "3 states reported in day.html\n")
    page = Path("day.html").read_text()
    assert "By country" in page
    assert "<bdi>FR</bdi>" in page


def test_folders_merge_slice_by_slice(folders, call):
    done = call("merge", "monday", "tuesday", "-o", "both")
    assert (done.code, done.err) == (0, "")
    assert done.out == "3 states of 2 folders merged into both\n"
    Path("both.csv").write_text("country,y_true,y_pred\n" + DAYS["monday"] + DAYS["tuesday"])
    call("eval", "both.csv", "--classes", "2", "--by", "country", "-o", "whole")
    found, whole = (
        {path.name: path.read_bytes() for path in Path(name).iterdir()}
        for name in ("both", "whole")
    )
    assert found == whole


def test_folders_are_compared_slice_by_slice(folders, call):
    done = call("diff", "monday", "tuesday", "--fail-on", "accuracy drops 0", "--level", "0")
    names = ["all", "country=DE", "country=FR"]
    assert [line for line in done.out.splitlines() if line.startswith("A: ")] == [
        f"A: monday/{name}.state, n = {n}" for name, n in zip(names, (3, 2, 1), strict=True)
    ]
    verdicts = [line for line in done.err.splitlines() if "must not drop: " in line]
    assert [line.split(": ")[1:3] for line in verdicts] == [
        ["passed", f"tuesday/{name}.state"] for name in names
    ]
    pairs = [(f"monday/{name}.state", f"tuesday/{name}.state") for name in names]
    alone = [call("diff", *pair, "--json").out for pair in pairs]
    assert call("diff", "monday", "tuesday", "--json").out == "".join(alone)
    assert call("diff", "monday", "monday").code == 0


def test_slices_of_a_folder_share_a_figure(folders, call):
    Path("scores.csv").write_text("country,y_true,y_score\nDE,1,0.5\nDE,0,0.5\nFR,1,1\nFR,0,0\n")
    call("eval", "scores.csv", "--task", "binary", "--by", "country", "-o", "scores")
    done = call("plot", "scores", "-o", "pr.svg")
    listed = ", ".join(f"scores/{name}.state" for name in ("all", "country=DE", "country=FR"))
    assert (done.code, done.out) == (0, f"pr of {listed} drawn in pr.svg\n")


def test_folder_in_a_folder_is_no_slice(folders, call):
    Path("tuesday", "old.state").mkdir()
    assert call("merge", "monday", "tuesday", "-o", "both").code == 0


def test_slice_that_a_folder_lacks_is_refused(folders, call):
    done = call("merge", "monday", "sunday", "-o", "both")
    assert done.code == 3
    assert done.err == (
        "streameval: error: sunday: has no country=FR.state, whose rows may be among others there; "
        "--by COLUMN=A,B names the values that each run saves.\n"
    )
    assert not Path("both").exists()


def test_equal_folders_are_suspected(folders, call):
    Path("copy").mkdir()
    for path in Path("monday").iterdir():
        Path("copy", path.name).write_bytes(path.read_bytes())
    done = call("merge", "monday", "copy", "-o", "both")
    assert done.code == 0
    assert "warning: copy/all.state is equal to monday/all.state" in done.err


def test_states_left_from_before_are_told(folders, call):
    Path("both").mkdir()
    se.save(se.ConfusionAccumulator(), "both/old.state")
    done = call("merge", "monday", "tuesday", "-o", "both")
    assert done.err.startswith("streameval: warning: both: also holds old.state, from before")


@each(
    ("words", "code", "message"),
    [
        (("merge", "monday", "monday", "-o", "both"), 2, "monday is given twice."),
        (("merge", "monday", "tuesday", "-o", "monday"), 2, "-o monday would overwrite an input."),
        (
            ("merge", "monday", "a.state", "-o", "both"),
            2,
            "states and folders of slices cannot be ",
        ),
        (("diff", "monday", "a.state"), 2, "states and folders of slices cannot be compared"),
        (("diff", "monday", "sunday"), 3, "sunday: has no country=FR.state, whose rows may be "),
        (
            ("merge", "monday", "tuesday", "-o", "monday.csv"),
            3,
            "monday.csv: is not a folder, and ",
        ),
        (
            ("merge", "monday", "empty", "-o", "both"),
            3,
            "empty: holds no file that ends in .state.",
        ),
        (("show", "empty"), 3, "empty: holds no file that ends in .state."),
        (("show", "x" * 5000), 3, "x" * 5000),
    ],
)
def test_what_cannot_be_done_is_said(words, code, message, folders, call):
    Path("empty").mkdir(exist_ok=True)
    done = call(*words)
    assert (done.code, done.err[: len(message) + 19]) == (code, f"streameval: error: {message}")


def test_folder_that_cannot_be_read_is_named(folders, call, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    done = call("show", "monday")
    assert (done.code, done.err) == (3, "streameval: error: monday: permission denied.\n")
