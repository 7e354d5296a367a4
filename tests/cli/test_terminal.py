"""Progress, colour and notes: what a terminal sees and a pipe does not."""

import io
import sys

import pytest
from offenders import each

from streameval.cli.terminal import Note, ProgressLine, line_of
from streameval.render.text import duration, size


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def clock():
    return Clock()


def test_progress_shows_share_rows_bytes_rate_and_time_left(clock):
    screen = Terminal()
    progress = ProgressLine(screen, 4_000_000, clock)
    clock.now += 2.0
    progress.advance(5000, 1_000_000)
    assert screen.getvalue() == (
        "\r 25% [#####               ] 5,000 rows  1.0 MB  2,500 rows/s  0:06 left\x1b[K"
    )


@pytest.mark.parametrize("total", [None, 0])
def test_progress_shows_no_share_when_the_size_is_unknown(total, clock):
    screen = Terminal()
    progress = ProgressLine(screen, total, clock)
    clock.now += 2.0
    progress.advance(5000, 900)
    assert screen.getvalue() == "\r5,000 rows  900 B  2,500 rows/s\x1b[K"


def test_progress_adds_up(clock):
    screen = Terminal()
    progress = ProgressLine(screen, 100, clock)
    for _ in range(2):
        clock.now += 1.0
        progress.advance(10, 25)
    assert screen.getvalue().split("\r")[-1].startswith(" 50% [##########          ] 20 rows")


def test_progress_stays_below_a_hundred_per_cent(clock):
    screen = Terminal()
    progress = ProgressLine(screen, 100, clock)
    clock.now += 1.0
    progress.advance(10, 150)
    assert screen.getvalue().startswith("\r100% [####################] 10 rows")


def test_progress_copes_with_a_first_block_of_no_bytes(clock):
    screen = Terminal()
    progress = ProgressLine(screen, 100, clock)
    clock.now += 1.0
    progress.advance(10, 0)
    assert "0:00 left" in screen.getvalue()


def test_progress_draws_ten_times_a_second_at_most(clock):
    screen = Terminal()
    progress = ProgressLine(screen, None, clock)
    for _ in range(100):
        clock.now += 0.011
        progress.advance(1, 1)
    assert 9 <= screen.getvalue().count("\r") <= 11


def test_progress_fits_a_narrow_terminal(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = Terminal()
    progress = ProgressLine(screen, 100, clock)
    clock.now += 1.0
    progress.advance(10, 10)
    assert len(screen.getvalue()) == len("\r") + 29 + len("\x1b[K")


def test_progress_wipes_its_line(clock):
    screen = Terminal()
    with ProgressLine(screen, 100, clock) as progress:
        clock.now += 1.0
        progress.advance(10, 10)
    assert screen.getvalue().endswith("\r\x1b[K")


def test_progress_leaves_no_trace_when_it_was_quick(clock):
    screen = Terminal()
    with ProgressLine(screen, 100, clock) as progress:
        progress.advance(10, 10)
    assert screen.getvalue() == ""


def test_progress_keeps_silent_without_a_terminal(clock, capsys):
    with ProgressLine(None, 100, clock) as progress:
        clock.now += 1.0
        progress.advance(10, 10)
    assert capsys.readouterr() == ("", "")


@each(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (5 * 10**9, "5.0 GB"),
        (2 * 10**15, "2,000.0 TB"),
    ],
)
def test_size_is_written_for_people(number, text):
    assert size(number) == text


@each(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (59.6, "1:00"),
        (75, "1:15"),
        (3600, "1:00:00"),
        (172_799, "47:59:59"),
        (172_800, "2 d"),
        (95_380_900, "1,103 d"),
    ],
)
def test_duration_is_written_for_people(seconds, text):
    assert duration(seconds) == text


def test_note_is_coloured_on_a_terminal():
    note = Note("failed", "accuracy>=0.9: 0.5.")
    assert line_of(note, Terminal()) == "streameval: \x1b[31mfailed\x1b[0m: accuracy>=0.9: 0.5.\n"


def test_note_of_no_weight_is_plain_on_a_terminal():
    assert line_of(Note("note", "ten."), Terminal()) == "streameval: note: ten.\n"


def test_note_is_plain_in_a_pipe():
    assert line_of(Note("failed", "x."), io.StringIO()) == "streameval: failed: x.\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_note_is_plain_when_the_environment_says_so(name, value, monkeypatch):
    monkeypatch.setenv(name, value)
    assert line_of(Note("failed", "x."), Terminal()) == "streameval: failed: x.\n"


