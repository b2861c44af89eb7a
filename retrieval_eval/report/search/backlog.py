"""The review backlog of a report: counted now, or read back from a count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.backlog import STATUSES, read_backlog
from retrieval_eval.io.files import read_json
from retrieval_eval.model import to_builtins
from retrieval_eval.report.search.reading import coerce

PARTS: Final = (*STATUSES, "other")


def load_backlog(source: str) -> Mapping[str, Any]:
    """Return the counts of a review queue.

    Parameters
    ----------
    source
        A database URL or JSONL file of items, which are counted, or a ``.json`` file that holds
        what ``retrieval-eval gold backlog --json`` printed.

    Raises
    ------
    BadInputError
        When the source cannot be read, or the counts of a file do not sum to its total.
    """
    if "://" in source or not source.endswith(".json"):
        return to_builtins(read_backlog(source))
    path = Path(source)
    found = read_json(path, path.parent)
    if found.problem is not None:
        raise BadInputError(found.problem)
    return _checked(found.value, path.name)


def _checked(block: Any, name: str) -> Mapping[str, Any]:
    wanted = (*PARTS, "total")
    counts = {
        key: coerce(block.get(key), "integer") if isinstance(block, Mapping) else None
        for key in wanted
    }
    absent = [key for key, n in counts.items() if n is None or n < 0]
    if absent:
        raise BadInputError(
            f"{name}: /{absent[0]}: expected a count; `retrieval-eval gold backlog --json` "
            "writes such a file"
        )
    if sum(counts[key] or 0 for key in PARTS) != counts["total"]:
        raise BadInputError(f"{name}: /total: the counts by status do not sum to it")
    return dict(block)
