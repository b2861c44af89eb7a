"""The committed search run that later runs are held against, and how it is replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.io.files import write_bytes
from retrieval_eval.search.delta import delta, differences
from retrieval_eval.search.guard.soundness import own_faults
from retrieval_eval.search.run_files import read_search_run, run_bytes

DEFAULT_BASELINE: Final = Path("data/eval/baseline.json")

ACCEPTABLE: Final = ("gold_set", "convention", "empty_ranking", "depth", "measures", "queries")
"""What may differ from the old baseline when that is named: see `differences`, and ``queries``,
where the run asked only some of the old ones."""


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline about to be replaced.

    ``document`` is the new one; ``delta`` its change against the old one, None when there is no
    old one; ``differences`` says by code (see :data:`ACCEPTABLE`) what must be accepted first.
    """

    path: Path
    document: Mapping[str, Any]
    delta: Mapping[str, Any] | None
    differences: Mapping[str, str]


def plan_update(path: Path, run: Path) -> Update:
    """Return what replacing the baseline at ``path`` by the run in a file would change.

    Nothing is written. The new baseline is the run without its own delta.

    Raises
    ------
    BadInputError
        When the run, or the old baseline, is no valid search run.
    NothingToEvaluateError
        When the run has no verdict, holds no query or holds one twice: later runs would be held
        against the luck of one.
    """
    document = read_search_run(run)
    if reasons := own_faults(document):
        raise NothingToEvaluateError(f"{run} cannot be the baseline: {'; '.join(reasons)}")
    document["delta"] = None
    if not path.exists():
        return Update(path, document, None, {})
    old = read_search_run(path)
    seed = document["run"]["settings"]["seed"]
    found = differences(old, document)
    if "gold_set" not in found and (n_missing := _n_missing(old, document)):
        found["queries"] = f"the run did not ask {n_missing} of the {len(old['queries'])} queries"
    return Update(path, document, delta(old, document, seed=seed), found)


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
            f"{update.path} was measured otherwise and stays as it is: "
            f"{'; '.join(update.differences[code] for code in open_codes)}. "
            f"If that is meant, add {flags}"
        )
    try:
        write_bytes(update.path, run_bytes(update.document))
    except OSError as error:
        raise BadInputError(
            f"{update.path}: cannot be written ({error.strerror or error})"
        ) from error


def _n_missing(old: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    asked = {query["id"] for query in new["queries"]}
    return sum(query["id"] not in asked for query in old["queries"])
