import itertools
import json
import re
import sys
from contextlib import closing

import pytest
from monitoring.fake_kafka import Error, Kafka

import streameval as se
from streameval.errors import BadDataError, InvalidInputError
from streameval.monitoring import kafka as module
from streameval.monitoring import sources
from streameval.monitoring.kafka import read_properties
from streameval.monitoring.sources import Source


def values(start, stop):
    return [b'{"i": %d}' % number for number in range(start, stop)]


@pytest.fixture
def now(monkeypatch):
    """The time, which tests set; a wait for the first message ends with the second look."""
    seconds = [100.0]
    ticks = itertools.count()

    def monotonic():
        return seconds[0] + next(ticks) * 1e-3

    for one in (module, sources):
        monkeypatch.setattr(one.time, "monotonic", monotonic)
    monkeypatch.setattr(module, "_PATIENCE", 1e-4)
    return seconds


@pytest.fixture
def kafka(monkeypatch, now):
    def wait(timeout):
        now[0] += timeout

    return Kafka({0: values(0, 3), 1: values(3, 5)}, wait=wait).install(monkeypatch)


def source(position=None, **options):
    one = se.Kafka("broker:9092", "clicks", **options)
    one.seek(position)
    return one


def drained(one, limit=2**20):
    """Read until there is nothing; return the rows of each partition, and the position."""
    found, position = {}, None
    while (chunk := one.read(limit)) is not None:
        found.setdefault(chunk.partition, []).extend(row["i"] for row in chunk.block.rows())
        position = json.loads(json.dumps(chunk.position))
    return found, position


def test_topic_is_a_source(kafka):
    assert isinstance(source(), Source)
    assert repr(source()) == "Kafka('broker:9092', 'clicks')"
    assert source().name == "kafka:clicks"


@pytest.mark.parametrize("limit", [1, 100, 2**20])
def test_partitions_are_read_in_turns(limit, kafka):
    one = source()
    found, position = drained(one, limit)
    assert found == {"0": [0, 1, 2], "1": [3, 4]}
    assert position == {"version": 1, "cluster": "one", "offsets": {"0": 3, "1": 2}}
    assert one.is_caught_up
    assert one.partitions == ["0", "1"]


def test_partitions_take_turns(kafka):
    one = source()
    assert [one.read(1).partition for _ in range(4)] == ["0", "1", "0", "1"]


def test_topic_is_read_on_from_a_position(kafka):
    one = source()
    one.read(100)
    position = one.read(1).position
    assert position["offsets"] == {"0": 1, "1": 1} or sum(position["offsets"].values()) > 1
    rest, _ = drained(source(position))
    assert sum(map(len, rest.values())) == 5 - sum(position["offsets"].values())


def test_only_committed_messages_are_asked_for(kafka):
    source().read(100)
    config = kafka.configs[-1]
    assert config["isolation.level"] == "read_committed"
    assert config["enable.auto.commit"] is False
    assert config["bootstrap.servers"] == "broker:9092"


def test_config_reaches_the_client(kafka):
    source(config={"security.protocol": "SASL_SSL", "group.id": "mine"}).read(100)
    assert kafka.configs[-1]["security.protocol"] == "SASL_SSL"
    assert kafka.configs[-1]["group.id"] == "mine"


@pytest.mark.parametrize("key", ["isolation.level", "bootstrap.servers", "error_cb"])
def test_config_that_would_break_a_promise_is_refused(key, kafka):
    with pytest.raises(InvalidInputError, match=f"^`config` must not set '{key}', which is fixed"):
        source(config={key: "x"})


def test_config_that_the_client_refuses_is_refused(kafka):
    message = '^`config` is not one of Kafka: No such property: "unknown"'
    with pytest.raises(InvalidInputError, match=message):
        source(config={"unknown": 1})


def test_messages_without_a_value_are_passed_over(kafka):
    kafka.logs[0].values[:] = [None, b"", *values(0, 1), None]
    found, position = drained(source())
    assert found["0"] == [0]
    assert position["offsets"]["0"] == 3
    kafka.logs[0].values[:], kafka.logs[1].values[:] = [None], [b"", b""]
    assert source().read(100) is None


