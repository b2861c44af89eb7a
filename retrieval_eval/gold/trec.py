"""Gold sets and runs as TREC files: qrels, topics as TSV, and runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.exchange import Imported, judged_queries, losses, refuse_ids
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.rows import DEFAULT_CORPUS
from retrieval_eval.io.named import named_text
from retrieval_eval.io.together import write_together
from retrieval_eval.values import counted

QRELS_FILE: Final = "qrels.txt"
TOPICS_FILE: Final = "topics.tsv"
RUN_FILE: Final = "run.txt"

_FORM: Final = "a TREC file"
# Fields end at white space; a byte-order mark at the start of a file is no part of an id.
_BREAKS_A_FIELD: Final = re.compile("[\\s\\x00-\\x20\ud800-\udfff]|^\ufeff")
_BREAKS_A_LINE: Final = re.compile(r"[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def export_trec(gold: GoldSet, folder: Path, *, run: bytes | None = None) -> list[str]:
    """Write ``qrels.txt`` and ``topics.tsv`` (id, tab, query) and return what they do not hold.

    With the bytes of a ``run`` (see :func:`run_bytes`) there is a ``run.txt`` too.

    Raises
    ------
    BadInputError
        When an id of a query or document holds white space; nothing is written then.
    """
    refuse_ids(gold, _FORM, _BREAKS_A_FIELD.search, "white space or control characters")
    qrels = [
        f"{query.id} 0 {doc} {grade}\n"
        for query in gold.queries
        for doc, grade in query.relevant.items()
    ]
    topics = [f"{query.id}\t{_BREAKS_A_LINE.sub(' ', query.query)}\n" for query in gold.queries]
    files = {QRELS_FILE: "".join(qrels).encode(), TOPICS_FILE: "".join(topics).encode()}
    if run is not None:
        files[RUN_FILE] = run
    write_together({folder / name: data for name, data in files.items()})
    found = losses(gold, _FORM)
    n_broken = sum(bool(_BREAKS_A_LINE.search(query.query)) for query in gold.queries)
    if n_broken:
        found.append(f"tabs and line breaks in {counted(n_broken, 'query')}: they became spaces")
    return found


def import_trec(qrels: Path, topics: Path, *, corpus: str = DEFAULT_CORPUS) -> Imported:
    """Return the queries of a topics file (TSV: id, tab, text) with the grades of a qrels file.

    All rows are of the source ``chair``, so that no bootstrap drops them. Grades below 0 become
    0. A topic without judgements becomes a query of which nothing is known.

    Raises
    ------
    BadInputError
        When a file cannot be read, has a broken line, or judges a query that has no topic.
    """
    from retrieval_eval.metrics.ranking.judgements import Judgements
    from retrieval_eval.metrics.ranking.trec import read_trec

    texts = _topics(topics)
    judged = Judgements.from_table(read_trec(qrels, "qrels")).by_query()
    queries, notes = judged_queries(str(topics), texts, judged, corpus)
    return Imported(queries, tuple(notes))


def run_bytes(doc: Mapping[str, Any], tag: str) -> tuple[bytes, list[str]]:
    """Return the rankings of a search run document as a TREC run, and what that does not hold.

    Parameters
    ----------
    doc
        A search run document; of its ``queries`` only ``id``, ``status`` and ``ranking`` are read.
    tag
        The name of the run, without white space.

    Raises
    ------
    BadInputError
        When an id or the tag holds white space, or the document has not the shape of a search run.
    """
    if not tag or _BREAKS_A_FIELD.search(tag):
        raise BadInputError(f"the tag {tag[:80]!r}: expected a word without white space")
    queries = doc.get("queries")
    if not isinstance(queries, list):
        raise BadInputError("/queries: expected the list of queries of a search run")
    lines: list[str] = []
    n_failed = n_empty = n_reordered = 0
    for place, query in enumerate(queries):
        name, ranking = _ranking(query, f"/queries/{place}")
        n_failed += query.get("status") == "failed"
        n_empty += not ranking and query.get("status") != "failed"
        n_reordered += ranking != sorted(ranking, key=lambda pair: pair[::-1], reverse=True)
        lines += [
            f"{name} Q0 {key} {rank} {score!r} {tag}\n"
            for rank, (key, score) in enumerate(ranking, start=1)
        ]
    found = ["everything but documents and scores: settings, versions, metrics, grades"]
    if n_failed:
        found.append(f"that {counted(n_failed, 'query')} failed: they have no line")
    if n_empty:
        found.append(f"that {counted(n_empty, 'query')} found nothing: they have no line")
    if n_reordered:
        found.append(
            f"the order of {counted(n_reordered, 'ranking')}: readers order by score, then by id"
        )
    return "".join(lines).encode(), found


def _topics(path: Path) -> dict[str, str]:
    text = named_text(path)
    if text.lstrip().lower().startswith("<top"):
        raise BadInputError(
            f"{path}: SGML topics; expected a query a line: its id, a tab, its text"
        )
    found: dict[str, str] = {}
    faults: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        key, _, query = line.removesuffix("\r").partition("\t")
        key = key.strip()
        if not (key and query.strip()):
            faults.append(f"{path}: line {number}: expected an id, a tab and the query")
        elif key in found:
            faults.append(f"{path}: line {number}: the id {key[:80]!r} for the second time")
        else:
            found[key] = query
    if faults:
        raise BadInputError("\n".join(faults))
    return found


def _ranking(query: Any, where: str) -> tuple[str, list[tuple[str, float]]]:
    """Return a query's id and its (document, score) pairs."""
    if not isinstance(query, dict) or not isinstance(query.get("ranking"), list):
        raise BadInputError(f"{where}: expected a query with 'id' and 'ranking'")
    name = _field(query.get("id"), f"{where}/id")
    found = []
    for place, item in enumerate(query["ranking"]):
        spot = f"{where}/ranking/{place}"
        if not isinstance(item, dict):
            raise BadInputError(f"{spot}: expected an object with 'doc' and 'score'")
        found.append((_field(item.get("doc"), f"{spot}/doc"), _score(item.get("score"), spot)))
    return name, found


def _score(value: Any, where: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:
        raise BadInputError(f"{where}/score: expected a number; a run is ordered by scores")
    return float(value)


def _field(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value or _BREAKS_A_FIELD.search(value):
        raise BadInputError(f"{where}: {str(value)[:80]!r} is no id without white space")
    return value
