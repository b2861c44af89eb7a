"""The guard itself: search runs of two systems and thresholds in, a verdict out.

First every threshold's metric is measured, then evidence is found that its change is real (measured
noise, or the queries), then the rule, the bounds and the justifications give each row a verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from typing import Any, Final, Literal

from msgspec import structs

from retrieval_eval.model import guard as model
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.guard import (
    DecisionRule,
    GuardedRun,
    GuardRow,
    GuardRuling,
    GuardSlice,
    Mover,
    NoiseFloor,
    SliceRuling,
)
from retrieval_eval.model.search_diff import Cause
from retrieval_eval.model.search_run import QueryResult, RankedDocument, SearchRun
from retrieval_eval.ranking.measures import Measure, parse_measure
from retrieval_eval.schema import version_of
from retrieval_eval.search.change.causes import causes
from retrieval_eval.search.change.comparability import (
    judge_faults,
    judge_of,
    other_tops,
    run_faults,
    run_notes,
)
from retrieval_eval.search.change.paired_change import Resampling, moved_between
from retrieval_eval.search.decide import (
    BREACH,
    HOLDS,
    MOST_RUNS,
    UNDECIDED,
    Decided,
    NoiseLevel,
    Rule,
    beyond_noise,
    decide,
    noise_of_part,
    noise_test,
    resolution,
    runs_needed,
)
from retrieval_eval.search.decide.guard.justification import Justification
from retrieval_eval.search.decide.guard.measured import (
    Measured,
    Side,
    latency_note,
    measure,
    measure_pair,
)
from retrieval_eval.search.decide.guard.rendering import headline
from retrieval_eval.search.decide.noise import staleness
from retrieval_eval.search.decide.thresholds import PINNED, Part, Threshold, Thresholds
from retrieval_eval.search.gold.identity import Pinned, pinning_faults
from retrieval_eval.search.run.named_metrics import (
    BLOCK_OF,
    FIRST_TEN,
    LATENCY,
    OF_TWO_RUNS,
    block_of,
    query_ids,
)
from retrieval_eval.search.run.random_documents import random_notes
from retrieval_eval.search.run.scoring import NO_NAME
from retrieval_eval.search.run.trust import trust_of
from retrieval_eval.stats.proportions import clopper_pearson
from retrieval_eval.values import DEFAULT_SEED, Value, counted

RowVerdict = Literal["pass", "within_noise", "breach", "overridden", "no_verdict", "skipped"]
RunVerdict = Literal["pass", "breach", "no_verdict"]
DecidedBy = Literal["threshold", "determinism", "noise", "significance"]

N_MOVERS: Final = 10
_SEVERITY: Final[Sequence[RowVerdict]] = (
    *("skipped", "pass", "within_noise", "overridden", "no_verdict", "breach"),
)
_CLASS: Final[Mapping[RowVerdict, str]] = {"within_noise": "pass"}
_END_WORDS: Final[Mapping[RowVerdict, str]] = {
    "within_noise": "pass",
    "no_verdict": "no verdict",
    "skipped": "not applied",
}
_EXIT_CODES: Final[Mapping[RunVerdict, Literal[0, 1, 2]]] = {
    "pass": 0,
    "breach": 1,
    "no_verdict": 2,
}
_MEASURE: Final = "`retrieval-eval search noise --retriever SPEC` measures it"


def check(
    runs: Sequence[SearchRun],
    baselines: Sequence[SearchRun],
    thresholds: Thresholds,
    *,
    today: date,
    gold: GoldSet | None = None,
    pinned: Pinned | None = None,
    lists: Mapping[str, Pinned] | None = None,
    justifications: Sequence[Justification] = (),
    noise: NoiseFloor | None = None,
    notes: Sequence[str] = (),
    seed: int = DEFAULT_SEED,
) -> GuardRuling:
    """Compare one or more search runs with a baseline.

    Parameters
    ----------
    runs, baselines
        Search runs (schema ``search_run``), at least one of each. Several on a side are runs of one
        system, and how much they vary tells, beside ``noise``, what is real.
    thresholds
        What may change by how much.
    today
        The day on which justifications must be valid.
    gold
        The gold set that both runs measured; needed for pinned lists only.
    pinned
        Look at these queries only.
    lists
        Pinned lists that are slices of thresholds, by the path written there.
    justifications
        Breaches that were accepted in writing.
    noise
        The noise of the system (schema ``search_noise``), which decides under the shipped rule.
    notes
        More to know, such as why the noise is stale.
    seed
        Seed of intervals and tests.
    """
    sides = Side(runs), Side(baselines)
    run = runs[0]
    scope = None if pinned is None else frozenset(pinned.ids)
    faults = [] if pinned is None else _pinning(pinned, gold, run)
    faults += run_faults(runs, baselines, scope)
    asked = baselines[0].run.pinned
    settings = run.run.settings
    groups = [
        [row] if faults else _with_slices(row, sides[1].first, scope) for row in thresholds.rows
    ]
    known_noise = usable_noise(noise, *sides, pinned)
    measured = []
    for threshold in (one for group in groups for one in group):
        ids, why = _ids_of(threshold, run, scope, lists or {}, gold)
        if faults or why:
            measured.append(_missing(threshold, faults=tuple(faults or why)))
        elif threshold.slices and threshold.part is None:
            why = [f"no {_listed(threshold)} has {threshold.min_queries} queries, and is not all"]
            measured.append(_missing(threshold, not_applied=why[0]))
        elif threshold.metric in OF_TWO_RUNS:
            measured.append(measure_pair(threshold, *sides, ids, known_noise.document))
        else:
            resampling = Resampling.of(settings, seed)
            measured.append(measure(threshold, *sides, ids, resampling))
    found = rulings(measured, thresholds, justifications, today, known_noise)
    weak = random_notes(baselines[0], {row.metric for row in thresholds.rows})
    notes = [*run_notes(runs, baselines), *weak, *notes, *_unused(found, justifications, today)]
    if any(one.evidence and one.evidence.decided_by == "determinism" for one in found):
        notes.append(_repeated(sides))
    named = {row.metric for row in thresholds.rows}
    if not faults and (others := other_tops(baselines[0], run, scope)) is not None:
        notes.append(others)
    if LATENCY not in named and (slower := latency_note(run, known_noise.document)) is not None:
        notes.append(f"{slower}; it decides nothing")
    if noise is not None and known_noise.document is None:
        notes.append(f"{known_noise.why}, so it decided nothing")
    rest = iter(found)
    return _verdict(
        [_grouped(list(islice(rest, len(group))), thresholds.alpha, sides) for group in groups],
        thresholds,
        today,
        seed=seed,
        reasons=tuple(faults),
        notes=tuple(notes),
        run=_side(sides[0]),
        baseline=_side(sides[1]),
        confidence=settings.confidence,
        n_pinned=len(scope) if scope is not None else asked.n_queries if asked else None,
        n_moved=None if faults else len(moved_between(baselines[0], run, scope)),
        explained=()
        if faults
        else causes(baselines[0], run, breached=_breached(found), within=scope),
    )


def _breached(found: Sequence[Ruling]) -> set[str]:
    return {one.measured.threshold.metric for one in found if one.verdict == "breach"}


def _repeated(sides: tuple[Side, Side]) -> str:
    """Return what it rests on that both systems count as deterministic."""
    trusts = [trust_of(run) for side in sides for run in side.runs]
    # Mostly the same queries are asked twice on either side, so the counts do not add up.
    n = min(trust.n_asked_twice for trust in trusts)
    if not n:
        return "the retriever says that it is deterministic, and no query was asked twice"
    high = clopper_pearson(0, n, confidence=0.95).high.value or 0.0
    text = f"{counted(n, 'query')} of each run asked twice, all with the same answer, so at most "
    return f"{text}{high:.0%} of queries (95%) vary: any change beyond a threshold counts as real"


def _with_slices(
    threshold: Threshold, baseline: SearchRun, scope: frozenset[str] | None
) -> list[Threshold]:
    """Return a threshold for each slice it declares, itself where it declares or finds none.

    A slice that holds every query looked at is none: the threshold of the whole judges it.
    """
    sizes = Counter(
        (dimension, getattr(query, dimension) or NO_NAME)
        for query in baseline.queries
        if scope is None or query.id in scope
        for dimension in threshold.slices
    )
    n = len(baseline.queries) if scope is None else len(scope)
    parts = [Part(*key) for key, size in sizes.items() if threshold.min_queries <= size < n]
    return [replace(threshold, part=part) for part in parts] or [threshold]


def _listed(threshold: Threshold) -> str:
    return " or ".join(threshold.slices)


def _missing(threshold: Threshold, faults: tuple[str, ...] = (), not_applied: str = "") -> Measured:
    gap = Value.missing("no_computable_values")
    return Measured(threshold, gap, gap, faults=faults, not_applied=not_applied)


def _grouped(found: Sequence[Ruling], alpha: float, sides: tuple[Side, Side]) -> GuardRow:
    """Return the row of a threshold: that of its worst slice where it declares slices."""
    ordered = sorted(found, key=_badness, reverse=True)
    worst = ordered[0]
    row = _row(worst, alpha, _movers(worst.measured, *sides))
    if not worst.measured.threshold.slices:
        return row
    judged = [one for one in ordered if one.measured.threshold.part is not None]
    n_breaches = sum(one.verdict == "breach" for one in judged)
    if n_breaches > 1:
        row = structs.replace(row, reasons=(*row.reasons, f"{n_breaches} slices breach"))
    return structs.replace(
        row,
        worst_of=worst.measured.threshold.slices,
        slices=tuple(map(_slice_ruling, judged)),
    )


def _badness(found: Ruling) -> tuple[int, float]:
    m = found.measured
    return _SEVERITY.index(found.verdict), (m.harm_points or 0.0) - (m.limit_points or 0.0)


def _slice_ruling(found: Ruling) -> SliceRuling:
    m = found.measured
    assert m.threshold.part is not None
    return SliceRuling(
        dimension=m.threshold.part.dimension,
        value=m.threshold.part.value,
        n_queries=m.n_pairs,
        change_points=m.change_points,
        p_adjusted=found.p_adjusted,
        verdict=found.verdict,
    )


def no_verdict(thresholds: Thresholds, reasons: Sequence[str], today: date) -> GuardRuling:
    """Return the verdict on a run or a baseline that cannot even be read as one."""
    found = [
        Ruling(_missing(threshold, tuple(reasons)), "no_verdict", tuple(reasons))
        for threshold in thresholds.rows
    ]
    rows = [_row(one, thresholds.alpha) for one in found]
    return _verdict(rows, thresholds, today, reasons=tuple(reasons))


def _verdict(
    rows: Sequence[GuardRow],
    thresholds: Thresholds,
    today: date,
    *,
    reasons: tuple[str, ...],
    notes: tuple[str, ...] = (),
    seed: int = DEFAULT_SEED,
    run: GuardedRun | None = None,
    baseline: GuardedRun | None = None,
    confidence: float | None = None,
    n_pinned: int | None = None,
    n_moved: int | None = None,
    explained: tuple[Cause, ...] = (),
) -> GuardRuling:
    verdict = _overall(rows, reasons)
    return GuardRuling(
        schema_version=version_of("search_guard"),
        verdict=verdict,
        exit_code=_EXIT_CODES[verdict],
        headline=headline(verdict, rows),
        reasons=reasons,
        notes=notes,
        decision=DecisionRule(
            rule=thresholds.rule,
            alpha=thresholds.alpha,
            seed=seed,
        ),
        today=today.isoformat(),
        run=run,
        baseline=baseline,
        confidence=confidence,
        n_pinned=n_pinned,
        rows=tuple(rows),
        n_queries_moved=n_moved,
        causes=explained,
    )


def _overall(rows: Sequence[GuardRow], reasons: Sequence[str]) -> RunVerdict:
    """Return ``breach`` where a row is one, else ``no_verdict`` where one could not be checked.

    ``pass`` needs at least one row that passed.
    """
    found = {row.verdict for row in rows}
    if reasons or not found - {"skipped"}:
        return "no_verdict"
    if "breach" in found:
        return "breach"
    return "no_verdict" if "no_verdict" in found else "pass"


def _pinning(pinned: Pinned, gold: GoldSet | None, run: SearchRun) -> list[str]:
    asked = {query.id for query in run.queries}
    if gold is not None and gold.fingerprint != run.run.gold_set.fingerprint:
        return ["the run measured another gold set than the one given"]
    return pinning_faults(pinned, gold, asked)


def _ids_of(
    threshold: Threshold,
    run: SearchRun,
    scope: frozenset[str] | None,
    lists: Mapping[str, Pinned],
    gold: GoldSet | None,
) -> tuple[frozenset[str] | None, list[str]]:
    """Return the queries a threshold looks at, and why it cannot."""
    part = threshold.part
    if part is None:
        return scope, []
    if part.dimension == PINNED:
        pinned = lists[part.value]
        ids, why = frozenset(pinned.ids), _pinning(pinned, gold, run)
    else:
        ids = query_ids(run, part.dimension, part.value)
        why = [] if ids else [f"the run asked no query of {part}"]
    if scope is not None:
        ids &= scope
        if not ids and not why:
            why = [f"none of the pinned queries is of {part}"]
    return ids, why


def _unused(rulings: Sequence[Ruling], given: Sequence[Justification], today: date) -> list[str]:
    used = [one.justification for one in rulings]
    breached = [one.measured.threshold for one in rulings if one.verdict == "breach"]
    found = []
    for one in given:
        if any(one is other for other in used):
            continue
        name = ", ".join(one.names)
        is_about_breach = any(one.covers(threshold) for threshold in breached)
        if not is_about_breach:
            found.append(f"the justification of {name} was not needed")
        elif not one.is_valid(today):
            found.append(f"the justification of {name} expired on {one.expires}: it counts no more")
    return found


def _side(side: Side) -> GuardedRun:
    doc = side.first
    return GuardedRun(
        label=doc.label,
        generated_at=doc.generated_at,
        gold_fingerprint=doc.run.gold_set.fingerprint,
        n_queries=len(doc.queries),
        n_runs=len(side.runs),
    )


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise that a guard may use: a noise document, or in a sentence why there is none.

    ``is_of_all`` tells whether it was measured over the very queries the guard looks at; the noise
    of a slice follows from it (`noise_of_part`), and that of a deterministic system holds for any
    queries. ``judge_faults`` say why it does not hold
    for the claims. Where a side has several runs, ``sides`` shows noise too.
    """

    document: NoiseFloor | None
    why: str
    sides: tuple[Side, Side]
    is_of_all: bool = False
    judge_faults: tuple[str, ...] = ()

    @property
    def n_runs(self) -> tuple[int, int]:
        """How many runs either side has."""
        return len(self.sides[0].runs), len(self.sides[1].runs)

    def gap(self, m: Measured) -> str | None:
        """Return why there is no measured noise to compare a change with, None where there is."""
        name = m.threshold.metric
        if self.document is None:
            return f"{self.why}; {_MEASURE}"
        found = self.document.metrics.get(name)
        if found is None:
            return (
                f"the noise of {name} was not measured; `search noise RUN RUN…` takes finished runs"
            )
        if self.judge_faults and block_of(name) == "claims":
            return f"noise was measured differently: {self.judge_faults[0]}"
        if found.band_points == 0 or self.is_of_all:
            return None
        return "noise was measured over other queries; `search noise --queries` takes a pinned list"

    def level(self, m: Measured) -> NoiseLevel | None:
        """Return the measured noise of a change, None where there is none (`gap`).

        Where the runs of a side vary too, only noise of the same queries goes with theirs.
        """
        is_of_same = self.is_of_all and m.threshold.part is None
        if self.document is None or self.gap(m) is not None or (m.spreads and not is_of_same):
            return None
        found = self.document.metrics[m.threshold.metric]
        level = NoiseLevel(
            n_runs=self.document.n_runs,
            n_queries=found.n_queries,
            **structs.asdict(found.run_to_run),
        )
        if m.threshold.part is None or not m.n_pairs or not found.band_points:
            return level
        return noise_of_part(level, m.n_pairs, m.error_points)

    @property
    def is_repeatable(self) -> bool:
        """Whether all runs are of retrievers that are deterministic, as far as is known."""
        is_known = self.document is None or self.document.is_deterministic
        trusts = [trust_of(run) for side in self.sides for run in side.runs]
        return is_known and all(trust.is_deterministic for trust in trusts)

    def is_deterministic(self, level: NoiseLevel | None) -> bool:
        """Return whether no answer ever moved in the runs that noise is taken from."""
        is_still = level is None or self.document is None or self.document.is_deterministic
        return bool(is_still) and all(side.is_still for side in self.sides)


