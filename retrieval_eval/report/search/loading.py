"""From the file of a search run, its baseline, backlog and gold set to frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.gold.relabel import read_mapping
from retrieval_eval.io.files import probe
from retrieval_eval.model.gold import GoldSet
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.search.backlog import load_backlog
from retrieval_eval.report.search.demo import DEMO_OUTPUT, MeasuredDemo, is_demo, measured_demo
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.search.baseline import DEFAULT_BASELINE, compare_with_baseline
from retrieval_eval.search.guard.justification import read_justifications
from retrieval_eval.search.guard.thresholds import read_thresholds
from retrieval_eval.search.label_split import label_split
from retrieval_eval.search.noise import read_noise
from retrieval_eval.search.run_files import document_of, load_search_run

_NUMBERED: Final = re.compile(r"eval-report-(\d{8}T\d{6}Z)(?:-(\d{1,9}))?\.json$")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the parts of a report come from; an empty text means none."""

    run: str
    baseline: str = ""
    backlog: str = ""
    gold: str = ""
    corpus: str = ""
    noise: str = ""
    thresholds: str = ""
    justification: str = ""
    mapping: str = ""
    old_gold: str = ""


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
        with: they tell what moved labels did to every measure from what retrieval did. Both need
        ``baseline`` and ``gold``.

    Returns
    -------
    SearchRun
        The frames of :data:`retrieval_eval.report.columns.SEARCH_FRAMES`, each built when
        first used.

    Raises
    ------
    BadInputError
        When a file does not exist or is of the wrong kind; it names file and place.
    """
    limits = (noise, thresholds, justification)
    given = (run, baseline, backlog, gold, corpus, *limits, mapping, old_gold)
    chosen = Sources(*(_text(value) for value in given))
    if not chosen.run:
        raise BadInputError(
            "no search run was given: name its file, or say demo for the built-in demonstration, "
            "which is simulated"
        )
    if is_demo(chosen.run):
        chosen = sources_of(measured_demo(DEMO_OUTPUT))
    path = Path(chosen.run)
    stored = load_search_run(path)
    before = _baseline(stored, path, chosen.baseline)
    if chosen.baseline and before is not None:
        stored = _with_baseline(before, stored)
    labels, problem = _gold(stored, chosen.gold)
    return SearchRun(
        document_of(stored),
        path=path,
        baseline=None if before is None else document_of(before),
        backlog=load_backlog(chosen.backlog) if chosen.backlog else None,
        gold=labels,
        gold_problem=problem,
        corpus=read_corpus(Path(chosen.corpus)) if chosen.corpus else None,
        noise=read_noise(Path(chosen.noise)) if chosen.noise else None,
        thresholds=read_thresholds(Path(chosen.thresholds)) if chosen.thresholds else None,
        justifications=read_justifications(Path(chosen.justification))
        if chosen.justification
        else (),
        label_split=_label_split(chosen, labels, before, stored),
    )


def sources_of(made: MeasuredDemo) -> Sources:
    """Return where the parts of the demo's report come from."""
    return Sources(
        str(made.run),
        str(made.baseline),
        made.backlog,
        str(made.gold),
        str(made.corpus),
        str(made.noise),
    )


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


def _label_split(
    chosen: Sources,
    gold: GoldSet | None,
    baseline: StoredRun | None,
    run: StoredRun,
) -> Mapping[str, Any] | None:
    if not (chosen.mapping or chosen.old_gold):
        return None
    if not (chosen.mapping and chosen.old_gold) or gold is None or baseline is None:
        raise BadInputError(
            "to tell labels that moved from retrieval that did, name both gold sets, the mapping "
            "between them, and the baseline"
        )
    old = load_gold_set(Path(chosen.old_gold))
    return label_split(old, gold, read_mapping(Path(chosen.mapping), old), baseline, run)


def _text(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise BadInputError(f"a file is given as text, not as {value!r}")
    return str(value)


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
