"""The report of a difference: each method is what one notebook cell shows."""

from __future__ import annotations

from retrieval_eval.report.exhibits import section_method
from retrieval_eval.report.search.diffs import closing, means, opening, queries
from retrieval_eval.report.search.diffs.facts import DiffFacts
from retrieval_eval.report.search.diffs.run import SearchDiff


class DiffReport:
    """The report of a difference of two search runs, section by section.

    Parameters
    ----------
    diff
        What lies between the runs.
    privacy
        Leave out texts of queries, messages of the retriever, and how it was opened.
    """

    def __init__(self, diff: SearchDiff, *, privacy: bool = False) -> None:
        self.diff = diff
        self.privacy = privacy
        self.view = DiffFacts(diff, privacy)

    header = section_method(opening.header)
    answer = section_method(opening.answer)
    contributions = section_method(queries.contributions)
    documents = section_method(queries.documents)
    first_documents = section_method(queries.first_documents)
    metrics = section_method(means.metrics)
    noise = section_method(means.noise)
    slices = section_method(means.slices)
    setup = section_method(closing.setup)
    definitions = section_method(closing.definitions)
    provenance = section_method(closing.provenance)
