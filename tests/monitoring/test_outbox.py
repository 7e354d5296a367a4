"""Delivery of events: to hostile programs, over a web that fails, and never in the way."""

from __future__ import annotations

import base64
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from offenders import each
from waiting import HANGS, until

from streameval.errors import InvalidInputError
from streameval.monitoring import delivery as module
from streameval.monitoring.delivery import Outbox
from streameval.monitoring.receivers import MAX_OUTPUT, Command, Refused, Webhook, receiver_of
from streameval.monitoring.routes import AlertRoute

EVENT = {"id": "e1", "alert": "a1", "rule": "recall < 0.8", "value": 0.75}


def event(number: int, alert: str = "") -> tuple[str, dict[str, Any]]:
    return f"e{number}", {"id": f"e{number}", "alert": alert or f"a{number}", "number": number}


def python(code: str) -> Command:
    return Command.of(shlex.join([sys.executable, "-c", code]))


def test_command_gets_the_event_on_standard_input_and_no_shell() -> None:
    command = python("import sys; print(sys.stdin.read(), sys.argv[1:])")
    command = Command((*command.argv, "$HOME; echo", "*"))
    said = command.send(EVENT, HANGS)
    assert said == f"{json.dumps(EVENT)}\n ['$HOME; echo', '*']"


def test_command_may_leave_standard_input_unread() -> None:
    large = EVENT | {"slice": {"country": "x" * 10**6}}
    assert python("import sys; sys.stdin.close()").send(large, HANGS) == ""


@each(
    ("code", "why"),
    [
        ("raise SystemExit(3)", "ended with the exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "ended with the exit status -9"),
    ],
)
def test_command_that_fails_has_refused(code: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        python(code).send(EVENT, HANGS)


@pytest.mark.slow
@each(
    "code",
    [
        "import time; time.sleep(3600)",
        "import os, time; os.close(1); os.close(2); time.sleep(3600)",
        "while True: print('y' * 65536)",
    ],
)
def test_command_is_killed_at_the_time_out(code: str) -> None:
    with pytest.raises(Refused, match=r"has not ended within 0\.3 s"):
        python(code).send(EVENT, 0.3)


@pytest.mark.slow
def test_command_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code = f"(exec 3>{shlex.quote(str(pipe))}; sleep 3600) & wait"
    with pytest.raises(Refused):
        Command(("sh", "-c", code)).send(EVENT, 0.5)
    try:
        until(lambda: has_ended(reader))
    finally:
        os.close(reader)


def test_command_that_has_ended_is_not_waited_for_by_its_children(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = f"echo early; read line < {shlex.quote(str(pipe))} &"
    assert Command(("sh", "-c", code)).send(EVENT, 3600.0) == "early"  # else it hangs
    pipe.write_text("")  # the child, which holds the output open, ends now


def test_command_may_close_its_output_before_it_ends() -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(0.1)"
    assert python(code).send(EVENT, HANGS) == ""


def test_output_of_a_command_is_bounded_and_made_printable() -> None:
    code = r"""
import os
os.write(1, b'\x1b[2J\xff\x00\r\n')
for _ in range(8):
    os.write(1, b'z' * 2**20)
"""
    said = python(code).send(EVENT, 20.0)
    assert said.startswith("\\x1b[2J\ufffd\\x00\\r\nzzz")
    left = 8 + 8 * 2**20 - MAX_OUTPUT
    assert said.endswith(f"zzz\n... and {left:,} bytes")
    assert len(said) < MAX_OUTPUT + 100


def test_output_of_a_command_that_failed_is_shown() -> None:
    with pytest.raises(Refused) as refused:
        python("print('why'); raise SystemExit(1)").send(EVENT, HANGS)
    assert refused.value.output == "why"


def test_command_that_is_gone_has_refused(tmp_path: Path) -> None:
    program = tmp_path / "gone"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    command = Command.of(str(program))
    program.unlink()
    with pytest.raises(Refused, match="cannot be started: No such file"):
        command.send(EVENT, HANGS)


@each(
    ("text", "why"),
    [
        ("no-such-program --token s3cret", "got 'no-such-program'"),
        ("", "got nothing"),
        ("sh 'open", "No closing quotation"),
        ("https://", "must be a command, or a URL"),
        ("http://host:notaport/s3cret", "must be a command, or a URL"),
        ("https://host/with space", "must be a command, or a URL"),
        (7, "must be a URL, a command or a function, got int"),
    ],
)
def test_receiver_that_cannot_work_is_refused_at_once(text: Any, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why) as refused:
        receiver_of(text)
    assert "s3cret" not in str(refused.value)


def test_receiver_is_chosen_by_what_is_given() -> None:
    assert isinstance(receiver_of("HTTPS://host/path"), Webhook)
    assert receiver_of("sh -c 'exit 0'") == Command(("sh", "-c", "exit 0"))
    assert receiver_of(print).name == "print"
    assert receiver_of(_Callable()).name == "_Callable"


class _Callable:
    def __call__(self, event: object) -> None: ...


class Handler(BaseHTTPRequestHandler):
    """Answers as its server says, and remembers what was posted."""

    server: Any

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, dict(self.headers), json.loads(body)))
        self.server.answer(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
        pass


Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, location: str = "") -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        if location:
            handler.send_header("Location", location)
        handler.end_headers()

    return answer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    posts: list[Any]
    answer: Answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as made:
        made.posts, made.answer = [], status(204)
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_webhook_posts_the_event(server: Server) -> None:
    hook = Webhook.of(f"{server.url}/hook?key=1")
    assert hook.send(EVENT, HANGS) == ""
    [(path, headers, body)] = server.posts
    assert (path, body) == ("/hook?key=1", EVENT)
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == "e1"
    assert "Authorization" not in headers


def test_webhook_sends_a_user_as_basic_authentication(server: Server) -> None:
    url = server.url.replace("//", "//me:p%40ss@")
    Webhook.of(url).send(EVENT, HANGS)
    [(path, headers, _)] = server.posts
    assert path == "/"
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"me:p@ss").decode()


