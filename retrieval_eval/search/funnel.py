"""Where relevant documents were lost: at which stage of a retriever that shows its stages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from retrieval_eval.model.search_run import QueryResult, QueryStage
from retrieval_eval.values import counted

LABELLED: Final = "labelled"
"""The first stage: the relevant documents that the gold set knows."""
RETURNED: Final = "returned"
"""The last stage: the ranking, after its cut and the floor."""

_HEAD: Final = ("stage", "queries with a relevant document", "relevant documents", "lost here")


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """One stage over all queries whose relevant documents are known.

    Attributes
    ----------
    stage
        Its name; a name with a slash is a part of the stage before the slash and loses nothing.
    n_queries
        Queries with at least one relevant document after it.
    n_documents
        Relevant documents after it, over all queries.
    lost_queries
        Ids of the queries that had a relevant document before this stage and have none after it.
    n_lost_documents
        Relevant documents that were there before this stage and are not after it.
    """

    stage: str
    n_queries: int
    n_documents: int
    lost_queries: tuple[str, ...]
    n_lost_documents: int

    @property
    def is_part(self) -> bool:
        """Whether it is a part of another stage."""
        return "/" in self.stage


def funnel(queries: Iterable[QueryResult]) -> tuple[FunnelStage, ...]:
    """Return the stages over all answered queries that have relevant documents and show stages.

    Queries whose stages have other names than those of the first are left out. Empty where no
    query shows stages.
    """
    chosen = [
        (query.id, query.stages)
        for query in queries
        if query.status == "ok" and query.stages and query.stages[0].relevant
    ]
    if not chosen:
        return ()
    names = [stage.stage for stage in chosen[0][1]]
    same = [(q, stages) for q, stages in chosen if [s.stage for s in stages] == names]
    found, before = [], 0
    for place, name in enumerate(names):
        pairs = [(query, stages[before], stages[place]) for query, stages in same]
        is_part = "/" in name
        found.append(
            FunnelStage(
                stage=name,
                n_queries=sum(bool(now.relevant) for _, _, now in pairs),
                n_documents=sum(len(now.relevant) for _, _, now in pairs),
                lost_queries=()
                if is_part
                else tuple(q for q, was, now in pairs if was.relevant and not now.relevant),
                n_lost_documents=0 if is_part else sum(_lost(was, now) for _, was, now in pairs),
            )
        )
        before = before if is_part else place
    return tuple(found)


def funnel_rows(stages: Iterable[FunnelStage]) -> list[list[str]]:
    """Return a table of the stages, the head first; no rows where there are none."""
    rows = [list(_HEAD)]
    for each in stages:
        lost = f"{counted(len(each.lost_queries), 'query')}, "
        lost += counted(each.n_lost_documents, "document")
        is_first = each.stage == LABELLED or each.is_part
        shown = f"{each.n_queries:,}", f"{each.n_documents:,}"
        rows.append([each.stage, *shown, "" if is_first else lost])
    return rows if len(rows) > 1 else []


def _lost(was: QueryStage, now: QueryStage) -> int:
    return len(set(was.relevant) - set(now.relevant))
