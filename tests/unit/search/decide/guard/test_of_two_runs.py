"""Thresholds on what no run has by itself: first ten documents that change, and times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.cli import run
from retrieval_eval.model.guard import FirstTenNoise, LatencyNoise
from retrieval_eval.search.decide.noise import first_ten_limit, latency_limit
from retrieval_eval.search.decide.thresholds import read_thresholds
from retrieval_eval.search.run.document import run_bytes
from tests.guards import run_with

HERE = "Linux x86_64, 2 processors (Some CPU)"


def _write(name, *, seconds=0.01, tail="x", n_other=0, machine=HERE, day=1, **fields):
    """A run of 30 queries; the last document of the first ones is another, and nothing else."""
    made = run_with([3] * 30, label=name, generated_at=f"2026-01-{day:02}T10:00:00Z")
    for place, query in enumerate(made["queries"]):
        query["seconds"] = seconds
        if place < n_other:
            query["ranking"][4]["doc"] = f"{tail}-other"
    made["run"]["machine"] = machine
    made["run"] |= fields
    Path(f"{name}.json").write_bytes(run_bytes(made))
    return f"{name}.json"


@pytest.fixture
def guarded(tmp_path, monkeypatch, capsys):
    """A folder with the guard of a system whose noise was measured, and what was said."""
    monkeypatch.chdir(tmp_path)
    return _guard(30, capsys)


def _guard(n, capsys, **fields):
    """Make the guard of the first of ``n`` runs, from their noise, and return what was said."""
    repeats = [
        _write(f"n{i}", seconds=0.01 + i % 3 / 1e3, n_other=i % 3, day=1 + i % 28) for i in range(n)
    ]
    assert run(["search", "noise", *repeats]) == 0
    noise = capsys.readouterr().out
    first = _write("first", **fields)
    assert run(["search", "guard", "--init", "--accept-weak-baseline", first]) == 0
    return noise + capsys.readouterr().out


def test_measured_noise_adds_both_and_the_unchanged_system_passes(guarded, capsys):
    assert "are others in two runs, though no metric is" in guarded
    assert "A query takes 0.011 s (median); runs differ by up to 1.20 times." in guarded
    rows = {row.metric: row for row in read_thresholds(Path("data/eval/guard.toml")).rows}
    assert rows["first_ten_changed"].max_change == 50.0
    assert rows["latency"].unit == "relative_percent"
    assert rows["latency"].max_change >= 100
    assert run(["search", "guard", "n2.json"]) == 0
    assert "1.09" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("n", "fields", "why"),
    [
        (29, {}, "the noise is of 29 runs, and 30 are needed (search noise RUN --repeats 30)"),
        (
            30,
            {"machine": "Darwin arm64, 8 processors (M)"},
            "the noise has no times of the machine",
        ),
    ],
)
def test_times_of_too_few_runs_or_elsewhere_stay_a_note(
    tmp_path, monkeypatch, capsys, n, fields, why
):
    monkeypatch.chdir(tmp_path)
    assert f"left out: latency: {why}" in _guard(n, capsys, **fields)
    text = Path("data/eval/guard.toml").read_text()
    assert f"# - latency: {why}" in text
    rows = {row.metric for row in read_thresholds(Path("data/eval/guard.toml")).rows}
    assert "first_ten_changed" in rows
    assert "latency" not in rows


def test_each_breaches_and_says_what_it_saw(guarded, capsys):
    _write("slow", seconds=0.5, n_other=30, day=5)
    assert run(["search", "guard", "slow.json", "--comment", "c.md"]) == 1
    said = capsys.readouterr().out
    assert "first_ten_changed: 100.0 % of queries, and" in said
    assert "latency: 45.58 times as long, and" in said
    assert "latency" in Path("c.md").read_text()


@pytest.mark.parametrize(
    ("made", "row", "why"),
    [
        (
            {"machine": "Darwin arm64, 8 processors (M)"},
            "latency",
            "on different machines: Darwin arm64",
        ),
        ({"seconds": None}, "latency", "the run has no times"),
        (
            {
                "ids_checked": True,
                "corpora": [{"corpus": "docs", "n_documents": 9, "fingerprint": None}],
            },
            "first_ten_changed",
            "the set-up changed: corpus docs",
        ),
    ],
)
def test_neither_is_judged_where_it_cannot_be_known(guarded, capsys, made, row, why):
    _write("other", n_other=2, day=5, **made)
    assert run(["search", "guard", "other.json", "--json"]) == 0
    rows = {one["metric"]: one for one in json.loads(capsys.readouterr().out)["rows"]}
    assert rows[row]["verdict"] == "skipped"
    assert why in rows[row]["reasons"][0]


def test_without_a_threshold_a_time_is_a_note(guarded, capsys):
    Path("few.toml").write_text(
        '[[threshold]]\nmetric = "P@5"\ndirection = "down is bad"\nmax_change = 1\nunit = "points"'
    )
    _write("slow", seconds=0.5, day=5)
    assert run(["search", "guard", "slow.json", "--thresholds", "few.toml"]) == 0
    assert "a query took 45.58 times as long as in the runs of the noise" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ('direction = "down is bad"\nmax_change = 1\nunit = "points"', "of latency more is worse"),
        ('direction = "up is bad"\nceiling = 0.5', "only max_change bounds it"),
        (
            'direction = "up is bad"\nmax_change = 1\nunit = "points"\nslices = ["corpus"]',
            "latency has no value for a part of a run",
        ),
    ],
)
def test_a_threshold_that_means_nothing_is_refused(tmp_path, monkeypatch, capsys, keys, fault):
    monkeypatch.chdir(tmp_path)
    _write("a")
    Path("t.toml").write_text(f'[[threshold]]\nmetric = "latency"\n{keys}\n')
    assert run(["search", "guard", "a.json", "--baseline", "a.json", "--thresholds", "t.toml"]) == 3
    assert fault in capsys.readouterr().err


def test_limits_are_as_wide_as_unchanged_runs_differ():
    still = FirstTenNoise(n_pairs=45, mean_points=0.0, sd_points=0.0, largest_points=0.0)
    assert first_ten_limit(still, 10) == 10.0
    wild = FirstTenNoise(n_pairs=45, mean_points=30.0, sd_points=5.0, largest_points=40.0)
    assert first_ten_limit(wild, 10) == 50.0
    assert first_ten_limit(wild, 2) > 200
    times = LatencyNoise(n_runs=10, median_seconds=0.1, sd_of_logs=0.05, largest_ratio=1.2)
    assert latency_limit(times) == 100.0
