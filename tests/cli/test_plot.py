"""`streameval plot`: states in, a picture out."""

import builtins
import re

import pytest
from cli.outcome import error_of, names_in
from offenders import each

import streameval as se

HEADS = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.fixture
def state(folder):
    """A state of three words."""
    words = ["cat", "dog", "owl"]
    se.save(se.ConfusionAccumulator("auto").update(words, ["cat", "cat", "owl"]), "a.state")
    return "a.state"


def curve(*scores):
    return se.PRCurveSketch().update([0, 1, 0, 1], scores or [0.1, 0.4, 0.6, 0.9])


STATES = {
    "roc": curve,
    "pr": curve,
    "det": curve,
    "score": curve,
    "reliability": lambda: se.CalibrationAccumulator().update([0, 1], [0.1, 0.8]),
    "measures": lambda: se.RankingAccumulator().update([[1, 0], [0, 1]], [[2, 1], [2, 1]]),
    "ratings": lambda: se.PreferencesAccumulator(["x", "y"]).update(
        ["x"] * 4, ["y"] * 4, ["model_a", "model_a", "tie", "model_b"]
    ),
    "groups": lambda: se.GroupedAUC().update([0, 1], [0.1, 0.8], ["u", "u"]),
}


def two_members():
    inner = se.Collection({"cm": se.ConfusionAccumulator()})
    members = {"curve": se.PRCurveSketch(), "in": inner, "sums": se.RegressionAccumulator()}
    batch = {"y_true": [0, 1], "y_pred": [0, 1], "y_score": [0.1, 0.9]}
    return se.Collection(members).update(batch)


@pytest.fixture
def texts(folder, monkeypatch):
    """Read the words in a picture."""
    monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")

    def texts(name):
        return re.findall(r"<text [^>]*>([^<]+)</text>", (folder / name).read_text())

    return texts


@pytest.mark.slow
@pytest.mark.parametrize("form", HEADS)
def test_plot_writes_the_format_that_the_name_tells(form, call, state, folder):
    name = f"a.{form.upper()}"
    done = call("plot", state, "-o", name)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"matrix of a.state drawn in {name}, n = 3\n"
    assert (folder / name).read_bytes().startswith(HEADS[form])


def test_plot_draws_the_labels_and_counts_of_the_state(call, state, texts):
    assert call("plot", state, "--kind", "matrix", "-o", "a.svg").code == 0
    assert {"cat", "dog", "owl", "truth", "prediction"} <= set(texts("a.svg"))


@pytest.mark.parametrize("kind", STATES)
def test_plot_draws_every_kind(kind, call, texts):
    se.save(STATES[kind](), "a.state")
    done = call("plot", "a.state", "--kind", kind, "-o", "a.svg")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{kind} of a.state drawn in a.svg, n = ")
    assert "a.state" not in texts("a.svg")


@pytest.mark.slow
@pytest.mark.parametrize("kind", STATES)
def test_plot_draws_several_states_in_one_picture(kind, call, texts):
    for name in ("a", "b", "c"):
        se.save(STATES[kind](), f"{name}.state")
    names = ["a.state", "b.state", "c.state"]
    done = call("plot", *names, "--kind", kind, "-o", "a.svg")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{kind} of a.state, b.state, c.state drawn in a.svg\n"
    words = [word.partition(" (")[0].partition(":")[0] for word in texts("a.svg")]
    assert list(dict.fromkeys(word for word in words if word in "abc")) == ["a", "b", "c"]


def named_in(words):
    """Read the names of curves, without their areas."""
    return {word.partition(" (")[0] for word in words}


def test_plot_draws_what_each_state_holds(call, texts):
    se.save(curve(0.1, 0.4, 0.6, 0.9), "a.state")
    se.save(STATES["reliability"](), "b.state")
    done = call("plot", "a.state", "b.state", "--kind", "reliability", "-o", "a.svg")
    assert (done.code, done.err) == (0, "")
    assert {"a", "b"} <= set(texts("a.svg"))


def test_plot_of_a_state_given_twice_is_that_of_one(call, folder):
    se.save(curve(), "a.state")
    call("plot", "a.state", "-o", "one.svg")
    assert call("plot", "a.state", "a.state", "-o", "two.svg").out.endswith("two.svg, n = 4\n")
    assert (folder / "one.svg").read_bytes() == (folder / "two.svg").read_bytes()


def test_plot_names_states_by_what_tells_them_apart(call, texts, folder):
    for name in ("monday", "tuesday"):
        (folder / name).mkdir()
        se.save(curve(), folder / name / "all.state")
    paths = [folder / name / "all.state" for name in ("monday", "tuesday")]
    assert call("plot", *paths, "-o", "a.svg").code == 0
    assert {"monday/all", "tuesday/all"} <= named_in(texts("a.svg"))


def test_plot_writes_names_that_mean_something_to_matplotlib(call, texts):
    names = ["_a.state", "$b$.state", f"{'c' * 60}.state"]
    for name in names:
        se.save(curve(), name)
    done = call("plot", *names, "-o", "a.svg")
    assert (done.code, done.err) == (0, "")
    assert {" _a", "$b$", f"{'c' * 39}\u2026"} <= named_in(texts("a.svg"))


