"""The console script as a process: pipes, signals, memory."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.memory import peak

SCRIPT = [sys.executable, "-m", "streameval"]
FULL = Path("/dev/full")


def run(*arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*SCRIPT, *arguments]
    return subprocess.run(command, check=False, text=True, timeout=60, **pipes | options)


@pytest.fixture
def closed():
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        yield closed


def test_script_reports(labels):
    done = run("eval", labels)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("200 rows of 1 file\n\nclass ")


@pytest.mark.parametrize(
    ("gate", "code", "error"),
    [("n>1", 0, ""), ("n<1", 1, "streameval: failed: n<1: 200.\n")],
)
def test_script_is_quiet_on_a_closed_pipe(gate, code, error, closed, labels):
    done = run("eval", labels, "--quiet", "--fail-under", gate, stdout=closed)
    assert (done.returncode, done.stderr) == (code, error)


def test_script_is_quiet_when_nobody_reads_help(closed):
    done = run("--help", stdout=closed)
    assert (done.returncode, done.stderr) == (0, "")


def test_script_keeps_its_exit_code_when_nobody_reads_errors(closed):
    assert run("eval", "absent", stderr=closed).returncode == 3


@pytest.mark.skipif(not FULL.exists(), reason="needs a disk that is always full")
def test_script_says_that_the_disk_of_its_output_is_full(labels):
    with FULL.open("w") as full:
        done = run("eval", labels, stdout=full)
    assert done.returncode == 3
    assert done.stderr == "streameval: error: standard output: no space left on device.\n"


def test_script_prints_a_label_that_the_terminal_cannot(write):
    log = write("a.jsonl", [{"y_true": "naïve", "y_pred": "naïve"}])
    done = run("eval", log, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert r"na\xefve" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_script_ends_quietly_on_an_interrupt(jobs, labels, folder):
    os.mkfifo("pipe.jsonl")
    command = [*SCRIPT, "eval", labels, "pipe.jsonl", "--jobs", jobs]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    # Opens once the script reads it; a worker process is in the middle of its imports then.
    with (folder / "pipe.jsonl").open("wb"):
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz"])
def test_memory_does_not_grow_with_the_file(name, write, folder):
    rows = [{"id": n, "y_true": n % 7, "y_pred": n % 5, "note": "x" * 40} for n in range(40_000)]
    small = (folder / write(name, rows)).read_bytes()
    before, _ = peak(name)
    body = small.partition(b"\n")[2] if name.endswith(".csv") else small
    with (folder / name).open("ab") as file:
        for _ in range(29):
            file.write(body)
    after, _ = peak(name)
    # The large file is 110 MB; the difference is what the allocator does not give back.
    assert after - before < 12_000
