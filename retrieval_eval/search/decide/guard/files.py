"""The guard over files: what it needs is read, and what cannot be read has no verdict."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import is_there, probe, read_bytes, write_atomically, write_bytes
from retrieval_eval.io.user_files import DATA
from retrieval_eval.model import to_builtins
from retrieval_eval.model.guard import GuardRuling, NoiseFloor
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.ranking.measures import parse_measure
from retrieval_eval.search.change.baseline import DEFAULT_BASELINE, SLICED_BY, plan_update
from retrieval_eval.search.change.paired_change import Resampling
from retrieval_eval.search.decide import resolution
from retrieval_eval.search.decide.guard import check, no_verdict
from retrieval_eval.search.decide.guard.justification import read_justifications
from retrieval_eval.search.decide.guard.measured import Side, measure
from retrieval_eval.search.decide.guard.rendering import one_line, to_comment
from retrieval_eval.search.decide.noise import (
    DEFAULT_NOISE,
    LATENCY_RUNS,
    first_result_limit,
    first_ten_limit,
    latency_limit,
    read_noise,
    staleness,
)
from retrieval_eval.search.decide.thresholds import (
    MIN_QUERIES,
    Threshold,
    Thresholds,
    pinned_lists,
    read_thresholds,
    shipped_thresholds,
    toml_of,
)
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.identity import pinned_text, read_pinned, sample
from retrieval_eval.search.measure import DEFAULT_GOLD
from retrieval_eval.search.run.document import load_search_run, run_bytes
from retrieval_eval.search.run.named_metrics import BLOCK_OF, FIRST_TEN, LATENCY, OF_TWO_RUNS
from retrieval_eval.search.run.random_documents import not_beaten, random_notes
from retrieval_eval.search.run.scoring import NO_NAME
from retrieval_eval.search.run.summary import without_labels
from retrieval_eval.search.run.trust import trust_of
from retrieval_eval.values import DEFAULT_SEED, counted

DEFAULT_THRESHOLDS: Final = DATA / "guard.toml"
FIRST_RESULT: Final = ("P@1", "RR")
"""The metric of the first result: the first of them that a run has."""
UNJUSTIFIED: Final = "no justification was read; `search guard --justification` reads one"
"""What stands beside a breach in a diff: the guard itself may pass it by justification."""


@dataclass(frozen=True, slots=True)
class Request:
    """Which files to guard with.

    Several ``runs`` are of one system, and their mean is compared with that of the ``baselines``.
    Of a folder, all JSON files in it are taken.
    ``thresholds`` None: `DEFAULT_THRESHOLDS` below the working folder where that exists, else the
    shipped ones. ``noise`` is a noise file; None: `DEFAULT_NOISE` where that exists. ``queries`` is
    a pinned list, ``justification`` the written overrides; None: without. ``gold`` is read for
    pinned lists only.
    """

    runs: Sequence[Path]
    baselines: Sequence[Path] = (DEFAULT_BASELINE,)
    thresholds: Path | None = None
    queries: Path | None = None
    gold: Path = DEFAULT_GOLD
    justification: Path | None = None
    noise: Path | None = None


def guard(
    request: Request, *, today: date, known: Mapping[Path, SearchRun] | None = None
) -> GuardRuling:
    """Compare search runs in files with baselines in others.

    A run or a baseline that is there but is no valid search run has no verdict.

    Parameters
    ----------
    today
        The day on which justifications must be valid.
    known
        Search runs by file that were read before.

    Raises
    ------
    BadInputError
        When a file is not there, or thresholds, pinned list, justification, noise file or gold
        set cannot be used.
    """
    thresholds = _thresholds(request.thresholds)
    pinned = None if request.queries is None else read_pinned(request.queries)
    lists = pinned_lists(thresholds)
    justifications = (
        () if request.justification is None else read_justifications(request.justification)
    )
    gold = load_gold_set(request.gold) if pinned is not None or lists else None
    noise = _noise(request.noise)
    paths = (
        _files(request.runs, "`retrieval-eval search run` writes one"),
        _files(request.baselines, "`retrieval-eval search baseline --update RUN.json` makes one"),
    )
    try:
        read = known or {}
        runs, baselines = (
            [read.get(path) or load_search_run(path) for path in side] for side in paths
        )
    except BadInputError as error:
        return no_verdict(thresholds, [str(error)], today)
    return check(
        runs,
        baselines,
        thresholds,
        today=today,
        gold=gold,
        pinned=pinned,
        lists=lists,
        justifications=justifications,
        noise=noise,
        notes=() if noise is None else staleness(noise, runs[0]),
    )


def guard_of(
    a: Path,
    b: Path,
    noise: Path | None = None,
    *,
    known: Mapping[Path, SearchRun] | None = None,
) -> GuardRuling | str:
    """Return the verdict of the guard on B against A, or in a sentence why there is none.

    It is what `search guard B --baseline A` says with its own defaults: thresholds and noise where
    they usually lie, and nothing justified. ``known`` are runs by file that were read before.
    """
    try:
        today = datetime.now(UTC).date()
        return guard(Request([b], [a], noise=noise), today=today, known=known)
    except BadInputError as error:
        return str(error)


def _files(paths: Sequence[Path], how: str) -> list[Path]:
    found = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if probe(path.is_dir) else [path]
        if not inside:
            raise BadInputError(f"{path}: no JSON file in this folder; {how}")
        found += inside
    for path in found:
        if not probe(path.is_file):
            raise BadInputError(f"{path}: no such file; {how}")
    return found


def write_comment(verdict: GuardRuling, path: Path) -> None:
    """Write the comment of a pull request; raises `BadInputError` if it fails."""
    write_bytes(path, to_comment(verdict).encode("utf-8", "replace"))


def write_pinned(out: Path, gold: Path, *, size: int, seed: int = DEFAULT_SEED) -> Path:
    """Write a pinned list of a random sample of queries and return its file.

    Raises
    ------
    BadInputError
        When a file cannot be used, or the gold set has fewer queries.
    """
    known = load_gold_set(gold)
    write_bytes(out, pinned_text(known, sample(known, size, seed=seed)).encode("utf-8"))
    return out


def _thresholds(path: Path | None) -> Thresholds:
    if path is not None:
        return read_thresholds(path)
    is_there = DEFAULT_THRESHOLDS.is_file()
    return read_thresholds(DEFAULT_THRESHOLDS) if is_there else shipped_thresholds()


def _noise(path: Path | None) -> NoiseFloor | None:
    if path is None and not DEFAULT_NOISE.is_file():
        return None
    return read_noise(path or DEFAULT_NOISE)


# --------------------------------------------------------------------------------------------------
# ``search guard --init``: a baseline and the thresholds that it supports, from one run.

_HEAD: Final = """\
# What a change of the retrieval layer may cost, in points (hundredths), against the baseline.
# Written by `retrieval-eval search guard --init` from the run {label}: {queries}.
"""
_LEFT_OUT: Final = """\
#
# Left out, because this baseline or its noise does not support them:
{rows}
"""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What ``search guard --init`` would write, and why.

    ``left_out`` gives the reason by metric for each threshold that the baseline or its noise does
    not support, ``verdict`` is that of the guard on the baseline itself, and ``notes`` say what is
    left to do.
    """

    files: Mapping[Path, bytes]
    run: SearchRun
    thresholds: Thresholds
    left_out: Mapping[str, str]
    verdict: GuardRuling
    notes: tuple[str, ...] = ()


