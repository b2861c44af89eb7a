#!/usr/bin/env bash
# In Milvus Lite, documents without a field pass the filter `lang not in ["en"]` and do not pass
# `lang != "en"` or `not (lang == "en")`. Two spellings of one filter thus search different
# documents, and each changes the recall of a filtered search in its own way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile pymilvus==3.0.2 milvus-lite==3.2.2
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

from pymilvus import MilvusClient

client = MilvusClient("data.db")
client.create_collection("documents", dimension=2, auto_id=False)
client.insert(
    "documents",
    [
        {"id": 0, "vector": [1.0, 0.0], "lang": "en"},
        {"id": 1, "vector": [1.0, 0.1], "lang": "de"},
        {"id": 2, "vector": [1.0, 0.2], "title": "of no language"},
    ],
)
seen = {}
for condition in ('lang != "en"', 'not (lang == "en")', 'lang not in ["en"]'):
    (hits,) = client.search("documents", data=[[1.0, 0.0]], filter=condition, limit=3)
    rows = client.query("documents", filter=condition)
    seen[condition] = sorted(hit["id"] for hit in hits)
    assert seen[condition] == sorted(row["id"] for row in rows), "changed"
print("milvus-lite", version("milvus-lite"), "pymilvus", version("pymilvus"))
print("documents: 0 is en, 1 is de, 2 has no lang")
print("expected:  the same documents from three spellings of one filter")
for condition, found in seen.items():
    print(f"seen:      {condition}: {found}")
assert list(seen.values()) == [[1], [1], [1, 2]], "changed"
client.close()
PY
cd "$work"
export HOME="$work"
timeout 100 unshare -rn sh -c "ip link set lo up && exec venv/bin/python see.py"
