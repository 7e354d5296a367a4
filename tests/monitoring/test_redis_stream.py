import json
import math
import re
import sys
from contextlib import closing

import pytest
from monitoring.fake_redis import Redis, exceptions

import streameval as se
from streameval.errors import BadDataError, InvalidInputError
from streameval.io.columns import Argument, Numbers, Texts
from streameval.monitoring import redis_stream as module
from streameval.monitoring import sources
from streameval.monitoring.sources import Source

URL = "redis://me:secret@server:6379/2"


def rows(start, stop):
    return [{"i": number} for number in range(start, stop)]


@pytest.fixture
def now(monkeypatch):
    """The time, which passes only while somebody sleeps."""
    seconds = [100.0]

    def sleep(time):
        seconds[0] += time

    for one in (module, sources):
        monkeypatch.setattr(one.time, "monotonic", lambda: seconds[0])
    monkeypatch.setattr(module.time, "sleep", sleep)
    return seconds


@pytest.fixture
def redis(monkeypatch, now):
    server = Redis().install(monkeypatch)
    server.add(*rows(0, 5))
    return server


def source(position=None, **options):
    one = se.RedisStream(URL, "clicks", **options)
    one.seek(position)
    return one


def drained(one, limit=2**20):
    """Read until there is nothing; return the rows, and the position."""
    found, position = [], None
    while (chunk := one.read(limit)) is not None:
        found += chunk.block.rows()
        position = json.loads(json.dumps(chunk.position))
    return found, position


def test_stream_is_a_source(redis):
    assert isinstance(source(), Source)
    assert source().name == "redis:2/clicks"


def test_password_is_shown_nowhere(redis):
    one = source()
    assert "secret" not in repr(one) + one.name
    assert redis.options["url"] == URL


@pytest.mark.parametrize("limit", [1, 200, 2**20])
def test_entries_are_read_in_order(limit, redis):
    redis.add(*rows(5, 250))
    one = source()
    assert drained(one, limit) == (rows(0, 250), {"version": 1, "id": "250-0", "added": 250})
    assert one.is_caught_up
    redis.add(*rows(250, 251))
    assert drained(one, limit)[0] == rows(250, 251)
    assert one.warnings() == []


def test_chunks_are_about_as_large_as_asked_for(redis):
    redis.add(*rows(5, 1000))
    one = source()
    sizes = []
    while (chunk := one.read(10_000)) is not None:
        sizes.append(chunk.block.taken)
    assert len(sizes) > 5
    assert all(5_000 < size < 15_000 for size in sizes[:-1])


def test_stream_is_read_on_from_a_position(redis):
    redis.add(*rows(5, 250))
    position = source().read(1).position
    assert position == {"version": 1, "id": "100-0", "added": 100}
    one = source(position)
    assert drained(one)[0] == rows(100, 250)
    assert one.warnings() == []


@pytest.mark.parametrize(
    "position",
    [
        {"version": 1},
        {"version": 1, "id": "x-1", "added": 1},
        {"version": 1, "id": 7, "added": 1},
        {"version": 1, "id": "7-1", "added": -1},
    ],
)
def test_position_of_something_else_is_refused(position, redis):
    with pytest.raises(InvalidInputError, match=r"^`position` is not one of a stream of Redis"):
        source(position)


def test_fields_are_read_as_cells(redis):
    redis.entries = None
    redis.add({"country": "DE", "n": "1"}, {"country": "FR"}, {"n": "x", "country": ""})
    redis.entries.append(((9, 0), {b"country": b"\xff"}))
    redis.n_added += 1
    block = source().read(2**20).block
    assert [*block.rows()] == [
        {"country": "DE", "n": 1},
        {"country": "FR"},
        {"n": "x", "country": None},
    ]
    columns = (Argument("a", ("country",), Texts()), Argument("n", ("n",), Numbers()))
    parsed = block.parse(columns)
    assert [*parsed.row_ids] == ["6-0"]
    assert parsed.batch["n"].tolist() == [1.0]
    assert parsed.faults == [
        ("7-0", "`n` is missing"),
        ("8-0", "`n` must be a number, got 'x'"),
        ("9-0", "not UTF-8"),
    ]
    assert (block.source, block.unit, block.unended) == ("redis:2/clicks", "entry", "")


def test_field_may_hold_a_json_object(redis):
    redis.entries = None
    redis.add({"data": '{"i": {"j": 1}}'}, {"other": "x"}, {"data": "{"}, {"data": ""})
    block = source(field="data").read(2**20).block
    assert [*block.rows()] == [{"i": {"j": 1}}]
    assert [row_id for row_id, _ in block.parse(()).faults] == ["7-0", "8-0", "9-0"]


def test_stream_may_come_later(redis):
    redis.entries, redis.n_added = None, 0
    one = source()
    assert one.read(100) is None
    assert one.is_caught_up
    assert one.read(100) is None
    assert one.warnings() == ["redis:2/clicks: does not exist."]
    redis.add(*rows(0, 2))
    assert drained(one)[0] == rows(0, 2)


