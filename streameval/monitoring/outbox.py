"""At-least-once delivery of events to a command, a webhook or a function, in a thread."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import logging
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, Self
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import attrs

from streameval.configs.options import finite_number
from streameval.errors import InvalidInputError
from streameval.render.text import plural, printable, printable_lines

LOG = logging.getLogger("streameval.on-alert")
MAX_EVENTS = 1000
"""How many events are held in memory; further ones stay in the checkpoint."""
MAX_OUTPUT = 2**16
"""How many bytes of a command's output are passed on."""
MAX_REDIRECTS = 3
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until an event is tried again; each pause is twice the one before."""

_POLL = 0.02
_PORTS = {"http": 80, "https": 443}

JsonEvent = Mapping[str, Any]


class Refused(Exception):  # noqa: N818 - it is the receiver's
    """A receiver did not accept an event; the message says why, without credentials.

    Parameters
    ----------
    reason : str
    output : str
        The output of the receiver.
    """

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


class Receiver(Protocol):
    """A receiver of events."""

    @property
    def name(self) -> str:
        """The name in messages, without credentials."""
        ...

    def send(self, event: JsonEvent, timeout: float) -> str:
        """Deliver an event and return the text to show, or raise `Refused`."""
        ...


@attrs.frozen
class Function:
    """A function that is called with each event, and again later if it raises."""

    function: Callable[[dict[str, Any]], Any]

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def send(self, event: JsonEvent, timeout: float) -> str:  # noqa: ARG002 - it cannot be stopped
        """Call the function."""
        self.function(dict(event))
        return ""


@attrs.frozen
class Command:
    """A program that is started for each event, without a shell, with the JSON on standard input.

    Parameters
    ----------
    argv : tuple of str
    """

    argv: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Split like a shell, and find the program."""
        try:
            argv = tuple(shlex.split(text))
        except ValueError as error:
            reason = f"must be a command or a URL: {error}"
            raise InvalidInputError(reason, argument="on_alert") from None
        if not argv or shutil.which(argv[0]) is None:
            got = repr(argv[0]) if argv else "nothing"
            raise InvalidInputError(
                f"must begin with a program that can be started, got {got}", argument="on_alert"
            )
        return cls(argv)

    @property
    def name(self) -> str:
        """The program; its arguments may be credentials."""
        return printable(self.argv[0])

    def send(self, event: JsonEvent, timeout: float) -> str:
        """Run the program until it ends; at the time-out its process group is killed."""
        # A file holds the event, whether or not the program ever reads it; a pipe could block.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(_encoded(event))
            stdin.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603 - configured by the user
                    self.argv,
                    bufsize=0,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise Refused(f"cannot be started: {error.strerror}") from None
        with process:
            output = _Output(process)
            is_late = not output.read_until(time.monotonic() + timeout)
            if is_late:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if is_late:
            raise Refused(f"has not ended within {timeout:g} s", output.text)
        if process.returncode:
            raise Refused(f"ended with the exit status {process.returncode}", output.text)
        return output.text


