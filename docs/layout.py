"""A Sphinx extension that says where the lines of tables and of text may break."""

import re

from docutils import nodes

NUMBERS = re.compile(r"[\[(]?[-+±0-9][-+±0-9.,e%/() \]\[]*")
"""A cell of numbers: one, or an interval."""

LONG_NAME = re.compile(r"(?=\w{25,}$)\w+_|(?=[\w.]{20,}$)[\w.]+\.")
"""All of a name in a cell but its last word or part, if the name is long."""

LONG_CALL = re.compile(r"\w\((?=\w\S{9,})")
"""A bracket in a cell before long arguments."""


def setup(app):
    """Lay out each document when its references are known."""
    app.connect("doctree-resolved", lay_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lay_out(_app, document, _name):
    """Lay out code, tables, and code within text."""
    for block in document.findall(nodes.literal_block):
        end_code(block)
    for cell in document.findall(nodes.entry):
        lay_out_cell(cell)
    for node in [*document.findall(nodes.literal), *document.findall(nodes.math)]:
        if isinstance(node.parent, nodes.paragraph):
            keep_marks(node)


def end_code(block):
    """Leave out the empty line at the end of an example, which its test needs."""
    block.rawsource = block.rawsource.rstrip("\n")
    block[:] = [nodes.Text(block.astext().rstrip("\n"))]


def lay_out_cell(cell):
    """Keep numbers on one line, give long texts space, and let long names continue below."""
    if NUMBERS.fullmatch(cell.astext()):
        cell["classes"].append("number")
    elif len(cell.astext()) > 80 and len(cell.parent) > 3:
        cell["classes"].append("long")
    for text in list(cell.findall(nodes.Text)):
        break_names(text)


def break_names(text):
    """Let a name break after an underscore or a period, and a call after its bracket."""
    if isinstance(text.parent, nodes.literal) and (found := LONG_NAME.match(text)):
        pause = []
    elif isinstance(text.parent, nodes.paragraph) and (found := LONG_CALL.search(text)):
        pause = [nodes.raw("", "<wbr>", format="html")]
    else:
        return
    head, tail = text[: found.end()], text[found.end() :]
    text.parent.replace(text, [nodes.Text(head), *pause, nodes.Text(tail)])


def keep_marks(node):
    """Keep brackets, commas and periods on the line of the code or the formula beside them."""
    line = node.parent
    before, after = node.previous_sibling(), node.next_node(descend=False, siblings=True)
    together = nodes.inline(classes=["together"])
    if isinstance(before, nodes.Text) and before.endswith("("):
        line.replace(before, nodes.Text(before[:-1]))
        together += nodes.Text("(")
    together += node.deepcopy()
    if isinstance(after, nodes.Text) and (marks := re.match(r"[.,;:)]+", after)):
        together += nodes.Text(marks[0])
        line.replace(after, nodes.Text(after[marks.end() :]))
    if len(together) > 1:
        line.replace(node, together)
