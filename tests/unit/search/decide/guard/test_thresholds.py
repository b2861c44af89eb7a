from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.decide.thresholds import (
    Part,
    Threshold,
    read_thresholds,
    shipped_thresholds,
    toml_of,
)
from tests.guards import drop, thresholds_of


def test_the_shipped_file_holds_what_the_practice_states():
    found = shipped_thresholds()
    assert (found.rule, found.alpha) == ("threshold_and_real", 0.05)
    rows = {row.metric: row for row in found.rows}
    drops = {name: row.max_change for name, row in rows.items() if row.direction == "down is bad"}
    assert drops == {
        "P@5": 0.5,
        "Recall@20": 0.5,
        "claim_coverage": 1.0,
        "ungrounded_true_positive_rate": 1.5,
    }
    refusals = rows["answerable_false_refusal_rate"]
    assert (refusals.direction, refusals.max_change) == ("up is bad", 0.0)
    assert {row.unit for row in found.rows} == {"points"}
    # A bound would fail systems that did not change.
    assert not any(row.is_bounded or row.required or row.part for row in found.rows)


def test_a_threshold_of_a_slice(tmp_path):
    row = drop("RR", 2, 'slice = { corpus = "docs" }', "floor = 0.5", "required = true")
    (found,) = thresholds_of(tmp_path, row).rows
    part = Part("corpus", "docs")
    assert found == Threshold("RR", "down is bad", 2.0, "points", 0.5, None, part, required=True)
    assert found.name == "RR [corpus docs]"


def test_thresholds_are_written_as_they_are_read(tmp_path):
    rows = [
        drop("RR", 2, 'slice = { corpus = "do\\"cs\\u007f" }', "floor = 0.5", "required = true"),
        drop("P@5", 1.25, 'slices = ["corpus", "area"]', "min_queries = 30"),
        *(drop(row.metric, row.max_change) for row in shipped_thresholds().rows),
    ]
    found = thresholds_of(tmp_path, *rows)
    path = tmp_path / "again.toml"
    path.write_text(toml_of(found))
    again = read_thresholds(path)
    assert (again.rows, again.rule, again.alpha) == (found.rows, found.rule, found.alpha)


def test_relative_per_cent_become_points_of_the_baseline():
    row = Threshold("P@5", "down is bad", 2.0, "relative_percent")
    assert row.limit_points(0.75) == 1.5  # 2 % of 75 points
    assert row.limit_points(0.0) == 0.0
    assert row.limit_points(None) is None
    assert Threshold("P@5", "down is bad", floor=0.5).limit_points(0.75) is None


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (
            'metric = "prec@5"\ndirection = "down is bad"\nfloor = 0.5',
            "/metric: unknown measure",
        ),
        (
            drop("P@5", 1).replace("points", "percent"),
            '/threshold/0/unit: expected "points" or "relative_percent", found "percent"',
        ),
        (drop("P@5", 1).replace("down is bad", "down"), '/threshold/0/direction: expected "down'),
        (drop("P@5", 1, "maximum = 3"), "/threshold/0/maximum: unknown key; the known ones are ce"),
        (drop("P@5", -1), "/threshold/0/max_change: expected a number from 0, found -1"),
        (drop("P@5", 1).replace("= 1", "= nan"), "max_change: expected a number from 0, found NaN"),
        (drop("P@5", 1).replace("= 1", '= "1"'), 'max_change: expected a number from 0, found "1"'),
        (
            drop("P@5", 1, "floor = true"),
            "/threshold/0/floor: expected a number from 0 to 1, found true",
        ),
        (
            drop("P@5", 1, "floor = 75"),
            "/threshold/0/floor: expected a number from 0 to 1, found 75",
        ),
        (drop("P@5", 1, "required = 1"), "/threshold/0/required: expected true or false, found 1"),
        (drop("P@5", 1, "slice = 'docs'"), '/threshold/0/slice: expected a table, found "docs"'),
        (drop("P@5", 1, "slice = {}"), "/threshold/0/slice: expected exactly one of corpus"),
        (drop("P@5", 1, "slice = {team = 'a'}"), "/threshold/0/slice/team: unknown key"),
        (drop("P@5", 1, "slice = {corpus = 'a', area = 'b'}"), "slice: expected exactly one of"),
        (drop("composite", 1, "slice = {corpus = 'a'}"), "composite has no value for a part"),
        (drop("P@5", 1, "slices = ['team']"), "/slices: expected a list of some of corpus, area"),
        (drop("P@5", 1, "slices = [['area'], {}]"), "/slices: expected a list of some of corpus"),
        (drop("P@05", 1), "/threshold/0/metric: 'P@05' is written 'P@5'"),
        (drop("P@5", 1, "slices = []"), "/slices: expected a list of some of corpus"),
        (drop("P@5", 1, "slices = ['area', 'area']"), "/slices: expected a list of some of"),
        (drop("P@5", 1, "slices = ['area']", "slice = {area = 'a'}"), "exclude each other"),
        (drop("composite", 1, "slices = ['area']"), "composite has no value for a part"),
        (drop("P@5", 1, "min_queries = 5"), "/min_queries: expected with slices"),
        (drop("P@5", 1, "slices = ['area']", "min_queries = 1.5"), "expected a whole number"),
        ('metric = "P@5"\ndirection = "down is bad"', "max_change: expected max_change, floor or"),
        (
            'metric = "P@5"\ndirection = "down is bad"\nmax_change = 1',
            "unit: expected with max_change",
        ),
        ('metric = "RR"\nfloor = 0\nunit = "points"', "/threshold/0/unit: expected with max_ch"),
        (
            'metric = "P@5"\nfloor = 0.5',
            '/threshold/0/direction: expected "down is bad" or "up is bad", found nothing',
        ),
        ('direction = "down is bad"\nfloor = 0.5', "/threshold/0/metric: is missing"),
        (drop("P@5", 1) + "\n[[threshold]]\n" + drop("P@5", 2), "/threshold/1: a second threshold"),
        ("metric = ", "not valid TOML"),
    ],
)
def test_what_means_nothing_is_named_by_its_pointer(tmp_path, row, fault):
    with pytest.raises(BadInputError) as caught:
        thresholds_of(tmp_path, row)
    assert fault in str(caught.value)
    assert "guard.toml: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "/threshold: there is none"),
        ("threshold = 3", "/threshold: expected [[threshold]] tables, found 3"),
        ("[decision]\nrule = 'hope'", '/decision/rule: expected "threshold_and_real" or'),
        ("[decision]\nalpha = 0.9", "/decision/alpha: expected a number from 0 to 0.5, found 0.9"),
        ("[decisions]\nrule = 'threshold'", "/decisions: unknown key"),
        ("decision = 1", "/decision: expected a table, found 1"),
    ],
)
def test_a_file_that_would_check_nothing_is_refused(tmp_path, text, fault):
    path = tmp_path / "guard.toml"
    path.write_text(text)
    with pytest.raises(BadInputError) as caught:
        read_thresholds(path)
    assert fault in str(caught.value)


def test_all_faults_are_listed_at_once(tmp_path):
    with pytest.raises(BadInputError) as caught:
        thresholds_of(tmp_path, drop("P@5", -1), drop("nope", 1))
    assert len(str(caught.value).splitlines()) == 2


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(BadInputError, match="no such file"):
        read_thresholds(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff")
    with pytest.raises(BadInputError, match=r"x\.toml: line 1 is not UTF-8"):
        read_thresholds(tmp_path / "x.toml")
