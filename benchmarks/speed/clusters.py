"""The table of clusters: in full on the page on scaling, and the seconds of it in the README."""

from __future__ import annotations

from pathlib import Path

from speed import tables

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "scaling.md"
README = ROOT / "README.md"
MARK = "clusters"

TITLES = {
    "confusion": "counts of labels",
    "curve": "a curve",
    "by": "a curve for each of 200 values",
    "jsonl": "a curve, from JSON lines",
    "tiny": "a curve, from 5,000 small files",
}
"""The works, as the README calls them."""
WAYS = ("one process", "Dask", "gathered")
COLUMNS = ("work", "rows", "one process", "Dask", "gathered, scikit-learn", "start of Dask")


def put(block: str, page: Path = PAGE, readme: Path = README) -> None:
    """Write the table to the page, and the seconds of it to the README."""
    tables.put(MARK, block, page)
    tables.put(MARK, seconds(block), readme)


def seconds(block: str) -> str:
    """Reduce the full table to one line for each work.

    Parameters
    ----------
    block : str
        The line with the setting, an empty line, and the table of `dask_cluster.py`.
    """
    about, _, table = block.partition("\n\n")
    heading, _, *lines = (line.strip("| ").split(" | ") for line in table.splitlines())
    rows = [dict(zip(heading, line, strict=True)) for line in lines]
    found = {(row["work"], row["way"]): row for row in rows}
    short = [about, "", *tables.head(COLUMNS)]
    for work in dict.fromkeys(row["work"] for row in rows):
        ways = [found.get((work, way), {}) for way in WAYS]
        n_rows = next(way["rows"] for way in ways if way)
        cells = [TITLES[work], n_rows, *(_seconds(way, "seconds") for way in ways)]
        short.append(f"| {' | '.join([*cells, _seconds(ways[1], 'start s')])} |")
    return "\n".join(short)


def _seconds(row: dict[str, str], column: str) -> str:
    return f"{row[column]} s" if row else "not measured"
