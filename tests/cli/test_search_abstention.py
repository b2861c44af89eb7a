"""``search show``, what ``search diff`` says of corpora left out, and ``gold pool --by-gain``."""

from __future__ import annotations

import csv
import io
import json

import pytest
from click.testing import CliRunner

from retrieval_eval.cli import run
from retrieval_eval.cli.gold_labelling import pool
from retrieval_eval.cli.search import show
from retrieval_eval.cli.search_diff import diff
from retrieval_eval.io.files import write_bytes
from retrieval_eval.search.gold import load_gold_set, write_gold_set
from retrieval_eval.search.gold.labelling import read_pool
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.document import run_bytes
from tests.searches import answer, failure, gold_query, gold_set, run_of

SETTINGS = Settings(n_resamples=50)
GOLD = gold_set(
    *(
        gold_query(f"a{i:02}", {"x": 1, "m": 1}, corpus="fin" if i % 2 else "gov")
        for i in range(20)
    ),
    *(gold_query(f"u{i:02}", answerable=False, corpus="gov") for i in range(10)),
)


def scores(query):
    number = int(query.id[1:])
    return {"x": 10.0 + number, "y": 1.0} if query.id[0] == "a" else {"y": 2.0 + number}


ANSWERS = [answer(query.id, scores(query)) for query in GOLD.queries]


@pytest.fixture
def place(tmp_path):
    write_gold_set(tmp_path / "gold-set.jsonl", GOLD.queries)
    texts = [
        json.dumps({"id": doc, "corpus": corpus, "text": f"document {doc} of {corpus}"})
        for doc in "xym"
        for corpus in ("fin", "gov")
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(texts) + "\n")
    return tmp_path


def saved(place, answers=ANSWERS, name="run.json", gold=GOLD, **fields):
    document = run_of(gold, answers, settings=SETTINGS, **fields)
    write_bytes(place / name, run_bytes(document))
    return str(place / name)


def call(command, *arguments):
    result = CliRunner().invoke(command, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_stored_run_is_shown_with_controls_and_a_threshold(place):
    text = call(show, saved(place)).output
    assert "ungrounded TP rate: 0.000 [0.000, 0.278], 0 of 10 (refused: nothing returned)" in text
    rows = [line.split() for line in text.splitlines()]
    # Unanswerable queries score 2 to 11, answerable ones 10 to 29: below 10 are eight of ten.
    (strict,) = [row for row in rows if row[1:5] == ["FR", "rate", "≤", "0"]]
    assert strict[0] == "10.0000"
    assert " ".join(strict).endswith("8 of 10 0.000 [0.000, 0.161], 0 of 20 passes")
    for control in (["always", "answer"], ["always", "refuse"]):
        (row,) = [row for row in rows if row[1:3] == control]
        assert row[-1] == "fails"
    assert "Recommended for a false refusal rate within 0.05: --abstain-at 11.0" in text
    assert "chosen on these queries" in text
    assert "Chosen on one half and tested on the other (500 halvings)" in text


def test_a_shown_run_as_json_is_its_document_with_thresholds(place):
    path = saved(place)
    document = json.loads(call(show, path, "--target-frr", "0.1", "--json").output)
    choice = document.pop("thresholds")
    assert document == json.loads((place / "run.json").read_text())
    assert choice["recommended"]["cap"] == 0.1
    # Below 12 all ten are caught, and two of twenty answerable queries (10 and 11) refused.
    assert choice["recommended"]["threshold"] == 12.0
    assert choice["split_half"]["n_halvings"] == 500
    # A run that was measured at a threshold is looked at there.
    assert "top score below 5" in call(show, saved(place, abstain_at=5.0)).output


def test_a_run_without_anything_to_decide_is_shown_without_thresholds(place):
    assert "refuse below" not in call(show, saved(place, ANSWERS[:20])).output
    failed = call(show, saved(place, [failure("a00"), *ANSWERS[1:]])).output
    assert "no threshold to choose: " in failed
    assert call(show, saved(place), "--target-frr", "1").exit_code == 2


def test_a_difference_says_whether_it_holds_on_each_corpus(place):
    better = [
        answer(a.id, ["x", "m", "y"] if a.id[0] == "a" and int(a.id[1:]) % 2 else ["x", "y"])
        for a in ANSWERS
    ]
    paths = saved(place), saved(place, better, "b.json")
    rows = [line.split() for line in call(diff, *paths, "--verbose").output.splitlines()]
    # On fin P@5 rises from 1/5 to 2/5 for every query, on gov nothing moves.
    assert ["P@5", "fin", "0.00", "10", "+20.00", "—", "10", "no", "change"] in rows
    assert ["P@5", "gov", "+20.00", "10", "0.00", "—", "10", "vanishes"] in rows
    document = json.loads(call(diff, *paths, "--json").output)
    assert document["transfer"]["metrics"]["P@5"]["corpora"]["gov"]["verdict"] == "vanishes"


def test_the_sheets_of_what_to_judge_next_are_blind_and_read_back(place):
    path = saved(place)
    gold_path = place / "gold-set.jsonl"
    call(
        pool,
        *["--run", path, "--gold", str(gold_path), "--corpus-file", str(place / "corpus.jsonl")],
        *["--labellers", "one,two", "--by-gain", "7", "--out", str(place / "sheets")],
    )
    sheet = place / "sheets/sheet-one.csv"
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig"))))
    assert len(rows) == 7
    assert rows[0].keys() == {"item", "query", "document", "grade", "comment"}
    assert all(row["document"].startswith("document y of") for row in rows)
    for row in rows:
        row["grade"] = "0"
    filled = io.StringIO(newline="")
    writer = csv.DictWriter(filled, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    sheet.write_text(filled.getvalue(), encoding="utf-8")
    found = read_pool(load_gold_set(gold_path), [sheet], place / "sheets/key.json")
    assert found.n_added == 7
    labelled = {q.id for q in found.queries if q.labels}
    assert labelled == {f"a{i:02}" for i in range(7)}


RETRIEVER = '''
class Numbers:
    """Scores every document by the number a query holds; unanswerable ones hold small numbers."""

    def search(self, query, *, corpus, k):
        return [("x", float(query.split()[-1]))]
'''


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers_of_a_test.py").write_text(RETRIEVER)
    rows = [gold_query(f"a{i}", {"x": 1}, query=f"what is {i}") for i in range(5, 10)]
    rows += [gold_query(f"u{i}", query=f"what is {i}", answerable=False) for i in range(1, 4)]
    (tmp_path / "data/eval").mkdir(parents=True)
    write_gold_set(tmp_path / "data/eval/gold-set.jsonl", rows)
    return tmp_path


RUN = ["search", "run", "--retriever", "numbers_of_a_test:Numbers"]


@pytest.mark.parametrize(
    ("threshold", "caught", "refused"), [([], "0 of 3", "0 of 5"), (["7"], "3 of 3", "2 of 5")]
)
def test_a_run_shows_and_records_what_it_refused(tree, capsys, threshold, caught, refused):
    options = ["--abstain-at", *threshold] if threshold else []
    assert run([*RUN, *options]) == 0
    text = capsys.readouterr().out
    assert f", {caught} (refused: nothing returned" in text
    assert f", {refused}\n" in text
    assert "AUC over all thresholds: 1.000 [" in text
    assert "composite: " in text
    (path,) = (tree / "data/eval").glob("eval-report-*.json")
    block = json.loads(path.read_text())["abstention"]
    assert block["threshold"] == (float(threshold[0]) if threshold else None)
    page = path.with_suffix(".md").read_text()
    assert f"{caught} (refused: nothing returned" in page
    assert "- composite: " in page
