"""The columns of the frames of a difference of two search runs."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.columns_base import Column, rows

_QUERY: Final = Column("id", "queries[].id", "text", "", "query id of the gold set")

CHANGES: Final = (
    *rows(
        "text",
        "",
        ("dimension", "slices key", "what the queries are split by; `all` for the whole"),
        ("level", "slices/* key", "part of the split"),
        ("metric", "metrics key", "metric"),
    ),
    Column("a", "a", "number", "0–1", "value of run A over the pairs"),
    Column("b", "b", "number", "0–1", "value of run B over the pairs"),
    *rows(
        "number",
        "points",
        ("delta_points", "delta_points", "B − A"),
        ("ci_low_points", "ci_low_points", "lower end of its interval"),
        ("ci_high_points", "ci_high_points", "upper end of its interval"),
        ("noise_points", "=noise file", "95 % of differences of one system lie within ± this"),
    ),
    Column("p_value", "p_value", "number", "0–1", "two-sided sign-flip p"),
    *rows(
        "integer",
        "queries",
        ("n_pairs", "n_pairs", "queries that have the metric in both runs"),
        ("n_up", "n_up", "queries with a higher value in B"),
        ("n_down", "n_down", "queries with a lower value in B"),
        ("n_only_a", "n_only_a", "queries that have it in A only"),
        ("n_only_b", "n_only_b", "queries that have it in B only"),
    ),
    Column("is_flagged", "is_flagged", "boolean", "", "whether it moved beyond the flag level"),
)

CONTRIBUTIONS: Final = (
    _QUERY,
    Column("metric", "queries[].contributions key", "text", "", "metric it moved"),
    Column(
        *("points", "queries[].contributions/*", "number", "points"),
        "what it adds to the change; they add up to it",
    ),
)

DOCUMENTS: Final = (
    _QUERY,
    Column("k", "queries[].documents key", "integer", "rank", "cut-off"),
    Column("moved", "queries[].documents/* key", "text", "", "gained or lost within the cut-off"),
    Column("doc", "queries[].documents/*/*[].doc", "text", "", "document"),
    Column("grade", "queries[].documents/*/*[].grade", "integer", "", "missing when unjudged"),
    Column("rank_a", "queries[].documents/*/*[].rank_a", "integer", "rank", "its rank in A"),
    Column("rank_b", "queries[].documents/*/*[].rank_b", "integer", "rank", "its rank in B"),
)

FIRST_DOCUMENTS: Final = (
    _QUERY,
    Column("query", "top1_changed[].query", "text", "", "what was asked; not in private reports"),
    Column("doc_a", "top1_changed[].a/doc", "text", "", "first document of A"),
    Column("grade_a", "top1_changed[].a/grade", "integer", "", "its grade"),
    Column("doc_b", "top1_changed[].b/doc", "text", "", "first document of B"),
    Column("grade_b", "top1_changed[].b/grade", "integer", "", "its grade"),
)

DIFF_FRAMES: Final[dict[str, tuple[str, tuple[Column, ...]]]] = {
    "changes": ("one row a part of the queries and metric: the change in points", CHANGES),
    "contributions": ("one row a query and metric that it moved", CONTRIBUTIONS),
    "documents": ("one row a query, cut-off and document that came or went", DOCUMENTS),
    "first_documents": ("one row a query with another first document", FIRST_DOCUMENTS),
}