def test_bad_messages_are_named_by_offset(kafka):
    kafka.logs[0].values[:] = [None, *values(0, 1), b"{", b'{\n"i": 7\n}', b'{"i": "\n"}']
    block = source().read(2**20).block
    parsed = block.parse(())
    assert [*parsed.row_ids] == [1, 3]
    assert [offset for offset, _ in parsed.faults] == [2, 4]
    assert (block.source, block.unit, block.unended) == ("kafka:clicks, partition 0", "offset", "")
    assert block.taken > 0


def test_chosen_partitions_are_read_alone(kafka):
    one = source(partitions=[1])
    assert drained(one)[0] == {"1": [3, 4]}


def test_partition_that_is_not_there_is_refused(kafka):
    with pytest.raises(BadDataError, match=r"^kafka:clicks: has no partition 7\.$"):
        source(partitions=[1, 7]).read(100)


@pytest.mark.parametrize("partitions", [[], [-1], ["1"], [True]])
def test_partitions_are_numbers(partitions, kafka):
    with pytest.raises(InvalidInputError, match=r"^`partitions` must be numbers from 0 on, got"):
        source(partitions=partitions)


@pytest.mark.parametrize("arguments", [("", "clicks"), ("broker", ""), ("broker", None)])
def test_servers_and_topic_are_text(arguments, kafka):
    with pytest.raises(InvalidInputError, match="must be text, got"):
        se.Kafka(*arguments)


def test_partition_without_messages_is_not_awaited(kafka):
    kafka.logs[1].values[:] = []
    one = source()
    assert drained(one)[0] == {"0": [0, 1, 2]}
    assert one.partitions == ["0"]
    assert one.is_caught_up
    kafka.logs[1].values += values(3, 4)
    assert drained(one)[0] == {"1": [3]}
    assert one.partitions == ["0", "1"]


def test_partition_that_is_gained_is_read_from_its_beginning(kafka, now):
    one = source()
    drained(one)
    kafka.logs[2] = type(kafka.logs[0])(values(5, 8))
    now[0] += 30
    assert drained(one)[0] == {}
    now[0] += 40
    assert one.read(100) is None
    assert not one.is_caught_up
    assert drained(one)[0] == {"2": [5, 6, 7]}
    assert one.warnings() == ["kafka:clicks: has gained partitions: 2."]
    assert one.counts() == {}
    assert kafka.n_open == 1


def test_look_for_partitions_that_fails_does_no_harm(kafka, now):
    one = source()
    drained(one)
    kafka.failure = Error("_TIMED_OUT")
    now[0] += 70
    assert drained(one)[0] == {}
    kafka.failure = None
    now[0] += 70
    assert drained(one)[0] == {}
    assert one.warnings() == []


def test_offsets_that_retention_has_deleted_are_counted_and_said(kafka):
    _, position = drained(source())
    log = kafka.logs[0]
    log.values[:], log.low = values(9, 10), 7
    one = source(position)
    assert drained(one)[0] == {"0": [9]}
    assert one.counts() == {"lost": 4}
    assert one.counts() == {}
    assert one.warnings() == [
        (
            "kafka:clicks, partition 0: 4 offsets from 3 on were deleted before they were read, by "
            "the retention of the topic; their rows are lost."
        )
    ]


def test_offsets_that_are_deleted_while_it_reads_are_counted_and_said(kafka):
    one = source()
    drained(one)
    log = kafka.logs[0]
    log.values[:], log.low = values(9, 10), 7
    assert one.read(100) is None
    assert not one.is_caught_up
    assert drained(one)[0] == {"0": [9]}
    assert one.counts() == {"lost": 4}
    assert len(one.warnings()) == 1


def test_partition_that_ends_before_the_position_is_refused(kafka):
    _, position = drained(source())
    kafka.logs[0].values[:] = []
    with pytest.raises(BadDataError, match="partition 0: ends at offset 0, before offset 3, where"):
        source(position).read(100)


def test_position_in_another_cluster_is_refused(kafka):
    _, position = drained(source())
    kafka.cluster_id = "two"
    message = "^kafka:clicks: is in the cluster 'two', but the position is of 'one'"
    with pytest.raises(BadDataError, match=message):
        source(position).read(100)
    kafka.cluster_id = None  # of brokers that do not tell
    assert drained(source(position))[0] == {}


