"""The table of what a monitor exports to Prometheus, made from what describes it."""

import importlib

from sphinx.ext.autodoc.mock import mock

MARK = "<!-- exported metrics -->"


def filled(text):
    """Replace the mark with a row for each metric."""
    return text.replace(MARK, _table()) if MARK in text else text


def _table():
    with mock(["prometheus_client"]):
        module = importlib.import_module("streameval.monitoring.prometheus")
    times = {f"{name}_seconds": rest for name, rest in module._TIMES.items()}
    families = [
        ("counter", {f"{name}_total": rest for name, rest in module._COUNTERS.items()}),
        ("histogram", module._HISTOGRAMS),
        ("gauge", module._GAUGES | times),
    ]
    rows = (
        f"| `{name}` | {family} | {', '.join(f'`{label}`' for label in labels)} | {text} |"
        for family, described in families
        for name, (text, *labels) in described.items()
    )
    return "\n".join(["| metric | type | labels | what |", "|---|---|---|---|", *rows])
