"""The server beside a monitor, asked over loopback sockets."""

from __future__ import annotations

import io
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from offenders import each

import streameval as se
from streameval.monitoring.server import Request, Response, Server

ANY = "127.0.0.1:0"


def hello(request: Request) -> Response:
    return Response("text/plain", f"hello {request.query}".encode(), {"X-Own": "1"})


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Collect what the library logs."""
    text = io.StringIO()
    monkeypatch.setattr(logging.getLogger("streameval"), "handlers", [logging.StreamHandler(text)])
    return text


def serve(**options: object) -> Server:
    options = {"address": ANY, **options}
    return Server({"/": hello}, **options)  # type: ignore[arg-type]


@contextmanager
def connected(server: Server) -> Iterator[socket.socket]:
    host, port = server._sockets.server_address[:2]
    with socket.create_connection((host, port), timeout=20) as client:  # type: ignore[arg-type]
        yield client


def rest_of(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65_536), b""))


def ask(server: Server, request: str) -> tuple[int, dict[str, str], bytes]:
    with connected(server) as client:
        client.sendall(request.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        head, _, body = rest_of(client).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert len(headers) == len(lines), "no header comes twice"
    return int(first.split()[1]), headers, body


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(allow_host=["Page.Example", "10.0.0.0/8", "2001:db8::1"]) as made:
        yield made


def test_server_answers_get_with_the_body_of_the_route(server: Server) -> None:
    status, headers, body = ask(server, "GET /?a=1 HTTP/1.1\nHost: localhost")
    assert (status, body) == (200, b"hello a=1")
    assert headers["Content-Length"] == "9"
    assert headers["X-Own"] == "1"


def test_server_answers_head_without_a_body(server: Server) -> None:
    status, headers, body = ask(server, "HEAD /?a=1 HTTP/1.1\nHost: localhost")
    assert (status, headers["Content-Length"], body) == (200, "9", b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_server_refuses_methods_that_do_not_read(server: Server, method: str) -> None:
    status, headers, body = ask(
        server, f"{method} / HTTP/1.1\nHost: localhost\nContent-Length: 3\n\nabc"
    )
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert b"hello" not in body


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST:8765", "127.0.0.1", "127.8.8.8:1", "[::1]", "[::1]:80"),
        *("page.example", "PAGE.example:443", "10.1.2.3:9", "[2001:db8::1]"),
    ],
)
def test_server_answers_loopback_and_allowed_hosts(server: Server, host: str) -> None:
    assert ask(server, f"GET / HTTP/1.1\nHost: {host}")[0] == 200


@pytest.mark.parametrize(
    "lines",
    [
        *("Host: evil.example", "Host: 192.168.1.1", "Host:", "Host: ", "X-Other: localhost"),
        *("Host: localhost\nHost: evil.example", "Host: localhost\nHost: localhost"),
        *("Host: localhost.evil.example", "Host: evil@localhost", "Host: localhost:80:80"),
        *("Host: [::2]", "Host: [localhost]", "Host: 127.0.0.1.evil.example", "Host: localhost/"),
    ],
)
def test_server_refuses_other_hosts(server: Server, lines: str) -> None:
    status, _, body = ask(server, f"GET / HTTP/1.1\n{lines}")
    assert status == 421
    assert b"hello" not in body


def test_server_refuses_a_bad_host_on_every_path(server: Server) -> None:
    assert ask(server, "GET /none HTTP/1.1\nHost: evil.example")[0] == 421


@pytest.mark.parametrize("request_line", ["GET /none HTTP/1.1", "GET http://x/ HTTP/1.1"])
def test_server_finds_nothing_at_other_paths(server: Server, request_line: str) -> None:
    assert ask(server, f"{request_line}\nHost: localhost")[0] == 404


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        *(("nonsense", 400), ("GET / HTTP/x.y", 400), ("GET / HTTP/3.0", 505)),
        *(("GET /" + 70_000 * "a", 414), ("GET / HTTP/1.1\n" + 200 * "a: b\n", 431)),
    ],
    ids=["nonsense", "version", "new version", "long path", "many headers"],
)
def test_server_refuses_requests_it_cannot_read(
    server: Server, request_line: str, status: int
) -> None:
    got, headers, body = ask(server, request_line)
    assert got == status
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert b"aaa" not in body


@pytest.mark.parametrize(
    "request_line", ["GET /", "GET /none", "POST /"], ids=["found", "not found", "refused"]
)
def test_every_answer_has_the_headers_that_protect(server: Server, request_line: str) -> None:
    _, headers, _ = ask(server, f"{request_line} HTTP/1.1\nHost: localhost")
    assert headers["Content-Security-Policy"].startswith("default-src 'none';")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Connection"] == "close"
    assert headers["Server"] == "streameval"
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_routes_may_be_added_while_the_server_runs() -> None:
    with serve() as server:
        server.routes["/more"] = lambda _: Response("text/plain", b"more")
        assert ask(server, "GET /more HTTP/1.1\nHost: localhost")[2] == b"more"


def test_route_reads_the_headers_of_the_request() -> None:
    def route(request: Request) -> Response:
        return Response("text/plain", request.headers.get("accept", "").encode(), status=203)

    with serve() as server:
        server.routes["/accept"] = route
        status, _, body = ask(server, "GET /accept HTTP/1.1\nHost: localhost\nAccept: a/b")
    assert (status, body) == (203, b"a/b")


def test_failing_route_is_logged_and_not_shown(log: io.StringIO) -> None:
    def route(_: Request) -> Response:
        raise ValueError("secret")

    with serve() as server:
        server.routes["/bad"] = route
        status, _, body = ask(server, "GET /bad HTTP/1.1\nHost: localhost")
    assert status == 500
    assert b"secret" not in body
    assert "/bad could not be answered" in log.getvalue()
    assert "secret" in log.getvalue()


class Stream:
    """Parts that are sent when a test says so."""

    def __init__(self) -> None:
        self.may_send = threading.Semaphore(0)
        self.ended = threading.Event()
        self.part = b"part"
        self.n_sent = 0

    def route(self, _: Request) -> Response:
        return Response("text/event-stream", self.parts())

    def parts(self) -> Generator[bytes]:
        try:
            while True:
                self.may_send.acquire()
                self.n_sent += 1
                yield self.part
        finally:
            self.ended.set()


def test_stream_is_sent_part_by_part() -> None:
    stream = Stream()
    with serve() as server, connected(server) as client:
        server.routes["/stream"] = stream.route
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(2):
            stream.may_send.release()
            while not client.recv(65_536).endswith(b"part"):
                pass
        client.close()
        stream.may_send.release(1000)
        assert stream.ended.wait(20)


def test_stream_is_closed_unread_when_only_its_head_is_asked_for() -> None:
    stream = Stream()
    with serve() as server:
        server.routes["/stream"] = stream.route
        status, headers, body = ask(server, "HEAD /stream HTTP/1.1\nHost: localhost")
    assert (status, headers["Content-Type"], body) == (200, "text/event-stream", b"")
    assert stream.n_sent == 0


def test_client_that_does_not_read_is_dropped() -> None:
    stream = Stream()
    stream.part = bytes(2**22)
    stream.may_send.release(1000)
    with serve(patience=0.05) as server, connected(server) as client:
        server.routes["/stream"] = stream.route
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert stream.ended.wait(20)
    assert stream.n_sent < 1000


def test_client_that_does_not_ask_is_dropped() -> None:
    with serve(patience=0.05) as server, connected(server) as client:
        assert rest_of(client) == b""


@pytest.mark.slow
def test_client_that_asks_byte_by_byte_is_dropped() -> None:
    with serve(patience=0.3) as server, connected(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        stopped = threading.Event()

        def dribble() -> None:
            try:
                while not stopped.wait(0.02):
                    client.sendall(b"a")
            except OSError:
                pass

        thread = threading.Thread(target=dribble)
        thread.start()
        try:
            left = rest_of(client)
        except ConnectionError:
            left = b""
        stopped.set()
        thread.join()
    assert left == b""


def test_client_that_listens_to_a_stream_stays() -> None:
    stream = Stream()
    with serve(patience=0.05) as server, connected(server) as client:
        server.routes["/stream"] = stream.route
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(65_536)
        for _ in range(3):
            with connected(server) as other:  # is dropped, after its time and that of the stream
                assert rest_of(other) == b""
        stream.may_send.release()
        assert client.recv(65_536).endswith(b"part")


def test_too_many_clients_are_refused() -> None:
    stream = Stream()
    with serve(max_clients=1) as server, connected(server) as client:
        server.routes["/stream"] = stream.route
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(65_536)
        assert ask(server, "GET / HTTP/1.1\nHost: localhost")[0] == 503


def test_flood_of_clients_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streameval.monitoring.server._SPARE", 0)
    with serve(max_clients=1) as server, connected(server) as first:
        first.sendall(b"GET / HT")
        with connected(server) as other:
            assert rest_of(first) == b""
            other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"hello" in rest_of(other)


REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.slow
@each("sent", [b"", b"GET /", REQUEST % b"/large"])
@each("path", ["/metrics", "/healthz"])
def test_slow_clients_do_not_keep_out_scrapes(sent: bytes, path: str) -> None:
    large = Response("text/plain", bytes(2**25))
    with serve() as server, ExitStack() as slow:
        server.routes |= {"/large": lambda _: large, path: server.routes["/"]}
        for _ in range(150):
            slow.enter_context(connected(server)).sendall(sent)
        began = time.monotonic()
        for _ in range(20):
            assert ask(server, f"GET {path} HTTP/1.1\nHost: localhost")[0] == 200
        assert time.monotonic() - began < 5


def test_scrapes_have_a_limit_of_their_own() -> None:
    stream = Stream()
    with serve() as server, ExitStack() as slow:
        server.routes["/metrics"] = stream.route
        for _ in range(16):
            client = slow.enter_context(connected(server))
            client.sendall(REQUEST % b"/metrics")
            client.recv(65_536)
        assert ask(server, "GET /metrics HTTP/1.1\nHost: localhost")[0] == 503
        server.routes["/healthz"] = hello
        assert ask(server, "GET /healthz HTTP/1.1\nHost: localhost")[0] == 200, "of its own"
        assert ask(server, "GET / HTTP/1.1\nHost: localhost")[0] == 200
        stream.may_send.release(1000)


def test_client_that_resets_leaves_no_trace(
    capfd: pytest.CaptureFixture[str], log: io.StringIO
) -> None:
    stream = Stream()
    with serve() as server, connected(server) as client:
        server.routes["/stream"] = stream.route
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(65_536)
        linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.close()
        stream.may_send.release(1000)
        assert stream.ended.wait(20)
    assert capfd.readouterr() == ("", "")
    assert not log.getvalue()


def test_error_of_the_server_itself_is_logged(
    capfd: pytest.CaptureFixture[str], log: io.StringIO
) -> None:
    def parts() -> Generator[bytes]:
        yield b"part"
        raise ValueError("broken")

    with serve() as server:
        server.routes["/"] = lambda _: Response("text/plain", parts())
        assert ask(server, "GET / HTTP/1.1\nHost: localhost")[2] == b"part"
        server.close()
    assert "broken" in log.getvalue()
    assert capfd.readouterr().err == ""


def test_close_ends_streams_and_frees_the_port() -> None:
    stream = Stream()
    server = serve(on_close=stream.may_send.release)
    with connected(server) as client:
        server.routes["/stream"] = stream.route
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(65_536)
        server.close()
        rest_of(client)  # it ends
    again = serve(address=server.url.removeprefix("http://").removesuffix("/"))
    again.close()
    assert again.url == server.url


@pytest.mark.slow
@each(
    ("address", "shown"),
    [
        ("127.0.0.1:0", "http://127.0.0.1:"),
        (":0", "http://127.0.0.1:"),
        ("localhost:0", "http://127.0.0.1:"),
        ("0.0.0.0:0", "http://127.0.0.1:"),
    ],
)
def test_url_leads_to_the_server(address: str, shown: str) -> None:
    with serve(address=address) as server:
        assert server.url.startswith(shown)


def test_server_names_a_host_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(se.InvalidInputError, match="'nowhere:1': name or service not known"):
        serve(address="nowhere:1")


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_server_listens_on_ipv6() -> None:
    with serve(address="[::]:0") as server:
        assert server.url.startswith("http://[::1]:")
    with serve(address="[::1]:0") as server:
        assert server.url.startswith("http://[::1]:")
        assert ask(server, "GET / HTTP/1.1\nHost: [::1]")[0] == 200


@pytest.mark.slow
@each("address", ["127.0.0.1:0", "0.0.0.0:0", ":0"])
def test_only_a_specific_address_is_a_host_too(address: str) -> None:
    with serve(address=address) as server:
        assert not server._hosts.allow("0.0.0.0")
        assert not server._hosts.allow("192.168.7.7")


def test_host_of_the_address_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 0))])
    with serve(address="page.example:0") as server:
        assert server._hosts.allow("page.example:8765")


@each(
    ("address", "reason"),
    [
        ("log.jsonl/x", "`address` must be HOST:PORT, such as 127.0.0.1:8765, got 'log.jsonl/x'."),
        ("", "`address` must be HOST:PORT"),
        (8765, "`address` must be HOST:PORT"),
        (":70000", "`address` must be HOST:PORT"),
        ("8765", "`address` must be HOST:PORT, got '8765'. Write :8765 for a port."),
        ("192.0.2.1:0", "`address` cannot be '192.0.2.1:0': "),
    ],
)
def test_server_names_what_is_wrong_with_an_address(address: object, reason: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        serve(address=address)
    assert str(caught.value).startswith(reason)


def test_server_says_that_a_port_is_taken() -> None:
    with serve() as server:
        address = server.url.removeprefix("http://").removesuffix("/")
        with pytest.raises(se.UnavailableError, match=r"already in use\. Choose another port\."):
            serve(address=address)


@each("host", ["a:80", "a b", "", "http://a"])
def test_server_names_a_host_that_cannot_be_allowed(host: str) -> None:
    with pytest.raises(se.InvalidInputError, match="`allow_host` must be a name, an IP address"):
        serve(allow_host=[host])


def test_server_refuses_a_text_for_a_list_of_hosts() -> None:
    with pytest.raises(se.InvalidInputError, match="`allow_host` must be a list of hosts"):
        serve(allow_host="page.example")


def test_import_loads_no_server() -> None:
    code = "import sys, streameval.cli.app; print({'http', 'socketserver'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
