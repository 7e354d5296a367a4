"""Files of predictions whose labels are in files of their own, joined by an id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import cycle
from typing import Any

import attrs
import numpy as np

from streameval.errors import BadDataError
from streameval.exact.array_types import Array
from streameval.inputs.paths import find
from streameval.io.blocks import Block, Parsed
from streameval.io.columns import Argument, Texts, canonical_text
from streameval.io.errors import BadRow, shown
from streameval.io.row_filters import Condition, RowFilter
from streameval.runs.sources import BlockSource, RawRow, RowFiles, look_ahead

PREFIX = "labels."
"""Begins the names of columns of labels: both files may have a column of one name."""
_KEY = "key"


class LabelsById:
    """One label for each id, all in memory, which notes the ids that had a prediction.

    A row without a label is none. Ids are compared by their text, of which 1.0 is 1.

    Parameters
    ----------
    files : RowFiles
        The files of labels.
    key : str
        The column of ids, in these files and in those of predictions.
    truth : sequence of str
        The columns of the label.
    gaps : tuple of str
        The texts of a label that is none.
    """

    def __init__(
        self, files: RowFiles, key: str, truth: Sequence[str], gaps: tuple[str, ...] = ("",)
    ) -> None:
        self.key, self.files = key, files
        self._truth, self._gaps = truth, gaps
        self._arrays: dict[Argument, Array] = {}
        self._index: dict[str | int | None, int] = {}
        self.forget()

    def forget(self) -> None:
        """Forget which ids had a prediction, to count again."""
        self._has_row = bytearray(len(self._index))
        self.n_strange, self._strange = 0, ""

    @cached_property
    def first(self) -> Sequence[RawRow]:
        """The first rows.

        Raises
        ------
        BadDataError
            If none can be read.
        """
        rows, _ = look_ahead(self.files.blocks())
        return rows

    def _conditions(self) -> RowFilter | None:
        """Return what holds for rows with a label; a list is one."""
        texts = [name for name in self._truth if not isinstance(find(self.first[0], name), list)]
        made = tuple(Condition(name, "!=", self._gaps) for name in texts)
        return RowFilter(made) if made else None

    def arrays(self, columns: Sequence[Argument]) -> list[Array]:
        """Return the labels of all ids as arguments.

        Raises
        ------
        BadDataError
            If a label cannot be read, or an id has two.
        """
        if not self._arrays.keys() >= {*columns}:
            self._read(columns)
        return [self._arrays[column] for column in columns]

    def found(self, keys: Iterable[Any], row_ids: Sequence[Any], block: Block) -> Array:
        """Return the position of the label of each id in the arrays, -1 where it has none.

        Raises
        ------
        BadDataError
            If an id had a prediction before.
        """
        found = []
        for key, row_id in zip(keys, row_ids, strict=True):
            at = self._position(key)
            if at < 0:
                self.n_strange += 1
                self._strange = self._strange or shown(key)
            elif self._has_row[at]:
                raise self._repeated(block, row_id, key)
            else:
                self._has_row[at] = 1
            found.append(at)
        return np.array(found, dtype=np.intp)

    def _position(self, key: str | None) -> int:
        """Find an id as text: "1.0" is that of 1 in every format, as in the cells of a table."""
        known = self._index
        return known.get(key, -1) if not key or key in known else known.get(canonical_text(key), -1)

    @property
    def n_left(self) -> int:
        """How many ids have had no prediction."""
        return self._has_row.count(0)

    def remarks(self) -> list[str]:
        """Say how many ids have no partner."""
        said = []
        if self.n_strange:
            such = f"such as that with `{self.key}` {self._strange}"
            said.append(f"rows without a label: {self.n_strange:,}, which are not counted, {such}.")
        if self.n_left:
            key = next(key for key, at in self._index.items() if not self._has_row[at])
            such = f"such as that with `{self.key}` {shown(key if isinstance(key, str) else None)}"
            said.append(f"labels without a counted row: {self.n_left:,}, {such}.")
        return said

    def _read(self, columns: Sequence[Argument]) -> None:
        self._index = {}
        wanted = [
            attrs.evolve(column, argument=str(at), names=_without_prefix(column.names))
            for at, column in enumerate(columns)
        ]
        parts: list[list[Any]] = [[] for _ in wanted]
        given = self._conditions()
        for block in self.files.blocks():
            parsed = block.parse([*wanted, _keys(self.key)], given)
            for row_id, reason in parsed.faults:
                raise BadDataError(str(BadRow(block.source, block.unit, row_id, reason)))
            for text, row_id in zip(parsed.batch[_KEY], parsed.row_ids, strict=True):
                key = canonical_text(text) if text else text
                if key in self._index and key is not None:
                    raise self._repeated(block, row_id, text)
                at = len(self._index)
                self._index[at if key is None else key] = at  # whose id is missing has no partner
            for part, column in zip(parts, wanted, strict=True):
                part.append(np.asarray(parsed.batch[column.argument]))
        self._arrays = dict(zip(columns, map(np.concatenate, parts), strict=True))
        self.forget()

    def _repeated(self, block: Block, row_id: Any, key: Any) -> BadDataError:
        reason = f"the `{self.key}` {shown(key)} occurs a second time"
        return BadDataError(str(BadRow(block.source, block.unit, row_id, reason)))


@attrs.frozen(eq=False, repr=False)
class LabelledBlock:
    """A block of predictions, whose labels are found by their ids.

    Parameters
    ----------
    block : Block
        The predictions.
    labels : LabelsById
    """

    block: Any
    labels: LabelsById

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the block."""
        return getattr(self.block, name)

    def rows(self, names: Iterable[str] | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the rows, each beside the columns of some label: they show what columns hold."""
        labels = ({f"{PREFIX}{name}": row[name] for name in row} for row in self.labels.first)
        for row, label in zip(self.block.rows(names), cycle(labels)):
            hidden = [name for name in row if f"{name}.".startswith(PREFIX)]
            if hidden:
                raise BadDataError(
                    f"{self.block.source}: rename `{hidden[0]}`, since names that begin with "
                    f"{PREFIX!r} are columns of labels."
                )
            yield {**row, **label}

    def parse(self, columns: Sequence[Argument], where: RowFilter | None = None) -> Parsed:
        """Read the columns of the rows that have a label."""
        conditions = () if where is None else where.conditions
        of_labels = RowFilter(tuple(one for one in conditions if one.column.startswith(PREFIX)))
        others = tuple(one for one in conditions if one not in of_labels.conditions)
        where = attrs.evolve(where, conditions=others) if where and others else None
        own = [column for column in columns if not column.names[0].startswith(PREFIX)]
        joined = [*(column for column in columns if column not in own), *of_labels.columns]
        if not joined:
            parsed: Parsed = self.block.parse(own, where)
            return parsed
        arrays = self.labels.arrays(joined)
        parsed = self.block.parse([*own, _keys(self.labels.key)], where)
        found = self.labels.found(parsed.batch[_KEY], parsed.row_ids, self.block)
        rows, n_left_out = np.flatnonzero(found >= 0), parsed.n_left_out
        pairs = zip(joined, arrays, strict=True)
        batch = {column.argument: array[found[rows]] for column, array in pairs}
        if of_labels.conditions:
            kept = np.flatnonzero(of_labels.kept(batch))
            batch, n_left_out = _taken(batch, kept), n_left_out + len(rows) - len(kept)
            rows = rows[kept]
        batch |= _taken({column.argument: parsed.batch[column.argument] for column in own}, rows)
        return Parsed(
            {column.argument: batch[column.argument] for column in columns},
            [parsed.row_ids[row] for row in rows.tolist()],
            parsed.faults,
            n_left_out,
            zones=parsed.zones,
        )


class LabelledFiles(BlockSource):
    """Files of predictions and their labels.

    Parameters
    ----------
    predictions : RowFiles
    labels : LabelsById
    """

    def __init__(self, predictions: RowFiles, labels: LabelsById) -> None:
        self._predictions, self._labels = predictions, labels

    def blocks(self) -> Iterator[Any]:
        """Yield the predictions, in order."""
        self._labels.forget()
        return (LabelledBlock(block, self._labels) for block in self._predictions.blocks())

    def left(self) -> list[str]:
        """Name the files whose last lines were left, and say if no id has a label."""
        return [*self._predictions.left(), *self._labels.files.left(), *self._labels.remarks()]

    def remarks(self) -> list[str]:
        """Return the notes about all files."""
        return [*self._predictions.remarks(), *self._labels.files.remarks()]

    def totals(self, where: RowFilter | None = None) -> dict[str, str]:
        """Return conditions that leave out last rows which look like totals."""
        return self._predictions.totals(where)

    def origin(self) -> dict[str, Any]:
        """Count the ids without a partner."""
        return {"unlabelled": self._labels.n_strange, "labels_left": self._labels.n_left}


def _keys(name: str) -> Argument:
    return Argument(_KEY, (name,), Texts())


def _without_prefix(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.removeprefix(PREFIX) for name in names)


def _taken(batch: Mapping[str, Any], rows: Array) -> dict[str, Any]:
    return {name: values[rows] for name, values in batch.items()}
