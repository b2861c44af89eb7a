from __future__ import annotations

import json

import pytest

from retrieval_eval.cli import run
from retrieval_eval.search.demo import JUDGE
from tests.local_server import local_server, says
from tests.rechunking import write_rows

GOLD = [
    {"id": "q1", "query": "how long are copies kept", "relevant": {"d1": 2}, "source": "chair"},
    {"id": "q2", "query": "which port", "relevant": {"d2": 1, "d1": 0}, "source": "chair"},
]
CORPUS = [
    {"id": "d1", "title": "Keeping", "text": "Copies are kept for 30 days. They are encrypted."},
    {"id": "d2", "text": "The port of the agent is 443."},
]
DRAFTS = [
    {
        "id": "q1",
        "draft": "Copies are kept for 30 days [1]. The port of the agent is 443.",
        "context": ["d1", "d2"],
    },
    {"id": "q2", "draft": "The port of the agent is 8443.", "context": ["d2"]},
]
CORPUS_FILE = "data/eval/corpus.jsonl"
KEY = "sk-a-secret-of-this-test"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("JUDGE_KEY", KEY)
    write_rows(tmp_path / "data/eval/gold-set.jsonl", GOLD)
    write_rows(tmp_path / "data/eval/corpus.jsonl", CORPUS)
    write_rows(tmp_path / "drafts.jsonl", DRAFTS)
    assert run(["search", "run", "--retriever", "bm25:data/eval/corpus.jsonl"]) == 0
    (path,) = (tmp_path / "data/eval").glob("eval-report-*.json")
    path.rename(tmp_path / "run.json")
    return tmp_path


@pytest.fixture(autouse=True)
def _quiet(tree, capsys):
    capsys.readouterr()


def files(tree):
    return {path.name for path in tree.iterdir() if path.is_file()}


NO_JUDGE = ["search", "claims", "run.json", "--drafts", "drafts.jsonl"]
COMMAND = [*NO_JUDGE, "--judge", JUDGE]
HTTP = ["--judge", "http", "--judge-option", "model=m", "--judge-option", "backoff=0"]
HTTP += ["--judge-option", "api_key_env=JUDGE_KEY"]


def test_claims_go_to_a_new_file_beside_the_run(tree, capsys):
    before = (tree / "run.json").read_bytes()
    assert run(COMMAND) == 0
    text = capsys.readouterr().out
    assert f"judge  : {JUDGE} " in text
    assert "drafts : 2 (0 refused, 0 of unlabelled queries, 0 queries without a draft)" in text
    assert "claims : 3, 3 of them substantive" in text
    # One of three claims is covered; the port of q1 stands in the context only.
    rows = [line.split() for line in text.splitlines()]
    assert ["claim", "coverage", "0.333", "—", "3"] in rows
    assert ["faithfulness", "0.667", "—", "3"] in rows
    # Without labels of people there is no κ, and every coverage says so.
    assert "         not compared with people\n" in text
    assert "The guard does not block on these numbers: the judge was not compared" in text
    assert text.endswith("run.claims.json\n")
    assert (tree / "run.json").read_bytes() == before
    assert run(["validate", "run.claims.json"]) == 0


def test_without_a_named_judge_there_is_no_coverage(tree, capsys):
    before = files(tree)
    assert run(NO_JUDGE) == 3
    printed_text = capsys.readouterr().err
    assert "name who judges the claims: --judge http asks a model" in printed_text
    assert "--judge MODULE:CALLABLE calls your own code" in printed_text
    assert files(tree) == before


def test_json_and_out(tree, capsys):
    assert run([*COMMAND, "--out", "new/claims.json", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads((tree / "new/claims.json").read_text())
    assert shown["claims"]["coverage"]["n"] == 3
    assert "run.claims.json" not in files(tree)


def test_human_labels_are_compared_with_the_judge(tree, capsys):
    labels = [
        {"claim": "Copies are kept for 30 days", "block": "d1", "supported": True},
        {"claim": "Copies are kept for 31 days", "block": "d1", "supported": False},
        {"claim": "It listens on 443", "block": "d2", "supported": True},
    ]
    write_rows(tree / "labels.jsonl", labels)
    assert run([*COMMAND, "--human-labels", "labels.jsonl"]) == 0
    text = capsys.readouterr().out
    # The judge does not know that "It" is the port: seen 2/3, by chance 4/9, so kappa is 0.4.
    (row,) = [line.split() for line in text.splitlines() if "kappa" in line]
    assert row == ["judge-human", "kappa", "0.400", "—", "3"]
    assert "supported, say both 1, the judge only 0, people only 1, neither 1" in text


def test_a_model_judges_and_is_not_asked_again(tree, capsys):
    verdict = says({"supported": False, "quote": None, "reason": "It is not stated."})
    with local_server(verdict) as server:
        command = [*COMMAND, *HTTP, "--judge-option", f"base_url={server.url}"]
        assert run(command) == 0
        n = len(server.requests)
        first = (tree / "run.claims.json").read_bytes()
        assert run(command) == 0
        assert len(server.requests) == n > 0
    assert (tree / "run.claims.json").read_bytes() == first
    assert files(tree) >= {"run.claims.json", "claim-judgements.jsonl"}
    written = b"".join(path.read_bytes() for path in tree.rglob("*.json*"))
    assert KEY.encode() not in written
    assert KEY not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--drafts", "absent.jsonl"], 3, "absent.jsonl"),
        (["--corpus-file", "absent.jsonl"], 3, "absent.jsonl"),
        (["--gold", "other.jsonl", "--corpus-file", CORPUS_FILE], 3, "fingerprints differ"),
        (["--human-labels", "drafts.jsonl"], 3, "drafts.jsonl: line 1: /claim"),
        (["--judge", "http"], 3, "option base_url is missing"),
        (["--judge-option", "model=x"], 3, "calling it with the options model fails"),
        (["--judge-option", "threshold"], 64, "expected NAME=VALUE"),
        (["--judge", "other"], 3, "'other' is no judge; there are http, and package.module"),
        (["--judge", "absent_module:judge"], 3, "there is no module 'absent_module'"),
        (["--out", "run.json"], 64, "is RUN itself"),
    ],
)
def test_bad_input_is_named_and_nothing_written(tree, capsys, arguments, code, message):
    write_rows(tree / "other.jsonl", [{**GOLD[0], "relevant": {"d2": 1}}, GOLD[1]])
    before = files(tree)
    assert run([*COMMAND, *arguments]) == code
    assert message in capsys.readouterr().err
    assert files(tree) == before
