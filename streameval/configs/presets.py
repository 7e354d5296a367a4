"""The conventions of other tools, as options of `RankingAccumulator`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.configs.measures import canonical_measures, listed, measure
from streameval.configs.options import one_of
from streameval.configs.query_quantiles import measured
from streameval.configs.ranking import canonical_gain, options_in
from streameval.errors import InvalidInputError

_PRESETS: dict[str, dict[str, Any]] = {
    "trec_eval": {"ties": "docid_desc", "missing": "skip", "negative": "zero"},
    "sklearn": {"empty": {"lrap": "one"}},
    "recsys": {"ap_norm": "min", "empty": "skip"},
    "ltr": {"gain": "exp2", "ap_norm": "min", "empty": "one"},
}


_PARAMETERS = {"trec_eval": {"rbp": 0.9}}
"""What a measure means if its name does not say."""


def preset(name: Any, measures: Any, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Look up the options of a tool, with policies only for the requested measures.

    Options that the names of measures imply take precedence, and `overrides` must agree with them.
    """
    options = dict(_PRESETS[one_of(name, tuple(_PRESETS), name="name")])
    given = listed(measures)
    options["measures"] = canonical_measures(given, _PARAMETERS.get(name, {}))
    asked, empty = map(measure, map(measured, options["measures"])), options.get("empty")
    if isinstance(empty, dict):
        options["empty"] = {item.name: empty[item.family] for item in asked if item.family in empty}
    implied = options_in(given)
    for key in implied.keys() & overrides.keys():
        own = canonical_gain(overrides[key]) if key == "gain" else overrides[key]
        if own != implied[key]:
            raise InvalidInputError(
                f"must agree with `measures`, which ask for {implied[key]!r}, got {own!r}",
                argument=key,
            )
    return options | dict(overrides) | implied
