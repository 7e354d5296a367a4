"""The layout of slices and panes is the one that the reference of the format publishes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from offenders import each
from small_states import parse

import streameval as se

FORMAT = Path(__file__).parents[2] / "docs" / "reference" / "format.md"

COUNT = {"y_true": [1, 0, 1, None], "y_pred": [1, 0, 0, 1]}
SLICED = se.Sliced(se.ConfusionAccumulator(), "c").update(
    {"y_true": [1, 0, 1, 1], "y_pred": [1, 0, 0, 1], "c": ["é", None, 7, -3]}
)
PANES = COUNT | {"time": [0, 5, 20, 30], "c": ["a", "b", "a", "b"]}
INNER: dict[str, Any] = {
    "Windowed": se.ConfusionAccumulator(),
    "with a `Sliced`": se.Sliced(se.ConfusionAccumulator(), "c"),
}


def published(row: str) -> list[str]:
    (line,) = [line for line in FORMAT.read_text("utf-8").splitlines() if row in line]
    return re.findall(r"`([a-z]+)`:? ?[a-z0-9]* ?\(", line)


def test_fields_of_slices_are_the_published_ones() -> None:
    assert sorted(published("| 8 | `Sliced`")) == sorted(parse(SLICED.to_bytes()).settings["state"])


@each("panes_hold", INNER)
def test_fields_of_panes_are_the_published_ones(panes_hold: str) -> None:
    w = se.Windowed(INNER[panes_hold], pane=10).update(PANES)
    names = published("| 9 | `Windowed`")
    if panes_hold != "Windowed":
        names = [*names[:-1], *published("| 9 | with a `Sliced`")]
    assert sorted(names) == sorted(parse(w.to_bytes()).settings["state"])


def test_values_of_slices_are_in_the_published_order() -> None:
    digested: dict[str, bytes] = {
        '"\\u00e9"': b"s" + "é".encode(),
        "null": b"n",
        "7": b"i7",
        "-3": b"i-3",
    }

    def rank(text: str) -> tuple[int, bytes]:
        digest = hashlib.blake2b(digested[text], digest_size=8).digest()
        return int.from_bytes(digest, "big"), digested[text]

    data: Any = SLICED.to_bytes()
    assert b"".join(text.encode() for text in sorted(digested, key=rank)) in data
