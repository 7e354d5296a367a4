"""A small HTTP server beside a monitor: pages, a stream of events, numbers for machines.

It only reads, answers only names that are allowed, and drops clients that are slow.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from socketserver import TCPServer
from typing import Any, Protocol, Self, cast, final

import attrs

from streameval.configs.options import positive_integer
from streameval.errors import InvalidInputError, UnavailableError
from streameval.monitoring import ADDRESS

_ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:/\[\]]*))(?::(?P<port>\d{1,5}))?"
)
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\s:/\[\]@]+))(?::\d{1,5})?")


@attrs.frozen(eq=False, repr=False)
class Hosts:
    """The host names that a request may use."""

    names: frozenset[str]
    networks: tuple[Any, ...]

    @classmethod
    def of(cls, allowed: Sequence[str]) -> Self:
        """Separate names from networks."""
        names, networks = set(), []
        for item in allowed:
            try:
                networks.append(ipaddress.ip_network(item.strip("[]"), strict=False))
            except ValueError:
                if _HOST.fullmatch(item) is None or ":" in item:
                    shown = "must be a name, an IP address or a network, without a port"
                    got = f"{shown}, got {item!r}"
                    raise InvalidInputError(got, argument="allow_host") from None
                names.add(item.lower())
        return cls(frozenset(names), tuple(networks))

    def allow(self, host: str) -> bool:
        """Return whether a header names this server."""
        match = _HOST.fullmatch(host.strip())
        if match is None:
            return False
        name = (match["six"] or match["name"]).lower()
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name == "localhost" or name in self.names
        return address.is_loopback or any(address in network for network in self.networks)


def read_address(address: Any) -> tuple[str, int]:
    """Split an address into a host and a port."""
    match = _ADDRESS.fullmatch(address) if isinstance(address, str) and address else None
    port = None if match is None else int(match["port"] or ADDRESS.rpartition(":")[2])
    if match is None or port is None or port > 65_535:
        message = f"must be HOST:PORT, such as {ADDRESS}, got {address!r}"
        raise InvalidInputError(message, argument="address")
    if match["name"] and match["name"].isdigit():
        remedy = f"Write :{match['name']} for a port."
        message = f"must be HOST:PORT, got {address!r}"
        raise InvalidInputError(message, argument="address", remedy=remedy)
    return match["six"] or match["name"] or ADDRESS.rpartition(":")[0], port


def bracketed(host: str) -> str:
    """Format a host for a URL."""
    return f"[{host}]" if ":" in host else host


def is_specific(host: str) -> bool:
    """Return whether a host is one address, not all addresses of a machine."""
    with suppress(ValueError):
        return not ipaddress.ip_address(host).is_unspecified
    return True


__all__ = ["Headers", "Request", "Response", "Route", "Server"]

_HEADERS = {
    "Cache-Control": "no-store",
    "Connection": "close",
    "Content-Security-Policy": (
        "default-src 'none'; connect-src 'self'; img-src 'self'; script-src 'self'; "
        "style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
_TEXT = "text/plain; charset=utf-8"
_MAX_SKIPPED = 2**16
_SPARE = 32
_PROBED = {
    "/metrics": "metrics",
    **dict.fromkeys(("/health", "/healthz", "/livez", "/readyz"), "health"),
}
"""What machines ask for, under limits of their own."""
_MAX_PROBES = 16
_TICK = 0.1
_log = logging.getLogger("streameval")


class Headers(Protocol):
    """The headers of a request, by names in any case."""

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return the first value of a header."""

    def get_all(self, name: str, default: Any = None, /) -> Any:
        """Return all values of a header."""


@attrs.frozen
class Request:
    """What a client asks for.

    Parameters
    ----------
    path : str
        As it was sent, up to the question mark.
    query : str
        What follows the question mark.
    headers : Headers
        By name.
    """

    path: str
    query: str
    headers: Headers


@attrs.frozen
class Response:
    """What a client gets.

    Parameters
    ----------
    content_type : str
        The media type of the body.
    body : bytes or generator of bytes
        All of it; or its parts, which are sent as they come until it ends.
    headers : mapping from str to str
        Further headers.
    status : int
        The status code.
    """

    content_type: str
    body: bytes | Generator[bytes]
    headers: Mapping[str, str] = attrs.field(factory=dict)
    status: int = HTTPStatus.OK