class _Output:
    """The output of a process: all of it is read, so it never blocks, and the start is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._kept = bytearray()
        self._size = 0

    def read_until(self, deadline: float) -> bool:
        """Read until the process ends or the deadline passes; return whether it has ended.

        Processes that it started may continue to write; nothing waits for them.
        """
        process, pipe = self._process, self._pipe
        os.set_blocking(pipe, False)
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while process.poll() is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                if selector.get_map():
                    if selector.select(min(left, _POLL)) and not self._read():
                        selector.unregister(pipe)
                else:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(left)
            self._read()
        return process.poll() is not None

    @property
    def text(self) -> str:
        """The text to show."""
        text = printable_lines(self._kept.decode("utf-8", errors="replace")).rstrip("\n")
        left = self._size - len(self._kept)
        return text if left <= 0 else f"{text}\n... and {plural(left, 'byte')}"

    @property
    def _pipe(self) -> int:
        stdout: Any = self._process.stdout
        number: int = stdout.fileno()
        return number

    def _read(self) -> bool:
        """Read the available output; return whether there may be more."""
        try:
            chunk = os.read(self._pipe, 2**20)
        except BlockingIOError:
            return True
        self._size += len(chunk)
        self._kept += chunk[: MAX_OUTPUT - len(self._kept)]
        return bool(chunk)


@attrs.frozen(repr=False)
class Webhook:
    """A URL to which each event is posted as JSON.

    Parameters
    ----------
    url : str
        Of http or https. A user and a password before the host are sent as basic authentication.
    template : callable, optional
        Makes what is posted from an event; by default, it is the event.
    """

    url: str
    template: Callable[[JsonEvent], Any] = dict

    @classmethod
    def of(cls, url: str) -> Self:
        """Check a URL; messages never show it, since it may be a credential."""
        try:
            parts = urlsplit(url)
            is_usable = bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_usable = False
        if not is_usable or not url.isascii() or not url.isprintable() or " " in url:
            raise InvalidInputError(
                "must be a command, or a URL such as https://host/path, without spaces and with "
                "other characters escaped",
                argument="on_alert",
            )
        return cls(url)

    @property
    def name(self) -> str:
        """The host; the path may be a credential."""
        scheme, host, port = _origin(urlsplit(self.url))
        return f"{scheme}://{host}" + ("" if port == _PORTS[scheme] else f":{port}")

    def send(self, event: JsonEvent, timeout: float) -> str:
        """Post an event; only a redirect to the same host is followed."""
        deadline = time.monotonic() + timeout
        url, body = self.url, _encoded(self.template(event))
        for _ in range(MAX_REDIRECTS + 1):
            parts = urlsplit(url)
            try:
                status, location = _post(parts, body, str(event["id"]), deadline)
                if 200 <= status < 300:
                    return ""
                if status not in (307, 308):
                    raise Refused(f"answered with the status {status}")
                url = urljoin(url, location)
                is_same = _origin(urlsplit(url)) == _origin(parts)
            except (OSError, ValueError, http.client.HTTPException) as error:
                if time.monotonic() >= deadline or isinstance(error, TimeoutError):
                    raise Refused(f"has not answered within {timeout:g} s") from None
                reason = getattr(error, "strerror", None) or type(error).__name__
                raise Refused(f"cannot be reached: {printable(str(reason))}") from None
            if not is_same:
                raise Refused("redirects to another host, which is not followed")
        raise Refused(f"redirects more than {MAX_REDIRECTS} times")


def _post(parts: SplitResult, body: bytes, number: str, deadline: float) -> tuple[int, str]:
    """Post once, and return the status and the redirect."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    scheme, host, port = _origin(parts)
    secure = scheme == "https"
    make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = make(host, port, timeout=left)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "streameval",
        "Idempotency-Key": number,
    }
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # The time-out of a socket is for each read, and an answer may come byte by byte.
    timer = threading.Timer(left, _hang_up, [connection])
    timer.daemon = True
    timer.start()
    try:
        connection.request("POST", target, body, headers)
        response = connection.getresponse()
        return response.status, response.getheader("Location", "")
    finally:
        timer.cancel()
        connection.close()


def _hang_up(connection: http.client.HTTPConnection) -> None:
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)


def _encoded(body: Any) -> bytes:
    return json.dumps(body, allow_nan=False).encode("ascii") + b"\n"


def send(receiver: Receiver, event: JsonEvent, timeout: float) -> tuple[str, str | None]:
    """Deliver an event; return what the receiver said, and why it refused, if it did."""
    try:
        return receiver.send(event, timeout), None
    except Refused as error:
        return error.output, str(error)
    except Exception as error:
        return "", f"raised {type(error).__name__}: {printable(str(error))}"


def receiver_of(on_alert: Any) -> Receiver:
    """Choose how events are delivered: to a URL, a command line, a function, or as it is given.

    Raises
    ------
    InvalidInputError
        When it is something else; the message shows no credentials.
    """
    if hasattr(on_alert, "send"):
        receiver: Receiver = on_alert
        return receiver
    if callable(on_alert):
        return Function(on_alert)
    if not isinstance(on_alert, str):
        got = type(on_alert).__name__
        raise InvalidInputError(
            f"must be a URL, a command or a function, got {got}", argument="on_alert"
        )
    is_url = on_alert.partition("://")[0].lower() in _PORTS
    return Webhook.of(on_alert) if is_url else Command.of(on_alert)


@attrs.define
class _Held:
    """An event that has not been delivered."""

    event: JsonEvent
    due: float
    tries: int = 0


