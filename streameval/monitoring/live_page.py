"""The live page of a monitor: the last commit, rendered once for all viewers."""

from __future__ import annotations

import functools
import math
import threading
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from importlib.resources import files
from typing import Self, final

import attrs

from streameval.metrics.intervals import normal_quantile
from streameval.monitoring.live_markup import View, document, fragment, icon, version_of
from streameval.monitoring.live_view import ViewBuilder
from streameval.monitoring.server import Request, Response, Route
from streameval.monitoring.status import Snapshot, Vitals, check_exported
from streameval.render.markup import Html
from streameval.results.names import MetricName, parse_metrics

_GZIP = b"\x1f\x8b\x08" + bytes(6) + b"\xff"  # the header, without a time or a name
_deflating = threading.Lock()


@final
class LivePage:
    """Show commits, as a page and as a stream of updates.

    `show` takes a snapshot and returns immediately; rendering happens on request, once for each
    snapshot.

    Parameters
    ----------
    title : str
        The heading.
    snapshot : Snapshot
        What to show first.
    vitals : callable
        Returns the `Vitals` of the last step.
    metrics : sequence of str or MetricName, optional
        The metrics of each slice; by default, those of the alerts and the main metric of the
        result.
    level : float
        The probability of the sampling intervals, in [0, 1); 0 leaves them out.
    pace : float
        The min seconds between two updates of a page.
    keep_alive : float
        The seconds after which a stream without updates sends a comment: proxies close silent
        connections.

    Raises
    ------
    InvalidInputError
        If a metric does not exist, or the level is invalid.

    Notes
    -----
    The values of a pane are kept until the pane changes.
    """

    def __init__(
        self,
        title: str,
        snapshot: Snapshot,
        *,
        vitals: Callable[[], Vitals | None] = lambda: None,
        metrics: Sequence[str | MetricName] = (),
        level: float = 0.95,
        pace: float = 1.0,
        keep_alive: float = 15.0,
    ) -> None:
        normal_quantile(level)
        self._title, self._edition = title, 1
        self._vitals = vitals
        self._level = level
        self._pace = pace
        self._keep_alive = keep_alive
        self._changed = threading.Condition()
        self._snapshot = snapshot
        self._is_closed = self._is_claimed = False
        self._rendering = threading.Lock()
        check_exported(snapshot, (), metrics)
        self._builder = ViewBuilder(parse_metrics(metrics), level)
        self._rendered: _Rendered | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Show a commit on the pages."""
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify()

    def retitle(self, title: str) -> None:
        """Change the heading, also of open pages."""
        with self._changed:
            if title != self._title:
                self._title, self._edition = title, self._edition + 1
                self._changed.notify()

    def close(self) -> None:
        """End the streams."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def routes(self) -> dict[str, Route]:
        """The handlers of the paths of the page."""
        return {
            "/": self._page,
            "/events": self._events,
            "/icon.svg": self._icon,
            "/live.js": functools.partial(_file, "text/javascript", ("live.js",)),
            "/page.css": functools.partial(_file, "text/css", ("page.css", "live.css")),
        }

    def _page(self, _: Request) -> Response:
        rendered = self._newest()
        return Response(_typed("text/html"), document(rendered.view, rendered.shown).encode())

    def _icon(self, _: Request) -> Response:
        return Response(_typed("image/svg+xml"), icon(self._newest().view.state).encode())

    def _events(self, request: Request) -> Response:
        known = request.headers.get("Last-Event-ID") or request.query.removeprefix("after=")
        updates, headers = self._updates(known), {"Vary": "Accept-Encoding"}
        if "gzip" in (request.headers.get("Accept-Encoding") or ""):
            updates, headers["Content-Encoding"] = _gzipped(updates), "gzip"
        return Response(_typed("text/event-stream"), updates, headers)

    def _updates(self, known: str) -> Generator[bytes]:
        """Send each commit that a client does not know, as far as it keeps up."""
        yield b"retry: 2000\n\n"
        while not self._is_closed:
            rendered = self._awaited(known)
            if rendered is not None:
                known = rendered.view.version
                yield rendered.event
            elif not self._is_closed:
                yield b":\n\n"

    def _awaited(self, known: str) -> _Rendered | None:
        """Wait for a rendered commit other than the known one, for so long as a stream is silent.

        A commit wakes one stream, which renders it and then wakes the others. If it woke all of
        them, they would take turns with the rendering, and it would take twice as long.
        """
        end = time.monotonic() + self._keep_alive
        while not self._is_closed:
            with self._changed:
                held, seconds = self._rendered, self._seconds_until_due()
                if seconds > 0:
                    if held is not None and held.view.version != known:
                        return held
                    left = end - time.monotonic()
                    if left <= 0:
                        self._changed.notify()  # to render what has been waited for
                        return None
                    self._changed.wait(min(seconds, left))
                    continue
                self._is_claimed = True
            rendered = self._claimed()
            if rendered.view.version != known:
                return rendered
        return None

    def _seconds_until_due(self) -> float:
        """Return the time until the last commit is to be rendered; infinite if a stream does so."""
        held = self._rendered
        if self._is_closed or self._is_claimed:
            return math.inf
        if held is None:
            return 0.0
        if held.view.version == self._version:
            return math.inf
        return held.made_at + self._pace - time.monotonic()

    @property
    def _version(self) -> str:
        """The identifier of the last commit, once all of it has been read."""
        return version_of(self._snapshot.status.number, self._edition)

    def _claimed(self) -> _Rendered:
        """Render the last commit; then another stream may render the next one."""
        try:
            return self._newest(is_streamed=True)
        finally:
            with self._changed:
                self._is_claimed = False
                self._changed.notify()

    def _newest(self, *, is_streamed: bool = False) -> _Rendered:
        """Render the last commit, unless that has been done, and wake the streams."""
        with self._rendering:
            held = self._rendered
            if held is None or held.view.version != self._version:
                with self._changed:
                    title, edition, snapshot = self._title, self._edition, self._snapshot
                view = self._builder.build(title, snapshot, self._vitals())
                held = _Rendered.of(attrs.evolve(view, edition=edition))
                if is_streamed:
                    _deflated(held.event)  # before many threads wait for it
                with self._changed:
                    self._rendered = held
                    self._changed.notify_all()
            return held


