"""The search report: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import section_method
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
        self.view = Facts(run, privacy)

    header = section_method(opening.header)
    answer = section_method(opening.answer)
    guard = section_method(guard_sections.guard)
    composite = section_method(guard_sections.composite)
    setup = section_method(measured.setup)
    composition = section_method(measured.composition)
    agreement = section_method(labels.agreement)
    stale_labels = section_method(judging.stale)
    judged = section_method(measured.judged)
    to_judge = section_method(judging.to_judge)
    problems = section_method(measured.problems)
    backlog = section_method(measured.backlog)
    cutoffs = section_method(quality.cutoffs)
    query_changes = section_method(change.queries)
    first_documents = section_method(change.first_documents)
    changes = section_method(change.measures)
    label_split = section_method(change.label_split)
    noise = section_method(noise_sections.noise)
    transfer = section_method(noise_sections.transfer)
    slices = section_method(quality.sliced)
    slice_changes = section_method(quality.sliced_changes)
    nothing_found = section_method(single.nothing_found)
    worst = section_method(single.worst)
    abstention = section_method(refusals.abstention)
    unanswerable = section_method(single.unanswerable)
    claims = section_method(claims.claims)
    definitions = section_method(closing.definitions)
    provenance = section_method(closing.provenance)
