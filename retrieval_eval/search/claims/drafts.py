"""Drafted answers, one a line, and the blocks that they were written from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import iter_jsonl
from retrieval_eval.search.gold.faults import kind, line_problem, pointer, unusable_part

_MOST_FAULTS: Final = 100
_LONGEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer that was drafted for one query.

    ``context`` are the document ids or texts it was written from, None when that is not known.
    ``refused`` drafts answer nothing and hold no claims.
    """

    id: str
    draft: str
    context: tuple[str, ...] | None = None
    refused: bool = False
    line: int = 0


def read_drafts(path: Path) -> tuple[Draft, ...]:
    """Return the drafts of a JSONL file, in its order.

    A line is an object with ``id`` (of the query), ``draft`` (text), perhaps ``context`` (a list
    of document ids or texts) and ``refused`` (true or false; its ``draft`` may be left out).
    Other keys are ignored.

    Raises
    ------
    BadInputError
        When the file cannot be read, holds no draft, or a line has a fault: broken JSON, a wrong
        type, or a query for the second time. The message names the first 100 faults by line.
    """
    real = Path(os.path.realpath(path))
    drafts: list[Draft] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    for line in iter_jsonl(real, real.parent):
        if line.problem is not None:
            faults.append(f"{path}: {line_problem(line.problem, real)}")
            continue
        found = _draft(line.value, line.number)
        if isinstance(found, Draft):
            first = seen.setdefault(found.id, line.number)
            if first == line.number:
                drafts.append(found)
                continue
            found = f"{pointer('id')}: the query {found.id[:80]!r} has a draft on line {first}"
        faults.append(f"{path}: line {line.number}: {found}")
    if faults:
        more = len(faults) - _MOST_FAULTS
        tail = [f"{path}: and {more} more faults"] if more > 0 else []
        raise BadInputError("\n".join([*faults[:_MOST_FAULTS], *tail]))
    if not drafts:
        raise BadInputError(f"{path}: holds no draft; expected one JSON object a line")
    return tuple(drafts)


def _draft(row: Any, line: int) -> Draft | str:
    if not isinstance(row, dict):
        return f"expected an object, found {kind(row)}"
    unusable = unusable_part(row)
    if unusable is not None:
        return unusable
    refused = row.get("refused", False)
    if not isinstance(refused, bool):
        return f"{pointer('refused')}: expected true or false, found {kind(refused)}"
    return _fault_of_text(row, needs_draft=not refused) or Draft(
        row["id"], row.get("draft") or "", _context(row), refused, line
    )


def _fault_of_text(row: Mapping[str, Any], *, needs_draft: bool) -> str | None:
    query, draft, context = row.get("id"), row.get("draft"), row.get("context")
    if not isinstance(query, str) or not query.strip():
        return f"{pointer('id')}: expected the id of a query, found {kind(query)}"
    if not isinstance(draft, str) and (needs_draft or draft is not None):
        return f"{pointer('draft')}: expected text, found {kind(draft)}"
    if needs_draft and isinstance(draft, str) and not draft.strip():
        return f'{pointer("draft")}: is empty; say "refused": true where nothing was answered'
    if isinstance(draft, str) and len(draft) > _LONGEST:
        return f"{pointer('draft')}: is longer than {_LONGEST} characters"
    if context is not None and not isinstance(context, list):
        return f"{pointer('context')}: expected a list of document ids or texts"
    for place, item in enumerate(context or ()):
        if not isinstance(item, str) or not item.strip():
            return (
                f"{pointer('context', place)}: expected a document id or text, found {kind(item)}"
            )
    return None


def _context(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    context = row.get("context")
    return None if context is None else tuple(context)
