import gzip
import io
import os
import select
import sys
from types import SimpleNamespace

import pytest
from monitoring.rotating_logs import read_all, values

from streameval.errors import BadDataError, InvalidInputError
from streameval.monitoring.standard_input import StandardInput


@pytest.fixture
def pipe(monkeypatch):
    """Return the writing end of standard input."""
    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb", buffering=0) as file:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=file))
        with os.fdopen(writing_end, "wb", buffering=0) as writer:
            yield writer


def test_rows_are_read_as_they_come(pipe):
    source = StandardInput()
    assert read_all(source) == []
    pipe.write(b'{"i": 1}\n{"i"')
    assert read_all(source) == [1]
    pipe.write(b": 2}\n")
    assert read_all(source) == [2]
    assert not source.is_at_end


def test_the_last_line_needs_no_end_once_the_input_is_closed(pipe):
    source = StandardInput()
    pipe.write(b'{"i": 1}\n{"i": 2}')
    assert read_all(source) == [1]
    pipe.close()
    chunk = source.read(100)
    assert (values(chunk.block), chunk.block.first_line) == ([2], 2)
    assert (source.read(100), source.is_at_end) == (None, True)


def test_an_input_that_is_closed_at_once_is_at_its_end(pipe):
    pipe.close()
    source = StandardInput()
    assert (source.read(100), source.is_at_end) == (None, True)
    assert source.read(100) is None


def test_what_was_read_is_forgotten(pipe):
    source = StandardInput()
    for row in range(1000):
        pipe.write(b'{"i": %d}\n' % row)
        assert read_all(source) == [row]
    assert len(source._pipe._window) < 3000


def test_tables_are_read_by_their_header(pipe):
    source = StandardInput(format="csv", delimiter=";")
    pipe.write(b"i;j\n1;2\n")
    assert read_all(source, limit=3) == [1]
    pipe.write(b"3;4\n")
    assert read_all(source, limit=3) == [3]


def test_an_input_in_memory_is_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"i": 1}\n')))
    assert read_all(StandardInput()) == [1]


def test_an_input_that_cannot_be_asked_is_waited_for(pipe, monkeypatch):
    def refuse(*args):
        raise OSError

    monkeypatch.setattr(select, "select", refuse)
    pipe.write(b'{"i": 1}\n')
    pipe.close()
    assert read_all(StandardInput()) == [1]


def test_packed_input_is_refused(pipe):
    pipe.write(gzip.compress(b'{"i": 1}\n'))
    with pytest.raises(
        BadDataError,
        match=r"^standard input: is compressed with gzip; decompress it in the pipe\.$",
    ):
        StandardInput().read(100)


def test_a_restart_says_what_it_may_lose(pipe):
    source = StandardInput()
    source.seek(None)
    pipe.write(b'{"i": 1}\n{"i": 2}\n')
    position = source.read(9).position
    again = StandardInput()
    again.seek(position)
    assert again.warnings() == [
        "standard input: cannot be read again; rows that came after the last commit are lost."
    ]
    assert again.warnings() == []
    assert source.warnings() == []


@pytest.mark.parametrize("position", [3, {}, {"version": 2}])
def test_a_position_of_something_else_is_refused(position, pipe):
    with pytest.raises(InvalidInputError, match=r"^`position` is not one of standard input\.$"):
        StandardInput().seek(position)


def test_standard_input_says_what_it_is(pipe):
    source = StandardInput()
    source.close()
    assert (source.name, source.is_replayable, repr(source)) == ("-", False, "StandardInput()")


def test_formats_of_whole_files_are_refused(pipe):
    with pytest.raises(InvalidInputError, match=r"^`format` must be a format of lines"):
        StandardInput(format="parquet")