def test_note_is_coloured_in_a_pipe_when_the_environment_says_so(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31mfailed\x1b[0m" in line_of(Note("failed", "x."), io.StringIO())


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("FORCE_COLOR", "0")])
def test_note_is_plain_in_a_pipe_when_colours_are_not_forced(name, value, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv(name, value)
    assert line_of(Note("failed", "x."), io.StringIO()) == "streameval: failed: x.\n"


RED = "\x1b[31m"
SLICED = "\n".join(
    ["site,y_true,y_pred"]
    + ["north,1,1"] * 300
    + ["south,1,1"] * 60
    + ["south,1,0"] * 40
    + ["\x1b[31mred,1,1"] * 100
)


def red_lines(text):
    return [line.split()[0] for line in text.split("\n") if RED in line]


def test_table_marks_what_is_worse_than_all_rows_on_a_terminal(call, folder, on_a_terminal):
    (folder / "sites.csv").write_text(SLICED)
    on_a_terminal(100)
    found = call("eval", "sites.csv", "--by", "site", "--metrics", "accuracy,n").out
    assert red_lines(found) == ["south"]
    assert f"{RED}0.6000\x1b[0m" in found
    assert "\\x1b[31mred" in found, "a name is escaped"
    lines = found.split("\n")
    assert [line.split()[2] for line in lines[3:7]] == ["██████████", "██████", "██", "██"]


def test_table_marks_the_worst_where_there_are_no_intervals(call, folder, on_a_terminal):
    (folder / "sites.csv").write_text(SLICED)
    on_a_terminal(100)
    found = call("eval", "sites.csv", "--by", "site", "--task", "regression")
    marked = [line for line in found.out.split("\n") if RED in line]
    assert [line.split()[0] for line in marked] == ["south"]
    assert marked[0].count(RED) == 2, "rmse and mae have a better direction; bias has none"


def test_table_does_not_mark_a_value_that_is_a_convention(call, folder, on_a_terminal):
    rows = ["site,y_true,y_pred", *["north,1,1"] * 9, *["south,1,0"] * 3, *["south,1,1"] * 3]
    (folder / "sites.csv").write_text("\n".join([*rows, "none,0,0"]))
    on_a_terminal(100)
    options = ["--by", "site", "--metrics", "recall", "--classes", "0,1", "--level", "0"]
    found = call("eval", "sites.csv", *options).out
    assert red_lines(found) == ["south"]
    assert "none" in found


def test_table_marks_nothing_where_all_slices_are_alike(call, folder, on_a_terminal):
    (folder / "sites.csv").write_text("site,y_true,y_pred\n" + "a,1,2\nb,1,2\n" * 9)
    on_a_terminal(100)
    assert RED not in call("eval", "sites.csv", "--by", "site", "--task", "regression").out


def test_table_has_bars_but_no_colour_on_a_terminal_without(
    call, folder, on_a_terminal, monkeypatch
):
    (folder / "sites.csv").write_text(SLICED)
    on_a_terminal(100)
    monkeypatch.setenv("NO_COLOR", "1")
    found = call("eval", "sites.csv", "--by", "site").out
    assert "\x1b" not in found
    assert "██████" in found


def test_table_is_plain_in_a_pipe_unless_colours_are_forced(call, folder, monkeypatch):
    (folder / "sites.csv").write_text(SLICED)
    plain = call("eval", "sites.csv", "--by", "site").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    forced = call("eval", "sites.csv", "--by", "site").out
    assert (red_lines(plain), "█" in plain) == ([], False)
    assert (red_lines(forced), "█" in forced) == (["south"], True)


def test_tables_of_several_states_keep_their_colours(call, folder, on_a_terminal):
    days = ["2026-05-01,1,1"] * 300 + ["2026-05-02,1,0"] * 30 + ["2026-05-03,1,1"] * 30
    (folder / "days.csv").write_text("\n".join(["t,y_true,y_pred", *days]))
    for task in ("classification", "regression"):
        call("eval", "days.csv", "--task", task, "--time", "t", "--pane", "1d", "-o", task)
    on_a_terminal(100)
    found = call("show", "classification", "regression").out
    assert set(red_lines(found)) == {"2026-05-02"}
    assert "\\x1b" not in found


@pytest.fixture
def watch(call, monkeypatch):
    """Run a command with a terminal as standard error, and return what it was sent."""
    monkeypatch.setattr("streameval.cli.terminal._INTERVAL", 0.0)

    def watch(*arguments):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        call(*arguments)
        return screen.getvalue()

    return watch


def test_eval_draws_progress_on_a_terminal(watch, labels):
    seen = watch("eval", labels)
    assert seen.startswith("\r100% [####################] 200 rows  ")
    assert seen.endswith("\r\x1b[K")


def test_eval_draws_no_progress_when_quiet(watch, labels):
    assert watch("eval", labels, "--quiet") == ""


def test_eval_wipes_progress_before_an_error(watch, labels, folder):
    (folder / "bad.jsonl").write_text("junk")
    seen = watch("eval", labels, "bad.jsonl")
    assert "\r\x1b[Kstreameval: \x1b[31merror\x1b[0m: bad.jsonl, line 1:" in seen
