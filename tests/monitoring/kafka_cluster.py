"""The mock cluster of librdkafka in this process, which speaks the protocol of Kafka on a port."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import confluent_kafka

__all__ = ["Cluster"]

_PRODUCER = 0


def _library():
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    (path,) = folder.glob("librdkafka-*")
    library = ctypes.CDLL(str(path))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


class Cluster:
    """One broker, which may go away and come back; it keeps 5 MB of each partition."""

    def __init__(self):
        self._library = _library()
        said = ctypes.create_string_buffer(512)
        conf = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", None, ctypes.c_size_t(0))
        self._client = ctypes.c_void_p(
            self._library.rd_kafka_new(_PRODUCER, conf, said, ctypes.c_size_t(512))
        )
        assert self._client, said.value
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._client, 1))
        self.servers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": self.servers, "linger.ms": 0, "log_level": 0}
        )

    def create(self, topic, n_partitions):
        self._call("topic_create", topic.encode(), n_partitions, 1)

    def down(self):
        self._call("broker_set_down", 1)

    def up(self):
        self._call("broker_set_up", 1)

    def send(self, topic, partition, rows):
        """Append rows, or text or bytes as they are, to a partition, and wait until it has them."""
        failed = []
        for row in rows:
            value = row if isinstance(row, str | bytes | None) else json.dumps(row)
            self._producer.produce(
                topic,
                value,
                key="key",
                partition=partition,
                on_delivery=lambda error, _: error and failed.append(error),
            )
            self._producer.poll(0)
        assert self._producer.flush(60) == 0
        assert failed == []

    def close(self):
        self._producer.flush(1)
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)

    def _call(self, name, *arguments):
        error = getattr(self._library, f"rd_kafka_mock_{name}")(self._cluster, *arguments)
        assert error == 0, error
