"""Drafted answers to the demo's questions, with what is wrong with them planted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.simulators.dice import Dice
from tests.simulators.search.claims import claim_tables, stated
from tests.simulators.search.documents import compose
from tests.simulators.search.model import SEED, PlantedDocument, PlantedQuery
from tests.simulators.search.questions import ask
from tests.simulators.search.texts import families

KINDS: Final = ("grounded", "partial", "fabricated_number", "off_gold")
OPENING: Final = "Thank you for your question."
CLOSING: Final = "Please contact us if anything is unclear."
REFUSED: Final = 0.8
"""The share of unanswerable questions that the drafts refuse."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_NUMBER: Final = re.compile(r"(?<![\w.-])\d+(?![\w-]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class PlantedDraft:
    """A draft and what was planted in it.

    ``kind`` is one of :data:`KINDS`, or ``refused`` or ``answered``, which are drafts for
    questions that no document answers. ``grounded`` and ``ungrounded`` are the sentences that
    documents labelled relevant state, and those that none of them does. ``context`` are the
    documents that the draft was written from.
    """

    query: str
    kind: str
    draft: str
    context: tuple[str, ...]
    grounded: tuple[str, ...] = ()
    ungrounded: tuple[str, ...] = ()


def planted_drafts(seed: int = SEED) -> tuple[PlantedDraft, ...]:
    """Return a draft for most questions of the demo of the same seed, in the order of their ids.

    Left out are some questions whose documents hold no number that could be fabricated.
    """
    dice = Dice(seed, "search")
    documents = compose(dice.scoped("text")).documents
    by_id = {document.id: document for document in documents}
    queries = sorted(ask(documents, dice.scoped("queries")), key=lambda query: query.id)
    own = dice.scoped("drafts")
    drafts = []
    for number, query in enumerate(query for query in queries if query.answerable):
        draft = _answer(query, KINDS[number % len(KINDS)], by_id, own.scoped(query.id))
        drafts += [draft] if draft is not None else []
    for query in queries:
        if not query.answerable:
            drafts.append(_unanswerable(query, by_id, own.scoped(query.id)))
    return tuple(sorted(drafts, key=lambda draft: draft.query))


def draft_rows(drafts: Iterable[PlantedDraft]) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``drafts.jsonl``, which do not say what was planted."""
    for draft in drafts:
        yield {
            "id": draft.query,
            "draft": draft.draft,
            "context": list(draft.context),
            **({"refused": True} if draft.kind == "refused" else {}),
        }


def _answer(
    query: PlantedQuery, kind: str, by_id: Mapping[str, PlantedDocument], dice: Dice
) -> PlantedDraft | None:
    best = max(query.grades.values())
    gold = [by_id[doc] for doc, grade in sorted(query.grades.items()) if grade == best]
    other = _off_gold(query, by_id, dice)
    source = dice.choice(gold, "source")
    true = _said(source, dice)
    if kind == "grounded":
        return _draft(query, kind, [source], grounded=true)
    if kind == "partial":
        return _draft(
            query, kind, [source, other], grounded=true[:1], ungrounded=_said(other, dice)[:1]
        )
    if kind == "off_gold":
        return _draft(query, kind, [other], ungrounded=_said(other, dice))
    changed = [_with_other_number(text) for text in _sentences(source)]
    wrong = [text for text in changed if text is not None][:1]
    return _draft(query, kind, [source], grounded=true[:1], ungrounded=wrong) if wrong else None


def _unanswerable(
    query: PlantedQuery, by_id: Mapping[str, PlantedDocument], dice: Dice
) -> PlantedDraft:
    documents = [by_id[doc] for doc in sorted(query.grades)]
    if dice.chance(REFUSED, "refused") or not documents:
        return PlantedDraft(query.id, "refused", "", tuple(d.id for d in documents))
    other = dice.choice(documents, "source")
    return _draft(query, "answered", [other], ungrounded=_said(other, dice))


def _draft(
    query: PlantedQuery,
    kind: str,
    context: Sequence[PlantedDocument],
    *,
    grounded: Sequence[str] = (),
    ungrounded: Sequence[str] = (),
) -> PlantedDraft:
    said = [f"{text[:-1]} [1]." if text.endswith(".") else text for text in grounded]
    text = " ".join([OPENING, *said, *ungrounded, CLOSING])
    names = tuple(document.id for document in context)
    return PlantedDraft(query.id, kind, text, names, tuple(grounded), tuple(ungrounded))


def _off_gold(
    query: PlantedQuery, by_id: Mapping[str, PlantedDocument], dice: Dice
) -> PlantedDocument:
    """Return a document of another family than any relevant one, so that no statement recurs."""
    gold = {by_id[doc].family for doc, grade in query.grades.items() if grade}
    found = [d for d in by_id.values() if d.corpus == query.corpus and d.family not in gold]
    return dice.choice(found, "off gold")


def _said(document: PlantedDocument, dice: Dice) -> list[str]:
    """Return two statements of a document: in other words where a table has them, else its own."""
    for table in claim_tables():
        if (table["family"], table["section"]) == (document.family, document.section):
            family = next(f for f in families() if f.name == document.family)
            chosen = dice.shuffled(table["close"], document.id)[:2]
            return [stated(pattern, family.entity(document.entity)) for pattern in chosen]
    return dice.shuffled(_sentences(document), document.id)[:2]


def _sentences(document: PlantedDocument) -> list[str]:
    found = _SENTENCE.split(document.text)
    return [text for text in found if text.endswith(".") and len(text.split()) >= 5]


def _with_other_number(text: str) -> str | None:
    found = _NUMBER.search(text)
    if found is None:
        return None
    return f"{text[: found.start()]}{int(found[0]) + 7}{text[found.end() :]}"
