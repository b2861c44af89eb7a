"""The search run: what was measured, with what, and what came out."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.artefacts import read_artefact
from retrieval_eval.io.files import json_bytes, probe, read_json
from retrieval_eval.model import from_builtins, to_builtins
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import (
    CorpusFacts,
    GoldSetFacts,
    LabelFacts,
    MetricMean,
    PinnedQueries,
    QueryResult,
    RankedDocument,
    RetrieverFacts,
    RunHeader,
    RunSlices,
    RunStatus,
    SearchRun,
    Trust,
    TrustSample,
)
from retrieval_eval.ranking.measures import parse_measure
from retrieval_eval.schema import check_version, faults, kind_of, version_of
from retrieval_eval.search.ask import PROBLEMS, UNTRUSTED
from retrieval_eval.search.ask.options import shown_options, shown_spec
from retrieval_eval.search.gold.faults import pointer
from retrieval_eval.search.run.abstention import Gate, abstention_of
from retrieval_eval.search.run.composite import composite_of
from retrieval_eval.search.run.random_documents import random_documents
from retrieval_eval.search.run.scoring import QueryScore, Scores
from retrieval_eval.search.run.trust import reasons as trust_reasons
from retrieval_eval.search.run.trust import recounted, second_answer, trust_in, unreachable
from retrieval_eval.values import Value


def retriever_facts(
    spec: str,
    options: Mapping[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
    *,
    uses_rerank: bool = True,
    floor: float | None = None,
) -> RetrieverFacts:
    """Return which retriever answered, and how it was used; no password of an address is in it.

    ``facts`` are what it says of itself.
    """
    facts = facts or {}
    reranker = facts.get("reranker")
    return RetrieverFacts(
        spec=shown_spec(spec),
        name=str(facts.get("name") or shown_spec(spec)),
        reranker=None if reranker is None else str(reranker),
        uses_rerank=uses_rerank,
        floor=floor,
        options=shown_options(options or {}),
        facts=dict(facts),
    )


def search_run(
    gold: GoldSet,
    scores: Scores,
    *,
    retriever: RetrieverFacts,
    corpora: Sequence[CorpusFacts],
    generated_at: str,
    label: str = "",
    backlog: Mapping[str, Any] | None = None,
    abstain_at: float | None = None,
    ids_checked: bool = False,
    max_failed: float = 0.0,
    is_declared: bool = False,
    sample: TrustSample | None = None,
    pinned: PinnedQueries | None = None,
    labels: LabelFacts | None = None,
    n_other_queries: int | None = None,
    machine: str | None = None,
) -> SearchRun:
    """Return the search run of scored answers.

    Equal arguments give equal runs, but for how long the queries took. ``abstain_at`` is the top
    score below which a query counts as refused (see `abstention_of`). ``ids_checked`` says that
    the documents of the corpora were known when the queries were asked; it, ``max_failed``,
    ``is_declared`` and ``sample`` are those of `trust_in`. ``pinned`` is the list of queries that
    was asked, where it was not the whole gold set, ``labels`` what is known of its labels,
    ``n_other_queries`` how many queries a ranked file has that the gold set lacks, ``machine``
    where the retriever was asked from. Claims of drafts and the change against a baseline are added
    to a run later.
    """
    queries = tuple(_query(query, abstain_at) for query in scores.queries)
    outside = None if labels is None else unreachable(labels)
    trust = trust_in(
        queries,
        ids_checked=ids_checked,
        max_failed=max_failed,
        is_declared=is_declared,
        sample=sample,
        confidence=scores.settings.confidence,
    )
    run = SearchRun(
        schema_version=version_of("search_run"),
        generated_at=generated_at,
        label=label,
        run=RunHeader(
            corpora=tuple(corpora),
            ids_checked=ids_checked,
            gold_set=_gold_set(gold),
            n_other_queries=n_other_queries,
            pinned=pinned,
            retriever=retriever,
            settings=scores.settings.facts(),
            versions=_versions(),
            machine=machine,
        ),
        status=status_of(queries, scores.overall.metrics, trust, retriever.name),
        trust=trust,
        labels=labels,
        metrics=scores.overall.metrics,
        slices=RunSlices(**{name: dict(parts) for name, parts in scores.slices.items()}),
        queries=queries,
        abstention=abstention_of(
            queries, threshold=abstain_at, confidence=scores.settings.confidence
        ),
        random=None if scores.is_repeat else random_documents(scores, corpora, outside),
        delta=None,
        backlog=None if backlog is None else dict(backlog),
    )
    return replace(run, composite=composite_of(run))


def without_untrusted(run: SearchRun) -> SearchRun:
    """Return a search run in which every answer that cannot be trusted is a failed query.

    Earlier versions scored such answers and left a problem beside them (:data:`UNTRUSTED`): the
    run then has no verdict, and none of its means, for they were taken over these answers too.
    Any other run is returned as it is.
    """
    queries = tuple(_trusted(query) for query in run.queries)
    if all(new is old for new, old in zip(queries, run.queries, strict=True)):
        return run
    parts = {
        dimension: {
            name: replace(part, metrics=_unknown(part.metrics))
            for name, part in getattr(run.slices, dimension).items()
        }
        for dimension in run.slices.__struct_fields__
    }
    trust = recounted(run, queries)
    found = replace(
        run,
        status=status_of(queries, run.metrics, trust, run.run.retriever.name),
        trust=None if run.trust is None else trust,
        metrics=_unknown(run.metrics),
        slices=RunSlices(**parts),
        queries=queries,
    )
    if (old := run.abstention) is not None:
        gate = Gate(old.gate.min_true_positive_rate, old.gate.max_false_refusal_rate)
        confidence = run.run.settings.confidence
        abstention = abstention_of(
            queries, threshold=old.threshold, confidence=confidence, gate=gate
        )
        found = replace(found, abstention=abstention)
    if run.composite is not None:
        found = replace(found, composite=composite_of(found))
    if run.delta is not None:
        withheld = tuple(f"the run has no verdict: {reason}" for reason in found.status.reasons)
        found = replace(found, delta=None, delta_withheld=withheld)
    return found


def _trusted(query: QueryResult) -> QueryResult:
    wrong = [code for code in query.problems if code in UNTRUSTED]
    if len({found.doc for found in query.ranking}) < len(query.ranking):
        wrong.append("duplicate_documents")
    if query.status == "failed" or not wrong:
        return query
    return replace(
        query,
        status="failed",
        error=f"{UNTRUSTED[wrong[0]]}, as an earlier version recorded",
        failure=wrong[0],
        is_refused=False,
        problems=(),
        n_retrieved=0,
        ranking=(),
        metrics=dict.fromkeys(query.metrics),
        reasons=dict.fromkeys(query.metrics, "query_failed"),
    )


def _unknown(metrics: Mapping[str, MetricMean]) -> dict[str, MetricMean]:
    gap = Value.missing("query_failed").to_json()
    ends = ("ci_low", "ci_high", "tie_low", "tie_high", "unjudged_low", "unjudged_high")
    return {name: replace(mean, **gap, **dict.fromkeys(ends)) for name, mean in metrics.items()}


def _gold_set(gold: GoldSet) -> GoldSetFacts:
    n_unanswerable = sum(query.answerable is False for query in gold.queries)
    n_simulated = sum(query.extra.get("simulated") is True for query in gold.queries)
    n_unlabelled = sum(not q.n_relevant and q.answerable is not False for q in gold.queries)
    return GoldSetFacts(
        name=gold.path.stem if gold.path else "gold-set",
        fingerprint=gold.fingerprint,
        n_queries=len(gold.queries),
        n_labelled_pairs=sum(len(query.relevant) for query in gold.queries),
        n_answerable=len(gold.queries) - n_unanswerable - n_unlabelled,
        n_unanswerable=n_unanswerable,
        n_unlabelled=n_unlabelled,
        sources=dict(sorted(Counter(query.source for query in gold.queries).items())),
        is_provisional=gold.is_provisional,
        n_simulated=n_simulated or None,
    )


def _versions() -> dict[str, str]:
    ours = {NAME: __version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in ("numpy", "scipy")}


def status_of(
    queries: Sequence[QueryResult],
    metrics: Mapping[str, MetricMean],
    trust: Trust,
    retriever: str,
) -> RunStatus:
    """Return the status of queries that a retriever was asked, and whether means may decide."""
    failed = [query for query in queries if query.status == "failed"]
    problems = Counter(code for query in queries for code in query.problems)
    reasons = trust_reasons(trust, queries, retriever)
    # A share of judged documents is no measure of what was found.
    measured = [m for name, m in metrics.items() if parse_measure(name).name != "Judged"]
    if len(failed) < len(queries) and not any(mean.computable for mean in measured):
        reasons.append("no query has a document labelled relevant, so nothing was measured")
    return RunStatus(
        n_queries=len(queries),
        n_ok=len(queries) - len(failed),
        n_failed=len(failed),
        n_empty=sum(query.status == "ok" and not query.ranking for query in queries),
        n_refused=sum(query.is_refused for query in queries),
        n_with_problems=sum(bool(query.problems) for query in queries),
        problems={code: problems[code] for code in PROBLEMS if problems[code]},
        has_verdict=not reasons,
        reasons=tuple(reasons),
    )


def _query(scored: QueryScore, abstain_at: float | None) -> QueryResult:
    query, result = scored.query, scored.result
    values = {name: score.value for name, score in scored.scores.items()}
    return QueryResult(
        id=query.id,
        query=query.query,
        corpus=query.corpus,
        area=query.area,
        origin=query.origin,
        source=query.source,
        answerable=True if query.answerable is None and query.n_relevant else query.answerable,
        status=result.status,
        error=result.error,
        failure=result.failure,
        seconds=None if result.seconds is None else round(result.seconds, 6),
        second_answer=second_answer(result, abstain_at),
        is_refused=result.is_refused,
        problems=result.problems,
        n_retrieved=len(result.ranking),
        ranking=tuple(
            RankedDocument(doc=found.doc, score=found.score, grade=query.relevant.get(found.doc))
            for found in result.ranking
        ),
        metrics={name: value.value for name, value in values.items()},
        reasons={n: value.reason for n, value in values.items() if value.reason is not None},
    )


# --------------------------------------------------------------------------------------------------
# Search runs as files: reading and checking them, and the bytes they are written as.

_MOST_FAULTS: Final = 5
# Sums of gains are off by their last digits.
_ROUNDING: Final = 1e-9


def load_search_run(path: Path) -> SearchRun:
    """Return the search run in a file, `without_untrusted` answers.

    Any version 1.x or 2.x is read, whatever wrote it.

    Raises
    ------
    BadInputError
        When the file cannot be read, or holds no search run this package reads; the message
        names JSON pointers.
    """
    return without_untrusted(from_builtins(_read(path), SearchRun, str(path), strict=False))


def _read(path: Path) -> dict[str, Any]:
    if not probe(path.is_file):
        raise BadInputError(f"{path}: no such file; `retrieval-eval search run` writes one")
    found = read_artefact(path, path.parent)
    if found.problem is not None:
        problem = found.problem.removeprefix(f"{path.name}: ")
        raise BadInputError(f"{path}: not a search run: {problem}")
    check_version(found.value, str(path))
    if kind_of(found.value) != "search_run":
        raise BadInputError(f"{path}: not a search run: it lacks 'run' and 'queries'")
    wrong = faults(found.value, "search_run") or _endless(found.value) or _off_scale(found.value)
    if wrong:
        more = f" (and {len(wrong) - _MOST_FAULTS} more)" if len(wrong) > _MOST_FAULTS else ""
        listed = "; ".join(map(str, wrong[:_MOST_FAULTS]))
        raise BadInputError(f"{path}: not a valid search run: {listed}{more}")
    document: dict[str, Any] = found.value
    return document


def _endless(document: Any) -> list[str]:
    """Return the places of numbers that no float can hold, which Python's JSON lets pass."""
    if _is_finite(document):
        return []
    found = []
    rest: list[tuple[Any, tuple[object, ...]]] = [(document, ())]
    while rest:
        value, where = rest.pop()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, dict | list):
                rest.append((item, (*where, key)))
            elif isinstance(item, int | float) and not abs(item) <= sys.float_info.max:
                found.append(f"{pointer(*where, key)}: expected a finite number")
    return sorted(found)


