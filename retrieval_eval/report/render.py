"""The embedded renderer: an executed notebook to one self-contained HTML page, and to PDF."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import quote

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import RenderError
from retrieval_eval.escape import html_lines, html_text, markdown_text
from retrieval_eval.report import notebook_files
from retrieval_eval.report.exhibits import NOTHING, anchor, note
from retrieval_eval.report.notebook_files import markdown_cell, notebook_of
from retrieval_eval.report.show import print_image
from retrieval_eval.values import counted

HTML: Final = "text/html"
_PICTURES: Final = ("image/svg+xml", "image/png", "image/jpeg")
_RUNS_CODE: Final = re.compile(r"\s*(?:javascript|data|vbscript):", re.IGNORECASE)
_BARE_HEADING: Final = re.compile(r"<h([1-6])>([^<]*)</h\1>")
_HEADING: Final = re.compile(r'<h([1-6]) id="([^"]*)">(.*?)</h\1>', re.DOTALL)
_ANSWER: Final = re.compile(
    r'<div class="block answer(?: tone-(?P<tone>[a-z]+))?">\s*'
    r'(?:<dl class="badges">.*?</dl>\s*)?(?:<p class="finding">(?P<finding>.*?)</p>)?',
    re.DOTALL,
)
_FINDING: Final = re.compile(r'<p class="finding">(.*?)</p>', re.DOTALL)
_BADGE: Final = re.compile(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", re.DOTALL)
_PLACEHOLDER: Final = re.compile(r"\$([a-z-]+)\$")


Back = Sequence[tuple[str, str]]
"""Texts and relative places of the links that lead from a page to those it belongs to."""


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


def gathered(notebook: Any) -> Any:
    """Return a copy without exhibits that have nothing to show, and headings without content.

    Why they are missing stands once, in a line before the last section.
    """
    chosen = copy.deepcopy(notebook)
    sentences: dict[str, None] = {}
    for cell in chosen.cells:
        outputs = cell.get("outputs", [])
        for output in outputs:
            sentences |= dict.fromkeys(output.get("data", {}).get(NOTHING, ()))
        if cell.cell_type == "code":
            cell.outputs = [o for o in outputs if NOTHING not in o.get("data", {})]
    kept: list[Any] = []
    for cell in chosen.cells:
        if _is_heading(cell) and kept and _is_heading(kept[-1]):
            kept.pop()
        if cell.cell_type != "code" or cell.outputs:
            kept.append(cell)
    if sentences:
        last = max((i for i, cell in enumerate(kept) if _is_heading(cell)), default=len(kept))
        shown = note(f"Not on this page: {' '.join(sentences)}")
        kept.insert(last, notebook_of("", shown).cells[1])
    chosen.cells = kept
    return chosen


def _is_heading(cell: Any) -> bool:
    is_markdown = cell.cell_type == "markdown" and cell.source.startswith("## ")
    return bool(is_markdown and "\n" not in cell.source.strip())


def with_files(notebook: Any, files: Sequence[tuple[str, str]], is_short: bool = False) -> Any:
    """Return a copy that ends with links to the files beside the page (name, meaning).

    Where it ``is_short`` only the first three are named, and the others counted.
    """
    extended = copy.deepcopy(notebook)
    if files and is_short:
        links = [f"[{markdown_text(name)}]({name})" for name, _ in files[:3]]
        more = f" and {counted(len(files) - 3, 'table')} (CSV)" if len(files) > 3 else ""
        said = f"Beside this page: {', '.join(links)}{more}."
        extended.cells.append(markdown_cell(said, "files"))
    elif files:
        lines = [f"- [{markdown_text(name)}]({name}): {meaning}" for name, meaning in files]
        source = "\n".join(["## Files beside this page", "", *lines])
        cell = markdown_cell(source, "files")
        extended.cells.append(cell)
    return extended


def to_html(notebook: Any, *, title: str, footer: str, back: Back = ()) -> str:
    """Return the page: one HTML document with our own script and no outside resources.

    Parameters
    ----------
    notebook
        An executed notebook; its code is left out.
    title, footer
        Plain text.
    back
        Where the page belongs to: texts and places of the links above its contents.

    Raises
    ------
    RenderError
        When the page is not self-contained.
    """
    body = _with_ids("\n".join(_cells(select_outputs(notebook))))
    return page_of_body(body, title=title, footer=footer, back=back)


def page_of_body(body: str, *, title: str, footer: str, back: Back = ()) -> str:
    """Return a page around HTML whose headings have ids; errors are those of :func:`to_html`."""
    items = [h for h in headings(body) if h.level == 2]
    links = "\n".join(f'<li><a href="#{h.id}">{h.text}</a></li>' for h in items)
    values = {"table-of-contents": f"<ol>\n{links}\n</ol>", "body": body}
    html = _filled(_around(title, footer, back) | values)
    check_page(html)
    return html


def _around(title: str, footer: str, back: Back) -> dict[str, str]:
    return {
        "pagetitle": html_text(title),
        "footer": html_text(footer),
        "back": back_html(back),
        "css": notebook_files.style_sheet().read_text(encoding="utf-8").strip(),
        "script": own_script(),
    }


def back_html(back: Back) -> str:
    """Return the links that lead from a page to where it belongs; empty where there is none."""
    links = "".join(f'<a href="{html_text(place)}">← {html_text(text)}</a>' for text, place in back)
    return f'<p class="back">{links}</p>' if links else ""


def own_script() -> str:
    """Return the text of the only script a page may have."""
    return notebook_files.script().read_text(encoding="utf-8").strip()


def _filled(values: dict[str, str]) -> str:
    template = notebook_files.page_frame().read_text(encoding="utf-8")
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)


def _cells(notebook: Any) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield _markdown(cell.source)
        elif cell.cell_type == "code":
            yield from filter(None, (_output(output.get("data", {})) for output in cell.outputs))


def _output(data: Mapping[str, str]) -> str:
    """Return what an output shows, in the best form that it offers; our own exhibits offer HTML."""
    plain = data.get("text/plain", "")
    if HTML in data:
        return data[HTML]
    if kind := next((kind for kind in _PICTURES if kind in data), ""):
        is_text = kind.endswith("xml")
        place = f",{quote(data[kind])}" if is_text else f";base64,{''.join(data[kind].split())}"
        return f'<p><img src="data:{kind}{html_text(place)}" alt="{html_text(plain)}"></p>'
    if "text/markdown" in data:
        return _markdown(data["text/markdown"])
    return f"<pre>{html_lines(plain)}</pre>" if plain else ""


def _markdown(source: str) -> str:
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    renderer = IPythonRenderer(escape=False, exclude_anchor_links=True)
    return str(MarkdownWithMath(renderer=renderer).render(source))


def _with_ids(html: str) -> str:
    """Give every heading an id; headings come from our notebooks, never from a trace."""
    taken: Counter[str] = Counter()

    def named(found: re.Match[str]) -> str:
        base = anchor(unescape(found[2]))
        taken[base] += 1
        unique = base if taken[base] == 1 else f"{base}-{taken[base]}"
        return f'<h{found[1]} id="{unique}">{found[2]}</h{found[1]}>'

    return _BARE_HEADING.sub(named, html)


def headings(html: str) -> list[Heading]:
    """Return the headings of a rendered page in order."""
    return [Heading(int(level), id_, text) for level, id_, text in _HEADING.findall(html)]


@dataclass(frozen=True, slots=True)
class Headline:
    """What a page says first: finding and tone of its answer, else its first finding; badges."""

    finding: str = ""
    tone: str = ""
    badges: Mapping[str, str] = field(default_factory=dict)


def headline(html: str) -> Headline:
    """Return what a rendered page says first, as plain text."""
    badges = {unescape(name): unescape(value) for name, value in _BADGE.findall(html)}
    answer = _ANSWER.search(html)
    if answer is None:
        first = _FINDING.search(html)
        return Headline(unescape(first[1]) if first else "", badges=badges)
    return Headline(unescape(answer["finding"] or ""), answer["tone"] or "", badges)


def check_page(html: str) -> None:
    """Raise ``RenderError`` unless a page is self-contained, with one h1 and no id twice.

    The only script it may have is our own, by its exact text.
    """
    found = _Page()
    found.feed(html)
    found.close()
    if found.problem is not None:
        raise RenderError(f"the rendered page {found.problem}")
    if found.n_main_headings != 1:
        raise RenderError(
            f"the rendered page has {found.n_main_headings} main headings, not 1; in a notebook it "
            "begins with '# '"
        )


class _Page(HTMLParser):
    """What a browser would do with a page: run, fetch, show as the main heading, jump to."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problem: str | None = None
        self.n_main_headings = 0
        self._ids: set[str] = set()
        self._script: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.n_main_headings += tag == "h1"
        if tag == "script" and not attrs:
            self._script = ""
        elif tag in ("script", "iframe", "object", "embed", "link", "base", "form"):
            self.problem = f"holds a <{tag}> element"
        for name, value in attrs:
            text = value or ""
            if name.startswith("on"):
                self.problem = f"holds the event handler {name}"
            if name == "http-equiv" and text.lower() != "content-security-policy":
                self.problem = f"holds the instruction {text[:80]}"
            is_resource = name in ("src", "srcset", "poster", "background", "data", "xlink:href")
            if is_resource and not text.startswith("data:"):
                self.problem = f"loads {text[:80]} from outside"
            if name == "href" and _RUNS_CODE.match(text):
                self.problem = "holds a link that runs code"
            if name == "id":
                self._note_id(text)

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._end_script()

    def close(self) -> None:
        super().close()
        self._end_script()

    def _end_script(self) -> None:
        if self._script is not None and self._script != own_script():
            self.problem = "holds a <script> element that is not its own"
        self._script = None

    def _note_id(self, id_: str) -> None:
        kind, _, key = id_.partition("-")
        if id_ in self._ids and kind in ("fig", "tbl") and key:
            what = "figures" if kind == "fig" else "tables"
            self.problem = f"shows two {what} with the key '{key}'; give one of them another key"
        elif id_ in self._ids:
            self.problem = f"holds the id '{id_}' twice"
        self._ids.add(id_)


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
