#!/usr/bin/env bash
# A saved usearch index keeps neither its search effort nor checks its metric. Index.restore()
# brings an index built for high recall back with the package's own effort, so the same file answers
# worse after a restart; and loaded into an index that was made for cosine, a file of squared
# distances says that it is a cosine index and goes on returning squared distances.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile usearch==2.26.6 numpy==2.4.6
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

import numpy
from usearch.index import Index

random = numpy.random.default_rng(1)
vectors = random.normal(size=(10_000, 64)).astype(numpy.float32)
queries = random.normal(size=(200, 64)).astype(numpy.float32)
squares = (queries**2).sum(1)[:, None] + (vectors**2).sum(1) - 2 * queries @ vectors.T
nearest = numpy.argsort(squares, axis=1)[:, :10]


def recall(index):
    found = index.search(queries, 10).keys
    return round(sum(len(set(a) & set(b)) for a, b in zip(found, nearest)) / nearest.size, 3)


built = Index(ndim=64, metric="l2sq", dtype="f32", expansion_search=512)
built.add(numpy.arange(len(vectors)), vectors, threads=1)
built.save("saved.usearch")
restored = Index.restore("saved.usearch")
print("usearch", version("usearch"))
print("expected: the restored index answers as the one that was saved")
seen = [(index.expansion_search, recall(index)) for index in (built, restored)]
print("seen:     (search effort, recall@10): built", seen[0], "restored", seen[1])
other = Index(ndim=64, metric="cos", dtype="f32")
other.load("saved.usearch")
first = other.search(queries[0], 1).distances[0]
print("expected: an error, or cosine distances (at most 2)")
print(f"seen:     {other.metric_kind}, first distance {first:.1f}")
assert seen[0][0] == 512 and seen[1][0] == 64, "changed"
assert seen[0][1] > 0.97 and seen[1][1] < seen[0][1] - 0.05, "changed"
assert other.metric_kind.name == "Cos" and first > 2, "changed"
PY
cd "$work"
export HOME="$work"
timeout 120 unshare -rn venv/bin/python see.py
