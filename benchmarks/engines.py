"""Run the recipes of docs/engines.md with the vendors' clients, and measure what each engine does.

    python benchmarks/engines.py           # runs every recipe whose client is installed
    python benchmarks/engines.py --write   # and writes docs/engines.json and the table of the page

The corpus is made of the docstrings of the running Python's standard library: 3,000 passages, and
80 queries that are the first sentences of 80 of them, left out of the passage.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import sqlite3
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, DATA = DOCS / "engines.md", DOCS / "engines.json"
BEGIN, END = "<!-- measured -->", "<!-- end -->"

N_PASSAGES, N_QUERIES, DEPTH = 3_000, 80, 10
OPERATORS = ("", "the", "read AND file", "foo:bar", "-file", "C++", '"read file', "what is it?")
PACKAGES = {
    "my_fts5": ("SQLite FTS5", None),
    "my_sqlite_vec": ("sqlite-vec", "sqlite-vec"),
    "my_qdrant": ("Qdrant, local", "qdrant-client"),
    "my_chroma": ("Chroma", "chromadb"),
    "my_lancedb": ("LanceDB", "lancedb"),
    "my_milvus": ("Milvus Lite", "milvus-lite"),
    "my_tantivy": ("tantivy", "tantivy"),
    "my_faiss": ("faiss HNSW", "faiss-cpu"),
    "my_usearch": ("usearch", "usearch"),
    "my_hnswlib": ("hnswlib", "hnswlib"),
    "my_bm25s": ("bm25s", "bm25s"),
}
WORDS = frozenset({"my_fts5", "my_tantivy", "my_bm25s"})
"""Recipes that search words; the others search vectors."""

Search = Callable[[str, int], Sequence[tuple[str, float]]]


def recipes() -> dict[str, str]:
    """Return the Python blocks of the page, by the module that their first line names."""
    blocks = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return dict(blocks)


def passages() -> dict[str, str]:
    """Return docstrings of at least 18 words of the standard library, chosen by their digest."""
    found = {}
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith(("site-packages/", "test/", "idlelib/", "lib2to3/tests/")):
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                text = ast.get_docstring(node) or ""
                if len(text.split()) >= 18:
                    where = getattr(node, "name", "module")
                    found[f"{name}#{where}.{getattr(node, 'lineno', 0)}"] = text
    chosen = sorted(found, key=lambda name: sha256(name.encode()).digest())[:N_PASSAGES]
    return {name: found[name] for name in sorted(chosen)}


def corpus() -> tuple[dict[str, str], dict[str, str]]:
    """Return the passages, and the id of the passage that each query is the beginning of."""
    texts, queries = passages(), {}
    for name in sorted(texts, key=lambda name: sha256(f"q{name}".encode()).digest()):
        head, _, rest = texts[name].partition("\n\n")
        query = " ".join(head.split())
        if 4 <= len(query.split()) <= 20 and len(rest.split()) >= 20 and query not in queries:
            queries[query] = name
            texts[name] = rest
        if len(queries) == N_QUERIES:
            break
    return texts, queries


MY_CORPUS = """
import json
import numpy as np
from pathlib import Path

TEXTS = dict(json.loads(Path("texts.json").read_text("utf-8")))
IDS, TEXTS = list(TEXTS), list(TEXTS.values())
VECTORS = np.load("vectors.npy")
_QUERIES = json.loads(Path("queries.json").read_text("utf-8"))
_OF = dict(zip(_QUERIES, np.load("query_vectors.npy")))

def embed(text):
    return _OF[text]
"""


def prepare(folder: Path) -> dict[str, str]:
    """Write corpus, vectors and my_corpus.py into a folder, and return the queries."""
    import numpy as np
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts, queries = corpus()
    (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
    (folder / "queries.json").write_text(json.dumps([*queries]), "utf-8")
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    rows = words.fit_transform(texts.values())
    smaller = TruncatedSVD(64, random_state=0).fit(rows)
    for name, matrix in (("vectors", rows), ("query_vectors", words.transform(queries))):
        dense = normalize(smaller.transform(matrix)).astype(np.float32)
        np.save(folder / f"{name}.npy", dense)
    (folder / "my_corpus.py").write_text(MY_CORPUS, "utf-8")
    return queries


def opened(name: str, code: str) -> Search:
    """Return the function of a recipe, whose module is executed anew."""
    space: dict[str, Any] = {"__name__": name}
    exec(compile(code, f"{name}.py", "exec"), space)
    return lambda query, k: list(space["search"](query, corpus="default", k=k))


def measured(name: str, code: str, queries: dict[str, str], exact: dict[str, list[str]]) -> Any:
    """Return what a recipe's engine does on the corpus."""
    search = opened(name, code)
    first = {query: search(query, DEPTH) for query in queries}
    twice = sum(ids(search(query, DEPTH)) == ids(first[query]) for query in queries)
    again = opened(name, code)
    rebuilt = sum(ids(again(query, DEPTH)) == ids(first[query]) for query in queries)
    falling = sum(all(a[1] >= b[1] for a, b in pairwise(found)) for found in first.values())
    best = exact if name not in WORDS else {query: ids(found) for query, found in first.items()}
    kept = [
        len(set(best[query][:DEPTH]) & set(ids(found))) / DEPTH for query, found in first.items()
    ]
    label, package = PACKAGES[name]
    return {
        "engine": label,
        "version": importlib.metadata.version(package) if package else sqlite3.sqlite_version,
        "scores_fall": falling,
        "first_is_right": sum(ids(first[q])[:1] == [doc] for q, doc in queries.items()),
        "recall_of_exact": None if name in WORDS else round(sum(kept) / len(kept), 4),
        "same_twice": twice,
        "same_rebuilt": rebuilt,
        "of_5000": answered(search, next(iter(queries)), 5_000),
        "operators": {text: answered(search, text, DEPTH) for text in OPERATORS}
        if name in WORDS
        else None,
    }


