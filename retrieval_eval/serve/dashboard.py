"""The dashboard: the latest search run, its difference to the baseline, the review backlog, health.

The HTTP server and the MCP tool return the same document; clients may rely on its JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME
from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.escape import visible
from retrieval_eval.model import json_schema, to_builtins
from retrieval_eval.model.dashboard import (
    Backlog,
    Dashboard,
    Diagnostics,
    LatestRun,
    ListedRun,
    PackageVersion,
    RunDifference,
    ShownRun,
    SkippedFile,
)
from retrieval_eval.model.search_run import Delta, MetricMean, RunSlice, SearchRun
from retrieval_eval.schema import SCHEMAS, version_of
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.search.run.document import load_search_run
from retrieval_eval.search.run.named_metrics import moved_queries

if TYPE_CHECKING:
    from retrieval_eval.search.gold.database import BacklogSource

PATTERN: Final = "eval-report-*.json"

_NUMBERED: Final = re.compile(r"Z-(\d{1,9})\.")

_KEPT = 2048  # far more runs than a folder holds; fewer would read all of them every time

NO_BASELINE: Final = "the run was measured without a baseline"

_MOST_NAMED = 20

DEFAULT_NAME: Final = "backlog"

NOT_CONFIGURED: Final = "no source of the backlog is configured; name one with --backlog"

BacklogReader = Callable[[], Backlog]
"""Reads the backlog; raises ``BadInputError`` when it cannot be read."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TAKEN = (
    frozenset({*Dashboard.__struct_fields__, *Diagnostics.__struct_fields__})
    - {DEFAULT_NAME, f"{DEFAULT_NAME}_reason"}
)  # fmt: skip

