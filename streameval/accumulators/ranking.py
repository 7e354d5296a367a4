"""Measures of rankings, summed over queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, final

import attrs
import numpy as np

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.pending import BufferedState, RowBuffer, Rows
from streameval.accumulators.ranked_rows import (
    check_new,
    open_indices,
    read_ids,
    read_rows,
    read_weights_of,
    unweighted,
    weighted_queries,
)
from streameval.configs import USUAL_BUDGET
from streameval.configs.measures.requested import DEFAULT_MEASURES
from streameval.configs.options import flag
from streameval.configs.ranking import RankingConfig, preset
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import as_ids
from streameval.inputs.judged_runs import (
    check_order,
    judged_rows,
    missing_queries,
    seem_exchanged,
)
from streameval.metrics.ranking import evaluate
from streameval.states.queries import Queries, weights_of
from streameval.states.ranking import QueryValues, RankingParts, RankingState
from streameval.states.ranking_rows import Documents, complete_queries, queries_of

if TYPE_CHECKING:
    from streameval.results.ranking import Ranking

PolicyOption = str | Mapping[str, str]
OnQueries = Callable[[dict[str, Array]], object]

_CAPACITY = 2**17  # documents
_SMALL = 4096
_FIRST = 2 * _SMALL  # of memory that is mapped already, which many accumulators never exceed


@final
class RankingAccumulator(
    BufferedAccumulator[RankingConfig, RankingState],
    type_id=6,
    config=RankingConfig,
    state=RankingState,
):
    """Measure rankings of documents, query by query, and keep the sums.

    For search results, recommendations, any list ordered by a score. A batch holds complete
    queries, which are folded into exact sums at once; or rows of queries that go on in later
    batches and on other workers, whose top rows are kept until they are closed.

    Parameters
    ----------
    measures : sequence of str
        Names of measures, alone as ``map`` or cut as ``ndcg@10``; `Ranking` lists them all. A
        parameter or a relevance level stands in brackets: ``rbp(p=0.8)``, ``p(rel=2)@5``. The
        names of ir_measures (``nDCG@10``, ``AP``, ``RR@10``) and of trec_eval
        (``ndcg_cut_10``, ``recip_rank``) mean the same. Its sets (``official``, ``all_trec``)
        and names with parameters (``P.5,10``) stand for several measures. What a name asks of
        the whole accumulator, as ``AP(judged_only=True)`` and ``nDCG(gains={1:1,2:3})@10`` do,
        sets `unjudged` and `gain`; all names must agree on it. A quantile over the queries stands
        behind a measure, ``map[median]``, ``map[min]``, ``map[max]``, ``ndcg@10[q=0.9]``; with
        other quantiles accumulators do not merge.
    relevance_level : float
        A document is relevant from this relevance on. Gains do not depend on it.
    gain : {"linear", "exp2"} or mapping
        What a relevance is worth in NDCG and DCG: itself, ``2**relevance - 1``, or what the
        mapping gives for it.
    ties : {"expected", "docid_desc", "pessimistic", "optimistic"}
        How documents of equal scores count: the mean over all orders; the order by falling
        document id, as in trec_eval; the min or max of each measure.
    ap_norm : {"R", "min"}
        Whether ``map@k`` divides by the number of relevant documents R, or by min(R, k).
    unjudged : {"nonrelevant", "drop"}
        Whether documents whose relevance is NaN are not relevant, or are taken out first.
    negative : {"raise", "zero"}
        Whether a negative relevance is refused, or counts as not judged.
    nan : {"raise", "last"}
        Whether a score of NaN is refused, or ranks below all others.
    empty : {"zero", "skip", "one", "nan"} or mapping
        What a query counts in which a measure has nothing to find. A mapping gives it by
        measure; those that it leaves out have "zero".
    missing : {"zero", "skip"} or mapping
        What a judged query counts that is absent from the run.
    track_queries : bool
        Keep the id of each query, so that one counted twice is refused, across merges too.
    rows_per_query : int
        The number of rows of an open query that are kept for measures without a cutoff. Up to
        this number the measures are exact; beyond it they have bounds.
    max_open_queries : int, optional
        The max number of open queries; more raise an error.
    per_query : bool
        Keep the values of each query too, with its id; see `Ranking.per_query`.
    budget : int or None
        The number of bins kept for the quantiles of a measure; None keeps every distinct value.

    Notes
    -----
    `Ranking` lists the formulas. A query has the same value, to the last bit, in any batch. It may
    have up to 2**24 rows.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.RankingAccumulator(["map", "ndcg@3", "p@2"])
    >>> relevance, score = [[0, 1, 1], [1, 0, 1]], [[3.0, 2.0, 1.0], [0.3, 0.2, 0.1]]
    >>> retrieved = [[True, True, True], [True, True, False]]
    >>> acc.update(relevance, score, retrieved=retrieved).compute()
    Ranking(n_queries=2, map=0.541667, ndcg@3=0.653287, p@2=0.5)

    Rows of one query may come in pieces:

    >>> acc = se.RankingAccumulator(["mrr", "hit@1"])
    >>> acc = acc.update([0, 1], [0.9, 0.8], query=["a", "b"], partial=True)
    >>> acc = acc.update([1, 0], [0.5, 0.9], query=["a", "b"], partial=True)
    >>> result = acc.close().compute()
    >>> result.mrr, result.hit[1]
    (0.5, 0.0)

    A quantile over the queries is kept in bounded memory, with certified bounds past its budget:

    >>> acc = se.RankingAccumulator(["mrr", "mrr[median]", "mrr[q=0.75]"])
    >>> acc.update([[1, 0], [0, 1], [0, 0]], [[2, 1]] * 3).compute()
    Ranking(n_queries=3, mrr=0.5, mrr[median]=0.5, mrr[q=0.75]=0.75)
    """

    __slots__ = ()

    _arrays = ("relevance", "score")
    _optional_arrays = ("query", "mask", "retrieved", "num_relevant", "doc", "query_weight")
    _unit_array = "query"
    _weight_array = "query_weight"

    # complete queries of small batches stay pending: a call of `evaluate` takes a millisecond for
    # any number of them; the state is kept in parts
    _held: BufferedState[Any]

    def __init__(
        self,
        measures: Any = DEFAULT_MEASURES,
        *,
        relevance_level: float = 1,
        gain: Literal["linear", "exp2"] | Mapping[float, float] = "linear",
        ties: Literal["expected", "docid_desc", "pessimistic", "optimistic"] = "expected",
        ap_norm: Literal["R", "min"] = "R",
        unjudged: Literal["nonrelevant", "drop"] = "nonrelevant",
        negative: Literal["raise", "zero"] = "raise",
        nan: Literal["raise", "last"] = "raise",
        empty: PolicyOption = "zero",
        missing: PolicyOption = "zero",
        track_queries: bool = False,
        rows_per_query: int = 1000,
        max_open_queries: int | None = None,
        per_query: bool = False,
        budget: int | None = USUAL_BUDGET,
    ) -> None:
        self._configure(locals())

    @classmethod
    def like(
        cls,
        name: Literal["trec_eval", "sklearn", "recsys", "ltr"],
        measures: Any = DEFAULT_MEASURES,
        **overrides: Any,
    ) -> Self:
        """Make an accumulator with the conventions of another tool.

        Parameters
        ----------
        name : {"trec_eval", "sklearn", "recsys", "ltr"}
            "trec_eval": ``ties="docid_desc", missing="skip", negative="zero"``, and ``rbp`` is
            ``rbp(p=0.9)``. "sklearn":
            ``empty={"lrap": "one"}``. "recsys": ``ap_norm="min", empty="skip"``. "ltr":
            ``gain="exp2", ap_norm="min", empty="one"``.
        measures : sequence of str
            As in the class.
        **overrides
            Options of the class, before those of the preset.

        Raises
        ------
        InvalidInputError
            When the name or an option is not known.
        """
        return cls(**preset(name, measures, overrides))

    def update(
        self,
        relevance: Any,
        score: Any = None,
        *,
        query: Any = None,
        mask: Any = None,
        retrieved: Any = None,
        num_relevant: Any = None,
        doc: Any = None,
        query_weight: Any = None,
        partial: bool = False,
        on_queries: OnQueries | None = None,
    ) -> Self:
        """Count one batch of queries: the relevance first, then the scores.

        The retrieval metrics of torchmetrics and of torcheval take the scores first (``preds,
        target``). Most relevances fractions, and scores integers of 0 to 10, are refused as
        exchanged; pass such scores as floats if they are right.

        Parameters
        ----------
        relevance : array of shape (queries, candidates), or (n,) with `query`
            The relevance of each document; NaN where it was not judged. Alone, a batch: a tuple
            or list of relevance and score, or a mapping, data frame or Arrow table with columns
            of these names and those below.
        score : array of the same shape
            The scores; the highest ranks first.
        query : array of shape (n,), or (queries,) for a block
            The query of each row: integers or strings, not both. If an integer is past 64 bits, all
            are read as texts. Rows may stand in any order.
        mask : bool array of the same shape, optional
            True for a real candidate of a padded block; what else is there does not matter.
        retrieved : bool array of the same shape, optional
            False for a judged document that was not returned: it counts as known, has no rank,
            and its score does not matter.
        num_relevant : array of shape (queries,), (n,) for rows, or mapping from query, optional
            The number of relevant documents, instead of rows with ``retrieved=False``; the same
            in all rows of a query.
        doc : array of the same shape, optional
            Document ids, integers or strings: none may occur twice in a query.
            ``ties="docid_desc"`` needs them.
        query_weight : array of shape (queries,), (n,) for rows, or mapping from query, optional
            What each query counts in the means, at least 0: 2 counts it twice, 0 leaves it out.
            All rows of a query have the same weight, in later batches too.
        partial : bool
            Whether these are rows of queries that go on in other batches; `close` ends them.
        on_queries : callable, optional
            Called with the values of these queries, as `Ranking.per_query` gives them, such as
            to write them to a file; they need ids. If it raises, nothing is counted.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values, or a query is known to be
            counted. Nothing of the batch has been counted then.
        CountOverflowError
            When a query would have more than 2**24 rows.
        """
        optional = query, mask, retrieved, num_relevant, doc, query_weight
        given = self._named(relevance, score, optional=optional)
        goes_on = flag(partial, name="partial")
        weighted = weighted_queries(given)
        if weighted is not None:
            return weighted.count_by(
                lambda **arrays: self.update(**arrays, partial=goes_on, on_queries=on_queries)
            )
        rows = read_rows(**given, config=self._config, goes_on=goes_on)
        if not len(rows):
            return self
        if goes_on and rows.ids is None:
            raise InvalidInputError("is missing: queries that go on need ids", argument="query")
        check_new(rows.ids, self._held.state.states, name="query", allow_open=goes_on)
        if goes_on:
            part = RankingState.of_open(queries_of(rows, self._config), self._config)
            return self._add(part.fitted(self._config))
        if on_queries is not None or not self._may_be_pending(rows):
            return self._add(_completed(rows, self._config, on_queries))
        # query numbers rise by one within a block, so its ends give the number of queries
        buffered = self._held
        first = buffered.rows.columns[0][-1] + 1 if buffered.used else 0
        query = np.repeat(np.arange(first, first + len(rows)), rows.sizes)
        return self._append(Rows((query, rows.relevance, rows.score)))

    def update_run(
        self,
        run: Any,
        qrels: Any,
        count_missing: bool = True,
        *,
        query_weight: Mapping[Any, Any] | None = None,
        on_queries: OnQueries | None = None,
    ) -> Self:
        """Count a run against its judgments, each query complete: the run first.

        pytrec_eval, ir_measures and trec_eval take the judgments first. Exchanged arguments are
        refused where `streameval.io` has read them, and warned of where all scores are small
        whole numbers and most judgments fractions.

        Parameters
        ----------
        run : mapping
            From query to a mapping from document to score, as `streameval.io.read_run` gives.
        qrels : mapping
            From query to a mapping from document to relevance, as `streameval.io.read_qrels`
            gives. Documents that it lacks have not been judged; queries of which it has none
            are left out, as in trec_eval.
        count_missing : bool
            Count the judged queries that the run lacks as missing. A worker with a part of the
            run passes False, and one caller adds `add_missing`.
        query_weight : mapping from query to number, optional
            What each query counts in the means, as in `update`.
        on_queries : callable, optional
            As in `update`; called for each block of queries, and with the missing ones where
            a measure counts them.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            As `update`. Nothing has been counted then.

        Examples
        --------
        >>> import streameval as se
        >>> run = {"q1": {"d1": 0.9, "d2": 0.8}}
        >>> qrels = {"q1": {"d2": 1}, "q2": {"d1": 1}}
        >>> acc = se.RankingAccumulator.like("trec_eval", ["map"]).update_run(run, qrels)
        >>> acc.compute().map, acc.compute(missing="zero").map
        (0.5, 0.25)
        """
        counts_missing = flag(count_missing, name="count_missing")
        if query_weight is not None and not isinstance(query_weight, Mapping):
            raise InvalidInputError(
                f"must map queries to numbers here, got {type(query_weight).__name__}",
                argument="query_weight",
            )
        check_order(run, qrels)
        state = self._state_type(self._config).zero(self._config)
        others: dict[str, Any] = {
            "mask": None,
            "num_relevant": None,
            "config": self._config,
            "in_order": True,  # or warned of
        }
        left_out = unweighted(query_weight or {})
        for number, block in enumerate(judged_rows(run, qrels, left_out=left_out)):
            if number == 0 and seem_exchanged(
                *(block[name] for name in ("relevance", "score", "retrieved"))
            ):
                warnings.warn(
                    "`run` holds small whole numbers, and `qrels` fractions: are they exchanged? "
                    "The run comes first.",
                    stacklevel=2,
                )
            rows = read_rows(**block, **others, query_weight=query_weight)
            check_new(rows.ids, self._held.state.states, name="run")
            state = self._sum(state, _completed(rows, self._config, on_queries))
        if counts_missing:
            names = read_ids(missing_queries(run, qrels), name="qrels")
            check_new(names, self._held.state.states, name="qrels")
            if run and qrels and run.keys().isdisjoint(qrels):
                warnings.warn(
                    f"no query of `run` is judged: it begins with query {next(iter(run))!r}, and "
                    f"`qrels` with {next(iter(qrels))!r}.",
                    stacklevel=2,
                )
            weights = read_weights_of(query_weight, names)
            state = self._sum(state, _missed(names, weights, self._config, on_queries))
        return self._add(state)

    def close(self, ids: Any = None, *, on_queries: OnQueries | None = None) -> Self:
        """Evaluate open queries and count them as complete; their rows are forgotten.

        Parameters
        ----------
        ids : array of shape (n,), optional
            Which ones; all by default.
        on_queries : callable, optional
            As in `update`.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When a query is not open; none has been closed then.
        """
        state = self._state
        queries = state.open
        closing = np.arange(len(queries))
        if ids is not None:
            closing = open_indices(read_ids(ids, name="ids"), state, name="ids")
        if len(closing):
            left = np.setdiff1d(np.arange(len(queries)), closing)
            complete = _completed(queries.select(closing), self._config, on_queries)
            self._state = self._sum(state.without_open(left), complete)
        return self

    def add_missing(
        self, ids: Any, *, query_weight: Any = None, on_queries: OnQueries | None = None
    ) -> Self:
        """Count judged queries that are absent from the run.

        Parameters
        ----------
        ids : array of shape (n,)
            The queries: integers or strings, each once.
        query_weight : array of shape (n,), or mapping from query to number, optional
            What each counts in the means, as in `update`.
        on_queries : callable, optional
            As in `update`; not called where no measure counts missing queries.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When a query is given twice, or is known to be counted.
        """
        names = read_ids(ids, name="ids")
        check_new(names, self._held.state.states, name="ids")
        order = np.argsort(as_ids(ids, name="ids"), kind="stable")
        weights = read_weights_of(query_weight, names, order)
        return self._add(_missed(names, weights, self._config, on_queries))

    def compute(
        self, empty: PolicyOption | None = None, missing: PolicyOption | None = None
    ) -> Ranking:
        """Compute the means over the queries that are complete.

        Parameters
        ----------
        empty, missing : str or mapping, optional
            As in the class, instead of its options; another word raises.

        Returns
        -------
        Ranking
            Frozen: later updates do not change it.
        """
        from streameval.results.ranking import Ranking  # noqa: PLC0415 (rendering too)

        return Ranking.of(self._state, self._config, empty=empty, missing=missing)

    @property
    def _state(self) -> RankingState:
        parts: Any = self._held.state_by(self._with_rows)
        state: RankingState = parts.summed(self._config)
        return state

    @_state.setter
    def _state(self, state: RankingState) -> None:
        self._held = BufferedState.of(RankingParts((state,)))

    @property
    def n(self) -> int | float:
        """The sum of the weights of the complete queries, which is their number without weights.

        An int, or a float once a weight with a fraction has been counted.
        """
        held = self._held.snapshot()
        total: FixedPoint = held.state.n
        pending = FixedPoint(np.array(_n_queries(held.rows) if held.used else 0))
        return (total + pending).to_number()

    def _may_be_pending(self, rows: Documents) -> bool:
        """Check that a batch of complete queries is small, and that counting it cannot fail."""
        return len(rows.score) <= _SMALL and rows.is_minimal and not self._config.keeps_ids

    def _with_rows(self, state: Any, rows: Rows) -> Any:
        batch = _completed(Documents.of_queries(*rows.columns), self._config, None)
        return state.with_batch(batch, self._config)

    def _block(self, state: Any, rows: Rows) -> RowBuffer:
        return RowBuffer.like(rows, _CAPACITY if state.n.whole else _FIRST)

    def _fold(self, alike: Sequence[Any]) -> BufferedState[Any]:
        return BufferedState.of(RankingParts((self._sum(*(one._state for one in alike)),)))

    def _add(self, batch: RankingState) -> Self:
        """Add the counts of a batch to the parts of the state."""
        buffered = self._held
        parts = buffered.state.with_batch(batch, self._config)
        spare = buffered.spare - int(batch.n.whole) - (not batch.n.is_whole)
        if spare >= 0:
            self._held = BufferedState(parts, buffered.block, buffered.used, spare)
        else:
            self._state = self._sum(self._state, batch)
        return self


def _n_queries(rows: Rows) -> int:
    query = rows.columns[0]
    return int(query[-1] - query[0]) + 1


def _completed(
    queries: Queries | Documents, config: RankingConfig, on_queries: OnQueries | None
) -> RankingState:
    """Evaluate queries; `on_queries` gets the values of each, as `Ranking.per_query` gives them."""
    blocks = complete_queries(queries, config) if isinstance(queries, Documents) else [queries]
    values = QueryValues.concatenate([evaluate(block, config) for block in blocks])
    if on_queries is not None:
        if queries.ids is None:
            raise InvalidInputError("is missing: `on_queries` needs ids", argument="query")
        kept = attrs.evolve(config, per_query=True)
        counted = RankingState.of_complete(values, queries.ids, kept, queries.weights)
        _send(counted, kept, on_queries)
    return RankingState.of_complete(values, queries.ids, config, queries.weights)


def _missed(
    ids: Array, weights: FixedPoint, config: RankingConfig, on_queries: OnQueries | None
) -> RankingState:
    """Count judged queries that are absent; `on_queries` gets what they count, if they do."""
    counts = weights.is_positive()
    if not counts.all():
        ids, weights = ids[counts], weights_of(weights, counts)
    if on_queries is not None and len(ids):
        kept = attrs.evolve(config, per_query=True)
        _send(RankingState.of_missing(ids, kept, weights), kept, on_queries)
    return RankingState.of_missing(ids, config, weights)


def _send(state: RankingState, config: RankingConfig, on_queries: OnQueries) -> None:
    from streameval.results.ranking import Ranking  # noqa: PLC0415 (rendering too)

    columns = Ranking.of(state, config, empty=None, missing=None).per_query()
    if len(columns["query"]):
        on_queries(columns)
