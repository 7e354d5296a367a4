"""The page as a whole: well-formed, self-contained, harmless, the same every time."""

from __future__ import annotations

import functools
import math
import re
from importlib import metadata
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from offenders import each
from report_pages import (
    as_xml,
    figures,
    named,
    pictures,
    read,
    report,
    rows,
    styled,
    svg_sources,
    text,
)
from small_states import EVERY

import streameval as se
from streameval.reports import html_report

every_state = each("name", EVERY)

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": "\"'><img src=x onerror=alert(1)>",
    "entity": "&lt;b&gt; &amp;#60;",
    "end of style": "</style></title><base href=//x>",
    "bidi": "abc\u202e\u2066def\u200f",
    "control": "\x00\x01\x1b[31m\x7f\u0085",
    "lines": "one\ntwo\r\n\tthree\u2028four",
    "surrogate": "a\ud800b",
    "long": "x" * 10_000,
    "marks": "e" + "\u0301" * 10_000,
    "wide": "日本" * 200,
    "empty": "",
}
LABELS = {key: label for key, label in HOSTILE.items() if key != "surrogate"}
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


@functools.cache
def page_of(name: str, n_times: int = 1) -> str:
    """Report a state once or several times."""
    return html_report(named(*[EVERY[name]()] * n_times))


@functools.cache
def tree_of(name: str, n_times: int = 1) -> Any:
    """Read the page of a state; no test changes it."""
    return read(page_of(name, n_times))


@functools.cache
def harmless_page(*names: str) -> str:
    """Report a state with a harmless label under these names."""
    return html_report(dict.fromkeys(names, hostile_state("plain")), title="t")


def words(*labels: Any) -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator("auto").update(list(labels), list(labels[::-1]))


def hostile_state(label: str) -> Any:
    """Every place in which a label can stand."""
    truth, scores = [label, "b", label, "c"], np.eye(4)[:, :3] / 2 + 1 / 6
    labels = [label, "b", "c"]
    scores = np.full((4, 3), 0.25) + np.eye(4)[:, :3] / 4
    scores[:, 0] += 1 - scores.sum(axis=1)
    batch = {"y_true": truth, "y_pred": truth[::-1], "y_score": scores, "y_prob": scores}
    collection = se.Collection(
        {
            "met": se.ConfusionAccumulator("auto"),
            "listed": se.ConfusionAccumulator(labels),
            "curves": se.PRCurveSketch(2, classes=labels),
            "calibration": se.CalibrationAccumulator(classes=labels),
        }
    )
    return collection.update(batch)


@pytest.mark.slow
@every_state
def test_page_of_a_state_is_well_formed(name: str) -> None:
    page = page_of(name)
    assert page.startswith("<!doctype html>\n<html")
    assert [child.tag for child in read(page)] == ["head", "body"]


def test_page_names_the_version_of_a_package_that_is_not_installed(monkeypatch: Any) -> None:
    monkeypatch.setattr(metadata, "distribution", {}.__getitem__)
    state = se.RegressionAccumulator().update([1], [2])
    assert f"Made by streameval {se.__version__}." in html_report(named(state))


@pytest.mark.slow
def test_page_of_all_states_is_well_formed_and_names_them() -> None:
    page = read(html_report({name: make() for name, make in EVERY.items()}))
    (footer,) = page.iter("footer")
    (table,) = footer.iter("table")
    assert [row[0] for row in rows(table)] == list(EVERY)
    for name in EVERY:
        assert name in text(next(page.iter("main")))


@pytest.mark.slow
@every_state
def test_pictures_are_xml_with_a_title_and_finite_places(name: str) -> None:
    for source in svg_sources(page_of(name, 3)):
        svg = as_xml(source)
        assert not re.search("nan|inf|None", " ".join(source.split("<desc>")[0:1]))
        for element in svg.iter():
            for key in ("d", "cx", "cy", "x", "y", "transform", "viewBox"):
                assert not re.search(r"nan|inf|e[+-]", element.get(key, ""))
    for svg in pictures(tree_of(name, 3)):
        assert [child.tag for child in svg][:2] == ["title", "desc"]
        assert all(text(child) for child in svg[:2])
        assert svg.get("aria-label")


