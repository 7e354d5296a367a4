"""Draw when two rules call: in a healthy month of the simulated service, and after its drift."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

import streameval as se
from streameval.monitoring.alerts import Alerts

FIGURES = Path(__file__).parent
sys.path.insert(0, str(FIGURES.parent / "data"))

import service  # noqa: E402 (the folder above is not on the path)

FLOOR = 0.9
RULES = {"accuracy < 0.9": "C3", "accuracy < 0.9 for 3 panes": "C1"}


def counted(days: int, drift_after: float) -> se.Windowed:
    """Count what the service has served, in panes of ten minutes."""
    times, guessed, truth = service.served(days, drift_after)
    windowed = se.Windowed(se.ConfusionAccumulator(10), pane="10m", time="ts", unit="s")
    known = truth >= 0
    return windowed.update({"y_true": truth[known], "y_pred": guessed[known], "ts": times[known]})


def calls(windowed: se.Windowed) -> dict[str, np.ndarray]:
    """List the times at which each rule begins to fire."""
    events = Alerts(RULES, windowed).step(windowed, windowed.newest)
    fired = [(one.rule, str(one.end).rstrip("Z")) for one in events if one.state == "firing"]
    return {
        rule: np.array([end for of, end in fired if of == rule], dtype="M8[us]") for rule in RULES
    }


def draw(ax: Axes, windowed: se.Windowed, since: np.datetime64) -> None:
    """Draw the accuracy of each pane since a time, and the calls of both rules."""
    panes = [(end, held.compute().accuracy) for _, end, held in windowed.panes() if end > since]
    times, values = zip(*panes, strict=True)
    ax.plot(np.array(times), values, ".", color="0.6", markersize=2 if len(times) > 300 else 4)
    ax.axhline(FLOOR, color="0.3", linewidth=1, linestyle="--")
    found = calls(windowed)
    for row, (rule, colour) in enumerate(RULES.items()):
        shown = found[rule][found[rule] > since]
        ax.plot(shown, np.full(len(shown), 0.655 - 0.025 * row), "|", color=colour, markersize=9)
        named = f"{rule}: {len(shown)} {'call' if len(shown) == 1 else 'calls'}"
        ax.plot([], [], "|", color=colour, markersize=9, label=named)
    ax.set(ylim=(0.61, 1.0))
    ax.legend(loc="upper center", fontsize="small", bbox_to_anchor=(0.5, -0.12))
    locator = AutoDateLocator(maxticks=6)
    ax.xaxis.set(major_locator=locator, major_formatter=ConciseDateFormatter(locator))


def main() -> None:
    """Draw both pictures."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    month, drift = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    first = np.datetime64(service.START, "s")
    draw(month, counted(30, np.inf), first)
    month.set(title="30 healthy days", ylabel="accuracy of 10 minutes")
    draw(drift, counted(4, 3), first + np.timedelta64(60, "h"))
    drift.axvline(first + np.timedelta64(3, "D"), color="C0", linewidth=1)
    drift.set_title("the camera ages at midnight")
    figure.savefig(FIGURES / "service.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
