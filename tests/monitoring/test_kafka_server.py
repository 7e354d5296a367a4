"""Topics of Kafka, by its own client library, from the mock cluster that the library has."""

import json
import random
import time
from contextlib import closing

import pytest
from monitoring.histories import History
from monitoring.killing import check, drawn_share, killed_often
from monitoring.silence import check_interruption, silent_listener
from waiting import until

import streameval as se
from streameval.errors import BadDataError

pytestmark = pytest.mark.server(name="kafka")


@pytest.fixture(scope="module")
def cluster():
    from monitoring.kafka_cluster import Cluster

    with closing(Cluster()) as one:
        yield one


@pytest.fixture
def topic(cluster, request):
    """An empty topic of two partitions for each test."""
    name = request.node.name.replace("[", "-").replace("]", "")
    cluster.create(name, 2)
    return name


@pytest.fixture
def source(cluster, topic):
    with closing(se.Kafka(cluster.servers, topic)) as one:
        one.seek(None)
        yield one


def drained(source, n_rows=0, limit=2**20):
    """Read all, at least so many rows; return those of each partition, and the position."""
    found, position = {}, None
    end = time.monotonic() + 60
    while True:
        chunk = source.read(limit)
        if chunk is not None:
            found.setdefault(chunk.partition, []).extend(chunk.block.rows())
            position = chunk.position
        elif source.is_caught_up and sum(map(len, found.values())) >= n_rows:
            return found, position
        assert time.monotonic() < end, "waited in vain"


def rows(start, stop):
    return [{"i": number} for number in range(start, stop)]


def test_topic_is_read_partition_by_partition(cluster, topic, source):
    cluster.send(topic, 0, rows(0, 5))
    cluster.send(topic, 1, rows(5, 8))
    found, position = drained(source)
    assert found == {"0": rows(0, 5), "1": rows(5, 8)}
    assert position["offsets"] == {"0": 5, "1": 3}
    assert source.partitions == ["0", "1"]
    cluster.send(topic, 1, rows(8, 9))
    assert drained(source, 1)[0] == {"1": rows(8, 9)}


@pytest.mark.parametrize("limit", [1, 500, 2**20])
def test_topic_is_read_on_from_any_position(limit, cluster, topic, source):
    for partition in range(2):
        cluster.send(topic, partition, rows(0, 300))
    rng = random.Random(limit)
    found, position = {"0": [], "1": []}, None
    while sum(map(len, found.values())) < 600:
        with closing(se.Kafka(cluster.servers, topic)) as one:
            one.seek(json.loads(json.dumps(position)))
            for _ in range(rng.randrange(1, 100)):
                chunk = one.read(limit)
                if chunk is not None:
                    found[chunk.partition].extend(chunk.block.rows())
                    position = chunk.position
    assert found == {"0": rows(0, 300), "1": rows(0, 300)}


def test_messages_without_a_value_are_no_rows(cluster, topic, source):
    cluster.send(topic, 0, [{"i": 0}, None, b"", {"i": 1}])
    assert drained(source)[0] == {"0": rows(0, 2)}


def test_bad_rows_are_named_by_their_offset(cluster, topic, tmp_path):
    row = {"ts": 0, "y_true": 1, "y_pred": 1}
    cluster.send(topic, 1, [row, None, '{\n "ts": 1,\n "y_true": 1, "y_pred": 1}', "{"])
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    source = se.Kafka(cluster.servers, topic)
    with se.Monitor(
        tmp_path / "ck.db", windowed, predictions=source, time="ts", max_bad=1
    ) as monitor:
        notes = [note for step in steps_of(monitor) for note in step.notes]
        assert monitor.windowed.n == 2
    (note,) = notes
    assert note.startswith(f"kafka:{topic}, partition 1, offset 3: not JSON (")


def steps_of(monitor):
    while True:
        step = monitor.step()
        yield step
        if step.is_idle and not step.is_waiting:
            return


def test_broker_that_goes_away_is_asked_until_it_answers(cluster, topic, source):
    cluster.send(topic, 0, rows(0, 3))
    assert drained(source)[0] == {"0": rows(0, 3)}
    cluster.down()
    try:
        (said,) = until(lambda: source.read(100) or source.warnings())
        assert said.startswith(f"kafka:{topic}: does not answer: ")
        assert not source.is_caught_up
        assert source.counts() == {"disconnected": 1}
    finally:
        cluster.up()
    cluster.send(topic, 0, rows(3, 6))
    assert drained(source, 3)[0] == {"0": rows(3, 6)}
    assert source.warnings() == [f"kafka:{topic}: answers again."]


