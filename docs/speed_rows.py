"""The measured ratios of the page on speed, from the results that the benchmarks keep."""

import sys
from pathlib import Path

MARKS = ("<!-- speed -->", "<!-- every row -->")


def filled(text):
    """Replace the marks with the main rows and the missed goals, and with all rows."""
    if not any(mark in text for mark in MARKS):
        return text
    sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
    from speed import results, tables  # noqa: PLC0415 (one page needs them)

    found = results.load()
    made = (tables.report_block(found), tables.every_row(found.rows))
    for mark, table in zip(MARKS, made, strict=True):
        text = text.replace(mark, table)
    return text