def plan_adoption(
    run: Path,
    *,
    today: date,
    baseline: Path = DEFAULT_BASELINE,
    thresholds: Path = DEFAULT_THRESHOLDS,
    gold: Path = DEFAULT_GOLD,
    queries: Path | None = None,
    slices: Sequence[str] = (),
    accept_weak: bool = False,
    noise: Path | None = None,
) -> Adoption:
    """Return the files of a guard that begins with a run; nothing is written.

    The thresholds are the shipped ones whose metric the run has, without floors and ceilings, so
    that the unchanged system passes. Where the noise of the system was measured there are more: on
    the first result, on first ten documents that change while nothing else does, on times where the
    noise was measured on the same kind of machine, and on the worst corpus or area.

    Parameters
    ----------
    run
        The run that becomes the baseline.
    today
        Day of the verdict on the baseline itself.
    baseline, thresholds
        Where they are to be.
    gold
        The gold set, of a run that asked a pinned list.
    queries
        The pinned list, of a run that asked it alone.
    slices
        Dimensions whose worst slice is judged, too: of each metric of rankings, by what a guard
        must be able to show (`resolution`). By default corpus and area, where noise was measured.
    accept_weak
        Whether a run that is no better than random documents is taken, too (`weakness`).
    noise
        The noise file; None: `DEFAULT_NOISE` where that exists.

    Raises
    ------
    BadInputError
        When the run is no valid search run.
    NothingToEvaluateError
        When the run cannot be a baseline, has none of the metrics, is no better than chance, or the
        guard does not pass it.
    """
    # As the first baseline: an old one that is overwritten has no say.
    update = plan_update(Path(os.devnull), run)
    document, pinned = update.run, None if queries is None else read_pinned(queries)
    faults = list(update.differences.values())
    if document.run.pinned is not None and pinned is None:
        faults.append(f"it asked the list {document.run.pinned.name}; name it with --queries")
    if faults:
        raise NothingToEvaluateError(f"{run} cannot be the baseline: {'; '.join(faults)}")
    shipped, kept, left_out = shipped_thresholds(), list[Threshold](), dict[str, str]()
    side, resampling = Side([document]), Resampling.of(document.run.settings, 0)
    for row in shipped.rows:
        row = replace(row, floor=None, ceiling=None)
        found = measure(row, side, side, None, resampling)
        if why := (found.not_applied or "; ".join(found.faults)):
            left_out[row.metric] = why
        else:
            kept.append(row)
    if not kept:
        raise NothingToEvaluateError(
            f"{run} has none of the metrics that the guard has thresholds for: "
            f"{'; '.join(left_out.values())}"
        )
    measured = _noise(noise)
    if measured is not None and not staleness(measured, document):
        kept += [*_first_result(document, measured), *_first_ten(measured)]
        latency = _latency(document, measured)
        if isinstance(latency, str):
            left_out[LATENCY] = latency
        else:
            kept.append(latency)
        slices = slices or _sliceable(document)
    kept += _of_slices([row for row in kept if row.metric not in OF_TWO_RUNS], slices)
    chosen = Thresholds(tuple(kept), shipped.rule, shipped.alpha, thresholds)
    gold_set = None if pinned is None else load_gold_set(gold)
    verdict = check([document], [document], chosen, today=today, gold=gold_set, pinned=pinned)
    if verdict.exit_code:
        why = "; ".join([verdict.headline, *verdict.reasons])
        raise NothingToEvaluateError(f"{run} cannot be the baseline: {why}")
    files = {
        baseline: run_bytes(to_builtins(document)),
        thresholds: _toml(chosen, document, left_out).encode(),
    }
    guarded = {row.metric for row in kept}
    weak = weakness(document, guarded)
    if weak and not accept_weak:
        raise NothingToEvaluateError(
            f"{run} cannot be the baseline: {'; '.join(weak)}; if that is meant, add"
            " --accept-weak-baseline"
        )
    notes = [_repeatability(document), *(weak or random_notes(document, guarded))]
    return Adoption(files, document, chosen, left_out, verdict, tuple(notes))


