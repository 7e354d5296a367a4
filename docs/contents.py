"""Tables of contents, in the order of the lists and tables of pages that indexes show."""

import re

MARK = "<!-- contents -->"
ENTRY = re.compile(r"^(?:- |\d\. |\| )\[.+?\]\(([\w-]+)\.md\)", re.MULTILINE)


def filled(text):
    """Replace the mark with a hidden table of contents."""
    pages = "\n".join(dict.fromkeys(ENTRY.findall(text)))
    return text.replace(MARK, f"```{{toctree}}\n:hidden:\n\n{pages}\n```")
