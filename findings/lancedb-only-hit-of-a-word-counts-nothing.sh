#!/usr/bin/env bash
# LanceDB's hybrid search brings both scores to 0..1 by their smallest and largest value before
# LinearCombinationReranker weighs them. If one document alone has the word, its text score is
# smallest and largest, and becomes 0: with 90 % of the weight on the text, the only document with
# the error code that was asked for comes last, with relevance 0. A second hit puts it first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile lancedb==0.40.0
cat > "$work/see.py" <<'PY'
import warnings

import lancedb
from lancedb.rerankers import LinearCombinationReranker

warnings.simplefilter("ignore")
database = lancedb.connect("data")
vectors = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.3], [0.5, 0.5], [0.0, 1.0]]


def ranking(texts):
    rows = [{"text": text, "vector": vector} for text, vector in zip(texts, vectors)]
    table = database.create_table("texts", rows, mode="overwrite")
    table.create_fts_index("text")
    query = table.search(query_type="hybrid").vector(vectors[0]).text("E1234")
    found = query.rerank(LinearCombinationReranker(weight=0.1)).limit(5).to_list()
    return [(row["text"], round(row["_relevance_score"], 2)) for row in found]


one = ranking(["apples", "pears", "plums", "grapes", "error E1234"])
two = ranking(["apples", "pears", "plums", "grapes and E1234 and much else", "error E1234"])
print("lancedb", lancedb.__version__)
print("expected: 'error E1234' is first for the text E1234 with 90 % of the weight on the text")
print("seen:     one document has the word: ", one)
print("seen:     two documents have the word:", two)
assert one[-1] == ("error E1234", 0.0), "changed"
assert two[0] == ("error E1234", 0.9), "changed"
PY
cd "$work"
export HOME="$work"
timeout 100 unshare -rn venv/bin/python see.py 2> errors || { cat errors; exit 1; }