class Outbox:
    """Deliver events in a separate thread, one at a time, and retry each until it is accepted.

    A slow receiver delays only events. A refused event is retried after 1 s, then 2 s, and so on up
    to every 5 minutes, forever; events of other alerts can overtake it, later events of the same
    alert cannot. Each event arrives at least once: after a crash, events without a recorded
    delivery are sent again, with the same id.

    Parameters
    ----------
    on_alert : str, callable or receiver
        A URL of http or https; a command line, which is split as a shell does and started without
        one; or a function, which is called with a dict in this thread.
    timeout : float
        The time limit of a command or a webhook, in seconds.
    """

    def __init__(
        self,
        on_alert: Any,
        *,
        timeout: float = 10.0,
    ) -> None:
        self.receiver = receiver_of(on_alert)
        self._timeout = finite_number(timeout, name="timeout")
        self._held: dict[str, _Held] = {}
        self._fresh: list[str] = []
        self._returned: set[str] = set()
        self._is_busy = self._is_closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.n_delivered = 0
        self.n_refused = 0

    def deliver(self, pending: Iterable[tuple[str, JsonEvent]]) -> list[str]:
        """Start deliveries without waiting.

        Parameters
        ----------
        pending : iterable of (id, event)
            The undelivered events of the checkpoint, oldest first; those already in progress
            continue. At most 1,000 are taken at a time.

        Returns
        -------
        list of str
            The ids of the events that were delivered since the last call, or passed again.
        """
        with self._changed:
            names = set()
            for name, event in pending:
                names.add(name)
                is_known = name in self._held or name in self._returned or name in self._fresh
                if not is_known and len(self._held) < MAX_EVENTS:
                    self._held[name] = _Held(event, time.monotonic())
            self._returned &= names  # the checkpoint has forgotten the others
            delivered = [*self._returned, *self._collected()]
            if self._held and self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return delivered

    def flush(self, seconds: float) -> list[str]:
        """Wait until every event has been tried, and return the ids of those delivered since."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_busy and self._next()[0] is None, seconds)
            return self._collected()

    def close(self, seconds: float = 0.0) -> None:
        """Start no more deliveries, and wait for the current one."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _collected(self) -> list[str]:
        """Return the ids of the events delivered since the last call."""
        fresh, self._fresh = self._fresh, []
        self._returned.update(fresh)
        return fresh

    def _next(self) -> tuple[str | None, float | None]:
        """Choose the oldest event that is due, or say how many seconds are left until one is.

        An event waits for earlier events of the same alert.
        """
        heads: dict[str, tuple[str, float]] = {}
        for name, held in self._held.items():
            heads.setdefault(held.event.get("alert", name), (name, held.due))
        now = time.monotonic()
        for name, due in heads.values():
            if due <= now:
                return name, 0.0
        return None, min((due - now for _, due in heads.values()), default=None)

    def _work(self) -> None:
        while (name := self._due()) is not None:
            held = self._held[name]
            said, refusal = send(self.receiver, held.event, self._timeout)
            self._note(name, held, refusal)
            with contextlib.suppress(Exception):  # events go on, even if nothing is shown
                self._tell(held, said, refusal)

    def _tell(self, held: _Held, said: str, refusal: str | None) -> None:
        """Log what a receiver has said, and whether it took an event."""
        receiver, number, tries = self.receiver.name, held.event["id"], held.tries
        for line in said.splitlines():
            LOG.info("%s: %s", receiver, line)
        if refusal is not None:
            shown = receiver, refusal, number, plural(tries, "time")
            LOG.error("%s %s; event %s has been tried %s, and is tried again", *shown)
        elif tries:
            LOG.info("%s: event %s has arrived", receiver, number)

    def _due(self) -> str | None:
        """Wait for an event that is due; None once the outbox is closed."""
        with self._changed:
            while not self._is_closed:
                name, left = self._next()
                if name is not None:
                    self._is_busy = True
                    return name
                self._changed.wait(left)
            return None

    def _note(self, name: str, held: _Held, refusal: str | None) -> None:
        """Drop a delivered event, or postpone a refused one."""
        with self._changed:
            self._is_busy = False
            if refusal is None:
                del self._held[name]
                self._fresh.append(name)
                self.n_delivered += 1
            else:
                pause = min(FIRST_PAUSE * 2.0 ** min(held.tries, 60), LONGEST_PAUSE)
                held.due, held.tries = time.monotonic() + pause, held.tries + 1
                self.n_refused += 1
            self._changed.notify_all()
