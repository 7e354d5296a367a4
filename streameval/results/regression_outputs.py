"""The result of `RegressionAccumulator` with outputs: the errors of each, and their averages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import attrs
import numpy as np

from streameval.configs.options import finite_number, one_of
from streameval.configs.regression import AVERAGES, RegressionConfig
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.exact.array_types import Floats
from streameval.metrics import regression_table
from streameval.metrics.bounded import Bounded, mean_of
from streameval.metrics.regression import spread
from streameval.metrics.table import Metric, Reading, Table
from streameval.render.sheets import Sheet
from streameval.render.text import plural
from streameval.results import findings
from streameval.results.classes import OfItems
from streameval.results.members import RegressionOutputsMembers, add_members
from streameval.results.metric_values import MetricValue, Multioutput, OutputAverages
from streameval.results.names import MetricName
from streameval.results.reading import Asked
from streameval.results.regression import Regression
from streameval.results.result import Report, SumsResult
from streameval.results.tables import ItemAxis, PerItem
from streameval.states.regression_outputs import OutputSums


@attrs.frozen(repr=False, eq=False, slots=False)
class RegressionOutputs(RegressionOutputsMembers, OfItems[int | str, Regression], SumsResult):
    """Errors of rows that predict several numbers, and their averages.

    Made by `RegressionAccumulator.compute` with ``outputs=d``. A mapping from the name of an
    output, or its index if it has none, to its `Regression`; the index always finds it. Each metric
    of `Regression` is an attribute here too: its mean over the outputs where it is defined. Index
    it by output, or call it for another average: `multioutput` is ``"raw_values"``,
    ``"variance_weighted"`` or a weight for each output, as in scikit-learn. Metrics with an
    argument take `multioutput` too. Averages have no known sampling interval; the intervals of
    outputs are in ``result[i].confidence``.
    """

    _state: OutputSums
    _config: RegressionConfig

    @property
    def _keys(self) -> Sequence[int | str]:
        return self._config.output_names or range(self._config.n_outputs)

    def _position(self, key: Any) -> int | None:
        if isinstance(key, (int, np.integer)):
            return int(key) if 0 <= key < len(self) else None
        return self._keys.index(key) if isinstance(key, str) and key in self._keys else None

    def _no_item(self, key: Any) -> str:
        return f"no output {key!r}: there are {self._listed}"

    def _part(self, position: int) -> Regression:
        return Regression(self._states[position], self._config)

    @cached_property
    def _states(self) -> Sequence[Any]:
        """The sums of each output."""
        return self._state.outputs()

    @property
    def exact(self) -> bool:
        """Whether no value has bounds."""
        return all(one.exact for one in self.values())

    def adjusted_r2(
        self, n_features: int, *, multioutput: Multioutput = "uniform_average"
    ) -> float | Floats:
        """Compute R2 with a penalty for the number of features of the model.

        nan when the truth is constant, or unless n is more than n_features + 1.

        Parameters
        ----------
        n_features : int
            At least 0.
        multioutput : {"uniform_average", "variance_weighted", "raw_values"} or sequence of float
            As for `value`.
        """
        found: float | Floats = self.value("adjusted_r2", n_features, multioutput=multioutput)
        return found

    def pinball_loss(
        self, alpha: float, *, multioutput: Multioutput = "uniform_average"
    ) -> float | Floats:
        """Compute the mean pinball loss, that of predicted quantiles.

        A prediction below the truth costs alpha times its error, one above 1 - alpha times; with
        alpha of 0.5 that is half the mean absolute error.

        Parameters
        ----------
        alpha : float
            In [0, 1].
        multioutput : {"uniform_average", "variance_weighted", "raw_values"} or sequence of float
            As for `value`.
        """
        found: float | Floats = self.value("pinball_loss", alpha, multioutput=multioutput)
        return found

    def _checked(self, multioutput: Any) -> str | list[float]:
        """Check the name of an average, or the weights of the outputs."""
        if isinstance(multioutput, str) or not isinstance(multioutput, Iterable):
            word: str | list[float] = one_of(
                multioutput, (*AVERAGES, "raw_values"), name="multioutput"
            )
            return word
        if isinstance(multioutput, (set, frozenset, Mapping)):
            raise InvalidInputError(
                f"must be a sequence of weights, whose order counts, got "
                f"{type(multioutput).__name__}",
                argument="multioutput",
            )
        weights = [finite_number(one, name="multioutput") for one in multioutput]
        if len(weights) != len(self) or min(weights) < 0.0 or not sum(weights):
            raise InvalidInputError(
                f"must be {' or '.join(AVERAGES)}, raw_values or a weight of at least 0 for each "
                f"of {plural(len(self), 'output')}, not all 0, got {multioutput!r}",
                argument="multioutput",
            )
        scale = -math.frexp(max(weights))[1]  # so that products with the largest numbers are finite
        return [math.ldexp(weight, scale) for weight in weights]

    def _sheet(self, level: float, max_classes: int) -> Sheet:  # noqa: ARG002 - averages have none
        """Return the content of the report: the metrics of each output, and their averages."""
        sizes = f"n = {self.n:,}, {plural(len(self), 'output')}"
        return [sizes, self._outputs(0.0).grid(max_classes)]

    _REPORT = Report(_sheet, findings=findings.of_outputs)

    _PAGE: ClassVar = {
        "heading": lambda one, _: f"Regression of {plural(len(one), 'output')}",
        "common_heading": "Regression of several outputs",
        "title": "Averages",
        "by_class": lambda one, _: one._outputs(0.0).block(),
        "form": lambda one, _: one._metric_names(),
    }

    def __repr__(self) -> str:
        means = (f"{name}={self._number(name):.6g}" for name in self._metric_names())
        return f"RegressionOutputs(n={self.n}, outputs={len(self)}, {', '.join(means)})"

    def _attribute(self, name: str) -> Any:
        if self._why_absent(name) or self.TABLE[name].arguments:
            return super()._attribute(name)
        return self._averaged(name)

    def _averaged(self, name: str) -> MetricValue[OutputAverages]:
        def mean(multioutput: Multioutput = "uniform_average") -> Any:
            return self.value(name, multioutput=multioutput)

        return MetricValue(mean)

    def _of_output(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked:
        """Find a metric of one output, or an average over them."""
        name, of = MetricName(metric.name), metric.of
        if of is not None and of not in AVERAGES:
            return self._output(of)._asked(name, args, options)
        if not (args or options.keys() - {"multioutput"}):
            name = MetricName(self._rows.canonical(metric.name))
        asked = self._asked_of_all(name, args, options)
        return asked if of is None else attrs.evolve(asked, options={"multioutput": of})

    def _output(self, name: str) -> Regression:
        output = int(name) if name.isdecimal() else name
        if output not in self:
            raise UnknownMetricError(f"no output {name!r}: there are {self._listed}, and averages.")
        return self[output]

    @property
    def _listed(self) -> str:
        """The outputs, in words."""
        return ", ".join(self._config.output_names) or f"0 to {len(self) - 1}"

    def _mean(self, values: Sequence[Any], how: str | list[float] = "uniform_average") -> Any:
        """Average the values of the outputs where they are defined."""
        weights = [1.0] * len(self) if isinstance(how, str) else how
        if how == "variance_weighted":
            n = self._states[0].n.to_fraction()
            spreads = [spread(one.truth, one.squared_truth, n) for one in self._states]
            largest = max(spreads) or 1
            weights = [part / largest for part in spreads]
        mean = mean_of([*map(_bounded, values)], weights, max_value=math.inf)
        return mean if isinstance(values[0], Bounded) else float(mean)

    def _outputs(self, level: float) -> ItemAxis:
        """Read the metrics of each output."""
        shown = {name: self._rows[name].heading for name in self._metric_names()}

        def average(name: str, how: str) -> Reading:
            return self.read(f"{name}[{how}]", level=0.0)

        averages = {how: how for how in AVERAGES}
        read = partial(self._each, level=level)
        return ItemAxis({"output": [*self]}, [*shown], read, shown, averages, average)

    _PER_ITEM = PerItem("output", _outputs, in_json=True, results=dict, asked=_of_output)


_AVERAGES = dict(
    zip(AVERAGES, ("the mean over outputs", "weighted by the variance of the truth"), strict=True)
)


@lru_cache(maxsize=1024)
def _averaged_rows(config: RegressionConfig) -> Table:
    """Make the rows of one output those of means, which have no sampling intervals."""
    rows = regression_table.rows_with(config)
    return Table(*map(_averaged_row, rows.values()), canonical=rows.canonical)


def _averaged_row(row: Metric) -> Metric:
    """Make the row of a mean over outputs."""
    if row.is_count:
        return row

    def value(
        result: RegressionOutputs, *args: Any, multioutput: Any = AVERAGES[0], **options: Any
    ) -> Any:
        how = result._checked(multioutput)
        row.check_arguments(args, options)
        if args or options:
            values = tuple(row.value(one, *args, **options) for one in result.values())
        else:
            values = result._of_each[row.name]
        return np.array(values) if how == "raw_values" else result._mean(values, how)

    def refuse(result: RegressionOutputs, *_: Any, **__: Any) -> Any:
        raise InvalidInputError(
            "is an average over outputs, of which no sampling interval is known",
            argument=row.name,
            remedy=f"Ask one output for its own, as in result[{next(iter(result))!r}].confidence.",
        )

    sampled = attrs.evolve(row, sampling=refuse, check_draws=refuse, why_none="")
    return attrs.evolve(sampled, value=value, averages=_AVERAGES)


def _bounded(value: float) -> Bounded:
    return value if isinstance(value, Bounded) else Bounded(value)


RegressionOutputs.TABLE = Table(
    *regression_table.TABLE.values(),
    of_result=lambda one: _averaged_rows(one._config),
    task=regression_table.TABLE.task,
)

add_members(RegressionOutputs)
