"""Prose keeps to the list of phrases in CONTRIBUTING: pages, docstrings, help texts, messages."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from offenders import each

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = CONTRIBUTING.partition("| say | phrase |\n|---|---|\n")[2].partition("\n\n")[0]
PHRASES = [
    phrase.strip() for line in TABLE.splitlines() for phrase in line.split("|")[2].split(";")
]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    if path.name != "CONTRIBUTING.md"
)
# of the repository; CI's folder without the package has none
MODULES = sorted(ROOT.glob("streameval/**/*.py"))


def prose(page: Path) -> str:
    """Read a page without its blocks of code and its code in lines."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```|`[^`]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def test_pages_have_at_most_45000_words_with_tables_and_code() -> None:
    """Count as ``wc -w docs/**/*.md`` does; issue 39 asks for 45,000."""
    pages = [page for page in PAGES if page.parent != ROOT]
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert sum(words.values()) <= 45_000, sorted(words.items(), key=lambda item: -item[1])[:10]


def test_how_tos_of_monitoring_have_at_most_4300_words_with_tables_and_code() -> None:
    folder = ROOT / "docs" / "how-to"
    index = (folder / "index.md").read_text(encoding="utf-8")
    section = index.partition("## Monitoring\n")[2].partition("\n## ")[0]
    names = re.findall(r"^- \[.+?\]\(([\w-]+\.md)\)", section, re.MULTILINE)
    words = {name: len((folder / name).read_text(encoding="utf-8").split()) for name in names}
    assert len(words) > 8
    assert sum(words.values()) <= 4_300, words


def strings(module: Path) -> str:
    """Join the strings of a module: docstrings, help texts, parts of messages."""
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    return "\n\f\n".join(text for text in texts if isinstance(text, str))


def pattern(phrase: str) -> re.Pattern[str]:
    words = r"[ \n]+".join(map(re.escape, phrase.split()))
    return re.compile(rf"\b{words}\b", re.IGNORECASE)


def test_list_of_phrases_is_read() -> None:
    assert len(PHRASES) > 12
    assert "for ever" in PHRASES


@pytest.mark.parametrize(
    ("paths", "text_of"),
    [
        pytest.param(PAGES, prose, id="pages"),
        pytest.param(MODULES, strings, id="modules", marks=pytest.mark.slow),
    ],
)
def test_prose_avoids_the_phrases_of_the_list(
    paths: list[Path], text_of: Callable[[Path], str]
) -> None:
    texts = {path: text_of(path) for path in paths}
    words = {path: " ".join(text.split()).casefold() for path, text in texts.items()}
    assert [
        f"{path}: {phrase}"
        for phrase in PHRASES
        for path, text in texts.items()
        if phrase.casefold() in words[path] and pattern(phrase).search(text)
    ] == []


def test_phrase_is_found_over_the_end_of_a_line() -> None:
    assert pattern("for ever").search("kept for\n  ever.")
    assert not pattern("for ever").search("for everyone")


@each(
    ("page", "seen"),
    [
        ("Call `f`,\nthen `g`.", "Call code0,\nthen code1."),
        ("# The very title\nText.", "\nText."),
        ("One.\n```python\nvery\n```\nTwo.", "One.\n\n\n\nTwo."),
        ("With $x$ and\n[a page](very.md).", "With code0 and\n[a page."),
        ("| 1 | very | 2 |\n| text | very |", "\n| text | very |"),
    ],
)
def test_linter_sees_prose_alone_and_keeps_its_lines(page: str, seen: str) -> None:
    pytest.importorskip("proselint")
    assert runpy.run_path(str(ROOT / ".ci" / "prose"))["prose_of"](page) == seen
