"""Text, possibly long, that is printed only after success."""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Self

from streameval.io.streams import writing_temporary_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_MEMORY = 2**20
_PIECE = 2**16


class Spool:
    """Keep text in memory, and past the first megabyte in a temporary file.

    Reading closes it, and so does an exception inside the block.
    """

    def __init__(self) -> None:
        # Newlines and lone surrogates come out as they went in.
        self._file = SpooledTemporaryFile(  # noqa: SIM115 - read after the block
            _IN_MEMORY, "w+", encoding="utf-8", errors="surrogatepass", newline=""
        )

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, raised: object, *exception: object) -> None:
        """Discard the text after an exception."""
        if raised is not None:
            self._file.close()

    def write(self, text: str) -> None:
        """Append text.

        Raises
        ------
        BadDataError
            If the disk is full.
        """
        with writing_temporary_file():
            self._file.write(text)

    def read(self) -> Iterator[str]:
        """Yield all text in pieces, once."""
        with self._file as file:
            file.seek(0)
            while piece := file.read(_PIECE):
                yield piece
