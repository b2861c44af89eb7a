"""What docs/retrievers.md shows works, and its tables name every option."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from retrieval_eval.search.ask import PROBLEMS
from retrieval_eval.search.ask.query_vectors import OPTIONS as VECTOR_OPTIONS
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.ask.retrievers.bm25 import Bm25Settings
from retrieval_eval.search.ask.retrievers.http import SHAPES, HttpSettings


@pytest.fixture(scope="module")
def page(project):
    return (project / "docs" / "retrievers.md").read_text("utf-8")


def section(page, title):
    parts = re.split(r"^##+ ", page, flags=re.MULTILINE)
    [found] = [part for part in parts if part.startswith(title)]
    return found


def rows(text):
    """First and second cell of every table row."""
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([^`]+)`", row[0]), row[1].strip()) for row in cells]


def test_the_class_shown_is_a_retriever(page, tmp_path, monkeypatch):
    [code] = [
        code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "Titles" in code
    ]
    (tmp_path / "titles_as_shown.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    retriever = open_retriever("titles_as_shown:Titles")
    assert retriever.search("betterment levy", corpus="default", k=2) == [("levy", 2)]


def test_the_ranked_file_shown_can_be_read(page, tmp_path):
    [lines] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (tmp_path / "run.jsonl").write_text(lines, encoding="utf-8")
    retriever = open_retriever(f"run:{tmp_path / 'run.jsonl'}")
    assert [d.doc for d in retriever.search("betterment levy", corpus="any", k=9)] == [
        "doc-9",
        "doc-2",
    ]


def test_every_problem_is_explained(page):
    text = section(page, "What may be returned, and what becomes of it")
    assert [name for [name], _ in rows(text)] == list(PROBLEMS)


@pytest.mark.parametrize(
    ("title", "settings"),
    [
        ("An HTTP endpoint", HttpSettings("http://x")),
        ("BM25: `bm25:corpus.jsonl`", Bm25Settings()),
    ],
)
def test_every_option_stands_there_with_its_default(page, title, settings):
    stated = {}
    for names, default in rows(section(page, title)):
        values = default.replace("`", "").replace(",000", "000").split(", ")
        values = values * len(names) if len(values) == 1 else values
        stated.update(zip(names, values, strict=True))
    special = {"bearer_env": "", "header.NAME": "", "header_env.NAME": ""}
    expected = {
        each.name: getattr(settings, each.name)
        for each in fields(settings)
        if each.name not in ("url", "headers", "secrets")
    }
    if title == "An HTTP endpoint":
        expected |= special
    assert stated.keys() == expected.keys()
    for name, value in expected.items():
        is_number = isinstance(value, int | float)
        assert (float(stated[name]) if is_number else stated[name]) == value


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Query vectors", VECTOR_OPTIONS),
    ],
)
def test_every_option_of_vectors_and_fusion_is_named(page, title, names):
    assert [name for found, _ in rows(section(page, title)) for name in found] == list(names)


def test_every_shape_is_named(page):
    text = section(page, "Servers with a documented form")
    assert {name for names, _ in rows(text) for name in names} == SHAPES.keys()
