"""The laws of a diff, whatever was retrieved: it adds up, and swapped runs mirror it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval import schema
from retrieval_eval.model import from_builtins
from retrieval_eval.model.search_diff import SearchDiff
from retrieval_eval.search.change.diff_text import diff_markdown
from retrieval_eval.search.run import Settings
from tests.conftest import COSTLY
from tests.plain_runs import delta
from tests.plain_runs import diff as diff_of
from tests.searches import answer, failure, gold_query, gold_set, run_of, written

SETTINGS = Settings(k_values=(1, 3), n_resamples=20)
DOCS = st.sampled_from("abcdefgh")
NAMES = st.sampled_from(["one", "two"])
RANKINGS = st.none() | st.dictionaries(DOCS, st.sampled_from([0.0, 0.5, 1.0, 2.5]), max_size=8)
QUERIES = st.lists(
    st.tuples(
        st.dictionaries(DOCS, st.integers(0, 3), max_size=6),
        st.sampled_from([None, True, False]),
        st.none() | NAMES,
        RANKINGS,
        RANKINGS,
    ),
    min_size=1,
    max_size=8,
)


def diff(*runs, **options):
    return written(diff_of(*runs, **options))


def read(document):
    return from_builtins(document, SearchDiff, "diff")


def runs_of(drawn):
    """Two runs of the drawn queries; no ranking is a failed query."""
    gold = gold_set(
        *(
            gold_query(f"q{i}", {} if can is False else relevant, area=area, answerable=can)
            for i, (relevant, can, area, *_) in enumerate(drawn)
        )
    )
    return [
        run_of(
            gold,
            [
                failure(f"q{i}") if row[side] is None else answer(f"q{i}", row[side])
                for i, row in enumerate(drawn)
            ],
            settings=SETTINGS,
        )
        for side in (3, 4)
    ]


@COSTLY
@given(QUERIES)
def test_contributions_add_up_to_the_change_as_in_the_delta_of_a_run(drawn):
    a, b = runs_of(drawn)
    found, known = diff(a, b, seed=1), delta(a, b, seed=1)
    for name, change in found["metrics"].items():
        if not change["is_paired"]:
            continue
        total = math.fsum(query["contributions"].get(name, 0.0) for query in found["queries"])
        assert total == pytest.approx(change["delta_points"] or 0.0, abs=1e-12)
        assert change["n_up"] + change["n_down"] == sum(
            name in query["contributions"] for query in found["queries"]
        )
    parts = [
        {q["id"]: own for q in of["queries"] if (own := q["contributions"])}
        for of in (found, known)
    ]
    assert parts[0] == parts[1]
    for name, change in known["metrics"].items():
        for field in ("delta_points", "ci_low_points", "ci_high_points", "p_value", "n_pairs"):
            assert found["metrics"][name][field] == change[field], field
        if change["delta_points"] is not None:
            moved = 100 * (change["current"] - change["baseline"])
            assert moved == pytest.approx(change["delta_points"], abs=1e-10)
    assert [query["id"] for query in found["top1_changed"]] == known["queries_top1_changed"]
    if len(drawn) <= 3:
        # That takes longer than all the rest.
        assert schema.faults(found, "search_diff") == []
    assert diff_markdown(read(found)).startswith("# Search diff: no label → no label\n")


def mirrored_change(change):
    def negated(value):
        return None if value is None else -value

    return {
        **change,
        "a": change["b"],
        "b": change["a"],
        "delta_points": negated(change["delta_points"]),
        "ci_low_points": negated(change["ci_high_points"]),
        "ci_high_points": negated(change["ci_low_points"]),
        "n_only_a": change["n_only_b"],
        "n_only_b": change["n_only_a"],
        "n_up": change["n_down"],
        "n_down": change["n_up"],
    }


def mirrored_query(query):
    def turned(documents):
        return [
            {**found, "rank_a": found["rank_b"], "rank_b": found["rank_a"]} for found in documents
        ]

    return {
        **query,
        "metrics": {n: {"a": v["b"], "b": v["a"]} for n, v in query["metrics"].items()},
        "contributions": {name: -points for name, points in query["contributions"].items()},
        "documents": {
            k: {"gained": turned(moved["lost"]), "lost": turned(moved["gained"])}
            for k, moved in query["documents"].items()
        },
    }


@COSTLY
@given(QUERIES)
def test_swapped_runs_negate_everything_exactly(drawn):
    a, b = runs_of(drawn)
    forth, back = diff(a, b, seed=1, pinned=["q0"]), diff(b, a, seed=1, pinned=["q0"])
    assert (forth["a"], forth["b"]) == (back["b"], back["a"])
    assert forth["flagged"] == back["flagged"]
    assert {n: mirrored_change(c) for n, c in forth["metrics"].items()} == back["metrics"]
    for dimension, parts in forth["slices"].items():
        for value, part in parts.items():
            other = back["slices"][dimension][value]["metrics"]
            assert {n: mirrored_change(c) for n, c in part["metrics"].items()} == other
    assert [mirrored_query(query) for query in forth["queries"]] == back["queries"]
    assert [{**q, "a": q["b"], "b": q["a"]} for q in forth["top1_changed"]] == back["top1_changed"]


@COSTLY
@given(QUERIES)
def test_a_run_does_not_differ_from_itself(drawn):
    run = runs_of(drawn)[0]
    found = diff(run, run, seed=1)
    assert (found["queries"], found["top1_changed"], found["flagged"]) == ([], [], [])
