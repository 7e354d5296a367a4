"""The console script as a process: pipes, signals, memory."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from cli.memory import peak_of
from waiting import HANGS, until

from streameval.cli import eval as eval_command
from streameval.runs import processes


@pytest.fixture(autouse=True)
def heeded_hangups():
    """Let scripts heed a hangup, even where the tests run under nohup."""
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


SCRIPT = [sys.executable, "-m", "streameval"]
FULL = Path("/dev/full")


def run(*arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*SCRIPT, *arguments]
    return subprocess.run(command, check=False, text=True, timeout=HANGS, **pipes | options)


@pytest.fixture
def closed():
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        yield closed


@pytest.mark.slow
def test_script_reports(labels):
    done = run("eval", labels)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("200 rows of 1 file\n\nclass ")


@pytest.mark.slow
def test_small_table_of_scores_loads_nothing_of_other_tasks(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("y_true,y_score\n1,0.7\n")
    code = (
        "import atexit, sys; before = {*sys.modules}; "  # which has what coverage needs
        "atexit.register(lambda: print(*sys.modules.keys() - before)); "
        "from streameval.cli import run; run()"
    )
    arguments = ["eval", str(path), "--task", "binary", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True
    )
    own = {name.removeprefix("streameval.") for name in done.stdout.split()}
    assert "accumulators.curve" in own
    others = {
        *("accumulators.calibration", "accumulators.confusion", "accumulators.grouped"),
        *("accumulators.mean", "accumulators.regression", "accumulators.windowed"),
        *("inputs.times", "io.json_lines", "io.parquet", "io.times", "states.calibration"),
        *("states.codec", "pyarrow", "multiprocessing"),
    }
    assert not others & own


@pytest.mark.parametrize("words", [("--jobs", 2), ("--jobs", "auto"), ()])
def test_workers_are_ended_before_the_report(words, labels, call, monkeypatch):
    done, computed = [], eval_command._computed
    worker = Mock(n_ahead=lambda: processes.AHEAD, end=lambda: done.append("end"))
    monkeypatch.setattr(processes, "Worker", lambda **_: worker)
    monkeypatch.setattr(processes, "_WORTH_BYTES", 1)
    monkeypatch.setattr(eval_command, "n_cpus", lambda: 2)
    monkeypatch.setattr(
        eval_command, "_computed", lambda *held: done.append("report") or computed(*held)
    )
    assert call("eval", labels, *words).code == 0
    assert done == ["end", "report"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "code", "error"),
    [("n>1", 0, ""), ("n<1", 1, "streameval: failed: n<1: 200.\n")],
)
def test_script_is_quiet_on_a_closed_pipe(gate, code, error, closed, labels):
    done = run("eval", labels, "--quiet", "--require", gate, stdout=closed)
    assert (done.returncode, done.stderr) == (code, error)


@pytest.mark.slow
def test_script_is_quiet_when_nobody_reads_help(closed):
    done = run("--help", stdout=closed)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_script_keeps_its_exit_code_when_nobody_reads_errors(closed):
    assert run("eval", "absent", stderr=closed).returncode == 3


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize(
    "words", [("eval", "{}"), ("--version",), ("eval", "--help"), ("eval", "--help-all")]
)
def test_script_says_that_the_disk_of_its_output_is_full(words, labels):
    with FULL.open("w") as full:
        done = run(*(word.format(labels) for word in words), stdout=full)
    assert done.returncode == 5
    assert done.stderr == "streameval: error: standard output: no space left on device.\n"


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs a disk that is always full")
def test_a_full_disk_does_not_matter_where_nothing_is_printed():
    with FULL.open("w") as full:
        done = run("eval", "--nothing", stdout=full)
    assert done.returncode == 2
    assert done.stderr.startswith("streameval: error: no option --nothing")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_script_prints_a_label_that_the_terminal_cannot(write):
    log = write("a.jsonl", [{"y_true": "naïve", "y_pred": "naïve"}])
    done = run("eval", log, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert r"na\xefve" in done.stdout


def heed_interrupts():
    """Undo what a shell does to jobs in the background, which ignore an interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_script_ends_quietly_on_an_interrupt(jobs, labels, folder):
    os.mkfifo("pipe.jsonl")
    command = [*SCRIPT, "eval", labels, "pipe.jsonl", "--jobs", jobs]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - it takes no lock
    )
    # Opens once the script reads it; a worker process begins to run then.
    with (folder / "pipe.jsonl").open("wb"):
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=HANGS)
    assert (process.returncode, error) == (130, b"")