@pytest.mark.parametrize("code", [301, 302, 303, 404, 500])
def test_webhook_with_another_status_has_refused(server: Server, code: int) -> None:
    server.answer = status(code, "/elsewhere")
    with pytest.raises(Refused, match=f"answered with the status {code}"):
        Webhook.of(server.url).send(EVENT, HANGS)
    assert len(server.posts) == 1


def test_webhook_follows_a_redirect_to_the_same_host(server: Server) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        status(204 if handler.path == "/new" else 308, "/new")(handler)

    server.answer = answer
    Webhook.of(f"{server.url}/old").send(EVENT, HANGS)
    assert [(path, body) for path, _, body in server.posts] == [("/old", EVENT), ("/new", EVENT)]


@pytest.mark.parametrize(
    "to", ["http://localhost:{port}/", "https://127.0.0.1:{port}/", "ftp://x/"]
)
def test_webhook_does_not_follow_a_redirect_to_another_host(server: Server, to: str) -> None:
    server.answer = status(307, to.format(port=server.server_address[1]))
    with pytest.raises(Refused, match="redirects to another host, which is not followed"):
        Webhook.of(server.url).send(EVENT, HANGS)
    assert len(server.posts) == 1


def test_webhook_ends_a_circle_of_redirects(server: Server) -> None:
    server.answer = status(307, "/again")
    with pytest.raises(Refused, match="redirects more than 3 times"):
        Webhook.of(server.url).send(EVENT, HANGS)
    assert len(server.posts) == 4


@pytest.mark.parametrize("location", ["http://[", "/with space"])
def test_webhook_refuses_a_redirect_to_nowhere(server: Server, location: str) -> None:
    server.answer = status(308, location)
    with pytest.raises(Refused, match="cannot be reached"):
        Webhook.of(server.url).send(EVENT, HANGS)


RELEASED = threading.Event()


def hang(_: BaseHTTPRequestHandler) -> None:
    RELEASED.wait(HANGS)


def drip(handler: BaseHTTPRequestHandler) -> None:
    for _ in range(500):
        handler.wfile.write(b"H")
        handler.wfile.flush()
        if RELEASED.wait(0.02):
            break