@each(
    ("accumulator", "message"),
    [
        (
            se.ConfusionAccumulator(),
            "a matrix shows one state: draw each in its own figure.",
        ),
        (
            se.PRCurveSketch(classes=3),
            "curves of classes show one state: draw each in its own figure.",
        ),
    ],
)
def test_plot_refuses_several_states_that_would_hide_each_other(accumulator, message, call, folder):
    for name in ("a.state", "b.state"):
        se.save(accumulator, name)
    assert error_of(call("plot", "a.state", "b.state", "-o", "a.png")) == message
    assert names_in(folder) == ["a.state", "b.state"]


def test_plot_names_the_state_that_has_no_such_curve(call, state):
    se.save(curve(), "b.state")
    found = error_of(call("plot", "b.state", state, "--kind", "roc", "-o", "a.png"))
    assert found == "no curve 'roc' of a.state: choose from matrix."


def test_plot_names_the_state_of_several_that_cannot_be_drawn(call, folder):
    se.save(curve(), "a.state")
    se.save(se.PRCurveSketch().update([1], [0.5]), "b.state")
    found = error_of(call("plot", "a.state", "b.state", "-o", "a.png"))
    assert found == "b.state: `plot` needs examples of both classes."
    assert names_in(folder) == ["a.state", "b.state"]


@pytest.mark.slow
@each(("member", "kind"), [("curve", "pr"), ("in/cm", "matrix")])
def test_plot_draws_a_member(member, kind, call):
    se.save(two_members(), "a.state")
    done = call("plot", "a.state", "--member", member, "-o", "a.svg")
    assert done.out == f"{kind} of {member} of a.state drawn in a.svg, n = 2\n"


def test_plot_draws_one_member_of_several_states(call, texts):
    for name in ("a.state", "b.state"):
        se.save(two_members(), name)
    arguments = ["--member", "curve", "--kind", "roc", "-o", "a.svg"]
    done = call("plot", "a.state", "b.state", *arguments)
    assert done.out == "roc of curve of a.state, b.state drawn in a.svg\n"
    assert {"a", "b"} <= named_in(texts("a.svg"))


@each(
    ("arguments", "message"),
    [
        ([], "c.state holds a Collection; choose a --member: choose from curve, in/cm, sums."),
        (
            ["--member", "curv"],
            "no member 'curv' of c.state: did you mean 'curve'? Choose from curve, in/cm, sums.",
        ),
        (["--member", "in"], "no member 'in' of c.state: "),
    ],
)
def test_plot_asks_for_a_member_that_there_is(arguments, message, call):
    se.save(two_members(), "c.state")
    assert error_of(call("plot", "c.state", *arguments, "-o", "a.png")).startswith(message)


def test_plot_refuses_a_member_of_what_is_no_collection(call, state):
    assert error_of(call("plot", state, "--member", "x", "-o", "a.png")) == (
        "--member is for collections, and a.state holds a ConfusionAccumulator."
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", HEADS)
def test_plot_of_one_state_is_one_picture(form, call, state, folder):
    for name in ("a", "b"):
        call("plot", state, "-o", f"{name}.{form}")
    assert (folder / f"a.{form}").read_bytes() == (folder / f"b.{form}").read_bytes()


@pytest.mark.slow
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
    found = error_of(call("plot", state, "--kind", "matrx", "-o", "a.png"))
    assert found == "no curve 'matrx' of a.state: did you mean 'matrix'? Choose from matrix."


def test_plot_says_which_state_has_no_picture(call, folder):
    held = se.Sliced(se.RegressionAccumulator(), "city")
    se.save(held.update({"y_true": [1.0], "y_pred": [2.0], "city": ["Oslo"]}), "a.state")
    found = error_of(call("plot", "a.state", "-o", "a.png"))
    assert found == "a.state holds a Sliced, of which there is no picture; report draws it."


@pytest.mark.parametrize(
    "held",
    [
        se.RegressionAccumulator(intervals=True).update([1.0, 2.0, 4.0], [2.0, 2.0, 3.0]),
        se.MeanAccumulator().update([1.0, 2.0]),
        se.Paired().update([1, 0, 1], [1, 1, 1], [0, 0, 1]),
    ],
    ids=lambda held: type(held).__name__,
)
def test_plot_draws_the_headline_of_sums(held, call, folder):
    for name in ("a.state", "b.state"):
        se.save(held, name)
    assert call("plot", "a.state", "b.state", "-o", "a.svg").code == 0
    assert "95% interval" in (folder / "a.svg").read_text()


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
        ("folder.png", "folder.png: is not a regular file."),
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
    found = error_of(call("plot", state, "-o", "a.png"), 5)
    assert found == "a.png: the picture is not saved: no space left on device."
    assert names_in(folder) == ["a.png", "a.state"]
    assert (folder / "a.png").read_text() == "old"


def test_plot_names_a_state_that_cannot_be_read(call):
    assert error_of(call("plot", "absent.state", "-o", "a.png"), 3) == (
        "absent.state: no such file or directory."
    )


def test_plot_draws_one_metric(call):
    done = call("plot", "a.state", "-o", "a.png", "--metrics", "accuracy,recall")
    assert (done.code, done.err) == (
        2,
        "streameval: error: --metrics takes one metric here, got 2.\n",
    )