def _first_result(run: SearchRun, noise: NoiseFloor) -> list[Threshold]:
    """Return the threshold on the first result, as wide as the runs of one system differ."""
    for name in FIRST_RESULT:
        if name in run.metrics and name in noise.metrics:
            most = first_result_limit(noise.metrics[name].run_to_run, noise.n_runs)
            return [Threshold(name, "down is bad", most, "points")]
    return []


def _first_ten(noise: NoiseFloor) -> list[Threshold]:
    """Return the threshold on first ten documents that change while nothing else does."""
    if noise.first_ten is None:
        return []
    most = first_ten_limit(noise.first_ten, noise.n_runs)
    return [Threshold(FIRST_TEN, "up is bad", most, "points")]


def _latency(run: SearchRun, noise: NoiseFloor) -> Threshold | str:
    """Return the threshold on the time of a query, or why the time stays a note."""
    if noise.latency is None or noise.run.machine != run.run.machine:
        return "the noise has no times of the machine of this baseline; the time stays a note"
    if noise.latency.n_runs < LATENCY_RUNS:
        return (
            f"the noise is of {noise.latency.n_runs} runs, and {LATENCY_RUNS} are needed"
            f" (search noise RUN --repeats {LATENCY_RUNS}); the time stays a note"
        )
    return Threshold(LATENCY, "up is bad", latency_limit(noise.latency), "relative_percent")


