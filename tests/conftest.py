"""The profiles of generated cases, files in memory, and cheap collection of many tests."""

import gc
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from profiles import EXAMPLES

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
APART = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.(?:engine|server)\(", re.MULTILINE)
"""How a file says that all its tests need what is installed apart."""

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
    is_inner_loop = f"-m{config.option.markexpr}" in config.getini("addopts")
    if not is_inner_loop or collection_path.suffix != ".py":
        return None  # which leaves the answer to pytest
    return bool(APART.search(collection_path.read_text(encoding="utf-8"))) or None


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
