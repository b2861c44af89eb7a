"""Questions of the search demo; their judgements follow from the planted facts alone."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.simulators.dice import Dice
from tests.simulators.search.model import FULL, PART, PlantedDocument, PlantedQuery
from tests.simulators.search.texts import Family, families, query_tables

N_LIKE: Final = 6
N_SAME: Final = 4


def ask(documents: Sequence[PlantedDocument], dice: Dice) -> tuple[PlantedQuery, ...]:
    """Return all questions, those of one corpus together, in the order of the tables."""
    queries: list[PlantedQuery] = []
    for table in query_tables():
        corpus = table["corpus"]
        own = [document for document in documents if document.corpus == corpus]
        by_area: dict[str, set[str]] = defaultdict(set)
        for row in table["query"]:
            for text, facts in _asked(row):
                grades = _grades(own, facts, is_whole=row["difficulty"] == "multi_clause")
                by_area[row["area"]].update(grades)
                grades |= dict.fromkeys(_alike(own, grades, dice.scoped(corpus, text)), 0)
                queries.append(_query(corpus, row, text, row["difficulty"], grades))
        for row in table["unanswerable"]:
            near = sorted(by_area[row["area"]])
            for text in row["texts"]:
                chosen = dice.shuffled(near, corpus, text)[:N_LIKE]
                queries.append(_query(corpus, row, text, "unanswerable", dict.fromkeys(chosen, 0)))
    return tuple(queries)


def query_id(corpus: str, query: str) -> str:
    """Return the published id of a query: a digest of the corpus and the normalised text."""
    normal = " ".join(unicodedata.normalize("NFC", query).casefold().split())
    digest = hashlib.sha256(f"{corpus}\0{normal}".encode()).hexdigest()
    return f"g{digest[:12]}"


def _query(
    corpus: str, row: Mapping[str, Any], text: str, difficulty: str, grades: Mapping[str, int]
) -> PlantedQuery:
    return PlantedQuery(
        id=query_id(corpus, text),
        query=text,
        corpus=corpus,
        area=row["area"],
        origin=row["origin"],
        difficulty=difficulty,
        answerable=any(grades.values()),
        grades=dict(sorted(grades.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def _asked(row: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield text and full fact names of each question of a row of the table."""
    if "family" not in row:
        for text in row["texts"]:
            yield text, tuple(row["ask"])
        return
    family = next(family for family in families() if family.name == row["family"])
    if "where" in row:
        facts = tuple(
            f"{family.name}.{entity['key']}.{fact}"
            for entity in family.entities
            if all(entity[name] == value for name, value in row["where"].items())
            for fact in row["ask"]
        )
        for text in row["texts"]:
            yield text, facts
        return
    for place, key in enumerate(row["on"]):
        text = row["texts_by"][key] if "texts_by" in row else _next(row["texts"], place)
        yield _filled(text, family, key), tuple(f"{family.name}.{key}.{f}" for f in row["ask"])


def _next(texts: Sequence[str], place: int) -> str:
    return texts[place % len(texts)]


def _filled(text: str, family: Family, key: str) -> str:
    return text.format_map(family.entity(key))


def _grades(
    documents: Sequence[PlantedDocument], facts: Sequence[str], *, is_whole: bool
) -> dict[str, int]:
    """Return the relevant documents: full where an asked fact is stated in full, else in part.

    Of a question in several clauses (``is_whole``) a full answer states all of the facts.
    """
    grades = {}
    for document in documents:
        stated = [document.facts.get(fact, 0) for fact in facts]
        if any(stated):
            enough = min(stated) if is_whole else max(stated)
            grades[document.id] = FULL if enough == FULL else PART
    return grades


def _alike(
    documents: Sequence[PlantedDocument], grades: Mapping[str, int], dice: Dice
) -> list[str]:
    """Return documents that look like answers and are none: other entities, other sections."""
    answers = [document for document in documents if grades.get(document.id) == FULL]
    kinds = {(document.family, document.section) for document in answers}
    entities = {(document.family, document.entity) for document in answers}
    others = [document for document in documents if document.id not in grades]
    like = [d.id for d in others if (d.family, d.section) in kinds]
    same = [d.id for d in others if (d.family, d.entity) in entities]
    chosen = dice.shuffled(like, "like")[:N_LIKE] + dice.shuffled(same, "same")[:N_SAME]
    return sorted(set(chosen))