def _sliceable(run: SearchRun) -> list[str]:
    """Return by which of corpus and area at least two slices have enough queries to be judged."""
    found = []
    for dimension in SLICED_BY:
        sizes = Counter(getattr(query, dimension) or NO_NAME for query in run.queries)
        if sum(n >= MIN_QUERIES for n in sizes.values()) > 1:
            found.append(dimension)
    return found


def weakness(run: SearchRun, guarded: Collection[str]) -> list[str]:
    """Return why a guard of a baseline could not fail, in sentences; empty where it could.

    Every metric of its rankings may be 0, or none of the guarded ones better than that of random
    documents.
    """
    values = [
        mean.value for name, mean in run.metrics.items() if parse_measure(name).name != "Judged"
    ]
    if not any(values):
        unlabelled = [sentence.rstrip(".") for sentence in without_labels(run)]
        return ["every metric is 0, so nothing could get worse", *unlabelled]
    at_random = {} if run.random is None else run.random.metrics
    known = {n for n in guarded if n in at_random and at_random[n].is_beaten is not None}
    return random_notes(run, guarded) if known and known.issubset(not_beaten(run)) else []


def _of_slices(rows: Sequence[Threshold], slices: Sequence[str]) -> list[Threshold]:
    """Return a threshold on the worst slice beside each one on a metric of rankings.

    It allows more, for a slice is smaller.
    """
    ranked = [row for row in rows if row.metric not in BLOCK_OF] if slices else []
    return [
        replace(row, max_change=float(resolution(row.max_change or 0.0)), slices=tuple(slices))
        for row in ranked
    ]


def _repeatability(run: SearchRun) -> str:
    """Return what follows for the guard from whether a system gives the same answer twice."""
    trust = trust_of(run)
    if trust.is_deterministic:
        how = f"{counted(trust.n_asked_twice, 'query')} asked twice, all with the same answer"
        how = how if trust.n_asked_twice else "the retriever says that it is deterministic"
        return f"{how}: any change beyond a threshold is a breach, and no noise file is needed"
    spec = shlex.quote(run.run.retriever.spec)
    how = "it is not known whether the retriever gives the same answer twice"
    if trust.is_deterministic is False:
        n = trust.n_asked_twice - trust.n_same_answer
        how = f"{n} of {counted(trust.n_asked_twice, 'query')} asked twice got another answer"
    return (
        f"{how}: a small drop may leave no verdict; `retrieval-eval search noise --retriever "
        f"{spec}` measures what is noise, and --init --force then adds thresholds on the first"
        " result, first ten documents, times, corpora and areas"
    )


def write_adoption(adoption: Adoption, *, force: bool = False) -> list[Path]:
    """Write all files of an adoption or none, and return those that were not so before.

    Raises
    ------
    BadInputError
        When a file is there with other content, unless ``force``, or cannot be written.
    """
    changed = {p: data for p, data in adoption.files.items() if not _holds(p, data)}
    if not force:
        refuse_overwriting(changed)
    write_atomically(changed)
    return list(changed)


def refuse_overwriting(paths: Iterable[Path]) -> None:
    """Raise `BadInputError` that names the files that are there already."""
    if there := [str(path) for path in paths if is_there(path)]:
        raise BadInputError(
            f"nothing was written, because {', '.join(there)} would be overwritten; "
            "--force overwrites"
        )


def _holds(path: Path, data: bytes) -> bool:
    return is_there(path) and read_bytes(path, path.parent)[0] == data


def _toml(chosen: Thresholds, run: SearchRun, left_out: Mapping[str, str]) -> str:
    label = f"{run.label!r}, measured {run.generated_at}" if run.label else run.generated_at
    text = _HEAD.format(label=one_line(label), queries=counted(len(run.queries), "query"))
    if left_out:
        rows = "\n".join(f"# - {name}: {one_line(why)}." for name, why in left_out.items())
        text += _LEFT_OUT.format(rows=rows)
    return text + "\n" + toml_of(chosen)


def next_steps(adoption: Adoption, inputs: Sequence[Path]) -> list[str]:
    """Return what is left to do, for a terminal.

    ``inputs`` are files that are to be committed too: the gold set and a pinned list.
    """
    paths = " ".join(shlex.quote(str(path)) for path in [*inputs, *adoption.files])
    return [*adoption.notes, f"commit these: git add {paths}"]
