"""What the source of Kafka uses of confluent_kafka, over logs in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable

import attrs

__all__ = ["Kafka"]


@attrs.frozen
class Error:
    """An error by the name that librdkafka gives it."""

    of: str
    text: str = "something is amiss"
    is_fatal: bool = False

    def name(self):
        return self.of

    def str(self):
        return self.text

    def fatal(self):
        return self.is_fatal


class KafkaException(Exception):  # noqa: N818 - the name that confluent_kafka has
    pass


@attrs.define
class TopicPartition:
    topic: str
    partition: int
    offset: int = -1


@attrs.frozen
class Message:
    _partition: int
    _offset: int
    _value: bytes | None = None
    _error: Error | None = None

    def partition(self):
        return self._partition

    def offset(self):
        return self._offset

    def value(self):
        return self._value

    def error(self):
        return self._error


@attrs.define
class Log:
    """The values of a partition from offset `low` on; None is a message without one."""

    values: list = attrs.field(factory=list)
    low: int = 0

    @property
    def high(self):
        return self.low + len(self.values)


@attrs.define
class Metadata:
    topics: dict
    cluster_id: str | None


@attrs.define
class Topic:
    partitions: dict
    error: Error | None = None


@attrs.define
class Kafka:
    """A cluster with one topic, and the module through which it is reached."""

    logs: dict[int, Log] = attrs.field(factory=dict)
    cluster_id: str | None = "one"
    error: Error | None = None  # of the topic
    failure: Error | None = None  # of every request
    said: list[Error] = attrs.field(factory=list)  # through the callback
    sent: list[Error] = attrs.field(factory=list)  # among the messages
    tells_ends: bool = True
    configs: list[dict] = attrs.field(factory=list)
    n_open: int = 0
    wait: Callable = abs  # what a request does with its timeout before it fails
    n_asked: int = 0
    KafkaException = KafkaException
    TopicPartition = TopicPartition

    def __attrs_post_init__(self):
        self.logs = {number: Log([*values]) for number, values in self.logs.items()}

    def install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "confluent_kafka", self)
        return self

    def Consumer(self, config):  # noqa: N802 - the name that confluent_kafka has
        if "unknown" in config:
            raise KafkaException(Error("_INVALID_ARG", 'No such property: "unknown"'))
        self.configs.append(config)
        self.n_open += 1
        return Consumer(self, config.get("error_cb", lambda _: None))


class Consumer:
    def __init__(self, kafka, on_error):
        self.kafka, self.on_error = kafka, on_error
        self.at, self.told = {}, {}

    def poll(self, timeout):
        said, self.kafka.said = self.kafka.said, []
        for error in said:
            self.on_error(error)

    def _answer(self, timeout):
        self.kafka.n_asked += 1
        failure = self.kafka.failure
        if failure is not None:
            self.kafka.wait(timeout)
            raise KafkaException(failure)

    def list_topics(self, topic, timeout):
        self._answer(timeout)
        found = Topic(dict.fromkeys(self.kafka.logs), self.kafka.error)
        return Metadata({topic: found}, self.kafka.cluster_id)

    def get_watermark_offsets(self, place, timeout, cached):
        self._answer(timeout)
        log = self.kafka.logs[place.partition]
        return log.low, log.high

    def assign(self, places):
        self.at = {place.partition: place.offset for place in places}

    def consume(self, n_messages, timeout):
        self.poll(0)
        found = [Message(0, -1, error=error) for error in self.kafka.sent]
        self.kafka.sent = []
        for number, at in self.at.items():
            log = self.kafka.logs[number]
            if at < log.low:
                return [Message(number, at, error=Error("_AUTO_OFFSET_RESET"))]
            values = log.values[at - log.low :][: n_messages - len(found)]
            found += [Message(number, at + i, value) for i, value in enumerate(values)]
            self.at[number] = at + len(values)
            is_end = self.at[number] == log.high != self.told.get(number)
            if is_end and self.kafka.tells_ends:
                self.told[number] = log.high
                found.append(Message(number, log.high, error=Error("_PARTITION_EOF")))
        return found

    def close(self):
        self.kafka.n_open -= 1
