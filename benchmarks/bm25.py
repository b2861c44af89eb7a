"""BM25 over a generated corpus of 120 words a document, beside bm25s alone.

Both read the same JSONL file, take words by the same rules, and weight as Lucene does in float64.
Ours checks every line of the file, knows the ids of all documents, keeps corpora apart, breaks ties
by id and fingerprints what it read; bm25s alone does none of that. Every round runs each in a
process of its own, one after the other.

    python benchmarks/ratios.py --only bm25
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from rounds import OURS, Row, compared

N_WORDS = 50_000
N_TERMS = 120
"""Words of a document, on average."""
K = 50
SIDES = (OURS, "bm25s")


def write_corpus(folder: Path, n_documents: int, n_queries: int) -> None:
    dice = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(dice.choices(letters, k=dice.randint(3, 10))) for _ in range(N_WORDS)]
    # Zipf's law: few words are frequent and most are rare.
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(N_WORDS)))
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for number in range(n_documents):
            text = dice.choices(words, cum_weights=weights, k=dice.randint(20, 2 * N_TERMS - 20))
            row = {"id": f"doc-{number}", "title": " ".join(text[:5]), "text": " ".join(text[5:])}
            file.write(json.dumps({**row, "corpus": "docs"}) + "\n")
    asked = [
        " ".join(dice.choices(words, cum_weights=weights, k=dice.randint(2, 8)))
        for _ in range(n_queries)
    ]
    (folder / "queries.json").write_text(json.dumps(asked), encoding="utf-8")


def ours(folder: Path) -> tuple[float, float, float]:
    from retrieval_eval.search.ask.retrievers.bm25 import Bm25Retriever
    from retrieval_eval.search.gold.corpus import read_corpus

    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    start = time.process_time()
    corpus = read_corpus(folder / "corpus.jsonl")
    read = time.process_time()
    retriever = Bm25Retriever(corpus)
    indexed = time.process_time()
    for query in queries:
        retriever.search(query, corpus="docs", k=K)
    return read - start, indexed - read, time.process_time() - indexed


def bm25s(folder: Path) -> tuple[float, float, float]:
    import bm25s as library

    from retrieval_eval.search.ask.retrievers.bm25 import tokenize

    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    start = time.process_time()
    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    read = time.process_time()
    terms: dict[str, int] = {}
    rows = [
        [terms.setdefault(term, len(terms)) for term in tokenize(f"{d['title']}\n{d['text']}")]
        for d in documents
    ]
    engine = library.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64", backend="numpy")
    engine.index((rows, terms), create_empty_token=False, show_progress=False)
    ids = [document["id"] for document in documents]
    indexed = time.process_time()
    for query in queries:
        known = [terms[term] for term in tokenize(query) if term in terms]
        places, scores = engine.retrieve(
            [known], k=K, show_progress=False, backend_selection="numpy"
        )
        [(ids[place], float(score)) for place, score in zip(places[0], scores[0], strict=True)]
    return read - start, indexed - read, time.process_time() - indexed


def measured(folder: Path, side: str) -> dict[str, float]:
    command = [sys.executable, __file__, str(folder), side]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    read, index, queries, peak = json.loads(done.stdout)
    both = "read and index"
    steps = {"read the file": read, "index": index, both: read + index, "queries": queries}
    return {**steps, "peak memory": peak}


def rows(*, is_quick: bool) -> Iterator[Row]:
    """Yield the comparisons."""
    n_documents, n_queries, n_rounds = (200, 5, 1) if is_quick else (50_000, 1_000, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, n_documents, n_queries)
        rounds = [{side: measured(folder, side) for side in SIDES} for _ in range(n_rounds)]
    size = f"{n_documents:,} documents, {n_queries:,} queries"
    for what in rounds[0][OURS]:
        times = {side: [one[side][what] for one in rounds] for side in SIDES}
        unit = "MB" if what == "peak memory" else "s"
        yield from compared(times, section="BM25", what=what, n=size, unit=unit)


def main() -> None:
    folder, side = Path(sys.argv[1]), sys.argv[2]
    seconds = ours(folder) if side == OURS else bm25s(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps([*seconds, peak]))


if __name__ == "__main__":
    main()
