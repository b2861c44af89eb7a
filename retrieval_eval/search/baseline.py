"""The committed search run that later runs are held against, and how it is replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.io.files import is_there, write_bytes
from retrieval_eval.search.delta import delta, differences, truncation
from retrieval_eval.search.guard.soundness import own_faults
from retrieval_eval.search.run_files import read_search_run, run_bytes
from retrieval_eval.values import counted

Document = Mapping[str, Any]

DEFAULT_BASELINE: Final = Path("data/eval/baseline.json")

ACCEPTABLE: Final = ("gold_set", "convention", "empty_ranking", "depth", "measures", "queries")
"""What may differ from the old baseline when that is named: see `differences`, and ``queries``,
where the run did not ask all of the old ones, or, without old ones, of its gold set."""


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline about to be replaced.

    ``document`` is the new one; ``delta`` its change against the old one, None when there is no
    old one, or none that it can be held against (see `held_against`); ``differences`` says by code
    (see :data:`ACCEPTABLE`) what must be accepted first.
    """

    path: Path
    document: Mapping[str, Any]
    delta: Mapping[str, Any] | None
    delta_withheld: Sequence[str]
    differences: Mapping[str, str]


def held_against(baseline: Document, run: Document, *, seed: int) -> dict[str, Any]:
    """Return the fields ``delta`` and ``delta_withheld`` of a run held against a baseline.

    There is no delta, and ``delta_withheld`` says why, where its numbers would not be those of the
    gold set: one of the two has no verdict, or did not ask queries of the other although it
    searched their corpus. Where one searched fewer corpora by choice, its own are compared.
    """
    withheld = [
        # After it comes what the retriever said of the first failure.
        f"{name} has no verdict: {reason.partition(';')[0]}"
        for name, document in (("the baseline", baseline), ("the run", run))
        for reason in own_faults(document)
    ]
    if not withheld and "gold_set" not in differences(baseline, run):
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
    return {"delta": found, "delta_withheld": withheld}


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
    document |= {"delta": None, "delta_withheld": []}
    old = read_search_run(path) if is_there(path) else None
    found = {} if old is None else differences(old, document)
    if left_out := _not_asked(document, None if "gold_set" in found else old):
        found["queries"] = left_out
    if old is None:
        return Update(path, document, None, (), found)
    held = held_against(old, document, seed=document["run"]["settings"]["seed"])
    return Update(path, document, held["delta"], held["delta_withheld"], found)


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
    write_bytes(update.path, run_bytes(update.document))


def _not_asked(run: Document, old: Document | None) -> str | None:
    """Return what a run left out: of the old baseline's queries, or without one of its gold set."""
    if old is not None:
        return _left_out("the run", run, "the old baseline", old)
    return (found := truncation(run)) and f"the run is truncated: {found}"


def _corpora(run: Document) -> set[str]:
    return {corpus["corpus"] for corpus in run["run"]["corpora"]}


def _left_out(
    name: str,
    run: Document,
    other_name: str,
    other: Document,
    *,
    corpora: Collection[str] | None = None,
) -> str | None:
    """Return how many queries of another run a run did not ask; None where it asked them all.

    With ``corpora`` only the queries of these count.
    """
    asked = {query["id"] for query in run["queries"]}
    wanted = {
        query["id"] for query in other["queries"] if corpora is None or query["corpus"] in corpora
    }
    if wanted <= asked:
        return None
    n, of = len(wanted - asked), counted(len(wanted), "query")
    return f"{name} is truncated: it did not ask {n} of the {of} of {other_name}"
