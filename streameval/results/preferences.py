"""The result of `PreferencesAccumulator`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.exact.array_types import Floats, Ints
from streameval.inputs.classes import Label
from streameval.metrics import preferences_table
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest
from streameval.render.sheets import Sheet
from streameval.render.text import chance_title, plural
from streameval.results import findings
from streameval.results.members import PreferencesMembers, add_members
from streameval.results.names import MetricName
from streameval.results.reading import Asked
from streameval.results.result import Report, SumsResult, sizes_of
from streameval.results.tables import ItemAxis, PerItem, Readings

PairCounts = Ints | Floats


@attrs.frozen(repr=False, eq=False, slots=False)
class Preferences(PreferencesMembers, preferences_table.ComparedModels, SumsResult):
    """Wins and ties of models that were compared in pairs, and what follows from them.

    Made by `PreferencesAccumulator.compute`. `win_rate` and `bradley_terry` are dictionaries from
    model to number; ``confidence("bradley_terry", model)`` is the interval of one.

    Notes
    -----
    The interval of `win_rate` is Wilson's for the draws whose variance ties have reduced. That of
    `bradley_terry` is normal on the scale of the logarithm, with the sandwich variance, which holds
    even if the model of Bradley and Terry does not. It is (0, inf) for a strength that the data do
    not limit.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.PreferencesAccumulator(["x", "y"])
    >>> result = acc.update(["x"] * 10, ["y"] * 10, [1] * 7 + [0] * 2 + [0.5]).compute()
    >>> result.win_rate, result.tie_rate
    ({'x': 0.75, 'y': 0.25}, 0.1)
    >>> round(result.bradley_terry["x"], 4)
    1.7321
    >>> [round(end, 2) for end in result.confidence("bradley_terry", "x")]
    [0.86, 3.5]
    """

    TABLE = preferences_table.TABLE
    _DETAILS: ClassVar = {
        "models": lambda result, _: list(result.models),
        "matrix": lambda result, _: result.matrix.tolist(),
        "ties": lambda result, _: result.ties.tolist(),
    }

    @property
    def models(self) -> tuple[Label, ...]:
        """The display names of the K models; by default the labels."""
        return self._config.class_names

    @property
    def matrix(self) -> PairCounts:
        """The weights of the wins, shape ``(K, K)``: rows are winners, columns losers."""
        return self._state.wins.to_numbers()

    @property
    def ties(self) -> PairCounts:
        """The weights of the ties, shape ``(K, K)``, symmetric."""
        above = self._state.ties.to_numbers()
        return above + above.T

    @property
    def win_rate(self) -> dict[Label, float]:
        """The share of the comparisons of a model that it won, in [0, 1]; a tie is half a win.

        nan for a model that was not compared.
        """
        return {name: self._rate(at) for at, name in enumerate(self.models)}

    @property
    def bradley_terry(self) -> dict[Label, float]:
        """The strength s of a model, at least 0: it beats another with s / (s + its strength).

        A tie is half a win of each. Strengths of comparable models have the geometric mean 1. It is
        infinite or 0 for models that never lost or never won, and nan where no ratio to others
        follows.
        """
        return dict(zip(self.models, self._strengths.values.tolist(), strict=True))

    def _ratings(self, request: PlotRequest) -> Dots:
        """Show the finite strengths on the scale of Elo."""
        strengths_of = self._models(request.level).read("bradley_terry")
        ratings = {str(self.models[at]): _rating(strengths_of[at]) for at in self._ranked}
        shown = {name: one for name, one in ratings.items() if math.isfinite(one.value)}
        if not shown:
            raise InvalidInputError("needs models with finite strengths", argument="plot")
        title = f"{plural(self.n, 'comparison')}, {chance_title(request.level)}s"
        return Dots(title, shown, across="rating on the scale of Elo")

    PICTURES: ClassVar = {"ratings": _ratings}

    def __repr__(self) -> str:
        """Show the size on one line."""
        return f"Preferences(n={self.n}, models={len(self.models)}, tie_rate={self.tie_rate:.6g})"

    @property
    def _ranked(self) -> list[int]:
        """The models, the strongest first; those without a strength by their win rates, last."""
        found: list[float] = self._strengths.values.tolist()

        def rank(at: int) -> tuple[bool, float, bool, float]:
            strength, rate = found[at], self._rate(at)
            has_none = math.isnan(strength), math.isnan(rate)
            by_strength = 0.0 if has_none[0] else -strength
            return has_none[0], by_strength, has_none[1], 0.0 if has_none[1] else -rate

        return sorted(range(len(self.models)), key=rank)

    def _of_model(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked | None:
        """Find a metric of a model."""
        if metric.name not in _OF_MODELS:
            return None
        if metric.of is None and not (args or options):
            example = f"{metric.name}[{self.models[0]}]"
            raise UnknownMetricError(f"{metric.name} is of one model: write {example}.")
        if metric.of is not None:
            args = (self.models[self._position(metric.of)], *args)
        return self._asked_of_all(MetricName(metric.name), args, options)

    def _models(self, level: float) -> ItemAxis:
        """Read the metrics of each model, and how often it won and lost."""
        z, is_whole = normal_quantile(level), self._state.n.is_whole
        shown = {name: self.TABLE[name].heading for name in _OF_MODELS}

        def read(name: str) -> Readings:
            if name in _RECORD:
                records = map(self._record, range(len(self.models)))
                column = [record[_RECORD.index(name)] for record in records]
                return Readings([*map(int, column)] if is_whole else column, is_count=True)
            row = self.TABLE[name]
            pairs = ((model, row.value(self, model)) for model in self.models)
            return Readings.of([self._reading(row, number, z, model) for model, number in pairs])

        return ItemAxis({"model": self.models}, [*shown, *_RECORD], read, shown)

    _PER_ITEM = PerItem("model", _models, in_json=True, asked=_of_model)

    _PAGE: ClassVar = {
        "heading": "Preferences",
        "by_class": lambda one, level: one._models(level).block(one._ranked, position="under"),
    }

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        """Return the content of the report: the size, and a line for each model."""
        sizes = f"{sizes_of(self)}, tie_rate = {self.tie_rate:.6g}"
        models = self._models(level)
        return [sizes, models.grid(max_classes, level, self._ranked)]

    _REPORT = Report(_sheet, findings=findings.of_preferences)


def _rating(strength: Reading) -> Reading:
    """Change a strength and its interval to the scale of Elo."""
    ends = strength.sampling
    return Reading(_elo(strength.value), None if ends is None else (_elo(ends[0]), _elo(ends[1])))


def _elo(strength: float) -> float:
    return 400.0 * math.log10(strength) + 1000.0 if strength > 0.0 else -math.inf


_OF_MODELS = ("win_rate", "bradley_terry")
_RECORD = ("wins", "losses", "ties")


add_members(Preferences)
