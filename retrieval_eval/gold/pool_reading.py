"""Filled-in labelling sheets: from grades beside opaque items to labels in gold rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.model import GoldQuery, GoldSet, Label
from retrieval_eval.gold.pool_key import read_key
from retrieval_eval.gold.rows import Kept
from retrieval_eval.gold.sheets import Answer, read_sheet

COMMENTS: Final = "label_comments"
"""The field of a gold row that keeps what labellers wrote beside their grades."""


@dataclass(frozen=True, slots=True)
class PoolReading:
    """Gold rows with the labels that came back, in the order they had.

    Of the ``n_items`` of the sheets ``n_graded`` have a grade: ``n_added`` labels are new,
    ``n_changed`` replace another grade of the same labeller, the rest was known. ``n_absent``
    items of the key are in no sheet. ``promoted`` are the ids of rows that were ``bootstrap``
    and are now ``chair``, for the next bootstrap would have dropped the labels.
    """

    queries: tuple[GoldQuery, ...]
    n_items: int
    n_graded: int
    n_added: int
    n_changed: int
    n_comments: int
    n_absent: int
    promoted: tuple[str, ...]


def read_pool(gold: GoldSet, sheets: Sequence[Path], key: Path) -> PoolReading:
    """Put the grades of filled-in sheets into gold rows, as ``labels``.

    ``relevant`` stays as it is: what is settled from the labels is a decision of its own. An item
    without a grade stays unlabelled; a label that a row has from before is kept unless the same
    labeller gives the document another grade now. Comments go to the field
    :data:`COMMENTS`. Reading the same sheets again changes nothing.

    Raises
    ------
    BadInputError
        With every fault by file and line: a grade off the scale, an unknown item, an item for
        the second time, text that was edited, or a query that the gold set no longer has.
    """
    known_items = read_key(key)
    items, max_grade = known_items["items"], known_items["max_grade"]
    shown = {item: entry["shown"] for item, entry in items.items()}
    answers: list[Answer] = []
    faults: list[str] = []
    for path in sheets:
        found, problems = read_sheet(path, shown, max_grade=max_grade)
        answers += found
        faults += problems
    faults += _repeated(answers)
    known = {query.id for query in gold.queries}
    for answer in answers:
        query = items[answer.item]["query"]
        if query not in known:
            faults.append(f"{answer.where}: the query {query!r} is not in the gold set any more")
    if faults:
        raise BadInputError("\n".join(faults))
    return _merged(gold, answers, items)


def _repeated(answers: Iterable[Answer]) -> list[str]:
    first: dict[str, str] = {}
    faults = []
    for answer in answers:
        if answer.item in first:
            faults.append(
                f"{answer.where}: the item {answer.item} is a second time, first"
                f" {first[answer.item]}; keep one of them"
            )
        first.setdefault(answer.item, answer.where)
    return faults


def _merged(
    gold: GoldSet, answers: Sequence[Answer], items: Mapping[str, Mapping[str, str]]
) -> PoolReading:
    per_query: dict[str, list[Answer]] = {}
    for answer in answers:
        per_query.setdefault(items[answer.item]["query"], []).append(answer)
    queries, promoted = [], []
    n_added = n_changed = 0
    for query in gold.queries:
        grades = {
            (items[a.item]["labeller"], items[a.item]["doc"]): a.grade
            for a in per_query.get(query.id, ())
            if a.grade is not None
        }
        before = {(label.labeller, label.doc): label.grade for label in query.labels}
        n_added += sum(pair not in before for pair in grades)
        n_changed += sum(before.get(pair, grade) != grade for pair, grade in grades.items())
        comments = _comments(query, per_query.get(query.id, ()), items)
        if grades and query.source != "chair":
            promoted.append(query.id)
        queries.append(_with(query, grades, before, comments))
    return PoolReading(
        tuple(queries),
        n_items=len(answers),
        n_graded=sum(answer.grade is not None for answer in answers),
        n_added=n_added,
        n_changed=n_changed,
        n_comments=sum(bool(answer.comment) for answer in answers),
        n_absent=len(items) - len(answers),
        promoted=tuple(promoted),
    )


def _with(
    query: GoldQuery,
    grades: Mapping[tuple[str, str], int],
    before: Mapping[tuple[str, str], int],
    comments: list[Any] | None,
) -> GoldQuery:
    if grades:
        both = {**before, **dict(sorted(grades.items()))}
        labels = tuple(Label(*pair, grade) for pair, grade in both.items())
        query = replace(query, labels=labels, source="chair")
    if comments is not None:
        extra = {**query.extra, COMMENTS: comments}
        kept = query.extra if isinstance(query.extra, Kept) else Kept()
        query = replace(query, extra=Kept(extra.items(), kept.text, kept.fields))
    return query


def _comments(
    query: GoldQuery, answers: Iterable[Answer], items: Mapping[str, Mapping[str, str]]
) -> list[Any] | None:
    """Return the comments of a row with the new ones, or None when there is none to add."""
    new = {
        (items[a.item]["labeller"], items[a.item]["doc"]): a.comment for a in answers if a.comment
    }
    if not new:
        return None
    old = query.extra.get(COMMENTS, [])
    others = [one for one in old if not _is_replaced(one, new)] if isinstance(old, list) else []
    return others + [
        {"labeller": labeller, "doc": doc, "comment": comment}
        for (labeller, doc), comment in sorted(new.items())
    ]


def _is_replaced(one: Any, new: Mapping[tuple[str, str], str]) -> bool:
    return isinstance(one, dict) and (one.get("labeller"), one.get("doc")) in new
