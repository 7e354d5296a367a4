"""The types of results, in the order in which they are shown."""

from __future__ import annotations

from streameval.configs.collection import SEPARATOR
from streameval.configs.names import nearest
from streameval.errors import UnknownMetricError
from streameval.results.calibration import Calibration
from streameval.results.catalog import Catalog
from streameval.results.class_curves import ClassCurves
from streameval.results.collection import CollectionResult
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.names import MetricName
from streameval.results.paired import PairedResult
from streameval.results.preferences import Preferences
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression
from streameval.results.regression_outputs import RegressionOutputs
from streameval.results.result import Result
from streameval.results.sliced import SlicedResult
from streameval.results.summary import Summary
from streameval.results.windowed import WindowedResult

RESULTS: tuple[type[Result], ...] = (
    Confusion,
    Curve,
    ClassCurves,
    GroupedCurves,
    Calibration,
    Ranking,
    Regression,
    RegressionOutputs,
    PairedResult,
    Catalog,
    Preferences,
    Summary,
    CollectionResult,
    SlicedResult,
    WindowedResult,
)

WITH_TABLES = tuple(result for result in RESULTS if result is not RegressionOutputs)
"""The types with their own table of metrics; outputs share the table of a single output."""


def check_metric_of_task(metric: MetricName, task: str) -> None:
    """Refuse the name of a metric that no result of a task can have.

    Raises
    ------
    UnknownMetricError
        If no result has it; the message suggests a similar metric.
    """
    rows = [row for result in WITH_TABLES if task == result.TASK for row in result.TABLE.values()]
    known = [row.name for row in rows]
    averaged = [f"{row.name}_{average}" for row in rows for average in row.averages]
    name = metric.name if metric.call is None else metric.call[0]
    if task in (Summary.TASK, PairedResult.TASK):
        name = name.rpartition(SEPARATOR)[2]  # behind that of a column, or of a pair of models
    if name not in (*known, *averaged):
        raise UnknownMetricError(f"no metric {str(metric)!r}: {nearest(name, known)}")
