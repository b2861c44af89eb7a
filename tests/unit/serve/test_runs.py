from __future__ import annotations

import json
import os

from retrieval_eval.serve.dashboard import read_runs
from tests.unit.serve.documents import search_run, write


def names(root):
    runs, skipped = read_runs(root)
    return [run.name for run in runs], {each.name: each.reason for each in skipped}


def test_newest_first_whatever_the_file_is_called(tmp_path):
    write(tmp_path, "c", search_run(generated_at="2026-01-01T00:00:00Z"))
    write(tmp_path, "a", search_run(generated_at="2026-01-03T00:00:00Z"))
    write(tmp_path, "b", search_run(generated_at="2026-01-02T00:00:00Z"))
    found, skipped = names(tmp_path)
    assert found == ["eval-report-a.json", "eval-report-b.json", "eval-report-c.json"]
    assert skipped == {}


def test_among_equal_times_the_last_name_is_newest(tmp_path):
    for name in ("b", "c", "a"):
        write(tmp_path, name, search_run())
    assert [name[12] for name in names(tmp_path)[0]] == ["c", "b", "a"]


def test_of_one_second_the_last_number_is_newest(tmp_path):
    for end in ("", "-2", "-10", "-9.claims"):
        write(tmp_path, f"20260131T120000Z{end}", search_run())
    assert [name[28:-5] for name in names(tmp_path)[0]] == ["-10", "-9.claims", "-2", ""]


def test_times_are_compared_as_times(tmp_path):
    # 09:30 UTC is later than 10:00 two hours east of it, which is 08:00 UTC.
    write(tmp_path, "east", search_run(generated_at="2026-01-01T10:00:00+02:00"))
    write(tmp_path, "utc", search_run(generated_at="2026-01-01T09:30:00Z"))
    assert names(tmp_path)[0] == ["eval-report-utc.json", "eval-report-east.json"]


def test_what_is_no_run_is_skipped_by_name_with_its_reason(tmp_path):
    whole = json.dumps(search_run())
    write(tmp_path, "good", whole)
    write(tmp_path, "half", whole[: len(whole) // 2])
    write(tmp_path, "empty", "")
    write(tmp_path, "later", '{"schema_version": "2.0"}')
    write(tmp_path, "list", "[]")
    write(tmp_path, "part", {k: v for k, v in search_run().items() if k != "metrics"})
    write(tmp_path, "when", search_run(generated_at="yesterday"))
    (tmp_path / "eval-report-good.md").write_text("# text")
    (tmp_path / "baseline.json").write_text(whole)
    found, skipped = names(tmp_path)
    assert found == ["eval-report-good.json"]
    expected = {"half": "not valid JSON", "empty": "not valid JSON", "list": "expected an object"}
    expected |= {"later": "another major version", "part": "'metrics'", "when": "/generated_at"}
    assert {name[12:-5] for name in skipped} == set(expected)
    for name, words in expected.items():
        assert words in skipped[f"eval-report-{name}.json"], name


def test_a_link_that_leads_out_is_not_read(tmp_path):
    outside = write(tmp_path / "outside", "real", search_run())
    root = tmp_path / "data"
    root.mkdir()
    (root / "eval-report-link.json").symlink_to(outside)
    (root / "eval-report-gone.json").symlink_to(tmp_path / "nowhere")
    found, skipped = names(root)
    assert found == []
    assert "leads out of the tree" in skipped["eval-report-link.json"]
    assert "cannot be read" in skipped["eval-report-gone.json"]


def test_a_pipe_or_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "eval-report-pipe.json")
    (tmp_path / "eval-report-folder.json").mkdir()
    found, skipped = names(tmp_path)
    assert found == []
    assert set(skipped.values()) == {"is not a regular file"}


def test_a_run_that_changed_is_read_again(tmp_path):
    path = write(tmp_path, "x", search_run("one"))
    assert read_runs(tmp_path)[0][0].found.label == "one"
    path.unlink()
    write(tmp_path, "x", search_run("another"))
    assert read_runs(tmp_path)[0][0].found.label == "another"


def test_no_folder_no_runs(tmp_path):
    assert read_runs(tmp_path / "none") == ((), ())
