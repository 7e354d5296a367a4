"""What states hold, for the page on the byte format, from the docstrings of their classes."""

import inspect
import re

import attrs

from streameval.states.calibration import CalibrationMoments, CalibrationSums
from streameval.states.catalog import Exposures
from streameval.states.confusion import MatrixCounts, MultilabelCounts, ObservedCounts
from streameval.states.curve import ScoreTables
from streameval.states.grouped import GroupTables
from streameval.states.paired import PairedCounts, PairedSums
from streameval.states.preferences import PreferenceCounts
from streameval.states.ranking import RankingState
from streameval.states.regression import MeasuredSums, RegressionSums
from streameval.states.regression_outputs import OutputSums
from streameval.states.state import bases
from streameval.states.type_ids import OWN_TYPES
from streameval.states.values import ValueSums

MARK = "<!-- states -->"
STATES = {
    1: (MatrixCounts, ObservedCounts, MultilabelCounts),
    2: (RegressionSums, MeasuredSums, OutputSums),
    3: (ScoreTables,),
    4: (CalibrationSums, CalibrationMoments),
    5: (GroupTables,),
    6: (RankingState,),
    10: (PairedCounts, PairedSums),
    12: (Exposures,),
    16: (ValueSums,),
    17: (PreferenceCounts,),
}
"""The states of each type id that have fields of their own."""

ENTRY = re.compile(r"^(\w[\w, ]*) : (.*)\n((?:    .*\n|\n)*)", re.MULTILINE)


def filled(text):
    """Replace the mark with a table for each state."""
    return text.replace(MARK, _tables()) if MARK in text else text


def _tables():
    return "\n\n".join(
        _table(f"**{number}, `{OWN_TYPES[number]}`: `{state.__name__}`.**", state)
        for number, states in STATES.items()
        for state in states
    )


def _table(title, state):
    """Describe the fields of a state, in their order."""
    documented = _entries(state)
    names = [field.name for field in attrs.fields(state)]
    missing = [name for name in names if name not in documented]
    assert not missing, f"{state.__name__} does not say what {missing} are"
    stored = [name for name in names if documented[name][1].startswith(("FixedPoint", "Column"))]
    listed = [
        one for group in dict.fromkeys(documented[name][0] for name in names) for one in group
    ]
    assert [one for one in listed if one in stored] == stored, f"{state.__name__} is in disorder"
    above = bases(state)
    seen, rows = set(), []
    for name in names:
        group, kind, text = documented[name]
        if group not in seen:
            seen.add(group)
            relative = "".join(f", `{one}` above `{above[one]}`" for one in group if one in above)
            fields = ", ".join(f"`{one}`" for one in group)
            rows.append(f"| {fields} | {kind}{relative} | {text} |")
    summary = inspect.getdoc(state).partition("\n")[0]
    return "\n".join([f"{title} {summary}\n", "| field | type | what |", "|---|---|---|", *rows])


def _entries(state):
    """Read what the docstrings of a class and of its bases say of each field."""
    found = {}
    for owner in reversed(state.__mro__):
        section = inspect.cleandoc(owner.__doc__ or "").partition("Parameters\n----------\n")[2]
        section = re.split(r"\n\w[\w ]*\n-+\n", section)[0]
        for names, kind, text in ENTRY.findall(section + "\n"):
            group = tuple(names.split(", "))
            entry = (group, kind, " ".join(text.split()).replace("|", r"\|"))
            found.update(dict.fromkeys(group, entry))
    return found
