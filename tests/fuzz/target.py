"""A target for atheris: bytes that carry a right checksum are refused, or can be used.

``python tests/fuzz/target.py CORPUS -max_total_time=600``; the golden files are a good corpus.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["streameval"]):
    from use_states import use

    import streameval as se

_PREFIX, _CHECKSUM = 28, slice(24, 28)
_VERSION, _NEWEST = slice(8, 10), b"\2\0"


def target(data: bytes) -> None:
    """Give bytes the lengths and the checksum that they should have, and read them."""
    if len(data) >= _PREFIX:
        header = int.from_bytes(data[12:16], "little") % (len(data) - _PREFIX + 1)
        payload = len(data) - _PREFIX - header
        data = data[:12] + header.to_bytes(4, "little") + payload.to_bytes(8, "little") + data[24:]
        checksum = zlib.crc32(data[28:], zlib.crc32(data[: _CHECKSUM.start]))
        data = data[: _CHECKSUM.start] + checksum.to_bytes(4, "little") + data[_CHECKSUM.stop :]
    try:
        accumulator = se.from_bytes(data)
    except se.CorruptStateError:
        return
    written = accumulator.to_bytes()
    if data[_VERSION] == _NEWEST:
        assert written == data
    else:
        assert se.from_bytes(written) == accumulator
    use(accumulator)


if __name__ == "__main__":
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