def test_entries_before_the_first_that_was_there_are_not_missed(redis):
    redis.trim(2)
    one = source()
    found, position = drained(one)
    assert found == rows(3, 5)
    assert position["added"] == 5
    assert one.counts() == {}


def test_entries_are_counted_on_from_those_before_the_first(redis):
    redis.add(*rows(5, 300))
    redis.trim(200)
    one = source()
    n_read = len([*one.read(1000).block.rows()])
    redis.trim(50)
    drained(one)
    assert one.counts() == {"lost": 150 - n_read}


@pytest.mark.parametrize("n_left", [0, 1, 3])
def test_entries_that_were_trimmed_unread_are_counted_and_said(n_left, redis):
    _, position = drained(source())
    redis.add(*rows(5, 20))
    redis.trim(n_left)
    one = source(position)
    assert drained(one)[0] == rows(20 - n_left, 20)
    assert one.counts() == {"lost": 15 - n_left}
    assert one.warnings() == [
        (
            f"redis:2/clicks: {15 - n_left} entries after 5-0 were trimmed before they were read; "
            "their rows are lost."
        )
    ]
    assert drained(one)[0] == []
    assert one.counts() == {}


@pytest.mark.parametrize("is_new", [False, True])
def test_entries_are_counted_on_from_those_that_were_lost(is_new, redis):
    one = source()
    drained(one, 1000)
    if is_new:
        redis.entries = [((1000 + at, 0), {b"i": b"1"}) for at in range(200)]
        redis.n_added = 200
    else:
        redis.add(*rows(5, 305))
        redis.trim(200)
    n_read = len([*one.read(1000).block.rows()])
    assert n_read < 150
    redis.trim(50)
    drained(one)
    assert one.counts() == {"lost": 150 - n_read + (0 if is_new else 100)}


def test_entries_that_were_trimmed_once_read_are_not_missed(redis):
    one = source()
    drained(one)
    for n_left in (4, 1, 0):
        redis.trim(n_left)
        assert drained(one)[0] == []
    redis.add(*rows(5, 6))
    assert drained(one)[0] == rows(5, 6)
    assert one.counts() == {}


def test_entries_that_were_deleted_among_others_are_not_missed_later(redis):
    one = source()
    drained(one)
    redis.add(*rows(5, 8))
    del redis.entries[6]
    assert drained(one)[0] == [{"i": 5}, {"i": 7}]
    redis.trim(0)
    redis.add(*rows(8, 9))
    assert drained(one)[0] == rows(8, 9)
    assert one.counts() == {}


@pytest.mark.parametrize("n_rows", [2, 9])
def test_stream_that_was_made_again_goes_on_after_the_last_id(n_rows, redis):
    one = source()
    drained(one)
    redis.entries, redis.n_added = (
        [((100 + i, 0), {b"i": b"%d" % i}) for i in range(n_rows)],
        n_rows,
    )
    assert drained(one)[0] == rows(0, n_rows)
    (said,) = one.warnings()
    assert said == (
        "redis:2/clicks: is not the stream that was read, or has lost its last entries in a "
        f"crash: it has had {n_rows} entries, and 5 were read; only those after 5-0 are read."
    )
    assert one.counts() == {}
    assert drained(one)[0] == []
    assert one.warnings() == []


def test_server_that_forgot_its_last_entries_is_said(redis):
    one = source()
    drained(one)
    del redis.entries[3:]
    redis.n_added = 3
    assert drained(one)[0] == []
    assert len(one.warnings()) == 1
    redis.n_added = 9
    redis.add(*rows(9, 10))
    redis.n_added = 4
    assert drained(one)[0] == rows(9, 10)
    assert one.warnings() == []


def test_old_server_is_refused(redis):
    redis.is_old = True
    with pytest.raises(
        BadDataError, match=r"^redis:2/clicks: the server does not say how .*Redis 7"
    ):
        source().read(100)


def test_key_that_is_no_stream_is_refused(redis):
    redis.answer = exceptions.ResponseError("WRONGTYPE of value.")
    with pytest.raises(BadDataError, match=r"^redis:2/clicks: WRONGTYPE of value\.$"):
        source().read(100)


@pytest.mark.parametrize("name", ["AuthenticationError", "AuthorizationError", "ResponseError"])
def test_refusals_are_errors_at_once(name, redis):
    redis.failure = getattr(exceptions, name)("no.")
    with pytest.raises(BadDataError, match=r"^redis:2/clicks: no\.$"):
        source().read(100)
    assert redis.n_pings == 1


@pytest.mark.parametrize("name", ["ConnectionError", "TimeoutError"])
def test_unreachable_server_is_an_error_after_a_while(name, redis, now):
    redis.failure = getattr(exceptions, name)("refused.")
    before = now[0]
    with pytest.raises(BadDataError, match=r"^redis:2/clicks: cannot be reached: refused\.$"):
        source(timeout=3).read(100)
    assert now[0] == pytest.approx(before + 3, abs=0.3)
    assert redis.n_pings > 5


