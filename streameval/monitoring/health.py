"""What probes and scrapes of Prometheus are told of a monitor."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, final

from streameval.monitoring.sources import FileSource
from streameval.monitoring.status import check_exported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from streameval.monitoring.monitor import Monitor
    from streameval.monitoring.prometheus import MonitorCollector
    from streameval.monitoring.server import Request, Response, Route
    from streameval.monitoring.sources import Source
    from streameval.monitoring.status import Step

_MAX_STEP = 300.0
"""How many seconds a step may take: far more than one ever does, even on a slow disk."""


@final
class Health:
    """Answer the probes of an orchestrator, without waiting for the step that is running.

    ``/healthz`` (and ``/livez``) fails while one step has been running for more than five minutes:
    a restart may help, and loses nothing. ``/readyz`` fails while a path or pattern matches no
    file, or a server does not answer: a restart does not help. The checkpoint is open as long as
    they answer, because a monitor that cannot open or commit it ends.

    Parameters
    ----------
    sources : mapping from role to Source
        What the monitor reads.
    clock : callable
        Returns seconds, and never goes back.
    """

    def __init__(
        self, sources: Mapping[str, Source], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._step_began: float | None = None
        self._last: Step | None = None

    @contextmanager
    def during_step(self) -> Iterator[None]:
        """Note when a step begins and ends; one within another is a part of it."""
        before = self._step_began
        self._step_began = self._clock() if before is None else before
        try:
            yield
        finally:
            self._step_began = before

    def note(self, step: Step) -> None:
        """Remember what the last step has found."""
        self._last = step

    @property
    def routes(self) -> dict[str, Route]:
        """The handlers of the paths of probes."""
        return {"/healthz": self._alive, "/livez": self._alive, "/readyz": self._ready}

    @property
    def is_alive(self) -> bool:
        """Whether steps go on."""
        return self._seconds() <= _MAX_STEP

    def _seconds(self) -> float:
        """Return how long the step that is running has taken."""
        began = self._step_began
        return 0.0 if began is None else self._clock() - began

    def _alive(self, _: Request) -> Response:
        seconds = self._seconds()
        return _answer([f"a step has been running for {seconds:.0f} s"] * (seconds > _MAX_STEP))

    def _ready(self, _: Request) -> Response:
        reasons = [
            f"{role}: {pattern}: no such file or directory"
            for role, source in self._sources.items()
            if isinstance(source, FileSource)
            for pattern in source.unmatched()
        ]
        if self._last is not None and self._last.is_idle and self._last.is_waiting:
            reasons.append("a server does not answer")
        return _answer(reasons)


def exporting(monitor: Monitor, **options: Any) -> Route:
    """Make what exports the last commit; the numbers are computed on a scrape.

    The Prometheus client library is not needed before that.

    Parameters
    ----------
    monitor : Monitor
    **options
        Those of `MonitorCollector`.
    """
    check_exported(monitor.snapshot(), options["windows"], options["metrics"])

    @cache
    def collector() -> MonitorCollector:
        from streameval.monitoring.prometheus import MonitorCollector  # noqa: PLC0415 (an extra)

        return MonitorCollector(monitor, **options)

    def answer(request: Request) -> Response:
        """Answer a scrape; without the client library, say how to install it."""
        try:
            made = collector()
        except ImportError as error:
            return _answer([str(error)], HTTPStatus.NOT_IMPLEMENTED)
        return _response(*made.response(",".join(request.headers.get_all("Accept") or ())))

    return answer


def _answer(reasons: Sequence[str], fault: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE) -> Response:
    """Answer that all is well, or a line for each reason why not."""
    text = "".join(f"{reason}\n" for reason in reasons or ["ok"])
    status = fault if reasons else HTTPStatus.OK
    return _response("text/plain; charset=utf-8", text.encode("utf-8", "replace"), status=status)


def _response(*parts: Any, **others: Any) -> Response:
    from streameval.monitoring.server import Response  # noqa: PLC0415 (it needs http.server)

    return Response(*parts, **others)
