"""Kafka topics: partitions of messages, each identified by its offset."""

from __future__ import annotations

# The client library may be missing where types are checked.
# pyright: reportMissingImports=false
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.messages import JsonMessages
from streameval.io.streams import reading
from streameval.monitoring.contents import check_json
from streameval.monitoring.sources import (
    Chunk,
    ConnectionLostError,
    OutdatedConnectionError,
    ServerSource,
)

_OWN: dict[str, Any] = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
}
_DEFAULTS: dict[str, Any] = {
    "client.id": "streameval",
    "fetch.wait.max.ms": 250,  # after which the end of a partition is told
    "log_level": 0,  # errors are raised, or warned of
    "group.id": "streameval",  # of which there is none: offsets are not committed
    "queued.max.messages.kbytes": 16_384,
}
_MESSAGES = 500  # at a time, since one may take a megabyte
_MESSAGE_BYTES = 64
_PATIENCE = 1.0
_PATIENCE_WITH_KNOWN = 3.0
_MOMENT = 0.25
_LOOK_AGAIN = 60.0
_FORBIDDEN = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "_AUTHENTICATION")
_PASSED_OVER = ("GROUP_AUTHORIZATION_FAILED",)  # nothing of a group is used
_TIMED_OUT = "_TIMED_OUT"
_NO_ANSWER = ("_TRANSPORT", _TIMED_OUT)
_NO_TOPIC = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")


