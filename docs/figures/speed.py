"""Draw the pictures of the page on speed from the results that `benchmarks/` keeps."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FIGURES = Path(__file__).parent
RESULTS = FIGURES.parents[1] / "benchmarks"

COLOURS = {
    "torchmetrics": "C0",
    "torcheval": "C1",
    "scikit-learn": "C2",
    "river": "C3",
    "ranx": "C4",
    "pytrec-eval-terrier": "C5",
    "pandas": "C6",
}
YARDSTICK = "dimgrey"

Row = dict[str, Any]


def read(name: str) -> dict[str, Any]:
    """Read what a script of the benchmarks has found."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def save(figure: Figure, name: str) -> None:
    """Write a picture without the version of what drew it."""
    figure.savefig(FIGURES / name, dpi=100, metadata={"Software": None})


def ratios() -> None:
    """Show how far ahead, or behind, each piece of work is."""
    rows = [row for row in read("results.json")["rows"] if row["ratio"]]
    lines = [list(group) for _, group in groupby(rows, work_of)]
    half = next(
        place
        for place in range(len(lines) // 2, len(lines))
        if lines[place][0]["verb"] != lines[place - 1][0]["verb"]
    )
    columns = lines[:half], lines[half:]
    height = 0.24 * max(map(len, columns)) + 1.6
    figure, axes = plt.subplots(1, 2, figsize=(15, height), layout="constrained", sharex=True)
    for ax, column in zip(axes, columns, strict=True):
        draw(ax, column)
    handles = [
        mpl.lines.Line2D([], [], color=colour, marker="o", linestyle="", label=name)
        for name, colour in {**COLOURS, "a yardstick": YARDSTICK}.items()
    ]
    handles.append(mpl.lines.Line2D([], [], color="k", marker="|", linestyle="", label="goal"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
    save(figure, "speed.png")


def work_of(row: Row) -> tuple[Any, ...]:
    """Name the piece of work of a row."""
    return row["verb"], row["accumulator"], row["work"], row["size"]


def draw(ax: Axes, lines: list[list[Row]]) -> None:
    """Draw one line for each piece of work, a dot for each peer, a tick for each goal."""
    for place, rows in enumerate(lines):
        for row in rows:
            colour = COLOURS.get(row["library"], YARDSTICK)
            low, median, high = (row["ratio"][key] for key in ("low", "median", "high"))
            ax.plot([low, high], [place, place], color=colour, linewidth=1)
            ax.plot(median, place, "o", color=colour, markersize=4)
            if row["goal"] is not None and row["goal"] != 1:
                ax.plot(row["goal"], place, "|", color="k", markersize=9)
    ax.axvline(1, color="k", linewidth=0.8)
    ax.set_xscale("log")
    labels = [f"{rows[0]['verb']}: {label(rows[0])}" for rows in lines]
    ax.set_yticks(range(len(lines)), labels, fontsize=8)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("times as fast, or as small, as the peer")


def label(row: Row) -> str:
    """Write what is done, on how many rows."""
    return f"{row['accumulator']}, {row['work']}, {row['size']:,}"


def scaling() -> None:
    """Show that an example costs the same after a hundred million others."""
    found = read("scaling.json")["stream"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    for place, (name, marks) in enumerate(found.items()):
        rows = [mark["rows"] for mark in marks]
        style = {"color": f"C{place}", "label": name, "markersize": 4}
        left.loglog(rows, [mark["nanoseconds"] for mark in marks], "o-", **style)
        if all(mark["bytes"] for mark in marks):
            right.loglog(rows, [mark["bytes"] for mark in marks], "o-", **style)
    left.set(xlabel="rows counted", ylabel="nanoseconds an example, in its decade")
    right.set(xlabel="rows counted", ylabel="bytes of state")
    for ax in (left, right):
        ax.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=len(found))
    save(figure, "speed_scaling.png")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["ratios", "scaling"]:
        {"ratios": ratios, "scaling": scaling}[name]()
