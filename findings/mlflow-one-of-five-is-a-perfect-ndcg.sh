#!/usr/bin/env bash
# MLflow's ndcg_at_k compares a ranking with the best ranking of the same length, and every copy of
# a relevant document counts as one more relevant document. A retriever that finds one of five
# relevant documents and stops has nDCG@5 1.0, as has one that returns that document five times;
# with four wrong documents behind it, the same find is worth 0.34.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile mlflow-skinny==3.17.2 pandas==3.1.1 scikit-learn==1.9.1
cat > "$work/see.py" <<'PY'
import mlflow
import pandas
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

relevant = ["a", "b", "c", "d", "e"]
rankings = {
    "all five": relevant,
    "one and no more": ["a"],
    "one, five times": ["a"] * 5,
    "one, four wrong": ["a", "v", "w", "x", "y"],
}
returned = pandas.Series(list(rankings.values()))
truth = pandas.Series([relevant] * len(rankings))
print("mlflow", mlflow.__version__)
print("expected: nDCG@5 is 1.0 for 'all five' only, about 0.34 for the others")
seen = {}
for metric in (ndcg_at_k(5), precision_at_k(5), recall_at_k(5)):
    scores = [round(float(score), 2) for score in metric.eval_fn(returned, truth).scores]
    seen[metric.name] = scores
    print("seen:    ", metric.name, dict(zip(rankings, scores)))
assert seen["ndcg_at_5"] == [1.0, 1.0, 1.0, 0.34], "changed"
assert seen["recall_at_5"] == [1.0, 0.2, 0.2, 0.2], "changed"
PY
cd "$work"
export HOME="$work" MLFLOW_DISABLE_TELEMETRY=true PYTHONWARNINGS=ignore PYTHONWARNINGS=ignore
timeout 100 unshare -rn venv/bin/python see.py
