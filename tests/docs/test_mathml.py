"""Formulas of the documentation become MathML, TeX's short forms too."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("docutils", reason="it comes with the group docs")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("mathml")


@pytest.mark.parametrize("tex", [r"\frac12", r"\tfrac12", r"\frac 1{2}", r"\dfrac{1}2"])
def test_mathml_reads_a_short_fraction(tex: str, module: Any) -> None:
    written = re.sub(r"\s+", "", module.mathml(rf"{tex}, x", as_block=False))
    assert re.search(r"<mfrac.*?><mn>1</mn><mn>2</mn></mfrac><mo>,</mo><mi>x</mi>", written)


def test_mathml_reads_dots_and_sized_brackets(module: Any) -> None:
    written = module.mathml(r"\Big(1, \dots, n\Big)", as_block=True)
    assert "…" in written
    assert "<mi>n</mi>" in written


def test_mathml_does_not_stretch_braces_inside_a_line(module: Any) -> None:
    assert module.mathml(r"\{x\}", as_block=False).count('<mo stretchy="false">') == 2


def test_mathml_refuses_what_it_cannot_write(module: Any) -> None:
    with pytest.raises(Exception, match="Unknown LaTeX command"):
        module.mathml(r"\nosuchcommand", as_block=False)
