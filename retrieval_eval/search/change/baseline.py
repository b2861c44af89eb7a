"""The baseline: the committed search run, what changed since, and how it is replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from msgspec.structs import replace

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.io.files import is_there, write_bytes
from retrieval_eval.io.user_files import DATA
from retrieval_eval.model import to_builtins
from retrieval_eval.model.search_run import (
    Delta,
    DeltaBaseline,
    DeltaSlice,
    DeltaSlices,
    MetricChange,
    SearchRun,
)
from retrieval_eval.records import BaselineMismatch
from retrieval_eval.search.change.comparability import (
    changes,
    common_measures,
    differences,
    own_faults,
    truncation,
)
from retrieval_eval.search.change.paired_change import (
    Change,
    Resampling,
    Sides,
    change_of,
    query_contributions,
    restricted,
    slice_of,
    top1_differs,
)
from retrieval_eval.search.run.document import load_search_run, run_bytes
from retrieval_eval.search.run.named_metrics import moved_queries, shares
from retrieval_eval.search.run.trust import incomplete
from retrieval_eval.values import counted

DEFAULT_BASELINE: Final = DATA / "baseline.json"
SLICED_BY: Final = ("corpus", "area")

ACCEPTABLE: Final = get_args(BaselineMismatch)
"""What may differ from the old baseline when that is named: see `differences`, and ``queries``,
where the run did not ask all of the old ones, or, without old ones, of its gold set."""


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline about to be replaced.

    ``run`` is the new one; ``delta`` its change against the old one, None when there is no
    old one, or none to compare with (see `compare_with_baseline`); ``differences`` says by code
    (see :data:`ACCEPTABLE`) what must be accepted first.
    """

    path: Path
    run: SearchRun
    delta: Delta | None
    delta_withheld: Sequence[str]
    differences: Mapping[str, str]


def compare_with_baseline(baseline: SearchRun, run: SearchRun, *, seed: int) -> SearchRun:
    """Return a run with the ``delta`` and ``delta_withheld`` of its comparison with a baseline.

    There is no delta, and ``delta_withheld`` says why, where its numbers would not be those of the
    gold set: one of the two has no verdict, or did not ask queries of the other although it
    searched their corpus. Where one searched fewer corpora by choice, or a pinned list, its own are
    compared.
    """
    withheld = [
        # After it comes what the retriever said of the first failure.
        f"{name} has no verdict: {reason.partition(';')[0]}"
        for name, document in (("the baseline", baseline), ("the run", run))
        for reason in own_faults(document)
    ]
    if not withheld and "gold_set" not in differences(baseline.run, run.run):
        named = (
            ("the run", run, "the baseline", baseline),
            ("the baseline", baseline, "the run", run),
        )
        withheld = [
            left_out for pair in named if (left_out := _left_out(*pair, corpora=_corpora(pair[1])))
        ]
        if _corpora(run).isdisjoint(_corpora(baseline)):
            withheld.append("the run and the baseline searched no corpus in common")
    found = None if withheld else delta(baseline, run, seed=seed)
    return replace(run, delta=found, delta_withheld=tuple(withheld))


def plan_update(path: Path, run: Path) -> Update:
    """Return what replacing the baseline at ``path`` by the run in a file would change.

    Nothing is written. The new baseline is the run without its own delta, and without the seconds
    its answers took.

    Raises
    ------
    BadInputError
        When the run, or the old baseline, is no valid search run.
    NothingToEvaluateError
        When the run has no verdict, holds no query or holds one twice, or when a query failed, be
        it within the limit: later runs would be compared with the luck of one.
    """
    read = load_search_run(run)
    if reasons := own_faults(read) or incomplete(read):
        raise NothingToEvaluateError(f"{run} cannot be the baseline: {'; '.join(reasons)}")
    # A baseline is committed, and each of its lines changes only where an answer did.
    timeless = tuple(replace(query, seconds=None) for query in read.queries)
    new = replace(read, queries=timeless, delta=None, delta_withheld=())
    old = load_search_run(path) if is_there(path) else None
    found = {} if old is None else differences(old.run, new.run)
    if left_out := _not_asked(new, None if "gold_set" in found else old):
        found["queries"] = left_out
    if old is None:
        return Update(path, new, None, (), found)
    compared = compare_with_baseline(old, new, seed=new.run.settings.seed)
    return Update(path, new, compared.delta, compared.delta_withheld, found)


