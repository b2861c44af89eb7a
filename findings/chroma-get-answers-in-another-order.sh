#!/usr/bin/env bash
# Chroma's get(ids=[...]) takes a list and returns lists, in the order of insertion and not in that
# of the list, and an unknown id is left out without a word. Vectors or texts put beside the ids
# that were asked for (a relevant document and its embedding, say) thus belong to other documents.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile chromadb==1.5.9
cat > "$work/see.py" <<'PY'
import chromadb
from chromadb.config import Settings

client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
texts = client.create_collection("texts", embedding_function=None)
names = ["a", "b", "c"]
texts.add(ids=names, documents=[f"text of {n}" for n in names], embeddings=[[1.0], [2.0], [3.0]])
asked = ["c", "missing", "a"]
got = texts.get(ids=asked)["documents"]
print("chromadb", chromadb.__version__)
print("asked:   ", asked)
print("expected: ['text of c', None, 'text of a'], or an error")
print("seen:    ", got)
assert got == ["text of a", "text of c"], "changed"
PY
cd "$work"
export HOME="$work" ANONYMIZED_TELEMETRY=False
timeout 100 unshare -rn venv/bin/python see.py
