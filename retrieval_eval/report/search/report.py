"""The search report: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import shows
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.report.search.sections import (
    change,
    claims,
    closing,
    judging,
    labels,
    measured,
    opening,
    quality,
    refusals,
    single,
)
from retrieval_eval.report.search.sections import guard as guard_sections
from retrieval_eval.report.search.sections import noise as noise_sections


class SearchReport:
    """The search report, section by section.

    Parameters
    ----------
    run
        What was measured.
    privacy
        Leave out texts of queries and drafts, messages of the retriever, how it was opened, and
        the names of labellers.
    """

    def __init__(self, run: SearchRun, *, privacy: bool = False) -> None:
        self.run = run
        self.privacy = privacy
        self.facts = Facts(run, privacy)

    header = shows(opening.header)
    answer = shows(opening.answer)
    guard = shows(guard_sections.guard)
    composite = shows(guard_sections.composite)
    setup = shows(measured.setup)
    composition = shows(measured.composition)
    agreement = shows(labels.agreement)
    stale_labels = shows(judging.stale)
    judged = shows(measured.judged)
    to_judge = shows(judging.to_judge)
    problems = shows(measured.problems)
    backlog = shows(measured.backlog)
    cutoffs = shows(quality.cutoffs)
    query_changes = shows(change.queries)
    first_documents = shows(change.first_documents)
    changes = shows(change.measures)
    label_split = shows(change.label_split)
    noise = shows(noise_sections.noise)
    transfer = shows(noise_sections.transfer)
    slices = shows(quality.sliced)
    slice_changes = shows(quality.sliced_changes)
    nothing_found = shows(single.nothing_found)
    worst = shows(single.worst)
    abstention = shows(refusals.abstention)
    unanswerable = shows(single.unanswerable)
    claims = shows(claims.claims)
    definitions = shows(closing.definitions)
    provenance = shows(closing.provenance)
