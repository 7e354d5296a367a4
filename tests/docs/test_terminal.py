"""The recordings of a terminal show what the commands print."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest
from offenders import each

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
SCRIPT = runpy.run_path(str(FIGURES / "terminal.py"))


@pytest.mark.slow
@each("name", SCRIPT["RECORDINGS"])
def test_recording_shows_what_the_command_prints_today(name: str) -> None:
    assert SCRIPT["recorded"](name) == (FIGURES / f"{name}.svg").read_text(encoding="utf-8")


@each("name", SCRIPT["RECORDINGS"])
def test_recording_is_an_image_that_loads_and_runs_nothing(name: str) -> None:
    picture = ElementTree.parse(FIGURES / f"{name}.svg").getroot()
    tags = {element.tag.rpartition("}")[2] for element in picture.iter()}
    assert tags == {"svg", "title", "style", "rect", "circle", "text", "tspan"}
    names = {name for element in picture.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or name.endswith("href")]
