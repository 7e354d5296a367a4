"""Receivers of events: a command, a webhook or a function."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
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
from collections.abc import Callable, Mapping
from datetime import UTC
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, Self
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

import attrs

from streameval.errors import InvalidInputError
from streameval.render.text import plural, printable, printable_lines

MAX_OUTPUT = 2**16
"""How many bytes of a command's output are passed on."""
MAX_REDIRECTS = 3

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
    after : float, optional
        The seconds that it asks to be left alone.
    """

    def __init__(self, reason: str, output: str = "", after: float | None = None) -> None:
        super().__init__(reason)
        self.output = output
        self.after = after


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
                status, headers = _post(parts, body, str(event["id"]), deadline)
                if 200 <= status < 300:
                    return ""
                if status not in (307, 308):
                    after = _seconds(headers.get("Retry-After", ""))
                    raise Refused(f"answered with the status {status}", after=after)
                url = urljoin(url, headers.get("Location", ""))
                is_same = _origin(urlsplit(url)) == _origin(parts)
            except (OSError, ValueError, http.client.HTTPException) as error:
                if time.monotonic() >= deadline or isinstance(error, TimeoutError):
                    raise Refused(f"has not answered within {timeout:g} s") from None
                reason = getattr(error, "strerror", None) or type(error).__name__
                raise Refused(f"cannot be reached: {printable(str(reason))}") from None
            if not is_same:
                raise Refused("redirects to another host, which is not followed")
        raise Refused(f"redirects more than {MAX_REDIRECTS} times")


def _seconds(retry_after: str) -> float | None:
    """Read the time until a retry, which is a number of seconds or a date of HTTP."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return parsedate_to_datetime(text).replace(tzinfo=UTC).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None


def _post(parts: SplitResult, body: bytes, number: str, deadline: float) -> tuple[int, Message]:
    """Post once, and return the status and the headers of the answer."""
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
        return response.status, response.headers
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


def send(receiver: Receiver, event: JsonEvent, timeout: float) -> str | Refused:
    """Deliver an event; return what the receiver said, or why it refused."""
    try:
        return receiver.send(event, timeout)
    except Refused as error:
        return error
    except Exception as error:
        return Refused(f"raised {type(error).__name__}: {printable(str(error))}")


def receiver_of(on_alert: Any) -> Receiver:
    """Choose how events are delivered: to a URL, a command line or a function.

    Raises
    ------
    InvalidInputError
        When it is something else; the message shows no credentials.
    """
    if callable(on_alert):
        return Function(on_alert)
    if not isinstance(on_alert, str):
        got = type(on_alert).__name__
        raise InvalidInputError(
            f"must be a URL, a command or a function, got {got}", argument="on_alert"
        )
    is_url = on_alert.partition("://")[0].lower() in _PORTS
    return Webhook.of(on_alert) if is_url else Command.of(on_alert)