_NOT_RECORDED: Final = MetricMean(
    value=None,
    n=0,
    computable=False,
    reason="not_recorded",
    n_not_computable=0,
    not_computable={},
    ci_low=None,
    ci_high=None,
    tie_low=None,
    tie_high=None,
    unjudged_low=None,
    unjudged_high=None,
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a server reads; nothing is read before a request."""

    data: Path
    reports: Path
    backlog: BacklogReader | None = None
    backlog_name: str = DEFAULT_NAME


def dashboard(sources: Sources, *, run: str | None = None, corpus: str | None = None) -> Dashboard:
    """Return the latest measurements.

    Parameters
    ----------
    sources
        Where the runs and the backlog are; without a backlog its block is None, with the reason.
    run
        Label or file name of the run to show instead of the latest; the newest that has it.
    corpus
        Show the metrics of this corpus instead of those over all queries.

    Raises
    ------
    BadInputError
        When there is no such run or corpus.

    Examples
    --------
    >>> nowhere = Sources(Path("no-such-folder"), Path("nor-this"))
    >>> dashboard(nowhere).latest_run is None
    True
    """
    root = sources.data
    runs, skipped = read_runs(root)
    shown = _chosen(runs, run)
    if shown is None and corpus is not None:
        raise BadInputError(f"no corpus {_quoted(corpus)}: {_why_none(root)}")
    backlog, reason = _backlog(sources.backlog)
    return Dashboard(
        latest_run=None if shown is None else _shown(shown, corpus),
        latest_run_reason=None if shown is not None else _why_none(root),
        n_runs=len(runs),
        runs=tuple(map(_listed, runs)),
        skipped=skipped,
        backlog=backlog,
        backlog_reason=reason,
    )


def served(answer: Dashboard | Diagnostics, sources: Sources) -> dict[str, Any]:
    """Return an answer as plain objects, with the backlog under the name of the server."""
    return _named(to_builtins(answer), sources.backlog_name)


def answer_schema(kind: str, sources: Sources) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what is :func:`served`.

    ``kind`` is a key of :data:`retrieval_eval.model.ANSWERS`.

    Examples
    --------
    >>> sources = Sources(Path("runs"), Path("reports"), backlog_name="halacha_backlog")
    >>> "halacha_backlog" in answer_schema("dashboard", sources)["properties"]
    True
    """
    schema = json_schema(kind)
    name = sources.backlog_name
    called = {each: each.replace(DEFAULT_NAME, name, 1) for each in schema["required"]}
    return schema | {
        "properties": _named(schema["properties"], name),
        "required": [
            called[each] if each.startswith(DEFAULT_NAME) else each for each in schema["required"]
        ],
        "additionalProperties": False,
    }


def _named(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    ours = {DEFAULT_NAME: name, f"{DEFAULT_NAME}_reason": f"{name}_reason"}
    return {ours.get(member, member): value for member, value in members.items()}


def _shown(run: Run, corpus: str | None = None) -> ShownRun:
    """Return a run's settings, counts, metrics and difference to the baseline, without queries.

    With ``corpus``, metrics and difference are those of its queries; ``status`` always counts the
    whole run. Raises ``BadInputError`` for a corpus that the run did not measure.
    """
    found = run.found
    part: SearchRun | RunSlice = found
    n_queries = found.status.n_queries
    if corpus is not None:
        part = _slice(found.slices.corpus, corpus)
        n_queries = part.n_queries
    delta = found.delta
    return ShownRun(
        name=run.name,
        label=found.label,
        generated_at=found.generated_at,
        schema_version=found.schema_version,
        corpus=corpus,
        n_queries=n_queries,
        run=found.run,
        status=found.status,
        headline=_headline(part.metrics),
        metrics=part.metrics,
        delta=None if delta is None else _difference(delta, corpus, run.n_top1_changed),
        delta_reason="; ".join(found.delta_withheld or [NO_BASELINE]) if delta is None else None,
    )


def _chosen(runs: Sequence[Run], wanted: str | None) -> Run | None:
    if wanted is None:
        return runs[0] if runs else None
    for run in runs:
        if wanted in {run.found.label, run.name, run.name.removesuffix(".json")}:
            return run
    raise BadInputError(
        f"no run with the label or name {_quoted(wanted)}; there are: "
        + _listing(run.found.label or run.name for run in runs)
    )


def _listed(run: Run) -> ListedRun:
    found = run.found
    return ListedRun(
        name=run.name,
        label=found.label,
        generated_at=found.generated_at,
        n_queries=found.status.n_queries,
        n_failed=found.status.n_failed,
        has_verdict=found.status.has_verdict,
        headline=_headline(found.metrics),
    )


def _headline(metrics: Mapping[str, MetricMean]) -> dict[str, MetricMean]:
    return {name: metrics.get(name, _NOT_RECORDED) for name in HEADLINE}


def _slice(corpora: Mapping[str, RunSlice], corpus: str) -> RunSlice:
    if corpus not in corpora:
        raise BadInputError(
            f"no corpus {_quoted(corpus)} in the run; there are: {_listing(corpora)}"
        )
    return corpora[corpus]


def _quoted(name: str) -> str:
    """Return a name that a client gave, for a message: it may be a text of any length."""
    return visible(repr(name), 80)


def _difference(delta: Delta, corpus: str | None, n_top1_changed: int | None) -> RunDifference:
    metrics = delta.metrics
    if corpus is not None:
        own = delta.slices.corpus.get(corpus)
        metrics = {} if own is None else own.metrics
    return RunDifference(
        baseline=delta.baseline,
        is_comparable=delta.is_comparable,
        reasons=delta.reasons,
        changes=delta.changes,
        n_queries_top1_changed=n_top1_changed,
        n_queries_moved=delta.n_queries_moved,
        metrics=metrics,
    )


def _why_none(root: Path) -> str:
    if not root.is_dir():
        return f"there is no folder {root.name!r}; name the folder of the runs with --data"
    return f"no valid {PATTERN} in {root.name!r}; write one with 'retrieval-eval search run'"


def _listing(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    shown = ", ".join(known[:_MOST_NAMED]) or "none"
    return shown if len(known) <= _MOST_NAMED else f"{shown} and {len(known) - _MOST_NAMED} more"


def diagnostics(sources: Sources) -> Diagnostics:
    """Return the health snapshot: ``status`` is ``degraded`` when there is a reason, else ``ok``.

    A backlog that is not configured is no fault; one that cannot be read is. Missing or broken
    files and databases raise nothing: they are named in ``degraded_reasons``.

    Examples
    --------
    >>> diagnostics(Sources(Path("no-such-folder"), Path("nor-this"))).status
    'degraded'
    """
    shown = dashboard(sources)
    reasons = _degraded(shown, sources.reports)
    if sources.backlog is not None and shown.backlog_reason is not None:
        reasons.append(f"backlog: {shown.backlog_reason}")
    return Diagnostics(
        status="degraded" if reasons else "ok",
        degraded_reasons=tuple(reasons),
        package=PackageVersion(name=NAME, version=__version__),
        schema_versions={kind: version_of(kind) for kind in sorted(SCHEMAS)},
        n_runs=shown.n_runs,
        latest_run=_short(shown.latest_run),
        latest_run_reason=shown.latest_run_reason,
        backlog=shown.backlog,
        backlog_reason=shown.backlog_reason,
    )


def _short(run: ShownRun | None) -> LatestRun | None:
    if run is None:
        return None
    return LatestRun(**{name: getattr(run, name) for name in LatestRun.__struct_fields__})


def _degraded(shown: Dashboard, reports: Path) -> list[str]:
    run = shown.latest_run
    reasons = []
    if run is None:
        reasons.append(f"latest run: {shown.latest_run_reason}")
    elif not run.status.has_verdict:
        why = "; ".join(run.status.reasons)
        reasons.append(f"latest run: {run.name} carries no verdict ({why})")
    reasons += [f"skipped {each.name}: {each.reason}" for each in shown.skipped]
    if not reports.is_dir():
        reasons.append(f"reports: there is no folder {reports.name!r}")
    return reasons


# --- search runs in a folder ---


@dataclass(frozen=True, slots=True)
class Run:
    """One valid search run: its file name, when it was made, and its document without queries.

    ``n_top1_changed`` is the number of queries whose first document differs from the baseline's;
    None when the run was not compared with one.
    """

    name: str
    made_at: datetime
    found: SearchRun
    n_top1_changed: int | None


def read_runs(root: Path) -> tuple[tuple[Run, ...], tuple[SkippedFile, ...]]:
    """Return the valid search runs directly in ``root``, newest first, and what was skipped.

    Newest is the latest ``generated_at``; among equals, the last by its number, then by file name.
    A folder that does not exist holds no run. Files are read again only after they changed.
    """
    runs, skipped = [], []
    for path in sorted(root.glob(PATTERN)):
        found = _read(path)
        if isinstance(found, Run):
            runs.append(found)
        else:
            skipped.append(found)
    runs.sort(key=lambda run: (run.made_at, _number(run.name), run.name), reverse=True)
    return tuple(runs), tuple(skipped)


def _number(name: str) -> int:
    """Return the number of a report among those of one second, by its name; 1 without a number.

    Examples
    --------
    >>> [_number(f"eval-report-20260131T120000Z{end}.json") for end in ("", "-2", "-10.claims")]
    [1, 2, 10]
    """
    found = _NUMBERED.search(name)
    return int(found[1]) if found else 1


def _read(path: Path) -> Run | SkippedFile:
    try:
        state = path.stat()
    except OSError as error:
        return _skipped(path, f"cannot be read ({error.strerror or error})")
    if not S_ISREG(state.st_mode):  # opening a pipe would wait for a writer
        return _skipped(path, "is not a regular file")
    return _load(path, (state.st_ino, state.st_size, state.st_mtime_ns))


def _skipped(path: Path, reason: str) -> SkippedFile:
    return SkippedFile(name=path.name, reason=reason)


@lru_cache(maxsize=_KEPT)
def _load(path: Path, _state: tuple[int, int, int]) -> Run | SkippedFile:
    try:
        found = load_search_run(path)
        moment = datetime.fromisoformat(found.generated_at)
    except BadInputError as error:
        # The dashboard does not reveal where the folder is.
        reason = str(error).removeprefix(f"{path}: ").replace(str(path), path.name)
        return _skipped(path, reason)
    except ValueError:
        expected = "expected a time such as '2026-01-31T12:00:00Z'"
        return _skipped(path, f"/generated_at: {expected}")
    delta, n_changed = found.delta, None
    if delta is not None:
        n_moved = None
        if delta.is_comparable:
            n_changed, n_moved = len(delta.queries_top1_changed), len(moved_queries(delta.queries))
        delta = replace(delta, queries=(), queries_top1_changed=(), n_queries_moved=n_moved)
    # A time without a zone is read as UTC, so that all can be ordered.
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Run(path.name, known, replace(found, queries=(), delta=delta), n_changed)


# --- the review backlog ---


def backlog_reader(source: BacklogSource) -> BacklogReader:
    """Return a reader of the backlog in a source.

    Nothing is opened before the reader is called. For what is raised then, see
    :func:`retrieval_eval.search.gold.database.read_backlog`.
    """

    def read() -> Backlog:
        from retrieval_eval.search.gold.database import read_backlog

        return read_backlog(source)

    return read


def _backlog(reader: BacklogReader | None) -> tuple[Backlog | None, str | None]:
    """Return ``(backlog, None)``, or ``(None, reason)``; unknown counts are never zeros."""
    if reader is None:
        return None, NOT_CONFIGURED
    try:
        return reader(), None
    except RetrievalEvalError as error:
        return None, str(error)


def check_name(name: str) -> str:
    """Return ``name`` when it is a valid name of the backlog block.

    Raises ``BadInputError`` for what is no lower-case identifier or names another field.
    """
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise BadInputError(
            f"{name!r} cannot name the backlog block; expected lower-case letters, digits and "
            f"underscores, and none of: {', '.join(sorted(_TAKEN))}"
        )
    return name
