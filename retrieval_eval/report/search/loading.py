"""From the file of a search run, its baseline, backlog and gold set to frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.reading import read_gold_set
from retrieval_eval.report.search.backlog import load_backlog
from retrieval_eval.report.search.demo import DEMO, DEMO_OUTPUT, measured_demo
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.search.delta import delta
from retrieval_eval.search.run_files import read_search_run

_NUMBERED: Final = re.compile(r"eval-report-(\d{8}T\d{6}Z)(?:-(\d{1,9}))?\.json$")
_BASELINE_NAME: Final = "baseline.json"


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the parts of a report come from; the empty text stands for none."""

    run: str
    baseline: str = ""
    backlog: str = ""
    gold: str = ""


def load_search(
    run: str | Path = DEMO, *, baseline: str | Path = "", backlog: str = "", gold: str | Path = ""
) -> SearchRun:
    """Return a search run as data frames.

    Parameters
    ----------
    run
        The file of a search run, or ``demo``: the built-in demonstration, which is written to
        ``reports/search-demo/data`` and measured twice.
    baseline
        A search run to compare with, in place of the change that the run recorded. Without it,
        ``baseline.json`` beside the run is read when it is what the run was compared with.
    backlog
        The review queue: a database URL, a JSONL file of items, or a ``.json`` file of counts.
        Without it, what the run recorded.
    gold
        The gold set that was asked. With it the report names relevant documents that were not
        retrieved, and counts judgements by grade. Another one than the run's is not used.

    Returns
    -------
    SearchRun
        The frames ``queries``, ``rankings``, ``relevant``, ``metrics``, ``slices``, ``delta`` and
        ``contributions``, each built when first asked for.

    Raises
    ------
    BadInputError
        When a file does not exist or is of the wrong kind; it names file and place.
    """
    chosen = Sources(*(_text(value) for value in (run, baseline, backlog, gold)))
    if chosen.run == DEMO:
        made = measured_demo(DEMO_OUTPUT)
        chosen = Sources(*made.sources())
    path = Path(chosen.run)
    document = read_search_run(path)
    before = _baseline(document, path, chosen.baseline)
    if chosen.baseline and before is not None:
        document["delta"] = _delta(before, document)
    labels, problem = _gold(document, chosen.gold)
    return SearchRun(
        document,
        path=path,
        baseline=before,
        backlog=load_backlog(chosen.backlog) if chosen.backlog else None,
        gold=labels,
        gold_problem=problem,
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


def _text(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise BadInputError(f"a file is given as text, not as {value!r}")
    return str(value)


def _baseline(document: Mapping[str, Any], path: Path, named: str) -> Mapping[str, Any] | None:
    """Return the baseline that was named, else the one beside the run if it is the run's."""
    if named:
        return read_search_run(Path(named))
    beside = path.parent / _BASELINE_NAME
    if document["delta"] is None or not beside.is_file():
        return None
    wanted = document["delta"]["baseline"]
    try:
        found = read_search_run(beside)
    except BadInputError:
        return None  # nobody asked for this file
    is_same = (
        found["label"] == wanted["label"]
        and found["generated_at"] == wanted["generated_at"]
        and found["run"]["gold_set"]["fingerprint"] == wanted["gold_fingerprint"]
    )
    return found if is_same else None


def _delta(baseline: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return delta(baseline, document, seed=document["run"]["settings"]["seed"])
    except ValueError as error:  # settings of a run that were changed by hand
        raise BadInputError(f"the run cannot be compared with its baseline: {error}") from error


def _gold(document: Mapping[str, Any], named: str) -> tuple[GoldSet | None, str | None]:
    if not named:
        return None, None
    found = read_gold_set(Path(named))
    wanted = document["run"]["gold_set"]["fingerprint"]
    if found.fingerprint == wanted:
        return found, None
    return None, (
        f"The gold set at hand ({found.fingerprint[:12]}) is not the one that was asked "
        f"({wanted[:12]}), so it was not used"
    )