def write_update(update: Update, *, accept: Collection[str] = ()) -> None:
    """Write a planned baseline.

    Parameters
    ----------
    accept
        Codes of the differences that are meant.

    Raises
    ------
    NothingToEvaluateError
        When the runs differ in something that was not accepted.
    BadInputError
        When the file cannot be written.
    """
    open_codes = [code for code in update.differences if code not in accept]
    if open_codes:
        flags = " ".join(f"--accept {code}" for code in open_codes)
        raise NothingToEvaluateError(
            f"{update.path} stays as it is: "
            f"{'; '.join(update.differences[code] for code in open_codes)}. "
            f"If that is meant, add {flags}"
        )
    write_bytes(update.path, run_bytes(to_builtins(update.run)))


def _not_asked(run: SearchRun, old: SearchRun | None) -> str | None:
    """Return what a run left out: of the old baseline's queries, or without one of its gold set."""
    if old is not None:
        return _left_out("the run", run, "the old baseline", old)
    return (found := truncation(run)) and f"the run is truncated: {found}"


def _corpora(run: SearchRun) -> set[str]:
    return {corpus.corpus for corpus in run.run.corpora}


def _left_out(
    name: str,
    run: SearchRun,
    other_name: str,
    other: SearchRun,
    *,
    corpora: Collection[str] | None = None,
) -> str | None:
    """Return how many queries of another run a run did not ask; None where it asked them all.

    With ``corpora`` only the queries of these count, and a run that asked a pinned list, which was
    stated before it, left nothing out.
    """
    asked = {query.id for query in run.queries}
    if corpora is not None and run.run.pinned is not None and truncation(run) is None:
        return None
    wanted = {query.id for query in other.queries if corpora is None or query.corpus in corpora}
    if wanted <= asked:
        return None
    n, of = len(wanted - asked), counted(len(wanted), "query")
    return f"{name} is truncated: it did not ask {n} of the {of} of {other_name}"


def delta(baseline: SearchRun, current: SearchRun, *, seed: int) -> Delta:
    """Return the change from one search run to another, in points (hundredths).

    Queries are paired by id. A measure is compared over the queries that have it in both runs;
    those that have it in one only are counted. ``baseline`` and ``current`` are means over these
    pairs, so their difference is a change of answers and never of queries. A query contributes
    (current - baseline) / n_pairs, and these contributions add up to the change.

    Interval and p-value are those of `compare_paired` (not computable below three and six pairs).
    When the runs did not measure the same thing (see `differences`) there are no numbers.

    Parameters
    ----------
    baseline, current
        Search runs (schema ``search_run``).
    seed
        Seed of resampling; number and coverage are those of the current run.

    Returns
    -------
    Delta
        The ``delta`` block of the current run.
    """
    reasons = differences(baseline.run, current.run)
    block = Delta(
        baseline=DeltaBaseline(
            label=baseline.label,
            generated_at=baseline.generated_at,
            gold_fingerprint=baseline.run.gold_set.fingerprint,
        ),
        is_comparable=not reasons,
        reasons=tuple(f"{code}: {sentence}" for code, sentence in reasons.items()),
        changes=tuple(changes(baseline, current)),
        metrics={},
        slices=DeltaSlices(),
        queries_top1_changed=(),
        queries=(),
    )
    if reasons:
        return block
    before = {query.id: query for query in baseline.queries}
    after = {query.id: query for query in current.queries}
    names = common_measures(baseline.run, current.run)
    sides = {name: (shares(baseline, name), shares(current, name)) for name in names}
    resampling = Resampling.of(current.run.settings, seed)
    whole = _changes_of(sides, resampling)

    def part(dimension: str, value: str) -> DeltaSlice:
        ids = slice_of(baseline, current, dimension, value)
        own = restricted(sides, ids)
        return DeltaSlice(metrics=whole if own == sides else _changes_of(own, resampling))

    slices = {
        dimension: {value: part(dimension, value) for value in getattr(current.slices, dimension)}
        for dimension in SLICED_BY
    }
    rows = query_contributions(sides, after)
    return replace(
        block,
        metrics=whole,
        slices=DeltaSlices(**slices),
        queries_top1_changed=tuple(
            query
            for query in after
            if query in before and top1_differs(before[query], after[query])
        ),
        queries=rows,
        n_queries_moved=len(moved_queries(rows)),
    )


def _changes_of(sides: Sides, resampling: Resampling) -> dict[str, MetricChange]:
    return {name: _block(change_of(*pair, resampling)) for name, pair in sides.items()}


def _block(change: Change) -> MetricChange:
    return MetricChange(
        baseline=change.before,
        current=change.after,
        delta_points=change.delta_points,
        ci_low_points=change.ci_low_points,
        ci_high_points=change.ci_high_points,
        p_value=change.p_value,
        n_pairs=change.n_pairs,
        n_only_baseline=change.n_only_before,
        n_only_current=change.n_only_after,
    )
