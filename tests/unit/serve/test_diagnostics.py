from __future__ import annotations

from jsonschema import Draft202012Validator

from retrieval_eval import __version__
from retrieval_eval.errors import BadInputError
from retrieval_eval.schema import SCHEMAS, version_of
from retrieval_eval.serve.dashboard import Sources, answer_schema, diagnostics
from tests.unit.serve.documents import BACKLOG, BACKLOG_SERVED, answered, search_run, write


def health(sources):
    found = answered(diagnostics(sources), sources)
    Draft202012Validator(answer_schema("diagnostics", sources)).validate(found)
    return found


def test_all_is_well(tmp_path):
    write(tmp_path, "1", search_run(p5=0.5))
    found = health(Sources(tmp_path, tmp_path, backlog=lambda: BACKLOG))
    assert found["status"] == "ok"
    assert found["degraded_reasons"] == []
    assert found["package"] == {"name": "retrieval-evidence", "version": __version__}
    assert found["schema_versions"] == {kind: version_of(kind) for kind in SCHEMAS}
    assert found["latest_run"]["label"] == "first"
    assert found["latest_run"]["headline"]["P@5"]["n"] == 4
    assert found["backlog"] == BACKLOG_SERVED


def test_an_unconfigured_backlog_is_no_fault(tmp_path):
    write(tmp_path, "1", search_run())
    found = health(Sources(tmp_path, tmp_path, backlog_name="halacha_backlog"))
    assert found["status"] == "ok"
    assert found["halacha_backlog"] is None
    assert found["halacha_backlog_reason"]


def test_every_fault_is_named(tmp_path):
    def down():
        raise BadInputError("the database is down")

    write(tmp_path, "1", search_run(n_failed=2))
    write(tmp_path, "2", "{")
    found = health(Sources(tmp_path, tmp_path / "none", backlog=down))
    assert found["status"] == "degraded"
    verdict, skipped, reports, backlog = found["degraded_reasons"]
    assert verdict.endswith("carries no verdict (2 of 4 queries failed)")
    assert skipped.startswith("skipped eval-report-2.json: ")
    assert "not valid JSON" in skipped
    assert reports == "reports: there is no folder 'none'"
    assert backlog == "backlog: the database is down"


def test_no_run_is_degraded(tmp_path):
    found = health(Sources(tmp_path, tmp_path))
    assert found["latest_run"] is None
    assert found["degraded_reasons"] == [f"latest run: {found['latest_run_reason']}"]
