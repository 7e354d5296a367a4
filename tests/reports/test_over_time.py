"""States with panes of time: their usual metrics pane by pane, with the share of labelled rows."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from offenders import each
from report_pages import pictures, points, read, styled, text

import streameval as se
from streameval.reports import html_report

mpl.use("Agg")


def windowed(accumulator: Any, n: int = 600, **options: Any) -> se.Windowed:
    """Rows a minute apart, of which the last tenth has no label yet."""
    held = se.Windowed(accumulator, **{"pane": "1h", "unit": "s", **options})
    step = np.arange(n)
    return held.update(
        {
            "y_true": [int(k % 3 == 0) if k < 0.9 * n else None for k in range(n)],
            "y_pred": step % 7 % 2,
            "y_score": step * 37 % 101 / 101,
            "country": ["DE", "FR"][n % 2 :] * n if n % 2 else ["DE", "FR"] * (n // 2),
            "time": 1_700_000_000 + 60 * step,
        }
    )


def titles(page: str) -> list[str]:
    return [text(title) for picture in pictures(read(page)) for title in picture.findall("title")]


@each(
    ("accumulator", "metrics"),
    [
        (se.ConfusionAccumulator(), ["Accuracy", "F1"]),
        (se.PRCurveSketch(8), ["ROC AUC", "Average precision"]),
        (se.Sliced(se.ConfusionAccumulator(), "country"), ["Accuracy", "F1"]),
    ],
)
def test_usual_metrics_are_drawn_over_time(accumulator: Any, metrics: list[str]) -> None:
    held = windowed(accumulator)
    page = html_report({"day": held})
    drawn = [title for title in titles(page) if title.endswith("over time")]
    n_slices = 2 if isinstance(accumulator, se.Sliced) else 0
    assert drawn == [f"{metric} over time" for metric in metrics for _ in range(1 + n_slices)]
    assert page.count("of the rows have labels") >= len(metrics)
    named = (one.get("aria-label", "") for one in read(page).iter() if one.get("role") == "group")
    tables = [name for name in named if name.endswith(" by start")]
    assert tables == [f"{metric} by start" for metric in metrics]
    assert page == html_report({"day": held})
    panes = [(part.total() if isinstance(part, se.Sliced) else part) for *_, part in held.panes()]
    readings = [part.compute().read(part.compute().headline()[0]) for part in panes]
    for part, reading in zip(panes, readings, strict=True):
        if part.n:
            assert reading.sampling is not None
            ends = " \N{EN DASH} ".join(f"{end:.4f}" for end in reading.sampling)
            assert f'<span class="value">{float(reading.value):.4f}</span>' in page
            assert f"{ends}</span></td>" in page


def test_panes_without_labels_have_a_dash_and_no_mark() -> None:
    page = html_report({"day": windowed(se.ConfusionAccumulator())})
    rows = [[text(cell) for cell in row] for row in read(page).iter("tr")]
    assert ["2023-11-15T08:00", "13", "0", "\N{EN DASH}"] in rows
    assert "Accuracy in 11 panes of time, of which 10 define it" in page


def test_sampling_intervals_without_ends_are_clipped_to_the_axis() -> None:
    values, start = [1.0, 1.0, 2.0, 3.0, 5.0], 1_699_999_200
    times = [start + 3600 * hour for hour in (0, 1, 1, 2, 2)]
    held = se.Windowed(se.MeanAccumulator(), pane="1h", unit="s")
    page = read(html_report({"a": held.update({"value": values, "time": times})}))
    (whiskers,) = styled(page, "whisker")
    (x, bottom), (same, top), *others = points(whiskers)
    assert (x, bottom, top, len(others)) == (same, 194.0, 10.0, 4)


def test_level_of_zero_leaves_the_sampling_intervals_out() -> None:
    page = html_report({"day": windowed(se.ConfusionAccumulator())}, level=0)
    assert "interval</th>" not in page[page.index("Accuracy over time") :]


@pytest.mark.slow
@each(
    ("n", "options", "axis", "first"),
    [
        (3, {"pane": "1s"}, "14 Nov 2023, UTC", "22:13:30"),
        (1, {"pane": "1s"}, "14 Nov 2023, UTC", "22:13:20"),
        (600, {}, "2023, UTC", "15 Nov"),
        (6000, {}, "2023, UTC", "15 Nov"),
        (60_000, {"pane": "1d"}, "2023, UTC", "16 Nov"),
        (100, {"pane": 600, "unit": None}, "Step", "1700000000"),
    ],
)
def test_time_axis_has_dates_and_times_of_day(
    n: int, options: dict[str, Any], axis: str, first: str
) -> None:
    page = html_report({"day": windowed(se.ConfusionAccumulator(), n, **options)})
    assert f">{axis}</text>" in page
    assert f">{first}</text>" in page


def test_states_without_rows_have_no_picture_over_time() -> None:
    page = html_report({"day": windowed(se.ConfusionAccumulator(), 0)})
    assert "Over time" not in page


def test_panes_of_which_none_has_a_label_are_drawn() -> None:
    held = se.Windowed(se.RegressionAccumulator(), pane=10)
    held.update({"y_true": [None, None], "y_pred": [1.0, 2.0], "time": [1, 11]})
    assert "in 2 panes of time, of which 0 define it" in html_report({"day": held})


@each(
    ("pane", "n_panes", "texts"),
    [
        ("1d", 200, {"Jul", "Oct", "2025"}),
        ("30d", 60, {"2025", "2026"}),
    ],
)
def test_time_axis_of_years_has_months_or_years(pane: str, n_panes: int, texts: set[str]) -> None:
    start, days = np.datetime64("2024-07-01", "s").astype(int), int(pane[:-1])
    held = se.Windowed(se.RegressionAccumulator(), pane=pane, unit="s")
    times = [int(start) + 86_400 * days * k for k in range(n_panes)]
    held.update({"y_true": [0.0] * n_panes, "y_pred": [1.0] * n_panes, "time": times})
    page = read(html_report({"day": held}))
    assert texts <= {text(one) for one in page.iter("text")}


def test_plot_of_slices_over_time_names_them_beside_the_axes() -> None:
    held = windowed(se.Sliced(se.ConfusionAccumulator(), "country"))
    axes = held.over_time().plot()
    assert axes.get_title() == "Accuracy over time"
    assert next(word.get_text() for word in axes.get_legend().get_texts()) == "(all)"
    assert axes.get_legend().get_bbox_to_anchor().x0 >= axes.bbox.x1
    pyplot.close(axes.figure)


def test_values_of_slices_of_equal_names_have_a_column_each() -> None:
    held = se.Windowed(se.Sliced(se.ConfusionAccumulator(), "city"), pane=1)
    rows = {"y_true": [1, 1], "y_pred": [1, 0], "city": np.array(["7", 7], object), "time": [1, 2]}
    held.update(rows)
    table = html_report({"w": held}).partition("<summary>Values</summary>")[2]
    heads = table.partition("</thead>")[0]
    assert heads.count(">7</th>") == 2


@each(
    ("n_slices", "of", "left_out"),
    [(8, "", []), (9, ", of the first 8 slices", []), (26, ", of the first 8 slices", [2])],
)
def test_page_says_which_slices_its_pictures_and_its_table_leave_out(
    n_slices: int, of: str, left_out: list[int]
) -> None:
    held = se.Windowed(se.Sliced(se.MeanAccumulator(), "city"), pane=1)
    held.update({"value": [1] * n_slices, "city": range(n_slices), "time": [1] * n_slices})
    page = html_report({"w": held})
    assert page.count(f"<summary>Values{of}</summary>") == page.count("<summary>Values")
    said = [text(one) for one in read(page).iter("p") if one.get("class") == "note"]
    assert [one for one in said if "left out" in one][:1] == [
        f"and {n} more, left out" for n in left_out
    ]