def _is_finite(document: Any) -> bool:
    """Return whether a float can hold every number; without places, since most runs are fine."""
    most = sys.float_info.max
    rest = [document]
    while rest:
        value = rest.pop()
        for item in value.values() if type(value) is dict else value:
            kind = type(item)
            if kind is dict or kind is list:
                rest.append(item)
            elif (kind is float or kind is int) and not -most <= item <= most:
                return False
    return True


def _off_scale(document: Mapping[str, Any]) -> list[str]:
    """Return the places of measures outside of 0 to 1, which no run can have."""
    blocks: dict[tuple[object, ...], Any] = {("metrics",): document["metrics"]}
    for dimension, parts in document["slices"].items():
        blocks |= {("slices", dimension, name, "metrics"): parts[name]["metrics"] for name in parts}
    values: dict[tuple[object, ...], Any] = {
        (*where, name, "value"): mean["value"]
        for where, means in blocks.items()
        for name, mean in means.items()
    }
    for place, query in enumerate(document["queries"]):
        values |= {("queries", place, "metrics", name): v for name, v in query["metrics"].items()}
    return [
        f"{pointer(*where)}: {value} is no share from 0 to 1"
        for where, value in values.items()
        if value is not None and not -_ROUNDING <= value <= 1 + _ROUNDING
    ]


