"""``--task catalog``: recommendations of a catalog, row by row."""

from __future__ import annotations

from offenders import each

import streameval as se

ROWS = [
    {"item": "a", "rank": 1, "pop": 0.5, "w": 1},
    {"item": "b", "rank": 2, "pop": 0.25, "w": 1},
    {"item": "a", "rank": 1, "pop": 0.5, "w": 2},
    {"item": "c", "rank": 2, "pop": 0.125, "w": 2},
    {"item": "d", "rank": 3, "pop": 0.5, "w": 1},
]
CATALOG = ("--task", "catalog", "--n-items", "6")


def column(name):
    return [row[name] for row in ROWS]


def test_catalog_json_is_that_of_a_program(call, write):
    path = write("r.jsonl", ROWS)
    done = call(
        *("eval", path, *CATALOG, "--k", "2", "--popularity", "pop", "--sample-weight", "w"),
        *("--json", "-o", "r.state"),
    )
    acc = se.CatalogAccumulator(6, k=2, popularity=True)
    acc.update(
        column("item"), rank=column("rank"), popularity=column("pop"), sample_weight=column("w")
    )
    assert done.json["metrics"] == acc.compute().as_dict()
    assert call("show", "r.state", "--json").json["metrics"] == acc.compute().as_dict()


def test_catalog_takes_the_former_name_of_its_ranks(call, write):
    counted = ("eval", write("r.jsonl", ROWS), *CATALOG, "--json")
    assert call(*counted, "--top-k", "2").out == call(*counted, "--k", "2").out
    assert call(*counted, "--top-k", "2", "--k", "2").code == 0
    both = call(*counted, "--top-k", "2", "--k", "3")
    said = "--k and --top-k are one option of catalogs, with two numbers"
    assert (both.code, said in both.err) == (2, True)


def test_catalog_counts_ten_ranks_by_default(call, write):
    done = call("eval", write("r.jsonl", [*ROWS, {"item": "e", "rank": 11}]), *CATALOG, "--json")
    assert done.json["metrics"]["n"] == 5


@each("name", ["item", "movie"])
def test_catalog_counts_every_row_without_ranks(name, call, write):
    rows = [{name: row["item"]} for row in ROWS]
    done = call("eval", write("r.jsonl", rows), *CATALOG, "--item", name, "--json")
    assert done.json["metrics"]["n_recommended"] == 4


@each(
    ("options", "message"),
    [
        (
            ("--task", "catalog"),
            "--task catalog needs --n-items, the number of items in the catalog.",
        ),
        ((*CATALOG, "--item", "movie"), "no column 'movie' in the first rows: choose from"),
        ((*CATALOG, "--rank", "place"), "no column 'place' in the first rows: choose from"),
        ((*CATALOG, "--y-true", "item"), "--y-true cannot be used with --task catalog"),
        (("--n-items", "3"), "--n-items cannot be used with --task classification"),
    ],
)
def test_catalog_says_what_does_not_fit(options, message, call, write):
    done = call("eval", write("r.jsonl", ROWS), *options)
    assert done.code == 2
    assert message in done.err


def test_catalog_names_the_line_that_is_bad(call, write):
    done = call("eval", write("r.jsonl", [*ROWS, {"item": "a", "rank": 0}]), *CATALOG)
    assert done.code == 3
    assert "line 6: `rank` must be at least 1, got 0" in done.err


def test_catalog_refuses_a_list_of_items_without_speaking_of_other_rows(call, write):
    done = call("eval", write("r.jsonl", [{"item": ["a", "b"]}]), *CATALOG)
    assert done.code == 3
    assert "line 1: `item` must be text, got ['a', 'b']" in done.err


def test_catalog_names_the_limit_of_its_items(call, write):
    done = call("eval", write("r.jsonl", ROWS), "--task", "catalog", "--n-items", "3")
    assert done.code == 3
    assert "`item` would bring the number of items to 4, past --n-items 3." in done.err


def test_catalog_is_counted_by_value_and_pane(call, write):
    path = write("r.jsonl", [{**row, "t": index} for index, row in enumerate(ROWS)])
    done = call("eval", path, *CATALOG, "--time", "t", "--pane", "2", "-o", "p.state")
    assert (done.code, done.err) == (0, "")
    found = [acc.compute().n_recommended for _, _, acc in se.load("p.state").panes()]
    assert found == [2, 2, 1]
    done = call("eval", path, *CATALOG, "--by", "w=1,2", "--json")
    assert (done.code, done.err) == (0, "")
    found = {one["value"]: one["metrics"]["n_recommended"] for one in done.json["slices"]}
    assert found == {"1": 3, "2": 2}


def test_catalog_without_recommendations_has_nothing_to_explain(call):
    se.save(se.CatalogAccumulator(4), "empty.state")
    assert "Nothing has been counted yet." in call("explain", "empty.state").out
    se.save(se.CatalogAccumulator(1).update([[5]] * 40), "all.state")
    found = call("explain", "all.state").out
    assert "never recommended" not in found
    assert "Every number is exact" in found
