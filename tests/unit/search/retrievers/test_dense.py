"""Exact search over vectors in files, against plain arithmetic in double precision."""

from __future__ import annotations

import json
import pickle
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.identity import query_id
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import dense, open_retriever


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(matrix, queries, *, ids=None, corpora=None, kind="npz"):
    """Files of vectors; the spec and options of a retriever over them."""
    names = ids or [f"d{row}" for row in range(len(matrix))]
    rows = ({"query": text, "vector": list(map(float, row))} for text, row in queries.items())
    Path("queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    options = {"query_vectors": "queries.jsonl"}
    if kind == "npz":
        extra = {} if corpora is None else {"corpora": corpora}
        np.savez("vectors.npz", vectors=matrix, ids=names, **extra)
        return "dense:vectors.npz", options
    np.save("vectors.npy", matrix)
    Path("ids.txt").write_text("\n".join(names))
    return "dense:vectors.npy", {**options, "ids": "ids.txt"}


def plain(matrix, vector, similarity):
    """Scores as the definitions have them."""
    rows, query = np.asarray(matrix, np.float64), np.asarray(vector, np.float64)
    if similarity == "l2":
        return [-float(np.sqrt(((row - query) ** 2).sum())) for row in rows]
    found = [(row * query).sum() for row in rows]
    if similarity == "cosine":
        size = np.sqrt((query * query).sum())
        found = [f / (np.sqrt((r * r).sum()) * size) for f, r in zip(found, rows, strict=True)]
    return list(map(float, found))


@pytest.mark.parametrize("similarity", dense.SIMILARITIES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_the_best_are_found_whatever_the_precision_and_the_blocks(dtype, similarity, monkeypatch):
    monkeypatch.setattr(dense, "_BLOCK_BYTES", 7 * 8 * 16)  # blocks of seven rows
    rng = np.random.default_rng(5)
    matrix = (rng.normal(size=(150, 16)) * 20).astype(dtype)
    # Rows that single precision cannot tell apart, and equal ones.
    if dtype in (np.float32, np.float64):
        matrix[40:80] = matrix[40] * (1 + np.arange(40)[:, None] * np.finfo(dtype).eps)
    matrix[100:110] = matrix[100]
    queries = {"near": np.asarray(matrix[40], float), "other": rng.normal(size=16)}
    for kind in ("npz", "npy"):
        spec, options = written(matrix, queries, kind=kind)
        retriever = open_retriever(spec, {**options, "similarity": similarity})
        for text, vector in queries.items():
            scores = plain(matrix, vector, similarity)
            wanted = sorted(((s, f"d{row}") for row, s in enumerate(scores)), reverse=True)
            for k in (1, 12, 149, 500):
                found = retriever.search(text, corpus="default", k=k)
                assert [(d.score, d.doc) for d in found] == wanted[:k]


def test_vectors_of_extreme_size_are_compared():
    tiny, huge = np.full((3, 2), 1e-30, np.float32), np.full((3, 2), 1e30, np.float32)
    for matrix in (tiny * [[1], [2], [3]], huge * [[1], [2], [3]]):
        written_ = written(matrix.astype(np.float32), {"q": [1e30, 0.0]})
        found = open_retriever(written_[0], {**written_[1], "similarity": "dot"})
        assert [d.doc for d in found.search("q", corpus="default", k=2)] == ["d2", "d1"]


def test_corpora_are_apart_and_ids_are_known():
    spec, options = written(np.eye(3), {"q": [1, 1, 1]}, corpora=["law", "law", "faq"])
    retriever = open_retriever(spec, options)
    assert [d.doc for d in retriever.search("q", corpus="law", k=9)] == ["d1", "d0"]
    assert retriever.known_documents == {"law": ["d0", "d1"], "faq": ["d2"]}
    with pytest.raises(RetrieverError, match=r"no vector of corpus 'x' \(there is 'faq', 'law'\)"):
        retriever.search("q", corpus="x", k=1)


def test_ids_can_come_from_the_corpus_file_and_vectors_are_mapped():
    spec, options = written(np.eye(2), {"q": [0, 1]}, kind="npy")
    Path("ids.txt").write_text('{"_id": "a", "text": "x"}\n{"id": "b", "corpus": "law"}\n')
    retriever = open_retriever(spec, {**options, "corpus": "faq"})
    assert retriever.known_documents == {"faq": ["a"], "law": ["b"]}
    assert isinstance(retriever._vectors.matrix, np.memmap)


def test_a_query_is_named_by_its_text_a_digest_or_the_id_of_the_gold_set():
    names = ["Betterment  LEVY", sha256(b"fee").hexdigest(), query_id("default", "tax")]
    spec, options = written(np.eye(3), dict(zip(names, np.eye(3), strict=True)))
    retriever = open_retriever(spec, options)
    for row, text in enumerate(("betterment levy", "fee", "Tax")):
        assert retriever.search(text, corpus="default", k=1)[0].doc == f"d{row}"
    with pytest.raises(RetrieverError, match="has none for this query"):
        retriever.search("toll", corpus="default", k=1)


def test_an_embedder_is_asked_once_for_a_text_and_its_answer_is_kept(tmp_path, monkeypatch):
    code = "asked = []\ndef embed(text):\n    asked.append(text)\n    return [len(text), 1.0]\n"
    (tmp_path / "an_embedder.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec, _ = written(np.eye(2), {})
    options = {"embedder": "an_embedder:embed", "cache": "kept", "model": "length 1"}
    for _ in range(2):
        retriever = open_retriever(spec, options)
        assert retriever.search("tax", corpus="default", k=1)[0].doc == "d0"
        retriever.search("tax", corpus="default", k=2)
    assert import_module("an_embedder").asked == ["tax"]
    assert retriever.describe()["model"] == "length 1"
    with pytest.raises(BadInputError, match="option cache needs the option model"):
        open_retriever(spec, {"embedder": "an_embedder:embed", "cache": "kept"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[1.0]", "a vector of 1 numbers; the documents have 2"),
        ("[1.0, float('nan')]", "not finite"),
        ("[[1.0, 2.0]]", r"shape \(1, 2\)"),
        ("['a', 'b']", "type <U1"),
        ("None", "embedding must be numbers"),
        ("[0.0, 0.0]", "is zero and has no cosine"),
        ("[1e200, 1e200]", "too long to be compared"),
    ],
)
def test_a_vector_of_no_use_fails_its_query(answer, said, tmp_path, monkeypatch):
    (tmp_path / "bad_embedder.py").write_text(f"def embed(text): return {answer}\n")
    monkeypatch.delitem(__import__("sys").modules, "bad_embedder", raising=False)
    spec, _ = written(np.eye(2), {})
    retriever = open_retriever(spec, {"embedder": "bad_embedder:embed"})
    with pytest.raises((RetrieverError, TypeError), match=said):
        retriever.search("tax", corpus="default", k=1)


def test_the_index_digest_follows_vectors_ids_and_query_vectors():
    def facts(matrix, queries=(1.0, 0.0), **more):
        spec, options = written(matrix, {"q": queries}, **more)
        found = open_retriever(spec, options).describe()
        return found["index"], found["query_vectors_sha256"]

    one = facts(np.eye(2))
    assert facts(np.eye(2)) == one
    assert facts(np.eye(2) * 2)[0] != one[0]
    assert facts(np.eye(2), ids=["d0", "e"])[0] != one[0]
    assert facts(np.eye(2), (0.5, 1.0))[1] != one[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda o: np.savez("vectors.npz", vectors=np.eye(2)), "no array 'ids'"),
        (lambda o: np.savez("vectors.npz", vectors=np.eye(2), ids=["a"]), "2 vectors, 1 ids"),
        (lambda o: np.savez("vectors.npz", vectors=np.eye(2), ids=["a", "a"]), "rows 1 and 2 have"),
        (lambda o: np.savez("vectors.npz", vectors=np.eye(2), ids=["a", ""]), "row 2 has an empty"),
        (lambda o: np.savez("vectors.npz", vectors=np.ones(2), ids=["a", "b"]), r"shape \(2,\)"),
        (
            lambda o: np.savez("vectors.npz", vectors=[[1, 2], [np.nan, 1]], ids=["a", "b"]),
            r"'b' \(row 2\) has a number that is not finite",
        ),
        (lambda o: np.savez("vectors.npz", vectors=[[0.0], [1]], ids=["a", "b"]), "zero and has"),
        (
            lambda o: np.savez("vectors.npz", vectors=np.array([[{}]], object), ids=["a"]),
            "cannot be read as .npz .*pickle",
        ),
        (lambda o: o["path"].write_bytes(pickle.dumps([1])), "cannot be read as .npz"),
        (lambda o: o["path"].write_bytes(b"PK\x03\x04 damaged"), "cannot be read as .npz"),
        (lambda o: o["options"].pop("query_vectors"), "needs the vectors of the queries"),
        (lambda o: o["options"].update(embedder="a:b"), "exclude each other"),
        (lambda o: o["options"].update(similarity="l1"), "one of cosine, dot, l2"),
        (lambda o: o["options"].update(ids="ids.txt"), "an .npz has its own ids"),
        (
            lambda o: o["queries"].write_text(
                '{"query": "a", "vector": [1]}\n{"query": "A ", "vector": [2]}'
            ),
            "row 2: query 'a' has a vector already",
        ),
        (
            lambda o: o["queries"].write_text('{"query": "a", "vector": [NaN]}'),
            "row 1 .*not finite",
        ),
        (lambda o: o["queries"].write_text('{"query": "a"}'), "line 1: expected JSONL"),
        (lambda o: o["queries"].write_text(""), "holds no vector"),
    ],
)
def test_files_of_no_use_are_refused(change, said, tmp_path):
    spec, options = written(np.eye(2), {"q": [1, 0]})
    change(
        {
            "path": tmp_path / "vectors.npz",
            "queries": tmp_path / "queries.jsonl",
            "options": options,
        }
    )
    with pytest.raises(BadInputError, match=said):
        open_retriever(spec, options)
