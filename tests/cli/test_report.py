"""`streameval report`: states in, one HTML file out."""

import os

import pytest
from cli.outcome import error_of, names_in
from offenders import each
from report_pages import read, rows, text

import streameval as se
from streameval.reports import html_report


@pytest.fixture
def states(folder):
    """Two states of one kind, and one of another."""
    se.save(se.ConfusionAccumulator().update([1, 0, 1], [1, 0, 0]), "a.state")
    se.save(se.ConfusionAccumulator().update([1, 1, 1], [1, 1, 0]), "b.state")
    se.save(se.RegressionAccumulator().update([1.0], [2.0]), "fit.state")
    return ["a.state", "b.state", "fit.state"]


def listed(path):
    """Read the names of the states of a page."""
    footer = next(read(path.read_text(encoding="utf-8")).iter("footer"))
    return [row[0] for row in rows(next(footer.iter("table")))]


def test_report_writes_the_page_of_the_states(call, states, folder):
    done = call("report", *states, "-o", "all.html")
    assert (done.code, done.out, done.err) == (0, "3 states reported in all.html\n", "")
    expected = html_report({name.removesuffix(".state"): se.load(name) for name in states})
    assert (folder / "all.html").read_text(encoding="utf-8") == expected


def test_report_ranks_confusions_as_it_is_asked_to(call, folder):
    many = se.ConfusionAccumulator(30).update([1, 1, 2], [2, 2, 3])
    se.save(many, "many.state")
    assert call("report", "many.state", "-o", "a.html", "--confusions", "rate").code == 0
    expected = html_report({"many": many}, confusions="rate")
    assert (folder / "a.html").read_text(encoding="utf-8") == expected
    assert expected != html_report({"many": many})


def test_report_of_one_state_says_so(call, states):
    assert call("report", "a.state", "-o", "a.htm").out == "1 state reported in a.htm\n"


def test_report_has_the_title_and_the_level_that_were_given(call, states, folder):
    done = call("report", "a.state", "-o", "a.html", "--title", "My <week>", "--level", "0.9")
    assert done.code == 0
    page = read((folder / "a.html").read_text(encoding="utf-8"))
    assert text(next(page.iter("h1"))) == "My <week>"
    assert "90% interval" in text(page)


def test_report_of_the_same_states_is_the_same_file(call, states, folder):
    for name in ("one.html", "other.html"):
        call("report", *states, "-o", name)
    assert (folder / "one.html").read_bytes() == (folder / "other.html").read_bytes()


def test_report_names_states_by_as_much_of_the_path_as_tells_them_apart(call, states, folder):
    for name in ("monday", "tuesday"):
        (folder / name).mkdir()
        (folder / "a.state").rename(folder / name / "all.state")
        se.save(se.ConfusionAccumulator(), "a.state")
    paths = ["monday/all.state", folder / "tuesday/all.state", "./b.state"]
    assert call("report", *paths, "-o", "all.html").code == 0
    assert listed(folder / "all.html") == ["monday/all", "tuesday/all", "b"]


def test_report_takes_a_path_that_another_ends_in(call, states, folder):
    (folder / "deep" / folder.name).mkdir(parents=True)
    deep = f"deep/{folder.name}/a.state"
    se.save(se.ConfusionAccumulator(), deep)
    assert call("report", "a.state", deep, "-o", "all.html").code == 0
    first, second = listed(folder / "all.html")
    assert second == f"deep/{folder.name}/a"
    assert first == f"{folder.parent.name}/{folder.name}/a"


def test_report_takes_the_place_of_an_old_one(call, states, folder):
    (folder / "all.html").write_text("old")
    assert call("report", *states, "-o", "all.html").code == 0
    assert (folder / "all.html").read_bytes().startswith(b"<!doctype html>")
    assert names_in(folder) == [*states[:1], "all.html", *states[1:]]


def test_report_follows_a_link(call, states, folder):
    (folder / "link.html").symlink_to("all.html")
    call("report", *states, "-o", "link.html")
    assert (folder / "link.html").is_symlink()
    assert (folder / "all.html").exists()


def test_report_names_a_link_as_it_was_given(call, states, folder):
    (folder / "latest.state").symlink_to("a.state")
    call("report", "latest.state", "-o", "all.html")
    assert listed(folder / "all.html") == ["latest"]


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such names")
def test_report_takes_a_name_that_is_no_text(call, states, folder):
    name = os.fsdecode(b"caf\xe9.state")
    (folder / "a.state").rename(folder / name)
    assert call("report", name, "-o", "all.html").code == 0
    assert listed(folder / "all.html") == ["caf\ufffd"]


