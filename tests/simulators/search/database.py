"""The demo's database: searches, what readers found of use, and a queue of reviews."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.simulators.dice import Dice
from tests.simulators.search.model import PlantedQuery

SCHEMA: Final = """
create table search_logs (
    id integer primary key,
    query text,
    corpus text not null,
    practice_area text,
    created_at text not null
);
create table search_relevance_feedback (
    id integer primary key,
    search_log_id integer not null references search_logs (id),
    case_law_id text not null,
    relevance_score integer not null
);
create table review_items (
    id integer primary key,
    summary text not null,
    review_status text not null,
    created_at text not null
);
"""

OF_USE: Final = 3
"""The score of a document that was cited in the end; lower scores judge nothing."""

START: Final = datetime(2025, 1, 6, 8, tzinfo=UTC)
N_SILENT: Final = 40
REVIEWS: Final = {"pending_review": 23, "approved": 61, "rejected": 9, "published": 48}

Search = tuple[str, str, str, tuple[tuple[str, int], ...]]


def feedback_database(queries: Sequence[PlantedQuery], dice: Dice) -> bytes:
    """Return an SQLite database whose feedback of score 3 gives back the replayed queries.

    Each was searched for several times, once in other letters; some searches led to nothing.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for number, (query, corpus, area, feedback) in enumerate(_searches(queries, dice), 1):
            at = START + timedelta(minutes=37 * number)
            database.execute(
                "insert into search_logs values (?, ?, ?, ?, ?)",
                (number, query, corpus, area, at.isoformat()),
            )
            database.executemany(
                "insert into search_relevance_feedback"
                " (search_log_id, case_law_id, relevance_score) values (?, ?, ?)",
                [(number, doc, score) for doc, score in feedback],
            )
        database.executemany(
            "insert into review_items (summary, review_status, created_at) values (?, ?, ?)",
            _reviews(dice),
        )
        database.commit()
        return database.serialize()


def _searches(queries: Sequence[PlantedQuery], dice: Dice) -> list[Search]:
    found: list[tuple[float, Search]] = []
    for query in queries:
        if query.origin != "replayed":
            continue
        own = dice.scoped("search", query.id)
        useful = [doc for doc, grade in sorted(query.grades.items()) if grade]
        looked_at = [doc for doc, grade in sorted(query.grades.items()) if not grade]
        # Twice under the published form, so that it is the most frequent one.
        for place, text in enumerate((query.query, query.query, f" {query.query.upper()}  ")):
            cited = useful if not place else useful[: (len(useful) + 1) // 2]
            feedback = [(doc, OF_USE) for doc in cited]
            feedback += [(doc, own.whole(0, 2, place, doc)) for doc in looked_at[:2]]
            search = (text, query.corpus, query.area, tuple(feedback))
            found.append((own.unit("time", place), search))
    for number in range(N_SILENT):
        query = dice.choice(queries, "silent", number)
        text = f"{query.query} {dice.choice(('pdf', 'contact', 'price'), 'word', number)}"
        found.append((dice.unit("silent", number), (text, query.corpus, query.area, ())))
    return [search for _, search in sorted(found)]


def _reviews(dice: Dice) -> Iterator[tuple[str, str, str]]:
    statuses = [status for status, n in REVIEWS.items() for _ in range(n)]
    for number, status in enumerate(dice.shuffled(statuses, "reviews"), start=1):
        at = START + timedelta(hours=29 * number)
        yield f"Proposed answer {number}", status, at.isoformat()
