"""Streams of Redis, by its client library, from a real server."""

import json
import random
import signal
import subprocess
import time
from contextlib import closing

import pytest
from monitoring.histories import History
from monitoring.killing import check, drawn_share, killed_often
from monitoring.prometheus_server import free_port
from monitoring.silence import check_interruption, silent_listener
from waiting import until

import streameval as se
from streameval.errors import BadDataError

pytestmark = pytest.mark.server(name="redis")


class Server:
    """A server that keeps every command it has answered on the disk."""

    def __init__(self, folder):
        import redis

        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.client = redis.Redis(port=self.port)
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [
                *("redis-server", "--port", str(self.port), "--bind", "127.0.0.1"),
                *("--dir", str(self.folder), "--save", "", "--loglevel", "warning"),
                *("--appendonly", "yes", "--appendfsync", "always"),
            ],
            stdout=subprocess.DEVNULL,
        )
        until(self._answers)

    def _answers(self):
        import redis

        try:
            return self.client.ping()
        except redis.ConnectionError:
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def add(self, stream, rows, **options):
        for row in rows:
            self.client.xadd(stream, row, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("redis"))
    yield one
    one.client.close()
    one.kill()


@pytest.fixture
def stream(server, request):
    return request.node.name


@pytest.fixture
def source(server, stream):
    with closing(se.RedisStream(server.url, stream)) as one:
        one.seek(None)
        yield one


def rows(start, stop):
    return [{"i": number} for number in range(start, stop)]


def drained(source, limit=2**20):
    """Read everything that is there; return the rows, and the position."""
    found, position = [], None
    while True:
        chunk = source.read(limit)
        if chunk is not None:
            found.extend(chunk.block.rows())
            position = chunk.position
        elif source.is_caught_up:
            return found, position


def test_stream_is_read_in_order(server, stream, source):
    assert source.read(100) is None
    assert source.is_caught_up
    assert source.warnings() == [f"redis:0/{stream}: does not exist."]
    server.add(stream, rows(0, 5))
    found, position = drained(source)
    assert found == rows(0, 5)
    assert position["added"] == 5
    server.add(stream, rows(5, 6))
    assert drained(source)[0] == rows(5, 6)
    assert source.warnings() == []


@pytest.mark.parametrize("limit", [1, 500, 2**20])
def test_stream_is_read_on_from_any_position(limit, server, stream):
    server.add(stream, rows(0, 400))
    rng = random.Random(limit)
    found, position = [], None
    while len(found) < 400:
        with closing(se.RedisStream(server.url, stream)) as one:
            one.seek(json.loads(json.dumps(position)))
            for _ in range(rng.randrange(1, 20)):
                chunk = one.read(limit)
                if chunk is not None:
                    found.extend(chunk.block.rows())
                    position = chunk.position
            assert one.warnings() == []
    assert found == rows(0, 400)


def test_field_may_hold_a_json_object(server, stream):
    server.add(stream, [{"data": '{"i": {"j": 1}}'}, {"other": "x"}, {"data": '{"i": 2}'}])
    with closing(se.RedisStream(server.url, stream, field="data")) as one:
        one.seek(None)
        assert drained(one)[0] == [{"i": {"j": 1}}, {"i": 2}]


def test_entries_that_were_trimmed_unread_are_counted_and_said(server, stream, source):
    server.add(stream, rows(0, 5))
    _, position = drained(source)
    server.add(stream, rows(5, 20))
    server.client.xtrim(stream, maxlen=4, approximate=False)
    with closing(se.RedisStream(server.url, stream)) as one:
        one.seek(position)
        found, after = drained(one)
        assert found == rows(16, 20)
        assert after["added"] == 20
        assert one.counts() == {"lost": 11}
        (said,) = one.warnings()
    assert said.startswith(f"redis:0/{stream}: 11 entries after {position['id']} were trimmed")