def usable_noise(
    document: NoiseFloor | None, run_side: Side, baseline_side: Side, pinned: Pinned | None
) -> Noise:
    """Return the noise that is valid for the runs of two sides.

    It must have been measured with the set-up of either: to say that a change did nothing is to
    say that both are one system. It is stale a quarter before the run, whichever it was.
    """
    both = run_side, baseline_side
    run, baseline = (side.first for side in both)
    if document is None:
        return Noise(None, "no noise was measured", both)
    docs = (run, structs.replace(baseline, generated_at=run.generated_at))
    if all(staleness(document, doc) for doc in docs):
        return Noise(None, "the noise file is stale", both)
    if pinned is None:
        is_of_all = document.pinned is None and document.n_queries == len(run.queries)
    else:
        is_of_all = document.pinned == pinned.fingerprint
    judge_problems = judge_faults(document.judge, judge_of(run))
    return Noise(document, "", both, is_of_all, tuple(judge_problems))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether a change is real: one-sided p-value, standard error, degrees of freedom.

    ``gap`` says why there is no verdict where the rule asks for noise that is not there. Of noise,
    ``band_points`` is the standard deviation of one run, ``n_runs`` counts the runs it is known
    from, ``elsewhere`` the degrees of freedom of those that are of neither side, and ``sides`` the
    runs of either.
    """

    decided_by: DecidedBy
    p_value: float
    error_points: float
    freedom: int
    gap: str | None = None
    band_points: float = math.nan
    n_runs: int = 0
    elsewhere: int = 0
    sides: tuple[int, int] = (1, 1)


def evidence(m: Measured, rule: Rule, noise: Noise) -> Evidence:
    """Return the evidence that a change is real, under a rule.

    A metric that is no mean over queries has nothing but its threshold. Of deterministic systems
    any change of what the retriever answers is real, as with a noise file of no noise.
    """
    found = Evidence("significance", m.p_value, m.error_points, m.n_pairs - 1)
    if rule == "threshold" or m.change is None or m.harm_points is None:
        return replace(found, decided_by="threshold")
    if rule == "threshold_and_significant":
        return found
    measured = noise.level(m)
    levels = m.spreads if measured is None else (*m.spreads, measured)
    # Drafts are not the retriever's, and may vary where its answers do not.
    is_of_drafts = block_of(m.threshold.metric) == "claims"
    if not levels and noise.is_repeatable and not is_of_drafts:
        p_value = beyond_noise(m.harm_points, 0.0, 1)
        return Evidence("determinism", p_value, 0.0, 1, sides=noise.n_runs)
    if not levels:
        is_by_queries = rule == "threshold_and_real"
        return found if is_by_queries else Evidence("noise", math.nan, math.nan, 0, noise.gap(m))
    is_deterministic = noise.is_deterministic(measured)
    test = noise_test(m.harm_points, levels, noise.n_runs, is_deterministic=is_deterministic)
    return Evidence(
        "noise",
        test.p_value,
        test.error_points,
        test.freedom,
        band_points=test.band_points,
        n_runs=sum(level.n_runs for level in levels),
        elsewhere=0 if measured is None else measured.n_runs - 1,
        sides=noise.n_runs,
    )


@dataclass(frozen=True, slots=True)
class Ruling:
    """One threshold with its verdict.

    ``skipped`` means not applied. ``reasons`` say why it is no plain pass. ``evidence`` is what
    decides where a change is beyond its threshold; None where only the value is bounded.
    ``p_adjusted`` is its p-value over all rows (Holm; None: no test), ``detectable_points`` the
    change that 80 % of such runs would show.
    """

    measured: Measured
    verdict: RowVerdict
    reasons: tuple[str, ...] = ()
    evidence: Evidence | None = None
    p_adjusted: float | None = None
    detectable_points: float | None = None
    justification: Justification | None = None


def rulings(
    measured: Sequence[Measured],
    thresholds: Thresholds,
    justifications: Sequence[Justification],
    today: date,
    noise: Noise,
) -> list[Ruling]:
    """Return a ruling for every threshold; the arguments are those of `check`.

    Where claims are unproved, what was decided must hold with all of them against the run and with
    all in its favour, for every row, since the rows share the level of their tests.
    """
    found = _rulings(measured, thresholds, justifications, today, noise)
    if not any(m.ends for m in measured):
        return found
    ends = [
        _rulings(
            [m.ends[place] if m.ends else m for m in measured],
            thresholds,
            justifications,
            today,
            noise,
        )
        for place in (0, 1)
    ]
    return [_settled(*three) for three in zip(found, *ends, strict=True)]


def _settled(found: Ruling, worst: Ruling, best: Ruling) -> Ruling:
    """Return a ruling, without verdict where the unproved claims decide which one it is."""
    if len({_CLASS.get(one.verdict, one.verdict) for one in (found, worst, best)}) == 1:
        return found
    words = [_END_WORDS.get(one.verdict, one.verdict) for one in (worst, best)]
    points = [one.measured.change_points for one in (worst, best)]
    span = ", ".join(
        f"{words} ({shown:+.2f} points)" if shown is not None else words
        for words, shown in zip(words, points, strict=True)
    )
    reason = f"unproved claims decide, against the run and in its favour: {span}"
    return replace(found, verdict="no_verdict", reasons=(reason,), justification=None)


def _rulings(
    measured: Sequence[Measured],
    thresholds: Thresholds,
    justifications: Sequence[Justification],
    today: date,
    noise: Noise,
) -> list[Ruling]:
    changes = [
        m
        for m in measured
        if not m.faults and not m.not_applied and m.threshold.max_change is not None
    ]
    found = [evidence(m, thresholds.rule, noise) for m in changes]
    decided = _decided(changes, found, thresholds)
    strictest = thresholds.alpha / max(sum(not math.isnan(one.p_value) for one in found), 1)
    place_of = {id(m): place for place, m in enumerate(changes)}
    valid = [one for one in justifications if one.is_valid(today)]
    rows = []
    for m in measured:
        place = place_of.get(id(m))
        if place is None:
            row = Ruling(m, *_ruling(m, HOLDS))
        else:
            p = _known(decided.p_adjusted[place])
            shown = _known(decided.detectable_points[place])
            code = int(decided.codes[place])
            summary = _ruling(m, code, found[place], p, shown, strictest)
            row = Ruling(m, *summary, found[place], p, shown)
        rows.append(_excused(row, valid) if row.verdict == "breach" else row)
    return rows


def _excused(row: Ruling, justifications: Sequence[Justification]) -> Ruling:
    """Return a breach as overridden where a justification states its metric and its size."""
    threshold, points = row.measured.threshold, row.measured.breach_points
    for one in justifications:
        if one.excuses(threshold, points):
            return replace(row, verdict="overridden", justification=one)
    sizes = [one.metrics[threshold.metric] for one in justifications if one.covers(threshold)]
    if not sizes:
        return row
    summary = f"the justification excuses at most {max(sizes):g} points, and these are {points:.2f}"
    return replace(row, reasons=(*row.reasons, summary))


def _row(found: Ruling, alpha: float, movers: tuple[Mover, ...] = ()) -> GuardRow:
    """Return a ruling as a row of the document."""
    m, change = found.measured, found.measured.change
    threshold, n = m.threshold, m.n_pairs
    moved, limit = m.change_points, m.limit_points
    return GuardRow(
        metric=threshold.metric,
        slice=_slice(threshold.part),
        direction=threshold.direction,
        max_change=threshold.max_change,
        unit=threshold.unit,
        floor=threshold.floor,
        ceiling=threshold.ceiling,
        required=threshold.required,
        verdict=found.verdict,
        reasons=found.reasons,
        baseline=_value(m.baseline),
        current=_value(m.current),
        paired_baseline=None if change is None else change.before,
        paired_current=None if change is None else change.after,
        change_points=moved,
        limit_points=limit,
        n_queries=n or None,
        change_queries=_in_queries(moved, n),
        limit_queries=_in_queries(limit, n),
        n_up=None if change is None else change.n_up,
        n_down=None if change is None else change.n_down,
        ci_low_points=None if change is None else change.ci_low_points,
        ci_high_points=None if change is None else change.ci_high_points,
        decided_by=None if found.evidence is None else found.evidence.decided_by,
        p_value=None if found.evidence is None else _known(found.evidence.p_value),
        p_adjusted=found.p_adjusted,
        is_noise=None if found.p_adjusted is None else found.p_adjusted > alpha,
        detectable_points=found.detectable_points,
        justification=_excuse(found),
        movers=movers,
    )


def _slice(part: Part | None) -> GuardSlice | None:
    return None if part is None else GuardSlice(dimension=part.dimension, value=part.value)


def _value(value: Value) -> model.Measured:
    return model.Measured(
        value=value.value, n=value.n, computable=value.computable, reason=value.reason
    )


def _in_queries(points: float | None, n: int) -> float | None:
    """Return points as a number of whole queries: 1.5 points of 150 are 2.25 queries."""
    return None if points is None or not n else points * n / 100


def _excuse(found: Ruling) -> model.Justification | None:
    if found.justification is None:
        return None
    one, name = found.justification, found.measured.threshold.metric
    return model.Justification(
        metric=name,
        part=_slice(one.part),
        reason=one.reason,
        author=one.author,
        second_approver=one.second_approver,
        expires=one.expires.isoformat(),
        max_points=one.metrics[name],
        excused_points=found.measured.breach_points,
    )


def _movers(m: Measured, run: Side, baseline: Side) -> tuple[Mover, ...]:
    """Return the queries that moved a metric most, the worst first."""
    if not m.contributions:
        return ()
    sign = 1.0 if m.threshold.direction == "down is bad" else -1.0
    worst = sorted(m.contributions.items(), key=lambda item: (sign * item[1], item[0]))[:N_MOVERS]
    before, now = (side.per_query(m.threshold.metric) for side in (baseline, run))
    queries, old = ({q.id: q for q in side.first.queries} for side in (run, baseline))
    return tuple(
        Mover(
            id=name,
            query=queries[name].query,
            corpus=queries[name].corpus,
            before=before[name],
            now=now[name],
            points=points,
            **_documents(m.threshold.metric, old[name], queries[name]),
        )
        for name, points in worst
    )


def _documents(metric: str, before: QueryResult, now: QueryResult) -> dict[str, Any]:
    """Return where the first relevant document was and is, and which the first k lost."""
    if metric in BLOCK_OF:
        return {}
    measure = parse_measure(metric)
    ranks = [
        {found.doc: rank for rank, found in enumerate(query.ranking, 1) if _is_hit(found, measure)}
        for query in (before, now)
    ]
    old, new = ({doc for doc, rank in at.items() if rank <= _cutoff(measure)} for at in ranks)
    first, second = (min(at.values(), default=None) for at in ranks)
    lost = tuple(doc for doc in ranks[0] if doc in old - new)
    return {"rank_before": first, "rank_now": second, "lost": lost}


def _is_hit(found: RankedDocument, measure: Measure) -> bool:
    return found.grade is not None and found.grade >= measure.rel


def _cutoff(measure: Measure) -> float:
    return math.inf if measure.cutoff is None else measure.cutoff


def _decided(
    changes: Sequence[Measured], found: Sequence[Evidence], thresholds: Thresholds
) -> Decided:
    def numbers(values: Sequence[float | None]) -> list[float]:
        return [math.nan if value is None else value for value in values]

    return decide(
        numbers([m.harm_points for m in changes]),
        numbers([m.limit_points for m in changes]),
        [one.p_value for one in found],
        [one.error_points for one in found],
        [one.freedom for one in found],
        rule=thresholds.rule,
        alpha=thresholds.alpha,
    )


def _ruling(
    m: Measured,
    code: int,
    found: Evidence | None = None,
    p: float | None = None,
    detectable: float | None = None,
    strictest: float = math.nan,
) -> tuple[RowVerdict, tuple[str, ...]]:
    if m.not_applied:
        return "skipped", (m.not_applied,)
    if m.faults:
        return "no_verdict", m.faults
    bounds = _out_of_bounds(m)
    if not bounds and found is not None and found.gap is not None:
        return "no_verdict", (found.gap,)
    if code == HOLDS:
        return ("breach" if bounds else "pass"), bounds
    summary = (*bounds, _beyond_limit(m))
    if bounds or code == BREACH or found is None:
        return "breach", summary
    is_by_noise = found.decided_by in ("noise", "determinism")
    chance = "repeating the run" if is_by_noise else "chance"
    summary += (f"{chance} alone would do that (adjusted p {p:.3f})",)
    if code != UNDECIDED:
        return "within_noise", summary
    shown = (
        f"only {detectable:.1f} points or more" if detectable and detectable < 100 else "nothing"
    )
    if m.threshold.slices:
        # The threshold on all queries asks what can be seen at all; a small slice cannot show it.
        return "within_noise", (*summary, f"this slice would show {shown}")
    if not is_by_noise:
        reason = f"too few queries to tell: {m.n_pairs} of them, moving as they do,"
        return "no_verdict", (*summary, f"{reason} would show {shown}")
    here, there = found.sides
    means = "a run" if here == there == 1 else f"the mean of {here} against that of {there}"
    reason = f"too noisy to tell: as {found.n_runs} runs of one system move, {means}"
    return "no_verdict", (*summary, f"{reason} would show {shown}", _remedy(m, found, strictest))


def _beyond_limit(m: Measured) -> str:
    """Return by how much a metric got worse, and by how much it may."""
    harm, limit = m.harm_points or 0.0, m.limit_points or 0.0
    if m.threshold.metric == LATENCY:
        return f"{1 + harm / 100:.2f} times as long, and {1 + limit / 100:g} times are allowed"
    if m.threshold.metric == FIRST_TEN:
        return f"{harm:.1f} % of queries, and {limit:g} % are allowed"
    return f"{harm:.2f} points worse, and {limit:g} are allowed"


def _remedy(m: Measured, found: Evidence, alpha: float) -> str:
    """Return how many runs would show what the guard has to see."""
    points = float(resolution(m.limit_points or 0.0))
    needed = runs_needed(points, found.band_points, found.elsewhere, alpha=alpha)
    if needed is None:
        return f"even {MOST_RUNS} runs on either side would not show {points:g} points"
    return f"the means of {needed} runs on either side would show {points:g} points"


def _out_of_bounds(m: Measured) -> tuple[str, ...]:
    value, bounds = m.current.value, m.threshold
    if value is None:
        return ()
    found = []
    if bounds.floor is not None and value < bounds.floor:
        found.append(f"{value:.3f} is below the floor of {bounds.floor:g}")
    if bounds.ceiling is not None and value > bounds.ceiling:
        found.append(f"{value:.3f} is above the ceiling of {bounds.ceiling:g}")
    return tuple(found)


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
