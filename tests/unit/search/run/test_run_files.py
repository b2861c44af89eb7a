from __future__ import annotations

import json
from datetime import date

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.artefacts import sealed
from retrieval_eval.schema import faults
from retrieval_eval.search.change.baseline import plan_update
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.run.document import run_bytes
from tests.guards import run_with
from tests.plain_runs import check, compare_with_baseline, diff, noise, read_search_run
from tests.searches import answer, gold_query, gold_set, run_of

RUN = run_of(gold_set(gold_query("q", {"x": 1})), [answer("q", ["x", "y"])])


def _with(place, value):
    document = json.loads(run_bytes(RUN))
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return document


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize(
    ("place", "pointer"),
    [
        (("queries", 0, "ranking", 1, "score"), "/queries/0/ranking/1/score"),
        (("metrics", "P@5", "ci_low"), "/metrics/P@5/ci_low"),
        (("run", "retriever", "facts"), "/run/retriever/facts/a~1b/0"),
    ],
)
def test_a_number_that_nobody_can_reckon_with_is_named(tmp_path, place, pointer, number):
    value = {"a/b": ["here"]} if place[-1] == "facts" else "here"
    text = json.dumps(_with(place, value)).replace('"here"', number)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInputError) as caught:
        read_search_run(tmp_path / "run.json")
    assert str(caught.value).endswith(
        f"run.json: not a valid search run: {pointer}: expected a finite number"
    )


@pytest.mark.parametrize("confidence", [-1, 0, 1, 95])
def test_a_confidence_is_a_share(tmp_path, confidence):
    document = _with(("run", "settings", "confidence"), confidence)
    (tmp_path / "run.json").write_text(json.dumps(document))
    with pytest.raises(BadInputError, match="/run/settings/confidence"):
        read_search_run(tmp_path / "run.json")


@pytest.mark.parametrize("value", [5.0, -0.1, 1.0000001])
@pytest.mark.parametrize("place", [("queries", 0, "metrics", "P@5"), ("metrics", "P@5", "value")])
def test_a_measure_beyond_its_scale_is_named(tmp_path, place, value):
    (tmp_path / "run.json").write_text(json.dumps(_with(place, value)))
    where = "/" + "/".join(map(str, place))
    with pytest.raises(BadInputError, match=f"{where}: .* is no share from 0 to 1$"):
        read_search_run(tmp_path / "run.json")


# --- runs of earlier versions, which scored answers that cannot be trusted ---

SOUND = run_with([4] * 8, refused=[True] * 4)


def _of_an_earlier_version(code, n=4):
    """The same run, in which the last answers carry a problem that did not fail them."""
    document = json.loads(json.dumps(SOUND))
    for query in document["queries"][-n:]:
        query["problems"] = [code] if code in CODES else []
        if code == "twice":
            query["ranking"] = [{"doc": "d", "score": 1.0, "grade": None}] * 2
    document["run"].pop("ids_checked", None)
    document["delta"] = compare_with_baseline(SOUND, SOUND, seed=1)["delta"]
    assert faults(document, "search_run") == []
    return document


CODES = ("nan_score", "unknown_documents", "duplicate_documents")


@pytest.mark.parametrize("code", [*CODES, "twice"])
def test_answers_that_an_earlier_version_let_pass_are_failed_queries(tmp_path, code):
    old = _of_an_earlier_version(code)
    (tmp_path / "run.json").write_bytes(run_bytes(old))
    found = read_search_run(tmp_path / "run.json")
    assert faults(found, "search_run") == []
    assert [query["status"] for query in found["queries"]] == ["ok"] * 8 + ["failed"] * 4
    assert "as an earlier version recorded" in found["queries"][-1]["error"]
    assert {q["n_retrieved"] for q in found["queries"][-4:]} == {0}
    assert {q["reasons"]["P@5"] for q in found["queries"][-4:]} == {"query_failed"}
    assert (found["status"]["n_failed"], found["status"]["has_verdict"]) == (4, False)
    (reason,) = found["status"]["reasons"]
    assert reason.startswith("4 of 12 queries failed, so the means are not")
    assert found["metrics"]["P@5"]["value"] is None
    assert found["metrics"]["P@5"]["reason"] == "query_failed"
    assert found["slices"]["corpus"]["docs"]["metrics"]["Recall@20"]["ci_low"] is None
    assert found["abstention"]["true_positive_rate"]["value"] is None
    assert found["abstention"]["n_failed"] == 4
    assert found["composite"]["value"]["value"] is None
    assert found["delta"] is None
    assert found["delta_withheld"][0].startswith("the run has no verdict: 4 of 12 queries failed")


def test_a_trusted_run_is_read_as_it_is(tmp_path):
    (tmp_path / "run.json").write_bytes(run_bytes(SOUND))
    assert read_search_run(tmp_path / "run.json") == SOUND
    odd = json.loads(json.dumps(SOUND))
    odd["queries"][0]["problems"] = ["unsorted", "a code of a later version"]
    (tmp_path / "run.json").write_bytes(run_bytes(odd))
    assert read_search_run(tmp_path / "run.json") == odd


@pytest.mark.parametrize("code", ["nan_score", "twice"])
def test_no_verdict_baseline_or_noise_rests_on_such_a_run(tmp_path, code):
    # Given as documents, too, which no file was read for.
    old = _of_an_earlier_version(code)
    today = date(2026, 1, 10)
    for run, baseline in ((old, SOUND), (SOUND, old)):
        verdict = check([run], [baseline], shipped_thresholds(), today=today)
        assert (verdict.verdict, verdict.exit_code) == ("no_verdict", 2)
        assert "4 of 12 queries failed" in verdict.reasons[0]
        held = compare_with_baseline(baseline, run, seed=1)
        assert held["delta"] is None
        assert "4 of 12 queries failed" in held["delta_withheld"][0]
        assert diff(baseline, run, seed=1).no_verdict
    (tmp_path / "run.json").write_bytes(run_bytes(old))
    with pytest.raises(NothingToEvaluateError, match="cannot be the baseline: 4 of 12 queries"):
        plan_update(tmp_path / "baseline.json", tmp_path / "run.json")
    other = {**old, "generated_at": "2026-01-06T10:00:00Z"}
    with pytest.raises(NothingToEvaluateError, match="run 1 has no verdict: 4 of 12 queries"):
        noise([old, other], generated_at="2026-01-07T10:00:00Z", seed=1)


# --- files that this version did not write ---


def _read(tmp_path, document):
    (tmp_path / "run.json").write_text(json.dumps(document))
    return read_search_run(tmp_path / "run.json")


def test_a_run_of_version_1_0_lacks_what_came_later(tmp_path):
    document = json.loads(run_bytes(SOUND)) | {"schema_version": "1.0"}
    for name in ("abstention", "claims", "composite", "delta_withheld"):
        del document[name]
    found = _read(tmp_path, document)
    assert (found["abstention"], found["composite"], found["delta_withheld"]) == (None, None, [])
    assert found["queries"] == SOUND["queries"]


def test_a_count_may_be_written_with_a_point(tmp_path):
    assert _read(tmp_path, _with(("status", "n_ok"), 1.0)) == RUN


def test_a_digest_is_checked_where_there_is_one(tmp_path):
    document = sealed(json.loads(run_bytes(RUN)))
    assert _read(tmp_path, document) == RUN
    with pytest.raises(BadInputError, match=r"run\.json: not a search run: damaged, or edited"):
        _read(tmp_path, document | {"label": "another"})
