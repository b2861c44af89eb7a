"""Search over time: the runs, guard verdicts and noise files of a folder, in the order of time.

Nothing is measured again. The guard is applied to each run and the one it was compared with, under
the thresholds of today, so that thresholds are re-validated on every change that was ever recorded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_of
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.io.artefacts import read_artefact
from retrieval_eval.io.files import entries, probe
from retrieval_eval.model import AnyRecord, from_builtins
from retrieval_eval.model.guard import GuardRow, GuardRuling, Measured, NoiseFloor
from retrieval_eval.model.search_history import (
    AlarmShare,
    GoldState,
    PastChange,
    PastNoise,
    PastRun,
    Quarter,
    SearchHistory,
    UnreadFile,
)
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.records import Progress
from retrieval_eval.schema import faults, kind_of
from retrieval_eval.search.change.comparability import changes, differences
from retrieval_eval.search.change.paired_change import POINTS
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.guard.files import DEFAULT_THRESHOLDS
from retrieval_eval.search.decide.guard.justification import Justification, read_justifications
from retrieval_eval.search.decide.noise import OLDEST, staleness
from retrieval_eval.search.decide.thresholds import (
    PINNED,
    SHIPPED,
    Threshold,
    Thresholds,
    pinned_lists,
    read_thresholds,
)
from retrieval_eval.search.gold.identity import Pinned
from retrieval_eval.search.run.document import REPORTS, WITH_CLAIMS, load_search_run
from retrieval_eval.search.run.named_metrics import (
    BLOCK_OF,
    OF_TWO_RUNS,
    metric_value,
    query_ids,
)
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import counted

REVIEWED: Final = "chair"
"""The source of a row that a person reviewed."""

_Outcome = Literal["overridden", "regained", "became_baseline", "open", "not_comparable"]

_BASELINE: Final = "baseline.json"
_JUSTIFICATION: Final = "justification.toml"
_CONFIDENCE: Final = 0.95
_ROUNDING: Final = 1e-9


def search_history(
    folder: Path,
    *,
    thresholds: Path | None = None,
    justification: Path | None = None,
    as_of: date | None = None,
    progress: Progress | None = None,
) -> SearchHistory:
    """Return what the search runs, guard verdicts and noise files of a folder say over time.

    Of every JSON file of the folder the kind is found by its content. A file that cannot be used is
    named in ``unread``, and the others are read all the same. Of a run with and without the claims
    of its drafts the first counts, and copies, such as the baseline, count once.

    Parameters
    ----------
    thresholds
        Of the guard; by default ``guard.toml`` of the folder, else `DEFAULT_THRESHOLDS` where that
        exists, else the shipped ones.
    justification
        Breaches that were accepted in writing; by default ``justification.toml`` of the folder, if
        there is one.
    as_of
        The day on which a quarter is due; by default today (UTC).
    progress
        Called after each file and after each change.

    Returns
    -------
    SearchHistory
        Without a run, ``runs`` is empty.

    Raises
    ------
    BadInputError
        When the folder does not exist, or thresholds or justification cannot be used.
    """
    if not probe(folder.is_dir):
        raise BadInputError(f"{folder}: no such folder of search runs")
    guards = _Guards.read(folder, thresholds, justification)
    shelf = _read(folder, guards, progress)
    order = sorted(shelf.runs.values(), key=lambda past: (past.run.generated_at, past.path.name))
    changed = _changes(order, shelf, guards, progress)
    day = as_of or datetime.now(UTC).date()
    noise = _noise_over_time(shelf.noise, [past.run for past in order], guards.thresholds)
    return SearchHistory(
        as_of=day.isoformat(),
        thresholds="shipped"
        if guards.thresholds.path == SHIPPED
        else guards.thresholds.path.as_posix(),
        runs=tuple(_rows(order, guards)),
        unread=tuple(shelf.unread),
        changes=tuple(changed),
        same_setup_alarms=_observed(changed),
        noise=tuple(noise),
        quarters=tuple(_quarters([past.run for past in order], noise, day)),
        gold=tuple(_gold_states(order)),
    )


@dataclass(frozen=True, slots=True)
class _Past:
    """A run, without what its history does not need: of rankings the first document is kept."""

    path: Path
    run: SearchRun

    @property
    def name(self) -> str:
        return self.run.label or self.path.name.removesuffix(".json").removesuffix(".claims")

    @property
    def key(self) -> tuple[str, str]:
        return self.run.label, self.run.generated_at


@dataclass(frozen=True, slots=True)
class _Guards:
    """What the guard needs beside two runs."""

    thresholds: Thresholds
    lists: Mapping[str, Pinned]
    justifications: Sequence[Justification]

    @classmethod
    def read(cls, folder: Path, thresholds: Path | None, justification: Path | None) -> _Guards:
        places = [folder / DEFAULT_THRESHOLDS.name, DEFAULT_THRESHOLDS]
        usual = next((place for place in places if probe(place.is_file)), SHIPPED)
        found = read_thresholds(thresholds or usual)
        if justification is None and probe((folder / _JUSTIFICATION).is_file):
            justification = folder / _JUSTIFICATION
        given = () if justification is None else read_justifications(justification)
        # Past runs are kept without what these compare: rankings, and the noise of times.
        rows = tuple(row for row in found.rows if row.metric not in OF_TWO_RUNS)
        return cls(replace_of(found, rows=rows), pinned_lists(found), given)

    @property
    def metrics(self) -> list[str]:
        """The metrics that are guarded, each once."""
        return list(dict.fromkeys(row.metric for row in self.thresholds.rows))

    def ids(self, part: tuple[str, str] | None, run: SearchRun) -> frozenset[str] | None:
        if part is None:
            return None
        dimension, value = part
        if dimension == PINNED:
            return frozenset(self.lists[value].ids)
        return query_ids(run, dimension, value)


@dataclass(slots=True)
class _Shelf:
    """The files of a folder by kind."""

    runs: dict[tuple[str, ...], _Past] = field(default_factory=dict)
    noise: list[tuple[Path, NoiseFloor]] = field(default_factory=list)
    rulings: list[tuple[Path, GuardRuling]] = field(default_factory=list)
    unread: list[UnreadFile] = field(default_factory=list)

    def noise_at(self, moment: str) -> NoiseFloor | None:
        """Return the noise that was known when a run was measured, else the first one after."""
        ordered = [noise for _, noise in self.noise]
        before = [noise for noise in ordered if noise.generated_at <= moment]
        return before[-1] if before else next(iter(ordered), None)

    def recorded(self, past: _Past, against: _Past) -> tuple[Path, GuardRuling] | None:
        """Return the newest committed verdict on a change."""
        wanted = (*past.key, *against.key)
        for path, ruling in reversed(self.rulings):
            run, baseline = ruling.run, ruling.baseline
            if run is None or baseline is None:
                continue
            sides = (run.label, run.generated_at, baseline.label, baseline.generated_at)
            if sides == wanted:
                return path, ruling
        return None


def _read(folder: Path, guards: _Guards, progress: Progress | None) -> _Shelf:
    shelf = _Shelf()
    paths = _json_files(folder)
    with_claims: set[str] = set()
    for number, path in enumerate(paths, 1):
        if path.name.removesuffix(".json") not in with_claims:
            try:
                _read_one(path, folder, guards, shelf)
                if path.name.endswith(WITH_CLAIMS):
                    with_claims.add(path.name.removesuffix(WITH_CLAIMS))
            except BadInputError as error:
                reason = str(error).removeprefix(f"{path}: ").removeprefix(f"{path.name}: ")
                shelf.unread.append(UnreadFile(source=path.name, reason=reason))
        if progress is not None:
            progress(number, len(paths), path.name)
    shelf.noise.sort(key=lambda each: (each[1].generated_at, each[0].name))
    return shelf


def _json_files(folder: Path) -> list[Path]:
    """Return the JSON files: runs with claims first, the copy of a baseline last."""
    files = [p for p in entries(folder) if p.suffix == ".json" and probe(p.is_file)]
    return sorted(
        files, key=lambda p: (p.name == _BASELINE, not p.name.endswith(WITH_CLAIMS), p.name)
    )


def _read_one(path: Path, folder: Path, guards: _Guards, shelf: _Shelf) -> None:
    kind = "search_run"
    if not (path.match(REPORTS) or path.name == _BASELINE):
        found = read_artefact(path, folder)
        if found.problem is not None:
            raise BadInputError(found.problem)
        kind = kind_of(found.value) or ""
        if kind == "search_noise":
            shelf.noise.append((path, _checked(found.value, kind, path, NoiseFloor)))
        elif kind == "search_guard":
            shelf.rulings.append((path, _checked(found.value, kind, path, GuardRuling)))
    if kind == "search_run":
        run = load_search_run(path)
        # The baseline is a copy of a run, and so is one to which claims were added.
        key = (run.label, run.generated_at, run.run.gold_set.fingerprint)
        shelf.runs.setdefault(key, _Past(path, _light(run, guards.metrics)))


def _checked(document: object, kind: str, path: Path, struct: type[AnyRecord]) -> AnyRecord:
    if wrong := faults(document, kind):
        listed = "; ".join(map(str, wrong[:3]))
        raise SchemaError(f"not a valid document of kind {kind}: {listed}")
    return from_builtins(document, struct, path.name, strict=False)


def _light(run: SearchRun, names: Sequence[str]) -> SearchRun:
    """Return a run with the guarded metrics of each query and its first document only."""
    kept = tuple(
        replace(
            query,
            ranking=query.ranking[:1],
            metrics={name: query.metrics[name] for name in names if name in query.metrics},
            reasons={},
        )
        for query in run.queries
    )
    return replace(run, queries=kept)


def basis_of(run: SearchRun) -> str:
    """Return the digest of what means rest on: gold set, queries, documents and settings.

    Two runs with the same are comparable.
    """
    header, settings = run.run, run.run.settings
    parts = (
        header.gold_set.fingerprint,
        [(corpus.corpus, corpus.fingerprint) for corpus in header.corpora],
        sorted(query.id for query in run.queries),
        (settings.k_values, settings.depth, settings.convention, settings.empty_ranking)
        + ((True,) if settings.without_own else ()),
    )
    return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:12]


def _rows(order: Sequence[_Past], guards: _Guards) -> Iterator[PastRun]:
    lines: dict[str, tuple[int, str]] = {}
    for past in order:
        run, header = past.run, past.run.run
        corpora = ", ".join(corpus.corpus for corpus in header.corpora)
        basis = basis_of(run)
        line, before = lines.get(corpora, (0, ""))
        line += basis != before
        lines[corpora] = line, basis
        others = {name: metric_value(run, name) for name in guards.metrics if name in BLOCK_OF}
        yield PastRun(
            name=past.name,
            source=past.path.name,
            generated_at=run.generated_at,
            corpora=corpora,
            retriever=header.retriever.spec,
            gold=header.gold_set,
            basis=basis,
            line=line,
            is_simulated=bool(header.gold_set.n_simulated),
            n_queries=run.status.n_queries,
            n_failed=run.status.n_failed,
            has_verdict=run.status.has_verdict,
            reasons=run.status.reasons,
            metrics=run.metrics,
            others={
                name: Measured(**value.to_json())
                for name, value in others.items()
                if value.reason != "not_recorded"
            },
        )


def _changes(
    order: Sequence[_Past], shelf: _Shelf, guards: _Guards, progress: Progress | None
) -> list[PastChange]:
    found = []
    by_basis: dict[str, list[_Past]] = {}
    bases = [basis_of(past.run) for past in order]
    for past, basis in zip(order, bases, strict=True):
        by_basis.setdefault(basis, []).append(past)
    for number, (past, basis) in enumerate(zip(order, bases, strict=True)):
        same = [other for other in by_basis[basis] if other.run.generated_at < past.key[1]]
        against = _compared_with(past, order[:number], same)
        if against is None:
            continue
        later = [other for other in by_basis[basis] if other.run.generated_at > past.key[1]]
        found.append(_change(past, against, later, shelf, guards))
        if progress is not None:
            progress(number + 1, len(order), past.name)
    return found


def _compared_with(past: _Past, earlier: Sequence[_Past], same: Sequence[_Past]) -> _Past | None:
    """Return the run that it was compared with when it was measured, else the one before it.

    That is the last comparable one (``same``) where there is one.
    """
    delta = past.run.delta
    if delta is not None:
        wanted = (delta.baseline.label, delta.baseline.generated_at)
        for other in earlier:
            if other.key == wanted:
                return other
    return next(reversed(same or earlier), None)


def _change(
    past: _Past, against: _Past, later: Sequence[_Past], shelf: _Shelf, guards: _Guards
) -> PastChange:
    run = past.run
    ruling = check(
        [run],
        [against.run],
        guards.thresholds,
        today=date.fromisoformat(run.generated_at[:10]),
        lists=guards.lists,
        justifications=guards.justifications,
        noise=shelf.noise_at(run.generated_at),
    )
    breaches = [row for row in ruling.rows if row.verdict == "breach"]
    excused = [row for row in ruling.rows if row.verdict == "overridden"]
    worst = max(breaches, key=lambda row: row.harm_points or 0.0, default=None)
    recorded = shelf.recorded(past, against)
    outcome: tuple[_Outcome | None, _Past | None] = (None, None)
    if excused or breaches:
        outcome = _outcome(past, later, ruling, recorded, guards)
    is_comparable = not differences(against.run.run, run.run)
    return PastChange(
        run=past.name,
        source=past.path.name,
        generated_at=run.generated_at,
        against=against.name,
        against_at=against.run.generated_at,
        same_setup=not changes(against.run, run) if is_comparable else None,
        verdict=ruling.verdict,
        headline=ruling.headline,
        breaches=tuple(row.name for row in breaches),
        overridden=tuple(row.name for row in excused),
        worst=worst.name if worst else None,
        worst_points=worst.change_points if worst else None,
        reasons=ruling.reasons or tuple(row.reasons[0] for row in ruling.rows if row.reasons),
        recorded=None if recorded is None else recorded[1].verdict,
        recorded_in=None if recorded is None else recorded[0].name,
        outcome=outcome[0],
        outcome_run=None if outcome[1] is None else outcome[1].name,
        outcome_at=None if outcome[1] is None else outcome[1].run.generated_at,
    )


def _outcome(
    past: _Past,
    later: Sequence[_Past],
    ruling: GuardRuling,
    recorded: tuple[Path, GuardRuling] | None,
    guards: _Guards,
) -> tuple[_Outcome, _Past | None]:
    """Return what became of a breach, and the run that shows it."""
    rows = [row for row in ruling.rows if row.verdict == "breach"]
    excused = (
        {row.name for row in recorded[1].rows if row.verdict == "overridden"} if recorded else ()
    )
    if all(row.name in excused for row in rows):
        return "overridden", None
    for other in later:
        if all(_is_back(row, other.run, guards) for row in rows):
            return "regained", other
    for other in later:
        delta = other.run.delta
        if delta and (delta.baseline.label, delta.baseline.generated_at) == past.key:
            return "became_baseline", other
    return ("open" if later else "not_comparable"), None


def _is_back(row: GuardRow, run: SearchRun, guards: _Guards) -> bool:
    """Return whether a breached metric is back within its threshold of the value it fell from."""
    part = None if row.slice is None else (row.slice.dimension, row.slice.value)
    value = metric_value(run, row.metric, guards.ids(part, run)).value
    was = row.baseline.value
    if value is None or was is None:
        return False
    harm = POINTS * (was - value if row.direction == "down is bad" else value - was)
    if row.limit_points is not None and harm > row.limit_points + _ROUNDING:
        return False
    is_low = row.floor is not None and value < row.floor
    return not is_low and not (row.ceiling is not None and value > row.ceiling)


def _observed(found: Sequence[PastChange]) -> AlarmShare:
    """Return how often the guard alarmed where no declared part of the system changed."""
    decided = [change for change in found if change.same_setup and change.verdict != "no_verdict"]
    n_alarms = sum(change.verdict == "breach" for change in decided)
    if not decided:
        return AlarmShare(value=None, n=0, reason="too_few_values", ci_low=None, ci_high=None)
    ends = wilson(n_alarms, len(decided))
    return AlarmShare(
        value=n_alarms / len(decided),
        n=len(decided),
        reason=None,
        ci_low=ends.low.value,
        ci_high=ends.high.value,
    )


# --- noise ---


def _noise_over_time(
    files: Sequence[tuple[Path, NoiseFloor]], runs: Sequence[SearchRun], thresholds: Thresholds
) -> list[PastNoise]:
    found: list[PastNoise] = []
    before: NoiseFloor | None = None
    for number, (path, noise) in enumerate(files, 1):
        guarded = [row.metric for row in thresholds.rows if row.metric in noise.metrics]
        levels = {name: noise.metrics[name].run_to_run.sd_points for name in dict.fromkeys(guarded)}
        name, ratio, low, high = _growth(before, noise, list(levels))
        stale = tuple(staleness(noise, runs[-1])) if runs else ()
        grew = None
        if before is not None and _is_of_same(before, noise):
            is_new = before.is_deterministic and not noise.is_deterministic
            grew = is_new or (low is not None and low > 1)
        found.append(
            PastNoise(
                source=path.name,
                generated_at=noise.generated_at,
                quarter=quarter_of(_day(noise.generated_at)),
                n_runs=noise.n_runs,
                n_queries=noise.n_queries,
                is_deterministic=noise.is_deterministic,
                sd_points=levels,
                ratio=ratio,
                ratio_metric=name,
                ratio_low=low,
                ratio_high=high,
                grew=grew,
                alarms=alarm_share(noise, thresholds, runs[-1] if runs else None),
                is_current=number == len(files) and not stale,
                stale=stale,
            )
        )
        before = noise
    return found


def _is_of_same(one: NoiseFloor, other: NoiseFloor) -> bool:
    return one.run.gold_set.fingerprint == other.run.gold_set.fingerprint


def _growth(
    before: NoiseFloor | None, noise: NoiseFloor, names: Sequence[str]
) -> tuple[str | None, float | None, float | None, float | None]:
    """Return the metric whose noise grew most, by which factor, and the interval of that.

    The squared ratio of two estimated standard deviations follows F where the true ones are equal;
    the level is adjusted to the number of metrics looked at (Bonferroni).
    """
    if before is None or not _is_of_same(before, noise):
        return None, None, None, None
    from scipy.special import fdtri

    ratios = {}
    for name in names:
        old = before.metrics.get(name)
        if old is not None and old.run_to_run.sd_points > 0:
            ratios[name] = noise.metrics[name].run_to_run.sd_points / old.run_to_run.sd_points
    if not ratios:
        return None, None, None, None
    name = max(ratios, key=lambda each: ratios[each])
    tail = (1 - _CONFIDENCE) / 2 / len(ratios)
    freedom = (noise.n_runs - 1, before.n_runs - 1)
    ends = [ratios[name] / math.sqrt(float(fdtri(*freedom, share))) for share in (1 - tail, tail)]
    return name, ratios[name], ends[0], ends[1]


def alarm_share(noise: NoiseFloor, thresholds: Thresholds, run: SearchRun | None) -> AlarmShare:
    """Return in which share of comparisons of two runs of one system thresholds alarm.

    The difference of two runs is taken as normal with the measured run-to-run noise, and metrics
    as independent. A threshold alarms when the difference exceeds it and, under a rule that asks
    for that, the noise test at the strictest level of the family too. The interval is that of the
    noise, which is known from few runs.

    Parameters
    ----------
    run
        A run with the values that relative thresholds refer to.

    Returns
    -------
    AlarmShare
        Not computable (``not_recorded``) where no guarded metric was measured, and
        (``too_few_values``) where the rule decides by the queries, which a noise file does not
        hold.
    """
    limits = {}
    for row in thresholds.rows:
        limit = _limit(row, run)
        if limit is not None and row.part is None and row.metric in noise.metrics:
            limits[row.metric] = limit
    if not limits or thresholds.rule == "threshold_and_significant":
        reason = "too_few_values" if limits else "not_recorded"
        return AlarmShare(value=None, n=noise.n_runs, reason=reason, ci_low=None, ci_high=None)
    from scipy.special import chdtri

    # The true deviation may be larger or smaller than the one that was measured.
    freedom = noise.n_runs - 1
    tail = (1 - _CONFIDENCE) / 2
    factors = [math.sqrt(freedom / float(chdtri(freedom, share))) for share in (tail, 1 - tail)]
    low, value, high = (
        _alarms(noise, limits, thresholds, factor) for factor in (factors[0], 1.0, factors[1])
    )
    return AlarmShare(value=value, n=noise.n_runs, reason=None, ci_low=low, ci_high=high)


def _alarms(
    noise: NoiseFloor, limits: Mapping[str, float], thresholds: Thresholds, factor: float
) -> float:
    from scipy.special import ndtr, stdtrit

    silent = 1.0
    for name, limit in limits.items():
        found = noise.metrics[name]
        deviation = math.sqrt(2.0) * found.run_to_run.sd_points * factor
        if deviation == 0:
            continue
        needed = limit
        if thresholds.rule != "threshold":
            quantile = float(stdtrit(noise.n_runs - 1, 1 - thresholds.alpha / len(limits)))
            real = quantile * math.sqrt(2.0) * found.band_points
            needed = max(limit, real + found.run_to_run.step_points / 2)
        silent *= float(ndtr(needed / deviation))
    return 1.0 - silent


def _limit(row: Threshold, run: SearchRun | None) -> float | None:
    value = None if run is None else metric_value(run, row.metric).value
    return row.limit_points(value)


def quarter_of(day: date) -> str:
    """Return the calendar quarter of a day.

    Examples
    --------
    >>> quarter_of(date(2026, 5, 1))
    '2026 Q2'
    """
    return f"{day.year} Q{(day.month - 1) // 3 + 1}"


def _day(moment: str) -> date:
    return date.fromisoformat(moment[:10])


def _quarters(
    runs: Sequence[SearchRun], noise: Sequence[PastNoise], as_of: date
) -> Iterator[Quarter]:
    if not runs:
        return
    present = max(as_of, _day(runs[-1].generated_at))
    first = min(_day(moment) for moment in (runs[0].generated_at, *(n.generated_at for n in noise)))
    for start in _quarter_starts(first, present):
        name = quarter_of(start)
        own = [each for each in noise if each.quarter == name]
        n_runs = sum(quarter_of(_day(run.generated_at)) == name for run in runs)
        yield _quarter(name, own, noise, runs[-1], n_runs, present)


def _quarter_starts(first: date, last: date) -> Iterator[date]:
    year, quarter = first.year, (first.month - 1) // 3
    while (year, 3 * quarter + 1) <= (last.year, last.month):
        yield date(year, 3 * quarter + 1, 1)
        year, quarter = (year, quarter + 1) if quarter < 3 else (year + 1, 0)


def _quarter(
    name: str,
    own: Sequence[PastNoise],
    noise: Sequence[PastNoise],
    newest: SearchRun,
    n_runs: int,
    present: date,
) -> Quarter:
    def made(
        state: Literal["done", "due", "missed", "not_yet_due", "not_needed"], words: str
    ) -> Quarter:
        source = own[-1].source if own else None
        return Quarter(
            quarter=name, state=state, source=source, n_runs=n_runs, sentence=f"{name}: {words}."
        )

    is_now = name == quarter_of(present)
    if own:
        words = f"done, {own[-1].source} of {own[-1].generated_at[:10]}: {noise_words(own[-1])}"
        if is_now and own[-1].stale:
            return made("due", f"due again, {own[-1].stale[0]}")
        return made("done", words)
    if _is_deterministic(newest):
        return made("not_needed", "not needed, the newest run is deterministic")
    if not is_now:
        return made("missed", f"missed, {counted(n_runs, 'run')} and no noise file")
    if not noise:
        return made("due", "due, the noise was never measured; `search noise` measures it")
    last = noise[-1]
    age = (present - _day(last.generated_at)).days
    if last.stale:
        return made("due", f"due, {last.stale[0]}")
    if age > OLDEST.days:
        return made("due", f"due, the last noise file is {age} days old ({last.source})")
    return made("not_yet_due", f"not yet due, {last.source} is {age} days old")


def _is_deterministic(run: SearchRun) -> bool:
    trust = getattr(run, "trust", None)
    return getattr(trust, "is_deterministic", None) is True


def noise_words(noise: PastNoise) -> str:
    """Return in words what a noise file says: level, growth, and how often thresholds alarm."""
    if noise.is_deterministic:
        parts = ["deterministic, no answer varied"]
    else:
        levels = [f"{name} {sd:.2f}" for name, sd in noise.sd_points.items()]
        parts = [f"run-to-run SD in points: {', '.join(levels)}" if levels else "no guarded metric"]
    if noise.ratio is not None:
        verb = "grew" if noise.grew else "did not grow beyond chance"
        ends = f"{noise.ratio_low:.2f} to {noise.ratio_high:.2f}"
        parts.append(f"{verb} (at most × {noise.ratio:.2f}, {noise.ratio_metric}, [{ends}])")
    elif noise.grew:
        parts.append("the system was deterministic before")
    if noise.alarms.value is not None:
        parts.append(
            f"today's thresholds would alarm in {share_words(noise.alarms)} of comparisons of two "
            "equal runs"
        )
    return "; ".join(parts)


def share_words(share: AlarmShare) -> str:
    """Return a share of alarms with its interval in words, as per cent."""
    if share.value is None:
        return "an unknown share"
    ends = (share.ci_low, share.ci_high)
    if None in ends:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} [{ends[0]:.1%}, {ends[1]:.1%}]"


# --- the gold set ---


def _gold_states(order: Sequence[_Past]) -> Iterator[GoldState]:
    """Yield the gold set of the first run of each stretch in which nothing of it changed.

    Reviewing rows changes no grade, and so not always the fingerprint.
    """
    before = None
    for past in order:
        gold, slices = past.run.run.gold_set, past.run.slices
        if gold == before:
            continue
        before = gold
        is_whole = len(past.run.queries) == gold.n_queries
        yield GoldState(
            generated_at=past.run.generated_at,
            run=past.name,
            gold=gold,
            n_reviewed=gold.sources.get(REVIEWED, 0),
            by_corpus={n: s.n_queries for n, s in slices.corpus.items()} if is_whole else None,
            by_origin={n: s.n_queries for n, s in slices.origin.items()} if is_whole else None,
        )


# --- in words ---


_OUTCOMES: Final[Mapping[str, str]] = {
    "overridden": "excused in writing",
    "regained": "regained in {run} of {day}",
    "became_baseline": "not regained; {run} of {day} was compared with it as its baseline",
    "open": "not regained in any later run",
    "not_comparable": "no later run can be compared",
}


def outcome_words(change: PastChange) -> str:
    """Return what became of a breach, in words; empty without one."""
    words = _OUTCOMES[change.outcome] if change.outcome else ""
    named = {"{run}": change.outcome_run or "", "{day}": (change.outcome_at or "")[:10]}
    for mark, text in named.items():
        words = words.replace(mark, text)
    return words


def change_sentences(history: SearchHistory) -> list[str]:
    """Return what the guard says of all changes, and what became of its breaches."""
    found = history.changes
    if not found:
        return ["There is no change to judge: it needs two runs."]
    breached = [change for change in found if change.verdict == "breach"]
    counts = {name: sum(change.outcome == name for change in breached) for name in _OUTCOMES}
    n_excused = sum(bool(change.overridden) for change in found)
    verdicts = [change.verdict for change in found]
    words = [f"breached {len(breached)}", f"passed {verdicts.count('pass')}"]
    if n := verdicts.count("no_verdict"):
        words.append(f"no verdict {n}")
    sentences = [
        f"{counted(len(found), 'change')} judged by the thresholds of today: {', '.join(words)}."
    ]
    if breached:
        names = {
            "regained": "regained later",
            "overridden": "excused in writing",
            "became_baseline": "taken as the baseline",
            "open": "not regained",
            "not_comparable": "without a later comparable run",
        }
        listed = ", ".join(f"{counts[code]} {name}" for code, name in names.items() if counts[code])
        sentences.append(f"Of {counted(len(breached), 'regression')}: {listed}.")
    if n_excused:
        sentences.append(f"{counted(n_excused, 'change')} passed by justification.")
    recorded = [change for change in found if change.recorded is not None]
    if recorded:
        n_other = sum(change.recorded != change.verdict for change in recorded)
        sentences.append(
            f"{counted(len(recorded), 'verdict')} committed with the runs, of which "
            f"{len(recorded) - n_other} would be the same by the thresholds of today."
        )
    share = history.same_setup_alarms
    if share.value is not None:
        n_alarms = round(share.value * share.n)
        sentences.append(
            f"Of {counted(share.n, 'change')} in which nothing declared of the system changed, "
            f"the guard alarms in {n_alarms}: {share_words(share)}."
        )
    return sentences


def gold_words(state: GoldState) -> str:
    """Return a gold set in words: queries, pairs and how much of it people reviewed."""
    gold = state.gold
    share = f" ({state.n_reviewed / gold.n_queries:.0%})" if gold.n_queries else ""
    return (
        f"{counted(gold.n_queries, 'query')}, {counted(gold.n_labelled_pairs, 'labelled pair')},"
        f" {state.n_reviewed:,}{share} reviewed"
    )
