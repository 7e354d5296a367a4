"""What probes are told: whether steps go on, and whether there is what the monitor reads."""

from __future__ import annotations

import time
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, final

from streameval.monitoring.files import Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from streameval.monitoring.server import Request, Response, Route
    from streameval.monitoring.source_protocol import Source
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
            if isinstance(source, Tail)
            for pattern in source.unmatched()
        ]
        if self._last is not None and self._last.is_idle and self._last.is_waiting:
            reasons.append("a server does not answer")
        return _answer(reasons)


def _answer(reasons: list[str]) -> Response:
    """Answer that all is well, or a line for each reason why not."""
    from streameval.monitoring.server import Response  # noqa: PLC0415 (it needs http.server)

    text = "".join(f"{reason}\n" for reason in reasons or ["ok"])
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return Response("text/plain; charset=utf-8", text.encode("utf-8", "replace"), status=status)
