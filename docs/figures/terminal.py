"""Record what commands print, as SVG that types them: ``python docs/figures/terminal.py``.

Each recording plays once. Text that is not typed or printed yet is faint, so the picture is never
empty. At the end, everything is on the screen; readers who prefer no motion see that at once. The
colours are those of a light or a dark terminal, as the reader prefers.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

FIGURES = Path(__file__).parent
ROOT = FIGURES.parents[1]
DIGITS = "docs/data/digits.jsonl.gz"

START, MINUTE, HOUR = 1_700_000_000, 60, 3600
CLOCK = "2026-11-28T09:00:00.000Z"
DELAY, WAIT, PANE = 90 * MINUTE, 2 * HOUR, 3 * HOUR

LINE, CHARACTER, MARGIN, BAR = 18, 8, 16, 30
KEY, ANSWER = 0.015, 0.4  # seconds for a key, and before the first line of an answer

STYLE = """
:root { --bg: #fbfbfc; --edge: #d4d9e0; --ink: #1d2430; --soft: #667085; --prompt: #0b7a4b }
@media (prefers-color-scheme: dark) {
  :root { --bg: #14181f; --edge: #333b47; --ink: #e3e7ed; --soft: #96a1b0; --prompt: #5fd3a8 }
}
.window { fill: var(--bg); stroke: var(--edge) }
.button { fill: var(--edge) }
text {
  font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  fill: var(--ink); white-space: pre
}
.title { fill: var(--soft); text-anchor: middle }
.prompt { fill: var(--prompt) }
.cover {
  fill: var(--bg); fill-opacity: 0.7;
  transform: scaleX(0); transform-box: fill-box; transform-origin: right
}
.line { animation: appear 1ms backwards }
.cover { animation: type backwards }
@keyframes appear { from { opacity: 0.3 } to { opacity: 1 } }
@keyframes type { from { transform: scaleX(1) } to { transform: scaleX(0) } }
@media (prefers-reduced-motion: reduce) { .line, .cover { animation: none } }
"""


@attrs.frozen
class Recording:
    """A command and what it prints.

    Parameters
    ----------
    title, summary : str
        For the bar of the window, and for those who do not see the picture.
    command : str
        As it is typed; a backslash at the end of a line continues it.
    pause : float
        The seconds from one line of the answer to the next.
    run : callable
        Run the command in an empty folder, and return the lines that it prints.
    """

    title: str
    summary: str
    command: str
    pause: float
    run: Callable[[str, Path], list[str]]


def started(command: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command with the console script of this interpreter."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    known = {"PATH": os.pathsep.join(paths), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    return subprocess.Popen(
        ["timeout", "300", "bash", "-c", command],
        cwd=folder,
        env=os.environ | known,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )


def run_to_the_end(command: str, folder: Path) -> list[str]:
    """Run a command on the data of the repository."""
    (folder / "docs").symlink_to(ROOT / "docs")
    with started(command, folder) as process:
        return process.stdout.read().splitlines()


def parts_of_the_logs() -> Iterator[tuple[str, str]]:
    """Yield what the logs of predictions and labels get until the next pane is mature.

    The digits log has a row a minute, and each label comes an hour and a half later.
    """
    with gzip.open(ROOT / DIGITS, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    asked = [START + MINUTE * number for number in range(len(rows))]
    known = [time + DELAY for time in asked]
    begin = 0
    for end in range(START // PANE * PANE + PANE + WAIT + HOUR // 2, asked[-1], PANE):
        predictions = [
            {"ts": time, "id": row["id"], "y_pred": row["y_pred"]}
            for time, row in zip(asked, rows, strict=True)
            if begin <= time < end
        ]
        labels = [
            {"ts": time, "id": row["id"], "y_true": row["y_true"]}
            for time, row in zip(known, rows, strict=True)
            if begin <= time < end
        ]
        yield _lines(predictions), _lines(labels)
        begin = end


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def run_while_logs_grow(command: str, folder: Path) -> list[str]:
    """Run a monitor, and let the logs grow by a pane once the pane before is printed."""
    paths = [folder / "predictions.jsonl", folder / "labels.jsonl"]
    for path in paths:
        path.touch()
    printed = []
    with started(command, folder) as process:
        for texts in parts_of_the_logs():
            for path, text in zip(paths, texts, strict=True):
                with path.open("a", encoding="utf-8") as file:
                    file.write(text)
            for line in process.stdout:
                printed.append(line.rstrip("\n"))
                if " rows" in line:
                    break
        os.killpg(process.pid, signal.SIGTERM)
        lines = [*printed, *process.stdout.read().splitlines()]
    # the clock of a log would make every picture another one
    return [re.sub(r"^\S+Z (?=streameval: )", f"{CLOCK} ", text) for text in lines]


RECORDINGS = {
    "eval": Recording(
        "evaluate a log",
        "streameval eval prints precision, recall and F of ten digits, and metrics with intervals",
        f"streameval eval {DIGITS}",
        0.04,
        run_to_the_end,
    ),
    "watch": Recording(
        "watch two logs as they grow",
        "streameval watch prints a line for each three hours; an alert fires, and is resolved",
        "streameval watch predictions.jsonl --labels labels.jsonl --key id --wait 2h \\\n"
        "    --time ts --unit s --pane 3h --checkpoint digits.db \\\n"
        "    --alerts 'accuracy < 0.94 for 1 panes' 2>&1 | tee watch.log",
        0.4,
        run_while_logs_grow,
    ),
}


def recorded(name: str) -> str:
    """Run a command, and draw it and what it prints."""
    recording = RECORDINGS[name]
    with tempfile.TemporaryDirectory() as folder:
        return drawn(recording, recording.run(recording.command, Path(folder)))


def drawn(recording: Recording, printed: list[str]) -> str:
    """Draw a window in which a command is typed and answered."""
    typed = f"$ {recording.command}".split("\n")
    n_columns = max(map(len, [*typed, *printed]))
    width = 2 * MARGIN + CHARACTER * n_columns
    height = BAR + LINE * (len(typed) + len(printed)) + MARGIN
    time, parts = ANSWER, []
    for number, text in enumerate(typed):
        parts += typing(text, number, time)
        time += KEY * len(text)
    time += ANSWER
    for number, text in enumerate(printed, len(typed)):
        if text:
            parts.append(line(text, number, time))
        time += recording.pause
    buttons = "".join(
        f'<circle class="button" cx="{MARGIN + 4 + 16 * at}" cy="15" r="5"/>' for at in range(3)
    )
    title, summary = html.escape(recording.title), html.escape(recording.summary)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">\n'
        f"<title>{summary}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="window" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        f'{buttons}<text class="title" x="{width // 2}" y="19">{title}</text>\n'
        f"{''.join(parts)}</svg>\n"
    )


def line(text: str, number: int, time: float) -> str:
    """Draw a line of an answer, which appears at a time."""
    delay = f' class="line" style="animation-delay: {time:.2f}s"'
    return f"<text{placed(text, number)}{delay}>{html.escape(text.lstrip())}</text>\n"


def typing(text: str, number: int, time: float) -> Iterator[str]:
    """Draw a line of a command, under a cover that is drawn aside key by key."""
    shown = html.escape(text.lstrip())
    if text.startswith("$ "):
        shown = f'<tspan class="prompt">$</tspan>{html.escape(text[1:])}'
    yield f"<text{placed(text, number)}>{shown}</text>\n"
    left = MARGIN + CHARACTER * (2 if text.startswith("$ ") else 0)
    width, top = MARGIN + CHARACTER * len(text) - left, BAR + LINE * number
    yield (
        f'<rect class="cover" x="{left}" y="{top}" width="{width}" height="{LINE}" '
        f'style="animation-duration: {KEY * len(text):.2f}s; animation-delay: {time:.2f}s; '
        f'animation-timing-function: steps({width // CHARACTER})"/>\n'
    )


def placed(text: str, number: int) -> str:
    """Place a line; its length is that of a grid, whatever font there is."""
    indented = len(text) - len(text.lstrip())
    left, width = MARGIN + CHARACTER * indented, CHARACTER * (len(text) - indented)
    return f' x="{left}" y="{BAR + LINE * number + 13}" textLength="{width}"'


if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDINGS:
        (FIGURES / f"{name}.svg").write_text(recorded(name), encoding="utf-8")
