"""The columns of the frames of what is checked beside a search run."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.columns_base import Column, rows

_QUERY: Final = Column("id", "=query", "text", "", "query id of the gold set")

GUARD: Final = (
    *rows(
        "text",
        "",
        ("metric", "=threshold", "metric that is bounded"),
        ("part", "=threshold", "part of the queries that is looked at; missing: all"),
        ("verdict", "=guard", "pass, within_noise, breach, overridden, no_verdict or skipped"),
    ),
    *rows(
        "number",
        "0–1",
        ("baseline", "=guard", "value of the baseline"),
        ("current", "=guard", "value of this run"),
    ),
    *rows(
        "number",
        "points",
        ("change_points", "=guard", "current − baseline, over the queries of both"),
        ("ci_low_points", "=guard", "lower end of its interval"),
        ("ci_high_points", "=guard", "upper end of its interval"),
        ("limit_points", "=threshold", "largest allowed harm; missing: only the value is bounded"),
        ("noise_points", "=noise file", "95 % of differences of one system lie within ± this"),
    ),
    *rows(
        "integer",
        "queries",
        ("n_queries", "=guard", "queries that the change rests on"),
        ("n_up", "=guard", "queries with a higher value than in the baseline"),
        ("n_down", "=guard", "queries with a lower one"),
    ),
    Column("p_adjusted", "=guard", "number", "0–1", "one-sided p of the harm, Holm over the rows"),
    Column("reasons", "=guard", "list", "", "why it is no plain pass"),
)

COMPONENTS: Final = (
    Column("name", "composite/components[].name", "text", "", "metric"),
    *rows(
        "number",
        "0–1",
        ("value", "composite/components[].value", "its value"),
        ("floor", "composite/components[].floor", "what it must not fall below"),
        ("ceiling", "composite/components[].ceiling", "what it must not rise above"),
        ("margin", "composite/components[].margin", "how far it is on the right side"),
    ),
    Column("n", "composite/components[].n", "integer", "", "what its value rests on"),
    Column("passes", "composite/components[].passes", "boolean", "", "whether its bound holds"),
)

ROC: Final = (
    Column(
        *("threshold", "abstention/roc[].threshold", "number", "of the retriever"),
        "top score below which a query is refused; missing at an end that no score reaches",
    ),
    *rows(
        "number",
        "0–1",
        (
            "true_positive_rate",
            "abstention/roc[].true_positive_rate",
            "share of unanswerable queries refused",
        ),
        (
            "false_refusal_rate",
            "abstention/roc[].false_refusal_rate",
            "share of answerable queries refused",
        ),
    ),
)

CLAIMS: Final = (
    _QUERY,
    Column("claim", "claims/queries[].claims[].text", "text", "", "absent in private reports"),
    Column(
        *("is_substantive", "claims/queries[].claims[].is_substantive", "boolean", ""),
        "false: a greeting, a question and the like, which is not counted",
    ),
    Column(
        *("supported_by", "claims/queries[].claims[].supported_by", "text", ""),
        "document labelled relevant that supports it",
    ),
    Column(
        *("in_context", "claims/queries[].claims[].in_context", "boolean", ""),
        "whether the draft's own context supports it",
    ),
    Column("reason", "claims/queries[].claims[].reason", "text", "code", "what the judge said"),
)

TRANSFER: Final = (
    Column("metric", "=transfer", "text", "", "metric"),
    Column("corpus", "=transfer", "text", "", "corpus that is left out"),
    *rows(
        "number",
        "points",
        ("others_points", "=transfer", "change over the queries of all other corpora"),
        ("held_out_points", "=transfer", "change over those of the corpus left out"),
        ("ci_low_points", "=transfer", "lower end of the interval of the latter"),
        ("ci_high_points", "=transfer", "its upper end"),
    ),
    Column("n_pairs", "=transfer", "integer", "queries", "queries of the corpus left out"),
    Column(
        *("verdict", "=transfer", "text", "code"),
        "holds, reverses, vanishes, no_change or not_computable",
    ),
    Column("is_clear", "=transfer", "boolean", "", "whether the interval leaves out 0"),
)

AGREEMENT: Final = (
    *rows(
        "text",
        "",
        ("labeller_a", "=gold set", "one labeller; absent in private reports"),
        ("labeller_b", "=gold set", "the other; absent in private reports"),
        ("corpus", "=gold set", "corpus; missing: all"),
        ("weights", "=gold set", "how a disagreement counts: none, linear or quadratic"),
    ),
    *rows(
        "number",
        "−1–1",
        ("kappa", "=gold set", "Cohen's kappa"),
        ("ci_low", "=gold set", "lower end of its interval"),
        ("ci_high", "=gold set", "upper end of its interval"),
    ),
    Column("agreement", "=gold set", "number", "0–1", "share of equal grades"),
    Column("n", "=gold set", "integer", "pairs", "documents of queries that both graded"),
)

STALE_LABELS: Final = (
    _QUERY,
    Column("corpus", "=gold set", "text", "", "where"),
    Column("doc", "=gold set", "text", "", "judged document"),
    Column("grade", "=gold set", "integer", "grade", "its grade"),
    Column("reason", "=corpus", "text", "code", "document_gone or text_changed"),
)

TO_JUDGE: Final = (
    _QUERY,
    Column("doc", "=ranking", "text", "", "document that nobody judged"),
    Column(
        *("gain_points", "=gold set", "number", "points"),
        "how much narrower judging it can make the bounds of the headline measures",
    ),
    Column("rank", "=ranking", "integer", "rank", "where it was ranked"),
)

CHECK_FRAMES: Final[dict[str, tuple[str, tuple[Column, ...]]]] = {
    "guard": ("one row a threshold of the guard", GUARD),
    "components": ("one row a component of the composite", COMPONENTS),
    "roc": ("one row a threshold of the top score: what refusing below it does", ROC),
    "claims": ("one row a claim of a draft", CLAIMS),
    "transfer": ("one row a metric and corpus that is left out", TRANSFER),
    "agreement": ("one row a pair of labellers, corpus and weighting", AGREEMENT),
    "stale_labels": ("one row a judged pair that the corpus has left behind", STALE_LABELS),
    "to_judge": ("one row an unjudged document, the most telling first", TO_JUDGE),
}
