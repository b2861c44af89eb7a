#!/usr/bin/env bash
# OpenLLMetry's instrumentation of Chroma records each hit of a query as an event of the span.
# OpenTelemetry keeps 128 events of a span and lets go of the oldest, and hits are recorded from the
# best to the worst. Of a query for 200 documents the trace has hits 73 to 200; of three queries of
# 60 asked together, the first has 8 hits left, its worst.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile \
    opentelemetry-instrumentation-chromadb==0.62.4 opentelemetry-sdk==1.45.2 chromadb==1.5.9
cat > "$work/see.py" <<'PY'
from importlib.metadata import version

import chromadb
from chromadb.config import Settings
from opentelemetry.instrumentation.chromadb import ChromaInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exported = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exported))
ChromaInstrumentor().instrument(tracer_provider=provider)
client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
documents = client.create_collection("documents", embedding_function=None)
count = 300
documents.add(
    ids=[f"d{number}" for number in range(count)],
    embeddings=[[float(number), 1.0] for number in range(count)],
)


def recorded(points, hits):
    exported.clear()
    answer = documents.query(query_embeddings=[[float(p), 1.0] for p in points], n_results=hits)
    (span,) = [s for s in exported.get_finished_spans() if s.name == "chroma.query"]
    names = [event.attributes.get("db.query.result.id") for event in span.events]
    return answer["ids"], names


for package in ("opentelemetry-instrumentation-chromadb", "opentelemetry-sdk", "chromadb"):
    print(package, version(package))
(returned,), names = recorded([0], 200)
print("expected: the trace has the 200 hits that were returned, or the best of them")
print(f"seen:     returned {returned[0]} .. {returned[-1]}, recorded {names[0]} .. {names[-1]}")
assert len(returned) == 200 and names == returned[72:], "changed"
returned, names = recorded([0, 100, 200], 60)
print(
    f"seen:     three queries of 60: returned {returned[0][0]}, {returned[1][0]}, ...;",
    f"recorded {len(names)} of 180, from hit {returned[0].index(names[0]) + 1} of the first",
)
assert names == sum(returned, [])[52:], "changed"
PY
cd "$work"
export HOME="$work" TRACELOOP_TELEMETRY=false ANONYMIZED_TELEMETRY=False
timeout 100 unshare -rn venv/bin/python see.py
