"""What takes search runs, for runs as plain objects, which tests change more easily.

Runs made by tests may also lack what does not matter, and hold what no file may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from retrieval_eval.model import Record
from retrieval_eval.model.search_run import Abstention, Composite, SearchRun
from retrieval_eval.search import change
from retrieval_eval.search.change import anew, baseline, comparability
from retrieval_eval.search.decide import guard
from retrieval_eval.search.decide import noise as noises
from retrieval_eval.search.decide.guard import measured
from retrieval_eval.search.run import (
    abstention,
    composite,
    markdown,
    named_metrics,
    summary,
)
from retrieval_eval.search.run import document as documents
from tests.searches import GENERATED_AT, written

_CLAIMS = ("n_drafts", "n_refused", "n_unlabelled", "n_without_draft")
_CLAIMS += ("n_claims", "n_substantive", "n_supported")


def stored(document: Mapping[str, Any]) -> SearchRun:
    """The search run that plain objects describe."""
    settings = document["run"]["settings"]
    usual = {**document["run"], "settings": settings | {"empty_ranking": "zero"}}
    known = {**document, "run": usual, "generated_at": GENERATED_AT}
    if document.get("claims"):
        absent = {**dict.fromkeys(_CLAIMS, 0), "agreement": None}
        drafts = [{"is_refused": False, **draft} for draft in document["claims"]["queries"]]
        known["claims"] = absent | document["claims"] | {"queries": drafts}
    found = msgspec.convert(SearchRun.upgraded(known), SearchRun)
    own = replace(found.run.settings, empty_ranking=settings["empty_ranking"])
    header = replace(found.run, settings=own)
    return replace(found, run=header, generated_at=document["generated_at"])


def _stored(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_stored, value))
    is_run = isinstance(value, dict) and {"run", "queries"} <= value.keys()
    return stored(value) if is_run else value


def _plain(value: Any) -> Any:
    return written(value) if isinstance(value, Record) else value


def _of_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        fields = {name: _stored(value) for name, value in named.items()}
        return function(*map(_stored, given), **fields)

    return called


def _between_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: _plain(_of_runs(function)(*given, **named))


check = _of_runs(guard.check)
diff = _of_runs(change.diff)
label_split = _between_runs(anew.label_split)
noise = _of_runs(noises.noise)
staleness = _of_runs(noises.staleness)
to_markdown = _of_runs(markdown.to_markdown)
transfer = _of_runs(anew.transfer)

changes = _of_runs(comparability.changes)
header = _of_runs(summary.header)
notices = _of_runs(summary.notices)
shown_measures = _of_runs(summary.shown_measures)
metric_value = _of_runs(named_metrics.metric_value)
per_query = _of_runs(named_metrics.per_query)
query_ids = _of_runs(named_metrics.query_ids)
shares = _of_runs(named_metrics.shares)
Side = _of_runs(measured.Side)

delta = _between_runs(baseline.delta)
compare_with_baseline = _between_runs(baseline.compare_with_baseline)
composite_block = _between_runs(composite.composite_of)
without_untrusted = _between_runs(documents.without_untrusted)


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, str]:
    return comparability.differences(stored(a).run, stored(b).run)


def composite_sentence(block: Mapping[str, Any] | None) -> str | None:
    return composite.sentence(msgspec.convert(block, Composite | None))


def abstention_sentences(block: Mapping[str, Any] | None) -> list[str]:
    return abstention.sentences(msgspec.convert(block, Abstention | None))


def read_search_run(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = written(documents.load_search_run(path))
    return found
