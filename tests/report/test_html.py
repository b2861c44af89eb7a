from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser

import nbformat
import pytest

import retrieval_eval as rev
from retrieval_eval.errors import RenderError
from retrieval_eval.report import Run, render
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.show import table_html
from tests.factories import BASELINE, write_run
from tests.report.conftest import HOSTILE
from tests.report.pages import PAGES, hostile_diff, ordinary_run, search_notebook, search_page
from tests.report.search_made import gold_of, hostile, searched
from tests.report.typst_source import code

MAX_BYTES = 2_000_000


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.headings: list[int] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(params=[name for name in PAGES if name not in ("index", "tables")])
def any_page(request, page) -> Page:
    return Page(page(request.param).read_text(encoding="utf-8"))


def test_headings_landmarks_and_contents_of_any_page(any_page):
    assert any_page.headings.count(1) == 1
    assert any_page.headings[0] == 1
    pairs = zip(any_page.headings, any_page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in pairs)
    assert any_page.all("html") == [{"lang": "en"}]
    assert len(any_page.all("main")) == 1
    assert any_page.all("a")[0] == {"class": "skip", "href": "#main"}
    assert any_page.all("nav")[0]["aria-label"] == "Contents"
    ids = [attrs.get("id") for _, attrs in any_page.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    targets = [a["href"] for a in any_page.all("a") if (a["href"] or "").startswith("#")]
    assert len(targets) >= 1
    assert all(target.removeprefix("#") in ids for target in targets)


def test_nothing_foreign_runs_on_any_page_and_nothing_is_fetched(any_page):
    names = {tag for tag, _ in any_page.tags}
    assert len(any_page.all("script")) == 1
    assert not names & {"iframe", "object", "embed", "link", "base", "form", "b", "i", "u"}
    for _, attrs in any_page.tags:
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "srcset", "poster", "data"):
            assert (attrs.get(name) or "data:").startswith("data:")
    assert all(not re.match("[a-z]+:", a["href"] or "") for a in any_page.all("a"))


def test_figures_and_tables_of_any_page_can_be_read_without_seeing_them(any_page):
    images = any_page.all("img")
    assert len(images) <= 14
    assert all(len(image["alt"] or "") > 40 for image in images)
    assert len(any_page.all("figcaption")) == len(images)
    assert len(any_page.all("caption")) == len(any_page.all("table"))
    assert all(th.get("scope") in ("col", "row") for th in any_page.all("th"))


@pytest.mark.parametrize("name", ["hostile", "search-hostile", "diff-hostile"])
def test_hostile_names_are_shown_as_text(page, name):
    text = "".join(Page(page(name).read_text(encoding="utf-8")).text)
    for attack in HOSTILE[:3]:
        assert attack in text
    if name != "diff-hostile":
        assert all(attack in text for attack in HOSTILE[:6])
        assert "one two\\u202eevil\\u200b\\u0007" in text


def test_hostile_names_are_harmless_in_print(executed, hostile_run):
    searches = (searched(hostile(), baseline=hostile()), hostile_diff())
    for notebook in (executed(hostile_run), *map(search_notebook, searches)):
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                source = output["data"]["text/markdown"]
                assert "{{<" not in source
                assert not any(name in code(source) for name in HOSTILE)


def test_the_same_search_run_gives_the_same_bytes(page):
    own = ordinary_run()
    again = search_page(searched(own, gold=gold_of(own, {"missed": 1})))
    assert again == page("search").read_text(encoding="utf-8")


def test_an_executed_notebook_that_was_stored_gives_the_same_page(page_of, made_run, executed):
    text = nbformat.writes(executed(made_run))
    notebook = nbformat.reads(text, as_version=4)
    whole = render.gathered(notebook)
    assert render.to_html(whole, title="Report: made", footer="made") == page_of(made_run)


@pytest.mark.extra
def test_four_hundred_tasks_stay_within_two_megabytes(page_of, tmp_path):
    suites = tuple(f"suite_{i}" for i in range(12))
    html = page_of(Run([write_run(tmp_path, n_tasks=400, n_events=4, suites=suites)]))
    assert len(html.encode()) <= MAX_BYTES
    assert "task-399" in html


def test_above_five_hundred_tasks_the_appendix_is_a_file(executed, tmp_path):
    trials = Run([write_run(tmp_path, n_tasks=501, configs=(BASELINE,), n_events=0)]).trials
    shown = rev.table.tasks(rev.compare(trials), trials, top=500).block().exhibits[0]
    assert shown.notes == ("1 further trial in the tables beside this page.",)


OWN = render.own_script()


@pytest.mark.parametrize(
    "html",
    [
        "<h1>a</h1><script>x</script>",
        "<h1>a</h1><script>x",
        f"<h1>a</h1><script>{OWN} </script>",
        f'<h1>a</h1><script type="module">{OWN}</script>',
        f"<h1>a</h1><svg><script>{OWN}//</script></svg>",
        '<h1>a</h1><meta http-equiv="refresh" content="0; url=http://example.org">',
        '<h1>a</h1><img src="http://example.org/x.png">',
        "<h1>a</h1><p onclick=x>",
        '<h1>a</h1><a href="javascript:x">y</a>',
        '<h1>a</h1><link rel="stylesheet" href="x.css">',
        "<h1>a</h1><h1>b</h1>",
        "<p>no heading</p>",
    ],
)
def test_a_page_that_is_not_self_contained_is_refused(html):
    with pytest.raises(RenderError):
        render.check_page(html)


def test_words_that_look_like_resources_are_no_fault():
    render.check_page(
        '<h1>a</h1><p>src="http://x" &lt;script&gt;</p><img src="data:," alt="src=y">'
    )


def test_the_policy_of_a_page_allows_our_script_and_nothing_else():
    page = Page(render.page_of_body("<h1>a</h1>", title="t", footer="f"))
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv"))
    digest = b64encode(hashlib.sha256(OWN.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_a_page_names_where_it_belongs():
    back = (("Run report", "../../index.html"), ("<All>", "../../../index.html"))
    html = render.page_of_body("<h1>a</h1>", title="$body$ <t>", footer="f", back=back)
    assert '<a href="../../index.html">← Run report</a>' in html
    assert "← &lt;All&gt;</a>" in html
    assert "<title>$body$ &lt;t&gt;</title>" in html
    assert 'class="back"' not in render.page_of_body("<h1>a</h1>", title="t", footer="f")


def test_two_exhibits_of_one_key_are_an_error():
    table = Table("same", "c", ("a",), ())
    twice = "<h1>a</h1>" + table_html(table) + table_html(table)
    with pytest.raises(RenderError, match="two tables with the key 'same'; give one of them an"):
        render.check_page(twice)
    with pytest.raises(RenderError, match="two figures with the key 'x'"):
        render.check_page('<h1>a</h1><figure id="fig-x"></figure><figure id="fig-x"></figure>')
    with pytest.raises(RenderError, match="the id 'other' twice"):
        render.check_page('<h1 id="other">a</h1><p id="other">')
