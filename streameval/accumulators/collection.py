"""Many accumulators on one batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, final

from streameval.accumulators.base import Accumulator
from streameval.accumulators.classes import single_class
from streameval.accumulators.members import Members, SharedBatch, read_members
from streameval.configs.collection import MAX_MEMBERS, CollectionConfig, Member, canonical_name
from streameval.errors import require
from streameval.states import codec

if TYPE_CHECKING:
    from streameval.results.collection import CollectionResult


@final
class Collection(
    Accumulator[CollectionConfig, Any], type_id=7, config=CollectionConfig, state=Members
):
    """Count one batch with many accumulators, all of them or none.

    One `update`, one `merge`, one file. Members of one class with equal options and columns are
    counted once.

    Parameters
    ----------
    members : mapping from name to accumulator
        Accumulators that have counted nothing; they are copied. They may be collections: the
        member ``"b"`` of a member ``"a"`` is ``"a/b"``. The order of the names is kept, and only
        collections with equal names in the same order can merge. Any of them may be `Clustered`;
        slices and windows are of a whole collection.
    columns : mapping from name to a mapping from array to column, optional
        For some members, the columns of a batch that they read instead of those named as their
        arrays. An optional array such as the weights is read if there is a column of its name;
        a column named here must exist. For a collection as a member, the columns that it reads
        are its arrays.

    Notes
    -----
    ``col[name]`` is an independent copy of a member; iterating yields the names. `n` is a dict,
    by name. Rankings count complete queries only.

    An update costs the sum of the updates of the members: each reads the arrays by itself.

    Examples
    --------
    >>> import streameval as se
    >>> col = se.Collection(
    ...     {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()},
    ...     columns={"curve": {"y_score": "p"}},
    ... )
    >>> batch = {"y_true": [0, 0, 1, 1], "y_pred": [0, 1, 1, 1], "p": [0.1, 0.6, 0.7, 0.8]}
    >>> result = col.update(batch).compute()
    >>> result["curve"].roc_auc, result.as_dict()["cm/accuracy"]
    (1.0, 0.75)
    >>> col.n
    {'cm': 4, 'curve': 4}

    If all members take a truth and a prediction, an update may be two arrays:

    >>> fit, counts = se.RegressionAccumulator(), se.ConfusionAccumulator(3, from_scores=False)
    >>> col = se.Collection({"fit": fit, "counts": counts, "again": fit})
    >>> col.update([1, 2], [2, 2]).compute()["fit"].mae
    0.5
    >>> col.shared
    (('fit', 'again'),)
    """

    __slots__ = ()

    _depth = 1
    _held: Members

    def __init__(
        self,
        members: Mapping[str, Accumulator[Any, Any]],
        *,
        columns: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        super().__init__(read_members(members, columns))

    def update(self, y_true: Any, y_pred: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch in all members, or in none.

        Parameters
        ----------
        y_true : mapping, data frame or Arrow table
            A batch, of which each member reads its columns. Or, if all members take a truth and
            a prediction, the true labels or numbers; alone, a tuple or list of the arrays.
        y_pred : array, optional
            The predictions, for every member.
        sample_weight : array of shape (n,), optional
            Non-negative weights, for every member.

        Returns
        -------
        The collection itself.

        Raises
        ------
        InvalidInputError
            When a member refuses the batch; the message names it. No member has counted any of
            the batch then.
        CountOverflowError
            When a total would pass 2**63 - 1. No member has counted any of the batch then.
        """
        batch = SharedBatch.of(y_true, y_pred, sample_weight)
        self._held = self._held.updated(batch, self._config.parts)
        return self

    def compute(self) -> CollectionResult:
        """Compute the result of every member, all after the same batches.

        Returns
        -------
        CollectionResult
            Frozen: later updates do not change it.
        """
        from streameval.results.collection import CollectionResult  # noqa: PLC0415 (rendering too)

        accumulators = self._held.accumulators
        results = [accumulator.compute() for accumulator in accumulators]
        config = self._config
        return CollectionResult(
            config.names,
            tuple(results[index] for index in config.part_indices),
            pairs=tuple(member.model_pair for member in config.members),
        )

    @property
    def n(self) -> dict[str, Any]:  # type: ignore[override] # members may weigh in other units
        """The `n` of each member, by name; a dict for a collection."""
        members = self._held
        return {name: self._member(members, name).n for name in self}

    @property
    def options(self) -> dict[str, Any]:
        """The options of each member, by name; a dict by name for a collection."""
        members = self._held
        return {name: self._member(members, name).options for name in self}

    @property
    def columns(self) -> dict[str, dict[str, str]]:
        """The columns, by array, that members read instead of those named as their arrays."""
        config = self._config
        return {
            name: dict(member.columns)
            for name, member in zip(config.names, config.members, strict=True)
            if member.columns
        }

    @property
    def shared(self) -> tuple[tuple[str, ...], ...]:
        """The groups of names that share one state, because they count the same."""
        return self._config.shared

    def __getitem__(self, name: str) -> Any:
        """Copy a member; ``"a/b"`` is the member "b" of the collection "a"."""
        return self._member(self._held, name).copy()

    def __iter__(self) -> Iterator[str]:
        """List the names of the members in order."""
        return iter(self._config.top_names)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._config.top_names)

    def __contains__(self, name: object) -> bool:
        """Check whether there is a member of this name."""
        if not isinstance(name, str):
            return False
        return name in self._config.part_index_of or self._config.within(name) is not None

    def to_bytes(self) -> bytes:
        """Write names, columns and members; equal collections give equal bytes."""
        encoded = [accumulator.to_bytes() for accumulator in self._held.accumulators]
        fields = {"members": codec.Nested(tuple(encoded))}
        settings = codec.settings_json(_described(self._config))
        return codec.encode(self.type_id, self.type_name, settings, fields)

    def __repr__(self) -> str:
        """Show the members, what they read, and which of them are counted together."""
        members = self._held
        shown = [repr({name: self._member(members, name) for name in self})]
        columns = self.columns
        if columns:
            shown.append(f"{columns=}")
        if self.shared:
            shown.append(f"shared={self.shared}")
        return f"Collection({', '.join(shown)})"

    @property
    def _state(self) -> Members:
        return self._held.detached()

    @_state.setter
    def _state(self, state: Members) -> None:
        self._held = state

    def _fold(self, alike: Sequence[Any]) -> Members:
        return Members.sum_of([one._held for one in alike])

    def _summary(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return _described(self._config), {"members": self._held.accumulators}

    def _member(self, members: Members, name: str) -> Accumulator[Any, Any]:
        """Find a member; the caller must not change it."""
        config = self._config
        if name in config.part_index_of:
            return members.accumulators[config.part_index_of[name]]
        inner = config.within(name)
        if inner is None:
            raise KeyError(f"{name!r} is not among the members {', '.join(config.names)}")
        by_part = dict(zip(config.parts, members.accumulators, strict=True))
        accumulators = tuple(by_part[part] for part in inner.parts)
        return Collection._make(inner, Members(inner.part_names, accumulators))

    @classmethod
    def _decode_parts(cls, parts: codec.EncodedParts) -> tuple[CollectionConfig, Members]:
        described, state = parts.header["config"], parts.header["state"]
        require(described.keys() == {"columns", "names", "places"}, "the options of a collection")
        names, indices = (codec.from_json(described[field]) for field in ("names", "places"))
        columns = codec.from_json(described["columns"])
        require(isinstance(names, tuple) and 1 <= len(names) <= MAX_MEMBERS, "names")
        require(all(isinstance(name, str) for name in names), "names that are not text")
        nested = {"column": "bytes", "length": len(columns)}
        is_own = state.keys() == {"members"} and isinstance(state["members"], dict)
        is_own = is_own and nested.items() <= state["members"].items()
        require(is_own, "the fields are not those of a collection")
        require(set(indices) == set(range(len(columns))) and len(indices) == len(names), "places")

        fields = codec.decode_fields(state, parts.payload, parts.version)
        accumulators = [_decode_member(item, parts.version) for item in fields["members"].items]
        distinct = [
            Member.of(accumulator).renamed(_read_pairs(pairs))
            for accumulator, pairs in zip(accumulators, columns, strict=True)
        ]
        config = CollectionConfig.of(names=names, members=[distinct[index] for index in indices])
        config.check_names()
        parts.check_header(codec.settings_json(_described(config)), fields)
        return config, Members(config.part_names, tuple(accumulators))


def heaviest(n: Any) -> int | float:
    """Return the weight in an `n`; for a collection, the weight of its heaviest member."""
    if not isinstance(n, dict):
        weight: int | float = n
        return weight
    return max(map(heaviest, n.values()))


def _described(config: CollectionConfig) -> dict[str, Any]:
    """Describe the options for the header; the bytes of members hold their own options."""
    columns = tuple(part.columns for part in config.parts)
    return {"columns": columns, "names": config.names, "places": config.part_indices}


def _decode_member(data: bytes | memoryview, version: int) -> Accumulator[Any, Any]:
    from streameval.accumulators.clustered import Clustered  # noqa: PLC0415 (which may hold one)

    parts = codec.split(data)
    require(parts.version == version, "a member of another version")
    require(parts.type_id != Collection.type_id, "a collection in a collection")
    cls = Clustered if parts.type_id == Clustered.type_id else single_class(parts)
    return cls._decode(parts)


def _read_pairs(pairs: Any) -> dict[str, str]:
    return {array: canonical_name(column, name="columns") for array, column in pairs}
