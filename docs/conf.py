"""Sphinx configuration: furo, MyST, and the reference from docstrings."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import contents
import docstrings
import exported_metrics
import metric_tables
import name_table
import option_tables
import rank_divergence
import speed_rows
import state_tables

import streameval
from streameval.results.members import RowMember
from streameval.results.result import HIDDEN

project = "streameval"
author = "The streameval developers"
project_copyright = "2026, The streameval developers"
release = streameval.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "layout",
    "mathml",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
nitpicky = False
default_role = "literal"  # names in single backticks of docstrings look like those of pages

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"streameval {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_last_updated_fmt = None  # the same pages from the same text
html_domain_indices = False  # few functions have a module of their own

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = [
    *("apache_beam", "dask", "distributed", "pyarrow", "pyspark", "ray"),
    *("ignite", "jax", "keras", "lightning", "prometheus_client", "torch"),
]
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_here_doc_delimiter = "EOF"


def setup(app):
    """Fill in the tables of metrics and of names, and leave out what is internal."""

    def fill(_app, _name, source):
        for table in (
            *(contents, docstrings, exported_metrics, metric_tables, name_table),
            *(option_tables, rank_divergence, speed_rows, state_tables),
        ):
            source[0] = table.filled(source[0])

    def skip(_app, _what, name, _thing, is_skipped, _options):
        """Leave out what results have for the command line and for pages."""
        return is_skipped or name in {*HIDDEN, "type_id", "type_name"}

    def name_defaults(_app, _what, _name, _thing, _options, signature, returned):
        """Write the name of a function that is a default, not its address."""
        return signature and re.sub(r"<function (\w+)[^>]*>", r"\1", signature), returned

    def escape(_app, _what, _name, thing, _options, lines):
        """Let the bars of an absolute value in the meaning of a metric be no substitution."""
        if isinstance(thing, RowMember):
            lines[:] = [line.replace("|", r"\|") for line in lines]

    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", escape)
    app.connect("autodoc-process-signature", name_defaults)
    app.connect("autodoc-skip-member", skip)
