#!/usr/bin/env bash
# LangChain's EnsembleRetriever joins the rankings of several retrievers by reciprocal rank. It
# knows a document by its text alone, not by its id or source, and adds up every place where that
# text occurs, also within one ranking. A licence header that lies in three files thus passes the
# answer that both retrievers put first, and two of the three files are gone from the result.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile langchain-classic==1.0.8 langchain-core==1.8.3
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Ranking(BaseRetriever):
    documents: list

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


def document(name, text):
    return Document(id=name, page_content=text, metadata={"source": name})


def header(name):
    return document(name, "Copyright notice")


answer = document("answer.md", "the answer")
rankings = [
    Ranking(documents=[answer, header("a.py"), header("b.py"), header("c.py")]),
    Ranking(documents=[answer, header("c.py"), header("b.py"), header("a.py")]),
]
fused = EnsembleRetriever(retrievers=rankings, weights=[0.5, 0.5])
seen = [found.id for found in fused.invoke("question")]
print("langchain-classic", version("langchain-classic"))
print("expected: answer.md first, as in both rankings; then a.py, b.py, c.py")
print("seen:    ", seen)
assert seen == ["a.py", "answer.md"], "changed"
PY
cd "$work"
export HOME="$work" LANGSMITH_TRACING=false
timeout 100 unshare -rn venv/bin/python see.py