def ids(found: Sequence[tuple[str, float]]) -> list[str]:
    """Return the documents of an answer."""
    return [doc for doc, _ in found]


def answered(search: Search, query: str, k: int) -> int | str:
    """Return how many documents came back, or the kind of error."""
    try:
        return len(search(query, k))
    except Exception as error:  # noqa: BLE001 - whatever a client raises
        return type(error).__name__


def exact_of(folder: Path, queries: dict[str, str]) -> dict[str, list[str]]:
    """Return the nearest documents of each query by comparing it with all."""
    import numpy as np

    names = list(json.loads((folder / "texts.json").read_text("utf-8")))
    rows, asked = (np.load(folder / f"{name}.npy") for name in ("vectors", "query_vectors"))
    order = np.argsort(-(asked @ rows.T), axis=1, kind="stable")[:, :DEPTH]
    return {q: [names[i] for i in row] for q, row in zip(queries, order.tolist(), strict=True)}


def table(document: dict[str, Any]) -> str:
    """Return the measured facts as a table of Markdown."""
    n = document["n_queries"]
    rows = [
        "| engine | version | right first | exact top 10 | twice | rebuilt | k = 5,000 |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in document["engines"]:
        kept = one["recall_of_exact"]
        cells = [
            one["engine"],
            one["version"],
            f"{one['first_is_right']} of {n}",
            "words" if kept is None else f"{kept:.1%}",
            *(f"{one[name]} of {n}" for name in ("same_twice", "same_rebuilt")),
            f"{one['of_5000']:,}" if isinstance(one["of_5000"], int) else f"`{one['of_5000']}`",
        ]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    shown = [f"`{text}`" if text else "nothing" for text in OPERATORS]
    rows += ["", f"| documents for | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
    for one in document["engines"]:
        if one["operators"] is not None:
            found = [one["operators"][text] for text in OPERATORS]
            cells = [f"`{value}`" if isinstance(value, str) else str(value) for value in found]
            rows.append(f"| {one['engine']} | {' | '.join(cells)} |")
    rows += ["", f"{document['n_passages']:,} passages, {n} queries, {document['date']}, Python"]
    rows[-1] += f" {document['python']}, 64 dimensions."
    return "\n".join(rows)


def main() -> int:
    """Run every recipe; return 1 where one failed."""
    found, failed = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queries = prepare(folder)
        sys.path.insert(0, name)
        import os

        os.chdir(folder)
        exact = exact_of(folder, queries)
        for module, code in recipes().items():
            try:
                found.append(measured(module, code, queries, exact))
                print(module, json.dumps(found[-1]), flush=True)
            except (ImportError, AttributeError) as error:
                print(f"{module}: skipped: {error}", flush=True)
            except Exception as error:  # noqa: BLE001 - whatever a client raises
                failed.append(module)
                print(f"{module}: FAILED: {type(error).__name__}: {error}", flush=True)
    wrong = [one["engine"] for one in found if one["scores_fall"] < N_QUERIES]
    if wrong:
        print(f"scores do not fall: {', '.join(wrong)}")
    if "--write" in sys.argv[1:]:
        document = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "python": ".".join(map(str, sys.version_info[:3])),
            "n_passages": N_PASSAGES,
            "n_queries": N_QUERIES,
            "engines": found,
        }
        DATA.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
        text = PAGE.read_text("utf-8")
        head, _, rest = text.partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n\n{table(document)}\n\n{END}{rest.partition(END)[2]}")
    return bool(failed or wrong)


if __name__ == "__main__":
    sys.exit(main())
