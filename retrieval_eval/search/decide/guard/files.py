"""The guard over files: what it needs is read, and what cannot be read has no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe, write_bytes
from retrieval_eval.io.user_files import DATA
from retrieval_eval.model.guard import GuardRuling, NoiseFloor
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.change.baseline import DEFAULT_BASELINE
from retrieval_eval.search.decide.guard.check import check, no_verdict
from retrieval_eval.search.decide.guard.justification import read_justifications
from retrieval_eval.search.decide.guard.rendering import to_comment
from retrieval_eval.search.decide.guard.thresholds import (
    Thresholds,
    pinned_lists,
    read_thresholds,
    shipped_thresholds,
)
from retrieval_eval.search.decide.noise import DEFAULT_NOISE, read_noise, staleness
from retrieval_eval.search.gold.gold_set import load_gold_set
from retrieval_eval.search.gold.pinned import pinned_text, read_pinned, sample
from retrieval_eval.search.measure import DEFAULT_GOLD
from retrieval_eval.search.run.run_files import load_search_run
from retrieval_eval.values import DEFAULT_SEED

DEFAULT_THRESHOLDS: Final = DATA / "guard.toml"
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
