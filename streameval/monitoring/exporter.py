"""Answers scrapes of Prometheus with the last commit of a monitor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, final

from streameval.monitoring.server import Request, Response
from streameval.monitoring.status import Snapshot, Status, check_exported

if TYPE_CHECKING:
    from streameval.monitoring.prometheus import MonitorCollector
    from streameval.monitoring.vitals import Vitals


@final
class Exporter:
    """Export each commit that is shown; the numbers are computed on a scrape.

    The Prometheus client library is not needed before that.

    Parameters
    ----------
    snapshot : Snapshot
        The first commit to export.
    vitals : callable
        Returns the `Vitals` of the last step.
    **options
        Those of `MonitorCollector`.
    """

    def __init__(
        self, snapshot: Snapshot, vitals: Callable[[], Vitals | None], **options: Any
    ) -> None:
        check_exported(snapshot, options["windows"], options["metrics"])
        self.vitals = vitals
        self._snapshot = snapshot
        self._options = options

    def show(self, snapshot: Snapshot) -> None:
        """Make a commit visible to scrapes."""
        self._snapshot = snapshot

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        return self._snapshot

    def status(self) -> Status:
        """Return the numbers of the last commit."""
        return self._snapshot.status

    def answer(self, request: Request) -> Response:
        """Answer a scrape; without the client library, say how to install it."""
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
