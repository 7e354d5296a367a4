"""The windows and metrics that a monitor can export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.errors import InvalidInputError
from streameval.results.names import parse_metrics
from streameval.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.monitoring.status import Snapshot
    from streameval.results.names import MetricName


def check_exported(
    snapshot: Snapshot, windows: Sequence[Any], metrics: Sequence[str | MetricName]
) -> None:
    """Refuse windows and metrics that the monitor cannot have.

    Raises
    ------
    InvalidInputError
        If a window is not a whole number of panes, or a metric does not exist.
    """
    held = snapshot.windowed
    if held is None:  # on the command line, first rows decide what is counted
        return
    for width in windows:
        held._config.length(width, name="windows")
    result = held._config.accumulator.leaf.empty().compute()  # classes may still come
    for metric in parse_metrics(metrics):
        if not isinstance(result, Result):
            got = type(result).__name__
            raise InvalidInputError(
                f"needs a result with a table of metrics, got a {got}", argument="metrics"
            )
        result.check(metric)