def redirect_late(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(0.19)
    status(307, "/again")(handler)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [hang, drip, redirect_late])
def test_webhook_that_does_not_answer_in_time_has_refused(server: Server, answer: Answer) -> None:
    server.answer = answer
    RELEASED.clear()
    try:
        with pytest.raises(Refused, match=r"has not answered within 0\.3 s"):
            Webhook.of(server.url).send(EVENT, 0.3)
    finally:
        RELEASED.set()


def test_webhook_has_no_time_left_after_a_redirect(server: Server) -> None:
    with pytest.raises(Refused, match="has not answered within 0 s"):
        Webhook.of(server.url).send(EVENT, 0.0)
    assert server.posts == []


@each("scheme", ["http", "https"])
def test_messages_of_a_webhook_hold_no_credentials(scheme: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        hook = Webhook.of(f"{scheme}://user:s3cret@127.0.0.1:{port}/s3cret?token=s3cret")
        with pytest.raises(Refused, match="cannot be reached: Connection refused") as refused:
            hook.send(EVENT, HANGS)
    assert hook.name == f"{scheme}://127.0.0.1:{port}"
    assert "s3cret" not in f"{refused.value} {hook.name} {hook!r}"
    assert Webhook.of("https://hooks.example/s3cret").name == "https://hooks.example"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)


def deliver(box: Outbox, *events: tuple[str, dict[str, Any]]) -> list[str]:
    for name, one in events:
        box.put(name, one)
    return box.deliver()


def has_ended(reader: int) -> bool:
    """Tell whether nobody is left to write to a pipe."""
    try:
        return os.read(reader, 1) == b""
    except BlockingIOError:
        return False


def test_events_come_once_and_in_order_while_the_checkpoint_still_holds_them() -> None:
    goes, got = threading.Event(), []

    def receive(event: Any) -> None:
        goes.wait(HANGS)
        got.append(event)

    box = Outbox(AlertRoute(to=receive))
    pending = [event(number) for number in range(5)]
    assert deliver(box, *pending[:3]) == []
    for name, one in pending * 2:  # as a reload finds them in the checkpoint
        box.put(name, one)
    goes.set()
    assert box.flush(HANGS) == [name for name, _ in pending]
    assert box.deliver() == []
    assert [one["number"] for one in got] == [0, 1, 2, 3, 4]
    assert (box.n_undelivered, box.n_refused) == (0, 0)
    box.close(HANGS)


def test_event_that_has_arrived_is_held_again_once_the_checkpoint_has_forgotten_it() -> None:
    got: list[Any] = []
    box = Outbox(AlertRoute(to=got.append))
    for _ in range(2):
        deliver(box, event(1))
        until(lambda: not box.n_undelivered)
        box.put(*event(1))  # it is still in the checkpoint
        assert box.flush(HANGS) == ["e1"]
    assert len(got) == 2
    box.close(HANGS)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is logged."""
    texts: list[str] = []
    for level in ("info", "error"):
        monkeypatch.setattr(module.LOG, level, lambda text, *some: texts.append(text % some))
    return texts


@pytest.mark.usefixtures("quick")
def test_refused_event_is_tried_until_it_is_taken(said: list[str]) -> None:
    tries: list[Any] = []

    def receive(event: Any) -> None:
        tries.append(event)
        if len(tries) < 4:
            raise ValueError("not \x1b[2J yet")

    box = Outbox(AlertRoute(to=receive))
    deliver(box, event(1))
    until(lambda: not box.n_undelivered)
    assert (len(tries), box.n_refused) == (4, 3)
    until(lambda: len(said) == 2)
    again = "event e1 is tried again until it arrives"
    assert said == [
        f"receive raised ValueError: not \\x1b[2J yet; {again}",
        "receive: takes events again",
    ]
    assert box.deliver() == ["e1"]
    box.close(HANGS)


def test_pauses_double_up_to_five_minutes_or_are_as_long_as_the_receiver_asks() -> None:
    box = Outbox(AlertRoute(to=print))
    box.put(*event(1))
    asked = {20: 30.0, 22: 0.0, 24: 3600.0, 26: -5.0}
    pauses = [*(2.0**number for number in range(9)), *[300.0] * 11]
    pauses += [30.0, 60.0, 1.0, 2.0, 300.0, 300.0, 1.0, 2.0]
    for number, pause in enumerate(pauses):
        before = time.monotonic()
        box._note("e1", box._held["e1"], Refused("refused", after=asked.get(number)))
        assert before + pause <= box._resumes <= time.monotonic() + pause


class Clock:
    """The time of a receiver, which passes while an outbox waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)

    def tried(self, box: Outbox, takes: Callable[[Any], bool], seconds: float) -> list[Any]:
        """Deliver for some time; return the events that are tried and when."""
        tries, end = [], self.now + seconds
        while box.n_undelivered:
            if not (ready := box._ready()):
                if box._resumes > end:
                    break
                self.now = box._resumes
                continue
            _, name = module.heapq.heappop(min(ready))
            held = box._held[name]
            tries.append((self.now, held.event["number"]))
            box._note(name, held, "" if takes(held.event) else Refused("no"))
        self.now = end
        return tries


