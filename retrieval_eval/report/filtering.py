"""A part of a run: which trials pass a condition, and the documents of these trials alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.pipeline.naming import EVENTS_SUFFIX
from retrieval_eval.pipeline.summary import run_summary
from retrieval_eval.report.documents import TrialFiles
from retrieval_eval.report.frames import coerce, lookup, records
from retrieval_eval.report.separate import relabelled_metrics
from retrieval_eval.schema import faults, stamped
from retrieval_eval.study import impact_analysis
from retrieval_eval.values import DEFAULT_SEED, counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.report.run import Run

Condition = Union["pd.Series[Any]", Sequence[bool]]
Where = str | Callable[["pd.DataFrame"], Condition] | Condition
"""Which trials to keep: a query over the columns of ``run.trials``, a function from that frame to
True or False for every trial, or these values themselves."""

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Some trials of one or several runs, with the documents made of these trials alone.

    ``trials`` are those of each run in ``folders``, of which every one has some. ``n_all`` counts
    the trials there were, ``n_excluded`` the excluded folders: these are no trials, so that no
    condition can hold for one.
    """

    folders: tuple[Path, ...]
    summaries: tuple[Document, ...]
    trials: tuple[tuple[TrialFiles, ...], ...]
    impact: Document
    conditions: tuple[str, ...]
    n_all: int
    n_excluded: int

    @property
    def sentence(self) -> str:
        """How many of how many trials are left, and the conditions."""
        n = sum(map(len, self.trials))
        return f"{n:,} of {self.n_all:,} trials, {', and '.join(self.conditions)}"

    @property
    def full_sentence(self) -> str:
        """The sentence, and what became of the excluded folders."""
        if not self.n_excluded:
            return self.sentence
        return f"{self.sentence}; {counted(self.n_excluded, 'excluded folder')} left out too"


def part_of(run: Run, where: Where) -> Part:
    """Return the trials of a run that pass a condition, summarised and analysed anew.

    The code is that of the evaluation, so the documents are those which these trials alone would
    have given; nothing is written.

    Raises
    ------
    BadInputError
        When the condition makes no sense, no trial passes it, or an artefact cannot be analysed.
    """
    kept = set(passing(run.trials, where))
    numbers = count()
    trials = [tuple(t for t in own if next(numbers) in kept) for own in run.trials_by_run]
    left = [i for i, own in enumerate(trials) if own]
    before = run.part
    try:
        summaries = tuple(_summary(run.summaries[i], trials[i]) for i in left)
        impact = _analysis(run.impact, [t for own in trials for t in own])
    except (LookupError, TypeError, AttributeError, ValueError):
        if (problem := _first_fault(trials)) is not None:
            raise problem from None
        raise
    return Part(
        tuple(run.folders[i] for i in left),
        summaries,
        tuple(trials[i] for i in left),
        impact,
        (*(before.conditions if before else ()), in_words(where)),
        before.n_all if before else len(run.trial_files),
        before.n_excluded
        if before
        else sum(len(records(s.get("excluded"))) for s in run.summaries),
    )


def in_words(where: Where) -> str:
    """Return what a condition is, for the page: a query itself, of others their kind.

    Examples
    --------
    >>> in_words("reward > 0"), in_words(lambda trials: trials["reward"] > 0), in_words([True])
    ('where reward > 0', 'by a function', 'by a mask')
    """
    if isinstance(where, str):
        return f"where {visible(where, 160)}"
    return "by a function" if callable(where) else "by a mask"


def passing(trials: pd.DataFrame, where: Where) -> list[int]:
    """Return the places of the trials that pass; one of which that is not known does not.

    Raises
    ------
    BadInputError
        When the condition cannot be read, is not True or False for every trial, or no trial
        passes it.
    """
    import pandas as pd

    if isinstance(where, str):
        found = _query(trials, where)
    else:
        found = where(trials.copy()) if callable(where) else where
    values = _values(found, trials)
    if len(values) != len(trials):
        raise BadInputError(f"the condition has {len(values)} values for {len(trials)} trials")
    known = pd.array(values)
    if not isinstance(known.dtype, pd.BooleanDtype):
        raise _not_boolean(getattr(found, "dtype", known.dtype))
    kept = [place for place, value in enumerate(known) if value is not pd.NA and value]
    if not kept:
        raise BadInputError(
            f"no trial passes the condition: all {len(trials):,} trials are left out"
        )
    return kept


def _query(trials: pd.DataFrame, query: str) -> Any:
    try:
        return trials.eval(query, engine="python", local_dict={}, global_dict={})
    except Exception as error:  # noqa: BLE001  whatever pandas makes of it, the text is at fault
        raise BadInputError(
            f"the condition {visible(query, 160)!r} cannot be read: {visible(str(error), 200)}; a "
            "name in it is a column of run.trials, in backticks where it is no plain word, such "
            "as `ndcg@10` > 0.5; for anything else pass a function"
        ) from None


def _values(found: Any, trials: pd.DataFrame) -> list[Any]:
    """Return one value a trial, those of a series by its index."""
    import numpy as np
    import pandas as pd

    if isinstance(found, pd.DataFrame):
        raise _not_boolean("a table; pass the condition itself, not the rows it chooses")
    if isinstance(found, pd.Series) and len(found) == len(trials):
        if not found.index.is_unique or not found.index.isin(trials.index).all():
            raise BadInputError(
                "the condition has another index than run.trials; make it from run.trials, or "
                "pass its values as a list in the order of run.trials"
            )
        found = found.reindex(trials.index)
    kinds = (list, tuple, np.ndarray, pd.Series, pd.api.extensions.ExtensionArray)
    if not isinstance(found, kinds):
        raise _not_boolean(type(found).__name__)
    return list(found)


def _not_boolean(what: object) -> BadInputError:
    return BadInputError(f"a condition gives True or False for every trial, not {what}")


def _summary(summary: Document, trials: Sequence[TrialFiles]) -> dict[str, Any]:
    cutoffs = lookup(summary, "parameters/k_values")
    rows = [
        (str(t.entry.get("events_file")).removesuffix(EVENTS_SUFFIX), _document(t)) for t in trials
    ]
    run_id = coerce(summary.get("run_id"), "text") or ""
    made = run_summary(run_id, rows, (), cutoffs if isinstance(cutoffs, list) else [])
    return stamped(made, str(summary.get("generated_at")))


def _analysis(impact: Document, trials: Sequence[TrialFiles]) -> dict[str, Any]:
    """Return the impact analysis over some trials, with the seed of that over all of them."""
    seed = coerce(lookup(impact, "parameters/seed"), "integer")
    documents = [_document(trial) for trial in trials]
    stated = lookup(impact, "parameters/mcp_configs")
    made = impact_analysis(
        documents,
        seed=DEFAULT_SEED if seed is None else seed,
        mcp_configs=stated if isinstance(stated, list | tuple) else None,
    )
    return stamped(made, str(impact.get("generated_at")))


def _document(trial: TrialFiles) -> dict[str, Any]:
    """Return the metrics document of a trial under the name that its config has in the run."""
    own = coerce(lookup(trial.metrics, "provenance/config_name"), "text") or ""
    return relabelled_metrics(trial.metrics, {own: str(trial.entry.get("config_name"))})


def _first_fault(trials: Iterable[Sequence[TrialFiles]]) -> BadInputError | None:
    """Return what is wrong with the first metrics document that breaks its schema, or None."""
    for trial in chain(*trials):
        for fault in faults(dict(trial.metrics), "retrieval_metrics"):
            named = trial.entry.get("metrics_file")
            return BadInputError(f"{named}: {fault}; evaluate the run again")
    return None
