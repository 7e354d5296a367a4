"""The memory of a command, in a process of its own."""

import subprocess
import sys

# Not getrusage: its maximum includes that of the parent before exec.
MEASURE = """
import pathlib, sys
from streameval.cli import main
assert main(sys.argv[1:]) == 0
status = pathlib.Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""


def peak(*arguments):
    """Measure the most memory that an evaluation takes, in kB, and give what it prints."""
    return peak_of("eval", *arguments, "--quiet")


def peak_of(*arguments):
    """Measure the most memory that a command takes, in kB, and give what it prints."""
    command = [sys.executable, "-c", MEASURE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stderr), done.stdout
