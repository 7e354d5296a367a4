"""Where rows come from: files of any format, or TREC runs beside their judgements."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import chain
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Protocol

from streameval.cli.counting.count import MAYBE_PARTIAL
from streameval.cli.counting.seen import Seen
from streameval.cli.counting.spool import writing_temporary_file
from streameval.cli.errors import UsageError
from streameval.cli.options import option_text
from streameval.errors import BadDataError
from streameval.io import STANDARD_INPUT, name_of, read_blocks, read_qrels
from streameval.io.run_blocks import RunBlock
from streameval.io.streams import CutShortError, is_read_once, opened
from streameval.io.trec import gathered_runs, is_scattered, sized_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from streameval.cli.options import Options
    from streameval.io import Block, Run

__all__ = ["Source", "source_of"]

_ROWS = 2**16  # so many make a block worth a worker's while
_COPIED = 2**20  # bytes at a time
_OF_COLUMNS = ("query", "relevance", "score", "doc", "retrieved", "num_relevant")


class Source(Protocol):
    """What is read, and what is to be said about it."""

    def blocks(self) -> Iterator[Block]:
        """Give everything, in order."""
        ...

    def left(self) -> list[str]:
        """Say what was left for next time, once all has been read."""
        ...

    def gather(self) -> None:
        """Get ready to give everything once more, after queries that do not stand together."""
        ...

    def close(self) -> None:
        """Forget what has been kept to be read again."""
        ...

    def missing(self) -> list[str]:
        """List what should have been there, once all has been read."""
        ...

    def remarks(self) -> list[str]:
        """Give notes, once all has been read."""
        ...

    def origin(self) -> dict[str, Any]:
        """Give entries of the JSON object, once all has been read."""
        ...


def source_of(options: Options) -> Source:
    """Choose by the options how files are read."""
    return RowFiles(options) if options.qrels is None else JudgedRuns(options, options.qrels)


class RowFiles:
    """Files of rows, each for itself."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._skips = options.partial_last_line == "skip"
        self._left: dict[str, str] = {}  # by file, since two passes find the same

    def blocks(self) -> Iterator[Block]:
        """Cut the files into blocks.

        Raises
        ------
        BadDataError
            If a file cannot be read; of one that is cut short, the message names the option.
        """
        return chain.from_iterable(map(self._blocks, self._options.files))

    def _blocks(self, file: str) -> Iterator[Block]:
        try:
            for block in read_blocks(file, self._options.format, may_be_cut=self._skips):
                if block.unended and self._skips:
                    self._left[block.source] = block.unended
                else:
                    yield block
        except CutShortError as error:
            raise BadDataError(f"{str(error).removesuffix('.')}{MAYBE_PARTIAL}.") from None

    def left(self) -> list[str]:
        """Name the files whose last lines were left."""
        return [f"{name}: {what}, and is left for next time." for name, what in self._left.items()]

    def gather(self) -> None:
        """Do nothing: rows of a query may stand anywhere."""

    def close(self) -> None:
        """Do nothing."""

    def missing(self) -> list[str]:
        """List nothing."""
        return []

    def remarks(self) -> list[str]:
        """Remark nothing."""
        return []

    def origin(self) -> dict[str, Any]:
        """Add nothing."""
        return {}


class JudgedRuns:
    """The parts of one TREC run, beside its judgements.

    Raises
    ------
    UsageError
        If an option was given that says how to read other files.
    BadDataError
        If the judgements cannot be read, or there are none.
    """

    def __init__(self, options: Options, qrels: str) -> None:
        _check_options(options, qrels)
        self._options = options
        self._path = qrels
        self._qrels = read_qrels(qrels)
        if not self._qrels:
            raise BadDataError(f"{name_of(qrels)}: holds no rows.")
        self._seen = Seen()
        self._n_judged = self._n_unjudged = 0
        self._gathers = False
        self._scattered: list[str] = []
        self._copies: dict[str, BinaryIO] = {}
        self._open = ExitStack()

    def blocks(self) -> Iterator[Block]:
        """Cut the run between queries, and put its judgements to each part.

        Raises
        ------
        ScatteredQueryError
            If a query comes back after another; after `gather` it may.
        BadDataError
            If two files have the same query; the message names it.
        """
        self._seen = Seen()
        self._n_judged = self._n_unjudged = 0
        for file in self._options.files:
            for run, taken in self._runs(file):
                self._seen.add(run, name_of(file))
                judged = {query: self._qrels[query] for query in run if query in self._qrels}
                self._n_judged += len(judged)
                self._n_unjudged += len(run) - len(judged)
                yield RunBlock(name_of(file), run, judged, taken)

    def left(self) -> list[str]:
        """Name none: a run is read to its end."""
        return []

    def _runs(self, file: str) -> Iterator[tuple[Run, int]]:
        copy = self._copies.get(file)
        if copy is None and is_read_once(file):
            copy = self._copies[file] = self._open.enter_context(TemporaryFile())  # noqa: SIM115
            _copy(file, copy)
        if self._gathers and is_scattered(file, copy=copy):
            self._scattered.append(name_of(file))
            return gathered_runs(file, _ROWS, copy=copy)
        return sized_runs(file, _ROWS, copy=copy)

    def gather(self) -> None:
        """Look from now on whether the queries of a file stand together; if not, hold it whole."""
        self._gathers = True

    def close(self) -> None:
        """Delete the copies of what can be read only once."""
        self._open.close()

    def missing(self) -> list[str]:
        """List the judged queries that no file has, unless other parts of the run may."""
        if self._options.count_missing is not None:
            return []
        return [query for query in self._qrels if query not in self._seen]

    def remarks(self) -> list[str]:
        """Say how many queries have been left out.

        Raises
        ------
        BadDataError
            If no query is judged at all.
        """
        if not self._n_judged:
            raise BadDataError(f"{name_of(self._path)}: none of the queries of the run is judged.")
        remarks = [
            f"{name}: was read again and held in memory, since its queries do not stand together."
            for name in self._scattered
        ]
        if self._n_unjudged:
            left_out = "1 query" if self._n_unjudged == 1 else f"{self._n_unjudged:,} queries"
            remarks.append(f"left out {left_out} of the run without judgements.")
        return remarks

    def origin(self) -> dict[str, Any]:
        """Say where the judgements come from, and how many queries have none."""
        return {"qrels": self._path, "unjudged": self._n_unjudged}


def _copy(file: str, copy: BinaryIO) -> None:
    """Keep what can be read only once, should it have to be read again."""
    with opened(file) as stream:
        while piece := stream.read(_COPIED):
            with writing_temporary_file():
                copy.write(piece)


def _check_options(options: Options, qrels: str) -> None:
    for name in _OF_COLUMNS:
        if getattr(options, name) is not None:
            text = option_text(name)
            raise UsageError(f"{text} does not go with --qrels: TREC files have no header.")
    if options.format is not None:
        raise UsageError("--format does not go with --qrels: both are TREC files.")
    if options.partial_last_line is not None:
        raise UsageError("--partial-last-line does not go with --qrels: a run is read to its end.")
    if options.max_bad:
        raise UsageError("--max-bad does not go with --qrels: a run has no rows to spare.")
    if qrels == STANDARD_INPUT and STANDARD_INPUT in options.files:
        raise UsageError("standard input cannot be the run and its --qrels.")