def document_of(run: SearchRun) -> dict[str, Any]:
    """Return a search run as it is read back from its file: plain objects and lists."""
    document: dict[str, Any] = _with_lists(to_builtins(run))
    return document


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_lists(item) for name, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, list | tuple) else value


def run_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a search run: one line for each block and each query.

    A baseline is committed, and the change of one query is then a change of one line.

    Examples
    --------
    >>> print(run_bytes({"label": "x", "queries": [{"id": "a"}, {"id": "b"}]}).decode(), end="")
    {"label": "x",
    "queries": [
    {"id": "a"},
    {"id": "b"}]}
    """
    blocks = []
    for name, value in document.items():
        text = _line(value)
        if name == "queries" and value:
            text = "[\n" + ",\n".join(map(_line, value)) + "]"
        blocks.append(f"{_line(name)}: {text}")
    return ("{" + ",\n".join(blocks) + "}\n").encode("utf-8")


def _line(value: Any) -> str:
    return json_bytes(value).decode("utf-8").rstrip("\n")


# --------------------------------------------------------------------------------------------------
# Search runs by path or by label.

REPORTS: Final = "eval-report-*.json"
WITH_CLAIMS: Final = ".claims.json"
"""What ends the name of a run that also holds the claims of drafts, after the name without."""


@dataclass(frozen=True, slots=True)
class Named:
    """A run given by name: where it was found, and notices about the choice."""

    run: SearchRun
    path: Path
    notices: tuple[str, ...] = ()


def named_run(name: str, folder: Path) -> Named:
    """Return the run that a name means: a file, else a label among the reports of a folder.

    Where several reports have the label it is the newest, with a notice.

    Raises
    ------
    BadInputError
        When it is neither (the message lists the labels there are), or the file is no valid run.
    """
    path, notices = run_file(name, folder)
    return Named(load_search_run(path), path, notices)


def run_file(name: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Do what `named_run` does without reading the run; return its file and the notices."""
    path = Path(name)
    if probe(path.is_file):
        return path, ()
    found = _labelled(folder)
    chosen = _without_claims([report for report in found if name and report.label == name])
    if not chosen:
        labels = sorted({report.label for report in found if report.label})
        listed = ", ".join(map(repr, labels)) or "none"
        raise BadInputError(
            f"{name!r} is neither a file nor the label of a run in {folder}; `retrieval-eval search"
            f" run` writes one; labels there: {listed}"
        )
    newest = max(chosen, key=lambda report: (report.moment, len(report.stem), report.stem))
    if len(chosen) == 1:
        return newest.path, ()
    return newest.path, (f"{len(chosen)} runs are labelled {name!r}; the newest is {newest.path}",)


@dataclass(frozen=True, slots=True)
class _Report:
    path: Path
    label: str
    moment: str

    @property
    def stem(self) -> str:
        """The name of the run: of one second, the second has ``-2`` behind it, and so on."""
        return self.path.name.removesuffix(WITH_CLAIMS).removesuffix(".json")


def _without_claims(reports: Sequence[_Report]) -> list[_Report]:
    """Return the reports but for those that also exist with the claims of their drafts."""
    paths = {report.path for report in reports}
    return [
        report
        for report in reports
        if report.path.name.endswith(WITH_CLAIMS)
        or report.path.with_name(f"{report.stem}{WITH_CLAIMS}") not in paths
    ]


def _labelled(folder: Path) -> Sequence[_Report]:
    found = []
    for path in sorted(folder.glob(REPORTS)):
        # A file that is no report has no label; it is read in full, and checked, when it is chosen.
        read = read_json(path, folder)
        value = read.value if isinstance(read.value, dict) else {}
        label, moment = value.get("label"), value.get("generated_at")
        if isinstance(label, str) and isinstance(moment, str):
            found.append(_Report(path, label, moment))
    return found
