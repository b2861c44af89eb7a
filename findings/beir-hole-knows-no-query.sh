#!/usr/bin/env bash
# BEIR's Hole@k is the share of returned documents that have no judgement, the number by which one
# decides whether a low nDCG can be believed. It asks whether a document is judged for any query at
# all: a run of which not one document was judged for its own query has Hole@k 0.0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile \
    pytrec-eval-terrier==0.5.11 tqdm==4.67.1 requests==2.32.5
"$work/venv/bin/pip" install -q --no-compile --no-deps beir==2.2.0
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from beir.retrieval.evaluation import EvaluateRetrieval

queries = ["q1", "q2", "q3", "q4"]
judged = {query: {f"{query}-right": 1, f"{query}-wrong": 0} for query in queries}
# each query is answered with the two documents that were judged for the next one
run = {
    query: {f"{other}-right": 2.0, f"{other}-wrong": 1.0}
    for query, other in zip(queries, queries[1:] + queries[:1])
}
for query, documents in run.items():
    assert not set(documents) & set(judged[query])
seen = EvaluateRetrieval().evaluate_custom(judged, run, [1, 2], metric="hole")
print("beir", version("beir"))
print("expected: Hole@1 and Hole@2 are 1.0: no returned document is judged for its query")
print("seen:    ", seen)
assert seen == {"Hole@1": 0.0, "Hole@2": 0.0}, "changed"
PY
cd "$work"
export HOME="$work"
timeout 100 unshare -rn venv/bin/python see.py