def children(pid):
    """List the processes that a process has started and that have not been waited for."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def seconds(pid):
    """Measure the time that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def busy(write):
    """An evaluation whose workers are all in the middle of their blocks."""
    rows = [{"y_true": n % 7, "y_pred": n % 5, "note": "x" * 900} for n in range(4000)]
    command = [*SCRIPT, "eval", *[write("a.jsonl", rows)] * 2000, "--jobs", "3", "--quiet"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(
        command,
        **pipes,
        start_new_session=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - it takes no lock
    )
    # All of its children count, or all but the one that tracks what the others share.
    until(lambda: sum(seconds(child) > 1 for child in children(process.pid)) == 2)
    yield process
    process.stdout.close()
    process.stderr.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def stopped(write):
    """An evaluation that is stopped, and its workers, each in the middle of a long answer."""
    draw = random.Random(1)
    rows = [{"y_true": int(draw.random() < 0.3), "y_score": draw.random()} for _ in range(50_000)]
    command = [*SCRIPT, "eval", *[write("a.jsonl", rows)] * 400, "--task", "binary", "--jobs", "3"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    exact = ["--budget", "none", "--quiet"]  # every block comes back as its scores
    process = subprocess.Popen([*command, *exact], **pipes, start_new_session=True)

    def busy():
        return [child for child in children(process.pid) if seconds(child) > 1]

    until(lambda: len(busy()) == 2)
    process.send_signal(signal.SIGSTOP)
    before = []
    while before != (before := [seconds(child) for child in busy()]):
        time.sleep(1)  # they count on until their answers are not read
    yield process, busy()
    process.stdout.close()
    process.stderr.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_worker_that_dies_in_the_middle_of_its_answer_is_told(stopped):
    process, answering = stopped
    for worker in answering:
        os.kill(worker, signal.SIGKILL)
    process.send_signal(signal.SIGCONT)
    out, error = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (3, b"")
    assert error.endswith(b"a worker process died, perhaps for lack of memory; try fewer --jobs.\n")


def is_gone(pid):
    """Tell whether a process has ended, perhaps with nobody to wait for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)]
)
def test_workers_end_with_their_parent_when_it_is_signalled(name, code, busy):
    started = children(busy.pid)
    busy.send_signal(getattr(signal, name))
    # They hold the pipe: it ends when the last one has.
    out, error = busy.communicate(timeout=HANGS)
    until(lambda: all(map(is_gone, started)))
    assert (busy.returncode, out) == (code, b"")
    assert name == "SIGKILL" or error == b""


@pytest.fixture(params=["forked", "spawned"])
def never_up(folder, write, request):
    """An evaluation whose workers never get to their first line."""
    # a copy of this process, or a new one, beside one that tracks what the others share
    preparing, n_children = {
        "forked": ("processes._serve = lambda *_: time.sleep(3600)", 2),
        "spawned": ("processes._is_single_threaded = lambda: False", 3),
    }[request.param]
    (folder / "sitecustomize.py").write_text(
        "import sys, time\nif '--multiprocessing-fork' in sys.orig_argv:\n    time.sleep(3600)\n"
    )
    log = write("a.jsonl", [{"y_true": 1, "y_pred": 1}])
    os.mkfifo("pipe.jsonl")  # there is more to read, or it would be done without them
    code = (
        f"import time; from streameval.runs import processes, workers; {preparing}; "
        "workers._LOOK_SECONDS = 0; workers._WORTH_SECONDS = 1e-9; "
        "from streameval.cli import run; run()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "eval", *[log] * 3, "pipe.jsonl", "--jobs", "3"],
        env=os.environ | {"PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - it takes no lock
    )
    until(lambda: len(children(process.pid)) == n_children)
    yield process
    process.stdout.close()
    process.stderr.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_script_does_not_wait_for_starting_workers_when_it_is_signalled(name, code, never_up):
    started = children(never_up.pid)
    never_up.send_signal(getattr(signal, name))
    assert never_up.communicate(timeout=HANGS) == (b"", b"")
    assert never_up.returncode == code
    until(lambda: all(map(is_gone, started)))


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)]
)
def test_no_worker_is_left_whenever_the_parent_is_signalled(name, code, write):
    rows = [{"y_true": n % 7, "y_pred": n % 5, "note": "x" * 900} for n in range(4000)]
    command = [*SCRIPT, "eval", *[write("a.jsonl", rows)] * 500, "--jobs", "2", "--quiet"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    for n_steps in range(20):
        process = subprocess.Popen(
            command,
            **pipes,
            start_new_session=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509
        )
        until(lambda process=process: children(process.pid))
        time.sleep(0.05 * n_steps)  # from before a worker runs to the middle of its blocks
        started = children(process.pid)
        process.send_signal(getattr(signal, name))
        out, error = process.communicate(timeout=HANGS)
        until(lambda started=started: all(map(is_gone, started)))
        assert (process.returncode, out) == (code, b""), n_steps
        assert name == "SIGKILL" or error == b"", n_steps


def test_handler_of_a_signal_waits_until_a_process_is_started():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append("handled"))
    try:
        with processes._signals_held():
            signal.raise_signal(signal.SIGTERM)
            seen.append("started")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == ["started", "handled"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attrs", "streameval.cli.terminal"])
def test_script_ends_quietly_on_an_interrupt_of_what_it_imports(name):
    body = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {name!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from streameval.cli import run\n"
        "run()"
    )
    done = subprocess.run([sys.executable, "-c", body], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_script_ends_with_the_status_of_the_signal(name, code, folder):
    os.mkfifo("pipe.jsonl")
    process = subprocess.Popen([*SCRIPT, "eval", "pipe.jsonl"], stderr=subprocess.PIPE)
    with (folder / "pipe.jsonl").open("wb"):  # opens once the script reads it
        process.send_signal(getattr(signal, name))
        _, error = process.communicate(timeout=HANGS)
    assert (process.returncode, error) == (code, b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_script_goes_on_after_a_hangup_when_nohup_started_it(folder):
    os.mkfifo("pipe.jsonl")
    command = ["nohup", *SCRIPT, "eval", "pipe.jsonl"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with (folder / "pipe.jsonl").open("wb") as pipe:
        process.send_signal(signal.SIGHUP)
        pipe.write(b'{"y_true": 1, "y_pred": 1}\n')
    out, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 0
    assert out.startswith(b"1 row of 1 file")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_script_ends_at_once_on_a_second_signal():
    body = (
        "import signal\nfrom streameval.cli import app\n"
        "def main():\n"
        "    try:\n        signal.raise_signal(signal.SIGTERM)\n"
        "    finally:\n        signal.raise_signal(signal.SIGTERM)\n"
        "app.main = main\napp.run()\n"
    )
    assert subprocess.run([sys.executable, "-c", body], check=False).returncode == -signal.SIGTERM


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz"])
def test_memory_does_not_grow_with_the_file(name, write, folder):
    peaks = []
    for size in (10_000, 20_000):  # either fills what is pending
        rows = [{"id": n, "y_true": n % 7, "y_pred": n % 5, "note": "x" * 40} for n in range(size)]
        write(name, rows)
        peaks.append(peak_of("eval", name, "--quiet", "--jobs", 1)[0])
    # The large file has 0.8 MB more.
    assert peaks[1] - peaks[0] < 50_000