def test_entries_that_were_trimmed_once_read_are_not_missed(server, stream, source):
    for start in range(0, 60, 3):
        server.add(stream, rows(start, start + 3), maxlen=2, approximate=False)
        if start == 0:
            assert drained(source)[0] == rows(1, 3)  # nothing is known of what was before
            continue
        assert drained(source)[0] == rows(start + 1, start + 3)
        assert source.counts() == {"lost": 1}
    server.client.xtrim(stream, maxlen=0, approximate=False)
    assert drained(source)[0] == []
    assert source.counts() == {}


def test_stream_that_was_made_again_goes_on_after_the_last_id(server, stream, source):
    server.add(stream, rows(0, 5))
    drained(source)
    server.client.delete(stream)
    server.add(stream, rows(5, 8))
    assert drained(source)[0] == rows(5, 8)
    (said,) = source.warnings()
    assert "is not the stream that was read" in said
    server.add(stream, rows(8, 9))
    assert drained(source)[0] == rows(8, 9)
    assert source.warnings() == []


def test_server_that_goes_away_is_asked_until_it_answers(server, stream, source):
    server.add(stream, rows(0, 3))
    drained(source)
    server.kill()
    try:
        assert source.read(100) is None
        assert not source.is_caught_up
        (said,) = source.warnings()
        assert said.startswith(f"redis:0/{stream}: does not answer: ")
        assert source.counts() == {"disconnected": 1}
    finally:
        server.start()
    server.add(stream, rows(3, 6))
    assert until(lambda: drained(source)[0]) == rows(3, 6)
    assert source.warnings() == [f"redis:0/{stream}: answers again."]


def test_key_that_is_no_stream_is_refused(server, stream, source):
    server.client.set(stream, "text")
    with pytest.raises(BadDataError, match=rf"^redis:0/{stream}: .*wrong kind of value"):
        source.read(100)


def test_wrong_password_is_refused(server, stream):
    url = server.url.replace("//", "//user:wrong@")
    with (
        closing(se.RedisStream(url, stream)) as one,
        pytest.raises(BadDataError, match=rf"^redis:0/{stream}: .*[Ii]nvalid.*password"),
    ):
        one.read(100)


def test_unreachable_server_is_refused_at_the_start():
    with (
        closing(se.RedisStream("redis://127.0.0.1:1/0", "rows", timeout=0.5)) as one,
        pytest.raises(BadDataError, match=r"^redis:0/rows: cannot be reached: .*refused"),
    ):
        one.read(100)


def test_interruption_ends_the_wait_for_a_server_that_accepts_and_is_silent():
    with silent_listener() as port:
        one = se.RedisStream(f"redis://127.0.0.1:{port}/0", "rows", timeout=3600)
        check_interruption(one)


class Stream:
    """A stream that grows, of entries with fields or with a JSON object in one of them."""

    def __init__(self, server, name, rows, field):
        self.server, self.name, self.rows, self.field = server, name, rows, field

    def grow(self, share, _):
        written, self.rows = drawn_share(self.rows, share)
        self.server.add(self.name, map(self.fields, written))

    def fields(self, row):
        if self.field:
            return {self.field: json.dumps(row)}
        return {name: value for name, value in row.items() if value is not None}


def check_kills(server, folder, seed, n_kills):
    rng, history = random.Random(seed), History.draw(seed, size=1500, span=2400)
    names = [f"predictions-{seed}-{n_kills}", f"labels-{seed}-{n_kills}"]
    logs = [
        Stream(server, names[0], history.predictions, "data"),
        Stream(server, names[1], history.labels, None),
    ]
    sources = (f"{server.url}/{names[0]}?field=data", f"{server.url}/{names[1]}")

    def disturb():
        server.kill()
        time.sleep(rng.uniform(0, 0.3))
        server.start()

    killed_often(folder, sources, logs, rng, n_kills, disturb)
    check(folder, sources, history.joined)


def test_killed_processes_count_every_entry_once(server, tmp_path):
    check_kills(server, tmp_path, seed=1, n_kills=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_processes_killed_twenty_times_count_every_entry_once(seed, server, tmp_path):
    check_kills(server, tmp_path, seed, n_kills=20)