@each("name", ["a.png", "a", "b.state", ".html"])
def test_report_refuses_a_name_that_is_none_of_html(name, call, states):
    found = error_of(call("report", "a.state", "-o", name))
    assert found == f"-o {name}: the name must end in .html."


@pytest.mark.parametrize("name", ["a.html", "./a.html", "../{folder}/a.html", "link.html"])
def test_report_never_overwrites_a_state(name, call, states, folder):
    (folder / "a.state").rename(folder / "a.html")
    (folder / "link.html").symlink_to("a.html")
    before = (folder / "a.html").read_bytes()
    output = name.format(folder=folder.name)
    found = error_of(call("report", "b.state", "a.html", "-o", output))
    assert found == f"-o {output} would overwrite an input."
    assert (folder / "a.html").read_bytes() == before


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a.state", "b.state", "a.state"], "a.state is given twice."),
        (["a.state", "./a.state"], "./a.state is given twice, as a.state."),
        (["a.state", "link.state"], "link.state is given twice, as a.state."),
    ],
)
def test_report_refuses_a_state_given_twice(paths, message, call, states, folder):
    (folder / "link.state").symlink_to("a.state")
    assert error_of(call("report", *paths, "-o", "all.html")) == message
    assert "all.html" not in names_in(folder)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("absent/a.html", "absent/a.html: there is no such folder."),
        ("folder.html", "folder.html: is not a regular file."),
    ],
)
def test_report_finds_out_early_that_it_cannot_be_saved(output, message, call, folder):
    (folder / "folder.html").mkdir()
    assert error_of(call("report", "absent.state", "-o", output), 3) == message


def test_report_names_a_state_that_is_absent(call, states, folder):
    found = error_of(call("report", "a.state", "absent.state", "-o", "all.html"), 3)
    assert found == "absent.state: no such file or directory."
    assert names_in(folder) == states


def test_report_names_a_folder_without_states(call, states, folder):
    (folder / "folder").mkdir()
    assert (
        error_of(call("report", "folder", "-o", "all.html"), 3)
        == "folder: holds no file that ends in .state."
    )


@each("data", [b"", b"y_true,y_pred\n1,1\n", b"\x89SEVL\r\n\x1a\n"])
def test_report_names_a_file_that_is_no_state(data, call, states, folder):
    (folder / "log.csv").write_bytes(data)
    found = error_of(call("report", "a.state", "log.csv", "-o", "all.html"), 3)
    assert found.startswith("log.csv: ")
    assert "all.html" not in names_in(folder)


def test_report_names_a_state_that_is_corrupt(call, states, folder):
    data = bytearray((folder / "b.state").read_bytes())
    data[-1] ^= 1
    (folder / "b.state").write_bytes(data)
    found = error_of(call("report", "a.state", "b.state", "-o", "all.html"), 3)
    assert found.startswith("b.state: state is corrupt: ")


def test_report_says_that_the_disk_is_full(call, states, folder, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    (folder / "a.html").write_text("old")
    monkeypatch.setattr("os.fsync", full)
    found = error_of(call("report", "a.state", "-o", "a.html"), 5)
    assert found == "a.html: the report is not saved: no space left on device."
    assert names_in(folder) == ["a.html", *states]
    assert (folder / "a.html").read_text() == "old"


@each("level", ["1", "-0.5", "nan", "x"])
def test_report_refuses_another_level(level, call, states):
    done = call("report", "a.state", "-o", "a.html", f"--level={level}")
    assert (done.code, done.out) == (2, "")
    assert "--level" in done.err


@each("arguments", [[], ["a.state"], ["-o", "a.html"]])
def test_report_needs_a_state_and_an_output(arguments, call, states):
    assert call("report", *arguments).code == 2


def test_report_shows_the_metrics_that_are_asked_for(folder, call):
    se.save(se.ConfusionAccumulator().update([0, 1], [0, 1]), "a.state")
    done = call("report", "a.state", "-o", "a.html", "--metrics", "zero_one_loss,recall[0]")
    assert (done.code, done.err) == (0, "")
    page = (folder / "a.html").read_text()
    assert "Zero-one loss" in page
    assert "recall[0]" in page
