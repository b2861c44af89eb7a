"""The recipes of docs/recipes.md: each module is written as it stands there, and asked."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from sqlalchemy import make_url

from retrieval_eval.search.ask import read_answer
from retrieval_eval.search.ask.retrievers import open_retriever
from tests.databases import WritableDatabase

DOCUMENTS = [
    ("d1", "law", "Backups", "Backups are encrypted at rest. Encrypted copies.", [1, 2, 3]),
    ("d2", "law", None, "Copies are kept for thirty days.", [2, 4, 6]),
    ("d3", "law", "Encryption", None, [-1, 0, 1]),
    ("d4", "faq", "Backups", "Encrypted backups of the manual.", [1, 2, 3]),
]
MODEL = """
def embed(text):
    if "again" in text:
        raise AssertionError("embedded once")
    return [1.0, 2.0, 3.5]
"""


@pytest.fixture
def modules(project, tmp_path, monkeypatch):
    """Write every module of the page, and forget them afterwards."""
    page = (project / "docs" / "recipes.md").read_text("utf-8")
    blocks = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == page.count("```python") == 4
    for name, code in blocks:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    (tmp_path / "my_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = [name for name, _ in blocks]
    yield {name: f"{name}:search" for name in names}
    for name in [*names, "my_model"]:
        sys.modules.pop(name, None)


def table_in(url, monkeypatch, *, vectors):
    """Fill a table of documents, as the page adds to it; return what removes it."""
    database = WritableDatabase(url)
    kind = ", embedding vector(3)" if vectors else ""
    database.run(
        f"CREATE TABLE documents (id TEXT, corpus TEXT, title TEXT, text TEXT{kind})",
        "ALTER TABLE documents ADD words tsvector GENERATED ALWAYS AS "
        "(to_tsvector('english', coalesce(title, '') || ' ' || coalesce(text, ''))) STORED",
        "CREATE INDEX ON documents USING gin (words)",
    )
    for row in DOCUMENTS:
        names = ("id", "corpus", "title", "text", "vector")
        values = dict(zip(names, (*row[:4], str(row[4])), strict=True))
        more = ", CAST(:vector AS vector)" if vectors else ""
        given = values if vectors else {n: v for n, v in values.items() if n != "vector"}
        columns = "id, corpus, title, text" + (", embedding" if vectors else "")
        text = f"INSERT INTO documents ({columns}) VALUES (:id, :corpus, :title, :text{more})"
        database.run((text, [given]))
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    monkeypatch.setenv("LIBRARY_URL", plain)
    return lambda: database.run("DROP TABLE documents")


def asked(spec, query, corpus="law", k=10):
    documents, _ = read_answer(open_retriever(spec).search(query, corpus=corpus, k=k), None)
    return [each.doc for each in documents]


def closed(name):
    sys.modules[name].connection.close()


def test_full_text_on_a_real_server(modules, postgres_url, monkeypatch):
    drop = table_in(postgres_url, monkeypatch, vectors=False)
    try:
        spec = modules["my_words"]
        assert asked(spec, "encrypting") == ["d1", "d3"]
        assert asked(spec, "encrypting", corpus="faq") == ["d4"]
        assert asked(spec, "thirty or encryption", k=2) == ["d1", "d3"]
        assert asked(spec, "copies -encrypted") == ["d2"]
        assert asked(spec, "x'); DROP TABLE documents; --") == []
        closed("my_words")
    finally:
        drop()


def test_vectors_and_their_fusion_with_words_on_a_real_server(modules, vector_url, monkeypatch):
    drop = table_in(vector_url, monkeypatch, vectors=True)
    try:
        # d1 and d2 point the same way.
        assert asked(modules["my_vectors"], "backups") == ["d2", "d1", "d3"]
        assert asked(modules["my_vectors"], "backups", corpus="faq") == ["d4"]
        # Words find d1 alone, so that it has two rankings.
        assert asked(modules["my_hybrid"], "backups")[0] == "d1"
        assert len(list(sys.modules["my_vectors"].known._folder.rglob("*.npy"))) == 1
        closed("my_words")
        closed("my_vectors")
    finally:
        drop()


def test_a_matrix_in_memory(modules, tmp_path):
    (tmp_path / "ids.txt").write_text("d1\nd3\nd5\n")
    np.save(tmp_path / "vectors.npy", np.array([[1, 2, 3], [-1, 0, 1], [3, 2, 1]], dtype=float))
    assert asked(modules["my_matrix"], "backups", k=2) == ["d1", "d5"]