def test_events_follow_in_order_as_soon_as_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, box = Clock(monkeypatch), Outbox(AlertRoute(to=print))
    for number in range(1, 7):
        box.put(*event(number))
    assert clock.tried(box, lambda _: False, 100.0) == [
        (0, 1), (0, 2), (2, 1), (6, 1), (14, 1), (30, 1), (62, 1)
    ]  # fmt: skip
    box.put(*event(7))
    assert clock.tried(box, lambda _: True, 100.0) == [(126, number) for number in range(1, 8)]


def test_an_event_that_alone_is_refused_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, box = Clock(monkeypatch), Outbox(AlertRoute(to=print))
    box.put(*event(0))
    tries = [clock.tried(box, lambda one: one["number"] > 0, 1e4)]
    for number in range(1, 4):
        box.put(*event(number))
        tries.append(clock.tried(box, lambda one: one["number"] > 0, 1e4))
        assert tries[-1][0] == (1e4 * number, number)
    assert [len(some) < 60 for some in tries] == [True] * 4


def test_two_events_that_are_refused_let_the_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, box = Clock(monkeypatch), Outbox(AlertRoute(to=print))
    for number in range(5):
        box.put(*event(number))
    tries = clock.tried(box, lambda one: one["number"] > 1, 3600.0)
    assert {number for _, number in tries} == {0, 1, 2, 3, 4}
    assert box.n_undelivered == 2


