"""Results of collections."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from xml.etree import ElementTree

import attrs
import pytest
from offenders import each

import streameval as se


def result() -> se.CollectionResult:
    inner = se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()})
    members = {"<a> & b": se.ConfusionAccumulator(), "inner": inner}
    return se.Collection(members).update([0, 1, 1], [0, 1, 0]).compute()


def test_result_of_a_member_is_what_it_computes_alone() -> None:
    alone = se.ConfusionAccumulator().update([0, 1, 1], [0, 1, 0]).compute()
    assert result()["<a> & b"] == alone


def test_results_are_looked_up_by_name_and_by_path() -> None:
    found = result()
    assert found["inner/fit"] is found["inner"]["fit"]
    assert isinstance(found["inner"], se.CollectionResult)
    assert list(found["inner"]) == ["cm", "fit"]


def test_result_is_a_mapping() -> None:
    found = result()
    assert (list(found), len(found)) == (["<a> & b", "inner"], 2)
    assert "inner" in found
    assert "cm" not in found
    assert dict(found.items()).keys() == {"<a> & b", "inner"}


def test_a_member_that_is_counted_once_has_one_result() -> None:
    found = result()
    assert found["<a> & b"] is found["inner/cm"]


def test_numbers_are_flattened_by_path() -> None:
    found = result()
    flat = found.as_dict()
    assert flat["inner/fit/mae"] == 1 / 3
    assert flat["<a> & b/accuracy"] == flat["inner/cm/accuracy"] == 2 / 3
    assert len(flat) == 2 * len(found["inner/cm"].as_dict()) + len(found["inner/fit"].as_dict())


def test_report_shows_each_result_once_under_its_names() -> None:
    found = result()
    counts, fit = (
        [f"  {line}" if line else line for line in found[name].report().split("\n")]
        for name in ("inner/cm", "inner/fit")
    )
    lines = ["<a> & b, inner/cm", *counts, "", "inner/fit", *fit]
    assert found.report().split("\n") == lines
    assert str(found) == found.report()


def test_repr_is_one_line() -> None:
    text = repr(result())
    assert text.startswith("CollectionResult({'<a> & b': Confusion(n=3, ")
    assert "'inner': CollectionResult({'cm': Confusion(" in text
    assert "\n" not in text


def test_page_is_well_formed_and_escapes_names() -> None:
    page = ElementTree.fromstring(result()._repr_html_())
    assert ["".join(heading.itertext()) for heading in page.iter("h3")] == [
        "<a> & b, inner/cm",
        "inner/fit",
    ]
    assert len(list(page.iter("table"))) >= 2


@each("attribute", ["_names", "_results", "other"])
def test_result_is_frozen(attribute: str) -> None:
    found: Any = result()
    with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
        setattr(found, attribute, ())


def test_result_stays_as_it_was_when_updates_follow() -> None:
    col = se.Collection({"cm": se.ConfusionAccumulator()}).update([1], [1])
    found = col.compute()
    col.update([1], [0])
    assert (found["cm"].n, found["cm"].accuracy) == (1, 1.0)


def test_equal_results_are_equal_and_not_hashable() -> None:
    assert result() == result()
    assert not isinstance(result(), Hashable)


def test_a_collection_lists_the_measures_of_its_members() -> None:
    inner = se.Collection({"errors": se.RegressionAccumulator(["mape", "huber"])})
    held = se.Collection({"inner": inner, "counts": se.ConfusionAccumulator(3)})
    assert held.compute().measured() == ("inner/errors/mape", "inner/errors/huber(delta=1)")
