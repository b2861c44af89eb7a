"""What re-labelling writes: the new gold set, the queue, sheets for labellers, and the mapping."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.agreement import max_grade
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.pair_sheets import pair_sheets
from retrieval_eval.gold.pool import KEY_FILE
from retrieval_eval.gold.relabel import Relabelling
from retrieval_eval.gold.sheets import csv_sheet, jsonl_sheet
from retrieval_eval.gold.spans import Key
from retrieval_eval.gold.writing import gold_set_bytes
from retrieval_eval.io.files import json_bytes
from retrieval_eval.io.named import named_json

RELABEL: Final = "relabel"
"""The purpose of a key to the sheets of re-labelling, and what marks a mapping."""

MAPPING_FILE: Final = "relabel.json"
QUEUE_FILE: Final = "queue.jsonl"
VERSION: Final = 1


def relabel_files(
    found: Relabelling,
    gold: GoldSet,
    old: Corpus,
    new: Corpus,
    out: Path,
    *,
    labellers: Sequence[str] = (),
    seed: int = 0,
) -> dict[Path, bytes]:
    """Return the files of a re-labelling by path; what was read is never among them.

    The gold set keeps its file name. `queue.jsonl` names the pairs to grade with the grades they
    had, so it is not for labellers; each labeller gets a sheet, and `key.json` belongs to these.

    Raises
    ------
    BadInputError
        When ``out`` is the folder of the gold set that was read, or a labeller cannot name a file.
    """
    target = out / (gold.path.name if gold.path else "gold-set.jsonl")
    if gold.path is not None and os.path.realpath(target) == os.path.realpath(gold.path):
        raise BadInputError(f"{target}: is the gold set that was read; name another folder")
    files = {
        target: gold_set_bytes(target, found.gold.queries, max_grade=max_grade(gold)),
        out / MAPPING_FILE: json_bytes(_mapping(found, gold, old, new), indent=1),
        out / QUEUE_FILE: _queue(found),
    }
    if labellers and found.queue:
        docs: dict[str, list[str]] = {}
        for one in found.queue:
            docs.setdefault(one.query, []).append(one.doc)
        pool = pair_sheets(found.gold, new, docs, labellers, purpose=RELABEL, seed=seed)
        for labeller, items in pool.sheets.items():
            files[out / f"sheet-{labeller}.csv"] = csv_sheet(items)
            files[out / f"sheet-{labeller}.jsonl"] = jsonl_sheet(items)
        files[out / KEY_FILE] = json_bytes(dict(pool.key), indent=1)
    return files


def read_mapping(path: Path, gold: GoldSet | None = None) -> dict[Key, tuple[str, ...]]:
    """Return old document to new documents from the file that re-labelling wrote.

    Documents that kept text and id are not in it.

    Parameters
    ----------
    path
        The file.
    gold
        The gold set that was re-labelled, to be sure that it was this one.

    Raises
    ------
    BadInputError
        When the file cannot be read, is no such mapping, or is that of another gold set; the
        message names the place.
    """
    value = named_json(path)
    if not isinstance(value, dict) or value.get(RELABEL) != VERSION:
        raise BadInputError(f"{path}: not what `gold relabel` wrote; expected {RELABEL} {VERSION}")
    made_from = value["gold"].get("old") if isinstance(value.get("gold"), dict) else None
    if gold is not None and made_from != gold.fingerprint:
        raise BadInputError(
            f"{path}: /gold/old: the labels of another gold set were moved"
            f" ({str(made_from)[:12]}, here {gold.fingerprint[:12]})"
        )
    documents = value.get("documents")
    if not isinstance(documents, list):
        raise BadInputError(f"{path}: /documents: expected a list")
    mapping: dict[Key, tuple[str, ...]] = {}
    for place, one in enumerate(documents):
        if not _is_entry(one):
            raise BadInputError(
                f"{path}: /documents/{place}: expected corpus, old and new (a list of ids)"
            )
        mapping[one["corpus"], one["old"]] = tuple(one["new"])
    return mapping


def _is_entry(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("corpus"), str)
        and isinstance(one.get("old"), str)
        and isinstance(one.get("new"), list)
        and all(isinstance(doc, str) for doc in one["new"])
    )


def _mapping(found: Relabelling, gold: GoldSet, old: Corpus, new: Corpus) -> dict[str, Any]:
    return {
        RELABEL: VERSION,
        "gold": {"old": gold.fingerprint, "new": found.gold.fingerprint},
        "corpus": {"old": old.fingerprint, "new": new.fingerprint},
        **found.to_json(),
        "documents": [
            {"corpus": corpus, "old": doc, "new": list(docs)}
            for (corpus, doc), docs in sorted(found.documents.items())
        ],
    }


def _queue(found: Relabelling) -> bytes:
    texts: Mapping[str, str] = {query.id: query.query for query in found.gold.queries}
    rows = (
        {
            "query": one.query,
            "text": texts[one.query],
            "corpus": one.corpus,
            "doc": one.doc,
            "from": [{"doc": p.doc, "grade": p.grade, "reason": p.reason} for p in one.parts],
        }
        for one in found.queue
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")