@attrs.frozen(eq=False)
class _Rendered:
    """A rendered commit.

    Parameters
    ----------
    view : View
    shown : Html
        The part of the page that changes.
    event : bytes
        The update that streams send: one line, since markup holds no control characters.
    made_at : float
        The time of rendering, by a monotonic clock.
    """

    view: View
    shown: Html
    event: bytes
    made_at: float

    @classmethod
    def of(cls, view: View) -> Self:
        """Render what a page shows."""
        shown = fragment(view)
        event = f"id: {view.version}\nevent: update\ndata: {shown}\n\n".encode()
        return cls(view, shown, event, time.monotonic())


def _gzipped(parts: Generator[bytes]) -> Generator[bytes]:
    """Compress a stream, part by part."""
    with closing(parts):
        yield _GZIP
        for part in parts:
            yield _deflated(part)


@functools.lru_cache(maxsize=4)
def _deflated_once(part: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)


def _deflated(part: bytes) -> bytes:
    """Compress a part without reference to those before, so that all streams can share it."""
    with _deflating:
        return _deflated_once(part)


def _file(media_type: str, names: Sequence[str], _: Request) -> Response:
    """Send files of the package, concatenated."""
    folder = files("streameval.render")
    return Response(
        _typed(media_type), b"\n".join(folder.joinpath(one).read_bytes() for one in names)
    )


def _typed(media_type: str) -> str:
    return f"{media_type}; charset=utf-8"
