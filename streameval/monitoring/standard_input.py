"""Standard input as a source: rows come once, and a restart cannot ask for them again."""

from __future__ import annotations

import os
import select
import sys
from typing import Any, Unpack

from streameval.configs.names import spelled_out
from streameval.errors import BadDataError
from streameval.io.notation import TableOptions
from streameval.io.packed import HEAD_BYTES, packing_of
from streameval.io.streams import STANDARD_INPUT, name_of
from streameval.monitoring.contents import Mark, RowReader, StreamedContent
from streameval.monitoring.sources import Chunk, FileSource

_NAME = name_of(STANDARD_INPUT)


class StandardInput(FileSource):
    """Read rows from standard input as they come.

    What was read and not yet counted when a process ends is lost: each row is counted at most
    once over a restart. The last line needs no newline, since the end of the input is known.

    Parameters
    ----------
    **options
        Those of `Tail`.

    Raises
    ------
    InvalidInputError
        If an option does not fit.
    """

    name = STANDARD_INPUT
    is_replayable = False
    _noun = "standard input"
    _needs_lines = True

    @spelled_out(TableOptions)
    def __init__(
        self,
        **options: Unpack[TableOptions],
    ) -> None:
        super().__init__(**options)
        self._pipe = _Pipe(sys.stdin.buffer, _NAME)
        self._reader = RowReader(self._pipe, self._format_of(STANDARD_INPUT), self._dialect)
        self._mark = Mark()
        self._is_at_end = False

    def __repr__(self) -> str:
        return "StandardInput()"

    @property
    def is_at_end(self) -> bool:
        """Whether it was closed, and all rows were read."""
        return self._is_at_end

    def _go_to(self, position: Any) -> None:  # noqa: ARG002 - what was read is gone
        """Ignore the position, and warn of the rows that are lost."""
        self._warn(f"{_NAME}: cannot be read again; rows that came after the last commit are lost")

    def _next_chunk(self, limit: int) -> Chunk | None:
        """Return the rows that have come; None if there are none."""
        packing = None if self._mark.offset else packing_of(self._pipe.at(0, HEAD_BYTES))
        if packing is not None:
            raise BadDataError(
                f"{_NAME}: is compressed with {packing.name}; decompress it in the pipe."
            )
        block = None
        while block is None and not self._is_at_end:
            is_ended = self._pipe.is_ended
            block, self._mark = self._reader.next(self._mark, limit, is_final=is_ended)
            if not self._pipe.is_ended:
                break
            self._is_at_end = block is None and is_ended
        if block is None:
            return None
        return Chunk(block, STANDARD_INPUT, self._versioned(line=self._mark.line))


class _Pipe(StreamedContent):
    """The bytes that have come so far; what was read is forgotten but for a fingerprint."""

    is_ended = False

    def _come(self, size: int) -> bytes:
        """Read what is there without waiting for more."""
        try:
            descriptor = self._file.fileno()
        except OSError:  # not of the system
            data = self._file.read(size)
        else:
            if not _is_ready(descriptor):
                return b""
            data = os.read(descriptor, size)
        self.is_ended = not data
        return data


def _is_ready(descriptor: int) -> bool:
    """Tell whether reading would return at once."""
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except OSError:  # pipes of some systems cannot be asked; then reading waits
        return True