@pytest.mark.parametrize(
    "position",
    [
        {"version": 2},
        {"version": 1},
        {"version": 1, "cluster": None, "offsets": {"0": -1}},
        {"version": 1, "cluster": None, "offsets": {"x": 1}},
        {"version": 1, "cluster": 3, "offsets": {}},
    ],
)
def test_position_of_something_else_is_refused(position, kafka):
    with pytest.raises(InvalidInputError, match=r"^`position` is not one of a topic of Kafka"):
        source(position)


def test_unreachable_brokers_are_an_error_at_the_start(kafka):
    kafka.failure = Error("_TRANSPORT", "no metadata")
    kafka.said = [Error("_TRANSPORT", "connection refused."), Error("_ALL_BROKERS_DOWN")]
    with pytest.raises(BadDataError, match=r"^kafka:clicks: cannot be reached: connection refu"):
        source().read(100)
    assert kafka.n_open == 0


def test_unreachable_brokers_are_asked_for_as_long_as_was_said(kafka, now):
    kafka.failure = Error("_TRANSPORT")
    began = now[0]
    with pytest.raises(BadDataError, match="cannot be reached"):
        source(timeout=5).read(100)
    assert now[0] == pytest.approx(began + 5, abs=0.5)
    assert kafka.n_asked > 10


def test_slow_brokers_have_longer_and_longer_to_answer(kafka, now):
    waits = []

    def wait(timeout):
        waits.append(timeout)
        now[0] += timeout
        if timeout >= 1:
            kafka.failure = None

    kafka.failure, kafka.wait = Error("_TIMED_OUT"), wait
    assert drained(source())[0] == {"0": [0, 1, 2], "1": [3, 4]}
    assert waits == [0.25, 0.5, 1.0]


@pytest.mark.parametrize("n_asked", [0, 1, 3])
def test_interruption_ends_the_wait_for_brokers(n_asked, kafka, now):
    one = source()
    kafka.failure = Error("_TRANSPORT")

    def wait(timeout):
        now[0] += timeout
        if kafka.n_asked == n_asked:
            one.interrupt()

    kafka.wait = wait
    if not n_asked:
        one.interrupt()
    assert one.read(100) is None
    assert kafka.n_asked == max(n_asked, 1)
    assert not one.is_caught_up
    assert kafka.n_open == 0
    assert one.warnings() == []


def test_credentials_that_are_refused_at_the_start_are_told_at_once(kafka):
    kafka.failure = Error("_TRANSPORT")
    kafka.said = [Error("_AUTHENTICATION", "wrong password")]
    with pytest.raises(BadDataError, match=r"^kafka:clicks: wrong password\.$"):
        source().read(100)
    assert kafka.n_asked == 1


def test_refused_credentials_are_an_error_at_any_time(kafka, now):
    one = source()
    drained(one)
    down = Error("_ALL_BROKERS_DOWN")
    kafka.said = [down, down, Error("_AUTHENTICATION", "wrong password"), down]
    with pytest.raises(BadDataError, match=r"^kafka:clicks: wrong password\.$"):
        one.read(100)


def test_fatal_error_is_one_at_any_time(kafka):
    one = source()
    drained(one)
    kafka.sent = [Error("_FATAL", "all is lost", is_fatal=True)]
    with pytest.raises(BadDataError, match=r"^kafka:clicks: all is lost\.$"):
        one.read(100)


def test_topic_that_is_not_there_is_an_error_at_the_start_alone(kafka, now):
    kafka.error = Error("UNKNOWN_TOPIC_OR_PART", "unknown topic")
    with pytest.raises(BadDataError, match=r"^kafka:clicks: unknown topic\.$"):
        source().read(100)
    kafka.error = None
    one = source()
    drained(one)
    kafka.sent = [Error("UNKNOWN_TOPIC_OR_PART", "unknown topic")]
    assert one.read(100) is None
    (said,) = one.warnings()
    assert said.startswith("kafka:clicks: does not answer: unknown topic; it is asked again")


def test_errors_of_groups_do_not_matter(kafka):
    kafka.sent = [Error("GROUP_AUTHORIZATION_FAILED")]
    assert drained(source())[0] == {"0": [0, 1, 2], "1": [3, 4]}


