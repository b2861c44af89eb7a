"""Audits: planted tampering is found, and published numbers are compared at their rounding."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from retrieval_eval.cli.main import run
from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.search.audit import audit_run
from retrieval_eval.search.markdown import to_markdown
from retrieval_eval.search.published import agrees, claimed, read_published
from retrieval_eval.search.run_files import load_search_run
from retrieval_eval.search.settings import Settings
from tests.searches import answer, failure, run_of

SETTINGS = Settings(n_resamples=200)
GOLD = [
    {
        "id": f"q{i}",
        "query": f"text {i}",
        "corpus": "docs" if i % 2 else "notes",
        "relevant": {"a": 2, "b": 1} if i < 10 else {},
        "answerable": i < 10,
        "source": "chair" if i % 3 else "bootstrap",
    }
    for i in range(12)
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A gold set, and a run of it in which some answers are right."""
    folder = tmp_path_factory.mktemp("audit")
    gold = folder / "gold-set.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in GOLD), encoding="utf-8")
    labels = load_gold_set(gold)
    answers = [
        answer(query.id, {"a": 3.0, "x": 2.5, "b": 2.0} if i % 3 else {"x": 2.0, "b": 1.5})
        for i, query in enumerate(labels.queries)
    ]
    document = run_of(labels, answers, settings=SETTINGS, label="one", abstain_at=2.2)
    return gold, document


def saved(folder: Path, document) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def change_mean(document):
    document["metrics"]["P@5"]["value"] += 0.01


def change_interval(document):
    document["metrics"]["P@5"]["ci_low"] -= 0.02


def change_n(document):
    document["metrics"]["RR"]["n"] += 1


def change_slice(document):
    document["slices"]["corpus"]["docs"]["metrics"]["RR"]["value"] = 0.999


def change_query_value(document):
    document["queries"][0]["metrics"]["RR"] = 1.0


def change_grade(document):
    document["queries"][1]["ranking"][1]["grade"] = 2


def add_grade_and_value(document):
    query = document["queries"][0]
    query["ranking"][0]["grade"] = 2
    query["metrics"]["RR"] = 1.0


def drop_query(document):
    del document["queries"][0]


def drop_query_and_count(document):
    del document["queries"][0]
    document["status"]["n_queries"] -= 1
    document["status"]["n_ok"] -= 1


def swap_documents(document):
    ranking = document["queries"][1]["ranking"]
    ranking[0]["doc"], ranking[1]["doc"] = ranking[1]["doc"], ranking[0]["doc"]


def reorder(document):
    document["queries"][1]["ranking"].reverse()


def cut_ranking(document):
    document["queries"][1]["ranking"].pop()


def rename_query(document):
    document["queries"][1]["id"] = "q99"


def answerable(document):
    document["queries"][11]["answerable"] = True


def refusals(document):
    document["abstention"]["true_positive_rate"]["value"] = 1.0


def labelled_pairs(document):
    document["run"]["gold_set"]["n_labelled_pairs"] += 5


def move_query(document):
    document["queries"][1]["corpus"] = "notes"


def null_value(document):
    document["null_systems"]["systems"]["permuted"]["metrics"]["P@5"]["is_beaten"] = None


TAMPERED = {
    change_mean: ("mean", True),
    change_interval: ("interval", True),
    change_n: ("mean", True),
    change_slice: ("mean", True),
    change_query_value: ("query_metric", True),
    change_grade: ("grade", True),
    add_grade_and_value: ("grade", True),
    drop_query: ("queries", True),
    drop_query_and_count: ("queries", True),
    swap_documents: ("grade", False),
    reorder: ("ranking", True),
    cut_ranking: ("ranking", True),
    rename_query: ("queries", False),
    answerable: ("query", False),
    refusals: ("refusals", False),
    labelled_pairs: ("gold_set", False),
    move_query: ("query", True),
    null_value: ("null_systems", False),
}
"""What was planted, the kind of difference that shows it, and whether it shows without gold set."""


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
def test_planted_tampering_is_found(made, tmp_path, tamper):
    gold, document = made
    changed = deepcopy(document)
    tamper(changed)
    path = saved(tmp_path, changed)
    kind, is_seen_without = TAMPERED[tamper]
    found = audit_run(path, gold=gold)
    assert kind in {each.kind for each in found.differences}
    assert (found.verdict, found.exit_code) == ("does_not_follow", 1)
    alone = audit_run(path)
    assert bool(alone.n_differences) == is_seen_without
    assert alone.exit_code == (1 if is_seen_without else 2)


def test_an_untouched_run_follows_and_so_does_its_report(made, tmp_path):
    gold, document = made
    path = saved(tmp_path, document)
    report = tmp_path / "eval-report.md"
    report.write_text(to_markdown(load_search_run(path)), encoding="utf-8")
    printed = [*read_published(report, ["docs", "notes"]), *read_published(path)]
    found = audit_run(path, gold=gold, published=printed)
    wrong = [one for one in found.published if one.verdict != "follows"]
    assert not wrong
    assert {one.part for one in found.published} >= {None, "corpus docs", "source chair"}
    assert {one.what for one in found.published} == {"mean", "ci_low", "ci_high", "n"}
    assert (found.n_differences, found.unchecked, found.exit_code) == (0, (), 0)


