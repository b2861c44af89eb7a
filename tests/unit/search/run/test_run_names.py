from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import write_bytes
from retrieval_eval.search.run.document import named_run, run_bytes
from tests.searches import answer, gold_query, gold_set, run_of

GOLD = gold_set(gold_query("q1", {"a": 1}))


@pytest.fixture
def folder(tmp_path):
    def put(name, label, moment):
        run = run_of(GOLD, [answer("q1", ["a"])], label=label, generated_at=moment)
        write_bytes(tmp_path / name, run_bytes(run))

    put("eval-report-1.json", "before", "2026-01-05T10:00:00Z")
    put("eval-report-2.json", "after", "2026-01-06T10:00:00Z")
    put("eval-report-3.json", "", "2026-01-07T10:00:00Z")
    put("other.json", "elsewhere", "2026-01-05T10:00:00Z")
    (tmp_path / "eval-report-broken.json").write_text("{")
    put("eval-report-9.json", "after", "2026-01-06T09:00:00Z")
    return tmp_path


def test_a_path_wins_and_a_label_is_looked_up(folder):
    path = folder / "other.json"
    assert named_run(str(path), folder).run.label == "elsewhere"
    found = named_run("before", folder)
    assert (found.path.name, found.notices) == ("eval-report-1.json", ())


def test_the_newest_of_several_is_taken_and_said(folder):
    found = named_run("after", folder)
    assert found.path.name == "eval-report-2.json"
    (notice,) = found.notices
    assert notice.startswith("2 runs are labelled 'after'; the newest is ")


def test_of_one_second_the_later_report_is_the_newest(folder):
    for name in ("eval-report-2-2.json", "eval-report-2-10.json"):
        (folder / name).write_bytes((folder / "eval-report-2.json").read_bytes())
    assert named_run("after", folder).path.name == "eval-report-2-10.json"


def test_a_run_and_the_same_with_its_claims_are_one(folder):
    name = "eval-report-1.claims.json"
    (folder / name).write_bytes((folder / "eval-report-1.json").read_bytes())
    found = named_run("before", folder)
    assert (found.path.name, found.notices) == (name, ())


def test_claims_make_a_run_no_newer(folder):
    for name in ("eval-report-2.claims.json", "eval-report-2-2.json"):
        (folder / name).write_bytes((folder / "eval-report-2.json").read_bytes())
    assert named_run("after", folder).path.name == "eval-report-2-2.json"


def test_an_unknown_name_lists_the_labels(folder):
    with pytest.raises(BadInputError, match=r"labels there: 'after', 'before'$"):
        named_run("beforehand", folder)
    with pytest.raises(BadInputError, match=r"labels there: none$"):
        named_run("before", folder / "nowhere")


def test_no_run_has_the_empty_label(folder):
    with pytest.raises(BadInputError, match="neither a file nor the label"):
        named_run("", folder)


def test_a_labelled_file_that_is_no_run_is_named(folder):
    (folder / "eval-report-4.json").write_text(
        '{"schema_version": "1.2", "label": "odd", "generated_at": "2026-01-05T10:00:00Z"}'
    )
    with pytest.raises(BadInputError, match=r"eval-report-4\.json: not a search run"):
        named_run("odd", folder)