@each(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 7.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 7.0),
        ("Sun Nov  6 08:49:37 1994", 7.0),
        ("soon", None),
        ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", None),
        ("-1", None),
        ("", None),
    ],
)
def test_retry_after_is_read(
    text: str, seconds: float | None, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("Retry-After", text)
        handler.end_headers()

    server.answer = answer
    monkeypatch.setattr("streameval.monitoring.receivers.time.time", lambda: 784111770.0)
    with pytest.raises(Refused) as refused:
        Webhook.of(server.url).send(EVENT, HANGS)
    assert refused.value.after == seconds


def test_a_receiver_that_asks_for_a_pause_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, box = Clock(monkeypatch), Outbox(AlertRoute(to=print))
    box.put(*event(1))
    [[(_, name)]] = box._ready()
    box._new.clear()
    box._note(name, box._held[name], Refused("busy", after=3.0))
    box.put(*event(2))
    assert clock.tried(box, lambda _: True, 10.0) == [(3.0, 1), (3.0, 2)]


@pytest.mark.usefixtures("quick")
def test_end_of_an_alert_waits_for_its_beginning_and_others_do_not() -> None:
    got: list[int] = []
    is_open = threading.Event()

    def receive(event: Any) -> None:
        if event["alert"] == "stuck" and not is_open.is_set():
            raise OSError
        got.append(event["number"])

    box = Outbox(AlertRoute(to=receive))
    deliver(box, event(1, "stuck"), event(2, "stuck"), event(3))
    until(lambda: box.n_refused > 3)
    assert got == [3]
    is_open.set()
    until(lambda: len(got) == 3)
    assert got == [3, 1, 2]
    box.close(HANGS)


def test_slow_receiver_holds_nobody_up() -> None:
    goes = threading.Event()
    box = Outbox(AlertRoute(to=lambda _: goes.wait(HANGS)))
    for _ in range(100):
        assert deliver(box, *map(event, range(20))) == []
    assert box.flush(0.05) == []
    goes.set()
    assert len(box.flush(HANGS)) == 20
    box.close(HANGS)


class Counted(dict[str, Any]):
    """An event that counts how often its alert is looked up."""

    n_looks = 0

    def get(self, key: str, default: Any = None) -> Any:
        Counted.n_looks += 1
        return super().get(key, default)


@pytest.mark.usefixtures("quick")
def test_events_held_after_an_outage_are_not_looked_through_at_each_delivery() -> None:
    """Each is looked at a few times, however many wait: one by one, and behind one another."""
    n_events, works, got = 400, threading.Event(), []

    def receive(event: Any) -> None:
        if not works.is_set():
            raise OSError
        got.append(event["number"])

    Counted.n_looks = 0
    pending = [event(number, f"a{number % 200}") for number in range(n_events)]
    box = Outbox(AlertRoute(to=receive))
    deliver(box, *((name, Counted(one)) for name, one in pending))
    until(lambda: box.n_refused > 3)
    works.set()
    until(lambda: not box.n_undelivered)
    box.close(HANGS)
    assert sorted(got) == list(range(n_events))
    assert all(got.index(number) < got.index(number + 200) for number in range(200))
    assert Counted.n_looks <= 4 * n_events


def test_receiver_in_a_pause_gets_a_last_try() -> None:
    works, got = threading.Event(), []

    def receive(event: Any) -> None:
        if not works.is_set():
            raise OSError
        got.append(event["number"])

    box = Outbox(AlertRoute(to=receive))
    deliver(box, *map(event, range(3)))
    until(lambda: box.n_refused == 2)
    box._resumes += 3600.0
    works.set()
    assert box.flush(0.0) == []
    assert box.flush(HANGS) == ["e0", "e1", "e2"]
    box.close(HANGS)


def test_closed_outbox_begins_no_more() -> None:
    goes, got = threading.Event(), []

    def receive(event: Any) -> None:
        got.append(event)
        goes.wait(HANGS)

    box = Outbox(AlertRoute(to=receive))
    box.close()
    box = Outbox(AlertRoute(to=receive))
    deliver(box, event(1), event(2))
    until(lambda: got)
    box.close(0.01)
    goes.set()
    box.close(HANGS)
    assert len(got) == 1
    assert deliver(box, event(2)) == ["e1"]


def test_output_of_a_command_is_logged(capfd: pytest.CaptureFixture[str], said: list[str]) -> None:
    box = Outbox(AlertRoute(to=shlex.join([sys.executable, "-c", "print('told')"])))
    deliver(box, event(1))
    until(lambda: not box.n_undelivered)
    box.close(HANGS)
    assert capfd.readouterr() == ("", "")
    assert said == [f"{sys.executable}: told"]


def test_refusal_of_a_command_is_shown_after_its_output(said: list[str]) -> None:
    box = Outbox(AlertRoute(to="sh -c 'echo why; exit 3'"))
    deliver(box, event(1))
    until(lambda: len(said) == 2)
    box.close(HANGS)
    again = "event e1 is tried again until it arrives"
    assert said == ["sh: why", f"sh ended with the exit status 3; {again}"]


def test_log_that_fails_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(module.LOG, "info", fail)
    box = Outbox(AlertRoute(to="sh -c 'echo said'"))
    deliver(box, event(1), event(2))
    assert len(box.flush(HANGS)) == 2
    box.close(HANGS)


def test_time_out_must_be_a_number() -> None:
    with pytest.raises(InvalidInputError, match="`timeout`"):
        Outbox(AlertRoute(to=print), timeout=float("nan"))


def test_no_program_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed program is waited for: none is left as a zombie."""
    started = []

    class Started(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    with pytest.raises(Refused):
        python("import time; time.sleep(60)").send(EVENT, 0.1)
    (process,) = started
    with pytest.raises(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
