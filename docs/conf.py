"""Sphinx configuration: furo, MyST, and the reference from docstrings."""

import importlib.metadata

project = "streameval"
author = "The streameval developers"
project_copyright = "2026, The streameval developers"
release = importlib.metadata.version("streameval")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
nitpicky = False

html_theme = "furo"
html_title = f"streameval {release}"

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = [
    *("apache_beam", "dask", "distributed", "pyspark", "ray"),
    *("keras", "lightning", "torch"),
]
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_here_doc_delimiter = "EOF"
