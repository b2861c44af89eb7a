from __future__ import annotations

import math

from retrieval_eval.gold.gold_set import gold_stats, percents
from retrieval_eval.model.gold import GoldQuery, GoldSet, Label


def part(value, n, share, percent):
    return {"value": value, "n": n, "share": share, "percent": percent}


def test_the_composition_of_a_small_set():
    queries = (
        GoldQuery("a", "1", "law", area="x", relevant={"d": 2, "e": 0}, answerable=True),
        GoldQuery("b", "2", "law", area="y", answerable=False, source="chair", origin="replayed"),
        GoldQuery("c", "3", "tax", relevant={"d": 1}, answerable=True, origin="adversarial"),
        GoldQuery("d", "4", "law", relevant={"f": 0}, labels=(Label("x", "f", 0),)),
    )
    found = gold_stats(GoldSet(queries, "f"))
    blocks = found.pop("composition")
    assert found == {
        "fingerprint": "f",
        "is_provisional": False,
        "n_queries": 4,
        "n_labelled_pairs": 4,
        "n_relevant_pairs": 2,
        "n_unlabelled": 1,
        "n_labels": 1,
        "n_anchors": 0,
    }
    assert list(blocks) == ["corpus", "area", "origin", "source", "answerable", "grade"]
    assert blocks["corpus"] == {
        "unit": "queries",
        "n": 4,
        "parts": [part("law", 3, 0.75, 75.0), part("tax", 1, 0.25, 25.0)],
    }
    assert blocks["area"]["parts"] == [
        part("x", 1, 0.25, 25.0),
        part("y", 1, 0.25, 25.0),
        part(None, 2, 0.5, 50.0),
    ]
    assert [(p["value"], p["n"]) for p in blocks["origin"]["parts"]] == [
        ("replayed", 1),
        ("adversarial", 1),
        (None, 2),
    ]
    assert [(p["value"], p["n"]) for p in blocks["source"]["parts"]] == [
        ("bootstrap", 3),
        ("chair", 1),
    ]
    assert [(p["value"], p["n"]) for p in blocks["answerable"]["parts"]] == [
        (True, 2),
        (False, 1),
        (None, 1),
    ]
    assert blocks["grade"]["unit"] == "judged pairs"
    assert blocks["grade"]["parts"] == [
        part(0, 2, 0.5, 50.0),
        part(1, 1, 0.25, 25.0),
        part(2, 1, 0.25, 25.0),
    ]


def test_a_set_without_queries_has_no_parts():
    found = gold_stats(GoldSet((), "f"))
    assert all(block["parts"] == [] and block["n"] == 0 for block in found["composition"].values())


def test_printed_shares_add_up_where_rounding_each_would_not():
    # 1/7 is 14.28… %: seven times 14.3 would be 100.1.
    assert percents([1] * 7) == [14.3, 14.3, 14.3, 14.3, 14.3, 14.3, 14.2]
    # 2/3 = 66.66…, 1/6 = 16.66… twice: the largest remainders are equal, the first ones win.
    assert percents([4, 1, 1]) == [66.7, 16.7, 16.6]
    assert percents([1, 9999]) == [0.0, 100.0]
    assert percents([0, 5]) == [0.0, 100.0]
    assert percents([]) == percents([0]) == []
    assert math.fsum(percents([1, 1, 1])) == 100.0
