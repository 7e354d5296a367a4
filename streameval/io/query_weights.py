"""Weights of queries: one line for each, with the query and a number."""

from __future__ import annotations

from typing import NoReturn

from streameval.errors import BadDataError
from streameval.io.columns import Numbers
from streameval.io.errors import BadRow, shown
from streameval.io.lines import LineEnds, is_text, pieces, text_of
from streameval.io.streams import opened

_NUMBERS = Numbers()


class QueryWeights(dict[str, float]):
    """Weights by query, with the name of the file that they come from."""

    source: str = ""

    def __missing__(self, query: str) -> NoReturn:
        """Refuse a query that the file lacks."""
        raise BadDataError(f"{self.source}: has no weight for query {shown(query)}.")


def read_query_weights(path: str) -> QueryWeights:
    """Read weights of queries.

    A row is a line ``qid weight``, with fields separated by spaces or tabs. Blank lines are
    skipped, and so are lines that begin with ``#``.

    Parameters
    ----------
    path : str
        A file of UTF-8 text, compressed or not; "-" is standard input.

    Raises
    ------
    BadDataError
        When the file cannot be read, a line is not such a row, a weight is negative or not finite,
        or a query occurs twice; the message names file and line.
    """
    weights = QueryWeights()
    with opened(path) as stream:
        weights.source = stream.name
        for piece in pieces(stream, LineEnds()):
            for number, line in enumerate(text_of(piece.data).split("\n"), piece.first_line):
                fields = line.split()
                if fields and not fields[0].startswith("#"):
                    reason = _add(weights, line, fields)
                    if reason:
                        raise BadDataError(str(BadRow(stream.name, "line", number, reason)))
    return weights


def _add(weights: QueryWeights, line: str, fields: list[str]) -> str:
    """Add the weight of a line, or return what is wrong with it."""
    if not is_text(line):
        return "not UTF-8"
    if len(fields) != 2:
        return f"weights have 2 fields (qid weight), and this row has {len(fields)}"
    query, text = fields
    if query in weights:
        return f"query {shown(query)} has a weight already"
    found = _NUMBERS.whole(_NUMBERS.from_text([text]))
    if found is None or not 0.0 <= found[0] < float("inf"):
        return f"`weight` must be a finite number of at least 0, got {shown(text)}"
    weights[query] = float(found[0])
    return ""
