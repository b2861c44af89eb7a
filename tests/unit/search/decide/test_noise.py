from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval import schema
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import write_json
from retrieval_eval.model import to_builtins
from retrieval_eval.search import measure as measuring
from retrieval_eval.search.decide.noise import (
    detectable_rows,
    level_rows,
    noise_sentences,
    read_noise,
    repeated_runs,
    snippet,
)
from retrieval_eval.search.decide.thresholds import read_thresholds, shipped_thresholds
from retrieval_eval.search.gold.identity import Pinned
from retrieval_eval.search.measure import Request
from retrieval_eval.search.run import Settings
from tests.guards import run_with, with_claims
from tests.plain_runs import noise, staleness
from tests.searches import answer, failure, gold_query, gold_set, written
from tests.searches import run_of as measured

QUICK = Settings(n_resamples=50)


def run_of(gold, answers, **fields):
    return measured(gold, answers, **{"settings": QUICK, **fields})


N = 8
GOLD = gold_set(*(gold_query(f"q{i}", {"a": 1, "b": 1}) for i in range(N)))
STILL = [["a"], ["a", "b"], ["x", "a"], ["b"], ["x"], ["y"], ["a", "b"], ["x", "y", "a"]]
MOVED = [["a", "b"], *STILL[1:]]
MOMENT = "2026-01-06T00:00:00Z"


def run(rankings, **fields):
    pairs = zip(GOLD.queries, rankings, strict=True)
    return run_of(GOLD, [answer(query.id, docs) for query, docs in pairs], **fields)


def noise_of(*rankings, **options):
    return noise([run(given) for given in rankings], generated_at=MOMENT, seed=1, **options)


def test_equal_runs_are_deterministic():
    found = noise_of(STILL, STILL, STILL)
    assert (found.is_deterministic, found.n_queries_varied, found.n_runs) == (True, 0, 3)
    level = found.metrics["P@5"].run_to_run
    assert level.is_deterministic
    assert (level.sd_points, level.largest_delta_points) == (0, 0)
    assert found.metrics["P@5"].smallest_detectable_points.run_to_run == 0
    assert noise_sentences(found)[1].startswith("Deterministic: every query got the same")
    assert len(noise_sentences(found)) == 2
    assert {row.max_change_points for row in found.suggested_thresholds} == {0.5}
    assert schema.faults(written(found), "search_noise") == []
    assert schema.kind_of(written(found)) == "search_noise"


def test_noise_by_hand():
    found = noise_of(STILL, MOVED)
    # One of eight queries gained one of five: 0.2 / 8 = 2.5 points, SD 2.5 / root 2.
    level = found.metrics["P@5"].run_to_run
    assert level.largest_delta_points == pytest.approx(2.5)
    assert level.sd_of_runs_points == pytest.approx(2.5 / 2**0.5)
    assert found.n_queries_varied == 1
    # P@5 comes in fifths: a fifth of an eighth.
    assert level.step_points == pytest.approx(2.5)
    # RR stood still, and one query's whole step is an eighth, of two runs.
    assert found.metrics["RR"].run_to_run.is_deterministic
    assert found.metrics["RR"].band_points == pytest.approx(12.5 / 2**0.5)
    assert found.metrics["P@5"].band_points == pytest.approx((2.5**2 / 2 + 12.5**2 / 2) ** 0.5)
    # t with one degree of freedom is out of reach; with 198 more, (2.0 + 1.7) * 9 * sqrt(2 / 100).
    assert noise_sentences(found)[-1].startswith(
        "Runs on either side whose means show a change of 2 points to the guard: P@5 more than 100"
    )
    rows = level_rows(found, ["P@5", "RR"])
    assert rows[1][:4] == ["P@5", "8", "1.77", "2.50"]
    assert rows[2][2] == "deterministic"
    assert len(detectable_rows(found)) == 9


def test_pinned_queries_alone_are_measured():
    def pinned(*names):
        return Pinned(names, "a" * 64, Path("pinned.txt"))

    found = noise_of(STILL, MOVED, pinned=pinned("q0", "q1"))
    # The one of two queries gained one of five: 0.2 / 2 = 10 points.
    assert found.metrics["P@5"].run_to_run.largest_delta_points == pytest.approx(10)
    assert (found.n_queries, found.n_queries_varied, found.pinned) == (2, 1, "a" * 64)
    assert schema.faults(written(found), "search_noise") == []
    assert noise_of(STILL, MOVED, pinned=pinned("q1", "q2")).is_deterministic
    assert noise_of(STILL, MOVED).pinned is None
    with pytest.raises(NothingToEvaluateError, match=r"lack 1 of 2 pinned queries, .* 'q9'"):
        noise_of(STILL, MOVED, pinned=pinned("q0", "q9"))


