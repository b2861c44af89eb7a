"""The search demo cut otherwise: shifted, wrapped anew, renamed, or some documents split."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_eval.demo import SearchDemo

Row = dict[str, Any]
Cut = Callable[[Row], list[Row]]


@dataclass(frozen=True)
class Recut:
    """A new corpus file and the folder of its sources."""

    corpus: Path
    sources: Path


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_rows(path: Path, rows: Iterable[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def recut(demo: SearchDemo, out: Path, cut: Cut, *, head: str = "", gap: str = "") -> Recut:
    """Write the demo's sources anew, with ``head`` first and ``gap`` before every document.

    ``cut`` returns the new documents of an old one. Where a text stands is found by building the
    source from its parts, so offsets are those of the file.
    """
    by_source: dict[str, list[Row]] = {}
    for row in rows_of(demo.corpus):
        by_source.setdefault(row["source"], []).append(row)
    new = []
    for source, rows in by_source.items():
        old, text, place = (demo.sources / source).read_text("utf-8"), head, 0
        for row in sorted(rows, key=lambda row: row["start"]):
            text += old[place : row["start"]] + gap
            for part in cut(row):
                start = len(text)
                text += part["text"]
                new.append({**part, "start": start, "end": len(text)})
                text += "\n"
            place = row["end"]
        path = out / "sources" / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + old[place:], encoding="utf-8")
    return Recut(write_rows(out / "corpus.jsonl", new), out / "sources")


def same(row: Row) -> list[Row]:
    return [row]


def renamed(row: Row) -> list[Row]:
    # The order of ids stays, by which ties are broken.
    return [{**row, "id": f"new-{row['id']}"}]


def wrapped(row: Row) -> list[Row]:
    return [{**row, "text": row["text"].replace(". ", ".\n")}]


def split(*ids: str) -> Cut:
    """Return a cut that halves the documents of these ids after a sentence."""

    def halves(row: Row) -> list[Row]:
        if row["id"] not in ids:
            return [row]
        sentences = row["text"].split(". ")
        assert len(sentences) > 1
        middle = len(sentences) // 2
        texts = ". ".join(sentences[:middle]) + ".", ". ".join(sentences[middle:])
        return [{**row, "id": f"{row['id']}/{n}", "text": text} for n, text in enumerate(texts)]

    return halves
