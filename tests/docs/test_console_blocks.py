"""Console blocks of README and docs: typed as they stand, they print what the page shows."""

from __future__ import annotations

import doctest
import re
import shutil
from itertools import pairwise
from pathlib import Path

import attrs
import pytest
from shell import bash

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
TYPED = [name for name, text in TEXTS.items() if "```console" in text]
ADAPTER = re.compile(
    r"^(?:>>> )?(?:from streameval\.(?:engines|loops)\.|import (?=jax$)|from (?=torch import\b)"
    r"|(?:from|import) (?=(?:keras|river|torcheval|torchmetrics)\b))(\w+)",
    re.MULTILINE,
)
HARMLESS = {"python", "console", "text", "math", "toml"} | {
    f"{{{name}}}"
    for name in (
        "toctree",
        "eval-rst",
        "autoclass",
        "note",
        "warning",
        "tip",
        "math",
        "literalinclude",
        "include",
    )
}
_EXIT_CODE = "echo $?"


@attrs.frozen
class Typed:
    """A command, and what the page shows below it."""

    command: str
    shown: str

    @property
    def asks_for_the_exit_code(self) -> bool:
        return self.command == _EXIT_CODE


@attrs.frozen
class Done:
    """What a command printed, and its exit code; None if the shell never got to its end."""

    printed: str
    code: int | None


def commands(text: str) -> list[Typed]:
    """Find the commands of a page in order, with continued lines and here documents."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [typed for block in blocks for typed in commands_of_a_block(block)]


def commands_of_a_block(block: str) -> list[Typed]:
    found = []
    lines = iter(block.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            assert found, f"a console block begins with a command after '$ ': {block!r}"
            found[-1][1].append(line)
            continue
        command = [line.removeprefix("$ ")]
        while command[-1].endswith("\\"):
            command.append(next(lines))
        if document := re.search(r"<<\s*'?(\w+)'?", line):
            while command[-1] != document[1]:
                command.append(next(lines))
        found.append((command, []))
    return [Typed("\n".join(command), "\n".join(shown)) for command, shown in found]


def type_all(typed: list[Typed], folder: Path, notes: Path) -> list[Done]:
    """Run the commands in one shell, so that `cd` and `$?` are those of the page."""
    script = "".join(
        f"{{ (exit $code)\n{one.command}\n}} > '{notes}/{place}.out' 2>&1; code=$?\n"
        f"echo $code > '{notes}/{place}.code'\n"
        for place, one in enumerate(typed)
    )
    shell = bash(f"code=0\n{script}", folder)
    assert shell.stdout == "", f"the shell itself complains: {shell.stdout}"
    return [_done(notes, place) for place in range(len(typed))]


def _done(notes: Path, place: int) -> Done:
    code = notes / f"{place}.code"
    printed = (notes / f"{place}.out").read_text(encoding="utf-8") if code.exists() else ""
    return Done(printed, int(code.read_text()) if code.exists() else None)


def is_shown(shown: str, printed: str) -> bool:
    """Compare as doctest does, `...` for anything; nothing shown is not compared."""
    if not shown.strip():
        return True
    want, got = (f"{text.strip(chr(10))}\n" for text in (shown, printed))
    return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)


def complaints(typed: list[Typed], done: list[Done]) -> list[str]:
    """Say which commands print something else, or fail although the page does not say so."""
    asked = {
        place for place, (_, after) in enumerate(pairwise(typed)) if after.asks_for_the_exit_code
    }
    found = []
    for place, (one, result) in enumerate(zip(typed, done, strict=True)):
        if not is_shown(one.shown, result.printed):
            found.append(f"$ {one.command}\n--- shown\n{one.shown}\n--- printed\n{result.printed}")
        elif result.code is None or (result.code and place not in asked):
            found.append(f"$ {one.command}\n--- exit code {result.code}\n{result.printed}")
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The folder that a user is in: that of the repository."""
    folder = tmp_path / "clone"
    for name in ("data", "examples"):
        shutil.copytree(ROOT / "docs" / name, folder / "docs" / name)
    return folder


def run(text: str, folder: Path) -> list[str]:
    typed = commands(text)
    notes = folder.parent / "notes"
    notes.mkdir()
    return complaints(typed, type_all(typed, folder, notes))


