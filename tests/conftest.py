"""The profiles of generated cases, files in memory, and cheap collection of many tests."""

import gc
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from profiles import EXAMPLES, is_inner_loop

for name, examples in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,  # which a busy machine exceeds
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("dev")

TESTS = Path(__file__).parent
UNCOVERED = ("docs", "oracle")
APART = r"pytest\.mark\.(?:slow|long|engine|server)\b"
"""The marks of tests that the inner loop leaves out."""

FILE_APART = re.compile(rf"^pytestmark = (?:\[\s*)?{APART}", re.MULTILINE)
TEST_APART = re.compile(rf"^@{APART}", re.MULTILINE)
TEST = re.compile(r"\bdef test_|^(?:class )?Test\w|^test_\w", re.MULTILINE)
"""A test, or what is given the name of one, such as the machine of Hypothesis."""

MEMORY = Path("/dev/shm")
is_usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
if is_usable and shutil.disk_usage(MEMORY).free >= 4 * 2**30:
    # writing thousands of small files through to a disk, and deleting them, takes long
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let neighbors stay together on several processes: what a file makes is made once.

    As an option in pyproject.toml, it would disable pytest-benchmark on a single process too.
    """
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what the inner loop leaves out as a whole: torch alone takes a second.

    pytest does not ask about a file that the command names.
    """
    if not is_inner_loop(config) or collection_path.suffix != ".py":
        return None  # which leaves the answer to pytest
    return is_apart(collection_path.read_text(encoding="utf-8")) or None


def is_apart(source: str) -> bool:
    """Check whether a file, or each test in it, has one of the marks."""
    tests = filter(TEST.search, source.split("\n\n\n"))
    return bool(FILE_APART.search(source)) or all(map(TEST_APART.search, tests))


def pytest_collection() -> None:
    """Do not search for garbage: there is hardly any, and it takes a third of the time."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark documents and the parity with other libraries: neither has to cover a branch."""
    for item in items:
        if TESTS not in item.path.parents or item.path.relative_to(TESTS).parts[0] in UNCOVERED:
            item.add_marker(pytest.mark.uncovered)


def pytest_collection_finish() -> None:
    """Keep what was collected out of every later search for garbage, and search seldom."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()
