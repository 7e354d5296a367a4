"""Random histories of predictions and labels, and what counting them once comes to."""

from __future__ import annotations

import random

import attrs

import streameval as se

__all__ = ["OUT_OF_ORDER", "WAIT", "History", "windowed"]

START = 1_699_999_980
WAIT = 120
OUT_OF_ORDER = 20
N_LAST = 8
SKEW = 2200


def windowed():
    """Panes of a minute, rolled up and folded away while a history lasts; slices; two members."""
    return se.Windowed(
        se.Sliced(
            se.Collection(
                {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(budget=16)},
                columns={"cm": {"y_pred": "y_score"}},
            ),
            "country",
            values=["DE", "FR"],
            max_values=3,
        ),
        pane="1m",
        unit="s",
        keep="6m",
        rollups=[("3m", "9m")],
    )


@attrs.frozen
class History:
    """Predictions and labels in the order of their logs, and the state of counting them once.

    Times are disordered within `OUT_OF_ORDER`, labels come within `WAIT`, some never, and some have
    a time so far ahead that they belong to no row. The last
    rows of each log, enough to confirm the jump, are so late that every wait before them is over;
    they are not counted.
    """

    predictions: list[dict]
    labels: list[dict]
    joined: list[dict]
    expected: bytes

    @classmethod
    def draw(cls, seed: int, size: int = 120, span: int = 1200) -> History:
        rng = random.Random(seed)
        rows, joined = [], []
        for number in range(size):
            score = round(rng.random(), 2)
            row = {
                "id": f"id-{number}",
                "ts": START + rng.randrange(span),
                "y_score": score,
                "country": rng.choice(["DE", "FR", "IT", "AT", "CH", None]),
            }
            truth = int(rng.random() < score) if rng.random() < 0.8 else None
            rows.append(row)
            joined.append({**row, "y_true": truth})
        labels = [
            {"id": row["id"], "ts": row["ts"] + rng.randrange(-10, WAIT), "y_true": row["y_true"]}
            for row in joined
            if row["y_true"] is not None
        ]
        newest = sorted(labels, key=lambda label: label["ts"])[-(size // 4) :]
        for label in rng.sample(newest, 1 + size // 100):
            joined[int(label["id"].removeprefix("id-"))]["y_true"] = None
            label["skew"] = SKEW
        end = START + span + 3 * (WAIT + OUT_OF_ORDER)
        last = {"ts": end, "y_score": 0.5, "country": None}
        columns = {name: [row[name] for row in joined] for name in ("y_true", "y_score", "country")}
        counted = windowed().update(columns | {"time": [row["ts"] for row in joined]})
        return cls(
            [*disordered(rows, rng), *({"id": f"last-{n}"} | last for n in range(N_LAST))],
            [
                *map(skewed, disordered(labels, rng)),
                *({"id": f"none-{n}", "ts": end, "y_true": 0} for n in range(N_LAST)),
            ],
            joined,
            counted.to_bytes(),
        )

    def partitioned(self, n_partitions: int, rng: random.Random) -> tuple[list, list]:
        """Deal predictions and labels to partitions, each with late rows at its end."""
        return tuple(dealt(rows, n_partitions, rng) for rows in (self.predictions, self.labels))


def dealt(rows, n_partitions, rng):
    """Deal rows to partitions, the last ones to each of them under ids of its own."""
    others, last = rows[:-N_LAST], rows[-N_LAST:]
    parts = [[] for _ in range(n_partitions)]
    for row in others:
        rng.choice(parts).append(row)
    for number, part in enumerate(parts):
        part += [row | {"id": f"{row['id']}-{number}"} for row in last]
    return parts


def skewed(label):
    """Write the time of a label as its clock did."""
    return {"id": label["id"], "ts": label["ts"] + label.get("skew", 0), "y_true": label["y_true"]}


def disordered(rows, rng):
    """Order rows by time, each as if it came up to `OUT_OF_ORDER` later."""
    return sorted(rows, key=lambda row: row["ts"] + rng.uniform(0, OUT_OF_ORDER))