@pytest.mark.slow
@every_state
def test_page_needs_nothing_else(name: str) -> None:
    page = page_of(name)
    tree = tree_of(name)
    assert {element.tag for element in tree.iter()} & {"script", "link", "img", "iframe"} == set()
    assert not re.search(r"@import|url\(|https?:|@font-face|javascript", page)
    targets = {element.get("id") for element in tree.iter()}
    for element in tree.iter():
        assert not [key for key in element.attrib if key.startswith("on") or key == "style"]
        assert "src" not in element.attrib
        assert "href" not in element.attrib or element.attrib["href"][1:] in targets


def test_page_forbids_the_browser_to_load_anything() -> None:
    (policy,) = (
        meta.get("content")
        for meta in report(words("a")).iter("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_page_says_its_language_and_that_it_fits_a_phone() -> None:
    page = report(words("a"))
    assert page.get("lang") == "en"
    metas = {meta.get("name"): meta.get("content") for meta in page.iter("meta")}
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    assert metas["color-scheme"] == "light dark"


@pytest.mark.slow
@every_state
def test_tables_tell_what_their_heads_are_about(name: str) -> None:
    page = tree_of(name, 2)
    scopes = {head.get("scope") for head in page.iter("th")}
    assert scopes <= {"col", "row", "colgroup", "rowgroup"}
    for table in page.iter("table"):
        assert all(row[0].tag == "th" for body in table.iter("tbody") for row in body)
    for region in styled(page, "scroll"):
        assert region.get("aria-label")
        assert region.get("tabindex") == "0"


@pytest.mark.slow
@every_state
def test_rows_that_a_phone_lays_out_below_their_name_say_how_many_numbers_they_have(
    name: str,
) -> None:
    style = page_of(name).partition("<style>")[2].partition("</style>")[0]
    for table in styled(tree_of(name, 2), "several"):
        (look,) = set(table.get("class", "").split()) - {"several"}
        assert f".{look} {{ --columns: {look.removeprefix('columns-')}; }}" in style
        whole = [row for row in table.iter("tr") if row[0].get("scope") == "row"]
        assert {f"columns-{len(row) - 1}" for row in whole} == {look}


def test_number_of_many_states_has_its_heading_on_a_phone() -> None:
    two, many = (report(*[words("a")] * n) for n in (2, 7))
    assert len(styled(two, "several", "columns-3")) == 1
    (first, *_) = styled(many, "rows")
    heads = [text(head) for head in next(first.iter("thead")).iter("th")][1:]
    assert [cell.get("data-of") for cell in next(first.iter("tbody"))[0]][1:] == heads


@pytest.mark.slow
@every_state
def test_every_row_of_a_table_is_as_wide_as_its_head(name: str) -> None:
    for page in (tree_of(name), tree_of(name, 2)):
        for table in page.iter("table"):
            spans: dict[int, int] = {}
            widths = []
            for place, row in enumerate(table.iter("tr")):
                width = spans.pop(place, 0)
                for cell in row:
                    columns = int(cell.get("colspan", 1))
                    width += columns
                    for below in range(1, int(cell.get("rowspan", 1))):
                        spans[place + below] = spans.get(place + below, 0) + columns
                widths.append(width)
            assert len(set(widths)) == 1


@pytest.mark.slow
@every_state
def test_equal_states_give_equal_pages(name: str) -> None:
    state = EVERY[name]()
    again = se.from_bytes(state.to_bytes())
    assert page_of(name) == html_report({"a": again}) == html_report({"a": state})


@pytest.mark.slow
def test_report_leaves_the_states_as_they_are() -> None:
    for make in EVERY.values():
        state = make()
        html_report({"a": state})
        assert state == make()


@pytest.mark.slow
@each("label", LABELS.values())
def test_label_is_harmless(label: str) -> None:
    plain = harmless_page("a")
    found = html_report({"a": hostile_state(label)}, title="t")
    assert [item.tag for item in read(found).iter()] == [item.tag for item in read(plain).iter()]
    assert not CONTROLS.search(found)
    assert len(found.encode()) < len(plain) + 40_000


@pytest.mark.slow
@each("label", HOSTILE.values())
def test_name_and_title_are_harmless(label: str) -> None:
    state, plain = hostile_state("plain"), read(harmless_page("n", "b"))
    found = html_report({label: state, "b": state}, title=label)
    assert [item.tag for item in read(found).iter()] == [item.tag for item in plain.iter()]
    assert not CONTROLS.search(found)


def test_label_in_another_direction_cannot_turn_what_is_beside_it() -> None:
    page = report(words("שלום", "سلام"))
    assert {text(name) for name in page.iter("bdi")} >= {"שלום", "سلام"}


def test_long_label_is_shortened_and_more_of_it_is_in_its_tooltip() -> None:
    page = report(words("y" * 300, "b"))
    (name,) = {item.get("title") for item in page.iter("bdi") if text(item).startswith("yy")}
    assert name is not None
    assert 100 < len(name) <= 200
    assert max(len(text(item)) for item in page.iter("bdi")) <= 32


def test_title_is_that_given() -> None:
    page = report(words("a"), title="Week 3 < week 4")
    assert [text(found) for found in page.iter("h1")] == ["Week 3 < week 4"]
    assert next(text(found) for found in page.iter("title")) == "Week 3 < week 4"


def test_title_names_neither_files_nor_classes_without_one() -> None:
    assert [text(found) for found in report(words("a")).iter("h1")] == ["Evaluation"]


@each(
    ("name", "counted", "holds", "numbers"),
    [
        ("binary", "4 examples", "ConfusionAccumulator", "exact"),
        ("met", "3.35 examples", "ConfusionAccumulator", "exact"),
        ("coarse_curve", "9 examples", "PRCurveSketch", "estimates with bounds"),
        ("curve", "5 examples", "PRCurveSketch", "exact"),
        ("class_curves", "4 examples", "PRCurveSketch", "estimates with bounds"),
        ("grouped", "5 examples", "GroupedAUC", "exact"),
        ("coarse_groups", "5.6 examples", "GroupedAUC", "estimates with bounds"),
        ("ranking", "3 queries", "RankingAccumulator", "exact"),
        ("empty_regression", "0 examples", "RegressionAccumulator", "exact"),
        ("collection", "3 members", "Collection", "estimates with bounds"),
        ("empty_collection", "1 member", "Collection", "exact"),
    ],
)
def test_states_are_listed(name: str, counted: str, holds: str, numbers: str) -> None:
    state = EVERY[name]()
    (table,) = next(report(state).iter("footer")).iter("table")
    (row,) = rows(table)
    assert row == ["a", holds, counted, f"{len(state.to_bytes())} B", numbers] or (
        row[3].endswith(" kB") and row[:3] + row[4:] == ["a", holds, counted, numbers]
    )


@each(("name", "numbers"), [("map", "estimates with bounds"), ("p@1", "exact")])
def test_ranking_is_exact_unless_a_measure_has_bounds(name: str, numbers: str) -> None:
    random = np.random.default_rng(0)
    state = se.RankingAccumulator([name, "hit@1"], rows_per_query=2)
    state.update(random.integers(0, 2, 40), random.random(40), query=[7, 8] * 20, partial=True)
    (table,) = next(report(state.close()).iter("footer")).iter("table")
    assert rows(table)[0][-1] == numbers


def sections(page: Any) -> list[tuple[str, list[str]]]:
    """Return the heading of each section, and the states in its legend."""
    found = []
    for section in page.iter("section"):
        (heading,) = section.iter("h2")
        names = [text(item) for item in section.findall("ul/li")]
        found.append((text(heading), names))
    return found


def test_states_of_one_kind_share_a_section() -> None:
    curve = EVERY["curve"]()
    page = report(EVERY["regression"](), curve, EVERY["regression"](), curve)
    assert sections(page) == [
        ("Precision, recall and ROC", ["b", "d"]),
        ("Regression", []),  # whose numbers are in a table alone
    ]


def test_sections_are_linked_if_there_are_several() -> None:
    page = report(EVERY["regression"](), EVERY["curve"]())
    (nav,) = page.iter("nav")
    assert [(text(link), link.get("href")) for link in nav.iter("a")] == [
        ("Precision, recall and ROC", "#part-1"),
        ("Regression", "#part-2"),
    ]
    assert list(report(EVERY["curve"]()).iter("nav")) == []


def test_links_of_equal_headings_name_the_states() -> None:
    (nav,) = report(words("a", "b"), words("c", "d"), EVERY["curve"]()).iter("nav")
    assert [text(link) for link in nav.iter("a")] == [
        "a: Classification into 2 classes",
        "b: Classification into 2 classes",
        "Precision, recall and ROC",
    ]


@each(
    ("one", "other"),
    [
        (words("a", "b"), words("c", "d")),
        (se.ConfusionAccumulator(2), se.ConfusionAccumulator(2, multilabel=True)),
        (se.ConfusionAccumulator(2), se.ConfusionAccumulator("auto").update([0, 1], [0, 1])),
        (se.PRCurveSketch(), se.PRCurveSketch(scores="real")),
        (se.PRCurveSketch(), se.PRCurveSketch(classes=2)),
        (se.PRCurveSketch(classes=2), se.PRCurveSketch(classes=5)),
        (se.CalibrationAccumulator(), se.CalibrationAccumulator(classes=2)),
        (se.CalibrationAccumulator(), se.RegressionAccumulator()),
        (se.RegressionAccumulator(outputs=2), se.RegressionAccumulator(["mape"], outputs=2)),
    ],
)
def test_states_of_different_tasks_have_sections_of_their_own(one: Any, other: Any) -> None:
    assert [names for _, names in sections(report(one, other))] == [[], []]


def test_states_with_most_classes_in_common_share_a_section() -> None:
    page = report(words("a", "b", "c"), words("b", "a"))
    assert [names for _, names in sections(page)] == [["a", "b"]]


def test_members_of_collections_are_side_by_side_under_their_names() -> None:
    page = report(EVERY["collection"](), EVERY["collection"]())
    assert [text(found) for found in styled(page, "of-what")] == [
        "cm, inner/cm",
        "inner/curve",
        "fit",
    ]
    assert {tuple(names) for _, names in sections(page)} == {("a", "b"), ()}
    assert "fit: Regression" in text(next(page.iter("nav")))


def test_members_that_are_called_as_their_tasks_are_named_once() -> None:
    members = {"binary": se.PRCurveSketch(), "calibration": se.CalibrationAccumulator()}
    page = report(se.Collection(members).update([0, 1, 1], [0.25, 0.5, 1.0]))
    assert styled(page, "of-what") == []
    said = [text(found) for found in styled(page, "lead")]
    assert said[1].startswith("Calibration. Evaluated on 3 examples. Log loss is ")


def test_section_of_one_state_names_it() -> None:
    page = report(EVERY["regression"](), EVERY["empty_collection"](), EVERY["curve"]())
    assert [text(found) for found in styled(page, "of-what")] == ["c", "a", "b / fit"]


def test_ninth_state_is_in_the_tables_alone() -> None:
    page = report(*[EVERY["curve"]()] * 9)
    (section,) = page.iter("section")
    legend = [text(item) for item in section.findall("ul/li")]
    assert legend == [*"abcdefgh", "and 1 more in the tables"]
    roc = next(svg for svg in pictures(page) if svg.get("aria-label", "").startswith("ROC"))
    assert len(styled(roc, "line", "s7")) == 1
    assert styled(page, "s8") == []
    values = next(section.iter("table"))
    assert [row[0] for row in rows(values)] == [*"abcdefghi"]


def test_lines_of_states_differ_in_colour_and_in_dashes() -> None:
    css = next(report(words("a")).iter("style")).text or ""
    looks = re.findall(r"\.s(\d) \{ --c: var\((--c\d)\);(?: stroke-dasharray: ([\d. ]+);)? \}", css)
    assert len(looks) == len({colour for _, colour, _ in looks}) == 8
    assert len({dashes for _, _, dashes in looks}) == 8


@each(("level", "written"), [(0.95, "95%"), (0.9, "90%"), (0.999, "99.9%")])
def test_level_is_that_of_the_sampling_intervals(level: float, written: str) -> None:
    result = EVERY["binary"]().compute()
    low, high = result.confidence("accuracy", level=level)
    page = text(report(EVERY["binary"](), level=level))
    assert f"{written} interval" in page
    assert f"{low:.4f} \N{EN DASH} {high:.4f}" in page
    assert f"{written} intervals show" in page


@pytest.mark.slow
@every_state
def test_level_of_0_leaves_the_sampling_intervals_out(name: str) -> None:
    page = report(EVERY[name](), EVERY[name](), level=0)
    assert "ampling" not in text(page)
    assert styled(page, "whisker") == []


@each("level", [-0.1, 1.0, 95, math.nan])
def test_another_level_is_refused(level: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`level` must lie in \[0, 1\)"):
        html_report({"a": se.RegressionAccumulator()}, level=level)


@each(
    ("states", "message"),
    [
        ({}, r"`states` must map names to accumulators, got \{\}"),
        ([se.RegressionAccumulator()], "`states` must map names to accumulators, got "),
        ({1: se.RegressionAccumulator()}, "`states` must have names that are texts, got 1"),
        ({"a": {}}, "`states` must hold accumulators, got nothing for 'a'"),
        ({"a": se.RegressionAccumulator().compute()}, "accumulators, got Regression for 'a'"),
    ],
)
def test_what_is_no_state_is_refused(states: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        html_report(states)


def test_title_that_is_no_text_is_refused() -> None:
    with pytest.raises(se.InvalidInputError, match="`title` must be a text, got 1"):
        html_report({"a": se.RegressionAccumulator()}, title=1)  # type: ignore[arg-type]


@pytest.mark.slow
@every_state
def test_dash_is_explained(name: str) -> None:
    page = report(EVERY[name]())
    for figure in page.iter("figure"):
        dashes = [cell for cell in figure.iter("td") if text(cell) == "\N{EN DASH}"]
        assert bool(dashes) == ("is a number that this data does not define" in text(figure))
    assert "nan" not in re.split(r"\W+", text(next(page.iter("body"))).lower())


def test_numbers_at_the_ends_of_what_there_is_are_written() -> None:
    scores, truth = [-1.7e308, -5e-324, 1e-320, 1.7e308], [0, 1, 0, 1]
    curve = se.PRCurveSketch(scores="real").update(truth, scores)
    fit = se.RegressionAccumulator().update([1e100, -1e-300], [-1e100, 1e-300])
    heavy = se.ConfusionAccumulator().update([1, 0], [1, 1], sample_weight=[2**61, 2**61])
    page = report(curve, fit, heavy)
    assert "2,305,843,009,213,693,952" in text(page)
    assert "1e+100" in text(page)


@pytest.mark.slow
def test_figures_have_headings_in_order() -> None:
    page = read(html_report({name: make() for name, make in EVERY.items()}))
    levels = [int(item.tag[1]) for item in page.iter() if re.fullmatch("h[1-6]", item.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert figures(page, "Metrics")
