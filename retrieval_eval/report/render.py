"""The embedded renderer: an executed notebook to one self-contained HTML page, and to PDF."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Final

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import RenderError
from retrieval_eval.escape import html_text, markdown_text
from retrieval_eval.report import assets
from retrieval_eval.report.notebook_files import markdown_cell
from retrieval_eval.report.show import print_image

HTML: Final = "text/html"
_RUNS_CODE: Final = re.compile(r"\s*(?:javascript|data|vbscript):", re.IGNORECASE)
_BARE_HEADING: Final = re.compile(r"<h([1-6])>([^<]*)</h\1>")
_HEADING: Final = re.compile(r'<h([1-6]) id="([^"]*)">(.*?)</h\1>', re.DOTALL)
_CONTENTS: Final = "<!-- contents -->"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the page, for the table of contents."""

    level: int
    id: str
    text: str


def select_outputs(notebook: Any) -> Any:
    """Return a copy in which every output offers HTML only.

    An output without it keeps its plain text; streams (warnings of libraries) are left out.
    """
    chosen = copy.deepcopy(notebook)
    for cell in chosen.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs = [o for o in cell.outputs if o.output_type != "stream"]
        for output in cell.outputs:
            data = output.get("data", {})
            if HTML in data:
                output["data"] = type(data)({HTML: data[HTML]})
    return chosen


def with_files(notebook: Any, files: Sequence[tuple[str, str]]) -> Any:
    """Return a copy that ends with links to the files beside the page (name, meaning)."""
    extended = copy.deepcopy(notebook)
    if files:
        lines = [f"- [{markdown_text(name)}]({name}): {meaning}" for name, meaning in files]
        source = "\n".join(["## Files beside this page", "", *lines])
        cell = markdown_cell(source, "files")
        extended.cells.append(cell)
    return extended


def to_html(notebook: Any, *, title: str, footer: str) -> str:
    """Return the page: one HTML document without scripts and outside resources.

    Raises ``RenderError`` when a cell of the notebook failed or the page is not self-contained.
    """
    html = _with_contents(_with_ids(_exported(select_outputs(notebook), title, footer)))
    check_page(html)
    return html


def page_template(*, title: str, footer: str) -> str:
    """Return the page around a report, without one, as a template of Pandoc."""
    import nbformat

    library: Any = nbformat.v4
    frame = _exported(library.new_notebook(), title, footer).replace("$", "$$")
    frame = frame.replace(_CONTENTS, "$table-of-contents$", 1)
    return frame.replace("</main>", "<h1>$title$</h1>\n$body$\n</main>", 1)


def _exported(notebook: Any, title: str, footer: str) -> str:
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    config = Config()
    config.HTMLExporter.exclude_input = True
    config.HTMLExporter.exclude_input_prompt = True
    config.HTMLExporter.exclude_output_prompt = True
    config.HTMLExporter.exclude_anchor_links = True
    config.HTMLExporter.extra_template_basedirs = [str(assets.TEMPLATES)]
    exporter_class: Any = HTMLExporter
    exporter = exporter_class(config=config, template_name="retrieval_eval")
    page = {
        "title": html_text(title),
        "footer": html_text(footer),
        "css": assets.style_sheet().read_text(encoding="utf-8"),
    }
    html: str = exporter.from_notebook_node(notebook, resources={"page": page})[0]
    return html


def _with_ids(html: str) -> str:
    """Give every heading an id; headings come from our notebooks, never from a trace."""
    taken: Counter[str] = Counter()

    def named(found: re.Match[str]) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", found[2].lower()).strip("-") or "section"
        taken[base] += 1
        unique = base if taken[base] == 1 else f"{base}-{taken[base]}"
        return f'<h{found[1]} id="{unique}">{found[2]}</h{found[1]}>'

    return _BARE_HEADING.sub(named, html)


def _with_contents(html: str) -> str:
    items = [h for h in headings(html) if h.level == 2]
    links = "\n".join(f'<li><a href="#{h.id}">{h.text}</a></li>' for h in items)
    return html.replace(_CONTENTS, f"<ol>\n{links}\n</ol>", 1)


def headings(html: str) -> list[Heading]:
    """Return the headings of a rendered page in order."""
    return [Heading(int(level), id_, text) for level, id_, text in _HEADING.findall(html)]


def check_page(html: str) -> None:
    """Raise ``RenderError`` when a page has a script, an outside resource, or no single h1."""
    found = _Page()
    found.feed(html)
    found.close()
    if found.problem is not None:
        raise RenderError(f"the rendered page {found.problem}")
    if found.n_main_headings != 1:
        raise RenderError(f"the rendered page has {found.n_main_headings} main headings, not 1")


class _Page(HTMLParser):
    """What a browser would do with a page: run, fetch, show as the main heading."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problem: str | None = None
        self.n_main_headings = 0
        self._exhibits: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.n_main_headings += tag == "h1"
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form"):
            self.problem = f"holds a <{tag}> element"
        for name, value in attrs:
            if name.startswith("on"):
                self.problem = f"holds the event handler {name}"
            if name == "id" and value and value.startswith(("fig-", "tbl-")):
                if value in self._exhibits:
                    self.problem = f"holds two exhibits {value[4:]!r}: give one of them another key"
                self._exhibits.add(value)
            is_resource = name in ("src", "srcset", "poster", "background", "data", "xlink:href")
            if is_resource and not (value or "").startswith("data:"):
                self.problem = f"loads {(value or '')[:80]} from outside"
            if name == "href" and _RUNS_CODE.match(value or ""):
                self.problem = "holds a link that runs code"


def to_pdf(html: str) -> bytes:
    """Return a page as PDF; nothing outside the page is fetched.

    Raises ``RenderError`` that names the command to run when WeasyPrint or Pango is missing.
    """
    try:
        import weasyprint
        from weasyprint.urls import URLFetcher
    except (ImportError, OSError) as error:
        raise RenderError(
            f"PDF needs WeasyPrint and the system library Pango: {install_hint('pdf')} ({error})"
        ) from error
    fetcher = URLFetcher(allowed_protocols=("data",))
    page: bytes = weasyprint.HTML(
        string=print_image(html), base_url="data:,", url_fetcher=fetcher
    ).write_pdf()
    return page