Route = Callable[[Request], Response]


@final
class Server:
    """Answer requests in threads, from the moment it is made until `close`.

    Parameters
    ----------
    routes : mapping from path to function
        What answers a `Request` for each path. Others may be added to `routes` at any time.
    address : str
        ``HOST:PORT``, ``HOST`` or ``:PORT``; an IPv6 address stands in brackets. Port 0 is any
        that is free.
    allow_host : sequence of str
        What clients may call the server, besides loopback names and the host of `address`:
        names, IP addresses, or networks such as ``"10.0.0.0/8"``.
    max_clients : int
        How many clients may be answered at a time; the streams of open pages stay connected.
        ``/metrics`` and paths of health checks are not among them: of each, 16 are answered.
    patience : float
        How many seconds a client may take to ask, and to take what it is sent.
    on_close : callable, optional
        Called as `close` begins; it ends streams that are waiting.

    Raises
    ------
    InvalidInputError
        If the address cannot be read, or cannot be bound.
    UnavailableError
        If the port is in use.

    Notes
    -----
    Requests other than GET and HEAD are refused, and so are those for a host that is not allowed:
    otherwise any page in a browser could read this one, by a name of its own that leads here
    (DNS rebinding).

    Examples
    --------
    >>> import urllib.request
    >>> owner = Response("text/plain", b"ranking team")
    >>> server = Server({"/owner": lambda request: owner}, "127.0.0.1:0")
    >>> with urllib.request.urlopen(server.url + "owner") as answer:
    ...     answer.read()
    b'ranking team'
    >>> server.close()
    """

    def __init__(
        self,
        routes: Mapping[str, Route],
        address: str = ADDRESS,
        *,
        allow_host: Sequence[str] = (),
        max_clients: int = 100,
        patience: float = 10.0,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        if isinstance(allow_host, str):
            got = f"must be a list of hosts, got {allow_host!r}"
            raise InvalidInputError(got, argument="allow_host")
        host, port = read_address(address)
        self.routes: dict[str, Route] = dict(routes)
        self._hosts = Hosts.of([*([host] if is_specific(host) else []), *allow_host])
        self._on_close = on_close
        self._sockets = _Sockets(
            self, host, port, positive_integer(max_clients, name="max_clients"), patience
        )
        self._thread = threading.Thread(
            target=self._sockets.serve_forever, args=(_TICK,), name="streameval server", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of the first page on this machine."""
        host, port = map(str, self._sockets.server_address[:2])
        if not is_specific(host):
            host = "::1" if ":" in host else "127.0.0.1"
        return f"http://{bracketed(host)}:{port}/"

    def close(self) -> None:
        """Stop, and disconnect all clients; a second call does nothing."""
        if not self._thread.is_alive():
            return
        if self._on_close is not None:
            self._on_close()
        self._sockets.shutdown()
        self._thread.join()
        self._sockets.server_close()
        self._sockets.drop_all()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _answer(self, request: Request, hosts: Sequence[str]) -> Response:
        """Find what answers a request, and ask it."""
        if len(hosts) != 1 or not self._hosts.allow(hosts[0]):
            return _told(HTTPStatus.MISDIRECTED_REQUEST, "this host is not allowed here")
        route = self.routes.get(request.path)
        if route is None:
            return _told(HTTPStatus.NOT_FOUND, "there is no such page")
        try:
            return route(request)
        except Exception:
            _log.exception("%s could not be answered", request.path)
            return _told(HTTPStatus.INTERNAL_SERVER_ERROR, "the monitor's log says more")


class _Sockets(ThreadingHTTPServer):
    """The sockets of a server, limited in number."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # a client past it tries again only after a second

    def __init__(
        self, server: Server, host: str, port: int, max_clients: int, patience: float
    ) -> None:
        self.server = server
        self.max_clients = max_clients
        self.patience = patience
        self.asking: dict[Any, float] = {}
        self.answered: dict[str | None, set[Any]] = {None: set(), "metrics": set(), "health": set()}
        self._lock = threading.Lock()
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            self.address_family, _, _, _, address = found[0]
            super().__init__(cast("Any", address), _Handler)
        except OSError as error:
            reason = str(error.strerror or error).lower()
            message = f"cannot be {f'{bracketed(host)}:{port}'!r}: {reason}"
            if error.errno == errno.EADDRINUSE:
                remedy = "Choose another port."
                raise UnavailableError(message, argument="address", remedy=remedy) from None
            raise InvalidInputError(message, argument="address") from None

    def server_bind(self) -> None:
        """Bind without asking for the full name of the host, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = map(str, self.server_address[:2])  # type: ignore[assignment]

    @property
    def clients(self) -> list[Any]:
        """Those that have not asked yet, and those that are being answered."""
        with self._lock:
            return [*self.asking, *chain.from_iterable(self.answered.values())]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; if too many clients do not ask, drop those that have not for longest.

        What a client wants is known only once it has asked, so that slow ones must not keep out
        others.
        """
        with self._lock:
            self.asking[request] = time.monotonic()
            slowest = [*self.asking][: -(self.max_clients + _SPARE)]
            for client in slowest:
                del self.asking[client]
        _cut(slowest)
        super().process_request(request, client_address)

    def admit(self, connection: Any, path: str) -> bool:
        """Note that a client has asked; return whether it may be answered.

        What it is sent has a time limit of its own.
        """
        asked = _PROBED.get(path)
        with self._lock:
            self.asking.pop(connection, None)
            answered = self.answered[asked]
            if len(answered) >= (self.max_clients if asked is None else _MAX_PROBES):
                return False
            answered.add(connection)
            return True

    def shutdown_request(self, request: Any) -> None:
        """Let go of a client."""
        with self._lock:
            self.asking.pop(request, None)
            for answered in self.answered.values():
                answered.discard(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Drop clients that take too long to send a request, even byte by byte."""
        limit = time.monotonic() - self.patience
        with self._lock:
            late = [client for client, since in self.asking.items() if since < limit]
        _cut(late)

    def drop_all(self) -> None:
        """Drop all clients."""
        _cut(self.clients)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Ignore clients that have disconnected; the default prints a traceback for each."""
        if not isinstance(sys.exception(), OSError):
            _log.exception("a client got no answer")


class _Handler(BaseHTTPRequestHandler):
    """Reads one request, and answers it."""

    protocol_version = "HTTP/1.1"

    @property
    def sockets(self) -> _Sockets:
        """The server of the connection."""
        return cast("_Sockets", self.server)

    def setup(self) -> None:
        """Limit how long a client may block the thread."""
        self.request.settimeout(self.sockets.patience)
        super().setup()

    def do_GET(self) -> None:
        """Answer with a body."""
        path, _, query = self.path.partition("?")
        hosts = self.headers.get_all("Host") or []
        if self.sockets.admit(self.connection, path):
            self._send(self.sockets.server._answer(Request(path, query, self.headers), hosts))
        else:
            self._send(_told(HTTPStatus.SERVICE_UNAVAILABLE, "there are too many clients"))

    do_HEAD = do_GET  # noqa: N815

    def send_error(
        self,
        code: int,
        message: str | None = None,  # noqa: ARG002
        explain: str | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse a request, without quoting it."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code = HTTPStatus.METHOD_NOT_ALLOWED
            self._skip_body()
        if self.command is None:  # the request line cannot be read
            self.request_version, self.command = self.protocol_version, ""
        self._send(_told(code, HTTPStatus(code).description.lower()))

    def version_string(self) -> str:
        """Name the server, without its version."""
        return "streameval"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write no log of requests."""

    def _send(self, response: Response) -> None:
        self.close_connection = True
        body = response.body
        headers = _HEADERS | {"Content-Type": response.content_type} | dict(response.headers)
        if isinstance(body, bytes):
            headers["Content-Length"] = str(len(body))
        self.send_response(response.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if isinstance(body, bytes):
            if self.command != "HEAD":
                self.wfile.write(body)
            return
        with closing(body):
            for part in () if self.command == "HEAD" else body:
                self.wfile.write(part)

    def _skip_body(self) -> None:
        """Read what was sent: closing a socket with unread bytes would discard the answer."""
        length = self.headers.get("Content-Length", "")
        if length.isascii() and length.isdigit():
            self.rfile.read(min(int(length), _MAX_SKIPPED))


def _told(status: int, reason: str) -> Response:
    headers = {"Allow": "GET, HEAD"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
    return Response(_TEXT, f"{int(status)}: {reason}.\n".encode(), headers, status)


def _cut(clients: Sequence[Any]) -> None:
    """Make every wait for a client fail."""
    for client in clients:
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
