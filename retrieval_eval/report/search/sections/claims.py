"""What drafted answers rest on: claims that labelled documents support, and that context does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, count, of, rate, share
from retrieval_eval.report.search import tables
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.names import reason
from retrieval_eval.report.search.reading import members, records
from retrieval_eval.report.search.tables import span
from retrieval_eval.values import counted

NO_DRAFTS: Final = (
    "No drafts were judged; `retrieval-eval search claims RUN --drafts FILE --judge NAME` adds "
    "them to a run."
)
MAX_CLAIM: Final = 160
SUPPORT: Final = (
    ((True, True), "labelled document and context"),
    ((True, False), "labelled document only"),
    ((False, True), "context only: from a document that is not labelled relevant"),
    ((False, False), "neither"),
)


def claims(facts: Facts) -> Block:
    """Return claim coverage beside faithfulness, and the drafts with most unsupported claims."""
    block = members(facts.run.document.get("claims"))
    if not block:
        return section("No drafted answer was judged", Empty("claims", NO_DRAFTS))
    coverage, faithful = block["coverage"], block["faithfulness"]
    finding = (
        f"Claim coverage {rate(coverage['value'])}, faithfulness {rate(faithful['value'])} over "
        f"{counted(block['n_substantive'], 'claim')} of {counted(block['n_drafts'], 'draft')}"
        if coverage["value"] is not None
        else f"Claim coverage is not computable: {reason(coverage['reason'])}"
    )
    listed = _worst(facts, records(block.get("queries")))
    exhibits = [_shares(block, facts.coverage), _support(records(block.get("queries")))]
    return section(finding, *exhibits, *([listed] if listed else []), sentences=_counts(block))


def _counts(block: Mapping[str, Any]) -> list[str]:
    parts = [
        f"{block.get(key, 0):,} {words}"
        for key, words in (
            ("n_refused", "refused"),
            ("n_unlabelled", "of queries without labels, left out"),
            ("n_without_draft", "queries have none"),
        )
        if block.get(key)
    ]
    judge = block["judge"]
    who = f"Judge: {visible(judge['name'], 60)} {visible(judge['version'], 40)}"
    known = judge.get("known_errors")
    who += f"; {visible(known, 200)}." if isinstance(known, str) and known else "."
    return [f"Drafts: {'; '.join(parts)}. {who}" if parts else who]


def _shares(block: Mapping[str, Any], coverage: str) -> Table:
    rows = [
        (name, rate(found["value"]), span(found["ci_low"], found["ci_high"]), count(found["n"]))
        for name, found in (
            ("Claim coverage", block["coverage"]),
            ("Faithfulness", block["faithfulness"]),
        )
    ]
    agreed = members(block.get("agreement"))
    rows += [
        (f"Judge and people: {name}", *_metric(members(agreed.get(key))))
        for key, name in (("kappa", "κ"), ("accuracy", "same verdict"))
        if agreed
    ]
    note = (
        "Coverage: share of substantive claims that a document labelled relevant supports. "
        "Faithfulness: share that the draft's own context supports, relevant or not. Intervals "
        "resample whole drafts."
    )
    unchecked = (
        "The judge was not compared with labels of people, so how often it errs is not known."
    )
    return Table(
        "claims",
        "Substantive claims of drafted answers that are supported",
        ("Measure", "Share", f"{coverage} interval", "Claims"),
        tuple(rows),
        notes=(note, *(() if agreed else (unchecked,))),
    )


def _metric(found: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = found.get("ci_low"), found.get("ci_high")
    return rate(found.get("value")), span(low, high), count(found.get("n"))


def _support(queries: Sequence[Mapping[str, Any]]) -> Table:
    found = Counter(
        (claim["supported_by"] is not None, bool(claim["in_context"]))
        for query in queries
        for claim in _substantive(query)
    )
    rows = [(words, share(found[key], found.total())) for key, words in SUPPORT]
    return Table(
        "claim-support",
        "Substantive claims by what supports them",
        ("Supported by", "Claims (share)"),
        tuple(rows),
    )


def _substantive(query: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [claim for claim in records(query["claims"]) if claim["is_substantive"]]


def _worst(facts: Facts, queries: Sequence[Mapping[str, Any]]) -> Table | None:
    found = []
    for query in queries:
        own = _substantive(query)
        bare = [claim for claim in own if claim["supported_by"] is None]
        if bare and query["id"] in facts.by_id:
            found.append((len(bare), len(own), query["id"], own, bare[0]))
    if not found:
        return None
    found.sort(key=lambda one: (-one[0] / one[1], -one[0], one[2]))
    rows = [
        (
            facts.title(facts.by_id[name], tables.TEXTS),
            of(n - n_bare, n),
            of(sum(bool(claim["in_context"]) for claim in own), n),
            *(() if facts.privacy else (visible(first["text"], MAX_CLAIM),)),
            visible(str(first["reason"] or MISSING).replace("_", " "), 60),
        )
        for n_bare, n, name, own, first in found[: tables.MAX_ROWS]
    ]
    claim = () if facts.privacy else ("First unsupported claim",)
    header = ("Query", "Covered", "In context", *claim, "The judge said")
    return Table(
        "worst-drafts",
        "Drafts with claims that no labelled document supports, the worst first",
        header,
        tuple(rows),
        ("left", "right", "right", *["left"] * (len(header) - 3)),
        tables.capped(len(found), "claims.csv"),
    )
