"""Guard, noise, labels, refusals and claims in the search report; numbers worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from statistics import NormalDist

import pytest
from msgspec import structs

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import Label
from retrieval_eval.report import load_search
from retrieval_eval.report import search_tables as tables
from retrieval_eval.report.searched import Noise
from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.thresholds import read_thresholds
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.identity import pinned_text
from tests.report.conftest import HOSTILE
from tests.report.search_made import (
    Shown,
    exhibit,
    notes,
    searched,
    write,
)
from tests.report.search_practice import (
    CLAIMS,
    QUICK,
    corpus,
    gold,
    noise_of,
    run,
    whole,
    with_drafts,
)
from tests.report.typst_source import code
from tests.searches import answer, gold_query, run_of


@pytest.fixture(scope="module")
def report():
    return Shown(whole())


def test_the_guard_is_on_the_first_screen_and_has_a_row_a_threshold(report):
    badge = report.badges()["Guard"]
    assert badge == "PASS (4 pass, 1 not applied of 5 thresholds)"
    rows = report.rows("guard")
    verdicts = {name: row[-1] for name, row in rows.items()}
    assert verdicts.pop("claim_coverage") == "not applied"
    assert list(verdicts.values()) == ["pass"] * 4
    why = "not applied: claim_coverage: advisory: the judge was not compared with people"
    assert any(note.startswith(why) for note in report.table("guard").notes)
    # q1 lost its first document from rank 1 to 2, which no P@5 of three documents sees.
    assert rows["P@5"][:3] == ("0.400", "0.400", "0.00")
    assert "10, none moved" in rows["P@5"]


def test_a_floor_of_a_team_is_a_breach_of_the_page(tmp_path):
    made = Shown(whole(thresholds=floor_of(tmp_path)))
    # Two of three unanswerable queries are refused.
    assert made.badges()["Guard"] == "BREACH (1 breach of 1 threshold)"
    notes = made.table("guard").notes
    assert any("0.667 is below the floor of 0.8" in note for note in notes)


def floor_of(folder):
    path = folder / "floor.toml"
    path.write_text(
        '[[threshold]]\nmetric = "ungrounded_true_positive_rate"\n'
        'direction = "down is bad"\nfloor = 0.8\n'
    )
    return read_thresholds(path)


def test_thresholds_of_pinned_lists_are_rows_like_others(tmp_path):
    path = tmp_path / "guard.toml"
    path.write_text(
        '[[threshold]]\nmetric = "RR"\ndirection = "down is bad"\nfloor = 0.9\n'
        'slice = { queries = "pinned.txt" }\n'
    )
    (tmp_path / "pinned.txt").write_text(pinned_text(gold(), ["q1", "q2"]))
    made = Shown(whole(thresholds=read_thresholds(path)))
    [row] = made.rows("guard").values()
    # q1 has its first relevant document at rank 2 now, q2 still at 1: (1/2 + 1) / 2.
    assert row[:2] == ("1.000", "0.750")
    assert made.badges()["Guard"].startswith("BREACH")
    unknown = Shown(whole(thresholds=read_thresholds(path), gold=None))
    assert unknown.badges()["Guard"].startswith("NO VERDICT")
    (tmp_path / "pinned.txt").unlink()
    with pytest.raises(BadInputError, match=r"pinned\.txt: no such file"):
        Shown(whole(thresholds=read_thresholds(path)))


def test_labels_that_moved_are_told_from_retrieval_that_did(tmp_path):
    # Document a of q0 is called x now: the old ranking a, b, x is worth as much as before, told
    # as x, b, and the new one a, b, x has its first relevant document at rank 2.
    paths = {"mapping": tmp_path / "relabel.json"}
    for place, gold_name, doc in (("baseline", "old_gold", "a"), ("run", "gold", "x")):
        paths[gold_name] = tmp_path / f"{gold_name}.jsonl"
        write_gold_set(paths[gold_name], [gold_query("q0", {doc: 2, "b": 0})])
        labels = load_gold_set(paths[gold_name])
        asked = run_of(labels, [answer("q0", {"a": 3.0, "b": 2.0, "x": 1.0})], settings=QUICK)
        paths[place] = write(tmp_path, asked, f"{place}.json")
    old = load_gold_set(paths["old_gold"]).fingerprint
    documents = [{"corpus": "docs", "old": "a", "new": ["x"]}]
    paths["mapping"].write_text(
        json.dumps({"relabel": 1, "gold": {"old": old}, "documents": documents})
    )
    made = Shown(load_search(**paths))
    assert made.rows("label-split")["RR"] == ("1.00", "0.33", "−66.67", "0.00", "−66.67", "1", "0")
    with pytest.raises(BadInputError, match="name both gold sets, the mapping"):
        load_search(**{**paths, "old_gold": ""})


def test_a_breach_names_the_queries_behind_it_and_a_justification_overrides(tmp_path):
    path = tmp_path / "guard.toml"
    path.write_text(
        '[decision]\nrule = "threshold"\n[[threshold]]\nmetric = "RR"\n'
        'direction = "down is bad"\nmax_change = 0.5\nunit = "points"\n'
    )
    thresholds = read_thresholds(path)
    made = Shown(whole(thresholds=thresholds))
    assert made["guard"].finding == "BREACH: 1 breach of 1 threshold"
    # RR of one of ten queries fell from 1 to 1/2: 5 points.
    assert made.rows("guard")["RR"][2] == "−5.00"
    written = Justification({"RR": 5}, "known", "ann", "ben", date(2026, 1, 5))
    justified = Shown(whole(thresholds=thresholds, justifications=[written]))
    assert justified.badges()["Guard"] == "PASS (1 overridden of 1 threshold)"
    told = "OVERRIDDEN: RR: 5.00 of at most 5 points excused: known"
    assert any(told in note for note in justified.table("guard").notes)
    little = replace(written, metrics={"RR": 4})
    page = Shown(whole(thresholds=thresholds, justifications=[little]))
    assert any("excuses at most 4 points" in note for note in page.table("guard").notes)
    # The run is of 5 January; the day before, the justification had expired.
    late = replace(written, expires=date(2026, 1, 4))
    expired = Shown(whole(thresholds=thresholds, justifications=[late]))
    assert expired.badges()["Guard"].startswith("BREACH")


def test_labels_are_stale_when_the_document_is_gone_or_has_another_text():
    made = whole(corpus=corpus(a="rewritten", b=""))
    # a is anchored in q0 only; b is judged in all ten queries.
    found = made.stale_labels
    assert found["reason"].value_counts().to_dict() == {"document_gone": 10, "text_changed": 1}
    assert found[["id", "doc", "grade"]].to_numpy().tolist()[:2] == [["q0", "a", 2], ["q0", "b", 1]]
    assert whole().stale_labels.empty
    stale = tables.stale_labels(made)
    assert exhibit(stale).finding == "11 of 22 labels are stale: 10 gone and 1 of another text"
    assert "gold relabel" in notes(stale)[0]
    assert any("21 of 22 labels have neither anchor nor digest" in note for note in notes(stale))


def test_the_band_of_noise_is_that_of_a_difference_and_wider_for_a_part():
    measured = noise_of(run(), run({"q2": "b"}))
    level = structs.replace(measured.metrics["P@5"], band_points=0.5, n_queries=100)
    noise = Noise(structs.replace(measured, metrics={"P@5": level}))
    whole_band = NormalDist().inv_cdf(0.975) * 2**0.5 * 0.5
    assert noise.band("P@5") == pytest.approx(whole_band)
    assert noise.band("P@5", 25) == pytest.approx(2 * whole_band)
    assert noise.words("P@5") == "±1.39"
    assert (noise.band("RR"), noise.band("P@5", 0)) == (None, None)


def test_hostile_labellers_and_justifications_are_text(tmp_path):
    labels = [Label(name, "a", 1) for name in HOSTILE[:4]]
    one = gold(labels=tuple(labels))
    written = Justification(
        {"ungrounded_true_positive_rate": 100}, HOSTILE[0], HOSTILE[1], HOSTILE[2], date(2026, 2, 1)
    )
    document = with_drafts(run(gold=one), CLAIMS)
    made = Shown(
        searched(
            document,
            baseline=document,
            gold=one,
            justifications=[written],
            thresholds=floor_of(tmp_path),
        )
    )
    for key in ("agreement", "guard"):
        shown_as = made[key]._repr_mimebundle_()
        assert "&lt;script&gt;" in shown_as["text/html"]
        for text in (shown_as["text/html"], code(shown_as["text/markdown"])):
            assert "<script" not in text
            assert "<img src" not in text
