"""Redis streams: entries, each identified by its id."""

from __future__ import annotations

# The client library may be missing where types are checked.
# pyright: reportMissingImports=false
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.messages import FieldEntries, JsonEntries
from streameval.monitoring.contents import check_json
from streameval.monitoring.sources import Chunk, ConnectionLostError, ServerSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streameval.io.blocks import Block

    Id = tuple[int, int]
    """The milliseconds and the number of an entry."""
    Entry = tuple[bytes, dict[bytes, bytes]]

_MOMENT = 0.5
_CONNECT_TIMEOUT = 1.0
_PATIENCE = 5.0
_PAUSE = 0.2
_FIRST_COUNT = 100
_MAX_COUNT = 10_000
_ENTRY_BYTES = 64


class RedisStream(ServerSource):
    """Read the entries of a Redis stream, in order.

    Positions are entry ids in the checkpoint of a monitor, so each row counts once; consumer groups
    are neither used nor created, and entries are not acknowledged or deleted.

    Parameters
    ----------
    url : str
        ``"redis://host:port/0"``, or ``rediss://`` with TLS, with the number of the database. It
        can contain a user and a password, which no message shows.
    stream : str
        The key of the stream.
    field : str, optional
        The field of an entry that holds a row as a JSON object. By default, each field is a column,
        and is read like a cell of a table.
    timeout : float
        The seconds to wait for the first answer of the server.

    Raises
    ------
    InvalidInputError
        If an argument breaks a rule.
    ImportError
        If redis is missing: ``pip install "streameval[redis]"``.

    Notes
    -----
    If entries were trimmed before they were read, reading continues with the oldest entry; a
    warning says how many are gone, and the counter ``lost`` adds them up. This needs Redis 7. The
    number can include unread entries that XDEL removed.

    If a stream was deleted and recreated, reading continues after the last id, with a warning.

    Examples
    --------
    >>> labels = se.RedisStream("redis://localhost:6379/0", "labels")  # doctest: +SKIP
    """

    _noun = "a stream of Redis"

    def __init__(
        self, url: str, stream: str, *, field: str | None = None, timeout: float = 10.0
    ) -> None:
        super().__init__()
        given = {"url": url, "stream": stream} | ({} if field is None else {"field": field})
        for argument, value in given.items():
            if not isinstance(value, str) or not value:
                raise InvalidInputError(f"must be text, got {value!r}", argument=argument)
        self._library = _library()
        try:
            self._client: Any = self._library.Redis.from_url(
                url,
                socket_timeout=_MOMENT,
                socket_connect_timeout=_CONNECT_TIMEOUT,
                retry=None,
                decode_responses=False,
            )
        except ValueError as error:
            raise InvalidInputError(f"is not one of Redis: {error}", argument="url") from None
        options = self._client.connection_pool.connection_kwargs
        self.name = f"redis:{options.get('db', 0)}/{stream}"
        self._stream = stream
        self._timeout = timeout
        self._field = None if field is None else field.encode()
        self._last: Id | None = None
        self._n_added = 0
        self._count = _FIRST_COUNT
        self._is_caught_up = False
        self._is_missing = False

    def __repr__(self) -> str:
        return f"RedisStream({self.name!r})"

    @classmethod
    def from_url(cls, url: str) -> RedisStream:
        """Make a source of ``redis://HOST:PORT/DB/STREAM[?field=NAME]``.

        Raises
        ------
        InvalidInputError
            If the URL has another form.
        """
        parts = urlsplit(url)
        database, _, stream = parts.path.removeprefix("/").partition("/")
        query = parse_qs(parts.query, keep_blank_values=True)
        fields = query.pop("field", [None])
        if not parts.hostname or not database.isdigit() or not stream or query or len(fields) > 1:
            shown = url.rpartition("@")[2] if "@" in url else url  # without a password
            raise InvalidInputError(
                "must be of the form redis://HOST:PORT/DB/STREAM or "
                f"redis://HOST:PORT/DB/STREAM?field=NAME, got {shown!r}",
                argument="url",
            )
        server = urlunsplit((parts.scheme, parts.netloc, database, "", ""))
        return cls(server, unquote(stream), field=fields[0])

    @property
    def is_caught_up(self) -> bool:
        """Whether the last answer held all entries."""
        return self._is_connected and self._is_caught_up

    def _go_to(self, position: Any) -> None:
        last, n_added = position["id"], position["added"]
        check_json([last], [n_added])
        self._last, self._n_added = _id_of(last.encode()), n_added

    def _connect(self) -> None:
        """Wait for the first answer ever; else the next command connects."""
        if not self._has_answered:
            self._asked(self._client.ping, self._timeout)

    def _disconnect(self) -> None:
        self._is_caught_up = False
        self._client.close()

    def _fetch(self, limit: int) -> Chunk | None:
        """Return the next entries, about `limit` bytes."""
        after = "-" if self._last is None else f"({_shown(self._last)}"
        with self._client.pipeline(transaction=True) as both:
            both.xinfo_stream(self._stream)
            both.xrange(self._stream, min=after, count=self._count)
            patience = 0.0 if self._is_away else _PATIENCE
            info, entries = self._asked(lambda: both.execute(raise_on_error=False), patience)
        if isinstance(info, Exception) and "no such key" in str(info):
            self._note_nothing()
            return None
        for answer in (info, entries):
            if isinstance(answer, Exception):
                raise BadDataError(f"{self.name}: {_text_of(answer)}.")
        self._is_missing = False
        self._is_caught_up = len(entries) < self._count
        self._compare(info, entries)
        return self._chunk(entries, limit) if entries else None

    def _asked(self, command: Callable[[], Any], patience: float) -> Any:
        """Return what the server answers, or raise what an error of it comes to.

        A server that is silent for a moment, or has not answered yet, is asked again until
        patience or the run ends: all commands only read.
        """
        errors = self._library.exceptions
        end = time.monotonic() + patience
        while True:
            if self._is_interrupted and not self._has_answered:
                raise ConnectionLostError("interrupted")
            try:
                return command()
            except (errors.AuthenticationError, errors.AuthorizationError) as error:
                raise BadDataError(f"{self.name}: {_text_of(error)}.") from None
            except (errors.ConnectionError, errors.TimeoutError) as error:
                is_gone = self._has_answered and not isinstance(error, errors.TimeoutError)
                if is_gone or time.monotonic() >= end or self._is_interrupted:
                    raise ConnectionLostError(_text_of(error)) from None
                time.sleep(0.0 if self._has_answered else _PAUSE)
            except errors.RedisError as error:
                raise BadDataError(f"{self.name}: {_text_of(error)}.") from None

    def _note_nothing(self) -> None:
        """Warn once that there is no stream."""
        if not self._is_missing:
            self._is_missing = True
            self._warn(f"{self.name}: does not exist")
        self._is_caught_up = True

    def _compare(self, info: Any, entries: Sequence[Entry]) -> None:
        """Find how many entries are gone unread, from the number ever added.

        While the last read entry, or an earlier one, exists, nothing after it was trimmed.
        Otherwise, all entries up to it are gone, and so are the missing ones after it.
        """
        if "entries-added" not in info:
            raise BadDataError(
                f"{self.name}: the server does not say how many entries were ever added to a "
                "stream, so trimmed ones cannot be detected; Redis 7 says so."
            )
        n_added = int(info["entries-added"])
        n_removed = n_added - int(info["length"])
        first = info["first-entry"]
        is_before = first is not None and self._last is not None and _id_of(first[0]) <= self._last
        if self._last is None:
            self._n_added = n_removed
        elif n_added < self._n_added or (not is_before and n_removed < self._n_added):
            self._warn(
                f"{self.name}: is not the stream that was read, or has lost its last entries in a "
                f"crash: it has had {n_added:,} entries, and {self._n_added:,} were read; only "
                f"those after {_shown(self._last)} are read"
            )
            self._n_added = n_removed
        elif not is_before and n_removed > self._n_added:
            n_rows = n_removed - self._n_added
            self._note_lost(
                n_rows,
                f"{self.name}: {n_rows:,} entries after {_shown(self._last)} were trimmed before "
                "they were read; their rows are lost",
            )
            self._n_added = n_removed
        self._n_added += len(entries)
        if self._is_caught_up:
            self._n_added = n_added

    def _chunk(self, entries: Sequence[Entry], limit: int) -> Chunk:
        """Convert entries to rows, and choose how many to request next."""
        self._last = _id_of(entries[-1][0])
        size = sum(_size(fields) for _, fields in entries)
        self._count = min(max(limit * len(entries) // size, 1), _MAX_COUNT)
        position = self._versioned(id=_shown(self._last), added=self._n_added)
        return Chunk(self._block(entries, size), self._stream, position)

    def _block(self, entries: Sequence[Entry], size: int) -> Block:
        ids = [entry_id.decode() for entry_id, _ in entries]
        if self._field is None:
            return FieldEntries(self.name, ids, [row for _, row in entries], size)
        values = [row.get(self._field) or b"null" for _, row in entries]
        return JsonEntries.of(self.name, ids, values)


def _library() -> Any:
    try:
        import redis  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise ImportError('redis is missing: pip install "streameval[redis]".') from error
    return redis


def _id_of(text: bytes) -> Id:
    milliseconds, _, number = text.partition(b"-")
    return int(milliseconds), int(number)


def _shown(entry_id: Id) -> str:
    return f"{entry_id[0]}-{entry_id[1]}"


def _size(fields: dict[bytes, bytes]) -> int:
    return _ENTRY_BYTES + sum(len(name) + len(value) for name, value in fields.items())


def _text_of(error: Exception) -> str:
    return str(error).rstrip(".")
