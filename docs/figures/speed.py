"""Draw the pictures of the page on speed from the results that `benchmarks/` keeps."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

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
OTHERS = "dimgrey"
WIDTH = 7.4
"""Of a page, in inches of a hundred pixels."""

Row = dict[str, Any]


def read(name: str) -> dict[str, Any]:
    """Read what a script of the benchmarks has found."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def save(figure: Figure, name: str) -> None:
    """Write a picture without the version of what drew it."""
    figure.savefig(FIGURES / name, dpi=200, metadata={"Software": None})


def ratios() -> None:
    """Show how far ahead, or behind, each contest ends, a line for each verb and accumulator."""
    rows = [row for row in read("results.json")["rows"] if row["ratio"]]
    lines = {line_of(row): [] for row in rows}
    for row in rows:
        lines[line_of(row)].append(row)
    figure, ax = plt.subplots(figsize=(WIDTH, 0.27 * len(lines) + 1.6), layout="constrained")
    for place, held in enumerate(lines.values()):
        draw(ax, place, held)
    ax.axvline(1, color="k", linewidth=0.8)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(lines)), lines, fontsize=9)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("times as fast, or as small, as the peer")
    for place in range(1, len(lines), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="k", alpha=0.035, linewidth=0)
    dots = {"marker": "o", "linestyle": ""}
    handles = [
        *(Line2D([], [], color=colour, label=name, **dots) for name, colour in COLOURS.items()),
        Line2D([], [], color=OTHERS, label="others", **dots),
        Line2D([], [], color=OTHERS, markerfacecolor="w", label="misses its goal", **dots),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False, fontsize=9)
    save(figure, "speed.png")


def line_of(row: Row) -> str:
    """Name the line of a contest."""
    return f"{row['verb']}: {row['accumulator']}"


def draw(ax: Axes, place: int, rows: list[Row]) -> None:
    """Draw a dot for each contest, those of a library at one height, hollow if it is missed."""
    heights = {name: index for index, name in enumerate([*COLOURS, ""])}
    for row in rows:
        name = row["library"] if row["library"] in COLOURS else ""
        colour, ratio = COLOURS.get(name, OTHERS), row["ratio"]["median"]
        is_missed = row["goal"] is not None and ratio < row["goal"]
        ax.plot(
            ratio,
            place + 0.6 * heights[name] / (len(heights) - 1) - 0.3,
            "o",
            color=colour,
            markerfacecolor="w" if is_missed else colour,
            markersize=4.5,
        )


def scaling() -> None:
    """Show that an example costs the same after a hundred million others."""
    found = read("scaling.json")["stream"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.8), layout="constrained")
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
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9
    )
    save(figure, "speed_scaling.png")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["ratios", "scaling"]:
        {"ratios": ratios, "scaling": scaling}[name]()
