"""Rankings as pictures."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from offenders import each

import streameval as se

pytestmark = pytest.mark.usefixtures("closed_figures")

mpl.use("agg")


def ranking(*measures: str, n: int = 30, seed: int = 0) -> se.Ranking:
    rng = np.random.default_rng(seed)
    relevance = (rng.random((n, 20)) < 0.2).astype(int)
    return se.RankingAccumulator(measures).update(relevance, rng.random((n, 20))).compute()


def cut() -> se.Ranking:
    """Of queries that went on past the rows that are kept."""
    rng = np.random.default_rng(0)
    acc = se.RankingAccumulator(["map", "p@3"], rows_per_query=4)
    for query in range(9):
        labels, ids = (rng.random(30) < 0.3).astype(int), np.full(30, query)
        acc.update(labels, rng.random(30), query=ids, partial=True)
    return acc.close().compute()


def points(ax: Axes, place: int = 0) -> tuple[list[float], list[float]]:
    line = ax.containers[place].lines[0]
    return list(line.get_xdata()), list(line.get_ydata())


def whiskers(ax: Axes) -> list[tuple[float, float]]:
    (bars,) = ax.containers[0].lines[2]
    return [(path[0, 0], path[1, 0]) for path in bars.get_segments()]


def broad(ax: Axes) -> list[np.ndarray]:
    own = [bar for held in ax.containers for bar in held.lines[2]]
    lines = [item for item in ax.collections if isinstance(item, LineCollection)]
    return [path for item in lines if item not in own for path in item.get_segments()]


def names(ax: Axes) -> list[str]:
    return [tick.get_text() for tick in ax.get_yticklabels()]


def test_plot_shows_the_mean_of_each_measure() -> None:
    found = ranking("map", "mrr", "p@5")
    ax = found.plot()
    values, places = points(ax)
    assert values == list(found.values())
    assert (places, names(ax)) == ([0.0, 1.0, 2.0], ["map", "mrr", "p@5"])
    assert ax.get_title() == "30 queries, 95% intervals"
    of_one = se.RankingAccumulator("map").update([[1, 0]], [[2.0, 1.0]]).compute()
    assert of_one.plot().get_title() == "1 query, 95% intervals"
    assert ax.get_xlim() == (0.0, 1.02)
    assert ax.yaxis_inverted()


@each("level", [0.5, 0.95])
def test_plot_has_whiskers_for_the_sampling_intervals(level: float) -> None:
    found = ranking("map", "hit@10")
    expected = [found.confidence(name, level=level) for name in found]
    assert np.allclose(whiskers(found.plot(level=level)), expected, rtol=0, atol=1e-15)


def test_plot_has_bars_for_the_certified_intervals() -> None:
    found = cut()
    ax = found.plot()
    assert not found["map"].exact
    assert found["p@3"].exact
    (bar,) = broad(ax)
    assert bar.tolist() == [[found["map"].low, 0.0], [found["map"].high, 0.0]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["exact value within"]


def test_plot_has_no_bars_if_all_is_exact() -> None:
    ax = ranking("map").plot()
    assert broad(ax) == []
    assert ax.get_legend() is None


def test_plot_of_a_perfect_ranking_has_whiskers_that_end_at_it() -> None:
    found = se.RankingAccumulator(["map"]).update([[1, 0]] * 3, [[2.0, 1.0]] * 3).compute()
    ((low, high),) = whiskers(found.plot())
    assert (found["map"], high) == (1.0, 1.0)
    assert low < 1.0


def test_plot_of_a_single_query_has_a_whisker_as_long_as_the_range() -> None:
    assert whiskers(ranking("map", n=1).plot()) == [(0.0, 1.0)]


def test_plot_of_gains_may_pass_1() -> None:
    acc = se.RankingAccumulator(["dcg@10", "map"])
    found = acc.update([[5, 3, 0], [4, 0, 5]], [[3, 2, 1], [3, 2, 1]]).compute()
    assert found["dcg@10"] > 1
    ax = found.plot()
    assert ax.get_xlim()[1] > found["dcg@10"]


def test_plots_of_several_share_the_lines_of_a_measure() -> None:
    one, other = ranking("map", "mrr"), ranking("p@5", "mrr", seed=1)
    ax = one.plot(label="one")
    assert other.plot(ax, label="other") is ax
    assert names(ax) == ["map", "mrr", "p@5"]
    assert points(ax, 1)[0] == list(other.values())
    assert np.round(points(ax, 1)[1]).tolist() == [2.0, 1.0]
    assert points(ax, 0)[1][1] < points(ax, 1)[1][1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert ax.get_title() == "30 queries, 95% intervals"


def test_plots_of_several_name_no_certified_intervals() -> None:
    ax = cut().plot(label="a")
    assert len(broad(ax)) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a"]


def test_plot_of_no_query_is_refused_before_there_is_a_figure() -> None:
    before = pyplot.get_fignums()
    with pytest.raises(se.InvalidInputError, match=r"^`plot` needs a query that was counted"):
        se.RankingAccumulator().compute().plot()
    assert pyplot.get_fignums() == before


def test_plot_leaves_out_a_measure_that_is_undefined() -> None:
    found = se.RankingAccumulator(["map", "mrr"], empty={"map": "nan"})
    ax = found.update([[0, 0], [1, 0]], [[1.0, 2.0], [1.0, 2.0]]).compute().plot()
    values, _ = points(ax)
    assert np.isnan(values).tolist() == [True, False]
    ax.figure.canvas.draw()
