from __future__ import annotations

from html.parser import HTMLParser

from retrieval_eval.errors import BadInputError
from retrieval_eval.serve.app import index_page
from retrieval_eval.serve.dashboard import Sources, dashboard
from tests.unit.serve.documents import BACKLOG, metric, search_run, write

HOSTILE = '"><script>alert(1)</script>\u202e'


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text, self.rows, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        if tag == "tr":
            self.rows.append([])
        self.links += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.text.append(data)
        if self.rows and data.strip():
            self.rows[-1].append(data)


def shown(root, **backlog):
    return dashboard(Sources(root, root, **backlog))


def parsed(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    return tags


def test_the_page_of_a_run(tmp_path):
    document = search_run(p5=0.5, with_delta=True)
    # The headline leads whatever the order of the run.
    document["metrics"] = {"P@1": metric(0.25, 4), **document["metrics"]}
    write(tmp_path, "1", document)
    page = index_page(shown(tmp_path, backlog=lambda: BACKLOG), {"a%20b/index.html": False})
    tags = parsed(page)
    assert tags.rows[0][2] == "95 % interval"
    assert tags.rows[1] == ["P@5", "0.500", "0.400 to 0.600", "4", "+25.00", "−5.00 to +55.00", "4"]
    assert tags.rows[2] == ["Recall@20", "0.750", "0.650 to 0.850", "4", "—", "—", "—"]
    assert tags.rows[3][0] == "P@1"
    text = " ".join("".join(tags.text).split())
    assert "3 pending review, 10 approved, 2 rejected, 4 published, 0 other (19 in total)" in text
    assert "2026-01-02T03:04:05Z" in text
    assert "Provisional" in text
    assert "/reports/a%20b/index.html" in tags.links


def test_a_simulated_run_says_so_in_title_and_text(tmp_path):
    document = search_run(p5=0.5)
    write(tmp_path, "1", document)
    assert "imulated" not in index_page(shown(tmp_path), {})
    document["run"]["gold_set"]["n_simulated"] = 3
    write(tmp_path, "1", document)
    page = index_page(shown(tmp_path), {})
    assert "<title>Simulated data: " in page
    assert "<h1>Simulated data: " in page
    text = " ".join("".join(parsed(page).text).split())
    assert "Simulated data: 3 of 4 queries are invented" in text


def test_nothing_known_is_said_not_zeroed(tmp_path):
    def down():
        raise BadInputError("the database is down")

    text = "".join(parsed(index_page(shown(tmp_path, backlog=down), {})).text)
    assert "Unknown: the database is down" in text
    assert "No report was rendered yet." in text
    assert "search run" in text


def test_a_run_without_verdict_says_so(tmp_path):
    write(tmp_path, "1", search_run(n_failed=1))
    text = "".join(parsed(index_page(shown(tmp_path), {})).text)
    assert "No verdict: 1 of 4 queries failed" in text


def test_a_baseline_of_another_gold_set_gives_no_points(tmp_path):
    document = search_run(with_delta=True)
    document["delta"] |= {"is_comparable": False, "reasons": ["another gold set"], "metrics": {}}
    write(tmp_path, "1", document)
    tags = parsed(index_page(shown(tmp_path), {}))
    assert "Not comparable with the baseline: another gold set" in "".join(tags.text)
    assert tags.rows[1][4] == "—"


def test_hostile_text_stays_text(tmp_path):
    document = search_run(HOSTILE, n_failed=1)
    document["status"]["reasons"] = [HOSTILE]
    document["metrics"]["P@5"]["value"] = None
    document["metrics"]["P@5"]["reason"] = HOSTILE
    document["metrics"][HOSTILE] = document["metrics"]["Recall@20"]
    write(tmp_path, "1", document)
    write(tmp_path, "2<script>", "{")
    page = index_page(shown(tmp_path), {HOSTILE: True})
    assert "script" not in parsed(page).found
    assert "<script" not in page
    assert "\u202e" not in page
