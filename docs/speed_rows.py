"""All ratios that the benchmarks keep, for the fold on the page on speed."""

import sys
from pathlib import Path

MARK = "<!-- every row -->"


def filled(text):
    """Replace the mark with the tables of all rows."""
    if MARK not in text:
        return text
    sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
    from speed import results, tables  # noqa: PLC0415 (one page needs them)

    return text.replace(MARK, tables.every_row(results.load().rows))
