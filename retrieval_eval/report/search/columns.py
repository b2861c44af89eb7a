"""The columns of the frames of a search run."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.columns_base import Column, rows
from retrieval_eval.report.search.columns_checks import CHECK_FRAMES

MEASURE: Final = "measure"
"""What ``{measure}`` stands for: every measure of the run."""

_QUERY: Final = Column("id", "queries[].id", "text", "", "query id of the gold set")

QUERIES: Final = (
    _QUERY,
    *rows(
        "text",
        "",
        ("query", "query", "what was asked; absent in private reports"),
        ("corpus", "corpus", "where"),
        ("area", "area", "area of the query"),
        ("origin", "origin", "replayed, extracted or adversarial"),
        ("source", "source", "bootstrap (a machine's row) or chair (a person's)"),
    ),
    Column("answerable", "answerable", "boolean", "", "false: no document answers it"),
    Column("status", "status", "text", "", "ok or failed"),
    Column("error", "error", "text", "", "how it failed; absent in private reports"),
    Column("is_refused", "is_refused", "boolean", "", "everything found lay below the floor"),
    Column("problems", "problems", "list", "codes", "what was wrong with the answer"),
    Column("n_retrieved", "n_retrieved", "integer", "documents", "length of the ranking"),
    Column("first_document", "=ranking", "text", "", "document ranked first"),
    Column("first_score", "=ranking", "number", "of the retriever", "its score"),
    Column("first_relevant", "=ranking", "integer", "rank", "first document of grade 1 or more"),
    Column(
        "n_relevant",
        "=gold set",
        "integer",
        "documents",
        "documents of grade 1 or more; missing when the gold set was not read",
    ),
    Column("{measure}", "metrics/{measure}", "number", "0–1", "the measure for this query"),
)

RANKINGS: Final = (
    _QUERY,
    Column("rank", "=ranking", "integer", "rank", "place in the ranking, from 1"),
    Column("doc", "ranking[].doc", "text", "", "document id"),
    Column("score", "ranking[].score", "number", "of the retriever", "its score"),
    Column("grade", "ranking[].grade", "integer", "grade", "missing when nobody judged it"),
)

RELEVANT: Final = (
    _QUERY,
    Column("doc", "=gold set", "text", "", "document of grade 1 or more"),
    Column("grade", "=gold set", "integer", "grade", "its grade"),
    Column("rank", "=ranking", "integer", "rank", "where it was ranked; missing: not retrieved"),
)

_MEAN: Final = (
    Column("measure", "metrics key", "text", "", "measure"),
    Column("value", "value", "number", "0–1", "mean over queries"),
    Column("n", "n", "integer", "queries", "queries with a value"),
    Column("n_not_computable", "n_not_computable", "integer", "queries", "the others"),
    Column("reason", "reason", "text", "", "reason code when there is no mean"),
    *rows(
        "number",
        "0–1",
        ("ci_low", "ci_low", "lower end of the interval of the mean"),
        ("ci_high", "ci_high", "upper end of the interval of the mean"),
        ("tie_low", "tie_low", "smallest mean over orders of documents with equal scores"),
        ("tie_high", "tie_high", "largest such mean"),
        ("unjudged_low", "unjudged_low", "mean when no unjudged document is relevant"),
        ("unjudged_high", "unjudged_high", "largest mean, had all documents been judged"),
    ),
)

METRICS: Final = _MEAN

_PART: Final = rows(
    "text",
    "",
    ("dimension", "slices key", "what the queries are split by"),
    ("level", "slices/* key", "part of the split"),
)

SLICES: Final = (
    *_PART,
    Column("n_queries", "n_queries", "integer", "queries", "those without values included"),
    *_MEAN,
)

DELTA: Final = (
    *rows(
        "text",
        "",
        ("dimension", "delta/slices key", "what the queries are split by; `all` for the whole"),
        ("level", "delta/slices/* key", "part of the split"),
        ("measure", "delta/metrics key", "measure"),
    ),
    Column("baseline", "baseline", "number", "0–1", "mean of the baseline over the pairs"),
    Column("current", "current", "number", "0–1", "mean of this run over the pairs"),
    *rows(
        "number",
        "points",
        ("delta_points", "delta_points", "current − baseline"),
        ("ci_low_points", "ci_low_points", "lower end of its interval"),
        ("ci_high_points", "ci_high_points", "upper end of its interval"),
    ),
    Column("p_value", "p_value", "number", "0–1", "two-sided sign-flip p"),
    *rows(
        "integer",
        "queries",
        ("n_pairs", "n_pairs", "queries that have the measure in both runs"),
        ("n_only_baseline", "n_only_baseline", "queries that have it in the baseline only"),
        ("n_only_current", "n_only_current", "queries that have it in this run only"),
    ),
)

CONTRIBUTIONS: Final = (
    _QUERY,
    Column("measure", "delta/queries[].contributions key", "text", "", "measure it moved"),
    Column(
        "points",
        "delta/queries[].contributions/*",
        "number",
        "points",
        "what it adds to the change; they add up to it",
    ),
)

SEARCH_FRAMES: Final[dict[str, tuple[str, tuple[Column, ...]]]] = {
    "queries": ("one row a query: answer, status and every measure", QUERIES),
    "rankings": ("one row a query and retrieved document", RANKINGS),
    "relevant": ("one row a query and document known to be relevant", RELEVANT),
    "metrics": ("one row a measure: the mean over all queries", METRICS),
    "slices": ("one row a part of the queries and measure", SLICES),
    "delta": ("one row a part of the queries and measure: the change in points", DELTA),
    "contributions": ("one row a query and measure that it moved", CONTRIBUTIONS),
    **CHECK_FRAMES,
}
