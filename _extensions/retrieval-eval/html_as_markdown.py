"""Filter of notebooks for every format of HTML, such as that of ``quarto render --to html``.

Where a notebook has outputs of the type ``text/html``, Quarto adds scripts from outside to the
page, which a report does not need. This filter offers the same HTML as a raw block of Markdown. In
print Quarto makes tables of the HTML, unless the output has something of its own for print.
"""

import json
import re
import sys


def raw_block(html: str) -> str:
    """Return HTML as a raw block of Markdown, whose fence no row of backticks in it can end."""
    longest = max(map(len, re.findall("`+", html)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{{=html}}\n{html}\n{fence}"


notebook = json.load(sys.stdin)
for cell in notebook["cells"]:
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/html" in data:
            html = raw_block("".join(data.pop("text/html")))
            if "text/markdown" in data:
                own = "".join(data["text/markdown"])
                html = f'::: {{html-table-processing="none"}}\n{html}\n:::\n\n{own}'
            data["text/markdown"] = html
json.dump(notebook, sys.stdout)
