"""The conventions of other tools, as options of `RankingAccumulator`."""

from __future__ import annotations

from typing import Any

from streameval.configs.measures import canonical_measures, measure
from streameval.configs.options import one_of

__all__ = ["preset"]

_PRESETS: dict[str, dict[str, Any]] = {
    "trec_eval": {"ties": "docid_desc", "missing": "skip", "negative": "zero"},
    "sklearn": {"empty": {"lrap": "one"}},
    "recsys": {"ap_norm": "min", "empty": "skip"},
    "ltr": {"gain": "exp2", "ap_norm": "min", "empty": "one"},
}


_PARAMETERS = {"trec_eval": {"rbp": 0.9}}
"""What a measure means where its name says no more."""


def preset(name: Any, measures: Any) -> dict[str, Any]:
    """Look up the options of a tool; it has policies for the measures asked for alone."""
    options = dict(_PRESETS[one_of(name, tuple(_PRESETS), name="name")])
    options["measures"] = canonical_measures(measures, _PARAMETERS.get(name, {}))
    asked, empty = map(measure, options["measures"]), options.get("empty")
    if isinstance(empty, dict):
        options["empty"] = {item.name: empty[item.family] for item in asked if item.family in empty}
    return options
