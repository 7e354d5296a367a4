"""Answers scrapes of Prometheus with the last commit of a monitor."""

from __future__ import annotations

from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, final

from streameval.errors import InvalidInputError
from streameval.monitoring.server import Request, Response
from streameval.results.names import parse_metric
from streameval.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.monitoring.prometheus import MonitorCollector
    from streameval.monitoring.status import Snapshot, Status
    from streameval.results.names import MetricName

__all__ = ["Exporter", "check_exported"]


@final
class Exporter:
    """Export commits as they are shown; what is exported is computed when a scrape asks.

    The client library of Prometheus is not needed before.

    Parameters
    ----------
    snapshot : Snapshot
        What to export first.
    **options
        Those of `MonitorCollector`.
    """

    def __init__(self, snapshot: Snapshot, **options: Any) -> None:
        check_exported(snapshot, options["windows"], options["metrics"])
        self._snapshot = snapshot
        self._options = options

    def show(self, snapshot: Snapshot) -> None:
        """Let scrapes see a commit."""
        self._snapshot = snapshot

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        return self._snapshot

    def status(self) -> Status:
        """Return the numbers of the last commit."""
        return self._snapshot.status

    def answer(self, request: Request) -> Response:
        """Answer a scrape; without the client library, say what installs it."""
        try:
            collector = self._collector
        except ImportError as error:
            text = f"{error}\n".encode()
            return Response("text/plain; charset=utf-8", text, status=HTTPStatus.NOT_IMPLEMENTED)
        accept = ",".join(request.headers.get_all("Accept") or ())
        return Response(*collector.response(accept))

    @cached_property
    def _collector(self) -> MonitorCollector:
        from streameval.monitoring.prometheus import MonitorCollector  # noqa: PLC0415 (an extra)

        return MonitorCollector(self, **self._options)


def check_exported(
    snapshot: Snapshot, windows: Sequence[Any], metrics: Sequence[str | MetricName]
) -> None:
    """Refuse windows and metrics that there cannot be.

    Raises
    ------
    InvalidInputError
        If a window is no whole number of panes, or there is no such metric.
    """
    held = snapshot.windowed
    if held is None:  # on the command line, first rows decide what is counted
        return
    for width in windows:
        held._config.length(width, name="windows")
    result = held._config.accumulator.leaf.empty().compute()  # classes may still come
    for metric in metrics:
        if not isinstance(result, Result):
            got = type(result).__name__
            raise InvalidInputError(
                f"needs a result with a table of metrics, got a {got}", argument="metrics"
            )
        result.check(parse_metric(metric) if isinstance(metric, str) else metric)