def test_runs_of_different_judges_are_no_repeats():
    runs = [with_claims(run_with([3] * 4), [[True]] * 4) for _ in range(2)]
    assert to_builtins(noise(runs, generated_at=MOMENT, seed=1).judge) == {
        **runs[0]["claims"]["judge"],
    }
    runs[1]["claims"]["judge"] = {**runs[1]["claims"]["judge"], "version": "2"}
    with pytest.raises(NothingToEvaluateError, match="another judge decided"):
        noise(runs, generated_at=MOMENT, seed=1)


def test_a_judge_that_wavers_over_unchanged_documents_is_noise():
    runs = [with_claims(run_with([3] * 4), [[True, shown]] * 4) for shown in (True, False)]
    found = noise(runs, generated_at=MOMENT, seed=1)
    assert found.is_deterministic
    assert found.metrics["P@5"].band_points == 0
    # Half of the claims fall with the second run: 50 points between two runs.
    coverage = found.metrics["claim_coverage"]
    assert coverage.run_to_run.largest_delta_points == pytest.approx(50)
    assert coverage.band_points > coverage.run_to_run.sd_points > 35


def test_other_documents_are_noise_even_if_no_metric_moves():
    found = noise_of(STILL, [["a", "z"], *STILL[1:]])
    assert (found.is_deterministic, found.n_queries_varied) == (False, 1)
    assert found.metrics["P@5"].run_to_run.is_deterministic


def test_suggested_thresholds_are_what_noise_rarely_exceeds(tmp_path):
    from scipy.stats import t

    found = noise_of(STILL, MOVED)
    by_metric = {row.metric: row for row in found.suggested_thresholds}
    # Two runs differ with 2.5 points of standard deviation, which two runs hardly tell (t, one
    # degree of freedom); 5 % over two thresholds.
    assert by_metric.keys() == {"P@5", "Recall@20"}
    expected = 2.5 * t.isf(0.05 / 2, 1)
    assert by_metric["P@5"].noise_points == pytest.approx(expected)
    assert by_metric["P@5"].max_change_points == 31.8
    path = tmp_path / "guard.toml"
    path.write_text(snippet(found), encoding="utf-8")
    rows = {row.metric: row for row in read_thresholds(path).rows}
    assert rows["P@5"].max_change == 31.8


def test_where_nothing_moves_the_shipped_thresholds_are_suggested(tmp_path):
    gold = gold_set(*GOLD.queries, gold_query("u1", answerable=False))
    answers = [answer(q.id, docs) for q, docs in zip(gold.queries, [*STILL, ["x"]], strict=True)]
    found = noise([run_of(gold, answers)] * 2, generated_at=MOMENT, seed=1)
    path = tmp_path / "guard.toml"
    path.write_text(snippet(found), encoding="utf-8")
    shipped = {row.metric: row for row in shipped_thresholds().rows}
    suggested = read_thresholds(path).rows
    assert len(suggested) == 4
    assert all(row == shipped[row.metric] for row in suggested)


def test_a_typical_change_is_used():
    pair = (run(STILL, label="x"), run([["x"], ["x"], *STILL[2:]], label="y"))
    found = noise_of(STILL, STILL, change=pair)
    assert found.change == ("x", "y")
    detectable = found.metrics["P@5"].smallest_detectable_points
    assert 0 == detectable.run_to_run < detectable.change < detectable.unrelated


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (run(STILL, facts={"name": "fake", "k1": 2}), "k1: not there → 2"),
        (run_of(GOLD, [answer("q0", ["a"])]), "other queries were asked"),
        (run_of(gold_set(*GOLD.queries[:2]), [answer("q0", ["a"])]), "the gold set changed"),
    ],
)
def test_runs_of_other_systems_are_refused(other, sentence):
    with pytest.raises(NothingToEvaluateError, match=f"run 2 is not of the same .*{sentence}"):
        noise([run(STILL), other], generated_at=MOMENT, seed=1)


