"""The recipes of docs/engines.md: each whose client is installed is written as it stands there.

`make test-engines` installs all clients, runs all recipes and measures what they do.
"""

from __future__ import annotations

import json
import re
import sys

import pytest

from benchmarks import engines
from retrieval_eval.search.ask.retrievers import open_retriever

MY_CORPUS = """
import numpy as np

TEXTS = {"levy": "a betterment levy is due", "fee": "a fee for planning", "map": "C++ maps"}
IDS, TEXTS = list(TEXTS), list(TEXTS.values())
VECTORS = np.eye(4, dtype=np.float32)[:3]

def embed(text):
    return np.array([0.9, 0.4, 0.1, 0.0], np.float32)
"""


@pytest.mark.parametrize("name", engines.PACKAGES)
def test_a_recipe_is_a_retriever(name, tmp_path, monkeypatch):
    code = engines.recipes()[name]
    for module in re.findall(r"^(?:import|from) (\w+)", code, flags=re.MULTILINE):
        if module != "my_corpus":
            pytest.importorskip(module, reason=f"{module} is installed by make test-engines")
    (tmp_path / "my_corpus.py").write_text(MY_CORPUS)
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    try:
        retriever = open_retriever(f"{name}:search")
        found = [*retriever.search("betterment levy", corpus="default", k=3)]
        more = [len([*retriever.search(q, corpus="default", k=3)]) for q in engines.OPERATORS]
    finally:
        for module in (name, "my_corpus"):
            sys.modules.pop(module, None)
    assert found[0][0] == "levy"
    assert [score for _, score in found] == sorted((s for _, s in found), reverse=True)
    assert max(more) <= 3


def test_every_engine_has_its_recipe_and_the_table_is_that_of_the_data():
    assert list(engines.recipes()) == list(engines.PACKAGES)
    document = json.loads(engines.DATA.read_text("utf-8"))
    page = engines.PAGE.read_text("utf-8")
    assert len(document["engines"]) == len(engines.PACKAGES)
    shown = page.partition(engines.BEGIN)[2].partition(engines.END)[0]
    assert shown.strip() == engines.table(document)
