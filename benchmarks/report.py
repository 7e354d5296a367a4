"""Time all contests, print the table of ratios, and write it with a plot into the docs.

Run ``python benchmarks/report.py`` after ``pip install . --group benchmarks``. A part of it, or a
quick look, is printed only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import attrs
from speed import results, tables
from speed.contest import Contest
from speed.peak_memory import measure
from speed.results import Report, Row
from speed.timing import QUICK, Effort, Spread, race
from speed.verbs import CONTESTS

PICTURES = Path(__file__).parents[1] / "docs" / "figures" / "speed.py"

QUICK_SHRINK = 10
"""By how much a quick look divides what is larger than 65,536."""


def rows_of(contest: Contest, effort: Effort, shrink: int) -> Iterator[Row]:
    """Measure one contest, and make a row for each peer."""
    if contest.measure == "peak memory":
        yield from rows_of_memory(contest, shrink)
        return
    ready = contest.ready(shrink)
    if contest.measure == "size":
        sizes = {peer: side.run() for peer, side in ready.peers.items()}
        ours, rounds = float(ready.ours.run()), 1
        ratios = {peer: Spread.of([size / ours]) for peer, size in sizes.items()}
    else:
        timing = race(ready, effort)
        ours, rounds, ratios = timing.ours.median, timing.rounds, timing.ratios
    for peer, ratio in ratios.items():
        yield Row.of(contest, peer, ready.size, ratio=ratio, ours=ours, rounds=rounds)
    for peer in ready.missing:
        yield Row.of(contest, peer, ready.size)


def rows_of_memory(contest: Contest, shrink: int) -> Iterator[Row]:
    """Measure the peak of each side in a process of its own."""
    ours = measure(contest, None, shrink)
    for peer in contest.peers:
        found = {}
        if peer.is_installed:
            ratio = Spread.of([measure(contest, peer, shrink) / ours])
            found = {"ratio": ratio, "ours": float(ours), "rounds": 1}
        yield Row.of(contest, peer, contest.rows(shrink), **found)


def measured(contests: list[Contest], effort: Effort, shrink: int) -> list[Row]:
    """Measure the contests one after another, and print rows as they come."""
    found: list[Row] = []
    for contest in contests:
        if not found or found[-1].verb != contest.verb:
            print("", f"### {contest.verb.capitalize()}", "", sep="\n")
            print(*tables.head(tables.COLUMNS), sep="\n")
        for row in rows_of(contest, effort, shrink):
            print(tables.line(row), flush=True)
            found.append(row)
    return found


def chosen(patterns: list[str]) -> list[Contest]:
    """Find the contests whose name has one of the patterns in it; `*` stands for anything."""
    return [
        contest
        for contest in CONTESTS
        if any(fnmatch(str(contest), f"*{pattern}*") for pattern in patterns)
    ]


def main() -> None:
    """Measure, print, and write if it is the whole report."""
    parser = argparse.ArgumentParser(description="Time streameval beside its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of smaller data")
    parser.add_argument(
        "--only", metavar="PATTERN", action="append", help="as in 'update' or 'merge/*sketches*'"
    )
    parser.add_argument(
        "--write", action="store_true", help="write what --only measures beside the rest"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the contests")
    given = parser.parse_args()
    contests = chosen(given.only or ["*"])
    if not contests:
        parser.error(f"no contest is named like {' or '.join(given.only)}")
    if given.list:
        print(*contests, sep="\n")
        return
    effort, shrink = (QUICK, QUICK_SHRINK) if given.quick else (Effort(), 1)
    rows = measured(contests, effort, shrink)
    print("", tables.summary(rows), sep="\n")
    if given.only and given.write and not given.quick:
        saved = results.load()
        write(Report(saved.about, together(saved.rows, rows)))
    elif not (given.quick or given.only):
        write(Report(results.about({row.library for row in rows if row.ratio}), rows))


def together(saved: list[Row], new: list[Row]) -> list[Row]:
    """Replace saved rows by new ones, and leave out those that no contest has any more."""
    found = {key_of(row): row for row in [*saved, *new]}
    every = [Row.of(contest, peer, contest.size) for contest in CONTESTS for peer in contest.peers]
    return [attrs.evolve(found[key_of(row)], why=row.why) for row in every if key_of(row) in found]


def key_of(row: Row) -> Row:
    """Return what a row is of, without what was found."""
    return attrs.evolve(row, goal=None, ratio=None, ours=None, rounds=0, why="")


def write(report: Report) -> None:
    """Keep the results, which the docs show, and draw their picture."""
    results.save(report)
    subprocess.run([sys.executable, str(PICTURES), "ratios"], check=True)


if __name__ == "__main__":
    main()
