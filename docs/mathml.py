"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

import re

from docutils import nodes
from docutils.utils.math import latex2mathml

LONG_FORMS = [
    (r"\\([td]?frac)\s*(\d)", r"\\\1{\2}"),
    (r"\\([td]?frac)(\{[^{}]*\})\s*(\d)", r"\\\1\2{\3}"),
    (r"\\dots\b", r"\\ldots"),
    (r"\\[Bb]ig+[lr]?(?![A-Za-z])", ""),  # brackets of MathML grow by themselves
]
"""TeX's short forms that docutils does not read, and what it reads."""

ACCENTED = re.compile(
    r"<munderover>(\s*<mi>[^<]*</mi>)(\s*(?:<m[in]>[^<]*</m[in]>|<mrow>(?:(?!</?mrow>).)*</mrow>))"
    r'(\s*<mo stretchy="false">[ˉˆ]</mo>)\s*</munderover>',
    re.DOTALL,
)
"""A letter with a bar or a hat and an index, which docutils writes below the letter."""

OVERLINED = re.compile(r'<mover accent="false">(.*?)<mo accent="true">_</mo>\s*</mover>', re.DOTALL)
"""A term under a line, which few fonts can stretch."""


def setup(app):
    """Register the renderer, which `html_math_renderer` names."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(tex, *, as_block):
    """Write a formula of TeX as MathML."""
    for short, long in LONG_FORMS:
        tex = re.sub(short, long, tex)
    found = latex2mathml.tex2mathml(tex, as_block=as_block)
    found = ACCENTED.sub(r'<msub><mover accent="true">\1\3</mover>\2</msub>', found)
    found = OVERLINED.sub(r'<mrow class="mean">\1</mrow>', found)
    return re.sub(r"<mo>([{}])</mo>", r'<mo stretchy="false">\1</mo>', found)


def _inline(translator, node):
    translator.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="math">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode
