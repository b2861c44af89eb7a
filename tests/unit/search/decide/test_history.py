"""Search over time: outcomes of breaches, alarms without a change, quarters, the gold set."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from retrieval_eval.cli import run
from retrieval_eval.model import to_builtins
from retrieval_eval.model.search_history import SearchHistory
from retrieval_eval.search.decide import beyond_noise, decide, error_of_means
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.guard.justification import read_justifications
from retrieval_eval.search.decide.history import alarm_share, quarter_of, search_history
from retrieval_eval.search.decide.noise import noise
from retrieval_eval.search.decide.thresholds import read_thresholds, shipped_thresholds
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.document import load_search_run
from tests.searches import answer, gold_query, gold_set, run_of

N = 30
QUICK = Settings(n_resamples=200)


def gold(n: int = N, reviewed: int = 10):
    return gold_set(
        *(
            gold_query(f"q{i}", {"a": 2}, source="chair" if i < reviewed else "bootstrap")
            for i in range(n)
        )
    )


def document(moment: str, n_right: int, n: int = N, *, first: int = 0, **fields):
    """A run that finds the answer of ``n_right`` queries from ``first`` on."""
    asked = fields.pop("gold", None) or gold(n)
    right = {(first + i) % n for i in range(n_right)}
    answers = [
        answer(query.id, ["a", "b"] if i in right else ["b", "c"])
        for i, query in enumerate(asked.queries)
    ]
    given = {"label": moment, "settings": QUICK, **fields}
    return run_of(asked, answers, generated_at=f"{moment}T10:00:00Z", **given)


def write(folder: Path, name: str, value) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def folder_of(tmp_path: Path, *documents) -> Path:
    for value in documents:
        stamp = value["generated_at"].replace("-", "").replace(":", "")
        write(tmp_path, f"eval-report-{stamp}.json", value)
    return tmp_path


def history(folder: Path, **fields) -> SearchHistory:
    return search_history(folder, **{"as_of": date(2026, 6, 30), **fields})


def outcomes(found: SearchHistory) -> dict[str, tuple[str | None, str | None]]:
    return {change.run: (change.outcome, change.outcome_run) for change in found.changes}


def test_a_breach_is_followed_to_the_run_that_regained_it(tmp_path):
    days = (("2026-01-01", 28), ("2026-01-02", 10), ("2026-01-03", 12), ("2026-01-04", 28))
    found = history(folder_of(tmp_path, *(document(day, n) for day, n in days)))
    assert outcomes(found)["2026-01-02"] == ("regained", "2026-01-04")
    assert found.changes[0].verdict == "breach"


def test_a_breach_that_nothing_regained_is_open_and_the_last_one_unknown(tmp_path):
    days = (("2026-01-01", 28), ("2026-01-02", 15), ("2026-01-03", 2))
    found = history(folder_of(tmp_path, *(document(day, n) for day, n in days)))
    assert outcomes(found) == {
        "2026-01-02": ("open", None),
        "2026-01-03": ("not_comparable", None),
    }


def ruling(folder: Path, tmp_path: Path, justification: str = ""):
    """The verdict that a build committed on the second run."""
    paths = sorted(folder.glob("eval-report-*.json"))
    first, second = (load_search_run(path) for path in paths[:2])
    given = ()
    if justification:
        path = tmp_path.with_name("why.toml")
        path.write_text(justification)
        given = read_justifications(path)
    today = date(2026, 1, 2)
    return check([second], [first], shipped_thresholds(), today=today, justifications=given)


def test_a_committed_verdict_stands_beside_that_of_today_and_its_override_counts(tmp_path):
    folder = folder_of(tmp_path, document("2026-01-01", 28), document("2026-01-02", 10))
    excuse = (
        '[[justification]]\nmetrics = { "P@5" = 90.0, "Recall@20" = 90.0 }\nreason = "moved"\n'
        'author = "a@x.org"\nsecond_approver = "b@x.org"\nexpires = 2026-02-01\n'
    )
    write(folder, "guard-1.json", to_builtins(ruling(folder, tmp_path, excuse)))
    (change,) = history(folder).changes
    assert (change.verdict, change.recorded, change.recorded_in) == (
        "breach",
        "pass",
        "guard-1.json",
    )
    assert change.outcome == "overridden"


def test_alarms_without_a_change_are_counted_and_changes_of_the_setup_are_not(tmp_path):
    values = [document(f"2026-01-{day:02d}", 28, first=day) for day in range(1, 6)]
    values.append(document("2026-01-09", 28, options={"k1": "2"}))
    found = history(folder_of(tmp_path, *values))
    assert [change.same_setup for change in found.changes] == [True] * 4 + [False]
    verdicts = [change.verdict for change in found.changes[:4]]
    share = found.same_setup_alarms
    assert share.n == 4 - verdicts.count("no_verdict") > 0
    assert share.value == verdicts.count("breach") / share.n
    assert share.ci_low <= share.value < share.ci_high


def test_nothing_is_compared_across_another_gold_set(tmp_path):
    folder = folder_of(
        tmp_path,
        document("2026-01-01", 28),
        document("2026-02-01", 30, 40),
        document("2026-02-02", 28),
    )
    found = history(folder)
    assert [r.line for r in found.runs] == [1, 2, 3]
    second, third = found.changes
    assert (second.verdict, second.same_setup) == ("no_verdict", None)
    assert (third.against, third.verdict) == ("2026-01-01", "pass"), "the last comparable run"


def test_the_gold_set_grows_also_where_only_reviews_are_new(tmp_path):
    folder = folder_of(
        tmp_path,
        document("2026-01-01", 28),
        document("2026-02-01", 28),
        document("2026-03-01", 28, gold=gold(reviewed=25)),
        document("2026-04-01", 30, 40),
    )
    states = history(folder).gold
    assert [(state.run, state.n_reviewed, state.gold.n_queries) for state in states] == [
        ("2026-01-01", 10, 30),
        ("2026-03-01", 25, 30),
        ("2026-04-01", 10, 40),
    ]
    assert states[0].by_corpus == {"docs": 30}


def test_broken_files_are_named_and_the_others_read(tmp_path):
    folder = folder_of(tmp_path, document("2026-01-01", 28))
    (folder / "eval-report-20260102T000000Z.json").write_bytes(b'{"run": ')
    (folder / "noise-x.json").write_bytes(b"\xff\xfe")
    write(folder, "noise-y.json", {"schema_version": "1.0", "suggested_thresholds": 3})
    write(folder, "eval-report-20260103T000000Z.json", {"schema_version": "2.0", "run": 1})
    write(folder, "other.json", {"anything": 1})
    found = history(folder)
    assert [file.source for file in found.unread] == [
        "eval-report-20260102T000000Z.json",
        "eval-report-20260103T000000Z.json",
        "noise-x.json",
        "noise-y.json",
    ]
    assert len(found.runs) == 1


def noise_of(folder: Path, day: str, firsts: list[int], n_right: int = 20):
    runs = [document(f"{day}", n_right, first=first) for first in firsts]
    for number, value in enumerate(runs):
        value["label"] = f"{day}-{number}"
    loaded = []
    for value in runs:
        path = write(folder, "one.json", value)
        loaded.append(load_search_run(path))
        path.unlink()
    return noise(loaded, generated_at=f"{day}T11:00:00Z", seed=1)


def test_quarters_are_done_missed_or_due(tmp_path):
    folder = folder_of(
        tmp_path / "eval",
        *(document(day, 20) for day in ("2026-01-05", "2026-05-05", "2026-07-05")),
    )
    write(folder, "noise-q1.json", to_builtins(noise_of(tmp_path, "2026-01-06", [0, 1, 2])))
    found = history(folder, as_of=date(2026, 8, 1))
    assert [(q.quarter, q.state) for q in found.quarters] == [
        ("2026 Q1", "done"),
        ("2026 Q2", "missed"),
        ("2026 Q3", "due"),
    ]
    assert "more than a quarter" in found.quarters[2].sentence
    write(folder, "noise-q3.json", to_builtins(noise_of(tmp_path, "2026-07-06", [0, 9, 17, 5])))
    found = history(folder, as_of=date(2026, 8, 1))
    assert found.quarters[2].state == "done"
    assert found.noise[0].ratio is None
    assert found.noise[1].ratio is not None
    assert found.noise[1].ratio_low < found.noise[1].ratio < found.noise[1].ratio_high
    assert found.noise[1].is_current


def test_the_share_of_alarms_is_that_of_simulated_pairs(tmp_path):
    """Normal differences of the measured size, decided by the guard's own rule."""
    floor = noise_of(tmp_path, "2026-01-06", [0, 1, 2, 8, 13])
    given = tmp_path / "guard.toml"
    given.write_text(
        '[decision]\nrule = "threshold_and_real"\nalpha = 0.2\n'
        '[[threshold]]\nmetric = "P@5"\ndirection = "down is bad"\nmax_change = 0.1\n'
        'unit = "points"\n'
        '[[threshold]]\nmetric = "Recall@20"\ndirection = "down is bad"\nmax_change = 0.1\n'
        'unit = "points"\n'
    )
    thresholds = read_thresholds(given)
    share = alarm_share(floor, thresholds, None)
    rng = np.random.default_rng(5)
    metrics = [floor.metrics[name] for name in ("P@5", "Recall@20")]
    scale = np.sqrt(2) * np.array([m.run_to_run.sd_points for m in metrics])
    harms = rng.normal(size=(4_000, 2)) * scale
    p = [
        [
            beyond_noise(
                harm,
                error_of_means(m.band_points, 1, 1),
                floor.n_runs - 1,
                step_points=m.run_to_run.step_points,
            )
            for harm, m in zip(row, metrics, strict=True)
        ]
        for row in harms
    ]
    codes = decide(harms, [0.1, 0.1], p, 1.0, 4, rule="threshold_and_real", alpha=0.2).codes
    simulated = (codes == 3).any(axis=1).mean()
    assert share.value == pytest.approx(simulated, abs=0.02)
    assert 0 <= share.ci_low <= share.value <= share.ci_high <= 1


def test_a_quarter_has_three_months():
    assert [quarter_of(date(2026, month, 1)) for month in (1, 3, 4, 12)] == [
        *("2026 Q1", "2026 Q1", "2026 Q2", "2026 Q4")
    ]


@pytest.mark.parametrize(
    ("files", "code"),
    [({}, 2), ({"eval-report-20260102T000000Z.json": "{"}, 3), (None, 3)],
    ids=["empty", "all broken", "no folder"],
)
def test_exit_codes_without_a_run(tmp_path, capsys, files, code):
    folder = tmp_path / "eval"
    if files is not None:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    assert run(["search", "history", str(folder)]) == code
    assert str(folder) in capsys.readouterr().err


def test_the_terminal_marks_a_scale_break_and_hostile_labels_stay_on_their_line(tmp_path, capsys):
    evil = "x\u202e\n# y"
    folder = folder_of(
        tmp_path,
        document("2026-01-01", 28, label=evil),
        document("2026-02-01", 30, 40),
        document("2026-02-03", 10, 40),
    )
    assert run(["search", "history", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "-- another gold set: not comparable with the rows above --" in out
    assert "\u202e" not in out
    assert "\n# y" not in out
    assert "breached 1" in out
    assert run(["search", "history", str(folder), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 3
