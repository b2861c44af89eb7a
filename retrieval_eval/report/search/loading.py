"""From the file of a search run, its baseline, backlog and gold set to frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.backlog import read_backlog
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.gold.relabel import read_mapping
from retrieval_eval.io.files import probe, read_json
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.search.demo import (
    DEMO,
    DEMO_OUTPUT,
    MeasuredDemo,
    Sources,
    is_demo,
    measured_demo,
)
from retrieval_eval.report.search.diff import SearchDiff
from retrieval_eval.report.search.pages import Places, shown_names
from retrieval_eval.report.search.run import Relabelled, SearchRun
from retrieval_eval.report.search.summaries import PARTS
from retrieval_eval.search.baseline import DEFAULT_BASELINE, compare_with_baseline
from retrieval_eval.search.diff import DEFAULT_FLAG_POINTS, diff
from retrieval_eval.search.guard.files import guard_of
from retrieval_eval.search.guard.justification import read_justifications
from retrieval_eval.search.guard.pinned import read_pinned
from retrieval_eval.search.guard.thresholds import read_thresholds
from retrieval_eval.search.noise import read_noise
from retrieval_eval.search.run_files import load_search_run
from retrieval_eval.search.run_names import named_run
from retrieval_eval.values import DEFAULT_SEED

DATA: Final = "data/eval"
_NUMBERED: Final = re.compile(r"eval-report-(\d{8}T\d{6}Z)(?:-(\d{1,9}))?\.json$")


def load_search(
    run: str | Path,
    *,
    baseline: str | Path = "",
    backlog: str = "",
    gold: str | Path = "",
    corpus: str | Path = "",
    noise: str | Path = "",
    thresholds: str | Path = "",
    justification: str | Path = "",
    mapping: str | Path = "",
    old_gold: str | Path = "",
    where: str = "",
    privacy: bool = False,
    pages: bool = False,
) -> SearchRun:
    """Return a search run as data frames.

    Parameters
    ----------
    run
        The file of a search run, or ``demo``: the built-in demonstration, which is written to
        ``reports/search-demo/data`` and measured twice. Where a file has that name it is refused.
    baseline
        A search run to compare with, in place of the change that the run recorded. Without it,
        ``baseline.json`` beside the run is read when it is what the run was compared with.
    backlog
        The review queue: a database URL, a JSONL file of items, or a ``.json`` file of counts.
        Without it, what the run recorded.
    gold
        The gold set that was asked. With it the report names relevant documents that were not
        retrieved, counts judgements by grade, says how far labellers agree, and which documents
        to judge next. Another one than the run's is not used.
    corpus
        The documents that were searched, to see which labels they have left behind.
    noise
        A noise file, to show changes beside what mere repetition does.
    thresholds
        Thresholds of the guard, in place of the shipped ones.
    justification
        Breaches that were accepted in writing. The day of the run is the one they must be valid
        on, so that a report of it stays the same.
    mapping, old_gold
        What re-labelling wrote (``relabel.json``), and the gold set that the baseline was measured
        with: they tell what moved labels did to every metric from what retrieval did. Both need
        ``baseline`` and ``gold``.
    where
        Only the queries that pass a condition, with everything measured anew from these; see
        :meth:`SearchRun.filter`.
    privacy
        Leave out texts of queries and drafts, messages of the retriever, how it was opened, and
        the names of labellers.
    pages
        Let names of queries and documents lead to the pages that ``retrieval-eval search report``
        writes beside the report.

    Returns
    -------
    SearchRun
        The frames of :data:`retrieval_eval.report.columns.SEARCH_FRAMES`, each built when
        first used.

    Raises
    ------
    BadInputError
        When a file does not exist or is of the wrong kind (it names file and place), or the
        condition cannot be read or leaves no query.
    """
    limits = (noise, thresholds, justification)
    given = (run, baseline, backlog, gold, corpus, *limits, mapping, old_gold)
    chosen = Sources(*(as_text(value) for value in given))
    if not chosen.run:
        raise BadInputError(
            "no search run was given: name its file, or say demo for the built-in demonstration, "
            "which is simulated"
        )
    if is_demo(chosen.run):
        chosen = measured_demo(DEMO_OUTPUT).sources
    path = Path(chosen.run)
    stored = load_search_run(path)
    before = _baseline(stored, path, chosen.baseline)
    if chosen.baseline and before is not None:
        stored = _with_baseline(before, stored)
    labels, problem = _gold(stored, chosen.gold)
    found = SearchRun(
        stored,
        path=path,
        baseline=before,
        backlog=load_backlog(chosen.backlog) if chosen.backlog else None,
        gold=labels,
        gold_problem=problem,
        corpus=read_corpus(Path(chosen.corpus)) if chosen.corpus else None,
        noise=read_noise(Path(chosen.noise)) if chosen.noise else None,
        thresholds=read_thresholds(Path(chosen.thresholds)) if chosen.thresholds else None,
        justifications=read_justifications(Path(chosen.justification))
        if chosen.justification
        else (),
        relabelled=_relabelled(chosen, has_sides=labels is not None and before is not None),
        privacy=privacy,
        places=Places.of(*shown_names(stored, before, labels)) if pages else None,
    )
    found.label_effects  # noqa: B018  a mapping that does not fit is named now, not in a cell
    return found.filter(where) if where else found


@dataclass(frozen=True, slots=True)
class DiffSources:
    """What is compared, and how; an empty text means none. ``accept`` is comma-separated."""

    a: str
    b: str = ""
    data: str = DATA
    accept: str = ""
    flag_points: float = DEFAULT_FLAG_POINTS
    queries: str = ""
    noise: str = ""
    seed: int = DEFAULT_SEED

    @property
    def is_demo(self) -> bool:
        """Whether the built-in demonstration is meant, which has both runs."""
        return self.a == DEMO and not self.b

    def with_demo(self, made: MeasuredDemo) -> DiffSources:
        """Return the same with the runs of the measured demonstration, and its noise."""
        found = made.sources
        return replace(self, a=found.baseline, b=found.run, noise=self.noise or found.noise)


def load_diff(
    a: str | Path,
    b: str | Path = "",
    *,
    data: str | Path = DATA,
    accept: str | Sequence[str] = "",
    flag_points: float = DEFAULT_FLAG_POINTS,
    queries: str | Path = "",
    noise: str | Path = "",
    seed: int = DEFAULT_SEED,
    where: str = "",
    privacy: bool = False,
    pages: bool = False,
) -> SearchDiff:
    """Return what changed from one search run to another, as data frames.

    Parameters
    ----------
    a, b
        Files of search runs, or labels of runs in ``data``. ``demo`` for ``a`` alone is the
        built-in demonstration, which is written to ``reports/search-demo/data`` and measured
        twice; beside a ``b`` it is a label as any other.
    data
        The folder whose reports are known by their labels.
    accept
        Fingerprints that may differ, by name (see `retrieval_eval.search.comparability`), as a
        sequence or separated by commas.
    flag_points
        Metrics that moved by more are flagged.
    queries
        A pinned list, shown as a slice of its own.
    noise
        A noise file, to show changes beside what mere repetition does.
    seed
        Seed of resampling.
    where, privacy, pages
        As for :func:`load_search`; the condition is over the columns of ``diff.queries``.

    Raises
    ------
    BadInputError
        When a file or label does not exist or is of the wrong kind.
    NothingToEvaluateError
        When the runs did not measure the same thing, and that was not accepted.
    """
    chosen = DiffSources(
        as_text(a),
        as_text(b),
        data=as_text(data),
        accept=accept if isinstance(accept, str) else ",".join(accept),
        flag_points=flag_points,
        queries=as_text(queries),
        noise=as_text(noise),
        seed=seed,
    )
    if chosen.is_demo:
        chosen = chosen.with_demo(measured_demo(DEMO_OUTPUT))
    return read_diff(chosen, where=where, privacy=privacy, pages=pages)


def read_diff(
    sources: DiffSources, *, where: str = "", privacy: bool = False, pages: bool = False
) -> SearchDiff:
    """Do what `load_diff` does, for runs that lie in files."""
    if not (sources.a and sources.b):
        given = "only one was" if sources.a or sources.b else "none was"
        raise BadInputError(
            f"name two search runs, a and b; {given} given (a = demo alone is the built-in "
            "demonstration, which is simulated)"
        )
    first, second = (named_run(name, Path(sources.data)) for name in (sources.a, sources.b))
    pinned = read_pinned(Path(sources.queries)).ids if sources.queries else None
    document = diff(
        first.run,
        second.run,
        accept=[code for code in map(str.strip, sources.accept.split(",")) if code],
        flag_points=sources.flag_points,
        seed=sources.seed,
        pinned=pinned,
    )
    found = SearchDiff(
        document,
        first.run,
        second.run,
        noise=read_noise(Path(sources.noise)) if sources.noise else None,
        notices=(*first.notices, *second.notices),
        guard=guard_of(first.path, second.path, Path(sources.noise) if sources.noise else None),
        pinned=pinned,
        privacy=privacy,
        places=Places.of(*shown_names(second.run, first.run, None)) if pages else None,
    )
    return found.filter(where) if where else found


def latest_run(folder: Path) -> Path:
    """Return the newest ``eval-report-<utc>.json`` in a folder, by the time in its name.

    Raises
    ------
    BadInputError
        When the folder holds none.
    """
    found = {path: _NUMBERED.match(path.name) for path in folder.glob("eval-report-*.json")}
    ordered = sorted((m[1], int(m[2] or 1), path) for path, m in found.items() if m)
    if not ordered:
        raise BadInputError(
            f"{folder} holds no eval-report-<utc>.json; `retrieval-eval search run` writes one, "
            "or name the file of a search run"
        )
    return ordered[-1][2]


def _relabelled(chosen: Sources, *, has_sides: bool) -> Relabelled | None:
    if not (chosen.mapping or chosen.old_gold):
        return None
    if not (chosen.mapping and chosen.old_gold and has_sides):
        raise BadInputError(
            "to tell labels that moved from retrieval that did, name both gold sets, the mapping "
            "between them, and the baseline"
        )
    old = load_gold_set(Path(chosen.old_gold))
    return old, read_mapping(Path(chosen.mapping), old)


def as_text(value: Any) -> str:
    """Return the name of a file as text; raises ``BadInputError`` for anything else."""
    if not isinstance(value, str | Path):
        raise BadInputError(f"a file is given as text, not as {value!r}")
    return str(value)


def load_backlog(source: str) -> Mapping[str, Any]:
    """Return the counts of a review queue.

    Parameters
    ----------
    source
        A database URL or JSONL file of items, which are counted, or a ``.json`` file that holds
        what ``retrieval-eval gold backlog --json`` printed.

    Raises
    ------
    BadInputError
        When the source cannot be read, or the counts of a file do not sum to its total.
    """
    if "://" in source or not source.endswith(".json"):
        return to_builtins(read_backlog(source))
    path = Path(source)
    found = read_json(path, path.parent)
    if found.problem is not None:
        raise BadInputError(found.problem)
    block = found.value if isinstance(found.value, Mapping) else {}
    wanted = (*PARTS, "total")
    counts = {key: n for key in wanted if type(n := block.get(key)) is int and n >= 0}
    absent = [key for key in wanted if key not in counts]
    if absent:
        raise BadInputError(
            f"{path.name}: /{absent[0]}: expected a count; `retrieval-eval gold backlog --json` "
            "writes such a file"
        )
    if sum(counts[key] for key in PARTS) != counts["total"]:
        raise BadInputError(f"{path.name}: /total: the counts by status do not sum to it")
    return dict(block)


def _baseline(run: StoredRun, path: Path, named: str) -> StoredRun | None:
    """Return the baseline that was named, else the one that the run was compared with.

    It is looked for beside the run, and where the guard takes it from.
    """
    if named:
        return load_search_run(Path(named))
    if run.delta is None:
        return None
    wanted = run.delta.baseline
    for place in (path.parent / DEFAULT_BASELINE.name, DEFAULT_BASELINE):
        if not probe(place.is_file):
            continue
        try:
            found = load_search_run(place)
        except BadInputError:
            continue  # the file was not named, so it may be anything
        if (
            found.label == wanted.label
            and found.generated_at == wanted.generated_at
            and found.run.gold_set.fingerprint == wanted.gold_fingerprint
        ):
            return found
    return None


def _with_baseline(baseline: StoredRun, run: StoredRun) -> StoredRun:
    try:
        return compare_with_baseline(baseline, run, seed=run.run.settings.seed)
    except ValueError as error:  # settings of a run that were changed by hand
        raise BadInputError(f"the run cannot be compared with its baseline: {error}") from error


def _gold(run: StoredRun, named: str) -> tuple[GoldSet | None, str | None]:
    if not named:
        return None, None
    found = load_gold_set(Path(named))
    wanted = run.run.gold_set.fingerprint
    if found.fingerprint == wanted:
        return found, None
    return None, (
        f"The gold set at hand ({found.fingerprint[:12]}) is not the one that was asked "
        f"({wanted[:12]}), so it was not used"
    )