def test_a_run_with_failed_queries_follows_too(made, tmp_path):
    gold, _ = made
    labels = load_gold_set(gold)
    answers = [
        failure(query.id) if i == 2 else answer(query.id, ["a", "x", "b"])
        for i, query in enumerate(labels.queries)
    ]
    for allowed in (0.0, 0.5):
        document = run_of(labels, answers, settings=SETTINGS, max_failed=allowed)
        path = saved(tmp_path, document)
        assert audit_run(path, gold=gold).differences == ()
        assert audit_run(path).differences == ()


def test_another_gold_set_leaves_what_it_would_decide_unchecked(made, tmp_path):
    _, document = made
    other = tmp_path / "other.jsonl"
    rows = [{**row, "relevant": {"x": 1}} for row in GOLD[:10]]
    other.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = audit_run(saved(tmp_path, document), gold=other)
    assert (found.gold, found.n_differences, found.exit_code) == ("other", 0, 2)


PUBLISHED = """# Numbers

Our search reaches P@5 = {p5:.3f} (n = 10), and MRR is {rr:.1%}.
Precision@5 of 0.99 is what it had before.
P@5 is 0.2 on docs. nDCG@10 rose by 0.5 points.

| metric | mean | 95% interval |
| --- | --- | --- |
| **Recall@20** | {recall:.2f} | [{low:.3f}, {high:.3f}] |
| `nDCG@5` | 0.123 | — |

| corpus | P@5 (n) |
| --- | --- |
| docs | {docs:.3f} (5) |
"""


def test_numbers_of_a_page_are_found_with_line_and_verdict(made, tmp_path):
    gold, document = made
    metrics = document["metrics"]
    recall = metrics["Recall@20"]
    page = tmp_path / "README.md"
    page.write_text(
        PUBLISHED.format(
            p5=metrics["P@5"]["value"],
            rr=metrics["RR"]["value"],
            recall=recall["value"],
            low=recall["ci_low"],
            high=recall["ci_high"],
            docs=document["slices"]["corpus"]["docs"]["metrics"]["P@5"]["value"],
        )
    )
    printed = read_published(page, ["docs", "notes"])
    found = audit_run(saved(tmp_path, document), gold=gold, published=printed).published
    got = {(one.place, one.metric, one.what): one.verdict for one in found}
    assert got == {
        ("README.md:3", "P@5", "mean"): "follows",
        ("README.md:3", "P@5", "n"): "follows",
        ("README.md:3", "RR", "mean"): "follows",
        ("README.md:4", "P@5", "mean"): "cannot_be_checked",
        ("README.md:5", "P@5", "mean"): "cannot_be_checked",
        ("README.md:9", "Recall@20", "mean"): "follows",
        ("README.md:9", "Recall@20", "ci_low"): "follows",
        ("README.md:9", "Recall@20", "ci_high"): "follows",
        ("README.md:10", "nDCG@5", "mean"): "does_not_follow",
        ("README.md:14", "P@5", "mean"): "follows",
        ("README.md:14", "P@5", "n"): "follows",
    }


def test_numbers_of_tables_and_members(tmp_path):
    table = tmp_path / "numbers.csv"
    table.write_text("system,P@5,Recall@20\none,0.712,71.5%\ntheirs,0.5,\n")
    assert [(p.metric, p.text, bool(p.unclear)) for p in read_published(table, label="one")] == [
        ("P@5", "0.712", False),
        ("Recall@20", "71.5%", False),
        ("P@5", "0.5", True),
    ]
    members = tmp_path / "numbers.json"
    members.write_text('{"ours": {"precision@5": 0.7, "corpus": {"docs": {"MRR": {"mean": 0.5}}}}}')
    assert {(p.metric, p.text, p.part) for p in read_published(members)} == {
        ("P@5", "0.7", None),
        ("RR", "0.5", "corpus docs"),
    }
    members.write_text("{")
    with pytest.raises(BadInputError, match=r"numbers\.json"):
        read_published(members)


def test_long_runs_of_spaces_are_read_in_linear_time(tmp_path):
    spaces = " " * 100_000
    page = tmp_path / "page.md"
    page.write_text(f"| x | nDCG@5{spaces}x |\n|---|---|\n| y | 0.5 |\n\nnDCG@10{spaces}x\n")
    assert read_published(page) == []


def test_rounding():
    assert agrees("0.712", 0.7115)
    assert agrees("0.712", 0.7125)
    assert not agrees("0.712", 0.7126)
    assert agrees("71.2 %", 0.7118)
    assert agrees("1.0", 0.96)
    assert not agrees("0.7120", 0.7115)
    assert agrees("1,251", 1251, is_count=True)


@pytest.mark.parametrize("text", ["P@5", "P@5=", "P@5=abc", "=0.5", "P@5 0.7"])
def test_a_claim_needs_metric_and_number(text):
    with pytest.raises(BadInputError, match="is no claim"):
        claimed(text)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--claim", "P@5={p5:.3f}"], 0),
        (["--claim", "P@5[corpus docs]=0.999"], 1),
        (["--claim", "P@7=0.5"], 2),
        (["--claim", "P@5[corpus no]=0.5"], 2),
        (["--published", "nothing.md"], 2),
        (["--published", "none.md"], 3),
        (["--claim", "x"], 3),
    ],
)
def test_exit_codes(made, tmp_path, monkeypatch, capsys, given, code):
    gold, document = made
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path, document)
    (tmp_path / "nothing.md").write_text("no number of ours\n")
    given = [text.format(p5=document["metrics"]["P@5"]["value"]) for text in given]
    assert run(["search", "audit", str(path), "--gold", str(gold), *given]) == code
    assert ("Verdict:" in capsys.readouterr().out) == (code < 3)
