"""The key to labelling sheets: which labeller, query and document an item stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.pool import KEY_VERSION
from retrieval_eval.io.named import named_json
from retrieval_eval.metrics.ranking.measures import MAX_GRADE

_ITEM: Final = ("labeller", "query", "doc", "shown")


def read_key(path: Path, marker: str = "pool_key") -> dict[str, Any]:
    """Return a key, whose ``items`` and ``max_grade`` are sound.

    Parameters
    ----------
    path
        The file.
    marker
        The member that says what kind of key it is; its value is the version.

    Raises
    ------
    BadInputError
        When the file cannot be read or is no such key.
    """
    value = named_json(path)
    if not isinstance(value, dict) or value.get(marker) != KEY_VERSION:
        raise BadInputError(f"{path}: not the key of these sheets; expected {marker} {KEY_VERSION}")
    items, max_grade = value.get("items"), value.get("max_grade")
    is_scale = type(max_grade) is int and 1 <= max_grade <= MAX_GRADE
    if not isinstance(items, dict) or not is_scale:
        raise BadInputError(f"{path}: expected 'items' and 'max_grade'; was the key edited?")
    for item, entry in items.items():
        if not isinstance(entry, dict) or not all(isinstance(entry.get(n), str) for n in _ITEM):
            raise BadInputError(f"{path}: /items/{item[:80]}: expected {', '.join(_ITEM)} as text")
    return value
