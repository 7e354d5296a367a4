"""Whether a metric over time has passed a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from streameval.accumulators.panes import Panes
from streameval.accumulators.sealed import live
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.options import finite_number, positive_integer
from streameval.configs.sliced import read_value
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError
from streameval.inputs.durations import read_duration
from streameval.inputs.times import read_step, read_time
from streameval.metrics.evidence import Limit
from streameval.results.evidence import Evidence
from streameval.results.result import Result

_PER = re.compile(r"([0-9]{1,9}) per (\S+)")


def evidence(
    windowed: Windowed,
    metric: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    false_alarms: str | float = "1 per 30d",
    slice: Any = ...,  # noqa: A002 - what a Sliced has
    n_series: int = 1,
    since: Any = None,
) -> Evidence:
    """Test whether a metric has passed a limit, with a guarantee on false alarms.

    You can call it after every pane, forever: the guarantee holds however often you look. The
    newest pane is still open, and does not count.

    Parameters
    ----------
    windowed : Windowed
        What has counted panes.
    metric : str
        As on the command line: ``"accuracy"``, ``"recall[1]"``, ``"roc_auc"``,
        ``"recall_at(0.5)"``, of a `Collection` ``"cm/recall[1]"``.
    at_least, at_most : float
        The limit that the metric is to keep; one of the two.
    false_alarms : str or float
        How often there may be an alarm, on average, while the limit is kept: ``"1 per 30d"``; or
        the mean number of panes between two, such as 10_000, which a pane of integers needs.
    slice : value, optional
        A value of the `Sliced` in the panes; by default all rows count. It must be one of its
        `values`, or so early in the order by hash that no pane counts it among the other rows.
    n_series : int
        How many series share the guarantee: this one, and all other metrics and slices that you
        check.
    since : time, optional
        Panes that begin earlier do not count; pass the time at which the last alarm was over.

    Returns
    -------
    Evidence
        ``firing``, ``fired_at`` and ``log_evidence``.

    Raises
    ------
    InvalidInputError
        When there is no such metric, or it has no evidence that stays valid, such as losses,
        means over classes, or any metric with fractional weights; the message says why.

    Notes
    -----
    The guarantee assumes that, given the past, each example that the metric measures is a hit
    with a probability that keeps the limit; examples may otherwise depend on each other in any
    way. It holds exactly for proportions, F1 and means of rankings; for ``roc_auc``, it holds if
    areas are normal. If a count or an area is not exact, the end of its interval that speaks
    against an alarm is used. A whole weight counts as that many examples.

    Panes without an example that the metric measures change nothing, but their time passes.
    Panes that have been rolled up count as one look, which keeps the guarantee. Evidence is
    computed anew from the panes that are held: an alarm may be gone once the panes that raised it
    are rolled up or lie before all panes. Choose `keep` longer than an alarm may go unread, and
    store `fired_at`.

    References
    ----------
    Shin, Ramdas and Rinaldo, E-detectors: a nonparametric framework for sequential change
    detection, New England Journal of Statistics in Data Science, 2023.

    Examples
    --------
    >>> import streameval as se
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane=100, time="step")
    >>> for step, errors in enumerate([5, 9, 7, 6, 8, 35, 31, 33, 30]):
    ...     w = w.update({
    ...         "y_true": [1] * 100,
    ...         "y_pred": [0] * errors + [1] * (100 - errors),
    ...         "step": [100 * step] * 100,
    ...     })
    >>> found = se.evidence(w, "recall", at_least=0.9, false_alarms=10_000)
    >>> found.firing, found.fired_at
    (True, 600)
    >>> se.evidence(w, "recall", at_least=0.6, false_alarms=10_000).firing
    False
    """
    if not isinstance(windowed, Windowed):
        got = type(windowed).__name__
        raise InvalidInputError(f"must be a Windowed, got {got}", argument="windowed")
    if not isinstance(metric, str):
        raise InvalidInputError(f"must be the name of a metric, got {metric!r}", argument="metric")
    config = windowed._config
    limit = Limit.of(at_least, at_most)
    n_series = positive_integer(n_series, name="n_series")
    panes_between = mean_panes(false_alarms, config)
    total = windowed.view().total.compute()
    if not isinstance(total, Result):
        got = type(total).__name__
        raise InvalidInputError(
            f"must count something with a table of metrics, got a result that is a {got}",
            argument="windowed",
        )
    panes = _panes(windowed, slice, since)
    return Evidence.of(panes, total, metric, limit, mean_panes=panes_between, n_series=n_series)


def _panes(windowed: Windowed, value: Any, since: Any) -> Iterator[tuple[Any, Any, Result | None]]:
    """Yield the closed panes in the order of time, with the result of a slice in each."""
    config, view = windowed._config, windowed.view()
    first = None if since is None else _time(since, config)
    key = value if value is ... else _key(view, value)
    for span in view.spans(first, view.newest):
        part = slice_of(live(span.part), key)
        result = None if part is None else part.compute()
        yield config.shown(span.start), config.shown(span.end), result


def _key(view: Panes, value: Any) -> Any:
    """Read the value of a slice, whose rows must be counted separately in every pane."""
    inner = view.config.accumulator
    if inner.cls is not Sliced:
        raise InvalidInputError(
            f"needs panes that are a Sliced, got {inner.cls.__name__}", argument="slice"
        )
    key = read_value(value, inner.options.column, name="slice")
    if view.parts and key not in inner.options.named:
        observed = {one for part in view.parts for one in live(part)}
        if key not in observed:
            raise InvalidInputError(
                f"must have a slice in some pane, got {value!r}", argument="slice"
            )
        if key not in inner.options.kept(observed):
            raise InvalidInputError(
                f"must have its rows counted separately in every pane, got {value!r}, whose rows "
                "are among the other rows of some panes",
                argument="slice",
                remedy="Name it in `values` of the `Sliced`.",
            )
    return key


def slice_of(part: Any, key: Any) -> Any:
    """Return the accumulator of a slice of a pane, or of all rows for `...`; None without rows.

    The caller must not change it.
    """
    if part is None or not isinstance(part, Sliced):
        return part
    if key is ...:
        return part.view().total
    return part[key] if key in part else None  # noqa: SIM401 - it has no `get`


def mean_panes(false_alarms: Any, config: WindowedConfig) -> float:
    """Read a promise as the mean number of panes between false alarms."""
    if isinstance(false_alarms, str):
        match = _PER.fullmatch(false_alarms)
        if match is None or not int(match[1]):
            raise InvalidInputError(
                f'must be text such as "1 per 30d", or a number of panes, got {false_alarms!r}',
                argument="false_alarms",
            )
        if config.is_step:
            raise InvalidInputError(
                f"must be the mean number of panes between false alarms, such as 10_000, because "
                f"a pane is {config.pane} steps and no time, got {false_alarms!r}",
                argument="false_alarms",
            )
        panes = read_duration(match[2], name="false_alarms") / config.width / int(match[1])
    else:
        panes = finite_number(false_alarms, name="false_alarms")
    if panes < 1.0:
        raise InvalidInputError(
            f"must be at most one in a pane, got {false_alarms!r}", argument="false_alarms"
        )
    return panes


def _time(value: Any, config: WindowedConfig) -> int:
    if config.is_step:
        return read_step(value, name="since")
    return read_time(value, unit=config.unit, name="since")
