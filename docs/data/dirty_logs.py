"""Write logs as they come from real systems: ``python docs/data/dirty_logs.py [ROWS]``.

nested.jsonl.gz
    Objects in objects, scores by class name, labels that came late or never, numbers as text, and
    one line in 1,500 that cannot be read.
export.csv
    What a spreadsheet writes: semicolons, quotes, a mark before the header.
pipeline.jsonl
    What a text-classification pipeline of Hugging Face returns, beside the label of the data set.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLASSES = ("cat", "dog", "owl")
BROKEN_EVERY = 1500
BROKEN = (
    '{"id": 17, "ctx": {"country": "DE", "dev',
    "Traceback (most recent call last):",
    '{"split": "live", "truth": {"label": "cat"}, "model": null}',
    '{"split": "live", "truth": {"label": "cat"}, "model": {"label": 3, "scores": {"cat": 1.0}}}',
    '{"split": "live", "truth": {"label": ["cat", "dog"]}, "model": {"label": "cat"}}',
    "\x00\x00\x00\x00",
)


def pick(draw: random.Random, items: tuple[Any, ...]) -> Any:
    """Choose one item; the same ones in every version of Python."""
    return items[int(draw.random() * len(items))]


def predictions(n_rows: int) -> Iterator[dict[str, Any]]:
    """Make requests to a model that is right four times in five."""
    draw = random.Random(0)
    for number in range(n_rows):
        truth = pick(draw, CLASSES)
        guess = truth if draw.random() < 0.8 else pick(draw, CLASSES)
        weights = {name: draw.random() + 2 * (name == guess) for name in CLASSES}
        total = sum(weights.values())
        scores = {name: round(weight / total, 4) for name, weight in weights.items()}
        yield {
            "id": number,
            "ctx": {
                "country": pick(draw, ("DE", "DE", "FR", None)),
                "device": {"os": pick(draw, ("ios", "android"))},
            },
            "split": "shadow" if draw.random() < 0.1 else "live",
            "truth": {"label": truth},
            "model": {"label": max(scores, key=scores.__getitem__), "scores": scores},
        }


def nested_lines(n_rows: int) -> Iterator[str]:
    """Make the lines of the nested log, the broken ones among them."""
    for row in predictions(n_rows):
        number = row["id"]
        if number % BROKEN_EVERY == BROKEN_EVERY // 2:
            yield BROKEN[number // BROKEN_EVERY % len(BROKEN)]
            continue
        if row["split"] == "shadow":
            del row["model"]  # nobody was shown a prediction
        if number % 50 == 3:
            row["truth"] = None  # no label yet
        if number % 7 == 0 and "model" in row:
            scores = row["model"]["scores"]
            row["model"]["scores"] = {name: str(score) for name, score in scores.items()}
        yield json.dumps(row)


def write(folder: Path, n_rows: int) -> None:
    """Write the three logs into a folder."""
    with gzip.open(folder / "nested.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in nested_lines(n_rows))
    with (folder / "export.csv").open("w", encoding="utf-8-sig", newline="") as table:
        writer = csv.writer(table, delimiter=";", quoting=csv.QUOTE_ALL)
        writer.writerow(["Id", "Truth", "Guess", "Remark"])
        for row in predictions(n_rows):
            remark = 'said "no";\nthen left' if row["id"] % 100 == 0 else ""
            writer.writerow([row["id"], row["truth"]["label"], row["model"]["label"], remark])
    with (folder / "pipeline.jsonl").open("w", encoding="utf-8") as file:
        for row in predictions(n_rows):
            found = sorted(row["model"]["scores"].items(), key=lambda pair: -pair[1])
            prediction = [{"label": name, "score": score} for name, score in found]
            line = {"text": "...", "label": row["truth"]["label"], "prediction": prediction}
            file.write(f"{json.dumps(line)}\n")


if __name__ == "__main__":
    write(Path.cwd(), int(sys.argv[1]) if len(sys.argv) > 1 else 6000)