def marked(page: str) -> object:
    """Mark a page that needs an engine; `.ci/engines` types it, where that is installed."""
    found = ADAPTER.search(TEXTS[page])
    return pytest.param(page, marks=pytest.mark.engine(name=found[1])) if found else page


@pytest.mark.slow
@pytest.mark.parametrize("page", [marked(page) for page in TYPED])
def test_commands_print_what_the_page_shows(page: str, clone: Path) -> None:
    found = run(TEXTS[page], clone)
    assert not found, "\n\n".join([page, *found])


def test_every_console_block_begins_with_a_command() -> None:
    firsts = {page: re.findall(r"^```console\n(.*\n)", TEXTS[page], re.MULTILINE) for page in TYPED}
    assert {page: len(found) for page, found in firsts.items()} == {
        page: TEXTS[page].count("```console") for page in TYPED
    }
    assert [line for found in firsts.values() for line in found if not line.startswith("$ ")] == []


def test_every_block_is_run_or_harmless() -> None:
    kinds = {
        (page, re.sub(r"^```(\S*).*", r"\1", fence))
        for page, text in TEXTS.items()
        for fence in re.findall(r"^[ \t>]*(?:```+|~~~+).*", text, re.MULTILINE)[::2]
    }
    # CI types the first command of README, and the commands of the page on installing
    set_up = {(page, "bash") for page in ("README.md", "CONTRIBUTING.md", "docs/install.md")}
    assert {found for found in kinds if found[1] not in HARMLESS} == set_up


def test_readme_sets_up_in_two_commands() -> None:
    evaluate, test = re.findall(
        r"^```bash\n(.*?)^```$", TEXTS["README.md"], re.DOTALL | re.MULTILINE
    )
    # CI types the first one; the second one is how these tests are run.
    assert evaluate.count("\n") == test.count("\n") == 1
    assert "&& streameval eval docs/data/" in evaluate
    assert test.endswith("&& pytest -n auto\n")


BLOCK = "```console\n{}\n```\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "block",
    [
        "$ echo one\none",
        "$ echo one two \\\n    three\none two three",
        "$ cat > a.txt <<'EOF'\n$ one\ntwo\nEOF\n$ tail -n 1 a.txt\ntwo",
        "$ printf 'a\\n\\nb\\n'\na\n\nb\n$ echo c\nc",
        "$ seq 100\n1\n...\n100",
        "$ echo what is not shown may be anything",
        "$ false\n$ echo $?\n1",
        "$ echo out; echo err >&2\nout\nerr",
        "$ mkdir deep && cd deep\n$ basename $PWD\ndeep",
        "$ one=1\n$ echo $one\n1",
        "$ ls docs/data/digits.jsonl.gz\ndocs/data/digits.jsonl.gz",
        "$ streameval --version\nstreameval ...",
    ],
)
def test_a_page_that_tells_the_truth_passes(block: str, clone: Path) -> None:
    assert run(BLOCK.format(block), clone) == []


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("$ echo one\ntwo", "$ echo one\n--- shown\ntwo\n--- printed\none\n"),
        ("$ echo one\none\ntwo", "$ echo one\n--- shown"),
        ("$ false", "$ false\n--- exit code 1\n"),
        ("$ false\n$ echo $?\n2", "$ echo $?\n--- shown\n2\n--- printed\n1\n"),
        ("$ false | true", "$ false | true\n--- exit code 1\n"),
        ("$ absent-command", "$ absent-command\n--- exit code 127\n"),
        ("$ exit 0", "$ exit 0\n--- exit code None\n"),
    ],
)
def test_a_page_that_does_not_is_caught(block: str, complaint: str, clone: Path) -> None:
    (found,) = run(BLOCK.format(block), clone)
    assert found.startswith(complaint)


def test_a_command_that_is_never_ended_is_caught(clone: Path) -> None:
    with pytest.raises(AssertionError, match="the shell itself complains"):
        run(BLOCK.format("$ echo 'one"), clone)


def test_output_without_a_command_is_caught(clone: Path) -> None:
    with pytest.raises(AssertionError, match="begins with a command"):
        run(BLOCK.format("one"), clone)
