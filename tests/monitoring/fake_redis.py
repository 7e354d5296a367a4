"""What the source of Redis uses of redis, over one stream in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from urllib.parse import urlsplit

import attrs

__all__ = ["Redis", "exceptions"]


class RedisError(Exception):
    pass


class ConnectionError(RedisError):  # noqa: A001 - the name that redis has
    pass


class AuthenticationError(ConnectionError):
    pass


class AuthorizationError(ConnectionError):
    pass


class TimeoutError(RedisError):  # noqa: A001 - the name that redis has
    pass


class ResponseError(RedisError):
    pass


exceptions = SimpleNamespace(
    RedisError=RedisError,
    ConnectionError=ConnectionError,
    AuthenticationError=AuthenticationError,
    AuthorizationError=AuthorizationError,
    TimeoutError=TimeoutError,
    ResponseError=ResponseError,
)


@attrs.define
class Redis:
    """A server with one stream, None if there is none, and the module through which it is reached.

    Entries are pairs of an id, (milliseconds, number), and fields.
    """

    entries: list | None = None
    n_added: int = 0
    failure: Exception | None = None  # of every request
    answer: Exception | None = None  # of XINFO
    is_old: bool = False
    options: dict = attrs.field(factory=dict)
    wait: Callable[[], None] = lambda: None  # what passes before every answer
    n_pings: int = 0
    n_reads: int = 0
    n_closed: int = 0
    exceptions = exceptions

    def install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "redis", self)
        return self

    @property
    def Redis(self):  # noqa: N802 - the name that redis has
        return SimpleNamespace(from_url=self._from_url)

    def _from_url(self, url, **options):
        parts = urlsplit(url)
        if not parts.scheme.startswith("redis"):
            raise ValueError("Redis URL must specify one of the following schemes")
        self.options = {"url": url, **options}
        database = parts.path.removeprefix("/")
        kwargs = {"db": int(database)} if database else {}
        pool = SimpleNamespace(connection_kwargs=kwargs)
        return Client(self, pool)

    def add(self, *rows):
        """Append entries of one millisecond each."""
        self.entries = self.entries or []
        for row in rows:
            self.n_added += 1
            fields = {name.encode(): str(value).encode() for name, value in row.items()}
            self.entries.append(((self.n_added, 0), fields))

    def trim(self, length):
        self.entries = self.entries[len(self.entries) - length :]


@attrs.define
class Client:
    server: Redis
    connection_pool: SimpleNamespace

    def _answer(self):
        self.server.wait()
        if self.server.failure is not None:
            raise self.server.failure

    def ping(self):
        self.server.n_pings += 1
        self._answer()

    def pipeline(self, transaction):
        return Pipeline(self)

    def close(self):
        self.server.n_closed += 1


@attrs.define
class Pipeline:
    client: Client
    after: str = ""
    count: int = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def xinfo_stream(self, name):
        pass

    def xrange(self, name, min, count):  # noqa: A002 - the name that redis has
        self.after, self.count = min, count

    def execute(self, raise_on_error):
        server = self.client.server
        server.n_reads += 1
        self.client._answer()
        if server.entries is None:
            return [ResponseError("no such key"), []]
        if server.answer is not None:
            return [server.answer, server.answer]
        after = (-1, 0)
        if self.after != "-":
            after = tuple(map(int, self.after.removeprefix("(").split("-")))
        found = [(b"%d-%d" % one, dict(row)) for one, row in server.entries if one > after]
        first = next(((b"%d-%d" % one, dict(row)) for one, row in server.entries), None)
        info = {"length": len(server.entries), "first-entry": first}
        if not server.is_old:
            info["entries-added"] = server.n_added
        return [info, found[: self.count]]