@pytest.mark.parametrize("n_pings", [0, 1, 3])
def test_interruption_ends_the_wait_for_the_server(n_pings, redis, now, monkeypatch):
    one = source()
    redis.failure = exceptions.ConnectionError("refused.")

    def sleep(time):
        now[0] += time
        if redis.n_pings == n_pings:
            one.interrupt()

    monkeypatch.setattr(module.time, "sleep", sleep)
    if not n_pings:
        one.interrupt()
    assert one.read(100) is None
    assert redis.n_pings == n_pings
    assert not one.is_caught_up
    assert one.warnings() == []


def test_server_that_goes_away_is_asked_until_it_answers(redis, now):
    one = source()
    drained(one)
    redis.failure = exceptions.ConnectionError("refused")
    for _ in range(5):
        assert one.read(100) is None
        assert not one.is_caught_up
        now[0] += 100
    redis.failure = None
    redis.add(*rows(5, 6))
    assert drained(one)[0] == rows(5, 6)
    assert one.warnings() == [
        "redis:2/clicks: does not answer: refused; it is asked again until it does.",
        "redis:2/clicks: answers again.",
    ]
    assert one.counts() == {"disconnected": 1}
    assert redis.n_pings == 1


def silent(redis, now, one, n_reads, stop):
    """Let a server answer no more, and something happen once it has been asked so often."""

    def wait():
        now[0] += redis.options["socket_timeout"]
        if redis.n_reads == before + n_reads:
            stop()

    before = redis.n_reads
    redis.failure, redis.wait = exceptions.TimeoutError("Timeout reading"), wait


def test_server_that_is_silent_for_seconds_is_not_away(redis, now):
    one = source()
    drained(one)
    redis.add(*rows(5, 6))
    silent(redis, now, one, 6, lambda: setattr(redis, "failure", None))
    assert drained(one)[0] == rows(5, 6)
    assert one.warnings() == []
    assert one.counts() == {}


def test_server_that_stays_silent_is_away_and_asked_once_at_a_time(redis, now):
    one = source()
    drained(one)
    silent(redis, now, one, math.inf, None)
    before = now[0]
    assert one.read(100) is None
    assert now[0] == pytest.approx(before + 5, abs=0.5)
    now[0] += 100
    n_reads = redis.n_reads
    assert one.read(100) is None
    assert redis.n_reads == n_reads + 1
    assert one.counts() == {"disconnected": 1}


@pytest.mark.parametrize("n_reads", [1, 3])
def test_interruption_ends_the_wait_for_a_silent_server(n_reads, redis, now):
    one = source()
    drained(one)
    before = redis.n_reads
    silent(redis, now, one, n_reads, one.interrupt)
    assert one.read(100) is None
    assert redis.n_reads == before + n_reads
    assert redis.options["socket_timeout"] <= 1


def test_source_closes_its_connection(redis):
    with closing(source()) as one:
        one.read(100)
    assert redis.n_closed == 1
    with pytest.raises(InvalidInputError, match="is closed"):
        one.read(1)


def test_missing_client_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ImportError, match=re.escape('pip install "streameval[redis]"')):
        se.RedisStream(URL, "clicks")


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "", "stream": "a"},
        {"url": URL, "stream": None},
        {"url": URL, "stream": "a", "field": ""},
    ],
)
def test_arguments_are_text(arguments, redis):
    with pytest.raises(InvalidInputError, match="must be text, got"):
        se.RedisStream(**arguments)


def test_url_of_another_server_is_refused(redis):
    with pytest.raises(InvalidInputError, match=r"^`url` is not one of Redis: Redis URL must"):
        se.RedisStream("http://server", "clicks")


def test_url_names_server_database_stream_and_field(redis):
    one = se.RedisStream.from_url("rediss://:pw@server:1/3/my%20clicks?field=data")
    assert one.name == "redis:3/my clicks"
    assert redis.options["url"] == "rediss://:pw@server:1/3"
    redis.entries = None
    redis.add({"data": '{"i": 1}'})
    one.seek(None)
    assert drained(one)[0] == rows(1, 2)
    assert se.RedisStream("redis://server", "clicks").name == "redis:0/clicks"


@pytest.mark.parametrize(
    "url",
    [
        "redis://server/clicks",
        "redis://server/0",
        "redis:///0/clicks",
        "redis://server/0/clicks?other=1",
        "redis://me:secret@server/0/clicks?field=a&field=b",
    ],
)
def test_url_of_another_form_is_refused_without_its_password(url, redis):
    with pytest.raises(
        InvalidInputError, match=r"^`url` must be of the form redis://HOST"
    ) as caught:
        se.RedisStream.from_url(url)
    assert "secret" not in str(caught.value)
