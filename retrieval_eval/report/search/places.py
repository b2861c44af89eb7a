"""Where single queries and documents are shown: pages beside the report, and places on them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

QUERIES_A_PAGE: Final = 200
DOCUMENTS_A_PAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Places:
    """Where a report shows its queries and documents; what is shown nowhere leads nowhere.

    ``queries`` and ``documents`` are ids to places relative to the report.
    """

    queries: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, queries: Iterable[str], documents: Iterable[str]) -> Places:
        """Return the places on as many pages as are needed."""
        return cls(
            dict(_placed("queries", "query", queries, QUERIES_A_PAGE)),
            dict(_placed("documents", "document", documents, DOCUMENTS_A_PAGE)),
        )

    def of_query(self, name: str) -> str:
        """Return where a query is shown; empty where it is not."""
        return self.queries.get(name, "")

    def of_document(self, name: object) -> str:
        """Return where the queries of a document are listed; empty where they are not."""
        return self.documents.get(name, "") if isinstance(name, str) else ""


def key(kind: str, name: str) -> str:
    """Return the id of a query's or document's place: safe in a page, and no two alike.

    Examples
    --------
    >>> key("query", 'g1"><script>')
    'query-g1-script-47a9fe17'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    words = re.sub(r"[^A-Za-z0-9]+", "-", name)[:32].strip("-").lower()
    return "-".join(filter(None, (kind, words, digest)))


def pages(kind: str, names: Sequence[str], size: int) -> list[tuple[str, Sequence[str]]]:
    """Return the files of the pages of one kind, each with the names on it."""
    starts = range(0, len(names), size)
    return [
        (f"{kind}{f'-{i}' if i > 1 else ''}.html", names[start : start + size])
        for i, start in enumerate(starts, start=1)
    ]


def _placed(kind: str, prefix: str, names: Iterable[str], size: int) -> Iterable[tuple[str, str]]:
    for file, own in pages(kind, list(dict.fromkeys(names)), size):
        for name in own:
            yield name, f"{file}#tbl-{key(prefix, name)}"
