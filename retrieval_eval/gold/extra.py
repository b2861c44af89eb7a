"""Fields of a gold row that are not ours: changing one without losing how the row was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retrieval_eval.gold.model import GoldQuery
from retrieval_eval.gold.rows import Kept


def with_extra(query: GoldQuery, fields: Mapping[str, Any]) -> GoldQuery:
    """Return a query with some of its foreign fields set; the others stay."""
    kept = query.extra if isinstance(query.extra, Kept) else Kept()
    extra = {**query.extra, **fields}
    return replace(query, extra=Kept(extra.items(), kept.text, kept.fields))


def records(query: GoldQuery, name: str) -> list[dict[str, Any]]:
    """Return the objects in a foreign field that holds a list, none where it holds none.

    Examples
    --------
    >>> records(GoldQuery("q", "fees", "law", extra={"seen": [{"doc": "d"}, 7]}), "seen")
    [{'doc': 'd'}]
    """
    value = query.extra.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
