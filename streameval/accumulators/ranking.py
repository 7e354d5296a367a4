"""Measures of rankings, summed over queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, final

import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.accumulators.completed_queries import HeldQueries, OnQueries, completed, missed
from streameval.accumulators.query_ids import check_new, open_places, read_ids
from streameval.accumulators.ranked_rows import read_rows
from streameval.configs.measures import DEFAULT_MEASURES
from streameval.configs.options import flag
from streameval.configs.presets import preset
from streameval.configs.ranking import RankingConfig
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.judged_runs import judged_rows, missing_queries
from streameval.results.ranking import Ranking
from streameval.states.ranking import RankingState
from streameval.states.ranking_parts import added
from streameval.states.ranking_rows import queries_of

__all__ = ["RankingAccumulator"]

Policy = str | Mapping[str, str]


@final
class RankingAccumulator(Accumulator[RankingConfig, RankingState], kind=6, config=RankingConfig):
    """Measure rankings of documents, query by query, and keep the sums.

    Search results, recommendations, any list ordered by a score. A batch holds complete
    queries, which are folded into exact sums at once; or rows of queries that go on in later
    batches and on other workers, of which the top is kept until they are closed.

    Parameters
    ----------
    measures : sequence of str
        ``map``, ``mrr``, ``ndcg``, ``dcg``, alone or cut as in ``map@100``; ``p@k``, ``r@k``,
        ``hit@k``, ``judged@k``, ``err@k``; ``rprec``, ``lrap``, ``rbp(p=0.8)``, ``bpref``,
        ``set_p``, ``set_r``, ``set_f``, ``gm_map``. A relevance level of its own stands in
        brackets: ``p(rel=2)@5``. The names of ir_measures (``nDCG@10``, ``AP``, ``RR@10``) and
        of trec_eval (``ndcg_cut_10``, ``recip_rank``) mean the same.
    relevance_level : float
        A document is relevant from this relevance on. Gains do not depend on it.
    gain : {"linear", "exp2"} or mapping
        What a relevance is worth in NDCG and DCG: itself, ``2**relevance - 1``, or what the
        mapping gives for it.
    ties : {"expected", "docid_desc", "pessimistic", "optimistic"}
        What documents of one score count: the mean over all orders; the order by falling
        document id, as in trec_eval; the least or the greatest value of each measure.
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
        How many rows of an open query are kept for measures without a cutoff: they are exact
        up to so many rows, and past that they have bounds.
    max_open_queries : int, optional
        How many queries may be open; more raise.
    per_query : bool
        Keep the values of each query too, with its id; see `Ranking.per_query`.

    Notes
    -----
    The formulas stand with `Ranking`. A query has one value, to the last bit, whatever batch it
    came in. It may have 2**24 rows.

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
    """

    __slots__ = ()

    _arrays = ("relevance", "score")
    _optional_arrays = ("query", "mask", "retrieved", "num_relevant", "doc")

    _held: HeldQueries

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
        empty: Policy = "zero",
        missing: Policy = "zero",
        track_queries: bool = False,
        rows_per_query: int = 1000,
        max_open_queries: int | None = None,
        per_query: bool = False,
    ) -> None:
        super().__init__(
            RankingConfig.of(
                measures=measures,
                relevance_level=relevance_level,
                gain=gain,
                ties=ties,
                ap_norm=ap_norm,
                unjudged=unjudged,
                negative=negative,
                nan=nan,
                empty=empty,
                missing=missing,
                track_queries=track_queries,
                rows_per_query=rows_per_query,
                max_open_queries=max_open_queries,
                per_query=per_query,
            )
        )

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
            "trec_eval": ``ties="docid_desc", missing="skip", negative="zero"``. "sklearn":
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
        return cls(measures, **(preset(name, measures) | overrides))

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
        partial: bool = False,
        on_queries: OnQueries | None = None,
    ) -> Self:
        """Count one batch of queries.

        Parameters
        ----------
        relevance : array of shape (queries, candidates), or (n,) with `query`
            The relevance of each document; NaN where it was not judged. Alone, a batch: a tuple
            or list of relevance and score, or a mapping, data frame or Arrow table with columns
            of these names and those below.
        score : array of the same shape
            The scores; the highest ranks first.
        query : array of shape (n,), or (queries,) for a block
            The query of each row: integers or strings, not both. Rows may stand in any order.
        mask : bool array of the same shape, optional
            True for a real candidate of a padded block; what else is there does not matter.
        retrieved : bool array of the same shape, optional
            False for a judged document that was not returned: it counts as known, has no rank,
            and its score does not matter.
        num_relevant : array of shape (queries,), or mapping from query to number, optional
            How many relevant documents there are, in place of rows with ``retrieved=False``.
        doc : array of the same shape, optional
            Document ids, integers or strings: none may occur twice in a query.
            ``ties="docid_desc"`` needs them.
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
        optional = query, mask, retrieved, num_relevant, doc
        given = self._named(relevance, score, optional=optional)
        goes_on = flag(partial, name="partial")
        rows = read_rows(**given, config=self._config, goes_on=goes_on)
        if not len(rows):
            return self
        if goes_on and rows.ids is None:
            raise InvalidInputError("`query` is missing: queries that go on need ids.")
        check_new(rows.ids, self._held.parts, name="query", allow_open=goes_on)
        if goes_on:
            part = RankingState.of_open(queries_of(rows, self._config), self._config)
            return self._absorb(part.fitted(self._config))
        if on_queries is None and self._held.takes(rows, self._config):
            self._held = self._held.with_rows(rows, self._config)
            return self
        return self._absorb(completed(rows, self._config, on_queries))

    def update_run(
        self,
        run: Any,
        qrels: Any,
        count_missing: bool = True,
        *,
        on_queries: OnQueries | None = None,
    ) -> Self:
        """Count a run against its judgements, each query complete.

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
        state = self._state_type(self._config).zero(self._config)
        for block in judged_rows(run, qrels):
            rows = read_rows(**block, mask=None, num_relevant=None, config=self._config)
            check_new(rows.ids, self._held.parts, name="run")
            state = self._sum(state, completed(rows, self._config, on_queries))
        if counts_missing:
            names = read_ids(missing_queries(run, qrels), name="qrels")
            check_new(names, self._held.parts, name="qrels")
            state = self._sum(state, missed(names, self._config, on_queries))
        return self._absorb(state)

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
        places = np.arange(len(queries))
        if ids is not None:
            places = open_places(read_ids(ids, name="ids"), state, name="ids")
        if len(places):
            left = np.setdiff1d(np.arange(len(queries)), places)
            complete = completed(queries.select(places), self._config, on_queries)
            self._state = self._sum(state.without_open(left), complete)
        return self

    def add_missing(self, ids: Any, *, on_queries: OnQueries | None = None) -> Self:
        """Count judged queries that are absent from the run.

        Parameters
        ----------
        ids : array of shape (n,)
            The queries: integers or strings, each once.
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
        check_new(names, self._held.parts, name="ids")
        return self._absorb(missed(names, self._config, on_queries))

    def compute(self, empty: Policy | None = None, missing: Policy | None = None) -> Ranking:
        """Compute the means over the queries that are complete.

        Parameters
        ----------
        empty, missing : str or mapping, optional
            As in the class, in place of what was chosen there; another word raises.

        Returns
        -------
        Ranking
            Frozen: later updates do not change it.
        """
        return Ranking.of(self._state, self._config, empty=empty, missing=missing)

    @property
    def _state(self) -> RankingState:
        return self._held.state(self._config)

    @_state.setter
    def _state(self, state: RankingState) -> None:
        self._held = HeldQueries((state,))

    @property
    def _total(self) -> FixedPoint:
        return self._held.n

    def _sum(self, a: RankingState, b: RankingState) -> RankingState:
        return added(a, b, self._config)

    def _absorb(self, batch: RankingState) -> Self:
        self._held = self._held.with_batch(batch, self._config)
        return self

    @staticmethod
    def _state_type(config: RankingConfig) -> type[RankingState]:  # noqa: ARG004
        return RankingState
