"""What Quarto makes of a small executed notebook, recorded, so that it is held where it is absent.

Where Quarto is on PATH, the records are compared with what it makes now;
``RETRIEVAL_EVAL_RECORD=1`` writes notebook and records anew.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import nbformat
import pytest

from retrieval_eval.report import quarto, render
from retrieval_eval.report.exhibits import Block, Empty, Figure, Link, Table
from tests.report.conftest import HOSTILE
from tests.report.test_renderers import PRINT, missing_from, shown

RECORDED = Path(__file__).parent / "recorded"
NOTEBOOK, PAGE, SOURCE = (RECORDED / name for name in ("executed.ipynb", "page.html", "print.typ"))
TITLE, FOOTER = "Report: small <b>", "small · {{< x >}}"
BACK = [("Run report", "../index.html")]
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 40">'
    '<rect width="90" height="40"/></svg>'
)
LINKS = (
    "See [the figure](#fig-small), [the table](#tbl-small), [another page](trials/a/index.html), "
    "[no such place](#fig-none) and [a site](https://example.org/)."
)


def small_notebook():
    """Return an executed notebook with everything that a report may show."""
    table = Table(
        "small",
        "A table",
        ("Name", "n"),
        tuple((Link(text[:60], "a.html"), str(n)) for n, text in enumerate(HOSTILE)),
        notes=("A note.",),
    )
    data = Table("small-data", "Data", ("n",), (("1",),))
    figure = Figure("small", SVG, "A rectangle", "A figure", data)
    header = Block("header", "A header", badges=(("Run", "small <b>"), ("Suites", "one")))
    answer = Block("answer", "It helped", ("A sentence.",), (table,), tone="better")
    others = Block("section", "A finding", (), (figure, Empty("none", "There is none.")))
    library = nbformat.v4
    times = {"papermill": {"start_time": "2020-02-02T02:02:02", "duration": 77.5}}
    cells = [
        library.new_markdown_cell("# A small report\n\nWhat it is about."),
        *(
            library.new_code_cell(
                "report()",
                metadata=times,
                outputs=[
                    library.new_output("stream", name="stderr", text="a library warns"),
                    library.new_output("execute_result", block._repr_mimebundle_()),
                ],
            )
            for block in (header, answer)
        ),
        library.new_markdown_cell("## First & second\n\n" + LINKS),
        library.new_code_cell(
            "others", outputs=[library.new_output("display_data", others._repr_mimebundle_())]
        ),
        library.new_markdown_cell("### A part\n\n## First & second"),
        library.new_code_cell(
            "text", outputs=[library.new_output("execute_result", {"text/plain": "3 < 4"})]
        ),
    ]
    notebook = library.new_notebook(cells=cells)
    return quarto.with_front_matter(notebook, title=TITLE, footer=FOOTER, back=BACK)


def recorded_notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def main_of(page: str) -> str:
    return page[page.index("<main") : page.index("</main>")]


def around(page: str) -> str:
    """Return a page without the texts of style sheet and script, which change with their files."""
    rest = re.sub(r"(?<=<style>).*?(?=</style>)", "", page, flags=re.DOTALL)
    rest = re.sub(r"(?<=<script>).*?(?=</script>)", "", rest, flags=re.DOTALL)
    return re.sub(r"sha256-[\w+/=]+", "sha256-", rest)


def words(page: str) -> list[str]:
    return html.unescape(re.sub(r"<[^>]*>", " ", page)).split()


def tags(page: str) -> list[str]:
    """Return the elements that matter: Pandoc wraps plain text in a second one."""
    return [tag for tag in re.findall(r"<(/?\w+)", page) if not tag.endswith("code")]


def test_the_recorded_page_is_that_of_the_embedded_renderer():
    recorded = PAGE.read_text(encoding="utf-8")
    footer = f"{FOOTER} · rendered by Quarto"
    ours = around(render.to_html(recorded_notebook(), title=TITLE, footer=footer, back=BACK))
    assert words(recorded) == words(ours)
    assert tags(main_of(recorded)) == tags(main_of(ours))
    assert render.headings(recorded) == render.headings(ours)
    assert re.findall(r'(?:href|id|alt)="[^"]*"', recorded) == re.findall(
        r'(?:href|id|alt)="[^"]*"', ours
    )


def test_the_recorded_page_has_no_times_of_execution_and_nothing_from_outside():
    recorded = PAGE.read_text(encoding="utf-8")
    assert not re.search(r"papermill|2020-02-02|77\.5|a library warns|cell-output", recorded)
    assert not re.search(r'(?:src|srcset)="(?!data:)', recorded)
    assert recorded.count("<script>") == recorded.count("<script") == 1
    assert 'href="#fig-small"' in recorded


def test_the_recorded_print_has_every_cell_and_links_that_paper_can_follow():
    recorded = SOURCE.read_text(encoding="utf-8")
    blocks = [
        d[PRINT].partition("\n")[2].rpartition("\n```")[0] for d in shown(recorded_notebook())
    ]
    assert missing_from(recorded, blocks) == []
    (sentence,) = (line for line in recorded.split("\n") if line.startswith("See "))
    assert 'the figure (#ref(label("fig-small")))' in sentence
    assert '#link(label("tbl-small"))[the table]' in sentence
    assert "another page, no such place and" in sentence
    assert '#link("https://example.org/")[a site]' in sentence


@pytest.mark.slow
def test_quarto_still_makes_what_is_recorded(monkeypatch):
    if quarto.executable() is None:
        pytest.skip("Quarto is not on the path")
    if os.environ.get("RETRIEVAL_EVAL_RECORD"):
        NOTEBOOK.write_text(nbformat.writes(small_notebook()) + "\n", encoding="utf-8")
    page = around(quarto.to_file(recorded_notebook(), "html").decode())
    sources = []

    def written(folder: Path, name: str) -> bytes:
        (source,) = folder.glob("*.typ")
        sources.append(source.read_text(encoding="utf-8").partition("// End of the look\n")[2])
        return b"printed"

    monkeypatch.setattr(quarto, "_written", written)
    notebook = recorded_notebook()
    first = notebook.cells[0]
    first.source = first.source.replace("report.pdf", "report.pdf\n    keep-typ: true")
    quarto.to_file(notebook, "pdf")
    if os.environ.get("RETRIEVAL_EVAL_RECORD"):
        PAGE.write_text(page, encoding="utf-8")
        SOURCE.write_text(sources[0], encoding="utf-8")
    assert words(page) == words(PAGE.read_text(encoding="utf-8"))
    assert tags(page) == tags(PAGE.read_text(encoding="utf-8"))
    assert sources[0].split() == SOURCE.read_text(encoding="utf-8").split()
