"""Serve predictions of digits: ``python docs/data/service.py FOLDER [--days 4] [--drift-after 3]``.

A model that scikit-learn has trained on one half of its digits is asked about images of the other
half, seen through a camera with some noise; once the camera ages, with more of it. The service
writes each prediction to ``predictions.jsonl`` when it is asked, and each label to ``labels.jsonl``
when somebody has looked at the image: within two hours, or never for one image in fifty.

Time is simulated. With ``--seconds`` the logs grow for so long; otherwise they are there at once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

START = 1_700_006_400  # midnight
DAY, PANE = 86_400, 600
EVERY = 6  # seconds between two requests: 100 in ten minutes
LONGEST_WAIT, KNOWN = 7200, 0.98
NOISE, NOISE_OF_AGE = 0.14, 0.305
SEED = 20

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def trained() -> tuple[Any, Floats, Integers]:
    """Train a model, and return it with the images and labels that it has not seen."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 (it takes seconds)
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: PLC0415

    images, digits = load_digits(return_X_y=True)
    half = len(digits) // 2
    order = np.random.default_rng(SEED).permutation(len(digits))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    model.fit(images[order[:half]] / 16, digits[order[:half]])
    return model, images[order[half:]] / 16, digits[order[half:]]


def served(days: int, drift_after: float) -> tuple[Integers, Integers, Integers]:
    """Return when each request came, what was predicted, and what was true; -1 is never known."""
    model, images, digits = trained()
    random = np.random.default_rng(SEED)
    times = np.arange(0, days * DAY, EVERY)
    asked = random.integers(0, len(digits), len(times))
    guessed = []
    for part in np.array_split(np.arange(len(times)), days):
        noise = np.where(times[part] < drift_after * DAY, NOISE, NOISE_OF_AGE)[:, None]
        seen = images[asked[part]] + noise * random.standard_normal((len(part), images.shape[1]))
        guessed.append(model.predict(seen))
    truth = np.where(random.random(len(times)) < KNOWN, digits[asked], -1)
    return START + times, np.concatenate(guessed), truth


def logs(days: int, drift_after: float) -> Iterator[tuple[str, str]]:
    """Yield what both logs get in each ten minutes."""
    times, guessed, truth = served(days, drift_after)
    random = np.random.default_rng(SEED + 1)
    looked = times + np.minimum(300 + random.exponential(1500, len(times)), LONGEST_WAIT)
    looked = looked.astype(np.int64)
    order = np.argsort(looked, kind="stable")
    order = order[truth[order] >= 0]
    ends = np.arange(START + PANE, START + days * DAY + LONGEST_WAIT + 2 * PANE, PANE)
    cuts = np.searchsorted(times, ends), np.searchsorted(looked[order], ends)
    first = at = 0
    for end, last in zip(*cuts, strict=True):
        rows = [
            {"id": n, "ts": int(times[n]), "y_pred": int(guessed[n])} for n in range(first, end)
        ]
        labels = [
            {"id": n, "ts": int(looked[n]), "y_true": int(truth[n])}
            for n in order[at:last].tolist()
        ]
        first, at = end, last
        yield lines(rows), lines(labels)


def lines(rows: list[dict[str, Any]]) -> str:
    """Write rows as JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def main() -> None:
    """Write the logs that the arguments ask for."""
    parser = argparse.ArgumentParser(description="Serve predictions, and label them late.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=4)
    parser.add_argument("--drift-after", type=float, default=np.inf, metavar="DAYS")
    parser.add_argument("--seconds", type=float, default=0.0)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    parts = list(logs(given.days, given.drift_after))
    names = ("predictions.jsonl", "labels.jsonl")
    files = [(given.folder / name).open("a", encoding="utf-8") for name in names]
    for texts in parts:
        for file, text in zip(files, texts, strict=True):
            file.write(text)
            file.flush()
        time.sleep(given.seconds / len(parts))
    for file in files:
        file.close()


if __name__ == "__main__":
    main()
