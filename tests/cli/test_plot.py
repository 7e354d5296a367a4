"""`streameval plot`: a state in, a picture out."""

import builtins
import re

import pytest

import streameval as se

HEADS = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.fixture
def state(folder):
    """A state of three words."""
    words = ["cat", "dog", "owl"]
    se.save(se.ConfusionAccumulator("auto").update(words, ["cat", "cat", "owl"]), "a.state")
    return "a.state"


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def error_of(done, code=2):
    assert (done.code, done.out) == (code, "")
    (line,) = done.err.splitlines()
    return line.removeprefix("streameval: error: ")


@pytest.mark.parametrize("form", HEADS)
def test_plot_writes_the_format_that_the_name_tells(form, call, state, folder):
    name = f"a.{form.upper()}"
    done = call("plot", state, "-o", name)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"matrix of a.state drawn in {name}, n = 3\n"
    assert (folder / name).read_bytes().startswith(HEADS[form])


def test_plot_draws_the_labels_and_counts_of_the_state(call, state, folder, monkeypatch):
    monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")
    assert call("plot", state, "--curve", "matrix", "-o", "a.svg").code == 0
    texts = re.findall(r"<text [^>]*>([^<]+)</text>", (folder / "a.svg").read_text())
    assert {"cat", "dog", "owl", "truth", "prediction"} <= set(texts)


@pytest.mark.parametrize("form", HEADS)
def test_plot_of_one_state_is_one_picture(form, call, state, folder):
    for name in ("a", "b"):
        call("plot", state, "-o", f"{name}.{form}")
    assert (folder / f"a.{form}").read_bytes() == (folder / f"b.{form}").read_bytes()


@pytest.mark.parametrize(("form", "mark"), [("svg", b"dc:date"), ("pdf", b"CreationDate")])
def test_plot_leaves_the_time_out_of_the_picture(form, mark, call, state, folder):
    call("plot", state, "-o", f"a.{form}")
    assert mark not in (folder / f"a.{form}").read_bytes()


def test_plot_opens_no_window(call, state, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setenv("MPLBACKEND", "tkagg")
    before = pyplot.get_fignums()
    assert call("plot", state, "-o", "a.png").code == 0
    assert pyplot.get_fignums() == before


def test_plot_takes_the_place_of_an_old_picture(call, state, folder):
    (folder / "a.svg").write_text("old")
    call("plot", state, "-o", "a.svg")
    assert (folder / "a.svg").read_bytes().startswith(HEADS["svg"])
    assert names_in(folder) == ["a.state", "a.svg"]


def test_plot_follows_a_link(call, state, folder):
    (folder / "link.svg").symlink_to("a.svg")
    call("plot", state, "-o", "link.svg")
    assert (folder / "link.svg").is_symlink()
    assert (folder / "a.svg").read_bytes().startswith(HEADS["svg"])


def test_plot_says_which_character_has_no_font(call, folder):
    se.save(se.ConfusionAccumulator("auto").update(["\u732b"], ["\u732b"]), "a.state")
    done = call("plot", "a.state", "-o", "a.png")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("streameval: warning: Glyph ")


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.state", ".png"])
def test_plot_refuses_a_name_that_tells_no_format(name, call, state):
    found = error_of(call("plot", state, "-o", name))
    assert found == f"-o {name}: the name must end in .png, .svg or .pdf."


@pytest.mark.parametrize("name", ["a.png", "./a.png", "../{folder}/a.png", "link.png"])
def test_plot_never_overwrites_the_state(name, call, state, folder):
    (folder / state).rename(folder / "a.png")
    (folder / "link.png").symlink_to("a.png")
    before = (folder / "a.png").read_bytes()
    output = name.format(folder=folder.name)
    assert error_of(call("plot", "a.png", "-o", output)) == f"-o {output} would overwrite an input."
    assert (folder / "a.png").read_bytes() == before


def test_plot_lists_the_curves_that_the_state_has(call, state):
    found = error_of(call("plot", state, "--curve", "matrx", "-o", "a.png"))
    assert found == "no curve 'matrx' of a.state: did you mean 'matrix'? There are matrix."


def test_plot_says_that_there_is_no_curve(call, folder):
    se.save(se.RegressionAccumulator(), "a.state")
    found = error_of(call("plot", "a.state", "-o", "a.png"))
    assert found == "a.state holds a RegressionAccumulator, which has no curve."


def test_plot_says_what_the_result_cannot_draw(call, folder):
    se.save(se.ConfusionAccumulator(2, multilabel=True), "a.state")
    found = error_of(call("plot", "a.state", "-o", "a.png"))
    assert found == "`plot` draws one matrix; multilabel counts have one a label."
    assert names_in(folder) == ["a.state"]


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (ImportError("matplotlib"), "plot needs matplotlib: pip install 'streameval[plot]'."),
        (
            ValueError("'x' is no backend; there are"),
            "matplotlib does not start: 'x' is no backend.",
        ),
    ],
    ids=["missing", "backend"],
)
def test_plot_says_why_there_is_no_matplotlib(trouble, message, call, state, monkeypatch):
    def refuse(name, *arguments):
        if name.startswith("matplotlib"):
            raise trouble
        return real_import(name, *arguments)

    real_import = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert error_of(call("plot", state, "-o", "a.png")) == message


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("absent/a.png", "absent/a.png: there is no such folder."),
        ("folder.png", "folder.png: is no regular file."),
    ],
)
def test_plot_finds_out_early_that_the_picture_cannot_be_saved(output, message, call, folder):
    (folder / "folder.png").mkdir()
    assert error_of(call("plot", "absent.state", "-o", output), 3) == message


def test_plot_says_that_the_disk_is_full(call, state, folder, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    (folder / "a.png").write_text("old")
    monkeypatch.setattr("os.fsync", full)
    found = error_of(call("plot", state, "-o", "a.png"), 3)
    assert found == "a.png: the picture is not saved, no space left on device."
    assert names_in(folder) == ["a.png", "a.state"]
    assert (folder / "a.png").read_text() == "old"


def test_plot_names_a_state_that_cannot_be_read(call):
    assert error_of(call("plot", "absent.state", "-o", "a.png"), 3) == (
        "absent.state: no such file or directory."
    )
