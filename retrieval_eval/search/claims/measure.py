"""The whole of ``search claims``: read, judge, write the run with its claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from retrieval_eval.io.files import write_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.model.search_run import Claims, SearchRun
from retrieval_eval.records import Progress
from retrieval_eval.search.claims.agreement import judge_agreement, read_human_labels
from retrieval_eval.search.claims.coverage import claims_of
from retrieval_eval.search.claims.drafts import read_drafts
from retrieval_eval.search.claims.judge import open_judge
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.gold_set import load_gold_set
from retrieval_eval.search.run.composite import composite_of
from retrieval_eval.search.run.run_files import load_search_run, run_bytes
from retrieval_eval.search.run.trust import require_trust


@dataclass(frozen=True, slots=True)
class ClaimsRequest:
    """Which drafts to judge, and with what; ``out`` is the new file, ``cache`` that of verdicts.

    ``judge`` is one of `JUDGES`; there is no default.
    """

    run: Path
    drafts: Path
    corpus: Path
    gold: Path
    out: Path
    judge: str
    judge_options: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    human_labels: Path | None = None


def with_claims(run: SearchRun, claims: Claims) -> SearchRun:
    """Return a search run with these claims and the composite that follows."""
    joined = replace(run, claims=claims)
    return replace(joined, composite=composite_of(joined))


def measure_claims(request: ClaimsRequest, *, progress: Progress | None = None) -> SearchRun:
    """Write a copy of a search run with the claims of its drafts, and return it.

    Raises
    ------
    BadInputError
        When a file cannot be used; nothing is written then.
    JudgeError, NothingToEvaluateError
        When the judge fails or there is nothing to judge; nothing is written but the verdicts
        that the cache keeps.
    """
    run = load_search_run(request.run)
    require_trust(run, str(request.run))
    gold = load_gold_set(request.gold)
    corpus = read_corpus(request.corpus)
    drafts = read_drafts(request.drafts)
    # Whatever cannot be used is found before a judge is asked, which may cost money.
    labels = read_human_labels(request.human_labels, corpus) if request.human_labels else None
    judge = open_judge(request.judge, request.judge_options, cache=request.cache)
    claims = claims_of(run, drafts, corpus, judge, gold=gold, progress=progress)
    if labels is not None:
        agreement = judge_agreement(labels, judge, seed=run.run.settings.seed)
        claims = replace(claims, agreement=agreement)
    run = with_claims(run, claims)
    write_bytes(request.out, run_bytes(to_builtins(run)))
    return run
