"""Serve the live page that `live_page.png` shows, until Ctrl-C.

    python docs/figures/live_page.py

To take the picture, run Chromium in light mode, within a minute:

    chromium --headless --hide-scrollbars --blink-settings=preferredColorScheme=1 \
        --force-device-scale-factor=1.25 --window-size=1280,905 \
        --screenshot=live_page.png http://127.0.0.1:8765/

with a sans-serif system font such as Roboto. Then reduce it to a palette of 256 colours, by
Pillow's `quantize` with the method MAXCOVERAGE.
"""

from __future__ import annotations

import json
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

import streameval as se

COUNTRIES = ["DE", "ES", "FR", "IT", "JP", "PL", "SE", "US"]
MINUTES, WAIT = 75, 600
START = int(time.time()) // 60 * 60 - MINUTES * 60


def write_logs(folder: Path) -> None:
    """Write predictions, and labels that arrive some minutes later; France drifts at the end."""
    rng = np.random.default_rng(11)
    n = 60_000
    seconds = np.sort(rng.integers(0, MINUTES * 60, n))
    country = rng.choice(len(COUNTRIES), n, p=[0.2, 0.08, 0.16, 0.1, 0.1, 0.06, 0.05, 0.25])
    truth = rng.integers(0, 2, n)
    has_drifted = (country == COUNTRIES.index("FR")) & (seconds > 40 * 60)
    gap = np.where(has_drifted, 0.3, 1.6 - 0.05 * country)
    score = 1 / (1 + np.exp(-(gap * (2 * truth - 1) + rng.normal(0, 1.2, n))))
    delays = rng.integers(30, WAIT, n)
    labels = [
        (int(second + delay), index)
        for index, (second, delay) in enumerate(zip(seconds, delays, strict=True))
        if rng.random() < 0.97 and second + delay < MINUTES * 60
    ]
    with (folder / "predictions.jsonl").open("w", encoding="utf-8") as file:
        for index in range(n):
            row = {"id": index, "ts": START + int(seconds[index])}
            row |= {"country": COUNTRIES[country[index]], "y_score": round(float(score[index]), 2)}
            file.write(f"{json.dumps(row)}\n")
    with (folder / "labels.jsonl").open("w", encoding="utf-8") as file:
        for second, index in sorted(labels):
            row = {"id": index, "ts": START + second, "y_true": int(truth[index])}
            file.write(f"{json.dumps(row)}\n")


def serve(folder: Path) -> None:
    """Count everything, and serve the page."""
    write_logs(folder)
    sliced = se.Sliced(se.PRCurveSketch(24), "country", values=COUNTRIES)
    windowed = se.Windowed(sliced, pane="1m", keep="3h", time="ts", unit="s")
    with se.Monitor(
        folder / "click-model.db",
        windowed,
        predictions=str(folder / "predictions.jsonl"),
        labels=str(folder / "labels.jsonl"),
        key="id",
        time="ts",
        wait=f"{WAIT}s",
        alerts=["roc_auc < 0.9", "no data for 10m"],
    ) as monitor:
        while not monitor.step().is_idle:
            pass
        print(monitor.serve(title="Click model", metrics=["roc_auc"]).url)
        signal.pause()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        serve(Path(name))
