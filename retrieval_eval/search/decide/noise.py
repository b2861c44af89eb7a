"""Noise: how much a search run moves when nothing changed, and what changes it can therefore show.

Two kinds: between runs of one system on the same queries, and between samples of queries.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

from msgspec.structs import astuple, replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.artefacts import read_artefact
from retrieval_eval.io.user_files import DATA
from retrieval_eval.model import from_builtins
from retrieval_eval.model.guard import (
    DetectablePoints,
    FirstTenNoise,
    LatencyNoise,
    MetricNoise,
    NoiseFloor,
    NoiseSettings,
    RepeatedRun,
    RunToRun,
    SuggestedThreshold,
)
from retrieval_eval.model.search_run import QueryResult, RankedDocument, SearchRun
from retrieval_eval.records import Progress
from retrieval_eval.schema import SCHEMA_VERSION, check_version, faults
from retrieval_eval.search.change.comparability import (
    common_measures,
    copies,
    differences,
    judge_of,
    own_faults,
    setup_changes,
    system_changes,
    unexplained_tops,
)
from retrieval_eval.search.change.paired_change import (
    Resampling,
    linear,
    median_seconds,
    pairs_of,
)
from retrieval_eval.search.decide import (
    MOST_RUNS,
    QUERY_COUNTS,
    SMALLEST_RESOLUTION,
    by_query,
    detectable_changes,
    noise_band,
    query_sampling,
    run_to_run,
    runs_needed,
)
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.identity import Pinned
from retrieval_eval.search.measure import Request, measured_run
from retrieval_eval.search.run import BASE_MEASURES, HEADLINE
from retrieval_eval.search.run.named_metrics import BLOCK_OF, WHOLE_RUN_ONLY, Share, shares
from retrieval_eval.search.run.summary import DASH
from retrieval_eval.search.run.trust import incomplete
from retrieval_eval.stats.proportions import t_quantile

Rows = list[list[str]]

DEFAULT_NOISE: Final = DATA / "noise.json"
OLDEST: Final = timedelta(days=92)
"""A quarter: noise that was measured longer ago is measured again."""
DEFAULT_REPEATS: Final = 10
LATENCY_RUNS: Final = 30
"""So many measured runs a threshold on times needs: of one more run alike, however times are
distributed, the last is the slowest in 3.2 % of cases, which leaves the rest of 5 % to other rows.
"""
MOST_PAIRED: Final = 20
ALPHA: Final = 0.05
_STEP: Final = 0.1
_LEAST_RUNS: Final = 2
_RARE: Final = 0.01
_FIRST_RESULT_POINTS: Final = 1.0
_FIRST_TEN_POINTS: Final = 50.0
_STILL_POINTS: Final = 10.0
_LATENCY_RATIO: Final = 2.0
_RANKED_FILE: Final = "run:"


def repeated_runs(
    request: Request, *, repeats: int = DEFAULT_REPEATS, progress: Progress | None = None
) -> list[SearchRun]:
    """Run one request several times and return the search runs; no report is written.

    They have what `noise` needs: queries and means, but no slices, intervals, bounds or null
    systems. Documents that several runs returned alike are held once.

    The retriever is opened anew for each. What it keeps outside of itself, such as a cache of
    embeddings on disk, is shared by the runs and cannot be seen in their noise.

    Raises
    ------
    BadInputError
        When there are fewer than two repeats, or the retriever is a ranked file, which answers
        the same every time.
    """
    if repeats < _LEAST_RUNS:
        raise BadInputError(f"{repeats} repeats show no noise; 2 or more are needed")
    if request.retriever.startswith(_RANKED_FILE):
        raise BadInputError(
            "a ranked file answers the same every time; name finished runs of the system instead"
        )

    # The repeats themselves show what a second answer would.
    request = dataclasses.replace(request, ask_twice=0)
    gold = load_gold_set(request.gold_path)

    def one(number: int) -> SearchRun:
        def report(done: int, total: int, name: str) -> None:
            if progress is not None:
                progress(number * total + done, repeats * total, name)

        return measured_run(request, progress=report, is_repeat=True, gold=gold)

    return _sharing(one(number) for number in range(repeats))


def _sharing(runs: Iterable[SearchRun]) -> list[SearchRun]:
    """Return runs that hold once what several of them returned alike."""
    rankings: dict[str, tuple[RankedDocument, ...]] = {}

    def shared(query: QueryResult) -> QueryResult:
        first = rankings.setdefault(query.id, query.ranking)
        if first == query.ranking:
            return replace(query, ranking=first)
        known = {found.doc: found for found in first}
        return replace(
            query,
            ranking=tuple(
                other if (other := known.get(found.doc, found)) == found else found
                for found in query.ranking
            ),
        )

    return [replace(run, queries=tuple(map(shared, run.queries))) for run in runs]


def check_distinct(runs: Sequence[SearchRun]) -> None:
    """Raise NothingToEvaluateError when a list has one run twice (`copies`)."""
    if found := copies(runs):
        raise NothingToEvaluateError(found[0])


def noise(
    runs: Sequence[SearchRun],
    *,
    generated_at: str,
    seed: int,
    change: tuple[SearchRun, SearchRun] | None = None,
    pinned: Pinned | None = None,
) -> NoiseFloor:
    """Return the noise of a system from runs of it that differ in nothing (A/A).

    Parameters
    ----------
    runs
        At least two search runs of one set-up over the same queries.
    generated_at
        The date of the noise file (ISO 8601).
    seed
        Seed of resampling; number and coverage are those of the first run.
    change
        Two runs whose difference is typical of changes to come. How much such a change varies
        from query to query is what hides it, and runs of one system do not know.
    pinned
        Look at these queries only.

    Returns
    -------
    NoiseFloor
        By metric the run-to-run noise (exactly 0 where deterministic),
        the query-sampling noise, the smallest detectable changes, and suggested thresholds.

    Raises
    ------
    NothingToEvaluateError
        When there are fewer than two runs, one has no verdict, they are not of one system, or
        lack a pinned query.
    """
    _check_same(runs)
    if pinned is not None:
        runs = [_of_pinned(run, pinned) for run in runs]
    first = runs[0]
    resampling = Resampling.of(first.run.settings, seed)
    rankings = [_rankings(run) for run in runs]
    n_varied = sum(
        any(ranking[query] != rankings[0][query] for ranking in rankings) for query in rankings[0]
    )
    metrics = {}
    for name in _names(runs):
        table = by_query([_shares(run, name) for run in runs])
        if not table.size:
            continue
        level = run_to_run(table)
        detectable = partial(detectable_changes, table, level.sd_points, _differences(change, name))
        metrics[name] = MetricNoise(
            n_queries=level.n_queries,
            run_to_run=RunToRun(
                **{name: getattr(level, name) for name in RunToRun.__struct_fields__}
            ),
            band_points=noise_band(level, is_deterministic=n_varied == 0),
            query_sampling=query_sampling(table, resampling),
            smallest_detectable_points=detectable(),
            by_n_queries={str(n): detectable(n) for n in QUERY_COUNTS},
        )
    judge = judge_of(first)
    return NoiseFloor(
        schema_version=SCHEMA_VERSION,
        generated_at=generated_at,
        n_runs=len(runs),
        n_queries=len(rankings[0]),
        pinned=None if pinned is None else pinned.fingerprint,
        n_queries_varied=n_varied,
        is_deterministic=n_varied == 0,
        run=first.run,
        judge=judge,
        runs=tuple(RepeatedRun(label=run.label, generated_at=run.generated_at) for run in runs),
        change=None if change is None else tuple(run.label for run in change),
        settings=NoiseSettings(**asdict(resampling)),
        metrics=metrics,
        suggested_thresholds=suggestions(metrics, len(runs)),
        first_ten=_first_ten(runs),
        latency=_latency(runs),
    )


def _first_ten(runs: Sequence[SearchRun]) -> FirstTenNoise:
    """Return how many queries have other first ten documents, though none of their metrics moved.

    Every two of the first :data:`MOST_PAIRED` runs are compared.
    """
    found = [unexplained_tops(*pair) for pair in combinations(runs[:MOST_PAIRED], 2)]
    points = [100 * len(queries) / max(n, 1) for queries, n in found]
    return FirstTenNoise(
        n_pairs=len(points),
        mean_points=fmean(points),
        sd_points=stdev(points) if len(points) > 1 else 0.0,
        largest_points=max(points),
    )


def _latency(runs: Sequence[SearchRun]) -> LatencyNoise | None:
    medians = [median_seconds(run) for run in runs]
    logs = [math.log(one) for one in medians if one]
    machines = {run.run.machine for run in runs}
    if len(logs) < len(runs) or len(machines) > 1 or None in machines:
        return None
    return LatencyNoise(
        n_runs=len(runs),
        median_seconds=math.exp(fmean(logs)),
        sd_of_logs=stdev(logs),
        largest_ratio=math.exp(max(logs) - min(logs)),
    )


def first_ten_limit(found: FirstTenNoise, n_runs: int) -> float:
    """Return the share of queries, in points, that a pair of unchanged runs seldom exceeds."""
    far = found.mean_points + _beyond(n_runs) * found.sd_points
    # Where answers vary at all, a run that is bad as a whole may not have been among these.
    least = _FIRST_TEN_POINTS if found.largest_points else _STILL_POINTS
    return rounded_up(max(least, found.largest_points, far))


def latency_limit(found: LatencyNoise) -> float:
    """Return by how many per cent longer than these runs an unchanged run seldom takes.

    At least twice as long is allowed, for runs of one time on one machine differ less than those
    of other days.
    """
    far = math.exp(_beyond(found.n_runs) * found.sd_of_logs)
    return rounded_up(100 * (max(_LATENCY_RATIO, found.largest_ratio, far) - 1))


def _beyond(n_runs: int) -> float:
    """Return how many standard deviations above the mean a new value lies in 1 % of cases."""
    return t_quantile(n_runs - 1, 1 - _RARE) * math.sqrt(1 + 1 / n_runs)


def _check_same(runs: Sequence[SearchRun]) -> None:
    if len(runs) < _LEAST_RUNS:
        raise NothingToEvaluateError(f"{len(runs)} run shows no noise; name two or more")
    for number, run in enumerate(runs, 1):
        if reasons := own_faults(run) or incomplete(run):
            raise NothingToEvaluateError(f"run {number} has no verdict: {'; '.join(reasons)}")
    if found := system_changes(runs):
        raise NothingToEvaluateError(found[0])


def _shares(run: SearchRun, name: str) -> dict[str, Share]:
    # Claim metrics always cover every query of the run, also those that are not pinned.
    asked = {query.id for query in run.queries}
    return {query: share for query, share in shares(run, name).items() if query in asked}


def _of_pinned(run: SearchRun, pinned: Pinned) -> SearchRun:
    ids = set(pinned.ids)
    kept = tuple(query for query in run.queries if query.id in ids)
    if len(kept) < len(ids):
        missing = min(ids - {query.id for query in kept})
        raise NothingToEvaluateError(
            f"the runs lack {len(ids) - len(kept)} of {len(ids)} pinned queries, the first is "
            f"{missing!r}"
        )
    return replace(run, queries=kept)


def _names(runs: Sequence[SearchRun]) -> list[str]:
    others = [name for name in BLOCK_OF if name not in WHOLE_RUN_ONLY]
    return common_measures(runs[0].run, runs[1].run) + [
        name for name in others if all(shares(run, name) for run in runs)
    ]


def _rankings(run: SearchRun) -> dict[str, list[str]]:
    return {query.id: [found.doc for found in query.ranking] for query in run.queries}


def _differences(change: tuple[SearchRun, SearchRun] | None, name: str) -> list[float] | None:
    """Return by how much a typical change moves a metric, query by query."""
    if change is None:
        return None
    pairs = pairs_of(*(shares(run, name) for run in change)).values()
    old, new = (linear([pair[side] for pair in pairs]) for side in (0, 1))
    return [b - a for a, b in zip(old, new, strict=True)]


def read_noise(path: Path) -> NoiseFloor:
    """Return the noise document in a file.

    Raises
    ------
    BadInputError
        When the file cannot be read or is no valid noise file; the message names JSON pointers.
    """
    if not path.is_file():
        raise BadInputError(f"{path}: no such file; `retrieval-eval search noise` writes one")
    found = read_artefact(path, path.parent)
    if found.problem is not None:
        raise BadInputError(f"not a noise file: {found.problem}")
    check_version(found.value, str(path))
    if wrong := faults(found.value, "search_noise"):
        raise BadInputError(f"{path}: not a valid noise file: {'; '.join(map(str, wrong[:5]))}")
    return from_builtins(found.value, NoiseFloor, str(path), strict=False)


def staleness(noise: NoiseFloor, run: SearchRun) -> list[str]:
    """Return why noise may not hold for a search run, in sentences; empty if it does.

    It was measured on another gold set, under other settings, with another retriever or corpus, or
    more than a quarter before the run.
    """
    found = [
        f"the noise was measured differently: {sentence}"
        for sentence in differences(noise.run, run.run).values()
    ]
    found += [
        f"the noise was measured before this changed: {change}"
        for change in setup_changes(noise.run, run.run)
    ]
    then, now = _moment(noise.generated_at), _moment(run.generated_at)
    if now - then > OLDEST:
        found.append(
            f"the noise was measured {(now - then).days} days before the run, more than a quarter"
        )
    return found


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def suggestions(metrics: Mapping[str, MetricNoise], n_runs: int) -> tuple[SuggestedThreshold, ...]:
    """Return a suggested threshold for each shipped one whose metric was measured.

    It is the shipped change, or, where that is less, what the difference of two runs of the same
    system exceeds in 5 % of comparisons over all these thresholds together (Bonferroni; Student's
    t, for the noise was estimated from ``n_runs``), in tenths of a point. Where nothing moved it
    is the shipped one.
    """
    rows = [
        row
        for row in shipped_thresholds().rows
        if row.max_change is not None and row.unit == "points" and row.metric in metrics
    ]
    found = []
    for row in rows:
        assert row.max_change is not None
        beyond = beyond_noise_points(metrics[row.metric].run_to_run, n_runs, len(rows))
        found.append(
            SuggestedThreshold(
                metric=row.metric,
                direction=row.direction,
                shipped_max_change_points=row.max_change,
                noise_points=beyond,
                max_change_points=max(row.max_change, rounded_up(beyond)),
            )
        )
    return tuple(found)


def beyond_noise_points(level: RunToRun, n_runs: int, n_rows: int) -> float:
    """Return what two runs of one system differ by in 5 % of comparisons of ``n_rows`` metrics."""
    quantile = t_quantile(n_runs - 1, 1 - ALPHA / n_rows)
    return quantile * math.sqrt(2.0) * level.sd_points


def first_result_limit(level: RunToRun, n_runs: int) -> float:
    """Return the change of the first result, in points, that runs of one system seldom exceed."""
    n_rows = len(shipped_thresholds().rows) + 1
    return max(_FIRST_RESULT_POINTS, rounded_up(beyond_noise_points(level, n_runs, n_rows)))


def snippet(noise: NoiseFloor) -> str:
    """Return the suggested thresholds of a noise document as TOML for ``guard.toml``."""
    moment = noise.generated_at[:10]
    lines = [f"# Suggested from {noise.n_runs} runs of one system, {moment}."]
    for row in noise.suggested_thresholds:
        usual = row.shipped_max_change_points
        lines += [
            "",
            f"# Noise reaches {row.noise_points:.2f} points; shipped: {usual:g}.",
            "[[threshold]]",
            f'metric = "{row.metric}"',
            f'direction = "{row.direction}"',
            f"max_change = {row.max_change_points:.1f}",
            'unit = "points"',
        ]
    return "\n".join(lines) + "\n"


def rounded_up(points: float) -> float:
    """Return points, rounded up to tenths."""
    return math.ceil(points / _STEP - 1e-9) / round(1 / _STEP)


def noise_sentences(noise: NoiseFloor) -> list[str]:
    """Return what was repeated, whether it is deterministic, and how many runs a guard needs."""
    use, gold = noise.run.retriever, noise.run.gold_set
    asked = f"{noise.n_queries:,} queries of {gold.name} ({gold.fingerprint[:12]})"
    found = [f"{noise.n_runs} runs of {use.name} over {asked}."]
    if noise.is_deterministic:
        found.append("Deterministic: every query got the same documents in every run.")
    else:
        found.append(
            f"{noise.n_queries_varied} of {noise.n_queries} queries got other documents in "
            "some run."
        )
    if (tops := noise.first_ten) is not None and tops.largest_points:
        found.append(
            f"The first ten documents of {tops.mean_points:.1f} % of queries"
            f" (at most {tops.largest_points:.1f} %) are others in two runs, though no metric is."
        )
    if (latency := noise.latency) is not None:
        found.append(
            f"A query takes {latency.median_seconds:.3g} s (median); runs differ by up to"
            f" {latency.largest_ratio:.2f} times."
        )
    return found + _runs_needed(noise)


def _runs_needed(noise: NoiseFloor) -> list[str]:
    alpha = ALPHA / max(len(noise.suggested_thresholds), 1)
    words = []
    for name in HEADLINE:
        band = noise.metrics.get(name)
        if band is None or not band.band_points:
            continue
        n = runs_needed(SMALLEST_RESOLUTION, band.band_points, noise.n_runs - 1, alpha=alpha)
        words.append(f"{name} " + (f"more than {MOST_RUNS}" if n is None else f"{n:,}"))
    what = f"Runs on either side whose means show a change of {SMALLEST_RESOLUTION:g} points"
    return [f"{what} to the guard: {', '.join(words)}."] if words else []


def shown_metrics(noise: NoiseFloor) -> list[str]:
    """Return the metrics of the short list: base measures, and all that are no measures."""
    return [name for name in noise.metrics if name in BASE_MEASURES or "@" not in name]


def level_rows(noise: NoiseFloor, names: Sequence[str]) -> Rows:
    """Return noise between runs and between samples of queries, and what can be detected."""
    rows = [
        [
            *("metric", "queries", "run to run, SD", "largest", "sampling, SD"),
            *("detectable: runs", "change", "unrelated"),
        ]
    ]
    for name in names:
        metric = noise.metrics[name]
        level = metric.run_to_run
        is_still = level.is_deterministic
        detectable = metric.smallest_detectable_points
        rows.append(
            [
                name,
                str(metric.n_queries),
                "deterministic" if is_still else _points(level.sd_points),
                _points(level.largest_delta_points),
                _points(metric.query_sampling.level_sd_points),
                *map(_points, astuple(detectable)),
            ]
        )
    return rows


def detectable_rows(noise: NoiseFloor) -> Rows:
    """Return the smallest detectable changes of the headline measures by number of queries.

    The range is that from runs alone to unrelated systems; the number between, where there is
    one, is for the given change.
    """
    names = [name for name in HEADLINE if name in noise.metrics]
    rows = [["queries", *names]]
    if not names:
        return rows
    for count in noise.metrics[names[0]].by_n_queries:
        cells = [noise.metrics[name].by_n_queries[count] for name in names]
        rows.append([f"{int(count):,}", *map(_range, cells)])
    return rows


def _range(detectable: DetectablePoints) -> str:
    shown = [_points(value) for value in astuple(detectable) if value is not None]
    return " … ".join(shown) or DASH


def _points(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"
