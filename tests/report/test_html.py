from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from html.parser import HTMLParser

import pytest

import retrieval_eval as rev
from retrieval_eval.errors import RenderError
from retrieval_eval.escape import visible
from retrieval_eval.report import Run, render
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.show import table_html
from tests.factories import BASELINE, write_run
from tests.report.conftest import HOSTILE
from tests.report.typst_source import code, strings

MAX_BYTES = 2_000_000
MAX_FIGURES = 14


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


@pytest.fixture(scope="module")
def page(page_of, made_run) -> Page:
    return Page(page_of(made_run))


@pytest.fixture(scope="module")
def hostile_page(page_of, hostile_run) -> Page:
    return Page(page_of(hostile_run))


@pytest.fixture(params=["page", "hostile_page"])
def any_page(request) -> Page:
    return request.getfixturevalue(request.param)


def test_one_main_heading_and_no_skipped_level(any_page):
    assert any_page.headings.count(1) == 1
    assert any_page.headings[0] == 1
    pairs = zip(any_page.headings, any_page.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in pairs)


def test_landmarks_language_and_skip_link(any_page):
    assert any_page.all("html") == [{"lang": "en"}]
    assert len(any_page.all("main")) == 1
    assert any_page.all("a")[0] == {"class": "skip", "href": "#main"}
    assert any_page.all("nav")[0]["aria-label"] == "Contents"


def test_contents_lead_to_the_sections(any_page):
    ids = [attrs.get("id") for _, attrs in any_page.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    targets = [a["href"] for a in any_page.all("a") if (a["href"] or "").startswith("#")]
    assert len(targets) >= 14
    assert all(target.removeprefix("#") in ids for target in targets)


def test_nothing_foreign_runs_and_nothing_is_fetched(any_page):
    names = {tag for tag, _ in any_page.tags}
    assert len(any_page.all("script")) == 1
    assert not names & {
        "iframe",
        "object",
        "embed",
        "link",
        "base",
        "form",
        "b",
        "i",
        "u",
    }
    for _, attrs in any_page.tags:
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "srcset", "poster", "data"):
            assert (attrs.get(name) or "data:").startswith("data:")
    assert all(not re.match("[a-z]+:", a["href"] or "") for a in any_page.all("a"))


def test_every_figure_has_alt_text_caption_and_data(any_page):
    images = any_page.all("img")
    assert 10 <= len(images) <= MAX_FIGURES
    assert all(len(image["alt"] or "") > 40 for image in images)
    assert len(any_page.all("figcaption")) == len(images) == len(any_page.all("details")) - 1


def test_every_table_has_a_caption_and_scopes(any_page):
    assert len(any_page.all("caption")) == len(any_page.all("table"))
    assert all(th.get("scope") in ("col", "row") for th in any_page.all("th"))


def test_hostile_names_are_shown_as_text(hostile_page):
    text = "".join(hostile_page.text)
    for name in HOSTILE[:6]:
        assert name in text
    assert "one two\\u202eevil\\u200b\\u0007" in text
    assert "lone \\ud800 surrogate" in text


def test_hostile_names_are_harmless_in_print(executed, hostile_run):
    texts = []
    for cell in executed(hostile_run).cells:
        for output in cell.get("outputs", []):
            source = output["data"]["text/markdown"]
            texts += strings(source)
            assert "{{<" not in source
            assert not any(name in code(source) for name in HOSTILE)
    printed = "\n".join(texts)
    # A name of thousands of letters may be shortened.
    assert all(visible(name) in printed for name in HOSTILE if len(name) < 500)


def test_figures_in_print_carry_alt_text(executed, made_run):
    cells = executed(made_run).cells
    source = "".join(o["data"]["text/markdown"] for c in cells for o in c.get("outputs", []))
    pictures = re.findall(r'format: "svg", width: 100%, alt: "[^"]{40,}"', source)
    assert len(pictures) == source.count("image(bytes(")
    assert len(pictures) >= 10


def test_what_the_report_cannot_tell_is_always_printed(page_of, tmp_path):
    # A run without a trial has no report at all.
    folder = write_run(tmp_path, n_tasks=1, configs=(BASELINE,), n_without_trace=1, n_events=0)
    assert "What this report cannot tell you" in page_of(Run([folder]))


def test_the_same_run_gives_the_same_bytes(page_of, made_run):
    fresh = Run(made_run.folders)
    assert page_of(fresh) == page_of(made_run)


def test_private_reports_hold_no_arguments_and_no_folders(page_of, tmp_path):
    folder = write_run(tmp_path, n_tasks=4)
    parameters = {"runs_root": "/home/someone/runs", "seed": 1}
    whole = page_of(Run([folder], parameters=parameters))
    assert "/home/someone" in whole.replace("<wbr>", "")
    private = page_of(Run([folder], parameters=parameters, privacy=True), privacy=True)
    private = private.replace("<wbr>", "")
    assert "/home/someone" not in private
    assert "secret-argument" not in private


def test_four_hundred_tasks_stay_within_two_megabytes(page_of, tmp_path):
    suites = tuple(f"suite_{i}" for i in range(12))
    html = page_of(Run([write_run(tmp_path, n_tasks=400, n_events=4, suites=suites)]))
    assert len(html.encode()) <= MAX_BYTES
    assert "task-399" in html


def test_above_five_hundred_tasks_the_appendix_is_a_file(executed, tmp_path):
    trials = Run([write_run(tmp_path, n_tasks=501, configs=(BASELINE,), n_events=0)]).trials
    shown = rev.table.tasks(trials, ["file_recall"], [BASELINE]).block().exhibits[0]
    assert shown.notes == ("1 further task in appendix.csv.",)


def test_every_config_is_in_the_page_when_there_are_six(page_of, tmp_path):
    names = tuple(f"config-{i}" for i in range(6))
    html = page_of(Run([write_run(tmp_path, n_tasks=6, configs=names)]))
    assert all(name in html for name in names)


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


def test_our_own_script_is_no_fault():
    render.check_page(f"<h1>a</h1><script>{OWN}</script>")


def test_the_policy_of_a_page_allows_our_script_and_nothing_else():
    page = Page(render.page_of_body("<h1>a</h1>", title="t", footer="f"))
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv"))
    digest = b64encode(hashlib.sha256(OWN.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_the_script_is_small_and_calls_nothing_that_runs_text():
    assert len(OWN.encode()) <= 4096
    assert not re.search(r"eval|Function|innerHTML|outerHTML|insertAdjacent|document\.write", OWN)
    assert "</" not in OWN
    assert "<!--" not in OWN


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
