from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.agreement import blind_pack, read_blind
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.gold.labelling import build_pool, read_pool, write_pool

DOCS = [f"d{n}" for n in range(10)]


@pytest.fixture
def gold(tmp_path):
    rows = [
        {"id": f"q{q}", "query": f"question {q}", "source": "chair",
         "labels": [{"labeller": who, "doc": doc, "grade": (q + n) % 3}
                    for n, doc in enumerate(DOCS) for who in (("ana", "ben") if q else ("ana",))]}
        for q in range(3)
    ]  # fmt: skip
    path = tmp_path / "gold-set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_gold_set(path)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    lines = (json.dumps({"id": doc, "text": f"text of {doc}"}) + "\n" for doc in DOCS)
    path.write_text("".join(lines), encoding="utf-8")
    return read_corpus(path)


def _answered(folder, pack, labeller, change):
    """Write the pack, and grades into one sheet: the earlier one, changed by ``change``."""
    write_pool(pack, folder, folder / "blind-key.json")
    path = folder / f"sheet-{labeller}.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for place, row in enumerate(rows):
        entry = pack.key["items"][row["item"]]
        row["grade"] = change(place, (int(entry["query"][1]) + int(entry["doc"][1])) % 3)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path, folder / "blind-key.json"


def test_a_share_of_each_labellers_own_pairs(gold, corpus):
    pack = blind_pack(gold, corpus, share=0.15)
    # ana has 30 pairs, ben 20: 4.5 and 3, rounded up.
    assert {name: len(items) for name, items in pack.sheets.items()} == {"ana": 5, "ben": 3}
    assert pack.n_pairs == len(pack.key["items"]) == 8
    assert "q0" not in {e["query"] for e in pack.key["items"].values() if e["labeller"] == "ben"}
    only = blind_pack(gold, corpus, share=1, labellers=["ben", "ben"])
    assert {name: len(items) for name, items in only.sheets.items()} == {"ben": 20}


def test_nothing_of_the_earlier_grades_or_sheets_is_inside(gold, corpus):
    pack = blind_pack(gold, corpus, share=1, seed=5)
    entries = list(pack.key["items"].values())
    assert {frozenset(entry) for entry in entries} == {
        frozenset({"labeller", "query", "doc", "shown"})
    }
    assert set(pack.key) == {
        "blind_key", "gold_fingerprint", "corpus_fingerprint", "max_grade", "share", "seed", "items"
    }  # fmt: skip
    ranking = {query.id: DOCS for query in gold.queries}
    first = build_pool(gold, [ranking], corpus, ["ana"], seed=5)
    assert not first.key["items"].keys() & pack.key["items"].keys()
    shown = [[(i.query, i.document) for i in p.sheets["ana"]] for p in (first, pack)]
    assert sorted(shown[0]) == sorted(shown[1])
    assert shown[0] != shown[1]


def test_the_seed_chooses_and_orders(gold, corpus):
    one, same, other = (blind_pack(gold, corpus, share=0.3, seed=s) for s in (1, 1, 2))
    assert one == same
    assert one.sheets["ana"] != other.sheets["ana"]


def test_reading_back_compares_with_the_first_grades(gold, corpus, tmp_path):
    pack = blind_pack(gold, corpus, share=1)

    # Every tenth of ana's 30 grades is one step off, two are left open.
    def change(place, grade):
        if place in (1, 2):
            return None
        return grade if place % 10 else (grade + 1) % 3

    path, key = _answered(tmp_path / "out", pack, "ana", change)
    ana, ben = read_blind(gold, [path], key)
    assert (ana.labeller, ana.compared.n, ana.n_undecided, ana.n_forgotten) == ("ana", 28, 2, 0)
    assert ana.compared.agreement.value == 25 / 28
    assert len(ana.changed) == 3
    assert all((one.earlier + 1) % 3 == one.now for one in ana.changed)
    assert 0.7 < ana.compared.kappas["none"].value.value < 1
    assert (ben.compared.n, ben.n_undecided) == (0, 20)
    assert ben.compared.agreement.reason == "too_few_values"


def test_labels_that_are_gone_are_counted(gold, corpus, tmp_path):
    path, key = _answered(tmp_path / "out", blind_pack(gold, corpus, share=1), "ana",
                          lambda _, grade: grade)  # fmt: skip
    rows = [json.loads(line) for line in gold.path.read_text("utf-8").splitlines()]
    gold.path.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]), encoding="utf-8")
    ana, _ = read_blind(load_gold_set(gold.path), [path], key)
    assert (ana.compared.n, ana.n_forgotten) == (20, 10)
    assert ana.compared.kappas["linear"].value.value == 1


def test_the_grades_are_never_taken_for_labels(gold, corpus, tmp_path):
    path, key = _answered(tmp_path / "out", blind_pack(gold, corpus, share=1), "ana",
                          lambda _, grade: grade)  # fmt: skip
    with pytest.raises(BadInputError, match="not the key of these sheets"):
        read_pool(gold, [path], key)


def test_faults_are_named_by_line(gold, corpus, tmp_path):
    path, key = _answered(tmp_path / "out", blind_pack(gold, corpus, share=1), "ana",
                          lambda place, _: 3 if place == 1 else 1)  # fmt: skip
    with pytest.raises(BadInputError, match=r"sheet-ana\.jsonl: line 2: the grade 3"):
        read_blind(gold, [path], key)
    path.write_text(path.read_text("utf-8").replace('"grade": 3', '"grade": 1'), "utf-8")
    with pytest.raises(BadInputError, match="a second time, first sheet-ana"):
        read_blind(gold, [path, path], key)


def test_what_cannot_be_packed_or_read_is_said(gold, corpus, tmp_path):
    for share in (0, 1.5, -1):
        with pytest.raises(BadInputError, match="a share lies above 0"):
            blind_pack(gold, corpus, share=share)
    with pytest.raises(BadInputError, match="'zoe' has no label"):
        blind_pack(gold, corpus, share=1, labellers=["zoe"])
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"query": "x", "source": "chair"}', encoding="utf-8")
    with pytest.raises(NothingToEvaluateError, match="no label"):
        blind_pack(load_gold_set(bare), corpus, share=1)
    path, key = _answered(tmp_path / "out", blind_pack(gold, corpus, share=1), "ana",
                          lambda *_: None)  # fmt: skip
    with pytest.raises(NothingToEvaluateError, match="a second time"):
        read_blind(gold, [path], key)


def test_a_share_is_taken_as_it_was_written(tmp_path):
    # 0.07 of 100 pairs are 7; the product of the two floats is 7.000000000000001.
    docs = [f"d{n}" for n in range(100)]
    labels = [{"labeller": "ana", "doc": doc, "grade": 1} for doc in docs]
    row = {"id": "q", "query": "fees", "source": "chair", "labels": labels}
    (tmp_path / "gold.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    rows = "".join(json.dumps({"id": doc, "text": f"text of {doc}"}) + "\n" for doc in docs)
    (tmp_path / "docs.jsonl").write_text(rows, encoding="utf-8")
    gold, corpus = load_gold_set(tmp_path / "gold.jsonl"), read_corpus(tmp_path / "docs.jsonl")
    assert blind_pack(gold, corpus, share=0.07).n_pairs == 7
