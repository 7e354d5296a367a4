"""`streameval doctor` and `completion`: what is installed, and a script for the shell."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import chain

import attrs

import streameval
from streameval.cli.arguments import described_parser
from streameval.cli.errors import GATE_FAILED, OK, UsageError
from streameval.cli.terminal import CommandOutput, Note
from streameval.render.sheets import columns_grid, sheet_text
from streameval.results.names import PICTURES_BY_TASK

CORE = "(core)"
PURPOSES = {
    CORE: "everything else",
    "arrow": "Parquet files",
    "beam": "Beam pipelines",
    "completion": "completion in a shell",
    "dask": "Dask",
    "fast": "JSON lines in a third of the time",
    "fsspec": "files in any storage of fsspec",
    "ignite": "Ignite",
    "jax": "counting inside compiled functions",
    "kafka": "Kafka topics",
    "keras": "Keras",
    "lightning": "Lightning",
    "plot": "pictures of states",
    "prometheus": "counters in your own registry",
    "ray": "Ray",
    "redis": "Redis streams",
    "spark": "Spark, which needs Java, too",
    "torch": "ranks of torch.distributed",
    "transformers": "the Hugging Face Trainer",
    "zstd": "Zstandard files",
}
"""What each extra is for, by its name."""

_REQUIREMENT = re.compile(
    r"^(?P<package>[\w.-]+)(?:\[\w+\])?>=(?P<lowest>[\d.]+)"
    r"(?:.*python_version < ['\"](?P<until>[\d.]+)['\"])?(?:.*extra == ['\"](?P<extra>\w+)['\"])?",
    re.MULTILINE,
)


@attrs.frozen
class NeededPackage:
    """A package that the core or an extra needs.

    Parameters
    ----------
    extra : str
        The extra, or `CORE`.
    package : str
        The name of the package.
    lowest : str
        The lowest version that works.
    version : str, optional
        The installed version.
    """

    extra: str
    package: str
    lowest: str
    version: str | None

    @property
    def is_too_old(self) -> bool:
        """Whether the installed version is below the lowest one."""
        return self.version is not None and _numbers(self.version) < _numbers(self.lowest)

    def __str__(self) -> str:
        """Say what is installed."""
        if self.version is None:
            return f"{self.package} missing"
        return f"{self.package} {self.version}" + (" too old" if self.is_too_old else "")


def doctor() -> CommandOutput:
    """Print the versions of Python, streameval and what it uses, by what it is used for.

    Raises
    ------
    UsageError
        If streameval was imported from a folder and is not installed.
    """
    try:
        lines = metadata.requires("streameval") or []
    except metadata.PackageNotFoundError:
        folder = streameval.__path__[0]
        raise UsageError(f"{folder} is not installed: pip install it from its folder.") from None
    needed = list(_requirements(lines))
    by_extra = {
        extra: [one for one in needed if one.extra == extra]
        for extra in PURPOSES  # in this order
    }
    installed = [
        ", ".join(map(str, found)) or "a part of this Python" for found in by_extra.values()
    ]
    grid = columns_grid({"extra": [*by_extra], "installed": installed, "for": [*PURPOSES.values()]})
    system = f"{platform.python_implementation()} {platform.python_version()}"
    heading = f"streameval {streameval.__version__}, {system}, {platform.platform()}"
    advice = 'Add an extra by its name: pip install "streameval[plot]"'
    notes = tuple(
        Note("error", f"{one.package} {one.version} is too old: at least {one.lowest} is needed.")
        for one in needed
        if one.is_too_old
    )
    text = f"{sheet_text([heading, grid, advice], width=None)}\n"
    return CommandOutput(text, notes, GATE_FAILED if notes else OK)


def _requirements(lines: list[str]) -> Iterator[NeededPackage]:
    """Read the requirements of the installed package, without those that this Python has."""
    for found in _REQUIREMENT.finditer("\n".join(lines)):
        package, lowest, until, extra = found.group("package", "lowest", "until", "extra")
        if until is None or sys.version_info < _numbers(until):
            yield NeededPackage(extra or CORE, package, lowest, _version(package))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


_OF_FILES = ("FILE", "STATE", "OUT", "A", "B")
"""The words in the usage that stand for the name of a file."""


def completion(shell: str) -> CommandOutput:
    """Write the script of a shell.

    Raises
    ------
    UsageError
        If there is no shtab, or one that is too old for the shell.
    """
    try:
        import shtab  # noqa: PLC0415 (optional)
    except ImportError:
        message = "completion needs shtab: pip install 'streameval[completion]'."
        raise UsageError(message) from None
    if shell not in shtab.SUPPORTED_SHELLS:
        raise UsageError(f"this shtab is too old for {shell}: pip install --upgrade shtab.")
    parser = described_parser()
    for action in chain.from_iterable(one._actions for one in parser.siblings.values()):
        if action.metavar in _OF_FILES:
            vars(action)["complete"] = shtab.FILE
        if action.dest == "kind":
            pictures = chain.from_iterable(PICTURES_BY_TASK.values())
            action.choices = list(dict.fromkeys(pictures))
    return CommandOutput(shtab.complete(parser, shell))
