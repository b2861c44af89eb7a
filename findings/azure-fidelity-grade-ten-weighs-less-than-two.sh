#!/usr/bin/env bash
# The DocumentRetrievalEvaluator of azure-ai-evaluation takes any range of integer grades. For its
# fidelity it sorts the grades as text, so that on a scale up to 10 the weights are dealt out in the
# order 1, 10, 2, 3 ...: the best document of the scale weighs less than one of grade 2. On a scale
# up to 9 the same metric is as one expects, and nDCG is right on both.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile azure-ai-evaluation==1.18.10
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from azure.ai.evaluation import DocumentRetrievalEvaluator


def fidelity(best, returned):
    evaluator = DocumentRetrievalEvaluator(ground_truth_label_min=0, ground_truth_label_max=best)
    result = evaluator(
        retrieval_ground_truth=[
            {"document_id": "best", "query_relevance_label": best},
            {"document_id": "weak", "query_relevance_label": 2},
        ],
        retrieved_documents=[{"document_id": returned, "relevance_score": 1.0}],
    )
    metrics = result["document_retrieval_properties"]
    return round(metrics["fidelity"], 3), round(metrics["ndcg@3"], 3)


print("azure-ai-evaluation", version("azure-ai-evaluation"))
print("two judged documents, one is returned; (fidelity, nDCG@3)")
print("expected: near 1 for the best, near 0 for the weak document, whatever the scale")
seen = {(best, name): fidelity(best, name) for best in (9, 10) for name in ("best", "weak")}
for (best, name), numbers in seen.items():
    print(f"seen:     grades 0 to {best}, {name} document returned: {numbers}")
assert seen[9, "best"][0] > 0.99 and seen[9, "weak"][0] < 0.01, "changed"
assert seen[10, "best"][0] == 0.318 and seen[10, "weak"][0] == 0.682, "changed"
assert seen[10, "best"][1] > 0.99 and seen[10, "weak"][1] < 0.01, "changed"
PY
cd "$work"
export HOME="$work"
timeout 100 unshare -rn venv/bin/python see.py 2> errors || { cat errors; exit 1; }