def test_messages_that_retention_has_deleted_are_counted_and_said(cluster, topic, source):
    cluster.send(topic, 0, rows(0, 3))
    _, position = drained(source)
    for _ in range(8):
        cluster.send(topic, 0, [json.dumps({"i": "x" * 900_000})])
    with closing(se.Kafka(cluster.servers, topic)) as one:
        one.seek(position)
        found, after = drained(one)
        n_lost = 8 - len(found["0"])
        assert n_lost > 0
        assert one.counts() == {"lost": n_lost}
        (said,) = one.warnings()
    assert said.startswith(f"kafka:{topic}, partition 0: {n_lost} offsets from 3 on were deleted")
    assert after["offsets"]["0"] == 11


def test_messages_that_are_deleted_while_others_are_read_are_counted(cluster, topic, source):
    big = [json.dumps({"i": "x" * 900_000})]
    cluster.send(topic, 0, big * 2)
    found, n_lost = [], 0
    end = time.monotonic() + 60
    while len(found) + n_lost < 62:
        chunk = source.read(1)
        if chunk is not None:
            found += chunk.block.rows()
        if len(found) == 1:
            cluster.send(topic, 0, big * 60)
        n_lost += source.counts().get("lost", 0)
        assert time.monotonic() < end, (len(found), n_lost)
    assert n_lost > 0


def test_topic_that_was_made_again_is_refused(cluster, topic, source):
    cluster.send(topic, 0, rows(0, 3))
    _, position = drained(source)
    position["offsets"]["0"] = 100
    with closing(se.Kafka(cluster.servers, topic)) as one:
        one.seek(position)
        with pytest.raises(BadDataError, match="partition 0: ends at offset 3, before offset 100,"):
            one.read(100)


def test_unknown_topic_is_refused(cluster):
    with (
        closing(se.Kafka(cluster.servers, "nothing")) as one,
        pytest.raises(BadDataError, match=r"^kafka:nothing: .*Unknown topic or partition\.$"),
    ):
        one.read(100)


def test_unreachable_broker_is_refused_at_the_start():
    with (
        closing(se.Kafka("127.0.0.1:1", "nothing", timeout=1)) as one,
        pytest.raises(BadDataError, match=r"^kafka:nothing: cannot be reached: .*refused"),
    ):
        one.read(100)


def test_interruption_ends_the_wait_for_a_broker_that_accepts_and_is_silent():
    with silent_listener() as port:
        check_interruption(se.Kafka(f"127.0.0.1:{port}", "rows", timeout=3600))


def test_option_that_the_client_does_not_know_is_refused():
    with pytest.raises(se.InvalidInputError, match=r"^`config` is not one of Kafka: No such"):
        se.Kafka("127.0.0.1:1", "nothing", config={"no.such.option": 1})


class Partition:
    """A partition of a topic that grows."""

    def __init__(self, cluster, topic, number, rows):
        self.cluster, self.topic, self.number, self.rows = cluster, topic, number, rows
        self.grow(0.0)  # so that all of them are known before the first watermark

    def grow(self, share, _=None):
        written, self.rows = drawn_share(self.rows, share)
        if written:
            self.cluster.send(self.topic, self.number, written)


def check_kills(cluster, folder, seed, n_kills):
    rng, history = random.Random(seed), History.draw(seed, size=1500, span=2400)
    topics, logs = [f"predictions-{seed}-{n_kills}", f"labels-{seed}-{n_kills}"], []
    for topic, parts in zip(topics, history.partitioned(2, rng), strict=True):
        cluster.create(topic, len(parts))
        logs += [Partition(cluster, topic, number, rows) for number, rows in enumerate(parts)]
    sources = [f"kafka://{cluster.servers}/{topic}" for topic in topics]

    def disturb():
        cluster.down()
        time.sleep(0.2)
        cluster.up()

    killed_often(folder, sources, logs, rng, n_kills, disturb)
    check(folder, sources, history.joined)


def test_killed_processes_count_every_message_once(cluster, tmp_path):
    check_kills(cluster, tmp_path, seed=1, n_kills=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_processes_killed_twenty_times_count_every_message_once(seed, cluster, tmp_path):
    check_kills(cluster, tmp_path, seed, n_kills=20)