class Kafka(ServerSource):
    """Read the messages of a Kafka topic, each a JSON object, partition by partition.

    Positions are offsets in the checkpoint of a monitor, so each row counts once; offsets of a
    consumer group are neither read nor committed. Reading skips aborted transactions and waits for
    open ones. Messages without a value, which delete a key of a compacted topic, have no row; keys
    and headers are not read. New partitions of the topic are read from their beginning, within a
    minute.

    Parameters
    ----------
    servers : str
        ``"host:port"`` of one or more brokers, separated by commas.
    topic : str
        Its name.
    partitions : sequence of int, optional
        The partitions to read, by default all. Other monitors can count the rest, and their states
        merge.
    config : mapping from str to value, optional
        Additional settings of librdkafka, such as ``{"security.protocol": "SASL_SSL", ...}``.
    timeout : float
        The seconds to wait for the first answer of the brokers.

    Raises
    ------
    InvalidInputError
        If an argument breaks a rule.
    ImportError
        If confluent_kafka is missing: ``pip install "streameval[kafka]"``.

    Notes
    -----
    If retention deleted messages before they were read, reading continues with the oldest message;
    a warning says how many offsets are gone, and the counter ``lost`` adds them up. A partition
    that ends before the position, for example because the topic was recreated, is an error. If
    brokers disconnect, the source retries until they answer; only retention can lose messages in
    the meantime.

    Examples
    --------
    >>> predictions = se.Kafka("localhost:9092", "predictions")  # doctest: +SKIP
    """

    _noun = "a topic of Kafka"

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        partitions: Sequence[int] | None = None,
        config: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
    ) -> None:
        super().__init__()
        for argument, value in (("servers", servers), ("topic", topic)):
            if not isinstance(value, str) or not value:
                raise InvalidInputError(f"must be text, got {value!r}", argument=argument)
        self._chosen = None if partitions is None else _checked_partitions(partitions)
        for key in ("bootstrap.servers", "error_cb", *_OWN):
            if key in (config or {}):
                raise InvalidInputError(f"must not set {key!r}, which is fixed", argument="config")
        self._client = _client()
        self.name = f"kafka:{topic}"
        self._topic = topic
        self._timeout = timeout
        self._config = {**_DEFAULTS, **(config or {}), "bootstrap.servers": servers, **_OWN}
        self._check_config()
        self._cluster: str | None = None
        self._offsets: dict[int, int] = {}
        self._consumer: Any = None
        self._failure: Any = None
        self._reason: Any = None
        self._filled: set[int] = set()
        self._awaited: set[int] = set()
        self._ahead: dict[int, deque[tuple[int, bytes]]] = {}
        self._look_at = 0.0

    def __repr__(self) -> str:
        return f"Kafka({self._config['bootstrap.servers']!r}, {self._topic!r})"

    @classmethod
    def from_url(cls, url: str, *, config: Mapping[str, Any] | None = None) -> Kafka:
        """Make a source of ``kafka://HOST:PORT[,HOST:PORT]/TOPIC[?partitions=0,1]``.

        Raises
        ------
        InvalidInputError
            If the URL has another form.
        """
        parts = urlsplit(url)
        query = parse_qs(parts.query, keep_blank_values=True)
        topic = unquote(parts.path.removeprefix("/"))
        numbers = query.pop("partitions", [])
        if not parts.netloc or not topic or "/" in topic or query or "@" in parts.netloc:
            raise InvalidInputError(
                "must be of the form kafka://HOST:PORT/TOPIC or "
                f"kafka://HOST:PORT/TOPIC?partitions=0,1, got {url!r}",
                argument="url",
            )
        chosen = None if not numbers else [_number(text) for text in ",".join(numbers).split(",")]
        return cls(parts.netloc, topic, partitions=chosen, config=config)

    @property
    def partitions(self) -> list[str]:
        """The partitions that hold messages."""
        return [str(partition) for partition in sorted(self._filled)]

    @property
    def is_caught_up(self) -> bool:
        """Whether every partition has been read to its end."""
        return self._is_connected and not self._awaited and not any(self._ahead.values())

    def _go_to(self, position: Any) -> None:
        cluster, offsets = position["cluster"], position["offsets"]
        check_json([cluster or "", *offsets], [0, *offsets.values()])
        self._offsets = {int(partition): offset for partition, offset in offsets.items()}
        self._cluster = cluster

    def _check_config(self) -> None:
        """Refuse settings that the client library does not accept."""
        try:
            self._client.Consumer(self._config).close()
        except (self._client.KafkaException, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"is not one of Kafka: {_text_of(error)}", argument="config"
            ) from None

    def _connect(self) -> None:
        """Find all partitions, and assign them at their positions."""
        self._failure = self._reason = None
        consumer = self._consumer = self._client.Consumer(
            {**self._config, "error_cb": self._note_error}
        )
        try:
            found = self._patiently(self._found_partitions, self._timeout_now)
            consumer.assign([self._start(partition) for partition in found])
        except self._client.KafkaException as error:
            raise self._judged(error.args[0]) from None
        self._awaited = set(found)
        self._ahead = {partition: deque() for partition in found}
        self._look_at = time.monotonic() + _LOOK_AGAIN

    @property
    def _timeout_now(self) -> float:
        return _PATIENCE_WITH_KNOWN if self._has_answered else self._timeout

    def _patiently(self, ask: Callable[[float], Any], patience: float) -> Any:
        """Retry in short attempts until brokers answer or time runs out.

        Short attempts notice an interruption soon; they get longer if a broker has the request and
        is slow to answer.
        """
        moment, end = _MOMENT, time.monotonic() + patience
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                return ask(min(left, moment))
            except self._client.KafkaException as error:
                self._consumer.poll(0)  # hands over what brokers have said
                name = error.args[0].name()
                is_refused = self._failure is not None and _is_final(self._failure)
                is_over = left <= moment or self._is_interrupted
                if name not in _NO_ANSWER or is_refused or is_over:
                    raise
                if name == _TIMED_OUT:
                    moment *= 2

    def _found_partitions(self, timeout: float) -> list[int]:
        """List the current partitions of the topic, or the chosen ones."""
        cluster = self._consumer.list_topics(self._topic, timeout=timeout)
        topic = cluster.topics[self._topic]
        if topic.error is not None:
            raise self._judged(topic.error)
        if self._cluster is None:
            self._cluster = cluster.cluster_id
        elif cluster.cluster_id not in (None, self._cluster):
            raise BadDataError(
                f"{self.name}: is in the cluster {cluster.cluster_id!r}, but the position is of "
                f"{self._cluster!r}."
            )
        there = sorted(topic.partitions)
        if self._chosen is None:
            return there
        missing = sorted(self._chosen - {*there})
        if missing:
            raise BadDataError(f"{self.name}: has no partition {missing[0]}.")
        return sorted(self._chosen)

    def _start(self, partition: int) -> Any:
        """Find where to continue a partition, and warn if unread messages are gone."""
        start = self._client.TopicPartition(self._topic, partition)
        found = self._patiently(
            lambda timeout: self._consumer.get_watermark_offsets(
                start, timeout=timeout, cached=False
            ),
            self._timeout_now,
        )
        low, high = map(int, found)
        offset = self._offsets.get(partition, low)
        name = self._name_of(partition)
        if offset > high:
            raise BadDataError(
                f"{name}: ends at offset {high:,}, before offset {offset:,}, where reading "
                "continues. If the topic was created again, begin a new checkpoint."
            )
        if offset < low:
            n_rows = low - offset
            self._note_lost(
                n_rows,
                f"{name}: {n_rows:,} offsets from {offset:,} on were deleted before they were "
                "read, by the retention of the topic; their rows are lost",
            )
            offset = low
        if high > low:
            self._filled.add(partition)
        self._offsets[partition] = offset
        start.offset = offset
        return start

    def _fetch(self, limit: int) -> Chunk | None:
        """Return the next messages of one partition; partitions take turns."""
        if time.monotonic() >= self._look_at:
            self._look_for_partitions()
        if not any(self._ahead.values()):
            self._read_ahead(limit)
        for partition in [*self._ahead]:
            messages = self._ahead.pop(partition)
            self._ahead[partition] = messages  # the last one to have the next turn
            if messages:
                return self._cut(partition, messages, limit)
        return None

    def _look_for_partitions(self) -> None:
        """Reconnect if the topic has new partitions."""
        self._look_at = time.monotonic() + _LOOK_AGAIN
        try:
            found = self._found_partitions(_PATIENCE)
        except self._client.KafkaException:  # what is amiss comes out when messages are read
            return
        new = [str(partition) for partition in found if partition not in self._ahead]
        if new:
            self._warn(f"{self.name}: has gained partitions: {', '.join(new)}")
            raise OutdatedConnectionError

    def _read_ahead(self, limit: int) -> None:
        """Take messages of any partitions, about `limit` bytes; wait only for the first."""
        size, end = 0, time.monotonic() + _PATIENCE
        while size < limit:
            may_wait = self._awaited and not size
            messages = self._consumer.consume(_MESSAGES, 0.1 if may_wait else 0)
            size += sum(map(self._take, messages))
            if self._failure is not None and not size:
                raise self._judged(self._failure)
            if not messages and (not may_wait or time.monotonic() >= end):
                return

    def _take(self, message: Any) -> int:
        """Keep a message and return its size; record an end; handle an error."""
        error = message.error()
        if error is None:
            value = message.value()
            self._awaited.add(message.partition())
            if value:
                self._ahead[message.partition()].append((message.offset(), value))
                self._filled.add(message.partition())
            return len(value or b"") + _MESSAGE_BYTES
        name = error.name()
        if name == "_PARTITION_EOF":
            self._awaited.discard(message.partition())
        elif name == "_AUTO_OFFSET_RESET":  # the offset is gone: what is lost is seen anew
            raise OutdatedConnectionError
        elif name not in _PASSED_OVER:
            raise self._judged(error)
        return 0

    def _cut(self, partition: int, messages: deque[tuple[int, bytes]], limit: int) -> Chunk:
        """Take the first messages, about `limit` bytes."""
        ids: list[int] = []
        values: list[bytes] = []
        size = 0
        while messages and size < limit:
            offset, value = messages.popleft()
            ids.append(offset)
            values.append(value)
            size += len(value) + _MESSAGE_BYTES
        self._offsets[partition] = ids[-1] + 1
        offsets = {str(number): offset for number, offset in sorted(self._offsets.items())}
        return Chunk(
            JsonMessages.of(self._name_of(partition), ids, values),
            str(partition),
            self._versioned(cluster=self._cluster, offsets=offsets),
        )

    def _note_error(self, error: Any) -> None:
        """Keep an error of the whole connection, and the errors of single brokers."""
        if _is_final(error):
            self._failure = error
        elif error.name() != "_ALL_BROKERS_DOWN":
            self._reason = error
        elif self._failure is None:
            self._failure = error

    def _judged(self, error: Any) -> Exception:
        """Return what an error comes to."""
        if self._failure is not None and _is_final(self._failure):
            error = self._failure
        is_missing = error.name() in _NO_TOPIC and not self._has_answered
        if is_missing or _is_final(error):
            return BadDataError(f"{self.name}: {_text_of(error)}.")
        return ConnectionLostError(_text_of(self._reason or error))

    def _disconnect(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._ahead = {}
        if consumer is not None:
            consumer.close()

    def _name_of(self, partition: int) -> str:
        return f"{self.name}, partition {partition}"


def read_properties(path: str) -> dict[str, str]:
    """Read a file of ``name=value`` lines, the configuration format of Kafka clients.

    Raises
    ------
    BadDataError
        If it cannot be read, or a line has another form.
    """
    config = {}
    with reading(path):
        text = Path(path).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, equals, value = line.partition("=")
            if not equals:
                raise BadDataError(f"{path}, line {number}: must be NAME=VALUE.")
            config[name.strip()] = value.strip()
    return config


def _client() -> Any:
    try:
        import confluent_kafka  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise ImportError('confluent_kafka is missing: pip install "streameval[kafka]".') from error
    return confluent_kafka


def _checked_partitions(partitions: Sequence[int]) -> set[int]:
    chosen = {*partitions}
    if not chosen or not all(type(number) is int and number >= 0 for number in chosen):
        raise InvalidInputError(
            f"must be numbers from 0 on, got {partitions!r}", argument="partitions"
        )
    return chosen


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() else text


def _is_final(error: Any) -> bool:
    """Return whether retrying is pointless."""
    return bool(error.fatal()) or error.name() in _FORBIDDEN


def _text_of(error: Any) -> str:
    """Return the text of a Kafka error, without its codes."""
    inner: Any = error.args[0] if isinstance(error, Exception) and error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return str(text).rstrip(".")