def test_brokers_that_go_away_are_asked_after_longer_and_longer_pauses(kafka, now):
    one = source()
    _, _position = drained(one)
    kafka.said = [Error("_TRANSPORT", "reset"), Error("_ALL_BROKERS_DOWN")]
    kafka.failure = Error("_TIMED_OUT")
    assert one.read(100) is None
    assert not one.is_caught_up
    tries = []
    for second in range(200):
        before = len(kafka.configs)
        now[0] += 1
        assert one.read(100) is None
        tries += [second] * (len(kafka.configs) - before)
    pauses = [b - a for a, b in itertools.pairwise(tries)]
    assert pauses == sorted(pauses)
    assert max(pauses) in (30, 31)
    kafka.failure = None
    kafka.logs[1].values += values(5, 6)
    now[0] += 31
    assert drained(one)[0] == {"1": [5]}
    assert one.warnings() == [
        "kafka:clicks: does not answer: reset; it is asked again until it does.",
        "kafka:clicks: answers again.",
    ]
    assert one.counts() == {"disconnected": 1}
    assert kafka.n_open == 1


def test_pauses_begin_anew_once_brokers_have_answered(kafka, now):
    one = source()
    drained(one)
    for _ in range(2):
        kafka.said = [Error("_ALL_BROKERS_DOWN")]
        kafka.failure = Error("_TIMED_OUT")
        for _ in range(20):
            assert one.read(100) is None
            now[0] += 10
        kafka.failure = None
        now[0] += 30
        assert one.read(100) is None
        assert one.is_caught_up
    kafka.said = [Error("_ALL_BROKERS_DOWN")]
    assert one.read(100) is None
    now[0] += 1
    assert one.read(100) is None
    assert one.is_caught_up
    assert one.counts() == {"disconnected": 3}


def test_new_messages_are_not_all_before_their_end_is_told(kafka):
    one = source()
    drained(one)
    assert one.is_caught_up
    kafka.tells_ends = False
    kafka.logs[1].values += values(5, 6)
    assert drained(one)[0] == {"1": [5]}
    assert not one.is_caught_up


def test_partitions_that_do_not_answer_are_not_caught_up(kafka):
    kafka.tells_ends = False
    one = source()
    drained(one)
    assert one.read(100) is None
    assert not one.is_caught_up


def test_source_that_never_connected_is_closed(kafka):
    source().close()
    assert kafka.n_open == 0


def test_source_closes_its_connection(kafka):
    one = source()
    with closing(one):
        one.read(1)
        assert kafka.n_open == 1
    assert kafka.n_open == 0
    with pytest.raises(InvalidInputError, match="is closed"):
        one.read(1)


def test_missing_client_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ImportError, match=re.escape('pip install "streameval[kafka]"')):
        se.Kafka("broker", "clicks")


def test_url_names_brokers_topic_and_partitions(kafka):
    one = se.Kafka.from_url("kafka://a:1,b:2/my%20clicks?partitions=1,0", config={"x": "y"})
    assert repr(one) == "Kafka('a:1,b:2', 'my clicks')"
    assert one.name == "kafka:my clicks"
    one.seek(None)
    assert {*drained(one)[0]} == {"0", "1"}
    assert kafka.configs[-1]["x"] == "y"
    assert {*drained(se.Kafka.from_url("kafka://a/clicks"))[0]} == {"0", "1"}


@pytest.mark.parametrize(
    "url",
    ["kafka://a", "kafka:///t", "kafka://a/t/u", "kafka://a/t?x=1", "kafka://me:secret@a/t"],
)
def test_url_of_another_form_is_refused(url, kafka):
    with pytest.raises(InvalidInputError, match=r"^`url` must be of the form kafka://HOST:PORT/T"):
        se.Kafka.from_url(url)


def test_partitions_of_a_url_are_numbers(kafka):
    with pytest.raises(InvalidInputError, match=r"^`partitions` must be numbers"):
        se.Kafka.from_url("kafka://a/t?partitions=1,x")


def test_properties_are_read_from_a_file(tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("# of the cluster\n\nsecurity.protocol = SSL\nsasl.password=a=b\n")
    assert read_properties(str(path)) == {"security.protocol": "SSL", "sasl.password": "a=b"}
    path.write_text("a=1\nb\n")
    with pytest.raises(BadDataError, match=r"client\.properties, line 2: must be NAME=VALUE\.$"):
        read_properties(str(path))
    with pytest.raises(BadDataError, match=r"no such file"):
        read_properties(str(tmp_path / "nothing"))