def test_one_run_and_failed_ones_show_no_noise():
    with pytest.raises(NothingToEvaluateError, match="1 run shows no noise"):
        noise_of(STILL)
    broken = run_of(GOLD, [failure(query.id) for query in GOLD.queries])
    with pytest.raises(NothingToEvaluateError, match="run 2 has no verdict: 8 of 8"):
        noise([run(STILL), broken], generated_at=MOMENT, seed=1)


def test_noise_goes_stale():
    found = noise_of(STILL, MOVED)
    other = run(STILL, facts={"name": "fake", "model": "v2"})
    assert staleness(found, other) == [
        "the noise was measured before this changed: model: not there → v2"
    ]
    (reason,) = staleness(found, run_of(gold_set(*GOLD.queries[:2]), [answer("q0", ["a"])]))
    assert reason.startswith("the noise was measured differently: the gold set changed")
    changed = run(STILL)
    changed["run"]["corpora"][0] |= {"n_documents": 9, "fingerprint": "f" * 64}
    (reason,) = staleness(found, changed)
    assert reason.startswith("the noise was measured before this changed: corpus docs")
    changed = run(STILL)
    changed["run"]["settings"]["depth"] = 20
    (reason,) = staleness(found, changed)
    assert "a different number of documents was requested" in reason


@pytest.mark.parametrize(
    ("moment", "n"),
    [("2026-04-08T00:00:00Z", 0), ("2026-04-08T00:00:01Z", 1), ("2025-01-01T00:00:00Z", 0)],
)
def test_noise_is_stale_after_a_quarter(moment, n):
    # 92 days after 6 January is 8 April.
    found = staleness(noise_of(STILL, MOVED), run(STILL, generated_at=moment))
    assert len(found) == n
    assert all("more than a quarter" in reason for reason in found)


def test_a_noise_file_is_checked(tmp_path):
    path = tmp_path / "noise.json"
    with pytest.raises(BadInputError, match="no such file; `retrieval-eval search noise`"):
        read_noise(path)
    found = noise_of(STILL, MOVED)
    write_json(path, written(found))
    assert read_noise(path) == found
    write_json(path, {**written(found), "n_runs": 1})
    with pytest.raises(BadInputError, match=r"noise\.json: not a valid noise file: /n_runs: 1 is"):
        read_noise(path)
    metric = {**written(found)["metrics"]["P@5"], "n_queries": 0, "band_points": -1.0}
    write_json(path, {**written(found), "metrics": {"P@5": metric}})
    with pytest.raises(BadInputError, match=r"/band_points: -1\.0 is .*/n_queries: 0 is less"):
        read_noise(path)
    path.write_text("[")
    with pytest.raises(BadInputError, match=r"not a noise file: .*not valid JSON"):
        read_noise(path)


class Flickering:
    """Answers otherwise in every other opening."""

    opened = 0

    def __init__(self):
        type(self).opened += 1
        self.turn = type(self).opened

    def search(self, query, *, corpus, k):
        return [("a", 1.0)] if query == "text of q1" or self.turn % 2 else [("x", 1.0)]


def test_repeats_open_the_retriever_anew_and_write_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "open_retriever", lambda spec, options: Flickering())
    monkeypatch.setattr(Flickering, "opened", 0)
    gold = tmp_path / "gold-set.jsonl"
    gold.write_text(
        "".join(
            json.dumps(
                {"id": q, "query": f"text of {q}", "corpus": "docs", "relevant": ["a"]}
                | {"source": "chair"}
            )
            + "\n"
            for q in ("q1", "q2")
        )
    )
    seen = []
    runs = repeated_runs(
        Request(gold, "any:thing", out=tmp_path / "out"),
        repeats=3,
        progress=lambda done, total, name: seen.append((done, total)),
    )
    assert [run.metrics["P@1"].value for run in runs] == [1, 0.5, 1]
    assert seen == [(i, 6) for i in range(1, 7)]
    assert [path.name for path in tmp_path.iterdir()] == ["gold-set.jsonl"]
    found = noise(runs, generated_at=MOMENT, seed=1)
    assert found.metrics["P@1"].run_to_run.largest_delta_points == 50


def test_what_cannot_be_repeated_is_refused(tmp_path):
    request = Request(tmp_path / "gold-set.jsonl", "run:ranking.jsonl")
    with pytest.raises(BadInputError, match="a ranked file answers the same every time"):
        repeated_runs(request)
    with pytest.raises(BadInputError, match="1 repeats show no noise"):
        repeated_runs(Request(tmp_path / "gold-set.jsonl", "bm25:x"), repeats=1)
