"""The functions that docs/retrievers.md shows for retrievers of LangChain and LlamaIndex."""

from __future__ import annotations

import re
import sys

import pytest

from retrieval_eval.search.ask import read_documents
from retrieval_eval.search.ask.retrievers import open_retriever

# Objects with the documented attributes alone, for neither library is a dependency of the tests.
ALIKE = {
    "my_chain": """
from types import SimpleNamespace as Of

class Retriever:
    def invoke(self, query):
        found = [Of(page_content=text, metadata={"doc": text}) for text in (query, "other", "x")]
        return found[: self.search_kwargs["k"]]

retriever = Retriever()
""",
    "my_index": """
from types import SimpleNamespace as Of

class Index:
    def as_retriever(self, similarity_top_k):
        self.k = similarity_top_k
        return self

    def retrieve(self, query):
        nodes = [Of(ref_doc_id=query, node_id="n1"), Of(ref_doc_id=None, node_id="other")]
        return [Of(node=node, score=0.5 - place) for place, node in enumerate(nodes)][: self.k]

index = Index()
""",
}


@pytest.mark.parametrize("module", ALIKE)
def test_the_documented_function_is_a_retriever(module, project, tmp_path, monkeypatch):
    page = (project / "docs" / "retrievers.md").read_text("utf-8")
    [code] = [b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if module in b]
    (tmp_path / f"{module}.py").write_text(ALIKE[module])
    (tmp_path / f"as_shown_{module}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        retriever = open_retriever(f"as_shown_{module}:search")
        found = read_documents(retriever.search("levy", corpus="any", k=2))
    finally:
        for name in (module, f"as_shown_{module}"):
            sys.modules.pop(name, None)
    assert len(found) == 2
    assert found[0].doc == "levy"
