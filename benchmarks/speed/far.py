"""A day of 1e12 predictions, computed from what was measured; and the tables of its page."""

from __future__ import annotations

from typing import Any

from speed import tables

ROWS = 10**12
WORKERS = 1000
FAN_IN = 32
BYTES_A_SECOND = 100e6
LATENCY = 0.001
DAY = 86_400


def block(found: dict[str, Any]) -> str:
    """Lay out what was measured, and what follows."""
    parts = [tables.found_with(found["about"])]
    if "tree" in found:
        parts.append(tree_table(found["tree"]))
    if "dask" in found:
        parts.append(dask_table(found["dask"]))
    if "tree" in found and "stream" in found:
        parts.append(day_table(found))
    return "\n\n".join(parts)


def tree_table(measured: list[dict[str, Any]]) -> str:
    """Lay out the cost of a state in a tree, and the memory as more of them come."""
    columns = ["state", "rows in it", "bytes", "states", "microseconds a state"]
    lines = tables.head([*columns, "MB held after 1 %, 10 %, all"])
    for one in measured:
        cells = [
            f"`{one['name']}`",
            f"{one['rows']:,}",
            f"{one['bytes']:,}",
            f"{one['states']:,}",
            tables.number(one["microseconds"]),
            ", ".join(map(tables.number, one["megabytes"])),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def dask_table(measured: dict[str, Any]) -> str:
    """Lay out what starting costs, and what a row costs after that."""
    said = (
        "Partitions of 65,536 rows, drawn and counted by `PRCurveSketch()` on workers of Dask\n"
        "with one thread each. Start-up is the time from nothing until ten partitions are counted."
    )
    lines = tables.head(["partitions", "rows", "workers", "start-up, s", "rows a second after it"])
    cells = [f"{measured[name]:,}" for name in ("partitions", "rows", "workers")]
    cells += [tables.number(measured["start_up"]), f"{measured['rows_a_second']:,}"]
    return "\n".join([said, "", *lines, f"| {' | '.join(cells)} |"])


def day_table(found: dict[str, Any]) -> str:
    """Compute a day of each accumulator whose rows and states were both measured."""
    columns = [
        "accumulator",
        "core hours of counting",
        "share of a worker's day",
        "bytes of a state",
    ]
    lines = tables.head([*columns, "gather at one rank, s", "tree of 32, s"])
    costs = {name: marks[-1]["nanoseconds"] for name, marks in found["stream"].items()}
    for one in found["tree"]:
        name = one["name"].replace("(10)", "()")
        if name not in costs:
            continue
        seconds = ROWS * costs[name] * 1e-9
        cells = [
            f"`{one['name']}`",
            tables.number(seconds / 3600),
            f"{100 * seconds / WORKERS / DAY:.2g} %",
            f"{one['bytes']:,}",
            tables.number(gathered(one, WORKERS)),
            tables.number(merged_in_a_tree(one, WORKERS)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def gathered(state: dict[str, Any], workers: int) -> float:
    """Compute the seconds in which one rank receives and merges the states of all."""
    return LATENCY + workers * (state["bytes"] / BYTES_A_SECOND + state["microseconds"] * 1e-6)


def merged_in_a_tree(state: dict[str, Any], workers: int) -> float:
    """Compute the seconds of a tree, whose levels follow each other; each costs a small gather."""
    seconds, left = 0.0, workers
    while left > 1:
        seconds += gathered(state, min(left, FAN_IN))
        left = -(-left // FAN_IN)
    return seconds
